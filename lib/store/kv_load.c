/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: loading the rows that a batch names. A round is one round trip: all
 * keys, the sets that are asked for, the time last. What that brings up (the sessions of holders,
 * the resources that a session holds) is read in further rounds. */
#include "base/error.h"
#include "sql/fields_fingerprint.h"
#include "store/kv.h"

#include <stdlib.h>

/* What a range of a batch is about; each is of a session. */
enum {
    ABOUT_LOCKS, /* all that it holds */
    ABOUT_COUNT, /* how many */
    ABOUT_FIRST, /* the one that is over first */
    ABOUT_OVER,  /* those whose bound has come */
    ABOUT_ASKED  /* those that someone asks for */
};

void kv_reset(kv_work *work)
{
    work->gets = work->next_get = NULL;
    work->gets_end = &work->gets;
    work->ranges = NULL;
    work->settled = true;
    work->commit = (kv_commit){0};
}

kv_get *kv_want(kv_work *work, kv_kind kind, void *row, hf_slice key)
{
    kv_get *get = kv_alloc(work, &work->rows->arena, sizeof *get);
    if (get == NULL)
        return NULL;
    *get = (kv_get){.kind = kind, .row = row, .key = key, .compared = true};
    *work->gets_end = get;
    work->gets_end = &get->next;
    if (work->next_get == NULL)
        work->next_get = get;
    return get;
}

static void load_range(kv_work *work, int about, hf_session_row *session, hf_slice before,
                       size_t limit)
{
    kv_range *range = kv_alloc(work, &work->rows->arena, sizeof *range);
    if (range == NULL)
        return;
    *range = (kv_range){.set = KV_KEY(work, about == ABOUT_ASKED ? "a:" : "h:", kv_id(session)),
                        .next = work->ranges,
                        .before = before,
                        .limit = limit,
                        .session = session,
                        .about = about};
    work->ranges = range;
}

/* ---- values ---- */

/* Whose keys these are, and in which form. */
static void schema_check(kv_work *work, const kv_get *get)
{
    const char *path = work->store->driver->path(work->conn), *names = work->store->names;
    hf_slice value = get->value, form = KV_KEY(work, KV_SCHEMA, hf_slice_of(hf_fields_fingerprint));
    bool any = value.size > strlen(KV_SCHEMA) && value.size < 100 &&
               memcmp(value.at, KV_SCHEMA, strlen(KV_SCHEMA)) == 0;
    if (work->status != HF_OK || hf_slice_equal(value, form) || (any && work->store->any_form) ||
        (value.at == NULL && work->store->forgets))
        return;
    if (value.at == NULL)
        work->status = hf_fail(
            work->err, HF_UNAVAILABLE,
            "The keys of the namespace %s are gone from %s: it was emptied, or restarted without "
            "its data. All locks are lost; to begin anew, open the store again.",
            names, path);
    else if (any)
        work->status = hf_fail(
            work->err, HF_UNAVAILABLE,
            "The keys of the namespace %s on %s were made by another version of holdfast, whose "
            "rows have another form; they were left as they are. Use the program that made them, "
            "remove them with 'holdfast uninstall URL --force', or name another namespace.",
            names, path);
    else
        kv_fail_foreign(work, get->key);
}

/* All that a session lost: a line each. */
static bool lost_read(hf_rows *rows, hf_session_row *session, hf_slice value)
{
    while (value.size > 0) {
        hf_lost_row *row = hf_rows_lost_new(rows, session, HF_NOTHING, HF_NOTHING);
        if (row == NULL ||
            !kv_read(rows, kv_cut(&value, '\n'), &hf_lost_fields, KV_ALL_BUT_KEY, row) ||
            row->fence == 0)
            return false;
        row->stored = row->present = true;
        rows->failed |= !hf_rows_want_taker(rows, row);
    }
    return true;
}

/* Puts a value into its row. */
static void load_value(kv_work *work, kv_get *get)
{
    hf_slice value = get->value, first = value;
    hf_session_row *session = get->row;
    hf_resource_row *resource = get->row;
    hf_save_row *past = get->row;
    bool good = true;
    if (get->kind == KV_WHOSE)
        schema_check(work, get);
    if (get->kind == KV_PLAIN && get->row != NULL)
        *(hf_slice *)get->row = value;
    if (value.at == NULL)
        return;
    switch (get->kind) {
    case KV_FLOOR:
        good = kv_number(value, &work->rows->fence_floor);
        work->floor = work->rows->fence_floor;
        break;
    case KV_TYPE:
        good = kv_read(work->rows, value, &hf_type_fields, HF_EVERY, get->row);
        break;
    case KV_OPEN:
        good = value.size == HF_SESSION_ID_MAX;
        ((hf_open_row *)get->row)->session = good ? hf_rows_session(work->rows, value.at) : NULL;
        break;
    case KV_SESSION:
        good = kv_read_session(work->rows, session, value);
        get->begin = kv_cut(&first, '\n').size + 1;
        break;
    case KV_LOST:
        good = value.size > 0 && lost_read(work->rows, session, value);
        break;
    case KV_RESOURCE:
        good = kv_read_resource(work->rows, resource, value);
        get->begin = kv_cut(&first, '\n').size + 1;
        break;
    case KV_PAST:
        past->stored = past->present = true;
        good = kv_read(work->rows, value, &hf_save_fields, HF_REST, past);
        break;
    case KV_TOKEN:
        good = kv_read(work->rows, value, &hf_token_fields, HF_EVERY, get->row);
        break;
    default:
        break;
    }
    if (work->rows->failed)
        kv_fail_memory(work);
    else if (!good)
        kv_fail_foreign(work, get->key);
}

/* ---- what a conflict answered ---- */

void kv_keep(kv_work *work, const kv_get *get, hf_slice value)
{
    hf_arena *arena = &work->conn->fresh;
    work->fresh = kv_grow(work, arena, work->fresh, work->fresh_count, sizeof *work->fresh);
    if (work->fresh == NULL)
        return;
    kv_fresh *it = &work->fresh[work->fresh_count++];
    *it = (kv_fresh){HF_NOTHING, HF_NOTHING};
    if (!hf_arena_copy(arena, get->key, &it->key) ||
        (value.at != NULL && !hf_arena_copy(arena, value, &it->value)))
        kv_fail_memory(work);
}

/* The next try asks for the same keys in the same order. */
static const kv_fresh *fresh_of(kv_work *work, hf_slice key)
{
    for (size_t i = 0; i < work->fresh_count; i++) {
        size_t at = (work->fresh_at + i) % work->fresh_count;
        if (hf_slice_equal(work->fresh[at].key, key)) {
            work->fresh_at = at + 1;
            return &work->fresh[at];
        }
    }
    return NULL;
}

/* ---- ranges ---- */

hf_resource_row *kv_named(kv_work *work, hf_slice member, hf_slice *rest)
{
    hf_slice type = kv_cut(&member, '\1'), id = kv_cut(&member, '\1');
    hf_resource_row *row = hf_rows_resource(work->rows, type, id, true);
    if (row == NULL)
        kv_fail_memory(work);
    if (rest != NULL)
        *rest = member;
    return row;
}

static void load_take_range(kv_work *work, const kv_range *range)
{
    hf_session_row *session = range->session;
    if (range->about == ABOUT_COUNT) {
        session->live_locks = range->count;
        return;
    }
    if (range->about == ABOUT_FIRST) { /* the time is known now */
        hf_slice over = kv_until(work, work->now_us);
        if (range->count > 0 && hf_slice_compare(range->members[0], over) < 0)
            load_range(work, ABOUT_OVER, session, over, SIZE_MAX);
        return;
    }
    if (range->about == ABOUT_OVER)
        session->live_locks -=
            range->count < session->live_locks ? range->count : session->live_locks;
    for (size_t i = 0; i < range->count && work->status == HF_OK; i++) {
        hf_slice member = range->members[i];
        if (range->about != ABOUT_ASKED)
            kv_cut(&member, '\1'); /* the bound */
        hf_resource_row *row = kv_named(work, member, NULL);
        if (row == NULL)
            return;
        row->wanted |= session->wants_anchors;
        row->wants_requests |=
            session->wants_requests || session->wants_anchors || range->about != ABOUT_LOCKS;
    }
}

void kv_read_ranges(kv_work *work, kv_range *ranges)
{
    work->settled = false;
    if (work->status == HF_OK)
        work->store->driver->read(work, ranges);
}

kv_range kv_page(kv_work *work, hf_slice set, hf_slice after, hf_slice before, size_t limit)
{
    kv_range range = {.set = set, .after = after, .before = before, .limit = limit};
    kv_read_ranges(work, &range);
    return range;
}

kv_range *kv_ranges_of(kv_work *work, const hf_slice *ids, size_t count, hf_slice after)
{
    kv_range *all = kv_alloc(work, work->names, (count + 1) * sizeof *all);
    for (size_t i = 0; all != NULL && i < count; i++)
        all[i] = (kv_range){.set = KV_KEY(work, "h:", ids[i]),
                            .after = after,
                            .limit = SIZE_MAX,
                            .next = i + 1 < count ? &all[i + 1] : NULL};
    if (count > 0)
        kv_read_ranges(work, all);
    return all;
}

/* ---- rounds ---- */

/* Whether the batch may note that the session lost something: a lock of it that is forced away, or
 * whose bound has come. */
static bool session_may_lose(const kv_work *work, const hf_session_row *row)
{
    bool may = row->wants_lost;
    for (const hf_lock_row *lock = work->changes ? row->locks : NULL; lock != NULL && !may;
         lock = lock->session_next)
        may = work->forces || lock->ends_us != 0;
    return may;
}

/* What of the set has not been asked for. */
static void load_want_rows(kv_work *work)
{
    for (hf_session_row *row = work->rows->sessions; row != NULL; row = row->next) {
        if (!row->loaded)
            row->origin = kv_want(work, KV_SESSION, row, KV_KEY(work, "s:", kv_id(row)));
        row->loaded = true;
        if (row->fresh == NULL && session_may_lose(work, row))
            row->fresh = kv_want(work, KV_LOST, row, KV_KEY(work, "l:", kv_id(row)));
    }
    for (hf_resource_row *row = work->rows->resources; row != NULL; row = row->next) {
        if (!row->loaded)
            row->origin = kv_want(work, KV_RESOURCE, row, kv_resource_key(work, row));
        row->loaded = true;
    }
}

/* One round trip, or none. With `looks` what was read in earlier rounds is read again: only then is
 * all of it of one moment. Whoever writes compares. */
static void load_round(kv_work *work)
{
    kv_get *from = work->next_get;
    kv_range *ranges = work->ranges;
    bool asks = false, again = true;
    for (kv_get *get = from; get != NULL && work->status == HF_OK; get = get->next) {
        const kv_fresh *fresh = fresh_of(work, get->key);
        get->asked = fresh == NULL;
        asks |= get->asked;
        if (fresh != NULL && fresh->value.at != NULL &&
            !hf_arena_copy(&work->rows->arena, fresh->value, &get->value))
            kv_fail_memory(work);
        if (fresh != NULL)
            load_value(work, get);
    }
    work->next_get = NULL;
    work->ranges = NULL;
    if (!asks && ranges == NULL) { /* the conflict answered it all, with the time */
        if (work->now_us == 0)
            work->now_us = hf_store_now(&work->store->base, work->fresh_us);
        return;
    }
    for (kv_get *get = work->gets; work->looks && asks && get != from; get = get->next)
        get->asked = get->compared;
    work->settled &= ranges == NULL;
    if (work->status == HF_OK)
        work->store->driver->read(work, ranges);
    if (work->status == HF_OK)
        work->now_us = hf_store_now(&work->store->base, work->clock_us);
    for (kv_get *get = work->gets; get != NULL && work->status == HF_OK; get = get->next) {
        again &= get != from;
        if (get->asked && again)
            work->conflict |= !hf_slice_equal(get->now, get->value);
        if (get->asked && !again) {
            get->value = get->now;
            load_value(work, get);
        }
        get->asked = false;
    }
    for (kv_range *range = ranges; range != NULL && work->status == HF_OK; range = range->next)
        load_take_range(work, range);
}

void kv_load_rest(kv_work *work)
{
    load_want_rows(work);
    while (work->status == HF_OK && !work->conflict &&
           (work->next_get != NULL || work->ranges != NULL)) {
        load_round(work);
        load_want_rows(work);
    }
    for (kv_get *get = work->changes ? work->gets : NULL; get != NULL; get = get->next) {
        if (get->kind == KV_SESSION && get->value.at != NULL && !get->noted)
            kv_session_entries(work, get->row, &get->had);
        if (get->kind == KV_RESOURCE && get->value.at != NULL && !get->noted)
            kv_resource_entries(work, get->row, &get->had);
        get->noted = true;
    }
}

void kv_load(kv_work *work)
{
    hf_rows *rows = work->rows;
    kv_want(work, KV_WHOSE, NULL, hf_slice_of("schema"));
    kv_get *floor = kv_want(work, KV_FLOOR, NULL, hf_slice_of("floor"));
    if (floor != NULL)
        floor->compared = false; /* it moves with every release; `lowest` stands for it */
    for (hf_type_row *row = rows->types; row != NULL; row = row->next)
        kv_want(work, KV_TYPE, row, KV_KEY(work, "y:", ((hf_slice){row->type.type, row->size})));
    for (hf_open_row *row = rows->opens; row != NULL; row = row->next)
        kv_want(work, KV_OPEN, row, KV_KEY(work, "o:", row->request));
    for (hf_loss_row *row = rows->losses; row != NULL; row = row->next)
        row->session->wants_lost = true;
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        for (hf_save_row *past = row->past; past != NULL; past = past->next)
            kv_want(work, KV_PAST, past,
                    KV_KEY(work, "p:", KV_MEMBER(work, row->type, row->id, past->request)));
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        if (row->wants_locks)
            load_range(work, ABOUT_LOCKS, row, HF_NOTHING, SIZE_MAX);
        if (row->counts_locks) {
            load_range(work, ABOUT_COUNT, row, HF_NOTHING, 0);
            load_range(work, ABOUT_FIRST, row, HF_NOTHING, 1);
            load_range(work, ABOUT_ASKED, row, HF_NOTHING, SIZE_MAX);
        }
    }
    kv_load_rest(work);
}
