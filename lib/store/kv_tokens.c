/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: tokens. A token is a row; its secret and the request that made it lead
 * to its id. What is not there is compared too: of two that are made with one secret or by one
 * request only one comes to be. */
#include "base/error.h"
#include "store/kv.h"

#include <stdlib.h>

static hf_slice token_secret_key(kv_work *work, const unsigned char *sha256)
{
    char hex[65];
    hf_hex(sha256, 32, hex);
    return KV_KEY(work, "k:", hf_slice_of(hex));
}

/* Tokens by their ids, in an array of the set; one that is not there has no id. */
static hf_token_row *tokens_load(kv_work *work, const hf_slice *ids, size_t count)
{
    hf_token_row *all = kv_alloc(work, &work->rows->arena, (count + 1) * sizeof *all);
    for (size_t i = 0; i < count && all != NULL; i++)
        kv_want(work, KV_TOKEN, &all[i], KV_KEY(work, "t:", ids[i]));
    kv_load_rest(work);
    return all;
}

static hf_token *token_find(kv_work *work, const hf_op *op, hf_token_row **row)
{
    hf_slice id = hf_slice_of(op->token);
    if (op->token == NULL) {
        kv_want(work, KV_PLAIN, &id, token_secret_key(work, op->sha256));
        kv_load_rest(work);
    }
    *row = tokens_load(work, &id, 1);
    return *row == NULL || (*row)->token.id[0] == '\0' ? NULL : &(*row)->token;
}

static bool token_create(kv_work *work, hf_op *op)
{
    hf_token_row same[HF_TOKEN_SAME_MAX], fresh;
    char request[HF_TOKEN_REQUEST_SIZE];
    hf_slice ids[HF_TOKEN_SAME_MAX] = {hf_slice_of(op->token)}, by;
    size_t count = 0;
    hf_token_request(op, request);
    by = KV_KEY(work, "n:", hf_slice_of(request));
    kv_want(work, KV_PLAIN, &ids[1], token_secret_key(work, op->sha256));
    kv_want(work, KV_PLAIN, &ids[2], by);
    kv_load_rest(work);
    const hf_token_row *found = tokens_load(work, ids, HF_TOKEN_SAME_MAX);
    for (size_t i = 0; work->status == HF_OK && i < HF_TOKEN_SAME_MAX; i++)
        if (found[i].token.id[0] != '\0')
            same[count++] = found[i]; /* the same one three times, if it was asked for before */
    if (work->status != HF_OK || !hf_apply_token_create(work->rows, op, &work->batch->arena, same,
                                                        count, work->now_us, &fresh))
        return false;
    hf_slice id = hf_slice_of(fresh.token.id);
    kv_put_row(work, KV_KEY(work, "t:", id), &hf_token_fields, HF_EVERY, &fresh);
    kv_put_text(work, token_secret_key(work, fresh.sha256), id);
    if (request[0] != '\0')
        kv_put_text(work, by, id);
    kv_add_change(work, &work->commit.changes, hf_slice_of("tokens"), id, true);
    return true;
}

/* Of two governing tokens that are revoked at once one stays: each compares the other. */
static bool token_revoke(kv_work *work, hf_op *op)
{
    hf_token_row *row;
    hf_token *token = token_find(work, op, &row);
    bool others = false;
    if (op->keeps_admin) {
        kv_range ids = kv_page(work, hf_slice_of("tokens"), HF_NOTHING, HF_NOTHING, SIZE_MAX);
        const hf_token_row *all = tokens_load(work, ids.members, ids.count);
        for (size_t i = 0; work->status == HF_OK && i < ids.count; i++)
            others |= strcmp(all[i].token.id, op->token) != 0 &&
                      hf_token_governs(&all[i].token, work->now_us);
    }
    if (work->status != HF_OK ||
        !hf_apply_token_revoke(work->rows, op, &work->batch->arena, token, others, work->now_us))
        return false;
    kv_put_row(work, KV_KEY(work, "t:", hf_slice_of(token->id)), &hf_token_fields, HF_EVERY, row);
    return true;
}

static void tokens_list(kv_work *work, hf_op *op)
{
    size_t limit = op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
    hf_slice after = hf_slice_of(op->after == NULL ? NULL : op->after->session);
    kv_range ids = kv_page(work, hf_slice_of("tokens"), after, HF_NOTHING, limit + 1);
    size_t count = op->answer.tokens_count = ids.count > limit ? limit : ids.count;
    const hf_token_row *all = tokens_load(work, ids.members, count);
    hf_token *tokens = kv_alloc(work, work->names, (limit + 1) * sizeof *tokens);
    for (size_t i = 0; work->status == HF_OK && i < count; i++)
        tokens[i] = all[i].token;
    op->answer.tokens = count == 0 ? NULL : tokens;
    if (ids.count > limit && work->status == HF_OK &&
        !hf_answer_more(op, &work->batch->arena, NULL, tokens[limit - 1].id))
        kv_fail_memory(work);
}

void kv_tokens(kv_work *work, hf_op *op)
{
    hf_token_row *row;
    bool save = false;
    if (op->kind == HF_OP_TOKEN_CREATE)
        save = token_create(work, op);
    else if (op->kind == HF_OP_TOKEN_REVOKE)
        save = token_revoke(work, op);
    else if (op->kind == HF_OP_TOKENS)
        tokens_list(work, op);
    else {
        const hf_token *token = token_find(work, op, &row);
        if (work->status == HF_OK)
            hf_apply_token_find(work->rows, op, &work->batch->arena, token);
    }
    if (work->rows->failed)
        kv_fail_memory(work);
    if (save && work->status == HF_OK)
        kv_commit_now(work, op->kind == HF_OP_TOKEN_CREATE);
}
