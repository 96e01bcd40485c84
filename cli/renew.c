/* SPDX-License-Identifier: MIT */
/* renew: sets a lock's own bound anew, and its purpose where one is given. */
#include "cli/call.h"
#include "cli/verbs.h"

static hf_status renew_run(cli_call *call, hf_error *err)
{
    int64_t ttl_us = 0;
    hf_op *op = NULL;
    hf_status status = cli_value_duration(&call->arguments, "ttl", &ttl_us, err);
    if (status == HF_OK)
        status = cli_session_op(call, HF_OP_RENEW, &op, err);
    if (status != HF_OK)
        return status;
    op->ttl_us = ttl_us;
    op->purpose = cli_value(&call->arguments, "purpose");
    return cli_ask_lock(call, "Renewed", err);
}

static const cli_option options[] = {
    {"ttl", "DURATION",
     "the lock ends this long from now; default: the type's default, else its longest, else none"},
    {"purpose", "TEXT", "a new purpose; default: the old one stays"},
    CLI_FENCE_OPTION("only if the live lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_renew = {
    .name = "renew",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Renews a lock: sets its own bound, counted from now.",
    .about = "A lost lock is not acquired again: the exit code is then 8. To keep a session and "
             "all its locks alive, use 'session beat'.",
    .options = options,
    .run = renew_run,
};
