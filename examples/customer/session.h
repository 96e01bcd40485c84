/* SPDX-License-Identifier: MIT */
/* The application session: a person who is signed in, with the works of all their pages. However it
 * ends, by a sign-out, by time or with the program, what its works hold is given back. */
#ifndef SESSION_H
#define SESSION_H

#include "work.h"

#include <time.h>

enum { SECRET_SIZE = 33, WORKS_MAX = 32, SESSIONS_MAX = 1000 };

typedef struct app_session {
    struct app_session *next;
    const person *who;
    char id[SECRET_SIZE];   /* the cookie */
    char csrf[SECRET_SIZE]; /* what its forms carry */
    time_t used;
    work *works; /* the newest first */
} app_session;

typedef struct app_sessions {
    app_session *first;
    size_t count;
    const office *office;
    int idle_s; /* how long one lives without a request */
} app_sessions;

/* A random secret, hex. False: reading random bytes failed. */
bool secret_new(char out[SECRET_SIZE]);
/* Compares in a time that tells nothing. */
bool secret_equals(const char *a, const char *b);

/* NULL: there are too many, or memory is out. */
app_session *session_begin(app_sessions *all, const person *who);
app_session *session_find(app_sessions *all, const person *who, const char *id);
void session_end(app_sessions *all, app_session *it);
void session_end_all(app_sessions *all);

/* Ends those that were not used for long and have no page at work. */
void session_expire(app_sessions *all);

/* Keeps a work with the session. With too many the oldest ends. */
void session_keep(app_session *it, work *one);
/* The work that a page names; NULL: none. */
work *session_work(app_session *it, const char *name);
/* The newest work on a customer; NULL: none. */
work *session_work_on(app_session *it, int64_t number);
/* Frees what the works of all have read, before the tables are closed. */
void session_unread_all(app_sessions *all);
/* Takes a work out, to be ended. */
void session_forget(app_session *it, const work *one);

#endif
