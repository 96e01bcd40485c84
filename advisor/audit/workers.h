/* SPDX-License-Identifier: MIT */
/* Files are read and parsed by processes of their own, with limits of memory and time: parsers
 * of other people's making crash on some input, and eat all memory on other. */
#ifndef HF_AUDIT_WORKERS_H
#define HF_AUDIT_WORKERS_H

#include "audit/files.h"

#define AUDIT_WORKER_MEMORY  ((size_t)400 << 20)
#define AUDIT_WORKER_SECONDS 10 /* for one file */
#define AUDIT_WORKERS_MAX    8

/* Reads all files into facts, in the order of the files. A file whose parser dies gets a reason
 * in `skipped`; so do sources when `module` is NULL. `progress` is told now and then how many are
 * done. */
hf_status audit_workers_run(audit_files *files, const audit_module *module, audit_facts *facts,
                            void (*progress)(size_t done, size_t of), hf_error *err);

#endif
