/* SPDX-License-Identifier: MIT */
/* How a call ends: one table gives each status its C name, wire name, HTTP code, exit code and
 * sentence. A refusal (locked, not_held, stale ...) is an answer that programs branch on; a failure
 * is passed up. */
#ifndef HOLDFAST_STATUS_H
#define HOLDFAST_STATUS_H

#include <holdfast/api.h>
#include <holdfast/lock.h>

HF_BEGIN_DECLS

/* clang-format off */
#define HF_STATUS_TABLE(X) \
    /* C name               wire               HTTP exit  sentence */ \
    X(HF_OK,               "ok",              200, 0, "done") \
    X(HF_INVALID,          "invalid",         400, 2, "the request makes no sense as it stands") \
    X(HF_TOO_LARGE,        "too_large",       413, 2, "the request is over a limit") \
    X(HF_LOCKED,           "locked",          423, 3, "someone else holds it") \
    X(HF_BUSY,             "busy",            423, 3, "an uncommitted change stands in the way; try again") \
    X(HF_TIMEOUT,          "timeout",         408, 3, "the time to wait is over") \
    X(HF_STALE,            "stale",           412, 4, "it changed since it was read") \
    X(HF_UNAUTHENTICATED,  "unauthenticated", 401, 5, "the caller did not say who they are") \
    X(HF_DENIED,           "denied",          403, 5, "the key is wrong or the right is missing") \
    X(HF_UNAVAILABLE,      "unavailable",     503, 6, "the store cannot be used; nothing was done") \
    X(HF_UNSURE,           "unsure",          504, 7, "the store did not say whether it was done") \
    X(HF_NOT_HELD,         "not_held",        409, 8, "the session does not hold it") \
    X(HF_EXPIRED,          "expired",         410, 8, "the session has ended") \
    X(HF_NOT_APPLIED,      "not_applied",     409, 1, "a linked operation was refused, so this one was undone") \
    X(HF_RETRY,            "retry",           503, 1, "another transaction got in between; run it again") \
    X(HF_TOO_MANY,         "too_many",        429, 1, "a limit on how many is reached") \
    X(HF_INTERNAL,         "internal",        500, 1, "holdfast itself failed") \
    X(HF_NO_MEMORY,        "no_memory",       500, 1, "out of memory; nothing was done") \
    X(HF_NOT_FOUND,        "not_found",       404, 1, "it is not known here")

typedef enum hf_status {
#define HF_STATUS_ENUM(name, wire, http, exit_code, sentence) name,
    HF_STATUS_TABLE(HF_STATUS_ENUM)
#undef HF_STATUS_ENUM
    HF_STATUS_COUNT
} hf_status;
/* clang-format on */

/* Filled only when a call does not return HF_OK. The caller owns it; NULL is accepted
 * everywhere. */
typedef struct hf_error {
    hf_status status;
    /* HF_LOCKED: the first lock that blocks the call; otherwise empty */
    hf_lock holder;
    char resource[HF_RESOURCE_SIZE]; /* "type/id" the sentence is about, or "" */
    /* one sentence for a person: what happened, then what to do */
    char message[HF_MESSAGE_SIZE];
    /* The store did not answer, starts up, or takes no more connections just now: the same call may
     * work later. false: waiting alone does not help, or it is not known. */
    bool away;
} hf_error;

/* The columns of the table. All pointers are static. An unknown status reads as HF_INTERNAL. */
HF_API const char *hf_status_wire(hf_status status);
HF_API int hf_status_http(hf_status status);
HF_API int hf_status_exit(hf_status status);
HF_API const char *hf_status_sentence(hf_status status);

/* The status with that wire name; HF_STATUS_COUNT when there is none. */
HF_API hf_status hf_status_from_wire(const char *wire);

HF_END_DECLS

#endif
