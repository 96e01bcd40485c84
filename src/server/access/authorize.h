/* SPDX-License-Identifier: MIT */
/* What a caller may: one table says for each kind of op what is needed; what is not in it is
 * denied. Pure: who asks has been found out before (callers.h).
 *
 * A caller presents a token, sessions, or both. A session stands for its own work within the rights
 * of the token that opened it, while that lives; a presented token may work for every session whose
 * user fits its pattern. Giving back (close, release) needs the session's key alone, which the
 * store checks: it is never refused here, but for a key that the store has called wrong. Whatever
 * else is asked with a token that is unknown or dead is refused, though a session might do: a wrong
 * credential is not passed over. */
#ifndef HF_SERVER_AUTHORIZE_H
#define HF_SERVER_AUTHORIZE_H

#include "base/arena.h"

#include <holdfast/batch.h>

/* A token, as far as it matters here. */
typedef struct caller_token {
    char id[HF_TOKEN_ID_SIZE];
    char name[HF_TOKEN_NAME_SIZE];
    char users[HF_TEXT_SIZE]; /* pattern of the users it may name */
    hf_roles roles;
} caller_token;

/* A session that is presented, that an op names, or that an op gives a lock to. */
typedef struct caller_session {
    char id[HF_SESSION_ID_SIZE];
    /* HF_OK: the key is right and it lives; else what the store said of it ... */
    hf_status status;
    const char *message;         /* ... in this sentence */
    char user[HF_TEXT_SIZE];     /* "" unless HF_OK */
    char opener[HF_CALLER_SIZE]; /* id of the token that opened it; "": none */
    /* that token, while it lives; NULL: there is none, or it was revoked or is past its end */
    const caller_token *token;
} caller_session;

/* That whoever made it knew a session's key, see HF_OP_SESSION_FIND. */
enum { CALLER_PROOF_SIZE = 96 };
typedef struct caller_proof {
    char text[CALLER_PROOF_SIZE];
    unsigned char sha256[32];
} caller_proof;

typedef struct caller caller;
typedef struct caller_opened caller_opened;
struct authenticator;

/* Who asks. Whoever handles a request fills in the first part and calls authenticate_caller
 * (callers.h); then authorize_op for each op. What is found is in the arena. */
struct caller {
    /* the secret presented; NULL or "": none. Not needed after authenticate_caller */
    const char *bearer;
    const hf_credentials *const
        *sessions; /* from caller_sessions, or just one; borrowed until the caller is done with */
    size_t sessions_count;
    const caller_proof *proof;  /* in place of the key of the only session; NULL: none */
    const char *const *targets; /* from caller_targets; may be none */
    size_t targets_count;
    hf_arena *arena;
    void (*done)(caller *who); /* on the loop; perhaps before authenticate_caller returns */
    /* May `count` sessions, more than one, be asked for in the store, though no token that counts
     * was presented? Not HF_OK is what the caller comes to. NULL: always. */
    hf_status (*may_look)(caller *who, size_t count, hf_error *err);
    void *context;

    /* Found. Not HF_OK: it could not be found out (the store is away, memory is out ...): nothing
     * but giving back is allowed. */
    hf_status status;
    const char *message;       /* why not, in a sentence; NULL while it is HF_OK */
    const caller_token *token; /* the token presented, while it lives; NULL: none */
    /* a token was presented, and this is what is wrong with it; NULL: nothing */
    const char *flaw;
    caller_session *known;     /* one for each of `sessions` */
    caller_session *receivers; /* one for each of `targets`; not HF_OK: none that lives was found */
    caller_opened *opened;     /* sessions that ops judged so far open */

    /* Private to callers.c. */
    struct authenticator *of;
    size_t waits;
    unsigned step; /* the one to come */
};

/* The op that finds a session, by its key or by a proof (NULL: by its key); both are borrowed. */
hf_op caller_find_session(const hf_credentials *session, const caller_proof *proof);

/* The sessions that must be known before these ops can be judged: `presented` (may be NULL) and
 * those of ops that need more than the key, each once, in order; if there is none, the first that
 * an op names, so that it is known who asks. False: memory is out. */
bool caller_sessions(const hf_op *ops, size_t count, const hf_credentials *presented,
                     hf_arena *arena, const hf_credentials *const **out, size_t *out_count);

/* The ids of the sessions that these ops give locks to, each once, in order. False: memory is out.
 * */
bool caller_targets(const hf_op *ops, size_t count, hf_arena *arena, const char *const **out,
                    size_t *out_count);

/* May they? To be asked for the ops of a batch in their order. Fills in what only the server may
 * say: `caller` of a session that is opened, and `actor` where none is named. HF_UNAUTHENTICATED:
 * nothing was presented that could; HF_DENIED: the sentence says which role for which type is
 * missing, or which user may not be named; another status: what the store said of the session, or
 * why nothing could be found out. What is allowed may still be refused by the store. */
HF_MUST_USE hf_status authorize_op(caller *who, hf_op *op, hf_error *err);

/* Of an op that needs the session's key alone, and is all that is asked: HF_DENIED, if the store
 * has said already that this is not it. HF_OK: nothing is known against it. */
HF_MUST_USE hf_status authorize_key(const caller *who, const hf_op *op, hf_error *err);

#endif
