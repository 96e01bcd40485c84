/* SPDX-License-Identifier: MIT */
/* Power loss, simulated: the store works on a VFS that keeps apart what was synced and what was only written. At
 * hundreds of points of a random workload, in the middle of commits and of checkpoints, what the disk might hold at
 * that moment is written out, opened with the normal VFS and compared with what had been acknowledged (P2): nothing
 * that leaves an event may be lost, only beats may. */
#include "base/seams.h"
#include "faults/ledger.h"
#include "faults/shim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/place.h>
#include <sys/stat.h>
#include <unistd.h>

#define CUTS_WAITING 16

/* A point at which the power went, and what had been acknowledged by then. */
typedef struct cut {
    ledger acknowledged;
    shim_loss loss;
    uint64_t event;
    char folder[HF_URL_MAX];
} cut;

typedef struct trial {
    char path[HF_URL_MAX];
    ledger ledger;
    unsigned seed;
    unsigned one_in;        /* of so many events one is a point; of those on the database file, a fifth of that */
    cut *waiting;           /* taken during one op, looked at after it */
    size_t waiting_count;
    size_t points;
    size_t in_checkpoints;  /* points at which the database file was about to be changed */
    size_t images;
    size_t damaged;         /* images that had lost something */
    size_t ops;
    char first[1200];       /* what was lost first */
} trial;

static bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), ending_size = strlen(ending);
    return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

static void take(trial *t, shim_loss loss)
{
    if (t->waiting_count == CUTS_WAITING)
        return;
    cut *c = &t->waiting[t->waiting_count++];
    c->acknowledged = t->ledger;
    c->acknowledged.loses_beats = true;
    c->loss = loss;
    c->event = shim_count().events;
    scratch_path(".cut", c->folder);
    if (mkdir(c->folder, 0700) != 0 || !shim_cut(loss, (unsigned)rand_r(&t->seed), c->folder))
        abort();
}

static void maybe_cut(void *context, shim_event event, const char *path)
{
    trial *t = context;
    bool in_database = !ends_with(path, "-wal");
    unsigned one_in = in_database && t->one_in >= 5 ? t->one_in / 5 : t->one_in;
    (void)event;
    if (t->waiting_count + 3 > CUTS_WAITING || (unsigned)rand_r(&t->seed) % one_in != 0)
        return;
    t->points++;
    t->in_checkpoints += in_database;
    take(t, SHIM_DROP_ALL);
    take(t, SHIM_DROP_SOME);
    take(t, SHIM_TEAR_LAST);
}

/* ---- looking at what is left ---- */

static void remove_image(const char *folder, const char *name)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-reserve"};
    char path[2 * HF_URL_MAX];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s/%s%s", folder, name, endings[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* So that opening an image need not lay in a reserve each time. */
static void lay_in_reserve(const char *path)
{
    char reserve[HF_URL_MAX + 16];
    snprintf(reserve, sizeof reserve, "%s-reserve", path);
    close(open(reserve, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static const char *look_at(const char *path, ledger *acknowledged)
{
    static char text[HF_MESSAGE_SIZE];
    char url[HF_URL_MAX + 16];
    hf_store *store = NULL;
    hf_error err = {0};
    snprintf(url, sizeof url, "sqlite:%s", path);
    hf_status status = hf_store_open(url, &store, &err);
    if (status != HF_OK) {
        snprintf(text, sizeof text, "it can't be opened: %.1000s", err.message);
        return text;
    }
    const char *problem = ledger_settle(acknowledged, store);
    for (int i = 0; i < 3 && !problem; i++)
        problem = ledger_step(acknowledged, store, NULL);
    hf_store_close(store);
    return problem ? problem : ledger_inspect(path);
}

static void look_at_all(trial *t)
{
    static const char *const losses[] = {"all unsynced dropped", "some unsynced dropped", "last write torn", "all kept"};
    const char *name = strrchr(t->path, '/') + 1;
    for (size_t i = 0; i < t->waiting_count; i++) {
        cut *c = &t->waiting[i];
        char path[HF_URL_MAX];
        snprintf(path, sizeof path, "%.*s/%s", HF_URL_MAX - 64, c->folder, name);
        unsigned pending = c->acknowledged.pending.kind, number = c->acknowledged.pending.number;
        lay_in_reserve(path);
        const char *vfs = hf_seam.sqlite_vfs;
        hf_seam.sqlite_vfs = NULL;
        const char *problem = look_at(path, &c->acknowledged);
        hf_seam.sqlite_vfs = vfs;
        t->images++;
        if (problem && t->damaged++ == 0)
            snprintf(t->first, sizeof t->first, "event %llu, op %zu, pending op %u (kind %u), %s: %.1000s",
                     (unsigned long long)c->event, t->ops, number, pending, losses[c->loss], problem);
        remove_image(c->folder, name);
    }
    t->waiting_count = 0;
}

/* ---- the workload ---- */

static hf_store *open_on_shim(trial *t)
{
    hf_store *store = NULL;
    hf_error err = {0};
    char url[HF_URL_MAX + 16];
    snprintf(url, sizeof url, "sqlite:%s", t->path);
    hf_seam.sqlite_vfs = SHIM_VFS;
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

static void must(const char *problem)
{
    if (problem)
        check_failed(__FILE__, __LINE__, "before any loss: %s", problem);
}

/* Works until there were enough points; now and then the store is closed and opened again. */
static void work(trial *t, size_t points, bool lies)
{
    static cut waiting[CUTS_WAITING];
    t->waiting = waiting;
    shim_reset();
    scratch_path(".db", t->path);
    ledger_init(&t->ledger, "power", t->seed);
    hf_store *store = open_on_shim(t);
    shim.on_event = maybe_cut;
    shim.context = t;
    shim.lies = lies;
    for (; t->points < points; t->ops++) {
        must(ledger_step(&t->ledger, store, NULL));
        look_at_all(t);
        if (t->ops % 40 == 39) {
            must(ledger_follow(&t->ledger, store));
            look_at_all(t);
        }
        if (t->ops % 997 == 996) {
            hf_store_close(store);
            store = open_on_shim(t);
            look_at_all(t);
        }
    }
    shim.on_event = NULL;
    must(ledger_verify(&t->ledger, store));
    hf_store_close(store);
    hf_seam.sqlite_vfs = NULL;
    shim_reset();
}

static size_t points(void)
{
    const char *given = getenv("HF_TEST_POINTS"), *is_long = getenv("HF_TEST_LONG");
    if (given && *given)
        return (size_t)strtoul(given, NULL, 10);
    return is_long && *is_long && strcmp(is_long, "0") != 0 ? 5000 : 400;
}

static void nothing_acknowledged_is_lost_with_the_power(void **state)
{
    (void)state;
    static trial t;
    t = (trial){.seed = (unsigned)getpid(), .one_in = 60};
    printf("# seed %u\n", t.seed);
    work(&t, points(), false);
    printf("# %zu points in %zu ops, %zu of them in checkpoints: %zu images, %zu had lost something\n", t.points, t.ops,
           t.in_checkpoints, t.images, t.damaged);
    if (t.damaged)
        check_failed(__FILE__, __LINE__, "%s", t.first);
    expect_true(t.in_checkpoints > points() / 20);
}

static void a_disk_that_lies_about_syncs_is_caught_losing_locks(void **state)
{
    (void)state;
    static trial t;
    t = (trial){.seed = 7, .one_in = 60};
    work(&t, 40, true);
    printf("# %zu images, %zu had lost something, first: %s\n", t.images, t.damaged, t.first);
    expect_true(t.damaged >= t.points / 2);
}

int main(void)
{
    if (!shim_register())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_with_the_power),
        cmocka_unit_test(a_disk_that_lies_about_syncs_is_caught_losing_locks),
    };
    return cmocka_run_group_tests_name("power loss", tests, NULL, NULL);
}
