/* SPDX-License-Identifier: MIT */
/* The tables of fields: a row for each member, with the kinds of ops that need or take it. */
#include "wire/fields.h"

_Static_assert(HF_OP_KINDS < 64, "a set of kinds is a word of 64 bits");
_Static_assert(sizeof(hf_mode) == sizeof(int) && sizeof(hf_policy) == sizeof(int) &&
                   sizeof(hf_status) == sizeof(int) && sizeof(hf_outcome) == sizeof(int) &&
                   sizeof(hf_event_kind) == sizeof(int),
               "an enum is read and written as an int");

/* ---- names of enums ---- */

static const char *mode_name(int value)
{
    return hf_mode_name((hf_mode)value);
}

static const char *policy_name(int value)
{
    return hf_policy_name((hf_policy)value);
}

static const char *status_name(int value)
{
    return hf_status_wire((hf_status)value);
}

static const char *event_name(int value)
{
    return hf_event_kind_name((hf_event_kind)value);
}

static const char *outcome_name(int value)
{
    static const char *const names[] = {
        [HF_GRANTED] = "granted", [HF_UPGRADED] = "upgraded", [HF_ALREADY_YOURS] = "already_yours"};
    return names[value];
}

static const wire_names modes = {mode_name, 0, HF_MODE_COUNT};
static const wire_names policies = {policy_name, HF_POLICY_NONE + 1, HF_POLICY_COUNT};
static const wire_names any_policy = {policy_name, HF_POLICY_NONE, HF_POLICY_COUNT};
static const wire_names statuses = {status_name, 0, HF_STATUS_COUNT};
static const wire_names events = {event_name, 0, HF_EVENT_KINDS};
static const wire_names outcomes = {outcome_name, HF_GRANTED, HF_ALREADY_YOURS + 1};

/* ---- rows ---- */

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define ALWAYS      UINT64_MAX

#define CHARS(name, of, member, ...)                                                               \
    {                                                                                              \
        name, WIRE_CHARS, offsetof(of, member), .size = sizeof((of *)NULL)->member, __VA_ARGS__    \
    }
#define INT(name, of, member, ...)                                                                 \
    {                                                                                              \
        name, WIRE_INT, offsetof(of, member), __VA_ARGS__                                          \
    }
#define NAME(name, of, member, which, ...)                                                         \
    {                                                                                              \
        name, WIRE_NAME, offsetof(of, member), .names = &(which), __VA_ARGS__                      \
    }
#define TIME(name, of, member, ...)                                                                \
    {                                                                                              \
        name, WIRE_TIME, offsetof(of, member), __VA_ARGS__                                         \
    }
#define SPAN(name, of, member, ...)                                                                \
    {                                                                                              \
        name, WIRE_SPAN, offsetof(of, member), __VA_ARGS__                                         \
    }
#define LIST(name, member, which)                                                                  \
    {                                                                                              \
        name, WIRE_LIST, offsetof(hf_answer, member),                                              \
            .beside = offsetof(hf_answer, member##_count), .rows = &(which), MAYBE                 \
    }
#define MUST  .needs = ALWAYS
#define MAYBE .takes = ALWAYS

/* ---- members of rows ---- */

wire_field wire_field_of(const hf_shown *shown)
{
    wire_field field = {shown->name, WIRE_CHARS, shown->at, .size = shown->size};
    switch (shown->kind) {
    case HF_ROW_NUM:
        field.kind = WIRE_INT;
        break;
    case HF_ROW_TIME:
        field.kind = WIRE_TIME;
        break;
    case HF_ROW_SPAN:
        field.kind = WIRE_SPAN;
        break;
    case HF_ROW_FLAG:
        field.kind = WIRE_FLAG;
        break;
    case HF_ROW_RESOURCE:
        field.kind = WIRE_PLACE;
        break;
    case HF_ROW_MODE:
        field.names = &modes;
        break;
    case HF_ROW_POLICY:
        field.names = &any_policy;
        break;
    case HF_ROW_EVENT:
        field.names = &events;
        break;
    default:
        break;
    }
    if (field.names != NULL)
        field.kind = WIRE_NAME;
    return field;
}

static const wire_field count_rows[] = {
    CHARS("type", hf_count, type, MUST),
    {"locks", WIRE_SIZE, offsetof(hf_count, locks), MUST, .about = "that live"},
};
static const wire_table count_table = {"count", count_rows, COUNT(count_rows), sizeof(hf_count)};

/* ---- answers ---- */

static const wire_field answer_rows[] = {
    NAME("status", hf_answer, status, statuses, MUST, .about = "`ok`, or why not"),
    NAME("outcome", hf_answer, outcome, outcomes, MAYBE, .about = "what an acquire came to"),
    {"pending", WIRE_FLAG, offsetof(hf_answer, pending), MAYBE,
     .about = "given inside a transaction of the application: it counts when that commits"},
    {"message", WIRE_STRING, offsetof(hf_answer, message), MAYBE,
     .about = "one sentence, when the status is not `ok`"},
    LIST("locks", locks, hf_lock_fields),
    {"locks_count", WIRE_COUNT, offsetof(hf_answer, locks_count), MAYBE,
     .beside = offsetof(hf_answer, locks), .about = "how many locks, where they are only counted"},
    LIST("requests", requests, hf_request_fields),
    LIST("lost", lost, hf_lost_fields),
    LIST("versions", versions, hf_resource_fields),
    LIST("sessions", sessions, hf_session_fields),
    LIST("types", types, hf_type_fields),
    LIST("events", events, hf_event_fields),
    LIST("tokens", tokens, hf_token_fields),
    {"counts", WIRE_LIST, offsetof(hf_answer, counts), .beside = offsetof(hf_answer, counts_count),
     .table = &count_table, MAYBE},
    {"total_locks", WIRE_SIZE, offsetof(hf_answer, total_locks), MAYBE,
     .about = "that live, of all types"},
    {"total_sessions", WIRE_SIZE, offsetof(hf_answer, total_sessions), MAYBE, .about = "that live"},
    INT("first_seq", hf_answer, first_seq, MAYBE,
        .about = "from this one on all are kept; older ones may be missing"),
    INT("last_seq", hf_answer, last_seq, MAYBE, .about = "the newest event there is"),
    TIME("now", hf_answer, now_us, MAYBE, .about = "the store's time the op was judged at"),
    {"swept", WIRE_SIZE, offsetof(hf_answer, swept), MAYBE, .about = "rows removed or ended"},
    {"more", WIRE_FLAG, offsetof(hf_answer, more), MAYBE,
     .about =
         "there is more: go on with `next` as `after`, or sweep again; of a count: further types"},
    {"next", WIRE_CURSOR, offsetof(hf_answer, next), MAYBE},
    {"passed", WIRE_SIZE, offsetof(hf_answer, passed), MAYBE,
     .about = "rows that a sweep left, since others' transactions have them locked"},
};
const wire_table wire_answer_table = {"answer", answer_rows, COUNT(answer_rows), sizeof(hf_answer)};

/* ---- ops ---- */

/* clang-format off */
#define K(kind) (UINT64_C(1) << HF_OP_##kind)
#define HELD    (K(ACQUIRE) | K(RENEW) | K(DOWNGRADE) | K(RELEASE) | K(HOLDS) | K(REQUEST) | K(HAND_OVER) | K(DECLINE))
#define OWNED   (HELD | K(SESSION_OPEN) | K(BEAT) | K(CLOSE) | K(RELEASE_ALL))
#define ON_ONE  (HELD | K(WHO) | K(FORCE_RELEASE) | K(VERSION) | K(SAVE))
#define PAGED   (K(LIST) | K(SESSIONS) | K(TOKENS))
#define ALONE   (K(TYPE_SET) | K(TYPES) | K(EVENTS) | K(SWEEP) | K(TOKEN_CREATE) | K(TOKEN_FIND) | K(TOKEN_REVOKE) | K(COUNT) | PAGED)
#define READING (K(HOLDS) | K(WHO) | K(VERSION) | K(TYPE_GET) | K(TYPES) | K(EVENTS) | K(TOKEN_FIND) | K(SESSION_FIND) | K(COUNT) | PAGED)
#define ALL     ((UINT64_C(1) << HF_OP_KINDS) - 1)

#define STRING(name, member, ...) {name, WIRE_STRING, offsetof(hf_op, member), __VA_ARGS__}
#define DIGEST(name, member, ...) {name, WIRE_DIGEST, offsetof(hf_op, member), __VA_ARGS__}
#define LOGIN(name, member, ...)  {name, WIRE_LOGIN, offsetof(hf_op, member), __VA_ARGS__}

static const wire_field op_rows[] = {
    LOGIN("session", session,    .needs = OWNED, .takes = K(FORCE_RELEASE) | K(SAVE) | K(SESSION_FIND),
          .about = "`ID.KEY`; of a session-open: the new one's, drawn by the caller"),
    LOGIN("replaces", replaces,  .takes = K(SESSION_OPEN), .about = "`ID.KEY` of older work, ended in the same step"),
    {"resource", WIRE_NAMED, offsetof(hf_op, type), .beside = offsetof(hf_op, id), .needs = ON_ONE, .takes = K(NOTE),
     .about = "of a note also a type alone"},
    STRING("type", type,         .needs = K(TYPE_GET) | K(TYPE_SET), .takes = K(LIST)),
    NAME("mode", hf_op, mode, modes, .takes = K(ACQUIRE), .about = "`exclusive` when left out"),
    NAME("policy", hf_op, policy, policies, .needs = K(TYPE_SET)),
    SPAN("ttl_seconds", hf_op, ttl_us, .takes = K(ACQUIRE) | K(RENEW) | K(TYPE_SET)),
    SPAN("expires_seconds", hf_op, ttl_us, .takes = K(TOKEN_CREATE), .about = "the token ends after that long; never when left out"),
    SPAN("max_ttl_seconds", hf_op, ttl_max_us, .takes = K(TYPE_SET)),
    SPAN("idle_seconds", hf_op, idle_us, .takes = K(SESSION_OPEN)),
    {"fence", WIRE_FENCE, offsetof(hf_op, fence), .takes = K(RENEW) | K(DOWNGRADE) | K(RELEASE) | K(HOLDS) | K(HAND_OVER) | K(DECLINE) | K(FORCE_RELEASE) | K(SAVE),
     .about = "only that grant"},
    {"version", WIRE_FENCE, offsetof(hf_op, version), .takes = K(VERSION) | K(SAVE), .about = "the one that was read"},
    {"absent", WIRE_FLAG, offsetof(hf_op, absent), .takes = K(VERSION) | K(SAVE), .about = "it was not there: never saved, or gone"},
    {"gone", WIRE_FLAG, offsetof(hf_op, gone), .takes = K(SAVE), .about = "the save marks it as deleted"},
    STRING("purpose", purpose,   .takes = K(ACQUIRE) | K(RENEW)),
    STRING("message", text,      .takes = K(REQUEST) | K(DECLINE) | K(SESSION_FIND),
           .about = "what who holds it, or who asked, gets to read; of a session-find: what was proved"),
    STRING("reason", text,       .needs = K(FORCE_RELEASE) | K(NOTE), .takes = K(SAVE)),
    NAME("kind", hf_op, event, events, .needs = K(NOTE), .about = "what a note is of: `denied` or `unauthenticated`"),
    STRING("actor", actor,       .takes = K(FORCE_RELEASE) | K(TYPE_SET) | K(NOTE) | K(TOKEN_CREATE) | K(TOKEN_REVOKE), .about = "who does it, where that isn't the session's user"),
    STRING("token", caller,      .takes = K(SESSION_OPEN) | K(COUNT), .about = "public id of the token that opens the session, where that isn't the one presented; of a count: whose sessions alone are counted"),
    STRING("target", target,     .needs = K(HAND_OVER) | K(DECLINE), .takes = K(LIST) | K(COUNT) | K(SESSION_FIND),
           .about = "a session's public id; of a count: whose locks alone are counted; of a session-find: in place of `session`, with `message` and `sha256`"),
    STRING("user", user,         .needs = K(SESSION_OPEN), .takes = K(LIST) | K(SESSIONS) | K(NOTE) | K(SAVE)),
    STRING("name", name,         .needs = K(TOKEN_CREATE), .takes = K(SESSION_OPEN) | K(SAVE)),
    STRING("token", token,       .needs = K(TOKEN_CREATE) | K(TOKEN_REVOKE), .takes = K(TOKEN_FIND), .about = "a token's public id"),
    DIGEST("sha256", sha256,     .needs = K(TOKEN_CREATE), .takes = K(TOKEN_FIND) | K(SESSION_FIND),
           .about = "of the token's secret; a token-find has this or `token`; of a session-find: the HMAC of `message` by the hash of the session's key"),
    STRING("roles", roles,       .needs = K(TOKEN_CREATE)),
    STRING("users", users,       .takes = K(TOKEN_CREATE), .about = "pattern of the users it may name"),
    STRING("request_id", request_id, .takes = ALL & ~READING, .about = "asking again with the same id settles an unsure answer"),
    {"after", WIRE_CURSOR, offsetof(hf_op, after), .takes = PAGED, .about = "`next` of the answer before"},
    INT("after_seq", hf_op, after_seq, .takes = K(EVENTS)),
    SPAN("keep_events_seconds", hf_op, keep_events_us, .takes = K(SWEEP)),
    SPAN("keep_forced_seconds", hf_op, keep_forced_us, .takes = K(SWEEP)),
    {"limit", WIRE_SIZE, offsetof(hf_op, limit), .takes = PAGED | K(EVENTS) | K(SWEEP) | K(COUNT)},
    {"linked", WIRE_FLAG, offsetof(hf_op, linked), .takes = ALL & ~ALONE, .about = "stands or falls with the next op"},
};
/* clang-format on */
_Static_assert(COUNT(op_rows) <= 64 && COUNT(answer_rows) <= 64,
               "rows that were seen are a word of 64 bits");
const wire_table wire_op_table = {"op", op_rows, COUNT(op_rows), sizeof(hf_op)};
