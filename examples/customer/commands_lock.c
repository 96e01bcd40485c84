/* SPDX-License-Identifier: MIT */
/* What pages need of the locks: the routes that <edit-lock> asks, the same by plain forms, and the
 * pieces of pages that tell who has a customer. */
#include "commands.h"
#include "pages/lock.h"
#include "pages/refusal.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* ---- works ---- */

hf_status begin_work(request *r, int64_t number, work **out, hf_error *err)
{
    work *before = session_work_on(r->session, number);
    session_forget(r->session, before);
    hf_status status = work_begin(&r->app->office, r->person, number, before, out, err);
    if (status == HF_OK)
        r->begun = *out;
    if (status == HF_OK || before != NULL)
        session_keep(r->session, status == HF_OK ? *out : before);
    return status;
}

void end_work(request *r, work *it)
{
    session_forget(r->session, it);
    if (r->begun == it)
        r->begun = NULL;
    work_end(it);
}

/* ---- pieces of pages ---- */

struct evbuffer *lock_tag(request *r, const work *it, hf_policy policy, bool edit, bool refused)
{
    char id[32], version[32], take_over[LINE_MAX_SIZE] = "";
    hf_mode mode = records_want(policy, edit);
    struct evbuffer *out = evbuffer_new();
    snprintf(id, sizeof id, "%lld", (long long)it->customer);
    snprintf(version, sizeof version, "%lld", it->loaded ? (long long)it->read.version : 0);
    if (r->person->may_take_over)
        snprintf(take_over, sizeof take_over, "/%s/holdfast/take-over", r->person->user);
    page_fill(out, pages_lock,
              SLOTS({"id", id, NULL}, {"server", r->app->server, NULL},
                    {"user", r->person->user, NULL}, {"work", it->name, NULL},
                    {"csrf", r->session->csrf, NULL}, {"version", version, NULL},
                    {"mode", mode == HF_MODE_COUNT ? "optimistic" : hf_mode_name(mode), NULL},
                    {"purpose", edit ? "editing" : "reading", NULL}, {"take_over", take_over, NULL},
                    {"reload", refused && !edit ? "yes" : "no", NULL}));
    return out;
}

struct evbuffer *plain_tag(void)
{
    struct evbuffer *out = evbuffer_new();
    evbuffer_add_printf(out, "<div>");
    return out;
}

struct evbuffer *refusal_notice(request *r, const hf_error *err, bool edit)
{
    char id[32], since[PAGE_TIME_SIZE], until[PAGE_TIME_SIZE], fence[32];
    struct evbuffer *out = evbuffer_new();
    const hf_lock *holder = &err->holder;
    snprintf(id, sizeof id, "%lld", (long long)r->customer);
    snprintf(fence, sizeof fence, "%lld", (long long)holder->fence);
    page_time(holder->since_us, since);
    page_time(holder->expires_us, until);
    page_fill(
        out, pages_refusal,
        SLOTS({"user", r->person->user, NULL}, {"id", id, NULL}, {"csrf", r->session->csrf, NULL},
              {"holder", holder->name, NULL}, {"since", since, NULL}, {"until", until, NULL},
              {"purpose", holder->purpose[0] != '\0' ? holder->purpose : "working on it", NULL},
              {"fence", fence, NULL}, {"again", edit ? "/edit" : "", NULL},
              {"work", r->begun != NULL ? r->begun->name : "", NULL},
              {"take_over", r->person->may_take_over ? "" : "hidden", NULL}));
    return out;
}

/* ---- for the element ---- */

/* A text or number of the JSON object that was sent; SQLite reads JSON. "" if it is not there. */
static void body_value(const request *r, const char *path, char *out, size_t size)
{
    sqlite3 *reader = NULL;
    sqlite3_stmt *stmt = NULL;
    out[0] = '\0';
    if (sqlite3_open(":memory:", &reader) == SQLITE_OK &&
        sqlite3_prepare_v2(reader, "SELECT json_extract(?1, ?2) WHERE json_valid(?1)", -1, &stmt,
                           NULL) == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, r->body, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, path, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
            snprintf(out, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
    }
    sqlite3_finalize(stmt);
    sqlite3_close(reader);
}

/* The number in "customer/42"; 0: it is another thing. */
static int64_t body_customer(const request *r)
{
    char text[HF_RESOURCE_SIZE];
    body_value(r, "$.resource", text, sizeof text);
    return strncmp(text, "customer/", 9) == 0 ? request_number(text + 9) : 0;
}

static void session_answer(request *r, const work *it)
{
    char secret[WORK_SECRET_SIZE];
    work_secret(it, secret);
    r->status = 200;
    r->type = "application/json";
    evbuffer_add_printf(
        r->answer,
        "{\"session\":\"%s\",\"idle_seconds\":%lld,\"may_take_over\":%s,\"user\":", secret,
        (long long)(r->app->office.idle_us / 1000000), r->person->may_take_over ? "true" : "false");
    page_json(r->answer, r->person->user);
    evbuffer_add_printf(r->answer, ",\"name\":");
    page_json(r->answer, r->person->name);
    evbuffer_add_printf(r->answer, "}");
    explicit_bzero(secret, sizeof secret);
}

/* ID.KEY for a page. A page that the application knows gets the session of its work, anew if that
 * has ended. Any other (a list that watches, a page from before a restart) gets a work of its own,
 * which replaces nothing. */
hf_status command_session(request *r, hf_error *err)
{
    const char *name = request_query(r, "work");
    work *it = session_work(r->session, name);
    hf_status status = HF_OK;
    if (it != NULL && !work_lives(it))
        status = work_renew(&r->app->office, it, err);
    if (it == NULL) {
        int64_t number = name != NULL ? body_customer(r) : 0;
        it = number == 0 ? session_work_on(r->session, 0) : NULL;
        if (it != NULL && !work_lives(it)) {
            status = work_renew(&r->app->office, it, err);
        } else if (it == NULL) {
            status = work_begin(&r->app->office, r->person, number, NULL, &it, err);
            if (status == HF_OK) {
                session_keep(r->session, it);
                r->begun = it;
            }
        }
    }
    if (status == HF_OK)
        session_answer(r, it);
    return status;
}

static hf_status take_over(request *r, int64_t number, const char *reason, int64_t fence,
                           hf_error *err)
{
    hf_result *ended = NULL;
    hf_resource resource = work_resource(number);
    if (!r->person->may_take_over)
        return fail(err, HF_DENIED, "You may not take a customer over; please ask for it.");
    if (reason == NULL || reason[strspn(reason, " ")] == '\0')
        return fail(err, HF_INVALID,
                    "Please say why you take it over: the person who loses it is told.");
    hf_status status = hf_manager_force_release(r->app->records.manager, &resource, r->person->user,
                                                reason, fence, &ended, err);
    hf_result_free(ended);
    return status == HF_NOT_HELD ? HF_OK : status; /* it is free, which was the aim */
}

hf_status command_take_over(request *r, hf_error *err)
{
    char reason[HF_TEXT_SIZE], fence[32];
    body_value(r, "$.reason", reason, sizeof reason);
    body_value(r, "$.fence", fence, sizeof fence);
    hf_status status = take_over(r, body_customer(r), reason, request_number(fence), err);
    if (status != HF_OK)
        return status;
    r->status = 200;
    r->type = "application/json";
    evbuffer_add_printf(r->answer, "{}");
    return HF_OK;
}

/* ---- the same without a script ---- */

hf_status command_take_over_form(request *r, hf_error *err)
{
    hf_status status = take_over(r, r->customer, request_field(r, "reason"),
                                 request_number(request_field(r, "fence")), err);
    if (status == HF_OK)
        request_redirect(r, "/customers/%lld/edit", (long long)r->customer);
    return status;
}

hf_status command_ask(request *r, hf_error *err)
{
    work *it = session_work(r->session, request_field(r, "work"));
    hf_resource resource = work_resource(r->customer);
    hf_status status = it != NULL ? HF_OK : begin_work(r, r->customer, &it, err);
    if (status == HF_OK)
        status = hf_session_request(it->session, &resource, request_field(r, "message"), err);
    if (status == HF_OK)
        request_message(
            r, 200, "Asked",
            "Your question is shown on the other person's page. Try again in a moment.");
    else if (status == HF_NOT_HELD) {
        request_redirect(r, "/customers/%lld/edit", (long long)r->customer);
        return HF_OK;
    }
    return status;
}
