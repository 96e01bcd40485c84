/* SPDX-License-Identifier: MIT */
/* Customers to begin with. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "registry.h"

/* Saves them, if there is no customer at all. In a transaction. */
hf_status samples_add(const registry *in, const office *with, hf_error *err);

#endif
