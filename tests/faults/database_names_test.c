/* SPDX-License-Identifier: MIT */
/* Names that a database might take for one another or stumble over: as ids, purposes, people and
 * messages they stay what they are, byte by byte, whatever the database's collation; and namespaces
 * side by side don't meet. The argument names the server. */
#include "faults/database_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All different. */
static const char *const odd[] = {
    "a",
    "A",
    "a ",
    "a  ",
    " a",
    "a.",
    "\xc3\xa4",  /* ä */
    "a\xcc\x88", /* the same to the eye */
    "\xc3\x84",
    "\xc3\xa1",
    "\xc3\xa0",
    "ae",
    "\xc3\xa6",
    "ss",
    "\xc3\x9f",
    "\xe1\xba\x9e",
    "SS",
    "i",
    "I",
    "\xc4\xb0",
    "\xc4\xb1",
    "\xef\xbd\x81", /* a full-width a */
    "\xef\xac\x81",
    "fi", /* a ligature */
    "\xf0\x9f\x94\x92",
    "\xf0\x9f\x94\x93", /* two emoji: one weight in many collations */
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",
    "\xf0\x9f\x91\xa9\xf0\x9f\x91\xa7",
    "\xe2\x80\x8b",
    "a\xe2\x80\x8b",
    "a\xc2\xad",
    "a\xc2\xa0",
    "\xef\xbb\xbf"
    "a",
    "\xef\xbf\xbd",
    "\xf0\x90\x80\x80",
    "\xee\x80\x80",
    "'",
    "''",
    "\"",
    "\"\"",
    "`",
    "\\",
    "\\\\",
    "\\'",
    "\\\"",
    "\\0",
    "\\n",
    "\\N",
    "%",
    "%%",
    "_",
    "%s",
    "%n",
    "$1",
    "$1*",
    "$1(a)",
    "?",
    ":a",
    "@a",
    "@@version",
    "{ns}",
    "{lock}",
    "NULL",
    "null",
    "0",
    "00",
    "0.0",
    "-0",
    "1e1",
    "0x41",
    "x'41'",
    "X'41'",
    "E'a'",
    "U&'a'",
    "N'a'",
    "TRUE",
    "t",
    ";",
    "; --",
    "--",
    "#",
    "/*",
    "*/",
    "/*!",
    "');",
    "',(1)",
    "a,b",
    "{a,b}",
    "{}",
    "{\"a\"}",
    "(a,b)",
    "[1,2)",
    "a\xe2\x80\xa8",
    "\xc2\x85"
    "x",
    "A'; DROP TABLE x; --",
};
enum { ODD = sizeof odd / sizeof *odd };

/* What is no text at all: control characters are refused everywhere. U+0085 is one. */
static bool is_allowed(const char *text)
{
    return strncmp(text, "\xc2\x85", 2) != 0;
}

/* Runs a batch of which every op has to be done. */
static void server_names_all_done(hf_store *store, hf_batch *batch)
{
    execute(store, batch);
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        answer(batch, i, HF_OK);
}

static void expect_apart(hf_batch *who, const int64_t fences[ODD])
{
    for (size_t i = 0, at = 0; i < ODD; i++) {
        if (!is_allowed(odd[i]))
            continue;
        const hf_answer *found = answer(who, at++, HF_OK);
        expect_int(found->locks_count, 1);
        expect_text(found->locks[0].resource.id, odd[i]);
        expect_text(found->locks[0].purpose, odd[i]);
        expect_text(found->locks[0].user, odd[i]);
        expect_text(found->locks[0].name, odd[i]);
        expect_int(found->locks[0].fence, fences[i]);
    }
}

static void names_at(const char *url)
{
    hf_store *store = input_open(url), *other = input_open(url);
    hf_credentials people[ODD];
    int64_t fences[ODD];
    hf_batch *comes = batch_new(2 * ODD), *who = batch_new(ODD), *goes = batch_new(ODD);
    for (size_t i = 0; i < ODD; i++) {
        people[i] = drawn();
        if (!is_allowed(odd[i])) {
            must(HF_INVALID, store, SESSION_OPEN, BY(people[i]), .user = odd[i]);
            continue;
        }
        add(comes, SESSION_OPEN, BY(people[i]), .user = odd[i], .name = odd[i], .idle_us = HOUR);
        add(comes, ACQUIRE, BY(people[i]), ON("policy", odd[i]), .purpose = odd[i]);
        add(who, WHO, ON("policy", odd[i]));
    }
    server_names_all_done(store, comes);
    for (size_t i = 0, at = 1; i < ODD; i++) {
        if (!is_allowed(odd[i]))
            continue;
        expect_int(answer(comes, at, HF_OK)->outcome, HF_GRANTED);
        fences[i] = answer(comes, at, HF_OK)->locks[0].fence;
        at += 2;
        expect_int(must(HF_OK, other, LIST, .user = odd[i]).locks_count, 1);
        add(goes, RELEASE, BY(people[i]), ON("policy", odd[i]), .fence = fences[i]);
    }
    server_names_all_done(other, who);
    expect_apart(who, fences);
    server_names_all_done(other, goes);
    expect_int(must(HF_OK, store, LIST, .limit = 1000).locks_count, 0);
    expect_true(hf_batch_count(goes) > 80);
    hf_batch_free(comes);
    hf_batch_free(who);
    hf_batch_free(goes);
    hf_store_close(store);
    hf_store_close(other);
}

static void names_are_bytes(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    input_place(url);
    names_at(url);
}

/* Where the database itself could not even write them. */
static void names_are_bytes_in_databases_that_could_not_hold_them(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    /* but it must be UTF-8: this one sorts and compares by other rules */
    if (input_server->postgres)
        input_database("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de' LOCALE 'C.UTF-8'",
                       url);
    else
        input_database("CHARACTER SET latin1 COLLATE latin1_german2_ci", url);
    names_at(url);
}

/* Whatever is said to others, too, and what settles an unsure answer. */
static void texts_of_requests_and_reasons_are_bytes(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    input_place(url);
    hf_store *store = input_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR), bob = newcomer(store, "bob", HOUR);
    for (size_t i = 0; i < ODD; i += 5) {
        if (!is_allowed(odd[i]))
            continue;
        hf_batch *batch = batch_new(4);
        add(batch, ACQUIRE, BY(alice), ON("policy", odd[i]), .request_id = "'\"\\%_$1{ns}");
        add(batch, REQUEST, BY(bob), ON("policy", odd[i]), .text = odd[i]);
        add(batch, WHO, ON("policy", odd[i]));
        add(batch, FORCE_RELEASE, ON("policy", odd[i]), .actor = odd[i], .text = odd[i],
            .request_id = odd[0]);
        execute(store, batch);
        expect_text(answer(batch, 2, HF_OK)->requests[0].message, odd[i]);
        answer(batch, 3, HF_OK);
        hf_batch_clear(batch);
        add(batch, BEAT, BY(alice));
        execute(store, batch);
        const hf_answer *told = answer(batch, 0, HF_OK);
        bool found = false;
        for (size_t k = 0; k < told->lost_count; k++)
            found |= strcmp(told->lost[k].resource.id, odd[i]) == 0 &&
                     strcmp(told->lost[k].by, odd[i]) == 0 &&
                     strcmp(told->lost[k].reason, odd[i]) == 0;
        if (!found)
            check_failed(__FILE__, __LINE__, "The loss of %s is not told as it was said.", odd[i]);
        must(HF_NOT_HELD, store, RELEASE, BY(alice), ON("policy", odd[i])); /* now it is known */
        hf_batch_free(batch);
    }
    hf_store_close(store);
}

/* ---- namespaces ---- */

static hf_store *open_in(const char *database, const char *names, char *url)
{
    char parameter[64];
    snprintf(parameter, sizeof parameter, "namespace=%s", names);
    input_url(input_boss, database, parameter, url);
    return input_open(url);
}

static void take_and_release(hf_store *store, const hf_credentials *who)
{
    must(HF_OK, store, ACQUIRE, BY(*who), ON("policy", "1"));
    must(HF_OK, store, RELEASE, BY(*who), ON("policy", "1"));
}

static void namespaces_side_by_side_do_not_meet(void **state)
{
    (void)state;
    static const char *const names[] = {"a",  "a_b",      "a_lock",
                                        "ab", "holdfast", "a1234567890123456789012345678ab"};
    enum { COUNT = sizeof names / sizeof *names };
    char urls[COUNT + 1][HF_URL_MAX], elsewhere[HF_URL_MAX];
    hf_store *stores[COUNT + 1];
    hf_credentials people[COUNT + 1];
    hf_error err = {0};
    for (size_t i = 0; i < COUNT; i++)
        stores[i] = open_in(input_db, names[i], urls[i]);
    stores[COUNT] = open_in(input_database("", elsewhere), names[0], urls[COUNT]);
    for (size_t i = 0; i <= COUNT; i++) {
        people[i] = newcomer(stores[i], "alice", HOUR);
        said got = must(HF_OK, stores[i], ACQUIRE, BY(people[i]), ON("policy", "1"),
                        .request_id = "the-same");
        expect_int(got.outcome, HF_GRANTED);
        must(HF_OK, stores[i], TYPE_SET, .type = "special",
             .policy = i % 2 ? HF_POLICY_READ_WRITE : HF_POLICY_OPTIMISTIC);
        expect_true(i == 0 || ASK(stores[i], BEAT, BY(people[i - 1])).status != HF_OK);
    }
    /* Who sits on one's rows is not in the others' way. */
    app *admin = app_connect(urls[0]);
    app_begin(admin, READ_COMMITTED);
    app_do(admin, "SELECT fence FROM {resource} FOR UPDATE");
    must(HF_BUSY, stores[0], RELEASE, BY(people[0]), ON("policy", "1"));
    for (size_t i = 1; i <= COUNT; i++)
        expect_in_time(400 * MILLISECOND, names[i % COUNT],
                       take_and_release(stores[i], &people[i]));
    app_close(admin);
    must(HF_OK, stores[0], RELEASE, BY(people[0]), ON("policy", "1"));
    hf_store_close(stores[0]);
    expect(HF_OK, hf_store_uninstall(urls[0], true, &err), err);
    for (size_t i = 1; i <= COUNT; i++) {
        must(HF_OK, stores[i], ACQUIRE, BY(people[i]), ON("policy", "2"));
        expect_int(must(HF_OK, stores[i], LIST, .limit = 10).locks_count, 1);
        hf_store_close(stores[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_bytes),
        cmocka_unit_test(names_are_bytes_in_databases_that_could_not_hold_them),
        cmocka_unit_test(texts_of_requests_and_reasons_are_bytes),
        cmocka_unit_test(namespaces_side_by_side_do_not_meet),
    };
    return INPUT_MAIN("names", tests, argc, argv);
}
