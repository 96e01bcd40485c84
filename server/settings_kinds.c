/* SPDX-License-Identifier: MIT */
/* What each kind of setting takes. */
#include "server/settings_inside.h"

#include "base/redact.h"
#include "server/http/listeners.h"

#include <ctype.h>
#include <holdfast/limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A unit and how many of the field's it is; the largest first. */
typedef struct unit {
    const char *name;
    int64_t worth;
} unit;

static const unit durations[] = {{"d", SETTINGS_DAY},    {"h", 3600 * SETTINGS_S},
                                 {"m", 60 * SETTINGS_S}, {"s", SETTINGS_S},
                                 {"ms", SETTINGS_MS},    {NULL, 0}};
static const unit sizes[] = {
    {"G", 1024 * SETTINGS_MIB}, {"M", SETTINGS_MIB}, {"K", SETTINGS_KIB}, {"", 1}, {NULL, 0}};
static const unit ones[] = {{"", 1}, {NULL, 0}};

static const unit *setting_units_of(setting_kind kind)
{
    return kind == SETTING_DURATION ? durations : kind == SETTING_SIZE ? sizes : ones;
}

/* ---- amounts ---- */

static int64_t setting_worth_of(const unit *units, const char *name)
{
    for (; units->name != NULL; units++)
        if (strcmp(units->name, name) == 0)
            return units->worth;
    return 0;
}

static hf_status setting_read_amount(const setting *row, const char *text, hf_arena *arena,
                                     void *field)
{
    (void)arena;
    int64_t value = 0;
    size_t digits = strspn(text, "0123456789");
    int64_t worth = setting_worth_of(setting_units_of(row->kind), text + digits);
    if (strcmp(text, "0") == 0)
        worth = 1; /* needs no unit */
    if (digits == 0 || digits > 18 || worth == 0)
        return HF_INVALID;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (text[i] - '0');
    if (__builtin_mul_overflow(value, worth, &value) || value < row->min || value > row->max)
        return HF_INVALID;
    *(int64_t *)field = value;
    return HF_OK;
}

static void setting_print_amount(const unit *units, int64_t value, char *out, size_t size)
{
    if (value == 0) {
        snprintf(out, size, "0");
        return;
    }
    while (value % units->worth != 0 && units[1].name != NULL)
        units++;
    snprintf(out, size, "%" PRId64 "%s", value / units->worth, units->name);
}

static bool setting_write_amount(const setting *row, const void *field, hf_buffer *out)
{
    char text[32];
    setting_print_amount(setting_units_of(row->kind), *(const int64_t *)field, text, sizeof text);
    hf_buffer_add(out, text, strlen(text));
    return false;
}

/* ---- words ---- */

static hf_status setting_read_switch(const setting *row, const char *text, hf_arena *arena,
                                     void *field)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"off", "on"}, {"false", "true"}, {"0", "1"}};
    (void)row;
    (void)arena;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t value = 0; value < 2; value++)
            if (strcmp(text, words[i][value]) == 0) {
                *(bool *)field = value == 1;
                return HF_OK;
            }
    return HF_INVALID;
}

static bool setting_write_switch(const setting *row, const void *field, hf_buffer *out)
{
    (void)row;
    hf_buffer_print(out, "%s", *(const bool *)field ? "yes" : "no");
    return false;
}

static hf_status setting_read_choice(const setting *row, const char *text, hf_arena *arena,
                                     void *field)
{
    (void)arena;
    int number = 0;
    for (const char *word = row->value; word != NULL; number++) {
        size_t length = strcspn(word, "|");
        if (strlen(text) == length && memcmp(text, word, length) == 0) {
            *(int *)field = number;
            return HF_OK;
        }
        word = word[length] == '|' ? word + length + 1 : NULL;
    }
    return HF_INVALID;
}

static bool setting_write_choice(const setting *row, const void *field, hf_buffer *out)
{
    const char *word = row->value;
    for (int number = *(const int *)field; number > 0; number--)
        word += strcspn(word, "|") + 1;
    hf_buffer_add(out, word, strcspn(word, "|"));
    return false;
}

/* ---- texts ---- */

/* Can it stand in a file as it is? inih takes blanks off both ends, and a ';' after a blank begins
 * a comment. */
static bool setting_fits_file(const char *text)
{
    size_t size = strlen(text);
    return hf_text_is_clean(text, size) && text[0] != ';' && text[0] != ' ' &&
           strstr(text, " ;") == NULL && (size == 0 || text[size - 1] != ' ');
}

static hf_status setting_read_text(const setting *row, const char *text, hf_arena *arena,
                                   void *field)
{
    size_t size = strlen(text);
    const char *copy = NULL;
    if (!setting_fits_file(text) || size > HF_URL_MAX || (size == 0 && row->min > 0))
        return HF_INVALID;
    if (size > 0 && (copy = hf_arena_text(arena, hf_slice_of(text))) == NULL)
        return HF_NO_MEMORY;
    *(const char **)field = copy;
    return HF_OK;
}

static bool setting_write_text(const setting *row, const void *field, hf_buffer *out)
{
    (void)row;
    const char *text = *(const char *const *)field;
    if (text != NULL)
        hf_buffer_add(out, text, strlen(text));
    return false;
}

static bool setting_write_store(const setting *row, const void *field, hf_buffer *out)
{
    (void)row;
    char shown[HF_URL_MAX + 1] = "";
    const char *url = *(const char *const *)field;
    bool redacted = url != NULL && hf_url_redact(url, shown, sizeof shown);
    hf_buffer_add(out, shown, strlen(shown));
    return redacted;
}

/* ---- lists ---- */

static bool setting_is_address(const char *text)
{
    address read;
    return address_read(text, &read);
}

/* The name or address of a machine, without a port. */
static bool setting_is_host(const char *text)
{
    size_t size = strlen(text);
    if (size > 2 && text[0] == '[' && text[size - 1] == ']')
        return strspn(text + 1, "0123456789abcdef:.") == size - 2;
    return size > 0 && size <= 253 && text[0] != '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == size;
}

/* As browsers write it: scheme, host in lower case, a port that is not the usual one; nothing
 * behind. */
static bool setting_is_origin(const char *text)
{
    char host[256];
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    const char *name = text + scheme;
    const char *port = name + (name[0] == '[' ? strcspn(name, "]") : 0);
    port += strcspn(port, ":");
    if (scheme == 0 || (size_t)(port - name) >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(port - name), name);
    size_t digits = *port == ':' ? strspn(port + 1, "0123456789") : 0;
    return setting_is_host(host) &&
           (*port == '\0' || (digits > 0 && digits <= 5 && port[1 + digits] == '\0'));
}

static bool setting_is_item(setting_kind kind, const char *text)
{
    switch (kind) {
    case SETTING_ADDRESSES:
        return setting_is_address(text);
    case SETTING_ORIGINS:
        return setting_is_origin(text);
    case SETTING_HOSTS:
        return setting_is_host(text);
    default:
        return strcmp(text, "unix") == 0 || address_is_network(text);
    }
}

static size_t setting_count_items(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count;
}

/* Cuts the next item off a text: what stands before the comma, without the blanks around it. */
static hf_slice setting_next_item(const char **text)
{
    const char *from = *text + strspn(*text, " ");
    const char *comma = from + strcspn(from, ",");
    const char *end = comma;
    while (end > from && end[-1] == ' ')
        end--;
    *text = *comma == ',' ? comma + 1 : NULL;
    return (hf_slice){from, (size_t)(end - from)};
}

static hf_status setting_read_list(const setting *row, const char *text, hf_arena *arena,
                                   void *field)
{
    const char *const *old = *(const char *const *const *)field;
    size_t count = setting_count_items(old), room = count + 2;
    for (const char *c = text; *c != '\0'; c++)
        room += *c == ',';
    const char **list = hf_arena_alloc(arena, room * sizeof *list);
    if (list == NULL)
        return HF_NO_MEMORY;
    if (count > 0)
        memcpy(list, old, count * sizeof *list);
    for (const char *rest = text[0] == '\0' ? NULL : text; rest != NULL;) {
        hf_slice item = setting_next_item(&rest);
        char *copy = hf_arena_text(arena, item);
        if (copy == NULL)
            return HF_NO_MEMORY;
        if (!setting_fits_file(copy) || !setting_is_item(row->kind, copy))
            return HF_INVALID;
        list[count++] = copy;
    }
    if ((int64_t)count < row->min || (int64_t)count > row->max)
        return HF_INVALID;
    *(const char *const **)field = list;
    return HF_OK;
}

static bool setting_write_list(const setting *row, const void *field, hf_buffer *out)
{
    (void)row;
    const char *const *list = *(const char *const *const *)field;
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        hf_buffer_print(out, "%s%s", i > 0 ? ", " : "", list[i]);
    return false;
}

/* ---- all of them ---- */

static const struct {
    hf_status (*read)(const setting *row, const char *text, hf_arena *arena, void *field);
    bool (*write)(const setting *row, const void *field, hf_buffer *out);
    const char *takes;
} kinds[] = {
    [SETTING_ADDRESSES] = {setting_read_list, setting_write_list,
                           "addresses like 127.0.0.1:7420, [::1]:7420 or unix:/run/holdfast.sock"},
    [SETTING_ORIGINS] = {setting_read_list, setting_write_list,
                         "origins like https://app.example.org, in lower case, nothing behind"},
    [SETTING_HOSTS] =
        {setting_read_list, setting_write_list,
         "names like locks.example.org or addresses like [fd00::3], in lower case, without a port"},
    [SETTING_NETWORKS] = {setting_read_list, setting_write_list,
                          "addresses like 10.0.0.7, ranges like 10.0.0.0/8, or unix"},
    [SETTING_STORE] = {setting_read_text, setting_write_store,
                       "a URL like sqlite:PATH or postgres://user@host/database"},
    [SETTING_PATH] =
        {setting_read_text, setting_write_text,
         "a path without control characters, blanks at its ends or a ';' after a blank"},
    [SETTING_DURATION] = {setting_read_amount, setting_write_amount,
                          "a duration like 30s, 5m or 7d"},
    [SETTING_NUMBER] = {setting_read_amount, setting_write_amount, "a whole number"},
    [SETTING_SIZE] = {setting_read_amount, setting_write_amount, "a size like 64K or 1M"},
    [SETTING_SWITCH] = {setting_read_switch, setting_write_switch, "yes or no"},
    [SETTING_CHOICE] = {setting_read_choice, setting_write_choice, "one of "},
};

bool setting_is_list(const setting *row)
{
    return kinds[row->kind].read == setting_read_list;
}

hf_status setting_read(const setting *row, const char *text, hf_arena *arena, void *field)
{
    return kinds[row->kind].read(row, text, arena, field);
}

bool setting_write(const setting *row, const void *field, hf_buffer *out)
{
    return kinds[row->kind].write(row, field, out);
}

/* "text|json" as "text, json". */
static void setting_print_words(const char *words, char *out, size_t size)
{
    size_t used = 0;
    for (; *words != '\0' && used + 2 < size; words++) {
        out[used++] = *words == '|' ? ',' : *words;
        if (*words == '|')
            out[used++] = ' ';
    }
    out[used] = '\0';
}

void setting_takes(const setting *row, char out[SETTING_TEXT_SIZE])
{
    char least[64], most[32];
    const char *what = kinds[row->kind].takes;
    if (kinds[row->kind].read == setting_read_amount) {
        setting_print_amount(setting_units_of(row->kind), row->min, least, sizeof least);
        setting_print_amount(setting_units_of(row->kind), row->max, most, sizeof most);
        snprintf(out, SETTING_TEXT_SIZE, "%s, from %s to %s", what, least, most);
        return;
    }
    setting_print_words(row->kind == SETTING_CHOICE ? row->value : "", least, sizeof least);
    snprintf(out, SETTING_TEXT_SIZE, "%s%s", what, least);
}

void setting_variable(const setting *row, char out[SETTING_TEXT_SIZE])
{
    snprintf(out, SETTING_TEXT_SIZE, "HOLDFAST_%s", row->name);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}
