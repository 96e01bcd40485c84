/* SPDX-License-Identifier: MIT */
/* The worker: a few sessions, each beaten in time, until it is left to die; in between whatever
 * chance says. The table of actions at the end is what it does, and how often. */
#include "races/worker.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <support/timing.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 6
#define MS    INT64_C(1000)

enum { STILL_US = 50000 };

typedef struct slot {
    hf_session *session;
    uint32_t number;
    int64_t idle_us;
    int64_t beaten_us; /* when the last acknowledged beat was sent */
    /* abandoned: when to beat once more, perhaps too late; 0: it is kept alive */
    int64_t try_us;
    bool common;
    int64_t fence[RACE_RESOURCES];  /* as last answered; 0: not held, for all we know */
    int64_t before[RACE_RESOURCES]; /* of the grant before that */
} slot;

typedef struct turn {
    race_worker *worker;
    slot *slots;
    slot *slot;
    uint32_t resource;
    int64_t seen_fence[RACE_RESOURCES]; /* of whoever stood in the way */
    int64_t abandoned_us;               /* when it last left a session to die */
    int64_t began_us;                   /* of the turn before this one, then of this one */
} turn;

int64_t race_now_us(void)
{
    return timing_now_us();
}

int64_t race_offset_us(void)
{
    int64_t best_us = INT64_MAX, offset_us = 0;
    for (int i = 0; i < 20; i++) {
        struct timespec wall;
        int64_t before_us = race_now_us();
        clock_gettime(CLOCK_REALTIME, &wall);
        int64_t took_us = race_now_us() - before_us;
        if (took_us >= best_us)
            continue;
        best_us = took_us;
        offset_us = (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000 - before_us;
    }
    return offset_us;
}

size_t race_log_size(size_t room)
{
    return sizeof(race_log) + room * sizeof(check_record);
}

void race_log_init(race_log *log, size_t room)
{
    atomic_init(&log->count, 0);
    log->room = room;
}

hf_resource race_resource(uint32_t number)
{
    hf_resource resource = {.type = "race"};
    snprintf(resource.id, sizeof resource.id, "%u", number);
    return resource;
}

static int64_t worker_pick(race_worker *w, int64_t below)
{
    return (int64_t)((uint32_t)rand_r(&w->seed) % (uint32_t)below);
}

static void surprise(race_worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void surprise(race_worker *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (w->log->surprises++ == 0)
        vsnprintf(w->log->surprise, sizeof w->log->surprise, format, args);
    va_end(args);
}

/* ---- transactions of its own ---- */

static void worker_enter(race_worker *w)
{
    if (w->turns)
        w->turns->enter(w->turns->context, &w->seed);
}

static hf_status worker_leave(race_worker *w, hf_status status)
{
    if (!w->turns)
        return status;
    status = w->turns->leave(w->turns->context, &w->seed, status);
    w->log->retries += status == HF_RETRY;
    return status;
}

#define IN_TURN(worker, call) (worker_enter(worker), worker_leave((worker), (call)))

/* ---- writing it down ---- */

static check_record *worker_begin(race_worker *w, uint32_t session, check_op op, uint32_t resource)
{
    size_t at = atomic_load_explicit(&w->log->count, memory_order_relaxed);
    check_record *r = &w->log->records[at];
    *r = (check_record){.client = w->client,
                        .session = session,
                        .resource = resource,
                        .op = (uint8_t)op,
                        .result = CHECK_UNKNOWN,
                        .return_us = CHECK_NEVER};
    r->invoke_us = race_now_us();
    atomic_store_explicit(&w->log->count, at + 1, memory_order_release);
    return r;
}

static check_result worker_result_of(race_worker *w, const check_record *r, hf_status status,
                                     const hf_error *err)
{
    switch (status) {
    case HF_OK:
        return CHECK_OK;
    case HF_LOCKED:
        return CHECK_LOCKED;
    case HF_NOT_HELD:
        return CHECK_NOT_HELD;
    case HF_EXPIRED: /* of a hand-over it may be about the other session */
        return r->op == CHECK_HAND_OVER ? CHECK_NOTHING : CHECK_EXPIRED;
    case HF_UNSURE:
        return CHECK_UNKNOWN;
    case HF_BUSY:
        w->log->busy++;
        return CHECK_NOTHING;
    case HF_RETRY:
    case HF_INVALID: /* releasing all is refused where it can't be told what all is */
        if (w->turns && (status == HF_RETRY || r->op == CHECK_RELEASE_ALL))
            return CHECK_NOTHING;
        /* fall through */
    default:
        surprise(w, "%s: %s: %s", check_op_name(r->op), hf_status_wire(status), err->message);
        return CHECK_NOTHING;
    }
}

/* HF_UNSURE of a local store is settled by the time it is answered. */
static check_result worker_end(race_worker *w, check_record *r, hf_status status,
                               const hf_error *err)
{
    int64_t now_us = race_now_us(), took_us = now_us - r->invoke_us;
    r->return_us = w->late && status == HF_UNSURE ? CHECK_NEVER : now_us;
    r->result = (uint8_t)worker_result_of(w, r, status, err);
    w->log->grants += r->op == CHECK_ACQUIRE && r->result == CHECK_OK;
    w->log->longest_us = took_us > w->log->longest_us ? took_us : w->log->longest_us;
    return r->result;
}

static void worker_told(race_worker *w, check_record *r, const hf_lock *lock)
{
    r->fence = lock->fence;
    r->mode = (uint8_t)lock->mode;
    r->ends_us = lock->ends_us ? lock->ends_us - w->board->offset_us : 0;
}

static void forget_slot(slot *s)
{
    if (s->common) {
        memset(s->fence, 0, sizeof s->fence);
        return;
    }
    hf_session_free(s->session);
    *s = (slot){.session = NULL};
}

/* After an answer that only a dead session gets. */
static bool died(turn *t, check_result result)
{
    if (result != CHECK_EXPIRED)
        return false;
    if (t->slot->common)
        surprise(t->worker, "the common session died though it was beaten");
    t->worker->log->deaths++;
    forget_slot(t->slot);
    return true;
}

/* ---- the actions ---- */

/* Whichever grant is live, the one it has, or now and then an older one. */
static int64_t some_fence(turn *t)
{
    int64_t old = t->slot->before[t->resource];
    if (old && worker_pick(t->worker, 4) == 0)
        return old;
    return worker_pick(t->worker, 2) ? t->slot->fence[t->resource] : 0;
}

static uint32_t number_new(race_worker *w)
{
    uint32_t number = atomic_fetch_add(&w->board->sessions, 1);
    return number < RACE_SESSIONS_MAX ? number : RACE_SESSIONS_MAX - 1;
}

static hf_session *open_replacing(race_worker *w, int64_t idle_us, slot *old, uint32_t *number)
{
    hf_session *session = NULL;
    hf_error err = {0};
    char user[32], replaces[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(user, sizeof user, "client-%u", w->client);
    hf_session_options options = {.user = user, .idle_us = idle_us};
    if (old) {
        const hf_credentials *before = hf_session_credentials(old->session);
        snprintf(replaces, sizeof replaces, "%s.%s", before->id, before->key);
        options.replaces = replaces;
    }
    *number = number_new(w);
    check_record *gone = old ? worker_begin(w, old->number, CHECK_CLOSE, 0) : NULL;
    check_record *r = worker_begin(w, *number, CHECK_OPEN, 0);
    r->idle_us = idle_us;
    hf_status status = IN_TURN(w, hf_session_open(w->manager, &options, &session, &err));
    if (gone)
        worker_end(w, gone, status, &err);
    if (worker_end(w, r, status, &err) != CHECK_OK) {
        hf_session_free(session);
        return NULL;
    }
    hf_session_info info;
    hf_session_describe(session, &info);
    r->expires_us = info.expires_us - w->board->offset_us;
    snprintf(w->board->session[*number].id, HF_SESSION_ID_SIZE, "%s", hf_session_id(session));
    atomic_store(&w->board->session[*number].open, true);
    return session;
}

hf_session *race_open(race_worker *w, int64_t idle_us, uint32_t *number)
{
    return open_replacing(w, idle_us, NULL, number);
}

static void fill_slot(turn *t, slot *replaced)
{
    static const int64_t idles_us[] = {150 * MS, 300 * MS, 300 * MS, 500 * MS};
    race_worker *w = t->worker;
    slot new = {.idle_us = idles_us[worker_pick(w, 4)], .beaten_us = race_now_us()};
    new.session = open_replacing(w, new.idle_us, replaced, &new.number);
    if (!new.session)
        return;
    if (replaced)
        forget_slot(replaced);
    *t->slot = new;
}

static void do_beat(turn *t)
{
    race_worker *w = t->worker;
    hf_result *out = NULL;
    hf_error err = {0};
    check_record *r = worker_begin(w, t->slot->number, CHECK_BEAT, 0);
    r->idle_us = t->slot->idle_us;
    hf_status status = IN_TURN(w, hf_session_beat(t->slot->session, &out, &err));
    check_result result = worker_end(w, r, status, &err);
    if (result == CHECK_OK) {
        const hf_answer *answer = hf_result_answer(out);
        r->expires_us = t->slot->common ? 0 : answer->sessions[0].expires_us - w->board->offset_us;
        t->slot->beaten_us = r->invoke_us;
        t->slot->try_us = 0;
    }
    hf_result_free(out);
    died(t, result);
}

static void worker_acquire(turn *t, hf_mode mode)
{
    race_worker *w = t->worker;
    hf_resource resource = race_resource(t->resource);
    hf_lock lock;
    hf_error err = {0};
    hf_acquire_options options = {.mode = mode, .purpose = "race"};
    check_record *r = worker_begin(w, t->slot->number, CHECK_ACQUIRE, t->resource);
    r->asked = (uint8_t)mode;
    if (worker_pick(w, 5) == 0)
        r->ttl_us = options.ttl_us = 20 * MS + worker_pick(w, 400 * MS);
    check_result result = worker_end(
        w, r, IN_TURN(w, hf_session_acquire(t->slot->session, &resource, &options, &lock, &err)),
        &err);
    if (result == CHECK_OK) {
        worker_told(w, r, &lock);
        if (t->slot->fence[t->resource] != lock.fence)
            t->slot->before[t->resource] = t->slot->fence[t->resource];
        t->slot->fence[t->resource] = lock.fence;
    }
    if (result == CHECK_LOCKED) {
        t->seen_fence[t->resource] = err.holder.fence;
        if (err.holder.session[0] == '\0' ||
            strcmp(err.holder.session, hf_session_id(t->slot->session)) == 0)
            surprise(w, "a refusal names '%s' as the holder", err.holder.session);
    }
    died(t, result);
}

static void do_acquire(turn *t)
{
    worker_acquire(t, worker_pick(t->worker, 5) ? HF_EXCLUSIVE : HF_SHARED);
}

/* Aims at something it holds: chooses it as the turn's resource. */
static bool aim_at_own(turn *t)
{
    for (uint32_t i = 0; i < RACE_RESOURCES; i++) {
        uint32_t number = (t->resource + i) % RACE_RESOURCES;
        if (t->slot->fence[number]) {
            t->resource = number;
            return true;
        }
    }
    return false;
}

static void do_acquire_again(turn *t)
{
    aim_at_own(t);
    do_acquire(t);
}

static void do_upgrade(turn *t)
{
    if (!t->slot->fence[t->resource])
        worker_acquire(t, HF_SHARED);
    if (t->slot->session && t->slot->fence[t->resource])
        worker_acquire(t, HF_EXCLUSIVE);
}

static void do_acquire_all(turn *t)
{
    race_worker *w = t->worker;
    enum { COUNT = RACE_SET };
    hf_resource resources[COUNT];
    check_record *records[COUNT];
    hf_result *out = NULL;
    hf_error err = {0};
    hf_acquire_options options = {.mode = worker_pick(w, 4) ? HF_EXCLUSIVE : HF_SHARED};
    /* not in canonical order: that is the store's business */
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t number = (t->resource + i * 5) % RACE_RESOURCES;
        resources[i] = race_resource(number);
        records[i] = worker_begin(w, t->slot->number, CHECK_ACQUIRE, number);
        records[i]->asked = (uint8_t)options.mode;
    }
    hf_status status = IN_TURN(
        w, hf_session_acquire_all(t->slot->session, resources, COUNT, &options, &out, &err));
    check_result result = CHECK_NOTHING;
    for (uint32_t i = 0; i < COUNT; i++) {
        char name[HF_RESOURCE_SIZE];
        hf_resource_format(&resources[i], name);
        result = worker_end(w, records[i], status, &err);
        if (result == CHECK_OK) {
            worker_told(w, records[i], hf_result_at(out, i)->locks);
            t->slot->fence[records[i]->resource] = records[i]->fence;
        } else if (result == CHECK_LOCKED && strcmp(name, err.resource) != 0) {
            records[i]->result = CHECK_NOTHING; /* only the blocked one has been judged */
        }
    }
    hf_result_free(out);
    died(t, result);
}

static void do_release(turn *t)
{
    race_worker *w = t->worker;
    if (!aim_at_own(t) && worker_pick(w, 4))
        return;
    hf_resource resource = race_resource(t->resource);
    hf_error err = {0};
    check_record *r = worker_begin(w, t->slot->number, CHECK_RELEASE, t->resource);
    r->only_fence = some_fence(t);
    check_result result = worker_end(
        w, r, IN_TURN(w, hf_session_release(t->slot->session, &resource, r->only_fence, &err)),
        &err);
    bool current = r->only_fence == 0 || r->only_fence == t->slot->fence[t->resource];
    if (result == CHECK_OK || (result == CHECK_NOT_HELD && current))
        t->slot->fence[t->resource] = 0;
    died(t, result);
}

static void do_release_all(turn *t)
{
    hf_error err = {0};
    check_record *r = worker_begin(t->worker, t->slot->number, CHECK_RELEASE_ALL, 0);
    check_result result =
        worker_end(t->worker, r,
                   IN_TURN(t->worker, hf_session_release_all(t->slot->session, NULL, &err)), &err);
    if (result == CHECK_OK)
        memset(t->slot->fence, 0, sizeof t->slot->fence);
    died(t, result);
}

static void do_downgrade(turn *t)
{
    hf_lock lock;
    hf_error err = {0};
    aim_at_own(t);
    hf_resource resource = race_resource(t->resource);
    check_record *r = worker_begin(t->worker, t->slot->number, CHECK_DOWNGRADE, t->resource);
    check_result result = worker_end(
        t->worker, r,
        IN_TURN(t->worker, hf_session_downgrade(t->slot->session, &resource, &lock, &err)), &err);
    if (result == CHECK_OK)
        worker_told(t->worker, r, &lock);
    died(t, result);
}

static void do_renew(turn *t)
{
    race_worker *w = t->worker;
    hf_lock lock;
    hf_error err = {0};
    aim_at_own(t);
    hf_resource resource = race_resource(t->resource);
    check_record *r = worker_begin(w, t->slot->number, CHECK_RENEW, t->resource);
    r->ttl_us = worker_pick(w, 2) ? 20 * MS + worker_pick(w, 400 * MS) : 0;
    check_result result = worker_end(
        w, r,
        IN_TURN(w, hf_session_renew(t->slot->session, &resource, r->ttl_us, NULL, &lock, &err)),
        &err);
    if (result == CHECK_OK)
        worker_told(w, r, &lock);
    died(t, result);
}

static void do_holds(turn *t)
{
    race_worker *w = t->worker;
    hf_lock lock;
    hf_error err = {0};
    aim_at_own(t);
    hf_resource resource = race_resource(t->resource);
    check_record *r = worker_begin(w, t->slot->number, CHECK_HOLDS, t->resource);
    r->only_fence = some_fence(t);
    check_result result = worker_end(
        w, r, IN_TURN(w, hf_session_holds(t->slot->session, &resource, r->only_fence, &lock, &err)),
        &err);
    if (result == CHECK_OK)
        worker_told(w, r, &lock);
    died(t, result);
}

static void do_believe(turn *t)
{
    aim_at_own(t);
    hf_resource resource = race_resource(t->resource);
    check_record *r = worker_begin(t->worker, t->slot->number, CHECK_BELIEF, t->resource);
    bool held = hf_session_is_held(t->slot->session, &resource);
    worker_end(t->worker, r, held ? HF_OK : HF_NOT_HELD, NULL);
}

static void do_hand_over(turn *t)
{
    race_worker *w = t->worker;
    hf_lock lock;
    hf_error err = {0};
    uint32_t known = atomic_load(&w->board->sessions), back = (uint32_t)worker_pick(w, 30) + 1;
    uint32_t target = known > back ? known - back : 0;
    if (!aim_at_own(t) || target == t->slot->number ||
        !atomic_load(&w->board->session[target].open))
        return;
    hf_resource resource = race_resource(t->resource);
    check_record *r = worker_begin(w, t->slot->number, CHECK_HAND_OVER, t->resource);
    r->target = target;
    hf_status status = IN_TURN(w, hf_session_hand_over(t->slot->session, &resource,
                                                       w->board->session[target].id, &lock, &err));
    if (worker_end(w, r, status, &err) == CHECK_OK) {
        worker_told(w, r, &lock);
        if (lock.fence == 0) /* done, and gone before the answer came */
            r->result = CHECK_UNKNOWN;
        t->slot->fence[t->resource] = 0;
    }
}

static void do_force(turn *t)
{
    race_worker *w = t->worker;
    hf_resource resource = race_resource(t->resource);
    hf_result *out = NULL;
    hf_error err = {0};
    if (worker_pick(w, 12)) /* rare: or no lock would live to see its holder's end */
        return;
    check_record *r = worker_begin(w, t->slot->number, CHECK_FORCE, t->resource);
    r->only_fence = worker_pick(w, 2) ? t->seen_fence[t->resource] : 0;
    worker_end(w, r,
               IN_TURN(w, hf_manager_force_release(w->manager, &resource, "race", "a race",
                                                   r->only_fence, &out, &err)),
               &err);
    hf_result_free(out);
}

static void do_close(turn *t)
{
    hf_error err = {0};
    if (t->slot->common)
        return;
    check_record *r = worker_begin(t->worker, t->slot->number, CHECK_CLOSE, 0);
    if (worker_end(t->worker, r, IN_TURN(t->worker, hf_session_close(t->slot->session, &err)),
                   &err) == CHECK_OK)
        forget_slot(t->slot);
}

static void do_replace(turn *t)
{
    if (!t->slot->common)
        fill_slot(t, t->slot);
}

/* Leaves one of its sessions that hold something to die; beats once more near the bound, before it
 * or after. Sessions die by the clock: where calls are slow it does so at every chance. */
static void do_abandon(turn *t)
{
    race_worker *w = t->worker;
    int64_t now_us = race_now_us();
    if (now_us - t->abandoned_us < 500 * MS && worker_pick(w, 8))
        return;
    for (int i = 0; i < SLOTS; i++) {
        t->slot = &t->slots[i];
        if (t->slot->session && !t->slot->common && t->slot->try_us == 0 && aim_at_own(t)) {
            t->slot->try_us =
                t->slot->beaten_us + t->slot->idle_us - 10 * MS + worker_pick(w, 100 * MS);
            t->abandoned_us = now_us;
            return;
        }
    }
}

/* A look from outside never shows two who can't hold it together. */
static void do_who(turn *t)
{
    race_worker *w = t->worker;
    hf_resource resource = race_resource(t->resource);
    hf_result *out = NULL;
    hf_error err = {0};
    w->log->reads++;
    hf_status status = IN_TURN(w, hf_manager_who(w->manager, &resource, &out, &err));
    if (status == HF_BUSY || (w->turns && status == HF_RETRY))
        w->log->busy++;
    else if (status != HF_OK)
        surprise(w, "who: %s: %s", hf_status_wire(status), err.message);
    const hf_answer *answer = status == HF_OK ? hf_result_answer(out) : NULL;
    for (size_t i = 0; answer && i < answer->locks_count; i++) {
        if (answer->locks[i].mode == HF_EXCLUSIVE && answer->locks_count > 1)
            surprise(w, "who shows %zu holders, one of them exclusive", answer->locks_count);
        if (answer->locks[i].expires_us <= answer->now_us)
            surprise(w, "who shows a lock that has expired");
    }
    hf_result_free(out);
}

/* One client follows the events: numbers only grow. Never in a transaction of its own, in which
 * nobody numbers them. */
static void worker_do_events(turn *t)
{
    race_worker *w = t->worker;
    hf_result *out = NULL;
    hf_error err = {0};
    if (!w->reads_events)
        return;
    w->log->reads++;
    hf_status status = hf_manager_events(w->manager, w->log->last_seq, HF_LIST_MAX, &out, &err);
    if (status == HF_BUSY)
        w->log->busy++;
    else if (status != HF_OK)
        surprise(w, "events: %s: %s", hf_status_wire(status), err.message);
    const hf_answer *answer = status == HF_OK ? hf_result_answer(out) : NULL;
    for (size_t i = 0; answer && i < answer->events_count; i++) {
        if (answer->events[i].seq <= w->log->last_seq)
            surprise(w, "an event has number %lld after %lld", (long long)answer->events[i].seq,
                     (long long)w->log->last_seq);
        w->log->last_seq = answer->events[i].seq;
        w->log->events++;
    }
    hf_result_free(out);
}

static void worker_do_sweep(turn *t)
{
    hf_error err = {0};
    hf_status status = hf_manager_sweep(t->worker->manager, 50, NULL, NULL, &err);
    if (status == HF_BUSY)
        t->worker->log->busy++;
    else if (status != HF_OK)
        surprise(t->worker, "sweep: %s: %s", hf_status_wire(status), err.message);
}

static void do_rest(turn *t)
{
    usleep((useconds_t)worker_pick(t->worker, MS));
}

static const struct {
    unsigned chance;
    void (*action)(turn *);
} actions[] = {
    {30, do_acquire},      {10, do_acquire_again}, {8, do_upgrade}, {6, do_acquire_all},
    {22, do_release},      {4, do_downgrade},      {4, do_renew},   {6, do_holds},
    {6, do_believe},       {4, do_hand_over},      {2, do_force},   {2, do_release_all},
    {2, do_close},         {1, do_replace},        {4, do_abandon}, {5, do_who},
    {3, worker_do_events}, {1, worker_do_sweep},   {3, do_beat},    {10, do_rest},
};

static void worker_act(turn *t)
{
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        sum += actions[i].chance;
    unsigned chosen = (unsigned)worker_pick(t->worker, sum);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (chosen < actions[i].chance) {
            actions[i].action(t);
            return;
        }
        chosen -= actions[i].chance;
    }
}

static bool is_due(const slot *s, int64_t now_us)
{
    return s->session && (s->try_us ? now_us >= s->try_us : now_us - s->beaten_us > s->idle_us / 3);
}

static void worker_take_turn(turn *t)
{
    atomic_store_explicit(&t->worker->log->settled, t->worker->log->count, memory_order_release);
    /* Whoever stood still, or waited for an answer, first looks what it believes in. */
    bool late = t->began_us != 0 && race_now_us() - t->began_us > STILL_US;
    t->began_us = race_now_us();
    for (int i = 0; i < SLOTS; i++) {
        t->slot = &t->slots[i];
        if (late && t->slot->session)
            do_believe(t);
        if (is_due(t->slot, race_now_us()))
            do_beat(t);
    }
    t->slot = &t->slots[worker_pick(t->worker, SLOTS)];
    t->resource = (uint32_t)worker_pick(t->worker, RACE_RESOURCES);
    if (!t->slot->session)
        fill_slot(t, NULL);
    else if (t->slot->try_us == 0)
        worker_act(t);
    else if (worker_pick(t->worker, SLOTS) == 0) /* they may all be abandoned */
        do_rest(t);
}

void race_work(race_worker *w)
{
    slot slots[SLOTS] = {0};
    turn t = {.worker = w, .slots = slots, .abandoned_us = race_now_us()};
    if (w->common)
        slots[0] = (slot){.session = w->common,
                          .number = w->common_number,
                          .idle_us = RACE_COMMON_IDLE_US,
                          .beaten_us = race_now_us(),
                          .common = true};
    while (!w->board->over && w->log->count + 32 < w->log->room &&
           w->board->sessions < RACE_SESSIONS_MAX - 100)
        worker_take_turn(&t);
    worker_do_events(&t);
    for (int i = 0; i < SLOTS; i++)
        if (!slots[i].common)
            hf_session_free(slots[i].session);
}
