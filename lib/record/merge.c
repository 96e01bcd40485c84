/* SPDX-License-Identifier: MIT */
/* Merging: what others have saved is taken over, column by column, by the columns' rules. Only
 * where nothing that was merely read has changed: what the unit sets may depend on it. */
#include "record/inside.h"

#include "record/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* What a column becomes; *good is false where a person has to decide. */
typedef struct merge_column {
    hf_arena *arena;
    const rec_column *column;
    const hf_field *base, *mine, *theirs;
} merge_column;

/* ---- numbers ---- */

static bool merge_number(const hf_field *value, double *out)
{
    char *end = NULL;
    if (value->kind == HF_FIELD_INT)
        *out = (double)value->number;
    else if (value->kind == HF_FIELD_REAL)
        *out = value->real;
    else if (value->kind == HF_FIELD_TEXT && value->size > 0) {
        *out = strtod(value->text, &end);
        return *end == '\0';
    }
    return value->kind == HF_FIELD_INT || value->kind == HF_FIELD_REAL;
}

/* As strcmp; numbers by their size, the rest by bytes. */
static bool merge_order(const merge_column *it, int *out)
{
    double mine = 0, theirs = 0;
    if (it->mine->kind != it->theirs->kind || it->mine->kind == HF_FIELD_NULL)
        return false;
    if (it->mine->kind == HF_FIELD_INT)
        *out = (it->mine->number > it->theirs->number) - (it->mine->number < it->theirs->number);
    else if (it->column->holds == REC_DECIMAL || it->mine->kind == HF_FIELD_REAL) {
        if (!merge_number(it->mine, &mine) || !merge_number(it->theirs, &theirs))
            return false;
        *out = (mine > theirs) - (mine < theirs);
    } else
        *out = hf_slice_compare((hf_slice){it->mine->text, it->mine->size},
                                (hf_slice){it->theirs->text, it->theirs->size});
    return true;
}

/* Decimals of the same scale are whole numbers with a point in them. */
static bool merge_scaled(const hf_field *value, int *scale, int64_t *out)
{
    const char *point = value->kind == HF_FIELD_TEXT ? strchr(value->text, '.') : NULL;
    char digits[24];
    size_t size = 0;
    if (value->kind != HF_FIELD_TEXT || value->size > 18)
        return false;
    *scale = point == NULL ? 0 : (int)strlen(point + 1);
    for (const char *at = value->text; *at != '\0'; at++) {
        if (strchr("0123456789.-+", *at) == NULL)
            return false; /* SQLite writes large ones with an exponent */
        if (*at != '.')
            digits[size++] = *at;
    }
    digits[size] = '\0';
    *out = strtoll(digits, NULL, 10);
    return true;
}

static bool merge_sum_decimal(const merge_column *it, hf_field *out)
{
    int scales[3];
    int64_t base = 0, mine = 0, theirs = 0, sum = 0;
    if (!merge_scaled(it->base, &scales[0], &base) || !merge_scaled(it->mine, &scales[1], &mine) ||
        !merge_scaled(it->theirs, &scales[2], &theirs))
        return false;
    int most = scales[0];
    for (int i = 1; i < 3; i++)
        most = scales[i] > most ? scales[i] : most;
    int64_t *values[] = {&base, &mine, &theirs};
    for (int i = 0; i < 3; i++)
        for (; scales[i] < most; scales[i]++)
            if (__builtin_mul_overflow(*values[i], 10, values[i]))
                return false;
    if (__builtin_sub_overflow(mine, base, &sum) || __builtin_add_overflow(sum, theirs, &sum))
        return false;
    uint64_t size = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum, unit = 1;
    for (int i = 0; i < most; i++)
        unit *= 10;
    char *text = hf_arena_alloc(it->arena, 48);
    if (text == NULL)
        return false;
    int length = snprintf(text, 48, "%s%" PRIu64, sum < 0 ? "-" : "", size / unit);
    if (most > 0)
        length += snprintf(text + length, 48 - (size_t)length, ".%0*" PRIu64, most, size % unit);
    *out = (hf_field){.kind = HF_FIELD_TEXT, .text = text, .size = (size_t)length};
    return true;
}

static bool merge_sum(const merge_column *it, hf_field *out)
{
    int64_t sum = 0;
    if (it->column->holds == REC_DECIMAL)
        return merge_sum_decimal(it, out);
    if (it->base->kind != it->mine->kind || it->base->kind != it->theirs->kind)
        return false;
    if (it->base->kind == HF_FIELD_REAL) {
        *out = HF_REAL(it->theirs->real + (it->mine->real - it->base->real));
        return true;
    }
    if (it->base->kind != HF_FIELD_INT ||
        __builtin_sub_overflow(it->mine->number, it->base->number, &sum) ||
        __builtin_add_overflow(sum, it->theirs->number, &sum) || sum < it->column->least ||
        sum > it->column->most)
        return false;
    *out = HF_NUMBER(sum);
    return true;
}

/* ---- sets of words ---- */

/* The next word between commas, without blanks around it; false at the end. */
static bool merge_word(const char **at, hf_slice *out)
{
    while (**at == ',' || **at == ' ')
        (*at)++;
    size_t size = strcspn(*at, ",");
    *out = (hf_slice){*at, size};
    *at += size;
    while (out->size > 0 && out->at[out->size - 1] == ' ')
        out->size--;
    return size > 0;
}

static bool merge_has(const hf_field *set, hf_slice word)
{
    const char *at = set->kind == HF_FIELD_TEXT ? set->text : "";
    hf_slice it;
    while (merge_word(&at, &it))
        if (hf_slice_equal(it, word))
            return true;
    return false;
}

static bool merge_union(const merge_column *it, hf_field *out)
{
    const hf_field *sides[] = {it->theirs, it->mine};
    hf_buffer text = {0};
    for (int side = 0; side < 2; side++) {
        const char *at = sides[side]->kind == HF_FIELD_TEXT ? sides[side]->text : "";
        hf_slice word;
        while (merge_word(&at, &word)) {
            bool both = merge_has(it->mine, word) && merge_has(it->theirs, word);
            bool known = merge_has(it->base, word);
            if ((both && side == 0) || (!both && !known))
                hf_buffer_print(&text, "%s%.*s", text.size > 0 ? "," : "", (int)word.size, word.at);
        }
    }
    char *copy = text.failed ? NULL : hf_arena_text(it->arena, (hf_slice){text.text, text.size});
    *out = (hf_field){.kind = HF_FIELD_TEXT, .text = copy, .size = text.size};
    hf_buffer_done(&text);
    return copy != NULL;
}

/* ---- a column ---- */

static bool merge_call(const hf_record *record, const merge_column *it, hf_field *out)
{
    hf_field merged = HF_NULL;
    return it->column->rule->call(it->base, it->mine, it->theirs, &merged) &&
           rec_spell(record->unit->tables, record->table, it->column, merged, it->arena, out,
                     NULL) == HF_OK;
}

static hf_merge_rule merge_rule(const merge_column *it)
{
    return it->column->rule == NULL ? HF_MERGE_NEVER : it->column->rule->merge;
}

/* The same value from both sides settles a column, but not what both have added to it. */
static bool merge_agrees(const merge_column *it)
{
    hf_merge_rule rule = merge_rule(it);
    return rule != HF_MERGE_SUM && rule != HF_MERGE_CALL && rec_same(it->theirs, it->mine);
}

/* Both sides have changed it. */
static bool merge_both(const hf_record *record, const merge_column *it, hf_field *out)
{
    int order = 0;
    switch (merge_rule(it)) {
    case HF_MERGE_MINE:
        *out = *it->mine;
        return true;
    case HF_MERGE_THEIRS:
        *out = *it->theirs;
        return true;
    case HF_MERGE_MAX:
    case HF_MERGE_MIN:
        if (!merge_order(it, &order))
            return false;
        *out = (order > 0) == (it->column->rule->merge == HF_MERGE_MAX) ? *it->mine : *it->theirs;
        return true;
    case HF_MERGE_SUM:
        return merge_sum(it, out);
    case HF_MERGE_UNION:
        return merge_union(it, out);
    case HF_MERGE_CALL:
        return merge_call(record, it, out);
    default:
        return false;
    }
}

/* Makes `coming` of a record that the unit sets. False: a person has to decide. */
static bool merge_record(hf_record *record)
{
    const rec_table *table = record->table;
    bool good = true;
    for (size_t i = 0; i < table->count; i++) {
        merge_column it = {&record->unit->arena, &table->columns[i], &record->base[i],
                           &record->now[i], &record->theirs[i]};
        record->coming[i] = record->set[i] ? record->now[i] : record->theirs[i];
        if (record->set[i] && !rec_same(it.theirs, it.base) && !merge_agrees(&it))
            good = merge_both(record, &it, &record->coming[i]) && good;
    }
    return good;
}

/* ---- a unit ---- */

static bool merge_sets(const hf_record *record)
{
    for (size_t i = 0; i < record->table->count; i++)
        if (record->set[i])
            return true;
    return false;
}

static bool merge_kept(const rec_table *table, size_t i)
{
    int at = (int)i;
    return at == table->version || at == table->by || at == table->at || table->columns[i].quiet;
}

static bool merge_untouched(const hf_record *record)
{
    for (size_t i = 0; i < record->table->count; i++)
        if (!merge_kept(record->table, i) && !rec_same(&record->theirs[i], &record->base[i]))
            return false;
    return true;
}

/* What goes with it may be what others have just added or changed: nobody has looked at that. */
static bool merge_loses_members(hf_record *record)
{
    const hf_record *root = rec_record_root(record);
    if (!rec_write_has_members(record->unit->tables, record->table))
        return false;
    return root->table->version >= 0 || root->table->stored
               ? root->theirs_version != root->version
               : !root->there || !merge_untouched(root);
}

/* What only its root was loaded for is not what the person has looked at. */
static bool merge_fits(hf_record *record)
{
    if (!record->there)
        return false;
    if (record->removed)
        return merge_untouched(record) && !merge_loses_members(record);
    return merge_sets(record) ? merge_record(record) : !record->seen || merge_untouched(record);
}

static hf_status merge_look(rec_work *work, hf_record *record, hf_error *err)
{
    hf_arena *own = work->arena;
    work->arena = &record->unit->arena; /* what is read stays */
    hf_status status = rec_check_read(work, record, REC_PLAIN, err);
    work->arena = own;
    if (status != HF_OK)
        return status;
    record->coming =
        hf_arena_alloc(&record->unit->arena, record->table->count * sizeof *record->coming);
    if (record->coming == NULL)
        return hf_fail_memory(err);
    if (record->there)
        memcpy(record->coming, record->theirs, record->table->count * sizeof *record->coming);
    return merge_fits(record) ? HF_OK : rec_check_report(work, record, err);
}

static void merge_take_over(hf_record *record)
{
    const rec_table *table = record->table;
    memcpy(record->base, record->theirs, table->count * sizeof *record->base);
    memcpy(record->now, record->coming, table->count * sizeof *record->now);
    for (size_t i = 0; i < table->count; i++)
        record->set[i] = record->set[i] && !rec_same(&record->now[i], &record->base[i]);
    if (table->version >= 0 || table->stored)
        record->version = record->theirs_version;
    if (record->theirs_saved != NULL)
        record->saved = record->theirs_saved;
}

static hf_status merge_run(rec_work *work, hf_error *err)
{
    hf_status status = HF_OK;
    for (rec_reliance *on = work->unit->reliances; status == HF_OK && on != NULL; on = on->next)
        status = rec_premise_check(work, on, false, err);
    /* a root comes before its members, in the unit as here */
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next)
        if (!it->added && !it->gone)
            status = merge_look(work, it, err);
    if (status == HF_OK)
        status = rec_commit_stale(work, err);
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next)
        if (!it->added && !it->gone)
            merge_take_over(it);
    if (status == HF_OK)
        work->unit->selections = NULL;
    return status;
}

hf_status hf_unit_merge(hf_unit *unit, hf_report **out, hf_error *err)
{
    hf_status status = rec_unit_is_sure(unit, err);
    if (status != HF_OK && out != NULL)
        *out = NULL;
    return status != HF_OK ? status : rec_commit_call(unit, merge_run, out, err);
}
