/* SPDX-License-Identifier: MIT */
/* The nouns: a resource, a mode, a lock, a request. All are plain values: copied with =, no free,
 * unused bytes zero. Times are microseconds since 1970 UTC by the store's clock; 0 means none. */
#ifndef HOLDFAST_LOCK_H
#define HOLDFAST_LOCK_H

#include <holdfast/api.h>
#include <holdfast/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

HF_BEGIN_DECLS

#define HF_RESOURCE_SIZE (HF_TYPE_MAX + 1 + HF_ID_MAX + 1)

/* What can be locked: "policy/12345". The first slash splits; the id may hold more. */
typedef struct hf_resource {
    char type[HF_TYPE_SIZE];
    char id[HF_ID_SIZE];
} hf_resource;

typedef enum hf_mode {
    HF_EXCLUSIVE = 0, /* nobody else holds it */
    HF_SHARED = 1,    /* others may hold it shared too */
    HF_MODE_COUNT
} hf_mode;

/* A session's hold on a resource. */
typedef struct hf_lock {
    hf_resource resource;
    hf_mode mode;
    int64_t fence;    /* grows with every grant of this resource */
    int64_t since_us; /* when it was first granted: an upgrade keeps it */
    /* when it frees unless renewed: the earlier of the session's bound and its own */
    int64_t expires_us;
    int64_t ends_us; /* its own, absolute bound; 0: none */
    char purpose[HF_TEXT_SIZE];
    char session[HF_SESSION_ID_SIZE]; /* public id of the holder's session */
    char user[HF_TEXT_SIZE];
    char name[HF_TEXT_SIZE]; /* display name */
} hf_lock;

/* Someone asks the holder to let go. */
typedef struct hf_request {
    hf_resource resource;
    char session[HF_SESSION_ID_SIZE];
    char user[HF_TEXT_SIZE];
    char name[HF_TEXT_SIZE];
    char message[HF_TEXT_SIZE];
    int64_t at_us;
} hf_request;

/* A lock that a live session lost without releasing it. Every beat reports it until the session
 * acquires the resource again, releases it (answered not_held), releases all, or ends. Of more than
 * HF_SESSION_LOST_MAX only the newest are kept. */
typedef struct hf_lost {
    hf_resource resource;
    int64_t fence; /* of the grant that was lost */
    char why[16];  /* "forced" or "expired" */
    /* who forced it, or the name of the next holder; "": nobody */
    char by[HF_TEXT_SIZE];
    char reason[HF_TEXT_SIZE]; /* of a forced release */
    int64_t at_us;
} hf_lost;

/* "exclusive", "shared". */
HF_API const char *hf_mode_name(hf_mode mode);

/* The mode with that name; HF_MODE_COUNT when there is none. */
HF_API hf_mode hf_mode_from_name(const char *name);

/* Canonical order, in which several resources are locked: bytes of type, then bytes of id. As
 * strcmp. */
HF_API int hf_resource_compare(const hf_resource *a, const hf_resource *b);

/* Writes "type/id". out holds HF_RESOURCE_SIZE bytes. */
HF_API void hf_resource_format(const hf_resource *resource, char *out);

HF_END_DECLS

#endif
