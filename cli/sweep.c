/* SPDX-License-Identifier: MIT */
/* sweep: removes what is dead, in calls of bounded work, until nothing is left to do. */
#include "cli/call.h"
#include "cli/verbs.h"

#include <stdio.h>

static hf_status sweep_run(cli_call *call, hf_error *err)
{
    size_t total = 0, passed = 0;
    bool more = true;
    hf_status status = cli_batch(call, 1, err);
    while (status == HF_OK && more) {
        hf_batch_clear(call->batch);
        const hf_op *op = hf_batch_add(call->batch, HF_OP_SWEEP);
        status = cli_ask(call, err);
        total += op->answer.swept;
        passed = op->answer.passed;
        more = op->answer.more;
    }
    if (status == HF_OK && call->json)
        printf("{\"swept\":%zu,\"passed\":%zu}\n", total, passed);
    else if (status == HF_OK && total == 0 && passed == 0)
        puts("There was nothing to sweep.");
    else if (status == HF_OK)
        printf("Swept %zu dead row%s.\n", total, total == 1 ? "" : "s");
    if (status == HF_OK && !call->json && passed > 0)
        printf("Left %zu that other transactions have locked; sweep again later.\n", passed);
    return status;
}

const cli_verb cli_sweep = {
    .name = "sweep",
    .summary = "Removes dead rows: ended sessions, expired locks, unused resources.",
    .about = "It only frees space: expiry is checked whenever a lock is read.",
    .run = sweep_run,
};
