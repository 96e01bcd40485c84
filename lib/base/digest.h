/* SPDX-License-Identifier: MIT */
/* SHA-256 and comparing secrets in constant time, by libcrypto. */
#ifndef HF_BASE_DIGEST_H
#define HF_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

bool hf_sha256(const void *bytes, size_t size, unsigned char out[32]);

/* The same for what is no secret, in a third of the time: without a context on the heap, and past
 * OpenSSL's providers. */
bool hf_sha256_quick(const void *bytes, size_t size, unsigned char out[32]);

bool hf_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                    unsigned char out[32]);
bool hf_secret_equal(const void *a, const void *b, size_t size);

/* Overwrites a secret; the compiler can't leave it out. Of size 0 it may be NULL. */
void hf_secret_wipe(void *secret, size_t size);

#endif
