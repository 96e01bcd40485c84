/* SPDX-License-Identifier: MIT */
/* The store on Redis: tokens. There are few: whoever makes or lists them reads them all. */
#include "base/error.h"
#include "store/redis.h"

#include <stdlib.h>
#include <string.h>

/* The text of one, by the field of a hash; empty: there is none. */
static hf_slice redis_tokens_get(redis_work *work, const char *hash, hf_slice field)
{
    hf_redis_reply reply;
    hf_slice out = HF_NOTHING;
    redis_command(work, "HGET", hash, HF_NOTHING);
    hf_redis_word(&work->conn->command, field);
    if (!redis_call(work, &reply))
        return out;
    if (reply.kind == HF_REDIS_TEXT && !hf_arena_copy(&work->rows->arena, reply.text, &out))
        redis_fail_memory(work);
    return out;
}

static bool redis_tokens_read(hf_token_row *out, hf_slice text)
{
    memset(out, 0, sizeof *out);
    return redis_text_read(REDIS_TEXT_TOKEN, out, &text) && text.size == 0;
}

static bool redis_tokens_find(redis_work *work, const hf_op *op, hf_token_row *out)
{
    char hex[65];
    hf_slice id = hf_slice_of(op->token);
    if (op->token == NULL) {
        hf_hex(op->sha256, 32, hex);
        id = redis_tokens_get(work, "secrets", hf_slice_of(hex));
    }
    hf_slice text = id.size == 0 ? HF_NOTHING : redis_tokens_get(work, "tokens", id);
    if (text.size == 0)
        return false;
    if (!redis_tokens_read(out, text))
        redis_fail_foreign(work, hf_slice_of("tokens"));
    return work->status == HF_OK;
}

/* All of them, in an array of the set. */
static hf_token_row *redis_tokens_all(redis_work *work, size_t *count)
{
    hf_redis_reply reply, part;
    redis_command(work, "HVALS", "tokens", HF_NOTHING);
    *count = 0;
    if (!redis_call(work, &reply))
        return NULL;
    hf_token_row *all = hf_arena_alloc(&work->rows->arena, (reply.count + 1) * sizeof *all);
    if (all == NULL)
        redis_fail_memory(work);
    for (size_t i = 0; i < reply.count && work->status == HF_OK; i++) {
        hf_redis_at(&reply, i, &part);
        if (!redis_tokens_read(&all[(*count)++], part.text))
            redis_fail_foreign(work, hf_slice_of("tokens"));
    }
    return all;
}

/* Writes one, with its event. The rev is that of all tokens: who makes or revokes one meanwhile is
 * noticed. */
static void redis_tokens_save(redis_work *work, const hf_token_row *row, hf_slice rev)
{
    hf_buffer *text = &work->conn->text;
    hf_redis_words *command = &work->conn->command;
    char hex[65];
    hf_hex(row->sha256, 32, hex);
    text->size = 0;
    redis_text_write(REDIS_TEXT_TOKEN, row, text);
    redis_save_begin(work);
    redis_command(work, "HSET", "tokens", HF_NOTHING);
    hf_redis_word(command, hf_slice_of(row->token.id));
    hf_redis_word(command, (hf_slice){text->text, text->size});
    redis_command_end(work);
    redis_command(work, "HSET", "secrets", HF_NOTHING);
    hf_redis_word(command, hf_slice_of(hex));
    hf_redis_word(command, hf_slice_of(row->token.id));
    redis_command_end(work);
    redis_command(work, "SET", "tokens_rev", HF_NOTHING);
    hf_redis_number(command, redis_number_of(rev) + 1);
    redis_command_end(work);
    work->deadline_us = 0;
    redis_save_commit(work, row->token.revoked_us == 0);
}

static bool redis_tokens_is_same(const hf_token_row *row, const hf_op *op, const char *request)
{
    return strcmp(row->token.id, op->token) == 0 ||
           memcmp(row->sha256, op->sha256, sizeof row->sha256) == 0 ||
           (request[0] != '\0' && strcmp(row->request, request) == 0);
}

static void redis_tokens_create(redis_work *work, hf_op *op, hf_slice rev)
{
    hf_token_row same[HF_TOKEN_SAME_MAX], fresh;
    char request[HF_TOKEN_REQUEST_SIZE];
    size_t count, found = 0;
    const hf_token_row *all = redis_tokens_all(work, &count);
    if (work->status != HF_OK)
        return;
    hf_token_request(op, request);
    for (size_t i = 0; i < count && found < HF_TOKEN_SAME_MAX; i++)
        if (redis_tokens_is_same(&all[i], op, request))
            same[found++] = all[i];
    bool save = hf_apply_token_create(work->rows, op, &work->batch->arena, same, found,
                                      work->now_us, &fresh);
    if (work->rows->failed)
        redis_fail_memory(work);
    if (save && work->status == HF_OK)
        redis_tokens_save(work, &fresh, rev);
}

static void redis_tokens_revoke(redis_work *work, hf_op *op, hf_slice rev)
{
    hf_token_row row;
    bool found = redis_tokens_find(work, op, &row), others = false;
    size_t count = 0;
    const hf_token_row *all =
        op->keeps_admin && work->status == HF_OK ? redis_tokens_all(work, &count) : NULL;
    if (work->status != HF_OK)
        return;
    for (size_t i = 0; all != NULL && i < count; i++)
        others |= strcmp(all[i].token.id, op->token) != 0 &&
                  hf_token_governs(&all[i].token, work->now_us);
    bool save = hf_apply_token_revoke(work->rows, op, &work->batch->arena,
                                      found ? &row.token : NULL, others, work->now_us);
    if (work->rows->failed)
        redis_fail_memory(work);
    if (save && work->status == HF_OK)
        redis_tokens_save(work, &row, rev);
}

static int redis_tokens_compare(const void *a, const void *b)
{
    return strcmp(((const hf_token_row *)a)->token.id, ((const hf_token_row *)b)->token.id);
}

static void redis_tokens_list(redis_work *work, hf_op *op)
{
    size_t limit = op->limit == 0 ? HF_LIST_DEFAULT : op->limit, count, from = 0;
    hf_token_row *all = redis_tokens_all(work, &count);
    if (work->status != HF_OK)
        return;
    qsort(all, count, sizeof *all, redis_tokens_compare);
    while (from < count &&
           strcmp(all[from].token.id,
                  (op->after == NULL ? &(const hf_cursor){0} : op->after)->session) <= 0)
        from++;
    op->answer.more = count - from > limit;
    op->answer.tokens_count = op->answer.more ? limit : count - from;
    hf_token *tokens =
        op->answer.tokens_count == 0
            ? NULL
            : hf_arena_alloc(&work->batch->arena, op->answer.tokens_count * sizeof *tokens);
    if (tokens == NULL && op->answer.tokens_count > 0)
        redis_fail_memory(work);
    for (size_t i = 0; tokens != NULL && i < op->answer.tokens_count; i++)
        tokens[i] = all[from + i].token;
    op->answer.tokens = tokens;
    if (op->answer.more && tokens != NULL)
        if (!hf_answer_more(op, &work->batch->arena, NULL, tokens[limit - 1].id))
            redis_fail_memory(work);
}

void redis_tokens(redis_work *work, hf_op *op)
{
    hf_slice rev = HF_NOTHING;
    hf_token_row row;
    bool changes = op->kind == HF_OP_TOKEN_CREATE || op->kind == HF_OP_TOKEN_REVOKE;
    if (changes) { /* before the tokens themselves */
        redis_want(work, REDIS_PLAIN, &rev, "tokens_rev", HF_NOTHING);
        redis_load_rest(work);
    }
    if (work->status != HF_OK)
        return;
    if (op->kind == HF_OP_TOKEN_CREATE) {
        redis_tokens_create(work, op, rev);
    } else if (op->kind == HF_OP_TOKEN_REVOKE) {
        redis_tokens_revoke(work, op, rev);
    } else if (op->kind == HF_OP_TOKEN_FIND) {
        bool found = redis_tokens_find(work, op, &row);
        if (work->status == HF_OK)
            hf_apply_token_find(work->rows, op, &work->batch->arena, found ? &row.token : NULL);
        if (work->rows->failed)
            redis_fail_memory(work);
    } else {
        redis_tokens_list(work, op);
    }
}
