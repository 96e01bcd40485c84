/* SPDX-License-Identifier: MIT */
/* backup: a consistent copy of a live store in a new file, readable by its owner alone. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <sys/stat.h>

/* A store that is made by opening it is not what was to be kept. */
static hf_status open_kept(cli_call *call, hf_error *err)
{
    hf_status status = cli_open_existing(call, err);
    return status == HF_NOT_FOUND
               ? hf_fail(err, HF_INVALID, "There is no store %s; nothing was backed up.",
                         call->store)
               : status;
}

static hf_status backup_run(cli_call *call, hf_error *err)
{
    const char *path = call->arguments.operands[0];
    struct stat file;
    if (lstat(path, &file) == 0)
        return hf_fail(err, HF_INVALID,
                       "%s already exists and is not overwritten; name another file.", path);
    hf_status status = open_kept(call, err);
    umask(077);
    if (status == HF_OK)
        status = hf_store_backup(hf_manager_store(call->manager), path, err);
    if (status != HF_OK)
        return status;
    long long size = stat(path, &file) == 0 ? (long long)file.st_size : 0;
    if (call->json)
        printf("{\"bytes\":%lld}\n", size);
    else
        cli_print("Backed %s up to %s (%lld bytes).\n", call->store, path, size);
    return HF_OK;
}

const cli_verb cli_backup = {
    .name = "backup",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Writes a consistent copy of the store to a new file.",
    .about = "Others can work meanwhile. An existing file is never overwritten, and a missing "
             "store is not created.",
    .run = backup_run,
};
