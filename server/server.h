/* SPDX-License-Identifier: MIT */
/* The server as a whole: opens the store, listens, answers until it is told to stop, and closes
 * everything. */
#ifndef HF_SERVER_SERVER_H
#define HF_SERVER_SERVER_H

#include "server/bootstrap.h"
#include "server/http/listeners.h"
#include "server/settings.h"

/* What a server tells when it is ready. */
typedef struct server_ready {
    const listeners *listening;
    const bootstrap_token *token;
    const hf_grade *grade;
} server_ready;

/* What the program that runs it wants to hear; each may be NULL. */
typedef struct server_hooks {
    void (*ready)(void *context, const server_ready *what);
    void *context;
} server_hooks;

/* Serves until SIGTERM or SIGINT (the second one, or stop-timeout, cuts off who is left), reads
 * certificates again on SIGHUP. Logs to stderr. HF_OK: it was stopped. Anything else: it could not
 * start, or had to end; the sentence says why. One at a time in a process. */
hf_status server_main(const settings *s, const server_hooks *hooks, hf_error *err);

#endif
