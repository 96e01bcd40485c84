/* SPDX-License-Identifier: MIT */
/* What the files of the settings share: putting a value into its field, with where it came from. */
#ifndef HF_SERVER_SETTINGS_INSIDE_H
#define HF_SERVER_SETTINGS_INSIDE_H

#include "server/settings.h"

const settings_origin *settings_origin_of(const settings *s, const setting *row);

/* The row of that name, or NULL; and the name that is nearest to a wrong one, or NULL when none is
 * near. */
const setting *settings_find(const char *name);
const char *settings_nearest(const char *name);

/* Sets it unless something stronger has. HF_INVALID: the sentence says what it takes. */
hf_status settings_put(settings *s, const setting *row, const char *text, settings_origin origin,
                       hf_error *err);

/* Reads a file. `must`: it has been named, so that its absence is a failure; else HF_NOT_FOUND,
 * without a sentence. */
hf_status settings_read_file(settings *s, const char *path, bool must, hf_error *err);

/* The kinds of settings: reading a text into a field, and writing a field as text. What is written
 * is read as the same. */
bool setting_is_list(const setting *row);

/* Reads a text; a list gets what is in it besides what it has. HF_INVALID: it is not what
 * setting_takes says. HF_NO_MEMORY. */
hf_status setting_read(const setting *row, const char *text, hf_arena *arena, void *field);

/* Writes it; the items of a list with commas between them. True: a password was left out. */
bool setting_write(const setting *row, const void *field, hf_buffer *out);

#endif
