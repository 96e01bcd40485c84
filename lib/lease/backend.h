/* SPDX-License-Identifier: MIT */
/* What a backend of leases is: it tries a key, waits for it and gives it back. It knows nothing of
 * threads that re-enter, of local queues and of max_hold: leases.c does that for all of them, and
 * asks for a key only when nobody in this process has it. */
#ifndef HF_LEASE_BACKEND_H
#define HF_LEASE_BACKEND_H

#include <holdfast/lease.h>

enum { HF_DIGEST_SIZE = 32 };

typedef struct hf_lease_grant hf_lease_grant;
typedef struct hf_lease_request hf_lease_request;
typedef struct hf_lease_backend hf_lease_backend;

/* What the backend was given. It stays where it is until hf_lease_ops.give has returned. */
struct hf_lease_grant {
    int64_t fence;
    int64_t asked_us; /* boot_us just before it was asked for: from here max_hold counts */
    const char *key;  /* as long as the grant is the backend's */
    unsigned char digest[HF_DIGEST_SIZE]; /* SHA-256 of namespace, NUL, key */
    /* Of the backend. */
    void *link;                     /* what it is held by: a connection, a row */
    hf_lease_grant *next, **whence; /* in a list of desk.h; whence is NULL: in none */
    bool losing;                    /* its loss is just being told */
    int64_t mark; /* of MySQL: what others can read of since when it is held; -1: nothing yet */
    /* Of Redis, under the desk's mutex. */
    uint64_t token;   /* which grant it is; never used again */
    int64_t since_us; /* when it was taken, by the wall clock */
    int64_t sure_us,
        ends_us; /* boot_us until which it is held for certain; at which max_hold is over */
};

/* One key that is asked for; at most one at a time of a key. Filled by the caller but for the
 * grant. */
struct hf_lease_request {
    int64_t max_hold_us;
    hf_lease_grant *grant;
    /* Of the backend, from wait to its answer (desk.h). */
    hf_lease_request *next, **whence; /* whence is NULL: it has its answer */
    bool due;                         /* to be tried */
    bool trying;
    bool marked; /* those who give the key back know that someone waits */
};

/* What a backend tells, from any thread, with no lock of its own held. desk.h keeps the rules. */
typedef struct hf_lease_host {
    /* A waiting ask has come to something: HF_OK, or a failure. It is the caller's again. */
    void (*answer)(hf_lease_request *ask, hf_status status, const hf_error *err);
    /* The grant is gone; `why` is a sentence. True: it is not the backend's any more. False: `give`
     * will come for it. */
    bool (*lost)(hf_lease_grant *grant, const char *why);
} hf_lease_host;

/* How a backend is opened. Strings are borrowed until open returns. */
typedef struct hf_lease_setup {
    const char *url;
    const char *name;
    unsigned pool_max;
    int64_t pool_idle_us, pulse_us;
    const hf_lease_host *host;
} hf_lease_setup;

typedef struct hf_lease_ops {
    hf_status (*open)(const hf_lease_setup *setup, hf_lease_backend **out, hf_error *err);

    /* Tries once, by the calling thread. HF_OK: granted. HF_TIMEOUT: someone else has it. Else it
     * failed. */
    hf_status (*take)(hf_lease_backend *it, hf_lease_request *ask, hf_error *err);

    /* Begins to wait; `answer` is called once, soon or late. */
    void (*wait)(hf_lease_backend *it, hf_lease_request *ask);

    /* No longer. True: `answer` was not and will not be called. False: it has been. */
    bool (*unwait)(hf_lease_backend *it, hf_lease_request *ask);

    /* Ends a grant. When it returns, others can have the key, as far as anyone can tell. */
    void (*give)(hf_lease_backend *it, hf_lease_grant *grant);

    /* Whether the grant is known to stand: the backend heard from the server not long ago. Never
     * waits. */
    bool (*sure)(hf_lease_backend *it, const hf_lease_grant *grant);

    /* Who has the key, for a sentence: "held by alice on web1 since 10:47 UTC"; "" when that can't
     * be told. Best effort. */
    void (*who)(hf_lease_backend *it, const hf_lease_request *ask, char *out, size_t size);

    /* What the leases stand on; borrowed. */
    const char *(*grade)(const hf_lease_backend *it);

    /* Gives all back and ends its threads. Nobody is in any other call. */
    void (*close)(hf_lease_backend *it);
} hf_lease_ops;

/* Every backend begins with this. */
struct hf_lease_backend {
    const hf_lease_ops *ops;
    const hf_lease_host *host;
};

/* What a module exports besides hf_store_module. */
typedef struct hf_lease_module_info {
    const char *version;
    const hf_lease_ops *ops;
} hf_lease_module_info;

#define HF_LEASE_MODULE_SYMBOL "hf_lease_module"

extern const hf_lease_ops hf_lease_rows; /* a session and locks, on any store */

#endif
