/* SPDX-License-Identifier: MIT */
/* Reading and writing addresses. Ports are digits alone, an IPv6 address stands in brackets. */
#include "server/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static bool read_number(const char *text, unsigned max, unsigned *out)
{
    unsigned value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    for (; *text != '\0'; text++)
        value = value * 10 + (unsigned)(*text - '0');
    *out = value;
    return value <= max;
}

static bool read_unix(const char *path, address *out)
{
    struct sockaddr_un *at = (struct sockaddr_un *)&out->at;
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof at->sun_path)
        return false;
    at->sun_family = AF_UNIX;
    memcpy(at->sun_path, path, length + 1);
    out->size = (socklen_t)sizeof *at;
    return true;
}

static bool read_ip(const char *host, bool six, address *out)
{
    struct sockaddr_in *four_at = (struct sockaddr_in *)&out->at;
    struct sockaddr_in6 *six_at = (struct sockaddr_in6 *)&out->at;
    out->at.ss_family = six ? AF_INET6 : AF_INET;
    out->size = (socklen_t)(six ? sizeof *six_at : sizeof *four_at);
    if (!six && strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    return inet_pton(out->at.ss_family, host,
                     six ? (void *)&six_at->sin6_addr : (void *)&four_at->sin_addr) == 1;
}

bool address_read(const char *text, address *out)
{
    char host[INET6_ADDRSTRLEN + 2];
    unsigned port = 0;
    memset(out, 0, sizeof *out);
    if (strncmp(text, "unix:", 5) == 0)
        return read_unix(text + 5, out);
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host || !read_number(colon + 1, UINT16_MAX, &port))
        return false;
    size_t length = (size_t)(colon - text);
    bool six = length > 2 && text[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(six ? length - 2 : length), six ? text + 1 : text);
    if (!read_ip(host, six, out))
        return false;
    address_set_port(out, port);
    return true;
}

void address_write(const address *a, char out[ADDRESS_NAME_SIZE])
{
    char host[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *four = (const struct sockaddr_in *)&a->at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->at;
    if (address_is_unix(a)) {
        snprintf(out, ADDRESS_NAME_SIZE, "unix:%s", ((const struct sockaddr_un *)&a->at)->sun_path);
    } else if (a->at.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        snprintf(out, ADDRESS_NAME_SIZE, "[%s]:%u", host, address_port(a));
    } else {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        snprintf(out, ADDRESS_NAME_SIZE, "%s:%u", host, address_port(a));
    }
}

bool address_is_unix(const address *a)
{
    return a->at.ss_family == AF_UNIX;
}

bool address_is_local(const address *a)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->at;
    if (a->at.ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)&a->at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (a->at.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        return six->sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
    return a->at.ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) : address_is_unix(a);
}

unsigned address_port(const address *a)
{
    if (a->at.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&a->at)->sin6_port);
    return a->at.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&a->at)->sin_port) : 0;
}

void address_set_port(address *a, unsigned port)
{
    if (a->at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&a->at)->sin6_port = htons((uint16_t)port);
    else if (a->at.ss_family == AF_INET)
        ((struct sockaddr_in *)&a->at)->sin_port = htons((uint16_t)port);
}

bool address_is_network(const char *text)
{
    unsigned char bytes[16];
    char host[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    int family = memchr(text, ':', length) != NULL ? AF_INET6 : AF_INET;
    unsigned size = family == AF_INET6 ? 128 : 32, bits = size;
    if (length >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)length, text);
    if (inet_pton(family, host, bytes) != 1 ||
        (text[length] == '/' && !read_number(text + length + 1, size, &bits)))
        return false;
    for (unsigned bit = bits; bit < size; bit++)
        if (bytes[bit / 8] & (0x80 >> bit % 8))
            return false;
    return true;
}
