/* SPDX-License-Identifier: MIT */
/* Store URLs that cannot be understood: a clear error, and nothing is made. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static void cannot_open(const char *url, hf_status status)
{
    hf_error err = {0};
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    expect(status, hf_store_open(url, &store, &err), err);
    expect_true(store == NULL);
    expect(status, hf_manager_open(url, &manager, &err), err);
    expect_true(manager == NULL);
}

static void a_url_of_no_known_scheme_is_invalid(fixture *w)
{
    (void)w;
    static const char *const bad[] = {
        NULL,
        "",
        ":",
        "memory",
        "sqlite",
        "nosuch:",
        "nosuch://host/db",
        "MEMORY:",
        " memory:",
        "memoryx:",
        "fault+memory:",
        "/a/path.db",
        "trace+nosuch:",
        "\x01\x02:",
        "\xff:",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cannot_open(bad[i], HF_INVALID);
}

static void a_url_that_is_too_long_is_invalid(fixture *w)
{
    (void)w;
    char *url = malloc(HF_URL_MAX + 2);
    memset(url, 'x', HF_URL_MAX + 1);
    url[HF_URL_MAX + 1] = '\0';
    memcpy(url, "sqlite:/tmp/", 12);
    hf_error err = {0};
    hf_store *store = NULL;
    hf_status status = hf_store_open(url, &store, &err);
    expect_true(status == HF_INVALID && store == NULL);
    free(url);
}

/* P13: a URL may carry a password. */
static void the_sentence_about_a_bad_url_repeats_no_password(fixture *w)
{
    (void)w;
    hf_error err = {0};
    hf_store *store = NULL;
    expect(HF_INVALID, hf_store_open("nosuch://me:hunter2@host/db", &store, &err), err);
    expect_lacks(err.message, "hunter2");
    expect_contains(err.message, "nosuch");
}

static void a_parameter_that_is_not_known_is_invalid(fixture *w)
{
    char url[HF_URL_MAX + 32];
    snprintf(url, sizeof url, "%s%ccolour=red", w->url, strchr(w->url, '?') ? '&' : '?');
    cannot_open(url, HF_INVALID);
}

static void a_wrong_namespace_is_invalid(fixture *w)
{
    static const char *const bad[] = {"",      "with space", "quo\"te",  "semi;colon",
                                      "../up", "\xc3\xa9",   "a__b",     "a_",
                                      "_a",    "sqlite",     "sqlite_x", "sqlites"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[HF_URL_MAX], url[HF_URL_MAX + 64];
        scratch_path(".db", path);
        snprintf(url, sizeof url, "sqlite:%s?namespace=%s", path, bad[i]);
        cannot_open(url, HF_INVALID);
    }
    (void)w;
}

static const suite_test urls_tests[] = {
    TEST(a_url_of_no_known_scheme_is_invalid),
    TEST(a_url_that_is_too_long_is_invalid),
    TEST(the_sentence_about_a_bad_url_repeats_no_password),
    TEST(a_parameter_that_is_not_known_is_invalid),
    TEST_FILE(a_wrong_namespace_is_invalid),
};
THEME(urls);
