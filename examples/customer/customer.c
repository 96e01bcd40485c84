/* SPDX-License-Identifier: MIT */
/* The fields of a customer, and what may be written into them. */
#include "customer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define ADDRESS(kind, label) \
    {kind "_street", label ": street", "text", false}, \
    {kind "_postcode", label ": postcode", "text", false}, \
    {kind "_city", label ": city", "text", false}, \
    {kind "_country", label ": country", "text", false}

const field customer_fields[FIELD_COUNT] = {
    {"name", "Name", "text", true},
    {"email", "E-mail", "email", false},
    {"phone", "Phone", "tel", false},
    {"note", "Note", NULL, false},
    ADDRESS("billing", "Billing address"),
    ADDRESS("delivery", "Delivery address"),
    ADDRESS("visit", "Visiting address"),
};
/* clang-format on */

const char *const address_kinds[ADDRESS_KINDS] = {"billing", "delivery", "visit"};
const char *const address_parts[ADDRESS_PARTS] = {"street", "postcode", "city", "country"};

int address_begin(int kind)
{
    return ROOT_FIELDS + kind * ADDRESS_PARTS;
}

bool address_exists(const customer *it, int kind)
{
    for (int part = 0; part < ADDRESS_PARTS; part++)
        if (it->text[address_begin(kind) + part][0] != '\0')
            return true;
    return false;
}

/* The length of the UTF-8 character that begins there, if it can be shown; 0: it is none. */
static size_t customer_character(const unsigned char *at, bool lines)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80       ? 1
                  : at[0] >> 5 == 6  ? 2
                  : at[0] >> 4 == 14 ? 3
                  : at[0] >> 3 == 30 ? 4
                                     : 0;
    unsigned code = size < 2 ? at[0] : at[0] & (0x7fu >> size);
    if (size == 1)
        return (code >= ' ' && code != 0x7f) || (lines && (code == '\n' || code == '\t')) ? 1 : 0;
    for (size_t i = 1; i < size; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    bool good = code >= least[size] && code <= 0x10ffff && code >> 11 != 0x1b &&
                (code < 0x80 || code > 0x9f);
    return good ? size : 0;
}

bool customer_set(customer *it, int at, const char *text)
{
    char *out = it->text[at];
    size_t used = 0;
    for (const char *from = text; *from != '\0';) {
        if (from[0] == '\r' && from[1] == '\n') /* how browsers send a line end */
            from++;
        size_t size =
            customer_character((const unsigned char *)from, customer_fields[at].type == NULL);
        if (size == 0 || used + size >= FIELD_SIZE)
            return false;
        memcpy(out + used, from, size);
        used += size;
        from += size;
    }
    memset(out + used, 0, FIELD_SIZE - used);
    return true;
}

bool customer_complete(const customer *it, int *missing)
{
    for (*missing = 0; *missing < FIELD_COUNT; ++*missing)
        if (customer_fields[*missing].needed &&
            it->text[*missing][strspn(it->text[*missing], " ")] == '\0')
            return false;
    return true;
}

hf_status fail(hf_error *err, hf_status status, const char *format, ...)
{
    va_list arguments;
    if (err == NULL)
        return status;
    *err = (hf_error){.status = status};
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    return status;
}
