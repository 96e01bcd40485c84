/* SPDX-License-Identifier: MIT */
/* The simulation against what is known exactly, and its figures' spread. */
#include <advise/model.h>
#include <math.h>
#include <stdio.h>
#include <support/check.h>

/* One record, on which `busy` edits would be open at a time if nobody were refused. Everybody
 * saves. */
static advise_load one_record(double busy, double sigma)
{
    advise_load load = {.opens_per_week = 1,
                        .records = 1,
                        .median = 10,
                        .sigma = sigma,
                        .save_share = 1,
                        .rules = {1, 1e9, 10, 5}};
    load.minutes_per_week = advise_mean_minutes(&load) / busy;
    return load;
}

static advise_bills model_simulate(const advise_load *load)
{
    advise_bills bills;
    hf_error err;
    expect(HF_OK, advise_simulate(load, 2 * ADVISE_EFFORT_FULL, ADVISE_SEED, &bills, &err), err);
    return bills;
}

static void check_near(double got, double wanted, double within, const char *what, double busy)
{
    if (fabs(got - wanted) > within * wanted)
        check_failed(__FILE__, __LINE__, "%s with %g open at a time is %g, not %g", what, busy, got,
                     wanted);
}

static void locks_turn_away_the_exact_share_whatever_the_lengths(void **state)
{
    (void)state;
    for (double busy = 0.1; busy < 6; busy *= 3) {
        for (double sigma = 0; sigma < 1.1; sigma += 0.5) {
            advise_load load = one_record(busy, sigma);
            advise_bills bills = model_simulate(&load);
            check_near(bills.count[ADVISE_PESSIMISTIC], busy / (1 + busy), 0.02,
                       "the share turned away", busy);
        }
    }
}

static void versions_refuse_the_same_share_of_equally_long_edits(void **state)
{
    (void)state;
    for (double busy = 0.1; busy < 6; busy *= 3) {
        advise_load load = one_record(busy, 0);
        advise_bills bills = model_simulate(&load);
        check_near(bills.count[ADVISE_OPTIMISTIC], busy / (1 + busy), 0.02, "the share refused",
                   busy);
    }
}

/* At few collisions a lost edit is (1 + cv^2) times as long as the mean, of log-normal lengths
 * exp(sigma^2) times. */
static void what_is_lost_is_the_long_edits(void **state)
{
    (void)state;
    advise_load load = one_record(0.02, 0.8);
    advise_bills bills = model_simulate(&load);
    double lost = bills.hours[ADVISE_OPTIMISTIC] * 60 / bills.count[ADVISE_OPTIMISTIC];
    check_near(lost / advise_mean_minutes(&load), exp(0.64), 0.1, "a lost edit, in mean edits,",
               0.02);
}

/* Over many records: the sum over all of them, of which the simulation has classes only. */
static void skewed_records_add_up(void **state)
{
    (void)state;
    enum { RECORDS = 10000 };
    for (double exponent = 0; exponent < 1.3; exponent += 0.4) {
        advise_load load = one_record(25, 0.8);
        load.records = RECORDS;
        load.exponent = exponent;
        double all = 0, wanted = 0;
        for (int k = 1; k <= RECORDS; k++)
            all += pow(k, -exponent);
        for (int k = 1; k <= RECORDS; k++) {
            double share = pow(k, -exponent) / all, busy = 25 * share;
            wanted += share * busy / (1 + busy);
        }
        check_near(model_simulate(&load).count[ADVISE_PESSIMISTIC], wanted, 0.03,
                   "the share turned away", exponent);
    }
}

static void a_share_of_the_busiest_tenth_is_fitted(void **state)
{
    (void)state;
    for (double share = 0.15; share < 1; share += 0.2) {
        double exponent = advise_zipf_fit(5000, share);
        check_near(advise_zipf_share(5000, exponent), share, 0.001, "the share of the tenth",
                   share);
        double meeting = advise_zipf_meeting(5000, exponent);
        check_near(advise_zipf_fit_meeting(5000, meeting), exponent, 0.001, "the exponent", share);
    }
    expect_int(advise_zipf_fit(1, 0.5), 0);
    expect_int(advise_zipf_fit(1000, 0.1), 0);
}

static void the_same_seed_gives_the_same_figures_and_another_stays_within_the_spread(void **state)
{
    (void)state;
    advise_load load = one_record(0.3, 0.8);
    advise_bills first = model_simulate(&load), again = model_simulate(&load), other;
    hf_error err;
    expect(HF_OK, advise_simulate(&load, 2 * ADVISE_EFFORT_FULL, 77, &other, &err), err);
    for (int p = 0; p < ADVISE_POLICIES; p++) {
        expect_true(first.hours[p] == again.hours[p]);
        expect_true(first.hours[p] != other.hours[p]);
        expect_true(first.spread[p] > 0 && first.spread[p] < 0.05 * first.hours[p]);
        expect_true(fabs(first.hours[p] - other.hours[p]) <
                    3 * (first.spread[p] + other.spread[p]));
    }
}

/* Who does not save keeps the lock: looking, and then until the idle bound. */
static void those_who_do_not_save_hold_the_lock_and_lose_nothing(void **state)
{
    (void)state;
    advise_load load = one_record(0.5, 0);
    load.save_share = 1e-12;
    advise_bills bills = model_simulate(&load);
    check_near(bills.count[ADVISE_PESSIMISTIC], 0.75 / 1.75, 0.02, "the share turned away", 0.75);
    expect_int(bills.count[ADVISE_OPTIMISTIC], 0);
    expect_int(bills.count[ADVISE_NONE], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_turn_away_the_exact_share_whatever_the_lengths),
        cmocka_unit_test(versions_refuse_the_same_share_of_equally_long_edits),
        cmocka_unit_test(what_is_lost_is_the_long_edits),
        cmocka_unit_test(skewed_records_add_up),
        cmocka_unit_test(a_share_of_the_busiest_tenth_is_fitted),
        cmocka_unit_test(the_same_seed_gives_the_same_figures_and_another_stays_within_the_spread),
        cmocka_unit_test(those_who_do_not_save_hold_the_lock_and_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
