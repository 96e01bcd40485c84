/* SPDX-License-Identifier: MIT */
/* What others see of this program in the list of processes. */
#ifndef HF_CLI_HIDE_H
#define HF_CLI_HIDE_H

/* A copy of the words, to work with; in the words themselves, which everyone on the machine can
 * read, passwords of URLs and keys of sessions are blotted out. NULL: memory is out, and nothing
 * was. The copy is the caller's, for cli_hide_done. */
char **cli_hide(int argc, char **argv);

/* Accepts NULL. */
void cli_hide_done(char **copy);

#endif
