/* SPDX-License-Identifier: MIT */
/* The bare loops: prepared statements, one transaction a batch, WAL, synchronous FULL, checkpoints
 * by the store's own rule (none automatic; a second connection runs a PASSIVE one while the first
 * holds the write lock, when a commit leaves more than so many pages). bare.sql has the statements.
 * */
#include "bare.h"

#include "bare_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The store's settings (lib/store/sqlite.c), to be the same on both sides. */
#define SETTINGS                                                                                   \
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"         \
    "PRAGMA secure_delete = OFF; PRAGMA cache_size = -16384"
enum { CHECKPOINT_PAGES = 4000 };

struct bare {
    sqlite3 *db;
    sqlite3 *checkpointer;
    sqlite3_stmt *statement[BARE_COUNT];
    int wal_pages; /* after the last commit */
    int64_t fence;
    uint32_t held;
    size_t batch_size;
    bench_picker *picker;
    char session[64];
    bench_pick picks[BENCH_BATCH_MAX];
};

static void bare_run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("the bare loop: %s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3 *bare_connect_to(const char *path)
{
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        bench_die("the bare loop can't open %s: %s", path, sqlite3_errmsg(db));
    bare_run_sql(db, SETTINGS);
    return db;
}

static int on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    bare *b = context;
    b->wal_pages = pages;
    return SQLITE_OK;
}

bare *bare_open(const bench *run, const char *path, const char *session)
{
    bare *b = calloc(1, sizeof *b);
    if (b == NULL)
        bench_die("out of memory");
    b->db = bare_connect_to(path);
    b->checkpointer = bare_connect_to(path);
    sqlite3_wal_hook(b->db, on_commit, b);
    bare_run_sql(b->db, "CREATE TABLE IF NOT EXISTS bench_one (id TEXT PRIMARY KEY, session TEXT) "
                        "STRICT, WITHOUT ROWID");
    for (int i = 0; i < BARE_COUNT; i++)
        if (sqlite3_prepare_v3(b->db, bare_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &b->statement[i],
                               NULL) != SQLITE_OK)
            bench_die("the bare loop's %s: %s", bare_names[i], sqlite3_errmsg(b->db));
    b->picker = bench_picker_new(2, run->working);
    b->batch_size = 1;
    b->fence = (int64_t)4e15; /* above any fence the store has given */
    snprintf(b->session, sizeof b->session, "%s", session);
    return b;
}

void bare_close(bare *b)
{
    if (b == NULL)
        return;
    for (int i = 0; i < BARE_COUNT; i++)
        sqlite3_finalize(b->statement[i]);
    sqlite3_close(b->checkpointer);
    sqlite3_close(b->db);
    free(b->picker);
    free(b);
}

void bare_batch_size(bare *b, size_t size)
{
    b->batch_size = size;
}

void bare_held(bare *b, uint32_t held)
{
    b->held = held;
}

static void bare_step(bare *b, enum bare_id id)
{
    sqlite3_stmt *statement = b->statement[id];
    if (sqlite3_step(statement) != SQLITE_DONE)
        bench_die("the bare loop's %s: %s", bare_names[id], sqlite3_errmsg(b->db));
    sqlite3_reset(statement);
}

/* SQLITE_STATIC: nothing is copied. */
static void bind_text(sqlite3_stmt *statement, int at, const char *text, size_t size)
{
    sqlite3_bind_text(statement, at, text, (int)size, SQLITE_STATIC);
}

static void bind_word(sqlite3_stmt *statement, int at, const char *word)
{
    bind_text(statement, at, word, word == NULL ? 0 : strlen(word)); /* NULL binds null */
}

static void bind_resource(sqlite3_stmt *statement, const char *id, size_t size)
{
    bind_text(statement, 1, BENCH_TYPE, sizeof BENCH_TYPE - 1);
    bind_text(statement, 2, id, size);
}

static void bare_commit(bare *b)
{
    bare_step(b, BARE_COMMIT);
    if (b->wal_pages <= CHECKPOINT_PAGES)
        return;
    bare_step(b, BARE_BEGIN);
    if (sqlite3_wal_checkpoint_v2(b->checkpointer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) !=
        SQLITE_OK)
        bench_die("the bare loop's checkpoint: %s", sqlite3_errmsg(b->checkpointer));
    bare_step(b, BARE_COMMIT);
    b->wal_pages = 0;
}

static void write_event(bare *b, const bench_pick *pick, const char *kind, const char *session,
                        const char *reason)
{
    sqlite3_stmt *statement = b->statement[BARE_EVENT_INSERT];
    sqlite3_bind_int64(statement, 1, pick->fence);
    bind_word(statement, 2, kind);
    bind_text(statement, 3, BENCH_TYPE, sizeof BENCH_TYPE - 1);
    bind_text(statement, 4, pick->id, pick->id_size);
    bind_word(statement, 5, session);
    bind_word(statement, 6, BENCH_USER);
    sqlite3_bind_int64(statement, 7, pick->fence);
    bind_word(statement, 8, reason);
    bare_step(b, BARE_EVENT_INSERT);
}

static void bare_acquire(bare *b, bench_pick *pick)
{
    pick->fence = ++b->fence;
    sqlite3_stmt *lock = b->statement[BARE_LOCK_INSERT];
    bind_resource(lock, pick->id, pick->id_size);
    bind_word(lock, 3, b->session);
    sqlite3_bind_int64(lock, 4, pick->fence);
    bind_word(lock, 5, BENCH_PURPOSE);
    bind_word(lock, 6, pick->request);
    bare_step(b, BARE_LOCK_INSERT);
    write_event(b, pick, "acquired", b->session, BENCH_PURPOSE);
}

static void bare_release(bare *b, bench_pick *pick)
{
    sqlite3_stmt *lock = b->statement[BARE_LOCK_DELETE];
    bind_resource(lock, pick->id, pick->id_size);
    bind_word(lock, 3, b->session);
    bare_step(b, BARE_LOCK_DELETE);
    write_event(b, pick, "released", b->session, NULL);
}

static void bare_save(bare *b, bench_pick *pick)
{
    sqlite3_stmt *cover = b->statement[BARE_SAVE_COVER];
    pick->fence = ++b->fence;
    bind_resource(cover, pick->id, pick->id_size);
    sqlite3_bind_int64(cover, 3, pick->fence);
    bare_step(b, BARE_SAVE_COVER);

    sqlite3_stmt *anchor = b->statement[BARE_ANCHOR_SAVE];
    bind_resource(anchor, pick->id, pick->id_size);
    sqlite3_bind_int64(anchor, 3, pick->fence);
    sqlite3_bind_int64(anchor, 4, pick->version);
    bind_word(anchor, 5, BENCH_USER);
    bind_word(anchor, 6, BENCH_USER_NAME);
    bind_word(anchor, 7, pick->request);
    bare_step(b, BARE_ANCHOR_SAVE);
    if (sqlite3_changes(b->db) != 1)
        bench_die("the bare loop: %s is not at version %lld", pick->id, (long long)pick->version);
    write_event(b, pick, "saved", NULL, NULL);
}

static void bare_insert_one(bare *b, bench_pick *pick)
{
    bind_text(b->statement[BARE_ONE_INSERT], 1, pick->id, pick->id_size);
    bind_word(b->statement[BARE_ONE_INSERT], 2, b->session);
    bare_step(b, BARE_ONE_INSERT);
}

static void bare_delete_one(bare *b, bench_pick *pick)
{
    bind_text(b->statement[BARE_ONE_DELETE], 1, pick->id, pick->id_size);
    bare_step(b, BARE_ONE_DELETE);
}

typedef void write_rows(bare *b, bench_pick *pick);

static void bare_write_batch(bare *b, write_rows *write)
{
    bare_step(b, BARE_BEGIN);
    for (size_t i = 0; i < b->batch_size; i++)
        write(b, &b->picks[i]);
    bare_commit(b);
}

/* In the order of the keys: rows that share a page are written together. */
static int bare_by_id(const void *x, const void *y)
{
    return strcmp(((const bench_pick *)x)->id, ((const bench_pick *)y)->id);
}

static double bare_pairs_of(bare *b, write_rows *first, write_rows *second, double seconds)
{
    size_t pairs = 0;
    double start = bench_now();
    double end;
    do {
        bench_picker_fill(b->picker, b->picks, b->batch_size);
        qsort(b->picks, b->batch_size, sizeof b->picks[0], bare_by_id);
        bare_write_batch(b, first);
        bare_write_batch(b, second);
        pairs += b->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

double bare_pairs(void *context, double seconds)
{
    return bare_pairs_of(context, bare_acquire, bare_release, seconds);
}

double bare_one_row(void *context, double seconds)
{
    return bare_pairs_of(context, bare_insert_one, bare_delete_one, seconds);
}

double bare_saves(void *context, double seconds)
{
    bare *b = context;
    size_t saves = 0;
    double start = bench_now();
    double end;
    do {
        bench_picker_fill(b->picker, b->picks, b->batch_size);
        qsort(b->picks, b->batch_size, sizeof b->picks[0], bare_by_id);
        bare_write_batch(b, bare_save);
        bench_picker_saved(b->picker, b->picks, b->batch_size);
        saves += b->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)saves / (end - start);
}

double bare_beats(void *context, double seconds)
{
    bare *b = context;
    size_t beats = 0;
    bare_run_sql(b->db, "PRAGMA synchronous = NORMAL");
    double start = bench_now();
    double end;
    do {
        bare_step(b, BARE_BEGIN);
        bind_word(b->statement[BARE_BEAT], 1, b->session);
        sqlite3_bind_int64(b->statement[BARE_BEAT], 2, ++b->fence);
        bare_step(b, BARE_BEAT);
        bare_commit(b);
        beats++;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    bare_run_sql(b->db, "PRAGMA synchronous = FULL");
    return (double)beats / (end - start);
}

/* Reads all rows and columns, as whoever makes an answer of them must; how many rows. */
static size_t read_rows(bare *b, enum bare_id id, const char *name, const char *session)
{
    sqlite3_stmt *statement = b->statement[id];
    size_t rows = 0;
    int result;
    bind_resource(statement, name, strlen(name));
    if (session != NULL)
        bind_word(statement, 3, session);
    for (; (result = sqlite3_step(statement)) == SQLITE_ROW; rows++)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            if (sqlite3_column_type(statement, i) != SQLITE_INTEGER)
                (void)sqlite3_column_text(statement, i);
    if (result != SQLITE_DONE)
        bench_die("the bare loop's %s: %s", bare_names[id], sqlite3_errmsg(b->db));
    sqlite3_reset(statement);
    return rows;
}

static double reads(bare *b, bool holds, double seconds)
{
    size_t count = 0;
    char id[BENCH_ID_SIZE];
    double start = bench_now();
    double end;
    do {
        bare_step(b, BARE_BEGIN_READ);
        for (size_t i = 0; i < b->batch_size; i++) {
            bench_name(bench_picker_below(b->picker, b->held), id);
            if (read_rows(b, holds ? BARE_HOLDS : BARE_WHO, id, holds ? b->session : NULL) != 1)
                bench_die("the bare loop misses the lock on %s", id);
            if (!holds)
                read_rows(b, BARE_WHO_WAITS, id, NULL);
        }
        bare_step(b, BARE_COMMIT);
        count += b->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)count / (end - start);
}

double bare_who(void *context, double seconds)
{
    return reads(context, false, seconds);
}

double bare_holds(void *context, double seconds)
{
    return reads(context, true, seconds);
}

static void bare_copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    static char buffer[1 << 20];
    ssize_t got = -1;
    if (in >= 0 && out >= 0)
        while ((got = read(in, buffer, sizeof buffer)) > 0 &&
               write(out, buffer, (size_t)got) == got)
            continue;
    if (got != 0 || fsync(out) != 0)
        bench_die("%s can't be copied to %s: %s", from, to, strerror(errno));
    close(in);
    close(out);
}

void bare_copy(const char *from, const char *to)
{
    char wal_from[BENCH_PATH_SIZE + 8];
    char wal_to[BENCH_PATH_SIZE + 8];
    struct stat status;
    bare_copy_file(from, to);
    snprintf(wal_from, sizeof wal_from, "%s-wal", from);
    snprintf(wal_to, sizeof wal_to, "%s-wal", to);
    if (stat(wal_from, &status) == 0)
        bare_copy_file(wal_from, wal_to);
}
