/* SPDX-License-Identifier: MIT */
/* A small proxy between a test and a server, for connections that die at a chosen moment. It
 * listens on a port of the loopback, in a thread of the test's own process. Any thread may give
 * commands; a command has been carried out when it returns. What goes wrong in the proxy itself
 * fails the test. */
#ifndef HF_TESTS_SUPPORT_PROXY_H
#define HF_TESTS_SUPPORT_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct proxy proxy;

typedef enum proxy_way {
    PROXY_UP = 1,   /* from the client to the server */
    PROXY_DOWN = 2, /* from the server to the client */
    PROXY_BOTH = PROXY_UP | PROXY_DOWN
} proxy_way;

typedef enum proxy_when {
    PROXY_BEFORE, /* before the pattern is passed on: the other side never sees it */
    /* it is passed on; of what goes up, the answers are dropped, and the cut comes when they have
     * ended */
    PROXY_AFTER
} proxy_when;

/* The target is a host with a port, or the path of a unix socket. */
proxy *proxy_start(const char *host_or_path, int port);

/* Cuts what is left and ends the thread. Accepts NULL. */
void proxy_stop(proxy *p);

/* Where to connect: 127.0.0.1 and this. */
int proxy_port(const proxy *p);

/* ---- cutting: the client's end is reset, the server's closed ---- */

/* Every connection, now. */
void proxy_cut(proxy *p);

/* A trap, for the first connection that gets into it: when so many bytes more have been passed that
 * way, by all connections together, or when the pattern (at most 63 bytes) comes that way. There is
 * one trap at a time; setting one removes the other. */
void proxy_cut_after(proxy *p, proxy_way way, size_t bytes);
void proxy_cut_at(proxy *p, proxy_way way, const char *pattern, proxy_when when);
void proxy_cut_never(proxy *p);

/* How many connections a trap has cut; waits until it has cut more than `before`, false: not within
 * that time. */
size_t proxy_sprung(proxy *p);
bool proxy_wait_sprung(proxy *p, size_t before, int64_t ms);

/* ---- other ways to be a bad network ---- */

/* Passes nothing on that way until proxy_go_on; connections stay as they are, new ones are
 * accepted. */
void proxy_hold(proxy *p, proxy_way way);
void proxy_go_on(proxy *p);

/* Whether new connections are refused, as by a server that is not there. */
void proxy_refuse(proxy *p, bool refuse);

/* ---- what went through ---- */

size_t proxy_accepted(proxy *p); /* connections since the start */
size_t proxy_open(proxy *p);     /* connections now */
size_t proxy_passed(proxy *p, proxy_way way);
/* Round trips: how often a client spoke that had not spoken last. What is sent in several pieces
 * counts once, unless the server begins to answer before it has all of it. */
size_t proxy_trips(proxy *p);

#endif
