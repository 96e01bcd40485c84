/* SPDX-License-Identifier: MIT */
/* who: who holds a resource, and who waits for it. */
#include "cli/call.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/verbs.h"

#include <stdio.h>

static hf_status print_holders(const hf_answer *answer, hf_error *err)
{
    cli_table table;
    cli_lock_table(&table);
    hf_status status = cli_add_locks(&table, answer, err);
    if (status == HF_OK)
        cli_table_print(&table, 0);
    cli_table_done(&table);
    return status;
}

static hf_status print_requests(const hf_answer *answer, hf_error *err)
{
    cli_table table;
    cli_request_table(&table);
    hf_status status = cli_add_requests(&table, answer, err);
    if (status == HF_OK) {
        putchar('\n');
        cli_table_print(&table, 0);
    }
    cli_table_done(&table);
    return status;
}

static hf_status print_answer(const char *resource, const hf_answer *answer, hf_error *err)
{
    hf_status status = HF_OK;
    if (answer->locks_count == 0)
        cli_print("%s is free.\n", resource);
    else
        status = print_holders(answer, err);
    if (status == HF_OK && answer->requests_count > 0)
        status = print_requests(answer, err);
    return status;
}

static hf_status who_run(cli_call *call, hf_error *err)
{
    hf_status status = cli_resources(call, err);
    if (status == HF_OK)
        status = cli_batch(call, 2, err);
    if (status != HF_OK)
        return status;
    if (cli_is_server(call->store) && cli_session(call, NULL) == HF_OK)
        cli_op(call,
               /* who has a session may look too; what becomes of it is no matter */
               HF_OP_SESSION_FIND);
    hf_op *op = hf_batch_add(call->batch, HF_OP_WHO);
    op->type = call->resources[0].type;
    op->id = call->resources[0].id;
    status = cli_execute(call, err);
    if (status == HF_OK)
        status = cli_op_error(op, err);
    if (status != HF_OK)
        return status;
    if (call->json)
        return cli_print_json(hf_who_json(&call->resources[0], &op->answer), err);
    return print_answer(call->arguments.operands[0], &op->answer, err);
}

const cli_verb cli_who = {
    .name = "who",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Shows who holds a resource, and who asks for it.",
    .about = "A server answers a token, or the session in HOLDFAST_SESSION or remembered.",
    .run = who_run,
};
