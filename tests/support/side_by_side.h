/* SPDX-License-Identifier: MIT */
/* Running the tests of a program in several processes, for those that mostly wait: for a bound of
 * the product's, for someone else's transaction to end, for a session to die. */
#ifndef HF_TESTS_SUPPORT_SIDE_BY_SIDE_H
#define HF_TESTS_SUPPORT_SIDE_BY_SIDE_H

#include <support/check.h>

/* Each of them is run once, by whichever of so many processes is free; the processes are forked
 * here, so there must be no thread yet. Each test is a plan of its own in what is printed. 0: all
 * went well; for main to return. */
int run_side_by_side(const char *group, const struct CMUnitTest *tests, size_t count,
                     size_t processes);

#endif
