/* SPDX-License-Identifier: MIT */
/* The conformance suite: what every store must do. A theme is a table of tests; each runs in a
 * world of its own, on every store of HF_TEST_STORES. */
#ifndef HF_TESTS_CONFORMANCE_SUITE_H
#define HF_TESTS_CONFORMANCE_SUITE_H

#include <support/fixture.h>

/* Which stores a test is about, where that is not all. */
typedef enum suite_needs {
    ANY_STORE,
    KEEPING_STORE, /* what was closed is found again */
    FILE_STORE     /* a SQLite file of its own */
} suite_needs;

typedef struct suite_test {
    const char *name;
    void (*body)(fixture *w);
    suite_needs needs;
} suite_test;

typedef struct suite_theme {
    const char *name;
    const suite_test *tests;
    size_t count;
} suite_theme;

/* clang-format off */

/* Every theme, in reading order. */
#define SUITE_THEMES(X)                                                                                      \
    X(sessions) X(acquire) X(shared) X(several) X(versions) X(saving) X(expiry) X(lost) X(fence) X(release) X(renew) X(force)      \
    X(handover) X(requests) X(types) X(list) X(lookup) X(events) X(sweep) X(request_ids) X(free_rows) X(unsure) X(batch)  \
    X(limits) X(names) X(bad_input) X(secrets) X(urls) X(sqlite_file) X(backup) X(manager) X(token)

#define SUITE_DECLARE(theme) extern const suite_theme theme##_theme;
SUITE_THEMES(SUITE_DECLARE)
#undef SUITE_DECLARE

#define TEST(sentence) {#sentence, sentence, ANY_STORE}
#define TEST_KEEPING(sentence) {#sentence, sentence, KEEPING_STORE}
#define TEST_FILE(sentence) {#sentence, sentence, FILE_STORE}
#define THEME(theme)                                                                                         \
    const suite_theme theme##_theme = {#theme, theme##_tests, sizeof theme##_tests / sizeof *theme##_tests}

/* clang-format on */

#endif
