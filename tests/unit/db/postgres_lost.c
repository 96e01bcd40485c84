/* SPDX-License-Identifier: MIT */
/* The PostgreSQL driver when the server goes away or says nothing: what was not done, what is
 * unsure, and never longer than its time. */
#include "own_postgres.h"

#include <base/seams.h>
#include <db/url.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- someone who strikes while the backend sleeps in a statement ---- */

typedef struct assassin {
    pthread_t thread;
    int backend;
    int signal;      /* 0: pg_terminate_backend; -1: pg_cancel_backend */
    const char *url; /* of the server itself */
} assassin;

static void *postgres_lost_strike(void *context)
{
    assassin *it = context;
    hf_db *other = NULL;
    char sql[256], answer[64] = "";
    if (hf_db_connect(&hf_db_postgres, it->url, &(hf_db_options){0}, &other, NULL) != HF_OK)
        return NULL;
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event = 'PgSleep'",
             it->backend);
    for (int i = 0; i < 8000 && strcmp(answer, "1") != 0; i++) {
        usleep(5000);
        hf_db_ask(other, sql, answer, sizeof answer, NULL);
    }
    snprintf(sql, sizeof sql, "SELECT pg_%s_backend(%d)", it->signal < 0 ? "cancel" : "terminate",
             it->backend);
    if (it->signal > 0)
        kill(it->backend, it->signal);
    else
        hf_db_run(other, sql, NULL);
    hf_db_close(other);
    return NULL;
}

static int backend_of(hf_db *db)
{
    return (int)strtol(ask(db, "SELECT pg_backend_pid()"), NULL, 10);
}

static assassin strike_at(hf_db *db, int signal)
{
    return (assassin){.backend = backend_of(db),
                      .signal = signal,
                      .url = own_postgres_url("postgres", "postgres", "")};
}

/* ---- flights that are struck ---- */

enum { FLIGHT = 4 };

/* Sends BEGIN, an INSERT, one more statement and COMMIT, while someone strikes (or not), and
 * expects these ends. */
static void postgres_lost_fly(hf_db *db, assassin *striker, const char *third,
                              const hf_status expected[FLIGHT])
{
    hf_stmt *all[FLIGHT] = {stmt(db, "BEGIN"), stmt(db, "INSERT INTO kept VALUES (1)"),
                            stmt(db, third), stmt(db, " commit ;")};
    for (int i = 0; i < FLIGHT; i++)
        hf_stmt_queue(all[i]);
    if (striker != NULL)
        pthread_create(&striker->thread, NULL, postgres_lost_strike, striker);
    expect(HF_OK, hf_db_send(db, &err), err);
    if (striker != NULL)
        pthread_join(striker->thread, NULL);
    for (int i = 0; i < FLIGHT; i++) {
        expect(expected[i], hf_stmt_run(all[i], &err), err);
        if (expected[i] != HF_OK)
            expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    }
    for (int i = 0; i < FLIGHT; i++)
        hf_stmt_free(all[i]);
}

static const hf_status commit_unsure[] = {HF_OK, HF_OK, HF_OK, HF_UNSURE};
static const hf_status all_unsure[] = {HF_UNSURE, HF_UNSURE, HF_UNSURE, HF_UNSURE};
static const hf_status not_done[] = {HF_OK, HF_OK, HF_UNAVAILABLE, HF_UNAVAILABLE};

static void make_tables(hf_db *db, const char *at_commit)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS "
             "$$ BEGIN PERFORM pg_sleep(%s); RETURN NULL; END $$",
             at_commit);
    run(db, "DROP TABLE IF EXISTS kept; DROP FUNCTION IF EXISTS at_commit; CREATE TABLE kept(a "
            "bigint)");
    run(db, sql);
    run(db, "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON kept DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION at_commit()");
}

static void tables(const char *at_commit)
{
    hf_db *db = open_db();
    make_tables(db, at_commit);
    hf_db_close(db);
}

static void expect_rows(const char *count)
{
    hf_db *db = open_db();
    expect_text(ask(db, "SELECT count(*) FROM kept"), count);
    hf_db_close(db);
}

static void expect_dead(hf_db *db)
{
    expect_true(!hf_db_alive(db) && !hf_db_fresh(db) && !hf_db_in_transaction(db));
    expect(HF_UNAVAILABLE, hf_db_run(db, "SELECT 1", &err), err);
    expect(HF_OK, hf_db_rollback(db, &err), err);
    hf_db_close(db);
}

static void a_backend_that_ends_during_commit_leaves_it_unsure(void **state)
{
    (void)state;
    tables("20");
    hf_db *db = open_db();
    assassin striker = strike_at(db, 0);
    postgres_lost_fly(db, &striker, "SELECT 1", commit_unsure);
    expect_contains(err.message, "not known");
    expect_dead(db);
    expect_rows("0");
}

static void a_backend_that_ends_before_the_commit_has_done_nothing(void **state)
{
    (void)state;
    tables("0");
    hf_db *db = open_db();
    assassin striker = strike_at(db, 0);
    postgres_lost_fly(db, &striker, "SELECT pg_sleep(20)", not_done);
    expect_contains(err.message, "57P01");
    expect_dead(db);
    expect_rows("0");
}

static void a_crash_of_the_server_tells_nothing_so_all_is_unsure(void **state)
{
    (void)state;
    tables("20");
    hf_db *db = open_db();
    assassin striker = strike_at(db, SIGKILL);
    postgres_lost_fly(db, &striker, "SELECT 1", all_unsure);
    expect_dead(db);
    instance_restart(own_postgres(), INSTANCE_FAST);
    expect_rows("0");
}

/* PgBouncer answers for a server that is gone, where the first answer is missing: that is not the
 * answer of a statement. */
static void a_poolers_message_is_no_answer_of_the_server(void **state)
{
    (void)state;
    instance *pooler = instance_start(INSTANCE_PGBOUNCER);
    hf_db *direct = connect_with(instance_url(instance_behind(pooler)), &(hf_db_options){0});
    make_tables(direct, "20");
    hf_url url;
    expect(HF_OK, hf_url_read(instance_url(pooler), &url, &err), err);
    hf_db *db = connect_with(url.url, &(hf_db_options){.pooler = url.pooler});
    hf_url_done(&url);
    assassin striker = strike_at(db, SIGKILL);
    striker.url = instance_url(instance_behind(pooler));
    postgres_lost_fly(db, &striker, "SELECT 1", all_unsure);
    expect_dead(db);
    hf_db_close(direct);
    instance_stop(pooler);
}

static void a_stopped_backend_is_given_up_in_time(void **state)
{
    (void)state;
    const char *url = own_postgres_url("postgres", "postgres", "");
    const hf_db_options brief = {.timeout_us = 1500000}; /* connecting has no longer either */
    static const hf_status unavailable[] = {HF_UNAVAILABLE, HF_UNAVAILABLE, HF_UNAVAILABLE};
    tables("0");
    for (int i = 0; i < 3; i++) {
        hf_db *db = connect_with(url, &brief);
        int backend = backend_of(db);
        hf_stmt *it = stmt(db, "SELECT $1");
        char *text = calloc(1, 5000000);
        expect_true(text != NULL);
        memset(text, 'x', 5000000);
        hf_stmt_text(it, 1, (hf_slice){text, i == 2 ? 5000000 : 1});
        kill(backend, SIGSTOP);
        int64_t from_us = hf_seam.boot_us();
        if (i == 0)
            postgres_lost_fly(db, NULL, "SELECT 1", all_unsure);
        else if (i == 1)
            expect(HF_UNAVAILABLE, hf_db_run(db, "BEGIN", &err), err);
        else
            expect(unavailable[i], hf_stmt_run(it, &err), err);
        int64_t took_us = hf_seam.boot_us() - from_us;
        expect_true(took_us > 1200000 && took_us < 6000000);
        expect_contains(err.message, "no answer within 1.5 s");
        hf_stmt_free(it);
        expect_dead(db);
        kill(backend, SIGCONT);
        free(text);
    }
}

static void a_stopped_server_takes_no_connection_in_time(void **state)
{
    (void)state;
    hf_db *db = NULL;
    const char *const urls[] = {own_postgres_url("postgres", "postgres", ""),
                                own_postgres_tcp_url("postgres", "postgres", "")};
    kill(instance_pid(own_postgres()), SIGSTOP);
    for (int i = 0; i < 2; i++) {
        int64_t from_us = hf_seam.boot_us();
        expect(HF_UNAVAILABLE,
               hf_db_connect(&hf_db_postgres, urls[i], &(hf_db_options){.timeout_us = 200000}, &db,
                             &err),
               err);
        int64_t took_us = hf_seam.boot_us() - from_us;
        expect_true(took_us > 150000 && took_us < 6000000);
        expect_contains(err.message, "no answer within 0.2 s");
    }
    kill(instance_pid(own_postgres()), SIGCONT);
}

/* A socket in a folder of its own, where whoever connects waits for ever; port 5432. */
static int silent_socket(char *folder)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    expect_true(mkdtemp(folder) != NULL);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.5432", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 16) == 0);
    return fd;
}

static void a_silent_host_leaves_time_for_the_next(void **state)
{
    (void)state;
    const hf_db_options usual = {0}, brief = {.timeout_us = 1000000};
    char folder[] = "/tmp/hf-silent-XXXXXX", url[1024], where[512];
    int silent = silent_socket(folder);
    int port = instance_port(own_postgres());
    snprintf(where, sizeof where, "the database postgres on %s, port %d", own_postgres_folder(),
             port);
    snprintf(
        url, sizeof url,
        "postgres://postgres@/postgres?host=%s,%s&port=5432,%d&target_session_attrs=read-write",
        folder, own_postgres_folder(), port);
    hf_db *db = connect_with(url, &usual), *none = NULL;
    expect_text(hf_db_path(db), where);
    hf_db_close(db);
    /* The last one named is told of; one that refuses for good is not passed over. */
    snprintf(url, sizeof url, "postgres://postgres@/postgres?host=%s,%s&port=,1", folder,
             own_postgres_folder());
    expect(HF_UNAVAILABLE, hf_db_connect(&hf_db_postgres, url, &brief, &none, &err), err);
    expect_contains(err.message, "port 1 ");
    snprintf(url, sizeof url, "postgres://postgres@/nope?host=%s,%s&port=%d,5432",
             own_postgres_folder(), folder, port);
    expect(HF_UNAVAILABLE, hf_db_connect(&hf_db_postgres, url, &usual, &none, &err), err);
    expect_contains(err.message, "3D000");
    close(silent);
    snprintf(url, sizeof url, "%s/.s.PGSQL.5432", folder);
    unlink(url);
    rmdir(folder);
}

static void commits_that_are_lost_are_unsure_however_they_are_sent(void **state)
{
    (void)state;
    tables("20");
    const char *const texts[] = {"COMMIT", "INSERT INTO kept VALUES (2);\ncommit;\n ", NULL};
    for (int i = 0; i < 3; i++) {
        hf_db *db = open_db();
        expect(HF_OK, hf_db_begin(db, HF_READ_COMMITTED, false, &err), err);
        run(db, "INSERT INTO kept VALUES (1)");
        assassin striker = strike_at(db, 0);
        pthread_create(&striker.thread, NULL, postgres_lost_strike, &striker);
        if (texts[i] != NULL)
            expect(HF_UNSURE, hf_db_run(db, texts[i], &err), err);
        else
            expect(HF_UNSURE, hf_db_commit(db, &err), err);
        pthread_join(striker.thread, NULL);
        expect_dead(db);
    }
    expect_rows("0");
}

static void end_backend(hf_db *db)
{
    char sql[128];
    int backend = backend_of(db);
    hf_db *other = open_db();
    snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 5000)", backend);
    run(other, sql);
    hf_db_close(other);
}

static void what_ended_while_it_was_idle_shows_and_its_transaction_was_not_done(void **state)
{
    (void)state;
    tables("0");
    hf_db *db = open_db();
    run(db, "BEGIN");
    hf_stmt *insert = stmt(db, "INSERT INTO kept VALUES (1)"), *commit = stmt(db, "COMMIT");
    end_backend(db);
    expect_true(hf_db_alive(db) && !hf_db_fresh(db)); /* nobody has read it yet */
    hf_stmt_queue(insert);
    hf_stmt_queue(commit);
    expect(HF_OK, hf_db_send(db, &err), err);
    expect(HF_UNAVAILABLE, hf_stmt_run(insert, &err), err);
    expect(HF_UNAVAILABLE, hf_stmt_run(commit, &err), err);
    hf_stmt_free(insert);
    hf_stmt_free(commit);
    expect_dead(db);
    db = open_db();
    run(db, "BEGIN");
    end_backend(db);
    /* the answer to COMMIT itself is trusted to nobody */
    expect(HF_UNSURE, hf_db_commit(db, &err), err);
    expect_dead(db);
    expect_rows("0");
}

static void a_statement_is_cancelled_from_another_thread(void **state)
{
    (void)state;
    hf_db *db = open_db();
    assassin striker = strike_at(db, -1);
    pthread_create(&striker.thread, NULL, postgres_lost_strike, &striker);
    expect(HF_BUSY, hf_db_run(db, "SELECT pg_sleep(20)", &err), err);
    pthread_join(striker.thread, NULL);
    expect_int(hf_db_failure(db), HF_FAILURE_BUSY);
    expect_true(hf_db_alive(db));
    expect_text(ask(db, "SELECT 1"), "1");
    hf_db_close(db);
}

static void a_server_that_is_down_says_so(void **state)
{
    (void)state;
    hf_db *db = open_db(), *none = NULL;
    instance_down(own_postgres(), INSTANCE_FAST);
    expect_true(!hf_db_fresh(db));
    expect(HF_UNAVAILABLE, hf_db_run(db, "SELECT 1", &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    hf_db_close(db);
    expect(HF_UNAVAILABLE,
           hf_db_connect(&hf_db_postgres, own_postgres_url("postgres", "postgres", ""),
                         &(hf_db_options){0}, &none, &err),
           err);
    expect_contains(err.message, "Check that the server runs");
    instance_up(own_postgres());
    hf_db_close(open_db());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_that_ends_during_commit_leaves_it_unsure),
        cmocka_unit_test(a_backend_that_ends_before_the_commit_has_done_nothing),
        cmocka_unit_test(a_crash_of_the_server_tells_nothing_so_all_is_unsure),
        cmocka_unit_test(a_poolers_message_is_no_answer_of_the_server),
        cmocka_unit_test(a_stopped_backend_is_given_up_in_time),
        cmocka_unit_test(a_stopped_server_takes_no_connection_in_time),
        cmocka_unit_test(a_silent_host_leaves_time_for_the_next),
        cmocka_unit_test(commits_that_are_lost_are_unsure_however_they_are_sent),
        cmocka_unit_test(what_ended_while_it_was_idle_shows_and_its_transaction_was_not_done),
        cmocka_unit_test(a_statement_is_cancelled_from_another_thread),
        cmocka_unit_test(a_server_that_is_down_says_so),
    };
    return cmocka_run_group_tests_name("postgres_lost", tests, own_postgres_start,
                                       own_postgres_end);
}
