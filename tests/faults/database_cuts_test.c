/* SPDX-License-Identifier: MIT */
/* Connections that are cut while a store talks to its server, by a proxy between them: before a
 * commit arrives, before its answer does, and after any number of bytes. The answer is right or
 * unsure, asking again settles it, and the next call finds its way. The argument names the server.
 * */
#include "faults/database_fixture.h"
#include "faults/setting.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(...)   check_failed(__FILE__, __LINE__, __VA_ARGS__)
#define CALL_MAX_US (15 * SECOND)

static int64_t server_cuts_events(scene *s, const char *kind, const char *id)
{
    return app_number(
        s->admin,
        "SELECT count(*) FROM {event} WHERE kind = '%s' AND coalesce(resource_id, '') = '%s'", kind,
        id);
}

/* ---- commits ---- */

/* One op of each kind that changes something, and the event that tells of it. A row's names are
 * filled in for each run. */
typedef struct change {
    hf_op_kind kind;
    const char *event;
    bool needs_lock; /* alice's */
    bool of_session;
    bool again_tells_again; /* a renewal that is repeated is a second one */
} change;

static const change changes[] = {
    {HF_OP_SESSION_OPEN, "session_opened", false, true, false},
    {HF_OP_ACQUIRE, "acquired", false, false, false},
    {HF_OP_RENEW, "renewed", true, false, true},
    {HF_OP_DOWNGRADE, "downgraded", true, false, false},
    {HF_OP_HAND_OVER, "handed_over", true, false, false},
    {HF_OP_FORCE_RELEASE, "forced", true, false, false},
    {HF_OP_RELEASE, "released", true, false, false},
    {HF_OP_RELEASE_ALL, "released", true, false, false},
    {HF_OP_CLOSE, "session_closed", false, true, false},
};
enum { CHANGES = sizeof changes / sizeof *changes };

typedef struct asking {
    hf_credentials who;
    char id[16], request[32];
    hf_op op;
} asking;

/* Makes ready what a change needs, behind the proxy, and writes it out. */
static void server_cuts_prepare(scene *s, const change *c, asking *a)
{
    unsigned number = ++s->number;
    snprintf(a->id, sizeof a->id, "%06u", number);
    snprintf(a->request, sizeof a->request, "request-%06u", number);
    a->who = s->alice;
    if (c->kind == HF_OP_SESSION_OPEN || c->kind == HF_OP_CLOSE || c->kind == HF_OP_RELEASE_ALL)
        a->who = drawn();
    if (c->kind == HF_OP_CLOSE || c->kind == HF_OP_RELEASE_ALL)
        must(HF_OK, s->direct, SESSION_OPEN, BY(a->who), .user = "carol", .idle_us = HOUR);
    if (c->needs_lock)
        must(HF_OK, s->direct, ACQUIRE, BY(a->who), ON("policy", a->id));
    a->op = (hf_op){.kind = c->kind, .session = &a->who, .request_id = a->request};
    if (c->kind == HF_OP_SESSION_OPEN) {
        a->op.user = "carol";
        a->op.idle_us = HOUR;
    } else if (!c->of_session && c->kind != HF_OP_RELEASE_ALL) {
        a->op.type = "policy";
        a->op.id = a->id;
    }
    if (c->kind == HF_OP_HAND_OVER)
        a->op.target = s->bob.id;
    if (c->kind == HF_OP_FORCE_RELEASE) {
        a->op.session = NULL;
        a->op.actor = "dave";
        a->op.text = "because";
    }
    if (c->kind == HF_OP_RENEW)
        a->op.ttl_us = HOUR;
}

/* How often it was done. */
static int64_t times_done(scene *s, const change *c, const asking *a)
{
    if (!c->of_session)
        return server_cuts_events(s, c->event, a->id);
    return app_number(s->admin, "SELECT count(*) FROM {event} WHERE kind = '%s' AND session = '%s'",
                      c->event, a->who.id);
}

typedef struct tally {
    size_t of[HF_STATUS_COUNT];
    int64_t slowest_us;
} tally;

static void server_cuts_count(tally *t, const said *answer)
{
    t->of[answer->status]++;
    t->slowest_us = answer->took_us > t->slowest_us ? answer->took_us : t->slowest_us;
    if (answer->took_us > CALL_MAX_US)
        FAIL("a call took %.1f s", (double)answer->took_us / 1e6);
}

/* The first answer is right or unsure; asked again with the same request id it is done, and was
 * done once. */
static void server_cuts_judge(scene *s, const change *c, const asking *a, const said *first,
                              const char *when)
{
    const char *what = hf_op_kind_name(c->kind);
    int64_t done = times_done(s, c, a);
    if (first->status != HF_OK && first->status != HF_UNSURE && first->status != HF_UNAVAILABLE)
        FAIL("%s, %s came to %s: %s", when, what, hf_status_wire(first->status), first->message);
    if (first->status == HF_OK && done != 1)
        FAIL("%s, %s is told as done; it was done %lld times", when, what, (long long)done);
    if (first->status == HF_UNAVAILABLE && done != 0)
        FAIL("%s, %s is told as not done; it was done %lld times", when, what, (long long)done);
    if (done > 1)
        FAIL("%s, %s was done %lld times", when, what, (long long)done);
    if (first->status != HF_OK && !first->message[0])
        FAIL("%s, %s came to %s without a sentence", when, what, hf_status_wire(first->status));
    said again = ask_op(s->through, &a->op);
    while (again.status == HF_BUSY) /* the server has not noticed yet that a connection is gone */
        again = ask_op(s->through, &a->op);
    if (again.status != HF_OK)
        FAIL("%s, %s asked again came to %s: %s", when, what, hf_status_wire(again.status),
             again.message);
    done = times_done(s, c, a);
    if (done != 1 && !(c->again_tells_again && done == 2))
        FAIL("%s, %s, asked again, was done %lld times", when, what, (long long)done);
    if (first->status == HF_OK && c->kind == HF_OP_ACQUIRE && first->lock.fence != again.lock.fence)
        FAIL("%s, the fence was %lld and is %lld", when, (long long)first->lock.fence,
             (long long)again.lock.fence);
}

static void cut_commits(scene *s, proxy_when when, tally *t)
{
    for (size_t i = 0; i < CHANGES; i++) {
        asking a;
        server_cuts_prepare(s, &changes[i], &a);
        proxy_cut(s->proxy); /* so that the texts are sent again, and the pattern with them */
        size_t sprung = proxy_sprung(s->proxy);
        proxy_cut_at(s->proxy, PROXY_UP, s->before_commit, when);
        said first = ask_op(s->through, &a.op);
        if (!proxy_wait_sprung(s->proxy, sprung, 2000))
            FAIL("no commit of %s was seen", hf_op_kind_name(changes[i].kind));
        server_cuts_count(t, &first);
        server_cuts_judge(s, &changes[i], &a, &first,
                          when == PROXY_BEFORE ? "cut before a commit" : "cut after a commit");
    }
}

static void a_commit_that_never_arrived_is_not_told_as_done(void **state)
{
    scene *s = *state;
    tally t = {0};
    for (size_t i = 0; i < setting_amount("HF_TEST_CUTS", 1, 30); i++)
        cut_commits(s, PROXY_BEFORE, &t);
    printf("# %zu right, %zu unsure, %zu unavailable\n", t.of[HF_OK], t.of[HF_UNSURE],
           t.of[HF_UNAVAILABLE]);
}

static void a_commit_whose_answer_was_lost_is_not_told_as_failed(void **state)
{
    scene *s = *state;
    tally t = {0};
    for (size_t i = 0; i < setting_amount("HF_TEST_CUTS", 1, 30); i++)
        cut_commits(s, PROXY_AFTER, &t);
    printf("# %zu right, %zu unsure, %zu unavailable\n", t.of[HF_OK], t.of[HF_UNSURE],
           t.of[HF_UNAVAILABLE]);
    expect_int(t.of[HF_UNAVAILABLE], 0);
    expect_true(t.of[HF_UNSURE] > 0);
}

/* ---- what is told of a call that was run again ---- */

/* An error is filled only when something failed. */
static void a_call_that_went_well_at_last_leaves_no_error_behind(void **state)
{
    scene *s = *state;
    hf_error err = {0};
    hf_batch *batch = batch_new(1);
    for (int i = 0; i < 2; i++) {
        hf_batch_clear(batch);
        add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"), .request_id = "again");
        if (i == 1)
            proxy_cut_after(s->proxy, PROXY_DOWN,
                            10); /* of the first answer: it is run again on another connection */
        expect(HF_OK, hf_store_execute(s->through, batch, &err), err);
        expect_text(err.message, "");
    }
    expect_int(proxy_sprung(s->proxy), 1);
    hf_batch_free(batch);
}

/* ---- after any number of bytes ---- */

/* Makes the connection one that has sent everything before: what is used a third time is known by
 * name. */
static void server_cuts_warm_up(scene *s)
{
    for (int i = 0; i < (scene_server->postgres ? 3 : 1); i++) {
        must(HF_OK, s->through, ACQUIRE, BY(s->bob), ON("policy", "warm"),
             .request_id = "request-warming");
        must(HF_OK, s->through, RELEASE, BY(s->bob), ON("policy", "warm"),
             .request_id = "request-warming");
    }
}

static const change *sweeping(unsigned i)
{
    return &changes[i % 2 ? 6 : 1]; /* a release, an acquire */
}

/* One op with a cut after so many bytes. False: it needs fewer. */
static bool cut_after(scene *s, unsigned which, proxy_way way, bool cold, size_t bytes, tally *t)
{
    asking a;
    char when[80];
    const change *c = sweeping(which);
    server_cuts_prepare(s, c, &a);
    if (cold)
        proxy_cut(s->proxy);
    else
        server_cuts_warm_up(s);
    size_t sprung = proxy_sprung(s->proxy);
    proxy_cut_after(s->proxy, way, bytes);
    said first = ask_op(s->through, &a.op);
    proxy_cut_never(s->proxy);
    bool cut = proxy_sprung(s->proxy) > sprung;
    snprintf(when, sizeof when, "cut after %zu bytes %s, %s", bytes,
             way == PROXY_UP ? "up" : "down", cold ? "cold" : "warm");
    if (first.status == HF_BUSY)
        first = ask_op(s->through, &a.op);
    server_cuts_count(t, &first);
    server_cuts_judge(s, c, &a, &first, when);
    return cut;
}

/* How many bytes an op needs. */
static size_t server_cuts_measure(scene *s, unsigned which, proxy_way way, bool cold)
{
    asking a;
    server_cuts_prepare(s, sweeping(which), &a);
    if (cold)
        proxy_cut(s->proxy);
    else
        server_cuts_warm_up(s);
    size_t before = proxy_passed(s->proxy, way);
    said done = ask_op(s->through, &a.op);
    expect_status(HF_OK, done.status, done.message);
    return proxy_passed(s->proxy, way) - before;
}

enum { TAIL = 96 }; /* the end of what goes up holds the commit, of what comes down its answer */

/* In strides up to the tail, and through that in smaller ones. */
static size_t next_cut(size_t at, size_t all, size_t stride)
{
    size_t fine = setting_amount("HF_TEST_CUT_STRIDE", 13, 1), tail = all > TAIL ? all - TAIL : 1;
    if (at >= tail)
        return at + fine;
    return at + stride < tail ? at + stride : tail;
}

static void sweep(scene *s, unsigned which, proxy_way way, bool cold)
{
    tally t = {0};
    size_t cuts = 0, all = server_cuts_measure(s, which, way, cold),
           steps = setting_amount("HF_TEST_CUT_STEPS", 5, 250);
    for (size_t at = 1; at <= all; at = next_cut(at, all, all / steps + 1))
        cuts += cut_after(s, which, way, cold, at, &t);
    printf("# %s, %s, %s: %zu bytes, %zu cuts: %zu right, %zu unsure, %zu unavailable; at most "
           "%.2f s\n",
           hf_op_kind_name(sweeping(which)->kind), way == PROXY_UP ? "up" : "down",
           cold ? "cold" : "warm", all, cuts, t.of[HF_OK], t.of[HF_UNSURE], t.of[HF_UNAVAILABLE],
           (double)t.slowest_us / 1e6);
    expect_true(cuts >= 4);
    if (!cold)
        expect_int(t.of[HF_UNAVAILABLE], 0); /* another connection could be had */
}

static void cuts_after_any_number_of_bytes_leave_right_or_unsure_answers(void **state)
{
    scene *s = *state;
    for (unsigned which = 0; which < 2; which++)
        for (int cold = 0; cold < 2; cold++) {
            sweep(s, which, PROXY_UP, cold);
            sweep(s, which, PROXY_DOWN, cold);
        }
}

/* ---- reading events ---- */

/* The store gives numbers in a transaction of its own, which may be cut as any other: the reader
 * looks again. */
static void a_reader_of_events_is_never_unsure(void **state)
{
    scene *s = *state;
    static const proxy_when whens[] = {PROXY_BEFORE, PROXY_AFTER};
    int64_t last = must(HF_OK, s->direct, EVENTS, .limit = 1).last_seq;
    for (size_t i = 0; i < 2; i++) {
        must(HF_OK, s->direct, ACQUIRE, BY(s->alice), ON("policy", i == 0 ? "1" : "2"));
        proxy_cut(s->proxy); /* so that the text is sent again */
        size_t sprung = proxy_sprung(s->proxy);
        proxy_cut_at(s->proxy, PROXY_UP,
                     scene_server->postgres ? "event e SET seq" : "UPDATE seq =", whens[i]);
        said got = must(HF_OK, s->through, EVENTS, .after_seq = last);
        expect_int(proxy_sprung(s->proxy), sprung + 1);
        expect_int(got.events_count, 1);
        expect_int(got.last_seq, ++last);
    }
}

static void *server_cuts_let_go(void *way)
{
    rest_ms(1300); /* longer than a store waits for others */
    proxy_go_on(way);
    return NULL;
}

/* However long it took to get there, who reads numbers what is new. */
static void a_reader_that_was_slow_to_connect_finds_what_was_acknowledged(void **state)
{
    scene *s = *state;
    pthread_t thread;
    int64_t last = must(HF_OK, s->direct, EVENTS, .limit = 1).last_seq;
    must(HF_OK, s->direct, ACQUIRE, BY(s->alice), ON("policy", "1"));
    proxy_cut(s->proxy);
    proxy_hold(s->proxy, PROXY_BOTH);
    expect_int(pthread_create(&thread, NULL, server_cuts_let_go, s->proxy), 0);
    said got = ASK(s->through, EVENTS, .after_seq = last);
    expect_int(pthread_join(thread, NULL), 0);
    expect_status(HF_OK, got.status, got.message);
    expect_true(got.took_us > SECOND);
    expect_int(got.events_count, 1);
}

/* ---- nobody listens ---- */

static void a_refused_connection_is_told_at_once_and_by_name(void **state)
{
    scene *s = *state;
    hf_error err = {0};
    hf_store *store = NULL;
    char port[16];
    snprintf(port, sizeof port, "%d", proxy_port(s->proxy));
    must(HF_OK, s->through, BEAT, BY(s->alice));
    proxy_refuse(s->proxy, true);
    proxy_cut(s->proxy);
    said no;
    expect_in_time(SECOND, "a call",
                   no = must(HF_UNAVAILABLE, s->through, ACQUIRE, BY(s->alice), ON("policy", "1"),
                             .request_id = "refused"));
    expect_in_time(SECOND, "opening",
                   expect(HF_UNAVAILABLE, hf_store_open(s->url, &store, &err), err));
    const char *const sentences[] = {no.message, err.message};
    for (int i = 0; i < 2; i++) {
        expect_contains(sentences[i], "127.0.0.1");
        expect_contains(sentences[i], port);
        expect_contains(sentences[i], "the database test");
        expect_lacks(sentences[i], ":" TARGET_PASSWORD);
        expect_true(sentences[i][strlen(sentences[i]) - 1] == '.');
    }
    expect_int(must(HF_OK, s->direct, WHO, ON("policy", "1")).locks_count, 0);
    proxy_refuse(s->proxy, false);
    must(HF_OK, s->through, ACQUIRE, BY(s->alice), ON("policy", "1"), .request_id = "refused");
    expect_int(must(HF_OK, s->direct, WHO, ON("policy", "1")).locks_count, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCENE(a_commit_that_never_arrived_is_not_told_as_done),
        SCENE(a_commit_whose_answer_was_lost_is_not_told_as_failed),
        SCENE(a_call_that_went_well_at_last_leaves_no_error_behind),
        SCENE(cuts_after_any_number_of_bytes_leave_right_or_unsure_answers),
        SCENE(a_reader_of_events_is_never_unsure),
        SCENE(a_reader_that_was_slow_to_connect_finds_what_was_acknowledged),
        SCENE(a_refused_connection_is_told_at_once_and_by_name),
    };
    return SCENE_MAIN("cuts", tests, argc, argv);
}
