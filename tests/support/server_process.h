/* SPDX-License-Identifier: MIT */
/* `holdfast serve` as a process of its own, for tests that kill it: started again it has the same
 * data, port and token. It ends with the program, however that ends. What goes wrong fails the
 * test. */
#ifndef HF_TESTS_SUPPORT_SERVER_PROCESS_H
#define HF_TESTS_SUPPORT_SERVER_PROCESS_H

#include <holdfast/limits.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct server_process server_process;

/* One more variable of the environment of those that are started from now on, "NAME=VALUE".
 * Borrowed; NULL: none. */
void server_process_environment(const char *variable);

/* On a port of the loopback that no outgoing connection is given by chance. store NULL: a SQLite
 * file in a data directory of its own. options: more arguments, the last of them NULL; may be NULL.
 * */
server_process *server_process_start(const char *store, const char *const options[]);
/* The same in two steps: it is started, and waited for until it answers. */
server_process *server_process_begin(const char *store, const char *const options[]);
void server_process_ready(server_process *s);

/* Kills it if it runs, and forgets it; its data stays in the scratch folder. Accepts NULL. */
void server_process_end(server_process *s);

/* Starts it again when it must fail to: with that exit code. What it said, to be freed. */
char *server_process_fails(server_process *s, int code);

/* kill -9; start again, until it answers; both. */
void server_process_kill(server_process *s);
void server_process_up(server_process *s);

/* Sends a signal; waits until it has ended by itself, for so long at most, and gives its exit code
 * (128 and the signal, where one ended it). server_process_stop is both, with SIGTERM. */
void server_process_signal(const server_process *s, int signal);
int server_process_wait(server_process *s, unsigned seconds);
int server_process_stop(server_process *s);

pid_t server_process_pid(const server_process *s);
int server_process_port(const server_process *s);

/* "http://127.0.0.1:PORT?token_file=..." with its own token, or with that of another server on the
 * same store; url holds HF_URL_MAX bytes. */
void server_process_url(const server_process *s, char *url);
void server_process_url_as(const server_process *s, const server_process *whose, char *url);
/* The secret of the admin token. */
const char *server_process_secret(const server_process *s);

/* The SQLite file in its data directory; path holds HF_URL_MAX bytes. */
void server_process_file(const server_process *s, char *path);

/* What it has logged since it was last started; to be freed. */
char *server_process_log(const server_process *s);

/* Its resident memory and the processor time it has used since it was last started. */
size_t server_process_resident(const server_process *s);
double server_process_cpu(const server_process *s);

#endif
