/* SPDX-License-Identifier: MIT */
/* Edits found in a log: how they are paired, measured and played; and the model against logs
 * that were made up. HF_TEST_ROUNDS: how many such logs (10; the 100 run in the suite
 * "long"). */
#include <advise/model.h>
#include <advise/replay.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

#define START INT64_C(1790000000)

static hf_error err;

static void replay_opened(advise_edits *edits, const char *record, uint64_t person, int64_t minute)
{
    expect(HF_OK, advise_edits_open(edits, hf_slice_of(record), person, START + minute * 60, &err),
           err);
}

static void saved(advise_edits *edits, const char *record, uint64_t person, int64_t minute)
{
    expect(HF_OK, advise_edits_save(edits, hf_slice_of(record), person, START + minute * 60, &err),
           err);
}

static void replay_alone(advise_edits *edits, int count, int64_t from)
{
    for (int i = 0; i < count; i++) {
        replay_opened(edits, "alone", 99, from + i * 100);
        saved(edits, "alone", 99, from + i * 100 + 10);
    }
}

static const advise_rules rules = {.redo_ratio = 2, .wait_minutes = 15, .idle_minutes = 5};

/* Alice opens, Bob opens and saves, Alice saves; then Carol looks, and Bob comes while her lock
 * lasts. */
static void two_people_on_one_record_lose_what_each_policy_loses(void **state)
{
    (void)state;
    advise_edits *edits = advise_edits_new();
    advise_replay replay;
    replay_opened(edits, "policy/1", 1, 0);
    replay_opened(edits, "policy/1", 2, 10);
    saved(edits, "policy/1", 2, 20);
    saved(edits, "policy/1", 1, 40);
    replay_opened(edits, "policy/1", 3, 1000);
    replay_opened(edits, "policy/1", 2, 1012); /* 10 minutes of looking, and 5 until it is idle */
    saved(edits, "policy/1", 2, 1013);
    replay_alone(edits, 20, 2000);
    expect(HF_OK, advise_edits_replay(edits, &rules, &replay, &err), err);
    expect_int(replay.opens, 24);
    expect_int(replay.saves, 23);
    expect_int(replay.people, 4);
    expect_int(replay.records, 2);
    expect_int(replay.tally.overwritten, 1); /* Bob's */
    expect_int(replay.tally.overwritten_minutes, 20);
    expect_int(replay.tally.conflicts, 1); /* Alice's */
    expect_int(replay.tally.conflict_minutes, 80);
    expect_int(replay.tally.refused, 2); /* Bob, twice: 30 minutes of which 15 count, and 3 */
    expect_int(replay.tally.refused_minutes, 18);
    expect_int(replay.top_count, 1);
    expect_text(replay.top[0].record, "policy/1");
    expect_int(replay.top[0].opens, 4);
    expect_int(replay.top[0].conflicts, 1);
    advise_edits_free(edits);
}

static void opening_again_goes_on_and_saving_again_begins_anew(void **state)
{
    (void)state;
    advise_edits *edits = advise_edits_new();
    advise_replay replay;
    replay_opened(edits, "a", 1, 0);
    replay_opened(edits, "a", 1, 30); /* a reload */
    saved(edits, "a", 1, 40);
    saved(edits, "a", 1, 50); /* went on */
    saved(edits, "a", 2, 60); /* never opened it */
    replay_opened(edits, "b", 1, 100);
    saved(edits, "b", 1, 100 + ADVISE_EDIT_SECONDS_MAX / 60 + 1); /* another day's work */
    replay_alone(edits, 20, 3000);
    expect(HF_OK, advise_edits_replay(edits, &rules, &replay, &err), err);
    expect_int(replay.opens, 23);
    expect_int(replay.saves, 22);
    expect_int(replay.unopened, 2);
    expect_int(replay.tally.conflicts, 0);
    expect_int(replay.tally.refused, 0);
    advise_edits_free(edits);
}

static void too_little_is_not_measured(void **state)
{
    (void)state;
    advise_edits *edits = advise_edits_new();
    advise_answers answers = {0};
    expect(HF_NOT_FOUND, advise_edits_measure(edits, &answers, &err), err);
    replay_alone(edits, 9, 0);
    expect(HF_NOT_FOUND, advise_edits_measure(edits, &answers, &err), err);
    expect_contains(err.message, "only 9 edits");
    replay_alone(edits, 1, 1000);
    expect(HF_OK, advise_edits_measure(edits, &answers, &err), err);
    expect_int(answers.marks[ADVISE_EDIT_MINUTES], ADVISE_MEASURED);
    expect_int(answers.marks[ADVISE_REDO_MINUTES], ADVISE_ASSUMED);
    expect_int(answers.numbers[ADVISE_EDIT_MINUTES], 10);
    expect(HF_INVALID, advise_edits_open(edits, hf_slice_of("a"), 1, START - 90000, &err), err);
    expect(HF_INVALID,
           advise_edits_open(edits, hf_slice_of("a"), 1, START + INT64_C(400000000), &err), err);
    advise_edits_free(edits);
}

/* ---- made-up logs ---- */

typedef struct setting {
    int records;
    double exponent, busy, sigma, save_share;
} setting;

typedef struct event {
    int64_t at;
    int record;
    uint64_t person;
    bool save;
} event;

static double uniform(unsigned short *seed)
{
    return 1 - erand48(seed);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const event *)a)->at, y = ((const event *)b)->at;
    return (x > y) - (x < y);
}

/* One of the records, by Zipf's law: `sums` are its partial sums. */
static int replay_draw(const double *sums, int count, unsigned short *seed)
{
    double wanted = uniform(seed) * sums[count - 1];
    int low = 0, high = count - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sums[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum { EDITS = 150000 };

/* Each edit is another person's: nobody is in their own way. */
static size_t make_up(const setting *s, unsigned short *seed, event *out)
{
    double *sums = malloc((size_t)s->records * sizeof *sums), sum = 0, median = 600, at = 0;
    double rate = s->busy / (median * exp(s->sigma * s->sigma / 2));
    size_t count = 0;
    assert_non_null(sums);
    for (int k = 0; k < s->records; k++)
        sums[k] = sum += pow(k + 1, -s->exponent);
    for (int i = 0; i < EDITS; i++) {
        at -= log(uniform(seed)) / rate;
        double normal = sqrt(-2 * log(uniform(seed))) * cos(2 * M_PI * uniform(seed));
        double length = median * exp(s->sigma * normal);
        int record = replay_draw(sums, s->records, seed);
        out[count++] = (event){START + (int64_t)at, record, (uint64_t)i + 1, false};
        if (uniform(seed) <= s->save_share && length < ADVISE_EDIT_SECONDS_MAX)
            out[count++] = (event){START + (int64_t)(at + length), record, (uint64_t)i + 1, true};
    }
    free(sums);
    qsort(out, count, sizeof *out, by_time);
    return count;
}

/* Of all comparisons: how many, how many logs had too few cases, and the largest difference. */
static double compared, passed_over, largest;

static void replay_compare(const setting *s, const char *what, double model, double log,
                           double count)
{
    compared++;
    if (count < 1500) { /* chance alone may come to a tenth */
        passed_over++;
        return;
    }
    double off = fabs(model - log) / log;
    largest = off > largest ? off : largest;
    if (off > 0.1)
        check_failed(
            __FILE__, __LINE__,
            "%d records, exponent %.2f, %.2f open at once, sigma %.2f, %.2f saved: %s is %g by the "
            "model and %g in the log (%.0f cases)",
            s->records, s->exponent, s->busy, s->sigma, s->save_share, what, model, log, count);
}

static void compare_log(const setting *s, unsigned short *seed, event *events)
{
    size_t count = make_up(s, seed, events);
    advise_edits *edits = advise_edits_new();
    advise_answers answers = {0};
    advise_load load;
    advise_bills bills;
    advise_replay replay;
    for (size_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "r/%d", events[i].record);
        expect(HF_OK,
               (events[i].save ? advise_edits_save : advise_edits_open)(
                   edits, hf_slice_of(name), events[i].person, events[i].at, &err),
               err);
    }
    expect(HF_OK, advise_edits_measure(edits, &answers, &err), err);
    advise_answers_complete(&answers);
    advise_load_make(&answers, &load);
    expect(HF_OK, advise_simulate(&load, ADVISE_EFFORT_FULL, 5, &bills, &err), err);
    expect(HF_OK, advise_edits_replay(edits, &load.rules, &replay, &err), err);
    const advise_tally *t = &replay.tally;
    double each = replay.opens;
    replay_compare(s, "the share turned away", bills.count[ADVISE_PESSIMISTIC] / bills.opens,
                   t->refused / each, t->refused);
    replay_compare(s, "the time of those turned away",
                   bills.hours[ADVISE_PESSIMISTIC] * 60 / bills.opens, t->refused_minutes / each,
                   t->refused);
    replay_compare(s, "the share of saves refused", bills.count[ADVISE_OPTIMISTIC] / bills.opens,
                   t->conflicts / each, t->conflicts);
    replay_compare(s, "the work in them", bills.hours[ADVISE_OPTIMISTIC] * 60 / bills.opens,
                   t->conflict_minutes / each, t->conflicts);
    replay_compare(s, "the share wiped out", bills.count[ADVISE_NONE] / bills.opens,
                   t->overwritten / each, t->overwritten);
    replay_compare(s, "the work wiped out", bills.hours[ADVISE_NONE] * 60 / bills.opens,
                   t->overwritten_minutes / each, t->overwritten);
    advise_edits_free(edits);
}

static void the_model_says_what_made_up_logs_come_to(void **state)
{
    (void)state;
    const char *rounds = getenv("HF_TEST_ROUNDS");
    event *events = malloc(2 * EDITS * sizeof *events);
    unsigned short seed[3] = {1, 2, 3};
    assert_non_null(events);
    for (int i = 0; i < (rounds != NULL ? (int)strtol(rounds, NULL, 10) : 100); i++) {
        setting s = {
            .records = (int)(30 * pow(100, uniform(seed))),
            .exponent = 1.2 * uniform(seed),
            .sigma = 1.1 * uniform(seed),
            .save_share = 0.3 + 0.7 * uniform(seed),
        };
        s.busy = s.records * 0.005 * pow(60, uniform(seed));
        s.busy = s.busy < 1 ? 1 : s.busy; /* so that it takes less than ten years */
        compare_log(&s, seed, events);
    }
    print_message("%.0f comparisons, %.0f passed over, largest difference %.1f %%\n", compared,
                  passed_over, largest * 100);
    expect_true(passed_over < compared / 5);
    free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_people_on_one_record_lose_what_each_policy_loses),
        cmocka_unit_test(opening_again_goes_on_and_saving_again_begins_anew),
        cmocka_unit_test(too_little_is_not_measured),
        cmocka_unit_test(the_model_says_what_made_up_logs_come_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
