/* SPDX-License-Identifier: MIT */
/* A bucket is one number: when it will be full again. Taking some moves that by the time they need to come back; it may not be further away
 * than a whole burst needs. So a full bucket is like none, and can be forgotten; what is under way can't. */
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
    recent table;
};

limits *limits_new(const limits_rule rules[LIMITS_KINDS], size_t callers_max)
{
    limits *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return NULL;
    memcpy(all->rules, rules, sizeof all->rules);
    all->most = callers_max == 0 ? LIMITS_MAX : callers_max;
    if (!recent_init(&all->table, all->most)) {
        limits_free(all);
        return NULL;
    }
    return all;
}

static void drop(limits *all, bucket *it)
{
    recent_remove(&all->table, &it->entry);
    hf_free(it);
}

void limits_free(limits *all)
{
    if (all == NULL)
        return;
    while (all->table.oldest != NULL)
        drop(all, (bucket *)all->table.oldest);
    recent_done(&all->table);
    hf_free(all);
}

static bucket *find(const limits *all, limits_kind kind, const char *id)
{
    return (bucket *)recent_find(&all->table, (unsigned char)kind, id, strlen(id));
}

static bool is_pinned(const bucket *it)
{
    return it->under_way[LIMITS_REQUEST] > 0 || it->under_way[LIMITS_STREAM] > 0;
}

enum { LOOK_BACK = 16 };

/* Makes room by forgetting who was here longest ago; those with something under way are passed over, a few at a time. */
static bool make_room(limits *all)
{
    if (all->table.count < all->most)
        return true;
    recent_entry *entry = all->table.oldest, *newer;
    for (int i = 0; i < LOOK_BACK && entry != NULL; i++, entry = newer) {
        newer = entry->newer;
        if (!is_pinned((bucket *)entry)) {
            drop(all, (bucket *)entry);
            return true;
        }
        recent_use(&all->table, entry);
    }
    return false;
}

/* The caller's bucket, made if need be; NULL: there is no room. */
static bucket *bucket_of(limits *all, limits_kind kind, const char *id)
{
    bucket *it = find(all, kind, id);
    if (it != NULL) {
        recent_use(&all->table, &it->entry);
        return it;
    }
    if (!make_room(all) || (it = hf_alloc(sizeof *it)) == NULL)
        return NULL;
    it->full_us = INT64_MIN;
    recent_add(&all->table, &it->entry, (unsigned char)kind, id, strlen(id));
    return it;
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
    bucket *it = find(all, kind, id);
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
    it->under_way[use]++;
    return true;
}

void limits_leave(limits *all, limits_kind kind, const char *id, limits_use use)
{
    bucket *it = all->rules[kind].at_once[use] == 0 ? NULL : find(all, kind, id);
    if (it != NULL && it->under_way[use] > 0)
        it->under_way[use]--;
}

size_t limits_count(const limits *all)
{
    return all->table.count;
}
