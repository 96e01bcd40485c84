/* SPDX-License-Identifier: MIT */
/* plan: the implementation plan for a decision record, and its tests as a script. */
#include "advise/plan.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/call.h"
#include "cli/documents.h"
#include "cli/output.h"
#include "cli/verbs.h"

static hf_status plan_read(const char *path, advise_record *out, hf_error *err)
{
    hf_cleanup(hf_freep) char *text = NULL;
    size_t size = 0;
    hf_status status = cli_document_read(path, &text, &size, err);
    return status != HF_OK ? status : advise_record_read(text, size, out, err);
}

/* --script FILE: the tests alone. */
static hf_status plan_write_script(const cli_call *call, const advise_record *record, hf_error *err)
{
    const char *path = cli_value(&call->arguments, "script");
    hf_buffer script = {0};
    if (path == NULL)
        return HF_OK;
    advise_plan_script(record, &script);
    hf_status status = script.failed ? hf_fail_memory(err)
                       : script.size == 0
                           ? hf_fail(err, HF_INVALID,
                                     "There is no script for this record (strategy %s, database "
                                     "%s); leave --script out.",
                                     advise_strategy_name(record->strategy),
                                     advise_choice(&record->answers, ADVISE_DATABASE))
                           : cli_document_save(path, &script, err);
    hf_buffer_done(&script);
    if (status == HF_OK)
        cli_say("Wrote the tests to %s; run them with: sh %s", path, path);
    return status;
}

static hf_status plan_run(cli_call *call, hf_error *err)
{
    bool json = false;
    hf_buffer out = {0};
    hf_cleanup(hf_freep) advise_record *record = hf_alloc(sizeof *record);
    if (record == NULL)
        return hf_fail_memory(err);
    hf_status status = cli_document_format(call, &json, err);
    if (status == HF_OK)
        status = plan_read(call->arguments.operands[0], record, err);
    if (status == HF_OK)
        status = plan_write_script(call, record, err);
    if (status != HF_OK)
        return status;
    if (json)
        advise_plan_json(record, &out);
    else
        advise_plan_markdown(record, &out);
    return cli_document_write(cli_value(&call->arguments, "out"), "plan", &out, err);
}

static const cli_option plan_options[] = {
    {"script", "FILE", "write the plan's tests there too, as a script for sh"},
    {"format", "FORMAT", "markdown (the default) or json"},
    {"out", "FILE", "write the plan there instead of to standard output"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_plan = {
    .name = "plan",
    .operands = "RECORD",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Writes the implementation plan for a decision record.",
    .about =
        "RECORD is what 'holdfast advise' wrote, as Markdown or JSON; '-' reads standard input.",
    .options = plan_options,
    .run = plan_run,
};
