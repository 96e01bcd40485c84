/* SPDX-License-Identifier: MIT */
/* Starting clients of either kind, telling them of faults, and waiting for them. */
#include "faults/database_clients.h"

#include "faults/database_target.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

enum { CALL_MAX_S = 15, HEAL_MAX_S = 10, WAIT_MAX_S = 60 };

struct clients_workers {
    clients_board *board;
    clients_kind kind;
    hf_store *shared; /* the threads' */
    struct one {
        struct clients_workers *all;
        unsigned me;
        pid_t process;
        pthread_t thread;
    } of[CLIENTS_MAX];
};

/* ---- what workers use ---- */

void clients_wrong(clients_post *post, const char *format, ...)
{
    va_list args;
    if (atomic_load(&post->failed))
        return;
    va_start(args, format);
    vsnprintf(post->problem, sizeof post->problem, format, args);
    va_end(args);
    atomic_store(&post->failed, true);
}

static void raise_to(atomic_int_fast64_t *at, int64_t value)
{
    if (value > atomic_load(at))
        atomic_store(at, value);
}

void clients_note_time(clients_post *post, int64_t began_us)
{
    int64_t took_us = monotonic_us() - began_us;
    raise_to(&post->slowest_us, took_us);
    if (took_us > CALL_MAX_S * INT64_C(1000000))
        clients_wrong(post, "a call took %.1f s", (double)took_us / 1e6);
}

hf_status clients_execute(clients_post *post, hf_store *store, hf_batch *batch, hf_error *err)
{
    int64_t began_us = monotonic_us();
    hf_status status = hf_store_execute(store, batch, err);
    clients_note_time(post, began_us);
    return status;
}

static hf_status ask_anything(clients_post *post, hf_store *store, hf_error *err)
{
    hf_batch *batch = NULL;
    if (hf_batch_new(1, &batch, NULL) != HF_OK)
        abort();
    hf_op *op = hf_batch_add(batch, HF_OP_WHO);
    op->type = "heal";
    op->id = "1";
    hf_status status = clients_execute(post, store, batch, err);
    hf_batch_free(batch);
    return status;
}

/* The server is there again, and the same handle must find it. */
bool clients_heal(clients_board *board, clients_post *post, hf_store *store)
{
    hf_error err = {0};
    int64_t began_us = monotonic_us();
    for (;;) {
        hf_status status = ask_anything(post, store, &err);
        int64_t took_us = monotonic_us() - began_us;
        raise_to(&post->healed_us, took_us);
        if (status == HF_OK)
            return true;
        atomic_fetch_add(&post->late, 1);
        if (!board->slow_to_heal || took_us > HEAL_MAX_S * INT64_C(1000000)) {
            clients_wrong(post, "%.1f s after the server was back the store still answers %s: %s",
                          (double)took_us / 1e6, hf_status_wire(status), err.message);
            return false;
        }
        sleep_ms(20);
    }
}

/* ---- waiting ---- */

static void database_clients_look(const clients *c)
{
    clients_board *board = c->board;
    struct clients_workers *workers = c->workers;
    for (unsigned i = 0; i < board->count; i++) {
        clients_post *post = &board->posts[i];
        int how = 0;
        bool gone = c->kind == CLIENTS_PROCESSES && !atomic_load(&post->ended) &&
                    waitpid(workers->of[i].process, &how, WNOHANG) > 0;
        if (!atomic_load(&post->failed) && !gone)
            continue;
        atomic_store(&board->ends, true);
        FAIL("client %u: %s", i, atomic_load(&post->failed) ? post->problem : "it has crashed");
    }
}

/* Until that holds for all of them. */
static void database_clients_wait_until(const clients *c, bool (*holds)(const clients *, size_t),
                                        size_t value, const char *what)
{
    for (int64_t until_us = monotonic_us() + WAIT_MAX_S * INT64_C(1000000); !holds(c, value);
         sleep_ms(2)) {
        database_clients_look(c);
        if (monotonic_us() > until_us) {
            atomic_store(&c->board->ends, true);
            FAIL("the clients have not %s after %d s", what, WAIT_MAX_S);
        }
    }
    database_clients_look(c);
}

static bool have_come_through(const clients *c, size_t fault)
{
    bool all = true;
    for (unsigned i = 0; i < c->board->count; i++)
        all &= atomic_load(&c->board->posts[i].through) == fault;
    return all;
}

static size_t done_by_all(const clients *c)
{
    size_t sum = 0;
    for (unsigned i = 0; i < c->board->count; i++)
        sum += atomic_load(&c->board->posts[i].done);
    return sum;
}

static bool have_done(const clients *c, size_t much)
{
    return done_by_all(c) >= much;
}

static bool have_ended(const clients *c, size_t unused)
{
    bool all = true;
    (void)unused;
    for (unsigned i = 0; i < c->board->count; i++)
        all &= atomic_load(&c->board->posts[i].ended);
    return all;
}

void clients_fault(clients *c)
{
    database_clients_look(c);
    atomic_fetch_add(&c->board->fault, 1);
}

void clients_calm(clients *c)
{
    unsigned now = atomic_fetch_add(&c->board->fault, 1) + 1;
    database_clients_wait_until(c, have_come_through, now, "come through");
}

void clients_work(clients *c, size_t more)
{
    database_clients_wait_until(c, have_done, done_by_all(c) + more, "done their work");
}

/* ---- starting ---- */

static void *thread_main(void *context)
{
    struct one *it = context;
    if (it->all->kind == CLIENTS_TOGETHER)
        clients_ledger_main(it->all->board, it->me, it->all->shared);
    else
        clients_batches_main(it->all->board, it->me, it->all->shared);
    atomic_store(&it->all->board->posts[it->me].ended, true);
    return NULL;
}

static void start_process(struct one *it)
{
    fflush(stdout);
    it->process = fork();
    if (it->process < 0)
        FAIL("No process could be started.");
    if (it->process > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    clients_ledger_main(it->all->board, it->me, NULL);
    atomic_store(&it->all->board->posts[it->me].ended, true);
    _exit(0);
}

static bool are_at_work(const clients *c, size_t each)
{
    unsigned at_work = 0;
    for (unsigned i = 0; i < c->board->count; i++)
        at_work += atomic_load(&c->board->posts[i].done) >= each;
    return at_work == c->board->count;
}

clients clients_start(const char *url, const clients_options *options)
{
    hf_error err = {0};
    struct clients_workers *workers = calloc(1, sizeof *workers);
    clients_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    expect_true(workers != NULL && board != MAP_FAILED && options->count <= CLIENTS_MAX);
    snprintf(board->url, sizeof board->url, "%s", url);
    board->count = options->count;
    board->seed = (unsigned)getpid() + (unsigned)monotonic_us();
    board->loses_beats = options->loses_beats;
    board->slow_to_heal = options->slow_to_heal;
    workers->board = board;
    workers->kind = options->kind;
    printf("# %u %s, seed %u\n", board->count,
           options->kind == CLIENTS_PROCESSES ? "processes" : "threads", board->seed);
    if (options->kind != CLIENTS_PROCESSES)
        expect(HF_OK, hf_store_open(url, &workers->shared, &err), err);
    for (unsigned i = 0; i < board->count; i++) {
        workers->of[i] = (struct one){.all = workers, .me = i};
        if (options->kind == CLIENTS_PROCESSES)
            start_process(&workers->of[i]);
        else
            expect_int(pthread_create(&workers->of[i].thread, NULL, thread_main, &workers->of[i]),
                       0);
    }
    clients c = {.board = board, .kind = options->kind, .workers = workers};
    database_clients_wait_until(&c, are_at_work, 1, "begun to work");
    return c;
}

/* ---- the end ---- */

static void add_up(const clients *c, clients_post *sum)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned i = 0; i < c->board->count; i++) {
        clients_post *post = &c->board->posts[i];
        atomic_fetch_add(&sum->done, atomic_load(&post->done));
        atomic_fetch_add(&sum->refused, atomic_load(&post->refused));
        atomic_fetch_add(&sum->busy, atomic_load(&post->busy));
        atomic_fetch_add(&sum->unavailable, atomic_load(&post->unavailable));
        atomic_fetch_add(&sum->unsure, atomic_load(&post->unsure));
        atomic_fetch_add(&sum->done_unheard, atomic_load(&post->done_unheard));
        atomic_fetch_add(&sum->late, atomic_load(&post->late));
        raise_to(&sum->slowest_us, atomic_load(&post->slowest_us));
        raise_to(&sum->healed_us, atomic_load(&post->healed_us));
    }
}

void clients_end(clients *c, clients_post *sum)
{
    struct clients_workers *workers = c->workers;
    clients_post all;
    atomic_store(&c->board->ends, true);
    database_clients_wait_until(c, have_ended, 0, "ended");
    for (unsigned i = 0; i < c->board->count; i++)
        if (c->kind == CLIENTS_PROCESSES)
            waitpid(workers->of[i].process, NULL, 0);
        else
            pthread_join(workers->of[i].thread, NULL);
    hf_store_close(workers->shared);
    add_up(c, &all);
    printf("# %zu done, %zu refused, %zu busy, %zu unavailable, %zu unsure of which %zu had been "
           "done; %zu "
           "failed after the fault; the slowest call took %.2f s, healing %.2f s\n",
           all.done, all.refused, all.busy, all.unavailable, all.unsure, all.done_unheard, all.late,
           (double)all.slowest_us / 1e6, (double)all.healed_us / 1e6);
    if (sum)
        memcpy(sum, &all, sizeof all);
    free(workers);
    munmap(c->board, sizeof *c->board);
}
