/* SPDX-License-Identifier: MIT */
/* The reader. Its thread sleeps in poll(2) until there is something to do:
 *
 *   reading   at once after a full page; PACE_US after the last read when it was nudged or
 *             something was heard of, so that many commits are read together (on a database server
 *             each read numbers what it finds, which is a commit of its own); else after an
 *             interval that grows from POLL_MIN_US to poll_us while nothing happens; after a
 *             failure later and later
 *   telling   other servers that this one has committed something: TELL_US after the last time at
 *             the soonest
 *   hearing   where the store has a watch; when its connection is lost, again after a while.
 *             Polling goes on beside it
 *
 * A position is moved by what was read and by nothing else, so a failure leaves no gap. */
#include "server/feed/feed_reader.h"

#include "base/error.h"
#include "base/seams.h"

#include <holdfast/watch.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PACE_US        INT64_C(10000)
#define POLL_MIN_US    INT64_C(50000)
#define TELL_US        INT64_C(50000)
#define BACKOFF_US     INT64_C(100000)
#define BACKOFF_MAX_US INT64_C(2000000)
#define WATCH_AGAIN_US INT64_C(2000000)
#define NEVER          INT64_MAX
#define PIECES_MAX     8 /* that wait for the loop */

struct feed_reader {
    feed_reader_settings settings;
    hf_batch *batch;
    pthread_t thread;
    bool started;
    int kick; /* an eventfd */
    atomic_bool stopping, following;
    /* until what was nudged for has been done: whoever comes meanwhile needs not wake the thread
     * again */
    atomic_bool nudged;
    atomic_bool deaf;   /* the store can't tell */
    atomic_uint begun;  /* how often it was told to follow */
    atomic_size_t held; /* pieces that wait; changed with the mutex */

    pthread_mutex_t mutex; /* guards these: */
    feed_piece *first, *last;
    feed_reader_stats stats;

    /* The thread's own. */
    int64_t at; /* read up to here; -1: not known yet */
    unsigned begun_seen;
    bool resuming;    /* has not come to the end since it began */
    bool wants, more; /* to look soon; at once */
    bool tells;
    hf_watch *watch;
    int64_t read_us, interval_us, backoff_us, told_us, watch_us;
};

/* ---- what the loop takes ---- */

static void feed_reader_give(feed_reader *f, feed_piece *piece)
{
    piece->next = NULL;
    pthread_mutex_lock(&f->mutex);
    if (f->first == NULL)
        f->first = piece;
    else
        f->last->next = piece;
    f->last = piece;
    atomic_fetch_add(&f->held, 1);
    pthread_mutex_unlock(&f->mutex);
    f->settings.wake(f->settings.context);
}

const feed_piece *feed_reader_next(feed_reader *f)
{
    pthread_mutex_lock(&f->mutex);
    const feed_piece *piece = f->first;
    pthread_mutex_unlock(&f->mutex);
    return piece;
}

static void feed_reader_kick(feed_reader *f)
{
    eventfd_write(f->kick, 1);
}

feed_piece *feed_reader_take(feed_reader *f)
{
    pthread_mutex_lock(&f->mutex);
    feed_piece *piece = f->first;
    bool was_full = false;
    if (piece != NULL) {
        f->first = piece->next;
        was_full = atomic_fetch_sub(&f->held, 1) == PIECES_MAX;
    }
    pthread_mutex_unlock(&f->mutex);
    if (was_full)
        feed_reader_kick(f);
    return piece;
}

void feed_reader_stats_read(feed_reader *f, feed_reader_stats *out)
{
    pthread_mutex_lock(&f->mutex);
    *out = f->stats;
    pthread_mutex_unlock(&f->mutex);
}

void feed_reader_run(feed_reader *f, bool on)
{
    if (on)
        atomic_fetch_add(&f->begun, 1);
    atomic_store(&f->following, on);
    feed_reader_kick(f);
}

void feed_reader_nudge(feed_reader *f)
{
    if (!atomic_load(&f->following) && atomic_load(&f->deaf))
        return; /* nobody to read for, nobody to tell */
    if (!atomic_load(&f->nudged) && !atomic_exchange(&f->nudged, true))
        feed_reader_kick(f);
}

/* ---- reading ---- */

static void feed_reader_note_read(feed_reader *f, const feed_piece *piece)
{
    pthread_mutex_lock(&f->mutex);
    f->stats.reads++;
    if (piece == NULL)
        f->stats.failures++;
    else {
        f->stats.events += piece->count;
        f->stats.read_us = f->read_us;
    }
    pthread_mutex_unlock(&f->mutex);
}

static int64_t feed_reader_shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether what was read can't go on from where it was. */
static bool feed_reader_must_jump(const feed_reader *f, const feed_piece *piece)
{
    if (f->at < 0 || piece->last < f->at || feed_piece_misses(piece, f->at))
        return true;
    return f->resuming && piece->last - f->at > (int64_t)f->settings.keep;
}

static void feed_reader_jump(feed_reader *f, feed_piece *piece)
{
    piece->jump = true;
    piece->count = 0;
    f->at = piece->upto = piece->last;
    f->more = true;
    feed_reader_give(f, piece);
}

static void feed_reader_pass_on(feed_reader *f, feed_piece *piece)
{
    bool at_end = piece->count<FEED_PIECE_EVENTS, found = piece->count> 0;
    f->at = piece->upto;
    f->more = !at_end;
    f->interval_us = found ? feed_reader_shorter(POLL_MIN_US, f->settings.poll_us)
                           : feed_reader_shorter(2 * f->interval_us, f->settings.poll_us);
    if (found || (f->resuming && at_end))
        feed_reader_give(f, piece);
    else
        feed_piece_free(piece);
    f->resuming &= !at_end;
}

static void feed_reader_look(feed_reader *f)
{
    feed_piece *piece = NULL;
    atomic_store(&f->nudged, false);
    f->wants = f->more = false;
    hf_status status = feed_piece_read(f->settings.store, f->batch,
                                       f->at < 0 ? INT64_MAX - 1 : f->at, &piece, NULL);
    f->read_us = hf_seam.boot_us();
    feed_reader_note_read(f, piece);
    if (status != HF_OK) {
        f->backoff_us = f->backoff_us == 0 ? BACKOFF_US
                                           : feed_reader_shorter(2 * f->backoff_us, BACKOFF_MAX_US);
        return;
    }
    f->backoff_us = 0;
    if (feed_reader_must_jump(f, piece))
        feed_reader_jump(f, piece);
    else
        feed_reader_pass_on(f, piece);
}

/* ---- hearing and telling ---- */

static void feed_reader_set_watch(feed_reader *f, hf_watch *watch)
{
    f->watch = watch;
    pthread_mutex_lock(&f->mutex);
    f->stats.watching = watch != NULL;
    pthread_mutex_unlock(&f->mutex);
}

static void feed_reader_lose_watch(feed_reader *f)
{
    hf_watch_close(f->watch);
    feed_reader_set_watch(f, NULL);
    f->watch_us = hf_seam.boot_us() + WATCH_AGAIN_US;
    f->wants = true; /* what was said last is not known */
}

static void feed_reader_begin_watch(feed_reader *f)
{
    hf_watch *watch = NULL;
    hf_status status = hf_store_watch(f->settings.store, &watch, NULL);
    f->deaf = status == HF_NOT_FOUND;
    if (status != HF_OK) {
        f->watch_us = hf_seam.boot_us() + WATCH_AGAIN_US;
        return;
    }
    feed_reader_set_watch(f, watch);
    f->wants = true; /* what was said before it began is not known */
}

static bool feed_reader_may_watch(const feed_reader *f)
{
    return !f->deaf && f->watch == NULL && (atomic_load(&f->following) || f->tells);
}

static void feed_reader_hear(feed_reader *f)
{
    bool heard = false;
    if (feed_reader_may_watch(f) && hf_seam.boot_us() >= f->watch_us)
        feed_reader_begin_watch(f);
    if (f->watch != NULL && hf_watch_heard(f->watch, &heard, NULL) != HF_OK)
        feed_reader_lose_watch(f);
    f->wants |= heard;
}

static void feed_reader_tell(feed_reader *f)
{
    if (f->deaf)
        f->tells = false;
    if (!f->tells || f->watch == NULL || hf_seam.boot_us() < f->told_us + TELL_US)
        return;
    f->tells = false;
    if (!atomic_load(&f->following))
        atomic_store(&f->nudged, false);
    if (hf_watch_tell(f->watch, NULL) != HF_OK)
        feed_reader_lose_watch(f);
    f->told_us = hf_seam.boot_us();
    feed_reader_hear(f);
}

/* ---- the thread ---- */

static int64_t feed_reader_look_at_us(const feed_reader *f)
{
    if (!atomic_load(&f->following) || atomic_load(&f->held) >= PIECES_MAX)
        return NEVER;
    if (f->backoff_us > 0)
        return f->read_us + f->backoff_us;
    return f->more ? 0 : f->read_us + (f->wants ? PACE_US : f->interval_us);
}

static void feed_reader_sleep_until(feed_reader *f, int64_t us)
{
    struct pollfd fds[2] = {{.fd = f->kick, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    int64_t left_us = us == NEVER ? NEVER : us - hf_seam.boot_us();
    if (f->watch != NULL)
        fds[1].fd = hf_watch_fd(f->watch);
    int timeout = left_us == NEVER ? -1
                  : left_us <= 0   ? 0
                                   : (int)feed_reader_shorter((left_us + 999) / 1000, 60000);
    poll(fds, 2, timeout);
    eventfd_t kicks;
    if (fds[0].revents != 0)
        eventfd_read(f->kick, &kicks);
}

static int64_t feed_reader_wake_at_us(const feed_reader *f)
{
    int64_t us = feed_reader_look_at_us(f);
    if (f->tells && f->watch != NULL)
        us = feed_reader_shorter(us, f->told_us + TELL_US);
    if (feed_reader_may_watch(f))
        us = feed_reader_shorter(us, f->watch_us);
    return us;
}

static void feed_reader_take_orders(feed_reader *f)
{
    unsigned begun = atomic_load(&f->begun);
    if (atomic_load(&f->nudged))
        f->wants = f->tells = true;
    if (begun != f->begun_seen)
        f->resuming = f->wants = f->more = true;
    f->begun_seen = begun;
}

static void *feed_reader_follow(void *context)
{
    feed_reader *f = context;
    while (!atomic_load(&f->stopping)) {
        feed_reader_sleep_until(f, feed_reader_wake_at_us(f));
        feed_reader_take_orders(f);
        feed_reader_hear(f);
        feed_reader_tell(f);
        if (!atomic_load(&f->stopping) && hf_seam.boot_us() >= feed_reader_look_at_us(f))
            feed_reader_look(f);
    }
    return NULL;
}

/* ---- beginning and ending ---- */

hf_status feed_reader_new(const feed_reader_settings *settings, feed_reader **out, hf_error *err)
{
    feed_reader *f = hf_alloc(sizeof *f);
    if (f == NULL)
        return hf_fail_memory(err);
    f->settings = *settings;
    f->deaf = settings->poll_only;
    f->at = -1;
    f->interval_us = settings->poll_us;
    pthread_mutex_init(&f->mutex, NULL);
    f->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hf_status status = f->kick >= 0
                           ? hf_batch_new(1, &f->batch, err)
                           : hf_fail(err, HF_UNAVAILABLE, "The system gives no more descriptors.");
    if (status == HF_OK &&
        !(f->started = pthread_create(&f->thread, NULL, feed_reader_follow, f) == 0))
        status = hf_fail(err, HF_UNAVAILABLE, "The system can't start another thread.");
    if (status == HF_OK)
        *out = f;
    else
        feed_reader_free(f);
    return status;
}

void feed_reader_free(feed_reader *f)
{
    if (f == NULL)
        return;
    atomic_store(&f->stopping, true);
    if (f->started) {
        feed_reader_kick(f);
        pthread_join(f->thread, NULL);
    }
    for (feed_piece *piece; (piece = f->first) != NULL;) {
        f->first = piece->next;
        feed_piece_free(piece);
    }
    hf_watch_close(f->watch);
    if (f->kick >= 0)
        close(f->kick);
    hf_batch_free(f->batch);
    pthread_mutex_destroy(&f->mutex);
    hf_free(f);
}
