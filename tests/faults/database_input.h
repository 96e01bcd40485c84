/* SPDX-License-Identifier: MIT */
/* For the tests of bad input: databases and accounts that are spoilt on purpose, stores that can't
 * be opened, and what their sentences must and must not say. Whatever a password is, no sentence of
 * this program may hold it. */
#ifndef HF_TESTS_FAULTS_DATABASE_INPUT_H
#define HF_TESTS_FAULTS_DATABASE_INPUT_H

#include "database/shop.h"
#include "faults/database_target.h"

#define INPUT_SECRET "Gehe1m_S3cret" /* everybody's password */

/* The server of this program, from its first argument; a superuser with INPUT_SECRET over TCP. */
extern target *input_server;
extern const char *input_boss;
int input_main(const char *group, const struct CMUnitTest *tests, size_t count, int argc,
               char **argv);
#define INPUT_MAIN(group, tests, argc, argv)                                                       \
    input_main((group), (tests), sizeof(tests) / sizeof *(tests), (argc), (argv))

/* The database of this program. A namespace in it that nobody has used, and the boss's URL of that.
 * */
extern const char *input_db;
const char *input_place(char *url);

/* A new database, dropped at the end; `how` follows its name in CREATE DATABASE. Its name, and the
 * boss's URL of it. */
const char *input_database(const char *how, char *url);

/* A new account without rights, dropped at the end, that may come over TCP with INPUT_SECRET; on
 * PostgreSQL it may connect anywhere. */
const char *input_account(const char *prefix);
/* A URL over TCP of that account; parameters may be NULL. And the boss's URL of a place, for
 * another account. */
void input_url(const char *account, const char *database, const char *parameters, char *url);
void input_url_as(const char *boss_url, const char *account, char *url);

/* SQL, as that URL says; {lock} is the place's table. */
void input_do(const char *url, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All that can be seen of the tables, columns and routines of a place and of its meta, but for what
 * moves when a store is used; to be freed. */
char *input_picture(const char *url);

/* The store can't be opened: that status, within a few seconds, and a sentence that has all of
 * these parts. */
#define refused_url(url, status, ...)                                                              \
    input_refused((url), (status), (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
void input_refused(const char *url, hf_status status, const char *const parts[], const char *file,
                   int line);

/* A sentence is one: begins with a capital (or the name of a parameter), ends with a full stop, and
 * holds no password. */
void input_check_sentence(const char *sentence, const char *file, int line);

/* A store that has to open. */
hf_store *input_open(const char *url);

#endif
