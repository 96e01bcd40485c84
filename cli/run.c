/* SPDX-License-Identifier: MIT */
/* run: holds a lease, or an offline lock, while a command runs. A thread takes it, so that signals
 * are heard meanwhile; then this process waits for the command, for signals to pass on, and for the
 * news that what it holds is lost, whichever comes first. If this process is killed, so is the
 * command: the kernel sees to that (PR_SET_PDEATHSIG), for the command itself and not for its
 * children. */
#include "base/error.h"
#include "base/seams.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_GRACE_US INT64_C(10000000)
#define RUN_IDLE_US                                                                                \
    INT64_C(12000000) /* of the session of --lock; a third of it is how soon a loss is heard of */
#define RUN_LOOK_US INT64_C(100000) /* how often --lock --wait tries */

enum { RUN_NOT_FOUND = 127, RUN_NOT_EXECUTABLE = 126, RUN_BY_SIGNAL = 128 };

/* SIGCHLD, and those that are passed on to the command. */
static const int run_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

typedef struct run_job {
    cli_call *call;
    const char *key; /* NULL: --lock */
    char **command;
    int64_t wait_us, hold_us, grace_us, busy_code;
    hf_leases *leases;
    hf_lease lease;
    hf_session *session;
    hf_resource resource;
    int64_t fence;
    sigset_t before;
    int signals; /* signalfd */
    /* Of the thread that takes it, and of the listeners. */
    int bell; /* eventfd: taken or refused; later: lost */
    atomic_bool cancelled, taken, lost;
    hf_status status;
    hf_error *err;
    pthread_mutex_t mutex;
    char why[HF_MESSAGE_SIZE];
} run_job;

/* ---- what is held ---- */

static void run_ring(run_job *job)
{
    ssize_t written = write(job->bell, &(uint64_t){1}, sizeof(uint64_t));
    (void)written; /* it fails only when it rings already */
}

static void run_lose(run_job *job, const char *why)
{
    pthread_mutex_lock(&job->mutex);
    if (!atomic_load(&job->lost))
        snprintf(job->why, sizeof job->why, "%s", why);
    pthread_mutex_unlock(&job->mutex);
    atomic_store(&job->lost, true);
    run_ring(job);
}

static void run_hear_lease(void *context, const hf_lease_notice *notice)
{
    if (notice->event != HF_LEASE_LEAKING)
        run_lose(context, notice->text);
}

static void run_hear_session(void *context, const hf_notice *notice)
{
    run_job *job = context;
    char why[HF_MESSAGE_SIZE];
    if (notice->session != job->session || notice->kind == HF_NOTICE_REQUESTED)
        return;
    snprintf(why, sizeof why, "The lock on %s/%s was lost (%s%s%s).", job->resource.type,
             job->resource.id, notice->why, notice->by[0] != '\0' ? ", by " : "", notice->by);
    run_lose(job, why);
}

static hf_status cli_run_open(run_job *job, hf_error *err)
{
    cli_call *call = job->call;
    char user[HF_TEXT_SIZE], standard[CLI_URL_SIZE];
    if (job->key != NULL) {
        const char *url = NULL;
        hf_status status = cli_store_url(call, standard, &url, err);
        if (status == HF_OK && strncmp(url, "memory:", 7) == 0)
            return hf_fail(err, HF_INVALID,
                           "A lease in memory: works only inside one process; name a shared store "
                           "with --store.");
        hf_leases_options options = {.listener = run_hear_lease, .context = job};
        if (status == HF_OK)
            status = hf_leases_open(url, &options, &job->leases, err);
        explicit_bzero(standard, sizeof standard);
        return status;
    }
    cli_system_user(user);
    hf_status status = cli_open(call, err);
    if (status == HF_OK)
        status = hf_session_open(call->manager,
                                 &(hf_session_options){.user = user, .idle_us = RUN_IDLE_US},
                                 &job->session, err);
    if (status == HF_OK)
        status = hf_manager_listen(call->manager, run_hear_session, job, err);
    return status == HF_OK ? hf_manager_keeper_start(call->manager, err) : status;
}

/* An offline lock never waits, so whoever waits for one looks now and then. */
static hf_status run_take_lock(run_job *job)
{
    hf_acquire_options options = {.ttl_us = job->hold_us == HF_DURATION_MAX_US ? 0 : job->hold_us,
                                  .purpose = cli_value(&job->call->arguments, "purpose")};
    int64_t until_us = job->wait_us == INT64_MAX ? INT64_MAX : hf_seam.boot_us() + job->wait_us;
    for (;;) {
        hf_lock lock;
        hf_status status =
            hf_session_acquire(job->session, &job->resource, &options, &lock, job->err);
        if (status == HF_OK)
            job->fence = lock.fence;
        if ((status != HF_LOCKED && status != HF_BUSY) || hf_seam.boot_us() >= until_us ||
            atomic_load(&job->cancelled))
            return status;
        nanosleep(&(struct timespec){.tv_nsec = RUN_LOOK_US * 1000}, NULL);
    }
}

static hf_status run_take_lease(run_job *job)
{
    hf_status status =
        job->wait_us == INT64_MAX
            ? hf_lease_acquire(job->leases, job->key, job->hold_us, &job->lease, job->err)
            : hf_lease_try_acquire(job->leases, job->key, job->wait_us, job->hold_us, &job->lease,
                                   job->err);
    job->fence = hf_lease_fence(&job->lease);
    return status;
}

static void *run_take(void *context)
{
    run_job *job = context;
    job->status = job->key != NULL ? run_take_lease(job) : run_take_lock(job);
    atomic_store(&job->taken, true);
    run_ring(job);
    return NULL;
}

/* The next signal that is to be acted on; 0: the bell rang, or the time is over. */
static int run_wait(run_job *job, int timeout_ms, bool *from_outside)
{
    struct pollfd two[] = {{.fd = job->signals, .events = POLLIN},
                           {.fd = job->bell, .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t rung;
    poll(two, 2, timeout_ms);
    if (two[1].revents != 0 && read(job->bell, &rung, sizeof rung) < 0)
        return 0;
    if (two[0].revents == 0 || read(job->signals, &info, sizeof info) != sizeof info)
        return 0;
    /* What a terminal sends, the command gets by itself. */
    *from_outside = info.ssi_code <= 0;
    return (int)info.ssi_signo;
}

/* Takes it while listening for signals: one of those cancels the wait, and ends the program. */
static hf_status run_acquire(run_job *job, hf_error *err)
{
    pthread_t thread;
    int by = 0;
    bool outside;
    job->err = err;
    int code = pthread_create(&thread, NULL, run_take, job);
    if (code != 0)
        return hf_fail(err, HF_UNAVAILABLE, "A thread can't be started: %s.", strerror(code));
    while (!atomic_load(&job->taken)) {
        int number = run_wait(job, -1, &outside);
        if (number == 0 || number == SIGCHLD || number == SIGUSR1 || number == SIGUSR2)
            continue;
        by = number;
        atomic_store(&job->cancelled, true);
        while (job->leases != NULL && !atomic_load(&job->taken) &&
               !hf_lease_cancel(job->leases, &job->lease))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    pthread_join(thread, NULL);
    if (by != 0) {
        job->call->exit_code = RUN_BY_SIGNAL + by;
        return hf_fail(err, HF_TIMEOUT, "Interrupted; the command was not run.");
    }
    if (job->status == HF_TIMEOUT || job->status == HF_LOCKED || job->status == HF_BUSY)
        job->call->exit_code = (int)job->busy_code;
    return job->status;
}

/* ---- the command ---- */

/* In the child. What fails is told through the pipe, which closes when the command begins. */
static void run_become(const run_job *job, pid_t parent, int told)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &job->before, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(RUN_BY_SIGNAL + SIGKILL);
    execvp(job->command[0], job->command);
    int why = errno;
    ssize_t written = write(told, &why, sizeof why);
    (void)written;
    _exit(RUN_NOT_FOUND);
}

static hf_status run_start(run_job *job, pid_t *out, hf_error *err)
{
    int told[2], why = 0;
    char fence[24];
    pid_t parent = getpid();
    snprintf(fence, sizeof fence, "%lld", (long long)job->fence);
    if (job->session != NULL) {
        char login[CLI_SESSION_SIZE];
        const hf_credentials *own = hf_session_credentials(job->session);
        snprintf(login, sizeof login, "%s.%s", own->id, own->key);
        int failed = setenv("HOLDFAST_SESSION", login, 1);
        explicit_bzero(login, sizeof login);
        if (failed)
            return hf_fail_memory(err);
    }
    if (job->fence != 0 ? setenv("HOLDFAST_FENCE", fence, 1) : unsetenv("HOLDFAST_FENCE"))
        return hf_fail_memory(err);
    if (pipe2(told, O_CLOEXEC) != 0)
        return hf_fail(err, HF_UNAVAILABLE, "The command can't be started: %m.");
    fflush(NULL);
    *out = fork();
    if (*out == 0)
        run_become(job, parent, told[1]);
    close(told[1]);
    ssize_t got = *out < 0 ? 0 : read(told[0], &why, sizeof why);
    close(told[0]);
    if (*out < 0)
        return hf_fail(err, HF_UNAVAILABLE, "The command can't be started: %m.");
    if (got != sizeof why)
        return HF_OK;
    waitpid(*out, NULL, 0);
    job->call->exit_code = why == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
    return hf_fail(err, HF_INVALID, "The command '%.200s' can't be run: %s.", job->command[0],
                   strerror(why));
}

/* Until it has ended. What is lost meanwhile ends it: TERM, and after the grace KILL. */
static int run_attend(run_job *job, pid_t pid)
{
    int code = 0;
    int64_t kill_us = INT64_MAX;
    while (waitpid(pid, &code, WNOHANG) == 0) {
        bool outside = false;
        int64_t now_us = hf_seam.boot_us();
        if (atomic_load(&job->lost) && kill_us == INT64_MAX) {
            kill(pid, SIGTERM);
            kill(pid, SIGCONT);
            kill_us = now_us + job->grace_us;
        }
        if (now_us >= kill_us) {
            kill(pid, SIGKILL);
            waitpid(pid, &code, 0);
            break;
        }
        int timeout_ms = kill_us == INT64_MAX ? -1 : (int)((kill_us - now_us) / 1000 + 1);
        int number = run_wait(job, timeout_ms, &outside);
        if (number != 0 && number != SIGCHLD && outside)
            kill(pid, number);
    }
    return WIFSIGNALED(code) ? RUN_BY_SIGNAL + WTERMSIG(code) : WEXITSTATUS(code);
}

/* ---- the whole ---- */

static hf_status run_listen(run_job *job, hf_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof run_signals / sizeof *run_signals; i++)
        sigaddset(&set, run_signals[i]);
    sigprocmask(SIG_BLOCK, &set, &job->before);
    job->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    job->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return job->signals >= 0 && job->bell >= 0
               ? HF_OK
               : hf_fail(err, HF_UNAVAILABLE, "No file descriptor is left: %m.");
}

static void run_give_back(run_job *job)
{
    hf_lease_close(&job->lease);
    hf_leases_close(job->leases);
    if (job->session != NULL) {
        hf_manager_keeper_stop(job->call->manager);
        hf_status status = hf_session_close(job->session, NULL);
        (void)status; /* it dies at its bound */
        hf_session_free(job->session);
    }
    if (job->bell > 0)
        close(job->bell);
    if (job->signals > 0)
        close(job->signals);
}

static hf_status run_carry_out(run_job *job, hf_error *err)
{
    pid_t pid = 0;
    hf_status status = run_listen(job, err);
    if (status == HF_OK)
        status = cli_run_open(job, err);
    if (status == HF_OK)
        status = run_acquire(job, err);
    if (status == HF_OK)
        status = run_start(job, &pid, err);
    if (status == HF_OK)
        job->call->exit_code = run_attend(job, pid);
    if (status == HF_OK && atomic_load(&job->lost)) {
        job->call->exit_code = 0;
        status = hf_fail(err, HF_NOT_HELD, "%s The command was ended.", job->why);
    }
    run_give_back(job);
    return status;
}

static hf_status run_wait_option(const cli_arguments *arguments, int64_t *out, hf_error *err)
{
    const char *text = cli_value(arguments, "wait");
    if (text != NULL && strcmp(text, "forever") == 0) {
        *out = INT64_MAX;
        return HF_OK;
    }
    return cli_value_duration(arguments, "wait", out, err);
}

static hf_status run_read(run_job *job, hf_error *err)
{
    const cli_arguments *arguments = &job->call->arguments;
    const char *resource = cli_value(arguments, "lock");
    hf_status status = resource == NULL ? HF_OK : hf_resource_parse(resource, &job->resource, err);
    job->key = resource == NULL ? arguments->operands[0] : NULL;
    job->command = arguments->operands + (resource == NULL);
    arguments->operands[arguments->operands_count] = NULL; /* argv has room for it */
    if (status == HF_OK && arguments->operands_count < 1 + (resource == NULL))
        return hf_fail(err, HF_INVALID,
                       "The command is missing: write 'holdfast run KEY -- COMMAND'.");
    if (status == HF_OK && resource == NULL && cli_has(arguments, "purpose"))
        return hf_fail(err, HF_INVALID, "--purpose goes with --lock; a lease has none.");
    if (status == HF_OK)
        status = run_wait_option(arguments, &job->wait_us, err);
    if (status == HF_OK)
        status = cli_value_duration(arguments, "hold", &job->hold_us, err);
    if (status == HF_OK)
        status = cli_value_duration(arguments, "grace", &job->grace_us, err);
    if (status == HF_OK)
        status = cli_value_number(arguments, "busy-code", 1, &job->busy_code, err);
    if (status == HF_OK && job->busy_code > 255)
        return hf_fail(err, HF_INVALID, "--busy-code is 1 to 255.");
    return status;
}

static hf_status run_run(cli_call *call, hf_error *err)
{
    run_job job = {.call = call,
                   .hold_us = HF_DURATION_MAX_US,
                   .grace_us = RUN_GRACE_US,
                   .busy_code = hf_status_exit(HF_TIMEOUT)};
    pthread_mutex_init(&job.mutex, NULL);
    hf_status status = run_read(&job, err);
    if (status == HF_OK)
        status = run_carry_out(&job, err);
    pthread_mutex_destroy(&job.mutex);
    return status;
}

static const cli_option run_options[] = {
    {"wait", "DURATION", "wait this long, or 'forever'; default: do not wait"},
    {"hold", "DURATION", "hold it at most this long, then end the command; default: a year"},
    {"lock", "RESOURCE",
     "hold a lock on this resource instead of a lease; its session beats meanwhile"},
    {"purpose", "TEXT", "with --lock: what the lock is for; shown to people who are refused"},
    {"busy-code", "N", "exit with N instead of 3 if someone else holds it"},
    {"grace", "DURATION", "the time between TERM and KILL after a loss; default: 10s"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_run = {
    .name = "run",
    .operands = "KEY -- COMMAND...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .summary =
        "Runs COMMAND while holding a lease on KEY: one at a time, on all machines of the store.",
    .about = "Exits with the command's code (128 plus the signal that ended it), 3 if someone else "
             "holds the key, 8 if the lease was lost; the command is then ended. Signals are "
             "passed on. HOLDFAST_FENCE in the command's environment is a number that grows with "
             "every grant; with --lock HOLDFAST_SESSION is the session, so "
             "that the command can check the lock and save. If 'run' is killed, the command is "
             "killed too, but not processes that it started.",
    .options = run_options,
    .run = run_run,
};
