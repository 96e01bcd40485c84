/* SPDX-License-Identifier: MIT */
/* The mapper registry: the only way to a customer. Each call first takes or checks what the type's
 * policy asks for, and then lets the mappers do their work; so no command can forget it (Implicit
 * Lock). The policy stands in the store, where it is the same for every program.
 *
 *                    to read     to edit      to save
 *   optimistic       nothing     nothing      the version that was read
 *   exclusive-write  nothing     exclusive    that lock, and the version
 *   exclusive-read   exclusive   exclusive    that lock, and the version
 *   read-write       shared      exclusive    that lock, and the version
 *
 * Saving never takes a lock: a work that has none by then is refused (HF_NOT_HELD). All calls want
 * an open transaction (database.h), in which lock, version and record are one. */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "database.h"
#include "work.h"

typedef struct registry {
    sqlite3 *db;
    hf_manager *manager; /* on the same handle */
} registry;

/* Makes the tables. */
hf_status registry_install(const registry *in, hf_error *err);

/* What the policy of customers is now; HF_POLICY_NONE: none was set. */
hf_status registry_policy(const registry *in, hf_policy *out, hf_error *err);

/* The lock that a policy wants to read or edit, as a mode; HF_MODE_COUNT: none. */
hf_mode registry_wants(hf_policy policy, bool edit);

/* Takes what reading asks for, then loads the customer, once for a work. HF_LOCKED: err->holder has
 * it. *out is borrowed from the work. */
hf_status registry_find(const registry *in, work *for_work, const customer **out, hf_error *err);

/* The same for editing. What was loaded before this lock was granted is loaded again. */
hf_status registry_edit(const registry *in, work *for_work, const customer **out, hf_error *err);

/* Reads without a work. HF_NOT_HELD: the policy wants a lock for that. */
hf_status registry_read(const registry *in, int64_t id, customer *out, hf_error *err);

/* Reads anew what a work has read, if it still has the lock that reading asks for. */
hf_status registry_refresh(const registry *in, work *for_work, const customer **out, hf_error *err);

/* Saves what was changed: changed->version is the version that was read, `fence` the grant that the
 * page carried (0: whichever the session holds). HF_STALE: someone has saved since; *now (may be
 * NULL) says who and when. HF_NOT_HELD, HF_LOCKED, HF_EXPIRED: the lock is not there. Then nothing
 * is changed. */
hf_status registry_save(const registry *in, work *for_work, const customer *changed, int64_t fence,
                        hf_version *now, hf_error *err);

/* Saves that it is deleted. */
hf_status registry_remove(const registry *in, work *for_work, int64_t version, int64_t fence,
                          hf_version *now, hf_error *err);

/* A line of the list: a name is not the record, so it takes no lock. */
typedef struct listed {
    int64_t id;
    char name[FIELD_SIZE], city[FIELD_SIZE];
} listed;

/* The first customers by number; *count: how many. */
enum { LIST_MAX = 100 };
hf_status registry_list(const registry *in, listed out[LIST_MAX], size_t *count, hf_error *err);

/* Saves a new customer, for whose number the work has begun. There is no moment at which another
 * could have it: so this alone takes the lock and saves in one step. */
hf_status registry_add(const registry *in, work *for_work, const customer *it, hf_error *err);

/* The number for a new customer. */
hf_status registry_next_id(const registry *in, int64_t *out, hf_error *err);

#endif
