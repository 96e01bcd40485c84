/* SPDX-License-Identifier: MIT */
/* Edits are kept as four numbers each, in pieces of memory that never move; records by name in a
 * hash table; open edits by record and person in another, which forgets those that can't be
 * saved any more. */
#include "advise/replay.h"

#include "advise/model.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPLAY_PIECE = 1 << 16,       /* edits allocated, and played, at a time */
    REPLAY_NAMES = 1 << 18,       /* bytes of names allocated at a time */
    REPLAY_SAVES_MIN = 10,        /* fewer tell nothing */
    REPLAY_HOURS_MAX = 24 * 3660, /* ten years */
};
#define REPLAY_EDITS_MAX ((size_t)1 << 31)

/* Seconds count from `base`. */
typedef struct replay_edit {
    uint32_t record;
    uint32_t person;
    uint32_t open;
    uint32_t end; /* 0: not saved */
} replay_edit;

typedef struct replay_record {
    uint32_t name; /* where it is: number of the piece and offset in it */
    uint32_t edits;
} replay_record;

/* Open addressing; a slot holds an index plus one. */
typedef struct replay_table {
    uint32_t *slots;
    size_t size; /* a power of 2 */
    size_t used;
} replay_table;

struct advise_edits {
    replay_edit **pieces;
    size_t pieces_count, pieces_room;
    size_t count;
    replay_record *records;
    size_t records_count, records_room;
    char **names;
    size_t names_count, names_room, names_used;
    replay_table by_name, open, people;
    int64_t base;
    uint32_t last; /* the latest time seen */
    double unopened;
};

advise_edits *advise_edits_new(void)
{
    return hf_alloc(sizeof(advise_edits));
}

void advise_edits_free(advise_edits *edits)
{
    if (edits == NULL)
        return;
    for (size_t i = 0; i < edits->pieces_count; i++)
        hf_free(edits->pieces[i]);
    for (size_t i = 0; i < edits->names_count; i++)
        hf_free(edits->names[i]);
    hf_free(edits->pieces);
    hf_free(edits->names);
    hf_free(edits->records);
    hf_free(edits->by_name.slots);
    hf_free(edits->open.slots);
    hf_free(edits->people.slots);
    hf_free(edits);
}

/* ---- memory ---- */

/* Room for one more in an array that grows by half. */
static bool replay_room(void *array, size_t count, size_t *room, size_t each)
{
    void **at = array;
    if (count < *room)
        return true;
    size_t wanted = *room + *room / 2 + 64;
    void *grown = hf_realloc(*at, wanted * each);
    if (grown != NULL) {
        *at = grown;
        *room = wanted;
    }
    return grown != NULL;
}

static replay_edit *replay_at(const advise_edits *edits, size_t index)
{
    return &edits->pieces[index / REPLAY_PIECE][index % REPLAY_PIECE];
}

static uint64_t replay_mix(uint64_t value)
{
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

static uint64_t replay_hash(hf_slice text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * UINT64_C(0x100000001b3);
    return replay_mix(hash);
}

static uint64_t replay_open_hash(uint32_t record, uint32_t person)
{
    return replay_mix((uint64_t)record << 32 | person);
}

static void replay_insert(replay_table *table, uint64_t hash, uint32_t value)
{
    size_t at = hash & (table->size - 1);
    while (table->slots[at] != 0)
        at = (at + 1) & (table->size - 1);
    table->slots[at] = value;
    table->used++;
}

/* ---- names and people ---- */

/* In a piece a name stands behind its size, in two bytes. */
static hf_slice replay_name(const advise_edits *edits, const replay_record *record)
{
    const char *at = edits->names[record->name / REPLAY_NAMES] + record->name % REPLAY_NAMES;
    return (hf_slice){at + 2, (size_t)(unsigned char)at[0] << 8 | (unsigned char)at[1]};
}

static bool replay_names_grow(advise_edits *edits)
{
    replay_table old = edits->by_name, *table = &edits->by_name;
    *table = (replay_table){.size = old.size == 0 ? 1024 : old.size * 2};
    table->slots = hf_alloc(table->size * sizeof *table->slots);
    if (table->slots == NULL) {
        *table = old;
        return false;
    }
    for (size_t i = 0; i < edits->records_count; i++)
        replay_insert(table, replay_hash(replay_name(edits, &edits->records[i])), (uint32_t)i + 1);
    hf_free(old.slots);
    return true;
}

/* Keeps a name; false when memory is out. Names are cut at what a line of a log may hold. */
static bool replay_name_keep(advise_edits *edits, hf_slice name, uint32_t *out)
{
    if (edits->names_count == 0 || edits->names_used + name.size + 2 > REPLAY_NAMES) {
        if (edits->names_count == UINT32_MAX / REPLAY_NAMES ||
            !replay_room(&edits->names, edits->names_count, &edits->names_room,
                         sizeof *edits->names))
            return false;
        edits->names[edits->names_count] = hf_alloc(REPLAY_NAMES);
        if (edits->names[edits->names_count] == NULL)
            return false;
        edits->names_count++;
        edits->names_used = 0;
    }
    char *at = edits->names[edits->names_count - 1] + edits->names_used;
    at[0] = (char)(name.size >> 8);
    at[1] = (char)name.size;
    memcpy(at + 2, name.at, name.size);
    *out = (uint32_t)((edits->names_count - 1) * REPLAY_NAMES + edits->names_used);
    edits->names_used += name.size + 2;
    return true;
}

/* The number of a record; UINT32_MAX when memory is out. */
static uint32_t replay_record_of(advise_edits *edits, hf_slice name)
{
    replay_table *table = &edits->by_name;
    if (table->used * 4 >= table->size * 3 && !replay_names_grow(edits))
        return UINT32_MAX;
    name.size = name.size < UINT16_MAX ? name.size : UINT16_MAX;
    uint64_t hash = replay_hash(name);
    for (size_t at = hash & (table->size - 1); table->slots[at] != 0;
         at = (at + 1) & (table->size - 1))
        if (hf_slice_equal(replay_name(edits, &edits->records[table->slots[at] - 1]), name))
            return table->slots[at] - 1;
    uint32_t kept;
    if (!replay_name_keep(edits, name, &kept) ||
        !replay_room(&edits->records, edits->records_count, &edits->records_room,
                     sizeof *edits->records))
        return UINT32_MAX;
    edits->records[edits->records_count] = (replay_record){kept, 0};
    replay_insert(table, hash, (uint32_t)++edits->records_count);
    return (uint32_t)edits->records_count - 1;
}

/* Counts the person, if this is the first time; what is kept of them is never 0. */
static bool replay_meet(advise_edits *edits, uint32_t person)
{
    replay_table *table = &edits->people;
    if (table->used * 2 >= table->size) {
        replay_table old = *table;
        *table = (replay_table){.size = old.size == 0 ? 1024 : old.size * 2};
        table->slots = hf_alloc(table->size * sizeof *table->slots);
        if (table->slots == NULL) {
            *table = old;
            return false;
        }
        for (size_t i = 0; i < old.size; i++)
            if (old.slots[i] != 0)
                replay_insert(table, replay_mix(old.slots[i]), old.slots[i]);
        hf_free(old.slots);
    }
    size_t at = replay_mix(person) & (table->size - 1);
    while (table->slots[at] != 0 && table->slots[at] != person)
        at = (at + 1) & (table->size - 1);
    table->used += table->slots[at] == 0;
    table->slots[at] = person;
    return true;
}

/* ---- open edits ---- */

static bool replay_is_live(const advise_edits *edits, const replay_edit *edit)
{
    uint32_t since = edit->end != 0 ? edit->end : edit->open;
    return edits->last < since + ADVISE_EDIT_SECONDS_MAX;
}

/* Makes room by forgetting what is over, and by growing. */
static bool replay_open_grow(advise_edits *edits)
{
    replay_table old = edits->open;
    size_t live = 0;
    for (size_t i = 0; i < old.size; i++)
        live += old.slots[i] != 0 && replay_is_live(edits, replay_at(edits, old.slots[i] - 1));
    size_t size = 1024;
    while (size < live * 4)
        size *= 2;
    edits->open = (replay_table){hf_alloc(size * sizeof *old.slots), size, 0};
    if (edits->open.slots == NULL) {
        edits->open = old;
        return false;
    }
    for (size_t i = 0; i < old.size; i++) {
        const replay_edit *edit = old.slots[i] == 0 ? NULL : replay_at(edits, old.slots[i] - 1);
        if (edit != NULL && replay_is_live(edits, edit))
            replay_insert(&edits->open, replay_open_hash(edit->record, edit->person), old.slots[i]);
    }
    hf_free(old.slots);
    return true;
}

/* The slot of this person's last edit of the record, or an empty one; NULL when memory is out. */
static uint32_t *replay_slot(advise_edits *edits, uint32_t record, uint32_t person)
{
    replay_table *table = &edits->open;
    if (table->used * 2 >= table->size && !replay_open_grow(edits))
        return NULL;
    size_t at = replay_open_hash(record, person) & (table->size - 1);
    for (; table->slots[at] != 0; at = (at + 1) & (table->size - 1)) {
        const replay_edit *edit = replay_at(edits, table->slots[at] - 1);
        if (edit->record == record && edit->person == person)
            break;
    }
    return &table->slots[at];
}

static hf_status replay_add(advise_edits *edits, uint32_t *slot, replay_edit edit, hf_error *err)
{
    if (edits->count == REPLAY_EDITS_MAX)
        return hf_fail(err, HF_TOO_LARGE, "The log has more than %zu edits; give a part of it.",
                       REPLAY_EDITS_MAX);
    if (edits->count == edits->pieces_count * REPLAY_PIECE) {
        if (!replay_room(&edits->pieces, edits->pieces_count, &edits->pieces_room,
                         sizeof *edits->pieces))
            return hf_fail_memory(err);
        edits->pieces[edits->pieces_count] = hf_alloc(REPLAY_PIECE * sizeof(replay_edit));
        if (edits->pieces[edits->pieces_count] == NULL)
            return hf_fail_memory(err);
        edits->pieces_count++;
    }
    *replay_at(edits, edits->count++) = edit;
    edits->open.used += *slot == 0;
    edits->records[edit.record].edits++;
    *slot = (uint32_t)edits->count;
    return HF_OK;
}

/* What both calls begin with. */
typedef struct replay_event {
    uint32_t record, person, at;
    uint32_t *slot;
    replay_edit *edit; /* this person's last one, if it still counts */
} replay_event;

static hf_status replay_begin(advise_edits *edits, hf_slice record, uint64_t person,
                              int64_t seconds, replay_event *out, hf_error *err)
{
    if (edits->base == 0)
        edits->base = seconds - 86400;
    int64_t since = seconds - edits->base;
    if (since < 1 || since > (int64_t)REPLAY_HOURS_MAX * 3600)
        return hf_fail(
            err, HF_INVALID,
            "The log's times lie more than ten years apart, or go back by more than a day; "
            "give it in order of time.");
    *out = (replay_event){.at = (uint32_t)since, .person = (uint32_t)replay_mix(person)};
    out->person += out->person == 0;
    edits->last = out->at > edits->last ? out->at : edits->last;
    out->record = replay_record_of(edits, record);
    out->slot = out->record == UINT32_MAX ? NULL : replay_slot(edits, out->record, out->person);
    if (out->slot == NULL || !replay_meet(edits, out->person))
        return hf_fail_memory(err);
    out->edit = *out->slot == 0 ? NULL : replay_at(edits, *out->slot - 1);
    if (out->edit != NULL && !replay_is_live(edits, out->edit))
        out->edit = NULL;
    return HF_OK;
}

hf_status advise_edits_open(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                            hf_error *err)
{
    replay_event event;
    hf_status status = replay_begin(edits, record, person, seconds, &event, err);
    if (status != HF_OK)
        return status;
    if (event.edit != NULL && event.edit->end == 0) {
        event.edit->open = event.at; /* the page was loaded anew */
        return HF_OK;
    }
    return replay_add(edits, event.slot, (replay_edit){event.record, event.person, event.at, 0},
                      err);
}

hf_status advise_edits_save(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                            hf_error *err)
{
    replay_event event;
    hf_status status = replay_begin(edits, record, person, seconds, &event, err);
    if (status != HF_OK)
        return status;
    if (event.edit == NULL) {
        edits->unopened++;
        return HF_OK;
    }
    uint32_t end = event.at > event.edit->open ? event.at : event.edit->open;
    if (event.edit->end == 0) {
        event.edit->end = end;
        return HF_OK;
    }
    /* Saved before, and worked on without opening it anew. */
    return replay_add(edits, event.slot,
                      (replay_edit){event.record, event.person, event.edit->end, end}, err);
}

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
