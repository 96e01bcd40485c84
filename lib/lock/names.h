/* SPDX-License-Identifier: MIT */
/* Checking names at the door. Each answers NULL when the name is good, else what is wrong with it,
 * as the end of a sentence: "the type " "is empty". */
#ifndef HF_LOCK_NAMES_H
#define HF_LOCK_NAMES_H

#include "base/text.h"

#include <holdfast/batch.h>

const char *hf_type_flaw(hf_slice type);
const char *hf_id_flaw(hf_slice id);
const char *hf_text_flaw(hf_slice text);     /* user, name, purpose, message, reason, actor */
const char *hf_session_id_flaw(hf_slice id); /* 32 lower-case hex digits */
const char *hf_key_flaw(hf_slice key);
const char *hf_token_id_flaw(hf_slice id); /* the same */
const char *hf_request_id_flaw(hf_slice id);
const char *hf_duration_flaw(int64_t us); /* 0 is not given, so good */

/* The roles of a token, sorted; the flaw as above: "the roles " "are missing". */
const char *hf_roles_read(const char *text, hf_roles *out);

#endif
