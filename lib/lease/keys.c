/* SPDX-License-Identifier: MIT */
/* The keys in use: a table with an entry for each, so that unrelated keys never wait for each
 * other. The hash has a random seed, so that nobody can choose keys that fall into one bucket. */
#include "base/error.h"
#include "base/seams.h"
#include "lease/inside.h"

#include <string.h>

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

bool lease_keys_init(hf_leases *leases)
{
    return hf_seam.random(&leases->seed, sizeof leases->seed);
}

static lease_key *lease_key_add(hf_leases *leases, uint64_t hash, const char *text, size_t size)
{
    lease_key *key = leases->unused_keys;
    if (key != NULL)
        leases->unused_keys = (lease_key *)key->entry.next;
    else if ((key = hf_realloc(NULL, sizeof *key)) == NULL)
        return NULL;
    if (!hf_hash_add(&leases->keys, &key->entry, hash)) {
        hf_free(key);
        return NULL;
    }
    key->hold = NULL;
    key->busy = false;
    TAILQ_INIT(&key->line);
    key->size = size;
    memcpy(key->text, text, size + 1);
    return key;
}

lease_key *lease_key_find(hf_leases *leases, const char *text, size_t size)
{
    uint64_t hash = hf_hash_bytes(leases->seed, text, size);
    for (hf_hash_entry *entry = hf_hash_first(&leases->keys, hash); entry != NULL;
         entry = hf_hash_next(entry)) {
        lease_key *key = (lease_key *)entry;
        if (key->size == size && memcmp(key->text, text, size) == 0)
            return key;
    }
    return lease_key_add(leases, hash, text, size);
}

void lease_key_drop(hf_leases *leases, lease_key *key)
{
    if (key->hold != NULL || key->busy || !TAILQ_EMPTY(&key->line))
        return;
    hf_hash_remove(&leases->keys, &key->entry);
    key->entry.next = (hf_hash_entry *)leases->unused_keys;
    leases->unused_keys = key;
}
