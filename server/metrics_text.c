/* SPDX-License-Identifier: MIT */
/* What was counted as Prometheus reads it: every family once, with its help and its series
 * together. Series that are known beforehand are there from the start with 0; those of kinds,
 * routes and methods come when there is something to tell. */
#include "server/metrics_inside.h"

#include "base/error.h"

#include <dirent.h>
#include <holdfast/holdfast.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- the process: /proc on Linux, and what every Unix has ---- */

/* What is not known is 0. */
typedef struct process_look {
    uint64_t open_fds;
    uint64_t max_fds;
    uint64_t resident_bytes;
    int64_t cpu_us;
} process_look;

static uint64_t metrics_count_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count - 1; /* the folder's own */
}

static uint64_t metrics_resident_bytes(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t metrics_in_us(struct timeval time)
{
    return time.tv_sec * INT64_C(1000000) + time.tv_usec;
}

static void process_read(process_look *out)
{
    struct rlimit limit = {0};
    struct rusage usage = {0};
    *out =
        (process_look){.open_fds = metrics_count_fds(), .resident_bytes = metrics_resident_bytes()};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        out->max_fds = limit.rlim_cur;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_us = metrics_in_us(usage.ru_utime) + metrics_in_us(usage.ru_stime);
}

/* ---- families ---- */

/* clang-format off */
#define FAMILIES(X) \
    X(BUILD,       "holdfast_build_info",               "gauge",     "version",             "Always 1; the version of the program.") \
    X(OPS,         "holdfast_ops_total",                "counter",   "op, status",          "Ops answered, by kind and outcome.") \
    X(REFUSED,     "holdfast_refusals_total",           "counter",   "type",                "Acquires and saves refused because someone else holds the resource, has changed it, or is in the middle of that.") \
    X(TURNED_AWAY, "holdfast_callers_refused_total",    "counter",   "reason",              "Callers turned away: not known (401), not allowed (403), too fast or over a quota (429).") \
    X(REQUESTS,    "holdfast_http_requests_total",      "counter",   "route, method, code", "HTTP requests answered, by class of status code.") \
    X(TIMES,       "holdfast_http_request_seconds",     "histogram", "route",               "Time from a request's first byte to its answer; of a stream, to its beginning.") \
    X(CONNECTIONS, "holdfast_http_connections",         "gauge",     "",                    "Open connections.") \
    X(OPEN,        "holdfast_http_requests_in_flight",  "gauge",     "",                    "Requests not answered yet, streams among them.") \
    X(CERTIFICATE, "holdfast_tls_certificate_not_after_timestamp_seconds", "gauge", "",          "When the first of the certificates that were read expires; absent without TLS.") \
    X(INCIDENTS,   "holdfast_http_incidents_total",     "counter",   "what",                "What happened to connections: accepted, refused, too slow, left.") \
    X(BATCH_OPS,   "holdfast_batch_ops",                "histogram", "work",                "Ops that shared a batch of the store, and its sync.") \
    X(BATCH_TIME,  "holdfast_batch_seconds",            "histogram", "work",                "Time a batch took in the store; of writes, with the commit.") \
    X(ISOLATED,    "holdfast_batches_isolated_total",   "counter",   "work",                "Batches that failed as a whole, so that their jobs were run one by one.") \
    X(WAITING,     "holdfast_ops_waiting",              "gauge",     "lane",                "Ops that wait for the store.") \
    X(FULL,        "holdfast_jobs_refused_total",       "counter",   "lane",                "Jobs refused because too much waited already.") \
    X(LOCKS,       "holdfast_locks",                    "gauge",     "type",                "Locks that live, when they were last counted.") \
    X(SESSIONS,    "holdfast_sessions",                 "gauge",     "",                    "Sessions that live, when they were last counted.") \
    X(COUNTED,     "holdfast_counted_timestamp_seconds","gauge",     "",                    "When locks and sessions were last counted.") \
    X(NEWEST,      "holdfast_events_newest",            "gauge",     "",                    "Number of the newest event read for followers; absent until there was one.") \
    X(DELIVERED,   "holdfast_events_delivered",         "gauge",     "",                    "Up to this number all followers who keep up have been given every event; absent until there was one.") \
    X(LAG,         "holdfast_events_lag_seconds",       "gauge",     "",                    "How old the oldest of the events read last was when it was read.") \
    X(SILENT,      "holdfast_events_silent_seconds",    "gauge",     "",                    "How long ago the events were last read; 0 while nobody listens.") \
    X(READ_FAILS,  "holdfast_event_read_failures_total","counter",   "",                    "Reads of the events that failed.") \
    X(FOLLOWERS,   "holdfast_event_followers",          "gauge",     "",                    "Streams of events that are open.") \
    X(RESYNCS,     "holdfast_event_resyncs_total",      "counter",   "",                    "Followers that were too slow, or came back too late, and were told to begin anew.") \
    X(UP,          "holdfast_store_up",                 "gauge",     "",                    "1 while the store can be used, 0 while it is away or its disk is full.") \
    X(BROKEN,      "holdfast_store_broken",             "gauge",     "",                    "1 when a sync failed: nothing more is acknowledged until the server starts anew.") \
    X(STORE,       "holdfast_store_info",               "gauge",     "store, grade",        "Always 1; the kind of store and what an acknowledged lock survives.") \
    X(SWEEPS,      "holdfast_sweeps_total",             "counter",   "",                    "Sweeps that came to their end.") \
    X(SWEPT,       "holdfast_swept_rows_total",         "counter",   "",                    "Rows that sweeps removed or ended.") \
    X(SWEEP_FAILS, "holdfast_sweep_failures_total",     "counter",   "",                    "Turns of a sweep that failed.") \
    X(LAST_SWEEP,  "holdfast_sweep_timestamp_seconds",  "gauge",     "",                    "When a sweep last came to its end; 0: not yet.") \
    X(STARTED,     "process_start_time_seconds",        "gauge",     "",                    "When the server started.") \
    X(CPU,         "process_cpu_seconds_total",         "counter",   "",                    "Processor time of the process, user and system.") \
    X(FDS,         "process_open_fds",                  "gauge",     "",                    "Open file descriptors.") \
    X(FDS_MAX,     "process_max_fds",                   "gauge",     "",                    "How many may be open.") \
    X(RESIDENT,    "process_resident_memory_bytes",     "gauge",     "",                    "Memory of the process that is in RAM.")

enum family {
#define FAMILY_ENUM(id, name, kind, labels, help) id,
    FAMILIES(FAMILY_ENUM)
    FAMILIES_COUNT
};

const metrics_family metrics_families[] = {
#define FAMILY_ROW(id, name, kind, labels, help) {name, kind, labels, help},
    FAMILIES(FAMILY_ROW)
};
/* clang-format on */

const size_t metrics_families_count = FAMILIES_COUNT;

/* ---- one line ---- */

/* Backslash, line end and, in the value of a label, the quote are written with a backslash before
 * them. */
static void metrics_text_add_escaped(hf_buffer *out, const char *text, bool quoted)
{
    for (; *text != '\0'; text++) {
        bool escape = *text == '\\' || *text == '\n' || (quoted && *text == '"');
        char letter = *text == '\n' ? 'n' : *text;
        if (escape)
            hf_buffer_add(out, "\\", 1);
        hf_buffer_add(out, &letter, 1);
    }
}

static void metrics_text_begin(hf_buffer *out, enum family f)
{
    hf_buffer_print(out, "# HELP %s ", metrics_families[f].name);
    metrics_text_add_escaped(out, metrics_families[f].help, false);
    hf_buffer_print(out, "\n# TYPE %s %s\n", metrics_families[f].name, metrics_families[f].kind);
}

/* A label; NULL ends a list of them. */
typedef struct label {
    const char *name, *value;
} label;

#define LABELS(...) ((const label[]){__VA_ARGS__, {NULL, NULL}})

static void metrics_text_add_name(hf_buffer *out, enum family f, const char *suffix,
                                  const label *labels)
{
    hf_buffer_print(out, "%s%s", metrics_families[f].name, suffix);
    for (const label *at = labels; at != NULL && at->name != NULL; at++) {
        hf_buffer_print(out, "%s%s=\"", at == labels ? "{" : ",", at->name);
        metrics_text_add_escaped(out, at->value, true);
        hf_buffer_add(out, "\"", 1);
    }
    hf_buffer_print(out, "%s ", labels != NULL ? "}" : "");
}

static void metrics_add_count(hf_buffer *out, enum family f, const char *suffix,
                              const label *labels, uint64_t value)
{
    metrics_text_add_name(out, f, suffix, labels);
    hf_buffer_print(out, "%" PRIu64 "\n", value);
}

static void metrics_write_seconds(uint64_t us, char out[32])
{
    snprintf(out, 32, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

static void metrics_add_seconds(hf_buffer *out, enum family f, const char *suffix,
                                const label *labels, uint64_t us)
{
    char text[32];
    metrics_write_seconds(us, text);
    metrics_text_add_name(out, f, suffix, labels);
    hf_buffer_print(out, "%s\n", text);
}

/* A family of one series without labels. */
static void metrics_add_single(hf_buffer *out, enum family f, uint64_t value)
{
    metrics_text_begin(out, f);
    metrics_add_count(out, f, "", NULL, value);
}

static void metrics_add_single_time(hf_buffer *out, enum family f, int64_t us)
{
    metrics_text_begin(out, f);
    metrics_add_seconds(out, f, "", NULL, us > 0 ? (uint64_t)us : 0);
}

/* ---- ops and callers ---- */

static void metrics_add_ops(hf_buffer *out, const metrics *m)
{
    metrics_text_begin(out, OPS);
    for (unsigned kind = 0; kind < HF_OP_KINDS; kind++)
        for (unsigned status = 0; status < HF_STATUS_COUNT; status++)
            if (m->ops[kind][status] > 0 || status == HF_OK)
                metrics_add_count(out, OPS, "",
                                  LABELS({"op", hf_op_kind_name((hf_op_kind)kind)},
                                         {"status", hf_status_wire((hf_status)status)}),
                                  m->ops[kind][status]);
}

static void metrics_add_refusals(hf_buffer *out, const metrics *m)
{
    metrics_text_begin(out, REFUSED);
    for (size_t i = 0; i < m->types_count; i++)
        metrics_add_count(out, REFUSED, "", LABELS({"type", m->types[i].name}),
                          m->types[i].refused);
    metrics_add_count(out, REFUSED, "", LABELS({"type", METRICS_OTHER}), m->other.refused);
    metrics_text_begin(out, TURNED_AWAY);
    for (unsigned i = 0; i < METRICS_REFUSALS; i++)
        metrics_add_count(out, TURNED_AWAY, "", LABELS({"reason", metrics_refusals[i]}),
                          m->refused[i]);
}

/* ---- HTTP ---- */

static void metrics_add_answers(hf_buffer *out, const route_counts *route)
{
    static const char *const classes[CLASSES] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    for (unsigned i = 0; i < METHODS; i++)
        for (unsigned j = 0; j < CLASSES; j++)
            if (route->answers[i][j] > 0)
                metrics_add_count(out, REQUESTS, "",
                                  LABELS({"route", route->name}, {"method", metrics_methods[i]},
                                         {"code", classes[j]}),
                                  route->answers[i][j]);
}

static void metrics_add_times(hf_buffer *out, const route_counts *route)
{
    uint64_t below = 0;
    for (unsigned i = 0; i < METRICS_TIMES; i++) {
        char bound[32];
        snprintf(bound, sizeof bound, "%g", (double)metrics_times_us[i] / 1e6);
        below += route->times[i];
        metrics_add_count(out, TIMES, "_bucket", LABELS({"route", route->name}, {"le", bound}),
                          below);
    }
    metrics_add_count(out, TIMES, "_bucket", LABELS({"route", route->name}, {"le", "+Inf"}),
                      route->count);
    metrics_add_seconds(out, TIMES, "_sum", LABELS({"route", route->name}), route->sum_us);
    metrics_add_count(out, TIMES, "_count", LABELS({"route", route->name}), route->count);
}

static void metrics_add_http(hf_buffer *out, const metrics *m, const metrics_look *look)
{
    metrics_text_begin(out, REQUESTS);
    for (size_t i = 0; i <= m->routes_count; i++)
        metrics_add_answers(out, &m->routes[i]);
    metrics_text_begin(out, TIMES);
    for (size_t i = 0; i <= m->routes_count; i++)
        if (m->routes[i].count > 0)
            metrics_add_times(out, &m->routes[i]);
    metrics_add_single(out, CONNECTIONS, look->connections);
    metrics_add_single(out, OPEN, look->requests);
    if (look->certificate_ends_us != 0)
        metrics_add_single_time(out, CERTIFICATE, look->certificate_ends_us);
    metrics_text_begin(out, INCIDENTS);
    for (size_t i = 0; i < m->incidents_count; i++)
        metrics_add_count(out, INCIDENTS, "", LABELS({"what", m->incidents[i].what}),
                          m->incidents[i].count);
    metrics_add_count(out, INCIDENTS, "", LABELS({"what", METRICS_OTHER}), m->incidents_other);
}

/* ---- the committer ---- */

/* Its buckets are powers of two; of the times those are told that matter, 16 us to 17 s. */
enum { TIMES_FIRST = 3, TIMES_LAST = 23 };

static void metrics_add_sizes(hf_buffer *out, const char *work, const committer_counts *counts)
{
    uint64_t below = 0;
    for (unsigned i = 0; i + 1 < COMMITTER_SIZES; i++) {
        char bound[32];
        snprintf(bound, sizeof bound, "%u", (2U << i) - 1);
        below += counts->sizes[i];
        metrics_add_count(out, BATCH_OPS, "_bucket", LABELS({"work", work}, {"le", bound}), below);
    }
    metrics_add_count(out, BATCH_OPS, "_bucket", LABELS({"work", work}, {"le", "+Inf"}),
                      counts->batches);
    metrics_add_count(out, BATCH_OPS, "_sum", LABELS({"work", work}), counts->ops);
    metrics_add_count(out, BATCH_OPS, "_count", LABELS({"work", work}), counts->batches);
}

static void metrics_add_durations(hf_buffer *out, const char *work, const committer_counts *counts)
{
    uint64_t below = 0;
    for (unsigned i = 0; i <= TIMES_LAST; i++) {
        char bound[32];
        metrics_write_seconds(UINT64_C(2) << i, bound);
        below += counts->times[i];
        if (i >= TIMES_FIRST)
            metrics_add_count(out, BATCH_TIME, "_bucket", LABELS({"work", work}, {"le", bound}),
                              below);
    }
    metrics_add_count(out, BATCH_TIME, "_bucket", LABELS({"work", work}, {"le", "+Inf"}),
                      counts->batches);
    metrics_add_seconds(out, BATCH_TIME, "_sum", LABELS({"work", work}), counts->busy_us);
    metrics_add_count(out, BATCH_TIME, "_count", LABELS({"work", work}), counts->batches);
}

static void metrics_add_committer(hf_buffer *out, const committer_stats *stats)
{
    static const char *const lanes[COMMITTER_LANES] = {"reserve", "ordinary", "looks", "reads"};
    metrics_text_begin(out, BATCH_OPS);
    metrics_add_sizes(out, "write", &stats->writes);
    metrics_add_sizes(out, "read", &stats->reads);
    metrics_text_begin(out, BATCH_TIME);
    metrics_add_durations(out, "write", &stats->writes);
    metrics_add_durations(out, "read", &stats->reads);
    metrics_text_begin(out, ISOLATED);
    metrics_add_count(out, ISOLATED, "", LABELS({"work", "write"}), stats->writes.isolated);
    metrics_add_count(out, ISOLATED, "", LABELS({"work", "read"}), stats->reads.isolated);
    metrics_text_begin(out, WAITING);
    for (unsigned i = 0; i < COMMITTER_LANES; i++)
        metrics_add_count(out, WAITING, "", LABELS({"lane", lanes[i]}), stats->waiting[i]);
    metrics_text_begin(out, FULL);
    for (unsigned i = 0; i < COMMITTER_LANES; i++)
        metrics_add_count(out, FULL, "", LABELS({"lane", lanes[i]}), stats->refused[i]);
}

/* ---- what lives, events, the store ---- */

static void metrics_add_census(hf_buffer *out, const metrics *m)
{
    if (!m->has_census)
        return;
    metrics_text_begin(out, LOCKS);
    for (size_t i = 0; i < m->types_count; i++)
        if (m->types[i].counted)
            metrics_add_count(out, LOCKS, "", LABELS({"type", m->types[i].name}),
                              m->types[i].locks);
    metrics_add_count(out, LOCKS, "", LABELS({"type", METRICS_OTHER}), m->other.locks);
    metrics_add_single(out, SESSIONS, m->total_sessions);
    metrics_add_single_time(out, COUNTED, m->census_at_us);
}

static void metrics_text_add_events(hf_buffer *out, const metrics_look *look)
{
    if (look->events_newest >= 0)
        metrics_add_single(out, NEWEST, (uint64_t)look->events_newest);
    if (look->events_delivered >= 0)
        metrics_add_single(out, DELIVERED, (uint64_t)look->events_delivered);
    metrics_add_single_time(out, LAG, look->events_lag_us);
    metrics_add_single_time(out, SILENT, look->events_silent_us);
    metrics_add_single(out, READ_FAILS, look->events_failures);
    metrics_add_single(out, FOLLOWERS, look->followers);
    metrics_add_single(out, RESYNCS, look->resyncs);
}

static void metrics_add_store(hf_buffer *out, const metrics *m, const metrics_look *look)
{
    metrics_add_single(out, UP, look->up && !look->grade.broken);
    metrics_add_single(out, BROKEN, look->grade.broken);
    metrics_text_begin(out, STORE);
    metrics_add_count(
        out, STORE, "",
        LABELS({"store", m->store}, {"grade", hf_grade_level_name(look->grade.level)}), 1);
    metrics_add_single(out, SWEEPS, look->sweeper.sweeps);
    metrics_add_single(out, SWEPT, look->sweeper.rows);
    metrics_add_single(out, SWEEP_FAILS, look->sweeper.failures);
    metrics_add_single_time(out, LAST_SWEEP, look->sweeper.last_us);
}

static void metrics_add_process(hf_buffer *out, const metrics *m)
{
    process_look look;
    process_read(&look);
    metrics_add_single_time(out, STARTED, m->started_us);
    metrics_add_single_time(out, CPU, look.cpu_us);
    metrics_add_single(out, FDS, look.open_fds);
    metrics_add_single(out, FDS_MAX, look.max_fds);
    metrics_add_single(out, RESIDENT, look.resident_bytes);
}

hf_status metrics_write(metrics *m, const metrics_look *look, hf_buffer *out, hf_error *err)
{
    metrics_text_begin(out, BUILD);
    metrics_add_count(out, BUILD, "", LABELS({"version", hf_library_version()}), 1);
    metrics_add_ops(out, m);
    metrics_add_refusals(out, m);
    metrics_add_http(out, m, look);
    metrics_add_committer(out, &look->committer);
    metrics_add_census(out, m);
    metrics_text_add_events(out, look);
    metrics_add_store(out, m, look);
    metrics_add_process(out, m);
    return out->failed ? hf_fail_memory(err) : HF_OK;
}
