/* SPDX-License-Identifier: MIT */
/* The scene of a test that cuts connections: a store whose way to its server leads through a proxy,
 * one beside it, and an eye on the tables. */
#ifndef HF_TESTS_FAULTS_DATABASE_FIXTURE_H
#define HF_TESTS_FAULTS_DATABASE_FIXTURE_H

#include "database/shop.h"
#include "faults/database_target.h"

#include <support/proxy.h>

extern target *scene_server;

typedef struct scene {
    char url[HF_URL_MAX], url_direct[HF_URL_MAX];
    proxy *proxy;
    hf_store *through, *direct;
    app *admin;
    /* what is sent shortly before a commit by a new connection, and nowhere else */
    char before_commit[64];
    hf_credentials alice, bob;
    unsigned number; /* of things that were asked */
} scene;

int scene_open(void **state);
int scene_close(void **state);
#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

/* Runs the tests on the server that the first argument names. */
#define SCENE_MAIN(group, tests, argc, argv)                                                       \
    scene_main((group), (tests), sizeof(tests) / sizeof *(tests), (argc), (argv))
int scene_main(const char *group, const struct CMUnitTest *tests, size_t count, int argc,
               char **argv);

#endif
