/* SPDX-License-Identifier: MIT */
/* Reading what a request says, by the table. */
#include "server/routes/inputs.h"

#include "base/error.h"
#include "wire/read.h"

#include <stdlib.h>
#include <string.h>

const input input_table[INPUT_COUNT] = {
#define INPUT_ROW(name, text, form, member, about)                                                 \
    [INPUT_##name] = {text, FORM_##form, offsetof(inputs, member), about},
    INPUT_TABLE(INPUT_ROW)
#undef INPUT_ROW
};

static int inputs_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A NUL can't be meant: it would cut the text short. */
char *url_decode(hf_slice text, bool plus, hf_arena *arena)
{
    char *out = hf_arena_alloc(arena, text.size + 1);
    size_t size = 0;
    for (size_t i = 0; out != NULL && i < text.size; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = i + 2 < text.size ? inputs_hex_digit(text.at[i + 1]) : -1;
            int low = high >= 0 ? inputs_hex_digit(text.at[i + 2]) : -1;
            if (low < 0 || (high | low) == 0)
                return NULL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[size++] = c;
    }
    return out;
}

/* ---- bodies ---- */

static const wire_form forms[] = {
    [FORM_TEXT] = WIRE_A_TEXT,     [FORM_WHOLE] = WIRE_A_WHOLE, [FORM_FENCE] = WIRE_A_FENCE,
    [FORM_SECONDS] = WIRE_SECONDS, [FORM_TEXTS] = WIRE_TEXTS,   [FORM_OBJECTS] = WIRE_OBJECTS,
    [FORM_LOGIN] = WIRE_A_TEXT,
};

hf_status inputs_read_body(inputs *in, hf_slice body, input_set taken, input_set needed,
                           hf_arena *arena, hf_error *err)
{
    wire_member members[INPUT_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if (taken >> i & 1)
            members[count++] = (wire_member){input_table[i].name, forms[input_table[i].form],
                                             (char *)in + input_table[i].at, needed >> i & 1};
    return wire_object_read(body.at, body.size, members, count, arena, err);
}

/* ---- queries and headers ---- */

static hf_status inputs_read_whole(const char *text, const char *what, const char *name,
                                   int64_t *out, hf_error *err)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    size_t size = strlen(text);
    if (size == 0 || size > 18 || *end != '\0' || text[0] < '0' || text[0] > '9')
        return hf_fail(err, HF_INVALID, "The %s %s must be a whole number, 0 or more.", what, name);
    *out = value;
    return HF_OK;
}

static hf_status inputs_read_fence(const char *text, const char *what, const char *name,
                                   int64_t *out, hf_error *err)
{
    hf_status status = inputs_read_whole(text, what, name, out, err);
    return status != HF_OK || *out > 0 ? status
                                       : hf_fail(err, HF_INVALID, WIRE_NO_FENCE, *out, name);
}

static hf_status inputs_read_login(const char *text, const hf_credentials **out, hf_arena *arena,
                                   hf_error *err)
{
    hf_credentials *login = hf_arena_alloc(arena, sizeof *login);
    if (login == NULL)
        return hf_fail_memory(err);
    *out = login;
    return hf_credentials_parse(text, login, err);
}

/* One more of them. The room is doubled when it is used up, which the count itself tells. */
static hf_status inputs_add_text(wire_texts *texts, const char *text, hf_arena *arena,
                                 hf_error *err)
{
    const char **items = (const char **)texts->items;
    if ((texts->count & (texts->count - 1)) == 0) {
        size_t room = texts->count == 0 ? 1 : 2 * texts->count;
        items = hf_arena_alloc(arena, room * sizeof *items);
        if (items == NULL)
            return hf_fail_memory(err);
        if (texts->count > 0)
            memcpy(items, texts->items, texts->count * sizeof *items);
    }
    items[texts->count] = text;
    *texts = (wire_texts){items, texts->count + 1};
    return HF_OK;
}

/* text is in the arena. */
static hf_status inputs_read_text(inputs *in, unsigned which, const char *text, const char *what,
                                  hf_arena *arena, hf_error *err)
{
    const input *row = &input_table[which];
    void *member = (char *)in + row->at;
    switch (row->form) {
    case FORM_WHOLE:
        return inputs_read_whole(text, what, row->name, member, err);
    case FORM_FENCE:
        return inputs_read_fence(text, what, row->name, member, err);
    case FORM_LOGIN:
        return inputs_read_login(text, member, arena, err);
    case FORM_TEXTS:
        return inputs_add_text(member, text, arena, err);
    default:
        *(const char **)member = text;
        return HF_OK;
    }
}

hf_status inputs_read_header(inputs *in, unsigned which, const char *text, hf_arena *arena,
                             hf_error *err)
{
    bool none = text[0] == '\0' && input_table[which].form == FORM_TEXT;
    return none ? HF_OK : inputs_read_text(in, which, text, "header", arena, err);
}

static unsigned inputs_find_parameter(input_set taken, hf_slice name)
{
    unsigned i = 0;
    while (i < INPUT_COUNT &&
           !((taken >> i & 1) && hf_slice_equal(hf_slice_of(input_table[i].name), name)))
        i++;
    return i;
}

static hf_status inputs_unknown_parameter(hf_slice name, input_set taken, hf_error *err)
{
    char known[256] = "";
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if (taken >> i & 1)
            wire_list_add(known, sizeof known, input_table[i].name);
    bool plain = wire_name_is_plain(name);
    return hf_fail(err, HF_INVALID, "The query has an unknown parameter%s%.*s%s; it takes %s.",
                   plain ? " \"" : "", plain ? (int)name.size : 0, plain ? name.at : "",
                   plain ? "\"" : "", known[0] == '\0' ? "none" : known);
}

static hf_status inputs_read_parameter(inputs *in, hf_slice pair, input_set taken, input_set *seen,
                                       hf_arena *arena, hf_error *err)
{
    const char *equals = memchr(pair.at, '=', pair.size);
    hf_slice name = {pair.at, equals == NULL ? pair.size : (size_t)(equals - pair.at)};
    hf_slice value =
        equals == NULL ? HF_NOTHING : (hf_slice){equals + 1, pair.size - name.size - 1};
    unsigned which = inputs_find_parameter(taken, name);
    if (which == INPUT_COUNT)
        return inputs_unknown_parameter(name, taken, err);
    if ((*seen >> which & 1) && input_table[which].form != FORM_TEXTS)
        return hf_fail(err, HF_INVALID, "The query has the parameter \"%s\" twice; give it once.",
                       input_table[which].name);
    *seen |= UINT64_C(1) << which;
    const char *text = url_decode(value, true, arena);
    if (text == NULL)
        return hf_fail(
            err, HF_INVALID,
            "The value of the parameter \"%s\" can't be decoded: a percent sign is followed by "
            "two hex digits.",
            input_table[which].name);
    return text[0] == '\0' ? HF_OK : inputs_read_text(in, which, text, "parameter", arena, err);
}

hf_status inputs_read_query(inputs *in, hf_slice query, input_set taken, hf_arena *arena,
                            hf_error *err)
{
    input_set seen = 0;
    hf_status status = HF_OK;
    while (query.size > 0 && status == HF_OK) {
        const char *end = memchr(query.at, '&', query.size);
        hf_slice pair = {query.at, end == NULL ? query.size : (size_t)(end - query.at)};
        size_t passed = pair.size + (end != NULL);
        if (pair.size > 0)
            status = inputs_read_parameter(in, pair, taken, &seen, arena, err);
        query = (hf_slice){query.at + passed, query.size - passed};
    }
    return status;
}
