/* SPDX-License-Identifier: MIT */
/* The tables in MariaDB and MySQL: names with a prefix. A change of shape commits by itself there,
 * so installing goes statement by statement, one installation at a time, and writes the fingerprint
 * last: one that was interrupted is completed by the next. The comment of a table tells ours from
 * others'. */
#include "sql/mysql_schema.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/mysql.h"
#include "sql/mysql_grant.h"
#include "sql/mysql_install.h"
#include "sql/mysql_remove.h"
#include "sql/mysql_surface.h"
#include "store/sql_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const schema_kind schema_of;

/* ---- looking ---- */

/* One thing with a name of ours: is it? A view that this account can't look into is, beside tables
 * that are. */
static hf_status mysql_schema_look_at(hf_db *db, const char *names, hf_stmt *stmt, bool beside,
                                      hf_error *err)
{
    char name[128], kind[32], comment[64];
    const char *wanted = "BASE TABLE";
    hf_slice_copy(name, sizeof name, hf_stmt_column_text(stmt, 0));
    hf_slice_copy(kind, sizeof kind, hf_stmt_column_text(stmt, 1));
    hf_slice_copy(comment, sizeof comment, hf_stmt_column_text(stmt, 2));
    if (strcmp(kind, "PROCEDURE") == 0 || strcmp(kind, "FUNCTION") == 0)
        wanted = "PROCEDURE"; /* a table may have the same name */
    else if (strcmp(name + strlen(names), "_locks") == 0 ||
             strcmp(name + strlen(names), "_versions") == 0)
        wanted = "VIEW";
    bool hidden = beside && strcmp(comment, "?") == 0;
    bool ours = strcmp(kind, wanted) == 0 && (hidden || strncmp(comment, "holdfast", 8) == 0);
    return ours ? HF_OK : schema_refuse_foreign(db, name, err);
}

/* How much there is with names of ours, all of it ours. */
static hf_status mysql_schema_look_around(hf_db *db, const char *names, int *found, hf_error *err)
{
    hf_buffer text = {0};
    hf_stmt *stmt = NULL;
    bool row = true;
    *found = 0;
    schema_add(&text, mysql_install_sql[MYSQL_INSTALL_LOOK], &(schema_words){.names = names});
    char *sql = hf_buffer_take(&text);
    hf_status status = sql == NULL ? hf_fail_memory(err) : hf_stmt_new(db, sql, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        status = mysql_schema_look_at(db, names, stmt, *found > 0, err);
        *found += 1;
    }
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    hf_stmt_free(stmt);
    hf_free(sql);
    return status;
}

static hf_status mysql_schema_refuse_account(hf_db *db, const char *names, hf_error *err)
{
    char account[256] = "";
    hf_status status =
        hf_db_ask(db, mysql_install_sql[MYSQL_INSTALL_WHO], account, sizeof account, err);
    return status != HF_OK ? status : schema_refuse_account(db, names, account, err);
}

/* Whether the tables are there, and of which form. None: or some were made and the work was not
 * completed (found). What is not ours is refused; so is what can't be read, but a meta that is not
 * ours is that first. */
static hf_status mysql_schema_look(hf_db *db, const char *names, schema_state *state, int *found,
                                   hf_error *err)
{
    char text[64];
    hf_error why = {0};
    hf_status status = schema_ask(db, mysql_install_sql[MYSQL_INSTALL_FORM],
                                  &(schema_words){.names = names}, text, sizeof text, &why);
    hf_failure failure = hf_db_failure(db);
    *state = SCHEMA_NONE;
    *found = 0;
    if (status == HF_OK && text[0] != '\0') {
        *found = 1;
        *state = schema_judge(text);
        return HF_OK;
    }
    if (status != HF_OK && failure == HF_FAILURE_DENIED && hf_db_alive(db))
        return mysql_schema_refuse_account(db, names, err);
    bool missing = status != HF_OK && failure == HF_FAILURE_MISSING;
    bool strange = status == HF_INTERNAL && failure == HF_FAILURE_OTHER;
    if (status != HF_OK && !missing && !strange)
        return hf_fail(err, status, "%s", why.message);
    status = mysql_schema_look_around(db, names, found, err);
    if (status == HF_OK && strange)
        return hf_fail(err, why.status, "%s", why.message);
    return status;
}

/* Before something is made or removed: beside our tables, too, there may be something else by a
 * name of ours. */
static hf_status mysql_schema_look_closely(hf_db *db, const char *names, schema_state *state,
                                           int *found, hf_error *err)
{
    hf_status status = mysql_schema_look(db, names, state, found, err);
    return status == HF_OK && *state != SCHEMA_NONE
               ? mysql_schema_look_around(db, names, found, err)
               : status;
}

/* Is the table there, and is there a row in it? What information_schema does not show may be there.
 * */
static hf_status mysql_schema_look_into(hf_db *db, const char *names, const char *table,
                                        bool *there, bool *row, hf_error *err)
{
    char name[64], text[32];
    hf_error why = {0};
    snprintf(name, sizeof name, "%s_%s", names, table);
    hf_status status = schema_ask(db, mysql_install_sql[MYSQL_INSTALL_ROW],
                                  &(schema_words){.names = name}, text, sizeof text, &why);
    *there = status == HF_OK;
    *row = status == HF_OK && text[0] != '\0';
    bool missing = status != HF_OK && hf_db_failure(db) == HF_FAILURE_MISSING;
    return status == HF_OK || missing ? HF_OK : hf_fail(err, status, "%s", why.message);
}

/* With a fingerprint all tables have been there. Without one no store has been opened on them, and
 * there are rows in meta alone. */
static hf_status mysql_schema_look_whether_whole(hf_db *db, const char *names, schema_state state,
                                                 bool *whole, hf_error *err)
{
    static const char *const tables[SCHEMA_TABLES] = {
        "meta", "type", "session", "resource", "lock", "request", "lost", "event", "token", "save"};
    hf_status status = HF_OK;
    *whole = true;
    for (int i = 0; status == HF_OK && i < SCHEMA_TABLES; i++) {
        bool there, row;
        status = mysql_schema_look_into(db, names, tables[i], &there, &row, err);
        *whole = *whole && (state != SCHEMA_NONE ? there : i == 0 || !row);
    }
    return status;
}

/* ---- running ---- */

/* The next statement of a text as the client program reads it: it ends where a line ends with the
 * delimiter, which a line "DELIMITER xx" changes. NULL at the end. */
static char *mysql_schema_next_statement(const char **at, char delimiter[8])
{
    hf_buffer out = {0};
    while (**at != '\0') {
        size_t size = strcspn(*at, "\n"), marks = strlen(delimiter);
        const char *line = *at;
        *at += size + (line[size] == '\n');
        if (strncmp(line, "DELIMITER ", 10) == 0) {
            snprintf(delimiter, 8, "%.*s", (int)(size - 10), line + 10);
            continue;
        }
        if (out.size == 0 && (size == 0 || strncmp(line, "--", 2) == 0))
            continue;
        bool last = size >= marks && memcmp(line + size - marks, delimiter, marks) == 0;
        hf_buffer_add(&out, line, last ? size - marks : size);
        if (last)
            break;
        hf_buffer_add(&out, "\n", 1);
    }
    return hf_buffer_take(&out);
}

/* `but`: statements that begin so are passed over; NULL: none. `only`: the others are; NULL: none.
 * */
static hf_status mysql_schema_run_text_some(hf_db *db, const char *sql, const schema_words *words,
                                            const char *but, const char *only, hf_error *err)
{
    hf_buffer text = {0};
    char delimiter[8] = ";";
    schema_add(&text, sql, words);
    char *filled = hf_buffer_take(&text);
    hf_status status = filled == NULL ? hf_fail_memory(err) : HF_OK;
    const char *at = filled;
    while (status == HF_OK && *at != '\0') {
        char *statement = mysql_schema_next_statement(&at, delimiter);
        if (statement != NULL && (but == NULL || strncmp(statement, but, strlen(but)) != 0) &&
            (only == NULL || strncmp(statement, only, strlen(only)) == 0))
            status = hf_db_run(db, statement, err);
        hf_free(statement);
    }
    hf_free(filled);
    return status;
}

static hf_status mysql_schema_run_text(hf_db *db, const char *sql, const schema_words *words,
                                       hf_error *err)
{
    return mysql_schema_run_text_some(db, sql, words, NULL, NULL, err);
}

/* One installation at a time. */
static hf_status mysql_schema_own(hf_db *db, const char *names, hf_error *err)
{
    char answer[32];
    hf_status status = hf_db_run(db, mysql_install_sql[MYSQL_INSTALL_BEGIN], err);
    if (status == HF_OK)
        status = schema_ask(db, mysql_install_sql[MYSQL_INSTALL_OWN],
                            &(schema_words){.names = names}, answer, sizeof answer, err);
    if (status == HF_OK && strcmp(answer, "1") != 0)
        status =
            hf_fail(err, HF_BUSY, "Someone else is installing into %s; try again.", hf_db_path(db));
    return status;
}

static hf_status mysql_schema_disown(hf_db *db, const char *names, hf_status status)
{
    char answer[32];
    if (!hf_db_alive(db))
        return status;
    (void)schema_ask(db, mysql_install_sql[MYSQL_INSTALL_DISOWN], &(schema_words){.names = names},
                     answer, sizeof answer, NULL);
    (void)hf_db_run(db, mysql_install_sql[MYSQL_INSTALL_END], NULL);
    return status;
}

/* ---- making ---- */

/* Tells one text of the surface from another. */
static hf_status mysql_schema_digest_surface(char out[17], hf_error *err)
{
    unsigned char digest[32];
    if (!hf_sha256(mysql_surface_sql, sizeof mysql_surface_sql - 1, digest))
        return hf_fail_memory(err);
    hf_hex(digest, 8, out);
    return HF_OK;
}

/* Grants on a procedure go when it is dropped. MariaDB replaces them without; on MySQL they are
 * left alone when all are the same, and this account's, and only the views are made anew. */
static hf_status mysql_schema_make_surface(hf_db *db, const schema_words *words, hf_error *err)
{
    char there[64], wanted[64];
    snprintf(wanted, sizeof wanted, "holdfast %s", words->digest);
    if (hf_db_kind_of(db) == HF_DB_MARIADB)
        return mysql_schema_run_text_some(db, mysql_surface_sql, words, "DROP PROCEDURE", NULL,
                                          err);
    hf_status status = schema_ask(db, mysql_install_sql[MYSQL_INSTALL_SURFACE_VERSION], words,
                                  there, sizeof there, err);
    bool same = strcmp(there, wanted) == 0;
    return status != HF_OK ? status
                           : mysql_schema_run_text_some(
                                 db, mysql_surface_sql, words, NULL,
                                 same ? "CREATE OR REPLACE SQL SECURITY DEFINER VIEW" : NULL, err);
}

/* What was made before stays when this fails. */
static hf_status mysql_schema_allow(hf_db *db, const schema_words *words, hf_error *err)
{
    hf_error why = {0};
    hf_status status = mysql_schema_run_text(db, mysql_grant_sql, words, &why);
    return status == HF_OK
               ? HF_OK
               : hf_fail(err, HF_UNAVAILABLE,
                         "The tables are there, but %s could not be allowed to use them; create "
                         "the account first, and run this as one that may grant. (%.600s)",
                         words->role, why.message);
}

/* What was made before a failure goes again, if nothing was there before. */
static void mysql_schema_clear_away(hf_db *db, const schema_words *words)
{
    if (hf_db_alive(db))
        (void)mysql_schema_run_text(db, mysql_remove_sql, words, NULL);
}

static hf_status mysql_schema_make_all(hf_db *db, const char *names, const char *role,
                                       hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state;
    int found;
    char digest[17];
    schema_words words = {.names = names, .role = role, .digest = digest};
    bool whole = true;
    hf_status status = mysql_schema_look_closely(db, names, &state, &found, err);
    if (status == HF_OK && state == SCHEMA_OTHER)
        return schema_refuse_form(schema_place(db, names, where), err);
    if (status == HF_OK)
        status = mysql_schema_look_whether_whole(db, names, state, &whole, err);
    if (status == HF_OK && !whole)
        return schema_refuse_broken(db, names, err);
    if (status == HF_OK)
        status = mysql_schema_digest_surface(digest, err);
    bool looked = status == HF_OK;
    /* An installation that was not completed may have been another version's; it has no rows. */
    if (status == HF_OK && state == SCHEMA_NONE && found > 0)
        status = mysql_schema_run_text(db, mysql_remove_sql, &words, err);
    if (status == HF_OK && state == SCHEMA_NONE)
        status = mysql_schema_run_text(db, mysql_schema_sql, &words, err);
    if (status == HF_OK)
        status = mysql_schema_make_surface(db, &words, err);
    if (status == HF_OK && state == SCHEMA_NONE)
        status = schema_run(db, mysql_install_sql[MYSQL_INSTALL_COMPLETE], &words, err);
    if (status == HF_OK && role != NULL)
        return mysql_schema_allow(db, &words, err);
    status = schema_failed(db, names, status, false, err);
    if (status != HF_OK && looked && found == 0)
        mysql_schema_clear_away(db, &words);
    return status;
}

/* A server that is told to take SYSDATE for NOW lets every session move the time by SET timestamp.
 */
static hf_status mysql_schema_refuse_clock(hf_db *db, hf_error *err)
{
    char same[8] = "";
    hf_status status =
        hf_db_ask(db, mysql_install_sql[MYSQL_INSTALL_CLOCK], same, sizeof same, err);
    if (status == HF_OK && strcmp(same, "1") == 0)
        status = hf_fail(err, HF_UNAVAILABLE,
                         "%s was started with sysdate-is-now, so that every session may set the "
                         "time of locks; start it without.",
                         hf_db_path(db));
    return status;
}

static hf_status mysql_schema_make(hf_db *db, const char *names, const char *role, hf_error *err)
{
    hf_status status = mysql_schema_refuse_clock(db, err);
    if (status != HF_OK)
        return status;
    status = mysql_schema_own(db, names, err);
    if (status == HF_OK)
        status = mysql_schema_make_all(db, names, role, err);
    return mysql_schema_disown(db, names, status);
}

hf_status mysql_schema_ready(hf_db *db, const char *names, bool may_install, hf_error *err)
{
    schema_state state;
    int found;
    hf_status status = mysql_schema_refuse_clock(db, err);
    if (status != HF_OK)
        return status;
    status = mysql_schema_look(db, names, &state, &found, err);
    /* A table that someone is just making can look like a stranger's: it is judged again when
     * nobody installs. */
    if (status == HF_UNAVAILABLE && may_install && hf_db_alive(db))
        return mysql_schema_make(db, names, NULL, err);
    return status == HF_OK ? schema_ready(&schema_of, db, names, state, may_install, err) : status;
}

/* ---- removing ---- */

static hf_status mysql_schema_check_unused(hf_db *db, const schema_words *words, bool force,
                                           hf_error *err)
{
    char live[32] = "0";
    hf_status status = schema_run(db, mysql_install_sql[MYSQL_INSTALL_HOLD], words, err);
    if (status == HF_OK && !force)
        status =
            schema_ask(db, mysql_install_sql[MYSQL_INSTALL_LIVE], words, live, sizeof live, err);
    if (status == HF_OK && strcmp(live, "0") != 0)
        status = schema_refuse_live(db, live, err);
    return status;
}

static hf_status mysql_schema_take_away(hf_db *db, const char *names, bool force, hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state;
    int found;
    schema_words words = {.names = names};
    bool whole = true;
    hf_status status = mysql_schema_look_closely(db, names, &state, &found, err);
    if (status == HF_OK && found == 0)
        return schema_refuse_none(db, names, err);
    if (status == HF_OK && state == SCHEMA_OTHER && !force)
        return schema_refuse_unknown(schema_place(db, names, where), err);
    if (status == HF_OK)
        status = mysql_schema_look_whether_whole(db, names, state, &whole, err);
    if (status == HF_OK && !whole && !force)
        return schema_refuse_broken(db, names, err);
    if (status == HF_OK)
        status = schema_refuse_guarded(db, mysql_install_sql[MYSQL_INSTALL_GUARDS_THERE],
                                       mysql_install_sql[MYSQL_INSTALL_GUARDED], &words, err);
    if (status == HF_OK && state != SCHEMA_NONE && whole)
        status = mysql_schema_check_unused(db, &words, force, err);
    if (status == HF_OK)
        status = mysql_schema_run_text(db, mysql_remove_sql, &words, err);
    if (status != HF_OK && hf_db_alive(db)) {
        hf_failure failure = hf_db_failure(db);
        (void)hf_db_run(db, "UNLOCK TABLES", NULL);
        if (failure != HF_FAILURE_DENIED)
            return status;
    }
    return schema_failed(db, names, status, true, err);
}

static hf_status mysql_schema_uninstall(hf_db *db, const char *names, bool force, hf_error *err)
{
    hf_status status = mysql_schema_own(db, names, err);
    if (status == HF_OK)
        status = mysql_schema_take_away(db, names, force, err);
    return mysql_schema_disown(db, names, status);
}

/* ---- ordering ---- */

static void mysql_schema_add_quoted(hf_buffer *out, const char *text, size_t size)
{
    hf_buffer_add(out, "'", 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\'' || text[i] == '\\')
            hf_buffer_add(out, "\\", 1);
        hf_buffer_add(out, text + i, 1);
    }
    hf_buffer_add(out, "'", 1);
}

/* "user" or "user@host" as 'user'@'host'. Without a host it is user@'%', or a role of MariaDB's. */
static hf_status mysql_schema_quote_role(const char *role, char **out, hf_error *err)
{
    hf_buffer text = {0};
    hf_status status = schema_check_role(role, err);
    if (status != HF_OK)
        return status;
    const char *at = strrchr(role, '@');
    mysql_schema_add_quoted(&text, role, at == NULL ? strlen(role) : (size_t)(at - role));
    if (at != NULL) {
        hf_buffer_add(&text, "@", 1);
        mysql_schema_add_quoted(&text, at + 1, strlen(at + 1));
    }
    *out = hf_buffer_take(&text);
    return *out == NULL ? hf_fail_memory(err) : HF_OK;
}

static void mysql_schema_add_script(hf_buffer *out, const char *names, const char *role,
                                    const char *digest)
{
    schema_words words = {.names = names, .role = role, .digest = digest};
    schema_add(out, mysql_schema_sql, &words);
    hf_buffer_print(out,
                    "\n-- This fails if the tables were made by another version of holdfast.\n");
    schema_add(out, mysql_install_sql[MYSQL_INSTALL_SAME_FORM], &words);
    hf_buffer_print(out, ";\n\n");
    schema_add(out, mysql_surface_sql, &words);
    hf_buffer_print(out, "\n-- Last of all: now it is complete.\n");
    schema_add(out, mysql_install_sql[MYSQL_INSTALL_COMPLETE], &words);
    hf_buffer_print(out, ";\n");
    if (role != NULL) {
        hf_buffer_print(out, "\n");
        schema_add(out, mysql_grant_sql, &words);
    }
}

static hf_status mysql_schema_print(const hf_install_order *order, const char *names,
                                    const char *role, hf_error *err)
{
    hf_buffer text = {0};
    char digest[17];
    hf_status status = mysql_schema_digest_surface(digest, err);
    if (status != HF_OK)
        return status;
    hf_buffer_print(&text,
                    "-- holdfast in MariaDB or MySQL, tables %s_... . Run it in their database:\n"
                    "--   mariadb DATABASE < FILE\n",
                    names);
    hf_buffer_print(
        &text,
        order->remove
            ? "-- It removes everything, live locks too.\n"
            : "-- It can be run again: what is there stays, but holdfast's procedure is made anew, "
              "and who may call it is forgotten:\n-- name the account with --role. It does not "
              "look whether what is there is holdfast's, as 'holdfast install URL' does.\n"
              "-- Changes of shape can't be undone by a transaction here.\n");
    hf_buffer_print(&text, "%s;\n\n", mysql_install_sql[MYSQL_INSTALL_BEGIN]);
    if (order->remove)
        schema_add(&text, mysql_remove_sql, &(schema_words){.names = names});
    else
        mysql_schema_add_script(&text, names, role, digest);
    return schema_print(order, &text, err);
}

static const schema_kind schema_of = {
    .scheme = "mysql",
    .driver = &hf_db_mysql,
    .quote_role = mysql_schema_quote_role,
    .print = mysql_schema_print,
    .make = mysql_schema_make,
    .uninstall = mysql_schema_uninstall,
};

hf_status mysql_install(const char *rest, const hf_install_order *order, hf_error *err)
{
    return schema_install(&schema_of, rest, order, err);
}
