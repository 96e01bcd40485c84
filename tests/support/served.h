/* SPDX-License-Identifier: MIT */
/* `holdfast serve` as a process of its own, for tests that kill it: started again it has the same
 * data, port and token. It ends with the program, however that ends. What goes wrong fails the
 * test. */
#ifndef HF_TESTS_SUPPORT_SERVED_H
#define HF_TESTS_SUPPORT_SERVED_H

#include <holdfast/limits.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct served served;

/* One more variable of the environment of those that are started from now on, "NAME=VALUE".
 * Borrowed; NULL: none. */
void served_environment(const char *variable);

/* On a port of the loopback that no outgoing connection is given by chance. store NULL: a SQLite
 * file in a data directory of its own. options: more arguments, the last of them NULL; may be NULL.
 * */
served *served_start(const char *store, const char *const options[]);
/* The same in two steps: it is started, and waited for until it answers. */
served *served_begin(const char *store, const char *const options[]);
void served_ready(served *s);

/* Kills it if it runs, and forgets it; its data stays in the scratch folder. Accepts NULL. */
void served_end(served *s);

/* Starts it again when it must fail to: with that exit code. What it said, to be freed. */
char *served_fails(served *s, int code);

/* kill -9; start again, until it answers; both. */
void served_kill(served *s);
void served_up(served *s);

/* Sends a signal; waits until it has ended by itself, for so long at most, and gives its exit code
 * (128 and the signal, where one ended it). served_stop is both, with SIGTERM. */
void served_signal(const served *s, int signal);
int served_wait(served *s, unsigned seconds);
int served_stop(served *s);

pid_t served_pid(const served *s);
int served_port(const served *s);

/* "http://127.0.0.1:PORT?token_file=..." with its own token, or with that of another server on the
 * same store; url holds HF_URL_MAX bytes. */
void served_url(const served *s, char *url);
void served_url_as(const served *s, const served *whose, char *url);
/* The secret of the admin token. */
const char *served_secret(const served *s);

/* The SQLite file in its data directory; path holds HF_URL_MAX bytes. */
void served_file(const served *s, char *path);

/* What it has logged since it was last started; to be freed. */
char *served_log(const served *s);

/* Its resident memory and the processor time it has used since it was last started. */
size_t served_resident(const served *s);
double served_cpu(const served *s);

#endif
