/* SPDX-License-Identifier: MIT */
/* The report for people. */
#include "audit/report.h"
#include "audit/suppress.h"
#include "base/text.h"

#include <stdio.h>

typedef struct text_report {
    const audit_run *run;
    hf_buffer *out;
    bool color;
    uint32_t line; /* of the finding whose frame is drawn */
} text_report;

static const char *report_paint(const text_report *report, const char *code)
{
    return report->color ? code : "";
}

#define REPORT_BOLD  "\033[1m"
#define REPORT_RED   "\033[31m"
#define REPORT_AMBER "\033[33m"
#define REPORT_DIM   "\033[2m"
#define REPORT_PLAIN "\033[0m"

/* Names and statements come from someone's code: what could move the cursor is shown. */
static void report_add(const text_report *report, const char *text)
{
    char odd[HF_ODD_SIZE];
    while (*text != '\0') {
        size_t size = hf_text_step(text);
        if (*text == '\n' || *text == '\t')
            hf_buffer_add(report->out, " ", 1);
        else if (hf_text_odd(text, odd) > 0)
            hf_buffer_text(report->out, odd);
        else
            hf_buffer_add(report->out, text, size);
        text += size;
    }
}

static void report_frame_line(void *context, uint32_t number, hf_slice line)
{
    text_report *report = context;
    char text[161];
    bool here = number == report->line;
    size_t shown = line.size < sizeof text ? line.size : sizeof text - 1;
    hf_buffer_print(report->out, "  %s%s%5u | ",
                    report_paint(report, here ? REPORT_BOLD : REPORT_DIM), here ? ">" : " ",
                    number);
    snprintf(text, sizeof text, "%.*s", (int)shown, line.at);
    report_add(report, text);
    hf_buffer_print(report->out, "%s%s\n", line.size > shown ? " ..." : "",
                    report_paint(report, REPORT_PLAIN));
}

static void report_place(const text_report *report, audit_place place)
{
    const audit_run *run = report->run;
    if (place.file < run->files.count) {
        report_add(report, run->files.items[place.file].path);
        hf_buffer_print(report->out, ":%u", place.line);
    } else {
        report_add(report, run->database != NULL ? run->database : "the database");
    }
}

static void report_finding(text_report *report, const audit_finding *finding)
{
    const char *color = finding->severity == AUDIT_HIGH ? REPORT_RED : REPORT_AMBER;
    hf_buffer_print(report->out, "%s", report_paint(report, REPORT_BOLD));
    report_place(report, finding->place);
    hf_buffer_print(report->out, "%s: %s%s%s: ", report_paint(report, REPORT_PLAIN),
                    report_paint(report, color), audit_level_name(finding->severity),
                    report_paint(report, REPORT_PLAIN));
    report_add(report, finding->text);
    hf_buffer_print(report->out, " [%s]\n", finding->rule->name);
    if (finding->confidence < AUDIT_HIGH)
        hf_buffer_print(report->out, "  (confidence: %s)\n", audit_level_name(finding->confidence));
    report->line = finding->place.line;
    audit_lines(report->run, finding->place, 1, 2, report_frame_line, report);
    if (finding->statement != NULL) {
        hf_buffer_text(report->out, "  ");
        report_add(report, finding->statement);
        hf_buffer_text(report->out, "\n");
    }
    if (finding->declared.line > 0) {
        hf_buffer_print(report->out, "  declared in ");
        report_place(report, finding->declared);
        hf_buffer_print(report->out, "\n");
    }
}

static void report_advice(const text_report *report, const audit_rule *rule)
{
    hf_buffer_print(report->out,
                    "  Why it matters: %s\n  With holdfast:  %s\n  Without:        %s\n\n",
                    rule->why, rule->holdfast, rule->without);
}

static bool report_is_new(const audit_finding *finding)
{
    return finding->reason == NULL && !finding->known;
}

size_t audit_report_count(const audit_run *run, audit_level least)
{
    size_t count = 0;
    for (size_t i = 0; i < run->findings_count; i++)
        count += report_is_new(&run->findings[i]) && run->findings[i].severity >= least;
    return count;
}

/* What code seldom shows: for people to answer. */
static void report_questions(const text_report *report)
{
    const audit_run *run = report->run;
    for (size_t i = 0; i < run->questions_count; i++) {
        hf_buffer_print(report->out, "%sQuestion%s: ", report_paint(report, REPORT_BOLD),
                        report_paint(report, REPORT_PLAIN));
        report_place(report, run->questions[i].place);
        hf_buffer_text(report->out, ": ");
        report_add(report, run->questions[i].text);
        hf_buffer_print(report->out, " [%s]\n", run->questions[i].name);
    }
    if (run->questions_count > 0)
        hf_buffer_print(report->out, "\n");
}

static void report_summary(const text_report *report)
{
    const audit_run *run = report->run;
    size_t read = 0, suppressed = 0, known = 0, count = audit_report_count(run, AUDIT_LOW);
    for (size_t i = 0; i < run->files.count; i++) {
        read += run->files.items[i].skipped == NULL;
        if (run->files.items[i].skipped == NULL)
            continue;
        hf_buffer_text(report->out, "Not read: ");
        report_add(report, run->files.items[i].path);
        hf_buffer_print(report->out, ": %s.\n", run->files.items[i].skipped);
    }
    for (size_t i = 0; i < run->findings_count; i++) {
        suppressed += run->findings[i].reason != NULL;
        known += run->findings[i].known && run->findings[i].reason == NULL;
    }
    for (size_t i = 0; i < run->notes_count; i++) {
        hf_buffer_text(report->out, "Note: ");
        report_add(report, run->notes[i]);
        hf_buffer_text(report->out, "\n");
    }
    hf_buffer_print(report->out, "%zu %s in %zu %s (%zu tables known, %zu statements)", count,
                    count == 1 ? "finding" : "findings", read, read == 1 ? "file" : "files",
                    run->schema.count, run->statements_count);
    if (suppressed > 0)
        hf_buffer_print(report->out, "; %zu suppressed with a reason", suppressed);
    if (known > 0)
        hf_buffer_print(report->out, "; %zu in the baseline", known);
    if (run->files.tests > 0)
        hf_buffer_print(report->out, "; %zu files of tests not judged", run->files.tests);
    hf_buffer_print(report->out, ".\n");
}

void audit_report_text(const audit_run *run, bool color, hf_buffer *out)
{
    text_report report = {.run = run, .out = out, .color = color};
    const audit_rule *rule = NULL;
    for (size_t i = 0; i < run->findings_count; i++) {
        const audit_finding *finding = &run->findings[i];
        if (!report_is_new(finding))
            continue;
        if (rule != NULL && rule != finding->rule)
            report_advice(&report, rule);
        rule = finding->rule;
        report_finding(&report, finding);
    }
    if (rule != NULL)
        report_advice(&report, rule);
    report_questions(&report);
    report_summary(&report);
}
