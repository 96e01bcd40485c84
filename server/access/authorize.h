/* SPDX-License-Identifier: MIT */
/* Rights: one table says for each kind of op what it needs; an op that is not in it is denied.
 * Pure: the caller was authenticated before (authenticate.h).
 *
 * A caller presents a token, sessions, or both. A session may do its own work within the rights of
 * the token that opened it, while that token is valid. A presented token may work for every session
 * whose user matches its pattern. Giving back (close, release) needs only the session's key, which
 * the store checks; it is refused here only if the store has already called the key wrong. For
 * everything else an unknown or dead token is refused, even if a session would suffice. */
#ifndef HF_SERVER_ACCESS_AUTHORIZE_H
#define HF_SERVER_ACCESS_AUTHORIZE_H

#include "base/arena.h"

#include <holdfast/batch.h>

/* The part of a token that rights depend on. */
typedef struct caller_token {
    char id[HF_TOKEN_ID_SIZE];
    char name[HF_TOKEN_NAME_SIZE];
    char users[HF_TEXT_SIZE]; /* pattern of the users it may name */
    hf_roles roles;
} caller_token;

/* A session that was presented, that an op names, or that receives a lock. */
typedef struct caller_session {
    char id[HF_SESSION_ID_SIZE];
    hf_status status;            /* HF_OK: the key is right and it lives; else the store's answer */
    const char *message;         /* the store's sentence, if not HF_OK */
    char user[HF_TEXT_SIZE];     /* "" unless HF_OK */
    char opener[HF_CALLER_SIZE]; /* id of the token that opened it; "": none */
    /* that token; NULL: there is none, or it was revoked or has expired */
    const caller_token *token;
} caller_session;

/* Proves that its maker knew a session's key; see HF_OP_SESSION_FIND. */
enum { CALLER_PROOF_SIZE = 96 };
typedef struct caller_proof {
    char text[CALLER_PROOF_SIZE];
    unsigned char sha256[32];
} caller_proof;

typedef struct caller caller;
typedef struct caller_opened caller_opened;
struct authenticator;

/* Who sends a request. The request fills in the first part, authenticate_caller the second, in the
 * arena; then authorize_op is called for each op. */
struct caller {
    /* the token's secret; NULL or "": none was presented. Not used after authenticate_caller */
    const char *bearer;
    bool cookie; /* `bearer` is a page's cookie: ID.KEY of its sign-in, a session (HF_SIGN_IN) */
    /* from caller_sessions, or just one; borrowed */
    const hf_credentials *const *sessions;
    size_t sessions_count;
    const caller_proof *proof;  /* in place of the key of the only session; NULL: none */
    const char *const *targets; /* from caller_targets; may be none */
    size_t targets_count;
    hf_arena *arena;
    void (*done)(caller *who); /* on the loop; perhaps before authenticate_caller returns */
    /* Called before `count` sessions (more than one) are looked up for a caller without a valid
     * token; 0: before a secret or one session is. Not HF_OK: they are not, and that is the
     * caller's status. NULL: always HF_OK. */
    hf_status (*may_look)(caller *who, size_t count, hf_error *err);
    void *context;

    /* Results. Not HF_OK: authentication failed (the store is away, out of memory ...); then only
     * giving back is allowed. */
    hf_status status;
    const char *message;       /* why not; NULL if HF_OK */
    const caller_token *token; /* the token presented, if it is valid */
    /* what is wrong with the token that was presented; NULL: nothing, or none was */
    const char *flaw;
    caller_session *known;     /* one for each of `sessions` */
    caller_session *receivers; /* one for each of `targets`; not HF_OK: no live session was found */
    caller_opened *opened;     /* sessions that the ops authorized so far open */

    /* Private to authenticate.c. */
    struct authenticator *of;
    size_t waits;
    unsigned step; /* the next one */
};

/* The op that finds a session, by its key or by a proof (NULL: by its key); both are borrowed. */
hf_op caller_find_session(const hf_credentials *session, const caller_proof *proof);

/* The sessions that must be known to authorize these ops: `presented` (may be NULL) and those of
 * ops that need more than the key, each once, in order. If there is none: the first that an op
 * names, so that the caller is known. False: out of memory. */
bool caller_sessions(const hf_op *ops, size_t count, const hf_credentials *presented,
                     hf_arena *arena, const hf_credentials *const **out, size_t *out_count);

/* The ids of the sessions that these ops give locks to, each once, in order. False: out of
 * memory. */
bool caller_targets(const hf_op *ops, size_t count, hf_arena *arena, const char *const **out,
                    size_t *out_count);

/* Whether the caller may do the op. To be called for the ops of a batch in order. Fills in what
 * only the server may say: `caller` of a session that is opened, `actor` if none is named.
 * HF_UNAUTHENTICATED: nothing suitable was presented. HF_DENIED: the sentence says which role for
 * which type is missing, or which user may not be named. Another status: the store's answer about
 * the session, or why authentication failed. The store may still refuse an op that is allowed
 * here. */
HF_MUST_USE hf_status authorize_op(caller *who, hf_op *op, hf_error *err);

/* For a single op that needs only the session's key: HF_DENIED if the store has said that the key
 * is wrong. */
HF_MUST_USE hf_status authorize_key(const caller *who, const hf_op *op, hf_error *err);

#endif
