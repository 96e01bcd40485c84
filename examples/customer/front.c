/* SPDX-License-Identifier: MIT */
/* The front controller. */
#include "front.h"

#include "commands.h"
#include "pages/layout.h"
#include "pages/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* ---- the commands ---- */

enum {
    OPEN = 1,   /* needs no sign-in */
    JSON = 2,   /* a script asks: problems are JSON */
    PUBLIC = 4, /* not below a person's path */
};

/* # in a path is a customer's number. */
static const struct {
    enum evhttp_cmd_type method;
    const char *path;
    unsigned flags;
    command_process *process;
} commands[] = {
    {EVHTTP_REQ_GET, "/", PUBLIC | OPEN, command_demo},
    {EVHTTP_REQ_POST, "/policy", PUBLIC | OPEN, command_policy},
    {EVHTTP_REQ_GET, "/style.css", PUBLIC | OPEN, command_style},
    {EVHTTP_REQ_GET, "/page.js", PUBLIC | OPEN, command_script},

    {EVHTTP_REQ_GET, "/sign-in", OPEN, command_sign_in_page},
    {EVHTTP_REQ_POST, "/sign-in", OPEN, command_sign_in},
    {EVHTTP_REQ_GET, "/enter", OPEN, command_enter},
    {EVHTTP_REQ_POST, "/sign-out", 0, command_sign_out},

    {EVHTTP_REQ_GET, "/", 0, command_home},
    {EVHTTP_REQ_GET, "/customers", 0, command_list},
    {EVHTTP_REQ_POST, "/customers", 0, command_create},
    {EVHTTP_REQ_GET, "/customers/new", 0, command_new},
    {EVHTTP_REQ_GET, "/customers/#", 0, command_show},
    {EVHTTP_REQ_GET, "/customers/#.json", JSON, command_record},
    {EVHTTP_REQ_GET, "/customers/#/edit", 0, command_edit},
    {EVHTTP_REQ_POST, "/customers/#", 0, command_save},
    {EVHTTP_REQ_POST, "/customers/#/delete", 0, command_delete},
    {EVHTTP_REQ_POST, "/customers/#/cancel", 0, command_cancel},
    {EVHTTP_REQ_POST, "/customers/#/ask", 0, command_ask},
    {EVHTTP_REQ_POST, "/customers/#/take-over", 0, command_take_over_form},

    {EVHTTP_REQ_POST, "/holdfast/session", JSON, command_session},
    {EVHTTP_REQ_POST, "/holdfast/take-over", JSON, command_take_over},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static bool front_matches(const char *pattern, const char *path, int64_t *number)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '#') {
            if (*path++ != *pattern)
                return false;
            continue;
        }
        size_t digits = strspn(path, "0123456789");
        if (digits == 0 || digits > 15)
            return false;
        *number = strtoll(path, NULL, 10);
        path += digits;
    }
    return *path == '\0';
}

/* ---- what comes in ---- */

static const char *front_last(const struct evkeyvalq *all, const char *name)
{
    const char *value = NULL;
    const struct evkeyval *it;
    for (it = all->tqh_first; it != NULL; it = it->next.tqe_next)
        if (strcmp(it->key, name) == 0)
            value = it->value;
    return value;
}

const char *request_field(const request *r, const char *name)
{
    return front_last(&r->form, name);
}

const char *request_query(const request *r, const char *name)
{
    return front_last(&r->query, name);
}

int64_t request_number(const char *text)
{
    return text != NULL && strspn(text, "0123456789") == strlen(text) && strlen(text) < 19
               ? strtoll(text, NULL, 10)
               : 0;
}

static const char *front_header(const request *r, const char *name)
{
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(r->raw), name);
    return value != NULL ? value : "";
}

/* Only by the names of this machine: a page of somebody else's whose name was pointed here gets
 * nothing. */
static bool front_knows_host(const request *r)
{
    char name[64];
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(name, sizeof name, "%s:%u", hosts[i], r->app->port);
        if (strcmp(front_header(r, "Host"), name) == 0)
            return true;
    }
    return false;
}

/* Browsers say with every POST from which origin its page came. */
static bool front_knows_origin(const request *r)
{
    const char *origin = front_header(r, "Origin");
    return *origin == '\0' ||
           (strncmp(origin, "http://", 7) == 0 && strcmp(origin + 7, front_header(r, "Host")) == 0);
}

static bool front_has_csrf(const request *r)
{
    const char *expected = r->session != NULL ? r->session->csrf : r->app->csrf;
    const char *sent = request_field(r, "csrf");
    return secret_equals(sent != NULL ? sent : front_header(r, "X-CSRF-Token"), expected);
}

static const char *front_cookie(const request *r, char out[SECRET_SIZE])
{
    const char *at = front_header(r, "Cookie");
    out[0] = '\0';
    while (at != NULL && *at != '\0') {
        at += strspn(at, "; ");
        if (strncmp(at, "desk=", 5) == 0 && strcspn(at + 5, "; ") == SECRET_SIZE - 1)
            snprintf(out, SECRET_SIZE, "%s", at + 5);
        at = strchr(at, ';');
    }
    return out;
}

/* Splits /alice/customers/42 into the person and the rest; the path stays whole when it is
 * nobody's. */
static const char *front_person(request *r, const char *path)
{
    for (size_t i = 0; i < r->app->people_count; i++) {
        const person *it = &r->app->people[i];
        size_t size = strlen(it->user);
        if (path[0] == '/' && strncmp(path + 1, it->user, size) == 0 &&
            (path[size + 1] == '/' || path[size + 1] == '\0')) {
            char cookie[SECRET_SIZE];
            r->person = it;
            r->session = session_find(&r->app->sessions, it, front_cookie(r, cookie));
            return path[size + 1] == '\0' ? "/" : path + size + 1;
        }
    }
    return path;
}

static void front_read(request *r)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(r->raw);
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(r->raw));
    ev_ssize_t size = evbuffer_copyout(body, r->body, BODY_MAX);
    r->body[size > 0 ? size : 0] = '\0';
    if (query != NULL)
        evhttp_parse_query_str(query, &r->query);
    if (strncmp(front_header(r, "Content-Type"), "application/x-www-form-urlencoded", 33) == 0 &&
        r->body[0] != '\0')
        evhttp_parse_query_str(r->body, &r->form);
}

/* ---- what goes out ---- */

void request_page(request *r, int status, const char *title, struct evbuffer *main)
{
    struct evbuffer *script = evbuffer_new();
    r->status = status;
    evbuffer_drain(r->answer, evbuffer_get_length(r->answer));
    if (r->app->server[0] != '\0')
        page_fill(script, "<script type=\"module\" src=\"{{server}}/edit-lock.js\"></script>",
                  SLOTS({"server", r->app->server, NULL}));
    page_fill(r->answer, pages_layout,
              SLOTS({"title", title, NULL}, {"script", NULL, script}, {"main", NULL, main},
                    {"user", r->person != NULL ? r->person->user : "", NULL},
                    {"name", r->person != NULL ? r->person->name : "", NULL},
                    {"signed", r->session != NULL ? "" : "hidden", NULL},
                    {"csrf", r->session != NULL ? r->session->csrf : "", NULL}));
    evbuffer_free(script);
}

void request_message(request *r, int status, const char *title, const char *sentence)
{
    struct evbuffer *main = evbuffer_new();
    page_fill(main, pages_message,
              SLOTS({"title", title, NULL}, {"sentence", sentence, NULL},
                    {"user", r->person != NULL ? r->person->user : "", NULL}));
    request_page(r, status, title, main);
    evbuffer_free(main);
}

void request_redirect(request *r, const char *format, ...)
{
    va_list arguments;
    int size =
        snprintf(r->location, sizeof r->location, "/%s", r->person != NULL ? r->person->user : "");
    va_start(arguments, format);
    vsnprintf(r->location + size, sizeof r->location - (size_t)size, format, arguments);
    va_end(arguments);
    r->status = 303;
}

void request_problem(request *r, hf_status status, const char *message)
{
    char *json = hf_refusal_json(&(hf_refusal){.status = status, .message = message});
    evbuffer_drain(r->answer, evbuffer_get_length(r->answer));
    evbuffer_add_printf(r->answer, "%s", json != NULL ? json : "{}");
    r->status = hf_status_http(status);
    r->type = "application/json";
    hf_json_free(json);
}

/* Pages run the element's script and nothing else of other people's, and nobody else may frame
 * them. */
static void front_send(request *r)
{
    char policy[3 * LINE_MAX_SIZE];
    struct evkeyvalq *headers = evhttp_request_get_output_headers(r->raw);
    snprintf(policy, sizeof policy,
             "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; "
             "form-action 'self'; "
             "base-uri 'none'; frame-ancestors 'self'; script-src 'self' %s; connect-src 'self' %s",
             r->app->server, r->app->server);
    evhttp_add_header(headers, "Content-Type", r->type);
    evhttp_add_header(headers, "Content-Security-Policy", policy);
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Referrer-Policy", "same-origin");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    if (r->location[0] != '\0')
        evhttp_add_header(headers, "Location", r->location);
    if (r->cookie[0] != '\0')
        evhttp_add_header(headers, "Set-Cookie", r->cookie);
    evhttp_send_reply(r->raw, r->status, NULL, r->answer);
}

/* ---- one request ---- */

static void front_refuse(request *r, unsigned flags, const hf_error *err)
{
    r->location[0] = '\0';
    if (flags & JSON)
        request_problem(r, err->status, err->message);
    else
        request_message(r, hf_status_http(err->status),
                        err->status == HF_NOT_FOUND ? "Not found" : "That did not work",
                        err->message);
}

/* A work that a failed request has begun is nobody's. */
static void front_end_work(request *r)
{
    if (r->begun == NULL)
        return;
    session_forget(r->session, r->begun);
    work_end(r->begun);
}

/* The policy of customers may have become another since the last request. */
static hf_status front_follow(request *r, hf_error *err)
{
    bool moved = false;
    hf_status status = records_look(&r->app->records, &moved, err);
    if (!moved)
        return status;
    session_unread_all(&r->app->sessions);
    return records_follow(&r->app->records, err);
}

static hf_status front_process(request *r, command_process *process, hf_error *err)
{
    hf_status status = front_follow(r, err);
    if (status == HF_OK)
        status = process(r, err);
    if (status != HF_OK)
        front_end_work(r);
    else if (r->begun != NULL)
        work_settle(r->begun);
    return status;
}

static void front_run(request *r, int index)
{
    hf_error err = {0};
    unsigned flags = commands[index].flags;
    bool posts = commands[index].method == EVHTTP_REQ_POST;
    if (!(flags & OPEN) && r->session == NULL && (flags & JSON))
        fail(&err, HF_UNAUTHENTICATED, "You are not signed in any more.");
    else if (!(flags & OPEN) && r->session == NULL && posts)
        fail(&err, HF_UNAUTHENTICATED,
             "You are not signed in any more, so nothing was saved. Go back to your text, "
             "sign in on another page, and try again.");
    else if (!(flags & OPEN) && r->session == NULL)
        request_redirect(r, "/sign-in");
    else if (posts && (!front_knows_origin(r) || !front_has_csrf(r)))
        fail(&err, HF_DENIED,
             "This form was not made by this application, or is too old; load the page again.");
    else if (front_process(r, commands[index].process, &err) == HF_OK)
        err.status = HF_OK;
    if (err.status != HF_OK && r->status == 0)
        front_refuse(r, flags, &err);
}

static void front_dispatch(request *r)
{
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(r->raw));
    enum evhttp_cmd_type method = evhttp_request_get_command(r->raw);
    path = front_person(r, path != NULL && *path != '\0' ? path : "/");
    if (!front_knows_host(r)) {
        request_message(r, 421, "Not here", "This application is not called by that name.");
        return;
    }
    for (int i = 0; i < COMMANDS; i++)
        if ((commands[i].method == method ||
             (method == EVHTTP_REQ_HEAD && commands[i].method == EVHTTP_REQ_GET)) &&
            !(commands[i].flags & PUBLIC) == (r->person != NULL) &&
            front_matches(commands[i].path, path, &r->customer)) {
            front_run(r, i);
            return;
        }
    request_message(r, 404, "Not found", "There is no such page.");
}

static void front_handle(struct evhttp_request *raw, void *context)
{
    request *r = calloc(1, sizeof *r);
    if (r == NULL || (r->answer = evbuffer_new()) == NULL) {
        free(r);
        evhttp_send_error(raw, 500, NULL);
        return;
    }
    r->app = context;
    r->raw = raw;
    r->type = "text/html; charset=utf-8";
    TAILQ_INIT(&r->query);
    TAILQ_INIT(&r->form);
    front_read(r);
    front_dispatch(r);
    front_send(r);
    evhttp_clear_headers(&r->query);
    evhttp_clear_headers(&r->form);
    evbuffer_free(r->answer);
    free(r);
}

void front_open(app *it, struct evhttp *http)
{
    evhttp_set_max_body_size(http, BODY_MAX);
    evhttp_set_max_headers_size(http, 16 * 1024);
    evhttp_set_timeout(http, 60);
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
    evhttp_set_gencb(http, front_handle, it);
}
