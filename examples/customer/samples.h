/* SPDX-License-Identifier: MIT */
/* Customers to begin with. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "records.h"

/* Saves them, if there is no customer at all. */
hf_status samples_add(records *in, hf_error *err);

#endif
