/* SPDX-License-Identifier: MIT */
/* What the routes do: for each an `ask`, which turns what was read into ops, and a `tell`, which
 * turns the answers into the reply. */
#ifndef HF_SERVER_HANDLERS_H
#define HF_SERVER_HANDLERS_H

#include "server/request.h"

/* ---- what several share ---- */

/* A page of a list: `after` and `limit`. */
hf_status ask_page(request *req, hf_op *op, hf_error *err);
/* Asks that kind of op of each of `resources`; req->own are those. */
hf_status ask_each(request *req, hf_op_kind kind, hf_error *err);
/* {"locks":[...]} of the first op; its one lock. */
void tell_locks(request *req);
void tell_lock(request *req);

/* ---- route_sessions.c ---- */

hf_status ask_session_open(request *req, hf_error *err);
void tell_session_open(request *req);
hf_status ask_beat(request *req, hf_error *err);
void tell_beat(request *req);
hf_status ask_close(request *req, hf_error *err);
hf_status ask_close_beacon(request *req, hf_error *err);
void tell_closed(request *req);
hf_status ask_sessions(request *req, hf_error *err);
void tell_sessions(request *req);

/* ---- route_locks.c ---- */

hf_status ask_acquire(request *req, hf_error *err);
void tell_acquire(request *req);
hf_status ask_acquire_all(request *req, hf_error *err);
void tell_acquire_all(request *req);
hf_status ask_change(request *req, hf_error *err);
hf_status ask_release(request *req, hf_error *err);
hf_status ask_request(request *req, hf_error *err);
hf_status ask_hand_over(request *req, hf_error *err);
hf_status ask_decline(request *req, hf_error *err);
hf_status ask_force_release(request *req, hf_error *err);
hf_status ask_who(request *req, hf_error *err);
void tell_who(request *req);
hf_status ask_lookup(request *req, hf_error *err);
void tell_lookup(request *req);
hf_status ask_list(request *req, hf_error *err);

/* ---- route_versions.c ---- */

hf_status ask_version(request *req, hf_error *err);
void tell_version(request *req);
hf_status ask_save(request *req, hf_error *err);
hf_status ask_delete(request *req, hf_error *err);
void tell_save(request *req);
hf_status ask_commit(request *req, hf_error *err);
void tell_commit(request *req);
void refuse_commit(request *req, const hf_op *op);
hf_status ask_versions(request *req, hf_error *err);
void tell_versions(request *req);

/* ---- route_admin.c ---- */

hf_status ask_type(request *req, hf_error *err);
void tell_type(request *req);
hf_status ask_types(request *req, hf_error *err);
void tell_types(request *req);
hf_status ask_type_set(request *req, hf_error *err);
void tell_type_set(request *req);
hf_status ask_tokens(request *req, hf_error *err);
void tell_tokens(request *req);
hf_status ask_token_create(request *req, hf_error *err);
void tell_token_create(request *req);
hf_status ask_token_revoke(request *req, hf_error *err);
void tell_token(request *req);
hf_status ask_login(request *req, hf_error *err);
hf_status judge_login(request *req, hf_error *err);
void tell_login(request *req);
void tell_login_show(request *req);
void tell_logout(request *req);

/* ---- route_audit.c ---- */

hf_status ask_audit_log(request *req, hf_error *err);
void tell_audit_log(request *req);
void done_audit_log(request *req);

/* ---- route_batch.c ---- */

hf_status ask_batch(request *req, hf_error *err);
hf_status judge_batch(request *req, hf_error *err);
hf_status fit_batch(request *req, hf_error *err);
void tell_batch(request *req);
void done_batch(request *req);

/* ---- route_events.c ---- */

hf_status ask_events(request *req, hf_error *err);
hf_status judge_events(request *req, hf_error *err);
void tell_events(request *req);
hf_status ask_ticket(request *req, hf_error *err);
void tell_ticket(request *req);
/* Ends the streams whose token no longer counts. */
void streams_check(service *s);

/* ---- route_health.c ---- */

void tell_health(request *req);
hf_status ask_ready(request *req, hf_error *err);
hf_status judge_ready(request *req, hf_error *err);
void tell_ready(request *req);
hf_status judge_metrics(request *req, hf_error *err);
void tell_metrics(request *req);
hf_status ask_history(request *req, hf_error *err);
void tell_history(request *req);
void tell_openapi(request *req);

/* ---- route_pages.c ---- */

void tell_page(request *req);
void tell_api(request *req);

#endif
