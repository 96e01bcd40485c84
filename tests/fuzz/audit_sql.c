/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes are read as SQL, as a schema, as a file of SQL, Prisma or XML, and as facts
 * from a parser that went wrong. Nothing is an error; what is read points into the text. */
#include <audit/schema.h>
#include <audit/source.h>
#include <audit/sql_read.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void audit_sql_must(int condition)
{
    if (!condition)
        abort();
}

static void see_statement(void *context, const sql_statement *statement)
{
    const hf_slice *text = context;
    audit_sql_must(statement->writes_count <= SQL_USES_MAX &&
                   statement->wheres_count <= SQL_USES_MAX);
    audit_sql_must(statement->table.size == 0 ||
                   (statement->table.at >= text->at &&
                    statement->table.at + statement->table.size <= text->at + text->size));
}

static void see_fact(void *context, const audit_fact *fact)
{
    audit_fact_add(context, fact);
}

static void read_sql(hf_slice text)
{
    hf_arena arena = {0};
    audit_schema schema = {.arena = &arena};
    sql_tokens tokens;
    audit_sql_must(audit_sql_scan(&arena, text, &tokens));
    audit_sql_must(tokens.items[tokens.count - 1].kind == SQL_END);
    audit_sql_read(&arena, &tokens, see_statement, &text);
    audit_schema_apply(&schema, &tokens, (audit_place){0, 1}, true);
    for (const audit_table *table = schema.tables; table != NULL; table = table->next) {
        audit_table_version(table);
        if (audit_table_is_lock(table))
            audit_lock_is_unique(table);
    }
    hf_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const readers[])(hf_slice, audit_emit_fn, void *) = {
        audit_source_sql, audit_source_prisma, audit_source_xml};
    /* A copy without anything after it, so that a read past its end is seen. */
    char *copy = malloc(size == 0 ? 1 : size);
    audit_sql_must(copy != NULL);
    memcpy(copy, bytes, size);
    hf_slice text = {copy, size};
    read_sql(text);
    for (size_t i = 0; i < 3; i++) {
        audit_facts facts = {0};
        readers[i](text, see_fact, &facts);
        audit_facts_done(&facts);
    }
    audit_facts facts = {0};
    audit_facts_unpack(&facts, copy, size);
    audit_facts_done(&facts);
    free(copy);
    return 0;
}
