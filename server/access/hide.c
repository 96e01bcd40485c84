/* SPDX-License-Identifier: MIT */
/* Answers without what their callers may not look at. */
#include "server/access/hide.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static bool hide_may_look(caller *who, const char *type)
{
    hf_op look = {.kind = HF_OP_WHO, .type = type};
    return authorize_op(who, &look, NULL) == HF_OK;
}

/* Whoever holds another grant of it is told no more than those who hold none. */
static void hide_holders(caller *who, hf_op *op)
{
    char sentence[HF_RESOURCE_SIZE + 96], fence[48] = "";
    const char *whose = op->kind == HF_OP_RELEASE ? "The session does not hold" : "Nobody holds";
    if (op->fence != 0)
        snprintf(fence, sizeof fence, " with fence %lld", (long long)op->fence);
    snprintf(sentence, sizeof sentence, "%s %s/%s%s.", whose, op->type, op->id, fence);
    const char *copy = hf_arena_text(who->arena, hf_slice_of(sentence));
    op->answer.message = copy == NULL ? hf_status_sentence(HF_NOT_HELD) : copy;
    op->answer.locks = NULL;
    op->answer.locks_count = 0;
}

static bool hide_names_next(caller *who, const hf_lost *lost)
{
    return strcmp(lost->why, "forced") != 0 && !hide_may_look(who, lost->resource.type);
}

/* What a session lost stays its own: only the next holder is not named. */
static void hide_in_beat(caller *who, hf_answer *answer)
{
    size_t hidden = 0, asked_count = 0;
    for (size_t i = 0; i < answer->lost_count; i++)
        hidden += hide_names_next(who, &answer->lost[i]);
    for (size_t i = 0; i < answer->requests_count; i++)
        hidden += !hide_may_look(who, answer->requests[i].resource.type);
    if (hidden == 0)
        return;
    hf_lost *lost = hf_arena_alloc(who->arena, (answer->lost_count + 1) * sizeof *lost);
    hf_request *asked = hf_arena_alloc(who->arena, (answer->requests_count + 1) * sizeof *asked);
    if (lost == NULL || asked == NULL) {
        *answer = (hf_answer){.status = HF_NO_MEMORY}; /* a beat may be repeated */
        return;
    }
    for (size_t i = 0; i < answer->lost_count; i++) {
        lost[i] = answer->lost[i];
        if (hide_names_next(who, &lost[i]))
            lost[i].by[0] = '\0';
    }
    for (size_t i = 0; i < answer->requests_count; i++)
        if (hide_may_look(who, answer->requests[i].resource.type))
            asked[asked_count++] = answer->requests[i];
    answer->lost = lost;
    answer->requests = asked;
    answer->requests_count = asked_count;
}

/* A page that has signed in is nobody's editing session. */
static void hide_sign_ins(caller *who, hf_answer *answer)
{
    hf_session_info *shown =
        hf_arena_alloc(who->arena, (answer->sessions_count + 1) * sizeof *shown);
    size_t count = 0;
    if (shown == NULL) {
        *answer = (hf_answer){.status = HF_NO_MEMORY};
        return;
    }
    for (size_t i = 0; i < answer->sessions_count; i++)
        if (strncmp(answer->sessions[i].token, HF_SIGN_IN, sizeof HF_SIGN_IN - 1) != 0)
            shown[count++] = answer->sessions[i];
    answer->sessions = shown;
    answer->sessions_count = count;
}

void hide_unseen(caller *who, hf_op *op)
{
    bool ends = op->kind == HF_OP_RELEASE || op->kind == HF_OP_FORCE_RELEASE;
    if (ends && op->answer.status == HF_NOT_HELD && !hide_may_look(who, op->type))
        hide_holders(who, op);
    if (op->kind == HF_OP_BEAT && op->answer.status == HF_OK)
        hide_in_beat(who, &op->answer);
    bool any = false;
    for (size_t i = 0; op->kind == HF_OP_SESSIONS && i < op->answer.sessions_count; i++)
        any |= strncmp(op->answer.sessions[i].token, HF_SIGN_IN, sizeof HF_SIGN_IN - 1) == 0;
    if (any)
        hide_sign_ins(who, &op->answer);
}
