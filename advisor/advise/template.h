/* SPDX-License-Identifier: MIT */
/* Filling in templates (templates/): facts are names with texts.
 *
 *   {{name}}                    the fact's text; nothing when it is not set
 *   {{#name}} ... {{/name}}     what stands between, if the fact is set and not empty
 *   {{^name}} ... {{/name}}     ... if it is not
 *
 * A line that holds such a section tag alone leaves no line behind. */
#ifndef HF_ADVISE_TEMPLATE_H
#define HF_ADVISE_TEMPLATE_H

#include "base/arena.h"
#include "base/buffer.h"

#define ADVISE_FACTS_MAX 160

typedef struct advise_fact {
    const char *name; /* a constant */
    const char *text;
} advise_fact;

/* All zero is empty. */
typedef struct advise_facts {
    advise_fact at[ADVISE_FACTS_MAX];
    size_t count;
    hf_arena arena;
    bool failed; /* out of memory; sticks */
} advise_facts;

/* Sets a fact, or sets it anew. */
void advise_fact_set(advise_facts *facts, const char *name, const char *text);
void advise_fact_print(advise_facts *facts, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets it to what a buffer holds, which is emptied. */
void advise_fact_take(advise_facts *facts, const char *name, hf_buffer *text);

/* Sets it to "yes" where `is`, else not at all. */
void advise_fact_if(advise_facts *facts, const char *name, bool is);

/* Sets it to what the template comes to. */
void advise_fact_fill(advise_facts *facts, const char *name, const char *template);

/* Its text; "" when it is not set. */
const char *advise_fact_get(const advise_facts *facts, const char *name);

/* Adds the template, filled in, to *out. A failure of the facts becomes one of the buffer. */
void advise_fill(const char *template, const advise_facts *facts, hf_buffer *out);

void advise_facts_done(advise_facts *facts);

#endif
