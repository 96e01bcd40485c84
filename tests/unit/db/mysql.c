/* SPDX-License-Identifier: MIT */
/* The MySQL driver against real servers: connecting, values in and out, lists, flights. */
#include "own_mysql.h"

#include <base/arena.h>
#include <base/seams.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- connecting ---- */

static void mysql_refused(const char *url, const hf_db_options *options, hf_status status,
                          const char *part)
{
    hf_db *db = NULL;
    expect(status, hf_db_connect(&hf_db_mysql, url, options, &db, &err), err);
    expect_true(db == NULL);
    expect_contains(err.message, part);
    expect_lacks(err.message, "s3cret");
}

static void mysql_a_connection_says_what_it_is(void **state)
{
    const own_server *at = *state;
    char where[512];
    hf_db *db = open_db(at);
    expect_true(hf_db_alive(db) && hf_db_fresh(db));
    expect_int(hf_db_kind_of(db), at->mariadb ? HF_DB_MARIADB : HF_DB_MYSQL);
    expect_true(at->mariadb ? hf_db_version(db) >= 101100 && hf_db_version(db) < 200000
                            : hf_db_version(db) >= 90000 && hf_db_version(db) < 100000);
    expect_true(!hf_db_in_transaction(db) && !hf_db_transaction_failed(db));
    snprintf(where, sizeof where, "the database test at %s", at->socket);
    expect_text(hf_db_path(db), where);
    expect_text(ask(db, "SELECT @@character_set_client"), "utf8mb4");
    expect_text(ask(db, "SELECT DATABASE()"), "test");
    hf_db_close(db);
    snprintf(where, sizeof where, "the database test on 127.0.0.1, port %d", at->port);
    db = connect_with(
        at->tcp,
        &(hf_db_options){.setup = "SET SESSION sql_mode = 'ANSI'; SET @a = 7; -- the end"});
    expect_text(hf_db_path(db), where);
    expect_text(ask(db, "SELECT @a"), "7");
    hf_db_close(db);
}

/* ---- servers that are too old ---- */

typedef struct impostor {
    pthread_t thread;
    int socket;
    const char *version;
} impostor;

static void send_packet(int to, unsigned char number, const char *body, size_t size)
{
    char packet[256] = {(char)size, 0, 0, (char)number};
    memcpy(packet + 4, body, size);
    expect_int(write(to, packet, size + 4), size + 4);
}

/* Greets one client as a server of that version, and lets it in. */
static void *impostor_main(void *context)
{
    static const char rest[] = "\0\1\0\0\0" /* the end of the version, a connection's number */
                               "12345678\0" /* the first part of the challenge */
                               "\x08\x82\x21\2\0" /* what it can do, its character set and state */
                               "\x08\0\x15"       /* more of what it can do, the challenge's size */
                               "\0\0\0\0\0\0\0\0\0\0"
                               "123456789012\0"
                               "mysql_native_password";
    static const char good[] = "\0\0\0\2\0\0";
    const impostor *it = context;
    char hello[192] = "\x0a", login[512];
    size_t size = strlen(it->version);
    int client = accept(it->socket, NULL, NULL);
    memcpy(hello + 1, it->version, size);
    memcpy(hello + 1 + size, rest, sizeof rest);
    send_packet(client, 0, hello, 1 + size + sizeof rest);
    expect_true(read(client, login, sizeof login) > 0);
    send_packet(client, 2, good, sizeof good);
    while (read(client, login, sizeof login) > 0)
        ;
    close(client);
    return NULL;
}

static void a_server_that_is_too_old_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *version, *sentence;
    } old[] = {
        {"5.7.44-log", "runs on MySQL 5.7.44, which is too old; upgrade it to MySQL 8.0 or later."},
        {"5.5.5-10.5.29-MariaDB",
         "runs on MariaDB 10.5.29, which is too old; upgrade it to MariaDB 10.6 or later."},
    };
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof address;
        char url[64];
        impostor it = {.socket = socket(AF_INET, SOCK_STREAM, 0), .version = old[i].version};
        expect_int(bind(it.socket, (struct sockaddr *)&address, size), 0);
        expect_int(listen(it.socket, 1), 0);
        expect_int(getsockname(it.socket, (struct sockaddr *)&address, &size), 0);
        expect_int(pthread_create(&it.thread, NULL, impostor_main, &it), 0);
        snprintf(url, sizeof url, "mysql://app@127.0.0.1:%d/test", ntohs(address.sin_port));
        mysql_refused(url, NULL, HF_UNAVAILABLE, old[i].sentence);
        expect_int(pthread_join(it.thread, NULL), 0);
        close(it.socket);
    }
}

static void what_is_denied_or_not_there_is_said_without_the_password(void **state)
{
    const own_server *at = *state;
    char url[512];
    hf_db *root = open_db(at);
    run(root, "CREATE USER app@'%' IDENTIFIED BY 's3cret/@?%'; GRANT SELECT ON test.* TO app@'%'");
    snprintf(url, sizeof url, "mysql://app:s3cret%%2F%%40%%3f%%25@127.0.0.1:%d/test", at->port);
    hf_db_close(connect_with(url, NULL));
    snprintf(url, sizeof url, "mysql://app:s3cret%%2F@?%%25@127.0.0.1:%d/test",
             at->port); /* the last @ counts */
    hf_db_close(connect_with(url, NULL));
    snprintf(url, sizeof url, "mysql://app:s3cret@127.0.0.1:%d/test", at->port);
    mysql_refused(url, NULL, HF_UNAVAILABLE,
                  "The user app can't connect to the database test on 127.0.0.1, port");
    snprintf(url, sizeof url, "mysql://app@127.0.0.1:%d/test", at->port);
    hf_db_close(connect_with(url, &(hf_db_options){.password = "s3cret/@?%"}));
    mysql_refused(url, &(hf_db_options){.password = "s3cret"}, HF_UNAVAILABLE, "(error 1045)");
    mysql_refused(url, NULL, HF_UNAVAILABLE, "Access denied");
    setenv("MYSQL_PWD", "s3cret/@?%", 1);
    hf_db_close(connect_with(url, NULL));
    mysql_refused(url, &(hf_db_options){.password = "s3cret"}, HF_UNAVAILABLE, "(error 1045)");
    unsetenv("MYSQL_PWD");
    snprintf(url, sizeof url, "mysql://root:holdfast@127.0.0.1:%d/nothing", at->port);
    mysql_refused(url, NULL, HF_UNAVAILABLE, "(error 1049)");
    mysql_refused("mysql://root:s3cret@127.0.0.1:1/test", NULL, HF_UNAVAILABLE, "port 1");
    mysql_refused("mysql://root:s3cret@/test?socket=/no/such.sock", NULL, HF_UNAVAILABLE,
                  "/no/such.sock");
    mysql_refused("mysql://root:s3cret@no.such.host.invalid/test", NULL, HF_UNAVAILABLE,
                  "no.such.host.invalid");
    mysql_refused(at->url, &(hf_db_options){.setup = "SET a_word_nobody_knows = 1"}, HF_INTERNAL,
                  "a_word_nobody_knows");
    run(root, "DROP USER app@'%'");
    hf_db_close(root);
}

static void a_url_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const urls[][2] = {
        {"mariadb://a:s3cret@h/d", "mysql://"},
        {"mysql:a:s3cret@h/d", "mysql://"},
        {"mysql://h/d", "no user"},
        {"mysql://@h/d", "no user"},
        {"mysql://:s3cret@h/d", "no user"},
        {"mysql://a:s3cret@h", "no database"},
        {"mysql://a:s3cret@h/", "no database"},
        {"mysql://a:s3cret@h/?socket=/s", "no database"},
        {"mysql://", "no database"},
        {"mysql://a:s3cret@h:0/d", "port"},
        {"mysql://a:s3cret@h:65536/d", "port"},
        {"mysql://a:s3cret@h:99999999999999/d", "port"},
        {"mysql://a:s3cret@h:/d", "port"},
        {"mysql://a:s3/cret@h/d", "%2F"},
        {"mysql://a:12/s3cret@h/d", "%2F"},
        {"mysql://a:s3cret@h,i/d", "host"},
        {"mysql://a:s3cret@h%3D/d", "host"},
        {"mysql://a:s3cret@[::1/d", "host"},
        {"mysql://a:s3cret@[::1]3306/d", "port"},
        {"mysql://a:s3cret%@h/d", "password"},
        {"mysql://a%4:s3cret@h/d", "user"},
        {"mysql://a:s3cret@h/d%00", "database"},
        {"mysql://a:s3cret@h/d?charset=latin1", "\"charset\""},
        {"mysql://a:s3cret@h/d?namespace=x", "\"namespace\""},
        {"mysql://a:s3cret@/d?socket=/a&socket=/b", "twice"},
        {"mysql://a:s3cret@/d?socket=", "socket=PATH"},
        {"mysql://a:s3cret@/d?socket", "socket=PATH"},
        {"mysql://a:s3cret@h/d?socket=/a", "keep one"},
        {"mysql://a:s3cret@h/d?connect_timeout=0", "connect_timeout"},
        {"mysql://a:s3cret@h/d?connect_timeout=1s", "connect_timeout"},
        {"mysql://a:s3cret@h/d?ssl_verify=yes", "ssl_verify"},
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        mysql_refused(urls[i][0], NULL, HF_INVALID, urls[i][1]);
}

/* What the client library does to the process is undone. */
static void the_applications_sigpipe_is_left_alone(void **state)
{
    const own_server *at = *state;
    struct sigaction now;
    hf_db_close(open_db(at));
    sigaction(SIGPIPE, NULL, &now);
    expect_true(now.sa_handler == SIG_DFL);
}

static void nobody_can_be_sent_files(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    run(db, "CREATE TABLE IF NOT EXISTS local (a TEXT)");
    expect_true(hf_db_run(db, "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE local", &err) !=
                HF_OK);
    expect_text(ask(db, "SELECT COUNT(*) FROM local"), "0");
    run(db, "DROP TABLE local");
    hf_db_close(db);
}

/* In MySQL 4031 is a connection that was idle too long, in MariaDB a trigger that is missing. */
static void a_missing_trigger_of_mariadb_is_no_lost_connection(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    hf_status status =
        hf_db_run(db, "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 4031, MESSAGE_TEXT = 'x'", &err);
    expect_status(at->mariadb ? HF_INTERNAL : HF_UNAVAILABLE, status, err.message);
    expect_true(err.away == !at->mariadb);
    hf_db_close(db);
}

/* ---- values ---- */

static void table(hf_db *db)
{
    run(db, "DROP TABLE IF EXISTS t; CREATE TABLE t (a BIGINT, b VARBINARY(9000), c VARCHAR(300) "
            "CHARACTER "
            "SET utf8mb4, "
            "KEY (a)) ENGINE = InnoDB");
}

static void every_kind_of_value_comes_back_as_it_was(void **state)
{
    const own_server *at = *state;
    static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1794739623123456};
#define BYTES(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
    static const hf_slice texts[] = {
        BYTES("'"),
        BYTES("\\"),
        BYTES("\\'\"`--; DROP TABLE t; #"),
        BYTES("a\0b\0"),
        BYTES("$1 ?1 :a"),
        BYTES("\xf0\x9f\x94\x92 caf\xc3\xa9"),
        BYTES("\xff\xfe\x80"),
        BYTES("  trailing  "),
        BYTES("/* $1(a) */"),
        BYTES("%s%n"),
    };
    hf_db *db = open_db(at);
    table(db);
    hf_stmt *insert = stmt(db, "INSERT INTO t (a, b) VALUES ($1, $2)"),
            *select = stmt(db, "SELECT b, a FROM t WHERE b = $1");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hf_stmt_int(insert, 1, numbers[i % 6]);
        hf_stmt_text(insert, 2, texts[i]);
        done(insert);
        expect_int(hf_stmt_changed(insert), 0); /* after a reset */
        hf_stmt_blob(select, 1, texts[i].at, texts[i].size);
        expect_true(step(select));
        expect_true(hf_slice_equal(hf_stmt_column_blob(select, 0), texts[i]));
        expect_int(hf_stmt_column_int(select, 1), numbers[i % 6]);
        expect_true(!step(select) && !step(select));
        expect_int(hf_stmt_changed(select), 1);
        hf_stmt_reset(select);
    }
    hf_stmt_free(insert);
    hf_stmt_free(select);
    hf_db_close(db);
}

static void null_and_empty_are_two_things(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    hf_stmt *it = stmt(
        db,
        "SELECT $1 IS NULL, $2 IS NULL, $3 IS NULL, $4 IS NULL, LENGTH($4), $5 IS NULL, $1, $4");
    hf_stmt_int_or_null(it, 1, 0);
    hf_stmt_int_or_null(it, 2, 3);
    hf_stmt_text(it, 3, HF_NOTHING);
    hf_stmt_blob(it, 4, "", 0);
    expect_true(step(it));
    static const int64_t expected[] = {1, 0, 1, 0, 0, 1, 0, 0};
    for (int i = 0; i < 8; i++)
        expect_int(hf_stmt_column_int(it, i), expected[i]);
    expect_true(hf_stmt_column_text(it, 6).at == NULL && hf_stmt_column_text(it, 7).at != NULL);
    expect_int(hf_stmt_column_text(it, 7).size, 0);
    expect_true(hf_stmt_column_text(it, 8).at == NULL && hf_stmt_column_text(it, -1).at == NULL);
    hf_stmt_free(it);
    hf_db_close(db);
}

static void text_is_utf8_also_where_the_column_has_a_character_set(void **state)
{
    const own_server *at = *state;
    static const char text[] = "\xf0\x9f\x94\x92 Z\xc3\xbcrich";
    hf_db *db = open_db(at);
    table(db);
    hf_stmt *it = stmt(db, "INSERT INTO t (c) VALUES ($1)");
    hf_stmt_text(it, 1, hf_slice_of(text));
    done(it);
    expect_text(ask(db, "SELECT c FROM t"), text);
    expect_text(ask(db, "SELECT CHAR_LENGTH(c) FROM t"), "8");
    hf_stmt_free(it);
    hf_db_close(db);
}

static void rows_found_are_counted_not_rows_that_differ(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    table(db);
    run(db, "INSERT INTO t (a) VALUES (1), (2), (2)");
    hf_stmt *it = stmt(db, "UPDATE t SET a = 2 WHERE a = $1");
    hf_stmt_int(it, 1, 2);
    expect_true(!step(it));
    expect_int(hf_stmt_changed(it), 2);
    hf_stmt_reset(it);
    hf_stmt_int(it, 1, 5);
    expect_true(!step(it));
    expect_int(hf_stmt_changed(it), 0);
    hf_stmt_free(it);
    hf_db_close(db);
}

/* ---- lists ---- */

static void lists_of_thousands_go_in_and_come_out(void **state)
{
    const own_server *at = *state;
    enum { ROWS = 5000 };
    hf_arena arena = {0};
    hf_list rows, keys;
    hf_db *db = open_db(at);
    table(db);
    hf_list_init(&rows, "ibt", &arena);
    hf_list_init(&keys, "ib", &arena);
    for (int i = 0; i < ROWS; i++) {
        char *bytes = hf_arena_alloc(&arena, 40);
        snprintf(bytes, 40, "%d'\\", i % 100);
        hf_value *row = hf_list_add(&rows), *key = hf_list_add(&keys);
        hf_set_int(&row[0], i);
        hf_set_text(&row[1], hf_slice_of(bytes));
        hf_set_text(&row[2], i % 2 ? hf_slice_of(bytes) : HF_NOTHING);
        hf_set_int(&key[0], i);
        hf_set_text(&key[1], hf_slice_of(i % 5 ? bytes : "another"));
    }
    hf_stmt *insert = stmt(db, "INSERT INTO t (a, b, c) VALUES $1*"),
            *some = stmt(db, "SELECT a, b FROM t x WHERE $1(x.a, x.b)"),
            *all = stmt(db, "DELETE FROM t WHERE $1(a) AND a < $3");
    hf_stmt_list(insert, 1, &rows);
    expect_true(!step(insert));
    expect_int(hf_stmt_changed(insert), ROWS);
    expect_text(ask(db, "SELECT COUNT(c) FROM t"), "2500");
    hf_stmt_list(some, 1, &keys);
    int64_t found = 0;
    for (; step(some); found++)
        expect_true(hf_stmt_column_int(some, 0) % 5 != 0);
    expect_int(found, ROWS / 5 * 4);
    hf_stmt_list(all, 1, &keys);
    hf_stmt_int(all, 3, 4000);
    expect_true(!step(all));
    expect_int(hf_stmt_changed(all), 4000);
    hf_stmt_free(insert);
    hf_stmt_free(some);
    hf_stmt_free(all);
    hf_arena_done(&arena);
    hf_db_close(db);
}

static void a_list_that_memory_was_out_for_is_not_sent(void **state)
{
    const own_server *at = *state;
    hf_arena arena = {0};
    hf_list list;
    hf_db *db = open_db(at);
    table(db);
    hf_list_init(&list, "i", &arena);
    hf_set_int(hf_list_add(&list), 1);
    list.failed = true;
    hf_stmt *it = stmt(db, "INSERT INTO t (a) VALUES $1*");
    hf_stmt_list(it, 1, &list);
    expect(HF_NO_MEMORY, hf_stmt_run(it, &err), err);
    hf_stmt_queue(it);
    expect(HF_NO_MEMORY, hf_db_send(db, &err), err);
    expect(HF_NO_MEMORY, hf_stmt_run(it, &err), err);
    list.count = 0;
    list.failed = false;
    done(it = (hf_stmt_free(it), stmt(db, "SELECT 1")));
    hf_stmt_free(it);
    it = stmt(db, "SELECT COUNT(*) FROM t WHERE $1(a)");
    hf_stmt_list(it, 1, &list);
    expect_true(step(it));
    expect_int(hf_stmt_column_int(it, 0), 0);
    hf_stmt_free(it);
    hf_arena_done(&arena);
    hf_db_close(db);
}

/* ---- flights ---- */

static void several_statements_are_one_round_trip(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    table(db);
    hf_stmt *begin = stmt(db, "START TRANSACTION"),
            *insert = stmt(db, "INSERT INTO t (a, b) VALUES ($1, $2)"),
            *select = stmt(db, "SELECT a, b FROM t WHERE a >= $1 ORDER BY a"),
            *commit = stmt(db, "COMMIT");
    for (int i = 0; i < 3; i++) {
        hf_stmt_queue(begin);
        hf_stmt_int(insert, 1, i);
        hf_stmt_text(insert, 2, SLICE("one;two"));
        hf_stmt_queue(insert);
        hf_stmt_int(select, 1, 0);
        hf_stmt_queue(select);
        hf_stmt_queue(commit);
        long before = strtol(ask(db, "SELECT 1"), NULL, 10);
        expect_int(before, 1); /* a statement of its own goes by itself, before what is queued */
        expect(HF_OK, hf_db_send(db, &err), err);
        expect_true(!hf_db_in_transaction(db));
        done(begin);
        expect_true(!step(insert));
        expect_int(hf_stmt_changed(insert), 1);
        hf_stmt_reset(insert);
        for (int k = 0; k <= i; k++) {
            expect_true(step(select));
            expect_int(hf_stmt_column_int(select, 0), k);
            expect_true(hf_slice_equal(hf_stmt_column_text(select, 1), SLICE("one;two")));
        }
        expect_true(!step(select));
        hf_stmt_reset(select);
        done(commit);
    }
    expect(HF_OK, hf_db_send(db, &err), err);
    hf_stmt_free(begin);
    hf_stmt_free(insert);
    hf_stmt_free(select);
    hf_stmt_free(commit);
    hf_db_close(db);
}

static void after_one_that_fails_none_is_carried_out(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    table(db);
    static const char *const texts[] = {"START TRANSACTION", "INSERT INTO t (a) VALUES (1)",
                                        "SELECT a FROM nothing", "INSERT INTO t (a) VALUES (2)",
                                        "COMMIT"};
    hf_stmt *all[5];
    for (int i = 0; i < 5; i++)
        hf_stmt_queue(all[i] = stmt(db, texts[i]));
    expect(HF_OK, hf_db_send(db, &err), err);
    done(all[0]);
    done(all[1]);
    for (int i = 2; i < 5; i++) {
        expect(HF_UNAVAILABLE, hf_stmt_run(all[i], &err), err);
        expect_contains(err.message, "nothing");
        expect_int(hf_db_failure(db), HF_FAILURE_MISSING);
    }
    expect_true(hf_db_in_transaction(db) && !hf_db_transaction_failed(db));
    expect_text(ask(db, "SELECT COUNT(*) FROM t"), "1");
    expect(HF_OK, hf_db_rollback(db, &err), err);
    expect_true(!hf_db_in_transaction(db));
    expect_text(ask(db, "SELECT COUNT(*) FROM t"), "0");
    for (int i = 0; i < 5; i++)
        hf_stmt_free(all[i]);
    hf_db_close(db);
}

static void what_is_queued_can_be_dropped(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    table(db);
    hf_stmt *a = stmt(db, "INSERT INTO t (a) VALUES (1)"),
            *b = stmt(db, "INSERT INTO t (a) VALUES (2)"),
            *c = stmt(db, "INSERT INTO t (a) VALUES (3)"),
            *d = stmt(db, "INSERT INTO t (a) VALUES (4)");
    hf_stmt_queue(a);
    hf_stmt_queue(b);
    expect(HF_OK, hf_db_rollback(db, &err), err);
    hf_stmt_queue(a);
    hf_stmt_queue(b);
    hf_stmt_queue(c);
    hf_stmt_reset(c);
    hf_stmt_queue(d);
    hf_stmt_free(a);
    expect(HF_OK, hf_db_send(db, &err), err);
    done(b);
    done(d);
    expect_text(ask(db, "SELECT GROUP_CONCAT(a ORDER BY a) FROM t"), "2,4");
    hf_stmt_queue(b); /* stepped without being sent */
    hf_stmt_queue(c);
    done(b);
    done(c);
    expect_text(ask(db, "SELECT GROUP_CONCAT(a ORDER BY a) FROM t"), "2,2,3,4");
    hf_stmt_queue(b); /* closed with the queue as it is */
    hf_stmt_free(b);
    hf_stmt_free(c);
    hf_stmt_free(d);
    hf_db_close(db);
}

static void a_call_is_read_to_its_end(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    table(db);
    run(db, "DROP PROCEDURE IF EXISTS p; DROP PROCEDURE IF EXISTS q;"
            "CREATE PROCEDURE p(n INT) BEGIN SELECT n; INSERT INTO t (a) VALUES (n); SELECT n + 1 "
            "UNION "
            "SELECT n + 2; END;"
            "CREATE PROCEDURE q() BEGIN INSERT INTO t (a) VALUES (9); END");
    hf_stmt *p = stmt(db, "CALL p($1)"), *q = stmt(db, "CALL q()"),
            *select = stmt(db, "SELECT 'after'"), *fails = stmt(db, "CALL p('no number')");
    hf_stmt_int(p, 1, 5);
    for (int round = 0; round < 4; round++) {
        hf_stmt *order[3] = {round == 3 ? select : p, round == 1 ? select : q,
                             round == 1   ? q
                             : round == 3 ? p
                                          : select};
        for (int i = 0; i < 3; i++)
            hf_stmt_queue(order[i]);
        expect(HF_OK, hf_db_send(db, &err), err);
        for (int i = 0; i < 3; i++) {
            if (order[i] != q)
                expect_true(step(order[i]));
            if (order[i] == p)
                expect_int(hf_stmt_column_int(p, 0), 5);
            if (order[i] == select)
                expect_true(hf_slice_equal(hf_stmt_column_text(select, 0), SLICE("after")));
            expect_true(!step(order[i]));
            hf_stmt_reset(order[i]);
        }
    }
    run(db, "SET SESSION sql_mode = 'STRICT_ALL_TABLES'; CALL p(1); CALL q()");
    expect_true(hf_stmt_run(fails, &err) != HF_OK);
    expect_text(ask(db, "SELECT COUNT(*) FROM t"), "10");
    hf_stmt_free(p);
    hf_stmt_free(q);
    hf_stmt_free(select);
    hf_stmt_free(fails);
    hf_db_close(db);
}

static void transactions_have_their_level_and_may_be_read_only(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at), *other = open_db(at);
    table(db);
    for (int level = HF_READ_COMMITTED; level <= HF_SERIALIZABLE; level++) {
        expect(HF_OK, hf_db_begin(db, (hf_isolation)level, true, &err), err);
        expect_true(hf_db_in_transaction(db));
        expect(HF_UNAVAILABLE, hf_db_run(db, "INSERT INTO t (a) VALUES (1)", &err), err);
        expect_int(hf_db_failure(db), HF_FAILURE_READ_ONLY);
        expect(HF_OK, hf_db_rollback(db, &err), err);
        expect(HF_OK, hf_db_begin(db, (hf_isolation)level, false, &err), err);
        const char *before = ask(db, "SELECT COUNT(*) FROM t");
        if (level != HF_SERIALIZABLE)
            run(other, "INSERT INTO t (a) VALUES (1)");
        const char *after = ask(db, "SELECT COUNT(*) FROM t");
        expect_int(strcmp(before, after) != 0, level == HF_READ_COMMITTED);
        expect(HF_OK, hf_db_commit(db, &err), err);
        expect_true(!hf_db_in_transaction(db));
    }
    hf_db_close(db);
    hf_db_close(other);
}

/* ---- scarce memory ---- */

static int64_t fail_at;

static void *mysql_realloc_by_test(void *block, size_t size)
{
    return --fail_at == 0 ? NULL : realloc(block, size);
}

/* Nothing is half done, and the connection stays of use. */
static void without_memory_nothing_is_sent(void **state)
{
    const own_server *at = *state;
    void *(*before)(void *, size_t) = hf_seam.realloc;
    hf_db *db = NULL;
    for (int64_t n = 1; db == NULL; n++) {
        fail_at = n;
        hf_seam.realloc = mysql_realloc_by_test;
        hf_status status = hf_db_connect(&hf_db_mysql, at->url,
                                         &(hf_db_options){.setup = "SET @a = 1"}, &db, &err);
        hf_seam.realloc = before;
        expect_true(status == HF_OK || (status == HF_NO_MEMORY && db == NULL));
    }
    table(db);
    for (int64_t n = 1, good = 0; !good; n++) {
        hf_stmt *insert = NULL;
        fail_at = n;
        hf_seam.realloc = mysql_realloc_by_test;
        hf_status status = hf_stmt_new(
            db, "INSERT INTO t (a, b) VALUES ($1, $2), ($3, 'and so on')", &insert, &err);
        if (status == HF_OK)
            status = hf_stmt_run(insert, &err);
        hf_stmt_free(insert);
        hf_seam.realloc = before;
        expect_true(status == HF_OK || status == HF_NO_MEMORY);
        good = status == HF_OK;
    }
    expect_text(ask(db, "SELECT COUNT(*) FROM t"), "2");
    hf_db_close(db);
}

int main(int argc, char **argv)
{
    static const own_test tests[] = {
        OWN_TEST(the_applications_sigpipe_is_left_alone),
        OWN_TEST(mysql_a_connection_says_what_it_is),
        OWN_TEST(a_server_that_is_too_old_is_refused),
        OWN_TEST(what_is_denied_or_not_there_is_said_without_the_password),
        OWN_TEST(a_url_that_makes_no_sense_is_refused),
        OWN_TEST(nobody_can_be_sent_files),
        OWN_TEST(a_missing_trigger_of_mariadb_is_no_lost_connection),
        OWN_TEST(every_kind_of_value_comes_back_as_it_was),
        OWN_TEST(null_and_empty_are_two_things),
        OWN_TEST(text_is_utf8_also_where_the_column_has_a_character_set),
        OWN_TEST(rows_found_are_counted_not_rows_that_differ),
        OWN_TEST(lists_of_thousands_go_in_and_come_out),
        OWN_TEST(a_list_that_memory_was_out_for_is_not_sent),
        OWN_TEST(several_statements_are_one_round_trip),
        OWN_TEST(after_one_that_fails_none_is_carried_out),
        OWN_TEST(what_is_queued_can_be_dropped),
        OWN_TEST(a_call_is_read_to_its_end),
        OWN_TEST(transactions_have_their_level_and_may_be_read_only),
        OWN_TEST(without_memory_nothing_is_sent),
    };
    signal(SIGPIPE, SIG_DFL);
    return own_mysql_run("mysql", tests, sizeof tests / sizeof *tests, argc, argv);
}
