/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: saving what changed. Rows become texts; what a row had in sets when it
 * was loaded is compared with what it has now; and all of it is committed at once, or nothing. */
#include "sql/fields_fingerprint.h"
#include "store/kv.h"

#include <assert.h>
#include <stdlib.h>

/* ---- what is to be written ---- */

void kv_put_text(kv_work *work, hf_slice key, hf_slice value)
{
    kv_commit *to = &work->commit;
    to->puts = kv_grow(work, &work->rows->arena, to->puts, to->puts_count, sizeof *to->puts);
    if (to->puts != NULL)
        to->puts[to->puts_count++] = (kv_put){key, value};
}

/* The text in conn->text, in memory of the set. */
static hf_slice save_text(kv_work *work)
{
    hf_buffer *text = &work->conn->text;
    hf_slice out = HF_NOTHING;
    if (text->failed ||
        !hf_arena_copy(&work->rows->arena, (hf_slice){text->text, text->size}, &out))
        kv_fail_memory(work);
    text->size = 0;
    text->failed = text->full = false;
    return out;
}

void kv_put_row(kv_work *work, hf_slice key, const hf_row_fields *of, unsigned mask,
                const void *row)
{
    kv_write(&work->conn->text, of, mask, row);
    kv_put_text(work, key, save_text(work));
}

/* Both lists are in the same order, but for what changed. */
static void save_entries(kv_work *work, const kv_changes *had, const kv_changes *has)
{
    kv_changes *to = &work->commit.changes;
    size_t at = 0, tried;
    for (size_t i = 0; i < has->count; i++) {
        for (tried = 0; tried < had->count; tried++, at++) {
            at = at == had->count ? 0 : at;
            if (!had->all[at].enters && hf_slice_equal(had->all[at].member, has->all[i].member) &&
                hf_slice_equal(had->all[at].set, has->all[i].set))
                break;
        }
        if (tried < had->count)
            had->all[at++].enters = true; /* it stays */
        else
            kv_add_change(work, to, has->all[i].set, has->all[i].member, true);
    }
    for (size_t i = 0; i < had->count; i++)
        if (!had->all[i].enters)
            kv_add_change(work, to, had->all[i].set, had->all[i].member, false);
}

/* ---- rows ---- */

static bool resource_changed(const hf_resource_row *row)
{
    bool changed = row->changed;
    for (const hf_lock_row *lock = row->locks; lock != NULL && !changed; lock = lock->next)
        changed = lock->changed;
    for (const hf_request_row *it = row->requests; it != NULL && !changed; it = it->next)
        changed = it->changed;
    return changed && (row->present || row->stored);
}

static void save_resource(kv_work *work, hf_resource_row *row)
{
    kv_changes has = {0};
    hf_slice text = HF_NOTHING;
    if (row->present) {
        if (row->stored)
            row->rev++; /* every change moves it */
        else if (row->rev <= 0)
            row->rev = row->fence > 0 ? row->fence : work->now_us;
        kv_write_resource(&work->conn->text, row);
        text = save_text(work);
        kv_resource_entries(work, row, &has);
    }
    kv_put_text(work, kv_resource_key(work, row), text);
    save_entries(work, &((kv_get *)row->origin)->had, &has);
    for (const hf_save_row *past = row->past; past != NULL; past = past->next) {
        char digits[KV_TIME_SIZE + 1];
        if (!past->changed || !past->present)
            continue;
        hf_slice name = KV_MEMBER(work, row->type, row->id, past->request);
        kv_put_row(work, KV_KEY(work, "p:", name), &hf_save_fields, HF_REST, past);
        kv_add_change(work, &work->commit.changes, hf_slice_of("covered"),
                      KV_MEMBER(work, kv_digits(digits, past->covered_us), name), true);
    }
}

/* All that a session lost; without a line it goes. */
static void save_lost(kv_work *work, const hf_session_row *row)
{
    hf_buffer *text = &work->conn->text;
    bool changed = false, stored = false;
    for (const hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next) {
        changed |= lost->changed && (lost->present || lost->stored);
        assert(row->fresh != NULL || !changed); /* it was read */
        stored |= lost->stored;
    }
    for (const hf_lost_row *lost = changed && row->present ? row->lost : NULL; lost != NULL;
         lost = lost->next) {
        if (!lost->present)
            continue;
        if (text->size > 0)
            hf_buffer_add(text, "\n", 1);
        kv_write(text, &hf_lost_fields, KV_ALL_BUT_KEY, lost);
    }
    if (text->size > 0)
        kv_put_text(work, KV_KEY(work, "l:", kv_id(row)), save_text(work));
    else if (stored && (changed || !row->present))
        kv_put_text(work, KV_KEY(work, "l:", kv_id(row)), HF_NOTHING);
}

static void save_session(kv_work *work, const hf_session_row *row)
{
    kv_changes has = {0};
    hf_slice text = HF_NOTHING;
    if (row->present) {
        kv_write_session(&work->conn->text, row);
        text = save_text(work);
        kv_session_entries(work, row, &has);
    }
    kv_put_text(work, KV_KEY(work, "s:", kv_id(row)), text);
    if (row->request.size > 0 && row->present != row->stored)
        kv_put_text(work, KV_KEY(work, "o:", row->request), row->present ? kv_id(row) : HF_NOTHING);
    save_entries(work, &((kv_get *)row->origin)->had, &has);
}

void kv_save_rows(kv_work *work)
{
    for (hf_resource_row *row = work->rows->resources; row != NULL && work->status == HF_OK;
         row = row->next)
        if (resource_changed(row))
            save_resource(work, row);
    for (hf_session_row *row = work->rows->sessions; row != NULL && work->status == HF_OK;
         row = row->next) {
        if (row->changed && (row->present || row->stored))
            save_session(work, row);
        if (row->lost != NULL)
            save_lost(work, row);
    }
}

/* ---- the commit ---- */

/* V2: the earliest bound of what was loaded, by the server's clock; 0: none. */
int64_t kv_deadline(const kv_work *work)
{
    int64_t least = INT64_MAX, now_us = work->now_us;
    for (const hf_session_row *row = work->rows->sessions; row != NULL; row = row->next)
        if (row->stored && row->ended_us == 0 && row->expires_us > now_us)
            least = row->expires_us < least ? row->expires_us : least;
    for (const hf_resource_row *row = work->rows->resources; row != NULL; row = row->next)
        for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
            if (lock->stored && lock->ends_us > now_us)
                least = lock->ends_us < least ? lock->ends_us : least;
    return least == INT64_MAX || work->store->base.clock_frozen
               ? 0
               : least - work->store->base.clock_us;
}

/* By where their names are: what all sessions have in common has one, and what one holds, too. */
static int change_compare(const void *a, const void *b)
{
    const kv_change *x = a, *y = b;
    uintptr_t here = (uintptr_t)x->set.at, there = (uintptr_t)y->set.at;
    return x->enters != y->enters ? y->enters - x->enters : (here > there) - (here < there);
}

void kv_commit_now(kv_work *work, bool grows)
{
    kv_commit *it = &work->commit;
    hf_rows *rows = work->rows;
    if (work->gets != NULL && work->gets->kind == KV_WHOSE && work->gets->value.at == NULL)
        kv_put_text(work, work->gets->key,
                    KV_KEY(work, KV_SCHEMA, hf_slice_of(hf_fields_fingerprint)));
    it->grows = grows;
    it->floor = rows->floor_raised ? rows->fence_floor : 0;
    /* The lowest fence that a row can have got which was not there: the next after the floor that
     * was read, or the time. */
    it->lowest = 0;
    for (const hf_resource_row *row = rows->resources; row != NULL && it->lowest == 0;
         row = row->next)
        if (row->changed && !row->stored)
            it->lowest = work->floor >= work->now_us ? work->floor + 1 : work->now_us;
    it->events_count = rows->events_count;
    it->events = kv_alloc(work, &rows->arena, (rows->events_count + 1) * sizeof *it->events);
    for (size_t i = 0; i < rows->events_count && work->status == HF_OK; i++) {
        rows->events[i].at_us = work->now_us;
        kv_write(&work->conn->text, &hf_event_fields, HF_EVERY, &rows->events[i]);
        it->events[i] = save_text(work);
    }
    if (it->changes.count > 1)
        qsort(it->changes.all, it->changes.count, sizeof *it->changes.all, change_compare);
    work->fresh = NULL;
    work->fresh_count = work->fresh_at = 0;
    hf_arena_reset(&work->conn->fresh);
    work->conflict = false;
    if (work->status == HF_OK)
        work->store->driver->commit(work);
    if (!work->conflict || !work->settled) /* ranges would have to be read again */
        work->fresh_count = 0;
}

void kv_save(kv_work *work)
{
    bool grows = false;
    kv_save_rows(work);
    if (work->status != HF_OK || (work->commit.puts_count == 0 && work->commit.changes.count == 0 &&
                                  work->rows->events_count == 0 && !work->rows->floor_raised))
        return;
    for (size_t i = 0; i < work->batch->count; i++)
        grows |=
            hf_op_grows(work->batch->ops[i].kind) && work->batch->ops[i].answer.status == HF_OK;
    kv_commit_now(work, grows);
}
