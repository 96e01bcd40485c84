/* SPDX-License-Identifier: MIT */
/* Who may give back with a session's key alone, or end others' locks, need not have the right to
 * look at the record (`use` or `observe` for its type). */
#ifndef HF_SERVER_ACCESS_HIDE_H
#define HF_SERVER_ACCESS_HIDE_H

#include "server/access/authorize.h"

/* Takes out of an op's answer what its caller may not look at: who else holds the record, took it
 * over or asks for it; and out of a list of sessions the sign-ins of pages. */
void hide_unseen(caller *who, hf_op *op);

#endif
