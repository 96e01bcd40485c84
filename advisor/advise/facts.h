/* SPDX-License-Identifier: MIT */
/* A record as facts for the templates; those of the decision record and of the plan use the same
 * names. */
#ifndef HF_ADVISE_FACTS_H
#define HF_ADVISE_FACTS_H

#include "advise/record.h"
#include "advise/template.h"

/* Sets every fact that a record gives. */
void advise_record_facts(const advise_record *record, advise_facts *facts);

/* Stacks that the plan knows by name; `stack` is what was answered. "" when it is none of them. */
const char *advise_stack_name(const char *stack);

#endif
