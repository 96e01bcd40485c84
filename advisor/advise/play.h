/* SPDX-License-Identifier: MIT */
/* What happens to a row of edits of one record under each policy. The simulation (model.h) plays
 * edits it made up, the replay (replay.h) those of a log: one file decides for both. Times are
 * minutes. */
#ifndef HF_ADVISE_PLAY_H
#define HF_ADVISE_PLAY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct advise_edit {
    double open;   /* when the record was opened for editing */
    double length; /* until it was saved; of one that was not: of no meaning */
    bool saved;
} advise_edit;

typedef struct advise_rules {
    double redo_ratio;   /* minutes to do an edit again, for each minute it took */
    double wait_minutes; /* the longest that someone turned away waits, or loses otherwise */
    double look_minutes; /* how long someone who does not save has the record open */
    double idle_minutes; /* how long the lock of someone who went away lasts */
} advise_rules;

/* Counts and minutes; add up over records. */
typedef struct advise_tally {
    double opens, saves;
    double overwritten, overwritten_minutes; /* no policy: saves wiped out */
    double conflicts, conflict_minutes;      /* optimistic: saves refused, and the work in them */
    double refused, refused_minutes; /* pessimistic: people turned away, and their waiting */
} advise_tally;

/* A save, for sorting; memory that advise_play works in. */
typedef struct advise_save {
    double open, end, length;
} advise_save;

/* Plays `count` edits, in order of `open`, on a record that nobody has open. `saves` has room
 * for `count`. Edits before `from` have their effect but are not counted. Nobody who was refused
 * tries again.
 *
 *   none         A save wipes out every save since its record was opened. The work wiped out is
 *                lost.
 *   optimistic   A save is refused if another was accepted since its record was opened. Its own
 *                work is lost.
 *   pessimistic  Opening is refused while someone holds the lock: from opening to saving; of
 *                someone who does not save, look_minutes and then idle_minutes. Who is refused
 *                loses the time until it frees, at most wait_minutes. */
void advise_play(const advise_edit *edits, size_t count, size_t from, const advise_rules *rules,
                 advise_save *saves, advise_tally *tally);

void advise_tally_add(advise_tally *sum, const advise_tally *more, double times);

#endif
