/* SPDX-License-Identifier: MIT */
/* Commands that read: the list, a customer, and a customer as JSON for the page's script. */
#include "commands.h"
#include "pages/address.h"
#include "pages/list.h"
#include "pages/list_row.h"
#include "pages/show.h"

#include <stdio.h>
#include <string.h>

hf_status command_home(request *r, hf_error *err)
{
    (void)err;
    request_redirect(r, "/customers");
    return HF_OK;
}

/* ---- the list ---- */

/* Who works on each, as it is now; the badge of the page keeps it so. */
static hf_status read_holders(request *r, const listed *all, size_t count, hf_result **out,
                              hf_error *err)
{
    hf_resource resources[LIST_MAX];
    for (size_t i = 0; i < count; i++)
        resources[i] = work_resource(all[i].id);
    return count == 0 ? HF_OK
                      : hf_manager_lookup(r->app->records.manager, resources, count, out, err);
}

static void read_row(request *r, struct evbuffer *rows, const listed *it, const hf_answer *who)
{
    char id[32], holder[HF_TEXT_SIZE] = "";
    snprintf(id, sizeof id, "%lld", (long long)it->id);
    if (who != NULL && who->locks_count > 0)
        snprintf(holder, sizeof holder, "%s", who->locks[0].name);
    page_fill(rows, pages_list_row,
              SLOTS({"user", r->person->user, NULL}, {"id", id, NULL}, {"name", it->name, NULL},
                    {"city", it->city, NULL}, {"holder", holder, NULL},
                    {"hidden", holder[0] != '\0' ? "" : "hidden", NULL}));
}

hf_status command_list(request *r, hf_error *err)
{
    static listed all[LIST_MAX]; /* one thread serves */
    size_t count = 0;
    hf_result *holders = NULL;
    hf_policy policy = r->app->records.policy;
    hf_status status = records_list(&r->app->records, all, &count, err);
    if (status == HF_OK)
        status = read_holders(r, all, count, &holders, err);
    if (status != HF_OK)
        return status;
    struct evbuffer *rows = evbuffer_new(), *main = evbuffer_new();
    for (size_t i = 0; i < count; i++)
        read_row(r, rows, &all[i], holders != NULL ? hf_result_at(holders, i) : NULL);
    page_fill(main, pages_list,
              SLOTS({"rows", NULL, rows}, {"user", r->person->user, NULL},
                    {"policy", hf_policy_name(policy), NULL}, {"about", policy_about(policy), NULL},
                    {"server", r->app->server, NULL}, {"csrf", r->session->csrf, NULL}));
    request_page(r, 200, "Customers", main);
    evbuffer_free(rows);
    evbuffer_free(main);
    hf_result_free(holders);
    return HF_OK;
}

/* ---- one ---- */

static struct evbuffer *read_addresses(const customer *it)
{
    static const char *const titles[ADDRESS_KINDS] = {"Billing address", "Delivery address",
                                                      "Visiting address"};
    struct evbuffer *out = evbuffer_new();
    for (int kind = 0; kind < ADDRESS_KINDS; kind++) {
        const char(*part)[FIELD_SIZE] = &it->text[address_begin(kind)];
        if (address_exists(it, kind))
            page_fill(out, pages_address,
                      SLOTS({"title", titles[kind], NULL}, {"street", part[0], NULL},
                            {"postcode", part[1], NULL}, {"city", part[2], NULL},
                            {"country", part[3], NULL}));
    }
    return out;
}

/* Under a policy that wants a lock to read, showing is a work of its own, and its page holds the
 * lock. */
static hf_status read_under_lock(request *r, bool *refused, work **its_work, customer *out,
                                 hf_error *err)
{
    hf_status status = begin_work(r, r->customer, its_work, err);
    if (status == HF_OK)
        status = records_load(&r->app->records, *its_work, false, err);
    *refused = status == HF_LOCKED;
    if (status == HF_OK)
        *out = (*its_work)->read;
    return *refused ? HF_OK : status;
}

static void read_show(request *r, const customer *it, hf_policy policy, const work *its_work,
                      struct evbuffer *notice)
{
    bool locked = its_work != NULL;
    char id[32], version[32], when[PAGE_TIME_SIZE] = "";
    struct evbuffer *main = evbuffer_new(), *addresses = read_addresses(it);
    struct evbuffer *lock =
        locked ? lock_tag(r, its_work, policy, false, notice != NULL) : plain_tag();
    snprintf(id, sizeof id, "%lld", (long long)r->customer);
    snprintf(version, sizeof version, "%lld", (long long)it->version);
    if (it->version > 0)
        page_time(it->saved_us, when);
    page_fill(main, pages_show,
              SLOTS({"user", r->person->user, NULL}, {"id", id, NULL}, {"name", it->text[0], NULL},
                    {"email", it->text[1], NULL}, {"phone", it->text[2], NULL},
                    {"note", it->text[3], NULL}, {"addresses", NULL, addresses},
                    {"version", version, NULL}, {"by", it->saved_by, NULL}, {"when", when, NULL},
                    {"lock", NULL, lock}, {"end", locked ? "edit-lock" : "div", NULL},
                    {"notice", NULL, notice}, {"hidden", notice != NULL ? "hidden" : "", NULL},
                    {"unread", notice != NULL ? "" : "hidden", NULL},
                    {"policy", hf_policy_name(policy), NULL}, {"about", policy_about(policy), NULL},
                    {"server", r->app->server, NULL}, {"csrf", r->session->csrf, NULL}));
    request_page(r, notice != NULL ? 423 : 200, "Customer", main);
    evbuffer_free(main);
    evbuffer_free(addresses);
    evbuffer_free(lock);
}

hf_status command_show(request *r, hf_error *err)
{
    work *its_work = NULL;
    bool refused = false;
    hf_policy policy = r->app->records.policy;
    customer it = {0};
    hf_status status = records_want(policy, false) != HF_MODE_COUNT
                           ? read_under_lock(r, &refused, &its_work, &it, err)
                           : records_read(&r->app->records, r->person, r->customer, &it, err);
    if (status != HF_OK)
        return status;
    struct evbuffer *notice = refused ? refusal_notice(r, err, false) : NULL;
    read_show(r, &it, policy, its_work, notice);
    if (notice != NULL)
        evbuffer_free(notice);
    return HF_OK;
}

/* ---- as JSON ---- */

/* What the page's script loads after its lock was granted. From now on it is what the work has
 * read. */
hf_status command_record(request *r, hf_error *err)
{
    work *its_work = session_work(r->session, request_query(r, "work"));
    customer loose;
    bool of_work = its_work != NULL && its_work->customer == r->customer;
    const customer *it = of_work ? &its_work->read : &loose;
    hf_status status = of_work
                           ? records_load(&r->app->records, its_work, false, err)
                           : records_read(&r->app->records, r->person, r->customer, &loose, err);
    if (status != HF_OK)
        return status;
    r->status = 200;
    r->type = "application/json";
    evbuffer_add_printf(r->answer, "{\"version\":%lld,\"fields\":{", (long long)it->version);
    for (int i = 0; i < FIELD_COUNT; i++) {
        evbuffer_add_printf(r->answer, "%s\"%s\":", i > 0 ? "," : "", customer_fields[i].name);
        page_json(r->answer, it->text[i]);
    }
    evbuffer_add_printf(r->answer, "}}");
    return HF_OK;
}
