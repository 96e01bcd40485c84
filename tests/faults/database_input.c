/* SPDX-License-Identifier: MIT */
/* Databases and accounts for the tests of bad input; see database_input.h. */
#include "faults/database_input.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

enum { MADE_MAX = 64 };

target *input_server;
const char *input_boss, *input_db;

static app *admin;
static const char *server_name;
static struct {
    char name[64];
    bool database;
} made[MADE_MAX];
static size_t made_count;

static const char *remember(const char *name, bool database)
{
    if (made_count == MADE_MAX)
        FAIL("More than %d databases and accounts were made.", MADE_MAX);
    snprintf(made[made_count].name, sizeof made[0].name, "%s", name);
    made[made_count].database = database;
    return made[made_count++].name;
}

/* ---- the server ---- */

static int server_input_start(void **state)
{
    (void)state;
    input_server = target_shared(server_name);
    admin = app_connect(input_server->url_admin);
    input_boss = input_account("boss");
    if (input_server->postgres)
        app_do(admin, "ALTER ROLE %s SUPERUSER", input_boss);
    else
        app_do(admin, "GRANT ALL ON *.* TO '%s'@'127.0.0.1' WITH GRANT OPTION", input_boss);
    char url[HF_URL_MAX];
    input_db = input_database("", url);
    return 0;
}

static void drop_database(const char *name)
{
    if (!app_try(admin,
                 input_server->postgres ? "DROP DATABASE IF EXISTS %s WITH (FORCE)"
                                        : "DROP DATABASE IF EXISTS %s",
                 name))
        fprintf(stderr, "# %s stays behind: %s\n", name, app_error(admin));
}

static void drop_account(const char *name)
{
    if (!app_try(admin,
                 input_server->postgres ? "DROP ROLE IF EXISTS %s" : "DROP USER '%s'@'127.0.0.1'",
                 name))
        fprintf(stderr, "# %s stays behind: %s\n", name, app_error(admin));
}

/* Databases first: what is in them is somebody's. */
static int server_input_stop(void **state)
{
    (void)state;
    for (size_t i = 0; i < made_count; i++)
        if (made[i].database)
            drop_database(made[i].name);
    for (size_t i = 0; i < made_count; i++)
        if (!made[i].database)
            drop_account(made[i].name);
    app_close(admin);
    target_stop(input_server);
    return 0;
}

int input_main(const char *group, const struct CMUnitTest *tests, size_t count, int argc,
               char **argv)
{
    char name[64];
    signal(SIGPIPE, SIG_IGN);
    server_name = argc > 1 ? argv[1] : NULL;
    snprintf(name, sizeof name, "%s, %s", group, server_name ? server_name : "?");
    return _cmocka_run_group_tests(name, tests, count, server_input_start, server_input_stop);
}

/* ---- databases and accounts ---- */

const char *input_database(const char *how, char *url)
{
    const char *name = remember(target_name("hf_db"), true);
    app_do(admin, "CREATE DATABASE %s %s", name, how);
    input_url(input_boss, name, NULL, url);
    return name;
}

const char *input_place(char *url)
{
    static char names[8][32], parameter[64];
    static unsigned count;
    char *name = names[count++ % 8];
    snprintf(name, sizeof names[0], "place%u", count);
    snprintf(parameter, sizeof parameter, "namespace=%s", name);
    input_url(input_boss, input_db, parameter, url);
    return name;
}

const char *input_account(const char *prefix)
{
    const char *name = remember(target_name(prefix), false);
    if (input_server->postgres)
        app_do(admin, "CREATE ROLE %s LOGIN PASSWORD '%s'", name, INPUT_SECRET);
    else
        app_do(admin, "CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY '%s'", name, INPUT_SECRET);
    return name;
}

void input_url(const char *account, const char *database, const char *parameters, char *url)
{
    target_url(input_server,
               &(target_way){.user = account,
                             .password = INPUT_SECRET,
                             .database = database,
                             .parameters = parameters},
               url);
}

void input_url_as(const char *boss_url, const char *account, char *url)
{
    const char *parameters = strchr(boss_url, '?'), *slash = strchr(strchr(boss_url, '@'), '/');
    char database[64];
    snprintf(database, sizeof database, "%.*s", (int)strcspn(slash + 1, "?"), slash + 1);
    input_url(account, database, parameters ? parameters + 1 : NULL, url);
}

void input_do(const char *url, const char *format, ...)
{
    char sql[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    app *a = app_connect(url);
    bool good = app_try(a, "%s", sql);
    char why[512];
    snprintf(why, sizeof why, "%.500s", app_error(a));
    app_close(a);
    if (!good)
        FAIL("%s: %s", sql, why);
}

/* The namespace of a URL. */
static void names_of(const char *url, char out[32])
{
    const char *given = strstr(url, "namespace=");
    snprintf(out, 32, "%.*s", given ? (int)strcspn(given + 10, "&") : 8,
             given ? given + 10 : "holdfast");
}

#define PICTURE_POSTGRES                                                                           \
    "SELECT n.nspname, c.relname, c.relkind, a.attname, a.atttypid FROM pg_namespace n"            \
    " LEFT JOIN pg_class c ON c.relnamespace = n.oid LEFT JOIN pg_attribute a ON a.attrelid = "    \
    "c.oid"                                                                                        \
    " WHERE n.nspname = '%s' UNION ALL SELECT n.nspname, p.proname, 'f', p.prosrc, p.oid FROM "    \
    "pg_proc p"                                                                                    \
    " JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '%s' ORDER BY 1, 2, 3, 4, 5"
#define PICTURE_MYSQL                                                                              \
    "SELECT table_name, column_name, column_type FROM information_schema.columns WHERE "           \
    "table_schema ="                                                                               \
    " DATABASE() AND LEFT(table_name, LENGTH('%s_')) = '%s_' UNION ALL SELECT routine_name, "      \
    "routine_type,"                                                                                \
    " routine_comment FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER "   \
    "BY 1, 2, 3"

char *input_picture(const char *url)
{
    app *a = app_connect(url);
    char names[32];
    names_of(url, names);
    char *shape = input_server->postgres ? app_text(a, PICTURE_POSTGRES, names, names)
                                         : app_text(a, PICTURE_MYSQL, names, names);
    char *meta =
        app_try(a, "SELECT name, value FROM {meta}")
            ? app_text(a, "SELECT name, value FROM {meta} WHERE name <> 'events_to' ORDER BY name")
            : strdup("(no meta)");
    size_t size = strlen(shape) + strlen(meta) + 1;
    char *both = malloc(size);
    snprintf(both, size, "%s%s", shape, meta);
    free(shape);
    free(meta);
    app_close(a);
    return both;
}

/* ---- sentences ---- */

void input_check_sentence(const char *sentence, const char *file, int line)
{
    size_t size = strlen(sentence);
    if (strstr(sentence, INPUT_SECRET))
        check_failed(file, line, "A sentence repeats the password: %s", sentence);
    bool begins = isupper((unsigned char)sentence[0]) || sentence[strcspn(sentence, " =")] == '=';
    if (size < 10 || !begins || !strchr(".)", sentence[size - 1]))
        check_failed(file, line, "This is no sentence: %s", sentence);
    if (strpbrk(sentence, "\n\r\t"))
        check_failed(file, line, "A sentence has several lines: %s", sentence);
}

void input_refused(const char *url, hf_status status, const char *const parts[], const char *file,
                   int line)
{
    hf_error err = {0};
    hf_store *store = NULL;
    int64_t began_us = now_us();
    hf_status came_to = hf_store_open(url, &store, &err);
    int64_t took_us = now_us() - began_us;
    hf_store_close(store);
    check_call(status, came_to, &err, "opening the store", file, line);
    for (size_t i = 0; parts[i]; i++)
        check_contains(err.message, parts[i], true, "the sentence", file, line);
    input_check_sentence(err.message, file, line);
    if (took_us > 5 * SECOND)
        check_failed(file, line, "That took %.1f s.", (double)took_us / 1e6);
    if (getenv("HF_TEST_SENTENCES"))
        printf("#   %s\n", err.message);
}

hf_store *input_open(const char *url)
{
    hf_error err = {0};
    hf_store *store = NULL;
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}
