/* SPDX-License-Identifier: MIT */
/* A ticket is hex digits: of the lines "SESSION-ID EXPIRES-US", "TYPE/ID" and so on; a full
 * stop; and of the HMAC of a sentence that has their digest, by the hash of the session's key. */
#include "server/feed/ticket.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_status ticket_sentence(hf_slice lines, char out[CALLER_PROOF_SIZE], hf_error *err)
{
    unsigned char digest[32];
    char hex[65];
    if (!hf_sha256(lines.at, lines.size, digest))
        return hf_fail_memory(err);
    hf_hex(digest, sizeof digest, hex);
    snprintf(out, CALLER_PROOF_SIZE, "holdfast events ticket %s", hex);
    return HF_OK;
}

/* The lines, without a NUL. */
static hf_status ticket_lines(const hf_credentials *session, int64_t expires_us,
                              const wire_texts *names, hf_arena *arena, hf_slice *out,
                              hf_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < names->count; i++)
        size += 1 + strlen(names->items[i]);
    if (size > TICKET_NAMES_MAX)
        return hf_fail(err, HF_TOO_LARGE,
                       "The names of the records are %zu bytes long together, and a ticket has "
                       "room for %d. Follow fewer, or by POST /v1/events, which fetch can read.",
                       size, TICKET_NAMES_MAX);
    size_t head = HF_SESSION_ID_MAX + 24;
    char *text = hf_arena_alloc(arena, head + size);
    if (text == NULL)
        return hf_fail_memory(err);
    char *at = text + snprintf(text, head, "%s %" PRId64, session->id, expires_us);
    for (size_t i = 0; i < names->count; i++) {
        *at++ = '\n';
        at = stpcpy(at, names->items[i]);
    }
    *out = (hf_slice){text, (size_t)(at - text)};
    return HF_OK;
}

hf_status ticket_write(const hf_credentials *session, int64_t expires_us, const wire_texts *names,
                       hf_arena *arena, const char **out, hf_error *err)
{
    hf_slice lines = HF_NOTHING;
    caller_proof proof;
    hf_status status = ticket_lines(session, expires_us, names, arena, &lines, err);
    if (status == HF_OK)
        status = ticket_sentence(lines, proof.text, err);
    if (status != HF_OK)
        return status;
    char *text = hf_arena_alloc(arena, 2 * lines.size + 1 + 2 * sizeof proof.sha256 + 1);
    if (text == NULL || !hf_hmac_sha256(session->key_sha256, sizeof session->key_sha256, proof.text,
                                        strlen(proof.text), proof.sha256))
        return hf_fail_memory(err);
    hf_hex(lines.at, lines.size, text);
    text[2 * lines.size] = '.';
    hf_hex(proof.sha256, sizeof proof.sha256, text + 2 * lines.size + 1);
    *out = text;
    return HF_OK;
}

static int ticket_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* They are hex digits, an even number. */
static void ticket_unhex(const char *text, size_t bytes, unsigned char *out)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(ticket_digit(text[2 * i]) << 4 | ticket_digit(text[2 * i + 1]));
}

/* The lines behind the first, each ended by a NUL. False: out of memory. */
static bool ticket_read_names(char *lines, hf_arena *arena, wire_texts *out)
{
    size_t count = 0;
    for (const char *at = lines; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    const char **items = hf_arena_alloc(arena, (count + 1) * sizeof *items);
    if (items == NULL)
        return false;
    *out = (wire_texts){items, count};
    for (char *at = lines; (at = strchr(at, '\n')) != NULL;) {
        *at++ = '\0';
        *items++ = at;
    }
    return true;
}

static bool ticket_read_head(const char *lines, ticket *out)
{
    const char *digits = lines + HF_SESSION_ID_MAX + 1;
    if (strlen(lines) < HF_SESSION_ID_MAX + 2 || !hf_is_hex(lines, HF_SESSION_ID_MAX) ||
        lines[HF_SESSION_ID_MAX] != ' ' || strspn(digits, "0123456789") != strlen(digits) ||
        strlen(digits) > 18)
        return false;
    memcpy(out->session.id, lines, HF_SESSION_ID_MAX);
    out->expires_us = strtoll(digits, NULL, 10);
    return true;
}

hf_status ticket_read(const char *text, hf_arena *arena, ticket *out, hf_error *err)
{
    static const char flaw[] = "This is no ticket; POST /v1/events/tickets gives one.";
    const char *stop = strchr(text, '.');
    size_t size = stop == NULL ? 0 : (size_t)(stop - text), mac = 2 * sizeof out->proof.sha256;
    *out = (ticket){.expires_us = 0};
    if (size == 0 || size % 2 != 0 || !hf_is_hex(text, size) || strlen(stop + 1) != mac ||
        !hf_is_hex(stop + 1, mac))
        return hf_fail(err, HF_INVALID, flaw);
    char *lines = hf_arena_alloc(arena, size / 2 + 1);
    if (lines == NULL)
        return hf_fail_memory(err);
    ticket_unhex(text, size / 2, (unsigned char *)lines);
    lines[size / 2] = '\0';
    ticket_unhex(stop + 1, sizeof out->proof.sha256, out->proof.sha256);
    hf_status status = ticket_sentence((hf_slice){lines, size / 2}, out->proof.text, err);
    if (status == HF_OK && strlen(lines) != size / 2)
        status = hf_fail(err, HF_INVALID, flaw);
    if (status == HF_OK && !ticket_read_names(lines, arena, &out->names))
        status = hf_fail_memory(err);
    if (status == HF_OK && !ticket_read_head(lines, out))
        status = hf_fail(err, HF_INVALID, flaw);
    return status;
}
