/* SPDX-License-Identifier: MIT */
/* decline: tells another session that it does not get the lock it asked for. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/verbs.h"

static hf_status decline_run(cli_call *call, hf_error *err)
{
    char target[CLI_TARGET_SIZE];
    hf_op *op = NULL;
    hf_status status = cli_target(call, target, err);
    if (status == HF_OK)
        status = cli_session_op(call, HF_OP_DECLINE, &op, err);
    if (status != HF_OK)
        return status;
    op->target = target;
    op->text = cli_value(&call->arguments, "message");
    return cli_ask_lock(call, "Declined the request for", err);
}

static const cli_option options[] = {
    {"to", "SESSION-ID", "the public id of the session that asks"},
    {"message", "TEXT", "a message for that session"},
    CLI_FENCE_OPTION("only if the live lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_decline = {
    .name = "decline",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Declines another session's request for a lock.",
    .options = options,
    .run = decline_run,
};
