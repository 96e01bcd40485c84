/* SPDX-License-Identifier: MIT */
/* Modules: what needs another client library is a shared object of its own, loaded when a URL first
 * asks for it (docs/decisions/0004). */
#ifndef HF_BASE_MODULE_H
#define HF_BASE_MODULE_H

#include <holdfast/status.h>

/* Loads holdfast-NAME.so: from HOLDFAST_MODULES if that is set, else from where modules are
 * installed, else from beside the program. *out is what it exports under `symbol`, a structure
 * whose first member is the version it was built with (const char *), which must be the library's.
 * It stays loaded. HF_UNAVAILABLE: it can't be; the sentence says what to do. */
hf_status hf_module_load(const char *name, const char *symbol, const void **out, hf_error *err);

#endif
