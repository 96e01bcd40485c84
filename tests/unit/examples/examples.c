/* SPDX-License-Identifier: MIT */
/* The small programs of examples/, which people copy: run again on the same file, and with someone
 * else in the way of their transactions. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <unistd.h>

/* What someone else's connection does just before the example says `when`, and just after it. */
static struct {
    sqlite3 *db;
    const char *when, *before, *after;
    int left; /* how often it is said before that */
} other;

static void do_beside(const char *sql)
{
    expect_int(sqlite3_exec(other.db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int exec_beside_another(sqlite3 *db, const char *sql,
                               int (*row)(void *context, int count, char **values, char **names),
                               void *context, char **problem)
{
    bool now = other.when != NULL && strcmp(sql, other.when) == 0 && other.left-- == 0;
    if (now)
        do_beside(other.before);
    int result = sqlite3_exec(db, sql, row, context, problem);
    if (now)
        do_beside(other.after);
    return result;
}

int first(int argc, char **argv);
int own_transaction(int argc, char **argv);
int optimistic(int argc, char **argv);
int aggregate(int argc, char **argv);
#define main         first
#define sqlite3_exec exec_beside_another
#include "../../../examples/first.c"
#undef main
#define main own_transaction
#include "../../../examples/own_transaction.c"
#undef main
#define main aggregate
#include "../../../examples/aggregate.c"
#undef main
#define main optimistic
#define run  optimistic_run
#define save optimistic_save
#include "../../../examples/optimistic.c"
#undef save
#undef run
#undef main
#undef sqlite3_exec

static char said[4096];

/* Runs an example with one argument: its exit code, and in `said` what it printed. */
static int examples_play(int (*example)(int, char **), char *argument)
{
    char path[HF_URL_MAX], name[] = "example", *arguments[] = {name, argument, NULL};
    scratch_path(".out", path);
    fflush(stdout);
    int terminal = dup(STDOUT_FILENO),
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    expect_true(terminal >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    int code = example(2, arguments);
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    ssize_t size = pread(file, said, sizeof said - 1, 0);
    close(file);
    said[size > 0 ? size : 0] = '\0';
    return code;
}

static void the_first_example_runs_again_on_the_same_file(void **state)
{
    char url[HF_URL_MAX] = "sqlite:";
    (void)state;
    scratch_path(".db", url + strlen(url));
    for (int i = 0; i < 2; i++) {
        expect_int(examples_play(first, url), 0);
        expect_contains(said, "policy/12345 is being edited by Alice Chen");
    }
}

static void an_own_transaction_runs_again_on_the_same_file(void **state)
{
    char path[HF_URL_MAX];
    (void)state;
    scratch_path(".db", path);
    for (int i = 0; i < 2; i++) {
        expect_int(examples_play(own_transaction, path), 0);
        expect_text(said, "after rollback: not_held\nafter commit: ok\n");
    }
}

static void the_optimistic_example_runs_again_on_the_same_file(void **state)
{
    char path[HF_URL_MAX];
    (void)state;
    scratch_path(".db", path);
    expect_int(examples_play(optimistic, path), 0);
    expect_contains(
        said, "alice: saved, version 1\nbob: customer/42 is there already: alice saved it at ");
    expect_int(examples_play(optimistic, path), 0);
    expect_contains(said, "alice: saved, version 2\nbob: customer/42 was changed by alice at ");
    expect_contains(said, " (you read version 1, it is now 2).\n");
}

/* P9: what can't be committed leaves neither record nor version. */
static void a_version_counts_when_the_application_commits(void **state)
{
    char path[HF_URL_MAX];
    (void)state;
    scratch_path(".db", path);
    expect_int(sqlite3_open(path, &other.db), SQLITE_OK);
    do_beside("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT CHECK (name <> 'Chen'))");
    expect_int(examples_play(optimistic, path), 1);
    expect_text(said, "bob: saved, version 1\n");
    expect_int(sqlite3_close(other.db), SQLITE_OK);
}

static void the_aggregate_example_tells_every_conflict(void **state)
{
    char memory[] = "memory:";
    (void)state;
    expect_int(examples_play(aggregate, memory), 0);
    expect_contains(said, "bob: order/7 was changed by alice at ");
    expect_contains(said, "billing: order/7 was changed by alice at ");
    expect_contains(said, "billing: address/alice was changed by alice at ");
}

/* Someone else gets in the way where `when` is said, after it was said `left` times. */
static void play_beside(const char *when, int left, const char *before, const char *after)
{
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    expect_int(sqlite3_open(path, &other.db), SQLITE_OK);
    other.when = when;
    other.left = left;
    other.before = before;
    other.after = after;
    int code = examples_play(own_transaction, path);
    other.when = NULL;
    expect_int(other.left, -1);
    expect_int(code, 1);
    expect_lacks(said, "after commit");
    expect_int(sqlite3_close(other.db), SQLITE_OK);
}

static void a_reader_who_keeps_an_own_transaction_from_its_commit_is_told(void **state)
{
    (void)state;
    play_beside("COMMIT", 0, "BEGIN; SELECT count(*) FROM customer", "");
    play_beside("COMMIT", 0, "BEGIN; SELECT count(*) FROM customer", "COMMIT");
}

static void a_writer_who_keeps_an_own_transaction_from_beginning_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        play_beside("BEGIN IMMEDIATE", i, "BEGIN IMMEDIATE", "");
        play_beside("BEGIN IMMEDIATE", i, "BEGIN IMMEDIATE", "ROLLBACK");
    }
}

static void a_record_that_cannot_be_written_is_told(void **state)
{
    char path[HF_URL_MAX];
    (void)state;
    scratch_path(".db", path);
    expect_int(sqlite3_open(path, &other.db), SQLITE_OK);
    do_beside("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT CHECK (name = ''))");
    expect_int(examples_play(own_transaction, path), 1);
    expect_text(said, "");
    expect_int(sqlite3_close(other.db), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_example_runs_again_on_the_same_file),
        cmocka_unit_test(an_own_transaction_runs_again_on_the_same_file),
        cmocka_unit_test(the_optimistic_example_runs_again_on_the_same_file),
        cmocka_unit_test(a_version_counts_when_the_application_commits),
        cmocka_unit_test(the_aggregate_example_tells_every_conflict),
        cmocka_unit_test(a_reader_who_keeps_an_own_transaction_from_its_commit_is_told),
        cmocka_unit_test(a_writer_who_keeps_an_own_transaction_from_beginning_is_told),
        cmocka_unit_test(a_record_that_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests_name("examples", tests, NULL, NULL);
}
