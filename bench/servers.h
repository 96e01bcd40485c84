/* SPDX-License-Identifier: MIT */
/* What the figures on database servers share: namespaces that are made for the run and removed
 * after it. */
#ifndef HF_BENCH_SERVERS_H
#define HF_BENCH_SERVERS_H

#include "hand.h"
#include "ours.h"

enum { BENCH_URL_SIZE = 1200 };

/* A server that is measured. */
typedef struct bench_server {
    bench *b;
    const hand_kind *kind;
    const char *url;
} bench_server;

/* A namespace: tables of their own, made by opening a store on them. */
typedef struct bench_space {
    const bench_server *server;
    char names[32];
    char url[BENCH_URL_SIZE];
    ours *ours; /* the store that has made them; its session is there for whoever needs one */
    hand *hand; /* a connection of its own */
} bench_space;

/* Makes the tables, with anchors for the working names and so many other names held. */
void bench_space_open(const bench_server *server, const char *names, size_t held, bench_space *out);
void bench_space_close(bench_space *space);

/* Runs a statement of hand.sql that takes nothing. */
double bench_space_run(bench_space *space, int which);

/* --only, and the name of a figure: the server's name, a slash, this. */
bool bench_server_wants(const bench_server *server, const char *name, bench_figure *figure);

/* trips.c */
void bench_trips(const bench_server *server);

#endif
