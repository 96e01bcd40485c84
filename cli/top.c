/* SPDX-License-Identifier: MIT */
/* top: a store at a glance, for whoever looks after it: what it stands on, how much is held, what
 * happens, who has held something for longest and who waits. */
#include "cli/top.h"

#include "base/buffer.h"
#include "base/error.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_US   INT64_C(1000000)
#define INTERVAL_US (2 * SECOND_US)

enum {
    ROWS_PLAIN = 20,  /* of the table where there is no screen */
    WIDTH_PLAIN = 120 /* of lists of names there */
};

/* ---- lines ---- */

/* Prints the line, cut where the screen ends, and empties it. */
static hf_status top_print_line(hf_buffer *line, cli_screen screen, hf_error *err)
{
    size_t wide = 0;
    if (line->failed) {
        hf_buffer_done(line);
        return hf_fail_memory(err);
    }
    char *text = cli_shown(line->text == NULL ? "" : line->text);
    hf_buffer_done(line);
    if (text == NULL)
        return hf_fail_memory(err);
    size_t bytes = screen.columns == 0 ? strlen(text) : cli_cut(text, screen.columns, &wide);
    printf("%.*s\n", (int)bytes, text);
    free(text);
    return HF_OK;
}

static const char *top_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static hf_status draw_heading(const top_view *view, cli_screen screen, hf_error *err)
{
    hf_buffer line = {0};
    char now[CLI_TIME_SIZE];
    cli_time_format(view->now_us, view->now_us, now);
    hf_buffer_print(&line, "holdfast top  %s  %s", now, view->call->store);
    return top_print_line(&line, screen, err);
}

static hf_status draw_grade(const top_view *view, cli_screen screen, hf_error *err)
{
    hf_buffer line = {0};
    hf_buffer_print(&line, "Grade       %s%s: %s", hf_grade_level_name(view->grade.level),
                    view->grade.broken ? ", BROKEN" : "", view->grade.text);
    return top_print_line(&line, screen, err);
}

static hf_status draw_live(const top_view *view, cli_screen screen, hf_error *err)
{
    hf_buffer line = {0};
    hf_buffer_print(
        &line, "Live        %zu lock%s of %zu%s type%s, %zu session%s, %zu request%s waiting%s",
        view->total_locks, top_plural(view->total_locks), view->types_count,
        view->more_types ? " or more" : "", top_plural(view->types_count), view->total_sessions,
        top_plural(view->total_sessions), view->waiting, top_plural(view->waiting),
        view->looked > TOP_KEPT_MAX ? " (for the longest held)" : "");
    return top_print_line(&line, screen, err);
}

/* Seconds as people read them: "1.2ms", "3.4s". */
static void add_span(hf_buffer *line, const char *what, double seconds)
{
    bool small = seconds < 1;
    hf_buffer_print(line, "%s%.1f%s", what, small ? seconds * 1e3 : seconds, small ? "ms" : "s");
}

static hf_status draw_server(const top_view *view, cli_screen screen, hf_error *err)
{
    hf_buffer line = {0};
    const top_server *it = &view->server;
    hf_buffer_print(&line, "Server      ");
    if (!it->known)
        hf_buffer_print(&line, "tells nothing of itself: %s", view->server_flaw);
    if (it->known && it->requests_per_second >= 0)
        hf_buffer_print(&line, "%.1f requests/s, ", it->requests_per_second);
    if (it->known)
        hf_buffer_print(&line, "%.0f connection%s, %.0f follower%s", it->connections,
                        top_plural((size_t)it->connections), it->followers,
                        top_plural((size_t)it->followers));
    if (it->known && it->followers > 0)
        add_span(&line, ", lag ", it->lag_seconds);
    return top_print_line(&line, screen, err);
}

static hf_status draw_commits(const top_view *view, cli_screen screen, hf_error *err)
{
    hf_buffer line = {0};
    const top_server *it = &view->server;
    hf_buffer_print(&line, "Commits     ");
    if (!it->known || it->batch_ops <= 0) {
        hf_buffer_print(&line, it->known ? "none; " : "not known");
    } else {
        hf_buffer_print(&line, "of %.1f ops, ", it->batch_ops);
        add_span(&line, "in ", it->commit_median);
        add_span(&line, " (99% in ", it->commit_99th);
        hf_buffer_print(&line, "); ");
    }
    if (it->known)
        hf_buffer_print(&line, "%.0f ops waiting", it->waiting);
    return top_print_line(&line, screen, err);
}

/* What happens most, and what an administrator wants to see. */
static const struct {
    hf_event_kind kind;
    const char *word;
} told[] = {
    {HF_EVENT_ACQUIRED, "acquired"},     {HF_EVENT_RELEASED, "released"},
    {HF_EVENT_EXPIRED, "expired"},       {HF_EVENT_FORCED, "forced"},
    {HF_EVENT_REQUESTED, "asked for"},   {HF_EVENT_SESSION_OPENED, "opened"},
    {HF_EVENT_SESSION_CLOSED, "closed"}, {HF_EVENT_SESSION_EXPIRED, "sessions expired"},
    {HF_EVENT_DENIED, "denied"},
};

static double per_second(const top_view *view, hf_event_kind kind)
{
    return (double)view->events[kind] * 1e6 / (double)view->passed_us;
}

static hf_status draw_changes(const top_view *view, cli_screen screen, hf_error *err)
{
    hf_buffer line = {0};
    hf_buffer_print(&line, "Per second  ");
    if (view->passed_us == 0)
        hf_buffer_print(&line, "known at the next look");
    else if (view->missed)
        hf_buffer_print(&line, "at least ");
    for (size_t i = 0; view->passed_us != 0 && i < sizeof told / sizeof *told; i++)
        if (i < 4 || view->events[told[i].kind] > 0)
            hf_buffer_print(&line, "%s%.1f %s", i == 0 ? "" : ", ", per_second(view, told[i].kind),
                            told[i].word);
    return top_print_line(&line, screen, err);
}

/* Names with numbers, as many as fit, then how many there are besides. */
typedef struct name_list {
    hf_buffer line;
    size_t room;
    size_t left; /* names not yet added */
    bool full;
} name_list;

static void top_add_name(name_list *list, const char *name, size_t number)
{
    char text[HF_RESOURCE_SIZE + 32], rest[48];
    snprintf(text, sizeof text, "%s%s (%zu)", list->line.size > 12 ? ", " : "", name, number);
    snprintf(rest, sizeof rest, ", and %zu more", list->left - 1);
    size_t wide =
        cli_width(list->line.text) + cli_width(text) + (list->left > 1 ? strlen(rest) : 0);
    list->full |= wide > list->room && list->line.size > 12;
    if (list->full)
        return;
    hf_buffer_print(&list->line, "%s", text);
    list->left--;
}

static hf_status print_names(name_list *list, cli_screen screen, hf_error *err)
{
    if (list->left > 0)
        hf_buffer_print(&list->line, ", and %zu more", list->left);
    return top_print_line(&list->line, screen, err);
}

static name_list names_begin(const char *title, size_t count, cli_screen screen)
{
    name_list list = {.room = screen.columns == 0 ? WIDTH_PLAIN : screen.columns, .left = count};
    hf_buffer_print(&list.line, "%-12s", title);
    return list;
}

static hf_status draw_types(const top_view *view, cli_screen screen, hf_error *err)
{
    name_list list = names_begin("Types", view->types_count, screen);
    if (view->types_count == 0)
        hf_buffer_print(&list.line, "none");
    for (size_t i = 0; i < view->types_count && !list.line.failed; i++)
        top_add_name(&list, view->types[i].type, view->types[i].locks);
    return print_names(&list, screen, err);
}

/* The first lock of a resource that is waited for, among those kept. */
static bool first_of_its_kind(const top_view *view, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (hf_resource_compare(&view->locks[i].lock.resource, &view->locks[at].lock.resource) == 0)
            return false;
    return view->locks[at].waiting > 0;
}

static hf_status draw_waiting(const top_view *view, cli_screen screen, hf_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < view->locks_count; i++)
        count += view->locks[i].waiting > 0 && first_of_its_kind(view, i);
    name_list list = names_begin("Waited for", count, screen);
    if (count == 0)
        hf_buffer_print(&list.line, "nothing");
    for (size_t i = 0; i < view->locks_count && list.left > 0 && !list.full && !list.line.failed;
         i++) {
        char resource[HF_RESOURCE_SIZE];
        if (view->locks[i].waiting == 0 || !first_of_its_kind(view, i))
            continue;
        hf_resource_format(&view->locks[i].lock.resource, resource);
        top_add_name(&list, resource, view->locks[i].waiting);
    }
    return print_names(&list, screen, err);
}

/* ---- the table ---- */

/* On a narrow screen without the second column, which the first tells too. */
static const char *const titles[] = {"HELD FOR", "SINCE",   "RESOURCE", "HOLDER",
                                     "FREES IN", "WAITING", "PURPOSE"};
static const char *const narrow_titles[] = {"HELD FOR", "RESOURCE", "HOLDER",
                                            "FREES IN", "WAITING",  "PURPOSE"};

static bool is_narrow(cli_screen screen)
{
    return screen.columns != 0 && screen.columns < 100;
}

/* "47s", "12m", "3h05m", "2d04h" */
static void span_format(int64_t us, char *out, size_t size)
{
    int64_t seconds = us > 0 ? us / SECOND_US : 0, minutes = seconds / 60, hours = minutes / 60;
    if (seconds < 60)
        snprintf(out, size, "%" PRId64 "s", seconds);
    else if (minutes < 60)
        snprintf(out, size, "%" PRId64 "m", minutes);
    else if (hours < 24)
        snprintf(out, size, "%" PRId64 "h%02dm", hours, (int)(minutes % 60));
    else
        snprintf(out, size, "%" PRId64 "d%02dh", hours / 24, (int)(hours % 24));
}

/* No name may push the others off the screen: cut to a share of it, with a sign that it was. */
static void top_shorten(const char *text, cli_screen screen, size_t share, char *out, size_t size)
{
    size_t wide = 0, room = screen.columns / share;
    snprintf(out, size, "%s", text);
    if (screen.columns == 0 || cli_width(text) <= room)
        return;
    size_t bytes = cli_cut(text, room > 0 ? room - 1 : 0, &wide);
    snprintf(out, size, "%.*s\xe2\x80\xa6", (int)bytes, text);
}

static bool top_add_lock(cli_table *table, const top_view *view, const top_lock *it,
                         cli_screen screen)
{
    char resource[HF_RESOURCE_SIZE], short_resource[HF_RESOURCE_SIZE + 4], holder[HF_TEXT_SIZE + 4];
    char since[CLI_TIME_SIZE], held[32], frees[32], waiting[24];
    hf_resource_format(&it->lock.resource, resource);
    top_shorten(resource, screen, 4, short_resource, sizeof short_resource);
    top_shorten(it->lock.name, screen, 5, holder, sizeof holder);
    span_format(view->now_us - it->lock.since_us, held, sizeof held);
    span_format(it->lock.expires_us - view->now_us, frees, sizeof frees);
    cli_time_format(it->lock.since_us, view->now_us, since);
    snprintf(waiting, sizeof waiting, it->waiting > 0 ? "%zu" : "-", it->waiting);
    const char *cells[] = {held, since, short_resource, holder, frees, waiting, it->lock.purpose};
    if (is_narrow(screen))
        cells[1] = held;
    return cli_table_add(table, is_narrow(screen) ? cells + 1 : cells);
}

/* All but the rows of the table: with its titles, and the line where the cursor stays. */
static size_t lines_other(const top_view *view)
{
    return view->is_server ? 11 : 9;
}

/* As many as fit below the other lines, with the sentence about those that were not looked at. */
static size_t rows_shown(const top_view *view, cli_screen screen)
{
    size_t others = lines_other(view) + view->more;
    size_t room = screen.rows == 0 ? ROWS_PLAIN : screen.rows > others ? screen.rows - others : 0;
    return view->locks_count < room ? view->locks_count : room;
}

static hf_status top_draw_locks(const top_view *view, cli_screen screen, hf_error *err)
{
    cli_table table;
    size_t count = rows_shown(view, screen);
    hf_status status = HF_OK;
    if (view->locks_count == 0)
        puts("No locks are held.");
    if (count == 0)
        return HF_OK;
    if (is_narrow(screen))
        cli_table_init(&table, narrow_titles, sizeof narrow_titles / sizeof *narrow_titles);
    else
        cli_table_init(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < count && status == HF_OK; i++)
        if (!top_add_lock(&table, view, &view->locks[i], screen))
            status = hf_fail_memory(err);
    if (status == HF_OK)
        cli_table_print(&table, screen.columns);
    cli_table_done(&table);
    if (status == HF_OK && view->more)
        printf("The longest held of the first %zu locks.\n", view->looked);
    return status;
}

/* A screen that is too small for all gets the first lines. */
static hf_status top_draw(void *context, cli_screen screen, hf_error *err)
{
    static hf_status (*const lines[])(const top_view *view, cli_screen screen, hf_error *err) = {
        draw_heading, draw_grade,   draw_live,   draw_changes,
        draw_types,   draw_waiting, draw_server, draw_commits};
    const top_view *view = context;
    size_t count = sizeof lines / sizeof *lines - (view->is_server ? 0 : 2);
    hf_status status = HF_OK;
    for (size_t i = 0; i < count && status == HF_OK; i++)
        if (screen.rows == 0 || i + 1 < screen.rows)
            status = lines[i](view, screen, err);
    if (status == HF_OK && (screen.rows == 0 || screen.rows > lines_other(view))) {
        putchar('\n');
        status = top_draw_locks(view, screen, err);
    }
    if (status == HF_OK && screen.rows == 0)
        putchar('\n');
    return status;
}

static hf_status top_print_json(void *context, cli_screen screen, hf_error *err)
{
    return cli_print_json(top_json(context, rows_shown(context, screen)), err);
}

/* ---- the verb ---- */

static hf_status cli_top_look(void *context, cli_screen screen, hf_error *err)
{
    (void)screen;
    return top_look(context, err);
}

static hf_status top_run(cli_call *call, hf_error *err)
{
    top_view view = {.call = call};
    cli_view shown = {cli_top_look, call->json ? top_print_json : top_draw, &view, INTERVAL_US, 0};
    hf_status status = cli_value_duration(&call->arguments, "interval", &shown.interval_us, err);
    if (status == HF_OK)
        status = cli_value_number(&call->arguments, "count", 1, &shown.count, err);
    if (status != HF_OK)
        return status;
    cli_take_signals();
    status = cli_open(call, err);
    if (status == HF_OK)
        status = cli_look_on(&shown, !call->json && isatty(STDOUT_FILENO), err);
    top_done(&view);
    return status;
}

static const cli_option options[] = {
    {"interval", "DURATION", "how often to look; default: 2s"},
    {"count", "N", "stop after this many refreshes"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_top = {
    .name = "top",
    .summary = "Shows a store at a glance: live locks, rates, waiters.",
    .about = "On a terminal it redraws; otherwise a block for every look, with --json an object a "
             "line. Rates "
             "are those since the last look. Of a server also what its /metrics tell. Of more than "
             "10,000 locks "
             "it "
             "looks at the first.",
    .options = options,
    .run = top_run,
};
