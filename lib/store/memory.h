/* SPDX-License-Identifier: MIT */
/* The memory store's own rows. Each is a struct of links with the row's fields packed behind it
 * (hf_pack); what is asked of many rows at once also stands in the struct. Private to memory*.c. */
#ifndef HF_STORE_MEMORY_H
#define HF_STORE_MEMORY_H

#include "lock/apply.h"
#include "lock/fields.h"
#include "lock/token.h"
#include "store/store.h"

typedef struct mem_anchor mem_anchor;
typedef struct mem_session mem_session;
typedef struct mem_lock mem_lock;
typedef struct mem_request mem_request;
typedef struct mem_lost mem_lost;
typedef struct mem_past mem_past;
typedef struct mem_type mem_type;
typedef struct mem_token mem_token;

/* Which fields each has packed. */
enum {
    MEM_SESSION = HF_MOVES | HF_REST,
    MEM_ANCHOR = HF_MOVES,
    MEM_SAVED = HF_VERSIONED,
    MEM_LOCK = HF_REST,
    MEM_REQUEST = HF_REST,
    MEM_LOST = HF_NAMED | HF_REST,
    MEM_PAST = HF_NAMED | HF_REST, /* of the key the request id; the resource is the anchor's */
};

/* The name of a type, kept once; and its row, if it is registered. */
struct mem_type {
    mem_type *next;
    char *packed; /* HF_REST; NULL: it is not registered */
    size_t size;
    char name[HF_TYPE_SIZE];
};

/* Its name stands behind what is packed. It moves when that grows. */
struct mem_anchor {
    mem_anchor *chain;
    uint64_t hash;
    const mem_type *type;
    mem_lock *locks;
    mem_request *requests;
    mem_past *past;
    char *saved; /* the version, packed; NULL: never saved */
    unsigned short id_size;
    char packed[]; /* the id first */
};

struct mem_lock {
    mem_lock *next;                         /* of the anchor */
    mem_lock *session_next, **session_prev; /* of the session */
    mem_anchor *anchor;
    mem_session *session;
    int64_t ends_us;
    char packed[];
};

struct mem_session {
    mem_session *chain;
    mem_session *request_chain; /* in the hash by request id */
    mem_lock *locks;
    mem_lost *lost;
    int64_t expires_us, ended_us;
    size_t locks_count, bounded_count; /* of its locks; of those with a bound of their own */
    char *ends;                        /* or NULL (lib/lock/ends.h) */
    size_t ends_size;
    char id[HF_SESSION_ID_SIZE];
    char packed[];
};

struct mem_request {
    mem_request *next;
    mem_session *session;
    char packed[];
};

struct mem_lost {
    mem_lost *next;
    char packed[];
};

/* A save that a later one has covered. */
struct mem_past {
    mem_past *next;
    mem_anchor *anchor;
    char packed[];
};

/* The last events, in a ring of bytes. */
typedef struct mem_events {
    char *bytes;
    uint32_t *at;  /* where the event seq % HF_MEMORY_EVENTS begins */
    size_t head;   /* where the next one goes */
    int64_t first; /* oldest kept */
    int64_t next;  /* seq of the next one */
    int64_t from;  /* from here on none was removed by a sweep */
    int64_t swept; /* sweeps have looked at those before it */
} mem_events;

#define MEM_EVENTS      65536
#define MEM_EVENT_BYTES ((size_t)8 << 20)

typedef struct mem_store {
    hf_store base;
    pthread_mutex_t mutex;
    int64_t wall_minus_boot_us; /* so that its clock never steps */
    hf_rows rows;
    mem_anchor **anchors;
    size_t anchors_size, anchors_count; /* size: a power of two */
    mem_session **sessions;
    mem_session **opened; /* the same by request id, of the same size */
    size_t sessions_size, sessions_count;
    size_t requests_count;
    mem_type *types;
    mem_token *tokens; /* by id */
    mem_events events;
    int64_t fence_floor; /* of anchors that were swept */
    hf_cursor swept_to;
    size_t past_count;
    const void **dead; /* while a sweep runs: the sessions it is to end */
    size_t dead_count;
} mem_store;

/* memory_rows.c: finding rows and loading them into a working set. */
mem_session *mem_session_find(mem_store *store, const char *id);
mem_anchor *mem_anchor_find(mem_store *store, hf_slice type, hf_slice id, uint64_t hash);
mem_type *mem_type_find(mem_store *store, hf_slice type);
mem_type *mem_type_keep(mem_store *store, hf_slice type); /* made if need be; NULL: memory is out */
bool mem_load(mem_store *store, hf_rows *rows, int64_t now_us);
hf_session_row *mem_load_session(mem_store *store, hf_rows *rows, mem_session *from);
hf_lock_row *mem_load_lock(mem_store *store, hf_rows *rows, mem_lock *from);
bool mem_lock_lives(const mem_lock *lock, int64_t now_us);
size_t mem_session_slot(const mem_store *store, const char *id);
size_t mem_opened_slot(const mem_store *store, hf_slice request);
/* Rows as they stand there: their texts are borrowed. */
hf_resource_row mem_anchor_row(const mem_anchor *anchor);
hf_session_row mem_session_row(const mem_session *session);
hf_lock_row mem_lock_row(const mem_lock *lock);
hf_save_row mem_past_row(const mem_past *past);

static inline const char *mem_anchor_packed(const mem_anchor *anchor)
{
    return anchor->packed + anchor->id_size;
}

/* memory_save.c: saving what changed; false: memory is out and nothing was saved. Removing rows
 * frees them. */
bool mem_save(mem_store *store, hf_rows *rows, int64_t now_us);
bool mem_type_save(mem_type *type, const hf_type_row *row);
void mem_session_remove(mem_store *store, mem_session *session);
void mem_anchor_remove(mem_store *store, mem_anchor *anchor);
/* ... and no fence up to its own is given again. */
void mem_anchor_drop(mem_store *store, mem_anchor *anchor);
void mem_past_remove(mem_store *store, mem_past *past);
bool mem_tables_init(mem_store *store);
void mem_tables_done(mem_store *store);

/* memory_events.c */
bool mem_events_init(mem_events *events);
void mem_events_done(mem_events *events);
void mem_events_add(mem_events *events, hf_event_row *row, int64_t at_us);
/* Reads one that is kept; false: it was removed. */
bool mem_events_read(const mem_events *events, int64_t seq, hf_event *out);
/* Removes one: its bytes are free when their turn comes. */
void mem_events_remove(mem_events *events, int64_t seq);

/* memory_tokens.c: what is asked of tokens. False: memory is out. */
bool mem_do_token(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us);
void mem_tokens_done(mem_store *store);

/* memory_count.c: how many locks and sessions live. False: memory is out. */
bool mem_do_count(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us);

/* memory_query.c: what stands alone. Each answers the op; false: memory is out. */
bool mem_do_alone(mem_store *store, hf_batch *batch, int64_t now_us, hf_status *status,
                  hf_error *err);

#endif
