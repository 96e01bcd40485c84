/* SPDX-License-Identifier: MIT */
/* downgrade: an exclusive lock becomes shared. */
#include "cli/call.h"
#include "cli/verbs.h"

static hf_status downgrade_run(cli_call *call, hf_error *err)
{
    hf_op *op = NULL;
    hf_status status = cli_session_op(call, HF_OP_DOWNGRADE, &op, err);
    return status == HF_OK ? cli_ask_lock(call, "Downgraded", err) : status;
}

static const cli_option options[] = {
    CLI_FENCE_OPTION("only if the live lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_downgrade = {
    .name = "downgrade",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Turns an exclusive lock into a shared one.",
    .about = "The fence stays. Others can then hold shared locks too. 'acquire' makes the lock "
             "exclusive again when nobody else holds it.",
    .options = options,
    .run = downgrade_run,
};
