/* SPDX-License-Identifier: MIT */
/* P3 where the server can't skip a locked row (MySQL before 8.0): its waits are cut short from here, and a batch has its answers within
 * 1.5 s, however many of its ops someone is in the way of. The others are granted. */
#include "server/shop.h"

#define BOUND_US (1500 * MILLISECOND)
#define A(id_)   BY(s->alice), ON("policy", id_)
#define C(id_)   BY(s->carol), ON("policy", id_)

enum { OPS_MAX = 40 };

static char names[OPS_MAX][24]; /* new ones for each sitting */

static bool is_busy(size_t i, size_t every)
{
    return i % every == every - 1;
}

/* s->other sits in an open transaction on every so many of the first `count` resources. Rows that are there are locked, or new ones
 * are made. */
static void sit(shop *s, size_t count, size_t every, bool made)
{
    static unsigned sittings;
    sittings++;
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%u-%zu", sittings, i);
        if (made || !is_busy(i, every))
            continue;
        must(HF_OK, s->plain, ACQUIRE, C(names[i]));
        must(HF_OK, s->plain, RELEASE, C(names[i]));
    }
    app_begin(s->other, READ_COMMITTED);
    for (size_t i = 0; i < count; i++) {
        if (!is_busy(i, every))
            continue;
        if (made)
            must(HF_OK, s->others, ACQUIRE, C(names[i]));
        else
            app_number(s->other,
                       "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '%s' FOR UPDATE",
                       names[i]);
    }
}

/* alice asks for all of them at once. On a machine with much to do the time may be over before each had its turn: `spare` of those
 * that nobody is in the way of may be busy too. More of them, or later, is worth another play. */
static bool granted_in_time(shop *s, size_t count, size_t every, bool made, size_t spare)
{
    size_t late = 0;
    sit(s, count, every, made);
    hf_batch *batch = batch_new(count);
    for (size_t i = 0; i < count; i++)
        add(batch, ACQUIRE, A(names[i]));
    int64_t took_us = execute(s->plain, batch);
    print_message("# %zu ops, every %zu. busy (%s): %lld ms\n", count, every, made ? "made" : "locked",
                  (long long)took_us / 1000);
    for (size_t i = 0; i < count; i++) {
        bool busy = is_busy(i, every);
        if (!busy && hf_batch_op(batch, i)->answer.status == HF_BUSY)
            late++;
        else
            answer(batch, i, busy ? HF_BUSY : HF_OK);
    }
    hf_batch_free(batch);
    app_rollback(s->other);
    must(HF_OK, s->plain, ACQUIRE, A(names[every - 1]));
    return took_us < BOUND_US && late <= spare;
}

static void ask_for_all(shop *s, size_t count, size_t every, bool made, size_t spare)
{
    expect_once(granted_in_time(s, count, every, made, spare));
}

static void ask_for_one(shop *s, bool made)
{
    said got;
    sit(s, 1, 1, made);
    expect_in_time(BOUND_US, "one op", got = must(HF_BUSY, s->plain, ACQUIRE, A(names[0])));
    print_message("# one op (%s): %lld ms\n", made ? "made" : "locked", (long long)got.took_us / 1000);
    app_rollback(s->other);
    must(HF_OK, s->plain, ACQUIRE, A(names[0]));
}

static void one_op_is_busy_in_time(shop *s)
{
    ask_for_one(s, false);
}

static void one_op_that_makes_the_same_anchor_is_busy_in_time(shop *s)
{
    ask_for_one(s, true);
}

static void five_busy_ops_of_twenty_are_busy_in_time(shop *s)
{
    ask_for_all(s, 20, 4, false, 0);
}

static void five_of_twenty_that_make_the_same_anchors_are_busy_in_time(shop *s)
{
    ask_for_all(s, 20, 4, true, 0);
}

static void twenty_busy_ops_of_forty_are_busy_in_time(shop *s)
{
    ask_for_all(s, 40, 2, true, 5);
}

/* A run of ops that stand or fall together is tried as one. */
static bool the_run_alone_is_busy(shop *s)
{
    sit(s, 4, 4, false);
    hf_batch *batch = batch_new(4);
    add(batch, ACQUIRE, A(names[0]));
    add(batch, ACQUIRE, A(names[1]), .linked = true);
    add(batch, ACQUIRE, A(names[3]));
    add(batch, ACQUIRE, A(names[2]));
    bool good = execute(s->plain, batch) < BOUND_US;
    expect_true(hf_batch_op(batch, 1)->answer.status == HF_BUSY ||
                hf_batch_op(batch, 1)->answer.status == HF_NOT_APPLIED);
    answer(batch, 2, HF_BUSY);
    good &= hf_batch_op(batch, 0)->answer.status == HF_OK && hf_batch_op(batch, 3)->answer.status == HF_OK;
    hf_batch_free(batch);
    app_rollback(s->other);
    expect_int(holders(s->plain, names[1]), 0);
    return good;
}

static void a_linked_run_is_busy_as_a_whole(shop *s)
{
    expect_once(the_run_alone_is_busy(s));
}

/* Who has waited in line gets it at once. */
static bool is_granted_when_the_other_commits(shop *s, int after_ms)
{
    sit(s, 1, 1, false);
    app_commit_later(s->other, after_ms);
    said got = ASK(s->plain, ACQUIRE, A(names[0]));
    app_wait(s->other);
    print_message("# committed after %d ms, %s after %lld ms\n", after_ms, hf_status_wire(got.status),
                  (long long)got.took_us / 1000);
    return got.status == HF_OK && got.took_us < BOUND_US;
}

static void when_the_other_commits_in_time_it_is_granted(shop *s)
{
    for (int after_ms = 100; after_ms <= 700; after_ms += 300)
        expect_once(is_granted_when_the_other_commits(s, after_ms));
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        ON_SOME(ON_MYSQL, one_op_is_busy_in_time),
        ON_SOME(ON_MYSQL, one_op_that_makes_the_same_anchor_is_busy_in_time),
        ON_SOME(ON_MYSQL, five_busy_ops_of_twenty_are_busy_in_time),
        ON_SOME(ON_MYSQL, five_of_twenty_that_make_the_same_anchors_are_busy_in_time),
        ON_SOME(ON_MYSQL, twenty_busy_ops_of_forty_are_busy_in_time),
        ON_SOME(ON_MYSQL, a_linked_run_is_busy_as_a_whole),
        ON_SOME(ON_MYSQL, when_the_other_commits_in_time_it_is_granted),
    };
    return SHOP_MAIN("busy on MySQL 5.6", tests, argc, argv);
}
