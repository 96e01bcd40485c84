/* SPDX-License-Identifier: MIT */
/* Tables as the first version of this program made them. */
#ifndef TESTS_FAULTS_SERVER_OLD_H
#define TESTS_FAULTS_SERVER_OLD_H

#include "faults/server_input.h"

/* In a place of their own, with one lock in them, policy/1 for "renewal", and the type claim. */
void old_make(char *url, int64_t *fence, hf_credentials *alice);

/* Which version the tables of a place say they are. */
int64_t old_version(const char *url);

#endif
