/* SPDX-License-Identifier: MIT */
/* The simulation. Its numbers come from one generator with a seed; nothing else is random. */
#include "advise/model.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"

#include <math.h>
#include <string.h>

enum {
    MODEL_RUNS = 8,         /* whole simulations, of which the spread is taken */
    MODEL_CLASSES_MAX = 96, /* of records */
    MODEL_ALONE = 8,        /* the busiest are a class each */
    MODEL_EDITS_MIN = 256,  /* that a class is simulated with */
};

#define MODEL_RARE       0.01 /* edits at once on a record, below which losses are in proportion */
#define MODEL_NORMAL_P90 1.2815515655446004

const char *advise_policy_name(advise_policy policy)
{
    static const char *const names[] = {"none", "optimistic", "pessimistic"};
    return names[policy];
}

/* ---- Zipf's law ---- */

/* The sum of k^-a for k from 1 to n: exact at the head, then by the midpoint rule, good to 1e-6. */
static double model_harmonic(double n, double a)
{
    double sum = 0, head = n < 64 ? n : 64;
    for (double k = 1; k <= head; k++)
        sum += pow(k, -a);
    if (n <= head)
        return sum;
    double from = head + 0.5, to = n + 0.5;
    return sum +
           (fabs(a - 1) < 1e-9 ? log(to / from) : (pow(to, 1 - a) - pow(from, 1 - a)) / (1 - a));
}

static double model_tenth(double records)
{
    return records < 10 ? 1 : ceil(records / 10);
}

double advise_zipf_share(double records, double exponent)
{
    return model_harmonic(model_tenth(records), exponent) / model_harmonic(records, exponent);
}

double advise_zipf_meeting(double records, double exponent)
{
    double all = model_harmonic(records, exponent);
    return model_harmonic(records, 2 * exponent) / (all * all);
}

/* Both measures grow with the exponent. */
static double model_fit(double (*measure)(double, double), double records, double wanted)
{
    double low = 0, high = 8;
    if (records <= 1 || measure(records, low) >= wanted)
        return 0;
    for (int i = 0; i < 48; i++) {
        double middle = (low + high) / 2;
        if (measure(records, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double advise_zipf_fit(double records, double share)
{
    return model_fit(advise_zipf_share, records, share);
}

double advise_zipf_fit_meeting(double records, double meeting)
{
    return model_fit(advise_zipf_meeting, records, meeting);
}

/* ---- random numbers ---- */

typedef struct model_random {
    uint64_t state;
    double spare; /* the second of a pair of normal numbers */
    bool has_spare;
} model_random;

/* splitmix64 */
static uint64_t model_bits(model_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Above 0, at most 1. */
static double model_uniform(model_random *random)
{
    return (double)((model_bits(random) >> 11) + 1) * 0x1p-53;
}

static double model_normal(model_random *random)
{
    random->has_spare = !random->has_spare;
    if (!random->has_spare)
        return random->spare;
    double radius = sqrt(-2 * log(model_uniform(random))), angle = 2 * M_PI * model_uniform(random);
    random->spare = radius * sin(angle);
    return radius * cos(angle);
}

/* ---- the simulation ---- */

double advise_mean_minutes(const advise_load *load)
{
    return load->median * exp(load->sigma * load->sigma / 2);
}

void advise_load_make(const advise_answers *answers, advise_load *out)
{
    const double *n = answers->numbers;
    double median = n[ADVISE_EDIT_MINUTES], p90 = n[ADVISE_EDIT_MINUTES_P90];
    *out = (advise_load){
        .opens_per_week = n[ADVISE_EDITS_PER_DAY] * n[ADVISE_DAYS_PER_WEEK],
        .minutes_per_week = n[ADVISE_HOURS_PER_DAY] * n[ADVISE_DAYS_PER_WEEK] * 60,
        .records = n[ADVISE_RECORDS],
        .exponent = advise_zipf_fit(n[ADVISE_RECORDS], n[ADVISE_BUSIEST_TENTH_SHARE]),
        .median = median,
        .sigma = p90 > median ? log(p90 / median) / MODEL_NORMAL_P90 : 0,
        .save_share = n[ADVISE_SAVE_SHARE],
        .rules = {n[ADVISE_REDO_MINUTES] / median, n[ADVISE_WAIT_MINUTES], median,
                  ADVISE_IDLE_MINUTES},
    };
}

/* Records of about the same rate. */
typedef struct model_class {
    double share; /* of all edits */
    double rate;  /* edits a minute, of one record */
} model_class;

static size_t model_classes(const advise_load *load, model_class *out)
{
    double all = model_harmonic(load->records, load->exponent), before = 0, rank = 0;
    double rate = load->opens_per_week / load->minutes_per_week;
    size_t count = 0;
    while (rank < load->records && count < MODEL_CLASSES_MAX) {
        double last = rank < MODEL_ALONE ? rank + 1 : floor(rank * 1.4) + 1;
        if (last > load->records || count == MODEL_CLASSES_MAX - 1)
            last = load->records;
        double sum = model_harmonic(last, load->exponent), share = (sum - before) / all;
        out[count++] = (model_class){share, share * rate / (last - rank)};
        before = sum;
        rank = last;
    }
    return count;
}

typedef struct model_room {
    advise_edit *edits;
    advise_save *saves;
} model_room;

/* Plays `count` edits of a record after a start that is not counted, and adds what they came to,
 * for one edit. */
static void model_record(const advise_load *load, double rate, size_t count, double times,
                         model_room room, model_random *random, advise_tally *sum)
{
    advise_tally tally = {0};
    size_t start = count / 16;
    double at = 0;
    for (size_t i = 0; i < count + start; i++) {
        at -= log(model_uniform(random)) / rate;
        double length = load->median * exp(load->sigma * model_normal(random));
        room.edits[i] = (advise_edit){at, length, model_uniform(random) <= load->save_share};
    }
    advise_play(room.edits, count + start, start, &load->rules, room.saves, &tally);
    advise_tally_add(sum, &tally, times / (double)count);
}

/* One run: what one edit, drawn at random, comes to. */
static void model_run(const advise_load *load, const model_class *classes, size_t count,
                      size_t effort, model_room room, model_random *random, advise_tally *out)
{
    double mean = advise_mean_minutes(load), rare_share = 0, rare_sum = 0;
    for (size_t i = 0; i < count; i++) {
        double busy = classes[i].rate * mean;
        if (busy < MODEL_RARE) {
            rare_share += classes[i].share;
            rare_sum += classes[i].share * busy / MODEL_RARE;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (classes[i].rate * mean < MODEL_RARE)
            continue;
        size_t edits = (size_t)((double)effort * classes[i].share);
        edits = edits < MODEL_EDITS_MIN ? MODEL_EDITS_MIN : edits;
        model_record(load, classes[i].rate, edits, classes[i].share, room, random, out);
    }
    if (rare_share == 0)
        return;
    advise_tally rare = {0};
    size_t edits = (size_t)((double)effort * rare_share);
    model_record(load, MODEL_RARE / mean, edits < MODEL_EDITS_MIN ? MODEL_EDITS_MIN : edits, 1,
                 room, random, &rare);
    rare.opens = rare.saves = 0; /* these do not shrink with the rate */
    advise_tally_add(out, &rare, rare_sum);
    out->opens += rare_share;
    out->saves += rare_share * load->save_share;
}

static void model_sum_up(const advise_load *load, const advise_tally *runs, advise_bills *out)
{
    double sum[ADVISE_POLICIES] = {0}, squares[ADVISE_POLICIES] = {0};
    *out = (advise_bills){.opens = load->opens_per_week,
                          .saves = load->opens_per_week * load->save_share};
    for (int run = 0; run < MODEL_RUNS; run++) {
        const advise_tally *t = &runs[run];
        const double minutes[] = {t->overwritten_minutes, t->conflict_minutes, t->refused_minutes};
        const double counts[] = {t->overwritten, t->conflicts, t->refused};
        for (int p = 0; p < ADVISE_POLICIES; p++) {
            double hours = minutes[p] * load->opens_per_week / 60;
            sum[p] += hours;
            squares[p] += hours * hours;
            out->count[p] += counts[p] * load->opens_per_week / MODEL_RUNS;
        }
    }
    for (int p = 0; p < ADVISE_POLICIES; p++) {
        double mean = sum[p] / MODEL_RUNS, variance = squares[p] / MODEL_RUNS - mean * mean;
        out->hours[p] = mean;
        out->spread[p] = 2 * sqrt((variance > 0 ? variance : 0) / (MODEL_RUNS - 1));
    }
}

hf_status advise_simulate(const advise_load *load, size_t effort, uint64_t seed, advise_bills *out,
                          hf_error *err)
{
    model_class classes[MODEL_CLASSES_MAX];
    advise_tally runs[MODEL_RUNS] = {0};
    size_t each = effort / MODEL_RUNS, most = each + each / 16 + 2 * MODEL_EDITS_MIN;
    hf_cleanup(hf_freep) void *edits = hf_alloc(most * sizeof(advise_edit));
    hf_cleanup(hf_freep) void *saves = hf_alloc(most * sizeof(advise_save));
    if (edits == NULL || saves == NULL)
        return hf_fail_memory(err);
    size_t count = model_classes(load, classes);
    for (int run = 0; run < MODEL_RUNS; run++) {
        model_random random = {.state = seed * UINT64_C(0x2545f4914f6cdd1d) + (uint64_t)run};
        model_run(load, classes, count, each, (model_room){edits, saves}, &random, &runs[run]);
    }
    model_sum_up(load, runs, out);
    return HF_OK;
}
