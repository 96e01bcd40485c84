/* SPDX-License-Identifier: MIT */
/* Filling the tables and keeping them within their bounds. */
#include "server/access/authenticate_inside.h"

#include "base/digest.h"
#include "base/seams.h"

#include <string.h>

_Static_assert(AUTH_CACHE_NAME_SIZE == HF_TOKEN_ID_MAX && AUTH_CACHE_NAME_SIZE == HF_SESSION_ID_MAX,
               "all names are as long");

/* An entry is the first member of each. */
static void auth_cache_drop(lru *table, lru_entry *entry, size_t size)
{
    if (entry == NULL)
        return;
    lru_remove(table, entry);
    hf_secret_wipe(entry, size);
    hf_free(entry);
}

static void auth_cache_bound(lru *table, size_t most, size_t size)
{
    while (table->count > most)
        auth_cache_drop(table, table->oldest, size);
}

bool auth_cache_init(auth_cache *k, size_t tokens_max, size_t nothing_max, size_t sessions_max)
{
    *k = (auth_cache){
        .tokens_max = tokens_max, .nothing_max = nothing_max, .sessions_max = sessions_max};
    return lru_init(&k->tokens, tokens_max) && lru_init(&k->nothing, nothing_max) &&
           lru_init(&k->sessions, sessions_max);
}

void auth_cache_done(auth_cache *k)
{
    auth_cache_bound(&k->tokens, 0, sizeof(auth_cache_token));
    auth_cache_bound(&k->nothing, 0, sizeof(auth_cache_nothing));
    auth_cache_bound(&k->sessions, 0, sizeof(auth_cache_session));
    lru_done(&k->tokens);
    lru_done(&k->nothing);
    lru_done(&k->sessions);
}

void *auth_cache_find(lru *table, auth_cache_name by, const void *name)
{
    lru_entry *entry = lru_find(table, (unsigned char)by, name, AUTH_CACHE_NAME_SIZE);
    if (entry != NULL)
        lru_use(table, entry);
    return entry;
}

void auth_cache_token_forget(auth_cache *k, auth_cache_name by, const void *name)
{
    auth_cache_drop(&k->tokens, auth_cache_find(&k->tokens, by, name), sizeof(auth_cache_token));
    auth_cache_drop(&k->nothing, auth_cache_find(&k->nothing, by, name),
                    sizeof(auth_cache_nothing));
}

void auth_cache_session_forget(auth_cache *k, const char *id)
{
    auth_cache_drop(&k->sessions, auth_cache_find(&k->sessions, 0, id), sizeof(auth_cache_session));
}

void auth_cache_token_forget_all(auth_cache *k, const char *id)
{
    for (lru_entry *entry = k->tokens.newest, *older; entry != NULL; entry = older) {
        older = entry->older;
        if (strcmp(((auth_cache_token *)entry)->token.id, id) == 0)
            auth_cache_drop(&k->tokens, entry, sizeof(auth_cache_token));
    }
}

void auth_cache_token_keep(auth_cache *k, auth_cache_name by, const void *name,
                           const auth_cache_token *token)
{
    auth_cache_token_forget(k, by, name);
    auth_cache_token *fresh = hf_alloc(sizeof *fresh);
    if (fresh == NULL)
        return;
    *fresh = *token;
    lru_add(&k->tokens, &fresh->entry, (unsigned char)by, name, AUTH_CACHE_NAME_SIZE);
    auth_cache_bound(&k->tokens, k->tokens_max, sizeof *fresh);
}

void auth_cache_nothing_keep(auth_cache *k, auth_cache_name by, const void *name, int64_t asked_us,
                             int64_t answered_us)
{
    auth_cache_token_forget(k, by, name);
    auth_cache_nothing *fresh = hf_alloc(sizeof *fresh);
    if (fresh == NULL)
        return;
    fresh->asked_us = asked_us;
    fresh->answered_us = answered_us;
    lru_add(&k->nothing, &fresh->entry, (unsigned char)by, name, AUTH_CACHE_NAME_SIZE);
    auth_cache_bound(&k->nothing, k->nothing_max, sizeof *fresh);
}

void auth_cache_session_keep(auth_cache *k, const hf_credentials *session,
                             const hf_session_info *info, int64_t asked_us)
{
    size_t size = strnlen(info->user, sizeof info->user - 1);
    auth_cache_session_forget(k, session->id);
    auth_cache_session *fresh = hf_alloc(sizeof *fresh + size + 1);
    if (fresh == NULL)
        return;
    fresh->asked_us = asked_us;
    memcpy(fresh->key_sha256, session->key_sha256, sizeof fresh->key_sha256);
    memcpy(fresh->opener, info->token, sizeof fresh->opener);
    memcpy(fresh->user, info->user, size);
    lru_add(&k->sessions, &fresh->entry, 0, session->id, AUTH_CACHE_NAME_SIZE);
    auth_cache_bound(&k->sessions, k->sessions_max, sizeof *fresh);
}
