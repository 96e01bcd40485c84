/* SPDX-License-Identifier: MIT */
/* An SQLite VFS that loses power. It passes everything on to the real one and remembers, for each
 * file, what has been synced and what has only been written since. At any moment it can write out
 * what the disk might hold if the power went now. It can also fail the n-th write or sync, lie
 * about syncs, and be a disk of a given size.
 *
 * One for the whole program; threads may use it. Files are known from the moment they are opened
 * through it. */
#ifndef HF_TESTS_FAULTS_SHIM_H
#define HF_TESTS_FAULTS_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHIM_VFS "hf-power-loss"

/* What changes a disk. A call that is about to do so is an event. */
typedef enum shim_event { SHIM_WRITE, SHIM_SYNC, SHIM_TRUNCATE, SHIM_DELETE } shim_event;

/* What is left of what had not been synced. */
typedef enum shim_loss {
    SHIM_DROP_ALL,  /* nothing */
    SHIM_DROP_SOME, /* some sectors of 512 bytes, by chance */
    SHIM_TEAR_LAST, /* everything, but the last write stops in the middle */
    SHIM_KEEP_ALL,  /* everything: only the program died */
    SHIM_LOSSES
} shim_loss;

typedef enum shim_failure {
    SHIM_FAIL,      /* an I/O error, nothing written */
    SHIM_FAIL_SHORT /* an I/O error after half of it has been written */
} shim_failure;

/* What a test may set, while no call is under way. A sync that fails has lost what it was to sync:
 * that never becomes safe, though it can still be read. */
typedef struct shim_control {
    bool lies;              /* xSync answers ok and syncs nothing */
    uint64_t fail_write_at; /* the write with that number fails, once; 0: none */
    uint64_t fail_sync_at;  /* the same for syncs */
    shim_failure failure;   /* of a write */
    int failure_errno;      /* the reason the operating system gives; 0: EIO */
    /* bytes on the disk for all files known here and `beside`; 0: no limit */
    int64_t capacity;
    const char *beside; /* path of one more file that takes space; NULL: none */
    /* Called before an event is carried out, with its path. */
    void (*on_event)(void *context, shim_event event, const char *path);
    /* Called after a connection has given the write lock of a log back. */
    void (*on_unlock)(void *context);
    void *context;
} shim_control;

extern shim_control shim;

/* Events so far. */
typedef struct shim_counts {
    uint64_t writes;
    uint64_t syncs;
    uint64_t events;
    uint64_t failed; /* failures that were asked for and have happened */
    uint64_t full;   /* writes refused because the disk is full */
} shim_counts;

/* Registers the VFS; false: SQLite would not. */
bool shim_register(void);

/* Forgets all files, sets the counts to 0 and `shim` to a good disk. No file may be open. */
void shim_reset(void);

shim_counts shim_count(void);

/* Whether so many bytes more fit on the disk. */
bool shim_has_room(int64_t more);

/* Writes what might be left into `folder`, each file by its last name. `seed` decides what chance
 * decides. */
bool shim_cut(shim_loss loss, unsigned seed, const char *folder);

#endif
