/* SPDX-License-Identifier: MIT */
/* A table that knows which of its entries was used longest ago, so that whoever fills it can keep
 * it within bounds. Entries live in structs of the caller's, who allocates and frees them. Names
 * may come from strangers: the hash has a seed. */
#ifndef HF_SERVER_RECENT_H
#define HF_SERVER_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECENT_KEY_MAX = 64 };

typedef struct recent_entry {
    struct recent_entry *chain;         /* of the same bucket */
    struct recent_entry *newer, *older; /* by last use */
    uint64_t hash;
    unsigned char kind, size;
    char key[RECENT_KEY_MAX];
} recent_entry;

typedef struct recent {
    recent_entry **buckets;
    size_t buckets_count; /* a power of two */
    uint64_t seed;
    size_t count;
    recent_entry *newest, *oldest;
} recent;

/* For about `most` entries. False: memory or randomness is out. */
bool recent_init(recent *table, size_t most);
/* The entries are the caller's: recent_remove them first. Fine on zeroes. */
void recent_done(recent *table);

/* The entry with that name, or NULL. A name of more than RECENT_KEY_MAX bytes is cut. */
recent_entry *recent_find(const recent *table, unsigned char kind, const void *key, size_t size);

/* Names the entry, which must not be in the table, and puts it in as the newest; no entry of that
 * name may be there. */
void recent_add(recent *table, recent_entry *entry, unsigned char kind, const void *key,
                size_t size);
void recent_remove(recent *table, recent_entry *entry);

/* It has been used: it is the newest. */
void recent_use(recent *table, recent_entry *entry);

#endif
