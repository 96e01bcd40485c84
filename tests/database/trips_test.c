/* SPDX-License-Identifier: MIT */
/* What calls cost in round trips, counted by a proxy on the way to the server: a batch of 256 costs
 * no more of them than a batch of one. The argument names the server. */
#include "faults/database_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 256, TIMES = 5, TIMES_MAX = 40, CALLS = 11 };

/* A server may begin to answer before it has read all of a large batch, and then it is counted once
 * more: the fewest of some times. */
typedef struct cost {
    const char *what;
    size_t expected;
    size_t found;
} cost;

static const cost costs[CALLS] = {
    {"an acquire", 2, 0},
    {"an acquire of what was never held", 2, 0},
    {"an acquire that is refused", 2, 0},
    {"a release", 2, 0},
    {"a beat", 2, 0},
    {"who", 1, 0},
    {"256 acquires", 2, 0},
    {"256 acquires of what was never held", 2, 0},
    {"256 acquires that are refused", 2, 0},
    {"256 releases", 2, 0},
    {"who, of 256", 1, 0},
};

/* One batch of that op on count resources, each of which has to be answered so; says how many round
 * trips it took. */
static size_t trips(scene *s, hf_op_kind kind, const hf_credentials *who, const char *prefix,
                    size_t count, hf_status status)
{
    static char ids[MANY][32];
    hf_batch *batch = batch_new(count);
    for (size_t i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "%s-%03zu", prefix, i);
        hf_op *op = hf_batch_add(batch, kind);
        op->session = kind == HF_OP_WHO ? NULL : who;
        if (kind == HF_OP_BEAT)
            continue;
        op->type = "policy";
        op->id = ids[i];
        op->mode = kind == HF_OP_ACQUIRE ? HF_EXCLUSIVE : 0;
    }
    size_t before = proxy_trips(s->proxy);
    execute(s->through, batch);
    size_t after = proxy_trips(s->proxy);
    for (size_t i = 0; i < count; i++)
        answer(batch, i, status);
    hf_batch_free(batch);
    return after - before;
}

static void trips_note(cost *it, size_t found)
{
    if (it->found == 0 || found < it->found)
        it->found = found;
}

/* All of them once. The first times statements are sent as texts and get names, which costs nothing
 * more. */
static void call_all(scene *s, unsigned time, cost *all)
{
    static const size_t counts[] = {1, MANY};
    char fresh[16];
    snprintf(fresh, sizeof fresh, "new-%u", time);
    for (size_t i = 0; i < 2; i++) {
        size_t count = counts[i];
        cost *it = i == 0 ? all : all + 6;
        trips_note(it++, trips(s, HF_OP_ACQUIRE, &s->alice, "known", count, HF_OK));
        trips_note(it++, trips(s, HF_OP_ACQUIRE, &s->alice, fresh, count, HF_OK));
        trips_note(it++, trips(s, HF_OP_ACQUIRE, &s->bob, "known", count, HF_LOCKED));
        trips_note(it++, trips(s, HF_OP_RELEASE, &s->alice, "known", count, HF_OK));
        if (i == 0)
            trips_note(it++, trips(s, HF_OP_BEAT, &s->alice, "", count, HF_OK));
        trips_note(it++, trips(s, HF_OP_WHO, NULL, fresh, count, HF_OK));
        trips(s, HF_OP_RELEASE, &s->alice, fresh, count, HF_OK);
    }
}

static bool trips_is_right(const cost *all)
{
    bool right = true;
    for (size_t i = 0; i < CALLS; i++)
        right &= all[i].found == all[i].expected;
    return right;
}

static void a_batch_of_256_costs_as_many_round_trips_as_one_of_one(void **state)
{
    scene *s = *state;
    cost all[CALLS];
    memcpy(all, costs, sizeof all);
    trips(s, HF_OP_ACQUIRE, &s->alice, "known", MANY, HF_OK);
    trips(s, HF_OP_RELEASE, &s->alice, "known", MANY, HF_OK);
    trips(s, HF_OP_WHO, NULL, "known", 1, HF_OK); /* by another connection, which is made now */
    for (unsigned i = 0; i < TIMES || (i < TIMES_MAX && !trips_is_right(all)); i++)
        call_all(s, i, all);
    for (size_t i = 0; i < CALLS; i++)
        printf("# %s: %zu round trips, expected %zu\n", all[i].what, all[i].found, all[i].expected);
    expect_true(trips_is_right(all));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCENE(a_batch_of_256_costs_as_many_round_trips_as_one_of_one),
    };
    return SCENE_MAIN("round trips", tests, argc, argv);
}
