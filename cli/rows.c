/* SPDX-License-Identifier: MIT */
/* What the columns of each table are, and how a row fills them. */
#include "cli/rows.h"

#include "base/error.h"
#include "cli/output.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *const lock_titles[] = {"RESOURCE", "MODE",  "HOLDER", "SINCE",
                                          "EXPIRES",  "FENCE", "PURPOSE"};
static const char *const request_titles[] = {"ASKED BY", "AT", "SESSION", "MESSAGE"};
static const char *const session_titles[] = {"SESSION", "USER",   "NAME",
                                             "IDLE",    "OPENED", "EXPIRES"};
static const char *const type_titles[] = {"TYPE", "POLICY", "TTL", "LONGEST TTL"};
static const char *const token_titles[] = {"TOKEN", "NAME", "ROLES", "USERS", "CREATED", "STATE"};

void cli_lock_table(cli_table *table)
{
    cli_table_init(table, lock_titles, COUNT_OF(lock_titles));
}

void cli_request_table(cli_table *table)
{
    cli_table_init(table, request_titles, COUNT_OF(request_titles));
}

void cli_session_table(cli_table *table)
{
    cli_table_init(table, session_titles, COUNT_OF(session_titles));
}

void cli_type_table(cli_table *table)
{
    cli_table_init(table, type_titles, COUNT_OF(type_titles));
}

void cli_token_table(cli_table *table)
{
    cli_table_init(table, token_titles, COUNT_OF(token_titles));
}

static bool rows_add_lock(cli_table *table, const hf_lock *lock, int64_t now_us)
{
    char resource[HF_RESOURCE_SIZE];
    char since[CLI_TIME_SIZE];
    char expires[CLI_TIME_SIZE];
    char fence[24];
    hf_resource_format(&lock->resource, resource);
    cli_time_format(lock->since_us, now_us, since);
    cli_time_format(lock->expires_us, now_us, expires);
    snprintf(fence, sizeof fence, "%" PRId64, lock->fence);
    return cli_table_add(table,
                         (const char *const[]){resource, hf_mode_name(lock->mode), lock->name,
                                               since, expires, fence, lock->purpose});
}

hf_status cli_add_locks(cli_table *table, const hf_answer *answer, hf_error *err)
{
    for (size_t i = 0; i < answer->locks_count; i++)
        if (!rows_add_lock(table, &answer->locks[i], answer->now_us))
            return hf_fail_memory(err);
    return HF_OK;
}

hf_status cli_add_requests(cli_table *table, const hf_answer *answer, hf_error *err)
{
    for (size_t i = 0; i < answer->requests_count; i++) {
        const hf_request *request = &answer->requests[i];
        char at[CLI_TIME_SIZE];
        cli_time_format(request->at_us, answer->now_us, at);
        if (!cli_table_add(table, (const char *const[]){request->name, at, request->session,
                                                        request->message}))
            return hf_fail_memory(err);
    }
    return HF_OK;
}

hf_status cli_add_sessions(cli_table *table, const hf_answer *answer, hf_error *err)
{
    for (size_t i = 0; i < answer->sessions_count; i++) {
        const hf_session_info *session = &answer->sessions[i];
        char idle[CLI_DURATION_SIZE];
        char opened[CLI_TIME_SIZE];
        char expires[CLI_TIME_SIZE];
        cli_duration_format(session->idle_us, idle);
        cli_time_format(session->opened_us, answer->now_us, opened);
        cli_time_format(session->expires_us, answer->now_us, expires);
        if (!cli_table_add(table, (const char *const[]){session->id, session->user, session->name,
                                                        idle, opened, expires}))
            return hf_fail_memory(err);
    }
    return HF_OK;
}

hf_status cli_add_types(cli_table *table, const hf_answer *answer, hf_error *err)
{
    for (size_t i = 0; i < answer->types_count; i++) {
        const hf_type *type = &answer->types[i];
        char ttl[CLI_DURATION_SIZE];
        char longest[CLI_DURATION_SIZE];
        cli_duration_format(type->ttl_us, ttl);
        cli_duration_format(type->ttl_max_us, longest);
        if (!cli_table_add(table, (const char *const[]){type->type, hf_policy_name(type->policy),
                                                        ttl, longest}))
            return hf_fail_memory(err);
    }
    return HF_OK;
}

/* "revoked 10:47:03 UTC", "expired ...", "until ...", or "live". */
static void token_state(const hf_token *token, int64_t now_us, char *out, size_t size)
{
    char when[CLI_TIME_SIZE];
    cli_time_format(token->revoked_us != 0 ? token->revoked_us : token->expires_us, now_us, when);
    if (token->revoked_us == 0 && token->expires_us == 0)
        snprintf(out, size, "live");
    else
        snprintf(out, size, "%s %s",
                 token->revoked_us != 0          ? "revoked"
                 : hf_token_lives(token, now_us) ? "until"
                                                 : "expired",
                 when);
}

hf_status cli_add_tokens(cli_table *table, const hf_answer *answer, hf_error *err)
{
    for (size_t i = 0; i < answer->tokens_count; i++) {
        const hf_token *token = &answer->tokens[i];
        char created[CLI_TIME_SIZE], state[CLI_TIME_SIZE + 16];
        cli_time_format(token->created_us, answer->now_us, created);
        token_state(token, answer->now_us, state, sizeof state);
        if (!cli_table_add(table,
                           (const char *const[]){token->id, token->name, token->roles,
                                                 token->users[0] == '\0' ? "*" : token->users,
                                                 created, state}))
            return hf_fail_memory(err);
    }
    return HF_OK;
}
