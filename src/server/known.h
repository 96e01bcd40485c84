/* SPDX-License-Identifier: MIT */
/* What is known of tokens and sessions, each in a table of its own that forgets what was used
 * longest ago: tokens by the hash of their secret and by their id, names that no token has,
 * sessions. How long to believe it is for whoever asks (callers.c). Only hashes of secrets are
 * here, and they are wiped. */
#ifndef HF_SERVER_KNOWN_H
#define HF_SERVER_KNOWN_H

#include "server/recent.h"
#include "server/rights.h"

/* How a token is named. */
typedef enum known_name { KNOWN_BY_SECRET, KNOWN_BY_ID } known_name;

enum { KNOWN_NAME_SIZE = 32 }; /* of a hash, a token's id, a session's id */

/* A token that the store has. */
typedef struct known_token {
    recent_entry entry;
    caller_token token;
    int64_t expires_us, revoked_us;
    int64_t asked_us;    /* by our clock ... */
    int64_t store_us;    /* ... when by the store's it was at least this late */
    int64_t answered_us; /* by our clock */
} known_token;

/* A name that no token of the store has. */
typedef struct known_nothing {
    recent_entry entry;
    int64_t asked_us, answered_us;
} known_nothing;

typedef struct known_session {
    recent_entry entry;
    int64_t asked_us;
    unsigned char key_sha256[32];
    char opener[HF_CALLER_SIZE];
    char user[]; /* NUL-terminated */
} known_session;

typedef struct known_tables {
    recent tokens, nothing, sessions;
    size_t tokens_max, nothing_max, sessions_max;
} known_tables;

/* False: memory or randomness is out; known_done it all the same. */
bool known_init(known_tables *k, size_t tokens_max, size_t nothing_max, size_t sessions_max);
void known_done(known_tables *k);

/* NULL: not known. What is found counts as used. */
known_token *known_token_find(known_tables *k, known_name by, const void *name);
known_nothing *known_nothing_find(known_tables *k, known_name by, const void *name);
known_session *known_session_find(known_tables *k, const char *id);

/* In place of what was known of that name. When memory is out nothing is kept. */
void known_token_keep(known_tables *k, known_name by, const void *name, const known_token *token);
void known_nothing_keep(known_tables *k, known_name by, const void *name, int64_t asked_us,
                        int64_t answered_us);
void known_session_keep(known_tables *k, const hf_credentials *session, const hf_session_info *info,
                        int64_t asked_us);

void known_token_forget(known_tables *k, known_name by, const void *name);
void known_session_forget(known_tables *k, const char *id);
/* The token with that id, by whatever name. */
void known_token_forget_all(known_tables *k, const char *id);

#endif
