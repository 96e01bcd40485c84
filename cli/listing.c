/* SPDX-License-Identifier: MIT */
/* Lists page by page: memory stays at one page however long the list is. */
#include "cli/listing.h"

#include "cli/output.h"

#include <stdio.h>

typedef struct page_printer {
    cli_call *call;
    const cli_listing *listing;
    cli_table table;
    size_t count; /* rows before this page */
} page_printer;

static hf_status listing_print_page(page_printer *printer, const hf_answer *answer, hf_error *err)
{
    const cli_listing *listing = printer->listing;
    size_t count = listing->count(answer);
    hf_status status = HF_OK;
    bool json = printer->call->json;
    if (json &&
        /* before the first page is there, a refusal is all there is to print */
        !printer->call->in_list)
        cli_list_begin(printer->call, listing->name);
    if (!json)
        status = listing->add(&printer->table, answer, err);
    if (!json && status == HF_OK && count > 0)
        cli_table_print(&printer->table, 0);
    for (size_t i = 0; json && i < count && status == HF_OK; i++)
        status = cli_json_item(printer->count + i, listing->json(answer, i), err);
    printer->count += count;
    return status;
}

/* Stops early when nobody reads on. */
static hf_status print_pages(page_printer *printer, hf_manager *manager, hf_list_options options,
                             hf_error *err)
{
    hf_status status = HF_OK;
    bool more = true;
    while (status == HF_OK && more && cli_flush()) {
        hf_result *result = NULL;
        status = printer->listing->fetch(manager, &options, &result, err);
        if (status == HF_OK) {
            const hf_answer *answer = hf_result_answer(result);
            status = listing_print_page(printer, answer, err);
            more = answer->more;
            if (more)
                options.after = *answer->next;
        }
        hf_result_free(result);
    }
    return status;
}

hf_status cli_print_listing(cli_call *call, const cli_listing *listing,
                            const hf_list_options *filter, hf_error *err)
{
    page_printer printer = {.call = call, .listing = listing};
    hf_list_options options = *filter;
    options.limit = HF_LIST_MAX;
    hf_status status = cli_open(call, err);
    if (status != HF_OK)
        return status;
    listing->table(&printer.table);
    status = print_pages(&printer, call->manager, options, err);
    cli_list_end(call, status);
    if (!call->json && status == HF_OK && printer.count == 0)
        puts(listing->none);
    cli_table_done(&printer.table);
    return status;
}
