/* SPDX-License-Identifier: MIT */
/* The driver, for those who open a database by its URL and are no store (db/open.h). */
#include "db/mysql.h"

#include "db/open.h"

__attribute__((visibility("default"))) extern const hf_db_module_info hf_db_module;
const hf_db_module_info hf_db_module = {HF_VERSION, &hf_db_mysql};
