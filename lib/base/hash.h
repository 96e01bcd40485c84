/* SPDX-License-Identifier: MIT */
/* A hash table. Its entries stand in structs of the caller's, who allocates and frees them. */
#ifndef HF_BASE_HASH_H
#define HF_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct hf_hash_entry {
    struct hf_hash_entry *next; /* in its bucket */
    uint64_t hash;
} hf_hash_entry;

/* Zero: empty. */
typedef struct hf_hash {
    hf_hash_entry **buckets;
    size_t size, count; /* size: 0 or a power of two */
} hf_hash;

static inline uint64_t hf_hash_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Where names come from strangers the seed is random, so that nobody can choose names that fall
 * into one bucket. */
static inline uint64_t hf_hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t hash = seed ^ UINT64_C(0x9e3779b97f4a7c15), word;
    for (; size >= 8; at += 8, size -= 8) {
        memcpy(&word, at, 8);
        hash = hf_hash_mix(hash ^ word, UINT64_C(0xe7037ed1a0b428db));
    }
    word = 0;
    if (size > 0)
        memcpy(&word, at, size);
    return hf_hash_mix(hash ^ word, UINT64_C(0x8ebc6af09c88c6e3) ^ size);
}

/* The entry of the bucket from `entry` on with that hash; NULL: none. */
static inline hf_hash_entry *hf_hash_match(hf_hash_entry *entry, uint64_t hash)
{
    while (entry != NULL && entry->hash != hash)
        entry = entry->next;
    return entry;
}

/* The entries with that hash, one after the other; the caller compares their keys. */
static inline hf_hash_entry *hf_hash_first(const hf_hash *table, uint64_t hash)
{
    return table->size == 0 ? NULL : hf_hash_match(table->buckets[hash & (table->size - 1)], hash);
}

static inline hf_hash_entry *hf_hash_next(const hf_hash_entry *entry)
{
    return hf_hash_match(entry->next, entry->hash);
}

/* False: out of memory. When there is none to grow, the buckets only get longer. */
bool hf_hash_add(hf_hash *table, hf_hash_entry *entry, uint64_t hash);
void hf_hash_remove(hf_hash *table, hf_hash_entry *entry);

/* All entries, in no order: the one after `last` (NULL: the first); NULL at the end. */
hf_hash_entry *hf_hash_walk(const hf_hash *table, const hf_hash_entry *last);

/* Frees the table and leaves it empty; the entries are the caller's. */
void hf_hash_done(hf_hash *table);

#endif
