/* SPDX-License-Identifier: MIT */
/* The feed: every follower gets every event it wants, in order and once, whatever happens to it,
 * to the store, or to others. L1 to L6 stand in server/feed/feed.h. Made for the thread
 * sanitizer too. */
#include "unit/server/ears.h"

#include <base/seams.h>
#include <holdfast/json.h>
#include <inttypes.h>
#include <lock/batch.h>
#include <server/feed/feed_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/watches.h>

static void on_every_place(void (*test)(const test_store *at))
{
    size_t count;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count; i++)
        test(&all[i]);
}

#define ON_EVERY_PLACE(name)                                                                       \
    static void name##_at(const test_store *at);                                                   \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        on_every_place(name##_at);                                                                 \
    }                                                                                              \
    static void name##_at(const test_store *at)

static feed_stats feed_stats_of(feed *f)
{
    feed_stats stats;
    feed_stats_read(f, &stats);
    return stats;
}

/* ---- no gap, no duplicate, no other order ---- */

ON_EVERY_PLACE(everyone_gets_every_event_in_order_from_both_servers)
{
    enum { WRITERS = 3, EARS = 8 };
    hall h;
    busy writers[WRITERS];
    ear ears[EARS] = {0};
    hall_open(&h, at, 2, (feed_settings){.poll_us = 50000});
    for (int i = 0; i < EARS; i++)
        ear_listen(&ears[i], h.feeds[i % 2], NULL, i < 2 ? -1 : 0);
    hall_until(&h, ears[0].beats > 0 && ears[1].beats > 0); /* from where on they listen is known */
    for (unsigned i = 0; i < WRITERS; i++)
        busy_start(&writers[i], &h, i + 1, 60);
    for (int i = 0; i < WRITERS; i++) {
        hall_until(&h, atomic_load(&writers[i].done));
        busy_join(&writers[i]);
    }
    int64_t newest = hall_newest(&h);
    for (int i = 0; i < EARS; i++) {
        hall_until(&h, ears[i].floor >= newest);
        ear_got_all(&h, &ears[i], 0);
        expect_int(ears[i].resyncs, 0);
    }
    for (int i = 0; i < 2; i++) {
        expect_int(feed_stats_of(h.feeds[i]).newest, newest);
        hall_until(&h, feed_stats_of(h.feeds[i]).delivered == newest);
        expect_int(feed_stats_of(h.feeds[i]).followers, EARS / 2);
        expect_int(feed_stats_of(h.feeds[i]).replaying, 0);
    }
    for (int i = 0; i < EARS; i++)
        ear_free(&ears[i]);
    hall_close(&h);
}

/* They leave after a few events, some in the middle of a write, and come back to either server with
 * the last id they saw. */
ON_EVERY_PLACE(who_reconnects_misses_nothing)
{
    enum { WRITERS = 2, EARS = 6 };
    hall h;
    busy writers[WRITERS];
    ear ears[EARS] = {0};
    unsigned seed = 7, reconnects = 0;
    hall_open(&h, at, 2, (feed_settings){.poll_us = 20000, .keep = 64});
    for (int i = 0; i < EARS; i++)
        ear_listen(&ears[i], h.feeds[i % 2], NULL, 0);
    for (unsigned i = 0; i < WRITERS; i++)
        busy_start(&writers[i], &h, i + 11, 0);
    while (reconnects < 20 * EARS) {
        hall_run(&h, 2000);
        for (int i = 0; i < EARS; i++) {
            if (ears[i].follower != NULL && rand_r(&seed) % 3 == 0)
                ear_leave(&ears[i]);
            if (ears[i].follower == NULL && rand_r(&seed) % 2 == 0) {
                ear_listen(&ears[i], h.feeds[(size_t)rand_r(&seed) % 2], NULL,
                           ears[i].id < 0 ? 0 : ears[i].id);
                ears[i].leave_at = ears[i].count + 1 + (size_t)rand_r(&seed) % 300;
                reconnects++;
            }
        }
    }
    for (int i = 0; i < WRITERS; i++)
        busy_join(&writers[i]);
    int64_t newest = hall_newest(&h);
    for (int i = 0; i < EARS; i++) {
        ear_leave(&ears[i]);
        ear_listen(&ears[i], h.feeds[0], NULL, ears[i].id < 0 ? 0 : ears[i].id);
        hall_until(&h, ears[i].floor >= newest);
        ear_got_all(&h, &ears[i], 0);
        expect_int(ears[i].resyncs, 0);
        ear_free(&ears[i]);
    }
    hall_close(&h);
}

ON_EVERY_PLACE(a_follower_may_begin_anywhere)
{
    enum { EVENTS = 1500, EARS = 40 };
    hall h;
    ear ears[EARS] = {0};
    unsigned seed = 3;
    hall_open(&h, at, 2, (feed_settings){.poll_us = 20000, .keep = 200});
    hf_credentials alice = person_on(h.stores[0], "alice");
    make_events(h.stores[0], &alice, EVENTS);
    ear first = {0};
    ear_listen(&first, h.feeds[0], NULL, -1);
    hall_until(&h, first.beats > 0);
    make_events(h.stores[0], &alice, 400);
    int64_t newest = hall_newest(&h), from[EARS];
    for (int i = 0; i < EARS; i++) {
        from[i] = i == 0 ? newest : rand_r(&seed) % (newest + 1);
        ear_listen(&ears[i], h.feeds[i % 2], NULL, from[i]);
    }
    for (int i = 0; i < EARS; i++) {
        hall_until(&h, ears[i].floor >= newest);
        ear_got_all(&h, &ears[i], from[i]);
        expect_int(ears[i].resyncs, 0);
        ear_free(&ears[i]);
    }
    hall_until(&h, first.floor >= newest);
    expect_int(first.count, 400);
    ear_free(&first);
    hall_close(&h);
}

/* Another server was faster: the follower has seen what this one has not read yet. */
ON_EVERY_PLACE(who_knows_more_than_the_server_waits_for_it)
{
    hall h;
    ear one = {0}, other = {0};
    hall_open(&h, at, 2, (feed_settings){.poll_us = 3600000000, .poll_only = true});
    hf_credentials alice = person_on(h.stores[0], "alice");
    ear_listen(&one, h.feeds[0], NULL, 0);
    ear_listen(&other, h.feeds[1], NULL, 0);
    hall_until(&h, one.count == 1 && other.count == 1);
    make_events(h.stores[0], &alice, 10);
    feed_nudge(h.feeds[0]);
    hall_until(&h, one.count == 11);
    ear_leave(&one);
    ear_listen(&one, h.feeds[1], NULL, one.id);
    hall_until(&h,
               feed_stats_of(h.feeds[1]).replays > 0 && feed_stats_of(h.feeds[1]).replaying == 0);
    expect_int(feed_stats_of(h.feeds[1]).newest, 1);
    make_events(h.stores[0], &alice, 10);
    feed_nudge(h.feeds[1]);
    hall_until(&h, one.count == 21 && other.count == 21);
    ear_got_all(&h, &one, 0);
    ear_got_all(&h, &other, 0);
    expect_int(one.resyncs, 0);
    ear_free(&one);
    ear_free(&other);
    hall_close(&h);
}

static hall feed_open_memory(feed_settings settings)
{
    static test_store memory;
    hall h;
    memory = test_store_memory();
    hall_open(&h, &memory, 1, settings);
    return h;
}

static void many_listen_at_once(void **state)
{
    (void)state;
    enum { EARS = 1000, EVENTS = 300 };
    static ear ears[EARS];
    hall h = feed_open_memory((feed_settings){.poll_us = 50000});
    memset(ears, 0, sizeof ears);
    hf_credentials alice = person_on(h.stores[0], "alice");
    make_events(h.stores[0], &alice, EVENTS / 2);
    for (int i = 0; i < EARS; i++)
        ear_listen(&ears[i], h.feeds[0], NULL, i % (EVENTS / 2));
    make_events(h.stores[0], &alice, EVENTS / 2);
    feed_nudge(h.feeds[0]);
    int64_t newest = hall_newest(&h);
    for (int i = 0; i < EARS; i++)
        hall_until(&h, ears[i].floor >= newest);
    for (int i = 0; i < EARS; i++) {
        expect_int(ears[i].count, newest - i % (EVENTS / 2));
        expect_int(ears[i].resyncs, 0);
        ear_free(&ears[i]);
    }
    expect_true(feed_stats_of(h.feeds[0]).replays < 20); /* shared by all */
    hall_close(&h);
}

/* ---- what is sent ---- */

static void an_event_is_sent_as_its_json(void **state)
{
    (void)state;
    ear e = {.keeps = true};
    hall h = feed_open_memory((feed_settings){0});
    hf_credentials alice = person_on(h.stores[0], "alice \"the quoted\" \\");
    ear_listen(&e, h.feeds[0], NULL, 0);
    hall_until(&h, e.count == 1);
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_op *op = hf_batch_add(batch, HF_OP_EVENTS);
    expect(HF_OK, hf_store_execute(h.stores[0], batch, &err), err);
    char *json = hf_event_json(&op->answer.events[0]);
    expect_text(e.data, json);
    hf_json_free(json);
    hf_batch_free(batch);
    (void)alice;
    ear_free(&e);
    hall_close(&h);
}

static bool even_only(void *context, const hf_event *event)
{
    ++*(size_t *)context;
    return event->seq % 2 == 0;
}

ON_EVERY_PLACE(filters_let_through_what_is_wanted)
{
    hall h;
    size_t asked = 0;
    const hf_resource seven = {.type = "policy", .id = "7"};
    const hf_resource three[] = {{"policy", "7"}, {"claim", "8"}, {"x", "y"}};
    const feed_filter filters[] = {
        {.type = "policy"},
        {.resources = &seven, .resources_count = 1},
        {.resources = three, .resources_count = 3},
        {.resources = three, .resources_count = 3, .user = "bob"},
        {.user = "bob"},
        {.type = "claim", .user = "alice"},
        {.may_see = even_only, .context = &asked},
        {.type = "none"},
    };
    const size_t expected[] = {4, 2, 4, 2, 5, 2, 5, 0};
    enum { FILTERS = sizeof filters / sizeof filters[0] };
    ear live[FILTERS] = {0}, late[FILTERS] = {0};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 20000, .keep = 4, .beat_us = 200000});
    for (size_t i = 0; i < FILTERS; i++)
        ear_listen(&live[i], h.feeds[0], &filters[i], 0);
    hf_credentials alice = person_on(h.stores[0], "alice"), bob = person_on(h.stores[0], "bob");
    work_on(h.stores[0], &alice, "policy", "7");
    work_on(h.stores[0], &alice, "claim", "7");
    work_on(h.stores[0], &bob, "policy", "8");
    work_on(h.stores[0], &bob, "claim", "8");
    int64_t newest = hall_newest(&h);
    expect_int(newest, 10);
    for (size_t i = 0; i < FILTERS; i++)
        /* what is passed over moves the id, with the next beat */
        hall_until(&h, live[i].id >= newest);
    for (size_t i = 0; i < FILTERS; i++)
        ear_listen(&late[i], h.feeds[0], &filters[i], 0);
    for (size_t i = 0; i < FILTERS; i++)
        hall_until(&h, late[i].id >= newest);
    for (size_t i = 0; i < FILTERS; i++) {
        expect_int(live[i].count, expected[i]);
        expect_int(late[i].count, expected[i]);
        ear_free(&live[i]);
        ear_free(&late[i]);
    }
    expect_true(asked >= 20);
    hall_close(&h);
}

static void close_of(hf_store *store, const hf_credentials *who)
{
    hf_error err = {0};
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_batch_add(batch, HF_OP_CLOSE)->session = who;
    expect(HF_OK, hf_store_execute(store, batch, &err), err);
    hf_batch_free(batch);
}

/* Its own events pass whatever else is wanted; the last of them ends it, live or from the table. */
ON_EVERY_PLACE(a_session_that_ends_takes_its_followers_along)
{
    hall h;
    ear own = {0}, other = {0}, late = {0};
    const hf_resource seven = {.type = "policy", .id = "7"};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 20000, .keep = 4, .beat_us = 200000});
    hf_credentials alice = person_on(h.stores[0], "alice"), bob = person_on(h.stores[0], "bob");
    const feed_filter filters[] = {
        {.resources = &seven, .resources_count = 1, .session = alice.id},
        {.resources = &seven, .resources_count = 1, .session = bob.id, .newest_only = true}};
    ear_listen(&own, h.feeds[0], &filters[0], 0);
    ear_listen(&other, h.feeds[0], &filters[1], -1);
    hall_until(&h, other.beats > 0);
    work_on(h.stores[0], &bob, "policy", "7");
    work_on(h.stores[0], &bob, "policy", "8");
    work_on(h.stores[0], &alice, "claim", "1");
    close_of(h.stores[0], &alice);
    work_on(h.stores[0], &bob, "policy", "7");
    hall_until(&h, own.ended && other.count == 6);
    expect_int(own.count, 6); /* opened, twice policy/7, twice claim/1, closed */
    expect_int(own.seqs[5], 9);
    expect_true(!other.ended);
    ear_listen(&late, h.feeds[0], &filters[0], 0);
    hall_until(&h, late.ended);
    expect_int(late.count, 6);
    ear_free(&own);
    ear_free(&other);
    ear_free(&late);
    hall_close(&h);
}

/* What is older than the ring is not read for them, but where they are is known. */
static void who_follows_what_is_recent_is_told_when_it_is_not(void **state)
{
    (void)state;
    ear behind = {0}, near = {0};
    const feed_filter newest_only = {.newest_only = true};
    hall h = feed_open_memory((feed_settings){.keep = 300});
    hf_credentials alice = person_on(h.stores[0], "alice");
    ear_listen(&near, h.feeds[0], NULL, -1);
    hall_until(&h, near.beats > 0);
    make_events(h.stores[0], &alice, 5000);
    hall_until(&h, near.id >= 5000);
    ear_leave(&near);
    int64_t newest = hall_newest(&h);
    ear_listen(&behind, h.feeds[0], &newest_only, 5);
    hall_until(&h, behind.id == newest);
    expect_int(behind.resyncs, 1);
    expect_int(behind.count, 0);
    expect_int(behind.newest, newest);
    ear_free(&near);
    near = (ear){0};
    ear_listen(&near, h.feeds[0], &newest_only, newest - 3);
    hall_until(&h, near.count == 3);
    expect_int(near.resyncs, 0);
    work_on(h.stores[0], &alice, "policy", "7");
    hall_until(&h, near.count == 5 && behind.count == 2);
    expect_int(feed_stats_of(h.feeds[0]).replays, 0);
    ear_free(&behind);
    ear_free(&near);
    hall_close(&h);
}

static void a_thousand_names_are_told_apart(void **state)
{
    (void)state;
    enum { NAMES = 1000 };
    hf_resource *all = calloc(2 * NAMES, sizeof *all);
    for (int i = 0; i < 2 * NAMES; i++) {
        snprintf(all[i].type, sizeof all[i].type, "t%d", i % 7);
        snprintf(all[i].id, sizeof all[i].id, "%d/%d", i, i % 3);
    }
    feed_names *names = feed_names_new(all, NAMES);
    for (int i = 0; i < 2 * NAMES; i++) {
        expect_int(feed_names_have(names, feed_names_hash(&all[i]), &all[i]), i < NAMES);
        hf_resource near = all[i]; /* the same hash is not enough */
        near.id[0] = 'x';
        expect_true(!feed_names_have(names, feed_names_hash(&all[i]), &near));
    }
    feed_names_free(names);
    free(all);
}

/* So a connection that breaks in the middle does not begin at the front again. */
static void ids_move_on_while_much_is_passed_over(void **state)
{
    (void)state;
    ear e = {0};
    const feed_filter none = {.type = "none"};
    hall h = feed_open_memory((feed_settings){.beat_us = 3600000000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    make_events(h.stores[0], &alice, 5000);
    ear_listen(&e, h.feeds[0], &none, 0);
    hall_until(&h, e.id >= 4000);
    expect_int(e.count, 0);
    expect_true(e.beats <= 6);
    ear_free(&e);
    hall_close(&h);
}

static void quiet_followers_get_beats(void **state)
{
    (void)state;
    ear one = {0}, two = {0};
    hall h = feed_open_memory((feed_settings){.beat_us = 100000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    ear_listen(&one, h.feeds[0], NULL, -1);
    ear_listen(&two, h.feeds[0], NULL, 1);
    hall_until(&h, one.beats >= 3 && two.beats >= 3);
    expect_int(one.id, 1);
    expect_int(one.count + two.count, 0);
    work_on(h.stores[0], &alice, "policy", "1");
    feed_nudge(h.feeds[0]);
    hall_until(&h, one.count == 2 && two.count == 2);
    ear_free(&one);
    ear_free(&two);
    hall_close(&h);
}

/* ---- slow ones ---- */

static void who_takes_nothing_is_told_to_resync_and_ended(void **state)
{
    (void)state;
    enum { EVENTS = 20000, SLOW = 5 };
    ear slow[SLOW] = {0}, quick = {0};
    hall h = feed_open_memory((feed_settings){.keep = 1000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    for (int i = 0; i < SLOW; i++) {
        slow[i].holds = true;
        ear_listen(&slow[i], h.feeds[0], NULL, -1);
    }
    ear_listen(&quick, h.feeds[0], NULL, -1);
    hall_until(&h, quick.beats > 0 && slow[SLOW - 1].beats > 0);
    for (int i = 0; i < EVENTS / 500; i++) {
        make_events(h.stores[0], &alice, 500);
        feed_nudge(h.feeds[0]);
        hall_until(&h, quick.count == (size_t)(i + 1) * 500);
    }
    expect_int(quick.resyncs, 0);
    for (int i = 0; i < SLOW; i++) {
        expect_true(slow[i].ended);
        expect_int(slow[i].resyncs, 1);
        expect_int(slow[i].last, slow[i].seqs[slow[i].count - 1]);
        expect_true(slow[i].newest > slow[i].last + 1000);
        expect_true(slow[i].waiting_max < FEED_WAITING_MAX + 4096);
        expect_true(slow[i].waiting_max > FEED_WAITING_MAX / 2);
    }
    expect_int(feed_stats_of(h.feeds[0]).overruns, SLOW);
    expect_int(feed_stats_of(h.feeds[0]).followers, 1);
    /* One goes on as it was told, one asks for all that it missed. */
    int64_t newest = hall_newest(&h), from = slow[0].newest;
    size_t before = slow[0].count;
    slow[0].holds = slow[1].holds = false;
    ear_listen(&slow[0], h.feeds[0], NULL, slow[0].id);
    slow[1].floor = slow[1].last;
    ear_listen(&slow[1], h.feeds[0], NULL, slow[1].last);
    hall_until(&h, slow[0].floor == newest && slow[1].floor == newest);
    expect_int(slow[0].count - before, newest - from);
    ear_got_all(&h, &slow[1], 1);
    for (int i = 0; i < SLOW; i++)
        ear_free(&slow[i]);
    ear_free(&quick);
    hall_close(&h);
}

/* Reading the table at its own speed, however slow, with little in memory; also while the ring goes
 * on. */
ON_EVERY_PLACE(who_replays_slowly_gets_all)
{
    enum { EVENTS = 3000 };
    ear slow = {.holds = true}, quick = {0};
    hall h;
    hall_open(&h, at, 1, (feed_settings){.keep = 300, .poll_us = 20000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    make_events(h.stores[0], &alice, EVENTS);
    ear_listen(&quick, h.feeds[0], NULL, -1);
    hall_until(&h, quick.beats > 0);
    ear_listen(&slow, h.feeds[0], NULL, 0);
    for (size_t before = 0; slow.count < EVENTS - 300;) {
        hall_until(&h, slow.count > before);
        hall_run(&h, 10000);
        before = slow.count;
        expect_true(slow.waiting < FEED_WAITING_MAX + 4096);
        make_events(h.stores[0], &alice, 10);
        ear_drain(&slow);
    }
    expect_true(slow.waiting_max < FEED_WAITING_MAX + 4096);
    slow.holds = false;
    ear_drain(&slow);
    int64_t newest = hall_newest(&h);
    hall_until(&h, slow.floor == newest);
    ear_got_all(&h, &slow, 0);
    expect_int(slow.resyncs, 0);
    ear_free(&slow);
    ear_free(&quick);
    hall_close(&h);
}

/* ---- what is no longer there ---- */

static void feed_sweep_events(hf_store *store, int64_t keep_us)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    for (bool more = true; more;) {
        hf_batch_clear(batch);
        hf_op *op = hf_batch_add(batch, HF_OP_SWEEP);
        op->keep_events_us = keep_us;
        expect(HF_OK, hf_store_execute(store, batch, &err), err);
        expect_status(HF_OK, op->answer.status, op->answer.message);
        more = op->answer.more;
    }
    hf_batch_free(batch);
}

ON_EVERY_PLACE(who_comes_too_late_is_told_what_is_gone)
{
    hall h;
    ear late = {0}, last = {0}, fresh = {0};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 20000, .keep = 100});
    hf_credentials alice = person_on(h.stores[0], "alice");
    make_events(h.stores[0], &alice, 1000);
    int64_t gone = hall_newest(&h);
    hf_store_clock_offset(h.stores[0], INT64_C(3600000000));
    alice = person_on(h.stores[0], "alice");
    make_events(h.stores[0], &alice, 1000);
    feed_sweep_events(h.stores[0], INT64_C(1800000000));
    int64_t newest = hall_newest(&h);
    ear_listen(&late, h.feeds[0], NULL, 5);
    ear_listen(&last, h.feeds[0], NULL, gone);
    hall_until(&h, late.resyncs == 1 && last.floor == newest);
    expect_int(late.newest, newest);
    expect_true(late.first > 5 && late.first <= newest);
    expect_int(late.last, 5);
    expect_int(late.count, 0);
    /* Whoever wants what there is left asks so. */
    ear_listen(&fresh, h.feeds[0], NULL, late.first - 1);
    hall_until(&h, fresh.floor == newest);
    ear_got_all(&h, &fresh, late.first - 1);
    make_events(h.stores[0], &alice, 20);
    newest = hall_newest(&h);
    hall_until(&h, late.floor == newest && last.floor == newest && fresh.floor == newest);
    expect_int(late.count, 20);
    expect_int(late.resyncs, 1);
    expect_int(fresh.resyncs, 0);
    ear_free(&late);
    ear_free(&last);
    ear_free(&fresh);
    hall_close(&h);
}

/* The tables were made anew, or put back to an older backup by the database's own tools. */
ON_EVERY_PLACE(numbers_that_went_back_are_noticed)
{
    hall h;
    ear e = {0}, live = {0};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 20000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    work_on(h.stores[0], &alice, "policy", "1");
    ear_listen(&live, h.feeds[0], NULL, 0);
    ear_listen(&e, h.feeds[0], NULL, 500);
    hall_until(&h, e.resyncs == 1 && live.count == 3);
    expect_int(e.newest, 3);
    expect_int(e.last, 500);
    work_on(h.stores[0], &alice, "policy", "1");
    hall_until(&h, e.count == 2 && live.count == 5);
    expect_int(e.seqs[0], 4);
    ear_free(&e);
    ear_free(&live);
    hall_close(&h);
}

/* A store whose events are those from first to last, as a test says; all but the kind and the
 * number of each is empty. */
typedef struct scripted {
    hf_store base;
    atomic_llong first, last;
    atomic_llong restored; /* the number of that event; 0: none */
} scripted;

static hf_status execute_scripted(hf_store *store, hf_batch *batch, hf_error *err)
{
    scripted *s = (scripted *)store;
    hf_op *op = hf_batch_op(batch, 0);
    int64_t first = atomic_load(&s->first), last = atomic_load(&s->last),
            restored = atomic_load(&s->restored);
    hf_event *events = hf_arena_alloc(&batch->arena, op->limit * sizeof *events);
    (void)err;
    op->answer =
        (hf_answer){.status = HF_OK, .first_seq = first, .last_seq = last, .events = events};
    for (int64_t seq = op->after_seq < first ? first : op->after_seq + 1;
         seq <= last && op->answer.events_count < op->limit; seq++)
        events[op->answer.events_count++] =
            (hf_event){.seq = seq, .kind = seq == restored ? HF_EVENT_RESTORED : HF_EVENT_RELEASED};
    return HF_OK;
}

static void close_scripted(hf_store *store)
{
    free(store);
}

static const hf_store_ops scripted_ops = {
    .scheme = "scripted", .execute = execute_scripted, .close = close_scripted};

static scripted *open_scripted(hall *h, feed_settings settings)
{
    scripted *s = calloc(1, sizeof *s);
    hf_store_init(&s->base, &scripted_ops);
    atomic_init(&s->first, 1);
    atomic_init(&s->last, 100);
    atomic_init(&s->restored, 0);
    hall_open_on(h, &s->base, 1, settings);
    return s;
}

/* While someone listens the tables are made anew; then the server is stopped for so long that the
 * retention overtakes it. */
static void those_who_listen_are_told_when_the_table_is_another(void **state)
{
    (void)state;
    enum { EARS = 4 };
    ear ears[EARS] = {0};
    hall h;
    scripted *s = open_scripted(&h, (feed_settings){.poll_us = 5000, .keep = 50});
    for (int i = 0; i < EARS; i++)
        ear_listen(&ears[i], h.feeds[0], NULL, i % 2 == 0 ? -1 : 0);
    hall_until(&h, ears[0].beats > 0 && ears[2].beats > 0 && ears[1].count == 100 &&
                       ears[3].count == 100);
    atomic_store(&s->last, 40);
    for (int i = 0; i < EARS; i++)
        hall_until(&h, ears[i].resyncs == 1);
    atomic_store(&s->last, 45);
    for (int i = 0; i < EARS; i++) {
        hall_until(&h, ears[i].floor == 45);
        expect_int(ears[i].newest, 40);
        expect_int(ears[i].last, 100);
        expect_int(ears[i].count, 5 + 100 * (i % 2));
    }
    atomic_store(&s->first, 1000);
    atomic_store(&s->last, 1500);
    for (int i = 0; i < EARS; i++) {
        hall_until(&h, ears[i].resyncs == 2);
        expect_true(ears[i].newest >= 1000);
        expect_int(ears[i].first, 1000);
        expect_int(ears[i].last, 45);
    }
    atomic_store(&s->last, 1600);
    for (int i = 0; i < EARS; i++) {
        hall_until(&h, ears[i].floor == 1600);
        expect_int(ears[i].count, 5 + 100 * (i % 2) + 1600 - ears[i].newest);
        expect_int(ears[i].resyncs, 2);
        ear_free(&ears[i]);
    }
    hall_close(&h);
}

/* It is of no type, record or user, and changes all of them. */
static void a_restore_is_heard_through_every_filter(void **state)
{
    (void)state;
    const hf_resource seven = {.type = "policy", .id = "7"};
    const feed_filter filters[] = {{.type = "policy"},
                                   {.resources = &seven, .resources_count = 1},
                                   {.user = "bob"},
                                   {.type = "claim", .user = "bob"}};
    enum { FILTERS = sizeof filters / sizeof filters[0] };
    ear live[FILTERS] = {0}, late[FILTERS] = {0};
    hall h;
    scripted *s = open_scripted(&h, (feed_settings){.poll_us = 5000, .keep = 50, .beat_us = 20000});
    for (int i = 0; i < FILTERS; i++)
        ear_listen(&live[i], h.feeds[0], &filters[i], -1);
    for (int i = 0; i < FILTERS; i++)
        hall_until(&h, live[i].beats > 0);
    atomic_store(&s->restored, 102);
    atomic_store(&s->last, 103);
    for (int i = 0; i < FILTERS; i++)
        hall_until(&h, live[i].id == 103);
    atomic_store(&s->last, 500); /* so that who comes back is behind the ring */
    for (int i = 0; i < FILTERS; i++)
        hall_until(&h, live[i].id == 500);
    for (int i = 0; i < FILTERS; i++)
        ear_listen(&late[i], h.feeds[0], &filters[i], 100);
    for (int i = 0; i < FILTERS; i++) {
        hall_until(&h, late[i].id == 500);
        expect_int(live[i].count, 1);
        expect_int(live[i].seqs[0], 102);
        expect_int(late[i].count, 1);
        expect_int(late[i].seqs[0], 102);
        ear_free(&live[i]);
        ear_free(&late[i]);
    }
    hall_close(&h);
}

static void a_burst_that_is_larger_than_the_ring_reaches_all_who_listen(void **state)
{
    (void)state;
    enum { EARS = 20 };
    ear ears[EARS] = {0};
    hall h;
    scripted *s = open_scripted(&h, (feed_settings){.poll_us = 5000, .keep = 50});
    for (int i = 0; i < EARS; i++)
        ear_listen(&ears[i], h.feeds[0], NULL, 100);
    hall_until(&h, feed_stats_of(h.feeds[0]).delivered == 100);
    atomic_store(&s->last, 50000);
    for (int i = 0; i < EARS; i++) {
        hall_until(&h, ears[i].floor == 50000);
        expect_int(ears[i].count, 49900);
        expect_int(ears[i].resyncs, 0);
        ear_free(&ears[i]);
    }
    expect_int(feed_stats_of(h.feeds[0]).replays, 0);
    hall_close(&h);
}

/* ---- nobody listens ---- */

/* Whether nothing was read for a while. In pieces: when the machine stands still in one of them, a
 * read under way ends in the next. */
static bool stands_still(hall *h, uint64_t *reads)
{
    *reads = feed_stats_of(h->feeds[0]).reads;
    for (int i = 0; i < 5; i++)
        hall_run(h, 20000);
    return feed_stats_of(h->feeds[0]).reads == *reads;
}

ON_EVERY_PLACE(while_nobody_listens_nothing_is_read)
{
    hall h;
    ear e = {0}, other = {0};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 5000, .keep = 100});
    hf_credentials alice = person_on(h.stores[0], "alice");
    feed_nudge(h.feeds[0]);
    hall_run(&h, 50000);
    expect_int(feed_stats_of(h.feeds[0]).reads, 0);
    ear_listen(&e, h.feeds[0], NULL, -1);
    hall_until(&h, e.beats == 1);
    expect_int(e.id, 1);
    ear_leave(&e);
    /* In the meantime more has happened than the ring keeps; who listens from now on hears nothing
     * of it. */
    make_events(h.stores[0], &alice, 500);
    uint64_t reads = 0;
    hall_until(&h, stands_still(&h, &reads));
    feed_nudge(h.feeds[0]);
    hall_run(&h, 50000);
    expect_int(feed_stats_of(h.feeds[0]).reads, reads);
    ear_listen(&other, h.feeds[0], NULL, -1);
    hall_until(&h, other.beats == 1);
    expect_int(other.id, 501);
    ear_listen(&e, h.feeds[0], NULL, e.id);
    hall_until(&h, e.count == 500);
    expect_int(other.count, 0);
    ear_got_all(&h, &e, 1);
    ear_free(&e);
    ear_free(&other);
    hall_close(&h);
}

/* ---- how it comes to hear ---- */

/* Polling alone would take an hour. */
ON_EVERY_PLACE(a_nudge_is_enough_and_other_servers_hear_of_it_where_they_can)
{
    hall h;
    ear own = {0}, others = {0};
    hall_open(&h, at, 2, (feed_settings){.poll_us = 3600000000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    ear_listen(&own, h.feeds[0], NULL, -1);
    hall_until(&h, own.beats > 0);
    work_on(h.stores[0], &alice, "policy", "1");
    feed_nudge(h.feeds[0]);
    hall_until(&h, own.count == 2);
    if (can_watch(at)) {
        hall_until(&h, feed_stats_of(h.feeds[0]).watching);
        ear_listen(&others, h.feeds[1], NULL, -1);
        hall_until(&h, others.beats > 0 && feed_stats_of(h.feeds[1]).watching);
        for (size_t i = 1; i <= 20; i++) {
            work_on(h.stores[0], &alice, "policy", "1");
            feed_nudge(h.feeds[0]);
            hall_until(&h, others.count == 2 * i);
        }
        ear_leave(&own); /* nobody listens there any more; it tells the others all the same */
        work_on(h.stores[0], &alice, "policy", "1");
        feed_nudge(h.feeds[0]);
        hall_until(&h, others.count == 42);
    } else
        expect_true(!feed_stats_of(h.feeds[0]).watching);
    ear_free(&own);
    ear_free(&others);
    hall_close(&h);
}

ON_EVERY_PLACE(what_nobody_tells_of_is_found_by_looking)
{
    hall h;
    ear e = {0};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 100000, .poll_only = true});
    hf_credentials alice = person_on(h.stores[0], "alice");
    ear_listen(&e, h.feeds[0], NULL, -1);
    hall_until(&h, e.beats > 0);
    for (size_t i = 1; i <= 5; i++) {
        work_on(h.stores[0], &alice, "policy", "1");
        hall_until(&h, e.count == 2 * i);
    }
    feed_stats stats = feed_stats_of(h.feeds[0]);
    expect_true(!stats.watching);
    expect_int(stats.events, 10);
    expect_true(stats.lag_us >= 0 && stats.lag_us < INT64_C(10000000));
    expect_true(stats.silent_us < INT64_C(10000000));
    ear_free(&e);
    hall_close(&h);
}

/* ---- trouble ---- */

ON_EVERY_PLACE(what_happens_while_a_watch_is_lost_is_found)
{
    hall h;
    ear e = {0};
    if (strncmp(at->url, "redis", 5) == 0)
        return; /* faults/redis: a shared server does not tell whose a connection is */
    hall_open(&h, at, 1, (feed_settings){.poll_us = 50000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    ear_listen(&e, h.feeds[0], NULL, -1);
    hall_until(&h, e.beats > 0);
    bool watches = can_watch(at);
    hall_until(&h, feed_stats_of(h.feeds[0]).watching == watches);
    expect_int(end_watches(at, h.url), watches);
    hall_until(&h, !feed_stats_of(h.feeds[0]).watching);
    work_on(h.stores[0], &alice, "policy", "1");
    hall_until(&h, e.count == 2);
    hall_until(&h, feed_stats_of(h.feeds[0]).watching == watches);
    work_on(h.stores[0], &alice, "policy", "1");
    hall_until(&h, e.count == 4);
    ear_free(&e);
    hall_close(&h);
}

ON_EVERY_PLACE(a_store_that_fails_is_waited_for)
{
    hall h;
    ear live = {0}, late = {0};
    char url[HF_URL_MAX];
    hf_store *inner = NULL, *fault = NULL;
    hf_error err = {0};
    test_store_url(at, url);
    expect(HF_OK, hf_store_open(url, &inner, &err), err);
    expect(HF_OK, hf_fault_open(inner, &fault, &err), err);
    hall_open_on(&h, fault, 1, (feed_settings){.poll_us = 10000, .keep = 10, .beat_us = 100000});
    hf_credentials alice = person_on(inner, "alice");
    ear_listen(&live, h.feeds[0], NULL, 0);
    hall_until(&h, live.count == 1);
    for (int i = 0; i < 4; i++) {
        uint64_t failures = feed_stats_of(h.feeds[0]).failures;
        hf_fault_arm(fault, 1, i % 2 == 1);
        hf_fault_more(fault, 1000000);
        /* what was under way has come back */
        hall_until(&h, feed_stats_of(h.feeds[0]).failures > failures);
        make_events(inner, &alice, 60);
        ear_leave(&late);
        ear_listen(&late, h.feeds[0], NULL, late.id < 0 ? 0 : late.id);
        size_t beats = live.beats, late_beats = late.beats;
        hall_until(&h, feed_stats_of(h.feeds[0]).failures > failures + 1 && live.beats > beats &&
                           late.beats > late_beats);
        expect_int(live.count, 1 + 60 * i);
        hf_fault_arm(fault, 0, false);
        hall_until(&h, live.count == 1 + 60 * (size_t)(i + 1) && late.count == live.count);
    }
    ear_got_all(&h, &live, 0);
    ear_got_all(&h, &late, 0);
    expect_int(live.resyncs + late.resyncs, 0);
    ear_free(&live);
    ear_free(&late);
    hall_close(&h);
    test_store_discard(at, url);
}

static void who_can_not_begin_is_ended(void **state)
{
    (void)state;
    ear e = {0};
    hall h;
    hf_store *inner = NULL, *fault = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open("memory:", &inner, &err), err);
    expect(HF_OK, hf_fault_open(inner, &fault, &err), err);
    hf_fault_arm(fault, 1, false);
    hf_fault_more(fault, 1000000);
    hall_open_on(&h, fault, 1, (feed_settings){.beat_us = 100000, .start_us = 300000});
    ear_listen(&e, h.feeds[0], NULL, -1);
    hall_until(&h, e.ended);
    expect_int(e.writes, 0);
    expect_int(feed_stats_of(h.feeds[0]).followers, 0);
    ear_free(&e);
    hall_close(&h);
}

static void a_stopped_feed_ends_its_followers(void **state)
{
    (void)state;
    ear ears[3] = {0};
    hall h = feed_open_memory((feed_settings){0});
    hf_error err = {0};
    feed_follower *none = NULL;
    person_on(h.stores[0], "alice");
    ears[2].holds = true;
    for (int i = 0; i < 3; i++)
        ear_listen(&ears[i], h.feeds[0], NULL, i - 1);
    hall_until(&h, ears[0].beats > 0 && ears[1].count == 1);
    feed_stop(h.feeds[0]);
    for (int i = 0; i < 3; i++)
        expect_true(ears[i].ended);
    expect(HF_UNAVAILABLE, feed_follow(h.feeds[0], NULL, 0, &(feed_sink){0}, &none, &err), err);
    feed_stop(h.feeds[0]);
    for (int i = 0; i < 3; i++)
        ear_free(&ears[i]);
    hall_close(&h);
}

/* ---- scarce memory ---- */

static atomic_uint scarce_every, scarce_count;

static void *feed_scarce_realloc(void *block, size_t size)
{
    unsigned every = atomic_load(&scarce_every);
    bool denied = every > 0 && atomic_fetch_add(&scarce_count, 1) % every == every - 1;
    return denied ? NULL : realloc(block, size);
}

static void without_memory_nothing_is_left_behind(void **state)
{
    (void)state;
    hf_store *store = NULL;
    hf_error err = {0};
    struct event_base *base = event_base_new();
    expect(HF_OK, hf_store_open("memory:", &store, &err), err);
    feed_settings settings = {.base = base, .store = store};
    hf_status status = HF_NO_MEMORY;
    unsigned failed = 0;
    for (unsigned n = 1; status != HF_OK; n++) {
        feed *f = NULL;
        atomic_store(&scarce_count, 0);
        atomic_store(&scarce_every, n);
        status = feed_new(&settings, &f, &err);
        atomic_store(&scarce_every, 0);
        failed += status == HF_NO_MEMORY;
        if (status != HF_OK)
            expect_status(HF_NO_MEMORY, status, err.message);
        else
            feed_free(f);
    }
    expect_true(failed > 5);
    hf_store_close(store);
    event_base_free(base);
}

static void a_follower_that_finds_no_memory_is_refused(void **state)
{
    (void)state;
    ear e = {0};
    hf_error err = {0};
    feed_follower *none = NULL;
    hall h = feed_open_memory((feed_settings){0});
    atomic_store(&scarce_every, 1);
    hf_status status = feed_follow(h.feeds[0], NULL, 0, &(feed_sink){0}, &none, &err);
    atomic_store(&scarce_every, 0);
    expect(HF_NO_MEMORY, status, err);
    expect_int(feed_stats_of(h.feeds[0]).followers, 0);
    person_on(h.stores[0], "alice");
    ear_listen(&e, h.feeds[0], NULL, 0);
    hall_until(&h, e.count == 1);
    ear_free(&e);
    hall_close(&h);
}

ON_EVERY_PLACE(scarce_memory_delays_and_loses_nothing)
{
    enum { EARS = 4 };
    hall h;
    ear ears[EARS] = {0};
    hall_open(&h, at, 1, (feed_settings){.poll_us = 10000, .keep = 100});
    hf_credentials alice = person_on(h.stores[0], "alice");
    for (unsigned round = 0; round < 3; round++) {
        uint64_t failures = feed_stats_of(h.feeds[0]).failures;
        make_events(h.stores[0], &alice, 300);
        for (int i = 0; i < EARS; i++)
            ear_listen(&ears[i], h.feeds[0], NULL, ears[i].count == 0 ? 0 : ears[i].id);
        atomic_store(&scarce_every, 100 + 50 * round); /* a full page takes more than that */
        hall_until(&h, feed_stats_of(h.feeds[0]).failures > failures);
        atomic_store(&scarce_every, 0);
        int64_t newest = hall_newest(&h);
        for (int i = 0; i < EARS; i++)
            hall_until(&h, ears[i].floor >= newest);
        for (int i = 0; i < EARS; i++)
            ear_leave(&ears[i]);
    }
    for (int i = 0; i < EARS; i++) {
        expect_int(ears[i].resyncs, 0);
        ear_got_all(&h, &ears[i], 0);
        ear_free(&ears[i]);
    }
    hall_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_gets_every_event_in_order_from_both_servers),
        cmocka_unit_test(who_reconnects_misses_nothing),
        cmocka_unit_test(a_follower_may_begin_anywhere),
        cmocka_unit_test(who_knows_more_than_the_server_waits_for_it),
        cmocka_unit_test(many_listen_at_once),
        cmocka_unit_test(an_event_is_sent_as_its_json),
        cmocka_unit_test(filters_let_through_what_is_wanted),
        cmocka_unit_test(a_session_that_ends_takes_its_followers_along),
        cmocka_unit_test(who_follows_what_is_recent_is_told_when_it_is_not),
        cmocka_unit_test(a_thousand_names_are_told_apart),
        cmocka_unit_test(ids_move_on_while_much_is_passed_over),
        cmocka_unit_test(quiet_followers_get_beats),
        cmocka_unit_test(who_takes_nothing_is_told_to_resync_and_ended),
        cmocka_unit_test(who_replays_slowly_gets_all),
        cmocka_unit_test(who_comes_too_late_is_told_what_is_gone),
        cmocka_unit_test(numbers_that_went_back_are_noticed),
        cmocka_unit_test(those_who_listen_are_told_when_the_table_is_another),
        cmocka_unit_test(a_restore_is_heard_through_every_filter),
        cmocka_unit_test(a_burst_that_is_larger_than_the_ring_reaches_all_who_listen),
        cmocka_unit_test(while_nobody_listens_nothing_is_read),
        cmocka_unit_test(a_nudge_is_enough_and_other_servers_hear_of_it_where_they_can),
        cmocka_unit_test(what_nobody_tells_of_is_found_by_looking),
        cmocka_unit_test(what_happens_while_a_watch_is_lost_is_found),
        cmocka_unit_test(a_store_that_fails_is_waited_for),
        cmocka_unit_test(who_can_not_begin_is_ended),
        cmocka_unit_test(a_stopped_feed_ends_its_followers),
        cmocka_unit_test(without_memory_nothing_is_left_behind),
        cmocka_unit_test(a_follower_that_finds_no_memory_is_refused),
        cmocka_unit_test(scarce_memory_delays_and_loses_nothing),
    };
    hf_seam.realloc = feed_scarce_realloc;
    return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
