/* SPDX-License-Identifier: MIT */
/* --print-config: every setting and where it came from. */
#include "base/json.h"
#include "server/settings_inside.h"
#include "server/settings_kinds.h"

#include <string.h>

static const char *const froms[] = {
    [SETTINGS_FROM_DEFAULT] = "default",
    [SETTINGS_FROM_FILE] = "file",
    [SETTINGS_FROM_ENVIRONMENT] = "environment",
    [SETTINGS_FROM_FLAG] = "flag",
};

static const void *field_of(const settings *s, const setting *row)
{
    return (const char *)s + row->offset;
}

/* A line of the file; that of the file itself is a comment. */
static void settings_print_line(const settings *s, const setting *row, hf_buffer *out)
{
    const settings_origin *origin = settings_origin_of(s, row);
    hf_buffer_print(out, "%s%s = ", row == &settings_table[SETTINGS_ID_config] ? "# " : "",
                    row->name);
    bool redacted = setting_write(row, field_of(s, row), out);
    hf_buffer_print(out, " ; %s", froms[origin->from]);
    if (origin->from == SETTINGS_FROM_FILE)
        hf_buffer_print(out, " %s line %d", origin->file, origin->line);
    hf_buffer_print(out, "%s\n", redacted ? ", password not shown" : "");
}

static void add_list(hf_json *json, const char *const *list)
{
    hf_json_begin(json, '[');
    for (; list != NULL && *list != NULL; list++)
        hf_json_text(json, *list);
    hf_json_end(json, ']');
}

/* A value as --print-config writes it, in quotes; a list as an array; null when there is none. */
static void settings_print_add_value(const settings *s, const setting *row, hf_json *json)
{
    hf_buffer text = {0};
    if (setting_is_list(row)) {
        add_list(json, *(const char *const *const *)field_of(s, row));
        return;
    }
    setting_write(row, field_of(s, row), &text);
    json->out.failed |= text.failed;
    hf_json_text(json, text.size > 0 ? text.text : NULL);
    hf_buffer_done(&text);
}

static void add_setting(const settings *s, const setting *row, hf_json *json)
{
    const settings_origin *origin = settings_origin_of(s, row);
    hf_json_begin(json, '{');
    hf_json_put_text(json, "name", row->name);
    hf_json_name(json, "value");
    settings_print_add_value(s, row, json);
    hf_json_put_text(json, "from", froms[origin->from]);
    if (origin->from == SETTINGS_FROM_FILE) {
        hf_json_put_text(json, "file", origin->file);
        hf_json_put_int(json, "line", origin->line);
    }
    hf_json_end(json, '}');
}

static void settings_print_json(const settings *s, hf_buffer *out)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "settings");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        add_setting(s, &settings_table[i], &json);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    out->failed |= json.out.failed;
    hf_buffer_add(out, json.out.text != NULL ? json.out.text : "", json.out.size);
    hf_buffer_add(out, "\n", 1);
    hf_buffer_done(&json.out);
}

void settings_print(const settings *s, bool json, hf_buffer *out)
{
    if (json) {
        settings_print_json(s, out);
        return;
    }
    hf_buffer_print(out, "[server]\n");
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        settings_print_line(s, &settings_table[i], out);
}
