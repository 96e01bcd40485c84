/* SPDX-License-Identifier: MIT */
/* The easy calls of manager.h and session.h, over every store. What they do is tested with batches;
 * here is that they ask for the right thing and say what came of it. */
#include "suite.h"

#include <string.h>

static hf_session *manager_work(fixture *w, const char *user, const char *name)
{
    hf_error err = {0};
    hf_session *session = NULL;
    hf_session_options options = {.user = user, .name = name, .idle_us = HOUR};
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &session, &err), err);
    keep_secret(w, hf_session_credentials(session));
    return session;
}

static void a_session_is_opened_and_described(fixture *w)
{
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_session_info info = {0};
    hf_session_describe(alice, &info);
    expect_text(info.id, hf_session_id(alice));
    expect_int(strlen(info.id), HF_SESSION_ID_MAX);
    expect_text(info.user, "alice");
    expect_text(info.name, "Alice Chen");
    expect_int(info.idle_us, HOUR);
    expect_int(info.expires_us, w->now_us + HOUR);
    expect_int(info.ended_us, 0);
    expect_true(strlen(hf_session_credentials(alice)->key) >= HF_KEY_MIN);
    const hf_answer *all = done(w, SESSIONS);
    expect_int(all->sessions_count, 1);
    expect_text(all->sessions[0].id, info.id);
    hf_session_free(alice);
    hf_session_free(NULL);
    expect_int(done(w, SESSIONS)->sessions_count, 1);
}

static void every_session_gets_an_id_and_a_key_of_its_own(fixture *w)
{
    hf_session *one = manager_work(w, "alice", NULL), *two = manager_work(w, "alice", NULL);
    expect_true(strcmp(hf_session_id(one), hf_session_id(two)) != 0);
    expect_true(strcmp(hf_session_credentials(one)->key, hf_session_credentials(two)->key) != 0);
    hf_session_free(one);
    hf_session_free(two);
}

static void bad_session_options_are_refused(fixture *w)
{
    hf_manager *manager = fixture_manager(w);
    static const hf_session_options bad[] = {
        {.user = NULL},
        {.user = ""},
        {.user = "\xff"},
        {.user = "alice", .name = "\x01"},
        {.user = "alice", .idle_us = -1},
        {.user = "alice", .idle_us = HF_DURATION_MAX_US + 1},
        {.user = "alice", .key = "too short"},
        {.user = "alice", .key = "00112233445566778899aabbccddeef"},
        {.user = "alice", .key = "00112233445566778899aabbccddeefg"},
        {.user = "alice", .replaces = "neither id nor key"},
        {.user = "alice", .request_id = "with space"},
    };
    char *before = snapshot(w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hf_error err = {0};
        hf_session *session = NULL;
        expect(HF_INVALID, hf_session_open(manager, &bad[i], &session, &err), err);
        expect_true(session == NULL);
    }
    unchanged(w, before);
}

static void a_session_opened_elsewhere_is_attached_by_id_and_key(fixture *w)
{
    hf_error err = {0};
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", HOUR);
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", bob.id, bob.key);
    clock_forward(w, MINUTE);
    hf_session *session = NULL;
    expect(HF_OK, hf_session_attach(fixture_manager(w), id_and_key, &session, &err), err);
    hf_session_info info = {0};
    hf_session_describe(session, &info);
    expect_text(info.id, bob.id);
    expect_text(info.user, "bob");
    expect_int(info.expires_us, w->now_us + HOUR);
    hf_resource policy = resource_of("policy/1");
    expect(HF_OK, hf_session_acquire(session, &policy, NULL, NULL, &err), err);
    hf_session_free(session);
    session = NULL;
    id_and_key[strlen(id_and_key) - 1] ^= 1;
    expect(HF_DENIED, hf_session_attach(fixture_manager(w), id_and_key, &session, &err), err);
    expect(HF_INVALID, hf_session_attach(fixture_manager(w), "nonsense", &session, &err), err);
    hf_credentials nobody = draw(w);
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", nobody.id, nobody.key);
    expect(HF_NOT_FOUND, hf_session_attach(fixture_manager(w), id_and_key, &session, &err), err);
    expect_true(session == NULL);
}

/* P3, P13 */
static void a_refused_acquire_names_the_holder_in_the_error(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    hf_resource policy = resource_of("policy/12345");
    hf_lock lock = {0};
    hf_acquire_options options = {.ttl_us = 2 * HOUR, .purpose = "renewal"};
    expect(HF_OK, hf_session_acquire(bob, &policy, &options, &lock, &err), err);
    expect_int(lock.fence, w->now_us);
    expect_text(lock.purpose, "renewal");
    expect(HF_LOCKED, hf_session_acquire(alice, &policy, NULL, &lock, &err), err);
    expect_text(err.holder.session, hf_session_id(bob));
    expect_text(err.holder.name, "Bob Smith");
    expect_text(err.holder.purpose, "renewal");
    expect_int(err.holder.since_us, w->now_us);
    expect_text(err.resource, "policy/12345");
    expect_contains(err.message, "Bob Smith");
    expect_int(hf_session_acquire(alice, &policy, NULL, NULL, NULL), HF_LOCKED);
    hf_session_free(alice);
    hf_session_free(bob);
}

/* P4 */
static void several_are_acquired_all_or_none_and_answered_in_the_order_given(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource set[] = {resource_of("policy/9"), resource_of("claim/1"), resource_of("policy/10")};
    hf_result *result = NULL;
    hf_acquire_options options = {.mode = HF_SHARED, .purpose = "all"};
    expect(HF_OK, hf_session_acquire_all(alice, set, 3, &options, &result, &err), err);
    expect_int(hf_result_count(result), 3);
    for (size_t i = 0; i < 3; i++) {
        const hf_answer *answer = hf_result_at(result, i);
        expect_int(answer->locks_count, 1);
        expect_int(hf_resource_compare(&answer->locks[0].resource, &set[i]), 0);
        expect_int(answer->locks[0].mode, HF_SHARED);
        expect_text(answer->locks[0].purpose, "all");
        expect_true(hf_session_is_held(alice, &set[i]));
    }
    hf_result_free(result);
    hf_result_free(NULL);
    expect(HF_OK, hf_session_acquire_all(alice, set, 3, NULL, NULL, &err), err);
    hf_session_free(alice);
}

/* P4, P13 */
static void of_several_the_first_blocked_in_canonical_order_is_named(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    hf_session *carol = manager_work(w, "carol", "Carol Jones");
    hf_resource late = resource_of("policy/9"), early = resource_of("claim/5"),
                free1 = resource_of("claim/1");
    hf_resource set[] = {late, free1, early};
    expect(HF_OK, hf_session_acquire(bob, &late, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(carol, &early, NULL, NULL, &err), err);
    char *before = snapshot(w);
    expect(HF_LOCKED, hf_session_acquire_all(alice, set, 3, NULL, NULL, &err), err);
    expect_text(err.resource, "claim/5");
    expect_text(err.holder.name, "Carol Jones");
    expect_contains(err.message, "claim/5");
    unchanged(w, before);
    expect_true(!hf_session_is_held(alice, &free1));
    hf_session_free(alice);
    hf_session_free(bob);
    hf_session_free(carol);
}

/* P4 */
static void a_set_with_a_duplicate_or_too_many_is_refused(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource twice[] = {resource_of("policy/1"), resource_of("policy/2"),
                           resource_of("policy/1")};
    char *before = snapshot(w);
    expect(HF_INVALID, hf_session_acquire_all(alice, twice, 3, NULL, NULL, &err), err);
    expect_contains(err.message, "policy/1");
    static hf_resource many[HF_BATCH_OPS_MAX + 1];
    for (int i = 0; i <= HF_BATCH_OPS_MAX; i++) {
        snprintf(many[i].type, sizeof many[i].type, "policy");
        snprintf(many[i].id, sizeof many[i].id, "%d", i);
    }
    hf_result *result = NULL;
    expect(HF_TOO_LARGE,
           hf_session_acquire_all(alice, many, HF_BATCH_OPS_MAX + 1, NULL, &result, &err), err);
    expect(HF_TOO_LARGE,
           hf_manager_lookup(fixture_manager(w), many, HF_BATCH_OPS_MAX + 1, &result, &err), err);
    expect_true(result == NULL);
    unchanged(w, before);
    expect(HF_OK, hf_session_acquire_all(alice, many, HF_BATCH_OPS_MAX, NULL, NULL, &err), err);
    expect_int(done(w, BEAT, BY(*hf_session_credentials(alice)))->locks_count, HF_BATCH_OPS_MAX);
    hf_session_free(alice);
}

static void a_lock_is_renewed_downgraded_checked_and_released(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource policy = resource_of("policy/1");
    hf_lock lock = {0};
    expect(HF_NOT_HELD, hf_session_renew(alice, &policy, MINUTE, NULL, &lock, &err), err);
    expect(HF_NOT_HELD, hf_session_downgrade(alice, &policy, &lock, &err), err);
    expect(HF_NOT_HELD, hf_session_release(alice, &policy, 0, &err), err);
    expect(HF_NOT_HELD, hf_session_holds(alice, &policy, 0, &lock, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, &lock, &err), err);
    int64_t fence = lock.fence;
    expect(HF_OK, hf_session_renew(alice, &policy, MINUTE, NULL, &lock, &err), err);
    expect_int(lock.ends_us, w->now_us + MINUTE);
    expect(HF_OK, hf_session_renew(alice, &policy, 0, NULL, &lock, &err), err);
    expect_int(lock.ends_us, 0);
    expect(HF_OK, hf_session_downgrade(alice, &policy, &lock, &err), err);
    expect_int(lock.mode, HF_SHARED);
    expect_int(lock.fence, fence);
    expect(HF_OK, hf_session_holds(alice, &policy, fence, &lock, &err), err);
    expect(HF_NOT_HELD, hf_session_holds(alice, &policy, fence + 1, &lock, &err), err);
    expect(HF_OK, hf_session_holds(alice, &policy, 0, NULL, &err), err);
    expect(HF_NOT_HELD, hf_session_release(alice, &policy, fence + 1, &err), err);
    expect_true(hf_session_is_held(alice, &policy));
    expect(HF_OK, hf_session_release(alice, &policy, fence, &err), err);
    expect_true(!hf_session_is_held(alice, &policy));
    expect(HF_NOT_HELD, hf_session_release(alice, &policy, 0, &err), err);
    hf_session_free(alice);
}

static void release_all_says_how_many(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource one = resource_of("policy/1"), two = resource_of("policy/2");
    expect(HF_OK, hf_session_acquire(alice, &one, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &two, NULL, NULL, &err), err);
    size_t count = 99;
    expect(HF_OK, hf_session_release_all(alice, &count, &err), err);
    expect_int(count, 2);
    expect_true(!hf_session_is_held(alice, &one) && !hf_session_is_held(alice, &two));
    expect(HF_OK, hf_session_release_all(alice, NULL, &err), err);
    hf_session_free(alice);
}

static void closing_a_session_releases_and_is_idempotent(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource policy = resource_of("policy/1");
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_close(alice, &err), err);
    expect_true(!hf_session_is_held(alice, &policy));
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    expect(HF_OK, hf_session_close(alice, &err), err);
    expect(HF_EXPIRED, hf_session_beat(alice, NULL, &err), err);
    expect(HF_EXPIRED, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    hf_session_free(alice);
}

static void a_session_replaces_another_by_its_id_and_key(fixture *w)
{
    hf_error err = {0};
    hf_session *old = manager_work(w, "alice", "Alice Chen"), *fresh = NULL;
    hf_resource policy = resource_of("policy/1");
    expect(HF_OK, hf_session_acquire(old, &policy, NULL, NULL, &err), err);
    char id_and_key[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(id_and_key, sizeof id_and_key, "%s.%s", hf_session_id(old),
             hf_session_credentials(old)->key);
    hf_session_options options = {.user = "alice", .replaces = id_and_key};
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &fresh, &err), err);
    expect(HF_OK, hf_session_acquire(fresh, &policy, NULL, NULL, &err), err);
    expect(HF_EXPIRED, hf_session_beat(old, NULL, &err), err);
    hf_session_free(old);
    hf_session_free(fresh);
}

static void a_beat_answers_what_the_store_says(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    hf_resource one = resource_of("policy/1"), two = resource_of("policy/2");
    expect(HF_OK, hf_session_acquire(alice, &one, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &two, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_request(bob, &one, "please", &err), err);
    expect(HF_NOT_HELD, hf_session_request(alice, &one, NULL, &err), err);
    hf_result *forced = NULL;
    expect(HF_OK,
           hf_manager_force_release(fixture_manager(w), &two, "root", "why", 0, &forced, &err),
           err);
    expect_int(hf_result_answer(forced)->locks_count, 1);
    expect_text(hf_result_answer(forced)->locks[0].session, hf_session_id(alice));
    hf_result_free(forced);
    clock_forward(w, MINUTE);
    hf_result *beat = NULL;
    expect(HF_OK, hf_session_beat(alice, &beat, &err), err);
    const hf_answer *answer = hf_result_answer(beat);
    expect_int(answer->sessions_count, 1);
    expect_int(answer->sessions[0].expires_us, w->now_us + HOUR);
    expect_int(answer->locks_count, 1);
    expect_int(answer->lost_count, 1);
    expect_text(answer->lost[0].by, "root");
    expect_int(answer->requests_count, 1);
    expect_text(answer->requests[0].message, "please");
    hf_result_free(beat);
    expect_true(hf_session_is_held(alice, &one));
    expect_true(!hf_session_is_held(alice, &two));
    hf_session_info info = {0};
    hf_session_describe(alice, &info);
    expect_int(info.expires_us, w->now_us + HOUR);
    hf_session_free(alice);
    hf_session_free(bob);
}

static void a_lock_is_handed_over_to_another_session(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    hf_resource policy = resource_of("policy/1");
    hf_lock lock = {0};
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, &lock, &err), err);
    int64_t fence = lock.fence;
    expect(HF_INVALID, hf_session_hand_over(alice, &policy, hf_session_id(alice), NULL, &err), err);
    expect(HF_INVALID, hf_session_hand_over(alice, &policy, "nonsense", NULL, &err), err);
    expect(HF_INVALID, hf_session_hand_over(alice, &policy, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_hand_over(alice, &policy, hf_session_id(bob), &lock, &err), err);
    expect_int(lock.fence, fence + 1);
    expect_text(lock.session, hf_session_id(bob));
    expect_true(!hf_session_is_held(alice, &policy));
    expect(HF_OK, hf_session_holds(bob, &policy, fence + 1, NULL, &err), err);
    expect(HF_NOT_HELD, hf_session_hand_over(alice, &policy, hf_session_id(bob), NULL, &err), err);
    hf_session_free(alice);
    hf_session_free(bob);
}

static void a_request_is_declined_and_the_handle_goes_on(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    hf_resource policy = resource_of("policy/1");
    hf_result *seen = NULL;
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    expect(HF_INVALID, hf_session_decline(alice, &policy, NULL, NULL, &err), err);
    expect(HF_INVALID, hf_session_decline(alice, &policy, "nonsense", NULL, &err), err);
    /* That nobody asks says nothing of the session. */
    expect(HF_NOT_FOUND, hf_session_decline(alice, &policy, hf_session_id(bob), NULL, &err), err);
    expect_true(hf_session_is_held(alice, &policy));
    expect(HF_OK, hf_session_request(bob, &policy, "please", &err), err);
    expect(HF_OK, hf_session_decline(alice, &policy, hf_session_id(bob), "no", &err), err);
    expect_true(hf_session_is_held(alice, &policy));
    expect(HF_OK, hf_manager_who(fixture_manager(w), &policy, &seen, &err), err);
    expect_int(hf_result_answer(seen)->requests_count, 0);
    hf_result_free(seen);
    expect(HF_NOT_HELD, hf_session_decline(bob, &policy, hf_session_id(alice), NULL, &err), err);
    hf_session_free(alice);
    hf_session_free(bob);
}

static void who_and_look_up_answer_in_the_order_asked(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource set[] = {resource_of("policy/2"), resource_of("policy/1"), resource_of("policy/2")};
    expect(HF_OK, hf_session_acquire(alice, &set[0], NULL, NULL, &err), err);
    hf_result *result = NULL;
    expect(HF_OK, hf_manager_who(manager, &set[0], &result, &err), err);
    expect_int(hf_result_answer(result)->locks_count, 1);
    expect_text(hf_result_answer(result)->locks[0].name, "Alice Chen");
    hf_result_free(result);
    result = NULL;
    expect(HF_OK, hf_manager_lookup(manager, set, 3, &result, &err), err);
    expect_int(hf_result_count(result), 3);
    expect_int(hf_result_at(result, 0)->locks_count, 1);
    expect_int(hf_result_at(result, 1)->locks_count, 0);
    expect_int(hf_result_at(result, 2)->locks_count, 1);
    hf_result_free(result);
    hf_resource bad = {.type = "Bad", .id = "1"};
    result = NULL;
    expect(HF_INVALID, hf_manager_who(manager, &bad, &result, &err), err);
    expect_true(result == NULL);
    hf_session_free(alice);
}

static void lists_are_paged_and_filtered(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    for (int i = 0; i < 5; i++) {
        hf_resource resource = {.type = "policy"};
        snprintf(resource.id, sizeof resource.id, "%d", i);
        expect(HF_OK, hf_session_acquire(i % 2 ? alice : bob, &resource, NULL, NULL, &err), err);
    }
    hf_list_options options = {.limit = 2};
    size_t seen = 0;
    for (bool more = true; more;) {
        hf_result *page = NULL;
        expect(HF_OK, hf_manager_list(manager, &options, &page, &err), err);
        seen += hf_result_answer(page)->locks_count;
        more = hf_result_answer(page)->more;
        if (more)
            options.after = *hf_result_answer(page)->next;
        hf_result_free(page);
    }
    expect_int(seen, 5);
    hf_result *page = NULL;
    expect(HF_OK, hf_manager_list(manager, NULL, &page, &err), err);
    expect_int(hf_result_answer(page)->locks_count, 5);
    hf_result_free(page);
    expect(HF_OK, hf_manager_list(manager, &(hf_list_options){.user = "alice"}, &page, &err), err);
    expect_int(hf_result_answer(page)->locks_count, 2);
    hf_result_free(page);
    expect(HF_OK,
           hf_manager_list(manager, &(hf_list_options){.session = hf_session_id(bob)}, &page, &err),
           err);
    expect_int(hf_result_answer(page)->locks_count, 3);
    hf_result_free(page);
    expect(HF_OK, hf_manager_list(manager, &(hf_list_options){.type = "claim"}, &page, &err), err);
    expect_int(hf_result_answer(page)->locks_count, 0);
    hf_result_free(page);
    expect(HF_OK, hf_manager_sessions(manager, &(hf_list_options){.user = "bob"}, &page, &err),
           err);
    expect_int(hf_result_answer(page)->sessions_count, 1);
    hf_result_free(page);
    expect(HF_OK, hf_manager_sessions(manager, NULL, &page, &err), err);
    expect_int(hf_result_answer(page)->sessions_count, 2);
    hf_result_free(page);
    hf_session_free(alice);
    hf_session_free(bob);
}

static void types_are_set_read_and_listed(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_type type = {.type = "policy",
                    .policy = HF_POLICY_EXCLUSIVE_WRITE,
                    .ttl_us = MINUTE,
                    .ttl_max_us = HOUR},
            got;
    expect(HF_NOT_FOUND, hf_manager_type_get(manager, "policy", &got, &err), err);
    expect(HF_OK, hf_manager_type_set(manager, &type, "root", &err), err);
    expect(HF_OK, hf_manager_type_get(manager, "policy", &got, &err), err);
    expect_int(got.policy, HF_POLICY_EXCLUSIVE_WRITE);
    expect_int(got.ttl_us, MINUTE);
    expect_int(got.ttl_max_us, HOUR);
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource policy = resource_of("policy/1");
    hf_acquire_options shared = {.mode = HF_SHARED};
    expect(HF_INVALID, hf_session_acquire(alice, &policy, &shared, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, NULL, &err), err);
    type.policy = HF_POLICY_OPTIMISTIC;
    expect(HF_INVALID, hf_manager_type_set(manager, &type, NULL, &err), err);
    hf_result *all = NULL;
    expect(HF_OK, hf_manager_types(manager, &all, &err), err);
    expect_int(hf_result_answer(all)->types_count, 1);
    hf_result_free(all);
    hf_session_free(alice);
}

static void events_are_read_and_the_dead_are_swept(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_credentials dead = person_idle(w, "alice", "Alice Chen", SECOND);
    done(w, ACQUIRE, BY(dead), ON("policy", "1"));
    clock_forward(w, SECOND);
    size_t swept = 0;
    bool more = true;
    expect(HF_OK, hf_manager_sweep(manager, 0, &swept, &more, &err), err);
    expect_int(swept, 2);
    expect_true(!more);
    expect(HF_OK, hf_manager_sweep(manager, 0, NULL, NULL, &err), err);
    hf_result *events = NULL;
    expect(HF_OK, hf_manager_events(manager, 0, 0, &events, &err), err);
    expect_int(hf_result_answer(events)->events_count, 4);
    int64_t seq = hf_result_answer(events)->events[2].seq;
    hf_result_free(events);
    expect(HF_OK, hf_manager_events(manager, seq, 10, &events, &err), err);
    expect_int(hf_result_answer(events)->events_count, 1);
    hf_result_free(events);
}

static void a_forced_release_needs_reason_and_holder(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource policy = resource_of("policy/1");
    hf_lock lock = {0};
    hf_result *result = NULL;
    expect(HF_NOT_HELD, hf_manager_force_release(manager, &policy, "root", "why", 0, &result, &err),
           err);
    expect(HF_OK, hf_session_acquire(alice, &policy, NULL, &lock, &err), err);
    expect(HF_INVALID, hf_manager_force_release(manager, &policy, "root", NULL, 0, &result, &err),
           err);
    expect(HF_INVALID, hf_manager_force_release(manager, &policy, NULL, "why", 0, &result, &err),
           err);
    expect(HF_NOT_HELD,
           hf_manager_force_release(manager, &policy, "root", "why", lock.fence + 1, &result, &err),
           err);
    expect_true(result == NULL);
    expect(HF_OK, hf_manager_force_release(manager, &policy, "root", "why", lock.fence, NULL, &err),
           err);
    expect(HF_NOT_HELD, hf_session_holds(alice, &policy, 0, NULL, &err), err);
    hf_session_free(alice);
}

/* P4: a mistake is told as one, whoever holds what. */
static void a_set_with_a_duplicate_is_invalid_also_when_someone_else_holds_it(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen"),
               *bob = manager_work(w, "bob", "Bob Smith");
    hf_resource twice[] = {resource_of("policy/1"), resource_of("policy/1")};
    expect(HF_OK, hf_session_acquire(bob, &twice[0], NULL, NULL, &err), err);
    expect(HF_INVALID, hf_session_acquire_all(alice, twice, 2, NULL, NULL, &err), err);
    expect_contains(err.message, "policy/1");
    expect(HF_OK, hf_session_holds(bob, &twice[0], 0, NULL, &err), err);
    hf_session_free(alice);
    hf_session_free(bob);
}

static void asking_for_nothing_is_invalid(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = manager_work(w, "alice", "Alice Chen");
    hf_resource policy = resource_of("policy/1");
    hf_result *result = NULL;
    expect(HF_INVALID, hf_session_acquire_all(alice, &policy, 0, NULL, &result, &err), err);
    expect(HF_INVALID, hf_session_acquire_all(alice, NULL, 0, NULL, NULL, &err), err);
    expect(HF_INVALID, hf_manager_lookup(fixture_manager(w), &policy, 0, &result, &err), err);
    expect(HF_INVALID, hf_manager_lookup(fixture_manager(w), NULL, 0, &result, &err), err);
    expect_true(result == NULL);
    hf_session_free(alice);
}

static const suite_test manager_tests[] = {
    TEST(a_session_is_opened_and_described),
    TEST(every_session_gets_an_id_and_a_key_of_its_own),
    TEST(bad_session_options_are_refused),
    TEST(a_session_opened_elsewhere_is_attached_by_id_and_key),
    TEST(a_refused_acquire_names_the_holder_in_the_error),
    TEST(several_are_acquired_all_or_none_and_answered_in_the_order_given),
    TEST(of_several_the_first_blocked_in_canonical_order_is_named),
    TEST(a_set_with_a_duplicate_or_too_many_is_refused),
    TEST(a_lock_is_renewed_downgraded_checked_and_released),
    TEST(release_all_says_how_many),
    TEST(closing_a_session_releases_and_is_idempotent),
    TEST(a_session_replaces_another_by_its_id_and_key),
    TEST(a_beat_answers_what_the_store_says),
    TEST(a_lock_is_handed_over_to_another_session),
    TEST(a_request_is_declined_and_the_handle_goes_on),
    TEST(who_and_look_up_answer_in_the_order_asked),
    TEST(lists_are_paged_and_filtered),
    TEST(types_are_set_read_and_listed),
    TEST(events_are_read_and_the_dead_are_swept),
    TEST(a_forced_release_needs_reason_and_holder),
    TEST(a_set_with_a_duplicate_is_invalid_also_when_someone_else_holds_it),
    TEST(asking_for_nothing_is_invalid),
};
THEME(manager);
