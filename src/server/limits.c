/* SPDX-License-Identifier: MIT */
/* A bucket is one number: when it will be full again. Taking some moves that by the time they
 * need to come back; it may not be further away than a whole burst needs. So a full bucket is
 * like none, and can be forgotten; what is under way can't: whoever has something under way is
 * in a table of its own, which is as large as it has to be. */
#include "server/limits.h"

#include "base/seams.h"
#include "server/recent.h"

#include <string.h>

typedef struct bucket {
    recent_entry entry; /* first */
    int64_t full_us;
    uint64_t refused;
    unsigned under_way[LIMITS_USES];
} bucket;

struct limits {
    limits_rule rules[LIMITS_KINDS];
    size_t most;
    recent idle, busy; /* callers with nothing and with something under way */
};

limits *limits_new(const limits_rule rules[LIMITS_KINDS], size_t callers_max)
{
    limits *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return NULL;
    memcpy(all->rules, rules, sizeof all->rules);
    all->most = callers_max == 0 ? LIMITS_MAX : callers_max;
    if (!recent_init(&all->idle, all->most) || !recent_init(&all->busy, all->most)) {
        limits_free(all);
        return NULL;
    }
    return all;
}

static void limits_drop_oldest(recent *from)
{
    recent_entry *oldest = from->oldest;
    recent_remove(from, oldest);
    hf_free(oldest);
}

void limits_free(limits *all)
{
    if (all == NULL)
        return;
    recent *tables[] = {&all->idle, &all->busy};
    for (size_t i = 0; i < 2; i++) {
        while (tables[i]->oldest != NULL)
            limits_drop_oldest(tables[i]);
        recent_done(tables[i]);
    }
    hf_free(all);
}

static bool is_busy(const bucket *it)
{
    return it->under_way[LIMITS_REQUEST] > 0 || it->under_way[LIMITS_STREAM] > 0;
}

static bucket *limits_find(const limits *all, limits_kind kind, const char *id)
{
    recent_entry *entry = recent_find(&all->busy, (unsigned char)kind, id, strlen(id));
    if (entry == NULL)
        entry = recent_find(&all->idle, (unsigned char)kind, id, strlen(id));
    return (bucket *)entry;
}

/* As the newest of its table; of the idle ones whoever was here longest ago makes room. */
static void limits_put(limits *all, bucket *it, limits_kind kind, const char *id)
{
    recent *to = is_busy(it) ? &all->busy : &all->idle;
    while (to == &all->idle && to->count >= all->most)
        limits_drop_oldest(to);
    recent_add(to, &it->entry, (unsigned char)kind, id, strlen(id));
}

/* The caller's bucket, made if need be; NULL: out of memory. */
static bucket *bucket_of(limits *all, limits_kind kind, const char *id)
{
    bucket *it = limits_find(all, kind, id);
    if (it != NULL) {
        recent_use(is_busy(it) ? &all->busy : &all->idle, &it->entry);
        return it;
    }
    if ((it = hf_alloc(sizeof *it)) == NULL)
        return NULL;
    it->full_us = INT64_MIN;
    limits_put(all, it, kind, id);
    return it;
}

/* One more or one less is under way. */
static void limits_count_use(limits *all, bucket *it, limits_kind kind, const char *id,
                             limits_use use, bool more)
{
    bool was_busy = is_busy(it);
    it->under_way[use] += more ? 1 : -1u;
    if (is_busy(it) == was_busy)
        return;
    recent_remove(was_busy ? &all->busy : &all->idle, &it->entry);
    limits_put(all, it, kind, id);
}

bool limits_take(limits *all, limits_kind kind, const char *id, size_t count, int64_t now_us,
                 int64_t *retry_after_us)
{
    const limits_rule *rule = &all->rules[kind];
    size_t burst = rule->burst > 1 ? rule->burst : 1;
    size_t cost = count < 1 ? 1 : count < burst ? count : burst;
    *retry_after_us = 0;
    if (rule->every_us <= 0)
        return true;
    bucket *it = bucket_of(all, kind, id);
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

uint64_t limits_refused(limits *all, limits_kind kind, const char *id)
{
    bucket *it = limits_find(all, kind, id);
    uint64_t refused = it == NULL ? 0 : it->refused;
    if (it != NULL)
        it->refused = 0;
    return refused;
}

bool limits_enter(limits *all, limits_kind kind, const char *id, limits_use use)
{
    unsigned most = all->rules[kind].at_once[use];
    if (most == 0)
        return true;
    bucket *it = bucket_of(all, kind, id);
    if (it == NULL || it->under_way[use] >= most)
        return false;
    limits_count_use(all, it, kind, id, use, true);
    return true;
}

void limits_leave(limits *all, limits_kind kind, const char *id, limits_use use)
{
    bucket *it = all->rules[kind].at_once[use] == 0 ? NULL : limits_find(all, kind, id);
    if (it != NULL && it->under_way[use] > 0)
        limits_count_use(all, it, kind, id, use, false);
}

size_t limits_count(const limits *all)
{
    return all->idle.count + all->busy.count;
}
