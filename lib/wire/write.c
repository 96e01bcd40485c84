/* SPDX-License-Identifier: MIT */
/* From structs to JSON. What is zero is left out, unless it is needed. */
#include "wire/write.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

static const char *text_at(const void *at)
{
    return *(const char *const *)at;
}

static int enum_at(const void *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

static const void *list_of(const char *base, size_t at)
{
    const void *list;
    memcpy(&list, base + at, sizeof list);
    return list;
}

static bool is_zero(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Would it be left out? */
static bool is_absent(const wire_field *field, const char *base)
{
    const void *at = base + field->at;
    switch (field->kind) {
    case WIRE_STRING:
    case WIRE_LOGIN:
    case WIRE_DIGEST:
    case WIRE_NAMED:
        return list_of(base, field->at) == NULL;
    case WIRE_CHARS:
        return *(const char *)at == '\0';
    case WIRE_INT:
    case WIRE_TIME:
    case WIRE_SPAN:
    case WIRE_FENCE:
        return *(const int64_t *)at == 0;
    case WIRE_SIZE:
        return *(const size_t *)at == 0;
    case WIRE_FLAG:
        return !*(const bool *)at;
    case WIRE_NAME:
        return enum_at(at) == 0;
    case WIRE_PLACE: /* of a row */
        return true;
    case WIRE_CURSOR:
        return list_of(base, field->at) == NULL ||
               is_zero(list_of(base, field->at), sizeof(hf_cursor));
    case WIRE_LIST:
        return list_of(base, field->at) == NULL ||
               *(const size_t *)(const void *)(base + field->beside) == 0;
    case WIRE_COUNT:
        return list_of(base, field->beside) != NULL || *(const size_t *)at == 0;
    }
    return true;
}

/* The first slash splits: a type with one would come back as another. */
static const char *named_flaw(const char *type, const char *id, bool needed)
{
    if (id == NULL && needed)
        return "is missing";
    if (strchr(type, '/') != NULL)
        return "has a type with a slash";
    return hf_text_is_utf8(type, strlen(type)) && (id == NULL || hf_text_is_utf8(id, strlen(id)))
               ? NULL
               : "is not UTF-8";
}

/* Answers what is wrong with it, or NULL. */
static const char *member_flaw(const wire_field *field, const char *base, uint64_t of)
{
    const void *at = base + field->at;
    bool needed = field->needs & of;
    if (field->kind == WIRE_NAME) {
        int value = enum_at(at);
        return value >= field->names->first && value < field->names->count ? NULL
               : value == 0 && needed                                      ? "is missing"
                                                                           : "is of no known kind";
    }
    bool pointer = field->kind == WIRE_STRING || field->kind == WIRE_LOGIN ||
                   field->kind == WIRE_DIGEST || field->kind == WIRE_NAMED;
    if (pointer && list_of(base, field->at) == NULL)
        return needed ? "is missing" : NULL;
    if (field->kind == WIRE_NAMED)
        return named_flaw(text_at(at), list_of(base, field->beside), needed);
    const char *text = field->kind == WIRE_STRING  ? text_at(at)
                       : field->kind == WIRE_CHARS ? at
                                                   : NULL;
    return text == NULL || of == UINT64_MAX || hf_text_is_utf8(text, strlen(text)) ? NULL
                                                                                   : "is not UTF-8";
}

static void write_login(hf_json *json, const hf_credentials *login)
{
    char text[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    size_t size = strlen(login->id);
    memcpy(text, login->id, size);
    text[size++] = '.';
    memcpy(text + size, login->key, strlen(login->key) + 1);
    hf_json_text(json, text);
    hf_secret_wipe(text, sizeof text);
}

/* An op's names may be longer than any that is good: then its store refuses them. */
static void write_named(hf_json *json, const char *type, const char *id)
{
    hf_buffer text = {0};
    hf_buffer_text(&text, type);
    if (id != NULL) {
        hf_buffer_text(&text, "/");
        hf_buffer_text(&text, id);
    }
    json->out.failed |= text.failed;
    hf_json_text(json, text.failed ? NULL : text.text);
    hf_buffer_done(&text);
}

static void write_size(hf_json *json, size_t size)
{
    hf_json_int(json, size > INT64_MAX ? INT64_MAX : (int64_t)size);
}

static const wire_field *wire_write_list(hf_json *json, const wire_field *field, const char *base,
                                         uint64_t of, const char **flaw)
{
    const char *items = list_of(base, field->at);
    size_t count = *(const size_t *)(const void *)(base + field->beside);
    const wire_field *bad = NULL;
    hf_json_begin(json, '[');
    for (size_t i = 0; i < count && bad == NULL; i++) {
        hf_json_begin(json, '{');
        if (field->rows != NULL)
            hf_show_json(json, field->rows, items + i * field->rows->shown_size);
        else
            bad = wire_struct_write(json, field->table, of, items + i * field->table->size, flaw);
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
    return bad;
}

static void write_digest(hf_json *json, const void *digest)
{
    enum { SIZE = 32 };
    char hex[2 * SIZE + 1];
    hf_hex(digest, SIZE, hex);
    hf_json_text(json, hex);
}

static const wire_field *write_member(hf_json *json, const wire_field *field, const char *base,
                                      uint64_t of, const char **flaw)
{
    const void *at = base + field->at;
    const wire_field *bad = NULL;
    hf_json_name(json, field->name);
    switch (field->kind) {
    case WIRE_STRING:
        hf_json_text(json, text_at(at));
        break;
    case WIRE_CHARS:
        hf_json_text(json, at);
        break;
    case WIRE_INT:
    case WIRE_FENCE:
        hf_json_int(json, *(const int64_t *)at);
        break;
    case WIRE_SIZE:
    case WIRE_COUNT:
        write_size(json, *(const size_t *)at);
        break;
    case WIRE_FLAG:
        hf_json_bool(json, *(const bool *)at);
        break;
    case WIRE_NAME:
        hf_json_text(json, field->names->name(enum_at(at)));
        break;
    case WIRE_LOGIN:
        write_login(json, list_of(base, field->at));
        break;
    case WIRE_DIGEST:
        write_digest(json, list_of(base, field->at));
        break;
    case WIRE_TIME:
        hf_json_time(json, *(const int64_t *)at);
        break;
    case WIRE_SPAN:
        hf_json_seconds(json, *(const int64_t *)at);
        break;
    case WIRE_NAMED:
        write_named(json, text_at(at), list_of(base, field->beside));
        break;
    case WIRE_CURSOR: {
        char cursor[HF_CURSOR_SIZE];
        hf_cursor_format(list_of(base, field->at), cursor);
        hf_json_text(json, cursor);
        break;
    }
    case WIRE_LIST:
        bad = wire_write_list(json, field, base, of, flaw);
        break;
    case WIRE_PLACE: /* rows are written by hf_show_json */
        break;
    }
    return bad;
}

const wire_field *wire_struct_write(hf_json *json, const wire_table *table, uint64_t of,
                                    const void *from, const char **flaw)
{
    for (size_t i = 0; i < table->count; i++) {
        const wire_field *field = &table->fields[i], *bad = NULL;
        if (!(field->needs & of) && (!(field->takes & of) || is_absent(field, from)))
            continue;
        *flaw = member_flaw(field, from, of);
        if (*flaw != NULL)
            return field;
        if ((bad = write_member(json, field, from, of, flaw)) != NULL)
            return bad;
    }
    return NULL;
}

hf_status wire_written(hf_buffer *out, const char *what, hf_error *err)
{
    if (!out->failed)
        return HF_OK;
    bool full = out->full;
    hf_buffer_done(out);
    return full ? hf_fail(err, HF_TOO_LARGE, "%s is longer than %zu bytes. Ask for less at once.",
                          what, HF_BUFFER_MAX)
                : hf_fail_memory(err);
}
