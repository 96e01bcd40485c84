/* SPDX-License-Identifier: MIT */
/* The table of fields as data: rows packed and unpacked, what is shown of them, as JSON too. */
#include <base/seams.h>
#include <lock/fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static const struct {
    const hf_row_fields *of;
    size_t size;
} rows[] = {
    {&hf_session_fields, sizeof(hf_session_row)}, {&hf_resource_fields, sizeof(hf_resource_row)},
    {&hf_save_fields, sizeof(hf_save_row)},       {&hf_lock_fields, sizeof(hf_lock_row)},
    {&hf_request_fields, sizeof(hf_request_row)}, {&hf_lost_fields, sizeof(hf_lost_row)},
    {&hf_event_fields, sizeof(hf_event_row)},     {&hf_type_fields, sizeof(hf_type_row)},
    {&hf_token_fields, sizeof(hf_token_row)},
};
enum { ROWS = sizeof rows / sizeof *rows, ALL = HF_EVERY | HF_WITH_ENDS };

static bool is_reference(const hf_row_field *field)
{
    return field->kind == HF_ROW_SESSION || field->kind == HF_ROW_TYPE_OF ||
           field->kind == HF_ROW_ID_OF;
}

/* A value of its own for each field, as long as the limit allows when `most`. */
static char text_of[ROWS * 32][4100];

static void fill(size_t which, void *row, bool most)
{
    static const char id[] = "00112233445566778899aabbccddeeff";
    const hf_row_fields *of = rows[which].of;
    memset(row, 0, rows[which].size);
    for (size_t i = 0; i < of->count; i++) {
        const hf_row_field *field = &of->fields[i];
        char *text = text_of[which * 32 + i];
        size_t size = most ? field->limit : 1 + i % 7;
        memset(text, 'a' + (int)(i % 26), size);
        text[size] = '\0';
        if (is_reference(field))
            continue;
        if (field->kind == HF_ROW_MODE)
            hf_row_field_set_text(field, row, hf_slice_of("shared"));
        else if (field->kind == HF_ROW_POLICY)
            hf_row_field_set_text(field, row, hf_slice_of("read-write"));
        else if (field->kind == HF_ROW_EVENT)
            hf_row_field_set_text(field, row, hf_slice_of("forced"));
        else if (field->kind == HF_ROW_ID)
            hf_row_field_set_text(field, row, hf_slice_of(id));
        else if (field->kind == HF_ROW_HASH)
            expect_true(hf_row_field_set_text(field, row, (hf_slice){id, 32}));
        else if (hf_row_field_is_text(field))
            expect_true(hf_row_field_set_text(field, row, hf_slice_of(text)));
        else
            hf_row_field_set_number(field, row, 1000 + (int64_t)i);
    }
}

static void expect_same_row(const hf_row_fields *of, unsigned mask, const void *actual,
                            const void *expected)
{
    for (size_t i = 0; i < of->count; i++) {
        const hf_row_field *field = &of->fields[i];
        if (is_reference(field) || hf_row_field_is_out(field, mask))
            continue;
        if (!hf_row_field_is_text(field))
            expect_int(hf_row_field_number(field, actual), hf_row_field_number(field, expected));
        else if (!hf_slice_equal(hf_row_field_text(field, actual),
                                 hf_row_field_text(field, expected)))
            fail_msg("%s.%s differs", of->name, field->column);
    }
}

/* With every mask that is a single flag, all of them, and those that stores use. */
static void a_row_that_was_packed_comes_back_as_it_was(void **state)
{
    (void)state;
    static const unsigned masks[] = {HF_KEY,   HF_NAMED, HF_MOVES,           HF_VERSIONED,
                                     HF_REST,  HF_EVERY, HF_MOVES | HF_REST, HF_WITH_ENDS,
                                     HF_SHOWN, ALL,      ALL & ~HF_KEY};
    for (size_t i = 0; i < ROWS * 2; i++)
        for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
            const hf_row_fields *of = rows[i / 2].of;
            void *row = malloc(rows[i / 2].size), *again = calloc(1, rows[i / 2].size);
            fill(i / 2, row, i % 2);
            size_t size = hf_packed_size(of, masks[k], row);
            char *packed = malloc(size + 1);
            packed[size] = '!';
            hf_pack(of, masks[k], row, packed);
            expect_int(packed[size], '!');
            hf_unpack(of, masks[k], packed, again);
            expect_same_row(of, masks[k], again, row);
            expect_int(hf_packed_size(of, masks[k], again), size);
            free(packed);
            free(row);
            free(again);
        }
}

static void a_row_is_packed_where_it_is_while_its_texts_are_as_long(void **state)
{
    (void)state;
    hf_lock_row lock = {.fence = 7, .purpose = hf_slice_of("renewal"), .data = hf_slice_of("{}")};
    hf_lock_row again = {0};
    char packed[512];
    hf_pack(&hf_lock_fields, HF_REST, &lock, packed);
    hf_unpack(&hf_lock_fields, HF_REST, packed, &again);
    again.ends_us = 99;
    again.data = hf_slice_of("[]");
    expect_true(hf_pack_fits(&hf_lock_fields, HF_REST, &again, packed));
    hf_pack(&hf_lock_fields, HF_REST, &again, packed);
    memset(&lock, 0, sizeof lock);
    hf_unpack(&hf_lock_fields, HF_REST, packed, &lock);
    expect_int(lock.fence, 7);
    expect_int(lock.ends_us, 99);
    expect_true(hf_slice_equal(lock.purpose, hf_slice_of("renewal")));
    expect_true(hf_slice_equal(lock.data, hf_slice_of("[]")));
    again.data = hf_slice_of("[1]");
    expect_true(!hf_pack_fits(&hf_lock_fields, HF_REST, &again, packed));
    again.data = HF_NOTHING;
    again.purpose = hf_slice_of("renewal 2"); /* as long in all, but not each */
    expect_true(!hf_pack_fits(&hf_lock_fields, HF_REST, &again, packed));
}

/* The longest of each text has room in the public struct, which names it in JSON. */
static void what_is_shown_is_the_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const hf_row_fields *of = rows[i].of;
        void *row = malloc(rows[i].size);
        char *shown = calloc(1, of->shown_size);
        fill(i, row, true);
        hf_show(of, row, shown);
        for (size_t k = 0; k < of->count; k++) {
            const hf_row_field *field = &of->fields[k];
            const char *at = shown + field->shown;
            if (field->shown == HF_NOT_SHOWN)
                continue;
            if (field->kind == HF_ROW_TEXT || field->kind == HF_ROW_CHARS)
                expect_true(hf_slice_equal(hf_slice_of(at), hf_row_field_text(field, row)));
            else
                assert_memory_equal(at, (const char *)row + field->at, field->shown_size);
        }
        hf_json json = {0};
        hf_json_begin(&json, '{');
        hf_show_json(&json, of, shown);
        hf_json_end(&json, '}');
        for (size_t k = 0; k < of->shown_count; k++) {
            char name[64];
            snprintf(name, sizeof name, "\"%s\":", of->shown[k].name);
            expect_contains(json.out.text, name);
        }
        hf_buffer_done(&json.out);
        free(row);
        free(shown);
    }
}

static char *json_of(const hf_row_fields *of, const void *shown)
{
    hf_json json = {0};
    hf_show_json(&json, of, shown);
    return hf_buffer_take(&json.out);
}

static void what_there_is_not_is_null_or_an_empty_text(void **state)
{
    (void)state;
    hf_lock lock = {.resource = {"policy", "12345"}, .mode = HF_SHARED, .fence = 3, .since_us = 1};
    char *text = json_of(&hf_lock_fields, &lock);
    expect_text(text, "\"resource\":\"policy/12345\",\"mode\":\"shared\",\"fence\":3,"
                      "\"since\":\"1970-01-01T00:00:00.000001Z\",\"expires\":null,\"ends\":null,"
                      "\"purpose\":\"\",\"session\":\"\",\"user\":\"\",\"name\":\"\"");
    hf_free(text);
    hf_event event = {.kind = HF_EVENT_TYPE_SET, .resource = {.type = "policy"}};
    text = json_of(&hf_event_fields, &event);
    expect_contains(text, "\"kind\":\"type_set\",\"resource\":\"policy\",\"session\":null");
    hf_free(text);
    hf_type type = {.type = "policy", .policy = HF_POLICY_OPTIMISTIC, .ttl_us = 1500000};
    text = json_of(&hf_type_fields, &type);
    expect_text(text, "\"type\":\"policy\",\"policy\":\"optimistic\",\"ttl_seconds\":1.5,"
                      "\"max_ttl_seconds\":null");
    hf_free(text);
}

static const hf_row_field *field_of(const hf_row_fields *of, const char *column)
{
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->fields[i].column, column) == 0)
            return &of->fields[i];
    fail_msg("%s has no column %s", of->name, column);
    return NULL;
}

static void values_that_are_none_are_told(void **state)
{
    (void)state;
    hf_lock_row lock = {0};
    hf_session_row session = {0};
    hf_event_row event = {0};
    const hf_row_field *mode = field_of(&hf_lock_fields, "mode"),
                       *hash = field_of(&hf_session_fields, "key_sha256"),
                       *id = field_of(&hf_session_fields, "id"),
                       *kind = field_of(&hf_event_fields, "kind");
    expect_true(hf_row_field_set_text(mode, &lock, hf_slice_of("shared")));
    expect_true(!hf_row_field_set_text(mode, &lock, hf_slice_of("Shared")));
    expect_true(!hf_row_field_set_text(mode, &lock, HF_NOTHING));
    expect_true(!hf_row_field_set_text(hash, &session, hf_slice_of("short")));
    expect_true(!hf_row_field_set_text(id, &session, hf_slice_of("0011")));
    /* one that a later program wrote: readers pass over it */
    expect_true(hf_row_field_set_text(kind, &event, hf_slice_of("teleported")));
    expect_int(event.kind, HF_EVENT_KINDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_that_was_packed_comes_back_as_it_was),
        cmocka_unit_test(a_row_is_packed_where_it_is_while_its_texts_are_as_long),
        cmocka_unit_test(what_is_shown_is_the_rows),
        cmocka_unit_test(what_there_is_not_is_null_or_an_empty_text),
        cmocka_unit_test(values_that_are_none_are_told),
    };
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
