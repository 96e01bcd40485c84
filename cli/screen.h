/* SPDX-License-Identifier: MIT */
/* Looking again and again: what was seen is drawn over the last time on a terminal, and printed
 * below it elsewhere. */
#ifndef HF_CLI_SCREEN_H
#define HF_CLI_SCREEN_H

#include <holdfast/holdfast.h>

typedef struct cli_screen {
    size_t rows;    /* 0: no end, it is not a terminal */
    size_t columns; /* 0: no end */
} cli_screen;

/* What one verb has of its own. Both get the context. */
typedef struct cli_view {
    /* asks the store; prints nothing */
    hf_status (*look)(void *context, cli_screen screen, hf_error *err);
    hf_status (*draw)(void *context, cli_screen screen, hf_error *err); /* prints what it saw */
    void *context;
    int64_t interval_us;
    int64_t count; /* how often; 0: no end */
} cli_view;

/* Looks until it has done so `count` times, a signal says to end (cli_take_signals was called),
 * nobody reads on, or a look fails; a store that is busy is looked at the next time. `redraw`: on a
 * terminal, whose cursor is hidden meanwhile. */
hf_status cli_look_on(const cli_view *view, bool redraw, hf_error *err);

#endif
