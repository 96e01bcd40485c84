/* SPDX-License-Identifier: MIT */
/* kill -9 in the middle. A child works on a SQLite file and says through a pipe what it is about to
 * do and what it was answered; it is killed at a random moment; what was acknowledged must be there
 * when the file is opened again, with the same session and fence, and nothing else. Half of the
 * time another process works on the file all along. */
#include "faults/ledger.h"
#include "faults/setting.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/wait.h>
#include <unistd.h>

/* What comes through the pipe. Smaller than PIPE_BUF: it comes as a whole or not at all. */
typedef struct told {
    bool answered;
    ledger_op op;
    ledger_answer answer; /* when answered */
} told;

_Static_assert(sizeof(told) <= 4096, "a write of it to a pipe is atomic");

static char path[HF_URL_MAX];

static hf_store *crash_open_store(void)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, setting_open(path, &store, &err), err);
    return store;
}

/* ---- the child ---- */

static void crash_tell(int pipe, const told *what)
{
    if (write(pipe, what, sizeof *what) != sizeof *what)
        _exit(0); /* nobody listens any more */
}

static _Noreturn void crash_child_main(ledger *l, int pipe)
{
    hf_store *store = NULL;
    static told what;
    hf_error err = {0};
    if (setting_open(path, &store, &err) != HF_OK)
        _exit(3);
    for (;;) {
        what.answered = false;
        what.op = ledger_choose(l);
        crash_tell(pipe, &what);
        ledger_ask(store, l, &what.op, &what.answer);
        what.answered = true;
        crash_tell(pipe, &what);
        if (ledger_book(l, &what.op, &what.answer))
            _exit(4);        /* the parent finds the same when it books it */
        l->events_count = 0; /* the parent's business */
    }
}

/* ---- the parent ---- */

typedef struct tally {
    size_t acknowledged;
    size_t refused;
    size_t busy;
    size_t cut_short; /* ops that were under way */
    size_t done_unheard;
} tally;

/* Books what the child said until it was killed; what it was about to do and did not hear of stays
 * pending. */
static const char *crash_listen_to(ledger *l, int pipe, tally *t)
{
    static told what;
    ssize_t got;
    const char *problem = NULL;
    while ((got = read(pipe, &what, sizeof what)) == sizeof what && !problem) {
        if (!what.answered) {
            l->pending = what.op;
            l->ops = what.op.number;
            continue;
        }
        problem = ledger_book(l, &what.op, &what.answer);
        t->busy += what.answer.status == HF_BUSY;
        t->acknowledged += what.answer.status == HF_OK;
        t->refused += what.answer.status != HF_OK && what.answer.status != HF_BUSY;
        if (what.answer.status == HF_UNAVAILABLE || what.answer.status == HF_UNSURE)
            return "a child was told that the store is unavailable or unsure";
    }
    return got == 0 || problem ? problem : "half of a message came through the pipe";
}

static void run_cycle(ledger *l, unsigned *seed, tally *t)
{
    int ends[2], status = 0;
    expect_int(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    unsigned child_seed = (unsigned)rand_r(seed);
    pid_t child = fork();
    expect_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        l->seed = child_seed;
        crash_child_main(l, ends[1]);
    }
    close(ends[1]);
    struct pollfd begun = {.fd = ends[0], .events = POLLIN};
    poll(&begun, 1, 10000); /* it has opened the file */
    usleep((unsigned)rand_r(seed) % 25000);
    kill(child, SIGKILL);
    expect_int(waitpid(child, &status, 0), child);
    const char *problem = crash_listen_to(l, ends[0], t);
    close(ends[0]);
    if (problem)
        check_failed(__FILE__, __LINE__, "%s", problem);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        check_failed(__FILE__, __LINE__, "the child ended by itself: %d", status);
}

static void crash_look_after(ledger *l, tally *t)
{
    bool pending = l->pending.kind != LEDGER_NOTHING;
    size_t events = l->events_count;
    t->cut_short += pending;
    hf_store *store = crash_open_store();
    size_t held = ledger_held(l);
    const char *problem = ledger_verify(l, store);
    if (!problem && pending)
        t->done_unheard += ledger_held(l) != held;
    /* and it works */
    for (int i = 0; i < 3 && !problem; i++)
        problem = ledger_step(l, store, NULL);
    hf_store_close(store);
    if (!problem)
        problem = ledger_inspect(path);
    if (problem)
        check_failed(__FILE__, __LINE__, "after %zu acknowledged (%zu events): %s", t->acknowledged,
                     events, problem);
}

/* ---- a bystander that is never killed ---- */

static _Noreturn void bystander_main(int until_closed)
{
    static ledger l;
    hf_store *store = NULL;
    const char *problem = NULL;
    char byte;
    ledger_init(&l, "bystander", 4711);
    fcntl(until_closed, F_SETFL, O_NONBLOCK);
    if (setting_open(path, &store, NULL) != HF_OK)
        _exit(3);
    for (unsigned i = 1; !problem && read(until_closed, &byte, 1) != 0; i++) {
        hf_status status;
        problem = ledger_step(&l, store, &status);
        if (!problem && (status == HF_UNAVAILABLE || status == HF_UNSURE || status == HF_RETRY))
            problem = "the bystander was told that the store is unavailable or unsure";
        if (!problem && i % 100 == 0)
            problem = ledger_verify(&l, store);
        usleep(500);
    }
    hf_store_close(store);
    if (problem)
        printf("# the bystander: %s\n", problem);
    fflush(stdout);
    _exit(problem ? 4 : 0);
}

static void die_and_look(bool bystander)
{
    static ledger l;
    tally t = {0};
    int ends[2], status = 0;
    unsigned count = (unsigned)setting_amount("HF_TEST_CYCLES", 200, 2000) / 2,
             seed = (unsigned)getpid();
    pid_t other = 0;
    printf("# %u cycles%s, seed %u\n", count, bystander ? " beside another process" : "", seed);
    scratch_path(".db", path);
    ledger_init(&l, "crash", seed);
    expect_int(pipe2(ends, O_CLOEXEC), 0);
    if (bystander) {
        fflush(stdout);
        hf_store_close(
            /* the first child of the other half races with nobody to create the file */
            crash_open_store());
        other = fork();
        if (other == 0) {
            close(ends[1]);
            bystander_main(ends[0]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        run_cycle(&l, &seed, &t);
        crash_look_after(&l, &t);
    }
    close(ends[1]);
    close(ends[0]);
    if (bystander)
        expect_int(waitpid(other, &status, 0), other);
    expect_int(status, 0);
    printf("# %zu acknowledged, %zu refused, %zu busy; %zu ops were cut short, at least %zu of "
           "them done; "
           "%zu locks left\n",
           t.acknowledged, t.refused, t.busy, t.cut_short, t.done_unheard, ledger_held(&l));
    expect_true(t.acknowledged > count / 4);
    expect_true(t.cut_short > count / 4);
}

static void no_acknowledged_lock_is_lost_when_a_process_is_killed(void **state)
{
    (void)state;
    die_and_look(false);
}

static void nor_when_another_process_goes_on_with_the_file(void **state)
{
    (void)state;
    die_and_look(true);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_acknowledged_lock_is_lost_when_a_process_is_killed),
        cmocka_unit_test(nor_when_another_process_goes_on_with_the_file),
    };
    return cmocka_run_group_tests_name("kill -9", tests, NULL, NULL);
}
