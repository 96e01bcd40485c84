/* SPDX-License-Identifier: MIT */
/* What a commit asks about writing, beside rec_write. */
#ifndef HF_RECORD_WRITE_H
#define HF_RECORD_WRITE_H

#include "record/inside.h"

/* Whether what is stored has to be read back after an update. */
bool rec_write_reads_back(const hf_record *record);

/* The expression of the database's time, as this column keeps it. */
const char *rec_write_clock(const hf_tables *tables, const rec_column *column);

/* Whether the table is somewhere below another; whether it is the parent of others. */
bool rec_write_is_below(const rec_table *table, const rec_table *above);
bool rec_write_has_members(const hf_tables *tables, const rec_table *table);

#endif
