/* SPDX-License-Identifier: MIT */
/* Backup and restore: a consistent copy of a live store, put back in one step or not at all; fences
 * never go back. */
#include "suite.h"

#include <base/seams.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void backup_to(fixture *w, const char *path)
{
    hf_error err = {0};
    expect(HF_OK, hf_store_backup(w->store, path, &err), err);
}

static void backup_restore_from(fixture *w, const char *path)
{
    hf_error err = {0};
    expect(HF_OK, hf_store_restore(w->store, path, true, &err), err);
}

static void a_backup_is_a_store_with_the_same_in_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "renewal");
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    char path[HF_URL_MAX], url[HF_URL_MAX + 8];
    scratch_path(".backup", path);
    char *seen = snapshot(w);
    backup_to(w, path);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    snprintf(url, sizeof url, "sqlite:%s", path);
    hf_error err = {0};
    hf_store *live = w->store, *copy = NULL;
    expect(HF_OK, hf_store_open(url, &copy, &err), err);
    hf_store_clock_freeze(copy, w->now_us);
    w->store = copy;
    unchanged(w, seen);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    w->store = live;
    hf_store_close(copy);
    test_store_discard(w->at, url);
}

static void a_backup_does_not_write_over_a_file(fixture *w)
{
    char path[HF_URL_MAX];
    scratch_path(".backup", path);
    FILE *file = fopen(path, "w");
    fputs("precious", file);
    fclose(file);
    hf_error err = {0};
    expect(HF_INVALID, hf_store_backup(w->store, path, &err), err);
    struct stat info;
    expect_int(stat(path, &info), 0);
    expect_int(info.st_size, 8);
    unlink(path);
    expect(HF_UNAVAILABLE, hf_store_backup(w->store, "/nowhere/at/all", &err), err);
    expect(HF_INVALID, hf_store_backup(w->store, NULL, &err), err);
    expect(HF_INVALID, hf_store_backup(w->store, "", &err), err);
}

static void a_restore_brings_back_what_was(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    char path[HF_URL_MAX];
    scratch_path(".backup", path);
    backup_to(w, path);
    char *locks = dump_store(w->store, DUMP_LOCKS | DUMP_SESSIONS | DUMP_TYPES);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    hf_credentials late = person(w, "carol", "Carol Jones");
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    backup_restore_from(w, path);
    char *restored = dump_store(w->store, DUMP_LOCKS | DUMP_SESSIONS | DUMP_TYPES);
    expect_text(restored, locks);
    free(locks);
    free(restored);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, BEAT, BY(late));
    unlink(path);
}

static void a_restore_takes_no_lock_away_unless_it_is_told_to(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    char path[HF_URL_MAX];
    hf_error err = {0};
    scratch_path(".backup", path);
    backup_to(w, path);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    char *before = snapshot(w);
    expect(HF_LOCKED, hf_store_restore(w->store, path, false, &err), err);
    expect_text(err.message,
                "policy/1 is held by Alice Chen, and perhaps more is; a restore would take that "
                "away. Wait until 'holdfast list' is empty, or say --replace.");
    expect_text(err.holder.session, alice.id);
    expect_text(err.resource, "policy/1");
    unchanged(w, before);
    clock_forward(w, HOUR);
    expect(HF_OK, hf_store_restore(w->store, path, false, &err), err);
    unlink(path);
}

/* What someone else does as soon as the restore asks what time it is, for its look at the locks. */
static struct meddling {
    int64_t (*wall_us)(void);
    fixture *w;
    hf_store *by;
    hf_op op;
    hf_status came_to;
} meddling;

static int64_t backup_meddle(void)
{
    hf_batch *batch = batch_of(meddling.w, 1);
    hf_error err;
    hf_seam.wall_us = meddling.wall_us;
    add_op(batch, &meddling.op);
    meddling.came_to = hf_store_execute(meddling.by, batch, &err);
    return meddling.wall_us();
}

static void no_lock_is_taken_between_the_look_for_locks_and_the_restore(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    char path[HF_URL_MAX];
    hf_error err = {0};
    scratch_path(".backup", path);
    backup_to(w, path);
    meddling = (struct meddling){
        hf_seam.wall_us, w, NULL, {.kind = HF_OP_ACQUIRE, BY(alice), ON("policy", "1")}, HF_OK};
    expect(HF_OK, hf_store_open(w->url, &meddling.by, &err), err);
    hf_store_clock_freeze(meddling.by, w->now_us);
    hf_seam.wall_us = backup_meddle;
    expect(HF_OK, hf_store_restore(w->store, path, false, &err), err);
    expect_int(meddling.came_to, HF_BUSY);
    hf_store_close(meddling.by);
    unlink(path);
}

/* P8 */
static void fences_do_not_go_back_with_a_restore(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "old"));
    done(w, RELEASE, BY(alice), ON("policy", "old"));
    char path[HF_URL_MAX];
    scratch_path(".backup", path);
    backup_to(w, path);
    int64_t last_old = 0, last_new = 0;
    for (int i = 0; i < 5; i++) {
        last_old = done(w, ACQUIRE, BY(alice), ON("policy", "old"))->locks[0].fence;
        last_new = done(w, ACQUIRE, BY(alice), ON("policy", "new"))->locks[0].fence;
        if (i < 4)
            done(w, RELEASE_ALL, BY(alice));
    } /* they are held when they are replaced */
    backup_restore_from(w, path);
    expect_true(done(w, ACQUIRE, BY(alice), ON("policy", "old"))->locks[0].fence > last_old);
    expect_true(done(w, ACQUIRE, BY(alice), ON("policy", "new"))->locks[0].fence > last_new);
    unlink(path);
}

/* In one step or not at all. */
static void a_restore_from_what_is_no_backup_changes_nothing(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    char path[HF_URL_MAX];
    scratch_path(".backup", path);
    hf_error err = {0};
    char *before = snapshot(w);
    expect_true(hf_store_restore(w->store, path, true, &err) != HF_OK);
    unchanged(w, before);
    struct stat info;
    expect_true(stat(path, &info) != 0);
    FILE *file = fopen(path, "w");
    fputs("this is no backup of anything, and certainly not a database", file);
    fclose(file);
    before = snapshot(w);
    expect_true(hf_store_restore(w->store, path, true, &err) != HF_OK);
    expect_true(err.message[0] != '\0');
    unchanged(w, before);
    before = snapshot(w);
    expect_true(hf_store_restore(w->store, scratch_folder(), true, &err) != HF_OK);
    unchanged(w, before);
    unlink(path);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
}

/* P8: what a sweep has forgotten is not granted anew with a fence that was given before, wherever
 * the backup goes. */
static void fences_do_not_repeat_where_a_swept_store_is_restored_with_a_slow_clock(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t given = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, CLOSE, BY(alice));
    clock_forward(w, 3 * DAY);
    expect_true(sweep_all(w, 0) > 0);
    char path[HF_URL_MAX], url[HF_URL_MAX];
    scratch_path(".backup", path);
    backup_to(w, path);
    hf_error err = {0};
    hf_store *first = w->store, *fresh = NULL;
    test_store_url(w->at, url);
    expect(HF_OK, hf_store_open(url, &fresh, &err), err);
    w->store = fresh;
    clock_set(w, FIXTURE_BEGINS_US - DAY);
    backup_restore_from(w, path);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    expect_true(done(w, ACQUIRE, BY(bob), ON("policy", "1"))->locks[0].fence > given);
    w->store = first;
    hf_store_close(fresh);
    test_store_discard(w->at, url);
    unlink(path);
}

/* A secret that got about does not come back with an old backup. */
static void a_token_that_was_revoked_stays_revoked(fixture *w)
{
    static const unsigned char kept[32] = {1}, revoked[32] = {2}, later[32] = {3};
    static const char *const ids[] = {"00000000000000000000000000000001",
                                      "00000000000000000000000000000002",
                                      "00000000000000000000000000000003"};
    char path[HF_URL_MAX];
    done(w, TOKEN_CREATE, .token = ids[0], .sha256 = kept, .name = "kept", .roles = "use");
    done(w, TOKEN_CREATE, .token = ids[1], .sha256 = revoked, .name = "revoked", .roles = "use");
    scratch_path(".backup", path);
    backup_to(w, path);
    clock_forward(w, MINUTE);
    done(w, TOKEN_REVOKE, .token = ids[1]);
    done(w, TOKEN_CREATE, .token = ids[2], .sha256 = later, .name = "later", .roles = "use");
    backup_restore_from(w, path);
    expect_int(done(w, TOKEN_FIND, .sha256 = kept)->tokens[0].revoked_us, 0);
    expect_int(done(w, TOKEN_FIND, .sha256 = revoked)->tokens[0].revoked_us, w->now_us);
    refused(w, HF_NOT_FOUND, TOKEN_FIND, .sha256 = later);
    expect_int(done(w, TOKENS)->tokens_count, 2);
    unlink(path);
}

/* Events that were removed before the backup was made are missing after it, too; and sweeping goes
 * on. */
static void a_restored_store_tells_which_events_are_missing(fixture *w)
{
    char path[HF_URL_MAX], url[HF_URL_MAX];
    for (int i = 0; i < 5; i++)
        done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    done(w, NOTE, .event = HF_EVENT_DENIED, .text = "kept");
    clock_forward(w, HOUR);
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
    expect_int(done(w, SWEEP, .keep_events_us = HOUR)->swept, 5);
    scratch_path(".backup", path);
    backup_to(w, path);
    hf_error err = {0};
    hf_store *first = w->store, *fresh = NULL;
    test_store_url(w->at, url);
    expect(HF_OK, hf_store_open(url, &fresh, &err), err);
    w->store = fresh;
    clock_set(w, w->now_us);
    backup_restore_from(w, path);
    expect_int(done(w, EVENTS)->first_seq, 6);
    clock_forward(w, HOUR);
    expect_int(done(w, SWEEP, .keep_events_us = HOUR)->swept, 1);
    expect_int(done(w, EVENTS)->events_count, 2);
    w->store = first;
    hf_store_close(fresh);
    test_store_discard(w->at, url);
    unlink(path);
}

static const suite_test backup_tests[] = {
    TEST_FILE(a_backup_is_a_store_with_the_same_in_it),
    TEST_FILE(a_backup_does_not_write_over_a_file),
    TEST_FILE(a_restore_brings_back_what_was),
    TEST_FILE(a_restore_takes_no_lock_away_unless_it_is_told_to),
    TEST_FILE(no_lock_is_taken_between_the_look_for_locks_and_the_restore),
    TEST_FILE(fences_do_not_go_back_with_a_restore),
    TEST_FILE(a_restore_from_what_is_no_backup_changes_nothing),
    TEST_FILE(fences_do_not_repeat_where_a_swept_store_is_restored_with_a_slow_clock),
    TEST_FILE(a_token_that_was_revoked_stays_revoked),
    TEST_FILE(a_restored_store_tells_which_events_are_missing),
};
THEME(backup);
