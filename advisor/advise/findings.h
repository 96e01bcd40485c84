/* SPDX-License-Identifier: MIT */
/* What an audit found in the code, as SARIF 2.1.0 (the format that audits and linters share), for a
 * record's warnings. */
#ifndef HF_ADVISE_FINDINGS_H
#define HF_ADVISE_FINDINGS_H

#include "advise/record.h"

#define ADVISE_FINDINGS_MAX 10 /* that are told; the rest is counted */

/* Adds a warning for each result that is not suppressed: "src/a.py:12: MESSAGE (RULE)". HF_INVALID:
 * it is no SARIF. */
hf_status advise_findings_read(const char *text, size_t size, advise_sentences *warnings,
                               hf_error *err);

#endif
