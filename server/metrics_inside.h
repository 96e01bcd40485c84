/* SPDX-License-Identifier: MIT */
/* What metrics.c counts and metrics_text.c writes out. For these two alone. */
#ifndef HF_SERVER_METRICS_INSIDE_H
#define HF_SERVER_METRICS_INSIDE_H

#include "server/metrics.h"

enum {
    METHODS = 8, /* as metrics_methods has them; the last is "other" */
    CLASSES = 5, /* 1xx to 5xx */
};

extern const char *const metrics_methods[METHODS];
extern const char *const metrics_refusals[METRICS_REFUSALS];
extern const int64_t metrics_times_us[METRICS_TIMES]; /* upper bounds */

typedef struct route_counts {
    const char *name;
    uint64_t answers[METHODS][CLASSES];
    uint64_t times[METRICS_TIMES + 1]; /* the last is for those beyond every bound */
    uint64_t count;
    uint64_t sum_us;
} route_counts;

typedef struct type_counts {
    char name[HF_TYPE_SIZE];
    uint64_t refused;
    uint64_t locks;
    bool counted; /* by the last count: `locks` is true */
} type_counts;

typedef struct incident_counts {
    const char *what;
    uint64_t count;
} incident_counts;

struct metrics {
    char store[32];
    int64_t started_us;
    uint64_t ops[HF_OP_KINDS][HF_STATUS_COUNT];
    uint64_t refused[METRICS_REFUSALS];
    incident_counts incidents[METRICS_INCIDENTS_MAX];
    size_t incidents_count;
    uint64_t incidents_other;
    type_counts types[METRICS_TYPES_MAX];
    size_t types_count;
    type_counts other; /* types without a label; its name is not used */
    bool has_census;
    uint64_t total_sessions;
    int64_t census_at_us;
    size_t routes_count; /* without the unknown one, which stands behind them */
    route_counts routes[];
};

#endif
