/* SPDX-License-Identifier: MIT */
/* A business transaction: one person's work on one customer, from the page that opens it to the
 * save, over several requests. Its locks belong to its holdfast session, what it has read to its
 * unit: request 1 loads, request 2 saves. */
#ifndef WORK_H
#define WORK_H

#include "customer.h"

typedef struct person {
    char user[HF_TEXT_SIZE]; /* also the first part of the path: /alice/customers */
    char name[HF_TEXT_SIZE];
    bool may_take_over;
} person;

/* A customer and its addresses, as records of a unit; NULL: not there. */
typedef struct aggregate {
    hf_record *root, *address[ADDRESS_KINDS];
} aggregate;

typedef struct work {
    struct work *next;
    char name[HF_SESSION_ID_SIZE]; /* how its pages call it */
    const person *who;
    hf_session *session;
    hf_session *older; /* in whose place it comes: ends when this one has its lock; NULL: none */
    int64_t customer;  /* 0: it only watches */
    hf_unit *unit;     /* NULL: nothing is read, or it was saved */
    aggregate parts;   /* of the unit */
    bool loaded;
    customer read; /* as first read: what the person's changes are compared with */
} work;

/* What all works share. */
typedef struct office {
    hf_manager *manager;
    char token[HF_TOKEN_ID_SIZE]; /* id of the token that gives pages their rights at the server */
    int64_t idle_us;              /* how long a session lives without a beat */
} office;

/* Makes sure that there is a token for this application's sessions, and finds its id. */
hf_status office_open(office *it, hf_error *err);

/* Begins a work, in the place of `before` (may be NULL), which is freed: of two pages of one person
 * the newer counts. */
hf_status work_begin(const office *in, const person *who, int64_t number, work *before, work **out,
                     hf_error *err);

/* Gives a work a new session, when the old one has lost its lock or ended. What was read stays. */
hf_status work_renew(const office *in, work *it, hf_error *err);

/* Ends the session in whose place the work has come. */
void work_settle(work *it);

/* Frees the unit; `read` stays. */
void work_unread(work *it);

/* The name of a customer with holdfast. */
hf_resource work_resource(int64_t number);

/* "ID.KEY", for the page. out holds WORK_SECRET_SIZE bytes. */
enum { WORK_SECRET_SIZE = HF_SESSION_ID_SIZE + HF_KEY_SIZE };
void work_secret(const work *it, char *out);

/* Says that it goes on. False: its session has ended. */
bool work_lives(work *it);

/* Ends the work with all it holds. If the store can't be told, its idle bound ends it. Accepts
 * NULL. */
void work_end(work *it);

#endif
