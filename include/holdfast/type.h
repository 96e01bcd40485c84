/* SPDX-License-Identifier: MIT */
/* The policy and the time limits of a type of record, fixed once per type. A type that was never
 * registered accepts both modes, without a time limit. */
#ifndef HOLDFAST_TYPE_H
#define HOLDFAST_TYPE_H

#include <holdfast/lock.h>

HF_BEGIN_DECLS

typedef enum hf_policy {
    HF_POLICY_NONE = 0,        /* not registered: both modes are accepted */
    HF_POLICY_OPTIMISTIC,      /* no locks: saves compare versions */
    HF_POLICY_EXCLUSIVE_WRITE, /* exclusive to edit, nothing to read */
    HF_POLICY_EXCLUSIVE_READ,  /* exclusive to read or edit */
    HF_POLICY_READ_WRITE,      /* shared to read, exclusive to edit */
    HF_POLICY_COUNT
} hf_policy;

typedef struct hf_type {
    char type[HF_TYPE_SIZE];
    hf_policy policy;
    int64_t ttl_us; /* the bound of a lock that asks for none; 0: none */
    /* the longest bound a lock may ask for, also its default if ttl_us is 0; 0: no limit */
    int64_t ttl_max_us;
} hf_type;

/* "optimistic", "exclusive-write", "exclusive-read", "read-write"; "none" for HF_POLICY_NONE. */
HF_API const char *hf_policy_name(hf_policy policy);

/* The policy with that name; HF_POLICY_COUNT when there is none ("none" cannot be asked for). */
HF_API hf_policy hf_policy_from_name(const char *name);

HF_END_DECLS

#endif
