/* SPDX-License-Identifier: MIT */
/* After a commit whose end is not known: was it done? What stands in the database tells, or the
 * answer stays "unsure":
 *
 *   a record still stands where the unit read it          it was not done: commit now
 *   every record stands one further, with what was set    it was done
 *   one stands one further, with other values             others were faster: stale
 *   anything else                                         nobody can tell */
#include "record/inside.h"

typedef enum settle_sign { SETTLE_NONE, SETTLE_OLD, SETTLE_DONE, SETTLE_OTHER } settle_sign;

static bool settle_has_mine(const hf_record *record)
{
    const rec_table *table = record->table;
    for (size_t i = 0; i < table->count; i++)
        if (record->set[i] && !table->columns[i].lossy &&
            !rec_same(&record->theirs[i], &record->now[i]))
            return false;
    if (table->stored && (record->theirs_saved == NULL ||
                          strcmp(record->theirs_saved->user, record->unit->user) != 0))
        return false;
    return table->by < 0 || !record->moves ||
           (record->theirs[table->by].kind == HF_FIELD_TEXT &&
            strcmp(record->theirs[table->by].text, record->unit->user) == 0);
}

static settle_sign settle_look(const hf_record *record)
{
    const rec_table *table = record->table;
    if (record->added)
        return !record->there ? SETTLE_OLD : settle_has_mine(record) ? SETTLE_DONE : SETTLE_OTHER;
    if (record->removed || !record->there)
        return record->there == record->removed ? SETTLE_OTHER
               : record->removed                ? SETTLE_DONE
                                                : SETTLE_OTHER;
    if ((table->version < 0 && !table->stored) || !record->moves)
        return SETTLE_NONE;
    if (record->theirs_version == record->version)
        return SETTLE_OLD;
    return record->theirs_version == record->version + 1 && settle_has_mine(record) ? SETTLE_DONE
                                                                                    : SETTLE_OTHER;
}

/* Reads what the unit wrote, whether it is there or not. */
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
    if (status == HF_OK && record->there && table->version >= 0)
        record->theirs_version = record->theirs[table->version].number;
    if (status != HF_OK || !table->stored || !record->there || record->added)
        return status;
    hf_version version = {0};
    status = rec_lock_version(work->conn, table, record->id, &version, err);
    record->theirs_version = version.number;
    return status == HF_OK
               ? rec_version_keep(&work->unit->arena, &version, &record->theirs_saved, err)
               : status;
}

/* What is there is what the commit wrote. */
static hf_status settle_take(hf_record *record, hf_error *err)
{
    char id[HF_ID_SIZE];
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
    size_t signs[4] = {0}, unread = 0;
    hf_status status = HF_OK;
    *done = false;
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++) {
        hf_record *record = work->writes[i];
        status = settle_read(work, record, err);
        if (status == HF_OK && record->read)
            signs[settle_look(record)]++;
        unread += !record->read;
    }
    if (status != HF_OK)
        return status;
    for (hf_record *it = work->unit->first; it != NULL; it = it->next)
        it->read = false; /* the comparison reads anew */
    if (signs[SETTLE_OLD] > 0 || (signs[SETTLE_OTHER] > 0 && signs[SETTLE_DONE] == 0)) {
        work->unit->unsure = false;
        return HF_OK;
    }
    if (signs[SETTLE_DONE] == 0 || signs[SETTLE_OTHER] > 0 || unread > 0)
        return hf_fail(err, HF_UNSURE,
                       "Whether the last commit was done can't be told from what is there; look "
                       "at the records.");
    *done = true;
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++)
        status = settle_take(work->writes[i], err);
    return status;
}
