/* SPDX-License-Identifier: MIT */
/* The JSON of the command line and of HTTP. */
#include "base/json.h"
#include "base/seams.h"

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

/* "" reads as null: there is none. */
static void json_maybe_field(hf_json *json, const char *name, const char *text)
{
    hf_json_put_text(json, name, text[0] == '\0' ? NULL : text);
}

/* 0 reads as null: there is none. */
static void json_maybe_int_field(hf_json *json, const char *name, int64_t value)
{
    hf_json_name(json, name);
    if (value == 0)
        hf_json_text(json, NULL);
    else
        hf_json_int(json, value);
}

/* version NULL: it was never saved, or nothing is known of that. */
static void json_lock_value(hf_json *json, const hf_lock *lock, const hf_version *version)
{
    hf_json_begin(json, '{');
    hf_json_name(json, "resource");
    json_resource_value(json, &lock->resource);
    hf_json_put_text(json, "mode", hf_mode_name(lock->mode));
    hf_json_put_int(json, "fence", lock->fence);
    hf_json_put_time(json, "since", lock->since_us);
    hf_json_put_time(json, "expires", lock->expires_us);
    hf_json_put_text(json, "purpose", lock->purpose);
    hf_json_put_text(json, "session", lock->session);
    hf_json_put_text(json, "user", lock->user);
    hf_json_put_text(json, "name", lock->name);
    if (version != NULL)
        hf_json_put_int(json, "version", version->number);
    if (version != NULL && version->gone)
        hf_json_put_bool(json, "gone", true);
    hf_json_end(json, '}');
}

/* versions: of those locks that have one, in the same order. */
static void json_locks_field(hf_json *json, const char *name, const hf_lock *locks, size_t count,
                             const hf_version *versions, size_t versions_count)
{
    size_t next = 0;
    hf_json_name(json, name);
    hf_json_begin(json, '[');
    for (size_t i = 0; i < count; i++) {
        bool saved = next < versions_count &&
                     hf_resource_compare(&versions[next].resource, &locks[i].resource) == 0;
        json_lock_value(json, &locks[i], saved ? &versions[next] : NULL);
        next += saved;
    }
    hf_json_end(json, ']');
}

static void json_version(hf_json *json, const hf_version *version)
{
    hf_json_begin(json, '{');
    hf_json_name(json, "resource");
    json_resource_value(json, &version->resource);
    hf_json_put_int(json, "version", version->number);
    json_maybe_int_field(json, "fence", version->fence);
    hf_json_put_time(json, "saved", version->saved_us);
    json_maybe_field(json, "session", version->session);
    json_maybe_field(json, "user", version->user);
    json_maybe_field(json, "name", version->name);
    hf_json_put_bool(json, "gone", version->gone);
    hf_json_end(json, '}');
}

static void json_requests_field(hf_json *json, const hf_answer *answer)
{
    hf_json_name(json, "requests");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < answer->requests_count; i++) {
        const hf_request *request = &answer->requests[i];
        hf_json_begin(json, '{');
        hf_json_name(json, "resource");
        json_resource_value(json, &request->resource);
        hf_json_put_text(json, "session", request->session);
        hf_json_put_text(json, "name", request->name);
        hf_json_put_text(json, "message", request->message);
        hf_json_put_time(json, "at", request->at_us);
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
}

char *hf_lock_json(const hf_lock *lock)
{
    hf_json json = {0};
    json_lock_value(&json, lock, NULL);
    return hf_buffer_take(&json.out);
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
    hf_json json = {0};
    json_version(&json, version);
    return hf_buffer_take(&json.out);
}

char *hf_versions_json(const hf_version *versions, size_t count)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "versions");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < count; i++)
        json_version(&json, &versions[i]);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

static void json_session_value(hf_json *json, const hf_session_info *session, const char *key)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "id", session->id);
    if (key != NULL)
        hf_json_put_text(json, "key", key);
    hf_json_put_text(json, "user", session->user);
    hf_json_put_text(json, "name", session->name);
    hf_json_name(json, "idle_seconds");
    hf_json_seconds(json, session->idle_us);
    hf_json_put_time(json, "expires", session->expires_us);
    hf_json_end(json, '}');
}

char *hf_session_json(const hf_session_info *session, const char *key)
{
    hf_json json = {0};
    json_session_value(&json, session, key);
    return hf_buffer_take(&json.out);
}

/* Where a list goes on. */
static void json_next_field(hf_json *json, const hf_answer *answer)
{
    char text[HF_CURSOR_SIZE];
    if (!answer->more)
        return;
    hf_cursor_format(&answer->next, text);
    hf_json_put_text(json, "next", text);
}

char *hf_locks_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    json_locks_field(&json, "locks", answer->locks, answer->locks_count, answer->versions,
                     answer->versions_count);
    json_next_field(&json, answer);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_sessions_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "sessions");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < answer->sessions_count; i++)
        json_session_value(&json, &answer->sessions[i], NULL);
    hf_json_end(&json, ']');
    json_next_field(&json, answer);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

char *hf_who_json(const hf_resource *resource, const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "resource");
    json_resource_value(&json, resource);
    json_locks_field(&json, "holders", answer->locks, answer->locks_count, NULL, 0);
    json_requests_field(&json, answer);
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
    hf_json_name(&json, "lost");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < answer->lost_count; i++) {
        hf_json_begin(&json, '{');
        hf_json_name(&json, "resource");
        json_resource_value(&json, &answer->lost[i].resource);
        hf_json_put_text(&json, "why", answer->lost[i].why);
        json_maybe_field(&json, "by", answer->lost[i].by);
        json_maybe_field(&json, "reason", answer->lost[i].reason);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    json_requests_field(&json, answer);
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
    json_maybe_int_field(json, "expected", conflict->expected);
    hf_json_name(json, "present");
    if (answer->versions_count == 0)
        hf_json_text(json, NULL);
    else
        json_version(json, &answer->versions[0]);
    hf_json_end(json, '}');
}

static void json_refusal_fields(hf_json *json, const hf_refusal *refusal)
{
    hf_json_put_text(json, "code", hf_status_wire(refusal->status));
    hf_json_put_text(json, "message", refusal->message);
    if (refusal->resource != NULL && refusal->resource[0] != '\0')
        hf_json_put_text(json, "resource", refusal->resource);
    json_locks_field(json, "holders", refusal->holders, refusal->holders_count, NULL, 0);
    if (refusal->present != NULL) {
        hf_json_name(json, "present");
        json_version(json, refusal->present);
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

static void json_ttl_field(hf_json *json, const char *name, int64_t us)
{
    hf_json_name(json, name);
    if (us == 0)
        hf_json_text(json, NULL);
    else
        hf_json_seconds(json, us);
}

static void json_type_value(hf_json *json, const hf_type *type)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "type", type->type);
    hf_json_put_text(json, "policy", hf_policy_name(type->policy));
    json_ttl_field(json, "ttl_seconds", type->ttl_us);
    json_ttl_field(json, "max_ttl_seconds", type->ttl_max_us);
    hf_json_end(json, '}');
}

char *hf_type_json(const hf_type *type)
{
    hf_json json = {0};
    json_type_value(&json, type);
    return hf_buffer_take(&json.out);
}

char *hf_types_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "types");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < answer->types_count; i++)
        json_type_value(&json, &answer->types[i]);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

static void json_event_value(hf_json *json, const hf_event *event)
{
    hf_json_begin(json, '{');
    hf_json_put_int(json, "seq", event->seq);
    hf_json_put_time(json, "at", event->at_us);
    hf_json_put_text(json, "kind", hf_event_kind_name(event->kind));
    hf_json_name(json, "resource");
    if (event->resource.id[0] != '\0')
        json_resource_value(json, &event->resource);
    else
        hf_json_text(json, event->resource.type[0] == '\0' ? NULL : event->resource.type);
    json_maybe_field(json, "session", event->session);
    json_maybe_field(json, "user", event->user);
    json_maybe_field(json, "actor", event->actor);
    json_maybe_int_field(json, "fence", event->fence);
    json_maybe_field(json, "reason", event->reason);
    hf_json_end(json, '}');
}

char *hf_event_json(const hf_event *event)
{
    hf_json json = {0};
    json_event_value(&json, event);
    return hf_buffer_take(&json.out);
}

char *hf_events_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "events");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < answer->events_count; i++)
        json_event_value(&json, &answer->events[i]);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

static void json_token_value(hf_json *json, const hf_token *token)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "id", token->id);
    hf_json_put_text(json, "name", token->name);
    hf_json_put_text(json, "roles", token->roles);
    json_maybe_field(json, "users", token->users);
    hf_json_put_time(json, "created", token->created_us);
    hf_json_put_time(json, "expires", token->expires_us);
    hf_json_put_time(json, "revoked", token->revoked_us);
    hf_json_end(json, '}');
}

char *hf_token_json(const hf_token *token)
{
    hf_json json = {0};
    json_token_value(&json, token);
    return hf_buffer_take(&json.out);
}

char *hf_tokens_json(const hf_answer *answer)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "tokens");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < answer->tokens_count; i++)
        json_token_value(&json, &answer->tokens[i]);
    hf_json_end(&json, ']');
    json_next_field(&json, answer);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
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
