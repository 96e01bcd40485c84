/* SPDX-License-Identifier: MIT */
/* An application's own connection to PostgreSQL, MariaDB or MySQL as a store: a batch joins the
 * open transaction, counts when the application commits, and neither a refusal nor a failure of a
 * batch ends it. What is set on the connection stays as it was. */
#include "database/shop.h"

#include <stdlib.h>
#include <string.h>

/* Someone else, who has not committed, sits on policy/ID. */
static void sit_on(shop *s, const char *id)
{
    app_begin(s->other, READ_COMMITTED);
    must(HF_OK, s->others, ACQUIRE, BY(s->carol), ON("policy", id));
}

/* The transaction goes on: the application's own row is written and committed. */
static void wrap_goes_on(shop *s, int row)
{
    expect_true(app_in_transaction(s->app));
    app_do(s->app, "INSERT INTO {app} VALUES (%d, 'alice')", row);
    expect_true(app_commit(s->app));
    expect_true(!app_in_transaction(s->app));
    expect_int(app_number(s->app, "SELECT count(*) FROM {app} WHERE id = %d", row), 1);
}

/* ---- what counts when ---- */

/* P2 */
static void a_grant_counts_when_the_application_commits_on_a_server(shop *s)
{
    app_begin(s->app, s->level);
    said granted = must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(granted.pending && granted.outcome == HF_GRANTED);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    expect_true(app_in_transaction(s->app));
    expect_int(holders(s->store, "1"), 1);
    expect_int(holders(s->plain, "1"), 0);
    int64_t heard = must(HF_OK, s->plain, EVENTS, .limit = 1000).last_seq;
    expect_int(events_of(s->other, "acquired"), 0);
    expect_true(app_commit(s->app));
    expect_int(holders(s->plain, "1"), 1);
    expect_int(app_number(s->other, "SELECT count(*) FROM {app}"), 1);
    expect_int(must(HF_OK, s->plain, EVENTS, .after_seq = heard).events_count, 1);
    expect_int(events_of(s->other, "acquired"), 1);
    said refused = must(HF_LOCKED, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
    expect_int(refused.lock.fence, granted.lock.fence);
    expect_text(refused.lock.session, s->alice.id);
}

static const unsigned char hash[32] = {7, 8, 9};
static const char token[] = "0123456789abcdef0123456789abcdef";

/* P2 */
static void a_token_counts_when_the_application_commits(shop *s)
{
    for (int round = 0; round < 2; round++) {
        app_begin(s->app, s->level);
        said made = must(HF_OK, s->store, TOKEN_CREATE, .token = token, .sha256 = hash, .name = "n",
                         .roles = "use");
        expect_true(made.pending);
        must(HF_OK, s->store, TOKEN_FIND, .sha256 = hash);
        must(HF_NOT_FOUND, s->plain, TOKEN_FIND, .sha256 = hash);
        must(HF_INVALID, s->store, TOKEN_CREATE, .token = token, .sha256 = hash, .name = "n",
             .roles = "use");
        must(HF_NOT_FOUND, s->store, TOKEN_REVOKE, .token = "ffffffffffffffffffffffffffffffff");
        expect_true(app_in_transaction(s->app));
        if (round == 0)
            app_rollback(s->app);
        else
            expect_true(app_commit(s->app));
        must(round == 0 ? HF_NOT_FOUND : HF_OK, s->plain, TOKEN_FIND, .sha256 = hash);
    }
    expect_int(events_of(s->other, "token_created"), 1);
    app_begin(s->app, s->level);
    must(HF_OK, s->store, TOKEN_REVOKE, .token = token);
    said busy = ASK(s->plain, TOKEN_REVOKE, .token = token);
    expect_status(HF_BUSY, busy.status, busy.message);
    expect_true(app_commit(s->app));
    must(HF_OK, s->plain, TOKEN_REVOKE, .token = token);
    expect_int(events_of(s->other, "token_revoked"), 1);
}

/* P2 */
static void wrap_a_rollback_undoes_the_grant(shop *s)
{
    int64_t heard = must(HF_OK, s->plain, EVENTS, .limit = 1000).last_seq;
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_rollback(s->app);
    expect_int(holders(s->store, "1"), 0);
    expect_int(holders(s->plain, "1"), 0);
    expect_int(must(HF_OK, s->plain, EVENTS, .after_seq = heard).events_count, 0);
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
    must(HF_LOCKED, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
}

static void a_rollback_to_the_applications_savepoint_undoes_what_came_after(shop *s)
{
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_do(s->app, "SAVEPOINT shop");
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
    must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "1"));
    app_do(s->app, "ROLLBACK TO SAVEPOINT shop");
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "3"));
    wrap_goes_on(s, 1);
    expect_int(holders(s->plain, "1"), 1);
    expect_int(holders(s->plain, "2"), 0);
    expect_int(holders(s->plain, "3"), 1);
}

static void outside_a_transaction_each_batch_is_its_own_on_a_server(shop *s)
{
    said granted = must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(!granted.pending && !app_in_transaction(s->app));
    expect_int(holders(s->plain, "1"), 1);
    must(HF_LOCKED, s->store, ACQUIRE, BY(s->bob), ON("policy", "1"));
    must(HF_INVALID, s->store, ACQUIRE, BY(s->bob), ON("policy", ""));
    expect_true(!app_in_transaction(s->app));
    sit_on(s, "2");
    must(HF_BUSY, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
    expect_true(!app_in_transaction(s->app));
    app_rollback(s->other);
    must(HF_OK, s->store, BEAT, BY(s->alice));
    must(HF_OK, s->store, CLOSE, BY(s->alice));
    must(HF_OK, s->store, SWEEP, .limit = 10);
    expect_true(!app_in_transaction(s->app));
    app_begin(s->app, READ_COMMITTED);
    wrap_goes_on(s, 1);
    expect_int(holders(s->plain, "1"), 0);
}

/* ---- what does not end the transaction ---- */

static void refusals_leave_the_transaction_as_it_is(shop *s)
{
    hf_credentials stranger = drawn(), gone = newcomer(s->plain, "gone", 0), wrong = s->alice;
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
    must(HF_OK, s->plain, CLOSE, BY(gone));
    memcpy(wrong.key_sha256, stranger.key_sha256, sizeof wrong.key_sha256);
    app_begin(s->app, s->level);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    said refused = must(HF_LOCKED, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_contains(refused.message, "bob");
    expect_true(!refused.whole);
    must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", ""));
    must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("No Type", "1"));
    must(HF_NOT_FOUND, s->store, ACQUIRE, BY(stranger), ON("policy", "2"));
    must(HF_EXPIRED, s->store, ACQUIRE, BY(gone), ON("policy", "2"));
    must(HF_DENIED, s->store, ACQUIRE, BY(wrong), ON("policy", "2"));
    must(HF_NOT_HELD, s->store, RELEASE, BY(s->alice), ON("policy", "1"));
    must(HF_NOT_HELD, s->store, HOLDS, BY(s->alice), ON("policy", "3"));
    must(HF_NOT_HELD, s->store, RENEW, BY(s->alice), ON("policy", "3"), .ttl_us = SECOND);
    must(HF_NOT_FOUND, s->store, BEAT, BY(stranger));
    must(HF_NOT_FOUND, s->store, HAND_OVER, BY(s->bob), ON("policy", "1"), .target = stranger.id);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "4"));
    wrap_goes_on(s, 2);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 2);
    expect_int(holders(s->plain, "4"), 1);
    expect_int(holders(s->plain, "2"), 0);
}

/* P3 */
static void a_busy_anchor_leaves_the_transaction_as_it_is(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "old"));
    must(HF_OK, s->plain, RELEASE, BY(s->bob), ON("policy", "old"));
    sit_on(s, "old");
    must(HF_OK, s->others, ACQUIRE, BY(s->carol), ON("policy", "new"));
    app_begin(s->app, s->level);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    said old, new;
    expect_in_time(busy_max_us(s), "a busy anchor",
                   old = must(HF_BUSY, s->store, ACQUIRE, BY(s->alice), ON("policy", "old")));
    expect_in_time(busy_max_us(s), "a new one",
                   new = must(HF_BUSY, s->store, ACQUIRE, BY(s->alice), ON("policy", "new")));
    printf("# busy after %lld and %lld ms\n", (long long)(old.took_us / MILLISECOND),
           (long long)(new.took_us / MILLISECOND));
    expect_contains(old.message, "in the middle of");
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "free"));
    wrap_goes_on(s, 2);
    app_rollback(s->other);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 2);
    expect_int(holders(s->plain, "free"), 1);
    expect_int(holders(s->plain, "old"), 0);
}

static void make_events_fail(shop *s)
{
    if (s->engine == ON_POSTGRES) {
        meddle(s,
               "CREATE FUNCTION {shop_full}() RETURNS trigger LANGUAGE plpgsql AS "
               "'BEGIN RAISE EXCEPTION ''no room for that event''; END'",
               "DROP FUNCTION {shop_full}()");
        meddle(s,
               "CREATE TRIGGER shop_full BEFORE INSERT ON {event} FOR EACH ROW WHEN (new.kind = "
               "'acquired') "
               "EXECUTE FUNCTION {shop_full}()",
               "DROP TRIGGER IF EXISTS shop_full ON {event}");
    } else {
        meddle(s,
               "CREATE TRIGGER {shop_full} BEFORE INSERT ON {event} FOR EACH ROW IF NEW.kind = "
               "'acquired' "
               "THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no room for that event'; END IF",
               "DROP TRIGGER IF EXISTS {shop_full}");
    }
}

static void a_batch_that_fails_in_the_database_undoes_itself_alone_on_a_server(shop *s)
{
    hf_error err = {0};
    make_events_fail(s);
    must(HF_OK, s->plain, BEAT, BY(s->alice));
    int64_t expires =
        app_number(s->other, "SELECT expires_us FROM {session} WHERE id = '%s'", s->alice.id);
    app_begin(s->app, s->level);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    hf_batch *batch = batch_new(2);
    add(batch, BEAT, BY(s->alice));
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    hf_status status = hf_store_execute(s->store, batch, &err);
    expect_true(status != HF_OK && status != HF_UNSURE);
    expect_contains(err.message, "no room for that event");
    hf_batch_free(batch);
    expect_int(holders(s->store, "1"), 0);
    expect_int(app_number(s->app, "SELECT count(*) FROM {lock}"), 0);
    expect_int(app_number(s->app, "SELECT count(*) FROM {resource}"), 0);
    expect_int(app_number(s->app, "SELECT expires_us FROM {session} WHERE id = '%s'", s->alice.id),
               expires);
    must(HF_OK, s->store, BEAT, BY(s->alice)); /* leaves no event */
    wrap_goes_on(s, 2);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 2);
    expect_int(holders(s->plain, "1"), 0);
}

/* A transaction that has failed can only be rolled back: that is said, and nothing is done to it.
 * */
static void a_failed_transaction_is_refused_with_a_sentence(shop *s)
{
    app_begin(s->app, s->level);
    expect_true(!app_try(s->app, "SELECT 1 / 0 FROM {no_such_table}"));
    said refused = must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(refused.whole);
    expect_contains(refused.message, "roll it back");
    must(HF_INVALID, s->store, WHO, ON("policy", "1"));
    must(HF_INVALID, s->store, LIST, .limit = 1);
    expect_true(app_in_transaction(s->app));
    app_rollback(s->app);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
}

static void a_transaction_that_only_reads_is_refused_and_goes_on(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
    if (s->engine == ON_POSTGRES)
        app_do(s->app, "BEGIN READ ONLY");
    else
        app_do(s->app, "START TRANSACTION READ ONLY");
    said refused = ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
    expect_status(HF_UNAVAILABLE, refused.status, refused.message);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
    expect_true(app_commit(s->app));
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
}

/* ---- everything inside one transaction ---- */

static void several_batches_join_one_transaction_on_a_server(shop *s)
{
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
    must(HF_LOCKED, s->store, ACQUIRE, BY(s->bob), ON("policy", "2"));
    must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "1"));
    must(HF_OK, s->store, BEAT, BY(s->bob));
    must(HF_OK, s->store, ACQUIRE, BY(s->bob), ON("policy", "1"));
    wrap_goes_on(s, 1);
    expect_text(must(HF_OK, s->plain, WHO, ON("policy", "1")).lock.session, s->bob.id);
    expect_text(must(HF_OK, s->plain, WHO, ON("policy", "2")).lock.session, s->alice.id);
}

static void a_batch_of_several_ops_and_runs_answers_each(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "taken"));
    app_begin(s->app, s->level);
    hf_batch *batch = batch_new(8);
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "2"), .linked = true);
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "taken"));
    add(batch, ACQUIRE, BY(s->carol), ON("policy", "3"), .linked = true);
    add(batch, ACQUIRE, BY(s->carol), ON("policy", "4"));
    add(batch, ACQUIRE, BY(s->carol), ON("policy", "1"));
    add(batch, BEAT, BY(s->alice));
    add(batch, HOLDS, BY(s->alice), ON("policy", "1"));
    execute(s->store, batch);
    answer(batch, 0, HF_OK);
    answer(batch, 1, HF_NOT_APPLIED);
    answer(batch, 2, HF_LOCKED);
    answer(batch, 3, HF_OK);
    answer(batch, 4, HF_OK);
    answer(batch, 5, HF_LOCKED);
    answer(batch, 6, HF_OK);
    answer(batch, 7, HF_OK);
    for (size_t i = 0; i < 8; i++)
        expect_true(hf_batch_op(batch, i)->answer.pending);
    hf_batch_free(batch);
    wrap_goes_on(s, 1);
    expect_int(holders(s->plain, "1"), 1);
    expect_int(holders(s->plain, "2"), 0);
    expect_int(holders(s->plain, "3"), 1);
    expect_int(holders(s->plain, "4"), 1);
}

/* False: the other one's commit came after the time of the batch was over, and all is as before. */
static bool fails_as_a_whole(shop *s)
{
    hf_error err = {0};
    for (int i = 1; i <= 2; i++) { /* leaves the anchors behind */
        const char *id = i == 1 ? "1" : "2";
        must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", id));
        must(HF_OK, s->plain, RELEASE, BY(s->bob), ON("policy", id));
    }
    app_begin(s->app, REPEATABLE_READ);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    sit_on(s, "2");
    app_commit_later(s->other, 150);
    hf_batch *batch = batch_new(2);
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "1"));
    add(batch, ACQUIRE, BY(s->alice), ON("policy", "2"));
    hf_status status = hf_store_execute(s->store, batch, &err);
    app_wait(s->other);
    if (status == HF_OK && hf_batch_op(batch, 1)->answer.status == HF_BUSY) {
        hf_batch_free(batch);
        app_rollback(s->app);
        must(HF_OK, s->plain, RELEASE, BY(s->carol), ON("policy", "2"));
        return false;
    }
    expect_status(HF_RETRY, status, err.message);
    must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_rollback(s->app);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
    expect_int(holders(s->plain, "1"), 0);
    app_begin(s->app, REPEATABLE_READ);
    execute(s->store, batch);
    answer(batch, 0, HF_OK);
    answer(batch, 1, HF_LOCKED);
    hf_batch_free(batch);
    wrap_goes_on(s, 1);
    expect_int(holders(s->plain, "1"), 1);
    return true;
}

/* MariaDB, where it refuses to change what is newer than the snapshot: with that it has rolled back
 * the application's transaction, and what was answered of the batch before. */
static void when_the_server_rolls_all_back_the_whole_batch_has_failed(shop *s)
{
    char *known = app_text(s->app, "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'");
    bool refuses = known[0] != '\0';
    free(known);
    if (!refuses)
        return;
    app_do(s->app, "SET SESSION innodb_snapshot_isolation = ON");
    expect_once(fails_as_a_whole(s));
}

static void every_op_works_inside_a_transaction(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "b"));
    must(HF_OK, s->plain, ACQUIRE, BY(s->carol), ON("policy", "c"));
    /* what all is can't be told in it */
    bool snapshot = s->engine == ON_POSTGRES && s->level != READ_COMMITTED;
    if (snapshot)
        must(HF_OK, s->plain, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
    app_begin(s->app, s->level);
    hf_credentials dora = newcomer(s->store, "dora", 0);
    must(snapshot ? HF_INVALID : HF_OK, s->store, TYPE_SET, .type = "claim",
         .policy = HF_POLICY_READ_WRITE);
    expect_int(must(HF_OK, s->store, TYPE_GET, .type = "claim").status, HF_OK);
    must(HF_OK, s->store, ACQUIRE, BY(dora), ON("claim", "1"), .mode = HF_SHARED);
    must(HF_OK, s->store, ACQUIRE, BY(dora), ON("claim", "1"));
    must(HF_OK, s->store, RENEW, BY(dora), ON("claim", "1"), .ttl_us = MINUTE);
    must(HF_OK, s->store, DOWNGRADE, BY(dora), ON("claim", "1"));
    must(HF_OK, s->store, REQUEST, BY(dora), ON("policy", "b"), .text = "please");
    must(HF_OK, s->store, HAND_OVER, BY(s->bob), ON("policy", "b"), .target = dora.id);
    must(HF_OK, s->store, HOLDS, BY(dora), ON("policy", "b"));
    must(HF_OK, s->store, FORCE_RELEASE, ON("policy", "c"), .text = "because", .actor = "chief");
    expect_int(must(HF_OK, s->store, WHO, ON("policy", "b")).locks_count, 1);
    expect_int(must(HF_OK, s->store, LIST, .target = dora.id).locks_count, 2);
    expect_int(must(HF_OK, s->store, LIST, .limit = 10).locks_count, 2);
    must(HF_OK, s->store, SESSIONS, .user = "dora");
    must(HF_OK, s->store, TYPES, .limit = 0);
    expect_int(must(HF_OK, s->store, EVENTS, .limit = 1000).status, HF_OK);
    said all = must(snapshot ? HF_INVALID : HF_OK, s->store, RELEASE_ALL, BY(dora));
    expect_int(all.locks_count, snapshot ? 0 : 2);
    must(HF_OK, s->store, ACQUIRE, BY(dora), ON("policy", "d"));
    expect_int(must(HF_OK, s->store, CLOSE, BY(dora)).locks_count, snapshot ? 3 : 1);
    must(HF_EXPIRED, s->store, BEAT, BY(dora));
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "a"));
    expect_int(must(HF_OK, s->plain, LIST, .limit = 10).locks_count, 2);
    wrap_goes_on(s, 1);
    expect_int(must(HF_OK, s->plain, LIST, .limit = 10).locks_count, 1);
    expect_int(events_of(s->app, "forced"), 1);
    must(HF_OK, s->plain, TYPE_GET, .type = "claim");
}

/* ---- what is set on the connection ---- */

static void ask_all_sorts(shop *s)
{
    ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    ASK(s->store, ACQUIRE, BY(s->bob), ON("policy", "1"));
    ASK(s->store, ACQUIRE, BY(s->bob), ON("policy", ""));
    ASK(s->store, ACQUIRE, BY(s->bob), ON("policy", "busy"));
    ASK(s->store, BEAT, BY(s->alice));
    ASK(s->store, WHO, ON("policy", "1"));
    ASK(s->store, LIST, .limit = 10);
    ASK(s->store, EVENTS, .limit = 10);
    ASK(s->store, RELEASE_ALL, BY(s->alice));
}

static void wrap_same_text(char *before, char *after)
{
    bool same = strcmp(before, after) == 0;
    for (char *a = before, *b = after; !same && *a && *b;) {
        size_t size = strcspn(a, "\n"), other = strcspn(b, "\n");
        if (size != other || strncmp(a, b, size) != 0)
            fprintf(stderr, "%.*s became %.*s\n", (int)size, a, (int)other, b);
        a += size + (a[size] == '\n');
        b += other + (b[other] == '\n');
    }
    free(before);
    free(after);
    expect_true(same);
}

static void set_unusual_things(shop *s)
{
    static const char *const postgres[] = {
        "lock_timeout = 1234", "synchronous_commit = local", "enable_seqscan = on",
        "plan_cache_mode = force_custom_plan", "statement_timeout = 54321"};
    static const char *const mysql[] = {"innodb_lock_wait_timeout = 7", "sql_mode = ''",
                                        "lock_wait_timeout = 77", "time_zone = '+05:00'"};
    bool pg = s->engine == ON_POSTGRES;
    if (pg) /* loads the settings of that language */
        app_do(s->app, "DO 'BEGIN END'");
    size_t count = pg ? sizeof postgres / sizeof *postgres : sizeof mysql / sizeof *mysql;
    for (size_t i = 0; i < count; i++)
        app_do(s->app, "SET SESSION %s", pg ? postgres[i] : mysql[i]);
    app_do(s->app,
           pg ? "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL %s"
              : "SET SESSION TRANSACTION ISOLATION LEVEL %s",
           app_level_name(s->level));
}

static void settings_are_the_same_afterwards(shop *s)
{
    sit_on(s, "busy");
    set_unusual_things(s);
    char *before = app_settings(s->app);
    ask_all_sorts(s);
    wrap_same_text(before, app_settings(s->app));
    app_begin(s->app, s->level);
    if (s->engine == ON_POSTGRES)
        app_do(s->app, "SET LOCAL lock_timeout = 777");
    before = app_settings(s->app);
    ask_all_sorts(s);
    wrap_same_text(before, app_settings(s->app));
    wrap_goes_on(s, 1);
    app_rollback(s->other);
}

/* ... also when a batch fails. */
static void settings_are_the_same_after_a_failure(shop *s)
{
    make_events_fail(s);
    set_unusual_things(s);
    char *before = app_settings(s->app);
    expect_true(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")).whole);
    wrap_same_text(before, app_settings(s->app));
    app_begin(s->app, s->level);
    before = app_settings(s->app);
    expect_true(ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1")).whole);
    wrap_same_text(before, app_settings(s->app));
    wrap_goes_on(s, 1);
}

/* What keeps people from deleting too much by hand, and from reading it, is not for the store. */
static void limits_of_the_connection_do_not_matter(shop *s)
{
    hf_error err = {0};
    hf_store *store = NULL;
    app_do(s->app, "SET SESSION sql_safe_updates = 1, sql_select_limit = 1");
    expect(HF_OK, app_wrap(s->app, app_names(s->app), 0, &store, &err), err);
    takes_two_and_gives_them_back(store, "outside");
    must(HF_OK, store, SWEEP, .limit = 100);
    app_begin(s->app, s->level);
    takes_two_and_gives_them_back(store, "inside");
    hf_store_close(store);
    wrap_goes_on(s, 1);
    expect_int(app_number(s->app, "SELECT @@sql_safe_updates + 0"), 1);
    expect_int(app_number(s->app, "SELECT @@sql_select_limit"), 1);
    expect_int(app_number(s->other, "SELECT count(*) FROM {lock}"), 0);
}

/* An event with the highest of all ids would be the last: the next INSERT gets none. */
static void a_number_that_is_set_for_the_next_row_is_no_events(shop *s)
{
    int64_t last = app_number(s->other, "SELECT max(id) FROM {event}");
    app_do(s->app, "SET SESSION insert_id = 9223372036854775807");
    said refused = ASK(s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_status(HF_INVALID, refused.status, refused.message);
    expect_contains(refused.message, "insert_id");
    expect_true(app_number(s->app, "SELECT @@insert_id = 9223372036854775807") == 1);
    expect_int(app_number(s->other, "SELECT max(id) FROM {event}"), last);
    app_do(s->app, "SET SESSION insert_id = 5");
    app_begin(s->app, s->level);
    must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    wrap_goes_on(s, 1);
    must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
}

/* A session may set its clock to another day, and its zone to any. */
static void the_clock_of_the_connection_moves_nothing(shop *s)
{
    static const char *const clocks[] = {"UNIX_TIMESTAMP() + 86400", "2147400000", "1000"};
    said held = must(HF_OK, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
    app_do(s->app, "SET SESSION time_zone = '+05:45'");
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        app_do(s->app, "SET SESSION timestamp = %s", clocks[i]);
        for (int inside = 0; inside < 2; inside++) {
            if (inside)
                app_begin(s->app, s->level);
            must(HF_LOCKED, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
            expect_int(holders(s->store, "1"), 1);
            must(HF_OK, s->store, BEAT, BY(s->bob));
            said other = must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
            int64_t fence = other.lock.fence;
            expect_true(llabs(fence - held.lock.fence) < INT64_C(600) * 1000000);
            must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "2"));
            if (inside)
                expect_true(app_commit(s->app));
            else
                must(HF_OK, s->store, SWEEP, .limit = 100);
        }
    }
    app_do(s->app, "SET SESSION timestamp = DEFAULT");
    expect_int(holders(s->plain, "1"), 1);
    expect_int(events_of(s->other, "expired"), 0);
}

/* Without the lock wait that the application has set, its own statements would fail at once. */
static void the_applications_own_waiting_is_its_own(shop *s)
{
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'x')");
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_begin(s->other, READ_COMMITTED);
    app_do(s->other, "UPDATE {app} SET holder = 'y' WHERE id = 1");
    app_commit_later(s->other, 300);
    bool waited = app_try(s->app, "UPDATE {app} SET holder = 'z' WHERE id = 1");
    app_wait(s->other);
    if (s->level == READ_COMMITTED)
        expect_true(waited);
    app_rollback(s->app);
}

/* ---- several ways to have a store on a connection ---- */

static void a_connection_can_be_wrapped_again_and_again(shop *s)
{
    hf_error err = {0};
    const char *names = app_names(s->app);
    for (int i = 0; i < 5; i++) {
        hf_store *one = NULL, *two = NULL;
        expect(HF_OK, app_wrap(s->app, names, 0, &one, &err), err);
        expect(HF_OK, app_wrap(s->app, names, 0, &two, &err), err);
        app_begin(s->app, s->level);
        for (int j = 0; j < 3; j++) {
            must(HF_OK, one, ACQUIRE, BY(s->alice), ON("policy", "1"));
            must(HF_LOCKED, two, ACQUIRE, BY(s->bob), ON("policy", "1"));
            must(HF_OK, two, RELEASE, BY(s->alice), ON("policy", "1"));
        }
        hf_store_close(one);
        hf_store_close(two);
        wrap_goes_on(s, i);
    }
    if (s->engine == ON_POSTGRES)
        expect_int(app_number(s->app, "SELECT count(*) FROM pg_prepared_statements"), 0);
}

static void bad_wraps_are_refused(shop *s)
{
    static const char *const bad[] = {"", "with space", "quo\"te", "semi;colon", "1digit"};
    hf_error err = {0};
    hf_store *store = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect(HF_INVALID, app_wrap(s->app, bad[i], 0, &store, &err), err);
        expect_true(store == NULL);
    }
    expect(HF_INVALID, app_wrap(s->app, NULL, 1, &store, &err), err);
    expect(HF_UNAVAILABLE, app_wrap(s->app, "no_such_names", 0, &store, &err), err);
    expect_contains(err.message, "install");
    expect_true(store == NULL);
    app_begin(s->app, s->level);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    expect(HF_UNAVAILABLE, app_wrap(s->app, "no_such_names", 0, &store, &err), err);
    wrap_goes_on(s, 2);
}

/* Wrapping inside a transaction is no reason to end it. */
static void a_connection_can_be_wrapped_inside_a_transaction(shop *s)
{
    hf_error err = {0};
    hf_store *store = NULL;
    const char *names = app_names(s->app);
    app_begin(s->app, s->level);
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    expect(HF_OK, app_wrap(s->app, names, 0, &store, &err), err);
    must(HF_OK, store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    hf_store_close(store);
    expect_int(holders(s->plain, "1"), 0);
    wrap_goes_on(s, 2);
    expect_int(holders(s->plain, "1"), 1);
}

static void a_manager_believes_nothing_before_the_commit(shop *s)
{
    hf_error err = {0};
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    hf_session *session = NULL;
    hf_resource one = resource_of("policy/1"), two = resource_of("policy/2");
    hf_session_options options = {.user = "alice"};
    const char *names = app_names(s->app);
    expect(HF_OK, app_wrap(s->app, names, 0, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &manager, &err), err);
    expect(HF_OK, hf_session_open(manager, &options, &session, &err), err);
    app_begin(s->app, s->level);
    expect(HF_OK, hf_session_acquire(session, &one, NULL, NULL, &err), err);
    expect_true(!hf_session_is_held(session, &one));
    app_rollback(s->app);
    expect(HF_NOT_HELD, hf_session_holds(session, &one, 0, NULL, &err), err);
    app_begin(s->app, s->level);
    expect(HF_OK, hf_session_acquire(session, &one, NULL, NULL, &err), err);
    wrap_goes_on(s, 1);
    expect(HF_OK, hf_session_holds(session, &one, 0, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(session, &two, NULL, NULL, &err), err);
    expect_true(hf_session_is_held(session, &two));
    hf_session_free(session);
    hf_manager_close(manager);
}

/* What is in a column that this version does not set comes and goes with its row. */
static void columns_that_nothing_sets_are_carried_on_a_server(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_do(s->app, "UPDATE {lock} SET latest_us = 9000000000000000, data = '[1]', title = "
                   "'Lindqvist', href = '/1'");
    app_do(s->app,
           "UPDATE {session} SET actor = 'agent', limits = '[]', active_us = 7 WHERE id = '%s'",
           s->alice.id);
    must(HF_OK, s->plain, RENEW, BY(s->alice), ON("policy", "1"), .ttl_us = HOUR,
         .purpose = "renewal");
    must(HF_OK, s->plain, BEAT, BY(s->alice));
    app_begin(s->app, READ_COMMITTED);
    must(HF_OK, s->store, RENEW, BY(s->alice), ON("policy", "1"), .ttl_us = 2 * HOUR);
    must(HF_OK, s->store, BEAT, BY(s->alice));
    expect_true(app_commit(s->app));
    expect_int(
        app_number(s->app,
                   "SELECT count(*) FROM {lock} WHERE latest_us = 9000000000000000 AND data = '[1]'"
                   " AND title = 'Lindqvist' AND href = '/1' AND purpose = 'renewal'"),
        1);
    expect_int(app_number(s->app, "SELECT count(*) FROM {session} WHERE actor = 'agent' AND limits "
                                  "= '[]' AND active_us = 7"),
               1);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        ON_ANY(columns_that_nothing_sets_are_carried_on_a_server),
        AT_EVERY_LEVEL(a_grant_counts_when_the_application_commits_on_a_server),
        AT_EVERY_LEVEL(a_token_counts_when_the_application_commits),
        AT_EVERY_LEVEL(wrap_a_rollback_undoes_the_grant),
        AT_EVERY_LEVEL(a_rollback_to_the_applications_savepoint_undoes_what_came_after),
        ON_ANY(outside_a_transaction_each_batch_is_its_own_on_a_server),
        AT_EVERY_LEVEL(refusals_leave_the_transaction_as_it_is),
        AT_EVERY_LEVEL(a_busy_anchor_leaves_the_transaction_as_it_is),
        AT_EVERY_LEVEL(a_batch_that_fails_in_the_database_undoes_itself_alone_on_a_server),
        AT_LEVELS(ON_POSTGRES, LEVELS_ALL, a_failed_transaction_is_refused_with_a_sentence),
        ON_ANY(a_transaction_that_only_reads_is_refused_and_goes_on),
        AT_EVERY_LEVEL(several_batches_join_one_transaction_on_a_server),
        AT_EVERY_LEVEL(a_batch_of_several_ops_and_runs_answers_each),
        ON_SOME(ON_MARIADB, when_the_server_rolls_all_back_the_whole_batch_has_failed),
        AT_EVERY_LEVEL(every_op_works_inside_a_transaction),
        AT_EVERY_LEVEL(settings_are_the_same_afterwards),
        AT_EVERY_LEVEL(settings_are_the_same_after_a_failure),
        AT_EVERY_LEVEL(the_applications_own_waiting_is_its_own),
        AT_LEVELS(ON_MARIADB | ON_MYSQL, LEVELS_ALL, limits_of_the_connection_do_not_matter),
        ON_SOME(ON_MARIADB | ON_MYSQL, a_number_that_is_set_for_the_next_row_is_no_events),
        AT_LEVELS(ON_MARIADB | ON_MYSQL, LEVELS_ALL, the_clock_of_the_connection_moves_nothing),
        ON_ANY(a_connection_can_be_wrapped_again_and_again),
        ON_ANY(bad_wraps_are_refused),
        AT_EVERY_LEVEL(a_connection_can_be_wrapped_inside_a_transaction),
        AT_EVERY_LEVEL(a_manager_believes_nothing_before_the_commit),
    };
    return SHOP_MAIN("wrap", tests, argc, argv);
}
