/* SPDX-License-Identifier: MIT */
/* holdfast's own parameters are taken out of a URL, the rest is left as it is, and no sentence
 * tells a password. */
#include <base/seams.h>
#include <db/url.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads a URL that is good. */
static hf_url url_good(const char *text)
{
    hf_error err = {0};
    hf_url url;
    expect(HF_OK, hf_url_read(text, &url, &err), err);
    return url;
}

/* Reads one that is not; the sentence, which tells nothing of s3cret. */
static const char *url_bad(hf_status status, const char *text)
{
    static hf_error err;
    hf_url url;
    err = (hf_error){0};
    expect(status, hf_url_read(text, &url, &err), err);
    expect_true(url.url == NULL && url.password == NULL && url.durability == NULL);
    expect_lacks(err.message, "s3cret");
    hf_url_done(&url);
    return err.message;
}

static void what_is_not_holdfasts_is_left_as_it_is(void **state)
{
    (void)state;
    static const char *const same[] = {
        "postgres://app@db/shop",
        "postgres://app:s%40cret@db:5433/shop?sslmode=require&application_name=a%20b",
        "mysql://app@/shop?socket=/run/s.sock",
        "sqlite:/var/lib/file.db",
        "postgres:///shop?x",
        "",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        hf_url url = url_good(same[i]);
        expect_text(url.url, same[i]);
        expect_text(url.names, "holdfast");
        expect_true(!url.pooler && url.durability == NULL && url.password == NULL);
        hf_url_done(&url);
    }
}

static void what_is_holdfasts_is_taken_out(void **state)
{
    (void)state;
    static const char *const urls[][2] = {
        {"postgres://a@h/d?namespace=office", "postgres://a@h/d"},
        {"postgres://a@h/d?namespace=office&sslmode=require", "postgres://a@h/d?sslmode=require"},
        {"postgres://a@h/d?sslmode=require&namespace=office", "postgres://a@h/d?sslmode=require"},
        {"postgres://a@h/d?x=1&namespace=office&y=2", "postgres://a@h/d?x=1&y=2"},
        {"postgres://a@h/d?&&namespace=office&&y=2&", "postgres://a@h/d?y=2"},
        {"postgres://a@h/d?namespaces=1&namespace=%6Fffice", "postgres://a@h/d?namespaces=1"},
        {"sqlite:/f?namespace=office", "sqlite:/f"},
        {"postgres://a:p?namespace=x@h/d?namespace=office", "postgres://a:p?namespace=x@h/d"},
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        hf_url url = url_good(urls[i][0]);
        expect_text(url.url, urls[i][1]);
        expect_text(url.names, "office");
        hf_url_done(&url);
    }
    hf_url url = url_good("postgres://a@h/d?pooler=transaction&durability=relaxed%21");
    expect_text(url.url, "postgres://a@h/d");
    expect_text(url.durability, "relaxed!");
    expect_true(url.pooler && !url.pooler_session);
    hf_url_done(&url);
    url = url_good("postgres://a@h/d?pooler=session");
    expect_true(!url.pooler && url.pooler_session);
    hf_url_done(&url);
    hf_url_done(&url);
    hf_url_done(NULL);
}

static void what_makes_no_sense_is_refused_with_a_sentence_in_url(void **state)
{
    (void)state;
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?pooler=statement"), "pooler");
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?pooler"), "pooler");
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?durability="), "durability");
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?namespace=x&namespace=x"),
                    "twice");
    expect_contains(
        url_bad(HF_INVALID, "postgres://a:s3cret@h/d?pooler=transaction&x=1&pooler=transaction"),
        "twice");
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?namespace=%4"), "%25");
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?namespace=a%00b"), "zero byte");
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?durability=%zz"), "durability");
}

static void a_namespace_can_be_a_name_in_a_database(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "a", "holdfast", "a_b", "a1_2", "abcdefghijklmnopqrstuvwxyz01234", "my_sql", "pgx"};
    static const char *const no[] = {
        "",      "A",      "1a",       "_a",
        "a_",    "a__b",   "a-b",      "a b",
        "a\"",   "sqlite", "sqlite_x", "pg_x",
        "mysql", "mysqlx", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz012345"};
    hf_error err = {0};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        expect_true(hf_url_names_ok(yes[i], &err) && hf_url_names_ok(yes[i], NULL));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        err = (hf_error){0};
        if (hf_url_names_ok(no[i], &err))
            check_failed(__FILE__, __LINE__, "\"%s\" was taken for a namespace", no[i]);
        expect_int(err.status, HF_INVALID);
        expect_contains(err.message, "31 characters");
    }
    expect_contains(url_bad(HF_INVALID, "postgres://a:s3cret@h/d?namespace=Shop"), "namespace");
}

/* ---- password files ---- */

/* A URL with a new password file of that content and mode. */
static const char *url_with_file(const char *bytes, size_t size, mode_t mode, char *url)
{
    char path[HF_URL_MAX];
    scratch_path(".pass%w", path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    expect_true(file >= 0 && write(file, bytes, size) == (ssize_t)size && fchmod(file, mode) == 0);
    close(file);
    size_t at = (size_t)snprintf(url, HF_URL_MAX, "postgres://a@h/d?password_file=");
    for (const char *c = path; *c != '\0' && at + 4 < HF_URL_MAX; c++)
        at += (size_t)snprintf(url + at, HF_URL_MAX - at, *c == '%' ? "%%25" : "%c", *c);
    snprintf(url + at, HF_URL_MAX - at, "&x=1");
    return url;
}

static void a_password_comes_from_a_file(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"s3cret", "s3cret"},
                                           {"s3cret\n", "s3cret"},
                                           {"s3cret\r\nmore\n", "s3cret"},
                                           {" s3 c%ret \n\n", " s3 c%ret "}};
    char text[HF_URL_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        hf_url url =
            url_good(url_with_file(files[i][0], strlen(files[i][0]), i % 2 ? 0400 : 0600, text));
        expect_text(url.password, files[i][1]);
        expect_text(url.url, "postgres://a@h/d?x=1");
        hf_url_done(&url);
    }
    char longest[1024 + 8];
    memset(longest, 'p', sizeof longest);
    longest[1024] = '\n';
    hf_url url = url_good(url_with_file(longest, sizeof longest, 0600, text));
    expect_int(strlen(url.password), 1024);
    hf_url_done(&url);
}

static void a_password_file_must_be_its_owners_alone(void **state)
{
    (void)state;
    static const mode_t modes[] = {0640, 0604, 0660, 0644, 0601, 0610};
    char text[HF_URL_MAX];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        expect_contains(url_bad(HF_INVALID, url_with_file("s3cret\n", 7, modes[i], text)),
                        "chmod 600");
}

static void a_password_file_that_cannot_be_used_is_named(void **state)
{
    (void)state;
    char text[HF_URL_MAX], longest[1025], path[HF_URL_MAX], url[HF_URL_MAX * 2];
    memset(longest, 'p', sizeof longest);
    expect_contains(url_bad(HF_INVALID, url_with_file("", 0, 0600, text)), "first line");
    expect_contains(url_bad(HF_INVALID, url_with_file("\ns3cret", 7, 0600, text)), "first line");
    expect_contains(url_bad(HF_INVALID, url_with_file("s3\0cret\n", 8, 0600, text)), "first line");
    expect_contains(url_bad(HF_INVALID, url_with_file(longest, sizeof longest, 0600, text)),
                    "1024");
    expect_contains(url_bad(HF_UNAVAILABLE, "mysql://a@h/d?password_file=/no/such/file"),
                    "/no/such/file");
    expect_contains(url_bad(HF_INVALID, "mysql://a@h/d?password_file=/"), "plain file");
    scratch_path(".fifo", path);
    expect_int(mkfifo(path, 0600), 0);
    snprintf(url, sizeof url, "mysql://a@h/d?password_file=%s", path);
    expect_contains(url_bad(HF_INVALID, url), "plain file");
}

/* ---- scarce memory ---- */

static int64_t fail_at;

static void *url_realloc_by_test(void *block, size_t size)
{
    return --fail_at == 0 ? NULL : realloc(block, size);
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    char text[HF_URL_MAX];
    void *(*before)(void *, size_t) = hf_seam.realloc;
    url_with_file("s3cret", 6, 0600, text);
    strncat(text, "&durability=relaxed&namespace=office", sizeof text - strlen(text) - 1);
    for (int64_t n = 1;; n++) {
        hf_error err = {0};
        hf_url url;
        fail_at = n;
        hf_seam.realloc = url_realloc_by_test;
        hf_status status = hf_url_read(text, &url, &err);
        hf_seam.realloc = before;
        hf_url_done(&url);
        if (status == HF_OK)
            break;
        expect_int(status, HF_NO_MEMORY);
        expect_true(n < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_holdfasts_is_left_as_it_is),
        cmocka_unit_test(what_is_holdfasts_is_taken_out),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_a_sentence_in_url),
        cmocka_unit_test(a_namespace_can_be_a_name_in_a_database),
        cmocka_unit_test(a_password_comes_from_a_file),
        cmocka_unit_test(a_password_file_must_be_its_owners_alone),
        cmocka_unit_test(a_password_file_that_cannot_be_used_is_named),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests_name("urls", tests, NULL, NULL);
}
