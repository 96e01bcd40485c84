/* SPDX-License-Identifier: MIT */
/* Records as JSON, both ways. */
#include "advise/record.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_SIZE_MAX   ((size_t)1 << 20)
#define RECORD_VALUES_MAX 4096

static const char *const record_strategies[] = {"optimistic",  "pessimistic", "both",
                                                "transaction", "lease",       NULL};
static const char *const record_lock_types[] = {"none", "exclusive-write", "exclusive-read",
                                                "read-write", NULL};
static const char *const record_groups[] = {"none", "shared-version", "root-lock", NULL};
static const char *const record_points[] = {"none",
                                            "single-entry-point",
                                            "abstract-mapper",
                                            "mapper-decorator",
                                            "repository-base-class",
                                            "orm-hook",
                                            NULL};
static const char *const record_storages[] = {"none",   "postgres", "mariadb", "mysql",
                                              "sqlite", "redis",    "server",  NULL};
static const char *const record_isolations[] = {"none", "read-committed", "repeatable-read",
                                                "serializable", NULL};
static const char *const record_certainties[] = {"low", "fair", "high", NULL};

const char *advise_strategy_name(advise_strategy strategy)
{
    return record_strategies[strategy];
}

const char *advise_lock_type_name(advise_lock_type type)
{
    return record_lock_types[type];
}

const char *advise_group_name(advise_group group)
{
    return record_groups[group];
}

const char *advise_point_name(advise_point point)
{
    return record_points[point];
}

const char *advise_storage_name(advise_storage storage)
{
    return record_storages[storage];
}

const char *advise_isolation_name(advise_isolation isolation)
{
    return record_isolations[isolation];
}

const char *advise_certainty_name(advise_certainty certainty)
{
    return record_certainties[certainty];
}

/* ---- writing ---- */

static void record_put_number(hf_json *json, const char *name, double value)
{
    hf_json_name(json, name);
    hf_json_number(json, value);
}

static void record_put_sentences(hf_json *json, const char *name, const advise_sentences *list)
{
    hf_json_name(json, name);
    hf_json_begin(json, '[');
    for (size_t i = 0; i < list->count; i++)
        hf_json_text(json, list->items[i]);
    hf_json_end(json, ']');
}

static void record_put_names(hf_json *json, const advise_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        hf_json_text(json, names->items[i]);
}

static void record_write_group(const advise_record *record, hf_json *json)
{
    hf_json_name(json, "aggregate");
    hf_json_begin(json, '{');
    hf_json_put_bool(json, "required", record->group_required);
    hf_json_name(json, "scope");
    hf_json_begin(json, '[');
    if (record->group_required) {
        hf_json_text(json, record->answers.entities.items[0]);
        record_put_names(json, &record->answers.grouped_with);
    }
    hf_json_end(json, ']');
    hf_json_put_text(json, "implementation", advise_group_name(record->group));
    hf_json_end(json, '}');
    hf_json_name(json, "implicit");
    hf_json_begin(json, '{');
    hf_json_put_bool(json, "required", record->implicit_required);
    hf_json_put_text(json, "integration", advise_point_name(record->point));
    hf_json_end(json, '}');
}

/* An object with a member for each policy. */
static void record_write_policies(hf_json *json, const char *name, const double *values)
{
    hf_json_name(json, name);
    hf_json_begin(json, '{');
    for (int p = 0; p < ADVISE_POLICIES; p++)
        record_put_number(json, advise_policy_name((advise_policy)p), values[p]);
    hf_json_end(json, '}');
}

static void record_write_bills(const advise_record *record, hf_json *json)
{
    if (!record->billed) {
        hf_json_put_text(json, "bills", NULL);
        return;
    }
    record_write_policies(json, "bills", record->bills.hours);
    record_write_policies(json, "spread", record->bills.spread);
    record_write_policies(json, "collisions", record->bills.count);
    record_put_number(json, "opens", record->bills.opens);
    record_put_number(json, "saves", record->bills.saves);
    record_put_number(json, "building", record->building);
}

static void record_write_thresholds(const advise_record *record, hf_json *json)
{
    hf_json_name(json, "thresholds");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < record->thresholds_count; i++) {
        const advise_threshold *t = &record->thresholds[i];
        hf_json_begin(json, '{');
        hf_json_put_text(json, "measure", t->measure);
        record_put_number(json, t->above ? "above" : "below", t->value);
        hf_json_put_text(json, "instead", advise_strategy_name(t->instead));
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
}

static void record_write_replay(const advise_replay *replay, hf_json *json)
{
    const advise_tally *t = &replay->tally;
    hf_json_name(json, "replay");
    hf_json_begin(json, '{');
    record_put_number(json, "days", replay->days);
    record_put_number(json, "opens", replay->opens);
    record_put_number(json, "saves", replay->saves);
    record_put_number(json, "people", replay->people);
    record_put_number(json, "records", replay->records);
    const double counts[] = {t->overwritten, t->conflicts, t->refused};
    const double hours[] = {t->overwritten_minutes / 60, t->conflict_minutes / 60,
                            t->refused_minutes / 60};
    record_write_policies(json, "collisions", counts);
    record_write_policies(json, "hours", hours);
    hf_json_name(json, "top");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < replay->top_count; i++) {
        hf_json_begin(json, '{');
        hf_json_put_text(json, "record", replay->top[i].record);
        record_put_number(json, "opens", replay->top[i].opens);
        record_put_number(json, "refused", replay->top[i].refused);
        record_put_number(json, "conflicts", replay->top[i].conflicts);
        record_put_number(json, "hours", replay->top[i].hours);
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
    hf_json_end(json, '}');
}

/* Adds the JSON with a line for each member of the record and of its objects, so that a change
 * shows as a line. */
static void record_break_lines(const char *json, hf_buffer *out)
{
    int depth = 0;
    bool quoted = false;
    for (const char *at = json; *at != '\0'; at++) {
        if (*at == '\\') {
            hf_buffer_add(out, at++, 2); /* an escaped quote ends no text */
            continue;
        }
        quoted = quoted != (*at == '"');
        depth += quoted ? 0 : (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        hf_buffer_add(out, at, 1);
        if (!quoted && *at == ',' && depth <= 2)
            hf_buffer_print(out, "\n%*s", depth, "");
    }
}

void advise_record_json(const advise_record *record, hf_buffer *out)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    record_put_number(&json, "holdfast_record", ADVISE_RECORD_VERSION);
    hf_json_put_text(&json, "date", record->date);
    hf_json_put_int(&json, "seed", (int64_t)record->seed);
    hf_json_name(&json, "entities");
    hf_json_begin(&json, '[');
    record_put_names(&json, &record->answers.entities);
    hf_json_end(&json, ']');
    hf_json_put_text(&json, "strategy", advise_strategy_name(record->strategy));
    hf_json_put_text(
        &json, "lock_type",
        record->lock_type == ADVISE_NO_LOCK ? NULL : advise_lock_type_name(record->lock_type));
    record_write_group(record, &json);
    hf_json_put_text(&json, "storage", advise_storage_name(record->storage));
    hf_json_put_text(
        &json, "isolation",
        record->isolation == ADVISE_NO_ISOLATION ? NULL : advise_isolation_name(record->isolation));
    hf_json_name(&json, "timeouts");
    hf_json_begin(&json, '{');
    record_put_number(&json, "lock_minutes", record->lock_minutes);
    record_put_number(&json, "idle_minutes", record->idle_minutes);
    record_put_number(&json, "beat_seconds", record->beat_seconds);
    hf_json_end(&json, '}');
    record_write_bills(record, &json);
    hf_json_put_text(&json, "certainty", advise_certainty_name(record->certainty));
    hf_json_put_bool(&json, "by_heuristic", record->by_heuristic);
    record_put_sentences(&json, "reasons", &record->reasons);
    record_put_sentences(&json, "doubts", &record->doubts);
    record_write_thresholds(record, &json);
    record_put_sentences(&json, "warnings", &record->warnings);
    hf_json_name(&json, "answers");
    advise_answers_write(&record->answers, &json);
    if (record->replayed)
        record_write_replay(&record->replay, &json);
    hf_json_end(&json, '}');
    out->failed = out->failed || json.out.failed;
    record_break_lines(json.out.text == NULL ? "" : json.out.text, out);
    hf_buffer_done(&json.out);
}

/* ---- reading ---- */

#define RECORD_MARKER "```json\n{\"holdfast_record\":"

/* The JSON of a record in Markdown, or all of the text. */
static hf_slice record_find_json(const char *text, size_t size)
{
    const char *marker = memmem(text, size, RECORD_MARKER, sizeof RECORD_MARKER - 1);
    if (marker == NULL)
        return (hf_slice){text, size};
    marker += strlen("```json\n");
    size_t left = size - (size_t)(marker - text);
    const char *end = memmem(marker, left, "\n```", 4);
    return (hf_slice){marker, end == NULL ? left : (size_t)(end - marker)};
}

static hf_status record_parse(const char *what, const char *text, size_t size, hf_arena *arena,
                              hf_json_value **out, hf_error *err)
{
    hf_slice json = record_find_json(text, size);
    size_t blank = 0;
    while (blank < json.size && strchr(" \t\r\n", json.at[blank]) != NULL && json.at[blank] != '\0')
        blank++;
    if (blank == json.size)
        return hf_fail(err, HF_INVALID, "%s is empty.", what);
    if (json.at[blank] != '{')
        return hf_fail(err, HF_INVALID,
                       "%s is neither JSON nor a record that 'holdfast advise' wrote.", what);
    hf_json_source source = {what, json.at, json.size, RECORD_SIZE_MAX, RECORD_VALUES_MAX};
    return hf_json_parse(&source, arena, out, err);
}

/* Is it a record, of this version? */
static hf_status record_check_version(const hf_json_value *object, hf_error *err)
{
    const hf_json_value *version = hf_json_field(object, "holdfast_record");
    if (version->type != HF_JSON_WHOLE)
        return hf_fail(err, HF_INVALID,
                       "The record's version (holdfast_record) is not a whole number.");
    if (version->whole != ADVISE_RECORD_VERSION)
        return hf_fail(err, HF_INVALID,
                       "The record is of version %lld, and this program knows version %d; use the "
                       "holdfast that wrote "
                       "it, or make it anew with 'holdfast advise'.",
                       (long long)version->whole, ADVISE_RECORD_VERSION);
    return HF_OK;
}

hf_status advise_answers_parse(const char *text, size_t size, advise_answers *out, hf_error *err)
{
    hf_arena arena = {0};
    hf_json_value *object = NULL;
    hf_status status = record_parse("The answers file", text, size, &arena, &object, err);
    if (status == HF_OK && hf_json_field(object, "holdfast_record") != NULL)
        status = record_check_version(object, err);
    if (status == HF_OK) {
        const hf_json_value *inside = hf_json_field(object, "answers");
        if (inside != NULL && inside->type != HF_JSON_OBJECT)
            status = hf_fail(err, HF_INVALID, "\"answers\" is not an object of answers.");
        else
            status = advise_answers_read(inside != NULL ? inside : object, out, err);
    }
    hf_arena_done(&arena);
    return status;
}

/* The index of a word field among `names`. A field that is missing or null is the first. */
static hf_status record_word(const hf_json_value *object, const char *name,
                             const char *const *names, bool needed, int *out, hf_error *err)
{
    const hf_json_value *value = hf_json_field(object, name);
    *out = 0;
    if (!needed && (value == NULL || value->type == HF_JSON_NULL))
        return HF_OK;
    for (int i = 0; value != NULL && value->type == HF_JSON_TEXT && names[i] != NULL; i++) {
        if (strcmp(names[i], value->text.at) == 0) {
            *out = i;
            return HF_OK;
        }
    }
    return hf_fail(err, HF_INVALID,
                   "The record's %s %s; make the record anew with 'holdfast advise'.", name,
                   value == NULL ? "is missing" : "is none that this program knows");
}

static double record_number(const hf_json_value *object, const char *name)
{
    const hf_json_value *value = object == NULL ? NULL : hf_json_field(object, name);
    char digits[64];
    if (value == NULL || (value->type != HF_JSON_WHOLE && value->type != HF_JSON_FRACTION))
        return 0;
    snprintf(digits, sizeof digits, "%.*s", (int)(value->text.size < 60 ? value->text.size : 60),
             value->text.at);
    return strtod(digits, NULL);
}

static bool record_flag(const hf_json_value *object, const char *name)
{
    const hf_json_value *value = hf_json_field(object, name);
    return value != NULL && value->type == HF_JSON_BOOL && value->yes;
}

static const hf_json_value *record_object(const hf_json_value *object, const char *name)
{
    static const hf_json_value nothing = {.type = HF_JSON_OBJECT};
    const hf_json_value *value = hf_json_field(object, name);
    return value != NULL && value->type == HF_JSON_OBJECT ? value : &nothing;
}

static void record_sentences(const hf_json_value *object, const char *name, advise_sentences *out)
{
    const hf_json_value *list = hf_json_field(object, name);
    for (const hf_json_value *item = list == NULL ? NULL : list->inside; item != NULL;
         item = item->next)
        if (item->type == HF_JSON_TEXT)
            advise_say(out, "%s", item->text.at);
}

static void record_policies(const hf_json_value *object, const char *name, double *out)
{
    for (int p = 0; p < ADVISE_POLICIES; p++)
        out[p] = record_number(record_object(object, name), advise_policy_name((advise_policy)p));
}

static hf_status record_read_threshold(const hf_json_value *item, advise_threshold *out,
                                       hf_error *err)
{
    const hf_json_value *measure = hf_json_field(item, "measure");
    int instead = 0;
    out->above = hf_json_field(item, "above") != NULL;
    const hf_json_value *bound = hf_json_field(item, out->above ? "above" : "below");
    if (measure == NULL || measure->type != HF_JSON_TEXT ||
        measure->text.size >= sizeof out->measure || bound == NULL ||
        (bound->type != HF_JSON_WHOLE && bound->type != HF_JSON_FRACTION))
        return hf_fail(err, HF_INVALID,
                       "A threshold of the record has no measure, or no number above or below "
                       "which it is crossed.");
    snprintf(out->measure, sizeof out->measure, "%s", measure->text.at);
    out->value = record_number(item, out->above ? "above" : "below");
    hf_status status = record_word(item, "instead", record_strategies, true, &instead, err);
    out->instead = (advise_strategy)instead;
    return status;
}

static hf_status record_read_thresholds(const hf_json_value *object, advise_record *out,
                                        hf_error *err)
{
    const hf_json_value *list = hf_json_field(object, "thresholds");
    hf_status status = HF_OK;
    for (const hf_json_value *item = list == NULL ? NULL : list->inside;
         status == HF_OK && item != NULL; item = item->next) {
        if (item->type != HF_JSON_OBJECT || out->thresholds_count == ADVISE_THRESHOLDS_MAX)
            return hf_fail(err, HF_INVALID,
                           "The record's thresholds are not a list of at most %d objects.",
                           ADVISE_THRESHOLDS_MAX);
        status = record_read_threshold(item, &out->thresholds[out->thresholds_count++], err);
    }
    return status;
}

static hf_status record_read_words(const hf_json_value *object, advise_record *out, hf_error *err)
{
    const hf_json_value *group = record_object(object, "aggregate"),
                        *implicit = record_object(object, "implicit");
    int words[7] = {0};
    const struct {
        const hf_json_value *object;
        const char *name;
        const char *const *names;
        bool needed;
    } rows[] = {
        {object, "strategy", record_strategies, true},
        {object, "lock_type", record_lock_types, false},
        {group, "implementation", record_groups, false},
        {implicit, "integration", record_points, false},
        {object, "storage", record_storages, false},
        {object, "isolation", record_isolations, false},
        {object, "certainty", record_certainties, false},
    };
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < sizeof rows / sizeof *rows; i++)
        status = record_word(rows[i].object, rows[i].name, rows[i].names, rows[i].needed, &words[i],
                             err);
    out->strategy = (advise_strategy)words[0];
    out->lock_type = (advise_lock_type)words[1];
    out->group = (advise_group)words[2];
    out->point = (advise_point)words[3];
    out->storage = (advise_storage)words[4];
    out->isolation = (advise_isolation)words[5];
    out->certainty = (advise_certainty)words[6];
    out->group_required = record_flag(group, "required");
    out->implicit_required = record_flag(implicit, "required");
    return status;
}

static bool record_timeouts_fit(const advise_record *record)
{
    double lock = record->lock_minutes, idle = record->idle_minutes, beat = record->beat_seconds;
    return lock >= 1 && lock <= 527040 && lock == floor(lock) && idle >= 1 && idle <= lock &&
           idle == floor(idle) && beat > 0 && beat < idle * 60;
}

/* What the plan relies on, since people may have changed the file. */
static hf_status record_check(const advise_record *record, hf_error *err)
{
    if (advise_uses_locks(record) && record->lock_type == ADVISE_NO_LOCK)
        return hf_fail(err, HF_INVALID,
                       "The record's strategy is %s, but it has no lock_type; name one.",
                       advise_strategy_name(record->strategy));
    if (advise_uses_locks(record) && record->storage == ADVISE_NO_STORAGE)
        return hf_fail(err, HF_INVALID,
                       "The record's strategy is %s, but it has no storage; name one.",
                       advise_strategy_name(record->strategy));
    if (advise_uses_locks(record) && !record_timeouts_fit(record))
        return hf_fail(
            err, HF_INVALID,
            "The record's timeouts make no sense: lock_minutes is a whole number from 1 to "
            "527040, idle_minutes a whole number from 1 to that, and beat_seconds less than "
            "the idle time.");
    return HF_OK;
}

static hf_status record_read(const hf_json_value *object, advise_record *out, hf_error *err)
{
    const hf_json_value *date = hf_json_field(object, "date"),
                        *answers = hf_json_field(object, "answers");
    const hf_json_value *timeouts = record_object(object, "timeouts");
    if (hf_json_field(object, "holdfast_record") == NULL)
        return hf_fail(err, HF_INVALID,
                       "This is no decision record; 'holdfast advise' writes one, and takes "
                       "answers by --answers.");
    hf_status status = record_check_version(object, err);
    if (status == HF_OK && (answers == NULL || answers->type != HF_JSON_OBJECT))
        status = hf_fail(err, HF_INVALID,
                         "The record has no answers; make it anew with 'holdfast advise'.");
    if (status == HF_OK)
        status = advise_answers_read(answers, &out->answers, err);
    if (status == HF_OK)
        status = record_read_words(object, out, err);
    if (status == HF_OK)
        status = record_read_thresholds(object, out, err);
    if (status != HF_OK)
        return status;
    advise_answers_complete(&out->answers);
    if (date != NULL && date->type == HF_JSON_TEXT)
        snprintf(out->date, sizeof out->date, "%.10s", date->text.at);
    const hf_json_value *seed = hf_json_field(object, "seed");
    bool seeded = seed != NULL && seed->type == HF_JSON_WHOLE && seed->whole > 0;
    out->seed = seeded ? (uint64_t)seed->whole : ADVISE_SEED;
    out->lock_minutes = record_number(timeouts, "lock_minutes");
    out->idle_minutes = record_number(timeouts, "idle_minutes");
    out->beat_seconds = record_number(timeouts, "beat_seconds");
    out->by_heuristic = record_flag(object, "by_heuristic");
    out->billed = record_object(object, "bills")->count > 0;
    record_policies(object, "bills", out->bills.hours);
    record_policies(object, "spread", out->bills.spread);
    record_policies(object, "collisions", out->bills.count);
    out->bills.opens = record_number(object, "opens");
    out->bills.saves = record_number(object, "saves");
    out->building = record_number(object, "building");
    record_sentences(object, "reasons", &out->reasons);
    record_sentences(object, "doubts", &out->doubts);
    record_sentences(object, "warnings", &out->warnings);
    return record_check(out, err);
}

hf_status advise_record_read(const char *text, size_t size, advise_record *out, hf_error *err)
{
    hf_arena arena = {0};
    hf_json_value *object = NULL;
    *out = (advise_record){0};
    hf_status status = record_parse("The record", text, size, &arena, &object, err);
    if (status == HF_OK)
        status = record_read(object, out, err);
    hf_arena_done(&arena);
    return status;
}
