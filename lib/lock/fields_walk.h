/* SPDX-License-Identifier: MIT */
/* The columns of rows as constants, for the walks that every lock passes: inlined with one of these
 * tables a walk becomes the code that one would write by hand. */
#ifndef HF_LOCK_FIELDS_WALK_H
#define HF_LOCK_FIELDS_WALK_H

#include "lock/fields.h"
#include "lock/fields_table.h"

#include <stddef.h>

#ifdef __clang__ /* which warns where a sanitizer keeps it from unrolling */
#define HF_UNROLL
#else
#define HF_UNROLL _Pragma("GCC unroll 32")
#endif
#define HF_WALK static inline __attribute__((always_inline))

/* The flags as fields_table.h spells them. */
#define KEY     HF_KEY
#define NAMED   HF_NAMED
#define MOVES   HF_MOVES
#define VERSION HF_VERSIONED
#define ENDS    HF_WITH_ENDS
#define MAYBE   HF_MAYBE
#define EMPTY   HF_EMPTY

#define IN_GROUP(flags)    ((flags) & (HF_EVERY | HF_WITH_ENDS) ? (flags) : (flags) | HF_REST)
#define MEMBER(of, member) offsetof(of, member), sizeof(((of *)NULL)->member)

/* What each row shows. */
typedef hf_session_info shown_session;
typedef hf_version shown_resource;
typedef hf_version shown_save;
typedef hf_lock shown_lock;
typedef hf_request shown_request;
typedef hf_lost shown_lost;
typedef hf_event shown_event;
typedef hf_type shown_type;
typedef hf_token shown_token;

/* clang-format off */
#define KEPT_COLUMN(row, kind, member, column, limit, flags) \
    {column, HF_ROW_##kind, IN_GROUP(flags), MEMBER(hf_##row##_row, member), limit, HF_NOT_SHOWN, 0},
#define SHOWN_COLUMN(row, kind, member, column, limit, flags, shown, json) \
    {column, HF_ROW_##kind, IN_GROUP(flags) | HF_SHOWN, MEMBER(hf_##row##_row, member), limit, \
     MEMBER(shown_##row, shown)},
#define HF_NO_COLUMN(row, kind, shown, json, flags)
/* clang-format on */

/* static const hf_row_field NAME[]: the columns of a row. */
#define HF_COLUMNS(name, FIELDS)                                                                   \
    static const hf_row_field name[] = {FIELDS(KEPT_COLUMN, SHOWN_COLUMN, HF_NO_COLUMN)}

/* ---- by kind ---- */

HF_WALK bool hf_walk_is_text(const hf_row_field *field)
{
    return field->kind != HF_ROW_NUM && field->kind != HF_ROW_TIME && field->kind != HF_ROW_SPAN &&
           field->kind != HF_ROW_FLAG;
}

HF_WALK int hf_walk_enum(const void *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

HF_WALK hf_slice hf_walk_text(const hf_row_field *field, const void *row)
{
    const unsigned char none[32] = {0};
    const void *at = (const char *)row + field->at;
    switch (field->kind) {
    case HF_ROW_TEXT:
        return *(const hf_slice *)at;
    case HF_ROW_CHARS:
        return hf_slice_of(at);
    case HF_ROW_ID:
        return (hf_slice){at, *(const char *)at == '\0' ? 0 : HF_SESSION_ID_MAX};
    case HF_ROW_HASH:
        return (field->flags & HF_MAYBE) && memcmp(at, none, field->size) == 0
                   ? HF_NOTHING
                   : (hf_slice){at, field->size};
    case HF_ROW_MODE:
        return hf_slice_of(hf_mode_name((hf_mode)hf_walk_enum(at)));
    case HF_ROW_POLICY:
        return hf_slice_of(hf_policy_name((hf_policy)hf_walk_enum(at)));
    case HF_ROW_EVENT:
        return hf_slice_of(hf_event_kind_name((hf_event_kind)hf_walk_enum(at)));
    case HF_ROW_SESSION:
        return (hf_slice){(*(hf_session_row *const *)at)->id, HF_SESSION_ID_MAX};
    case HF_ROW_TYPE_OF:
        return (*(hf_resource_row *const *)at)->type;
    case HF_ROW_ID_OF:
        return (*(hf_resource_row *const *)at)->id;
    default:
        return HF_NOTHING;
    }
}

HF_WALK int64_t hf_walk_number(const hf_row_field *field, const void *row)
{
    const void *at = (const char *)row + field->at;
    return field->kind == HF_ROW_FLAG ? *(const bool *)at : *(const int64_t *)at;
}

#endif
