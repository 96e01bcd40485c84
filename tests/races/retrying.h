/* SPDX-License-Identifier: MIT */
/* A store that is one or more holdfast servers, as a client that retries sees them: what comes to
 * `unavailable` or `unsure` is asked again, with the same request ids, of the next server, until
 * somebody answers. */
#ifndef HF_TESTS_RACES_RETRYING_H
#define HF_TESTS_RACES_RETRYING_H

#include <holdfast/store.h>

/* Counted by whoever opened it, also for a process that is killed: it may lie in shared memory. */
typedef struct retrying_tally {
    size_t unavailable;
    size_t unsure;
    size_t settled;     /* batches that were unsure and ended well */
    size_t lost_sight;  /* ... and ended otherwise; they come to HF_UNSURE, see below */
    int64_t longest_us; /* from the first failure to the answer */
} retrying_tally;

/* urls: separated by spaces. A server that is not there yet is opened when it is needed. Not for
 * several threads.
 *
 * A batch that was unsure and is refused when it is asked again may have been done all the same: a
 * lock that was granted, and lost to a third before it was asked again. Who knows only the answers
 * can't tell; so that is HF_UNSURE. */
HF_MUST_USE hf_status retrying_open(const char *urls, unsigned seconds, retrying_tally *tally,
                                    hf_store **out, hf_error *err);

#endif
