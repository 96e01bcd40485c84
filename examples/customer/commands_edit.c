/* SPDX-License-Identifier: MIT */
/* Commands that change a customer: the form, the save, the conflict. A save that is refused loses
 * nothing: the work begins anew, with what was typed, what others have saved, and both merged. */
#include "commands.h"
#include "merge.h"
#include "pages/conflict.h"
#include "pages/conflict_row.h"
#include "pages/conflict_same.h"
#include "pages/edit.h"
#include "pages/field.h"
#include "pages/field_lines.h"
#include "pages/typed.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the form ---- */

static void edit_fields(struct evbuffer *out, const customer *it, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        char label[32];
        const field *about = &customer_fields[i];
        const char *part = strchr(about->label, ':'); /* the heading above says which address */
        snprintf(label, sizeof label, "%s", part != NULL ? part + 2 : about->label);
        label[0] = (char)toupper((unsigned char)label[0]);
        page_fill(out, about->type != NULL ? pages_field : pages_field_lines,
                  SLOTS({"name", about->name, NULL}, {"label", label, NULL},
                        {"type", about->type, NULL}, {"value", it->text[i], NULL},
                        {"required", about->needed ? "required" : "", NULL}));
    }
}

/* its_work NULL: of a new customer. `why`: what is wrong with what was typed, or NULL. */
static void edit_page(request *r, const work *its_work, const customer *it, struct evbuffer *lock,
                      struct evbuffer *notice, const char *why)
{
    char id[32], version[32], action[LINE_MAX_SIZE];
    bool fresh = its_work == NULL;
    struct evbuffer *main = evbuffer_new(), *root = evbuffer_new(), *addresses[ADDRESS_KINDS];
    edit_fields(root, it, 0, ROOT_FIELDS);
    for (int kind = 0; kind < ADDRESS_KINDS; kind++) {
        addresses[kind] = evbuffer_new();
        edit_fields(addresses[kind], it, address_begin(kind), address_begin(kind) + ADDRESS_PARTS);
    }
    snprintf(id, sizeof id, "%lld", (long long)it->id);
    snprintf(version, sizeof version, "%lld", (long long)it->version);
    snprintf(action, sizeof action, "/%s/customers%s%s", r->person->user, fresh ? "" : "/",
             fresh ? "" : id);
    page_fill(main, pages_edit,
              SLOTS({"title",
                     fresh                    ? "New customer"
                     : it->text[0][0] != '\0' ? it->text[0]
                                              : "Customer",
                     NULL},
                    {"action", action, NULL}, {"csrf", r->session->csrf, NULL},
                    {"work", fresh ? "" : its_work->name, NULL},
                    {"session", fresh ? "" : hf_session_id(its_work->session), NULL},
                    {"version", version, NULL}, {"root", NULL, root},
                    {"billing", NULL, addresses[0]}, {"delivery", NULL, addresses[1]},
                    {"visit", NULL, addresses[2]}, {"lock", NULL, lock},
                    {"end", fresh ? "div" : "edit-lock", NULL}, {"notice", NULL, notice},
                    {"disabled", notice != NULL ? "disabled" : "", NULL}, {"why", why, NULL},
                    {"hidden", why != NULL ? "" : "hidden", NULL},
                    {"fresh", fresh ? "hidden" : "", NULL}));
    request_page(r,
                 why != NULL      ? 422
                 : notice != NULL ? 423
                                  : 200,
                 fresh ? "New customer" : "Edit customer", main);
    evbuffer_free(main);
    evbuffer_free(root);
    for (int kind = 0; kind < ADDRESS_KINDS; kind++)
        evbuffer_free(addresses[kind]);
}

static void edit_show(request *r, const work *its_work, const customer *it, const hf_error *refused,
                      const char *why)
{
    struct evbuffer *lock = lock_tag(r, its_work, r->app->records.policy, true, refused != NULL);
    struct evbuffer *notice = refused != NULL ? refusal_notice(r, refused, true) : NULL;
    edit_page(r, its_work, it, lock, notice, why);
    evbuffer_free(lock);
    if (notice != NULL)
        evbuffer_free(notice);
}

hf_status command_new(request *r, hf_error *err)
{
    (void)err;
    struct evbuffer *lock = plain_tag();
    edit_page(r, NULL, &(customer){0}, lock, NULL, NULL);
    evbuffer_free(lock);
    return HF_OK;
}

/* Refused, the work stays: its page can ask for the customer, and go on when it is free. Until then
 * it shows what may be read without a lock. */
hf_status command_edit(request *r, hf_error *err)
{
    work *its_work = NULL;
    customer shown = {.id = r->customer};
    hf_status status = begin_work(r, r->customer, &its_work, err);
    if (status == HF_OK)
        status = records_load(&r->app->records, its_work, true, err);
    if (status != HF_OK && status != HF_LOCKED)
        return status;
    if (status == HF_OK)
        shown = its_work->read;
    else
        (void)records_read(&r->app->records, r->person, r->customer, &shown, NULL);
    edit_show(r, its_work, &shown, status == HF_LOCKED ? err : NULL, NULL);
    return HF_OK;
}

/* ---- what was typed ---- */

/* One field: of the form; or, from the conflict page, the side that was picked. NULL: the form does
 * not have it. */
static const char *typed_field(const request *r, int i)
{
    char name[64];
    snprintf(name, sizeof name, "pick.%s", customer_fields[i].name);
    const char *pick = request_field(r, name);
    if (pick != NULL && (strcmp(pick, "mine") == 0 || strcmp(pick, "theirs") == 0)) {
        snprintf(name, sizeof name, "%s.%s", pick, customer_fields[i].name);
        return request_field(r, name);
    }
    return request_field(r, customer_fields[i].name);
}

/* Takes what was typed over `into`; what the form does not have stays. *why: what is wrong with it,
 * or NULL. */
static void typed_take(const request *r, customer *into, const char **why)
{
    int missing;
    *why = NULL;
    for (int i = 0; i < FIELD_COUNT; i++) {
        const char *text = typed_field(r, i);
        if (text != NULL && !customer_set(into, i, text))
            *why =
                "A field is too long or has characters that can't be shown; it was left as it was.";
    }
    if (*why == NULL && !customer_complete(into, &missing))
        *why = "Please give the customer a name.";
}

static struct evbuffer *typed_list(const customer *mine, bool hidden)
{
    struct evbuffer *out = evbuffer_new();
    for (int i = 0; i < FIELD_COUNT; i++)
        if (hidden)
            page_fill(
                out, pages_conflict_same,
                SLOTS({"name", customer_fields[i].name, NULL}, {"value", mine->text[i], NULL}));
        else if (mine->text[i][0] != '\0')
            page_fill(
                out, "<dt>{{label}}</dt><dd><bdi>{{value}}</bdi></dd>",
                SLOTS({"label", customer_fields[i].label, NULL}, {"value", mine->text[i], NULL}));
    return out;
}

/* ---- the conflict ---- */

static void conflict_row(struct evbuffer *out, const merge *both, int i, const customer *read,
                         const customer *mine, const customer *theirs)
{
    static const char *const says[] = {"", "Only you changed this",
                                       "Only the other person changed this",
                                       "You both changed this: please choose"};
    static const char *const classes[] = {"", "mine", "theirs", "both"};
    merge_kind kind = both->kind[i];
    const field *about = &customer_fields[i];
    page_fill(out, pages_conflict_row,
              SLOTS({"name", about->name, NULL}, {"label", about->label, NULL},
                    {"says", says[kind], NULL}, {"class", classes[kind], NULL},
                    {"mine", mine->text[i], NULL}, {"theirs", theirs->text[i], NULL},
                    {"merged", both->merged.text[i], NULL},
                    {"before", read != NULL ? read->text[i] : NULL, NULL},
                    {"known", read != NULL && read->text[i][0] != '\0' ? "" : "hidden", NULL},
                    {"pick_mine", kind == MERGE_MINE ? "checked" : "", NULL},
                    {"pick_theirs", kind == MERGE_THEIRS ? "checked" : "", NULL}));
}

static void conflict_summary(const merge *both, char *out, size_t size)
{
    int alone = 0;
    for (int i = 0; i < FIELD_COUNT; i++)
        alone += both->kind[i] == MERGE_MINE || both->kind[i] == MERGE_THEIRS;
    if (both->both == 0)
        snprintf(
            out, size,
            "Nothing is in the way of anything else: all of it was merged. Look it over and save.");
    else
        snprintf(out, size, "%d %s merged; %d %s you.", alone,
                 alone == 1 ? "field was" : "fields were", both->both,
                 both->both == 1 ? "field needs" : "fields need");
}

static void conflict_page(request *r, const work *its_work, const customer *read,
                          const customer *mine, const hf_error *refused)
{
    merge both;
    char id[32], version[32], summary[128], when[PAGE_TIME_SIZE] = "";
    const customer *theirs = &its_work->read;
    struct evbuffer *main = evbuffer_new(), *rows = evbuffer_new(), *same = evbuffer_new();
    if (theirs->version > 0)
        page_time(theirs->saved_us, when);
    merge_make(&both, read, mine, theirs);
    for (int i = 0; i < FIELD_COUNT; i++)
        if (both.kind[i] == MERGE_SAME)
            page_fill(
                same, pages_conflict_same,
                SLOTS({"name", customer_fields[i].name, NULL}, {"value", mine->text[i], NULL}));
        else
            conflict_row(rows, &both, i, read, mine, theirs);
    snprintf(id, sizeof id, "%lld", (long long)its_work->customer);
    snprintf(version, sizeof version, "%lld", (long long)theirs->version);
    conflict_summary(&both, summary, sizeof summary);
    page_fill(main, pages_conflict,
              SLOTS({"user", r->person->user, NULL}, {"id", id, NULL},
                    {"csrf", r->session->csrf, NULL}, {"work", its_work->name, NULL},
                    {"version", version, NULL}, {"sentence", refused->message, NULL},
                    {"told", refused->status == HF_STALE ? "hidden" : "", NULL},
                    {"summary", summary, NULL}, {"by", theirs->saved_by, NULL},
                    {"when", when, NULL}, {"rows", NULL, rows}, {"same", NULL, same}));
    request_page(r, 409, "Your changes and theirs", main);
    evbuffer_free(main);
    evbuffer_free(rows);
    evbuffer_free(same);
}

/* What was typed, where it can't be merged now: someone has the customer, or it is gone. */
static void conflict_kept(request *r, const customer *mine, const work *its_work, const char *title,
                          const char *sentence, bool again)
{
    char id[32], version[32];
    struct evbuffer *main = evbuffer_new(), *list = typed_list(mine, false),
                    *same = typed_list(mine, true);
    snprintf(id, sizeof id, "%lld", (long long)its_work->customer);
    snprintf(version, sizeof version, "%lld", (long long)mine->version);
    page_fill(main, pages_typed,
              SLOTS({"user", r->person->user, NULL}, {"id", id, NULL},
                    {"csrf", r->session->csrf, NULL}, {"work", its_work->name, NULL},
                    {"version", version, NULL}, {"title", title, NULL},
                    {"sentence", sentence, NULL}, {"list", NULL, list}, {"same", NULL, same},
                    {"again", again ? "" : "hidden", NULL}));
    request_page(r, 409, title, main);
    evbuffer_free(main);
    evbuffer_free(list);
    evbuffer_free(same);
}

/* The work begins anew: under a pessimistic policy with the lock, so that nobody gets in between
 * again. */
static hf_status conflict_begin(request *r, work *its_work, const customer *mine,
                                const hf_error *refused, hf_error *err)
{
    customer before = its_work->read;
    bool known = its_work->loaded && before.version == mine->version;
    hf_error why = {0};
    hf_status status = work_renew(&r->app->office, its_work, err);
    if (status != HF_OK)
        return status;
    status = records_load(&r->app->records, its_work, true, &why);
    if (status == HF_OK)
        conflict_page(r, its_work, known ? &before : NULL, mine, refused);
    else if (status == HF_LOCKED || status == HF_NOT_FOUND)
        conflict_kept(r, mine, its_work, status == HF_LOCKED ? "Not saved yet" : "It was deleted",
                      why.message, status == HF_LOCKED);
    else
        *err = why;
    if (status == HF_LOCKED) /* what both began with is still what counts */
        its_work->loaded = known;
    return status == HF_LOCKED || status == HF_NOT_FOUND ? HF_OK : status;
}

/* ---- saving ---- */

/* The work that the form belongs to, with a session that lives: under a policy without locks the
 * version alone decides. One that the application does not know any more begins anew, without a
 * lock. */
static hf_status save_work(request *r, work **out, hf_error *err)
{
    *out = session_work(r->session, request_field(r, "work"));
    if (*out == NULL || (*out)->customer != r->customer)
        return begin_work(r, r->customer, out, err);
    if (work_lives(*out) || records_want(r->app->records.policy, true) != HF_MODE_COUNT)
        return HF_OK;
    return work_renew(&r->app->office, *out, err);
}

static bool save_is_refused(hf_status status)
{
    return status == HF_STALE || status == HF_NOT_HELD || status == HF_EXPIRED ||
           status == HF_LOCKED;
}

hf_status command_save(request *r, hf_error *err)
{
    work *its_work = NULL;
    const char *why;
    hf_error refused = {0};
    hf_status status = save_work(r, &its_work, err);
    if (status != HF_OK)
        return status;
    customer mine = its_work->read;
    mine.id = r->customer;
    mine.version = request_number(request_field(r, "holdfast_version"));
    typed_take(r, &mine, &why);
    if (why != NULL) {
        edit_show(r, its_work, &mine, NULL, why);
        return HF_OK;
    }
    status = records_save(&r->app->records, its_work, &mine, &refused);
    if (save_is_refused(status))
        return conflict_begin(r, its_work, &mine, &refused, err);
    if (status != HF_OK) {
        *err = refused;
        return status;
    }
    end_work(r, its_work);
    request_redirect(r, "/customers/%lld", (long long)r->customer);
    return HF_OK;
}

/* A new customer is its maker's until it is saved, which is at once. */
hf_status command_create(request *r, hf_error *err)
{
    work *its_work = NULL;
    const char *why;
    customer mine = {0};
    typed_take(r, &mine, &why);
    if (why != NULL) {
        struct evbuffer *tag = plain_tag();
        edit_page(r, NULL, &mine, tag, NULL, why);
        evbuffer_free(tag);
        return HF_OK;
    }
    hf_status status = work_begin(&r->app->office, r->person, 0, NULL, &its_work, err);
    if (status == HF_OK)
        status = records_add(&r->app->records, its_work->session, &mine, err);
    work_end(its_work);
    if (status == HF_OK)
        request_redirect(r, "/customers/%lld", (long long)mine.id);
    return status;
}

hf_status command_delete(request *r, hf_error *err)
{
    work *its_work = NULL;
    hf_status status = save_work(r, &its_work, err);
    if (status == HF_OK)
        status = records_remove(&r->app->records, its_work,
                                request_number(request_field(r, "holdfast_version")), err);
    if (status != HF_OK)
        return status;
    end_work(r, its_work);
    request_redirect(r, "/customers");
    return HF_OK;
}

hf_status command_cancel(request *r, hf_error *err)
{
    (void)err;
    work *its_work = session_work(r->session, request_field(r, "work"));
    if (its_work != NULL)
        end_work(r, its_work);
    if (records_want(r->app->records.policy, false) != HF_MODE_COUNT)
        request_redirect(r, "/customers"); /* showing it would take it again */
    else
        request_redirect(r, "/customers/%lld", (long long)r->customer);
    return HF_OK;
}
