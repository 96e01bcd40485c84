/* SPDX-License-Identifier: MIT */
/* The sockets a server listens on: those of the setting `listen`, or those that systemd has handed
 * over in their place. */
#ifndef HF_SERVER_LISTENERS_H
#define HF_SERVER_LISTENERS_H

#include "server/http/address.h"
#include "server/settings.h"

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
