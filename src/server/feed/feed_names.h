/* SPDX-License-Identifier: MIT */
/* The records that a follower names. Thousands of followers look at every event, each with up to
 * a thousand names: so an event's record is hashed once, and a look is a binary search among
 * numbers. */
#ifndef HF_SERVER_FEED_NAMES_H
#define HF_SERVER_FEED_NAMES_H

#include <holdfast/lock.h>

typedef struct feed_names feed_names;

/* resources are copied; one may be named twice. NULL: out of memory. */
feed_names *feed_names_new(const hf_resource *resources, size_t count);
/* Accepts NULL. */
void feed_names_free(feed_names *names);

/* Of a record, for feed_names_have. */
uint64_t feed_names_hash(const hf_resource *resource);

/* Whether the record, whose hash that is, is one of them. */
bool feed_names_have(const feed_names *names, uint64_t hash, const hf_resource *resource);

#endif
