/* SPDX-License-Identifier: MIT */
/* Leases: a keyed mutex held for a bounded time, for a job that must run on one node at a time or a
 * row on which retries thrash. It is not an offline lock: for a person's work of minutes or hours
 * use a session and a lock (session.h).
 *
 *     hf_leases *leases = NULL;
 *     hf_lease lease;
 *     hf_leases_open("postgres://app@db1/sales", NULL, &leases, &err);
 *     if (hf_lease_try_acquire(leases, "wallet:7", 2000000, 10000000, &lease, &err) == HF_OK) {
 *         ... begin, read, write, commit ...
 *         hf_lease_close(&lease);
 *     }
 *     hf_leases_close(leases);
 *
 * Close the lease after the commit, never before: docs/leases.md says why. */
#ifndef HOLDFAST_LEASE_H
#define HOLDFAST_LEASE_H

#include <holdfast/status.h>

HF_BEGIN_DECLS

/* A provider of leases. Threads may share it. After fork() the child holds no leases, and its calls
 * return HF_INVALID. */
typedef struct hf_leases hf_leases;

/* One lease: a plain value, all zero when there is none. A copy is the same lease. */
typedef struct hf_lease {
    struct hf_lease_slot *slot; /* private */
    uint64_t serial;            /* private */
} hf_lease;

/* ---- notices about a lease ---- */

typedef enum hf_lease_event {
    HF_LEASE_EXPIRED, /* max_hold has passed: the watchdog has ended it */
    HF_LEASE_LOST,    /* the connection or the server is gone, or an administrator ended it */
    HF_LEASE_LEAKING  /* it is held longer than leak_after; sent once, and it is still held */
} hf_lease_event;

typedef struct hf_lease_notice {
    hf_lease_event event;
    const char *key;
    int64_t fence;
    const char *text; /* one sentence */
} hf_lease_notice;

/* Called from any thread, with no lock of the library held. It may call the library, but not stop
 * or close the provider. */
typedef void hf_lease_listener(void *context, const hf_lease_notice *notice);

/* ---- a provider ---- */

typedef struct hf_leases_options {
    const char *name;      /* who asks, shown to those who wait; NULL: user, host and process id */
    unsigned pool_max;     /* connections at most, beside the application's own; 0: 8; 2 to 64 */
    int64_t pool_idle_us;  /* a connection is closed after this long without a lease; 0: a minute */
    int64_t leak_after_us; /* 0: never */
    int64_t pulse_us;      /* how often a connection that holds leases is checked; 0: 2 s */
    hf_lease_listener *listener; /* may be NULL */
    void *context;
} hf_leases_options;

/* Opens a provider. The URL says who excludes whom:
 *   memory:                          the threads of this process; first come, first served
 *   postgres://  mysql://  redis://  all processes that use the same server, database and namespace
 *   all others: sqlite:, http: ...   all processes that use the same store: a provider is a session
 *                                    there, a lease an exclusive lock on the resource lease/KEY
 *
 * namespace=NAME in the URL keeps keys apart (default "holdfast"). options may be NULL.
 *
 * HF_INVALID: the URL or an option makes no sense, or the server can't keep leases: a pooler
 * (unless pooler=session), a cluster, a replica. HF_UNAVAILABLE: no connection. HF_BUSY:
 * others keep a SQLite file busy; try again. Threads are started, with all signals blocked. */
HF_API HF_MUST_USE hf_status hf_leases_open(const char *url, const hf_leases_options *options,
                                            hf_leases **out, hf_error *err);

/* The durability of the leases, as hf_grade.text of a store: one sentence. Borrowed. */
HF_API const char *hf_leases_grade(const hf_leases *leases);

/* Ends all leases and all waits. From then on every acquire is HF_INVALID, and is_held is false.
 * Stopping twice is harmless. */
HF_API void hf_leases_stop(hf_leases *leases);

/* Stops the provider and frees it, after the calls of other threads have returned. No lease of it
 * may be used afterwards. Accepts NULL. In a forked child it does nothing. */
HF_API void hf_leases_close(hf_leases *leases);

/* ---- a lease ---- */

/* Acquires the lease of a key, 1 to 255 bytes of UTF-8 without control characters; waits without a
 * limit. The lease ends after max_hold_us at the latest, counted from this call, whatever its
 * thread is doing: 1 us to a year, rounded up to the resolution of the server.
 *   HF_OK          granted: give *lease to hf_lease_close
 *   HF_TIMEOUT     someone else holds it, and the wait ended or was cancelled; err says who holds
 *                  it and since when, where that is known
 *   HF_UNAVAILABLE the server cannot be reached
 *   HF_TOO_MANY    a limit that protects the server is reached (docs/leases.md)
 *   HF_INVALID     key, time or provider make no sense; HF_TOO_LARGE: the key is too long
 * When it is not HF_OK, *lease is zero.
 *
 * A thread that acquires a key it holds gets another lease of the same hold at once: same fence,
 * same end, whatever max_hold_us says now. The hold ends when as many leases have been closed.
 * Another thread is someone else. */
HF_API HF_MUST_USE hf_status hf_lease_acquire(hf_leases *leases, const char *key,
                                              int64_t max_hold_us, hf_lease *lease, hf_error *err);

/* The same, but waits for max_wait_us at most, 0 to a year. 0: answers at once. */
HF_API HF_MUST_USE hf_status hf_lease_try_acquire(hf_leases *leases, const char *key,
                                                  int64_t max_wait_us, int64_t max_hold_us,
                                                  hf_lease *lease, hf_error *err);

/* From another thread: ends the wait of the call that would fill *lease. That call answers
 * HF_TIMEOUT unless it has been granted. False: no call is waiting for it. */
HF_API bool hf_lease_cancel(hf_leases *leases, const hf_lease *lease);

/* Whether it is held now, decided locally. False also when that is unknown, because the server has
 * not answered for some time: 3 s on PostgreSQL, MariaDB and MySQL, longer elsewhere. A server that
 * ended the lease by itself may not have been heard yet: docs/leases.md says for how long two may
 * believe that they hold it. */
HF_API bool hf_lease_is_held(const hf_lease *lease);

/* A number that grows with every grant of the key. The storage that receives the result can compare
 * it and refuse a lower one. It is at least the server's time in microseconds, so it also grows
 * over a restart, an emptied server or another one, as far as their clocks agree. When a clock is
 * set back: docs/leases.md. 0: the lease has ended. */
HF_API int64_t hf_lease_fence(const hf_lease *lease);

/* Releases it. Any thread may call this. Harmless when it was closed before, has ended, or is zero;
 * accepts NULL. */
HF_API void hf_lease_close(const hf_lease *lease);

HF_END_DECLS

#endif
