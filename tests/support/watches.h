/* SPDX-License-Identifier: MIT */
/* Which stores can be watched; ending the connections of watches, as an administrator of the
 * database may. */
#ifndef HF_TESTS_SUPPORT_WATCHES_H
#define HF_TESTS_SUPPORT_WATCHES_H

#include <support/test_store.h>

/* Whether a store at that place can be watched. */
bool can_watch(const test_store *at);

/* Those of the store at that URL, which is at that place; how many they were. 0 where there are no
 * watches. */
int end_watches(const test_store *at, const char *url);

#endif
