/* SPDX-License-Identifier: MIT */
/* A business transaction: one person's work on one customer, from the page that opens it to the
 * save, over several requests. Its locks belong to its holdfast session. What it read first is kept
 * (an identity map of one aggregate): it is what the person's changes are compared with. */
#ifndef WORK_H
#define WORK_H

#include "customer.h"

typedef struct person {
    char user[HF_TEXT_SIZE]; /* also the first part of the path: /alice/customers */
    char name[HF_TEXT_SIZE];
    bool may_take_over;
} person;

typedef struct work {
    struct work *next;
    char name[HF_SESSION_ID_SIZE]; /* how its pages call it */
    const person *who;
    hf_session *session;
    hf_resource resource; /* the root's name: customer/42; customer/0 for work that only watches */
    int64_t customer;
    hf_lock lock; /* the last that was granted here; fence 0: none */
    bool loaded;
    customer read;
} work;

/* What all works share. */
typedef struct office {
    hf_manager *manager;
    char token[HF_TOKEN_ID_SIZE]; /* id of the token that gives pages their rights at the server */
    int64_t idle_us;              /* how long a session lives without a beat */
} office;

/* Makes sure that there is a token for this application's sessions, and finds its id. */
hf_status office_open(office *it, hf_error *err);

/* Begins a work. In the same step the session of `replaces` (may be NULL) ends and its locks are
 * given back: of two pages of one person the newer counts. */
hf_status work_begin(const office *in, const person *who, int64_t number, const work *replaces,
                     work **out, hf_error *err);

/* Gives a work a new session, when the old one has lost its lock or ended. What was read stays. */
hf_status work_renew(const office *in, work *it, hf_error *err);

/* "ID.KEY", for the page. out holds WORK_SECRET_SIZE bytes. */
enum { WORK_SECRET_SIZE = HF_SESSION_ID_SIZE + HF_KEY_SIZE };
void work_secret(const work *it, char *out);

/* Says that it goes on. False: its session has ended. */
bool work_lives(work *it);

/* Ends the work with all it holds. If the store can't be told, its idle bound ends it. */
void work_end(work *it);

/* Frees the memory alone: for a work that never came to be. Accepts NULL. */
void work_free(work *it);

#endif
