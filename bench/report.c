/* SPDX-License-Identifier: MIT */
/* What a person reads (one aligned line a figure, as soon as it is known) and what a program reads
 * (JSON with every round). */
#include "bench.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

bool bench_reached(const bench_figure *figure)
{
    double ratio = bench_median(&figure->ratio);
    double ours = bench_median(&figure->ours);
    switch (figure->judge) {
    case BENCH_RATIO_AT_LEAST:
        return ratio >= figure->target;
    case BENCH_RATIO_AT_MOST:
        return ratio <= figure->target;
    case BENCH_OURS_AT_LEAST:
        return ours >= figure->target;
    case BENCH_OURS_AT_MOST:
        return ours <= figure->target;
    case BENCH_PRINT_ONLY:
        break;
    }
    return true;
}

static const char *verdict(const bench_figure *figure)
{
    if (figure->judge == BENCH_PRINT_ONLY)
        return "";
    return bench_reached(figure) ? "ok" : "below";
}

/* 1234567 as "1,234,567"; small figures with what digits they need. */
static void format_value(double value, char *out, size_t size)
{
    if (value < 1000) {
        snprintf(out, size, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
        return;
    }
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%.0f", value);
    size_t used = 0;
    for (int i = 0; i < count && used + 2 < size; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

static void format_target(const bench_figure *figure, char *out, size_t size)
{
    char value[32];
    format_value(figure->target, value, sizeof value);
    switch (figure->judge) {
    case BENCH_RATIO_AT_LEAST:
        snprintf(out, size, ">= %s", value);
        break;
    case BENCH_RATIO_AT_MOST:
        snprintf(out, size, "<= %s", value);
        break;
    case BENCH_OURS_AT_LEAST:
        snprintf(out, size, "ours >= %s", value);
        break;
    case BENCH_OURS_AT_MOST:
        snprintf(out, size, "ours <= %s", value);
        break;
    case BENCH_PRINT_ONLY:
        snprintf(out, size, "-");
        break;
    }
}

void bench_print_head(const bench *b)
{
    struct utsname host;
    bool known = uname(&host) == 0;
    printf("hf-bench: SQLite %s, %ld cores, %s, files on %s%s\n", sqlite3_libversion(),
           sysconf(_SC_NPROCESSORS_ONLN), known ? host.machine : "?", b->fs_kind,
           b->quick ? ", quick (a smoke run: read no figure off it)" : "");
    printf("%.3g seconds a comparison, the median of %zu rounds side by side (least and greatest "
           "beside it)\n\n",
           b->seconds, b->rounds);
    printf("%-31s %-9s %12s %12s  %6s %-13s  %-17s %-5s  %s\n", "figure", "unit", "ours",
           "baseline", "ratio", "", "target", "", "the baseline");
}

void bench_report(bench *b, const bench_figure *figure, const bench_series *ours,
                  const bench_series *baseline)
{
    if (b->figures_count == BENCH_FIGURES_MAX || bench_stopped())
        return;
    bench_figure *kept = &b->figures[b->figures_count++];
    *kept = *figure;
    kept->ours = *ours;
    char us[32];
    char them[32] = "-";
    char ratio[16] = "-";
    char spread[32] = "";
    char target[48];
    if (baseline != NULL) {
        kept->baseline = *baseline;
        kept->ratio.count = ours->count;
        for (size_t i = 0; i < ours->count; i++)
            kept->ratio.value[i] = ours->value[i] / baseline->value[i];
        format_value(bench_median(baseline), them, sizeof them);
        snprintf(ratio, sizeof ratio, "%.2f", bench_median(&kept->ratio));
        snprintf(spread, sizeof spread, "%.2f-%.2f", bench_min(&kept->ratio),
                 bench_max(&kept->ratio));
    }
    format_value(bench_median(ours), us, sizeof us);
    format_target(kept, target, sizeof target);
    printf("%-31s %-9s %12s %12s  %6s %-13s  %-17s %-5s  %s\n", kept->name, kept->unit, us, them,
           ratio, spread, target, verdict(kept), kept->against);
    fflush(stdout);
}

static void json_series(FILE *out, const char *name, const bench_series *series)
{
    fprintf(out, ", \"%s\": {\"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"rounds\": [", name,
            bench_median(series), bench_min(series), bench_max(series));
    for (size_t i = 0; i < series->count; i++)
        fprintf(out, "%s%.6g", i > 0 ? ", " : "",
                isfinite(series->value[i]) ? series->value[i] : 0);
    fprintf(out, "]}");
}

static void json_figure(FILE *out, const bench_figure *figure)
{
    char target[48];
    format_target(figure, target, sizeof target);
    fprintf(out, "    {\"name\": \"%s\", \"unit\": \"%s\", \"against\": \"%s\"", figure->name,
            figure->unit, figure->against);
    if (figure->judge != BENCH_PRINT_ONLY)
        fprintf(out, ", \"target\": \"%s\", \"ok\": %s", target,
                bench_reached(figure) ? "true" : "false");
    json_series(out, "ours", &figure->ours);
    if (figure->ratio.count > 0) {
        json_series(out, "baseline", &figure->baseline);
        json_series(out, "ratio", &figure->ratio);
    }
    fprintf(out, "}");
}

bool bench_write_json(const bench *b, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    fprintf(out,
            "{\n  \"sqlite\": \"%s\", \"cores\": %ld, \"filesystem\": \"%s\", \"quick\": %s,\n",
            sqlite3_libversion(), sysconf(_SC_NPROCESSORS_ONLN), b->fs_kind,
            b->quick ? "true" : "false");
    fprintf(out, "  \"seconds\": %.6g, \"rounds\": %zu,\n  \"figures\": [\n", b->seconds,
            b->rounds);
    for (size_t i = 0; i < b->figures_count; i++) {
        json_figure(out, &b->figures[i]);
        fprintf(out, "%s\n", i + 1 < b->figures_count ? "," : "");
    }
    fprintf(out, "  ]\n}\n");
    bool written = !ferror(out);
    return fclose(out) == 0 && written;
}
