/* SPDX-License-Identifier: MIT */
/* Schedules: sessions whose steps (read, write, commit) come in every order. No update is lost, and
 * what a unit relies on stays so until it has committed. Each anomaly is back when its pin is left
 * out, so the schedules do find it. All of it whatever isolation level the database gives to a
 * connection that asks for none: a unit has a transaction of its own, at its own level. */
#include "record/inside.h"
#include "record/scene.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEPS = 2 }; /* of a session: it reads, it commits */

typedef struct player {
    scene *s;
    hf_unit *unit;
    hf_record *mine;
    int step;
    hf_status status;
} player;

/* ---- levels ---- */

static const char *const levels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
enum { LEVELS = 3, CONNECTIONS = 3 };

/* SQLite has one. */
static int schedules_levels(const scene *s)
{
    return hf_db_kind_of(s->db) == HF_DB_SQLITE ? 1 : LEVELS;
}

/* What the connections of the units have where nothing else is said. Asked again, it is still so:
 * they are the same connections, and no unit changes it. */
static void schedules_level(scene *s, int level, bool still)
{
    hf_db_kind kind = hf_db_kind_of(s->db);
    rec_conn *conns[CONNECTIONS] = {NULL};
    char sql[120], now[40];
    if (kind == HF_DB_SQLITE)
        return;
    snprintf(sql, sizeof sql, "SET SESSION %sTRANSACTION ISOLATION LEVEL %s",
             kind == HF_DB_POSTGRES ? "CHARACTERISTICS AS " : "", levels[level]);
    for (int i = 0; i < CONNECTIONS; i++)
        expect(HF_OK, rec_conn_take(s->records, &conns[i], &s->err), s->err);
    for (int i = 0; i < CONNECTIONS; i++) {
        if (!still)
            expect(HF_OK, hf_db_run(conns[i]->db, sql, &s->err), s->err);
        expect(HF_OK,
               hf_db_ask(conns[i]->db,
                         kind == HF_DB_POSTGRES  ? "SHOW default_transaction_isolation"
                         : kind == HF_DB_MARIADB ? "SELECT @@session.tx_isolation"
                                                 : "SELECT @@session.transaction_isolation",
                         now, sizeof now, &s->err),
               s->err);
        expect_int((now[0] | 32) == (levels[level][0] | 32) &&
                       (now[2] | 32) == (levels[level][2] | 32),
                   true);
        rec_conn_give(conns[i]);
    }
}

/* Every order in which the steps of `count` sessions can come, as digits. Each session does the
 * same, so orders that differ by which is called the first are one: session 0 begins. */
static void schedules_each(int count, int left[], char *order, size_t size,
                           void (*run)(void *context, const char *order), void *context)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        if (left[i] == 0 || (size == 0 && i > 0))
            continue;
        any = true;
        left[i]--;
        order[size] = (char)('0' + i);
        schedules_each(count, left, order, size + 1, run, context);
        left[i]++;
    }
    order[size] = '\0';
    if (!any)
        run(context, order);
}

static hf_status schedules_commit(hf_unit *unit)
{
    hf_error err;
    hf_status status = HF_RETRY;
    for (int i = 0; i < 20 && (status == HF_RETRY || status == HF_BUSY); i++)
        status = hf_unit_commit(unit, NULL, &err);
    expect_true(status == HF_OK || status == HF_STALE);
    return status;
}

/* ---- lost updates: each adds one ---- */

typedef struct counting {
    scene *s;
    int players;
    size_t schedules, refused;
} counting;

static void schedules_count(void *context, const char *order)
{
    counting *it = context;
    player players[3] = {0};
    int64_t done = 0;
    scene_run(it->s, "UPDATE {n}_line SET amount = 0, version = 1");
    for (const char *at = order; *at != '\0'; at++) {
        player *p = &players[*at - '0'];
        if (p->step++ == 0) {
            p->unit = scene_unit(it->s, "someone");
            p->mine = scene_find(p->unit, "line/1,x");
        } else {
            scene_set(p->mine, "amount", HF_NUMBER(hf_record_get(p->mine, "amount")->number + 1));
            p->status = schedules_commit(p->unit);
            done += p->status == HF_OK;
            it->refused += p->status != HF_OK;
        }
    }
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%d", (int)done);
    expect_text(scene_value(it->s, "SELECT amount FROM {n}_line"), wanted);
    expect_true(done >= 1);
    for (int i = 0; i < it->players; i++)
        hf_unit_free(players[i].unit);
    it->schedules++;
}

static void no_update_is_lost_in_any_order(void **state)
{
    (void)state;
    scene *s = scene_open();
    char order[16];
    scene_run(s, "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 0)");
    for (int level = 0; level < schedules_levels(s); level++) {
        counting two = {s, 2, 0, 0}, three = {s, 3, 0, 0};
        schedules_level(s, level, false);
        schedules_each(2, (int[]){STEPS, STEPS}, order, 0, schedules_count, &two);
        schedules_each(3, (int[]){STEPS, STEPS, STEPS}, order, 0, schedules_count, &three);
        schedules_level(s, level, true);
        expect_int(two.schedules, 3);
        expect_int(three.schedules, 30);
        expect_true(two.refused > 0 && three.refused > 0);
    }
    scene_close(s);
}

/* ---- write skew: each doctor goes off call if the next is on call ---- */

typedef struct skew {
    scene *s;
    int players;
    hf_rely_kind kind;
    bool pinned;
    size_t broken; /* schedules after which nobody is on call */
} skew;

static void skew_rely(skew *it, player *p, int which)
{
    char other[24];
    hf_error err;
    snprintf(other, sizeof other, "doctor/%d", (which + 1) % it->players + 1);
    hf_reliance on = {.kind = it->kind,
                      .resource =
                          it->kind == HF_RELY_RESULT ? scene_table(it->s, "doctor")->name : other,
                      .where = it->kind == HF_RELY_UNCHANGED ? NULL : "on_call = ?1",
                      .args = &HF_NUMBER(1),
                      .count = it->kind == HF_RELY_UNCHANGED ? 0 : 1};
    expect(HF_OK, hf_unit_rely(p->unit, &on, &err), err);
}

static void skew_play(void *context, const char *order)
{
    skew *it = context;
    player players[3] = {0};
    scene_run(
        it->s,
        it->players == 3
            ? "UPDATE {n}_doctor SET on_call = 1, version = 1"
            : "UPDATE {n}_doctor SET on_call = CASE id WHEN 3 THEN 0 ELSE 1 END, version = 1");
    for (const char *at = order; *at != '\0'; at++) {
        int which = *at - '0';
        player *p = &players[which];
        char mine[24], other[24];
        snprintf(mine, sizeof mine, "doctor/%d", which + 1);
        snprintf(other, sizeof other, "doctor/%d", (which + 1) % it->players + 1);
        if (p->step++ == 0) {
            p->unit = scene_unit(it->s, "someone");
            p->mine = scene_find(p->unit, mine);
            bool on = hf_record_get(scene_find(p->unit, other), "on_call")->number == 1;
            if (on)
                scene_set(p->mine, "on_call", HF_NUMBER(0));
            if (on && it->pinned)
                skew_rely(it, p, which);
        } else
            p->status = schedules_commit(p->unit);
    }
    it->broken += strcmp(scene_value(it->s, "SELECT sum(on_call) FROM {n}_doctor"), "0") == 0;
    for (int i = 0; i < it->players; i++)
        hf_unit_free(players[i].unit);
}

static void write_skew_needs_a_premise_and_is_kept_out_by_it(void **state)
{
    (void)state;
    scene *s = scene_open();
    char order[8];
    int steps[] = {STEPS, STEPS, STEPS};
    static const hf_rely_kind kinds[] = {HF_RELY_UNCHANGED, HF_RELY_WHERE, HF_RELY_RESULT};
    scene_run(s, "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1);"
                 "INSERT INTO {n}_doctor (id, on_call) VALUES (2, 1);"
                 "INSERT INTO {n}_doctor (id, on_call) VALUES (3, 1)");
    for (int i = 0; i < 3 * schedules_levels(s); i++) {
        int players = i % 3 == 0 ? 3 : 2; /* 30 orders, or 3 */
        skew bare = {s, 2, kinds[i % 3], false, 0}, pinned = {s, players, kinds[i % 3], true, 0};
        schedules_level(s, i / 3, i % 3 > 0);
        schedules_each(2, (int[]){STEPS, STEPS}, order, 0, skew_play, &bare);
        schedules_each(players, steps, order, 0, skew_play, &pinned);
        expect_true(bare.broken > 0);
        expect_int(pinned.broken, 0);
    }
    scene_close(s);
}

/* ---- at the same time: both commit in threads of their own ---- */

static void *skew_thread(void *context)
{
    player *p = context;
    p->status = schedules_commit(p->unit);
    return NULL;
}

static size_t skew_together(scene *s, hf_rely_kind kind, bool pinned, int rounds)
{
    size_t broken = 0;
    for (int round = 0; round < rounds; round++) {
        player players[2] = {0};
        pthread_t threads[2];
        skew it = {s, 2, kind, pinned, 0};
        scene_run(s, "UPDATE {n}_doctor SET on_call = 1, version = 1");
        for (int i = 0; i < 2; i++) {
            players[i].unit = scene_unit(s, "someone");
            scene_set(scene_find(players[i].unit, i == 0 ? "doctor/1" : "doctor/2"), "on_call",
                      HF_NUMBER(0));
            if (pinned)
                skew_rely(&it, &players[i], i);
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, skew_thread, &players[i]), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            hf_unit_free(players[i].unit);
        }
        broken += strcmp(scene_value(s, "SELECT sum(on_call) FROM {n}_doctor"), "0") == 0;
        expect_true(pinned || broken == (size_t)round + 1);
    }
    return broken;
}

static void commits_at_the_same_time_keep_their_premises(void **state)
{
    (void)state;
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1);"
                 "INSERT INTO {n}_doctor (id, on_call) VALUES (2, 1)");
    for (int level = 0; level < schedules_levels(s); level++) {
        schedules_level(s, level, false);
        expect_int(skew_together(s, HF_RELY_UNCHANGED, false, 1), 1);
        expect_int(skew_together(s, HF_RELY_UNCHANGED, true, 6), 0);
        expect_int(skew_together(s, HF_RELY_RESULT, true, 6), 0);
    }
    scene_close(s);
}

/* ---- merging at the same time ---- */

enum { MERGERS = 4, MERGES = 12 };

typedef struct merger {
    hf_tables *tables;
    size_t merged;
} merger;

/* Adds one, and merges what others have added by then until it is saved. */
static void *merge_thread(void *context)
{
    merger *it = context;
    hf_error err;
    for (int i = 0; i < MERGES; i++) {
        hf_unit *unit = NULL;
        expect(HF_OK, hf_unit_open(it->tables, &(hf_unit_options){.user = "someone"}, &unit, &err),
               err);
        hf_record *tally = scene_find(unit, "tally/1");
        scene_set(tally, "visits", HF_NUMBER(hf_record_get(tally, "visits")->number + 1));
        while (schedules_commit(unit) == HF_STALE) {
            expect(HF_OK, hf_unit_merge(unit, NULL, &err), err);
            it->merged++;
        }
        hf_unit_free(unit);
    }
    return NULL;
}

/* With stored versions, which are read apart from the row. */
static void sums_merged_at_the_same_time_are_complete(void **state)
{
    (void)state;
    scene *s = scene_open();
    merger all[MERGERS] = {0};
    pthread_t threads[MERGERS];
    char wanted[24];
    size_t merged = 0;
    hf_tables *tables = NULL;
    hf_table tally = *scene_table(s, "customer");
    tally.type = "tally";
    tally.version = tally.by = tally.at = NULL;
    scene_run(s, "INSERT INTO {n}_customer (id, name, visits) VALUES (1, 'x', 0)");
    expect(HF_OK, hf_tables_open(s->url, &tally, 1, NULL, &tables, &s->err), s->err);
    for (int i = 0; i < MERGERS; i++) {
        all[i].tables = tables;
        assert_int_equal(pthread_create(&threads[i], NULL, merge_thread, &all[i]), 0);
    }
    for (int i = 0; i < MERGERS; i++) {
        pthread_join(threads[i], NULL);
        merged += all[i].merged;
    }
    snprintf(wanted, sizeof wanted, "%d", MERGERS * MERGES);
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), wanted);
    expect_true(merged > 0 || s->at->own_file); /* which is fast, and may have no race */
    hf_tables_close(tables);
    scene_close(s);
}

/* ---- no circles ---- */

/* PostgreSQL: waits until so many others wait for a lock. */
static void circle_wait(scene *s, int count)
{
    char wanted[8];
    snprintf(wanted, sizeof wanted, "%d", count);
    for (int i = 0; i < 3000; i++) {
        scene_run(s, "SELECT pg_stat_clear_snapshot()");
        if (strcmp(scene_value(s, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = "
                                  "'Lock' AND query LIKE '%{n}\\_%'"),
                   wanted) == 0)
            return;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    fail_msg("%d transactions never waited", count);
}

static void *circle_thread(void *context)
{
    player *it = context;
    hf_error err;
    it->status = hf_unit_commit(it->unit, NULL, &err);
    return NULL;
}

/* Each relies on the result of one table and writes the other; or only one relies on anything, and
 * the other writes several rows of what it relies on. All are on their way when a row that they
 * want comes free. Told by its status: a circle ends in HF_RETRY. */
static void units_never_wait_for_each_other_in_a_circle(void **state)
{
    (void)state;
    scene *s = scene_open();
    for (int plain = 0; plain < 2 && hf_db_kind_of(s->db) == HF_DB_POSTGRES; plain++) {
        player both[2] = {{.unit = scene_unit(s, "Alice")}, {.unit = scene_unit(s, "Bob")}};
        pthread_t threads[2];
        hf_reliance doctors = {.kind = HF_RELY_RESULT, .resource = scene_table(s, "doctor")->name},
                    lines = {.kind = HF_RELY_RESULT, .resource = scene_table(s, "line")->name};
        scene_run(s, "DELETE FROM {n}_doctor; DELETE FROM {n}_line;"
                     "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1), (2, 1);"
                     "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 1)");
        expect(HF_OK, hf_unit_rely(both[1].unit, &doctors, &s->err), s->err);
        scene_set(scene_find(both[1].unit, "line/1,x"), "amount", HF_NUMBER(2));
        scene_set(scene_find(both[0].unit, "doctor/1"), "on_call", HF_NUMBER(0));
        if (plain)
            scene_set(scene_find(both[0].unit, "doctor/2"), "on_call", HF_NUMBER(0));
        else
            expect(HF_OK, hf_unit_rely(both[0].unit, &lines, &s->err), s->err);
        scene_run(s, "BEGIN; SELECT 1 FROM {n}_doctor WHERE id = 1 FOR UPDATE");
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, circle_thread, &both[i]), 0);
            circle_wait(s, i + 1);
        }
        scene_run(s, "COMMIT");
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        expect_int(both[0].status, HF_OK);
        expect_int(both[1].status, HF_STALE);
        for (int i = 0; i < 2; i++)
            hf_unit_free(both[i].unit);
    }
    scene_close(s);
}

/* ---- what is not there ---- */

typedef struct absence {
    scene *s;
    const char *code;
    bool pinned;
    hf_status status;
    pthread_barrier_t *start;
} absence;

/* Adds a line if there is none of the other's name. */
static void *absence_thread(void *context)
{
    absence *it = context;
    hf_unit *unit = scene_unit(it->s, "someone");
    hf_record *line = NULL;
    hf_error err;
    expect(HF_OK, hf_unit_add(unit, scene_table(it->s, "line")->name, NULL, &line, &err), err);
    scene_set(line, "document", HF_NUMBER(9));
    scene_set(line, "place", HF_TEXT(it->code));
    scene_set(line, "amount", HF_NUMBER(1));
    hf_reliance on = {.kind = HF_RELY_ABSENT,
                      .resource = strcmp(it->code, "a") == 0 ? "line/9,b" : "line/9,a"};
    if (it->pinned)
        expect(HF_OK, hf_unit_rely(unit, &on, &err), err);
    pthread_barrier_wait(it->start);
    it->status = schedules_commit(unit);
    hf_unit_free(unit);
    return NULL;
}

static void what_is_not_there_stays_away_until_the_commit(void **state)
{
    (void)state;
    scene *s = scene_open();
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    for (int round = 0; round < 5 * schedules_levels(s); round++) {
        bool pinned = round % 5 > 0;
        schedules_level(s, round / 5, pinned);
        absence both[2] = {{s, "a", pinned, HF_OK, &start}, {s, "b", pinned, HF_OK, &start}};
        pthread_t threads[2];
        scene_run(s, "DELETE FROM {n}_line");
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, absence_thread, &both[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        expect_text(scene_value(s, "SELECT count(*) FROM {n}_line"), pinned ? "1" : "2");
    }
    pthread_barrier_destroy(&start);
    scene_close(s);
}

/* ---- appends to one aggregate, with raw writers beside ---- */

enum { APPENDERS = 16, APPENDS = 3 };

typedef struct appender {
    scene *s;
    size_t done, refused;
} appender;

/* Adds an address; who is too late begins again with what is there by then. */
static void *append_thread(void *context)
{
    appender *it = context;
    hf_error err;
    while (it->done < APPENDS) {
        hf_unit *unit = scene_unit(it->s, "someone");
        hf_record *address = NULL;
        expect(HF_OK,
               hf_unit_add(unit, scene_table(it->s, "address")->name,
                           scene_find(unit, "customer/1"), &address, &err),
               err);
        scene_set(address, "city", HF_TEXT("Bern"));
        if (schedules_commit(unit) == HF_OK)
            it->done++;
        else
            it->refused++;
        hf_unit_free(unit);
    }
    return NULL;
}

static void appends_of_many_are_all_there_and_count(void **state)
{
    (void)state;
    scene *s = scene_open();
    appender all[APPENDERS] = {0};
    pthread_t threads[APPENDERS];
    char wanted[24];
    int raw = 0;
    scene_run(s, "INSERT INTO {n}_customer (id, name, visits) VALUES (1, 'x', 0)");
    hf_db_patience(s->db, 10 * HF_DB_BUSY_US);
    for (int i = 0; i < APPENDERS; i++) {
        all[i].s = s;
        assert_int_equal(pthread_create(&threads[i], NULL, append_thread, &all[i]), 0);
    }
    for (; raw < 5; raw++)
        scene_run(s, "UPDATE {n}_customer SET visits = visits + 1, version = version + 1");
    for (int i = 0; i < APPENDERS; i++)
        pthread_join(threads[i], NULL);
    snprintf(wanted, sizeof wanted, "%d", APPENDERS * APPENDS);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_address"), wanted);
    snprintf(wanted, sizeof wanted, "%d", 1 + APPENDERS * APPENDS + raw);
    expect_text(scene_value(s, "SELECT version FROM {n}_customer"), wanted);
    snprintf(wanted, sizeof wanted, "%d", raw);
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), wanted);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_update_is_lost_in_any_order),
        cmocka_unit_test(write_skew_needs_a_premise_and_is_kept_out_by_it),
        cmocka_unit_test(commits_at_the_same_time_keep_their_premises),
        cmocka_unit_test(sums_merged_at_the_same_time_are_complete),
        cmocka_unit_test(units_never_wait_for_each_other_in_a_circle),
        cmocka_unit_test(what_is_not_there_stays_away_until_the_commit),
        cmocka_unit_test(appends_of_many_are_all_there_and_count),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
