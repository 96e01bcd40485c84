/* SPDX-License-Identifier: MIT */
/* Clients of plain HTTP: each opens sessions, takes and gives back a few locks that all want, and
 * beats, with an Idempotency-Key for each change; what was not answered is asked again with the
 * same key, of whoever listens at the port then. All they were told goes to the checker of
 * histories. */
#ifndef HF_TESTS_FAULTS_HTTP_CLIENTS_H
#define HF_TESTS_FAULTS_HTTP_CLIENTS_H

#include "races/check.h"

#include <stdatomic.h>

typedef struct http_clients http_clients;

typedef struct http_tally {
    size_t requests;            /* answered */
    size_t refused;             /* no connection */
    size_t closed, reset, cut;  /* no answer, see http_client.h */
    size_t late;                /* the same when the client had not run for long: taken for idle */
    size_t unavailable, unsure; /* answered 503, 504 */
    size_t connections;
} http_tally;

http_clients *http_clients_start(int port, const char *secret, size_t clients);

/* Waits until so many more requests have been answered, or something is wrong. */
void http_clients_work(http_clients *group, size_t more);

/* Lets them end, waits, judges the history: what is wrong fails the test. */
void http_clients_end(http_clients *group, http_tally *sum, check_report *report);

#endif
