/* SPDX-License-Identifier: MIT */
/* The driver of the compare-and-set store (kv.h) for Redis. Private to redis*.c of this folder; a
 * module. How it keeps what kv.h asks for:
 *
 *   V1  One script writes a batch (sql/redis/store_commit.lua): it compares, then writes all or
 *       nothing. The server runs it alone. What may fail in it comes first, and what was written
 *       before that is taken back.
 *   V2  The script reads the server's time, and the floor, when it runs.
 *   V4  What was not sent was not done. Once the script is sent, and no answer comes, the answer is
 *       `unsure`.
 *   V5  No key has a time to live. Events get their numbers in the script, which publishes that
 *       there are some.
 *   V6  Every connection is checked before it is used, and again each minute: a server that may
 *       forget what it acknowledged is refused, or is graded so (durability=relaxed).
 *   V7  With replicas=N an answer that is relied on waits for replicas, also when this try wrote
 *       nothing: what it reports may be the unreplicated write of an earlier try, or of another
 *       connection. WAIT covers only what its own connection wrote, so a PUBLISH goes before it:
 *       it reaches replicas, but not the append-only file.
 *
 * Every key begins with "NAMESPACE:" ("holdfast:"). A key of the store is a string; a set a sorted
 * set in which all scores are 0, read by the bytes of its members; the events are the stream
 * `events`, and `seq` the number of the last. Not keys, but channels: `watch`, on which every
 * change with an event is published, and `replicas` (V7), to which nobody listens. */
#ifndef HF_STORE_REDIS_H
#define HF_STORE_REDIS_H

#include "db/redis.h"
#include "db/url.h"
#include "store/kv.h"

enum { REDIS_SHA1_SIZE = 41 };

typedef struct redis_conn {
    kv_conn kv;
    hf_redis *redis;
    char script[REDIS_SHA1_SIZE]; /* the name of the script */
    int64_t judged_us;            /* by boot_us */
    hf_redis_words command;       /* that is being written */
} redis_conn;

typedef struct redis_store {
    kv_store kv;
    hf_url url;
    char prefix[HF_NAMES_SIZE + 1];
    char self[17];  /* random: whose messages its own watches skip */
    hf_grade grade; /* under the mutex of kv */
} redis_store;

extern const hf_store_ops hf_store_redis;

/* ---- redis_conn.c: connections, and whether the server keeps what it acknowledges ---- */

/* script: NULL: it is not needed. */
hf_status redis_conn_open(redis_store *store, hf_redis **out, char *script, hf_error *err);
hf_status redis_connect(kv_store *base, kv_conn **out, hf_error *err);
hf_status redis_check(kv_store *base, kv_conn *conn, hf_error *err);
void redis_disconnect(kv_conn *conn);

/* ---- redis_batch.c: reading and committing ---- */

/* Sends what was queued. False: it has failed. */
bool redis_flush(kv_work *work);
/* The next reply. An error of the server's fails the work. */
bool redis_reply(kv_work *work, hf_redis_reply *out);
/* All replies to what was sent have been taken. */
void redis_all_taken(kv_work *work);

extern const kv_driver redis_driver;

/* ---- redis_watch.c ---- */

hf_status redis_watch(hf_store *base, hf_watch **out, hf_error *err);

#endif
