/* SPDX-License-Identifier: MIT */
/* Counting. Each call is a look-up in a small fixed table and an addition; only a refusal and a
 * save look for the label of their type. */
#include "server/metrics.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/metrics_inside.h"

#include <stdio.h>
#include <string.h>

const char *const metrics_methods[METHODS] = {"GET",   "HEAD",   "POST",    "PUT",
                                              "PATCH", "DELETE", "OPTIONS", METRICS_OTHER};
const char *const metrics_refusals[METRICS_REFUSALS] = {"unauthenticated", "denied",
                                                        "rate_limited"};
const int64_t metrics_times_us[METRICS_TIMES] = {
    500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

hf_status metrics_new(const metrics_settings *settings, metrics **out, hf_error *err)
{
    size_t routes = 0;
    while (settings->routes[routes] != NULL)
        routes++;
    metrics *m = hf_alloc(sizeof *m + (routes + 1) * sizeof *m->routes);
    if (m == NULL)
        return hf_fail_memory(err);
    m->routes_count = routes;
    for (size_t i = 0; i < routes; i++)
        m->routes[i].name = settings->routes[i];
    m->routes[routes].name = "unknown";
    m->started_us = hf_seam.wall_us();
    snprintf(m->store, sizeof m->store, "%s", settings->store);
    *out = m;
    return HF_OK;
}

void metrics_free(metrics *m)
{
    hf_free(m);
}

/* ---- what happens ---- */

static type_counts *metrics_label_of(metrics *m, const char *type)
{
    for (size_t i = 0; i < m->types_count; i++)
        if (strcmp(m->types[i].name, type) == 0)
            return &m->types[i];
    return NULL;
}

static void metrics_add_label(metrics *m, const char *type)
{
    type_counts *label = &m->types[m->types_count++];
    snprintf(label->name, sizeof label->name, "%s", type);
}

/* Types that are saved without locks are not in the live counts: they get their label here. */
static void metrics_note_saved(metrics *m, const char *type)
{
    if (m->types_count < METRICS_TYPES_MAX && strcmp(type, METRICS_OTHER) != 0 &&
        metrics_label_of(m, type) == NULL)
        metrics_add_label(m, type);
}

/* Whether the op was refused because of what someone else has done, or is doing, to the resource. A
 * version that is looked at by itself is a question; in a linked run it is what the others rely on.
 * */
static bool metrics_is_refusal(const hf_op *op, bool in_run)
{
    hf_status status = op->answer.status;
    switch (op->kind) {
    case HF_OP_ACQUIRE:
        return status == HF_LOCKED || status == HF_BUSY;
    case HF_OP_SAVE:
        return status == HF_LOCKED || status == HF_BUSY || status == HF_STALE;
    case HF_OP_VERSION:
        return in_run && status == HF_STALE;
    default:
        return false;
    }
}

static void metrics_count_refused(metrics *m, const char *type)
{
    type_counts *label = type == NULL ? NULL : metrics_label_of(m, type);
    (label != NULL ? label : &m->other)->refused++;
}

void metrics_ops(metrics *m, const hf_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const hf_op *op = &ops[i];
        hf_status status = op->answer.status;
        if ((unsigned)op->kind >= HF_OP_KINDS || (unsigned)status >= HF_STATUS_COUNT)
            continue;
        m->ops[op->kind][status]++;
        if (op->kind == HF_OP_SAVE && status == HF_OK)
            metrics_note_saved(m, op->type);
        if (metrics_is_refusal(op, op->linked || (i > 0 && ops[i - 1].linked)))
            metrics_count_refused(m, op->type);
    }
}

static unsigned metrics_method_index(const char *method)
{
    unsigned i = 0;
    while (i < METHODS - 1 && strcmp(metrics_methods[i], method) != 0)
        i++;
    return i;
}

static unsigned metrics_time_index(int64_t us)
{
    unsigned i = 0;
    while (i < METRICS_TIMES && us > metrics_times_us[i])
        i++;
    return i;
}

void metrics_http(metrics *m, size_t route, const char *method, int code, int64_t took_us)
{
    route_counts *at = &m->routes[route < m->routes_count ? route : m->routes_count];
    int class = code / 100 - 1;
    at->answers[metrics_method_index(method)]
               [class >= 0 && class < CLASSES ? class : CLASSES - 1]++;
    at->times[metrics_time_index(took_us)]++;
    at->sum_us += took_us > 0 ? (uint64_t)took_us : 0;
    at->count++;
}

void metrics_refused(metrics *m, metrics_refusal why)
{
    m->refused[why]++;
}

void metrics_incident(metrics *m, const char *what)
{
    size_t i = 0;
    while (i < m->incidents_count && strcmp(m->incidents[i].what, what) != 0)
        i++;
    if (i == METRICS_INCIDENTS_MAX) {
        m->incidents_other++;
        return;
    }
    if (i == m->incidents_count)
        m->incidents[m->incidents_count++].what = what;
    m->incidents[i].count++;
}

/* ---- what lives ---- */

static bool metrics_knows(const hf_answer *live_counts, const char *type)
{
    return !live_counts->more ||
           (live_counts->counts_count > 0 &&
            strcmp(type, live_counts->counts[live_counts->counts_count - 1].type) <= 0);
}

/* The type without a label of which most locks live; the first of several. */
static const hf_count *metrics_most_used(metrics *m, const hf_answer *live_counts)
{
    const hf_count *most = NULL;
    for (size_t i = 0; i < live_counts->counts_count; i++) {
        const hf_count *it = &live_counts->counts[i];
        bool first = it->locks > (most == NULL ? 0 : most->locks);
        if (first && metrics_label_of(m, it->type) == NULL && strcmp(it->type, METRICS_OTHER) != 0)
            most = it;
    }
    return most;
}

static void metrics_give_labels(metrics *m, const hf_answer *live_counts)
{
    const hf_count *next;
    while (m->types_count < METRICS_TYPES_MAX && (next = metrics_most_used(m, live_counts)) != NULL)
        metrics_add_label(m, next->type);
}

void metrics_count(metrics *m, const hf_answer *live_counts)
{
    uint64_t labelled = 0;
    metrics_give_labels(m, live_counts);
    for (size_t i = 0; i < m->types_count; i++) {
        m->types[i].locks = 0;
        m->types[i].counted = metrics_knows(live_counts, m->types[i].name);
    }
    for (size_t i = 0; i < live_counts->counts_count; i++) {
        type_counts *label = metrics_label_of(m, live_counts->counts[i].type);
        if (label == NULL)
            continue;
        label->locks = live_counts->counts[i].locks;
        labelled += label->locks;
    }
    m->other.locks =
        (uint64_t)live_counts->total_locks > labelled ? live_counts->total_locks - labelled : 0;
    m->total_sessions = live_counts->total_sessions;
    m->census_at_us = live_counts->now_us;
    m->has_census = true;
}

/* ---- all together ---- */

metrics_totals metrics_totals_read(const metrics *m)
{
    metrics_totals all = {
        .counted = m->has_census,
        .locks = m->other.locks,
        .sessions = m->total_sessions,
        .granted = m->ops[HF_OP_ACQUIRE][HF_OK],
        .refused = m->other.refused,
        .requested = m->ops[HF_OP_REQUEST][HF_OK],
        .saved = m->ops[HF_OP_SAVE][HF_OK],
    };
    for (size_t i = 0; i < m->types_count; i++) {
        all.locks += m->types[i].locks;
        all.refused += m->types[i].refused;
    }
    return all;
}

const char *metrics_store(const metrics *m)
{
    return m->store;
}

int64_t metrics_started_us(const metrics *m)
{
    return m->started_us;
}
