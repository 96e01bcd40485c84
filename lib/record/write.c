/* SPDX-License-Identifier: MIT */
/* Writing one record: INSERT, UPDATE or DELETE, with its version in the condition. What it found is
 * counted: a row that was not found was changed or deleted by someone else. */
#include "record/inside.h"

#include "record/write.h"

#include <stdio.h>

/* The values of a statement, in the order of its parameters; column NULL: as it is. */
typedef struct write_text {
    hf_tables *tables;
    hf_buffer sql;
    hf_stmt *known; /* the statement that the text would be; NULL: write it */
    hf_field carried;
    int count;
    const rec_column *columns[2 * REC_COLUMNS_MAX];
    const hf_field *values[2 * REC_COLUMNS_MAX];
} write_text;

/* The lists are long, and are not cleared for the few that a statement has. */
static void write_text_init(write_text *text, hf_tables *tables)
{
    text->tables = tables;
    text->sql = (hf_buffer){0};
    text->known = NULL;
    text->count = 0;
}

static void write_put(write_text *text, const char *part)
{
    if (text->known == NULL)
        hf_buffer_text(&text->sql, part);
}

static void write_param(write_text *text, const rec_column *column, const hf_field *value)
{
    text->columns[text->count] = column;
    text->values[text->count] = value;
    write_put(text, text->tables->places);
    ++text->count;
    if (text->known == NULL)
        hf_buffer_number(&text->sql, text->count);
}

/* The database's time, as this column keeps it. */
const char *rec_write_clock(const hf_tables *tables, const rec_column *column)
{
    static const char *const words[3][3] = {
        [REC_SQLITE] = {"strftime('%Y-%m-%d %H:%M:%f', 'now')",
                        "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
                        "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"},
        [REC_POSTGRES] = {"clock_timestamp()",
                          "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
                          "to_char(clock_timestamp() AT TIME ZONE 'UTC', "
                          "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"},
        [REC_MYSQL] = {"UTC_TIMESTAMP(6)", "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
                       "DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%fZ')"},
    };
    if (tables->dialect == REC_POSTGRES && column->holds == REC_STAMP)
        return "clock_timestamp() AT TIME ZONE 'UTC'";
    int kind = column->holds == REC_INT ? 1 : column->holds == REC_TEXT ? 2 : 0;
    return words[tables->dialect][kind];
}

static void write_by_key(write_text *text, const hf_record *record)
{
    const rec_table *table = record->table;
    for (size_t i = 0; i < table->key_count; i++) {
        const rec_column *column = &table->columns[table->key[i]];
        write_put(text, i == 0 ? " WHERE " : " AND ");
        write_put(text, column->quoted);
        write_put(text, " = ");
        write_param(text, column, &record->base[table->key[i]]);
    }
}

/* The number that the guard of a table wants of a write below this record. */
static void write_number(write_text *text, const hf_record *record, const rec_table *table,
                         bool mark)
{
    const hf_record *root = record;
    while (root->parent != NULL)
        root = root->parent;
    text->carried = HF_NUMBER(root->fences[table->guard]);
    if (table->guard == REC_GUARD_VERSION) /* a version that is null counts as 0 */
        text->carried = HF_NUMBER(record->base[table->carries].number);
    if (mark)
        text->carried.number = -text->carried.number;
    write_param(text, NULL, &text->carried);
}

static void write_version_is(write_text *text, const hf_record *record)
{
    const rec_table *table = record->table;
    if (table->version < 0 || !record->moves)
        return;
    const rec_column *column = &table->columns[table->version];
    write_put(text, " AND ");
    write_put(text, column->quoted);
    write_put(text, " = ");
    write_param(text, column, &record->base[table->version]);
}

static void write_returning(write_text *text, const rec_table *table, bool key_only)
{
    for (size_t i = 0; i < (key_only ? table->key_count : table->count); i++)
        hf_buffer_print(&text->sql, "%s%s", i == 0 ? " RETURNING " : ", ",
                        table->columns[key_only ? table->key[i] : i].read);
}

/* ---- running ---- */

/* What the database refuses is the program's mistake, or another row's fault. */
static hf_status write_refused(rec_work *work, const hf_record *record, hf_status status,
                               hf_error *err)
{
    char why[HF_MESSAGE_SIZE];
    hf_failure failure = hf_db_failure(work->conn->db);
    if (failure == HF_FAILURE_DUPLICATE)
        return rec_report_there(work, record->table->type,
                                record->id[0] == '\0' ? NULL : record->id, err);
    if (status != HF_INTERNAL || failure != HF_FAILURE_OTHER || err == NULL)
        return status;
    memcpy(why, err->message, sizeof why);
    return hf_fail(err, HF_INVALID, "The database refuses a value of %s. %.1200s",
                   record->table->name, why);
}

static hf_status write_begin(rec_work *work, write_text *text, hf_stmt **out, hf_error *err)
{
    hf_status status = HF_OK;
    if (text->known != NULL)
        hf_stmt_reset(*out = text->known);
    else
        status = text->sql.failed ? hf_fail_memory(err)
                                  : rec_conn_statement(work->conn, text->sql.text, out, err);
    for (int i = 0; status == HF_OK && i < text->count; i++)
        if (!rec_bind(text->tables, text->columns[i], *out, i + 1, text->values[i],
                      &work->unit->arena))
            status = hf_fail_memory(err);
    return status;
}

/* ---- inserting ---- */

static const hf_field *write_link(const hf_record *record, size_t column)
{
    const rec_table *table = record->table;
    for (size_t i = 0; table->parent != NULL && i < table->parent->key_count; i++)
        if (table->link[i] == column) {
            const hf_record *parent = record->parent;
            return &(parent->coming != NULL ? parent->coming : parent->now)[table->parent->key[i]];
        }
    return NULL;
}

static void write_insert_text(rec_work *work, write_text *text, const hf_record *record,
                              const hf_field *one, const hf_field *user)
{
    const rec_table *table = record->table;
    hf_buffer list = {0};
    bool any = false;
    hf_buffer_print(&text->sql, "INSERT INTO %s (", table->quoted);
    for (size_t i = 0; i < table->count; i++) {
        int at = (int)i;
        const rec_column *column = &table->columns[i];
        const hf_field *link = write_link(record, i);
        bool when = at == table->at || at == table->made_at;
        bool who = at == table->by || at == table->made_by;
        if (!when && !who && at != table->version && link == NULL && !record->set[i])
            continue;
        hf_buffer_print(&text->sql, "%s%s", any ? ", " : "", column->quoted);
        hf_buffer_print(&list, "%s", any ? ", " : "");
        if (when)
            hf_buffer_print(&list, "%s", rec_write_clock(text->tables, column));
        else {
            text->columns[text->count] = column;
            text->values[text->count] = who                    ? user
                                        : at == table->version ? one
                                        : link != NULL         ? link
                                                               : &record->now[i];
            hf_buffer_print(&list, "%s%d", text->tables->places, ++text->count);
        }
        any = true;
    }
    if (table->guard >= REC_GUARD_LOCK && record->parent != NULL) { /* which has a link at least */
        hf_buffer_print(&text->sql, ", %s", table->carried);
        hf_buffer_print(&list, ", ");
        hf_buffer statement = text->sql;
        text->sql = list;
        write_number(text, record, table, false);
        list = text->sql;
        text->sql = statement;
    }
    if (any)
        hf_buffer_print(&text->sql, ") VALUES (%s)", list.text);
    else if (text->tables->dialect == REC_MYSQL)
        hf_buffer_print(&text->sql, ") VALUES ()");
    else {
        text->sql.size = 0;
        hf_buffer_print(&text->sql, "INSERT INTO %s DEFAULT VALUES", table->quoted);
    }
    text->sql.failed |= list.failed;
    hf_buffer_done(&list);
    if (work->conn->tables->kind != HF_DB_MYSQL)
        write_returning(text, table, true);
}

/* The key of the row just made. */
static hf_status write_made_key(rec_work *work, const hf_record *record, hf_stmt *stmt,
                                hf_field *key, hf_error *err)
{
    const rec_table *table = record->table;
    hf_tables *tables = work->conn->tables;
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < table->key_count; i++) {
        const hf_field *link = write_link(record, table->key[i]);
        if (tables->kind != HF_DB_MYSQL)
            status = rec_read_field(tables, table, &table->columns[table->key[i]], stmt, (int)i,
                                    &work->unit->arena, &key[i], err);
        else if (link != NULL)
            key[i] = *link;
        else if (record->set[table->key[i]])
            key[i] = record->now[table->key[i]];
        else
            key[i] = HF_NUMBER(hf_stmt_made_key(stmt));
    }
    return status;
}

static hf_status write_insert(rec_work *work, hf_record *record, hf_error *err)
{
    const rec_table *table = record->table;
    hf_field one = HF_NUMBER(1), user = HF_TEXT(work->unit->user), key[REC_KEY_MAX];
    write_text text;
    hf_stmt *stmt = NULL;
    bool row = false, there = false;
    user.size = strlen(user.text);
    write_text_init(&text, work->conn->tables);
    write_insert_text(work, &text, record, &one, &user);
    hf_status status = write_begin(work, &text, &stmt, err);
    hf_buffer_done(&text.sql);
    if (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) != HF_OK)
        status = write_refused(work, record, status, err);
    if (status == HF_OK)
        status = write_made_key(work, record, stmt, key, err);
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    if (status == HF_OK)
        status = rec_select_one(work->conn, table, key, REC_PLAIN, &work->unit->arena,
                                &record->coming, &there, err);
    if (status == HF_OK && !there)
        return hf_fail(err, HF_INVALID, "A new row of %s is not there after it was inserted.",
                       table->name);
    char id[HF_ID_SIZE];
    if (status == HF_OK)
        status = rec_key_format(table, record->coming, id, err);
    if (status == HF_OK &&
        (record->coming_id = hf_arena_text(&work->unit->arena, hf_slice_of(id))) == NULL)
        status = hf_fail_memory(err);
    record->coming_version = table->version >= 0 ? 1 : record->coming_version;
    return status;
}

/* ---- updating ---- */

/* Whether a guard moves a column that the description does not know as the version. */
static bool write_guard_moves(const rec_table *table)
{
    return table->guard == REC_GUARD_VERSION && (int)table->carries != table->version;
}

bool rec_write_reads_back(const hf_record *record)
{
    const rec_table *table = record->table;
    if (write_guard_moves(table))
        return true;
    if (table->as->compare != HF_COMPARE_VERSION || (record->moves && table->at >= 0))
        return true;
    for (size_t i = 0; i < table->count; i++)
        if ((record->set[i] && table->columns[i].lossy) || table->columns[i].generated)
            return true;
    return false;
}

static void write_update_text(write_text *text, const hf_record *record, const hf_field *user)
{
    const rec_table *table = record->table;
    const char *comma = " SET ";
    write_put(text, "UPDATE ");
    write_put(text, table->quoted);
    for (size_t i = 0; i < table->count; i++) {
        int at = (int)i;
        const rec_column *column = &table->columns[i];
        bool keeps = record->moves && (at == table->version || at == table->by || at == table->at);
        if (!keeps && !record->set[i])
            continue;
        write_put(text, comma);
        write_put(text, column->quoted);
        write_put(text, " = ");
        comma = ", ";
        if (at == table->version) {
            write_put(text, column->quoted);
            write_put(text, " + 1");
        } else if (at == table->at)
            write_put(text, rec_write_clock(text->tables, column));
        else
            write_param(text, column, at == table->by ? user : &record->now[i]);
    }
    if (table->guard != REC_OPEN) {
        write_put(text, comma);
        write_put(text, table->carried);
        write_put(text, " = ");
        write_number(text, record, table, false);
    }
    write_by_key(text, record);
    write_version_is(text, record);
}

/* Which columns are set, if that says what the text is: it then reads nothing back. */
static bool write_update_like(const hf_record *record, bool back, rec_last_update *out)
{
    *out = (rec_last_update){.table = record->table, .moves = record->moves};
    for (size_t i = 0; i < record->table->count && i < 64; i++)
        out->set |= (uint64_t)record->set[i] << i;
    return record->table->count <= 64 && !back;
}

/* True: there is something to set; a root whose version is stored has no column that moves. */
static bool write_has_set(const hf_record *record)
{
    const rec_table *table = record->table;
    if (record->moves && (table->version >= 0 || table->by >= 0 || table->at >= 0))
        return true;
    for (size_t i = 0; i < table->count; i++)
        if (record->set[i])
            return true;
    return false;
}

static hf_status write_read_row(rec_work *work, hf_record *record, hf_stmt *stmt, hf_error *err)
{
    const rec_table *table = record->table;
    hf_status status = HF_OK;
    record->coming = hf_arena_alloc(&work->unit->arena, table->count * sizeof *record->coming);
    if (record->coming == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; status == HF_OK && i < table->count; i++)
        status = rec_read_field(work->conn->tables, table, &table->columns[i], stmt, (int)i,
                                &work->unit->arena, &record->coming[i], err);
    return status;
}

static hf_status write_update(rec_work *work, hf_record *record, hf_error *err)
{
    const rec_table *table = record->table;
    hf_tables *tables = work->conn->tables;
    hf_field user = HF_TEXT(work->unit->user), key[REC_KEY_MAX];
    write_text text;
    hf_stmt *stmt = NULL;
    bool back = rec_write_reads_back(record), row = false, found = false;
    /* not by the statement itself: MySQL can't, and SQLite's would be of before the trigger */
    bool apart = back && (tables->dialect == REC_MYSQL ||
                          (tables->dialect == REC_SQLITE && write_guard_moves(table)));
    user.size = strlen(user.text);
    if (!write_has_set(record))
        return HF_OK;
    write_text_init(&text, tables);
    rec_last_update like, *last = &work->conn->last_update;
    bool alike = write_update_like(record, back, &like);
    if (alike && last->table == like.table && last->set == like.set && last->moves == like.moves)
        text.known = last->stmt;
    write_update_text(&text, record, &user);
    if (back && !apart)
        write_returning(&text, table, false);
    hf_status status = write_begin(work, &text, &stmt, err);
    hf_buffer_done(&text.sql);
    like.stmt = stmt;
    if (status == HF_OK && alike)
        *last = like;
    if (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) != HF_OK)
        status = write_refused(work, record, status, err);
    if (status == HF_OK && row)
        status = write_read_row(work, record, stmt, err);
    found = status == HF_OK &&
            (row || ((!back || apart) && hf_stmt_changed(stmt) > 0));
    while (status == HF_OK && row) /* SQLite counts as done when all was stepped through */
        status = hf_stmt_step(stmt, &row, err);
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    if (status == HF_OK && !found)
        return HF_NOT_FOUND;
    rec_key_of(table, record->base, key);
    if (status == HF_OK && back && record->coming == NULL)
        status = rec_select_one(work->conn, table, key, REC_PLAIN, &work->unit->arena,
                                &record->coming, &found, err);
    if (table->version >= 0)
        record->coming_version = record->version + record->moves;
    return status;
}

/* ---- deleting ---- */

/* "link IN (SELECT key FROM parent WHERE ...)", down from the row that is deleted. */
static void write_below(write_text *text, const hf_record *record, const rec_table *table)
{
    const rec_table *parent = table->parent;
    if (parent == record->table) {
        for (size_t i = 0; i < parent->key_count; i++) {
            const rec_column *column = &table->columns[table->link[i]];
            hf_buffer_print(&text->sql, "%s%s = ", i == 0 ? " WHERE " : " AND ", column->quoted);
            write_param(text, column, &record->base[parent->key[i]]);
        }
        return;
    }
    hf_buffer_print(&text->sql, " WHERE (");
    for (size_t i = 0; i < parent->key_count; i++)
        hf_buffer_print(&text->sql, "%s%s", i == 0 ? "" : ", ",
                        table->columns[table->link[i]].quoted);
    hf_buffer_print(&text->sql, ") IN (SELECT ");
    for (size_t i = 0; i < parent->key_count; i++)
        hf_buffer_print(&text->sql, "%s%s", i == 0 ? "" : ", ",
                        parent->columns[parent->key[i]].quoted);
    hf_buffer_print(&text->sql, " FROM %s", parent->quoted);
    write_below(text, record, parent);
    hf_buffer_print(&text->sql, ")");
}

bool rec_write_is_below(const rec_table *table, const rec_table *above)
{
    for (table = table->parent; table != NULL; table = table->parent)
        if (table == above)
            return true;
    return false;
}

bool rec_write_has_members(const hf_tables *tables, const rec_table *table)
{
    for (size_t i = 0; i < tables->count; i++)
        if (rec_write_is_below(&tables->tables[i], table))
            return true;
    return false;
}

static hf_status write_run(rec_work *work, write_text *text, const hf_record *record, bool *found,
                           hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    hf_status status = write_begin(work, text, &stmt, err);
    hf_buffer_done(&text->sql);
    if (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) != HF_OK)
        status = write_refused(work, record, status, err);
    *found = status == HF_OK && hf_stmt_changed(stmt) > 0;
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    return status;
}

/* Marks what is below it for deletion, as its guard asks: all as they are now. */
static hf_status write_mark_below(rec_work *work, const hf_record *record, const rec_table *table,
                                  hf_error *err)
{
    write_text text;
    bool found = false;
    write_text_init(&text, work->conn->tables);
    hf_buffer_print(&text.sql, "UPDATE %s SET %s = ", table->quoted, table->carried);
    if (table->guard == REC_GUARD_VERSION)
        hf_buffer_print(&text.sql, "-%s", table->columns[table->carries].quoted);
    else
        write_number(&text, record, table, true);
    write_below(&text, record, table);
    return write_run(work, &text, record, &found, err);
}

static hf_status write_mark(rec_work *work, const hf_record *record, hf_error *err)
{
    write_text text;
    bool found = false;
    write_text_init(&text, work->conn->tables);
    hf_buffer_print(&text.sql, "UPDATE %s SET %s = ", record->table->quoted,
                    record->table->carried);
    write_number(&text, record, record->table, true);
    write_by_key(&text, record);
    write_version_is(&text, record);
    hf_status status = write_run(work, &text, record, &found, err);
    return status == HF_OK && !found ? HF_NOT_FOUND : status;
}

/* All that is below it goes first, the lowest tables first. */
static hf_status write_delete_below(rec_work *work, const hf_record *record, hf_error *err)
{
    hf_tables *tables = work->conn->tables;
    hf_status status = HF_OK;
    bool found = false;
    int highest = 0; /* tables that name each other in a circle have ranks over their number */
    for (size_t i = 0; i < tables->count; i++)
        highest = tables->tables[i].rank > highest ? tables->tables[i].rank : highest;
    for (int rank = highest; status == HF_OK && rank > 0; rank--)
        for (size_t i = 0; status == HF_OK && i < tables->count; i++) {
            const rec_table *table = &tables->tables[i];
            if (table->rank != rank || !rec_write_is_below(table, record->table))
                continue;
            write_text text;
            if (table->guard != REC_OPEN)
                status = write_mark_below(work, record, table, err);
            if (status != HF_OK)
                break;
            write_text_init(&text, tables);
            hf_buffer_print(&text.sql, "DELETE FROM %s", table->quoted);
            write_below(&text, record, table);
            status = write_run(work, &text, record, &found, err);
        }
    return status;
}

static hf_status write_gone(rec_work *work, hf_record *record, hf_error *err)
{
    write_text text;
    bool found = false;
    hf_status status = write_delete_below(work, record, err);
    if (status != HF_OK || record->table->set)
        return status;
    if (record->table->guard != REC_OPEN)
        status = write_mark(work, record, err);
    if (status != HF_OK)
        return status;
    write_text_init(&text, work->conn->tables);
    hf_buffer_print(&text.sql, "DELETE FROM %s", record->table->quoted);
    write_by_key(&text, record);
    write_version_is(&text, record);
    status = write_run(work, &text, record, &found, err);
    return status == HF_OK && !found ? HF_NOT_FOUND : status;
}

hf_status rec_write(rec_work *work, hf_record *record, hf_error *err)
{
    return record->added ? (record->table->set ? rec_set_begin : write_insert)(work, record, err)
           : record->removed ? write_gone(work, record, err)
                             : write_update(work, record, err);
}
