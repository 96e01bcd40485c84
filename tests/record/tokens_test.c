/* SPDX-License-Identifier: MIT */
/* A unit travels from one request to the next as a token: sealed, its user's, for a while. */
#include "record/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOKENS_HOUR (INT64_C(3600) * 1000000)

static scene *tokens_open(void)
{
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_customer (id, name, phone) VALUES (42, 'Meier', 'hidden');"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (7, 42, 'Bern');"
                 "INSERT INTO {n}_tax (code, rate) VALUES ('DE', 19)");
    return s;
}

static char *tokens_export(hf_unit *unit, int64_t ttl_us)
{
    char *token = NULL;
    hf_error err;
    expect(HF_OK, hf_unit_export(unit, ttl_us, &token, &err), err);
    return token;
}

static hf_status tokens_import(hf_tables *tables, const char *user, const char *token,
                               hf_unit **out, hf_error *err)
{
    return hf_unit_import(tables, &(hf_unit_options){.user = user}, token, out, err);
}

/* What request 1 read, with a change, a new record and premises. */
static char *tokens_first_request(scene *s)
{
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *address = scene_find(unit, "address/7"), *added = NULL;
    scene_set(address, "city", HF_TEXT("Basel"));
    expect(HF_OK,
           hf_unit_add(unit, scene_table(s, "address")->name, scene_find(unit, "customer/42"),
                       &added, &s->err),
           s->err);
    scene_set(added, "city", HF_TEXT("Chur"));
    hf_reliance tax = {.kind = HF_RELY_UNCHANGED, .resource = "tax/DE"};
    hf_reliance rows = {.kind = HF_RELY_RESULT,
                        .resource = scene_table(s, "tax")->name,
                        .where = "rate > ?1",
                        .args = &HF_NUMBER(5),
                        .count = 1};
    expect(HF_OK, hf_unit_rely(unit, &tax, &s->err), s->err);
    expect(HF_OK, hf_unit_rely(unit, &rows, &s->err), s->err);
    char *token = tokens_export(unit, TOKENS_HOUR);
    hf_unit_free(unit);
    return token;
}

static void a_token_is_good_in_a_later_request_and_once(void **state)
{
    (void)state;
    scene *s = tokens_open();
    hf_unit *unit = NULL;
    char *token = tokens_first_request(s);
    expect_lacks(token, "hidden");
    expect(HF_OK, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
    expect_text(scene_text(scene_find(unit, "customer/42"), "phone"), "hidden");
    expect_text(scene_text(scene_find(unit, "address/7"), "city"), "Basel");
    scene_commit(unit);
    hf_unit_free(unit);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_address"), "2");
    expect_text(scene_value(s, "SELECT version FROM {n}_customer"), "2");
    expect(HF_OK, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
    hf_report_free(scene_refused(unit, HF_STALE));
    hf_unit_free(unit);
    hf_json_free(token);
    token = tokens_first_request(s);
    scene_run(s, "UPDATE {n}_tax SET rate = 20");
    expect(HF_OK, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_int(hf_report_count(report), 2);
    expect_int(hf_report_at(report, 0)->kind, HF_CLASH_PREMISE);
    hf_report_free(report);
    hf_unit_free(unit);
    hf_json_free(token);
    scene_close(s);
}

/* Who saved it, where the version is stored; and a table that has changed meanwhile. */
static void a_token_keeps_who_saved_and_fits_its_tables(void **state)
{
    (void)state;
    scene *s = tokens_open();
    hf_unit *unit = scene_unit(s, "Carol"), *later = NULL;
    hf_record_info info;
    char *token = NULL;
    scene_run(s, "INSERT INTO {n}_item (cart, place, what) VALUES ('7', 1, 'a')");
    scene_set(scene_find(unit, "item/7,1"), "what", HF_TEXT("b"));
    scene_commit(unit);
    hf_unit_free(unit);
    unit = scene_unit(s, "Alice");
    scene_find(unit, "item/7,1");
    expect(HF_OK, hf_unit_export(unit, 60000000, &token, &s->err), s->err);
    expect(HF_OK, tokens_import(s->records, "Alice", token, &later, &s->err), s->err);
    hf_record_describe(scene_find(later, "cart/7"), &info);
    expect_text(info.by, "Carol");
    expect_true(info.at_us > 0);
    hf_unit_free(later);
    scene_run(s, "ALTER TABLE {n}_item RENAME COLUMN what TO thing");
    hf_tables *again = NULL;
    expect(HF_OK, hf_tables_open(s->url, s->tables, s->count, s->keys, &again, &s->err), s->err);
    expect(HF_INVALID, tokens_import(again, "Alice", token, &later, &s->err), s->err);
    expect_contains(s->err.message, "have changed since; begin the work again");
    hf_tables_close(again);
    scene_run(s, "ALTER TABLE {n}_item RENAME COLUMN thing TO what");
    hf_json_free(token);
    hf_unit_free(unit);
    scene_close(s);
}

/* Commits it in a process of its own; its exit code. */
static int tokens_elsewhere(scene *s, const char *token)
{
    pid_t child = fork();
    if (child == 0) {
        hf_tables *tables = NULL;
        hf_unit *unit = NULL;
        hf_status status = hf_tables_open(s->url, s->tables, s->count, s->keys, &tables, &s->err);
        if (status == HF_OK)
            status = tokens_import(tables, "Alice", token, &unit, &s->err);
        if (status == HF_OK)
            status = hf_unit_commit(unit, NULL, &s->err);
        _exit((int)status);
    }
    int code = 0;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static void two_processes_with_one_token_save_once(void **state)
{
    (void)state;
    scene *s = tokens_open();
    char *token = tokens_first_request(s);
    expect_int(tokens_elsewhere(s, token), HF_OK);
    expect_int(tokens_elsewhere(s, token), HF_STALE);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_address"), "2");
    hf_json_free(token);
    scene_close(s);
}

static void an_altered_token_opens_to_nothing(void **state)
{
    (void)state;
    scene *s = tokens_open();
    hf_unit *unit = NULL;
    char *token = tokens_first_request(s);
    size_t size = strlen(token);
    for (size_t i = 0; i < size; i += 1 + size / 60) {
        char was = token[i];
        token[i] = was == 'A' ? 'B' : 'A';
        expect(HF_INVALID, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
        token[i] = was;
    }
    token[size - 1] = '\0';
    expect(HF_INVALID, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
    expect(HF_INVALID, tokens_import(s->records, "Alice", "", &unit, &s->err), s->err);
    expect(HF_INVALID, tokens_import(s->records, "Alice", NULL, &unit, &s->err), s->err);
    expect(HF_INVALID, tokens_import(s->records, "Alice", "\xff\xff%", &unit, &s->err), s->err);
    char *large = calloc(1, (1 << 20) + 2);
    memset(large, 'A', (1 << 20) + 1);
    expect(HF_TOO_LARGE, tokens_import(s->records, "Alice", large, &unit, &s->err), s->err);
    free(large);
    expect_true(unit == NULL);
    hf_json_free(token);
    scene_close(s);
}

static void tokens_write_keys(scene *s, const char *line, mode_t mode)
{
    FILE *file = fopen(s->keys, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fchmod(fileno(file), mode);
    fclose(file);
}

static void a_token_has_a_user_an_end_and_keys(void **state)
{
    (void)state;
    scene *s = tokens_open();
    hf_unit *unit = NULL;
    char old_key[65], new_key[65], both[140];
    snprintf(old_key, sizeof old_key, "%064d", 1);
    snprintf(new_key, sizeof new_key, "%064d", 2);
    snprintf(both, sizeof both, "%s %s", new_key, old_key);
    char *token = tokens_first_request(s);
    expect(HF_DENIED, tokens_import(s->records, "Bob", token, &unit, &s->err), s->err);
    tokens_write_keys(s, both, 0600);
    expect(HF_OK, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
    char *newer = tokens_export(unit, TOKENS_HOUR);
    hf_unit_free(unit);
    tokens_write_keys(s, new_key, 0600);
    expect(HF_INVALID, tokens_import(s->records, "Alice", token, &unit, &s->err), s->err);
    expect(HF_OK, tokens_import(s->records, "Alice", newer, &unit, &s->err), s->err);
    hf_json_free(token);
    hf_json_free(newer);
    token = tokens_export(unit, 1000);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    hf_unit *late = NULL;
    expect(HF_EXPIRED, tokens_import(s->records, "Alice", token, &late, &s->err), s->err);
    hf_json_free(token);
    expect(HF_INVALID, hf_unit_export(unit, 0, &token, &s->err), s->err);
    tokens_write_keys(s, new_key, 0644);
    expect(HF_INVALID, hf_unit_export(unit, TOKENS_HOUR, &token, &s->err), s->err);
    expect_contains(s->err.message, "chmod 600");
    tokens_write_keys(s, "too short", 0600);
    expect(HF_INVALID, hf_unit_export(unit, TOKENS_HOUR, &token, &s->err), s->err);
    unlink(s->keys);
    expect(HF_UNAVAILABLE, hf_unit_export(unit, TOKENS_HOUR, &token, &s->err), s->err);
    hf_unit_free(unit);
    scene_close(s);
}

static void a_token_of_another_database_is_refused(void **state)
{
    (void)state;
    scene *s = tokens_open();
    hf_unit *unit = NULL;
    hf_tables *others = NULL;
    char *token = tokens_first_request(s);
    /* the same database with one table less is another for a token */
    expect(HF_OK, hf_tables_open(s->url, s->tables, s->count - 1, s->keys, &others, &s->err),
           s->err);
    expect(HF_INVALID, tokens_import(others, "Alice", token, &unit, &s->err), s->err);
    expect_contains(s->err.message, "another database");
    hf_tables_close(others);
    expect(HF_OK, hf_tables_open(s->url, s->tables, s->count, NULL, &others, &s->err), s->err);
    expect(HF_INVALID, tokens_import(others, "Alice", token, &unit, &s->err), s->err);
    hf_tables_close(others);
    hf_json_free(token);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_good_in_a_later_request_and_once),
        cmocka_unit_test(a_token_keeps_who_saved_and_fits_its_tables),
        cmocka_unit_test(two_processes_with_one_token_save_once),
        cmocka_unit_test(an_altered_token_opens_to_nothing),
        cmocka_unit_test(a_token_has_a_user_an_end_and_keys),
        cmocka_unit_test(a_token_of_another_database_is_refused),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
