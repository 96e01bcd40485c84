/* SPDX-License-Identifier: MIT */
/* The desk; see authenticate_desk.h. */
#include "unit/server/authenticate_desk.h"

#include <base/seams.h>
#include <event2/event.h>
#include <holdfast/holdfast.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>

static atomic_llong now_us = 1000000000;

static int64_t standing_clock(void)
{
    return atomic_load(&now_us);
}

void clock_forward(int64_t us)
{
    atomic_fetch_add(&now_us, us);
}

void desk_open(desk *d, authenticator_settings settings)
{
    hf_error err = {0};
    hf_seam.boot_us = standing_clock;
    d->may_look = NULL;
    d->cookies = false;
    expect(HF_OK, hf_store_open("memory:", &d->memory, &err), err);
    expect(HF_OK, hf_fault_open(d->memory, &d->fault, &err), err);
    d->store = gate_open(d->fault);
    d->base = event_base_new();
    expect_true(d->base != NULL);
    expect(HF_OK, committer_new(&(committer_settings){.store = d->store}, &d->committer, &err),
           err);
    expect(HF_OK, jobs_new(d->base, d->committer, &d->jobs, &err), err);
    settings.jobs = d->jobs;
    expect(HF_OK, authenticator_new(&settings, &d->authenticator, &err), err);
}

void desk_close(desk *d)
{
    committer_stop(d->committer);
    jobs_drain(d->jobs);
    authenticator_free(d->authenticator);
    jobs_free(d->jobs);
    committer_free(d->committer);
    event_base_free(d->base);
    hf_store_close(d->store);
    desk_forget();
}

void desk_settle(desk *d)
{
    while (jobs_under_way(d->jobs) > 0)
        event_base_loop(d->base, EVLOOP_ONCE);
}

static void visited(caller *who)
{
    visit *v = who->context;
    expect_true(!v->done);
    v->done = true;
}

visit *visit_begin(desk *d, const char *bearer, const hf_credentials *const *sessions)
{
    visit *v = calloc(1, sizeof *v);
    expect_true(v != NULL);
    v->who = (caller){.bearer = bearer,
                      .cookie = d->cookies,
                      .arena = &v->arena,
                      .sessions = v->sessions,
                      .done = visited,
                      .may_look = d->may_look,
                      .context = v};
    for (; sessions != NULL && *sessions != NULL; sessions++)
        v->sessions[v->who.sessions_count++] = *sessions;
    authenticate_caller(d->authenticator, &v->who);
    return v;
}

visit *visit_wait(desk *d, visit *v)
{
    while (!v->done)
        event_base_loop(d->base, EVLOOP_ONCE);
    return v;
}

void visit_free(visit *v)
{
    expect_true(v->done);
    hf_arena_done(&v->arena);
    free(v);
}

static hf_batch *last;

void desk_forget(void)
{
    hf_batch_free(last);
    last = NULL;
}

hf_answer *store_ask(desk *d, const hf_op *op)
{
    hf_error err = {0};
    desk_forget();
    expect(HF_OK, hf_batch_new(1, &last, &err), err);
    hf_op *copy = hf_batch_add(last, op->kind);
    *copy = *op;
    expect(HF_OK, hf_store_execute(d->memory, last, &err), err);
    expect_status(HF_OK, copy->answer.status, copy->answer.message);
    return &copy->answer;
}

hf_token_key make_token(desk *d, const char *name, const char *roles, const char *users,
                        int64_t ttl_us)
{
    hf_token_key key;
    hf_error err = {0};
    expect(HF_OK, hf_token_new(&key, &err), err);
    store_ask(d, &(hf_op){.kind = HF_OP_TOKEN_CREATE,
                          .token = key.id,
                          .sha256 = key.sha256,
                          .name = name,
                          .roles = roles,
                          .users = users,
                          .ttl_us = ttl_us});
    return key;
}

void revoke_token(desk *d, const char *id)
{
    store_ask(d, &(hf_op){.kind = HF_OP_TOKEN_REVOKE, .token = id});
}

hf_credentials open_session(desk *d, const char *user, const char *opener)
{
    hf_credentials out;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_new(NULL, &out, &err), err);
    store_ask(
        d, &(hf_op){.kind = HF_OP_SESSION_OPEN, .session = &out, .user = user, .caller = opener});
    return out;
}

size_t asked(desk *d, hf_op_kind kind)
{
    size_t count, times = 0;
    const gate_entry *log = gate_log(gate_of(d->store), &count);
    expect_int(jobs_under_way(d->jobs), 0);
    for (size_t i = 0; i < count; i++)
        times += log[i].kind == kind;
    return times;
}

static _Thread_local bool is_loop;
static unsigned allocations, fails_at;

static void *callers_desk_scarce_realloc(void *block, size_t size)
{
    return is_loop && ++allocations == fails_at ? NULL : realloc(block, size);
}

void scarce_begin(unsigned n)
{
    is_loop = true;
    allocations = 0;
    fails_at = n;
    hf_seam.realloc = callers_desk_scarce_realloc;
}

bool scarce_end(void)
{
    bool failed = allocations >= fails_at;
    fails_at = 0;
    return failed;
}
