/* SPDX-License-Identifier: MIT */
/* The customers as records: the only way to them. The tables know the policy, so that no command
 * can forget a lock (Implicit Lock): reading and editing acquire what it wants before they load,
 * saving verifies it and the version, all or nothing (docs/records.md).
 *
 *                    to read     to edit      to save
 *   optimistic       nothing     nothing      the version that was read
 *   exclusive-write  nothing     exclusive    that lock, and the version
 *   exclusive-read   exclusive   exclusive    that lock, and the version
 *   read-write       shared      exclusive    that lock, and the version */
#ifndef RECORDS_H
#define RECORDS_H

#include "work.h"

typedef struct records {
    char url[HF_URL_MAX];
    hf_manager *manager; /* locks and sessions, in the same database */
    hf_table described[2];
    hf_policy policy;     /* of customers, as the tables were opened */
    hf_tables *customers; /* NULL: the policy has changed, and they could not be opened */
    hf_tables *lines;     /* what the list shows: a name is not the record, and wants no lock */
} records;

/* Opens the SQLite file, and makes what is not there. The policy counts where none was set. */
hf_status records_open(records *it, const char *path, hf_policy policy, hf_error *err);
/* Accepts what was never opened. All units must have been freed. */
void records_close(records *it);

/* The policy stands in the store, where it is the same for every program. *moved: it is another
 * than before. Then all units are to be freed, and records_follow opens the tables under it. */
hf_status records_look(const records *it, bool *moved, hf_error *err);
hf_status records_follow(records *it, hf_error *err);

/* The lock that a policy wants to read or edit, as a mode; HF_MODE_COUNT: none. */
hf_mode records_want(hf_policy policy, bool edit);

/* Loads the work's customer, to be shown or edited, into a new unit: `read` of the work. HF_LOCKED:
 * err->holder has it. What the work came in the place of has ended then. */
hf_status records_load(records *in, work *it, bool edit, hf_error *err);

/* Reads without a work. HF_INVALID: the policy wants a lock for that. */
hf_status records_read(records *in, const person *who, int64_t id, customer *out, hf_error *err);

/* Saves what was typed; its version is the one that the page had read. HF_STALE: someone has saved
 * since. HF_NOT_HELD, HF_LOCKED, HF_EXPIRED: the lock is not there. Then nothing is changed. */
hf_status records_save(records *in, work *it, const customer *typed, hf_error *err);
hf_status records_remove(records *in, work *it, int64_t version, hf_error *err);

/* Saves a new customer, which is the session's then. Without an id the database makes it. */
hf_status records_add(records *in, hf_session *session, customer *it, hf_error *err);

/* A line of the list. */
typedef struct listed {
    int64_t id;
    char name[FIELD_SIZE], city[FIELD_SIZE];
} listed;

/* The first customers by number; *count: how many. */
enum { LIST_MAX = 100 };
hf_status records_list(records *in, listed out[LIST_MAX], size_t *count, hf_error *err);

#endif
