/* SPDX-License-Identifier: MIT */
/* What the files of the leases share. All of it is under the provider's mutex, unless it says
 * otherwise.
 *
 *   free --take--> asked for --granted--> held --close, watchdog, lost--> given back --> free
 *
 * E1  A key is in the table while someone holds it, asks for it or waits for it.
 * E2  While a key is `busy` one thread is at the backend for it: taking, waiting there, or giving
 *     back. So a backend is asked for a key by one thread at a time, and never while a hold stands.
 * E3  Whoever moves a hold from HELD to ENDED gives it back to the backend; nobody else does.
 * E4  A hold is freed when its last lease is closed and the backend has it no more. */
#ifndef HF_LEASE_INSIDE_H
#define HF_LEASE_INSIDE_H

#include "base/hash.h"
#include "base/text.h"
#include "lease/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

typedef struct lease_key lease_key;
typedef struct lease_hold lease_hold;
typedef struct lease_waiter lease_waiter;
typedef struct hf_lease_slot lease_slot;

/* A thread that waits, on its own stack. */
struct lease_waiter {
    pthread_cond_t woken;
    lease_key *key;
    const hf_lease *out;               /* whom it waits for: hf_lease_cancel */
    TAILQ_ENTRY(lease_waiter) in_line; /* of the key */
    LIST_ENTRY(lease_waiter) of_all;   /* of the provider */
    bool cancelled;
    /* The head of a line asks the backend. */
    hf_lease_request ask;
    bool answered;
    hf_status status;
    hf_error *err;
};

struct lease_key {
    hf_hash_entry entry; /* first; of those that are unused, only its next */
    lease_hold *hold;
    bool busy;                       /* E2 */
    TAILQ_HEAD(, lease_waiter) line; /* first come, first served */
    size_t size;
    char text[HF_LEASE_KEY_SIZE];
};

typedef enum lease_state { LEASE_ASKED, LEASE_HELD, LEASE_ENDED } lease_state;

struct lease_hold {
    hf_lease_grant grant; /* first: the backend knows nothing else of it */
    hf_leases *leases;
    lease_key *key; /* while it is asked for or held */
    lease_state state;
    bool gone;        /* lost while it was asked for */
    uint64_t thread;  /* who may re-enter */
    unsigned open;    /* leases not closed */
    unsigned owners;  /* `open`, and the backend */
    int64_t since_us; /* boot_us */
    int64_t ends_us;  /* boot_us at which max_hold is over */
    int64_t due_us;   /* when the watchdog looks at it: ends_us, or earlier to tell of a leak */
    size_t place;     /* in the heap, from 1; 0: not there */
    lease_hold *next; /* among the unused, or among those that are being ended */
};

/* What a lease points to. It stays until the provider is closed: a serial is used once. */
struct hf_lease_slot {
    hf_leases *leases;
    lease_hold *hold;
    uint64_t serial; /* 0: unused */
    lease_slot *next;
};

/* Memory that is handed out piece by piece and freed with the provider. */
typedef struct lease_block {
    struct lease_block *next;
} lease_block;

struct hf_leases {
    pthread_mutex_t mutex;
    uint64_t process; /* hf_lease_process() when it was opened; fixed */
    hf_leases_options options;
    hf_lease_backend *backend; /* NULL: in this process alone; fixed */
    char grade[HF_TEXT_SIZE];
    char names[64]; /* the namespace */
    bool stopped;
    unsigned inside;                   /* threads in a call that lets go of the mutex */
    pthread_cond_t left;               /* ... has become 0 */
    LIST_HEAD(, lease_waiter) waiters; /* all that wait, also at the backend */

    hf_hash keys;  /* of lease_key */
    uint64_t seed; /* of their hashes */
    lease_key *unused_keys;
    lease_hold *unused_holds;
    lease_slot *unused_slots;
    lease_block *blocks;
    size_t holds_count;
    uint64_t serial;
    int64_t fence; /* of the in-process backend */

    /* The watchdog: a heap by due_us. */
    lease_hold **heap;
    size_t heap_count, heap_room;
    int64_t wakes_us; /* when it will look by itself; INT64_MAX: not */
    pthread_cond_t alarm;
    pthread_t watchdog;
    bool watching, ending;
};

/* A number that is another one in every process; 0 never. */
uint64_t lease_process(void);

/* This thread's own number: never that of another, also not of one that has ended. */
uint64_t lease_thread(void);

int64_t lease_now_us(void);

/* ---- keys.c ---- */

hf_status lease_key_check(const char *key, hf_error *err);
bool lease_keys_init(hf_leases *leases);
/* The key's entry, made if there is none; NULL: out of memory. */
lease_key *lease_key_find(hf_leases *leases, const char *text, size_t size);
/* Removes an entry that nobody needs (E1); else nothing happens. */
void lease_key_drop(hf_leases *leases, lease_key *key);

/* ---- holds.c ---- */

/* A new hold or slot; NULL: out of memory. */
lease_hold *lease_hold_new(hf_leases *leases);
/* One owner less; freed with the last. */
void lease_hold_leave(lease_hold *hold);
bool lease_slot_add(lease_hold *hold, hf_lease *out);
/* The hold of a lease that is open; NULL: it is not. */
lease_hold *lease_slot_hold(const hf_lease *lease);
void lease_slot_free(lease_slot *slot);
void lease_blocks_free(hf_leases *leases);

/* Moves a hold from HELD to ENDED and takes it off its key; the key is busy then if there is a
 * backend (E3). */
void lease_hold_end(lease_hold *hold);
/* The rest of it: gives it back, with the mutex let go meanwhile, and lets the next in line. */
void lease_hold_give(lease_hold *hold, lease_key *key);
/* If nobody has the key, its first waiter is woken; if nobody needs it, it is dropped. */
void lease_key_pass(hf_leases *leases, lease_key *key);
/* Calls the listener, if there is one. Without the mutex. */
void lease_tell(const hf_leases *leases, hf_lease_event event, const char *key, int64_t fence,
                const char *text);

extern const hf_lease_host lease_host;

/* ---- watchdog.c ---- */

/* Makes room for as many holds as there are, so that adding one can't fail. */
bool lease_heap_reserve(hf_leases *leases);
void lease_heap_add(lease_hold *hold);
void lease_heap_remove(lease_hold *hold);
hf_status lease_watchdog_start(hf_leases *leases, hf_error *err);
void lease_watchdog_stop(hf_leases *leases);

#endif
