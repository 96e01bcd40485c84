/* SPDX-License-Identifier: MIT */
/* The loop for tests: real libevent, real threads, a deadline on everything. */
#include "unit/server/loop.h"

#include <base/seams.h>
#include <event2/event.h>
#include <stdio.h>
#include <support/check.h>

#define SECOND_US INT64_C(1000000)

hf_store *loop_store(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

void loop_open(loop *l, hf_store *store)
{
    hf_error err = {0};
    *l = (loop){.store = store, .base = event_base_new()};
    expect_true(l->base != NULL);
    expect(HF_OK, committer_new(&(committer_settings){.store = store}, &l->committer, &err), err);
    expect(HF_OK, jobs_new(l->base, l->committer, &l->jobs, &err), err);
}

static void loop_nothing(evutil_socket_t fd, short what, void *context)
{
    (void)fd, (void)what, (void)context;
}

/* One turn of the loop, 5 ms at most. */
static void loop_turn(loop *l)
{
    event_base_once(l->base, -1, EV_TIMEOUT, loop_nothing, NULL, &(struct timeval){0, 5000});
    expect_true(event_base_loop(l->base, EVLOOP_ONCE) >= 0);
}

void loop_until(loop *l, bool (*is_true)(void *context), void *context)
{
    int64_t end_us = hf_seam.boot_us() + 60 * SECOND_US;
    while (!is_true(context)) {
        if (hf_seam.boot_us() > end_us)
            fail_msg("it did not come about within a minute");
        loop_turn(l);
    }
}

void loop_for(loop *l, int64_t us)
{
    int64_t end_us = hf_seam.boot_us() + us;
    while (hf_seam.boot_us() < end_us)
        loop_turn(l);
}

void loop_stop(loop *l)
{
    committer_stop(l->committer);
    jobs_drain(l->jobs);
}

void loop_close(loop *l)
{
    loop_stop(l);
    jobs_free(l->jobs);
    committer_free(l->committer);
    hf_store_close(l->store);
    event_base_free(l->base);
}

hf_answer loop_ask(hf_store *store, const hf_op *op)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    *hf_batch_add(batch, op->kind) = *op;
    expect(HF_OK, hf_store_execute(store, batch, &err), err);
    hf_answer answer = hf_batch_op(batch, 0)->answer;
    expect_int(answer.status, HF_OK);
    hf_batch_free(batch);
    return answer;
}

static void loop_take(hf_store *store, const hf_credentials *who, unsigned locks, const char *type)
{
    for (unsigned i = 0; i < locks; i++) {
        char id[64];
        snprintf(id, sizeof id, "%s-%u", who->id, i);
        loop_ask(store, &(hf_op){.kind = HF_OP_ACQUIRE, .session = who, .type = type, .id = id});
    }
}

void loop_people(hf_store *store, unsigned first, unsigned sessions, unsigned locks,
                 const char *type)
{
    for (unsigned i = first; i < first + sessions; i++) {
        hf_credentials who = {0};
        snprintf(who.id, sizeof who.id, "%032x", i);
        snprintf(who.key, sizeof who.key, "%032x", i + 7);
        loop_ask(store, &(hf_op){.kind = HF_OP_SESSION_OPEN,
                                 .session = &who,
                                 .user = "ann",
                                 .idle_us = 600 * SECOND_US});
        loop_take(store, &who, locks, type);
    }
}
