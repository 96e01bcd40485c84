/* SPDX-License-Identifier: MIT */
/* A client with a ledger: random ops on resources of its own type, each answer foretold. */
#include "faults/database_clients.h"
#include "faults/database_target.h"
#include "faults/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLLOW_EVERY = 25, EVENTS_FULL = LEDGER_EVENTS_MAX * 2 / 3 };

typedef struct client {
    clients_board *board;
    clients_post *post;
    hf_store *store;
    unsigned steps;
    ledger ledger;
    ledger before; /* a look that fails has to be taken back */
} client;

static bool is_calm(unsigned fault)
{
    return fault % 2 == 0;
}

/* A fault was or is: what fails may. */
static bool is_excused(const client *c, unsigned fault)
{
    return !is_calm(fault) || atomic_load(&c->board->fault) != fault;
}

static void database_clients_ledger_count(client *c, hf_status status)
{
    clients_post *post = c->post;
    atomic_size_t *of = status == HF_OK            ? &post->done
                        : status == HF_BUSY        ? &post->busy
                        : status == HF_UNAVAILABLE ? &post->unavailable
                        : status == HF_UNSURE      ? &post->unsure
                                                   : &post->refused;
    atomic_fetch_add(of, 1);
}

static void database_clients_ledger_step(client *c, unsigned fault)
{
    ledger_answer answer;
    ledger_op op = ledger_choose(&c->ledger);
    int64_t began_us = monotonic_us();
    ledger_ask(c->store, &c->ledger, &op, &answer);
    clients_note_time(c->post, began_us);
    database_clients_ledger_count(c, answer.status);
    const char *problem = ledger_book(&c->ledger, &op, &answer);
    if (problem)
        clients_wrong(c->post, "%s", problem);
    bool failed =
        answer.status == HF_UNSURE || answer.status == HF_UNAVAILABLE || answer.status == HF_RETRY;
    if (failed && !is_excused(c, fault))
        clients_wrong(c->post, "without a fault it was answered %s: %s",
                      hf_status_wire(answer.status), answer.message);
    if (answer.status == HF_UNAVAILABLE)
        sleep_ms(3);
}

static void database_clients_ledger_follow(client *c, unsigned fault)
{
    memcpy(&c->before, &c->ledger, sizeof c->before);
    const char *problem = ledger_follow(&c->ledger, c->store);
    if (problem && is_excused(c, fault))
        memcpy(&c->ledger, &c->before, sizeof c->before);
    else if (problem)
        clients_wrong(c->post, "%s", problem);
}

/* The fault is over: everything that was acknowledged is so, and what was unsure can be settled. */
static void database_clients_ledger_come_through(client *c, unsigned fault)
{
    bool unsure = c->ledger.pending.kind != LEDGER_NOTHING;
    if (!clients_heal(c->board, c->post, c->store))
        return;
    if (unsure) {
        memcpy(&c->before, &c->ledger, sizeof c->before);
        if (!ledger_verify(&c->before, c->store) && c->before.pending_was_done)
            atomic_fetch_add(&c->post->done_unheard, 1);
    }
    const char *problem = ledger_settle(&c->ledger, c->store);
    if (problem)
        clients_wrong(c->post, "after fault %u: %s", fault / 2, problem);
    atomic_store(&c->post->through, fault);
}

static void database_clients_ledger_turn(client *c)
{
    unsigned fault = atomic_load(&c->board->fault);
    bool waits = c->ledger.pending.kind != LEDGER_NOTHING || c->ledger.events_count > EVENTS_FULL;
    if (is_calm(fault) && fault != atomic_load(&c->post->through))
        database_clients_ledger_come_through(c, fault);
    else if (is_calm(fault) && (waits || c->steps % FOLLOW_EVERY == FOLLOW_EVERY - 1))
        database_clients_ledger_follow(c, fault);
    else if (waits)
        sleep_ms(2);
    else
        database_clients_ledger_step(c, fault);
    c->steps++;
}

void clients_ledger_main(clients_board *board, unsigned me, hf_store *shared)
{
    char type[16];
    hf_error err = {0};
    client *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->board = board;
    c->post = &board->posts[me];
    snprintf(type, sizeof type, "client%u", me);
    ledger_init(&c->ledger, type, board->seed + me);
    c->ledger.loses_beats = board->loses_beats;
    c->store = shared;
    if (shared == NULL && hf_store_open(board->url, &c->store, &err) != HF_OK)
        clients_wrong(c->post, "the store can't be opened: %s", err.message);
    while (!atomic_load(&c->post->failed) && !atomic_load(&board->ends))
        database_clients_ledger_turn(c);
    const char *problem =
        atomic_load(&c->post->failed) ? NULL : ledger_settle(&c->ledger, c->store);
    if (problem)
        clients_wrong(c->post, "at the end: %s", problem);
    if (shared == NULL)
        hf_store_close(c->store);
    free(c);
}
