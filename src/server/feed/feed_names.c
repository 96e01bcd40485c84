/* SPDX-License-Identifier: MIT */
/* Hashes in order, and beside each where its name stands in one text. The hash needs no seed:
 * names that were made to have the same one are only compared with an event that has it too. */
#include "server/feed/feed_names.h"

#include "base/seams.h"

#include <stdlib.h>
#include <string.h>

typedef struct feed_name {
    uint64_t hash;
    size_t at; /* of its type in the text; its id comes behind it */
} feed_name;

struct feed_names {
    size_t count;
    feed_name *all; /* by hash */
    char *text;
};

/* FNV-1a, up to the NUL. */
static uint64_t feed_names_mix(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t feed_names_hash(const hf_resource *resource)
{
    uint64_t type = feed_names_mix(UINT64_C(0xcbf29ce484222325), resource->type);
    return feed_names_mix(feed_names_mix(type, "/"), resource->id);
}

static int feed_names_order(const void *a, const void *b)
{
    const feed_name *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

feed_names *feed_names_new(const hf_resource *resources, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += strlen(resources[i].type) + strlen(resources[i].id) + 2;
    feed_names *names = hf_alloc(sizeof *names + count * sizeof *names->all + size);
    if (names == NULL)
        return NULL;
    names->count = count;
    names->all = (feed_name *)(void *)(names + 1);
    names->text = (char *)(names->all + count);
    char *at = names->text;
    for (size_t i = 0; i < count; i++) {
        names->all[i] = (feed_name){feed_names_hash(&resources[i]), (size_t)(at - names->text)};
        at = stpcpy(at, resources[i].type) + 1;
        at = stpcpy(at, resources[i].id) + 1;
    }
    qsort(names->all, count, sizeof *names->all, feed_names_order);
    return names;
}

void feed_names_free(feed_names *names)
{
    hf_free(names);
}

static bool feed_names_same(const char *name, const hf_resource *resource)
{
    return strcmp(name, resource->type) == 0 && strcmp(name + strlen(name) + 1, resource->id) == 0;
}

bool feed_names_have(const feed_names *names, uint64_t hash, const hf_resource *resource)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (names->all[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < names->count && names->all[low].hash == hash; low++)
        if (feed_names_same(names->text + names->all[low].at, resource))
            return true;
    return false;
}
