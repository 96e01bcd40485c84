/* SPDX-License-Identifier: MIT */
/* The roles of a token and the pattern of its users: what is read, how it is written, what it
 * allows. */
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static void roles_are_written_in_one_way(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
    } rows[] = {
        {"use", "use"},
        {"use:*", "use"},
        {"admin manage observe use", "use observe manage admin"},
        {"  use   observe:policy ", "use observe:policy"},
        {"use:b use:a use:b", "use:a use:b"},
        {"use:a use", "use"},
        {"use use:a", "use"},
        {"use:a observe", "use:a observe"},
        {"manage:policy.old-2_x", "manage:policy.old-2_x"},
        {"use:a use:ab use:a.b", "use:a use:a.b use:ab"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hf_roles roles, again;
        hf_error err = {0};
        char out[HF_ROLES_SIZE];
        expect(HF_OK, hf_roles_parse(rows[i].text, &roles, &err), err);
        hf_roles_format(&roles, out);
        expect_text(out, rows[i].written);
        expect(HF_OK, hf_roles_parse(out, &again, &err), err);
        expect_true(memcmp(&roles, &again, sizeof roles) == 0);
    }
}

static void bad_roles_are_refused_with_a_sentence(void **state)
{
    (void)state;
    static const char *const bad[] = {NULL,       "",      " ",       "root",      "Use",
                                      "use:",     "use:A", "use:a:b", "use,admin", "use\tadmin",
                                      "use\nuse", ":a",    "use:**",  "use:*a",    "use:\xc3\xa9",
                                      "observer", "us",    "use :a",  "* use",     "use:1a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hf_roles roles = {.count = 99};
        hf_error err = {0};
        expect(HF_INVALID, hf_roles_parse(bad[i], &roles, &err), err);
        expect_contains(err.message, "The roles ");
        expect_true(err.message[strlen(err.message) - 1] == '.');
        expect_int(roles.count, 99);
    }
}

/* n grants of different types. */
static char *grants(int n)
{
    char *text = calloc(1, 20 * (size_t)n + 1);
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), 20, "use:t%d ", i);
    return text;
}

static void a_token_has_sixteen_roles_at_most(void **state)
{
    (void)state;
    hf_roles roles;
    hf_error err = {0};
    char *full = grants(HF_GRANTS_MAX), *over = grants(HF_GRANTS_MAX + 1), longest[HF_TYPE_MAX + 8],
         swallowed[2048];
    expect(HF_OK, hf_roles_parse(full, &roles, &err), err);
    expect_int(roles.count, HF_GRANTS_MAX);
    expect(HF_INVALID, hf_roles_parse(over, &roles, &err), err);
    expect_contains(err.message, "16");
    snprintf(swallowed, sizeof swallowed, "%s use", full);
    expect(HF_OK, hf_roles_parse(swallowed, &roles, &err), err);
    expect_int(roles.count, 1);
    snprintf(longest, sizeof longest, "use:%064d", 0);
    longest[4] = 't';
    expect(HF_OK, hf_roles_parse(longest, &roles, &err), err);
    snprintf(longest, sizeof longest, "use:%065d", 0);
    longest[4] = 't';
    expect(HF_INVALID, hf_roles_parse(longest, &roles, &err), err);
    free(full);
    free(over);
}

static void a_role_allows_its_type_and_no_other_role(void **state)
{
    (void)state;
    hf_roles roles;
    hf_error err = {0};
    expect(HF_OK, hf_roles_parse("use manage:policy admin:claim", &roles, &err), err);
    expect_true(hf_roles_allow(&roles, HF_ROLE_USE, "policy"));
    expect_true(hf_roles_allow(&roles, HF_ROLE_USE, NULL));
    expect_true(hf_roles_allow(&roles, HF_ROLE_MANAGE, "policy"));
    expect_true(!hf_roles_allow(&roles, HF_ROLE_MANAGE, "polic"));
    expect_true(!hf_roles_allow(&roles, HF_ROLE_MANAGE, "policy2"));
    expect_true(!hf_roles_allow(&roles, HF_ROLE_MANAGE, NULL));
    expect_true(!hf_roles_allow(&roles, HF_ROLE_MANAGE, ""));
    expect_true(!hf_roles_allow(&roles, HF_ROLE_OBSERVE, "policy"));
    expect_true(!hf_roles_allow(&roles, HF_ROLE_ADMIN, "policy"));
    expect_true(hf_roles_allow(&roles, HF_ROLE_ADMIN, "claim"));
    expect_true(!hf_roles_allow(&(hf_roles){.count = 0}, HF_ROLE_USE, NULL));
}

static void a_pattern_fits_the_users_it_should(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *user;
        bool fits;
    } rows[] = {
        {"", "anyone", true},
        {NULL, "anyone", true},
        {"*", "anyone", true},
        {"*", "", true},
        {"alice", "alice", true},
        {"alice", "alic", false},
        {"alice", "alice2", false},
        {"alice", "Alice", false},
        {"al*", "al", true},
        {"al*", "alice", true},
        {"al*", "bal", false},
        {"*ce", "alice", true},
        {"*ce", "cece", true},
        {"*ce", "cent", false},
        {"a*e", "ae", true},
        {"a*e", "abcde", true},
        {"a*e", "abcdef", false},
        {"*a*b*", "xaxbx", true},
        {"*a*b*", "ba", false},
        {"a**b", "ab", true},
        {"*ab", "aab", true},
        {"*abab", "abababab", true},
        {"a*bc*d", "abcbcd", true},
        {"a*bc*d", "abcbc", false},
        {"?", "a", false},
        {"[a]", "a", false},
        {"\xc3\xa9*", "\xc3\xa9lan", true},
        {"a", "", false},
        {"bill-*@example.org", "bill-7@example.org", true},
        {"bill-*@example.org", "bill-7@example.org.evil", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hf_users_match(rows[i].pattern, rows[i].user) != rows[i].fits)
            check_failed(__FILE__, __LINE__, "pattern \"%s\", user \"%s\"",
                         rows[i].pattern ? rows[i].pattern : "NULL", rows[i].user);
}

/* A pattern made to take long. */
static void no_pattern_takes_long(void **state)
{
    (void)state;
    char pattern[HF_TEXT_SIZE] = "", user[HF_TEXT_SIZE] = "";
    for (int i = 0; i < HF_TEXT_MAX - 1; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[HF_TEXT_MAX - 1] = 'b';
    memset(user, 'a', HF_TEXT_MAX);
    for (int i = 0; i < 1000; i++)
        expect_true(!hf_users_match(pattern, user));
}

static void a_new_token_is_unlike_the_last_and_is_read_back(void **state)
{
    (void)state;
    hf_token_key one, two, read;
    hf_error err = {0};
    expect(HF_OK, hf_token_new(&one, &err), err);
    expect(HF_OK, hf_token_new(&two, &err), err);
    expect_true(strcmp(one.secret, two.secret) != 0 && strcmp(one.id, two.id) != 0);
    expect_int(strlen(one.id), HF_TOKEN_ID_MAX);
    expect_true(strncmp(one.secret, one.id, HF_TOKEN_ID_MAX) != 0);
    expect(HF_OK, hf_token_read(one.secret, &read, &err), err);
    expect_true(memcmp(read.sha256, one.sha256, sizeof read.sha256) == 0);
    expect_text(read.id, "");
    hf_token_clear(&one);
    expect_text(one.secret, "");
    static const char *const bad[] = {
        NULL, "", "abc", "zz", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect(HF_INVALID, hf_token_read(bad[i], &read, &err), err);
        expect_true(bad[i] == NULL || strlen(bad[i]) < 4 || strstr(err.message, bad[i]) == NULL);
    }
}

static void what_is_kept_longer_is_what_was_forced_and_who_may(void **state)
{
    (void)state;
    for (int i = 0; i < HF_EVENT_KINDS; i++)
        expect_int(hf_event_is_audit((hf_event_kind)i),
                   i == HF_EVENT_FORCED || i == HF_EVENT_TOKEN_CREATED ||
                       i == HF_EVENT_TOKEN_REVOKED || i == HF_EVENT_DENIED ||
                       i == HF_EVENT_UNAUTHENTICATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_are_written_in_one_way),
        cmocka_unit_test(bad_roles_are_refused_with_a_sentence),
        cmocka_unit_test(a_token_has_sixteen_roles_at_most),
        cmocka_unit_test(a_role_allows_its_type_and_no_other_role),
        cmocka_unit_test(a_pattern_fits_the_users_it_should),
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(a_new_token_is_unlike_the_last_and_is_read_back),
        cmocka_unit_test(what_is_kept_longer_is_what_was_forced_and_who_may),
    };
    return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}
