/* SPDX-License-Identifier: MIT */
/* The mapper registry: locks and versions around the mappers. */
#include "registry.h"

#include "mapper.h"

#include <stdio.h>
#include <stdlib.h>

/* All the tables of the aggregate; the root's first. */
static const mapper *const mappers[] = {&customer_mapper, &address_mapper};
enum { MAPPERS = sizeof mappers / sizeof *mappers };

hf_status registry_install(const registry *in, hf_error *err)
{
    hf_status status = HF_OK;
    for (int i = 0; status == HF_OK && i < MAPPERS; i++)
        status = database_run(in->db, mappers[i]->schema, err);
    return status;
}

/* ---- what the policy wants ---- */

hf_status registry_policy(const registry *in, hf_policy *out, hf_error *err)
{
    hf_type type;
    *out = HF_POLICY_NONE;
    hf_status status = hf_manager_type_get(in->manager, "customer", &type, err);
    if (status == HF_OK)
        *out = type.policy;
    return status == HF_NOT_FOUND ? HF_OK : status;
}

hf_mode registry_wants(hf_policy policy, bool edit)
{
    static const hf_mode wants[HF_POLICY_COUNT][2] = {
        /*                               to read         to edit */
        [HF_POLICY_NONE] = {HF_MODE_COUNT, HF_MODE_COUNT},
        [HF_POLICY_OPTIMISTIC] = {HF_MODE_COUNT, HF_MODE_COUNT},
        [HF_POLICY_EXCLUSIVE_WRITE] = {HF_MODE_COUNT, HF_EXCLUSIVE},
        [HF_POLICY_EXCLUSIVE_READ] = {HF_EXCLUSIVE, HF_EXCLUSIVE},
        [HF_POLICY_READ_WRITE] = {HF_SHARED, HF_EXCLUSIVE},
    };
    return wants[policy][edit];
}

/* Without a transaction the lock and what is read or written under it would not be one. */
static hf_status registry_begin(const registry *in, hf_policy *policy, hf_error *err)
{
    if (!transaction_is_open(in->db))
        return fail(err, HF_INTERNAL,
                    "A customer is read and saved in a transaction; none is open.");
    return registry_policy(in, policy, err);
}

/* ---- reading ---- */

static hf_status registry_load(const registry *in, int64_t id, customer *out, hf_error *err)
{
    hf_version version = {0};
    hf_resource resource = {.type = "customer"};
    snprintf(resource.id, sizeof resource.id, "%lld", (long long)id);
    hf_status status = hf_manager_version(in->manager, &resource, &version, err);
    if (status != HF_OK && status != HF_NOT_FOUND)
        return status;
    *out = (customer){.id = id, .version = version.number};
    status = HF_OK;
    for (int i = 0; status == HF_OK && i < MAPPERS; i++)
        status = mappers[i]->load(in->db, out, err);
    if (status == HF_NOT_FOUND && version.gone) {
        char when[HF_TIME_SIZE];
        hf_time_format(version.saved_us, when);
        fail(err, HF_NOT_FOUND, "Customer %lld was deleted by %s at %.5s UTC.", (long long)id,
             version.name, when + 11);
    }
    return status;
}

/* Acquiring what is held is harmless, so it is asked every time; but a new grant makes what was
 * loaded before it worthless: another may have saved until then. */
static hf_status registry_acquire(const registry *in, work *for_work, bool edit, hf_error *err)
{
    hf_policy policy;
    hf_status status = registry_begin(in, &policy, err);
    hf_mode mode = status == HF_OK ? registry_wants(policy, edit) : HF_MODE_COUNT;
    if (mode == HF_MODE_COUNT)
        return status;
    hf_acquire_options options = {.mode = mode, .purpose = edit ? "editing" : "reading"};
    int64_t before = for_work->lock.fence;
    status =
        hf_session_acquire(for_work->session, &for_work->resource, &options, &for_work->lock, err);
    for_work->loaded = for_work->loaded && for_work->lock.fence == before;
    return status;
}

static hf_status registry_take(const registry *in, work *for_work, bool edit, const customer **out,
                               hf_error *err)
{
    hf_status status = registry_acquire(in, for_work, edit, err);
    if (status == HF_OK && !for_work->loaded)
        status = registry_load(in, for_work->customer, &for_work->read, err);
    if (status != HF_OK)
        return status;
    for_work->loaded = true;
    *out = &for_work->read;
    return HF_OK;
}

hf_status registry_find(const registry *in, work *for_work, const customer **out, hf_error *err)
{
    return registry_take(in, for_work, false, out, err);
}

hf_status registry_edit(const registry *in, work *for_work, const customer **out, hf_error *err)
{
    return registry_take(in, for_work, true, out, err);
}

hf_status registry_read(const registry *in, int64_t id, customer *out, hf_error *err)
{
    hf_policy policy;
    hf_status status = registry_begin(in, &policy, err);
    if (status == HF_OK && registry_wants(policy, false) != HF_MODE_COUNT)
        return fail(err, HF_NOT_HELD, "Customer %lld can't be read without its lock.",
                    (long long)id);
    return status != HF_OK ? status : registry_load(in, id, out, err);
}

hf_status registry_refresh(const registry *in, work *for_work, const customer **out, hf_error *err)
{
    hf_policy policy;
    hf_status status = registry_begin(in, &policy, err);
    if (status == HF_OK && registry_wants(policy, false) != HF_MODE_COUNT)
        status = hf_session_holds(for_work->session, &for_work->resource, 0, NULL, err);
    if (status == HF_OK)
        status = registry_load(in, for_work->customer, &for_work->read, err);
    for_work->loaded = status == HF_OK;
    *out = &for_work->read;
    return status;
}

hf_status registry_list(const registry *in, listed out[LIST_MAX], size_t *count, hf_error *err)
{
    sqlite3_stmt *stmt = database_prepare(
        in->db,
        "SELECT c.id, c.name, coalesce(a.city, '') FROM customer c LEFT JOIN address a"
        " ON a.customer = c.id AND a.kind = 'billing' ORDER BY c.id LIMIT ?",
        err);
    if (stmt == NULL)
        return err->status;
    int found;
    *count = 0;
    sqlite3_bind_int(stmt, 1, LIST_MAX);
    while ((found = sqlite3_step(stmt)) == SQLITE_ROW) {
        listed *it = &out[(*count)++];
        it->id = sqlite3_column_int64(stmt, 0);
        snprintf(it->name, sizeof it->name, "%s", (const char *)sqlite3_column_text(stmt, 1));
        snprintf(it->city, sizeof it->city, "%s", (const char *)sqlite3_column_text(stmt, 2));
    }
    hf_status status = found == SQLITE_DONE ? HF_OK : database_failed(in->db, err);
    sqlite3_finalize(stmt);
    return status;
}

/* ---- saving ---- */

/* The check. Where a lock is wanted the session proves it. Where none is, the version alone
 * decides, and the person may save even if the session has ended meanwhile. */
static hf_status registry_claim(const registry *in, const work *for_work, int64_t version,
                                int64_t fence, bool gone, hf_version *now, hf_error *err)
{
    hf_policy policy;
    hf_save save = {
        .resource = for_work->resource, .version = version, .absent = version == 0, .gone = gone};
    hf_status status = registry_begin(in, &policy, err);
    bool locks = status == HF_OK && registry_wants(policy, true) != HF_MODE_COUNT;
    save.fence = locks ? fence : 0;
    if (status == HF_OK)
        status = hf_session_save(for_work->session, &save, NULL, now, err);
    if (status != HF_EXPIRED || locks)
        return status;
    hf_save_options options = {.user = for_work->who->user, .name = for_work->who->name};
    return hf_manager_save(in->manager, &save, &options, now, err);
}

hf_status registry_save(const registry *in, work *for_work, const customer *changed, int64_t fence,
                        hf_version *now, hf_error *err)
{
    hf_status status = registry_claim(in, for_work, changed->version, fence, false, now, err);
    for (int i = 0; status == HF_OK && i < MAPPERS; i++)
        status = mappers[i]->store(in->db, changed, err);
    return status;
}

hf_status registry_add(const registry *in, work *for_work, const customer *it, hf_error *err)
{
    hf_status status = registry_acquire(in, for_work, true, err);
    return status != HF_OK ? status : registry_save(in, for_work, it, 0, NULL, err);
}

hf_status registry_remove(const registry *in, work *for_work, int64_t version, int64_t fence,
                          hf_version *now, hf_error *err)
{
    hf_status status = registry_claim(in, for_work, version, fence, true, now, err);
    for (int i = MAPPERS - 1; status == HF_OK && i >= 0; i--)
        status = mappers[i]->remove(in->db, for_work->customer, err);
    return status;
}

hf_status registry_next_id(const registry *in, int64_t *out, hf_error *err)
{
    sqlite3_stmt *stmt =
        database_prepare(in->db, "SELECT coalesce(max(id), 40) + 1 FROM customer", err);
    if (stmt == NULL)
        return err->status;
    hf_status status = sqlite3_step(stmt) == SQLITE_ROW ? HF_OK : database_failed(in->db, err);
    if (status == HF_OK)
        *out = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return status;
}
