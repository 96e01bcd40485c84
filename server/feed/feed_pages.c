/* SPDX-License-Identifier: MIT */
/* Pages. The thread has one order at a time; the pages kept are the loop's alone. */
#include "server/feed/feed_pages.h"

#include "base/error.h"
#include "base/seams.h"

#include <pthread.h>
#include <time.h>

#define PAGES          16
#define BACKOFF_MS     100
#define BACKOFF_MAX_MS 2000

struct feed_pages {
    hf_store *store;
    hf_batch *batch;
    void (*wake)(void *context);
    void *context;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex; /* guards these: */
    pthread_cond_t changed;
    bool stopping, ordered;
    int64_t order;    /* to be read from here on */
    feed_piece *done; /* read, and not taken yet */
    feed_pages_stats stats;

    /* The loop's own. */
    bool reading;
    bool looked; /* for a page, since the last rest */
    uint64_t asked;
    feed_piece *kept[PAGES];
    uint64_t numbers[PAGES]; /* of the order of each */
    unsigned next;           /* the place that is used next */
};

/* ---- the thread ---- */

/* With the mutex. */
static void feed_pages_pause_for(feed_pages *p, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    int code = 0;
    while (!p->stopping && code == 0)
        code = pthread_cond_timedwait(&p->changed, &p->mutex, &until);
}

/* With the mutex, which it lets go while it reads. */
static void feed_pages_carry_out(feed_pages *p)
{
    feed_piece *piece = NULL;
    for (int ms = BACKOFF_MS; !p->stopping && piece == NULL;
         ms = ms < BACKOFF_MAX_MS ? 2 * ms : BACKOFF_MAX_MS) {
        int64_t order = p->order;
        pthread_mutex_unlock(&p->mutex);
        hf_status status = feed_piece_read(p->store, p->batch, order, &piece, NULL);
        pthread_mutex_lock(&p->mutex);
        p->stats.reads++;
        if (status == HF_OK)
            continue;
        p->stats.failures++;
        feed_pages_pause_for(p, ms);
    }
    p->ordered = false;
    p->done = piece;
}

static void *feed_pages_read_pages(void *context)
{
    feed_pages *p = context;
    pthread_mutex_lock(&p->mutex);
    while (!p->stopping) {
        if (!p->ordered) {
            pthread_cond_wait(&p->changed, &p->mutex);
            continue;
        }
        feed_pages_carry_out(p);
        pthread_mutex_unlock(&p->mutex);
        p->wake(p->context);
        pthread_mutex_lock(&p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- the loop ---- */

uint64_t feed_pages_asked(const feed_pages *p)
{
    return p->asked;
}

/* Numbers of events differ, so a full page that begins at the same multiple goes beyond the one
 * asked for. */
static bool feed_pages_answers(const feed_piece *page, uint64_t number, int64_t after,
                               uint64_t since)
{
    if (page == NULL || after < page->after)
        return false;
    return after < page->upto || (page->count < FEED_PIECE_EVENTS && number > since);
}

const feed_piece *feed_pages_find(feed_pages *p, int64_t after, uint64_t since)
{
    p->looked = true;
    for (unsigned i = 1; i <= PAGES; i++) { /* the newest first */
        unsigned at = (p->next + PAGES - i) % PAGES;
        if (feed_pages_answers(p->kept[at], p->numbers[at], after, since))
            return p->kept[at];
    }
    return NULL;
}

void feed_pages_ask(feed_pages *p, int64_t after)
{
    if (p->reading)
        return;
    p->reading = true;
    p->asked++;
    pthread_mutex_lock(&p->mutex);
    p->order = after - after % FEED_PIECE_EVENTS;
    p->ordered = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}

bool feed_pages_take(feed_pages *p)
{
    pthread_mutex_lock(&p->mutex);
    feed_piece *done = p->done;
    p->done = NULL;
    pthread_mutex_unlock(&p->mutex);
    if (done == NULL)
        return false;
    p->reading = false;
    feed_piece_free(p->kept[p->next]);
    p->kept[p->next] = done;
    p->numbers[p->next] = p->asked;
    p->next = (p->next + 1) % PAGES;
    return true;
}

void feed_pages_forget(feed_pages *p)
{
    for (unsigned i = 0; i < PAGES; i++) {
        feed_piece_free(p->kept[i]);
        p->kept[i] = NULL;
    }
}

void feed_pages_rest(feed_pages *p)
{
    if (!p->looked)
        feed_pages_forget(p);
    p->looked = false;
}

void feed_pages_stats_read(feed_pages *p, feed_pages_stats *out)
{
    pthread_mutex_lock(&p->mutex);
    *out = p->stats;
    pthread_mutex_unlock(&p->mutex);
}

/* ---- beginning and ending ---- */

hf_status feed_pages_new(hf_store *store, void (*wake)(void *context), void *context,
                         feed_pages **out, hf_error *err)
{
    feed_pages *p = hf_alloc(sizeof *p);
    pthread_condattr_t monotonic;
    if (p == NULL)
        return hf_fail_memory(err);
    p->store = store;
    p->wake = wake;
    p->context = context;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    hf_status status = hf_batch_new(1, &p->batch, err);
    if (status == HF_OK &&
        !(p->started = pthread_create(&p->thread, NULL, feed_pages_read_pages, p) == 0))
        status = hf_fail(err, HF_UNAVAILABLE, "The system can't start another thread.");
    if (status == HF_OK)
        *out = p;
    else
        feed_pages_free(p);
    return status;
}

void feed_pages_free(feed_pages *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    p->stopping = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    if (p->started)
        pthread_join(p->thread, NULL);
    feed_pages_forget(p);
    feed_piece_free(p->done);
    hf_batch_free(p->batch);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    hf_free(p);
}
