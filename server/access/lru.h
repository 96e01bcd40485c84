/* SPDX-License-Identifier: MIT */
/* A hash table that knows the order in which its entries were last used, so that it can be kept
 * within a limit. Entries are part of the caller's structs, who allocates and frees them. Keys may
 * come from strangers: the hash has a random seed. */
#ifndef HF_SERVER_ACCESS_LRU_H
#define HF_SERVER_ACCESS_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LRU_KEY_MAX = 64 };

typedef struct lru_entry {
    struct lru_entry *chain;         /* of the same bucket */
    struct lru_entry *newer, *older; /* by last use */
    uint64_t hash;
    unsigned char kind, size;
    char key[LRU_KEY_MAX];
} lru_entry;

typedef struct lru {
    lru_entry **buckets;
    size_t buckets_count; /* a power of two */
    uint64_t seed;
    size_t count;
    lru_entry *newest, *oldest;
} lru;

/* For about `most` entries. False: out of memory, or no random bytes. */
bool lru_init(lru *table, size_t most);
/* The entries are the caller's: lru_remove them first. Fine on zeroes. */
void lru_done(lru *table);

/* The entry with that name, or NULL. A name of more than LRU_KEY_MAX bytes is cut. */
lru_entry *lru_find(const lru *table, unsigned char kind, const void *key, size_t size);

/* Names the entry, which must not be in the table, and puts it in as the newest; no entry of that
 * name may be there. */
void lru_add(lru *table, lru_entry *entry, unsigned char kind, const void *key, size_t size);
void lru_remove(lru *table, lru_entry *entry);

/* It has been used: it is the newest. */
void lru_use(lru *table, lru_entry *entry);

#endif
