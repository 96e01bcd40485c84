/* SPDX-License-Identifier: MIT */
/* Asking a person for the answers, in a terminal or from lines that a program writes. */
#ifndef HF_CLI_ADVISE_INTERVIEW_H
#define HF_CLI_ADVISE_INTERVIEW_H

#include "advise/record.h"

#include <stdio.h>

/* Asks for what is not known yet, as far as the answers so far make it matter: each question
 * with why it matters, and what is assumed in brackets. An empty line takes that, "q" gives up.
 * What is typed is marked as an expert's. After a line that makes no sense it is asked again.
 * HF_INVALID: the input ended, or was given up. */
hf_status advise_interview(advise_answers *answers, FILE *in, FILE *out, hf_error *err);

/* Asks where to write the record, which is summed up first; "" for standard output. The name
 * proposed is made of the entity. */
hf_status advise_interview_end(const advise_record *record, FILE *in, FILE *out, char *path,
                               size_t size, hf_error *err);

#endif
