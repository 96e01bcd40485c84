/* SPDX-License-Identifier: MIT */
/* Buckets of chains for finding, a doubly linked list for the order of use. */
#include "server/access/lru.h"

#include "base/hash.h"
#include "base/seams.h"

#include <string.h>

bool lru_init(lru *table, size_t most)
{
    size_t count = 16;
    while (count < most && count < ((size_t)1 << 20))
        count *= 2;
    *table = (lru){.buckets = hf_alloc(count * sizeof *table->buckets), .buckets_count = count};
    return table->buckets != NULL && hf_seam.random(&table->seed, sizeof table->seed);
}

void lru_done(lru *table)
{
    hf_free(table->buckets);
    *table = (lru){0};
}

static uint64_t lru_hash_of(const lru *table, unsigned char kind, const char *key, size_t size)
{
    return hf_hash_bytes(table->seed + kind, key, size);
}

static size_t lru_cut(size_t size)
{
    return size < LRU_KEY_MAX ? size : LRU_KEY_MAX;
}

static lru_entry **lru_bucket(const lru *table, uint64_t hash)
{
    return &table->buckets[hash & (table->buckets_count - 1)];
}

lru_entry *lru_find(const lru *table, unsigned char kind, const void *key, size_t size)
{
    uint64_t hash = lru_hash_of(table, kind, key, lru_cut(size));
    lru_entry *entry = *lru_bucket(table, hash);
    while (entry != NULL &&
           !(entry->hash == hash && entry->kind == kind && entry->size == lru_cut(size) &&
             memcmp(entry->key, key, lru_cut(size)) == 0))
        entry = entry->chain;
    return entry;
}

static void lru_put_newest(lru *table, lru_entry *entry)
{
    entry->newer = NULL;
    entry->older = table->newest;
    *(table->newest == NULL ? &table->oldest : &table->newest->newer) = entry;
    table->newest = entry;
}

static void lru_take_out(lru *table, lru_entry *entry)
{
    *(entry->newer == NULL ? &table->newest : &entry->newer->older) = entry->older;
    *(entry->older == NULL ? &table->oldest : &entry->older->newer) = entry->newer;
}

void lru_add(lru *table, lru_entry *entry, unsigned char kind, const void *key, size_t size)
{
    *entry = (lru_entry){.kind = kind, .size = (unsigned char)lru_cut(size)};
    memcpy(entry->key, key, lru_cut(size));
    entry->hash = lru_hash_of(table, kind, entry->key, entry->size);
    lru_entry **at = lru_bucket(table, entry->hash);
    entry->chain = *at;
    *at = entry;
    lru_put_newest(table, entry);
    table->count++;
}

void lru_remove(lru *table, lru_entry *entry)
{
    lru_entry **at = lru_bucket(table, entry->hash);
    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    lru_take_out(table, entry);
    table->count--;
}

void lru_use(lru *table, lru_entry *entry)
{
    if (table->newest == entry)
        return;
    lru_take_out(table, entry);
    lru_put_newest(table, entry);
}
