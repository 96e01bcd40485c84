/* SPDX-License-Identifier: MIT */
/* The one spelling of what travels as text: decimals, dates, times, uuids, JSON. Pure. */
#ifndef HF_RECORD_SPELLING_H
#define HF_RECORD_SPELLING_H

#include "record/inside.h"

/* Spells a text that a program or a database wrote; *out is in the arena and ends in NUL. False: it
 * is none of that kind, or memory is out, which is an *out without text and with a size. */
bool rec_spelling(rec_class holds, hf_slice text, hf_arena *arena, hf_slice *out);

#endif
