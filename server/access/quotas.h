/* SPDX-License-Identifier: MIT */
/* Quotas: how many locks a session may hold, and how many live sessions a token may have opened.
 * The numbers are in the store. Here an allowance is kept for each key (a session, a token): how
 * many more may pass before the store is counted again, so most requests need no count. Runs on the
 * loop; counts are jobs, nothing blocks.
 *
 *   Q1  Every op that could create one more (acquire, hand-over, session-open) is claimed before
 *       it is submitted. It counts as running until it was answered, and takes one from the
 *       allowance of its key, whatever the answer.
 *   Q2  If the allowance is used up, claims wait for a count in the store. The count is made when
 *       nothing of the key is running, and nothing passes meanwhile; so it is exact. With one
 *       server the limit is never exceeded (except by an op that was answered `unsure` and was
 *       done). One count serves all that wait.
 *   Q3  Those that wait get what the count found free, in order. A claim that does not fit after
 *       those before it waits for another count, with all behind it, since those before may create
 *       nothing new. If all fit, half of what was free, less what they got, is the new allowance: a
 *       server counts again before it has used up what other servers on the store may have used
 *       too. Each further server may exceed the limit by what was free at its own last count: by
 *       half of it with its allowance, by all of it only for claims that waited for a count made at
 *       the same moment as another server's.
 *   Q4  A session that this server opened holds nothing: it needs no count at first. An unknown key
 *       is counted.
 *   Q5  If a count fails, that is the answer to those that waited for it. Nothing passes unseen.
 *   Q6  "Full" is believed for QUOTAS_FULL_US, unless this server gave something of the key back.
 *       So repeated requests at the limit don't make the store count again and again.
 *   Q7  If there are too many keys, the least recently used are forgotten; then Q4. */
#ifndef HF_SERVER_ACCESS_QUOTAS_H
#define HF_SERVER_ACCESS_QUOTAS_H

#include "server/commit/jobs.h"

typedef struct quotas quotas;
typedef struct quotas_claim quotas_claim;

/* What is counted, by which key. */
typedef enum quotas_kind {
    QUOTAS_LOCKS,    /* locks, by session */
    QUOTAS_SESSIONS, /* sessions, by token */
    QUOTAS_KINDS
} quotas_kind;

enum {
    /* keys that are kept; more only while something of each is running */
    QUOTAS_MAX = 65536,
    QUOTAS_FULL_US = 500000,
};

typedef struct quotas_settings {
    jobs *jobs;                  /* borrowed until quotas_free */
    size_t limits[QUOTAS_KINDS]; /* 0: none, and no cost */
    size_t keys_max;             /* 0: QUOTAS_MAX */
} quotas_settings;

/* What one request needs of one key. */
struct quotas_claim {
    quotas_kind kind;
    const char *id; /* at most LRU_KEY_MAX bytes count; until it is settled */
    size_t wanted;
    void (*done)(quotas_claim *claim);
    void *context;

    /* Settled. Not HF_OK: the count failed, nothing is claimed. */
    hf_status status;
    const char *message; /* why not; valid until the next call */
    /* how many of them fit; the others may pass only if they create nothing new */
    size_t granted;
    size_t held; /* if not all fit: how many the count found */

    /* Private to quotas.c. */
    struct quota *of;
    quotas_claim *next;
};

hf_status quotas_new(const quotas_settings *settings, quotas **out, hf_error *err);
/* Nothing may be under way: after jobs_drain. Accepts NULL. */
void quotas_free(quotas *all);

size_t quotas_limit(const quotas *all, quotas_kind kind);

/* True: settled at once. False: `done` is called later; the claim must not move until then. Call
 * quotas_leave once for a settled claim, when its ops were answered or are not submitted after all
 * (harmless if nothing is claimed). Claims of several keys must be made one after the other in the
 * order of quotas_compare, which excludes deadlock. */
bool quotas_take(quotas *all, quotas_claim *claim);
void quotas_leave(quotas *all, quotas_claim *claim);
int quotas_compare(const quotas_claim *a, const quotas_claim *b);

/* A session that holds nothing yet was opened by this server. */
void quotas_opened(quotas *all, const char *session);
/* This server gave something back; id NULL: the key is not known. */
void quotas_returned(quotas *all, quotas_kind kind, const char *id);
/* The key has ended. */
void quotas_forget(quotas *all, quotas_kind kind, const char *id);

/* Keys that are kept, and counts made so far. */
size_t quotas_count(const quotas *all);
uint64_t quotas_looks(const quotas *all);

#endif
