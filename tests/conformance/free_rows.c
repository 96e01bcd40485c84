/* SPDX-License-Identifier: MIT */
/* Stores in which a free resource leaves no row (SQLite, Redis and memory): what is asked again
 * after every kind of end ends no newer hold (P12), fences go on rising (P8), and no row is left.
 * On SQLite a resource that is held has no row either. */
#include "suite.h"

#include <holdfast/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { REMEMBERED = 16 };

typedef void free_rows_end(fixture *w, const hf_credentials *alice, const hf_credentials *bob);

static void free_rows_release(fixture *w, const hf_credentials *alice, const hf_credentials *bob)
{
    (void)bob;
    done(w, RELEASE, BY(*alice), ON("policy", "1"), .request_id = "e1");
}

static void free_rows_release_two(fixture *w, const hf_credentials *alice,
                                  const hf_credentials *bob)
{
    (void)bob;
    hf_batch *both = batch_of(w, 2);
    add(both, RELEASE, BY(*alice), ON("policy", "1"), .request_id = "e1", .linked = true);
    add(both, RELEASE, BY(*alice), ON("policy", "2"), .request_id = "e2");
    run(w, both);
    answer(both, 0, HF_OK);
    answer(both, 1, HF_OK);
}

static void free_rows_release_all(fixture *w, const hf_credentials *alice,
                                  const hf_credentials *bob)
{
    (void)bob;
    done(w, RELEASE_ALL, BY(*alice), .request_id = "e1");
}

static void free_rows_hand_over(fixture *w, const hf_credentials *alice, const hf_credentials *bob)
{
    done(w, HAND_OVER, BY(*alice), ON("policy", "1"), .target = bob->id, .request_id = "e1");
}

static void free_rows_force(fixture *w, const hf_credentials *alice, const hf_credentials *bob)
{
    (void)alice;
    (void)bob;
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "e1");
}

static free_rows_end *const free_rows_ends[] = {free_rows_release, free_rows_release_two,
                                                free_rows_release_all, free_rows_hand_over,
                                                free_rows_force};

/* Others take and release everything; a session ends, and its locks expire. */
static void free_rows_use(fixture *w, const hf_credentials *other)
{
    static const char *const ids[] = {"1", "2"};
    for (int i = 0; i < 2; i++) {
        done(w, ACQUIRE, BY(*other), ON("policy", ids[i]), .ttl_us = i * SECOND);
        if (i == 0)
            done(w, RELEASE, BY(*other), ON("policy", ids[i]), .request_id = "other");
    }
    clock_forward(w, SECOND);
    sweep_all(w, 0);
}

static void whatever_ended_a_hold_asked_again_ends_no_newer_one(fixture *w)
{
    if (!w->at->drops_free)
        return;
    for (size_t i = 0; i < sizeof free_rows_ends / sizeof *free_rows_ends; i++)
        for (int used = 0; used < 2; used++) {
            hf_credentials alice = person(w, "alice", NULL), bob = person(w, "bob", NULL),
                           carol = person(w, "carol", NULL);
            done(w, ACQUIRE, BY(alice), ON("policy", "1"));
            done(w, ACQUIRE, BY(alice), ON("policy", "2"));
            free_rows_ends[i](w, &alice, &bob);
            done(w, RELEASE_ALL, BY(bob));
            done(w, RELEASE_ALL, BY(alice)); /* without an id, it leaves no trace */
            if (used)
                free_rows_use(w, &carol);
            int64_t one = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
            int64_t two = done(w, ACQUIRE, BY(alice), ON("policy", "2"))->locks[0].fence;
            news_skip(w);
            free_rows_ends[i](w, &alice, &bob);
            news(w, 0);
            done(w, HOLDS, BY(alice), ON("policy", "1"), .fence = one);
            done(w, HOLDS, BY(alice), ON("policy", "2"), .fence = two);
            done(w, CLOSE, BY(alice));
            clock_forward(w, 2 * DAY); /* a forced release is remembered for a day */
            sweep_all(w, 0);
        }
}

/* Of several forced releases each is remembered, not only the last one. */
static void a_forced_release_asked_again_ends_no_newer_one_after_others(fixture *w)
{
    if (!w->at->drops_free)
        return;
    hf_credentials alice = person(w, "alice", NULL), bob = person(w, "bob", NULL);
    char request[8];
    int64_t first =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED)->locks[0].fence;
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    for (int i = 0; i <= REMEMBERED; i++) {
        snprintf(request, sizeof request, "f%d", i);
        done(w, FORCE_RELEASE, ON("policy", "1"), .actor = i % 2 ? "root" : "boss", .text = "why",
             .request_id = request);
        done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    }
    news_skip(w);
    for (int i = 1; i <= REMEMBERED; i++) {
        snprintf(request, sizeof request, "f%d", i);
        done(w, FORCE_RELEASE, ON("policy", "1"), .actor = i % 2 ? "root" : "boss", .text = "why",
             .request_id = request);
    }
    news(w, 0);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    /* someone else's request with the same id, and the same id for another grant, are new ones */
    refused(w, HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why",
            .request_id = "f16", .fence = first);
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "f16");
    news(w, 1);
}

/* ... for a day, also where a version keeps the row longer. */
static void a_forced_release_is_remembered_for_a_day(fixture *w)
{
    if (!w->at->drops_free)
        return;
    done(w, SAVE, ON("policy", "1"), .user = "alice", .absent = true);
    for (int round = 0; round < 2; round++) {
        hf_credentials alice = person(w, "alice", NULL);
        done(w, ACQUIRE, BY(alice), ON("policy", "1"));
        news_skip(w);
        done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why",
             .request_id = "f");
        news(w, 1);
        done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why",
             .request_id = "f");
        news(w, 0);
        clock_set(w, w->now_us + HF_KEEP_US);
    }
}

/* The last ends of a session are remembered, and no more; a run is one of them. */
static void a_session_remembers_its_last_ends(fixture *w)
{
    if (!w->at->drops_free)
        return;
    hf_credentials alice = person(w, "alice", NULL);
    char id[8], request[8];
    for (int i = 0; i <= REMEMBERED; i++) {
        snprintf(id, sizeof id, "%d", i);
        snprintf(request, sizeof request, "r%d", i);
        done(w, ACQUIRE, BY(alice), ON("policy", id));
        if (i % 2 == 0) {
            done(w, RELEASE, BY(alice), ON("policy", id), .request_id = request);
            continue;
        }
        done(w, ACQUIRE, BY(alice), ON("page", id));
        hf_batch *both = batch_of(w, 2);
        add(both, RELEASE, BY(alice), ON("policy", id), .request_id = request, .linked = true);
        add(both, RELEASE, BY(alice), ON("page", id), .request_id = request);
        run(w, both);
        answer(both, 1, HF_OK);
    }
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "0"), .request_id = "r0");
    hf_batch *again = batch_of(w, 2);
    add(again, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1", .linked = true);
    add(again, RELEASE, BY(alice), ON("page", "1"), .request_id = "r1");
    run(w, again);
    answer(again, 0, HF_OK);
    answer(again, 1, HF_OK);
    done(w, RELEASE, BY(alice), ON("policy", "16"), .request_id = "r16");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "15"), .request_id = "r16");
}

/* An end that was asked for alone says nothing of the others in a run that names it too. */
static void a_run_is_not_taken_for_one_of_its_ends(fixture *w)
{
    hf_credentials alice = person(w, "alice", NULL);
    for (int alone = 1; alone <= 2; alone++) {
        char request[8];
        snprintf(request, sizeof request, "r%d", alone);
        done(w, ACQUIRE, BY(alice), ON("page", "1"));
        done(w, ACQUIRE, BY(alice), ON("page", "2"));
        done(w, RELEASE, BY(alice), ON("page", alone == 1 ? "1" : "2"), .request_id = request);
        hf_batch *both = batch_of(w, 2);
        add(both, RELEASE, BY(alice), ON("page", "1"), .request_id = "r1", .linked = true);
        add(both, RELEASE, BY(alice), ON("page", "2"), .request_id = "r2");
        run(w, both);
        answer(both, 0, HF_OK);
        answer(both, 1, HF_OK);
        refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("page", "1"));
        refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("page", "2"));
        done(w, CLOSE, BY(alice));
        alice = person(w, "alice", NULL);
    }
}

static void a_release_all_is_not_taken_for_an_end_before_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", NULL);
    done(w, ACQUIRE, BY(alice), ON("page", "1"));
    done(w, ACQUIRE, BY(alice), ON("page", "2"));
    done(w, RELEASE, BY(alice), ON("page", "2"), .request_id = "r2");
    hf_batch *both = batch_of(w, 2);
    add(both, RELEASE, BY(alice), ON("page", "2"), .request_id = "r2", .linked = true);
    add(both, RELEASE_ALL, BY(alice), .request_id = "r3");
    run(w, both);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("page", "1"));
}

/* One end of the run has no request id: the run's name settles it all the same. */
static void a_run_is_asked_again_as_a_whole(fixture *w)
{
    if (!w->at->drops_free)
        return;
    hf_credentials alice = person(w, "alice", NULL);
    done(w, ACQUIRE, BY(alice), ON("page", "2"));
    for (int i = 0; i < 2; i++) {
        done(w, ACQUIRE, BY(alice), ON("page", "1"));
        hf_batch *both = batch_of(w, 2);
        add(both, RELEASE, BY(alice), ON("page", "2"), .request_id = "r2", .linked = true);
        add(both, RELEASE, BY(alice), ON("page", "1"));
        run(w, both);
        answer(both, 1, HF_OK);
    }
    done(w, HOLDS, BY(alice), ON("page", "1"));
}

/* A forced release that is too old to be asked again does not come back with the next one. */
static void an_old_forced_release_is_forgotten(fixture *w)
{
    if (!w->at->drops_free)
        return;
    hf_credentials alice = person_idle(w, "alice", NULL, 9 * DAY);
    done(w, SAVE, ON("page", "1"), .user = "alice", .absent = true); /* its row stays */
    static const char *const forced[] = {"f1", "f2", "f1"};
    for (int i = 0; i < 3; i++) {
        done(w, ACQUIRE, BY(alice), ON("page", "1"));
        const hf_answer *answer = done(w, FORCE_RELEASE, ON("page", "1"), .actor = "root",
                                       .text = "night", .request_id = forced[i]);
        expect_int(answer->locks_count, 1);
        if (i == 0)
            clock_forward(w, 3 * DAY);
    }
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("page", "1"));
}

/* A run that is undone leaves no note: its releases are done when they are asked again. */
static void a_run_that_was_undone_is_not_remembered(fixture *w)
{
    hf_credentials alice = person(w, "alice", NULL), bob = person(w, "bob", NULL);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    hf_batch *both = batch_of(w, 2);
    add(both, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1", .linked = true);
    add(both, ACQUIRE, BY(alice), ON("policy", "2"), .request_id = "r1");
    run(w, both);
    answer(both, 0, HF_NOT_APPLIED);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    expect_int(done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1")->locks_count, 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
}

/* ---- the rows themselves ---- */

static int64_t free_rows_ask(fixture *w, const char *query)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    expect_int(sqlite3_open(strchr(w->url, ':') + 1, &db), SQLITE_OK);
    expect_int(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
    expect_int(sqlite3_step(stmt), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

static void free_rows_expect(fixture *w, int64_t count)
{
    expect_int(free_rows_ask(w, "SELECT count(*) FROM holdfast_resource"), count);
}

/* Held, read by several, asked for or free: the locks and the requests say it all. */
static void a_resource_that_was_never_saved_has_no_row(fixture *w)
{
    hf_credentials alice = person(w, "alice", NULL), bob = person(w, "bob", NULL);
    done(w, ACQUIRE, BY(alice), ON("page", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("page", "1"), .mode = HF_SHARED, .ttl_us = MINUTE);
    free_rows_expect(w, 0);
    done(w, RELEASE, BY(alice), ON("page", "1"));
    done(w, REQUEST, BY(alice), ON("page", "1"));
    clock_forward(w, MINUTE);
    sweep_all(w, 0);
    expect_int(done(w, WHO, ON("page", "1"))->requests_count, 1);
    free_rows_expect(w, 0);
    done(w, ACQUIRE, BY(bob), ON("page", "1"));
    done(w, FORCE_RELEASE, ON("page", "1"), .actor = "root", .text = "why");
    free_rows_expect(w, 0);
}

/* The trace of a forced release stays for a day, over later ends; what was saved stays for good. */
static void a_trace_and_a_version_keep_the_row(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", NULL, 3 * DAY);
    done(w, ACQUIRE, BY(alice), ON("page", "1"));
    done(w, FORCE_RELEASE, ON("page", "1"), .actor = "root", .text = "why", .request_id = "f1");
    done(w, ACQUIRE, BY(alice), ON("page", "1"));
    done(w, RELEASE, BY(alice), ON("page", "1"));
    free_rows_expect(w, 1);
    done(w, SAVE, ON("page", "2"), .user = "alice", .absent = true);
    free_rows_expect(w, 2);
    done(w, ACQUIRE, BY(alice), ON("page", "1"));
    clock_forward(w, HF_KEEP_US + 1);
    done(w, RENEW, BY(alice), ON("page", "1"));
    free_rows_expect(w, 1);
}

/* ---- fences that no row has any more (P8) ---- */

static void forget_by_release(fixture *w, const hf_credentials *bob, int64_t fence)
{
    (void)fence;
    done(w, RELEASE, BY(*bob), ON("page", "1"));
}

static void forget_by_release_all(fixture *w, const hf_credentials *bob, int64_t fence)
{
    (void)fence;
    done(w, RELEASE_ALL, BY(*bob));
}

static void forget_by_force(fixture *w, const hf_credentials *bob, int64_t fence)
{
    (void)bob;
    done(w, FORCE_RELEASE, ON("page", "1"), .actor = "root", .text = "why", .fence = fence);
}

/* ... with a trace, which goes after a day when the resource is used. */
static void forget_by_force_with_a_trace(fixture *w, const hf_credentials *bob, int64_t fence)
{
    done(w, FORCE_RELEASE, ON("page", "1"), .actor = "root", .text = "why", .fence = fence,
         .request_id = "f1");
    clock_forward(w, HF_KEEP_US + 1);
    done(w, ACQUIRE, BY(*bob), ON("page", "2"));
    refused(w, HF_LOCKED, ACQUIRE, BY(*bob), ON("page", "1"));
}

static void forget_by_sweeping_a_lock(fixture *w, const hf_credentials *bob, int64_t fence)
{
    (void)fence;
    done(w, RENEW, BY(*bob), ON("page", "1"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE);
    expect_true(sweep_all(w, 0) > 0);
}

static void forget_by_closing(fixture *w, const hf_credentials *bob, int64_t fence)
{
    (void)fence;
    done(w, CLOSE, BY(*bob));
}

static void forget_by_sweeping_a_session(fixture *w, const hf_credentials *bob, int64_t fence)
{
    (void)bob;
    (void)fence;
    clock_forward(w, 4 * DAY);
    expect_true(sweep_all(w, 0) > 0);
}

/* The one whose grant was the last leaves while another still reads: the locks that are left have
 * a lower fence, and the clock is set back. */
static void a_fence_is_not_given_again_when_its_reader_leaves(fixture *w)
{
    void (*const forgets[])(fixture *, const hf_credentials *,
                            int64_t) = {forget_by_release,
                                        forget_by_release_all,
                                        forget_by_force,
                                        forget_by_force_with_a_trace,
                                        forget_by_sweeping_a_lock,
                                        forget_by_closing,
                                        forget_by_sweeping_a_session};
    for (size_t i = 0; i < sizeof forgets / sizeof *forgets; i++) {
        hf_credentials alice = person_idle(w, "alice", NULL, 9 * DAY);
        hf_credentials bob = person_idle(w, "bob", NULL, 3 * DAY);
        int64_t before_us = w->now_us;
        done(w, ACQUIRE, BY(alice), ON("page", "1"), .mode = HF_SHARED);
        clock_forward(w, HOUR);
        int64_t last =
            done(w, ACQUIRE, BY(bob), ON("page", "1"), .mode = HF_SHARED)->locks[0].fence;
        forgets[i](w, &bob, last);
        clock_set(w, before_us);
        fixture_reopen(w);
        hf_credentials carol = person_idle(w, "carol", NULL, 9 * DAY);
        int64_t next =
            done(w, ACQUIRE, BY(carol), ON("page", "1"), .mode = HF_SHARED)->locks[0].fence;
        expect_true(next > last);
        done(w, CLOSE, BY(alice));
        done(w, CLOSE, BY(carol));
        hf_credentials dave = person(w, "dave", NULL);
        expect_true(done(w, ACQUIRE, BY(dave), ON("page", "1"))->locks[0].fence > next);
        done(w, CLOSE, BY(dave));
    }
}

/* What is held is known by its lock alone: the fence of the next grant comes from there, over a
 * hand-over, an upgrade, a restart and a clock set back. */
static void a_fence_that_only_a_lock_has_counts(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", NULL, DAY),
                   bob = person_idle(w, "bob", NULL, DAY);
    const hf_credentials *holder = &alice, *other = &bob;
    int64_t last = done(w, ACQUIRE, BY(alice), ON("page", "1"))->locks[0].fence;
    for (int i = 0; i < 4; i++) {
        clock_set(w, w->now_us - SECOND);
        fixture_reopen(w);
        const hf_answer *given =
            done(w, HAND_OVER, BY(*holder), ON("page", "1"), .fence = last, .target = other->id);
        expect_int(given->locks[0].fence, last + 1);
        last = given->locks[0].fence;
        const hf_credentials *was = holder;
        holder = other;
        other = was;
    }
    done(w, DOWNGRADE, BY(*holder), ON("page", "1"));
    fixture_reopen(w);
    expect_int(done(w, ACQUIRE, BY(*holder), ON("page", "1"))->locks[0].fence, last + 1);
    free_rows_expect(w, 0);
}

/* ---- beats ---- */

/* A beat counts what lives, and tells what is over and who asks, whatever else is in its batch. */
static void a_beat_with_many_locks_counts_them(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", NULL, HOUR), bob = person(w, "bob", NULL);
    char id[8];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "%d", i);
        done(w, ACQUIRE, BY(alice), ON("page", id), .ttl_us = i < 5 ? SECOND : i < 10 ? HOUR : 0);
    }
    expect_int(done(w, BEAT, BY(alice))->locks_count, 20);
    clock_forward(w, SECOND);
    done(w, REQUEST, BY(bob), ON("page", "12"), .text = "please");
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->locks_count, 15);
    expect_int(beat->lost_count, 5);
    expect_int(beat->requests_count, 1);
    expect_text(beat->requests[0].resource.id, "12");

    hf_batch *mixed = batch_of(w, 4);
    add(mixed, BEAT, BY(bob));
    add(mixed, FORCE_RELEASE, ON("page", "19"), .actor = "root", .text = "why");
    add(mixed, BEAT, BY(alice));
    add(mixed, RELEASE, BY(alice), ON("page", "18"));
    run(w, mixed);
    expect_int(answer(mixed, 2, HF_OK)->locks_count, 14);
    expect_int(done(w, BEAT, BY(alice))->locks_count, 13);
}

static const suite_test free_rows_tests[] = {
    TEST(whatever_ended_a_hold_asked_again_ends_no_newer_one),
    TEST(a_forced_release_asked_again_ends_no_newer_one_after_others),
    TEST(a_forced_release_is_remembered_for_a_day),
    TEST(a_session_remembers_its_last_ends),
    TEST(a_run_is_not_taken_for_one_of_its_ends),
    TEST(a_release_all_is_not_taken_for_an_end_before_it),
    TEST(a_run_is_asked_again_as_a_whole),
    TEST(an_old_forced_release_is_forgotten),
    TEST(a_run_that_was_undone_is_not_remembered),
    TEST(a_beat_with_many_locks_counts_them),
    TEST_FILE(a_resource_that_was_never_saved_has_no_row),
    TEST_FILE(a_trace_and_a_version_keep_the_row),
    TEST_FILE(a_fence_is_not_given_again_when_its_reader_leaves),
    TEST_FILE(a_fence_that_only_a_lock_has_counts),
};
THEME(free_rows);
