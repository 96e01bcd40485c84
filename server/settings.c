/* SPDX-License-Identifier: MIT */
/* Settings from their sources, the weakest first, and what only makes sense together. */
#include "server/settings.h"

#include "base/error.h"
#include "base/redact.h"
#include "base/seams.h"
#include "server/settings_inside.h"

#include <stdio.h>
#include <string.h>

#define SETTINGS_ROW(kind, field, name, value, standard, min, max, about)                          \
    {SETTING_##kind, offsetof(settings, field), name, value, standard, min, max, about},
const setting settings_table[SETTINGS_COUNT] = {SETTINGS_TABLE(SETTINGS_ROW)};
#undef SETTINGS_ROW

static void *settings_field(settings *s, const setting *row)
{
    return (char *)s + row->offset;
}

const settings_origin *settings_origin_of(const settings *s, const setting *row)
{
    return &s->origins[row - settings_table];
}

const setting *settings_find(const char *name)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        if (strcmp(settings_table[i].name, name) == 0)
            return &settings_table[i];
    return NULL;
}

/* How many letters have to be changed, added or left out; '_' is as good as '-'. */
static size_t settings_distance(const char *a, const char *b)
{
    enum { MAX = 32 };
    size_t row[MAX + 1], long_a = strlen(a), long_b = strlen(b);
    if (long_a > MAX || long_b > MAX)
        return MAX;
    for (size_t j = 0; j <= long_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= long_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= long_b; j++) {
            char letter = a[i - 1] == '_' ? '-' : a[i - 1];
            size_t best = diagonal + (letter != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[long_b];
}

const char *settings_nearest(const char *name)
{
    const char *found = NULL;
    size_t least = 3;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        size_t far = settings_distance(name, settings_table[i].name);
        if (far < least && far < strlen(name)) {
            least = far;
            found = settings_table[i].name;
        }
    }
    return found;
}

/* ---- one value ---- */

static void settings_name_place(const setting *row, settings_origin origin, char *out, size_t size)
{
    char variable[SETTING_TEXT_SIZE];
    switch (origin.from) {
    case SETTINGS_FROM_FLAG:
        snprintf(out, size, "--%s", row->name);
        break;
    case SETTINGS_FROM_ENVIRONMENT:
        setting_variable(row, variable);
        snprintf(out, size, "%s in the environment", variable);
        break;
    case SETTINGS_FROM_FILE:
        snprintf(out, size, "%s in %.512s, line %d,", row->name, origin.file, origin.line);
        break;
    case SETTINGS_FROM_DEFAULT:
        snprintf(out, size, "The default of %s", row->name);
        break;
    }
}

hf_status settings_put(settings *s, const setting *row, const char *text, settings_origin origin,
                       hf_error *err)
{
    size_t secret = 0;
    char place[640], takes[SETTING_TEXT_SIZE];
    settings_origin *old = &s->origins[row - settings_table];
    void *field = settings_field(s, row);
    if (origin.from < old->from)
        return HF_OK;
    settings_name_place(row, origin, place, sizeof place);
    bool again = origin.from == old->from && origin.from != SETTINGS_FROM_DEFAULT;
    if (again && !setting_is_list(row))
        return hf_fail(err, HF_INVALID, "%s is set twice; say it once.", place);
    if (!again && setting_is_list(row))
        *(const char *const **)field = NULL;
    hf_status status = setting_read(row, text, &s->arena, field);
    setting_takes(row, takes);
    if (status == HF_INVALID && text[0] == '\0')
        return hf_fail(err, status, "%s is empty; leave it out, or give it %s.", place, takes);
    if (status == HF_INVALID && row->kind == SETTING_STORE) /* it may hold a password */
        return hf_fail(err, status, "%s is too long, or is not %s.", place, takes);
    if (status == HF_INVALID && hf_url_password(text, &secret) != NULL)
        return hf_fail(err, status, "%s is a URL with a password, but takes %s.", place, takes);
    if (status == HF_INVALID)
        return hf_fail(err, status, "%s is '%.80s', but takes %s.", place, text, takes);
    if (status != HF_OK)
        return hf_fail_memory(err);
    *old = origin;
    return HF_OK;
}

/* ---- the sources ---- */

static hf_status settings_put_defaults(settings *s, hf_error *err)
{
    hf_status status = HF_OK;
    for (size_t i = 0; i < SETTINGS_COUNT && status == HF_OK; i++) {
        const setting *row = &settings_table[i];
        if (row->standard != NULL || setting_is_list(row))
            status = settings_put(s, row, row->standard != NULL ? row->standard : "",
                                  (settings_origin){0}, err);
    }
    return status;
}

static const char *settings_variable_of(const settings_sources *from, const setting *row)
{
    char name[SETTING_TEXT_SIZE];
    setting_variable(row, name);
    const char *text = from->variable != NULL ? from->variable(name) : NULL;
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static hf_status settings_put_variable(settings *s, const settings_sources *from,
                                       const setting *row, hf_error *err)
{
    const char *text = settings_variable_of(from, row);
    return text == NULL ? HF_OK
                        : settings_put(s, row, text,
                                       (settings_origin){.from = SETTINGS_FROM_ENVIRONMENT}, err);
}

static hf_status settings_put_flags(settings *s, const settings_sources *from, const setting *only,
                                    hf_error *err)
{
    hf_status status = HF_OK;
    for (size_t i = 0; i < from->flags_count && status == HF_OK; i++) {
        const settings_flag *flag = &from->flags[i];
        const setting *row = settings_find(flag->name);
        if (row == NULL)
            return hf_fail(err, HF_INVALID, "There is no setting '%.64s'.", flag->name);
        if (only == NULL ? row != &settings_table[SETTINGS_ID_config] : row == only)
            status = settings_put(s, row, flag->value != NULL ? flag->value : "yes",
                                  (settings_origin){.from = SETTINGS_FROM_FLAG}, err);
    }
    return status;
}

/* The file that was named, or the first of the usual ones that is there. */
static hf_status settings_put_file(settings *s, const settings_sources *from, hf_error *err)
{
    const setting *config = &settings_table[SETTINGS_ID_config];
    hf_status status = settings_put_variable(s, from, config, err);
    if (status == HF_OK)
        status = settings_put_flags(s, from, config, err);
    if (status != HF_OK || s->config != NULL)
        return status == HF_OK ? settings_read_file(s, s->config, true, err) : status;
    for (const char *const *file = from->files; file != NULL && *file != NULL; file++) {
        status = settings_read_file(s, *file, false, err);
        if (status == HF_OK)
            return settings_put(s, config, *file, (settings_origin){0}, err);
        if (status != HF_NOT_FOUND)
            return status;
    }
    return HF_OK;
}

/* ---- what is worked out, and what goes together ---- */

static hf_status settings_work_out_data(settings *s, const settings_sources *from, hf_error *err)
{
    char first[HF_URL_MAX];
    const char *unit = from->variable != NULL ? from->variable("STATE_DIRECTORY") : NULL;
    if (s->data != NULL)
        return HF_OK;
    const char *path = unit != NULL && unit[0] != '\0' ? unit : from->data;
    if (path == NULL)
        return hf_fail(err, HF_INVALID,
                       "There is no home directory to keep files in; name a folder with --data.");
    snprintf(first, sizeof first, "%.*s",
             path == unit ? (int)strcspn(path, ":") : (int)strlen(path), path);
    return settings_put(s, &settings_table[SETTINGS_ID_data], first, (settings_origin){0}, err);
}

static hf_status settings_work_out_store(settings *s, hf_error *err)
{
    hf_buffer url = {0};
    if (s->store != NULL)
        return HF_OK;
    hf_buffer_print(&url, "sqlite:%s/holdfast.db", s->data);
    hf_status status = url.failed ? hf_fail_memory(err)
                                  : settings_put(s, &settings_table[SETTINGS_ID_store], url.text,
                                                 (settings_origin){0}, err);
    hf_buffer_done(&url);
    return status;
}

/* 0 is for ever. */
static bool settings_forced_go_first(const settings *s)
{
    return s->keep_forced_us != 0 &&
           (s->keep_events_us == 0 || s->keep_forced_us < s->keep_events_us);
}

static void settings_work_out_forced(settings *s)
{
    if (s->origins[SETTINGS_ID_keep_forced_us].from == SETTINGS_FROM_DEFAULT &&
        settings_forced_go_first(s))
        s->keep_forced_us = s->keep_events_us;
}

static hf_status settings_check_together(const settings *s, hf_error *err)
{
    if ((s->tls_certificate == NULL) != (s->tls_key == NULL))
        return hf_fail(err, HF_INVALID, "%s is set without %s; TLS needs both.",
                       s->tls_key == NULL ? "tls-certificate" : "tls-key",
                       s->tls_key == NULL ? "tls-key" : "tls-certificate");
    if (settings_forced_go_first(s))
        return hf_fail(
            err, HF_INVALID,
            "keep-forced is shorter than keep-events, but forced acts are kept at least as long as "
            "other events; make it as long (0: for ever), leave it out, or make keep-events "
            "shorter.");
    return HF_OK;
}

hf_status settings_read(const settings_sources *from, settings **out, hf_error *err)
{
    settings *s = hf_alloc(sizeof *s);
    if (s == NULL)
        return hf_fail_memory(err);
    hf_status status = settings_put_defaults(s, err);
    if (status == HF_OK)
        status = settings_put_file(s, from, err);
    for (size_t i = 0; i < SETTINGS_COUNT && status == HF_OK; i++)
        if (i != SETTINGS_ID_config)
            status = settings_put_variable(s, from, &settings_table[i], err);
    if (status == HF_OK)
        status = settings_put_flags(s, from, NULL, err);
    if (status == HF_OK)
        status = settings_work_out_data(s, from, err);
    if (status == HF_OK)
        status = settings_work_out_store(s, err);
    if (status == HF_OK) {
        settings_work_out_forced(s);
        status = settings_check_together(s, err);
    }
    if (status != HF_OK) {
        settings_free(s);
        return status;
    }
    *out = s;
    return HF_OK;
}

void settings_free(settings *s)
{
    if (s == NULL)
        return;
    hf_arena_wipe(&s->arena); /* a URL may hold a password */
    hf_arena_done(&s->arena);
    hf_free(s);
}
