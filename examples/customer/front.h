/* SPDX-License-Identifier: MIT */
/* The front controller: every request comes in here, is given to the one command that its method
 * and path name. */
#ifndef FRONT_H
#define FRONT_H

#include "page.h"
#include "records.h"
#include "session.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

enum { PEOPLE_MAX = 16, BODY_MAX = 256 * 1024, LINE_MAX_SIZE = 512 };

typedef struct app {
    records records;
    office office;
    app_sessions sessions;
    person people[PEOPLE_MAX];
    size_t people_count;
    char server[LINE_MAX_SIZE]; /* URL of the holdfast server, as browsers reach it; "": none, pages
                                   do without */
    char csrf[SECRET_SIZE];     /* of pages that nobody is signed in on */
    unsigned port;
    bool demo; /* the page with two people, who are signed in without being asked */
} app;

/* One request on its way. Commands read the first half and write the second. */
typedef struct request {
    app *app;
    struct evhttp_request *raw;
    const person *person; /* whose pages these are: the first part of the path; NULL: nobody's */
    app_session *session; /* NULL: not signed in */
    int64_t customer;     /* of the path; 0: none */
    struct evkeyvalq query, form;
    char body[BODY_MAX + 1];

    int status;
    const char *type;
    struct evbuffer *answer;
    char location[LINE_MAX_SIZE];
    char cookie[LINE_MAX_SIZE];
    work *begun; /* by this request: ended if it fails */
} request;

/* Gives every request of the server to the application. */
void front_open(app *it, struct evhttp *http);

/* ---- for commands ---- */

/* The last value of that name: what a script adds to a form stands behind what was there. NULL:
 * none. */
const char *request_field(const request *r, const char *name);
const char *request_query(const request *r, const char *name);
int64_t request_number(const char *text);

/* A page within the layout; `main` is emptied. */
void request_page(request *r, int status, const char *title, struct evbuffer *main);
/* A page with one sentence on it. */
void request_message(request *r, int status, const char *title, const char *sentence);
/* 303 to a path below the person's pages. */
void request_redirect(request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* {"code","message"} */
void request_problem(request *r, hf_status status, const char *message);

#endif
