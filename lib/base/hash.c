/* SPDX-License-Identifier: MIT */
/* A hash table with chained buckets, as many as entries or more. */
#include "base/hash.h"

#include "base/seams.h"

enum { HASH_FIRST = 16 };

static void hash_put(hf_hash_entry **buckets, size_t size, hf_hash_entry *entry)
{
    hf_hash_entry **bucket = &buckets[entry->hash & (size - 1)];
    entry->next = *bucket;
    *bucket = entry;
}

/* False: there is no table at all. */
static bool hash_grow(hf_hash *table)
{
    size_t size = table->size == 0 ? HASH_FIRST : table->size * 2;
    hf_hash_entry **buckets = hf_alloc(size * sizeof *buckets);
    if (buckets == NULL)
        return table->size > 0;
    for (size_t i = 0; i < table->size; i++)
        for (hf_hash_entry *entry = table->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            hash_put(buckets, size, entry);
        }
    hf_free(table->buckets);
    table->buckets = buckets;
    table->size = size;
    return true;
}

bool hf_hash_add(hf_hash *table, hf_hash_entry *entry, uint64_t hash)
{
    if (table->count >= table->size && !hash_grow(table))
        return false;
    entry->hash = hash;
    hash_put(table->buckets, table->size, entry);
    table->count++;
    return true;
}

void hf_hash_remove(hf_hash *table, hf_hash_entry *entry)
{
    hf_hash_entry **at = &table->buckets[entry->hash & (table->size - 1)];
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    table->count--;
}

hf_hash_entry *hf_hash_walk(const hf_hash *table, const hf_hash_entry *last)
{
    if (last != NULL && last->next != NULL)
        return last->next;
    for (size_t i = last == NULL ? 0 : (last->hash & (table->size - 1)) + 1; i < table->size; i++)
        if (table->buckets[i] != NULL)
            return table->buckets[i];
    return NULL;
}

void hf_hash_done(hf_hash *table)
{
    hf_free(table->buckets);
    *table = (hf_hash){0};
}
