/* SPDX-License-Identifier: MIT */
/* The seams: allocation, randomness, clocks, files. Everything that can fail or surprise goes
 * through here, so that tests can make it. The one mutable global of the library; only tests write
 * to it, before they start threads. */
#ifndef HF_BASE_SEAMS_H
#define HF_BASE_SEAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hf_seams {
    void *(*realloc)(void *block, size_t size); /* as realloc(3); size is never 0 */
    void (*free)(void *block);                  /* as free(3) */
    bool (*random)(void *out, size_t size);     /* false: no randomness to be had */
    int64_t (*wall_us)(void);                   /* CLOCK_REALTIME */
    int64_t (*boot_us)(void);                   /* CLOCK_BOOTTIME: counts suspend, never steps */
    /* name of a registered VFS; NULL: the default one */
    const char *sqlite_vfs;
    /* The memory store keeps the rows of free resources, as stores in a database server do. */
    bool memory_keeps_rows;
    int sqlite_log_pages; /* of its log, before it is copied into the file */
    /* f_type of statfs(2) for the file's folder; -1: unknown */
    int64_t (*fs_kind)(const char *path);
} hf_seams;

extern hf_seams hf_seam;

/* Memory, by the seam. hf_alloc's is zeroed. All may answer NULL. hf_free accepts NULL. */
void *hf_alloc(size_t size);
void *hf_realloc(void *block, size_t size);
void hf_free(void *block);

#endif
