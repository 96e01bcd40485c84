/* SPDX-License-Identifier: MIT */
/* What calls declare: migrations of Rails and Laravel. */
#ifndef HF_AUDIT_MAPPING_H
#define HF_AUDIT_MAPPING_H

#include "audit/audit.h"

void audit_map_calls(audit_run *run);

#endif
