/* SPDX-License-Identifier: MIT */
/* The tables in PostgreSQL: a schema of their own, made, upgraded and removed in one transaction,
 * one installation at a time. What is run is what --print shows. */
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

static const char *const steps[] = {postgres_schema_1};
static const schema_kind schema_of;
static const sql_schema schema = {steps, sizeof steps / sizeof steps[0]};

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

/* The version of the tables; 0: there are none. What is not ours, or much newer, is refused; so is
 * what is not whole, unless `whole` is given: then it says. */
static hf_status postgres_schema_look(hf_db *db, const char *names, const sql_schema *to,
                                      int *version, bool *whole, hf_error *err)
{
    sight it;
    char text[32], table[128];
    schema_words words = {.names = names};
    hf_status status = postgres_schema_see(db, &words, &it, err);
    *version = 0;
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
    status = schema_ask(db, postgres_install_sql[POSTGRES_INSTALL_VERSION], &words, text,
                        sizeof text, err);
    if (status != HF_OK)
        return status;
    snprintf(table, sizeof table, "%s.meta", names);
    if (!schema_version(text, version))
        return schema_refuse_version(db, table, err);
    if (*version > to->count + 1)
        return schema_refuse_newer(db, *version, to->count + 1, err);
    bool all = it.tables >= SCHEMA_TABLES;
    if (whole != NULL)
        *whole = all;
    return all || whole != NULL ? HF_OK : schema_refuse_broken(db, names, err);
}

/* ---- making ---- */

static void postgres_schema_add_frame(hf_buffer *out, int which, const schema_words *words)
{
    schema_add(out, postgres_install_sql[which], words);
    hf_buffer_print(out,
                    which == POSTGRES_INSTALL_STEP_FIRST || which == POSTGRES_INSTALL_STEP_BEGIN
                        ? "\n"
                        : ";\n\n");
}

/* All that installing runs between BEGIN and COMMIT, after the lock that makes it alone. Each step
 * looks for itself whether it is still to be taken. */
static void postgres_schema_add_script(hf_buffer *out, const char *names, const sql_schema *to,
                                       const char *role, bool surface)
{
    schema_words words = {.names = names, .role = role};
    if (surface)
        postgres_schema_add_frame(out, POSTGRES_INSTALL_SCHEMA, &words);
    for (int i = 0; surface && i < to->count; i++) {
        words.version = i + 1;
        postgres_schema_add_frame(
            out, i == 0 ? POSTGRES_INSTALL_STEP_FIRST : POSTGRES_INSTALL_STEP_BEGIN, &words);
        schema_add(out, to->steps[i], &words);
        postgres_schema_add_frame(out, POSTGRES_INSTALL_STEP_END, &words);
    }
    if (surface)
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

/* The tables of a program that is one version ahead are left alone, with their surface. */
static hf_status postgres_schema_make(hf_db *db, const char *names, const sql_schema *to,
                                      const char *role, hf_error *err)
{
    int version;
    hf_buffer text = {0};
    hf_status status = postgres_schema_look(db, names, to, &version, NULL, err);
    if (status != HF_OK)
        return status;
    postgres_schema_add_script(&text, names, to, role, version <= to->count);
    hf_buffer_add(&text, "", 0);
    char *sql = hf_buffer_take(&text);
    status = sql == NULL ? hf_fail_memory(err) : hf_db_run(db, sql, err);
    hf_free(sql);
    return schema_failed(db, names, status, false, err);
}

static hf_status postgres_schema_upgrade(hf_db *db, const char *names, const sql_schema *to,
                                         const char *role, hf_error *err)
{
    hf_status status = postgres_schema_begin(db, err);
    if (status == HF_OK)
        status = postgres_schema_make(db, names, to, role, err);
    return postgres_schema_end(db, status, err);
}

hf_status postgres_schema_ready(hf_db *db, const char *names, bool may_install, hf_error *err)
{
    int version;
    bool whole; /* if not, the statements name what is missing */
    hf_status status = postgres_schema_look(db, names, &schema, &version, &whole, err);
    if (status != HF_OK || version >= schema.count)
        return status;
    return schema_upgrade_or_refuse(&schema_of, db, names, version, may_install, err);
}

/* ---- removing ---- */

static hf_status postgres_schema_take_away(hf_db *db, const char *names, bool force, hf_error *err)
{
    int version;
    bool whole = true;
    char live[32] = "0";
    schema_words words = {.names = names};
    hf_status status = postgres_schema_look(db, names, &schema, &version, &whole, err);
    if (status == HF_OK && version == 0)
        return schema_refuse_none(db, names, err);
    if (status == HF_OK && version > schema.count)
        return schema_refuse_newer(db, version, schema.count, err);
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
        postgres_schema_add_script(&text, names, &schema, role, true);
    hf_buffer_print(&text, "COMMIT;\n");
    return schema_print(order, &text, err);
}

static const schema_kind schema_of = {
    .scheme = "postgres",
    .driver = &hf_db_postgres,
    .schema = &schema,
    .quote_role = postgres_schema_quote_role,
    .print = postgres_schema_print,
    .upgrade = postgres_schema_upgrade,
    .uninstall = postgres_schema_uninstall,
};

hf_status postgres_install(const char *rest, const hf_install_order *order, hf_error *err)
{
    return schema_install(&schema_of, rest, order, err);
}
