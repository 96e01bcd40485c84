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
#include "store/sqlite.h"

#include <string.h>

enum { SESSIONS_SLOTS = 4096 }; /* a row for each; a newer one takes the place of another */

/* A row with its ends. Its texts stand behind it; there is room for as many ends as may be. */
struct sqlite_session {
    uint64_t age;
    char id[HF_SESSION_ID_SIZE];
    unsigned char key_sha256[32];
    hf_slice user, name, caller, request;
    int64_t idle_us, opened_us, expires_us, ended_us, rev;
    size_t names, ends; /* how many bytes of the texts are those four; and of the ends */
    char texts[];
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
    memcpy(row->key_sha256, from->key_sha256, sizeof row->key_sha256);
    row->user = from->user;
    row->name = from->name;
    row->caller = from->caller;
    row->request = from->request;
    row->ends.text = (hf_slice){from->texts + from->names, from->ends};
    row->idle_us = from->idle_us;
    row->opened_us = from->opened_us;
    row->expires_us = row->loaded_expires_us = from->expires_us;
    row->ended_us = row->loaded_ended_us = from->ended_us;
    row->rev = from->rev;
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

static hf_slice sqlite_sessions_copy(sqlite_session *known, hf_slice text)
{
    char *copy = known->texts + known->names;
    if (text.at == NULL)
        return HF_NOTHING;
    memcpy(copy, text.at, text.size);
    known->names += text.size;
    return (hf_slice){copy, text.size};
}

static sqlite_session *sqlite_sessions_new(const hf_session_row *row, uint64_t age)
{
    size_t names = row->user.size + row->name.size + row->caller.size + row->request.size;
    sqlite_session *out = hf_alloc(sizeof *out + names + HF_ENDS_TEXT_MAX);
    if (out == NULL)
        return NULL;
    out->age = age;
    memcpy(out->id, row->id, sizeof out->id);
    memcpy(out->key_sha256, row->key_sha256, sizeof out->key_sha256);
    out->user = sqlite_sessions_copy(out, row->user);
    out->name = sqlite_sessions_copy(out, row->name);
    out->caller = sqlite_sessions_copy(out, row->caller);
    out->request = sqlite_sessions_copy(out, row->request);
    out->idle_us = row->idle_us;
    out->opened_us = row->opened_us;
    return out;
}

/* Takes over what a batch may change in a row. */
static void sqlite_sessions_update(sqlite_session *known, const hf_session_row *row)
{
    hf_slice ends = row->ends.text;
    if (ends.size > 0 && ends.at != known->texts + known->names)
        memcpy(known->texts + known->names, ends.at, ends.size);
    known->ends = ends.size;
    known->expires_us = row->expires_us;
    known->ended_us = row->ended_us;
    known->rev = row->rev;
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
        sqlite_sessions_update(known, row);
    else
        sqlite_sessions_forget(all, row->id);
}

/* Whether the table has it otherwise than is remembered. A row that was loaded without its ends, or
 * made in this batch, is not remembered; if only its rev was counted up, the table has not
 * changed. */
static bool sqlite_sessions_is_news(const hf_session_row *row)
{
    if (!row->stored || (row->origin == NULL && !row->wants_ends))
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
