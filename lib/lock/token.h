/* SPDX-License-Identifier: MIT */
/* Tokens, decided here for every store: what making and revoking one comes to. Pure, like the rest:
 * the store finds the rows, and saves what is to be saved, with the event that is in the set then.
 * */
#ifndef HF_LOCK_TOKEN_H
#define HF_LOCK_TOKEN_H

#include "lock/rows.h"

/* "id actor" of the request that made it. */
#define HF_TOKEN_REQUEST_SIZE (HF_REQUEST_ID_MAX + 1 + HF_TEXT_MAX + 1)

/* A token as a store keeps it. */
typedef struct hf_token_row {
    hf_token token;
    unsigned char sha256[32], next_sha256[32];
    int64_t next_us, used_us;
    char request[HF_TOKEN_REQUEST_SIZE]; /* "": none */
} hf_token_row;

/* What stands in the way of a new token, or is the answer: at most one row has its id, one its hash
 * and one its request. */
#define HF_TOKEN_SAME_MAX 3

/* The request as it is kept: scoped to who asks, since two may choose the same. "": none was given.
 * */
void hf_token_request(const hf_op *op, char out[HF_TOKEN_REQUEST_SIZE]);

/* True: *out is to be saved as a new row. Otherwise the op is answered: refused, or asked before.
 * Memory out sticks in the set. */
bool hf_apply_token_create(hf_rows *rows, hf_op *op, hf_arena *arena, const hf_token_row *same,
                           size_t count, int64_t now_us, hf_token_row *out);

/* It lives, and has admin for all types. */
bool hf_token_governs(const hf_token *token, int64_t now_us);

/* True: the token's revoked_us has been set and is to be saved. `token` NULL: there is none with
 * that id. `others`: another token governs; only asked for if op->keeps_admin. */
bool hf_apply_token_revoke(hf_rows *rows, hf_op *op, hf_arena *arena, hf_token *token, bool others,
                           int64_t now_us);

/* Answers HF_OP_TOKEN_FIND. NULL: there is none. */
void hf_apply_token_find(hf_rows *rows, hf_op *op, hf_arena *arena, const hf_token *token);

#endif
