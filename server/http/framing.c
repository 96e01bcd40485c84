/* SPDX-License-Identifier: MIT */
/* The states, in the order in which bytes go through them:
 *
 *   EMPTY_CR EMPTY_LF                                                  an empty line, once
 *   START METHOD TARGET VERSION LINE_LF
 *     LINE_START NAME BEFORE_VALUE VALUE LINE_LF ... HEAD_LF
 *       BODY                                                           Content-Length
 *       SIZE EXTENSION SIZE_LF CHUNK CHUNK_CR CHUNK_LF ...             chunked, until a chunk of 0
 *         LINE_START ... HEAD_LF                                       the trailers
 *   and START again.
 *
 * Each state is a function of one byte; bodies, and the plain bytes of targets, names and values,
 * are passed over at once. */
#include "server/http/framing.h"

#include <string.h>
#include <strings.h>

const framing_limits framing_usual = {
    .target_max = 4096,
    .head_max = 16384,
    .headers_max = 100,
    .body_max = 1048576,
    .chunk_max = 256,
    .trailers_max = 1024,
};

enum {
    START,
    METHOD,
    TARGET,
    VERSION,
    LINE_LF,
    LINE_START,
    NAME,
    BEFORE_VALUE,
    VALUE,
    HEAD_LF,
    BODY,
    SIZE,
    EXTENSION,
    SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    EMPTY_CR,
    EMPTY_LF,
    STATES
};

/* Headers that say where a request ends, or for whom it is. */
enum { OTHER, CONTENT_LENGTH, TRANSFER_ENCODING, HOST };
#define SEEN(header) (1u << (header))

#define LENGTH_MAX ((uint64_t)INT64_MAX)

static bool framing_refuse(framing *f, int status, const char *reason)
{
    f->status = status;
    f->reason = reason;
    return false;
}

static bool framing_go(framing *f, unsigned state)
{
    f->state = state;
    f->part = 0;
    return true;
}

/* What names are made of. */
static const bool is_token[256] = {
    ['!'] = true,         ['#' ... '\''] = true, ['*'] = true,         ['+'] = true,
    ['-'] = true,         ['.'] = true,          ['|'] = true,         ['~'] = true,
    ['0' ... '9'] = true, ['A' ... 'Z'] = true,  ['^' ... 'z'] = true,
};

/* What may stand in a value: anything but control characters; bytes above 127 have no meaning here.
 * */
static const bool is_text[256] = {
    ['\t'] = true,
    [' ' ... '~'] = true,
    [0x80 ... 0xff] = true,
};

/* ---- the request line ---- */

static void framing_begin(framing *f)
{
    f->header = OTHER;
    f->seen = 0;
    f->http_1_0 = f->trailing = f->passed = false;
    f->used = f->headers = 0;
    f->length = f->body = 0;
    framing_go(f, START);
}

/* Some clients send an empty line behind a body. */
static bool framing_on_empty_cr(framing *f, unsigned char c)
{
    (void)c;
    f->passed = true;
    return framing_go(f, EMPTY_LF);
}

static bool framing_on_empty_lf(framing *f, unsigned char c)
{
    f->used = 0;
    return c == '\n' ? framing_go(f, START)
                     : framing_refuse(f, 400, "A CR stands alone; lines end with CR LF.");
}

static bool framing_on_method(framing *f, unsigned char c)
{
    if (c == ' ' && f->part > 0)
        return framing_go(f, TARGET);
    if (c < 'A' || c > 'Z')
        return framing_refuse(
            f, 400, "The request does not begin with a method in capital letters and one space.");
    if (++f->part > FRAMING_METHOD_MAX)
        return framing_refuse(f, 501, "The method is not known.");
    f->state = METHOD;
    return true;
}

static bool framing_is_target(unsigned char c)
{
    return c > ' ' && c < 0x7f;
}

static bool framing_on_target(framing *f, unsigned char c)
{
    if (c == ' ' && f->part > 0)
        return framing_go(f, VERSION);
    if (!framing_is_target(c))
        return framing_refuse(f, 400,
                              "The request's target has a byte in it that must be encoded with %.");
    if (++f->part > f->limits->target_max)
        return framing_refuse(f, 414, "The request's target is too long.");
    return true;
}

static bool framing_on_version(framing *f, unsigned char c)
{
    static const char version[] = "HTTP/1.";
    size_t at = f->part++;
    if (at < sizeof version - 1) {
        if (c == (unsigned char)version[at])
            return true;
        bool other = at == 5 && c >= '0' && c <= '9';
        return other ? framing_refuse(f, 505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
                     : framing_refuse(f, 400, "The request line is not METHOD TARGET HTTP/1.1.");
    }
    if (at == sizeof version - 1 && (c == '0' || c == '1')) {
        f->http_1_0 = c == '0';
        return true;
    }
    if (at == sizeof version && c == '\r')
        return framing_go(f, LINE_LF);
    return framing_refuse(f, at == sizeof version - 1 && c >= '2' && c <= '9' ? 505 : 400,
                          "The request line does not end with HTTP/1.0 or HTTP/1.1 and CR LF.");
}

/* ---- headers, and trailers ---- */

static bool framing_on_line_lf(framing *f, unsigned char c)
{
    return c == '\n' ? framing_go(f, LINE_START)
                     : framing_refuse(f, 400, "A CR stands alone; lines end with CR LF.");
}

static bool framing_on_name(framing *f, unsigned char c)
{
    static const char *const names[] = {[CONTENT_LENGTH] = "content-length",
                                        [TRANSFER_ENCODING] = "transfer-encoding",
                                        [HOST] = "host"};
    if (c == ':' && f->part > 0) {
        f->header = OTHER;
        for (unsigned i = CONTENT_LENGTH; i <= HOST && f->part < FRAMING_NAME_SIZE; i++)
            if (strlen(names[i]) == f->part && strncasecmp(names[i], f->name, f->part) == 0)
                f->header = i;
        return framing_go(f, BEFORE_VALUE);
    }
    if (c == ':')
        return framing_refuse(f, 400, "A header has no name.");
    if (c == ' ' || c == '\t')
        return framing_refuse(f, 400, "There is a space before the colon of a header.");
    if (!is_token[c])
        return framing_refuse(f, 400,
                              "A header's name has a byte in it that does not belong there.");
    if (f->part < FRAMING_NAME_SIZE)
        f->name[f->part] = (char)c;
    f->part++;
    return true;
}

static bool framing_begin_header(framing *f)
{
    if (f->trailing)
        return true;
    if (++f->headers > f->limits->headers_max)
        return framing_refuse(f, 431, "The request has too many headers.");
    return true;
}

static bool framing_on_line_start(framing *f, unsigned char c)
{
    if (c == '\r')
        return framing_go(f, HEAD_LF);
    if (c == ' ' || c == '\t')
        return framing_refuse(f, 400, "A header is folded over two lines.");
    if (!framing_begin_header(f))
        return false;
    framing_go(f, NAME);
    return framing_on_name(f, c);
}

/* A header that matters begins: it may come once, and not with one that says otherwise. */
static bool framing_begin_value(framing *f)
{
    bool again = f->seen & SEEN(f->header);
    f->seen |= SEEN(f->header);
    f->length = f->header == CONTENT_LENGTH ? 0 : f->length;
    if (f->header == OTHER)
        return true;
    if (f->trailing)
        return framing_refuse(f, 400,
                              "A trailer may not say where a request ends or for whom it is.");
    if (f->header == HOST)
        return again ? framing_refuse(f, 400, "The request has several Host headers.") : true;
    if (again)
        return framing_refuse(f, 400, "The request says more than once how long its body is.");
    if ((f->seen & SEEN(CONTENT_LENGTH)) && (f->seen & SEEN(TRANSFER_ENCODING)))
        return framing_refuse(f, 400, "The request has both Content-Length and Transfer-Encoding.");
    if (f->header == TRANSFER_ENCODING && f->http_1_0)
        return framing_refuse(f, 400, "HTTP/1.0 knows no Transfer-Encoding.");
    return true;
}

static bool framing_on_length(framing *f, unsigned char c)
{
    if (c < '0' || c > '9')
        return framing_refuse(f, 400, "Content-Length is not a plain number.");
    if (f->part > 0 && f->length == 0)
        return framing_refuse(f, 400, "Content-Length begins with a zero.");
    if (f->length > (LENGTH_MAX - (c - '0')) / 10)
        return framing_refuse(f, 413, "Content-Length is too large.");
    f->length = f->length * 10 + (c - '0');
    f->part++;
    return true;
}

static bool framing_on_encoding(framing *f, unsigned char c)
{
    static const char chunked[] = "chunked";
    if (f->part < sizeof chunked - 1 && (c | 0x20) == chunked[f->part]) {
        f->part++;
        return true;
    }
    return framing_refuse(f, 501,
                          "Transfer-Encoding is not chunked, which is the only one known here.");
}

static bool framing_end_value(framing *f)
{
    if (f->header == CONTENT_LENGTH && f->part == 0)
        return framing_refuse(f, 400, "Content-Length is empty.");
    if (f->header == TRANSFER_ENCODING && f->part != strlen("chunked"))
        return framing_refuse(
            f, 501, "Transfer-Encoding is not chunked, which is the only one known here.");
    return framing_go(f, LINE_LF);
}

static bool framing_on_value(framing *f, unsigned char c)
{
    if (c == '\r')
        return framing_end_value(f);
    if (c == '\n')
        return framing_refuse(f, 400, "An LF stands alone; lines end with CR LF.");
    if (!is_text[c])
        return framing_refuse(f, 400, "A header's value has a control character in it.");
    if (f->header == CONTENT_LENGTH)
        return framing_on_length(f, c);
    if (f->header == TRANSFER_ENCODING)
        return framing_on_encoding(f, c);
    return true;
}

static bool framing_on_before_value(framing *f, unsigned char c)
{
    if (f->part == 0 && !framing_begin_value(f))
        return false;
    f->part++;
    if (c == ' ')
        return true;
    framing_go(f, VALUE);
    return framing_on_value(f, c);
}

static void framing_end_request(framing *f)
{
    f->requests++;
    framing_begin(f);
}

static bool framing_on_head_lf(framing *f, unsigned char c)
{
    if (c != '\n')
        return framing_refuse(f, 400, "A CR stands alone; lines end with CR LF.");
    if (!f->trailing && !f->http_1_0 && !(f->seen & SEEN(HOST)))
        return framing_refuse(f, 400, "The request has no Host header.");
    if (!f->trailing && f->length > f->limits->body_max)
        return framing_refuse(f, 413, "The request's body is too large.");
    f->used = 0;
    if (!f->trailing && (f->seen & SEEN(TRANSFER_ENCODING)))
        return framing_go(f, SIZE);
    if (!f->trailing && f->length > 0)
        return framing_go(f, BODY);
    framing_end_request(f);
    return true;
}

/* ---- chunks ---- */

static int framing_hex(unsigned char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

static bool framing_on_size(framing *f, unsigned char c)
{
    int digit = framing_hex(c);
    if (f->part == 0)
        f->length = 0;
    if (digit < 0 && f->part > 0 && (c == ';' || c == '\r'))
        return framing_go(f, c == ';' ? EXTENSION : SIZE_LF);
    if (digit < 0)
        return framing_refuse(f, 400, "The size of a chunk is not a number in hexadecimal.");
    if (++f->part > 16)
        return framing_refuse(f, 400, "The size of a chunk has too many digits.");
    f->length = f->length * 16 + (unsigned)digit;
    if (f->length > f->limits->body_max - f->body)
        return framing_refuse(f, 413, "The request's body is too large.");
    return true;
}

static bool framing_on_extension(framing *f, unsigned char c)
{
    if (c == '\r')
        return framing_go(f, SIZE_LF);
    return is_text[c]
               ? true
               : framing_refuse(f, 400, "The extension of a chunk has a control character in it.");
}

static bool framing_on_size_lf(framing *f, unsigned char c)
{
    if (c != '\n')
        return framing_refuse(f, 400, "A CR stands alone; lines end with CR LF.");
    f->used = 0;
    f->trailing = f->length == 0;
    f->body += f->length;
    return framing_go(f, f->trailing ? LINE_START : CHUNK);
}

static bool framing_on_chunk_cr(framing *f, unsigned char c)
{
    return c == '\r' ? framing_go(f, CHUNK_LF)
                     : framing_refuse(f, 400, "A chunk is longer than it says.");
}

static bool framing_on_chunk_lf(framing *f, unsigned char c)
{
    f->used = 0;
    return c == '\n' ? framing_go(f, SIZE)
                     : framing_refuse(f, 400, "A chunk is longer than it says.");
}

/* ---- all of it ---- */

static bool (*const on[STATES])(framing *f, unsigned char c) = {
    [START] = framing_on_method,      [METHOD] = framing_on_method,
    [TARGET] = framing_on_target,     [VERSION] = framing_on_version,
    [LINE_LF] = framing_on_line_lf,   [LINE_START] = framing_on_line_start,
    [NAME] = framing_on_name,         [BEFORE_VALUE] = framing_on_before_value,
    [VALUE] = framing_on_value,       [HEAD_LF] = framing_on_head_lf,
    [SIZE] = framing_on_size,         [EXTENSION] = framing_on_extension,
    [SIZE_LF] = framing_on_size_lf,   [CHUNK_CR] = framing_on_chunk_cr,
    [CHUNK_LF] = framing_on_chunk_lf, [EMPTY_CR] = framing_on_empty_cr,
    [EMPTY_LF] = framing_on_empty_lf,
};

static bool framing_in_chunk_line(const framing *f)
{
    return f->state == SIZE || f->state == EXTENSION || f->state == SIZE_LF;
}

/* How many bytes of a head, of a chunk's line or of trailers may still come. */
static size_t framing_room(const framing *f)
{
    size_t most = f->trailing                ? f->limits->trailers_max
                  : framing_in_chunk_line(f) ? f->limits->chunk_max
                                             : f->limits->head_max;
    return most > f->used ? most - f->used : 0;
}

/* Counts one of them. */
static bool framing_count(framing *f)
{
    if (framing_room(f) > 0) {
        f->used++;
        return true;
    }
    if (f->trailing)
        return framing_refuse(f, 431, "What follows the last chunk is too long.");
    return framing_in_chunk_line(f)
               ? framing_refuse(f, 400, "The first line of a chunk is too long.")
               : framing_refuse(f, 431, "The request's headers are too long.");
}

/* Passes over what is there of a body or a chunk. */
static size_t framing_pass(framing *f, size_t size)
{
    size_t now = f->length < size ? (size_t)f->length : size;
    f->length -= now;
    if (f->length > 0)
        return now;
    if (f->state == CHUNK)
        framing_go(f, CHUNK_CR);
    else
        framing_end_request(f);
    return now;
}

static bool framing_skims(const framing *f)
{
    return f->state == TARGET || f->state == NAME || f->state == VALUE;
}

/* Passes over bytes that leave the state as it is; 0 when the next one has to be looked at by
 * itself. */
static size_t framing_skim(framing *f, const unsigned char *at, size_t size)
{
    size_t now = 0, room = framing_room(f), most = room < size ? room : size;
    if (f->state == VALUE && (f->header == OTHER || f->header == HOST)) {
        while (now < most && is_text[at[now]])
            now++;
    } else if (f->state == NAME) {
        while (now < most && is_token[at[now]])
            now++;
        if (f->part < FRAMING_NAME_SIZE)
            memcpy(f->name + f->part, at,
                   now < FRAMING_NAME_SIZE - f->part ? now : FRAMING_NAME_SIZE - f->part);
        f->part += now;
    } else if (f->state == TARGET) {
        most = f->limits->target_max - f->part < most ? f->limits->target_max - f->part : most;
        while (now < most && framing_is_target(at[now]))
            now++;
        f->part += now;
    }
    f->used += now;
    return now;
}

static size_t framing_step(framing *f, const unsigned char *at, size_t size)
{
    if (f->state == BODY || f->state == CHUNK)
        return framing_pass(f, size);
    size_t now = framing_skims(f) ? framing_skim(f, at, size) : 0;
    if (now > 0)
        return now;
    return framing_count(f) && on[f->state](f, *at) ? 1 : 0;
}

static framing_part framing_part_of(const framing *f)
{
    if (f->state == BODY || f->state == CHUNK)
        return FRAMING_BODY;
    return f->trailing || f->state >= SIZE ? FRAMING_BETWEEN : FRAMING_HEAD;
}

void framing_init(framing *f, const framing_limits *limits)
{
    *f = (framing){.limits = limits};
    framing_begin(f);
}

framing_piece framing_next(framing *f, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    if (f->state == START && !f->passed && f->status == 0 && size > 0 && *at == '\r')
        framing_go(f, EMPTY_CR);
    framing_piece piece = {.part = framing_part_of(f)};
    uint64_t requests = f->requests;
    while (piece.size < size && f->status == 0 && !piece.ends && framing_part_of(f) == piece.part) {
        piece.size += framing_step(f, at + piece.size, size - piece.size);
        piece.ends = f->requests != requests;
    }
    piece.head_ends =
        piece.part == FRAMING_HEAD && (piece.ends || framing_part_of(f) != FRAMING_HEAD);
    return piece;
}

size_t framing_feed(framing *f, const void *bytes, size_t size)
{
    const char *at = bytes;
    size_t good = 0;
    while (good < size && f->status == 0)
        good += framing_next(f, at + good, size - good).size;
    return good;
}

bool framing_idle(const framing *f)
{
    return (f->state == START || f->state == EMPTY_LF) && f->status == 0;
}

uint64_t framing_awaits(const framing *f)
{
    return f->state == BODY || f->state == CHUNK ? f->length : 0;
}

bool framing_in_head(const framing *f)
{
    return framing_part_of(f) == FRAMING_HEAD;
}
