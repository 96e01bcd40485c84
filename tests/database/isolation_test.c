/* SPDX-License-Identifier: MIT */
/* Right at every isolation level: the application's transaction has taken its snapshot, then others
 * change what it is about and commit, then it asks. The answer is as things are now, or HF_RETRY:
 * never a second grant, never a refusal that names who no longer holds it. Each case is a row of
 * the table; what is right is what a store by URL would have answered then. */
#include "database/shop.h"

#include <string.h>

/* ---- the cases ---- */

typedef struct story {
    const char *name;
    void (*before)(shop *s);    /* committed before the snapshot */
    void (*meanwhile)(shop *s); /* committed after it */
    said (*ask)(shop *s, hf_store *store);
    hf_status right;
    const char *holder; /* of policy/1 in the answer; NULL: not looked at */
    size_t after;       /* how many hold policy/1 in the end */
    /* HF_OK will do too, if nothing is held by it: a lock of a session that was closed */
    bool dead_grant;
} story;

#define A(id_) BY(s->alice), ON("policy", id_)
#define B(id_) BY(s->bob), ON("policy", id_)
#define C(id_) BY(s->carol), ON("policy", id_)

static void isolation_nothing(shop *s)
{
    (void)s;
}

static void bob_takes(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, B("1"));
}

static void bob_releases(shop *s)
{
    must(HF_OK, s->plain, RELEASE, B("1"));
}

/* Leaves the anchor behind. */
static void bob_came_and_went(shop *s)
{
    bob_takes(s);
    bob_releases(s);
}

static void bob_hands_over(shop *s)
{
    must(HF_OK, s->plain, HAND_OVER, B("1"), .target = s->carol.id);
}

static void bob_closes(shop *s)
{
    must(HF_OK, s->plain, CLOSE, BY(s->bob));
}

static void bob_reads(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, B("1"), .mode = HF_SHARED);
}

static void bob_leaves_it_to_carol(shop *s)
{
    bob_releases(s);
    must(HF_OK, s->plain, ACQUIRE, C("1"));
}

static void chief_forces(shop *s)
{
    must(HF_OK, s->plain, FORCE_RELEASE, ON("policy", "1"), .text = "because", .actor = "chief");
}

static void alice_takes(shop *s)
{
    must(HF_OK, s->plain, ACQUIRE, A("1"));
}

static void alice_came_and_went(shop *s)
{
    alice_takes(s);
    must(HF_OK, s->plain, RELEASE, A("1"));
}

static void alice_closes(shop *s)
{
    must(HF_OK, s->plain, CLOSE, BY(s->alice));
}

static void alice_loses_it_to_bob(shop *s)
{
    chief_forces(s);
    bob_takes(s);
}

/* So that it can be asked again. */
static void alice_opens_by_request(shop *s)
{
    s->alice = drawn();
    must(HF_OK, s->plain, SESSION_OPEN, BY(s->alice), .user = "alice", .request_id = "once");
}

static void alice_opens(shop *s)
{
    s->alice = newcomer(s->plain, "alice again", 0);
}

#define BRIEF_US (1200 * MILLISECOND)          /* twice as long each time it was too short */
static int64_t brief_us, opened_us, beaten_us; /* how long alice lives; when she was about to */

static void alice_is_brief(shop *s)
{
    opened_us = now_us();
    s->alice = newcomer(s->plain, "alice", brief_us);
}

/* Past the bound that the snapshot shows. */
static void alice_beats(shop *s)
{
    int64_t rest_us = brief_us / 2 + 50 * MILLISECOND;
    rest_ms(rest_us / MILLISECOND);
    beaten_us = now_us();
    said beaten = ASK(s->plain, BEAT, BY(s->alice));
    if (beaten.status != HF_EXPIRED || now_us() - opened_us < brief_us)
        expect_status(HF_OK, beaten.status, beaten.message);
    rest_ms(rest_us / MILLISECOND);
}

static void carol_closes(shop *s)
{
    must(HF_OK, s->plain, CLOSE, BY(s->carol));
}

static void carol_opens(shop *s)
{
    s->carol = newcomer(s->plain, "carol again", 0);
}

/* The anchor is two days older than what Bob did. */
static void bob_went_long_ago(shop *s)
{
    static const long long ago_us = 2 * HF_KEEP_US;
    bob_came_and_went(s);
    app_do(s->other, "UPDATE {resource} SET fence = fence - %lld, ended_us = ended_us - %lld",
           ago_us, ago_us);
}

static void the_anchor_is_swept(shop *s)
{
    must(HF_OK, s->plain, SWEEP, .limit = HF_SWEEP_MAX);
    expect_int(app_number(s->other, "SELECT count(*) FROM {resource}"), 0);
}

/* Made anew, and changed as often as the one that was swept. */
static void the_anchor_is_swept_and_made_again(shop *s)
{
    static const char rev[] = "SELECT rev FROM {resource}";
    int64_t before = app_number(s->other, rev);
    the_anchor_is_swept(s);
    bob_takes(s);
    must(HF_OK, s->plain, RENEW, B("1"), .ttl_us = HOUR);
    expect_int(app_number(s->other, rev), before);
}

static void bob_saves(shop *s)
{
    must(HF_OK, s->plain, SAVE, .user = "bob", ON("policy", "1"), .absent = true);
}

static void bob_saves_again(shop *s)
{
    must(HF_OK, s->plain, SAVE, .user = "bob", ON("policy", "1"), .version = 1);
}

static void bob_saves_and_takes(shop *s)
{
    bob_saves(s);
    bob_takes(s);
}

static void readers_are_forbidden(shop *s)
{
    must(HF_OK, s->plain, TYPE_SET, .type = "policy", .policy = HF_POLICY_EXCLUSIVE_READ);
}

static said isolation_acquire(shop *s, hf_store *store)
{
    return ASK(store, ACQUIRE, A("1"));
}

static said acquire_shared(shop *s, hf_store *store)
{
    return ASK(store, ACQUIRE, A("1"), .mode = HF_SHARED);
}

static said isolation_holds(shop *s, hf_store *store)
{
    return ASK(store, HOLDS, A("1"));
}

static said isolation_release(shop *s, hf_store *store)
{
    return ASK(store, RELEASE, A("1"));
}

static said renew(shop *s, hf_store *store)
{
    return ASK(store, RENEW, A("1"), .ttl_us = HOUR);
}

static said downgrade(shop *s, hf_store *store)
{
    return ASK(store, DOWNGRADE, A("1"));
}

static said isolation_hand_over(shop *s, hf_store *store)
{
    return ASK(store, HAND_OVER, A("1"), .target = s->carol.id);
}

/* A lock of a session that was closed since the snapshot may be granted, and is dead; handed over
 * it would live. */
static said take_and_hand_over(shop *s, hf_store *store)
{
    said taken = isolation_acquire(s, store);
    return taken.status == HF_OK ? isolation_hand_over(s, store) : taken;
}

static said take_and_hand_over_at_once(shop *s, hf_store *store)
{
    hf_error err = {0};
    said out = {0};
    hf_batch *batch = batch_new(2);
    add(batch, ACQUIRE, A("1"), .linked = true);
    add(batch, HAND_OVER, A("1"), .target = s->carol.id);
    out.status = hf_store_execute(store, batch, &err);
    for (size_t i = 0; i < 2 && out.status == HF_OK; i++) {
        hf_status status = hf_batch_op(batch, i)->answer.status;
        out.status = status == HF_NOT_APPLIED ? HF_OK : status;
    }
    hf_batch_free(batch);
    return out;
}

static said request(shop *s, hf_store *store)
{
    return ASK(store, REQUEST, A("1"), .text = "please");
}

static said isolation_force(shop *s, hf_store *store)
{
    (void)s;
    return ASK(store, FORCE_RELEASE, ON("policy", "1"), .text = "because", .actor = "chief");
}

static said force_as_alice(shop *s, hf_store *store)
{
    return ASK(store, FORCE_RELEASE, A("1"), .text = "because");
}

static said find_alice(shop *s, hf_store *store)
{
    return ASK(store, SESSION_FIND, BY(s->alice));
}

static said open_again(shop *s, hf_store *store)
{
    return ASK(store, SESSION_OPEN, BY(s->alice), .user = "alice", .request_id = "once");
}

static said isolation_release_all(shop *s, hf_store *store)
{
    return ASK(store, RELEASE_ALL, BY(s->alice));
}

static said close_alice(shop *s, hf_store *store)
{
    return ASK(store, CLOSE, BY(s->alice));
}

static said isolation_beat(shop *s, hf_store *store)
{
    return ASK(store, BEAT, BY(s->alice));
}

static said forbid_readers(shop *s, hf_store *store)
{
    (void)s;
    return ASK(store, TYPE_SET, .type = "policy", .policy = HF_POLICY_EXCLUSIVE_READ);
}

static said isolation_save(shop *s, hf_store *store)
{
    (void)s;
    return ASK(store, SAVE, .user = "alice", ON("policy", "1"), .version = 1);
}

static said save_new(shop *s, hf_store *store)
{
    (void)s;
    return ASK(store, SAVE, .user = "alice", ON("policy", "1"), .absent = true);
}

static said version(shop *s, hf_store *store)
{
    (void)s;
    return ASK(store, VERSION, ON("policy", "1"), .version = 1);
}

static said version_absent(shop *s, hf_store *store)
{
    (void)s;
    return ASK(store, VERSION, ON("policy", "1"), .absent = true);
}

/* Saves something else, and relies on policy/1; what came of the premise. */
static said rely_and_save(hf_store *store, int64_t number)
{
    hf_error err = {0};
    said out = {0};
    hf_batch *batch = batch_new(2);
    add(batch, VERSION, ON("policy", "1"), .version = number, .absent = number == 0,
        .linked = true);
    add(batch, SAVE, .user = "alice", ON("policy", "2"), .absent = true);
    out.status = hf_store_execute(store, batch, &err);
    if (out.status == HF_OK)
        out.status = hf_batch_op(batch, 0)->answer.status;
    hf_batch_free(batch);
    return out;
}

static said rely(shop *s, hf_store *store)
{
    (void)s;
    return rely_and_save(store, 1);
}

static said rely_on_absence(shop *s, hf_store *store)
{
    (void)s;
    return rely_and_save(store, 0);
}

/* As a status, so that it can stand in the table: HF_OK: nobody; HF_LOCKED: somebody. */
static said who(shop *s, hf_store *store)
{
    (void)s;
    said out = ASK(store, WHO, ON("policy", "1"));
    if (out.status == HF_OK && out.locks_count > 0)
        out.status = HF_LOCKED;
    return out;
}

static const story stories[] = {
    {"taken, a new anchor", isolation_nothing, bob_takes, isolation_acquire, HF_LOCKED, "bob", 1,
     false},
    {"taken", bob_came_and_went, bob_takes, isolation_acquire, HF_LOCKED, "bob", 1, false},
    {"taken by a reader", bob_came_and_went, bob_reads, isolation_acquire, HF_LOCKED, "bob", 1,
     false},
    {"two readers", bob_came_and_went, bob_reads, acquire_shared, HF_OK, NULL, 2, false},
    {"two readers, a new anchor", isolation_nothing, bob_reads, acquire_shared, HF_OK, NULL, 2,
     false},
    {"released", bob_takes, bob_releases, isolation_acquire, HF_OK, NULL, 1, false},
    {"came and went, a new anchor", isolation_nothing, bob_came_and_went, isolation_acquire, HF_OK,
     NULL, 1, false},
    {"forced", bob_takes, chief_forces, isolation_acquire, HF_OK, NULL, 1, false},
    {"handed over", bob_takes, bob_hands_over, isolation_acquire, HF_LOCKED, "carol", 1, false},
    {"left to another", bob_takes, bob_leaves_it_to_carol, isolation_acquire, HF_LOCKED, "carol", 1,
     false},
    {"holder closed", bob_takes, bob_closes, isolation_acquire, HF_OK, NULL, 1, false},
    {"mine elsewhere", bob_came_and_went, alice_takes, isolation_acquire, HF_OK, "alice", 1, false},
    {"mine elsewhere, a new anchor", isolation_nothing, alice_takes, isolation_acquire, HF_OK,
     "alice", 1, false},
    {"no longer mine", alice_takes, alice_loses_it_to_bob, isolation_acquire, HF_LOCKED, "bob", 1,
     false},
    {"my session is new", bob_came_and_went, alice_opens, isolation_acquire, HF_OK, NULL, 1, false},
    {"my session was closed", bob_came_and_went, alice_closes, isolation_acquire, HF_EXPIRED, NULL,
     0, true},
    {"my session has beaten", alice_is_brief, alice_beats, isolation_acquire, HF_OK, NULL, 1,
     false},
    {"swept", bob_went_long_ago, the_anchor_is_swept, isolation_acquire, HF_OK, NULL, 1, false},
    {"swept, and taken", bob_went_long_ago, the_anchor_is_swept_and_made_again, isolation_acquire,
     HF_LOCKED, "bob", 1, false},
    {"the type's policy", bob_came_and_went, readers_are_forbidden, acquire_shared, HF_INVALID,
     NULL, 0, false},
    {"holds: forced", alice_takes, chief_forces, isolation_holds, HF_NOT_HELD, NULL, 0, false},
    {"holds: lost to bob", alice_takes, alice_loses_it_to_bob, isolation_holds, HF_NOT_HELD, NULL,
     1, false},
    {"holds: taken elsewhere", bob_came_and_went, alice_takes, isolation_holds, HF_OK, "alice", 1,
     false},
    {"holds: taken elsewhere, a new anchor", isolation_nothing, alice_takes, isolation_holds, HF_OK,
     "alice", 1, false},
    {"holds: my session was closed", alice_takes, alice_closes, isolation_holds, HF_EXPIRED, NULL,
     0, false},
    {"holds: swept", bob_went_long_ago, the_anchor_is_swept, isolation_holds, HF_NOT_HELD, NULL, 0,
     false},
    {"release: forced", alice_takes, chief_forces, isolation_release, HF_NOT_HELD, NULL, 0, false},
    {"release: lost to bob", alice_takes, alice_loses_it_to_bob, isolation_release, HF_NOT_HELD,
     NULL, 1, false},
    {"release: taken elsewhere", alice_came_and_went, alice_takes, isolation_release, HF_OK, NULL,
     0, false},
    {"release: taken elsewhere, a new anchor", isolation_nothing, alice_takes, isolation_release,
     HF_OK, NULL, 0, false},
    {"renew: forced", alice_takes, chief_forces, renew, HF_NOT_HELD, NULL, 0, false},
    {"renew: taken elsewhere, a new anchor", isolation_nothing, alice_takes, renew, HF_OK, "alice",
     1, false},
    {"downgrade: lost to bob", alice_takes, alice_loses_it_to_bob, downgrade, HF_NOT_HELD, NULL, 1,
     false},
    {"hand-over: forced", alice_takes, chief_forces, isolation_hand_over, HF_NOT_HELD, NULL, 0,
     false},
    {"hand-over: to a new session", alice_takes, carol_opens, isolation_hand_over, HF_OK, NULL, 1,
     false},
    {"hand-over: to a session that was closed", alice_takes, carol_closes, isolation_hand_over,
     HF_EXPIRED, NULL, 1, false},
    {"hand-over: my session was closed", alice_takes, alice_closes, isolation_hand_over, HF_EXPIRED,
     NULL, 0, false},
    {"hand-over: taken here, my session was closed", bob_came_and_went, alice_closes,
     take_and_hand_over, HF_EXPIRED, NULL, 0, false},
    {"hand-over: taken here at once, my session was closed", bob_came_and_went, alice_closes,
     take_and_hand_over_at_once, HF_EXPIRED, NULL, 0, false},
    {"hand-over: taken here, my session is new", bob_came_and_went, alice_opens, take_and_hand_over,
     HF_OK, NULL, 1, false},
    {"request: released", bob_takes, bob_releases, request, HF_NOT_HELD, NULL, 0, false},
    {"request: left to another", bob_takes, bob_leaves_it_to_carol, request, HF_OK, "carol", 1,
     false},
    {"request: taken, a new anchor", isolation_nothing, bob_takes, request, HF_OK, "bob", 1, false},
    {"request: my session was closed", bob_takes, alice_closes, request, HF_EXPIRED, NULL, 1,
     false},
    {"force: my session was closed", bob_takes, alice_closes, force_as_alice, HF_EXPIRED, NULL, 1,
     false},
    {"force: left to another", bob_takes, bob_leaves_it_to_carol, isolation_force, HF_OK, "carol",
     0, false},
    {"force: taken, a new anchor", isolation_nothing, bob_takes, isolation_force, HF_OK, "bob", 0,
     false},
    {"force: released", bob_takes, bob_releases, isolation_force, HF_NOT_HELD, NULL, 0, false},
    {"release-all: taken elsewhere", bob_came_and_went, alice_takes, isolation_release_all, HF_OK,
     NULL, 0, false},
    {"release-all: taken, a new anchor", isolation_nothing, alice_takes, isolation_release_all,
     HF_OK, NULL, 0, false},
    {"release-all: lost to bob", alice_takes, alice_loses_it_to_bob, isolation_release_all, HF_OK,
     NULL, 1, false},
    {"release-all: my session was closed", alice_takes, alice_closes, isolation_release_all,
     HF_EXPIRED, NULL, 0, false},
    {"find: closed", isolation_nothing, alice_closes, find_alice, HF_EXPIRED, NULL, 0, false},
    {"open again: closed", alice_opens_by_request, alice_closes, open_again, HF_EXPIRED, NULL, 0,
     false},
    {"close: taken elsewhere", bob_came_and_went, alice_takes, close_alice, HF_OK, NULL, 0, false},
    {"close: taken, a new anchor", isolation_nothing, alice_takes, close_alice, HF_OK, NULL, 0,
     false},
    {"beat: closed", isolation_nothing, alice_closes, isolation_beat, HF_EXPIRED, NULL, 0, false},
    {"beat: beaten elsewhere", alice_is_brief, alice_beats, isolation_beat, HF_OK, NULL, 0, false},
    {"beat: my session is new", isolation_nothing, alice_opens, isolation_beat, HF_OK, NULL, 0,
     false},
    {"type-set: taken", bob_came_and_went, bob_takes, forbid_readers, HF_INVALID, NULL, 1, false},
    {"type-set: taken, a new anchor", isolation_nothing, bob_takes, forbid_readers, HF_INVALID,
     NULL, 1, false},
    {"type-set: released", bob_takes, bob_releases, forbid_readers, HF_OK, NULL, 0, false},
    {"save: saved", bob_saves, bob_saves_again, isolation_save, HF_STALE, NULL, 0, false},
    {"save: saved, a new anchor", isolation_nothing, bob_saves, save_new, HF_STALE, NULL, 0, false},
    {"save: taken", bob_saves, bob_takes, isolation_save, HF_LOCKED, "bob", 1, false},
    {"save: released", bob_saves_and_takes, bob_releases, isolation_save, HF_OK, NULL, 0, false},
    {"save: came and went, a new anchor", isolation_nothing, bob_came_and_went, save_new, HF_OK,
     NULL, 0, false},
    {"version: saved", bob_saves, bob_saves_again, version, HF_STALE, NULL, 0, false},
    {"version: saved, a new anchor", isolation_nothing, bob_saves, version_absent, HF_STALE, NULL,
     0, false},
    {"premise: saved", bob_saves, bob_saves_again, rely, HF_STALE, NULL, 0, false},
    {"premise: saved, a new anchor", isolation_nothing, bob_saves, rely_on_absence, HF_STALE, NULL,
     0, false},
    {"undisturbed: save", bob_saves, isolation_nothing, isolation_save, HF_OK, NULL, 0, false},
    {"undisturbed: save, new", isolation_nothing, isolation_nothing, save_new, HF_OK, NULL, 0,
     false},
    {"undisturbed: save, taken", bob_saves_and_takes, isolation_nothing, isolation_save, HF_LOCKED,
     "bob", 1, false},
    {"undisturbed: version", bob_saves, isolation_nothing, version, HF_OK, NULL, 0, false},
    {"undisturbed: premise", bob_saves, isolation_nothing, rely, HF_OK, NULL, 0, false},
    {"undisturbed: premise of absence", isolation_nothing, isolation_nothing, rely_on_absence,
     HF_OK, NULL, 0, false},
    {"undisturbed: type-set", bob_came_and_went, isolation_nothing, forbid_readers, HF_OK, NULL, 0,
     false},
    {"undisturbed: type-set, taken", bob_takes, isolation_nothing, forbid_readers, HF_INVALID, NULL,
     1, false},
    {"undisturbed, a new anchor", isolation_nothing, isolation_nothing, isolation_acquire, HF_OK,
     NULL, 1, false},
    {"undisturbed", bob_came_and_went, isolation_nothing, isolation_acquire, HF_OK, NULL, 1, false},
    {"undisturbed, refused", bob_takes, isolation_nothing, isolation_acquire, HF_LOCKED, "bob", 1,
     false},
    {"undisturbed, again", alice_takes, isolation_nothing, isolation_acquire, HF_OK, "alice", 1,
     false},
    {"undisturbed, a closed session", alice_closes, isolation_nothing, isolation_acquire,
     HF_EXPIRED, NULL, 0, false},
    {"undisturbed, a policy", readers_are_forbidden, isolation_nothing, acquire_shared, HF_INVALID,
     NULL, 0, false},
    {"undisturbed: holds", alice_takes, isolation_nothing, isolation_holds, HF_OK, "alice", 1,
     false},
    {"undisturbed: holds nothing", isolation_nothing, isolation_nothing, isolation_holds,
     HF_NOT_HELD, NULL, 0, false},
    {"undisturbed: release", alice_takes, isolation_nothing, isolation_release, HF_OK, NULL, 0,
     false},
    {"undisturbed: releases nothing", isolation_nothing, isolation_nothing, isolation_release,
     HF_NOT_HELD, NULL, 0, false},
    {"undisturbed: hand-over", alice_takes, isolation_nothing, isolation_hand_over, HF_OK, NULL, 1,
     false},
    {"undisturbed: hand-over, taken here", isolation_nothing, isolation_nothing, take_and_hand_over,
     HF_OK, NULL, 1, false},
    {"undisturbed: hand-over, taken here at once", isolation_nothing, isolation_nothing,
     take_and_hand_over_at_once, HF_OK, NULL, 1, false},
    {"undisturbed: request", bob_takes, isolation_nothing, request, HF_OK, "bob", 1, false},
    {"undisturbed: force", bob_takes, isolation_nothing, isolation_force, HF_OK, "bob", 0, false},
    {"undisturbed: force as alice", bob_takes, isolation_nothing, force_as_alice, HF_OK, "bob", 0,
     false},
    {"undisturbed: find", isolation_nothing, isolation_nothing, find_alice, HF_OK, NULL, 0, false},
    {"undisturbed: open again", alice_opens_by_request, isolation_nothing, open_again, HF_OK, NULL,
     0, false},
    {"undisturbed: forces nothing", isolation_nothing, isolation_nothing, isolation_force,
     HF_NOT_HELD, NULL, 0, false},
    {"undisturbed: beat", isolation_nothing, isolation_nothing, isolation_beat, HF_OK, NULL, 0,
     false},
    {"undisturbed: beat of a closed session", alice_closes, isolation_nothing, isolation_beat,
     HF_EXPIRED, NULL, 0, false},
    {"undisturbed: close", alice_takes, isolation_nothing, close_alice, HF_OK, NULL, 0, false},
    {"undisturbed: who", bob_takes, isolation_nothing, who, HF_LOCKED, "bob", 1, false},
    {"undisturbed: who of nothing", isolation_nothing, isolation_nothing, who, HF_OK, NULL, 0,
     false},
    {"who: released", bob_takes, bob_releases, who, HF_OK, NULL, 0, false},
    {"who: handed over", bob_takes, bob_hands_over, who, HF_LOCKED, "carol", 1, false},
    {"who: taken", bob_came_and_went, bob_takes, who, HF_LOCKED, "bob", 1, false},
    {"who: swept", bob_went_long_ago, the_anchor_is_swept, who, HF_OK, NULL, 0, false},
    {"who: taken, a new anchor", isolation_nothing, bob_takes, who, HF_LOCKED, "bob", 1, false},
};

/* ---- telling them ---- */

static void isolation_wrong(const story *it, const said *got, const char *why)
{
    fprintf(stderr, "%s: %s: came to %s (%s's), not %s: %s\n", it->name, why,
            hf_status_wire(got->status), got->locks_count ? got->lock.user : "nobody",
            hf_status_wire(it->right), got->message);
}

static bool isolation_is_right(const story *it, const said *got)
{
    if (got->status != it->right)
        return it->dead_grant && got->status == HF_OK;
    return !it->holder ||
           (got->locks_count > 0 && strncmp(got->lock.user, it->holder, strlen(it->holder)) == 0);
}

/* Asks in the transaction that has its snapshot already, and again in a new one if it must. */
static bool isolation_tell(shop *s, const story *it, size_t *retries)
{
    it->before(s);
    app_begin(s->app, s->level);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
    it->meanwhile(s);
    said got = it->ask(s, s->store);
    bool again = got.status == HF_RETRY, good = again || isolation_is_right(it, &got);
    if (!good)
        isolation_wrong(it, &got, app_level_name(s->level));
    if (again && s->level == READ_COMMITTED && s->engine == ON_POSTGRES) {
        isolation_wrong(it, &got, "nothing is too old at READ COMMITTED");
        good = false;
    }
    if (again && it->meanwhile == isolation_nothing) {
        isolation_wrong(it, &got,
                        "nothing has happened, and nothing would change if it were run again");
        good = false;
    }
    if (again)
        app_rollback(s->app);
    else if (!app_commit(s->app))
        again = true;
    *retries += again;
    if (again) {
        app_begin(s->app, s->level);
        got = it->ask(s, s->store);
        if (!isolation_is_right(it, &got)) {
            isolation_wrong(it, &got, "in a new transaction");
            good = false;
        }
        expect_true(app_commit(s->app));
    }
    size_t after = holders(s->plain, "1");
    if (after != it->after || most_holders(s->other) > 1 + (it->after == 2)) {
        fprintf(stderr, "%s: %zu hold it in the end, not %zu\n", it->name, after, it->after);
        good = false;
    }
    return good;
}

/* Each story on clean ground. */
static void isolation_sweep_up(shop *s)
{
    static const char *const tables[] = {"resource", "lock", "request", "lost", "type"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "DELETE FROM {%s}", tables[i]);
        app_do(s->other, "%s", sql);
    }
    app_do(s->other, "UPDATE {session} SET request = NULL WHERE request IS NOT NULL");
    s->alice = newcomer(s->plain, "alice", 0);
    s->bob = newcomer(s->plain, "bob", 0);
    s->carol = newcomer(s->plain, "carol", 0);
}

/* A story of a brief alice is told again when it took longer than she may live, and she lives
 * longer then. */
static bool tell_in_time(shop *s, const story *it, size_t *retries)
{
    bool good = false, late = true;
    for (brief_us = BRIEF_US; !good && late && brief_us < 2 * BRIEF_MAX_US; brief_us *= 2) {
        good = isolation_tell(s, it, retries);
        late =
            it->meanwhile == alice_beats && (beaten_us - opened_us > brief_us - 200 * MILLISECOND ||
                                             now_us() - beaten_us >= brief_us);
        isolation_sweep_up(s);
    }
    return good;
}

/* What was taken since the snapshot can't be seen there by any means: releasing all is refused, and
 * changing a policy. */
static bool refuses(const shop *s, const story *it)
{
    return s->engine == ON_POSTGRES && s->level != READ_COMMITTED &&
           (it->ask == isolation_release_all || it->ask == forbid_readers);
}

static void releasing_all_is_refused_where_it_cannot_be_right(shop *s)
{
    alice_takes(s);
    app_begin(s->app, s->level);
    said refused = must(HF_INVALID, s->store, RELEASE_ALL, BY(s->alice));
    expect_contains(refused.message, "READ COMMITTED");
    must(HF_OK, s->store, RELEASE, A("1"));
    expect_true(app_commit(s->app));
    expect_int(holders(s->plain, "1"), 0);
}

static void changing_a_policy_is_refused_where_it_cannot_be_right(shop *s)
{
    app_begin(s->app, s->level);
    said refused =
        must(HF_INVALID, s->store, TYPE_SET, .type = "policy", .policy = HF_POLICY_EXCLUSIVE_READ);
    expect_contains(refused.message, "READ COMMITTED");
    must(HF_OK, s->store, ACQUIRE, A("1"));
    expect_true(app_commit(s->app));
    must(HF_NOT_FOUND, s->plain, TYPE_GET, .type = "policy");
}

static void after_its_snapshot_an_answer_is_right_or_retry(shop *s)
{
    size_t bad = 0, retries = 0, count = sizeof stories / sizeof *stories;
    for (size_t i = 0; i < count; i++) {
        if (refuses(s, &stories[i]))
            continue;
        bad += !tell_in_time(s, &stories[i], &retries);
    }
    printf("# %s, %s: %zu stories, %zu of them told twice\n", app_engine_name(s->app),
           app_level_name(s->level), count, retries);
    expect_int(bad, 0);
}

/* The same through an application's handle outside a transaction, whatever level is its default: a
 * batch is one of its own. */
static void a_default_level_of_the_connection_changes_nothing(shop *s)
{
    size_t bad = 0, count = sizeof stories / sizeof *stories;
    app_do(s->app,
           s->engine == ON_POSTGRES
               ? "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL %s"
               : "SET SESSION TRANSACTION ISOLATION LEVEL %s",
           app_level_name(s->level));
    for (size_t i = 0; i < count; i++) {
        if (stories[i].meanwhile == alice_beats)
            continue;
        stories[i].before(s);
        ASK(s->store, WHO, ON("policy", "1"));
        stories[i].meanwhile(s);
        said got = stories[i].ask(s, s->store);
        if (got.status != stories[i].right || !isolation_is_right(&stories[i], &got)) {
            isolation_wrong(&stories[i], &got, "outside a transaction");
            bad++;
        }
        expect_true(!app_in_transaction(s->app));
        isolation_sweep_up(s);
    }
    expect_int(bad, 0);
}

/* ---- sweeping ---- */

/* Its snapshot shows a lock past its bound, which was renewed since, and a free anchor, which was
 * taken since. */
static void a_sweep_inside_a_transaction_is_refused(shop *s)
{
    static const char bound[] = "UPDATE {lock} SET ends_us = ends_us + %lld WHERE id = '1'";
    bob_went_long_ago(s);
    app_do(s->other, "UPDATE {resource} SET id = '2'");
    must(HF_OK, s->plain, ACQUIRE, A("1"), .ttl_us = HOUR);
    app_do(s->other, bound, -2LL * HOUR);
    app_begin(s->app, s->level);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
    app_do(s->other, bound, 2LL * HOUR);
    must(HF_OK, s->plain, ACQUIRE, B("2"));
    said refused = ASK(s->store, SWEEP, .limit = HF_SWEEP_MAX);
    expect_true(app_commit(s->app));
    expect_int(holders(s->plain, "1"), 1);
    expect_int(holders(s->plain, "2"), 1);
    expect_int(app_number(s->other, "SELECT count(*) FROM {resource}"), 2);
    expect_status(HF_INVALID, refused.status, refused.message);
    expect_contains(refused.message, "outside");
    must(HF_OK, s->store, SWEEP, .limit = HF_SWEEP_MAX);
    expect_int(holders(s->plain, "1"), 1);
}

/* ---- the double grant ---- */

/* Two who want the same, the second with a snapshot from before the first one's grant; how many
 * hold it in the end. */
static int64_t grant_to_two(shop *s)
{
    bob_came_and_went(s);
    app_begin(s->app, s->level);
    expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    said got = ASK(s->store, ACQUIRE, A("1"));
    if (got.status == HF_OK)
        app_commit(s->app);
    else
        app_rollback(s->app);
    return most_holders(s->other);
}

static void an_older_snapshot_grants_nothing_twice_in_isolation(shop *s)
{
    expect_int(grant_to_two(s), 1);
}

/* ... and that it is the anchor being written which prevents it, so that the test above can fail:
 * here a trigger takes the write back. (MariaDB and MySQL let a trigger keep the old values, and
 * read what is committed at SERIALIZABLE.) */
static void without_the_write_of_the_anchor_it_would_be_granted_twice(shop *s)
{
    if (s->engine == ON_POSTGRES) {
        meddle(s,
               "CREATE FUNCTION {shop_unwritten}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN "
               "RETURN NULL; END'",
               "DROP FUNCTION {shop_unwritten}()");
        bob_came_and_went(s);
        meddle(s,
               "CREATE TRIGGER shop_unwritten BEFORE UPDATE ON {resource} FOR EACH ROW "
               "EXECUTE FUNCTION {shop_unwritten}()",
               "DROP TRIGGER IF EXISTS shop_unwritten ON {resource}");
        expect_int(grant_to_two(s), s->level == READ_COMMITTED ? 1 : 2);
    } else {
        bob_came_and_went(s);
        meddle(s,
               "CREATE TRIGGER {shop_unwritten} BEFORE UPDATE ON {resource} FOR EACH ROW "
               "SET NEW.rev = OLD.rev, NEW.fence = OLD.fence",
               "DROP TRIGGER IF EXISTS {shop_unwritten}");
        expect_int(grant_to_two(s), s->level == REPEATABLE_READ ? 2 : 1);
    }
}

/* ---- a lock with an old record ---- */

typedef enum save_way { BY_STORE, BY_CHECK, BY_SAVE, SAVE_WAYS } save_way;
typedef enum loaded { LOADED_NOTHING, LOADED_NEW, LOADED_OLD } loaded;

#define DYING_US (300 * MILLISECOND) /* twice as long each time it was too short */

/* Alice's save, in a transaction with her record. False: her session was over before. */
static bool alice_saves_and_dies(shop *s, save_way way, int64_t idle_us)
{
    bool postgres = s->engine == ON_POSTGRES, good;
    const char *verb = postgres ? "SELECT" : "CALL";
    long long fence = must(HF_OK, s->plain, WHO, ON("policy", "1")).lock.fence;
    app_begin(s->other, READ_COMMITTED);
    if (way == BY_STORE)
        good = ASK(s->others, SAVE, A("1")).status == HF_OK;
    else if (way == BY_CHECK)
        good = app_try(s->other, "%s {check}('policy', '1', '%s', %lld)", verb, s->alice.id, fence);
    else
        good = app_try(s->other, "%s {save}('policy', '1', 0, NULL, '%s', %lld%s)", verb,
                       s->alice.id, fence, postgres ? "" : ", @fence");
    if (good)
        app_do(s->other, "UPDATE {app} SET holder = 'new' WHERE id = 1");
    good = good && app_commit(s->other);
    if (!good)
        app_rollback(s->other);
    rest_ms(idle_us / MILLISECOND + 20);
    return good;
}

/* Bob's transaction has its snapshot; Alice, who holds the lock, saves and goes away; her session
 * dies; Bob acquires, and loads. */
static loaded load_under_lock(shop *s, save_way way, void (*before)(shop *s))
{
    bool good = false;
    for (int64_t idle_us = DYING_US; !good && idle_us < 2 * BRIEF_MAX_US; idle_us *= 2) {
        if (app_in_transaction(s->app))
            app_rollback(s->app);
        isolation_sweep_up(s);
        app_do(s->other, "DELETE FROM {app}");
        app_do(s->other, "INSERT INTO {app} VALUES (1, 'old')");
        s->alice = brief_holder(s->plain, "alice", &idle_us, "1");
        before(s);
        app_begin(s->app, s->level);
        expect_int(app_number(s->app, "SELECT count(*) FROM {app} WHERE id = 2"), 0);
        good = alice_saves_and_dies(s, way, idle_us);
    }
    expect_true(good);
    said got = ASK(s->store, ACQUIRE, B("1"));
    loaded out = LOADED_NOTHING;
    if (got.status != HF_RETRY) {
        expect_status(HF_OK, got.status, got.message);
        bool is_new = app_number(s->app, "SELECT count(*) FROM {app} WHERE holder = 'new'") == 1;
        out = is_new ? LOADED_NEW : LOADED_OLD;
    }
    app_rollback(s->app);
    return out;
}

/* At SERIALIZABLE MariaDB and MySQL read what is committed now. */
static bool reads_snapshots(const shop *s)
{
    return s->level == REPEATABLE_READ || (s->level == SERIALIZABLE && s->engine == ON_POSTGRES);
}

static void who_gets_a_lock_loads_what_was_saved_last(shop *s)
{
    for (save_way way = 0; way < SAVE_WAYS; way++)
        expect_int(load_under_lock(s, way, isolation_nothing),
                   reads_snapshots(s) ? LOADED_NOTHING : LOADED_NEW);
}

static const char *write_again(const shop *s)
{
    return s->engine == ON_POSTGRES ? "DROP TRIGGER IF EXISTS shop_unwritten ON {resource}"
                                    : "DROP TRIGGER IF EXISTS {shop_unwritten}";
}

static void anchors_are_not_written(shop *s)
{
    app_do(s->other, "%s", write_again(s));
    if (s->engine == ON_POSTGRES)
        app_do(s->other, "CREATE TRIGGER shop_unwritten BEFORE UPDATE ON {resource} FOR EACH ROW "
                         "EXECUTE FUNCTION {shop_unwritten}()");
    else
        app_do(s->other, "CREATE TRIGGER {shop_unwritten} BEFORE UPDATE ON {resource} FOR EACH ROW "
                         "SET NEW.rev = OLD.rev, NEW.fence = OLD.fence");
}

/* ... and that it is the write of the anchor by the save which does it, so that the test above can
 * fail. */
static void without_the_write_of_the_anchor_an_old_record_would_be_loaded(shop *s)
{
    if (s->engine == ON_POSTGRES)
        meddle(s,
               "CREATE FUNCTION {shop_unwritten}() RETURNS trigger LANGUAGE plpgsql "
               "AS 'BEGIN RETURN NULL; END'",
               "DROP FUNCTION {shop_unwritten}()");
    meddle(s, write_again(s), write_again(s));
    for (save_way way = 0; way < SAVE_WAYS; way++) {
        expect_int(load_under_lock(s, way, anchors_are_not_written),
                   reads_snapshots(s) ? LOADED_OLD : LOADED_NEW);
        app_do(s->other, "%s", write_again(s));
    }
}

/* Both in transactions of their own, neither of which has seen the other's. */
static void of_two_transactions_only_one_is_granted(shop *s)
{
    for (int anchored = 0; anchored < 2; anchored++) {
        if (anchored)
            bob_came_and_went(s);
        app_begin(s->app, s->level);
        app_begin(s->other, s->level);
        expect_int(app_number(s->app, "SELECT count(*) FROM {app}"), 0);
        expect_int(app_number(s->other, "SELECT count(*) FROM {app}"), 0);
        must(HF_OK, s->others, ACQUIRE, B("1"));
        must(HF_BUSY, s->store, ACQUIRE, A("1"));
        expect_true(app_commit(s->other));
        said late = ASK(s->store, ACQUIRE, A("1"));
        if (late.status != HF_RETRY)
            expect_status(HF_LOCKED, late.status, late.message);
        app_rollback(s->app);
        expect_int(most_holders(s->other), 1);
        expect_text(must(HF_OK, s->plain, WHO, ON("policy", "1")).lock.session, s->bob.id);
        isolation_sweep_up(s);
    }
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        AT_EVERY_LEVEL(after_its_snapshot_an_answer_is_right_or_retry),
        AT_LEVELS(ON_POSTGRES, LEVELS_WITH_SNAPSHOT,
                  releasing_all_is_refused_where_it_cannot_be_right),
        AT_LEVELS(ON_POSTGRES, LEVELS_WITH_SNAPSHOT,
                  changing_a_policy_is_refused_where_it_cannot_be_right),
        AT_EVERY_LEVEL(a_sweep_inside_a_transaction_is_refused),
        AT_EVERY_LEVEL(a_default_level_of_the_connection_changes_nothing),
        AT_EVERY_LEVEL(an_older_snapshot_grants_nothing_twice_in_isolation),
        AT_EVERY_LEVEL(without_the_write_of_the_anchor_it_would_be_granted_twice),
        AT_EVERY_LEVEL(who_gets_a_lock_loads_what_was_saved_last),
        AT_EVERY_LEVEL(without_the_write_of_the_anchor_an_old_record_would_be_loaded),
        AT_EVERY_LEVEL(of_two_transactions_only_one_is_granted),
    };
    return SHOP_MAIN("isolation", tests, argc, argv);
}
