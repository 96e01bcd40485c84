/* SPDX-License-Identifier: MIT */
/* The customers as records. */
#include "records.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* ---- opening ---- */

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    "  email TEXT NOT NULL, phone TEXT NOT NULL, note TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS address (customer INTEGER NOT NULL REFERENCES customer (id),"
    "  kind TEXT NOT NULL, street TEXT NOT NULL, postcode TEXT NOT NULL, city TEXT NOT NULL,"
    "  country TEXT NOT NULL, PRIMARY KEY (customer, kind)) WITHOUT ROWID";

/* Addresses have no lock and no version of their own: whoever changes one saves the customer. The
 * versions stand in holdfast's own table, so that pages at the server hear of every save. */
static const hf_table described[] = {
    {.name = "customer"},
    {.name = "address", .parent = "customer", .link = "customer"},
};

/* Nothing is ever saved by these. */
static const hf_table listed_tables[] = {
    {.name = "customer", .compare = HF_COMPARE_ALL},
    {.name = "address", .compare = HF_COMPARE_ALL},
};

/* The application's own tables, as it would have them anyway. The server copies the log into the
 * file, nobody else: in SQLite before 3.51.3 a checkpoint and a write of two processes may damage
 * it. */
static hf_status records_install(const char *path, hf_error *err)
{
    sqlite3 *own = NULL;
    hf_status status = HF_OK;
    if (sqlite3_open(path, &own) == SQLITE_OK) {
        sqlite3_busy_timeout(own, 5000);
        sqlite3_db_config(own, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    if (sqlite3_exec(own, schema, NULL, NULL, NULL) != SQLITE_OK)
        status = fail(err, HF_UNAVAILABLE, "%s can't be used: %s.", path, sqlite3_errmsg(own));
    sqlite3_close(own);
    return status;
}

static hf_status records_policy(const records *it, hf_policy *out, hf_error *err)
{
    hf_type type;
    *out = HF_POLICY_NONE;
    hf_status status = hf_manager_type_get(it->manager, "customer", &type, err);
    if (status == HF_OK)
        *out = type.policy;
    return status == HF_NOT_FOUND ? HF_OK : status;
}

hf_status records_look(const records *it, bool *moved, hf_error *err)
{
    hf_policy now = HF_POLICY_NONE;
    hf_status status = records_policy(it, &now, err);
    *moved = status == HF_OK && (now != it->policy || it->customers == NULL);
    return status;
}

hf_status records_follow(records *it, hf_error *err)
{
    hf_status status = records_policy(it, &it->policy, err);
    hf_tables_close(it->customers);
    it->customers = NULL;
    memcpy(it->described, described, sizeof described);
    it->described[0].policy = it->policy;
    return status != HF_OK ? status
                           : hf_tables_open(it->url, it->described, 2, NULL, &it->customers, err);
}

hf_status records_open(records *it, const char *path, hf_policy policy, hf_error *err)
{
    hf_type type = {.type = "customer", .policy = policy};
    hf_policy now = HF_POLICY_NONE;
    snprintf(it->url, sizeof it->url, "sqlite:%s", path);
    hf_status status = hf_manager_open(it->url, &it->manager, err);
    if (status == HF_OK)
        status = records_install(path, err);
    if (status == HF_OK)
        status = records_policy(it, &now, err);
    if (status == HF_OK && now == HF_POLICY_NONE)
        status = hf_manager_type_set(it->manager, &type, "customer application", err);
    if (status == HF_OK)
        status = hf_tables_open(it->url, listed_tables, 2, NULL, &it->lines, err);
    return status == HF_OK ? records_follow(it, err) : status;
}

void records_close(records *it)
{
    hf_tables_close(it->customers);
    hf_tables_close(it->lines);
    hf_manager_close(it->manager);
}

hf_mode records_want(hf_policy policy, bool edit)
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

/* ---- loading ---- */

/* What was never saved by this application may be anything. */
static hf_status records_text(const hf_record *record, const char *column, customer *out, int at,
                              hf_error *err)
{
    const hf_field *value = hf_record_get(record, column);
    return value != NULL && value->kind == HF_FIELD_TEXT && customer_set(out, at, value->text)
               ? HF_OK
               : fail(err, HF_INTERNAL, "Customer %lld can't be shown.", (long long)out->id);
}

static hf_status records_take(const aggregate *from, customer *out, hf_error *err)
{
    hf_record_info info;
    hf_status status = HF_OK;
    hf_record_describe(from->root, &info);
    out->version = info.version;
    out->saved_us = info.at_us;
    snprintf(out->saved_by, sizeof out->saved_by, "%s", info.by);
    for (int i = 0; status == HF_OK && i < ROOT_FIELDS; i++)
        status = records_text(from->root, customer_fields[i].name, out, i, err);
    for (int kind = 0; kind < ADDRESS_KINDS; kind++)
        for (int part = 0; from->address[kind] != NULL && part < ADDRESS_PARTS; part++)
            if (status == HF_OK)
                status = records_text(from->address[kind], address_parts[part], out,
                                      address_begin(kind) + part, err);
    return status;
}

/* The root first: its version stands for all of it. */
static hf_status records_gather(hf_unit *unit, int64_t id, bool edit, aggregate *out, hf_error *err)
{
    char name[HF_RESOURCE_SIZE];
    hf_record **found = NULL;
    size_t count = 0;
    hf_field number = HF_NUMBER(id);
    *out = (aggregate){0};
    snprintf(name, sizeof name, "customer/%lld", (long long)id);
    hf_status status = (edit ? hf_unit_edit : hf_unit_find)(unit, name, &out->root, err);
    if (status == HF_OK)
        status = hf_unit_select(unit, "address", "customer = ?1", &number, 1, &found, &count, err);
    for (size_t i = 0; i < count; i++)
        for (int kind = 0; kind < ADDRESS_KINDS; kind++)
            if (strcmp(hf_record_get(found[i], "kind")->text, address_kinds[kind]) == 0)
                out->address[kind] = found[i];
    return status;
}

/* Others may save between the root and its addresses: then it is read again. */
static hf_status records_fetch(records *in, const hf_unit_options *options, int64_t id, bool edit,
                               hf_unit **unit, aggregate *parts, customer *out, hf_error *err)
{
    hf_status status = HF_STALE;
    *out = (customer){.id = id};
    for (int tries = 0; tries < 5 && status == HF_STALE; tries++) {
        hf_unit_free(*unit);
        status = hf_unit_open(in->customers, options, unit, err);
        if (status == HF_OK)
            status = records_gather(*unit, id, edit, parts, err);
    }
    if (status == HF_OK)
        status = records_take(parts, out, err);
    if (status != HF_OK) {
        hf_unit_free(*unit);
        *unit = NULL;
    }
    return status;
}

hf_status records_load(records *in, work *it, bool edit, hf_error *err)
{
    customer found;
    hf_unit_options options = {
        .session = it->session, .purpose = edit ? "editing" : "reading", .replaces = it->older};
    work_unread(it);
    hf_status status =
        records_fetch(in, &options, it->customer, edit, &it->unit, &it->parts, &found, err);
    work_settle(it);
    it->loaded = status == HF_OK;
    if (it->loaded)
        it->read = found;
    return status;
}

hf_status records_read(records *in, const person *who, int64_t id, customer *out, hf_error *err)
{
    hf_unit *unit = NULL;
    aggregate parts;
    hf_unit_options options = {.user = who->user};
    hf_status status = records_fetch(in, &options, id, false, &unit, &parts, out, err);
    hf_unit_free(unit);
    return status;
}

/* ---- saving ---- */

static hf_status records_put(hf_record *record, const char *column, const customer *from, int at,
                             hf_error *err)
{
    return hf_record_set(record, column, HF_TEXT(from->text[at]), err);
}

static hf_status records_put_address(hf_unit *unit, aggregate *into, const customer *from, int kind,
                                     hf_error *err)
{
    hf_record **address = &into->address[kind];
    hf_status status = HF_OK;
    if (!address_exists(from, kind))
        return *address == NULL ? HF_OK : hf_unit_remove(unit, *address, err);
    if (*address == NULL) {
        status = hf_unit_add(unit, "address", into->root, address, err);
        if (status == HF_OK)
            status = hf_record_set(*address, "kind", HF_TEXT(address_kinds[kind]), err);
    }
    for (int part = 0; status == HF_OK && part < ADDRESS_PARTS; part++)
        status = records_put(*address, address_parts[part], from, address_begin(kind) + part, err);
    return status;
}

static hf_status records_put_all(hf_unit *unit, aggregate *into, const customer *from,
                                 hf_error *err)
{
    hf_status status = HF_OK;
    for (int i = 0; status == HF_OK && i < ROOT_FIELDS; i++)
        status = records_put(into->root, customer_fields[i].name, from, i, err);
    for (int kind = 0; status == HF_OK && kind < ADDRESS_KINDS; kind++)
        status = records_put_address(unit, into, from, kind, err);
    return status;
}

static hf_status records_commit(hf_unit *unit, hf_error *err)
{
    hf_status status = HF_BUSY;
    for (int tries = 0;
         tries < 5 && (status == HF_BUSY || status == HF_RETRY || status == HF_UNSURE); tries++)
        status = hf_unit_commit(unit, NULL, err);
    return status;
}

/* The unit as the page had read it. One that this program does not have any more, from before a
 * restart, is the same if the version is. */
static hf_status records_reach(records *in, work *it, int64_t version, hf_error *err)
{
    hf_status status = it->unit != NULL ? HF_OK : records_load(in, it, false, err);
    if (status != HF_OK || it->read.version == version)
        return status;
    return fail(err, HF_STALE,
                "customer/%lld was changed by %s (you read version %lld, it is now %lld).",
                (long long)it->customer, it->read.saved_by, (long long)version,
                (long long)it->read.version);
}

hf_status records_save(records *in, work *it, const customer *typed, hf_error *err)
{
    hf_status status = records_reach(in, it, typed->version, err);
    if (status == HF_OK)
        status = records_put_all(it->unit, &it->parts, typed, err);
    if (status == HF_OK)
        status = records_commit(it->unit, err);
    work_unread(it);
    return status;
}

hf_status records_remove(records *in, work *it, int64_t version, hf_error *err)
{
    hf_status status = records_reach(in, it, version, err);
    if (status == HF_OK)
        status = hf_unit_remove(it->unit, it->parts.root, err);
    if (status == HF_OK)
        status = records_commit(it->unit, err);
    work_unread(it);
    return status;
}

hf_status records_add(records *in, hf_session *session, customer *it, hf_error *err)
{
    hf_unit *unit = NULL;
    aggregate parts = {0};
    hf_unit_options options = {.session = session};
    hf_status status = hf_unit_open(in->customers, &options, &unit, err);
    if (status == HF_OK)
        status = hf_unit_add(unit, "customer", NULL, &parts.root, err);
    if (status == HF_OK && it->id != 0)
        status = hf_record_set(parts.root, "id", HF_NUMBER(it->id), err);
    if (status == HF_OK)
        status = records_put_all(unit, &parts, it, err);
    if (status == HF_OK)
        status = records_commit(unit, err);
    if (status == HF_OK)
        it->id = hf_record_get(parts.root, "id")->number;
    hf_unit_free(unit);
    return status;
}

/* ---- the list ---- */

/* A customer has one billing address at most, so the first so many belong to the first so many. */
hf_status records_list(records *in, listed out[LIST_MAX], size_t *count, hf_error *err)
{
    hf_unit *unit = NULL;
    hf_record **customers = NULL, **addresses = NULL;
    hf_field most = HF_NUMBER(LIST_MAX);
    size_t found = 0, at = 0;
    *count = 0;
    hf_status status = hf_unit_open(in->lines, &(hf_unit_options){.user = "list"}, &unit, err);
    if (status == HF_OK)
        status = hf_unit_select(unit, "customer", "1 = 1 ORDER BY id LIMIT ?1", &most, 1,
                                &customers, count, err);
    if (status == HF_OK)
        status = hf_unit_select(unit, "address", "kind = 'billing' ORDER BY customer LIMIT ?1",
                                &most, 1, &addresses, &found, err);
    for (size_t i = 0; status == HF_OK && i < *count; i++) {
        listed *it = &out[i];
        *it = (listed){.id = hf_record_get(customers[i], "id")->number};
        snprintf(it->name, sizeof it->name, "%s", hf_record_get(customers[i], "name")->text);
        while (at < found && hf_record_get(addresses[at], "customer")->number < it->id)
            at++;
        if (at < found && hf_record_get(addresses[at], "customer")->number == it->id)
            snprintf(it->city, sizeof it->city, "%s", hf_record_get(addresses[at], "city")->text);
    }
    hf_unit_free(unit);
    return status;
}
