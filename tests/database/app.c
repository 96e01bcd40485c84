/* SPDX-License-Identifier: MIT */
/* An application's own connection; see app.h. */
#include "database/app.h"

#include <db/url.h>
#include <holdfast/mysql.h>
#include <holdfast/postgres.h>
#include <libpq-fe.h>
#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <sys/socket.h>
#include <time.h>

#define SQL_MAX 16384

struct app {
    app_engine engine;
    char names[HF_NAMES_SIZE];
    PGconn *pg;
    MYSQL *my;
    hf_store *store;
    pthread_t thread; /* of app_commit_later */
    int ms;
    bool late, committed;
};

const char *app_level_name(app_level level)
{
    static const char *const names[APP_LEVELS] = {"READ COMMITTED", "REPEATABLE READ",
                                                  "SERIALIZABLE"};
    return names[level];
}

app_engine app_engine_of(const app *a)
{
    return a->engine;
}

const char *app_engine_name(const app *a)
{
    return a->engine == ON_POSTGRES ? "postgres" : a->engine == ON_MARIADB ? "mariadb" : "mysql";
}

const char *app_names(const app *a)
{
    return a->names;
}

void *app_handle(app *a)
{
    return a->engine == ON_POSTGRES ? (void *)a->pg : (void *)a->my;
}

const char *app_error(app *a)
{
    return a->engine == ON_POSTGRES ? PQerrorMessage(a->pg) : mysql_error(a->my);
}

/* ---- connecting ---- */

static char *cut_at(char *text, char at)
{
    char *found = text ? strchr(text, at) : NULL;
    if (found)
        *found++ = '\0';
    return found && *found ? found : NULL;
}

/* "mysql://user:password@host:port/database?socket=PATH", without escapes. */
static void connect_mysql(app *a, const char *url)
{
    char text[HF_URL_MAX], socket_path[256] = "";
    const char *at = hf_url_query(url);
    hf_slice name, value;
    while (hf_url_next(&at, &name, &value))
        if (hf_slice_equal(name, hf_slice_of("socket")))
            snprintf(socket_path, sizeof socket_path, "%.*s", (int)value.size, value.at);
    snprintf(text, sizeof text, "%s", strstr(url, "://") + 3);
    cut_at(text, '?');
    char *user = text, *host = cut_at(text, '@'), *password = cut_at(user, ':');
    char *database = host && *host == '/' ? host + 1 : cut_at(host, '/');
    host = host && *host == '/' ? NULL : host;
    char *port = cut_at(host, ':');
    a->my = mysql_init(NULL);
    mysql_optionsv(a->my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!mysql_real_connect(a->my, host ? host : "localhost", user, password, database,
                            port ? (unsigned)strtoul(port, NULL, 10) : 0,
                            socket_path[0] ? socket_path : NULL, 0))
        check_failed(__FILE__, __LINE__, "no connection: %s", mysql_error(a->my));
    a->engine = strcasestr(mysql_get_server_info(a->my), "mariadb") ? ON_MARIADB : ON_MYSQL;
}

app *app_connect(const char *url)
{
    app *a = calloc(1, sizeof *a);
    hf_url parts;
    hf_error err = {0};
    expect_true(a != NULL);
    expect(HF_OK, hf_url_read(url, &parts, &err), err);
    snprintf(a->names, sizeof a->names, "%s", parts.names);
    if (strncmp(url, "postgres", 8) == 0) {
        a->engine = ON_POSTGRES;
        a->pg = PQconnectdb(parts.url);
        if (PQstatus(a->pg) != CONNECTION_OK)
            check_failed(__FILE__, __LINE__, "no connection: %s", PQerrorMessage(a->pg));
    } else {
        connect_mysql(a, parts.url);
    }
    hf_url_done(&parts);
    return a;
}

void app_close(app *a)
{
    if (!a)
        return;
    if (a->late)
        pthread_join(a->thread, NULL);
    hf_store_close(a->store);
    if (a->engine == ON_POSTGRES)
        PQfinish(a->pg);
    else
        mysql_close(a->my);
    free(a);
}

hf_status app_wrap(app *a, const char *names, unsigned flags, hf_store **out, hf_error *err)
{
    if (a->engine == ON_POSTGRES)
        return hf_postgres_wrap(a->pg, names, flags, out, err);
    return hf_mysql_wrap(a->my, names, flags, out, err);
}

hf_store *app_wrapped(app *a)
{
    hf_error err = {0};
    if (!a->store)
        expect(HF_OK, app_wrap(a, a->names, 0, &a->store, &err), err);
    return a->store;
}

void app_cut(app *a)
{
    int fd = a->engine == ON_POSTGRES ? PQsocket(a->pg) : (int)mysql_get_socket(a->my);
    expect_int(shutdown(fd, SHUT_RDWR), 0);
}

/* ---- SQL ---- */

/* {lock}: the store's table; {app}: the application's own. */
static void expand(const app *a, const char *text, char *out)
{
    size_t at = 0;
    for (; *text && at < SQL_MAX - 64; text++) {
        size_t length = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        if (length == 0 || text[length + 1] != '}') {
            out[at++] = *text;
            continue;
        }
        bool own = length == 3 && strncmp(text + 1, "app", 3) == 0;
        at += (size_t)snprintf(out + at, SQL_MAX - at, "%s%c%.*s", a->names,
                               a->engine == ON_POSTGRES && !own ? '.' : '_', (int)length, text + 1);
        text += length + 1;
    }
    out[at] = '\0';
}

static void app_compose(const app *a, const char *format, va_list args, char *out)
    __attribute__((format(printf, 2, 0)));

static void app_compose(const app *a, const char *format, va_list args, char *out)
{
    char text[SQL_MAX];
    vsnprintf(text, sizeof text, format, args);
    expand(a, text, out);
}

static void append(char **text, const char *more)
{
    size_t old = *text ? strlen(*text) : 0, size = strlen(more);
    *text = realloc(*text, old + size + 1);
    expect_true(*text != NULL);
    memcpy(*text + old, more, size + 1);
}

static bool run_postgres(app *a, const char *sql, char **rows)
{
    PGresult *result = PQexec(a->pg, sql);
    bool good =
        PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
    for (int row = 0; rows && row < PQntuples(result); row++)
        for (int column = 0; column < PQnfields(result); column++) {
            append(rows, PQgetvalue(result, row, column));
            append(rows, column + 1 < PQnfields(result) ? "=" : "\n");
        }
    PQclear(result);
    return good;
}

static void take_rows(MYSQL_RES *result, char **rows)
{
    unsigned columns = mysql_num_fields(result);
    for (MYSQL_ROW row; (row = mysql_fetch_row(result));)
        for (unsigned column = 0; rows && column < columns; column++) {
            append(rows, row[column] ? row[column] : "");
            append(rows, column + 1 < columns ? "=" : "\n");
        }
    mysql_free_result(result);
}

/* A CALL has an answer of its own after its rows. */
static bool run_mysql(app *a, const char *sql, char **rows)
{
    if (mysql_real_query(a->my, sql, strlen(sql)) != 0)
        return false;
    int more;
    do {
        MYSQL_RES *result = mysql_store_result(a->my);
        if (!result && mysql_field_count(a->my) > 0)
            return false;
        if (result)
            take_rows(result, rows);
        more = mysql_next_result(a->my);
    } while (more == 0);
    return more < 0;
}

static bool app_run_sql(app *a, const char *sql, char **rows)
{
    return a->engine == ON_POSTGRES ? run_postgres(a, sql, rows) : run_mysql(a, sql, rows);
}

bool app_try(app *a, const char *format, ...)
{
    char sql[SQL_MAX];
    va_list args;
    va_start(args, format);
    app_compose(a, format, args, sql);
    va_end(args);
    return app_run_sql(a, sql, NULL);
}

void app_do(app *a, const char *format, ...)
{
    char sql[SQL_MAX];
    va_list args;
    va_start(args, format);
    app_compose(a, format, args, sql);
    va_end(args);
    if (!app_run_sql(a, sql, NULL))
        check_failed(__FILE__, __LINE__, "%s: %s", sql, app_error(a));
}

static char *app_text_of(app *a, const char *sql)
{
    char *rows = NULL;
    append(&rows, "");
    if (!app_run_sql(a, sql, &rows))
        check_failed(__FILE__, __LINE__, "%s: %s", sql, app_error(a));
    return rows;
}

char *app_text(app *a, const char *format, ...)
{
    char sql[SQL_MAX];
    va_list args;
    va_start(args, format);
    app_compose(a, format, args, sql);
    va_end(args);
    return app_text_of(a, sql);
}

int64_t app_number(app *a, const char *format, ...)
{
    char sql[SQL_MAX];
    va_list args;
    va_start(args, format);
    app_compose(a, format, args, sql);
    va_end(args);
    char *rows = app_text_of(a, sql);
    if (!*rows)
        check_failed(__FILE__, __LINE__, "%s: no row", sql);
    int64_t number = strtoll(rows, NULL, 10);
    free(rows);
    return number;
}

bool app_try_number(app *a, int64_t *out, const char *format, ...)
{
    char sql[SQL_MAX], *rows = NULL;
    va_list args;
    va_start(args, format);
    app_compose(a, format, args, sql);
    va_end(args);
    bool found = app_run_sql(a, sql, &rows) && rows && *rows;
    *out = found ? strtoll(rows, NULL, 10) : 0;
    free(rows);
    return found;
}

/* What moves by itself is left out. */
char *app_settings(app *a)
{
    if (a->engine == ON_POSTGRES)
        return app_text(a, "SELECT name, setting FROM pg_settings ORDER BY name");
    return app_text(a,
                    "SHOW SESSION VARIABLES WHERE Variable_name NOT IN ('timestamp', 'rand_seed1', "
                    "'rand_seed2', 'last_insert_id', 'insert_id', 'identity', 'error_count', "
                    "'warning_count', 'in_transaction', 'last_gtid', 'gtid_binlog_pos', "
                    "'gtid_binlog_state', 'gtid_current_pos', 'gtid_executed', "
                    "'statement_id')");
}

/* ---- transactions ---- */

void app_begin(app *a, app_level level)
{
    if (a->engine == ON_POSTGRES) {
        app_do(a, "BEGIN ISOLATION LEVEL %s", app_level_name(level));
        return;
    }
    app_do(a, "SET TRANSACTION ISOLATION LEVEL %s", app_level_name(level));
    app_do(a, "START TRANSACTION");
}

/* COMMIT of a failed transaction is answered ROLLBACK by PostgreSQL. */
bool app_commit(app *a)
{
    if (a->engine != ON_POSTGRES) {
        if (mysql_real_query(a->my, "COMMIT", 6) == 0)
            return true;
        mysql_rollback(a->my);
        return false;
    }
    PGresult *result = PQexec(a->pg, "COMMIT");
    bool good =
        PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    return good;
}

void app_rollback(app *a)
{
    app_do(a, "ROLLBACK");
}

bool app_in_transaction(app *a)
{
    if (a->engine == ON_POSTGRES)
        return PQtransactionStatus(a->pg) != PQTRANS_IDLE;
    return (a->my->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

static void *commit_main(void *argument)
{
    app *a = argument;
    nanosleep(&(struct timespec){a->ms / 1000, a->ms % 1000 * 1000000L}, NULL);
    a->committed = app_commit(a);
    return NULL;
}

void app_commit_later(app *a, int ms)
{
    a->ms = ms;
    a->late = true;
    expect_int(pthread_create(&a->thread, NULL, commit_main, a), 0);
}

void app_wait(app *a)
{
    expect_int(pthread_join(a->thread, NULL), 0);
    a->late = false;
    expect_true(a->committed);
}
