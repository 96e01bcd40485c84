/* SPDX-License-Identifier: MIT */
/* The real server in a thread of the test's own process, in front of a store whose clock the test
 * can move. */
#ifndef HF_TESTS_SUPPORT_SERVER_THREAD_H
#define HF_TESTS_SUPPORT_SERVER_THREAD_H

#include <holdfast/store.h>

typedef struct server_thread server_thread;

/* On a port of the loopback, with a token that may do everything. The store is borrowed. What goes
 * wrong ends the test. */
server_thread *server_thread_start(hf_store *store);

/* Accepts NULL. */
void server_thread_stop(server_thread *h);

/* "http://127.0.0.1:PORT?token_file=..."; url holds HF_URL_MAX bytes. */
void server_thread_url(const server_thread *h, char *url);
/* The same without the token, and the token's secret. */
void server_thread_address(const server_thread *h, char *url);
const char *server_thread_secret(const server_thread *h);

hf_store *server_thread_store(server_thread *h);

#endif
