/* SPDX-License-Identifier: MIT */
/* Addresses to listen on, as people write them: "127.0.0.1:7420", "[::1]:7420", "localhost:7420",
 * "unix:/run/holdfast.sock"; and the sockets that listen there. Names of machines are no addresses:
 * what they stand for may change. */
#ifndef HF_SERVER_ADDRESS_H
#define HF_SERVER_ADDRESS_H

#include <holdfast/status.h>
#include <stdbool.h>
#include <sys/socket.h>

typedef struct address {
    struct sockaddr_storage at;
    socklen_t size;
} address;

enum { ADDRESS_NAME_SIZE = 128 };

/* False: it is none. */
bool address_read(const char *text, address *out);

/* As it is read; a Unix socket without a file, which only others can hand over, as "unix:@NAME". */
void address_write(const address *a, char out[ADDRESS_NAME_SIZE]);

/* Only this machine reaches it: loopback, or a Unix socket. */
bool address_is_local(const address *a);
bool address_is_unix(const address *a);

/* The port; 0 for a Unix socket, and for one that is yet to be chosen. */
unsigned address_port(const address *a);
void address_set_port(address *a, unsigned port);

/* The path of a Unix socket; "": it has no file. */
const char *address_path(const address *a);

/* Binds and listens, nonblocking; `a` becomes what came of it, with the port that was chosen. A
 * port that is taken is passed over for one of so many behind it. A Unix socket's file gets mode
 * 0660 and belongs to the caller; one that nobody listens on any more is replaced, any other file
 * stays. HF_UNAVAILABLE: it is taken, it is not this machine's, or it may not be used; nothing is
 * left behind. */
hf_status address_listen(address *a, unsigned ports, int *out_fd, hf_error *err);

/* The address of a socket that someone else has made; it is nonblocking from now on, and closed by
 * exec. False: it is no stream socket that listens. */
bool address_of_socket(int fd, address *out);

/* Is the text an address or a range of them, "10.0.0.0/8", with no bit set beyond the range? */
bool address_is_network(const char *text);

#endif
