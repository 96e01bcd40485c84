/* SPDX-License-Identifier: MIT */
/* force-release: ends locks that are someone else's, and records who did it and why. The actor is
 * the session's user, else the operating system's. A remembered session that has ended is no
 * obstacle: it was not asked for. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <stdlib.h>

static bool session_is_named(const cli_call *call)
{
    const char *variable = getenv("HOLDFAST_SESSION");
    return cli_has(&call->arguments, "session") || (variable != NULL && variable[0] != '\0');
}

/* A remembered session that has ended, or whose key is another, is left out. It is looked at first:
 * a refusal of the op itself does not tell the session from a right that the token lacks, and to
 * ask twice would be noted twice. */
static hf_status settle_session(cli_call *call, hf_error *err)
{
    if (call->origin != CLI_FROM_MEMORY)
        return HF_OK;
    const hf_op *op = cli_op(call, HF_OP_SESSION_FIND);
    hf_status status = cli_ask(call, err);
    if (status != HF_OK && status != op->answer.status)
        return status;
    if (status == HF_EXPIRED || status == HF_DENIED || status == HF_NOT_FOUND)
        call->origin = CLI_NO_SESSION;
    else if (status != HF_OK)
        return status;
    hf_batch_free(call->batch);
    call->batch = NULL;
    return hf_batch_new(1, &call->batch, err);
}

/* Readies the op; the actor, where there is no session to be it, is written to `actor`. */
static hf_status force_release_prepare(cli_call *call, char actor[HF_TEXT_SIZE], hf_op **out,
                                       hf_error *err)
{
    int64_t fence = 0;
    hf_status status = cli_resources(call, err);
    if (status == HF_OK)
        status = cli_value_number(&call->arguments, "fence", 1, &fence, err);
    if (status == HF_OK)
        status = cli_batch(call, 1, err);
    if (status == HF_OK && cli_session(call, err) != HF_OK && session_is_named(call))
        status = err->status;
    if (status == HF_OK)
        status = settle_session(call, err);
    if (status != HF_OK)
        return status;
    hf_op *op = cli_op(call, HF_OP_FORCE_RELEASE);
    cli_system_user(actor);
    op->actor = op->session == NULL ? actor : NULL;
    op->type = call->resources[0].type;
    op->id = call->resources[0].id;
    op->fence = fence;
    op->text = cli_value(&call->arguments, "reason");
    *out = op;
    return HF_OK;
}

static hf_status force_release_run(cli_call *call, hf_error *err)
{
    char actor[HF_TEXT_SIZE];
    hf_op *op = NULL;
    if (cli_value(&call->arguments, "reason") == NULL)
        return hf_fail(
            err, HF_INVALID,
            "'force-release' needs --reason TEXT: it is recorded, and shown to the holder.");
    hf_status status = force_release_prepare(call, actor, &op, err);
    if (status == HF_OK)
        status = cli_ask(call, err);
    if (status == HF_OK && call->json)
        return cli_print_json(hf_locks_json(&op->answer), err);
    for (size_t i = 0; status == HF_OK && i < op->answer.locks_count; i++)
        cli_print("Ended the lock of %s on %s.\n", op->answer.locks[i].name,
                  call->arguments.operands[0]);
    return status;
}

static const cli_option options[] = {
    {"reason", "TEXT", "why; recorded, and shown to the holder"},
    CLI_FENCE_OPTION("only the lock with this fence; default: all holders"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_force_release = {
    .name = "force-release",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Ends other people's locks, and records who did it and why.",
    .about = "The record names the user of the session given or remembered, else the operating "
             "system's user.",
    .options = options,
    .run = force_release_run,
};
