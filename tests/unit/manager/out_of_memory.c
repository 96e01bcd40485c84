/* SPDX-License-Identifier: MIT */
/* Every allocation fails in turn, in every call, over the memory and the SQLite store: the call
 * answers no_memory and nothing was done, or it succeeds and all was done; nothing leaks (the
 * address sanitizer looks); and the same call works afterwards. With HF_TEST_LONG every allocation
 * inside SQLite fails too, otherwise a part of them. */
#include <base/seams.h>
#include <stdlib.h>
#include <string.h>
#include <support/fixture.h>
#include <support/out_of_memory.h>

/* A world with a manager, two sessions and some locks; the same every time. */
typedef struct scene {
    fixture *w;
    hf_session *alice, *bob, *fresh;
    hf_result *result;
    bool more; /* the last sweep said so */
    hf_token_key key;
    hf_resource held, shared, theirs, set[3];
} scene;

static unsigned drawn;

/* Randomness that is the same every time. */
static bool random_by_test(void *out, size_t size)
{
    memset(out, (int)(0x11 + ++drawn % 0xee), size);
    return true;
}

static hf_session *out_of_memory_work(scene *s, const char *user)
{
    hf_error err = {0};
    hf_session *session = NULL;
    hf_session_options options = {.user = user, .idle_us = HOUR};
    expect(HF_OK, hf_session_open(fixture_manager(s->w), &options, &session, &err), err);
    return session;
}

static void out_of_memory_take(hf_session *session, const hf_resource *resource, hf_mode mode)
{
    hf_error err = {0};
    hf_acquire_options options = {.mode = mode, .ttl_us = 10 * MINUTE, .purpose = "renewal"};
    expect(HF_OK, hf_session_acquire(session, resource, &options, NULL, &err), err);
}

static void heard_nothing(void *context, const hf_notice *notice)
{
    (void)context, (void)notice;
}

/* long: sets the whole scene in one go. */
static void out_of_memory_scene_open(scene *s, const test_store *at)
{
    hf_error err = {0};
    memset(s, 0, sizeof *s);
    drawn = 0;
    hf_seam.random = random_by_test;
    s->w = fixture_open(at);
    s->alice = out_of_memory_work(s, "alice");
    s->bob = out_of_memory_work(s, "bob");
    s->held = resource_of("policy/held");
    s->shared = resource_of("policy/shared");
    s->theirs = resource_of("policy/theirs");
    s->set[0] = resource_of("policy/c");
    s->set[1] = resource_of("policy/a");
    s->set[2] = resource_of("policy/b");
    out_of_memory_take(s->alice, &s->held, HF_EXCLUSIVE);
    out_of_memory_take(s->alice, &s->shared, HF_SHARED);
    out_of_memory_take(s->bob, &s->theirs, HF_EXCLUSIVE);
    hf_resource lost = resource_of("policy/lost");
    out_of_memory_take(s->alice, &lost, HF_EXCLUSIVE);
    hf_manager *manager = fixture_manager(s->w);
    expect(HF_OK, hf_manager_force_release(manager, &lost, "root", "why", 0, NULL, &err), err);
    expect(HF_OK, hf_session_request(s->bob, &s->held, "please", &err), err);
    expect(HF_OK, hf_manager_listen(manager, heard_nothing, NULL, &err), err);
    hf_type type = {.type = "claim", .policy = HF_POLICY_READ_WRITE, .ttl_us = MINUTE};
    expect(HF_OK, hf_manager_type_set(manager, &type, "root", &err), err);
    hf_token_options token = {.name = "billing", .roles = "use", .ttl_us = DAY};
    expect(HF_OK, hf_manager_token_create(manager, &token, &s->key, NULL, &err), err);
    clock_forward(s->w, SECOND);
}

static void out_of_memory_scene_close(scene *s)
{
    hf_result_free(s->result);
    hf_session_free(s->fresh);
    hf_session_free(s->alice);
    hf_session_free(s->bob);
    fixture_close(s->w);
}

/* ---- the calls ---- */

#define CALL(name) static hf_status call_##name(scene *s, hf_error *err)
#define M          fixture_manager(s->w)

CALL(session_open)
{
    hf_session_options options = {
        .user = "carol", .name = "Carol Jones", .key = "00112233445566778899aabbccddeeff"};
    return hf_session_open(M, &options, &s->fresh, err);
}

CALL(session_replace)
{
    char old[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(old, sizeof old, "%s.%s", hf_session_id(s->alice),
             hf_session_credentials(s->alice)->key);
    hf_session_options options = {.user = "alice", .replaces = old, .request_id = "open-1"};
    options.key = "00112233445566778899aabbccddeeff";
    return hf_session_open(M, &options, &s->fresh, err);
}

CALL(session_attach)
{
    char text[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(text, sizeof text, "%s.%s", hf_session_id(s->bob),
             hf_session_credentials(s->bob)->key);
    return hf_session_attach(M, text, &s->fresh, err);
}

CALL(beat)
{
    return hf_session_beat(s->alice, &s->result, err);
}

CALL(close)
{
    return hf_session_close(s->alice, err);
}

CALL(acquire)
{
    hf_acquire_options options = {.purpose = "renewal", .ttl_us = MINUTE, .request_id = "r1"};
    return hf_session_acquire(s->alice, &s->set[0], &options, NULL, err);
}

CALL(upgrade)
{
    return hf_session_acquire(s->alice, &s->shared, NULL, NULL, err);
}

CALL(acquire_all)
{
    return hf_session_acquire_all(s->alice, s->set, 3, NULL, &s->result, err);
}

CALL(renew)
{
    return hf_session_renew(s->alice, &s->held, MINUTE, NULL, NULL, err);
}

CALL(downgrade)
{
    return hf_session_downgrade(s->alice, &s->held, NULL, err);
}

CALL(release)
{
    return hf_session_release(s->alice, &s->held, 0, err);
}

CALL(release_all)
{
    return hf_session_release_all(s->alice, NULL, err);
}

CALL(holds)
{
    return hf_session_holds(s->alice, &s->held, 0, NULL, err);
}

CALL(request)
{
    return hf_session_request(s->alice, &s->theirs, "please", err);
}

CALL(hand_over)
{
    return hf_session_hand_over(s->alice, &s->held, hf_session_id(s->bob), NULL, err);
}

CALL(decline)
{
    return hf_session_decline(s->alice, &s->held, hf_session_id(s->bob), "no", err);
}

CALL(force_release)
{
    return hf_manager_force_release(M, &s->held, "root", "why", 0, &s->result, err);
}

CALL(who)
{
    return hf_manager_who(M, &s->held, &s->result, err);
}

CALL(lookup)
{
    return hf_manager_lookup(M, s->set, 3, &s->result, err);
}

CALL(list)
{
    hf_list_options options = {.type = "policy", .user = "alice", .limit = 1};
    return hf_manager_list(M, &options, &s->result, err);
}

CALL(sessions)
{
    return hf_manager_sessions(M, NULL, &s->result, err);
}

/* What no call of the manager asks. */
static hf_status out_of_memory_ask(scene *s, const hf_op *op, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(1, &batch, err);
    if (status != HF_OK)
        return status;
    *hf_batch_add(batch, op->kind) = *op;
    status = hf_store_execute(s->w->store, batch, err);
    if (status == HF_OK)
        status = hf_batch_op(batch, 0)->answer.status;
    hf_batch_free(batch);
    return status;
}

CALL(session_find)
{
    return out_of_memory_ask(
        s, &(hf_op){.kind = HF_OP_SESSION_FIND, .session = hf_session_credentials(s->alice)}, err);
}

CALL(count)
{
    return out_of_memory_ask(s, &(hf_op){.kind = HF_OP_COUNT}, err);
}

CALL(type_set)
{
    hf_type type = {.type = "policy2", .policy = HF_POLICY_READ_WRITE, .ttl_us = MINUTE};
    return hf_manager_type_set(M, &type, "root", err);
}

CALL(type_get)
{
    hf_type got;
    return hf_manager_type_get(M, "claim", &got, err);
}

CALL(types)
{
    return hf_manager_types(M, &s->result, err);
}

CALL(token_create)
{
    hf_token_options token = {
        .name = "reports", .roles = "observe:policy", .users = "r*", .actor = "root"};
    return hf_manager_token_create(M, &token, &(hf_token_key){0}, NULL, err);
}

CALL(token_find)
{
    return hf_manager_token_find(M, s->key.secret, NULL, NULL, err);
}

CALL(tokens)
{
    return hf_manager_tokens(M, NULL, &s->result, err);
}

CALL(token_revoke)
{
    return hf_manager_token_revoke(M, s->key.id, "root", NULL, err);
}

CALL(events)
{
    return hf_manager_events(M, 0, 0, &s->result, err);
}

CALL(sweep)
{
    return hf_manager_sweep(M, 0, NULL, &s->more, err);
}

CALL(poll)
{
    return hf_manager_poll(M, NULL, err);
}

/* A refusal needs memory too: to say who stands in the way. */
CALL(refused)
{
    hf_status status = hf_session_acquire(s->alice, &s->theirs, NULL, NULL, err);
    return status == HF_LOCKED ? HF_OK : status == HF_OK ? HF_INTERNAL : status;
}

CALL(refused_run)
{
    hf_resource set[] = {s->set[0], s->theirs};
    hf_status status = hf_session_acquire_all(s->alice, set, 2, NULL, NULL, err);
    return status == HF_LOCKED ? HF_OK : status == HF_OK ? HF_INTERNAL : status;
}

CALL(save)
{
    hf_save it = {.resource = s->held};
    return hf_session_save(s->alice, &it, NULL, NULL, err);
}

CALL(version)
{
    return hf_manager_versions(M, s->set, 3, &s->result, err);
}

/* Every conflict is told. */
CALL(refused_set)
{
    hf_save saves[] = {{.resource = s->set[0], .absent = true},
                       {.resource = s->set[1], .version = 3}};
    hf_premise premises[] = {{.resource = s->set[2], .version = 7}};
    hf_result_free(s->result);
    hf_status status = hf_manager_save_all(M, &(hf_set){saves, 2, premises, 1},
                                           &(hf_save_options){.user = "bob"}, &s->result, err);
    return status == HF_STALE ? HF_OK : status == HF_OK ? HF_INTERNAL : status;
}

typedef struct call {
    const char *name;
    hf_status (*make)(scene *s, hf_error *err);
    int64_t later_us; /* how long after the scene was set */
} call;

#define ROW(name, later)                                                                           \
    {                                                                                              \
#name, call_##name, later                                                                  \
    }

static const call calls[] = {
    ROW(session_open, 0),
    ROW(session_replace, 0),
    ROW(session_attach, 0),
    ROW(beat, 0),
    ROW(close, 0),
    ROW(acquire, 0),
    ROW(upgrade, 0),
    ROW(acquire_all, 0),
    ROW(renew, 0),
    ROW(downgrade, 0),
    ROW(release, 0),
    ROW(release_all, 0),
    ROW(holds, 0),
    ROW(request, 0),
    ROW(hand_over, 0),
    ROW(decline, 0),
    ROW(force_release, 0),
    ROW(who, 0),
    ROW(lookup, 0),
    ROW(list, 0),
    ROW(sessions, 0),
    ROW(session_find, 0),
    ROW(count, 0),
    ROW(type_set, 0),
    ROW(type_get, 0),
    ROW(types, 0),
    ROW(token_create, 0),
    ROW(token_find, 0),
    ROW(tokens, 0),
    ROW(token_revoke, 0),
    ROW(events, 0),
    ROW(sweep, 20 * MINUTE),
    {"late_sweep", call_sweep, 2 * DAY},
    ROW(poll, 0),
    ROW(refused, 0),
    ROW(refused_run, 0),
    ROW(save, 0),
    ROW(version, 0),
    ROW(refused_set, 0),
};

/* ---- making each of them fail ---- */

/* Makes the call with the same randomness every time, so that asking again asks for the same. */
static hf_status out_of_memory_make(const call *it, scene *s, hf_error *err)
{
    drawn = 100;
    return it->make(s, err);
}

/* What the store is like when nothing fails. */
static char *after_success(const test_store *at, const call *it)
{
    scene s;
    hf_error err = {0};
    out_of_memory_scene_open(&s, at);
    clock_forward(s.w, it->later_us);
    expect(HF_OK, out_of_memory_make(it, &s, &err), err);
    char *dump = snapshot(s.w);
    out_of_memory_scene_close(&s);
    return dump;
}

static void check_dump(const char *what, const char *complaint, char *dump, const char *expected)
{
    bool same = strcmp(dump, expected) == 0;
    if (!same)
        fprintf(stderr, "is:\n%sshould be:\n%s", dump, expected);
    free(dump);
    if (!same)
        check_failed(__FILE__, __LINE__, "%s %s", what, complaint);
}

/* Whose allocations fail, where; each call is a test of its own for each row. */
typedef struct shortage {
    const char *name;
    const test_store *at;
    out_of_memory_of whose;
    unsigned step; /* every how many allocations */
} shortage;

/* One call with its n-th allocation failing. False: there was no n-th. */
static bool fails_at(const shortage *of, const call *it, const char *after, unsigned n,
                     bool lasting)
{
    scene s;
    hf_error err = {0};
    char what[128];
    out_of_memory_scene_open(&s, of->at);
    clock_forward(s.w, it->later_us);
    char *before = snapshot(s.w);
    out_of_memory_begin(of->whose, n, lasting);
    hf_status status = out_of_memory_make(it, &s, &err);
    bool failed = out_of_memory_end();
    snprintf(what, sizeof what, "%s, with allocation %u%s failing,", it->name, n,
             lasting ? " and all after it" : "");
    if (status != HF_OK)
        check_status(HF_NO_MEMORY, status, err.message, what, __FILE__, __LINE__);
    else if (s.more) /* a sweep that was cut short has said that there is more to do */
        check_status(HF_OK, out_of_memory_make(it, &s, &err), err.message, what, __FILE__,
                     __LINE__);
    check_dump(what, status == HF_OK ? "is not all done" : "did something all the same",
               snapshot(s.w), status == HF_OK ? after : before);
    free(before);
    if (status != HF_OK) {
        status = out_of_memory_make(it, &s, &err);
        snprintf(what, sizeof what, "%s, after allocation %u had failed,", it->name, n);
        check_status(HF_OK, status, err.message, what, __FILE__, __LINE__);
        check_dump(what, "came to something else", snapshot(s.w), after);
    }
    out_of_memory_scene_close(&s);
    return failed;
}

/* What one cmocka test is about. */
typedef struct turn {
    const shortage *of;
    const call *it;
    char name[96];
} turn;

static void every_allocation_fails_in_turn_in_scarcity(void **state)
{
    const turn *t = *state;
    char *after = after_success(t->of->at, t->it);
    for (int lasting = 0; lasting < 2; lasting++)
        for (unsigned n = 1; fails_at(t->of, t->it, after, n, lasting); n += t->of->step)
            continue;
    free(after);
}

static const test_store *file_place(void)
{
    size_t count = 0;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count; i++)
        if (all[i].own_file)
            return &all[i];
    return NULL;
}

/* Opening and closing, without a scene. */
static void opening_fails_at_every_allocation(const test_store *at, out_of_memory_of whose)
{
    for (int lasting = 0; lasting < 2; lasting++)
        for (unsigned n = 1;; n++) {
            char url[HF_URL_MAX];
            hf_error err = {0};
            hf_manager *manager = NULL;
            test_store_url(at, url);
            out_of_memory_begin(whose, n, lasting);
            hf_status status = hf_manager_open(url, &manager, &err);
            bool failed = out_of_memory_end();
            if (status != HF_OK) {
                check_status(HF_NO_MEMORY, status, err.message, "opening", __FILE__, __LINE__);
                expect_true(manager == NULL);
                expect(HF_OK, hf_manager_open(url, &manager, &err), err);
            }
            hf_result *result = NULL;
            expect(HF_OK, hf_manager_list(manager, NULL, &result, &err), err);
            expect_int(hf_result_answer(result)->locks_count, 0);
            hf_result_free(result);
            hf_manager_close(manager);
            test_store_discard(at, url);
            if (!failed)
                break;
        }
}

static void opening_a_store_fails_cleanly(void **state)
{
    (void)state;
    test_store memory = test_store_memory();
    opening_fails_at_every_allocation(&memory, OF_LIBRARY);
    if (file_place())
        opening_fails_at_every_allocation(file_place(), OF_LIBRARY);
}

int main(void)
{
    out_of_memory_hook_sqlite();
    static test_store memory;
    memory = test_store_memory();
    const shortage shortages[] = {
        {"memory", &memory, OF_LIBRARY, 1},
        {"sqlite", file_place(), OF_LIBRARY, 1},
        {"inside sqlite", file_place(), OF_SQLITE, getenv("HF_TEST_LONG") ? 1 : 47},
    };
    enum { SHORTAGES = sizeof shortages / sizeof *shortages, CALLS = sizeof calls / sizeof *calls };
    static turn turns[SHORTAGES * CALLS];
    struct CMUnitTest tests[SHORTAGES * CALLS + 1];
    size_t count = 0;
    for (size_t s = 0; s < SHORTAGES; s++)
        for (size_t i = 0; shortages[s].at && i < CALLS; i++, count++) {
            turns[count] = (turn){.of = &shortages[s], .it = &calls[i]};
            snprintf(turns[count].name, sizeof turns[count].name,
                     "%s: every_allocation_of_%s_fails_in_turn", shortages[s].name, calls[i].name);
            tests[count] =
                (struct CMUnitTest){turns[count].name, every_allocation_fails_in_turn_in_scarcity,
                                    NULL, NULL, &turns[count]};
        }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(opening_a_store_fails_cleanly);
    return _cmocka_run_group_tests("scarcity", tests, count, NULL, NULL);
}
