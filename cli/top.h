/* SPDX-License-Identifier: MIT */
/* What `top` sees of a store at one look. Asking is top_look.c's, saying it top.c's. */
#ifndef HF_CLI_TOP_H
#define HF_CLI_TOP_H

#include "cli/call.h"
#include "cli/top_server.h"

enum {
    TOP_PAGES_MAX = 10,  /* pages of locks that one look reads: 10,000 */
    TOP_KEPT_MAX = 1000, /* the longest held that are kept; requests for them are looked up */
    TOP_EVENT_PAGES = 20 /* pages of events; who is further behind goes on at the newest */
};

/* A lock that has been held for long. */
typedef struct top_lock {
    hf_lock lock;
    size_t waiting; /* requests for its resource */
} top_lock;

typedef struct top_view {
    cli_call *call;
    int64_t now_us; /* the store's time */
    hf_grade grade;
    size_t total_locks, total_sessions;
    hf_count *types; /* most locks first */
    size_t types_count;
    bool more_types;
    top_lock *locks; /* held longest first */
    size_t locks_count;
    size_t looked;  /* locks that were looked at to find them */
    bool more;      /* there are further locks, which were not looked at */
    size_t waiting; /* requests for all these */

    int64_t seq;     /* the last event seen */
    bool has_before; /* there was a look before: the counts below are since then */
    int64_t before_us;
    int64_t passed_us; /* 0: not known */
    uint64_t events[HF_EVENT_KINDS];
    bool missed; /* there were more events than these */

    bool is_server;    /* the store is a server: it tells of itself, too */
    top_server server; /* not known: server_flaw says why */
    char server_flaw[HF_MESSAGE_SIZE];
    top_told told; /* at the last look */
    bool has_told;
} top_view;

/* Looks at the store, again and again. */
hf_status top_look(top_view *view, hf_error *err);
void top_done(top_view *view);

/* The view as one JSON object, to be freed with hf_json_free; NULL: no memory. With the first
 * `rows` of the longest held. */
char *top_json(const top_view *view, size_t rows);

#endif
