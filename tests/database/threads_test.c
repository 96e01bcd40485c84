/* SPDX-License-Identifier: MIT */
/* Threads on one store: more of them than it has connections, several stores on the same tables,
 * and one application's connection that threads share. Made for the thread sanitizer too. */
#include "database/shop.h"

#include <lock/batch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CROWD = 32, FEW = 6, RESOURCES = 4 };

enum { ENOUGH = 20 }; /* grants */

typedef struct office {
    shop *s;
    hf_store *stores[FEW];
    size_t stores_count;
    int64_t until_us;
    atomic_int inside[RESOURCES]; /* how many believe to hold it exclusively */
    atomic_int overlaps, grants, refusals, busy, failures;
} office;

typedef struct clerk {
    office *o;
    unsigned seed;
    hf_store *store;
    hf_credentials me;
} clerk;

static hf_status threads_ask_quietly(clerk *c, hf_op_kind kind, const char *id)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    if (hf_batch_new(1, &batch, &err) != HF_OK)
        return HF_NO_MEMORY;
    hf_op *op = hf_batch_add(batch, kind);
    op->session = &c->me;
    op->type = "policy";
    op->id = id;
    hf_status status = hf_store_execute(c->store, batch, &err);
    const char *message = status == HF_OK ? op->answer.message : err.message;
    status = status == HF_OK ? op->answer.status : status;
    if (status == HF_BUSY)
        atomic_fetch_add(&c->o->busy, 1);
    else if (status != HF_OK && status != HF_LOCKED && atomic_fetch_add(&c->o->failures, 1) == 0)
        fprintf(stderr, "%s: %s: %s\n", hf_op_kind_name(kind), hf_status_wire(status),
                message ? message : "");
    hf_batch_free(batch);
    return status;
}

/* After two seconds, or when enough has happened on a machine that is slow. */
static bool threads_is_over(office *o)
{
    int64_t now = now_us();
    return now >= o->until_us && (o->grants >= ENOUGH || now >= o->until_us + 20 * SECOND);
}

static void *threads_clerk_main(void *argument)
{
    clerk *c = argument;
    office *o = c->o;
    char id[16];
    while (!threads_is_over(o)) {
        unsigned which = (unsigned)rand_r(&c->seed) % RESOURCES;
        snprintf(id, sizeof id, "%u", which);
        hf_status status = threads_ask_quietly(c, HF_OP_ACQUIRE, id);
        atomic_fetch_add(&o->refusals, status == HF_LOCKED);
        if (status != HF_OK)
            continue;
        atomic_fetch_add(&o->grants, 1);
        if (atomic_fetch_add(&o->inside[which], 1) != 0)
            atomic_fetch_add(&o->overlaps, 1);
        threads_ask_quietly(c, HF_OP_BEAT, NULL);
        atomic_fetch_sub(&o->inside[which], 1);
        while (threads_ask_quietly(c, HF_OP_RELEASE, id) == HF_BUSY)
            continue;
    }
    return NULL;
}

static void threads_work(office *o, size_t threads_count)
{
    static clerk clerks[CROWD];
    pthread_t threads[CROWD];
    o->until_us = now_us() + 2 * SECOND;
    for (size_t i = 0; i < threads_count; i++)
        clerks[i] = (clerk){.o = o,
                            .seed = (unsigned)i + 1,
                            .store = o->stores[i % o->stores_count],
                            .me = newcomer(o->s->plain, "clerk", 0)};
    for (size_t i = 0; i < threads_count; i++)
        expect_int(pthread_create(&threads[i], NULL, threads_clerk_main, &clerks[i]), 0);
    for (size_t i = 0; i < threads_count; i++)
        expect_int(pthread_join(threads[i], NULL), 0);
    printf("# %zu threads on %zu stores: %d grants, %d refusals, %d busy\n", threads_count,
           o->stores_count, o->grants, o->refusals, o->busy);
    expect_int(o->overlaps, 0);
    expect_int(o->failures, 0);
    expect_true(o->grants >= ENOUGH);
    expect_int(app_number(o->s->other, "SELECT count(*) FROM {lock}"), 0);
    /* Every change has written its anchor, where it stood when it was locked. */
    expect_int(app_number(o->s->other, "SELECT sum(rev) FROM {resource}"), 2 * o->grants);
}

static void more_threads_than_connections_share_a_store(shop *s)
{
    office o = {.s = s, .stores = {s->plain}, .stores_count = 1};
    threads_work(&o, CROWD);
}

static void several_stores_on_the_same_tables(shop *s)
{
    office o = {.s = s, .stores_count = FEW};
    hf_error err = {0};
    for (size_t i = 0; i < FEW; i++)
        expect(HF_OK, hf_store_open(s->url, &o.stores[i], &err), err);
    threads_work(&o, 2 * FEW);
    for (size_t i = 0; i < FEW; i++)
        hf_store_close(o.stores[i]);
}

/* Each batch has the connection for itself. */
static void threads_share_the_store_on_an_applications_connection(shop *s)
{
    office o = {.s = s, .stores = {s->store}, .stores_count = 1};
    threads_work(&o, FEW);
    expect_true(!app_in_transaction(s->app));
}

static void stores_by_url_and_on_connections_together(shop *s)
{
    office o = {.s = s, .stores = {s->plain, s->store, s->others}, .stores_count = 3};
    threads_work(&o, FEW);
}

/* ---- a batch of several callers ---- */

typedef struct maker {
    app *a;
    unsigned ms;
} maker;

static void *commit_soon(void *argument)
{
    maker *m = argument;
    nanosleep(&(struct timespec){0, (long)m->ms * 1000000}, NULL);
    expect_true(app_commit(m->a));
    return NULL;
}

/* Three acquire as one batch, and the second resource is just being made by someone else, who
 * commits after so long. */
static hf_status three_meet_a_maker(shop *s, unsigned ms)
{
    const hf_credentials *people[] = {&s->alice, &s->bob, &s->carol};
    char ids[3][32];
    pthread_t thread;
    maker m = {s->other, ms};
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(3, &batch, &err), err);
    for (int i = 0; i < 3; i++) {
        hf_op *op = hf_batch_add(batch, HF_OP_ACQUIRE);
        snprintf(ids[i], sizeof ids[i], "made-%u-%d", ms, i);
        *op = (hf_op){.kind = HF_OP_ACQUIRE, .session = people[i], .type = "policy", .id = ids[i]};
    }
    app_begin(s->other, READ_COMMITTED);
    app_do(s->other, "INSERT INTO {resource} (type, id, fence, rev) VALUES ('policy', '%s', 1, 1)",
           ids[1]);
    expect_int(pthread_create(&thread, NULL, commit_soon, &m), 0);
    batch->grouped = true; /* as threads that go together have it */
    hf_status status = hf_store_execute(s->plain, batch, &err);
    expect_int(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 3; i++) {
        bool told = status == HF_OK && hf_batch_op(batch, (size_t)i)->answer.status == HF_OK;
        expect_int(app_number(s->other, "SELECT count(*) FROM {lock} WHERE id = '%s'", ids[i]),
                   told);
        expect_int(
            app_number(s->other, "SELECT count(*) FROM {event} WHERE resource_id = '%s'", ids[i]),
            told);
    }
    hf_batch_free(batch);
    return status;
}

/* What was tried in vain, and rolled back, is told to nobody. */
static void who_goes_with_one_that_meets_a_maker_is_told_what_is_so(shop *s)
{
    size_t failed = 0;
    for (unsigned ms = 0; ms < 300; ms += 20) {
        hf_status status = three_meet_a_maker(s, ms);
        expect_true(status == HF_OK || status == HF_RETRY || status == HF_BUSY);
        failed += status != HF_OK;
    }
    printf("# %zu of 15 failed as a whole\n", failed);
    expect_true(failed > 0);
}

/* ---- the same token, asked for by many ---- */

typedef struct asker {
    hf_store *store;
    const unsigned char *sha256;
    char id[HF_TOKEN_ID_SIZE], got[HF_TOKEN_ID_SIZE];
    hf_status status;
} asker;

static void *http_client_main(void *argument)
{
    asker *a = argument;
    hf_batch *batch = NULL;
    hf_error err = {0};
    if (hf_batch_new(1, &batch, &err) != HF_OK)
        return NULL;
    hf_op *op = hf_batch_add(batch, HF_OP_TOKEN_CREATE);
    op->token = a->id;
    op->sha256 = a->sha256;
    op->name = "n";
    op->roles = "use";
    op->request_id = "once";
    a->status = hf_store_execute(a->store, batch, &err);
    if (a->status == HF_OK)
        a->status = op->answer.status;
    if (a->status == HF_OK)
        memcpy(a->got, op->answer.tokens[0].id, sizeof a->got);
    hf_batch_free(batch);
    return NULL;
}

/* P12 */
static void a_request_for_a_token_that_is_repeated_at_once_makes_one(shop *s)
{
    static unsigned char sha256[32];
    asker askers[FEW];
    pthread_t threads[FEW];
    for (unsigned char round = 1; round <= 10; round++) {
        app_do(s->other, "DELETE FROM {token}");
        sha256[0] = round;
        for (unsigned i = 0; i < FEW; i++) {
            askers[i] = (asker){
                .store = i % 2 ? s->plain : s->others, .sha256 = sha256, .status = HF_INTERNAL};
            snprintf(askers[i].id, sizeof askers[i].id, "%032x", i);
            expect_int(pthread_create(&threads[i], NULL, http_client_main, &askers[i]), 0);
        }
        for (unsigned i = 0; i < FEW; i++)
            expect_int(pthread_join(threads[i], NULL), 0);
        expect_int(app_number(s->other, "SELECT count(*) FROM {token}"), 1);
        for (unsigned i = 0; i < FEW; i++) {
            expect_status(HF_OK, askers[i].status, hf_status_sentence(askers[i].status));
            expect_text(askers[i].got, askers[0].got);
        }
    }
    expect_int(app_number(s->other, "SELECT count(*) FROM {event} WHERE kind = 'token_created'"),
               10);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        ON_ANY(more_threads_than_connections_share_a_store),
        ON_ANY(who_goes_with_one_that_meets_a_maker_is_told_what_is_so),
        ON_ANY(several_stores_on_the_same_tables),
        ON_ANY(threads_share_the_store_on_an_applications_connection),
        ON_ANY(stores_by_url_and_on_connections_together),
        ON_ANY(a_request_for_a_token_that_is_repeated_at_once_makes_one),
    };
    return SHOP_MAIN("threads", tests, argc, argv);
}
