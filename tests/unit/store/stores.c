/* SPDX-License-Identifier: MIT */
/* The door to the stores: modules, wrappers, and how the SQLite store's tables move from version to
 * version. */
#include "base/seams.h"
#include "db/db.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <holdfast/holdfast.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *temp_path(const char *name)
{
    static char path[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/%s-%d", folder == NULL ? "/tmp" : folder, name, (int)getpid());
    unlink(path);
    return path;
}

/* ---- modules ---- */

static void a_store_from_a_module_works_like_one_of_the_librarys_own(void **state)
{
    (void)state;
    hf_error err;
    hf_manager *manager;
    hf_session *session;
    hf_resource policy;
    hf_lock lock;
    setenv("HOLDFAST_MODULES", getenv("HF_TEST_MODULES"), 1);
    if (hf_manager_open("mysql:", &manager, &err) != HF_OK)
        fail_msg("%s", err.message);
    assert_int_equal(hf_session_open(manager, &(hf_session_options){.user = "ann"}, &session, &err),
                     HF_OK);
    assert_int_equal(hf_resource_parse("policy/1", &policy, &err), HF_OK);
    assert_int_equal(hf_session_acquire(session, &policy, NULL, &lock, &err), HF_OK);
    assert_string_equal(lock.user, "ann");
    hf_session_free(session);
    hf_manager_close(manager);
}

static void a_missing_module_is_unavailable_and_says_where_it_was_looked_for(void **state)
{
    (void)state;
    hf_error err;
    hf_store *store;
    setenv("HOLDFAST_MODULES", "/nowhere", 1);
    assert_int_equal(hf_store_open("mysql://localhost/db", &store, &err), HF_UNAVAILABLE);
    assert_non_null(strstr(err.message, "/nowhere/holdfast-mysql.so"));
}

static void a_module_of_another_version_is_refused(void **state)
{
    (void)state;
    hf_error err;
    hf_store *store;
    setenv("HOLDFAST_MODULES", getenv("HF_TEST_MODULES"), 1);
    assert_int_equal(hf_store_open("postgres://localhost", &store, &err), HF_UNAVAILABLE);
    assert_non_null(strstr(err.message, "9.9.9"));
}

static void an_unknown_scheme_is_invalid_and_no_password_is_repeated(void **state)
{
    (void)state;
    hf_error err;
    hf_store *store;
    assert_int_equal(hf_store_open("mongodb://ann:s3cret@host/db", &store, &err), HF_INVALID);
    assert_non_null(strstr(err.message, "mongodb"));
    assert_null(strstr(err.message, "s3cret"));
    assert_int_equal(hf_store_open("", &store, &err), HF_INVALID);
    assert_int_equal(hf_store_open(NULL, &store, &err), HF_INVALID);
    assert_int_equal(hf_store_open("just-a-name", &store, &err), HF_INVALID);
    assert_int_equal(hf_store_open("memory:extra", &store, &err), HF_INVALID);
}

/* ---- wrappers ---- */

static void stores_keep_line(void *context, const char *line)
{
    strncat(context, line, 4000 - strlen(context));
    strncat(context, "\n", 4000 - strlen(context));
}

static void a_trace_tells_every_op_and_no_key_in_stores(void **state)
{
    (void)state;
    char lines[4096] = "";
    hf_error err;
    hf_store *inner, *store;
    hf_manager *manager;
    hf_session *session;
    hf_resource policy;
    assert_int_equal(hf_store_open("memory:", &inner, &err), HF_OK);
    assert_int_equal(hf_trace_open(inner, stores_keep_line, lines, &store, &err), HF_OK);
    assert_int_equal(hf_manager_on(store, &manager, &err), HF_OK);
    assert_int_equal(hf_session_open(manager, &(hf_session_options){.user = "ann"}, &session, &err),
                     HF_OK);
    assert_int_equal(hf_resource_parse("policy/1", &policy, &err), HF_OK);
    assert_int_equal(hf_session_release(session, &policy, 0, &err), HF_NOT_HELD);
    assert_non_null(strstr(lines, "session-open"));
    assert_non_null(strstr(lines, "release policy/1"));
    assert_non_null(strstr(lines, "not_held"));
    assert_null(strstr(lines, hf_session_credentials(session)->key));
    hf_session_free(session);
    hf_manager_close(manager);
}

static void every_store_reports_the_durability_it_stands_on(void **state)
{
    (void)state;
    char url[4200];
    hf_error err;
    hf_store *store;
    hf_grade grade;
    assert_int_equal(hf_store_open("memory:", &store, &err), HF_OK);
    hf_store_grade(store, &grade);
    assert_int_equal(grade.level, HF_GRADE_NONE);
    hf_store_close(store);
    snprintf(url, sizeof url, "sqlite:%s", temp_path("grade"));
    assert_int_equal(hf_store_open(url, &store, &err), HF_OK);
    hf_store_grade(store, &grade);
    assert_int_equal(grade.level, HF_GRADE_DISK);
    hf_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_from_a_module_works_like_one_of_the_librarys_own),
        cmocka_unit_test(a_missing_module_is_unavailable_and_says_where_it_was_looked_for),
        cmocka_unit_test(a_module_of_another_version_is_refused),
        cmocka_unit_test(an_unknown_scheme_is_invalid_and_no_password_is_repeated),
        cmocka_unit_test(a_trace_tells_every_op_and_no_key_in_stores),
        cmocka_unit_test(every_store_reports_the_durability_it_stands_on),
    };
    return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}
