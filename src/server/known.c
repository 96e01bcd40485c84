/* SPDX-License-Identifier: MIT */
/* Filling the tables and keeping them within their bounds. */
#include "server/known.h"

#include "base/digest.h"
#include "base/seams.h"

#include <string.h>

_Static_assert(KNOWN_NAME_SIZE == HF_TOKEN_ID_MAX && KNOWN_NAME_SIZE == HF_SESSION_ID_MAX,
               "all names are as long");

/* An entry is the first member of each. */
static void known_drop(recent *table, recent_entry *entry, size_t size)
{
    if (entry == NULL)
        return;
    recent_remove(table, entry);
    hf_secret_wipe(entry, size);
    hf_free(entry);
}

static void known_bound(recent *table, size_t most, size_t size)
{
    while (table->count > most)
        known_drop(table, table->oldest, size);
}

bool known_init(known_tables *k, size_t tokens_max, size_t nothing_max, size_t sessions_max)
{
    *k = (known_tables){
        .tokens_max = tokens_max, .nothing_max = nothing_max, .sessions_max = sessions_max};
    return recent_init(&k->tokens, tokens_max) && recent_init(&k->nothing, nothing_max) &&
           recent_init(&k->sessions, sessions_max);
}

void known_done(known_tables *k)
{
    known_bound(&k->tokens, 0, sizeof(known_token));
    known_bound(&k->nothing, 0, sizeof(known_nothing));
    known_bound(&k->sessions, 0, sizeof(known_session));
    recent_done(&k->tokens);
    recent_done(&k->nothing);
    recent_done(&k->sessions);
}

static void *known_find(recent *table, unsigned char kind, const void *name)
{
    recent_entry *entry = recent_find(table, kind, name, KNOWN_NAME_SIZE);
    if (entry != NULL)
        recent_use(table, entry);
    return entry;
}

known_token *known_token_find(known_tables *k, known_name by, const void *name)
{
    return known_find(&k->tokens, (unsigned char)by, name);
}

known_nothing *known_nothing_find(known_tables *k, known_name by, const void *name)
{
    return known_find(&k->nothing, (unsigned char)by, name);
}

known_session *known_session_find(known_tables *k, const char *id)
{
    return known_find(&k->sessions, 0, id);
}

void known_token_forget(known_tables *k, known_name by, const void *name)
{
    known_drop(&k->tokens, known_find(&k->tokens, (unsigned char)by, name), sizeof(known_token));
    known_drop(&k->nothing, known_find(&k->nothing, (unsigned char)by, name),
               sizeof(known_nothing));
}

void known_session_forget(known_tables *k, const char *id)
{
    known_drop(&k->sessions, known_find(&k->sessions, 0, id), sizeof(known_session));
}

void known_token_forget_all(known_tables *k, const char *id)
{
    for (recent_entry *entry = k->tokens.newest, *older; entry != NULL; entry = older) {
        older = entry->older;
        if (strcmp(((known_token *)entry)->token.id, id) == 0)
            known_drop(&k->tokens, entry, sizeof(known_token));
    }
}

void known_token_keep(known_tables *k, known_name by, const void *name, const known_token *token)
{
    known_token_forget(k, by, name);
    known_token *fresh = hf_alloc(sizeof *fresh);
    if (fresh == NULL)
        return;
    *fresh = *token;
    recent_add(&k->tokens, &fresh->entry, (unsigned char)by, name, KNOWN_NAME_SIZE);
    known_bound(&k->tokens, k->tokens_max, sizeof *fresh);
}

void known_nothing_keep(known_tables *k, known_name by, const void *name, int64_t asked_us,
                        int64_t answered_us)
{
    known_token_forget(k, by, name);
    known_nothing *fresh = hf_alloc(sizeof *fresh);
    if (fresh == NULL)
        return;
    fresh->asked_us = asked_us;
    fresh->answered_us = answered_us;
    recent_add(&k->nothing, &fresh->entry, (unsigned char)by, name, KNOWN_NAME_SIZE);
    known_bound(&k->nothing, k->nothing_max, sizeof *fresh);
}

void known_session_keep(known_tables *k, const hf_credentials *session, const hf_session_info *info,
                        int64_t asked_us)
{
    size_t size = strnlen(info->user, sizeof info->user - 1);
    known_session_forget(k, session->id);
    known_session *fresh = hf_alloc(sizeof *fresh + size + 1);
    if (fresh == NULL)
        return;
    fresh->asked_us = asked_us;
    memcpy(fresh->key_sha256, session->key_sha256, sizeof fresh->key_sha256);
    memcpy(fresh->opener, info->token, sizeof fresh->opener);
    memcpy(fresh->user, info->user, size);
    recent_add(&k->sessions, &fresh->entry, 0, session->id, KNOWN_NAME_SIZE);
    known_bound(&k->sessions, k->sessions_max, sizeof *fresh);
}
