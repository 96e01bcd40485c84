/* SPDX-License-Identifier: MIT */
/* Jobs that are submitted in one turn of the loop are begun at its end, so that they share a batch:
 * on an idle committer the first would else go alone, and the others wait for its sync. Finished
 * jobs wait in a list; an eventfd wakes the loop when the first is added. */
#include "server/commit/jobs.h"

#include "base/error.h"
#include "base/seams.h"

#include <assert.h>
#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- the list of finished jobs ---- */

/* The mutex is held for a few instructions. The wake is sent after it was released, so that the
 * loop does not run into it. */

void completions_init(completions *queue, void (*wake)(void *context), void *context)
{
    *queue = (completions){.wake = wake, .context = context};
    pthread_mutex_init(&queue->mutex, NULL);
}

void completions_done(completions *queue)
{
    assert(queue->first == NULL);
    pthread_mutex_destroy(&queue->mutex);
}

void completions_add(completions *queue, committer_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&queue->mutex);
    bool was_empty = queue->first == NULL;
    if (was_empty)
        queue->first = job;
    else
        queue->last->next = job;
    queue->last = job;
    pthread_mutex_unlock(&queue->mutex);
    if (was_empty)
        queue->wake(queue->context);
}

committer_job *completions_take(completions *queue)
{
    pthread_mutex_lock(&queue->mutex);
    committer_job *done = queue->first;
    queue->first = queue->last = NULL;
    pthread_mutex_unlock(&queue->mutex);
    return done;
}

/* ---- jobs ---- */

struct jobs {
    committer *committer;
    completions done;
    size_t under_way;
    void (*look)(void *context, const committer_job *job); /* or NULL */
    void *looking;
    int wake;
    struct event *woken;
    struct event *turn_ends;
    bool queued; /* something, in this turn */
};

static void jobs_wake(void *context)
{
    const jobs *all = context;
    uint64_t one = 1;
    ssize_t written = write(all->wake, &one, sizeof one);
    (void)written; /* it can only be full: then the loop has been woken already */
}

static void jobs_pass_on(committer_job *job)
{
    loop_job *it = job->context;
    completions_add(&it->of->done, job);
}

static void jobs_on_turn_end(evutil_socket_t fd, short what, void *context)
{
    jobs *all = context;
    (void)fd, (void)what;
    all->queued = false;
    committer_wake(all->committer);
}

void jobs_drain(jobs *all)
{
    committer_job *next;
    for (committer_job *job = completions_take(&all->done); job != NULL; job = next) {
        loop_job *it = job->context;
        next = job->next;
        all->under_way--;
        if (all->look != NULL)
            all->look(all->looking, job);
        it->finish(it);
    }
}

static void jobs_on_wake(evutil_socket_t fd, short what, void *context)
{
    uint64_t times;
    ssize_t got = read(fd, &times, sizeof times);
    (void)got;
    (void)what;
    jobs_drain(context);
}

hf_status jobs_new(struct event_base *base, committer *c, jobs **out, hf_error *err)
{
    jobs *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    all->committer = c;
    completions_init(&all->done, jobs_wake, all);
    all->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    all->woken =
        all->wake < 0 ? NULL : event_new(base, all->wake, EV_READ | EV_PERSIST, jobs_on_wake, all);
    all->turn_ends = event_new(base, -1, 0, jobs_on_turn_end, all);
    if (all->turn_ends == NULL || all->woken == NULL || event_add(all->woken, NULL) != 0) {
        jobs_free(all);
        return hf_fail(err, HF_INTERNAL,
                       "The loop can't be woken: no eventfd or event is to be had.");
    }
    *out = all;
    return HF_OK;
}

hf_status jobs_submit(jobs *all, loop_job *job, hf_error *err)
{
    job->of = all;
    job->job.done = jobs_pass_on;
    job->job.context = job;
    hf_status status = committer_queue(all->committer, &job->job, err);
    if (status != HF_OK)
        return status;
    all->under_way++;
    if (!all->queued) /* it comes after the events that are active already */
        event_active(all->turn_ends, 0, 0);
    all->queued = true;
    return HF_OK;
}

void jobs_observe(jobs *all, void (*look)(void *context, const committer_job *job), void *context)
{
    all->look = look;
    all->looking = context;
}

const char *jobs_told(hf_status status)
{
    switch (status) {
    case HF_UNAVAILABLE:
        return "The store can't be used; nothing was done. The server's log says why.";
    case HF_UNSURE:
        return "The store did not say whether it was done; ask again with the same request id.";
    case HF_BUSY:
        return "Others are in the middle of a change; try again.";
    case HF_RETRY:
        return "Another change got in between; ask again.";
    case HF_INTERNAL:
        return "The store failed; nothing was done. The server's log says why.";
    default:
        return hf_status_sentence(status);
    }
}

void jobs_release(loop_job *job)
{
    committer_release(job->of->committer, &job->job);
}

size_t jobs_under_way(const jobs *all)
{
    return all->under_way;
}

void jobs_free(jobs *all)
{
    if (all == NULL)
        return;
    assert(all->under_way == 0);
    if (all->woken != NULL)
        event_free(all->woken);
    if (all->turn_ends != NULL)
        event_free(all->turn_ends);
    if (all->wake >= 0)
        close(all->wake);
    completions_done(&all->done);
    hf_free(all);
}
