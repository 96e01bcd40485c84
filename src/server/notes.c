/* SPDX-License-Identifier: MIT */
/* Notes are told apart by who is known to be calling: a token or a session that lives, else the
 * address alone, since what a stranger claims to be must not use up the notes of those who are it.
 * */
#include "server/notes.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/limits.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct notes {
    jobs *jobs;
    limits *callers, *everyone;
    size_t under_way;
    uint64_t untold; /* left out, and no caller's count has them */
    notes_stats stats;
};

/* A note on its way, with all it names. */
typedef struct note {
    loop_job job;
    hf_op op;
    notes *of;
    char actor[HF_TEXT_SIZE], user[HF_TEXT_SIZE], reason[HF_TEXT_SIZE];
    hf_resource resource;
} note;

hf_status notes_new(jobs *by, notes **out, hf_error *err)
{
    const limits_rule each = {.every_us = INT64_C(60000000) / NOTES_CALLER_MAX,
                              .burst = NOTES_CALLER_MAX};
    const limits_rule all_rule = {.every_us = INT64_C(60000000) / NOTES_ALL_MAX,
                                  .burst = NOTES_ALL_MAX};
    notes *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    all->jobs = by;
    all->callers = limits_new((limits_rule[LIMITS_KINDS]){each, each, each}, 0);
    all->everyone = limits_new((limits_rule[LIMITS_KINDS]){all_rule, all_rule, all_rule}, 1);
    if (all->callers == NULL || all->everyone == NULL) {
        notes_free(all);
        return hf_fail_memory(err);
    }
    *out = all;
    return HF_OK;
}

void notes_free(notes *all)
{
    if (all == NULL)
        return;
    assert(all->under_way == 0);
    limits_free(all->callers);
    limits_free(all->everyone);
    hf_free(all);
}

/* The session that speaks: the op's, else the first that lives. NULL: none that is known. */
static const caller_session *notes_speaker(const caller *who, const hf_op *op)
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
static bool notes_admit(notes *all, limits_kind kind, const char *id, uint64_t *left_out)
{
    int64_t now_us = hf_seam.boot_us(), later_us;
    if (!limits_take(all->callers, kind, id, 1, now_us, &later_us))
        return false; /* counted there */
    if (all->under_way >= NOTES_AT_ONCE ||
        !limits_take(all->everyone, LIMITS_PEER, "", 1, now_us, &later_us)) {
        all->untold++;
        return false;
    }
    *left_out = limits_refused(all->callers, kind, id);
    return true;
}

/* Copies as much as fits, whole characters only; what may not stand in a text becomes a question
 * mark. */
static void copy_text(char *out, size_t size, const char *text)
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

static void write_reason(note *it, const char *peer, const char *sentence, uint64_t left_out,
                         uint64_t untold)
{
    char text[HF_MESSAGE_SIZE + 256], more[128] = "";
    if (left_out > 0 || untold > 0)
        snprintf(more, sizeof more, " (%llu more of this caller and %llu of others are not noted)",
                 (unsigned long long)left_out, (unsigned long long)untold);
    snprintf(text, sizeof text, "from %s%s: %s", peer, more, sentence);
    copy_text(it->reason, sizeof it->reason, text);
}

/* Names that are none would make the store refuse the note. */
static void notes_name_resource(note *it, const hf_op *op)
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

static void notes_finish(loop_job *job)
{
    note *it = (note *)(void *)((char *)job - offsetof(note, job));
    bool written = job->job.status == HF_OK && it->op.answer.status == HF_OK;
    it->of->under_way--;
    it->of->stats.written += written;
    it->of->stats.failed += !written;
    jobs_release(job);
    hf_free(it);
}

static void name_people(note *it, const caller *who, const caller_session *session, const hf_op *op)
{
    const char *user = session != NULL                  ? session->user
                       : op != NULL && op->user != NULL ? op->user
                                                        : "";
    if (who->token != NULL)
        copy_text(it->actor, sizeof it->actor, who->token->name);
    copy_text(it->user, sizeof it->user, user);
    it->op.actor = it->actor[0] == '\0' ? NULL : it->actor;
    it->op.user = it->user[0] == '\0' ? NULL : it->user;
}

void notes_refusal(notes *all, const caller *who, const char *peer, const hf_op *op,
                   const hf_error *why)
{
    uint64_t left_out = 0;
    if (why->status != HF_UNAUTHENTICATED && why->status != HF_DENIED)
        return;
    const caller_session *session = notes_speaker(who, op);
    limits_kind kind = who->token != NULL ? LIMITS_TOKEN
                       : session != NULL  ? LIMITS_SESSION
                                          : LIMITS_PEER;
    const char *id = who->token != NULL ? who->token->id : session != NULL ? session->id : peer;
    bool may = notes_admit(all, kind, id, &left_out);
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
    it->job = (loop_job){.job = {.ops = &it->op, .count = 1}, .finish = notes_finish};
    write_reason(it, peer, why->message, left_out, all->untold);
    notes_name_resource(it, op);
    name_people(it, who, session, op);
    if (jobs_submit(all->jobs, &it->job, NULL) != HF_OK) {
        all->untold += 1 + left_out;
        all->stats.left_out++;
        hf_free(it);
        return;
    }
    all->untold = 0;
    all->under_way++;
}

void notes_stats_read(const notes *all, notes_stats *out)
{
    *out = all->stats;
}
