/* SPDX-License-Identifier: MIT */
/* Each policy is one pass: locks over edits by opening, saves over edits by saving. */
#include "advise/play.h"

#include <stdlib.h>

static int play_by_end(const void *a, const void *b)
{
    double x = ((const advise_save *)a)->end, y = ((const advise_save *)b)->end;
    return (x > y) - (x < y);
}

/* Nearly in order already: edits are short beside the time they are spread over. */
static void play_sort(advise_save *saves, size_t count)
{
    size_t moves = 0;
    for (size_t i = 1; i < count; i++) {
        advise_save save = saves[i];
        size_t at = i;
        for (; at > 0 && saves[at - 1].end > save.end; at--, moves++)
            saves[at] = saves[at - 1];
        saves[at] = save;
        if (moves > 64 * count) {
            qsort(saves, count, sizeof *saves, play_by_end);
            return;
        }
    }
}

static void play_locks(const advise_edit *edits, size_t count, double from,
                       const advise_rules *rules, advise_tally *tally)
{
    double free_at = -1e300;
    for (size_t i = 0; i < count; i++) {
        const advise_edit *edit = &edits[i];
        if (edit->open >= free_at) {
            free_at = edit->open +
                      (edit->saved ? edit->length : rules->look_minutes + rules->idle_minutes);
        } else if (edit->open >= from) {
            double left = free_at - edit->open;
            tally->refused++;
            tally->refused_minutes += left < rules->wait_minutes ? left : rules->wait_minutes;
        }
    }
}

static void play_versions(const advise_save *saves, size_t count, double from, double redo_ratio,
                          advise_tally *tally)
{
    double accepted = -1e300; /* when the last save was */
    for (size_t i = 0; i < count; i++) {
        if (saves[i].open >= accepted) {
            accepted = saves[i].end;
        } else if (saves[i].open >= from) {
            tally->conflicts++;
            tally->conflict_minutes += redo_ratio * saves[i].length;
        }
    }
}

/* A save is lost if one of those after it began before it. */
static void play_nothing(const advise_save *saves, size_t count, double from, double redo_ratio,
                         advise_tally *tally)
{
    double earliest = 1e300; /* opening among the saves that follow */
    for (size_t i = count; i-- > 0;) {
        if (earliest < saves[i].end && saves[i].open >= from) {
            tally->overwritten++;
            tally->overwritten_minutes += redo_ratio * saves[i].length;
        }
        earliest = saves[i].open < earliest ? saves[i].open : earliest;
    }
}

void advise_play(const advise_edit *edits, size_t count, size_t from, const advise_rules *rules,
                 advise_save *saves, advise_tally *tally)
{
    size_t saved = 0;
    if (from >= count)
        return;
    double since = edits[from].open;
    for (size_t i = 0; i < count; i++) {
        const advise_edit *edit = &edits[i];
        if (edit->saved)
            saves[saved++] = (advise_save){edit->open, edit->open + edit->length, edit->length};
        tally->opens += i >= from;
        tally->saves += i >= from && edit->saved;
    }
    play_sort(saves, saved);
    play_locks(edits, count, since, rules, tally);
    play_versions(saves, saved, since, rules->redo_ratio, tally);
    play_nothing(saves, saved, since, rules->redo_ratio, tally);
}

void advise_tally_add(advise_tally *sum, const advise_tally *more, double times)
{
    sum->opens += more->opens * times;
    sum->saves += more->saves * times;
    sum->overwritten += more->overwritten * times;
    sum->overwritten_minutes += more->overwritten_minutes * times;
    sum->conflicts += more->conflicts * times;
    sum->conflict_minutes += more->conflict_minutes * times;
    sum->refused += more->refused * times;
    sum->refused_minutes += more->refused_minutes * times;
}
