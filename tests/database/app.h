/* SPDX-License-Identifier: MIT */
/* An application's own connection to a database server, as a test plays it: PGconn or MYSQL behind
 * one thin face, so that a test is written once for every engine. In SQL text {lock} is the store's
 * table of that name, {app} one that is the application's own. */
#ifndef HF_TESTS_DATABASE_APP_H
#define HF_TESTS_DATABASE_APP_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum app_engine { ON_POSTGRES = 1, ON_MARIADB = 2, ON_MYSQL = 4, ON_ALL = 7 } app_engine;

typedef enum app_level { READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE, APP_LEVELS } app_level;
const char *app_level_name(app_level level);

typedef struct app app;

/* Connects to where a store's URL points; what goes wrong fails the test. */
app *app_connect(const char *url);
/* Closes the store on it too. Accepts NULL. */
void app_close(app *a);

app_engine app_engine_of(const app *a);
const char *app_engine_name(const app *a);

/* The namespace of the URL. */
const char *app_names(const app *a);

/* A store on this connection, in the URL's namespace. app_wrapped makes it when first asked for; it
 * is closed with the connection. app_wrap makes another, for the caller to close. */
hf_store *app_wrapped(app *a);
hf_status app_wrap(app *a, const char *names, unsigned flags, hf_store **out, hf_error *err);

/* Begins a transaction at that level; it has no snapshot before it reads. */
void app_begin(app *a, app_level level);
/* False: it could not be, because of others; it is rolled back then. */
bool app_commit(app *a);
void app_rollback(app *a);
bool app_in_transaction(app *a);

/* Runs SQL that has to work; several statements are no business of this one. */
void app_do(app *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Runs SQL; false: it failed, and app_error says why. */
bool app_try(app *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *app_error(app *a);

/* The first column of the first row, which must be there. */
int64_t app_number(app *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same; false: it failed, or there was no row, and *out is 0. */
bool app_try_number(app *a, int64_t *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* All rows as one text, columns separated by "=", rows by newlines; to be freed. */
char *app_text(app *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The settings of this connection, one a line, for comparing; to be freed. */
char *app_settings(app *a);

/* Breaks the connection off as a network does: the server sees the end, the application's library
 * nothing yet. */
void app_cut(app *a);

/* The client library's handle: PGconn or MYSQL. */
void *app_handle(app *a);

/* Commits after so many milliseconds, in a thread; app_wait waits for it. Nothing else may use the
 * connection meanwhile. */
void app_commit_later(app *a, int ms);
void app_wait(app *a);

#endif
