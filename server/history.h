/* SPDX-License-Identifier: MIT */
/* What the dashboard plots: how many locks and sessions there were, and how much was granted,
 * refused, asked for and saved, over the last hour and the last day. A sample every few seconds
 * and one a minute, in memory, within bounds; a server that starts anew begins anew. Counts are
 * of this server; locks and sessions are the store's. Runs on the loop. */
#ifndef HF_SERVER_HISTORY_H
#define HF_SERVER_HISTORY_H

#include "base/buffer.h"
#include "server/live_counts.h"
#include "server/metrics.h"

typedef struct history history;

typedef enum history_span { HISTORY_HOUR, HISTORY_DAY, HISTORY_SPANS } history_span;

typedef struct history_settings {
    struct event_base *base;
    metrics *metrics;
    live_counts *live_counts; /* asked for a count once a minute, whoever looks */
    int64_t interval_us;      /* 0: HISTORY_INTERVAL_US */
} history_settings;

#define HISTORY_INTERVAL_US INT64_C(5000000)

enum { HISTORY_PER_MINUTE = 12, HISTORY_SAMPLES = 1440 };

hf_status history_new(const history_settings *settings, history **out, hf_error *err);
void history_stop(history *h);
/* Accepts NULL. */
void history_free(history *h);

/* Adds JSON: columns of equal length, the oldest first. */
void history_write(const history *h, history_span span, hf_buffer *out);

#endif
