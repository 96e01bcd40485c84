/* SPDX-License-Identifier: MIT */
/* A list that comes in pages, printed page by page until the end: as a table, or with --json as one
 * object. */
#ifndef HF_CLI_LISTING_H
#define HF_CLI_LISTING_H

#include "cli/call.h"
#include "cli/table.h"

/* What one kind of list has of its own. */
typedef struct cli_listing {
    const char *name; /* of the array in JSON */
    const char *none; /* the sentence for an empty list */
    hf_status (*fetch)(hf_manager *manager, const hf_list_options *options, hf_result **out,
                       hf_error *err);
    void (*table)(cli_table *table);
    hf_status (*add)(cli_table *table, const hf_answer *answer, hf_error *err);
    size_t (*count)(const hf_answer *answer);
    char *(*json)(const hf_answer *answer, size_t index);
} cli_listing;

/* Opens the store and prints all that passes the filter. */
hf_status cli_print_listing(cli_call *call, const cli_listing *listing,
                            const hf_list_options *filter, hf_error *err);

#endif
