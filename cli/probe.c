/* SPDX-License-Identifier: MIT */
/* probe: attacks a database's tables and tells what got through (docs/guards.md). */
#include "guard/probe.h"

#include "base/error.h"
#include "base/json.h"
#include "base/seams.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <string.h>

static const char *const probe_outcomes[] = {"refused", "through", "not_tried"};

static size_t probe_tally(const probe_result *all, size_t count, probe_outcome outcome)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += all[i].outcome == outcome;
    return found;
}

static hf_status probe_print_json(const probe_result *all, size_t count, hf_error *err)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "attacks");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < count; i++) {
        hf_json_begin(&json, '{');
        hf_json_put_text(&json, "table", all[i].table);
        hf_json_put_bool(&json, "guarded", all[i].guarded);
        hf_json_put_text(&json, "shape", all[i].shape);
        hf_json_put_text(&json, "what", all[i].what);
        hf_json_put_text(&json, "outcome", probe_outcomes[all[i].outcome]);
        hf_json_put_text(&json, "why", all[i].why);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    for (int outcome = 0; outcome < 3; outcome++) {
        hf_json_name(&json, probe_outcomes[outcome]);
        hf_json_int(&json, (int64_t)probe_tally(all, count, (probe_outcome)outcome));
    }
    hf_json_end(&json, '}');
    return cli_print_json(hf_buffer_take(&json.out), err);
}

/* The results of one table stand together. */
static void probe_print_table(const probe_result *all, size_t count)
{
    size_t through = probe_tally(all, count, PROBE_THROUGH);
    cli_print("%s (%s%s): %zu of %zu attacks refused\n", all->table,
              all->guarded ? "guarded, mode " : "not guarded", all->mode,
              probe_tally(all, count, PROBE_REFUSED), count);
    for (size_t i = 0; i < count; i++)
        if (all[i].outcome == PROBE_THROUGH)
            cli_print("  GOT THROUGH  %s%s%s\n", all[i].what, all[i].why[0] == '\0' ? "" : ": ",
                      all[i].why);
    for (size_t i = 0; i < count; i++)
        if (all[i].outcome == PROBE_NOT_TRIED)
            cli_print("  not tried    %s: %s\n", all[i].what, all[i].why);
    if (through == 0 && probe_tally(all, count, PROBE_NOT_TRIED) == 0)
        cli_print("  nothing got through\n");
}

static hf_status probe_verb_run(cli_call *call, hf_error *err)
{
    probe_result *all = NULL;
    size_t count = 0;
    const cli_arguments *arguments = &call->arguments;
    if (cli_has(arguments, "store") || cli_has(arguments, "token-file"))
        return hf_fail(
            err, HF_INVALID,
            "'probe' takes the database's URL as its operand; leave --store and --token-file out.");
    hf_status status = probe_run(arguments->operands[0], arguments->operands + 1,
                                 (size_t)arguments->operands_count - 1, &all, &count, err);
    if (status == HF_OK && call->json)
        status = probe_print_json(all, count, err);
    else if (status == HF_OK && count == 0)
        cli_print("There is no table to attack.\n");
    else if (status == HF_OK)
        for (size_t from = 0, to; from < count; from = to) {
            for (to = from + 1; to < count && strcmp(all[to].table, all[from].table) == 0;)
                to++;
            probe_print_table(all + from, to - from);
        }
    if (status == HF_OK && probe_tally(all, count, PROBE_THROUGH) > 0)
        call->exit_code = CLI_EXIT_FINDINGS;
    hf_free(all);
    return status;
}

const cli_verb cli_probe = {
    .name = "probe",
    .operands = "URL [TABLE...]",
    .operands_min = 1,
    .operands_max = 1000,
    .summary = "Attacks tables as a careless program would, and reports what got through.",
    .about = "Without TABLE it attacks the guarded tables, or all if none is guarded. Everything "
             "is rolled back, with short timeouts; what would commit by itself is judged from the "
             "catalog. Exit code 9: something got through.",
    .run = probe_verb_run,
};
