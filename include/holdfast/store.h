/* SPDX-License-Identifier: MIT */
/* Where locks and sessions live. A store executes batches; that is nearly all it does. */
#ifndef HOLDFAST_STORE_H
#define HOLDFAST_STORE_H

#include <holdfast/batch.h>

HF_BEGIN_DECLS

typedef struct hf_store hf_store;

/* What an acknowledged lock survives. */
typedef enum hf_grade_level {
    HF_GRADE_NONE,    /* gone with the process */
    HF_GRADE_PROCESS, /* survives a crash of the program, perhaps not of the machine */
    HF_GRADE_DISK     /* synced to disk before it is acknowledged */
} hf_grade_level;

/* "none", "process", "disk". */
HF_API const char *hf_grade_level_name(hf_grade_level level);

typedef struct hf_grade {
    hf_grade_level level;
    char text[HF_TEXT_SIZE]; /* one sentence: what the durability depends on */
    /* a sync failed: nothing more is acknowledged until the store is reopened */
    bool broken;
} hf_grade;

/* Opens the store a URL names (memory:, sqlite:PATH ...), creating its tables where that is safe.
 * HF_INVALID: the URL is not understood. HF_UNAVAILABLE: it can't be used; the sentence says why.
 *
 * The library sets no signal handlers. In a program with a limit on the size of files
 * (RLIMIT_FSIZE) ignore SIGXFSZ: a SQLite store that reaches the limit is then full, as on a full
 * disk; otherwise the signal ends the program. */
HF_API HF_MUST_USE hf_status hf_store_open(const char *url, hf_store **out, hf_error *err);

/* The same, but creates neither a SQLite file nor tables in it. HF_NOT_FOUND: there is no store. */
HF_API HF_MUST_USE hf_status hf_store_open_existing(const char *url, hf_store **out, hf_error *err);

/* Creates the tables a URL names, and lets `role` use them (an account of the database;
 * NULL: nobody new). Repeating it changes nothing. It is one transaction where the database allows.
 * An account that only uses the tables needs no right to alter them. */
HF_API HF_MUST_USE hf_status hf_store_install(const char *url, const char *role, hf_error *err);

/* Removes the tables and all that is in them; refused with HF_LOCKED while locks live, unless
 * forced. */
HF_API HF_MUST_USE hf_status hf_store_uninstall(const char *url, bool force, hf_error *err);

/* Writes the SQL of an install or uninstall to the sink, piece by piece, for an administrator to
 * read and run. Connects to nothing. */
HF_API HF_MUST_USE hf_status hf_store_install_sql(const char *url, bool uninstall, const char *role,
                                                  void (*sink)(void *context, const char *text),
                                                  void *context, hf_error *err);

/* Runs a batch. HF_OK: it is committed and every op has its answer. HF_UNSURE: it may have been
 * committed; run it again with the same request ids to find out. Anything else: nothing was done.
 * Threads should share a store: calls made at the same time then share transactions and syncs. */
HF_API HF_MUST_USE hf_status hf_store_execute(hf_store *store, hf_batch *batch, hf_error *err);

/* The durability of the store. */
HF_API void hf_store_grade(hf_store *store, hf_grade *out);

/* The metrics of the holdfast server behind the store, as its /metrics writes them: text for
 * Prometheus, to be freed with hf_json_free. HF_NOT_FOUND: the store is not a holdfast server.
 * HF_UNAUTHENTICATED, HF_DENIED: the server requires a token for it. */
HF_API HF_MUST_USE hf_status hf_store_metrics(hf_store *store, char **out, hf_error *err);

/* Writes a consistent copy of a live store to a new file. */
HF_API HF_MUST_USE hf_status hf_store_backup(hf_store *store, const char *path, hf_error *err);

/* Replaces everything in the store by a backup, in one step or not at all. Fences never decrease.
 * All current locks are lost: without `replace` the call is refused with HF_LOCKED while any lock
 * lives, and err->holder is one of them. */
HF_API HF_MUST_USE hf_status hf_store_restore(hf_store *store, const char *path, bool replace,
                                              hf_error *err);

/* Accepts NULL. */
HF_API void hf_store_close(hf_store *store);

HF_END_DECLS

#endif
