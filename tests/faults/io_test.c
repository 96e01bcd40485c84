/* SPDX-License-Identifier: MIT */
/* Reads and writes that fail. Every sync of a script fails in turn: that batch is unsure (or provably not done), and
 * nothing more is acknowledged until the file is opened anew. Every write fails in turn, at once or half-way: no wrong
 * answer, and the file is whole. */
#include "base/seams.h"
#include "faults/ledger.h"
#include "faults/shim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/place.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const endings[] = {"", "-wal"};

/* A file that has been worked on, and what was acknowledged. Every trial begins with a copy of it. */
typedef struct template {
    char path[HF_URL_MAX];
    ledger ledger;
} template;

typedef struct trial {
    char path[HF_URL_MAX];
    ledger ledger;
    hf_store *store;
} trial;

static bool copy_file(const char *from, const char *to)
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

static void lay_in_reserve(const char *path)
{
    char reserve[HF_URL_MAX + 16];
    snprintf(reserve, sizeof reserve, "%s-reserve", path);
    close(open(reserve, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static hf_status open_store(const char *path, hf_store **out, hf_error *err)
{
    char url[HF_URL_MAX + 16];
    snprintf(url, sizeof url, "sqlite:%s", path);
    return hf_store_open(url, out, err);
}

static void must(const char *problem, const char *when, uint64_t n)
{
    if (problem)
        check_failed(__FILE__, __LINE__, "%s %llu: %s", when, (unsigned long long)n, problem);
}

/* A file with a log of at least so many pages. */
static void template_make(template *t, off_t log_pages)
{
    hf_store *store = NULL;
    hf_error err = {0};
    struct stat info = {0};
    char log[HF_URL_MAX + 8];
    scratch_path(".db", t->path);
    snprintf(log, sizeof log, "%s-wal", t->path);
    ledger_init(&t->ledger, "io", 1);
    expect(HF_OK, open_store(t->path, &store, &err), err);
    do {
        for (int i = 0; i < 20; i++)
            must(ledger_step(&t->ledger, store, NULL), "making the template", 0);
        must(ledger_follow(&t->ledger, store), "making the template", 0);
    } while (stat(log, &info) == 0 && info.st_size < log_pages * 4120);
    hf_store_close(store);
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
            expect_true(copy_file(source, target));
    }
    if (from)
        t->ledger = from->ledger;
    else
        ledger_init(&t->ledger, "io", 1);
    lay_in_reserve(t->path);
    t->store = NULL;
    hf_seam.sqlite_vfs = SHIM_VFS;
    if (from)
        expect(HF_OK, open_store(t->path, &t->store, &err), err);
}

/* Closes it, opens it with the normal VFS, and looks. */
static void trial_end(trial *t, const char *what, uint64_t n)
{
    hf_error err = {0};
    hf_store *store = NULL;
    static const char *const left[] = {"", "-wal", "-shm", "-reserve"};
    hf_store_close(t->store);
    hf_seam.sqlite_vfs = NULL;
    expect(HF_OK, open_store(t->path, &store, &err), err);
    must(ledger_settle(&t->ledger, store), what, n);
    for (int i = 0; i < 3; i++)
        must(ledger_step(&t->ledger, store, NULL), what, n);
    hf_store_close(store);
    must(ledger_inspect(t->path), what, n);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        char path[HF_URL_MAX + 16];
        snprintf(path, sizeof path, "%s%s", t->path, left[i]);
        unlink(path);
    }
}

static bool is_answer(hf_status status)
{
    return status == HF_OK || status == HF_LOCKED || status == HF_NOT_HELD;
}

/* ---- syncs ---- */

/* After the failure not even reading is served. */
static void expect_refused(trial *t, uint64_t n)
{
    for (int i = 0; i < 3; i++) {
        ledger copy = t->ledger;
        ledger_op op = ledger_choose(&copy);
        ledger_answer answer;
        ledger_ask(t->store, &copy, &op, &answer);
        if (answer.status != HF_UNAVAILABLE)
            check_failed(__FILE__, __LINE__, "sync %llu failed, and later an op was answered %s: %s",
                         (unsigned long long)n, hf_status_wire(answer.status), answer.message);
    }
    const char *read = ledger_verify(&t->ledger, t->store);
    if (!read)
        check_failed(__FILE__, __LINE__, "sync %llu failed, and later reads were served", (unsigned long long)n);
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
    lay_in_reserve(path);
    expect(HF_OK, open_store(path, &store, &err), err);
    must(ledger_verify(&copy, store), "power loss after failed sync", n);
    hf_store_close(store);
}

/* One trial. False: the script has fewer syncs. */
static bool fail_sync(const template *from, uint64_t n, int ops, size_t by_status[HF_STATUS_COUNT])
{
    static trial t;
    trial_begin(&t, from);
    t.ledger.seed = 99;
    uint64_t before = shim_count().syncs;
    shim.fail_sync_at = before + n;
    for (int i = 0; i < ops && shim_count().failed == 0; i++) {
        hf_status status;
        must(ledger_step(&t.ledger, t.store, &status), "failed sync", n);
        if (shim_count().failed)
            by_status[status]++;
        else
            expect_true(is_answer(status));
        bool honest = status == HF_UNSURE || status == HF_UNAVAILABLE || is_answer(status);
        if (!honest)
            check_failed(__FILE__, __LINE__, "sync %llu failed: answered %s", (unsigned long long)n,
                         hf_status_wire(status));
    }
    bool failed = shim_count().failed > 0;
    if (failed) {
        ledger known = t.ledger;
        expect_refused(&t, n);
        t.ledger = known;
        look_at_cut(&t, n);
    }
    trial_end(&t, "failed sync", n);
    return failed;
}

static void after_a_failed_sync_nothing_is_acknowledged_until_the_file_is_reopened(void **state)
{
    (void)state;
    static template small, large;
    size_t by_status[HF_STATUS_COUNT] = {0};
    uint64_t n = 1, m = 1;
    template_make(&small, 20);
    while (fail_sync(&small, n, 25, by_status))
        n++;
    template_make(&large, 900); /* so that a checkpoint is near */
    while (m < 80 && fail_sync(&large, m, 80, by_status))
        m++;
    printf("# %llu syncs failed in turn: %zu unsure, %zu unavailable, %zu answered (failed after the commit)\n",
           (unsigned long long)(n + m - 2), by_status[HF_UNSURE], by_status[HF_UNAVAILABLE],
           by_status[HF_OK] + by_status[HF_LOCKED] + by_status[HF_NOT_HELD]);
    expect_true(n > 10 && m > 10);
    expect_true(by_status[HF_UNSURE] + by_status[HF_UNAVAILABLE] > 10);
}

/* ---- writes ---- */

/* Works on, whatever is answered, but never on top of something unsure. */
static void work_on(trial *t, int ops, uint64_t n, size_t by_status[HF_STATUS_COUNT])
{
    for (int i = 0; i < ops && t->ledger.pending.kind == LEDGER_NOTHING; i++) {
        hf_status status;
        uint64_t failed = shim_count().failed;
        must(ledger_step(&t->ledger, t->store, &status), "failed write", n);
        bool broken = shim_count().failed > failed;
        if (broken)
            by_status[status]++;
        if (!is_answer(status) && (shim_count().failed == 0 || (status != HF_UNSURE && status != HF_UNAVAILABLE)))
            check_failed(__FILE__, __LINE__, "write %llu failed: answered %s", (unsigned long long)n,
                         hf_status_wire(status));
    }
}

static bool fail_write(const template *from, uint64_t n, int ops, shim_failure failure, size_t by_status[HF_STATUS_COUNT])
{
    static trial t;
    hf_error err = {0};
    trial_begin(&t, from);
    t.ledger.seed = 5;
    shim.failure = failure;
    shim.fail_write_at = shim_count().writes + n;
    if (!from) { /* opening it is part of the script */
        hf_status status = open_store(t.path, &t.store, &err);
        if (status != HF_OK && (shim_count().failed == 0 || status != HF_UNAVAILABLE))
            check_failed(__FILE__, __LINE__, "write %llu failed: opening answered %s: %s", (unsigned long long)n,
                         hf_status_wire(status), err.message);
    }
    if (t.store)
        work_on(&t, ops, n, by_status);
    bool failed = shim_count().failed > 0;
    shim.fail_write_at = 0;
    trial_end(&t, "failed write", n);
    return failed;
}

static void a_failed_write_is_never_a_wrong_answer(void **state)
{
    (void)state;
    static template small, large;
    size_t by_status[HF_STATUS_COUNT] = {0};
    uint64_t counts[3] = {0};
    template_make(&small, 20);
    template_make(&large, 960);
    for (int failure = SHIM_FAIL; failure <= SHIM_FAIL_SHORT; failure++) {
        uint64_t n = 1;
        while (fail_write(NULL, n, 4, failure, by_status)) /* from the creation of the file on */
            n++;
        counts[0] += n - 1;
        for (n = 1; fail_write(&small, n, 12, failure, by_status);)
            n++;
        counts[1] += n - 1;
        for (n = 1; fail_write(&large, n, 40, failure, by_status);) /* with a checkpoint in it */
            n += 5;
        counts[2] += n / 5;
    }
    printf("# %llu + %llu + %llu writes failed in turn: %zu unsure, %zu unavailable, %zu answered\n",
           (unsigned long long)counts[0], (unsigned long long)counts[1], (unsigned long long)counts[2],
           by_status[HF_UNSURE], by_status[HF_UNAVAILABLE],
           by_status[HF_OK] + by_status[HF_LOCKED] + by_status[HF_NOT_HELD]);
    expect_true(counts[0] > 20 && counts[1] > 50 && counts[2] > 20);
    expect_true(by_status[HF_UNSURE] + by_status[HF_UNAVAILABLE] > 50);
}

int main(void)
{
    if (!shim_register())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_failed_sync_nothing_is_acknowledged_until_the_file_is_reopened),
        cmocka_unit_test(a_failed_write_is_never_a_wrong_answer),
    };
    return cmocka_run_group_tests_name("I/O errors", tests, NULL, NULL);
}
