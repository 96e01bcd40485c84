/* SPDX-License-Identifier: MIT */
/* Sealing, by OpenSSL's EVP. */
#include "base/seal.h"

#include "base/digest.h"
#include "base/seams.h"

#include <limits.h>
#include <openssl/evp.h>

static bool seal_run(EVP_CIPHER_CTX *context, bool sealing, const void *with, size_t with_size,
                     const unsigned char *from, size_t size, unsigned char *out)
{
    int done = 0;
    int (*update)(EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int) =
        sealing ? EVP_EncryptUpdate : EVP_DecryptUpdate;
    return (with_size == 0 || update(context, NULL, &done, with, (int)with_size) == 1) &&
           (size == 0 || update(context, out, &done, from, (int)size) == 1);
}

bool hf_seal(const unsigned char key[HF_SEAL_KEY], const void *with, size_t with_size,
             const void *text, size_t size, unsigned char *out)
{
    unsigned char *body = out + HF_SEAL_NONCE, none[16];
    int done = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool good = context != NULL && size < INT_MAX && with_size < INT_MAX &&
                hf_seam.random(out, HF_SEAL_NONCE) &&
                EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, out) == 1 &&
                seal_run(context, true, with, with_size, text, size, body) &&
                EVP_EncryptFinal_ex(context, none, &done) == 1 &&
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, HF_SEAL_TAG, body + size) == 1;
    EVP_CIPHER_CTX_free(context);
    return good;
}

bool hf_unseal(const unsigned char key[HF_SEAL_KEY], const void *with, size_t with_size,
               const unsigned char *sealed, size_t size, unsigned char *out)
{
    unsigned char none[16];
    int done = 0;
    if (size < HF_SEAL_MORE || size > INT_MAX || with_size > INT_MAX)
        return false;
    size_t text = size - HF_SEAL_MORE;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool good = context != NULL &&
                EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, sealed) == 1 &&
                seal_run(context, false, with, with_size, sealed + HF_SEAL_NONCE, text, out) &&
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, HF_SEAL_TAG,
                                    (void *)(sealed + HF_SEAL_NONCE + text)) == 1 &&
                EVP_DecryptFinal_ex(context, none, &done) == 1;
    EVP_CIPHER_CTX_free(context);
    if (!good)
        hf_secret_wipe(out, text);
    return good;
}
