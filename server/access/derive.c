/* SPDX-License-Identifier: MIT */
/* Derived and random secrets. */
#include "server/access/derive.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* 64 hex digits that follow from the caller's secret, what they are for and the request id. */
static hf_status derive_hex(const char *bearer, const char *what, const char *request_id,
                            char out[65], hf_error *err)
{
    unsigned char digest[32];
    char text[128];
    int size = snprintf(text, sizeof text, "holdfast %s %s", what, request_id);
    if (size < 0 || (size_t)size >= sizeof text)
        return hf_fail(err, HF_INVALID, "The Idempotency-Key is longer than %d characters.",
                       HF_REQUEST_ID_MAX);
    if (!hf_hmac_sha256(bearer, strlen(bearer), text, (size_t)size, digest))
        return hf_fail_memory(err);
    hf_hex(digest, sizeof digest, out);
    hf_secret_wipe(digest, sizeof digest);
    return HF_OK;
}

/* Without both it would be the same for all who ask. */
static bool derive_is_repeatable(const char *bearer, const char *request_id)
{
    return bearer != NULL && request_id != NULL && request_id[0] != '\0';
}

hf_status derive_session(const char *bearer, const char *request_id, const char *key,
                         hf_credentials *out, hf_error *err)
{
    char id[65], made[65];
    if (!derive_is_repeatable(bearer, request_id))
        return hf_credentials_new(key, out, err);
    hf_status status = derive_hex(bearer, "session id", request_id, id, err);
    id[HF_SESSION_ID_MAX] = '\0';
    if (status == HF_OK && key == NULL)
        status = derive_hex(bearer, "session key", request_id, made, err);
    if (status == HF_OK)
        status = hf_credentials_set(out, id, key != NULL ? key : made, err);
    hf_secret_wipe(made, sizeof made);
    return status;
}

hf_status derive_token(const char *bearer, const char *request_id, hf_token_key *out, hf_error *err)
{
    char id[65], secret[65];
    if (!derive_is_repeatable(bearer, request_id))
        return hf_token_new(out, err);
    hf_status status = derive_hex(bearer, "token id", request_id, id, err);
    if (status == HF_OK)
        status = derive_hex(bearer, "token secret", request_id, secret, err);
    if (status == HF_OK)
        status = hf_token_read(secret, out, err);
    if (status == HF_OK)
        memcpy(out->id, id, HF_TOKEN_ID_MAX);
    hf_secret_wipe(secret, sizeof secret);
    return status;
}
