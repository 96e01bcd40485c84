/* SPDX-License-Identifier: MIT */
/* The law: who may hold what. Pure: no I/O, no clock, no store; the time is handed in. See
 * README.md. */
#ifndef HF_LOCK_RULES_H
#define HF_LOCK_RULES_H

#include <holdfast/type.h>

/* What is asked of a resource. */
typedef enum hf_ask {
    HF_ASK_SHARED,
    HF_ASK_EXCLUSIVE,
    HF_ASK_RENEW,
    HF_ASK_DOWNGRADE,
    HF_ASK_RELEASE,
    HF_ASK_HOLDS,
    HF_ASK_HAND_OVER,
    HF_ASK_REQUEST,
    HF_ASK_DECLINE,
    HF_ASK_FORCE,
    HF_ASK_SAVE,
    HF_ASKS
} hf_ask;

/* How the live locks of a resource look to the session that asks. */
typedef enum hf_view {
    HF_VIEW_FREE,        /* nobody holds it */
    HF_VIEW_MINE_SHARED, /* I am the only reader */
    HF_VIEW_MINE_AMONG,  /* I read, and so do others */
    HF_VIEW_MINE_EXCLUSIVE,
    HF_VIEW_THEIRS_SHARED,
    HF_VIEW_THEIRS_EXCLUSIVE,
    HF_VIEWS
} hf_view;

typedef enum hf_verdict {
    HF_VERDICT_GRANT,    /* a new lock, a new fence */
    HF_VERDICT_KEEP,     /* it is yours as it is */
    HF_VERDICT_UPGRADE,  /* shared becomes exclusive, a new fence */
    HF_VERDICT_EXTEND,   /* the bound is set anew */
    HF_VERDICT_WEAKEN,   /* exclusive becomes shared, the fence stays */
    HF_VERDICT_END,      /* the lock is given back */
    HF_VERDICT_PASS,     /* the lock becomes the target's, a new fence */
    HF_VERDICT_ASK,      /* a request is left for the holders */
    HF_VERDICT_DECLINE,  /* a request of someone else's is taken away */
    HF_VERDICT_SAVE,     /* the version is compared and counted up */
    HF_VERDICT_LOCKED,   /* refused: someone else stands in the way */
    HF_VERDICT_NOT_HELD, /* refused: the session doesn't hold it */
    HF_VERDICT_NOBODY    /* refused: nobody (else) holds it */
} hf_verdict;

/* The law itself. */
hf_verdict hf_rules_judge(hf_ask ask, hf_view view);

/* The view from whether I hold it (and how) and how many others do. An exclusive lock is alone, so
 * `others` with mine exclusive can't be. */
hf_view hf_rules_view(bool mine, hf_mode mine_mode, size_t others, hf_mode others_mode);

/* Whether a lock is live: the session has not ended, its bound and the lock's own are still to
 * come. */
bool hf_rules_live(int64_t session_ended_us, int64_t session_expires_us, int64_t ends_us,
                   int64_t now_us);

/* Whether a type with that policy takes locks of that mode. */
bool hf_rules_allows(hf_policy policy, hf_mode mode);

/* Whether a type with that policy wants an exclusive lock of whoever edits. */
bool hf_rules_needs_lock(hf_policy policy);

/* Whether a resource is as it was read: `expected` is its version, or it is to be absent: never
 * saved (0), or gone. */
bool hf_rules_is_current(int64_t version, bool gone, int64_t expected, bool absent);

/* The fence of the next grant: grows strictly, and with time, so that it doesn't go back after a
 * restore. */
int64_t hf_rules_next_fence(int64_t last_fence, int64_t now_us);

/* What a bound comes to: asked_us (0: none given) within the type's default and longest. */
typedef enum hf_ttl_verdict { HF_TTL_OK, HF_TTL_OVER_MAX, HF_TTL_OVERFLOW } hf_ttl_verdict;
hf_ttl_verdict hf_rules_ends(const hf_type *type, int64_t asked_us, int64_t now_us,
                             int64_t *out_ends_us);

/* Whether a type may change to `wanted` while locks of it live. */
bool hf_rules_type_may_change(hf_policy present, hf_policy wanted, bool live_locks);

#endif
