/* SPDX-License-Identifier: MIT */
/* version: how often resources were saved, by whom and when. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <stdlib.h>

static void version_print(const char *resource, const hf_answer *answer)
{
    const hf_version *it = answer->versions;
    char when[CLI_TIME_SIZE];
    if (answer->status == HF_NOT_FOUND) {
        cli_print("%s was never saved.\n", resource);
        return;
    }
    cli_time_format(it->saved_us, answer->now_us, when);
    if (it->gone)
        cli_print("%s was deleted by %s at %s (version %lld, fence %lld).\n", resource, it->name,
                  when, (long long)it->number, (long long)it->fence);
    else
        cli_print("%s is at version %lld; %s saved it at %s (fence %lld).\n", resource,
                  (long long)it->number, it->name, when, (long long)it->fence);
}

/* first: the op of the first resource. */
static hf_status version_print_json(cli_call *call, const hf_op *first, hf_error *err)
{
    size_t count = (size_t)call->arguments.operands_count;
    hf_version *all = calloc(count, sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (first[i].answer.versions_count > 0)
            all[i] = first[i].answer.versions[0];
        all[i].resource = call->resources[i];
    }
    hf_status status = cli_print_json(hf_versions_json(all, count), err);
    free(all);
    return status;
}

static hf_status version_run(cli_call *call, hf_error *err)
{
    size_t count = (size_t)call->arguments.operands_count;
    hf_status status = cli_resources(call, err);
    if (status == HF_OK)
        status = cli_batch(call, count + 1, err);
    if (status != HF_OK)
        return status;
    if (cli_is_server(call->store) && cli_session(call, NULL) == HF_OK)
        cli_op(call, HF_OP_SESSION_FIND); /* whoever has a session may look too, as with 'who' */
    size_t found = hf_batch_count(call->batch);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(call->batch, HF_OP_VERSION);
        op->type = call->resources[i].type;
        op->id = call->resources[i].id;
    }
    const hf_op *first = hf_batch_op(call->batch, found);
    status = cli_execute(call, err);
    for (size_t i = 0; i < count && status == HF_OK; i++)
        if (first[i].answer.status != HF_NOT_FOUND)
            status = cli_op_error(&first[i], err);
    if (status == HF_OK && call->json)
        return version_print_json(call, first, err);
    for (size_t i = 0; i < count && status == HF_OK; i++)
        version_print(call->arguments.operands[i], &first[i].answer);
    return status;
}

const cli_verb cli_version = {
    .name = "version",
    .operands = "RESOURCE...",
    .operands_min = 1,
    .operands_max = HF_BATCH_OPS_MAX - 1,
    .summary = "Shows the versions of resources, who saved them and when.",
    .about = "Read the version before the record, and name it when you save (see 'save'). In JSON "
             "a resource that was never saved has version 0. A server answers a token, or the "
             "session in HOLDFAST_SESSION or remembered.",
    .run = version_run,
};
