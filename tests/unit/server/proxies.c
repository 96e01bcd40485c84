/* SPDX-License-Identifier: MIT */
/* Trusted proxies: addresses, ranges, and for whom they speak. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <server/http/proxies.h>
#include <string.h>
#include <support/check.h>

static net_address address_of(const char *text)
{
    net_address out = {.is_unix = strcmp(text, "unix") == 0};
    expect_true(out.is_unix || net_address_parse(text, strlen(text), &out));
    return out;
}

static void addresses_are_read_and_written_in_proxies(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"10.1.2.3", "10.1.2.3"},
        {"10.1.2.3:80", "10.1.2.3"},
        {"::1", "::1"},
        {"[::1]", "::1"},
        {"[2001:db8::7]:443", "2001:db8::7"},
        {"::ffff:10.1.2.3", "10.1.2.3"},
        {"FE80::1", "fe80::1"},
    };
    static const char *const bad[] = {"",   "unknown", "10.1.2",    "10.1.2.3.4", "[::1",
                                      "[]", "_hidden", "1.2.3.4/8", "::1::",      "10.1.2.300"};
    char text[NET_ADDRESS_TEXT];
    net_address out;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        out = address_of(good[i][0]);
        net_address_print(&out, text);
        expect_text(text, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (net_address_parse(bad[i], strlen(bad[i]), &out))
            check_failed(__FILE__, __LINE__, "'%s' was read as an address", bad[i]);
}

static void loopback_is_known(void **state)
{
    (void)state;
    static const char *const loopback[] = {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1",
                                           "unix"};
    static const char *const other[] = {"10.0.0.1", "0.0.0.0", "::", "::2", "128.0.0.1"};
    for (size_t i = 0; i < 5; i++) {
        net_address a = address_of(loopback[i]), b = address_of(other[i]);
        expect_true(net_address_is_loopback(&a));
        expect_true(!net_address_is_loopback(&b));
    }
}

/* Limits count all that one customer has as one address. */
static void networks_are_what_one_customer_has(void **state)
{
    (void)state;
    static const char *const networks[][2] = {
        {"10.1.2.3", "10.1.2.3"},
        {"::ffff:10.1.2.3", "10.1.2.3"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
        {"::1", "::/64"},
        {"unix", "unix"},
    };
    char text[NET_ADDRESS_TEXT];
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        net_address a = address_of(networks[i][0]);
        net_network_print(&a, text);
        expect_text(text, networks[i][1]);
    }
    net_address one = address_of("2001:db8::1"), other = address_of("2001:db8:0:0:ffff::"),
                next = address_of("2001:db8:0:1::1");
    net_address a = net_address_network(&one), b = net_address_network(&other),
                c = net_address_network(&next);
    expect_true(net_address_same(&a, &b) && !net_address_same(&a, &c));
}

static bool trusts(const char *range, const char *address)
{
    proxies *all;
    hf_error err;
    const char *const texts[] = {"192.0.2.1", range, NULL};
    net_address at = address_of(address);
    expect(HF_OK, proxies_new(texts, &all, &err), err);
    bool trusted = proxies_trust(all, &at);
    proxies_free(all);
    return trusted;
}

static void ranges_hold_what_they_say(void **state)
{
    (void)state;
    expect_true(trusts("10.0.0.0/8", "10.255.255.255"));
    expect_true(!trusts("10.0.0.0/8", "11.0.0.0"));
    expect_true(trusts("10.1.2.0/23", "10.1.3.255"));
    expect_true(!trusts("10.1.2.0/23", "10.1.4.0"));
    expect_true(trusts("10.1.2.3", "::ffff:10.1.2.3"));
    expect_true(!trusts("10.1.2.3", "10.1.2.4"));
    expect_true(trusts("0.0.0.0/0", "8.8.8.8"));
    expect_true(!trusts("0.0.0.0/0", "2001:db8::1"));
    expect_true(trusts("fd00::/8", "fd12::1"));
    expect_true(!trusts("fd00::/8", "fc12::1"));
    expect_true(trusts("::/0", "8.8.8.8"));
    expect_true(trusts("::1", "::1"));
    expect_true(trusts("unix", "unix"));
    expect_true(!trusts("::/0", "unix"));
    expect_true(!trusts("unix", "::"));
}

static void what_is_no_proxy_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"proxy1",     "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
                                      "::/129",     "10.0.0.1:80", "",          "/8",
                                      "10.0.0.0/8x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        proxies *all;
        hf_error err;
        const char *const texts[] = {bad[i], NULL};
        expect(HF_INVALID, proxies_new(texts, &all, &err), err);
        expect_contains(err.message, bad[i]);
    }
}

/* ---- for whom they speak ---- */

static const char *const trusted[] = {"10.0.0.0/8", "2001:db8::/32", NULL};

static void speaks(proxies_said said, const char *client, bool secure)
{
    proxies *all;
    hf_error err;
    char text[NET_ADDRESS_TEXT];
    bool is_secure = false;
    net_address peer = address_of("10.0.0.1");
    expect(HF_OK, proxies_new(trusted, &all, &err), err);
    proxies_resolve(all, &said, &peer, &is_secure);
    proxies_free(all);
    net_address_print(&peer, text);
    expect_text(text, client);
    expect_int(is_secure, secure);
}

static void the_first_that_is_not_trusted_is_the_client(void **state)
{
    (void)state;
    speaks((proxies_said){0}, "10.0.0.1", false);
    speaks((proxies_said){.x_forwarded_for = "192.0.2.7"}, "192.0.2.7", false);
    speaks((proxies_said){.x_forwarded_for = "1.1.1.1, 192.0.2.7"}, "192.0.2.7", false);
    speaks((proxies_said){.x_forwarded_for = "1.1.1.1, 192.0.2.7 ,10.0.0.2"}, "192.0.2.7", false);
    speaks((proxies_said){.x_forwarded_for = "10.0.0.3, 10.0.0.2"}, "10.0.0.3", false);
    speaks((proxies_said){.x_forwarded_for = "1.1.1.1, unknown"}, "10.0.0.1", false);
    speaks((proxies_said){.x_forwarded_for = "1.1.1.1, unknown, 10.0.0.2"}, "10.0.0.2", false);
    speaks((proxies_said){.x_forwarded_for = ""}, "10.0.0.1", false);
    speaks((proxies_said){.x_forwarded_for = ",,"}, "10.0.0.1", false);
    speaks((proxies_said){.x_forwarded_for = "[2001:4860::8]:80"}, "2001:4860::8", false);
}

static void the_new_header_is_read_too(void **state)
{
    (void)state;
    speaks((proxies_said){.forwarded = "for=192.0.2.7"}, "192.0.2.7", false);
    speaks(
        (proxies_said){.forwarded = "for=1.1.1.1, For=\"192.0.2.7:1234\";proto=https;by=10.0.0.1"},
        "192.0.2.7", true);
    speaks((proxies_said){.forwarded =
                              "for=\"[2001:4860::8]:80\";Proto=HTTPS, for=10.0.0.2;proto=http"},
           "2001:4860::8", true);
    speaks((proxies_said){.forwarded = "proto=https;for=192.0.2.7;host=\"a,b;for=1.1.1.1\""},
           "192.0.2.7", true);
    speaks((proxies_said){.forwarded = "for=_hidden, for=10.0.0.2"}, "10.0.0.2", false);
    speaks((proxies_said){.forwarded = "for=\"192.0.2.7"}, "10.0.0.1", false);
    speaks((proxies_said){.forwarded = "by=192.0.2.7"}, "10.0.0.1", false);
}

static void the_protocol_is_that_of_the_clients_own_hop(void **state)
{
    (void)state;
    speaks((proxies_said){.x_forwarded_for = "192.0.2.7", .x_forwarded_proto = "https"},
           "192.0.2.7", true);
    speaks((proxies_said){.x_forwarded_for = "192.0.2.7", .x_forwarded_proto = "https, http"},
           "192.0.2.7", false);
    speaks((proxies_said){.x_forwarded_for = "192.0.2.7, 10.0.0.2",
                          .x_forwarded_proto = "https, http"},
           "192.0.2.7", true);
    speaks((proxies_said){.x_forwarded_for = "192.0.2.7, 10.0.0.2", .x_forwarded_proto = "https"},
           "192.0.2.7", true);
    speaks((proxies_said){.x_forwarded_proto = "https"}, "10.0.0.1", true);
    speaks((proxies_said){.x_forwarded_proto = "httpsx"}, "10.0.0.1", false);
}

/* One of the two may have been written by the client. */
static void headers_that_disagree_do_not_count(void **state)
{
    (void)state;
    speaks((proxies_said){.forwarded = "for=192.0.2.7;proto=https", .x_forwarded_for = "192.0.2.8"},
           "10.0.0.1", false);
    speaks((proxies_said){.forwarded = "for=192.0.2.7;proto=https", .x_forwarded_for = "192.0.2.7"},
           "192.0.2.7", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_and_written_in_proxies),
        cmocka_unit_test(loopback_is_known),
        cmocka_unit_test(networks_are_what_one_customer_has),
        cmocka_unit_test(ranges_hold_what_they_say),
        cmocka_unit_test(what_is_no_proxy_is_refused),
        cmocka_unit_test(the_first_that_is_not_trusted_is_the_client),
        cmocka_unit_test(the_new_header_is_read_too),
        cmocka_unit_test(the_protocol_is_that_of_the_clients_own_hop),
        cmocka_unit_test(headers_that_disagree_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
