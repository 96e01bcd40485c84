/* SPDX-License-Identifier: MIT */
/* Private database servers for one test program that wants to stop, kill or restart them
 * (tools/servers starts them). They end with the program, however it ends. What goes wrong fails
 * the test. */
#ifndef HF_TESTS_SUPPORT_DATABASES_H
#define HF_TESTS_SUPPORT_DATABASES_H

#include <stdbool.h>
#include <sys/types.h>

typedef enum instance_kind {
    INSTANCE_POSTGRES,
    INSTANCE_MARIADB,
    INSTANCE_MYSQL,
    INSTANCE_PGBOUNCER, /* with a PostgreSQL behind it */
    INSTANCE_REDIS
} instance_kind;

typedef enum instance_end {
    INSTANCE_FAST, /* a clean shutdown that ends the sessions */
    /* as fast as it can by itself: the next start recovers (PostgreSQL; the others are killed) */
    INSTANCE_IMMEDIATE,
    INSTANCE_KILL /* SIGKILL to all of its processes */
} instance_end;

typedef struct instance instance;

instance *instance_start(instance_kind kind);

/* Ends it and removes its data. Accepts NULL. */
void instance_stop(instance *it);

/* URLs of its database "test", for the superuser: by its unix socket; over TCP, with the password.
 * They stay the same. */
const char *instance_url(const instance *it);
const char *instance_url_tcp(const instance *it);

/* For a proxy before it: its port on 127.0.0.1. And the TCP URL with another port in it; url holds
 * HF_URL_MAX bytes. */
int instance_port(const instance *it);
void instance_url_through(const instance *it, int port, char *url);

/* Takes it down; brings it up again on its data, when it accepts connections; both. */
void instance_down(instance *it, instance_end how);
void instance_up(instance *it);
void instance_restart(instance *it, instance_end how);

/* Stops all of its processes where they are; lets them go on. */
void instance_pause(instance *it);
void instance_resume(instance *it);

/* Its main process. */
pid_t instance_pid(const instance *it);

/* Of a PgBouncer, the PostgreSQL behind it, to be treated in the same way; not to be stopped. Else
 * NULL. */
instance *instance_behind(instance *it);

#endif
