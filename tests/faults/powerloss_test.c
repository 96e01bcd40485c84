/* SPDX-License-Identifier: MIT */
/* Power loss, simulated: the store works on a VFS that keeps apart what was synced and what was
 * only written. At hundreds of points of a random workload, in the middle of commits and of
 * checkpoints, what the disk might hold at that moment is written out, opened with the normal VFS
 * and compared with what had been acknowledged (P2): nothing that leaves an event may be lost, only
 * beats may. */
#include "base/seams.h"
#include "faults/ledger.h"
#include "faults/setting.h"
#include "faults/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct trial {
    char path[HF_URL_MAX];
    ledger ledger; /* what has been acknowledged */
    unsigned seed;
    unsigned one_in; /* of so many events one is a point; on the database file it is one in four */
    size_t points;
    size_t in_checkpoints; /* points at which the database file was about to be changed */
    size_t images;
    size_t damaged; /* images that had lost something */
    size_t ops;
    char first[1200]; /* what was lost first */
} trial;

static bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), ending_size = strlen(ending);
    return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

/* Images are written and read back by the hundred: in memory where that is possible. */
static void image_folder(char *out)
{
    snprintf(out, HF_URL_MAX, "/dev/shm/holdfast-cut-XXXXXX");
    if (mkdtemp(out))
        return;
    scratch_path(".cut", out);
    if (mkdir(out, 0700) != 0)
        abort();
}

/* ---- looking at what is left ---- */

static const char *powerloss_look_at(const char *path, ledger *acknowledged)
{
    static char text[HF_MESSAGE_SIZE];
    hf_store *store = NULL;
    hf_error err = {0};
    hf_status status = setting_open(path, &store, &err);
    if (status != HF_OK) {
        snprintf(text, sizeof text, "it can't be opened: %.1000s", err.message);
        return text;
    }
    const char *problem = ledger_settle(acknowledged, store);
    if (!problem) /* and it works */
        problem = ledger_step(acknowledged, store, NULL);
    if (!problem)
        problem = ledger_inspect(path);
    hf_store_close(store);
    return problem;
}

/* The power goes now. */
static void powerloss_cut(trial *t, shim_loss loss)
{
    static const char *const losses[] = {"all unsynced dropped", "some unsynced dropped",
                                         "last write torn", "all kept"};
    static ledger acknowledged;
    const char *name = strrchr(t->path, '/') + 1, *vfs = hf_seam.sqlite_vfs;
    char folder[HF_URL_MAX], path[HF_URL_MAX];
    acknowledged = t->ledger;
    acknowledged.loses_beats = true;
    image_folder(folder);
    if (!shim_cut(loss, (unsigned)rand_r(&t->seed), folder))
        abort();
    snprintf(path, sizeof path, "%.*s/%s", HF_URL_MAX - 64, folder, name);
    setting_skip_reserve(path);
    hf_seam.sqlite_vfs = NULL;
    const char *problem = powerloss_look_at(path, &acknowledged);
    hf_seam.sqlite_vfs = vfs;
    t->images++;
    if (problem && t->damaged++ == 0)
        snprintf(t->first, sizeof t->first,
                 "event %llu, op %zu, pending op %u (kind %d), %s: %.1000s",
                 (unsigned long long)shim_count().events, t->ops, t->ledger.pending.number,
                 (int)t->ledger.pending.kind, losses[loss], problem);
    setting_remove(path);
    rmdir(folder);
}

/* Called in the middle of whatever the store is doing. */
static void maybe_cut(void *context, shim_event event, const char *path)
{
    trial *t = context;
    bool in_database = !ends_with(path, "-wal");
    (void)event;
    if ((unsigned)rand_r(&t->seed) % (in_database ? 4 : t->one_in) != 0)
        return;
    t->points++;
    t->in_checkpoints += in_database;
    powerloss_cut(t, SHIM_DROP_ALL);
    powerloss_cut(t, t->points % 2 ? SHIM_DROP_SOME : SHIM_TEAR_LAST);
}

/* ---- the workload ---- */

static hf_store *open_on_shim(trial *t)
{
    hf_store *store = NULL;
    hf_error err = {0};
    hf_seam.sqlite_vfs = SHIM_VFS;
    expect(HF_OK, setting_open(t->path, &store, &err), err);
    return store;
}

static void powerloss_must(const char *problem)
{
    if (problem)
        check_failed(__FILE__, __LINE__, "before any loss: %s", problem);
}

/* Works until there were enough points; now and then the store is closed and opened again. */
static void powerloss_work(trial *t, size_t points, bool lies)
{
    shim_reset();
    scratch_path(".db", t->path);
    ledger_init(&t->ledger, "power", t->seed);
    hf_store *store = open_on_shim(t);
    shim.on_event = maybe_cut;
    shim.context = t;
    shim.lies = lies;
    for (; t->points < points; t->ops++) {
        powerloss_must(ledger_step(&t->ledger, store, NULL));
        if (t->ops % 40 == 39)
            powerloss_must(ledger_follow(&t->ledger, store));
        if (t->ops % 240 == 239) { /* closing copies the log into the file when it is long */
            hf_store_close(store);
            store = open_on_shim(t);
        }
    }
    shim.on_event = NULL;
    powerloss_must(ledger_verify(&t->ledger, store));
    hf_store_close(store);
    hf_seam.sqlite_vfs = NULL;
    shim_reset();
}

static void nothing_acknowledged_is_lost_with_the_power(void **state)
{
    (void)state;
    static trial t;
    size_t points = setting_amount("HF_TEST_POINTS", 400, 5000);
    t = (trial){.seed = (unsigned)getpid(), .one_in = 12};
    printf("# seed %u\n", t.seed);
    powerloss_work(&t, points, false);
    printf(
        "# %zu points in %zu ops, %zu of them in checkpoints: %zu images, %zu had lost something\n",
        t.points, t.ops, t.in_checkpoints, t.images, t.damaged);
    if (t.damaged)
        check_failed(__FILE__, __LINE__, "%s", t.first);
    expect_true(t.in_checkpoints > points / 20);
}

static void a_disk_that_lies_about_syncs_is_caught_losing_locks(void **state)
{
    (void)state;
    static trial t;
    t = (trial){.seed = 7, .one_in = 20};
    powerloss_work(&t, 40, true);
    printf("# %zu images, %zu had lost something, first: %s\n", t.images, t.damaged, t.first);
    expect_true(t.damaged >= t.points / 2);
}

int main(void)
{
    if (!shim_register())
        return 1;
    hf_seam.sqlite_log_pages = 2000; /* so that there are checkpoints soon */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_with_the_power),
        cmocka_unit_test(a_disk_that_lies_about_syncs_is_caught_losing_locks),
    };
    return cmocka_run_group_tests_name("power loss", tests, NULL, NULL);
}
