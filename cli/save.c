/* SPDX-License-Identifier: MIT */
/* save: counts a resource's version up, if it is still as it was read, and so is what the save
 * relies on. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is to be saved, as the arguments say it. */
typedef struct save_plan {
    hf_save save;
    hf_premise premises[CLI_GIVEN_MAX];
    size_t premises_count;
    hf_save_options options;
} save_plan;

/* RESOURCE=N; an id may have a '=' in it, a number has none. */
static hf_status save_read_premise(const char *text, hf_premise *out, hf_error *err)
{
    char resource[HF_RESOURCE_SIZE];
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    size_t size = equals == NULL ? 0 : (size_t)(equals - text);
    if (equals == NULL || size >= sizeof resource)
        return hf_fail(
            err, HF_INVALID,
            "--rely needs a resource and the version that was read, as --rely tax/DE=12, "
            "or --rely tax/DE=absent.");
    memcpy(resource, text, size);
    resource[size] = '\0';
    out->absent = strcmp(equals + 1, "absent") == 0;
    errno = 0;
    out->version = out->absent ? 0 : strtoll(equals + 1, &end, 10);
    if (!out->absent &&
        (equals[1] < '0' || equals[1] > '9' || *end != '\0' || errno != 0 || out->version < 1))
        return hf_fail(err, HF_INVALID,
                       "--rely needs a version from 1 to %lld after the '=', or 'absent'.",
                       (long long)INT64_MAX);
    hf_error flaw = {0};
    hf_status status = cli_resource(resource, &out->resource, &flaw);
    return status == HF_OK ? HF_OK : hf_fail(err, status, "--rely: %s", flaw.message);
}

static hf_status save_read_premises(const cli_arguments *arguments, save_plan *out, hf_error *err)
{
    hf_status status = HF_OK;
    for (size_t i = 0; i < arguments->given_count && status == HF_OK; i++)
        if (strcmp(arguments->given[i].option->name, "rely") == 0)
            status = save_read_premise(arguments->given[i].value,
                                       &out->premises[out->premises_count++], err);
    return status;
}

static hf_status save_check(const cli_arguments *arguments, hf_error *err)
{
    if (cli_has(arguments, "new") && cli_has(arguments, "version"))
        return hf_fail(err, HF_INVALID,
                       "--new means that it did not exist, --version that it did; give only one.");
    if (cli_has(arguments, "new") && cli_has(arguments, "gone"))
        return hf_fail(err, HF_INVALID,
                       "--new means that it did not exist, so --gone cannot delete it.");
    if (cli_has(arguments, "user") && cli_has(arguments, "session"))
        return hf_fail(err, HF_INVALID,
                       "--user saves without a session, --session with one; give only one.");
    if (cli_has(arguments, "user") && cli_has(arguments, "fence"))
        return hf_fail(err, HF_INVALID,
                       "--fence belongs to a session's lock; leave it out with --user.");
    if (cli_has(arguments, "name") && !cli_has(arguments, "user"))
        return hf_fail(err, HF_INVALID, "--name is the name of a --user: give both, or neither.");
    return HF_OK;
}

static hf_status save_read(cli_call *call, save_plan *out, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    hf_status status = cli_resources(call, err);
    if (status == HF_OK)
        status = save_check(arguments, err);
    if (status == HF_OK)
        status = cli_value_number(arguments, "version", 1, &out->save.version, err);
    if (status == HF_OK)
        status = cli_value_number(arguments, "fence", 1, &out->save.fence, err);
    if (status == HF_OK)
        status = save_read_premises(arguments, out, err);
    out->save.resource = call->resources[0];
    out->save.absent = cli_has(arguments, "new");
    out->save.gone = cli_has(arguments, "gone");
    out->options = (hf_save_options){.user = cli_value(arguments, "user"),
                                     .name = cli_value(arguments, "name"),
                                     .reason = cli_value(arguments, "reason")};
    return status;
}

static hf_status save_ask(cli_call *call, const save_plan *plan, hf_error *err)
{
    hf_set set = {&plan->save, 1, plan->premises, plan->premises_count};
    hf_session *session = NULL;
    hf_status status = cli_open(call, err);
    if (status == HF_OK && plan->options.user != NULL)
        return hf_manager_save_all(call->manager, &set, &plan->options, &call->result, err);
    if (status == HF_OK)
        status = cli_session(call, err);
    if (status == HF_OK)
        status = hf_session_attach(call->manager, call->session, &session, err);
    if (status == HF_OK)
        status = hf_session_save_all(session, &set, &plan->options, &call->result, err);
    hf_session_free(session);
    return status;
}

/* What stood in the way of the set, for the refusal to tell. */
static hf_status save_note_conflicts(cli_call *call, const save_plan *plan, hf_error *err)
{
    size_t count = hf_result_count(call->result);
    call->conflicts = calloc(count, sizeof *call->conflicts);
    if (call->conflicts == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const hf_answer *answer = hf_result_at(call->result, i);
        const hf_premise *premise = i == 0 ? NULL : &plan->premises[i - 1];
        if (answer->status != HF_STALE && answer->status != HF_LOCKED &&
            answer->status != HF_NOT_HELD)
            continue;
        call->conflicts[call->conflicts_count++] =
            (hf_conflict){.resource = premise == NULL ? plan->save.resource : premise->resource,
                          .expected = premise == NULL ? plan->save.version : premise->version,
                          .answer = answer};
        if (answer->status == HF_LOCKED) {
            call->holders = answer->locks;
            call->holders_count = answer->locks_count;
        }
    }
    return HF_OK;
}

static hf_status save_run(cli_call *call, hf_error *err)
{
    save_plan plan = {0};
    hf_status status = save_read(call, &plan, err);
    if (status == HF_OK)
        status = save_ask(call, &plan, err);
    if (status != HF_OK && call->result != NULL && save_note_conflicts(call, &plan, err) != HF_OK)
        return HF_NO_MEMORY;
    if (status != HF_OK)
        return status;
    const hf_version *now = &hf_result_at(call->result, 0)->versions[0];
    if (call->json)
        return cli_print_json(hf_version_json(now), err);
    cli_print("%s %s: version %lld (fence %lld).\n", now->gone ? "Deleted" : "Saved",
              call->arguments.operands[0], (long long)now->number, (long long)now->fence);
    return HF_OK;
}

static const cli_option save_options[] = {
    {"version", "N", "the version that was read"},
    {"new", NULL, "it did not exist when it was read: never saved, or deleted"},
    {"gone", NULL, "the save marks it as deleted"},
    {"rely", "RESOURCE=N...",
     "only if that resource is still at version N (or 'absent'); may be repeated"},
    {"user", "USER", "save in this user's name, without a session"},
    {"name", "TEXT", "that user's display name"},
    {"reason", "TEXT", "why; kept with the event"},
    CLI_FENCE_OPTION("only if the session's live lock has this fence"),
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_save = {
    .name = "save",
    .operands = "RESOURCE",
    .operands_min = 1,
    .operands_max = 1,
    .summary =
        "Saves a resource: increments its version, if nobody has saved it since it was read.",
    .about = "If it was changed or deleted meanwhile, or something that the save relies on was, "
             "nothing is done: every conflict is shown, with who and when, and the exit code is 4. "
             "Without --version and --new only the holder of an exclusive lock can save. Save "
             "first, then write the record and the fence, on the condition that the stored fence "
             "is the one that was read.",
    .options = save_options,
    .run = save_run,
};
