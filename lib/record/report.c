/* SPDX-License-Identifier: MIT */
/* What came of a commit, for a person: who changed what, column by column. */
#include "record/inside.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const char *const report_kinds[] = {
    [HF_CLASH_CHANGED] = "changed",
    [HF_CLASH_DELETED] = "deleted",
    [HF_CLASH_THERE] = "there",
    [HF_CLASH_PREMISE] = "premise",
};

hf_report *rec_report_new(void)
{
    hf_report *report = hf_alloc(sizeof *report);
    if (report != NULL)
        report->arena.least = 512; /* mostly nothing is reported */
    return report;
}

void hf_report_free(hf_report *report)
{
    if (report == NULL)
        return;
    hf_arena_done(&report->arena);
    hf_free(report);
}

size_t hf_report_count(const hf_report *report)
{
    return report == NULL ? 0 : report->count;
}

const hf_clash *hf_report_at(const hf_report *report, size_t index)
{
    return index < hf_report_count(report) ? report->conflicts[index] : NULL;
}

hf_clash *rec_report_add(hf_report *report, hf_clash_kind kind, const char *resource)
{
    if (report->count == report->room) {
        size_t room = report->room == 0 ? 8 : report->room * 2;
        hf_clash **more = hf_arena_alloc(&report->arena, room * sizeof *more);
        if (more == NULL)
            return NULL;
        if (report->count > 0)
            memcpy(more, report->conflicts, report->count * sizeof *more);
        report->conflicts = more;
        report->room = room;
    }
    hf_clash *conflict = hf_arena_alloc(&report->arena, sizeof *conflict);
    if (conflict == NULL)
        return NULL;
    conflict->kind = kind;
    hf_slice_copy(conflict->resource, sizeof conflict->resource, hf_slice_of(resource));
    report->conflicts[report->count++] = conflict;
    return conflict;
}

bool rec_report_copy(hf_arena *arena, const hf_field *from, hf_field *out)
{
    *out = *from;
    if (from->kind != HF_FIELD_TEXT && from->kind != HF_FIELD_BYTES)
        return true;
    char *copy = hf_arena_alloc(arena, from->size + 1);
    if (copy == NULL)
        return false;
    if (from->size > 0)
        memcpy(copy, from->text, from->size);
    out->text = copy;
    return true;
}

/* What holdfast keeps by itself is told by the conflict, not as a column. */
static bool report_shows(const rec_table *table, size_t i)
{
    int at = (int)i;
    return at != table->version && at != table->by && at != table->at;
}

static bool report_differs(const hf_record *record, size_t i)
{
    return record->set[i] || (record->there && record->theirs != NULL &&
                              !rec_same(&record->theirs[i], &record->base[i]));
}

bool rec_report_differences(hf_report *report, hf_clash *conflict, const hf_record *record)
{
    const rec_table *table = record->table;
    size_t more = 0;
    static const hf_field none = {.kind = HF_FIELD_NULL};
    for (size_t i = 0; i < table->count; i++)
        more += report_shows(table, i) && report_differs(record, i);
    if (more == 0)
        return true;
    hf_difference *list =
        hf_arena_alloc(&report->arena, (conflict->columns_count + more) * sizeof *list);
    if (list == NULL)
        return false;
    if (conflict->columns_count > 0)
        memcpy(list, conflict->columns, conflict->columns_count * sizeof *list);
    bool good = true;
    for (size_t i = 0; i < table->count; i++) {
        if (!report_shows(table, i) || !report_differs(record, i))
            continue;
        hf_difference *it = &list[conflict->columns_count++];
        rec_record_name(record, it->resource);
        if (it->resource[0] == '\0')
            hf_slice_copy(it->resource, sizeof it->resource, hf_slice_of(table->type));
        it->column = hf_arena_text(&report->arena, hf_slice_of(table->columns[i].name));
        good = it->column != NULL && rec_report_copy(&report->arena, &record->base[i], &it->base) &&
               rec_report_copy(&report->arena, &record->now[i], &it->mine) &&
               rec_report_copy(&report->arena, record->theirs == NULL ? &none : &record->theirs[i],
                               &it->theirs) &&
               good;
    }
    conflict->columns = list;
    return good;
}

/* "14:02 UTC", or with the date when that is another day. */
static void report_when(int64_t at_us, char *out, size_t size)
{
    time_t at = (time_t)(at_us / 1000000), now = (time_t)(hf_seam.wall_us() / 1000000);
    struct tm then, today;
    gmtime_r(&at, &then);
    gmtime_r(&now, &today);
    bool same = then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
    strftime(out, size, same ? " at %H:%M UTC" : " at %Y-%m-%d %H:%M UTC", &then);
}

void rec_report_what(const hf_clash *conflict, hf_clash_kind kind, char *out, size_t size)
{
    char by[HF_TEXT_SIZE + 4] = "", when[40] = "", versions[96] = "";
    if (conflict->by[0] != '\0')
        snprintf(by, sizeof by, " by %s", conflict->by);
    if (conflict->at_us > 0)
        report_when(conflict->at_us, when, sizeof when);
    if (conflict->actual > 0 && kind == HF_CLASH_CHANGED)
        snprintf(versions, sizeof versions,
                 " (you read version %" PRId64 ", it is now %" PRId64 ")", conflict->expected,
                 conflict->actual);
    snprintf(out, size, "was %s%s%s%s", report_kinds[kind], by, when, versions);
}

void rec_report_sentence(hf_clash *conflict, const char *why)
{
    char what[HF_TEXT_SIZE + 160];
    if (conflict->kind == HF_CLASH_PREMISE || conflict->kind == HF_CLASH_THERE)
        snprintf(conflict->message, sizeof conflict->message, "%s", why);
    else {
        rec_report_what(conflict, conflict->kind, what, sizeof what);
        snprintf(conflict->message, sizeof conflict->message, "%s %s.", conflict->resource, what);
    }
    hf_text_show(conflict->message, sizeof conflict->message);
}

hf_status rec_report_there(rec_work *work, const char *type, const char *id, hf_error *err)
{
    char name[HF_RESOURCE_SIZE], why[HF_MESSAGE_SIZE];
    snprintf(name, sizeof name, "%s%s%s", type, id == NULL ? "" : "/", id == NULL ? "" : id);
    snprintf(why, sizeof why,
             "A record of %s with the same key, or the same value where there may be one, is "
             "there already.",
             type);
    hf_clash *conflict = rec_report_add(work->report, HF_CLASH_THERE, name);
    if (conflict == NULL)
        return hf_fail_memory(err);
    rec_report_sentence(conflict, why);
    return HF_STALE;
}

/* ---- JSON ---- */

static void report_put(hf_json *json, const char *name, const hf_field *value)
{
    hf_json_name(json, name);
    switch (value->kind) {
    case HF_FIELD_NULL:
        hf_json_text(json, NULL);
        break;
    case HF_FIELD_INT:
        hf_json_int(json, value->number);
        break;
    case HF_FIELD_REAL:
        hf_json_number(json, value->real);
        break;
    default: {
        hf_buffer text = {0};
        rec_field_print(&text, value);
        hf_json_text(json, text.text == NULL ? "" : text.text);
        json->out.failed |= text.failed;
        hf_buffer_done(&text);
    }
    }
}

static void report_put_conflict(hf_json *json, const hf_clash *conflict)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "resource", conflict->resource);
    hf_json_put_text(json, "what", report_kinds[conflict->kind]);
    hf_json_put_text(json, "message", conflict->message);
    hf_json_put_int(json, "expected", conflict->expected);
    hf_json_put_int(json, "actual", conflict->actual);
    hf_json_put_text(json, "by", conflict->by[0] == '\0' ? NULL : conflict->by);
    hf_json_put_time(json, "at", conflict->at_us);
    hf_json_name(json, "columns");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < conflict->columns_count; i++) {
        const hf_difference *it = &conflict->columns[i];
        hf_json_begin(json, '{');
        hf_json_put_text(json, "resource", it->resource);
        hf_json_put_text(json, "column", it->column);
        report_put(json, "base", &it->base);
        report_put(json, "mine", &it->mine);
        report_put(json, "theirs", &it->theirs);
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
    hf_json_end(json, '}');
}

char *hf_report_json(const hf_report *report)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "conflicts");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < hf_report_count(report); i++)
        report_put_conflict(&json, report->conflicts[i]);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}
