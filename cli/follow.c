/* SPDX-License-Identifier: MIT */
/* Following events. What a page has printed is flushed before the next is asked for: a signal may
 * end the program there. */
#include "cli/follow.h"

#include "cli/output.h"
#include "cli/signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)

hf_status cli_reader_options(cli_reader *reader, hf_error *err)
{
    const cli_arguments *arguments = &reader->call->arguments;
    reader->interval_us = SECOND_US;
    hf_status status = cli_value_type(arguments, &reader->type, err);
    if (status == HF_OK)
        status = cli_value_duration(arguments, "interval", &reader->interval_us, err);
    return status == HF_OK ? cli_value_number(arguments, "count", 1, &reader->max, err) : status;
}

hf_status cli_events_end(hf_manager *manager, int64_t *out_seq, hf_error *err)
{
    hf_result *result = NULL;
    hf_status status = hf_manager_events(manager, INT64_MAX - 1, 1, &result, err);
    if (status == HF_OK)
        *out_seq = hf_result_answer(result)->last_seq;
    hf_result_free(result);
    return status;
}

static bool follow_is_done(const cli_reader *reader)
{
    return cli_is_ending() || (reader->max > 0 && reader->printed >= reader->max);
}

static hf_status print_event(cli_reader *reader, const hf_event *event, int64_t now_us,
                             hf_error *err)
{
    size_t index = (size_t)reader->printed++;
    if (reader->as_items)
        return cli_json_item(index, hf_event_json(event), err);
    if (reader->call->json)
        return cli_print_json(hf_event_json(event), err);
    cli_print_event(event, now_us);
    return HF_OK;
}

/* A reader who was further than the store is goes on from where that is. The last number there can
 * be is nobody's: it asks for nothing. */
static void go_back(cli_reader *reader, int64_t last_seq)
{
    if (reader->seq <= last_seq || reader->seq == INT64_MAX)
        return;
    cli_say("There is no event %" PRId64 ", the newest is %" PRId64
            ": the numbers are lower than before. The store was created again or restored.",
            reader->seq, last_seq);
    reader->seq = last_seq;
    reader->told = 0;
}

static hf_status follow_print_page(cli_reader *reader, const hf_answer *answer, hf_error *err)
{
    hf_status status = HF_OK;
    if (reader->as_items && !reader->call->in_list)
        cli_list_begin(reader->call, "events");
    if (reader->seq > 0 && answer->first_seq - 1 > reader->seq &&
        answer->first_seq > reader->told) {
        cli_say("Events before number %" PRId64 " are no longer kept.", answer->first_seq);
        reader->told = answer->first_seq;
    }
    go_back(reader, answer->last_seq);
    for (size_t i = 0; i < answer->events_count && status == HF_OK && !follow_is_done(reader);
         i++) {
        const hf_event *event = &answer->events[i];
        if (reader->type == NULL || strcmp(reader->type, event->resource.type) == 0)
            status = print_event(reader, event, answer->now_us, err);
        reader->seq = event->seq;
    }
    return status;
}

hf_status cli_print_events(cli_reader *reader, hf_error *err)
{
    hf_status status = HF_OK;
    bool more = true;
    while (status == HF_OK && more && !follow_is_done(reader)) {
        hf_result *result = NULL;
        cli_asking();
        status = hf_manager_events(reader->call->manager, reader->seq, HF_LIST_MAX, &result, err);
        cli_printing();
        if (status == HF_OK) {
            more = hf_result_answer(result)->events_count > 0;
            status = follow_print_page(reader, hf_result_answer(result), err);
        }
        hf_result_free(result);
        more = more && cli_flush();
    }
    return status;
}

hf_status cli_follow(cli_reader *reader, hf_error *err)
{
    int signal = 0;
    while (!cli_signal_ends(signal) && cli_flush()) {
        hf_status status = cli_print_events(reader, err);
        if (status != HF_OK && status != HF_BUSY && status != HF_RETRY)
            return status;
        if (follow_is_done(reader))
            return HF_OK;
        signal = cli_wait(reader->interval_us);
        if (signal == SIGTSTP)
            raise(SIGSTOP);
    }
    return HF_OK;
}
