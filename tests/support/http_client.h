/* SPDX-License-Identifier: MIT */
/* A plain HTTP client on a socket of its own, which it keeps: one request at a time, and an honest
 * word about what became of it. */
#ifndef HF_TESTS_SUPPORT_HTTP_CLIENT_H
#define HF_TESTS_SUPPORT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http_client {
    int port;          /* of 127.0.0.1 */
    int fd;            /* -1: not connected */
    unsigned requests; /* on this connection */
    int64_t sent_us;   /* when the last one had been sent; before that, when it began to connect */
    /* how long before it was the one before: at least as long as the connection was idle */
    int64_t gap_us;
} http_client;

typedef enum http_client_end {
    HTTP_CLIENT_ANSWERED,
    HTTP_CLIENT_REFUSED, /* no connection: nothing was sent */
    HTTP_CLIENT_CLOSED,  /* the connection was closed, and not a byte of an answer had come */
    HTTP_CLIENT_RESET,   /* the same, by a reset */
    HTTP_CLIENT_CUT      /* in the middle of an answer */
} http_client_end;

typedef struct http_client_answer {
    int status;
    bool closes;     /* it says that the connection will be closed */
    char text[8192]; /* head and body, NUL-terminated */
    const char *body;
    size_t body_size;
} http_client_answer;

/* headers: whole lines, each with its CR LF; body NULL: none. Connects when it is not connected, or
 * when the last answer said that the connection ends. */
http_client_end http_client_ask(http_client *a, const char *method, const char *path,
                                const char *headers, const char *body, http_client_answer *out);

/* The two halves of it. Sending fails only when there is no connection. */
bool http_client_send(http_client *a, const char *text, size_t size);
http_client_end http_client_read(http_client *a, http_client_answer *out);

void http_client_close(http_client *a);

/* The number behind "name": in the body; 0: it is not there. And the text, NUL-terminated; false:
 * not there, or too long. */
long long http_client_number(const http_client_answer *answer, const char *name);
bool http_client_text(const http_client_answer *answer, const char *name, char *out, size_t size);

#endif
