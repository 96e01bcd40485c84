/* SPDX-License-Identifier: MIT */
/* SHA-256 and secrets, by libcrypto. */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

bool hf_sha256(const void *bytes, size_t size, unsigned char out[32])
{
    return EVP_Digest(bytes, size, out, NULL, EVP_sha256(), NULL) == 1;
}

bool hf_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size, unsigned char out[32])
{
    return HMAC(EVP_sha256(), key, (int)key_size, bytes, size, out, NULL) != NULL;
}

bool hf_secret_equal(const void *a, const void *b, size_t size)
{
    return CRYPTO_memcmp(a, b, size) == 0;
}

void hf_secret_wipe(void *secret, size_t size)
{
    OPENSSL_cleanse(secret, size);
}
