/* SPDX-License-Identifier: MIT */
/* The end of a race: merging the logs, the checker, the events, and the figures that are printed.
 * */
#include "races/verdict.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

void race_weather_begin(race_weather *weather, int64_t offset_us)
{
    *weather = (race_weather){.low_us = offset_us, .high_us = offset_us};
}

static int64_t time_a_sync(void)
{
    char path[HF_URL_MAX];
    snprintf(path, sizeof path, "%.*s/sync", HF_URL_MAX - 8, scratch_folder());
    int64_t before_us = race_now_us();
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, path, 1) == 1)
        fdatasync(fd);
    if (fd >= 0)
        close(fd);
    return race_now_us() - before_us;
}

/* How much later than after the rest it is. */
static int64_t verdict_rest(void)
{
    enum { REST_US = 20000 };
    int64_t before_us = race_now_us();
    usleep(REST_US);
    return race_now_us() - before_us - REST_US;
}

void race_weather_note(race_weather *weather)
{
    int64_t late_us = verdict_rest();
    int64_t offset_us = race_offset_us(), sync_us = time_a_sync();
    weather->low_us = offset_us < weather->low_us ? offset_us : weather->low_us;
    weather->high_us = offset_us > weather->high_us ? offset_us : weather->high_us;
    weather->slowest_us = sync_us > weather->slowest_us ? sync_us : weather->slowest_us;
    weather->latest_us = late_us > weather->latest_us ? late_us : weather->latest_us;
}

void race_begin(race_board *board, race_weather *weather, int seconds)
{
    board->offset_us = race_offset_us();
    board->began_us = race_now_us();
    board->until_us = board->began_us + (int64_t)seconds * 1000000;
    race_weather_begin(weather, board->offset_us);
}

/* What of the history so far has its answer, judged before its time: who was blamed means nothing
 * yet. */
static size_t take_overs_so_far(race_log *const *logs, size_t count, size_t calls)
{
    check_record *records = calloc(calls + 1, sizeof *records);
    check_report report;
    size_t all = 0;
    expect_true(records != NULL);
    for (size_t i = 0; i < count; i++) {
        size_t settled = atomic_load_explicit(&logs[i]->settled, memory_order_acquire);
        settled = settled < calls - all ? settled : calls - all;
        memcpy(records + all, logs[i]->records, settled * sizeof *records);
        all += settled;
    }
    check_history(records, all, 1000, &report);
    free(records);
    return report.take_overs;
}

static bool is_enough(const race_board *board, race_log *const *logs, size_t count,
                      const race_bounds *bounds)
{
    size_t calls = 0, deaths = 0, grants = 0;
    for (size_t i = 0; i < count; i++) {
        calls += logs[i]->count;
        deaths += logs[i]->deaths;
        grants += logs[i]->grants;
    }
    return board->meddled >= bounds->meddled && calls >= bounds->calls &&
           deaths >= bounds->deaths && grants >= 2 * bounds->grants &&
           take_overs_so_far(logs, count, calls) >= bounds->take_overs + 1;
}

bool race_is_over(race_board *board, race_log *const *logs, size_t count, const race_bounds *bounds)
{
    if (race_now_us() < board->until_us)
        return false;
    if (race_now_us() < board->began_us + 90000000 && !is_enough(board, logs, count, bounds))
        board->until_us = race_now_us() + 1000000;
    else
        board->over = true;
    return board->over;
}

bool race_is_long(void)
{
    const char *value = getenv("HF_TEST_LONG");
    return value && *value && strcmp(value, "0") != 0;
}

int race_seconds(int seconds, int seconds_long)
{
    const char *value = getenv("HF_TEST_SECONDS");
    if (value && *value)
        return (int)strtol(value, NULL, 10);
    if (race_is_long())
        return seconds_long;
    return SANITIZED ? (seconds + 1) / 2 : seconds;
}

typedef struct sums {
    check_record *records;
    size_t count;
    size_t busy;
    size_t retries;
    size_t reads;
    size_t surprises;
    int64_t longest_us;
    retrying_tally again;
} sums;

static void verdict_add_tally(retrying_tally *to, const retrying_tally *more)
{
    to->unavailable += more->unavailable;
    to->unsure += more->unsure;
    to->settled += more->settled;
    to->lost_sight += more->lost_sight;
    to->longest_us = more->longest_us > to->longest_us ? more->longest_us : to->longest_us;
}

static void verdict_gather(race_log *const *logs, size_t count, sums *out)
{
    for (size_t i = 0; i < count; i++) {
        out->count += logs[i]->count;
        out->busy += logs[i]->busy;
        out->retries += logs[i]->retries;
        out->reads += logs[i]->reads;
        out->surprises += logs[i]->surprises;
        out->longest_us =
            logs[i]->longest_us > out->longest_us ? logs[i]->longest_us : out->longest_us;
        verdict_add_tally(&out->again, &logs[i]->asked_again);
        if (logs[i]->surprises)
            printf("# a surprise of client %zu (%zu in all): %s\n", i, logs[i]->surprises,
                   logs[i]->surprise);
    }
    out->records = calloc(out->count + 1, sizeof *out->records);
    expect_true(out->records != NULL);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(out->records + at, logs[i]->records, logs[i]->count * sizeof *out->records);
        at += logs[i]->count;
    }
}

typedef struct told {
    size_t grants;    /* events of a grant, an upgrade or a hand-over */
    size_t up_to;     /* how many events have numbers up to the one the follower saw last */
    size_t forgotten; /* by a store that keeps only the last so many */
    size_t all;
} told;

/* Reads all events from the oldest, and counts. */
static void verdict_read_events(hf_manager *manager, int64_t follower_seq, told *out)
{
    for (int64_t seq = 0;;) {
        hf_result *page = NULL;
        hf_error err = {0};
        expect(HF_OK, hf_manager_events(manager, seq, HF_LIST_MAX, &page, &err), err);
        const hf_answer *answer = hf_result_answer(page);
        if (seq == 0)
            out->forgotten = (size_t)(answer->first_seq - 1);
        for (size_t i = 0; i < answer->events_count; i++) {
            const hf_event *event = &answer->events[i];
            expect_true(event->seq > seq);
            seq = event->seq;
            out->all++;
            out->up_to += event->seq <= follower_seq;
            out->grants += event->kind == HF_EVENT_ACQUIRED || event->kind == HF_EVENT_UPGRADED ||
                           event->kind == HF_EVENT_HANDED_OVER;
        }
        size_t read = answer->events_count;
        hf_result_free(page);
        if (read == 0)
            return;
    }
}

/* Every grant left one event, and whoever followed the events has missed none. `settled`: grants
 * that were unsure may have been lost, and granted once more when they were asked for again. */
static void verdict_judge_events(hf_manager *manager, race_log *const *logs, size_t count,
                                 const check_report *report, size_t settled)
{
    const race_log *follower = NULL;
    for (size_t i = 0; i < count; i++)
        follower = logs[i]->events ? logs[i] : follower;
    told events = {0};
    verdict_read_events(manager, follower ? follower->last_seq : 0, &events);
    printf("# %zu events, %zu of them of a grant; a follower read %zu, none missed\n", events.all,
           events.grants, follower ? follower->events : 0);
    expect_true(follower != NULL);
    expect_int(follower->events, events.forgotten + events.up_to);
    expect_true(events.forgotten > 0 || events.grants >= report->grants);
    expect_true(events.grants <= report->grants + report->unknown + settled);
}

/* Waiting in vain is rare, unless the machine itself stood still. */
static void judge_busy(const sums *all, const race_weather *weather, const race_bounds *bounds)
{
    if (all->busy * 100 <= all->count * bounds->busy_percent)
        return;
    printf("# %zu of %zu calls were answered busy; meanwhile one sync took %lld ms, and a rest "
           "%lld ms too "
           "long\n",
           all->busy, all->count, (long long)(weather->slowest_us / 1000),
           (long long)(weather->latest_us / 1000));
    expect_true(weather->slowest_us > 100000 || weather->latest_us > 100000);
}

race_sum race_judge(hf_manager *manager, race_log *const *logs, size_t count,
                    const race_weather *weather, const race_bounds *bounds)
{
    sums all = {0};
    check_report report;
    verdict_gather(logs, count, &all);
    int64_t slack_us = weather->high_us - weather->low_us + 1000;
    check_history(all.records, all.count, slack_us, &report);
    free(all.records);
    check_print(&report, stdout);
    printf("# %zu clients, %zu reads, %zu busy, %zu run again; the longest call took %lld ms, the "
           "longest "
           "sync beside it "
           "%lld ms; clock "
           "slack %lld us\n",
           count, all.reads, all.busy, all.retries, (long long)(all.longest_us / 1000),
           (long long)(weather->slowest_us / 1000), (long long)slack_us);
    if (all.again.unsure + all.again.unavailable)
        printf("# asked again: %zu unavailable, %zu unsure; of the unsure %zu were settled, %zu "
               "refused the "
               "second time; the longest until an answer %lld ms\n",
               all.again.unavailable, all.again.unsure, all.again.settled, all.again.lost_sight,
               (long long)(all.again.longest_us / 1000));
    expect_int(report.faults, 0);
    expect_int(all.surprises, 0);
    verdict_judge_events(manager, logs, count, &report, all.again.settled * RACE_SET);
    expect_true(report.grants >= bounds->grants);
    expect_true(report.take_overs >= bounds->take_overs);
    judge_busy(&all, weather, bounds);
    return (race_sum){.calls = all.count,
                      .holds = report.grants,
                      .refusals = report.refusals,
                      .take_overs = report.take_overs,
                      .unsure = all.again.unsure,
                      .settled = all.again.settled};
}
