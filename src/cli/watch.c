/* SPDX-License-Identifier: MIT */
/* watch: on a terminal a live table of the locks that redraws; elsewhere, and with --json, a line for every event as it
 * comes. */
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/verbs.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What a terminal is told. Every line is cleared to its end as it is written over, so nothing flickers. */
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define TO_HOME     "\033[H"
#define CLEAR_BELOW "\033[J"
#define NO_WRAP     "\033[?7l"
#define WRAP        "\033[?7h"

enum { LINES_AROUND = 4 }; /* heading, blank, titles, last line */

typedef struct screen_size {
    size_t rows;
    size_t columns;
} screen_size;

static screen_size measure(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return (screen_size){24, 80};
    return (screen_size){size.ws_row, size.ws_col};
}

static size_t rows_wanted(screen_size screen)
{
    size_t rows = screen.rows > LINES_AROUND + 1 ? screen.rows - LINES_AROUND : 1;
    return rows < HF_LIST_MAX ? rows : HF_LIST_MAX;
}

static hf_status draw_locks(const hf_answer *answer, size_t columns, hf_error *err)
{
    cli_table table;
    cli_lock_table(&table);
    hf_status status = cli_add_locks(&table, answer, err);
    if (status == HF_OK && answer->locks_count > 0)
        cli_table_print(&table, columns);
    else if (status == HF_OK)
        puts("No locks are held.");
    cli_table_done(&table);
    return status;
}

static hf_status draw(cli_call *call, hf_error *err)
{
    screen_size screen = measure();
    char now[CLI_TIME_SIZE];
    hf_result *result = NULL;
    hf_list_options filter = {.type = cli_value(&call->arguments, "type"), .limit = rows_wanted(screen)};
    hf_status status = hf_manager_list(call->manager, &filter, &result, err);
    if (status != HF_OK)
        return status;
    const hf_answer *answer = hf_result_answer(result);
    cli_time_format(answer->now_us, answer->now_us, now);
    fputs(TO_HOME CLEAR_BELOW NO_WRAP, stdout);
    printf("%zu%s lock%s at %s in %s\n\n", answer->locks_count, answer->more ? " of more" : "",
           answer->locks_count == 1 ? "" : "s", now, call->store);
    status = draw_locks(answer, screen.columns, err);
    fputs(WRAP, stdout);
    hf_result_free(result);
    return status;
}

/* Stopping gives the terminal back as it was and takes it again afterwards. */
static void stop(void)
{
    fputs(SHOW_CURSOR, stdout);
    fflush(stdout);
    raise(SIGSTOP);
    fputs(HIDE_CURSOR, stdout);
}

static hf_status redraw(cli_call *call, int64_t interval_us, int64_t count, hf_error *err)
{
    hf_status status = HF_OK;
    int signal = 0;
    cli_hold_signals();
    fputs(HIDE_CURSOR, stdout);
    for (int64_t drawn = 1; status == HF_OK && !cli_signal_ends(signal); drawn++) {
        status = draw(call, err);
        if (status == HF_BUSY || status == HF_RETRY)
            status = HF_OK;
        if (!cli_flush() || (count > 0 && drawn >= count))
            break;
        signal = cli_wait(interval_us);
        if (signal == SIGTSTP)
            stop();
    }
    fputs(SHOW_CURSOR, stdout);
    fflush(stdout);
    return status;
}

static hf_status run(cli_call *call, hf_error *err)
{
    cli_reader reader = {.call = call};
    hf_status status = cli_reader_options(&reader, err);
    if (status == HF_OK)
        status = cli_open(call, err);
    if (status == HF_OK && !call->json && isatty(STDOUT_FILENO))
        return redraw(call, reader.interval_us, reader.max, err);
    if (status == HF_OK)
        status = cli_events_end(call->manager, &reader.seq, err);
    return status == HF_OK ? cli_follow(&reader, err) : status;
}

static const cli_option options[] = {
    {"type", "TYPE", "only locks, or events, of this type"},
    {"interval", "DURATION", "how often to look; else 1s"},
    {"count", "N", "stop after that many"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_watch = {
    .name = "watch",
    .summary = "Shows the locks as they come and go, until it is interrupted.",
    .about = "On a terminal a table that redraws; otherwise a line for every event as it comes, in JSON "
             "with --json.",
    .options = options,
    .run = run,
};
