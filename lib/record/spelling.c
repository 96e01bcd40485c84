/* SPDX-License-Identifier: MIT */
/* Spelling what travels as text. Everything is made no longer than it was, but for a "0" before a
 * point and six digits of a fraction. */
#include "record/spelling.h"

#include <ctype.h>
#include <time.h>

enum { SPELLING_MORE = 8 };

static bool spelling_digits(const char *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] < '0' || at[i] > '9')
            return false;
    return true;
}

static int spelling_number(const char *at, size_t count)
{
    int number = 0;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + (at[i] - '0');
    return number;
}

/* ---- decimals ---- */

/* "-.5", "+12.50", "1e3" is none. No zeros before the first digit, no "-0". */
static size_t spelling_decimal(hf_slice text, char *out)
{
    const char *at = text.at, *end = at + text.size;
    bool minus = at < end && *at == '-', any = false;
    size_t size = 0;
    at += at < end && (*at == '-' || *at == '+');
    const char *point = memchr(at, '.', (size_t)(end - at));
    const char *whole_end = point == NULL ? end : point;
    size_t fraction = point == NULL ? 0 : (size_t)(end - point - 1);
    if (!spelling_digits(at, (size_t)(whole_end - at)) ||
        (point != NULL && !spelling_digits(point + 1, fraction)) ||
        (whole_end == at && fraction == 0))
        return 0;
    for (const char *it = at; it < end && !any; it++)
        any = *it != '0' && *it != '.';
    if (minus && any)
        out[size++] = '-';
    while (at < whole_end && *at == '0')
        at++;
    if (at == whole_end)
        out[size++] = '0';
    memcpy(out + size, at, (size_t)(whole_end - at));
    size += (size_t)(whole_end - at);
    if (fraction > 0) {
        memcpy(out + size, point, fraction + 1);
        size += fraction + 1;
    }
    return size;
}

/* ---- dates and times ---- */

static bool spelling_date_ok(const char *at)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!spelling_digits(at, 4) || at[4] != '-' || !spelling_digits(at + 5, 2) || at[7] != '-' ||
        !spelling_digits(at + 8, 2))
        return false;
    int year = spelling_number(at, 4), month = spelling_number(at + 5, 2),
        day = spelling_number(at + 8, 2);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] &&
           (month != 2 || day < 29 || leap);
}

/* "14:02", "14:02:07", "14:02:07.250": its size in `out`; *used is what was read of it. */
static size_t spelling_clock(hf_slice text, char *out, size_t *used)
{
    const char *at = text.at;
    if (text.size < 5 || !spelling_digits(at, 2) || at[2] != ':' || !spelling_digits(at + 3, 2))
        return 0;
    bool seconds = text.size >= 8 && at[5] == ':';
    if (seconds && !spelling_digits(at + 6, 2))
        return 0;
    memcpy(out, at, 5);
    memcpy(out + 5, seconds ? at + 5 : ":00", 3);
    if (spelling_number(out, 2) > 23 || spelling_number(out + 3, 2) > 59 ||
        spelling_number(out + 6, 2) > 59)
        return 0;
    size_t size = *used = seconds ? 8 : 5;
    size = 8;
    if (!seconds || text.size < 10 || at[8] != '.')
        return size;
    size_t digits = 0;
    while (9 + digits < text.size && at[9 + digits] >= '0' && at[9 + digits] <= '9')
        digits++;
    *used = 9 + digits;
    if (digits > 6) { /* databases keep microseconds */
        for (size_t i = 6; i < digits; i++)
            if (at[9 + i] != '0')
                return 0;
        digits = 6;
    }
    while (digits > 0 && at[9 + digits - 1] == '0')
        digits--;
    if (digits > 0) {
        memcpy(out + 8, at + 8, digits + 1);
        size += digits + 1;
    }
    return size;
}

static bool spelling_is_utc(const char *at, size_t size)
{
    static const char *const words[] = {"Z", "z", "+00", "+00:00", "-00:00", "+0000"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == size && memcmp(words[i], at, size) == 0)
            return true;
    return false;
}

static size_t spelling_stamp(rec_class holds, hf_slice text, char *out)
{
    size_t used = 0;
    if (text.size < 10 || !spelling_date_ok(text.at))
        return 0;
    memcpy(out, text.at, 10);
    if (text.size == 10) /* midnight */
        memcpy(out + 10, "T00:00:00", 9);
    else if (text.at[10] != 'T' && text.at[10] != ' ')
        return 0;
    out[10] = 'T';
    size_t clock = text.size == 10
                       ? 8
                       : spelling_clock((hf_slice){text.at + 11, text.size - 11}, out + 11, &used);
    size_t size = 11 + clock, rest = text.size == 10 ? 0 : text.size - 11 - used;
    if (clock == 0 || (rest > 0 && !spelling_is_utc(text.at + text.size - rest, rest)))
        return 0;
    if (holds == REC_INSTANT)
        out[size++] = 'Z';
    return size;
}

static size_t spelling_time(hf_slice text, char *out)
{
    size_t used = 0, size = spelling_clock(text, out, &used);
    return used == text.size ? size : 0;
}

/* ---- the rest ---- */

static size_t spelling_uuid(hf_slice text, char *out)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] == '-')
            continue;
        if (!isxdigit((unsigned char)text.at[i]) || size == 36)
            return 0;
        if (size == 8 || size == 13 || size == 18 || size == 23)
            out[size++] = '-';
        out[size++] = (char)tolower((unsigned char)text.at[i]);
    }
    return size == 36 ? size : 0;
}

/* White space between the parts goes. Whether it is JSON at all the database knows. */
static size_t spelling_json(hf_slice text, char *out)
{
    size_t size = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];
        if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            continue;
        out[size++] = c;
        if (quoted && c == '\\' && i + 1 < text.size)
            out[size++] = text.at[++i];
        else if (c == '"')
            quoted = !quoted;
    }
    return quoted ? 0 : size;
}

bool rec_spelling(rec_class holds, hf_slice text, hf_arena *arena, hf_slice *out)
{
    char *copy = hf_arena_alloc(arena, text.size + SPELLING_MORE + 16);
    *out = (hf_slice){NULL, copy == NULL};
    if (copy == NULL)
        return false;
    size_t size = 0;
    switch (holds) {
    case REC_DECIMAL:
        size = spelling_decimal(text, copy);
        break;
    case REC_DATE:
        size = text.size == 10 && spelling_date_ok(text.at) ? 10 : 0;
        if (size > 0)
            memcpy(copy, text.at, 10);
        break;
    case REC_TIME:
        size = spelling_time(text, copy);
        break;
    case REC_STAMP:
    case REC_INSTANT:
        size = spelling_stamp(holds, text, copy);
        break;
    case REC_UUID:
        size = spelling_uuid(text, copy);
        break;
    case REC_JSON:
        size = spelling_json(text, copy);
        break;
    default:
        memcpy(copy, text.at == NULL ? "" : text.at, text.size);
        *out = (hf_slice){copy, text.size};
        return true;
    }
    memset(copy + size, 0, text.size + SPELLING_MORE + 16 - size);
    *out = (hf_slice){copy, size};
    return size > 0;
}

int64_t rec_time_of(const hf_field *value)
{
    if (value->kind == HF_FIELD_INT)
        return value->number;
    hf_slice spelled = {value->text, value->size};
    char copy[64];
    size_t size = 0;
    if (value->kind != HF_FIELD_TEXT || value->size > 40 ||
        (size = spelling_stamp(REC_INSTANT, spelled, copy)) == 0)
        return 0;
    struct tm when = {.tm_year = spelling_number(copy, 4) - 1900,
                      .tm_mon = spelling_number(copy + 5, 2) - 1,
                      .tm_mday = spelling_number(copy + 8, 2),
                      .tm_hour = spelling_number(copy + 11, 2),
                      .tm_min = spelling_number(copy + 14, 2),
                      .tm_sec = spelling_number(copy + 17, 2)};
    int64_t us = (int64_t)timegm(&when) * 1000000, unit = 100000;
    for (size_t i = 20; i + 1 < size; i++, unit /= 10)
        us += (copy[i] - '0') * unit;
    return us;
}
