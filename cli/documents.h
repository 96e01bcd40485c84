/* SPDX-License-Identifier: MIT */
/* Documents that a verb reads and writes: --format, --out, and files of answers and records. */
#ifndef HF_CLI_DOCUMENTS_H
#define HF_CLI_DOCUMENTS_H

#include "base/buffer.h"
#include "cli/options.h"

#define CLI_DOCUMENT_MAX ((size_t)4 << 20)

/* Reads a whole file, or standard input for "-"; hf_free it. It ends in NUL. HF_UNAVAILABLE: it
 * can't be read. HF_TOO_LARGE. */
hf_status cli_document_read(const char *path, char **out, size_t *size, hf_error *err);

/* --format markdown|json; --json is the same as the second. */
hf_status cli_document_format(const cli_call *call, bool *json, hf_error *err);

/* Writes to `path`, whatever that is: a regular file is replaced, all of it or nothing; a link, a
 * device or a pipe stays what it is. */
hf_status cli_document_save(const char *path, const hf_buffer *text, hf_error *err);

/* Writes the document to `path`, and says so ("Wrote the WHAT to FILE."); or, if that is NULL,
 * to standard output. Empties the buffer. */
hf_status cli_document_write(const char *path, const char *what, hf_buffer *text, hf_error *err);

#endif
