/* SPDX-License-Identifier: MIT */
/* A few children, each with a socket: the parent sends the number of a file, the child answers
 * with the file's facts. A child that dies or takes too long costs one file, and is replaced. */
#include "audit/workers.h"

#include "audit/deploy.h"
#include "audit/source.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WORKERS_SANITIZED 1 /* its shadow memory is larger than any limit */
#endif
#endif

enum { WORKERS_ANSWER_MAX = 60 << 20 };

/* ---- in the child ---- */

static bool workers_write(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool workers_read(int fd, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        ssize_t got = recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static void workers_limit(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef WORKERS_SANITIZED
    struct rlimit memory = {AUDIT_WORKER_MEMORY, AUDIT_WORKER_MEMORY};
    setrlimit(RLIMIT_AS, &memory);
#endif
    /* What a dying parser writes is of no use to anyone. */
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDERR_FILENO);
        dup2(nowhere, STDOUT_FILENO);
    }
}

/* The bound of processor time moves on with each file. */
static void workers_limit_time(void)
{
    struct rusage used;
    struct rlimit time = {0, RLIM_INFINITY};
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        time.rlim_cur =
            (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + AUDIT_WORKER_SECONDS + 1;
        setrlimit(RLIMIT_CPU, &time);
    }
}

typedef struct workers_sink {
    hf_buffer out;
    uint32_t file;
} workers_sink;

static void workers_emit(void *context, const audit_fact *fact)
{
    workers_sink *sink = context;
    audit_fact copy = *fact;
    copy.file = sink->file;
    if (sink->out.size < WORKERS_ANSWER_MAX / 2)
        audit_fact_pack(&sink->out, &copy);
}

static void workers_skip(workers_sink *sink, const char *why)
{
    workers_emit(sink, &(audit_fact){.kind = AUDIT_SKIPPED, .text = {hf_slice_of(why)}});
}

static void workers_file(const audit_file *file, const audit_module *module, workers_sink *sink)
{
    hf_cleanup(hf_freep) char *text = NULL;
    size_t size = 0;
    const char *why = NULL;
    if (!audit_file_read(file, &text, &size, &why)) {
        workers_skip(sink, why);
        return;
    }
    hf_slice source = {text, size};
    if (file->deploys)
        audit_deploy_read(file->path, source, workers_emit, sink);
    if (file->language == AUDIT_TEMPLATE)
        audit_source_template(source, workers_emit, sink);
    else if (file->language == AUDIT_SQL_FILE)
        audit_source_sql(source, workers_emit, sink);
    else if (file->language == AUDIT_PRISMA)
        audit_source_prisma(source, workers_emit, sink);
    else if (file->language == AUDIT_XML)
        audit_source_xml(source, workers_emit, sink);
    else if (file->language < AUDIT_LANGUAGES && audit_source_worth(source) &&
             !module->parse(file->language, source, workers_emit, sink))
        workers_skip(sink, "the parser gave up on it");
}

static void workers_child(int fd, const audit_files *files, const audit_module *module)
{
    uint32_t index;
    workers_limit();
    while (workers_read(fd, &index, sizeof index)) {
        workers_sink sink = {.file = index};
        workers_limit_time();
        workers_file(&files->items[index], module, &sink);
        if (sink.out.failed) {
            hf_buffer_done(&sink.out);
            workers_skip(&sink, "memory ran out while it was read");
        }
        uint32_t length = (uint32_t)sink.out.size;
        if (!workers_write(fd, &length, sizeof length) ||
            !workers_write(fd, sink.out.text, sink.out.size))
            break;
        hf_buffer_done(&sink.out);
    }
    _exit(0);
}

/* ---- in the parent ---- */

typedef struct worker {
    pid_t pid;
    int fd; /* -1: there is none */
    bool busy;
    uint32_t file;
    int64_t since_ms;
} worker;

typedef struct worker_pool {
    audit_files *files;
    const audit_module *module;
    char **answers; /* of each file, packed */
    size_t *sizes;
    worker workers[AUDIT_WORKERS_MAX];
    size_t count;
    uint32_t next;
    size_t done;
} worker_pool;

static int64_t workers_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool workers_start(worker_pool *pool, worker *one)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < pool->count; i++)
            if (pool->workers[i].fd >= 0)
                close(pool->workers[i].fd);
        close(pair[0]);
        workers_child(pair[1], pool->files, pool->module);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return false;
    }
    *one = (worker){.pid = pid, .fd = pair[0]};
    return true;
}

static void workers_end(worker *one)
{
    if (one->fd < 0)
        return;
    kill(one->pid, SIGKILL);
    close(one->fd);
    while (waitpid(one->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    one->fd = -1;
    one->busy = false;
}

/* Files that need no child: those left out already, and sources without the module. */
static bool workers_leave_out(worker_pool *pool, audit_file *file)
{
    if (file->skipped == NULL && file->language < AUDIT_LANGUAGES && pool->module == NULL)
        file->skipped = "holdfast-audit.so, which reads programs, is not installed";
    return file->skipped != NULL || file->language == AUDIT_NO_LANGUAGE;
}

static void workers_lose(worker_pool *pool, worker *one, const char *why)
{
    pool->files->items[one->file].skipped = why;
    pool->done++;
    workers_end(one);
}

static void workers_hand_out(worker_pool *pool, worker *one)
{
    while (pool->next < pool->files->count &&
           workers_leave_out(pool, &pool->files->items[pool->next])) {
        pool->next++;
        pool->done++;
    }
    if (pool->next == pool->files->count)
        return;
    one->file = pool->next++;
    one->since_ms = workers_now_ms();
    one->busy = workers_write(one->fd, &one->file, sizeof one->file);
    if (!one->busy)
        workers_lose(pool, one, "its parser died");
}

static void workers_take(worker_pool *pool, worker *one)
{
    uint32_t length = 0;
    char *bytes = NULL;
    if (workers_read(one->fd, &length, sizeof length) && length <= WORKERS_ANSWER_MAX)
        bytes = hf_alloc(length + 1);
    if (bytes == NULL || !workers_read(one->fd, bytes, length)) {
        hf_free(bytes);
        workers_lose(pool, one, "its parser died");
        return;
    }
    pool->answers[one->file] = bytes;
    pool->sizes[one->file] = length;
    pool->done++;
    one->busy = false;
}

/* Waits for answers and hands out files until all are done. */
static bool workers_turn(worker_pool *pool)
{
    struct pollfd waits[AUDIT_WORKERS_MAX];
    size_t busy = 0;
    for (size_t i = 0; i < pool->count; i++) {
        worker *one = &pool->workers[i];
        if (one->fd < 0 && pool->next < pool->files->count && !workers_start(pool, one))
            return false;
        if (one->fd >= 0 && !one->busy)
            workers_hand_out(pool, one);
        waits[i] = (struct pollfd){.fd = one->busy ? one->fd : -1, .events = POLLIN};
        busy += one->busy;
    }
    if (busy == 0)
        return true;
    poll(waits, pool->count, 200);
    for (size_t i = 0; i < pool->count; i++) {
        worker *one = &pool->workers[i];
        if (one->busy && waits[i].revents != 0)
            workers_take(pool, one);
        else if (one->busy && workers_now_ms() - one->since_ms > AUDIT_WORKER_SECONDS * 1000)
            workers_lose(pool, one, "parsing it took more than 10 seconds");
    }
    return true;
}

/* In the order of the files, whoever read them. */
static hf_status workers_gather(worker_pool *pool, audit_facts *facts, hf_error *err)
{
    for (size_t i = 0; i < pool->files->count; i++) {
        size_t before = facts->count;
        if (pool->answers[i] != NULL &&
            !audit_facts_unpack(facts, pool->answers[i], pool->sizes[i]))
            pool->files->items[i].skipped = "its parser died";
        for (size_t k = before; k < facts->count; k++)
            if (facts->items[k].kind == AUDIT_SKIPPED)
                pool->files->items[i].skipped =
                    hf_arena_text(pool->files->arena, facts->items[k].text[0]);
        hf_free(pool->answers[i]);
        pool->answers[i] = NULL;
    }
    return facts->failed ? hf_fail_memory(err) : HF_OK;
}

hf_status audit_workers_run(audit_files *files, const audit_module *module, audit_facts *facts,
                            void (*progress)(size_t done, size_t of), hf_error *err)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    worker_pool pool = {.files = files, .module = module};
    pool.answers = hf_alloc((files->count + 1) * sizeof *pool.answers);
    pool.sizes = hf_alloc((files->count + 1) * sizeof *pool.sizes);
    hf_status status = pool.answers == NULL || pool.sizes == NULL ? hf_fail_memory(err) : HF_OK;
    pool.count = processors < 1                   ? 1
                 : processors > AUDIT_WORKERS_MAX ? AUDIT_WORKERS_MAX
                                                  : (size_t)processors;
    for (size_t i = 0; i < pool.count; i++)
        pool.workers[i].fd = -1;
    while (status == HF_OK && pool.done < files->count) {
        if (!workers_turn(&pool))
            status = hf_fail(err, HF_UNAVAILABLE, "No process could be started to parse files: %s.",
                             strerror(errno));
        if (progress != NULL)
            progress(pool.done, files->count);
    }
    for (size_t i = 0; i < pool.count; i++)
        workers_end(&pool.workers[i]);
    if (status == HF_OK)
        status = workers_gather(&pool, facts, err);
    for (size_t i = 0; pool.answers != NULL && i < files->count; i++)
        hf_free(pool.answers[i]);
    hf_free(pool.answers);
    hf_free(pool.sizes);
    return status;
}
