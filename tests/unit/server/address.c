/* SPDX-License-Identifier: MIT */
/* Addresses: what is one, what is not, who can reach it; ranges; and a URL without its password. */
#include <base/redact.h>
#include <server/http/listeners.h>
#include <string.h>
#include <support/check.h>

static void addresses_are_read_and_written_in_address(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
        bool local;
    } all[] = {
        {"127.0.0.1:7420", "127.0.0.1:7420", true},
        {"127.9.8.7:1", "127.9.8.7:1", true},
        {"localhost:80", "127.0.0.1:80", true},
        {"0.0.0.0:0", "0.0.0.0:0", false},
        {"10.1.2.3:65535", "10.1.2.3:65535", false},
        {"[::1]:7420", "[::1]:7420", true},
        {"[::]:7420", "[::]:7420", false},
        {"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true},
        {"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", false},
        {"[2001:db8::7]:443", "[2001:db8::7]:443", false},
        {"unix:/run/x.sock", "unix:/run/x.sock", true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        address a;
        char name[ADDRESS_NAME_SIZE];
        expect_true(address_read(all[i].text, &a));
        address_write(&a, name);
        expect_text(name, all[i].written);
        expect_int(address_is_local(&a), all[i].local);
        expect_int(address_is_unix(&a), strncmp(all[i].text, "unix:", 5) == 0);
    }
}

static void what_is_no_address_is_none(void **state)
{
    (void)state;
    address a;
    char long_path[200] = "unix:/"; /* 107 bytes are the most there may be */
    memset(long_path + 6, 'x', 106);
    expect_true(address_read(long_path, &a));
    long_path[6 + 106] = 'x';
    const char *const bad[] = {"",
                               "7420",
                               ":7420",
                               "127.0.0.1",
                               "127.0.0.1:",
                               "127.0.0.1:65536",
                               "127.0.0.1:99999",
                               "127.0.0.1:123456",
                               "127.0.0.1:x",
                               "127.0.0.1:-1",
                               "example:80",
                               "::1:7420",
                               "[::1]",
                               "[::1]:",
                               "[::1:7420",
                               "256.0.0.1:1",
                               "1.2.3:4",
                               "[127.0.0.1]:7420",
                               "unix:",
                               "127.0.0.1:000001",
                               " 127.0.0.1:1",
                               "[]:1",
                               long_path,
                               "127.0.0.1:7420x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (address_read(bad[i], &a))
            fail_msg("'%s' was taken for an address", bad[i]);
}

static void ranges_have_no_bits_beyond_them(void **state)
{
    (void)state;
    const char *const good[] = {"10.0.0.7", "10.0.0.0/8", "0.0.0.0/0", "10.0.0.7/32",
                                "::1",      "fd00::/8",   "::/0",      "192.168.4.0/22"};
    const char *const bad[] = {"",          "10.0.0.7/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x",
                               "fd00::1/8", "::/129",     "host",        "10/8",      "1.2.3.4:5"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!address_is_network(good[i]))
            fail_msg("'%s' was not taken for a range", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (address_is_network(bad[i]))
            fail_msg("'%s' was taken for a range", bad[i]);
}

static void a_url_is_shown_without_its_password(void **state)
{
    (void)state;
    static const struct {
        const char *url, *shown;
    } all[] = {
        {"postgres://u:secret@h/db", "postgres://u@h/db"},
        {"postgres://u:se?cret@h/db", "postgres://u@h/db"},
        {"postgres://u:se@cret@h:5/db", "postgres://u@h:5/db"},
        {"postgres://u:sec/secret@h:5/db", "postgres://u@h:5/db"},
        {"postgres://h:5432/db?user=u@v", "postgres://h:5432/db?user=u@v"},
        {"postgres://u@h:5432/db", "postgres://u@h:5432/db"},
        {"postgres://h/db?password=secret", "postgres://h/db"},
        {"postgres://h/db?password=secret&user=u", "postgres://h/db?user=u"},
        {"postgres://h/db?user=u&sslpassword=secret&password=secret&x=1",
         "postgres://h/db?user=u&x=1"},
        {"mysql://u:secret@/db?socket=/s", "mysql://u@/db?socket=/s"},
        {"postgres://h/db?password_file=/p", "postgres://h/db?password_file=/p"},
        {"sqlite:/a:b@c/x.db", "sqlite:/a:b@c/x.db"},
        {"memory:", "memory:"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char shown[128];
        expect_int(hf_url_redact(all[i].url, shown, sizeof shown),
                   strcmp(all[i].url, all[i].shown) != 0);
        expect_text(shown, all[i].shown);
        expect_lacks(shown, "secret");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_and_written_in_address),
        cmocka_unit_test(what_is_no_address_is_none),
        cmocka_unit_test(ranges_have_no_bits_beyond_them),
        cmocka_unit_test(a_url_is_shown_without_its_password),
    };
    return cmocka_run_group_tests_name("server_address", tests, NULL, NULL);
}
