/* SPDX-License-Identifier: MIT */
/* Links: opening them, using them, losing them, and what a backend is on top of that (links.h). */
#include "lease/links.h"

#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "lease/links_ear.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LINK_JOB_US INT64_C(60000000) /* who asks for so long a max_hold has a job to run */

enum { LINK_IDLE_S = 10, LINK_INTERVAL_S = 5, LINK_PROBES = 3 }; /* keepalives of this end */

/* What the server allows a session that is silent, and what a pulse may be late. */
enum { LINK_SILENT_PULSES = 15, LINK_SILENT_MIN_US = 30000000, LINK_LATE_MAX_US = 1000000 };

/* ---- one link ---- */

hf_status hf_link_stmt(hf_link *link, int at, const char *sql, hf_stmt **out, hf_error *err)
{
    hf_status status = HF_OK;
    if (link->stmts[at] == NULL)
        status = hf_stmt_new(link->db, sql, &link->stmts[at], err);
    *out = link->stmts[at];
    return status;
}

static void link_shut(hf_link *link)
{
    for (int i = 0; i < HF_LINK_STMTS; i++) {
        if (link->stmts[i] != NULL)
            hf_stmt_free(link->stmts[i]);
        link->stmts[i] = NULL;
    }
    hf_db_close(link->db);
    link->db = NULL;
}

/* By a unix socket this does nothing. */
static void link_keep_alive(int socket)
{
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &(int){LINK_IDLE_S}, sizeof(int));
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &(int){LINK_INTERVAL_S}, sizeof(int));
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &(int){LINK_PROBES}, sizeof(int));
}

/* The link is used by the caller. A pooler hands its server connections round, and locks with them.
 */
static hf_status link_open(hf_link *link, bool first, hf_error *err)
{
    hf_links *links = link->links;
    int64_t now_us = hf_seam.boot_us();
    hf_status status =
        hf_db_connect(links->dialect->driver, links->url.url, &links->db, &link->db, err);
    if (status == HF_OK)
        status = links->dialect->ready(link, first, err);
    if (status != HF_OK) {
        link_shut(link);
        return status;
    }
    link_keep_alive(hf_db_socket(link->db));
    atomic_store(&link->proof_us, now_us);
    atomic_store(&link->dead, false);
    return HF_OK;
}

/* ---- whose turn ---- */

static void links_lock(hf_links *links)
{
    pthread_mutex_lock(&links->mutex);
}

static void links_unlock(hf_links *links)
{
    pthread_mutex_unlock(&links->mutex);
}

/* What a link held, which has died, is moved to a list of its own: K4. */
static void link_bury(hf_link *link, hf_lease_grant **lost)
{
    hf_links *links = link->links;
    pthread_mutex_lock(&links->desk.mutex);
    *lost = link->grants;
    link->grants = NULL;
    if (*lost != NULL)
        (*lost)->whence = lost;
    for (hf_lease_grant *grant = *lost; grant != NULL; grant = grant->next)
        grant->link = &links->grave;
    pthread_mutex_unlock(&links->desk.mutex);
    link_shut(link);
}

/* Counts what is held on it now; with the mutex. The ear sleeps long while nothing is: true when it
 * is to be woken by the first. */
static bool link_count(hf_link *link)
{
    hf_links *links = link->links;
    size_t before = link->held;
    if (link->db == NULL) {
        link->more = -(int)before;
        link->socket = -1;
    }
    link->held += (size_t)link->more;
    links->held += (size_t)link->more;
    link->more = 0;
    if ((before == 0) == (link->held == 0))
        return false;
    if (link->held == 0) {
        link->idle_us = hf_seam.boot_us();
        return false;
    }
    link->pulsed_us = hf_seam.boot_us();
    bool early = links->wakes_us > link->pulsed_us + links->pulse_us;
    if (early)
        links->wakes_us = link->pulsed_us + links->pulse_us;
    return early;
}

/* A dead link is closed, and what it held is lost; told when nothing is in use any more. */
void hf_link_leave(hf_link *link)
{
    hf_links *links = link->links;
    hf_lease_grant *lost = NULL;
    char why[640];
    if (link->db != NULL && (!hf_db_alive(link->db) || atomic_load(&link->dead))) {
        snprintf(why, sizeof why, "The connection to %.500s is lost, and with it the lease.",
                 hf_db_path(link->db));
        link_bury(link, &lost);
    }
    links_lock(links);
    bool early = link_count(link);
    link->used = false;
    pthread_cond_broadcast(&links->freed);
    links_unlock(links);
    if (early)
        hf_desk_ring(&links->desk);
    if (lost != NULL)
        hf_desk_lose(&links->desk, &lost, NULL, NULL, why);
}

/* This very link, when nobody else uses it. */
void hf_link_use(hf_link *link)
{
    hf_links *links = link->links;
    links_lock(links);
    while (link->used)
        pthread_cond_wait(&links->freed, &links->mutex);
    link->used = true;
    links_unlock(links);
}

/* Opens a link that the caller uses, if it is closed. */
hf_status hf_link_ready(hf_link *link, hf_error *err)
{
    hf_links *links = link->links;
    if (link->db != NULL)
        return HF_OK;
    hf_status status = link_open(link, false, err);
    if (status != HF_OK)
        return status;
    links_lock(links);
    link->socket = hf_db_socket(link->db);
    link->idle_us = link->pulsed_us = hf_seam.boot_us();
    links_unlock(links);
    hf_desk_ring(&links->desk); /* it has one more to watch */
    return HF_OK;
}

/* One that nobody uses and that has room: an open one if there is any. *full: all have as many
 * locks as they may. NULL: none now. */
static hf_link *links_find(hf_links *links, bool *full)
{
    hf_link *closed = NULL;
    *full = true;
    for (size_t i = 0; i < links->count; i++) {
        hf_link *link = &links->all[i];
        if (link->ear || link->held >= links->dialect->link_max)
            continue;
        *full = false;
        if (link->used)
            continue;
        if (link->socket >= 0)
            return link;
        closed = closed == NULL ? link : closed;
    }
    return closed;
}

/* Any link with room. */
hf_status hf_links_use(hf_links *links, hf_link **out, hf_error *err)
{
    bool full = false;
    hf_link *link = NULL;
    size_t marks = links->dialect->hear == NULL ? 0 : hf_desk_waiting(&links->desk);
    links_lock(links);
    while (links->held + marks < links->held_max && (link = links_find(links, &full)) == NULL &&
           !full)
        pthread_cond_wait(&links->freed, &links->mutex);
    if (link != NULL)
        link->used = true;
    size_t held = links->held;
    links_unlock(links);
    if (link == NULL)
        return hf_fail(err, HF_TOO_MANY,
                       "This provider holds the most leases that the server allows, %zu (and %zu "
                       "waits); close some, or see docs/leases.md.",
                       held, marks);
    hf_status status = hf_link_ready(link, err);
    if (status != HF_OK)
        hf_link_leave(link);
    *out = status == HF_OK ? link : NULL;
    return status;
}

/* One that was granted on a link that the caller uses. */
void hf_link_note(hf_link *link, hf_lease_grant *grant)
{
    grant->link = link;
    hf_desk_link(&link->links->desk, &link->grants, grant);
    link->more++;
}

/* Whoever is refused the key of a job wants to know who runs it since when, also in its first
 * seconds: the pulse is not waited for. Short leases are spared the round trip. */
void hf_link_tell(hf_link *link, const hf_lease_request *ask)
{
    if (ask->max_hold_us >= LINK_JOB_US && link->links->dialect->ping(link, NULL) != HF_OK)
        atomic_store(&link->dead, true);
}

/* ---- the backend ---- */

static hf_link *link_of(hf_links *links, const hf_lease_grant *grant)
{
    pthread_mutex_lock(&links->desk.mutex);
    hf_link *link = grant->link;
    pthread_mutex_unlock(&links->desk.mutex);
    return link;
}

hf_status hf_links_take(hf_lease_backend *it, hf_lease_request *ask, hf_error *err)
{
    hf_links *links = (hf_links *)it;
    hf_link *link = NULL;
    hf_status status = HF_OK;
    bool got = false;
    for (int i = 0; i < 2; i++) { /* a link that died while it was idle shows only now */
        status = hf_links_use(links, &link, err);
        if (status != HF_OK)
            return status;
        ask->grant->asked_us = hf_seam.boot_us();
        status = links->dialect->try(link, &ask, 1, &got, err);
        if (status == HF_OK)
            break;
        bool lost = !hf_db_alive(link->db);
        hf_link_leave(link);
        if (!lost)
            return status;
    }
    if (status != HF_OK)
        return status;
    atomic_store(&link->proof_us, ask->grant->asked_us);
    if (got) {
        hf_link_note(link, ask->grant);
        hf_link_tell(link, ask);
    }
    hf_link_leave(link);
    return got ? HF_OK : HF_TIMEOUT;
}

void hf_links_wait(hf_lease_backend *it, hf_lease_request *ask)
{
    hf_desk_wait(&((hf_links *)it)->desk, ask);
}

bool hf_links_unwait(hf_lease_backend *it, hf_lease_request *ask)
{
    hf_links *links = (hf_links *)it;
    if (!hf_desk_unwait(&links->desk, ask))
        return false;
    if (ask->marked) {
        hf_link *ear = &links->all[0];
        hf_link_use(ear);
        if (ear->db != NULL)
            links->dialect->unmark(ear, ask);
        hf_link_leave(ear);
    }
    return true;
}

void hf_links_give(hf_lease_backend *it, hf_lease_grant *grant)
{
    hf_links *links = (hf_links *)it;
    hf_link *link = link_of(links, grant);
    hf_link_use(link);
    if (hf_desk_unlink(&links->desk, grant) && grant->link == link && link->db != NULL) {
        int64_t now_us = hf_seam.boot_us();
        if (links->dialect->release(link, grant, NULL) == HF_OK)
            atomic_store(&link->proof_us, now_us);
        else
            atomic_store(&link->dead, true); /* so that the server gives it back */
        link->more--;
    }
    bool ear = link->ear;
    hf_link_leave(link);
    if (ear) /* something may have been heard meanwhile */
        hf_desk_ring(&links->desk);
}

bool hf_links_sure(hf_lease_backend *it, const hf_lease_grant *grant)
{
    hf_links *links = (hf_links *)it;
    hf_link *link = link_of(links, grant);
    int64_t late_us = links->pulse_us < LINK_LATE_MAX_US ? links->pulse_us : LINK_LATE_MAX_US;
    return !atomic_load(&link->dead) &&
           hf_seam.boot_us() - atomic_load(&link->proof_us) <= links->pulse_us + late_us;
}

int64_t hf_links_silence_us(const hf_links *links)
{
    int64_t silence_us = links->pulse_us * LINK_SILENT_PULSES;
    return silence_us < LINK_SILENT_MIN_US ? LINK_SILENT_MIN_US : silence_us;
}

void hf_links_who(hf_lease_backend *it, const hf_lease_request *ask, char *out, size_t size)
{
    hf_links *links = (hf_links *)it;
    hf_link *link = NULL;
    if (hf_links_use(links, &link, NULL) != HF_OK)
        return;
    links->dialect->who(link, ask, out, size);
    hf_link_leave(link);
}

const char *hf_links_grade(const hf_lease_backend *it)
{
    return ((const hf_links *)it)->grade;
}

/* ---- open and close ---- */

static void links_init(hf_links *links, const hf_lease_setup *setup)
{
    links->base.host = setup->host;
    links->pool_idle_us = setup->pool_idle_us;
    links->pulse_us = setup->pulse_us;
    links->count = setup->pool_max;
    links->held_max = SIZE_MAX;
    snprintf(links->name, sizeof links->name, "%s", setup->name);
    links->grave = (hf_link){.links = links, .socket = -1, .dead = true};
    pthread_mutex_init(&links->mutex, NULL);
    pthread_cond_init(&links->freed, NULL);
    for (size_t i = 0; i < links->count; i++) {
        links->all[i].links = links;
        links->all[i].socket = -1;
        links->all[i].ear = i == 0 && links->dialect->hear != NULL;
    }
}

static hf_status links_connect(hf_links *links, const hf_lease_setup *setup, hf_error *err)
{
    hf_link *first = &links->all[0];
    hf_status status = hf_url_read(setup->url, &links->url, err);
    if (status == HF_OK && links->url.durability != NULL)
        status =
            hf_fail(err, HF_INVALID, "durability= is not for a database server; leave it out.");
    if (status == HF_OK && links->url.replicas != 0)
        status = hf_fail(err, HF_INVALID, "replicas= is for a store on Redis; leave it out.");
    if (status == HF_OK && links->url.pooler)
        status = hf_fail(err, HF_INVALID,
                         "A lease is a lock of a database session, which a pooler in transaction "
                         "mode gives to other clients: connect to the server itself, or use a pool "
                         "in session mode with pooler=session.");
    links->db.password = links->url.password;
    if (status == HF_OK)
        status = hf_desk_init(&links->desk, setup->host, err);
    if (status == HF_OK)
        status = link_open(first, true, err);
    if (status == HF_OK) {
        first->socket = hf_db_socket(first->db);
        first->idle_us = first->pulsed_us = hf_seam.boot_us();
        status = hf_desk_start(&links->desk, hf_links_ear, links, err);
    }
    return status;
}

hf_status hf_links_open(const hf_link_dialect *dialect, const hf_lease_ops *ops,
                        const hf_lease_setup *setup, hf_lease_backend **out, hf_error *err)
{
    hf_links *links = hf_alloc(sizeof *links);
    if (links == NULL)
        return hf_fail_memory(err);
    links->base.ops = ops;
    links->dialect = dialect;
    links->db.setup = dialect->setup;
    links_init(links, setup);
    hf_status status = links_connect(links, setup, err);
    if (status != HF_OK)
        hf_links_close(&links->base);
    else
        *out = &links->base;
    return status;
}

/* Also one that was opened in part. */
void hf_links_close(hf_lease_backend *it)
{
    hf_links *links = (hf_links *)it;
    hf_desk_stop(&links->desk);
    for (size_t i = 0; i < links->count; i++) {
        hf_link *link = &links->all[i];
        if (link->db != NULL && hf_db_alive(link->db) && link->held > 0)
            links->dialect->release_all(link);
        link_shut(link);
    }
    hf_desk_done(&links->desk);
    hf_url_done(&links->url);
    pthread_cond_destroy(&links->freed);
    pthread_mutex_destroy(&links->mutex);
    hf_free(links);
}
