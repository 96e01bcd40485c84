/* SPDX-License-Identifier: MIT */
/* One version for an aggregate: an order is saved under its own name, whichever of its lines was
 * changed. A bill relies on the order and on an address: both are premises of its save, and of a
 * refused set every conflict is told. */
#include <holdfast/holdfast.h>
#include <stdio.h>

static const hf_resource order = {"order", "7"}, address = {"address", "alice"},
                         bill = {"bill", "7"};

static hf_status aggregate_save(hf_manager *manager, const hf_resource *root, int64_t version,
                                const char *user)
{
    hf_error err;
    hf_save it = {.resource = *root, .version = version, .absent = version == 0};
    hf_status status = hf_manager_save(manager, &it, &(hf_save_options){.user = user}, NULL, &err);
    if (status != HF_OK)
        printf("%s: %s\n", user, err.message);
    return status;
}

/* Saves the bill, if what it was computed from is still so. */
static hf_status write_bill(hf_manager *manager, int64_t order_version, int64_t address_version)
{
    hf_error err;
    hf_result *result = NULL;
    hf_save saves[] = {{.resource = bill, .absent = true}};
    hf_premise premises[] = {{order, order_version, false}, {address, address_version, false}};
    hf_set set = {saves, 1, premises, 2};
    hf_status status =
        hf_manager_save_all(manager, &set, &(hf_save_options){.user = "billing"}, &result, &err);
    for (size_t i = 0; result != NULL && i < hf_result_count(result); i++)
        if (hf_result_at(result, i)->status == HF_STALE)
            printf("billing: %s\n", hf_result_at(result, i)->message);
    hf_result_free(result);
    return status;
}

int main(int argc, char **argv)
{
    hf_manager *manager = NULL;
    hf_error err;
    if (hf_manager_open(argc > 1 ? argv[1] : "memory:", &manager, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    bool good = aggregate_save(manager, &order, 0, "alice") == HF_OK &&
                aggregate_save(manager, &address, 0, "alice") == HF_OK;
    good = good && aggregate_save(manager, &order, 1, "alice") == HF_OK; /* a line of the order */
    /* another line, but the same order */
    good = good && aggregate_save(manager, &order, 1, "bob") == HF_STALE;
    /* while the bill is computed */
    good = good && aggregate_save(manager, &address, 1, "alice") == HF_OK;
    good = good && write_bill(manager, 1, 1) == HF_STALE && write_bill(manager, 2, 2) == HF_OK;
    hf_manager_close(manager);
    return good ? 0 : 1;
}
