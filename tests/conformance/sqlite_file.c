/* SPDX-License-Identifier: MIT */
/* A SQLite file as a store: what is refused and left untouched, what is found again, who else may
 * use it. */
#include "suite.h"

#include <base/seams.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/timing.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file's bytes; NULL when there is none. */
typedef struct content {
    char *bytes;
    size_t size;
} content;

static content content_of(const char *path)
{
    content it = {NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return it;
    fseek(file, 0, SEEK_END);
    it.size = (size_t)ftell(file);
    rewind(file);
    it.bytes = malloc(it.size + 1);
    expect_int(fread(it.bytes, 1, it.size, file), it.size);
    fclose(file);
    return it;
}

static void sqlite_file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    expect_true(file != NULL);
    expect_int(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Runs SQL on a file behind the store's back, and leaves no log beside it. */
static void alter(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    expect_int(sqlite3_open(path, &db), SQLITE_OK);
    char *problem = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &problem) != SQLITE_OK)
        check_failed(__FILE__, __LINE__, "%s: %s", sql, problem);
    sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

static void open_comes_to(const char *path, hf_status status)
{
    char url[HF_URL_MAX + 8];
    snprintf(url, sizeof url, "sqlite:%s", path);
    hf_error err = {0};
    hf_store *store = NULL;
    expect(status, hf_store_open(url, &store, &err), err);
    if (status != HF_OK) {
        expect_true(store == NULL);
        expect_contains(err.message, path);
    }
    hf_store_close(store);
}

/* The file is refused as unavailable, and not a byte of it is changed. */
static void refused_untouched(const char *path)
{
    content before = content_of(path);
    expect_true(before.bytes != NULL);
    open_comes_to(path, HF_UNAVAILABLE);
    open_comes_to(path, HF_UNAVAILABLE);
    content after = content_of(path);
    expect_int(after.size, before.size);
    expect_true(memcmp(before.bytes, after.bytes, before.size) == 0);
    free(before.bytes);
    free(after.bytes);
    static const char *const endings[] = {"-wal", "-journal"};
    for (size_t i = 0; i < 2; i++) {
        char beside[HF_URL_MAX + 16];
        struct stat info;
        snprintf(beside, sizeof beside, "%s%s", path, endings[i]);
        expect_true(stat(beside, &info) != 0 || info.st_size == 0);
    }
}

/* A store with a lock in it, closed; its path. */
static const char *made(fixture *w, hf_credentials *alice)
{
    *alice = person_idle(w, "alice", "Alice Chen", DAY);
    done(w, ACQUIRE, BY(*alice), ON("policy", "1"));
    hf_store_close(w->store);
    w->store = NULL;
    const char *path = strchr(w->url, ':') + 1;
    alter(path, "SELECT 1"); /* brings what is in the log into the file */
    return path;
}

static void a_folder_is_not_a_store(fixture *w)
{
    (void)w;
    open_comes_to(scratch_folder(), HF_UNAVAILABLE);
}

static void a_file_in_a_folder_that_is_not_there_is_unavailable(fixture *w)
{
    (void)w;
    char path[HF_URL_MAX], inside[HF_URL_MAX + 16];
    scratch_path("", path);
    snprintf(inside, sizeof inside, "%s/locks.db", path);
    open_comes_to(inside, HF_UNAVAILABLE);
}

static void a_path_may_begin_with_two_slashes(fixture *w)
{
    (void)w;
    char path[HF_URL_MAX], doubled[HF_URL_MAX + 8];
    static const char *const more[] = {"/", "//"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        scratch_path("#%41.db", path);
        snprintf(doubled, sizeof doubled, "%s%s", more[i], path);
        open_comes_to(doubled, HF_OK);
        content made = content_of(path);
        expect_true(made.size > 0);
        free(made.bytes);
        open_comes_to(doubled, HF_OK);
        unlink(path);
    }
    open_comes_to("//nowhere.such/locks.db", HF_UNAVAILABLE);
}

/* Takes away the right of root to write everywhere, and gives it back. */
static void bow_to_permissions(bool bow)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    static struct __user_cap_data_struct before[2];
    if (bow) {
        expect_int(syscall(SYS_capget, &header, before), 0);
        struct __user_cap_data_struct less[2] = {before[0], before[1]};
        less[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
        expect_int(syscall(SYS_capset, &header, less), 0);
    } else {
        expect_int(syscall(SYS_capset, &header, before), 0);
    }
}

static void a_folder_that_cannot_be_written_is_unavailable(fixture *w)
{
    (void)w;
    char folder[HF_URL_MAX], path[HF_URL_MAX + 16];
    scratch_path("", folder);
    expect_int(mkdir(folder, 0555), 0);
    snprintf(path, sizeof path, "%s/locks.db", folder);
    bow_to_permissions(true);
    open_comes_to(path, HF_UNAVAILABLE);
    bow_to_permissions(false);
    expect_int(rmdir(folder), 0);
}

static void a_file_that_cannot_be_written_is_unavailable(fixture *w)
{
    hf_credentials alice;
    const char *path = made(w, &alice);
    expect_int(chmod(path, 0444), 0);
    bow_to_permissions(true);
    refused_untouched(path);
    bow_to_permissions(false);
}

static void a_file_that_cannot_be_read_says_why(fixture *w)
{
    hf_credentials alice;
    const char *path = made(w, &alice);
    hf_store *store = NULL;
    hf_error err = {0};
    expect_int(chmod(path, 0), 0);
    bow_to_permissions(true);
    expect(HF_UNAVAILABLE, hf_store_open(w->url, &store, &err), err);
    bow_to_permissions(false);
    expect_contains(err.message, path);
    expect_contains(err.message, "Permission denied");
}

static void a_file_that_is_no_database_is_refused_and_left_alone(fixture *w)
{
    (void)w;
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    static const char text[] =
        "Dear diary, today I was opened as a database. I did not like it at all, and said so.\n";
    sqlite_file_write(path, text, sizeof text - 1);
    refused_untouched(path);
    char noise[8192];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 2654435761u >> 13);
    sqlite_file_write(path, noise, sizeof noise);
    refused_untouched(path);
    unlink(path);
}

/* Damaged in the header, in the first page, in the middle, and cut off. */
static void a_corrupt_file_is_refused_and_left_alone(fixture *w)
{
    hf_credentials alice;
    const char *path = made(w, &alice);
    content good = content_of(path);
    expect_true(good.size >= 8192);
    static const struct {
        size_t from, count;
    } wounds[] = {{0, 16}, {100, 300}, {100, 3900}};
    for (size_t i = 0; i < sizeof wounds / sizeof *wounds; i++) {
        char *bad = malloc(good.size);
        memcpy(bad, good.bytes, good.size);
        memset(bad + wounds[i].from, 0xa5, wounds[i].count);
        sqlite_file_write(path, bad, good.size);
        refused_untouched(path);
        free(bad);
    }
    sqlite_file_write(path, good.bytes, 4096 + 100);
    refused_untouched(path);
    sqlite_file_write(path, good.bytes, good.size);
    open_comes_to(path, HF_OK);
    free(good.bytes);
}

static void another_programs_database_is_refused_and_left_alone(fixture *w)
{
    (void)w;
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    alter(path, "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customer "
                "VALUES (1, 'Ada')");
    refused_untouched(path);
    unlink(path);
}

/* Only a file that is not there, or empty, becomes a store. */
static void an_empty_file_becomes_a_store(fixture *w)
{
    (void)w;
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    sqlite_file_write(path, "", 0);
    open_comes_to(path, HF_OK);
    unlink(path);
}

/* The first column of a query's one row, as text; "" for null. */
static void expect_row(sqlite3 *db, const char *query, const char *expected)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &stmt, NULL) != SQLITE_OK)
        check_failed(__FILE__, __LINE__, "%s: %s", query, sqlite3_errmsg(db));
    expect_int(sqlite3_step(stmt), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    check_text(text ? text : "", expected, query, __FILE__, __LINE__);
    expect_int(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
}

static void tables_of_another_form_are_refused(fixture *w)
{
    hf_credentials alice;
    const char *path = made(w, &alice);
    static const char *const nonsense[] = {"'abc'", "'-1'", "'99999999999999999999'"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "UPDATE holdfast_meta SET value = %s WHERE name = 'schema'",
                 nonsense[i]);
        alter(path, sql);
        refused_untouched(path);
    }
    /* Half of an installation is never there: this meta is another program's. */
    alter(path, "DELETE FROM holdfast_meta WHERE name = 'schema'");
    refused_untouched(path);
    hf_error err = {0};
    char url[HF_URL_MAX + 8];
    snprintf(url, sizeof url, "sqlite:%s", path);
    expect(HF_UNAVAILABLE, hf_store_uninstall(url, true, &err), err);
    expect_contains(err.message, "holdfast did not make");
}

static int64_t pretended_kind;

static int64_t pretend_kind(const char *path)
{
    (void)path;
    return pretended_kind;
}

/* Network filesystems: NFS, SMB, CIFS, SMB2, AFS, Ceph, 9P. */
static void a_network_filesystem_is_refused_pointing_to_serve(fixture *w)
{
    (void)w;
    static const int64_t kinds[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                    0x5346414f, 0x00c36400, 0x01021997};
    int64_t (*before)(const char *) = hf_seam.fs_kind;
    char path[HF_URL_MAX], url[HF_URL_MAX + 8];
    scratch_path(".db", path);
    snprintf(url, sizeof url, "sqlite:%s", path);
    hf_seam.fs_kind = pretend_kind;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pretended_kind = kinds[i];
        hf_error err = {0};
        hf_store *store = NULL;
        hf_status status = hf_store_open(url, &store, &err);
        hf_seam.fs_kind = before;
        if (status != HF_UNAVAILABLE)
            check_failed(__FILE__, __LINE__, "a file on a filesystem of kind %llx came to %s",
                         (unsigned long long)kinds[i], hf_status_wire(status));
        expect_contains(err.message, "serve");
        struct stat info;
        expect_true(stat(path, &info) != 0);
        hf_seam.fs_kind = pretend_kind;
    }
    pretended_kind = 0xef53; /* ext4 */
    open_comes_to(path, HF_OK);
    hf_seam.fs_kind = before;
    unlink(path);
}

/* P2 */
static void locks_are_found_again_after_closing_and_opening(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY),
                   bob = person_idle(w, "bob", "Bob Smith", DAY);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = HOUR, .purpose = "renewal");
    done(w, ACQUIRE, BY(bob), ON("policy", "2"), .mode = HF_SHARED);
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC, .ttl_max_us = HOUR);
    done(w, ACQUIRE, BY(bob), ON("policy", "3"));
    done(w, FORCE_RELEASE, ON("policy", "3"), .actor = "root", .text = "why");
    char *before = snapshot(w);
    fixture_reopen(w);
    unchanged(w, before);
    expect_int(done(w, BEAT, BY(bob))->lost_count, 1);
    expect_int(done(w, BEAT, BY(alice))->requests_count, 1);
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
}

/* P1 */
static void two_handles_on_one_file_see_the_same_locks(fixture *w)
{
    hf_error err = {0};
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_store *first = w->store, *second = NULL;
    expect(HF_OK, hf_store_open(w->url, &second, &err), err);
    hf_store_clock_freeze(second, w->now_us);
    for (int i = 0; i < 20; i++) {
        w->store = i % 2 ? second : first;
        int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
        w->store = i % 2 ? first : second;
        const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
        expect_int(no->locks[0].fence, fence);
        done(w, BEAT, BY(bob));
        done(w, RELEASE, BY(alice), ON("policy", "1"));
    }
    w->store = first;
    char *seen = snapshot(w);
    w->store = second;
    unchanged(w, seen);
    w->store = first;
    hf_store_close(second);
}

/* A handle remembers the rows of sessions that it has written. */
static void what_another_handle_did_to_a_session_is_not_overlooked(fixture *w)
{
    hf_error err = {0};
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_store *first = w->store, *second = NULL;
    expect(HF_OK, hf_store_open(w->url, &second, &err), err);
    hf_store_clock_freeze(second, w->now_us);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "one");
    w->store = second;
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, RELEASE, BY(alice), ON("policy", "2"), .request_id = "two");
    w->store = first;
    done(w, RELEASE, BY(alice), ON("policy", "2"), .request_id = "two"); /* it was done */
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "one");
    clock_forward(w, 40 * SECOND);
    w->store = second;
    clock_set(w, w->now_us);
    done(w, BEAT, BY(alice));
    clock_forward(w, 40 * SECOND);
    w->store = first;
    clock_set(w, w->now_us);
    done(w, ACQUIRE, BY(alice), ON("policy", "3")); /* it lives */
    done(w, RELEASE, BY(alice), ON("policy", "3"), .request_id = "three");
    w->store = second;
    done(w, CLOSE, BY(alice));
    w->store = first;
    refused(w, HF_EXPIRED, ACQUIRE, BY(alice), ON("policy", "4"));
    hf_store_close(second);
}

/* So many that some of them contend for a place among the rows that are remembered. */
static void many_sessions_take_turns_in_one_batch(fixture *w)
{
    enum { MANY = 256, TURNS = 6 };
    hf_credentials *people = calloc(MANY, sizeof *people);
    char user[16], ids[MANY][8], requests[MANY][16];
    for (int i = 0; i < MANY; i++) {
        snprintf(user, sizeof user, "user%d", i);
        snprintf(ids[i], sizeof ids[i], "%d", i);
        people[i] = person(w, user, user);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        hf_batch *taken = batch_of(w, MANY), *given = batch_of(w, MANY);
        for (int i = 0; i < MANY; i++) {
            snprintf(requests[i], sizeof requests[i], "%d-%d", turn, i);
            add(taken, ACQUIRE, BY(people[i]), ON("policy", ids[i]));
            if ((i + turn) % 3 != 0)
                add(given, RELEASE, BY(people[i]), ON("policy", ids[i]), .request_id = requests[i]);
        }
        run(w, taken);
        for (int i = 0; i < MANY; i++) {
            snprintf(user, sizeof user, "user%d", i);
            expect_text(answer(taken, (size_t)i, HF_OK)->locks[0].user, user);
        }
        run(w, given);
        for (size_t i = 0; i < hf_batch_count(given); i++)
            answer(given, i, HF_OK);
    }
    free(people);
}

/* The tables are public: administrators and guards read them. */
static void the_tables_say_what_the_answers_said(fixture *w)
{
    hf_credentials alice = draw(w);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .caller = "token1", .request_id = "open-1");
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1", .purpose = "why")
            ->locks[0]
            .fence;
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, RELEASE, BY(alice), ON("policy", "2"), .request_id = "r2");
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)fence);
    sqlite3 *db = NULL;
    expect_int(sqlite3_open(strchr(w->url, ':') + 1, &db), SQLITE_OK);
    expect_row(db, "SELECT user FROM holdfast_session", "alice");
    expect_row(db, "SELECT token FROM holdfast_session", "token1");
    expect_row(db, "SELECT length(key_sha256) FROM holdfast_session", "32");
    expect_row(db, "SELECT ended_us FROM holdfast_session", "");
    expect_row(db, "SELECT fence FROM holdfast_lock", number);
    expect_row(db, "SELECT mode FROM holdfast_lock", "exclusive");
    expect_row(db, "SELECT purpose FROM holdfast_lock", "why");
    expect_row(db, "SELECT request FROM holdfast_lock", "r1");
    expect_row(db, "SELECT session FROM holdfast_lock", alice.id);
    expect_row(db, "SELECT count(*) FROM holdfast_resource", "0");
    expect_row(db, "SELECT value FROM holdfast_meta WHERE name = 'fence_floor'", number);
    expect_row(db, "SELECT length(ends) FROM holdfast_session", "18");
    expect_row(db, "SELECT ends GLOB '*[^0-9A-Za-z_-]*' FROM holdfast_session", "0");
    expect_row(db, "SELECT policy FROM holdfast_type WHERE type = 'claim'", "optimistic");
    expect_row(db, "SELECT group_concat(kind) FROM (SELECT kind FROM holdfast_event ORDER BY seq)",
               "session_opened,acquired,acquired,released,type_set");
    expect_int(sqlite3_close(db), SQLITE_OK);
}

/* P3 */
static void another_programs_open_change_is_busy_in_under_a_second(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    sqlite3 *db = NULL;
    expect_int(sqlite3_open(strchr(w->url, ':') + 1, &db), SQLITE_OK);
    expect_int(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    hf_batch *take = batch_of(w, 1);
    add(take, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_in_time(SECOND, "another program's open change", run_refused(w, HF_BUSY, take));
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    expect_int(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    expect_int(sqlite3_close(db), SQLITE_OK);
    run(w, take);
    answer(take, 0, HF_OK);
}

static void namespaces_of_one_file_do_not_see_each_other(fixture *w)
{
    hf_error err = {0};
    char url[HF_URL_MAX + 32];
    snprintf(url, sizeof url, "%s?namespace=other", w->url);
    hf_store *first = w->store, *other = NULL;
    expect(HF_OK, hf_store_open(url, &other, &err), err);
    hf_store_clock_freeze(other, w->now_us);
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    w->store = other;
    refused(w, HF_NOT_FOUND, BEAT, BY(alice));
    expect_int(done(w, LIST)->locks_count, 0);
    expect_int(done(w, EVENTS)->events_count, 0);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    w->store = first;
    expect_int(done(w, LIST)->locks_count, 1);
    hf_store_close(other);
}

/* The grade says what an acknowledged lock survives. */
static void the_grade_of_a_file_is_disk(fixture *w)
{
    hf_grade grade = {0};
    hf_store_grade(w->store, &grade);
    expect_int(grade.level, HF_GRADE_DISK);
    expect_true(grade.text[0] != '\0');
}

static void nothing_stands_beside(const char *path)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal", "-reserve"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char beside[HF_URL_MAX + 16];
        snprintf(beside, sizeof beside, "%s%s", path, endings[i]);
        if (access(beside, F_OK) == 0)
            check_failed(__FILE__, __LINE__, "%s was made", beside);
    }
}

static void existing_comes_to(const char *path, const char *query, hf_status status)
{
    char url[HF_URL_MAX + 32];
    snprintf(url, sizeof url, "sqlite:%s%s", path, query);
    hf_error err = {0};
    hf_store *store = NULL;
    expect(status, hf_store_open_existing(url, &store, &err), err);
    hf_store_close(store);
}

static void where_only_an_existing_store_is_wanted_none_is_made(fixture *w)
{
    hf_credentials alice;
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    existing_comes_to(path, "", HF_NOT_FOUND);
    expect_true(access(path, F_OK) != 0);
    sqlite_file_write(path, "", 0);
    existing_comes_to(path, "", HF_NOT_FOUND);
    content after = content_of(path);
    expect_int(after.size, 0);
    free(after.bytes);
    nothing_stands_beside(path);
    unlink(path);
    const char *file = made(w, &alice);
    existing_comes_to(file, "?namespace=other", HF_NOT_FOUND);
    existing_comes_to(file, "", HF_OK);
    existing_comes_to(file, "?namespace=other", HF_NOT_FOUND);
}

/* A table of the same name does not make it ours. */
static void another_programs_database_with_a_table_like_ours_is_refused_and_left_alone(fixture *w)
{
    (void)w;
    static const char *const tables[] = {
        "CREATE TABLE user_meta (id INTEGER, name TEXT, value TEXT); INSERT INTO user_meta VALUES "
        "(1, 'a', "
        "'b')",
        "CREATE TABLE user_meta (name TEXT, value TEXT); INSERT INTO user_meta VALUES ('schema', "
        "'1')",
        "CREATE TABLE xmeta (name TEXT, value TEXT); CREATE TABLE user_lock (id); CREATE TABLE "
        "user_session "
        "(id)",
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char path[HF_URL_MAX];
        scratch_path(".db", path);
        alter(path, tables[i]);
        refused_untouched(path);
        nothing_stands_beside(path);
        unlink(path);
    }
}

/* Looking at a database with a log takes more care: SQLite would lay files beside it. */
static void another_programs_database_with_a_log_is_refused_and_nothing_laid_beside_it(fixture *w)
{
    (void)w;
    char path[HF_URL_MAX];
    scratch_path(" 100%?#.db", path);
    char *mark = strchr(path, '?');
    *mark = '_'; /* a URL ends the path there */
    alter(path,
          "PRAGMA journal_mode = WAL; CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT)");
    nothing_stands_beside(path);
    refused_untouched(path);
    nothing_stands_beside(path);
    unlink(path);
}

/* What is in a column that this version does not set comes and goes with its row. */
static void columns_that_nothing_sets_are_carried(fixture *w)
{
    hf_credentials alice;
    const char *path = made(w, &alice);
    hf_error err = {0};
    alter(path, "UPDATE holdfast_lock SET latest_us = 9000000000000000, data = '{\"a\":[1]}', "
                "title = 'Lindqvist',"
                " href = '/policy/1';"
                "UPDATE holdfast_session SET actor = 'agent', limits = '[]', active_us = 7");
    expect(HF_OK, hf_store_open(w->url, &w->store, &err), err);
    clock_set(w, w->now_us);
    done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR, .purpose = "renewal");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "2"), .request_id = "r1");
    done(w, BEAT, BY(alice));
    hf_store_close(w->store);
    w->store = NULL;
    sqlite3 *db = NULL;
    expect_int(sqlite3_open(path, &db), SQLITE_OK);
    expect_row(db, "SELECT latest_us || data || title || href || purpose FROM holdfast_lock",
               "9000000000000000{\"a\":[1]}Lindqvist/policy/1renewal");
    expect_row(db, "SELECT actor || limits || active_us FROM holdfast_session", "agent[]7");
    sqlite3_close(db);
}

/* A newer version may know more policies. */
static void a_policy_that_is_not_known_is_named_and_nothing_of_that_type_is_granted(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    alter(strchr(w->url, ':') + 1,
          "INSERT INTO holdfast_type (type, policy) VALUES ('policy', 'snapshot')");
    hf_error err = {0};
    static const hf_op_kind kinds[] = {HF_OP_ACQUIRE, HF_OP_TYPE_GET, HF_OP_TYPES};
    for (size_t i = 0; i < 3; i++) {
        hf_batch *batch = batch_of(w, 1);
        add_op(batch, &(hf_op){.kind = kinds[i], BY(alice), ON("policy", "1")});
        expect(HF_UNAVAILABLE, hf_store_execute(w->store, batch, &err), err);
        expect_contains(err.message, "snapshot");
        expect_contains(err.message, "policy");
    }
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    done(w, ACQUIRE, BY(alice), ON("claim", "1"));
}

enum { WAITERS = 6 };

typedef struct waiter {
    hf_store *store;
    hf_credentials *by;
    hf_status status;
} waiter;

static void *sqlite_file_wait_for_it(void *context)
{
    waiter *it = context;
    hf_batch *batch = NULL;
    if (hf_batch_new(1, &batch, NULL) != HF_OK)
        return NULL;
    add_op(batch, &(hf_op){.kind = HF_OP_ACQUIRE, .session = it->by, ON("policy", "1")});
    it->status = hf_store_execute(it->store, batch, NULL);
    hf_batch_free(batch);
    return NULL;
}

static void all_are_busy(fixture *w, hf_credentials *by)
{
    pthread_t threads[WAITERS];
    waiter all[WAITERS];
    for (size_t i = 0; i < WAITERS; i++) {
        all[i] = (waiter){.store = w->store, .by = by, .status = HF_STATUS_COUNT};
        expect_int(pthread_create(&threads[i], NULL, sqlite_file_wait_for_it, &all[i]), 0);
    }
    for (size_t i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < WAITERS; i++)
        expect_int(all[i].status, HF_BUSY);
}

/* P3: they do not wait one after the other. */
static void another_programs_open_change_is_busy_soon_for_every_thread(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    sqlite3 *db = NULL;
    expect_int(sqlite3_open(strchr(w->url, ':') + 1, &db), SQLITE_OK);
    expect_int(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    expect_in_time(1500 * MILLISECOND, "the last of them", all_are_busy(w, &alice));
    expect_int(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    expect_int(sqlite3_close(db), SQLITE_OK);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
}

/* Whatever one namespace calls its tables, another may be called so. */
static void namespaces_named_like_each_others_tables_work_side_by_side(fixture *w)
{
    static const char *const names[] = {"a",      "a_lock",    "a_session",
                                        "a_meta", "a_request", "a_lost",
                                        "a_type", "a_event",   "a_lock_by_end"};
    enum { NAMES = sizeof names / sizeof *names };
    hf_store *first = w->store, *stores[NAMES] = {NULL};
    char path[HF_URL_MAX], url[HF_URL_MAX + 64];
    hf_error err = {0};
    for (int backwards = 0; backwards < 2; backwards++) {
        scratch_path(".db", path);
        for (size_t i = 0; i < NAMES; i++) {
            snprintf(url, sizeof url, "sqlite:%s?namespace=%s", path,
                     names[backwards ? NAMES - 1 - i : i]);
            expect(HF_OK, hf_store_open(url, &stores[i], &err), err);
            hf_store_clock_freeze(stores[i], w->now_us);
        }
        for (size_t i = 0; i < NAMES; i++) {
            w->store = stores[i];
            expect_int(done(w, LIST)->locks_count, 0);
            hf_credentials alice = person(w, "alice", "Alice Chen");
            done(w, ACQUIRE, BY(alice), ON("policy", "1"));
        }
        w->store = first;
        for (size_t i = 0; i < NAMES; i++)
            hf_store_close(stores[i]);
        unlink(path);
    }
}

static const suite_test sqlite_file_tests[] = {
    TEST_FILE(a_folder_is_not_a_store),
    TEST_FILE(a_file_in_a_folder_that_is_not_there_is_unavailable),
    TEST_FILE(a_path_may_begin_with_two_slashes),
    TEST_FILE(a_folder_that_cannot_be_written_is_unavailable),
    TEST_FILE(a_file_that_cannot_be_written_is_unavailable),
    TEST_FILE(a_file_that_cannot_be_read_says_why),
    TEST_FILE(a_file_that_is_no_database_is_refused_and_left_alone),
    TEST_FILE(a_corrupt_file_is_refused_and_left_alone),
    TEST_FILE(another_programs_database_is_refused_and_left_alone),
    TEST_FILE(an_empty_file_becomes_a_store),
    TEST_FILE(where_only_an_existing_store_is_wanted_none_is_made),
    TEST_FILE(tables_of_another_form_are_refused),
    TEST_FILE(columns_that_nothing_sets_are_carried),
    TEST_FILE(a_network_filesystem_is_refused_pointing_to_serve),
    TEST_FILE(locks_are_found_again_after_closing_and_opening),
    TEST_FILE(two_handles_on_one_file_see_the_same_locks),
    TEST_FILE(what_another_handle_did_to_a_session_is_not_overlooked),
    TEST_FILE(many_sessions_take_turns_in_one_batch),
    TEST_FILE(the_tables_say_what_the_answers_said),
    TEST_FILE(another_programs_open_change_is_busy_in_under_a_second),
    TEST_FILE(namespaces_of_one_file_do_not_see_each_other),
    TEST_FILE(the_grade_of_a_file_is_disk),
    TEST_FILE(another_programs_database_with_a_table_like_ours_is_refused_and_left_alone),
    TEST_FILE(another_programs_database_with_a_log_is_refused_and_nothing_laid_beside_it),
    TEST_FILE(a_policy_that_is_not_known_is_named_and_nothing_of_that_type_is_granted),
    TEST_FILE(another_programs_open_change_is_busy_soon_for_every_thread),
    TEST_FILE(namespaces_named_like_each_others_tables_work_side_by_side),
};
THEME(sqlite_file);
