/* SPDX-License-Identifier: MIT */
/* A small client of Redis: a socket of its own with deadlines, TLS if asked for; hiredis reads the
 * replies. Commands are queued, sent together, and answered in order. A
 * connection is one thread's at a time. */
#ifndef HF_DB_REDIS_H
#define HF_DB_REDIS_H

#include "base/buffer.h"
#include "base/text.h"

#include <holdfast/status.h>

typedef struct hf_redis hf_redis;

/* Takes redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], rediss:// (the same over TLS) and
 * redis+unix://PATH[?db=DB], everything percent-encoded where need be. Parameters of rediss: ssl_ca
 * (a file of certificates; else the system's), ssl_cert and ssl_key (the client's own), ssl_verify
 * (0: any certificate will do). The password is the URL's, else `password`, else REDISCLI_AUTH's.
 * No step of it, and no reply later, takes longer than timeout_us (0: ten seconds), but for looking
 * up a host's name. HF_INVALID: the URL makes no sense. HF_UNAVAILABLE: no connection; the sentence
 * never has the password in it. */
hf_status hf_redis_connect(const char *url, const char *password, int64_t timeout_us,
                           hf_redis **out, hf_error *err);

/* Accepts NULL. */
void hf_redis_close(hf_redis *redis);

/* False once a call has failed: all that is left is to close it. */
bool hf_redis_alive(const hf_redis *redis);
int hf_redis_socket(const hf_redis *redis);
/* "Redis on HOST:PORT"; borrowed. */
const char *hf_redis_path(const hf_redis *redis);

/* Queues a command: its words, and NULL after the last. */
void hf_redis_queue(hf_redis *redis, const char *word, ...) __attribute__((sentinel));
hf_status hf_redis_send(hf_redis *redis, hf_error *err);

/* Words of a command, in the form in which they are sent; all zero: none. They may contain any
 * byte. A failure sticks in the buffer, and fails the command that they are queued for. */
typedef struct hf_redis_words {
    hf_buffer bytes;
    size_t count;
} hf_redis_words;

void hf_redis_word(hf_redis_words *words, hf_slice word);
void hf_redis_number(hf_redis_words *words, int64_t number);
/* A word of several parts, which are joined. */
void hf_redis_joined(hf_redis_words *words, const hf_slice *parts, size_t count);
/* Adds all words of another list. */
void hf_redis_append(hf_redis_words *words, const hf_redis_words *more);
void hf_redis_words_clear(hf_redis_words *words); /* keeps the memory */
void hf_redis_words_done(hf_redis_words *words);

/* Queues a command of these words. */
void hf_redis_queue_words(hf_redis *redis, const hf_redis_words *words);

typedef enum hf_redis_kind {
    HF_REDIS_NIL,
    HF_REDIS_NUMBER,
    HF_REDIS_TEXT,
    HF_REDIS_ERROR, /* the server refused it; the connection is as it was */
    HF_REDIS_LIST
} hf_redis_kind;

typedef struct hf_redis_reply {
    hf_redis_kind kind;
    int64_t number;
    hf_slice text;     /* of a text or an error; ends in NUL */
    size_t count;      /* of a list */
    const void *inner; /* private */
} hf_redis_reply;

/* The next reply, good until the next call. HF_UNAVAILABLE: the connection is lost, or the reply
 * did not come in time. */
hf_status hf_redis_read(hf_redis *redis, hf_redis_reply *out, hf_error *err);

/* The same without waiting: *there is false when none has come. */
hf_status hf_redis_poll(hf_redis *redis, bool *there, hf_redis_reply *out, hf_error *err);

void hf_redis_at(const hf_redis_reply *list, size_t index, hf_redis_reply *out);

/* What a server says of itself. Unknown values are "". */
typedef struct hf_redis_facts {
    char version[32], role[16], cluster[8], aof[8], policy[32]; /* by INFO */
    char sync[16], rewrite[8]; /* by CONFIG: appendfsync, no-appendfsync-on-rewrite */
    bool config_denied;        /* CONFIG is forbidden, or not there */
    bool loading;              /* it reads its data: until then it says that it has no file */
} hf_redis_facts;

hf_status hf_redis_learn(hf_redis *redis, hf_redis_facts *out, hf_error *err);

#endif
