/* SPDX-License-Identifier: MIT */
/* Reading a web server's access log (common and combined format, as nginx and Apache write it),
 * line by line, into edits. */
#ifndef HF_ADVISE_ACCESS_LOG_H
#define HF_ADVISE_ACCESS_LOG_H

#include "advise/replay.h"
#include "base/buffer.h"

#include <holdfast/status.h>

#define ADVISE_PATTERNS_MAX 8
#define ADVISE_PATTERN_SIZE 256

/* "METHOD PATH": {id} stands for what names the record, * for anything; neither goes beyond a
 * '/'. A query string is passed over unless the pattern has a '?': then {id} ends at a '&'. */
typedef struct advise_pattern {
    char method[16]; /* "*": any */
    char path[ADVISE_PATTERN_SIZE];
    bool query;
} advise_pattern;

/* HF_INVALID (with `option` in the sentence): no method, no {id}, or two. */
hf_status advise_pattern_parse(const char *option, const char *text, advise_pattern *out,
                               hf_error *err);

/* Does a request match? *id is a part of `target`. */
bool advise_pattern_matches(const advise_pattern *pattern, hf_slice method, hf_slice target,
                            hf_slice *id);

/* The caller sets the patterns and `edits`; the rest zero. advise_log_done frees what it holds
 * itself. */
typedef struct advise_log {
    advise_pattern open[ADVISE_PATTERNS_MAX], save[ADVISE_PATTERNS_MAX];
    size_t open_count, save_count;
    advise_edits *edits;
    double lines, skipped; /* skipped: not in the format */
    double opened, saved;  /* lines that matched, and were answered well (below 400) */
    hf_buffer rest;        /* of a line whose end has not come yet */
    char time_text[32];    /* the last one read, and what it came to */
    int64_t time;
    bool cut; /* the line is too long, and passed over up to its end */
} advise_log;

/* Takes in the next bytes of the log. Fails as advise_edits_open does, and HF_INVALID for a
 * compressed log. */
hf_status advise_log_feed(advise_log *log, const char *bytes, size_t size, hf_error *err);

/* After the last bytes: the line that had no end. HF_NOT_FOUND says what was not found: lines in
 * the format, openings, saves. */
hf_status advise_log_end(advise_log *log, hf_error *err);

void advise_log_done(advise_log *log);

#endif
