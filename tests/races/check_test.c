/* SPDX-License-Identifier: MIT */
/* The history checker on trial: it must pass what a correct store answers, in any interleaving, and
 * must catch every seeded fault. Hand-made histories show each rule; a small model store with a
 * virtual clock, which can be told to misbehave, shows it on thousands of random ones. */
#include "races/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS   INT64_C(1000)
#define IDLE (300 * MS)

enum { X, S }; /* exclusive, shared */

/* ---- hand-made histories: times are in milliseconds ---- */

typedef struct history {
    check_record at[64];
    size_t count;
} history;

static check_record *check_say(history *h, int from, int to, uint32_t session, check_op op,
                               check_result result)
{
    check_record *r = &h->at[h->count++];
    *r = (check_record){.invoke_us = from * MS,
                        .return_us = to * MS,
                        .client = session,
                        .session = session,
                        .op = op,
                        .result = result,
                        .idle_us = IDLE};
    return r;
}

static void check_opens(history *h, int from, int to, uint32_t session)
{
    check_say(h, from, to, session, CHECK_OPEN, CHECK_OK);
}

static void beats(history *h, int from, int to, uint32_t session, check_result result)
{
    check_say(h, from, to, session, CHECK_BEAT, result);
}

static check_record *acquires(history *h, int from, int to, uint32_t session, int mode,
                              int64_t fence)
{
    check_record *r =
        check_say(h, from, to, session, CHECK_ACQUIRE, fence ? CHECK_OK : CHECK_LOCKED);
    r->asked = r->mode = (uint8_t)mode;
    r->fence = fence;
    return r;
}

static check_report check_judge(const history *h)
{
    check_report report;
    check_history(h->at, h->count, 0, &report);
    return report;
}

static void passes(const history *h)
{
    check_report report = check_judge(h);
    if (report.faults)
        check_print(&report, stdout);
    assert_int_equal(report.faults, 0);
}

static void is_caught(const history *h, check_fault fault)
{
    check_report report = check_judge(h);
    if (!report.by_fault[fault])
        check_print(&report, stdout);
    assert_true(report.by_fault[fault] > 0);
}

static history two_sessions(void)
{
    history h = {.count = 0};
    check_opens(&h, 0, 1, 1);
    check_opens(&h, 0, 1, 2);
    return h;
}

static void one_after_the_other_passes(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    acquires(&h, 13, 14, 2, X, 0);
    check_say(&h, 20, 22, 1, CHECK_RELEASE, CHECK_OK);
    acquires(&h, 21, 23, 2, X, 6);
    passes(&h);
}

static void readers_together_pass(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, S, 5);
    acquires(&h, 11, 13, 2, S, 6);
    acquires(&h, 20, 21, 1, X, 0); /* not the only reader */
    check_say(&h, 25, 26, 2, CHECK_RELEASE, CHECK_OK);
    acquires(&h, 30, 31, 1, X, 7);
    check_record *down = check_say(&h, 40, 41, 1, CHECK_DOWNGRADE, CHECK_OK);
    down->mode = S;
    down->fence = 7;
    acquires(&h, 42, 43, 2, S, 8);
    passes(&h);
}

static void a_take_over_at_the_bound_passes_and_is_counted(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    beats(&h, 100, 105, 1, CHECK_OK);
    beats(&h, 200, 205, 2, CHECK_OK);
    acquires(&h, 398, 399, 2, X, 0);
    acquires(&h, 399, 401, 2, X, 6); /* took effect at 400 or later: 100 + 300 */
    beats(&h, 402, 403, 1, CHECK_EXPIRED);
    passes(&h);
    assert_int_equal(check_judge(&h).take_overs, 1);
}

static void an_unknown_release_passes_either_way(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_say(&h, 20, 22, 1, CHECK_RELEASE, CHECK_UNKNOWN);
    acquires(&h, 30, 31, 2, X, 0); /* it had not been done ... */
    acquires(&h, 40, 41, 1, X, 5);
    history other = h;
    passes(&h);
    other.count -= 2;
    acquires(&other, 30, 31, 2, X, 6); /* ... or it had */
    passes(&other);
}

static void a_hand_over_and_a_forced_release_pass(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_record *given = check_say(&h, 20, 22, 1, CHECK_HAND_OVER, CHECK_OK);
    given->target = 2;
    given->fence = 6;
    acquires(&h, 30, 31, 2, X, 6);
    check_record *force = check_say(&h, 40, 42, 0, CHECK_FORCE, CHECK_OK);
    force->only_fence = 6;
    acquires(&h, 43, 44, 1, X, 7);
    check_say(&h, 45, 46, 2, CHECK_RELEASE, CHECK_NOT_HELD);
    passes(&h);
}

static void an_overlap_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_say(&h, 30, 31, 1, CHECK_RELEASE, CHECK_OK);
    history readers = h;
    acquires(&h, 20, 22, 2, X, 6);
    is_caught(&h, CHECK_OVERLAP);
    acquires(&readers, 20, 22, 2, S, 6);
    is_caught(&readers, CHECK_OVERLAP);
}

static void an_overlap_after_an_upgrade_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, S, 5);
    acquires(&h, 11, 13, 2, S, 6);
    acquires(&h, 20, 21, 1, X, 7);
    check_say(&h, 50, 51, 1, CHECK_RELEASE, CHECK_OK);
    check_say(&h, 50, 51, 2, CHECK_RELEASE, CHECK_OK);
    is_caught(&h, CHECK_OVERLAP);
}

static void an_equal_fence_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_say(&h, 20, 22, 1, CHECK_RELEASE, CHECK_OK);
    history again = h;
    acquires(&h, 30, 31, 2, X, 5);
    is_caught(&h, CHECK_EQUAL_FENCE);
    acquires(&again, 30, 31, 1, X, 5); /* the same session, but a second grant */
    is_caught(&again, CHECK_GHOST);
}

static void a_fence_that_goes_back_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_say(&h, 20, 22, 1, CHECK_RELEASE, CHECK_OK);
    acquires(&h, 30, 31, 2, X, 4);
    is_caught(&h, CHECK_FENCE_BACK);
}

static void a_revived_session_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    beats(&h, 100, 105, 1, CHECK_OK);
    history closed = h, acquired = h;
    beats(&h, 406, 407, 1, CHECK_OK);
    is_caught(&h, CHECK_REVIVED);
    check_say(&closed, 110, 111, 1, CHECK_CLOSE, CHECK_OK);
    beats(&closed, 112, 113, 1, CHECK_OK);
    is_caught(&closed, CHECK_REVIVED);
    acquires(&acquired, 406, 407, 1, X, 9);
    is_caught(&acquired, CHECK_REVIVED);
}

static void a_live_session_called_dead_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    beats(&h, 100, 105, 1, CHECK_OK);
    beats(&h, 390, 395, 1, CHECK_EXPIRED);
    is_caught(&h, CHECK_DIED_EARLY);
}

static void an_early_take_over_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    beats(&h, 100, 105, 1, CHECK_OK);
    beats(&h, 150, 155, 2, CHECK_OK);
    acquires(&h, 390, 395, 2, X, 6);
    is_caught(&h, CHECK_EARLY);
}

static void a_late_take_over_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    beats(&h, 150, 155, 2, CHECK_OK);
    acquires(&h, 302, 303, 2, X, 0); /* session 1 is dead since 301 at the latest */
    is_caught(&h, CHECK_GHOST);
}

static void a_weaker_reacquire_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    history refenced = h, shorter = h;
    acquires(&h, 20, 21, 1, S, 5);
    is_caught(&h, CHECK_WEAKER);
    acquires(&refenced, 20, 21, 1, X, 6);
    is_caught(&refenced, CHECK_REFENCED);
    acquires(&shorter, 20, 21, 1, X, 5)->ends_us = 50 * MS;
    is_caught(&shorter, CHECK_WEAKER);
}

static void a_lost_lock_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    history refused = h, asked = h;
    check_say(&h, 20, 21, 1, CHECK_RELEASE, CHECK_NOT_HELD);
    is_caught(&h, CHECK_LOST);
    acquires(&refused, 20, 21, 1, X, 0);
    is_caught(&refused, CHECK_LOST);
    check_say(&asked, 20, 21, 1, CHECK_HOLDS, CHECK_NOT_HELD);
    is_caught(&asked, CHECK_LOST);
}

static void a_release_by_the_fence_of_an_older_grant_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, S, 5);
    acquires(&h, 13, 14, 1, X, 6);
    history refused = h;
    check_say(&h, 20, 21, 1, CHECK_RELEASE, CHECK_OK)->only_fence = 5;
    is_caught(&h, CHECK_OTHER_GRANT);
    check_say(&refused, 20, 21, 1, CHECK_RELEASE, CHECK_NOT_HELD)->only_fence = 5;
    passes(&refused);
}

static void a_ghost_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_say(&h, 20, 22, 1, CHECK_RELEASE, CHECK_OK);
    acquires(&h, 23, 24, 2, X, 0);
    is_caught(&h, CHECK_GHOST);
}

static void a_bound_in_the_wrong_place_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    beats(&h, 100, 105, 1, CHECK_OK);
    h.at[h.count - 1].expires_us = 390 * MS;
    is_caught(&h, CHECK_WRONG_BOUND);
    history own = two_sessions();
    check_record *bounded = acquires(&own, 10, 12, 1, X, 5);
    bounded->ttl_us = 50 * MS;
    bounded->ends_us = 62 * MS;
    acquires(&own, 55, 56, 2, X, 6);
    is_caught(&own, CHECK_EARLY);
}

static void belief_past_the_bound_is_caught(void **state)
{
    (void)state;
    history h = two_sessions();
    acquires(&h, 10, 12, 1, X, 5);
    check_say(&h, 299, 299, 1, CHECK_BELIEF, CHECK_OK);
    passes(&h);
    check_say(&h, 301, 301, 1, CHECK_BELIEF, CHECK_OK);
    is_caught(&h, CHECK_BELIEVED);
}

/* ---- random histories from a model store ---- */

typedef enum bug {
    NO_BUG,
    NO_EXCLUSION,
    EARLY_EXPIRY,
    LATE_EXPIRY,
    LATE_BEATS,
    SAME_FENCE,
    FENCE_RESET,
    WEAKENING,
    REFENCING,
    LOSING,
    KEEPING,
    HALF_RELEASE_ALL,
    ANY_FENCE,
    BUGS
} bug;

#define CLIENTS      6
#define RESOURCES    3
#define SESSIONS_MAX 4000

typedef struct held {
    bool on;
    uint8_t mode;
    int64_t fence, ends_us;
} held;

typedef struct model {
    bug bug;
    unsigned seed;
    int64_t fence[RESOURCES];
    struct {
        bool ended;
        int64_t expires_us;
        held locks[RESOURCES];
    } sessions[SESSIONS_MAX];
    uint32_t sessions_count;
} model;

static int64_t check_pick(model *m, int64_t below)
{
    return (int64_t)(rand_r(&m->seed) % (unsigned)below);
}

static bool strikes(model *m, bug b)
{
    return m->bug == b && check_pick(m, 3) == 0;
}

static bool is_live(model *m, uint32_t s, int64_t now_us)
{
    return !m->sessions[s].ended && m->sessions[s].expires_us > now_us;
}

static held *live_lock(model *m, uint32_t s, uint32_t r, int64_t now_us)
{
    held *lock = &m->sessions[s].locks[r];
    bool bounded = lock->ends_us && lock->ends_us <= now_us;
    return lock->on && is_live(m, s, now_us) && !bounded ? lock : NULL;
}

static bool check_is_blocked(model *m, uint32_t s, uint32_t r, int mode, int64_t now_us)
{
    int64_t judged_us = now_us + (strikes(m, EARLY_EXPIRY) ? IDLE / 3 : 0) -
                        (strikes(m, LATE_EXPIRY) ? IDLE / 3 : 0);
    for (uint32_t other = 0; other < m->sessions_count; other++) {
        held *lock = other == s ? NULL : live_lock(m, other, r, judged_us);
        if (lock && (lock->mode == X || mode == X))
            return !strikes(m, NO_EXCLUSION);
    }
    return false;
}

static void show(check_record *q, const held *lock)
{
    q->result = CHECK_OK;
    q->mode = lock->mode;
    q->fence = lock->fence;
    q->ends_us = lock->ends_us;
}

static void model_acquire(model *m, check_record *q, int64_t now_us)
{
    held *lock = live_lock(m, q->session, q->resource, now_us);
    if (check_is_blocked(m, q->session, q->resource, q->asked, now_us) &&
        !(lock && lock->mode <= q->asked)) {
        q->result = CHECK_LOCKED;
        return;
    }
    if (lock && lock->mode <= q->asked && !strikes(m, REFENCING)) {
        if (strikes(m, WEAKENING))
            lock->mode = q->asked;
        show(q, lock);
        return;
    }
    int64_t ends_us = lock ? lock->ends_us : q->ttl_us ? now_us + q->ttl_us : 0;
    if (!strikes(m, SAME_FENCE))
        m->fence[q->resource]++;
    held *own = &m->sessions[q->session].locks[q->resource];
    *own = (held){true, q->asked, m->fence[q->resource], ends_us};
    show(q, own);
    if (strikes(m, LOSING))
        own->on = false;
}

static void model_release(model *m, check_record *q, int64_t now_us)
{
    held *lock = live_lock(m, q->session, q->resource, now_us);
    if (lock && q->only_fence && q->only_fence != lock->fence && m->bug != ANY_FENCE)
        lock = NULL;
    q->result = lock ? CHECK_OK : CHECK_NOT_HELD;
    if (lock && !strikes(m, KEEPING))
        lock->on = false;
    if (strikes(m, FENCE_RESET))
        m->fence[q->resource] = 0;
}

static void model_beat(model *m, check_record *q, int64_t now_us)
{
    q->result = CHECK_OK;
    q->expires_us = m->sessions[q->session].expires_us = now_us + IDLE;
}

static void model_drop_all(model *m, check_record *q)
{
    q->result = CHECK_OK;
    for (uint32_t r = 0; r < RESOURCES; r++)
        m->sessions[q->session].locks[r].on &= m->bug == HALF_RELEASE_ALL && r % 2;
}

static void model_force(model *m, check_record *q, int64_t now_us)
{
    q->result = CHECK_NOT_HELD;
    for (uint32_t s = 0; s < m->sessions_count; s++) {
        held *lock = live_lock(m, s, q->resource, now_us);
        if (lock && (q->only_fence == 0 || q->only_fence == lock->fence)) {
            lock->on = false;
            q->result = CHECK_OK;
        }
    }
}

static void model_hand_over(model *m, check_record *q, held *lock, int64_t now_us)
{
    if (!is_live(m, q->target, now_us) || q->target == q->session ||
        live_lock(m, q->target, q->resource, now_us)) {
        q->result = CHECK_NOTHING;
        return;
    }
    held *given = &m->sessions[q->target].locks[q->resource];
    *given = *lock;
    given->fence = ++m->fence[q->resource];
    lock->on = false;
    show(q, given);
}

static void model_on_lock(model *m, check_record *q, int64_t now_us)
{
    held *lock = live_lock(m, q->session, q->resource, now_us);
    q->result = CHECK_NOT_HELD;
    if (!lock)
        return;
    if (q->op == CHECK_HAND_OVER) {
        model_hand_over(m, q, lock, now_us);
        return;
    }
    if (q->op == CHECK_DOWNGRADE)
        lock->mode = S;
    if (q->op == CHECK_RENEW)
        lock->ends_us = q->ttl_us ? now_us + q->ttl_us : 0;
    show(q, lock);
}

static void model_do(model *m, check_record *q, int64_t now_us)
{
    bool forced = q->op == CHECK_FORCE, late = q->op == CHECK_BEAT && m->bug == LATE_BEATS;
    if (q->op == CHECK_OPEN) {
        q->session = m->sessions_count++;
        model_beat(m, q, now_us);
    } else if (!forced && !is_live(m, q->session, now_us) &&
               !(late && !m->sessions[q->session].ended)) {
        q->result = q->op == CHECK_CLOSE ? CHECK_OK : CHECK_EXPIRED;
    } else if (q->op == CHECK_BEAT) {
        model_beat(m, q, now_us);
    } else if (q->op == CHECK_ACQUIRE) {
        model_acquire(m, q, now_us);
    } else if (q->op == CHECK_RELEASE) {
        model_release(m, q, now_us);
    } else if (q->op == CHECK_RELEASE_ALL || q->op == CHECK_CLOSE) {
        model_drop_all(m, q);
        m->sessions[q->session].ended |= q->op == CHECK_CLOSE;
    } else if (forced) {
        model_force(m, q, now_us);
    } else {
        model_on_lock(m, q, now_us);
    }
}

/* What a client asks next; `at_us` is when it takes effect. */
typedef struct client {
    check_record next;
    int64_t at_us;
    uint32_t session;
    bool open;
} client;

static void client_ask(model *m, client *c)
{
    static const uint8_t ops[] = {
        CHECK_BEAT,    CHECK_BEAT,    CHECK_ACQUIRE,     CHECK_ACQUIRE, CHECK_ACQUIRE,
        CHECK_ACQUIRE, CHECK_RELEASE, CHECK_RELEASE_ALL, CHECK_HOLDS,   CHECK_DOWNGRADE,
        CHECK_RENEW,   CHECK_FORCE,   CHECK_HAND_OVER,   CHECK_CLOSE};
    bool pause = check_pick(m, 25) == 0;
    check_record q = {.invoke_us =
                          c->next.return_us + check_pick(m, 20 * MS) + (pause ? IDLE : 0) + 1,
                      .idle_us = IDLE,
                      .session = c->session,
                      .client = c->session,
                      .resource = (uint32_t)check_pick(m, RESOURCES)};
    q.op = c->open ? ops[check_pick(m, sizeof ops)] : CHECK_OPEN;
    q.asked = (uint8_t)check_pick(m, 2);
    q.ttl_us = check_pick(m, 4) == 0 ? check_pick(m, 100 * MS) + 1 : 0;
    q.target =
        m->sessions_count > CLIENTS ? m->sessions_count - 1 - (uint32_t)check_pick(m, CLIENTS) : 0;
    if ((q.op == CHECK_FORCE || q.op == CHECK_RELEASE) && check_pick(m, 2))
        q.only_fence = m->fence[q.resource] - check_pick(m, 2);
    c->at_us = q.invoke_us + 1 + check_pick(m, 5 * MS);
    q.return_us = c->at_us + 1 + check_pick(m, 5 * MS);
    c->next = q;
}

/* Sometimes the client never learns the answer. */
static void client_forget(model *m, check_record *q)
{
    if (check_pick(m, 60) != 0 || q->op == CHECK_OPEN)
        return;
    q->result = CHECK_UNKNOWN;
    q->fence = q->ends_us = q->expires_us = 0;
}

static size_t check_simulate(bug b, unsigned seed, check_record *out, size_t count)
{
    static model m;
    client clients[CLIENTS] = {0};
    memset(&m, 0, sizeof m);
    m.bug = b;
    m.seed = seed;
    for (int i = 0; i < CLIENTS; i++)
        client_ask(&m, &clients[i]);
    for (size_t n = 0; n < count; n++) {
        client *c = &clients[0];
        for (int i = 1; i < CLIENTS; i++)
            c = clients[i].at_us < c->at_us ? &clients[i] : c;
        model_do(&m, &c->next, c->at_us);
        c->session = c->next.session;
        c->open = c->next.result != CHECK_EXPIRED && c->next.op != CHECK_CLOSE;
        client_forget(&m, &c->next);
        c->next.client = (uint32_t)(c - clients);
        out[n] = c->next;
        client_ask(&m, c);
    }
    return count;
}

#define SIMULATED 3000

static void a_correct_store_never_raises_an_alarm(void **state)
{
    (void)state;
    static check_record records[SIMULATED];
    check_report report = {0};
    size_t grants = 0, take_overs = 0, refusals = 0;
    for (unsigned seed = 1; seed <= 300; seed++) {
        check_history(records, check_simulate(NO_BUG, seed, records, SIMULATED), 0, &report);
        if (report.faults) {
            printf("# seed %u\n", seed);
            check_print(&report, stdout);
        }
        assert_int_equal(report.faults, 0);
        grants += report.grants;
        take_overs += report.take_overs;
        refusals += report.refusals;
    }
    printf("# 300 histories of %d calls: %zu grants, %zu refusals, %zu take-overs, no alarm\n",
           SIMULATED, grants, refusals, take_overs);
    assert_true(grants > 50000 && take_overs > 1000);
}

static void every_seeded_bug_is_caught(void **state)
{
    (void)state;
    static check_record records[SIMULATED];
    static const struct {
        bug bug;
        const char *name;
        check_fault faults[3];
    } seeded[] = {
        {NO_EXCLUSION, "conflicting locks are granted", {CHECK_OVERLAP, CHECK_EARLY, CHECK_EARLY}},
        {EARLY_EXPIRY, "sessions are stepped over early", {CHECK_EARLY, CHECK_EARLY, CHECK_EARLY}},
        {LATE_EXPIRY, "sessions are stepped over late", {CHECK_GHOST, CHECK_GHOST, CHECK_GHOST}},
        {LATE_BEATS, "late beats are accepted", {CHECK_REVIVED, CHECK_REVIVED, CHECK_REVIVED}},
        {SAME_FENCE, "a grant keeps the fence", {CHECK_EQUAL_FENCE, CHECK_GHOST, CHECK_GHOST}},
        {FENCE_RESET,
         "the fence starts again",
         {CHECK_FENCE_BACK, CHECK_EQUAL_FENCE, CHECK_EQUAL_FENCE}},
        {WEAKENING, "re-acquiring weakens", {CHECK_WEAKER, CHECK_WEAKER, CHECK_WEAKER}},
        {REFENCING,
         "re-acquiring changes the fence",
         {CHECK_REFENCED, CHECK_REFENCED, CHECK_REFENCED}},
        {LOSING, "a granted lock is not kept", {CHECK_LOST, CHECK_OVERLAP, CHECK_EARLY}},
        {KEEPING, "a released lock is kept", {CHECK_GHOST, CHECK_GHOST, CHECK_GHOST}},
        {HALF_RELEASE_ALL, "release-all forgets some", {CHECK_GHOST, CHECK_GHOST, CHECK_GHOST}},
        {ANY_FENCE,
         "a release takes any fence",
         {CHECK_OTHER_GRANT, CHECK_OTHER_GRANT, CHECK_OTHER_GRANT}},
    };
    assert_int_equal(sizeof seeded / sizeof *seeded, BUGS - 1);
    for (size_t i = 0; i < sizeof seeded / sizeof *seeded; i++) {
        unsigned caught = 0;
        for (unsigned seed = 1; seed <= 20; seed++) {
            check_report report;
            check_history(records, check_simulate(seeded[i].bug, seed, records, SIMULATED), 0,
                          &report);
            const size_t *by = report.by_fault;
            caught +=
                by[seeded[i].faults[0]] + by[seeded[i].faults[1]] + by[seeded[i].faults[2]] > 0;
        }
        printf("# %s: caught in %u of 20 histories\n", seeded[i].name, caught);
        assert_true(caught >= 18);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other_passes),
        cmocka_unit_test(readers_together_pass),
        cmocka_unit_test(a_take_over_at_the_bound_passes_and_is_counted),
        cmocka_unit_test(an_unknown_release_passes_either_way),
        cmocka_unit_test(a_hand_over_and_a_forced_release_pass),
        cmocka_unit_test(an_overlap_is_caught),
        cmocka_unit_test(an_overlap_after_an_upgrade_is_caught),
        cmocka_unit_test(an_equal_fence_is_caught),
        cmocka_unit_test(a_fence_that_goes_back_is_caught),
        cmocka_unit_test(a_revived_session_is_caught),
        cmocka_unit_test(a_live_session_called_dead_is_caught),
        cmocka_unit_test(an_early_take_over_is_caught),
        cmocka_unit_test(a_late_take_over_is_caught),
        cmocka_unit_test(a_weaker_reacquire_is_caught),
        cmocka_unit_test(a_lost_lock_is_caught),
        cmocka_unit_test(a_release_by_the_fence_of_an_older_grant_is_caught),
        cmocka_unit_test(a_ghost_is_caught),
        cmocka_unit_test(a_bound_in_the_wrong_place_is_caught),
        cmocka_unit_test(belief_past_the_bound_is_caught),
        cmocka_unit_test(a_correct_store_never_raises_an_alarm),
        cmocka_unit_test(every_seeded_bug_is_caught),
    };
    return cmocka_run_group_tests_name("the history checker", tests, NULL, NULL);
}
