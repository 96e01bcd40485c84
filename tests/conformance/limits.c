/* SPDX-License-Identifier: MIT */
/* At a limit: a clear error, and nothing is lost. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static hf_credentials *limits_crowd(fixture *w, size_t count)
{
    hf_credentials *people = calloc(count, sizeof *people);
    hf_batch *open = batch_of(w, HF_BATCH_OPS_MAX);
    for (size_t i = 0; i < count; i++) {
        people[i] = draw(w);
        add(open, SESSION_OPEN, BY(people[i]), .user = "reader");
    }
    run_fully(w, open);
    return people;
}

static void a_resource_has_room_for_so_many_readers(fixture *w)
{
    enum { MOST = HF_RESOURCE_HOLDERS_MAX };
    hf_credentials *people = limits_crowd(w, MOST + 1);
    hf_batch *take = batch_of(w, MOST);
    for (size_t i = 0; i < MOST; i++)
        add(take, ACQUIRE, BY(people[i]), ON("policy", "1"), .mode = HF_SHARED);
    run_fully(w, take);
    for (size_t i = 0; i < MOST; i++)
        answer(take, i, HF_OK);
    const hf_answer *no =
        refused(w, HF_TOO_MANY, ACQUIRE, BY(people[MOST]), ON("policy", "1"), .mode = HF_SHARED);
    expect_contains(no->message, "policy/1");
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, MOST);
    done(w, ACQUIRE, BY(people[3]), ON("policy", "1"), .mode = HF_SHARED);
    done(w, RELEASE, BY(people[7]), ON("policy", "1"));
    done(w, ACQUIRE, BY(people[MOST]), ON("policy", "1"), .mode = HF_SHARED);
    free(people);
}

static void a_resource_has_room_for_so_many_requests(fixture *w)
{
    enum { MOST = HF_RESOURCE_REQUESTS_MAX };
    hf_credentials *people = limits_crowd(w, MOST + 2);
    done(w, ACQUIRE, BY(people[MOST + 1]), ON("policy", "1"));
    hf_batch *ask = batch_of(w, MOST);
    for (size_t i = 0; i < MOST; i++)
        add(ask, REQUEST, BY(people[i]), ON("policy", "1"), .text = "please");
    run_fully(w, ask);
    for (size_t i = 0; i < MOST; i++)
        answer(ask, i, HF_OK);
    refused(w, HF_TOO_MANY, REQUEST, BY(people[MOST]), ON("policy", "1"));
    expect_int(done(w, BEAT, BY(people[MOST + 1]))->requests_count, MOST);
    done(w, CLOSE, BY(people[7]));
    done(w, REQUEST, BY(people[MOST]), ON("policy", "1"));
    free(people);
}

/* Who waits already may change what they say: that is not one more. */
static void at_the_limit_a_request_can_still_change_its_message(fixture *w)
{
    enum { MOST = HF_RESOURCE_REQUESTS_MAX };
    hf_credentials *people = limits_crowd(w, MOST + 1);
    done(w, ACQUIRE, BY(people[MOST]), ON("policy", "1"));
    hf_batch *ask = batch_of(w, MOST);
    for (size_t i = 0; i < MOST; i++)
        add(ask, REQUEST, BY(people[i]), ON("policy", "1"), .text = "please");
    run_fully(w, ask);
    done(w, REQUEST, BY(people[3]), ON("policy", "1"), .text = "pretty please");
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, MOST);
    free(people);
}

static bool limits_any_busy(hf_batch *batch)
{
    bool any = false;
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        any |= hf_batch_op(batch, i)->answer.status == HF_BUSY;
    return any;
}

/* Takes `count` locks in full batches, each for so long (0: no bound); the ids have so many digits
 * at least. */
static void take_many(fixture *w, const hf_credentials *who, size_t count, int digits,
                      int64_t ttl_us)
{
    static char ids[HF_BATCH_OPS_MAX][HF_ID_SIZE];
    hf_error err = {0};
    hf_batch *take = NULL;
    expect(HF_OK, hf_batch_new(HF_BATCH_OPS_MAX, &take, &err), err);
    for (size_t from = 0; from < count; from += HF_BATCH_OPS_MAX) {
        hf_batch_clear(take);
        for (size_t i = 0; i < HF_BATCH_OPS_MAX && from + i < count; i++) {
            snprintf(ids[i], sizeof ids[i], "%0*zu", digits, from + i);
            add(take, ACQUIRE, .session = who, ON("policy", ids[i]), .ttl_us = ttl_us);
        }
        expect(HF_OK, hf_store_execute(w->store, take, &err), err);
        for (int again = 0; again < 100 && limits_any_busy(take); again++)
            expect(HF_OK, hf_store_execute(w->store, take, &err), err);
        for (size_t i = 0; i < hf_batch_count(take); i++)
            answer(take, i, HF_OK);
    }
    hf_batch_free(take);
}

/* How many locks one session holds has no limit in a store: what it costs is space. (A server has
 * one, a setting: http/quotas.) */
static void a_session_holds_thousands_of_locks(fixture *w)
{
    size_t many = getenv("HF_TEST_LONG") != NULL ? 100000 : 3000;
    hf_credentials alice = person(w, "alice", "Alice Chen");
    take_many(w, &alice, many, 1, 0);
    expect_int(done(w, BEAT, BY(alice))->locks_count, many);
    expect_int(done(w, CLOSE, BY(alice))->locks_count, many);
    expect_int(done(w, LIST)->locks_count, 0);
}

/* Beyond that the oldest are forgotten. (All of them at once only in memory and in the long suite.)
 * */
static void so_many_losses_are_told(fixture *w)
{
    enum { EARLIER = 40 };
    bool all = getenv("HF_TEST_LONG") != NULL || strncmp(w->url, "memory:", 7) == 0;
    size_t later = all ? HF_SESSION_LOST_MAX - 30 : 100;
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    take_many(w, &alice, EARLIER, 6, MINUTE);
    clock_forward(w, MINUTE);
    expect_int(sweep_all(w, 0), EARLIER);
    expect_int(done(w, BEAT, BY(alice))->lost_count, EARLIER);
    take_many(w, &alice, later, 1, MINUTE);
    clock_forward(w, MINUTE);
    expect_int(sweep_all(w, 0), later);
    for (int again = 0; again < 2; again++) {
        const hf_answer *beat = done(w, BEAT, BY(alice));
        size_t earlier = 0;
        for (size_t i = 0; i < beat->lost_count; i++)
            earlier += strlen(beat->lost[i].resource.id) == 6;
        expect_int(earlier, all ? 30 : EARLIER);
        expect_int(beat->lost_count, later + earlier);
    }
}

/* All in one sweep, with the longest names. */
static void thousands_of_anchors_that_nobody_needs_are_swept_at_once(fixture *w)
{
    size_t many = getenv("HF_TEST_LONG") != NULL ? HF_SWEEP_MAX - 1 : 2500;
    hf_credentials alice = person(w, "alice", "Alice Chen");
    take_many(w, &alice, many, HF_ID_MAX, 0);
    expect_int(done(w, CLOSE, BY(alice))->locks_count, many);
    clock_forward(w, HF_KEEP_US + 1);
    const hf_answer *swept = done(w, SWEEP, .limit = HF_SWEEP_MAX);
    expect_int(swept->swept, (w->at->drops_free ? 0 : many) + 1); /* and the session */
    expect_true(!swept->more);
    expect_int(done(w, SWEEP, .limit = HF_SWEEP_MAX)->swept, 0);
}

/* Anchors with the longest names, which differ in their last byte alone. A forced release keeps
 * them for a day. */
static void take_longest(fixture *w, const hf_credentials *who, int count, bool forced)
{
    char type[HF_TYPE_SIZE] = "", id[HF_ID_SIZE] = "";
    memset(type, 't', HF_TYPE_MAX);
    memset(id, 'i', HF_ID_MAX);
    memcpy(id + HF_ID_MAX - HF_TYPE_MAX - 2, "\xc3\xa4",
           2); /* where a resource of HF_ID_MAX would be cut */
    for (int i = 0; i < count; i++) {
        id[HF_ID_MAX - 1] = (char)('0' + i);
        done(w, ACQUIRE, BY(*who), ON(type, id));
        if (forced)
            done(w, FORCE_RELEASE, ON(type, id), .actor = "root", .text = "why",
                 .request_id = "f1");
    }
}

/* A walk that goes on where the last one stopped finds its way by the longest names too. */
static void the_longest_names_are_swept_one_at_a_time(fixture *w)
{
    enum { MANY = 3 };
    hf_credentials alice = person(w, "alice", "Alice Chen");
    take_longest(w, &alice, MANY, true);
    done(w, CLOSE, BY(alice));
    clock_forward(w, HF_KEEP_US + 1);
    size_t swept = 0;
    for (int i = 0; i < 20; i++)
        swept += done(w, SWEEP, .limit = 1)->swept;
    expect_int(swept, MANY + 1); /* and the session */
}

static void a_sweep_gets_past_the_longest_names_that_are_held(fixture *w)
{
    enum { MANY = 3 };
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", 3 * DAY);
    take_longest(w, &alice, MANY, false);
    done(w, ACQUIRE, BY(alice), ON("u", "free")); /* behind them */
    done(w, FORCE_RELEASE, ON("u", "free"), .actor = "root", .text = "why", .request_id = "f1");
    clock_forward(w, HF_KEEP_US + 1);
    expect_int(sweep_all(w, 1), 1);
    expect_int(sweep_all(w, 1), 0);
    expect_int(done(w, BEAT, BY(alice))->locks_count, MANY);
}

static void a_page_has_a_largest_size(fixture *w)
{
    refused(w, HF_INVALID, LIST, .limit = HF_LIST_MAX + 1);
    refused(w, HF_INVALID, SESSIONS, .limit = HF_LIST_MAX + 1);
    refused(w, HF_INVALID, EVENTS, .limit = HF_LIST_MAX + 1);
    refused(w, HF_INVALID, SWEEP, .limit = HF_SWEEP_MAX + 1);
    done(w, LIST, .limit = HF_LIST_MAX);
    done(w, SESSIONS, .limit = HF_LIST_MAX);
    done(w, EVENTS, .limit = HF_LIST_MAX);
    done(w, SWEEP, .limit = HF_SWEEP_MAX);
}

static const suite_test limits_tests[] = {
    TEST(a_resource_has_room_for_so_many_readers),
    TEST(a_resource_has_room_for_so_many_requests),
    TEST(at_the_limit_a_request_can_still_change_its_message),
    TEST(a_session_holds_thousands_of_locks),
    TEST(so_many_losses_are_told),
    TEST(thousands_of_anchors_that_nobody_needs_are_swept_at_once),
    TEST(the_longest_names_are_swept_one_at_a_time),
    TEST(a_sweep_gets_past_the_longest_names_that_are_held),
    TEST(a_page_has_a_largest_size),
};
THEME(limits);
