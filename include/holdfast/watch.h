/* SPDX-License-Identifier: MIT */
/* Notification that someone else has changed something, where the store supports it (PostgreSQL,
 * Redis). A notification may get lost, and not every change sends one, so it only shortens the
 * delay: a program that follows events must also poll now and then. */
#ifndef HOLDFAST_WATCH_H
#define HOLDFAST_WATCH_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

typedef struct hf_watch hf_watch;

/* Begins to listen, on a connection of its own. HF_NOT_FOUND: this store has no notifications; poll
 * instead. A watch is for one thread at a time, and is closed before its store. */
HF_API HF_MUST_USE hf_status hf_store_watch(hf_store *store, hf_watch **out, hf_error *err);

/* To poll(2) for reading; it stays the same. When it is readable, call hf_watch_heard. */
HF_API int hf_watch_fd(const hf_watch *watch);

/* Reads what has arrived; never waits. *out: another watch has notified since the last call.
 * HF_UNAVAILABLE: the connection is lost; close the watch and open a new one. Call it after
 * hf_watch_tell too: what arrived during that call does not make the descriptor readable. */
HF_API HF_MUST_USE hf_status hf_watch_heard(hf_watch *watch, bool *out, hf_error *err);

/* Notifies all other watches of the same tables. On Redis every change does that by itself, and
 * this does nothing. Combine notifications that would follow each other quickly into one. */
HF_API HF_MUST_USE hf_status hf_watch_tell(hf_watch *watch, hf_error *err);

/* Accepts NULL. */
HF_API void hf_watch_close(hf_watch *watch);

HF_END_DECLS

#endif
