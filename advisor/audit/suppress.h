/* SPDX-License-Identifier: MIT */
/* Findings that the code itself answers: a comment `holdfast-audit: ignore RULE REASON` in the
 * line or the one above. */
#ifndef HF_AUDIT_SUPPRESS_H
#define HF_AUDIT_SUPPRESS_H

#include "audit/audit.h"

/* Sets `reason` of those. A comment without a reason does not count, and is noted. */
void audit_suppress(audit_run *run);

/* The lines of a file around one, for frames: calls `each` with numbers from 1. */
typedef void (*audit_line_fn)(void *context, uint32_t number, hf_slice line);
void audit_lines(const audit_run *run, audit_place place, uint32_t before, uint32_t after,
                 audit_line_fn each, void *context);

#endif
