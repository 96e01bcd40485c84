/* SPDX-License-Identifier: MIT */
/* Signals for what runs until it is interrupted. SIGINT, SIGTERM and SIGHUP end it with 0 at once,
 * whatever it is at; SIGTSTP and SIGWINCH come when it waits. */
#ifndef HF_CLI_SIGNALS_H
#define HF_CLI_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* From here on signals are taken so; the program is asking. */
void cli_take_signals(void);

/* It asks the store, or draws what may be cut off: a signal ends it here and now. What it has
 * printed must be flushed. */
void cli_asking(void);

/* It prints lines, which are to be whole: after a signal it has a second to get to the end of one
 * and to end itself. */
void cli_printing(void);

/* Has a signal come meanwhile that ends it? */
bool cli_is_ending(void);

/* What a signal that ends it writes to stdout: the terminal as it was. A constant; NULL: nothing.
 * */
void cli_last_words(const char *text);

/* Waits that long, or until a signal comes. Returns the signal; 0: the time is over. */
int cli_wait(int64_t us);

/* Does the signal ask the program to end? */
bool cli_signal_ends(int signal);

#endif
