/* SPDX-License-Identifier: MIT */
/* What knows the SQL of one table. A mapper knows nothing of locks, and only the registry
 * (registry.c) calls one: so nobody reads or writes a customer without the lock and the version
 * that its policy asks for. */
#ifndef MAPPER_H
#define MAPPER_H

#include "database.h"

typedef struct mapper {
    const char *schema;
    /* Reads its rows of the aggregate into `it`, whose id is set. HF_NOT_FOUND: there is no such
     * root. */
    hf_status (*load)(sqlite3 *db, customer *it, hf_error *err);
    /* Writes them as they are in `it`; rows that are not there yet are made. */
    hf_status (*store)(sqlite3 *db, const customer *it, hf_error *err);
    hf_status (*remove)(sqlite3 *db, int64_t id, hf_error *err);
} mapper;

extern const mapper customer_mapper, address_mapper;

#endif
