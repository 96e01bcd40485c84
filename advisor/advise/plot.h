/* SPDX-License-Identifier: MIT */
/* The bills of a record against the number of editors, drawn. */
#ifndef HF_ADVISE_PLOT_H
#define HF_ADVISE_PLOT_H

#include "advise/record.h"

/* Writes an SVG image: hours a week under each policy for one editor up to three times as many
 * as now, each with as many edits as now, and from how many on locks are worth building.
 * HF_INVALID: the record has no bills (a transaction, a lease). */
hf_status advise_plot(const advise_record *record, hf_buffer *out, hf_error *err);

#endif
