/* SPDX-License-Identifier: MIT */
/* One call of the program, from its arguments to the answer of the store. Operands are read before
 * the store is opened: bad input opens and changes nothing. */
#include "cli/call.h"

#include "base/error.h"
#include "base/redact.h"
#include "base/seams.h"
#include "base/text.h"
#include "cli/hide.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_call_done(cli_call *call)
{
    hf_result_free(call->result);
    hf_batch_free(call->batch);
    free(call->resources);
    free(call->conflicts);
    hf_manager_close(call->manager);
    hf_credentials_clear(&call->credentials);
    explicit_bzero(call, sizeof *call);
}

hf_status cli_resource(const char *text, hf_resource *out, hf_error *err)
{
    hf_credentials pasted;
    char shown[CLI_URL_SIZE];
    if (hf_credentials_parse(text, &pasted, NULL) == HF_OK) {
        hf_credentials_clear(&pasted);
        return hf_fail(err, HF_INVALID,
                       "A session was given where a resource is expected; use --session.");
    }
    if (strstr(text, "://") != NULL && hf_url_redact(text, shown, sizeof shown))
        return hf_fail(err, HF_INVALID,
                       "A URL with a password was given where a resource is expected; use "
                       "--store.");
    return hf_resource_parse(text, out, err);
}

/* Is the last of them among those before it? What is said twice would be counted twice. */
static hf_status check_once(const hf_resource *resources, int last, hf_error *err)
{
    for (int i = 0; i < last; i++)
        if (hf_resource_compare(&resources[i], &resources[last]) == 0)
            return hf_fail(err, HF_INVALID, "%s/%s is named twice; name each resource once.",
                           resources[last].type, resources[last].id);
    return HF_OK;
}

hf_status cli_resources(cli_call *call, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    hf_error flaw = {0};
    call->resources = calloc((size_t)arguments->operands_count + 1, sizeof *call->resources);
    if (call->resources == NULL)
        return hf_fail_memory(err);
    for (int i = 0; i < arguments->operands_count; i++) {
        hf_status status = cli_resource(arguments->operands[i], &call->resources[i], &flaw);
        if (status != HF_OK && arguments->operands_count > 1)
            return hf_fail(err, status, "Resource %d of %d: %s", i + 1, arguments->operands_count,
                           flaw.message);
        if (status != HF_OK)
            return hf_fail(err, status, "%s", flaw.message);
        if ((status = check_once(call->resources, i, err)) != HF_OK)
            return status;
    }
    return HF_OK;
}

/* The URL: --store, HOLDFAST_STORE, or the default store's, for which there is room in `standard`.
 * */
static hf_status store_url(const cli_call *call, char standard[CLI_URL_SIZE], const char **out,
                           hf_error *err)
{
    *out = cli_value(&call->arguments, "store");
    if (*out == NULL)
        *out = getenv("HOLDFAST_STORE");
    if (*out != NULL && ((*out)[0] != '\0' || cli_has(&call->arguments, "store")))
        return HF_OK;
    *out = standard;
    return cli_default_store(standard, err);
}

hf_status cli_store_url(const cli_call *call, char room[CLI_URL_SIZE], const char **out,
                        hf_error *err)
{
    char standard[CLI_URL_SIZE];
    const char *file = cli_value(&call->arguments, "token-file");
    hf_status status = store_url(call, file == NULL ? room : standard, out, err);
    if (status == HF_OK && file == NULL)
        cli_warn_plain(*out);
    if (status != HF_OK || file == NULL)
        return status;
    status = cli_url_with_token(*out, file, room, err);
    *out = room;
    return status;
}

static hf_status call_open_store(cli_call *call,
                                 hf_status (*open)(const char *url, hf_store **out, hf_error *err),
                                 hf_error *err)
{
    hf_store *store = NULL;
    char room[CLI_URL_SIZE];
    const char *url;
    if (call->manager != NULL)
        return HF_OK;
    hf_status status = cli_store_url(call, room, &url, err);
    if (status == HF_OK)
        status = open(url, &store, err);
    if (status == HF_OK || status == HF_NOT_FOUND)
        cli_store_name(url, call->store);
    return status == HF_OK ? hf_manager_on(store, &call->manager, err) : status;
}

hf_status cli_open(cli_call *call, hf_error *err)
{
    return call_open_store(call, hf_store_open, err);
}

hf_status cli_open_existing(cli_call *call, hf_error *err)
{
    return call_open_store(call, hf_store_open_existing, err);
}

hf_status cli_session_remembered(cli_call *call, hf_error *err)
{
    hf_status status = cli_remembered(call->store, call->session, err);
    if (status != HF_NOT_FOUND)
        return status;
    call->sessionless = true;
    return hf_fail(err, HF_UNAUTHENTICATED,
                   "No session is given or remembered for %s; open one with 'holdfast session open "
                   "--user NAME', or "
                   "give one in HOLDFAST_SESSION or with --session ID.KEY.",
                   call->store);
}

static hf_status call_read_session(cli_call *call, const char *given, hf_error *err)
{
    hf_error flaw = {0};
    hf_status status = hf_credentials_parse(given, &call->credentials, &flaw);
    if (status == HF_OK)
        return HF_OK;
    switch (call->origin) {
    case CLI_FROM_OPTION:
        return hf_fail(err, status, "--session holds no session: %s", flaw.message);
    case CLI_FROM_ENVIRONMENT:
        return hf_fail(err, status, "HOLDFAST_SESSION holds no session: %s", flaw.message);
    default:
        return hf_fail(err, status, "What is remembered for %s is no session: %s", call->store,
                       flaw.message);
    }
}

hf_status cli_session(cli_call *call, hf_error *err)
{
    const char *option = cli_value(&call->arguments, "session");
    const char *variable = getenv("HOLDFAST_SESSION");
    const char *given = option;
    hf_status status = HF_OK;
    if (option != NULL) {
        call->origin = CLI_FROM_OPTION;
    } else if (variable != NULL && variable[0] != '\0') {
        call->origin = CLI_FROM_ENVIRONMENT;
        given = variable;
    } else {
        call->origin = CLI_FROM_MEMORY;
        status = cli_session_remembered(call, err);
        given = call->session;
    }
    if (status == HF_OK)
        status = call_read_session(call, given, err);
    if (status != HF_OK) {
        call->origin = CLI_NO_SESSION;
        return status;
    }
    snprintf(call->session, sizeof call->session, "%s.%s", call->credentials.id,
             call->credentials.key);
    return HF_OK;
}

/* A fresh id, with which an unsure answer is settled by asking again. */
static hf_status draw_request_id(cli_call *call, hf_error *err)
{
    unsigned char bytes[16];
    if (!hf_seam.random(bytes, sizeof bytes))
        return hf_fail(err, HF_INTERNAL, "Reading random bytes failed; nothing was done.");
    hf_hex(bytes, sizeof bytes, call->request_id);
    return HF_OK;
}

hf_status cli_batch(cli_call *call, size_t count, hf_error *err)
{
    hf_status status = hf_batch_new(count, &call->batch, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    if (status == HF_OK)
        status = draw_request_id(call, err);
    return status;
}

hf_op *cli_op(cli_call *call, hf_op_kind kind)
{
    hf_op *op = hf_batch_add(call->batch, kind);
    op->session = call->origin != CLI_NO_SESSION ? &call->credentials : NULL;
    op->request_id = call->request_id;
    return op;
}

hf_status cli_session_op(cli_call *call, hf_op_kind kind, hf_op **out, hf_error *err)
{
    int64_t fence = 0;
    hf_status status = cli_resources(call, err);
    if (status == HF_OK)
        status = cli_value_number(&call->arguments, "fence", 1, &fence, err);
    if (status == HF_OK)
        status = cli_batch(call, 1, err);
    if (status == HF_OK)
        status = cli_session(call, err);
    if (status != HF_OK)
        return status;
    hf_op *op = cli_op(call, kind);
    op->type = call->resources[0].type;
    op->id = call->resources[0].id;
    op->fence = fence;
    *out = op;
    return HF_OK;
}

hf_status cli_target(const cli_call *call, char out[CLI_TARGET_SIZE], hf_error *err)
{
    const char *to = cli_value(&call->arguments, "to");
    if (to == NULL)
        return hf_fail(
            err, HF_INVALID,
            "Name the other session by --to SESSION-ID; 'holdfast who RESOURCE' shows who "
            "asks.");
    snprintf(out, CLI_TARGET_SIZE, "%.*s", (int)strcspn(to, "."), to);
    return HF_OK;
}

hf_status cli_op_error(const hf_op *op, hf_error *err)
{
    const hf_answer *answer = &op->answer;
    if (answer->status == HF_OK)
        return HF_OK;
    hf_fail(err, answer->status, "%s",
            answer->message != NULL ? answer->message : hf_status_sentence(answer->status));
    if (answer->locks_count > 0 && answer->locks != NULL)
        err->holder = answer->locks[0];
    if (op->type != NULL && op->id != NULL)
        snprintf(err->resource, sizeof err->resource, "%s/%s", op->type, op->id);
    return answer->status;
}

hf_status cli_execute(cli_call *call, hf_error *err)
{
    hf_store *store = hf_manager_store(call->manager);
    call->sessionless = false;
    hf_status status = hf_store_execute(store, call->batch, err);
    if (status == HF_UNSURE)
        status = hf_store_execute(store, call->batch, err); /* the same request id settles it */
    return status;
}

hf_status cli_ask(cli_call *call, hf_error *err)
{
    hf_status status = cli_execute(call, err);
    if (status != HF_OK)
        return status;
    const hf_op *op = hf_batch_op(call->batch, 0);
    call->holders = op->answer.locks;
    call->holders_count =
        op->answer.locks != NULL ? op->answer.locks_count : 0; /* some answer only how many */
    return cli_op_error(op, err);
}

hf_status cli_ask_lock(cli_call *call, const char *word, hf_error *err)
{
    hf_status status = cli_ask(call, err);
    if (status != HF_OK)
        return status;
    const hf_answer *answer = &hf_batch_op(call->batch, 0)->answer;
    if (answer->locks_count == 0) /* it was done before, and the lock has moved on since */
        return hf_fail(err, HF_NOT_HELD,
                       "It was done, but the lock has ended since; see 'holdfast who'.");
    if (call->json)
        return cli_print_json(hf_lock_json(&answer->locks[0]), err);
    cli_print_lock(word, &answer->locks[0], answer->now_us);
    return HF_OK;
}

void cli_list_begin(cli_call *call, const char *name)
{
    printf("{\"%s\":[", name);
    call->in_list = true;
}

void cli_list_end(cli_call *call, hf_status status)
{
    if (status != HF_OK || !call->in_list)
        return;
    puts("]}");
    call->in_list = false;
}

static void print_refusal_json(const cli_call *call, char *json)
{
    if (json != NULL)
        printf("%s%s\n", call->in_list ? "]," : "", call->in_list ? json + 1 : json);
    hf_json_free(json);
}

static void say_further_conflicts(const cli_call *call, const char *said)
{
    for (size_t i = 0; i < call->conflicts_count; i++) {
        const char *message = call->conflicts[i].answer->message;
        if (message != NULL && strcmp(message, said) != 0)
            cli_say("%s", message);
    }
}

void cli_print_refusal(const cli_call *call, hf_status status, hf_error *err)
{
    const hf_lock *holders = call->holders;
    size_t count = call->holders_count;
    if (count == 0 && err->holder.session[0] != '\0') {
        holders = &err->holder;
        count = 1;
    }
    cli_hide_in(err->message); /* what the user typed may be in the sentence */
    hf_text_show(err->message, sizeof err->message);
    const char *message = err->message[0] != '\0' ? err->message : hf_status_sentence(status);
    if (call->json) {
        hf_refusal refusal = {.status = status,
                              .message = message,
                              .resource = err->resource,
                              .holders = holders,
                              .holders_count = count,
                              .conflicts = call->conflicts,
                              .conflicts_count = call->conflicts_count};
        print_refusal_json(call, hf_refusal_json(&refusal));
        return;
    }
    fflush(stdout);
    cli_say("%s", message);
    say_further_conflicts(call, message);
    /* that could be the other session */
    if (status == HF_EXPIRED && !cli_has(&call->arguments, "to"))
        cli_say("Open a new session with 'holdfast session open --user NAME'.");
    if (status == HF_UNAUTHENTICATED && !call->sessionless && cli_is_server(call->store))
        cli_say("Give the token with %s or in HOLDFAST_TOKEN.",
                call->arguments.verb == &cli_serve ? "token_file=PATH in the store's URL"
                                                   : "--token-file FILE");
}

void cli_system_user(char out[HF_TEXT_SIZE])
{
    const struct passwd *user = getpwuid(getuid());
    if (user != NULL)
        snprintf(out, HF_TEXT_SIZE, "%s", user->pw_name);
    else
        snprintf(out, HF_TEXT_SIZE, "uid %u", (unsigned)getuid());
}
