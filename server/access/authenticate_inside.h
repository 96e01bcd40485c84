/* SPDX-License-Identifier: MIT */
/* What the files of authentication share; private to them. */
#ifndef HF_SERVER_ACCESS_AUTHENTICATE_INSIDE_H
#define HF_SERVER_ACCESS_AUTHENTICATE_INSIDE_H

#include "server/access/authenticate.h"
#include "server/access/lru.h"

#include <stddef.h>

/* The cache: LRU tables of tokens (by the hash of their secret and by their id), of names that no
 * token has, and of sessions. How long an entry counts is decided in authenticate.c. Only hashes of
 * secrets are kept, and they are wiped. */

/* How a token is named. */
typedef enum auth_cache_name {
    AUTH_CACHE_BY_SECRET,
    AUTH_CACHE_BY_ID,
    AUTH_CACHE_BY_COOKIE /* the hash of a page's cookie */
} auth_cache_name;

enum { AUTH_CACHE_NAME_SIZE = 32 }; /* of a hash, a token's id, a session's id */

/* A token that the store has. */
typedef struct auth_cache_token {
    lru_entry entry;
    caller_token token;
    int64_t expires_us, revoked_us;
    int64_t asked_us;    /* by our clock ... */
    int64_t store_us;    /* ... when by the store's it was at least this late */
    int64_t answered_us; /* by our clock */
} auth_cache_token;

/* A name that no token of the store has. */
typedef struct auth_cache_nothing {
    lru_entry entry;
    int64_t asked_us, answered_us;
} auth_cache_nothing;

typedef struct auth_cache_session {
    lru_entry entry;
    int64_t asked_us;
    unsigned char key_sha256[32];
    char opener[HF_CALLER_SIZE];
    char user[]; /* NUL-terminated */
} auth_cache_session;

typedef struct auth_cache {
    lru tokens, nothing, sessions;
    size_t tokens_max, nothing_max, sessions_max;
} auth_cache;

/* False: out of memory, or no random bytes; auth_cache_done it all the same. */
bool auth_cache_init(auth_cache *k, size_t tokens_max, size_t nothing_max, size_t sessions_max);
void auth_cache_done(auth_cache *k);

/* The entry of that name in one of the tables, which counts as used; NULL: there is none. */
void *auth_cache_find(lru *table, auth_cache_name by, const void *name);

/* In place of what was known of that name. Keeps nothing if out of memory. */
void auth_cache_token_keep(auth_cache *k, auth_cache_name by, const void *name,
                           const auth_cache_token *token);
void auth_cache_nothing_keep(auth_cache *k, auth_cache_name by, const void *name, int64_t asked_us,
                             int64_t answered_us);
void auth_cache_session_keep(auth_cache *k, const hf_credentials *session,
                             const hf_session_info *info, int64_t asked_us);

void auth_cache_token_forget(auth_cache *k, auth_cache_name by, const void *name);
void auth_cache_session_forget(auth_cache *k, const char *id);
/* The token with that id, by whatever name. */
void auth_cache_token_forget_all(auth_cache *k, const char *id);

struct authenticator {
    jobs *jobs, *tokens_jobs;
    auth_cache known;
    lru looks;
    authenticator_stats stats;
};

/* The struct that a member is part of. */
#define WHOLE(type, member, at) ((type *)(void *)((char *)(at)-offsetof(type, member)))

/* Sets the caller's status; the first one set stays. message is copied; NULL: the status's own. */
void caller_fail(caller *who, hf_status status, const char *message);

/* One lookup less to wait for; after the last, the next step. */
void caller_settle(caller *who);

/* The steps of authenticate_sessions.c: sessions that were presented, and those that get a lock. */
/* A6. */
bool authenticate_may_look(caller *who, size_t count);
void authenticate_ask_sessions(authenticator *all, caller *who);
void authenticate_ask_targets(authenticator *all, caller *who);

#endif
