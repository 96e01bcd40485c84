/* SPDX-License-Identifier: MIT */
/* advise: which lock, with numbers. Gathers answers (a file, questions, a log, a database, a server's metrics), decides, and writes
 * the decision record. */
#include "advise/record.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/call.h"
#include "cli/documents.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void advise_today(char out[11])
{
    time_t now = (time_t)(hf_seam.wall_us() / 1000000);
    struct tm parts;
    if (gmtime_r(&now, &parts) == NULL || strftime(out, 11, "%Y-%m-%d", &parts) == 0)
        snprintf(out, 11, "1970-01-01");
}

static hf_status advise_read_answers(const cli_call *call, advise_answers *out, hf_error *err)
{
    const char *path = cli_value(&call->arguments, "answers");
    hf_cleanup(hf_freep) char *text = NULL;
    size_t size = 0;
    if (path == NULL)
        return HF_OK;
    hf_status status = cli_document_read(path, &text, &size, err);
    return status != HF_OK ? status : advise_answers_parse(text, size, out, err);
}

static hf_status advise_run(cli_call *call, hf_error *err)
{
    bool json = false;
    int64_t seed = (int64_t)ADVISE_SEED;
    hf_status status = cli_document_format(call, &json, err);
    hf_cleanup(hf_freep) advise_record *record = hf_alloc(sizeof *record);
    if (record == NULL)
        return hf_fail_memory(err);
    if (status == HF_OK)
        status = cli_value_number(&call->arguments, "seed", 1, &seed, err);
    if (status == HF_OK)
        status = advise_read_answers(call, &record->answers, err);
    record->seed = (uint64_t)seed;
    advise_today(record->date);
    if (status == HF_OK)
        status = advise_decide(record, err);
    if (status != HF_OK)
        return status;
    hf_buffer out = {0};
    if (json)
        advise_record_json(record, &out);
    else
        advise_record_markdown(record, &out);
    return cli_document_write(call, "record", &out, err);
}

static const cli_option advise_options[] = {
    {"answers", "FILE", "answers in JSON, or an earlier record; '-' reads standard input"},
    {"format", "FORMAT", "markdown (the default) or json"},
    {"out", "FILE", "write the record there instead of to standard output"},
    {"seed", "N", "of the simulation; the same seed gives the same figures"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_advise = {
    .name = "advise",
    .summary = "Decides which lock, with numbers, and writes the decision record.",
    .options = advise_options,
    .run = advise_run,
};
