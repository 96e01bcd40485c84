/* SPDX-License-Identifier: MIT */
/* Schedules of two and three transactions that save by version, at every isolation level: all of
 * them have their snapshot before any saves. No update is lost, and of units that rely on what the
 * others save (write skew) not all are committed. Without their premises they are: that is what
 * each schedule is about. Played with the ops of a store on the application's connection, and with
 * the functions and procedures of docs/sql.md. */
#include "database/shop.h"

#include <pthread.h>
#include <string.h>

enum { UNITS_MAX = 3 };

/* One application's transaction: what it relies on (NULL: nothing) and what it saves, ids of type
 * policy. */
typedef struct unit {
    const char *relies, *saves;
    app *at;
    hf_store *store;
    hf_status status; /* of the last try */
} unit;

/* How a schedule is played. */
typedef struct schedule {
    bool absent;  /* what is relied on and saved is not there; else it is version 1 */
    bool overlap; /* all of them save before the first commits; else one after the other */
    bool sql;     /* by functions and procedures */
} schedule;

/* ---- a unit ---- */

static hf_status schedules_ask_store(unit *u, const schedule *how)
{
    hf_error err = {0};
    hf_batch *batch = batch_new(2);
    int64_t version = how->absent ? 0 : 1;
    if (u->relies)
        add(batch, VERSION, ON("policy", u->relies), .version = version, .absent = how->absent,
            .linked = true);
    add(batch, SAVE, .user = u->saves, ON("policy", u->saves), .version = version,
        .absent = how->absent);
    hf_status status = hf_store_execute(u->store, batch, &err);
    for (size_t i = 0; status == HF_OK && i < hf_batch_count(batch); i++) {
        hf_status one = hf_batch_op(batch, i)->answer.status;
        status = one == HF_NOT_APPLIED ? HF_OK : one;
    }
    hf_batch_free(batch);
    return status;
}

static bool schedules_call(const unit *u, const char *id, const char *version)
{
    bool postgres = app_engine_of(u->at) == ON_POSTGRES;
    const char *verb = postgres ? "SELECT" : "CALL";
    if (id != u->saves)
        return app_try(u->at, "%s {expect}('policy', '%s', %s)", verb, id, version);
    return app_try(u->at, "%s {save}('policy', '%s', %s, 'someone'%s)", verb, id, version,
                   postgres ? "" : ", NULL, NULL, @fence");
}

/* In canonical order, as docs/sql.md says. */
static hf_status schedules_ask_sql(const unit *u, const schedule *how)
{
    const char *version = how->absent ? "NULL" : "1";
    bool first = u->relies && strcmp(u->relies, u->saves) < 0;
    bool good = (!first || schedules_call(u, u->relies, version)) &&
                schedules_call(u, u->saves, version) &&
                (first || !u->relies || schedules_call(u, u->relies, version));
    if (good)
        return HF_OK;
    const char *why = app_error(u->at);
    return strstr(why, "was changed by") || strstr(why, "is there already") ? HF_STALE : HF_RETRY;
}

static void schedules_ask(unit *u, const schedule *how)
{
    u->status = how->sql ? schedules_ask_sql(u, how) : schedules_ask_store(u, how);
}

static void schedules_begin(const shop *s, unit *u)
{
    app_begin(u->at, s->level);
    expect_int(app_number(u->at, "SELECT count(*) FROM {app}"), 0);
}

/* Commits, or runs it again with what it had read, as an application does that is told to. */
static void schedules_end(const shop *s, unit *u, const schedule *how)
{
    for (int tries = 0; tries < 20; tries++) {
        if (u->status == HF_OK && app_commit(u->at))
            return;
        if (u->status == HF_OK)
            u->status = HF_RETRY;
        else
            app_rollback(u->at);
        if (u->status != HF_RETRY && u->status != HF_BUSY)
            return;
        schedules_begin(s, u);
        schedules_ask(u, how);
    }
    app_rollback(u->at);
}

/* ---- a schedule ---- */

/* How many were committed; the others were refused as stale. */
static size_t schedules_play(shop *s, unit *units, size_t count, const schedule *how)
{
    app *third = app_connect(s->url);
    app *const apps[UNITS_MAX] = {s->app, s->other, third};
    size_t committed = 0;
    for (size_t i = 0; i < count; i++) {
        units[i].at = apps[i];
        units[i].store = app_wrapped(apps[i]);
        if (!how->absent)
            ASK(s->plain, SAVE, .user = "before", ON("policy", units[i].saves), .absent = true);
    }
    for (size_t i = 0; i < count; i++)
        schedules_begin(s, &units[i]);
    for (size_t i = 0; i < count && how->overlap; i++)
        schedules_ask(&units[i], how);
    for (size_t i = 0; i < count; i++) {
        if (!how->overlap)
            schedules_ask(&units[i], how);
        schedules_end(s, &units[i], how);
        committed += units[i].status == HF_OK;
        if (units[i].status != HF_OK)
            expect_status(HF_STALE, units[i].status, units[i].saves);
    }
    app_close(third);
    app_do(s->other, "DELETE FROM {resource}");
    return committed;
}

/* Of this many that save the same. */
static size_t schedules_same(shop *s, size_t count, schedule how)
{
    unit units[UNITS_MAX] = {{.saves = "a"}, {.saves = "a"}, {.saves = "a"}};
    return schedules_play(s, units, count, &how);
}

/* Of this many in a ring, each of which relies on what the next saves. */
static size_t schedules_ring(shop *s, size_t count, bool premises, schedule how)
{
    static const char *const ids[] = {"a", "b", "c"};
    unit units[UNITS_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        units[i].saves = ids[i];
        units[i].relies = premises ? ids[(i + 1) % count] : NULL;
    }
    return schedules_play(s, units, count, &how);
}

/* P9 */
static void no_update_is_lost(shop *s)
{
    for (int absent = 0; absent < 2; absent++) {
        expect_int(schedules_same(s, 2, (schedule){.absent = absent}), 1);
        expect_int(schedules_same(s, 2, (schedule){.absent = absent, .overlap = true}), 1);
        expect_int(schedules_same(s, 3, (schedule){.absent = absent, .sql = true}), 1);
    }
}

/* P9: linked premises are pinned. */
static void no_write_skew_between_linked_premises(shop *s)
{
    for (int absent = 0; absent < 2; absent++)
        for (size_t count = 2; count <= 3; count++) {
            schedule how = {.absent = absent}, overlapping = {.absent = absent, .overlap = true},
                     by_sql = {.absent = absent, .sql = true};
            expect_true(schedules_ring(s, count, true, how) < count);
            expect_true(schedules_ring(s, count, true, by_sql) < count);
            if (!absent || count == 2)
                expect_true(schedules_ring(s, count, true, overlapping) < count);
        }
}

/* A premise stays true until the commit: whoever would save it is told that it is busy, and may
 * after that. */
static void what_is_relied_on_is_pinned(shop *s)
{
    for (int absent = 0; absent < 2; absent++) {
        schedule how = {.absent = absent};
        unit bill = {.relies = "a", .saves = "b", .at = s->app, .store = s->store};
        unit tax = {.saves = "a", .at = s->other, .store = s->others};
        if (!absent) {
            must(HF_OK, s->plain, SAVE, .user = "before", ON("policy", "a"), .absent = true);
            must(HF_OK, s->plain, SAVE, .user = "before", ON("policy", "b"), .absent = true);
        }
        app_begin(bill.at, s->level);
        schedules_ask(&bill, &how);
        expect_status(HF_OK, bill.status, "the bill");
        app_begin(tax.at, s->level);
        schedules_ask(&tax, &how);
        expect_status(HF_BUSY, tax.status, "the tax, meanwhile");
        expect_true(app_commit(bill.at));
        schedules_end(s, &tax, &how);
        expect_status(HF_OK, tax.status, "the tax, then");
        app_do(s->other, "DELETE FROM {resource}");
    }
}

/* ... so that the test of write skew can fail. (PostgreSQL's SERIALIZABLE may see it by itself.) */
static void without_premises_all_are_committed(shop *s)
{
    for (int absent = 0; absent < 2; absent++)
        for (size_t count = 2; count <= 3; count++) {
            schedule how = {.absent = absent}, overlapping = {.absent = absent, .overlap = true},
                     by_sql = {.absent = absent, .sql = true};
            expect_int(schedules_ring(s, count, false, how), count);
            expect_int(schedules_ring(s, count, false, overlapping), count);
            expect_int(schedules_ring(s, count, false, by_sql), count);
        }
}

/* ---- by URL, at the same time ---- */

enum { ROUNDS = 60 };

typedef struct racer {
    hf_store *store;
    pthread_barrier_t *start;
    bool first;
    hf_status got[ROUNDS];
} racer;

static void *schedules_race(void *context)
{
    racer *r = context;
    schedule how = {.absent = true};
    for (int i = 0; i < ROUNDS; i++) {
        char a[16], b[16];
        snprintf(a, sizeof a, "a%d", i);
        snprintf(b, sizeof b, "b%d", i);
        unit u = {.relies = r->first ? a : b, .saves = r->first ? b : a, .store = r->store};
        pthread_barrier_wait(r->start);
        r->got[i] = schedules_ask_store(&u, &how);
    }
    return NULL;
}

/* Each relies on what the other makes not being there, and there is no row to lock. */
static void of_two_that_exclude_each_other_one_is_made(shop *s)
{
    hf_error err = {0};
    pthread_t threads[2];
    pthread_barrier_t start;
    racer racers[2] = {{.start = &start, .first = true}, {.start = &start}};
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++)
        expect(HF_OK, hf_store_open(s->url, &racers[i].store, &err), err);
    for (int i = 0; i < 2; i++)
        expect_int(pthread_create(&threads[i], NULL, schedules_race, &racers[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    int both = 0, none = 0;
    for (int i = 0; i < ROUNDS; i++) {
        both += racers[0].got[i] == HF_OK && racers[1].got[i] == HF_OK;
        none += racers[0].got[i] != HF_OK && racers[1].got[i] != HF_OK;
    }
    for (int i = 0; i < 2; i++)
        hf_store_close(racers[i].store);
    pthread_barrier_destroy(&start);
    expect_int(both, 0);
    expect_true(none < ROUNDS); /* each may be in the other's way now and then */
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        AT_EVERY_LEVEL(no_update_is_lost),
        AT_EVERY_LEVEL(no_write_skew_between_linked_premises),
        AT_EVERY_LEVEL(what_is_relied_on_is_pinned),
        ON_ANY(of_two_that_exclude_each_other_one_is_made),
        AT_LEVELS(ON_ALL, LEVELS_BELOW_SERIALIZABLE, without_premises_all_are_committed),
    };
    return SHOP_MAIN("schedules", tests, argc, argv);
}
