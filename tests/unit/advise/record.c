/* SPDX-License-Identifier: MIT */
/* Answers, decisions and records: what is read, what is refused, what comes back unchanged. */
#include <advise/record.h>
#include <base/seams.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>

/* Large, and used by one test at a time. */
static advise_record record, again;

static hf_status decide(const char *answers, advise_record *out, hf_error *err)
{
    *out = (advise_record){.date = "2026-11-18", .seed = (uint64_t)INT64_MAX};
    hf_status status = advise_answers_parse(answers, strlen(answers), &out->answers, err);
    return status != HF_OK ? status : advise_decide(out, err);
}

static void expect_strategy(const char *answers, advise_strategy wanted)
{
    hf_error err;
    expect(HF_OK, decide(answers, &record, &err), err);
    if (record.strategy != wanted)
        check_failed(__FILE__, __LINE__, "%s comes to %s, not %s", answers,
                     advise_strategy_name(record.strategy), advise_strategy_name(wanted));
}

static void nothing_known_is_optimistic_by_rule_of_thumb(void **state)
{
    (void)state;
    expect_strategy("{}", ADVISE_BE_OPTIMISTIC);
    expect_true(record.by_heuristic);
    expect_int(record.certainty, ADVISE_UNSURE);
    expect_contains(record.reasons.items[0],
                    "Neither how often people meet nor what a lost edit costs is known");
    expect_strategy("{\"editors\":40,\"readers_need_latest\":true}", ADVISE_BE_PESSIMISTIC);
    expect_true(record.by_heuristic);
    expect_strategy("{\"editors\":4,\"readers_need_latest\":true}", ADVISE_BE_OPTIMISTIC);
    expect_strategy("{\"edits_per_day\":40,\"redo_minutes\":5}", ADVISE_BE_OPTIMISTIC);
    expect_true(!record.by_heuristic);
}

static void one_request_is_a_transaction_with_its_isolation_level(void **state)
{
    (void)state;
    expect_strategy("{\"spans_requests\":false}", ADVISE_BE_TRANSACTION);
    expect_int(record.isolation, ADVISE_REPEATABLE_READ);
    expect_true(!record.billed);
    expect_strategy("{\"spans_requests\":false,\"database\":\"mysql\"}", ADVISE_BE_TRANSACTION);
    expect_int(record.isolation, ADVISE_READ_COMMITTED);
    expect_strategy("{\"spans_requests\":false,\"grouped_with\":[\"line\"]}",
                    ADVISE_BE_TRANSACTION);
    expect_int(record.isolation, ADVISE_SERIALIZABLE);
    expect_strategy("{\"spans_requests\":false,\"database\":\"sqlite\"}", ADVISE_BE_TRANSACTION);
    expect_int(record.isolation, ADVISE_SERIALIZABLE);
}

static void other_work_than_editing_is_a_lease(void **state)
{
    (void)state;
    expect_strategy("{\"work\":\"single-flight\"}", ADVISE_BE_LEASE);
    expect_strategy("{\"work\":\"at-most-once\"}", ADVISE_BE_LEASE);
    expect_contains(record.reasons.items[0], "carries a key");
    expect_strategy("{\"work\":\"hot-key\",\"database\":\"mariadb\"}", ADVISE_BE_LEASE);
    expect_int(record.storage, ADVISE_IN_MARIADB);
}

#define BUSY                                                                                       \
    "\"editors\":40,\"records\":100,\"edits_per_day\":200,\"edit_minutes\":30,\"redo_minutes\":30"

static void writers_past_the_lock_want_both(void **state)
{
    (void)state;
    expect_strategy("{" BUSY "}", ADVISE_BE_PESSIMISTIC);
    expect_strategy("{" BUSY ",\"session\":\"job\"}", ADVISE_BE_BOTH);
    expect_strategy("{" BUSY ",\"budget\":\"small\",\"code_paths\":9}", ADVISE_BE_BOTH);
    expect_strategy("{" BUSY ",\"budget\":\"small\",\"code_paths\":9,\"schema_may_change\":false}",
                    ADVISE_BE_PESSIMISTIC);
}

static void readers_choose_the_lock_type(void **state)
{
    (void)state;
    expect_strategy("{" BUSY "}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.lock_type, ADVISE_EXCLUSIVE_WRITE);
    expect_strategy("{" BUSY ",\"readers_need_latest\":true}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.lock_type, ADVISE_EXCLUSIVE_READ);
    expect_strategy("{" BUSY ",\"readers_need_latest\":true,\"read_mostly\":true}",
                    ADVISE_BE_PESSIMISTIC);
    expect_int(record.lock_type, ADVISE_READ_WRITE);
}

static void locks_live_where_all_servers_see_them(void **state)
{
    (void)state;
    expect_strategy("{" BUSY ",\"database\":\"sqlite\",\"servers\":1}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.storage, ADVISE_IN_SQLITE);
    expect_strategy("{" BUSY ",\"database\":\"sqlite\",\"servers\":3}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.storage, ADVISE_IN_SERVER);
    expect_strategy("{" BUSY ",\"database\":\"other\"}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.storage, ADVISE_IN_SERVER);
    expect_strategy("{" BUSY ",\"schema_may_change\":false}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.storage, ADVISE_IN_SERVER);
    expect_strategy("{" BUSY ",\"stack\":\"Go with redis\"}", ADVISE_BE_PESSIMISTIC);
    expect_int(record.storage, ADVISE_IN_REDIS);
}

/* A threshold is where the choice really changes. */
static void beyond_a_threshold_the_choice_is_another(void **state)
{
    (void)state;
    char text[256];
    static const char start[] =
        "\"records\":1000,\"edit_minutes\":20,\"redo_minutes\":20,\"editors\":900";
    snprintf(text, sizeof text, "{%s,\"edits_per_day\":10}", start);
    expect_strategy(text, ADVISE_BE_OPTIMISTIC);
    double bound = 0;
    for (size_t i = 0; i < record.thresholds_count; i++)
        if (strcmp(record.thresholds[i].measure, "edits_per_day") == 0 &&
            record.thresholds[i].above)
            bound = record.thresholds[i].value;
    expect_true(bound > 10);
    snprintf(text, sizeof text, "{%s,\"edits_per_day\":%g}", start, bound * 1.1);
    expect_strategy(text, ADVISE_BE_PESSIMISTIC);
    snprintf(text, sizeof text, "{%s,\"edits_per_day\":%g}", start, bound * 0.8);
    expect_strategy(text, ADVISE_BE_OPTIMISTIC);
}

static void what_is_assumed_and_would_change_the_choice_is_named(void **state)
{
    (void)state;
    expect_strategy("{\"records\":1000,\"edits_per_day\":20,\"edit_minutes\":20}",
                    ADVISE_BE_OPTIMISTIC);
    expect_int(record.certainty, ADVISE_FAIRLY_SURE);
    bool named = false;
    for (size_t i = 0; i < record.doubts.count; i++)
        named = named || strstr(record.doubts.items[i],
                                "busiest_tenth_share was assumed to be 0.5; above") != NULL;
    expect_true(named);
    expect_contains(record.doubts.items[record.doubts.count - 1], "For a domain expert");
}

static void bad_answers_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"", "The answers file is empty."},
        {"  \n", "The answers file is empty."},
        {"editors: 5", "The answers file is neither JSON nor a record"},
        {"[1]", "The answers file is neither JSON nor a record"},
        {"{\"editors\":5", "line 1, column 13"},
        {"{\"editors\":0}", "editors is from 1 to 1000000, not 0"},
        {"{\"editors\":1e9}", "editors is from 1 to 1000000, not 1000000000"},
        {"{\"editors\":2.5}", "editors is a whole number, not 2.5"},
        {"{\"editors\":-3}", "editors is from 1"},
        {"{\"editors\":\"five\"}", "editors is a number"},
        {"{\"save_share\":70}", "save_share is from 0.001 to 1, not 70"},
        {"{\"spans_requests\":1}", "spans_requests is true or false"},
        {"{\"database\":\"oracle\"}",
         "database is one of postgres, mariadb, mysql, sqlite or other"},
        {"{\"session\":7}", "session is a text in quotes"},
        {"{\"entities\":\"order\"}", "entities is a list of names"},
        {"{\"entities\":[]}", "entities needs at least one name"},
        {"{\"entities\":[7]}", "entities is a list of names"},
        {"{\"colour\":\"red\"}", "There is no answer called \"colour\""},
        {"{\"editors\":{\"mark\":\"expert\"}}", "editors is a value, or {\"value\""},
        {"{\"editors\":{\"value\":5,\"mark\":\"guessed\"}}", "The mark of editors is"},
        {"{\"answers\":[]}", "\"answers\" is not an object"},
        {"{\"edit_minutes\":20,\"edit_minutes_p90\":10}",
         "edit_minutes_p90 (10) is less than edit_minutes (20)"},
        {"{\"spans_requests\":false,\"edit_minutes\":45}",
         "spans_requests says that an edit is one request"},
        {"{\"editors\":2,\"edits_per_day\":400,\"edit_minutes\":30}",
         "keep 25.0 people busy all day, but editors is 2"},
        {"{\"entities\":[\"order\"],\"grouped_with\":[\"order\"]}",
         "order is in grouped_with and leads entities"},
        {"{\"holdfast_record\":2,\"answers\":{}}",
         "The record is of version 2, and this program knows version 1"},
        {"{\"holdfast_record\":\"x\",\"answers\":{}}", "is not a whole number"},
    };
    hf_error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(HF_INVALID, decide(rows[i].text, &record, &err), err);
        expect_contains(err.message, rows[i].sentence);
    }
}

static void bad_records_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"{}", "This is no decision record"},
        {"# A page", "The record is neither JSON nor a record"},
        {"{\"holdfast_record\":9}", "The record is of version 9"},
        {"{\"holdfast_record\":1}", "The record has no answers"},
        {"{\"holdfast_record\":1,\"answers\":{}}", "The record's strategy is missing"},
        {"{\"holdfast_record\":1,\"answers\":{},\"strategy\":\"hope\"}",
         "The record's strategy is none that"},
        {"{\"holdfast_record\":1,\"answers\":{},\"strategy\":\"pessimistic\"}",
         "but it has no lock_type"},
        {"{\"holdfast_record\":1,\"answers\":{},\"strategy\":\"pessimistic\",\"lock_type\":"
         "\"exclusive-"
         "write\"}",
         "but it has no storage"},
        {"{\"holdfast_record\":1,\"answers\":{},\"strategy\":\"pessimistic\",\"lock_type\":"
         "\"exclusive-"
         "write\","
         "\"storage\":\"postgres\"}",
         "timeouts make no sense"},
        {"{\"holdfast_record\":1,\"answers\":{},\"strategy\":\"both\",\"lock_type\":\"read-write\","
         "\"storage\":\"server\",\"timeouts\":{\"lock_minutes\":1e300,\"idle_minutes\":5,"
         "\"beat_seconds\":30}}",
         "timeouts make no sense"},
        {"{\"holdfast_record\":1,\"answers\":{},\"strategy\":\"optimistic\",\"thresholds\":[{}]}",
         "A threshold of"},
    };
    hf_error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(HF_INVALID, advise_record_read(rows[i].text, strlen(rows[i].text), &record, &err),
               err);
        expect_contains(err.message, rows[i].sentence);
    }
}

static char *record_written(const advise_record *from, bool markdown)
{
    hf_buffer out = {0};
    if (markdown)
        advise_record_markdown(from, &out);
    else
        advise_record_json(from, &out);
    return hf_buffer_take(&out);
}

static void records_come_back_as_they_were(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "{}",
        "{\"work\":\"single-flight\"}",
        "{\"spans_requests\":false}",
        "{" BUSY ",\"session\":\"job\",\"stack\":\"a \\\"b\\\" {c} \\\\ d\",\"entities\":[\"Ünit, "
        "7\",\"x\"]}",
        "{" BUSY ",\"readers_need_latest\":true,\"grouped_with\":[\"a\",\"b c\"],"
        "\"save_share\":{\"value\":0.77,\"mark\":\"measured\"}}",
    };
    hf_error err;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        expect(HF_OK, decide(answers[i], &record, &err), err);
        char *json = record_written(&record, false), *page = record_written(&record, true);
        for (int markdown = 0; markdown < 2; markdown++) {
            const char *text = markdown ? page : json;
            expect(HF_OK, advise_record_read(text, strlen(text), &again, &err), err);
            char *json_again = record_written(&again, false),
                 *page_again = record_written(&again, true);
            expect_text(json_again, json);
            expect_text(page_again, page);
            hf_free(json_again);
            hf_free(page_again);
            if (!markdown)
                continue;
            /* As answers it comes to the same decision. */
            expect(HF_OK, decide(text, &again, &err), err);
            json_again = record_written(&again, false);
            expect_text(json_again, json);
            hf_free(json_again);
        }
        expect_lacks(page, "{{");
        hf_free(json);
        hf_free(page);
    }
}

static void names_become_identifiers(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"Line Item", "line_item"},
                                          {"order", "order"},
                                          {"  7 up ", "up"},
                                          {"Ünit-7", "nit_7"},
                                          {"!!", "record"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[ADVISE_NAME_SIZE];
        advise_identifier(rows[i][0], out);
        expect_text(out, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_is_optimistic_by_rule_of_thumb),
        cmocka_unit_test(one_request_is_a_transaction_with_its_isolation_level),
        cmocka_unit_test(other_work_than_editing_is_a_lease),
        cmocka_unit_test(writers_past_the_lock_want_both),
        cmocka_unit_test(readers_choose_the_lock_type),
        cmocka_unit_test(locks_live_where_all_servers_see_them),
        cmocka_unit_test(beyond_a_threshold_the_choice_is_another),
        cmocka_unit_test(what_is_assumed_and_would_change_the_choice_is_named),
        cmocka_unit_test(bad_answers_are_named),
        cmocka_unit_test(bad_records_are_named),
        cmocka_unit_test(records_come_back_as_they_were),
        cmocka_unit_test(names_become_identifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
