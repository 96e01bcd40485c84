/* SPDX-License-Identifier: MIT */
/* What happened: every change but a beat leaves an event, written in the same transaction. The
 * events are the audit log too. */
#ifndef HOLDFAST_EVENT_H
#define HOLDFAST_EVENT_H

#include <holdfast/lock.h>

HF_BEGIN_DECLS

#define HF_EVENT_TABLE(X)                                                                          \
    X(HF_EVENT_SESSION_OPENED, "session_opened")                                                   \
    X(HF_EVENT_SESSION_CLOSED, "session_closed")                                                   \
    X(HF_EVENT_SESSION_EXPIRED, "session_expired")                                                 \
    X(HF_EVENT_ACQUIRED, "acquired")                                                               \
    X(HF_EVENT_UPGRADED, "upgraded")                                                               \
    X(HF_EVENT_DOWNGRADED, "downgraded")                                                           \
    X(HF_EVENT_RENEWED, "renewed")                                                                 \
    X(HF_EVENT_RELEASED, "released")                                                               \
    X(HF_EVENT_EXPIRED, "expired")                                                                 \
    X(HF_EVENT_FORCED, "forced")                                                                   \
    X(HF_EVENT_HANDED_OVER, "handed_over")                                                         \
    X(HF_EVENT_REQUESTED, "requested")                                                             \
    X(HF_EVENT_DECLINED, "declined")                                                               \
    X(HF_EVENT_SAVED, "saved")                                                                     \
    X(HF_EVENT_DELETED, "deleted")                                                                 \
    X(HF_EVENT_TYPE_SET, "type_set")                                                               \
    X(HF_EVENT_RESTORED, "restored")                                                               \
    X(HF_EVENT_TOKEN_CREATED, "token_created")                                                     \
    X(HF_EVENT_TOKEN_REVOKED, "token_revoked")                                                     \
    X(HF_EVENT_DENIED, "denied")                                                                   \
    X(HF_EVENT_UNAUTHENTICATED, "unauthenticated")

/* clang-format off */
typedef enum hf_event_kind {
#define HF_EVENT_ENUM(name, wire) name,
    HF_EVENT_TABLE(HF_EVENT_ENUM)
#undef HF_EVENT_ENUM
    HF_EVENT_KINDS
} hf_event_kind;
/* clang-format on */

typedef struct hf_event {
    int64_t seq; /* grows in commit order, so a reader that goes on after it misses nothing */
    int64_t at_us;
    hf_event_kind kind;
    hf_resource resource; /* id "" for events of a session, a type or a token */
    /* The owner of the lock, or the session itself. handed_over: the receiver; declined: the
     * session that asked. */
    char session[HF_SESSION_ID_SIZE];
    char user[HF_TEXT_SIZE];
    char actor[HF_TEXT_SIZE]; /* who did it, if not the session's own user */
    int64_t fence;
    char reason[HF_TEXT_SIZE]; /* purpose, message, reason: why; of a token: its id and name */
} hf_event;

HF_API const char *hf_event_kind_name(hf_event_kind kind);

/* Whether it is a forced release or a change of rights: these are kept longer (HF_OP_SWEEP). */
HF_API bool hf_event_is_audit(hf_event_kind kind);

/* The kind with that name; HF_EVENT_KINDS when there is none. */
HF_API hf_event_kind hf_event_kind_from_name(const char *name);

HF_END_DECLS

#endif
