/* SPDX-License-Identifier: MIT */
/* The Implementation Plan for a decision record: what to do, step by step, for the stack that
 * was named. */
#ifndef HF_ADVISE_PLAN_H
#define HF_ADVISE_PLAN_H

#include "advise/record.h"

/* The plan as Markdown; the tests alone, as a script for sh ("" where there are none: one
 * transaction, or a database whose client is not known); and all of it as JSON. Failures stick
 * to the buffer. */
void advise_plan_markdown(const advise_record *record, hf_buffer *out);
void advise_plan_script(const advise_record *record, hf_buffer *out);
void advise_plan_json(const advise_record *record, hf_buffer *out);

#endif
