/* SPDX-License-Identifier: MIT */
/* What is blotted out of a command line, and what is not. */
#include <cli/hide.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>

#define ID  "0123456789abcdef0123456789abcdef"
#define KEY "fedcba9876543210fedcba9876543210"

/* What others see of the word; the program sees what was typed. */
static void seen(const char *typed, const char *shown)
{
    char word[256];
    char *argv[] = {word, NULL};
    snprintf(word, sizeof word, "%s", typed);
    char **copy = cli_hide(1, argv);
    expect_true(copy != NULL && copy[1] == NULL);
    expect_text(copy[0], typed);
    expect_text(word, shown);
    for (size_t i = strlen(word); i < strlen(typed); i++)
        expect_int(word[i], 0);
    cli_hide_done(copy);
}

static void passwords_of_urls_are_blotted_out(void **state)
{
    (void)state;
    seen("postgres://app:secret@db1/sales", "postgres://app@db1/sales");
    seen("--store=mysql://app:s@c?r@db1/sales", "--store=mysql://app@db1/sales");
    /* not escaped as it should be */
    seen("postgres://app:se/cret@db1/sales", "postgres://app@db1/sales");
    seen("postgres://db1:5432/sales?user=app", "postgres://db1:5432/sales?user=app");
    seen("--store=postgres://app@db1/sales?password=secret&sslmode=require",
         "--store=postgres://app@db1/sales?sslmode=require");
}

static void keys_of_sessions_are_blotted_out(void **state)
{
    (void)state;
    seen(ID "." KEY, ID ".");
    seen(ID "." KEY KEY, ID ".");
    seen("--session=" ID "." KEY, "--session=" ID ".");
    seen("--replaces=" ID "." KEY KEY KEY KEY, "--replaces=" ID ".");
}

/* What becomes of the sentence when that is the command line. */
static void repeated(const char *typed, const char *sentence, const char *shown)
{
    char word[256], text[256];
    char *argv[] = {word, NULL};
    snprintf(word, sizeof word, "%s", typed);
    snprintf(text, sizeof text, "%s", sentence);
    char **copy = cli_hide(1, argv);
    cli_hide_in(text);
    expect_text(text, shown);
    cli_hide_done(copy);
}

static void sentences_do_not_repeat_them(void **state)
{
    (void)state;
    repeated("postgres://app:secret@db1/sales", "No 'postgres://app:secret@db1/sales'.",
             "No 'postgres://app@db1/sales'.");
    repeated("--mode=postgres://app:sec ret@db1/sales", "No mode 'postgres://app:sec r'; see it.",
             "No mode 'postgres://app'; see it.");
    repeated("postgres://app:sec\001ret@db1/s", "'postgres://app:sec\\u0001ret@db1/s'",
             "'postgres://app@db1/s'");
    repeated("redis://:s/e@db1", "redis://:s/e@db1, redis://:s and redis://:s/e",
             "redis://@db1, redis:// and redis://");
    repeated("x", "mysql://a:b@c and mysql://d:e@f?password=g&h=1, http://127.0.0.1:7420/@x",
             "mysql://a@c and mysql://d@f?h=1, http://127.0.0.1:7420/@x");
    repeated("postgres://h/d?user=u&password=a b", "x postgres://h/d?user=u&password=a b",
             "x postgres://h/d?user=u&password");
    repeated(ID "." KEY, "There is no '" ID "." KEY "'.", "There is no '" ID "'.");
    repeated("--x=" KEY KEY, "No '" KEY "'.", "No 'fedcba98'.");
    repeated("postgres://a:secret@db1/sales", "postgres://abc/d is not http://a.example",
             "postgres://abc/d is not http://a.example");
}

static void all_else_stays(void **state)
{
    static const char *const words[] = {"",
                                        "serve",
                                        "policy/12345",
                                        "sqlite:/var/lib/x.db",
                                        ID,
                                        "." KEY,
                                        ".",
                                        ID ".",
                                        ID ".not-hexa-y" KEY,
                                        "3.14",
                                        "http://127.0.0.1:7420/"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        seen(words[i], words[i]);
}

static void several_words_are_kept_apart(void **state)
{
    char first[] = "acquire", second[] = "x/1", third[] = ID "." KEY;
    char *argv[] = {first, second, third, NULL};
    (void)state;
    char **copy = cli_hide(3, argv);
    expect_text(copy[0], "acquire");
    expect_text(copy[1], "x/1");
    expect_text(copy[2], ID "." KEY);
    expect_true(copy[3] == NULL);
    expect_text(third, ID ".");
    cli_hide_done(copy);
    copy = cli_hide(0, argv + 3);
    expect_true(copy != NULL && copy[0] == NULL);
    cli_hide_done(copy);
    cli_hide_done(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_of_urls_are_blotted_out),
        cmocka_unit_test(keys_of_sessions_are_blotted_out),
        cmocka_unit_test(sentences_do_not_repeat_them),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(several_words_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
