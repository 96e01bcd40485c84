/* SPDX-License-Identifier: MIT */
/* The settings of a server: what each is stands in settings_table.h. Strength: flag, environment,
 * file, default. In the environment and in the file a list has commas between its items; a flag may
 * be given again, and so may the key of a list in the file. An empty variable counts as not set. */
#ifndef HF_SERVER_SETTINGS_H
#define HF_SERVER_SETTINGS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "server/settings_table.h"

#include <holdfast/status.h>

typedef enum setting_kind {
    SETTING_ADDRESSES,
    SETTING_ORIGINS,
    SETTING_HOSTS,
    SETTING_NETWORKS,
    SETTING_STORE,
    SETTING_PATH,
    SETTING_DURATION,
    SETTING_NUMBER,
    SETTING_SIZE,
    SETTING_SWITCH,
    SETTING_CHOICE,
} setting_kind;

/* A row of the table. */
typedef struct setting {
    setting_kind kind;
    size_t offset; /* of its field in settings */
    const char *name;
    /* what a value is called, "DURATION"; "...": a list; "a|b": a choice; NULL: a switch */
    const char *value;
    const char *standard; /* the default, as text; NULL: none, or worked out */
    int64_t min, max;
    const char *about;
} setting;

#define SETTINGS_ID(kind, field, ...) SETTINGS_ID_##field,
enum { SETTINGS_TABLE(SETTINGS_ID) SETTINGS_COUNT };
#undef SETTINGS_ID

extern const setting settings_table[SETTINGS_COUNT];

typedef enum settings_from {
    SETTINGS_FROM_DEFAULT,
    SETTINGS_FROM_FILE,
    SETTINGS_FROM_ENVIRONMENT,
    SETTINGS_FROM_FLAG,
} settings_from;

typedef struct settings_origin {
    settings_from from;
    const char *file; /* SETTINGS_FROM_FILE */
    int line;
} settings_origin;

/* The field of each kind. A list ends with NULL and is never NULL itself; a path that is not set is
 * NULL; a choice is the number of its word, from 0. */
#define SETTINGS_TYPE_ADDRESSES const char *const *
#define SETTINGS_TYPE_ORIGINS   const char *const *
#define SETTINGS_TYPE_HOSTS     const char *const *
#define SETTINGS_TYPE_NETWORKS  const char *const *
#define SETTINGS_TYPE_STORE     const char *
#define SETTINGS_TYPE_PATH      const char *
#define SETTINGS_TYPE_DURATION  int64_t
#define SETTINGS_TYPE_NUMBER    int64_t
#define SETTINGS_TYPE_SIZE      int64_t
#define SETTINGS_TYPE_SWITCH    bool
#define SETTINGS_TYPE_CHOICE    int

/* s->listen, s->body_max, s->head_timeout_us ...: a field for each row of the table. */
#define SETTINGS_FIELD(kind, field, ...) SETTINGS_TYPE_##kind field;
typedef struct settings {
    SETTINGS_TABLE(SETTINGS_FIELD)
    settings_origin origins[SETTINGS_COUNT];
    hf_arena arena; /* private */
} settings;
#undef SETTINGS_FIELD

enum { SETTINGS_LOG_TEXT, SETTINGS_LOG_JSON }; /* of `log` */

/* One flag of the command line; value NULL: a switch. */
typedef struct settings_flag {
    const char *name;
    const char *value;
} settings_flag;

/* Where settings are looked for. */
typedef struct settings_sources {
    const settings_flag *flags;
    size_t flags_count;
    const char *(*variable)(const char *name); /* as getenv */
    /* the first that is there is read, when `config` names none; ends with NULL */
    const char *const *files;
    const char *data; /* the data directory when nothing names one; NULL: there is none */
} settings_sources;

/* Reads them all. HF_INVALID names the setting, where it was set and what it takes; HF_UNAVAILABLE:
 * a file can't be read. Changes nothing on disk. */
hf_status settings_read(const settings_sources *from, settings **out, hf_error *err);

/* Accepts NULL. */
void settings_free(settings *s);

/* All of them and where each came from, as a file that can be read again, or as JSON. No password
 * shows. Look at out->failed. */
void settings_print(const settings *s, bool json, hf_buffer *out);

/* Of a row: "HOLDFAST_BODY_MAX"; and what a value may be, "a size like 64K or 1M, from 1K to 64M".
 * */
enum { SETTING_TEXT_SIZE = 160 };
void setting_variable(const setting *row, char out[SETTING_TEXT_SIZE]);
void setting_takes(const setting *row, char out[SETTING_TEXT_SIZE]);

#endif
