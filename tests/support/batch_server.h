/* SPDX-License-Identifier: MIT */
/* A small HTTP server in front of a store, in threads of the test's own process: POST .../v1/batch
 * GET .../readyz and GET .../metrics, as a remote store needs them. The store's clock can be moved,
 * and the server can be made to fail in every way a server, a network or a proxy does. Any thread
 * may call these. What goes wrong in the server itself ends the test. */
#ifndef HF_TESTS_SUPPORT_BATCH_SERVER_H
#define HF_TESTS_SUPPORT_BATCH_SERVER_H

#include <holdfast/store.h>

typedef struct batch_server batch_server;

/* Whose certificate it shows: PEM files; NULL instead of these: plain HTTP. */
typedef struct batch_server_tls {
    const char *certificate, *key;
} batch_server_tls;

/* On a port of the loopback, or on a Unix socket at that path. The store is borrowed. */
batch_server *batch_server_start(hf_store *store, const char *socket_path,
                                 const batch_server_tls *tls);

/* Cuts what is left and ends the threads. Accepts NULL. */
void batch_server_stop(batch_server *d);

/* Its port, and its URL ("http://127.0.0.1:PORT"; url holds HF_URL_MAX bytes). */
int batch_server_port(const batch_server *d);
void batch_server_url(const batch_server *d, char *url);

hf_store *batch_server_store(batch_server *d);

/* Freezes the store's clock; no batch is in the store meanwhile. */
void batch_server_clock(batch_server *d, int64_t now_us);

/* Only callers who present this token are answered; NULL: everyone. Borrowed. */
void batch_server_token(batch_server *d, const char *token);

/* What stands in this file is answered to GET .../metrics, each time as it is then. NULL: nothing.
 * Borrowed; before the first call. */
void batch_server_metrics(batch_server *d, const char *path);

/* ---- misbehaving ---- */

typedef enum batch_server_then {
    BATCH_SERVER_KEEPS,  /* the connection stays open for the next request */
    BATCH_SERVER_CLOSES, /* it is closed in an orderly way */
    BATCH_SERVER_RESETS, /* it is reset */
    BATCH_SERVER_HANGS   /* it stays open, and nothing happens on it any more */
} batch_server_then;

typedef struct batch_server_fault batch_server_fault;
struct batch_server_fault {
    unsigned times;    /* for so many requests; 0: for none */
    unsigned after;    /* ... after so many more that are answered as they should */
    bool execute;      /* the batch is carried out all the same */
    bool half;         /* half of the true answer is sent */
    const char *reply; /* this is sent, as it is, instead of the answer; NULL: nothing. Borrowed */
    size_t spaces;     /* so many spaces after it */
    batch_server_then then;
    const batch_server_fault *next; /* how it goes on after those; NULL: as it should. Borrowed */
};

void batch_server_fail(batch_server *d, const batch_server_fault *whim);

/* Closes every connection, as a server that is started again; new ones are taken. */
void batch_server_cut(batch_server *d);

/* ---- what was seen ---- */

size_t batch_server_batches(
    batch_server *d); /* POST .../v1/batch since the start, whatever came of them */
size_t batch_server_connections(batch_server *d); /* since the start */
/* The last request's first line and headers, up to `size` bytes with a NUL. */
void batch_server_last(batch_server *d, char *out, size_t size);

#endif
