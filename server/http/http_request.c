/* SPDX-License-Identifier: MIT */
/* From bytes to a request: the buffers, the head, and handing the whole request to its handler, or
 * refusing it. */
#include "server/http/http_inside.h"

#include "base/digest.h"
#include "base/seams.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* ---- bytes ---- */

/* The room is doubled in new memory, and the old one wiped: no copy of a secret stays behind. */

/* Doubled four times, a head of the usual limit fits in. */
enum { ROOM_MIN = 1088 };

size_t bytes_room(const bytes *b, size_t more)
{
    size_t room = b->room > 0 ? b->room : ROOM_MIN;
    if (b->room - b->size > more)
        return b->room;
    while (room < bytes_left(b) + more + 1)
        room *= 2;
    return room;
}

/* Moves what is left to the front of memory that has room for it and `more`. */
static bool bytes_move(bytes *b, size_t more)
{
    size_t left = bytes_left(b);
    if (more > SIZE_MAX / 4 - left)
        return false;
    size_t room = bytes_room(b, more);
    char *at = hf_realloc(NULL, room);
    if (at == NULL)
        return false;
    if (left > 0)
        memcpy(at, b->at + b->from, left);
    bytes_clear(b, 0);
    *b = (bytes){.at = at, .size = left, .room = room};
    return true;
}

bool bytes_add(bytes *b, const void *more, size_t size)
{
    if (b->room - b->size <= size && !bytes_move(b, size))
        return false;
    if (size > 0)
        memcpy(b->at + b->size, more, size);
    b->size += size;
    b->at[b->size] = '\0';
    return true;
}

void bytes_drop(bytes *b, size_t count)
{
    b->from += count;
    if (b->from == b->size)
        bytes_clear(b, b->room);
}

void bytes_clear(bytes *b, size_t most)
{
    if (b->at == NULL)
        return;
    hf_secret_wipe(b->at, b->size);
    b->from = b->size = 0;
    if (b->room <= most)
        return;
    hf_free(b->at);
    *b = (bytes){0};
}

/* ---- the head ---- */

/* framing.c has checked the form: METHOD SP TARGET SP HTTP/1.x CR LF, then NAME ":" VALUE CR LF
 * each, then CR LF; so every search ends within the text. */

static http_method http_head_method_of(const char *text, size_t size)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS",
    };
    for (unsigned i = 0; i < HTTP_OTHER; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
            return (http_method)i;
    return HTTP_OTHER;
}

static bool http_request_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether a list such as "keep-alive, Upgrade" has the word; case is ignored. */
static bool http_head_list_has(const char *list, const char *word)
{
    size_t size = strlen(word);
    while (*list != '\0') {
        list += strspn(list, " \t,");
        size_t item = strcspn(list, ","), trimmed = item;
        while (trimmed > 0 && http_request_is_blank(list[trimmed - 1]))
            trimmed--;
        if (trimmed == size && strncasecmp(list, word, size) == 0)
            return true;
        list += item;
    }
    return false;
}

/* Only proxies have reason to send these. Not all do: a bare proxy_pass of nginx adds none. */
static bool http_request_is_of_proxies(const char *name)
{
    switch (name[0]) {
    case 'f':
        return strcmp(name, "forwarded") == 0;
    case 'v':
        return strcmp(name, "via") == 0;
    case 'x':
        return strncmp(name, "x-forwarded-", 12) == 0 || strcmp(name, "x-real-ip") == 0;
    default:
        return false;
    }
}

/* What the layer itself wants to know. */
static void http_head_note(http_head *head, const char *name, const char *value)
{
    if (name[0] == 'c' && strcmp(name, "connection") == 0) {
        if (http_head_list_has(value, "close"))
            head->keep_alive = false;
        else if (head->http_1_0 && http_head_list_has(value, "keep-alive"))
            head->keep_alive = true;
    } else if (name[0] == 'e' && strcmp(name, "expect") == 0) {
        head->expects |= strcasecmp(value, "100-continue") == 0;
        head->demands |= strcasecmp(value, "100-continue") != 0;
    } else if (http_request_is_of_proxies(name)) {
        head->forwarded = true;
    }
}

/* A bit for names of that length and first letter. If it is not set, no such header is there; if it
 * is, one may be, and is searched for. */
static uint64_t http_head_bit(const char *name, size_t size)
{
    return UINT64_C(1) << (((unsigned char)name[0] | 0x20) * 5 + size) % 64;
}

/* Copies a line's name and value to `to`, which is not behind it; where the value is. */
static char *http_head_pack_line(http_head *head, char *to, char *line, char *end)
{
    char *name = to, *value;
    for (; *line != ':'; line++)
        *to++ = (char)(*line >= 'A' && *line <= 'Z' ? *line | 0x20 : *line);
    *to++ = '\0';
    for (line++; line < end && http_request_is_blank(*line); line++)
        ;
    while (end > line && http_request_is_blank(end[-1]))
        end--;
    value = to;
    memmove(value, line, (size_t)(end - line));
    value[end - line] = '\0';
    http_head_note(head, name, value);
    return value;
}

static void http_head_reverse(char *from, char *to)
{
    for (; to - from > 1; from++, to--) {
        char c = *from;
        *from = to[-1];
        to[-1] = c;
    }
}

/* Moves a later value of the same name behind the first one: [first][NUL, what is between][name NUL
 * value NUL] becomes [first][", " value][NUL, what is between], which is never longer, since a name
 * has at least a byte. Where that ends. */
static char *http_head_join(char *first_end, char *name, const char *value)
{
    size_t size = strlen(value);
    /* Behind it comes the NUL of what is between.
     * NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memmove(name + 2, value, size);
    name[0] = ',';
    name[1] = ' ';
    char *end = name + 2 + size;
    http_head_reverse(first_end, name);
    http_head_reverse(name, end);
    http_head_reverse(first_end, end);
    return end;
}

/* The value of that name, in any case, among the headers in [at, end). */
static const char *http_head_find(const char *at, const char *end, const char *name)
{
    size_t wanted = strlen(name);
    while (at < end) {
        size_t size = strlen(at);
        const char *value = at + size + 1;
        if (size == wanted && strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

/* A target as for a proxy, http://HOST/PATH, which every server must take (RFC 9112, 3.2.2). HOST
 * counts instead of the header; it is moved to the front of the target, with a NUL behind it. Where
 * the path begins; NULL: it is no such target. */
static char *http_head_take_host(char *target, char *end, http_head *out)
{
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    char *path = target + scheme;
    while (path < end && *path != '/' && *path != '?' && *path != '@')
        path++;
    size_t size = (size_t)(path - target) - scheme;
    if (scheme == 0 || size == 0 || *path == '@')
        return NULL;
    memmove(target, target + scheme, size);
    target[size] = '\0';
    out->has_host = true;
    if (path == end || *path != '/')
        *--path = '/';
    return path;
}

/* Rewrites the headers within `text`; the values of a header given more than once are joined.
 * False: the target is neither a path nor has one behind a host. */
static bool http_head_split(char *text, size_t size, http_head *out)
{
    char *line_end = memchr(text, '\r', size), *space = memchr(text, ' ', size);
    bool http_1_0 = line_end[-1] == '0';
    *out = (http_head){.method = http_head_method_of(text, (size_t)(space - text)),
                       .http_1_0 = http_1_0,
                       .keep_alive = !http_1_0,
                       .target = (size_t)(space + 1 - text)};
    char *path = space + 1, *version = memchr(path, ' ', size - out->target);
    if (*path != '/' && (path = http_head_take_host(path, version, out)) == NULL)
        return false;
    char *question = memchr(path, '?', (size_t)(version - path));
    out->path = (size_t)(path - text);
    out->path_size = (size_t)((question == NULL ? version : question) - path);
    out->query = (size_t)((question == NULL ? version : question + 1) - text);
    out->query_size = (size_t)(version - text) - out->query;
    char *fields = line_end, *to = fields, *line = line_end + 2;
    out->fields = (size_t)(fields - text);
    while (*line != '\r') {
        char *end = memchr(line, '\r', size - (size_t)(line - text));
        char *value = http_head_pack_line(out, to, line, end);
        uint64_t bit = http_head_bit(to, (size_t)(value - to) - 1);
        const char *first = out->names & bit ? http_head_find(fields, to, to) : NULL;
        out->names |= bit;
        to = first == NULL ? value + strlen(value) + 1
                           : http_head_join(fields + (first - fields) + strlen(first), to, value);
        line = end + 2;
    }
    out->fields_end = (size_t)(to - text);
    return true;
}

/* ---- memory ---- */

/* A few requests are kept for reuse, wiped: a busy server allocates nothing, an idle one keeps
 * little. */

enum {
    SPARE_MAX = 256,
    ARENA_LEAST = 2048, /* streams keep theirs */
    ARENA_MOST = 16384, /* of a spare request */
    TEXT_MOST = 4 * ROOM_MIN,
};

/* http_request.c */
static http_held *held_take(http *h)
{
    http_held *r = h->spare;
    if (r == NULL)
        r = hf_alloc(sizeof *r);
    else
        h->spare_count--;
    if (r == NULL)
        return NULL;
    h->spare = r->next;
    bytes text = r->text;
    hf_arena arena = r->request.arena;
    *r = (http_held){.request.arena = arena, .http = h, .text = text};
    r->request.arena.least = ARENA_LEAST;
    r->request.arena.wiped = true;
    return r;
}

/* Counts the memory that its body takes. 0: it may; else the status that refuses it. */
static int held_charge(http_held *r, size_t room)
{
    http *h = r->http;
    size_t more = room > r->charged ? room - r->charged : 0;
    if (more > 0 && h->reading + more > h->settings.reading_max)
        return 503;
    if (more > 0 && r->source != NULL && r->source->reading + more > h->share)
        return 429;
    h->reading += room - r->charged;
    if (r->source != NULL)
        r->source->reading += room - r->charged;
    r->charged = room;
    return 0;
}

/* Adds to what was read; 0, or the status that refuses it. What takes no more memory than a head
 * may is always taken, so that others are answered however many bodies there are; connections_max
 * bounds it. */
static int held_add(http_held *r, const char *from, size_t size)
{
    size_t room = bytes_room(&r->text, size);
    int refused = room > r->http->small ? held_charge(r, room) : 0;
    return refused == 0 && !bytes_add(&r->text, from, size) ? 503 : refused;
}

void held_forget(http_held *r, size_t most)
{
    bytes_clear(&r->text, most);
    held_charge(r, 0);
}

static void held_free(http_held *r)
{
    bytes_clear(&r->text, 0);
    hf_arena_done(&r->request.arena);
    hf_free(r);
}

void held_give_back(http_held *r)
{
    http *h = r->http;
    hf_arena_wipe(&r->request.arena);
    if (r->request.arena.total > ARENA_MOST)
        hf_arena_done(&r->request.arena);
    held_forget(r, TEXT_MOST);
    source_leave(h, r->source);
    r->source = NULL;
    if (h->spare_count == SPARE_MAX) {
        held_free(r);
        return;
    }
    r->next = h->spare;
    h->spare = r;
    h->spare_count++;
}

void held_free_spare(http *h)
{
    while (h->spare != NULL) {
        http_held *next = h->spare->next;
        held_free(h->spare);
        h->spare = next;
    }
    h->spare_count = 0;
}

const char *http_header(http_request *request, const char *name)
{
    http_held *r = held_of(request);
    const char *text = r->text.at;
    if (r->head.has_host && strcasecmp(name, "host") == 0)
        return r->text.size > 0 ? text + r->head.target : NULL;
    bool maybe = r->text.size > 0 && (r->head.names & http_head_bit(name, strlen(name))) != 0;
    return maybe ? http_head_find(text + r->head.fields, text + r->head.fields_end, name) : NULL;
}

bool http_reached_at(http_request *request, hf_slice address)
{
    const http_conn *c = held_of(request)->conn;
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    net_address asked, here;
    if (c == NULL || !net_address_parse(address.at, address.size, &asked) ||
        getsockname(c->io.fd, (struct sockaddr *)&at, &size) != 0)
        return false;
    here = net_address_of((const struct sockaddr *)&at);
    return net_address_same(&asked, &here);
}

/* ---- reading ---- */

static void http_request_drop_request(http_conn *c)
{
    if (c->held != NULL)
        held_give_back(c->held);
    c->held = NULL;
}

void conn_refuse(http_conn *c, int status, const char *sentence)
{
    http *h = c->http;
    hf_buffer body = {0};
    http_request_drop_request(c);
    const char *type = h->settings.problem(h->settings.context, status, sentence, &body);
    static const http_field again[] = {{"Retry-After", "1"}, {NULL, NULL}};
    http_reply reply = {.status = status,
                        .type = body.failed ? NULL : type,
                        .headers = status == 503 || status == 429 ? again : NULL};
    if (!body.failed)
        reply.body = (hf_slice){body.text, body.size};
    c->closing = true;
    c->phase = WRITING;
    answer_compose(h, NULL, &reply, false, true);
    conn_send(c, h->output.text, h->output.size);
    answer_wipe(h);
    hf_buffer_done(&body);
}

static void http_request_refuse_memory(http_conn *c, int status)
{
    http_count(c->http, "refused_memory");
    conn_refuse(c, status,
                status == 429
                    ? "Too many large requests come from this address at once; nothing was done. "
                      "Try again in a moment."
                    : "The server is out of memory; nothing was done. Try again in a moment.");
}

static void http_request_refuse_body(http_conn *c)
{
    http_count(c->http, "refused_body");
    conn_refuse(c, 413, "The request's body is too large without a token or session in its head.");
}

static bool http_request_begin_reading(http_conn *c)
{
    c->held = held_take(c->http);
    if (c->held == NULL) {
        http_request_refuse_memory(c, 503);
        return false;
    }
    c->held->conn = c;
    c->held->request.began_us = hf_seam.boot_us();
    c->phase = READING;
    return true;
}

/* Where it came from: the peer, or whom a trusted proxy speaks for. */
static net_address http_request_find_origin(http_conn *c, http_held *r)
{
    net_address client = c->address;
    http_request *q = &r->request;
    q->secure = c->io.tls != NULL;
    q->local = net_address_is_loopback(&c->address) && !r->head.forwarded && !c->trusted;
    memcpy(q->peer, c->peer, sizeof c->peer);
    memcpy(q->network, c->network, sizeof c->network);
    if (!c->trusted || !r->head.forwarded)
        return client;
    proxies_said said = {
        .forwarded = http_header(q, "forwarded"),
        .x_forwarded_for = http_header(q, "x-forwarded-for"),
        .x_forwarded_proto = http_header(q, "x-forwarded-proto"),
    };
    proxies_resolve(c->http->proxies, &said, &client, &q->secure);
    net_address_print(&client, q->peer);
    net_network_print(&client, q->network);
    return client;
}

/* Who sends its body, and how large that may be. False: out of memory. */
static bool http_request_take_client(http_conn *c, http_held *r)
{
    http *h = c->http;
    net_address client = http_request_find_origin(c, r);
    r->body_max = SIZE_MAX;
    if (framing_idle(&c->framing))
        return true;
    if (h->settings.body_max != NULL)
        r->body_max = h->settings.body_max(h->settings.context, &r->request);
    if (proxies_trust(h->proxies, &client))
        return true;
    r->source = source_enter(h, &client);
    return r->source != NULL;
}

/* A head is whole. `more`: something comes behind it at once, or nothing needs to. */
static bool http_request_take_head(http_conn *c, bool more)
{
    http_held *r = c->held;
    r->head_size = r->text.size;
    bool path = http_head_split(r->text.at, r->text.size, &r->head);
    if (!path || r->head.demands) {
        http_count(c->http, "refused_framing");
        if (path)
            conn_refuse(c, 417,
                        "The request expects something other than 100-continue, the only thing "
                        "known here.");
        else
            conn_refuse(c, 400, "The request's target is not a path; it must begin with /, or with "
                        "http:// and a host.");
        return false;
    }
    if (!http_request_take_client(c, r)) {
        http_request_refuse_memory(c, 503);
        return false;
    }
    if (framing_awaits(&c->framing) > r->body_max) {
        http_request_refuse_body(c);
        return false;
    }
    if (r->head.expects && !r->head.http_1_0 && !more)
        conn_send(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    return true;
}

static void http_request_hand_out(http_conn *c)
{
    http *h = c->http;
    http_held *r = c->held;
    const char *text = r->text.at;
    r->request.method = r->head.method;
    r->request.path = (hf_slice){text + r->head.path, r->head.path_size};
    r->request.query = (hf_slice){text + r->head.query, r->head.query_size};
    r->request.body = (hf_slice){text + r->head_size, r->text.size - r->head_size};
    c->phase = HANDLING;
    wait_for(c, WAIT_NOTHING);
    h->requests_count++;
    http_count(h, "requests");
    h->settings.handle(h->settings.context, &r->request); /* request_begin */
}

/* Takes one piece; how many bytes it has. An empty line before a request does not begin it. */
static size_t http_request_take_piece(http_conn *c, const char *from, size_t size)
{
    framing_piece piece = framing_next(&c->framing, from, size);
    bool before = piece.part == FRAMING_BETWEEN && c->framing.status == 0;
    if (c->phase == IDLE && (before || !http_request_begin_reading(c)))
        return piece.size;
    http_held *r = c->held;
    if (piece.part == FRAMING_BODY &&
        r->text.size - r->head_size + piece.size > r->body_max) {
        http_request_refuse_body(c);
        return piece.size;
    }
    int refused = piece.part == FRAMING_BETWEEN ? 0 : held_add(r, from, piece.size);
    if (refused != 0) {
        http_request_refuse_memory(c, refused);
        return piece.size;
    }
    if (c->framing.status != 0) {
        http_count(c->http, "refused_framing");
        conn_refuse(c, c->framing.status, c->framing.reason);
        return piece.size;
    }
    if (piece.head_ends && !http_request_take_head(c, piece.ends || piece.size < size))
        return piece.size;
    if (piece.ends)
        http_request_hand_out(c);
    return piece.size;
}

size_t conn_feed(http_conn *c, const char *from, size_t size)
{
    size_t used = 0;
    while (used < size && (c->phase == READING || c->phase == IDLE))
        used += http_request_take_piece(c, from + used, size - used);
    if (c->phase != READING)
        return used;
    http_wait wait = framing_in_head(&c->framing) ? WAIT_HEAD : WAIT_BODY;
    if (c->wait != wait)
        wait_for(c, wait);
    return used;
}
