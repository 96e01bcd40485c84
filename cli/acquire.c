/* SPDX-License-Identifier: MIT */
/* acquire: takes locks, all or none, or says at once who stands in the way. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <string.h>

static hf_status read_options(const cli_arguments *arguments, hf_acquire_options *out,
                              hf_error *err)
{
    const char *mode = cli_value(arguments, "mode");
    *out = (hf_acquire_options){.mode = HF_EXCLUSIVE, .purpose = cli_value(arguments, "purpose")};
    if (mode != NULL)
        out->mode = hf_mode_from_name(mode);
    if (out->mode == HF_MODE_COUNT)
        return hf_fail(err, HF_INVALID, "There is no mode '%.40s'; --mode is exclusive or shared.",
                       mode);
    return cli_value_duration(arguments, "ttl", &out->ttl_us, err);
}

/* All who stand in the way, where the error names the first: asked after the refusal, so only
 * believed when the first is still among them. */
static void find_holders(cli_call *call, const hf_error *err, hf_result **out)
{
    hf_resource resource;
    if (hf_resource_parse(err->resource, &resource, NULL) != HF_OK ||
        hf_manager_who(call->manager, &resource, out, NULL) != HF_OK)
        return;
    const hf_answer *answer = hf_result_answer(*out);
    for (size_t i = 0; i < answer->locks_count; i++) {
        if (strcmp(answer->locks[i].session, err->holder.session) == 0) {
            call->holders = answer->locks;
            call->holders_count = answer->locks_count;
        }
    }
}

static void print_sentences(const hf_result *result)
{
    static const char *const words[] = {
        [HF_OUTCOME_NONE] = "Acquired",
        [HF_GRANTED] = "Acquired",
        [HF_UPGRADED] = "Upgraded",
        [HF_ALREADY_YOURS] = "Kept",
    };
    for (size_t i = 0; i < hf_result_count(result); i++) {
        const hf_answer *answer = hf_result_at(result, i);
        cli_print_lock(words[answer->outcome], &answer->locks[0], answer->now_us);
    }
}

static hf_status acquire_print_json(cli_call *call, const hf_result *result, hf_error *err)
{
    hf_status status = HF_OK;
    cli_list_begin(call, "locks");
    for (size_t i = 0; i < hf_result_count(result) && status == HF_OK; i++)
        status = cli_json_item(i, hf_acquired_json(hf_result_at(result, i)), err);
    cli_list_end(call, status);
    return status;
}

static hf_status acquire_acquire(cli_call *call, hf_session *session,
                                 const hf_acquire_options *options, hf_error *err)
{
    hf_result *result = NULL;
    hf_status status = hf_session_acquire_all(
        session, call->resources, (size_t)call->arguments.operands_count, options, &result, err);
    if (status == HF_LOCKED && call->json) {
        hf_result_free(result);
        find_holders(call, err, &call->result);
        return status;
    }
    if (status == HF_OK && call->json)
        status = acquire_print_json(call, result, err);
    else if (status == HF_OK)
        print_sentences(result);
    hf_result_free(result);
    return status;
}

static hf_status acquire_run(cli_call *call, hf_error *err)
{
    hf_acquire_options options;
    hf_session *session = NULL;
    hf_status status = read_options(&call->arguments, &options, err);
    if (status == HF_OK)
        status = cli_resources(call, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    if (status == HF_OK)
        status = cli_session(call, err);
    if (status == HF_OK)
        status = hf_session_attach(call->manager, call->session, &session, err);
    if (status == HF_OK)
        status = acquire_acquire(call, session, &options, err);
    hf_session_free(session);
    return status;
}

static const cli_option options[] = {
    {"mode", "MODE", "exclusive (the default) or shared"},
    {"ttl", "DURATION",
     "the lock ends after this long; default: the type's default, else its longest, else none"},
    {"purpose", "TEXT", "what the lock is for; shown to people who are refused"},
    CLI_SESSION_OPTION,
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_acquire = {
    .name = "acquire",
    .operands = "RESOURCE...",
    .operands_min = 1,
    .operands_max = HF_BATCH_OPS_MAX,
    .summary = "Acquires locks: all resources named, or none.",
    .about = "A resource is TYPE/ID, such as policy/12345. The command never waits: if someone "
             "else holds a lock, it says who, since when and until when, and exits with 3. "
             "Acquiring a lock that you hold is harmless: the fence and the bound stay. A shared "
             "lock becomes exclusive when you are the only reader.",
    .options = options,
    .run = acquire_run,
};
