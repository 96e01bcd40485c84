/* SPDX-License-Identifier: MIT */
/* Buckets of chains for finding, a doubly linked list for the order of use. */
#include "server/recent.h"

#include "base/seams.h"

#include <string.h>

bool recent_init(recent *table, size_t most)
{
    size_t count = 16;
    while (count < most && count < ((size_t)1 << 20))
        count *= 2;
    *table = (recent){.buckets = hf_alloc(count * sizeof *table->buckets), .buckets_count = count};
    return table->buckets != NULL && hf_seam.random(&table->seed, sizeof table->seed);
}

void recent_done(recent *table)
{
    hf_free(table->buckets);
    *table = (recent){0};
}

static uint64_t recent_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t recent_hash_of(const recent *table, unsigned char kind, const char *key,
                               size_t size)
{
    uint64_t hash = table->seed ^ (UINT64_C(0x9e3779b97f4a7c15) * (kind + 1u)), word;
    for (; size >= 8; key += 8, size -= 8) {
        memcpy(&word, key, 8);
        hash = recent_fold(hash ^ word, UINT64_C(0xe7037ed1a0b428db));
    }
    word = 0;
    memcpy(&word, key, size);
    return recent_fold(hash ^ word, UINT64_C(0x8ebc6af09c88c6e3) ^ size);
}

static size_t recent_cut(size_t size)
{
    return size < RECENT_KEY_MAX ? size : RECENT_KEY_MAX;
}

static recent_entry **recent_bucket(const recent *table, uint64_t hash)
{
    return &table->buckets[hash & (table->buckets_count - 1)];
}

recent_entry *recent_find(const recent *table, unsigned char kind, const void *key, size_t size)
{
    uint64_t hash = recent_hash_of(table, kind, key, recent_cut(size));
    recent_entry *entry = *recent_bucket(table, hash);
    while (entry != NULL &&
           !(entry->hash == hash && entry->kind == kind && entry->size == recent_cut(size) &&
             memcmp(entry->key, key, recent_cut(size)) == 0))
        entry = entry->chain;
    return entry;
}

static void put_newest(recent *table, recent_entry *entry)
{
    entry->newer = NULL;
    entry->older = table->newest;
    *(table->newest == NULL ? &table->oldest : &table->newest->newer) = entry;
    table->newest = entry;
}

static void recent_take_out(recent *table, recent_entry *entry)
{
    *(entry->newer == NULL ? &table->newest : &entry->newer->older) = entry->older;
    *(entry->older == NULL ? &table->oldest : &entry->older->newer) = entry->newer;
}

void recent_add(recent *table, recent_entry *entry, unsigned char kind, const void *key,
                size_t size)
{
    *entry = (recent_entry){.kind = kind, .size = (unsigned char)recent_cut(size)};
    memcpy(entry->key, key, recent_cut(size));
    entry->hash = recent_hash_of(table, kind, entry->key, entry->size);
    recent_entry **at = recent_bucket(table, entry->hash);
    entry->chain = *at;
    *at = entry;
    put_newest(table, entry);
    table->count++;
}

void recent_remove(recent *table, recent_entry *entry)
{
    recent_entry **at = recent_bucket(table, entry->hash);
    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    recent_take_out(table, entry);
    table->count--;
}

void recent_use(recent *table, recent_entry *entry)
{
    if (table->newest == entry)
        return;
    recent_take_out(table, entry);
    put_newest(table, entry);
}
