/* SPDX-License-Identifier: MIT */
/* The JSON of the command line and of HTTP. */
#include "base/seams.h"
#include "lock/fields.h"

#include <holdfast/json.h>
#include <stdio.h>
#include <string.h>

void hf_json_free(char *json)
{
    hf_free(json);
}

static void json_resource_value(hf_json *json, const hf_resource *resource)
{
    char text[HF_RESOURCE_SIZE];
    hf_resource_format(resource, text);
    hf_json_text(json, text);
}

/* An object of a row's public struct. */
static void json_value(hf_json *json, const hf_row_fields *of, const void *from)
{
    hf_json_begin(json, '{');
    hf_show_json(json, of, from);
    hf_json_end(json, '}');
}

static void json_array(hf_json *json, const char *name, const hf_row_fields *of, const void *all,
                       size_t count)
{
    hf_json_name(json, name);
    hf_json_begin(json, '[');
    for (size_t i = 0; i < count; i++)
        json_value(json, of, (const char *)all + i * of->shown_size);
    hf_json_end(json, ']');
}

static char *json_text_of(const hf_row_fields *of, const void *from)
{
    hf_json json = {0};
    json_value(&json, of, from);
    return hf_buffer_take(&json.out);
}

/* version NULL: it was never saved, or nothing is known of that. */
static void json_lock_value(hf_json *json, const hf_lock *lock, const hf_version *version)
{
    hf_json_begin(json, '{');
    hf_show_json(json, &hf_lock_fields, lock);
    if (version != NULL)
        hf_json_put_int(json, "version", version->number);
    if (version != NULL && version->gone)
        hf_json_put_bool(json, "gone", true);
    hf_json_end(json, '}');
}

/* versions: of those locks that have one, in the same order. */
static void json_locks_field(hf_json *json, const hf_answer *answer)
{
    size_t next = 0;
    hf_json_name(json, "locks");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < answer->locks_count; i++) {
        bool saved =
            next < answer->versions_count &&
            hf_resource_compare(&answer->versions[next].resource, &answer->locks[i].resource) == 0;
        json_lock_value(json, &answer->locks[i], saved ? &answer->versions[next] : NULL);
        next += saved;
    }
    hf_json_end(json, ']');
}

char *hf_lock_json(const hf_lock *lock)
{
    return json_text_of(&hf_lock_fields, lock);
}

char *hf_acquired_json(const hf_answer *answer)
{
    hf_json json = {0};
    json_lock_value(&json, &answer->locks[0],
                    answer->versions_count > 0 ? &answer->versions[0] : NULL);
    return hf_buffer_take(&json.out);
}

char *hf_version_json(const hf_version *version)
{
    return json_text_of(&hf_resource_fields, version);
}

char *hf_versions_json(const hf_version *versions, size_t count)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_array(&json, "versions", &hf_resource_fields, versions, count);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_session_json(const hf_session_info *session, const char *key)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_show_json(&json, &hf_session_fields, session);
    if (key != NULL)
        hf_json_put_text(&json, "key", key);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

/* Where a list goes on. */
static void json_next_field(hf_json *json, const hf_answer *answer)
{
    char text[HF_CURSOR_SIZE];
    if (!answer->more)
        return;
    hf_cursor_format(answer->next, text);
    hf_json_put_text(json, "next", text);
}

char *hf_locks_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_locks_field(&json, answer);
    json_next_field(&json, answer);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

static char *json_page(const hf_answer *answer, const char *name, const hf_row_fields *of,
                       const void *all, size_t count)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_array(&json, name, of, all, count);
    json_next_field(&json, answer);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_sessions_json(const hf_answer *answer)
{
    return json_page(answer, "sessions", &hf_session_fields, answer->sessions,
                     answer->sessions_count);
}

char *hf_who_json(const hf_resource *resource, const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "resource");
    json_resource_value(&json, resource);
    json_array(&json, "holders", &hf_lock_fields, answer->locks, answer->locks_count);
    json_array(&json, "requests", &hf_request_fields, answer->requests, answer->requests_count);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_beat_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_time(&json, "expires",
                     answer->sessions_count == 0 ? 0 : answer->sessions[0].expires_us);
    hf_json_put_int(&json, "locks", (int64_t)answer->locks_count);
    json_array(&json, "lost", &hf_lost_fields, answer->lost, answer->lost_count);
    json_array(&json, "requests", &hf_request_fields, answer->requests, answer->requests_count);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

static void json_conflict(hf_json *json, const hf_conflict *conflict)
{
    const hf_answer *answer = conflict->answer;
    hf_json_begin(json, '{');
    hf_json_name(json, "resource");
    json_resource_value(json, &conflict->resource);
    hf_json_put_text(json, "code", hf_status_wire(answer->status));
    hf_json_put_text(json, "message",
                     answer->message != NULL ? answer->message
                                             : hf_status_sentence(answer->status));
    hf_json_name(json, "expected");
    if (conflict->expected == 0)
        hf_json_text(json, NULL);
    else
        hf_json_int(json, conflict->expected);
    hf_json_name(json, "present");
    if (answer->versions_count == 0)
        hf_json_text(json, NULL);
    else
        json_value(json, &hf_resource_fields, &answer->versions[0]);
    hf_json_end(json, '}');
}

static void json_refusal_fields(hf_json *json, const hf_refusal *refusal)
{
    hf_json_put_text(json, "code", hf_status_wire(refusal->status));
    hf_json_put_text(json, "message", refusal->message);
    if (refusal->resource != NULL && refusal->resource[0] != '\0')
        hf_json_put_text(json, "resource", refusal->resource);
    json_array(json, "holders", &hf_lock_fields, refusal->holders, refusal->holders_count);
    if (refusal->present != NULL) {
        hf_json_name(json, "present");
        json_value(json, &hf_resource_fields, refusal->present);
    }
    if (refusal->conflicts_count == 0)
        return;
    hf_json_name(json, "conflicts");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < refusal->conflicts_count; i++)
        json_conflict(json, &refusal->conflicts[i]);
    hf_json_end(json, ']');
}

char *hf_refusal_json(const hf_refusal *refusal)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_refusal_fields(&json, refusal);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_problem_json(int http, const hf_refusal *refusal)
{
    hf_json json = {0};
    char type[64];
    snprintf(type, sizeof type, "urn:holdfast:problem:%s", hf_status_wire(refusal->status));
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "type", type);
    hf_json_put_text(&json, "title", hf_status_sentence(refusal->status));
    hf_json_put_int(&json, "status", http != 0 ? http : hf_status_http(refusal->status));
    hf_json_put_text(&json, "detail", refusal->message);
    json_refusal_fields(&json, refusal);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_type_json(const hf_type *type)
{
    return json_text_of(&hf_type_fields, type);
}

char *hf_types_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_array(&json, "types", &hf_type_fields, answer->types, answer->types_count);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_event_json(const hf_event *event)
{
    return json_text_of(&hf_event_fields, event);
}

char *hf_events_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_array(&json, "events", &hf_event_fields, answer->events, answer->events_count);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_token_json(const hf_token *token)
{
    return json_text_of(&hf_token_fields, token);
}

char *hf_tokens_json(const hf_answer *answer)
{
    return json_page(answer, "tokens", &hf_token_fields, answer->tokens, answer->tokens_count);
}

char *hf_token_key_json(const hf_token_key *key)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "id", key->id);
    hf_json_put_text(&json, "token", key->secret);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}
