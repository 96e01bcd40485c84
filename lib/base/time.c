/* SPDX-License-Identifier: MIT */
/* Times as text, by the proleptic Gregorian calendar; no zone tables, no locale, no hidden state.
 * */
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct civil {
    int64_t year;
    unsigned month, day, hour, minute, second, us;
} civil;

/* Days to year, month, day: counts in eras of 400 years that begin on 1 March. */
static civil time_civil_of(int64_t us)
{
    int64_t seconds = us / 1000000, rest = us % 1000000;
    if (rest < 0) {
        rest += 1000000;
        seconds--;
    }
    int64_t days = seconds / 86400, time = seconds % 86400;
    if (time < 0) {
        time += 86400;
        days--;
    }
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned doe = (unsigned)(days - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned mp = (5 * doy + 2) / 153;
    unsigned month = mp < 10 ? mp + 3 : mp - 9;
    return (civil){.year = (int64_t)yoe + era * 400 + (month <= 2),
                   .month = month,
                   .day = doy - (153 * mp + 2) / 5 + 1,
                   .hour = (unsigned)(time / 3600),
                   .minute = (unsigned)(time / 60 % 60),
                   .second = (unsigned)(time % 60),
                   .us = (unsigned)rest};
}

/* Writes a number with so many digits, and answers where it ends. */
static char *time_read_digits(char *out, unsigned number, unsigned count)
{
    for (unsigned i = count; i-- > 0; number /= 10)
        out[i] = (char)('0' + number % 10);
    return out + count;
}

static char *time_digits_and(char *out, unsigned number, unsigned count, char after)
{
    out = time_read_digits(out, number, count);
    *out++ = after;
    return out;
}

/* By hand, since every answer has some. */
static void time_write_usual(const civil *t, char *out)
{
    out = time_digits_and(out, (unsigned)t->year, 4, '-');
    out = time_digits_and(out, t->month, 2, '-');
    out = time_digits_and(out, t->day, 2, 'T');
    out = time_digits_and(out, t->hour, 2, ':');
    out = time_digits_and(out, t->minute, 2, ':');
    out = time_digits_and(out, t->second, 2, '.');
    out = time_digits_and(out, t->us, 6, 'Z');
    *out = '\0';
}

void hf_time_write(int64_t us, char out[HF_TIME_TEXT])
{
    civil t = time_civil_of(us);
    if (t.year >= 0 && t.year <= 9999) {
        time_write_usual(&t, out);
        return;
    }
    snprintf(out, HF_TIME_TEXT, "%04" PRId64 "-%02u-%02uT%02u:%02u:%02u.%06uZ", t.year, t.month,
             t.day, t.hour, t.minute, t.second, t.us);
}

void hf_time_say(int64_t us, int64_t now_us, char out[HF_TIME_TEXT])
{
    civil t = time_civil_of(us), now = time_civil_of(now_us);
    if (t.year == now.year && t.month == now.month && t.day == now.day)
        snprintf(out, HF_TIME_TEXT, "%02u:%02u UTC", t.hour, t.minute);
    else
        snprintf(out, HF_TIME_TEXT, "%04" PRId64 "-%02u-%02u %02u:%02u UTC", t.year, t.month, t.day,
                 t.hour, t.minute);
}

int hf_time_fraction(int64_t us, char *out)
{
    int digits = snprintf(out, 8, "%06d", (int)(us < 0 ? -us : us));
    while (digits > 0 && out[digits - 1] == '0')
        digits--;
    return digits;
}

bool hf_time_add(int64_t a, int64_t b, int64_t *sum)
{
    int64_t total;
    if (__builtin_add_overflow(a, b, &total))
        return false;
    *sum = total;
    return true;
}

/* ---- reading ---- */

/* So many digits; false: something else stands there, or the number is not within its bounds. */
static bool time_digits(const char **text, unsigned count, unsigned low, unsigned high,
                        unsigned *out)
{
    unsigned number = 0;
    for (unsigned i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        number = number * 10 + (unsigned)(**text - '0');
    }
    *out = number;
    return number >= low && number <= high;
}

static bool time_sign(const char **text, char sign)
{
    return **text == sign && (*text)++ != NULL;
}

static bool time_day(const char **text, civil *t)
{
    static const unsigned char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const unsigned digits = (unsigned)strspn(*text, "0123456789"); /* hf_time_write may write 6 */
    unsigned year = 0;
    bool reads = digits >= 4 && digits <= 6 && time_digits(text, digits, 1970, 294247, &year) &&
                 time_sign(text, '-') && time_digits(text, 2, 1, 12, &t->month) &&
                 time_sign(text, '-') && time_digits(text, 2, 1, days[t->month - 1], &t->day);
    t->year = year;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return reads && (leap || t->month != 2 || t->day < 29);
}

static bool time_fraction(const char **text, civil *t)
{
    unsigned worth = 100000;
    if (!time_sign(text, '.'))
        return true;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; (*text)++, worth /= 10)
        t->us += (unsigned)(**text - '0') * worth;
    return true;
}

/* False: more microseconds than there are. */
static bool time_us_of(const civil *t, int64_t *out)
{
    int64_t year = t->year - (t->month <= 2);
    int64_t era = year / 400, yoe = year % 400;
    int64_t doy =
        (153 * (int64_t)(t->month > 2 ? t->month - 3 : t->month + 9) + 2) / 5 + t->day - 1;
    int64_t days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
    int64_t seconds = ((days * 24 + t->hour) * 60 + t->minute) * 60 + t->second;
    return !__builtin_mul_overflow(seconds, 1000000, out) &&
           !__builtin_add_overflow(*out, (int64_t)t->us, out);
}

bool hf_time_read(const char *text, int64_t *out_us)
{
    civil t = {0};
    bool reads = time_day(&text, &t);
    if (reads && *text != '\0')
        reads = time_sign(&text, 'T') && time_digits(&text, 2, 0, 23, &t.hour) &&
                time_sign(&text, ':') && time_digits(&text, 2, 0, 59, &t.minute) &&
                time_sign(&text, ':') && time_digits(&text, 2, 0, 59, &t.second) &&
                time_fraction(&text, &t) && time_sign(&text, 'Z') && *text == '\0';
    reads = reads && time_us_of(&t, out_us);
    *out_us = reads ? *out_us : 0;
    return reads;
}
