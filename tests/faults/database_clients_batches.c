/* SPDX-License-Identifier: MIT */
/* A client that fights with others for the same resources, in batches of 256 ops: a beat, then
 * acquires and releases of different resources, each with a request id. Nobody else can end its
 * locks, so what it was told is exactly what must be so. */
#include "faults/database_clients.h"
#include "faults/database_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, RESOURCES = 384, SETTLE_MAX_S = 20 };

typedef struct doubt {
    unsigned resource;
    bool release;
    char request[32];
} doubt;

typedef struct client {
    clients_board *board;
    clients_post *post;
    hf_store *store;
    hf_credentials me;
    unsigned number, seed, batches;
    char ids[RESOURCES][8];
    int64_t fence[RESOURCES]; /* of the lock it has; 0: none */
    int64_t last[RESOURCES];  /* the highest it was told */
    doubt asked[BATCH];       /* the ops of the batch that is under way, without the beat */
    size_t asked_count;
    doubt doubts[BATCH]; /* unsure: to be asked again */
    size_t doubts_count;
    hf_batch *batch;
} client;

static unsigned database_clients_batches_pick(client *c, unsigned below)
{
    return (unsigned)rand_r(&c->seed) % below;
}

/* ---- asking ---- */

static void database_clients_batches_add_op(client *c, const doubt *what)
{
    hf_op *op = hf_batch_add(c->batch, what->release ? HF_OP_RELEASE : HF_OP_ACQUIRE);
    op->session = &c->me;
    op->type = "fight";
    op->id = c->ids[what->resource];
    op->request_id = what->request;
}

static void database_clients_batches_compose(client *c)
{
    /* no common factor with 384 */
    unsigned first = database_clients_batches_pick(c, RESOURCES),
             stride = 1 + 6 * database_clients_batches_pick(c, 40);
    stride += stride % 2 == 0;
    stride += stride % 3 == 0 ? 2 : 0;
    c->asked_count = 0;
    for (unsigned i = 0; i < BATCH - 1; i++) {
        doubt *it = &c->asked[c->asked_count++];
        it->resource = (first + i * stride) % RESOURCES;
        it->release = c->fence[it->resource] != 0 && database_clients_batches_pick(c, 4) != 0;
        snprintf(it->request, sizeof it->request, "%u-%u-%u", c->number, c->batches, i);
    }
    c->batches++;
    hf_batch_clear(c->batch);
    hf_batch_add(c->batch, HF_OP_BEAT)->session = &c->me;
    for (size_t i = 0; i < c->asked_count; i++)
        database_clients_batches_add_op(c, &c->asked[i]);
}

static void doubt_it(client *c, const doubt *what)
{
    c->doubts[c->doubts_count++] = *what;
    atomic_fetch_add(&c->post->unsure, 1);
}

static void book_grant(client *c, const doubt *what, const hf_answer *answer)
{
    unsigned r = what->resource;
    int64_t fence = answer->locks_count ? answer->locks[0].fence : 0;
    if (c->fence[r] != 0 && fence != c->fence[r])
        clients_wrong(c->post, "acquiring %u again gave fence %lld in place of %lld", r,
                      (long long)fence, (long long)c->fence[r]);
    if (c->fence[r] == 0 && fence <= c->last[r])
        clients_wrong(c->post, "the fence %lld of %u is not above %lld", (long long)fence, r,
                      (long long)c->last[r]);
    c->fence[r] = c->last[r] = fence;
}

/* One answer. Busy and unavailable say that nothing was done. During a fault libcurl may have sent
 * a request twice: of what was released the first time, "not held" is true too. */
static void book(client *c, const doubt *what, const hf_answer *answer, bool excused)
{
    clients_post *post = c->post;
    unsigned r = what->resource;
    switch (answer->status) {
    case HF_OK:
        atomic_fetch_add(&post->done, 1);
        if (what->release)
            c->fence[r] = 0;
        else
            book_grant(c, what, answer);
        break;
    case HF_LOCKED:
        atomic_fetch_add(&post->refused, 1);
        if (what->release || c->fence[r] != 0)
            clients_wrong(post, "%u is said to be another's: %s", r, answer->message);
        break;
    case HF_BUSY:
        atomic_fetch_add(&post->busy, 1);
        break;
    case HF_UNAVAILABLE:
        atomic_fetch_add(&post->unavailable, 1);
        break;
    case HF_UNSURE:
        doubt_it(c, what);
        break;
    case HF_NOT_HELD:
        if (what->release && excused) {
            c->fence[r] = 0;
            break;
        }
        /* fall through */
    default:
        clients_wrong(post, "%s of %u came to %s: %s", what->release ? "release" : "acquire", r,
                      hf_status_wire(answer->status), answer->message);
    }
}

static void database_clients_batches_step(client *c, unsigned fault)
{
    hf_error err = {0};
    database_clients_batches_compose(c);
    hf_status status = clients_execute(c->post, c->store, c->batch, &err);
    bool excused = fault % 2 == 1 || atomic_load(&c->board->fault) != fault;
    if (status == HF_OK)
        for (size_t i = 0; i < c->asked_count; i++)
            book(c, &c->asked[i], &hf_batch_op(c->batch, i + 1)->answer, excused);
    else if (status == HF_UNSURE)
        for (size_t i = 0; i < c->asked_count; i++)
            doubt_it(c, &c->asked[i]);
    else if (status == HF_UNAVAILABLE)
        atomic_fetch_add(&c->post->unavailable, BATCH);
    else if (status == HF_BUSY)
        atomic_fetch_add(&c->post->busy, BATCH);
    else
        clients_wrong(c->post, "a batch came to %s: %s", hf_status_wire(status), err.message);
    if ((status == HF_UNAVAILABLE || c->doubts_count > 0) && !excused)
        clients_wrong(c->post, "without a fault a batch came to %s: %s", hf_status_wire(status),
                      err.message);
    if (status == HF_UNAVAILABLE)
        sleep_ms(3);
}

/* ---- looking ---- */

/* The fence of each lock of ours that is in the store. False: it can't be asked, which has been
 * told. */
static bool database_clients_batches_look(client *c, int64_t found[RESOURCES])
{
    hf_error err = {0};
    for (unsigned first = 0; first < RESOURCES; first += BATCH / 2) {
        hf_batch_clear(c->batch);
        for (unsigned r = first; r < first + BATCH / 2; r++) {
            hf_op *op = hf_batch_add(c->batch, HF_OP_WHO);
            op->type = "fight";
            op->id = c->ids[r];
        }
        hf_status status = clients_execute(c->post, c->store, c->batch, &err);
        if (status != HF_OK) {
            clients_wrong(c->post, "looking came to %s: %s", hf_status_wire(status), err.message);
            return false;
        }
        for (unsigned i = 0; i < BATCH / 2; i++) {
            const hf_answer *answer = &hf_batch_op(c->batch, i)->answer;
            found[first + i] = 0;
            for (size_t k = 0; k < answer->locks_count; k++)
                if (strcmp(answer->locks[k].session, c->me.id) == 0)
                    found[first + i] = answer->locks[k].fence;
            if (answer->locks_count > 1)
                clients_wrong(c->post, "%u has %zu holders", first + i, answer->locks_count);
        }
    }
    return true;
}

static bool is_doubtful(const client *c, unsigned r)
{
    for (size_t i = 0; i < c->doubts_count; i++)
        if (c->doubts[i].resource == r)
            return true;
    return false;
}

static void database_clients_batches_compare(client *c, const int64_t found[RESOURCES],
                                             const char *when)
{
    for (unsigned r = 0; r < RESOURCES; r++)
        if (!is_doubtful(c, r) && found[r] != c->fence[r])
            clients_wrong(c->post, "%s, %u: acknowledged fence %lld, found %lld", when, r,
                          (long long)c->fence[r], (long long)found[r]);
}

/* ---- settling ---- */

/* What an unsure op answers when it is asked again, by how it was found. */
static void settle_one(client *c, const doubt *what, const hf_answer *answer, int64_t found)
{
    unsigned r = what->resource;
    bool had_been_done = what->release ? found == 0 : found != 0 && c->fence[r] == 0;
    atomic_fetch_add(&c->post->done_unheard, had_been_done);
    if (what->release) {
        /* If another took it and let it go meanwhile, "not held" is true too. */
        if (answer->status != HF_OK && !(answer->status == HF_NOT_HELD && found == 0))
            clients_wrong(c->post, "releasing %u, asked again: %s: %s", r,
                          hf_status_wire(answer->status), answer->message);
        c->fence[r] = 0;
    } else if (answer->status == HF_OK) {
        if (found != 0 && answer->locks[0].fence != found)
            clients_wrong(c->post, "%u had been granted fence %lld; asked again it has %lld", r,
                          (long long)found, (long long)answer->locks[0].fence);
        book_grant(c, what, answer);
    } else if (answer->status != HF_LOCKED || found != 0) {
        clients_wrong(c->post, "acquiring %u, asked again (it had fence %lld): %s: %s", r,
                      (long long)found, hf_status_wire(answer->status), answer->message);
    }
}

/* Asks all that is doubtful again; what is busy stays so. */
static void ask_again(client *c, const int64_t found[RESOURCES])
{
    hf_error err = {0};
    static _Thread_local doubt left[BATCH];
    size_t left_count = 0;
    hf_batch_clear(c->batch);
    for (size_t i = 0; i < c->doubts_count; i++)
        database_clients_batches_add_op(c, &c->doubts[i]);
    hf_status status = clients_execute(c->post, c->store, c->batch, &err);
    if (status == HF_BUSY)
        return;
    if (status != HF_OK) {
        clients_wrong(c->post, "asking again came to %s: %s", hf_status_wire(status), err.message);
        return;
    }
    for (size_t i = 0; i < c->doubts_count; i++) {
        const hf_answer *answer = &hf_batch_op(c->batch, i)->answer;
        if (answer->status == HF_BUSY)
            left[left_count++] = c->doubts[i];
        else
            settle_one(c, &c->doubts[i], answer, found[c->doubts[i].resource]);
    }
    memcpy(c->doubts, left, left_count * sizeof *left);
    c->doubts_count = left_count;
}

static void database_clients_batches_come_through(client *c, unsigned fault)
{
    int64_t found[RESOURCES], until_us = monotonic_us() + SETTLE_MAX_S * INT64_C(1000000);
    if (!clients_heal(c->board, c->post, c->store) || !database_clients_batches_look(c, found))
        return;
    database_clients_batches_compare(c, found, "after a fault");
    while (c->doubts_count > 0 && !atomic_load(&c->post->failed)) {
        ask_again(c, found);
        if (monotonic_us() > until_us)
            clients_wrong(c->post, "%zu ops are still busy when asked again", c->doubts_count);
    }
    if (!atomic_load(&c->post->failed) && database_clients_batches_look(c, found))
        database_clients_batches_compare(c, found, "settled");
    atomic_store(&c->post->through, fault);
}

/* ---- the life of a client ---- */

static bool database_clients_batches_begin(client *c)
{
    hf_error err = {0};
    char user[32];
    for (unsigned r = 0; r < RESOURCES; r++)
        snprintf(c->ids[r], sizeof c->ids[r], "%03u", r);
    if (hf_batch_new(BATCH, &c->batch, NULL) != HF_OK ||
        hf_credentials_new(NULL, &c->me, NULL) != HF_OK)
        abort();
    snprintf(user, sizeof user, "client %u", c->number);
    hf_op *op = hf_batch_add(c->batch, HF_OP_SESSION_OPEN);
    op->session = &c->me;
    op->user = user;
    op->idle_us = INT64_C(3600000000);
    hf_status status = clients_execute(c->post, c->store, c->batch, &err);
    if (status != HF_OK || op->answer.status != HF_OK)
        clients_wrong(c->post, "no session could be opened: %s %s", err.message,
                      op->answer.message ? op->answer.message : "");
    return !atomic_load(&c->post->failed);
}

void clients_batches_main(clients_board *board, unsigned me, hf_store *shared)
{
    client *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->board = board;
    c->post = &board->posts[me];
    c->store = shared;
    c->number = me;
    c->seed = board->seed + me;
    for (bool good = database_clients_batches_begin(c);
         good && !atomic_load(&c->post->failed) && !atomic_load(&board->ends);) {
        unsigned fault = atomic_load(&board->fault);
        if (fault % 2 == 0 && fault != atomic_load(&c->post->through))
            database_clients_batches_come_through(c, fault);
        else if (c->doubts_count > 0)
            sleep_ms(2);
        else
            database_clients_batches_step(c, fault);
    }
    if (!atomic_load(&c->post->failed))
        database_clients_batches_come_through(c, atomic_load(&board->fault));
    hf_batch_free(c->batch);
    free(c);
}
