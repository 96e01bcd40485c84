/* SPDX-License-Identifier: MIT */
/* Scarce memory; see out_of_memory.h. Each hook counts down to the allocation that fails. */
#include <base/seams.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <support/out_of_memory.h>

static struct {
    unsigned left; /* 0: plentiful */
    bool lasting, failed;
} scarce[2];

static sqlite3_mem_methods plentiful; /* SQLite's own */

static bool denied(out_of_memory_of whose)
{
    if (scarce[whose].left == 0)
        return false;
    if (scarce[whose].left > 1) {
        scarce[whose].left--;
        return false;
    }
    if (scarce[whose].failed && !scarce[whose].lasting)
        return false;
    scarce[whose].failed = true;
    return true;
}

static void *library_realloc(void *block, size_t size)
{
    return denied(OF_LIBRARY) ? NULL : realloc(block, size);
}

static void *sqlite_malloc(int size)
{
    return denied(OF_SQLITE) ? NULL : plentiful.xMalloc(size);
}

static void *sqlite_realloc(void *block, int size)
{
    return denied(OF_SQLITE) ? NULL : plentiful.xRealloc(block, size);
}

void out_of_memory_hook_sqlite(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plentiful);
    sqlite3_mem_methods hooked = plentiful;
    hooked.xMalloc = sqlite_malloc;
    hooked.xRealloc = sqlite_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &hooked);
    /* Small blocks come from the hook as well. */
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

void out_of_memory_begin(out_of_memory_of whose, unsigned n, bool lasting)
{
    hf_seam.realloc = library_realloc;
    scarce[whose].left = n;
    scarce[whose].lasting = lasting;
    scarce[whose].failed = false;
}

bool out_of_memory_end(void)
{
    bool failed = scarce[OF_LIBRARY].failed || scarce[OF_SQLITE].failed;
    for (int i = 0; i < 2; i++) {
        scarce[i].left = 0;
        scarce[i].failed = false;
    }
    return failed;
}
