/* SPDX-License-Identifier: MIT */
/* A key is in one of three states:
 *
 *   quiet       claims are settled from the allowance, or because the key is known to be full
 *   draining    claims wait, something is running: the last quotas_leave starts the count
 *   looking     claims wait, the count is with the store
 *
 * A callback may call back into this file. So all claims are settled before the first callback, and
 * callbacks are queued to avoid recursion. */
#include "server/access/quotas.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/access/lru.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct quota_look quota_look;

typedef struct quota {
    lru_entry entry; /* first */
    size_t allowance;
    size_t under_way;
    quota_look *look;       /* while it is looking */
    quotas_claim *waiting;  /* in the order they came; NULL: it is quiet */
    quotas_claim **end;     /* of those */
    bool given_back;        /* something was, since the look began */
    int64_t full_us;        /* when a look found no room; 0: it did not */
    uint64_t full_returned; /* quotas.returned when that look began */
    size_t full_held;
} quota;

struct quota_look {
    loop_job job; /* first */
    hf_op op;
    quotas *of;
    quota *it;
    char id[LRU_KEY_MAX + 1];
};

struct quotas {
    quotas_settings settings;
    lru table;
    hf_error why; /* the last look could not be begun */
    quotas_claim *to_tell, **to_tell_end;
    bool telling;
    uint64_t looks;
    uint64_t returned[QUOTAS_KINDS]; /* how often something was given back that may be anyone's */
};

/* ---- keys ---- */

static quota *quotas_find(const quotas *all, quotas_kind kind, const char *id)
{
    return (quota *)lru_find(&all->table, (unsigned char)kind, id, strlen(id));
}

static bool quotas_is_pinned(const quota *it)
{
    return it->under_way > 0 || it->waiting != NULL;
}

static void quotas_drop(quotas *all, quota *it)
{
    lru_remove(&all->table, &it->entry);
    hf_free(it);
}

enum { LOOK_BACK = 16 };

/* Q7. Those that are pinned belong to requests, of which there are only so many: they are passed
 *     over. */
static void quotas_make_room(quotas *all)
{
    lru_entry *entry = all->table.oldest, *newer;
    for (int i = 0; all->table.count >= all->settings.keys_max && i < LOOK_BACK && entry != NULL;
         i++, entry = newer) {
        newer = entry->newer;
        if (quotas_is_pinned((quota *)entry))
            lru_use(&all->table, entry);
        else
            quotas_drop(all, (quota *)entry);
    }
}

/* NULL: out of memory. */
static quota *quotas_add(quotas *all, quotas_kind kind, const char *id)
{
    quotas_make_room(all);
    quota *it = hf_alloc(sizeof *it);
    if (it != NULL)
        lru_add(&all->table, &it->entry, (unsigned char)kind, id, strlen(id));
    return it;
}

/* ---- settling ---- */

static size_t quotas_limit_of(const quotas *all, const quota *it)
{
    return all->settings.limits[it->entry.kind];
}

/* Q1: all that is claimed is under way, also what does not fit and may turn out to be no new one.
 * */
static void quotas_settle(quota *it, quotas_claim *claim, size_t granted)
{
    claim->status = HF_OK;
    claim->granted = granted;
    claim->of = it;
    it->under_way += claim->wanted;
}

static void quotas_fail(quotas_claim *claim, hf_status status, const char *message)
{
    claim->status = status;
    claim->message = message;
    claim->granted = 0;
    claim->of = NULL;
}

/* Off the line, onto the list of those to be told. */
static void quotas_move_first(quotas *all, quota *it)
{
    quotas_claim *claim = it->waiting;
    it->waiting = claim->next;
    claim->next = NULL;
    *(all->to_tell == NULL ? &all->to_tell : all->to_tell_end) = claim;
    all->to_tell_end = &claim->next;
}

static void quotas_tell(quotas *all)
{
    if (all->telling)
        return;
    all->telling = true;
    while (all->to_tell != NULL) {
        quotas_claim *claim = all->to_tell;
        all->to_tell = claim->next;
        claim->done(claim);
    }
    all->telling = false;
}

/* The sentence stays until they have been told. */
static void quotas_fail_waiting(quotas *all, quota *it, hf_status status, const char *message)
{
    it->look = NULL;
    it->full_us = 0;
    while (it->waiting != NULL) {
        quotas_fail(it->waiting, status, message);
        quotas_move_first(all, it);
    }
    quotas_tell(all);
}

/* Q3, Q6. What is given to one may turn out to make nothing new: so who would have fit without
 * those before waits for another look. */
static void quotas_share(quotas *all, quota *it, size_t held)
{
    size_t limit = quotas_limit_of(all, it), room = held < limit ? limit - held : 0, left = room;
    bool more = true;
    it->look = NULL;
    while (it->waiting != NULL && more) {
        quotas_claim *claim = it->waiting;
        size_t granted = claim->wanted < left ? claim->wanted : left;
        claim->held = held;
        quotas_settle(it, claim, granted);
        left -= granted;
        quotas_move_first(all, it);
        more = room == 0 ||
               (granted == claim->wanted && it->waiting != NULL && it->waiting->wanted <= left);
    }
    bool all_shared = it->waiting == NULL;
    it->allowance = all_shared && room / 2 > room - left ? room / 2 - (room - left) : 0;
    it->full_us = room == 0 && !it->given_back ? hf_seam.boot_us() : 0;
    it->full_held = held;
    quotas_tell(all);
}

static bool quotas_is_full(const quotas *all, const quota *it)
{
    return it->full_us != 0 && it->full_returned == all->returned[it->entry.kind] &&
           hf_seam.boot_us() - it->full_us < QUOTAS_FULL_US;
}

/* ---- looking ---- */

static void quotas_looked(loop_job *job)
{
    quota_look *of = (quota_look *)job;
    const hf_answer *answer = &of->op.answer;
    hf_status status = job->job.status != HF_OK ? job->job.status : answer->status;
    if (status == HF_OK)
        quotas_share(of->of, of->it,
                     of->op.target != NULL ? answer->total_locks : answer->total_sessions);
    else
        quotas_fail_waiting(of->of, of->it, status, jobs_told(status));
    jobs_release(job);
    hf_free(of);
}

/* Q2: nothing is under way. */
static hf_status quotas_begin_look(quotas *all, quota *it, hf_error *err)
{
    quota_look *of = hf_alloc(sizeof *of);
    if (of == NULL)
        return hf_fail_memory(err);
    memcpy(of->id, it->entry.key, it->entry.size);
    of->of = all;
    of->it = it;
    of->op.kind = HF_OP_COUNT;
    *(it->entry.kind == QUOTAS_LOCKS ? &of->op.target : &of->op.caller) = of->id;
    of->job = (loop_job){.job = {.ops = &of->op, .count = 1}, .finish = quotas_looked};
    hf_status status = jobs_submit(all->settings.jobs, &of->job, err);
    if (status != HF_OK) {
        hf_free(of);
        return status;
    }
    it->look = of;
    it->given_back = false;
    it->full_returned = all->returned[it->entry.kind];
    all->looks++;
    return HF_OK;
}

/* ---- claims ---- */

/* Waits for the look, which is begun if nothing is in its way. True: it can't be, and nobody else
 * waits for it. */
static bool quotas_wait_for_look(quotas *all, quota *it, quotas_claim *claim)
{
    claim->next = NULL;
    *(it->waiting == NULL ? &it->waiting : it->end) = claim;
    it->end = &claim->next;
    if (it->under_way > 0 || it->look != NULL)
        return false;
    hf_status status = quotas_begin_look(all, it, &all->why);
    if (status == HF_OK)
        return false;
    assert(it->waiting == claim && claim->next == NULL);
    it->waiting = NULL;
    quotas_fail(claim, status, all->why.message);
    return true;
}

bool quotas_take(quotas *all, quotas_claim *claim)
{
    if (all->settings.limits[claim->kind] == 0 || claim->wanted == 0) {
        claim->granted = claim->wanted;
        return true;
    }
    quota *it = quotas_find(all, claim->kind, claim->id);
    if (it != NULL)
        lru_use(&all->table, &it->entry);
    else if ((it = quotas_add(all, claim->kind, claim->id)) == NULL) {
        quotas_fail(claim, HF_NO_MEMORY, hf_status_sentence(HF_NO_MEMORY));
        return true;
    }
    if (it->waiting == NULL && it->allowance >= claim->wanted) {
        it->allowance -= claim->wanted;
        quotas_settle(it, claim, claim->wanted);
        return true;
    }
    if (it->waiting == NULL && quotas_is_full(all, it)) {
        claim->held = it->full_held;
        quotas_settle(it, claim, 0);
        return true;
    }
    return quotas_wait_for_look(all, it, claim);
}

void quotas_leave(quotas *all, quotas_claim *claim)
{
    quota *it = claim->of;
    claim->of = NULL;
    if (it == NULL)
        return;
    it->under_way -= claim->wanted;
    if (it->under_way > 0 || it->waiting == NULL)
        return;
    hf_status status = quotas_begin_look(all, it, &all->why);
    if (status != HF_OK)
        quotas_fail_waiting(all, it, status, hf_status_sentence(status));
}

int quotas_compare(const quotas_claim *a, const quotas_claim *b)
{
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->id, b->id);
}

/* ---- what this server did ---- */

void quotas_opened(quotas *all, const char *session)
{
    size_t limit = all->settings.limits[QUOTAS_LOCKS];
    if (limit == 0 || quotas_find(all, QUOTAS_LOCKS, session) != NULL)
        return;
    quota *it = quotas_add(all, QUOTAS_LOCKS, session);
    if (it != NULL)
        it->allowance = limit / 2;
}

void quotas_returned(quotas *all, quotas_kind kind, const char *id)
{
    quota *it = id == NULL || all->settings.limits[kind] == 0 ? NULL : quotas_find(all, kind, id);
    if (it != NULL) {
        it->full_us = 0;
        it->given_back = true;
    } else if (id == NULL) {
        all->returned[kind]++;
    }
}

void quotas_forget(quotas *all, quotas_kind kind, const char *id)
{
    quota *it = all->settings.limits[kind] == 0 ? NULL : quotas_find(all, kind, id);
    if (it == NULL)
        return;
    it->allowance = 0;
    it->full_us = 0;
    if (!quotas_is_pinned(it))
        quotas_drop(all, it);
}

/* ---- making and freeing ---- */

size_t quotas_limit(const quotas *all, quotas_kind kind)
{
    return all->settings.limits[kind];
}

size_t quotas_count(const quotas *all)
{
    return all->table.count;
}

uint64_t quotas_looks(const quotas *all)
{
    return all->looks;
}

hf_status quotas_new(const quotas_settings *settings, quotas **out, hf_error *err)
{
    quotas *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    all->settings = *settings;
    if (settings->keys_max == 0)
        all->settings.keys_max = QUOTAS_MAX;
    if (!lru_init(&all->table, all->settings.keys_max)) {
        quotas_free(all);
        return hf_fail(
            err, HF_NO_MEMORY,
            "Out of memory, or reading random bytes failed; the server can't keep its quotas.");
    }
    *out = all;
    return HF_OK;
}

void quotas_free(quotas *all)
{
    if (all == NULL)
        return;
    while (all->table.oldest != NULL) {
        assert(!quotas_is_pinned((quota *)all->table.oldest));
        quotas_drop(all, (quota *)all->table.oldest);
    }
    lru_done(&all->table);
    hf_free(all);
}
