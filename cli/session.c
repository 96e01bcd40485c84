/* SPDX-License-Identifier: MIT */
/* session open, beat, close, list. What is opened is remembered for the store before it is shown,
 * so that the next command finds it; this is the only place that ever prints a session's key. */
#include "base/error.h"
#include "base/text.h"
#include "cli/call.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static hf_status read_open_options(cli_call *call, hf_session_options *out, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    *out = (hf_session_options){
        .user = cli_value(arguments, "user"),
        .name = cli_value(arguments, "name"),
        .replaces = cli_value(arguments, "replaces"),
    };
    if (out->user == NULL)
        return hf_fail(err, HF_INVALID, "'session open' needs --user NAME, the person who works.");
    hf_status status = cli_value_duration(arguments, "idle", &out->idle_us, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    if (status == HF_OK && out->replaces != NULL && strcmp(out->replaces, "remembered") == 0) {
        out->replaces = call->session;
        status = cli_session_remembered(call, err);
    }
    return status;
}

/* Keeps the session for the next command. Not being able to is told, but the session is open all
 * the same. */
static bool cli_session_keep(const cli_call *call, const hf_credentials *credentials)
{
    char text[CLI_SESSION_SIZE];
    hf_error err = {0};
    if (cli_has(&call->arguments, "no-remember") || strncmp(call->store, "memory:", 7) == 0)
        return false;
    snprintf(text, sizeof text, "%s.%s", credentials->id, credentials->key);
    hf_status status = cli_remember(call->store, text, &err);
    explicit_bzero(text, sizeof text);
    if (status != HF_OK)
        cli_say("The session is open, but could not be remembered: %s Give it in HOLDFAST_SESSION.",
                err.message);
    return status == HF_OK;
}

/* On a terminal a sentence more; otherwise the line alone, for HOLDFAST_SESSION=$(holdfast session
 * open ...). */
static void print_opened(const hf_session_info *info, const char *key, bool kept)
{
    char idle[CLI_DURATION_SIZE];
    cli_duration_format(info->idle_us, idle);
    if (isatty(STDOUT_FILENO)) {
        cli_print("Opened a session for %s; it ends after %s without a beat.\n", info->name, idle);
        puts(kept ? "It is remembered for this store. Elsewhere, put this in HOLDFAST_SESSION (it "
                    "is secret):"
                  : "Put this in HOLDFAST_SESSION (it is secret):");
    }
    printf("%s.%s\n", info->id, key);
}

static hf_status session_run_open(cli_call *call, hf_error *err)
{
    hf_session_options options;
    hf_session_info info;
    hf_session *session = NULL;
    hf_status status = read_open_options(call, &options, err);
    if (status == HF_OK)
        status = hf_session_open(call->manager, &options, &session, err);
    if (status != HF_OK)
        return status;
    const hf_credentials *credentials = hf_session_credentials(session);
    bool kept = cli_session_keep(call, credentials);
    hf_session_describe(session, &info);
    if (call->json)
        status = cli_print_json(hf_session_json(&info, credentials->key), err);
    else
        print_opened(&info, credentials->key, kept);
    hf_session_free(session);
    return status;
}

static void print_lost(const hf_lost *lost)
{
    cli_print("Lost %s/%s: it ", lost->resource.type, lost->resource.id);
    if (strcmp(lost->why, "forced") == 0)
        cli_print("was taken away by %s", lost->by);
    else if (lost->by[0] != '\0')
        cli_print("%s, and %s has acquired it since", lost->why, lost->by);
    else
        cli_print("%s", lost->why);
    cli_print(lost->reason[0] != '\0' ? " (\"%s\").\n" : "%s.\n", lost->reason);
}

/* As a shell reads it back: quoted when it holds more than these; what misleads a reader as an
 * escape, which bash, zsh and ksh know. */
static void print_for_shell(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-";
    char odd[HF_ODD_SIZE];
    bool escaped = false;
    if (text[strspn(text, plain)] == '\0') {
        fputs(text, stdout);
        return;
    }
    for (const char *at = text; *at != '\0'; at += hf_text_step(at))
        escaped |= hf_text_odd(at, odd) > 0;
    fputs(escaped ? "$'" : "'", stdout);
    for (const char *at = text; *at != '\0'; at += hf_text_step(at)) {
        if (hf_text_odd(at, odd) > 0)
            fputs(odd, stdout);
        else if (*at == '\'')
            fputs(escaped ? "\\'" : "'\\''", stdout);
        else if (*at == '\\' && escaped)
            fputs("\\\\", stdout);
        else
            fwrite(at, 1, hf_text_step(at), stdout);
    }
    putchar('\'');
}

static void print_wanted(const hf_request *request)
{
    char resource[HF_RESOURCE_SIZE];
    hf_resource_format(&request->resource, resource);
    cli_print("%s asks for %s", request->name, resource);
    cli_print(request->message[0] != '\0' ? ": \"%s\"." : "%s.", request->message);
    cli_print(" To hand it over: holdfast hand-over ");
    print_for_shell(resource);
    cli_print(" --to %s\n", request->session);
}

static void print_beat(const hf_answer *answer)
{
    char expires[CLI_TIME_SIZE];
    cli_time_format(answer->sessions[0].expires_us, answer->now_us, expires);
    printf("The session lives until %s and holds %zu lock%s.\n", expires, answer->locks_count,
           answer->locks_count == 1 ? "" : "s");
    for (size_t i = 0; i < answer->lost_count; i++)
        print_lost(&answer->lost[i]);
    for (size_t i = 0; i < answer->requests_count; i++)
        print_wanted(&answer->requests[i]);
}

/* A batch of one op on the session itself. */
static hf_status ask_session(cli_call *call, hf_op_kind kind, const hf_answer **out, hf_error *err)
{
    hf_status status = cli_batch(call, 1, err);
    if (status == HF_OK)
        status = cli_session(call, err);
    if (status != HF_OK)
        return status;
    *out = &cli_op(call, kind)->answer;
    return cli_ask(call, err);
}

static hf_status run_beat(cli_call *call, hf_error *err)
{
    const hf_answer *answer = NULL;
    hf_status status = ask_session(call, HF_OP_BEAT, &answer, err);
    if (status == HF_OK && call->json)
        return cli_print_json(hf_beat_json(answer), err);
    if (status == HF_OK)
        print_beat(answer);
    return status;
}

static hf_status run_close(cli_call *call, hf_error *err)
{
    const hf_answer *answer = NULL;
    hf_error forgetting = {0};
    hf_status status = ask_session(call, HF_OP_CLOSE, &answer, err);
    if (status != HF_OK && status != HF_EXPIRED && status != HF_NOT_FOUND)
        return status;
    if (cli_forget(call->store, call->credentials.id, &forgetting) != HF_OK)
        cli_say("The session has ended, but could not be forgotten: %s", forgetting.message);
    if (status == HF_OK && call->json)
        printf("{\"released\":%zu}\n", answer->locks_count);
    else if (status == HF_OK)
        printf("Closed the session; %zu lock%s released.\n", answer->locks_count,
               answer->locks_count == 1 ? " was" : "s were");
    return status;
}

static size_t session_count(const hf_answer *answer)
{
    return answer->sessions_count;
}

static char *session_json(const hf_answer *answer, size_t index)
{
    return hf_session_json(&answer->sessions[index], NULL);
}

static const cli_listing sessions = {
    .name = "sessions",
    .none = "No sessions are open.",
    .fetch = hf_manager_sessions,
    .table = cli_session_table,
    .add = cli_add_sessions,
    .count = session_count,
    .json = session_json,
};

static hf_status session_run_list(cli_call *call, hf_error *err)
{
    hf_list_options filter = {.user = cli_value(&call->arguments, "user")};
    return cli_print_listing(call, &sessions, &filter, err);
}

static const cli_option open_options[] = {
    {"user", "USER", "the user name of the person who works"},
    {"name", "TEXT", "the name that others see; default: the user"},
    {"idle", "DURATION", "the session ends after this long without a beat; default: 5m"},
    {"replaces", "ID.KEY",
     "an older session; its locks are released in the same step; 'remembered': the remembered one"},
    {"no-remember", NULL, "do not remember it for the next commands"},
    CLI_END_OF_OPTIONS,
};
static const cli_option session_options[] = {CLI_SESSION_OPTION, CLI_END_OF_OPTIONS};
static const cli_option list_options[] = {{"user", "USER", "only this user's"}, CLI_END_OF_OPTIONS};

const cli_verb cli_session_open = {
    .name = "session open",
    .summary = "Opens a session, which owns locks, and shows its ID.KEY once.",
    .about = "It is remembered for this store, in a file that only you can read, so that the next "
             "command "
             "finds it. To use it elsewhere: export HOLDFAST_SESSION=$(holdfast session open "
             "--user NAME "
             "--no-remember).",
    .options = open_options,
    .run = session_run_open,
};

const cli_verb cli_session_beat = {
    .name = "session beat",
    .summary = "Keeps the session alive; shows lost locks and requests for its locks.",
    .options = session_options,
    .run = run_beat,
};

const cli_verb cli_session_close = {
    .name = "session close",
    .summary = "Ends a session; all its locks are released.",
    .options = session_options,
    .run = run_close,
};

const cli_verb cli_session_list = {
    .name = "session list",
    .summary = "Lists the live sessions.",
    .options = list_options,
    .run = session_run_list,
};
