/* SPDX-License-Identifier: MIT */
/* Statuses and errors: the columns of the one table, and filling the caller's hf_error. */
#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct status_row {
    const char *wire;
    int http;
    int exit_code;
    const char *sentence;
} status_row;

static const status_row table[HF_STATUS_COUNT] = {
#define ROW(name, wire, http, exit_code, sentence) [name] = {wire, http, exit_code, sentence},
    HF_STATUS_TABLE(ROW)
#undef ROW
};

static const status_row *error_row_of(hf_status status)
{
    return &table[(unsigned)status < HF_STATUS_COUNT ? status : HF_INTERNAL];
}

const char *hf_status_wire(hf_status status)
{
    return error_row_of(status)->wire;
}
int hf_status_http(hf_status status)
{
    return error_row_of(status)->http;
}
int hf_status_exit(hf_status status)
{
    return error_row_of(status)->exit_code;
}
const char *hf_status_sentence(hf_status status)
{
    return error_row_of(status)->sentence;
}

hf_status hf_status_from_wire(const char *wire)
{
    for (int i = 0; wire != NULL && i < HF_STATUS_COUNT; i++)
        if (strcmp(table[i].wire, wire) == 0)
            return (hf_status)i;
    return HF_STATUS_COUNT;
}

void hf_error_set(hf_error *err, hf_status status, const char *format, ...)
{
    if (err == NULL)
        return;
    memset(err, 0, sizeof *err);
    err->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    hf_text_show(err->message, sizeof err->message);
}
