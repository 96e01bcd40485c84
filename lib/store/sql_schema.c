/* SPDX-License-Identifier: MIT */
/* Installing into a database: texts with their words filled in, and the sentences for what
 * stands in the way. */
#include "store/sql_schema.h"

#include "base/error.h"
#include "base/seams.h"
#include "sql/fields_fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_US INT64_C(60000000) /* a large table may take its time */
#define ROLE_MAX   255

void schema_add(hf_buffer *out, const char *sql, const schema_words *words)
{
    const struct {
        const char *word, *with;
    } known[] = {{"{ns}", words->names},
                 {"{role}", words->role},
                 {"{form}", hf_fields_fingerprint},
                 {"{digest}", words->digest}};
    while (*sql != '\0') {
        size_t plain = strcspn(sql, "{"), i = 0;
        hf_buffer_add(out, sql, plain);
        sql += plain;
        while (i < 4 &&
               (known[i].with == NULL || strncmp(sql, known[i].word, strlen(known[i].word)) != 0))
            i++;
        if (i < 4) {
            hf_buffer_add(out, known[i].with, strlen(known[i].with));
            sql += strlen(known[i].word);
        } else if (*sql != '\0')
            hf_buffer_add(out, sql++, 1);
    }
}

hf_status schema_run(hf_db *db, const char *sql, const schema_words *words, hf_error *err)
{
    hf_buffer text = {0};
    schema_add(&text, sql, words);
    char *filled = hf_buffer_take(&text);
    hf_status status = filled == NULL ? hf_fail_memory(err) : hf_db_run(db, filled, err);
    hf_free(filled);
    return status;
}

hf_status schema_ask(hf_db *db, const char *sql, const schema_words *words, char *out, size_t size,
                     hf_error *err)
{
    hf_buffer text = {0};
    out[0] = '\0';
    schema_add(&text, sql, words);
    char *filled = hf_buffer_take(&text);
    hf_status status = filled == NULL ? hf_fail_memory(err) : hf_db_ask(db, filled, out, size, err);
    hf_free(filled);
    return status;
}

schema_state schema_judge(const char *form)
{
    return strcmp(form, hf_fields_fingerprint) == 0 ? SCHEMA_OURS : SCHEMA_OTHER;
}

hf_status schema_check_role(const char *role, hf_error *err)
{
    size_t size = strlen(role);
    if (size == 0 || size > ROLE_MAX || !hf_text_is_clean(role, size))
        return hf_fail(
            err, HF_INVALID,
            "A role is the name of an account of the database: 1 to %d bytes of UTF-8 without "
            "control characters.",
            ROLE_MAX);
    return HF_OK;
}

hf_status schema_print(const hf_install_order *order, hf_buffer *text, hf_error *err)
{
    char *filled = hf_buffer_take(text);
    if (filled == NULL)
        return hf_fail_memory(err);
    order->sink(order->context, filled);
    hf_free(filled);
    return HF_OK;
}

static hf_status sql_schema_connect(const hf_db_driver *driver, const hf_url *url, hf_db **out,
                                    hf_error *err)
{
    hf_db_options options = {
        .timeout_us = CONNECT_US, .pooler = url->pooler, .password = url->password};
    *out = NULL;
    return hf_db_connect(driver, url->url, &options, out, err);
}

hf_status schema_read_url(const char *scheme, const char *rest, hf_url *out, hf_error *err)
{
    hf_buffer whole = {0};
    hf_buffer_print(&whole, "%s:%s", scheme, rest);
    char *text = hf_buffer_take(&whole);
    hf_status status = text == NULL ? hf_fail_memory(err) : hf_url_read(text, out, err);
    hf_url_wipe(text);
    return status;
}

static hf_status sql_schema_carry_out(const schema_kind *kind, const hf_install_order *order,
                                      const hf_url *url, const char *role, hf_error *err)
{
    hf_db *db = NULL;
    hf_status status = sql_schema_connect(kind->driver, url, &db, err);
    if (status == HF_OK)
        status = order->remove ? kind->uninstall(db, url->names, order->force, err)
                               : kind->make(db, url->names, role, err);
    hf_db_close(db);
    return status;
}

hf_status schema_install(const schema_kind *kind, const char *rest, const hf_install_order *order,
                         hf_error *err)
{
    hf_url url = {0};
    char *role = NULL;
    hf_status status = schema_read_url(kind->scheme, rest, &url, err);
    if (status == HF_OK && order->role != NULL)
        status = kind->quote_role(order->role, &role, err);
    if (status == HF_OK)
        status = order->print ? kind->print(order, url.names, role, err)
                              : sql_schema_carry_out(kind, order, &url, role, err);
    hf_free(role);
    hf_url_done(&url);
    return status;
}

/* ---- sentences ---- */

/* "schema holdfast of the database app on db1", "the database app on db1, as holdfast_..." */
const char *schema_place(hf_db *db, const char *names, char out[PLACE_SIZE])
{
    if (hf_db_kind_of(db) == HF_DB_POSTGRES)
        snprintf(out, PLACE_SIZE, "schema %s of %s", names, hf_db_path(db));
    else
        snprintf(out, PLACE_SIZE, "%s, as %s_...", hf_db_path(db), names);
    return out;
}

hf_status schema_refuse_form(const char *place, hf_error *err)
{
    return hf_fail(err, HF_UNAVAILABLE,
                   "The tables in %s were made by another version of holdfast, whose rows have "
                   "another form; they were left as they are. Use the program that made them, "
                   "remove them with 'holdfast uninstall URL --force', or name another namespace.",
                   place);
}

hf_status schema_refuse_unknown(const char *place, hf_error *err)
{
    return hf_fail(err, HF_UNAVAILABLE,
                   "The tables in %s were made by another version of holdfast, so this one does "
                   "not know whether locks live in them; nothing was removed. Use the program "
                   "that made them, or say --force.",
                   place);
}

hf_status schema_refuse_foreign(hf_db *db, const char *name, hf_error *err)
{
    return hf_fail(
        err, HF_UNAVAILABLE,
        "The name %s in %s is taken by something that holdfast did not make; it was left as it is. "
        "Remove or rename it, or name another namespace.",
        name, hf_db_path(db));
}

hf_status schema_refuse_broken(hf_db *db, const char *names, hf_error *err)
{
    char where[PLACE_SIZE];
    return hf_fail(err, HF_UNAVAILABLE,
                   "Some of what holdfast had in %s is gone; bring it back from a backup, or "
                   "remove the rest with "
                   "'holdfast uninstall URL --force' and install again.",
                   schema_place(db, names, where));
}

static hf_status sql_schema_refuse_missing(hf_db *db, const char *names, hf_error *err)
{
    char where[PLACE_SIZE];
    return hf_fail(
        err, HF_UNAVAILABLE,
        "There are no tables of holdfast in %s; an administrator makes them with 'holdfast install "
        "URL'.",
        schema_place(db, names, where));
}

hf_status schema_refuse_account(hf_db *db, const char *names, const char *account, hf_error *err)
{
    char where[PLACE_SIZE];
    return hf_fail(
        err, HF_UNAVAILABLE,
        "The account %s may not use the tables of holdfast in %s; an administrator allows it with "
        "'holdfast install URL --role %s'.",
        account, schema_place(db, names, where), account);
}

hf_status schema_refuse_live(hf_db *db, const char *count, hf_error *err)
{
    bool one = strcmp(count, "1") == 0;
    return hf_fail(
        err, HF_LOCKED,
        "%s %s in %s; wait until 'holdfast list' is empty, or say --force: then people lose what "
        "they hold.",
        count, one ? "lock lives" : "locks live", hf_db_path(db));
}

hf_status schema_refuse_guarded(hf_db *db, const char *there_sql, const char *guarded_sql,
                                const schema_words *words, hf_error *err)
{
    char there[128] = "", table[256] = "";
    hf_status status = schema_ask(db, there_sql, words, there, sizeof there, err);
    if (status == HF_OK && there[0] != '\0')
        status = schema_ask(db, guarded_sql, words, table, sizeof table, err);
    return status == HF_OK && table[0] != '\0'
               ? hf_fail(err, HF_INVALID, SCHEMA_GUARDED, table, table)
               : status;
}

hf_status schema_refuse_none(hf_db *db, const char *names, hf_error *err)
{
    char where[PLACE_SIZE];
    return hf_fail(err, HF_NOT_FOUND, "There are no tables of holdfast in %s; nothing was removed.",
                   schema_place(db, names, where));
}

hf_status schema_failed(hf_db *db, const char *names, hf_status status, bool removing,
                        hf_error *err)
{
    bool denied = hf_db_failure(db) == HF_FAILURE_DENIED;
    if (status == HF_OK || (!denied && (status != HF_INTERNAL || !removing)))
        return status;
    char said[HF_MESSAGE_SIZE] = "", where[PLACE_SIZE];
    if (err != NULL)
        snprintf(said, sizeof said, "%.600s", err->message);
    if (removing && !denied)
        return hf_fail(err, HF_UNAVAILABLE,
                       "The tables of holdfast in %s could not be removed. (%s)",
                       schema_place(db, names, where), said);
    if (removing)
        return hf_fail(
            err, HF_UNAVAILABLE,
            "This account may not remove the tables of holdfast in %s; their owner may. (%s)",
            schema_place(db, names, where), said);
    return hf_fail(
        err, HF_UNAVAILABLE,
        "This account may not make the tables of holdfast in %s; an administrator makes them with "
        "'holdfast install URL'. (%s)",
        schema_place(db, names, where), said);
}

hf_status schema_ready(const schema_kind *kind, hf_db *db, const char *names, schema_state state,
                       bool may_install, hf_error *err)
{
    char where[PLACE_SIZE];
    if (state == SCHEMA_OTHER)
        return schema_refuse_form(schema_place(db, names, where), err);
    if (state == SCHEMA_OURS)
        return HF_OK;
    return may_install ? kind->make(db, names, NULL, err)
                       : sql_schema_refuse_missing(db, names, err);
}
