/* SPDX-License-Identifier: MIT */
/* MariaDB by hand: libmariadb, statements as text, all of a round trip in one query. Prepared
 * statements can't share a round trip there; for one statement alone they were no faster. */
#include "hand.h"

#include "base/seams.h"
#include "db/url.h"
#include "hand_sql.h"
#include "store/sql_conn.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The store's settings (lib/store/mysql.c), as far as they say how a statement is carried out. */
#define SETTINGS                                                                                   \
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"                                      \
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', autocommit = 1"

enum { TEXT_SIZE = 8192, PART_SIZE = 256 };

struct hand_link {
    MYSQL *conn;
    char names[32];
    char *sql[HAND_COUNT]; /* with the tables' names in it; NULL: not needed yet */
    char text[TEXT_SIZE];  /* what is sent */
    size_t size;
};

static _Noreturn void mysql_base_fail(const hand_link *link, int which)
{
    bench_die("MariaDB by hand: %s: %s", which < 0 ? "connecting" : hand_names[which],
              mysql_error(link->conn));
}

/* ---- connecting ---- */

typedef struct place {
    char user[PART_SIZE], password[PART_SIZE], host[PART_SIZE], port[PART_SIZE],
        database[PART_SIZE], socket[PART_SIZE];
} place;

/* Copies the text up to one of `ends` and returns what follows it; where there is none of those,
 * the text stays. */
static const char *mysql_base_cut(const char *text, const char *ends, char out[PART_SIZE])
{
    char *plain = NULL;
    size_t size = strcspn(text, ends);
    if (hf_url_decode((hf_slice){text, size}, "part", &plain, NULL) != HF_OK ||
        strlen(plain) >= PART_SIZE)
        bench_die("MariaDB by hand: the URL makes no sense");
    snprintf(out, PART_SIZE, "%s", plain);
    hf_free(plain);
    return text[size] == '\0' ? text + size : text + size + 1;
}

/* mysql://USER[:PASSWORD]@[HOST[:PORT]]/DATABASE[?socket=PATH] */
static void mysql_base_read_url(const char *url, place *out)
{
    static const char scheme[] = "mysql://";
    char user[PART_SIZE], host[PART_SIZE];
    const char *query = hf_url_query(url);
    hf_slice name, value;
    *out = (place){.user = ""};
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        bench_die("MariaDB by hand: the URL doesn't begin with %s", scheme);
    const char *at = mysql_base_cut(url + sizeof scheme - 1, "@", user);
    at = mysql_base_cut(at, "/", host);
    mysql_base_cut(at, "?", out->database);
    mysql_base_cut(mysql_base_cut(user, ":", out->user), "", out->password);
    mysql_base_cut(mysql_base_cut(host, ":", out->host), "", out->port);
    while (hf_url_next(&query, &name, &value))
        if (hf_slice_equal(name, hf_slice_of("socket")))
            mysql_base_cut(value.at, "&", out->socket);
}

static void send_text(hand_link *link, const char *text, size_t size, int which)
{
    if (mysql_real_query(link->conn, text, (unsigned long)size) != 0)
        mysql_base_fail(link, which);
}

static hand_link *mysql_base_open_link(const char *url, const char *names)
{
    place to;
    mysql_base_read_url(url, &to);
    hand_link *link = calloc(1, sizeof *link);
    if (link == NULL || (link->conn = mysql_init(NULL)) == NULL)
        bench_die("out of memory");
    snprintf(link->names, sizeof link->names, "%s", names);
    mysql_options(link->conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(link->conn, to.host[0] == '\0' ? NULL : to.host, to.user, to.password,
                           to.database, (unsigned)strtoul(to.port, NULL, 10),
                           to.socket[0] == '\0' ? NULL : to.socket,
                           CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS) == NULL)
        mysql_base_fail(link, -1);
    send_text(link, SETTINGS, sizeof SETTINGS - 1, -1);
    if (mysql_next_result(link->conn) != 0)
        mysql_base_fail(link, -1);
    return link;
}

static void mysql_base_close_link(hand_link *link)
{
    for (int i = 0; i < HAND_COUNT; i++)
        hf_free(link->sql[i]);
    mysql_close(link->conn);
    free(link);
}

/* ---- text ---- */

static void mysql_base_put(hand_link *link, const char *text, size_t size)
{
    if (size > TEXT_SIZE - link->size)
        bench_die("MariaDB by hand: a statement is too long");
    memcpy(link->text + link->size, text, size);
    link->size += size;
}

static void mysql_base_put_value(hand_link *link, const char *value)
{
    char plain[2 * PART_SIZE + 1];
    if (value == NULL) {
        mysql_base_put(link, "NULL", 4);
        return;
    }
    size_t size = strlen(value);
    if (size > PART_SIZE)
        bench_die("MariaDB by hand: a value is too long");
    size = mysql_real_escape_string(link->conn, plain, value, (unsigned long)size);
    mysql_base_put(link, "'", 1);
    mysql_base_put(link, plain, size);
    mysql_base_put(link, "'", 1);
}

/* Adds the statement, its parameters as literals. */
static void put_statement(hand_link *link, int which, const char *const *params, int count)
{
    if (link->sql[which] == NULL)
        link->sql[which] = sql_name(hand_mysql[which], &(sql_words){.ns = link->names});
    if (link->sql[which] == NULL)
        bench_die("out of memory");
    const char *at = link->sql[which];
    for (const char *mark; (mark = strchr(at, '$')) != NULL; at = mark + 2) {
        int number = mark[1] - '0';
        if (number < 1 || number > count)
            bench_die("MariaDB by hand: %s has a parameter too many", hand_names[which]);
        mysql_base_put(link, at, (size_t)(mark - at));
        mysql_base_put_value(link, params[number - 1]);
    }
    mysql_base_put(link, at, strlen(at));
}

/* ---- running ---- */

/* Takes the answer at hand. */
static void mysql_base_read_step(hand_link *link, hand_step *step)
{
    MYSQL_RES *result = mysql_store_result(link->conn);
    if (result == NULL && mysql_field_count(link->conn) > 0)
        mysql_base_fail(link, step->which);
    step->rows = (long)mysql_affected_rows(link->conn);
    MYSQL_ROW row = result == NULL ? NULL : mysql_fetch_row(result);
    for (unsigned i = 0; row != NULL && i < HAND_COLUMNS_MAX && i < mysql_num_fields(result); i++)
        step->column[i] = row[i] == NULL ? 0 : strtoll(row[i], NULL, 10);
    const char *last = row == NULL ? NULL : row[mysql_num_fields(result) - 1];
    if (last != NULL)
        snprintf(step->last, sizeof step->last, "%s", last);
    mysql_free_result(result);
}

static void mysql_base_fly(hand_link *link, hand_step *steps, size_t count)
{
    link->size = 0;
    for (size_t i = 0; i < count; i++) {
        mysql_base_put(link, ";", i > 0);
        put_statement(link, steps[i].which, steps[i].params, HAND_PARAMS_MAX);
    }
    send_text(link, link->text, link->size, steps[0].which);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && mysql_next_result(link->conn) != 0)
            mysql_base_fail(link, steps[i].which);
        mysql_base_read_step(link, &steps[i]);
    }
}

static double mysql_base_run(hand_link *link, int which, const char *const *params, int count)
{
    if (hand_mysql[which] == NULL)
        return 0;
    link->size = 0;
    put_statement(link, which, params, count);
    send_text(link, link->text, link->size, which);
    MYSQL_RES *result = mysql_store_result(link->conn);
    if (result == NULL && mysql_field_count(link->conn) > 0)
        mysql_base_fail(link, which);
    MYSQL_ROW row = result == NULL ? NULL : mysql_fetch_row(result);
    double number = row == NULL || row[0] == NULL ? 0 : strtod(row[0], NULL);
    mysql_free_result(result);
    return number;
}

const hand_kind hand_kind_mariadb = {
    .name = "mariadb",
    .connect = mysql_base_open_link,
    .close = mysql_base_close_link,
    .fly = mysql_base_fly,
    .run = mysql_base_run,
    .socket_key = "socket",
    .port_key = NULL,
};
