/* SPDX-License-Identifier: MIT */
/* The history checker: reads what clients were answered and when, and says whether a store that
 * keeps its promises could have answered so. It needs nothing but the records, and it is sound:
 * what it reports did go wrong, whatever the order in which concurrent calls took effect. O(n log
 * n).
 *
 * A call takes effect at one instant between its invocation and its return. From that follow, for
 * every grant:
 *   the sure hold    from the return of the acquire to the earliest instant anything may have ended
 *                    it;
 *   the maybe hold   from its invocation to the latest instant by which something must have ended
 *                    it.
 * Sure holds of two sessions that conflict must not overlap; a refusal needs somebody's maybe hold.
 * */
#ifndef HF_TESTS_RACES_CHECK_H
#define HF_TESTS_RACES_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum check_op {
    CHECK_OPEN,  /* idle_us, expires_us */
    CHECK_BEAT,  /* idle_us, expires_us */
    CHECK_CLOSE, /* also: being replaced by another session */
    /* resource, asked → mode, fence, ends_us; of a refused set: the resource that was blocked */
    CHECK_ACQUIRE,
    CHECK_RENEW,     /* resource, ttl_us → mode, fence, ends_us */
    CHECK_DOWNGRADE, /* resource → mode, fence, ends_us */
    CHECK_RELEASE,   /* resource, (only_fence) */
    CHECK_RELEASE_ALL,
    CHECK_HOLDS,     /* resource, (only_fence) → mode, fence, ends_us */
    CHECK_BELIEF,    /* resource; ok: the client says it holds it, without asking the store */
    CHECK_HAND_OVER, /* resource, target → mode, fence, ends_us of the target's lock */
    CHECK_FORCE,     /* resource, (only_fence); session counts for nothing */
    CHECK_OPS
} check_op;

typedef enum check_result {
    CHECK_OK,
    CHECK_LOCKED,   /* somebody else holds it */
    CHECK_NOT_HELD, /* the session (force: nobody) holds it */
    CHECK_EXPIRED,  /* the session has ended */
    CHECK_NOTHING,  /* busy or the like: not done, and nothing said */
    CHECK_UNKNOWN   /* perhaps done, by return_us (CHECK_NEVER when it may still happen) */
} check_result;

#define CHECK_NEVER INT64_MAX

/* Modes are those of hf_mode: 0 exclusive, 1 shared. Times are CLOCK_MONOTONIC of one host. */
typedef struct check_record {
    int64_t invoke_us;
    int64_t return_us;
    int64_t fence;      /* answered */
    int64_t only_fence; /* asked for; 0: whichever is live */
    int64_t idle_us;
    int64_t ttl_us;     /* asked for; 0: none */
    int64_t ends_us;    /* the lock's own bound as answered; 0: none */
    int64_t expires_us; /* the session's bound as answered; 0: not told */
    uint32_t client;
    uint32_t session; /* small numbers: they index a table */
    uint32_t target;
    uint32_t resource;
    uint8_t op;
    uint8_t result;
    uint8_t asked;
    uint8_t mode; /* answered */
} check_record;

/* What can be wrong. */
#define CHECK_FAULT_TABLE(X)                                                                       \
    X(CHECK_OVERLAP, "P1: two sessions held conflicting locks at once")                            \
    X(CHECK_EARLY, "P7: a lock was taken over before its holder's bound")                          \
    X(CHECK_EQUAL_FENCE, "P8: two grants have the same fence")                                     \
    X(CHECK_FENCE_BACK, "P8: a later grant has a smaller fence")                                   \
    X(CHECK_REVIVED, "P7: a dead session was served")                                              \
    X(CHECK_DIED_EARLY, "P7: a live session was called dead")                                      \
    X(CHECK_WRONG_BOUND, "P7: a bound is not where the durations put it")                          \
    X(CHECK_REFENCED, "P5: acquiring what is held changed the fence")                              \
    X(CHECK_WEAKER, "P5: the answer is a weaker mode or a shorter bound")                          \
    X(CHECK_OTHER_GRANT, "P6: done by the fence of another grant")                                 \
    X(CHECK_LOST, "a lock was lost that nothing could have ended")                                 \
    X(CHECK_GHOST, "refused, or said to be held, though nobody can have held it")                  \
    X(CHECK_BELIEVED, "a client believed in a lock past its bound")

typedef enum check_fault {
#define CHECK_FAULT_ENUM(name, sentence) name,
    CHECK_FAULT_TABLE(CHECK_FAULT_ENUM)
#undef CHECK_FAULT_ENUM
        CHECK_FAULTS
} check_fault;

#define CHECK_EXAMPLES 8

typedef struct check_report {
    size_t records;
    size_t sessions;
    size_t grants;   /* distinct fences */
    size_t refusals; /* acquires answered with a holder */
    /* grants whose session died at its idle bound and that another stepped over */
    size_t take_overs;
    size_t unknown;
    size_t faults;
    size_t by_fault[CHECK_FAULTS];
    size_t examples_count;
    struct {
        check_fault fault;
        check_record a; /* what was answered ... */
        check_record b; /* ... and what it can't go together with; client UINT32_MAX: nothing */
    } examples[CHECK_EXAMPLES];
} check_report;

/* Judges a history, in whatever order its records are. slack_us: how far the store's clock and the
 * records' may have drifted apart meanwhile. Calls abort() when memory runs out. */
void check_history(const check_record *records, size_t count, int64_t slack_us, check_report *out);

/* Prints the figures, and of what is wrong the first examples, as lines that begin with "# ". */
void check_print(const check_report *report, FILE *out);

const char *check_op_name(check_op op);
const char *check_fault_sentence(check_fault fault);

#endif
