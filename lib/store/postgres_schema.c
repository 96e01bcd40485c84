/* SPDX-License-Identifier: MIT */
/* The tables in PostgreSQL: a schema of their own, made and removed in one transaction, one
 * installation at a time. What is run is what --print shows. */
#include "sql/postgres_schema.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/postgres.h"
#include "sql/postgres_grant.h"
#include "sql/postgres_install.h"
#include "sql/postgres_remove.h"
#include "sql/postgres_surface.h"
#include "store/sql_schema.h"

#include <stdio.h>
#include <string.h>

enum { ROLE_MAX = 63 }; /* the server cuts longer names */

static const schema_kind schema_of;

/* ---- looking ---- */

typedef struct sight {
    char encoding[32];
    char table[64];    /* one with a name of ours */
    char account[256]; /* who asks */
    bool any;          /* tables with names of ours */
    bool meta;         /* ... and meta looks like ours */
    bool readable;     /* ... and may be read */
    bool reserved;     /* SQL keeps the name of the schema for itself */
    char function[64]; /* one with a name of ours; "": there is none */
    int tables;        /* how many of ours are there */
} sight;

static hf_status postgres_schema_see(hf_db *db, const schema_words *words, sight *out,
                                     hf_error *err)
{
    hf_buffer text = {0};
    hf_stmt *stmt = NULL;
    bool row = false;
    schema_add(&text, postgres_install_sql[POSTGRES_INSTALL_LOOK], words);
    char *sql = hf_buffer_take(&text);
    hf_status status = sql == NULL ? hf_fail_memory(err) : hf_stmt_new(db, sql, &stmt, err);
    *out = (sight){0};
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row) {
        hf_slice_copy(out->encoding, sizeof out->encoding, hf_stmt_column_text(stmt, 0));
        out->any = hf_stmt_column_int(stmt, 1) > 0;
        hf_slice_copy(out->table, sizeof out->table, hf_stmt_column_text(stmt, 2));
        out->meta = hf_stmt_column_int(stmt, 3) == 2;
        out->readable = hf_stmt_column_int(stmt, 4) != 0;
        hf_slice_copy(out->account, sizeof out->account, hf_stmt_column_text(stmt, 5));
        out->reserved = hf_stmt_column_int(stmt, 6) != 0;
        hf_slice_copy(out->function, sizeof out->function, hf_stmt_column_text(stmt, 7));
        out->tables = (int)hf_stmt_column_int(stmt, 8);
    }
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    hf_stmt_free(stmt);
    hf_free(sql);
    return status;
}

/* Whether the tables are there, and of which form. What is not ours is refused; so is what is not
 * whole, unless `whole` is given: then it says. */
static hf_status postgres_schema_look(hf_db *db, const char *names, schema_state *state,
                                      bool *whole, hf_error *err)
{
    sight it;
    char text[32], table[128];
    schema_words words = {.names = names};
    hf_status status = postgres_schema_see(db, &words, &it, err);
    *state = SCHEMA_NONE;
    if (status != HF_OK)
        return status;
    if (it.reserved)
        return hf_fail(err, HF_INVALID,
                       "The namespace %s is a word that SQL keeps for itself; name another.",
                       names);
    if (strcmp(it.encoding, "UTF8") != 0)
        return hf_fail(
            err, HF_UNAVAILABLE,
            "Text is kept as %s in %s; holdfast compares names as UTF-8. Use a database with "
            "ENCODING 'UTF8'; nothing was changed.",
            it.encoding, hf_db_path(db));
    if (!it.any && it.function[0] == '\0')
        return HF_OK;
    if (!it.meta) {
        snprintf(table, sizeof table, "%s.%s", names, it.any ? it.table : it.function);
        return schema_refuse_foreign(db, table, err);
    }
    if (!it.readable)
        return schema_refuse_account(db, names, it.account, err);
    status =
        schema_ask(db, postgres_install_sql[POSTGRES_INSTALL_FORM], &words, text, sizeof text, err);
    if (status != HF_OK)
        return status;
    if (text[0] == '\0') { /* all is made in one transaction: this is not half of ours */
        snprintf(table, sizeof table, "%s.meta", names);
        return schema_refuse_foreign(db, table, err);
    }
    *state = schema_judge(text);
    bool all = it.tables >= SCHEMA_TABLES;
    if (whole != NULL)
        *whole = all;
    return all || whole != NULL || *state == SCHEMA_OTHER ? HF_OK
                                                          : schema_refuse_broken(db, names, err);
}

/* ---- making ---- */

static void postgres_schema_add_frame(hf_buffer *out, int which, const schema_words *words)
{
    schema_add(out, postgres_install_sql[which], words);
    hf_buffer_print(out, which == POSTGRES_INSTALL_TABLES_BEGIN ? "\n" : ";\n\n");
}

/* All that installing runs between BEGIN and COMMIT, after the lock that makes it alone. It looks
 * for itself what is there. */
static void postgres_schema_add_script(hf_buffer *out, const char *names, const char *role)
{
    schema_words words = {.names = names, .role = role};
    postgres_schema_add_frame(out, POSTGRES_INSTALL_SCHEMA, &words);
    postgres_schema_add_frame(out, POSTGRES_INSTALL_TABLES_BEGIN, &words);
    schema_add(out, postgres_schema_sql, &words);
    postgres_schema_add_frame(out, POSTGRES_INSTALL_TABLES_END, &words);
    schema_add(out, postgres_surface_sql, &words);
    if (role != NULL) {
        hf_buffer_print(out, "\n");
        schema_add(out, postgres_grant_sql, &words);
    }
}

/* Commits, or rolls back what failed. */
static hf_status postgres_schema_end(hf_db *db, hf_status status, hf_error *err)
{
    hf_failure failure = hf_db_failure(db);
    if (status == HF_OK)
        return hf_db_commit(db, err);
    (void)hf_db_rollback(db, NULL);
    return failure == HF_FAILURE_CONFLICT ? HF_RETRY : status;
}

static hf_status postgres_schema_begin(hf_db *db, hf_error *err)
{
    hf_status status = hf_db_begin(db, HF_READ_COMMITTED, false, err);
    return status != HF_OK ? status
                           : hf_db_run(db, postgres_install_sql[POSTGRES_INSTALL_BEGIN], err);
}

static hf_status postgres_schema_make_all(hf_db *db, const char *names, const char *role,
                                          hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state;
    hf_buffer text = {0};
    hf_status status = postgres_schema_look(db, names, &state, NULL, err);
    if (status == HF_OK && state == SCHEMA_OTHER)
        status = schema_refuse_form(schema_place(db, names, where), err);
    if (status != HF_OK)
        return status;
    postgres_schema_add_script(&text, names, role);
    hf_buffer_add(&text, "", 0);
    char *sql = hf_buffer_take(&text);
    status = sql == NULL ? hf_fail_memory(err) : hf_db_run(db, sql, err);
    hf_free(sql);
    return schema_failed(db, names, status, false, err);
}

static hf_status postgres_schema_make(hf_db *db, const char *names, const char *role, hf_error *err)
{
    hf_status status = postgres_schema_begin(db, err);
    if (status == HF_OK)
        status = postgres_schema_make_all(db, names, role, err);
    return postgres_schema_end(db, status, err);
}

hf_status postgres_schema_ready(hf_db *db, const char *names, bool may_install, hf_error *err)
{
    schema_state state;
    bool whole; /* if not, the statements name what is missing */
    hf_status status = postgres_schema_look(db, names, &state, &whole, err);
    return status == HF_OK ? schema_ready(&schema_of, db, names, state, may_install, err) : status;
}

/* ---- removing ---- */

static hf_status postgres_schema_take_away(hf_db *db, const char *names, bool force, hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state;
    bool whole = true;
    char live[32] = "0";
    schema_words words = {.names = names};
    hf_status status = postgres_schema_look(db, names, &state, &whole, err);
    if (status == HF_OK && state == SCHEMA_NONE)
        return schema_refuse_none(db, names, err);
    if (status == HF_OK && state == SCHEMA_OTHER && !force)
        return schema_refuse_unknown(schema_place(db, names, where), err);
    if (status == HF_OK && !whole && !force)
        return schema_refuse_broken(db, names, err);
    if (status == HF_OK && whole)
        status = schema_run(db, postgres_install_sql[POSTGRES_INSTALL_HOLD], &words, err);
    if (status == HF_OK)
        status = schema_refuse_guarded(db, postgres_install_sql[POSTGRES_INSTALL_GUARDS_THERE],
                                       postgres_install_sql[POSTGRES_INSTALL_GUARDED], &words, err);
    if (status == HF_OK && !force)
        status = schema_ask(db, postgres_install_sql[POSTGRES_INSTALL_LIVE], &words, live,
                            sizeof live, err);
    if (status == HF_OK && strcmp(live, "0") != 0)
        return schema_refuse_live(db, live, err);
    if (status == HF_OK)
        status = schema_run(db, postgres_remove_sql, &words, err);
    return schema_failed(db, names, status, true, err);
}

static hf_status postgres_schema_uninstall(hf_db *db, const char *names, bool force, hf_error *err)
{
    hf_status status = postgres_schema_begin(db, err);
    if (status == HF_OK)
        status = postgres_schema_take_away(db, names, force, err);
    return postgres_schema_end(db, status, err);
}

/* ---- ordering ---- */

/* "name", with quotes in it doubled. */
static hf_status postgres_schema_quote_role(const char *role, char **out, hf_error *err)
{
    hf_buffer text = {0};
    hf_status status = schema_check_role(role, err);
    if (status == HF_OK && strlen(role) > ROLE_MAX)
        status = hf_fail(err, HF_INVALID, "The name of a role has at most %d bytes.", ROLE_MAX);
    if (status != HF_OK)
        return status;
    hf_buffer_add(&text, "\"", 1);
    for (const char *at = role; *at != '\0'; at++)
        hf_buffer_add(&text, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
    hf_buffer_add(&text, "\"", 1);
    *out = hf_buffer_take(&text);
    return *out == NULL ? hf_fail_memory(err) : HF_OK;
}

static hf_status postgres_schema_print(const hf_install_order *order, const char *names,
                                       const char *role, hf_error *err)
{
    hf_buffer text = {0};
    schema_words words = {.names = names};
    hf_buffer_print(
        &text,
        "-- holdfast in PostgreSQL, schema %s. Run it in a database in UTF-8, as the account that "
        "is to own it:\n--   psql -v ON_ERROR_STOP=1 -f FILE DATABASE\n",
        names);
    hf_buffer_print(&text, order->remove ? "-- It removes everything, live locks too.\n"
                                         : "-- It can be run again: what is there stays.\n");
    hf_buffer_print(&text, "BEGIN;\n");
    postgres_schema_add_frame(&text, POSTGRES_INSTALL_BEGIN, &words);
    if (order->remove)
        schema_add(&text, postgres_remove_sql, &words);
    else
        postgres_schema_add_script(&text, names, role);
    hf_buffer_print(&text, "COMMIT;\n");
    return schema_print(order, &text, err);
}

static const schema_kind schema_of = {
    .scheme = "postgres",
    .driver = &hf_db_postgres,
    .quote_role = postgres_schema_quote_role,
    .print = postgres_schema_print,
    .make = postgres_schema_make,
    .uninstall = postgres_schema_uninstall,
};

hf_status postgres_install(const char *rest, const hf_install_order *order, hf_error *err)
{
    return schema_install(&schema_of, rest, order, err);
}
