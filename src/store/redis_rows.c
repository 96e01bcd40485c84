/* SPDX-License-Identifier: MIT */
/* The store on Redis: rows as text. Fields end in a tab; a resource has a line for itself and one
 * for each lock and each request, so that redis-cli shows what is there:
 *
 *   resource   REV FENCE
 *              E ENDED_SESSION ENDED_FENCE ENDED_US ENDED_REQUEST    if there is a trace
 *              V VERSION FENCE US SESSION USER NAME REQUEST GONE     if it was saved
 *              L SESSION MODE FENCE SINCE ENDS PURPOSE REQUEST       each lock
 *              Q SESSION AT MESSAGE                                  each request
 *   session    REV EXPIRES ENDED IDLE OPENED KEY_SHA256 USER NAME CALLER REQUEST
 *   type       REV POLICY TTL TTL_MAX
 *   lost       FENCE AT WHY BY REASON
 *   past       VERSION FENCE SAVED GONE COVERED
 *   event      AT KIND TYPE ID SESSION USER ACTOR FENCE REASON
 *   token      ID SHA256 NAME ROLES USERS CREATED EXPIRES REVOKED REQUEST
 *
 * A number that is 0 is empty. */
#include "store/redis.h"

#include <string.h>

/* ---- fields ---- */

hf_slice redis_field(hf_slice *left)
{
    const char *end = left->size == 0 ? NULL : memchr(left->at, '\t', left->size);
    if (end == NULL) {
        *left = (hf_slice){NULL, 0};
        return (hf_slice){NULL, 0};
    }
    hf_slice out = {left->at, (size_t)(end - left->at)};
    left->at += out.size + 1;
    left->size -= out.size + 1;
    return out;
}

static int64_t redis_rows_number(hf_slice text, bool *good)
{
    bool minus = text.size > 0 && text.at[0] == '-';
    int64_t number = 0;
    *good &= text.at != NULL && !(minus && text.size == 1);
    for (size_t i = minus; i < text.size; i++) {
        int digit = text.at[i] - '0';
        *good &= digit >= 0 && digit <= 9 && !__builtin_mul_overflow(number, 10, &number) &&
                 !__builtin_add_overflow(number, digit, &number);
    }
    return minus ? -number : number;
}

int64_t redis_field_number(hf_slice *left, bool *good)
{
    return redis_rows_number(redis_field(left), good);
}

int64_t redis_number_of(hf_slice text)
{
    bool good = true;
    if (text.size > 0 && text.at[text.size - 1] == '\t')
        text.size--;
    int64_t number = redis_rows_number(text, &good);
    return good ? number : 0;
}

/* A field that is there, if perhaps empty. */
static hf_slice redis_rows_text(hf_slice *left, bool *good)
{
    hf_slice text = redis_field(left);
    *good &= text.at != NULL;
    return text.size == 0 ? HF_NOTHING : text;
}

static void redis_rows_id(hf_slice *left, char out[HF_SESSION_ID_SIZE], bool may_miss, bool *good)
{
    hf_slice text = redis_field(left);
    *good &= text.at != NULL && (text.size == HF_SESSION_ID_MAX || (may_miss && text.size == 0));
    memset(out, 0, HF_SESSION_ID_SIZE);
    hf_slice_copy(out, HF_SESSION_ID_SIZE, text);
}

static void redis_rows_hash(hf_slice *left, unsigned char out[32], bool *good)
{
    hf_slice text = redis_field(left);
    *good &= text.size == 64 && hf_is_hex(text.at, text.size);
    for (size_t i = 0; *good && i < 32; i++)
        out[i] =
            (unsigned char)(hf_hex_digit(text.at[2 * i]) * 16 + hf_hex_digit(text.at[2 * i + 1]));
}

void redis_put_field(hf_buffer *out, hf_slice field)
{
    hf_buffer_add(out, field.at, field.size);
    hf_buffer_add(out, "\t", 1);
}

void redis_put_number(hf_buffer *out, int64_t number)
{
    char text[24], *at = text + sizeof text;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    *--at = '\t';
    for (; left > 0; left /= 10)
        *--at = (char)('0' + left % 10);
    if (number < 0)
        *--at = '-';
    hf_buffer_add(out, at, (size_t)(text + sizeof text - at));
}

static void redis_rows_put_hash(hf_buffer *out, const unsigned char hash[32])
{
    char hex[65];
    hf_hex(hash, 32, hex);
    redis_put_field(out, (hf_slice){hex, 64});
}

static void redis_rows_put_id(hf_buffer *out, const char *id)
{
    redis_put_field(out, hf_slice_of(id));
}

/* What a value begins with, up to where the rest of it is. */
static hf_slice redis_rows_begin(hf_slice value, hf_slice rest)
{
    return (hf_slice){value.at, value.size - rest.size};
}

bool redis_split(hf_slice member, hf_slice *type, hf_slice *rest)
{
    const char *mark = member.size == 0 ? NULL : memchr(member.at, '\1', member.size);
    if (mark == NULL)
        return false;
    *type = (hf_slice){member.at, (size_t)(mark - member.at)};
    *rest = (hf_slice){mark + 1, member.size - type->size - 1};
    return true;
}

/* ---- sessions ---- */

bool redis_read_session(hf_session_row *row, hf_slice value, hf_slice *compared)
{
    hf_slice left = value;
    bool good = true;
    row->rev = redis_field_number(&left, &good);
    *compared = redis_rows_begin(value, left);
    row->expires_us = redis_field_number(&left, &good);
    row->ended_us = redis_field_number(&left, &good);
    row->idle_us = redis_field_number(&left, &good);
    row->opened_us = redis_field_number(&left, &good);
    redis_rows_hash(&left, row->key_sha256, &good);
    row->user = redis_rows_text(&left, &good);
    row->name = redis_rows_text(&left, &good);
    row->caller = redis_rows_text(&left, &good);
    row->request = redis_rows_text(&left, &good);
    row->stored = row->present = true;
    return good && left.size == 0;
}

void redis_write_session(hf_buffer *out, const hf_session_row *row)
{
    redis_put_number(out, row->rev);
    redis_put_number(out, row->expires_us);
    redis_put_number(out, row->ended_us);
    redis_put_number(out, row->idle_us);
    redis_put_number(out, row->opened_us);
    redis_rows_put_hash(out, row->key_sha256);
    redis_put_field(out, row->user);
    redis_put_field(out, row->name);
    redis_put_field(out, row->caller);
    redis_put_field(out, row->request);
}

/* ---- resources ---- */

bool redis_is_kept(const hf_resource_row *row)
{
    return row->version != 0 || row->ended_request.size > 0;
}

static bool redis_rows_read_lock(hf_rows *rows, hf_resource_row *row, hf_slice left)
{
    char id[HF_SESSION_ID_SIZE];
    bool good = true;
    redis_rows_id(&left, id, false, &good);
    hf_session_row *session = good ? hf_rows_session(rows, id) : NULL;
    hf_lock_row *lock = session == NULL ? NULL : hf_rows_lock(rows, row, session);
    if (lock == NULL)
        return false;
    hf_slice mode = redis_field(&left);
    lock->mode = hf_slice_equal(mode, hf_slice_of("s")) ? HF_SHARED : HF_EXCLUSIVE;
    lock->fence = redis_field_number(&left, &good);
    lock->since_us = redis_field_number(&left, &good);
    lock->ends_us = redis_field_number(&left, &good);
    lock->purpose = redis_rows_text(&left, &good);
    lock->request = redis_rows_text(&left, &good);
    lock->stored = lock->present = true;
    return good && left.size == 0 && mode.size == 1;
}

static bool redis_rows_read_request(hf_rows *rows, hf_resource_row *row, hf_slice left)
{
    char id[HF_SESSION_ID_SIZE];
    bool good = true;
    redis_rows_id(&left, id, false, &good);
    hf_session_row *session = good ? hf_rows_session(rows, id) : NULL;
    hf_request_row *request = session == NULL ? NULL : hf_rows_request(rows, row, session);
    if (request == NULL)
        return false;
    request->at_us = redis_field_number(&left, &good);
    request->message = redis_rows_text(&left, &good);
    request->stored = request->present = true;
    return good && left.size == 0;
}

static bool redis_rows_read_end(hf_resource_row *row, hf_slice left)
{
    bool good = true;
    redis_rows_id(&left, row->ended_session, true, &good);
    row->ended_fence = redis_field_number(&left, &good);
    row->ended_us = redis_field_number(&left, &good);
    row->ended_request = redis_rows_text(&left, &good);
    return good && left.size == 0;
}

static bool redis_rows_read_saved(hf_resource_row *row, hf_slice left)
{
    bool good = true;
    row->version = redis_field_number(&left, &good);
    row->saved_fence = redis_field_number(&left, &good);
    row->saved_us = redis_field_number(&left, &good);
    redis_rows_id(&left, row->saved_session, true, &good);
    row->saved_user = redis_rows_text(&left, &good);
    row->saved_name = redis_rows_text(&left, &good);
    row->saved_request = redis_rows_text(&left, &good);
    row->gone = redis_field_number(&left, &good) != 0;
    return good && left.size == 0;
}

/* A line that begins with a letter and a tab. */
static bool redis_rows_read_line(hf_rows *rows, hf_resource_row *row, hf_slice line)
{
    if (line.size < 2 || line.at[1] != '\t')
        return false;
    hf_slice left = {line.at + 2, line.size - 2};
    switch (line.at[0]) {
    case 'L':
        return redis_rows_read_lock(rows, row, left);
    case 'Q':
        return redis_rows_read_request(rows, row, left);
    case 'E':
        return redis_rows_read_end(row, left);
    case 'V':
        return redis_rows_read_saved(row, left);
    default:
        return false;
    }
}

bool redis_read_resource(hf_rows *rows, hf_resource_row *row, hf_slice value, hf_slice *compared)
{
    hf_slice left = value;
    bool good = true;
    row->rev = redis_field_number(&left, &good);
    row->fence = redis_field_number(&left, &good);
    /* A rev alone may come again after a row was dropped; a fence never does. */
    *compared = redis_rows_begin(value, left);
    row->stored = row->present = true;
    while (good && left.size > 0) {
        if (left.at[0] != '\n')
            return false;
        const char *from = left.at + 1, *end = memchr(from, '\n', left.size - 1);
        size_t size = end == NULL ? left.size - 1 : (size_t)(end - from);
        good = redis_rows_read_line(rows, row, (hf_slice){from, size});
        left = (hf_slice){from + size, left.size - 1 - size};
    }
    return good;
}

static void redis_rows_put_line(hf_buffer *out, char kind)
{
    char line[3] = {'\n', kind, '\t'};
    hf_buffer_add(out, line, sizeof line);
}

void redis_write_resource(hf_buffer *out, const hf_resource_row *row)
{
    redis_put_number(out, row->rev);
    redis_put_number(out, row->fence);
    if (row->ended_us != 0) {
        redis_rows_put_line(out, 'E');
        redis_rows_put_id(out, row->ended_session);
        redis_put_number(out, row->ended_fence);
        redis_put_number(out, row->ended_us);
        redis_put_field(out, row->ended_request);
    }
    if (row->version != 0) {
        redis_rows_put_line(out, 'V');
        redis_put_number(out, row->version);
        redis_put_number(out, row->saved_fence);
        redis_put_number(out, row->saved_us);
        redis_rows_put_id(out, row->saved_session);
        redis_put_field(out, row->saved_user);
        redis_put_field(out, row->saved_name);
        redis_put_field(out, row->saved_request);
        redis_put_number(out, row->gone);
    }
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next) {
        if (!lock->present)
            continue;
        redis_rows_put_line(out, 'L');
        redis_rows_put_id(out, lock->session->id);
        redis_put_field(out, hf_slice_of(lock->mode == HF_SHARED ? "s" : "x"));
        redis_put_number(out, lock->fence);
        redis_put_number(out, lock->since_us);
        redis_put_number(out, lock->ends_us);
        redis_put_field(out, lock->purpose);
        redis_put_field(out, lock->request);
    }
    for (const hf_request_row *request = row->requests; request != NULL; request = request->next) {
        if (!request->present)
            continue;
        redis_rows_put_line(out, 'Q');
        redis_rows_put_id(out, request->session->id);
        redis_put_number(out, request->at_us);
        redis_put_field(out, request->message);
    }
}

/* ---- the others ---- */

bool redis_read_type(hf_type *type, hf_slice value, hf_slice *compared)
{
    hf_slice left = value;
    bool good = true;
    char policy[32] = "";
    redis_field_number(&left, &good);
    *compared = redis_rows_begin(value, left);
    hf_slice_copy(policy, sizeof policy, redis_field(&left));
    type->policy = hf_policy_from_name(policy);
    type->ttl_us = redis_field_number(&left, &good);
    type->ttl_max_us = redis_field_number(&left, &good);
    return good && type->policy != HF_POLICY_COUNT;
}

bool redis_read_lost(hf_lost_row *row, hf_slice value)
{
    bool good = true;
    row->fence = redis_field_number(&value, &good);
    row->at_us = redis_field_number(&value, &good);
    row->why = redis_rows_text(&value, &good);
    row->by = redis_rows_text(&value, &good);
    row->reason = redis_rows_text(&value, &good);
    row->stored = row->present = true;
    return good && value.size == 0;
}

void redis_write_lost(hf_buffer *out, const hf_lost_row *row)
{
    redis_put_number(out, row->fence);
    redis_put_number(out, row->at_us);
    redis_put_field(out, row->why);
    redis_put_field(out, row->by);
    redis_put_field(out, row->reason);
}

bool redis_read_past(hf_past_row *row, hf_slice value)
{
    bool good = true;
    row->version = redis_field_number(&value, &good);
    row->fence = redis_field_number(&value, &good);
    row->saved_us = redis_field_number(&value, &good);
    row->gone = redis_field_number(&value, &good) != 0;
    redis_field_number(&value, &good);
    row->stored = row->present = true;
    return good && value.size == 0;
}

void redis_write_past(hf_buffer *out, const hf_past_row *row)
{
    redis_put_number(out, row->version);
    redis_put_number(out, row->fence);
    redis_put_number(out, row->saved_us);
    redis_put_number(out, row->gone);
    redis_put_number(out, row->covered_us);
}

void redis_write_event(hf_buffer *out, const hf_event_row *row, int64_t now_us)
{
    redis_put_number(out, now_us);
    redis_put_field(out, hf_slice_of(hf_event_kind_name(row->kind)));
    redis_put_field(out, row->type);
    redis_put_field(out, row->id);
    redis_put_field(out, row->session);
    redis_put_field(out, row->user);
    redis_put_field(out, row->actor);
    redis_put_number(out, row->fence);
    redis_put_field(out, row->reason);
}

static void redis_rows_copy(hf_slice *left, char *out, size_t size, bool *good)
{
    hf_slice text = redis_field(left);
    *good &= text.at != NULL && text.size < size;
    hf_slice_copy(out, size, text);
}

bool redis_read_event(hf_event *out, hf_slice value)
{
    bool good = true;
    char kind[32] = "";
    out->at_us = redis_field_number(&value, &good);
    redis_rows_copy(&value, kind, sizeof kind, &good);
    out->kind = hf_event_kind_from_name(kind);
    redis_rows_copy(&value, out->resource.type, sizeof out->resource.type, &good);
    redis_rows_copy(&value, out->resource.id, sizeof out->resource.id, &good);
    redis_rows_copy(&value, out->session, sizeof out->session, &good);
    redis_rows_copy(&value, out->user, sizeof out->user, &good);
    redis_rows_copy(&value, out->actor, sizeof out->actor, &good);
    out->fence = redis_field_number(&value, &good);
    redis_rows_copy(&value, out->reason, sizeof out->reason, &good);
    return good;
}

bool redis_read_token(hf_token_row *out, hf_slice value)
{
    hf_token *token = &out->token;
    bool good = true;
    memset(out, 0, sizeof *out);
    redis_rows_copy(&value, token->id, sizeof token->id, &good);
    redis_rows_hash(&value, out->sha256, &good);
    redis_rows_copy(&value, token->name, sizeof token->name, &good);
    redis_rows_copy(&value, token->roles, sizeof token->roles, &good);
    redis_rows_copy(&value, token->users, sizeof token->users, &good);
    token->created_us = redis_field_number(&value, &good);
    token->expires_us = redis_field_number(&value, &good);
    token->revoked_us = redis_field_number(&value, &good);
    redis_rows_copy(&value, out->request, sizeof out->request, &good);
    return good && value.size == 0;
}

void redis_write_token(hf_buffer *out, const hf_token_row *row)
{
    const hf_token *token = &row->token;
    redis_put_field(out, hf_slice_of(token->id));
    redis_rows_put_hash(out, row->sha256);
    redis_put_field(out, hf_slice_of(token->name));
    redis_put_field(out, hf_slice_of(token->roles));
    redis_put_field(out, hf_slice_of(token->users));
    redis_put_number(out, token->created_us);
    redis_put_number(out, token->expires_us);
    redis_put_number(out, token->revoked_us);
    redis_put_field(out, hf_slice_of(row->request));
}
