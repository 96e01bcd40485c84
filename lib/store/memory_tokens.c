/* SPDX-License-Identifier: MIT */
/* The memory store's tokens: a list by id. There are few, and whoever asks often remembers the
 * answer for a while. */
#include "base/seams.h"
#include "store/memory.h"

#include <string.h>

struct mem_token {
    mem_token *next;
    hf_token_row row;
};

void mem_tokens_done(mem_store *store)
{
    for (mem_token *token = store->tokens, *next; token != NULL; token = next) {
        next = token->next;
        hf_free(token);
    }
}

static bool memory_tokens_is_same(const hf_token_row *row, const hf_op *op, const char *request)
{
    return strcmp(row->token.id, op->token) == 0 ||
           memcmp(row->sha256, op->sha256, sizeof row->sha256) == 0 ||
           (request[0] != '\0' && strcmp(row->request, request) == 0);
}

static void memory_tokens_add_events(mem_store *store, int64_t now_us)
{
    for (size_t i = 0; i < store->rows.events_count; i++)
        mem_events_add(&store->events, &store->rows.events[i], now_us);
}

static bool memory_tokens_do_create(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    hf_token_row same[HF_TOKEN_SAME_MAX];
    size_t count = 0;
    char request[HF_TOKEN_REQUEST_SIZE];
    mem_token *fresh = hf_alloc(sizeof *fresh), **at = &store->tokens;
    hf_token_request(op, request);
    for (const mem_token *token = store->tokens; token != NULL && count < HF_TOKEN_SAME_MAX;
         token = token->next)
        if (memory_tokens_is_same(&token->row, op, request))
            same[count++] = token->row;
    if (fresh == NULL ||
        !hf_apply_token_create(&store->rows, op, arena, same, count, now_us, &fresh->row)) {
        bool out_of_memory = fresh == NULL || store->rows.failed;
        hf_free(fresh);
        return !out_of_memory;
    }
    while (*at != NULL && strcmp((*at)->row.token.id, op->token) < 0)
        at = &(*at)->next;
    fresh->next = *at;
    *at = fresh;
    memory_tokens_add_events(store, now_us);
    return true;
}

static bool memory_tokens_do_find(mem_store *store, hf_op *op, hf_arena *arena)
{
    const mem_token *token = store->tokens;
    while (token != NULL && (op->token != NULL ? strcmp(token->row.token.id, op->token)
                                               : memcmp(token->row.sha256, op->sha256,
                                                        sizeof token->row.sha256)) != 0)
        token = token->next;
    hf_apply_token_find(&store->rows, op, arena, token == NULL ? NULL : &token->row.token);
    return !store->rows.failed;
}

static bool memory_tokens_do_revoke(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    mem_token *token = store->tokens;
    while (token != NULL && strcmp(token->row.token.id, op->token) != 0)
        token = token->next;
    hf_token changed = token == NULL ? (hf_token){0} : token->row.token;
    bool others = false;
    for (const mem_token *it = store->tokens; it != NULL; it = it->next)
        others |= it != token && hf_token_governs(&it->row.token, now_us);
    bool save = hf_apply_token_revoke(&store->rows, op, arena, token == NULL ? NULL : &changed,
                                      others, now_us);
    if (save && token != NULL) {
        token->row.token = changed;
        memory_tokens_add_events(store, now_us);
    }
    return !store->rows.failed;
}

static bool memory_tokens_do_tokens(mem_store *store, hf_op *op, hf_arena *arena)
{
    size_t limit = op->limit == 0 ? HF_LIST_DEFAULT : op->limit, count = 0, left = 0;
    const mem_token *from = store->tokens;
    while (from != NULL && op->after != NULL && strcmp(from->row.token.id, op->after->session) <= 0)
        from = from->next;
    for (const mem_token *token = from; token != NULL && left <= limit; token = token->next)
        left++;
    op->answer.tokens_count = left > limit ? limit : left;
    hf_token *tokens =
        left == 0 ? NULL : hf_arena_alloc(arena, op->answer.tokens_count * sizeof *tokens);
    if (tokens == NULL)
        return left == 0;
    for (; count < op->answer.tokens_count; count++, from = from->next)
        tokens[count] = from->row.token;
    op->answer.tokens = tokens;
    return left <= limit || hf_answer_more(op, arena, NULL, tokens[count - 1].id);
}

bool mem_do_token(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    switch (op->kind) {
    case HF_OP_TOKEN_CREATE:
        return memory_tokens_do_create(store, op, arena, now_us);
    case HF_OP_TOKEN_FIND:
        return memory_tokens_do_find(store, op, arena);
    case HF_OP_TOKEN_REVOKE:
        return memory_tokens_do_revoke(store, op, arena, now_us);
    default:
        return memory_tokens_do_tokens(store, op, arena);
    }
}
