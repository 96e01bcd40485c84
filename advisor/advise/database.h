/* SPDX-License-Identifier: MIT */
/* Measuring a live database: how many records a table has, how often they are saved, and how the
 * saves are spread. Reads only. */
#ifndef HF_ADVISE_DATABASE_H
#define HF_ADVISE_DATABASE_H

#include "advise/record.h"

/* Connects by URL and fills, marked measured: database, records; with a version column (version,
 * lock_version, row_version, revision or version_id, a whole number) busiest_tenth_share, from
 * the saves it counted; with a count of updates or a time of change, edits_per_day, which is
 * saves a day by what save_share says. What could not be measured is said in `notes`.
 * HF_NOT_FOUND: there is no such table, or it is empty. Fails as connecting does otherwise. */
hf_status advise_database_measure(const char *url, const char *table, advise_answers *answers,
                                  advise_sentences *notes, hf_error *err);

#endif
