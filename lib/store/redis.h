/* SPDX-License-Identifier: MIT */
/* The store on Redis, from inside. Private to redis*.c of this folder; a module.
 *
 *   V1  A row is a string that begins with its rev: a resource with its locks, requests and version
 *       is one, a session another. The law decides on rows loaded by one MGET; one script compares
 *       the rev of every row that was read, and writes all or nothing (sql/redis/store_commit.lua).
 *   V2  Time is the server's, read after the rows. Nothing keeps others away while a program is
 *       stopped between reading and writing. So the script gets the earliest bound of a session or
 *       lock on which the decision stands, and refuses once it has passed; and it refuses a fence
 *       for a new row that is not above the floor of that moment.
 *   V3  A conflict answers the rows as they are now, so a further try takes one round trip. After
 *       half a second of conflicts the answer is `busy`.
 *   V4  What was not sent was not done. Once the script is sent, and no answer comes, the answer is
 *       `unsure`; the request ids settle it.
 *   V5  No key has a time to live: only ops and sweeps remove rows. Indexes are written by the same
 *       script as the rows. Events get their numbers in it.
 *   V6  Every connection is checked before it is used, and again each minute: a server that may
 *       forget what it acknowledged is refused, or is graded so (durability=relaxed).
 *   V7  With replicas=N an answer that is relied on waits for replicas, also when this try wrote
 *       nothing: what it reports may be the unreplicated write of an earlier try, or of another
 *       connection. WAIT covers only what its own connection wrote, so a PUBLISH goes before it:
 *       it reaches replicas, but not the append-only file.
 *
 * Keys, each after the prefix "NAMESPACE:" ("holdfast:"). A text is fields separated by tabs; texts
 * and names contain no control character. MEMBER is TYPE \1 ID, or TYPE \1 ID \1 SESSION (or
 * REQUEST): in this way bytes sort in canonical order.
 *
 *   schema       "holdfast 1": whose keys they are, and the version of their form
 *   r:TYPE/ID    a resource; redis_rows.c has its fields
 *   s:SESSION    a session
 *   e:SESSION    its last ends (lock/ends.h)
 *   y:TYPE       a type
 *   types        the names of all types (set)
 *   o:REQUEST    the session that was opened by that request id
 *   l:SESSION    what it lost: MEMBER of the resource to text (hash)
 *   p:TYPE/ID    covered saves: request id to text (hash)
 *   covered      MEMBER with the request of each covered save, by when it was covered
 *   h:SESSION    MEMBER of each resource it has a lock on, by the lock's own bound
 *   q:SESSION    MEMBER of each resource it asked for (set)
 *   asked        MEMBER of each resource that anyone asked for (set)
 *   locks        MEMBER with the session of each lock
 *   bounds       the same of each lock with a bound of its own, by that bound
 *   kept         MEMBER of resources that were saved, or have a trace of a forced release
 *   sessions     ids of sessions that have not ended
 *   expiry       the same, by expiry
 *   ended        ids of sessions that have ended, by when
 *   u:USER       sessions of a user, not ended (set)
 *   c:TOKEN      sessions that a token opened, not ended, by expiry
 *   events       the events, a stream
 *   seq          the number of the last event
 *   marks        how far events were swept
 *   swept_to     the MEMBER of `kept` where the last sweep stopped
 *   floor        the fence floor
 *   tokens       id to text (hash)
 *   secrets      SHA-256 of a token's secret to its id (hash)
 *   tokens_rev   moves with every change of a token
 *   watch        not a key: the channel on which every change with an event is published
 *   replicas     not a key: the channel of V7, to which nobody listens */
#ifndef HF_STORE_REDIS_H
#define HF_STORE_REDIS_H

#include "db/redis.h"
#include "db/url.h"
#include "lock/apply.h"
#include "lock/token.h"
#include "store/group_commit.h"
#include "store/store.h"
#include "store/sweep.h"

#define REDIS_SCHEMA "holdfast 1"

enum { REDIS_SHA1_SIZE = 41 };

/* Commands of the script that are written once for all rows. */
typedef enum redis_index {
    REDIS_SET,
    REDIS_DEL,
    REDIS_SESSIONS_ADD,
    REDIS_SESSIONS_REM,
    REDIS_EXPIRY_ADD,
    REDIS_EXPIRY_REM,
    REDIS_ENDED_ADD,
    REDIS_ENDED_REM,
    REDIS_LOCKS_ADD,
    REDIS_LOCKS_REM,
    REDIS_BOUNDS_ADD,
    REDIS_BOUNDS_REM,
    REDIS_KEPT_ADD,
    REDIS_KEPT_REM,
    REDIS_ASKED_ADD,
    REDIS_ASKED_REM,
    REDIS_COVERED_ADD,
    REDIS_INDEXES
} redis_index;

/* A connection with its working set. */
typedef struct redis_conn {
    struct redis_conn *next;
    hf_redis *redis;
    char script[REDIS_SHA1_SIZE]; /* the name of the script */
    int64_t judged_us;            /* by boot_us */
    bool owed;                    /* replies are still to come: it can't be used by others */
    hf_rows rows;
    hf_arena fresh;                /* rows that a conflict answered */
    hf_redis_words keys;           /* of the next MGET */
    hf_redis_words head, commands; /* of the script: what is compared, what is written */
    hf_redis_words command;        /* the one that is just made */
    hf_redis_words indexes[REDIS_INDEXES];
    hf_buffer text; /* of a row */
} redis_conn;

typedef struct redis_store {
    hf_store base;
    hf_url url;
    char prefix[HF_NAMES_SIZE + 1];
    bool relaxed;  /* durability=relaxed */
    char self[17]; /* random: whose messages its own watches skip */
    hf_group_commit *group_commit;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t freed;
    redis_conn *idle;
    size_t open;
    hf_grade grade;
} redis_store;

/* What a row that is read is. */
typedef enum redis_kind {
    REDIS_SCHEMA_ROW,
    REDIS_FLOOR,
    REDIS_TYPE,
    REDIS_OPEN,
    REDIS_SESSION,
    REDIS_ENDS,
    REDIS_RESOURCE,
    REDIS_ABSENT, /* a key that must not exist */
    REDIS_PLAIN   /* a value that must not change; `row` is an hf_slice that gets it */
} redis_kind;

/* A row that was read, or is to be. */
typedef struct redis_row {
    struct redis_row *next;
    redis_kind kind;
    void *row;
    hf_slice key;
    hf_slice value;    /* as it is compared; size 0: there was none */
    bool not_compared; /* another row's rev, or the script itself, stands for it */
    bool fetched;
} redis_row;

/* What a command besides MGET asked for, in the order of the replies. */
typedef struct redis_extra redis_extra;

/* A value that a conflict answered. */
typedef struct redis_fresh {
    hf_slice key, value;
    bool there;
} redis_fresh;

/* One execution of a batch. */
typedef struct redis_work {
    redis_store *store;
    redis_conn *conn;
    hf_rows *rows;
    hf_batch *batch;
    int64_t until_us; /* by boot_us: then it is busy */
    int64_t now_us;   /* the store's time */
    hf_status status; /* the first failure; nothing more is done then */
    hf_error *err;
    int64_t floor;       /* the fence floor as it was read */
    int64_t deadline_us; /* V2; set before the law changes the set */
    bool full;           /* the server's memory is full */
    bool sent;           /* the script was sent */
    bool conflict;       /* ... and has written nothing, since something changed; or what was read
                          * in several rounds is not of one moment */
    bool hidden;         /* ... which is no string */
    bool looks;          /* an op of it shows who holds what: all that is read is of one moment */
    bool loading;        /* the server is not ready yet */
    redis_row *reads, **reads_end, *next_read; /* next_read: the first that was not loaded */
    redis_extra *extras, **extras_end;
    bool only_rows; /* all that was read are strings: a conflict answers all that is needed */
    redis_fresh *fresh;
    size_t fresh_count, fresh_at;
    int64_t fresh_us; /* the time in that answer */
} redis_work;

extern const hf_store_ops hf_store_redis;

/* ---- redis.c ---- */

/* Sends what was queued. False: it has failed. */
bool redis_flush(redis_work *work);
/* Sends conn->command alone, and takes its reply. */
bool redis_call(redis_work *work, hf_redis_reply *out);
/* All replies to what was sent have been taken. */
void redis_all_taken(redis_work *work);
/* The next reply. An error of the server's fails the work. */
bool redis_reply(redis_work *work, hf_redis_reply *out);
void redis_fail_reply(redis_work *work, hf_slice text);
void redis_fail_memory(redis_work *work);
/* Someone else's value stands under a key of ours. */
void redis_fail_foreign(redis_work *work, hf_slice key);
/* A key of the store as a word. */
void redis_key_word(const redis_work *work, hf_redis_words *to, const char *kind, hf_slice rest);

/* ---- redis_conn.c: connections ---- */

/* script: NULL: it is not needed. */
hf_status redis_conn_open(redis_store *store, hf_redis **out, char *script, hf_error *err);
hf_status redis_conn_take(redis_store *store, redis_conn **out, hf_error *err);
void redis_conn_give(redis_store *store, redis_conn *conn);
void redis_conn_free(redis_conn *conn);

/* ---- redis_rows.c: rows as text ---- */

/* The kinds of text; redis_rows.c has the fields of each, in their order. */
typedef enum redis_text {
    REDIS_TEXT_RESOURCE, /* hf_resource_row: its first line; then lines that begin with a letter: */
    REDIS_TEXT_END,      /* E: the trace of forced releases, the last of them */
    REDIS_TEXT_SAVED,    /* V: the version */
    REDIS_TEXT_LOCK,     /* L: hf_lock_row */
    REDIS_TEXT_REQUEST,  /* Q: hf_request_row */
    REDIS_TEXT_SESSION,  /* hf_session_row */
    REDIS_TEXT_TYPE,     /* redis_type */
    REDIS_TEXT_LOST,     /* hf_lost_row */
    REDIS_TEXT_PAST,     /* hf_save_row */
    REDIS_TEXT_TOKEN,    /* hf_token_row */
    REDIS_TEXT_EVENT,    /* redis_event */
    REDIS_TEXT_MARKS,    /* hf_event_marks */
    REDIS_TEXTS
} redis_text;

typedef struct redis_type {
    int64_t rev, ttl_us, ttl_max_us;
    char policy[32];
} redis_type;

typedef struct redis_event {
    int64_t at_us;
    hf_slice kind, type, id, session, user, actor;
    int64_t fence;
    hf_slice reason;
} redis_event;

/* Reads the fields at the beginning of `left` into a row. False: they are none of ours. */
bool redis_text_read(redis_text text, void *row, hf_slice *left);
/* Adds the fields of a row. */
void redis_text_write(redis_text text, const void *row, hf_buffer *out);
int64_t redis_number_of(hf_slice text); /* with or without its tab; 0: it is none */
/* `compared` gets the beginning of the value, rev and fence: no later row of it has the same. */
bool redis_read_resource(hf_rows *rows, hf_resource_row *row, hf_slice value, hf_slice *compared);
void redis_write_resource(hf_buffer *out, const hf_resource_row *row);
bool redis_read_event(hf_event *out, hf_slice value);
void redis_write_event(hf_buffer *out, const hf_event_row *row, int64_t now_us);
/* Whether it stands in `kept`. */
bool redis_is_kept(const hf_resource_row *row);
/* Splits a MEMBER at its first \1. */
bool redis_split(hf_slice member, hf_slice *type, hf_slice *rest);

/* What was loaded of a row, for the indexes: hf_session_row.origin, hf_resource_row.origin. */
typedef struct redis_was {
    int64_t rev, expires_us;
    bool kept, asked;
} redis_was;

/* ---- redis_load.c ---- */

/* Forgets what was read before. */
void redis_load_reset(redis_work *work);
/* Loads what the working set names. */
void redis_load(redis_work *work);
/* Loads what was added to it since. */
void redis_load_rest(redis_work *work);
/* Adds a row to be read with the next load. */
redis_row *redis_want(redis_work *work, redis_kind kind, void *row, const char *key_kind,
                      hf_slice rest);
/* The resource of a MEMBER; what follows it, if anything. NULL: it is none, or out of memory. */
hf_resource_row *redis_load_member(redis_work *work, hf_slice member, hf_slice *rest);

/* ---- redis_conflict.c ---- */

/* Keeps what a conflict answered for the next load. */
void redis_conflict_keep(redis_work *work, const hf_redis_reply *answer);
/* What it answered of a key. NULL: nothing. */
const redis_fresh *redis_conflict_answered(redis_work *work, hf_slice key);
/* The time that stands in a list, in microseconds. */
int64_t redis_conflict_time(const hf_redis_reply *list, size_t at);

/* ---- redis_save.c ---- */

/* V2: the earliest bound of what was loaded, as the server's clock counts; 0: none. */
int64_t redis_deadline(const redis_work *work);
/* Writes what changed in the set, with its events. conflict: nothing was written. */
void redis_save(redis_work *work);
/* The same in steps, with commands of the caller's between them. */
void redis_save_begin(redis_work *work);
void redis_save_rows(redis_work *work);
void redis_save_commit(redis_work *work, bool grows);
/* V7, after a batch that has been answered. */
hf_status redis_save_confirm(redis_work *work);

/* Begins a command in conn->command, to which words can be added: then redis_call sends it, or
 * redis_command_end gives it to the script. */
void redis_command(redis_work *work, const char *name, const char *kind, hf_slice rest);
void redis_command_end(redis_work *work);

/* ---- redis_query.c, redis_tokens.c, redis_sweep.c: what stands alone ---- */

/* Names that were read from an index, in memory of the batch. */
typedef struct redis_names {
    hf_slice *all;
    size_t count, room;
} redis_names;

/* Adds what a reply lists; with \1 and `more` behind each, if there is more. */
void redis_names_take(redis_work *work, redis_names *names, const hf_redis_reply *list,
                      hf_slice more);
/* All that stands under a key. */
redis_names redis_names_all(redis_work *work, const char *command, const char *kind, hf_slice rest);
/* At most so many of an index, in the order of their bytes: after one, before another (empty: from
 * the first, to the last). */
redis_names redis_names_page(redis_work *work, const char *index, hf_slice after, hf_slice before,
                             size_t limit);
/* Sorts them, and leaves those after `after`. */
void redis_names_sort(redis_names *names, hf_slice after);
/* At most so many events after one number and before another (0: all that follow); how many. */
size_t redis_query_read_events(redis_work *work, int64_t after, int64_t before, size_t limit,
                               hf_event *out);

void redis_alone(redis_work *work);
void redis_tokens(redis_work *work, hf_op *op);
void redis_sweep(redis_work *work, hf_op *op);

/* ---- redis_watch.c ---- */

hf_status redis_watch(hf_store *base, hf_watch **out, hf_error *err);

#endif
