/* SPDX-License-Identifier: MIT */
/* Trusted proxies, and the client's address that they forward. Headers such as X-Forwarded-For
 * count only if they come from one of them: anybody can write one. */
#ifndef HF_SERVER_HTTP_PROXIES_H
#define HF_SERVER_HTTP_PROXIES_H

#include <holdfast/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

/* An address without its port, IPv4 as ::ffff:a.b.c.d; or a Unix socket, which has none. */
typedef struct net_address {
    uint8_t bytes[16];
    bool is_unix;
} net_address;

enum { NET_ADDRESS_TEXT = 48 };

net_address net_address_of(const struct sockaddr *from);
/* "10.1.2.3", "::1"; with a port too: "10.1.2.3:80", "[::1]:80", and "[::1]". False: it is none. */
bool net_address_parse(const char *text, size_t size, net_address *out);
/* "unix" for a Unix socket */
void net_address_print(const net_address *address, char out[NET_ADDRESS_TEXT]);
bool net_address_is_loopback(const net_address *address);
bool net_address_same(const net_address *a, const net_address *b);

/* What limits per address count as one address: an IPv4 address; the /64 of an IPv6 address, since
 * one customer has all of it; or "unix". As text: "10.1.2.3", "2001:db8:0:7::/64". */
net_address net_address_network(const net_address *address);
void net_network_print(const net_address *address, char out[NET_ADDRESS_TEXT]);

typedef struct proxies proxies;

/* texts: addresses, ranges ("10.0.0.0/8", "fd00::/8") and "unix"; ends with NULL, may be NULL. */
hf_status proxies_new(const char *const *texts, proxies **out, hf_error *err);
void proxies_free(proxies *all); /* accepts NULL */
bool proxies_trust(const proxies *all, const net_address *address);

/* The headers that name the client; NULL: not there. */
typedef struct proxies_said {
    const char *forwarded, *x_forwarded_for, *x_forwarded_proto;
} proxies_said;

/* The client that a trusted peer forwards: the lists are read from the right, past trusted proxies,
 * so that entries written by the client itself don't count. An unreadable entry ends the walk at
 * the proxy that wrote it. If Forwarded and X-Forwarded-For name different clients, one of them may
 * come from the client: then the peer counts as the client. `client` and `secure` are preset with
 * the peer's. */
void proxies_resolve(const proxies *all, const proxies_said *said, net_address *client,
                     bool *secure);

#endif
