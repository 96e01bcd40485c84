/* SPDX-License-Identifier: MIT */
/* Tables that a store installed on a database server, put back to how they were when new. Making
 * them anew costs 30 to 50 ms, which is too much for every test; emptying them costs 2. Nothing is
 * known of them here but that `meta` has rows when it is new. */
#ifndef HF_TESTS_SUPPORT_TABLES_H
#define HF_TESTS_SUPPORT_TABLES_H

#include <stdbool.h>

typedef struct tables tables;

/* The tables of a namespace that was just installed: a URL of PostgreSQL, MariaDB or MySQL with
 * namespace=NAME. NULL when the server can't be asked; why is said on standard error. */
tables *tables_open(const char *url);

/* Empties them. False: they are not what they were, or someone sits on them. */
bool tables_renew(tables *of);

/* Leaves the tables alone. Accepts NULL. */
void tables_close(tables *of);

#endif
