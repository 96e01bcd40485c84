/* SPDX-License-Identifier: MIT */
/* Opens the store at the start, on a thread of its own, while the loop runs: so signals count at
 * once. A store that does not answer yet (hf_error.away) is tried again each second; meanwhile the
 * sockets answer: /healthz with 200, everything else with 503. What waiting does not mend (a wrong
 * password, tables that are not holdfast's) ends the start at once. */
#ifndef HF_SERVER_OPENING_H
#define HF_SERVER_OPENING_H

#include "server/bootstrap.h"
#include "server/http/listeners.h"
#include "server/log.h"

struct event_base;
typedef struct opening opening;

typedef struct opening_settings {
    const settings *settings; /* all is borrowed until opening_end */
    struct event_base *base;
    log_sink *log;
    const listeners *listening; /* open; they stay the caller's */
    size_t connections_max;
    void (*waits)(void *context);     /* once: the store is away, and the sockets answer now */
    void *context;
} opening_settings;

/* Runs the loop until the store is open and the first token is there. HF_OK and *store NULL:
 * someone else has broken the loop. Call opening_end in any case. */
hf_status opening_run(const opening_settings *wanted, opening **out, hf_store **store,
                      bootstrap_token *token, hf_error *err);

/* False: the thread still waits for the store, and has to be left behind: the process must end
 * without running what is registered for its exit. Accepts NULL. */
bool opening_end(opening *it);

#endif
