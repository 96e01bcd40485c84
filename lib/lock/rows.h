/* SPDX-License-Identifier: MIT */
/* The working set: the rows a batch works on. A store fills it (hf_rows_want says with what),
 * apply.c carries out the ops on it, and the store saves what changed. Rows live in the set's
 * arena; slices in them are borrowed from the ops, the arena or the store, and live until the set
 * is reset.
 *
 * The state of a row is three flags:   stored   it was there when it was loaded
 *                                      present  it is there now
 *                                      changed  it differs from what was loaded
 * Saving: present & !stored → insert; present & stored & changed → update; !present & stored →
 * delete. */
#ifndef HF_LOCK_ROWS_H
#define HF_LOCK_ROWS_H

#include "base/arena.h"
#include "lock/batch.h"
#include "lock/ends.h"

typedef struct hf_session_row hf_session_row;
typedef struct hf_resource_row hf_resource_row;
typedef struct hf_lock_row hf_lock_row;
typedef struct hf_request_row hf_request_row;
typedef struct hf_lost_row hf_lost_row;
typedef struct hf_type_row hf_type_row;

struct hf_type_row {
    hf_type_row *next;
    size_t size; /* of the name */
    hf_type type;
    int64_t max_hold_us;
    bool tree;
    hf_slice title, href;
};

struct hf_session_row {
    hf_session_row *chain; /* in the hash */
    hf_session_row *next;  /* all of the set, in the order wanted */
    char id[HF_SESSION_ID_SIZE];
    unsigned char key_sha256[32];
    hf_slice user, name, actor, caller, limits, request;
    hf_ends ends; /* with wants_ends; hf_rows.drops_free */
    int64_t idle_us, opened_us, expires_us, ended_us, active_us, rev;
    bool stored, present, changed;
    bool loaded;      /* the store has looked for it */
    bool wants_locks; /* its locks are to be loaded */
    /* ... and the resources they stand on, in full: they will be released */
    bool wants_anchors;
    bool wants_requests; /* ... and who waits for them */
    bool wants_lost;     /* what it lost is to be loaded */
    bool wants_ends;     /* the ends it asked for are to be loaded */
    bool beats, acts;    /* named by a beat; by another op */
    /* Only beats: instead of all its locks those that are over, and those that someone asks for,
     * are to be loaded, and the live ones counted. */
    bool counts_locks;
    size_t live_locks;
    bool writes;        /* its row will be written: a store that locks rows locks it */
    hf_lock_row *locks; /* complete when wants_locks; new ones at the front */
    hf_lost_row *lost;  /* complete when wants_lost */
    hf_end end;         /* of this op or run, to be put to the ends */
    bool end_noted, ends_changed;
    unsigned named_run; /* the run whose name this is; hf_run_name */
    hf_slice run_name;
    const hf_credentials *verified;             /* whose key was found right in this batch */
    int64_t loaded_expires_us, loaded_ended_us; /* the store's own: what its row has */
    bool locked, busy, anchors_busy;            /* the store's own: what it could lock */
    void *origin;                               /* the store's own, found on loading */
    void *fresh, *fresh_text;                   /* the store's own, made on saving */
    unsigned run;                               /* the linked run that saved a copy of it */
};

/* A save that a later one has covered, kept for a day from then so that whoever asks for it again
 * finds it. */
typedef struct hf_save_row {
    struct hf_save_row *next; /* of the resource */
    hf_resource_row *resource;
    hf_slice request;         /* scoped to who saved (hf_rows_save_request) */
    int64_t version, fence, saved_us;
    int64_t covered_us; /* set when it is covered */
    bool gone;
    bool stored, present, changed;
    void *origin, *fresh;
    unsigned run;
} hf_save_row;

struct hf_resource_row {
    hf_resource_row *chain;
    hf_resource_row *next;
    hf_slice type, id;
    hf_slice place; /* where the store keeps it, for its own use */
    uint64_t hash;
    int64_t fence, rev;
    char ended_session[HF_SESSION_ID_SIZE];
    int64_t ended_fence, ended_us;
    /* of the last end; with drops_free the last forced releases (lock/ends.h), kept for a day */
    hf_slice ended_request;
    int64_t version; /* 0: never saved; then the rest is nothing */
    int64_t saved_fence, saved_us;
    char saved_session[HF_SESSION_ID_SIZE]; /* "": by a user without one */
    hf_slice saved_user, saved_name;
    hf_slice saved_request; /* scoped to who saved (hf_rows_save_request) */
    bool gone;
    const hf_op *saved_by; /* of this batch; NULL: it was saved before */
    hf_save_row *past;     /* those that were asked for, and new ones */
    bool stored, present, changed;
    /* to be loaded in full: the anchor and all its locks, dead ones too. Else it is known only as
     * where a session's lock stands, and is not changed */
    bool wanted;
    bool loaded;
    bool wants_requests;
    bool wants_version; /* by who only looks: who changes something gets it with the anchor */
    bool locked, busy;  /* the store's own: what it could lock */
    hf_lock_row *locks;
    hf_request_row *requests;
    void *origin, *fresh, *fresh_saved;
    unsigned run;
    unsigned acquired_run; /* the linked run in which it was last acquired */
};

struct hf_lock_row {
    hf_lock_row *next;         /* of the resource */
    hf_lock_row *session_next; /* of the session */
    hf_resource_row *resource;
    hf_session_row *session;
    hf_mode mode;
    int64_t fence, since_us, ends_us, latest_us;
    hf_slice purpose, data, title, href, request;
    hf_slice place;          /* where the store keeps it, for its own use */
    const hf_op *granted_by; /* of this batch; NULL: it was granted before */
    bool due;                /* of a sweep: it is one of those to be ended */
    bool stored, present, changed;
    void *origin, *fresh;
    unsigned run;
};

struct hf_request_row {
    hf_request_row *next;
    hf_session_row *session;
    hf_resource_row *resource;
    hf_slice message;
    int64_t at_us;
    bool stored, present, changed;
    void *origin, *fresh;
    unsigned run;
};

struct hf_lost_row {
    hf_lost_row *next;
    hf_session_row *session;
    hf_slice type, id;
    int64_t fence, at_us;
    hf_slice why, by, reason;
    /* in the set when the session beats and nobody is known to have taken it */
    hf_resource_row *resource;
    bool stored, present, changed;
    void *origin, *fresh;
    unsigned run;
};

typedef struct hf_event_row {
    hf_event_kind kind;
    hf_slice type, id, session, user, actor, reason;
    int64_t fence;
    int64_t at_us; /* when it is saved */
} hf_event_row;

/* An open with a request id: the session that id opened before, if any. */
typedef struct hf_open_row {
    struct hf_open_row *next;
    hf_slice request; /* scoped to its caller */
    hf_session_row *session;
    bool busy; /* the store's own: someone else is just using that request id */
} hf_open_row;

/* What a session may have lost of a resource, to be loaded unless all it lost is. */
typedef struct hf_loss_row {
    struct hf_loss_row *next;
    hf_session_row *session;
    hf_resource_row *resource;
} hf_loss_row;

/* The rows an op names, found once. */
typedef struct hf_op_rows {
    hf_session_row *session, *target, *replaces;
    hf_resource_row *resource;
    hf_type_row *type;
    hf_open_row *open;
    /* of a save with a request id: to be loaded; present if that id has saved before */
    hf_save_row *past;
} hf_op_rows;

/* A copy of a row as it was before the linked run, to be put back when the run is refused. */
typedef struct hf_saved_row {
    struct hf_saved_row *next;
    void *row;
    size_t size;
    void *copy;
} hf_saved_row;

typedef struct hf_rows {
    hf_arena arena;
    uint64_t seed; /* of the hash; a store that takes names from strangers draws it at random */
    hf_op_rows *of_op;
    hf_session_row *sessions, **sessions_end;
    hf_resource_row *resources, **resources_end;
    hf_type_row *types;
    hf_open_row *opens;
    hf_loss_row *losses;
    hf_session_row **session_hash;
    hf_resource_row **resource_hash;
    size_t hash_size; /* a power of two, for both */
    size_t sessions_count, resources_count;
    /* The highest fence that was given and that no row has any more. floor_raised: it is to be
     * saved. */
    int64_t fence_floor;
    bool floor_raised;
    /* The store's own, and kept by a reset: the row of a resource that is free, never saved and
     * asked for by nobody is dropped, and who asks for an end again is known by the session's row,
     * not by the resource's. */
    bool drops_free;
    /* The store's own, kept too, with drops_free: also a resource that is held or asked for has no
     * row while its locks say all that the row would. */
    bool drops_held;
    /* The store's own, kept too: it counts the locks of a session that only beats
     * (hf_session_row.counts_locks). */
    bool counts_beats;
    hf_event_row *events;
    size_t events_count, events_room;
    hf_saved_row *saved;
    unsigned run; /* number of the current linked run; 0 outside one */
    unsigned runs;
    const char *no_growth; /* ops that need room are refused with this sentence; NULL: none is */
    bool failed;           /* memory ran out; nothing of the set may be saved */
} hf_rows;

/* Starts a set for about `ops` ops. False when memory is out. hf_rows_done frees it all. */
bool hf_rows_reset(hf_rows *rows, size_t ops);
void hf_rows_done(hf_rows *rows);

/* Puts in the set what the batch names, not loaded yet: sessions, resources, types, opens. Ops with
 * a flaw are answered HF_INVALID here and passed over. False when memory is out. */
bool hf_rows_want(hf_rows *rows, hf_batch *batch);

/* The row with that name, made if it isn't in the set; NULL when memory is out. The slices are
 * borrowed when `copy` is false, else copied into the arena. */
hf_session_row *hf_rows_session(hf_rows *rows, const char *id);
hf_resource_row *hf_rows_resource(hf_rows *rows, hf_slice type, hf_slice id, bool copy);
hf_type_row *hf_rows_type(hf_rows *rows, hf_slice type);

/* Adds a lock row to its resource and session. Loading twice (by resource, by session) answers the
 * first. */
hf_lock_row *hf_rows_lock(hf_rows *rows, hf_resource_row *resource, hf_session_row *session);

hf_request_row *hf_rows_request(hf_rows *rows, hf_resource_row *resource, hf_session_row *session);
hf_lost_row *hf_rows_lost(hf_rows *rows, hf_session_row *session, hf_slice type, hf_slice id);
/* For loading all a session lost: none of it is in the set yet. */
hf_lost_row *hf_rows_lost_new(hf_rows *rows, hf_session_row *session, hf_slice type, hf_slice id);
hf_event_row *hf_rows_event(hf_rows *rows);

/* The save with that request id that a later one has covered. */
hf_save_row *hf_rows_past(hf_rows *rows, hf_resource_row *resource, hf_slice request);

/* The request id of a save with its scope: "ID SESSION", or "ID  USER" for a user without a
 * session. */
bool hf_rows_save_request(hf_rows *rows, const hf_op *op, hf_slice *out);

/* After a loss was loaded: if the session beats, whoever holds the resource now is to be loaded
 * too. */
bool hf_rows_want_taker(hf_rows *rows, hf_lost_row *lost);

/* Once the ops are done: drops the rows of resources that are free (drops_free), or of all whose
 * locks say the same (drops_held). The floor is raised to every fence that no lock has any more,
 * and a new row begins with its fence as its `rev`: no fence is given twice. */
void hf_rows_drop(hf_rows *rows, int64_t now_us);

/* Once all is loaded: puts the locks of each resource in the order of their grants, so that what
 * follows doesn't depend on the order in which a store found them. */
void hf_rows_settle(hf_rows *rows);

/* A linked run: what is touched in between can be put back. */
void hf_rows_run_begin(hf_rows *rows);
void hf_rows_run_end(hf_rows *rows, bool keep, size_t events_before);

/* Keeps a copy of a row in a linked run, once, to be put back if the run is refused. */
void hf_rows_keep(hf_rows *rows, void *row, size_t size, unsigned *row_run);

/* Says that a row, of whatever kind, is about to change. */
#define hf_touch(rows, row)                                                                        \
    (hf_rows_keep((rows), (row), sizeof *(row), &(row)->run), (void)((row)->changed = true))

/* The hash the set uses, for stores that keep rows by it too. */
uint64_t hf_resource_hash(uint64_t seed, hf_slice type, hf_slice id);

#endif
