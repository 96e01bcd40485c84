/* SPDX-License-Identifier: MIT */
/* The remote store from inside: a holdfast server as a store. A batch is one POST to its /v1/batch.
 *
 *   N1  A batch is one request on a connection that is kept; each thread that calls at the same
 *       time has a connection of its own.
 *   N2  What could not be sent was not done: HF_UNAVAILABLE. What was sent and not answered is
 *       HF_UNSURE, if it changes anything.
 *   N3  A request goes out a second time, on another connection when a kept one had died, only
 *       where doing it twice is doing it once: it reads, or its request ids tell the server that it
 *       was asked before. What changes something is then done or refused by a 200 only: any other
 *       answer is about the second sending, and leaves the first HF_UNSURE.
 *   N4  An op with a flaw is never told; something that is refused anywhere stands in its place,
 *       and the flaw is its answer.
 *   N5  Neither token nor key shows in a sentence, and both are wiped where they were written. */
#ifndef HF_STORE_REMOTE_H
#define HF_STORE_REMOTE_H

#include "base/buffer.h"
#include "store/store.h"

#include <curl/curl.h>

/* ---- where it is ---- */

/* What a URL of a server says. */
typedef struct remote_target {
    char *base;      /* "https://locks:7420/prefix", without a slash at its end */
    char *name;      /* the same for sentences, with the socket if there is one */
    char *socket;    /* socket=PATH; NULL: TCP */
    char *ca_file;   /* ca_file=PATH: who signs for the server; NULL: whom the system trusts */
    char *token;     /* token_file=PATH, else HOLDFAST_TOKEN; NULL: none */
    long timeout_ms; /* timeout=DURATION: of a whole call */
    long connect_ms; /* of its beginning */
} remote_target;

/* HF_INVALID: the URL or a parameter makes no sense. HF_UNAVAILABLE: a file can't be read. Whatever
 * it came to, remote_target_done may be called. */
hf_status remote_target_read(const char *url, remote_target *out, hf_error *err);

/* Secrets are wiped. */
void remote_target_done(remote_target *target);

/* ---- calling it ---- */

/* A connection, and the request that is on it. */
typedef struct remote_call {
    CURL *curl;
    struct remote_call *next; /* of those that are idle */
    hf_buffer asked;          /* the body that is sent; holds keys */
    hf_buffer answer;         /* the body that came */
    bool may_repeat;          /* N3 */
    /* What came of it. */
    CURLcode code;
    long http;      /* status; 0: none came */
    long os_errno;  /* of a connection that could not be made */
    unsigned begun; /* how often it began to be sent: 0 says that nothing was */
    bool too_large; /* more came than is taken */
    bool no_memory;
    char why[CURL_ERROR_SIZE];
} remote_call;

/* The connections of a store. */
typedef struct remote_calls {
    const remote_target *target;
    struct curl_slist *headers; /* with the token */
    pthread_mutex_t mutex;      /* guards what follows */
    remote_call *idle;          /* the one used last is taken first */
    unsigned idle_count;
} remote_calls;

/* Readies libcurl, once in a process. Before anything else here. */
hf_status remote_start(hf_error *err);

/* `target` is borrowed. Whatever it came to, remote_calls_done may be called. */
hf_status remote_calls_init(remote_calls *calls, const remote_target *target, hf_error *err);
/* All must have been given back. Accepts what is all zero. */
void remote_calls_done(remote_calls *calls);

/* A connection for the caller alone; it may not be connected yet. */
hf_status remote_take(remote_calls *calls, remote_call **out, hf_error *err);
void remote_give(remote_calls *calls, remote_call *call);

/* Sends what is in `asked` to PATH below the base (post), or asks for PATH, and waits for the
 * answer. */
void remote_perform(remote_calls *calls, remote_call *call, const char *path, bool post);

/* ---- what came back ---- */

/* It was sent twice, and the second sending was refused: of the first, whose answer was lost, that
 * says nothing. HF_UNSURE. */
hf_status remote_explain_again(const remote_target *target, const remote_call *call, hf_error *err);

/* HF_OK: 200, with the whole answer. Otherwise what that means for a request that changes something
 * or does not, and the sentence. */
hf_status remote_outcome(const remote_target *target, const remote_call *call, bool changes,
                         hf_error *err);

/* What /readyz answered. Not HF_OK: it is no server of holdfast's, or not ready. */
hf_status remote_ready(const remote_target *target, const remote_call *call, hf_grade *out,
                       hf_error *err);

/* ---- the batch ---- */

/* The flaws of a batch's ops, in its arena: one for each op, NULL for those without; *out is NULL
 * when there is none at all. */
hf_status remote_flaws(hf_batch *batch, const char ***out, hf_error *err);

/* Writes the batch, with stand-ins for the ops that have a flaw. */
hf_status remote_tell(hf_batch *batch, const char *const *flaws, hf_buffer *out, hf_error *err);

/* Reads the answers, and puts the flaws in their places. HF_INVALID: they make no sense, or one
 * lacks the rows that its kind promises. */
hf_status remote_hear(hf_batch *batch, const char *const *flaws, const hf_buffer *answer,
                      hf_error *err);

bool remote_changes(const hf_batch *batch);
bool remote_may_repeat(const hf_batch *batch);

#endif
