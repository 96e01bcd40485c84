/* SPDX-License-Identifier: MIT */
/* The store on Redis: rows as text. Fields end in a tab; a resource has a line for itself and one
 * for each lock and each request, so that redis-cli shows what is there. A number that is 0 is an
 * empty field. */
#include "store/redis.h"

#include <string.h>

/* What a field of a row is in C. */
typedef enum redis_field {
    FIELD_NUMBER, /* int64_t */
    FIELD_TEXT,   /* hf_slice */
    FIELD_CHARS,  /* char[] */
    FIELD_ID,     /* the same, of a session; may be empty */
    FIELD_HASH,   /* 32 bytes, in hex */
    FIELD_FLAG,   /* bool */
    FIELD_MODE,   /* hf_mode: s or x */
    FIELD_SESSION /* hf_session_row *: its id; written only */
} redis_field;

typedef struct redis_column {
    redis_field field;
    size_t at, size;
} redis_column;

#define COLUMN(field, type, member)                                                                \
    {                                                                                              \
        FIELD_##field, offsetof(type, member), sizeof(((type *)NULL)->member)                      \
    }
#define COLUMNS_MAX 11

/* clang-format off */
static const redis_column redis_columns[REDIS_TEXTS][COLUMNS_MAX] = {
#define C(field, member) COLUMN(field, hf_resource_row, member)
    [REDIS_TEXT_RESOURCE] = {C(NUMBER, rev), C(NUMBER, fence)},
    [REDIS_TEXT_END] = {C(ID, ended_session), C(NUMBER, ended_fence), C(NUMBER, ended_us)},
    [REDIS_TEXT_SAVED] = {C(NUMBER, version), C(NUMBER, saved_fence), C(NUMBER, saved_us),
                          C(ID, saved_session), C(TEXT, saved_user), C(TEXT, saved_name),
                          C(TEXT, saved_request), C(FLAG, gone)},
#undef C
#define C(field, member) COLUMN(field, hf_lock_row, member)
    [REDIS_TEXT_LOCK] = {C(SESSION, session), C(MODE, mode), C(NUMBER, fence), C(NUMBER, since_us),
                         C(NUMBER, ends_us), C(TEXT, purpose), C(TEXT, request)},
#undef C
#define C(field, member) COLUMN(field, hf_request_row, member)
    [REDIS_TEXT_REQUEST] = {C(SESSION, session), C(NUMBER, at_us), C(TEXT, message)},
#undef C
#define C(field, member) COLUMN(field, hf_session_row, member)
    [REDIS_TEXT_SESSION] = {C(NUMBER, rev), C(NUMBER, expires_us), C(NUMBER, ended_us),
                            C(NUMBER, idle_us), C(NUMBER, opened_us), C(HASH, key_sha256),
                            C(TEXT, user), C(TEXT, name), C(TEXT, caller), C(TEXT, request)},
#undef C
#define C(field, member) COLUMN(field, redis_type, member)
    [REDIS_TEXT_TYPE] = {C(NUMBER, rev), C(CHARS, policy), C(NUMBER, ttl_us),
                         C(NUMBER, ttl_max_us)},
#undef C
#define C(field, member) COLUMN(field, hf_lost_row, member)
    [REDIS_TEXT_LOST] = {C(NUMBER, fence), C(NUMBER, at_us), C(TEXT, why), C(TEXT, by),
                         C(TEXT, reason)},
#undef C
#define C(field, member) COLUMN(field, hf_save_row, member)
    [REDIS_TEXT_PAST] = {C(NUMBER, version), C(NUMBER, fence), C(NUMBER, saved_us), C(FLAG, gone),
                         C(NUMBER, covered_us)},
#undef C
#define C(field, member) COLUMN(field, hf_token_row, member)
    [REDIS_TEXT_TOKEN] = {C(CHARS, token.id), C(HASH, sha256), C(CHARS, token.name),
                          C(CHARS, token.roles), C(CHARS, token.users), C(NUMBER, token.created_us),
                          C(NUMBER, token.expires_us), C(NUMBER, token.revoked_us),
                          C(CHARS, request)},
#undef C
#define C(field, member) COLUMN(field, hf_event_marks, member)
    [REDIS_TEXT_MARKS] = {C(NUMBER, from), C(NUMBER, swept)},
#undef C
#define C(field, member) COLUMN(field, redis_event, member)
    [REDIS_TEXT_EVENT] = {C(NUMBER, at_us), C(TEXT, kind), C(TEXT, type), C(TEXT, id),
                          C(TEXT, session), C(TEXT, user), C(TEXT, actor), C(NUMBER, fence),
                          C(TEXT, reason)},
#undef C
};
/* clang-format on */

/* ---- fields ---- */

/* Up to the next tab; at is NULL: there is none. */
static hf_slice redis_rows_next(hf_slice *left)
{
    const char *end = left->size == 0 ? NULL : memchr(left->at, '\t', left->size);
    if (end == NULL)
        return HF_NOTHING;
    hf_slice out = {left->at, (size_t)(end - left->at)};
    left->at += out.size + 1;
    left->size -= out.size + 1;
    return out;
}

static bool redis_rows_number(hf_slice text, int64_t *out)
{
    bool minus = text.size > 0 && text.at[0] == '-', good = !(minus && text.size == 1);
    int64_t number = 0;
    for (size_t i = minus; i < text.size && good; i++) {
        int digit = text.at[i] - '0';
        good = digit >= 0 && digit <= 9 && !__builtin_mul_overflow(number, 10, &number) &&
               !__builtin_add_overflow(number, digit, &number);
    }
    *out = minus ? -number : number;
    return good;
}

int64_t redis_number_of(hf_slice text)
{
    int64_t number;
    if (text.size > 0 && text.at[text.size - 1] == '\t')
        text.size--;
    return redis_rows_number(text, &number) ? number : 0;
}

static bool redis_rows_hash(hf_slice text, unsigned char *out)
{
    if (text.size != 64 || !hf_is_hex(text.at, text.size))
        return false;
    for (size_t i = 0; i < 32; i++)
        out[i] =
            (unsigned char)(hf_hex_digit(text.at[2 * i]) * 16 + hf_hex_digit(text.at[2 * i + 1]));
    return true;
}

static bool redis_rows_read(const redis_column *column, hf_slice text, void *row)
{
    char *to = (char *)row + column->at;
    int64_t number;
    switch (column->field) {
    case FIELD_NUMBER:
        return redis_rows_number(text, (int64_t *)(void *)to);
    case FIELD_TEXT:
        *(hf_slice *)(void *)to = text.size == 0 ? HF_NOTHING : text;
        return true;
    case FIELD_ID:
    case FIELD_CHARS:
        memset(to, 0, column->size);
        hf_slice_copy(to, column->size, text);
        return text.size < column->size &&
               (column->field == FIELD_CHARS || text.size == 0 || text.size == HF_SESSION_ID_MAX);
    case FIELD_HASH:
        return redis_rows_hash(text, (unsigned char *)to);
    case FIELD_FLAG:
        *(bool *)to = text.size > 0;
        return redis_rows_number(text, &number);
    case FIELD_MODE:
        *(hf_mode *)(void *)to = text.at[0] == 's' ? HF_SHARED : HF_EXCLUSIVE;
        return text.size == 1 && (text.at[0] == 's' || text.at[0] == 'x');
    default:
        return text.size == HF_SESSION_ID_MAX;
    }
}

bool redis_text_read(redis_text text, void *row, hf_slice *left)
{
    for (const redis_column *it = redis_columns[text];
         it < redis_columns[text] + COLUMNS_MAX && it->size > 0; it++) {
        hf_slice field = redis_rows_next(left);
        if (field.at == NULL || !redis_rows_read(it, field, row))
            return false;
    }
    return true;
}

static void redis_rows_put_number(hf_buffer *out, int64_t number)
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

static hf_slice redis_rows_field(const redis_column *column, const char *from, char hex[65])
{
    switch (column->field) {
    case FIELD_TEXT:
        return *(const hf_slice *)(const void *)from;
    case FIELD_FLAG:
        return hf_slice_of(*(const bool *)from ? "1" : "");
    case FIELD_MODE:
        return hf_slice_of(*(const hf_mode *)(const void *)from == HF_SHARED ? "s" : "x");
    case FIELD_SESSION:
        return hf_slice_of((*(hf_session_row *const *)(const void *)from)->id);
    case FIELD_HASH:
        hf_hex(from, 32, hex);
        return (hf_slice){hex, 64};
    default:
        return hf_slice_of(from);
    }
}

void redis_text_write(redis_text text, const void *row, hf_buffer *out)
{
    char hex[65];
    for (const redis_column *it = redis_columns[text];
         it < redis_columns[text] + COLUMNS_MAX && it->size > 0; it++) {
        const char *from = (const char *)row + it->at;
        if (it->field == FIELD_NUMBER) {
            redis_rows_put_number(out, *(const int64_t *)(const void *)from);
            continue;
        }
        hf_slice field = redis_rows_field(it, from, hex);
        hf_buffer_add(out, field.at, field.size);
        hf_buffer_add(out, "\t", 1);
    }
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

/* ---- resources: lines ---- */

bool redis_is_kept(const hf_resource_row *row)
{
    return row->version != 0 || row->ended_request.size > 0;
}

/* A line that begins with a letter and a tab. */
static bool redis_rows_read_line(hf_rows *rows, hf_resource_row *row, hf_slice line)
{
    hf_slice left = {line.at + 2, line.size < 2 ? 0 : line.size - 2};
    bool has_session = left.size > HF_SESSION_ID_MAX && left.at[HF_SESSION_ID_MAX] == '\t' &&
                       hf_is_hex(left.at, HF_SESSION_ID_MAX);
    hf_session_row *session = NULL;
    if (line.size < 2 || line.at[1] != '\t')
        return false;
    if (line.at[0] == 'V')
        return redis_text_read(REDIS_TEXT_SAVED, row, &left) && left.size == 0;
    if (!has_session || (session = hf_rows_session(rows, left.at)) == NULL)
        return false;
    if (line.at[0] == 'L') {
        hf_lock_row *lock = hf_rows_lock(rows, row, session);
        if (lock != NULL)
            lock->stored = lock->present = true;
        return lock != NULL && redis_text_read(REDIS_TEXT_LOCK, lock, &left) && left.size == 0;
    }
    hf_request_row *request = line.at[0] == 'Q' ? hf_rows_request(rows, row, session) : NULL;
    if (request != NULL)
        request->stored = request->present = true;
    return request != NULL && redis_text_read(REDIS_TEXT_REQUEST, request, &left) && left.size == 0;
}

/* "E", its fields, a newline, and the text of lock/ends.h; the last of the value. */
static bool redis_rows_read_end(hf_resource_row *row, hf_slice left)
{
    left = (hf_slice){left.at + 2, left.size < 2 ? 0 : left.size - 2};
    if (!redis_text_read(REDIS_TEXT_END, row, &left) || left.size < 2 || left.at[0] != '\n')
        return false;
    row->ended_request = (hf_slice){left.at + 1, left.size - 1};
    return true;
}

bool redis_read_resource(hf_rows *rows, hf_resource_row *row, hf_slice value, hf_slice *compared)
{
    hf_slice left = value;
    bool good = redis_text_read(REDIS_TEXT_RESOURCE, row, &left);
    /* A rev alone may come again after a row was dropped; a fence never does. */
    *compared = (hf_slice){value.at, value.size - left.size};
    row->stored = row->present = true;
    while (good && left.size > 0) {
        if (left.size > 1 && left.at[0] == '\n' && left.at[1] == 'E')
            return redis_rows_read_end(row, (hf_slice){left.at + 1, left.size - 1});
        const char *from = left.at + 1, *end = memchr(from, '\n', left.size - 1);
        size_t size = end == NULL ? left.size - 1 : (size_t)(end - from);
        good = left.at[0] == '\n' && redis_rows_read_line(rows, row, (hf_slice){from, size});
        left = (hf_slice){from + size, left.size - 1 - size};
    }
    return good;
}

static void redis_rows_write_line(hf_buffer *out, const char *begin, redis_text text,
                                  const void *row)
{
    hf_buffer_add(out, begin, 3);
    redis_text_write(text, row, out);
}

void redis_write_resource(hf_buffer *out, const hf_resource_row *row)
{
    redis_text_write(REDIS_TEXT_RESOURCE, row, out);
    if (row->version != 0)
        redis_rows_write_line(out, "\nV\t", REDIS_TEXT_SAVED, row);
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        if (lock->present)
            redis_rows_write_line(out, "\nL\t", REDIS_TEXT_LOCK, lock);
    for (const hf_request_row *request = row->requests; request != NULL; request = request->next)
        if (request->present)
            redis_rows_write_line(out, "\nQ\t", REDIS_TEXT_REQUEST, request);
    if (row->ended_request.size > 0) {
        redis_rows_write_line(out, "\nE\t", REDIS_TEXT_END, row);
        hf_buffer_add(out, "\n", 1);
        hf_buffer_add(out, row->ended_request.at, row->ended_request.size);
    }
}

/* ---- events ---- */

bool redis_read_event(hf_event *out, hf_slice value)
{
    redis_event row;
    char kind[32] = "";
    if (!redis_text_read(REDIS_TEXT_EVENT, &row, &value))
        return false;
    hf_slice_copy(kind, sizeof kind, row.kind);
    out->kind = hf_event_kind_from_name(kind);
    out->at_us = row.at_us;
    out->fence = row.fence;
    hf_slice_copy(out->resource.type, sizeof out->resource.type, row.type);
    hf_slice_copy(out->resource.id, sizeof out->resource.id, row.id);
    hf_slice_copy(out->session, sizeof out->session, row.session);
    hf_slice_copy(out->user, sizeof out->user, row.user);
    hf_slice_copy(out->actor, sizeof out->actor, row.actor);
    hf_slice_copy(out->reason, sizeof out->reason, row.reason);
    return true;
}

void redis_write_event(hf_buffer *out, const hf_event_row *row, int64_t now_us)
{
    redis_event event = {now_us,       hf_slice_of(hf_event_kind_name(row->kind)),
                         row->type,    row->id,
                         row->session, row->user,
                         row->actor,   row->fence,
                         row->reason};
    redis_text_write(REDIS_TEXT_EVENT, &event, out);
}
