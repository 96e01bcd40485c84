/* SPDX-License-Identifier: MIT */
/* Signing in and out. This application asks for no password: it stands for whatever yours does. A
 * person's pages, and the cookie, are below the person's own path, so that one browser can be two
 * people, side by side. */
#include "commands.h"
#include "pages/sign_in.h"

#include <stdio.h>
#include <string.h>

static hf_status sign_in(request *r, hf_error *err)
{
    if (r->session != NULL)
        session_end(&r->app->sessions, r->session);
    r->session = session_begin(&r->app->sessions, r->person);
    if (r->session == NULL)
        return fail(err, HF_TOO_MANY, "Too many people are signed in; please try again later.");
    snprintf(r->cookie, sizeof r->cookie, "desk=%s; Path=/%s; HttpOnly; SameSite=Lax",
             r->session->id, r->person->user);
    return HF_OK;
}

hf_status command_sign_in_page(request *r, hf_error *err)
{
    (void)err;
    if (r->session != NULL) {
        request_redirect(r, "/customers");
        return HF_OK;
    }
    struct evbuffer *main = evbuffer_new();
    page_fill(main, pages_sign_in,
              SLOTS({"user", r->person->user, NULL}, {"name", r->person->name, NULL},
                    {"csrf", r->app->csrf, NULL}));
    request_page(r, 200, "Sign in", main);
    evbuffer_free(main);
    return HF_OK;
}

hf_status command_sign_in(request *r, hf_error *err)
{
    hf_status status = sign_in(r, err);
    if (status == HF_OK)
        request_redirect(r, "/customers");
    return status;
}

/* Ends the application session, and with it every lock of its pages. */
hf_status command_sign_out(request *r, hf_error *err)
{
    (void)err;
    session_end(&r->app->sessions, r->session);
    r->session = NULL;
    snprintf(r->cookie, sizeof r->cookie, "desk=; Path=/%s; Max-Age=0; HttpOnly; SameSite=Lax",
             r->person->user);
    request_redirect(r, "/sign-in");
    return HF_OK;
}

/* The way into the two frames of the first page: signs in without being asked. Only with --demo. */
hf_status command_enter(request *r, hf_error *err)
{
    const char *to = request_query(r, "to");
    bool own = to != NULL && to[0] == '/' &&
               strspn(to, "abcdefghijklmnopqrstuvwxyz0123456789/") == strlen(to);
    if (!r->app->demo)
        return fail(err, HF_NOT_FOUND, "There is no such page.");
    hf_status status = r->session != NULL ? HF_OK : sign_in(r, err);
    if (status == HF_OK)
        request_redirect(r, "%s", own && to[1] != '/' ? to : "/customers");
    return status;
}
