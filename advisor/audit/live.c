/* SPDX-License-Identifier: MIT */
/* A live database: what it declares, what it executed, who sits idle with locks. Nothing is
 * written. What may not be looked at is noted, and the rest goes on. */
#include "audit/audit.h"
#include "base/error.h"
#include "db/open.h"
#include "templates/look.h"

#include <stdio.h>

extern const audit_rule audit_rule_idle_in_transaction;

typedef struct live_look {
    audit_run *run;
    hf_db *db;
    int64_t idle_us;
    audit_key key; /* being put together: its table, name, columns */
    hf_slice key_table, key_name;
} live_look;

typedef void (*live_row_fn)(live_look *look, hf_stmt *stmt);

static const char *live_sql(const hf_db *db, enum look_id id)
{
    switch (hf_db_kind_of(db)) {
    case HF_DB_POSTGRES:
        return look_postgres[id];
    case HF_DB_SQLITE:
        return look_sqlite[id];
    default:
        return look_mysql[id];
    }
}

/* Calls `each` for every row. HF_OK also when this database has no such statement. */
static hf_status live_ask(live_look *look, enum look_id id, live_row_fn each, hf_error *err)
{
    const char *sql = live_sql(look->db, id);
    hf_stmt *stmt = NULL;
    bool row = true;
    if (sql == NULL)
        return HF_OK;
    hf_status status = hf_stmt_new(look->db, sql, &stmt, err);
    if (status == HF_OK && id == LOOK_IDLE)
        hf_stmt_int(stmt, 1, look->idle_us / 1000000);
    while (status == HF_OK && row) {
        status = hf_stmt_step(stmt, &row, err);
        if (status == HF_OK && row)
            each(look, stmt);
    }
    hf_stmt_free(stmt);
    return status;
}

static const audit_place live_place = {AUDIT_NO_FILE, 1};

static hf_slice live_keep(live_look *look, hf_slice text)
{
    hf_slice copy = HF_NOTHING;
    if (!hf_arena_copy(&look->run->arena, text, &copy))
        look->run->failed = true;
    return copy;
}

static audit_table *live_table(live_look *look, hf_slice name)
{
    audit_table *table = audit_schema_table(&look->run->schema, name, live_place);
    if (table != NULL)
        table->whole = true;
    return table;
}

/* ---- what it declares ---- */

static void live_column(live_look *look, hf_stmt *stmt)
{
    if (hf_db_kind_of(look->db) == HF_DB_SQLITE) {
        sql_tokens tokens;
        if (audit_sql_scan(&look->run->arena, live_keep(look, hf_stmt_column_text(stmt, 0)),
                           &tokens))
            audit_schema_apply(&look->run->schema, &tokens, live_place, false);
        return;
    }
    audit_table *table = live_table(look, hf_stmt_column_text(stmt, 0));
    if (table != NULL)
        audit_schema_column(&look->run->schema, table, hf_stmt_column_text(stmt, 1),
                            hf_stmt_column_text(stmt, 2), live_place);
}

static void live_end_key(live_look *look)
{
    audit_table *table = audit_schema_find(&look->run->schema, look->key_table);
    if (table != NULL && look->key.count > 0)
        audit_schema_key(&look->run->schema, table, &look->key);
    look->key = (audit_key){0};
}

static void live_key(live_look *look, hf_stmt *stmt)
{
    hf_slice table = hf_stmt_column_text(stmt, 0), name = hf_stmt_column_text(stmt, 1);
    if (!hf_slice_equal(table, look->key_table) || !hf_slice_equal(name, look->key_name)) {
        live_end_key(look);
        look->key_table = live_keep(look, table);
        look->key_name = live_keep(look, name);
    }
    if (look->key.count < AUDIT_KEY_MAX)
        look->key.columns[look->key.count++] = live_keep(look, hf_stmt_column_text(stmt, 2));
}

static void live_reference(live_look *look, hf_stmt *stmt)
{
    audit_table *table = audit_schema_find(&look->run->schema, hf_stmt_column_text(stmt, 0));
    if (table != NULL)
        audit_schema_reference(&look->run->schema, table, hf_stmt_column_text(stmt, 1),
                               hf_stmt_column_text(stmt, 2), hf_stmt_column_int(stmt, 3) != 0);
}

static void live_guard(live_look *look, hf_stmt *stmt)
{
    audit_table *table = audit_schema_find(&look->run->schema, hf_stmt_column_text(stmt, 0));
    if (table != NULL)
        table->guarded = true;
}

static hf_status live_declared(live_look *look, hf_error *err)
{
    hf_status status = live_ask(look, LOOK_COLUMNS, live_column, err);
    if (status == HF_OK)
        status = live_ask(look, LOOK_KEYS, live_key, err);
    live_end_key(look);
    if (status == HF_OK)
        status = live_ask(look, LOOK_REFERENCES, live_reference, err);
    if (status == HF_OK)
        status = live_ask(look, LOOK_GUARDS, live_guard, err);
    return status;
}

/* ---- what it executed ---- */

/* Each statement is told to be in a line of its own, of no file. */
static void live_statement(live_look *look, hf_stmt *stmt)
{
    char seen[300];
    audit_fact *fact = hf_arena_alloc(&look->run->arena, sizeof *fact);
    if (fact == NULL) {
        look->run->failed = true;
        return;
    }
    *fact = (audit_fact){.kind = AUDIT_SQL,
                         .file = AUDIT_NO_FILE,
                         .flags = AUDIT_MEASURED,
                         .line = (uint32_t)look->run->statements_count + 1,
                         .text = {live_keep(look, hf_stmt_column_text(stmt, 0))}};
    int shown = fact->text[0].size < 200 ? (int)fact->text[0].size : 200;
    snprintf(seen, sizeof seen, "executed %lld times: %.*s", (long long)hf_stmt_column_int(stmt, 1),
             shown, fact->text[0].at);
    audit_add_sql(look->run, fact, hf_arena_text(&look->run->arena, hf_slice_of(seen)));
}

static void live_executed(live_look *look)
{
    hf_error why;
    bool postgres = hf_db_kind_of(look->db) == HF_DB_POSTGRES;
    if (hf_db_kind_of(look->db) == HF_DB_SQLITE)
        return;
    size_t before = look->run->statements_count;
    if (live_ask(look, LOOK_STATEMENTS, live_statement, &why) != HF_OK)
        audit_note(look->run, "Executed statements were not looked at: %s%s", why.message,
                   postgres ? " (CREATE EXTENSION pg_stat_statements)" : "");
    else if (look->run->statements_count == before)
        audit_note(look->run, "The database has kept no executed statements%s.",
                   postgres ? "" : " (performance_schema is off, or nothing was executed)");
}

/* ---- who sits idle ---- */

static void live_idle(live_look *look, hf_stmt *stmt)
{
    hf_slice who = hf_stmt_column_text(stmt, 0), user = hf_stmt_column_text(stmt, 1);
    hf_slice tables = hf_stmt_column_text(stmt, 3), query = hf_stmt_column_text(stmt, 4);
    long long seconds = (long long)hf_stmt_column_int(stmt, 2);
    audit_place place = {AUDIT_NO_FILE, (uint32_t)look->run->findings_count + 1};
    if (query.size > 200)
        query.size = 200;
    const char *last =
        query.size == 0 ? NULL : hf_arena_text(&look->run->arena, live_keep(look, query));
    audit_found(look->run, &audit_rule_idle_in_transaction,
                &(audit_finding){.place = place,
                                 .confidence = AUDIT_HIGH,
                                 .table = live_keep(look, tables),
                                 .statement = last},
                "%.*s (user %.*s) holds row locks%s%.*s and has been idle for %lld seconds.",
                (int)who.size, who.at, (int)user.size, user.at, tables.size > 0 ? " on " : "",
                (int)tables.size, tables.size > 0 ? tables.at : "", seconds);
}

hf_status audit_live(audit_run *run, const audit_options *options, hf_error *err)
{
    live_look look = {.run = run, .idle_us = options->idle_us};
    hf_error why;
    hf_status status = hf_db_open_url(options->db, &look.db, err);
    if (status != HF_OK)
        return status;
    run->database = hf_arena_text(&run->arena, hf_slice_of(hf_db_path(look.db)));
    status = live_declared(&look, err);
    if (status == HF_OK) {
        live_executed(&look);
        if (live_ask(&look, LOOK_IDLE, live_idle, &why) != HF_OK)
            audit_note(run, "Idle transactions were not looked at: %s", why.message);
    }
    hf_db_close(look.db);
    return status;
}
