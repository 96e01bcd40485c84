/* SPDX-License-Identifier: MIT */
/* hand-over: gives a lock to another session, with nobody getting in between. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/verbs.h"

static hf_status hand_over_run(cli_call *call, hf_error *err)
{
    char target[CLI_TARGET_SIZE];
    hf_op *op = NULL;
    hf_status status = cli_target(call, target, err);
    if (status == HF_OK)
        status = cli_session_op(call, HF_OP_HAND_OVER, &op, err);
    if (status != HF_OK)
        return status;
    op->target = target;
    return cli_ask_lock(call, "Handed over", err);
}

static const cli_option options[] = {
    {"to", "SESSION-ID", "the public id of the session that receives it"},
    CLI_FENCE_OPTION("only if the live lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_hand_over = {
    .name = "hand-over",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Gives a lock to another session, with a new fence.",
    .options = options,
    .run = hand_over_run,
};
