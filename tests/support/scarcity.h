/* SPDX-License-Identifier: MIT */
/* Scarce memory: makes the n-th allocation fail, once or from then on, of the library (through its
 * seam) or of SQLite (through its own hook). */
#ifndef HF_TESTS_SUPPORT_SCARCITY_H
#define HF_TESTS_SUPPORT_SCARCITY_H

#include <stdbool.h>

typedef enum scarcity_of { OF_LIBRARY, OF_SQLITE } scarcity_of;

/* Puts the hook into SQLite. To be called before anything uses it. */
void scarcity_hook_sqlite(void);

/* The n-th allocation from now on fails (1 is the next); `lasting`: and all after it. */
void scarcity_begin(scarcity_of whose, unsigned n, bool lasting);

/* Memory is plentiful again. True when an allocation has failed in between. */
bool scarcity_end(void);

#endif
