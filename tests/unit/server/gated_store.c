/* SPDX-License-Identifier: MIT */
/* The gate: a wrapper with a mutex, a condition and a log. */
#include "unit/server/gated_store.h"

#include <base/error.h>
#include <base/seams.h>
#include <pthread.h>
#include <stdio.h>
#include <store/wrappers.h>
#include <string.h>
#include <time.h>

enum { AT_ONCE = 32 };

struct gate {
    hf_wrapper wrap;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool shut, shut_for_reads;
    long slow_us;
    hf_status poison;
    size_t waiting, batches, meetings;
    const hf_batch *working[AT_ONCE];
    gate_entry *log;
    size_t log_count;
};

static bool gate_names(hf_batch *batch, const char *session)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        const hf_credentials *of = hf_batch_op(batch, i)->session;
        if (of != NULL && strcmp(of->id, session) == 0)
            return true;
    }
    return false;
}

static bool meet(hf_batch *a, hf_batch *b)
{
    for (size_t i = 0; i < hf_batch_count(a); i++) {
        const hf_credentials *of = hf_batch_op(a, i)->session;
        if (of != NULL && gate_names(b, of->id))
            return true;
    }
    return false;
}

static void gate_note(gate *g, hf_batch *batch)
{
    g->batches++;
    for (size_t i = 0; i < hf_batch_count(batch) && g->log_count < GATE_LOG_MAX; i++) {
        const hf_op *op = hf_batch_op(batch, i);
        gate_entry *entry = &g->log[g->log_count++];
        *entry = (gate_entry){.batch = g->batches, .kind = op->kind};
        if (op->session != NULL)
            memcpy(entry->session, op->session->id, sizeof entry->session);
        if (op->request_id != NULL)
            snprintf(entry->request, sizeof entry->request, "%s", op->request_id);
    }
}

/* Where it stands among those that work, once it has gone through. */
static size_t server_gate_enter(gate *g, hf_batch *batch)
{
    bool reads = true;
    size_t at = 0;
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        reads &= hf_op_reads(hf_batch_op(batch, i)->kind);
    pthread_mutex_lock(&g->mutex);
    g->waiting++;
    pthread_cond_broadcast(&g->changed);
    while (g->shut && (!reads || g->shut_for_reads))
        pthread_cond_wait(&g->changed, &g->mutex);
    g->waiting--;
    gate_note(g, batch);
    while (g->working[at] != NULL)
        at++;
    for (size_t i = 0; i < AT_ONCE; i++)
        g->meetings += g->working[i] != NULL && meet(batch, (hf_batch *)g->working[i]);
    g->working[at] = batch;
    pthread_mutex_unlock(&g->mutex);
    return at;
}

static bool poisoned(hf_batch *batch)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        const char *id = hf_batch_op(batch, i)->id;
        if (id != NULL && strcmp(id, "poison") == 0)
            return true;
    }
    return false;
}

static hf_status execute_gate(hf_store *store, hf_batch *batch, hf_error *err)
{
    gate *g = (gate *)store;
    size_t at = server_gate_enter(g, batch);
    pthread_mutex_lock(&g->mutex);
    hf_status status = poisoned(batch) ? g->poison : HF_OK;
    struct timespec pause = {0, g->slow_us * 1000};
    pthread_mutex_unlock(&g->mutex);
    if (pause.tv_nsec > 0)
        nanosleep(&pause, NULL);
    if (status != HF_OK)
        hf_error_set(err, status, "The batch is poisoned.");
    else
        status = hf_store_execute(g->wrap.inner, batch, err);
    pthread_mutex_lock(&g->mutex);
    g->working[at] = NULL;
    pthread_mutex_unlock(&g->mutex);
    return status;
}

static void close_gate(hf_store *store)
{
    gate *g = (gate *)store;
    hf_store_close(g->wrap.inner);
    pthread_mutex_destroy(&g->mutex);
    pthread_cond_destroy(&g->changed);
    hf_free(g->log);
    hf_free(g);
}

static const hf_store_ops gate_ops = {
    .scheme = "gate+",
    .execute = execute_gate,
    .grade = hf_wrapper_grade,
    .close = close_gate,
};

hf_store *gate_open(hf_store *inner)
{
    gate *g = hf_alloc(sizeof *g);
    hf_store_init(&g->wrap.base, &gate_ops);
    g->wrap.inner = inner;
    g->log = hf_alloc(GATE_LOG_MAX * sizeof *g->log);
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->changed, NULL);
    return &g->wrap.base;
}

gate *gate_of(hf_store *store)
{
    return (gate *)store;
}

static void gate_set(gate *g, bool shut, bool for_reads)
{
    pthread_mutex_lock(&g->mutex);
    g->shut = shut;
    g->shut_for_reads = for_reads;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

void gate_shut(gate *g)
{
    gate_set(g, true, false);
}

void gate_shut_for_all(gate *g)
{
    gate_set(g, true, true);
}

void gate_let(gate *g)
{
    gate_set(g, false, false);
}

void gate_wait_inside(gate *g, size_t count)
{
    pthread_mutex_lock(&g->mutex);
    while (g->waiting < count)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}

void gate_slow(gate *g, long us)
{
    pthread_mutex_lock(&g->mutex);
    g->slow_us = us;
    pthread_mutex_unlock(&g->mutex);
}

void gate_poison(gate *g, hf_status status)
{
    pthread_mutex_lock(&g->mutex);
    g->poison = status;
    pthread_mutex_unlock(&g->mutex);
}

size_t gate_batches(gate *g)
{
    pthread_mutex_lock(&g->mutex);
    size_t batches = g->batches;
    pthread_mutex_unlock(&g->mutex);
    return batches;
}

size_t gate_meetings(gate *g)
{
    pthread_mutex_lock(&g->mutex);
    size_t meetings = g->meetings;
    pthread_mutex_unlock(&g->mutex);
    return meetings;
}

const gate_entry *gate_log(gate *g, size_t *count)
{
    *count = g->log_count;
    return g->log;
}
