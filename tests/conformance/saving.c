/* SPDX-License-Identifier: MIT */
/* The easy calls that save and look at versions, over every store: what they ask for, and what they
 * say came of it. The law of versions is tested with batches, in versions.c. */
#include "suite.h"

#define BY_USER(name) (&(hf_save_options){.user = (name)})

static hf_session *saver(fixture *w, const char *user, const char *name)
{
    hf_error err = {0};
    hf_session *session = NULL;
    hf_session_options options = {.user = user, .name = name, .idle_us = HOUR};
    expect(HF_OK, hf_session_open(fixture_manager(w), &options, &session, &err), err);
    keep_secret(w, hf_session_credentials(session));
    return session;
}

/* version 0: it was absent. */
static hf_save saving(const char *name, int64_t version)
{
    return (hf_save){.resource = resource_of(name), .version = version, .absent = version == 0};
}

static hf_premise relying(const char *name, int64_t version)
{
    return (hf_premise){.resource = resource_of(name), .version = version, .absent = version == 0};
}

static void a_user_saves_and_the_version_is_looked_at(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_resource policy = resource_of("policy/1"), other = resource_of("policy/2");
    hf_save first = saving("policy/1", 0), late = saving("policy/1", 7);
    hf_version now = {.number = 99};
    expect(HF_NOT_FOUND, hf_manager_version(manager, &policy, &now, &err), err);
    expect_int(now.number, 99);
    expect(HF_STALE, hf_manager_save(manager, &late, BY_USER("alice"), &now, &err), err);
    expect_int(now.number, 0);
    expect_text(now.resource.id, "1");
    hf_save_options alice = {.user = "alice", .name = "Alice Chen", .reason = "typo"};
    news_skip(w);
    expect(HF_OK, hf_manager_save(manager, &first, &alice, &now, &err), err);
    expect_int(now.number, 1);
    expect_text(now.name, "Alice Chen");
    expect_text(news(w, 1)->reason, "typo");
    expect(HF_STALE, hf_manager_save(manager, &late, BY_USER("bob"), &now, &err), err);
    expect_int(now.number, 1);
    expect_text(now.user, "alice");
    expect_text(err.resource, "policy/1");
    expect_contains(err.message, "you read version 7, it is now 1");
    expect(HF_OK, hf_manager_version(manager, &policy, &now, &err), err);
    expect_int(now.number, 1);
    hf_resource both[] = {other, policy};
    hf_result *result = NULL;
    expect(HF_OK, hf_manager_versions(manager, both, 2, &result, &err), err);
    expect_int(hf_result_count(result), 2);
    expect_int(hf_result_at(result, 0)->status, HF_NOT_FOUND);
    expect_int(hf_result_at(result, 1)->versions[0].number, 1);
    hf_result_free(result);
    hf_save gone = {.resource = policy, .version = 1, .gone = true};
    expect(HF_OK, hf_manager_save(manager, &gone, BY_USER("bob"), NULL, &err), err);
    expect(HF_OK, hf_manager_version(manager, &policy, &now, &err), err);
    expect_true(now.gone && now.number == 2);
}

static void a_session_saves_what_it_holds(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = saver(w, "alice", "Alice Chen"), *bob = saver(w, "bob", "Bob Smith");
    hf_save policy = {.resource = resource_of("policy/1")};
    hf_lock lock;
    hf_version now = {0};
    expect(HF_INVALID, hf_session_save(alice, &policy, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &policy.resource, NULL, &lock, &err), err);
    expect(HF_LOCKED, hf_session_save(bob, &policy, NULL, &now, &err), err);
    expect_text(err.holder.name, "Alice Chen");
    expect_int(now.number, 0);
    policy.fence = lock.fence + 1;
    expect(HF_NOT_HELD, hf_session_save(alice, &policy, NULL, NULL, &err), err);
    policy.fence = lock.fence;
    expect(HF_OK, hf_session_save(alice, &policy, &(hf_save_options){.reason = "why"}, &now, &err),
           err);
    expect_int(now.number, 1);
    expect_text(now.session, hf_session_id(alice));
    expect_true(hf_session_is_held(alice, &policy.resource));
    expect(HF_OK, hf_session_close(alice, &err), err);
    expect(HF_EXPIRED, hf_session_save(alice, &policy, NULL, NULL, &err), err);
    hf_session_free(alice);
    hf_session_free(bob);
}

/* P9 */
static void of_a_refused_set_every_conflict_is_told(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_session *carol = saver(w, "carol", "Carol Jones");
    const char *const names[] = {"bill/1", "bill/2", "tax/DE", "address/1"};
    for (size_t i = 0; i < 4; i++) {
        hf_save it = saving(names[i], 0);
        expect(HF_OK, hf_manager_save(manager, &it, BY_USER("alice"), NULL, &err), err);
    }
    hf_save saves[] = {saving("bill/2", 1), saving("bill/1", 7), saving("bill/3", 0)};
    hf_premise premises[] = {relying("tax/DE", 7), relying("address/1", 0),
                             relying("address/2", 0)};
    hf_set set = {saves, 3, premises, 3};
    static const hf_status expected[] = {HF_NOT_APPLIED, HF_STALE, HF_NOT_APPLIED,
                                         HF_STALE,       HF_STALE, HF_NOT_APPLIED};
    char *before = snapshot(w);
    hf_result *result = NULL;
    expect(HF_STALE, hf_manager_save_all(manager, &set, BY_USER("bob"), &result, &err), err);
    expect_text(err.resource, "bill/1");
    expect_int(hf_result_count(result), 6);
    for (size_t i = 0; i < 6; i++)
        expect_int(hf_result_at(result, i)->status, expected[i]);
    expect_contains(hf_result_at(result, 3)->message, "tax/DE was changed by alice");
    expect_int(hf_result_at(result, 3)->versions[0].number, 1);
    expect_contains(hf_result_at(result, 4)->message, "address/1 is there already");
    expect_true(hf_result_at(result, 6) == NULL);
    hf_result_free(result);
    unchanged(w, before);
    /* Whatever else is in the way. */
    expect(HF_OK, hf_session_acquire(carol, &saves[0].resource, NULL, NULL, &err), err);
    expect(HF_LOCKED, hf_manager_save_all(manager, &set, BY_USER("bob"), &result, &err), err);
    expect_text(err.holder.name, "Carol Jones");
    expect_int(hf_result_at(result, 0)->status, HF_LOCKED);
    expect_int(hf_result_at(result, 1)->status, HF_STALE);
    hf_result_free(result);
    hf_session_free(carol);
}

static void a_set_is_saved_whole_and_answered_in_the_order_given(fixture *w)
{
    hf_error err = {0};
    hf_session *alice = saver(w, "alice", "Alice Chen");
    hf_save tax = saving("tax/DE", 0), held = {.resource = resource_of("bill/9")};
    expect(HF_OK, hf_session_save(alice, &tax, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(alice, &held.resource, NULL, NULL, &err), err);
    hf_save saves[] = {held, saving("bill/1", 0)};
    hf_premise premises[] = {relying("tax/DE", 1)};
    hf_set set = {saves, 2, premises, 1}, question = {NULL, 0, premises, 1};
    hf_result *result = NULL;
    expect(HF_OK, hf_session_save_all(alice, &set, NULL, &result, &err), err);
    expect_int(hf_result_count(result), 3);
    expect_text(hf_result_at(result, 0)->versions[0].resource.id, "9");
    expect_text(hf_result_at(result, 1)->versions[0].resource.id, "1");
    expect_int(hf_result_at(result, 2)->versions[0].number, 1);
    hf_result_free(result);
    /* Without saves it is a question, and nobody need be named. */
    expect(HF_OK, hf_manager_save_all(fixture_manager(w), &question, NULL, NULL, &err), err);
    premises[0].version = 2;
    expect(HF_STALE, hf_manager_save_all(fixture_manager(w), &question, NULL, NULL, &err), err);
    hf_session_free(alice);
}

static void a_set_that_makes_no_sense_is_refused(fixture *w)
{
    hf_error err = {0};
    hf_manager *manager = fixture_manager(w);
    hf_session *alice = saver(w, "alice", "Alice Chen");
    hf_save twice[] = {saving("bill/1", 0), saving("bill/1", 0)}, negative = saving("bill/1", -1),
            both = {.resource = resource_of("bill/1"), .version = 1, .absent = true};
    hf_premise same = relying("bill/1", 0), nothing = {.resource = resource_of("tax/DE")};
    static hf_premise many[HF_SET_MAX + 1];
    const struct {
        hf_set set;
        hf_status status;
        const char *part;
    } bad[] = {
        {{NULL, 0, NULL, 0}, HF_INVALID, "at least one"},
        {{twice, 2, NULL, 0}, HF_INVALID, "bill/1 is named twice"},
        {{twice, 1, &same, 1}, HF_INVALID, "bill/1 is named twice"},
        {{twice, 1, &nothing, 1}, HF_INVALID, "Nothing says what tax/DE was"},
        {{&negative, 1, NULL, 0}, HF_INVALID, "negative"},
        {{&both, 1, NULL, 0}, HF_INVALID, "absent too"},
        {{twice, 1, many, HF_SET_MAX}, HF_TOO_LARGE, "at most 512"},
        {{twice, 1, many, SIZE_MAX}, HF_TOO_LARGE, "at most 512"},
    };
    char *before = snapshot(w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hf_result *result = NULL;
        hf_status status = hf_manager_save_all(manager, &bad[i].set, BY_USER("bob"), &result, &err);
        expect(bad[i].status, status, err);
        expect_contains(err.message, bad[i].part);
        hf_result_free(result);
    }
    hf_save good = saving("bill/1", 0);
    expect(HF_INVALID, hf_manager_save(manager, &good, NULL, NULL, &err), err);
    expect(HF_INVALID, hf_manager_save(manager, NULL, BY_USER("bob"), NULL, &err), err);
    expect(HF_INVALID, hf_session_save(alice, &good, BY_USER("bob"), NULL, &err), err);
    expect(HF_INVALID, hf_manager_version(manager, &(hf_resource){"Bad", "1"}, NULL, &err), err);
    expect(HF_INVALID, hf_manager_version(manager, NULL, NULL, &err), err);
    unchanged(w, before);
    hf_session_free(alice);
}

static void an_acquire_tells_the_version_in_json(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    static const struct {
        const char *id, *part;
    } taken[] = {{"1", "\"name\":\"Alice Chen\",\"version\":1}"},
                 {"1", "\"name\":\"Alice Chen\",\"version\":2,\"gone\":true}"},
                 {"2", "\"name\":\"Alice Chen\"}"}};
    done(w, SAVE, .user = "bob", ON("policy", "1"), .absent = true);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", taken[i].id));
        char *one = hf_acquired_json(got), *all = hf_locks_json(got);
        expect_contains(one, taken[i].part);
        expect_contains(all, taken[i].part);
        hf_json_free(one);
        hf_json_free(all);
        if (i == 0)
            done(w, SAVE, BY(alice), ON("policy", "1"), .version = 1, .gone = true);
    }
}

static const suite_test saving_tests[] = {
    TEST(a_user_saves_and_the_version_is_looked_at),
    TEST(a_session_saves_what_it_holds),
    TEST(of_a_refused_set_every_conflict_is_told),
    TEST(a_set_is_saved_whole_and_answered_in_the_order_given),
    TEST(a_set_that_makes_no_sense_is_refused),
    TEST(an_acquire_tells_the_version_in_json),
};
THEME(saving);
