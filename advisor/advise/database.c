/* SPDX-License-Identifier: MIT */
/* A few statements, each by itself (templates/measure.sql). */
#include "advise/database.h"

#include "advise/model.h"
#include "advise/template.h"
#include "base/error.h"
#include "db/open.h"
#include "templates/measure.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct database_look {
    hf_db *db;
    const char *table;
    advise_facts facts; /* table, version, modified */
    bool has_version, has_modified, any_column;
} database_look;

static const char *database_sql(const hf_db *db, enum measure_id id)
{
    switch (hf_db_kind_of(db)) {
    case HF_DB_POSTGRES:
        return measure_postgres[id];
    case HF_DB_SQLITE:
        return measure_sqlite[id];
    default:
        return measure_mysql[id];
    }
}

/* Names come from the catalog, or from the user: quoted, with quotes inside doubled. */
static void database_quote(database_look *look, const char *fact, hf_slice name)
{
    hf_db_kind kind = hf_db_kind_of(look->db);
    char quote = kind == HF_DB_MARIADB || kind == HF_DB_MYSQL ? '`' : '"';
    hf_buffer out = {0};
    hf_buffer_print(&out, "%c", quote);
    for (size_t i = 0; i < name.size; i++)
        hf_buffer_print(&out, name.at[i] == quote ? "%c%c" : "%c", name.at[i], quote);
    hf_buffer_print(&out, "%c", quote);
    advise_fact_take(&look->facts, fact, &out);
}

/* Begins a statement, with the table's name as its parameter where it has one. */
static hf_status database_begin(database_look *look, enum measure_id id, hf_stmt **out,
                                hf_error *err)
{
    hf_buffer sql = {0};
    const char *template = database_sql(look->db, id);
    advise_fill(template, &look->facts, &sql);
    hf_status status = sql.failed ? hf_fail_memory(err) : hf_stmt_new(look->db, sql.text, out, err);
    hf_buffer_done(&sql);
    if (status == HF_OK && (strstr(template, "$1") != NULL || strstr(template, "?1") != NULL))
        hf_stmt_text(*out, 1, hf_slice_of(look->table));
    return status;
}

static double database_number(hf_stmt *stmt, int column)
{
    char digits[64];
    hf_slice text = hf_stmt_column_text(stmt, column);
    size_t size = text.size < sizeof digits - 1 ? text.size : sizeof digits - 1;
    memcpy(digits, text.size == 0 ? "" : text.at, size);
    digits[size] = '\0';
    return strtod(digits, NULL);
}

/* The numbers of the one row that a statement answers. *found false: it answers none. */
static hf_status database_ask(database_look *look, enum measure_id id, int from, int count,
                              double *out, bool *found, hf_error *err)
{
    hf_stmt *stmt = NULL;
    hf_status status = database_begin(look, id, &stmt, err);
    *found = false;
    if (status == HF_OK)
        status = hf_stmt_step(stmt, found, err);
    for (int i = 0; status == HF_OK && *found && i < count; i++)
        out[i] = database_number(stmt, from + i);
    hf_stmt_free(stmt);
    return status;
}

/* ---- columns ---- */

static bool database_is_one_of(hf_slice text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == text.size && strncasecmp(*words, text.at, text.size) == 0)
            return true;
    return false;
}

static void database_note_column(database_look *look, hf_slice name, hf_slice type)
{
    static const char *const versions[] = {"version",  "lock_version", "row_version",
                                           "revision", "version_id",   NULL};
    static const char *const times[] = {"modified_at", "updated_at",    "modified",
                                        "changed_at",  "last_modified", NULL};
    bool whole = type.size >= 3 && memmem(type.at, type.size, "int", 3) != NULL;
    look->any_column = true;
    if (!look->has_version && whole && database_is_one_of(name, versions)) {
        look->has_version = true;
        database_quote(look, "version", name);
    }
    if (!look->has_modified && !whole && database_is_one_of(name, times)) {
        look->has_modified = true;
        database_quote(look, "modified", name);
    }
}

static hf_status database_columns(database_look *look, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    hf_status status = database_begin(look, MEASURE_COLUMNS, &stmt, err);
    while (status == HF_OK && row) {
        status = hf_stmt_step(stmt, &row, err);
        if (status == HF_OK && row)
            database_note_column(look, hf_stmt_column_text(stmt, 0), hf_stmt_column_text(stmt, 1));
    }
    hf_stmt_free(stmt);
    if (status == HF_OK && !look->any_column)
        status = hf_fail(err, HF_NOT_FOUND, "There is no table %s in %s; name it with --table.",
                         look->table, hf_db_path(look->db));
    return status;
}

/* ---- figures ---- */

static hf_status database_rows(database_look *look, advise_answers *answers, double *rows,
                               hf_error *err)
{
    bool found = false;
    hf_status status = database_ask(look, MEASURE_ROWS, 0, 1, rows, &found, err);
    if (status == HF_OK && *rows < 1)
        status = hf_fail(err, HF_NOT_FOUND, "The table %s is empty; there is nothing to measure.",
                         look->table);
    if (status == HF_OK)
        advise_set_measured(answers, ADVISE_RECORDS, *rows);
    return status;
}

static hf_status database_skew(database_look *look, double rows, advise_answers *answers,
                               advise_sentences *notes, hf_error *err)
{
    double saves[2] = {0};
    bool found = false;
    if (!look->has_version) {
        advise_say(notes, "%s has no version column, so how its saves are spread is not known.",
                   look->table);
        return HF_OK;
    }
    hf_status status = database_ask(look, MEASURE_SAVES, 0, 2, saves, &found, err);
    if (status != HF_OK)
        return status;
    if (saves[0] < 100) {
        advise_say(notes,
                   "The versions of %s count only %.0f saves: too few to say how they are spread.",
                   look->table, saves[0]);
        return HF_OK;
    }
    double exponent = advise_zipf_fit_meeting(rows, saves[1] / (saves[0] * (saves[0] - 1)));
    advise_set_measured(answers, ADVISE_BUSIEST_TENTH_SHARE, advise_zipf_share(rows, exponent));
    return HF_OK;
}

/* Saves a day by what the server has counted; 0: it has not, or for too short a time. What it
 * refuses is as if it had not. */
static double database_counted(database_look *look)
{
    double counted[2] = {0}, uptime = 0;
    bool found = false, up = false;
    hf_error ignored;
    bool mysql = hf_db_kind_of(look->db) == HF_DB_MARIADB || hf_db_kind_of(look->db) == HF_DB_MYSQL;
    if (database_sql(look->db, MEASURE_UPDATES) == NULL ||
        database_ask(look, MEASURE_UPDATES, 0, mysql ? 1 : 2, counted, &found, &ignored) != HF_OK ||
        !found)
        return 0;
    if (mysql && database_ask(look, MEASURE_UPTIME, 1, 1, &uptime, &up, &ignored) == HF_OK && up)
        counted[1] = uptime;
    return counted[1] >= 86400 ? counted[0] / (counted[1] / 86400) : 0;
}

static hf_status database_rate(database_look *look, advise_answers *answers,
                               advise_sentences *notes, hf_error *err)
{
    double changed = 0, saves = database_counted(look);
    bool found = false, save_known = answers->marks[ADVISE_SAVE_SHARE] != ADVISE_ASSUMED;
    hf_status status = HF_OK;
    if (saves == 0 && look->has_modified) {
        status = database_ask(look, MEASURE_CHANGED, 0, 1, &changed, &found, err);
        saves = changed / 7;
        if (saves > 0)
            advise_say(notes,
                       "%.0f records of %s were changed in the last seven days; one that was saved "
                       "twice counts "
                       "once, so edits_per_day may be more.",
                       changed, look->table);
    }
    if (status != HF_OK)
        return status;
    if (saves == 0) {
        advise_say(notes, "%s does not tell how often %s is saved; give edits_per_day, or a log.",
                   hf_db_path(look->db), look->table);
        return HF_OK;
    }
    /* Counted over all days of the week, for those in which people work. */
    double share = save_known ? answers->numbers[ADVISE_SAVE_SHARE]
                              : advise_questions[ADVISE_SAVE_SHARE].usual;
    double days = answers->marks[ADVISE_DAYS_PER_WEEK] != ADVISE_ASSUMED
                      ? answers->numbers[ADVISE_DAYS_PER_WEEK]
                      : advise_questions[ADVISE_DAYS_PER_WEEK].usual;
    advise_set_measured(answers, ADVISE_EDITS_PER_DAY, saves * 7 / days / share);
    return HF_OK;
}

static hf_status database_measure(database_look *look, advise_answers *answers,
                                  advise_sentences *notes, hf_error *err)
{
    static const int kinds[] = {
        [HF_DB_SQLITE] = ADVISE_SQLITE,
        [HF_DB_POSTGRES] = ADVISE_POSTGRES,
        [HF_DB_MARIADB] = ADVISE_MARIADB,
        [HF_DB_MYSQL] = ADVISE_MYSQL,
    };
    double rows = 0;
    database_quote(look, "table", hf_slice_of(look->table));
    answers->numbers[ADVISE_DATABASE] = kinds[hf_db_kind_of(look->db)];
    answers->marks[ADVISE_DATABASE] = ADVISE_MEASURED;
    hf_status status = database_columns(look, err);
    if (status == HF_OK)
        status = database_rows(look, answers, &rows, err);
    if (status == HF_OK)
        status = database_skew(look, rows, answers, notes, err);
    return status != HF_OK ? status : database_rate(look, answers, notes, err);
}

hf_status advise_database_measure(const char *url, const char *table, advise_answers *answers,
                                  advise_sentences *notes, hf_error *err)
{
    database_look look = {.table = table};
    hf_status status = hf_db_open_url(url, &look.db, err);
    if (status == HF_OK)
        status = database_measure(&look, answers, notes, err);
    hf_db_close(look.db);
    advise_facts_done(&look.facts);
    return status;
}
