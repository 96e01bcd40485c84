/* SPDX-License-Identifier: MIT */
/* A unit on its way through a form: sealed, bound to its user and its database, good for a while.
 * A token is, in base64url: a version byte, four bytes of the key's digest, then what hf_seal
 * makes of: when it expires, the user, which database, the unit. */
#include "record/inside.h"

#include "base/digest.h"
#include "base/seal.h"
#include "record/pack.h"

enum { TOKEN_VERSION = 1, TOKEN_HEAD = 5, TOKEN_MAX = 1 << 20, TOKEN_KEYS_MAX = 8 };

static const char token_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- base64url ---- */

static char *token_encode(const unsigned char *bytes, size_t size)
{
    char *out = hf_alloc((size + 2) / 3 * 4 + 1), *at = out;
    for (size_t i = 0; out != NULL && i < size; i += 3) {
        unsigned left = size - i < 3 ? (unsigned)(size - i) : 3;
        unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        for (unsigned j = 0; j <= left; j++)
            *at++ = token_letters[group >> (18 - 6 * j) & 63];
    }
    return out;
}

/* The size; 0: it is no such text. Only the one way to write it is accepted. */
static size_t token_decode(const char *text, size_t size, unsigned char *out)
{
    size_t done = 0;
    unsigned group = 0, bits = 0;
    for (size_t i = 0; i < size; i++) {
        const char *letter = text[i] == '\0' ? NULL : strchr(token_letters, text[i]);
        if (letter == NULL)
            return 0;
        group = (group << 6 | (unsigned)(letter - token_letters)) & 0xffffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[done++] = (unsigned char)(group >> bits);
        }
    }
    return bits < 6 && (group & ((1u << bits) - 1)) == 0 ? done : 0;
}

/* ---- keys ---- */

typedef struct token_keys {
    unsigned char at[TOKEN_KEYS_MAX][HF_SEAL_KEY];
    size_t count;
} token_keys;

static bool token_read_key(const char *hex, unsigned char out[HF_SEAL_KEY])
{
    for (size_t i = 0; i < HF_SEAL_KEY; i++) {
        unsigned byte = 0;
        for (size_t j = 0; j < 2; j++) {
            char c = hex[2 * i + j];
            byte = byte * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        out[i] = (unsigned char)byte;
    }
    return true;
}

/* Read for each token, so that a key can be changed while a program runs. */
static hf_status token_keys_read(const hf_tables *tables, token_keys *out, hf_error *err)
{
    char *line = NULL;
    out->count = 0;
    if (tables->keys == NULL)
        return hf_fail(err, HF_INVALID,
                       "The tables were opened without a file of keys, which tokens need.");
    hf_status status = hf_url_secret("key", tables->keys, &line, err);
    if (status != HF_OK)
        return status;
    for (const char *at = line; status == HF_OK && *at != '\0';) {
        size_t size = strcspn(at, " \t");
        if (size != 2 * HF_SEAL_KEY || !hf_is_hex(at, size) || out->count == TOKEN_KEYS_MAX)
            status = hf_fail(err, HF_INVALID,
                             "The key file %s has in its first line 1 to %d keys of %d hex digits "
                             "in lower case, with spaces between them.",
                             tables->keys, TOKEN_KEYS_MAX, 2 * HF_SEAL_KEY);
        else
            token_read_key(at, out->at[out->count++]);
        at += size + strspn(at + size, " \t");
    }
    hf_url_wipe(line);
    return status;
}

static void token_name_key(const unsigned char key[HF_SEAL_KEY], unsigned char head[TOKEN_HEAD])
{
    unsigned char digest[32];
    head[0] = TOKEN_VERSION;
    memset(head + 1, 0, TOKEN_HEAD - 1);
    if (hf_sha256(key, HF_SEAL_KEY, digest))
        memcpy(head + 1, digest, TOKEN_HEAD - 1);
}

/* ---- exporting ---- */

/* Which database, and what its tables look like. */
static bool token_place(const hf_tables *tables, unsigned char out[32])
{
    hf_buffer text = {0};
    hf_buffer_print(&text, "%d %s", (int)tables->kind, tables->place);
    for (size_t i = 0; i < tables->count; i++) {
        const rec_table *table = &tables->tables[i];
        hf_buffer_print(&text, "\n%s %s", table->type, table->quoted);
        for (size_t j = 0; j < table->count; j++)
            hf_buffer_print(&text, " %s %d", table->columns[j].quoted,
                            (int)table->columns[j].holds);
    }
    bool good = !text.failed && hf_sha256(text.text, text.size, out);
    hf_buffer_done(&text);
    return good;
}

static void token_fill(const hf_unit *unit, int64_t expires_us, hf_buffer *out)
{
    unsigned char place[32];
    size_t size = strlen(unit->user);
    if (!token_place(unit->tables, place))
        out->failed = true;
    hf_buffer_add(out, (const char *)&expires_us, sizeof expires_us);
    hf_buffer_add(out, (const char *)&size, sizeof size);
    hf_buffer_add(out, unit->user, size);
    hf_buffer_add(out, (const char *)place, sizeof place);
    rec_pack(unit, out);
}

static hf_status token_seal(const token_keys *keys, const hf_buffer *text, char **out,
                            hf_error *err)
{
    size_t size = TOKEN_HEAD + text->size + HF_SEAL_MORE;
    unsigned char *bytes = hf_alloc(size);
    if (bytes == NULL)
        return hf_fail_memory(err);
    token_name_key(keys->at[0], bytes);
    bool good = hf_seal(keys->at[0], bytes, TOKEN_HEAD, text->text, text->size, bytes + TOKEN_HEAD);
    *out = good ? token_encode(bytes, size) : NULL;
    hf_free(bytes);
    return *out != NULL ? HF_OK : hf_fail_memory(err);
}

hf_status hf_unit_export(hf_unit *unit, int64_t ttl_us, char **out, hf_error *err)
{
    token_keys keys;
    hf_buffer text = {0};
    *out = NULL;
    if (ttl_us < HF_DURATION_MIN_US || ttl_us > HF_DURATION_MAX_US)
        return hf_fail(err, HF_INVALID, "A token is good for 1 ms to 366 days.");
    hf_status status = token_keys_read(unit->tables, &keys, err);
    if (status != HF_OK)
        return status;
    token_fill(unit, hf_seam.wall_us() + ttl_us, &text);
    if (text.failed && !text.full)
        status = hf_fail_memory(err);
    else if (text.full || text.size > TOKEN_MAX / 4 * 3 - TOKEN_HEAD - HF_SEAL_MORE)
        status = hf_fail(err, HF_TOO_LARGE,
                         "The unit does not fit into a token of %d bytes; read fewer records.",
                         TOKEN_MAX);
    else
        status = token_seal(&keys, &text, out, err);
    if (text.text != NULL)
        hf_secret_wipe(text.text, text.size);
    hf_buffer_done(&text);
    hf_secret_wipe(&keys, sizeof keys);
    return status;
}

/* ---- importing ---- */

static hf_status token_altered(hf_error *err)
{
    return hf_fail(err, HF_INVALID,
                   "The token was altered or sealed with another key; begin the work again.");
}

static hf_status token_open(const hf_tables *tables, const char *text, unsigned char **out,
                            size_t *size, hf_error *err)
{
    token_keys keys;
    unsigned char head[TOKEN_HEAD];
    size_t length = text == NULL ? 0 : strnlen(text, TOKEN_MAX + 1);
    if (length > TOKEN_MAX)
        return hf_fail(err, HF_TOO_LARGE, "A token has %d bytes at most.", TOKEN_MAX);
    hf_status status = token_keys_read(tables, &keys, err);
    if (status != HF_OK)
        return status;
    unsigned char *bytes = hf_alloc(length + 1), *opened = hf_alloc(length + 1);
    size_t got = bytes == NULL ? 0 : token_decode(text, length, bytes);
    bool good = false;
    for (size_t i = 0; opened != NULL && got > TOKEN_HEAD && i < keys.count && !good; i++) {
        token_name_key(keys.at[i], head);
        good =
            memcmp(head, bytes, TOKEN_HEAD) == 0 &&
            hf_unseal(keys.at[i], head, TOKEN_HEAD, bytes + TOKEN_HEAD, got - TOKEN_HEAD, opened);
    }
    if (good) {
        *size = got - TOKEN_HEAD - HF_SEAL_MORE;
        *out = opened;
    } else
        status = bytes == NULL || opened == NULL ? hf_fail_memory(err) : token_altered(err);
    hf_free(bytes);
    if (!good)
        hf_free(opened);
    hf_secret_wipe(&keys, sizeof keys);
    return status;
}

static hf_status token_take(hf_unit *unit, const unsigned char *bytes, size_t size, hf_error *err)
{
    int64_t expires_us = 0;
    size_t name = 0, at = sizeof expires_us + sizeof name;
    unsigned char place[32];
    if (size < at)
        return token_altered(err);
    memcpy(&expires_us, bytes, sizeof expires_us);
    memcpy(&name, bytes + sizeof expires_us, sizeof name);
    if (name > HF_TEXT_MAX || size < at + name + sizeof place)
        return token_altered(err);
    if (name != strlen(unit->user) || memcmp(bytes + at, unit->user, name) != 0)
        return hf_fail(err, HF_DENIED, "The token belongs to another user.");
    if (hf_seam.wall_us() >= expires_us)
        return hf_fail(err, HF_EXPIRED, "The token has expired; begin the work again.");
    at += name;
    if (!token_place(unit->tables, place))
        return hf_fail_memory(err);
    if (memcmp(bytes + at, place, sizeof place) != 0)
        return hf_fail(err, HF_INVALID,
                       "The token is of another database, or its tables have changed since; begin "
                       "the work again.");
    at += sizeof place;
    return rec_unpack(unit, (hf_slice){(const char *)bytes + at, size - at}, err);
}

hf_status hf_unit_import(hf_tables *tables, const hf_unit_options *options, const char *text,
                         hf_unit **out, hf_error *err)
{
    hf_unit *unit = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    *out = NULL;
    hf_status status = hf_unit_open(tables, options, &unit, err);
    if (status == HF_OK)
        status = token_open(tables, text, &bytes, &size, err);
    if (status == HF_OK)
        status = token_take(unit, bytes, size, err);
    if (bytes != NULL)
        hf_secret_wipe(bytes, size);
    hf_free(bytes);
    if (status == HF_OK)
        *out = unit;
    else
        hf_unit_free(unit);
    return status;
}
