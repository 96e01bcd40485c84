/* SPDX-License-Identifier: MIT */
/* Where advise has its answers from: a file, a log, a database, a server's metrics. */
#ifndef HF_CLI_ADVISE_SOURCES_H
#define HF_CLI_ADVISE_SOURCES_H

#include "advise/access_log.h"
#include "advise/record.h"
#include "cli/options.h"

/* All zero is empty. */
typedef struct advise_sources {
    advise_answers answers;
    advise_edits *edits; /* of --access-log; NULL: there was none */
    double log_lines, log_skipped;
    double refusals;        /* a day, by --metrics; below 0: not known */
    advise_sentences notes; /* what a source does not tell */
    bool any;               /* some source was named */
} advise_sources;

/* Reads every source that was named. What was measured counts for more than what a file says.
 * `entity` names the table and the type where no answer does; NULL: nothing does. */
hf_status advise_sources_read(const cli_call *call, const char *entity, advise_sources *out,
                              hf_error *err);

void advise_sources_done(advise_sources *sources);

#endif
