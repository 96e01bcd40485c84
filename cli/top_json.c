/* SPDX-License-Identifier: MIT */
/* What top sees as JSON. */
#include "cli/top.h"

#include "base/json.h"

static void add_raw(hf_json *json, char *text)
{
    if (text == NULL) {
        json->out.failed = true;
        return;
    }
    hf_buffer_print(&json->out, "%s%s", json->comma ? "," : "", text);
    json->comma = true;
    hf_json_free(text);
}

static void top_json_add_number(hf_json *json, const char *name, size_t value)
{
    hf_json_put_int(json, name, (int64_t)value);
}

static void top_json_add_types(hf_json *json, const top_view *view)
{
    hf_json_name(json, "types");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < view->types_count; i++) {
        hf_json_begin(json, '{');
        hf_json_put_text(json, "type", view->types[i].type);
        top_json_add_number(json, "locks", view->types[i].locks);
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
    hf_json_put_bool(json, "more_types", view->more_types);
}

/* Of the first look neither is known. */
static void top_json_add_events(hf_json *json, const top_view *view)
{
    hf_json_name(json, "since_seconds");
    if (view->passed_us == 0)
        hf_json_text(json, NULL);
    else
        hf_json_seconds(json, view->passed_us);
    hf_json_name(json, "events");
    if (view->passed_us == 0) {
        hf_json_text(json, NULL);
    } else {
        hf_json_begin(json, '{');
        for (unsigned kind = 0; kind < HF_EVENT_KINDS; kind++)
            top_json_add_number(json, hf_event_kind_name((hf_event_kind)kind), view->events[kind]);
        hf_json_end(json, '}');
    }
    hf_json_put_bool(json, "more_events", view->missed);
}

static void add_longest(hf_json *json, const top_view *view, size_t rows)
{
    hf_json_name(json, "longest");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < rows; i++) {
        hf_json_begin(json, '{');
        hf_json_name(json, "held_seconds");
        hf_json_seconds(json, view->now_us - view->locks[i].lock.since_us);
        top_json_add_number(json, "waiting", view->locks[i].waiting);
        hf_json_name(json, "lock");
        json->comma = false;
        add_raw(json, hf_lock_json(&view->locks[i].lock));
        hf_json_end(json, '}');
    }
    hf_json_end(json, ']');
    top_json_add_number(json, "looked_at", view->looked);
}

/* A number with a fraction. */
static void add_real(hf_json *json, const char *name, double value)
{
    hf_json_name(json, name);
    hf_json_seconds(json, (int64_t)(value * 1e6));
}

/* null: the store is no server. */
static void add_server(hf_json *json, const top_view *view)
{
    const top_server *it = &view->server;
    hf_json_name(json, "server");
    if (!view->is_server) {
        hf_json_text(json, NULL);
        return;
    }
    hf_json_begin(json, '{');
    if (!it->known) {
        hf_json_put_text(json, "error", view->server_flaw);
    } else {
        if (it->requests_per_second >= 0)
            add_real(json, "requests_per_second", it->requests_per_second);
        add_real(json, "connections", it->connections);
        add_real(json, "followers", it->followers);
        add_real(json, "lag_seconds", it->lag_seconds);
        add_real(json, "ops_waiting", it->waiting);
        add_real(json, "commit_ops", it->batch_ops);
        add_real(json, "commit_median_seconds", it->commit_median);
        add_real(json, "commit_99th_seconds", it->commit_99th);
    }
    hf_json_end(json, '}');
}

char *top_json(const top_view *view, size_t rows)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_time(&json, "at", view->now_us);
    hf_json_put_text(&json, "store", view->call->store);
    hf_json_put_text(&json, "grade", hf_grade_level_name(view->grade.level));
    hf_json_put_text(&json, "grade_text", view->grade.text);
    hf_json_put_bool(&json, "broken", view->grade.broken);
    top_json_add_number(&json, "locks", view->total_locks);
    top_json_add_number(&json, "sessions", view->total_sessions);
    top_json_add_number(&json, "waiting", view->waiting);
    top_json_add_types(&json, view);
    top_json_add_events(&json, view);
    add_server(&json, view);
    add_longest(&json, view, rows);
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}
