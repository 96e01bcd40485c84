/* SPDX-License-Identifier: MIT */
/* events: what happened, oldest first: who, what, when, why. */
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/verbs.h"

#include <stdio.h>

static hf_status print_all(cli_reader *reader, hf_error *err)
{
    reader->as_items = reader->call->json;
    hf_status status = cli_print_events(reader, err);
    cli_list_end(reader->call, status);
    if (!reader->as_items && status == HF_OK && reader->printed == 0)
        puts("There are no such events.");
    return status;
}

static hf_status events_run(cli_call *call, hf_error *err)
{
    cli_reader reader = {.call = call};
    hf_status status = cli_reader_options(&reader, err);
    if (status == HF_OK)
        status = cli_value_number(&call->arguments, "after", 0, &reader.seq, err);
    if (status != HF_OK)
        return status;
    bool follow = cli_has(&call->arguments, "follow");
    if (follow)
        cli_take_signals();
    status = cli_open(call, err);
    if (status != HF_OK)
        return status;
    return follow ? cli_follow(&reader, err) : print_all(&reader, err);
}

static const cli_option options[] = {
    {"after", "SEQ", "only events after this number"},
    {"type", "TYPE", "only events of this type's resources"},
    {"follow", NULL, "wait for new events and print them; with --json one per line"},
    {"interval", "DURATION", "how often to look; default: 1s"},
    {"count", "N", "stop after this many"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_events = {
    .name = "events",
    .summary = "Lists events: who did what, when and why.",
    .about = "Every change except a beat writes an event, in the same transaction.",
    .options = options,
    .run = events_run,
};
