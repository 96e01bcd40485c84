/* SPDX-License-Identifier: MIT */
/* Every field of every row that a store keeps, spelled here and nowhere else. From this table come
 * the tables of fields.c, which move rows between C, SQL, packed texts and JSON; and, at build time
 * (tools/embed), the lists of columns in the statements of sql/, the columns of the tables in three
 * dialects, and the fingerprint that meta keeps: a database made with another table is refused.
 *
 *   KEPT (row, kind, member, column, limit, flags)               a column
 *   SHOWN(row, kind, member, column, limit, flags, shown, json)  ... that the public struct has too
 *   ADDED(row, kind, shown, json, flags)                         only there: joined, or worked out
 *
 * row     `lock` is hf_lock_row in rows.h; what it shows is hf_lock. Fields of the key come first.
 * kind    what it is in C, in SQL and in JSON: the table of kinds in fields.h
 * limit   in bytes, of texts: checked at the door, the size of a column on MySQL
 * flags   KEY      part of the primary key
 *         NAMED    the same, and named by who asks: the rows of a resource are read without it
 *         MOVES    written by a beat, or by whatever changes a resource's locks
 *         VERSION  of a version: written by a save; there is none while `version` is 0
 *         ENDS     only where a free resource leaves no row (hf_rows.drops_free)
 *         MAYBE    0 or empty is NULL
 *         EMPTY    ... but an empty text is "" in JSON, not null
 * json    the member's name; times are RFC 3339, durations numbers of seconds
 *
 * Columns that no code uses yet are written as NULL. */
#ifndef HF_LOCK_FIELDS_TABLE_H
#define HF_LOCK_FIELDS_TABLE_H

/* clang-format off */

#define HF_SESSION_FIELDS(KEPT, SHOWN, ADDED)                                                                         \
    SHOWN(session, ID,   id,         "id",         HF_SESSION_ID_MAX, KEY,           id,         "id")                \
    KEPT (session, HASH, key_sha256, "key_sha256", 32,                0)                                              \
    SHOWN(session, TEXT, user,       "user",       HF_TEXT_MAX,       0,             user,       "user")              \
    SHOWN(session, TEXT, name,       "name",       HF_TEXT_MAX,       0,             name,       "name")              \
    KEPT (session, TEXT, actor,      "actor",      16,                MAYBE) /* person, agent, job */                 \
    SHOWN(session, SPAN, idle_us,    "idle_us",    0,                 0,             idle_us,    "idle_seconds")      \
    SHOWN(session, TIME, opened_us,  "opened_us",  0,                 0,             opened_us,  "opened")            \
    SHOWN(session, TIME, expires_us, "expires_us", 0,                 MOVES,         expires_us, "expires")           \
    SHOWN(session, TIME, ended_us,   "ended_us",   0,                 MOVES | MAYBE, ended_us,   "ended")             \
    KEPT (session, TIME, active_us,  "active_us",  0,                 MOVES | MAYBE) /* when its holder last typed */ \
    KEPT (session, NUM,  rev,        "rev",        0,                 MOVES)                                          \
    SHOWN(session, TEXT, caller,     "token",      HF_CALLER_MAX,     MAYBE,         token,      "token")             \
    KEPT (session, TEXT, limits,     "limits",     4096,              MAYBE) /* what it is limited to, JSON */        \
    KEPT (session, TEXT, request,    "request",    129,               MAYBE) /* "id caller" */                        \
    KEPT (session, TEXT, ends.text,  "ends",       HF_ENDS_TEXT_MAX,  ENDS | MAYBE) /* ends.h */

/* shows hf_version */
#define HF_RESOURCE_FIELDS(KEPT, SHOWN, ADDED)                                                                               \
    KEPT (resource, TEXT, type,          "type",          HF_TYPE_MAX,       NAMED)                                          \
    KEPT (resource, TEXT, id,            "id",            HF_ID_MAX,         NAMED)                                          \
    KEPT (resource, NUM,  fence,         "fence",         0,                 MOVES)                                          \
    KEPT (resource, NUM,  rev,           "rev",           0,                 MOVES)                                          \
    KEPT (resource, ID,   ended_session, "ended_session", HF_SESSION_ID_MAX, MOVES | MAYBE)                                  \
    KEPT (resource, NUM,  ended_fence,   "ended_fence",   0,                 MOVES | MAYBE)                                  \
    KEPT (resource, TEXT, ended_request, "ended_request", 320,               MOVES | MAYBE)                                  \
    KEPT (resource, TIME, ended_us,      "ended_us",      0,                 MOVES | MAYBE)                                  \
    ADDED(resource, RESOURCE,                             resource,                  "resource", 0)                          \
    SHOWN(resource, NUM,  version,       "version",       0,                 VERSION,         number,   "version")           \
    SHOWN(resource, NUM,  saved_fence,   "saved_fence",   0,                 VERSION | MAYBE, fence,    "fence")             \
    SHOWN(resource, TIME, saved_us,      "saved_us",      0,                 VERSION | MAYBE, saved_us, "saved")             \
    SHOWN(resource, ID,   saved_session, "saved_session", HF_SESSION_ID_MAX, VERSION | MAYBE, session,  "session")           \
    SHOWN(resource, TEXT, saved_user,    "saved_user",    HF_TEXT_MAX,       VERSION | MAYBE, user,     "user")              \
    SHOWN(resource, TEXT, saved_name,    "saved_name",    HF_TEXT_MAX,       VERSION | MAYBE, name,     "name")              \
    KEPT (resource, TEXT, saved_request, "saved_request", 321,               VERSION | MAYBE) /* "id session", "id  user" */ \
    SHOWN(resource, FLAG, gone,          "gone",          0,                 VERSION,         gone,     "gone")

/* one that a later save has covered */
#define HF_SAVE_FIELDS(KEPT, SHOWN, ADDED)                             \
    KEPT (save, TYPE_OF, resource,   "type",       HF_TYPE_MAX, NAMED) \
    KEPT (save, ID_OF,   resource,   "id",         HF_ID_MAX,   NAMED) \
    KEPT (save, TEXT,    request,    "request",    321,         NAMED) \
    KEPT (save, NUM,     version,    "version",    0,           0)     \
    KEPT (save, NUM,     fence,      "fence",      0,           0)     \
    KEPT (save, TIME,    saved_us,   "saved_us",   0,           0)     \
    KEPT (save, FLAG,    gone,       "gone",       0,           0)     \
    KEPT (save, TIME,    covered_us, "covered_us", 0,           0)

#define HF_LOCK_FIELDS(KEPT, SHOWN, ADDED)                                                                    \
    KEPT (lock, TYPE_OF, resource,  "type",      HF_TYPE_MAX,       NAMED)                                    \
    KEPT (lock, ID_OF,   resource,  "id",        HF_ID_MAX,         NAMED)                                    \
    ADDED(lock, RESOURCE,                        resource,                       "resource", 0)               \
    KEPT (lock, SESSION, session,   "session",   HF_SESSION_ID_MAX, KEY)                                      \
    SHOWN(lock, MODE,    mode,      "mode",      16,                0,           mode,       "mode")          \
    SHOWN(lock, NUM,     fence,     "fence",     0,                 0,           fence,      "fence")         \
    SHOWN(lock, TIME,    since_us,  "since_us",  0,                 0,           since_us,   "since")         \
    ADDED(lock, TIME,                            expires_us,                     "expires",  0)               \
    SHOWN(lock, TIME,    ends_us,   "ends_us",   0,                 MAYBE,       ends_us,    "ends")          \
    KEPT (lock, TIME,    latest_us, "latest_us", 0,                 MAYBE) /* the bound that nothing moves */ \
    SHOWN(lock, TEXT,    purpose,   "purpose",   HF_TEXT_MAX,       MAYBE | EMPTY, purpose,  "purpose")       \
    KEPT (lock, TEXT,    data,      "data",      4096,              MAYBE) /* the holder's own, JSON */       \
    KEPT (lock, TEXT,    title,     "title",     HF_TEXT_MAX,       MAYBE)                                    \
    KEPT (lock, TEXT,    href,      "href",      2048,              MAYBE)                                    \
    KEPT (lock, TEXT,    request,   "request",   HF_REQUEST_ID_MAX, MAYBE)                                    \
    ADDED(lock, ID,                              session,                        "session",  0)               \
    ADDED(lock, TEXT,                            user,                           "user",     0)               \
    ADDED(lock, TEXT,                            name,                           "name",     0)

#define HF_REQUEST_FIELDS(KEPT, SHOWN, ADDED)                                                          \
    KEPT (request, TYPE_OF, resource, "type",    HF_TYPE_MAX,       NAMED)                             \
    KEPT (request, ID_OF,   resource, "id",      HF_ID_MAX,         NAMED)                             \
    KEPT (request, SESSION, session,  "session", HF_SESSION_ID_MAX, KEY)                               \
    ADDED(request, RESOURCE,                     resource,                  "resource", 0)             \
    ADDED(request, ID,                           session,                   "session",  0)             \
    ADDED(request, TEXT,                         user,                      "user",     0)             \
    ADDED(request, TEXT,                         name,                      "name",     0)             \
    SHOWN(request, TEXT,    message,  "message", HF_TEXT_MAX,       MAYBE | EMPTY, message, "message") \
    SHOWN(request, TIME,    at_us,    "at_us",   0,                 0,      at_us,      "at")

#define HF_LOST_FIELDS(KEPT, SHOWN, ADDED)                                                    \
    KEPT (lost, SESSION, session, "session", HF_SESSION_ID_MAX, KEY)                          \
    KEPT (lost, TEXT,    type,    "type",    HF_TYPE_MAX,       NAMED)                        \
    KEPT (lost, TEXT,    id,      "id",      HF_ID_MAX,         NAMED)                        \
    ADDED(lost, RESOURCE,                    resource,                  "resource", 0)        \
    SHOWN(lost, NUM,     fence,   "fence",   0,                 0,      fence,      "fence")  \
    SHOWN(lost, TEXT,    why,     "why",     15,                0,      why,        "why")    \
    SHOWN(lost, TEXT,    by,      "by_name", HF_TEXT_MAX,       MAYBE,  by,         "by")     \
    SHOWN(lost, TEXT,    reason,  "reason",  HF_TEXT_MAX,       MAYBE,  reason,     "reason") \
    SHOWN(lost, TIME,    at_us,   "at_us",   0,                 0,      at_us,      "at")

/* and before them its key, which a store makes */
#define HF_EVENT_FIELDS(KEPT, SHOWN, ADDED)                                                    \
    ADDED(event, NUM,                         seq,                         "seq",  0)          \
    SHOWN(event, TIME,  at_us,   "at_us",       0,                 0,      at_us,  "at")       \
    SHOWN(event, EVENT, kind,    "kind",        32,                0,      kind,   "kind")     \
    ADDED(event, RESOURCE,                      resource,                  "resource", MAYBE)  \
    KEPT (event, TEXT,  type,    "type",        HF_TYPE_MAX,       MAYBE)                      \
    KEPT (event, TEXT,  id,      "resource_id", HF_ID_MAX,         MAYBE)                      \
    SHOWN(event, TEXT,  session, "session",     HF_SESSION_ID_MAX, MAYBE,  session, "session") \
    SHOWN(event, TEXT,  user,    "user",        HF_TEXT_MAX,       MAYBE,  user,   "user")     \
    SHOWN(event, TEXT,  actor,   "actor",       HF_TEXT_MAX,       MAYBE,  actor,  "actor")    \
    SHOWN(event, NUM,   fence,   "fence",       0,                 MAYBE,  fence,  "fence")    \
    SHOWN(event, TEXT,  reason,  "reason",      HF_TEXT_MAX,       MAYBE,  reason, "reason")

#define HF_TYPE_FIELDS(KEPT, SHOWN, ADDED)                                                                 \
    SHOWN(type, CHARS,  type.type,       "type",        HF_TYPE_MAX, KEY,   type,       "type")            \
    SHOWN(type, POLICY, type.policy,     "policy",      32,          0,     policy,     "policy")          \
    SHOWN(type, SPAN,   type.ttl_us,     "ttl_us",      0,           MAYBE, ttl_us,     "ttl_seconds")     \
    SHOWN(type, SPAN,   type.ttl_max_us, "ttl_max_us",  0,           MAYBE, ttl_max_us, "max_ttl_seconds") \
    KEPT (type, SPAN,   max_hold_us,     "max_hold_us", 0,           MAYBE)                                \
    KEPT (type, FLAG,   tree,            "tree",        0,           MAYBE) /* its ids are paths */        \
    KEPT (type, TEXT,   title,           "title",       HF_TEXT_MAX, MAYBE)                                \
    KEPT (type, TEXT,   href,            "href",        2048,        MAYBE)

#define HF_TOKEN_FIELDS(KEPT, SHOWN, ADDED)                                                                             \
    SHOWN(token, CHARS, token.id,         "id",          HF_TOKEN_ID_MAX,   KEY,   id,         "id")                    \
    KEPT (token, HASH,  sha256,           "sha256",      32,                0)                                          \
    KEPT (token, HASH,  next_sha256,      "next_sha256", 32,                MAYBE) /* the secret that takes over ... */ \
    KEPT (token, TIME,  next_us,          "next_us",     0,                 MAYBE) /* ... from then on */               \
    SHOWN(token, CHARS, token.name,       "name",        HF_TOKEN_NAME_MAX, 0,     name,       "name")                  \
    SHOWN(token, CHARS, token.roles,      "roles",       HF_ROLES_MAX,      0,     roles,      "roles")                 \
    SHOWN(token, CHARS, token.users,      "users",       HF_TEXT_MAX,       MAYBE, users,      "users")                 \
    SHOWN(token, TIME,  token.created_us, "created_us",  0,                 0,     created_us, "created")               \
    SHOWN(token, TIME,  token.expires_us, "expires_us",  0,                 MAYBE, expires_us, "expires")               \
    SHOWN(token, TIME,  token.revoked_us, "revoked_us",  0,                 MOVES | MAYBE, revoked_us, "revoked")       \
    KEPT (token, TIME,  used_us,          "used_us",     0,                 MAYBE)                                      \
    KEPT (token, CHARS, request,          "request",     320,               MAYBE) /* "id actor" */

/* clang-format on */

#endif
