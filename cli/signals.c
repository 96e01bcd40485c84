/* SPDX-License-Identifier: MIT */
/* A handler may come at any moment, so it does nothing but write a constant and leave, or note that
 * it came. While the program waits, the signals are blocked and waited for together with the time.
 * */
#include "cli/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US INT64_C(1000000)

enum { PATIENCE_SECONDS = 1 }; /* of a signal that finds a line half printed */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* What the handler looks at. */
static volatile sig_atomic_t printing, ending;
static _Atomic(const char *) last_words;

/* Not those that the program was started without, by nohup or in the background of a script. */
static sigset_t ending_set(void)
{
    sigset_t set;
    struct sigaction now;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, ends[i]);
    return set;
}

static sigset_t signals_awaited(void)
{
    sigset_t set = ending_set();
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGWINCH);
    return set;
}

/* A terminal that takes nothing is not waited for. */
static void signals_leave(void)
{
    const char *text = last_words;
    if (text != NULL) {
        int flags = fcntl(STDOUT_FILENO, F_GETFL);
        fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
        ssize_t written = write(STDOUT_FILENO, text, strlen(text));
        (void)written;
        fcntl(STDOUT_FILENO, F_SETFL, flags);
    }
    _exit(0);
}

/* The second signal, and the alarm, find that the first had no patience left. */
static void signals_on_signal(int signal)
{
    (void)signal;
    if (!printing || ending)
        signals_leave();
    ending = 1;
    alarm(PATIENCE_SECONDS);
}

void cli_take_signals(void)
{
    sigset_t set = signals_awaited();
    struct sigaction action = {
        .sa_handler = signals_on_signal, .sa_mask = set, .sa_flags = SA_RESTART};
    sigaddset(&action.sa_mask, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigismember(&set, ends[i]) == 1)
            sigaction(ends[i], &action, NULL);
    cli_asking();
}

static void signals_let_in(bool whole_lines)
{
    sigset_t set = ending_set();
    printing = whole_lines;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void cli_asking(void)
{
    signals_let_in(false);
}

void cli_printing(void)
{
    signals_let_in(true);
}

bool cli_is_ending(void)
{
    return ending != 0;
}

void cli_last_words(const char *text)
{
    last_words = text;
}

int cli_wait(int64_t us)
{
    sigset_t set = signals_awaited();
    struct timespec time = {.tv_sec = us / SECOND_US, .tv_nsec = us % SECOND_US * 1000};
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signal = sigtimedwait(&set, NULL, &time);
    return signal > 0 ? signal : 0;
}

bool cli_signal_ends(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}
