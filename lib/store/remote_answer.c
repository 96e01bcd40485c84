/* SPDX-License-Identifier: MIT */
/* What an answer of a server means, or that there was none. A server of holdfast's says it itself,
 * as problem details with a `code`; anything else on the way (a proxy, another program) only has
 * its HTTP status. */
#include "base/error.h"
#include "base/json_parse.h"
#include "store/remote.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 100000 };

#define ASK_AGAIN "ask again with the same request id to find out whether it was done"

/* ---- when there is none ---- */

static hf_status remote_answer_explain_connect(const remote_target *target, const remote_call *call,
                                               hf_error *err)
{
    switch (call->code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return hf_fail_away(
            err, HF_UNAVAILABLE,
            "The host of %s is not known; check the URL, or the network. Nothing was done.",
            target->name);
    case CURLE_COULDNT_CONNECT:
        return hf_fail_away(
            err, HF_UNAVAILABLE,
            "There is no connection to %s: %s. Is the server running? Nothing was done.",
            target->name,
            call->os_errno != 0 ? strerrordesc_np((int)call->os_errno) : call->why);
    case CURLE_OPERATION_TIMEDOUT:
        return hf_fail_away(err, HF_UNAVAILABLE,
                            "%s took no connection within %ld ms. Nothing was done.", target->name,
                            target->connect_ms);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is not trusted: %s. If it should be, name the certificate of whoever "
                       "signs for it with "
                       "ca_file=PATH. Nothing was done.",
                       target->name, call->why);
    case CURLE_SSL_CONNECT_ERROR:
        return hf_fail(
            err, HF_UNAVAILABLE,
            "There is no TLS with %s: %s. Does it speak http:// there? Nothing was done.",
            target->name, call->why);
    default:
        return hf_fail(err, HF_UNAVAILABLE, "%s can't be reached: %s. Nothing was done.",
                       target->name, call->why);
    }
}

/* It was sent, and no whole answer came. */
static hf_status remote_answer_explain_loss(const remote_target *target, const remote_call *call,
                                            bool changes, hf_error *err)
{
    hf_status status = changes ? HF_UNSURE : HF_UNAVAILABLE;
    const char *then = changes ? ASK_AGAIN : "try again";
    if (call->too_large)
        return hf_fail(err, status,
                       "The answer of %s is larger than anything holdfast answers; %s.",
                       target->name, then);
    if (call->no_memory)
        return hf_fail(err, changes ? HF_UNSURE : HF_NO_MEMORY,
                       "Out of memory: the answer of %s was lost; %s.", target->name, then);
    if (call->code == CURLE_OPERATION_TIMEDOUT)
        return hf_fail_away(err, status, "%s did not answer within %ld ms; %s.", target->name,
                            target->timeout_ms, then);
    if (call->code == CURLE_ABORTED_BY_CALLBACK)
        return hf_fail_away(err, status, "%s closed the connection instead of answering; %s.",
                            target->name, then);
    return hf_fail_away(err, status, "The answer of %s was lost on its way: %s; %s.", target->name,
                        call->why, then);
}

hf_status remote_explain_again(const remote_target *target, const remote_call *call, hf_error *err)
{
    return hf_fail(err, HF_UNSURE,
                   "%s closed the connection instead of answering, and refused what was sent again "
                   "(it answered "
                   "%ld); " ASK_AGAIN ".",
                   target->name, call->http);
}

/* ---- problem details ---- */

/* The text of a field, if it is there and fit to be shown. */
static const char *remote_answer_text_of(const hf_json_value *object, const char *name)
{
    const hf_json_value *field = hf_json_field(object, name);
    bool good = field != NULL && field->type == HF_JSON_TEXT && field->text.size > 0 &&
                hf_text_is_clean(field->text.at, field->text.size);
    return good ? field->text.at : NULL;
}

/* The answer as a JSON object; NULL: it is none. */
static const hf_json_value *remote_answer_object_of(const remote_call *call, hf_arena *arena)
{
    hf_json_value *root = NULL;
    hf_json_source source = {"The answer", call->answer.text, call->answer.size, HF_BUFFER_MAX,
                             VALUES_MAX};
    if (call->answer.size == 0 || hf_json_parse(&source, arena, &root, NULL) != HF_OK)
        return NULL;
    return root->type == HF_JSON_OBJECT ? root : NULL;
}

/* Gateways say `code` too, and may say it of a request that was carried out. holdfast's own are
 * known by their type, and came with the status they name. HF_OK: it is none of those. */
static hf_status remote_answer_code_of(const remote_call *call, const hf_json_value *problem)
{
    const char *code = problem == NULL ? NULL : remote_answer_text_of(problem, "code");
    const char *type = problem == NULL ? NULL : remote_answer_text_of(problem, "type");
    const hf_json_value *http = problem == NULL ? NULL : hf_json_field(problem, "status");
    hf_status status = code == NULL ? HF_OK : hf_status_from_wire(code);
    char own[64];
    snprintf(own, sizeof own, "urn:holdfast:problem:%s", code == NULL ? "" : code);
    bool ours = type != NULL && strcmp(type, own) == 0 && http != NULL &&
                http->type == HF_JSON_WHOLE && http->whole == call->http;
    return ours && status != HF_STATUS_COUNT ? status : HF_OK;
}

/* HF_OK: these are no problem details of holdfast's about this request. That there is nothing at
 * the path is no word about a session that the request names, which would be taken for dead. */
static hf_status remote_answer_pass_on(const remote_target *target, const remote_call *call,
                                       const hf_json_value *problem, hf_error *err)
{
    hf_status status = remote_answer_code_of(call, problem);
    if (status == HF_OK || status == HF_NOT_FOUND || status == HF_EXPIRED)
        return HF_OK;
    const char *message = remote_answer_text_of(problem, "message"),
               *resource = remote_answer_text_of(problem, "resource");
    if (message == NULL)
        message = remote_answer_text_of(problem, "detail");
    if (message != NULL)
        hf_error_set(err, status, "%s", message);
    else
        hf_error_set(err, status, "%s says: %s.", target->name, hf_status_sentence(status));
    if (status == HF_UNAVAILABLE)
        hf_error_away(err);
    if (err != NULL && resource != NULL)
        hf_slice_copy(err->resource, sizeof err->resource, hf_slice_of(resource));
    return status;
}

/* ---- other answers ---- */

/* Proxies answer 503 also when the connection to the server broke after it had the request. */

static hf_status remote_answer_explain_status(const remote_target *target, long http, bool changes,
                                              hf_error *err)
{
    switch (http) {
    case 401:
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "%s wants to know who calls: give a token with --token-file, token_file= or "
                       "HOLDFAST_TOKEN.",
                       target->name);
    case 403:
        return hf_fail(err, HF_DENIED,
                       "%s does not allow it, without saying why; ask whoever runs it.",
                       target->name);
    case 413:
        return hf_fail(err, HF_TOO_LARGE,
                       "%s takes no requests of that size; ask for less at once.", target->name);
    case 429:
        return hf_fail(err, HF_TOO_MANY, "%s was asked too often; wait a little.", target->name);
    case 408:
        return hf_fail_away(
            err, HF_UNAVAILABLE,
            "%s is not ready to serve (it answered %ld); try again later.", target->name,
            http);
    default:
        if (http >= 500)
            return hf_fail_away(
                err, changes ? HF_UNSURE : HF_UNAVAILABLE,
                "%s failed, or a proxy before it (it answered %ld); %s.", target->name,
                http, changes ? ASK_AGAIN : "try again");
        return hf_fail(
            err, HF_UNAVAILABLE,
            "There is no holdfast server at %s: something else answered with %ld. Check the URL.",
            target->name, http);
    }
}

hf_status remote_outcome(const remote_target *target, const remote_call *call, bool changes,
                         hf_error *err)
{
    bool told = call->http >= 300; /* a status that says no was read, whatever became of the rest */
    if (call->code == CURLE_OK && call->http == 200)
        return HF_OK;
    if (call->begun == 0)
        return call->no_memory ? hf_fail_memory(err)
                               : remote_answer_explain_connect(target, call, err);
    if (call->code != CURLE_OK && !told)
        return remote_answer_explain_loss(target, call, changes, err);
    if (call->begun > 1 && changes)
        return remote_explain_again(target, call, err);
    hf_arena arena = {0};
    hf_status status =
        remote_answer_pass_on(target, call, remote_answer_object_of(call, &arena), err);
    hf_arena_done(&arena);
    return status != HF_OK ? status
                           : remote_answer_explain_status(target, call->http, changes, err);
}

/* ---- readiness ---- */

static bool remote_answer_read_grade(const hf_json_value *answer, hf_grade *out)
{
    const char *grade = answer == NULL ? NULL : remote_answer_text_of(answer, "grade");
    const char *text = answer == NULL ? NULL : remote_answer_text_of(answer, "text");
    for (int level = 0; grade != NULL && level <= HF_GRADE_DISK; level++) {
        if (strcmp(grade, hf_grade_level_name((hf_grade_level)level)) != 0)
            continue;
        const hf_json_value *broken = hf_json_field(answer, "broken");
        *out = (hf_grade){.level = (hf_grade_level)level,
                          .broken = broken != NULL && broken->type == HF_JSON_BOOL && broken->yes};
        hf_slice_copy(out->text, sizeof out->text, hf_slice_of(text == NULL ? grade : text));
        return true;
    }
    return false;
}

hf_status remote_ready(const remote_target *target, const remote_call *call, hf_grade *out,
                       hf_error *err)
{
    hf_arena arena = {0};
    hf_grade grade;
    hf_status status = HF_OK;
    bool whole = call->code == CURLE_OK && (call->http == 200 || call->http == 503);
    bool known = whole && remote_answer_read_grade(remote_answer_object_of(call, &arena), &grade);
    if (known)
        *out = grade;
    if (known && call->http != 200)
        status = hf_fail_away(err, HF_UNAVAILABLE, "%s is not ready: %s.", target->name,
                              grade.text);
    else if (!known && call->code == CURLE_OK && call->http == 200)
        status =
            hf_fail(err, HF_UNAVAILABLE,
                    "There is no holdfast server at %s: something else answered. Check the URL.",
                    target->name);
    else if (!known)
        status = remote_outcome(target, call, false, err);
    hf_arena_done(&arena);
    return status;
}
