/* SPDX-License-Identifier: MIT */
/* Followers for the tests of the feed; see ears.h. */
#include "unit/server/ears.h"

#include <base/seams.h>
#include <holdfast/names.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US INT64_C(60000000)

int64_t hall_now(void)
{
    return hf_seam.boot_us();
}

static hf_store *ears_open_store(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

static void make_feeds(hall *h, size_t feeds, feed_settings settings)
{
    hf_error err = {0};
    h->count = feeds;
    for (size_t i = 0; i < feeds; i++) {
        settings.base = h->base;
        settings.store = h->stores[i];
        expect(HF_OK, feed_new(&settings, &h->feeds[i], &err), err);
    }
}

void hall_open(hall *h, const test_store *at, size_t feeds, feed_settings settings)
{
    *h = (hall){.at = at, .base = event_base_new()};
    expect_true(h->base != NULL);
    test_store_url(at, h->url);
    h->stores[0] = ears_open_store(h->url);
    for (size_t i = 1; i < feeds; i++)
        h->stores[i] = at->keeps ? ears_open_store(h->url) : h->stores[0];
    make_feeds(h, feeds, settings);
}

void hall_open_on(hall *h, hf_store *store, size_t feeds, feed_settings settings)
{
    *h = (hall){.base = event_base_new()};
    expect_true(h->base != NULL);
    for (size_t i = 0; i < feeds; i++)
        h->stores[i] = store;
    make_feeds(h, feeds, settings);
}

void hall_close(hall *h)
{
    for (size_t i = 0; i < h->count; i++)
        feed_free(h->feeds[i]);
    for (size_t i = 0; i < h->count; i++)
        if (i == 0 || h->stores[i] != h->stores[0])
            hf_store_close(h->stores[i]);
    event_base_free(h->base);
    if (h->at != NULL)
        test_store_discard(h->at, h->url);
}

static void ears_nothing(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    (void)context;
}

static void ears_loop_for(hall *h, int64_t us)
{
    struct timeval time = {us / 1000000, us % 1000000};
    expect_int(event_base_once(h->base, -1, EV_TIMEOUT, ears_nothing, NULL, &time), 0);
    expect_true(event_base_loop(h->base, EVLOOP_ONCE) >= 0);
}

void hall_turn(hall *h, int64_t began_us, const char *what, const char *file, int line)
{
    if (hall_now() - began_us > PATIENCE_US)
        check_failed(file, line, "%s did not come about", what);
    ears_loop_for(h, 5000);
}

void hall_run(hall *h, int64_t us)
{
    for (int64_t until_us = hall_now() + us; hall_now() < until_us;)
        ears_loop_for(h, 5000);
}

/* ---- the truth ---- */

static const hf_answer *ears_read_events(hf_store *store, hf_batch *batch, int64_t after)
{
    hf_error err = {0};
    hf_batch_clear(batch);
    hf_op *op = hf_batch_add(batch, HF_OP_EVENTS);
    op->after_seq = after;
    op->limit = HF_LIST_MAX;
    expect(HF_OK, hf_store_execute(store, batch, &err), err);
    expect_status(HF_OK, op->answer.status, op->answer.message);
    return &op->answer;
}

static hf_batch *batch_for(size_t ops)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(ops, &batch, &err), err);
    return batch;
}

int64_t *hall_truth(hall *h, int64_t after, size_t *count)
{
    hf_batch *batch = batch_for(1);
    int64_t *seqs = NULL;
    *count = 0;
    for (const hf_answer *answer;
         (answer = ears_read_events(h->stores[0], batch, after))->events_count > 0;) {
        seqs = realloc(seqs, (*count + answer->events_count) * sizeof *seqs);
        for (size_t i = 0; i < answer->events_count; i++)
            seqs[(*count)++] = after = answer->events[i].seq;
    }
    hf_batch_free(batch);
    return seqs;
}

int64_t hall_newest(hall *h)
{
    hf_batch *batch = batch_for(1);
    int64_t newest = ears_read_events(h->stores[0], batch, INT64_MAX - 1)->last_seq;
    for (int64_t again = -1; again != newest; again = newest)
        newest = ears_read_events(h->stores[0], batch, INT64_MAX - 1)->last_seq;
    hf_batch_free(batch);
    return newest;
}

/* ---- ears ---- */

static void ears_bad(const char *record, size_t size, const char *why)
{
    check_failed(__FILE__, __LINE__, "%s: \"%.*s\"", why, (int)size, record);
}

static int64_t number_after(const char *text, size_t size, const char *word)
{
    const char *at = memmem(text, size, word, strlen(word));
    return at == NULL ? -1 : strtoll(at + strlen(word), NULL, 10);
}

static void ears_take_event(ear *e, const char *record, size_t size, int64_t id)
{
    const char *data = memmem(record, size, "\ndata: ", 7);
    if (id <= e->floor)
        ears_bad(record, size, "an event came twice, or too late");
    if (data == NULL || number_after(data, size - (size_t)(data - record), "{\"seq\":") != id)
        ears_bad(record, size, "the data is not that of its id");
    if (e->count == e->room)
        e->seqs = realloc(e->seqs, (e->room = e->room * 2 + 64) * sizeof *e->seqs);
    e->seqs[e->count++] = e->floor = id;
    if (e->keeps) {
        free(e->data);
        e->data = strndup(data + 7, size - (size_t)(data + 7 - record) - 2);
    }
}

static void ears_take_resync(ear *e, const char *record, size_t size, int64_t id)
{
    e->newest = number_after(record, size, "\"newest\":");
    e->first = number_after(record, size, "\"first\":");
    e->last = number_after(record, size, "\"last\":");
    if (id != e->newest || e->first < 0 || e->last < 0)
        ears_bad(record, size, "a resync says where to go on");
    e->floor = e->newest;
    e->resyncs++;
}

static void take_record(ear *e, const char *record, size_t size)
{
    int64_t id = strncmp(record, "id: ", 4) == 0 ? strtoll(record + 4, NULL, 10) : -1;
    if (strncmp(record, ": beat\n", 7) == 0) {
        id = number_after(record, size, "\nid: ");
        e->beats++;
        if (id >= 0 && id < e->floor)
            ears_bad(record, size, "a beat goes back");
    } else if (id < 0)
        ears_bad(record, size, "a record has no id");
    else if (memmem(record, size, "\nevent: resync\n", 15) != NULL)
        ears_take_resync(e, record, size, id);
    else
        ears_take_event(e, record, size, id);
    if (id >= 0)
        e->id = id;
}

static void ear_write(void *context, const char *bytes, size_t size)
{
    ear *e = context;
    expect_true(!e->ended && e->follower != NULL);
    e->writes++;
    while (size > 0) {
        const char *end = memmem(bytes, size, "\n\n", 2);
        if (end == NULL)
            ears_bad(bytes, size, "not whole records");
        size_t record = (size_t)(end - bytes) + 2;
        take_record(e, bytes, record);
        e->waiting += e->holds ? record : 0;
        bytes += record;
        size -= record;
    }
    if (e->waiting > e->waiting_max)
        e->waiting_max = e->waiting;
    if (e->leave_at > 0 && e->count >= e->leave_at)
        ear_leave(e);
}

static size_t ear_waiting(void *context)
{
    return ((ear *)context)->waiting;
}

static void ear_end(void *context)
{
    ear *e = context;
    e->ended = true;
    e->follower = NULL;
}

void ear_listen(ear *e, feed *f, const feed_filter *filter, int64_t after)
{
    hf_error err = {0};
    feed_sink sink = {.write = ear_write, .waiting = ear_waiting, .end = ear_end, .context = e};
    e->feed = f;
    e->ended = false;
    e->waiting = 0;
    e->leave_at = 0;
    if (e->count == 0)
        e->floor = e->id = after;
    expect(HF_OK, feed_follow(f, filter, after, &sink, &e->follower, &err), err);
}

void ear_leave(ear *e)
{
    if (e->follower != NULL)
        feed_leave(e->follower);
    e->follower = NULL;
}

void ear_drain(ear *e)
{
    e->waiting = 0;
    if (e->follower != NULL)
        feed_drained(e->follower);
}

void ear_free(ear *e)
{
    ear_leave(e);
    free(e->seqs);
    free(e->data);
}

void ear_got(hall *h, const ear *e, int64_t after, const char *file, int line)
{
    size_t count;
    int64_t *truth = hall_truth(h, after, &count);
    for (size_t i = 0; i < count && i < e->count; i++)
        if (truth[i] != e->seqs[i])
            check_failed(file, line, "event %zu is %" PRId64 ", not %" PRId64, i, e->seqs[i],
                         truth[i]);
    if (count != e->count)
        check_failed(file, line, "%zu events came of %zu", e->count, count);
    free(truth);
}

/* ---- people ---- */

static bool ears_execute(hf_store *store, hf_batch *batch)
{
    hf_error err = {0};
    hf_status status = hf_store_execute(store, batch, &err);
    if (status != HF_OK && status != HF_BUSY && status != HF_RETRY)
        check_failed(__FILE__, __LINE__, "%s: %s", hf_status_wire(status), err.message);
    return status == HF_OK;
}

hf_credentials person_on(hf_store *store, const char *user)
{
    hf_credentials who;
    hf_error err = {0};
    hf_batch *batch = batch_for(1);
    expect(HF_OK, hf_credentials_new(NULL, &who, &err), err);
    hf_op *op = hf_batch_add(batch, HF_OP_SESSION_OPEN);
    op->session = &who;
    op->user = user;
    ears_execute(store, batch);
    expect_status(HF_OK, op->answer.status, op->answer.message);
    hf_batch_free(batch);
    return who;
}

static void add_acquire(hf_batch *batch, const hf_credentials *who, const char *type,
                        const char *id)
{
    *hf_batch_add(batch, HF_OP_ACQUIRE) = (hf_op){.kind = HF_OP_ACQUIRE,
                                                  .session = who,
                                                  .type = type,
                                                  .id = id,
                                                  .purpose = "a \"quoted\"\\ purpose"};
}

static void add_release(hf_batch *batch, const hf_credentials *who, const char *type,
                        const char *id)
{
    *hf_batch_add(batch, HF_OP_RELEASE) =
        (hf_op){.kind = HF_OP_RELEASE, .session = who, .type = type, .id = id};
}

static void add_pair(hf_batch *batch, const hf_credentials *who, const char *type, const char *id)
{
    add_acquire(batch, who, type, id);
    add_release(batch, who, type, id);
}

void work_on(hf_store *store, const hf_credentials *who, const char *type, const char *id)
{
    hf_batch *batch = batch_for(2);
    add_pair(batch, who, type, id);
    ears_execute(store, batch);
    hf_batch_free(batch);
}

enum { PAIRS_MAX = 250, ASKED_MAX = 20 };

/* What is still to be done of one resource. */
typedef struct pair {
    bool take, give;
} pair;

/* A server that is merely slow makes some busy; what could not be taken can't be given back. */
static bool is_left(const hf_answer *got, bool not_taken)
{
    if (got->status != HF_BUSY && !(got->status == HF_NOT_HELD && not_taken))
        expect_status(HF_OK, got->status, got->message);
    return got->status != HF_OK;
}

/* Asks for all that is left, in one batch; how many ops are left then. */
static size_t ask_for_pairs(hf_store *store, const hf_credentials *who, pair *pairs, size_t count)
{
    char ids[PAIRS_MAX][24];
    size_t at = 0, left = 0;
    hf_batch *batch = batch_for(2 * count);
    for (size_t i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "%zu", i);
        if (pairs[i].take)
            add_acquire(batch, who, "policy", ids[i]);
        if (pairs[i].give)
            add_release(batch, who, "policy", ids[i]);
    }
    bool done = ears_execute(store, batch);
    for (size_t i = 0; i < count; i++) {
        if (done && pairs[i].take)
            pairs[i].take = is_left(&hf_batch_op(batch, at++)->answer, false);
        if (done && pairs[i].give)
            pairs[i].give = is_left(&hf_batch_op(batch, at++)->answer, pairs[i].take);
        left += pairs[i].take + pairs[i].give;
    }
    hf_batch_free(batch);
    return left;
}

void make_events(hf_store *store, const hf_credentials *who, size_t count)
{
    for (size_t rest = count / 2; rest > 0;) {
        pair pairs[PAIRS_MAX];
        size_t some = rest < PAIRS_MAX ? rest : PAIRS_MAX, left = some;
        for (size_t i = 0; i < some; i++)
            pairs[i] = (pair){true, true};
        for (int asked = 0; asked < ASKED_MAX && left > 0; asked++)
            left = ask_for_pairs(store, who, pairs, some);
        expect_int(left, 0);
        rest -= some;
    }
}

static void *keep_busy(void *context)
{
    static const char *const types[] = {"policy", "claim"}, *const users[] = {"alice", "bob",
                                                                              "carol"};
    busy *b = context;
    hf_credentials who = person_on(b->store, users[b->seed % 3]);
    for (int i = 0; b->batches == 0 ? !atomic_load(&b->done) : i < b->batches; i++) {
        char ids[4][16];
        hf_batch *batch = batch_for(8);
        size_t pairs = 1 + (size_t)rand_r(&b->seed) % 4;
        for (size_t k = 0; k < pairs; k++) {
            snprintf(ids[k], sizeof ids[k], "%d", rand_r(&b->seed) % 50);
            add_pair(batch, &who, types[rand_r(&b->seed) % 2], ids[k]);
        }
        ears_execute(b->store, batch);
        hf_batch_free(batch);
        if (rand_r(&b->seed) % 2 == 0)
            feed_nudge(b->hall->feeds[(size_t)rand_r(&b->seed) % b->hall->count]);
        if (rand_r(&b->seed) % 20 == 0)
            who = person_on(b->store, users[rand_r(&b->seed) % 3]);
        if (b->batches == 0)
            usleep(500);
    }
    atomic_store(&b->done, true);
    return NULL;
}

void busy_start(busy *b, hall *h, unsigned seed, int batches)
{
    *b = (busy){.hall = h, .seed = seed, .batches = batches};
    b->store = h->at != NULL && h->at->keeps ? ears_open_store(h->url) : h->stores[0];
    expect_int(pthread_create(&b->thread, NULL, keep_busy, b), 0);
}

void busy_join(busy *b)
{
    if (b->batches == 0)
        atomic_store(&b->done, true);
    pthread_join(b->thread, NULL);
    if (b->store != b->hall->stores[0])
        hf_store_close(b->store);
}
