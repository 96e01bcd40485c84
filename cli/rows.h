/* SPDX-License-Identifier: MIT */
/* Locks, requests, sessions, types and tokens as rows of a table. */
#ifndef HF_CLI_ROWS_H
#define HF_CLI_ROWS_H

#include "cli/table.h"

#include <holdfast/holdfast.h>

/* Each readies a table for rows of its kind. */
void cli_lock_table(cli_table *table);
void cli_request_table(cli_table *table);
void cli_session_table(cli_table *table);
void cli_type_table(cli_table *table);
void cli_token_table(cli_table *table);

/* Add all rows of that kind in the answer. */
hf_status cli_add_locks(cli_table *table, const hf_answer *answer, hf_error *err);
hf_status cli_add_requests(cli_table *table, const hf_answer *answer, hf_error *err);
hf_status cli_add_sessions(cli_table *table, const hf_answer *answer, hf_error *err);
hf_status cli_add_types(cli_table *table, const hf_answer *answer, hf_error *err);
hf_status cli_add_tokens(cli_table *table, const hf_answer *answer, hf_error *err);

#endif
