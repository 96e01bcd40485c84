/* SPDX-License-Identifier: MIT */
/* request: asks whoever holds a resource to let go. */
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>

static void print_sentence(const char *resource, const hf_answer *answer)
{
    fputs("Asked ", stdout);
    for (size_t i = 0; i < answer->locks_count; i++) {
        const char *gap = i == 0 ? "" : i + 1 < answer->locks_count ? ", " : " and ";
        cli_print("%s%s", gap, answer->locks[i].name);
    }
    cli_print(" for %s; the next beat of %s shows it.\n", resource,
              answer->locks_count == 1 ? "that session" : "each session");
}

static hf_status request_run(cli_call *call, hf_error *err)
{
    hf_op *op = NULL;
    hf_status status = cli_session_op(call, HF_OP_REQUEST, &op, err);
    if (status != HF_OK)
        return status;
    op->text = cli_value(&call->arguments, "message");
    status = cli_ask(call, err);
    if (status == HF_OK && call->json)
        return cli_print_json(hf_locks_json(&op->answer), err);
    if (status == HF_OK)
        print_sentence(call->arguments.operands[0], &op->answer);
    return status;
}

static const cli_option options[] = {
    {"message", "TEXT", "a message for the holder"},
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_request = {
    .name = "request",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Asks the holder of a resource to release it.",
    .about = "The holder sees it on the next 'session beat' and may 'release', 'hand-over' or "
             "'decline'.",
    .options = options,
    .run = request_run,
};
