/* SPDX-License-Identifier: MIT */
/* How much may be held at a time: locks by one session, live sessions by the token that opened
 * them. What is held stands in the store and nowhere else; here is remembered how many more may go
 * before the store has to be asked again, so that most requests need no look. Runs on the loop;
 * looks by jobs, and never waits for them.
 *
 *   Q1  Every op that could make one more (an acquire, a session-open) is claimed before it is
 *       submitted and counts as under way until it has been answered. It takes one from the
 *       allowance of its key, whatever it comes to.
 *   Q2  What the allowance does not cover waits for a look: a count in the store, made when nothing
 *       of the key is under way, while nothing of it is let through. So it is exact, and with one
 *       server the limit is never passed (but by what was answered `unsure` and was done after
 *       all). However many wait, the look is one.
 *   Q3  Those who waited get what the look found free, in the order they came. Who does not fit
 *       beside those before waits for another look, with all behind: what was claimed may turn out
 *       to make nothing new. If all fit, half of what was free, less what they got, is the new
 *       allowance: so a server looks again before it has used up what others on the same store may
 *       have used too. Each further server may pass the limit by what was free at its own last
 *       look: by half of that with an allowance it kept, by all of it only for requests that were
 *       waiting for a look made at the same moment as another's.
 *   Q4  A session that this server opened holds nothing: no look at first. Of whom nothing is
 *       known, a look is made.
 *   Q5  A look that can't be made or fails is the answer to those who waited for it; nothing is let
 *       through unseen.
 *   Q6  That a key is full is believed for QUOTAS_FULL_US, unless something of it was given back by
 *       this server: whoever asks on and on does not make the store count on and on.
 *   Q7  Who has asked longest ago is forgotten when there are too many; then Q4.
 *
 * A lock that is handed over to a session is not claimed by it: it may get over its limit so, and
 * is counted at the next look. */
#ifndef HF_SERVER_QUOTAS_H
#define HF_SERVER_QUOTAS_H

#include "server/commit/jobs.h"

typedef struct quotas quotas;
typedef struct quotas_claim quotas_claim;

/* Who holds what: the key is an id of the first. */
typedef enum quotas_kind {
    QUOTAS_LOCKS,    /* a session, locks */
    QUOTAS_SESSIONS, /* a token, sessions */
    QUOTAS_KINDS
} quotas_kind;

enum {
    /* keys that are remembered; more only while something of each is under way */
    QUOTAS_MAX = 65536,
    QUOTAS_FULL_US = 500000,
};

typedef struct quotas_settings {
    jobs *jobs;                  /* borrowed until quotas_free */
    size_t limits[QUOTAS_KINDS]; /* 0: none, and no cost */
    size_t keys_max;             /* 0: QUOTAS_MAX */
} quotas_settings;

/* What one request wants of one key. */
struct quotas_claim {
    quotas_kind kind;
    const char *id; /* at most LRU_KEY_MAX bytes count; until it is settled */
    size_t wanted;
    void (*done)(quotas_claim *claim);
    void *context;

    /* Settled. Not HF_OK: the look failed, nothing is claimed. */
    hf_status status;
    const char *message; /* why not; until anything else is asked here */
    /* how many of them fit; the others must not go, unless they make no new one */
    size_t granted;
    size_t held; /* where not all fit: how many the look found */

    /* Private to quotas.c. */
    struct quota *of;
    quotas_claim *next;
};

hf_status quotas_new(const quotas_settings *settings, quotas **out, hf_error *err);
/* Nothing may be under way: after jobs_drain. Accepts NULL. */
void quotas_free(quotas *all);

size_t quotas_limit(const quotas *all, quotas_kind kind);

/* True: settled at once. False: `done` is called later, and the claim stays where it is until then.
 * A settled claim is followed by one quotas_leave, when its ops have been answered or are not asked
 * after all (harmless where nothing is claimed). Whoever claims of several keys does it one after
 * the other in the order of quotas_compare: they never wait for each other in a ring then. */
bool quotas_take(quotas *all, quotas_claim *claim);
void quotas_leave(quotas *all, quotas_claim *claim);
int quotas_compare(const quotas_claim *a, const quotas_claim *b);

/* A session that holds nothing yet was opened by this server. */
void quotas_opened(quotas *all, const char *session);
/* Something was given back by this server; id NULL: it is not known of which key. */
void quotas_returned(quotas *all, quotas_kind kind, const char *id);
/* It has ended. */
void quotas_forget(quotas *all, quotas_kind kind, const char *id);

/* Keys that are remembered, and looks made so far. */
size_t quotas_count(const quotas *all);
uint64_t quotas_looks(const quotas *all);

#endif
