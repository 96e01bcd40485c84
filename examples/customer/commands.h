/* SPDX-License-Identifier: MIT */
/* The commands: what can be asked of the application, one function each. A command answers by
 * filling the request. If it fails and has not answered, the front controller tells err. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "front.h"

typedef hf_status command_process(request *r, hf_error *err);

/* commands_read.c */
command_process command_home, command_list, command_show, command_record;
/* commands_edit.c */
command_process command_new, command_edit, command_create, command_save, command_delete,
    command_cancel;
/* commands_lock.c */
command_process command_session, command_take_over, command_ask, command_take_over_form;
/* commands_sign.c */
command_process command_sign_in_page, command_sign_in, command_sign_out, command_enter;
/* commands_demo.c */
command_process command_demo, command_policy, command_style, command_script;

/* ---- what several of them need ---- */

/* Begins a work for the signed-in person, in the place of an older one on the same customer. */
hf_status begin_work(request *r, int64_t number, work **out, hf_error *err);

void end_work(request *r, work *it);

/* The opening tag of <edit-lock> for a work that a page shows, up to its attributes: its slots are
 * in lock.html. */
struct evbuffer *lock_tag(request *r, const work *it, hf_policy policy, bool edit, bool refused);

/* The same for a page that has no lock. */
struct evbuffer *plain_tag(void);

/* Who has it, since when, until when, for what; and what can be done about it, for pages without a
 * script. */
struct evbuffer *refusal_notice(request *r, const hf_error *err, bool edit);

/* The text of a policy for people. */
const char *policy_about(hf_policy policy);

#endif
