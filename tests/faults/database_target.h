/* SPDX-License-Identifier: MIT */
/* The database servers of the fault tests: one that a test may kill and spoil, or the one that the
 * test run has for everybody; URLs to it in all shapes; and what is asked of its tables behind the
 * store's back. What goes wrong fails the test. */
#ifndef HF_TESTS_FAULTS_DATABASE_TARGET_H
#define HF_TESTS_FAULTS_DATABASE_TARGET_H

#include "database/app.h"

#include <support/databases.h>

#define TARGET_PASSWORD "holdfast" /* the superuser's */

typedef struct target {
    instance_kind kind;
    const char *name;           /* "postgres", "mariadb", "mysql", "pgbouncer" */
    bool postgres;              /* PostgreSQL's tongue */
    instance *instance;         /* NULL: it is everybody's */
    char url[HF_URL_MAX];       /* of the database "test", for the superuser: by socket */
    char url_tcp[HF_URL_MAX];   /* over TCP, with the password where one is needed */
    char url_admin[HF_URL_MAX]; /* by socket, to the database server itself */
    uid_t uid;                  /* whom a private one belongs to */
    gid_t gid;
    pid_t other; /* started by target_restart_with */
} target;

/* By name. A private one; the run's (HF_TEST_POSTGRES and so on in the environment), or a private
 * one where there is none. */
target *target_start(const char *name);
target *target_shared(const char *name);
/* Ends a private one. Accepts NULL. */
void target_stop(target *t);

/* A URL with one more parameter, "namespace=x"; out holds HF_URL_MAX bytes. */
void target_with(const char *url, const char *parameter, char *out);

/* A URL over TCP. What is NULL or 0 is the superuser's; a password of "" is none. */
typedef struct target_way {
    const char *user, *password, *host, *database, *parameters;
    int port;
} target_way;
void target_url(const target *t, const target_way *way, char *out);
int target_port(const target *t);

/* A name for a namespace, a database or a role that nobody else has; static, the last eight stay.
 * */
const char *target_name(const char *prefix);

/* Installs a namespace of its own; url is that of the store, by socket or (tcp) not. */
void target_install(const target *t, bool tcp, char *url);

/* A superuser's connection, to look at the tables of that store. */
app *target_admin(const target *t, const char *store_url);

/* What must never be found in the tables, whoever did what: two live locks that can't stand
 * together, a fence given twice ... NULL: all is well, otherwise what is wrong (static). */
const char *target_inspect(app *admin);

/* Ends a connection of a store, one that is at work if there is any. False: there was none. */
bool target_kill_connection(const target *t, app *admin);

/* A child that runs a program as the user of a private server, what it prints going to a file; its
 * process id. target_end kills such a one and sets it to 0. */
pid_t target_spawn(const target *t, char *const argv[], const char *log);
void target_end(pid_t *child);

/* Takes a private MariaDB or MySQL down and starts it with more options, the last of them NULL;
 * target_back starts it as it was. */
void target_restart_with(target *t, const char *const options[]);
#define TARGET_RESTART_WITH(t, ...)                                                                \
    target_restart_with((t), (const char *const[]){__VA_ARGS__, NULL})
void target_back(target *t);

int64_t monotonic_us(void);
void sleep_ms(unsigned ms);

#endif
