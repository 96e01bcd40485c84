/* SPDX-License-Identifier: MIT */
/* How the MySQL driver reads and writes the text of statements. Needs no server. */
#include <base/arena.h>
#include <db/mysql_inside.h>
#include <support/check.h>

static hf_error err;

#define SLICE(text) ((hf_slice){(text), sizeof(text) - 1})

/* What a statement is written as, with 7, 'a' and a list of two rows (1, 'a', null), (2, '', x) for
 * $1 to $3. */
static hf_buffer out;

static const char *mysql_text_written(const char *sql)
{
    hf_arena arena = {0};
    hf_params params;
    my_parsed parsed;
    hf_list list;
    hf_list_init(&list, "itb", &arena);
    hf_value *row = hf_list_add(&list);
    hf_set_int(&row[0], 1);
    hf_set_text(&row[1], SLICE("a"));
    row = hf_list_add(&list);
    hf_set_int(&row[0], -2);
    row[1] = (hf_value){.bytes = SLICE("")};
    row[2] = (hf_value){.bytes = SLICE("\x00\xff")};
    expect(HF_OK, hf_params_init(&params, sql, &err), err);
    hf_params_bind(&params, 1, HF_VALUE_INT, &(hf_value){.number = 7});
    hf_params_bind(&params, 2, HF_VALUE_TEXT, &(hf_value){.bytes = SLICE("a'\\")});
    hf_params_list(&params, 3, &list);
    hf_params_bind(&params, 70, HF_VALUE_REAL, &(hf_value){.real = 0.1});
    hf_params_bind(&params, 71, HF_VALUE_UTF8, &(hf_value){.bytes = SLICE("a")});
    hf_params_bind(&params, 72, HF_VALUE_UTF8, &(hf_value){.bytes = SLICE("")});
    expect(HF_OK, my_parse(sql, &parsed, &err), err);
    my_begin_text(&out);
    my_write(&out, &parsed, &params);
    my_add_text(&out, (hf_slice){"", 1});
    expect_true(!out.failed);
    my_parsed_done(&parsed);
    hf_params_done(&params);
    hf_arena_done(&arena);
    return out.text;
}

static void parameters_are_replaced_where_they_stand_and_nowhere_else(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"SELECT $1", "SELECT 7"},
        {"SELECT $1,$2,$1 ", "SELECT 7,x'61275c',7"},
        {"SELECT '$1', \"$1\", `$1`, $1", "SELECT '$1', \"$1\", `$1`, 7"},
        {"SELECT 'it''s $1\\'$1', $1", "SELECT 'it''s $1\\'$1', 7"},
        {"SELECT '\\\\', $1", "SELECT '\\\\', 7"},
        {"SELECT `\\`, $1", "SELECT `\\`, 7"},
        {"SELECT /* $1 ' */ $1", "SELECT /* $1 ' */ 7"},
        {"SELECT 1 -- $1 '\n, $1", "SELECT 1 -- $1 '\n, 7"},
        {"SELECT 1 # $1 '\n, $1", "SELECT 1 # $1 '\n, 7"},
        {"SELECT 5--$1", "SELECT 5--7"},
        {"SELECT $1*2, $1 * 2", "SELECT 7*2, 7 * 2"},
        {"SELECT a$b, $", "SELECT a$b, $"},
        {" -- first\n/* and */ SELECT $1; -- last", "SELECT 7"},
        {"INSERT INTO t VALUES $3*", "INSERT INTO t VALUES (1,x'61',NULL),(-2,'',x'00ff')"},
        {"INSERT INTO t VALUES $3* ON DUPLICATE KEY UPDATE a = $1",
         "INSERT INTO t VALUES (1,x'61',NULL),(-2,'',x'00ff') ON DUPLICATE KEY UPDATE a = 7"},
        {"WHERE $3(n) AND 1", "WHERE n IN (1,-2) AND 1"},
        {"WHERE $3(l.n , `m`) AND 1", "WHERE (l.n=1 AND `m`=x'61' OR l.n=-2 AND `m`='') AND 1"},
        {"WHERE $3(a,b,c)", "WHERE (a=1 AND b=x'61' AND c=NULL OR a=-2 AND b='' AND c=x'00ff')"},
        {"WHERE $3(a,b,c,d)", "WHERE (1=0)"},
        {"SELECT $70, $71, $72, $73",
         "SELECT 1.0000000000000001e-01, _utf8mb4 x'61', _utf8mb4 '', NULL"},
        {"SET n = $3, t = $4, b = $5 WHERE a = $2",
         "SET n = 1, t = x'61', b = NULL WHERE a = x'61275c'"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_text(mysql_text_written(texts[i][0]), texts[i][1]);
    static const char *const wrong[] = {
        "SELECT $0",   "SELECT $2049",   "SELECT $99999999999", "SELECT $1(", "SELECT $1()",
        "SELECT $1(a", "SELECT $1(a b)", "SELECT 1; SELECT 2",  "",           " -- only\n ;"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        my_parsed parsed;
        expect(HF_INTERNAL, my_parse(wrong[i], &parsed, &err), err);
    }
}

static void text_is_split_where_statements_end(void **state)
{
    (void)state;
    static const char text[] =
        ";; SELECT ';' -- ; \n ; /* ; */\n"
        "CREATE PROCEDURE p() BEGIN IF 1 THEN SELECT 1; END IF; SELECT CASE 1 WHEN 1 "
        "THEN 2 END; CASE 1 WHEN 1 THEN SELECT 1; END "
        "CASE; WHILE 0 DO SELECT 1; END WHILE; END;"
        "CREATE VIEW v AS SELECT CASE WHEN 1 THEN 2 END;"
        "SELECT begin;BEGIN;COMMIT # the end;\n;";
    static const char *const parts[] = {
        "SELECT ';'", "CREATE PROCEDURE", "CREATE VIEW", "SELECT begin", "BEGIN", "COMMIT"};
    const char *at = text;
    hf_slice part;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        expect_true(my_split(&at, &part));
        expect_true(strncmp(part.at, parts[i], strlen(parts[i])) == 0);
        if (i != 1 && i != 2)
            expect_int(part.size, strlen(parts[i]));
    }
    expect_true(!my_split(&at, &part) && !my_split(&at, &part));
    hf_buffer_done(&out);
    expect_int(my_verb_of(SLICE("commit")), MY_COMMIT);
    expect_int(my_verb_of(SLICE("COMMIT AND CHAIN")), MY_COMMIT);
    expect_int(my_verb_of(SLICE("commits")), MY_OTHER);
    expect_int(my_verb_of(SLICE("Call p()")), MY_CALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_replaced_where_they_stand_and_nowhere_else),
        cmocka_unit_test(text_is_split_where_statements_end),
    };
    return cmocka_run_group_tests_name("mysql_text", tests, NULL, NULL);
}
