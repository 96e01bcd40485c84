/* SPDX-License-Identifier: MIT */
/* What the routes do: for each an `ask`, which turns what was read into ops, and a `tell`, which
 * turns the answers into the reply. */
#ifndef HF_SERVER_HANDLERS_H
#define HF_SERVER_HANDLERS_H

#include "server/exchange.h"

/* ---- what several share ---- */

/* A page of a list: `after` and `limit`. */
hf_status ask_page(exchange *x, hf_op *op, hf_error *err);
/* Asks that kind of op of each of `resources`; x->own are those. */
hf_status ask_each(exchange *x, hf_op_kind kind, hf_error *err);
/* {"locks":[...]} of the first op; its one lock. */
void tell_locks(exchange *x);
void tell_lock(exchange *x);

/* ---- route_sessions.c ---- */

hf_status ask_session_open(exchange *x, hf_error *err);
void tell_session_open(exchange *x);
hf_status ask_beat(exchange *x, hf_error *err);
void tell_beat(exchange *x);
hf_status ask_close(exchange *x, hf_error *err);
hf_status ask_close_beacon(exchange *x, hf_error *err);
void tell_closed(exchange *x);
hf_status ask_sessions(exchange *x, hf_error *err);
void tell_sessions(exchange *x);

/* ---- route_locks.c ---- */

hf_status ask_acquire(exchange *x, hf_error *err);
void tell_acquire(exchange *x);
hf_status ask_acquire_all(exchange *x, hf_error *err);
void tell_acquire_all(exchange *x);
hf_status ask_change(exchange *x, hf_error *err);
hf_status ask_release(exchange *x, hf_error *err);
hf_status ask_request(exchange *x, hf_error *err);
hf_status ask_hand_over(exchange *x, hf_error *err);
hf_status ask_decline(exchange *x, hf_error *err);
hf_status ask_force_release(exchange *x, hf_error *err);
hf_status ask_who(exchange *x, hf_error *err);
void tell_who(exchange *x);
hf_status ask_lookup(exchange *x, hf_error *err);
void tell_lookup(exchange *x);
hf_status ask_list(exchange *x, hf_error *err);

/* ---- route_versions.c ---- */

hf_status ask_version(exchange *x, hf_error *err);
void tell_version(exchange *x);
hf_status ask_save(exchange *x, hf_error *err);
hf_status ask_delete(exchange *x, hf_error *err);
void tell_save(exchange *x);
hf_status ask_commit(exchange *x, hf_error *err);
void tell_commit(exchange *x);
void refuse_commit(exchange *x, const hf_op *op);
hf_status ask_versions(exchange *x, hf_error *err);
void tell_versions(exchange *x);

/* ---- route_admin.c ---- */

hf_status ask_type(exchange *x, hf_error *err);
void tell_type(exchange *x);
hf_status ask_types(exchange *x, hf_error *err);
void tell_types(exchange *x);
hf_status ask_type_set(exchange *x, hf_error *err);
void tell_type_set(exchange *x);
hf_status ask_tokens(exchange *x, hf_error *err);
void tell_tokens(exchange *x);
hf_status ask_token_create(exchange *x, hf_error *err);
void tell_token_create(exchange *x);
hf_status ask_token_revoke(exchange *x, hf_error *err);
void tell_token(exchange *x);
hf_status ask_login(exchange *x, hf_error *err);
hf_status judge_login(exchange *x, hf_error *err);
void tell_login(exchange *x);
void tell_login_show(exchange *x);
void tell_logout(exchange *x);

/* ---- route_audit.c ---- */

hf_status ask_audit_log(exchange *x, hf_error *err);
void tell_audit_log(exchange *x);
void done_audit_log(exchange *x);

/* ---- route_batch.c ---- */

hf_status ask_batch(exchange *x, hf_error *err);
hf_status judge_batch(exchange *x, hf_error *err);
hf_status fit_batch(exchange *x, hf_error *err);
void tell_batch(exchange *x);
void done_batch(exchange *x);

/* ---- route_events.c ---- */

hf_status ask_events(exchange *x, hf_error *err);
hf_status judge_events(exchange *x, hf_error *err);
void tell_events(exchange *x);
hf_status ask_ticket(exchange *x, hf_error *err);
void tell_ticket(exchange *x);
/* Ends the streams whose token no longer counts. */
void streams_check(service *s);

/* ---- route_health.c ---- */

void tell_health(exchange *x);
hf_status ask_ready(exchange *x, hf_error *err);
hf_status judge_ready(exchange *x, hf_error *err);
void tell_ready(exchange *x);
hf_status judge_metrics(exchange *x, hf_error *err);
void tell_metrics(exchange *x);
hf_status ask_history(exchange *x, hf_error *err);
void tell_history(exchange *x);
void tell_openapi(exchange *x);

/* ---- route_pages.c ---- */

void tell_page(exchange *x);
void tell_api(exchange *x);

#endif
