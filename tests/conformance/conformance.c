/* SPDX-License-Identifier: MIT */
/* Runs every theme on every store. With an argument only the tests whose name holds it. Stores: see
 * test_store.h. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const suite_theme *const themes[] = {
#define THEME_OF(theme) &theme##_theme,
    SUITE_THEMES(THEME_OF)
#undef THEME_OF
};

/* One test on one store: what cmocka carries through setup, test and teardown. */
typedef struct turn {
    const suite_test *test;
    const test_store *at;
    fixture *w;
    char name[160];
} turn;

static int conformance_begin(void **state)
{
    turn *it = *state;
    it->w = fixture_open(it->at);
    return 0;
}

static void conformance_go(void **state)
{
    turn *it = *state;
    it->test->body(it->w);
}

static int conformance_end(void **state)
{
    turn *it = *state;
    fixture_close(it->w);
    it->w = NULL;
    return 0;
}

static bool conformance_fits(const suite_test *test, const test_store *at)
{
    return test->needs == ANY_STORE || (test->needs == KEEPING_STORE && at->keeps) ||
           (test->needs == FILE_STORE && at->own_file);
}

/* The tests of a theme that this store and the argument ask for; both arrays have room for all. */
static size_t conformance_choose(const suite_theme *theme, const test_store *at, const char *part,
                                 turn *turns, struct CMUnitTest *units)
{
    size_t count = 0;
    for (size_t i = 0; i < theme->count; i++) {
        const suite_test *test = &theme->tests[i];
        turn *it = &turns[count];
        snprintf(it->name, sizeof it->name, "%s: %s: %s", at->name, theme->name, test->name);
        if (!conformance_fits(test, at) || (part && !strstr(it->name, part)))
            continue;
        it->test = test;
        it->at = at;
        units[count++] =
            (struct CMUnitTest){it->name, conformance_go, conformance_begin, conformance_end, it};
    }
    return count;
}

static int run_theme(const suite_theme *theme, const test_store *at, const char *part)
{
    turn *turns = calloc(theme->count, sizeof *turns);
    struct CMUnitTest *units = calloc(theme->count, sizeof *units);
    size_t count = conformance_choose(theme, at, part, turns, units);
    int failed = count ? _cmocka_run_group_tests(theme->name, units, count, NULL, NULL) : 0;
    free(turns);
    free(units);
    return failed;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    int failed = 0;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < sizeof themes / sizeof *themes; t++)
            failed += run_theme(themes[t], &all[i], argc > 1 ? argv[1] : NULL) != 0;
    return failed ? 1 : 0;
}
