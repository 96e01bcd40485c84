/* SPDX-License-Identifier: MIT */
/* advise: which lock, with numbers. Gathers answers (a file, questions, a log, a database, a
 * server's metrics), decides, and writes the decision record. */
#include "advise/findings.h"
#include "advise/plot.h"
#include "advise/review.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/advise_interview.h"
#include "cli/advise_sources.h"
#include "cli/call.h"
#include "cli/documents.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void advise_today(char out[11])
{
    time_t now = (time_t)(hf_seam.wall_us() / 1000000);
    struct tm parts;
    if (gmtime_r(&now, &parts) == NULL || strftime(out, 11, "%Y-%m-%d", &parts) == 0)
        snprintf(out, 11, "1970-01-01");
}

/* Plays the log under each policy, with what redoing and waiting cost by the answers. */
static hf_status advise_replay_log(const advise_sources *sources, advise_record *record,
                                   hf_error *err)
{
    advise_load load;
    if (sources->edits == NULL)
        return HF_OK;
    advise_load_make(&record->answers, &load);
    hf_status status = advise_edits_replay(sources->edits, &load.rules, &record->replay, err);
    record->replayed = status == HF_OK;
    record->replay.lines = sources->log_lines;
    record->replay.skipped = sources->log_skipped;
    return status;
}

/* --audit FILE: what it found is warned of. */
static hf_status advise_read_audit(const cli_call *call, advise_record *record, hf_error *err)
{
    const char *path = cli_value(&call->arguments, "audit");
    hf_cleanup(hf_freep) char *text = NULL;
    size_t size = 0;
    if (path == NULL)
        return HF_OK;
    hf_status status = cli_document_read(path, &text, &size, err);
    return status != HF_OK ? status : advise_findings_read(text, size, &record->warnings, err);
}

static hf_status advise_make_record(const cli_call *call, advise_sources *sources,
                                    advise_record *record, hf_error *err)
{
    int64_t seed = (int64_t)ADVISE_SEED;
    hf_status status = cli_value_number(&call->arguments, "seed", 1, &seed, err);
    if (status == HF_OK)
        status = advise_sources_read(call, NULL, sources, err);
    if (status == HF_OK && (!sources->any || cli_has(&call->arguments, "ask")))
        status = advise_interview(&sources->answers, stdin, stderr, err);
    record->answers = sources->answers;
    record->seed = (uint64_t)seed;
    advise_today(record->date);
    if (status == HF_OK)
        status = advise_decide(record, err);
    if (status != HF_OK)
        return status;
    for (size_t i = 0; i < sources->notes.count; i++)
        advise_say(&record->doubts, "%s", sources->notes.items[i]);
    if (sources->refusals >= 0)
        advise_say(&record->reasons,
                   "The server has turned away %.3g people a day from these records.",
                   sources->refusals);
    status = advise_read_audit(call, record, err);
    return status != HF_OK ? status : advise_replay_log(sources, record, err);
}

/* ---- looking again ---- */

static hf_status advise_review_compare(cli_call *call, bool json, const advise_record *record,
                                       advise_sources *sources, hf_error *err)
{
    advise_review review;
    hf_buffer out = {0};
    hf_status status = advise_sources_read(call, record->answers.entities.items[0], sources, err);
    if (status == HF_OK)
        status = advise_review_make(record, &sources->answers, sources->refusals, &review, err);
    if (status != HF_OK)
        return status;
    call->exit_code = review.crossed ? CLI_EXIT_FINDINGS : 0;
    if (json)
        advise_review_json(record, &review, &out);
    else
        advise_review_text(record, &review, &out);
    return cli_document_write(cli_value(&call->arguments, "out"), "review", &out, err);
}

static hf_status advise_look_again(cli_call *call, bool json, advise_record *record, hf_error *err)
{
    hf_cleanup(hf_freep) char *text = NULL;
    advise_sources sources = {0};
    size_t size = 0;
    hf_status status = cli_document_read(cli_value(&call->arguments, "review"), &text, &size, err);
    if (status == HF_OK)
        status = advise_record_read(text, size, record, err);
    if (status == HF_OK)
        status = advise_review_compare(call, json, record, &sources, err);
    advise_sources_done(&sources);
    return status;
}

/* --plot FILE */
static hf_status advise_write_plot(const cli_call *call, const advise_record *record, hf_error *err)
{
    const char *path = cli_value(&call->arguments, "plot");
    hf_buffer out = {0};
    if (path == NULL)
        return HF_OK;
    hf_status status = advise_plot(record, &out, err);
    if (status == HF_OK)
        status = cli_document_save(path, &out, err);
    hf_buffer_done(&out);
    if (status == HF_OK)
        cli_say("Wrote the plot to %s.", path);
    return status;
}

static hf_status advise_run(cli_call *call, hf_error *err)
{
    bool json = false;
    advise_sources sources = {0};
    hf_buffer out = {0};
    char path[PATH_MAX] = "";
    hf_cleanup(hf_freep) advise_record *record = hf_alloc(sizeof *record);
    if (record == NULL)
        return hf_fail_memory(err);
    hf_status status = cli_document_format(call, &json, err);
    if (status == HF_OK && cli_has(&call->arguments, "review"))
        return advise_look_again(call, json, record, err);
    if (status == HF_OK)
        status = advise_make_record(call, &sources, record, err);
    /* Someone who was asked, on a terminal, is not to have a long document scroll by. */
    bool asked = !sources.any || cli_has(&call->arguments, "ask");
    if (status == HF_OK && asked && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
        !cli_has(&call->arguments, "out"))
        status = advise_interview_end(record, stdin, stderr, path, sizeof path, err);
    advise_sources_done(&sources);
    if (status == HF_OK)
        status = advise_write_plot(call, record, err);
    if (status != HF_OK)
        return status;
    if (json)
        advise_record_json(record, &out);
    else
        advise_record_markdown(record, &out);
    const char *chosen = path[0] != '\0' ? path : cli_value(&call->arguments, "out");
    status = cli_document_write(chosen, "record", &out, err);
    if (status == HF_OK && path[0] != '\0')
        cli_say("Next: holdfast plan %s --out plan.md --script tests.sh", path);
    return status;
}

static const cli_option advise_options[] = {
    {"answers", "FILE", "answers in JSON, or an earlier record; '-' reads standard input"},
    {"access-log", "FILE", "measure and replay a web server's log; '-' reads standard input"},
    {"open", "PATTERN...", "what opens a record in the log: \"GET /policies/{id}/edit\""},
    {"save", "PATTERN...", "... and what saves it: \"PUT /policies/{id}\""},
    {"db", "URL", "measure a live database: sqlite:PATH, postgres://..., mysql://...; reads only"},
    {"table", "NAME", "... the table of the records; default: the first of the entities"},
    {"metrics", "URL", "a holdfast server: how many people it turned away"},
    {"audit", "FILE", "findings about the code, in SARIF: they become warnings of the record"},
    {"review", "RECORD", "review a record: exits with 9 if one of its thresholds is crossed"},
    {"ask", NULL, "ask for what the other sources do not answer"},
    {"format", "FORMAT", "markdown (the default) or json"},
    {"out", "FILE", "write the record there instead of to standard output"},
    {"plot", "FILE", "write an SVG image too: the hours of each policy by the number of editors"},
    {"seed", "N", "of the simulation; the same seed gives the same figures"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_advise = {
    .name = "advise",
    .summary = "Recommends a lock, with numbers, and writes the decision record.",
    .about = "Asks, unless answers or something to measure are given. A measured value counts more "
             "than a stated one; what is neither is assumed, and marked so.",
    .options = advise_options,
    .run = advise_run,
};
