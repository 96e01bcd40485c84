/* SPDX-License-Identifier: MIT */
/* Leases that are locks of a database session (PostgreSQL, MariaDB and MySQL), many of them on few
 * connections. A connection is called a link. Nothing is ever asked that waits in the server, so a
 * link is in use for a round trip at a time, and any thread can have any link.
 *
 * K1  A lock is given back on the link that took it. A link that is lost has given all its locks
 * back. K2  A link is used by one thread at a time; it is dead when a round trip failed. K3  Link 0
 * is the ear's where the dialect has marks: it hears, and tries for those that wait. K4  The grants
 * of a link that has died point to `grave` before its place is used again. */
#ifndef HF_LEASE_LINKS_H
#define HF_LEASE_LINKS_H

#include "db/db.h"
#include "db/url.h"
#include "lease/desk.h"

#include <stdatomic.h>

typedef struct hf_links hf_links;

enum { HF_LINK_STMTS = 8 };

typedef struct hf_link {
    hf_links *links;
    bool ear;  /* K3 */
    hf_db *db; /* of whoever uses it; NULL: closed */
    hf_stmt *stmts[HF_LINK_STMTS];
    int more;         /* locks taken on it, less those given back, that `held` does not count yet */
    int64_t clock_us; /* of MySQL: the server's time, in us of 1970, less boot_us */
    /* Under the mutex of the links. */
    bool used, opening;
    size_t held;
    int64_t idle_us;   /* since when nothing is held on it */
    int64_t pulsed_us; /* boot_us of its last ping, or since when it is open or holds something */
    int socket;        /* -1: closed */
    /* From any thread. */
    atomic_bool dead;
    atomic_int_least64_t proof_us; /* boot_us before the last round trip that was answered */
    /* Under the mutex of the desk. */
    hf_lease_grant *grants;
} hf_link;

/* What differs from server to server. All are called by whoever uses the link. */
typedef struct hf_link_dialect {
    const hf_db_driver *driver;
    const char *setup; /* statements for each new connection; NULL: none */
    size_t link_max;   /* locks of one link */
    int look_ms;       /* how often those that wait are tried; 0: an eighth of a pulse */

    /* A new connection; `first`: the first of all, which also looks whether the server will do. */
    hf_status (*ready)(hf_link *link, bool first, hf_error *err);
    /* Tries all in one round trip; got[i]: it was granted. Its fence is the server's time in
     * microseconds, read after it was granted; `release` waits, for a second at most, until that
     * time has passed, in case the clock was set back. */
    hf_status (*try)(hf_link *link, hf_lease_request **asks, size_t count, bool *got,
                     hf_error *err);
    hf_status (*release)(hf_link *link, const hf_lease_grant *grant, hf_error *err);
    /* A round trip that shows that it lives, once a pulse while it holds something; may tell others
     * who holds what since when. */
    hf_status (*ping)(hf_link *link, hf_error *err);
    void (*release_all)(hf_link *link);
    void (*who)(hf_link *link, const hf_lease_request *ask, char *out, size_t size);
    /* NULL where there is none. On the ear's link: tries those that wait, marking them; takes a
     * mark away; takes in what was told, and makes those due whose key it was. */
    hf_status (*try_marked)(hf_link *link, hf_lease_request **asks, size_t count, bool *got,
                            hf_error *err);
    void (*unmark)(hf_link *link, const hf_lease_request *ask);
    hf_status (*hear)(hf_link *link, hf_error *err);
} hf_link_dialect;

struct hf_links {
    hf_lease_backend base;
    hf_desk desk;
    const hf_link_dialect *dialect;
    hf_url url;
    hf_db_options db;
    char name[HF_TEXT_SIZE];
    char grade[HF_TEXT_SIZE];
    int64_t pool_idle_us, pulse_us;
    pthread_mutex_t mutex; /* never held with the desk's */
    pthread_cond_t freed;
    size_t count; /* of the places below */
    size_t held, held_max;
    int64_t wakes_us; /* when the ear looks by itself */
    hf_link grave;    /* of the grants of links that have died */
    hf_link all[HF_LEASE_POOL_MAX];
};

/* The slots of hf_lease_ops; opening one also needs its dialect and its table. */
hf_status hf_links_open(const hf_link_dialect *dialect, const hf_lease_ops *ops,
                        const hf_lease_setup *setup, hf_lease_backend **out, hf_error *err);
void hf_links_close(hf_lease_backend *it);
hf_status hf_links_take(hf_lease_backend *it, hf_lease_request *ask, hf_error *err);
void hf_links_wait(hf_lease_backend *it, hf_lease_request *ask);
bool hf_links_unwait(hf_lease_backend *it, hf_lease_request *ask);
void hf_links_give(hf_lease_backend *it, hf_lease_grant *grant);
bool hf_links_sure(hf_lease_backend *it, const hf_lease_grant *grant);
void hf_links_who(hf_lease_backend *it, const hf_lease_request *ask, char *out, size_t size);
const char *hf_links_grade(const hf_lease_backend *it);

/* How long a session may be silent before the server ends it, and frees what it holds. A client of
 * it stopped believing long before (hf_links_sure). */
int64_t hf_links_silence_us(const hf_links *links);

/* For dialects: the statement number `at` of the link, prepared when first used. */
hf_status hf_link_stmt(hf_link *link, int at, const char *sql, hf_stmt **out, hf_error *err);

#endif
