/* SPDX-License-Identifier: MIT */
/* Secrets of a command line: what others see of them in the list of processes, and what sentences
 * repeat of them. */
#ifndef HF_CLI_HIDE_H
#define HF_CLI_HIDE_H

/* A copy of the words, to work with; in the words themselves, which everyone on the machine can
 * read, passwords of URLs and keys of sessions are blotted out. NULL: memory is out, and nothing
 * was. The copy is the caller's, for cli_hide_done. */
char **cli_hide(int argc, char **argv);

/* Takes out of a text what is a secret in the words of the last cli_hide, or in a variable
 * HOLDFAST_...: passwords of URLs, keys of sessions, tokens. The passwords of all URLs in it too.
 * */
void cli_hide_in(char *text);

/* Accepts NULL. */
void cli_hide_done(char **copy);

#endif
