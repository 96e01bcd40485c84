/* SPDX-License-Identifier: MIT */
/* Authentication: finds the token and the sessions of a caller. Both are rows of the store; a cache
 * spares most requests the lookup. Runs on the loop. Lookups are jobs; nothing blocks.
 *
 *   A1  A cached token counts for AUTHENTICATOR_FRESH_US after the store was asked, so a revoked
 *       token is refused at the latest then. A token in use is looked up again at half that age,
 *       while the cached answer still counts.
 *   A2  If the store does not answer, authentication fails with the store's status.
 *   A3  Secrets that no token has are cached for the same time, in a small table of their own, so
 *       that wrong secrets can't push valid ones out.
 *   A4  Only hashes of secrets and keys are kept. They are compared in constant time and wiped.
 *       A page's cookie is another name of its token. It counts as long as both the sign-in and the
 *       token live; a sign-in in use is beaten now and then.
 *   A5  Concurrent requests with the same token share one lookup.
 *   A6  Before a secret or session that is not in the cache is looked up for a caller without a
 *       valid token, `may_look` is asked: the address pays first, and is paid back for a single one
 *       that turns out good. A single one that is in the cache, however long, is looked up anew
 *       unasked. */
#ifndef HF_SERVER_ACCESS_AUTHENTICATE_H
#define HF_SERVER_ACCESS_AUTHENTICATE_H

#include "server/access/authorize.h"
#include "server/commit/jobs.h"

typedef struct authenticator authenticator;

enum {
    AUTHENTICATOR_FRESH_US = 500000,
    /* a session's row does not change; whether it lives is looked up again after this long */
    AUTHENTICATOR_SESSION_US = 60000000,
    AUTHENTICATOR_COOKIE_BEAT_US = 600000000, /* a sign-in in use is beaten so often */
    AUTHENTICATOR_TOKENS_MAX = 4096,
    AUTHENTICATOR_UNKNOWN_MAX = 1024,
    AUTHENTICATOR_SESSIONS_MAX = 65536,
};

typedef struct authenticator_settings {
    jobs *jobs; /* borrowed until authenticator_free */
    /* of the store that has the tokens, if that is another one; or NULL */
    jobs *tokens_jobs;
    size_t tokens_max, unknown_max, sessions_max; /* 0: CALLERS_..._MAX */
    /* Tokens that authenticator_token_lives polls; the cache has room for them beyond
     * tokens_max. */
    size_t streams_max;
} authenticator_settings;

typedef struct authenticator_stats {
    /* in the cache now; a token that is presented and has opened sessions is there twice */
    size_t tokens, unknown, sessions;
    uint64_t hits;  /* tokens and sessions found in the cache */
    uint64_t looks; /* ... looked up in the store */
} authenticator_stats;

hf_status authenticator_new(const authenticator_settings *settings, authenticator **out,
                            hf_error *err);
/* Nothing may be under way: after jobs_drain. Accepts NULL. */
void authenticator_free(authenticator *all);

/* Fills in `who` and calls who->done: before it returns if all is in the cache, else later. `who`
 * and what it points to must stay where they are until then. */
void authenticate_caller(authenticator *all, caller *who);

/* Changes made by this server; they count at once. A session was opened. */
void authenticator_note_session(authenticator *all, const hf_credentials *session,
                                const hf_session_info *info);
/* A session ended. */
void authenticator_forget_session(authenticator *all, const char *id);
/* A token was created: its secret is no longer unknown. */
void authenticator_note_token(authenticator *all, const unsigned char sha256[32]);
/* A token was revoked. */
void authenticator_forget_token(authenticator *all, const char *id);

/* A page has signed out. */
void authenticator_forget_cookie(authenticator *all, const char *cookie);

/* authenticator_token_lives, for a stream that a page's cookie has opened. */
bool authenticator_cookie_lives(authenticator *all, const hf_credentials *cookie);

/* Whether the token with that id is valid, for streams, which poll it. Polled regularly, for at
 * most streams_max tokens, the answer is no older than AUTHENTICATOR_FRESH_US plus one lookup.
 * While the store does not answer, the last answer stands; but "unknown" and "revoked" stand only
 * for AUTHENTICATOR_FRESH_US after they came, then the token counts as valid until the store
 * repeats it. */
bool authenticator_token_lives(authenticator *all, const char *id);

void authenticator_stats_read(const authenticator *all, authenticator_stats *out);

#endif
