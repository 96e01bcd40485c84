/* SPDX-License-Identifier: MIT */
/* The screen: what was seen is known before anything is cleared, so nothing flickers. */
#include "cli/screen.h"

#include "cli/output.h"
#include "cli/signals.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What a terminal is told. */
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define TO_HOME     "\033[H"
#define CLEAR_BELOW "\033[J"
#define NO_WRAP     "\033[?7l"
#define WRAP        "\033[?7h"

static cli_screen screen_measure(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return (cli_screen){24, 80};
    return (cli_screen){size.ws_row, size.ws_col};
}

static hf_status look_once(const cli_view *view, bool redraw, hf_error *err)
{
    cli_screen screen = redraw ? screen_measure() : (cli_screen){0, 0};
    cli_asking();
    hf_status status = view->look(view->context, screen, err);
    if (!redraw)
        cli_printing();
    if (status == HF_BUSY || status == HF_RETRY)
        return HF_OK;
    if (status != HF_OK)
        return status;
    if (redraw)
        fputs(TO_HOME CLEAR_BELOW NO_WRAP, stdout);
    status = view->draw(view->context, screen, err);
    if (redraw)
        fputs(WRAP, stdout);
    return status;
}

static void set_cursor(bool redraw, const char *how)
{
    if (redraw)
        fputs(how, stdout);
}

/* Stopping gives the terminal back as it was and takes it again afterwards. */
static void screen_stop(bool redraw)
{
    set_cursor(redraw, SHOW_CURSOR);
    fflush(stdout);
    raise(SIGSTOP);
    set_cursor(redraw, HIDE_CURSOR);
}

hf_status cli_look_on(const cli_view *view, bool redraw, hf_error *err)
{
    hf_status status = HF_OK;
    int signal = 0;
    if (redraw)
        cli_last_words(WRAP SHOW_CURSOR);
    set_cursor(redraw, HIDE_CURSOR);
    for (int64_t looks = 1; status == HF_OK && !cli_signal_ends(signal) && !cli_is_ending();
         looks++) {
        status = look_once(view, redraw, err);
        if (!cli_flush() || (view->count > 0 && looks >= view->count))
            break;
        if (status == HF_OK && !cli_is_ending())
            signal = cli_wait(view->interval_us);
        if (signal == SIGTSTP)
            screen_stop(redraw);
    }
    set_cursor(redraw, SHOW_CURSOR);
    fflush(stdout);
    return status;
}
