/* SPDX-License-Identifier: MIT */
/* list: the live locks, in canonical order. */
#include "cli/call.h"
#include "cli/listing.h"
#include "cli/rows.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>

/* The public part of what may be a whole ID.KEY. */
static const char *public_id(const char *session, char out[HF_SESSION_ID_SIZE + 1])
{
    if (session == NULL)
        return NULL;
    snprintf(out, HF_SESSION_ID_SIZE + 1, "%.*s", (int)strcspn(session, "."), session);
    return out;
}

static size_t list_count(const hf_answer *answer)
{
    return answer->locks_count;
}

static char *list_json(const hf_answer *answer, size_t index)
{
    return hf_lock_json(&answer->locks[index]);
}

static const cli_listing locks = {
    .name = "locks",
    .none = "No locks are held.",
    .fetch = hf_manager_list,
    .table = cli_lock_table,
    .add = cli_add_locks,
    .count = list_count,
    .json = list_json,
};

static hf_status list_run(cli_call *call, hf_error *err)
{
    char session[HF_SESSION_ID_SIZE + 1];
    hf_list_options filter = {
        .user = cli_value(&call->arguments, "user"),
        .session = public_id(cli_value(&call->arguments, "session"), session),
    };
    hf_status status = cli_value_type(&call->arguments, &filter.type, err);
    return status == HF_OK ? cli_print_listing(call, &locks, &filter, err) : status;
}

static const cli_option options[] = {
    {"type", "TYPE", "only locks of this type"},
    {"user", "USER", "only this user's"},
    {"session", "ID", "only this session's (its public id)"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_list = {
    .name = "list",
    .summary = "Lists the live locks.",
    .options = options,
    .run = list_run,
};
