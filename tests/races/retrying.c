/* SPDX-License-Identifier: MIT */
/* The store that retries; see retrying.h. */
#include "races/retrying.h"

#include <base/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/timing.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS_MAX = 4, PAUSE_US = 2000 };

typedef struct retrying {
    hf_store base;
    hf_store *servers[SERVERS_MAX]; /* NULL: not opened yet */
    char urls[SERVERS_MAX][HF_URL_MAX];
    unsigned count, at;
    int64_t patience_us;
    retrying_tally *tally;
    /* the request id of what sight was lost of last: whoever asks for it is told the same */
    char lost[HF_REQUEST_ID_SIZE];
} retrying;

/* The server whose turn it is; HF_UNAVAILABLE: it is not there. */
static hf_status reach(retrying *r, hf_error *err)
{
    return r->servers[r->at] ? HF_OK : hf_store_open(r->urls[r->at], &r->servers[r->at], err);
}

static hf_status try_once(retrying *r, hf_batch *batch, hf_error *err)
{
    hf_status status = reach(r, err);
    if (status == HF_OK)
        status = hf_store_execute(r->servers[r->at], batch, err);
    /* A server that has lost its database says so of each op. */
    for (size_t i = 0; status == HF_OK && i < hf_batch_count(batch); i++) {
        hf_status told = hf_batch_op(batch, i)->answer.status;
        if (told == HF_UNSURE || told == HF_UNAVAILABLE)
            status = hf_fail(err, told, "Op %zu: %s.", i, hf_status_sentence(told));
    }
    return status;
}

/* "" where there is none. */
static const char *request_of(hf_batch *batch)
{
    const char *request = hf_batch_op(batch, 0)->request_id;
    return request ? request : "";
}

static hf_status fail_lost(hf_error *err)
{
    return hf_fail(err, HF_UNSURE, "It was unsure, and was refused when it was asked again.");
}

static bool all_well(hf_batch *batch)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        if (hf_batch_op(batch, i)->answer.status != HF_OK)
            return false;
    return true;
}

/* What was unsure has been answered. */
static hf_status retrying_settle(retrying *r, hf_batch *batch, hf_status status, hf_error *err)
{
    if (status == HF_OK && all_well(batch)) {
        r->tally->settled++;
        return HF_OK;
    }
    r->tally->lost_sight++;
    snprintf(r->lost, sizeof r->lost, "%s", request_of(batch));
    return fail_lost(err);
}

static hf_status execute_retrying(hf_store *store, hf_batch *batch, hf_error *err)
{
    retrying *r = (retrying *)store;
    bool unsure = false;
    int64_t failed_us = 0;
    if (r->lost[0] && strcmp(r->lost, request_of(batch)) == 0)
        return fail_lost(err);
    for (;;) {
        hf_status status = try_once(r, batch, err);
        bool failed = status == HF_UNSURE || status == HF_UNAVAILABLE;
        int64_t since_us = failed_us ? timing_now_us() - failed_us : 0;
        if (since_us > r->tally->longest_us)
            r->tally->longest_us = since_us;
        if (!failed || since_us > r->patience_us)
            return failed || !unsure ? status : retrying_settle(r, batch, status, err);
        unsure |= status == HF_UNSURE;
        r->tally->unsure += status == HF_UNSURE;
        r->tally->unavailable += status == HF_UNAVAILABLE;
        failed_us = failed_us ? failed_us : timing_now_us();
        r->at = (r->at + 1) % r->count;
        if (r->at == 0)
            usleep(PAUSE_US);
    }
}

static void grade_retrying(hf_store *store, hf_grade *out)
{
    retrying *r = (retrying *)store;
    if (reach(r, NULL) == HF_OK)
        hf_store_grade(r->servers[r->at], out);
}

static void close_retrying(hf_store *store)
{
    retrying *r = (retrying *)store;
    for (unsigned i = 0; i < r->count; i++)
        hf_store_close(r->servers[i]);
    free(r);
}

static const hf_store_ops retrying_ops = {
    .scheme = "retrying",
    .execute = execute_retrying,
    .grade = grade_retrying,
    .close = close_retrying,
};

hf_status retrying_open(const char *urls, unsigned seconds, retrying_tally *tally, hf_store **out,
                        hf_error *err)
{
    retrying *r = calloc(1, sizeof *r);
    if (r == NULL)
        abort();
    hf_store_init(&r->base, &retrying_ops);
    r->patience_us = (int64_t)seconds * 1000000;
    r->tally = tally;
    for (const char *at = urls; *at && r->count < SERVERS_MAX; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        snprintf(r->urls[r->count++], HF_URL_MAX, "%.*s", (int)size, at);
        at += size;
    }
    if (r->count == 0) {
        free(r);
        return hf_fail(err, HF_INVALID, "No server is named.");
    }
    *out = &r->base;
    return HF_OK;
}
