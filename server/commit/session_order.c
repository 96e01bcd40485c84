/* SPDX-License-Identifier: MIT */
/* Each session with unanswered jobs has a chain of links, one for each job that names it, in the
 * order of submission. Links are part of the jobs, so only jobs that name many sessions allocate.
 * All links of a job are entered in one step: a job only waits for earlier ones, so there is no
 * deadlock. */
#include "server/commit/session_order.h"

#include "base/hash.h"
#include "base/seams.h"

#include <assert.h>
#include <string.h>

/* ---- queues ---- */

void job_list_add(job_list *list, committer_job *job)
{
    job->next = NULL;
    if (list->last == NULL)
        list->first = job;
    else
        list->last->next = job;
    list->last = job;
}

committer_job *job_list_take(job_list *list)
{
    committer_job *job = list->first;
    if (job == NULL)
        return NULL;
    list->first = job->next;
    if (list->first == NULL)
        list->last = NULL;
    job->next = NULL;
    return job;
}

void job_list_prepend(job_list *list, job_list *front)
{
    if (front->first == NULL)
        return;
    front->last->next = list->first;
    if (list->last == NULL)
        list->last = front->last;
    list->first = front->first;
    *front = (job_list){NULL, NULL};
}

/* ---- the sessions of a job ---- */

uint64_t session_order_hash(uint64_t seed, const char *text, size_t max)
{
    return hf_hash_bytes(seed, text, strnlen(text, max));
}

static void session_order_add_link(const session_order *t, committer_job *job,
                                   const hf_credentials *session)
{
    if (session == NULL ||
        (job->links_count > 0 && job->links[job->links_count - 1].session == session->id))
        return; /* named by the op before: a job is mostly one session's */
    job->links[job->links_count++] =
        (committer_link){.job = job,
                         .session = session->id,
                         .hash = session_order_hash(t->seed, session->id, sizeof session->id)};
}

/* How many links there will be at most. */
static size_t session_order_count_links(const committer_job *job)
{
    size_t count = 0;
    const hf_credentials *before = NULL;
    for (size_t i = 0; i < job->count; i++) {
        const hf_op *op = &job->ops[i];
        count += (op->session != NULL && op->session != before) + (op->replaces != NULL);
        before = op->replaces != NULL ? NULL : op->session != NULL ? op->session : before;
    }
    return count;
}

bool session_order_prepare(const session_order *t, committer_job *job)
{
    size_t room = session_order_count_links(job);
    job->links_count = 0;
    job->links = job->own_links;
    if (room > COMMITTER_OWN_LINKS && (job->links = hf_alloc(room * sizeof *job->links)) == NULL)
        return false;
    for (size_t i = 0; i < job->count; i++) {
        session_order_add_link(t, job, job->ops[i].session);
        session_order_add_link(t, job, job->ops[i].replaces);
    }
    return true;
}

void session_order_forget(committer_job *job)
{
    if (job->links != job->own_links)
        hf_free(job->links);
    job->links = NULL;
    job->links_count = 0;
}

/* ---- the chains ---- */

/* Where the first link of that session hangs; it points to NULL when the session has none. */
static committer_link **session_order_find(const session_order *t, const committer_link *link)
{
    committer_link **at = (committer_link **)&t->buckets[link->hash % SESSION_ORDER_BUCKETS];
    while (*at != NULL && ((*at)->hash != link->hash ||
                           strncmp((*at)->session, link->session, HF_SESSION_ID_SIZE) != 0))
        at = &(*at)->next_bucket;
    return at;
}

bool session_order_before(const session_order *t, const committer_job *job, unsigned *executor)
{
    const committer_link *first =
        job->links_count == 0 ? NULL : *session_order_find(t, &job->links[0]);
    if (first == NULL)
        return false;
    *executor = first->last->job->executor;
    return true;
}

bool session_order_enter(session_order *t, committer_job *job)
{
    job->waits = 0;
    for (size_t i = 0; i < job->links_count; i++) {
        committer_link *link = &job->links[i], **at = session_order_find(t, link), *first = *at;
        link->turn = true;
        if (first == NULL) {
            link->last = link;
            *at = link;
            continue;
        }
        const committer_job *before = first->last->job;
        link->turn = before == job || (before->taken && before->executor == job->executor);
        job->waits += !link->turn;
        first->last->next = link;
        first->last = link;
    }
    return job->waits == 0;
}

static void session_order_give_turn(committer_link *link, job_list *ready)
{
    if (link->turn)
        return;
    link->turn = true;
    if (--link->job->waits == 0)
        job_list_add(ready, link->job);
}

void session_order_taken(committer_job *job, job_list *ready)
{
    job->taken = true;
    for (size_t i = 0; i < job->links_count; i++) {
        committer_link *next = job->links[i].next;
        if (next != NULL && next->job != job && next->job->executor == job->executor)
            session_order_give_turn(next, ready);
    }
}

void session_order_answered(session_order *t, committer_job *job, job_list *ready)
{
    for (size_t i = 0; i < job->links_count; i++) {
        committer_link *link = &job->links[i], **at = session_order_find(t, link),
                       *next = link->next;
        assert(*at == link); /* within a session jobs are answered in their order */
        *at = next == NULL ? link->next_bucket : next;
        if (next == NULL)
            continue;
        next->next_bucket = link->next_bucket;
        next->last = link->last;
        if (next->job != job)
            session_order_give_turn(next, ready);
    }
    session_order_forget(job);
}
