/* SPDX-License-Identifier: MIT */
/* A session handle: what it believes to hold, judged on this machine's clock from when the last
 * acknowledged beat was sent; what listeners hear, and how often; when poll beats. Both clocks are
 * moved by the test. */
#include <base/error.h>
#include <base/seams.h>
#include <manager/manager.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/fixture.h>
#include <unistd.h>

static _Atomic int64_t boot_now; /* the keeper reads it too */

static _Atomic int looks; /* at that clock */

static int64_t handle_boot_by_test(void)
{
    looks++;
    return boot_now;
}

/* Lets time pass, in the store and here. */
static void handle_pass(fixture *w, int64_t us)
{
    boot_now += us;
    clock_forward(w, us);
}

static fixture *handle_begin(void)
{
    static test_store memory;
    memory = test_store_memory();
    boot_now = 1000 * HOUR;
    hf_seam.boot_us = handle_boot_by_test;
    fixture *w = fixture_open(&memory);
    fixture_manager(w);
    return w;
}

static hf_session *work_idle(fixture *w, const char *user, int64_t idle_us)
{
    hf_error err = {0};
    hf_session *session = NULL;
    hf_session_options options = {.user = user, .idle_us = idle_us};
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &session, &err), err);
    keep_secret(w, hf_session_credentials(session));
    return session;
}

static void handle_take(hf_session *session, const char *name, int64_t ttl_us)
{
    hf_error err = {0};
    hf_resource resource = resource_of(name);
    hf_acquire_options options = {.ttl_us = ttl_us};
    expect(HF_OK, hf_session_acquire(session, &resource, &options, NULL, &err), err);
}

static bool handle_held(hf_session *session, const char *name)
{
    hf_resource resource = resource_of(name);
    return hf_session_is_held(session, &resource);
}

static void handle_beat(hf_session *session)
{
    hf_error err = {0};
    expect(HF_OK, hf_session_beat(session, NULL, &err), err);
}

static int64_t poll_next(fixture *w)
{
    hf_error err = {0};
    int64_t next_us = -1;
    expect(HF_OK, hf_manager_poll(fixture_manager(w), &next_us, &err), err);
    return next_us;
}

static void handle_force(fixture *w, const char *name, const char *actor, const char *reason)
{
    hf_error err = {0};
    hf_resource resource = resource_of(name);
    expect(HF_OK,
           hf_manager_force_release(fixture_manager(w), &resource, actor, reason, 0, NULL, &err),
           err);
}

static hf_session *handle_attach(fixture *w, hf_session *to)
{
    hf_error err = {0};
    hf_session *out = NULL;
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", hf_session_id(to),
             hf_session_credentials(to)->key);
    expect(HF_OK, hf_session_attach(fixture_manager(w), id_and_key, &out, &err), err);
    return out;
}

/* ---- a store that takes its time ---- */

typedef struct slow_store {
    hf_store base;
    hf_store *inner;
    int64_t before_us, after_us; /* how long a call is under way to the store, and back */
    /* not 0: the next answer is lost, and the store's clock moves on by that */
    int64_t lost_us;
    size_t calls;
    bool one_only;  /* more in a batch are too much for it */
    bool busy;      /* the first of several is, after the next answer was lost */
    bool goes;      /* in the middle of the next batch: what comes after the first op is not done */
    hf_status gone; /* not HF_OK: it can't be used, and says that */
} slow_store;

static void go_away(slow_store *slow, hf_batch *batch)
{
    for (size_t i = 1; i < hf_batch_count(batch); i++)
        hf_batch_op(batch, i)->answer =
            (hf_answer){.status = HF_UNAVAILABLE, .message = "It went away."};
    slow->goes = false;
    slow->gone = HF_UNAVAILABLE;
}

static hf_status slow_execute(hf_store *store, hf_batch *batch, hf_error *err)
{
    slow_store *slow = (slow_store *)store;
    boot_now += slow->before_us;
    slow->calls++;
    if (slow->gone != HF_OK)
        return hf_fail(err, slow->gone, "It can't be used.");
    if (slow->one_only && hf_batch_count(batch) > 1)
        return hf_fail(err, HF_TOO_LARGE, "That is too much at once.");
    hf_status status = hf_store_execute(slow->inner, batch, err);
    boot_now += slow->after_us;
    if (slow->busy && slow->lost_us == 0 && hf_batch_count(batch) > 1)
        hf_batch_op(batch, 0)->answer =
            (hf_answer){.status = HF_BUSY, .message = "Someone has it."};
    if (slow->goes)
        go_away(slow, batch);
    if (slow->lost_us == 0 || status != HF_OK)
        return status;
    hf_store_clock_freeze(slow->inner, FIXTURE_BEGINS_US + slow->lost_us);
    slow->lost_us = 0;
    return hf_fail(err, HF_UNSURE, "The answer was lost.");
}

static void slow_close(hf_store *store)
{
    hf_store_close(((slow_store *)store)->inner);
    free(store);
}

static const hf_store_ops slow_ops = {
    .scheme = "slow", .execute = slow_execute, .close = slow_close};

/* A manager on a slow store in front of a memory store whose clock stands still. */
static hf_manager *slow_manager(slow_store **out)
{
    hf_error err = {0};
    slow_store *slow = calloc(1, sizeof *slow);
    hf_manager *manager = NULL;
    boot_now = 1000 * HOUR;
    hf_seam.boot_us = handle_boot_by_test;
    expect(HF_OK, hf_store_open("memory:", &slow->inner, &err), err);
    hf_store_clock_freeze(slow->inner, FIXTURE_BEGINS_US);
    hf_store_init(&slow->base, &slow_ops);
    expect(HF_OK, hf_manager_on(&slow->base, &manager, &err), err);
    *out = slow;
    return manager;
}

/* ---- listeners ---- */

enum { NOTICES = 32 };

typedef struct heard {
    size_t count;
    struct {
        hf_notice_kind kind;
        hf_session *session;
        char resource[HF_RESOURCE_SIZE], why[16], by[HF_TEXT_SIZE], text[HF_TEXT_SIZE];
    } all[NOTICES];
} heard;

static void listen(void *context, const hf_notice *notice)
{
    heard *it = context;
    expect_true(it->count < NOTICES);
    hf_resource_format(&notice->resource, it->all[it->count].resource);
    it->all[it->count].kind = notice->kind;
    it->all[it->count].session = notice->session;
    snprintf(it->all[it->count].why, 16, "%s", notice->why ? notice->why : "");
    snprintf(it->all[it->count].by, HF_TEXT_SIZE, "%s", notice->by ? notice->by : "");
    snprintf(it->all[it->count].text, HF_TEXT_SIZE, "%s", notice->text ? notice->text : "");
    it->count++;
}

static void add_listener(fixture *w, heard *it)
{
    hf_error err = {0};
    memset(it, 0, sizeof *it);
    expect(HF_OK, hf_manager_listen(fixture_manager(w), listen, it, &err), err);
}

/* ---- what is held ---- */

static void a_lock_is_held_from_its_grant_to_its_release(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *alice = work_idle(w, "alice", MINUTE), *bob = work_idle(w, "bob", MINUTE);
    hf_resource one = resource_of("policy/1"), two = resource_of("policy/2");
    expect_true(!handle_held(alice, "policy/1"));
    handle_take(alice, "policy/1", 0);
    handle_take(alice, "policy/2", 0);
    handle_take(alice, "policy/3", 0);
    expect_true(handle_held(alice, "policy/1") && handle_held(alice, "policy/2") &&
                handle_held(alice, "policy/3"));
    expect_true(!handle_held(alice, "policy/4") && !handle_held(bob, "policy/1"));
    expect(HF_OK, hf_session_release(alice, &one, 0, &err), err);
    expect_true(!handle_held(alice, "policy/1") && handle_held(alice, "policy/2"));
    expect(HF_OK, hf_session_hand_over(alice, &two, hf_session_id(bob), NULL, &err), err);
    expect_true(!handle_held(alice, "policy/2"));
    expect(HF_OK, hf_session_release_all(alice, NULL, &err), err);
    expect_true(!handle_held(alice, "policy/3"));
    handle_take(alice, "policy/1", 0);
    expect(HF_OK, hf_session_close(alice, &err), err);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    hf_session_free(bob);
    fixture_close(w);
}

static void a_refused_lock_is_not_held(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *alice = work_idle(w, "alice", MINUTE), *bob = work_idle(w, "bob", MINUTE);
    hf_resource one = resource_of("policy/1");
    handle_take(bob, "policy/1", 0);
    expect(HF_LOCKED, hf_session_acquire(alice, &one, NULL, NULL, &err), err);
    expect_true(!handle_held(alice, "policy/1") && handle_held(bob, "policy/1"));
    hf_session_free(alice);
    hf_session_free(bob);
    fixture_close(w);
}

static void a_save_that_finds_the_lock_lost_ends_the_belief(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *alice = work_idle(w, "alice", MINUTE), *bob = work_idle(w, "bob", MINUTE);
    hf_save one = {.resource = resource_of("policy/1")},
            two = {.resource = resource_of("policy/2"), .fence = 1};
    handle_take(alice, "policy/1", 0);
    handle_take(alice, "policy/2", 0);
    expect(HF_NOT_HELD, hf_session_save(alice, &two, NULL, NULL, &err), err);
    expect_true(handle_held(alice, "policy/2")); /* that was another grant */
    handle_force(w, "policy/1", "root", "why");
    handle_take(bob, "policy/1", 0);
    expect_true(handle_held(alice, "policy/1"));
    expect(HF_LOCKED, hf_session_save(alice, &one, NULL, NULL, &err), err);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    hf_session_free(bob);
    fixture_close(w);
}

/* P12 */
static void a_save_whose_answer_was_lost_settles_itself(void **state)
{
    (void)state;
    slow_store *slow = NULL;
    hf_manager *manager = slow_manager(&slow);
    hf_error err = {0};
    hf_save saves[] = {{.resource = resource_of("bill/1"), .absent = true},
                       {.resource = resource_of("bill/2"), .absent = true}};
    hf_set set = {.saves = saves, .saves_count = 2};
    hf_version now = {0};
    slow->lost_us = SECOND;
    expect(HF_OK,
           hf_manager_save_all(manager, &set, &(hf_save_options){.user = "alice"}, NULL, &err),
           err);
    expect_int(slow->calls, 2);
    saves[0] = (hf_save){.resource = saves[0].resource, .version = 1};
    slow->lost_us = 2 * SECOND;
    expect(HF_OK, hf_manager_save(manager, saves, &(hf_save_options){.user = "alice"}, &now, &err),
           err);
    expect_int(slow->calls, 4);
    expect_int(now.number, 2);
    expect_int(now.saved_us, FIXTURE_BEGINS_US + SECOND);
    hf_manager_close(manager);
}

/* P7: no later than the store lets it die. */
static void nothing_is_held_from_the_idle_bound_on(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_pass(w, MINUTE - 1);
    expect_true(handle_held(alice, "policy/1"));
    handle_pass(w, 1);
    expect_true(!handle_held(alice, "policy/1"));
    handle_pass(w, HOUR);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* Acquiring is no beat: the bound is that of the session. */
static void a_lock_taken_late_is_held_no_longer_than_its_session(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_pass(w, 50 * SECOND);
    handle_take(alice, "policy/1", 0);
    handle_pass(w, 10 * SECOND);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

static void a_beat_moves_what_is_held(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    for (int i = 0; i < 5; i++) {
        handle_pass(w, 50 * SECOND);
        handle_beat(alice);
        expect_true(handle_held(alice, "policy/1"));
    }
    handle_pass(w, MINUTE - 1);
    expect_true(handle_held(alice, "policy/1"));
    handle_pass(w, 1);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

static void nothing_is_held_from_its_own_bound_on(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *alice = work_idle(w, "alice", HOUR);
    hf_resource one = resource_of("policy/1");
    handle_take(alice, "policy/1", MINUTE);
    handle_pass(w, MINUTE - 1);
    expect_true(handle_held(alice, "policy/1"));
    expect(HF_OK, hf_session_renew(alice, &one, MINUTE, NULL, NULL, &err), err);
    handle_pass(w, MINUTE - 1);
    expect_true(handle_held(alice, "policy/1"));
    handle_pass(w, 1);
    expect_true(!handle_held(alice, "policy/1"));
    handle_take(alice, "policy/1", MINUTE);
    expect(HF_OK, hf_session_renew(alice, &one, 0, NULL, NULL, &err), err);
    handle_pass(w, 10 * MINUTE);
    expect_true(handle_held(alice, "policy/1"));
    expect(HF_OK, hf_session_downgrade(alice, &one, NULL, &err), err);
    expect_true(handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* Asking again must not make the handle believe in a bound the store did not give. */
static void asking_again_does_not_move_the_bound_here_either(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", HOUR);
    handle_take(alice, "policy/1", MINUTE);
    handle_pass(w, 30 * SECOND);
    handle_take(alice, "policy/1", 10 * MINUTE);
    handle_pass(w, 30 * SECOND);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* What counts is when the beat was sent, however long its answer took. */
static void time_is_counted_from_when_a_beat_was_sent(void **state)
{
    (void)state;
    slow_store *slow;
    hf_error err = {0};
    hf_manager *manager = slow_manager(&slow);
    hf_session *alice = NULL;
    hf_session_options options = {.user = "alice", .idle_us = MINUTE};
    slow->before_us = 5 * SECOND;
    slow->after_us = 10 * SECOND;
    int64_t sent = boot_now;
    expect(HF_OK, hf_session_open(manager, &options, &alice, &err), err);
    handle_take(alice, "policy/1", 0);
    boot_now = sent + MINUTE - 1;
    expect_true(handle_held(alice, "policy/1"));
    boot_now = sent + MINUTE;
    expect_true(!handle_held(alice, "policy/1"));
    boot_now = sent + 30 * SECOND;
    int64_t beat_sent = boot_now;
    handle_beat(alice);
    expect_int(boot_now, beat_sent + 15 * SECOND);
    boot_now = beat_sent + MINUTE - 1;
    expect_true(handle_held(alice, "policy/1"));
    boot_now = beat_sent + MINUTE;
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    hf_manager_close(manager);
}

static void an_own_bound_is_counted_from_when_it_was_asked_for(void **state)
{
    (void)state;
    slow_store *slow;
    hf_error err = {0};
    hf_manager *manager = slow_manager(&slow);
    hf_session *alice = NULL;
    hf_session_options options = {.user = "alice", .idle_us = DAY};
    expect(HF_OK, hf_session_open(manager, &options, &alice, &err), err);
    slow->before_us = 5 * SECOND;
    slow->after_us = 10 * SECOND;
    int64_t sent = boot_now;
    handle_take(alice, "policy/1", MINUTE);
    boot_now = sent + MINUTE - 1;
    expect_true(handle_held(alice, "policy/1"));
    boot_now = sent + MINUTE;
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    hf_manager_close(manager);
}

/* P12: a repeated open answers the session as it is; it does not start its bound anew. */
static void a_repeated_open_is_not_taken_for_a_beat(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *first = NULL, *again = NULL;
    hf_session_options options = {.user = "alice",
                                  .idle_us = MINUTE,
                                  .key = "00112233445566778899aabbccddeeff",
                                  .request_id = "open-1"};
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &first, &err), err);
    handle_pass(w, 40 * SECOND);
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &again, &err), err);
    expect_text(hf_session_id(again), hf_session_id(first));
    handle_take(again, "policy/1", 0);
    handle_pass(w, 20 * SECOND - 1);
    expect_true(handle_held(again, "policy/1"));
    handle_pass(w, 1);
    expect_true(!handle_held(again, "policy/1"));
    hf_session_free(first);
    hf_session_free(again);
    fixture_close(w);
}

static void a_beat_that_fails_moves_nothing(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    fixture_close(w);
    static test_store memory;
    memory = test_store_memory();
    w = fixture_open(&memory);
    fixture_fault(w);
    hf_store *fault = w->store;
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    for (int after = 0; after < 2; after++) {
        handle_pass(w, 25 * SECOND);
        hf_fault_arm(fault, 1, after);
        hf_fault_more(fault, after); /* it asks once more by itself */
        expect(after ? HF_UNSURE : HF_UNAVAILABLE, hf_session_beat(alice, NULL, &err), err);
        expect_true(handle_held(alice, "policy/1"));
    }
    handle_pass(w, 10 * SECOND);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* A lock that was granted through another handle is not this one's to speak of. */
static void what_was_granted_elsewhere_is_not_held_here(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *first = work_idle(w, "alice", MINUTE), *second = NULL;
    handle_take(first, "policy/1", 0);
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", hf_session_id(first),
             hf_session_credentials(first)->key);
    expect(HF_OK, hf_session_attach(fixture_manager(w), id_and_key, &second, &err), err);
    expect_true(!handle_held(second, "policy/1"));
    handle_take(second, "policy/1", 0);
    expect_true(handle_held(second, "policy/1"));
    hf_session_free(first);
    hf_session_free(second);
    fixture_close(w);
}

static void a_forced_release_is_seen_with_the_next_beat(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_force(w, "policy/1", "root", "why");
    handle_beat(alice);
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* ---- listeners ---- */

/* P6, P13 */
static void a_forced_release_is_told_once(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_force(w, "policy/1", "root", "left for lunch");
    expect_int(ear.count, 0);
    for (int i = 0; i < 3; i++) {
        handle_beat(alice);
        poll_next(w);
        handle_pass(w, SECOND);
    }
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_LOST);
    expect_true(ear.all[0].session == alice);
    expect_text(ear.all[0].resource, "policy/1");
    expect_text(ear.all[0].why, "forced");
    expect_text(ear.all[0].by, "root");
    expect_text(ear.all[0].text, "left for lunch");
    hf_session_free(alice);
    fixture_close(w);
}

/* It need not be believed to be lost: here it was granted through another handle. */
static void a_loss_is_told_to_a_handle_that_never_took_it(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", HOUR);
    handle_take(alice, "policy/0", 0);
    handle_force(w, "policy/0", "root", "before");
    hf_session *again = handle_attach(w, alice);
    heard ear;
    add_listener(w, &ear);
    handle_take(alice, "policy/1", 0);
    handle_take(alice, "policy/2", 0);
    handle_force(w, "policy/1", "root", "lunch");
    for (int i = 0; i < 3; i++)
        handle_beat(again);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_LOST);
    expect_true(ear.all[0].session == again);
    expect_text(ear.all[0].resource, "policy/1");
    handle_force(w, "policy/2", "root", "lunch");
    for (int i = 0; i < 3; i++)
        handle_beat(again);
    expect_int(ear.count, 2);
    expect_text(ear.all[1].resource, "policy/2");
    hf_session_free(again);
    hf_session_free(alice);
    fixture_close(w);
}

/* The store's clock may be behind this machine's: it tells later what has been told here. */
static void what_ran_out_here_first_is_told_once(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", HOUR);
    heard ear;
    add_listener(w, &ear);
    handle_take(alice, "policy/1", MINUTE);
    boot_now += MINUTE;
    poll_next(w);
    expect_int(ear.count, 1);
    handle_beat(alice);
    clock_forward(w, MINUTE);
    for (int i = 0; i < 3; i++)
        handle_beat(alice);
    expect_int(ear.count, 1);
    hf_session_free(alice);
    fixture_close(w);
}

/* The fence names the grant: that one is gone, so it isn't believed any more. */
static void what_is_not_held_by_its_fence_is_not_believed_either(void **state)
{
    (void)state;
    hf_error err = {0};
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", HOUR);
    hf_resource policy = resource_of("policy/1");
    hf_lock lock = {0};
    for (int by_holds = 0; by_holds < 2; by_holds++) {
        expect(HF_OK, hf_session_acquire(alice, &policy, NULL, &lock, &err), err);
        expect(HF_NOT_HELD, hf_session_release(alice, &policy, lock.fence - 1, &err), err);
        expect_true(handle_held(alice, "policy/1"));
        handle_force(w, "policy/1", "root", "lunch");
        expect_int(by_holds ? hf_session_holds(alice, &policy, lock.fence, NULL, &err)
                            : hf_session_release(alice, &policy, lock.fence, &err),
                   HF_NOT_HELD);
        expect_true(!handle_held(alice, "policy/1"));
    }
    hf_session_free(alice);
    fixture_close(w);
}

static void a_shorter_bound_of_which_nobody_knows_is_counted_with(void **state)
{
    (void)state;
    hf_error err = {0};
    slow_store *slow = NULL;
    hf_manager *manager = slow_manager(&slow);
    hf_session *alice = NULL;
    hf_session_options options = {.user = "alice", .idle_us = HOUR};
    hf_resource policy = resource_of("policy/1");
    expect(HF_OK, hf_session_open(manager, &options, &alice, &err), err);
    for (int again = 0; again < 2; again++) {
        expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
        slow->after_us = 3 * SECOND; /* too long for the handle to ask once more by itself */
        slow->lost_us = 1;
        expect(HF_UNSURE,
               hf_session_renew(alice, &policy, again ? 0 : 10 * SECOND, NULL, NULL, &err), err);
        slow->after_us = 0;
        /* nobody knows what the type's own is */
        expect_true(hf_session_is_held(alice, &policy) == !again);
        boot_now += 7 * SECOND - 1;
        expect_true(hf_session_is_held(alice, &policy) == !again);
        boot_now += 1;
        expect_true(!hf_session_is_held(alice, &policy));
    }
    hf_session_free(alice);
    hf_manager_close(manager);
}

static void losing_it_a_second_time_is_told_a_second_time(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    for (size_t i = 1; i <= 3; i++) {
        handle_take(alice, "policy/1", 0);
        handle_force(w, "policy/1", "root", "why");
        handle_beat(alice);
        handle_beat(alice);
        expect_int(ear.count, i);
    }
    hf_session_free(alice);
    fixture_close(w);
}

static void an_own_bound_that_has_come_is_told_once_by_poll(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", HOUR);
    handle_take(alice, "policy/1", MINUTE);
    handle_take(alice, "policy/2", 0);
    handle_pass(w, MINUTE - 1);
    poll_next(w);
    expect_int(ear.count, 0);
    handle_pass(w, 1);
    for (int i = 0; i < 3; i++) {
        poll_next(w);
        handle_beat(alice);
        handle_pass(w, SECOND);
    }
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_LOST);
    expect_text(ear.all[0].resource, "policy/1");
    expect_text(ear.all[0].why, "expired");
    expect_true(handle_held(alice, "policy/2"));
    hf_session_free(alice);
    fixture_close(w);
}

static void an_own_bound_that_has_come_is_told_once_by_a_beat(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", HOUR), *bob = work_idle(w, "bob", HOUR);
    handle_take(alice, "policy/1", MINUTE);
    handle_pass(w, MINUTE);
    handle_take(bob, "policy/1", 0);
    handle_beat(alice);
    poll_next(w);
    handle_beat(alice);
    expect_int(ear.count, 1);
    expect_true(ear.all[0].session == alice);
    expect_text(ear.all[0].why, "expired");
    expect_text(ear.all[0].by, "bob");
    hf_session_free(alice);
    hf_session_free(bob);
    fixture_close(w);
}

static void closing_is_told_once(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    expect(HF_OK, hf_session_close(alice, &err), err);
    expect(HF_OK, hf_session_close(alice, &err), err);
    poll_next(w);
    expect(HF_EXPIRED, hf_session_beat(alice, NULL, &err), err);
    handle_pass(w, HOUR);
    poll_next(w);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_ENDED);
    expect_true(ear.all[0].session == alice);
    expect_text(ear.all[0].why, "closed");
    hf_session_free(alice);
    fixture_close(w);
}

/* P7 */
static void idle_death_is_told_once_by_poll(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_pass(w, MINUTE);
    poll_next(w);
    poll_next(w);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_ENDED);
    expect_text(ear.all[0].why, "expired");
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* P7 */
static void idle_death_is_told_once_by_a_beat(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_pass(w, MINUTE);
    expect(HF_EXPIRED, hf_session_beat(alice, NULL, &err), err);
    expect(HF_EXPIRED, hf_session_beat(alice, NULL, &err), err);
    poll_next(w);
    expect(HF_OK, hf_session_close(alice, &err), err);
    expect_int(ear.count, 1);
    expect_text(ear.all[0].why, "expired");
    hf_session_free(alice);
    fixture_close(w);
}

/* P7: also when another call found out first. */
static void idle_death_that_another_call_found_is_told_by_poll(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    hf_resource one = resource_of("policy/1");
    handle_pass(w, MINUTE);
    expect(HF_EXPIRED, hf_session_acquire(alice, &one, NULL, NULL, &err), err);
    poll_next(w);
    poll_next(w);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_ENDED);
    expect_text(ear.all[0].why, "expired");
    hf_session_free(alice);
    fixture_close(w);
}

/* Ended by someone else, replaced: told with the next poll that beats. */
static void a_session_ended_elsewhere_is_told(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    done(w, CLOSE, BY(*hf_session_credentials(alice)));
    handle_pass(w, 20 * SECOND);
    poll_next(w);
    poll_next(w);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_ENDED);
    hf_session_free(alice);
    fixture_close(w);
}

static void a_request_is_told_once(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    hf_session_options options = {.user = "bob", .name = "Bob Smith"};
    hf_session *bob = NULL;
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &bob, &err), err);
    hf_resource one = resource_of("policy/1");
    handle_take(alice, "policy/1", 0);
    expect(HF_OK, hf_session_request(bob, &one, "please", &err), err);
    for (int i = 0; i < 3; i++) {
        handle_beat(alice);
        handle_pass(w, SECOND);
    }
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_REQUESTED);
    expect_true(ear.all[0].session == alice);
    expect_text(ear.all[0].resource, "policy/1");
    expect_text(ear.all[0].by, "Bob Smith");
    expect_text(ear.all[0].text, "please");
    hf_session_free(alice);
    hf_session_free(bob);
    fixture_close(w);
}

static void every_request_is_told(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE), *bob = work_idle(w, "bob", MINUTE);
    hf_session *carol = work_idle(w, "carol", MINUTE);
    hf_resource one = resource_of("policy/1"), two = resource_of("policy/2");
    handle_take(alice, "policy/1", 0);
    handle_take(alice, "policy/2", 0);
    expect(HF_OK, hf_session_request(bob, &one, NULL, &err), err);
    handle_beat(alice);
    expect(HF_OK, hf_session_request(carol, &one, NULL, &err), err);
    expect(HF_OK, hf_session_request(bob, &two, NULL, &err), err);
    handle_beat(alice);
    handle_beat(alice);
    expect_int(ear.count, 3);
    hf_session_free(alice);
    hf_session_free(bob);
    hf_session_free(carol);
    fixture_close(w);
}

/* Only of sessions that this manager has a handle on. */
static void a_failed_attach_tells_nobody(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    add_listener(w, &ear);
    hf_credentials dead = person_idle(w, "bob", NULL, SECOND);
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", dead.id, dead.key);
    handle_pass(w, SECOND);
    hf_session *session = NULL;
    expect(HF_EXPIRED, hf_session_attach(fixture_manager(w), id_and_key, &session, &err), err);
    expect_true(session == NULL);
    expect_int(ear.count, 0);
    fixture_close(w);
}

static void sixteen_listeners_hear_and_no_more_are_taken(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    static heard ears[16];
    heard one_more = {0};
    for (int i = 0; i < 16; i++)
        add_listener(w, &ears[i]);
    expect(HF_TOO_MANY, hf_manager_listen(fixture_manager(w), listen, &one_more, &err), err);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    expect(HF_OK, hf_session_close(alice, &err), err);
    for (int i = 0; i < 16; i++)
        expect_int(ears[i].count, 1);
    expect_int(one_more.count, 0);
    hf_session_free(alice);
    fixture_close(w);
}

typedef struct caller {
    int calls;
    hf_status acquired, beaten, told;
} caller;

/* A listener that calls the library about the very session it is told of. */
static void call_back(void *context, const hf_notice *notice)
{
    caller *it = context;
    hf_resource other = resource_of("policy/other"), lost = notice->resource;
    hf_error err = {0};
    it->calls++;
    if (notice->kind != HF_NOTICE_LOST)
        return;
    it->acquired = hf_session_acquire(notice->session, &other, NULL, NULL, &err);
    expect_true(hf_session_is_held(notice->session, &other));
    expect_true(!hf_session_is_held(notice->session, &lost));
    it->beaten = hf_session_beat(notice->session, NULL, &err);
    hf_session_info info;
    hf_session_describe(notice->session, &info);
}

static void a_listener_may_call_the_library(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    caller it = {.acquired = HF_STATUS_COUNT, .beaten = HF_STATUS_COUNT};
    expect(HF_OK, hf_manager_listen(fixture_manager(w), call_back, &it, &err), err);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_force(w, "policy/1", "root", "why");
    handle_pass(w, 30 * SECOND);
    poll_next(w);
    expect_int(it.calls, 1);
    expect_int(it.acquired, HF_OK);
    expect_int(it.beaten, HF_OK);
    hf_session_free(alice);
    fixture_close(w);
}

/* ---- poll ---- */

static int64_t store_expires(fixture *w, hf_session *session)
{
    const hf_answer *all = done(w, SESSIONS);
    for (size_t i = 0; i < all->sessions_count; i++)
        if (strcmp(all->sessions[i].id, hf_session_id(session)) == 0)
            return all->sessions[i].expires_us;
    return 0;
}

static void poll_beats_when_a_third_of_the_idle_bound_has_passed(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *alice = work_idle(w, "alice", MINUTE);
    int64_t first = store_expires(w, alice);
    int64_t next_us = poll_next(w);
    expect_true(next_us > 0 && next_us <= 20 * SECOND);
    handle_pass(w, 20 * SECOND - 1);
    poll_next(w);
    expect_int(store_expires(w, alice), first);
    handle_pass(w, 1);
    next_us = poll_next(w);
    expect_int(store_expires(w, alice), first + 20 * SECOND);
    expect_true(next_us > 19 * SECOND && next_us <= 20 * SECOND);
    hf_session_free(alice);
    fixture_close(w);
}

static void poll_keeps_sessions_alive_for_as_long_as_it_is_called_when_it_says(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_session *quick = work_idle(w, "alice", 3 * SECOND), *slow = work_idle(w, "bob", HOUR);
    handle_take(quick, "policy/1", 0);
    handle_take(slow, "policy/2", 0);
    heard ear;
    add_listener(w, &ear);
    for (int64_t passed = 0; passed < HOUR / 10;) {
        int64_t next_us = poll_next(w);
        expect_true(next_us > 0 && next_us <= MINUTE);
        handle_pass(w, next_us);
        passed += next_us;
    }
    expect_int(ear.count, 0);
    expect_true(handle_held(quick, "policy/1") && handle_held(slow, "policy/2"));
    expect_int(done(w, LIST)->locks_count, 2);
    hf_session_free(quick);
    hf_session_free(slow);
    fixture_close(w);
}

static void poll_without_sessions_is_harmless(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    expect_true(poll_next(w) > 0);
    expect(HF_OK, hf_manager_poll(fixture_manager(w), NULL, &err), err);
    fixture_close(w);
}

/* A store that cannot be reached is no error of poll: the session ends when its bound comes. */
static void a_session_that_cannot_be_reached_ends_at_its_bound(void **state)
{
    (void)state;
    static test_store memory;
    memory = test_store_memory();
    fixture_close(handle_begin());
    fixture *w = fixture_open(&memory);
    fixture_fault(w);
    hf_store *fault = w->store;
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    heard ear;
    add_listener(w, &ear);
    for (int i = 0; i < 59; i++) {
        handle_pass(w, SECOND);
        hf_fault_arm(fault, 1, false);
        poll_next(w);
        expect_int(ear.count, 0);
        expect_true(handle_held(alice, "policy/1"));
    }
    handle_pass(w, SECOND);
    hf_fault_arm(fault, 1, false);
    poll_next(w);
    hf_fault_arm(fault, 0, false);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_ENDED);
    expect_text(ear.all[0].why, "expired");
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    fixture_close(w);
}

/* Reached again in time: nothing is lost. */
static void a_session_that_is_reached_again_in_time_lives_on(void **state)
{
    (void)state;
    static test_store memory;
    memory = test_store_memory();
    fixture_close(handle_begin());
    fixture *w = fixture_open(&memory);
    fixture_fault(w);
    hf_store *fault = w->store;
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    heard ear;
    add_listener(w, &ear);
    handle_pass(w, 20 * SECOND);
    hf_fault_arm(fault, 1, false);
    int64_t next_us = poll_next(w);
    expect_true(next_us <= 20 * SECOND);
    handle_pass(w, next_us);
    poll_next(w);
    handle_pass(w, 50 * SECOND);
    expect_int(ear.count, 0);
    expect_true(handle_held(alice, "policy/1"));
    expect_int(done(w, LIST)->locks_count, 1);
    hf_session_free(alice);
    fixture_close(w);
}

/* A world whose store fails on demand. */
static fixture *begin_with_faults(hf_store **fault)
{
    static test_store memory;
    memory = test_store_memory();
    fixture_close(handle_begin());
    fixture *w = fixture_open(&memory);
    fixture_fault(w);
    *fault = w->store;
    return w;
}

/* P7: the store is away for half a second twice. */
static void two_short_disturbances_end_no_session(void **state)
{
    (void)state;
    hf_store *fault;
    fixture *w = begin_with_faults(&fault);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    heard ear;
    add_listener(w, &ear);
    for (int64_t passed = 0; passed < 2 * MINUTE;) {
        bool away = passed % (20 * SECOND) < SECOND / 2 && passed > 0 && passed < MINUTE;
        hf_fault_arm(fault, away, false);
        int64_t next_us = poll_next(w);
        hf_fault_arm(fault, 0, false);
        handle_pass(w, next_us);
        passed += next_us;
    }
    expect_int(ear.count, 0);
    expect_true(handle_held(alice, "policy/1"));
    expect_int(done(w, LIST)->locks_count, 1);
    hf_session_free(alice);
    fixture_close(w);
}

static void a_beat_that_failed_is_tried_again_while_there_is_time(void **state)
{
    (void)state;
    hf_store *fault;
    fixture *w = begin_with_faults(&fault);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_pass(w, 58 * SECOND);
    hf_fault_arm(fault, 1, false);
    int64_t next_us = poll_next(w);
    expect_true(next_us >= SECOND && next_us <= 2 * SECOND);
    handle_pass(w, next_us);
    poll_next(w);
    handle_pass(w, 50 * SECOND);
    expect_true(handle_held(alice, "policy/1"));
    expect_int(done(w, LIST)->locks_count, 1);
    hf_session_free(alice);
    fixture_close(w);
}

/* Whoever polls when told to hears of the end when it comes. */
static void the_next_poll_is_no_later_than_the_idle_bound(void **state)
{
    (void)state;
    hf_store *fault;
    fixture *w = begin_with_faults(&fault);
    hf_session *alice = work_idle(w, "alice", MINUTE);
    heard ear;
    add_listener(w, &ear);
    handle_pass(w, MINUTE - SECOND / 2);
    hf_fault_arm(fault, 1, false);
    hf_fault_more(fault, 1);
    int64_t next_us = poll_next(w);
    expect_int(next_us, SECOND / 2);
    handle_pass(w, next_us);
    poll_next(w);
    expect_int(ear.count, 1);
    expect_text(ear.all[0].why, "expired");
    hf_fault_arm(fault, 0, false);
    hf_session_free(alice);
    fixture_close(w);
}

/* Whether it fails at once or after a long while, and whatever it says: batch by batch, and at most
 * one by itself; where the answer was lost at once each of them twice. */
static void a_store_that_is_away_is_not_asked_for_each_session(void **state)
{
    (void)state;
    enum { MANY = 200, BATCHES = 4 };
    static const hf_status all_gone[] = {HF_UNAVAILABLE, HF_UNSURE, HF_TOO_MANY,
                                         HF_UNAUTHENTICATED};
    for (int form = 0; form < 8; form++) {
        hf_status gone = all_gone[form / 2];
        size_t most = gone == HF_UNSURE ? 2 * (BATCHES + 1) : BATCHES + 1;
        slow_store *slow = NULL;
        hf_manager *manager = slow_manager(&slow);
        hf_session *all[MANY];
        hf_resource policy = resource_of("policy/1");
        hf_error err = {0};
        int64_t next_us = 0;
        for (int i = 0; i < MANY; i++) {
            hf_session_options options = {.user = "alice", .idle_us = 15 * MINUTE};
            expect(HF_OK, hf_session_open(manager, &options, &all[i], &err), err);
        }
        expect(HF_OK, hf_session_acquire(all[0], &policy, NULL, NULL, &err), err);
        boot_now += 5 * MINUTE;
        slow->gone = gone;
        slow->before_us = form % 2 == 0 ? 0 : 30 * SECOND;
        for (int round = 0; round < 3; round++) {
            slow->calls = 0;
            expect(HF_OK, hf_manager_poll(manager, &next_us, &err), err);
            expect_true(slow->calls <= most);
            expect_true(next_us >= SECOND);
            boot_now += next_us;
        }
        slow->gone = HF_OK;
        slow->calls = slow->before_us = 0;
        boot_now += MINUTE;
        expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
        expect_int(slow->calls, BATCHES);
        boot_now += 14 * MINUTE;
        expect_true(hf_session_is_held(all[0], &policy));
        for (int i = 0; i < MANY; i++)
            hf_session_free(all[i]);
        hf_manager_close(manager);
    }
}

/* Then each op of the batch has an answer of its own, and the rest is not asked for one after the
 * other either. */
static void a_store_that_goes_away_in_the_middle_of_a_batch_is_not_asked_for_each_session(
    void **state)
{
    (void)state;
    enum { SOME = 60 };
    slow_store *slow = NULL;
    hf_manager *manager = slow_manager(&slow);
    hf_session *all[SOME];
    hf_error err = {0};
    for (int i = 0; i < SOME; i++) {
        hf_session_options options = {.user = "alice", .idle_us = 15 * MINUTE};
        expect(HF_OK, hf_session_open(manager, &options, &all[i], &err), err);
    }
    boot_now += 5 * MINUTE;
    slow->goes = true;
    slow->calls = 0;
    expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
    expect_int(slow->calls, 2);
    for (int i = 0; i < SOME; i++)
        hf_session_free(all[i]);
    hf_manager_close(manager);
}

static void a_freed_handle_is_beaten_no_more(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE), *bob = work_idle(w, "bob", MINUTE);
    hf_session *carol = work_idle(w, "carol", MINUTE);
    int64_t before = store_expires(w, bob);
    hf_credentials was = *hf_session_credentials(bob);
    hf_session_free(bob);
    handle_pass(w, 30 * SECOND);
    poll_next(w);
    expect_int(done(w, BEAT, BY(was))->sessions[0].expires_us, w->now_us + MINUTE);
    expect_true(before < w->now_us + MINUTE);
    handle_pass(w, 20 * SECOND);
    poll_next(w);
    const hf_answer *all = done(w, SESSIONS, .user = "bob");
    expect_int(all->sessions[0].expires_us, w->now_us + 40 * SECOND);
    expect_int(store_expires(w, alice), w->now_us + MINUTE);
    expect_int(store_expires(w, carol), w->now_us + MINUTE);
    handle_pass(w, 59 * SECOND);
    expect_int(ear.count, 0);
    hf_session_free(carol);
    hf_session_free(alice);
    fixture_close(w);
}

/* The keeper's own sleep is by a clock that stands still meanwhile: it must not sleep until what it
 * thought was due. */
static void the_keeper_beats_soon_after_the_machine_was_suspended(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *alice = work_idle(w, "alice", HOUR);
    int64_t first = store_expires(w, alice);
    looks = 0;
    expect(HF_OK, hf_manager_keeper_start(fixture_manager(w), &err), err);
    /* until it sleeps, for 20 minutes as it thinks */
    for (int seen = 0; seen == 0 || seen != looks;) {
        seen = looks;
        usleep(100000);
    }
    handle_pass(w, HOUR / 2);
    for (int tries = 0; tries < 600 && store_expires(w, alice) == first; tries++)
        usleep(100000);
    expect_int(store_expires(w, alice), first + HOUR / 2);
    hf_manager_keeper_stop(fixture_manager(w));
    hf_session_free(alice);
    fixture_close(w);
}

/* One by one they would take 200 s: all but the first would be dead. */
static void many_sessions_are_beaten_in_time_though_the_store_is_far_away(void **state)
{
    (void)state;
    enum { MANY = 200, BATCHES = 4 };
    slow_store *slow = NULL;
    hf_manager *manager = slow_manager(&slow);
    hf_session *all[MANY];
    hf_resource policy = resource_of("policy/1");
    hf_error err = {0};
    for (int i = 0; i < MANY; i++) {
        hf_session_options options = {.user = "alice", .idle_us = MINUTE};
        expect(HF_OK, hf_session_open(manager, &options, &all[i], &err), err);
    }
    expect(HF_OK, hf_session_acquire(all[MANY / 2], &policy, NULL, NULL, &err), err);
    slow->before_us = slow->after_us = SECOND / 2;
    slow->calls = 0;
    for (int64_t round = 1; round <= 10; round++) {
        int64_t next_us = 0;
        boot_now += 20 * SECOND;
        expect(HF_OK, hf_manager_poll(manager, &next_us, &err), err);
        expect_int(slow->calls, round * BATCHES);
        expect_true(next_us >= 1000 && next_us <= 20 * SECOND - BATCHES * SECOND + SECOND);
        expect_true(hf_session_is_held(all[MANY / 2], &policy));
    }
    for (int i = 0; i < MANY; i++)
        hf_session_free(all[i]);
    hf_manager_close(manager);
}

/* The next beat is due before the answer to the last one is there. */
static void a_session_lives_though_a_call_takes_longer_than_a_third_of_its_bound(void **state)
{
    (void)state;
    slow_store *slow = NULL;
    hf_manager *manager = slow_manager(&slow);
    hf_session *alice = NULL;
    hf_resource policy = resource_of("policy/1");
    hf_error err = {0};
    heard ear = {0};
    hf_session_options options = {.user = "alice", .idle_us = 3 * SECOND};
    expect(HF_OK, hf_manager_listen(manager, listen, &ear, &err), err);
    expect(HF_OK, hf_session_open(manager, &options, &alice, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    slow->before_us = SECOND;
    slow->after_us = 11 * SECOND / 10;
    for (int round = 0; round < 10; round++) {
        int64_t next_us = 0;
        expect(HF_OK, hf_manager_poll(manager, &next_us, &err), err);
        expect_int(ear.count, 0);
        expect_true(hf_session_is_held(alice, &policy));
        boot_now += next_us;
    }
    hf_session_free(alice);
    hf_manager_close(manager);
}

/* What goes wrong with many at once is tried with each. */
static void a_batch_of_beats_that_fails_is_made_up_for_one_by_one(void **state)
{
    (void)state;
    enum { SOME = 5 };
    for (int form = 0; form < 2; form++) {
        slow_store *slow = NULL;
        hf_manager *manager = slow_manager(&slow);
        hf_session *all[SOME];
        hf_error err = {0};
        hf_resource policy[SOME];
        for (int i = 0; i < SOME; i++) {
            char name[16];
            snprintf(name, sizeof name, "policy/%d", i);
            policy[i] = resource_of(name);
            hf_session_options options = {.user = "alice", .idle_us = MINUTE};
            expect(HF_OK, hf_session_open(manager, &options, &all[i], &err), err);
            expect(HF_OK, hf_session_acquire(all[i], &policy[i], NULL, NULL, &err), err);
        }
        for (int round = 0; round < 6; round++) {
            slow->one_only = form == 0;
            slow->busy = form == 1;
            slow->lost_us = form == 1;
            boot_now += 20 * SECOND;
            expect(HF_OK, hf_manager_poll(manager, NULL, &err), err);
            for (int i = 0; i < SOME; i++)
                expect_true(hf_session_is_held(all[i], &policy[i]));
        }
        slow->busy = false;
        for (int i = 0; i < SOME; i++)
            hf_session_free(all[i]);
        hf_manager_close(manager);
    }
}

typedef struct crossing {
    fixture *w;
    hf_session *other;
    int of_other;
} crossing;

/* While the first is told of, the other loses what it has, and hears of it from a call of its own.
 * */
static void cross(void *context, const hf_notice *notice)
{
    crossing *it = context;
    if (notice->session == it->other) {
        it->of_other++;
        return;
    }
    handle_force(it->w, "policy/2", "root", "lunch");
    handle_beat(it->other);
}

static void an_older_answer_does_not_bring_back_what_was_told(void **state)
{
    (void)state;
    hf_error err = {0};
    fixture *w = handle_begin();
    hf_session *other = work_idle(w, "bob", MINUTE), *first = work_idle(w, "alice", MINUTE);
    crossing it = {.w = w, .other = other};
    expect(HF_OK, hf_manager_listen(fixture_manager(w), cross, &it, &err), err);
    handle_take(first, "policy/1", 0);
    handle_take(other, "policy/2", 0);
    handle_force(w, "policy/1", "root", "lunch");
    handle_pass(w, 30 * SECOND);
    poll_next(w);
    for (int i = 0; i < 3; i++)
        handle_beat(other);
    expect_int(it.of_other, 1);
    hf_session_free(first);
    hf_session_free(other);
    fixture_close(w);
}

/* While the first is told of, someone asks for what the other has, and it hears of that from a call
 * of its own. */
static void cross_with_a_request(void *context, const hf_notice *notice)
{
    crossing *it = context;
    if (notice->session == it->other) {
        it->of_other += notice->kind == HF_NOTICE_REQUESTED;
        return;
    }
    hf_error err = {0};
    hf_resource two = resource_of("policy/2");
    expect(HF_OK, hf_session_request(notice->session, &two, "please", &err), err);
    handle_beat(it->other);
}

static void an_older_answer_does_not_bring_back_a_request_that_was_told(void **state)
{
    (void)state;
    hf_error err = {0};
    fixture *w = handle_begin();
    hf_session *other = work_idle(w, "bob", MINUTE), *first = work_idle(w, "alice", MINUTE);
    crossing it = {.w = w, .other = other};
    expect(HF_OK, hf_manager_listen(fixture_manager(w), cross_with_a_request, &it, &err), err);
    handle_take(first, "policy/1", 0);
    handle_take(other, "policy/2", 0);
    handle_force(w, "policy/1", "root", "lunch");
    handle_pass(w, 30 * SECOND);
    poll_next(w);
    for (int i = 0; i < 3; i++)
        handle_beat(other);
    expect_int(it.of_other, 1);
    hf_session_free(first);
    hf_session_free(other);
    fixture_close(w);
}

/* Two more: what the other was told of before is settled while the first is told of, which it knows
 * from a call of its own. */
typedef struct settling {
    hf_session *first, *other, *asks;
    bool lost; /* it is about a loss, not about a request */
    int of_other;
} settling;

static void handle_settle(void *context, const hf_notice *notice)
{
    settling *it = context;
    hf_error err = {0};
    hf_resource two = resource_of("policy/2");
    it->of_other += notice->session == it->other;
    if (notice->session != it->first)
        return;
    if (it->lost) {
        handle_take(it->other, "policy/2", 0);
        expect(HF_OK, hf_session_release(it->other, &two, 0, &err), err);
    } else {
        expect(HF_OK, hf_session_close(it->asks, &err), err);
    }
    handle_beat(it->other);
}

static void an_older_answer_does_not_tell_again_of_what_is_settled(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        hf_error err = {0};
        fixture *w = handle_begin();
        hf_session *asks = work_idle(w, "carol", MINUTE), *other = work_idle(w, "bob", MINUTE);
        hf_session *first = work_idle(w, "alice", MINUTE);
        hf_resource two = resource_of("policy/2");
        settling it = {.first = first, .other = other, .asks = asks, .lost = lost};
        expect(HF_OK, hf_manager_listen(fixture_manager(w), handle_settle, &it, &err), err);
        handle_take(first, "policy/1", 0);
        handle_take(other, "policy/2", 0);
        if (lost)
            handle_force(w, "policy/2", "root", "lunch");
        else
            expect(HF_OK, hf_session_request(asks, &two, "please", &err), err);
        handle_beat(other);
        expect_int(it.of_other, 1);
        handle_force(w, "policy/1", "root", "lunch");
        handle_pass(w, 30 * SECOND);
        poll_next(w);
        for (int i = 0; i < 3; i++)
            handle_beat(other);
        expect_int(it.of_other, 1);
        hf_session_free(first);
        hf_session_free(other);
        hf_session_free(asks);
        fixture_close(w);
    }
}

typedef struct freeing {
    hf_session *all[3];
    int heard;
} freeing;

static void free_the_others(void *context, const hf_notice *notice)
{
    freeing *it = context;
    it->heard++;
    for (size_t i = 0; i < 3; i++)
        if (it->all[i] != notice->session) {
            hf_session_free(it->all[i]);
            it->all[i] = NULL;
        }
}

static void a_listener_may_free_the_handles_that_it_is_not_told_of(void **state)
{
    (void)state;
    static const char *const names[] = {"policy/1", "policy/2", "policy/3"};
    fixture *w = handle_begin();
    hf_error err = {0};
    freeing it = {0};
    for (size_t i = 0; i < 3; i++) {
        it.all[i] = work_idle(w, "alice", MINUTE);
        handle_take(it.all[i], names[i], 0);
        handle_force(w, names[i], "root", "maintenance");
    }
    expect(HF_OK, hf_manager_listen(fixture_manager(w), free_the_others, &it, &err), err);
    handle_pass(w, 30 * SECOND);
    poll_next(w);
    expect_int(it.heard, 1);
    expect_int((it.all[0] != NULL) + (it.all[1] != NULL) + (it.all[2] != NULL), 1);
    for (size_t i = 0; i < 3; i++)
        hf_session_free(it.all[i]);
    fixture_close(w);
}

/* The memory of the handle that is freed comes back with the next that is made. */
static void *watched_block, *freed_block;

static void free_by_test(void *block)
{
    if (block == NULL || block != watched_block)
        free(block);
    else
        freed_block = block;
}

static void *handle_realloc_by_test(void *block, size_t size)
{
    if (block != NULL || size != sizeof(struct hf_session) || freed_block == NULL)
        return realloc(block, size);
    void *again = freed_block;
    freed_block = watched_block = NULL;
    return again;
}

typedef struct changing {
    fixture *w;
    hf_session *first, *other;
    int of_other;
} changing;

/* While the first is told of, the other handle is freed and one on the same session comes to its
 * place. */
static void change_handles(void *context, const hf_notice *notice)
{
    changing *it = context;
    if (notice->session != it->first) {
        it->of_other++;
        return;
    }
    hf_error err = {0};
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", hf_session_id(it->other),
             hf_session_credentials(it->other)->key);
    watched_block = it->other;
    hf_session_free(it->other);
    expect_true(freed_block != NULL);
    hf_session *again = NULL;
    expect(HF_OK, hf_session_attach(fixture_manager(it->w), id_and_key, &again, &err), err);
    expect_true(again == it->other);
}

static void a_handle_in_the_place_of_a_freed_one_is_told_of_its_own_beats_only(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    hf_session *other = work_idle(w, "bob", MINUTE), *first = work_idle(w, "alice", MINUTE);
    changing it = {.w = w, .first = first, .other = other};
    for (int i = 0; i < 20; i++) /* its answers have high numbers */
        handle_beat(other);
    handle_take(first, "policy/1", 0);
    handle_force(w, "policy/1", "root", "lunch");
    expect(HF_OK, hf_manager_listen(fixture_manager(w), change_handles, &it, &err), err);
    handle_pass(w, 30 * SECOND);
    hf_seam.realloc = handle_realloc_by_test;
    hf_seam.free = free_by_test;
    poll_next(w);
    hf_seam.realloc = realloc;
    hf_seam.free = free;
    handle_take(other, "policy/2", 0);
    handle_force(w, "policy/2", "root", "lunch");
    for (int i = 0; i < 3; i++)
        handle_beat(other);
    expect_int(it.of_other, 1);
    hf_session_free(first);
    hf_session_free(other);
    fixture_close(w);
}

static void a_session_that_is_no_more_takes_none_with_it(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    heard ear;
    add_listener(w, &ear);
    hf_session *alice = work_idle(w, "alice", MINUTE), *bob = work_idle(w, "bob", MINUTE);
    hf_session *carol = work_idle(w, "carol", MINUTE);
    handle_take(alice, "policy/1", 0);
    handle_take(carol, "policy/3", 0);
    hf_credentials gone = *hf_session_credentials(bob);
    done(w, CLOSE, BY(gone));
    handle_pass(w, 30 * SECOND);
    poll_next(w);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_ENDED);
    expect_true(ear.all[0].session == bob);
    handle_pass(w, 40 * SECOND);
    expect_true(handle_held(alice, "policy/1") && handle_held(carol, "policy/3"));
    hf_session_free(carol);
    hf_session_free(bob);
    hf_session_free(alice);
    fixture_close(w);
}

/* P6, P13: two handles on one session; the grant that was forced away is not the one this handle
 * saw. */
static void losing_a_later_grant_is_told_to_a_handle_that_believed_in_an_earlier_one(void **state)
{
    (void)state;
    fixture *w = handle_begin();
    hf_error err = {0};
    heard ear;
    hf_session *first = work_idle(w, "alice", MINUTE), *second = handle_attach(w, first);
    hf_resource one = resource_of("policy/1");
    handle_take(first, "policy/1", 0);
    expect(HF_OK, hf_session_release(second, &one, 0, &err), err);
    handle_pass(w, SECOND);
    hf_lock lock = {0};
    expect(HF_OK, hf_session_acquire(second, &one, NULL, &lock, &err), err);
    add_listener(w, &ear);
    handle_force(w, "policy/1", "root", "why");
    for (int i = 0; i < 2; i++)
        handle_beat(first);
    expect_int(ear.count, 1);
    expect_int(ear.all[0].kind, HF_NOTICE_LOST);
    expect_true(ear.all[0].session == first);
    expect_text(ear.all[0].why, "forced");
    expect_true(!handle_held(first, "policy/1"));
    handle_beat(second);
    expect_int(ear.count, 2);
    expect_true(ear.all[1].session == second && !handle_held(second, "policy/1"));
    hf_session_free(first);
    hf_session_free(second);
    fixture_close(w);
}

/* It may be closed: nothing is believed any more. */
static void after_an_unsure_close_nothing_is_held(void **state)
{
    (void)state;
    static test_store memory;
    memory = test_store_memory();
    fixture_close(handle_begin());
    fixture *w = fixture_open(&memory);
    fixture_fault(w);
    hf_store *fault = w->store;
    hf_error err = {0};
    hf_session *alice = work_idle(w, "alice", MINUTE);
    handle_take(alice, "policy/1", 0);
    hf_fault_arm(fault, 1, true);
    hf_fault_more(fault, 1); /* it asks once more by itself */
    expect(HF_UNSURE, hf_session_close(alice, &err), err);
    expect_true(!handle_held(alice, "policy/1"));
    expect(HF_OK, hf_session_close(alice, &err), err);
    hf_session_free(alice);
    fixture_close(w);
}

/* Asked again by itself, it was done before; but the lock that was given has come to its own bound
 * since. */
static void a_hand_over_of_which_nothing_is_left_shows_no_lock(void **state)
{
    (void)state;
    slow_store *slow;
    hf_error err = {0};
    hf_manager *manager = slow_manager(&slow);
    hf_session *alice = NULL, *bob = NULL;
    hf_resource one = resource_of("policy/1");
    hf_lock lock;
    memset(&lock, 7, sizeof lock);
    expect(HF_OK,
           hf_session_open(manager, &(hf_session_options){.user = "alice", .idle_us = DAY}, &alice,
                           &err),
           err);
    expect(
        HF_OK,
        hf_session_open(manager, &(hf_session_options){.user = "bob", .idle_us = DAY}, &bob, &err),
        err);
    handle_take(alice, "policy/1", MINUTE);
    slow->lost_us = HOUR;
    expect(HF_OK, hf_session_hand_over(alice, &one, hf_session_id(bob), &lock, &err), err);
    expect_int(lock.fence, 0);
    expect_text(lock.session, "");
    expect_true(!handle_held(alice, "policy/1"));
    hf_session_free(alice);
    hf_session_free(bob);
    hf_manager_close(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_is_held_from_its_grant_to_its_release),
        cmocka_unit_test(a_refused_lock_is_not_held),
        cmocka_unit_test(a_save_that_finds_the_lock_lost_ends_the_belief),
        cmocka_unit_test(a_save_whose_answer_was_lost_settles_itself),
        cmocka_unit_test(nothing_is_held_from_the_idle_bound_on),
        cmocka_unit_test(a_lock_taken_late_is_held_no_longer_than_its_session),
        cmocka_unit_test(a_beat_moves_what_is_held),
        cmocka_unit_test(nothing_is_held_from_its_own_bound_on),
        cmocka_unit_test(asking_again_does_not_move_the_bound_here_either),
        cmocka_unit_test(time_is_counted_from_when_a_beat_was_sent),
        cmocka_unit_test(an_own_bound_is_counted_from_when_it_was_asked_for),
        cmocka_unit_test(a_repeated_open_is_not_taken_for_a_beat),
        cmocka_unit_test(a_beat_that_fails_moves_nothing),
        cmocka_unit_test(what_was_granted_elsewhere_is_not_held_here),
        cmocka_unit_test(a_forced_release_is_seen_with_the_next_beat),
        cmocka_unit_test(a_forced_release_is_told_once),
        cmocka_unit_test(a_loss_is_told_to_a_handle_that_never_took_it),
        cmocka_unit_test(what_ran_out_here_first_is_told_once),
        cmocka_unit_test(what_is_not_held_by_its_fence_is_not_believed_either),
        cmocka_unit_test(a_shorter_bound_of_which_nobody_knows_is_counted_with),
        cmocka_unit_test(losing_it_a_second_time_is_told_a_second_time),
        cmocka_unit_test(an_own_bound_that_has_come_is_told_once_by_poll),
        cmocka_unit_test(an_own_bound_that_has_come_is_told_once_by_a_beat),
        cmocka_unit_test(closing_is_told_once),
        cmocka_unit_test(idle_death_is_told_once_by_poll),
        cmocka_unit_test(idle_death_is_told_once_by_a_beat),
        cmocka_unit_test(idle_death_that_another_call_found_is_told_by_poll),
        cmocka_unit_test(a_session_ended_elsewhere_is_told),
        cmocka_unit_test(a_request_is_told_once),
        cmocka_unit_test(every_request_is_told),
        cmocka_unit_test(a_failed_attach_tells_nobody),
        cmocka_unit_test(sixteen_listeners_hear_and_no_more_are_taken),
        cmocka_unit_test(a_listener_may_call_the_library),
        cmocka_unit_test(poll_beats_when_a_third_of_the_idle_bound_has_passed),
        cmocka_unit_test(poll_keeps_sessions_alive_for_as_long_as_it_is_called_when_it_says),
        cmocka_unit_test(poll_without_sessions_is_harmless),
        cmocka_unit_test(the_keeper_beats_soon_after_the_machine_was_suspended),
        cmocka_unit_test(many_sessions_are_beaten_in_time_though_the_store_is_far_away),
        cmocka_unit_test(a_session_lives_though_a_call_takes_longer_than_a_third_of_its_bound),
        cmocka_unit_test(a_batch_of_beats_that_fails_is_made_up_for_one_by_one),
        cmocka_unit_test(an_older_answer_does_not_bring_back_what_was_told),
        cmocka_unit_test(an_older_answer_does_not_bring_back_a_request_that_was_told),
        cmocka_unit_test(an_older_answer_does_not_tell_again_of_what_is_settled),
        cmocka_unit_test(a_listener_may_free_the_handles_that_it_is_not_told_of),
        cmocka_unit_test(a_handle_in_the_place_of_a_freed_one_is_told_of_its_own_beats_only),
        cmocka_unit_test(a_session_that_is_no_more_takes_none_with_it),
        cmocka_unit_test(a_session_that_cannot_be_reached_ends_at_its_bound),
        cmocka_unit_test(a_session_that_is_reached_again_in_time_lives_on),
        cmocka_unit_test(two_short_disturbances_end_no_session),
        cmocka_unit_test(a_beat_that_failed_is_tried_again_while_there_is_time),
        cmocka_unit_test(the_next_poll_is_no_later_than_the_idle_bound),
        cmocka_unit_test(a_store_that_is_away_is_not_asked_for_each_session),
        cmocka_unit_test(
            a_store_that_goes_away_in_the_middle_of_a_batch_is_not_asked_for_each_session),
        cmocka_unit_test(a_freed_handle_is_beaten_no_more),
        cmocka_unit_test(losing_a_later_grant_is_told_to_a_handle_that_believed_in_an_earlier_one),
        cmocka_unit_test(after_an_unsure_close_nothing_is_held),
        cmocka_unit_test(a_hand_over_of_which_nothing_is_left_shows_no_lock),
    };
    return cmocka_run_group_tests_name("handle", tests, NULL, NULL);
}
