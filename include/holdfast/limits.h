/* SPDX-License-Identifier: MIT */
/* Every limit of holdfast, in one place. At a limit a call answers with a clear error and nothing
 * is lost. */
#ifndef HOLDFAST_LIMITS_H
#define HOLDFAST_LIMITS_H

#include <stdint.h>

/* Names, in bytes, without the final NUL. A *_SIZE is what a buffer needs. */
#define HF_TYPE_MAX       64   /* [a-z][a-z0-9_.-]* */
#define HF_ID_MAX         1024 /* UTF-8 without control characters, compared as bytes */
#define HF_TEXT_MAX       255  /* user, display name, purpose, reason, message, actor: each */
#define HF_REQUEST_ID_MAX 64   /* printable ASCII without spaces */
#define HF_CALLER_MAX     64   /* who opened a session: the id of a caller's token */
#define HF_SESSION_ID_MAX 32   /* hex */
#define HF_TOKEN_ID_MAX   32   /* hex */
#define HF_TOKEN_NAME_MAX 200  /* so that an event has room for the id beside it */
#define HF_TOKEN_SECRET   64   /* hex digits: 256 bits */
#define HF_ROLES_MAX      1167 /* HF_GRANTS_MAX grants of the greatest length */
#define HF_LEASE_KEY_MAX  255  /* UTF-8 without control characters, compared as bytes */
#define HF_KEY_MIN        32   /* hex digits: 128 bits */
#define HF_KEY_MAX        128

#define HF_TYPE_SIZE         (HF_TYPE_MAX + 1)
#define HF_ID_SIZE           (HF_ID_MAX + 1)
#define HF_TEXT_SIZE         (HF_TEXT_MAX + 1)
#define HF_REQUEST_ID_SIZE   (HF_REQUEST_ID_MAX + 1)
#define HF_CALLER_SIZE       (HF_CALLER_MAX + 1)
#define HF_SESSION_ID_SIZE   (HF_SESSION_ID_MAX + 1)
#define HF_TOKEN_ID_SIZE     (HF_TOKEN_ID_MAX + 1)
#define HF_TOKEN_NAME_SIZE   (HF_TOKEN_NAME_MAX + 1)
#define HF_TOKEN_SECRET_SIZE (HF_TOKEN_SECRET + 1)
#define HF_ROLES_SIZE        (HF_ROLES_MAX + 1)
#define HF_LEASE_KEY_SIZE    (HF_LEASE_KEY_MAX + 1)
#define HF_KEY_SIZE          (HF_KEY_MAX + 1)
#define HF_MESSAGE_SIZE                                                                            \
    2560 /* the longest message: a resource, two names, a purpose and the words between */

/* Durations, in microseconds. */
#define HF_DURATION_MIN_US INT64_C(1000)                /* 1 ms */
#define HF_DURATION_MAX_US (INT64_C(366) * 86400000000) /* a year: ttl and idle bound */
#define HF_IDLE_DEFAULT_US (INT64_C(300) * 1000000)     /* 5 minutes */
#define HF_KEEP_US                                                                                 \
    (INT64_C(86400) * 1000000) /* ended sessions, free anchors and covered saves: a day */
#define HF_KEEP_GONE_US                                                                            \
    (INT64_C(365) * HF_KEEP_US) /* versions of what was deleted are kept a year */

/* Counts. */
#define HF_BATCH_OPS_MAX         1024  /* ops in a batch, resources in one acquire or look-up */
#define HF_SET_MAX               512   /* resources in one set of saves and premises */
#define HF_RESOURCE_HOLDERS_MAX  1000  /* sessions that share one resource */
#define HF_RESOURCE_REQUESTS_MAX 100   /* requests that wait on one resource */
#define HF_SESSION_LOST_MAX      10000 /* lost locks a session is told of; of more, the newest */
#define HF_GRANTS_MAX            16    /* roles of one token */
#define HF_LIST_MAX              1000  /* rows that a list or a read answers at once */
#define HF_LIST_DEFAULT          100
#define HF_SWEEP_MAX             10000 /* rows a sweep looks at in one call */
#define HF_SWEEP_DEFAULT         1000
#define HF_URL_MAX               4096
#define HF_LEASES_MAX            100000 /* leases of one provider at once */
#define HF_LEASE_POOL_MAX        64     /* connections of one provider */

#endif
