/* SPDX-License-Identifier: MIT */
/* type set, get, list: what a type of record demands of those who lock it. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/verbs.h"

#include <stdio.h>

static hf_status print_types(const hf_answer *answer, hf_error *err)
{
    cli_table table;
    cli_type_table(&table);
    hf_status status = cli_add_types(&table, answer, err);
    if (status == HF_OK)
        cli_table_print(&table, 0);
    cli_table_done(&table);
    return status;
}

static hf_status print_type(const cli_call *call, const hf_type *type, hf_error *err)
{
    if (call->json)
        return cli_print_json(hf_type_json(type), err);
    return print_types(&(hf_answer){.types = type, .types_count = 1}, err);
}

/* The operand as a type's name; but for its length the library says what is wrong with it. */
static hf_status type_read(const cli_arguments *arguments, hf_type *out, hf_error *err)
{
    int length = snprintf(out->type, sizeof out->type, "%s", arguments->operands[0]);
    if (length == 0 || length > HF_TYPE_MAX)
        return hf_fail(err, HF_INVALID, "A type has 1 to %d bytes; that one has %d.", HF_TYPE_MAX,
                       length);
    return HF_OK;
}

static hf_status read_policy(const cli_arguments *arguments, hf_policy *out, hf_error *err)
{
    static const char known[] = "optimistic, exclusive-write, exclusive-read or read-write";
    const char *policy = cli_value(arguments, "policy");
    if (policy == NULL)
        return hf_fail(err, HF_INVALID, "'type set' needs --policy: %s.", known);
    *out = hf_policy_from_name(policy);
    if (*out == HF_POLICY_COUNT)
        return hf_fail(err, HF_INVALID, "There is no policy '%.40s'; --policy is %s.", policy,
                       known);
    return HF_OK;
}

static hf_status run_set(cli_call *call, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    char actor[HF_TEXT_SIZE];
    hf_type type = {0};
    hf_status status = type_read(arguments, &type, err);
    if (status == HF_OK)
        status = read_policy(arguments, &type.policy, err);
    if (status == HF_OK)
        status = cli_value_duration(arguments, "ttl", &type.ttl_us, err);
    if (status == HF_OK)
        status = cli_value_duration(arguments, "max-ttl", &type.ttl_max_us, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    cli_system_user(actor);
    if (status == HF_OK)
        status = hf_manager_type_set(call->manager, &type, actor, err);
    return status == HF_OK ? print_type(call, &type, err) : status;
}

static hf_status run_get(cli_call *call, hf_error *err)
{
    hf_type type = {0};
    hf_status status = type_read(&call->arguments, &type, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    if (status == HF_OK)
        status = hf_manager_type_get(call->manager, type.type, &type, err);
    return status == HF_OK ? print_type(call, &type, err) : status;
}

static hf_status type_run_list(cli_call *call, hf_error *err)
{
    hf_status status = cli_open(call, err);
    if (status == HF_OK)
        status = hf_manager_types(call->manager, &call->result, err);
    if (status != HF_OK)
        return status;
    const hf_answer *answer = hf_result_answer(call->result);
    if (call->json)
        return cli_print_json(hf_types_json(answer), err);
    if (answer->types_count > 0)
        return print_types(answer, err);
    puts("No types are registered; each accepts both modes.");
    return HF_OK;
}

static const cli_option set_options[] = {
    {"policy", "POLICY", "optimistic, exclusive-write, exclusive-read or read-write"},
    {"ttl", "DURATION", "the bound of a lock that asks for none"},
    {"max-ttl", "DURATION",
     "the longest bound a lock may ask for; also the default if there is no --ttl"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_type_set = {
    .name = "type set",
    .operands = "TYPE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Registers the policy of a type of record.",
    .about =
        "optimistic: no locks, saves compare versions. exclusive-write: exclusive to edit, nothing "
        "to read. exclusive-read: exclusive to read or edit. read-write: shared to read, exclusive "
        "to edit. A type has one policy, which cannot change while locks of the type are held.",
    .options = set_options,
    .run = run_set,
};

const cli_verb cli_type_get = {
    .name = "type get",
    .operands = "TYPE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Shows the policy of a type.",
    .run = run_get,
};

const cli_verb cli_type_list = {
    .name = "type list",
    .summary = "Lists the registered types.",
    .run = type_run_list,
};
