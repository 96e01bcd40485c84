/* SPDX-License-Identifier: MIT */
/* P3: nobody waits for a holder, nor for long for whoever sits in an uncommitted change. What can't
 * be done because of that is answered "busy" in time, its neighbours go ahead but for what has to
 * come after it, the time is the batch's and not each op's, and it is done after all when the other
 * one commits soon. */
#include "database/shop.h"

#include "base/buffer.h"
#include "base/seams.h"
#include "lock/batch.h"
#include "sql/database_statements.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define A(id_) BY(s->alice), ON("policy", id_)
#define B(id_) BY(s->bob), ON("policy", id_)
#define C(id_) BY(s->carol), ON("policy", id_)

/* ---- ways to be in the way: all leave s->other in a transaction ---- */

/* carol held it and lets it go, not committed. */
static void an_old_anchor(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, C("1"));
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, RELEASE, C("1"));
}

/* carol takes and lets go what was never locked before. */
static void a_new_anchor(shop *s)
{
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, ACQUIRE, C("1"));
    must(HF_OK, s->others, RELEASE, C("1"));
}

/* Someone who knows nothing of holdfast has a look at the tables. */
static void raw_sql(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, C("1"));
    must(HF_OK, s->plain, RELEASE, C("1"));
    app_begin(s->other, READ_COMMITTED);
    app_number(s->other,
               "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '1' FOR UPDATE");
}

/* carol looks dead: her closing is on its way. */
static void a_dying_session(shop *s)
{
    int64_t idle_us = 100 * MILLISECOND;
    s->carol = brief_holder(s->plain, "carol", &idle_us, "1");
    app_begin(s->other, READ_COMMITTED);
    app_number(s->other, "SELECT rev FROM {session} WHERE id = '%s' FOR UPDATE", s->carol.id);
    rest_ms(idle_us / MILLISECOND + 50);
}

/* Someone at REPEATABLE READ has looked for a lock that is not there, as it is now: on MySQL nobody
 * else writes where it would be. */
static void a_gap(shop *s)
{
    s->carol = newcomer(s->plain, "carol", HOUR);
    must(HF_OK, s->plain, ACQUIRE, C("05"));
    must(HF_OK, s->plain, ACQUIRE, C("15"));
    must(HF_OK, s->plain, ACQUIRE, C("1"));
    must(HF_OK, s->plain, RELEASE, C("1"));
    app_begin(s->other, REPEATABLE_READ);
    app_number(s->other,
               "SELECT count(*) FROM {lock} WHERE type = 'policy' AND id = '1' FOR UPDATE");
}

typedef struct sitting {
    const char *name;
    void (*begin)(shop *s);
} sitting;

static const sitting sittings[] = {
    {"an old anchor", an_old_anchor},
    {"a new anchor", a_new_anchor},
    {"raw SQL", raw_sql},
    {"a dying session", a_dying_session},
    {"a gap", a_gap},
};

/* PostgreSQL has no gaps. */
static size_t sittings_of(const shop *s)
{
    size_t count = sizeof sittings / sizeof *sittings;
    return s->engine == ON_POSTGRES ? count - 1 : count;
}

static void busy_sweep_up(shop *s)
{
    static const char *const tables[] = {"resource", "lock", "request", "lost"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "DELETE FROM {%s}", tables[i]);
        app_do(s->other, "%s", sql);
    }
}

/* ---- one op ---- */

/* Asks what someone is in the way of, which is to be told in time. */
#define busy(what, store, op, ...)                                                                 \
    busy_op(s, (what), (store), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, __LINE__)
static void busy_op(const shop *s, const char *what, hf_store *store, const hf_op *op, int line)
{
    said got;
    expect_in_time(busy_max_us(s), what, got = must_op(HF_BUSY, store, op, what, __FILE__, line));
    expect_true(got.message[0] != '\0');
}

static void acquiring_is_busy_in_time(shop *s)
{
    for (size_t i = 0; i < sittings_of(s); i++) {
        sittings[i].begin(s);
        busy(sittings[i].name, s->plain, ACQUIRE, A("1"));
        busy(sittings[i].name, s->store, ACQUIRE, A("1"));
        expect_true(!app_in_transaction(s->app));
        app_rollback(s->other);
        busy_sweep_up(s);
    }
}

static void gets_the_next_one(const shop *s, const sitting *beside)
{
    said got = ASK(s->store, ACQUIRE, A("2"));
    if (got.status != HF_OK)
        check_failed(__FILE__, __LINE__, "beside %s: policy/2 came to %s after %lld ms: %s",
                     beside->name, hf_status_wire(got.status), (long long)got.took_us / 1000,
                     got.message);
}

static void acquiring_in_a_transaction_is_busy_in_time(shop *s)
{
    for (size_t i = 0; i < sittings_of(s); i++) {
        sittings[i].begin(s);
        app_begin(s->app, s->level);
        busy(sittings[i].name, s->store, ACQUIRE, A("1"));
        gets_the_next_one(s, &sittings[i]);
        app_do(s->app, "INSERT INTO {app} VALUES (%zu, 'alice')", i);
        expect_true(app_commit(s->app));
        expect_int(holders(s->plain, "2"), 1);
        app_rollback(s->other);
        busy_sweep_up(s);
    }
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), sittings_of(s));
}

/* The other one commits while alice waits. */
static said ask_meanwhile(shop *s, hf_store *store)
{
    app_commit_later(s->other, 200);
    said got = ASK(store, ACQUIRE, A("1"));
    app_wait(s->other);
    int64_t most = most_holders(s->other);
    expect_true(most == 1 || (most == 0 && got.status == HF_BUSY));
    return got;
}

static bool is_granted_after_all(shop *s, const sitting *it, hf_store *store)
{
    it->begin(s);
    said got = ask_meanwhile(s, store);
    busy_sweep_up(s);
    bool good =
        got.status == HF_OK && got.took_us >= 150 * MILLISECOND && got.took_us < busy_max_us(s);
    if (!good)
        print_message("# %s: %s after %lld ms: %s\n", it->name, hf_status_wire(got.status),
                      (long long)got.took_us / 1000, got.message);
    return good;
}

static void when_the_other_commits_soon_it_is_granted_after_all(shop *s)
{
    for (size_t i = 0; i < sittings_of(s); i++)
        for (int own = 0; own < 2; own++)
            expect_once(is_granted_after_all(s, &sittings[i], own ? s->store : s->plain));
}

/* The same, but what the other did stands in the way. */
static bool is_refused_after_all(shop *s, bool anchored)
{
    busy_sweep_up(s);
    if (anchored) {
        must(HF_OK, s->plain, ACQUIRE, B("1"));
        must(HF_OK, s->plain, FORCE_RELEASE, ON("policy", "1"), .text = "because",
             .actor = "chief");
    }
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, ACQUIRE, C("1"));
    said got = ask_meanwhile(s, s->plain);
    if (got.status != HF_BUSY) {
        expect_status(HF_LOCKED, got.status, got.message);
        expect_text(got.lock.session, s->carol.id);
    }
    return got.status == HF_LOCKED;
}

static void when_the_others_grant_is_committed_it_is_refused(shop *s)
{
    expect_once(is_refused_after_all(s, false));
    expect_once(is_refused_after_all(s, true));
}

static void busy_look(shop *s, hf_store *store)
{
    said who = must(HF_OK, store, WHO, ON("policy", "1"));
    expect_text(who.lock.session, s->bob.id);
    must(HF_OK, store, HOLDS, B("1"));
    must(HF_NOT_HELD, store, HOLDS, C("1"));
    must(HF_OK, store, LIST, .limit = 10);
    must(HF_OK, store, EVENTS, .limit = 10);
    must(HF_OK, store, SESSIONS, .limit = 10);
}

/* Those who look get what is committed, at once. */
static void looking_waits_for_nobody(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, FORCE_RELEASE, ON("policy", "1"), .text = "because", .actor = "chief");
    must(HF_OK, s->others, ACQUIRE, C("1"));
    expect_in_time(SECOND / 2, "looking by URL", busy_look(s, s->plain));
    expect_in_time(SECOND / 2, "looking on the application's connection", busy_look(s, s->store));
    app_rollback(s->other);
}

/* ---- several ops ---- */

/* On an application's own connection MySQL waits a second or two behind who is just making a row:
 * the whole batch is busy. */
static int handles_that_part(const shop *s)
{
    return s->engine == ON_MYSQL ? 1 : 2;
}

/* So it does behind a gap, which comes with the commit. */
static size_t sittings_that_part(const shop *s)
{
    size_t count = sittings_of(s);
    return s->engine == ON_MYSQL ? count - 1 : count;
}

/* Of a run that could not be tried in time each is busy. */
static bool go_ahead(shop *s, hf_store *store)
{
    hf_batch *batch = batch_new(6);
    add(batch, ACQUIRE, A("0"));
    add(batch, ACQUIRE, A("1"));
    add(batch, ACQUIRE, B("2"), .linked = true);
    add(batch, ACQUIRE, B("1"));
    add(batch, ACQUIRE, B("3"), .linked = true);
    add(batch, ACQUIRE, B("4"));
    bool good = execute(store, batch) < busy_max_us(s);
    answer(batch, 1, HF_BUSY);
    if (hf_batch_op(batch, 2)->answer.status != HF_BUSY)
        answer(batch, 2, HF_NOT_APPLIED);
    answer(batch, 3, HF_BUSY);
    static const size_t neighbours[] = {0, 4, 5};
    for (size_t i = 0; i < 3; i++)
        good &= hf_batch_op(batch, neighbours[i])->answer.status == HF_OK;
    hf_batch_free(batch);
    expect_int(holders(s->plain, "2"), 0);
    return good && holders(s->plain, "0") + holders(s->plain, "3") + holders(s->plain, "4") == 3;
}

static bool neighbours_of_one_go_ahead(shop *s, const sitting *it, hf_store *store)
{
    it->begin(s);
    bool good = go_ahead(s, store);
    app_rollback(s->other);
    busy_sweep_up(s);
    return good;
}

static void neighbours_go_ahead(shop *s)
{
    for (size_t i = 0; i < sittings_that_part(s); i++)
        for (int own = 0; own < handles_that_part(s); own++)
            expect_once(neighbours_of_one_go_ahead(s, &sittings[i], own ? s->store : s->plain));
}

/* Neighbours are not only granted in the end: they are while the busy ones are still tried. */
typedef struct watch {
    shop *s;
    pthread_t thread;
    hf_batch *batch;
    hf_status status;
    hf_error err;
    int64_t took_us;
} watch;

static void *execute_main(void *argument)
{
    watch *w = argument;
    int64_t before_us = now_us();
    w->status = hf_store_execute(w->s->plain, w->batch, &w->err);
    w->took_us = now_us() - before_us;
    return NULL;
}

static bool seen_soon(shop *s, size_t busy_one)
{
    an_old_anchor(s);
    watch w = {.s = s, .batch = batch_new(2)};
    add(w.batch, ACQUIRE, A(busy_one == 0 ? "1" : "0"));
    add(w.batch, ACQUIRE, A(busy_one == 0 ? "0" : "1"));
    expect_int(pthread_create(&w.thread, NULL, execute_main, &w), 0);
    int64_t before_us = now_us(), seen_us = 0;
    while (seen_us == 0 && now_us() - before_us < 3 * SECOND) {
        if (app_number(s->app, "SELECT count(*) FROM {lock} WHERE id = '0'") == 1)
            seen_us = now_us() - before_us;
        rest_ms(5);
    }
    expect_int(pthread_join(w.thread, NULL), 0);
    expect(HF_OK, w.status, w.err);
    answer(w.batch, 1 - busy_one, HF_OK);
    answer(w.batch, busy_one, HF_BUSY);
    hf_batch_free(w.batch);
    app_rollback(s->other);
    busy_sweep_up(s);
    return seen_us > 0 && seen_us < w.took_us / 2;
}

static void neighbours_do_not_wait_for_the_busy_ones(shop *s)
{
    for (size_t busy_one = 0; busy_one < 2; busy_one++)
        expect_once(seen_soon(s, busy_one));
}

static void many_busy_ops_take_no_longer_than_one(shop *s)
{
    enum { COUNT = 20 };
    char names[2 * COUNT][16];
    app_begin(s->other, READ_COMMITTED);
    for (int i = 0; i < 2 * COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        if (i % 2 == 0)
            must(HF_OK, s->others, ACQUIRE, C(names[i]));
    }
    for (int own = 0; own < 2; own++) {
        hf_batch *batch = batch_new(2 * (size_t)COUNT);
        for (int i = 0; i < 2 * COUNT; i++)
            add(batch, ACQUIRE, A(names[i]));
        expect_in_time(busy_max_us(s), "20 busy ops", execute(own ? s->store : s->plain, batch));
        for (size_t i = 0; i < 2 * (size_t)COUNT; i++)
            answer(batch, i, i % 2 == 0 ? HF_BUSY : HF_OK);
        hf_batch_free(batch);
    }
    app_rollback(s->other);
}

/* More ops than go into one transaction, two of which someone is in the way of. */
static void run_large_batch(shop *s, int64_t since_us)
{
    enum { COUNT = 700 };
    static char names[COUNT][24];
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, ACQUIRE, C("5"));
    must(HF_OK, s->others, ACQUIRE, C("600"));
    hf_batch *batch = batch_new(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        add(batch, ACQUIRE, A(names[i]));
    }
    batch->since_us = since_us;
    execute(s->plain, batch);
    for (size_t i = 0; i < COUNT; i++)
        if (i == 5 || i == 600)
            answer(batch, i, HF_BUSY);
        else
            answer(batch, i, HF_OK);
    hf_batch_free(batch);
    app_rollback(s->other);
    expect_int(app_number(s->app, "SELECT count(*) FROM {lock}"), COUNT - 2);
}

static void a_large_batch_with_a_few_busy_ones(shop *s)
{
    run_large_batch(s, 0);
}

/* Its time was over before it was begun: who is in nobody's way does not pay for that. */
static void neighbours_go_ahead_late_as_it_is(shop *s)
{
    run_large_batch(s, hf_seam.boot_us() - 5 * SECOND);
}

/* ---- in order ---- */

/* alice holds policy/1, which someone is in the middle of, and policy/2; bob and carol hold
 * nothing. What each batch comes to is the same as if nobody were in the way, which the memory
 * store tells. */
typedef struct in_turn {
    const char *name;
    void (*fill)(shop *s, hf_batch *batch, const hf_credentials *next);
} in_turn;

static void release_all_then_acquire(shop *s, hf_batch *batch, const hf_credentials *next)
{
    (void)next;
    add(batch, RELEASE_ALL, BY(s->alice));
    add(batch, ACQUIRE, A("3"));
    add(batch, REQUEST, B("3"));
    add(batch, BEAT, BY(s->alice));
}

static void replace_then_acquire(shop *s, hf_batch *batch, const hf_credentials *next)
{
    add(batch, SESSION_OPEN, .session = next, .user = "alice", .replaces = &s->alice);
    add(batch, ACQUIRE, .session = next, ON("policy", "3"));
    add(batch, BEAT, .session = next);
}

static void close_then_others_acquire(shop *s, hf_batch *batch, const hf_credentials *next)
{
    (void)next;
    add(batch, CLOSE, BY(s->alice));
    add(batch, ACQUIRE, B("2"));
    add(batch, SESSION_FIND, BY(s->alice));
}

/* What it is to give back it only gets in the same batch. */
static void acquire_then_release_all(shop *s, hf_batch *batch, const hf_credentials *next)
{
    (void)next;
    add(batch, ACQUIRE, A("3"));
    add(batch, RELEASE_ALL, BY(s->alice));
    add(batch, ACQUIRE, B("3"));
}

static void a_run_then_others_acquire(shop *s, hf_batch *batch, const hf_credentials *next)
{
    (void)next;
    add(batch, RELEASE, A("2"), .linked = true);
    add(batch, RELEASE, A("1"));
    add(batch, ACQUIRE, B("2"));
    add(batch, RELEASE_ALL, BY(s->alice));
}

/* What carol gets in the same batch the run, which is held back, takes from her. */
static void a_run_then_release_all(shop *s, hf_batch *batch, const hf_credentials *next)
{
    (void)next;
    add(batch, ACQUIRE, C("3"));
    add(batch, FORCE_RELEASE, ON("policy", "3"), .text = "because", .actor = "chief",
        .linked = true);
    add(batch, FORCE_RELEASE, ON("policy", "1"), .text = "because", .actor = "chief");
    add(batch, RELEASE_ALL, BY(s->carol));
}

static void release_then_look(shop *s, hf_batch *batch, const hf_credentials *next)
{
    (void)next;
    add(batch, RELEASE, A("1"));
    add(batch, WHO, ON("policy", "1"));
    add(batch, CLOSE, BY(s->alice));
    add(batch, HOLDS, A("2"));
}

static const in_turn in_turns[] = {
    {"release all, acquire", release_all_then_acquire},
    {"replace, acquire", replace_then_acquire},
    {"close, others acquire", close_then_others_acquire},
    {"acquire, release all, others acquire", acquire_then_release_all},
    {"a run, others acquire", a_run_then_others_acquire},
    {"a run, release all", a_run_then_release_all},
    {"release, look", release_then_look},
};

static hf_batch *busy_fill(shop *s, const in_turn *it, hf_store *store, const hf_credentials *next)
{
    hf_batch *batch = batch_new(8);
    must(HF_OK, store, ACQUIRE, A("1"));
    must(HF_OK, store, ACQUIRE, A("2"));
    it->fill(s, batch, next);
    return batch;
}

static void expect_same(shop *s, const in_turn *it, hf_store *model, hf_batch *expected,
                        hf_batch *got)
{
    for (size_t i = 0; i < hf_batch_count(got); i++) {
        const hf_answer *a = &hf_batch_op(expected, i)->answer, *b = &hf_batch_op(got, i)->answer;
        if (a->status != b->status || a->outcome != b->outcome || a->locks_count != b->locks_count)
            check_failed(__FILE__, __LINE__, "%s: op %zu is %s with %zu locks, not %s with %zu",
                         it->name, i, hf_status_wire(b->status), b->locks_count,
                         hf_status_wire(a->status), a->locks_count);
    }
    static const char *const names[] = {"1", "2", "3"};
    for (size_t i = 0; i < 3; i++)
        expect_int(holders(s->plain, names[i]), holders(model, names[i]));
}

/* Someone has policy/1 for that long. False: this machine was too slow, so that something was busy.
 * */
static bool runs_in_order(shop *s, const in_turn *it, hf_store *store, int ms)
{
    bool good = true;
    hf_store *model;
    hf_error err = {0};
    hf_credentials next = drawn();
    expect(HF_OK, hf_store_open("memory:", &model, &err), err);
    s->alice = newcomer(s->plain, "alice", 0);
    const hf_credentials *const people[] = {&s->alice, &s->bob, &s->carol};
    for (size_t i = 0; i < 3; i++)
        must(HF_OK, model, SESSION_OPEN, .session = people[i], .user = "someone");
    hf_batch *expected = busy_fill(s, it, model, &next), *got = busy_fill(s, it, s->plain, &next);
    execute(model, expected);
    app_begin(s->other, READ_COMMITTED);
    app_number(s->other,
               "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '1' FOR UPDATE");
    app_commit_later(s->other, ms);
    execute(store, got);
    app_wait(s->other);
    for (size_t i = 0; i < hf_batch_count(got); i++)
        good &= hf_batch_op(got, i)->answer.status != HF_BUSY;
    if (good)
        expect_same(s, it, model, expected, got);
    hf_batch_free(expected);
    hf_batch_free(got);
    hf_store_close(model);
    busy_sweep_up(s);
    return good;
}

static void what_comes_after_a_busy_op_waits_for_it(shop *s)
{
    for (size_t i = 0; i < sizeof in_turns / sizeof *in_turns; i++)
        for (int own = 0; own < 2; own++)
            expect_once(runs_in_order(s, &in_turns[i], own ? s->store : s->plain, 150));
}

/* Nobody lets go of it in time: then those that come after it are busy with it, and nothing else
 * is. */
static bool stays_busy_together(shop *s, hf_store *store)
{
    must(HF_OK, s->plain, ACQUIRE, A("1"));
    app_begin(s->other, READ_COMMITTED);
    app_number(s->other,
               "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '1' FOR UPDATE");
    hf_batch *batch = batch_new(6);
    add(batch, RELEASE, A("1"));
    add(batch, BEAT, BY(s->alice));
    add(batch, ACQUIRE, A("2"));
    add(batch, RELEASE_ALL, BY(s->alice));
    add(batch, ACQUIRE, A("3"));
    add(batch, ACQUIRE, B("4"));
    bool good = execute(store, batch) < busy_max_us(s);
    static const size_t after[] = {0, 3, 4}, beside[] = {1, 2, 5};
    for (size_t i = 0; i < 3; i++) {
        expect_true(answer(batch, after[i], HF_BUSY)->message != NULL);
        good &= hf_batch_op(batch, beside[i])->answer.status == HF_OK;
    }
    hf_batch_free(batch);
    app_rollback(s->other);
    expect_int(holders(s->plain, "1"), 1);
    expect_int(holders(s->plain, "3"), 0);
    good &= holders(s->plain, "2") + holders(s->plain, "4") == 2;
    busy_sweep_up(s);
    return good;
}

static void what_comes_after_a_busy_op_is_busy_with_it(shop *s)
{
    for (int own = 0; own < 2; own++)
        expect_once(stays_busy_together(s, own ? s->store : s->plain));
}

/* ---- saves that are checked in SQL ---- */

static bool check_in_sql(shop *s, app *a, const hf_credentials *who, int64_t fence)
{
    return app_try(a,
                   s->engine == ON_POSTGRES ? "SELECT {check}('policy', '1', '%s', %lld)"
                                            : "CALL {check}('policy', '1', '%s', %lld)",
                   who->id, (long long)fence);
}

/* While a save is under way nobody takes the lock away from it. */
static void a_checked_save_is_not_overtaken(shop *s)
{
    said mine = must(HF_OK, s->plain, ACQUIRE, B("1"));
    app_begin(s->app, s->level);
    expect_true(check_in_sql(s, s->app, &s->bob, mine.lock.fence));
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'bob')");
    busy("a forced release beside a save", s->plain, FORCE_RELEASE, ON("policy", "1"),
         .text = "because", .actor = "chief");
    busy("an acquire beside a save", s->others, ACQUIRE, A("1"));
    if (s->engine == ON_POSTGRES || s->level != SERIALIZABLE) /* where all that is read is locked */
        must(HF_OK, s->plain, BEAT, BY(s->bob));
    expect_true(app_commit(s->app));
    must(HF_OK, s->plain, FORCE_RELEASE, ON("policy", "1"), .text = "because", .actor = "chief");
    must(HF_OK, s->plain, ACQUIRE, A("1"));
    app_begin(s->app, s->level);
    expect_true(!check_in_sql(s, s->app, &s->bob, mine.lock.fence));
    app_rollback(s->app);
}

/* The same by hf_session_holds in the application's transaction. */
static void a_save_that_asks_the_store_is_not_overtaken(shop *s)
{
    said mine = must(HF_OK, s->plain, ACQUIRE, B("1"));
    app_begin(s->app, s->level);
    must(HF_OK, s->store, HOLDS, B("1"), .fence = mine.lock.fence);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'bob')");
    busy("a forced release beside a save", s->plain, FORCE_RELEASE, ON("policy", "1"),
         .text = "because", .actor = "chief");
    busy("an acquire beside a save", s->plain, ACQUIRE, A("1"));
    expect_true(app_commit(s->app));
    must(HF_OK, s->plain, FORCE_RELEASE, ON("policy", "1"), .text = "because", .actor = "chief");
    must(HF_NOT_HELD, s->store, HOLDS, B("1"), .fence = mine.lock.fence);
}

/* ---- what else could be waited for ---- */

/* Whoever takes locks keeps the policies from being changed; that may be for long. */
static void setting_a_type_is_busy_in_time(shop *s)
{
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, ACQUIRE, C("1"));
    busy("a type set by URL", s->plain, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
    busy("a type set on the application's connection", s->store, TYPE_SET, .type = "claim",
         .policy = HF_POLICY_READ_WRITE);
    expect_true(app_commit(s->other));
    must(HF_OK, s->store, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
}

static void while_a_type_is_set_acquiring_is_busy_in_time(shop *s)
{
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
    busy("acquiring by URL", s->plain, ACQUIRE, BY(s->alice), ON("claim", "1"));
    busy("acquiring on the application's connection", s->store, ACQUIRE, BY(s->alice),
         ON("claim", "1"));
    must(HF_OK, s->plain, BEAT, BY(s->alice));
    app_rollback(s->other);
    must(HF_OK, s->plain, ACQUIRE, BY(s->alice), ON("claim", "1"));
}

/* Any role may take any advisory lock: those that it has seen in pg_locks, and those whose keys are
 * known. It must not stop others. */
static void advisory_locks_of_a_stranger_stop_nobody(shop *s)
{
    hf_batch *batch = batch_new(1);
    app_begin(s->app, READ_COMMITTED);
    must(HF_OK, s->store, ACQUIRE, A("seen"));
    app_do(s->other,
           "CREATE TEMP TABLE seen AS SELECT (classid::bigint << 32) | objid::bigint AS key "
           "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND pid = %d",
           (int)app_number(s->app, "SELECT pg_backend_pid()"));
    app_rollback(s->app);
    app_do(s->other, "SELECT count(pg_advisory_lock(key)) FROM seen");
    app_do(s->other,
           "SELECT count(pg_advisory_lock(hashtextextended(n, hashtext('%s')))) "
           "FROM unnest(ARRAY['types', 'events', 'policy/1', 'policy/2']) n",
           app_names(s->app));
    must(HF_OK, s->plain, ACQUIRE, A("1"));
    must(HF_OK, s->store, ACQUIRE, A("1"));
    app_do(s->app, "SET statement_timeout = 3000");
    app_do(s->app, "SELECT %s.save('policy', '2', NULL, 'alice')", app_names(s->app));
    add(batch, EVENTS, .limit = HF_LIST_MAX);
    execute(s->plain, batch);
    expect_true(answer(batch, 0, HF_OK)->events_count >= 2);
    hf_batch_free(batch);
    expect_int(app_number(s->app, "SELECT count(*) FROM {event} WHERE seq IS NULL"), 0);
    app_begin(s->app, READ_COMMITTED);
    must(HF_OK, s->store, ACQUIRE, A("3"));
    app_do(s->other, "SELECT pg_advisory_unlock_all()");
    busy("setting a type beside who has it by the row", s->plain, TYPE_SET, .type = "claim",
         .policy = HF_POLICY_READ_WRITE);
    app_rollback(s->app);
    must(HF_OK, s->plain, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
}

/* Two who open a session with the same request id: the second waits for what the first comes to, or
 * is busy. */
static void opening_with_the_same_request_id_is_busy_in_time(shop *s)
{
    hf_credentials twin = drawn();
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, SESSION_OPEN, BY(twin), .user = "twin", .request_id = "again");
    busy("opening by URL", s->plain, SESSION_OPEN, BY(twin), .user = "twin", .request_id = "again");
    busy("opening on the application's connection", s->store, SESSION_OPEN, BY(twin),
         .user = "twin", .request_id = "again");
    expect_true(app_commit(s->other));
    must(HF_OK, s->plain, SESSION_OPEN, BY(twin), .user = "twin", .request_id = "again");
    expect_int(app_number(s->app, "SELECT count(*) FROM {session} WHERE id = '%s'", twin.id), 1);
}

/* A question about what another is just making, in a transaction of the application's own, has left
 * it as it is. */
static void busy_goes_on(shop *s)
{
    expect_true(app_in_transaction(s->app));
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    expect_true(app_commit(s->app));
    app_do(s->app, "DELETE FROM {app}");
    app_rollback(s->other);
}

static void in_a_transaction_what_others_are_just_making_is_busy_in_time(shop *s)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    static const unsigned char hash[32] = {1};
    hf_credentials twin = drawn();

    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
    app_begin(s->app, s->level);
    busy("a type", s->store, ACQUIRE, BY(s->alice), ON("claim", "1"));
    busy_goes_on(s);

    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, SESSION_OPEN, BY(twin), .user = "twin", .request_id = "again");
    app_begin(s->app, s->level);
    busy("a session", s->store, SESSION_OPEN, BY(twin), .user = "twin", .request_id = "again");
    busy_goes_on(s);

    must(HF_OK, s->plain, TOKEN_CREATE, .token = token, .sha256 = hash, .name = "n",
         .roles = "use");
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, TOKEN_REVOKE, .token = token);
    app_begin(s->app, s->level);
    busy("a token", s->store, TOKEN_REVOKE, .token = token);
    busy_goes_on(s);
}

static void a_beat_that_meets_another_is_busy_in_time(shop *s)
{
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, BEAT, BY(s->alice));
    busy("a beat", s->plain, BEAT, BY(s->alice));
    busy("a close", s->store, CLOSE, BY(s->alice));
    must(HF_OK, s->plain, ACQUIRE, A("1")); /* which writes no session */
    must(HF_OK, s->plain, RELEASE, A("1"));
    expect_true(app_commit(s->other));
    must(HF_OK, s->plain, BEAT, BY(s->alice));
}

static void what_ends_several_locks_is_busy_in_time(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, A("1"));
    must(HF_OK, s->plain, ACQUIRE, A("2"));
    app_begin(s->other, READ_COMMITTED);
    app_number(s->other,
               "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '2' FOR UPDATE");
    busy("releasing all", s->plain, RELEASE_ALL, BY(s->alice));
    busy("closing", s->store, CLOSE, BY(s->alice));
    hf_credentials next = drawn();
    busy("replacing", s->plain, SESSION_OPEN, BY(next), .user = "alice", .replaces = &s->alice);
    expect_int(holders(s->plain, "1") + holders(s->plain, "2"), 2);
    /* leaves it for the next time */
    expect_in_time(busy_max_us(s), "a sweep", must(HF_OK, s->plain, SWEEP, .limit = 10));
    app_rollback(s->other);
    must(HF_OK, s->plain, SESSION_OPEN, BY(next), .user = "alice", .replaces = &s->alice);
    expect_int(holders(s->plain, "1") + holders(s->plain, "2"), 0);
}

static hf_answer busy_sweep_once(shop *s)
{
    hf_batch *batch = batch_new(1);
    hf_op *op = hf_batch_add(batch, HF_OP_SWEEP);
    execute(s->plain, batch);
    expect_int(op->answer.status, HF_OK);
    hf_answer answer = op->answer;
    hf_batch_free(batch);
    return answer;
}

/* As long as there is more, which comes to an end; the last answer. */
static hf_answer busy_sweep(shop *s, size_t *swept)
{
    hf_answer answer = {.more = true};
    *swept = 0;
    for (int calls = 0; answer.more; calls++) {
        expect_true(calls < 20);
        answer = busy_sweep_once(s);
        *swept += answer.swept;
    }
    return answer;
}

static void a_sweep_says_what_it_left(shop *s)
{
    static const char *const ids[] = {"1", "2", "3", "4", "5"};
    int64_t idle_us = 100 * MILLISECOND;
    size_t swept = 0;
    busy_sweep_up(s);
    busy_sweep(s, &swept);
    for (size_t i = 0; i < 4; i++)
        must(HF_OK, s->plain, ACQUIRE, A(ids[i]), .ttl_us = idle_us);
    s->carol = brief_holder(s->plain, "carol", &idle_us, ids[4]);
    rest_ms(idle_us / MILLISECOND + 50);
    app_begin(s->other, READ_COMMITTED);
    for (size_t i = 2; i < 5; i++)
        app_number(s->other,
                   "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '%s' FOR UPDATE",
                   ids[i]);
    hf_answer first = busy_sweep_once(s);
    expect_int(first.swept, 2);
    expect_int(first.passed, 3);
    expect_true(first.more); /* it may be free by now */
    expect_int(busy_sweep(s, &swept).passed, 3);
    expect_int(swept, 0);
    app_rollback(s->other);
    expect_int(busy_sweep(s, &swept).passed, 0);
    expect_int(swept, 4); /* two locks, and a session with its lock */
}

/* The store's own statement, with the values for policy/1. */
static void busy_probe(shop *s)
{
    static const char *const words[][2] = {
        {"{ns}_resource", "{resource}"},
        {"{now}", ""},
        {"$1*", "('policy', '1', 0, 0, NULL, NULL, NULL, NULL)"}};
    hf_buffer sql = {0};
    for (const char *at = sql_do_mysql[SQL_DO_PROBE_ANCHORS]; *at != '\0'; at++) {
        size_t word = 0;
        while (word < 3 && strncmp(at, words[word][0], strlen(words[word][0])) != 0)
            word++;
        hf_buffer_print(&sql, "%.*s", word < 3 ? 80 : 1, word < 3 ? words[word][1] : at);
        at += word < 3 ? strlen(words[word][0]) - 1 : 0;
    }
    app_do(s->app, "%s", sql.text);
    hf_buffer_done(&sql);
}

/* Gives MariaDB time to remove what was deleted: until nothing is left that could be, or for a
 * while, if others keep it busy. */
static void busy_purge(shop *s)
{
    for (int i = 0; i < 30; i++) {
        rest_ms(100);
        if (app_number(s->other, "SELECT count FROM information_schema.innodb_metrics WHERE name = "
                                 "'trx_rseg_history_len'") == 0)
            return;
    }
}

/* An anchor was deleted a moment ago and is still there to InnoDB, since someone's snapshot may
 * show it. Looking whether it is missing, and taking that back, locks no gap at READ COMMITTED: its
 * neighbour can be made, whenever the row goes for good. (MySQL locks none in any case.) */
static void busy_look_and_take_back(shop *s, bool expect)
{
    busy_sweep_up(s);
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    must(HF_OK, s->plain, RELEASE, B("1"));
    app_do(s->other, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    app_do(s->other, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    app_do(s->app, "DELETE FROM {resource} WHERE type = 'policy' AND id = '1'");
    app_begin(s->app, READ_COMMITTED);
    app_number(s->app, "SELECT count(*) FROM {resource}"); /* it has begun */
    app_do(s->app, "SAVEPOINT holdfast_probe");
    if (expect)
        app_do(s->app, "CALL {expect}('policy', '1', NULL)");
    else
        busy_probe(s);
    app_rollback(s->other);
    busy_purge(s);
    app_do(s->app, "ROLLBACK TO SAVEPOINT holdfast_probe");
    must(HF_OK, s->plain, ACQUIRE, C("2"));
    must(HF_OK, s->plain, RELEASE, C("2"));
    app_rollback(s->app);
}

static void a_look_for_what_was_just_deleted_blocks_no_neighbour(shop *s)
{
    busy_look_and_take_back(s, false);
}

static void an_expected_absence_that_is_taken_back_blocks_no_neighbour(shop *s)
{
    busy_look_and_take_back(s, true);
}

/* P9: what is not known is not told as changed. */
static void a_premise_someone_is_in_the_middle_of_is_busy_and_not_stale(shop *s)
{
    must(HF_OK, s->plain, SAVE, .user = "alice", ON("policy", "1"), .absent = true);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            app_begin(s->other, READ_COMMITTED);
            app_number(
                s->other,
                "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '1' FOR UPDATE");
        }
        hf_batch *set = batch_new(2);
        add(set, VERSION, ON("policy", "1"), .version = 1, .linked = true);
        add(set, SAVE, .user = "bob", ON("policy", "2"), .absent = true);
        execute(s->plain, set);
        answer(set, 0, i == 0 ? HF_BUSY : HF_OK);
        hf_batch_free(set);
        if (i == 0)
            app_rollback(s->other);
    }
    must(HF_OK, s->plain, VERSION, ON("policy", "2"), .version = 1);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        ON_ANY(acquiring_is_busy_in_time),
        AT_EVERY_LEVEL(acquiring_in_a_transaction_is_busy_in_time),
        ON_ANY(when_the_other_commits_soon_it_is_granted_after_all),
        ON_ANY(when_the_others_grant_is_committed_it_is_refused),
        ON_ANY(looking_waits_for_nobody),
        ON_ANY(neighbours_go_ahead),
        ON_ANY(neighbours_do_not_wait_for_the_busy_ones),
        ON_ANY(many_busy_ops_take_no_longer_than_one),
        ON_ANY(a_large_batch_with_a_few_busy_ones),
        ON_ANY(neighbours_go_ahead_late_as_it_is),
        ON_ANY(what_comes_after_a_busy_op_waits_for_it),
        ON_ANY(what_comes_after_a_busy_op_is_busy_with_it),
        AT_EVERY_LEVEL(a_checked_save_is_not_overtaken),
        AT_EVERY_LEVEL(a_save_that_asks_the_store_is_not_overtaken),
        ON_ANY(setting_a_type_is_busy_in_time),
        ON_ANY(while_a_type_is_set_acquiring_is_busy_in_time),
        ON_SOME(ON_POSTGRES, advisory_locks_of_a_stranger_stop_nobody),
        ON_ANY(opening_with_the_same_request_id_is_busy_in_time),
        AT_EVERY_LEVEL(in_a_transaction_what_others_are_just_making_is_busy_in_time),
        ON_ANY(a_beat_that_meets_another_is_busy_in_time),
        ON_ANY(what_ends_several_locks_is_busy_in_time),
        ON_ANY(a_sweep_says_what_it_left),
        ON_SOME(ON_MARIADB, a_look_for_what_was_just_deleted_blocks_no_neighbour),
        ON_SOME(ON_MARIADB, an_expected_absence_that_is_taken_back_blocks_no_neighbour),
        ON_ANY(a_premise_someone_is_in_the_middle_of_is_busy_and_not_stale),
    };
    return SHOP_MAIN("busy", tests, argc, argv);
}
