/* SPDX-License-Identifier: MIT */
/* audit: what is wrong with the code and the database you have. */
#include "audit/report.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/call.h"
#include "cli/documents.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUDIT_IDLE_US INT64_C(60000000)

typedef enum audit_format { AUDIT_AS_TEXT, AUDIT_AS_JSON, AUDIT_AS_SARIF } audit_format;

static hf_status audit_choose_format(const cli_call *call, audit_format *out, hf_error *err)
{
    const char *name = cli_value(&call->arguments, "format");
    if (name == NULL)
        *out = call->json ? AUDIT_AS_JSON : AUDIT_AS_TEXT;
    else if (strcmp(name, "text") == 0)
        *out = AUDIT_AS_TEXT;
    else if (strcmp(name, "json") == 0)
        *out = AUDIT_AS_JSON;
    else if (strcmp(name, "sarif") == 0)
        *out = AUDIT_AS_SARIF;
    else
        return hf_fail(err, HF_INVALID, "--format is text, json or sarif, not '%.40s'.", name);
    return HF_OK;
}

/* --fail-on; *never: no finding fails. */
static hf_status audit_choose_level(const cli_call *call, audit_level *out, bool *never,
                                    hf_error *err)
{
    const char *name = cli_value(&call->arguments, "fail-on");
    *out = AUDIT_LOW;
    *never = name != NULL && strcmp(name, "never") == 0;
    if (name == NULL || *never || audit_level_find(name, out))
        return HF_OK;
    return hf_fail(err, HF_INVALID, "--fail-on is high, medium, low or never, not '%.40s'.", name);
}

static void audit_progress(size_t done, size_t of)
{
    static size_t told;
    if (of < 500 || (done < of && done < told + of / 100))
        return;
    told = done;
    fprintf(stderr, done < of ? "\rholdfast: %zu of %zu files" : "\r\033[K", done, of);
}

static void audit_write(const audit_run *run, audit_format format, bool color, hf_buffer *out)
{
    if (format == AUDIT_AS_JSON)
        audit_report_json(run, out);
    else if (format == AUDIT_AS_SARIF)
        audit_report_sarif(run, out);
    else
        audit_report_text(run, color, out);
    if (format != AUDIT_AS_TEXT)
        hf_buffer_add(out, "\n", 1);
}

static hf_status audit_verb(cli_call *call, hf_error *err)
{
    audit_run run = {0};
    audit_format format = AUDIT_AS_TEXT;
    audit_level level = AUDIT_LOW;
    bool never = false;
    hf_buffer out = {0};
    hf_cleanup(hf_freep) char *baseline = NULL;
    size_t size = 0;
    const char *path = cli_value(&call->arguments, "out");
    audit_options options = {.paths = call->arguments.operands,
                             .paths_count = call->arguments.operands_count,
                             .db = cli_value(&call->arguments, "db"),
                             .idle_us = AUDIT_IDLE_US,
                             .progress = isatty(STDERR_FILENO) ? audit_progress : NULL};
    hf_status status = audit_choose_format(call, &format, err);
    if (status == HF_OK)
        status = audit_choose_level(call, &level, &never, err);
    if (status == HF_OK)
        status = cli_value_duration(&call->arguments, "idle", &options.idle_us, err);
    if (status == HF_OK && options.paths_count == 0 && options.db == NULL)
        status = hf_fail(err, HF_INVALID,
                         "Name a folder or file to read, as in 'holdfast audit src', or a database "
                         "with --db URL.");
    if (status == HF_OK && cli_has(&call->arguments, "baseline"))
        status = cli_document_read(cli_value(&call->arguments, "baseline"), &baseline, &size, err);
    options.baseline = baseline;
    if (status == HF_OK)
        status = audit_run_all(&options, &run, err);
    if (status == HF_OK) {
        bool color = isatty(STDOUT_FILENO) && path == NULL && getenv("NO_COLOR") == NULL;
        audit_write(&run, format, color, &out);
        status = out.failed ? hf_fail_memory(err) : cli_document_write(path, "report", &out, err);
        call->exit_code = status == HF_OK && !never && audit_report_count(&run, level) > 0
                              ? CLI_EXIT_FINDINGS
                              : 0;
    }
    hf_buffer_done(&out);
    audit_run_done(&run);
    return status;
}

static const cli_option audit_option_table[] = {
    {"db", "URL", "read a live database too: sqlite:PATH, postgres://..., mysql://...; only reads"},
    {"idle", "DURATION", "with --db: report transactions idle for longer than this; default: 60s"},
    {"format", "FORMAT", "text (the default), json or sarif"},
    {"baseline", "FILE",
     "an earlier report, json or sarif: its findings are known and do not count"},
    {"fail-on", "LEVEL",
     "exit with 9 from this severity on: high, medium, low (the default) or never"},
    {"out", "FILE", "write the report there instead of to standard output"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_audit = {
    .name = "audit",
    .operands = "PATH...",
    .operands_min = 0,
    .operands_max = 1000,
    .summary = "Finds saves that can lose work, in code, schemas and a live database.",
    .about = "Compares what is declared (versions, lock tables, keys) with what is executed. A "
             "finding is ignored by a comment 'holdfast-audit: ignore RULE REASON' in its line or "
             "the one above. Exits with 9 if there are findings.",
    .options = audit_option_table,
    .run = audit_verb,
};
