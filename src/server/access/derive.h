/* SPDX-License-Identifier: MIT */
/* Secrets that are made for a caller: a session's key, a token's secret. With a request id they are
 * the same every time that caller asks with it, on every server, so that asking again after an
 * unsure answer gives what the first try made. Nobody without the caller's own secret can find
 * them. */
#ifndef HF_SERVER_DERIVE_H
#define HF_SERVER_DERIVE_H

#include <holdfast/names.h>
#include <holdfast/token.h>

/* bearer: the caller's secret, or NULL; request_id NULL or empty: from the system's randomness.
 * key: what the caller wants it to be, or NULL. */
hf_status derive_session(const char *bearer, const char *request_id, const char *key,
                         hf_credentials *out, hf_error *err);
hf_status derive_token(const char *bearer, const char *request_id, hf_token_key *out,
                       hf_error *err);

#endif
