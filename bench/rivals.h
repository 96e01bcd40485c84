/* SPDX-License-Identifier: MIT */
/* Others who keep locks, with what a programmer would write on them, as loads of LOAD_CONNECTIONS
 * connections: pairs, or reads of one value. */
#ifndef HF_BENCH_RIVALS_H
#define HF_BENCH_RIVALS_H

#include "talk.h"

typedef struct rival rival;

/* Redis: SET NX, then a script that compares and deletes. redis://HOST:PORT or redis+unix://PATH.
 * */
rival *rival_redis(const bench *b, const char *url);

/* Redis: GET of values that are set beforehand, and removed by rival_close. */
rival *rival_redis_get(const bench *b, const char *url);

/* etcd by its JSON gateway: a transaction that creates if there is none, then one that compares and
 * deletes. etcd://HOST:PORT. */
rival *rival_etcd(const bench *b, const char *url);

load *rival_load(rival *r);
void rival_close(rival *r);

/* ---- for the rivals themselves ---- */

struct rival {
    talk_names names;
    load *load;
    char address[128];
    pid_t server;           /* 0: not known */
    char script[41];        /* Redis: the hash of its script */
    void (*undo)(rival *r); /* before it is closed; NULL: there is nothing to undo */
};

/* Names, and the address behind the URL's scheme. Dies if the URL has none of these schemes. */
rival *rival_new(const bench *b, const char *url, const char *scheme, const char *unix_scheme);
void rival_connect(rival *r, const char *name, const load_talk *talk);

#endif
