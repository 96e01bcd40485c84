/* SPDX-License-Identifier: MIT */
/* A bucket is one number: when it will be full again. Taking some moves that by the time they
 * need to come back; it may not be further away than a whole burst needs. So a full bucket is
 * like none, and can be forgotten; what is under way can't: whoever has something under way is
 * in a table of its own, which is as large as it has to be. */
#include "server/access/rate_limits.h"

#include "base/seams.h"
#include "server/access/lru.h"

#include <string.h>

typedef struct bucket {
    lru_entry entry; /* first */
    int64_t full_us;
    uint64_t refused;
    unsigned under_way[RATE_LIMITS_USES];
} bucket;

struct rate_limits {
    rate_limits_rule rules[RATE_LIMITS_KINDS];
    size_t most;
    lru idle, busy; /* callers with nothing and with something under way */
};

rate_limits *rate_limits_new(const rate_limits_rule rules[RATE_LIMITS_KINDS], size_t callers_max)
{
    rate_limits *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return NULL;
    memcpy(all->rules, rules, sizeof all->rules);
    all->most = callers_max == 0 ? RATE_LIMITS_MAX : callers_max;
    if (!lru_init(&all->idle, all->most) || !lru_init(&all->busy, all->most)) {
        rate_limits_free(all);
        return NULL;
    }
    return all;
}

static void rate_limits_drop_oldest(lru *from)
{
    lru_entry *oldest = from->oldest;
    lru_remove(from, oldest);
    hf_free(oldest);
}

void rate_limits_free(rate_limits *all)
{
    if (all == NULL)
        return;
    lru *tables[] = {&all->idle, &all->busy};
    for (size_t i = 0; i < 2; i++) {
        while (tables[i]->oldest != NULL)
            rate_limits_drop_oldest(tables[i]);
        lru_done(tables[i]);
    }
    hf_free(all);
}

static bool rate_limits_is_busy(const bucket *it)
{
    return it->under_way[RATE_LIMITS_REQUEST] > 0 || it->under_way[RATE_LIMITS_STREAM] > 0;
}

static bucket *rate_limits_find(const rate_limits *all, rate_limits_kind kind, const char *id)
{
    lru_entry *entry = lru_find(&all->busy, (unsigned char)kind, id, strlen(id));
    if (entry == NULL)
        entry = lru_find(&all->idle, (unsigned char)kind, id, strlen(id));
    return (bucket *)entry;
}

/* As the newest of its table; of the idle ones whoever was here longest ago makes room. */
static void rate_limits_put(rate_limits *all, bucket *it, rate_limits_kind kind, const char *id)
{
    lru *to = rate_limits_is_busy(it) ? &all->busy : &all->idle;
    while (to == &all->idle && to->count >= all->most)
        rate_limits_drop_oldest(to);
    lru_add(to, &it->entry, (unsigned char)kind, id, strlen(id));
}

/* The caller's bucket, made if need be; NULL: out of memory. */
static bucket *rate_limits_bucket_of(rate_limits *all, rate_limits_kind kind, const char *id)
{
    bucket *it = rate_limits_find(all, kind, id);
    if (it != NULL) {
        lru_use(rate_limits_is_busy(it) ? &all->busy : &all->idle, &it->entry);
        return it;
    }
    if ((it = hf_alloc(sizeof *it)) == NULL)
        return NULL;
    it->full_us = INT64_MIN;
    rate_limits_put(all, it, kind, id);
    return it;
}

/* One more or one less is under way. */
static void rate_limits_count_use(rate_limits *all, bucket *it, rate_limits_kind kind,
                                  const char *id, rate_limits_use use, bool more)
{
    bool was_busy = rate_limits_is_busy(it);
    it->under_way[use] += more ? 1 : -1u;
    if (rate_limits_is_busy(it) == was_busy)
        return;
    lru_remove(was_busy ? &all->busy : &all->idle, &it->entry);
    rate_limits_put(all, it, kind, id);
}

bool rate_limits_take(rate_limits *all, rate_limits_kind kind, const char *id, size_t count,
                      int64_t now_us, int64_t *retry_after_us)
{
    const rate_limits_rule *rule = &all->rules[kind];
    size_t burst = rule->burst > 1 ? rule->burst : 1;
    size_t cost = count < 1 ? 1 : count < burst ? count : burst;
    *retry_after_us = 0;
    if (rule->every_us <= 0)
        return true;
    bucket *it = rate_limits_bucket_of(all, kind, id);
    if (it == NULL) {
        *retry_after_us = 1000000;
        return false;
    }
    int64_t slack_us = (int64_t)(burst - cost) * rule->every_us;
    int64_t full_us = it->full_us > now_us ? it->full_us : now_us;
    if (full_us - now_us > slack_us) {
        *retry_after_us = full_us - now_us - slack_us;
        it->refused++;
        return false;
    }
    it->full_us = full_us + (int64_t)cost * rule->every_us;
    return true;
}

void rate_limits_give(rate_limits *all, rate_limits_kind kind, const char *id)
{
    bucket *it = all->rules[kind].every_us <= 0 ? NULL : rate_limits_find(all, kind, id);
    if (it != NULL && it->full_us > INT64_MIN + all->rules[kind].every_us)
        it->full_us -= all->rules[kind].every_us;
}

uint64_t rate_limits_refused(rate_limits *all, rate_limits_kind kind, const char *id)
{
    bucket *it = rate_limits_find(all, kind, id);
    uint64_t refused = it == NULL ? 0 : it->refused;
    if (it != NULL)
        it->refused = 0;
    return refused;
}

bool rate_limits_enter(rate_limits *all, rate_limits_kind kind, const char *id, rate_limits_use use)
{
    unsigned most = all->rules[kind].at_once[use];
    if (most == 0)
        return true;
    bucket *it = rate_limits_bucket_of(all, kind, id);
    if (it == NULL || it->under_way[use] >= most)
        return false;
    rate_limits_count_use(all, it, kind, id, use, true);
    return true;
}

void rate_limits_leave(rate_limits *all, rate_limits_kind kind, const char *id, rate_limits_use use)
{
    bucket *it = all->rules[kind].at_once[use] == 0 ? NULL : rate_limits_find(all, kind, id);
    if (it != NULL && it->under_way[use] > 0)
        rate_limits_count_use(all, it, kind, id, use, false);
}

size_t rate_limits_count(const rate_limits *all)
{
    return all->idle.count + all->busy.count;
}
