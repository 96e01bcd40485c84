/* SPDX-License-Identifier: MIT */
/* Edits as they happened, found in a web server's log: who opened which record when, and saved
 * it when. They are measured (lengths, shares, skew) and played again under each policy.
 *
 * Memory: about 24 bytes an edit, and 30 and its name a record. */
#ifndef HF_ADVISE_REPLAY_H
#define HF_ADVISE_REPLAY_H

#include "advise/answers.h"
#include "advise/play.h"
#include "base/text.h"

#include <stdint.h>

#define ADVISE_TOP_MAX       10 /* records named that cause most */
#define ADVISE_TOP_NAME_SIZE 96

typedef struct advise_top {
    char record[ADVISE_TOP_NAME_SIZE];
    double opens, refused, conflicts, hours; /* hours: what no lock would lose, in the log's time */
} advise_top;

/* What a log came to. A plain value. */
typedef struct advise_replay {
    double lines, skipped; /* skipped: not in the format of such a log */
    double opens, saves;
    double unopened; /* saves by people who had not opened it in the log; no edits */
    double people, records;
    double days;        /* from the first edit to the last */
    advise_tally tally; /* of the whole log */
    advise_top top[ADVISE_TOP_MAX];
    size_t top_count;
} advise_replay;

typedef struct advise_edits advise_edits;

/* How long after opening a record a save still belongs to it. */
#define ADVISE_EDIT_SECONDS_MAX (12 * 3600)

/* NULL: out of memory. Free accepts NULL. */
advise_edits *advise_edits_new(void);
void advise_edits_free(advise_edits *edits);

/* Takes note that a person (any 64-bit digest of them) opened or saved a record, `seconds` after
 * 1970. Times may go back by a few seconds, as in logs. The same person who opens it again
 * before saving goes on with the same edit; the later opening counts. HF_NO_MEMORY; HF_TOO_LARGE
 * beyond 2^31 edits. */
hf_status advise_edits_open(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                            hf_error *err);
hf_status advise_edits_save(advise_edits *edits, hf_slice record, uint64_t person, int64_t seconds,
                            hf_error *err);

/* Measures, and fills those answers that are there to be measured: editors, records,
 * edits_per_day, edit_minutes, edit_minutes_p90, save_share, busiest_tenth_share, hours_per_day,
 * days_per_week; marked measured. HF_NOT_FOUND: too few saves to measure (10). */
hf_status advise_edits_measure(advise_edits *edits, advise_answers *answers, hf_error *err);

/* Plays all of it. `rules` as for the model; look_minutes is measured. */
hf_status advise_edits_replay(advise_edits *edits, const advise_rules *rules, advise_replay *out,
                              hf_error *err);

#endif
