/* SPDX-License-Identifier: MIT */
/* A plain HTTP client on a socket of its own, which it keeps: one request at a time, and an honest
 * word about what became of it. */
#ifndef HF_TESTS_SUPPORT_ASKER_H
#define HF_TESTS_SUPPORT_ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct asker {
    int port;          /* of 127.0.0.1 */
    int fd;            /* -1: not connected */
    unsigned requests; /* on this connection */
    int64_t sent_us;   /* when the last one had been sent; before that, when it began to connect */
    /* how long before it was the one before: at least as long as the connection was idle */
    int64_t gap_us;
} asker;

typedef enum asker_end {
    ASKER_ANSWERED,
    ASKER_REFUSED, /* no connection: nothing was sent */
    ASKER_CLOSED,  /* the connection was closed, and not a byte of an answer had come */
    ASKER_RESET,   /* the same, by a reset */
    ASKER_CUT      /* in the middle of an answer */
} asker_end;

typedef struct asker_answer {
    int status;
    bool closes;     /* it says that the connection will be closed */
    char text[8192]; /* head and body, NUL-terminated */
    const char *body;
    size_t body_size;
} asker_answer;

/* headers: whole lines, each with its CR LF; body NULL: none. Connects when it is not connected, or
 * when the last answer said that the connection ends. */
asker_end asker_ask(asker *a, const char *method, const char *path, const char *headers,
                    const char *body, asker_answer *out);

/* The two halves of it. Sending fails only when there is no connection. */
bool asker_send(asker *a, const char *text, size_t size);
asker_end asker_read(asker *a, asker_answer *out);

void asker_close(asker *a);

/* The number behind "name": in the body; 0: it is not there. And the text, NUL-terminated; false:
 * not there, or too long. */
long long asker_number(const asker_answer *answer, const char *name);
bool asker_text(const asker_answer *answer, const char *name, char *out, size_t size);

#endif
