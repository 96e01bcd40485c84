/* SPDX-License-Identifier: MIT */
/* A MariaDB and a MySQL of the test's own, which it may stop and kill; they end with the test
 * program. Every test runs on both. */
#ifndef HF_TESTS_UNIT_DB_OWN_MYSQL_H
#define HF_TESTS_UNIT_DB_OWN_MYSQL_H

#include <db/db.h>
#include <db/mysql.h>
#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <sys/types.h>

typedef struct own_server {
    const char *name; /* mariadb or mysql */
    bool mariadb;
    /* mysql://root@/test?socket=..., mysql://root:holdfast@127.0.0.1:PORT/test */
    char url[256], tcp[256];
    char socket[128];
    int port;
    pid_t pid;
} own_server;

typedef struct own_test {
    const char *name;
    void (*body)(void **state); /* gets a const own_server * */
} own_test;

#define OWN_TEST(body)                                                                             \
    {                                                                                              \
#body, body                                                                                \
    }

/* Runs them on both servers, those with argv[1] in their name. What main returns. */
int own_mysql_run(const char *group, const own_test *tests, size_t count, int argc, char **argv);

/* ---- what the tests do with them; a failure fails the test ---- */

extern hf_error err;

hf_db *connect_with(const char *url, const hf_db_options *options);
hf_db *open_db(const own_server *at);
const char *ask(hf_db *db, const char *sql); /* hf_db_ask, on one of a few static buffers */
void run(hf_db *db, const char *sql);        /* hf_db_run */
hf_stmt *stmt(hf_db *db, const char *sql);   /* hf_stmt_new */
bool step(hf_stmt *it);                      /* hf_stmt_step: whether there is a row */
void done(hf_stmt *it);                      /* hf_stmt_run */
int64_t now_ms(void);
void nap_ms(int64_t ms);

/* The server's number for a connection. */
unsigned long id_of(hf_db *db);

/* Waits until the server says that of a connection in its process list (State). */
void wait_for_state(hf_db *db, unsigned long id, const char *part);

/* Waits until it waits for a lock of another transaction. */
void wait_for_lock(hf_db *db, unsigned long id);

/* hf_db_run in another thread. */
typedef struct task {
    pthread_t thread;
    hf_db *db;
    const char *sql;
    hf_status status;
    hf_failure failure;
    hf_error err;
} task;

void start(task *it, hf_db *db, const char *sql);
hf_status finish(task *it);

/* An application's own connection, of plain flags. */
MYSQL *app_open(const own_server *at, unsigned long flags);
void app_run(MYSQL *app, const char *sql);

#define SLICE(text) ((hf_slice){(text), sizeof(text) - 1})

#endif
