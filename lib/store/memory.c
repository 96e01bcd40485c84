/* SPDX-License-Identifier: MIT */
/* The memory store: locks that live as long as the process. One mutex; a batch loads what it names,
 * asks the law, links in what changed. For tests, for one-process programs, and as the model other
 * stores are compared with. */
#include "store/memory.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/registry.h"

#include <string.h>

static void memory_close(hf_store *base)
{
    mem_store *store = (mem_store *)base;
    mem_tables_done(store);
    mem_tokens_done(store);
    mem_events_done(&store->events);
    hf_rows_done(&store->rows);
    pthread_mutex_destroy(&store->mutex);
    hf_free(store);
}

static hf_status memory_open(const char *rest, hf_store **out, hf_error *err)
{
    if (rest[0] != '\0')
        return hf_fail(err, HF_INVALID, "The memory store takes nothing after memory: in its URL.");
    mem_store *store = hf_alloc(sizeof *store);
    if (store == NULL)
        return hf_fail_memory(err);
    hf_store_init(&store->base, &hf_store_memory);
    pthread_mutex_init(&store->mutex, NULL);
    store->rows.drops_free = !hf_seam.memory_keeps_rows;
    store->rows.counts_beats = true;
    store->wall_minus_boot_us = hf_seam.wall_us() - hf_seam.boot_us();
    bool random = hf_seam.random(&store->rows.seed, sizeof store->rows.seed);
    if (!random || !mem_tables_init(store) || !mem_events_init(&store->events)) {
        memory_close(&store->base);
        return random ? hf_fail_memory(err)
                      : hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    }
    *out = &store->base;
    return HF_OK;
}

static hf_status memory_run(mem_store *store, hf_batch *batch, hf_error *err)
{
    int64_t now_us = hf_store_now(&store->base, hf_seam.boot_us() + store->wall_minus_boot_us);
    hf_rows *rows = &store->rows;
    if (!hf_rows_reset(rows, batch->count) || !hf_rows_want(rows, batch))
        return hf_fail_memory(err);
    if (hf_op_alone(batch->ops[0].kind)) {
        hf_status status = HF_OK;
        bool flawed = batch->ops[0].answer.status != HF_OK;
        return flawed || mem_do_alone(store, batch, now_us, &status, err) ? status
                                                                          : hf_fail_memory(err);
    }
    if (!mem_load(store, rows, now_us) || !hf_rows_apply(rows, batch, now_us) ||
        !mem_save(store, rows, now_us))
        return hf_fail_memory(err);
    return HF_OK;
}

static hf_status memory_execute(hf_store *base, hf_batch *batch, hf_error *err)
{
    mem_store *store = (mem_store *)base;
    pthread_mutex_lock(&store->mutex);
    hf_status status = memory_run(store, batch, err);
    pthread_mutex_unlock(&store->mutex);
    return status;
}

static void memory_grade(hf_store *base, hf_grade *out)
{
    (void)base;
    *out = (hf_grade){.level = HF_GRADE_NONE,
                      .text = "memory of this process: every lock is gone when it ends"};
}

static hf_status memory_no_backup(hf_store *base, const char *path, hf_error *err)
{
    (void)base;
    (void)path;
    return hf_fail(err, HF_INVALID,
                   "The memory store keeps nothing that could be backed up; use sqlite:PATH.");
}

const hf_store_ops hf_store_memory = {
    .scheme = "memory",
    .open = memory_open,
    .execute = memory_execute,
    .grade = memory_grade,
    .backup = memory_no_backup,
    .close = memory_close,
};
