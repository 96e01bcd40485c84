/* SPDX-License-Identifier: MIT */
/* Reading metrics line by line, as far as top needs them: NAME{LABELS} VALUE. What is not known is
 * passed over, so a newer server may tell more. */
#include "cli/top_server.h"

#include <stdlib.h>
#include <string.h>

/* A line, without its end. */
typedef struct sample {
    const char *text;
    size_t name;   /* bytes of the name */
    size_t labels; /* bytes of what follows it, up to the value */
    double value;
} sample;

static bool read_sample(const char *line, size_t size, sample *out)
{
    const char *space = memrchr(line, ' ', size);
    if (size == 0 || line[0] == '#' || space == NULL)
        return false;
    size_t before = (size_t)(space - line);
    const char *brace = memchr(line, '{', before);
    *out =
        (sample){line, brace == NULL ? before : (size_t)(brace - line), 0, strtod(space + 1, NULL)};
    out->labels = before - out->name;
    return true;
}

static bool top_server_is(const sample *s, const char *name)
{
    return s->name == strlen(name) && memcmp(s->text, name, s->name) == 0;
}

static bool top_server_has(const sample *s, const char *label)
{
    return memmem(s->text + s->name, s->labels, label, strlen(label)) != NULL;
}

static void add_bucket(top_told *out, const sample *s)
{
    const char *bound = memmem(s->text + s->name, s->labels, "le=\"", 4);
    if (bound == NULL || bound[4] == '+' || out->buckets == TOP_BUCKETS_MAX)
        return;
    out->bounds[out->buckets] = strtod(bound + 4, NULL);
    out->below[out->buckets++] = s->value;
}

static void top_server_take(top_told *out, const sample *s)
{
    const struct {
        const char *name;
        const char *label; /* that it has; NULL: any */
        double *sum;
    } wanted[] = {
        {"holdfast_http_requests_total", NULL, &out->requests},
        {"holdfast_http_connections", NULL, &out->connections},
        {"holdfast_event_followers", NULL, &out->followers},
        {"holdfast_events_lag_seconds", NULL, &out->lag_seconds},
        {"holdfast_ops_waiting", NULL, &out->waiting},
        {"holdfast_batch_ops_count", "work=\"write\"", &out->batches},
        {"holdfast_batch_ops_sum", "work=\"write\"", &out->ops},
        {"process_start_time_seconds", NULL, &out->started},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (top_server_is(s, wanted[i].name) &&
            (wanted[i].label == NULL || top_server_has(s, wanted[i].label)))
            *wanted[i].sum += s->value;
    if (top_server_is(s, "holdfast_batch_seconds_bucket") && top_server_has(s, "work=\"write\""))
        add_bucket(out, s);
}

void top_told_read(const char *text, top_told *out)
{
    memset(out, 0, sizeof *out);
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        sample s;
        if (read_sample(text, size, &s))
            top_server_take(out, &s);
        text += size + (text[size] == '\n');
    }
}

/* The time below which that share of the batches was, as Prometheus estimates it: evenly spread
 * within a bucket. */
static double top_server_quantile(const top_told *before, const top_told *now, double share)
{
    double wanted = share * (now->batches - before->batches), least = 0, count = 0;
    if (wanted <= 0)
        return 0;
    for (size_t i = 0; i < now->buckets; i++) {
        double below = now->below[i] - (i < before->buckets ? before->below[i] : 0);
        if (below >= wanted && below > count)
            return least + (now->bounds[i] - least) * (wanted - count) / (below - count);
        count = below;
        least = now->bounds[i];
    }
    return least; /* beyond every bound */
}

void top_server_judge(const top_told *before, const top_told *now, double passed_seconds,
                      top_server *out)
{
    static const top_told nothing;
    bool fresh =
        before == NULL || before->started < now->started || before->requests > now->requests;
    const top_told *from = fresh ? &nothing : before;
    double batches = now->batches - from->batches;
    *out = (top_server){
        .known = true,
        .requests_per_second =
            fresh || passed_seconds <= 0 ? -1 : (now->requests - from->requests) / passed_seconds,
        .connections = now->connections,
        .followers = now->followers,
        .lag_seconds = now->lag_seconds,
        .waiting = now->waiting,
        .batch_ops = batches > 0 ? (now->ops - from->ops) / batches : 0,
        .commit_median = top_server_quantile(from, now, 0.5),
        .commit_99th = top_server_quantile(from, now, 0.99),
    };
}
