/* SPDX-License-Identifier: MIT */
/* Reading rows, by key or by a condition, plainly or with a lock. */
#include "record/inside.h"

const char *rec_lock_words(const hf_tables *tables, rec_lock lock)
{
    if (tables->dialect == REC_SQLITE || lock == REC_PLAIN)
        return "";
    if (lock == REC_UPDATE)
        return " FOR UPDATE";
    return tables->kind == HF_DB_MARIADB ? " LOCK IN SHARE MODE" : " FOR SHARE";
}

static hf_status select_read(rec_conn *conn, const rec_table *table, hf_stmt *stmt, hf_arena *arena,
                             hf_field **out, hf_error *err)
{
    hf_field *values = hf_arena_alloc(arena, table->count * sizeof *values);
    hf_status status = values == NULL ? hf_fail_memory(err) : HF_OK;
    for (size_t i = 0; status == HF_OK && i < table->count; i++)
        status = rec_read_field(conn->tables, table, &table->columns[i], stmt, (int)i, arena,
                                &values[i], err);
    *out = values;
    return status;
}

hf_status rec_select_one(rec_conn *conn, const rec_table *table, const hf_field *key, rec_lock lock,
                         hf_arena *arena, hf_field **out, bool *there, hf_error *err)
{
    hf_stmt *stmt = NULL;
    *there = false;
    if (table->set)
        return rec_set_find(conn, table, key, arena, out, there, err);
    hf_status status = rec_conn_statement(conn, table->one[lock], &stmt, err);
    for (size_t i = 0; status == HF_OK && i < table->key_count; i++)
        if (!rec_bind(conn->tables, &table->columns[table->key[i]], stmt, (int)i + 1, &key[i],
                      arena))
            status = hf_fail_memory(err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, there, err);
    if (status == HF_OK && *there)
        status = select_read(conn, table, stmt, arena, out, err);
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    return status;
}

/* Quoted text, identifiers and comments are left alone. */
static const char *select_skip(const char *at)
{
    if (*at == '\'' || *at == '"' || *at == '`') {
        const char *end = strchr(at + 1, *at);
        return end == NULL ? at + strlen(at) : end + 1;
    }
    if (at[0] == '-' && at[1] == '-') {
        const char *end = strchr(at, '\n');
        return end == NULL ? at + strlen(at) : end;
    }
    return at;
}

bool rec_where(const hf_tables *tables, hf_buffer *sql, const char *where, size_t from)
{
    for (const char *at = where; *at != '\0';) {
        const char *end = select_skip(at);
        if (end > at) {
            hf_buffer_add(sql, at, (size_t)(end - at));
            at = end;
        } else if (*at == '?' && at[1] >= '1' && at[1] <= '9') {
            size_t number = 0;
            for (at++; *at >= '0' && *at <= '9' && number < 10000; at++)
                number = number * 10 + (size_t)(*at - '0');
            hf_buffer_print(sql, "%s%zu", tables->places, number + from);
        } else
            hf_buffer_add(sql, at++, 1);
    }
    return !sql->failed;
}

/* How many parameters the condition names. */
static size_t select_wanted(const char *where)
{
    size_t most = 0;
    for (const char *at = where; *at != '\0';) {
        const char *end = select_skip(at);
        if (end > at) {
            at = end;
            continue;
        }
        size_t number = 0;
        if (*at++ != '?')
            continue;
        for (; *at >= '0' && *at <= '9' && number < 10000; at++)
            number = number * 10 + (size_t)(*at - '0');
        most = number > most ? number : most;
    }
    return most;
}

static hf_status select_begin(rec_conn *conn, const rec_table *table, const char *where,
                              const hf_field *args, size_t count, rec_lock lock, hf_arena *arena,
                              hf_stmt **out, hf_error *err)
{
    hf_buffer sql = {0};
    if (table->set)
        return hf_fail(err, HF_INVALID, "%s is a set without a table; ask for its members.",
                       table->type);
    where = where == NULL || where[0] == '\0' ? "1 = 1" : where;
    if (strchr(where, ';') != NULL)
        return hf_fail(err, HF_INVALID, "A condition has no semicolon.");
    if (select_wanted(where) != count)
        return hf_fail(err, HF_INVALID, "The condition names %zu values and %zu are given.",
                       select_wanted(where), count);
    hf_buffer_print(&sql, "%s", table->select);
    rec_where(conn->tables, &sql, where, 0);
    hf_buffer_print(&sql, "%s", rec_lock_words(conn->tables, lock));
    hf_status status =
        sql.failed ? hf_fail_memory(err) : rec_conn_statement(conn, sql.text, out, err);
    hf_buffer_done(&sql);
    for (size_t i = 0; status == HF_OK && i < count; i++)
        if (!rec_bind(conn->tables, NULL, *out, (int)i + 1, &args[i], arena))
            status = hf_fail_memory(err);
    return status;
}

/* A condition that the database does not understand is the program's mistake. */
static hf_status select_refused(rec_conn *conn, hf_status status, hf_error *err)
{
    hf_failure failure = hf_db_failure(conn->db);
    if (status != HF_INTERNAL || failure == HF_FAILURE_LOST || err == NULL)
        return status;
    char why[HF_MESSAGE_SIZE];
    memcpy(why, err->message, sizeof why);
    return hf_fail(err, HF_INVALID, "The condition is refused. %s", why);
}

hf_status rec_select_many(rec_conn *conn, const rec_table *table, const char *where,
                          const hf_field *args, size_t count, rec_lock lock, size_t max,
                          hf_arena *arena, hf_field ***out, size_t *found, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    size_t room = 0;
    *out = NULL;
    *found = 0;
    hf_status status = select_begin(conn, table, where, args, count, lock, arena, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        if (*found == max) {
            status = hf_fail(err, HF_TOO_LARGE, "More than %zu rows of %s fit; ask for fewer.", max,
                             table->name);
            break;
        }
        if (*found == room) {
            room = room == 0 ? 16 : room * 2;
            hf_field **rows = hf_arena_alloc(arena, room * sizeof *rows);
            if (rows == NULL) {
                status = hf_fail_memory(err);
                break;
            }
            if (*found > 0)
                memcpy(rows, *out, *found * sizeof *rows);
            *out = rows;
        }
        status = select_read(conn, table, stmt, arena, &(*out)[(*found)++], err);
    }
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    return select_refused(conn, status, err);
}
