/* SPDX-License-Identifier: MIT */
/* Lines of the log. A line is put together on the stack, then written in one piece, if there is
 * room for it. */
#include "server/log.h"

#include "base/seams.h"
#include "base/text.h"
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 50, /* for a reader that is slow, once; one that is stuck gets none */
    ENDING = 8,       /* kept free for what closes a line */
    LEAST = 16,       /* a value with less room is left out */
};

static const struct {
    const char *name;
    int priority; /* of syslog */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

/* ---- a line ---- */

typedef struct line {
    char text[LOG_LINE_MAX];
    size_t used;
    bool json;
} line;

static void log_add(line *l, const char *bytes, size_t size)
{
    if (size <= sizeof l->text - l->used) {
        memcpy(l->text + l->used, bytes, size);
        l->used += size;
    }
}

static void log_add_text(line *l, const char *text)
{
    log_add(l, text, strlen(text));
}

static size_t log_room(const line *l)
{
    return l->used + ENDING < sizeof l->text ? sizeof l->text - ENDING - l->used : 0;
}

/* The next character as it may stand in a line: itself, or its escape. How many bytes of the text
 * it was. */
static size_t log_next_character(const char *text, char out[8])
{
    uint32_t value = 0;
    size_t size = hf_utf8_decode(text, strlen(text), &value);
    if (size == 0)
        snprintf(out, 8, "\\u%04x", 0xfffdu); /* not UTF-8: the replacement character */
    else if (*text == '"' || *text == '\\')
        snprintf(out, 8, "\\%c", *text);
    else if (*text == '\n')
        snprintf(out, 8, "\\n");
    else if (hf_character_misleads(value))
        snprintf(out, 8, "\\u%04x", (unsigned)value);
    else
        snprintf(out, 8, "%.*s", (int)size, text);
    return size == 0 ? 1 : size;
}

/* As much of it as there is room for. A plain sentence keeps its quotes. */
static void log_add_escaped(line *l, const char *text, bool sentence)
{
    char character[8];
    while (*text != '\0') {
        size_t size = log_next_character(text, character);
        if (sentence && (*text == '"' || *text == '\\'))
            snprintf(character, sizeof character, "%c", *text);
        if (strlen(character) + 3 > log_room(l)) {
            log_add_text(l, "...");
            return;
        }
        log_add_text(l, character);
        text += size;
    }
}

static void log_add_quoted(line *l, const char *text)
{
    log_add_text(l, "\"");
    log_add_escaped(l, text, false);
    log_add_text(l, "\"");
}

static bool log_needs_quotes(const char *text)
{
    return text[0] == '\0' || strpbrk(text, " =\"\\") != NULL ||
           !hf_text_is_clean(text, strlen(text));
}

static void log_add_field(line *l, const log_field *field)
{
    char number[24];
    if (log_room(l) < strlen(field->key) + LEAST + sizeof number)
        return;
    snprintf(number, sizeof number, "%" PRId64, field->number);
    if (l->json) {
        log_add_text(l, ",");
        log_add_quoted(l, field->key);
        log_add_text(l, ":");
    } else {
        log_add_text(l, " ");
        log_add_text(l, field->key);
        log_add_text(l, "=");
    }
    if (field->text == NULL)
        log_add_text(l, number);
    else if (l->json || log_needs_quotes(field->text))
        log_add_quoted(l, field->text);
    else
        log_add_escaped(l, field->text, false);
}

static void log_begin(line *l, const log_sink *to, log_level level)
{
    char prefix[HF_TIME_TEXT + 32], time[HF_TIME_TEXT];
    hf_time_write(hf_seam.wall_us(), time);
    if (to->journal)
        snprintf(prefix, sizeof prefix, "<%d>%s", levels[level].priority, to->json ? "{" : "");
    else if (to->json)
        snprintf(prefix, sizeof prefix, "{\"time\":\"%s\",", time);
    else
        snprintf(prefix, sizeof prefix, "%s %s: ", time, levels[level].name);
    log_add_text(l, prefix);
}

static void log_make(line *l, const log_sink *to, log_level level, const char *sentence,
                     const log_field *fields)
{
    l->used = 0;
    l->json = to->json;
    log_begin(l, to, level);
    if (l->json) {
        log_add_text(l, "\"level\":");
        log_add_quoted(l, levels[level].name);
        log_add_text(l, ",\"message\":");
        log_add_quoted(l, sentence);
    } else {
        log_add_escaped(l, sentence, true);
    }
    for (; fields->key != NULL; fields++)
        log_add_field(l, fields);
    log_add_text(l, l->json ? "}\n" : "\n");
}

/* ---- writing it ---- */

static bool log_has_room(log_sink *to)
{
    struct pollfd one = {.fd = to->fd, .events = POLLOUT};
    int ready;
    do
        ready = poll(&one, 1, to->stuck ? 0 : PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && (one.revents & POLLOUT);
}

/* False: nothing was written. What was begun on a socket and could not be ended is left; the next
 * line begins on a line of its own. */
static bool log_write_bytes(log_sink *to, const char *bytes, size_t size)
{
    ssize_t done;
    if (!log_has_room(to))
        return false;
    do
        done = to->socket ? send(to->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : write(to->fd, bytes, size);
    while (done < 0 && errno == EINTR);
    if (done > 0)
        to->broken_off = (size_t)done < size;
    return done > 0;
}

static bool log_tell_dropped(log_sink *to)
{
    line l;
    uint64_t count = to->untold;
    log_make(&l, to, LOG_LEVEL_WARNING,
             "Lines of this log were dropped, because nobody read them in time.",
             (const log_field[]){LOG_NUMBER("lines", (int64_t)count), {NULL, NULL, 0}});
    if (!log_write_bytes(to, l.text, l.used))
        return false;
    to->untold = 0;
    return true;
}

void log_write(log_sink *to, log_level level, const char *sentence, const log_field *fields)
{
    line l;
    if (!log_wants(to, level))
        return;
    log_make(&l, to, level, sentence, fields);
    pthread_mutex_lock(&to->mutex);
    bool ready = !to->broken_off || log_write_bytes(to, "\n", 1);
    if (ready && to->untold > 0)
        ready = log_tell_dropped(to);
    to->stuck = !ready || !log_write_bytes(to, l.text, l.used);
    to->dropped += to->stuck;
    to->untold += to->stuck;
    pthread_mutex_unlock(&to->mutex);
}

/* ---- beginning and end ---- */

/* JOURNAL_STREAM is "DEVICE:INODE" of what journald reads; it may be inherited by a program whose
 * stderr leads elsewhere. */
static bool log_is_journal(const struct stat *file, const char *stream)
{
    char own[48];
    snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)file->st_dev, (uintmax_t)file->st_ino);
    return stream != NULL && strcmp(stream, own) == 0;
}

void log_init(log_sink *to, int fd, bool json, log_level least, const char *journal_stream)
{
    struct stat file = {0};
    bool known = fstat(fd, &file) == 0;
    *to = (log_sink){.fd = fd, .json = json, .least = least};
    to->journal = known && log_is_journal(&file, journal_stream);
    to->socket = known && S_ISSOCK(file.st_mode);
    pthread_mutex_init(&to->mutex, NULL);
}

void log_done(log_sink *to)
{
    pthread_mutex_destroy(&to->mutex);
}

uint64_t log_dropped(log_sink *to)
{
    pthread_mutex_lock(&to->mutex);
    uint64_t dropped = to->dropped;
    pthread_mutex_unlock(&to->mutex);
    return dropped;
}
