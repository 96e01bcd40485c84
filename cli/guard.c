/* SPDX-License-Identifier: MIT */
/* guard add, show, mode, report, remove: what a database itself refuses (docs/guards.md). */
#include "guard/guard.h"

#include "base/error.h"
#include "base/json.h"
#include "base/seams.h"
#include "base/time.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>

/* The URL is an operand here, and it is a database's. */
static hf_status guard_check_call(const cli_call *call, hf_error *err)
{
    if (cli_has(&call->arguments, "store") || cli_has(&call->arguments, "token-file"))
        return hf_fail(
            err, HF_INVALID,
            "'%s' takes the database's URL as its operand; leave --store and --token-file out.",
            call->arguments.verb->name);
    if (call->json && cli_option_find(call->arguments.verb, "print", 5) != NULL &&
        cli_has(&call->arguments, "print"))
        return hf_fail(err, HF_INVALID, "--print writes SQL; leave --json out.");
    return HF_OK;
}

static hf_status guard_take_name(const cli_call *call, const char *option, char *out, size_t size,
                                 hf_error *err)
{
    const char *value = cli_value(&call->arguments, option);
    if (value != NULL && (value[0] == '\0' || strlen(value) >= size))
        return hf_fail(err, HF_INVALID, "--%s has 1 to %zu bytes.", option, size - 1);
    if (value != NULL)
        snprintf(out, size, "%s", value);
    return HF_OK;
}

static hf_status guard_print_sql(hf_buffer *sql, hf_error *err)
{
    if (sql->failed)
        return hf_fail_memory(err);
    fputs(sql->text == NULL ? "" : sql->text, stdout);
    return HF_OK;
}

/* ---- add ---- */

static hf_status guard_read_add(const cli_call *call, guard *out, bool *step, hf_error *err)
{
    const char *check = cli_value(&call->arguments, "check"),
               *mode = cli_value(&call->arguments, "mode");
    const char *table = call->arguments.operands[1];
    if (strlen(table) >= sizeof out->table)
        return hf_fail(err, HF_INVALID, "The table's name is too long.");
    snprintf(out->table, sizeof out->table, "%s", table);
    *step = check != NULL && strcmp(check, "step") == 0;
    out->reads = cli_has(&call->arguments, "reads");
    if (check != NULL && !*step && strcmp(check, "carry") != 0)
        return hf_fail(err, HF_INVALID, "--check is carry (the default) or step.");
    if (mode != NULL && strcmp(mode, "off") != 0 && strcmp(mode, "log") != 0 &&
        strcmp(mode, "fail") != 0)
        return hf_fail(err, HF_INVALID, "--mode is off, log or fail (the default).");
    if (mode != NULL)
        snprintf(out->mode, sizeof out->mode, "%s", mode);
    hf_status status = guard_take_name(call, "type", out->type, sizeof out->type, err);
    if (status == HF_OK)
        status = guard_take_name(call, "policy", out->policy, sizeof out->policy, err);
    if (status == HF_OK)
        status = guard_take_name(call, "version", out->version, sizeof out->version, err);
    if (status == HF_OK)
        status = guard_take_name(call, "parent", out->parent, sizeof out->parent, err);
    return status != HF_OK ? status
                           : guard_take_name(call, "link", out->link, sizeof out->link, err);
}

static const char *guard_carried(guard_check check)
{
    switch (check) {
    case GUARD_VERSION:
        return "the version that was read (SET ..., holdfast = VERSION)";
    case GUARD_LOCK:
        return "the fence of its lock (SET ..., holdfast = FENCE)";
    case GUARD_SAVE:
        return "the fence of its save (SET ..., holdfast = FENCE)";
    default:
        return "nothing, but increments the version";
    }
}

static void guard_put_json(hf_json *json, const guard *it)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "table", it->table);
    hf_json_put_text(json, "type", it->type);
    hf_json_put_text(json, "policy", it->policy);
    hf_json_put_text(json, "check", guard_check_names[it->check]);
    hf_json_put_text(json, "version", it->version[0] == '\0' ? NULL : it->version);
    hf_json_put_text(json, "parent", it->parent[0] == '\0' ? NULL : it->parent);
    hf_json_put_text(json, "link", it->link[0] == '\0' ? NULL : it->link);
    hf_json_put_text(json, "mode", it->mode);
    hf_json_put_bool(json, "reads", it->reads);
    hf_json_put_time(json, "suppressed_until", it->suppressed_us);
}

static hf_status guard_run_add(cli_call *call, hf_error *err)
{
    guard it = {0};
    bool step = false, print = cli_has(&call->arguments, "print");
    hf_buffer sql = {0};
    hf_status status = guard_check_call(call, err);
    if (status == HF_OK)
        status = guard_read_add(call, &it, &step, err);
    if (status == HF_OK)
        status = guard_add(call->arguments.operands[0], &it, step, print ? &sql : NULL, err);
    if (status == HF_OK && print)
        status = guard_print_sql(&sql, err);
    else if (status == HF_OK && call->json) {
        hf_json json = {0};
        guard_put_json(&json, &it);
        hf_json_end(&json, '}');
        status = cli_print_json(hf_buffer_take(&json.out), err);
    } else if (status == HF_OK)
        cli_print("Guarded %s as %s/... (mode %s). A statement that changes a row carries %s.\n",
                  it.table, it.type, it.mode, guard_carried(it.check));
    hf_buffer_done(&sql);
    return status;
}

/* ---- show ---- */

static const char *guard_state(const guard *it)
{
    if (it->triggers < it->triggers_wanted && (it->check != GUARD_STEP || it->triggers == 0))
        return "triggers missing or disabled";
    return it->outdated ? "of another version: run 'holdfast install'" : "in place";
}

static void guard_mode_text(const guard *it, char out[64])
{
    char until[CLI_TIME_SIZE];
    int64_t now_us = hf_seam.wall_us();
    cli_time_format(it->suppressed_us, now_us, until);
    if (strcmp(it->mode, "fail") == 0 && it->suppressed_us > now_us)
        snprintf(out, 64, "fail, log until %s", until);
    else
        snprintf(out, 64, "%s", it->mode);
}

static hf_status guard_show_json(const guard *all, size_t count, hf_error *err)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "guards");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < count; i++) {
        guard_put_json(&json, &all[i]);
        hf_json_put_bool(&json, "in_place", strcmp(guard_state(&all[i]), "in place") == 0);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    return cli_print_json(hf_buffer_take(&json.out), err);
}

static hf_status guard_show_table(const guard *all, size_t count, hf_error *err)
{
    static const char *const titles[] = {"TABLE",     "RESOURCE", "POLICY",  "CARRIES",
                                         "MEMBER OF", "MODE",     "TRIGGERS"};
    cli_table table;
    bool fits = true;
    cli_table_init(&table, titles, 7);
    for (size_t i = 0; i < count; i++) {
        char mode[64], type[GUARD_NAME_SIZE + 8];
        const guard *it = &all[i];
        snprintf(type, sizeof type, "%s/...", it->type);
        guard_mode_text(it, mode);
        const char *const cells[] = {it->table,
                                     type,
                                     it->policy,
                                     it->check == GUARD_VERSION ? "version"
                                     : it->check == GUARD_STEP  ? "nothing (step)"
                                     : it->reads                ? "fence of a lock, also to read"
                                     : it->check == GUARD_LOCK  ? "fence of a lock"
                                                                : "fence of a save",
                                     it->parent[0] == '\0' ? "-" : it->parent,
                                     mode,
                                     guard_state(it)};
        fits = fits && cli_table_add(&table, cells);
    }
    if (fits)
        cli_table_print(&table, 0);
    cli_table_done(&table);
    return fits ? HF_OK : hf_fail_memory(err);
}

static hf_status guard_run_show(cli_call *call, hf_error *err)
{
    guard *all = NULL;
    size_t count = 0;
    const char *url = call->arguments.operands[0];
    hf_status status = guard_check_call(call, err);
    if (status == HF_OK)
        status = guard_list(url, &all, &count, err);
    if (status == HF_OK && call->json)
        status = guard_show_json(all, count, err);
    else if (status == HF_OK && count == 0)
        cli_print("No table is guarded.\n");
    else if (status == HF_OK && (status = guard_show_table(all, count, err)) == HF_OK) {
        for (size_t i = 0; i < count; i++)
            if (all[i].check == GUARD_STEP)
                cli_print("%s: '--check step' does not stop statements that increment the version "
                          "without having read it, nor any DELETE.\n",
                          all[i].table);
        cli_print("Not stopped: %s.\n",
                  strncmp(url, "sqlite:", 7) == 0
                      ? "DDL, disabled triggers, blob writes (sqlite3_blob_write)"
                      : "DDL by the owner or an administrator, triggers that they drop or disable");
    }
    hf_free(all);
    return status;
}

/* ---- mode ---- */

static hf_status guard_run_mode(cli_call *call, hf_error *err)
{
    char **operands = call->arguments.operands;
    const char *mode = operands[2], *until = cli_value(&call->arguments, "until");
    int64_t until_us = 0;
    hf_status status = guard_check_call(call, err);
    if (status == HF_OK && strcmp(mode, "off") != 0 && strcmp(mode, "log") != 0 &&
        strcmp(mode, "fail") != 0)
        return hf_fail(err, HF_INVALID, "The mode is off, log or fail.");
    if (status == HF_OK && until != NULL && strcmp(mode, "fail") != 0)
        return hf_fail(err, HF_INVALID,
                       "--until is for fail: until then bypasses are logged, not refused.");
    if (status == HF_OK && until != NULL && !hf_time_read(until, &until_us))
        return hf_fail(err, HF_INVALID,
                       "--until is a day or a time in UTC: 2026-12-01, 2026-12-01T06:00:00Z.");
    if (status == HF_OK && until != NULL && until_us <= hf_seam.wall_us())
        return hf_fail(err, HF_INVALID,
                       "--until is in the past; leave it out to refuse from now on.");
    if (status == HF_OK)
        status = guard_mode(operands[0], operands[1], mode, until_us, err);
    if (status != HF_OK)
        return status;
    if (call->json) {
        hf_json json = {0};
        hf_json_begin(&json, '{');
        hf_json_put_text(&json, "table", operands[1]);
        hf_json_put_text(&json, "mode", mode);
        hf_json_put_time(&json, "suppressed_until", until_us);
        hf_json_end(&json, '}');
        return cli_print_json(hf_buffer_take(&json.out), err);
    }
    guard shown = {.suppressed_us = until_us};
    char text[64];
    snprintf(shown.mode, sizeof shown.mode, "%s", mode);
    guard_mode_text(&shown, text);
    cli_print("The guard of %s is in mode %s.\n", operands[1], text);
    return HF_OK;
}

/* ---- report ---- */

static hf_status guard_report_json(const guard_bypass *all, size_t count, hf_error *err)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "bypasses");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < count; i++) {
        const struct {
            const char *name, *text;
        } texts[] = {{"table", all[i].table},
                     {"account", all[i].account},
                     {"program", all[i].program},
                     {"kind", all[i].kind}};
        hf_json_begin(&json, '{');
        for (size_t t = 0; t < 4; t++) {
            hf_json_name(&json, texts[t].name);
            hf_json_text(&json, texts[t].text);
        }
        hf_json_put_int(&json, "statements", all[i].statements);
        hf_json_put_int(&json, "rows", all[i].rows);
        hf_json_put_time(&json, "first", all[i].first_us);
        hf_json_put_time(&json, "last", all[i].last_us);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    return cli_print_json(hf_buffer_take(&json.out), err);
}

static hf_status guard_report_table(const guard_bypass *all, size_t count, hf_error *err)
{
    static const char *const titles[] = {"TABLE",      "KIND", "ACCOUNT", "PROGRAM",
                                         "STATEMENTS", "ROWS", "LAST"};
    cli_table table;
    bool fits = true;
    cli_table_init(&table, titles, 7);
    for (size_t i = 0; i < count; i++) {
        char statements[24], rows[24], last[CLI_TIME_SIZE];
        snprintf(statements, sizeof statements, "%lld", (long long)all[i].statements);
        snprintf(rows, sizeof rows, "%lld", (long long)all[i].rows);
        cli_time_format(all[i].last_us, hf_seam.wall_us(), last);
        const char *const cells[] = {all[i].table,
                                     all[i].kind,
                                     all[i].account[0] == '\0' ? "-" : all[i].account,
                                     all[i].program[0] == '\0' ? "-" : all[i].program,
                                     statements,
                                     rows,
                                     last};
        fits = fits && cli_table_add(&table, cells);
    }
    if (fits)
        cli_table_print(&table, 0);
    cli_table_done(&table);
    return fits ? HF_OK : hf_fail_memory(err);
}

static hf_status guard_run_report(cli_call *call, hf_error *err)
{
    guard_bypass *all = NULL;
    size_t count = 0;
    char **operands = call->arguments.operands;
    hf_status status = guard_check_call(call, err);
    if (status == HF_OK)
        status = guard_report(operands[0], call->arguments.operands_count > 1 ? operands[1] : NULL,
                              &all, &count, err);
    if (status == HF_OK && call->json)
        status = guard_report_json(all, count, err);
    else if (status == HF_OK && count == 0)
        cli_print("Nothing bypassed a guard in mode log.\n");
    else if (status == HF_OK)
        status = guard_report_table(all, count, err);
    hf_free(all);
    return status;
}

/* ---- remove ---- */

static hf_status guard_run_remove(cli_call *call, hf_error *err)
{
    hf_buffer sql = {0};
    char **operands = call->arguments.operands;
    bool print = cli_has(&call->arguments, "print");
    hf_status status = guard_check_call(call, err);
    if (status == HF_OK)
        status = guard_remove(operands[0], operands[1], print ? &sql : NULL, err);
    if (status == HF_OK && print)
        status = guard_print_sql(&sql, err);
    else if (status == HF_OK && call->json) {
        hf_json json = {0};
        hf_json_begin(&json, '{');
        hf_json_put_text(&json, "removed", operands[1]);
        hf_json_end(&json, '}');
        status = cli_print_json(hf_buffer_take(&json.out), err);
    } else if (status == HF_OK)
        cli_print("%s is no longer guarded; its column holdfast is gone.\n", operands[1]);
    hf_buffer_done(&sql);
    return status;
}

static const cli_option guard_add_options[] = {
    {"type", "TYPE", "the resource type of its rows: with policy, row 1 is policy/1"},
    {"version", "COLUMN", "its version column; a statement carries the version that was read"},
    {"policy", "POLICY",
     "instead: a lock (exclusive-write ...) or a save (optimistic) in this database's store"},
    {"parent", "TABLE", "it is a member of that guarded table's aggregate"},
    {"link", "COLUMN", "... by this column, which holds the parent's key"},
    {"check", "WHAT",
     "carry (the default), or step: no number, the statement increments the version"},
    {"mode", "MODE", "off, log or fail (the default)"},
    {"reads", NULL, "PostgreSQL: reading a row needs a lock, too (exclusive-read, read-write)"},
    {"print", NULL, "print the SQL for an administrator instead"},
    CLI_END_OF_OPTIONS,
};

static const cli_option guard_mode_options[] = {
    {"until", "TIME", "with fail: only log until then, so that known bypasses can be fixed"},
    CLI_END_OF_OPTIONS,
};

static const cli_option guard_remove_options[] = {
    {"print", NULL, "print the SQL for an administrator instead"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_guard_add = {
    .name = "guard add",
    .operands = "URL TABLE",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "Makes the database refuse unchecked changes of a table.",
    .about = "Adds a column 'holdfast' and triggers. Can be repeated. docs/guards.md shows how to "
             "write statements then.",
    .options = guard_add_options,
    .run = guard_run_add,
};

const cli_verb cli_guard_show = {
    .name = "guard show",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Lists the guarded tables, and what guards do not stop.",
    .run = guard_run_show,
};

const cli_verb cli_guard_mode = {
    .name = "guard mode",
    .operands = "URL TABLE off|log|fail",
    .operands_min = 3,
    .operands_max = 3,
    .summary = "Switches a guard: off, log what it would refuse, or fail.",
    .options = guard_mode_options,
    .run = guard_run_mode,
};

const cli_verb cli_guard_report = {
    .name = "guard report",
    .operands = "URL [TABLE]",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "Shows who bypassed guards in mode log: account, program, kind, how often.",
    .run = guard_run_report,
};

const cli_verb cli_guard_remove = {
    .name = "guard remove",
    .operands = "URL TABLE",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "Removes the triggers and the column of a guard.",
    .options = guard_remove_options,
    .run = guard_run_remove,
};
