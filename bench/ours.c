/* SPDX-License-Identifier: MIT */
/* Drives a store through hf_batch and hf_store_execute, as a program of some size would: with
 * request ids, fences and a purpose, and looking at every answer. */
#include "ours.h"

#include <stdlib.h>
#include <string.h>

/* Long enough that nothing expires while a slow machine works. */
#define IDLE_US (INT64_C(86400) * 1000000)
enum { SESSION_LOCKS = 10000, BUSY_TRIES = 20, FIRST_SAVES_SEED = 4 };

void ours_execute(ours *o)
{
    hf_error err;
    hf_status status = HF_BUSY;
    for (int i = 0; i < BUSY_TRIES && status == HF_BUSY;
         i++) /* the disk stood still; by hand one just waits */
        status = hf_store_execute(o->store, o->batch, &err);
    if (status != HF_OK)
        bench_die("a batch failed: %s", err.message);
    for (size_t i = 0; i < hf_batch_count(o->batch); i++) {
        const hf_op *op = hf_batch_op(o->batch, i);
        if (op->answer.status != HF_OK)
            bench_die("%s was refused: %s", hf_op_kind_name(op->kind), op->answer.message);
    }
}

void ours_session(ours *o, hf_credentials *out)
{
    hf_error err;
    if (hf_credentials_new(NULL, out, &err) != HF_OK)
        bench_die("no credentials: %s", err.message);
    hf_batch_clear(o->batch);
    hf_op *op = hf_batch_add(o->batch, HF_OP_SESSION_OPEN);
    op->session = out;
    op->user = BENCH_USER;
    op->name = BENCH_USER_NAME;
    op->idle_us = IDLE_US;
    ours_execute(o);
}

ours *ours_on(const bench *b, hf_store *store)
{
    hf_error err;
    ours *o = calloc(1, sizeof *o);
    if (o == NULL)
        bench_die("out of memory");
    if (hf_batch_new(BENCH_BATCH_MAX, &o->batch, &err) != HF_OK)
        bench_die("no batch: %s", err.message);
    o->store = store;
    o->borrowed = true;
    o->picker = bench_picker_new(1, b->working);
    o->batch_size = 1;
    ours_session(o, &o->session);
    return o;
}

ours *ours_open(const bench *b, const char *url)
{
    hf_error err;
    hf_store *store;
    if (hf_store_open(url, &store, &err) != HF_OK)
        bench_die("%s can't be opened: %s", url, err.message);
    ours *o = ours_on(b, store);
    o->borrowed = false;
    return o;
}

void ours_close(ours *o)
{
    if (o == NULL)
        return;
    hf_batch_free(o->batch);
    if (!o->borrowed)
        hf_store_close(o->store);
    hf_credentials_clear(&o->session);
    free(o->picker);
    free(o);
}

void ours_acquire(ours *o, const hf_credentials *session, size_t count)
{
    hf_batch_clear(o->batch);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(o->batch, HF_OP_ACQUIRE);
        op->session = session;
        op->type = BENCH_TYPE;
        op->id = o->picks[i].id;
        op->purpose = BENCH_PURPOSE;
        op->request_id = o->picks[i].request;
    }
    ours_execute(o);
    for (size_t i = 0; i < count; i++)
        o->picks[i].fence = hf_batch_op(o->batch, i)->answer.locks[0].fence;
}

void ours_release(ours *o, const hf_credentials *session, size_t count)
{
    hf_batch_clear(o->batch);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(o->batch, HF_OP_RELEASE);
        op->session = session;
        op->type = BENCH_TYPE;
        op->id = o->picks[i].id;
        op->fence = o->picks[i].fence;
        op->request_id = o->picks[i].request;
    }
    ours_execute(o);
}

void ours_keep(ours *o, size_t first, size_t count)
{
    static char ids[BENCH_BATCH_MAX][BENCH_ID_SIZE];
    for (size_t i = 0; i < count; i++) {
        bench_name((uint32_t)(first + i), ids[i]);
        o->picks[i].id = ids[i];
        bench_picker_request(o->picker, o->picks[i].request);
    }
    ours_acquire(o, &o->session, count);
    o->held = count;
}

/* Saves the first `count` picks in one batch. */
static void ours_save(ours *o, size_t count, bool first)
{
    hf_batch_clear(o->batch);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(o->batch, HF_OP_SAVE);
        op->type = BENCH_TYPE;
        op->id = o->picks[i].id;
        op->user = BENCH_USER;
        op->name = BENCH_USER_NAME;
        op->version = first ? 0 : o->picks[i].version;
        op->absent = first;
        op->request_id = o->picks[i].request;
        op->linked = o->linked && i + 1 < count;
    }
    ours_execute(o);
}

/* With a picker of its own: a request id that comes again for the same name would be refused. */
void ours_save_all(ours *o)
{
    bench_picker *picker = bench_picker_new(FIRST_SAVES_SEED, o->picker->all);
    for (size_t first = 0; first < picker->working && !bench_stopped(); first += BENCH_BATCH_MAX) {
        size_t left = picker->working - first;
        size_t count = left < BENCH_BATCH_MAX ? left : BENCH_BATCH_MAX;
        bench_picker_run(picker, o->picks, first, count);
        ours_save(o, count, true);
    }
    free(picker);
}

void ours_visit_all(ours *o)
{
    for (size_t first = 0; first < o->picker->working && !bench_stopped();
         first += BENCH_BATCH_MAX) {
        size_t left = o->picker->working - first;
        size_t count = left < BENCH_BATCH_MAX ? left : BENCH_BATCH_MAX;
        bench_picker_run(o->picker, o->picks, first, count);
        ours_acquire(o, &o->session, count);
        ours_release(o, &o->session, count);
    }
}

void ours_hold(ours *o, size_t count)
{
    static char ids[BENCH_BATCH_MAX][BENCH_ID_SIZE];
    hf_credentials session;
    for (size_t done = 0; done < count && !bench_stopped();) {
        size_t in_session = done % SESSION_LOCKS;
        if (in_session == 0)
            ours_session(o, &session);
        size_t more = SESSION_LOCKS - in_session < BENCH_BATCH_MAX ? SESSION_LOCKS - in_session
                                                                   : BENCH_BATCH_MAX;
        if (more > count - done)
            more = count - done;
        for (size_t i = 0; i < more; i++) {
            bench_name((uint32_t)(done + i), ids[i]);
            o->picks[i].id = ids[i];
            bench_picker_request(o->picker, o->picks[i].request);
        }
        ours_acquire(o, &session, more);
        done += more;
    }
    hf_credentials_clear(&session);
}

double ours_pairs(void *context, double seconds)
{
    ours *o = context;
    size_t pairs = 0;
    double start = bench_now();
    double end;
    do {
        bench_picker_fill(o->picker, o->picks, o->batch_size);
        ours_acquire(o, &o->session, o->batch_size);
        ours_release(o, &o->session, o->batch_size);
        pairs += o->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

double ours_saves(void *context, double seconds)
{
    ours *o = context;
    size_t saves = 0;
    double start = bench_now();
    double end;
    do {
        bench_picker_fill(o->picker, o->picks, o->batch_size);
        ours_save(o, o->batch_size, false);
        bench_picker_saved(o->picker, o->picks, o->batch_size);
        saves += o->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)saves / (end - start);
}

double ours_beats(void *context, double seconds)
{
    ours *o = context;
    size_t beats = 0;
    double start = bench_now();
    double end;
    do {
        hf_batch_clear(o->batch);
        hf_batch_add(o->batch, HF_OP_BEAT)->session = &o->session;
        ours_execute(o);
        if (hf_batch_op(o->batch, 0)->answer.locks_count != o->held)
            bench_die("a beat lost locks");
        beats++;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)beats / (end - start);
}
