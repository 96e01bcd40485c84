/* SPDX-License-Identifier: MIT */
/* restore: replaces everything in the store by a backup. People who hold locks would lose them, so
 * the store refuses while there are any, unless it is told to. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <sys/stat.h>

static hf_status restore_run(cli_call *call, hf_error *err)
{
    const char *path = call->arguments.operands[0];
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return hf_fail(err, HF_INVALID,
                       "%s is a directory; name the file that 'holdfast backup' has written.",
                       path);
    hf_status status = cli_open(call, err);
    if (status == HF_OK)
        status = hf_store_restore(hf_manager_store(call->manager), path,
                                  cli_has(&call->arguments, "replace"), err);
    if (status == HF_OK && call->json)
        puts("{\"restored\":true}");
    else if (status == HF_OK)
        cli_print("Restored %s from %s.\n", call->store, path);
    return status;
}

static const cli_option options[] = {
    {"replace", NULL, "even if locks are held: those of the backup take their place"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_restore = {
    .name = "restore",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Replaces everything in the store by a backup.",
    .about = "In one step or not at all. Fences never decrease.",
    .options = options,
    .run = restore_run,
};
