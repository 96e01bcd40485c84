/* SPDX-License-Identifier: MIT */
/* Notes are told apart by who is known to be calling: a token or a session that lives, else the
 * address alone, since what a stranger claims to be must not use up the notes of those who are it.
 * */
#include "server/access/denials.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/access/rate_limits.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct denials {
    jobs *jobs;
    rate_limits *callers, *everyone;
    size_t under_way;
    uint64_t untold; /* left out, and no caller's count has them */
    denials_stats stats;
};

/* A note on its way, with all it names. */
typedef struct note {
    loop_job job;
    hf_op op;
    denials *of;
    char actor[HF_TEXT_SIZE], user[HF_TEXT_SIZE], reason[HF_TEXT_SIZE];
    hf_resource resource;
} note;

hf_status denials_new(jobs *by, denials **out, hf_error *err)
{
    const rate_limits_rule each = {.every_us = INT64_C(60000000) / DENIALS_CALLER_MAX,
                                   .burst = DENIALS_CALLER_MAX};
    const rate_limits_rule all_rule = {.every_us = INT64_C(60000000) / DENIALS_ALL_MAX,
                                       .burst = DENIALS_ALL_MAX};
    denials *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    all->jobs = by;
    all->callers = rate_limits_new((rate_limits_rule[RATE_LIMITS_KINDS]){each, each, each}, 0);
    all->everyone =
        rate_limits_new((rate_limits_rule[RATE_LIMITS_KINDS]){all_rule, all_rule, all_rule}, 1);
    if (all->callers == NULL || all->everyone == NULL) {
        denials_free(all);
        return hf_fail_memory(err);
    }
    *out = all;
    return HF_OK;
}

void denials_free(denials *all)
{
    if (all == NULL)
        return;
    assert(all->under_way == 0);
    rate_limits_free(all->callers);
    rate_limits_free(all->everyone);
    hf_free(all);
}

/* The session that speaks: the op's, else the first that lives. NULL: none that is known. */
static const caller_session *denials_speaker(const caller *who, const hf_op *op)
{
    const caller_session *first = NULL;
    for (size_t i = 0; who->status == HF_OK && i < who->sessions_count; i++) {
        const caller_session *it = &who->known[i];
        if (it->status != HF_OK)
            continue;
        if (op != NULL && op->session != NULL && strcmp(op->session->id, it->id) == 0)
            return it;
        first = first == NULL ? it : first;
    }
    return first;
}

/* Whether it may be written, by both limits; *left_out: how many were not since this caller's last.
 * */
static bool denials_admit(denials *all, rate_limits_kind kind, const char *id, uint64_t *left_out)
{
    int64_t now_us = hf_seam.boot_us(), later_us;
    if (!rate_limits_take(all->callers, kind, id, 1, now_us, &later_us))
        return false; /* counted there */
    if (all->under_way >= DENIALS_AT_ONCE ||
        !rate_limits_take(all->everyone, RATE_LIMITS_PEER, "", 1, now_us, &later_us)) {
        all->untold++;
        return false;
    }
    *left_out = rate_limits_refused(all->callers, kind, id);
    return true;
}

/* Copies as much as fits, whole characters only; what may not stand in a text becomes a question
 * mark. */
static void denials_copy_text(char *out, size_t size, const char *text)
{
    size_t used = 0, left = strlen(text);
    while (left > 0) {
        uint32_t character;
        size_t step = hf_utf8_decode(text, left, &character);
        bool clean = step > 0 && hf_text_is_clean(text, step);
        size_t takes = clean ? step : 1;
        if (used + takes >= size)
            break;
        if (clean)
            memcpy(out + used, text, step);
        else
            out[used] = '?';
        used += takes;
        text += step == 0 ? 1 : step;
        left -= step == 0 ? 1 : step;
    }
    out[used] = '\0';
}

static void denials_write_reason(note *it, const char *peer, const char *sentence,
                                 uint64_t left_out, uint64_t untold)
{
    char text[HF_MESSAGE_SIZE + 256], more[128] = "";
    if (left_out > 0 || untold > 0)
        snprintf(more, sizeof more, " (%llu more of this caller and %llu of others are not noted)",
                 (unsigned long long)left_out, (unsigned long long)untold);
    snprintf(text, sizeof text, "from %s%s: %s", peer, more, sentence);
    denials_copy_text(it->reason, sizeof it->reason, text);
}

/* Names that are none would make the store refuse the note. */
static void denials_name_resource(note *it, const hf_op *op)
{
    char text[HF_RESOURCE_SIZE];
    if (op == NULL || op->type == NULL || strlen(op->type) > HF_TYPE_MAX)
        return;
    bool has_id = op->id != NULL && op->id[0] != '\0' && strlen(op->id) <= HF_ID_MAX;
    snprintf(text, sizeof text, "%s/%s", op->type, has_id ? op->id : "-");
    if (hf_resource_parse(text, &it->resource, NULL) != HF_OK)
        return;
    it->op.type = it->resource.type;
    it->op.id = has_id ? it->resource.id : NULL;
}

static void denials_finish(loop_job *job)
{
    note *it = (note *)(void *)((char *)job - offsetof(note, job));
    bool written = job->job.status == HF_OK && it->op.answer.status == HF_OK;
    it->of->under_way--;
    it->of->stats.written += written;
    it->of->stats.failed += !written;
    jobs_release(job);
    hf_free(it);
}

static void denials_name_people(note *it, const caller *who, const caller_session *session,
                                const hf_op *op)
{
    const char *user = session != NULL                  ? session->user
                       : op != NULL && op->user != NULL ? op->user
                                                        : "";
    if (who->token != NULL)
        denials_copy_text(it->actor, sizeof it->actor, who->token->name);
    denials_copy_text(it->user, sizeof it->user, user);
    it->op.actor = it->actor[0] == '\0' ? NULL : it->actor;
    it->op.user = it->user[0] == '\0' ? NULL : it->user;
}

void denials_record(denials *all, const caller *who, const char *peer, const hf_op *op,
                    const hf_error *why)
{
    uint64_t left_out = 0;
    if (why->status != HF_UNAUTHENTICATED && why->status != HF_DENIED)
        return;
    const caller_session *session = denials_speaker(who, op);
    rate_limits_kind kind = who->token != NULL ? RATE_LIMITS_TOKEN
                            : session != NULL  ? RATE_LIMITS_SESSION
                                               : RATE_LIMITS_PEER;
    const char *id = who->token != NULL ? who->token->id : session != NULL ? session->id : peer;
    bool may = denials_admit(all, kind, id, &left_out);
    note *it = may ? hf_alloc(sizeof *it) : NULL;
    if (it == NULL) {
        all->untold += may ? 1 + left_out : 0;
        all->stats.left_out++;
        return;
    }
    it->of = all;
    it->op.kind = HF_OP_NOTE;
    it->op.event = why->status == HF_DENIED ? HF_EVENT_DENIED : HF_EVENT_UNAUTHENTICATED;
    it->op.text = it->reason;
    it->job = (loop_job){.job = {.ops = &it->op, .count = 1}, .finish = denials_finish};
    denials_write_reason(it, peer, why->message, left_out, all->untold);
    denials_name_resource(it, op);
    denials_name_people(it, who, session, op);
    if (jobs_submit(all->jobs, &it->job, NULL) != HF_OK) {
        all->untold += 1 + left_out;
        all->stats.left_out++;
        hf_free(it);
        return;
    }
    all->untold = 0;
    all->under_way++;
}

void denials_stats_read(const denials *all, denials_stats *out)
{
    *out = all->stats;
}
