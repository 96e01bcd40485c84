/* SPDX-License-Identifier: MIT */
/* What the fault tests have in common: how much is to be done, and stores by the path of their
 * file. */
#ifndef HF_TESTS_FAULTS_SETTING_H
#define HF_TESTS_FAULTS_SETTING_H

#include <holdfast/store.h>

/* How many: what the environment variable says, else `normal`, or `longer` when HF_TEST_LONG is
 * set. */
size_t setting_amount(const char *variable, size_t normal, size_t longer);

/* Opens "sqlite:" at that path. */
HF_MUST_USE hf_status setting_open(const char *path, hf_store **out, hf_error *err);

/* An empty file in place of the reserve, so that opening the store need not lay one in: where
 * hundreds are opened. */
void setting_skip_reserve(const char *path);

/* Removes the database file and all that lies beside it. */
void setting_remove(const char *path);

#endif
