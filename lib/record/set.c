/* SPDX-License-Identifier: MIT */
/* Sets: aggregates whose root is no row. The root is a name, "cart/7": what stands in the link of
 * its members. Its version and its locks stand in holdfast's own tables, as those of any root
 * without a version column. A set is there as long as it has a member. */
#include "record/inside.h"

/* ---- describing ---- */

hf_status rec_set_describe(rec_table *table, hf_error *err)
{
    const hf_table *as = table->as;
    if (as->version != NULL || as->by != NULL || as->at != NULL || as->made_by != NULL ||
        as->made_at != NULL || as->parent != NULL || as->link != NULL || as->columns != NULL ||
        as->compare != HF_COMPARE_VERSION)
        return hf_fail(err, HF_INVALID,
                       "The set %s has no table: it has a type and a policy, and no columns and no "
                       "parent.",
                       table->type);
    table->set = true;
    table->name = table->quoted = table->type;
    table->version = table->by = table->at = table->made_by = table->made_at = -1;
    return HF_OK;
}

/* The key of a set is what its first member calls it. */
static hf_status set_take_key(hf_tables *tables, rec_table *set, const rec_table *member,
                              size_t count, hf_error *err)
{
    set->columns = hf_arena_alloc(&tables->arena, (count + 1) * sizeof *set->columns);
    if (set->columns == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        set->columns[i] = member->columns[member->link[i]];
        set->columns[i].made = set->columns[i].quiet = false;
        set->columns[i].rule = NULL;
        set->key[i] = i;
    }
    set->count = set->key_count = count;
    return HF_OK;
}

hf_status rec_set_join(hf_tables *tables, rec_table *set, const rec_table *member, size_t count,
                       hf_error *err)
{
    if (set->key_count == 0)
        return set_take_key(tables, set, member, count, err);
    for (size_t i = 0; i < count && i < set->key_count; i++)
        if (set->columns[i].holds != member->columns[member->link[i]].holds)
            return hf_fail(err, HF_INVALID,
                           "The column %s of %s is of another type than the key of the other "
                           "members of %s.",
                           member->columns[member->link[i]].name, member->name, set->type);
    return HF_OK;
}

/* ---- reading ---- */

static bool set_has(const rec_table *set, const rec_table *table)
{
    return table->parent == set;
}

/* A statement about the members of one table, with its condition on the link. */
static hf_status set_ask(rec_conn *conn, const rec_table *member, hf_buffer *sql, const char *end,
                         const hf_field *key, hf_arena *arena, hf_stmt **out, hf_error *err)
{
    size_t count = member->parent->key_count;
    hf_buffer_print(sql, " FROM %s", member->quoted);
    for (size_t i = 0; i < count; i++)
        hf_buffer_print(sql, "%s%s = %s%zu", i == 0 ? " WHERE " : " AND ",
                        member->columns[member->link[i]].quoted, conn->tables->places, i + 1);
    hf_buffer_print(sql, "%s", end);
    hf_status status =
        sql->failed ? hf_fail_memory(err) : rec_conn_statement(conn, sql->text, out, err);
    hf_buffer_done(sql);
    for (size_t i = 0; status == HF_OK && i < count; i++)
        if (!rec_bind(conn->tables, &member->columns[member->link[i]], *out, (int)i + 1, &key[i],
                      arena))
            status = hf_fail_memory(err);
    return status;
}

static hf_status set_find_in(rec_conn *conn, const rec_table *member, const hf_field *key,
                             hf_arena *arena, hf_field **out, bool *there, hf_error *err)
{
    const rec_table *set = member->parent;
    hf_buffer sql = {0};
    hf_stmt *stmt = NULL;
    for (size_t i = 0; i < set->count; i++)
        hf_buffer_print(&sql, "%s%s", i == 0 ? "SELECT " : ", ",
                        member->columns[member->link[i]].read);
    hf_status status = set_ask(conn, member, &sql, " LIMIT 1", key, arena, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, there, err);
    if (status == HF_OK && *there &&
        (*out = hf_arena_alloc(arena, set->count * sizeof **out)) == NULL)
        status = hf_fail_memory(err);
    for (size_t i = 0; status == HF_OK && *there && i < set->count; i++)
        status = rec_read_field(conn->tables, member, &member->columns[member->link[i]], stmt,
                                (int)i, arena, &(*out)[i], err);
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    return status;
}

hf_status rec_set_find(rec_conn *conn, const rec_table *set, const hf_field *key, hf_arena *arena,
                       hf_field **out, bool *there, hf_error *err)
{
    hf_tables *tables = conn->tables;
    hf_status status = HF_OK;
    *there = false;
    for (size_t i = 0; status == HF_OK && !*there && i < tables->count; i++)
        if (set_has(set, &tables->tables[i]))
            status = set_find_in(conn, &tables->tables[i], key, arena, out, there, err);
    return status;
}

/* ---- its end ---- */

/* How many members there are when the unit has been committed. */
static hf_status set_count(rec_work *work, const hf_record *set, int64_t *out, hf_error *err)
{
    hf_tables *tables = work->conn->tables;
    hf_field key[REC_KEY_MAX];
    hf_status status = HF_OK;
    bool row = false;
    rec_key_of(set->table, set->base, key);
    *out = 0;
    for (size_t i = 0; status == HF_OK && i < tables->count; i++) {
        hf_buffer sql = {0};
        hf_stmt *stmt = NULL;
        if (!set_has(set->table, &tables->tables[i]))
            continue;
        hf_buffer_print(&sql, "SELECT count(*)");
        status = set_ask(work->conn, &tables->tables[i], &sql, "", key, work->arena, &stmt, err);
        if (status == HF_OK)
            status = hf_stmt_step(stmt, &row, err);
        if (status == HF_OK && row)
            *out += hf_stmt_column_int(stmt, 0);
        if (stmt != NULL)
            hf_stmt_reset(stmt);
    }
    for (const hf_record *it = work->unit->first; it != NULL; it = it->next)
        if (it->parent == set && rec_record_changed(it))
            *out += it->added ? 1 : it->removed ? -1 : 0;
    return status;
}

/* The count is good if the version of the set is still the one that was read, which its save says
 * right after. */
hf_status rec_set_ends(rec_work *work, hf_error *err)
{
    hf_status status = HF_OK;
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next) {
        int64_t left = 1;
        if (it->table->set && it->moves && !it->added && !it->removed)
            status = set_count(work, it, &left, err);
        it->ends = left <= 0;
    }
    return status;
}

/* A new set is a name and nothing to insert; but it has members, and has none yet. */
hf_status rec_set_begin(rec_work *work, hf_record *record, hf_error *err)
{
    const rec_table *set = record->table;
    hf_field key[REC_KEY_MAX], *values = NULL;
    char id[HF_ID_SIZE];
    bool any = false, there = false;
    rec_key_of(set, record->now, key);
    for (const hf_record *it = work->unit->first; it != NULL; it = it->next)
        any = any || (it->parent == record && it->added && !it->removed);
    for (size_t i = 0; i < set->key_count; i++)
        if (!any || key[i].kind == HF_FIELD_NULL)
            return hf_fail(err, HF_INVALID, "A new %s needs its %s, and a member at least.",
                           set->type, set->columns[i].name);
    hf_status status = rec_key_format(set, record->now, id, err);
    if (status != HF_OK)
        return status;
    status = rec_set_find(work->conn, set, key, work->arena, &values, &there, err);
    record->coming_id = hf_arena_text(&work->unit->arena, hf_slice_of(id));
    record->coming = hf_arena_alloc(&work->unit->arena, set->count * sizeof *record->coming);
    if (status == HF_OK && (record->coming_id == NULL || record->coming == NULL))
        status = hf_fail_memory(err);
    if (status != HF_OK)
        return status;
    memcpy(record->coming, record->now, set->count * sizeof *record->coming);
    return there ? rec_report_there(work, set->type, record->coming_id, err) : HF_OK;
}
