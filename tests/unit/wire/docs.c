/* SPDX-License-Identifier: MIT */
/* docs/wire.md says what the tables say. With HF_TEST_UPDATE=1 its generated part is written anew.
 * */
#include <base/buffer.h>
#include <support/check.h>
#include <support/document.h>
#include <wire/fields.h>

static void docs_add_names(hf_buffer *out, const wire_names *names)
{
    for (int i = names->first; i < names->count; i++)
        hf_buffer_print(out, "%s`%s`",
                        i == names->first       ? ""
                        : i + 1 == names->count ? " or "
                                                : ", ",
                        names->name(i));
}

static void add_what(hf_buffer *out, const wire_field *field)
{
    switch (field->kind) {
    case WIRE_STRING:
    case WIRE_LOGIN:
        hf_buffer_print(out, "text");
        break;
    case WIRE_DIGEST:
        hf_buffer_print(out, "64 hex digits");
        break;
    case WIRE_CHARS:
        hf_buffer_print(out, "text, up to %zu bytes", field->size - 1);
        break;
    case WIRE_INT:
        hf_buffer_print(out, "whole number");
        break;
    case WIRE_FENCE:
        hf_buffer_print(out, "whole number, 1 or more");
        break;
    case WIRE_SIZE:
    case WIRE_COUNT:
        hf_buffer_print(out, "whole number, 0 or more");
        break;
    case WIRE_FLAG:
        hf_buffer_print(out, "true or false");
        break;
    case WIRE_NAME:
        docs_add_names(out, field->names);
        break;
    case WIRE_TIME:
        hf_buffer_print(out, "time");
        break;
    case WIRE_SPAN:
        hf_buffer_print(out, "number of seconds");
        break;
    case WIRE_PLACE:
    case WIRE_NAMED:
        hf_buffer_print(out, "text, `type/id`");
        break;
    case WIRE_CURSOR:
        hf_buffer_print(out, "text, up to %d bytes", HF_CURSOR_SIZE - 1);
        break;
    case WIRE_LIST:
        hf_buffer_print(out, "array");
        break;
    }
}

static void add_fields(hf_buffer *out, const wire_table *table, bool of_ops)
{
    hf_buffer_print(out, of_ops ? "| field | what it is | |\n|---|---|---|\n"
                                : "| field | what it is | there | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < table->count; i++) {
        const wire_field *field = &table->fields[i];
        hf_buffer_print(out, "| `%s` | ", field->name);
        add_what(out, field);
        if (!of_ops)
            hf_buffer_print(out, " | %s", field->needs ? "always" : "unless zero or empty");
        hf_buffer_print(out, " | %s |\n", field->about ? field->about : "");
    }
    hf_buffer_print(out, "\n");
}

/* What the rows of a list have. All of it is always there. */
static void docs_add_row(hf_buffer *out, const hf_row_fields *of)
{
    hf_buffer_print(out, "| field | what it is |\n|---|---|\n");
    for (const hf_shown *shown = of->shown; shown < of->shown + of->shown_count; shown++) {
        const wire_field field = wire_field_of(shown);
        hf_buffer_print(out, "| `%s` | ", field.name);
        add_what(out, &field);
        if (field.kind == WIRE_PLACE && (shown->flags & HF_MAYBE)) /* an event's */
            hf_buffer_print(out, " or a type alone");
        if (shown->flags & HF_EMPTY)
            hf_buffer_print(out, "; empty: none");
        else if (shown->flags & HF_MAYBE)
            hf_buffer_print(out, ", or null");
        hf_buffer_print(out, " |\n");
    }
    hf_buffer_print(out, "\n");
}

static void add_set(hf_buffer *out, uint64_t of, bool needs)
{
    const char *between = "";
    for (size_t i = 0; i < wire_op_table.count; i++) {
        const wire_field *field = &wire_op_table.fields[i];
        if ((needs ? field->needs : field->takes) & of) {
            hf_buffer_print(out, "%s`%s`", between, field->name);
            between = ", ";
        }
    }
    hf_buffer_print(out, " |");
}

static char *docs_generated(void)
{
    hf_buffer out = {0};
    hf_buffer_print(&out, "### Ops\n\n| `op` | needs | takes |\n|---|---|---|\n");
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        hf_buffer_print(&out, "| `%s` | ", hf_op_kind_name((hf_op_kind)kind));
        add_set(&out, wire_set_of((hf_op_kind)kind), true);
        hf_buffer_print(&out, " ");
        add_set(&out, wire_set_of((hf_op_kind)kind), false);
        hf_buffer_print(&out, "\n");
    }
    hf_buffer_print(&out, "\n");
    add_fields(&out, &wire_op_table, true);
    hf_buffer_print(&out, "### Answers\n\n");
    add_fields(&out, &wire_answer_table, false);
    for (size_t i = 0; i < wire_answer_table.count; i++) {
        const wire_field *list = &wire_answer_table.fields[i];
        if (list->kind != WIRE_LIST)
            continue;
        hf_buffer_print(&out, "Each of **%s**:\n\n", list->name);
        if (list->rows != NULL)
            docs_add_row(&out, list->rows);
        else
            add_fields(&out, list->table, false);
    }
    return hf_buffer_take(&out);
}

static void the_document_says_what_the_tables_say(void **state)
{
    (void)state;
    expect_document("wire.md", "lib/wire/fields.c", docs_generated());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_document_says_what_the_tables_say)};
    return cmocka_run_group_tests_name("wire_docs", tests, NULL, NULL);
}
