/* SPDX-License-Identifier: MIT */
/* What a store says it stands on, with the settings of its server changed under it; servers that
 * take no writes are refused, and one that comes to be such is told as unavailable until it is well
 * again. The argument names the server, which is private. */
#include "database/shop.h"
#include "db/open.h"
#include "faults/database_target.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "Gehe1m_S3cret"

static target *server;
static const char *server_name;
static app *admin;
static char url[HF_URL_MAX]; /* of an installed store, by the plain account */

static int server_grades_start(void **state)
{
    (void)state;
    hf_error err = {0};
    server = target_start(server_name);
    admin = app_connect(server->url_admin);
    if (server->postgres)
        app_do(admin, "CREATE ROLE plain LOGIN PASSWORD '" SECRET "'");
    else
        app_do(admin, "CREATE USER plain@'127.0.0.1' IDENTIFIED BY '" SECRET "'");
    expect(HF_OK,
           hf_store_install(server->url, server->postgres ? "plain" : "plain@127.0.0.1", &err),
           err);
    target_url(server, &(target_way){.user = "plain", .password = SECRET}, url);
    return 0;
}

/* Before the server goes down, and when it is back. */
static void server_grades_leave(void)
{
    app_close(admin);
    admin = NULL;
}

static void server_grades_come_back(void)
{
    server_grades_leave();
    admin = app_connect(server->url_admin);
}

static int server_grades_stop(void **state)
{
    (void)state;
    server_grades_leave();
    target_stop(server);
    return 0;
}

/* ---- grades ---- */

static hf_store *server_grades_open_store(const char *at)
{
    hf_error err = {0};
    hf_store *store = NULL;
    expect(HF_OK, hf_store_open(at, &store, &err), err);
    return store;
}

static void expect_grade(const char *at, hf_grade_level level, const char *part)
{
    hf_grade grade = {0};
    hf_store *store = server_grades_open_store(at);
    hf_store_grade(store, &grade);
    hf_store_close(store);
    if (grade.level != level || !strstr(grade.text, part))
        check_failed(__FILE__, __LINE__, "The grade is %d, not %d with \"%s\": %s",
                     (int)grade.level, (int)level, part, grade.text);
    expect_lacks(grade.text, SECRET);
}

static void server_grades_expect_refused(const char *at, const char *const parts[])
{
    hf_error err = {0};
    hf_store *store = NULL;
    expect(HF_UNAVAILABLE, hf_store_open(at, &store, &err), err);
    for (size_t i = 0; parts[i]; i++)
        expect_contains(err.message, parts[i]);
    expect_lacks(err.message, SECRET);
    expect_true(err.message[strlen(err.message) - 1] == '.');
}
#define EXPECT_REFUSED(at, ...)                                                                    \
    server_grades_expect_refused((at), (const char *const[]){__VA_ARGS__, NULL})

/* Leases are refused there too. */
static void expect_no_leases(const char *at, const char *part)
{
    hf_error err = {0};
    hf_leases *leases = NULL;
    hf_status status = hf_leases_open(at, NULL, &leases, &err);
    expect_true(status == HF_INVALID || status == HF_UNAVAILABLE);
    expect_contains(err.message, part);
    expect_lacks(err.message, SECRET);
}

/* A setting of the whole server; NULL puts it back. On PostgreSQL it counts when it has been read.
 * */
static void server_grades_note(const char *name, const char *value)
{
    if (!server->postgres)
        app_do(admin, "SET GLOBAL %s = %s", name, value ? value : "DEFAULT");
    else if (value)
        app_do(admin, "ALTER SYSTEM SET %s = '%s'", name, value);
    else
        app_do(admin, "ALTER SYSTEM RESET %s", name);
}

static void server_grades_reload(void)
{
    if (!server->postgres)
        return;
    static const char loaded[] =
        "SELECT (extract(epoch FROM pg_conf_load_time()) * 1000000)::bigint";
    int64_t before = app_number(admin, loaded);
    app_do(admin, "SELECT pg_reload_conf()");
    for (int64_t until_us = now_us() + 20 * SECOND;
         app_number(admin, loaded) == before && now_us() < until_us;)
        rest_ms(5);
    rest_ms(20); /* the other connections were told at about the same time */
}

static void server_grades_set(const char *name, const char *value)
{
    server_grades_note(name, value);
    server_grades_reload();
}

static void server_grades_expect_works(const char *at)
{
    hf_store *store = server_grades_open_store(at);
    hf_credentials alice = newcomer(store, "alice \\ ' \" \xc3\xa4", HOUR),
                   bob = newcomer(store, "bob", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "\\ ' \" \xc3\xa4"));
    must(HF_LOCKED, store, ACQUIRE, BY(bob), ON("policy", "\\ ' \" \xc3\xa4"));
    expect_text(must(HF_OK, store, WHO, ON("policy", "\\ ' \" \xc3\xa4")).lock.user,
                "alice \\ ' \" \xc3\xa4");
    must(HF_OK, store, CLOSE, BY(alice));
    must(HF_OK, store, CLOSE, BY(bob));
    takes_two_and_gives_them_back(store, "carol");
    must(HF_OK, store, SWEEP, .limit = 100);
    hf_store_close(store);
}

static void the_grade_tells_what_a_crash_may_take(void **state)
{
    (void)state;
    if (server->postgres) {
        expect_grade(url, HF_GRADE_DISK, "PostgreSQL 15");
        expect_grade(url, HF_GRADE_DISK, "synchronous_commit on");
        server_grades_set("fsync", "off");
        expect_grade(url, HF_GRADE_PROCESS, "fsync off");
        server_grades_set("fsync", NULL);
        server_grades_set("synchronous_standby_names", "nobody");
        expect_grade(url, HF_GRADE_DISK, "with a synchronous standby");
        server_grades_set("synchronous_standby_names", NULL);
        expect_grade(url, HF_GRADE_DISK, "one server");
        return;
    }
    expect_grade(url, HF_GRADE_DISK, server->kind == INSTANCE_MYSQL ? "MySQL 9." : "MariaDB 10.");
    expect_grade(url, HF_GRADE_DISK, "flushed at every commit");
    server_grades_set("innodb_flush_log_at_trx_commit", "2");
    expect_grade(url, HF_GRADE_PROCESS, "innodb_flush_log_at_trx_commit 2");
    server_grades_set("innodb_flush_log_at_trx_commit", "0");
    expect_grade(url, HF_GRADE_PROCESS, "innodb_flush_log_at_trx_commit 0");
    server_grades_set("innodb_flush_log_at_trx_commit", "1");
    expect_grade(url, HF_GRADE_DISK, "one server");
}

/* What the store sets is set where it commits: a trigger looks. */
static void synchronous_commit_is_on_even_if_the_account_has_it_off(void **state)
{
    (void)state;
    char pooled[HF_URL_MAX];
    app_do(admin, "ALTER ROLE plain SET synchronous_commit = off");
    expect_grade(url, HF_GRADE_DISK, "synchronous_commit on");
    app_do(admin, "CREATE TABLE seen (setting text)");
    app_do(admin,
           "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN "
           "INSERT INTO"
           " public.seen VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END'");
    app_do(admin, "CREATE TRIGGER look AFTER INSERT ON {event} EXECUTE FUNCTION look()");
    server_grades_expect_works(url);
    expect_int(app_number(admin, "SELECT count(*) FROM seen WHERE setting = 'on'"),
               app_number(admin, "SELECT count(*) FROM seen"));
    expect_true(app_number(admin, "SELECT count(*) FROM seen") >= 4);
    app_do(admin, "DROP TRIGGER look ON {event}");
    /* Through a pooler it can't be, and the grade says so, or it is set in every transaction. */
    hf_grade grade = {0};
    target_with(url, "pooler=transaction", pooled);
    hf_store *store = server_grades_open_store(pooled);
    hf_store_grade(store, &grade);
    hf_store_close(store);
    app_do(admin, "TRUNCATE seen");
    app_do(admin, "CREATE TRIGGER look AFTER INSERT ON {event} EXECUTE FUNCTION look()");
    server_grades_expect_works(pooled);
    bool off = app_number(admin, "SELECT count(*) FROM seen WHERE setting <> 'on'") > 0;
    app_do(admin, "DROP TRIGGER look ON {event}");
    expect_int(grade.level, off ? HF_GRADE_PROCESS : HF_GRADE_DISK);
    if (off)
        expect_contains(grade.text, "synchronous_commit off");
    app_do(admin, "ALTER ROLE plain RESET synchronous_commit");
}

/* ---- settings that are none of its business ---- */

static const char *const of_postgres[][2] = {
    {"standard_conforming_strings", "off"},
    {"backslash_quote", "on"},
    {"default_transaction_isolation", "serializable"},
    {"default_transaction_deferrable", "on"},
    {"timezone", "Asia/Tokyo"},
    {"bytea_output", "escape"},
    {"datestyle", "German"},
    {"search_path", "nowhere"},
    {"lock_timeout", "1"},
};

static const char *const of_mysql[][2] = {
    {"sql_mode", "'ANSI,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"},
    {"autocommit", "0"},
    {"time_zone", "'+09:00'"},
    {"character_set_server", "latin1"},
    {"innodb_lock_wait_timeout", "1"},
    {"completion_type", "'CHAIN'"},
    {"sql_safe_updates", "1"},
    {"sql_select_limit", "1"},
};

/* A record that is saved by one statement is there for others, and was saved at the level that is
 * promised: a trigger notes it. */
static void server_grades_expect_saves(void)
{
    hf_table notes = {.name = server->postgres ? "public.note" : "note", .version = "version"};
    hf_tables *tables = NULL;
    hf_unit *unit = NULL;
    hf_record *note = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_tables_open(server->url, &notes, 1, NULL, &tables, &err), err);
    expect(HF_OK, hf_unit_open(tables, &(hf_unit_options){.user = "alice"}, &unit, &err), err);
    expect(HF_OK, hf_unit_find(unit, "note/1", &note, &err), err);
    expect(HF_OK, hf_record_set(note, "word", HF_TEXT("saved"), &err), err);
    expect(HF_OK, hf_unit_commit(unit, NULL, &err), err);
    hf_unit_free(unit);
    hf_tables_close(tables);
    char *stands = app_text(admin, "SELECT word FROM %s WHERE version = 2", notes.name);
    expect_contains(stands, server->postgres ? "read committed" : "saved");
    free(stands);
}

static void server_grades_make_notes(void)
{
    const char *name = server->postgres ? "public.note" : "test.note";
    app_do(admin,
           "CREATE TABLE %s (id integer PRIMARY KEY, word varchar(20), version integer NOT NULL)",
           name);
    app_do(admin, "INSERT INTO %s VALUES (1, 'new', 1)", name);
    if (!server->postgres)
        return;
    app_do(admin, "CREATE FUNCTION public.note_level() RETURNS trigger LANGUAGE plpgsql AS "
                  "$$BEGIN NEW.word := current_setting('transaction_isolation'); RETURN NEW; "
                  "END$$");
    app_do(admin, "CREATE TRIGGER note_level BEFORE UPDATE ON public.note FOR EACH ROW "
                  "EXECUTE FUNCTION public.note_level()");
}

static void other_settings_of_the_server_do_not_matter(void **state)
{
    (void)state;
    char fresh[HF_URL_MAX];
    size_t count = server->postgres ? sizeof of_postgres / sizeof *of_postgres
                                    : sizeof of_mysql / sizeof *of_mysql;
    const char *const(*all)[2] = server->postgres ? of_postgres : of_mysql;
    const char *level = server->kind == INSTANCE_MYSQL ? "transaction_isolation" : "tx_isolation";
    server_grades_make_notes();
    for (size_t i = 0; i < count; i++)
        server_grades_note(all[i][0], all[i][1]);
    if (!server->postgres)
        server_grades_note(level, "'SERIALIZABLE'");
    server_grades_reload();
    server_grades_expect_works(url);
    server_grades_expect_saves();
    target_install(server, false, fresh);
    server_grades_expect_works(fresh);
    for (size_t i = 0; i < count; i++)
        server_grades_note(all[i][0], strcmp(all[i][0], "sql_mode") == 0 ? "''" : NULL);
    if (!server->postgres)
        server_grades_note(level, NULL);
    server_grades_reload();
    server_grades_come_back(); /* this connection had none of it */
}

/* ---- servers that take no writes ---- */

static void a_server_that_takes_no_writes_is_refused(void **state)
{
    (void)state;
    if (server->postgres) {
        app_do(admin, "ALTER ROLE plain SET default_transaction_read_only = on");
        EXPECT_REFUSED(url, "read-only", "the database test", "default_transaction_read_only");
        app_do(admin, "ALTER ROLE plain RESET default_transaction_read_only");
        app_do(admin, "ALTER DATABASE test SET default_transaction_read_only = on");
        EXPECT_REFUSED(url, "read-only", "the database test");
        server_grades_come_back();
        app_do(admin, "SET default_transaction_read_only = off");
        app_do(admin, "ALTER DATABASE test RESET default_transaction_read_only");
    } else {
        server_grades_set("read_only", "1");
        EXPECT_REFUSED(url, "read-only", "the database test", "primary");
        EXPECT_REFUSED(server->url, "read-only", "the database test");
        expect_no_leases(url, "primary");
        server_grades_set("read_only", "0");
        const char *setting =
            server->kind == INSTANCE_MYSQL ? "transaction_read_only" : "tx_read_only";
        server_grades_set(setting, "1");
        EXPECT_REFUSED(url, "read-only", "the database test", setting);
        server_grades_set(setting, "0");
    }
    server_grades_expect_works(url);
}

/* What a failover does to an open store; it heals when the server takes writes again. A standby or
 * replica may be behind, so nothing is read from it either. */
static said meet_read_only(hf_store *store, const hf_credentials *alice)
{
    said no = ASK(store, ACQUIRE, .session = alice, ON("policy", "2"), .request_id = "two");
    said who = ASK(store, WHO, ON("policy", "1"));
    printf("# %s after %.1f s: %s\n", hf_status_wire(no.status), (double)no.took_us / 1e6,
           no.message);
    expect_status(HF_UNAVAILABLE, who.status, who.message);
    expect_contains(who.message,
                    server->postgres ? "is a standby" : "is read-only (read_only is on)");
    return no;
}

/* The folder of the data of a private PostgreSQL. */
static void data_folder(char *out)
{
    char *text = app_text(admin, "SHOW data_directory");
    text[strcspn(text, "\n")] = '\0';
    snprintf(out, HF_URL_MAX, "%s", text);
    free(text);
}

static void a_server_that_comes_to_take_no_writes_is_told_as_unavailable(void **state)
{
    (void)state;
    char folder[HF_URL_MAX], mark[HF_URL_MAX + 32];
    said no;
    hf_store *store = server_grades_open_store(url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    for (int i = 1; i <= 3; i++) /* so that its statements are prepared */
        must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    must(HF_OK, store, WHO, ON("policy", "1")); /* so that there is a connection for reading */
    if (server->postgres) {
        data_folder(folder);
        snprintf(mark, sizeof mark, "%s/standby.signal", folder);
        server_grades_leave();
        int file = open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        expect_true(file >= 0 && fchown(file, server->uid, server->gid) == 0);
        close(file);
        instance_restart(server->instance, INSTANCE_FAST);
        no = meet_read_only(store, &alice);
        unlink(mark);
        instance_restart(server->instance, INSTANCE_FAST);
        server_grades_come_back();
    } else {
        static const char connections[] =
            "SELECT count(*) FROM information_schema.processlist WHERE user = 'plain'";
        server_grades_set("read_only", "1");
        no = meet_read_only(store, &alice);
        /* None is kept: who connects anew may come to the server that has taken its place. */
        for (int64_t from = now_us();
             app_number(admin, connections) != 0 && now_us() - from < 20 * SECOND;)
            rest_ms(10);
        expect_int(app_number(admin, connections), 0);
        server_grades_set("read_only", "0");
    }
    expect_status(HF_UNAVAILABLE, no.status, no.message);
    expect_contains(no.message, "the database test");
    expect_true(no.took_us < 5 * SECOND); /* not the timeout, 10 s */
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "2"), .request_id = "two");
    must(HF_OK, store, CLOSE, BY(alice));
    hf_store_close(store);
}

/* ---- a synchronous standby that is missing ---- */

typedef struct acquirer {
    pthread_t thread;
    hf_store *store;
    hf_credentials who;
    said got;
} acquirer;

static void *acquirer_main(void *context)
{
    acquirer *it = context;
    it->got = ASK(it->store, ACQUIRE, BY(it->who), ON("policy", "1"), .request_id = "one");
    return NULL;
}

static void server_grades_cancel_wait(void)
{
    static const char waiting[] =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    for (int64_t until_us = now_us() + 20 * SECOND;
         app_number(admin, waiting) == 0 && now_us() < until_us;)
        rest_ms(5);
    app_do(admin,
           "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
}

/* Acquires while someone cancels the wait for the standby: PostgreSQL then commits with a warning,
 * and what was committed is on one server alone. */
static said acquire_cancelled(acquirer *it)
{
    expect_int(pthread_create(&it->thread, NULL, acquirer_main, it), 0);
    server_grades_cancel_wait();
    expect_int(pthread_join(it->thread, NULL), 0);
    return it->got;
}

static void what_no_standby_has_is_unsure(void **state)
{
    (void)state;
    acquirer it = {.store = server_grades_open_store(url)};
    it.who = newcomer(it.store, "alice", HOUR);
    server_grades_set("synchronous_standby_names", "nobody");
    for (int i = 0; i < 2; i++) { /* asking again does not make it safe */
        said no = acquire_cancelled(&it);
        expect_status(HF_UNSURE, no.status, no.message);
        expect_contains(no.message, "standby");
    }
    int64_t fence = must(HF_OK, it.store, WHO, ON("policy", "1")).lock.fence;
    server_grades_set("synchronous_standby_names", NULL);
    said again = must(HF_OK, it.store, ACQUIRE, BY(it.who), ON("policy", "1"), .request_id = "one");
    expect_int(again.lock.fence, fence);
    must(HF_OK, it.store, CLOSE, BY(it.who));
    hf_store_close(it.store);
}

/* ... also what is committed by itself, as one statement. */
static void *alone_main(void *context)
{
    hf_db *db = NULL;
    hf_error *err = context;
    char answer[32];
    expect(HF_OK, hf_db_open_url(server->url_admin, &db, err), *err);
    hf_status status =
        hf_db_ask(db, "UPDATE server_grades SET n = n + 1 RETURNING n", answer, sizeof answer, err);
    hf_db_close(db);
    expect_int(status, HF_UNSURE);
    return NULL;
}

static void a_statement_that_no_standby_has_is_unsure(void **state)
{
    (void)state;
    pthread_t thread;
    hf_error err;
    app_do(admin, "CREATE TABLE server_grades AS SELECT 1 AS n");
    server_grades_set("synchronous_standby_names", "nobody");
    expect_int(pthread_create(&thread, NULL, alone_main, &err), 0);
    server_grades_cancel_wait();
    expect_int(pthread_join(thread, NULL), 0);
    expect_contains(err.message, "standby");
    server_grades_set("synchronous_standby_names", NULL);
    expect_int(app_number(admin, "SELECT n FROM server_grades"), 2);
    app_do(admin, "DROP TABLE server_grades");
}

/* ---- a real standby ---- */

static void run_to_end(char *const argv[], const char *log)
{
    int how = -1;
    pid_t child = target_spawn(server, argv, log);
    expect_true(child > 0);
    waitpid(child, &how, 0);
    if (how == 0)
        return;
    char said_there[1024] = "";
    FILE *file = fopen(log, "re");
    size_t got = file ? fread(said_there, 1, sizeof said_there - 1, file) : 0;
    if (file)
        fclose(file);
    check_failed(__FILE__, __LINE__, "%s came to %d: %.*s", argv[0], how, (int)got, said_there);
}

#define PROGRAMS "/usr/lib/postgresql/15/bin/"

static void a_hot_standby_is_refused(void **state)
{
    (void)state;
    hf_error err = {0};
    hf_store *store = NULL;
    char folder[] = "/tmp/hf-standby-XXXXXX", data[64], sockets[96], port[32], log[96],
         at[HF_URL_MAX];
    expect_true(mkdtemp(folder) != NULL && chown(folder, server->uid, server->gid) == 0);
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(sockets, sizeof sockets, "unix_socket_directories=%s", folder);
    snprintf(port, sizeof port, "port=%d", instance_port(server->instance));
    char from[HF_URL_MAX];
    snprintf(from, sizeof from, "%s", server->url_admin);
    run_to_end((char *[]){(char[]){PROGRAMS "pg_basebackup"}, (char[]){"-D"}, data, (char[]){"-R"},
                          (char[]){"-c"}, (char[]){"fast"}, (char[]){"-X"}, (char[]){"stream"},
                          (char[]){"-d"}, from, NULL},
               log);
    pid_t standby = target_spawn(server,
                                 (char *[]){(char[]){PROGRAMS "postgres"}, (char[]){"-D"}, data,
                                            (char[]){"-c"}, port, (char[]){"-c"}, sockets,
                                            (char[]){"-c"}, (char[]){"listen_addresses="}, NULL},
                                 log);
    snprintf(at, sizeof at, "postgres://postgres@/test?host=%s&%s", folder, port);
    hf_status status = HF_OK;
    for (int64_t until_us = now_us() + 20 * SECOND;
         now_us() < until_us && !strstr(err.message, "standby,");) {
        status = hf_store_open(at, &store, &err);
        expect_true(status != HF_OK);
        rest_ms(50);
    }
    expect_no_leases(at, "standby");
    target_end(&standby);
    char *const remove[] = {(char[]){"/bin/rm"}, (char[]){"-rf"}, folder, NULL};
    run_to_end(remove, "/dev/null");
    expect(HF_UNAVAILABLE, status, err);
    expect_contains(err.message, "is a standby");
    expect_contains(err.message, "primary");
    expect_contains(err.message, "the database test");
}

/* ---- binary logs and rollbacks ---- */

static void a_binary_log_by_statement_is_refused(void **state)
{
    (void)state;
    server_grades_leave();
    TARGET_RESTART_WITH(server, "--log-bin=hf-log");
    server_grades_come_back();
    server_grades_set("binlog_format", "'STATEMENT'");
    EXPECT_REFUSED(url, "binlog_format", "ROW", "the database test");
    server_grades_set("binlog_format", "'ROW'");
    server_grades_expect_works(url);
    server_grades_set("binlog_format", "'MIXED'");
    server_grades_expect_works(url);
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
}

/* After a crash a transaction that is in InnoDB's log and not in the binary log is rolled back. */
static void a_binary_log_that_is_not_synced_lowers_the_grade(void **state)
{
    (void)state;
    server_grades_leave();
    TARGET_RESTART_WITH(server, "--log-bin=hf-log", "--binlog-format=ROW", "--sync-binlog=0");
    server_grades_come_back();
    expect_grade(url, HF_GRADE_PROCESS, "with a binary log and sync_binlog 0:");
    server_grades_set("sync_binlog", "100");
    expect_grade(url, HF_GRADE_PROCESS, "with a binary log and sync_binlog 100:");
    expect_grade(url, HF_GRADE_PROCESS, "set it to 1");
    server_grades_set("sync_binlog", "1");
    expect_grade(url, HF_GRADE_DISK, "one server");
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
    expect_grade(url, HF_GRADE_DISK, "one server"); /* without such a log it does not matter */
}

/* ---- a cluster ---- */

/* A port of the loopback that nobody has. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void wait_until_in_cluster(void)
{
    for (int64_t until_us = now_us() + 30 * SECOND; now_us() < until_us; rest_ms(50)) {
        char *ready = app_text(admin, "SHOW STATUS LIKE 'wsrep_ready'");
        bool on = strstr(ready, "=ON") != NULL;
        free(ready);
        if (on)
            return;
    }
    check_failed(__FILE__, __LINE__, "The server is in no cluster after 30 s.");
}

/* A real one, of one node. */
static void a_galera_cluster_is_told_as_such(void **state)
{
    (void)state;
    char options[128];
    snprintf(options, sizeof options,
             "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%d;gcache.size=8M",
             free_port());
    server_grades_leave();
    TARGET_RESTART_WITH(server, "--wsrep-on=ON",
                        "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
                        "--wsrep-cluster-address=gcomm://", "--binlog-format=ROW", options);
    server_grades_come_back();
    wait_until_in_cluster();
    expect_grade(url, HF_GRADE_PROCESS, "in a cluster (Galera):");
    expect_grade(url, HF_GRADE_PROCESS, "use one primary server");
    expect_no_leases(url, "Galera");
    server_grades_expect_works(url);
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
    expect_grade(url, HF_GRADE_DISK, "one server");
}

/* A real one, of one member. It is not one before the plugin has started, but is going to be. */
static void a_group_replication_is_told_as_such(void **state)
{
    (void)state;
    char at[96];
    snprintf(at, sizeof at, "--loose-group-replication-local-address=127.0.0.1:%d", free_port());
    server_grades_leave();
    TARGET_RESTART_WITH(
        server, "--plugin-load-add=group_replication.so", "--server-id=1", "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON", "--loose-group-replication-start-on-boot=OFF",
        "--loose-group-replication-group-name=aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", at);
    server_grades_come_back();
    expect_no_leases(url, "group replication");
    app_do(admin, "SET GLOBAL group_replication_bootstrap_group = ON");
    app_do(admin, "START GROUP_REPLICATION");
    expect_no_leases(url, "group replication");
    expect_grade(url, HF_GRADE_PROCESS, "in a cluster (group replication):");
    app_do(admin, "STOP GROUP_REPLICATION");
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
}

/* One that takes writes, of which its primary would never hear. Its primary is away, so it is not
 * connected: known by what replication says of itself, to an account that may ask. */
static void a_replica_that_takes_writes_keeps_no_leases(void **state)
{
    (void)state;
    hf_error err = {0};
    hf_leases *leases = NULL;
    bool mariadb = strcmp(server_name, "mariadb") == 0;
    server_grades_leave();
    TARGET_RESTART_WITH(server, "--server-id=2");
    server_grades_come_back();
    app_do(
        admin,
        mariadb
            ? "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d, MASTER_USER = 'nobody'"
            : "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d, "
              "SOURCE_USER "
              "= 'nobody'",
        free_port());
    expect(HF_OK, hf_leases_open(server->url, NULL, &leases, &err), err); /* it stands still */
    hf_leases_close(leases);
    app_do(admin, mariadb ? "START SLAVE" : "START REPLICA");
    expect_no_leases(server->url, "a replica");
    expect_no_leases(server->url, "holdfast run --lock");
    app_do(admin, mariadb ? "STOP SLAVE" : "STOP REPLICA");
    expect(HF_OK, hf_leases_open(server->url, NULL, &leases, &err), err); /* as after a failover */
    hf_leases_close(leases);
    app_do(admin, mariadb ? "RESET SLAVE ALL" : "RESET REPLICA ALL");
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
}

/* A connected one is known to every account. */
static void a_replica_with_its_primary_keeps_no_leases(void **state)
{
    (void)state;
    target *primary = target_start(server_name);
    TARGET_RESTART_WITH(primary, "--server-id=1", "--log-bin=hf-log");
    app *there = app_connect(primary->url_admin);
    app_do(there, "CREATE USER follower@'127.0.0.1' IDENTIFIED BY '" SECRET "'");
    app_do(there, "GRANT REPLICATION SLAVE ON *.* TO follower@'127.0.0.1'");
    server_grades_leave();
    TARGET_RESTART_WITH(server, "--server-id=2");
    server_grades_come_back();
    app_do(admin,
           "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d, MASTER_USER = 'follower',"
           " MASTER_PASSWORD = '" SECRET "'",
           target_port(primary));
    app_do(admin, "START SLAVE");
    bool on = false;
    for (int64_t until_us = now_us() + 30 * SECOND; now_us() < until_us && !on; rest_ms(50)) {
        char *running = app_text(admin, "SHOW STATUS LIKE 'Slave_running'");
        on = strstr(running, "=ON") != NULL;
        free(running);
    }
    expect_true(on);
    expect_no_leases(url, "a replica");
    expect_grade(url, HF_GRADE_PROCESS, "a replica that can be written to");
    app_do(admin, "STOP SLAVE");
    app_do(admin, "RESET SLAVE ALL");
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
    app_close(there);
    target_stop(primary);
}

/* A lock wait must not end an application's transaction; a store with connections of its own does
 * not mind. */
static void rollback_on_timeout_is_refused_on_an_applications_connection(void **state)
{
    (void)state;
    hf_error err = {0};
    hf_store *store = NULL;
    server_grades_leave();
    TARGET_RESTART_WITH(server, "--innodb-rollback-on-timeout=1");
    server_grades_come_back();
    expect(HF_UNAVAILABLE, app_wrap(admin, "holdfast", 0, &store, &err), err);
    expect_contains(err.message, "innodb_rollback_on_timeout");
    server_grades_expect_works(url);
    server_grades_leave();
    target_back(server);
    server_grades_come_back();
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    server_name = argc > 1 ? argv[1] : NULL;
#define OF_ALL                                                                                     \
    cmocka_unit_test(the_grade_tells_what_a_crash_may_take),                                       \
        cmocka_unit_test(other_settings_of_the_server_do_not_matter),                              \
        cmocka_unit_test(a_server_that_takes_no_writes_is_refused),                                \
        cmocka_unit_test(a_server_that_comes_to_take_no_writes_is_told_as_unavailable)
#define OF_MYSQLS                                                                                  \
    OF_ALL, cmocka_unit_test(a_binary_log_by_statement_is_refused),                                \
        cmocka_unit_test(a_binary_log_that_is_not_synced_lowers_the_grade),                        \
        cmocka_unit_test(a_replica_that_takes_writes_keeps_no_leases),                             \
        cmocka_unit_test(rollback_on_timeout_is_refused_on_an_applications_connection)
    const struct CMUnitTest of_mysqls[] = {OF_MYSQLS,
                                           cmocka_unit_test(a_group_replication_is_told_as_such)};
    const struct CMUnitTest of_mariadbs[] = {
        OF_MYSQLS, cmocka_unit_test(a_replica_with_its_primary_keeps_no_leases),
        cmocka_unit_test(a_galera_cluster_is_told_as_such)};
    const struct CMUnitTest of_postgreses[] = {
        OF_ALL,
        cmocka_unit_test(synchronous_commit_is_on_even_if_the_account_has_it_off),
        cmocka_unit_test(what_no_standby_has_is_unsure),
        cmocka_unit_test(a_statement_that_no_standby_has_is_unsure),
        cmocka_unit_test(a_hot_standby_is_refused),
    };
    if (server_name && strcmp(server_name, "postgres") == 0)
        return cmocka_run_group_tests_name("grades of postgres", of_postgreses, server_grades_start,
                                           server_grades_stop);
    if (server_name && strcmp(server_name, "mariadb") == 0)
        return cmocka_run_group_tests_name("grades of MariaDB", of_mariadbs, server_grades_start,
                                           server_grades_stop);
    return cmocka_run_group_tests_name("grades of MySQL", of_mysqls, server_grades_start,
                                       server_grades_stop);
}
