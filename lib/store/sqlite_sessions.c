/* SPDX-License-Identifier: MIT */
/* The SQLite store, S6: rows of sessions, remembered from one batch to the next. Nearly every op
 * names a session, and reading its row costs as much as writing a lock.
 *
 * What is remembered is what was committed, and it counts as long as nobody else has committed. The
 * data version of the writer's connection moves with every commit, its own or another's. It is
 * noted after each batch. If it differs after the next BEGIN, someone else has committed, or a
 * sweep or restore of ours: a new age begins, and the rows of older ages are forgotten. */
#include "base/hash.h"
#include "base/seams.h"
#include "lock/fields.h"
#include "store/sqlite.h"

#include <string.h>

enum { SESSIONS_SLOTS = 4096 }; /* a row for each; a newer one takes the place of another */

/* A row with its ends, packed; there is room for as many ends as may be, which stand last. */
struct sqlite_session {
    uint64_t age;
    char id[HF_SESSION_ID_SIZE];
    char packed[];
};

static sqlite_session **sqlite_sessions_slot(sqlite_sessions *all, const char *id)
{
    return &all->slots[hf_hash_bytes(0, id, HF_SESSION_ID_MAX) % SESSIONS_SLOTS];
}

void sqlite_sessions_done(sqlite_sessions *all)
{
    for (size_t i = 0; all->slots != NULL && i < SESSIONS_SLOTS; i++)
        hf_free(all->slots[i]);
    hf_free(all->slots);
    *all = (sqlite_sessions){0};
}

/* The row of that session, if it is remembered. */
static sqlite_session *sqlite_sessions_find(sqlite_sessions *all, const char *id)
{
    sqlite_session *known = *sqlite_sessions_slot(all, id);
    return known != NULL && known->age == all->age && memcmp(known->id, id, sizeof known->id) == 0
               ? known
               : NULL;
}

static void sqlite_sessions_forget(sqlite_sessions *all, const char *id)
{
    sqlite_session *known = sqlite_sessions_find(all, id);
    if (known != NULL)
        known->age = all->age - 1;
}

/* ---- recalling ---- */

static void sqlite_sessions_fill(sqlite_session *from, hf_session_row *row)
{
    hf_unpack(&hf_session_fields, SQLITE_SESSION_COLUMNS, from->packed, row);
    row->loaded_expires_us = row->expires_us;
    row->loaded_ended_us = row->ended_us;
    row->stored = row->present = row->loaded = true;
    row->origin = from;
}

void sqlite_sessions_recall(sqlite_sessions *all, hf_db *db, hf_rows *rows)
{
    uint32_t version = hf_db_data_version(db);
    all->age += version != all->version;
    all->version = version;
    for (hf_session_row *row = rows->sessions; all->slots != NULL && row != NULL; row = row->next) {
        sqlite_session *known = sqlite_sessions_find(all, row->id);
        if (known != NULL)
            sqlite_sessions_fill(known, row);
    }
}

/* ---- remembering ---- */

static sqlite_session *sqlite_sessions_new(const hf_session_row *row, uint64_t age)
{
    size_t size = hf_packed_size(&hf_session_fields, SQLITE_SESSION_COLUMNS, row);
    sqlite_session *out = hf_alloc(sizeof *out + size - row->ends.text.size + HF_ENDS_TEXT_MAX);
    if (out == NULL)
        return NULL;
    out->age = age;
    memcpy(out->id, row->id, sizeof out->id);
    return out;
}

/* The row goes where another may be. One that was recalled may have had to make way for another
 * row of this batch; its names went with it, so it is not kept. */
static void sqlite_sessions_keep(sqlite_sessions *all, const hf_session_row *row)
{
    bool fits = row->present && row->ends.text.size <= HF_ENDS_TEXT_MAX;
    if (row->origin == NULL) {
        sqlite_session **slot = sqlite_sessions_slot(all, row->id), *old = *slot;
        *slot = fits ? sqlite_sessions_new(row, all->age) : NULL;
        hf_free(old);
    }
    sqlite_session *known = sqlite_sessions_find(all, row->id);
    if (known != NULL && fits)
        hf_pack(&hf_session_fields, SQLITE_SESSION_COLUMNS, row, known->packed);
    else
        sqlite_sessions_forget(all, row->id);
}

/* Whether the table has it otherwise than is remembered. A row that was made in this batch is not
 * remembered; if only its rev was counted up, the table has not changed. */
static bool sqlite_sessions_is_news(const hf_session_row *row)
{
    if (!row->stored)
        return false;
    return row->changed ? sqlite_session_moved(row) || row->ends_changed : row->origin == NULL;
}

void sqlite_sessions_remember(sqlite_sessions *all, hf_db *db, const hf_rows *rows)
{
    if (all->slots == NULL)
        all->slots = hf_alloc(SESSIONS_SLOTS * sizeof(sqlite_session *));
    if (all->slots == NULL)
        return;
    for (const hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        if (sqlite_sessions_is_news(row))
            sqlite_sessions_keep(all, row);
        else if (row->changed && row->origin == NULL)
            sqlite_sessions_forget(all, row->id);
    all->version = hf_db_data_version(db);
}
