/* SPDX-License-Identifier: MIT */
/* Addresses to listen on, as people write them: "127.0.0.1:7420", "[::1]:7420", "localhost:7420", "unix:/run/holdfast.sock". Names of
 * machines are none: what they stand for may change. */
#ifndef HF_SERVER_ADDRESS_H
#define HF_SERVER_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

typedef struct address {
    struct sockaddr_storage at;
    socklen_t size;
} address;

enum { ADDRESS_NAME_SIZE = 128 };

/* False: it is none. */
bool address_read(const char *text, address *out);

/* As it is read. */
void address_write(const address *a, char out[ADDRESS_NAME_SIZE]);

/* Only this machine reaches it: loopback, or a Unix socket. */
bool address_is_local(const address *a);
bool address_is_unix(const address *a);

/* The port; 0 for a Unix socket, and for one that is yet to be chosen. */
unsigned address_port(const address *a);
void address_set_port(address *a, unsigned port);

/* Is the text an address or a range of them, "10.0.0.0/8", with no bit set beyond the range? */
bool address_is_network(const char *text);

#endif
