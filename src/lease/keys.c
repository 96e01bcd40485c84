/* SPDX-License-Identifier: MIT */
/* The keys in use: a table with an entry for each, so that unrelated keys never wait for each
 * other. The hash has a random seed, so that nobody can choose keys that fall into one bucket. */
#include "base/error.h"
#include "base/seams.h"
#include "lease/inside.h"

#include <string.h>

enum { LEASE_BUCKETS_FIRST = 64 };

hf_status lease_key_check(const char *key, hf_error *err)
{
    size_t size = key == NULL ? 0 : strnlen(key, HF_LEASE_KEY_SIZE);
    if (size == 0)
        return hf_fail(err, HF_INVALID, "A lease needs a key of 1 to %d bytes; this one is empty.",
                       HF_LEASE_KEY_MAX);
    if (size > HF_LEASE_KEY_MAX)
        return hf_fail(
            err, HF_TOO_LARGE,
            "The key of a lease has at most %d bytes; use a shorter one, or a digest of it.",
            HF_LEASE_KEY_MAX);
    if (!hf_text_is_clean(key, size))
        return hf_fail(err, HF_INVALID, "The key of a lease is UTF-8 without control characters.");
    return HF_OK;
}

static uint64_t lease_key_mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t lease_key_hash(uint64_t seed, const char *text, size_t size)
{
    uint64_t hash = lease_key_mix(seed, size + 1), word;
    for (; size >= sizeof word; text += sizeof word, size -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = lease_key_mix(hash, word ^ seed);
    }
    word = 0;
    memcpy(&word, text, size);
    return lease_key_mix(lease_key_mix(hash, word), seed);
}

bool lease_keys_init(hf_leases *leases)
{
    leases->buckets = hf_alloc(LEASE_BUCKETS_FIRST * sizeof(lease_key *));
    leases->buckets_count = LEASE_BUCKETS_FIRST;
    return leases->buckets != NULL && hf_seam.random(&leases->seed, sizeof leases->seed);
}

/* Twice as many buckets; without memory the lists only get longer. */
static void lease_keys_grow(hf_leases *leases)
{
    size_t count = leases->buckets_count * 2;
    lease_key **wider = hf_alloc(count * sizeof *wider);
    if (wider == NULL)
        return;
    for (size_t i = 0; i < leases->buckets_count; i++)
        for (lease_key *key = leases->buckets[i], *next; key != NULL; key = next) {
            next = key->next;
            key->next = wider[key->hash & (count - 1)];
            wider[key->hash & (count - 1)] = key;
        }
    hf_free(leases->buckets);
    leases->buckets = wider;
    leases->buckets_count = count;
}

static lease_key *lease_key_add(hf_leases *leases, uint64_t hash, const char *text, size_t size)
{
    lease_key *key = leases->unused_keys;
    if (leases->keys_count >= leases->buckets_count)
        lease_keys_grow(leases);
    if (key != NULL)
        leases->unused_keys = key->next;
    else if ((key = hf_realloc(NULL, sizeof *key)) == NULL)
        return NULL;
    lease_key **bucket = &leases->buckets[hash & (leases->buckets_count - 1)];
    key->hash = hash;
    key->next = *bucket;
    key->hold = NULL;
    key->busy = false;
    key->first = NULL;
    key->last = &key->first;
    key->size = size;
    memcpy(key->text, text, size + 1);
    *bucket = key;
    leases->keys_count++;
    return key;
}

lease_key *lease_key_find(hf_leases *leases, const char *text, size_t size)
{
    uint64_t hash = lease_key_hash(leases->seed, text, size);
    lease_key *key = leases->buckets[hash & (leases->buckets_count - 1)];
    while (key != NULL &&
           (key->hash != hash || key->size != size || memcmp(key->text, text, size) != 0))
        key = key->next;
    return key != NULL ? key : lease_key_add(leases, hash, text, size);
}

void lease_key_drop(hf_leases *leases, lease_key *key)
{
    if (key->hold != NULL || key->busy || key->first != NULL)
        return;
    lease_key **at = &leases->buckets[key->hash & (leases->buckets_count - 1)];
    while (*at != key)
        at = &(*at)->next;
    *at = key->next;
    key->next = leases->unused_keys;
    leases->unused_keys = key;
    leases->keys_count--;
}
