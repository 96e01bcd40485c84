/* SPDX-License-Identifier: MIT */
/* A desk where callers come: a memory store behind a gate and a fault, a committer, a loop, and a
 * clock that stands still until it is moved. */
#ifndef HF_TESTS_UNIT_SERVER_AUTHENTICATE_DESK_H
#define HF_TESTS_UNIT_SERVER_AUTHENTICATE_DESK_H

#include "unit/server/gated_store.h"

#include <server/access/authenticate.h>

struct event_base;

#define MILLISECOND INT64_C(1000)
#define SECOND      INT64_C(1000000)

typedef struct desk {
    hf_store *memory, *fault, *store; /* each behind the next */
    committer *committer;
    struct event_base *base;
    jobs *jobs;
    authenticator *authenticator;
    /* of all who come; NULL at first */
    hf_status (*may_look)(caller *who, size_t count, hf_error *err);
    bool cookies; /* what all present is a page's cookie */
} desk;

void desk_open(desk *d, authenticator_settings settings);
void desk_close(desk *d);
/* Runs the loop until nothing is under way. */
void desk_settle(desk *d);

/* The desk's clock and the store's, at once. */
void clock_forward(int64_t us);

/* One who comes. */
typedef struct visit {
    caller who;
    hf_arena arena;
    const hf_credentials *sessions[8];
    bool done;
} visit;

/* Asks who it is; visit_wait runs the loop until it is known. `sessions` ends with NULL; may be
 * NULL. */
visit *visit_begin(desk *d, const char *bearer, const hf_credentials *const *sessions);
visit *visit_wait(desk *d, visit *v);
void visit_free(visit *v);
#define visit_now(d, bearer, ...)                                                                  \
    visit_wait((d), visit_begin((d), (bearer), (const hf_credentials *const[]){__VA_ARGS__, NULL}))

/* What another server does to the store. */
hf_token_key make_token(desk *d, const char *name, const char *roles, const char *users,
                        int64_t ttl_us);
void revoke_token(desk *d, const char *id);
hf_credentials open_session(desk *d, const char *user, const char *opener);
hf_answer *store_ask(desk *d, const hf_op *op); /* until the next is asked */
void desk_forget(void);                         /* ... or this */

/* The n-th allocation of this thread from now on fails (1 is the next), not those of the
 * committer's: the store's memory is tested elsewhere. */
void scarce_begin(unsigned n);
/* Memory is plentiful again. False: there were not so many. */
bool scarce_end(void);

/* How often the store was asked for that, by the desk. Nothing may be under way. */
size_t asked(desk *d, hf_op_kind kind);

#endif
