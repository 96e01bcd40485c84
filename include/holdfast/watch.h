/* SPDX-License-Identifier: MIT */
/* Hearing that someone else has changed something, where a store can tell (PostgreSQL). It only
 * shortens the time until one looks: what is said may get lost, and who changes something without
 * saying so is not heard of. So whoever follows events looks now and then too. */
#ifndef HOLDFAST_WATCH_H
#define HOLDFAST_WATCH_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

typedef struct hf_watch hf_watch;

/* Begins to listen, on a connection of its own. HF_NOT_FOUND: this store can't tell; look now and
 * then. A watch is for one thread at a time, and is closed before its store. */
HF_API HF_MUST_USE hf_status hf_store_watch(hf_store *store, hf_watch **out, hf_error *err);

/* To poll(2) for reading; it stays the same. When it is readable, call hf_watch_heard. */
HF_API int hf_watch_fd(const hf_watch *watch);

/* Takes in what has come, and never waits. *out: another watch has told something since.
 * HF_UNAVAILABLE: the connection is lost; close it and begin anew. Call it after hf_watch_tell too:
 * what came meanwhile does not show in the descriptor. */
HF_API HF_MUST_USE hf_status hf_watch_heard(hf_watch *watch, bool *out, hf_error *err);

/* Tells all other watches of the same tables that they should look. What is told in quick
 * succession had better be told once. */
HF_API HF_MUST_USE hf_status hf_watch_tell(hf_watch *watch, hf_error *err);

/* Accepts NULL. */
HF_API void hf_watch_close(hf_watch *watch);

HF_END_DECLS

#endif
