/* SPDX-License-Identifier: MIT */
/* A small HTTP server in front of a store, in threads of the test's own process: POST .../v1/batch
 * GET .../readyz and GET .../metrics, as a remote store needs them. The store's clock can be moved,
 * and the server can be made to fail in every way a server, a network or a proxy does. Any thread
 * may call these. What goes wrong in the server itself ends the test. */
#ifndef HF_TESTS_SUPPORT_BATCHD_H
#define HF_TESTS_SUPPORT_BATCHD_H

#include <holdfast/store.h>

typedef struct batchd batchd;

/* Whose certificate it shows: PEM files; NULL instead of these: plain HTTP. */
typedef struct batchd_tls {
    const char *certificate, *key;
} batchd_tls;

/* On a port of the loopback, or on a Unix socket at that path. The store is borrowed. */
batchd *batchd_start(hf_store *store, const char *socket_path, const batchd_tls *tls);

/* Cuts what is left and ends the threads. Accepts NULL. */
void batchd_stop(batchd *d);

/* Its port, and its URL ("http://127.0.0.1:PORT"; url holds HF_URL_MAX bytes). */
int batchd_port(const batchd *d);
void batchd_url(const batchd *d, char *url);

hf_store *batchd_store(batchd *d);

/* Freezes the store's clock; no batch is in the store meanwhile. */
void batchd_clock(batchd *d, int64_t now_us);

/* Only callers who present this token are answered; NULL: everyone. Borrowed. */
void batchd_token(batchd *d, const char *token);

/* What stands in this file is answered to GET .../metrics, each time as it is then. NULL: nothing.
 * Borrowed; before the first call. */
void batchd_metrics(batchd *d, const char *path);

/* ---- misbehaving ---- */

typedef enum batchd_then {
    BATCHD_KEEPS,  /* the connection stays open for the next request */
    BATCHD_CLOSES, /* it is closed in an orderly way */
    BATCHD_RESETS, /* it is reset */
    BATCHD_HANGS   /* it stays open, and nothing happens on it any more */
} batchd_then;

typedef struct batchd_whim batchd_whim;
struct batchd_whim {
    unsigned times;    /* for so many requests; 0: for none */
    unsigned after;    /* ... after so many more that are answered as they should */
    bool execute;      /* the batch is carried out all the same */
    bool half;         /* half of the true answer is sent */
    const char *reply; /* this is sent, as it is, instead of the answer; NULL: nothing. Borrowed */
    size_t spaces;     /* so many spaces after it */
    batchd_then then;
    const batchd_whim *next; /* how it goes on after those; NULL: as it should. Borrowed */
};

void batchd_misbehave(batchd *d, const batchd_whim *whim);

/* Closes every connection, as a server that is started again; new ones are taken. */
void batchd_cut(batchd *d);

/* ---- what was seen ---- */

size_t batchd_batches(batchd *d);     /* POST .../v1/batch since the start, whatever came of them */
size_t batchd_connections(batchd *d); /* since the start */
/* The last request's first line and headers, up to `size` bytes with a NUL. */
void batchd_last(batchd *d, char *out, size_t size);

#endif
