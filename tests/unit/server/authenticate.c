/* SPDX-License-Identifier: MIT */
/* Callers: how long what is known is believed, what is asked of the store and how often, and that
 * whoever can't be known is refused. A1 to A6 stand in server/access/authenticate.h. */
#include "unit/server/authenticate_desk.h"

#include <base/error.h>
#include <base/seams.h>
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>

#define OPEN(d)                                                                                    \
    desk d;                                                                                        \
    (void)state;                                                                                   \
    desk_open(&(d), (authenticator_settings){0})

/* Who comes with that secret is told at once: */
static void known_at_once(desk *d, const char *secret, const char *name)
{
    visit *v = visit_begin(d, secret, NULL);
    expect_true(v->done);
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_true(v->who.token != NULL && v->who.flaw == NULL);
    expect_text(v->who.token->name, name);
    visit_free(v);
}

/* ... or after a look: */
static void refused_after_a_look(desk *d, const char *secret, const char *part)
{
    visit *v = visit_begin(d, secret, NULL);
    expect_true(!v->done);
    visit_wait(d, v);
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_true(v->who.token == NULL && v->who.flaw != NULL);
    expect_contains(v->who.flaw, part);
    expect_lacks(v->who.flaw, secret);
    visit_free(v);
}

static void known_after_a_look(desk *d, const char *secret, const char *name)
{
    visit *v = visit_begin(d, secret, NULL);
    expect_true(!v->done);
    visit_wait(d, v);
    expect_true(v->who.token != NULL);
    expect_text(v->who.token->name, name);
    visit_free(v);
}

/* A1 */
static void a_token_is_believed_for_half_a_second(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use:policy observe", "a*", 0);
    visit *v = visit_wait(&d, visit_begin(&d, key.secret, NULL));
    expect_text(v->who.token->id, key.id);
    expect_text(v->who.token->users, "a*");
    expect_true(hf_roles_allow(&v->who.token->roles, HF_ROLE_USE, "policy"));
    expect_true(!hf_roles_allow(&v->who.token->roles, HF_ROLE_USE, "claim"));
    visit_free(v);
    clock_forward(AUTHENTICATOR_FRESH_US / 2 - 1);
    for (int i = 0; i < 100; i++)
        known_at_once(&d, key.secret, "shop");
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 1);
    clock_forward(1 + AUTHENTICATOR_FRESH_US / 2);
    known_after_a_look(&d, key.secret, "shop");
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 2);
    desk_close(&d);
}

/* A1 */
static void a_token_in_use_is_asked_for_ahead(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    known_after_a_look(&d, key.secret, "shop");
    for (int i = 0; i < 20; i++) {
        clock_forward(AUTHENTICATOR_FRESH_US / 2);
        known_at_once(&d, key.secret, "shop"); /* and nobody ever waits again */
        known_at_once(&d, key.secret, "shop");
        desk_settle(&d);
        expect_int(asked(&d, HF_OP_TOKEN_FIND), i + 2);
    }
    desk_close(&d);
}

/* A1 */
static void what_was_revoked_elsewhere_is_refused_half_a_second_later(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    known_after_a_look(&d, key.secret, "shop");
    revoke_token(&d, key.id);
    clock_forward(AUTHENTICATOR_FRESH_US / 2 - 1);
    known_at_once(&d, key.secret, "shop");
    clock_forward(AUTHENTICATOR_FRESH_US / 2 + 1);
    refused_after_a_look(&d, key.secret, "The token 'shop' was revoked");
    visit *v = visit_begin(&d, key.secret, NULL); /* which is known now */
    expect_true(v->done && v->who.token == NULL);
    visit_free(v);
    desk_close(&d);
}

/* A1: sooner, when it is in use. */
static void what_was_revoked_elsewhere_is_refused_when_the_look_ahead_says_so(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    known_after_a_look(&d, key.secret, "shop");
    revoke_token(&d, key.id);
    clock_forward(AUTHENTICATOR_FRESH_US / 2);
    known_at_once(&d, key.secret, "shop");
    desk_settle(&d);
    visit *v = visit_begin(&d, key.secret, NULL);
    expect_true(v->done && v->who.token == NULL && v->who.flaw != NULL);
    visit_free(v);
    desk_close(&d);
}

static void what_was_revoked_here_is_refused_at_once(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    hf_credentials alice = open_session(&d, "alice", key.id);
    visit *v = visit_now(&d, key.secret, &alice);
    expect_true(v->who.token != NULL && v->who.known[0].token != NULL);
    visit_free(v);
    clock_forward(AUTHENTICATOR_FRESH_US / 2);
    known_at_once(&d, key.secret, "shop"); /* it is being asked for ahead, as it was before */
    revoke_token(&d, key.id);
    authenticator_forget_token(d.authenticator, key.id);
    refused_after_a_look(&d, key.secret, "revoked");
    v = visit_now(&d, NULL, &alice);
    expect_true(v->who.known[0].status == HF_OK && v->who.known[0].token == NULL);
    expect_text(v->who.known[0].opener, key.id);
    visit_free(v);
    desk_settle(&d);
    v = visit_begin(&d, key.secret, NULL);
    expect_true(v->done && v->who.token == NULL); /* what was under way changed nothing */
    visit_free(v);
    desk_close(&d);
}

static void a_token_ends_between_two_looks_when_its_time_has_come(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "brief", "use", NULL, 200 * MILLISECOND);
    known_after_a_look(&d, key.secret, "brief");
    clock_forward(200 * MILLISECOND - 1);
    known_at_once(&d, key.secret, "brief");
    clock_forward(1);
    visit *v = visit_begin(&d, key.secret, NULL);
    expect_true(v->done && v->who.token == NULL);
    expect_contains(v->who.flaw, "'brief' is past its end");
    visit_free(v);
    desk_close(&d);
}

/* A3 */
static void a_wrong_secret_is_remembered_for_a_moment(void **state)
{
    OPEN(d);
    hf_token_key key;
    hf_error err;
    expect(HF_OK, hf_token_new(&key, &err), err);
    refused_after_a_look(&d, key.secret, "not known here");
    for (int i = 0; i < 100; i++) {
        visit *v = visit_begin(&d, key.secret, NULL);
        expect_true(v->done && v->who.token == NULL && v->who.flaw != NULL);
        visit_free(v);
    }
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 1);
    hf_op create = {.kind = HF_OP_TOKEN_CREATE,
                    .token = key.id,
                    .sha256 = key.sha256,
                    .name = "n",
                    .roles = "use"};
    store_ask(&d, &create);
    clock_forward(AUTHENTICATOR_FRESH_US); /* it was made elsewhere */
    known_after_a_look(&d, key.secret, "n");
    desk_close(&d);
}

/* A3 */
static void a_token_that_is_made_here_works_at_once(void **state)
{
    OPEN(d);
    hf_token_key key;
    hf_error err;
    expect(HF_OK, hf_token_new(&key, &err), err);
    refused_after_a_look(&d, key.secret, "not known here");
    clock_forward(AUTHENTICATOR_FRESH_US);
    /* is being asked for, without success, when it is made */
    visit *early = visit_begin(&d, key.secret, NULL);
    hf_op create = {.kind = HF_OP_TOKEN_CREATE,
                    .token = key.id,
                    .sha256 = key.sha256,
                    .name = "n",
                    .roles = "use"};
    store_ask(&d, &create);
    authenticator_note_token(d.authenticator, key.sha256);
    known_after_a_look(&d, key.secret, "n");
    visit_free(visit_wait(&d, early));
    desk_settle(&d);
    known_at_once(&d, key.secret, "n");
    desk_close(&d);
}

/* A3 */
static void wrong_secrets_do_not_crowd_out_right_ones(void **state)
{
    desk d;
    authenticator_stats stats;
    hf_token_key wrong;
    hf_error err;
    (void)state;
    desk_open(&d, (authenticator_settings){.tokens_max = 4, .unknown_max = 3});
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    known_after_a_look(&d, key.secret, "shop");
    for (int i = 0; i < 50; i++) {
        expect(HF_OK, hf_token_new(&wrong, &err), err);
        refused_after_a_look(&d, wrong.secret, "not known");
    }
    authenticator_stats_read(d.authenticator, &stats);
    expect_int(stats.unknown, 3);
    expect_int(stats.tokens, 1);
    known_at_once(&d, key.secret, "shop");
    for (int i = 0; i < 10; i++) {
        hf_token_key more = make_token(&d, "more", "use", NULL, 0);
        known_after_a_look(&d, more.secret, "more");
    }
    authenticator_stats_read(d.authenticator, &stats);
    expect_int(stats.tokens, 4);
    known_after_a_look(&d, key.secret, "shop"); /* it was used longest ago */
    desk_close(&d);
}

static void what_is_no_secret_asks_nothing_of_the_store(void **state)
{
    OPEN(d);
    static const char *const wrong[] = {
        "x",
        "0123",
        "Bearer",
        "\xff\xff",
        "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        visit *v = visit_begin(&d, wrong[i], NULL);
        expect_true(v->done && v->who.status == HF_OK && v->who.token == NULL &&
                    v->who.flaw != NULL);
        visit_free(v);
    }
    visit *v = visit_begin(&d, "", NULL);
    expect_true(v->done && v->who.flaw == NULL && v->who.token == NULL);
    visit_free(v);
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 0);
    desk_close(&d);
}

/* A5 */
static void many_who_come_at_once_cost_one_look(void **state)
{
    OPEN(d);
    enum { MANY = 50 };
    visit *all[MANY];
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    for (int i = 0; i < MANY; i++)
        all[i] = visit_begin(&d, key.secret, NULL);
    for (int i = 0; i < MANY; i++) {
        visit_wait(&d, all[i]);
        expect_text(all[i]->who.token->name, "shop");
        visit_free(all[i]);
    }
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 1);
    desk_close(&d);
}

/* ---- sessions ---- */

static void a_session_is_known_with_the_token_that_opened_it(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use:policy", NULL, 0);
    hf_credentials alice = open_session(&d, "alice", key.id), bob = open_session(&d, "bob", NULL);
    hf_credentials carol = open_session(&d, "carol", "someone else's word");
    visit *v = visit_now(&d, NULL, &alice, &bob, &carol);
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_true(v->who.token == NULL);
    const caller_session *known = v->who.known;
    expect_text(known[0].id, alice.id);
    expect_text(known[0].user, "alice");
    expect_text(known[0].opener, key.id);
    expect_text(known[0].token->name, "shop");
    expect_text(known[1].user, "bob");
    expect_true(known[1].status == HF_OK && known[1].opener[0] == '\0' && known[1].token == NULL);
    expect_true(known[2].status == HF_OK && known[2].token == NULL);
    visit_free(v);
    expect_int(asked(&d, HF_OP_SESSION_FIND), 3);
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 1);
    v = visit_begin(&d, NULL, (const hf_credentials *const[]){&bob, &alice, NULL});
    expect_true(v->done);
    expect_text(v->who.known[1].token->name, "shop");
    visit_free(v);
    desk_close(&d);
}

static void another_key_goes_to_the_store_and_spoils_nothing(void **state)
{
    OPEN(d);
    hf_credentials alice = open_session(&d, "alice", NULL), liar, nobody;
    hf_error err;
    expect(HF_OK, hf_credentials_new(NULL, &nobody, &err), err);
    expect(HF_OK, hf_credentials_set(&liar, alice.id, nobody.key, &err), err);
    visit_free(visit_now(&d, NULL, &alice));
    visit *v = visit_now(&d, NULL, &liar, &nobody);
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_int(v->who.known[0].status, HF_DENIED);
    expect_contains(v->who.known[0].message, alice.id);
    expect_text(v->who.known[0].user, "");
    expect_int(v->who.known[1].status, HF_NOT_FOUND);
    visit_free(v);
    v = visit_begin(&d, NULL, (const hf_credentials *const[]){&alice, NULL});
    expect_true(v->done && v->who.known[0].status == HF_OK);
    visit_free(v);
    desk_close(&d);
}

static void a_session_opened_here_needs_no_look(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    hf_credentials alice;
    hf_error err;
    expect(HF_OK, hf_credentials_new(NULL, &alice, &err), err);
    hf_answer *opened = store_ask(
        &d,
        &(hf_op){.kind = HF_OP_SESSION_OPEN, .session = &alice, .user = "alice", .caller = key.id});
    authenticator_note_session(d.authenticator, &alice, &opened->sessions[0]);
    visit *v = visit_now(&d, NULL, &alice);
    expect_text(v->who.known[0].user, "alice");
    expect_text(v->who.known[0].token->name, "shop");
    visit_free(v);
    expect_int(asked(&d, HF_OP_SESSION_FIND), 0);
    store_ask(&d, &(hf_op){.kind = HF_OP_CLOSE, .session = &alice});
    authenticator_forget_session(d.authenticator, alice.id);
    authenticator_forget_session(d.authenticator, "x");
    v = visit_now(&d, NULL, &alice);
    expect_int(v->who.known[0].status, HF_EXPIRED);
    visit_free(v);
    desk_close(&d);
}

static void that_a_session_lives_is_looked_at_again_after_a_minute(void **state)
{
    OPEN(d);
    hf_credentials alice = open_session(&d, "alice", NULL);
    visit_free(visit_now(&d, NULL, &alice));
    store_ask(&d, &(hf_op){.kind = HF_OP_CLOSE, .session = &alice}); /* elsewhere */
    clock_forward(AUTHENTICATOR_SESSION_US - 1);
    visit *v = visit_begin(&d, NULL, (const hf_credentials *const[]){&alice, NULL});
    /* the store judges what is done with it */
    expect_true(v->done && v->who.known[0].status == HF_OK);
    visit_free(v);
    clock_forward(1);
    v = visit_now(&d, NULL, &alice);
    expect_int(v->who.known[0].status, HF_EXPIRED);
    visit_free(v);
    desk_close(&d);
}

static void few_sessions_are_kept_those_used_last(void **state)
{
    desk d;
    authenticator_stats stats;
    hf_credentials people[10];
    (void)state;
    desk_open(&d, (authenticator_settings){.sessions_max = 4});
    for (int i = 0; i < 10; i++) {
        people[i] = open_session(&d, "someone", NULL);
        visit_free(visit_now(&d, NULL, &people[i]));
        visit_free(visit_now(&d, NULL, &people[0]));
    }
    authenticator_stats_read(d.authenticator, &stats);
    expect_int(stats.sessions, 4);
    for (int i = 0; i < 10; i++) {
        bool kept = i == 0 || i >= 7;
        size_t before = asked(&d, HF_OP_SESSION_FIND);
        if (kept) {
            visit_free(visit_now(&d, NULL, &people[i]));
            expect_int(asked(&d, HF_OP_SESSION_FIND), before);
        }
    }
    visit_free(visit_now(&d, NULL, &people[3]));
    expect_int(asked(&d, HF_OP_SESSION_FIND), 11);
    desk_close(&d);
}

static void sessions_of_one_token_cost_one_look_at_it(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0),
                 other = make_token(&d, "other", "use", NULL, 0);
    hf_credentials a = open_session(&d, "a", key.id), b = open_session(&d, "b", other.id);
    hf_credentials c = open_session(&d, "c", key.id), e = open_session(&d, "e", key.id);
    visit *v = visit_now(&d, key.secret, &a, &b, &c, &e);
    expect_text(v->who.known[0].token->name, "shop");
    expect_text(v->who.known[1].token->name, "other");
    expect_true(v->who.known[2].token == v->who.known[0].token &&
                v->who.known[3].token == v->who.known[0].token);
    visit_free(v);
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 3); /* by its secret, and each by its id */
    desk_close(&d);
}

static void an_opener_that_was_revoked_counts_no_more(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    hf_credentials alice = open_session(&d, "alice", key.id);
    visit *v = visit_now(&d, NULL, &alice);
    expect_true(v->who.known[0].token != NULL);
    visit_free(v);
    revoke_token(&d, key.id);
    clock_forward(AUTHENTICATOR_FRESH_US);
    v = visit_now(&d, NULL, &alice);
    expect_true(v->who.status == HF_OK && v->who.known[0].status == HF_OK &&
                v->who.known[0].token == NULL);
    visit_free(v);
    desk_close(&d);
}

/* ---- A6: who pays for looks ---- */

static size_t charged; /* since it was last looked at */
static bool has_paid, has_nothing_left;

static hf_status pay(caller *who, size_t count, hf_error *err)
{
    expect_true(who->token == NULL);
    charged += count;
    if (count == 0)
        return has_nothing_left ? hf_fail(err, HF_TOO_MANY, "Nothing is left.") : HF_OK;
    return has_paid ? HF_OK : hf_fail(err, HF_TOO_MANY, "Wait a moment.");
}

static size_t take_charged(void)
{
    size_t count = charged;
    charged = 0;
    return count;
}

static void a_stranger_pays_before_many_sessions_are_looked_up(void **state)
{
    OPEN(d);
    hf_error err;
    hf_credentials people[3];
    for (int i = 0; i < 3; i++)
        people[i] = open_session(&d, "someone", NULL);
    d.may_look = pay;
    has_paid = false;
    visit *v = visit_begin(
        &d, NULL, (const hf_credentials *const[]){&people[0], &people[1], &people[2], NULL});
    expect_true(v->done);
    expect_int(take_charged(), 3);
    expect_status(HF_TOO_MANY, v->who.status, v->who.message);
    expect_text(v->who.message, "Wait a moment.");
    expect_int(asked(&d, HF_OP_SESSION_FIND), 0);
    hf_op op = {.kind = HF_OP_BEAT, .session = &people[0]};
    expect(HF_TOO_MANY, authorize_op(&v->who, &op, &err), err);
    op.kind = HF_OP_RELEASE_ALL;
    expect(HF_OK, authorize_op(&v->who, &op, &err), err);
    visit_free(v);
    v = visit_now(&d, NULL, &people[0]); /* one is looked up for everyone */
    expect_true(v->who.known[0].status == HF_OK);
    visit_free(v);
    v = visit_now(&d, NULL, &people[0], &people[1]); /* of which the first is known now */
    expect_true(v->who.known[0].status == HF_OK && v->who.known[1].status == HF_OK);
    visit_free(v);
    expect_int(take_charged(), 0);
    has_paid = true;
    clock_forward(AUTHENTICATOR_SESSION_US);
    v = visit_now(&d, NULL, &people[0], &people[1], &people[2]);
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_true(v->who.known[0].status == HF_OK && v->who.known[2].status == HF_OK);
    visit_free(v);
    expect_int(take_charged(), 3);
    desk_close(&d);
}

static void whom_nobody_knows_is_not_looked_up_when_nothing_is_left(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0),
                 other = make_token(&d, "other", "use", NULL, 0);
    hf_credentials alice = open_session(&d, "alice", NULL), bob = open_session(&d, "bob", NULL);
    d.may_look = pay;
    visit_free(visit_now(&d, key.secret, NULL));
    visit_free(visit_now(&d, NULL, &alice));
    has_nothing_left = true;
    size_t before, after;
    gate_log(gate_of(d.store), &before);
    visit *v = visit_begin(&d, other.secret, NULL);
    expect_true(v->done);
    expect_status(HF_TOO_MANY, v->who.status, v->who.message);
    visit_free(v);
    v = visit_begin(&d, NULL, (const hf_credentials *const[]){&bob, NULL});
    expect_true(v->done);
    expect_status(HF_TOO_MANY, v->who.status, v->who.message);
    visit_free(v);
    gate_log(gate_of(d.store), &after);
    expect_int(after, before);
    clock_forward(AUTHENTICATOR_SESSION_US); /* who is known is looked up anew */
    v = visit_now(&d, key.secret, &bob);
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_true(v->who.token != NULL && v->who.known[0].status == HF_OK);
    visit_free(v);
    v = visit_now(&d, NULL, &alice);
    expect_true(v->who.known[0].status == HF_OK);
    visit_free(v);
    has_nothing_left = false;
    desk_close(&d);
}

static void whose_token_counts_pays_nothing_for_looks(void **state)
{
    OPEN(d);
    hf_error err;
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0), wrong;
    expect(HF_OK, hf_token_new(&wrong, &err), err);
    hf_credentials alice = open_session(&d, "alice", key.id), bob = open_session(&d, "bob", key.id);
    d.may_look = pay;
    has_paid = false;
    visit *v = visit_now(&d, key.secret, &alice, &bob); /* though nothing is known of it at first */
    expect_status(HF_OK, v->who.status, v->who.message);
    expect_true(v->who.known[0].token != NULL && v->who.known[1].token != NULL);
    visit_free(v);
    size_t count;
    const gate_entry *log = gate_log(gate_of(d.store), &count);
    expect_int(log[0].kind, HF_OP_TOKEN_FIND);
    expect_int(log[1].kind, HF_OP_SESSION_FIND);
    expect_int(take_charged(), 0);
    clock_forward(AUTHENTICATOR_SESSION_US);
    v = visit_now(&d, wrong.secret, &alice, &bob); /* a token that is none does not count */
    expect_int(take_charged(), 2);
    expect_status(HF_TOO_MANY, v->who.status, v->who.message);
    visit_free(v);
    hf_fault_arm(d.fault, 1, false);
    hf_fault_more(d.fault, 100);
    v = visit_now(&d, key.secret, &alice, &bob); /* when that can't be found out, nobody pays */
    expect_status(HF_UNAVAILABLE, v->who.status, v->who.message);
    expect_int(take_charged(), 0);
    visit_free(v);
    hf_fault_arm(d.fault, 0, false);
    desk_close(&d);
}

/* ---- pages that have signed in ---- */

/* What comes of the cookie now: the token's name, or what is wrong. */
static const char *signed_in(desk *d, const hf_credentials *cookie)
{
    static char told[HF_MESSAGE_SIZE];
    char text[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(text, sizeof text, "%s.%s", cookie->id, cookie->key);
    d->cookies = true;
    visit *v = visit_now(d, text, NULL);
    d->cookies = false;
    desk_settle(d);
    snprintf(told, sizeof told, "%s",
             v->who.token != NULL ? v->who.token->name
             : v->who.flaw != NULL ? v->who.flaw
                                   : v->who.message);
    visit_free(v);
    return told;
}

static void a_page_stays_signed_in_while_it_asks(void **state)
{
    OPEN(d);
    static const int64_t hour = 3600 * SECOND;
    hf_error err;
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    hf_credentials page, session = open_session(&d, "alice", key.id);
    char opener[HF_CALLER_SIZE];
    snprintf(opener, sizeof opener, HF_SIGN_IN "%s", key.id);
    expect(HF_OK, hf_credentials_new(NULL, &page, &err), err);
    store_ask(&d, &(hf_op){.kind = HF_OP_SESSION_OPEN,
                           .session = &page,
                           .user = "shop",
                           .caller = opener,
                           .idle_us = 12 * hour});
    for (int i = 0; i < 5; i++)
        expect_text(signed_in(&d, &page), "shop");
    expect_int(asked(&d, HF_OP_BEAT), 0);
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 1); /* then it is known for a moment */
    for (size_t i = 1; i <= 3; i++) {
        clock_forward(11 * hour);
        expect_text(signed_in(&d, &page), "shop");
        expect_int(asked(&d, HF_OP_BEAT), i);
    }
    expect_text(signed_in(&d, &session), "You are signed out; sign in again.");
    clock_forward(12 * hour);
    expect_text(signed_in(&d, &page), "You are signed out; sign in again.");
    desk_close(&d);
}

/* ---- those who stay ---- */

/* A round of questions for all of them, between which others come; how many live. */
static size_t lives_of(desk *d, const hf_token_key *keys, size_t count, const hf_token_key *others)
{
    size_t living = 0;
    for (size_t i = 0; i < count; i++)
        living += authenticator_token_lives(d->authenticator, keys[i].id);
    for (int i = 0; i < 4; i++)
        visit_free(visit_wait(d, visit_begin(d, others[i].secret, NULL)));
    desk_settle(d);
    clock_forward(AUTHENTICATOR_FRESH_US / 2);
    return living;
}

static void many_who_stay_are_all_told_when_their_tokens_are_revoked(void **state)
{
    enum { MANY = 60 };
    desk d;
    hf_token_key keys[MANY], others[4];
    (void)state;
    desk_open(&d, (authenticator_settings){.tokens_max = 8, .streams_max = MANY});
    for (int i = 0; i < 4; i++)
        others[i] = make_token(&d, "other", "use", NULL, 0);
    for (int i = 0; i < MANY; i++) {
        keys[i] = make_token(&d, "shop", "observe", NULL, 0);
        known_after_a_look(&d, keys[i].secret, "shop");
    }
    for (int i = 0; i < 3; i++)
        expect_int(lives_of(&d, keys, MANY, others), MANY);
    for (int i = 0; i < MANY; i++)
        revoke_token(&d, keys[i].id); /* elsewhere */
    lives_of(&d, keys, MANY, others);
    expect_int(lives_of(&d, keys, MANY, others), 0);
    desk_close(&d);
}

/* A store that was put back under the server lacks a token for a moment, or has it as it was. */
static void whoever_stays_is_looked_at_again_when_the_token_is_back(void **state)
{
    OPEN(d);
    hf_token_key key, revoked = make_token(&d, "gone", "observe", NULL, 0);
    hf_error err;
    expect(HF_OK, hf_token_new(&key, &err), err);
    revoke_token(&d, revoked.id);
    for (int i = 0; i < 2; i++) {
        expect_true(authenticator_token_lives(d.authenticator, key.id)); /* until it is known */
        expect_true(authenticator_token_lives(d.authenticator, revoked.id));
        desk_settle(&d);
        expect_true(!authenticator_token_lives(d.authenticator, key.id));
        expect_true(!authenticator_token_lives(d.authenticator, revoked.id));
        clock_forward(AUTHENTICATOR_FRESH_US - 1);
        expect_true(!authenticator_token_lives(d.authenticator, key.id));
        expect_true(!authenticator_token_lives(d.authenticator, revoked.id));
        clock_forward(1);
    }
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 4);
    hf_op create = {.kind = HF_OP_TOKEN_CREATE,
                    .token = key.id,
                    .sha256 = key.sha256,
                    .name = "n",
                    .roles = "observe"};
    store_ask(&d, &create);
    for (int i = 0; i < 4; i++) {
        expect_true(authenticator_token_lives(d.authenticator, key.id));
        desk_settle(&d);
        clock_forward(AUTHENTICATOR_FRESH_US / 2);
    }
    desk_close(&d);
}

/* Else nobody would ever be cut where a look takes that long. */
static void whoever_stays_is_told_of_by_an_answer_that_came_late(void **state)
{
    OPEN(d);
    hf_token_key key, revoked = make_token(&d, "gone", "observe", NULL, 0);
    hf_error err;
    expect(HF_OK, hf_token_new(&key, &err), err);
    revoke_token(&d, revoked.id);
    for (int i = 0; i < 2; i++) {
        expect_true(authenticator_token_lives(d.authenticator, key.id));
        expect_true(authenticator_token_lives(d.authenticator, revoked.id));
        clock_forward(AUTHENTICATOR_FRESH_US);
        desk_settle(&d);
        expect_true(!authenticator_token_lives(d.authenticator, key.id));
        expect_true(!authenticator_token_lives(d.authenticator, revoked.id));
        clock_forward(AUTHENTICATOR_FRESH_US - 1);
        expect_true(!authenticator_token_lives(d.authenticator, key.id));
        expect_true(!authenticator_token_lives(d.authenticator, revoked.id));
        clock_forward(1);
    }
    expect_int(asked(&d, HF_OP_TOKEN_FIND), 4);
    desk_close(&d);
}

/* ---- when the store or memory is away ---- */

/* A2 */
static void when_the_store_is_away_nobody_is_known(void **state)
{
    OPEN(d);
    hf_error err;
    hf_token_key key = make_token(&d, "shop", "use observe manage admin", NULL, 0);
    hf_credentials alice = open_session(&d, "alice", key.id);
    hf_fault_arm(d.fault, 1, false);
    hf_fault_more(d.fault, 100);
    visit *v = visit_now(&d, key.secret, &alice);
    expect_status(HF_UNAVAILABLE, v->who.status, v->who.message);
    hf_op op = {.kind = HF_OP_ACQUIRE, .session = &alice, .type = "policy", .id = "1"};
    expect(HF_UNAVAILABLE, authorize_op(&v->who, &op, &err), err);
    op.kind = HF_OP_TYPES;
    expect(HF_UNAVAILABLE, authorize_op(&v->who, &op, &err), err);
    op.kind = HF_OP_RELEASE;
    expect(HF_OK, authorize_op(&v->who, &op, &err), err);
    visit_free(v);
    hf_fault_arm(d.fault, 0, false);
    v = visit_now(&d, key.secret, &alice);
    expect_status(HF_OK, v->who.status, v->who.message);
    op.kind = HF_OP_ACQUIRE;
    expect(HF_OK, authorize_op(&v->who, &op, &err), err);
    visit_free(v);
    desk_close(&d);
}

/* A1, A2 */
static void what_is_known_counts_while_the_store_is_away_but_not_for_longer(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    known_after_a_look(&d, key.secret, "shop");
    hf_fault_arm(d.fault, 1, false);
    hf_fault_more(d.fault, 100);
    clock_forward(AUTHENTICATOR_FRESH_US / 2);
    known_at_once(&d, key.secret, "shop");
    desk_settle(&d); /* the look ahead failed */
    clock_forward(AUTHENTICATOR_FRESH_US / 2 - 1);
    known_at_once(&d, key.secret, "shop");
    desk_settle(&d);
    clock_forward(1);
    visit *v = visit_wait(&d, visit_begin(&d, key.secret, NULL));
    expect_status(HF_UNAVAILABLE, v->who.status, v->who.message);
    expect_true(v->who.token == NULL);
    visit_free(v);
    hf_fault_arm(d.fault, 0, false);
    known_after_a_look(&d, key.secret, "shop");
    desk_close(&d);
}

/* One who presents a token and gives locks to the sessions with these ids, which are in order. */
static visit *visit_giving(desk *d, const char *bearer, const char *const *ids, size_t count)
{
    visit *v = visit_begin(d, NULL, NULL);
    v->done = false;
    v->who.bearer = bearer;
    v->who.targets = ids;
    v->who.targets_count = count;
    authenticate_caller(d->authenticator, &v->who);
    return visit_wait(d, v);
}

static void whoever_gets_a_lock_is_found_by_the_public_id(void **state)
{
    static const char *const ids[] = {
        "00000000000000000000000000000000", "00000000000000000000000000000001",
        "0000000000000000000000000000000a", "7fffffffffffffffffffffffffffffff",
        "80000000000000000000000000000000", "a0000000000000000000000000000000",
        "ffffffffffffffffffffffffffffffff", "no id, but as long as one; odd..",
    };
    enum { GOOD = 7, ALL = 8 };
    OPEN(d);
    hf_error err = {0};
    hf_token_key shop = make_token(&d, "shop", "use", NULL, 0);
    hf_token_key kiosk = make_token(&d, "kiosk", "use", NULL, 0);
    /* their neighbours are not taken for them */
    visit *v = visit_giving(&d, shop.secret, ids, ALL);
    for (size_t i = 0; i < ALL; i++)
        expect_int(v->who.receivers[i].status, HF_NOT_FOUND);
    visit_free(v);
    for (size_t i = 0; i < GOOD; i++) {
        hf_credentials one;
        expect(HF_OK, hf_credentials_set(&one, ids[i], shop.secret, &err), err);
        store_ask(&d, &(hf_op){.kind = HF_OP_SESSION_OPEN,
                               .session = &one,
                               .user = ids[i],
                               .caller = kiosk.id});
    }
    desk_forget();
    v = visit_giving(&d, shop.secret, ids, ALL);
    expect_status(HF_OK, v->who.status, v->who.message);
    for (size_t i = 0; i < GOOD; i++) {
        expect_int(v->who.receivers[i].status, HF_OK);
        expect_text(v->who.receivers[i].user, ids[i]);
        expect_text(v->who.receivers[i].token->name, "kiosk");
    }
    expect_int(v->who.receivers[GOOD].status, HF_NOT_FOUND);
    visit_free(v);
    size_t looks = asked(&d, HF_OP_SESSIONS);
    expect_int(looks, 2 * GOOD);
    v = visit_giving(&d, NULL, ids, ALL); /* for a stranger nothing is looked up */
    expect_int(asked(&d, HF_OP_SESSIONS), looks);
    visit_free(v);
    desk_close(&d);
}

static void when_the_server_stops_whoever_waits_is_told(void **state)
{
    OPEN(d);
    hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
    hf_credentials alice = open_session(&d, "alice", key.id);
    visit *early = visit_begin(&d, key.secret, (const hf_credentials *const[]){&alice, NULL});
    committer_stop(d.committer);
    jobs_drain(d.jobs);
    expect_true(early->done); /* the second step could not be asked any more */
    expect_status(HF_UNAVAILABLE, early->who.status, early->who.message);
    visit_free(early);
    hf_credentials bob = open_session(&d, "bob", NULL);
    visit *late = visit_begin(&d, NULL, (const hf_credentials *const[]){&bob, NULL});
    expect_true(late->done);
    expect_status(HF_UNAVAILABLE, late->who.status, late->who.message);
    visit_free(late);
    desk_close(&d);
}

static void every_allocation_fails_in_turn_in_callers(void **state)
{
    hf_error err;
    bool all_done = false;
    (void)state;
    for (unsigned n = 1; !all_done; n++) {
        desk d;
        desk_open(&d, (authenticator_settings){0});
        hf_token_key key = make_token(&d, "shop", "use", NULL, 0);
        hf_credentials two[] = {open_session(&d, "alice", key.id), open_session(&d, "bob", key.id)};
        bool turned = strcmp(two[0].id, two[1].id) > 0; /* as caller_sessions puts them */
        const hf_credentials alice = two[turned], bob = two[!turned];
        scarce_begin(n);
        visit *v = visit_now(&d, key.secret, &alice, &bob);
        all_done = !scarce_end();
        hf_op op = {.kind = HF_OP_ACQUIRE, .session = &alice, .type = "policy", .id = "1"};
        hf_status status = authorize_op(&v->who, &op, &err);
        if (v->who.status != HF_OK) {
            expect_status(HF_NO_MEMORY, v->who.status, v->who.message);
            expect_true(status == HF_NO_MEMORY);
        } else
            expect_true(status == HF_OK && v->who.token != NULL && v->who.known[1].token != NULL);
        visit_free(v);
        v = visit_now(&d, key.secret, &alice, &bob); /* nothing is left that was wrong */
        expect(HF_OK, authorize_op(&v->who, &op, &err), err);
        visit_free(v);
        desk_close(&d);
    }
    for (unsigned n = 1; n < 4; n++) {
        jobs *none = NULL;
        authenticator *nobody = NULL;
        scarce_begin(n);
        expect_true(authenticator_new(&(authenticator_settings){.jobs = none}, &nobody, &err) ==
                    HF_NO_MEMORY);
    }
    scarce_end();
    hf_seam.realloc = realloc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_believed_for_half_a_second),
        cmocka_unit_test(a_token_in_use_is_asked_for_ahead),
        cmocka_unit_test(what_was_revoked_elsewhere_is_refused_half_a_second_later),
        cmocka_unit_test(what_was_revoked_elsewhere_is_refused_when_the_look_ahead_says_so),
        cmocka_unit_test(what_was_revoked_here_is_refused_at_once),
        cmocka_unit_test(a_token_ends_between_two_looks_when_its_time_has_come),
        cmocka_unit_test(a_wrong_secret_is_remembered_for_a_moment),
        cmocka_unit_test(a_token_that_is_made_here_works_at_once),
        cmocka_unit_test(wrong_secrets_do_not_crowd_out_right_ones),
        cmocka_unit_test(what_is_no_secret_asks_nothing_of_the_store),
        cmocka_unit_test(many_who_come_at_once_cost_one_look),
        cmocka_unit_test(a_session_is_known_with_the_token_that_opened_it),
        cmocka_unit_test(another_key_goes_to_the_store_and_spoils_nothing),
        cmocka_unit_test(a_session_opened_here_needs_no_look),
        cmocka_unit_test(that_a_session_lives_is_looked_at_again_after_a_minute),
        cmocka_unit_test(few_sessions_are_kept_those_used_last),
        cmocka_unit_test(sessions_of_one_token_cost_one_look_at_it),
        cmocka_unit_test(an_opener_that_was_revoked_counts_no_more),
        cmocka_unit_test(a_stranger_pays_before_many_sessions_are_looked_up),
        cmocka_unit_test(a_page_stays_signed_in_while_it_asks),
        cmocka_unit_test(whom_nobody_knows_is_not_looked_up_when_nothing_is_left),
        cmocka_unit_test(whose_token_counts_pays_nothing_for_looks),
        cmocka_unit_test(many_who_stay_are_all_told_when_their_tokens_are_revoked),
        cmocka_unit_test(whoever_stays_is_looked_at_again_when_the_token_is_back),
        cmocka_unit_test(whoever_stays_is_told_of_by_an_answer_that_came_late),
        cmocka_unit_test(when_the_store_is_away_nobody_is_known),
        cmocka_unit_test(what_is_known_counts_while_the_store_is_away_but_not_for_longer),
        cmocka_unit_test(whoever_gets_a_lock_is_found_by_the_public_id),
        cmocka_unit_test(when_the_server_stops_whoever_waits_is_told),
        cmocka_unit_test(every_allocation_fails_in_turn_in_callers),
    };
    return cmocka_run_group_tests_name("callers", tests, NULL, NULL);
}
