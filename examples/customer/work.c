/* SPDX-License-Identifier: MIT */
/* Beginning and ending a business transaction. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_NAME "customer application"

/* ---- the token ---- */

static bool office_owns(const hf_token *token)
{
    return strcmp(token->name, TOKEN_NAME) == 0 && token->revoked_us == 0 && token->expires_us == 0;
}

/* A session acts at the server by the rights of the token that opened it. This one lets pages work
 * with customers and nothing else. Nobody needs its secret, so it is forgotten at once. */
hf_status office_open(office *it, hf_error *err)
{
    hf_result *page = NULL;
    hf_list_options options = {.limit = HF_LIST_MAX};
    hf_status status;
    it->token[0] = '\0';
    do {
        status = hf_manager_tokens(it->manager, &options, &page, err);
        const hf_answer *answer = status == HF_OK ? hf_result_answer(page) : NULL;
        for (size_t i = 0; answer != NULL && i < answer->tokens_count; i++)
            if (office_owns(&answer->tokens[i]))
                snprintf(it->token, sizeof it->token, "%s", answer->tokens[i].id);
        bool more = answer != NULL && answer->more;
        if (more)
            options.after = *answer->next;
        hf_result_free(page);
        page = NULL;
        if (!more)
            break;
    } while (it->token[0] == '\0');
    if (status != HF_OK || it->token[0] != '\0')
        return status;
    hf_token_key key;
    hf_token_options token = {.name = TOKEN_NAME, .roles = "use:customer", .actor = TOKEN_NAME};
    status = hf_manager_token_create(it->manager, &token, &key, NULL, err);
    if (status == HF_OK) {
        snprintf(it->token, sizeof it->token, "%s", key.id);
        hf_token_clear(&key);
    }
    return status;
}

/* ---- beginning ---- */

/* hf_session_open would do, but for the token: a session that no token opened has no rights at a
 * server, and pages talk to it. */
static hf_status work_open_session(const office *in, const person *who, hf_credentials *key,
                                   hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_credentials_new(NULL, key, err);
    if (status == HF_OK)
        status = hf_batch_new(1, &batch, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(batch, HF_OP_SESSION_OPEN);
    op->session = key;
    op->user = who->user;
    op->name = who->name;
    op->idle_us = in->idle_us;
    op->caller = in->token;
    status = hf_store_execute(hf_manager_store(in->manager), batch, err);
    if (status == HF_OK && op->answer.status != HF_OK)
        status = fail(err, op->answer.status, "%s", op->answer.message);
    hf_batch_free(batch);
    return status;
}

static hf_status work_attach(const office *in, const person *who, hf_session **out, hf_error *err)
{
    hf_credentials key;
    char secret[WORK_SECRET_SIZE];
    hf_status status = work_open_session(in, who, &key, err);
    if (status == HF_OK) {
        snprintf(secret, sizeof secret, "%s.%s", key.id, key.key);
        status = hf_session_attach(in->manager, secret, out, err);
        explicit_bzero(secret, sizeof secret);
    }
    hf_credentials_clear(&key);
    return status;
}

hf_status work_begin(const office *in, const person *who, int64_t number, work *before, work **out,
                     hf_error *err)
{
    work *it = calloc(1, sizeof *it);
    if (it == NULL)
        return fail(err, HF_NO_MEMORY, "Out of memory.");
    it->who = who;
    it->customer = number;
    hf_status status = work_attach(in, who, &it->session, err);
    if (status != HF_OK) {
        free(it);
        return status;
    }
    snprintf(it->name, sizeof it->name, "%s", hf_session_id(it->session));
    if (before != NULL) {
        it->older = before->session;
        before->session = NULL;
        work_end(before);
    }
    *out = it;
    return HF_OK;
}

hf_status work_renew(const office *in, work *it, hf_error *err)
{
    hf_session *fresh = NULL;
    hf_status status = work_attach(in, it->who, &fresh, err);
    if (status != HF_OK)
        return status;
    work_unread(it);
    work_settle(it);
    it->older = it->session;
    it->session = fresh;
    return HF_OK;
}

bool work_lives(work *it)
{
    return hf_session_beat(it->session, NULL, NULL) == HF_OK;
}

void work_secret(const work *it, char *out)
{
    const hf_credentials *key = hf_session_credentials(it->session);
    snprintf(out, WORK_SECRET_SIZE, "%s.%s", key->id, key->key);
}

hf_resource work_resource(int64_t number)
{
    hf_resource name = {.type = "customer"};
    snprintf(name.id, sizeof name.id, "%lld", (long long)number);
    return name;
}

/* ---- ending ---- */

static void work_close(hf_session **session)
{
    hf_error err;
    if (*session != NULL && hf_session_close(*session, &err) != HF_OK)
        fprintf(stderr, "customer: %s\n", err.message);
    hf_session_free(*session);
    *session = NULL;
}

void work_settle(work *it)
{
    work_close(&it->older);
}

void work_unread(work *it)
{
    hf_unit_free(it->unit);
    it->unit = NULL;
    it->parts = (aggregate){0};
}

void work_end(work *it)
{
    if (it == NULL)
        return;
    work_unread(it);
    work_close(&it->older);
    work_close(&it->session);
    free(it);
}
