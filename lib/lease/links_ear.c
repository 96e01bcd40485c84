/* SPDX-License-Identifier: MIT */
/* The ear of the links: tries for those that wait, looks whether idle links live, closes those that
 * nobody needs. It hears a closed connection at once (POLLRDHUP), of a silent one it learns by
 * pinging. Data that comes for another thread does not wake it. */
#include "lease/links_ear.h"

#include "base/error.h"
#include "base/seams.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
    EAR_BATCH = 256,    /* asks in one statement */
    EAR_SOON_MS = 2,    /* something was in the way for a moment */
    EAR_SHARE = 2,      /* looking takes half of the time at most */
    EAR_LOOKS = 8,      /* a pulse, where those that wait are told */
    EAR_SIGNS = 3,      /* of life, in the time for which the server allows silence */
    EAR_NAP_MS = 60000, /* the longest sleep */
    EAR_MS_US = 1000,
};

typedef struct ear {
    hf_links *links;
    int64_t look_us; /* when to try all that wait again */
    hf_lease_request *asks[EAR_BATCH];
    bool got[EAR_BATCH];
} ear;

/* ---- those that wait ---- */

/* How many may be tried at once on a link: it has room for so many. */
static size_t ear_room(const hf_links *links, const hf_link *link)
{
    size_t room = links->dialect->link_max - link->held;
    return room > EAR_BATCH ? EAR_BATCH : room;
}

/* The link they are tried on, used by the ear then; with marks always the same one. */
static hf_status ear_use(hf_links *links, hf_link **out, hf_error *err)
{
    if (links->dialect->try_marked == NULL)
        return hf_links_use(links, out, err);
    hf_link *link = *out = &links->all[0];
    hf_link_use(link);
    hf_status status = hf_link_ready(link, err);
    if (status != HF_OK) {
        hf_link_leave(link);
        *out = NULL;
    }
    return status;
}

static bool ear_unmark(hf_lease_request *ask, void *context)
{
    (void)context;
    ask->marked = false;
    return true;
}

/* Those that were picked are tried; a link that has just died is replaced once. *out stays used. */
static hf_status ear_ask(ear *e, size_t count, hf_link **out, hf_error *err)
{
    hf_links *links = e->links;
    bool marks = links->dialect->try_marked != NULL;
    hf_status status = HF_UNAVAILABLE;
    for (int i = 0; i < 2; i++) {
        if (*out == NULL && (status = ear_use(links, out, err)) != HF_OK)
            break;
        int64_t now_us = hf_seam.boot_us();
        for (size_t at = 0; at < count; at++)
            e->asks[at]->grant->asked_us = now_us;
        status = (marks ? links->dialect->try_marked : links->dialect->try)(*out, e->asks, count,
                                                                            e->got, err);
        if (status == HF_OK) {
            atomic_store(&(*out)->proof_us, now_us);
            break;
        }
        hf_link_leave(*out);
        *out = NULL;
        if (marks) /* they went with the link */
            hf_desk_due(&links->desk, ear_unmark, NULL);
        for (size_t at = 0; at < count; at++)
            e->asks[at]->marked = false;
    }
    return status;
}

/* Tries a batch of those that are due; false: none was. */
static bool ear_try(ear *e)
{
    hf_links *links = e->links;
    hf_link *link = NULL;
    hf_error err;
    hf_error_none(&err);
    bool marks = links->dialect->try_marked != NULL, soon = false;
    hf_status status =
        marks || hf_desk_waiting(&links->desk) == 0 ? HF_OK : ear_use(links, &link, &err);
    size_t count =
        hf_desk_pick(&links->desk, e->asks, link == NULL ? EAR_BATCH : ear_room(links, link));
    if (status == HF_OK && count > 0)
        status = ear_ask(e, count, &link, &err);
    for (size_t i = 0; i < count; i++) {
        bool got = status == HF_OK && e->got[i];
        soon = soon || (marks && status == HF_OK && !got && !e->asks[i]->marked);
        if (got) {
            hf_link_note(link, e->asks[i]->grant);
            hf_link_tell(link, e->asks[i]);
        }
        hf_desk_settle(&links->desk, e->asks[i],
                       status != HF_OK ? status
                       : got           ? HF_OK
                                       : HF_TIMEOUT,
                       &err);
    }
    if (link != NULL)
        hf_link_leave(link);
    if (soon)
        e->look_us = hf_seam.boot_us() + EAR_SOON_MS * EAR_MS_US;
    return count > 0;
}

static int64_t ear_period_us(const hf_links *links)
{
    int look_ms = links->dialect->look_ms;
    return look_ms > 0 ? look_ms * EAR_MS_US : links->pulse_us / EAR_LOOKS;
}

/* All that wait are tried now and then: whoever held the key may have died. */
static void ear_look(ear *e)
{
    int64_t began_us = hf_seam.boot_us(), period_us = ear_period_us(e->links);
    if (began_us >= e->look_us) {
        hf_desk_due(&e->links->desk, NULL, NULL);
        e->look_us = began_us + period_us;
    }
    while (ear_try(e))
        ;
    int64_t took_us = (hf_seam.boot_us() - began_us) * EAR_SHARE;
    if (took_us > period_us && e->look_us < began_us + took_us)
        e->look_us = began_us + took_us;
}

/* ---- the links ---- */

/* How long a link may go unasked: for a pulse while it holds something, else for as long as the
 * server surely bears with it. */
static int64_t ear_rest_us(const hf_link *link)
{
    return link->held > 0 ? link->links->pulse_us : hf_links_silence_us(link->links) / EAR_SIGNS;
}

/* Asks a link for a sign of life, if it needs one: it was not asked for too long, or was hung up
 * on. One that is used by another is left to that one. */
static void ear_ping(hf_link *link, bool hung_up)
{
    hf_links *links = link->links;
    int64_t now_us = hf_seam.boot_us();
    pthread_mutex_lock(&links->mutex);
    bool open = link->socket >= 0 && !link->used;
    bool pulse = now_us - link->pulsed_us >= ear_rest_us(link);
    bool idle = link->held == 0 && !link->ear && now_us - link->idle_us >= links->pool_idle_us;
    bool needed = open && (hung_up || idle || pulse);
    link->used = link->used || needed;
    if (needed)
        link->pulsed_us = now_us;
    pthread_mutex_unlock(&links->mutex);
    if (!needed)
        return;
    if (idle)
        atomic_store(&link->dead, true); /* it is closed when it is left */
    else if (links->dialect->ping(link, NULL) == HF_OK)
        atomic_store(&link->proof_us, now_us);
    hf_link_leave(link);
}

/* When something is to be done by itself, at the latest. */
static int ear_timeout(ear *e)
{
    hf_links *links = e->links;
    int64_t now_us = hf_seam.boot_us(), due_us = now_us + links->pool_idle_us;
    if (hf_desk_waiting(&links->desk) > 0 && e->look_us < due_us)
        due_us = e->look_us;
    pthread_mutex_lock(&links->mutex);
    for (size_t i = 0; i < links->count; i++) {
        hf_link *link = &links->all[i];
        if (link->socket < 0)
            continue;
        if (link->pulsed_us + ear_rest_us(link) < due_us)
            due_us = link->pulsed_us + ear_rest_us(link);
        if (link->used && now_us + links->pulse_us < due_us)
            due_us = now_us + links->pulse_us;
    }
    links->wakes_us = due_us;
    pthread_mutex_unlock(&links->mutex);
    if (due_us <= now_us) /* one that is due and used: not before it is given back */
        return EAR_SOON_MS;
    int64_t ms = (due_us - now_us) / EAR_MS_US + 1;
    return ms > EAR_NAP_MS ? EAR_NAP_MS : (int)ms;
}

static size_t ear_watch(ear *e, struct pollfd *out)
{
    hf_links *links = e->links;
    out[0] = (struct pollfd){.fd = links->desk.bell, .events = POLLIN};
    pthread_mutex_lock(&links->mutex);
    for (size_t i = 0; i < links->count; i++) {
        hf_link *link = &links->all[i];
        bool hears = link->ear && !link->used;
        /* One that was hung up on, and is used, would make the ear spin. */
        int fd = link->used && atomic_load(&link->dead) ? -1 : link->socket;
        out[i + 1] = (struct pollfd){.fd = fd, .events = (short)(POLLRDHUP | (hears ? POLLIN : 0))};
    }
    pthread_mutex_unlock(&links->mutex);
    return links->count + 1;
}

static void ear_hear(ear *e)
{
    hf_links *links = e->links;
    hf_link *link = &links->all[0];
    if (links->dialect->hear == NULL)
        return;
    hf_link_use(link);
    hf_status status = link->db == NULL ? HF_OK : links->dialect->hear(link, NULL);
    hf_link_leave(link);
    if (status != HF_OK) /* what it has marked is gone */
        hf_desk_due(&links->desk, ear_unmark, NULL);
}

void *hf_links_ear(void *context)
{
    ear e = {.links = context};
    hf_links *links = e.links;
    struct pollfd polled[HF_LEASE_POOL_MAX + 1];
    uint64_t rung;
    while (!hf_desk_ending(&links->desk)) {
        size_t count = ear_watch(&e, polled);
        poll(polled, count, ear_timeout(&e));
        ssize_t got = read(links->desk.bell, &rung, sizeof rung);
        (void)got;
        ear_hear(&e);
        for (size_t i = 0; i < links->count; i++)
            ear_ping(&links->all[i],
                     (polled[i + 1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
        ear_look(&e);
    }
    return NULL;
}
