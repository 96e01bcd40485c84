/* SPDX-License-Identifier: MIT */
/* token create, list, revoke: who may call a server, and what they may do there. A secret is
 * printed once, here, when it is made. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Every --role, with spaces between them, as the library reads roles. */
static hf_status read_roles(const cli_arguments *arguments, char out[HF_ROLES_SIZE], hf_error *err)
{
    hf_roles roles;
    hf_error inner = {0};
    char text[2 * HF_ROLES_SIZE] = "";
    size_t used = 0;
    for (size_t i = 0; i < arguments->given_count; i++) {
        const cli_given *given = &arguments->given[i];
        if (strcmp(given->option->name, "role") == 0 && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s ", given->value);
    }
    if (used == 0)
        return hf_fail(err, HF_INVALID,
                       "'token create' needs --role ROLE or ROLE:TYPE: what it allows.");
    if (used >= sizeof text)
        return hf_fail(err, HF_INVALID, "--role: The roles are too long.");
    hf_status status = hf_roles_parse(text, &roles, &inner);
    if (status != HF_OK)
        return hf_fail(err, status, "--role: %s", inner.message);
    hf_roles_format(&roles, out);
    return HF_OK;
}

/* On a terminal a sentence more; otherwise the line alone, for TOKEN=$(holdfast token create ...).
 * */
static void print_created(const hf_token *token, const char *secret)
{
    if (isatty(STDOUT_FILENO))
        cli_print("Made token %s for %s (%s). This is its secret; it is shown only now:\n",
                  token->id, token->name, token->roles);
    puts(secret);
}

static hf_status run_create(cli_call *call, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    char actor[HF_TEXT_SIZE], roles[HF_ROLES_SIZE];
    hf_token token;
    hf_token_key key;
    hf_token_options options = {.name = cli_value(arguments, "name"),
                                .roles = roles,
                                .users = cli_value(arguments, "user"),
                                .actor = actor};
    if (options.name == NULL)
        return hf_fail(err, HF_INVALID, "'token create' needs --name NAME: what the token is for.");
    hf_status status = read_roles(arguments, roles, err);
    if (status == HF_OK)
        status = cli_value_duration(arguments, "expires", &options.ttl_us, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    cli_system_user(actor);
    if (status == HF_OK)
        status = hf_manager_token_create(call->manager, &options, &key, &token, err);
    if (status != HF_OK)
        return status;
    if (call->json)
        status = cli_print_json(hf_token_key_json(&key), err);
    else
        print_created(&token, key.secret);
    hf_token_clear(&key);
    return status;
}

static size_t count_tokens(const hf_answer *answer)
{
    return answer->tokens_count;
}

static char *token_json(const hf_answer *answer, size_t index)
{
    return hf_token_json(&answer->tokens[index]);
}

static hf_status token_run_list(cli_call *call, hf_error *err)
{
    static const cli_listing tokens = {
        .name = "tokens",
        .none = "There are no tokens.",
        .fetch = hf_manager_tokens,
        .table = cli_token_table,
        .add = cli_add_tokens,
        .count = count_tokens,
        .json = token_json,
    };
    return cli_print_listing(call, &tokens, &(hf_list_options){0}, err);
}

static hf_status run_revoke(cli_call *call, hf_error *err)
{
    char actor[HF_TEXT_SIZE];
    hf_token token;
    hf_status status = cli_open(call, err);
    cli_system_user(actor);
    if (status == HF_OK)
        status =
            hf_manager_token_revoke(call->manager, call->arguments.operands[0], actor, &token, err);
    if (status != HF_OK)
        return status;
    if (call->json)
        return cli_print_json(hf_token_json(&token), err);
    cli_print("Token %s (%s) is revoked.\n", token.id, token.name);
    return HF_OK;
}

static const cli_option create_options[] = {
    {"name", "NAME", "what the token is for"},
    {"role", "ROLE[:TYPE]...",
     "what it allows: use, observe, manage or admin, for all types or for one"},
    {"user", "PATTERN", "the users it may name, with * for any text; default: any"},
    {"expires", "DURATION", "how long it is valid; default: for ever"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_token_create = {
    .name = "token create",
    .summary = "Makes a token for a program that calls a server.",
    .about = "--role may be given several times. use: open sessions and work with locks. observe: "
             "see locks, sessions and events. manage: end other people's locks. admin: set types, "
             "make and revoke tokens. No role includes another. The secret is printed once and not "
             "stored; with --json the answer has the public id too.",
    .options = create_options,
    .run = run_create,
};

const cli_verb cli_token_list = {
    .name = "token list",
    .summary = "Lists all tokens, also revoked and expired ones.",
    .run = token_run_list,
};

const cli_verb cli_token_revoke = {
    .name = "token revoke",
    .operands = "ID",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Revokes a token.",
    .about = "ID is the public id that 'token list' shows. Revoking twice is harmless.",
    .run = run_revoke,
};
