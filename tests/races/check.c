/* SPDX-License-Identifier: MIT */
/* The history checker. Read from the bottom: check_history lists what is judged, in order. */
#include "races/check.h"

#include <stdlib.h>
#include <string.h>

#define NEVER  CHECK_NEVER
#define NOBODY UINT32_MAX

/* An instant at which something ends, under the key of what it ends. */
typedef struct mark {
    uint64_t tag;
    int64_t detail;
    int64_t invoke_us;
    int64_t return_us;
    int64_t best_us; /* the smallest of what is asked for, from here to the end of the same key */
} mark;

typedef struct marks {
    mark *at;
    size_t count;
    size_t room;
} marks;

enum {
    ENDS_SESSION = 1,
    ENDS_PAIR,
    ENDS_RESOURCE,
    ENDS_FENCE,
    ENDS_EXCLUSIVE,
    RENEWS_UNSURELY,
    GRANTS_UNSURELY
};

/* What is known of a session from its opening and its beats. */
typedef struct life {
    bool opened;
    int64_t sure_until_us;  /* it lives at least that long */
    int64_t maybe_until_us; /* and at most that long, if nothing closes it */
    int64_t closing_us;     /* earliest invocation of a close that may have been done */
    int64_t closed_us;      /* earliest return of a close that was */
} life;

typedef enum ending { BY_OP, BY_IDLE, BY_BOUND } ending;

/* A grant: all answers with the same resource, fence and session. Or, with fence 0, one that may
 * have happened. */
typedef struct grant {
    uint32_t resource;
    uint32_t session;
    int64_t fence;
    const check_record *first; /* the answer that returned first */
    bool exclusive;
    bool told_again; /* renewed, or perhaps: its bound has moved */
    int64_t invoke_us;
    int64_t return_us;
    int64_t exclusive_us; /* from when it is surely exclusive */
    int64_t sure_end_us;
    int64_t sure_exclusive_end_us;
    int64_t maybe_end_us;
    int64_t maybe_exclusive_end_us;
    ending ending; /* what fixes sure_end_us */
} grant;

typedef struct work {
    check_record *records; /* by invocation */
    size_t count;
    int64_t slack_us;
    life *lives;
    size_t lives_count;
    /* by key and return; best: the earliest invocation of those that return later */
    marks may_end;
    marks has_ended; /* by key and invocation; best: the earliest return of those invoked later */
    marks unsure;    /* by key and invocation */
    grant *grants;   /* the sure ones by resource, fence, session; then the unsure ones */
    size_t sure_count;
    size_t grants_count;
    check_report *report;
} work;

static void *check_need(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size);
    if (!block)
        abort();
    return block;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return a == NEVER || b == NEVER || __builtin_add_overflow(a, b, &sum) ? NEVER : sum;
}

static int races_check_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static void blame(work *w, check_fault fault, const check_record *a, const check_record *b)
{
    check_report *report = w->report;
    report->faults++;
    report->by_fault[fault]++;
    if (report->examples_count == CHECK_EXAMPLES)
        return;
    report->examples[report->examples_count].fault = fault;
    report->examples[report->examples_count].a = *a;
    if (b)
        report->examples[report->examples_count].b = *b;
    else
        report->examples[report->examples_count].b.client = NOBODY;
    report->examples_count++;
}

static bool check_is_done(const check_record *r)
{
    return r->result == CHECK_OK;
}

static bool may_be_done(const check_record *r)
{
    return r->result == CHECK_OK || r->result == CHECK_UNKNOWN;
}

/* Does this answer show a lock of owner(r)? */
static bool shows_lock(const check_record *r)
{
    return check_is_done(r) &&
           (r->op == CHECK_ACQUIRE || r->op == CHECK_RENEW || r->op == CHECK_DOWNGRADE ||
            r->op == CHECK_HOLDS || r->op == CHECK_HAND_OVER);
}

static bool is_granting(const check_record *r)
{
    return r->op == CHECK_ACQUIRE || r->op == CHECK_HAND_OVER;
}

static uint32_t owner(const check_record *r)
{
    return r->op == CHECK_HAND_OVER ? r->target : r->session;
}

/* ---- marks ---- */

static uint64_t tag_of(int kind, uint32_t subject)
{
    return (uint64_t)kind << 56 | subject;
}

static void mark_add(marks *set, uint64_t tag, int64_t detail, const check_record *r)
{
    if (set->count == set->room) {
        set->room = set->room ? set->room * 2 : 1024;
        set->at = realloc(set->at, set->room * sizeof *set->at);
        if (!set->at)
            abort();
    }
    set->at[set->count++] = (mark){tag, detail, r->invoke_us, r->return_us, NEVER};
}

static int order_key(const mark *a, const mark *b)
{
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    return races_check_order(a->detail, b->detail);
}

static int by_return(const void *a, const void *b)
{
    const mark *x = a, *y = b;
    int by_key = order_key(x, y);
    return by_key ? by_key : races_check_order(x->return_us, y->return_us);
}

static int by_invocation(const void *a, const void *b)
{
    const mark *x = a, *y = b;
    int by_key = order_key(x, y);
    return by_key ? by_key : races_check_order(x->invoke_us, y->invoke_us);
}

static void marks_sort(marks *set, bool by_returns)
{
    if (set->count)
        qsort(set->at, set->count, sizeof *set->at, by_returns ? by_return : by_invocation);
    for (size_t i = set->count; i-- > 0;) {
        mark *m = &set->at[i];
        m->best_us = by_returns ? m->invoke_us : m->return_us;
        if (i + 1 < set->count && order_key(m, m + 1) == 0)
            m->best_us = least(m->best_us, m[1].best_us);
    }
}

/* The first mark of the key whose return (or invocation) is not before the instant; NULL: none. */
static const mark *mark_find(const marks *set, bool by_returns, uint64_t tag, int64_t detail,
                             int64_t from_us)
{
    mark key = {tag, detail, from_us, from_us, 0};
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int side =
            by_returns ? by_return(&set->at[middle], &key) : by_invocation(&set->at[middle], &key);
        if (side < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && order_key(&set->at[low], &key) == 0 ? &set->at[low] : NULL;
}

/* The earliest instant something of that key may end what began to be asked for at from_us. */
static int64_t earliest_end(const work *w, uint64_t tag, int64_t detail, int64_t from_us)
{
    const mark *m = mark_find(&w->may_end, true, tag, detail, from_us + 1);
    return m ? m->best_us : NEVER;
}

/* The latest instant by which something of that key has ended what had been granted by from_us. */
static int64_t latest_end(const work *w, uint64_t tag, int64_t detail, int64_t from_us)
{
    const mark *m = from_us == NEVER ? NULL : mark_find(&w->has_ended, false, tag, detail, from_us);
    return m ? m->best_us : NEVER;
}

static void mark_end(work *w, int kind, uint32_t subject, int64_t detail, const check_record *r)
{
    if (may_be_done(r))
        mark_add(&w->may_end, tag_of(kind, subject), detail, r);
    if (check_is_done(r))
        mark_add(&w->has_ended, tag_of(kind, subject), detail, r);
}

static void mark_ends(work *w, const check_record *r)
{
    switch (r->op) {
    case CHECK_CLOSE:
    case CHECK_RELEASE_ALL:
        mark_end(w, ENDS_SESSION, r->session, 0, r);
        break;
    case CHECK_RELEASE:
    case CHECK_HAND_OVER:
        mark_end(w, ENDS_PAIR, r->session, r->resource, r);
        break;
    case CHECK_DOWNGRADE:
        mark_end(w, ENDS_EXCLUSIVE, r->session, r->resource, r);
        break;
    case CHECK_FORCE:
        /* of whichever grant: a session's older fence ends with its newer one */
        if (may_be_done(r))
            mark_add(&w->may_end, tag_of(ENDS_RESOURCE, r->resource), 0, r);
        if (check_is_done(r))
            mark_add(&w->has_ended, tag_of(r->only_fence ? ENDS_FENCE : ENDS_RESOURCE, r->resource),
                     r->only_fence, r);
        break;
    default:
        break;
    }
    if (r->result == CHECK_NOT_HELD && r->op != CHECK_FORCE && r->op != CHECK_BELIEF &&
        r->only_fence == 0)
        mark_add(&w->has_ended, tag_of(ENDS_PAIR, r->session), r->resource, r);
    if (r->result == CHECK_EXPIRED)
        mark_add(&w->has_ended, tag_of(ENDS_SESSION, r->session), 0, r);
}

static void mark_all(work *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const check_record *r = &w->records[i];
        mark_ends(w, r);
        if (r->result == CHECK_UNKNOWN && r->op == CHECK_RENEW)
            mark_add(&w->unsure, tag_of(RENEWS_UNSURELY, r->session), r->resource, r);
        if (r->result == CHECK_UNKNOWN && is_granting(r))
            mark_add(&w->unsure, tag_of(GRANTS_UNSURELY, owner(r)), r->resource, r);
        w->report->unknown += r->result == CHECK_UNKNOWN;
        w->report->refusals += r->op == CHECK_ACQUIRE && r->result == CHECK_LOCKED;
    }
    marks_sort(&w->may_end, true);
    marks_sort(&w->has_ended, false);
    marks_sort(&w->unsure, false);
}

/* ---- sessions ---- */

static bool is_served(const check_record *r)
{
    return check_is_done(r) && r->op != CHECK_OPEN && r->op != CHECK_CLOSE &&
           r->op != CHECK_FORCE && r->op != CHECK_BELIEF;
}

/* A session that was surely dead or closed before the call began must not be served. */
static void judge_service(work *w, const check_record *r, uint32_t session)
{
    const life *l = &w->lives[session];
    bool dead = l->opened && r->invoke_us > plus(l->maybe_until_us, w->slack_us);
    if (dead || l->closed_us < r->invoke_us)
        blame(w, CHECK_REVIVED, r, NULL);
}

static void judge_expiry(work *w, const check_record *r)
{
    if (!check_is_done(r) || r->expires_us == 0)
        return;
    int64_t sent_us = r->expires_us - r->idle_us;
    if (sent_us < r->invoke_us - w->slack_us || sent_us > plus(r->return_us, w->slack_us))
        blame(w, CHECK_WRONG_BOUND, r, NULL);
}

static void live_on(work *w, const check_record *r)
{
    life *l = &w->lives[r->session];
    l->opened |= r->op == CHECK_OPEN;
    if (may_be_done(r))
        l->maybe_until_us = most(l->maybe_until_us, plus(r->return_us, r->idle_us));
    if (check_is_done(r))
        l->sure_until_us = most(l->sure_until_us, plus(r->invoke_us, r->idle_us));
    judge_expiry(w, r);
}

static void judge_lives(work *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const check_record *r = &w->records[i];
        life *l = &w->lives[r->session];
        if (is_served(r))
            judge_service(w, r, r->session);
        if (is_served(r) && r->op == CHECK_HAND_OVER)
            judge_service(w, r, r->target);
        if (r->op == CHECK_BELIEF && check_is_done(r) && l->opened &&
            r->invoke_us > plus(l->sure_until_us, w->slack_us))
            blame(w, CHECK_BELIEVED, r, NULL);
        if (r->op == CHECK_OPEN || r->op == CHECK_BEAT)
            live_on(w, r);
        if (r->op == CHECK_CLOSE && may_be_done(r))
            l->closing_us = least(l->closing_us, r->invoke_us);
        if (r->op == CHECK_CLOSE && check_is_done(r))
            l->closed_us = least(l->closed_us, r->return_us);
    }
}

/* With the whole life known: was it called dead while it surely lived? */
static void judge_deaths(work *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const check_record *r = &w->records[i];
        const life *l = &w->lives[r->session];
        if (r->result == CHECK_EXPIRED && r->op != CHECK_FORCE && l->opened &&
            r->return_us < l->sure_until_us - w->slack_us && l->closing_us > r->return_us)
            blame(w, CHECK_DIED_EARLY, r, NULL);
    }
}

/* ---- grants ---- */

static int by_grant(const void *a, const void *b)
{
    const check_record *x = *(const check_record *const *)a, *y = *(const check_record *const *)b;
    if (x->resource != y->resource)
        return races_check_order(x->resource, y->resource);
    if (x->fence != y->fence)
        return races_check_order(x->fence, y->fence);
    if (owner(x) != owner(y))
        return races_check_order(owner(x), owner(y));
    return races_check_order(x->return_us, y->return_us);
}

/* When the lock's own bound comes at the earliest and at the latest, by all answers that showed it.
 * */
static void own_bound(const work *w, const check_record *const *shown, size_t count, int64_t *sure,
                      int64_t *maybe)
{
    const check_record *last = shown[count - 1];
    *sure = NEVER;
    *maybe = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t ends_us = shown[i]->ends_us ? shown[i]->ends_us : NEVER;
        if (shown[i]->return_us > last->invoke_us)
            *sure = least(*sure, ends_us);
        *maybe = most(*maybe, ends_us);
    }
    uint64_t tag = tag_of(RENEWS_UNSURELY, owner(last));
    const mark *m = mark_find(&w->unsure, false, tag, last->resource, INT64_MIN);
    for (; m && m < w->unsure.at + w->unsure.count && m->tag == tag &&
           m->detail == (int64_t)last->resource;
         m++) {
        if (m->return_us > last->invoke_us)
            *sure = least(*sure, m->invoke_us);
        *maybe = NEVER;
    }
    *sure = *sure == NEVER ? NEVER : *sure - w->slack_us;
    *maybe = plus(*maybe, w->slack_us);
}

static void bound_surely(const work *w, grant *g, int64_t own_us)
{
    const life *l = &w->lives[g->session];
    int64_t from_us = g->invoke_us, idle_us = l->sure_until_us - w->slack_us;
    int64_t end_us = earliest_end(w, tag_of(ENDS_SESSION, g->session), 0, from_us);
    end_us = least(end_us, earliest_end(w, tag_of(ENDS_PAIR, g->session), g->resource, from_us));
    end_us = least(end_us, earliest_end(w, tag_of(ENDS_RESOURCE, g->resource), 0, from_us));
    g->sure_end_us = least(end_us, least(idle_us, own_us));
    g->ending = g->sure_end_us == end_us ? BY_OP : g->sure_end_us == idle_us ? BY_IDLE : BY_BOUND;
    g->sure_exclusive_end_us = least(
        g->sure_end_us, earliest_end(w, tag_of(ENDS_EXCLUSIVE, g->session), g->resource, from_us));
}

static void bound_possibly(const work *w, grant *g, int64_t own_us)
{
    const life *l = &w->lives[g->session];
    int64_t end_us = l->opened ? plus(l->maybe_until_us, w->slack_us) : NEVER;
    end_us = least(end_us, own_us);
    end_us = least(end_us, latest_end(w, tag_of(ENDS_SESSION, g->session), 0, g->return_us));
    end_us = least(end_us, latest_end(w, tag_of(ENDS_PAIR, g->session), g->resource, g->return_us));
    end_us = least(end_us, latest_end(w, tag_of(ENDS_RESOURCE, g->resource), 0, g->return_us));
    if (g->fence)
        end_us =
            least(end_us, latest_end(w, tag_of(ENDS_FENCE, g->resource), g->fence, g->return_us));
    g->maybe_end_us = end_us;
    g->maybe_exclusive_end_us =
        least(end_us, latest_end(w, tag_of(ENDS_EXCLUSIVE, g->session), g->resource, g->return_us));
}

/* Whether its members may be seen at all: somebody granted it, surely or perhaps. */
static void judge_origin(work *w, const grant *g, const check_record *const *shown, size_t count,
                         const mark *unsure)
{
    bool granted = unsure != NULL;
    for (size_t i = 0; i < count; i++) {
        granted |= is_granting(shown[i]);
        if (shown[i]->invoke_us > g->maybe_end_us)
            blame(w, CHECK_GHOST, shown[i], g->first);
    }
    if (!granted)
        blame(w, CHECK_GHOST, g->first, NULL);
}

static void grant_make(work *w, const check_record *const *shown, size_t count)
{
    const check_record *first = shown[0];
    grant *g = &w->grants[w->grants_count++];
    *g = (grant){.resource = first->resource,
                 .session = owner(first),
                 .fence = first->fence,
                 .first = first,
                 .invoke_us = first->invoke_us,
                 .return_us = first->return_us,
                 .exclusive_us = NEVER};
    for (size_t i = 0; i < count; i++) {
        g->invoke_us = least(g->invoke_us, shown[i]->invoke_us);
        g->told_again |= shown[i]->op == CHECK_RENEW;
        if (shown[i]->mode == 0) {
            g->exclusive = true;
            g->exclusive_us = least(g->exclusive_us, shown[i]->return_us);
        }
    }
    g->told_again |= mark_find(&w->unsure, false, tag_of(RENEWS_UNSURELY, g->session), g->resource,
                               INT64_MIN) != NULL;
    const mark *unsure =
        mark_find(&w->unsure, false, tag_of(GRANTS_UNSURELY, g->session), g->resource, INT64_MIN);
    if (unsure)
        g->invoke_us = least(g->invoke_us, unsure->invoke_us);
    int64_t sure, maybe;
    own_bound(w, shown, count, &sure, &maybe);
    bound_surely(w, g, sure);
    bound_possibly(w, g, maybe);
    judge_origin(w, g, shown, count, unsure);
}

static void judge_equal_fences(work *w)
{
    for (size_t i = 1; i < w->sure_count; i++) {
        const grant *a = &w->grants[i - 1], *b = &w->grants[i];
        if (a->resource == b->resource && a->fence == b->fence)
            blame(w, CHECK_EQUAL_FENCE, b->first, a->first);
    }
}

static void find_grants(work *w)
{
    const check_record **shown = check_need(w->count, sizeof *shown);
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++)
        if (shows_lock(&w->records[i]))
            shown[count++] = &w->records[i];
    qsort(shown, count, sizeof *shown, by_grant);
    w->grants = check_need(w->count, sizeof *w->grants);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && shown[next]->resource == shown[i]->resource &&
                           shown[next]->fence == shown[i]->fence &&
                           owner(shown[next]) == owner(shown[i]);)
            next++;
        grant_make(w, shown + i, next - i);
    }
    free(shown);
    w->sure_count = w->report->grants = w->grants_count;
    for (size_t i = 0; i < w->count; i++) {
        const check_record *r = &w->records[i];
        if (r->result != CHECK_UNKNOWN || !is_granting(r))
            continue;
        grant *g = &w->grants[w->grants_count++];
        /* a hand-over doesn't know the mode */
        bool exclusive = r->asked == 0 || r->op == CHECK_HAND_OVER;
        *g = (grant){.resource = r->resource,
                     .session = owner(r),
                     .first = r,
                     .exclusive = exclusive,
                     .invoke_us = r->invoke_us,
                     .return_us = r->return_us,
                     .exclusive_us = NEVER};
        bound_possibly(w, g, NEVER);
    }
}

/* Is the answered bound where the ttl puts it? */
static void judge_bound(work *w, const check_record *r)
{
    int64_t asked_us = r->ends_us - r->ttl_us;
    if ((r->ttl_us == 0) != (r->ends_us == 0) ||
        (r->ttl_us &&
         (asked_us < r->invoke_us - w->slack_us || asked_us > plus(r->return_us, w->slack_us))))
        blame(w, CHECK_WRONG_BOUND, r, NULL);
}

/* ---- who overlaps whom ---- */

/* The two latest ends of different sessions: enough to answer for any session "does another one
 * last until then?". */
typedef struct latest {
    const grant *by[2];
    int64_t end_us[2];
} latest;

static void latest_add(latest *l, const grant *g, int64_t end_us)
{
    bool same = l->by[0] && l->by[0]->session == g->session;
    if (!l->by[0] || (same && end_us > l->end_us[0])) {
        l->by[0] = g;
        l->end_us[0] = end_us;
    } else if (!same && end_us > l->end_us[0]) {
        l->by[1] = l->by[0];
        l->end_us[1] = l->end_us[0];
        l->by[0] = g;
        l->end_us[0] = end_us;
    } else if (!same && (!l->by[1] || end_us > l->end_us[1])) {
        l->by[1] = g;
        l->end_us[1] = end_us;
    }
}

/* Another session's that lasts beyond the instant; NULL: none. */
static const grant *latest_other(const latest *l, uint32_t session, int64_t beyond_us)
{
    for (int i = 0; i < 2; i++)
        if (l->by[i] && l->by[i]->session != session)
            return l->end_us[i] > beyond_us ? l->by[i] : NULL;
    return NULL;
}

typedef struct span {
    const grant *grant;
    int64_t start_us;
    int64_t end_us;
    bool exclusive;
} span;

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->grant->resource != y->grant->resource)
        return races_check_order(x->grant->resource, y->grant->resource);
    return races_check_order(x->start_us, y->start_us);
}

static void blame_overlap(work *w, const grant *later, const grant *earlier)
{
    blame(w, earlier->ending == BY_OP ? CHECK_OVERLAP : CHECK_EARLY, later->first, earlier->first);
}

/* The sure holds of a resource's grants, and again the exclusive part of each. A grant that its
 * session's next one stepped over (an upgrade) counts only until then: the next one's bound may be
 * another. */
static size_t find_spans(const work *w, span *spans)
{
    size_t count = 0;
    int64_t *next_us = check_need(w->lives_count, sizeof *next_us);
    uint32_t *resource = check_need(w->lives_count, sizeof *resource);
    memset(resource, 0xff, w->lives_count * sizeof *resource);
    for (size_t i = w->sure_count; i-- > 0;) {
        const grant *g = &w->grants[i];
        int64_t until_us = resource[g->session] == g->resource ? next_us[g->session] : NEVER;
        int64_t end_us = least(g->sure_end_us, until_us),
                exclusive_end_us = least(g->sure_exclusive_end_us, until_us);
        if (end_us > g->return_us)
            spans[count++] = (span){g, g->return_us, end_us, false};
        if (g->exclusive && exclusive_end_us > g->exclusive_us)
            spans[count++] = (span){g, g->exclusive_us, exclusive_end_us, true};
        resource[g->session] = g->resource;
        next_us[g->session] = g->invoke_us;
    }
    free(next_us);
    free(resource);
    return count;
}

/* P1: every sure hold against what other sessions surely hold at its start. */
static void judge_exclusion(work *w)
{
    span *spans = check_need(2 * w->sure_count, sizeof *spans);
    size_t count = find_spans(w, spans);
    if (count)
        qsort(spans, count, sizeof *spans, by_start);
    latest any = {0}, exclusive = {0};
    for (size_t i = 0; i < count; i++) {
        const grant *g = spans[i].grant;
        if (i == 0 || spans[i - 1].grant->resource != g->resource)
            any = exclusive = (latest){0};
        latest *against = spans[i].exclusive ? &any : &exclusive;
        const grant *other = latest_other(against, g->session, spans[i].start_us);
        if (other)
            blame_overlap(w, g, other);
        latest_add(spans[i].exclusive ? &exclusive : &any, g, spans[i].end_us);
    }
    free(spans);
}

/* ---- fences ---- */

static int by_resource_and_invocation(const void *a, const void *b)
{
    const grant *x = *(const grant *const *)a, *y = *(const grant *const *)b;
    return x->resource != y->resource ? races_check_order(x->resource, y->resource)
                                      : races_check_order(x->invoke_us, y->invoke_us);
}

static int by_resource_and_return(const void *a, const void *b)
{
    const grant *x = *(const grant *const *)a, *y = *(const grant *const *)b;
    return x->resource != y->resource ? races_check_order(x->resource, y->resource)
                                      : races_check_order(x->return_us, y->return_us);
}

/* P8: whoever was asked for after another had been answered has the larger fence. */
static void judge_fences(work *w)
{
    size_t count = w->sure_count;
    const grant **asked = check_need(count, sizeof *asked),
                **answered = check_need(count, sizeof *answered);
    for (size_t i = 0; i < count; i++)
        asked[i] = answered[i] = &w->grants[i];
    qsort(asked, count, sizeof *asked, by_resource_and_invocation);
    qsort(answered, count, sizeof *answered, by_resource_and_return);
    const grant *highest = NULL;
    for (size_t i = 0, j = 0; i < count; i++) {
        if (i == 0 || asked[i - 1]->resource != asked[i]->resource) {
            highest = NULL;
            while (answered[j]->resource != asked[i]->resource)
                j++;
        }
        for (; j < count && answered[j]->resource == asked[i]->resource &&
               answered[j]->return_us < asked[i]->invoke_us;
             j++)
            if (!highest || answered[j]->fence > highest->fence)
                highest = answered[j];
        if (highest && highest->fence > asked[i]->fence)
            blame(w, CHECK_FENCE_BACK, asked[i]->first, highest->first);
    }
    free(asked);
    free(answered);
}

/* Locks of sessions that died, which a later grant in conflict with them stepped over. Grants of a
 * resource stand in the order of their fences. */
static void count_take_overs(work *w)
{
    latest any = {0}, exclusive = {0};
    for (size_t i = w->sure_count; i-- > 0;) {
        const grant *g = &w->grants[i];
        if (i + 1 == w->sure_count || w->grants[i + 1].resource != g->resource)
            any = exclusive = (latest){0};
        const latest *later = g->exclusive ? &any : &exclusive;
        w->report->take_overs += g->ending == BY_IDLE && latest_other(later, g->session, 0) != NULL;
        latest_add(&any, g, NEVER);
        if (g->exclusive)
            latest_add(&exclusive, g, NEVER);
    }
}

/* ---- what a session is told of its own locks ---- */

static const grant *grant_of(const work *w, const check_record *r)
{
    const check_record *key = r;
    size_t low = 0, high = w->sure_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const grant *g = &w->grants[middle];
        int side = races_check_order(g->resource, key->resource);
        side = side ? side : races_check_order(g->fence, key->fence);
        side = side ? side : races_check_order(g->session, owner(key));
        if (side == 0)
            return g;
        if (side < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* q asks again for what is held by g, which nothing can have ended before q's return. */
static void judge_again(work *w, const check_record *q, const grant *g)
{
    bool still_exclusive =
        g->exclusive && g->sure_exclusive_end_us > q->return_us && g->exclusive_us < q->invoke_us;
    bool enough = still_exclusive || q->asked == 1;
    if (q->result == CHECK_LOCKED) {
        if (enough)
            blame(w, CHECK_LOST, q, g->first);
        return;
    }
    if (enough && q->fence != g->fence)
        blame(w, CHECK_REFENCED, q, g->first);
    if (still_exclusive && q->mode != 0)
        blame(w, CHECK_WEAKER, q, g->first);
    bool maybe_exclusive = g->exclusive && g->maybe_exclusive_end_us > q->invoke_us;
    if (q->asked == 0 && q->fence == g->fence && !maybe_exclusive)
        blame(w, CHECK_REFENCED, q, g->first);
    bool shorter = q->ends_us != 0 && (g->first->ends_us == 0 || q->ends_us < g->first->ends_us);
    if (q->fence == g->fence && shorter && !g->told_again)
        blame(w, CHECK_WEAKER, q, g->first);
}

/* Judges one answer by the grant before it, if there is just one that it can be about. */
static void judge_own(work *w, const check_record *q, const check_record *prior, bool clear)
{
    if (q->op == CHECK_ACQUIRE && check_is_done(q) && q->mode > q->asked)
        blame(w, CHECK_WEAKER, q, NULL);
    if (check_is_done(q) && (q->op == CHECK_RENEW || (q->op == CHECK_ACQUIRE && !prior && clear)))
        judge_bound(w, q);
    if (!prior || !clear || !check_is_done(prior))
        return;
    const grant *g = grant_of(w, prior);
    bool same = q->only_fence == 0 || (g && q->only_fence == g->fence);
    if (g && check_is_done(q) && !same && g->sure_end_us >= q->invoke_us)
        blame(w, CHECK_OTHER_GRANT, q, g->first);
    if (!g || g->sure_end_us <= q->return_us)
        return;
    if (q->op == CHECK_ACQUIRE && (q->result == CHECK_OK || q->result == CHECK_LOCKED))
        judge_again(w, q, g);
    bool about_it = q->op == CHECK_RELEASE || q->op == CHECK_HOLDS || q->op == CHECK_RENEW ||
                    q->op == CHECK_DOWNGRADE || q->op == CHECK_HAND_OVER;
    if (about_it && q->result == CHECK_NOT_HELD && same)
        blame(w, CHECK_LOST, q, g->first);
}

typedef struct seen {
    uint32_t session;
    const check_record *record;
} seen;

static int by_pair(const void *a, const void *b)
{
    const seen *x = a, *y = b;
    if (x->session != y->session)
        return races_check_order(x->session, y->session);
    if (x->record->resource != y->record->resource)
        return races_check_order(x->record->resource, y->record->resource);
    return races_check_order(x->record->invoke_us, y->record->invoke_us);
}

static bool same_pair(const seen *a, const seen *b)
{
    return a->session == b->session && a->record->resource == b->record->resource;
}

static bool grants_to(const seen *s)
{
    return is_granting(s->record) && may_be_done(s->record) && owner(s->record) == s->session;
}

/* Of one session and one resource: each answer against the grant before it, unless grants run into
 * each other. */
static void judge_pair(work *w, const seen *at, size_t count)
{
    const check_record *prior = NULL;
    bool clear = true;
    int64_t busy_until_us = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const check_record *q = at[i].record;
        bool crossed = busy_until_us > q->invoke_us;
        for (size_t j = i + 1; j < count && at[j].record->invoke_us < q->return_us && !crossed; j++)
            crossed = grants_to(&at[j]);
        if (q->session == at[i].session)
            judge_own(w, q, prior, clear && !crossed);
        if (grants_to(&at[i])) {
            clear = busy_until_us < q->invoke_us;
            busy_until_us = most(busy_until_us, q->return_us);
            prior = q;
        }
    }
}

static void judge_own_locks(work *w)
{
    seen *all = check_need(2 * w->count, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        const check_record *r = &w->records[i];
        if (r->op == CHECK_OPEN || r->op == CHECK_BEAT || r->op == CHECK_CLOSE ||
            r->op == CHECK_RELEASE_ALL || r->op == CHECK_FORCE || r->op == CHECK_BELIEF)
            continue;
        all[count++] = (seen){r->session, r};
        if (r->op == CHECK_HAND_OVER && r->target != r->session)
            all[count++] = (seen){r->target, r};
    }
    qsort(all, count, sizeof *all, by_pair);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_pair(&all[i], &all[next]);)
            next++;
        judge_pair(w, all + i, next - i);
    }
    free(all);
}

/* ---- refusals ---- */

static int by_resource_then_return(const void *a, const void *b)
{
    const check_record *x = *(const check_record *const *)a, *y = *(const check_record *const *)b;
    return x->resource != y->resource ? races_check_order(x->resource, y->resource)
                                      : races_check_order(x->return_us, y->return_us);
}

/* Whoever is refused is refused because of somebody: P7 from above, since a dead session is nobody.
 * */
static void judge_refusals(work *w)
{
    const check_record **refused = check_need(w->count, sizeof *refused);
    const grant **grants = check_need(w->grants_count, sizeof *grants);
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->records[i].op == CHECK_ACQUIRE && w->records[i].result == CHECK_LOCKED)
            refused[count++] = &w->records[i];
    for (size_t i = 0; i < w->grants_count; i++)
        grants[i] = &w->grants[i];
    qsort(refused, count, sizeof *refused, by_resource_then_return);
    qsort(grants, w->grants_count, sizeof *grants, by_resource_and_invocation);
    latest any = {0}, exclusive = {0};
    for (size_t i = 0, j = 0; i < count; i++) {
        const check_record *q = refused[i];
        if (i == 0 || refused[i - 1]->resource != q->resource) {
            any = exclusive = (latest){0};
            while (j < w->grants_count && grants[j]->resource < q->resource)
                j++;
        }
        for (; j < w->grants_count && grants[j]->resource == q->resource &&
               grants[j]->invoke_us <= q->return_us;
             j++) {
            latest_add(&any, grants[j], grants[j]->maybe_end_us);
            if (grants[j]->exclusive)
                latest_add(&exclusive, grants[j], grants[j]->maybe_exclusive_end_us);
        }
        if (!latest_other(q->asked == 1 ? &exclusive : &any, q->session, q->invoke_us - 1))
            blame(w, CHECK_GHOST, q, NULL);
    }
    free(refused);
    free(grants);
}

/* ---- the whole ---- */

static int by_invoke(const void *a, const void *b)
{
    const check_record *x = a, *y = b;
    return races_check_order(x->invoke_us, y->invoke_us);
}

static void work_init(work *w, const check_record *records, size_t count)
{
    w->count = count;
    w->records = check_need(count, sizeof *records);
    if (count)
        memcpy(w->records, records, count * sizeof *records);
    qsort(w->records, count, sizeof *records, by_invoke);
    for (size_t i = 0; i < count; i++) {
        size_t top =
            records[i].session > records[i].target ? records[i].session : records[i].target;
        w->lives_count = top + 1 > w->lives_count ? top + 1 : w->lives_count;
        w->report->sessions += records[i].op == CHECK_OPEN && check_is_done(&records[i]);
    }
    w->lives = check_need(w->lives_count, sizeof *w->lives);
    for (size_t i = 0; i < w->lives_count; i++)
        w->lives[i] = (life){false, INT64_MIN / 2, INT64_MIN / 2, NEVER, NEVER};
}

void check_history(const check_record *records, size_t count, int64_t slack_us, check_report *out)
{
    *out = (check_report){.records = count};
    work w = {.slack_us = slack_us, .report = out};
    work_init(&w, records, count);
    mark_all(&w);
    judge_lives(&w);
    judge_deaths(&w);
    find_grants(&w);
    judge_equal_fences(&w);
    judge_exclusion(&w);
    judge_fences(&w);
    judge_own_locks(&w);
    judge_refusals(&w);
    count_take_overs(&w);
    free(w.records);
    free(w.lives);
    free(w.may_end.at);
    free(w.has_ended.at);
    free(w.unsure.at);
    free(w.grants);
}

const char *check_op_name(check_op op)
{
    static const char *const names[CHECK_OPS] = {"open",  "beat",      "close",     "acquire",
                                                 "renew", "downgrade", "release",   "release-all",
                                                 "holds", "belief",    "hand-over", "force"};
    return op < CHECK_OPS ? names[op] : "?";
}

const char *check_fault_sentence(check_fault fault)
{
    static const char *const sentences[CHECK_FAULTS] = {
#define CHECK_FAULT_SENTENCE(name, sentence) sentence,
        CHECK_FAULT_TABLE(CHECK_FAULT_SENTENCE)
#undef CHECK_FAULT_SENTENCE
    };
    return fault < CHECK_FAULTS ? sentences[fault] : "?";
}

static void print_record(const check_record *r, FILE *out)
{
    static const char *const results[] = {"ok",      "locked",  "not held",
                                          "expired", "nothing", "unknown"};
    fprintf(out, "#     %lld..%lld client %u session %u %s", (long long)r->invoke_us,
            (long long)r->return_us, r->client, r->session, check_op_name(r->op));
    if (r->op == CHECK_HAND_OVER)
        fprintf(out, " to %u", r->target);
    if (r->op != CHECK_OPEN && r->op != CHECK_BEAT && r->op != CHECK_CLOSE &&
        r->op != CHECK_RELEASE_ALL)
        fprintf(out, " resource %u asked %u mode %u fence %lld only %lld ttl %lld ends %lld",
                r->resource, r->asked, r->mode, (long long)r->fence, (long long)r->only_fence,
                (long long)r->ttl_us, (long long)r->ends_us);
    else
        fprintf(out, " idle %lld expires %lld", (long long)r->idle_us, (long long)r->expires_us);
    fprintf(out, ": %s\n", results[r->result <= CHECK_UNKNOWN ? r->result : CHECK_UNKNOWN]);
}

void check_print(const check_report *report, FILE *out)
{
    fprintf(out,
            "# checked %zu calls of %zu sessions: %zu grants, %zu refusals, %zu take-overs, %zu "
            "unknown, %zu "
            "faults\n",
            report->records, report->sessions, report->grants, report->refusals, report->take_overs,
            report->unknown, report->faults);
    for (int f = 0; f < CHECK_FAULTS; f++)
        if (report->by_fault[f])
            fprintf(out, "#   %zu times %s\n", report->by_fault[f], check_fault_sentence(f));
    for (size_t i = 0; i < report->examples_count; i++) {
        fprintf(out, "#   %s:\n", check_fault_sentence(report->examples[i].fault));
        print_record(&report->examples[i].a, out);
        if (report->examples[i].b.client != NOBODY)
            print_record(&report->examples[i].b, out);
    }
}
