/* SPDX-License-Identifier: MIT */
/* Sealing: AES-256-GCM by libcrypto. What is sealed can be read and changed by nobody without the
 * key; a single bit that differs opens to nothing. */
#ifndef HF_BASE_SEAL_H
#define HF_BASE_SEAL_H

#include <stdbool.h>
#include <stddef.h>

enum { HF_SEAL_KEY = 32, HF_SEAL_NONCE = 12, HF_SEAL_TAG = 16 };
enum { HF_SEAL_MORE = HF_SEAL_NONCE + HF_SEAL_TAG }; /* bytes that sealing adds */

/* Writes nonce (drawn at random), text and tag: size + HF_SEAL_MORE bytes. `with` is what is not
 * sealed but must be the same when it is opened. False: libcrypto or the randomness failed. */
bool hf_seal(const unsigned char key[HF_SEAL_KEY], const void *with, size_t with_size,
             const void *text, size_t size, unsigned char *out);

/* Opens it: size - HF_SEAL_MORE bytes. False: it is not what was sealed, and out is wiped. */
bool hf_unseal(const unsigned char key[HF_SEAL_KEY], const void *with, size_t with_size,
               const unsigned char *sealed, size_t size, unsigned char *out);

#endif
