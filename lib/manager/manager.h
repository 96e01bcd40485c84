/* SPDX-License-Identifier: MIT */
/* The manager from inside: its session handles, what they believe to hold, its listeners and
 * keeper. Private to this folder.
 *
 * Locks of the library: session->work lets one call of a session at a time into the store, in the
 * order they came, so that what the handle believes follows the order of the answers;
 * session->mutex guards that belief and is never held over a call. Order: work, then the manager's
 * mutex, then the session's. No listener is called with one held. */
#ifndef HF_MANAGER_MANAGER_H
#define HF_MANAGER_MANAGER_H

#include "base/hash.h"
#include "base/text.h"

#include <holdfast/session.h>
#include <pthread.h>
#include <sys/queue.h>
#include <sys/types.h>

#define MANAGER_LISTENERS 16

struct hf_result {
    hf_batch *batch;
    /* where the op of the n-th resource asked for stands; NULL: in the order asked */
    size_t *order;
    size_t count; /* of the ops only the first so many are shown; 0: all */
};

struct hf_manager {
    hf_store *store;
    pid_t pid;
    pthread_mutex_t mutex;
    /* a session handle is no longer in use by poll, or a keeper has left */
    pthread_cond_t unpinned;
    LIST_HEAD(, hf_session) sessions;
    uint64_t polls; /* begun so far */
    struct {
        hf_listener *call;
        void *context;
    } listeners[MANAGER_LISTENERS];
    size_t listeners_count;
    pthread_t keeper;
    bool keeper_runs, keeper_woken;
    uint64_t keeper_turn; /* of the keeper that is to run; moves on when it is stopped */
    unsigned keepers;     /* threads that have not left yet */
    pthread_cond_t keeper_wakes;
};

/* A lock that a handle believes to hold: granted through it and not given back or lost since. */
typedef struct hf_held_lock {
    hf_hash_entry entry; /* first */
    int64_t fence;
    int64_t until_boot_us; /* its own bound on this machine's clock; 0: none */
    bool perhaps;          /* it may have a later bound: listeners don't hear that it was lost */
    hf_resource resource;
} hf_held_lock;

/* A request the listeners have heard of. */
typedef struct hf_heard {
    hf_resource resource;
    char session[HF_SESSION_ID_SIZE];
    int64_t at_us;
} hf_heard;

/* A loss the listeners need not hear of any more. */
typedef struct hf_told {
    hf_resource resource;
    int64_t fence;
    /* not 0: it ran out by this machine's clock; the store tells of it later, until then */
    int64_t until_boot_us;
} hf_told;

/* One at a time, in the order they came. A mutex would let a thread that comes again at once pass
 * those who wait: beside a busy thread the keeper would not come to beat, neither this session nor
 * any other. */
typedef struct hf_fifo_mutex {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uint64_t drawn, now; /* numbers: the last drawn, and whose turn it is */
} hf_fifo_mutex;

struct hf_session {
    hf_manager *manager;
    LIST_ENTRY(hf_session) of_manager;
    bool linked;     /* the caller has it; set once, before any other thread can know it */
    unsigned pins;   /* uses by poll; guarded by the manager's mutex */
    uint64_t polled; /* by which it was last looked at; guarded by it too */
    hf_credentials credentials;
    char request_prefix[17]; /* of the request ids this handle draws */
    hf_fifo_mutex work;
    uint64_t calls;        /* guarded by work: numbers those ids */
    pthread_mutex_t mutex; /* guards what follows */
    hf_session_info info;
    int64_t sent_boot_us; /* when the last acknowledged beat was sent; 0: none was yet */
    int64_t due_boot_us;  /* when poll is to beat */
    /* the poll that last asked for it together with others, when the store was of no use */
    uint64_t in_vain;
    bool ended, closed, told_ended; /* closed: by this handle */
    bool closing;                   /* by this handle, in a transaction of the caller's */
    hf_hash held;                   /* of hf_held_lock */
    hf_heard *heard;                /* of those that the last beat brought */
    size_t heard_count;
    uint64_t heard_call; /* the newest beat of which they are */
    hf_told *told;       /* of those that the last beat brought, and what has run out here since */
    size_t told_count, told_room;
    uint64_t told_call; /* the newest beat of which they are */
};

/* A result that owns the batch, which is freed if there is no memory: then NULL, and err says so.
 * */
hf_result *hf_result_new(hf_batch *batch, hf_error *err);

/* A resource, and which of those given it is. */
typedef struct hf_numbered {
    const hf_resource *resource;
    size_t index;
} hf_numbered;

/* session_locks.c: puts them into canonical order. HF_INVALID: one is named twice. */
hf_status hf_numbered_sort(hf_numbered *all, size_t count, hf_error *err);

/* A refusal of the first op becomes the caller's error; HF_OK when there is none. */
hf_status hf_settle(hf_status status, const hf_op *op, hf_error *err);

/* Executes a batch; when the answer is unsure, once more: with the same request ids that settles
 * it. */
hf_status hf_execute(hf_manager *manager, hf_batch *batch, hf_error *err);

/* Executes a batch and hands it over as a result, or frees it. out may be NULL. */
hf_status hf_finish(hf_manager *manager, hf_batch *batch, hf_result **out, hf_error *err);
/* The same; *over: the refusal says that a session is over, for good. */
hf_status hf_finish_for(hf_manager *manager, hf_batch *batch, hf_result **out, bool *over,
                        hf_error *err);

/* A random request id of 16 digits; false: there is no randomness. out holds HF_REQUEST_ID_SIZE. */
bool hf_draw_request(char *out);

void hf_op_set_resource(hf_op *op, const hf_resource *resource);

void hf_fifo_mutex_init(hf_fifo_mutex *turns); /* of memory that is zero */
void hf_fifo_mutex_done(hf_fifo_mutex *turns);
void hf_fifo_mutex_lock(hf_fifo_mutex *turns);
bool hf_fifo_mutex_trylock(hf_fifo_mutex *turns); /* false: someone has it, or waits for it */
void hf_fifo_mutex_unlock(hf_fifo_mutex *turns);

/* One op for a session, on its way to the store. */
typedef struct hf_call {
    hf_session *session;
    hf_batch *batch;
    hf_op *op;
    int64_t sent_boot_us;
    uint64_t number;                  /* of the session's calls */
    char request[HF_REQUEST_ID_SIZE]; /* drawn, unless the caller gives one */
} hf_call;

/* session.c. Between run and end the session's `work` is held. A session that is over in the store
 * is over here. */
hf_status hf_call_begin(hf_call *c, hf_session *session, hf_op_kind kind,
                        const hf_resource *resource, hf_error *err);
hf_status hf_call_run(hf_call *c, hf_error *err);
void hf_call_end(hf_call *c);
uint64_t hf_number_request(hf_session *session, char *out);

/* session.c: what the handle believes. */
void hf_note_alive(hf_session *session, const hf_answer *answer, int64_t sent_boot_us);
/* it counts when the caller commits: then another is due */
void hf_note_soon(hf_session *session);
void hf_note_missed(hf_session *session); /* it came to nothing */
void hf_note_lock(hf_session *session, const hf_answer *answer, int64_t sent_boot_us);
void hf_forget_lock(hf_session *session, const hf_resource *resource);
void hf_forget_grant(hf_session *session, const hf_resource *resource,
                     int64_t fence); /* 0: whichever it was */
/* Its bound may have come down to that (0: to anything). */
void hf_note_shorter(hf_session *session, const hf_resource *resource, int64_t until_boot_us);
void hf_forget_all(hf_session *session);
void hf_note_over(hf_session *session, bool closed);
/* That the session is over, for good: what is seen in a transaction of the caller's may be undone
 * with it. */
bool hf_is_over(hf_status status, const hf_answer *answer);

/* held_locks.c. Noting one may fail for want of memory: then it isn't believed to be held, which is
 * safe. */
void hf_held_locks_note(hf_hash *held, const hf_resource *resource, int64_t fence,
                        int64_t until_boot_us);
hf_held_lock *hf_held_locks_find(const hf_hash *held, const hf_resource *resource);
bool hf_held_locks_drop(hf_hash *held, const hf_resource *resource);
void hf_held_locks_clear(hf_hash *held);
/* Takes out one whose bound has come; false: none. *perhaps: as in the hold. next_us is lowered to
 * the earliest bound to come. */
bool hf_held_locks_take_spent(hf_hash *held, int64_t now_boot_us, hf_told *out, bool *perhaps,
                              int64_t *next_us);

/* listeners.c */
void hf_notify_ended(hf_session *session);
void hf_notify_spent(hf_session *session, int64_t now_us,
                     int64_t *next_us); /* what has come to its own bound; next_us as above */
void hf_notify_beat(hf_session *session, hf_status status, const hf_answer *answer, uint64_t call);

/* keeper.c */
void hf_keeper_wake(hf_manager *manager);
/* Waits until every keeper that was stopped has left. */
void hf_keepers_leave(hf_manager *manager);

#endif
