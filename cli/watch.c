/* SPDX-License-Identifier: MIT */
/* watch: on a terminal a live table of the locks that redraws; elsewhere, and with --json, a line
 * for every event as it comes. */
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <unistd.h>

enum { LINES_AROUND = 4 }; /* heading, blank, titles, last line */

static size_t rows_wanted(cli_screen screen)
{
    size_t rows = screen.rows > LINES_AROUND + 1 ? screen.rows - LINES_AROUND : 1;
    return rows < HF_LIST_MAX ? rows : HF_LIST_MAX;
}

static hf_status watch_draw_locks(const hf_answer *answer, size_t columns, hf_error *err)
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

static hf_status watch_look(void *context, cli_screen screen, hf_error *err)
{
    cli_call *call = context;
    hf_list_options filter = {.type = cli_value(&call->arguments, "type"),
                              .limit = rows_wanted(screen)};
    hf_result_free(call->result);
    call->result = NULL;
    return hf_manager_list(call->manager, &filter, &call->result, err);
}

static hf_status watch_draw(void *context, cli_screen screen, hf_error *err)
{
    const cli_call *call = context;
    const hf_answer *answer = hf_result_answer(call->result);
    char now[CLI_TIME_SIZE];
    cli_time_format(answer->now_us, answer->now_us, now);
    cli_print("%zu%s lock%s at %s in %s\n", answer->locks_count, answer->more ? " of more" : "",
              answer->locks_count == 1 ? "" : "s", now, call->store);
    putchar('\n');
    return watch_draw_locks(answer, screen.columns, err);
}

static hf_status watch_run(cli_call *call, hf_error *err)
{
    cli_reader reader = {.call = call};
    hf_status status = cli_reader_options(&reader, err);
    if (status != HF_OK)
        return status;
    cli_take_signals();
    status = cli_open(call, err);
    if (status == HF_OK && !call->json && isatty(STDOUT_FILENO))
        return cli_look_on(
            &(cli_view){watch_look, watch_draw, call, reader.interval_us, reader.max}, true, err);
    if (status == HF_OK)
        status = cli_events_end(call->manager, &reader.seq, err);
    if (status == HF_OK && isatty(STDERR_FILENO))
        cli_say("Waiting for changes in %s; interrupt to end.", call->store);
    return status == HF_OK ? cli_follow(&reader, err) : status;
}

static const cli_option options[] = {
    {"type", "TYPE", "only locks, or events, of this type"},
    {"interval", "DURATION", "how often to look; default: 1s"},
    {"count", "N", "stop after this many"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_watch = {
    .name = "watch",
    .summary = "Shows changes of locks live, until it is interrupted.",
    .about =
        "On a terminal a table that redraws; otherwise a line for every event as it comes, in JSON "
        "with --json.",
    .options = options,
    .run = watch_run,
};
