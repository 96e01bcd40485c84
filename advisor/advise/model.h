/* SPDX-License-Identifier: MIT */
/* The cost model: hours a week under each policy, by simulation.
 *
 * Edits of a record arrive at random (Poisson), are log-normally long (by the usual length and
 * the one that one in ten exceeds) and are spread over the records by Zipf's law, whose exponent
 * is fitted to the share of the busiest tenth. Records are gathered in classes of about the same
 * rate; one record of each class is simulated, by advise_play. Where a record is so rarely open
 * that two people hardly meet, what is lost grows in proportion to the rate: all such classes
 * share one simulation.
 *
 * The same answers and the same seed give the same figures. */
#ifndef HF_ADVISE_MODEL_H
#define HF_ADVISE_MODEL_H

#include "advise/answers.h"
#include "advise/play.h"

#include <stdint.h>

typedef enum advise_policy {
    ADVISE_NONE,
    ADVISE_OPTIMISTIC,
    ADVISE_PESSIMISTIC,
    ADVISE_POLICIES
} advise_policy;

/* "none", "optimistic", "pessimistic" */
const char *advise_policy_name(advise_policy policy);

/* What the simulation needs, in minutes. */
typedef struct advise_load {
    double opens_per_week;
    double minutes_per_week; /* in which they happen */
    double records;
    double exponent; /* Zipf's */
    double median, sigma;
    double save_share;
    advise_rules rules;
} advise_load;

/* Of a week. `spread` is twice the standard error of the hours: two runs with other seeds differ
 * by more in one of twenty. */
typedef struct advise_bills {
    double hours[ADVISE_POLICIES];
    double spread[ADVISE_POLICIES];
    double count[ADVISE_POLICIES]; /* saves overwritten, saves refused, people turned away */
    double saves;                  /* a week */
    double opens;
} advise_bills;

/* A lock whose owner went away lasts for so long: the idle bound that the plan proposes. */
#define ADVISE_IDLE_MINUTES 5.0

#define ADVISE_EFFORT_FULL  600000 /* edits simulated, for figures that are shown; about 0.1 s */
#define ADVISE_EFFORT_QUICK 16000  /* ... for those that only compare */
#define ADVISE_SEED         UINT64_C(1)

void advise_load_make(const advise_answers *answers, advise_load *out);

/* HF_NO_MEMORY. */
hf_status advise_simulate(const advise_load *load, size_t effort, uint64_t seed, advise_bills *out,
                          hf_error *err);

/* Zipf's exponent with which the busiest tenth of the records gets the share; and back. The
 * tenth is at least one record. */
double advise_zipf_fit(double records, double share);
double advise_zipf_share(double records, double exponent);

/* The chance that two edits drawn at random are of the same record; and the exponent with that
 * chance. */
double advise_zipf_meeting(double records, double exponent);
double advise_zipf_fit_meeting(double records, double meeting);

/* The mean length of edits with that median and sigma. */
double advise_mean_minutes(const advise_load *load);

#endif
