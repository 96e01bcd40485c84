/* SPDX-License-Identifier: MIT */
/* Where the stores of a test run are: the URLs of HF_TEST_STORES (separated by spaces), "memory:
 * sqlite:" when it is not set. Every test gets a URL of its own below one of them, on which a store
 * is empty. (tools/servers start DIR prints URLs of database servers to put there; "serve:memory:"
 * and "serve:sqlite:" are the real server, in this process, in front of such a store;
 * "http:memory:" and "http:sqlite:" a small one of the tests'.) */
#ifndef HF_TESTS_SUPPORT_TEST_STORE_H
#define HF_TESTS_SUPPORT_TEST_STORE_H

#include <holdfast/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_store_kind test_store_kind;

typedef struct test_store {
    const test_store_kind *kind;
    char name[48];        /* for the output: the scheme, no secret */
    char url[HF_URL_MAX]; /* as it was given */
    bool keeps;           /* what was closed is found again by the same URL */
    bool own_file;        /* each test has a SQLite file of its own */
    bool served;          /* it is behind a server of this process */
    bool drops_free;      /* a free resource leaves no row (lib/lock/rows.h) */
} test_store;

/* The places of this run; *count says how many. They live until the program ends. */
const test_store *test_stores(size_t *count);

/* The memory store, whatever the places of this run are. */
test_store test_store_memory(void);

/* Writes a URL on which a store is empty; url holds HF_URL_MAX bytes. */
void test_store_url(const test_store *at, char *url);

/* Removes what a test left at that URL; on a database server not before it is needed or the program
 * ends. Nothing may be open there any more. */
void test_store_discard(const test_store *at, const char *url);

/* Freezes the clock of the store behind that URL, where it is not the one that a program gets to
 * open: behind a server. */
void test_store_clock(const test_store *at, const char *url, int64_t now_us);

/* A private folder for files of this run, removed at exit; without a final slash. */
const char *scratch_folder(void);

/* Writes the path of a file that does not exist yet, in the scratch folder; path holds HF_URL_MAX
 * bytes. */
void scratch_path(const char *suffix, char *path);

#endif
