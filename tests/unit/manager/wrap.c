/* SPDX-License-Identifier: MIT */
/* An application's own sqlite3 handle as a store: a batch joins the open transaction, counts when
 * the application commits, and a failure undoes the batch alone. */
#include "sql/fields_fingerprint.h"

#include <base/seams.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/fixture.h>
#include <support/timing.h>
#include <unistd.h>

/* The application's handle with a store on it, and what someone else sees of the same file. */
typedef struct shop {
    char path[HF_URL_MAX];
    sqlite3 *app, *other_app;
    hf_store *store, *other;
    hf_credentials alice, bob;
} shop;

static void wrap_sql(sqlite3 *db, const char *text)
{
    char *problem = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &problem) != SQLITE_OK)
        check_failed(__FILE__, __LINE__, "%s: %s", text, problem);
}

static int count_of(sqlite3 *db, const char *query)
{
    sqlite3_stmt *stmt = NULL;
    expect_int(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
    expect_int(sqlite3_step(stmt), SQLITE_ROW);
    int count = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return count;
}

/* Executes one op and gives its status; HF_OK from the store itself is demanded. */
static hf_status wrap_ask(hf_store *store, const hf_op *op, size_t *locks)
{
    hf_error err = {0};
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    add_op(batch, op);
    expect(HF_OK, hf_store_execute(store, batch, &err), err);
    hf_status status = hf_batch_op(batch, 0)->answer.status;
    if (locks)
        *locks = hf_batch_op(batch, 0)->answer.locks_count;
    hf_batch_free(batch);
    return status;
}

#define ASK(store, op, ...) wrap_ask((store), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, NULL)

static size_t wrap_holders(hf_store *store, const char *id)
{
    size_t count = 0;
    expect_int(wrap_ask(store, &(hf_op){.kind = HF_OP_WHO, ON("policy", id)}, &count), HF_OK);
    return count;
}

static hf_credentials wrap_drawn(char digit)
{
    hf_credentials out;
    hf_error err = {0};
    char id[HF_SESSION_ID_SIZE], key[33];
    memset(id, digit, HF_SESSION_ID_MAX);
    memset(key, digit, 32);
    id[HF_SESSION_ID_MAX] = key[32] = '\0';
    expect(HF_OK, hf_credentials_set(&out, id, key, &err), err);
    return out;
}

static int wrap_shop_open(void **state)
{
    shop *s = calloc(1, sizeof *s);
    hf_error err = {0};
    scratch_path(".db", s->path);
    expect_int(sqlite3_open(s->path, &s->app), SQLITE_OK);
    wrap_sql(
        s->app,
        "PRAGMA journal_mode = WAL; CREATE TABLE policy (id INTEGER PRIMARY KEY, holder TEXT)");
    expect(HF_OK, hf_sqlite_wrap(s->app, NULL, HF_SQLITE_INSTALL, &s->store, &err), err);
    expect_int(sqlite3_open(s->path, &s->other_app), SQLITE_OK);
    expect(HF_OK, hf_sqlite_wrap(s->other_app, NULL, 0, &s->other, &err), err);
    s->alice = wrap_drawn('a');
    s->bob = wrap_drawn('b');
    expect_int(ASK(s->store, SESSION_OPEN, BY(s->alice), .user = "alice"), HF_OK);
    expect_int(ASK(s->store, SESSION_OPEN, BY(s->bob), .user = "bob"), HF_OK);
    *state = s;
    return 0;
}

/* The handle is the application's: closing the store leaves it open, with nothing of the store's in
 * it. */
static int wrap_shop_close(void **state)
{
    shop *s = *state;
    hf_store_close(s->store);
    hf_store_close(s->other);
    bool clean = sqlite3_close(s->app) == SQLITE_OK && sqlite3_close(s->other_app) == SQLITE_OK;
    if (!clean)
        fprintf(stderr, "a closed store left statements in the application's handle\n");
    free(s);
    return clean ? 0 : -1;
}

/* P2 */
static void a_grant_counts_when_the_application_commits_on_sqlite(void **state)
{
    shop *s = *state;
    wrap_sql(s->app, "BEGIN IMMEDIATE");
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_OK);
    wrap_sql(s->app, "INSERT INTO policy VALUES (1, 'alice')");
    expect_true(!sqlite3_get_autocommit(s->app));
    expect_int(wrap_holders(s->store, "1"), 1);
    expect_int(wrap_holders(s->other, "1"), 0);
    expect_int(
        count_of(s->other_app, "SELECT count(*) FROM holdfast_event WHERE kind = 'acquired'"), 0);
    wrap_sql(s->app, "COMMIT");
    expect_int(wrap_holders(s->other, "1"), 1);
    expect_int(count_of(s->other_app, "SELECT count(*) FROM policy"), 1);
    expect_int(
        count_of(s->other_app, "SELECT count(*) FROM holdfast_event WHERE kind = 'acquired'"), 1);
    expect_int(ASK(s->other, ACQUIRE, BY(s->bob), ON("policy", "1")), HF_LOCKED);
}

/* P2 */
static void manager_wrap_a_rollback_undoes_the_grant(void **state)
{
    shop *s = *state;
    wrap_sql(s->app, "BEGIN IMMEDIATE");
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_OK);
    wrap_sql(s->app, "ROLLBACK");
    expect_int(wrap_holders(s->store, "1"), 0);
    expect_int(wrap_holders(s->other, "1"), 0);
    expect_int(ASK(s->other, ACQUIRE, BY(s->bob), ON("policy", "1")), HF_OK);
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_LOCKED);
}

static void several_batches_join_one_transaction_on_sqlite(void **state)
{
    shop *s = *state;
    wrap_sql(s->app, "BEGIN");
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_OK);
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "2")), HF_OK);
    expect_int(ASK(s->store, ACQUIRE, BY(s->bob), ON("policy", "2")), HF_LOCKED);
    expect_int(ASK(s->store, RELEASE, BY(s->alice), ON("policy", "1")), HF_OK);
    expect_int(ASK(s->store, BEAT, BY(s->bob)), HF_OK);
    wrap_sql(s->app, "COMMIT");
    expect_int(wrap_holders(s->other, "1"), 0);
    expect_int(wrap_holders(s->other, "2"), 1);
}

static void outside_a_transaction_each_batch_is_its_own_on_sqlite(void **state)
{
    shop *s = *state;
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_OK);
    expect_true(sqlite3_get_autocommit(s->app));
    expect_int(wrap_holders(s->other, "1"), 1);
}

/* The sentence of a refusal is an answer: the transaction goes on. */
static void a_refusal_leaves_the_transaction_as_it_is(void **state)
{
    shop *s = *state;
    expect_int(ASK(s->other, ACQUIRE, BY(s->bob), ON("policy", "1")), HF_OK);
    wrap_sql(s->app, "BEGIN IMMEDIATE; INSERT INTO policy VALUES (1, 'alice')");
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_LOCKED);
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "")), HF_INVALID);
    expect_true(!sqlite3_get_autocommit(s->app));
    wrap_sql(s->app, "COMMIT");
    expect_int(count_of(s->other_app, "SELECT count(*) FROM policy"), 1);
}

static void a_batch_that_fails_in_the_database_undoes_itself_alone_on_sqlite(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    wrap_sql(s->app,
             "CREATE TRIGGER full BEFORE INSERT ON holdfast_event WHEN new.kind = 'acquired' BEGIN "
             "SELECT RAISE(FAIL, 'no room for that event'); END");
    wrap_sql(s->app, "BEGIN IMMEDIATE; INSERT INTO policy VALUES (1, 'alice')");
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(2, &batch, &err), err);
    add(batch, BEAT, BY(s->alice));
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    hf_status status = hf_store_execute(s->store, batch, &err);
    expect_true(status != HF_OK && err.message[0]);
    hf_batch_free(batch);
    expect_true(!sqlite3_get_autocommit(s->app));
    expect_int(wrap_holders(s->store, "1"), 0);
    expect_int(count_of(s->app, "SELECT count(*) FROM holdfast_lock"), 0);
    expect_int(count_of(s->app, "SELECT count(*) FROM holdfast_resource"), 0);
    wrap_sql(s->app, "DROP TRIGGER full");
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "2")), HF_OK);
    wrap_sql(s->app, "COMMIT");
    expect_int(count_of(s->other_app, "SELECT count(*) FROM policy"), 1);
    expect_int(wrap_holders(s->other, "1"), 0);
    expect_int(wrap_holders(s->other, "2"), 1);
}

static int64_t fail_at;

/* Then the application's own work is gone as well: SQLite leaves no choice, but it is said. */
static void a_disk_that_is_full_takes_the_whole_transaction_and_that_is_said(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    hf_batch *batch = NULL;
    hf_status status = HF_OK;
    char id[32], pages[64];
    snprintf(pages, sizeof pages, "PRAGMA max_page_count = %d",
             count_of(s->app, "PRAGMA page_count") + 3);
    wrap_sql(s->app, pages);
    wrap_sql(s->app, "BEGIN IMMEDIATE; INSERT INTO policy VALUES (1, 'alice')");
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    for (int i = 0; status == HF_OK && i < 10000; i++) {
        snprintf(id, sizeof id, "%d", i);
        hf_batch_clear(batch);
        add_op(batch, &(hf_op){.kind = HF_OP_ACQUIRE, BY(s->alice), ON("policy", id)});
        status = hf_store_execute(s->store, batch, &err);
    }
    hf_batch_free(batch);
    expect_int(status, HF_UNAVAILABLE);
    expect_true(sqlite3_get_autocommit(s->app) != 0);
    expect_contains(err.message, "has rolled back your whole transaction");
    expect_contains(err.message, "full");
    expect_int(count_of(s->app, "SELECT count(*) FROM policy"), 0);
    expect_int(count_of(s->app, "SELECT count(*) FROM holdfast_lock"), 0);
}

static void *wrap_realloc_by_test(void *block, size_t size)
{
    return --fail_at == 0 ? NULL : realloc(block, size);
}

static void a_batch_that_runs_out_of_memory_undoes_itself_alone(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    wrap_sql(s->app, "BEGIN IMMEDIATE; INSERT INTO policy VALUES (1, 'alice')");
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    void *(*before)(void *, size_t) = hf_seam.realloc;
    for (int64_t n = 1;; n++) {
        fail_at = n;
        hf_seam.realloc = wrap_realloc_by_test;
        hf_status status = hf_store_execute(s->store, batch, &err);
        hf_seam.realloc = before;
        if (status == HF_OK)
            break;
        expect_int(status, HF_NO_MEMORY);
        expect_true(!sqlite3_get_autocommit(s->app));
        expect_int(wrap_holders(s->store, "1"), 0);
    }
    hf_batch_free(batch);
    wrap_sql(s->app, "COMMIT");
    expect_int(count_of(s->other_app, "SELECT count(*) FROM policy"), 1);
    expect_int(wrap_holders(s->other, "1"), 1);
}

/* P3 */
static void another_connections_open_change_is_busy_at_once(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    wrap_sql(s->other_app, "BEGIN IMMEDIATE; INSERT INTO policy VALUES (9, 'bob')");
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_in_time(SECOND, "an open change",
                   expect(HF_BUSY, hf_store_execute(s->store, batch, &err), err));
    wrap_sql(s->other_app, "COMMIT");
    expect(HF_OK, hf_store_execute(s->store, batch, &err), err);
    expect_int(hf_batch_op(batch, 0)->answer.status, HF_OK);
    hf_batch_free(batch);
}

/* P1: an older snapshot gets an error instead of a second grant. */
static void an_older_snapshot_grants_nothing_twice_on_sqlite(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    wrap_sql(s->app, "BEGIN");
    expect_int(count_of(s->app, "SELECT count(*) FROM policy"), 0);
    expect_int(wrap_holders(s->store, "1"), 0);
    expect_int(ASK(s->other, ACQUIRE, BY(s->bob), ON("policy", "1")), HF_OK);
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect(HF_RETRY, hf_store_execute(s->store, batch, &err), err);
    hf_batch_free(batch);
    wrap_sql(s->app, "ROLLBACK");
    expect_int(wrap_holders(s->store, "1"), 1);
    expect_int(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")), HF_LOCKED);
}

static void without_the_tables_and_without_leave_to_make_them_it_is_unavailable(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_error err = {0};
    expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    expect(HF_UNAVAILABLE, hf_sqlite_wrap(db, NULL, 0, &store, &err), err);
    expect_true(store == NULL);
    expect_int(count_of(db, "SELECT count(*) FROM sqlite_master"), 0);
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    hf_store_close(store);
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    hf_store_close(store);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

static void the_tables_have_the_prefix_that_was_asked_for(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_error err = {0};
    expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    expect(HF_OK, hf_sqlite_wrap(db, "office", HF_SQLITE_INSTALL, &store, &err), err);
    expect_int(count_of(db, "SELECT count(*) FROM sqlite_master WHERE name = 'office_lock'"), 1);
    expect_int(count_of(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'holdfast%'"), 0);
    hf_grade grade = {0};
    hf_store_grade(store, &grade);
    expect_true(grade.text[0] != '\0');
    hf_store_close(store);
    static const char *const bad[] = {"",     "with space", "quo\"te", "semi;colon",  "1digit",
                                      "a__b", "a_",         "sqlite",  "sqlite_locks"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        store = NULL;
        expect(HF_INVALID, hf_sqlite_wrap(db, bad[i], HF_SQLITE_INSTALL, &store, &err), err);
        expect_true(store == NULL);
    }
    expect_int(sqlite3_close(db), SQLITE_OK);
}

/* A manager on the application's handle, in its transaction. */
static void a_manager_works_on_the_applications_handle(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    hf_session *session = NULL;
    hf_error err = {0};
    hf_resource policy = resource_of("policy/1");
    expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &manager, &err), err);
    hf_session_options options = {.user = "alice"};
    expect(HF_OK, hf_session_open(manager, &options, &session, &err), err);
    wrap_sql(db, "BEGIN");
    expect(HF_OK, hf_session_acquire(session, &policy, NULL, NULL, &err), err);
    wrap_sql(db, "ROLLBACK");
    expect(HF_NOT_HELD, hf_session_holds(session, &policy, 0, NULL, &err), err);
    wrap_sql(db, "BEGIN");
    expect(HF_OK, hf_session_acquire(session, &policy, NULL, NULL, &err), err);
    wrap_sql(db, "COMMIT");
    expect(HF_OK, hf_session_holds(session, &policy, 0, NULL, &err), err);
    hf_session_free(session);
    hf_manager_close(manager);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

/* Names are compared as bytes: a database that keeps its text otherwise would grant a lock twice.
 * */
static void a_database_in_utf_16_is_refused(void **state)
{
    (void)state;
    static const char *const encodings[] = {"UTF-16le", "UTF-16be"};
    for (size_t i = 0; i < 2; i++) {
        sqlite3 *db = NULL;
        hf_store *store = NULL;
        hf_error err = {0};
        char text[128];
        snprintf(text, sizeof text, "PRAGMA encoding = '%s'; CREATE TABLE policy (id)",
                 encodings[i]);
        expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
        wrap_sql(db, text);
        expect(HF_UNAVAILABLE, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
        expect_contains(err.message, encodings[i]);
        expect_true(store == NULL && sqlite3_get_autocommit(db));
        expect_int(count_of(db, "SELECT count(*) FROM sqlite_master"), 1);
        /* ... also where someone else has made the tables */
        snprintf(text, sizeof text, "INSERT INTO holdfast_meta VALUES ('schema', '%s')",
                 hf_fields_fingerprint);
        wrap_sql(db, "CREATE TABLE holdfast_meta (name TEXT PRIMARY KEY, value TEXT)");
        wrap_sql(db, text);
        expect(HF_UNAVAILABLE, hf_sqlite_wrap(db, NULL, 0, &store, &err), err);
        expect_contains(err.message, encodings[i]);
        expect_int(sqlite3_close(db), SQLITE_OK);
    }
}

/* In a database without a log a reader can keep the tables from being committed. */
static void an_install_that_cannot_be_committed_leaves_no_transaction_open(void **state)
{
    (void)state;
    sqlite3 *db = NULL, *reader = NULL;
    sqlite3_stmt *rows = NULL;
    hf_store *store = NULL;
    hf_error err = {0};
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    expect_int(sqlite3_open(path, &db), SQLITE_OK);
    wrap_sql(db, "CREATE TABLE policy (id); INSERT INTO policy VALUES (1), (2)");
    expect_int(sqlite3_open(path, &reader), SQLITE_OK);
    expect_int(sqlite3_prepare_v2(reader, "SELECT id FROM policy", -1, &rows, NULL), SQLITE_OK);
    expect_int(sqlite3_step(rows), SQLITE_ROW);
    expect(HF_BUSY, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    expect_true(store == NULL && sqlite3_get_autocommit(db));
    expect_int(count_of(db, "SELECT count(*) FROM sqlite_master"), 1);
    sqlite3_finalize(rows);
    wrap_sql(reader, "INSERT INTO policy VALUES (3)");
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    hf_store_close(store);
    expect_int(sqlite3_close(reader), SQLITE_OK);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

/* What the handle can't see it does not believe: whether the application committed. */
static void what_is_granted_in_the_applications_transaction_is_not_believed(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    hf_session *session = NULL;
    hf_error err = {0};
    hf_resource one = resource_of("policy/1"), two = resource_of("policy/2"),
                three = resource_of("policy/3");
    expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &manager, &err), err);
    hf_session_options options = {.user = "alice"};
    expect(HF_OK, hf_session_open(manager, &options, &session, &err), err);
    wrap_sql(db, "BEGIN");
    expect(HF_OK, hf_session_acquire(session, &one, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_acquire_all(session, &two, 1, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_renew(session, &one, MINUTE, NULL, NULL, &err), err);
    expect_true(!hf_session_is_held(session, &one) && !hf_session_is_held(session, &two));
    wrap_sql(db, "ROLLBACK");
    expect_true(!hf_session_is_held(session, &one) && !hf_session_is_held(session, &two));
    expect(HF_OK, hf_session_acquire(session, &three, NULL, NULL, &err), err);
    expect_true(hf_session_is_held(session, &three));
    hf_session_free(session);
    hf_manager_close(manager);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

static void a_backup_inside_the_applications_transaction_is_invalid(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    char path[HF_URL_MAX];
    scratch_path(".backup", path);
    wrap_sql(s->app, "BEGIN IMMEDIATE; INSERT INTO policy VALUES (1, 'alice')");
    expect(HF_INVALID, hf_store_backup(s->store, path, &err), err);
    expect_contains(err.message, "transaction");
    expect_true(access(path, F_OK) != 0);
    expect_true(!sqlite3_get_autocommit(s->app));
    wrap_sql(s->app, "COMMIT");
    expect(HF_OK, hf_store_backup(s->store, path, &err), err);
    unlink(path);
}

/* The application's own tables are no reason to name another file. */
static void a_database_with_other_tables_only_is_to_be_wrapped_with_install(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_error err = {0};
    expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    wrap_sql(db, "CREATE TABLE policy (id)");
    expect(HF_UNAVAILABLE, hf_sqlite_wrap(db, NULL, 0, &store, &err), err);
    expect_contains(err.message, "HF_SQLITE_INSTALL");
    expect_true(store == NULL);
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    hf_store_close(store);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

/* ---- handles, over transactions of the application's ---- */

typedef struct told {
    int lost, ended, requested;
    char why[16];
} told;

static void wrap_hear(void *context, const hf_notice *notice)
{
    told *it = context;
    it->lost += notice->kind == HF_NOTICE_LOST;
    it->ended += notice->kind == HF_NOTICE_ENDED;
    it->requested += notice->kind == HF_NOTICE_REQUESTED;
    snprintf(it->why, sizeof it->why, "%s", notice->why);
}

static hf_manager *manage(shop *s, told *it)
{
    hf_error err = {0};
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    expect(HF_OK, hf_sqlite_wrap(s->app, NULL, 0, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &manager, &err), err);
    expect(HF_OK, hf_manager_listen(manager, wrap_hear, it, &err), err);
    return manager;
}

static hf_session *at_work(hf_manager *manager)
{
    hf_error err = {0};
    hf_session *session = NULL;
    hf_session_options options = {.user = "alice", .idle_us = HOUR};
    expect(HF_OK, hf_session_open(manager, &options, &session, &err), err);
    return session;
}

static void a_handle_outlives_a_close_that_was_rolled_back(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    told it = {0};
    hf_manager *manager = manage(s, &it);
    hf_session *alice = at_work(manager);
    wrap_sql(s->app, "BEGIN");
    expect(HF_OK, hf_session_close(alice, &err), err);
    wrap_sql(s->app, "ROLLBACK");
    expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
    expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
    expect_int(it.ended, 0);
    wrap_sql(s->app, "BEGIN");
    expect(HF_OK, hf_session_close(alice, &err), err);
    wrap_sql(s->app, "COMMIT");
    expect_int(it.ended, 0);
    expect(HF_EXPIRED, hf_session_beat(alice, NULL, &err), err);
    expect_int(it.ended, 1);
    expect_text(it.why, "closed");
    hf_session_free(alice);
    hf_manager_close(manager);
}

/* Whichever call it is that finds the session closed in there. */
static void a_handle_outlives_what_calls_said_after_a_close_that_was_rolled_back(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    told it = {0};
    hf_manager *manager = manage(s, &it);
    hf_session *alice = at_work(manager);
    hf_resource policy = resource_of("policy/1");
    for (int call = 0; call < 4; call++) {
        wrap_sql(s->app, "BEGIN");
        expect(HF_OK, hf_session_close(alice, &err), err);
        expect_int(call == 0   ? hf_session_holds(alice, &policy, 0, NULL, &err)
                   : call == 1 ? hf_session_beat(alice, NULL, &err)
                   : call == 2 ? hf_session_acquire_all(alice, &policy, 1, NULL, NULL, &err)
                               : hf_session_acquire(alice, &policy, NULL, NULL, &err),
                   HF_EXPIRED);
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        wrap_sql(s->app, "ROLLBACK");
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        expect_int(it.ended, 0);
        expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
        expect_true(hf_session_is_held(alice, &policy));
    }
    hf_session_free(alice);
    hf_manager_close(manager);
}

static void a_handle_hears_of_the_loss_of_what_it_took_in_a_transaction(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    told it = {0};
    hf_manager *manager = manage(s, &it);
    hf_session *alice = at_work(manager);
    hf_resource policy = resource_of("policy/1");
    wrap_sql(s->app, "BEGIN");
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    wrap_sql(s->app, "COMMIT");
    expect_int(ASK(s->other, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "lunch"),
               HF_OK);
    for (int i = 0; i < 3; i++)
        expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
    expect_int(it.lost, 1);
    expect_text(it.why, "forced");
    hf_session_free(alice);
    hf_manager_close(manager);
}

static void a_handle_attached_in_a_transaction_knows_its_session_and_lives(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    told it = {0};
    hf_manager *manager = manage(s, &it);
    hf_session *alice = at_work(manager), *again = NULL;
    hf_session_info info = {0};
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", hf_session_id(alice),
             hf_session_credentials(alice)->key);
    wrap_sql(s->app, "BEGIN");
    expect(HF_OK, hf_session_attach(manager, id_and_key, &again, &err), err);
    hf_session_describe(again, &info);
    expect_text(info.user, "alice");
    expect_int(info.idle_us, HOUR);
    expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
    wrap_sql(s->app, "COMMIT");
    expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
    expect_int(it.ended, 0);
    hf_resource policy = resource_of("policy/1");
    expect(HF_OK, hf_session_beat(again, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(again, &policy, NULL, NULL, &err), err);
    expect_true(hf_session_is_held(again, &policy));
    hf_session_free(again);
    hf_session_free(alice);
    hf_manager_close(manager);
}

static void a_bound_made_shorter_in_a_transaction_is_counted_with(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    told it = {0};
    hf_manager *manager = manage(s, &it);
    hf_session *alice = at_work(manager);
    hf_resource policy = resource_of("policy/1");
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    wrap_sql(s->app, "BEGIN");
    expect(HF_OK, hf_session_renew(alice, &policy, 2 * HOUR, NULL, NULL, &err), err);
    expect_true(hf_session_is_held(alice, &policy));
    expect(HF_OK, hf_session_renew(alice, &policy, HF_DURATION_MIN_US, NULL, NULL, &err), err);
    wrap_sql(s->app, "COMMIT");
    usleep(HF_DURATION_MIN_US);
    expect_true(!hf_session_is_held(alice, &policy));
    hf_session_free(alice);
    hf_manager_close(manager);
}

/* Both clocks are the test's: the store's and this machine's. */
static int64_t boot_now;

static int64_t wrap_boot_by_test(void)
{
    return boot_now;
}

static void wrap_pass(hf_manager *manager, int64_t us)
{
    boot_now += us;
    hf_store_clock_freeze(hf_manager_store(manager), FIXTURE_BEGINS_US + boot_now);
}

static int64_t (*clocks_begin(hf_manager *manager))(void)
{
    int64_t (*before)(void) = hf_seam.boot_us;
    boot_now = HOUR;
    wrap_pass(manager, 0);
    hf_seam.boot_us = wrap_boot_by_test;
    return before;
}

/* P7: each of the beats may have been rolled back, so poll beats too, when it is let. */
static void a_session_that_beats_in_transactions_is_kept_alive_by_poll(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    for (int form = 0; form < 2; form++) {
        told it = {0};
        hf_manager *manager = manage(s, &it);
        int64_t (*before)(void) = clocks_begin(manager), next_us = 0;
        hf_session *alice = NULL;
        hf_session_options options = {.user = "alice", .idle_us = 30 * SECOND};
        expect(HF_OK, hf_session_open(manager, &options, &alice, &err), err);
        for (int i = 0; i < 24; i++) {
            wrap_pass(manager, 5 * SECOND);
            wrap_sql(s->app, "BEGIN");
            expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
            if (form == 1) { /* poll comes in there, as often as it says, and once outside */
                for (int polls = 0; polls < 2; polls++) {
                    expect(HF_OK, hf_manager_poll(manager, &next_us, &err), err);
                    expect_true(next_us >= SECOND);
                }
                wrap_pass(manager, next_us);
            }
            wrap_sql(s->app, i % 2 ? "COMMIT" : "ROLLBACK");
            expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        }
        expect_int(it.ended, 0);
        expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
        hf_seam.boot_us = before;
        hf_session_free(alice);
        hf_manager_close(manager);
    }
}

/* Poll finds it closed in there, with others that are due or alone. */
static void a_handle_outlives_what_poll_saw_in_a_transaction_that_was_rolled_back(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    for (int others = 0; others < 2; others++) {
        told it = {0};
        hf_manager *manager = manage(s, &it);
        int64_t (*before)(void) = clocks_begin(manager);
        hf_session *alice = at_work(manager), *other = others ? at_work(manager) : NULL;
        wrap_pass(manager, HOUR / 2);
        wrap_sql(s->app, "BEGIN");
        expect(HF_OK, hf_session_close(alice, &err), err);
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        wrap_sql(s->app, "ROLLBACK");
        expect_int(it.ended, 0);
        wrap_pass(manager, HOUR / 2 - SECOND);
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        wrap_pass(manager, HOUR / 2);
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        expect_int(it.ended, 0);
        hf_seam.boot_us = before;
        hf_session_free(other);
        hf_session_free(alice);
        hf_manager_close(manager);
    }
}

/* What came of the shorter bound only the store knows; it is told once if it was lost, and not if
 * it was not. */
static void a_bound_made_shorter_in_a_transaction_is_told_of_when_the_store_tells(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    for (int commit = 0; commit < 2; commit++) {
        told it = {0};
        hf_manager *manager = manage(s, &it);
        int64_t (*before)(void) = clocks_begin(manager);
        hf_session *alice = at_work(manager);
        hf_resource policy = resource_of(commit ? "policy/1" : "policy/0");
        expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
        wrap_sql(s->app, "BEGIN");
        expect(HF_OK, hf_session_renew(alice, &policy, SECOND, NULL, NULL, &err), err);
        wrap_sql(s->app, commit ? "COMMIT" : "ROLLBACK");
        wrap_pass(manager, 2 * SECOND);
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        expect_int(it.lost, 0);
        expect_true(!hf_session_is_held(alice, &policy));
        for (int i = 0; i < 3; i++)
            expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
        expect_int(it.lost, commit);
        expect(commit ? HF_NOT_HELD : HF_OK, hf_session_holds(alice, &policy, 0, NULL, &err), err);
        hf_seam.boot_us = before;
        hf_session_free(alice);
        hf_manager_close(manager);
    }
}

/* By a beat of its own, or by poll's, alone or with others. */
static void beat_in_some_way(hf_manager *manager, hf_session *session, int way)
{
    hf_error err = {0};
    expect(HF_OK,
           way == 0 ? hf_session_beat(session, NULL, &err) : hf_manager_poll(manager, NULL, &err),
           err);
}

/* What a beat sees in there may be undone: a loss is believed at once, but told when a beat outside
 * sees it. */
static void a_loss_that_a_beat_saw_in_a_transaction_is_told_when_it_is_sure(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    for (int form = 0; form < 6; form++) {
        told it = {0};
        int commit = form % 2, way = form / 2;
        hf_manager *manager = manage(s, &it);
        int64_t (*before)(void) = clocks_begin(manager);
        hf_session *alice = at_work(manager), *other = way == 2 ? at_work(manager) : NULL;
        hf_resource policy = resource_of("policy/1");
        expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
        wrap_pass(manager, HOUR / 2);
        wrap_sql(s->app, "BEGIN");
        expect(HF_OK, hf_manager_force_release(manager, &policy, "root", "lunch", 0, NULL, &err),
               err);
        beat_in_some_way(manager, alice, way);
        expect_true(!hf_session_is_held(alice, &policy));
        wrap_sql(s->app, commit ? "COMMIT" : "ROLLBACK");
        expect_int(it.lost, 0);
        for (int i = 0; i < 3; i++)
            expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
        expect_int(it.lost, commit);
        expect(commit ? HF_NOT_HELD : HF_OK, hf_session_holds(alice, &policy, 0, NULL, &err), err);
        expect(HF_OK, hf_session_close(alice, &err), err);
        hf_seam.boot_us = before;
        hf_session_free(other);
        hf_session_free(alice);
        hf_manager_close(manager);
    }
}

static void a_request_that_a_beat_saw_in_a_transaction_is_told_when_it_is_sure(void **state)
{
    shop *s = *state;
    hf_error err = {0};
    for (int form = 0; form < 6; form++) {
        told it = {0};
        int commit = form % 2, way = form / 2;
        hf_manager *manager = manage(s, &it);
        int64_t (*before)(void) = clocks_begin(manager);
        hf_session *alice = at_work(manager), *other = at_work(manager);
        hf_resource policy = resource_of("policy/1");
        expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
        wrap_pass(manager, HOUR / 2);
        if (way == 1)
            expect(HF_OK, hf_session_beat(other, NULL, &err), err);
        wrap_sql(s->app, "BEGIN");
        expect(HF_OK, hf_session_request(other, &policy, "please", &err), err);
        beat_in_some_way(manager, alice, way);
        expect_true(hf_session_is_held(alice, &policy));
        wrap_sql(s->app, commit ? "COMMIT" : "ROLLBACK");
        expect_int(it.requested, 0);
        for (int i = 0; i < 3; i++)
            expect(HF_OK, hf_session_beat(alice, NULL, &err), err);
        expect_int(it.requested, commit);
        expect(HF_OK, hf_session_close(other, &err), err);
        expect(HF_OK, hf_session_close(alice, &err), err);
        hf_seam.boot_us = before;
        hf_session_free(other);
        hf_session_free(alice);
        hf_manager_close(manager);
    }
}

/* Only before SQLite is used; then it counts nothing, and a store works as ever. */
static void sqlite_counts_no_memory_where_it_is_told_so_in_time(void **state)
{
    void *it = NULL;
    (void)state;
    wrap_shop_open(&it);
    expect_true(sqlite3_memory_used() > 0);
    expect_true(!hf_sqlite_uncounted());
    wrap_shop_close(&it);
    expect_int(sqlite3_shutdown(), SQLITE_OK);
    expect_true(hf_sqlite_uncounted());
    wrap_shop_open(&it);
    expect_int(sqlite3_memory_used(), 0);
    wrap_shop_close(&it);
    expect_int(sqlite3_shutdown(), SQLITE_OK);
    expect_int(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1), SQLITE_OK);
}

#define IN_SHOP(test) cmocka_unit_test_setup_teardown(test, wrap_shop_open, wrap_shop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SHOP(a_grant_counts_when_the_application_commits_on_sqlite),
        IN_SHOP(manager_wrap_a_rollback_undoes_the_grant),
        IN_SHOP(several_batches_join_one_transaction_on_sqlite),
        IN_SHOP(outside_a_transaction_each_batch_is_its_own_on_sqlite),
        IN_SHOP(a_refusal_leaves_the_transaction_as_it_is),
        IN_SHOP(a_batch_that_fails_in_the_database_undoes_itself_alone_on_sqlite),
        IN_SHOP(a_batch_that_runs_out_of_memory_undoes_itself_alone),
        IN_SHOP(a_handle_outlives_a_close_that_was_rolled_back),
        IN_SHOP(a_handle_hears_of_the_loss_of_what_it_took_in_a_transaction),
        IN_SHOP(a_handle_attached_in_a_transaction_knows_its_session_and_lives),
        IN_SHOP(a_bound_made_shorter_in_a_transaction_is_counted_with),
        IN_SHOP(a_session_that_beats_in_transactions_is_kept_alive_by_poll),
        IN_SHOP(a_handle_outlives_what_calls_said_after_a_close_that_was_rolled_back),
        IN_SHOP(a_handle_outlives_what_poll_saw_in_a_transaction_that_was_rolled_back),
        IN_SHOP(a_bound_made_shorter_in_a_transaction_is_told_of_when_the_store_tells),
        IN_SHOP(a_loss_that_a_beat_saw_in_a_transaction_is_told_when_it_is_sure),
        IN_SHOP(a_request_that_a_beat_saw_in_a_transaction_is_told_when_it_is_sure),
        IN_SHOP(a_disk_that_is_full_takes_the_whole_transaction_and_that_is_said),
        IN_SHOP(another_connections_open_change_is_busy_at_once),
        IN_SHOP(an_older_snapshot_grants_nothing_twice_on_sqlite),
        cmocka_unit_test(without_the_tables_and_without_leave_to_make_them_it_is_unavailable),
        cmocka_unit_test(the_tables_have_the_prefix_that_was_asked_for),
        cmocka_unit_test(a_manager_works_on_the_applications_handle),
        cmocka_unit_test(a_database_in_utf_16_is_refused),
        cmocka_unit_test(an_install_that_cannot_be_committed_leaves_no_transaction_open),
        cmocka_unit_test(what_is_granted_in_the_applications_transaction_is_not_believed),
        IN_SHOP(a_backup_inside_the_applications_transaction_is_invalid),
        cmocka_unit_test(a_database_with_other_tables_only_is_to_be_wrapped_with_install),
        cmocka_unit_test(sqlite_counts_no_memory_where_it_is_told_so_in_time),
    };
    return cmocka_run_group_tests_name("wrap", tests, NULL, NULL);
}
