/* SPDX-License-Identifier: MIT */
/* Addresses to listen on, as people write them: "127.0.0.1:7420", "[::1]:7420", "localhost:7420",
 * "unix:/run/holdfast.sock"; and the sockets of a server: those of the setting `listen`, or those
 * that systemd has handed over. Names of machines are not taken: what they stand for may change. */
#ifndef HF_SERVER_HTTP_LISTENERS_H
#define HF_SERVER_HTTP_LISTENERS_H

#include "server/settings.h"

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

typedef struct listener {
    int fd;
    char name[ADDRESS_NAME_SIZE]; /* "127.0.0.1:7420", with the port that came of it */
    bool local;                   /* only this machine reaches it */
    /* it is to speak TLS: certificates are set and it is no Unix socket */
    bool tls;
    bool moved; /* the port was taken, and any-port chose another */
    /* the socket's file, to be removed at the end; "": none, or not ours */
    char path[ADDRESS_NAME_SIZE];
    int file; /* the file itself, held so that no other can have its number */
} listener;

typedef struct listeners {
    listener *all;
    size_t count;
    bool inherited;
} listeners;

/* Binds and listens, nonblocking. HF_INVALID: an address that other machines reach, without TLS and
 * without allow-plain. HF_UNAVAILABLE: the port is taken, or the address is not this machine's.
 * What fails leaves nothing open. */
hf_status listeners_open(const settings *s, listeners *out, hf_error *err);

/* Is one of them what this URL of a store names? A server can't be its own store. The names in it
 * are looked up. */
bool listeners_are_at(const listeners *l, const char *url);

/* Closes them (those that are still there: fd -1 was given away) and removes the files of Unix
 * sockets. Accepts what is empty. */
void listeners_close(listeners *l);

#endif
