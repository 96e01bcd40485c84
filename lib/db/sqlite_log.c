/* SPDX-License-Identifier: MIT */
/* Gathering what SQLite writes to its write-ahead log; see sqlite_log.h.
 *
 * The log's sqlite3_file keeps its memory and gets other methods: those of its VFS with ours in
 * front. The table of methods is one of its own for each file, and what was gathered stands behind
 * it. */
#include "db/sqlite_log.h"

#include "base/seams.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#define ROOM 131071 /* the most that a call of the unix VFS writes */

/* G5. Below this stays a log that is not to take room (SQLITE_SHORT_LOG), and that of a program
 * which makes a change or two. */
#define AHEAD_FROM (5 << 20)
#define AHEAD      (512 << 10)

typedef struct gatherer {
    sqlite3_io_methods methods; /* first: a file's pMethods leads here */
    const sqlite3_io_methods *below;
    bool on;
    int size; /* gathered, and where it belongs */
    sqlite3_int64 at;
    sqlite3_int64 end; /* G5: the file is about that long; it may be shorter, when it was cut */
    unsigned char bytes[ROOM];
} gatherer;

static gatherer *sqlite_log_of(sqlite3_file *file)
{
    return (gatherer *)file->pMethods;
}

/* A quota or a limit of the process is a full disk, too; SQLite knows only ENOSPC. */
static int sqlite_log_put(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    int code = sqlite_log_of(file)->below->xWrite(file, bytes, size, at);
    return code == SQLITE_IOERR_WRITE && (errno == EDQUOT || errno == EFBIG) ? SQLITE_FULL : code;
}

/* G5. If the disk is full, that is for the next write to find out. */
static void sqlite_log_go_ahead(sqlite3_file *file, sqlite3_int64 to)
{
    static const unsigned char zeros[64 << 10];
    gatherer *g = sqlite_log_of(file);
    if (to < AHEAD_FROM || to < g->end || g->below->xFileSize(file, &g->end) != SQLITE_OK ||
        to < g->end)
        return;
    for (g->end = to; g->end < to + AHEAD; g->end += (sqlite3_int64)sizeof zeros)
        if (g->below->xWrite(file, zeros, sizeof zeros, g->end) != SQLITE_OK)
            return;
}

static int write_gathered(sqlite3_file *file)
{
    gatherer *g = sqlite_log_of(file);
    int size = g->size;
    g->size = 0;
    if (size == 0)
        return SQLITE_OK;
    int code = sqlite_log_put(file, g->bytes, size, g->at);
    if (code == SQLITE_OK)
        sqlite_log_go_ahead(file, g->at + size);
    return code;
}

static int write_log(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    gatherer *g = sqlite_log_of(file);
    bool follows = g->size > 0 && at == g->at + g->size && size <= ROOM - g->size;
    int code = follows ? SQLITE_OK : write_gathered(file);
    if (code != SQLITE_OK)
        return code;
    if (!g->on || size > ROOM)
        return sqlite_log_put(file, bytes, size, at);
    if (!follows)
        g->at = at;
    memcpy(g->bytes + g->size, bytes, (size_t)size);
    g->size += size;
    return SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    int code = write_gathered(file);
    return code != SQLITE_OK ? code : sqlite_log_of(file)->below->xRead(file, bytes, size, at);
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size)
{
    int code = write_gathered(file);
    return code != SQLITE_OK ? code : sqlite_log_of(file)->below->xTruncate(file, size);
}

static int sync_log(sqlite3_file *file, int flags)
{
    int code = write_gathered(file);
    return code != SQLITE_OK ? code : sqlite_log_of(file)->below->xSync(file, flags);
}

static int measure_log(sqlite3_file *file, sqlite3_int64 *size)
{
    int code = write_gathered(file);
    return code != SQLITE_OK ? code : sqlite_log_of(file)->below->xFileSize(file, size);
}

static int control_log(sqlite3_file *file, int op, void *arg)
{
    int code = write_gathered(file);
    return code != SQLITE_OK ? code : sqlite_log_of(file)->below->xFileControl(file, op, arg);
}

static int close_log(sqlite3_file *file)
{
    gatherer *g = sqlite_log_of(file); /* what was committed has been written: G1 */
    file->pMethods = g->below;
    hf_free(g);
    return file->pMethods->xClose(file);
}

static sqlite3_file *log_of(sqlite3 *handle)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    return code == SQLITE_OK && file != NULL && file->pMethods != NULL ? file : NULL;
}

/* G1. */
static bool keeps_pages_whole(sqlite3_file *file)
{
    return file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static void stand_between(sqlite3_file *file)
{
    gatherer *g = keeps_pages_whole(file) ? hf_alloc(sizeof *g) : NULL;
    if (g == NULL)
        return;
    g->below = file->pMethods;
    g->methods = *g->below;
    g->methods.xClose = close_log;
    g->methods.xRead = read_log;
    g->methods.xWrite = write_log;
    g->methods.xTruncate = truncate_log;
    g->methods.xSync = sync_log;
    g->methods.xFileSize = measure_log;
    g->methods.xFileControl = control_log;
    file->pMethods = &g->methods;
}

void hf_sqlite_log_gather(sqlite3 *handle, bool on)
{
    sqlite3_file *file = log_of(handle);
    if (file == NULL)
        return;
    if (on && file->pMethods->xWrite != write_log)
        stand_between(file);
    if (file->pMethods->xWrite != write_log)
        return;
    const char *spill = on ? "PRAGMA cache_spill = OFF" : "PRAGMA cache_spill = ON"; /* G4 */
    sqlite_log_of(file)->on = sqlite3_exec(handle, spill, NULL, NULL, NULL) == SQLITE_OK && on;
}
