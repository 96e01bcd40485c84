/* SPDX-License-Identifier: MIT */
/* Trusted proxies: a list of ranges, and a walk from the right through what they say. */
#include "server/http/proxies.h"

#include "base/error.h"
#include "base/seams.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

typedef struct range {
    net_address address;
    unsigned bits; /* of 128 */
} range;

struct proxies {
    size_t count;
    range ranges[];
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* ---- addresses ---- */

static bool proxies_is_v4(const net_address *address)
{
    return memcmp(address->bytes, mapped, sizeof mapped) == 0;
}

net_address net_address_of(const struct sockaddr *from)
{
    net_address out = {.is_unix = from->sa_family == AF_UNIX};
    if (from->sa_family == AF_INET) {
        memcpy(out.bytes, mapped, sizeof mapped);
        memcpy(out.bytes + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        memcpy(out.bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    }
    return out;
}

/* Without a port. */
static bool proxies_parse_bare(const char *text, size_t size, net_address *out)
{
    char copy[NET_ADDRESS_TEXT];
    if (size == 0 || size >= sizeof copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *out = (net_address){0};
    if (inet_pton(AF_INET6, copy, out->bytes) == 1)
        return true;
    memcpy(out->bytes, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, out->bytes + 12) == 1;
}

bool net_address_parse(const char *text, size_t size, net_address *out)
{
    if (size > 0 && text[0] == '[') {
        const char *end = memchr(text, ']', size);
        return end != NULL && proxies_parse_bare(text + 1, (size_t)(end - text - 1), out);
    }
    const char *colon = memchr(text, ':', size);
    bool port = colon != NULL && memchr(colon + 1, ':', size - (size_t)(colon + 1 - text)) == NULL;
    return proxies_parse_bare(text, port ? (size_t)(colon - text) : size, out);
}

void net_address_print(const net_address *address, char out[NET_ADDRESS_TEXT])
{
    if (address->is_unix)
        memcpy(out, "unix", sizeof "unix");
    else if (proxies_is_v4(address))
        inet_ntop(AF_INET, address->bytes + 12, out, NET_ADDRESS_TEXT);
    else
        inet_ntop(AF_INET6, address->bytes, out, NET_ADDRESS_TEXT);
}

bool net_address_is_loopback(const net_address *address)
{
    static const uint8_t one[16] = {[15] = 1};
    if (proxies_is_v4(address))
        return address->bytes[12] == 127;
    return address->is_unix || memcmp(address->bytes, one, sizeof one) == 0;
}

bool net_address_same(const net_address *a, const net_address *b)
{
    return a->is_unix == b->is_unix && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

net_address net_address_network(const net_address *address)
{
    net_address network = *address;
    if (!address->is_unix && !proxies_is_v4(address))
        memset(network.bytes + 8, 0, 8);
    return network;
}

void net_network_print(const net_address *address, char out[NET_ADDRESS_TEXT])
{
    net_address network = net_address_network(address);
    net_address_print(&network, out);
    if (!network.is_unix && !proxies_is_v4(&network))
        memcpy(out + strlen(out), "/64", sizeof "/64");
}

/* ---- ranges ---- */

static bool proxies_parse_bits(const char *text, unsigned most, unsigned *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long bits = strtoul(text, &end, 10);
    *out = (unsigned)bits;
    return *end == '\0' && bits <= most;
}

static bool proxies_parse_range(const char *text, range *out)
{
    *out = (range){.address.is_unix = strcmp(text, "unix") == 0, .bits = 128};
    if (out->address.is_unix)
        return true;
    size_t size = strcspn(text, "/");
    if (!proxies_parse_bare(text, size, &out->address))
        return false;
    bool v4 = proxies_is_v4(&out->address) && memchr(text, ':', size) == NULL;
    if (text[size] == '\0')
        return true;
    if (!proxies_parse_bits(text + size + 1, v4 ? 32 : 128, &out->bits))
        return false;
    out->bits += v4 ? 96 : 0;
    return true;
}

hf_status proxies_new(const char *const *texts, proxies **out, hf_error *err)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    proxies *all = hf_alloc(sizeof *all + count * sizeof all->ranges[0]);
    if (all == NULL)
        return hf_fail_memory(err);
    for (; all->count < count; all->count++) {
        const char *text = texts[all->count];
        if (proxies_parse_range(text, &all->ranges[all->count]))
            continue;
        proxies_free(all);
        return hf_fail(err, HF_INVALID,
                       "'%.80s' is not the address of a proxy; give one such as 10.1.2.3, a range "
                       "such as 10.0.0.0/8 or "
                       "fd00::/8, or the word unix.",
                       text);
    }
    *out = all;
    return HF_OK;
}

void proxies_free(proxies *all)
{
    hf_free(all);
}

static bool proxies_in_range(const range *r, const net_address *address)
{
    if (r->address.is_unix || address->is_unix)
        return r->address.is_unix == address->is_unix;
    unsigned whole = r->bits / 8, rest = r->bits % 8;
    if (memcmp(r->address.bytes, address->bytes, whole) != 0)
        return false;
    return rest == 0 || ((r->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest)) == 0;
}

bool proxies_trust(const proxies *all, const net_address *address)
{
    for (size_t i = 0; i < all->count; i++)
        if (proxies_in_range(&all->ranges[i], address))
            return true;
    return false;
}

/* ---- what they say ---- */

static hf_slice proxies_trim(hf_slice s)
{
    while (s.size > 0 && (*s.at == ' ' || *s.at == '\t'))
        s = (hf_slice){s.at + 1, s.size - 1};
    while (s.size > 0 && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* Takes the last item off a list; quoted commas do not part it. False: none is left. */
static bool proxies_take_last(hf_slice *list, char separator, hf_slice *item)
{
    bool quoted = false;
    if (list->at == NULL)
        return false;
    size_t at = list->size;
    for (; at > 0; at--) {
        char c = list->at[at - 1];
        if (c == '"')
            quoted = !quoted;
        else if (c == separator && !quoted)
            break;
    }
    *item = proxies_trim((hf_slice){list->at + at, list->size - at});
    *list = at == 0 ? HF_NOTHING : (hf_slice){list->at, at - 1};
    return true;
}

/* The value of "for" or "proto" in an element of Forwarded, without its quotes. */
static hf_slice proxies_parameter(hf_slice element, const char *name)
{
    hf_slice pair;
    size_t size = strlen(name);
    while (proxies_take_last(&element, ';', &pair)) {
        if (pair.size <= size || pair.at[size] != '=' || strncasecmp(pair.at, name, size) != 0)
            continue;
        hf_slice value = {pair.at + size + 1, pair.size - size - 1};
        if (value.size >= 2 && value.at[0] == '"' && value.at[value.size - 1] == '"')
            value = (hf_slice){value.at + 1, value.size - 2};
        return value;
    }
    return HF_NOTHING;
}

static bool proxies_is_https(hf_slice proto)
{
    return proto.size == 5 && strncasecmp(proto.at, "https", 5) == 0;
}

/* What a walk came to. */
typedef struct origin {
    net_address client;
    size_t steps;     /* items that were good */
    hf_slice element; /* the last of them */
} origin;

static origin proxies_walk(const proxies *all, const char *text, bool forwarded, net_address peer)
{
    origin at = {.client = peer};
    hf_slice list = hf_slice_of(text), item;
    while (proxies_trust(all, &at.client) && proxies_take_last(&list, ',', &item)) {
        hf_slice name = forwarded ? proxies_parameter(item, "for") : item;
        net_address next;
        if (name.size == 0 || !net_address_parse(name.at, name.size, &next))
            break;
        at = (origin){.client = next, .steps = at.steps + 1, .element = item};
    }
    return at;
}

/* The protocol that was said together with the client's address; proxies that do not add but
 * replace say only one. */
static hf_slice proxies_protocol(const char *list_text, size_t steps)
{
    hf_slice list = hf_slice_of(list_text), item = HF_NOTHING;
    for (size_t i = 0; i < (steps == 0 ? 1 : steps) && proxies_take_last(&list, ',', &item); i++)
        ;
    return item;
}

void proxies_resolve(const proxies *all, const proxies_said *said, net_address *client,
                     bool *secure)
{
    origin new_way = proxies_walk(all, said->forwarded, true, *client);
    origin old_way = proxies_walk(all, said->x_forwarded_for, false, *client);
    if (said->forwarded != NULL && said->x_forwarded_for != NULL &&
        !net_address_same(&new_way.client, &old_way.client)) {
        *secure = false;
        return;
    }
    bool by_new = said->forwarded != NULL;
    hf_slice proto = by_new ? proxies_parameter(new_way.element, "proto")
                            : proxies_protocol(said->x_forwarded_proto, old_way.steps);
    if (proto.size > 0)
        *secure = proxies_is_https(proto);
    *client = by_new ? new_way.client : old_way.client;
}
