/* SPDX-License-Identifier: MIT */
/* What the tests of the remote store share: a server in front of a memory store, the remote store
 * that talks to it (linked in, not loaded as a module, so that its memory can be made scarce), and
 * a session. */
#ifndef HF_TESTS_UNIT_STORE_REMOTE_SCENE_H
#define HF_TESTS_UNIT_STORE_REMOTE_SCENE_H

#include <holdfast/holdfast.h>
#include <support/batch_server.h>
#include <support/check.h>
#include <support/test_store.h>

typedef struct scene {
    hf_store *behind;
    batch_server *server;
    char url[HF_URL_MAX];
    hf_store *store;
    hf_credentials alice;
} scene;

/* By the linked module; url as hf_store_open takes it. */
hf_status remote_open(const char *url, hf_store **out, hf_error *err);

/* A server, nothing opened yet. */
void scene_serve(scene *s, const char *socket_path, const batch_server_tls *tls);
/* And the store on it, with `parameters` ("" or "?timeout=300ms") at its URL, and alice's session.
 * */
void scene_open(scene *s, const char *parameters);
void scene_close(scene *s);

/* Makes the next request begin on a new connection. */
void scene_reconnect(scene *s);

/* One op, by alice, on policy/ID; what the batch came to, or its op. */
hf_status ask(scene *s, hf_op_kind kind, const char *id, const char *request_id, hf_error *err);

/* The events in the store behind, of that kind. */
size_t events_of(scene *s, hf_event_kind kind);

#endif
