/* SPDX-License-Identifier: MIT */
/* Callers' tokens: drawing and reading secrets, and the manager's calls. No sentence repeats a
 * secret. */
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "lock/names.h"
#include "manager/manager.h"

#include <holdfast/holdfast.h>
#include <string.h>

/* ---- secrets ---- */

hf_status hf_token_read(const char *secret, hf_token_key *out, hf_error *err)
{
    hf_slice text = hf_slice_of(secret);
    hf_token_key made = {0};
    if (text.size != HF_TOKEN_SECRET || !hf_is_hex(text.at, text.size))
        return hf_fail(err, HF_INVALID,
                       "A token is %d hex digits in lower case, as it was printed once.",
                       HF_TOKEN_SECRET);
    hf_slice_copy(made.secret, sizeof made.secret, text);
    if (!hf_sha256(text.at, text.size, made.sha256))
        return hf_fail_memory(err);
    *out = made;
    hf_secret_wipe(&made, sizeof made);
    return HF_OK;
}

hf_status hf_token_new(hf_token_key *out, hf_error *err)
{
    unsigned char random[HF_TOKEN_SECRET / 2];
    char id[HF_TOKEN_ID_SIZE], secret[HF_TOKEN_SECRET_SIZE];
    if (!hf_seam.random(random, HF_TOKEN_ID_MAX / 2))
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    hf_hex(random, HF_TOKEN_ID_MAX / 2, id);
    if (!hf_seam.random(random, sizeof random))
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    hf_hex(random, sizeof random, secret);
    hf_status status = hf_token_read(secret, out, err);
    if (status == HF_OK)
        memcpy(out->id, id, sizeof out->id);
    hf_secret_wipe(secret, sizeof secret);
    hf_secret_wipe(random, sizeof random);
    return status;
}

void hf_token_clear(hf_token_key *key)
{
    hf_secret_wipe(key, sizeof *key);
}

/* ---- calls ---- */

static hf_status tokens_ask(hf_op_kind kind, hf_batch **batch, hf_op **op, hf_error *err)
{
    hf_status status = hf_batch_new(1, batch, err);
    if (status == HF_OK)
        *op = hf_batch_add(*batch, kind);
    return status;
}

/* Runs a batch whose one op answers a token. */
static hf_status tokens_finish(hf_manager *manager, hf_batch *batch, hf_token *out, bool *lives,
                               hf_error *err)
{
    hf_result *result = NULL;
    hf_status status = hf_finish(manager, batch, &result, err);
    if (status != HF_OK)
        return status;
    const hf_answer *answer = hf_result_answer(result);
    if (out != NULL)
        *out = answer->tokens[0];
    if (lives != NULL)
        *lives = hf_token_lives(&answer->tokens[0], answer->now_us);
    hf_result_free(result);
    return HF_OK;
}

hf_status hf_manager_token_create(hf_manager *manager, const hf_token_options *options,
                                  hf_token_key *out, hf_token *token, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    char request[HF_REQUEST_ID_SIZE];
    hf_token_key key;
    if (options == NULL)
        return hf_fail(err, HF_INVALID, "A token needs a name and roles.");
    hf_status status = hf_token_new(&key, err);
    if (status == HF_OK && !hf_draw_request(request))
        status = hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    if (status == HF_OK)
        status = tokens_ask(HF_OP_TOKEN_CREATE, &batch, &op, err);
    if (status != HF_OK) {
        hf_token_clear(&key);
        return status;
    }
    op->token = key.id;
    op->sha256 = key.sha256;
    op->name = options->name;
    op->roles = options->roles;
    op->users = options->users;
    op->ttl_us = options->ttl_us;
    op->actor = options->actor;
    op->request_id = request;
    status = tokens_finish(manager, batch, token, NULL, err);
    if (status == HF_OK)
        *out = key;
    hf_token_clear(&key);
    return status;
}

hf_status hf_manager_token_find(hf_manager *manager, const char *secret, hf_token *out, bool *lives,
                                hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_token_key key;
    hf_status status = hf_token_read(secret, &key, err);
    if (status == HF_OK)
        status = tokens_ask(HF_OP_TOKEN_FIND, &batch, &op, err);
    if (status != HF_OK)
        return status;
    op->sha256 = key.sha256;
    status = tokens_finish(manager, batch, out, lives, err);
    hf_token_clear(&key);
    return status;
}

hf_status hf_manager_tokens(hf_manager *manager, const hf_list_options *options, hf_result **out,
                            hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_status status = tokens_ask(HF_OP_TOKENS, &batch, &op, err);
    if (status != HF_OK)
        return status;
    if (options != NULL) {
        op->after = &options->after;
        op->limit = options->limit;
    }
    return hf_finish(manager, batch, out, err);
}

hf_status hf_manager_token_revoke(hf_manager *manager, const char *id, const char *actor,
                                  hf_token *out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_status status = tokens_ask(HF_OP_TOKEN_REVOKE, &batch, &op, err);
    if (status != HF_OK)
        return status;
    op->token = id;
    op->actor = actor;
    return tokens_finish(manager, batch, out, NULL, err);
}
