/* SPDX-License-Identifier: MIT */
/* A unit as bytes, for a token: what it has read, set, added, removed and relies on. */
#ifndef HF_RECORD_PACK_H
#define HF_RECORD_PACK_H

#include "record/inside.h"

/* Appends it; what fails sticks in the buffer. */
void rec_pack(const hf_unit *unit, hf_buffer *out);

/* Fills an empty unit. HF_INVALID: the bytes make no sense, or the tables have changed. */
hf_status rec_unpack(hf_unit *unit, hf_slice bytes, hf_error *err);

#endif
