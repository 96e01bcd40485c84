/* SPDX-License-Identifier: MIT */
/* Gathering edits: what was opened is paired with what was saved, as it comes. */
#include "advise/replay_inside.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/seams.h"

#include <string.h>

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
static bool edits_room(void *array, size_t count, size_t *room, size_t each)
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

static uint64_t edits_mix(uint64_t value)
{
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

static uint64_t edits_hash(hf_slice text)
{
    return hf_hash_bytes(0, text.at, text.size);
}

static uint64_t edits_open_hash(uint32_t record, uint32_t person)
{
    return edits_mix((uint64_t)record << 32 | person);
}

static void edits_insert(replay_table *table, uint64_t hash, uint32_t value)
{
    size_t at = hash & (table->size - 1);
    while (table->slots[at] != 0)
        at = (at + 1) & (table->size - 1);
    table->slots[at] = value;
    table->used++;
}

/* ---- names and people ---- */

static bool edits_names_grow(advise_edits *edits)
{
    replay_table old = edits->by_name, *table = &edits->by_name;
    *table = (replay_table){.size = old.size == 0 ? 1024 : old.size * 2};
    table->slots = hf_alloc(table->size * sizeof *table->slots);
    if (table->slots == NULL) {
        *table = old;
        return false;
    }
    for (size_t i = 0; i < edits->records_count; i++)
        edits_insert(table, edits_hash(replay_name(edits, &edits->records[i])), (uint32_t)i + 1);
    hf_free(old.slots);
    return true;
}

/* Keeps a name; false when memory is out. Names are cut at what a line of a log may hold. */
static bool edits_name_keep(advise_edits *edits, hf_slice name, uint32_t *out)
{
    if (edits->names_count == 0 || edits->names_used + name.size + 2 > REPLAY_NAMES) {
        if (edits->names_count == UINT32_MAX / REPLAY_NAMES ||
            !edits_room(&edits->names, edits->names_count, &edits->names_room,
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
static uint32_t edits_record_of(advise_edits *edits, hf_slice name)
{
    replay_table *table = &edits->by_name;
    if (table->used * 4 >= table->size * 3 && !edits_names_grow(edits))
        return UINT32_MAX;
    name.size = name.size < UINT16_MAX ? name.size : UINT16_MAX;
    uint64_t hash = edits_hash(name);
    for (size_t at = hash & (table->size - 1); table->slots[at] != 0;
         at = (at + 1) & (table->size - 1))
        if (hf_slice_equal(replay_name(edits, &edits->records[table->slots[at] - 1]), name))
            return table->slots[at] - 1;
    uint32_t kept;
    if (!edits_name_keep(edits, name, &kept) ||
        !edits_room(&edits->records, edits->records_count, &edits->records_room,
                    sizeof *edits->records))
        return UINT32_MAX;
    edits->records[edits->records_count] = (replay_record){kept, 0};
    edits_insert(table, hash, (uint32_t)++edits->records_count);
    return (uint32_t)edits->records_count - 1;
}

/* Counts the person, if this is the first time; what is kept of them is never 0. */
static bool edits_meet(advise_edits *edits, uint32_t person)
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
                edits_insert(table, edits_mix(old.slots[i]), old.slots[i]);
        hf_free(old.slots);
    }
    size_t at = edits_mix(person) & (table->size - 1);
    while (table->slots[at] != 0 && table->slots[at] != person)
        at = (at + 1) & (table->size - 1);
    table->used += table->slots[at] == 0;
    table->slots[at] = person;
    return true;
}

/* ---- open edits ---- */

static bool edits_is_live(const advise_edits *edits, const replay_edit *edit)
{
    uint32_t since = edit->end != 0 ? edit->end : edit->open;
    return edits->last < since + ADVISE_EDIT_SECONDS_MAX;
}

/* Makes room by forgetting what is over, and by growing. */
static bool edits_open_grow(advise_edits *edits)
{
    replay_table old = edits->open;
    size_t live = 0;
    for (size_t i = 0; i < old.size; i++)
        live += old.slots[i] != 0 && edits_is_live(edits, replay_at(edits, old.slots[i] - 1));
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
        if (edit != NULL && edits_is_live(edits, edit))
            edits_insert(&edits->open, edits_open_hash(edit->record, edit->person), old.slots[i]);
    }
    hf_free(old.slots);
    return true;
}

/* The slot of this person's last edit of the record, or an empty one; NULL when memory is out. */
static uint32_t *edits_slot(advise_edits *edits, uint32_t record, uint32_t person)
{
    replay_table *table = &edits->open;
    if (table->used * 2 >= table->size && !edits_open_grow(edits))
        return NULL;
    size_t at = edits_open_hash(record, person) & (table->size - 1);
    for (; table->slots[at] != 0; at = (at + 1) & (table->size - 1)) {
        const replay_edit *edit = replay_at(edits, table->slots[at] - 1);
        if (edit->record == record && edit->person == person)
            break;
    }
    return &table->slots[at];
}

static hf_status edits_add(advise_edits *edits, uint32_t *slot, replay_edit edit, hf_error *err)
{
    if (edits->count == REPLAY_EDITS_MAX)
        return hf_fail(err, HF_TOO_LARGE, "The log has more than %zu edits; give a part of it.",
                       REPLAY_EDITS_MAX);
    if (edits->count == edits->pieces_count * REPLAY_PIECE) {
        if (!edits_room(&edits->pieces, edits->pieces_count, &edits->pieces_room,
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
typedef struct edits_event {
    uint32_t record, person, at;
    uint32_t *slot;
    replay_edit *edit; /* this person's last one, if it still counts */
} edits_event;

static hf_status edits_begin(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                             edits_event *out, hf_error *err)
{
    if (edits->base == 0)
        edits->base = seconds - 86400;
    int64_t since = seconds - edits->base;
    if (since < 1 || since > (int64_t)REPLAY_HOURS_MAX * 3600)
        return hf_fail(
            err, HF_INVALID,
            "The log's times lie more than ten years apart, or go back by more than a day; "
            "give it in order of time.");
    *out = (edits_event){.at = (uint32_t)since, .person = (uint32_t)edits_mix(person)};
    out->person += out->person == 0;
    edits->last = out->at > edits->last ? out->at : edits->last;
    out->record = edits_record_of(edits, record);
    out->slot = out->record == UINT32_MAX ? NULL : edits_slot(edits, out->record, out->person);
    if (out->slot == NULL || !edits_meet(edits, out->person))
        return hf_fail_memory(err);
    out->edit = *out->slot == 0 ? NULL : replay_at(edits, *out->slot - 1);
    if (out->edit != NULL && !edits_is_live(edits, out->edit))
        out->edit = NULL;
    return HF_OK;
}

hf_status advise_edits_open(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                            hf_error *err)
{
    edits_event event;
    hf_status status = edits_begin(edits, record, person, seconds, &event, err);
    if (status != HF_OK)
        return status;
    if (event.edit != NULL && event.edit->end == 0) {
        event.edit->open = event.at; /* the page was loaded anew */
        return HF_OK;
    }
    return edits_add(edits, event.slot, (replay_edit){event.record, event.person, event.at, 0},
                     err);
}

hf_status advise_edits_save(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                            hf_error *err)
{
    edits_event event;
    hf_status status = edits_begin(edits, record, person, seconds, &event, err);
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
    return edits_add(edits, event.slot,
                     (replay_edit){event.record, event.person, event.edit->end, end}, err);
}
