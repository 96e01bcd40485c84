/* SPDX-License-Identifier: MIT */
/* What was gathered (edits.c), measured and played. */
#include "advise/model.h"
#include "advise/replay_inside.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAY_SAVES_MIN = 10 }; /* fewer tell nothing */

/* ---- measuring ---- */

typedef struct replay_facts {
    double saves, median, p90;           /* seconds */
    double meeting;                      /* the chance that two edits are of one record */
    double hours, days, span_days, most; /* hours and days in which it happens; edits at once */
} replay_facts;

/* Lengths, by seconds. */
static void replay_lengths(const advise_edits *edits, uint32_t *counts, replay_facts *out)
{
    for (size_t i = 0; i < edits->count; i++) {
        const replay_edit *edit = replay_at(edits, i);
        if (edit->end == 0)
            continue;
        uint32_t length = edit->end - edit->open;
        counts[length > ADVISE_EDIT_SECONDS_MAX ? ADVISE_EDIT_SECONDS_MAX : length]++;
        out->saves++;
    }
    double seen = 0;
    out->median = out->p90 = -1;
    for (size_t second = 0; second <= ADVISE_EDIT_SECONDS_MAX; second++) {
        seen += counts[second];
        if (out->median < 0 && seen >= out->saves * 0.5)
            out->median = (double)second;
        if (out->p90 < 0 && seen >= out->saves * 0.9)
            out->p90 = (double)second;
    }
}

static void replay_skew(const advise_edits *edits, replay_facts *out)
{
    double pairs = 0, all = (double)edits->count;
    for (size_t i = 0; i < edits->records_count; i++)
        pairs += (double)edits->records[i].edits * ((double)edits->records[i].edits - 1);
    out->meeting = pairs / (all * (all - 1));
}

/* Hours and days in which edits begin. Hours count by how much they are shared: where all begin
 * in one hour it is one. */
static void replay_times(const advise_edits *edits, uint32_t *hours, replay_facts *out)
{
    uint32_t first = UINT32_MAX, last = 0, busiest = 0;
    double pairs = 0, all = (double)edits->count;
    for (size_t i = 0; i < edits->count; i++) {
        uint32_t open = replay_at(edits, i)->open;
        hours[open / 3600]++;
        first = open < first ? open : first;
        last = open > last ? open : last;
    }
    for (size_t hour = 0; hour < REPLAY_HOURS_MAX; hour++)
        pairs += (double)hours[hour] * ((double)hours[hour] - 1);
    out->hours = pairs > 0 ? all * (all - 1) / pairs : 1;
    for (size_t hour = 0; hour + 24 <= REPLAY_HOURS_MAX; hour += 24) {
        for (size_t more = 1; more < 24; more++)
            hours[hour] += hours[hour + more];
        busiest = hours[hour] > busiest ? hours[hour] : busiest;
    }
    for (size_t hour = 0; hour + 24 <= REPLAY_HOURS_MAX; hour += 24)
        out->days += hours[hour] > busiest / 20;
    out->span_days = (last - first) / 86400.0;
    /* A day begins anywhere in the log's first one: two halves are one day. */
    if (out->days > ceil(out->span_days + 1e-9) && out->days > 1)
        out->days = ceil(out->span_days);
    out->days = out->days < 1 ? 1 : out->days;
}

/* How many were open at once, at most, by minutes. */
static void replay_at_once(const advise_edits *edits, int32_t *steps, size_t minutes,
                           replay_facts *out)
{
    for (size_t i = 0; i < edits->count; i++) {
        const replay_edit *edit = replay_at(edits, i);
        size_t end = (edit->end != 0 ? edit->end : edit->open + (uint32_t)out->median) / 60 + 1;
        steps[edit->open / 60]++;
        steps[end < minutes ? end : minutes - 1]--;
    }
    double now = 0;
    for (size_t i = 0; i < minutes; i++) {
        now += steps[i];
        out->most = now > out->most ? now : out->most;
    }
}

static hf_status replay_gather(const advise_edits *edits, replay_facts *out, hf_error *err)
{
    size_t minutes = (size_t)edits->last / 60 + 2;
    *out = (replay_facts){0};
    hf_cleanup(hf_freep) uint32_t *lengths =
        hf_alloc((ADVISE_EDIT_SECONDS_MAX + 1) * sizeof *lengths);
    hf_cleanup(hf_freep) uint32_t *hours = hf_alloc((REPLAY_HOURS_MAX + 24) * sizeof *hours);
    hf_cleanup(hf_freep) int32_t *steps = hf_alloc(minutes * sizeof *steps);
    if (lengths == NULL || hours == NULL || steps == NULL)
        return hf_fail_memory(err);
    replay_lengths(edits, lengths, out);
    if (out->saves < REPLAY_SAVES_MIN)
        return hf_fail(err, HF_NOT_FOUND,
                       "In the log only %.0f edits were opened and saved by the same person; at "
                       "least %d are needed. "
                       "Check --open and --save, or give a longer log.",
                       out->saves, REPLAY_SAVES_MIN);
    replay_skew(edits, out);
    replay_times(edits, hours, out);
    replay_at_once(edits, steps, minutes, out);
    return HF_OK;
}

hf_status advise_edits_measure(advise_edits *edits, advise_answers *answers, hf_error *err)
{
    replay_facts facts;
    hf_status status = replay_gather(edits, &facts, err);
    if (status != HF_OK)
        return status;
    double records = (double)edits->records_count;
    double exponent = advise_zipf_fit_meeting(records, facts.meeting);
    double p90 = facts.p90 > facts.median ? facts.p90 : facts.median;
    advise_set_measured(answers, ADVISE_EDITORS, facts.most);
    advise_set_measured(answers, ADVISE_RECORDS, records);
    advise_set_measured(answers, ADVISE_EDITS_PER_DAY, (double)edits->count / facts.days);
    advise_set_measured(answers, ADVISE_EDIT_MINUTES, facts.median / 60);
    advise_set_measured(answers, ADVISE_EDIT_MINUTES_P90, p90 / 60);
    advise_set_measured(answers, ADVISE_SAVE_SHARE, facts.saves / (double)edits->count);
    advise_set_measured(answers, ADVISE_BUSIEST_TENTH_SHARE, advise_zipf_share(records, exponent));
    advise_set_measured(answers, ADVISE_HOURS_PER_DAY, facts.hours / facts.days);
    if (facts.span_days >= 7)
        advise_set_measured(answers, ADVISE_DAYS_PER_WEEK, facts.days / facts.span_days * 7);
    return HF_OK;
}

/* ---- playing ---- */

static int replay_by_open(const void *a, const void *b)
{
    double x = ((const advise_edit *)a)->open, y = ((const advise_edit *)b)->open;
    return (x > y) - (x < y);
}

/* Puts the record among those that cause most, if it is one. */
static void replay_rank(advise_replay *out, hf_slice name, const advise_tally *tally)
{
    advise_top entry = {.opens = tally->opens,
                        .refused = tally->refused,
                        .conflicts = tally->conflicts,
                        .hours = tally->conflict_minutes / 60};
    if (tally->refused == 0 && tally->conflicts == 0)
        return;
    size_t at = out->top_count < ADVISE_TOP_MAX ? out->top_count++ : ADVISE_TOP_MAX;
    while (at > 0 &&
           (out->top[at - 1].hours < entry.hours ||
            (out->top[at - 1].hours == entry.hours && out->top[at - 1].refused < entry.refused))) {
        if (at < ADVISE_TOP_MAX)
            out->top[at] = out->top[at - 1];
        at--;
    }
    if (at == ADVISE_TOP_MAX)
        return;
    size_t size = name.size < sizeof entry.record - 1 ? name.size : sizeof entry.record - 1;
    for (size_t i = 0; i < size; i++)
        entry.record[i] = name.at[i] >= 0x20 && name.at[i] < 0x7f ? name.at[i] : '?';
    out->top[at] = entry;
}

typedef struct replay_room_of {
    advise_edit *edits;
    advise_save *saves;
} replay_room_of;

/* Plays the edits of one record, `order[0..count)`, a piece at a time. */
static void replay_play(const advise_edits *edits, const uint32_t *order, size_t count,
                        const advise_rules *rules, replay_room_of room, advise_tally *tally)
{
    for (size_t from = 0; from < count; from += REPLAY_PIECE) {
        size_t here = count - from < REPLAY_PIECE ? count - from : REPLAY_PIECE;
        bool sorted = true;
        for (size_t i = 0; i < here; i++) {
            const replay_edit *edit = replay_at(edits, order[from + i]);
            bool saved = edit->end != 0;
            room.edits[i] = (advise_edit){edit->open / 60.0,
                                          saved ? (edit->end - edit->open) / 60.0 : 0, saved};
            sorted = sorted && (i == 0 || room.edits[i - 1].open <= room.edits[i].open);
        }
        if (!sorted)
            qsort(room.edits, here, sizeof *room.edits, replay_by_open);
        advise_play(room.edits, here, 0, rules, room.saves, tally);
    }
}

hf_status advise_edits_replay(advise_edits *edits, const advise_rules *rules, advise_replay *out,
                              hf_error *err)
{
    hf_cleanup(hf_freep) uint32_t *order = hf_alloc((edits->count + 1) * sizeof *order);
    hf_cleanup(hf_freep) uint32_t *ends = hf_alloc((edits->records_count + 1) * sizeof *ends);
    hf_cleanup(hf_freep) advise_edit *room = hf_alloc(REPLAY_PIECE * sizeof *room);
    hf_cleanup(hf_freep) advise_save *saves = hf_alloc(REPLAY_PIECE * sizeof *saves);
    replay_facts facts;
    if (order == NULL || ends == NULL || room == NULL || saves == NULL)
        return hf_fail_memory(err);
    hf_status status = replay_gather(edits, &facts, err);
    if (status != HF_OK)
        return status;
    *out = (advise_replay){.opens = (double)edits->count,
                           .saves = facts.saves,
                           .unopened = edits->unopened,
                           .people = (double)edits->people.used,
                           .records = (double)edits->records_count,
                           .days = facts.span_days};
    /* By record, in the order in which they came: ends[i] is first where those of record i
     * begin, then where they end. */
    for (size_t i = 1; i < edits->records_count; i++)
        ends[i] = ends[i - 1] + edits->records[i - 1].edits;
    for (size_t i = 0; i < edits->count; i++)
        order[ends[replay_at(edits, i)->record]++] = (uint32_t)i;
    advise_rules with = *rules;
    with.look_minutes = facts.median / 60;
    for (size_t i = 0; i < edits->records_count; i++) {
        const replay_record *record = &edits->records[i];
        advise_tally tally = {0};
        replay_play(edits, order + ends[i] - record->edits, record->edits, &with,
                    (replay_room_of){room, saves}, &tally);
        advise_tally_add(&out->tally, &tally, 1);
        replay_rank(out, replay_name(edits, record), &tally);
    }
    return HF_OK;
}
