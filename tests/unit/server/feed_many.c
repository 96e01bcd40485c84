/* SPDX-License-Identifier: MIT */
/* The feed with as many followers as a server may have: how long it takes until everyone has
 * everything, how long the loop is held at most, and what it costs in memory. Only with make
 * test-long. */
#include "unit/server/ears.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EARS = 5000, EVENTS = 1000 };

static ear ears[EARS];

/* By the time of this thread alone: how long the machine does other things is not the feed's. */
typedef struct held {
    int64_t last_us, most_us;
    struct event *timer;
} held;

static int64_t own_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000;
}

static void look_at_clock(evutil_socket_t fd, short what, void *context)
{
    held *it = context;
    int64_t now_us = own_us();
    (void)fd;
    (void)what;
    if (now_us - it->last_us > it->most_us)
        it->most_us = now_us - it->last_us;
    it->last_us = now_us;
}

static void begin_to_look(held *it, hall *h)
{
    static const struct timeval often = {0, 1000};
    *it = (held){.last_us = own_us()};
    it->timer = event_new(h->base, -1, EV_PERSIST, look_at_clock, it);
    expect_true(it->timer != NULL && event_add(it->timer, &often) == 0);
}

static long resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect_true(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* With room for what it will get, so that it doesn't count below. */
static void make_ears(void)
{
    for (int i = 0; i < EARS; i++) {
        ears[i].seqs = malloc((EVENTS + 10) * sizeof *ears[i].seqs);
        ears[i].room = EVENTS + 10;
        memset(ears[i].seqs, 1, ears[i].room * sizeof *ears[i].seqs);
    }
}

static size_t behind(int64_t newest)
{
    size_t count = 0;
    for (int i = 0; i < EARS; i++)
        count += ears[i].floor < newest;
    return count;
}

static void leave_all(void)
{
    for (int i = 0; i < EARS; i++)
        ear_free(&ears[i]);
    memset(ears, 0, sizeof ears);
}

static void feed_many_report(const char *what, int64_t began_us, const held *it, long before_kb,
                             feed *f)
{
    feed_stats stats;
    feed_stats_read(f, &stats);
    print_message("# %s: %.2f s, the loop held for %.1f ms at most, %ld kB more memory, %" PRIu64
                  " pages read\n",
                  what, (double)(hall_now() - began_us) / 1e6, (double)it->most_us / 1e3,
                  resident_kb() - before_kb, stats.replays);
}

static void check_all(int64_t after, size_t count)
{
    for (int i = 0; i < EARS; i++) {
        expect_int(ears[i].count, count);
        expect_int(ears[i].seqs[0], after + 1);
        /* each came after the one before */
        expect_int(ears[i].seqs[count - 1], after + (int64_t)count);
        expect_int(ears[i].resyncs, 0);
    }
}

static void five_thousand_live_followers_get_a_thousand_events_each(void **state)
{
    (void)state;
    hall h;
    held loop;
    test_store memory = test_store_memory();
    hall_open(&h, &memory, 1, (feed_settings){0});
    hf_credentials alice = person_on(h.stores[0], "alice");
    make_ears();
    long before_kb = resident_kb();
    int64_t began_us = hall_now();
    for (int i = 0; i < EARS; i++)
        ear_listen(&ears[i], h.feeds[0], NULL, 1);
    begin_to_look(&loop, &h);
    for (int i = 0; i < EARS; i++)
        hall_until(&h, ears[i].beats > 0);
    feed_many_report("5,000 followers come", began_us, &loop, before_kb, h.feeds[0]);
    loop.most_us = 0;
    began_us = hall_now();
    for (int i = 0; i < 10; i++) {
        make_events(h.stores[0], &alice, EVENTS / 10);
        feed_nudge(h.feeds[0]);
        hall_run(&h, 1000);
    }
    hall_until(&h, behind(EVENTS + 1) == 0);
    feed_many_report("1,000 events to each", began_us, &loop, before_kb, h.feeds[0]);
    check_all(1, EVENTS);
    expect_true(loop.most_us < INT64_C(50000));
    expect_true(hall_now() - began_us < INT64_C(60000000));
    event_free(loop.timer);
    leave_all();
    hall_close(&h);
}

static void five_thousand_come_back_at_once_and_read_the_table(void **state)
{
    (void)state;
    size_t count;
    const test_store *all = test_stores(&count);
    for (size_t k = 0; k < count; k++) {
        hall h;
        held loop;
        hall_open(&h, &all[k], 1, (feed_settings){.keep = 64});
        hf_credentials alice = person_on(h.stores[0], "alice");
        make_events(h.stores[0], &alice, EVENTS);
        make_ears();
        long before_kb = resident_kb();
        int64_t began_us = hall_now();
        for (int i = 0; i < EARS; i++)
            ear_listen(&ears[i], h.feeds[0], NULL, 1);
        begin_to_look(&loop, &h);
        hall_until(&h, behind(EVENTS + 1) == 0);
        feed_many_report(all[k].name, began_us, &loop, before_kb, h.feeds[0]);
        check_all(1, EVENTS);
        expect_true(loop.most_us < INT64_C(50000));
        feed_stats stats;
        feed_stats_read(h.feeds[0], &stats);
        expect_true(stats.replays < 100);
        event_free(loop.timer);
        leave_all();
        hall_close(&h);
    }
}

/* Pages that show lists: each hears of one of its thousand records, and is not held up by the
 * others. */
static void two_thousand_followers_name_a_thousand_records_each(void **state)
{
    (void)state;
    enum { PAGES = 2000, NAMES = 1000 };
    hall h;
    held loop;
    test_store memory = test_store_memory();
    hf_resource *names = calloc(NAMES, sizeof *names);
    hall_open(&h, &memory, 1, (feed_settings){.beat_us = 3600000000});
    hf_credentials alice = person_on(h.stores[0], "alice");
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i].type, sizeof names[i].type, "list");
    long before_kb = resident_kb();
    int64_t began_us = hall_now();
    for (int i = 0; i < PAGES; i++) {
        for (int k = 0; k < NAMES; k++)
            snprintf(names[k].id, sizeof names[k].id, "%d", k == 0 ? 0 : i * NAMES + k);
        const feed_filter filter = {.resources = names, .resources_count = NAMES};
        ear_listen(&ears[i], h.feeds[0], &filter, 1);
    }
    begin_to_look(&loop, &h);
    for (int i = 0; i < PAGES; i++)
        hall_until(&h, ears[i].beats > 0);
    feed_many_report("2,000 followers with 1,000 names", began_us, &loop, before_kb, h.feeds[0]);
    loop.most_us = 0;
    began_us = hall_now();
    make_events(h.stores[0], &alice, EVENTS);
    work_on(h.stores[0], &alice, "list", "0");
    feed_nudge(h.feeds[0]);
    for (int i = 0; i < PAGES; i++)
        hall_until(&h, ears[i].count == 2);
    feed_many_report("two events of 1,002 to each", began_us, &loop, before_kb, h.feeds[0]);
    expect_true(loop.most_us < INT64_C(50000));
    event_free(loop.timer);
    leave_all();
    free(names);
    hall_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_thousand_live_followers_get_a_thousand_events_each),
        cmocka_unit_test(five_thousand_come_back_at_once_and_read_the_table),
        cmocka_unit_test(two_thousand_followers_name_a_thousand_records_each),
    };
    return cmocka_run_group_tests_name("feed, many", tests, NULL, NULL);
}
