/* SPDX-License-Identifier: MIT */
/* A Redis of a test's own, which may be killed and started again on its data. It syncs before it
 * answers, unless the options say otherwise, and ends with the program. What goes wrong fails the
 * test. */
#ifndef HF_TESTS_FAULTS_REDIS_SERVER_H
#define HF_TESTS_FAULTS_REDIS_SERVER_H

#include <holdfast/limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { REDIS_SERVER_OPTIONS_MAX = 24 };

typedef struct redis_server {
    int port; /* of 127.0.0.1 */
    pid_t pid;
    char folder[HF_URL_MAX], socket[HF_URL_MAX];
    char url[HF_URL_MAX]; /* by the socket */
    const char *options[REDIS_SERVER_OPTIONS_MAX];
} redis_server;

/* options: words of the command line, borrowed, the last of them NULL; may be NULL. */
redis_server *redis_server_start(const char *const options[]);
#define REDIS_SERVER(...) redis_server_start((const char *const[]){__VA_ARGS__, NULL})
/* Kills it. Accepts NULL. */
void redis_server_stop(redis_server *s);

/* SIGKILL; start again: until it answers, or (launch) without waiting. */
void redis_server_kill(redis_server *s);
void redis_server_launch(redis_server *s);
void redis_server_up(redis_server *s);

/* What redis-cli prints for these words, which a shell reads; static. */
const char *redis_server_ask(const redis_server *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "redis://LOGIN127.0.0.1:PORT/0?PARAMETERS"; login is "" or ends in @, port 0 is its own. */
void redis_server_url(const redis_server *s, const char *login, int port, const char *parameters,
                      char *url);

#endif
