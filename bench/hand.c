/* SPDX-License-Identifier: MIT */
/* Acquire, release and save by hand: two round trips each, and a look at what comes back, for one
 * resource at a time. */
#include "hand.h"

#include "hand_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above any fence that a store has given, and as a time far from over. */
#define CLOCK_START 3000000000000000LL

enum { NUMBER_SIZE = 24 };

hand *hand_open(const bench *b, const hand_kind *kind, const char *url, const char *names,
                const char *session)
{
    hand *h = calloc(1, sizeof *h);
    if (h == NULL)
        bench_die("out of memory");
    h->kind = kind;
    h->link = kind->connect(url, names);
    h->picker = bench_picker_new(2, b->working);
    h->clock = CLOCK_START;
    snprintf(h->session, sizeof h->session, "%s", session);
    return h;
}

void hand_close(hand *h)
{
    if (h == NULL)
        return;
    h->kind->close(h->link);
    free(h->picker);
    free(h);
}

static void hand_number(char out[NUMBER_SIZE], long long value)
{
    snprintf(out, NUMBER_SIZE, "%lld", value);
}

/* Begins, locks the anchor and looks at who holds it; *rev gets the anchor's next revision, 1 if
 * there is none yet. */
static void hand_look(hand *h, const bench_pick *pick, long holders, long long *rev)
{
    hand_step steps[] = {
        {.which = HAND_BEGIN},
        {.which = HAND_ANCHOR, .params = {BENCH_TYPE, pick->id}},
        {.which = HAND_HOLDERS, .params = {BENCH_TYPE, pick->id}},
        {.which = HAND_OWN_SESSION, .params = {h->session}},
    };
    h->kind->fly(h->link, steps, 4);
    if (steps[2].rows != holders || steps[3].rows != 1)
        bench_die("%s by hand: %s has %ld holders, not %ld", h->kind->name, pick->id, steps[2].rows,
                  holders);
    *rev = steps[1].rows > 0 ? steps[1].column[1] + 1 : 1;
}

static void hand_finish(hand *h, hand_step *steps)
{
    steps[3].which = HAND_COMMIT;
    h->kind->fly(h->link, steps, 4);
    for (int i = 0; i < 3; i++)
        if (steps[i].rows != 1)
            bench_die("%s by hand: a statement found %ld rows, not 1", h->kind->name,
                      steps[i].rows);
}

static void hand_acquire(hand *h, bench_pick *pick)
{
    long long rev;
    char fence[NUMBER_SIZE], next[NUMBER_SIZE];
    hand_look(h, pick, 0, &rev);
    pick->fence = ++h->clock;
    hand_number(fence, pick->fence);
    hand_number(next, rev);
    hand_step steps[4] = {
        {.which = rev > 1 ? HAND_ANCHOR_GRANT : HAND_ANCHOR_MAKE,
         .params = {BENCH_TYPE, pick->id, fence, next}},
        {.which = HAND_LOCK_INSERT,
         .params = {BENCH_TYPE, pick->id, h->session, fence, fence, BENCH_PURPOSE, pick->request}},
        {.which = HAND_EVENT,
         .params = {fence, "acquired", BENCH_TYPE, pick->id, h->session, fence, BENCH_PURPOSE}},
    };
    hand_finish(h, steps);
}

static void hand_release(hand *h, bench_pick *pick)
{
    long long rev;
    char fence[NUMBER_SIZE], next[NUMBER_SIZE];
    hand_look(h, pick, 1, &rev);
    hand_number(fence, pick->fence);
    hand_number(next, rev);
    hand_step steps[4] = {
        {.which = HAND_ANCHOR_END,
         .params = {BENCH_TYPE, pick->id, next, h->session, fence, pick->request, fence}},
        {.which = HAND_LOCK_DELETE, .params = {BENCH_TYPE, pick->id, h->session}},
        {.which = HAND_EVENT,
         .params = {fence, "released", BENCH_TYPE, pick->id, h->session, fence}},
    };
    hand_finish(h, steps);
}

/* The version is compared here, where the anchor is locked, as a refusal would say who changed it.
 * */
static void hand_save(hand *h, bench_pick *pick)
{
    char fence[NUMBER_SIZE], rev[NUMBER_SIZE], version[NUMBER_SIZE];
    char past_version[NUMBER_SIZE], past_fence[NUMBER_SIZE], past_us[NUMBER_SIZE];
    hand_step looks[] = {
        {.which = HAND_BEGIN},
        {.which = HAND_ANCHOR_SAVED, .params = {BENCH_TYPE, pick->id}},
        {.which = HAND_HOLDERS, .params = {BENCH_TYPE, pick->id}},
        {.which = HAND_PAST, .params = {BENCH_TYPE, pick->id, pick->request}},
    };
    h->kind->fly(h->link, looks, 4);
    const hand_step *anchor = &looks[1];
    if (anchor->rows != 1 || anchor->column[2] != pick->version || looks[2].rows != 0 ||
        looks[3].rows != 0)
        bench_die("%s by hand: %s is at version %lld, not %lld, or held, or saved already",
                  h->kind->name, pick->id, anchor->column[2], (long long)pick->version);
    hand_number(fence, ++h->clock);
    hand_number(rev, anchor->column[1] + 1);
    hand_number(version, pick->version + 1);
    hand_number(past_version, pick->version);
    hand_number(past_fence, anchor->column[3]);
    hand_number(past_us, anchor->column[4]);
    hand_step steps[4] = {
        {.which = HAND_ANCHOR_SAVE,
         .params = {BENCH_TYPE, pick->id, fence, rev, version, pick->request}},
        {.which = HAND_PAST_SAVE,
         .params = {BENCH_TYPE, pick->id, anchor->last, past_version, past_fence, past_us, fence}},
        {.which = HAND_EVENT, .params = {fence, "saved", BENCH_TYPE, pick->id, NULL, fence}},
    };
    hand_finish(h, steps);
}

static void hand_insert_one(hand *h, bench_pick *pick)
{
    char since[NUMBER_SIZE];
    hand_number(since, ++h->clock);
    hand_step step = {.which = HAND_ONE_INSERT,
                      .params = {BENCH_TYPE, pick->id, h->session, since}};
    h->kind->fly(h->link, &step, 1);
    if (step.rows != 1)
        bench_die("%s by hand: %s is there already", h->kind->name, pick->id);
}

static void hand_delete_one(hand *h, bench_pick *pick)
{
    hand_step step = {.which = HAND_ONE_DELETE, .params = {BENCH_TYPE, pick->id}};
    h->kind->fly(h->link, &step, 1);
    if (step.rows != 1)
        bench_die("%s by hand: %s is not there", h->kind->name, pick->id);
}

typedef void write_rows(hand *h, bench_pick *pick);

static double hand_pairs_of(hand *h, write_rows *first, write_rows *second, double seconds)
{
    size_t pairs = 0;
    double start = bench_now();
    double end;
    do {
        bench_pick pick;
        bench_picker_fill(h->picker, &pick, 1);
        first(h, &pick);
        second(h, &pick);
        pairs++;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

double hand_pairs(void *context, double seconds)
{
    return hand_pairs_of(context, hand_acquire, hand_release, seconds);
}

double hand_one_row(void *context, double seconds)
{
    return hand_pairs_of(context, hand_insert_one, hand_delete_one, seconds);
}

double hand_saves(void *context, double seconds)
{
    hand *h = context;
    size_t saves = 0;
    double start = bench_now();
    double end;
    do {
        bench_pick pick;
        bench_picker_fill(h->picker, &pick, 1);
        hand_save(h, &pick);
        bench_picker_saved(h->picker, &pick, 1);
        saves++;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)saves / (end - start);
}
