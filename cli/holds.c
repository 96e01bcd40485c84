/* SPDX-License-Identifier: MIT */
/* holds: does this session hold it now? For scripts: the exit code says it. */
#include "cli/call.h"
#include "cli/verbs.h"

static hf_status holds_run(cli_call *call, hf_error *err)
{
    hf_op *op = NULL;
    hf_status status = cli_session_op(call, HF_OP_HOLDS, &op, err);
    return status == HF_OK ? cli_ask_lock(call, "Yes,", err) : status;
}

static const cli_option options[] = {
    CLI_FENCE_OPTION("also check that the lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_holds = {
    .name = "holds",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Shows whether the session holds a lock, and its fence.",
    .about = "Exits with 0 when it does and 8 when it does not.",
    .options = options,
    .run = holds_run,
};
