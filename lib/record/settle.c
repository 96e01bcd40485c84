/* SPDX-License-Identifier: MIT */
/* After a commit whose end is not known: was it done? What stands in the database gives a sign of
 * every record that the unit writes:
 *
 *   OLD      it still stands at the version that was read: the commit was not done
 *   OTHER    someone else's save stands there, one further: ours can't be below it; not done
 *   DONE     it stands one further, by this user, with what the unit set; it was added; it is gone
 *   ABSENT   what the unit adds is not there: not done, or deleted since
 *   UNKNOWN  others have been there since, and ours may be below
 *   NONE     it says nothing: its root has the version, or only quiet columns were set
 *
 * One OLD or OTHER settles it, for a commit is done whole or not at all: the commit goes on, and
 * its comparison tells what others did. Else one UNKNOWN, or no DONE, leaves it open. */
#include "record/inside.h"

typedef enum settle_sign {
    SETTLE_NONE,
    SETTLE_OLD,
    SETTLE_DONE,
    SETTLE_OTHER,
    SETTLE_ABSENT,
    SETTLE_UNKNOWN,
    SETTLE_SIGNS
} settle_sign;

/* ---- what stands there ---- */

static bool settle_compares(const hf_record *record, size_t i)
{
    const rec_column *column = &record->table->columns[i];
    return record->set[i] && !column->lossy && !column->quiet;
}

static bool settle_has_mine(const hf_record *record)
{
    for (size_t i = 0; i < record->table->count; i++)
        if (settle_compares(record, i) && !rec_same(&record->theirs[i], &record->now[i]))
            return false;
    return true;
}

/* Values of the unit that were not there when it read. */
static bool settle_has_new(const hf_record *record)
{
    for (size_t i = 0; i < record->table->count; i++)
        if (settle_compares(record, i) && !rec_same(&record->now[i], &record->base[i]))
            return true;
    return false;
}

static bool settle_is_user(const hf_record *record, int column)
{
    const hf_field *who = &record->theirs[column];
    return who->kind == HF_FIELD_TEXT && strcmp(who->text, record->unit->user) == 0;
}

static bool settle_says_who(const hf_record *record)
{
    return record->table->stored || (record->there && record->table->by >= 0);
}

/* Who made that version; where nothing says so it may be this user. */
static bool settle_by_user(const hf_record *record)
{
    const rec_table *table = record->table;
    if (table->stored)
        return record->theirs_saved != NULL &&
               strcmp(record->theirs_saved->user, record->unit->user) == 0;
    return !record->there || table->by < 0 || settle_is_user(record, table->by);
}

static bool settle_made_again(const hf_record *record)
{
    int made_at = record->table->made_at;
    return made_at >= 0 && !rec_same(&record->theirs[made_at], &record->base[made_at]);
}

static bool settle_has_version(const hf_record *record)
{
    return record->table->version >= 0 || record->table->stored;
}

/* ---- signs ---- */

static settle_sign settle_look_added(const hf_record *record)
{
    const rec_table *table = record->table;
    if (!record->there)
        return SETTLE_ABSENT;
    if (table->version >= 0 && record->theirs_version != 1)
        return SETTLE_UNKNOWN;
    if (table->made_by >= 0 && !settle_is_user(record, table->made_by))
        return SETTLE_OTHER;
    if (table->by >= 0 && !settle_is_user(record, table->by))
        return table->version >= 0 ? SETTLE_OTHER : SETTLE_UNKNOWN;
    if (settle_has_mine(record))
        return SETTLE_DONE;
    return table->version >= 0 ? SETTLE_OTHER : SETTLE_UNKNOWN;
}

static settle_sign settle_look_removed(const hf_record *record)
{
    if (!record->there)
        return settle_by_user(record) ? SETTLE_DONE : SETTLE_OTHER;
    return settle_has_version(record) && record->theirs_version == record->version &&
                   !settle_made_again(record)
               ? SETTLE_OLD
               : SETTLE_UNKNOWN;
}

/* A root, or what has no root: its version counts every save of it. */
static settle_sign settle_look_root(const hf_record *record)
{
    if (!record->there) /* a set goes with its last member */
        return record->table->set && record->theirs_saved != NULL && settle_by_user(record)
                   ? SETTLE_DONE
                   : SETTLE_UNKNOWN;
    if (!record->moves)
        return SETTLE_NONE;
    if (!settle_has_version(record))
        return settle_has_mine(record) && settle_by_user(record) && settle_has_new(record)
                   ? SETTLE_DONE
                   : SETTLE_NONE;
    if (settle_made_again(record))
        return SETTLE_UNKNOWN;
    if (record->theirs_version == record->version)
        return SETTLE_OLD;
    if (record->theirs_version != record->version + 1)
        return SETTLE_UNKNOWN;
    if (!settle_has_mine(record) || !settle_by_user(record))
        return SETTLE_OTHER;
    return settle_says_who(record) || settle_has_new(record) ? SETTLE_DONE : SETTLE_NONE;
}

/* A member tells something while its root stands where the commit would have left it. */
static settle_sign settle_look_member(hf_record *record)
{
    const hf_record *root = rec_record_root(record);
    if (root->added || root->removed || !root->read || !settle_has_version(root))
        return SETTLE_NONE;
    if (!root->there || root->theirs_version != root->version + 1) {
        bool as_wanted =
            record->there != record->removed && (!record->there || settle_has_mine(record));
        return root->there || as_wanted ? SETTLE_NONE : SETTLE_UNKNOWN;
    }
    if (record->there == record->removed)
        return SETTLE_OTHER;
    if (record->removed)
        return SETTLE_DONE;
    if (!settle_has_mine(record))
        return SETTLE_OTHER;
    return record->added || settle_has_new(record) ? SETTLE_DONE : SETTLE_NONE;
}

static settle_sign settle_look(hf_record *record)
{
    return record->table->parent != NULL ? settle_look_member(record)
           : record->added               ? settle_look_added(record)
           : record->removed             ? settle_look_removed(record)
                                         : settle_look_root(record);
}

/* ---- reading ---- */

/* Reads what the unit wrote, whether it is there or not; waits for whoever is writing it. */
static hf_status settle_read(rec_work *work, hf_record *record, hf_error *err)
{
    const rec_table *table = record->table;
    hf_field key[REC_KEY_MAX];
    rec_key_of(table, record->added ? record->now : record->base, key);
    for (size_t i = 0; i < table->key_count; i++)
        if (key[i].kind == HF_FIELD_NULL)
            return HF_OK; /* the database makes it */
    hf_status status = rec_select_one(work->conn, table, key, REC_UPDATE, &work->unit->arena,
                                      &record->theirs, &record->there, err);
    record->read = status == HF_OK;
    if (record->read && record->there && table->version >= 0)
        record->theirs_version = record->theirs[table->version].number;
    return status;
}

/* After the rows are locked: none of these moves under us. */
static hf_status settle_read_stored(rec_work *work, hf_record *record, hf_error *err)
{
    hf_version version = {0};
    if (!record->table->stored || !record->read || record->added)
        return HF_OK;
    hf_status status = rec_lock_version(work->conn, record->table, record->id, &version, err);
    record->theirs_version = version.number;
    return status == HF_OK
               ? rec_version_keep(&work->unit->arena, &version, &record->theirs_saved, err)
               : status;
}

/* What is there is what the commit wrote. */
static hf_status settle_take(hf_record *record, hf_error *err)
{
    char id[HF_ID_SIZE];
    record->ends = !record->there;
    if (!record->there)
        return HF_OK;
    record->coming = record->theirs;
    record->coming_version = record->theirs_version;
    record->coming_saved = record->theirs_saved;
    hf_status status = rec_key_format(record->table, record->theirs, id, err);
    if (status == HF_OK &&
        (record->coming_id = hf_arena_text(&record->unit->arena, hf_slice_of(id))) == NULL)
        status = hf_fail_memory(err);
    return status;
}

hf_status rec_settle(rec_work *work, bool *done, hf_error *err)
{
    size_t signs[SETTLE_SIGNS] = {0}, unread = 0;
    hf_status status = HF_OK;
    *done = false;
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++) {
        status = settle_read(work, work->writes[i], err);
        unread += !work->writes[i]->read;
    }
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++)
        status = settle_read_stored(work, work->writes[i], err);
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++)
        if (work->writes[i]->read)
            signs[settle_look(work->writes[i])]++;
    if (status != HF_OK)
        return status;
    for (hf_record *it = work->unit->first; it != NULL; it = it->next)
        it->read = false; /* the comparison reads anew */
    bool open = signs[SETTLE_DONE] + signs[SETTLE_UNKNOWN] + unread > 0;
    if (signs[SETTLE_OLD] + signs[SETTLE_OTHER] > 0 || (signs[SETTLE_ABSENT] > 0 && !open)) {
        work->unit->unsure = false;
        return HF_OK;
    }
    if (signs[SETTLE_DONE] == 0 || signs[SETTLE_ABSENT] + signs[SETTLE_UNKNOWN] + unread > 0)
        return hf_fail(err, HF_UNSURE,
                       "Whether the last commit was done can't be told from what is there; look "
                       "at the records.");
    *done = true;
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++)
        status = settle_take(work->writes[i], err);
    return status;
}
