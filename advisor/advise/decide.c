/* SPDX-License-Identifier: MIT */
/* From answers to a decision: the bills say which policy costs less, the rest of the answers
 * what it needs. */
#include "advise/decide.h"
#include "base/error.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void advise_say(advise_sentences *list, const char *format, ...)
{
    va_list values;
    if (list->count == ADVISE_SENTENCES_MAX)
        return;
    va_start(values, format);
    vsnprintf(list->items[list->count++], ADVISE_SENTENCE, format, values);
    va_end(values);
}

bool advise_uses_locks(const advise_record *record)
{
    return record->strategy == ADVISE_BE_PESSIMISTIC || record->strategy == ADVISE_BE_BOTH;
}

bool advise_uses_versions(const advise_record *record)
{
    return record->strategy == ADVISE_BE_OPTIMISTIC || record->strategy == ADVISE_BE_BOTH;
}

void advise_identifier(const char *name, char out[ADVISE_NAME_SIZE])
{
    size_t size = 0;
    for (; *name != '\0' && size < ADVISE_NAME_SIZE - 1; name++) {
        char c = (char)tolower((unsigned char)*name);
        bool good = (c >= 'a' && c <= 'z') || (size > 0 && c >= '0' && c <= '9');
        if (good)
            out[size++] = c;
        else if (size > 0 && out[size - 1] != '_')
            out[size++] = '_';
    }
    while (size > 0 && out[size - 1] == '_')
        size--;
    out[size] = '\0';
    if (size == 0)
        snprintf(out, ADVISE_NAME_SIZE, "record");
}

/* ---- the bills ---- */

/* Locks take about four days more to build than a version column; that is spread over a year,
 * and weighs by the budget. */
#define DECIDE_BUILD_HOURS 32.0

static double decide_building(const advise_record *record)
{
    static const double weights[] = {4, 1, 0.25};
    return DECIDE_BUILD_HOURS / 52 * weights[(int)record->answers.numbers[ADVISE_BUDGET]];
}

static bool decide_locks_win(const advise_bills *bills, double building)
{
    return bills->hours[ADVISE_OPTIMISTIC] - bills->hours[ADVISE_PESSIMISTIC] > building;
}

/* Neither how often people meet nor what it costs is known: then figures are made of assumptions
 * alone. */
static bool decide_blind(const advise_record *record)
{
    static const advise_id known_by[] = {ADVISE_EDITS_PER_DAY, ADVISE_RECORDS, ADVISE_REDO_MINUTES,
                                         ADVISE_EDIT_MINUTES, ADVISE_EDIT_MINUTES_P90};
    for (size_t i = 0; i < sizeof known_by / sizeof *known_by; i++)
        if (!decide_assumed(record, known_by[i]))
            return false;
    return true;
}

static void decide_by_heuristic(advise_record *record)
{
    bool many =
        !decide_assumed(record, ADVISE_EDITORS) && record->answers.numbers[ADVISE_EDITORS] > 10;
    bool strict = decide_yes(record, ADVISE_READERS_NEED_LATEST);
    record->by_heuristic = true;
    record->strategy = many && strict ? ADVISE_BE_PESSIMISTIC : ADVISE_BE_OPTIMISTIC;
    if (record->strategy == ADVISE_BE_PESSIMISTIC)
        advise_say(&record->reasons, "Neither how often people meet nor what a lost edit costs is "
                                     "known. Many editors on records "
                                     "whose readers must see the latest state speak for locks; "
                                     "find out before you build them.");
    else
        advise_say(&record->reasons, "Neither how often people meet nor what a lost edit costs is "
                                     "known. Until it is, a version "
                                     "column is the safe beginning: it is quick to build, loses "
                                     "nothing silently, and its refusals "
                                     "count what was not known.");
}

static const char *decide_frequency(double share)
{
    return share < 0.01 ? "rare" : share < 0.05 ? "occasional" : "frequent";
}

static const char *decide_rework(double minutes)
{
    return minutes < 10 ? "low" : minutes < 30 ? "moderate" : "high";
}

/* "1 of 43 saves" or "no save of a thousand" */
static void decide_share_say(double share, char *out, size_t size)
{
    if (share < 0.0001)
        snprintf(out, size, "fewer than 1 of 10,000 saves");
    else if (share > 0.4)
        snprintf(out, size, "%.0f of 100 saves", share * 100);
    else
        snprintf(out, size, "1 of %.0f saves", 1 / share);
}

static void decide_explain_bills(advise_record *record)
{
    const advise_bills *b = &record->bills;
    double conflicts = b->count[ADVISE_OPTIMISTIC], share = b->saves > 0 ? conflicts / b->saves : 0;
    double lost = conflicts > 0 ? b->hours[ADVISE_OPTIMISTIC] * 60 / conflicts : 0;
    char often[64], a[ADVISE_FIGURE_SIZE], c[ADVISE_FIGURE_SIZE], d[ADVISE_FIGURE_SIZE],
        e[ADVISE_FIGURE_SIZE];
    decide_share_say(share, often, sizeof often);
    advise_say(&record->reasons,
               "Collisions are %s: with versions %s would be refused. Rework is %s: such a save "
               "costs %s minutes "
               "in the mean (the usual edit %s), since long edits meet others more often.",
               decide_frequency(share), often, decide_rework(lost), advise_figure(lost, a),
               advise_figure(record->answers.numbers[ADVISE_REDO_MINUTES], c));
    advise_say(&record->reasons,
               "Frequency times rework: %s hours a week are lost in refused saves; with locks %s "
               "people a week are "
               "turned away and lose %s hours. Locks must save more than %s hours a week to be "
               "worth building.",
               advise_figure(b->hours[ADVISE_OPTIMISTIC], a),
               advise_figure(b->count[ADVISE_PESSIMISTIC], c),
               advise_figure(b->hours[ADVISE_PESSIMISTIC], d), advise_figure(record->building, e));
}

/* Writers that no lock of a person's page covers need the version under it. */
static void decide_both(advise_record *record)
{
    const double *n = record->answers.numbers;
    bool jobs = n[ADVISE_SESSION] == ADVISE_SESSION_JOB;
    bool unenforced = n[ADVISE_BUDGET] == ADVISE_BUDGET_SMALL && n[ADVISE_CODE_PATHS] > 1 &&
                      !decide_assumed(record, ADVISE_CODE_PATHS);
    if (!decide_yes(record, ADVISE_SCHEMA_MAY_CHANGE) || (!jobs && !unenforced))
        return;
    record->strategy = ADVISE_BE_BOTH;
    if (jobs)
        advise_say(&record->reasons,
                   "Programs save these records too. They do not wait for people, so a "
                   "version under the lock refuses "
                   "what was read before someone else saved.");
    else
        advise_say(&record->reasons,
                   "%g places save these records and the budget does not cover putting the lock "
                   "into all of them at "
                   "once; a version under the lock refuses what gets past it.",
                   n[ADVISE_CODE_PATHS]);
}

static hf_status decide_by_bills(advise_record *record, hf_error *err)
{
    advise_load load;
    advise_load_make(&record->answers, &load);
    hf_status status =
        advise_simulate(&load, ADVISE_EFFORT_FULL, record->seed, &record->bills, err);
    if (status != HF_OK)
        return status;
    record->billed = true;
    record->building = decide_building(record);
    if (decide_blind(record)) {
        decide_by_heuristic(record);
        return HF_OK;
    }
    bool locks = decide_locks_win(&record->bills, record->building);
    record->strategy = locks ? ADVISE_BE_PESSIMISTIC : ADVISE_BE_OPTIMISTIC;
    decide_explain_bills(record);
    if (locks)
        advise_say(&record->reasons,
                   "A lock tells people before they begin, so no work is thrown away.");
    else
        advise_say(&record->reasons, "A version column is quick to build, keeps nobody waiting, "
                                     "and loses nothing silently.");
    if (locks)
        decide_both(record);
    return HF_OK;
}

/* ---- what would change it ---- */

/* How far an answer may be off, as a factor, by how it is known. */
static const double decide_slack[] = {
    [ADVISE_ASSUMED] = 4, [ADVISE_EXPERT] = 1.5, [ADVISE_MEASURED] = 1.2};

static const advise_id decide_drivers[] = {
    ADVISE_EDITS_PER_DAY,    ADVISE_RECORDS,      ADVISE_EDIT_MINUTES,
    ADVISE_EDIT_MINUTES_P90, ADVISE_SAVE_SHARE,   ADVISE_BUSIEST_TENTH_SHARE,
    ADVISE_REDO_MINUTES,     ADVISE_WAIT_MINUTES,
};

/* The answers with one of them times the factor; those that were assumed from it follow. False:
 * it can't be so. */
static bool decide_vary(const advise_record *record, advise_id id, double factor,
                        advise_answers *out)
{
    *out = record->answers;
    double value = out->numbers[id] * factor;
    if (advise_questions[id].kind == ADVISE_WHOLE)
        value = ceil(value);
    hf_error ignored;
    if (advise_set_number(out, id, value,
                          out->marks[id] == ADVISE_ASSUMED ? ADVISE_EXPERT : out->marks[id],
                          &ignored) != HF_OK)
        return false;
    if (id == ADVISE_EDIT_MINUTES) { /* longer edits are longer in all respects */
        out->numbers[ADVISE_EDIT_MINUTES_P90] *= factor;
        out->numbers[ADVISE_REDO_MINUTES] *= factor;
    }
    advise_answers_complete(out);
    return out->numbers[ADVISE_EDIT_MINUTES_P90] >= out->numbers[ADVISE_EDIT_MINUTES];
}

/* Would locks win? False with *possible false: the answers make no sense. */
static bool decide_would_lock(const advise_record *record, advise_id id, double factor,
                              bool *possible)
{
    advise_answers varied;
    advise_load load;
    advise_bills bills;
    *possible = decide_vary(record, id, factor, &varied);
    if (!*possible)
        return false;
    advise_load_make(&varied, &load);
    *possible = advise_simulate(&load, ADVISE_EFFORT_QUICK, record->seed, &bills, NULL) == HF_OK;
    return *possible && decide_locks_win(&bills, record->building);
}

/* The factor nearest to 1, in one direction, at which the choice changes; 0: there is none up to
 * 16. */
static double decide_flip(const advise_record *record, advise_id id, bool up)
{
    bool now = advise_uses_locks(record), possible = true;
    double near = 1, far = up ? 2 : 0.5;
    while (decide_would_lock(record, id, far, &possible) == now) {
        near = far;
        far = up ? far * 2 : far / 2;
        if (far > 16 || far < 1.0 / 16)
            return 0;
    }
    if (!possible)
        return 0;
    for (int i = 0; i < 4; i++) {
        double middle = sqrt(near * far);
        if (decide_would_lock(record, id, middle, &possible) == now)
            near = middle;
        else
            far = middle;
    }
    return far;
}

/* To two digits, away from what it is now: 117 is 120. */
static double decide_round(double value, bool up)
{
    double unit = pow(10, floor(log10(value)) - 1);
    return (up ? ceil(value / unit - 1e-9) : floor(value / unit + 1e-9)) * unit;
}

static void decide_note_flip(advise_record *record, advise_id id, double factor, bool up,
                             bool *near)
{
    const advise_question *row = &advise_questions[id];
    advise_mark mark = record->answers.marks[id];
    advise_strategy instead =
        advise_uses_locks(record) ? ADVISE_BE_OPTIMISTIC : ADVISE_BE_PESSIMISTIC;
    double value = decide_round(record->answers.numbers[id] * factor, up);
    double slack = decide_slack[mark];
    if (row->kind == ADVISE_SHARE && value > 1)
        value = 1;
    if (record->thresholds_count < ADVISE_THRESHOLDS_MAX) {
        advise_threshold *t = &record->thresholds[record->thresholds_count++];
        *t = (advise_threshold){.above = up, .value = value, .instead = instead};
        snprintf(t->measure, sizeof t->measure, "%s", row->name);
    }
    if (factor > slack || factor < 1 / slack)
        return;
    *near = true;
    static const char *const said[] = {"was assumed to be", "was said to be", "was measured as"};
    advise_say(&record->doubts, "%s %s %.4g; %s %.4g the choice would be %s.%s", row->name,
               said[mark], record->answers.numbers[id], up ? "above" : "below", value,
               advise_strategy_name(instead),
               mark != ADVISE_ASSUMED ? ""
               : row->expert          ? " Ask someone who knows the work."
                                      : " Measure it, or ask.");
}

static void decide_refusals(advise_record *record)
{
    double days = record->answers.numbers[ADVISE_DAYS_PER_WEEK];
    double expected = record->bills.count[ADVISE_PESSIMISTIC] / days;
    advise_threshold *t = &record->thresholds[record->thresholds_count++];
    *t = (advise_threshold){.above = true, .measure = ADVISE_REFUSALS, .instead = record->strategy};
    t->value = decide_round(expected * 3 < 1 ? 1 : expected * 3, true);
}

static void decide_certainty(advise_record *record)
{
    bool near = false;
    if (record->by_heuristic) {
        record->certainty = ADVISE_UNSURE;
        advise_say(&record->doubts,
                   "Find out edits_per_day, records, edit_minutes and redo_minutes: with them the "
                   "choice is "
                   "arithmetic. A web server's log tells the first three (--access-log).");
    } else {
        for (size_t i = 0; i < sizeof decide_drivers / sizeof *decide_drivers; i++) {
            for (int up = 0; up < 2; up++) {
                double factor = decide_flip(record, decide_drivers[i], up);
                if (factor != 0)
                    decide_note_flip(record, decide_drivers[i], factor, up, &near);
            }
        }
        const advise_bills *b = &record->bills;
        double lead =
            fabs(b->hours[ADVISE_OPTIMISTIC] - b->hours[ADVISE_PESSIMISTIC] - record->building);
        bool within = lead < b->spread[ADVISE_OPTIMISTIC] + b->spread[ADVISE_PESSIMISTIC];
        record->certainty = within ? ADVISE_UNSURE : near ? ADVISE_FAIRLY_SURE : ADVISE_SURE;
        if (within)
            advise_say(&record->doubts,
                       "The two bills differ by less than the spread of the simulation.");
    }
    if (advise_uses_locks(record) && record->thresholds_count < ADVISE_THRESHOLDS_MAX)
        decide_refusals(record);
}

static void decide_transaction(advise_record *record)
{
    bool whole =
        record->answers.grouped_with.count > 0 || decide_yes(record, ADVISE_READERS_NEED_LATEST);
    bool postgres = record->answers.numbers[ADVISE_DATABASE] == ADVISE_POSTGRES;
    record->strategy = ADVISE_BE_TRANSACTION;
    record->certainty = ADVISE_SURE;
    record->isolation = whole || record->answers.numbers[ADVISE_DATABASE] == ADVISE_SQLITE
                            ? ADVISE_SERIALIZABLE
                        : postgres ? ADVISE_REPEATABLE_READ
                                   : ADVISE_READ_COMMITTED;
    advise_say(&record->reasons,
               "An edit begins and ends in one request, so one database transaction "
               "protects it. Nothing of holdfast "
               "is needed here.");
}

static void decide_lease(advise_record *record)
{
    static const char *const reasons[] = {
        [ADVISE_WORK_SINGLE_FLIGHT] =
            "The work must run once at a time, wherever it is started. That is a lease: held "
            "for a bounded time, freed by itself when its holder dies.",
        [ADVISE_WORK_AT_MOST_ONCE] =
            "A repeated call would do harm. A lease keeps two from calling at once; the call "
            "itself carries a key that the other system knows again, since a lease can end "
            "while its holder sleeps.",
        [ADVISE_WORK_HOT_KEY] =
            "Many programs write one row, and trying again after each conflict costs more than "
            "waiting in line. A lease on the row's key is that line.",
    };
    record->strategy = ADVISE_BE_LEASE;
    record->certainty = ADVISE_SURE;
    advise_say(&record->reasons, "%s", reasons[(int)record->answers.numbers[ADVISE_WORK]]);
    advise_say(&record->warnings,
               "Take the lease around the whole transaction, not inside it: released "
               "before the commit, the next one "
               "reads what was there before (of 10 such deposits about 4 collide).");
}

hf_status advise_decide(advise_record *record, hf_error *err)
{
    advise_answers_complete(&record->answers);
    hf_status status = advise_answers_check(&record->answers, err);
    if (status != HF_OK)
        return status;
    if (record->answers.numbers[ADVISE_WORK] != ADVISE_WORK_EDIT) {
        decide_lease(record);
        advise_decide_storage(record);
        return HF_OK;
    }
    if (!decide_yes(record, ADVISE_SPANS_REQUESTS)) {
        decide_transaction(record);
        return HF_OK;
    }
    status = decide_by_bills(record, err);
    if (status != HF_OK)
        return status;
    decide_certainty(record);
    advise_decide_needs(record);
    return HF_OK;
}
