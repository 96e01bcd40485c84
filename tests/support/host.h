/* SPDX-License-Identifier: MIT */
/* The real server in a thread of the test's own process, in front of a store whose clock the test
 * can move. */
#ifndef HF_TESTS_SUPPORT_HOST_H
#define HF_TESTS_SUPPORT_HOST_H

#include <holdfast/store.h>

typedef struct host host;

/* On a port of the loopback, with a token that may do everything. The store is borrowed. What goes
 * wrong ends the test. */
host *host_start(hf_store *store);

/* Accepts NULL. */
void host_stop(host *h);

/* "http://127.0.0.1:PORT?token_file=..."; url holds HF_URL_MAX bytes. */
void host_url(const host *h, char *url);
/* The same without the token, and the token's secret. */
void host_address(const host *h, char *url);
const char *host_secret(const host *h);

hf_store *host_store(host *h);

#endif
