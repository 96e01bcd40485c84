/* SPDX-License-Identifier: MIT */
/* The table of fields (fields_table.h) as data, for code that moves whole rows: binding and reading
 * SQL, packing, copying into public structs, JSON. A walk is given the table of a row and a mask:
 * which fields are meant. */
#ifndef HF_LOCK_FIELDS_H
#define HF_LOCK_FIELDS_H

#include "base/json.h"
#include "lock/rows.h"
#include "lock/token.h"

/*  kind       in C                    SQL (SQLite, PostgreSQL, MySQL)       JSON          */
typedef enum hf_row_kind {
    HF_ROW_NUM,      /* int64_t           INTEGER, bigint, BIGINT          a number      */
    HF_ROW_TIME,     /* int64_t, us       the same                         RFC 3339      */
    HF_ROW_SPAN,     /* int64_t, us       the same                         seconds       */
    HF_ROW_FLAG,     /* bool              INTEGER, boolean, TINYINT        true, false   */
    HF_ROW_TEXT,     /* hf_slice; shown   TEXT, text COLLATE "C",          a text
                          char[]            VARBINARY                                      */
    HF_ROW_CHARS,    /* char[]            the same                         a text        */
    HF_ROW_ID,       /* char[], a session's  the same                      a text        */
    HF_ROW_HASH,     /* unsigned char[32] BLOB, bytea, BINARY(32)          not shown     */
    HF_ROW_MODE,     /* hf_mode           its name as a text               its name      */
    HF_ROW_POLICY,   /* hf_policy         the same                         its name      */
    HF_ROW_EVENT,    /* hf_event_kind     the same                         its name      */
    HF_ROW_SESSION,  /* hf_session_row *  its id                           not shown     */
    HF_ROW_TYPE_OF,  /* hf_resource_row *: its type, as a text             not shown     */
    HF_ROW_ID_OF,    /* hf_resource_row *: its id, as a text               not shown     */
    HF_ROW_RESOURCE, /* hf_resource, shown only: "type/id", or the type alone            */
} hf_row_kind;

/* The flags of fields_table.h. A mask of a walk is a set of these: the fields with one of them. */
enum {
    HF_KEY = 1,
    HF_NAMED = 2,
    HF_MOVES = 4,
    HF_VERSIONED = 8,
    HF_WITH_ENDS = 16,
    HF_REST = 32, /* none of the above */
    HF_MAYBE = 64,
    HF_EMPTY = 128,
    HF_SHOWN = 256, /* the public struct has it */
    HF_EVERY = HF_KEY | HF_NAMED | HF_MOVES | HF_VERSIONED | HF_REST,
};

typedef struct hf_row_field {
    const char *column;
    uint16_t kind, flags;
    uint16_t at;    /* of the member in the row */
    uint16_t size;  /* of the member */
    uint16_t limit; /* bytes of a text */
    uint16_t shown; /* where the public struct has it; HF_NOT_SHOWN */
    uint16_t shown_size;
} hf_row_field;

#define HF_NOT_SHOWN UINT16_MAX
#define HF_NAME_SIZE 33 /* of an enum's name */

/* What JSON has of a public struct, in its order. */
typedef struct hf_shown {
    const char *name;
    uint16_t kind, flags;
    uint16_t at, size;
} hf_shown;

typedef struct hf_row_fields {
    const char *name;
    const hf_row_field *fields;
    size_t count;
    const hf_shown *shown;
    size_t shown_count;
    size_t shown_size; /* of the public struct */
} hf_row_fields;

extern const hf_row_fields hf_session_fields, hf_resource_fields, hf_save_fields, hf_lock_fields,
    hf_request_fields, hf_lost_fields, hf_event_fields, hf_type_fields, hf_token_fields;

/* Whether a walk with that mask passes over the field. */
static inline bool hf_row_field_is_out(const hf_row_field *field, unsigned mask)
{
    return (field->flags & mask) == 0;
}

/* A field's text: of a text, an id, a name, a session, a resource. */
hf_slice hf_row_field_text(const hf_row_field *field, const void *row);
/* Its number, of the other kinds but a hash. */
int64_t hf_row_field_number(const hf_row_field *field, const void *row);
/* Sets it from what was read; a text is borrowed. References are left alone: the reader finds their
 * rows. False: it is no value of that kind. */
bool hf_row_field_set_text(const hf_row_field *field, void *row, hf_slice text);
void hf_row_field_set_number(const hf_row_field *field, void *row, int64_t number);
/* Whether it is a text (or bytes) rather than a number. */
bool hf_row_field_is_text(const hf_row_field *field);

/* A row in one piece of memory: members as they are, texts behind their sizes; references are left
 * out. Unpacked texts are borrowed from the piece. */
size_t hf_packed_size(const hf_row_fields *of, unsigned mask, const void *row);
void hf_pack(const hf_row_fields *of, unsigned mask, const void *row, char *out);
void hf_unpack(const hf_row_fields *of, unsigned mask, const char *packed, void *row);
/* Whether the row can be packed anew where it is: each of its texts is as long as before. */
bool hf_pack_fits(const hf_row_fields *of, unsigned mask, const void *row, const char *packed);

/* Copies what the public struct has of the row; what is ADDED is left to the caller. */
void hf_show(const hf_row_fields *of, const void *row, void *out);

/* Writes the members of a public struct as JSON, without the braces. What there is not is null. */
void hf_show_json(hf_json *json, const hf_row_fields *of, const void *from);

#endif
