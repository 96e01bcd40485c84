/* SPDX-License-Identifier: MIT */
/* Holds and the leases that point to them; how a hold ends. */
#include "base/cleanup.h"
#include "base/seams.h"
#include "lease/inside.h"

#include <stdio.h>
#include <string.h>

enum { LEASE_BLOCK_PIECES = 64 };

/* ---- memory: pieces are used again, and freed with the provider, so that an old lease never
 * points nowhere ---- */

static void *lease_block_new(hf_leases *leases, size_t piece)
{
    lease_block *block = hf_alloc(sizeof *block + LEASE_BLOCK_PIECES * piece);
    if (block == NULL)
        return NULL;
    block->next = leases->blocks;
    leases->blocks = block;
    return block + 1;
}

void lease_blocks_free(hf_leases *leases)
{
    for (lease_block *next; leases->blocks != NULL; leases->blocks = next) {
        next = leases->blocks->next;
        hf_free(leases->blocks);
    }
}

lease_hold *lease_hold_new(hf_leases *leases)
{
    lease_hold *hold = leases->unused_holds;
    if (hold == NULL) {
        lease_hold *pieces = lease_block_new(leases, sizeof *pieces);
        for (size_t i = 0; pieces != NULL && i < LEASE_BLOCK_PIECES; i++) {
            pieces[i].next = leases->unused_holds;
            leases->unused_holds = &pieces[i];
        }
        if ((hold = leases->unused_holds) == NULL)
            return NULL;
    }
    leases->unused_holds = hold->next;
    hold->grant.fence = hold->grant.asked_us = 0;
    hold->grant.link = NULL;
    hold->leases = leases;
    hold->key = NULL;
    hold->state = LEASE_ASKED;
    hold->gone = false;
    hold->open = 0;
    hold->owners = 1;
    hold->place = 0;
    leases->holds_count++;
    return hold;
}

void lease_hold_leave(lease_hold *hold)
{
    if (--hold->owners > 0)
        return;
    hold->next = hold->leases->unused_holds;
    hold->leases->unused_holds = hold;
    hold->leases->holds_count--;
}

bool lease_slot_add(lease_hold *hold, hf_lease *out)
{
    hf_leases *leases = hold->leases;
    lease_slot *slot = leases->unused_slots;
    if (slot == NULL) {
        lease_slot *pieces = lease_block_new(leases, sizeof *pieces);
        for (size_t i = 0; pieces != NULL && i < LEASE_BLOCK_PIECES; i++) {
            pieces[i].leases = leases;
            pieces[i].next = leases->unused_slots;
            leases->unused_slots = &pieces[i];
        }
        if ((slot = leases->unused_slots) == NULL)
            return false;
    }
    leases->unused_slots = slot->next;
    slot->hold = hold;
    slot->serial = ++leases->serial;
    hold->open++;
    hold->owners++;
    *out = (hf_lease){slot, slot->serial};
    return true;
}

lease_hold *lease_slot_hold(const hf_lease *lease)
{
    return lease->slot->serial == lease->serial ? lease->slot->hold : NULL;
}

void lease_slot_free(lease_slot *slot)
{
    hf_leases *leases = slot->leases;
    lease_hold *hold = slot->hold;
    slot->serial = 0;
    slot->hold = NULL;
    slot->next = leases->unused_slots;
    leases->unused_slots = slot;
    hold->open--;
    lease_hold_leave(hold);
}

/* ---- how a hold ends ---- */

void lease_key_pass(hf_leases *leases, lease_key *key)
{
    if (key->hold == NULL && !key->busy && !TAILQ_EMPTY(&key->line))
        pthread_cond_signal(&TAILQ_FIRST(&key->line)->woken);
    else
        lease_key_drop(leases, key);
}

void lease_hold_end(lease_hold *hold)
{
    lease_key *key = hold->key;
    lease_heap_remove(hold);
    hold->state = LEASE_ENDED;
    hold->key = NULL;
    key->hold = NULL;
    key->busy = hold->leases->backend != NULL;
}

void lease_hold_give(lease_hold *hold, lease_key *key)
{
    hf_leases *leases = hold->leases;
    if (leases->backend != NULL) {
        leases->inside++;
        pthread_mutex_unlock(&leases->mutex);
        leases->backend->ops->give(leases->backend, &hold->grant);
        pthread_mutex_lock(&leases->mutex);
        if (--leases->inside == 0)
            pthread_cond_broadcast(&leases->left);
        key->busy = false;
    }
    lease_hold_leave(hold);
    lease_key_pass(leases, key);
}

void lease_tell(const hf_leases *leases, hf_lease_event event, const char *key, int64_t fence,
                const char *text)
{
    hf_lease_notice notice = {event, key, fence, text};
    if (leases->options.listener != NULL)
        leases->options.listener(leases->options.context, &notice);
}

/* ---- what a backend tells ---- */

static void lease_host_answer(hf_lease_request *ask, hf_status status, const hf_error *err)
{
    lease_waiter *waiter = (lease_waiter *)((char *)ask - offsetof(lease_waiter, ask));
    hf_leases *leases = ((lease_hold *)ask->grant)->leases;
    pthread_mutex_lock(&leases->mutex);
    waiter->answered = true;
    waiter->status = status;
    if (status != HF_OK && waiter->err != NULL)
        *waiter->err = *err;
    pthread_cond_signal(&waiter->woken);
    pthread_mutex_unlock(&leases->mutex);
}

static bool lease_host_lost(hf_lease_grant *grant, const char *why)
{
    lease_hold *hold = (lease_hold *)grant;
    hf_leases *leases = hold->leases;
    char text[HF_LEASE_KEY_SIZE];
    pthread_mutex_lock(&leases->mutex);
    hold->gone = true;
    lease_key *key = hold->key;
    if (hold->state != LEASE_HELD) { /* nobody knows of it yet, or it is just being given back */
        pthread_mutex_unlock(&leases->mutex);
        return false;
    }
    int64_t fence = grant->fence;
    memcpy(text, key->text, key->size + 1);
    lease_hold_end(hold);
    key->busy = false; /* there is nothing to give back */
    lease_hold_leave(hold);
    lease_key_pass(leases, key);
    leases->inside++;
    pthread_mutex_unlock(&leases->mutex);
    lease_tell(leases, HF_LEASE_LOST, text, fence, why);
    pthread_mutex_lock(&leases->mutex);
    if (--leases->inside == 0)
        pthread_cond_broadcast(&leases->left);
    pthread_mutex_unlock(&leases->mutex);
    return true;
}

const hf_lease_host lease_host = {lease_host_answer, lease_host_lost};
