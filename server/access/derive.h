/* SPDX-License-Identifier: MIT */
/* Secrets made for a caller: a session's key, a token's secret. With a request id they are derived
 * from it and the caller's own secret, so a repeated request gets the same ones, on every server;
 * nobody without that secret can derive them. */
#ifndef HF_SERVER_ACCESS_DERIVE_H
#define HF_SERVER_ACCESS_DERIVE_H

#include <holdfast/names.h>
#include <holdfast/token.h>

/* bearer: the caller's secret, or NULL. request_id NULL or empty: random. key: the key that the
 * caller has chosen, or NULL. */
hf_status derive_session(const char *bearer, const char *request_id, const char *key,
                         hf_credentials *out, hf_error *err);
hf_status derive_token(const char *bearer, const char *request_id, hf_token_key *out,
                       hf_error *err);

#endif
