/* SPDX-License-Identifier: MIT */
/* What a request says: every field of a body, parameter of a query, part of a path and header that
 * a route may take, in one table. It reads them and describes them to openapi.json. */
#ifndef HF_SERVER_ROUTES_INPUTS_H
#define HF_SERVER_ROUTES_INPUTS_H

#include "base/arena.h"
#include "wire/wire.h"

typedef struct inputs {
    const char *type, *id, *session,
        *token;                  /* parts of a path; type may be a parameter, session a field too */
    const hf_credentials *login; /* Holdfast-Session */
    int64_t fence;               /* 0: not given */
    const char *request_id;      /* Idempotency-Key */
    int64_t last_event;          /* Last-Event-ID; -1: not given */
    const char *if_match, *if_none_match;
    const char *user, *name, *key, *replaces;
    const char *mode, *purpose, *message, *reason, *policy, *actor;
    const char *roles, *users, *secret;
    const char *after;
    int64_t idle_us, ttl_us, ttl_max_us, expires_us;
    const char *kind, *since, *until, *span, *ticket;
    int64_t limit, after_seq, before_seq; /* -1: not given */
    wire_texts resources;
    wire_objects locks, saves, premises;
} inputs;

/* clang-format off */
#define INPUT_TABLE(X) \
    /* name in C       as it is written       form     member       what it is */ \
    X(TYPE,            "type",                TEXT,    type,        "A type of records, as policy.") \
    X(ID,              "id",                  TEXT,    id,          "The record's id within its type; a slash is written %2F.") \
    X(SESSION,         "session",             TEXT,    session,     "A session's public id.") \
    X(TOKEN,           "token",               TEXT,    token,       "A token's public id.") \
    X(LOGIN,           "Holdfast-Session",    LOGIN,   login,       "The session that asks: ID.KEY.") \
    X(FENCE,           "Holdfast-Fence",      FENCE,   fence,       "Only if that grant (1 or more) is the live one.") \
    X(FENCE_FIELD,     "fence",               FENCE,   fence,       "Only that grant (1 or more); without it all holders.") \
    X(REQUEST_ID,      "Idempotency-Key",     TEXT,    request_id,  "Asking again with the same key answers what became of the first try; up to 64 characters of printable ASCII without spaces.") \
    X(LAST_EVENT,      "Last-Event-ID",       WHOLE,   last_event,  "The last event seen: the stream goes on after it.") \
    X(IF_MATCH,        "If-Match",            TEXT,    if_match,    "Only if it is at this version: the ETag that was read, as \"7\".") \
    X(IF_NONE_MATCH,   "If-None-Match",       TEXT,    if_none_match, "Of a save: * for a record that was not there. Of a look: the ETag that is known already, as \"7\".") \
    X(USER,            "user",                TEXT,    user,        "Who works: an account's name, up to 255 bytes.") \
    X(NAME,            "name",                TEXT,    name,        "A name to show, up to 255 bytes (a token's: 200).") \
    X(KEY,             "key",                 TEXT,    key,         "The session's secret: 32 to 128 hex digits in lower case.") \
    X(IDLE,            "idle_seconds",        SECONDS, idle_us,     "The session dies when it has not beaten for that long; 300 when not given.") \
    X(REPLACES,        "replaces",            TEXT,    replaces,    "ID.KEY of older work whose locks are released in the same step.") \
    X(MODE,            "mode",                TEXT,    mode,        "exclusive or shared.") \
    X(TTL,             "ttl_seconds",         SECONDS, ttl_us,      "The lock frees by itself after that long; when not given, the type's default, else its longest, else no bound of its own.") \
    X(TTL_MAX,         "max_ttl_seconds",     SECONDS, ttl_max_us,  "The longest bound a lock of the type may have.") \
    X(PURPOSE,         "purpose",             TEXT,    purpose,     "What for: shown to whoever is refused.") \
    X(MESSAGE,         "message",             TEXT,    message,     "What the other one gets to read: who holds it, or who asked for it.") \
    X(REASON,          "reason",              TEXT,    reason,      "Why: kept in the audit log and told to who lost the lock.") \
    X(ACTOR,           "actor",               TEXT,    actor,       "Who does it, where that is a person behind the token; the token's name when not given.") \
    X(POLICY,          "policy",              TEXT,    policy,      "optimistic, exclusive-write, exclusive-read or read-write.") \
    X(ROLES,           "roles",               TEXT,    roles,       "use, observe, manage and admin, for all types or as ROLE:TYPE, with spaces between them.") \
    X(USERS,           "users",               TEXT,    users,       "The users the token may name, with * for any text; all when not given.") \
    X(EXPIRES,         "expires_seconds",     SECONDS, expires_us,  "The token ends after that long; never when not given.") \
    X(SECRET,          "secret",              TEXT,    secret,      "A token's secret: 64 hex digits.") \
    X(AFTER,           "after",               TEXT,    after,       "\"next\" of the page before.") \
    X(AFTER_SEQ,       "after_seq",           WHOLE,   after_seq,   "The number of the last event seen.") \
    X(BEFORE_SEQ,      "before_seq",          WHOLE,   before_seq,  "Newest first: those before the event of this number; 0: from the newest.") \
    X(KIND,            "kind",                TEXT,    kind,        "Only events of this kind, as acquired.") \
    X(SINCE,           "since",               TEXT,    since,       "Only from this time on, in UTC: 2026-11-15T10:47:03Z, or a day.") \
    X(UNTIL,           "until",               TEXT,    until,       "Only before this time.") \
    X(SPAN,            "span",                TEXT,    span,        "hour or day; hour when not given.") \
    X(LIMIT,           "limit",               WHOLE,   limit,       "How many at most: 1 to 1000, 100 when not given.") \
    X(RESOURCE,        "resource",            TEXTS,   resources,   "Only this record: TYPE/ID. May be given up to 100 times, for several.") \
    X(TICKET,          "ticket",              TEXT,    ticket,      "A ticket of POST /v1/events/tickets, which names a session and its records.") \
    X(RESOURCES,       "resources",           TEXTS,   resources,   "Up to 1000 records, each TYPE/ID.") \
    X(LOCKS,           "locks",               OBJECTS, locks,       "What to lock, all or none: objects with resource, and mode and purpose if need be.") \
    X(SAVE,            "save",                OBJECTS, saves,       "What to save, all or none: objects with resource, and version or absent (it was not there); gone, if it is deleted; fence, if only that lock of the session counts.") \
    X(RELY,            "rely",                OBJECTS, premises,    "What the saves rely on: objects with resource, and version or absent.")
/* clang-format on */

typedef enum input_form {
    FORM_TEXT,
    FORM_WHOLE,
    FORM_FENCE, /* 1 or more */
    FORM_SECONDS,
    FORM_TEXTS, /* in a query: a parameter that may be given several times */
    FORM_OBJECTS,
    FORM_LOGIN
} input_form;

enum {
#define INPUT_ENUM(name, text, form, member, about) INPUT_##name,
    INPUT_TABLE(INPUT_ENUM)
#undef INPUT_ENUM
        INPUT_COUNT
};

typedef uint64_t input_set;
#define INPUT(name) (UINT64_C(1) << INPUT_##name)

typedef struct input {
    const char *name;
    input_form form;
    size_t at; /* in inputs */
    const char *about;
} input;

extern const input input_table[INPUT_COUNT];

/* Each says which of those `taken` is wrong, and never repeats what may be a secret. All texts are
 * in the arena. */
HF_MUST_USE hf_status inputs_read_body(inputs *in, hf_slice body, input_set taken, input_set needed,
                                       hf_arena *arena, hf_error *err);
HF_MUST_USE hf_status inputs_read_query(inputs *in, hf_slice query, input_set taken,
                                        hf_arena *arena, hf_error *err);
/* A header that was given: `which` is one of INPUT_.... An empty text counts as not given; an empty
 * number or session is refused. */
HF_MUST_USE hf_status inputs_read_header(inputs *in, unsigned which, const char *text,
                                         hf_arena *arena, hf_error *err);

/* A part of a URL as it was meant, %2F and all; NULL: a percent sign is not followed by two hex
 * digits, or memory is out. `plus`: a '+' stands for a space, as in a query. */
char *url_decode(hf_slice text, bool plus, hf_arena *arena);

#endif
