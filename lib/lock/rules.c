/* SPDX-License-Identifier: MIT */
/* The law on one screen. Everything that decides who may hold what stands in the two tables and
 * the few functions below; stores move rows, and apply.c carries out what is decided here.
 *
 *   R1  Exclusive stands alone; shared stands with shared.
 *   R2  What you hold is kept: asking again never weakens it, never changes its fence.
 *   R3  Shared becomes exclusive only for a sole reader, with a new fence.
 *   R4  Only the holder renews, downgrades, releases, hands over or declines; a lost lock is
 *       never revived.
 *   R5  A lock is live while its session is and its own bound is to come; at the bound it is
 *       dead.
 *   R6  Fences of a resource grow strictly.
 *   R7  A save needs the resource free or one's own exclusive lock, and the version that was
 *       read. Versions grow by one with every save, over deletion too; every save gets a fence. */
#include "lock/rules.h"

#define GRANT    HF_VERDICT_GRANT
#define KEEP     HF_VERDICT_KEEP
#define UPGRADE  HF_VERDICT_UPGRADE
#define EXTEND   HF_VERDICT_EXTEND
#define WEAKEN   HF_VERDICT_WEAKEN
#define END      HF_VERDICT_END
#define PASS     HF_VERDICT_PASS
#define ASK      HF_VERDICT_ASK
#define DECLINE  HF_VERDICT_DECLINE
#define SAVE     HF_VERDICT_SAVE
#define LOCKED   HF_VERDICT_LOCKED
#define NOT_HELD HF_VERDICT_NOT_HELD
#define NOBODY   HF_VERDICT_NOBODY

/* clang-format off */
static const unsigned char law[HF_ASKS][HF_VIEWS] = {
    /*                     FREE      MINE:SHARED  AMONG     EXCLUSIVE  THEIRS:SHARED  EXCLUSIVE */
    [HF_ASK_SHARED]    = { GRANT,    KEEP,        KEEP,     KEEP,      GRANT,         LOCKED   },
    [HF_ASK_EXCLUSIVE] = { GRANT,    UPGRADE,     LOCKED,   KEEP,      LOCKED,        LOCKED   },
    [HF_ASK_RENEW]     = { NOT_HELD, EXTEND,      EXTEND,   EXTEND,    NOT_HELD,      NOT_HELD },
    [HF_ASK_DOWNGRADE] = { NOT_HELD, KEEP,        KEEP,     WEAKEN,    NOT_HELD,      NOT_HELD },
    [HF_ASK_RELEASE]   = { NOT_HELD, END,         END,      END,       NOT_HELD,      NOT_HELD },
    [HF_ASK_HOLDS]     = { NOT_HELD, KEEP,        KEEP,     KEEP,      NOT_HELD,      NOT_HELD },
    [HF_ASK_HAND_OVER] = { NOT_HELD, PASS,        PASS,     PASS,      NOT_HELD,      NOT_HELD },
    [HF_ASK_REQUEST]   = { NOBODY,   NOBODY,      ASK,      NOBODY,    ASK,           ASK      },
    [HF_ASK_DECLINE]   = { NOT_HELD, DECLINE,     DECLINE,  DECLINE,   NOT_HELD,      NOT_HELD },
    [HF_ASK_FORCE]     = { NOBODY,   END,         END,      END,       END,           END      },
    [HF_ASK_SAVE]      = { SAVE,     NOT_HELD,    NOT_HELD, SAVE,      LOCKED,        LOCKED   }, /* free: if the policy needs no lock */
};

static const bool allows[HF_POLICY_COUNT][HF_MODE_COUNT] = {
    /*                             exclusive                shared */
    [HF_POLICY_NONE]            = { [HF_EXCLUSIVE] = true,  [HF_SHARED] = true  },
    [HF_POLICY_OPTIMISTIC]      = { [HF_EXCLUSIVE] = false, [HF_SHARED] = false },
    [HF_POLICY_EXCLUSIVE_WRITE] = { [HF_EXCLUSIVE] = true,  [HF_SHARED] = false },
    [HF_POLICY_EXCLUSIVE_READ]  = { [HF_EXCLUSIVE] = true,  [HF_SHARED] = false },
    [HF_POLICY_READ_WRITE]      = { [HF_EXCLUSIVE] = true,  [HF_SHARED] = true  },
};

static const bool needs_lock[HF_POLICY_COUNT] = {
    [HF_POLICY_EXCLUSIVE_WRITE] = true, [HF_POLICY_EXCLUSIVE_READ] = true, [HF_POLICY_READ_WRITE] = true,
};
/* clang-format on */

hf_verdict hf_rules_judge(hf_ask ask, hf_view view)
{
    return (hf_verdict)law[ask][view];
}

bool hf_rules_allows(hf_policy policy, hf_mode mode)
{
    return allows[policy][mode];
}

bool hf_rules_needs_lock(hf_policy policy)
{
    return needs_lock[policy];
}

bool hf_rules_is_current(int64_t version, bool gone, int64_t expected, bool absent)
{
    bool there = version != 0 && !gone;
    return absent ? !there : there && version == expected;
}

hf_view hf_rules_view(bool mine, hf_mode mine_mode, size_t others, hf_mode others_mode)
{
    if (mine && mine_mode == HF_EXCLUSIVE)
        return HF_VIEW_MINE_EXCLUSIVE;
    if (mine)
        return others == 0 ? HF_VIEW_MINE_SHARED : HF_VIEW_MINE_AMONG;
    if (others == 0)
        return HF_VIEW_FREE;
    return others_mode == HF_EXCLUSIVE ? HF_VIEW_THEIRS_EXCLUSIVE : HF_VIEW_THEIRS_SHARED;
}

bool hf_rules_live(int64_t session_ended_us, int64_t session_expires_us, int64_t ends_us,
                   int64_t now_us)
{
    return session_ended_us == 0 && session_expires_us > now_us &&
           (ends_us == 0 || ends_us > now_us);
}

int64_t hf_rules_next_fence(int64_t last_fence, int64_t now_us)
{
    return last_fence + 1 > now_us ? last_fence + 1 : now_us;
}

hf_ttl_verdict hf_rules_ends(const hf_type *type, int64_t asked_us, int64_t now_us,
                             int64_t *out_ends_us)
{
    int64_t ttl_us = asked_us != 0 ? asked_us : type->ttl_us != 0 ? type->ttl_us : type->ttl_max_us;
    if (type->ttl_max_us != 0 && ttl_us > type->ttl_max_us)
        return HF_TTL_OVER_MAX;
    if (ttl_us == 0)
        *out_ends_us = 0;
    else if (__builtin_add_overflow(now_us, ttl_us, out_ends_us))
        return HF_TTL_OVERFLOW;
    return HF_TTL_OK;
}

bool hf_rules_type_may_change(hf_policy present, hf_policy wanted, bool live_locks)
{
    return present == wanted || !live_locks;
}
