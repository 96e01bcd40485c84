/* SPDX-License-Identifier: MIT */
/* Which files are read. Everything that is left out for a reason is named with it. */
#ifndef HF_AUDIT_FILES_H
#define HF_AUDIT_FILES_H

#include "audit/module.h"

#include <holdfast/status.h>

#define AUDIT_FILE_MAX     ((size_t)2 << 20) /* larger sources are no one's work */
#define AUDIT_SQL_FILE_MAX ((size_t)32 << 20)

typedef struct audit_file {
    const char *path; /* as it is shown: the operand and what is below it */
    audit_language language;
    size_t size;
    bool migration;      /* runs once, alone: it declares, and is not judged */
    bool deploys;        /* it may say how many processes are started (deploy.c) */
    const char *skipped; /* why it was not read; NULL: it was */
} audit_file;

typedef struct audit_files {
    hf_arena *arena;
    audit_file *items;
    size_t count, room;
    size_t tests; /* files of tests, left out */
} audit_files;

/* Adds a file, or all below a folder, in order of their names. Links are not followed.
 * HF_NOT_FOUND: there is no such path. */
hf_status audit_files_add(audit_files *files, const char *path, hf_error *err);
void audit_files_done(audit_files *files);

/* Reads one; hf_free it, it ends in NUL. False: *why says why not. */
bool audit_file_read(const audit_file *file, char **out, size_t *size, const char **why);

#endif
