/* SPDX-License-Identifier: MIT */
/* Scarce memory: makes the n-th allocation fail, once or from then on, of the library (through its
 * seam) or of SQLite (through its own hook). */
#ifndef HF_TESTS_SUPPORT_OUT_OF_MEMORY_H
#define HF_TESTS_SUPPORT_OUT_OF_MEMORY_H

#include <stdbool.h>

typedef enum out_of_memory_of { OF_LIBRARY, OF_SQLITE } out_of_memory_of;

/* Puts the hook into SQLite. To be called before anything uses it. */
void out_of_memory_hook_sqlite(void);

/* The n-th allocation from now on fails (1 is the next); `lasting`: and all after it. */
void out_of_memory_begin(out_of_memory_of whose, unsigned n, bool lasting);

/* Memory is plentiful again. True when an allocation has failed in between. */
bool out_of_memory_end(void);

#endif
