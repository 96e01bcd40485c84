/* SPDX-License-Identifier: MIT */
/* Ops are grouped by key and claimed key by key, in order. If that falls short, one job asks which
 * ops create nothing new. */
#include "server/access/admit.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Ops that may be of what is there already. */
struct admit_look {
    loop_job job; /* first */
    admission *of;
    size_t count;
    size_t *places; /* in claims.ops */
    hf_op ops[];
};

/* ---- grouping ---- */

/* The key that the op wants one more of; false: none. */
static bool admit_wants(const admission *c, const hf_op *op, quotas_kind *kind, const char **id)
{
    bool acquires = op->kind == HF_OP_ACQUIRE && op->session != NULL;
    bool takes = op->kind == HF_OP_HAND_OVER && op->target != NULL &&
                 strlen(op->target) == HF_SESSION_ID_MAX; /* the store refuses it else */
    bool opens = op->kind == HF_OP_SESSION_OPEN && op->caller != NULL && op->caller[0] != '\0' &&
                 strlen(op->caller) <= HF_CALLER_MAX; /* the store refuses it else */
    *kind = acquires || takes ? QUOTAS_LOCKS : QUOTAS_SESSIONS;
    *id = acquires ? op->session->id : takes ? op->target : op->caller;
    return (acquires || takes || opens) && quotas_limit(c->of, *kind) > 0;
}

static bool admit_is_of(const quotas_claim *claim, quotas_kind kind, const char *id)
{
    return claim->kind == kind && (claim->id == id || strcmp(claim->id, id) == 0);
}

static int admit_by_key(const void *a, const void *b)
{
    return quotas_compare(a, b);
}

/* One for each key. */
static void admit_merge(admission *c)
{
    size_t kept = 0;
    qsort(c->all, c->all_count, sizeof *c->all, admit_by_key);
    for (size_t i = 1; i < c->all_count; i++) {
        if (quotas_compare(&c->all[kept], &c->all[i]) == 0)
            c->all[kept].wanted += c->all[i].wanted;
        else
            c->all[++kept] = c->all[i];
    }
    c->all_count = kept + 1;
}

static void admit_settled(quotas_claim *claim);

/* False: out of memory. Most requests are of one key, and need none. */
static bool admit_gather(admission *c)
{
    quotas_kind kind;
    const char *id;
    c->all = &c->first;
    for (size_t i = 0; i < c->count; i++) {
        if (!admit_wants(c, &c->ops[i], &kind, &id))
            continue;
        if (c->all_count > 0 && admit_is_of(&c->all[c->all_count - 1], kind, id)) {
            c->all[c->all_count - 1].wanted++;
            continue;
        }
        if (c->all_count == 1) {
            c->all = hf_arena_alloc(c->arena, c->count * sizeof *c->all);
            if (c->all == NULL)
                return false;
            c->all[0] = c->first;
        }
        c->all[c->all_count++] = (quotas_claim){
            .kind = kind, .id = id, .wanted = 1, .done = admit_settled, .context = c};
    }
    if (c->all_count > 1)
        admit_merge(c);
    return true;
}

static quotas_claim *admit_claim_of(const admission *c, const hf_op *op)
{
    quotas_claim key = {0};
    if (!admit_wants(c, op, &key.kind, &key.id))
        return NULL;
    return bsearch(&key, c->all, c->all_count, sizeof *c->all, admit_by_key);
}

/* ---- what makes nothing new ---- */

/* Of the one who takes a lock over no key is known, so it is looked for among the holders. */
static bool admit_is_there(const hf_op *asked)
{
    bool holds = asked->kind != HF_OP_WHO;
    for (size_t i = 0; i < asked->answer.locks_count && !holds; i++)
        holds = strcmp(asked->answer.locks[i].session, asked->target) == 0;
    return holds && asked->answer.status == HF_OK;
}

static void admit_looked(loop_job *job)
{
    struct admit_look *it = (struct admit_look *)job;
    admission *c = it->of;
    c->status = job->job.status;
    if (c->status != HF_OK)
        c->message = jobs_told(c->status);
    for (size_t i = 0; i < it->count && c->status == HF_OK; i++)
        c->there[it->places[i]] = admit_is_there(&it->ops[i]);
    jobs_release(job);
    c->done(c);
}

static void admit_ask_about(struct admit_look *it, size_t place, const hf_op *op)
{
    hf_op *asked = &it->ops[it->count];
    it->places[it->count++] = place;
    bool takes = op->kind == HF_OP_HAND_OVER, opens = op->kind == HF_OP_SESSION_OPEN;
    asked->kind = takes ? HF_OP_WHO : opens ? HF_OP_SESSION_FIND : HF_OP_HOLDS;
    asked->session = takes ? NULL : op->session;
    asked->target = takes ? op->target : NULL; /* for admit_is_there */
    asked->type = opens ? NULL : op->type;
    asked->id = opens ? NULL : op->id;
}

/* HF_OK: `admit_looked` goes on. */
static hf_status admit_begin_look(admission *c, hf_error *err)
{
    struct admit_look *it = hf_arena_alloc(c->arena, sizeof *it + c->count * sizeof it->ops[0]);
    size_t *places = it == NULL ? NULL : hf_arena_alloc(c->arena, c->count * sizeof *places);
    c->there = places == NULL ? NULL : hf_arena_alloc(c->arena, c->count * sizeof *c->there);
    if (c->there == NULL)
        return hf_fail_memory(err);
    it->of = c;
    it->places = places;
    for (size_t i = 0; i < c->count; i++) {
        const quotas_claim *claim = admit_claim_of(c, &c->ops[i]);
        if (claim != NULL && claim->granted < claim->wanted && c->ops[i].session != NULL)
            admit_ask_about(it, i, &c->ops[i]);
    }
    it->job = (loop_job){.job = {.ops = it->ops, .count = it->count}, .finish = admit_looked};
    return it->count == 0 ? HF_NOT_FOUND : jobs_submit(c->jobs, &it->job, err);
}

/* ---- claiming ---- */

static void admit_fail(admission *c, hf_status status, const char *message)
{
    const char *copy = message == NULL ? NULL : hf_arena_text(c->arena, hf_slice_of(message));
    c->status = status;
    c->message = copy;
}

static void admit_note_settled(admission *c, const quotas_claim *claim)
{
    if (claim->status != HF_OK)
        admit_fail(c, claim->status, claim->message);
    c->all_fit = c->all_fit && claim->status == HF_OK && claim->granted == claim->wanted;
    c->at++;
}

static void admit_go_on(admission *c)
{
    hf_error err;
    while (c->at < c->all_count && c->status == HF_OK) {
        if (!quotas_take(c->of, &c->all[c->at]))
            return;
        admit_note_settled(c, &c->all[c->at]);
    }
    hf_status status = c->all_fit || c->status != HF_OK ? HF_NOT_FOUND : admit_begin_look(c, &err);
    if (status == HF_OK)
        return;
    if (status != HF_NOT_FOUND)
        admit_fail(c, status, err.message);
    c->done(c);
}

static void admit_settled(quotas_claim *claim)
{
    admission *c = claim->context;
    admit_note_settled(c, claim);
    admit_go_on(c);
}

void admit_ops(admission *c)
{
    c->all_fit = true;
    if (!admit_gather(c)) {
        c->all_count = 0;
        c->all_fit = false;
        admit_fail(c, HF_NO_MEMORY, NULL);
    }
    admit_go_on(c);
}

void admit_leave(admission *c)
{
    for (size_t i = 0; i < c->at; i++)
        quotas_leave(c->of, &c->all[i]);
    c->at = 0;
}

/* ---- what fits ---- */

static const struct words {
    const char *who, *has, *what, *have, *setting, *remedy;
} words[QUOTAS_KINDS] = {
    [QUOTAS_LOCKS] = {"session", "holds", "locks", "hold", "locks-session", "release some first"},
    [QUOTAS_SESSIONS] = {"token", "has", "live sessions", "have", "sessions-token",
                         "close some first"},
};

static hf_status admit_refuse(admission *c, const quotas_claim *claim, const hf_op *op,
                              hf_error *err)
{
    const struct words *w = &words[claim->kind];
    const char *who = op->kind == HF_OP_HAND_OVER ? "session that was to get it" : w->who;
    size_t limit = quotas_limit(c->of, claim->kind);
    c->full = true;
    if (claim->held >= limit)
        return hf_fail(err, HF_TOO_MANY,
                       "The %s %s %zu %s, as many as one %s may on this server (%s): %s.", who,
                       w->has, claim->held, w->what, w->who, w->setting, w->remedy);
    return hf_fail(err, HF_TOO_MANY,
                   "The %s %s %zu %s; with what is asked for it would have more than the %zu that "
                   "one %s may %s on "
                   "this server (%s): %s.",
                   who, w->has, claim->held, w->what, limit, w->who, w->have, w->setting,
                   w->remedy);
}

/* Gives back what the ops before it have taken. */
static void admit_undo(admission *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        quotas_claim *claim = admit_claim_of(c, &c->ops[i]);
        if (claim != NULL && !(c->there != NULL && c->there[i]))
            claim->granted++;
    }
}

hf_status admit_fit(admission *c, size_t first, size_t end, size_t *which, hf_error *err)
{
    quotas_kind kind;
    const char *id;
    for (size_t i = first; i < end && !c->all_fit; i++) {
        *which = i;
        if (c->status != HF_OK && admit_wants(c, &c->ops[i], &kind, &id))
            return hf_fail(err, c->status, "%s",
                           c->message != NULL ? c->message : hf_status_sentence(c->status));
        quotas_claim *claim = admit_claim_of(c, &c->ops[i]);
        if (claim == NULL || (c->there != NULL && c->there[i]))
            continue;
        if (claim->granted == 0) {
            admit_undo(c, first, i);
            return admit_refuse(c, claim, &c->ops[i], err);
        }
        claim->granted--;
    }
    return HF_OK;
}

/* ---- what was done ---- */

static void admit_note_open(quotas *of, const hf_op *op)
{
    const hf_session_info *opened = &op->answer.sessions[0];
    if (opened->opened_us == op->answer.now_us) /* else it was asked again, and may hold some */
        quotas_opened(of, opened->id);
    if (op->replaces == NULL)
        return;
    quotas_forget(of, QUOTAS_LOCKS, op->replaces->id);
    quotas_returned(of, QUOTAS_SESSIONS, NULL);
}

static void admit_note_op(quotas *of, const hf_op *op)
{
    switch (op->kind) {
    case HF_OP_SESSION_OPEN:
        admit_note_open(of, op);
        break;
    case HF_OP_CLOSE:
        quotas_forget(of, QUOTAS_LOCKS, op->session->id);
        quotas_returned(of, QUOTAS_SESSIONS, NULL);
        break;
    case HF_OP_RELEASE:
    case HF_OP_RELEASE_ALL:
    case HF_OP_HAND_OVER:
        quotas_returned(of, QUOTAS_LOCKS, op->session->id);
        break;
    case HF_OP_FORCE_RELEASE:
        for (size_t i = 0; i < op->answer.locks_count; i++)
            quotas_returned(of, QUOTAS_LOCKS, op->answer.locks[i].session);
        break;
    case HF_OP_TOKEN_REVOKE:
        quotas_forget(of, QUOTAS_SESSIONS, op->token);
        break;
    default:
        break;
    }
}

void admit_note(quotas *of, const hf_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].answer.status == HF_OK)
            admit_note_op(of, &ops[i]);
}
