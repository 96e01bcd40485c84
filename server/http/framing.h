/* SPDX-License-Identifier: MIT */
/* Where the requests of an HTTP/1.x connection begin and end, and which bytes are head and which
 * are body. This is the only place that decides it. What two parsers could read differently is
 * refused, so nobody can smuggle a request in another. A pure state machine: no allocation, no I/O;
 * the result does not depend on how the bytes are cut. */
#ifndef HF_SERVER_HTTP_FRAMING_H
#define HF_SERVER_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAMING_NAME_SIZE = 20, /* enough to tell the names that matter from all others */
    FRAMING_METHOD_MAX = 16,
};

typedef struct framing_limits {
    size_t target_max;   /* bytes of a request's target */
    size_t head_max;     /* bytes of a request line and its headers, with the empty line */
    size_t headers_max;  /* how many headers */
    uint64_t body_max;   /* bytes of a body, all its chunks together */
    size_t chunk_max;    /* bytes of a chunk's first line, extensions and all */
    size_t trailers_max; /* bytes of what follows the last chunk */
} framing_limits;

/* The defaults. */
extern const framing_limits framing_usual;

typedef struct framing {
    const framing_limits *limits; /* borrowed */
    /* If it was refused: the HTTP status, and a sentence. 0: all is well. */
    int status;
    const char *reason;
    uint64_t requests; /* complete ones */

    /* Private. */
    unsigned state;
    unsigned header; /* which of those that matter */
    unsigned seen;   /* headers that matter, one bit each */
    bool http_1_0;
    bool trailing; /* in the trailers, not the head */
    bool passed;   /* an empty line before the request */
    size_t used;   /* bytes of the head, the chunk's line or the trailers */
    size_t part;   /* bytes of the part that is being read: method, target, name, value ... */
    size_t headers;
    uint64_t length; /* of the body or the chunk: as it is read, then what is left of it */
    uint64_t body;   /* bytes of chunks so far */
    char name[FRAMING_NAME_SIZE];
} framing;

void framing_init(framing *f, const framing_limits *limits);

/* What a byte belongs to. */
typedef enum framing_part {
    FRAMING_HEAD,    /* the request line and the headers, with the empty line */
    FRAMING_BODY,    /* the body itself, out of its chunks */
    FRAMING_BETWEEN, /* lines of chunks, trailers, an empty line before a request: to be skipped */
} framing_part;

/* The bytes up to where something begins or ends. */
typedef struct framing_piece {
    size_t size;
    framing_part part;
    bool head_ends; /* with its last byte */
    bool ends;      /* the request, with its last byte */
} framing_piece;

/* Takes the next bytes, as far as they belong to one part. A size of 0: refused (see `status`),
 * unless there were no bytes. The byte that would complete a bad head is never taken, so a reader
 * never sees a whole head that is refused here. */
framing_piece framing_next(framing *f, const void *bytes, size_t size);

/* The same for all bytes; how many are good. Fewer than `size`: refused, and nothing more is
 * good. */
size_t framing_feed(framing *f, const void *bytes, size_t size);

/* Between requests: nothing of the next one has arrived. */
bool framing_idle(const framing *f);

/* Bytes of the body that are still to come, as far as that was said: 0 before a chunk. */
uint64_t framing_awaits(const framing *f);

/* The head of the request is not complete. */
bool framing_in_head(const framing *f);

#endif
