/* SPDX-License-Identifier: MIT */
/* SHA-256 and secrets, by libcrypto. */
#define OPENSSL_SUPPRESS_DEPRECATED /* for hf_sha256_quick */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <string.h>

/* Looked up once: OpenSSL 3 does it for every EVP_sha256() that is used, with locks and by name.
 * Never freed. */
static EVP_MD *sha256;
static pthread_once_t fetched = PTHREAD_ONCE_INIT;

static void digest_fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

bool hf_sha256(const void *bytes, size_t size, unsigned char out[32])
{
    pthread_once(&fetched, digest_fetch);
    return EVP_Digest(bytes, size, out, NULL, sha256 == NULL ? EVP_sha256() : sha256, NULL) == 1;
}

bool hf_sha256_quick(const void *bytes, size_t size, unsigned char out[32])
{
    SHA256_CTX sha;
    return SHA256_Init(&sha) && SHA256_Update(&sha, bytes, size) && SHA256_Final(out, &sha);
}

bool hf_hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t size,
                    unsigned char out[32])
{
    return HMAC(EVP_sha256(), key, (int)key_size, bytes, size, out, NULL) != NULL;
}

bool hf_secret_equal(const void *a, const void *b, size_t size)
{
    return CRYPTO_memcmp(a, b, size) == 0;
}

void hf_secret_wipe(void *secret, size_t size)
{
    if (size == 0)
        return;
    /* as sure, and by whole words: OPENSSL_cleanse goes byte by byte */
    explicit_bzero(secret, size);
}
