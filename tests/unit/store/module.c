/* SPDX-License-Identifier: MIT */
/* A store in a module of its own: the memory store, with the library's insides linked in, as a real
 * module would have them. */
#include "store/registry.h"

__attribute__((visibility("default"))) hf_store_module_info hf_store_module;

#ifndef MODULE_VERSION
#define MODULE_VERSION HF_VERSION
#endif

hf_store_module_info hf_store_module = {MODULE_VERSION, &hf_store_memory, NULL};
