/* SPDX-License-Identifier: MIT */
/* The first page, with two people side by side and the switch of the policy; and the files that
 * pages load. */
#include "commands.h"
#include "pages/demo.h"
#include "pages/demo_switch.h"
#include "pages/page_js.h"
#include "pages/style_css.h"

#include <stdio.h>

const char *policy_about(hf_policy policy)
{
    static const char *const about[HF_POLICY_COUNT] = {
        [HF_POLICY_NONE] = "No policy is set: a save compares versions.",
        [HF_POLICY_OPTIMISTIC] = "Everyone may edit at once. Whoever saves second merges both.",
        [HF_POLICY_EXCLUSIVE_WRITE] = "One person edits, all may read. The second is told at once.",
        [HF_POLICY_EXCLUSIVE_READ] =
            "One person at a time, even to read: what one sees is current.",
        [HF_POLICY_READ_WRITE] =
            "Many may read, or one may edit: nobody edits what others rely on.",
    };
    return about[policy];
}

static const char *demo_try(hf_policy policy)
{
    switch (policy) {
    case HF_POLICY_EXCLUSIVE_WRITE:
        return "Press Edit for Alice, then for Bob: Bob is told who has it and can ask for it. Let "
               "Alice hand it over.";
    case HF_POLICY_EXCLUSIVE_READ:
        return "Only one side can even see the customer. Press Customers on that side: the other "
               "one is let in.";
    case HF_POLICY_READ_WRITE:
        return "Both sides read. Press Edit on one: it has to wait while the other reads. Press "
               "Customers there, and go on.";
    default:
        return "Press Edit on both sides, change something on each, save Alice, then Bob: Bob sees "
               "both versions, merged field by field.";
    }
}

hf_status command_demo(request *r, hf_error *err)
{
    (void)err;
    hf_policy now = r->app->records.policy;
    if (!r->app->demo || r->app->people_count < 2) {
        snprintf(r->location, sizeof r->location, "/%s/", r->app->people[0].user);
        r->status = 303;
        return HF_OK;
    }
    struct evbuffer *switches = evbuffer_new();
    for (hf_policy policy = HF_POLICY_OPTIMISTIC; policy < HF_POLICY_COUNT; policy++)
        page_fill(switches, pages_demo_switch,
                  SLOTS({"policy", hf_policy_name(policy), NULL},
                        {"pressed", policy == now ? "true" : "false", NULL}));
    const person *people = r->app->people;
    page_fill(r->answer, pages_demo,
              SLOTS({"csrf", r->app->csrf, NULL}, {"switches", NULL, switches},
                    {"about", policy_about(now), NULL}, {"try", demo_try(now), NULL},
                    {"left", people[0].user, NULL}, {"left_name", people[0].name, NULL},
                    {"left_role", people[0].may_take_over ? "supervisor" : "clerk", NULL},
                    {"right", people[1].user, NULL}, {"right_name", people[1].name, NULL},
                    {"right_role", people[1].may_take_over ? "supervisor" : "clerk", NULL},
                    {"server", r->app->server, NULL},
                    {"dashboard", r->app->server[0] != '\0' ? "" : "hidden", NULL}));
    r->status = 200;
    evbuffer_free(switches);
    return HF_OK;
}

/* A type's policy can't change while locks of it live, so all works of this application end first.
 * If another program holds a lock it is told, and nothing has changed. */
hf_status command_policy(request *r, hf_error *err)
{
    const char *name = request_field(r, "policy");
    hf_type type = {.type = "customer", .policy = hf_policy_from_name(name != NULL ? name : "")};
    if (type.policy == HF_POLICY_COUNT)
        return fail(err, HF_INVALID, "There is no such policy.");
    for (app_session *session = r->app->sessions.first; session != NULL; session = session->next)
        for (work *it = session->works; it != NULL; it = it->next)
            if (hf_session_close(it->session, err) != HF_OK)
                return err->status;
    hf_status status =
        hf_manager_type_set(r->app->records.manager, &type, "customer application", err);
    if (status == HF_OK)
        request_redirect(r, "%s", "");
    return status;
}

hf_status command_style(request *r, hf_error *err)
{
    (void)err;
    r->status = 200;
    r->type = "text/css; charset=utf-8";
    evbuffer_add_printf(r->answer, "%s", pages_style_css);
    return HF_OK;
}

hf_status command_script(request *r, hf_error *err)
{
    (void)err;
    r->status = 200;
    r->type = "text/javascript; charset=utf-8";
    evbuffer_add_printf(r->answer, "%s", pages_page_js);
    return HF_OK;
}
