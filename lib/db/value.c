/* SPDX-License-Identifier: MIT */
/* Values on their way into a statement: lists that grow in an arena, parameters kept until they are
 * sent. */
#include "db/value.h"

#include "base/error.h"
#include "base/seams.h"
#include "db/driver.h"

#include <assert.h>
#include <string.h>

void hf_list_init(hf_list *list, const char *kinds, hf_arena *arena)
{
    *list = (hf_list){.kinds = kinds, .columns = strlen(kinds), .arena = arena};
    assert(list->columns <= HF_LIST_COLUMNS_MAX);
}

hf_value *hf_list_add(hf_list *list)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 8 : list->room * 4;
        hf_value *values = hf_arena_alloc(list->arena, room * list->columns * sizeof *values);
        if (values == NULL) {
            list->failed = true;
            return NULL;
        }
        if (list->count > 0)
            memcpy(values, list->values, list->count * list->columns * sizeof *values);
        list->values = values;
        list->room = room;
    }
    hf_value *row = &list->values[list->count++ * list->columns];
    for (size_t i = 0; i < list->columns; i++)
        row[i].null = true;
    return row;
}

/* A $ in a quoted text counts too: it makes room that nobody uses. */
static int params_highest(const char *sql)
{
    int highest = 0;
    for (const char *at = strchr(sql, '$'); at != NULL; at = strchr(at, '$')) {
        int number = 0;
        for (at++; *at >= '0' && *at <= '9' && number <= HF_PARAMS_MAX; at++)
            number = number * 10 + (*at - '0');
        if (number > highest)
            highest = number;
    }
    return highest;
}

hf_status hf_params_init(hf_params *params, const char *sql, hf_error *err)
{
    int room = params_highest(sql);
    *params = (hf_params){.room = room};
    if (room > HF_PARAMS_MAX)
        return hf_fail(err, HF_INVALID, "A statement has more than %d parameters.", HF_PARAMS_MAX);
    params->at = hf_alloc(((size_t)room + 1) * sizeof *params->at);
    if (params->at == NULL)
        return hf_fail_memory(err);
    for (int i = 0; i <= room; i++)
        params->at[i].value.null = true;
    return HF_OK;
}

void hf_params_done(hf_params *params)
{
    hf_free(params->at);
    *params = (hf_params){0};
}

void hf_params_bind(hf_params *params, int at, hf_value_kind kind, const hf_value *value)
{
    assert(at >= 1);
    if (at > params->room)
        return;
    params->at[at] = (hf_param){.kind = kind, .value = *value};
    if (at > params->count)
        params->count = at;
}

void hf_params_list(hf_params *params, int at, const hf_list *list)
{
    assert(at >= 1);
    if (at > params->room)
        return;
    params->at[at] = (hf_param){.kind = HF_VALUE_LIST, .list = list};
    if (at + (int)list->columns - 1 > params->count)
        params->count = at + (int)list->columns - 1;
}
