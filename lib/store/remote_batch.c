/* SPDX-License-Identifier: MIT */
/* A batch on its way to a server and back. An op with a flaw can't always be told, and must not be:
 * on the wire an op has only the fields its kind reads, so that the server may find nothing wrong
 * with it. It is told as one that every store refuses, so that what is linked to it is refused in
 * the same order as anywhere else. */
#include "store/remote.h"

#include "base/error.h"
#include "lock/batch.h"
#include "wire/wire.h"

#include <string.h>

/* ---- flaws ---- */

/* The key goes over the wire, and there only a key is taken. */
static bool remote_batch_has_key(const hf_credentials *login)
{
    size_t size = login == NULL ? HF_KEY_MIN : strnlen(login->key, sizeof login->key);
    return login == NULL ||
           (size >= HF_KEY_MIN && size <= HF_KEY_MAX && hf_is_hex(login->key, size));
}

static const char *remote_batch_flaw_of(const hf_op *op, const hf_credentials *checked,
                                        hf_arena *arena, bool *ok)
{
    const char *flaw = hf_op_flaw(op, checked, arena, ok);
    if (flaw != NULL || !*ok || (op->session == checked && checked != NULL))
        return flaw;
    return remote_batch_has_key(op->session) && remote_batch_has_key(op->replaces)
               ? NULL
               : "The session has no key that could be presented to a server.";
}

static hf_status remote_batch_keep_flaw(hf_batch *batch, size_t index, const char *flaw,
                                        const char ***out, hf_error *err)
{
    if (*out == NULL)
        *out = hf_arena_alloc(&batch->arena, batch->count * sizeof **out);
    if (*out == NULL)
        return hf_fail_memory(err);
    (*out)[index] = flaw;
    return HF_OK;
}

hf_status remote_flaws(hf_batch *batch, const char ***out, hf_error *err)
{
    const hf_credentials *checked = NULL;
    hf_status status = HF_OK;
    *out = NULL;
    for (size_t i = 0; i < batch->count && status == HF_OK; i++) {
        const hf_op *op = &batch->ops[i];
        bool ok;
        const char *flaw =
            remote_batch_flaw_of(op, op->replaces == NULL ? checked : NULL, &batch->arena, &ok);
        if (!ok)
            status = hf_fail_memory(err);
        else if (flaw != NULL)
            status = remote_batch_keep_flaw(batch, i, flaw, out, err);
        else if (op->session != NULL)
            checked = op->session;
    }
    return status;
}

/* ---- there and back ---- */

static hf_op remote_batch_stand_in(const hf_op *op)
{
    return (hf_op){.kind = HF_OP_WHO, .linked = op->linked, .type = "", .id = ""};
}

hf_status remote_tell(hf_batch *batch, const char *const *flaws, hf_buffer *out, hf_error *err)
{
    if (flaws == NULL)
        return wire_ops_write(batch, out, err);
    hf_op *ops = hf_arena_alloc(&batch->arena, batch->count * sizeof *ops);
    if (ops == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < batch->count; i++)
        ops[i] = flaws[i] == NULL ? batch->ops[i] : remote_batch_stand_in(&batch->ops[i]);
    hf_batch told = {.ops = ops, .count = batch->count, .capacity = batch->count};
    return wire_ops_write(&told, out, err);
}

/* Whether a later op of the linked run ends the hold: asked again, this one may have no lock to
 * show. */
static bool remote_batch_is_ended_later(const hf_op *op)
{
    for (const hf_op *next = op; next->linked && next++;)
        if (next->kind == HF_OP_RELEASE_ALL ||
            ((next->kind == HF_OP_RELEASE || next->kind == HF_OP_HAND_OVER) && next->type != NULL &&
             next->id != NULL && strcmp(next->type, op->type) == 0 &&
             strcmp(next->id, op->id) == 0))
            return true;
    return false;
}

/* Whether an answer holds what its kind promises: callers take it without looking, as from any
 * store. */
static bool remote_batch_is_whole(const hf_op *op)
{
    const hf_answer *answer = &op->answer;
    bool counts =
        op->kind == HF_OP_BEAT || op->kind == HF_OP_CLOSE || op->kind == HF_OP_RELEASE_ALL;
    if (answer->locks_count > 0 && answer->locks == NULL && !counts)
        return false;
    if (answer->status != HF_OK)
        return true;
    switch (op->kind) {
    case HF_OP_SESSION_OPEN:
    case HF_OP_BEAT:
    case HF_OP_SESSION_FIND:
        return answer->sessions_count > 0;
    case HF_OP_ACQUIRE:
        return (answer->locks_count > 0 && answer->outcome != HF_OUTCOME_NONE) ||
               remote_batch_is_ended_later(op);
    case HF_OP_RENEW:
    case HF_OP_DOWNGRADE:
    case HF_OP_HOLDS:
        return answer->locks_count > 0 || remote_batch_is_ended_later(op);
    case HF_OP_SAVE:
        return answer->versions_count > 0;
    case HF_OP_TYPE_GET:
        return answer->types_count > 0;
    case HF_OP_TOKEN_CREATE:
    case HF_OP_TOKEN_FIND:
    case HF_OP_TOKEN_REVOKE:
        return answer->tokens_count > 0;
    case HF_OP_LIST:
    case HF_OP_SESSIONS:
    case HF_OP_TOKENS:
        return !answer->more || (answer->next != NULL && answer->next->session[0] != '\0');
    default: /* a release or a hand-over that is asked again may have nothing left to show */
        return true;
    }
}

hf_status remote_hear(hf_batch *batch, const char *const *flaws, const hf_buffer *answer,
                      hf_error *err)
{
    hf_status status = wire_answers_read(batch, answer->text, answer->size, &batch->arena, err);
    for (size_t i = 0; status == HF_OK && flaws != NULL && i < batch->count; i++) {
        hf_answer *it = &batch->ops[i].answer;
        if (flaws[i] != NULL && it->status != HF_NOT_APPLIED)
            *it = (hf_answer){.status = HF_INVALID, .message = flaws[i], .now_us = it->now_us};
    }
    for (size_t i = 0; status == HF_OK && i < batch->count; i++)
        if (!remote_batch_is_whole(&batch->ops[i]))
            status = hf_fail(err, HF_INVALID, "Answer %zu lacks what it was asked for.", i);
    return status;
}

bool remote_changes(const hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (!hf_op_reads(batch->ops[i].kind))
            return true;
    return false;
}

bool remote_may_repeat(const hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const hf_op *op = &batch->ops[i];
        bool harmless = hf_op_reads(op->kind) || op->kind == HF_OP_BEAT || op->kind == HF_OP_SWEEP;
        bool named = op->request_id != NULL && op->request_id[0] != '\0' && op->kind != HF_OP_NOTE;
        if (!harmless && !named)
            return false;
    }
    return true;
}
