/* SPDX-License-Identifier: MIT */
/* What the files of callers.h share. Private to them. */
#ifndef HF_SERVER_CALLERS_INSIDE_H
#define HF_SERVER_CALLERS_INSIDE_H

#include "server/callers.h"
#include "server/known.h"

#include <stddef.h>

struct callers {
    jobs *jobs, *tokens_jobs;
    known_tables known;
    recent looks;
    callers_stats stats;
};

/* The struct that a member is part of. */
#define WHOLE(type, member, at) ((type *)(void *)((char *)(at)-offsetof(type, member)))

/* What the caller comes to; the first of several stands. message is copied; NULL: the status's own.
 * */
void caller_fail(caller *who, hf_status status, const char *message);

/* One thing less to wait for; after the last, the next step. */
void caller_settle(caller *who);

/* The steps of callers_sessions.c: those who ask, and those who get a lock. */
void callers_ask_sessions(callers *all, caller *who);
void callers_ask_targets(callers *all, caller *who);

#endif
