/* SPDX-License-Identifier: MIT */
/* Names: what they may look like, canonical order, and reading resources and durations as people
 * write them. */
#include "lock/names.h"

#include "base/error.h"

#include <holdfast/store.h>
#include <stdio.h>
#include <string.h>

const char *hf_type_flaw(hf_slice type)
{
    if (type.size == 0)
        return "is empty: write TYPE/ID, for example policy/12345";
    if (type.size > HF_TYPE_MAX)
        return "is longer than 64 bytes";
    for (size_t i = 0; i < type.size; i++) {
        char c = type.at[i];
        if (!((c >= 'a' && c <= 'z') ||
              (i > 0 && ((c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'))))
            return "may only hold a-z, 0-9, _, . and -, and begins with a letter";
    }
    return NULL;
}

static const char *clean_flaw(hf_slice text, size_t max, const char *too_long)
{
    if (text.size > max)
        return too_long;
    return hf_text_is_clean(text.at, text.size) ? NULL : "holds control characters or is not UTF-8";
}

const char *hf_id_flaw(hf_slice id)
{
    if (id.size == 0)
        return "is empty: write TYPE/ID, for example policy/12345";
    return clean_flaw(id, HF_ID_MAX, "is longer than 1024 bytes");
}

const char *hf_text_flaw(hf_slice text)
{
    return clean_flaw(text, HF_TEXT_MAX, "is longer than 255 bytes");
}

const char *hf_session_id_flaw(hf_slice id)
{
    return id.size == HF_SESSION_ID_MAX && hf_is_hex(id.at, id.size)
               ? NULL
               : "is not 32 hex digits in lower case";
}

const char *hf_token_id_flaw(hf_slice id)
{
    return hf_session_id_flaw(id);
}

const char *hf_key_flaw(hf_slice key)
{
    return key.size >= HF_KEY_MIN && key.size <= HF_KEY_MAX && hf_is_hex(key.at, key.size)
               ? NULL
               : "is not 32 to 128 hex digits in lower case";
}

const char *hf_request_id_flaw(hf_slice id)
{
    if (id.size > HF_REQUEST_ID_MAX)
        return "is longer than 64 bytes";
    for (size_t i = 0; i < id.size; i++)
        if (id.at[i] <= ' ' || id.at[i] > '~')
            return "may only hold printable ASCII without spaces";
    return NULL;
}

const char *hf_duration_flaw(int64_t us)
{
    if (us < 0)
        return "is negative";
    if (us != 0 && us < HF_DURATION_MIN_US)
        return "is shorter than 1ms";
    return us > HF_DURATION_MAX_US ? "is longer than 366 days" : NULL;
}

hf_status hf_resource_parse(const char *text, hf_resource *out, hf_error *err)
{
    if (text == NULL)
        return hf_fail(err, HF_INVALID,
                       "No resource was given: write TYPE/ID, for example policy/12345.");
    const char *slash = strchr(text, '/');
    if (slash == NULL)
        return hf_fail(err, HF_INVALID,
                       "The resource has no slash in it: write TYPE/ID, for example policy/12345.");
    hf_slice type = {text, (size_t)(slash - text)}, id = hf_slice_of(slash + 1);
    const char *flaw = hf_type_flaw(type);
    if (flaw != NULL)
        return hf_fail(err, HF_INVALID, "The type of the resource %s.", flaw);
    flaw = hf_id_flaw(id);
    if (flaw != NULL)
        return hf_fail(err, HF_INVALID, "The id of the resource %s.", flaw);
    memset(out, 0, sizeof *out);
    hf_slice_copy(out->type, sizeof out->type, type);
    hf_slice_copy(out->id, sizeof out->id, id);
    return HF_OK;
}

void hf_cursor_format(const hf_cursor *cursor, char *out)
{
    size_t size = 0;
    if (cursor->resource.type[0] != '\0') {
        hf_resource_format(&cursor->resource, out);
        size = strlen(out);
        out[size++] = ' ';
    }
    memcpy(out + size, cursor->session, sizeof cursor->session);
}

hf_status hf_cursor_parse(const char *text, hf_cursor *out, hf_error *err)
{
    hf_cursor cursor = {0};
    char resource[HF_RESOURCE_SIZE] = "";
    const char *space = strrchr(text, ' '); /* an id may have spaces, a session none */
    const char *session = space == NULL ? text : space + 1;
    size_t size = space == NULL ? 0 : (size_t)(space - text);
    bool good = size < sizeof resource && strlen(session) <= HF_SESSION_ID_MAX &&
                hf_is_hex(session, strlen(session)) && session[0] != '\0';
    if (good && size > 0) {
        memcpy(resource, text, size);
        good = hf_resource_parse(resource, &cursor.resource, NULL) == HF_OK;
    }
    if (!good)
        return hf_fail(
            err, HF_INVALID,
            "That is no place to go on from: pass \"next\" of the page before as it is.");
    hf_slice_copy(cursor.session, sizeof cursor.session, hf_slice_of(session));
    *out = cursor;
    return HF_OK;
}

static int64_t unit_us(const char *unit)
{
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {
        {"ms", 1000}, {"s", 1000000}, {"m", 60000000}, {"h", 3600000000}, {"d", 86400000000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].us;
    return 0;
}

hf_status hf_duration_parse(const char *text, int64_t *out_us, hf_error *err)
{
    static const char how[] = "write a number and a unit: 500ms, 30s, 5m, 2h, 7d";
    int64_t number = 0;
    const char *at = text == NULL ? "" : text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return hf_fail(err, HF_INVALID, "The duration is too long: %s.", how);
    int64_t unit = unit_us(at), us;
    if (at != text && *at == '\0')
        return hf_fail(err, HF_INVALID,
                       "The duration %.20s has no unit: write %.20ss for seconds; the units are "
                       "ms, s, m, h and d.",
                       text, text);
    if (at == text || unit == 0)
        return hf_fail(err, HF_INVALID, "That is not a duration: %s.", how);
    if (__builtin_mul_overflow(number, unit, &us))
        return hf_fail(err, HF_INVALID, "The duration %.40s is longer than 366 days.", text);
    const char *flaw = us == 0 ? "is shorter than 1ms" : hf_duration_flaw(us);
    if (flaw != NULL)
        return hf_fail(err, HF_INVALID, "The duration %.40s %s.", text, flaw);
    *out_us = us;
    return HF_OK;
}

int hf_resource_compare(const hf_resource *a, const hf_resource *b)
{
    int order = strcmp(a->type, b->type);
    return order != 0 ? order : strcmp(a->id, b->id);
}

_Static_assert(sizeof(hf_resource) <= HF_RESOURCE_SIZE, "a type, a slash, an id and a NUL");

void hf_resource_format(const hf_resource *resource, char *out)
{
    stpcpy(stpcpy(stpcpy(out, resource->type), "/"), resource->id);
}

const char *hf_grade_level_name(hf_grade_level level)
{
    return level == HF_GRADE_DISK ? "disk" : level == HF_GRADE_PROCESS ? "process" : "none";
}

const char *hf_mode_name(hf_mode mode)
{
    return mode == HF_SHARED ? "shared" : "exclusive";
}

hf_mode hf_mode_from_name(const char *name)
{
    if (name == NULL)
        return HF_MODE_COUNT;
    return strcmp(name, "exclusive") == 0 ? HF_EXCLUSIVE
           : strcmp(name, "shared") == 0  ? HF_SHARED
                                          : HF_MODE_COUNT;
}

static const char *const policy_names[HF_POLICY_COUNT] = {
    [HF_POLICY_NONE] = "none",
    [HF_POLICY_OPTIMISTIC] = "optimistic",
    [HF_POLICY_EXCLUSIVE_WRITE] = "exclusive-write",
    [HF_POLICY_EXCLUSIVE_READ] = "exclusive-read",
    [HF_POLICY_READ_WRITE] = "read-write",
};

const char *hf_policy_name(hf_policy policy)
{
    return policy_names[(unsigned)policy < HF_POLICY_COUNT ? policy : HF_POLICY_NONE];
}

hf_policy hf_policy_from_name(const char *name)
{
    for (int i = HF_POLICY_NONE + 1; name != NULL && i < HF_POLICY_COUNT; i++)
        if (strcmp(policy_names[i], name) == 0)
            return (hf_policy)i;
    return HF_POLICY_COUNT;
}

static const char *const event_names[HF_EVENT_KINDS] = {
#define NAME(kind, wire) [kind] = wire,
    HF_EVENT_TABLE(NAME)
#undef NAME
};

const char *hf_event_kind_name(hf_event_kind kind)
{
    return (unsigned)kind < HF_EVENT_KINDS ? event_names[kind] : "unknown";
}

bool hf_event_is_audit(hf_event_kind kind)
{
    return kind == HF_EVENT_FORCED || kind == HF_EVENT_TOKEN_CREATED ||
           kind == HF_EVENT_TOKEN_REVOKED || kind == HF_EVENT_DENIED ||
           kind == HF_EVENT_UNAUTHENTICATED;
}

hf_event_kind hf_event_kind_from_name(const char *name)
{
    for (int i = 0; name != NULL && i < HF_EVENT_KINDS; i++)
        if (strcmp(event_names[i], name) == 0)
            return (hf_event_kind)i;
    return HF_EVENT_KINDS;
}
