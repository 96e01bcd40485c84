/* SPDX-License-Identifier: MIT */
/* What the files of callers.h share. Private to them. */
#ifndef HF_SERVER_AUTHENTICATE_INSIDE_H
#define HF_SERVER_AUTHENTICATE_INSIDE_H

#include "server/access/auth_cache.h"
#include "server/access/authenticate.h"

#include <stddef.h>

struct authenticator {
    jobs *jobs, *tokens_jobs;
    auth_cache known;
    lru looks;
    authenticator_stats stats;
};

/* The struct that a member is part of. */
#define WHOLE(type, member, at) ((type *)(void *)((char *)(at)-offsetof(type, member)))

/* What the caller comes to; the first of several stands. message is copied; NULL: the status's own.
 * */
void caller_fail(caller *who, hf_status status, const char *message);

/* One thing less to wait for; after the last, the next step. */
void caller_settle(caller *who);

/* The steps of authenticate_sessions.c: those who ask, and those who get a lock. */
void authenticate_ask_sessions(authenticator *all, caller *who);
void authenticate_ask_targets(authenticator *all, caller *who);

#endif
