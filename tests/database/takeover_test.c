/* SPDX-License-Identifier: MIT */
/* Beat against take-over (D3): a session that looks dead may just have beaten. Whoever wants its
 * lock locks it and looks again, with the time then; a beat is judged by the time after its row is
 * locked. So there are never two holders, and no beat is acknowledged after its session has lost
 * what it held. */
#include "database/shop.h"
#include "races/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define A(id_) BY(s->alice), ON("policy", id_)
#define C(id_) BY(s->carol), ON("policy", id_)

/* Reading the clock takes 400 ms from now on, so that the test can do something between a taker's
 * look and its lock. */
static void slow_the_clock(shop *s)
{
    bool pg = s->engine == ON_POSTGRES;
    meddle(s, "INSERT INTO {meta} (name, value) VALUES ('fence_floor', '1')",
           "DELETE FROM {meta} WHERE name = 'fence_floor'");
    meddle(s, pg ? "ALTER TABLE {meta} RENAME TO meta_real" : "RENAME TABLE {meta} TO {meta_real}",
           pg ? "ALTER TABLE {meta_real} RENAME TO meta" : "RENAME TABLE {meta_real} TO {meta}");
    meddle(s,
           pg ? "CREATE VIEW {meta} AS SELECT name, value FROM {meta_real} WHERE CASE WHEN name = "
                "'fence_floor' "
                "THEN pg_sleep(0.4)::text = '' ELSE true END"
              : "CREATE VIEW {meta} AS SELECT name, value FROM {meta_real} WHERE "
                "IF(name = 'fence_floor', SLEEP(0.4) = 0, 1)",
           "DROP VIEW IF EXISTS {meta}");
}

typedef struct taker {
    shop *s;
    pthread_t thread;
    said got;
} taker;

static void *take_main(void *argument)
{
    taker *t = argument;
    t->got = ASK(t->s->plain, ACQUIRE, BY(t->s->alice), ON("policy", "1"));
    return NULL;
}

static void rest_until(int64_t us)
{
    if (us > now_us())
        rest_ms((us - now_us()) / 1000 + 1);
}

/* Carol's beat is committed while alice's look takes long. False: not all of that came in its time.
 * */
static bool beat_between(shop *s, taker *t, said *beaten, said *held)
{
    s->carol = newcomer(s->plain, "carol", 3 * SECOND);
    int64_t opened_us = now_us();
    must(HF_OK, s->plain, ACQUIRE, C("1"));
    rest_until(opened_us + 1500 * MILLISECOND);
    app_begin(s->app, s->level);
    int64_t sent_us = now_us();
    *beaten = ASK(s->store, BEAT, BY(s->carol));
    rest_until(opened_us + 3100 * MILLISECOND); /* the bound of before is over */
    int64_t asked_us = now_us();
    expect_int(pthread_create(&t->thread, NULL, take_main, t), 0);
    rest_ms(150);
    expect_true(app_commit(s->app));
    int64_t committed_us = now_us();
    expect_int(pthread_join(t->thread, NULL), 0);
    *held = ASK(s->plain, HOLDS, C("1"));
    return sent_us < opened_us + 2 * SECOND && committed_us < asked_us + 350 * MILLISECOND &&
           now_us() < sent_us + 2900 * MILLISECOND;
}

/* The beat came in time, and is committed just after the taker has read the row as it was before.
 * */
static void a_beat_between_the_look_and_the_lock_is_seen(shop *s)
{
    taker t = {.s = s};
    said beaten, held;
    slow_the_clock(s);
    for (int plays = 1; !beat_between(s, &t, &beaten, &held) && timing_again(plays); plays++)
        ASK(s->plain, FORCE_RELEASE, ON("policy", "1"), .text = "again", .actor = "chief");
    expect_status(HF_OK, beaten.status, beaten.message);
    expect_true(t.got.took_us > 350 * MILLISECOND);
    expect_status(HF_LOCKED, t.got.status, t.got.message);
    expect_text(t.got.lock.session, s->carol.id);
    expect_int(t.got.lock.expires_us, beaten.session.expires_us);
    expect_status(HF_OK, held.status, held.message);
}

/* ---- a grant between the look for an anchor and the look for its locks ---- */

/* The next look at a session takes 300 ms; to lock one comes between the two. */
static void slow_the_next_session(shop *s)
{
    meddle(s, "CREATE SEQUENCE {shop_turn}", "DROP SEQUENCE {shop_turn}");
    meddle(s, "ALTER TABLE {session} RENAME TO session_real",
           "ALTER TABLE {session_real} RENAME TO session");
    meddle(
        s,
        "CREATE VIEW {session} AS SELECT ctid, * FROM {session_real}"
        " WHERE CASE WHEN nextval('{shop_turn}') = 1 THEN pg_sleep(0.3)::text = '' ELSE true END",
        "DROP VIEW IF EXISTS {session}");
}

static const hf_op forced = {.kind = HF_OP_FORCE_RELEASE,
                             ON("policy", "1"),
                             .text = "because",
                             .actor = "chief",
                             .request_id = "once"};

typedef struct forcer {
    shop *s;
    pthread_t thread;
    hf_status status;
} forcer;

static void *force_main(void *argument)
{
    forcer *f = argument;
    hf_batch *batch = batch_new(3);
    add(batch, BEAT, BY(f->s->alice));
    add_op(batch, &forced);
    /* one resource alone would be looked for in another way first */
    add(batch, WHO, ON("policy", "2"));
    f->status = hf_store_execute(f->s->plain, batch, NULL);
    if (f->status == HF_OK)
        f->status = hf_batch_op(batch, 1)->answer.status;
    hf_batch_free(batch);
    return NULL;
}

/* D4: what ends a lock writes its anchor, also one that came to be in between; else asking again
 * would end the next one's lock. On a slow machine it may be busy, or all over before that lock is
 * there, and then nothing was done. */
static void a_lock_whose_anchor_was_just_made_is_not_ended_without_it(shop *s)
{
    forcer f = {.s = s};
    slow_the_next_session(s);
    app_begin(s->other, READ_COMMITTED);
    app_do(s->other, "INSERT INTO {resource} (type, id, fence, rev) VALUES ('policy', '1', 1, 1)");
    app_do(s->other,
           "INSERT INTO {lock} (type, id, session, mode, fence, since_us)"
           " VALUES ('policy', '1', '%s', 'exclusive', 1, 1)",
           s->bob.id);
    expect_int(pthread_create(&f.thread, NULL, force_main, &f), 0);
    rest_ms(100);
    expect_true(app_commit(s->other));
    expect_int(pthread_join(f.thread, NULL), 0);
    bool done = f.status == HF_OK;
    if (!done && f.status != HF_NOT_HELD)
        expect_status(HF_BUSY, f.status, "what it came to");
    expect_int(app_number(s->other, "SELECT count(*) FROM {lock}"), done ? 0 : 1);
    expect_int(
        app_number(s->other, "SELECT count(*) FROM {resource} WHERE ended_request IS NOT NULL"),
        done);
    must(done ? HF_OK : HF_LOCKED, s->plain, ACQUIRE, C("1"));
    must_op(HF_OK, s->plain, &forced, "again", __FILE__, __LINE__);
    expect_int(holders(s->plain, "1"), done);
}

/* Plays with carol, who lives for so long, until it has come to what it is about before she died:
 * she lives twice as long each time. How long she lived at last. */
static int64_t takeover_in_time(shop *s, bool (*play)(shop *s, int64_t *idle_us), int64_t idle_us)
{
    bool good = play(s, &idle_us);
    while (!good && idle_us < BRIEF_MAX_US) {
        idle_us *= 2;
        good = play(s, &idle_us);
    }
    expect_true(good);
    return idle_us;
}

/* Leaves the application's transaction open. */
static bool beats_before_it_dies(shop *s, int64_t *idle_us)
{
    s->carol = brief_holder(s->plain, "carol", idle_us, "1");
    app_begin(s->app, s->level);
    said beaten = ASK(s->store, BEAT, BY(s->carol));
    if (beaten.status == HF_EXPIRED)
        app_rollback(s->app);
    else
        expect_status(HF_OK, beaten.status, beaten.message);
    return beaten.status == HF_OK;
}

/* The beat is not committed yet: nobody can know. */
static void while_a_beat_is_under_way_the_taker_is_busy(shop *s)
{
    int64_t idle_us = takeover_in_time(s, beats_before_it_dies, 400 * MILLISECOND);
    rest_ms(idle_us / MILLISECOND + 50);
    expect_in_time(busy_max_us(s), "a taker", must(HF_BUSY, s->plain, ACQUIRE, A("1")));
    app_rollback(s->app); /* it never was */
    must(HF_OK, s->plain, ACQUIRE, A("1"));
    must(HF_EXPIRED, s->plain, BEAT, BY(s->carol));
}

/* Nor is a beat acknowledged while the take-over is under way, or after it. */
static void a_beat_beside_a_take_over_is_refused(shop *s)
{
    int64_t idle_us = 200 * MILLISECOND;
    s->carol = brief_holder(s->plain, "carol", &idle_us, "1");
    rest_ms(idle_us / MILLISECOND + 50);
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, A("1"));
    said beside = ASK(s->plain, BEAT, BY(s->carol));
    expect_true(beside.status == HF_BUSY || beside.status == HF_EXPIRED);
    expect_true(app_commit(s->app));
    must(HF_EXPIRED, s->plain, BEAT, BY(s->carol));
    said who = must(HF_OK, s->plain, WHO, ON("policy", "1"));
    expect_text(who.lock.session, s->alice.id);
    expect_int(app_number(s->other, "SELECT count(*) FROM {lock} WHERE id = '1'"), 1);
}

static bool holds_both(shop *s, int64_t *idle_us)
{
    s->carol = brief_holder(s->plain, "carol", idle_us, "1");
    said second = ASK(s->plain, ACQUIRE, C("2"));
    if (second.status != HF_EXPIRED)
        expect_status(HF_OK, second.status, second.message);
    return second.status == HF_OK;
}

/* The one who is stepped over may hold other things: they are dead as well, and anyone's. */
static void what_else_the_dead_one_held_is_free_too(shop *s)
{
    int64_t idle_us = takeover_in_time(s, holds_both, 200 * MILLISECOND);
    rest_ms(idle_us / MILLISECOND + 50);
    app_begin(s->app, s->level);
    app_begin(s->other, s->level);
    must(HF_OK, s->store, ACQUIRE, A("1"));
    /* the dead session is locked by alice's */
    said beside = ASK(s->others, ACQUIRE, BY(s->bob), ON("policy", "2"));
    expect_true(beside.status == HF_OK || beside.status == HF_BUSY);
    expect_true(app_commit(s->app));
    app_rollback(s->other);
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "2"));
}

/* ---- many of them, around the moment of expiry ---- */

enum { DUELLISTS = 6, ROOM = 60000 };

typedef struct duel {
    shop *s;
    int mode; /* -1: by URL; else the level of each one's transactions */
    atomic_uint sessions;
    atomic_uint grants;
    _Atomic bool over;
} duel;

typedef struct duellist {
    duel *d;
    uint32_t client;
    unsigned seed;
    app *app;
    hf_store *store;
    check_record *records;
    size_t count;
    size_t surprises;
} duellist;

static check_result takeover_result_of(duellist *x, const said *got)
{
    switch (got->status) {
    case HF_OK:
        return CHECK_OK;
    case HF_LOCKED:
        return CHECK_LOCKED;
    case HF_EXPIRED:
        return CHECK_EXPIRED;
    case HF_NOT_HELD:
        return CHECK_NOT_HELD;
    case HF_BUSY:
    case HF_RETRY:
        return CHECK_NOTHING;
    default:
        if (x->surprises++ == 0)
            fprintf(stderr, "a surprise: %s: %s\n", hf_status_wire(got->status), got->message);
        return CHECK_NOTHING;
    }
}

/* Does it, in a transaction of its own if that is how they fight, and writes it down. */
static check_result takeover_act(duellist *x, uint32_t session, check_op kind, const hf_op *op)
{
    check_record *r = &x->records[x->count++];
    *r = (check_record){
        .client = x->client, .session = session, .op = (uint8_t)kind, .invoke_us = now_us()};
    if (x->app)
        app_begin(x->app, (app_level)x->d->mode);
    if (x->app && rand_r(&x->seed) % 2)
        app_number(x->app, "SELECT count(*) FROM {app}"); /* takes its snapshot */
    if (x->app)
        rest_ms(rand_r(&x->seed) % 8);
    said got = ask_op(x->store, op);
    if (x->app)
        rest_ms(rand_r(&x->seed) % 8);
    if (x->app && got.status == HF_RETRY)
        app_rollback(x->app);
    else if (x->app && !app_commit(x->app))
        got.status = HF_RETRY;
    r->result = (uint8_t)takeover_result_of(x, &got);
    r->return_us = now_us();
    r->fence = got.lock.fence;
    r->mode = (uint8_t)got.lock.mode;
    r->idle_us = op->kind == HF_OP_BEAT || op->kind == HF_OP_SESSION_OPEN ? op->idle_us : 0;
    return r->result;
}

static hf_credentials duellist_drawn(const duellist *x, uint32_t session)
{
    hf_credentials out;
    char id[HF_SESSION_ID_SIZE], key[33];
    snprintf(id, sizeof id, "d%07x%024x", x->client, session);
    snprintf(key, sizeof key, "%032x", session);
    if (hf_credentials_set(&out, id, key, NULL) != HF_OK)
        abort();
    return out;
}

/* Beats as near to its bound as it dares, now and then too late; whenever it has lost what it held
 * it says so. */
static void defend(duellist *x, uint32_t session, const hf_credentials *me, int64_t idle_us,
                   int64_t bound_us)
{
    hf_op beat = {.kind = HF_OP_BEAT, .session = me, .idle_us = idle_us};
    for (int i = 0; i < 4 && !x->d->over; i++) {
        int64_t at_us =
            bound_us - 12 * MILLISECOND + (int64_t)(rand_r(&x->seed) % 16) * MILLISECOND;
        int64_t wait_us = at_us - now_us();
        if (wait_us > 0)
            rest_ms(wait_us / 1000);
        int64_t sent_us = now_us();
        check_result result = takeover_act(x, session, CHECK_BEAT, &beat);
        if (result == CHECK_OK)
            bound_us = sent_us + idle_us;
        else if (result == CHECK_EXPIRED)
            return;
    }
}

static void *duel_main(void *argument)
{
    duellist *x = argument;
    while (!x->d->over && x->count + 64 < ROOM) {
        uint32_t session = atomic_fetch_add(&x->d->sessions, 1);
        hf_credentials me = duellist_drawn(x, session);
        int64_t idle_us = (60 + (int64_t)(rand_r(&x->seed) % 60)) * MILLISECOND,
                opened_us = now_us();
        hf_op open = {.kind = HF_OP_SESSION_OPEN, BY(me), .user = "duellist", .idle_us = idle_us};
        hf_op take = {.kind = HF_OP_ACQUIRE, BY(me), ON("policy", "prize")};
        if (takeover_act(x, session, CHECK_OPEN, &open) != CHECK_OK)
            continue;
        check_result result = CHECK_NOTHING;
        for (int i = 0; i < 20 && result != CHECK_OK && result != CHECK_EXPIRED; i++) {
            result = takeover_act(x, session, CHECK_ACQUIRE, &take);
            if (result == CHECK_LOCKED)
                rest_ms(rand_r(&x->seed) % 6);
        }
        atomic_fetch_add(&x->d->grants, result == CHECK_OK);
        if (result == CHECK_OK)
            defend(x, session, &me, idle_us, opened_us + idle_us);
    }
    return NULL;
}

static void duellist_init(duellist *x, duel *d, uint32_t number)
{
    hf_error err = {0};
    *x = (duellist){.d = d, .client = number, .seed = (unsigned)now_us() + number};
    x->records = calloc(ROOM, sizeof *x->records);
    expect_true(x->records != NULL);
    if (d->mode < 0) {
        expect(HF_OK, hf_store_open(d->s->url, &x->store, &err), err);
        return;
    }
    x->app = app_connect(d->s->url);
    x->store = app_wrapped(x->app);
}

static void duellist_done(duellist *x)
{
    if (x->app)
        app_close(x->app);
    else
        hf_store_close(x->store);
    free(x->records);
}

static void takeover_judge(duellist *all, const char *how)
{
    static check_record records[DUELLISTS * ROOM];
    check_report report;
    size_t count = 0, surprises = 0;
    for (int i = 0; i < DUELLISTS; i++) {
        memcpy(records + count, all[i].records, all[i].count * sizeof *records);
        count += all[i].count;
        surprises += all[i].surprises;
    }
    check_history(records, count, 2 * MILLISECOND, &report);
    printf("# %s\n", how);
    check_print(&report, stdout);
    expect_int(report.faults, 0);
    expect_int(surprises, 0);
    expect_true(report.take_overs >= 5);
}

static void fight(shop *s, int mode)
{
    static duellist all[DUELLISTS];
    pthread_t threads[DUELLISTS];
    const char *value = getenv("HF_TEST_LONG");
    bool is_long = value && *value && strcmp(value, "0") != 0;
    duel d = {.s = s, .mode = mode};
    int64_t until_us = now_us() + (is_long ? 20 : 3) * SECOND;
    for (uint32_t i = 0; i < DUELLISTS; i++)
        duellist_init(&all[i], &d, i);
    for (int i = 0; i < DUELLISTS; i++)
        expect_int(pthread_create(&threads[i], NULL, duel_main, &all[i]), 0);
    /* longer when too little has happened */
    while (now_us() < until_us || (d.grants < 8 && now_us() < until_us + 20 * SECOND))
        rest_ms(20);
    d.over = true;
    for (int i = 0; i < DUELLISTS; i++)
        expect_int(pthread_join(threads[i], NULL), 0);
    takeover_judge(all, mode < 0 ? "by URL" : app_level_name((app_level)mode));
    for (int i = 0; i < DUELLISTS; i++)
        duellist_done(&all[i]);
}

static void beats_around_the_bound_by_url(shop *s)
{
    fight(s, -1);
}

/* Not at SERIALIZABLE on InnoDB: there every read locks, who reads first and then writes is often
 * rolled back, and hardly a bound is met. races/transactions is long enough for it. */
static void beats_around_the_bound_in_transactions(shop *s)
{
    if (s->level != SERIALIZABLE || s->engine == ON_POSTGRES)
        fight(s, (int)s->level);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        ON_ANY(a_beat_between_the_look_and_the_lock_is_seen),
        ON_SOME(ON_POSTGRES, a_lock_whose_anchor_was_just_made_is_not_ended_without_it),
        AT_EVERY_LEVEL(while_a_beat_is_under_way_the_taker_is_busy),
        AT_EVERY_LEVEL(a_beat_beside_a_take_over_is_refused),
        AT_EVERY_LEVEL(what_else_the_dead_one_held_is_free_too),
        ON_ANY(beats_around_the_bound_by_url),
        AT_EVERY_LEVEL(beats_around_the_bound_in_transactions),
    };
    return SHOP_MAIN("take-over", tests, argc, argv);
}
