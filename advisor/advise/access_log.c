/* SPDX-License-Identifier: MIT */
/* ADDRESS IDENT USER [18/Nov/2026:05:07:49 +0000] "GET /policies/7/edit HTTP/1.1" 200 512
 * "REFERER" "AGENT" The request is looked at first: most lines match no pattern, and are done
 * with there. */
#include "advise/access_log.h"

#include "base/error.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define LOG_LINE_MAX ((size_t)64 << 10)

/* ---- patterns ---- */

hf_status advise_pattern_parse(const char *option, const char *text, advise_pattern *out,
                               hf_error *err)
{
    size_t method = strcspn(text, " ");
    const char *path = text + method + strspn(text + method, " ");
    const char *id = strstr(path, "{id}");
    if (method == 0 || method >= sizeof out->method || path[0] != '/')
        return hf_fail(err, HF_INVALID,
                       "--%s is a method and a path, as in \"GET /policies/{id}/edit\".", option);
    if (id == NULL || strstr(id + 1, "{id}") != NULL)
        return hf_fail(
            err, HF_INVALID,
            "--%s needs {id} once, where the record is named, as in \"GET /policies/{id}/edit\".",
            option);
    if (strlen(path) >= sizeof out->path)
        return hf_fail(err, HF_INVALID, "--%s is longer than %zu bytes.", option,
                       sizeof out->path - 1);
    *out = (advise_pattern){.query = strchr(path, '?') != NULL};
    memcpy(out->method, text, method);
    snprintf(out->path, sizeof out->path, "%s", path);
    return HF_OK;
}

static bool log_in_segment(char c, bool query)
{
    return c != '/' && c != '?' && !(query && c == '&');
}

/* Tries to match; a wildcard takes as much as it can, then less. Patterns are short and have few
 * of them. */
static bool log_match(const char *pattern, const char *at, const char *end, bool query,
                      hf_slice *id)
{
    while (*pattern != '\0' && *pattern != '*' && strncmp(pattern, "{id}", 4) != 0) {
        if (at == end || *at != *pattern)
            return false;
        pattern++;
        at++;
    }
    if (*pattern == '\0')
        return at == end || (query && *at == '&');
    bool named = *pattern == '{';
    const char *last = at;
    while (last < end && log_in_segment(*last, query))
        last++;
    for (; last >= at + named; last--) {
        if (!log_match(pattern + (named ? 4 : 1), last, end, query, id))
            continue;
        if (named)
            *id = (hf_slice){at, (size_t)(last - at)};
        return true;
    }
    return false;
}

bool advise_pattern_matches(const advise_pattern *pattern, hf_slice method, hf_slice target,
                            hf_slice *id)
{
    if (pattern->method[0] != '*' && !hf_slice_equal(hf_slice_of(pattern->method), method))
        return false;
    const char *end = target.at + target.size;
    const char *question = pattern->query ? NULL : memchr(target.at, '?', target.size);
    return log_match(pattern->path, target.at, question != NULL ? question : end, pattern->query,
                     id);
}

/* ---- lines ---- */

static int64_t log_digits(const char *at, int count)
{
    int64_t value = 0;
    for (int i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        value = value * 10 + (at[i] - '0');
    }
    return value;
}

/* Days since 1970 of a date of our calendar. */
static int64_t log_days(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

enum { LOG_TIME = 26 }; /* 18/Nov/2026:05:07:49 +0000 */

static bool log_parse_time(const char *at, int64_t *out)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char name[4] = {at[3], at[4], at[5], '\0'};
    const char *month = strstr(months, name);
    int64_t day = log_digits(at, 2), year = log_digits(at + 7, 4), hour = log_digits(at + 12, 2);
    int64_t minute = log_digits(at + 15, 2), second = log_digits(at + 18, 2);
    int64_t east = log_digits(at + 22, 2), east_minutes = log_digits(at + 24, 2);
    if (month == NULL || (month - months) % 3 != 0 || day < 1 || year < 1970 || hour < 0 ||
        minute < 0 || second < 0 || east < 0 || east_minutes < 0 ||
        (at[21] != '+' && at[21] != '-'))
        return false;
    int64_t offset = (east * 60 + east_minutes) * 60 * (at[21] == '-' ? -1 : 1);
    *out = log_days(year, (month - months) / 3 + 1, day) * 86400 + hour * 3600 + minute * 60 +
           second - offset;
    return true;
}

/* The time of the line; lines of the same second are not parsed again. */
static bool log_time(advise_log *log, hf_slice line, const char *quote, int64_t *out)
{
    const char *bracket = memchr(line.at, '[', (size_t)(quote - line.at));
    if (bracket == NULL || quote - bracket < LOG_TIME + 2 || bracket[LOG_TIME + 1] != ']')
        return false;
    if (memcmp(bracket + 1, log->time_text, LOG_TIME) != 0) {
        if (!log_parse_time(bracket + 1, &log->time))
            return false;
        memcpy(log->time_text, bracket + 1, LOG_TIME);
    }
    *out = log->time;
    return true;
}

/* The end of a quoted text that begins behind its quote; a backslash escapes. */
static const char *log_quote_end(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '"')
            return at;
    }
    return NULL;
}

/* The word that ends before `end`, which moves to the blank in front of it. */
static hf_slice log_word_before(const char *from, const char **end)
{
    const char *last = *end, *at = last;
    while (at > from && at[-1] != ' ')
        at--;
    *end = at > from ? at - 1 : from;
    return (hf_slice){at, (size_t)(last - at)};
}

/* The user, where the log knows one; else the address and the agent. A virtual host may stand
 * before the address. */
static uint64_t log_person(hf_slice line, const char *quote)
{
    const char *bracket = memchr(line.at, '[', (size_t)(quote - line.at)),
               *end = line.at + line.size;
    const char *at = bracket != NULL && bracket > line.at ? bracket - 1 : line.at;
    hf_slice user = log_word_before(line.at, &at);
    if (user.size > 1 || (user.size == 1 && user.at[0] != '-'))
        return hf_hash_bytes(0, user.at, user.size);
    log_word_before(line.at, &at); /* ident */
    hf_slice address = log_word_before(line.at, &at);
    uint64_t hash = hf_hash_bytes(0, address.at, address.size);
    const char *last =
        line.size > 0 && end[-1] == '"' ? memrchr(line.at, '"', line.size - 1) : NULL;
    return last != NULL ? hf_hash_bytes(hash, last, (size_t)(end - last)) : hash;
}

static bool log_find(const advise_pattern *patterns, size_t count, hf_slice method, hf_slice target,
                     hf_slice *id)
{
    for (size_t i = 0; i < count; i++)
        if (advise_pattern_matches(&patterns[i], method, target, id))
            return true;
    return false;
}

static hf_status log_line(advise_log *log, hf_slice line, hf_error *err)
{
    const char *end = line.at + line.size, *quote = memchr(line.at, '"', line.size);
    const char *close = quote == NULL ? NULL : log_quote_end(quote + 1, end);
    log->lines++;
    if (close == NULL || close + 4 >= end || close[1] != ' ' || log_digits(close + 2, 3) < 0) {
        log->skipped++;
        return HF_OK;
    }
    const char *space = memchr(quote, ' ', (size_t)(close - quote));
    const char *after = space == NULL ? NULL : memchr(space + 1, ' ', (size_t)(close - space - 1));
    if (space == NULL || log_digits(close + 2, 3) >= 400)
        return HF_OK;
    hf_slice method = {quote + 1, (size_t)(space - quote - 1)}, id;
    hf_slice target = {space + 1, (size_t)((after != NULL ? after : close) - space - 1)};
    /* Saving first: its pattern may be the one that an opening's contains. */
    bool save = log_find(log->save, log->save_count, method, target, &id);
    if (!save && !log_find(log->open, log->open_count, method, target, &id))
        return HF_OK;
    int64_t seconds;
    if (!log_time(log, line, quote, &seconds)) {
        log->skipped++;
        return HF_OK;
    }
    log->saved += save;
    log->opened += !save;
    return (save ? advise_edits_save : advise_edits_open)(log->edits, id, log_person(line, quote),
                                                          seconds, err);
}

/* A line that came in pieces. */
static hf_status log_joined(advise_log *log, hf_error *err)
{
    hf_status status = HF_OK;
    if (log->rest.failed)
        status = hf_fail_memory(err);
    else if (log->cut)
        log->lines++, log->skipped++;
    else if (log->rest.size > 0)
        status = log_line(log, (hf_slice){log->rest.text, log->rest.size}, err);
    log->rest.size = 0;
    log->cut = false;
    return status;
}

static void log_keep(advise_log *log, const char *bytes, size_t size)
{
    log->cut = log->cut || log->rest.size + size > LOG_LINE_MAX;
    if (!log->cut)
        hf_buffer_add(&log->rest, bytes, size);
}

hf_status advise_log_feed(advise_log *log, const char *bytes, size_t size, hf_error *err)
{
    const char *end = bytes + size;
    hf_status status = HF_OK;
    if (log->lines == 0 && log->rest.size == 0 && size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0)
        return hf_fail(
            err, HF_INVALID,
            "The log is compressed; write: zcat FILE | holdfast advise --access-log - ...");
    while (status == HF_OK && bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *line_end = newline != NULL ? newline : end;
        if (newline == NULL || log->rest.size > 0 || log->cut) {
            log_keep(log, bytes, (size_t)(line_end - bytes));
            if (newline != NULL)
                status = log_joined(log, err);
        } else {
            size_t length = (size_t)(line_end - bytes);
            length -= length > 0 && bytes[length - 1] == '\r';
            status = length > 0 ? log_line(log, (hf_slice){bytes, length}, err) : HF_OK;
        }
        bytes = line_end + (newline != NULL);
    }
    return status;
}

hf_status advise_log_end(advise_log *log, hf_error *err)
{
    hf_status status = log_joined(log, err);
    if (status != HF_OK)
        return status;
    if (log->lines == 0)
        return hf_fail(err, HF_NOT_FOUND, "The log is empty.");
    if (log->lines == log->skipped)
        return hf_fail(err, HF_NOT_FOUND,
                       "None of the log's %.0f lines is in the common or combined format, as in: "
                       "192.0.2.1 - alice "
                       "[18/Nov/2026:05:07:49 +0000] \"GET /policies/7/edit HTTP/1.1\" 200 512.",
                       log->lines);
    if (log->opened == 0 || log->saved == 0)
        return hf_fail(err, HF_NOT_FOUND,
                       "Of the log's %.0f lines %s matches --%s; check the method and the path.",
                       log->lines, "none", log->opened == 0 ? "open" : "save");
    return HF_OK;
}

void advise_log_done(advise_log *log)
{
    hf_buffer_done(&log->rest);
}
