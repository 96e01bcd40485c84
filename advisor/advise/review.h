/* SPDX-License-Identifier: MIT */
/* Looking again at a decision: is one of its thresholds crossed by what is known now? */
#ifndef HF_ADVISE_REVIEW_H
#define HF_ADVISE_REVIEW_H

#include "advise/record.h"

/* One threshold, and what it is held against. */
typedef struct advise_finding {
    advise_threshold threshold;
    bool known; /* there is a value to compare */
    double value;
    bool crossed;
} advise_finding;

typedef struct advise_review {
    advise_finding findings[ADVISE_THRESHOLDS_MAX];
    size_t count;
    bool decided; /* by the answers of now, added to the record's: what the choice would be */
    advise_strategy strategy;
    bool crossed; /* one of them, or the choice would be another */
} advise_review;

/* Compares. `now` are answers as they are known now, of which those that are assumed do not
 * count; refusals is how many people a day were turned away, below 0 when that is not known.
 * HF_INVALID: none of the thresholds has a value to be held against, or the answers contradict
 * each other. */
hf_status advise_review_make(const advise_record *record, const advise_answers *now,
                             double refusals, advise_review *out, hf_error *err);

/* For people, and as JSON. */
void advise_review_text(const advise_record *record, const advise_review *review, hf_buffer *out);
void advise_review_json(const advise_record *record, const advise_review *review, hf_buffer *out);

#endif
