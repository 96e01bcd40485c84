/* SPDX-License-Identifier: MIT */
/* Customers to begin with, saved as everything is: by the registry. */
#include "samples.h"

#include <stddef.h>

static const struct {
    int64_t id;
    const char *text[FIELD_COUNT];
} samples[] = {
    {41,
     {"Blue Lantern Café", "hello@bluelantern.example", "+44 20 7946 0101", "Closed on Mondays.",
      "12 Harbour Street", "SE1 4XY", "London", "United Kingdom", NULL, NULL, NULL, NULL}},
    {42,
     {"Lindqvist & Daughters", "ada@lindqvist.example", "+46 8 123 456 78",
      "Wants invoices by e-mail.\nCall before every delivery.", "Skeppsbron 18", "111 30",
      "Stockholm", "Sweden", "Kajplats 4, Gate B", "115 56", "Stockholm", "Sweden", NULL, NULL,
      NULL, NULL}},
    {43,
     {"Møller Shipping", "post@moller.example", "+45 33 12 34 56", "", "Nyhavn 22", "1051",
      "København", "Denmark", NULL, NULL, NULL, NULL, "Havnegade 9", "1058", "København",
      "Denmark"}},
    {44,
     {"Ferreira Conservas", "joana@ferreira.example", "+351 22 123 4567",
      "Prefers to be called in the afternoon.", "Rua do Cais 7", "4050-015", "Porto", "Portugal",
      NULL, NULL, NULL, NULL}},
    {45,
     {"Haddad Spices", "orders@haddad.example", "+31 20 123 4567", "", "Prins Hendrikkade 51",
      "1012 AA", "Amsterdam", "Netherlands", NULL, NULL, NULL, NULL}},
    {46,
     {"Nakagawa Instruments", "info@nakagawa.example", "+49 40 1234567",
      "Customs number is on file.", "Am Sandtorkai 30", "20457", "Hamburg", "Germany",
      "Halle 12, Tor 3", "21129", "Hamburg", "Germany"}},
};

static hf_status samples_save(const registry *in, const office *with, size_t i, hf_error *err)
{
    static const person who = {.user = "import", .name = "Import"};
    customer it = {.id = samples[i].id};
    work *its_work = NULL;
    for (int at = 0; at < FIELD_COUNT; at++)
        if (samples[i].text[at] != NULL && !customer_set(&it, at, samples[i].text[at]))
            return fail(err, HF_INTERNAL, "A sample can't be taken.");
    hf_status status = work_begin(with, &who, it.id, NULL, &its_work, err);
    if (status == HF_OK)
        status = registry_add(in, its_work, &it, err);
    work_end(its_work);
    return status;
}

hf_status samples_add(const registry *in, const office *with, hf_error *err)
{
    static listed all[LIST_MAX];
    size_t count;
    hf_status status = registry_list(in, all, &count, err);
    for (size_t i = 0; status == HF_OK && count == 0 && i < sizeof samples / sizeof *samples; i++)
        status = samples_save(in, with, i, err);
    return status;
}
