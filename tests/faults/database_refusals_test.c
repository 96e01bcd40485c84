/* SPDX-License-Identifier: MIT */
/* Stores that can't be opened as they were asked for: databases and hosts that are not there,
 * passwords and rights that are missing, URLs that make no sense. Each is refused with a sentence
 * that names what was wrong and never a password. The argument names the server. */
#include "faults/database_input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool server_refusals_postgres(void)
{
    return input_server->postgres;
}

/* ---- not there ---- */

static void an_unknown_database_is_named(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    input_url(input_boss, "no_such_database", NULL, url);
    refused_url(url, HF_UNAVAILABLE, "no_such_database", "127.0.0.1", input_boss);
    hf_error err = {0};
    expect(HF_UNAVAILABLE, hf_store_install(url, NULL, &err), err);
    expect_contains(err.message, "no_such_database");
    input_check_sentence(err.message, __FILE__, __LINE__);
}

static void a_server_that_is_not_there_is_named_at_once(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    target_way way = {.user = input_boss, .password = INPUT_SECRET, .database = "app", .port = 1};
    target_url(input_server, &way, url);
    expect_in_time(
        SECOND, "a port without a server",
        refused_url(url, HF_UNAVAILABLE, "127.0.0.1", "the database app", "1", input_boss));
    snprintf(url, sizeof url,
             server_refusals_postgres() ? "postgres://%s@/app?host=/tmp/no/such/folder"
                                        : "mysql://%s@/app?socket=/tmp/no/such/socket",
             input_boss);
    expect_in_time(SECOND, "a socket that is not there",
                   refused_url(url, HF_UNAVAILABLE, "/tmp/no/such", "the database app"));
    way = (target_way){.user = input_boss,
                       .password = INPUT_SECRET,
                       .host = "no-such-host.invalid",
                       .database = "app"};
    target_url(input_server, &way, url);
    refused_url(url, HF_UNAVAILABLE, "no-such-host.invalid", "the database app");
}

/* ---- accounts ---- */

static void server_refusals_write_file(const char *path, const char *text, mode_t mode)
{
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);
    expect_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    expect_int(fchmod(file, mode), 0);
    close(file);
}

static void a_wrong_password_is_refused_and_never_repeated(void **state)
{
    (void)state;
    char url[HF_URL_MAX], path[HF_URL_MAX], parameter[HF_URL_MAX];
    const char *account = input_account("plain");
    target_way way = {.user = account, .password = "wrong_" INPUT_SECRET};
    target_url(input_server, &way, url);
    refused_url(url, HF_UNAVAILABLE, account, "127.0.0.1", "assword");
    way.password = "";
    target_url(input_server, &way, url);
    refused_url(url, HF_UNAVAILABLE, account, "127.0.0.1", "assword");
    way = (target_way){.user = "nobody_at_all", .password = INPUT_SECRET};
    target_url(input_server, &way, url);
    refused_url(url, HF_UNAVAILABLE, "nobody_at_all", "127.0.0.1", "assword");

    scratch_path(".password", path);
    snprintf(parameter, sizeof parameter, "password_file=%.*s", HF_URL_MAX / 2, path);
    way = (target_way){.user = account, .password = "", .parameters = parameter};
    target_url(input_server, &way, url);
    server_refusals_write_file(path, "wrong_" INPUT_SECRET "\n", 0600);
    refused_url(url, HF_UNAVAILABLE, account, "assword");
    refused_url(url, HF_UNAVAILABLE, account, "127.0.0.1");
    server_refusals_write_file(path, INPUT_SECRET "\n", 0644);
    refused_url(url, HF_INVALID, path, "chmod 600");
    server_refusals_write_file(path, "\n", 0600);
    refused_url(url, HF_INVALID, path, "no password");
    unlink(path);
    refused_url(url, HF_UNAVAILABLE, path, "No such file");
}

/* May connect to the database, which in MySQL takes some right there, and nothing more. */
static void server_refusals_let_in(const char *boss_url, const char *account)
{
    if (server_refusals_postgres())
        return;
    input_do(boss_url, "CREATE TABLE IF NOT EXISTS something (a int)");
    input_do(boss_url, "GRANT SELECT ON something TO '%s'@'127.0.0.1'", account);
}

static void an_account_that_may_not_make_tables_is_told_whom_to_ask(void **state)
{
    (void)state;
    char boss_url[HF_URL_MAX], url[HF_URL_MAX];
    hf_error err = {0};
    const char *account = input_account("meek");
    input_place(boss_url);
    server_refusals_let_in(boss_url, account);
    input_url_as(boss_url, account, url);
    char *before = input_picture(boss_url);
    refused_url(url, HF_UNAVAILABLE, "administrator", "holdfast install", input_db);
    expect(HF_UNAVAILABLE, hf_store_install(url, NULL, &err), err);
    expect_contains(err.message, "administrator");
    input_check_sentence(err.message, __FILE__, __LINE__);
    if (!server_refusals_postgres()) /* now it sees that there are none */
        input_do(boss_url, "GRANT SELECT ON %s.* TO '%s'@'127.0.0.1'", input_db, account);
    refused_url(url, HF_UNAVAILABLE, "may not make the tables", "administrator", "holdfast install",
                input_db);
    char *after = input_picture(boss_url);
    expect_text(after, before);
    free(before);
    free(after);
}

static void an_account_that_was_not_let_in_is_told_so(void **state)
{
    (void)state;
    char boss_url[HF_URL_MAX], url[HF_URL_MAX];
    hf_error err = {0};
    const char *account = input_account("meek");
    input_place(boss_url);
    expect(HF_OK, hf_store_install(boss_url, NULL, &err), err);
    server_refusals_let_in(boss_url, account);
    input_url_as(boss_url, account, url);
    refused_url(url, HF_UNAVAILABLE, account, "may not use the tables", "--role", input_db);
}

/* Everything a store can be asked for. */
static void use_it_all(hf_store *store)
{
    hf_credentials alice = newcomer(store, "alice", HOUR), bob = newcomer(store, "bob", HOUR);
    must(HF_OK, store, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .actor = "dave");
    must(HF_OK, store, TYPE_GET, .type = "policy");
    must(HF_OK, store, TYPES, .type = NULL);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "to see",
         .request_id = "r1");
    must(HF_LOCKED, store, ACQUIRE, BY(bob), ON("policy", "1"));
    must(HF_OK, store, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    must(HF_OK, store, BEAT, BY(alice));
    must(HF_OK, store, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    must(HF_OK, store, HOLDS, BY(alice), ON("policy", "1"));
    must(HF_OK, store, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    must(HF_OK, store, DOWNGRADE, BY(bob), ON("policy", "1"));
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    must(HF_OK, store, FORCE_RELEASE, ON("policy", "1"), .actor = "dave", .text = "because");
    must(HF_OK, store, BEAT, BY(bob));
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "2"));
    must(HF_OK, store, RELEASE, BY(alice), ON("policy", "2"));
    must(HF_OK, store, RELEASE_ALL, BY(alice));
    must(HF_OK, store, LIST, .limit = 10);
    must(HF_OK, store, SESSIONS, .limit = 10);
    expect_true(must(HF_OK, store, EVENTS, .limit = 100).events_count > 5);
    must(HF_OK, store, CLOSE, BY(bob));
    must(HF_OK, store, SWEEP, .limit = 100);
}

static void expect_no_right(const char *url)
{
    static const char *const forbidden[] = {
        "CREATE TABLE intruder (a int)",
        "DROP TABLE {lock}",
        "ALTER TABLE {lock} ADD COLUMN intruder int",
        "CREATE INDEX intruder ON {lock} (id)",
        "CREATE TABLE {intruder} (a int)",
    };
    app *a = app_connect(url);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (app_try(a, "%s", forbidden[i]))
            check_failed(__FILE__, __LINE__, "The account may: %s", forbidden[i]);
    app_close(a);
}

static void an_account_with_grants_needs_no_right_to_change_tables(void **state)
{
    (void)state;
    char boss_url[HF_URL_MAX], url[HF_URL_MAX], role[64];
    hf_error err = {0};
    const char *account = input_account("worker");
    input_place(boss_url);
    snprintf(role, sizeof role, "%s%s", account, server_refusals_postgres() ? "" : "@127.0.0.1");
    expect(HF_OK, hf_store_install(boss_url, role, &err), err);
    input_url_as(boss_url, account, url);
    expect_no_right(url);
    hf_store *store = input_open(url);
    use_it_all(store);
    hf_store_close(store);
    expect(HF_OK, hf_store_install(boss_url, role, &err), err); /* again, while it is in use */
    store = input_open(url);
    use_it_all(store);
    hf_store_close(store);
    expect(HF_UNAVAILABLE, hf_store_uninstall(url, true, &err), err);
    input_check_sentence(err.message, __FILE__, __LINE__);
}

/* Whoever is to be let in has to be there, and may have any name. */
static void roles_with_odd_names_are_quoted(void **state)
{
    (void)state;
    char boss_url[HF_URL_MAX];
    hf_error err = {0};
    input_place(boss_url);
    expect(HF_UNAVAILABLE, hf_store_install(boss_url, "no_such_role", &err), err);
    expect_contains(err.message, "no_such_role");
    input_check_sentence(err.message, __FILE__, __LINE__);
    if (server_refusals_postgres()) {
        input_do(boss_url, "CREATE ROLE \"hf O'Dd \"\"x\\%d\"", (int)getpid());
        char role[64];
        snprintf(role, sizeof role, "hf O'Dd \"x\\%d", (int)getpid());
        expect(HF_OK, hf_store_install(boss_url, role, &err), err);
        input_do(boss_url, "DROP OWNED BY \"hf O'Dd \"\"x\\%d\"", (int)getpid());
        input_do(boss_url, "DROP ROLE \"hf O'Dd \"\"x\\%d\"", (int)getpid());
    } else {
        input_do(boss_url, "CREATE USER 'o''d \\\\'@'127.0.0.1'");
        expect(HF_OK, hf_store_install(boss_url, "o'd \\@127.0.0.1", &err), err);
        input_do(boss_url, "DROP USER 'o''d \\\\'@'127.0.0.1'");
    }
}

/* ---- URLs ---- */

typedef struct oddity {
    const char *parameters;
    hf_status status;
    const char *names; /* what the sentence has to name */
} oddity;

static const oddity common[] = {
    {"namespace=", HF_INVALID, "namespace"},
    {"namespace=Bad", HF_INVALID, "namespace"},
    {"namespace=a__b", HF_INVALID, "namespace"},
    {"namespace=_a", HF_INVALID, "namespace"},
    {"namespace=1a", HF_INVALID, "namespace"},
    {"namespace=a-b", HF_INVALID, "namespace"},
    {"namespace=a%22b", HF_INVALID, "namespace"},
    {"namespace=a%zz", HF_INVALID, "namespace"},
    {"namespace=pg_x", HF_INVALID, "namespace"},
    {"namespace=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", HF_INVALID, "namespace"},
    {"namespace=a&namespace=b", HF_INVALID, "namespace"},
    {"pooler=statement", HF_INVALID, "pooler"},
    {"pooler=", HF_INVALID, "pooler"},
    {"pooler=transaction&pooler=transaction", HF_INVALID, "pooler"},
    {"password_file=", HF_INVALID, "password_file"},
    {"password_file=/tmp", HF_INVALID, "/tmp"},
    {"durability=full", HF_INVALID, "durability"},
    {"nonsense=1", HF_INVALID, "nonsense"},
};

static const oddity of_postgres[] = {
    {"namespace=select", HF_INVALID, "select"},
    {"port=99999", HF_INVALID, "99999"},
    {"port=0", HF_INVALID, "port"},
    {"port=abc", HF_INVALID, "abc"},
    {"sslmode=nonsense", HF_INVALID, "nonsense"},
};

static const oddity of_mysql[] = {
    {"pooler=transaction", HF_INVALID, "pooler"},
    {"socket=/tmp/x", HF_INVALID, "socket"},
    {"ssl_verify=2", HF_INVALID, "ssl_verify"},
    {"connect_timeout=0", HF_INVALID, "connect_timeout"},
    {"connect_timeout=x", HF_INVALID, "connect_timeout"},
    {"ssl_ca=", HF_INVALID, "ssl_ca"},
    {"connect_timeout=5&connect_timeout=5", HF_INVALID, "connect_timeout"},
};

static unsigned try_oddities(const oddity *all, size_t count)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        char url[HF_URL_MAX];
        hf_error err = {0};
        hf_store *store = NULL;
        input_url(input_boss, input_db, all[i].parameters, url);
        hf_status status = hf_store_open(url, &store, &err);
        hf_store_close(store);
        bool good = status == all[i].status && strstr(err.message, all[i].names);
        if (!good)
            printf("# ?%s came to %s: %s\n", all[i].parameters, hf_status_wire(status),
                   err.message);
        if (status != HF_OK)
            input_check_sentence(err.message, __FILE__, __LINE__);
        wrong += !good;
    }
    return wrong;
}

static void parameters_that_make_no_sense_are_named(void **state)
{
    (void)state;
    unsigned wrong = try_oddities(common, sizeof common / sizeof *common);
    if (server_refusals_postgres())
        wrong += try_oddities(of_postgres, sizeof of_postgres / sizeof *of_postgres);
    else
        wrong += try_oddities(of_mysql, sizeof of_mysql / sizeof *of_mysql);
    expect_int(wrong, 0);
}

static void urls_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const of_any[] = {":", ":/", ":test", ":test@host"};
    static const char *const mysqls[] = {"mysql://",
                                         "mysql:///",
                                         "mysql://root@127.0.0.1",
                                         "mysql://root@127.0.0.1/",
                                         "mysql:///test",
                                         "mysql://root@127.0.0.1:0/test",
                                         "mysql://root@127.0.0.1:99999/test",
                                         "mysql://root@127.0.0.1:x/test"};
    char url[HF_URL_MAX];
    for (size_t i = 0; i < sizeof of_any / sizeof *of_any; i++) {
        snprintf(url, sizeof url, "%s%s", server_refusals_postgres() ? "postgres" : "mysql",
                 of_any[i]);
        refused_url(url, HF_INVALID, "URL");
    }
    for (size_t i = 0; i < sizeof mysqls / sizeof *mysqls && !server_refusals_postgres(); i++)
        refused_url(mysqls[i], HF_INVALID, "URL");
}

/* ---- passwords ---- */

/* What people type when they don't know that it must be escaped. Both halves are the password. */
static void no_part_of_a_password_is_repeated_however_it_is_written(void **state)
{
    (void)state;
    static const char *const between[] = {"",    "/",  "@",  "?",   "#",   ":",   "%",  "%zz",
                                          "&x=", "=",  "[",  "]",   "\\",  " ",   "'",  "\"",
                                          "://", "/@", "@/", "?x=", "1/2", "%40", "%2F"};
    static const char *const halves[][2] = {{"Xq7a", "Zk9b"}, {"4711", "Zk9b"}};
    unsigned wrong = 0;
    for (size_t i = 0; i < 2 * sizeof between / sizeof *between; i++) {
        const char *first = halves[i % 2][0], *second = halves[i % 2][1];
        char url[HF_URL_MAX];
        hf_error err = {0};
        hf_store *store = NULL;
        snprintf(url, sizeof url, "%s://somebody:%s%s%s@127.0.0.1:1/test",
                 server_refusals_postgres() ? "postgres" : "mysql", first, between[i / 2], second);
        expect_true(hf_store_open(url, &store, &err) != HF_OK);
        hf_store_close(store);
        bool told = strstr(err.message, first) || strstr(err.message, second);
        if (told)
            printf("# the password %s%s%s: %s\n", first, between[i / 2], second, err.message);
        wrong += told;
    }
    expect_int(wrong, 0);
}

/* While a store works, and when its server refuses it later. */
static void an_account_that_is_shut_out_later_is_told_without_the_password(void **state)
{
    (void)state;
    char boss_url[HF_URL_MAX], url[HF_URL_MAX], role[64];
    hf_error err = {0};
    const char *account = input_account("worker");
    input_place(boss_url);
    snprintf(role, sizeof role, "%s%s", account, server_refusals_postgres() ? "" : "@127.0.0.1");
    expect(HF_OK, hf_store_install(boss_url, role, &err), err);
    input_url_as(boss_url, account, url);
    hf_store *store = input_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    if (server_refusals_postgres())
        input_do(boss_url, "REVOKE ALL ON {lock} FROM %s", account);
    else
        input_do(boss_url, "REVOKE SELECT, INSERT, UPDATE, DELETE ON {lock} FROM '%s'@'127.0.0.1'",
                 account);
    said no = ASK(store, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_status(HF_UNAVAILABLE, no.status, no.message);
    expect_contains(no.message, "lock");
    expect_contains(no.message, input_db);
    input_check_sentence(no.message, __FILE__, __LINE__);
    expect(HF_OK, hf_store_install(boss_url, role, &err), err);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1")); /* the same handle */
    hf_store_close(store);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_database_is_named),
        cmocka_unit_test(a_server_that_is_not_there_is_named_at_once),
        cmocka_unit_test(a_wrong_password_is_refused_and_never_repeated),
        cmocka_unit_test(an_account_that_may_not_make_tables_is_told_whom_to_ask),
        cmocka_unit_test(an_account_that_was_not_let_in_is_told_so),
        cmocka_unit_test(an_account_with_grants_needs_no_right_to_change_tables),
        cmocka_unit_test(roles_with_odd_names_are_quoted),
        cmocka_unit_test(parameters_that_make_no_sense_are_named),
        cmocka_unit_test(urls_that_make_no_sense_are_refused),
        cmocka_unit_test(no_part_of_a_password_is_repeated_however_it_is_written),
        cmocka_unit_test(an_account_that_is_shut_out_later_is_told_without_the_password),
    };
    return INPUT_MAIN("refusals", tests, argc, argv);
}
