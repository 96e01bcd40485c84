/* SPDX-License-Identifier: MIT */
/* Emptying tables. The server itself writes the statements that do it, from its catalogue, when the
 * tables are new; from then on they are one text that is run again and again. */
#include <db/url.h>
#include <libpq-fe.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/tables.h>

typedef struct client {
    const char *scheme;
    const char *ask; /* answers the text; {ns} is the namespace */
    void *(*connect)(const char *url);
    bool (*run)(void *connection, const char *sql, char **answer); /* answer may be NULL */
    void (*close)(void *connection);
} client;

struct tables {
    const client *client;
    void *connection;
    char *renew;
};

static bool complain(const char *what)
{
    fprintf(stderr, "# emptying tables: %s\n", what);
    return false;
}

static char *tables_keep(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* ---- PostgreSQL ---- */

static const char postgres_ask[] =
    "SELECT 'BEGIN; SET LOCAL lock_timeout = 5000;'"
    " || (SELECT string_agg(format('DELETE FROM %I.%I;', schemaname, tablename), '')"
    "       FROM pg_tables WHERE schemaname = '{ns}')"
    " || coalesce((SELECT string_agg(format('SELECT setval(%L, 1, false);',"
    "       schemaname || '.' || sequencename), '') FROM pg_sequences WHERE schemaname = '{ns}'), "
    "'')"
    " || (SELECT string_agg(format('INSERT INTO {ns}.meta (name, value) VALUES (%L, %L);', name, "
    "value), '')"
    "       FROM {ns}.meta)"
    " || 'COMMIT;'";

static void *postgres_connect(const char *url)
{
    PGconn *connection = PQconnectdb(url);
    if (PQstatus(connection) == CONNECTION_OK)
        return connection;
    complain(PQerrorMessage(connection));
    PQfinish(connection);
    return NULL;
}

static bool postgres_run(void *connection, const char *sql, char **answer)
{
    PGresult *result = PQexec(connection, sql);
    bool fine =
        PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
    if (fine && answer && PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
        *answer = tables_keep(PQgetvalue(result, 0, 0));
    PQclear(result);
    if (!fine) {
        complain(PQerrorMessage(connection));
        PQclear(PQexec(connection, "ROLLBACK"));
    }
    return fine;
}

static void postgres_close(void *connection)
{
    PQfinish(connection);
}

/* ---- MariaDB and MySQL ---- */

static const char mysql_ask[] =
    "SET SESSION group_concat_max_len = 1000000, lock_wait_timeout = 5, innodb_lock_wait_timeout = "
    "5;"
    "SELECT CONCAT('BEGIN;',"
    " (SELECT GROUP_CONCAT(CONCAT('DELETE FROM `', table_name, '`;') SEPARATOR '')"
    "    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE "
    "TABLE'"
    "     AND LEFT(table_name, LENGTH('{ns}_')) = '{ns}_'),"
    " (SELECT GROUP_CONCAT(CONCAT('INSERT INTO `{ns}_meta` (name, value)"
    " VALUES (x''', HEX(name), ''', x''', HEX(value), ''');') SEPARATOR '') FROM `{ns}_meta`),"
    " 'COMMIT;',"
    " (SELECT IFNULL(GROUP_CONCAT(CONCAT('ALTER TABLE `', table_name, '` AUTO_INCREMENT = 1;')"
    " SEPARATOR ''), '')"
    "    FROM information_schema.tables WHERE table_schema = DATABASE() AND auto_increment IS NOT "
    "NULL"
    "     AND LEFT(table_name, LENGTH('{ns}_')) = '{ns}_'))";

/* "user:password@host:port/database" in pieces, each NULL when it is not there. The text is
 * changed. */
typedef struct target {
    char *user, *password, *host, *port, *database;
} target;

static char *tables_cut(char *text, char at)
{
    char *found = text ? strchr(text, at) : NULL;
    if (found)
        *found++ = '\0';
    return found && *found ? found : NULL;
}

static target target_of(char *text)
{
    target to = {.user = text};
    tables_cut(text, '?');
    to.host = tables_cut(text, '@');
    to.password = tables_cut(to.user, ':');
    to.database = to.host && *to.host == '/' ? to.host + 1 : tables_cut(to.host, '/');
    to.host = to.host && *to.host == '/' ? NULL : to.host;
    to.port = tables_cut(to.host, ':');
    return to;
}

static char *tables_socket_of(const char *url)
{
    const char *at = hf_url_query(url);
    hf_slice name, value;
    while (hf_url_next(&at, &name, &value))
        if (name.size == strlen("socket") && memcmp(name.at, "socket", name.size) == 0)
            return strndup(value.at, value.size);
    return NULL;
}

static void *mysql_start(const char *url)
{
    char *socket = tables_socket_of(url), *text = tables_keep(strstr(url, "://"));
    target to = target_of(text + 3);
    MYSQL *connection = mysql_init(NULL);
    unsigned port = to.port ? (unsigned)strtoul(to.port, NULL, 10) : 0;
    if (!mysql_real_connect(connection, to.host ? to.host : "localhost", to.user, to.password,
                            to.database, port, socket, CLIENT_MULTI_STATEMENTS)) {
        complain(mysql_error(connection));
        mysql_close(connection);
        connection = NULL;
    }
    free(socket);
    free(text);
    return connection;
}

static void tables_take_answer(MYSQL *connection, char **answer)
{
    MYSQL_RES *result = mysql_store_result(connection);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    if (row && answer && !*answer)
        *answer = tables_keep(row[0]);
    mysql_free_result(result);
}

static bool mysql_run(void *connection, const char *sql, char **answer)
{
    int more = mysql_query(connection, sql);
    while (more == 0) {
        tables_take_answer(connection, answer);
        more = mysql_next_result(connection);
    }
    bool fine = more == -1; /* no more, and no error */
    if (!fine) {
        complain(mysql_error(connection));
        mysql_query(connection, "ROLLBACK");
    }
    return fine;
}

static void mysql_stop(void *connection)
{
    mysql_close(connection);
}

/* ---- either ---- */

static const client clients[] = {
    {"postgres:", postgres_ask, postgres_connect, postgres_run, postgres_close},
    {"postgresql:", postgres_ask, postgres_connect, postgres_run, postgres_close},
    {"mysql:", mysql_ask, mysql_start, mysql_run, mysql_stop},
};

static bool tables_connect_to(tables *of, const hf_url *url)
{
    for (size_t i = 0; i < sizeof clients / sizeof *clients && !of->client; i++)
        if (strncmp(url->url, clients[i].scheme, strlen(clients[i].scheme)) == 0)
            of->client = &clients[i];
    of->connection = of->client ? of->client->connect(url->url) : NULL;
    return of->connection != NULL;
}

static char *with_names(const char *text, const char *names)
{
    static const char mark[] = "{ns}";
    char *out = NULL;
    size_t size;
    FILE *to = open_memstream(&out, &size);
    for (const char *next; (next = strstr(text, mark)) != NULL; text = next + strlen(mark))
        fprintf(to, "%.*s%s", (int)(next - text), text, names);
    fputs(text, to);
    fclose(to);
    return out;
}

tables *tables_open(const char *text)
{
    hf_url url = {0};
    hf_error err = {0};
    tables *of = calloc(1, sizeof *of);
    bool fine = hf_url_read(text, &url, &err) == HF_OK ? tables_connect_to(of, &url)
                                                       : complain(err.message);
    if (fine) {
        char *ask = with_names(of->client->ask, url.names);
        fine = of->client->run(of->connection, ask, &of->renew) && of->renew;
        free(ask);
    }
    hf_url_done(&url);
    if (!fine) {
        tables_close(of);
        of = NULL;
    }
    return of;
}

bool tables_renew(tables *of)
{
    return of->client->run(of->connection, of->renew, NULL);
}

void tables_close(tables *of)
{
    if (of && of->connection)
        of->client->close(of->connection);
    if (of)
        free(of->renew);
    free(of);
}
