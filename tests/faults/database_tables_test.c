/* SPDX-License-Identifier: MIT */
/* Databases in a state that holdfast did not leave them in: another encoding, tables of other
 * versions, tables of others with our names, half of an installation, nonsense in meta. Either it
 * works, or it is refused with a sentence and nothing was changed. The argument names the server.
 * */
#include "faults/database_input.h"
#include "sql/fields_fingerprint.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool server_tables_postgres(void)
{
    return input_server->postgres;
}

/* Opening, installing and removing are refused, with a sentence that has these parts; nothing is
 * changed. */
#define left_alone(url, ...)                                                                       \
    expect_left_alone((url), true, (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
/* But removing by force. */
#define left_unless_forced(url, ...)                                                               \
    expect_left_alone((url), false, (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)

static void expect_left_alone(const char *url, bool force, const char *const parts[],
                              const char *file, int line)
{
    hf_error err = {0};
    char *before = input_picture(url);
    input_refused(url, HF_UNAVAILABLE, parts, file, line);
    check_call(HF_UNAVAILABLE, hf_store_install(url, NULL, &err), &err, "installing", file, line);
    for (size_t i = 0; parts[i]; i++)
        check_contains(err.message, parts[i], true, "the sentence", file, line);
    input_check_sentence(err.message, file, line);
    check_call(HF_UNAVAILABLE, hf_store_uninstall(url, force, &err), &err, "removing", file, line);
    input_check_sentence(err.message, file, line);
    char *after = input_picture(url);
    check_text(after, before, "what is in the database", file, line);
    free(before);
    free(after);
}

/* A store that opens, and works. */
static void server_tables_expect_works(const char *url)
{
    hf_store *store = input_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR), bob = newcomer(store, "bob", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    must(HF_LOCKED, store, ACQUIRE, BY(bob), ON("policy", "1"));
    must(HF_OK, store, BEAT, BY(alice));
    must(HF_OK, store, RELEASE, BY(alice), ON("policy", "1"));
    expect_true(must(HF_OK, store, EVENTS, .limit = 100).events_count >= 4);
    must(HF_OK, store, CLOSE, BY(bob));
    must(HF_OK, store, CLOSE, BY(alice));
    hf_store_close(store);
}

static void server_tables_install(const char *url)
{
    hf_error err = {0};
    expect(HF_OK, hf_store_install(url, NULL, &err), err);
}

/* An error is filled only when something failed. */
static void opening_an_empty_database_leaves_no_error_behind(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    hf_error err = {0};
    hf_store *store = NULL;
    input_place(url);
    for (int i = 0; i < 2; i++) {
        expect(HF_OK, hf_store_open(url, &store, &err), err);
        hf_store_close(store);
        expect_text(err.message, "");
    }
}

/* ---- encodings ---- */

static void a_database_in_another_encoding_is_refused_where_names_would_suffer(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    if (server_tables_postgres()) {
        input_database("ENCODING 'LATIN1' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'", url);
        left_alone(url, "LATIN1", "UTF-8", "hf_db");
        input_database("ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'",
                       url);
        left_alone(url, "SQL_ASCII", "UTF-8", "hf_db");
        return;
    }
    static const char *const sets[] = {"latin1", "utf8", "utf8mb4 COLLATE utf8mb4_general_ci",
                                       "ucs2", "binary"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char how[80];
        snprintf(how, sizeof how, "CHARACTER SET %s", sets[i]);
        input_database(how, url);
        server_tables_expect_works(url);
        hf_store *store = input_open(url);
        hf_credentials alice = newcomer(store, "\xc3\x84nne \xf0\x9f\x94\x92", HOUR);
        must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "\xc3\xa9 \xf0\x9f\x94\x92"),
             .purpose = "\xe2\x82\xac");
        said who = must(HF_OK, store, WHO, ON("policy", "\xc3\xa9 \xf0\x9f\x94\x92"));
        expect_text(who.lock.user, "\xc3\x84nne \xf0\x9f\x94\x92");
        expect_text(who.lock.purpose, "\xe2\x82\xac");
        expect_int(must(HF_OK, store, WHO, ON("policy", "e \xf0\x9f\x94\x92")).locks_count, 0);
        hf_store_close(store);
    }
}

/* ---- what others have made ---- */

static const char *const taken[] = {"meta",    "type", "session", "resource", "lock",
                                    "request", "lost", "event",   "token",    "locks"};

static void a_table_that_someone_else_made_is_named_and_left_alone(void **state)
{
    (void)state;
    char url[HF_URL_MAX], table[64];
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const char *names = input_place(url);
        if (server_tables_postgres())
            input_do(url, "CREATE SCHEMA %s", names);
        input_do(url, "CREATE TABLE {%s} (a int)", taken[i]);
        snprintf(table, sizeof table, "%s%c%s", names, server_tables_postgres() ? '.' : '_',
                 taken[i]);
        left_alone(url, table, "holdfast did not make", "namespace");
    }
    for (int i = 0; i < 2; i++) {
        const char *names = input_place(url);
        if (server_tables_postgres())
            input_do(url, "CREATE SCHEMA %s", names);
        if (i == 0)
            input_do(url, "CREATE VIEW {locks} AS SELECT 1 AS a");
        else if (server_tables_postgres())
            input_do(
                url,
                "CREATE FUNCTION {check}(type text, id text, session text, fence bigint) RETURNS "
                "void LANGUAGE sql AS ''");
        else
            input_do(url, "CREATE PROCEDURE {check}() SELECT 1");
        snprintf(table, sizeof table, "%s%c%s", names, server_tables_postgres() ? '.' : '_',
                 i == 0 ? "locks" : "check");
        left_alone(url, table, "holdfast did not make", "namespace");
        if (i == 0)
            input_do(url, "DROP VIEW {locks}"); /* it is there */
        else
            input_do(url,
                     server_tables_postgres() ? "DROP FUNCTION {check}" : "DROP PROCEDURE {check}");
    }
    input_place(url);
    input_do(url, "CREATE VIEW {app} AS SELECT 1 AS a"); /* of no concern */
    server_tables_expect_works(url);
}

/* An account sees only tables that it has a right on; what it does not see is not gone. */
static void a_table_that_the_account_may_not_see_is_not_called_gone(void **state)
{
    (void)state;
    char url[HF_URL_MAX], theirs[HF_URL_MAX];
    hf_error err = {0};
    if (server_tables_postgres())
        return; /* there everyone sees what there is */
    input_place(url);
    server_tables_install(url);
    const char *account = input_account("some");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i], "token") != 0)
            input_do(url, "GRANT SELECT, INSERT, UPDATE, DELETE ON {%s} TO '%s'@'127.0.0.1'",
                     taken[i], account);
    input_url_as(url, account, theirs);
    expect(HF_UNAVAILABLE, hf_store_install(theirs, NULL, &err), err);
    expect_contains(err.message, "may not make the tables");
    expect_contains(err.message, "_token");
    input_check_sentence(err.message, __FILE__, __LINE__);
    expect(HF_UNAVAILABLE, hf_store_uninstall(theirs, false, &err), err);
    expect_contains(err.message, "may not remove the tables");
    server_tables_expect_works(url);
}

/* On PostgreSQL all is made in one transaction: half of it is not ours. */
static void a_half_made_installation_is_completed_or_refused(void **state)
{
    (void)state;
    char url[HF_URL_MAX], table[64];
    const char *names = input_place(url);
    if (server_tables_postgres()) {
        input_do(url, "CREATE SCHEMA %s", names);
        input_do(url, "CREATE TABLE {meta} (name text PRIMARY KEY, value text NOT NULL)");
        snprintf(table, sizeof table, "%s.meta", names);
        left_alone(url, table, "did not make");
        names = input_place(url);
        input_do(url, "CREATE SCHEMA %s", names);
        server_tables_expect_works(url); /* an empty schema is welcome */
        return;
    }
    server_tables_install(url);
    input_do(url, "DELETE FROM {meta} WHERE name = 'schema'");
    input_do(url, "DROP TABLE {event}, {lost}, {request}");
    input_do(url, "DROP PROCEDURE {check}");
    server_tables_install(url);
    input_do(url, "DELETE FROM {meta} WHERE name = 'schema'");
    server_tables_expect_works(url);
    hf_error err = {0};
    expect(HF_OK, hf_store_uninstall(url, true, &err), err);
    server_tables_install(url);
    input_do(url, "DELETE FROM {meta} WHERE name = 'schema'");
    input_do(url, "DROP TABLE {event}");
    expect(HF_OK, hf_store_uninstall(url, false, &err), err);
    server_tables_expect_works(url);
}

/* Neither installing nor removing without force; all is as it was. */
static void expect_broken(const char *url)
{
    hf_error err = {0};
    char *before = input_picture(url);
    expect(HF_UNAVAILABLE, hf_store_install(url, NULL, &err), err);
    expect_contains(err.message, "uninstall URL --force");
    input_check_sentence(err.message, __FILE__, __LINE__);
    expect(HF_UNAVAILABLE, hf_store_uninstall(url, false, &err), err);
    expect_contains(err.message, "uninstall URL --force");
    char *after = input_picture(url);
    expect_text(after, before);
    free(before);
    free(after);
}

/* Numbers would begin anew beside events that have them, and old tokens come back. */
static void rows_without_a_version_are_not_taken_for_a_half_made_installation(void **state)
{
    (void)state;
    static const char *const spoils[] = {
        "DROP TABLE {meta}", "DELETE FROM {meta} WHERE name = 'schema'",
        "DROP TABLE {meta}, {type}, {session}, {resource}, {lock}, {request}, {lost}, {event}"};
    static const unsigned char hash[32] = {4, 5, 6};
    if (server_tables_postgres())
        /* there all is made in one transaction, and what has no version is never completed */
        return;
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        char url[HF_URL_MAX];
        hf_error err = {0};
        input_place(url);
        hf_store *store = input_open(url);
        hf_credentials alice = newcomer(store, "alice", HOUR);
        must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
        must(HF_OK, store, TOKEN_CREATE, .token = "0123456789abcdef0123456789abcdef",
             .sha256 = hash, .name = "n", .roles = "use");
        hf_store_close(store);
        input_do(url, "%s", spoils[i]);
        expect_broken(url);
        store = NULL;
        expect_true(hf_store_open(url, &store, &err) != HF_OK);
        hf_store_close(store);
        expect(HF_OK, hf_store_uninstall(url, true, &err), err);
        server_tables_expect_works(url);
    }
}

/* Longer than a version is waited for, and not so long as that and removing after it. */
static void *close_later(void *context)
{
    sleep(12);
    app_close(context);
    return NULL;
}

/* Whoever has meta for himself keeps its version from being read, and so does one who changed its
 * shape; it is there nevertheless, and so is the lock. */
static void a_version_that_can_not_be_read_is_not_taken_for_none(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    hf_error err = {0};
    pthread_t thread;
    if (server_tables_postgres())
        return; /* there a version that can't be read ends the transaction */
    input_place(url);
    hf_store *store = input_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    input_do(url, "ALTER TABLE {meta} CHANGE value valued VARBINARY(255) NOT NULL");
    expect_true(hf_store_uninstall(url, false, &err) != HF_OK);
    expect_contains(err.message, "value");
    input_do(url, "ALTER TABLE {meta} CHANGE valued value VARBINARY(255) NOT NULL");
    app *other = app_connect(url);
    app_do(other, "LOCK TABLES {meta} WRITE");
    expect_int(pthread_create(&thread, NULL, close_later, other), 0);
    hf_status status = hf_store_uninstall(url, false, &err);
    pthread_join(thread, NULL);
    expect_true(status == HF_BUSY || status == HF_LOCKED); /* the latter if it began late */
    input_check_sentence(err.message, __FILE__, __LINE__);
    expect_int(must(HF_OK, store, WHO, ON("policy", "1")).locks_count, 1);
    hf_store_close(store);
}

/* Someone dropped a table under a store, or before it is opened: a sentence names it, and when it
 * is back all goes on. */
static void a_missing_table_is_named(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    const char *names = input_place(url);
    hf_store *store = input_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    input_do(url, server_tables_postgres() ? "ALTER TABLE {lock} RENAME TO elsewhere"
                                           : "RENAME TABLE {lock} TO elsewhere");
    hf_store *other = input_open(url);
    hf_store *const both[] = {store, other};
    for (int i = 0; i < 2; i++) {
        said no = ASK(both[i], ACQUIRE, BY(alice), ON("policy", "2"));
        expect_status(HF_UNAVAILABLE, no.status, no.message);
        expect_contains(no.message, "lock");
        expect_contains(no.message, "hf_db");
        input_check_sentence(no.message, __FILE__, __LINE__);
    }
    if (server_tables_postgres())
        input_do(url, "ALTER TABLE %s.elsewhere RENAME TO lock", names);
    else
        input_do(url, "RENAME TABLE elsewhere TO {lock}");
    for (int i = 0; i < 2; i++) {
        expect_int(must(HF_OK, both[i], WHO, ON("policy", "1")).locks_count, 1);
        must(HF_OK, both[i], ACQUIRE, BY(alice), ON("policy", "2"));
    }
    hf_store_close(store);
    hf_store_close(other);
}

static void an_installation_with_a_table_gone_is_not_called_installed(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    hf_error err = {0};
    input_place(url);
    server_tables_install(url);
    input_do(url, "DROP TABLE {lost}");
    expect(HF_UNAVAILABLE, hf_store_install(url, NULL, &err), err);
    expect_contains(err.message, "uninstall URL --force");
    expect(HF_UNAVAILABLE, hf_store_uninstall(url, false, &err), err);
    expect_contains(err.message, "uninstall URL --force");
    expect(HF_OK, hf_store_uninstall(url, true, &err), err);
    server_tables_expect_works(url);
}

/* What they installed runs with their rights; whoever installs again lends it his own. */
static void what_an_account_that_is_gone_has_installed_works_when_installed_again(void **state)
{
    (void)state;
    char url[HF_URL_MAX], theirs[HF_URL_MAX], account[64];
    if (server_tables_postgres())
        return; /* there an account that owns something can't be dropped */
    input_place(url);
    snprintf(account, sizeof account, "%s", target_name("gone"));
    input_do(url, "CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY '%s'", account, INPUT_SECRET);
    input_do(url, "GRANT ALL ON *.* TO '%s'@'127.0.0.1'", account);
    input_url_as(url, account, theirs);
    server_tables_install(theirs);
    input_do(url, "DROP USER '%s'@'127.0.0.1'", account);
    app *a = app_connect(url);
    expect_true(!app_try(a, "CALL {check}('policy', '1', 'x', 1)"));
    expect_contains(app_error(a), account);
    server_tables_install(url);
    expect_true(!app_try(a, "CALL {check}('policy', '1', 'x', 1)"));
    expect_contains(app_error(a), "has expired");
    expect_int(app_number(a, "SELECT COUNT(*) FROM {locks}"), 0);
    app_close(a);
}

static bool public_may_check(const char *url)
{
    app *a = app_connect(url);
    int64_t may = app_number(
        a, "SELECT has_function_privilege('public', '{check}(text, text, text, bigint)', "
           "'EXECUTE')::integer");
    app_close(a);
    return may != 0;
}

/* PostgreSQL. Everybody may run a new function there unless it is taken back, which is done once.
 * */
static void installing_again_takes_no_grant_back(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    if (!server_tables_postgres())
        return;
    input_place(url);
    server_tables_install(url);
    expect_true(!public_may_check(url));
    input_do(url, "GRANT EXECUTE ON FUNCTION {check} TO PUBLIC");
    server_tables_install(url);
    expect_true(public_may_check(url));
}

static int64_t schemas(const char *url, const char *names)
{
    app *a = app_connect(url);
    int64_t count = app_number(a, "SELECT count(*) FROM pg_namespace WHERE nspname = '%s'", names);
    app_close(a);
    return count;
}

/* PostgreSQL. What installing made is removed, what was there before stays, and so does what
 * somebody has put in. */
static void a_schema_is_removed_by_who_made_it(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    hf_error err = {0};
    if (!server_tables_postgres())
        return;
    for (int i = 0; i < 3; i++) {
        const char *names = input_place(url);
        if (i == 1)
            input_do(url, "CREATE SCHEMA %s", names);
        server_tables_install(url);
        server_tables_install(url);
        if (i == 2)
            input_do(url, "CREATE TABLE %s.mine (a int)", names);
        expect(HF_OK, hf_store_uninstall(url, false, &err), err);
        expect_int(schemas(url, names), i == 0 ? 0 : 1);
    }
}

/* ---- meta ---- */

/* What meta says is the fingerprint of the table of fields; anything else is another form. */
static void tables_of_another_form_are_refused_and_left_alone(void **state)
{
    (void)state;
    static const char *const others[] = {"1", "0123456789abcdef", "99999999999999999999"};
    char url[HF_URL_MAX];
    input_place(url);
    server_tables_install(url);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        input_do(url, "UPDATE {meta} SET value = '%s' WHERE name = 'schema'", others[i]);
        left_unless_forced(url, "another version of holdfast", "uninstall URL --force");
    }
    input_do(url, "UPDATE {meta} SET value = '%s' WHERE name = 'schema'", hf_fields_fingerprint);
    server_tables_expect_works(url);
}

/* A store is not opened, or fails cleanly, or works: it never grants what it should not, and is
 * well when the row is. */
static void survives(const char *url, const char *name, const char *spoil)
{
    hf_error err = {0};
    hf_store *store = input_open(url), *fresh = NULL;
    hf_credentials alice = newcomer(store, "alice", HOUR), bob = newcomer(store, "bob", HOUR);
    said first = must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "m"));
    app *a = app_connect(url);
    char *saved = app_text(a, "SELECT value FROM {meta} WHERE name = '%s'", name);
    saved[strcspn(saved, "\n")] = '\0';
    app_do(a, "DELETE FROM {meta} WHERE name = '%s'", name);
    if (spoil)
        app_do(a, "INSERT INTO {meta} (name, value) VALUES ('%s', '%s')", name, spoil);
    hf_status opened = hf_store_open(url, &fresh, &err);
    expect_true(opened == HF_OK || err.message[0]);
    said answers[] = {ASK(store, ACQUIRE, BY(bob), ON("policy", "m")),
                      ASK(store, EVENTS, .limit = 10), ASK(store, WHO, ON("policy", "m")),
                      ASK(store, TYPES, .limit = 0)};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i].status != HF_OK && answers[i].status != HF_LOCKED)
            input_check_sentence(answers[i].message, __FILE__, __LINE__);
    expect_true(answers[0].status != HF_OK);
    app_do(a, "DELETE FROM {meta} WHERE name = '%s'", name);
    if (saved[0])
        app_do(a, "INSERT INTO {meta} (name, value) VALUES ('%s', '%s')", name, saved);
    app_close(a);
    free(saved);
    must(HF_LOCKED, store, ACQUIRE, BY(bob), ON("policy", "m"));
    must(HF_OK, store, RELEASE, BY(alice), ON("policy", "m"));
    expect_true(must(HF_OK, store, ACQUIRE, BY(bob), ON("policy", "m")).lock.fence >
                first.lock.fence);
    must(HF_OK, store, RELEASE, BY(bob), ON("policy", "m"));
    must(HF_OK, store, EVENTS, .limit = 10);
    hf_store_close(store);
    hf_store_close(fresh);
}

static void nonsense_in_meta_grants_nothing_and_passes(void **state)
{
    (void)state;
    static const char *const names[] = {"types", "events_to", "fence_floor", "unheard_of"};
    static const char *const values[] = {NULL, "nonsense", "", "-5", "99999999999999999999"};
    char url[HF_URL_MAX];
    input_place(url);
    server_tables_install(url);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < sizeof values / sizeof *values; j++)
            survives(url, names[i], values[j]);
}

/* ---- two at once ---- */

typedef struct opener {
    pthread_t thread;
    const char *url;
    hf_status status;
    hf_error err;
} opener;

static void *server_tables_open_main(void *context)
{
    opener *it = context;
    hf_store *store = NULL;
    it->status = hf_store_open(it->url, &store, &it->err);
    hf_store_close(store);
    return NULL;
}

static void many_who_open_an_empty_database_at_once_all_get_in(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    opener all[8];
    input_place(url);
    for (size_t i = 0; i < 8; i++) {
        all[i] = (opener){.url = url};
        expect_int(pthread_create(&all[i].thread, NULL, server_tables_open_main, &all[i]), 0);
    }
    for (size_t i = 0; i < 8; i++)
        pthread_join(all[i].thread, NULL);
    for (size_t i = 0; i < 8; i++)
        expect_status(HF_OK, all[i].status, all[i].err.message);
    server_tables_expect_works(url);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_an_empty_database_leaves_no_error_behind),
        cmocka_unit_test(a_database_in_another_encoding_is_refused_where_names_would_suffer),
        cmocka_unit_test(a_table_that_someone_else_made_is_named_and_left_alone),
        cmocka_unit_test(a_table_that_the_account_may_not_see_is_not_called_gone),
        cmocka_unit_test(a_half_made_installation_is_completed_or_refused),
        cmocka_unit_test(rows_without_a_version_are_not_taken_for_a_half_made_installation),
        cmocka_unit_test(a_version_that_can_not_be_read_is_not_taken_for_none),
        cmocka_unit_test(a_missing_table_is_named),
        cmocka_unit_test(an_installation_with_a_table_gone_is_not_called_installed),
        cmocka_unit_test(what_an_account_that_is_gone_has_installed_works_when_installed_again),
        cmocka_unit_test(installing_again_takes_no_grant_back),
        cmocka_unit_test(a_schema_is_removed_by_who_made_it),
        cmocka_unit_test(tables_of_another_form_are_refused_and_left_alone),
        cmocka_unit_test(nonsense_in_meta_grants_nothing_and_passes),
        cmocka_unit_test(many_who_open_an_empty_database_at_once_all_get_in),
    };
    return INPUT_MAIN("tables", tests, argc, argv);
}
