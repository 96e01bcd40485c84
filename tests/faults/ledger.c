/* SPDX-License-Identifier: MIT */
/* The ledger. ledger_apply is the one place that says what each op does; it is used to book an
 * answer, and to picture what a crash may have left of the op that was under way. */
#include "faults/ledger.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_US (INT64_C(3600) * 1000000)

static _Thread_local char verdict[1024];

static const char *ledger_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *ledger_wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(verdict, sizeof verdict, format, args);
    va_end(args);
    return verdict;
}

void ledger_init(ledger *l, const char *type, unsigned seed)
{
    *l = (ledger){.seed = seed};
    snprintf(l->type, sizeof l->type, "%s", type);
}

static unsigned ledger_pick(ledger *l, unsigned below)
{
    return (unsigned)rand_r(&l->seed) % below;
}

static void ledger_name_resource(unsigned resource, char *out, size_t size)
{
    snprintf(out, size, "%02u", resource); /* so that canonical order is numerical order */
}

size_t ledger_held(const ledger *l)
{
    size_t held = 0;
    for (unsigned r = 0; r < LEDGER_RESOURCES; r++)
        for (unsigned s = 0; s < LEDGER_SESSIONS; s++)
            held += l->locks[r][s].held;
    return held;
}

/* ---- choosing ---- */

static bool choose_set(ledger *l, ledger_op *op)
{
    op->count = ledger_pick(l, 4) ? 1 : 2 + ledger_pick(l, LEDGER_SET - 1);
    op->mode = ledger_pick(l, 3) ? HF_EXCLUSIVE : HF_SHARED;
    op->ttl_us = ledger_pick(l, 4) ? 0 : (INT64_C(1) + ledger_pick(l, 100)) * 3600000000;
    unsigned first = ledger_pick(l, LEDGER_RESOURCES);
    for (unsigned i = 0; i < op->count; i++) /* 7 and 24 have no common factor: all different */
        op->resources[i] = (first + i * 7) % LEDGER_RESOURCES;
    return true;
}

static bool choose_target(ledger *l, ledger_op *op)
{
    op->target = ledger_pick(l, LEDGER_SESSIONS);
    return op->target != op->session && l->sessions[op->target].open;
}

/* Mostly something the session holds. */
static void ledger_aim(ledger *l, ledger_op *op)
{
    op->count = 1;
    op->resources[0] = ledger_pick(l, LEDGER_RESOURCES);
    for (unsigned i = 0; i < LEDGER_RESOURCES && ledger_pick(l, 10); i++) {
        unsigned r = (op->resources[0] + i) % LEDGER_RESOURCES;
        if (l->locks[r][op->session].held) {
            op->resources[0] = r;
            return;
        }
    }
}

static bool choose_for(ledger *l, ledger_op *op)
{
    static const unsigned char kinds[] = {
        LEDGER_BEAT,      LEDGER_BEAT,      LEDGER_BEAT,      LEDGER_ACQUIRE, LEDGER_ACQUIRE,
        LEDGER_ACQUIRE,   LEDGER_ACQUIRE,   LEDGER_ACQUIRE,   LEDGER_ACQUIRE, LEDGER_RENEW,
        LEDGER_DOWNGRADE, LEDGER_RELEASE,   LEDGER_RELEASE,   LEDGER_RELEASE, LEDGER_RELEASE,
        LEDGER_FORCE,     LEDGER_HAND_OVER, LEDGER_HAND_OVER,
    };
    op->kind = kinds[ledger_pick(l, sizeof kinds)];
    if (ledger_pick(l, 40) == 0)
        op->kind = ledger_pick(l, 2) ? LEDGER_CLOSE : LEDGER_RELEASE_ALL;
    if (op->kind == LEDGER_ACQUIRE)
        return choose_set(l, op);
    ledger_aim(l, op);
    if (op->kind == LEDGER_RENEW)
        op->ttl_us = ledger_pick(l, 2) ? 0 : (INT64_C(1) + ledger_pick(l, 100)) * 3600000000;
    return op->kind != LEDGER_HAND_OVER || choose_target(l, op);
}

ledger_op ledger_choose(ledger *l)
{
    ledger_op op;
    do {
        op = (ledger_op){.session = ledger_pick(l, LEDGER_SESSIONS)};
        if (!l->sessions[op.session].open) {
            op.kind = LEDGER_OPEN;
            if (hf_credentials_new(NULL, &op.credentials, NULL) != HF_OK)
                abort();
            break;
        }
    } while (!choose_for(l, &op));
    op.number = ++l->ops;
    l->pending = op;
    return op;
}

/* ---- asking ---- */

static const hf_op_kind kinds_of[LEDGER_KINDS] = {
    [LEDGER_OPEN] = HF_OP_SESSION_OPEN,   [LEDGER_BEAT] = HF_OP_BEAT,
    [LEDGER_CLOSE] = HF_OP_CLOSE,         [LEDGER_ACQUIRE] = HF_OP_ACQUIRE,
    [LEDGER_RENEW] = HF_OP_RENEW,         [LEDGER_DOWNGRADE] = HF_OP_DOWNGRADE,
    [LEDGER_RELEASE] = HF_OP_RELEASE,     [LEDGER_RELEASE_ALL] = HF_OP_RELEASE_ALL,
    [LEDGER_HAND_OVER] = HF_OP_HAND_OVER, [LEDGER_FORCE] = HF_OP_FORCE_RELEASE,
};

static void ledger_fill(hf_op *to, const ledger *l, const ledger_op *op, const char *id,
                        const char *request)
{
    to->session =
        op->kind == LEDGER_OPEN ? &op->credentials : &l->sessions[op->session].credentials;
    to->request_id = request;
    to->user = l->type;
    to->idle_us = op->kind == LEDGER_OPEN ? IDLE_US : 0;
    if (op->count) {
        to->type = l->type;
        to->id = id;
        to->mode = op->mode;
        to->ttl_us = op->ttl_us;
    }
    if (op->kind == LEDGER_HAND_OVER)
        to->target = l->sessions[op->target].credentials.id;
    if (op->kind == LEDGER_FORCE) {
        to->session = NULL;
        to->actor = "ledger";
        to->text = "by chance";
    }
}

static void read_answer(hf_batch *batch, ledger_answer *out)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        const hf_answer *answer = &hf_batch_op(batch, i)->answer;
        if (answer->status == HF_NOT_APPLIED)
            continue;
        if (answer->status != HF_OK) {
            out->status = answer->status;
            snprintf(out->message, sizeof out->message, "%s",
                     answer->message ? answer->message : "");
            return;
        }
        if (answer->sessions_count)
            out->expires_us = answer->sessions[0].expires_us;
        if (answer->locks && answer->locks_count && i < LEDGER_SET) {
            out->locks[i].mode = answer->locks[0].mode;
            out->locks[i].fence = answer->locks[0].fence;
            out->locks[i].ends_us = answer->locks[0].ends_us;
        }
    }
}

void ledger_ask(hf_store *store, const ledger *l, const ledger_op *op, ledger_answer *out)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    char ids[LEDGER_SET][8], request[32];
    unsigned ops = op->count ? op->count : 1;
    bool alone =
        op->kind == LEDGER_BEAT || op->kind == LEDGER_CLOSE || op->kind == LEDGER_RELEASE_ALL;
    if (alone)
        ops = 1;
    *out = (ledger_answer){.status = HF_OK, .count = op->count};
    snprintf(request, sizeof request, "%s-%u", l->type, op->number);
    if (hf_batch_new(ops, &batch, NULL) != HF_OK)
        abort();
    for (unsigned i = 0; i < ops; i++) {
        hf_op *to = hf_batch_add(batch, kinds_of[op->kind]);
        ledger_name_resource(op->resources[i], ids[i], sizeof ids[i]);
        ledger_fill(to, l, op, ids[i], request);
        to->linked = i + 1 < ops;
    }
    out->status = hf_store_execute(store, batch, &err);
    if (out->status == HF_OK)
        read_answer(batch, out);
    else
        snprintf(out->message, sizeof out->message, "%.255s", err.message);
    hf_batch_free(batch);
}

/* ---- foretelling ---- */

static bool ledger_is_blocked(const ledger *l, unsigned r, unsigned session, hf_mode mode)
{
    const ledger_lock *mine = &l->locks[r][session];
    if (mine->held && (mine->mode == HF_EXCLUSIVE || mode == HF_SHARED))
        return false;
    for (unsigned s = 0; s < LEDGER_SESSIONS; s++) {
        const ledger_lock *theirs = &l->locks[r][s];
        if (s != session && theirs->held && (theirs->mode == HF_EXCLUSIVE || mode == HF_EXCLUSIVE))
            return true;
    }
    return false;
}

hf_status ledger_foretell(const ledger *l, const ledger_op *op)
{
    bool held = op->count && l->locks[op->resources[0]][op->session].held;
    bool anybody = false;
    for (unsigned s = 0; s < LEDGER_SESSIONS && op->count; s++)
        anybody |= l->locks[op->resources[0]][s].held;
    switch (op->kind) {
    case LEDGER_ACQUIRE:
        for (unsigned i = 0; i < op->count; i++)
            if (ledger_is_blocked(l, op->resources[i], op->session, op->mode))
                return HF_LOCKED;
        return HF_OK;
    case LEDGER_RENEW:
    case LEDGER_DOWNGRADE:
    case LEDGER_RELEASE:
    case LEDGER_HAND_OVER:
        return held ? HF_OK : HF_NOT_HELD;
    case LEDGER_FORCE:
        return anybody ? HF_OK : HF_NOT_HELD;
    default:
        return HF_OK;
    }
}

/* ---- what each op does ---- */

static void ledger_left(ledger *l, hf_event_kind kind, unsigned resource, unsigned session,
                        int64_t fence)
{
    if (l->events_count == LEDGER_EVENTS_MAX)
        abort();
    ledger_event *event = &l->events[l->events_count++];
    *event = (ledger_event){.kind = kind, .resource = resource, .fence = fence};
    if (session < LEDGER_SESSIONS)
        memcpy(event->session, l->sessions[session].credentials.id, sizeof event->session);
}

/* A lock as answered, or, if there is no answer, with a fence nobody was told. */
static void ledger_grant(ledger *l, unsigned r, unsigned s, hf_mode mode,
                         const ledger_answer *answer, unsigned i)
{
    ledger_lock *lock = &l->locks[r][s];
    *lock = (ledger_lock){.held = true, .mode = mode};
    if (!answer)
        return;
    lock->fence = answer->locks[i].fence;
    lock->ends_us = answer->locks[i].ends_us;
    lock->ends_known = true;
    l->last_fence[r] = lock->fence > l->last_fence[r] ? lock->fence : l->last_fence[r];
}

static void apply_acquire(ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    for (unsigned i = 0; i < op->count; i++) {
        unsigned r = op->resources[i];
        const ledger_lock mine = l->locks[r][op->session];
        if (mine.held && (mine.mode == HF_EXCLUSIVE || op->mode == HF_SHARED))
            continue;
        ledger_grant(l, r, op->session, op->mode, answer, i);
        ledger_left(l, mine.held ? HF_EVENT_UPGRADED : HF_EVENT_ACQUIRED, r, op->session,
                    l->locks[r][op->session].fence);
    }
}

static void apply_drop_all(ledger *l, unsigned session)
{
    for (unsigned r = 0; r < LEDGER_RESOURCES; r++) {
        ledger_lock *lock = &l->locks[r][session];
        if (lock->held)
            ledger_left(l, HF_EVENT_RELEASED, r, session, lock->fence);
        lock->held = false;
    }
}

static void apply_force(ledger *l, unsigned r)
{
    for (unsigned s = 0; s < LEDGER_SESSIONS; s++)
        l->locks[r][s].held = false;
    ledger_left(l, HF_EVENT_FORCED, r, LEDGER_SESSIONS, 0);
}

static void apply_session(ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    unsigned s = op->session;
    if (op->kind == LEDGER_OPEN) {
        l->sessions[s].open = true;
        l->sessions[s].credentials = op->credentials;
        l->sessions[s].least_expires_us = answer ? answer->expires_us : 0;
        ledger_left(l, HF_EVENT_SESSION_OPENED, LEDGER_RESOURCES, s, 0);
    }
    if (op->kind == LEDGER_OPEN || op->kind == LEDGER_BEAT)
        l->sessions[s].expires_us = answer ? answer->expires_us : INT64_MAX;
    if (op->kind == LEDGER_RELEASE_ALL || op->kind == LEDGER_CLOSE)
        apply_drop_all(l, s);
    if (op->kind == LEDGER_CLOSE) {
        ledger_left(l, HF_EVENT_SESSION_CLOSED, LEDGER_RESOURCES, s, 0);
        l->sessions[s].open = false;
    }
}

static void apply_lock(ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    unsigned r = op->resources[0], s = op->session;
    ledger_lock *lock = &l->locks[r][s];
    if (op->kind == LEDGER_RENEW) {
        lock->ends_us = answer ? answer->locks[0].ends_us : 0;
        lock->ends_known = answer != NULL;
        ledger_left(l, HF_EVENT_RENEWED, r, s, lock->fence);
    } else if (op->kind == LEDGER_DOWNGRADE && lock->mode == HF_EXCLUSIVE) {
        lock->mode = HF_SHARED;
        ledger_left(l, HF_EVENT_DOWNGRADED, r, s, lock->fence);
    } else if (op->kind == LEDGER_RELEASE) {
        lock->held = false;
        ledger_left(l, HF_EVENT_RELEASED, r, s, lock->fence);
    } else if (op->kind == LEDGER_HAND_OVER) {
        lock->held = false;
        ledger_grant(l, r, op->target, lock->mode, answer, 0);
        ledger_left(l, HF_EVENT_HANDED_OVER, r, op->target, l->locks[r][op->target].fence);
    }
}

/* answer NULL: it was done, but nobody heard of it. */
static void apply(ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    if (op->kind == LEDGER_ACQUIRE)
        apply_acquire(l, op, answer);
    else if (op->kind == LEDGER_FORCE)
        apply_force(l, op->resources[0]);
    else if (op->kind == LEDGER_RENEW || op->kind == LEDGER_DOWNGRADE ||
             op->kind == LEDGER_RELEASE || op->kind == LEDGER_HAND_OVER)
        apply_lock(l, op, answer);
    else
        apply_session(l, op, answer);
}

/* ---- booking ---- */

/* What a grant says of itself. */
static const char *judge_grant(const ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    if (op->kind == LEDGER_HAND_OVER && answer->locks[0].fence <= l->last_fence[op->resources[0]])
        return ledger_wrong("op %u: the fence %lld of a hand-over is not above %lld", op->number,
                            (long long)answer->locks[0].fence,
                            (long long)l->last_fence[op->resources[0]]);
    for (unsigned i = 0; op->kind == LEDGER_ACQUIRE && i < op->count; i++) {
        unsigned r = op->resources[i];
        const ledger_lock *mine = &l->locks[r][op->session];
        bool again = mine->held && (mine->mode == HF_EXCLUSIVE || op->mode == HF_SHARED);
        if (again && (answer->locks[i].fence != mine->fence || answer->locks[i].mode != mine->mode))
            return ledger_wrong("op %u: acquiring %s/%02u again changed it", op->number, l->type,
                                r);
        if (!again && answer->locks[i].fence <= l->last_fence[r])
            return ledger_wrong("op %u: the fence %lld of %s/%02u is not above %lld", op->number,
                                (long long)answer->locks[i].fence, l->type, r,
                                (long long)l->last_fence[r]);
        if (!again && answer->locks[i].mode != op->mode)
            return ledger_wrong("op %u: %s/%02u was granted in another mode", op->number, l->type,
                                r);
    }
    return NULL;
}

static bool says_nothing(hf_status status)
{
    return status == HF_BUSY || status == HF_UNAVAILABLE || status == HF_RETRY ||
           status == HF_NO_MEMORY;
}

const char *ledger_book(ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    if (answer->status == HF_UNSURE)
        return NULL;
    l->pending.kind = LEDGER_NOTHING;
    if (says_nothing(answer->status))
        return NULL;
    hf_status expected = ledger_foretell(l, op);
    if (answer->status != expected)
        return ledger_wrong("op %u (%s by session %u on %02u): answered %s (%s), not %s",
                            op->number, hf_op_kind_name(kinds_of[op->kind]), op->session,
                            op->resources[0], hf_status_wire(answer->status), answer->message,
                            hf_status_wire(expected));
    if (answer->status != HF_OK)
        return NULL;
    const char *problem = judge_grant(l, op, answer);
    if (!problem)
        apply(l, op, answer);
    return problem;
}

const char *ledger_step(ledger *l, hf_store *store, hf_status *status)
{
    ledger_op op = ledger_choose(l);
    ledger_answer answer;
    ledger_ask(store, l, &op, &answer);
    if (status)
        *status = answer.status;
    return ledger_book(l, &op, &answer);
}

/* ---- events ---- */

static bool is_that(const ledger *l, const ledger_event *expected, const hf_event *event)
{
    char id[8] = "";
    bool of_lock = expected->resource < LEDGER_RESOURCES;
    if (of_lock)
        ledger_name_resource(expected->resource, id, sizeof id);
    return event->kind == expected->kind && strcmp(event->resource.id, id) == 0 &&
           (!of_lock || strcmp(event->resource.type, l->type) == 0) &&
           (expected->fence == 0 || event->fence == expected->fence) &&
           (expected->session[0] == '\0' || strcmp(event->session, expected->session) == 0);
}

static bool same_event(const hf_event *a, const hf_event *b)
{
    return a->seq == b->seq && a->kind == b->kind && a->at_us == b->at_us && a->fence == b->fence &&
           hf_resource_compare(&a->resource, &b->resource) == 0 &&
           strcmp(a->session, b->session) == 0;
}

/* One page of events after a number. NULL with *status. */
static hf_batch *read_page(hf_store *store, int64_t after_seq, size_t limit, hf_status *status)
{
    hf_batch *batch = NULL;
    if (hf_batch_new(1, &batch, NULL) != HF_OK)
        abort();
    hf_op *op = hf_batch_add(batch, HF_OP_EVENTS);
    op->after_seq = after_seq;
    op->limit = limit;
    *status = hf_store_execute(store, batch, NULL);
    if (*status == HF_OK)
        *status = op->answer.status;
    return batch;
}

/* The last event that was read must still have its number. */
static const char *verify_seen(const ledger *l, hf_store *store)
{
    hf_status status;
    if (l->seen_seq == 0)
        return NULL;
    hf_batch *page = read_page(store, l->seen_seq - 1, 1, &status);
    const hf_answer *answer = &hf_batch_op(page, 0)->answer;
    const char *problem = NULL;
    if (status != HF_OK)
        problem = ledger_wrong("events can't be read: %s", hf_status_wire(status));
    else if (answer->events_count != 1 || !same_event(&answer->events[0], &l->seen))
        problem = ledger_wrong("event %lld, which had been read, is another one now or gone",
                               (long long)l->seen_seq);
    hf_batch_free(page);
    return problem;
}

/* While someone else gives events their numbers, those without one are not seen yet: they are
 * waited for. */
const char *ledger_follow(ledger *l, hf_store *store)
{
    enum { TRIES = 100, PAUSE_MS = 50 };
    size_t matched = 0;
    int tries = 0;
    for (size_t read = 1; read > 0 || (matched < l->events_count && tries++ < TRIES);) {
        if (read == 0)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
        hf_status status;
        hf_batch *page = read_page(store, l->seen_seq, HF_LIST_MAX, &status);
        const hf_answer *answer = &hf_batch_op(page, 0)->answer;
        read = status == HF_OK ? answer->events_count : 0;
        for (size_t i = 0; i < read; i++) {
            matched +=
                matched < l->events_count && is_that(l, &l->events[matched], &answer->events[i]);
            l->seen = answer->events[i];
            l->seen_seq = answer->events[i].seq;
        }
        hf_batch_free(page);
        if (status != HF_OK)
            return ledger_wrong("events can't be read: %s", hf_status_wire(status));
    }
    if (matched < l->events_count) {
        const ledger_event *missing = &l->events[matched];
        return ledger_wrong("no event says %s of %s/%02u with fence %lld",
                            hf_event_kind_name(missing->kind), l->type, missing->resource,
                            (long long)missing->fence);
    }
    l->events_count = 0;
    return NULL;
}

/* ---- after a crash ---- */

typedef struct found {
    /* the last: the session that is being opened */
    ledger_lock locks[LEDGER_RESOURCES][LEDGER_SESSIONS + 1];
    bool session[LEDGER_SESSIONS];
    int64_t expires_us[LEDGER_SESSIONS];
    bool pending_session; /* the one that was being opened is there */
    int64_t pending_expires_us;
} found;

static int ledger_session_of(const ledger *l, const char *id)
{
    for (int s = 0; s < LEDGER_SESSIONS; s++)
        if (strcmp(l->sessions[s].credentials.id, id) == 0)
            return s;
    return -1;
}

static const char *find_locks(const ledger *l, hf_store *store, found *out)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    char ids[LEDGER_RESOURCES][8];
    const char *problem = NULL;
    if (hf_batch_new(LEDGER_RESOURCES, &batch, NULL) != HF_OK)
        abort();
    for (unsigned r = 0; r < LEDGER_RESOURCES; r++) {
        hf_op *op = hf_batch_add(batch, HF_OP_WHO);
        ledger_name_resource(r, ids[r], sizeof ids[r]);
        op->type = l->type;
        op->id = ids[r];
    }
    hf_status status = hf_store_execute(store, batch, &err);
    if (status != HF_OK)
        problem = ledger_wrong("who can't be asked: %s: %s", hf_status_wire(status), err.message);
    for (unsigned r = 0; r < LEDGER_RESOURCES && !problem; r++) {
        const hf_answer *answer = &hf_batch_op(batch, r)->answer;
        for (size_t i = 0; i < answer->locks_count && !problem; i++) {
            const hf_lock *lock = &answer->locks[i];
            int s = ledger_session_of(l, lock->session);
            if (s < 0)
                problem = ledger_wrong("%s/%02u is held by session %s, which is not known", l->type,
                                       r, lock->session);
            else
                out->locks[r][s] =
                    (ledger_lock){true, lock->mode, lock->fence, lock->ends_us, true};
        }
    }
    hf_batch_free(batch);
    return problem;
}

static const char *find_sessions(const ledger *l, hf_store *store, found *out)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    const char *problem = NULL;
    if (hf_batch_new(1, &batch, NULL) != HF_OK)
        abort();
    hf_op *op = hf_batch_add(batch, HF_OP_SESSIONS);
    op->user = l->type;
    op->limit = HF_LIST_MAX;
    hf_status status = hf_store_execute(store, batch, &err);
    if (status != HF_OK)
        problem =
            ledger_wrong("sessions can't be listed: %s: %s", hf_status_wire(status), err.message);
    for (size_t i = 0; !problem && i < op->answer.sessions_count; i++) {
        const hf_session_info *info = &op->answer.sessions[i];
        int s = ledger_session_of(l, info->id);
        if (l->pending.kind == LEDGER_OPEN && strcmp(info->id, l->pending.credentials.id) == 0) {
            out->pending_session = true;
            out->pending_expires_us = info->expires_us;
        } else if (s < 0 || !l->sessions[s].open) {
            problem =
                ledger_wrong("session %s is open, which was closed or never opened", info->id);
        } else {
            out->session[s] = true;
            out->expires_us[s] = info->expires_us;
        }
    }
    hf_batch_free(batch);
    return problem;
}

static bool ledger_fits(const ledger_lock *expected, const ledger_lock *actual)
{
    if (!expected->held || !actual->held)
        return expected->held == actual->held;
    return expected->mode == actual->mode &&
           (expected->fence == 0 || expected->fence == actual->fence) &&
           (!expected->ends_known || expected->ends_us == actual->ends_us);
}

/* Is the store as this ledger says? */
static const char *ledger_compare(const ledger *l, const found *is)
{
    for (unsigned r = 0; r < LEDGER_RESOURCES; r++)
        for (unsigned s = 0; s < LEDGER_SESSIONS; s++)
            if (!ledger_fits(&l->locks[r][s], &is->locks[r][s]))
                return ledger_wrong(
                    "%s/%02u by session %u: acknowledged %s (mode %d, fence %lld), found %s (mode "
                    "%d, fence %lld)",
                    l->type, r, s, l->locks[r][s].held ? "held" : "free", l->locks[r][s].mode,
                    (long long)l->locks[r][s].fence, is->locks[r][s].held ? "held" : "free",
                    is->locks[r][s].mode, (long long)is->locks[r][s].fence);
    for (unsigned s = 0; s < LEDGER_SESSIONS; s++) {
        if (l->sessions[s].open != is->session[s])
            return ledger_wrong("session %u: acknowledged %s, found %s", s,
                                l->sessions[s].open ? "open" : "closed",
                                is->session[s] ? "open" : "gone");
        int64_t least_us =
            l->loses_beats ? l->sessions[s].least_expires_us : l->sessions[s].expires_us;
        if (is->session[s] && l->sessions[s].expires_us != INT64_MAX &&
            (is->expires_us[s] > l->sessions[s].expires_us || is->expires_us[s] < least_us))
            return ledger_wrong("session %u: expires %lld, acknowledged %lld to %lld", s,
                                (long long)is->expires_us[s], (long long)least_us,
                                (long long)l->sessions[s].expires_us);
    }
    return NULL;
}

/* From now on the ledger is as the store is. */
static const char *adopt(ledger *l, const found *is)
{
    for (unsigned r = 0; r < LEDGER_RESOURCES; r++)
        for (unsigned s = 0; s < LEDGER_SESSIONS; s++) {
            const ledger_lock *lock = &is->locks[r][s];
            if (lock->held && l->locks[r][s].fence == 0 && lock->fence <= l->last_fence[r])
                return ledger_wrong("the fence %lld of %s/%02u is not above %lld",
                                    (long long)lock->fence, l->type, r,
                                    (long long)l->last_fence[r]);
            l->locks[r][s] = *lock;
            if (lock->held && lock->fence > l->last_fence[r])
                l->last_fence[r] = lock->fence;
        }
    for (unsigned s = 0; s < LEDGER_SESSIONS; s++)
        if (is->session[s])
            l->sessions[s].expires_us = l->sessions[s].least_expires_us = is->expires_us[s];
    l->pending.kind = LEDGER_NOTHING;
    return NULL;
}

const char *ledger_verify(ledger *l, hf_store *store)
{
    static ledger after;
    found is = {0};
    l->pending_was_done = false;
    const char *problem = find_locks(l, store, &is);
    if (!problem)
        problem = find_sessions(l, store, &is);
    if (problem)
        return problem;
    problem = is.pending_session ? ledger_wrong("it was opened") : ledger_compare(l, &is);
    if (problem && l->pending.kind != LEDGER_NOTHING && ledger_foretell(l, &l->pending) == HF_OK) {
        char before[sizeof verdict];
        memcpy(before, problem, sizeof before);
        after = *l;
        apply(&after, &l->pending, NULL);
        if (is.pending_session) {
            is.session[l->pending.session] = true;
            is.expires_us[l->pending.session] = is.pending_expires_us;
        }
        const char *other = ledger_compare(&after, &is);
        if (other) {
            memcpy(verdict, before, sizeof verdict);
            return verdict;
        }
        *l = after;
        l->pending_was_done = true;
        problem = NULL;
    }
    if (!problem)
        problem = adopt(l, &is);
    if (!problem)
        problem = verify_seen(l, store);
    return problem ? problem : ledger_follow(l, store);
}

/* What was done and not heard of answers done, and is not done twice. */
static const char *judge_repeated(ledger *l, const ledger_op *op, const ledger_answer *answer)
{
    if (answer->status != HF_OK)
        return ledger_wrong("op %u (%s) had been done; asked again it answers %s (%s)", op->number,
                            hf_op_kind_name(kinds_of[op->kind]), hf_status_wire(answer->status),
                            answer->message);
    for (unsigned i = 0; op->kind == LEDGER_ACQUIRE && i < op->count; i++)
        if (answer->locks[i].fence != l->locks[op->resources[i]][op->session].fence)
            return ledger_wrong("op %u had been granted fence %lld; asked again it answers %lld",
                                op->number,
                                (long long)l->locks[op->resources[i]][op->session].fence,
                                (long long)answer->locks[i].fence);
    if (op->kind == LEDGER_RENEW || op->kind == LEDGER_BEAT) /* these count from the last time */
        apply(l, op, answer);
    return NULL;
}

const char *ledger_settle(ledger *l, hf_store *store)
{
    ledger_op op = l->pending;
    ledger_answer answer;
    if (op.kind == LEDGER_NOTHING)
        return ledger_verify(l, store);
    const char *problem = ledger_verify(l, store);
    if (problem)
        return problem;
    bool was_done = l->pending_was_done;
    ledger_ask(store, l, &op, &answer);
    problem = was_done ? judge_repeated(l, &op, &answer) : ledger_book(l, &op, &answer);
    return problem ? problem : ledger_verify(l, store);
}

/* ---- the file itself ---- */

static const struct {
    const char *finds; /* what it would be if the query found something */
    const char *sql;
} never[] = {
    {"locks that can't stand together",
     "SELECT a.type || '/' || a.id FROM holdfast_lock a JOIN holdfast_lock b USING (type, id)"
     " WHERE a.session < b.session AND (a.mode = 'exclusive' OR b.mode = 'exclusive')"},
    {"a lock without a session, or of one that was closed",
     "SELECT l.type || '/' || l.id FROM holdfast_lock l LEFT JOIN holdfast_session s ON s.id = "
     "l.session"
     " WHERE s.id IS NULL OR s.ended_us IS NOT NULL"},
    {"a lock whose anchor is behind",
     "SELECT l.type || '/' || l.id FROM holdfast_lock l JOIN holdfast_resource r USING (type, id)"
     " WHERE r.fence < l.fence"},
    {"an anchor that says no more than its locks",
     "SELECT type || '/' || id FROM holdfast_resource WHERE version = 0 AND ended_request IS NULL"},
    {"a fence that was given and could be given again",
     "SELECT e.type || '/' || e.resource_id FROM holdfast_event e WHERE e.fence > max("
     " ifnull((SELECT CAST(value AS INTEGER) FROM holdfast_meta WHERE name = 'fence_floor'), 0),"
     " ifnull((SELECT max(fence) FROM holdfast_lock WHERE type = e.type AND id = e.resource_id), "
     "0),"
     " ifnull((SELECT fence FROM holdfast_resource WHERE type = e.type AND id = e.resource_id), "
     "0))"},
    {"two locks with one fence",
     "SELECT type || '/' || id FROM holdfast_lock GROUP BY type, id, fence HAVING count(*) > 1"},
    {"a bound in the past of its grant",
     "SELECT type || '/' || id FROM holdfast_lock WHERE ends_us <= since_us"},
};

/* The first column of the first row; "" when there is none. */
static bool ask_text(sqlite3 *db, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *statement = NULL;
    out[0] = '\0';
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        snprintf(out, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static const char *faults_ledger_inspect(sqlite3 *db)
{
    char text[512];
    if (!ask_text(db, "PRAGMA integrity_check", text, sizeof text))
        return ledger_wrong("integrity_check: %s", sqlite3_errmsg(db));
    if (strcmp(text, "ok") != 0)
        return ledger_wrong("integrity_check: %s", text);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        if (!ask_text(db, never[i].sql, text, sizeof text))
            return ledger_wrong("looking for %s: %s", never[i].finds, sqlite3_errmsg(db));
        if (text[0])
            return ledger_wrong("%s: %s", never[i].finds, text);
    }
    return NULL;
}

const char *ledger_inspect(const char *path)
{
    sqlite3 *db = NULL;
    const char *problem;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        problem = ledger_wrong("%s can't be opened: %s", path, sqlite3_errmsg(db));
    } else {
        sqlite3_busy_timeout(db, 2000);
        problem = faults_ledger_inspect(db);
    }
    sqlite3_close(db);
    return problem;
}
