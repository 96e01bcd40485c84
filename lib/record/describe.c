/* SPDX-License-Identifier: MIT */
/* What the program says of its tables, checked against what the database says: every mistake gets a
 * sentence when the tables are opened, not when a person saves. */
#include "record/inside.h"

#include <stdio.h>
#include <strings.h>

int rec_column_named(const rec_table *table, const char *name)
{
    for (size_t i = 0; name != NULL && i < table->count; i++)
        if (strcasecmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool rec_is_key(const rec_table *table, size_t column)
{
    for (size_t i = 0; i < table->key_count; i++)
        if (table->key[i] == column)
            return true;
    return false;
}

rec_table *rec_table_named(hf_tables *tables, const char *name)
{
    for (size_t i = 0; name != NULL && i < tables->count; i++) {
        const hf_table *as = tables->tables[i].as;
        if (strcasecmp(as->name != NULL ? as->name : as->type, name) == 0)
            return &tables->tables[i];
    }
    return NULL;
}

rec_table *rec_table_typed(hf_tables *tables, const char *type)
{
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->tables[i].type, type) == 0)
            return &tables->tables[i];
    return NULL;
}

bool rec_locks_to_edit(const rec_table *table)
{
    return table->root->as->policy > HF_POLICY_OPTIMISTIC;
}

bool rec_guard_moves(const rec_table *table)
{
    return table->guard == REC_GUARD_VERSION || table->guard == REC_GUARD_SAVE;
}

bool rec_locks_to_read(const rec_table *table, hf_mode *mode)
{
    hf_policy policy = table->root->as->policy;
    *mode = policy == HF_POLICY_READ_WRITE ? HF_SHARED : HF_EXCLUSIVE;
    return policy == HF_POLICY_EXCLUSIVE_READ || policy == HF_POLICY_READ_WRITE;
}

/* ---- columns that are named ---- */

typedef struct rec_wish {
    const char *name;
    const char *what;    /* for a sentence: "version" */
    const char *type[3]; /* by dialect, for ALTER TABLE */
    int *out;
} rec_wish;

static void rec_missing_add(const hf_tables *tables, const rec_table *table, const rec_wish *wish,
                            const rec_missing *missing)
{
    hf_buffer text = {0};
    hf_arena arena = {0};
    char *quoted = rec_quote((hf_tables *)tables, &arena, wish->name);
    if (quoted != NULL)
        hf_buffer_print(&text, "ALTER TABLE %s ADD COLUMN %s %s;\n", table->quoted, quoted,
                        wish->type[tables->dialect]);
    if (quoted != NULL && !text.failed)
        missing->sink(missing->context, text.text);
    hf_buffer_done(&text);
    hf_arena_done(&arena);
}

static hf_status rec_wish_grant(const hf_tables *tables, const rec_table *table,
                                const rec_wish *wish, const rec_missing *missing, hf_error *err)
{
    *wish->out = -1;
    if (wish->name == NULL)
        return HF_OK;
    *wish->out = rec_column_named(table, wish->name);
    if (*wish->out >= 0)
        return HF_OK;
    if (missing != NULL) {
        rec_missing_add(tables, table, wish, missing);
        return HF_OK;
    }
    return hf_fail(err, HF_INVALID,
                   "The table %s has no column %s for its %s; hf_tables_sql writes the ALTER TABLE "
                   "that adds it.",
                   table->name, wish->name, wish->what);
}

#define REC_WHEN                                                                                   \
    {                                                                                              \
        "TEXT", "timestamptz", "DATETIME(6)"                                                       \
    }
#define REC_WHO                                                                                    \
    {                                                                                              \
        "TEXT", "text", "VARCHAR(255)"                                                             \
    }
#define REC_NUM                                                                                    \
    {                                                                                              \
        "INTEGER NOT NULL DEFAULT 1", "bigint NOT NULL DEFAULT 1", "BIGINT NOT NULL DEFAULT 1"     \
    }

static hf_status rec_describe_columns(const hf_tables *tables, rec_table *table,
                                      const rec_missing *missing, hf_error *err)
{
    const hf_table *as = table->as;
    rec_wish wishes[] = {
        {as->version, "version", REC_NUM, &table->version},
        {as->by, "last user", REC_WHO, &table->by},
        {as->at, "last time", REC_WHEN, &table->at},
        {as->made_by, "first user", REC_WHO, &table->made_by},
        {as->made_at, "first time", REC_WHEN, &table->made_at},
    };
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < sizeof wishes / sizeof *wishes; i++)
        status = rec_wish_grant(tables, table, &wishes[i], missing, err);
    if (status != HF_OK || table->version < 0)
        return status;
    const rec_column *version = &table->columns[table->version];
    if (version->holds != REC_INT || version->generated ||
        rec_is_key(table, (size_t)table->version))
        return hf_fail(err, HF_INVALID,
                       "The column %s of %s can't be a version: that is a plain column of whole "
                       "numbers, not a timestamp.",
                       version->name, table->name);
    if (version->null_ok)
        return hf_fail(err, HF_INVALID,
                       "The version column %s of %s may be null; make it NOT NULL DEFAULT 1.",
                       version->name, table->name);
    return HF_OK;
}

static hf_status rec_describe_who(const rec_table *table, hf_error *err)
{
    const int who[] = {table->by, table->made_by}, when[] = {table->at, table->made_at};
    for (int i = 0; i < 2; i++) {
        const rec_column *by = who[i] < 0 ? NULL : &table->columns[who[i]];
        const rec_column *at = when[i] < 0 ? NULL : &table->columns[when[i]];
        if (by != NULL && by->holds != REC_TEXT && by->holds != REC_ANY)
            return hf_fail(err, HF_INVALID, "The column %s of %s can't say who: it holds no text.",
                           by->name, table->name);
        if (at != NULL && at->holds != REC_INSTANT && at->holds != REC_STAMP &&
            at->holds != REC_INT && at->holds != REC_TEXT && at->holds != REC_ANY)
            return hf_fail(err, HF_INVALID,
                           "The column %s of %s can't say when: it is no timestamp, number or "
                           "text.",
                           at->name, table->name);
    }
    return HF_OK;
}

static hf_status rec_describe_rules(rec_table *table, hf_error *err)
{
    for (const hf_column *it = table->as->columns; it != NULL && it->name != NULL; it++) {
        int at = rec_column_named(table, it->name);
        if (at < 0)
            return hf_fail(err, HF_INVALID, "The table %s has no column %s.", table->name,
                           it->name);
        if (it->merge == HF_MERGE_CALL && it->call == NULL)
            return hf_fail(err, HF_INVALID, "The column %s of %s is merged by no function.",
                           it->name, table->name);
        table->columns[at].rule = it;
        table->columns[at].quiet = it->quiet;
    }
    return HF_OK;
}

/* ---- aggregates ---- */

static hf_status rec_describe_link(hf_tables *tables, rec_table *table, hf_error *err)
{
    const char *at = table->as->link == NULL ? "" : table->as->link;
    size_t count = 0;
    while (*at != '\0') {
        char name[HF_TEXT_SIZE] = "";
        size_t size = strcspn(at, ",");
        hf_slice_copy(name, sizeof name, (hf_slice){at, size});
        int column = rec_column_named(table, name);
        if (column < 0)
            return hf_fail(err, HF_INVALID, "The table %s has no column %s to link it to %s.",
                           table->name, name, table->parent->name);
        if (count == REC_KEY_MAX)
            break;
        table->link[count++] = (size_t)column;
        at += size + (at[size] == ',');
    }
    if (count > 0 && table->parent->set) {
        hf_status status = rec_set_join(tables, table->parent, table, count, err);
        if (status != HF_OK)
            return status;
    }
    if (count > 0 && count == table->parent->key_count)
        return HF_OK;
    if (table->parent->key_count == 0)
        return hf_fail(err, HF_INVALID, "The table %s has no link that names its %s.", table->name,
                       table->parent->name);
    return hf_fail(err, HF_INVALID, "The link of %s has to name %zu column%s, with the key of %s.",
                   table->name, table->parent->key_count, table->parent->key_count == 1 ? "" : "s",
                   table->parent->name);
}

static hf_status rec_describe_parent(hf_tables *tables, rec_table *table, hf_error *err)
{
    table->root = table;
    if (table->as->parent == NULL)
        return table->as->link == NULL
                   ? HF_OK
                   : hf_fail(err, HF_INVALID, "The table %s has a link and no parent.",
                             table->name);
    table->parent = rec_table_named(tables, table->as->parent);
    if (table->parent == NULL)
        return hf_fail(err, HF_INVALID, "The parent %s of the table %s is not described.",
                       table->as->parent, table->name);
    if (table->as->policy != HF_POLICY_NONE)
        return hf_fail(err, HF_INVALID,
                       "The table %s is a member of %s, whose policy counts; give it none.",
                       table->name, table->as->parent);
    return rec_describe_link(tables, table, err);
}

/* What can't be read of a guard is what fits the description. */
static hf_status rec_describe_guard(hf_tables *tables, rec_table *table, hf_error *err)
{
    if (table->guard == REC_GUARD_HIDDEN)
        table->guard = rec_locks_to_edit(table) ? REC_GUARD_LOCK
                       : table->version >= 0    ? REC_GUARD_VERSION
                                                : REC_GUARD_SAVE;
    if (table->guard == REC_GUARD_VERSION && table->carries == table->count && table->version >= 0)
        table->carries = (size_t)table->version;
    if (table->guard < REC_GUARD_LOCK)
        return HF_OK;
    tables->locks = true;
    if (table->guard_type[0] == '\0' || strcmp(table->guard_type, table->root->type) == 0)
        return HF_OK;
    return hf_fail(err, HF_INVALID,
                   "The table %s is guarded as %s/..., and its records belong to %s/...; guard and "
                   "description must name the same root.",
                   table->name, table->guard_type, table->root->type);
}

static hf_status rec_describe_roots(hf_tables *tables, hf_error *err)
{
    for (size_t i = 0; i < tables->count; i++) {
        rec_table *table = &tables->tables[i];
        for (size_t steps = 0; table->root->parent != NULL; steps++) {
            table->root = table->root->parent;
            if (steps > tables->count)
                return hf_fail(err, HF_INVALID, "The parents of %s go round in a circle.",
                               table->name);
        }
        const hf_table *as = table->root->as;
        if (table->set && table->key_count == 0)
            return hf_fail(err, HF_INVALID,
                           "The set %s has no members; describe a table with it as the parent.",
                           table->type);
        if (table->root != table && as->compare != HF_COMPARE_VERSION)
            return hf_fail(err, HF_INVALID,
                           "The aggregate of %s has no version: its root must be compared by "
                           "version.",
                           table->root->name);
        table->root->stored = as->compare == HF_COMPARE_VERSION && table->root->version < 0;
        if (table->root->stored || as->policy != HF_POLICY_NONE)
            tables->locks = true;
        hf_status status = rec_describe_guard(tables, table, err);
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
}

/* Rows are inserted in the order of the ranks. Tables that refer to each other in a circle get the
 * order in which they are described. */
static void rec_describe_ranks(hf_tables *tables)
{
    for (size_t round = 0; round < tables->count; round++)
        for (size_t i = 0; i < tables->count; i++) {
            rec_table *table = &tables->tables[i];
            if (table->parent != NULL && table->rank <= table->parent->rank)
                table->rank = table->parent->rank + 1;
            for (size_t j = 0; j < table->names_count; j++)
                for (size_t k = 0; k < tables->count; k++)
                    if (k != i && strcasecmp(tables->tables[k].name, table->names[j]) == 0 &&
                        table->rank <= tables->tables[k].rank)
                        table->rank = tables->tables[k].rank + 1;
        }
}

/* ---- texts that are always the same ---- */

static const char *rec_describe_keep(hf_tables *tables, hf_buffer *text)
{
    const char *kept =
        text->failed ? NULL : hf_arena_text(&tables->arena, (hf_slice){text->text, text->size});
    hf_buffer_done(text);
    return kept;
}

static hf_status rec_describe_texts(hf_tables *tables, rec_table *table, hf_error *err)
{
    hf_buffer text = {0};
    for (size_t i = 0; i < table->count; i++)
        hf_buffer_print(&text, "%s%s", i == 0 ? "SELECT " : ", ", table->columns[i].read);
    hf_buffer_print(&text, " FROM %s WHERE ", table->quoted);
    table->select = rec_describe_keep(tables, &text);
    for (size_t i = 0; i < table->key_count; i++)
        hf_buffer_print(&text, "%s%s = %s%zu", i == 0 ? "" : " AND ",
                        table->columns[table->key[i]].quoted, tables->places, i + 1);
    table->by_key = rec_describe_keep(tables, &text);
    bool good = table->select != NULL && table->by_key != NULL;
    for (int lock = REC_PLAIN; good && lock <= REC_UPDATE; lock++) {
        hf_buffer_print(&text, "%s%s%s", table->select, table->by_key,
                        rec_lock_words(tables, (rec_lock)lock));
        good = (table->one[lock] = rec_describe_keep(tables, &text)) != NULL;
    }
    return good ? HF_OK : hf_fail_memory(err);
}

static hf_status rec_describe_names(hf_tables *tables, rec_table *table, hf_error *err)
{
    const char *name = table->as->name, *dot = name == NULL ? NULL : strchr(name, '.');
    hf_resource resource;
    char text[HF_RESOURCE_SIZE + 2];
    bool set = name == NULL && table->as->type != NULL;
    if (!set && (name == NULL || name[0] == '\0' || strlen(name) > HF_TEXT_MAX))
        return hf_fail(err, HF_INVALID, "A table's name has 1 to %d bytes.", HF_TEXT_MAX);
    table->schema =
        dot == NULL ? "" : hf_arena_text(&tables->arena, (hf_slice){name, (size_t)(dot - name)});
    table->name = dot == NULL ? name : dot + 1;
    const char *type = table->as->type == NULL ? table->name : table->as->type;
    snprintf(text, sizeof text, "%.*s/1", HF_TYPE_MAX + 1, type);
    if (hf_resource_parse(text, &resource, NULL) != HF_OK || strchr(type, '/') != NULL)
        return hf_fail(err, HF_INVALID,
                       "%s can't be the type of a resource; give the table %s a type: small "
                       "letters, digits, _ . -",
                       type, set ? type : name);
    memcpy(table->type, resource.type, sizeof table->type);
    if (rec_table_typed(tables, table->type) != table)
        return hf_fail(err, HF_INVALID, "Two tables have the type %s.", table->type);
    return table->schema == NULL ? hf_fail_memory(err) : HF_OK;
}

static hf_status rec_describe_table(hf_tables *tables, hf_db *db, rec_table *table,
                                    const rec_missing *missing, hf_error *err)
{
    hf_status status = rec_describe_names(tables, table, err);
    if (status == HF_OK && table->as->name == NULL)
        return rec_set_describe(table, err);
    if (status == HF_OK)
        status = rec_catalog_read(tables, db, table, err);
    if (status == HF_OK)
        status = rec_describe_columns(tables, table, missing, err);
    if (status == HF_OK)
        status = rec_describe_who(table, err);
    if (status == HF_OK)
        status = rec_describe_rules(table, err);
    if (status == HF_OK)
        status = rec_describe_texts(tables, table, err);
    return status;
}

hf_status rec_describe(hf_tables *tables, hf_db *db, const hf_table *as, size_t count,
                       const rec_missing *missing, hf_error *err)
{
    tables->tables = hf_arena_alloc(&tables->arena, (count + 1) * sizeof *tables->tables);
    if (tables->tables == NULL)
        return hf_fail_memory(err);
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < count; i++) {
        tables->tables[i].as = &as[i];
        tables->tables[i].dialect = tables->dialect;
        tables->count = i + 1;
        status = rec_describe_table(tables, db, &tables->tables[i], missing, err);
    }
    for (size_t i = 0; status == HF_OK && i < count; i++)
        status = rec_describe_parent(tables, &tables->tables[i], err);
    if (status == HF_OK)
        status = rec_describe_roots(tables, err);
    if (status == HF_OK)
        rec_describe_ranks(tables);
    return status;
}
