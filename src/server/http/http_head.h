/* SPDX-License-Identifier: MIT */
/* A head that framing.c has accepted, split in place: where the path and the query are, and the
 * headers by name. It judges nothing that says where a request ends. */
#ifndef HF_SERVER_HTTP_HEAD_H
#define HF_SERVER_HTTP_HEAD_H

#include "base/text.h"
#include "server/http/http.h"

/* Places in the text of the head, which may move. */
typedef struct http_head {
    http_method method;
    bool http_1_0;
    bool keep_alive; /* the client would like to go on afterwards */
    bool expects;    /* Expect: 100-continue */
    bool demands;    /* Expect: something else */
    bool forwarded;  /* someone says that they passed it on */
    size_t path, path_size;
    size_t query, query_size;
    size_t fields, fields_end; /* name, NUL, value, NUL ...; names in lower case */
} http_head;

/* Rewrites the headers within `text`; the values of one that was given more than once are joined.
 * False: the target is not a path. */
bool http_head_split(char *text, size_t size, http_head *out);

/* The value of a header, in the text; NULL: not there. */
const char *http_head_find(const char *text, const http_head *head, const char *name);

/* Is the word one of a list such as "keep-alive, Upgrade"? In any case. */
bool http_list_has(const char *list, const char *word);

#endif
