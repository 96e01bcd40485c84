/* SPDX-License-Identifier: MIT */
/* The settings file: reading it by libinih, and writing the settings in its form
 * (--print-config). */
#include "base/error.h"
#include "base/json.h"
#include "base/seams.h"
#include "server/settings_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* inih gets its lines from here: so their numbers are known, indentation means nothing (inih would
 * take an indented line as a continuation), and no line is cut silently. */

enum { FILE_MAX_SIZE = 262144, LINE_MAX_SIZE = 8192 };

typedef struct file {
    settings *s;
    const char *path; /* in the arena of the settings */
    const char *rest; /* not read yet */
    int line;
    bool cut; /* the line was longer than inih takes */
    hf_status status;
    hf_error *err;
} file;

/* Gives inih the next line, as fgets does. */
static char *settings_file_next_line(char *out, int size, void *context)
{
    file *f = context;
    if (f->rest[0] == '\0' || f->status != HF_OK || f->cut)
        return NULL;
    size_t whole = strcspn(f->rest, "\n");
    size_t blanks = strspn(f->rest, " \t");
    const char *from = f->rest + (blanks < whole ? blanks : whole);
    size_t length = (size_t)(f->rest + whole - from);
    f->rest += whole + (f->rest[whole] == '\n');
    f->line++;
    if (*from == '#' || *from == ';')
        length = 0;
    f->cut = length + 2 > (size_t)size;
    if (f->cut)
        return NULL;
    snprintf(out, (size_t)size, "%.*s\n", (int)length, from);
    return out;
}

/* Takes one setting; 0 tells inih that it was wrong. */
static int settings_file_take(void *context, const char *section, const char *name,
                              const char *value)
{
    file *f = context;
    const setting *row = settings_find(name);
    const char *near = settings_nearest(name);
    settings_origin origin = {.from = SETTINGS_FROM_FILE, .file = f->path, .line = f->line};
    if (f->status != HF_OK)
        return 0;
    if (section[0] != '\0' && strcmp(section, "server") != 0)
        f->status =
            hf_fail(f->err, HF_INVALID,
                    "%.512s, line %d: there is no section [%.50s]; the settings stand in [server].",
                    f->path, f->line, section);
    else if (row == NULL && near != NULL)
        f->status = hf_fail(f->err, HF_INVALID,
                            "%.512s, line %d: there is no setting '%.64s'; did you mean '%s'?",
                            f->path, f->line, name, near);
    else if (row == NULL)
        f->status = hf_fail(f->err, HF_INVALID,
                            "%.512s, line %d: there is no setting '%.64s'; 'holdfast help serve' "
                            "lists those there are.",
                            f->path, f->line, name);
    else if (row == &settings_table[SETTINGS_ID_config])
        f->status =
            hf_fail(f->err, HF_INVALID,
                    "%.512s, line %d: a file can't name another; give --config.", f->path, f->line);
    else
        f->status = settings_put(f->s, row, value, origin, f->err);
    return f->status == HF_OK;
}

static hf_status settings_file_parse(file *f, const char *text)
{
    f->rest = text;
#ifdef HF_INI_MAX_LINE
    ini_max_line = LINE_MAX_SIZE;
#endif
    int wrong = ini_parse_stream(settings_file_next_line, f, settings_file_take, f);
    if (wrong < 0)
        return hf_fail_memory(f->err);
    if (wrong > 0 && (f->status == HF_OK || wrong < f->line))
        return hf_fail(f->err, HF_INVALID,
                       "%.512s, line %d is no setting: write NAME = VALUE, [server] or a comment "
                       "that begins with '#'.",
                       f->path, wrong);
    if (f->cut)
        return hf_fail(f->err, HF_INVALID,
                       "%.512s, line %d is too long; give that setting by flag or environment.",
                       f->path, f->line);
    return f->status;
}

static hf_status settings_read_bytes(int fd, hf_buffer *out, const char *path, hf_error *err)
{
    char block[4096];
    ssize_t size;
    while ((size = read(fd, block, sizeof block)) > 0 && out->size <= FILE_MAX_SIZE)
        hf_buffer_add(out, block, (size_t)size);
    hf_buffer_add(out, "", 0);
    if (size < 0)
        return hf_fail(err, HF_UNAVAILABLE, "%.512s could not be read: %s.", path, strerror(errno));
    if (out->failed)
        return hf_fail_memory(err);
    if (out->size > FILE_MAX_SIZE)
        return hf_fail(err, HF_TOO_LARGE,
                       "%.512s is too large for a file of settings; it may have %d bytes.", path,
                       FILE_MAX_SIZE);
    if (strlen(out->text) != out->size)
        return hf_fail(err, HF_INVALID, "%.512s is no text: it holds a zero byte.", path);
    return HF_OK;
}

hf_status settings_read_file(settings *s, const char *path, bool must, hf_error *err)
{
    hf_buffer text = {0};
    file f = {.s = s, .err = err, .path = hf_arena_text(&s->arena, hf_slice_of(path))};
    if (f.path == NULL)
        return hf_fail_memory(err);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && !must && (errno == ENOENT || errno == ENOTDIR))
        return HF_NOT_FOUND;
    if (fd < 0)
        return hf_fail(err, HF_UNAVAILABLE, "The file of settings %.512s can't be opened: %s.",
                       path, strerror(errno));
    hf_status status = settings_read_bytes(fd, &text, path, err);
    close(fd);
    if (status == HF_OK)
        status = settings_file_parse(&f, text.text);
    if (text.text != NULL)
        explicit_bzero(text.text, text.size);
    hf_buffer_done(&text);
    return status;
}

/* ---- --print-config ---- */

static const char *const froms[] = {
    [SETTINGS_FROM_DEFAULT] = "default",
    [SETTINGS_FROM_FILE] = "file",
    [SETTINGS_FROM_ENVIRONMENT] = "environment",
    [SETTINGS_FROM_FLAG] = "flag",
};

static const void *settings_field_of(const settings *s, const setting *row)
{
    return (const char *)s + row->offset;
}

/* A line of the file; that of the file itself is a comment. */
static void settings_print_line(const settings *s, const setting *row, hf_buffer *out)
{
    const settings_origin *origin = settings_origin_of(s, row);
    hf_buffer_print(out, "%s%s = ", row == &settings_table[SETTINGS_ID_config] ? "# " : "",
                    row->name);
    bool redacted = setting_write(row, settings_field_of(s, row), out);
    hf_buffer_print(out, " ; %s", froms[origin->from]);
    if (origin->from == SETTINGS_FROM_FILE)
        hf_buffer_print(out, " %s line %d", origin->file, origin->line);
    hf_buffer_print(out, "%s\n", redacted ? ", password not shown" : "");
}

static void settings_add_list(hf_json *json, const char *const *list)
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
        settings_add_list(json, *(const char *const *const *)settings_field_of(s, row));
        return;
    }
    setting_write(row, settings_field_of(s, row), &text);
    json->out.failed |= text.failed;
    hf_json_text(json, text.size > 0 ? text.text : NULL);
    hf_buffer_done(&text);
}

static void settings_add_setting(const settings *s, const setting *row, hf_json *json)
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
        settings_add_setting(s, &settings_table[i], &json);
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
