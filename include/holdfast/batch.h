/* SPDX-License-Identifier: MIT */
/* What can be asked of a store. Everything done to a store is a batch of ops: they run in order,
 * each sees those before it, and each gets its own answer. A refused op changes nothing and does
 * not fail its neighbours. (One exception: after the release of a lost lock is refused, beats no
 * longer report that loss.) An op marked `linked` succeeds or fails with the next one: a linked run
 * is atomic.
 *
 * Most programs use the easy calls of session.h and manager.h, each of which is a batch. */
#ifndef HOLDFAST_BATCH_H
#define HOLDFAST_BATCH_H

#include <holdfast/event.h>
#include <holdfast/names.h>
#include <holdfast/status.h>
#include <holdfast/token.h>
#include <holdfast/type.h>
#include <holdfast/version.h>

HF_BEGIN_DECLS

typedef enum hf_op_kind {
    /* The comment at each kind lists the fields of hf_op that it reads; (x) is optional. Every
     * changing op also takes (request_id); a sweep and a note ignore it. */
    /* session (the new id and key), user, (name), (idle_us), (replaces), (caller) → sessions */
    HF_OP_SESSION_OPEN,
    HF_OP_BEAT,  /* session → sessions, locks_count, lost, requests */
    HF_OP_CLOSE, /* session → locks_count released. Closing an ended session is ok */
    /* session, type, id, (mode), (ttl_us), (purpose) → locks[0], outcome, versions[0] if it was
     * ever saved */
    HF_OP_ACQUIRE,
    /* session, type, id, (ttl_us: 0 gives the type's default, else its longest, else none),
     * (purpose), (fence) → locks[0] */
    HF_OP_RENEW,
    HF_OP_DOWNGRADE,   /* session, type, id, (fence) → locks[0] */
    HF_OP_RELEASE,     /* session, type, id, (fence) → locks[0]: what was released */
    HF_OP_RELEASE_ALL, /* session → locks_count released */
    HF_OP_HOLDS,       /* session, type, id, (fence) → locks[0], or HF_NOT_HELD */
    HF_OP_WHO,         /* type, id → locks (holders), requests */
    HF_OP_REQUEST,     /* session, type, id, (text: message) → locks (holders) */
    HF_OP_HAND_OVER,   /* session, type, id, target, (fence) → locks[0]: the new holder's */
    /* session, type, id, target: the session that asks, (text: message), (fence) → locks[0]: the
     * session's own lock, which it keeps. HF_NOT_FOUND: the target has not asked for it. Any of
     * several readers may decline. */
    HF_OP_DECLINE,
    /* type, id, text: reason, actor or session, (fence: only that grant) → locks ended */
    HF_OP_FORCE_RELEASE,
    HF_OP_TYPE_GET, /* type → types[0], or HF_NOT_FOUND */
    /* event: denied or unauthenticated, text: reason, (actor), (user), (type, (id)). Writes that
     * event. */
    HF_OP_NOTE,
    /* session → sessions[0] while it lives; nothing is extended or written. A proof may replace the
     * key: target, text, and sha256: the HMAC-SHA-256 of the text, keyed with key_sha256. */
    HF_OP_SESSION_FIND,
    /* type, id, (version or absent) → versions[0]. HF_NOT_FOUND: never saved, and nothing expected.
     * HF_STALE: the version is not the expected one. Linked with a save this is a premise: the
     * version cannot change before the commit. */
    HF_OP_VERSION,
    /* session or user, type, id, (version or absent), (gone), (fence), (name: of the user), (text:
     * reason) → versions[0]: the new one. HF_STALE: the version is not the expected one;
     * versions[0], if any, is the current one. HF_LOCKED: another session holds a lock.
     * HF_NOT_HELD: the type's policy requires a lock to edit, or the fence belongs to another
     * grant. Without version and absent only the holder of an exclusive lock can save. */
    HF_OP_SAVE,
    /* Each of the following must be the only op of its batch. */
    HF_OP_TYPE_SET, /* type, policy, (ttl_us), (ttl_max_us), (actor) */
    HF_OP_TYPES,    /* → types */
    HF_OP_LIST,     /* (type), (user), (target: a session id), (after), (limit) → locks, next */
    HF_OP_SESSIONS, /* (user), (after), (limit) → sessions that live, next */
    HF_OP_EVENTS,   /* (after_seq), (limit) → events, first_seq, last_seq */
    /* (limit), (keep_events_us), (keep_forced_us) → swept, more, passed. On a database server it is
     * refused inside the caller's own transaction. */
    HF_OP_SWEEP,
    /* token, sha256, name, roles, (users), (ttl_us: how long it lives), (actor) → tokens[0] */
    HF_OP_TOKEN_CREATE,
    /* either sha256 or token → tokens[0], also a dead one (hf_token_lives), or HF_NOT_FOUND */
    HF_OP_TOKEN_FIND,
    /* (after: a token's id in `session`), (limit) → tokens by id, also dead ones, next */
    HF_OP_TOKENS,
    HF_OP_TOKEN_REVOKE, /* token, (actor) → tokens[0]. Revoking twice is ok */
    /* (limit: types) → counts of live locks, in order of type, more; total_locks, total_sessions.
     * With target (a session): total_locks counts its live locks, total_sessions is 1 while it
     * lives. With caller (a token): total_sessions counts the live sessions that it opened. target
     * and caller exclude each other; with either there are no counts by type. */
    HF_OP_COUNT,
    HF_OP_KINDS
} hf_op_kind;

/* A session as anyone may see it: no secret. */
typedef struct hf_session_info {
    char id[HF_SESSION_ID_SIZE];
    char user[HF_TEXT_SIZE];
    char name[HF_TEXT_SIZE];
    int64_t idle_us;
    int64_t opened_us;
    int64_t expires_us;         /* when it dies unless it beats */
    int64_t ended_us;           /* 0 while it lives */
    char token[HF_CALLER_SIZE]; /* id of the token that opened it; "": none */
} hf_session_info;

/* Before a token's id in hf_session_info.token: not an editing session, but a page that has signed
 * in at a server with that token (docs/decisions/0021). */
#define HF_SIGN_IN "sign-in:"

/* How many locks of a type live. */
typedef struct hf_count {
    char type[HF_TYPE_SIZE];
    size_t locks;
} hf_count;

/* The outcome of an acquire. */
typedef enum hf_outcome { HF_OUTCOME_NONE, HF_GRANTED, HF_UPGRADED, HF_ALREADY_YOURS } hf_outcome;

/* Where the next page of a list begins: after this row. Zero: from the start. */
typedef struct hf_cursor {
    hf_resource resource;
    char session[HF_SESSION_ID_SIZE];
} hf_cursor;

/* A cursor as one opaque text: "type/id session", or "session" alone. out holds
 * HF_CURSOR_SIZE bytes. */
#define HF_CURSOR_SIZE (HF_RESOURCE_SIZE + HF_SESSION_ID_SIZE)
HF_API void hf_cursor_format(const hf_cursor *cursor, char *out);
HF_API HF_MUST_USE hf_status hf_cursor_parse(const char *text, hf_cursor *out, hf_error *err);

/* The answer to an op. Arrays belong to the batch and live until it is cleared or freed. */
typedef struct hf_answer {
    hf_status status;
    hf_outcome outcome;
    /* granted inside the caller's own transaction: takes effect when the caller commits */
    bool pending;
    const char *message;  /* one sentence when status is not HF_OK, else NULL */
    const hf_lock *locks; /* your own, or those of other sessions that block you */
    size_t locks_count;
    const hf_request *requests;
    size_t requests_count;
    const hf_lost *lost;
    size_t lost_count;
    const hf_version *versions;
    size_t versions_count;
    const hf_session_info *sessions;
    size_t sessions_count;
    const hf_type *types;
    size_t types_count;
    const hf_event *events;
    size_t events_count;
    const hf_token *tokens;
    size_t tokens_count;
    const hf_count *counts;
    size_t counts_count;
    size_t total_locks, total_sessions; /* HF_OP_COUNT: those that live, of all types */
    /* HF_OP_EVENTS: all events from this one on are kept; a reader that is behind it has missed
     * some. Events that are kept longer may be older. */
    int64_t first_seq;
    int64_t last_seq; /* HF_OP_EVENTS: the newest there is; 0: none yet */
    int64_t now_us;   /* the store's time this op was judged at */
    size_t swept;     /* HF_OP_SWEEP: rows removed or ended */
    /* HF_OP_LIST, HF_OP_SESSIONS, HF_OP_TOKENS: `next` goes on; HF_OP_SWEEP: call again;
     * HF_OP_COUNT: there are further types. */
    bool more;
    const hf_cursor *next; /* NULL: there is no more */
    /* HF_OP_SWEEP on a database server: what is over, and locked by others' transactions. While the
     * call removed something, `more` is true; else it is left to a later sweep. */
    size_t passed;
} hf_answer;

/* One operation. Strings are borrowed until the batch has been executed; NULL means not given. */
typedef struct hf_op {
    hf_op_kind kind;
    bool linked; /* succeeds or fails with the next op */
    const hf_credentials *session;
    const hf_credentials *replaces;
    const char *type;
    const char *id;
    hf_mode mode;
    hf_policy policy;
    int64_t ttl_us;
    int64_t ttl_max_us;
    int64_t idle_us;
    int64_t fence;   /* 0: whichever is live */
    int64_t version; /* the one that was read; 0: not given */
    bool absent;     /* it was not there: never saved, or gone */
    bool gone;       /* the save marks it as deleted */
    const char *purpose;
    /* message of a request or a decline, reason of a forced release, a save or a note */
    const char *text;
    const char *actor;  /* who forces, where it isn't the session's user */
    const char *caller; /* id of the token that opens the session, or whose sessions are counted */
    const char *target; /* a session's public id */
    const char *user;
    const char *name;
    const char *token;           /* a token's public id */
    const unsigned char *sha256; /* of a token's secret, or a proof: 32 bytes */
    const char *roles;           /* as hf_roles_parse reads them */
    const char *users;           /* pattern, see hf_users_match; NULL: any, "" is refused */
    hf_event_kind event;         /* what a note is of */
    /* Repeating an op with the same id settles an unsure answer. An id that was used to open a
     * session with another user, name or idle bound, or to make a token with another name, roles,
     * users or lifetime, is refused: HF_INVALID, and the answer has that session or token. If a
     * batch acquires and releases the same resource, both ops must have the same id or be linked.
     * In a repeated linked run, an op whose lock was ended by a later op of the run may answer
     * HF_OK without locks. */
    const char *request_id;
    const hf_cursor *after; /* NULL: from the start */
    int64_t after_seq;
    int64_t keep_events_us; /* HF_OP_SWEEP: remove events older than this; 0: none */
    /* the same for events where hf_event_is_audit is true; at least keep_events_us; 0: none */
    int64_t keep_forced_us;
    size_t limit; /* 0: HF_LIST_DEFAULT or HF_SWEEP_DEFAULT */
    hf_answer answer;
    /* HF_OP_TOKEN_REVOKE: HF_DENIED if no other live token has admin for all types. Set by servers:
     * who holds the store itself can always make a new one. */
    bool keeps_admin;
} hf_op;

typedef struct hf_batch hf_batch;

/* A batch with room for `capacity` ops (1 to HF_BATCH_OPS_MAX; 0: HF_INVALID, more: HF_TOO_LARGE).
 * */
HF_API HF_MUST_USE hf_status hf_batch_new(size_t capacity, hf_batch **out, hf_error *err);
HF_API void hf_batch_free(hf_batch *batch);

/* Adds a zeroed op of that kind and returns it to be filled in; NULL when the batch is full. */
HF_API hf_op *hf_batch_add(hf_batch *batch, hf_op_kind kind);

HF_API size_t hf_batch_count(const hf_batch *batch);
HF_API hf_op *hf_batch_op(hf_batch *batch, size_t index);

/* Removes ops and answers, and keeps the memory for the next ones. */
HF_API void hf_batch_clear(hf_batch *batch);

/* "acquire", "session-open" ...: the kind as it is written in traces and on the wire. */
HF_API const char *hf_op_kind_name(hf_op_kind kind);

/* Which kinds must be alone in their batch, which change nothing, and which need space on disk (the
 * others free some, or only move a bound). */
HF_API bool hf_op_alone(hf_op_kind kind);
HF_API bool hf_op_reads(hf_op_kind kind);
HF_API bool hf_op_grows(hf_op_kind kind);

HF_END_DECLS

#endif
