/* SPDX-License-Identifier: MIT */
/* Findings for people and programs. */
#ifndef HF_AUDIT_REPORT_H
#define HF_AUDIT_REPORT_H

#include "audit/audit.h"

/* With frames of code and, once for each rule, why it matters and what to do. */
void audit_report_text(const audit_run *run, bool color, hf_buffer *out);

void audit_report_json(const audit_run *run, hf_buffer *out);

/* SARIF 2.1.0. */
void audit_report_sarif(const audit_run *run, hf_buffer *out);

/* How many findings are new: neither suppressed nor in the baseline, of at least this severity. */
size_t audit_report_count(const audit_run *run, audit_level least);

#endif
