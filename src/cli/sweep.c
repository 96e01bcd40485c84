/* SPDX-License-Identifier: MIT */
/* sweep: removes what is dead, in calls of bounded work, until nothing is left to do. */
#include "cli/call.h"
#include "cli/verbs.h"

#include <stdio.h>

static hf_status sweep_run(cli_call *call, hf_error *err)
{
    size_t total = 0;
    bool more = true;
    hf_status status = cli_open(call, err);
    while (status == HF_OK && more) {
        size_t swept = 0;
        status = hf_manager_sweep(call->manager, 0, &swept, &more, err);
        total += swept;
    }
    if (status == HF_OK && call->json)
        printf("{\"swept\":%zu}\n", total);
    else if (status == HF_OK && total == 0)
        puts("There was nothing to sweep.");
    else if (status == HF_OK)
        printf("Swept %zu dead row%s.\n", total, total == 1 ? "" : "s");
    return status;
}

const cli_verb cli_sweep = {
    .name = "sweep",
    .summary = "Removes dead rows: ended sessions, expired locks, unused resources.",
    .about = "It only frees space: expiry is checked whenever a lock is read.",
    .run = sweep_run,
};
