/* SPDX-License-Identifier: MIT */
/* release: gives locks back, each on its own: one that was lost before does not keep the others. */
#include "base/error.h"
#include "base/json.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>

static hf_status release_check(const cli_call *call, hf_error *err)
{
    int count = call->arguments.operands_count;
    bool all = cli_has(&call->arguments, "all");
    bool fence = cli_has(&call->arguments, "fence");
    if (all && (count > 0 || fence))
        return hf_fail(err, HF_INVALID,
                       "--all releases everything: leave out the resources and --fence.");
    if (!all && count == 0)
        return hf_fail(err, HF_INVALID, "'release' needs RESOURCE..., or --all.");
    if (fence && count > 1)
        return hf_fail(err, HF_INVALID,
                       "--fence belongs to one resource; release them one by one.");
    return HF_OK;
}

/* A refusal that is about the session is the same for every lock. */
static bool about_session(hf_status status)
{
    return status == HF_EXPIRED || status == HF_DENIED || status == HF_NOT_FOUND;
}

/* Those that were released, in the object of the refusal: what became of the others must be known.
 * */
static hf_status begin_refusal(cli_call *call, hf_error *err)
{
    hf_status status = HF_OK;
    size_t released = 0;
    cli_list_begin(call, "released");
    for (size_t i = 0; i < hf_batch_count(call->batch) && status == HF_OK; i++) {
        const hf_op *op = hf_batch_op(call->batch, i);
        hf_json json = {0};
        if (op->answer.status != HF_OK)
            continue;
        hf_json_text(&json, call->arguments.operands[i]);
        status = cli_json_item(released++, hf_buffer_take(&json.out), err);
    }
    return status;
}

/* Tells of each. The first refusal is the answer of the whole; err holds one that is still to be
 * told. */
static hf_status release_report(cli_call *call, hf_error *err)
{
    hf_status worst = HF_OK;
    size_t released = 0;
    for (size_t i = 0; i < hf_batch_count(call->batch) && !about_session(worst); i++) {
        const hf_op *op = hf_batch_op(call->batch, i);
        hf_error refusal = {0};
        hf_status status = cli_op_error(op, &refusal);
        if (status == HF_OK) {
            released++;
            if (!call->json)
                cli_print("Released %s/%s.\n", op->type, op->id);
            continue;
        }
        if (worst != HF_OK && !call->json)
            cli_print_refusal(call, worst, err);
        if (worst == HF_OK || !call->json)
            *err = refusal;
        worst = worst == HF_OK ? status : worst;
    }
    if (worst == HF_OK && call->json)
        printf("{\"released\":%zu}\n", released);
    if (worst != HF_OK && call->json && begin_refusal(call, err) != HF_OK)
        return err->status;
    return worst;
}

static hf_status release_named(cli_call *call, hf_error *err)
{
    size_t count = (size_t)call->arguments.operands_count;
    int64_t fence = 0;
    hf_status status = cli_resources(call, err);
    if (status == HF_OK)
        status = cli_value_number(&call->arguments, "fence", 1, &fence, err);
    if (status == HF_OK)
        status = cli_batch(call, count, err);
    if (status == HF_OK)
        status = cli_session(call, err);
    if (status != HF_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        hf_op *op = cli_op(call, HF_OP_RELEASE);
        op->type = call->resources[i].type;
        op->id = call->resources[i].id;
        op->fence = fence;
    }
    status = cli_execute(call, err);
    return status == HF_OK ? release_report(call, err) : status;
}

static hf_status cli_release_all(cli_call *call, hf_error *err)
{
    hf_status status = cli_batch(call, 1, err);
    if (status == HF_OK)
        status = cli_session(call, err);
    if (status != HF_OK)
        return status;
    const hf_op *op = cli_op(call, HF_OP_RELEASE_ALL);
    status = cli_ask(call, err);
    if (status == HF_OK && call->json)
        printf("{\"released\":%zu}\n", op->answer.locks_count);
    else if (status == HF_OK)
        printf("Released %zu lock%s.\n", op->answer.locks_count,
               op->answer.locks_count == 1 ? "" : "s");
    return status;
}

static hf_status release_run(cli_call *call, hf_error *err)
{
    hf_status status = release_check(call, err);
    if (status != HF_OK)
        return status;
    return cli_has(&call->arguments, "all") ? cli_release_all(call, err) : release_named(call, err);
}

static const cli_option options[] = {
    {"all", NULL, "release all locks of the session"},
    CLI_FENCE_OPTION("only if the live lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_release = {
    .name = "release",
    .operands = "RESOURCE... | --all",
    .operands_max = HF_BATCH_OPS_MAX,
    .summary = "Releases locks.",
    .about = "Each lock is released on its own: if one was lost before, the others are still "
             "released. The first refusal decides the exit code.",
    .options = options,
    .run = release_run,
};
