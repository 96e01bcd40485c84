/* SPDX-License-Identifier: MIT */
/* Customers to begin with, saved as everything is: as records. */
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

static hf_status samples_save(records *in, hf_session *session, size_t i, hf_error *err)
{
    customer it = {.id = samples[i].id};
    for (int at = 0; at < FIELD_COUNT; at++)
        if (samples[i].text[at] != NULL && !customer_set(&it, at, samples[i].text[at]))
            return fail(err, HF_INTERNAL, "A sample can't be taken.");
    return records_add(in, session, &it, err);
}

hf_status samples_add(records *in, hf_error *err)
{
    static listed all[LIST_MAX];
    hf_session *session = NULL;
    size_t count;
    hf_status status = records_list(in, all, &count, err);
    if (status != HF_OK || count > 0)
        return status;
    status = hf_session_open(in->manager, &(hf_session_options){.user = "import", .name = "Import"},
                             &session, err);
    for (size_t i = 0; status == HF_OK && i < sizeof samples / sizeof *samples; i++)
        status = samples_save(in, session, i, err);
    if (session != NULL && hf_session_close(session, status == HF_OK ? err : NULL) != HF_OK)
        status = status == HF_OK ? HF_UNAVAILABLE : status;
    hf_session_free(session);
    return status;
}
