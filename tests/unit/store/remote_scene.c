/* SPDX-License-Identifier: MIT */
/* What the tests of the remote store share; see remote_scene.h. */
#include "remote_scene.h"

#include <stdio.h>
#include <store/registry.h>
#include <string.h>

extern const hf_store_module_info hf_store_module;

hf_status remote_open(const char *url, hf_store **out, hf_error *err)
{
    *out = NULL;
    return hf_store_module.ops->open(url, out, err);
}

void scene_serve(scene *s, const char *socket_path, const batch_server_tls *tls)
{
    hf_error err = {0};
    memset(s, 0, sizeof *s);
    expect(HF_OK, hf_store_open("memory:", &s->behind, &err), err);
    s->server = batch_server_start(s->behind, socket_path, tls);
    batch_server_url(s->server, s->url);
}

void scene_open(scene *s, const char *parameters)
{
    char url[HF_URL_MAX + 256];
    hf_error err = {0};
    scene_serve(s, NULL, NULL);
    snprintf(url, sizeof url, "%s%s", s->url, parameters);
    expect(HF_OK, remote_open(url, &s->store, &err), err);
    expect(HF_OK, hf_credentials_new(NULL, &s->alice, &err), err);
    expect(HF_OK, ask(s, HF_OP_SESSION_OPEN, NULL, "open", &err), err);
}

void scene_close(scene *s)
{
    hf_store_close(s->store);
    batch_server_stop(s->server);
    hf_store_close(s->behind);
}

void scene_reconnect(scene *s)
{
    batch_server_cut(s->server);
}

hf_status ask(scene *s, hf_op_kind kind, const char *id, const char *request_id, hf_error *err)
{
    hf_batch *batch = NULL;
    *err = (hf_error){0};
    expect(HF_OK, hf_batch_new(1, &batch, err), *err);
    hf_op *op = hf_batch_add(batch, kind);
    op->session = &s->alice;
    op->type = id ? "policy" : NULL;
    op->id = id;
    op->user = kind == HF_OP_SESSION_OPEN ? "alice" : NULL;
    op->request_id = request_id;
    hf_status status = hf_store_execute(s->store, batch, err);
    if (status == HF_OK && op->answer.status != HF_OK) {
        status = err->status = op->answer.status;
        snprintf(err->message, sizeof err->message, "%s", op->answer.message);
    }
    hf_batch_free(batch);
    expect_lacks(err->message, s->alice.key);
    return status;
}

size_t events_of(scene *s, hf_event_kind kind)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    size_t found = 0;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_batch_add(batch, HF_OP_EVENTS)->limit = HF_LIST_MAX;
    expect(HF_OK, hf_store_execute(s->behind, batch, &err), err);
    const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
    for (size_t i = 0; i < answer->events_count; i++)
        found += answer->events[i].kind == kind;
    hf_batch_free(batch);
    return found;
}
