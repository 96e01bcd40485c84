/* SPDX-License-Identifier: MIT */
/* Notes of refusals: what stands in the audit log, that it is bounded, that what was left out is
 * told, and that nobody waits for it. */
#include "unit/server/authenticate_desk.h"

#include <holdfast/holdfast.h>
#include <server/access/denials.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>

static const hf_error denied = {.status = HF_DENIED,
                                .message = "The token 'kiosk' has no role 'use'."};
static const hf_error unknown = {.status = HF_UNAUTHENTICATED, .message = "Say who is calling."};
static const caller nobody;

typedef struct scene {
    desk desk;
    denials *denials;
} scene;

static void notes_scene_open(scene *s)
{
    hf_error err = {0};
    desk_open(&s->desk, (authenticator_settings){0});
    expect(HF_OK, denials_new(s->desk.jobs, &s->denials, &err), err);
}

static void notes_scene_close(scene *s)
{
    committer_stop(s->desk.committer);
    jobs_drain(s->desk.jobs);
    denials_free(s->denials);
    desk_close(&s->desk);
}

static const hf_answer *notes_events(scene *s)
{
    desk_settle(&s->desk);
    return store_ask(&s->desk, &(hf_op){.kind = HF_OP_EVENTS, .limit = HF_LIST_MAX});
}

static void a_refusal_is_noted_with_all_it_names(void **state)
{
    (void)state;
    scene s;
    notes_scene_open(&s);
    hf_token_key key = make_token(&s.desk, "kiosk", "observe", NULL, 0);
    hf_credentials alice = open_session(&s.desk, "alice", NULL);
    size_t before = notes_events(&s)->events_count;
    visit *v = visit_now(&s.desk, key.secret, &alice);
    hf_op op = {.kind = HF_OP_ACQUIRE, .session = &alice, .type = "policy", .id = "a/b"};
    hf_error err;
    expect(HF_DENIED, authorize_op(&v->who, &op, &err), err);
    denials_record(s.denials, &v->who, "10.0.0.7", &op, &err);
    denials_record(s.denials, &nobody, "10.0.0.8", NULL, &unknown);
    const hf_answer *all = notes_events(&s);
    expect_int(all->events_count, before + 2);
    const hf_event *event = &all->events[before];
    expect_int(event->kind, HF_EVENT_DENIED);
    expect_text(event->actor, "kiosk");
    expect_text(event->user, "alice");
    expect_text(event->resource.type, "policy");
    expect_text(event->resource.id, "a/b");
    expect_contains(event->reason,
                    "from 10.0.0.7: The token 'kiosk' has no role 'use' for type 'policy'");
    expect_lacks(event->reason, key.secret);
    expect_int(event[1].kind, HF_EVENT_UNAUTHENTICATED);
    expect_text(event[1].actor, "");
    expect_text(event[1].reason, "from 10.0.0.8: Say who is calling.");
    denials_stats stats;
    denials_stats_read(s.denials, &stats);
    expect_int(stats.written, 2);
    visit_free(v);
    notes_scene_close(&s);
}

static void other_refusals_are_not_noted(void **state)
{
    (void)state;
    scene s;
    notes_scene_open(&s);
    for (int status = 0; status < HF_STATUS_COUNT; status++)
        if (status != HF_DENIED && status != HF_UNAUTHENTICATED)
            denials_record(s.denials, &nobody, "unix", NULL,
                           &(hf_error){.status = (hf_status)status, .message = "no"});
    expect_int(notes_events(&s)->events_count, 0);
    notes_scene_close(&s);
}

static void each_caller_has_a_few_a_minute_and_the_next_tells_what_was_left_out(void **state)
{
    (void)state;
    scene s;
    notes_scene_open(&s);
    for (int i = 0; i < DENIALS_CALLER_MAX + 25; i++)
        denials_record(s.denials, &nobody, "10.0.0.7", NULL, &unknown);
    expect_int(notes_events(&s)->events_count, DENIALS_CALLER_MAX);
    denials_record(s.denials, &nobody, "10.0.0.8", NULL, &unknown); /* another one */
    expect_int(notes_events(&s)->events_count, DENIALS_CALLER_MAX + 1);
    clock_forward(60 * SECOND / DENIALS_CALLER_MAX);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &unknown);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &unknown);
    const hf_answer *all = notes_events(&s);
    expect_int(all->events_count, DENIALS_CALLER_MAX + 2);
    expect_contains(all->events[DENIALS_CALLER_MAX + 1].reason, "(25 more of this caller");
    expect_contains(all->events[DENIALS_CALLER_MAX + 1].reason, "Say who is calling.");
    clock_forward(60 * SECOND);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &unknown);
    all = notes_events(&s);
    expect_contains(all->events[all->events_count - 1].reason, "(1 more of this caller");
    denials_stats stats;
    denials_stats_read(s.denials, &stats);
    expect_int(stats.left_out, 26);
    notes_scene_close(&s);
}

static void what_a_stranger_claims_does_not_use_up_the_notes_of_others(void **state)
{
    (void)state;
    scene s;
    notes_scene_open(&s);
    hf_credentials alice = open_session(&s.desk, "alice", NULL), liar, other;
    hf_error err;
    expect(HF_OK, hf_credentials_new(NULL, &other, &err), err);
    expect(HF_OK, hf_credentials_set(&liar, alice.id, other.key, &err), err);
    visit *bad = visit_now(&s.desk, NULL, &liar), *good = visit_now(&s.desk, NULL, &alice);
    size_t before = notes_events(&s)->events_count;
    for (int i = 0; i < 100; i++)
        denials_record(s.denials, &bad->who, "10.0.0.66", NULL, &denied);
    for (int i = 0; i < DENIALS_CALLER_MAX; i++)
        denials_record(s.denials, &good->who, "10.0.0.7", NULL, &denied);
    const hf_answer *all = notes_events(&s);
    expect_int(all->events_count, before + 2 * DENIALS_CALLER_MAX);
    expect_text(all->events[before].user, "");
    expect_text(all->events[all->events_count - 1].user, "alice");
    visit_free(bad);
    visit_free(good);
    notes_scene_close(&s);
}

static void all_callers_together_are_bounded_too(void **state)
{
    (void)state;
    scene s;
    notes_scene_open(&s);
    char peer[32];
    for (int i = 0; i < DENIALS_AT_ONCE + 10; i++) { /* nothing is finished before the loop runs */
        snprintf(peer, sizeof peer, "10.1.0.%d", i);
        denials_record(s.denials, &nobody, peer, NULL, &unknown);
    }
    expect_int(notes_events(&s)->events_count, DENIALS_AT_ONCE);
    for (int i = 0; i < 2 * DENIALS_ALL_MAX; i++) {
        snprintf(peer, sizeof peer, "10.2.%d.%d", i / 250, i % 250);
        denials_record(s.denials, &nobody, peer, NULL, &unknown);
        if (i % 50 == 0)
            desk_settle(&s.desk);
    }
    expect_int(notes_events(&s)->events_count, DENIALS_ALL_MAX);
    clock_forward(SECOND);
    denials_record(s.denials, &nobody, "10.3.0.1", NULL, &unknown);
    const hf_answer *all = notes_events(&s);
    expect_contains(all->events[all->events_count - 1].reason, "of others are not noted");
    notes_scene_close(&s);
}

static void names_that_are_none_do_not_keep_a_note_out(void **state)
{
    (void)state;
    scene s;
    notes_scene_open(&s);
    char *long_text = malloc(5000);
    memset(long_text, 'x', 4999);
    long_text[4999] = '\0';
    const hf_op odd[] = {
        {.kind = HF_OP_WHO, .type = "Not A Type", .id = "1"},
        {.kind = HF_OP_WHO, .type = "policy", .id = "a\nb"},
        {.kind = HF_OP_WHO, .type = "policy", .id = ""},
        {.kind = HF_OP_LIST, .type = "policy"},
        {.kind = HF_OP_WHO, .type = long_text, .id = long_text},
        {.kind = HF_OP_WHO, .type = "policy", .id = long_text},
        {.kind = HF_OP_SESSION_OPEN, .user = long_text},
        {.kind = HF_OP_SESSION_OPEN, .user = "\xff\x01"},
    };
    enum { ODD = sizeof odd / sizeof *odd };
    for (size_t i = 0; i < ODD; i++)
        denials_record(s.denials, &nobody, "10.0.0.7", &odd[i], &denied);
    hf_error broken = {.status = HF_DENIED};
    memset(broken.message, 0xc3, 600);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &broken);
    memset(broken.message, '\n', 10);
    snprintf(broken.message + 10, 900, "%.850s\xc3\xa9", long_text);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &broken);
    const hf_answer *all = notes_events(&s);
    expect_int(all->events_count, ODD + 2);
    expect_text(all->events[3].resource.type, "policy");
    expect_text(all->events[3].resource.id, "");
    expect_text(all->events[0].resource.type, "");
    expect_true(strlen(all->events[ODD].reason) > 200);
    free(long_text);
    notes_scene_close(&s);
}

static void when_the_store_is_away_it_is_counted_and_nobody_waits(void **state)
{
    (void)state;
    scene s;
    denials_stats stats;
    notes_scene_open(&s);
    hf_fault_arm(s.desk.fault, 1, false);
    hf_fault_more(s.desk.fault, 100);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &unknown);
    desk_settle(&s.desk);
    hf_fault_arm(s.desk.fault, 0, false);
    denials_stats_read(s.denials, &stats);
    expect_int(stats.failed, 1);
    committer_stop(s.desk.committer);
    denials_record(s.denials, &nobody, "10.0.0.7", NULL, &unknown);
    denials_stats_read(s.denials, &stats);
    expect_int(stats.left_out, 1);
    notes_scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_is_noted_with_all_it_names),
        cmocka_unit_test(other_refusals_are_not_noted),
        cmocka_unit_test(each_caller_has_a_few_a_minute_and_the_next_tells_what_was_left_out),
        cmocka_unit_test(what_a_stranger_claims_does_not_use_up_the_notes_of_others),
        cmocka_unit_test(all_callers_together_are_bounded_too),
        cmocka_unit_test(names_that_are_none_do_not_keep_a_note_out),
        cmocka_unit_test(when_the_store_is_away_it_is_counted_and_nobody_waits),
    };
    return cmocka_run_group_tests_name("notes", tests, NULL, NULL);
}
