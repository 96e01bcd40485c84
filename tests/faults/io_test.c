/* SPDX-License-Identifier: MIT */
/* Reads and writes that fail. Every sync of a script fails in turn: that batch is unsure (or
 * provably not done), and nothing more is acknowledged until the file is opened anew. Every write
 * fails in turn, at once or half-way: no wrong answer, and the file is whole. */
#include "base/seams.h"
#include "faults/ledger.h"
#include "faults/setting.h"
#include "faults/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const endings[] = {"", "-wal"};

/* A file that has been worked on, and what was acknowledged. Every trial begins with a copy of it.
 * */
typedef struct template
{
    char path[HF_URL_MAX];
    ledger ledger;
}
template;

typedef struct trial {
    char path[HF_URL_MAX];
    ledger ledger;
    hf_store *store;
} trial;

static bool io_copy_file(const char *from, const char *to)
{
    struct stat info;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = in >= 0 && out >= 0 && fstat(in, &info) == 0;
    for (off_t left = good ? info.st_size : 0; left > 0 && good;) {
        ssize_t sent = sendfile(out, in, NULL, (size_t)left);
        good = sent > 0;
        left -= sent;
    }
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return good;
}

static void io_must(const char *problem, const char *when, uint64_t n)
{
    if (problem)
        check_failed(__FILE__, __LINE__, "%s %llu: %s", when, (unsigned long long)n, problem);
}

/* What happens to the database file itself while a script runs: where the checkpoint is. */
typedef struct checkpoint {
    uint64_t first_sync, last_sync; /* numbers of the next sync at its first and its last event */
    uint64_t first_write, last_write;
} checkpoint;

static void note_checkpoint(void *context, shim_event event, const char *path)
{
    checkpoint *c = context;
    size_t size = strlen(path);
    (void)event;
    if (size > 4 && strcmp(path + size - 4, "-wal") == 0)
        return;
    shim_counts now = shim_count();
    c->first_sync = c->first_sync ? c->first_sync : now.syncs + 1;
    c->first_write = c->first_write ? c->first_write : now.writes + 1;
    c->last_sync = now.syncs + 1;
    c->last_write = now.writes + 1;
}

static off_t log_size(const char *path)
{
    struct stat info = {0};
    char log[HF_URL_MAX + 8];
    snprintf(log, sizeof log, "%s-wal", path);
    return stat(log, &info) == 0 ? info.st_size : 0;
}

/* A file with a log of that size, or (0) so long that a checkpoint has begun. How long it is. */
static off_t template_make(template *t, off_t size)
{
    hf_store *store = NULL;
    hf_error err = {0};
    checkpoint seen = {0};
    shim_reset();
    hf_seam.sqlite_vfs = SHIM_VFS; /* it does not sync: this is quick */
    scratch_path(".db", t->path);
    ledger_init(&t->ledger, "io", 1);
    expect(HF_OK, setting_open(t->path, &store, &err), err);
    setting_skip_reserve(t->path);
    shim.on_event = note_checkpoint;
    shim.context = &seen;
    for (int i = 1; size ? log_size(t->path) < size : seen.first_write == 0; i++) {
        io_must(ledger_step(&t->ledger, store, NULL), "making the template", 0);
        if (i % 20 == 0)
            io_must(ledger_follow(&t->ledger, store), "making the template", 0);
    }
    off_t reached = log_size(t->path);
    if (size)
        expect_int(seen.first_write, 0);
    hf_store_close(store);
    hf_seam.sqlite_vfs = NULL;
    shim_reset();
    return reached;
}

static void trial_begin(trial *t, const template *from)
{
    hf_error err = {0};
    shim_reset();
    scratch_path(".db", t->path);
    for (size_t i = 0; from && i < sizeof endings / sizeof *endings; i++) {
        char source[HF_URL_MAX + 8], target[HF_URL_MAX + 8];
        snprintf(source, sizeof source, "%s%s", from->path, endings[i]);
        snprintf(target, sizeof target, "%s%s", t->path, endings[i]);
        if (access(source, F_OK) == 0)
            expect_true(io_copy_file(source, target));
    }
    if (from)
        t->ledger = from->ledger;
    else
        ledger_init(&t->ledger, "io", 1);
    setting_skip_reserve(t->path);
    t->store = NULL;
    hf_seam.sqlite_vfs = SHIM_VFS;
    if (from)
        expect(HF_OK, setting_open(t->path, &t->store, &err), err);
}

/* Closes it, opens it with the normal VFS, and looks. */
static void trial_end(trial *t, const char *what, uint64_t n)
{
    hf_error err = {0};
    hf_store *store = NULL;
    hf_store_close(t->store);
    hf_seam.sqlite_vfs = NULL;
    expect(HF_OK, setting_open(t->path, &store, &err), err);
    io_must(ledger_settle(&t->ledger, store), what, n);
    for (int i = 0; i < 3; i++)
        io_must(ledger_step(&t->ledger, store, NULL), what, n);
    hf_store_close(store);
    io_must(ledger_inspect(t->path), what, n);
    setting_remove(t->path);
}

static bool is_answer(hf_status status)
{
    return status == HF_OK || status == HF_LOCKED || status == HF_NOT_HELD;
}

/* ---- syncs ---- */

/* After the failure not even reading is served. */
static void io_expect_refused(trial *t, uint64_t n)
{
    for (int i = 0; i < 3; i++) {
        ledger copy = t->ledger;
        ledger_op op = ledger_choose(&copy);
        ledger_answer answer;
        ledger_ask(t->store, &copy, &op, &answer);
        if (answer.status != HF_UNAVAILABLE)
            check_failed(__FILE__, __LINE__,
                         "sync %llu failed, and later an op was answered %s: %s",
                         (unsigned long long)n, hf_status_wire(answer.status), answer.message);
    }
    const char *read = ledger_verify(&t->ledger, t->store);
    if (!read)
        check_failed(__FILE__, __LINE__, "sync %llu failed, and later reads were served",
                     (unsigned long long)n);
}

/* What a power loss right after the failure would leave. */
static void look_at_cut(trial *t, uint64_t n)
{
    char folder[HF_URL_MAX], path[HF_URL_MAX];
    static ledger copy;
    hf_store *store = NULL;
    hf_error err = {0};
    scratch_path(".cut", folder);
    expect_int(mkdir(folder, 0700), 0);
    expect_true(shim_cut(SHIM_DROP_ALL, 1, folder));
    copy = t->ledger;
    copy.loses_beats = true;
    snprintf(path, sizeof path, "%.*s/%s", HF_URL_MAX / 2, folder, strrchr(t->path, '/') + 1);
    hf_seam.sqlite_vfs = NULL;
    setting_skip_reserve(path);
    expect(HF_OK, setting_open(path, &store, &err), err);
    io_must(ledger_verify(&copy, store), "power loss after failed sync", n);
    hf_store_close(store);
    setting_remove(path);
    rmdir(folder);
}

/* Which syncs and writes of the script belong to a checkpoint, counted from its beginning. */
static checkpoint find_checkpoint(const template *from, unsigned seed, int ops)
{
    static trial t;
    checkpoint seen = {0};
    trial_begin(&t, from);
    shim_counts before = shim_count();
    t.ledger.seed = seed;
    shim.on_event = note_checkpoint;
    shim.context = &seen;
    for (int i = 0; i < ops && seen.first_write == 0; i++)
        io_must(ledger_step(&t.ledger, t.store, NULL), "looking for the checkpoint", 0);
    shim.on_event = NULL;
    trial_end(&t, "looking for the checkpoint", 0);
    expect_true(seen.first_write > 0);
    return (checkpoint){seen.first_sync - before.syncs, seen.last_sync - before.syncs,
                        seen.first_write - before.writes, seen.last_write - before.writes};
}

typedef struct tally {
    size_t failed;
    size_t by_status[HF_STATUS_COUNT]; /* of the op during which it failed */
} tally;

static size_t io_answered(const tally *t)
{
    return t->by_status[HF_OK] + t->by_status[HF_LOCKED] + t->by_status[HF_NOT_HELD];
}

/* One trial. False: the script has fewer syncs. */
static bool fail_sync(const template *from, uint64_t n, int ops, int reason, tally *sum)
{
    static trial t;
    static ledger known;
    trial_begin(&t, from);
    t.ledger.seed = 99;
    shim.fail_sync_at = shim_count().syncs + n;
    shim.failure_errno = reason;
    for (int i = 0; i < ops && shim_count().failed == 0; i++) {
        hf_status status;
        io_must(ledger_step(&t.ledger, t.store, &status), "failed sync", n);
        if (shim_count().failed)
            sum->by_status[status]++;
        if (!is_answer(status) &&
            (shim_count().failed == 0 || (status != HF_UNSURE && status != HF_UNAVAILABLE)))
            check_failed(__FILE__, __LINE__, "sync %llu failed: answered %s", (unsigned long long)n,
                         hf_status_wire(status));
    }
    bool failed = shim_count().failed > 0;
    sum->failed += failed;
    known = t.ledger;
    if (failed) {
        io_expect_refused(&t, n);
        t.ledger = known;
        look_at_cut(&t, n);
    }
    trial_end(&t, "failed sync", n);
    return failed;
}

/* Every sync of a script, then those of a checkpoint. */
static void fail_syncs(int reason)
{
    static template small, large;
    tally in_commits = {0}, in_checkpoint = {0};
    template_make(&small, 20 * 4120);
    for (uint64_t n = 1; fail_sync(&small, n, 25, reason, &in_commits);)
        n++;
    off_t long_log = template_make(&large, 0);
    template_make(&large, long_log - 60 * 4120);
    checkpoint at = find_checkpoint(&large, 99, 100);
    for (uint64_t n = at.first_sync - 2; n <= at.last_sync + 2; n++)
        fail_sync(&large, n, 100, reason, &in_checkpoint);
    printf(
        "# %s: %zu syncs failed in commits, %zu at a checkpoint: %zu unsure, %zu unavailable, %zu "
        "answered (the commit "
        "was safe)\n",
        strerror(reason), in_commits.failed, in_checkpoint.failed,
        in_commits.by_status[HF_UNSURE] + in_checkpoint.by_status[HF_UNSURE],
        in_commits.by_status[HF_UNAVAILABLE] + in_checkpoint.by_status[HF_UNAVAILABLE],
        io_answered(&in_commits) + io_answered(&in_checkpoint));
    expect_true(in_commits.failed > 8 && in_checkpoint.failed >= 3);
    expect_int(io_answered(&in_commits), 0); /* a failed sync of the log is never a success */
}

static void after_a_failed_sync_nothing_is_acknowledged_until_the_file_is_reopened(void **state)
{
    (void)state;
    fail_syncs(EIO);
}

/* Where space is given out late, the sync is what finds the disk full. */
static void nor_after_a_sync_that_found_the_disk_full(void **state)
{
    (void)state;
    fail_syncs(ENOSPC);
}

/* ---- writes ---- */

/* Works on, whatever is answered, but never on top of something unsure. */
static void io_work_on(trial *t, int ops, uint64_t n, tally *sum)
{
    for (int i = 0; i < ops && t->ledger.pending.kind == LEDGER_NOTHING; i++) {
        hf_status status;
        uint64_t failed = shim_count().failed;
        io_must(ledger_step(&t->ledger, t->store, &status), "failed write", n);
        bool broken = shim_count().failed > failed;
        if (broken)
            sum->by_status[status]++;
        if (!is_answer(status) &&
            (shim_count().failed == 0 || (status != HF_UNSURE && status != HF_UNAVAILABLE)))
            check_failed(__FILE__, __LINE__, "write %llu failed: answered %s",
                         (unsigned long long)n, hf_status_wire(status));
    }
}

static bool fail_write(const template *from, uint64_t n, int ops, shim_failure failure, tally *sum)
{
    static trial t;
    hf_error err = {0};
    trial_begin(&t, from);
    t.ledger.seed = 5;
    shim.failure = failure;
    shim.fail_write_at = shim_count().writes + n;
    if (!from) { /* opening it is part of the script */
        hf_status status = setting_open(t.path, &t.store, &err);
        if (status != HF_OK && (shim_count().failed == 0 || status != HF_UNAVAILABLE))
            check_failed(__FILE__, __LINE__, "write %llu failed: opening answered %s: %s",
                         (unsigned long long)n, hf_status_wire(status), err.message);
    }
    if (t.store)
        io_work_on(&t, ops, n, sum);
    bool failed = shim_count().failed > 0;
    sum->failed += failed;
    shim.fail_write_at = 0;
    trial_end(&t, "failed write", n);
    return failed;
}

static void a_failed_write_is_never_a_wrong_answer(void **state)
{
    (void)state;
    static template small, large;
    tally created = {0}, worked = {0}, copied = {0};
    template_make(&small, 20 * 4120);
    off_t long_log = template_make(&large, 0);
    template_make(&large, long_log - 60 * 4120);
    checkpoint at = find_checkpoint(&large, 5, 100);
    for (int failure = SHIM_FAIL; failure <= SHIM_FAIL_SHORT; failure++) {
        for (uint64_t n = 1;
             fail_write(NULL, n, 4, failure, &created);) /* from the creation of the file on */
            n++;
        for (uint64_t n = 1; fail_write(&small, n, 36, failure, &worked);)
            n++;
        for (uint64_t n = at.first_write; n <= at.last_write + 1;
             n += 1 + (at.last_write - at.first_write) / 12)
            fail_write(&large, n, 100, failure, &copied);
    }
    printf("# %zu writes failed since a file was made, %zu in later work, %zu in a checkpoint: %zu "
           "unsure, "
           "%zu unavailable, "
           "%zu answered (the commit was safe)\n",
           created.failed, worked.failed, copied.failed,
           created.by_status[HF_UNSURE] + worked.by_status[HF_UNSURE] + copied.by_status[HF_UNSURE],
           created.by_status[HF_UNAVAILABLE] + worked.by_status[HF_UNAVAILABLE] +
               copied.by_status[HF_UNAVAILABLE],
           io_answered(&created) + io_answered(&worked) + io_answered(&copied));
    expect_true(created.failed > 20 && worked.failed > 50 && copied.failed > 10);
    expect_int(io_answered(&worked), 0);
}

/* ---- restore ---- */

/* One restore during which that sync fails. False: it has fewer. */
static bool fail_sync_of_restore(const template *from, const char *backup, uint64_t n)
{
    static trial t;
    hf_error err = {0};
    trial_begin(&t, from);
    shim.fail_sync_at = shim_count().syncs + n;
    hf_status status = hf_store_restore(t.store, backup, true, &err);
    bool failed = shim_count().failed > 0;
    if (failed) {
        expect_int(status, HF_UNSURE);
        expect_true(err.message[0] != '\0');
        shim.fail_sync_at = 0;
        io_expect_refused(&t, n);
        expect(HF_UNAVAILABLE, hf_store_restore(t.store, backup, true, &err), err);
        expect(HF_UNAVAILABLE, hf_store_backup(t.store, "/nowhere/of-a-broken-store", &err), err);
        expect_contains(err.message, "failed before");
    } else {
        expect_int(status, HF_OK);
    }
    /* the backup is of what the file held: either is right */
    trial_end(&t, "failed sync of a restore", n);
    return failed;
}

static void after_a_failed_sync_of_a_restore_nothing_is_served_until_the_file_is_reopened(
    void **state)
{
    (void)state;
    static template small;
    static trial t;
    char backup[HF_URL_MAX];
    hf_error err = {0};
    uint64_t n = 1;
    template_make(&small, 20 * 4120);
    scratch_path(".backup", backup);
    trial_begin(&t, &small);
    expect(HF_OK, hf_store_backup(t.store, backup, &err), err);
    trial_end(&t, "backup", 0);
    while (fail_sync_of_restore(&small, backup, n))
        n++;
    printf("# %llu syncs of a restore failed\n", (unsigned long long)(n - 1));
    expect_true(n > 1);
    unlink(backup);
}

int main(void)
{
    if (!shim_register())
        return 1;
    hf_seam.sqlite_log_pages = 2000; /* so that there are checkpoints soon */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_failed_sync_nothing_is_acknowledged_until_the_file_is_reopened),
        cmocka_unit_test(nor_after_a_sync_that_found_the_disk_full),
        cmocka_unit_test(a_failed_write_is_never_a_wrong_answer),
        cmocka_unit_test(
            after_a_failed_sync_of_a_restore_nothing_is_served_until_the_file_is_reopened),
    };
    return cmocka_run_group_tests_name("I/O errors", tests, NULL, NULL);
}
