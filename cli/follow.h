/* SPDX-License-Identifier: MIT */
/* Following: events as they come, until a signal says to stop. */
#ifndef HF_CLI_FOLLOW_H
#define HF_CLI_FOLLOW_H

#include "cli/call.h"

/* Someone reading the events: --type, --interval and --count say how. */
typedef struct cli_reader {
    cli_call *call;
    int64_t seq;  /* the last event seen */
    int64_t told; /* that events before this one are missing was said */
    int64_t printed;
    int64_t max; /* stop after that many; 0: no end */
    int64_t interval_us;
    const char *type; /* only this type; NULL: all */
    bool as_items;    /* print the items of one list in JSON, not lines */
} cli_reader;

/* Reads those options; every second and no end when they are not given. */
hf_status cli_reader_options(cli_reader *reader, hf_error *err);

/* The number of the newest event; 0 when there is none. */
hf_status cli_events_end(hf_manager *manager, int64_t *out_seq, hf_error *err);

/* Prints the events there are after reader->seq. Says so when some are no longer kept, or when
 * their numbers are lower: then it goes on from the newest. */
hf_status cli_print_events(cli_reader *reader, hf_error *err);

/* The same, and goes on as new ones come, until reader->max were printed or a signal ends it, for
 * which cli_take_signals was called. */
hf_status cli_follow(cli_reader *reader, hf_error *err);

#endif
