/* SPDX-License-Identifier: MIT */
/* Quotas: what goes without a look, what a look comes to, who shares it, and that nothing goes
 * unseen. Q1 to Q7 stand in server/access/quotas.h. And the claims of requests upon them. */
#include "unit/server/authenticate_desk.h"

#include <base/seams.h>
#include <server/access/admit.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>

#define SHOP "0123456789abcdef0123456789abcdef"

/* A claim, and whether it is settled. */
typedef struct http_client {
    quotas_claim claim;
    bool done;
} http_client;

static void quotas_told(quotas_claim *claim)
{
    http_client *a = claim->context;
    expect_true(!a->done);
    a->done = true;
}

static http_client *quotas_ask(quotas *q, quotas_kind kind, const char *id, size_t wanted)
{
    http_client *a = calloc(1, sizeof *a);
    expect_true(a != NULL);
    a->claim =
        (quotas_claim){.kind = kind, .id = id, .wanted = wanted, .done = quotas_told, .context = a};
    bool now = quotas_take(q, &a->claim);
    expect_true(!now || !a->done);
    a->done = a->done || now;
    return a;
}

static void server_quotas_leave(quotas *q, http_client *a)
{
    expect_true(a->done);
    quotas_leave(q, &a->claim);
    free(a);
}

static quotas *open_quotas(desk *d, size_t locks, size_t sessions, size_t keys_max)
{
    quotas *q = NULL;
    hf_error err = {0};
    desk_open(d, (authenticator_settings){0});
    expect(HF_OK,
           quotas_new(
               &(quotas_settings){.jobs = d->jobs,
                                  .limits = {[QUOTAS_LOCKS] = locks, [QUOTAS_SESSIONS] = sessions},
                                  .keys_max = keys_max},
               &q, &err),
           err);
    return q;
}

static void close_quotas(desk *d, quotas *q)
{
    desk_settle(d);
    quotas_free(q);
    desk_close(d);
}

/* Takes so many locks that have not been taken yet, as another server might. */
static void quotas_hold(desk *d, const hf_credentials *who, unsigned count)
{
    static unsigned next;
    char id[16];
    for (unsigned i = 0; i < count; i++) {
        snprintf(id, sizeof id, "%u", next++);
        store_ask(d, &(hf_op){.kind = HF_OP_ACQUIRE, .session = who, .type = "policy", .id = id});
    }
}

static size_t quotas_holds(desk *d, const hf_credentials *who)
{
    return store_ask(d, &(hf_op){.kind = HF_OP_COUNT, .target = who->id})->total_locks;
}

/* Asks, waits, answers how many were granted; takes those and leaves. */
static size_t quotas_takes(desk *d, quotas *q, const hf_credentials *who, size_t wanted)
{
    http_client *a = quotas_ask(q, QUOTAS_LOCKS, who->id, wanted);
    desk_settle(d);
    expect_true(a->done);
    expect_status(HF_OK, a->claim.status, a->claim.message);
    size_t granted = a->claim.granted;
    quotas_hold(d, who, (unsigned)granted);
    server_quotas_leave(q, a);
    return granted;
}

/* Q4, Q3 */
static void a_session_opened_here_takes_half_of_its_locks_without_a_look(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 100, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_opened(q, alice.id);
    for (int i = 0; i < 50; i++)
        expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 0);
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 1);
    for (int i = 0; i < 24; i++) /* half of the fifty that were free */
        expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 1);
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 2);
    for (int i = 0; i < 24; i++)
        expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_true(quotas_looks(q) <= 7);
    expect_int(quotas_takes(&d, q, &alice, 1), 0);
    expect_int(quotas_holds(&d, &alice), 100);
    quotas_opened(q, alice.id); /* told again: nothing new is believed */
    expect_int(quotas_takes(&d, q, &alice, 1), 0);
    close_quotas(&d, q);
}

/* Q4 */
static void of_whom_nothing_is_known_a_look_is_made(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 10, 3, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_hold(&d, &alice, 7);
    http_client *a = quotas_ask(q, QUOTAS_LOCKS, alice.id, 5);
    expect_true(!a->done);
    desk_settle(&d);
    expect_int(a->claim.granted, 3);
    expect_int(a->claim.held, 7);
    server_quotas_leave(q, a);
    a = quotas_ask(q, QUOTAS_SESSIONS, SHOP, 1);
    expect_true(!a->done);
    desk_settle(&d);
    expect_int(a->claim.granted, 1);
    server_quotas_leave(q, a);
    a = quotas_ask(q, QUOTAS_SESSIONS, "another", 4);
    desk_settle(&d);
    expect_int(a->claim.granted, 3);
    server_quotas_leave(q, a);
    expect_int(asked(&d, HF_OP_COUNT), 3);
    close_quotas(&d, q);
}

static void without_a_limit_nothing_is_remembered(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 0, 0, 0);
    http_client *a = quotas_ask(q, QUOTAS_LOCKS, SHOP, 1000000);
    expect_true(a->done);
    expect_int(a->claim.granted, 1000000);
    server_quotas_leave(q, a);
    quotas_opened(q, SHOP);
    quotas_returned(q, QUOTAS_LOCKS, SHOP);
    quotas_forget(q, QUOTAS_SESSIONS, SHOP);
    expect_int(quotas_count(q) + quotas_looks(q), 0);
    close_quotas(&d, q);
}

/* Q2, Q3: eight for five places. One of the five takes nothing new after all, so there is room for
 * a sixth. */
static void many_who_wait_share_looks_in_the_order_they_came(void **state)
{
    desk d;
    http_client *all[8];
    (void)state;
    quotas *q = open_quotas(&d, 10, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_hold(&d, &alice, 5);
    for (int i = 0; i < 8; i++) {
        all[i] = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1);
        expect_true(!all[i]->done);
    }
    desk_settle(&d);
    expect_int(quotas_looks(q), 1);
    quotas_hold(&d, &alice, 4);
    for (int i = 0; i < 8; i++)
        expect_int(all[i]->done, i < 5);
    for (int i = 0; i < 5; i++) {
        expect_int(all[i]->claim.granted, 1);
        expect_int(quotas_looks(q), 1);
        server_quotas_leave(q, all[i]);
    }
    desk_settle(&d);
    expect_int(quotas_looks(q), 2);
    expect_true(all[5]->done && !all[6]->done && !all[7]->done);
    expect_int(all[5]->claim.granted, 1);
    quotas_hold(&d, &alice, 1);
    server_quotas_leave(q, all[5]);
    desk_settle(&d);
    expect_int(quotas_looks(q), 3);
    for (int i = 6; i < 8; i++) {
        expect_true(all[i]->done);
        expect_int(all[i]->claim.granted, 0);
        expect_int(all[i]->claim.held, 10);
        server_quotas_leave(q, all[i]);
    }
    close_quotas(&d, q);
}

/* Q2: what is under way may be in the count or not; so nothing is. */
static void a_look_waits_for_what_is_under_way_and_nothing_passes_it(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 10, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_opened(q, alice.id);
    http_client *first = quotas_ask(q, QUOTAS_LOCKS, alice.id, 3),
                *second = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1);
    expect_true(first->done && second->done);
    http_client *large = quotas_ask(q, QUOTAS_LOCKS, alice.id, 7),
                *small = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1);
    desk_settle(&d);
    expect_true(!large->done && !small->done);
    expect_int(quotas_looks(q), 0);
    quotas_hold(&d, &alice, 3);
    server_quotas_leave(q, first);
    expect_int(quotas_looks(q), 0);
    quotas_hold(&d, &alice, 1);
    server_quotas_leave(q, second);
    expect_int(quotas_looks(q), 1);
    desk_settle(&d);
    expect_int(large->claim.granted, 6);
    expect_int(large->claim.held, 4);
    expect_true(!small->done);
    server_quotas_leave(q, large); /* and has taken none */
    desk_settle(&d);
    expect_true(small->done);
    expect_int(small->claim.granted, 1);
    server_quotas_leave(q, small);
    close_quotas(&d, q);
}

/* Q3 */
static void what_another_server_took_is_noticed_at_the_next_look(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 100, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_opened(q, alice.id);
    quotas_hold(&d, &alice, 90); /* another server's doing */
    size_t got = 0;
    while (quotas_takes(&d, q, &alice, 1) == 1)
        got++;
    expect_int(got, 50); /* half of what it believed to be free, and no more */
    expect_int(quotas_holds(&d, &alice), 140);
    close_quotas(&d, q);
}

/* Q5 */
static void a_look_that_fails_is_the_answer_and_lets_nothing_through(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 10, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    hf_fault_arm(d.fault, 1, false);
    hf_fault_more(d.fault, 100);
    http_client *two[] = {quotas_ask(q, QUOTAS_LOCKS, alice.id, 1),
                          quotas_ask(q, QUOTAS_LOCKS, alice.id, 1)};
    desk_settle(&d);
    for (int i = 0; i < 2; i++) {
        expect_true(two[i]->done);
        expect_status(HF_UNAVAILABLE, two[i]->claim.status, "");
        expect_int(two[i]->claim.granted, 0);
        server_quotas_leave(q, two[i]);
    }
    hf_fault_arm(d.fault, 0, false);
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    /* When the committer takes no more, whoever asks is told at once; also those who waited for
     * someone else. */
    http_client *under_way = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1),
                *late = quotas_ask(q, QUOTAS_LOCKS, alice.id, 10);
    expect_true(under_way->done && !late->done);
    committer_stop(d.committer);
    jobs_drain(d.jobs);
    server_quotas_leave(q, under_way);
    expect_true(late->done);
    expect_status(HF_UNAVAILABLE, late->claim.status, "");
    expect_true(late->claim.message != NULL && late->claim.message[0] != '\0');
    server_quotas_leave(q, late);
    http_client *last = quotas_ask(q, QUOTAS_LOCKS, alice.id, 10);
    expect_true(last->done);
    expect_status(HF_UNAVAILABLE, last->claim.status, "");
    server_quotas_leave(q, last);
    close_quotas(&d, q);
}

/* Requests that wait for each other, key by key, and are all refused when the first of them ends:
 * their number is no depth of calls. */
enum { LINKS = 2000 };
static http_client *ahead[LINKS], *waiting[LINKS];
static size_t depth, deepest;
static quotas *chain_quotas;

static void told_in_a_chain(quotas_claim *claim)
{
    http_client *a = claim->context;
    size_t i = 0;
    a->done = true;
    deepest = ++depth > deepest ? depth : deepest;
    while (waiting[i] != a)
        i++;
    if (i > 0)
        server_quotas_leave(chain_quotas, ahead[i - 1]);
    depth--;
}

static void a_chain_of_those_who_wait_is_no_chain_of_calls(void **state)
{
    static char ids[LINKS][HF_SESSION_ID_SIZE];
    desk d;
    (void)state;
    quotas *q = chain_quotas = open_quotas(&d, 2, 0, 0);
    depth = deepest = 0;
    for (int i = 0; i < LINKS; i++) {
        snprintf(ids[i], sizeof ids[i], "%032x", i);
        quotas_opened(q, ids[i]);
        ahead[i] = quotas_ask(q, QUOTAS_LOCKS, ids[i], 1);
        waiting[i] = quotas_ask(q, QUOTAS_LOCKS, ids[i], 1);
        expect_true(ahead[i]->done && !waiting[i]->done);
        waiting[i]->claim.done = told_in_a_chain;
    }
    committer_stop(d.committer); /* no look can be made any more */
    server_quotas_leave(q, ahead[LINKS - 1]);
    for (int i = 0; i < LINKS; i++) {
        expect_true(waiting[i]->done);
        expect_status(HF_UNAVAILABLE, waiting[i]->claim.status, "");
        server_quotas_leave(q, waiting[i]);
    }
    expect_int(deepest, 1);
    close_quotas(&d, q);
}

/* Q6: something was given back after the count had begun. */
static void what_was_given_back_during_a_look_is_looked_for(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 5, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_hold(&d, &alice, 5);
    http_client *a = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1);
    expect_int(quotas_looks(q), 1);
    quotas_returned(q, QUOTAS_LOCKS, alice.id);
    desk_settle(&d);
    expect_int(a->claim.granted, 0);
    server_quotas_leave(q, a);
    store_ask(&d, &(hf_op){.kind = HF_OP_RELEASE_ALL, .session = &alice});
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    close_quotas(&d, q);
}

/* Q6 */
static void that_it_is_full_is_believed_for_a_moment(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 5, 1, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_hold(&d, &alice, 5);
    for (int i = 0; i < 20; i++)
        expect_int(quotas_takes(&d, q, &alice, 1), 0);
    expect_int(quotas_looks(q), 1);
    clock_forward(QUOTAS_FULL_US);
    expect_int(quotas_takes(&d, q, &alice, 1), 0);
    expect_int(quotas_looks(q), 2);
    quotas_returned(q, QUOTAS_LOCKS, "another");
    quotas_returned(q, QUOTAS_SESSIONS, NULL);
    expect_int(quotas_takes(&d, q, &alice, 1), 0);
    expect_int(quotas_looks(q), 2);
    store_ask(&d, &(hf_op){.kind = HF_OP_RELEASE_ALL, .session = &alice});
    quotas_returned(q, QUOTAS_LOCKS, alice.id);
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 3);
    for (int i = 0; i < 5; i++) { /* of a token it is not known whose session has ended */
        http_client *a = quotas_ask(q, QUOTAS_SESSIONS, SHOP, 1);
        desk_settle(&d);
        expect_int(a->claim.granted, i == 4);
        server_quotas_leave(q, a);
        if (i == 3) {
            store_ask(&d, &(hf_op){.kind = HF_OP_CLOSE, .session = &alice});
            quotas_returned(q, QUOTAS_SESSIONS, NULL);
        }
    }
    expect_int(quotas_looks(q), 5);
    close_quotas(&d, q);
}

/* Q7 */
static void few_keys_are_remembered_those_used_last(void **state)
{
    desk d;
    char id[33];
    (void)state;
    quotas *q = open_quotas(&d, 10, 0, 4);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_opened(q, alice.id);
    http_client *pinned = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%032x", i);
        quotas_opened(q, id);
        expect_true(quotas_count(q) <= 4);
    }
    server_quotas_leave(q, pinned);
    /* it was not forgotten while something was under way */
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 0);
    for (unsigned i = 200; i < 204; i++) {
        snprintf(id, sizeof id, "%032x", i);
        quotas_opened(q, id);
    }
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 1);
    quotas_forget(q, QUOTAS_LOCKS, alice.id);
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 2);
    pinned = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1);
    size_t before = quotas_count(q);
    quotas_forget(q, QUOTAS_LOCKS, alice.id); /* while something is under way: its allowance only */
    expect_int(quotas_count(q), before);
    server_quotas_leave(q, pinned);
    expect_int(quotas_takes(&d, q, &alice, 1), 1);
    expect_int(quotas_looks(q), 3);
    close_quotas(&d, q);
}

/* However claims overlap, never more than the limit are there; and nobody is refused while there is
 * room, once all is quiet. */
static void random_takers_never_pass_the_limit(void **state)
{
    enum { ASKERS = 6, LIMIT = 20 };
    desk d;
    unsigned dice = 4711;
    size_t refusals = 0, grants = 0;
    (void)state;
    quotas *q = open_quotas(&d, LIMIT, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    http_client *all[ASKERS] = {0};
    for (int i = 0; i < 4000; i++) {
        http_client **a = &all[rand_r(&dice) % ASKERS];
        if (*a == NULL)
            *a = quotas_ask(q, QUOTAS_LOCKS, alice.id, 1 + (size_t)rand_r(&dice) % 4);
        else if ((*a)->done) {
            refusals += (*a)->claim.granted < (*a)->claim.wanted;
            grants += (*a)->claim.granted;
            quotas_hold(&d, &alice, (unsigned)(*a)->claim.granted);
            server_quotas_leave(q, *a);
            *a = NULL;
        } else if (rand_r(&dice) % 3 == 0)
            desk_settle(&d); /* else the look stays with the store for a while */
        expect_true(quotas_holds(&d, &alice) <= LIMIT);
        if (rand_r(&dice) % 40 == 0) {
            store_ask(&d, &(hf_op){.kind = HF_OP_RELEASE_ALL, .session = &alice});
            quotas_returned(q, QUOTAS_LOCKS, alice.id);
        }
    }
    for (int left = ASKERS; left > 0;) { /* some wait for others to leave */
        desk_settle(&d);
        left = ASKERS;
        for (int i = 0; i < ASKERS; i++) {
            if (all[i] != NULL && all[i]->done) {
                server_quotas_leave(q, all[i]);
                all[i] = NULL;
            }
            left -= all[i] == NULL;
        }
    }
    clock_forward(QUOTAS_FULL_US);
    size_t there = quotas_holds(&d, &alice);
    expect_int(quotas_takes(&d, q, &alice, LIMIT), LIMIT - there);
    expect_true(refusals > 50 && grants > 200);
    close_quotas(&d, q);
}

/* ---- claims ---- */

typedef struct request {
    admission admission;
    hf_arena arena;
    bool done;
} request;

static void request_done(admission *c)
{
    request *r = c->context;
    expect_true(!r->done);
    r->done = true;
}

static void quotas_request_begin(desk *d, quotas *q, request *r, const hf_op *ops, size_t count)
{
    *r = (request){.admission = {.of = q,
                                 .jobs = d->jobs,
                                 .ops = ops,
                                 .count = count,
                                 .arena = &r->arena,
                                 .done = request_done,
                                 .context = r}};
    admit_ops(&r->admission);
    desk_settle(d);
    expect_true(r->done);
}

static void request_end(request *r)
{
    admit_leave(&r->admission);
    hf_arena_done(&r->arena);
}

#define LOCK(who, name)                                                                            \
    {                                                                                              \
        .kind = HF_OP_ACQUIRE, .session = &(who), .type = "policy", .id = (name)                   \
    }

static void ops_of_several_keys_fit_each_by_itself(void **state)
{
    desk d;
    request r;
    hf_error err = {0};
    size_t which = 0;
    (void)state;
    quotas *q = open_quotas(&d, 3, 2, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP), bob = open_session(&d, "bob", SHOP);
    hf_credentials fresh;
    expect(HF_OK, hf_credentials_new(NULL, &fresh, &err), err);
    quotas_hold(&d, &alice, 2);
    store_ask(&d, &(hf_op)LOCK(bob, "b1"));
    const hf_op ops[] = {
        LOCK(alice, "a1"),
        LOCK(bob, "b1"),
        LOCK(alice, "a2"), /* too many */
        LOCK(bob, "b2"),
        /* is there */
        {.kind = HF_OP_SESSION_OPEN, .session = &alice, .user = "alice", .caller = SHOP},
        /* too many */
        {.kind = HF_OP_SESSION_OPEN, .session = &fresh, .user = "fay", .caller = SHOP},
        {.kind = HF_OP_RELEASE, .session = &alice, .type = "policy", .id = "a1"},
        LOCK(bob, "b3"),
        LOCK(bob, "b1"),
        LOCK(bob, "b4"), /* too many */
    };
    static const bool fits[] = {true, true, false, true, true, false, true, true, true, false};
    quotas_request_begin(&d, q, &r, ops, 10);
    expect_true(!r.admission.all_fit);
    for (size_t i = 0; i < 10; i++) {
        hf_status status = admit_fit(&r.admission, i, i + 1, &which, &err);
        if (status != (fits[i] ? HF_OK : HF_TOO_MANY))
            fail_msg("op %zu: %s", i, hf_status_wire(status));
        if (!fits[i])
            expect_contains(err.message,
                            i == 5 ? "(sessions-token): close some first." : "(locks-session)");
    }
    expect_true(r.admission.full);
    request_end(&r);
    quotas_request_begin(
        &d, q, &r, ops,
        4); /* all or none: what fits is given back when the run as a whole does not */
    expect_true(admit_fit(&r.admission, 0, 4, &which, &err) == HF_TOO_MANY);
    expect_int(which, 2);
    expect(HF_OK, admit_fit(&r.admission, 0, 2, &which, &err), err);
    request_end(&r);
    expect_true(asked(&d, HF_OP_HOLDS) > 0);
    close_quotas(&d, q);
}

static void what_fits_asks_for_nothing_but_the_count(void **state)
{
    desk d;
    request r;
    (void)state;
    quotas *q = open_quotas(&d, 100, 100, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_opened(q, alice.id);
    const hf_op ops[] = {LOCK(alice, "a1"),
                         {.kind = HF_OP_WHO, .type = "policy", .id = "a1"},
                         LOCK(alice, "a2"),
                         {.kind = HF_OP_BEAT, .session = &alice}};
    for (int i = 0; i < 20; i++) {
        quotas_request_begin(&d, q, &r, ops, 4);
        expect_true(r.admission.all_fit);
        request_end(&r);
    }
    expect_int(asked(&d, HF_OP_COUNT) + asked(&d, HF_OP_HOLDS), 0);
    close_quotas(&d, q);
}

/* What was done here counts at once; what was only asked again may hold locks already. */
static void what_ops_did_is_noted(void **state)
{
    desk d;
    (void)state;
    quotas *q = open_quotas(&d, 10, 10, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP), bob = open_session(&d, "bob", SHOP);
    hf_session_info info = {.opened_us = 5};
    memcpy(info.id, alice.id, sizeof info.id);
    hf_op open = {.kind = HF_OP_SESSION_OPEN,
                  .session = &alice,
                  .answer = {.sessions = &info, .sessions_count = 1, .now_us = 6}};
    admit_note(q, &open, 1);
    expect_int(quotas_count(q), 0);
    open.answer.now_us = 5;
    admit_note(q, &open, 1);
    expect_int(quotas_count(q), 1);
    expect_int(quotas_takes(&d, q, &alice, 5), 5);
    expect_int(quotas_looks(q), 0);
    hf_op close = {.kind = HF_OP_CLOSE, .session = &alice, .answer = {.status = HF_DENIED}};
    admit_note(q, &close, 1);
    expect_int(quotas_count(q), 1);
    close.answer.status = HF_OK;
    admit_note(q, &close, 1);
    expect_int(quotas_count(q), 0);
    quotas_hold(&d, &bob, 10);
    expect_int(quotas_takes(&d, q, &bob, 1), 0);
    hf_lock lost = {0};
    memcpy(lost.session, bob.id, sizeof lost.session);
    hf_op ops[] = {{.kind = HF_OP_RELEASE, .session = &bob},
                   {.kind = HF_OP_RELEASE_ALL, .session = &bob},
                   {.kind = HF_OP_HAND_OVER, .session = &bob},
                   {.kind = HF_OP_FORCE_RELEASE, .answer = {.locks = &lost, .locks_count = 1}}};
    for (size_t i = 0; i < 4; i++) {
        uint64_t before = quotas_looks(q);
        expect_int(quotas_takes(&d, q, &bob, 1), 0);
        expect_int(quotas_looks(q), before);
        admit_note(q, &ops[i], 1);
        expect_int(quotas_takes(&d, q, &bob, 1), 0);
        expect_int(quotas_looks(q), before + 1);
    }
    close_quotas(&d, q);
}

static void a_look_for_what_is_there_that_fails_is_the_answer(void **state)
{
    desk d;
    request r;
    hf_error err = {0};
    size_t which = 0;
    (void)state;
    quotas *q = open_quotas(&d, 2, 0, 0);
    hf_credentials alice = open_session(&d, "alice", SHOP);
    quotas_hold(&d, &alice, 2);
    expect_int(quotas_takes(&d, q, &alice, 1), 0); /* known to be full */
    const hf_op ops[] = {LOCK(alice, "a1"), {.kind = HF_OP_BEAT, .session = &alice}};
    hf_fault_arm(d.fault, 1, false);
    hf_fault_more(d.fault, 100);
    quotas_request_begin(&d, q, &r, ops, 2);
    expect_true(admit_fit(&r.admission, 0, 1, &which, &err) == HF_UNAVAILABLE);
    expect_true(err.message[0] != '\0' && !r.admission.full);
    expect(HF_OK, admit_fit(&r.admission, 1, 2, &which, &err), err);
    request_end(&r);
    hf_fault_arm(d.fault, 0, false);
    close_quotas(&d, q);
}

static void every_allocation_fails_in_turn_in_quotas(void **state)
{
    hf_error err;
    bool all_done = false;
    (void)state;
    for (unsigned n = 1; !all_done; n++) {
        desk d;
        request r;
        size_t which = 0;
        quotas *q = open_quotas(&d, 2, 2, 0);
        hf_credentials alice = open_session(&d, "alice", SHOP), bob = open_session(&d, "bob", SHOP);
        quotas_hold(&d, &alice, 2);
        const hf_op ops[] = {LOCK(alice, "a1"), LOCK(bob, "b1"), LOCK(alice, "a2")};
        scarce_begin(n);
        quotas_request_begin(&d, q, &r, ops, 3);
        quotas_opened(q, SHOP);
        all_done = !scarce_end();
        hf_status status = admit_fit(&r.admission, 0, 3, &which, &err);
        expect_true(status == HF_TOO_MANY || (status == HF_NO_MEMORY && !all_done));
        request_end(&r);
        quotas_request_begin(&d, q, &r, ops, 3); /* nothing is left that was wrong */
        expect_true(admit_fit(&r.admission, 0, 3, &which, &err) == HF_TOO_MANY);
        expect(HF_OK, admit_fit(&r.admission, 1, 2, &which, &err), err);
        request_end(&r);
        close_quotas(&d, q);
    }
    for (unsigned n = 1; n < 3; n++) {
        quotas *none = NULL;
        scarce_begin(n);
        expect_true(quotas_new(&(quotas_settings){0}, &none, &err) == HF_NO_MEMORY);
    }
    scarce_end();
    hf_seam.realloc = realloc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_opened_here_takes_half_of_its_locks_without_a_look),
        cmocka_unit_test(of_whom_nothing_is_known_a_look_is_made),
        cmocka_unit_test(without_a_limit_nothing_is_remembered),
        cmocka_unit_test(many_who_wait_share_looks_in_the_order_they_came),
        cmocka_unit_test(a_look_waits_for_what_is_under_way_and_nothing_passes_it),
        cmocka_unit_test(what_another_server_took_is_noticed_at_the_next_look),
        cmocka_unit_test(a_look_that_fails_is_the_answer_and_lets_nothing_through),
        cmocka_unit_test(a_chain_of_those_who_wait_is_no_chain_of_calls),
        cmocka_unit_test(what_was_given_back_during_a_look_is_looked_for),
        cmocka_unit_test(that_it_is_full_is_believed_for_a_moment),
        cmocka_unit_test(few_keys_are_remembered_those_used_last),
        cmocka_unit_test(random_takers_never_pass_the_limit),
        cmocka_unit_test(ops_of_several_keys_fit_each_by_itself),
        cmocka_unit_test(what_fits_asks_for_nothing_but_the_count),
        cmocka_unit_test(what_ops_did_is_noted),
        cmocka_unit_test(a_look_for_what_is_there_that_fails_is_the_answer),
        cmocka_unit_test(every_allocation_fails_in_turn_in_quotas),
    };
    return cmocka_run_group_tests_name("quotas", tests, NULL, NULL);
}
