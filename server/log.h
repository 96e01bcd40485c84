/* SPDX-License-Identifier: MIT */
/* What the server says about itself, to stderr: a line each, as text or JSON. Any thread; needs no
 * memory; a reader that takes nothing holds nobody up: then lines are dropped and counted, and the
 * count is told as soon as there is room again. For journald a line begins with its level, <6>, and
 * has no time. */
#ifndef HF_SERVER_LOG_H
#define HF_SERVER_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the setting log-level counts them. */
typedef enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
} log_level;

typedef struct log_sink {
    int fd;
    log_level least; /* what is below is not logged */
    bool json;
    bool journal; /* journald reads it */
    bool socket;

    /* Private. */
    pthread_mutex_t mutex;
    uint64_t dropped; /* since the start */
    uint64_t untold;  /* of these, not told of yet */
    bool stuck;       /* the last line was dropped */
    bool broken_off;  /* the last line was written in part */
} log_sink;

/* A named value beside the sentence. */
typedef struct log_field {
    const char *key; /* NULL ends them */
    const char *text;
    int64_t number; /* when text is NULL */
} log_field;

static inline const char *log_some(const char *text)
{
    return text != NULL ? text : "";
}

/* clang-format off */
#define LOG_TEXT(key, value) {(key), log_some(value), 0}
#define LOG_NUMBER(key, value) {(key), NULL, (value)}
/* clang-format on */

enum { LOG_LINE_MAX = 4096 }; /* a pipe takes it in one piece; longer values are cut */

/* fd stays the caller's. journal_stream: the variable JOURNAL_STREAM, or NULL. */
void log_init(log_sink *to, int fd, bool json, log_level least, const char *journal_stream);
void log_done(log_sink *to);

static inline bool log_wants(const log_sink *to, log_level level)
{
    return level <= to->least;
}

/* log_line(to, LOG_LEVEL_INFO, "Listening.", LOG_TEXT("address", name), LOG_NUMBER("connections",
 * 3)): the fields after the sentence may be none. No value may be a secret. */
#define log_line(to, level, sentence, ...)                                                         \
    log_write((to), (level), (sentence),                                                           \
              (const log_field[]){__VA_ARGS__ __VA_OPT__(, ){NULL, NULL, 0}})
void log_write(log_sink *to, log_level level, const char *sentence, const log_field *fields);

uint64_t log_dropped(log_sink *to);

#endif
