/* SPDX-License-Identifier: MIT */
/* The functions of the routes: for each a `parse`, which turns what was read into ops, and a
 * `reply`, which turns the answers into the HTTP reply. */
#ifndef HF_SERVER_ROUTES_HANDLERS_H
#define HF_SERVER_ROUTES_HANDLERS_H

#include "server/reply.h"

/* ---- what several share ---- */

/* A page of a list: `after` and `limit`. */
hf_status list_page_parse(request *req, hf_op *op, hf_error *err);
/* Asks that kind of op of each of `resources`; req->own are those. */
hf_status each_parse(request *req, hf_op_kind kind, hf_error *err);
/* {"locks":[...]} of the first op; its one lock. */
void locks_reply(request *req);
void lock_reply(request *req);

/* ---- route_locks.c: sessions ---- */

hf_status session_open_parse(request *req, hf_error *err);
void session_open_reply(request *req);
hf_status beat_parse(request *req, hf_error *err);
void beat_reply(request *req);
hf_status close_parse(request *req, hf_error *err);
hf_status close_beacon_parse(request *req, hf_error *err);
void close_reply(request *req);
hf_status sessions_parse(request *req, hf_error *err);
void sessions_reply(request *req);

/* ---- route_locks.c: locks ---- */

hf_status acquire_parse(request *req, hf_error *err);
void acquire_reply(request *req);
hf_status acquire_all_parse(request *req, hf_error *err);
void acquire_all_reply(request *req);
hf_status change_parse(request *req, hf_error *err);
hf_status release_parse(request *req, hf_error *err);
hf_status lock_request_parse(request *req, hf_error *err);
hf_status hand_over_parse(request *req, hf_error *err);
hf_status decline_parse(request *req, hf_error *err);
hf_status force_release_parse(request *req, hf_error *err);
hf_status who_parse(request *req, hf_error *err);
void who_reply(request *req);
hf_status lookup_parse(request *req, hf_error *err);
void lookup_reply(request *req);
hf_status list_parse(request *req, hf_error *err);

/* ---- route_versions.c ---- */

hf_status version_parse(request *req, hf_error *err);
void version_reply(request *req);
hf_status save_parse(request *req, hf_error *err);
hf_status delete_parse(request *req, hf_error *err);
void save_reply(request *req);
hf_status commit_parse(request *req, hf_error *err);
void commit_reply(request *req);
void commit_refuse(request *req, const hf_op *op);
hf_status versions_parse(request *req, hf_error *err);
void versions_reply(request *req);

/* ---- route_admin.c ---- */

hf_status type_parse(request *req, hf_error *err);
void type_reply(request *req);
hf_status types_parse(request *req, hf_error *err);
void types_reply(request *req);
hf_status type_set_parse(request *req, hf_error *err);
void type_set_reply(request *req);
hf_status tokens_parse(request *req, hf_error *err);
void tokens_reply(request *req);
hf_status token_create_parse(request *req, hf_error *err);
void token_create_reply(request *req);
hf_status token_revoke_parse(request *req, hf_error *err);
void token_reply(request *req);
hf_status login_parse(request *req, hf_error *err);
hf_status login_authorize(request *req, hf_error *err);
void login_reply(request *req);
void login_show_reply(request *req);
hf_status login_open_authorize(request *req, hf_error *err);
hf_status logout_parse(request *req, hf_error *err);
hf_status logout_authorize(request *req, hf_error *err);
void logout_reply(request *req);
void logout_refuse(request *req, const hf_op *op);

hf_status audit_log_parse(request *req, hf_error *err);
void audit_log_reply(request *req);
void audit_log_release(request *req);

/* ---- route_batch.c ---- */

hf_status batch_parse(request *req, hf_error *err);
hf_status batch_authorize(request *req, hf_error *err);
hf_status batch_admit(request *req, hf_error *err);
void batch_reply(request *req);
void batch_release(request *req);

/* ---- route_events.c ---- */

hf_status events_parse(request *req, hf_error *err);
hf_status events_authorize(request *req, hf_error *err);
void events_reply(request *req);
hf_status ticket_parse(request *req, hf_error *err);
void ticket_reply(request *req);
/* Ends the streams whose token no longer counts. */
void streams_check(service *s);

/* ---- route_pages.c ---- */

void health_reply(request *req);
hf_status ready_parse(request *req, hf_error *err);
hf_status ready_authorize(request *req, hf_error *err);
void ready_reply(request *req);
hf_status metrics_authorize(request *req, hf_error *err);
void metrics_reply(request *req);
hf_status history_parse(request *req, hf_error *err);
void history_reply(request *req);
void openapi_reply(request *req);

void page_reply(request *req);
void api_reply(request *req);

#endif
