/* SPDX-License-Identifier: MIT */
/* What the wire costs: an acquire written as JSON and read, and its answer written and read, beside
 * jansson doing the same with the same two texts (into and out of its own values, so it does not
 * even look at the fields). */
#include "bench.h"

#include <base/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <wire/wire.h>
#ifdef BENCH_JANSSON
#include <jansson.h>
#endif

enum { TURN = 1000 };

typedef struct parcel {
    hf_credentials login;
    hf_lock lock;
    hf_batch *batch;
    wire_ops ops;
    hf_arena arena;
    hf_buffer op_text, answer_text;
} parcel;

static void wire_must(hf_status status, const hf_error *err)
{
    if (status != HF_OK)
        bench_die("%s", err->message);
}

static void there_and_back(parcel *p)
{
    hf_error err;
    hf_buffer text = {0};
    wire_must(wire_ops_write(p->batch, &text, &err), &err);
    wire_must(wire_ops_read(&p->ops, text.text, text.size, &err), &err);
    hf_buffer_done(&text);
    hf_arena_reset(&p->arena);
    hf_batch_op(p->batch, 0)->answer.locks = &p->lock;
    wire_must(wire_answers_write(hf_batch_op(p->batch, 0), 1, &text, &err), &err);
    wire_must(wire_answers_read(p->batch, text.text, text.size, &p->arena, &err), &err);
    hf_buffer_done(&text);
}

static double by_wire(void *context, double seconds)
{
    double began = bench_now(), count = 0;
    while (bench_now() < began + seconds && !bench_stopped()) {
        for (int i = 0; i < TURN; i++)
            there_and_back(context);
        count += TURN;
    }
    return count / (bench_now() - began);
}

#ifdef BENCH_JANSSON
static void through_jansson(const hf_buffer *text)
{
    json_t *value = json_loadb(text->text, text->size, JSON_REJECT_DUPLICATES, NULL);
    char *again = json_dumps(value, JSON_COMPACT);
    if (again == NULL)
        bench_die("jansson refuses what we write");
    free(again);
    json_decref(value);
}

static double by_jansson(void *context, double seconds)
{
    const parcel *p = context;
    double began = bench_now(), count = 0;
    while (bench_now() < began + seconds && !bench_stopped()) {
        for (int i = 0; i < TURN; i++) {
            through_jansson(&p->op_text);
            through_jansson(&p->answer_text);
        }
        count += TURN;
    }
    return count / (bench_now() - began);
}
#endif

static void pack(parcel *p)
{
    hf_error err;
    wire_must(hf_credentials_new(NULL, &p->login, &err), &err);
    wire_must(hf_batch_new(1, &p->batch, &err), &err);
    hf_op *op = hf_batch_add(p->batch, HF_OP_ACQUIRE);
    op->session = &p->login;
    op->type = "policy";
    op->id = "12345";
    op->purpose = "renewal";
    op->request_id = "0123456789abcdef";
    p->lock = (hf_lock){.resource = {"policy", "12345"},
                        .fence = 1234567,
                        .since_us = INT64_C(1794739623123456),
                        .expires_us = INT64_C(1794739923123456),
                        .purpose = "renewal",
                        .user = "alice",
                        .name = "Alice Chen"};
    memcpy(p->lock.session, p->login.id, sizeof p->lock.session);
    op->answer = (hf_answer){
        .outcome = HF_GRANTED, .locks = &p->lock, .locks_count = 1, .now_us = p->lock.since_us};
    wire_must(wire_ops_write(p->batch, &p->op_text, &err), &err);
    wire_must(wire_answers_write(hf_batch_op(p->batch, 0), 1, &p->answer_text, &err), &err);
}

void bench_wire(bench *b)
{
    if (!bench_wants(b, "wire/acquire"))
        return;
    parcel p = {0};
    pack(&p);
    bench_side sides[2] = {{by_wire, &p}};
    bench_series out[2];
    size_t count = 1;
#ifdef BENCH_JANSSON
    sides[count++] = (bench_side){by_jansson, &p};
#endif
    bench_interleave(b, sides, count, out);
    bench_figure figure = {.name = "wire/acquire", .unit = "acquires/s", .against = "jansson"};
    bench_report(b, &figure, &out[0], count > 1 ? &out[1] : NULL);
    hf_buffer_done(&p.op_text);
    hf_buffer_done(&p.answer_text);
    wire_ops_done(&p.ops);
    hf_arena_done(&p.arena);
    hf_batch_free(p.batch);
}
