/* SPDX-License-Identifier: MIT */
/* The tables made of fields_table.h, and what is done to a field by its kind. */
#include "lock/fields_walk.h"

#include <assert.h>

/* ---- the tables ---- */

/* clang-format off */
#define SHOWN_JSON(row, kind, member, column, limit, flags, shown, json) \
    {json, HF_ROW_##kind, (flags), MEMBER(shown_##row, shown)},
#define ADDED_JSON(row, kind, shown, json, flags) \
    {json, HF_ROW_##kind, (flags), MEMBER(shown_##row, shown)},
#define NO_JSON(row, kind, member, column, limit, flags)
#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define ROW(row, FIELDS) \
    HF_COLUMNS(row##_columns, FIELDS); \
    static const hf_shown row##_shown[] = {FIELDS(NO_JSON, SHOWN_JSON, ADDED_JSON) {0}}; \
    const hf_row_fields hf_##row##_fields = {#row, row##_columns, COUNT(row##_columns), \
                                             row##_shown, COUNT(row##_shown) - 1, sizeof(shown_##row)};

ROW(session, HF_SESSION_FIELDS)
ROW(resource, HF_RESOURCE_FIELDS)
ROW(save, HF_SAVE_FIELDS)
ROW(lock, HF_LOCK_FIELDS)
ROW(request, HF_REQUEST_FIELDS)
ROW(lost, HF_LOST_FIELDS)
ROW(event, HF_EVENT_FIELDS)
ROW(type, HF_TYPE_FIELDS)
ROW(token, HF_TOKEN_FIELDS)

/* A member is of the type of its kind, and its public twin has room for it. */
#define TYPE_NUM      int64_t
#define TYPE_TIME     int64_t
#define TYPE_SPAN     int64_t
#define TYPE_FLAG     bool
#define TYPE_TEXT     hf_slice
#define TYPE_MODE     hf_mode
#define TYPE_POLICY   hf_policy
#define TYPE_EVENT    hf_event_kind
#define TYPE_SESSION  hf_session_row *
#define TYPE_TYPE_OF  hf_resource_row *
#define TYPE_ID_OF    hf_resource_row *
#define TYPE_RESOURCE hf_resource
#define OF_TYPE(kind, expression) _Generic((expression), TYPE_##kind: true, default: false)
#define OF_CHARS(expression, room) (_Generic(&(expression)[0], char *: true, default: false) && sizeof(expression) == (room))
#define IS_NUM(e, limit)      OF_TYPE(NUM, e)
#define IS_TIME(e, limit)     OF_TYPE(TIME, e)
#define IS_SPAN(e, limit)     OF_TYPE(SPAN, e)
#define IS_FLAG(e, limit)     OF_TYPE(FLAG, e)
#define IS_TEXT(e, limit)     OF_TYPE(TEXT, e)
#define IS_MODE(e, limit)     OF_TYPE(MODE, e)
#define IS_POLICY(e, limit)   OF_TYPE(POLICY, e)
#define IS_EVENT(e, limit)    OF_TYPE(EVENT, e)
#define IS_SESSION(e, limit)  OF_TYPE(SESSION, e)
#define IS_TYPE_OF(e, limit)  OF_TYPE(TYPE_OF, e)
#define IS_ID_OF(e, limit)    OF_TYPE(ID_OF, e)
#define IS_CHARS(e, limit)    OF_CHARS(e, (limit) + 1)
#define IS_ID(e, limit)       OF_CHARS(e, (limit) + 1)
#define IS_HASH(e, limit)     (sizeof(e) == (limit))
#define KEPT_CHECK(row, kind, member, column, limit, flags) \
    _Static_assert(IS_##kind(((hf_##row##_row *)NULL)->member, limit), #row "." #member " is no " #kind);
#define SHOWN_CHECK(row, kind, member, column, limit, flags, shown, json) \
    KEPT_CHECK(row, kind, member, column, limit, flags) \
    _Static_assert((limit) == 0 || sizeof(((shown_##row *)NULL)->shown) > (limit) || \
                   sizeof(((shown_##row *)NULL)->shown) == sizeof(int), #row "." #shown " has no room for " #member); \
    _Static_assert(HF_ROW_##kind == HF_ROW_TEXT || \
                   sizeof(((shown_##row *)NULL)->shown) == sizeof(((hf_##row##_row *)NULL)->member), #row "." #shown " is another type");
#define CHECK(FIELDS) FIELDS(KEPT_CHECK, SHOWN_CHECK, HF_NO_COLUMN)
CHECK(HF_SESSION_FIELDS)
CHECK(HF_RESOURCE_FIELDS)
CHECK(HF_SAVE_FIELDS)
CHECK(HF_LOCK_FIELDS)
CHECK(HF_REQUEST_FIELDS)
CHECK(HF_LOST_FIELDS)
CHECK(HF_EVENT_FIELDS)
CHECK(HF_TYPE_FIELDS)
CHECK(HF_TOKEN_FIELDS)
/* clang-format on */

/* ---- by kind ---- */

bool hf_row_field_is_text(const hf_row_field *field)
{
    return hf_walk_is_text(field);
}

hf_slice hf_row_field_text(const hf_row_field *field, const void *row)
{
    return hf_walk_text(field, row);
}

int64_t hf_row_field_number(const hf_row_field *field, const void *row)
{
    return hf_walk_number(field, row);
}

void hf_row_field_set_number(const hf_row_field *field, void *row, int64_t number)
{
    void *at = (char *)row + field->at;
    if (field->kind == HF_ROW_FLAG)
        *(bool *)at = number != 0;
    else
        *(int64_t *)at = number;
}

/* False: the name is none of ours; a newer program may have written it. */
static bool set_enum(const hf_row_field *field, void *at, hf_slice text)
{
    char name[HF_NAME_SIZE] = "";
    int value, count;
    hf_slice_copy(name, sizeof name, text);
    if (field->kind == HF_ROW_MODE)
        value = (int)hf_mode_from_name(name), count = HF_MODE_COUNT;
    else if (field->kind == HF_ROW_POLICY)
        value = (int)hf_policy_from_name(name), count = HF_POLICY_COUNT;
    else /* a reader passes over events that it does not know */
        value = (int)hf_event_kind_from_name(name), count = HF_EVENT_KINDS + 1;
    memcpy(at, &value, sizeof value);
    return value < count;
}

bool hf_row_field_set_text(const hf_row_field *field, void *row, hf_slice text)
{
    void *at = (char *)row + field->at;
    switch (field->kind) {
    case HF_ROW_TEXT:
        *(hf_slice *)at = text.size == 0 ? HF_NOTHING : text;
        return true;
    case HF_ROW_CHARS:
    case HF_ROW_ID:
        memset(at, 0, field->size);
        hf_slice_copy(at, field->size, text);
        return text.size < field->size &&
               (field->kind == HF_ROW_CHARS || text.size == 0 || text.size == HF_SESSION_ID_MAX);
    case HF_ROW_HASH:
        memset(at, 0, field->size);
        if (text.size == field->size)
            memcpy(at, text.at, text.size);
        return text.size == field->size || text.size == 0;
    case HF_ROW_MODE:
    case HF_ROW_POLICY:
    case HF_ROW_EVENT:
        return set_enum(field, at, text);
    default:
        return true;
    }
}

/* ---- packing ---- */

typedef const hf_row_field *columns;

HF_WALK hf_slice slice_at(columns field, const void *row)
{
    return *(const hf_slice *)(const void *)((const char *)row + field->at);
}

HF_WALK bool is_packed(columns field, unsigned mask)
{
    return !hf_row_field_is_out(field, mask) && field->kind != HF_ROW_SESSION &&
           field->kind != HF_ROW_TYPE_OF && field->kind != HF_ROW_ID_OF;
}

HF_WALK size_t walk_size(columns from, columns to, unsigned mask, const void *row)
{
    size_t size = 0;
    HF_UNROLL
    for (columns field = from; field < to; field++)
        if (is_packed(field, mask))
            size += field->kind == HF_ROW_TEXT ? sizeof(uint16_t) + slice_at(field, row).size
                                               : field->size;
    return size;
}

HF_WALK void walk_pack(columns from, columns to, unsigned mask, const void *row, char *out)
{
    HF_UNROLL
    for (columns field = from; field < to; field++) {
        if (!is_packed(field, mask))
            continue;
        if (field->kind != HF_ROW_TEXT) {
            memcpy(out, (const char *)row + field->at, field->size);
            out += field->size;
            continue;
        }
        hf_slice text = slice_at(field, row);
        uint16_t size = (uint16_t)text.size;
        memcpy(out, &size, sizeof size);
        out += sizeof size;
        if (size > 0)
            memmove(out, text.at, size); /* it may stand there already */
        out += size;
    }
}

HF_WALK void walk_unpack(columns from, columns to, unsigned mask, const char *packed, void *row)
{
    HF_UNROLL
    for (columns field = from; field < to; field++) {
        char *at = (char *)row + field->at;
        uint16_t size = field->size;
        if (!is_packed(field, mask))
            continue;
        if (field->kind == HF_ROW_TEXT) {
            memcpy(&size, packed, sizeof size);
            packed += sizeof size;
            *(hf_slice *)(void *)at = (hf_slice){size == 0 ? NULL : packed, size};
        } else
            memcpy(at, packed, field->size);
        packed += size;
    }
}

/* The rows that nearly every op packs, with the masks of the stores that do. */
#define HOT_ROWS(X)                                                                                \
    X(lock, HF_REST)                                                                               \
    X(event, HF_EVERY)                                                                             \
    X(resource, HF_MOVES)                                                                          \
    X(session, HF_MOVES | HF_REST)                                                                 \
    X(session, HF_MOVES | HF_REST | HF_WITH_ENDS)
#define IS_HOT(row, hot) (of == &hf_##row##_fields && mask == (unsigned)(hot))
#define ALL(row)         row##_columns, row##_columns + COUNT(row##_columns)

size_t hf_packed_size(const hf_row_fields *of, unsigned mask, const void *row)
{
#define SIZE(name, hot)                                                                            \
    if (IS_HOT(name, hot))                                                                         \
        return walk_size(ALL(name), (hot), row);
    HOT_ROWS(SIZE)
    return walk_size(of->fields, of->fields + of->count, mask, row);
}

void hf_pack(const hf_row_fields *of, unsigned mask, const void *row, char *out)
{
#define PACK(name, hot)                                                                            \
    if (IS_HOT(name, hot)) {                                                                       \
        walk_pack(ALL(name), (hot), row, out);                                                     \
        return;                                                                                    \
    }
    HOT_ROWS(PACK)
    walk_pack(of->fields, of->fields + of->count, mask, row, out);
}

void hf_unpack(const hf_row_fields *of, unsigned mask, const char *packed, void *row)
{
#define UNPACK(name, hot)                                                                          \
    if (IS_HOT(name, hot)) {                                                                       \
        walk_unpack(ALL(name), (hot), packed, row);                                                \
        return;                                                                                    \
    }
    HOT_ROWS(UNPACK)
    walk_unpack(of->fields, of->fields + of->count, mask, packed, row);
}

bool hf_pack_fits(const hf_row_fields *of, unsigned mask, const void *row, const char *packed)
{
    for (columns field = of->fields; field < of->fields + of->count; field++) {
        uint16_t size = field->size;
        if (!is_packed(field, mask))
            continue;
        if (field->kind == HF_ROW_TEXT) {
            memcpy(&size, packed, sizeof size);
            packed += sizeof size;
            if (size != slice_at(field, row).size)
                return false;
        }
        packed += size;
    }
    return true;
}

/* ---- what is shown ---- */

void hf_show(const hf_row_fields *of, const void *row, void *out)
{
    for (size_t i = 0; i < of->count; i++) {
        const hf_row_field *field = &of->fields[i];
        char *to = (char *)out + field->shown;
        if (field->shown == HF_NOT_SHOWN)
            continue;
        if (field->kind == HF_ROW_TEXT)
            hf_slice_copy(to, field->shown_size, slice_at(field, row));
        else
            memcpy(to, (const char *)row + field->at, field->shown_size);
    }
}

static void show_json_text(hf_json *json, const hf_shown *shown, const char *text)
{
    bool none = text[0] == '\0' && (shown->flags & HF_MAYBE) && !(shown->flags & HF_EMPTY);
    hf_json_text(json, none ? NULL : text);
}

/* "type/id"; of an event of a type the type alone, and of a session's null. */
static void show_json_resource(hf_json *json, const hf_shown *shown, const hf_resource *resource)
{
    char text[HF_RESOURCE_SIZE];
    hf_resource_format(resource, text);
    show_json_text(json, shown, resource->id[0] == '\0' ? resource->type : text);
}

static void show_json_number(hf_json *json, const hf_shown *shown, int64_t number)
{
    if (number == 0 && (shown->flags & HF_MAYBE))
        hf_json_text(json, NULL);
    else if (shown->kind == HF_ROW_TIME)
        hf_json_time(json, number);
    else if (shown->kind == HF_ROW_SPAN)
        hf_json_seconds(json, number);
    else
        hf_json_int(json, number);
}

static void show_json(hf_json *json, const hf_shown *shown, const void *at)
{
    switch (shown->kind) {
    case HF_ROW_NUM:
    case HF_ROW_TIME:
    case HF_ROW_SPAN:
        show_json_number(json, shown, *(const int64_t *)at);
        break;
    case HF_ROW_FLAG:
        hf_json_bool(json, *(const bool *)at);
        break;
    case HF_ROW_MODE:
        hf_json_text(json, hf_mode_name((hf_mode)hf_walk_enum(at)));
        break;
    case HF_ROW_POLICY:
        hf_json_text(json, hf_policy_name((hf_policy)hf_walk_enum(at)));
        break;
    case HF_ROW_EVENT:
        hf_json_text(json, hf_event_kind_name((hf_event_kind)hf_walk_enum(at)));
        break;
    case HF_ROW_RESOURCE:
        show_json_resource(json, shown, at);
        break;
    default:
        show_json_text(json, shown, at);
    }
}

void hf_show_json(hf_json *json, const hf_row_fields *of, const void *from)
{
    for (const hf_shown *shown = of->shown; shown < of->shown + of->shown_count; shown++) {
        hf_json_name(json, shown->name);
        show_json(json, shown, (const char *)from + shown->at);
    }
}
