/* SPDX-License-Identifier: MIT */
/* Guards: triggers by which a database itself refuses a write that carries no proof of having
 * looked. A guarded table has a column `holdfast`; a statement that changes a row writes into it
 * the version that was read, or the fence that was granted (docs/guards.md). What is asked of a
 * table is kept in holdfast's table `guard`; the triggers are made from it. */
#ifndef HF_GUARD_GUARD_H
#define HF_GUARD_GUARD_H

#include "base/buffer.h"

#include <holdfast/status.h>

enum { GUARD_NAME_SIZE = 256 };

/* What a row must carry. */
typedef enum guard_check {
    GUARD_VERSION, /* the version that stands in the row */
    GUARD_STEP,    /* nothing; the version must move by one */
    GUARD_LOCK,    /* the fence of a live exclusive lock on its root */
    GUARD_SAVE     /* the fence that a save of its root answered */
} guard_check;

extern const char *const guard_check_names[]; /* "version", "step", "lock", "save" */

/* A guard as it was asked for, and as it is kept. Empty text: not given. */
typedef struct guard {
    char table[GUARD_NAME_SIZE]; /* "policy"; on PostgreSQL "public.policy" once it was found */
    char type[GUARD_NAME_SIZE];
    char policy[32];
    guard_check check;
    char version[GUARD_NAME_SIZE]; /* the version column */
    char parent[GUARD_NAME_SIZE];  /* of a member: the table above it, which is guarded too */
    char link[GUARD_NAME_SIZE];    /* ... and the column that refers to it */
    char mode[8];                  /* "off", "log", "fail" */
    bool reads;                    /* PostgreSQL: reading needs a lock, too */
    int64_t suppressed_us;         /* fail is as log until then; 0: not */
    int triggers;                  /* show: how many of ours are there and enabled */
    int triggers_wanted;
    bool outdated; /* show: MariaDB, MySQL: another version made what the triggers call */
} guard;

/* Guards a table, or guards it anew; with `print` only writes the SQL. `asked` is completed: the
 * table as the database names it, type and policy of a member's root. HF_INVALID, HF_NOT_FOUND: a
 * sentence with the remedy, and nothing was changed. */
hf_status guard_add(const char *url, guard *asked, bool step, hf_buffer *print, hf_error *err);

/* Takes the triggers and the column away, or forgets the guard of a table that was dropped; with
 * `print` only writes the SQL. */
hf_status guard_remove(const char *url, const char *table, hf_buffer *print, hf_error *err);

/* Switches the mode. One row of the table `guard` is written: there is no moment in between. */
hf_status guard_mode(const char *url, const char *table, const char *mode, int64_t until_us,
                     hf_error *err);

/* All guards, by table; hf_free the list. None is HF_OK. */
hf_status guard_list(const char *url, guard **out, size_t *count, hf_error *err);

/* What got past the guards in mode log, by table, account, program and kind; hf_free the list. */
typedef struct guard_bypass {
    char table[GUARD_NAME_SIZE];
    char account[GUARD_NAME_SIZE];
    char program[GUARD_NAME_SIZE];
    char kind[16];
    int64_t statements, rows, first_us, last_us;
} guard_bypass;
hf_status guard_report(const char *url, const char *table, guard_bypass **out, size_t *count,
                       hf_error *err);

/* Makes the triggers of every guard anew: after an upgrade. Does nothing where there are none, or
 * no SQL database. One that fails keeps none of the others from it; the error names all that
 * failed. */
hf_status guard_renew(const char *url, hf_error *err);

#endif
