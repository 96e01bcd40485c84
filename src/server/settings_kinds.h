/* SPDX-License-Identifier: MIT */
/* The kinds of settings: reading a text into a field, and writing a field as text. What is written
 * is read as the same. */
#ifndef HF_SERVER_SETTINGS_KINDS_H
#define HF_SERVER_SETTINGS_KINDS_H

#include "server/settings.h"

bool setting_is_list(const setting *row);

/* Reads a text; a list gets what is in it besides what it has. HF_INVALID: it is not what
 * setting_takes says. HF_NO_MEMORY. */
hf_status setting_read(const setting *row, const char *text, hf_arena *arena, void *field);

/* Writes it; the items of a list with commas between them. True: a password was left out. */
bool setting_write(const setting *row, const void *field, hf_buffer *out);

#endif
