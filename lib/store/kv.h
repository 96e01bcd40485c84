/* SPDX-License-Identifier: MIT */
/* The compare-and-set store, from inside. Private to kv*.c and to its drivers (redis*.c).
 *
 * Some servers have no transaction that a program could hold open: they read many keys at once, and
 * they write many keys at once if certain keys are still what they were. This store is for them.
 * The core (kv*.c) knows rows, the law and the protocol; a driver moves bytes to and from one kind
 * of server and knows no row. The table between them is kv_driver, below. Redis is the first; etcd
 * (a range, a transaction with compares on mod_revision) and ZooKeeper (getData, multi with version
 * checks) have the same few things.
 *
 *   V1  What a key holds is compared, not locked. The law decides on rows that were read; one
 *       commit compares every key that was read, also those that were not there, and writes all or
 *       nothing.
 *   V2  Nothing keeps others away while a program is stopped between reading and writing. So the
 *       commit gets the earliest bound of a session or lock on which the decision stands, and is
 *       refused once it has passed; and it is refused if a new row got a fence that is not above
 *       the floor of that moment.
 *   V3  A conflict answers the keys as they are now, with the time, so a further try takes one
 *       round trip. After half a second of conflicts the answer is `busy`.
 *   V4  What was not sent was not done. What was sent, and not answered, is `unsure`; the request
 *       ids settle it.
 *   V5  Nothing expires by itself: only ops and sweeps remove rows. Sets are written in the same
 *       commit as the rows from which they follow.
 *
 * KEYS. There are two kinds of things, each with a name in the namespace. A key has a value; a set
 * has members, in the order of their bytes. Values are texts: fields in the order of
 * lock/fields_table.h with a tab between them, lines that end in a line feed. A number that is 0 is
 * an empty field, empty fields at the end of a line are left out, and a tab, a line feed or a
 * backslash in a text (or in a hash, which is bytes) is \t, \n or \\. No field is spelled in this
 * folder: a new one is a new line of that table. What the table is stands in the key `schema`, as
 * "holdfast " and its fingerprint: keys of another form are refused.
 *
 *   r:TYPE/ID     a resource: a line of what moves (its fence and rev among it), then lines that
 *                 begin with a letter: V its version, L a lock, Q a request
 *   s:SESSION     a session: a line of what moves, a line of the rest
 *   l:SESSION     what it lost, a line each
 *   y:TYPE        a type                      o:REQUEST  the session that was opened by it
 *   t:ID          a token                     k:SHA-256  the token with that secret
 *   p:NAME        a save that a later one covered      n:REQUEST  the token that was made by it
 *   floor         the fence floor             seq        the number of the last event
 *   marks         how far events were swept   swept_to   where the sweep of `kept` stopped
 *
 * The first line of r: and s: stands for the whole value: every change moves the rev, and no fence
 * is given twice. It alone is compared; other values are compared whole.
 *
 * Of a set all members have one form: parts with \1 between them, so that they sort in canonical
 * order. TIME is 19 digits, so that they sort by it; without a bound it is "~".
 *
 *   locks         TYPE ID SESSION of each lock
 *   bounds        TIME TYPE ID SESSION of each lock with a bound of its own
 *   h:SESSION     TIME TYPE ID of each lock that it holds: by its own bound
 *   a:SESSION     TYPE ID of those of them that someone asks for
 *   q:SESSION     TYPE ID of each resource that it asks for
 *   kept          TYPE ID of each resource that was saved, or has a trace of a forced release
 *   covered       TIME TYPE ID REQUEST of each p:, by when it was covered
 *   sessions      SESSION of those that have not ended; u:USER those of a user
 *   expiry        TIME SESSION of the same; c:TOKEN those that a token opened
 *   ended         TIME SESSION of those that have ended
 *   types         TYPE;                       tokens     ID
 *
 * Nobody adds to a set by hand. kv_resource_entries and kv_session_entries say which members a row
 * has; they are asked when it was loaded and when it is saved, and the difference is written.
 *
 * A BATCH.
 *   1  hf_rows_want names rows. Each becomes a kv_get; a session whose locks are needed a kv_range.
 *   2  The driver reads them in one round trip, and the time after them. A resource names its
 *      holders, a set names resources: they are read in a further round, until nothing is missing.
 *   3  What the rows have in sets is noted, the deadline is worked out, the law decides.
 *   4  Rows that changed become puts, their sets changes, with the events: a kv_commit.
 *   5  The driver commits. Done; or a conflict: then it begins again at 1, with the keys that the
 *      conflict has answered. A batch that changes nothing ends at 3.
 *
 * EXAMPLE. Alice acquires policy/12345, which is free, in session 816d.
 *   read      schema, floor, y:policy, s:816d, l:816d, r:policy/12345; it is 10:00:00
 *   decide    the law grants it with fence F; the deadline is 10:05:00, when 816d would end
 *   compare   schema, y:policy and s:816d (its first line) as read; l:816d and r:policy/12345
 *             absent; the floor below 10:00:00, the lowest fence that the new row can have got
 *   put       r:policy/12345 = "F F / L 816d exclusive F 1795133762587735"
 *   enter     "policy 12345 816d" into locks, "~ policy 12345" into h:816d
 *   event     acquired policy 12345 816d alice F
 *
 * WITHOUT THE DEADLINE a program that is stopped before its commit does harm. A beat of Alice's is
 * decided at 10:00. At 10:05 her session ends, by the clock alone: no row changes. Bob takes what
 * she held. At 10:06 the beat is committed: all compares hold, and a session that others have found
 * dead lives again, with those of its locks that nobody has taken.
 * WITHOUT THE FLOOR a resource that is free, and has no row, could be given a fence again that it
 * had before, once the clock was set back.
 * WITHOUT THE LOWEST FENCE the same happens between reading and writing. Alice's program reads that
 * r:policy/12345 is absent. Bob acquires it later, with a higher fence, and releases it: the row is
 * absent again, so all compares hold, and Alice's fence would be below his. But his release has
 * raised the floor, and she decides anew. */
#ifndef HF_STORE_KV_H
#define HF_STORE_KV_H

#include "lock/apply.h"
#include "lock/fields.h"
#include "store/group_commit.h"
#include "store/store.h"
#include "store/sweep.h"

#define KV_SCHEMA                                                                                  \
    "holdfast " /* whose keys these are; then the fingerprint of the table of fields */

typedef struct kv_work kv_work;
typedef struct kv_store kv_store;

/* ---- what a driver is asked ---- */

/* What the core makes of a value. */
typedef enum kv_kind {
    KV_PLAIN, /* row: an hf_slice that gets it, or NULL */
    KV_WHOSE, /* the schema */
    KV_FLOOR,
    KV_TYPE,     /* row: hf_type_row */
    KV_OPEN,     /* hf_open_row */
    KV_SESSION,  /* hf_session_row */
    KV_LOST,     /* the same: what it lost */
    KV_RESOURCE, /* hf_resource_row */
    KV_PAST,     /* hf_save_row */
    KV_TOKEN     /* hf_token_row */
} kv_kind;

/* A member that enters a set, where it was not; or leaves it, where it was. */
typedef struct kv_change {
    hf_slice set, member;
    bool enters;
} kv_change;

typedef struct kv_changes {
    kv_change *all;
    size_t count;
} kv_changes;

/* A key that is read. */
typedef struct kv_get {
    struct kv_get *next;
    hf_slice key;
    hf_slice value; /* as it was read first; at is NULL: there is none */
    size_t begin;   /* so many bytes of it are compared; 0: all */
    bool compared;  /* by the commit */
    bool asked;     /* the driver is to read it into `now`, in memory of the set */
    hf_slice now;
    int64_t rev; /* the driver's own */
    /* the core's own */
    kv_kind kind;
    void *row;
    bool noted;
    kv_changes had; /* the members of sets that the row had, once it is noted */
} kv_get;

/* Members of a set, in the order of their bytes: a page of them, or how many there are. */
typedef struct kv_range {
    struct kv_range *next;
    hf_slice set;
    hf_slice after, before; /* neither itself; empty: from the first, to the last */
    size_t limit;           /* at most so many; 0: they are only counted */
    hf_slice *members;      /* answered, in memory of work->names */
    size_t count;           /* answered */
    /* the core's own */
    hf_session_row *session;
    int about;
} kv_range;

typedef struct kv_put {
    hf_slice key, value; /* at is NULL: the key is removed */
} kv_put;

/* A connection. A driver's begins with this. */
typedef struct kv_conn {
    struct kv_conn *next;
    bool owed; /* answers are still to come: it can't be used by others */
    hf_rows rows;
    hf_arena fresh; /* what a conflict answered */
    hf_buffer text; /* of a row that is being written */
} kv_conn;

/* A driver moves bytes and knows no row. What fails is put into work->status by kv_fail and its
 * kin; after that it does nothing more. */
typedef struct kv_driver {
    const char *full; /* what an op that needs room is told where there is none */

    /* A connection to a server that may be trusted. HF_BUSY: it is not ready yet. The core frees it
     * by disconnect, which accepts one that is half made. */
    hf_status (*connect)(kv_store *store, kv_conn **out, hf_error *err);
    hf_status (*check)(kv_store *store, kv_conn *conn, hf_error *err); /* before it is used again */
    bool (*alive)(const kv_conn *conn);
    void (*disconnect)(kv_conn *conn);
    const char *(*path)(const kv_conn *conn); /* "Redis on HOST:PORT" */

    /* Reads in one round trip: work->gets that are asked, the ranges, and last work->clock_us. */
    void (*read)(kv_work *work, kv_range *ranges);
    /* Events after one number and before another (0: all that follow): texts[i] is that of
     * seqs[i], in memory of the set. How many. */
    size_t (*events)(kv_work *work, int64_t after, int64_t before, size_t limit, int64_t *seqs,
                     hf_slice *texts);

    /* Writes work->commit, or nothing. Sets work->sent just before anything may be written, and
     * takes it back once it is known that nothing was. A conflict: sets work->conflict, gives what
     * the compared keys and the floor are now to kv_keep, and work->fresh_us. */
    void (*commit)(kv_work *work);
    /* After a batch that has been answered: whether what it relies on will last. */
    hf_status (*confirm)(kv_work *work);
} kv_driver;

/* What is to be written at once, if every get that is compared is as it was read, the time is
 * before the deadline, and the floor is below `lowest`. */
typedef struct kv_commit {
    bool grows;          /* it is refused when there is no room; else written even then */
    int64_t deadline_us; /* by the server's clock; 0: none */
    int64_t floor;       /* the fence floor is raised to it; 0: it stays */
    int64_t lowest;      /* the lowest fence that a new row can have got; 0: there is none */
    kv_put *puts;
    size_t puts_count;
    kv_changes changes; /* those that enter first, and those of one set together */
    hf_slice *events;   /* new ones; the store gives them the numbers after the last */
    size_t events_count;
    const hf_old_event *gone; /* old ones, which are removed */
    size_t gone_count;
} kv_commit;

/* ---- the store ---- */

struct kv_store {
    hf_store base;
    const kv_driver *driver;
    const char *names; /* the namespace */
    bool forgets;      /* it may be emptied, and begins anew then */
    bool any_form;     /* it is opened to be removed: another version's keys will do */
    hf_group_commit *group_commit;
    pthread_mutex_t mutex; /* of the connections */
    pthread_cond_t freed;
    kv_conn *idle;
    size_t open;
};

/* A value that a conflict answered. */
typedef struct kv_fresh {
    hf_slice key, value;
} kv_fresh;

/* One execution of a batch. */
struct kv_work {
    kv_store *store;
    kv_conn *conn;
    hf_rows *rows;
    hf_batch *batch;
    hf_arena *names;  /* memory of what ranges answer */
    int64_t until_us; /* by boot_us: then it is busy */
    int64_t clock_us; /* the server's, after what was read last */
    int64_t now_us;   /* the same as the store's time */
    hf_status status; /* the first failure; nothing more is done then */
    hf_error *err;
    bool full;     /* the server has no room */
    bool unready;  /* the server is not ready yet */
    bool sent;     /* something may have been written */
    bool conflict; /* nothing was written, since something changed; or what was read in several
                    * rounds is not of one moment */
    bool looks;    /* an op shows who holds what: all that is read is of one moment */
    bool changes;  /* an op may change something */
    bool forces;   /* an op forces locks away */
    bool settled;  /* no range was read: a conflict answers all that is needed */
    kv_get *gets, **gets_end, *next_get; /* next_get: the first that was not fetched */
    kv_range *ranges;                    /* of the next round */
    int64_t floor;                       /* the fence floor as it was read */
    hf_slice seq; /* the number of the last event, for an op that asks for it */
    kv_commit commit;
    kv_fresh *fresh;
    size_t fresh_count, fresh_at;
    int64_t fresh_us; /* the time then */
};

/* ---- kv.c ---- */

/* A driver's store begins with kv_init, and ends with kv_close, also when kv_open failed. make:
 * unless there is a store, it is made. */
void kv_init(kv_store *store, const hf_store_ops *ops, const kv_driver *driver);
hf_status kv_open(kv_store *store, bool make, hf_error *err);
void kv_close(kv_store *store); /* all but the memory of the store itself */
hf_status kv_execute(hf_store *base, hf_batch *batch, hf_error *err);
hf_status kv_refuse_held(kv_store *store, hf_error *err);
hf_status kv_take(kv_store *store, kv_conn **out, hf_error *err);
void kv_give(kv_store *store, kv_conn *conn);

void kv_fail_memory(kv_work *work);
/* Someone else's value stands under a key of ours. */
void kv_fail_foreign(kv_work *work, hf_slice key);
/* Zeroed memory of the set, or of the answers; NULL: the work has failed. */
void *kv_alloc(kv_work *work, hf_arena *arena, size_t size);
/* An array with room for one thing more than `count`. */
void *kv_grow(kv_work *work, hf_arena *arena, void *all, size_t count, size_t size);

/* ---- kv_rows.c ---- */

/* Parts with a text of at most one byte between them: keys, sets, members. */
hf_slice kv_join(kv_work *work, hf_arena *arena, const char *between, const hf_slice *parts,
                 size_t count);
#define KV_JOIN(work, arena, between, ...)                                                         \
    kv_join(work, arena, between, (const hf_slice[]){__VA_ARGS__},                                 \
            sizeof((const hf_slice[]){__VA_ARGS__}) / sizeof(hf_slice))
#define KV_KEY(work, name, a) KV_JOIN(work, &(work)->rows->arena, "", hf_slice_of(name), a)
#define KV_MEMBER(work, ...)  KV_JOIN(work, &(work)->rows->arena, "\1", __VA_ARGS__)

#define KV_ALL_BUT_KEY (HF_EVERY & ~HF_KEY)

hf_slice kv_resource_key(kv_work *work, const hf_resource_row *row);

static inline hf_slice kv_id(const hf_session_row *row)
{
    return (hf_slice){row->id, HF_SESSION_ID_MAX};
}

/* A time in a member, so that bytes sort by it. */
enum { KV_TIME_SIZE = 19 };
hf_slice kv_digits(char out[KV_TIME_SIZE + 1], int64_t time_us);
/* What sorts behind all members that begin with that time, and before later ones. */
hf_slice kv_until(kv_work *work, int64_t time_us);
/* Takes what stands before the next such byte off, and that byte; all, if there is none. */
hf_slice kv_cut(hf_slice *left, char byte);

void kv_write(hf_buffer *out, const hf_row_fields *of, unsigned mask, const void *row);
bool kv_read(hf_rows *rows, hf_slice line, const hf_row_fields *of, unsigned mask, void *row);
bool kv_number(hf_slice text, int64_t *out);
bool kv_read_resource(hf_rows *rows, hf_resource_row *row, hf_slice value);
void kv_write_resource(hf_buffer *out, const hf_resource_row *row);
bool kv_read_session(hf_rows *rows, hf_session_row *row, hf_slice value);
void kv_write_session(hf_buffer *out, const hf_session_row *row);

/* The members of sets that a row has as it is now. */
void kv_resource_entries(kv_work *work, const hf_resource_row *row, kv_changes *out);
void kv_session_entries(kv_work *work, const hf_session_row *row, kv_changes *out);
void kv_add_change(kv_work *work, kv_changes *to, hf_slice set, hf_slice member, bool enters);

/* ---- kv_load.c ---- */

void kv_reset(kv_work *work); /* forgets what was read before, and what was to be written */
kv_get *kv_want(kv_work *work, kv_kind kind, void *row, hf_slice key);
void kv_load(kv_work *work);
void kv_load_rest(kv_work *work); /* what was added to the set since */
/* The resource that a member names, with what follows it. */
hf_resource_row *kv_named(kv_work *work, hf_slice member, hf_slice *rest);
/* Reads these alone. */
void kv_read_ranges(kv_work *work, kv_range *ranges);
/* What these sessions hold, each by its bound, after one. */
kv_range *kv_ranges_of(kv_work *work, const hf_slice *ids, size_t count, hf_slice after);
kv_range kv_page(kv_work *work, hf_slice set, hf_slice after, hf_slice before, size_t limit);
void kv_keep(kv_work *work, const kv_get *get, hf_slice value);

/* ---- kv_save.c ---- */

int64_t kv_deadline(const kv_work *work);
void kv_put_text(kv_work *work, hf_slice key, hf_slice value);
void kv_put_row(kv_work *work, hf_slice key, const hf_row_fields *of, unsigned mask,
                const void *row);
void kv_save_rows(kv_work *work);
void kv_commit_now(kv_work *work, bool grows);
void kv_save(kv_work *work);

/* ---- kv_query.c, kv_tokens.c, kv_sweep.c ---- */

void kv_alone(kv_work *work);
void kv_tokens(kv_work *work, hf_op *op);
void kv_sweep(kv_work *work, hf_op *op);
void kv_sort(kv_range *names, hf_slice after); /* and leaves those after `after` */
size_t kv_read_events(kv_work *work, int64_t after, int64_t before, size_t limit, int64_t **seqs,
                      hf_event_row **rows); /* as the driver's */
void kv_read_marks(hf_slice value, hf_event_marks *out);

#endif
