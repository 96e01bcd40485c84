/* SPDX-License-Identifier: MIT */
/* Values on their way into a statement: lists that grow in an arena, parameters kept until they are
 * sent. */
#include "db/value.h"

#include "db/driver.h"

#include <string.h>

void hf_list_init(hf_list *list, const char *kinds, hf_arena *arena)
{
    *list = (hf_list){.kinds = kinds, .columns = strlen(kinds), .arena = arena};
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

void hf_params_bind(hf_params *params, int at, hf_value_kind kind, const hf_value *value)
{
    params->at[at] = (hf_param){.kind = kind, .value = *value};
    if (at > params->count)
        params->count = at;
}

void hf_params_list(hf_params *params, int at, const hf_list *list)
{
    params->at[at] = (hf_param){.kind = HF_VALUE_LIST, .list = list};
    if (at + (int)list->columns - 1 > params->count)
        params->count = at + (int)list->columns - 1;
}
