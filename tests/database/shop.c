/* SPDX-License-Identifier: MIT */
/* What the tests of the stores on database servers share; see shop.h. */
#include "database/shop.h"

#include <stdlib.h>
#include <string.h>
#include <support/side_by_side.h>
#include <time.h>

#define TESTS_MAX     256
#define TESTS_AT_ONCE 3 /* each on tables of its own; they mostly wait */

/* ---- asking ---- */

int64_t now_us(void)
{
    return timing_now_us();
}

void rest_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

hf_batch *batch_new(size_t capacity)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(capacity, &batch, &err), err);
    return batch;
}

static void shop_copy_answer(const hf_answer *from, said *to)
{
    to->status = from->status;
    to->pending = from->pending;
    to->outcome = from->outcome;
    to->locks_count = from->locks_count;
    to->events_count = from->events_count;
    to->last_seq = from->last_seq;
    if (from->locks_count && from->locks)
        to->lock = from->locks[0];
    if (from->sessions_count)
        to->session = from->sessions[0];
    if (from->message)
        snprintf(to->message, sizeof to->message, "%s", from->message);
}

said ask_op(hf_store *store, const hf_op *op)
{
    said out = {0};
    hf_error err = {0};
    hf_batch *batch = batch_new(1);
    add_op(batch, op);
    int64_t before_us = now_us();
    hf_status status = hf_store_execute(store, batch, &err);
    out.took_us = now_us() - before_us;
    if (status == HF_OK) {
        shop_copy_answer(&hf_batch_op(batch, 0)->answer, &out);
    } else {
        out.status = status;
        out.whole = true;
        snprintf(out.message, sizeof out.message, "%s", err.message);
    }
    hf_batch_free(batch);
    return out;
}

said must_op(hf_status expected, hf_store *store, const hf_op *op, const char *what,
             const char *file, int line)
{
    said out = ask_op(store, op);
    check_status(expected, out.status, out.message, what, file, line);
    return out;
}

int64_t execute_batch(hf_store *store, hf_batch *batch, const char *file, int line)
{
    hf_error err = {0};
    int64_t before_us = now_us();
    check_call(HF_OK, hf_store_execute(store, batch, &err), &err, "the batch", file, line);
    return now_us() - before_us;
}

hf_credentials drawn(void)
{
    static unsigned count;
    hf_credentials out;
    hf_error err = {0};
    char id[HF_SESSION_ID_SIZE], key[33];
    snprintf(id, sizeof id, "%032x", ++count);
    snprintf(key, sizeof key, "%032x", 0xfeed0000u + count);
    id[HF_SESSION_ID_MAX] = '\0';
    expect(HF_OK, hf_credentials_set(&out, id, key, &err), err);
    return out;
}

hf_credentials newcomer(hf_store *store, const char *user, int64_t idle_us)
{
    hf_credentials out = drawn();
    must(HF_OK, store, SESSION_OPEN, BY(out), .user = user, .idle_us = idle_us);
    return out;
}

void takes_two_and_gives_them_back(hf_store *store, const char *user)
{
    static const hf_op_kind kinds[] = {HF_OP_ACQUIRE, HF_OP_HOLDS, HF_OP_RELEASE, HF_OP_ACQUIRE};
    hf_credentials who = newcomer(store, user, 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_batch *batch = batch_new(2);
        for (int j = 0; j < 2; j++) {
            hf_op *op = hf_batch_add(batch, kinds[i]);
            op->session = &who;
            op->type = "policy";
            op->id = j == 0 ? "one" : "two";
        }
        execute(store, batch);
        answer(batch, 0, HF_OK);
        answer(batch, 1, HF_OK);
        hf_batch_free(batch);
    }
    expect_int(must(HF_OK, store, LIST, .target = who.id).locks_count, 2);
    expect_int(must(HF_OK, store, CLOSE, BY(who)).locks_count, 2);
}

hf_credentials brief_holder(hf_store *store, const char *user, int64_t *idle_us, const char *id)
{
    hf_credentials out = newcomer(store, user, *idle_us);
    said got = ASK(store, ACQUIRE, BY(out), ON("policy", id));
    while (got.status == HF_EXPIRED && *idle_us < BRIEF_MAX_US) {
        out = newcomer(store, user, *idle_us *= 2);
        got = ASK(store, ACQUIRE, BY(out), ON("policy", id));
    }
    expect_status(HF_OK, got.status, got.message);
    return out;
}

size_t holders(hf_store *store, const char *id)
{
    return must(HF_OK, store, WHO, ON("policy", id)).locks_count;
}

int64_t most_holders(app *a)
{
    const char *now = app_engine_of(a) == ON_POSTGRES
                          ? "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
                          : "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
    return app_number(
        a,
        "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM {lock} l JOIN {session} s"
        " ON s.id = l.session WHERE s.ended_us IS NULL AND s.expires_us > %s"
        " AND (l.ends_us IS NULL OR l.ends_us > %s) GROUP BY l.type, l.id"
        " HAVING sum(CASE WHEN l.mode = 'exclusive' THEN 1 ELSE 0 END) > 0) AS held",
        now, now);
}

int64_t events_of(app *a, const char *kind)
{
    return app_number(a, "SELECT count(*) FROM {event} WHERE kind = '%s'", kind);
}

int64_t busy_max_us(const shop *s)
{
    return s->engine == ON_MYSQL ? 2500 * MILLISECOND : SECOND;
}

/* ---- the shop ---- */

static void server_shop_open(shop *s)
{
    hf_error err = {0};
    test_store_url(s->at, s->url);
    expect(HF_OK, hf_store_open(s->url, &s->plain, &err), err);
    s->app = app_connect(s->url);
    s->other = app_connect(s->url);
    s->engine = app_engine_of(s->app);
    app_do(s->app, "CREATE TABLE {app} (id int PRIMARY KEY, holder varchar(40))%s",
           s->engine == ON_POSTGRES ? "" : " ENGINE=InnoDB");
    s->store = app_wrapped(s->app);
    s->others = app_wrapped(s->other);
    s->alice = newcomer(s->plain, "alice", 0);
    s->bob = newcomer(s->plain, "bob", 0);
    s->carol = newcomer(s->plain, "carol", 0);
}

void meddle(shop *s, const char *sql, const char *undo)
{
    expect_true(s->undo_count < sizeof s->undo / sizeof *s->undo);
    app *a = app_connect(s->url);
    s->undo[s->undo_count++] = undo;
    bool good = app_try(a, "%s", sql);
    if (!good)
        fprintf(stderr, "%s: %s\n", sql, app_error(a));
    app_close(a);
    expect_true(good);
}

/* Connections that a test left in the middle of something end here, before their tables are made
 * away with. */
static void server_shop_close(shop *s)
{
    app_close(s->app);
    app_close(s->other);
    hf_store_close(s->plain);
    app *a = app_connect(s->url);
    while (s->undo_count > 0)
        app_do(a, "%s", s->undo[--s->undo_count]);
    app_do(a, "DROP TABLE IF EXISTS {app}");
    app_close(a);
    test_store_discard(s->at, s->url);
}

/* ---- running ---- */

typedef struct turn {
    const shop_test *test;
    const test_store *at;
    app_level level;
    shop *s;
    char name[200];
} turn;

static int shop_begin(void **state)
{
    turn *it = *state;
    it->s = calloc(1, sizeof *it->s);
    it->s->at = it->at;
    it->s->level = it->level;
    server_shop_open(it->s);
    return 0;
}

static void shop_go(void **state)
{
    turn *it = *state;
    it->test->body(it->s);
}

static int shop_end(void **state)
{
    turn *it = *state;
    server_shop_close(it->s);
    free(it->s);
    it->s = NULL;
    return 0;
}

static app_engine engine_at(const test_store *at)
{
    app *a = app_connect(at->url);
    app_engine engine = app_engine_of(a);
    app_close(a);
    return engine;
}

static const char *name_of(app_engine engine)
{
    return engine == ON_POSTGRES ? "postgres" : engine == ON_MARIADB ? "mariadb" : "mysql";
}

static size_t shop_choose(const shop_test *test, const test_store *at, app_engine engine,
                          const char *part, turn *turns)
{
    size_t count = 0;
    for (app_level level = 0; level < APP_LEVELS && (test->engines & engine); level++) {
        turn *it = &turns[count];
        if ((test->levels ? test->levels >> level : level == 0) % 2 == 0)
            continue;
        *it = (turn){.test = test, .at = at, .level = level};
        snprintf(it->name, sizeof it->name, "%s: %s%s%s", name_of(engine), test->name,
                 test->levels ? ", " : "", test->levels ? app_level_name(level) : "");
        count += !part || strstr(it->name, part);
    }
    return count;
}

int shop_main(const char *group, const shop_test *tests, size_t count, const char *part)
{
    static turn turns[TESTS_MAX];
    static struct CMUnitTest units[TESTS_MAX];
    size_t places_count = 0, chosen = 0;
    const test_store *all = test_stores(&places_count);
    for (size_t p = 0; p < places_count; p++) {
        if (strncmp(all[p].url, "postgres", 8) != 0 && strncmp(all[p].url, "mysql:", 6) != 0)
            continue;
        app_engine engine = engine_at(&all[p]);
        for (size_t i = 0; i < count && chosen + APP_LEVELS <= TESTS_MAX; i++)
            chosen += shop_choose(&tests[i], &all[p], engine, part, &turns[chosen]);
    }
    for (size_t i = 0; i < chosen; i++)
        units[i] = (struct CMUnitTest){turns[i].name, shop_go, shop_begin, shop_end, &turns[i]};
    if (chosen == 0)
        fprintf(stderr, "HF_TEST_STORES names no database server, or no test has such a name.\n");
    return chosen ? run_side_by_side(group, units, chosen, TESTS_AT_ONCE) : 1;
}
