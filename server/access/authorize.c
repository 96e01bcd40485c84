/* SPDX-License-Identifier: MIT */
/* The table of what each kind of op needs, and the few rules it names. */
#include "server/access/authorize.h"

#include "base/digest.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct caller_opened {
    caller_opened *next;
    const hf_credentials *session;
    caller_session as;
};

/* ---- the table ---- */

typedef enum rule {
    DENY, /* what is not in the table */
    KEY,  /* the session's key, which the store checks */
    OPEN, /* a presented token with `use` for some type, that may name the user */
    /* the living token that opened the session, or a presented one with `use` for some type that
     * may name its user */
    BEAT,
    /* the role for the op's type, by the token that opened the session or by a presented one that
     * may name its user */
    WORK,
    GIVE, /* the same for the op's session, and for the one that gets the lock */
    SAVE, /* as WORK; without a session by a presented token with the role that may name the user */
    /* `use` or `observe` for the op's type, by a presented token or one that opened a presented
     * session */
    LOOK,
    ANYONE,  /* a token that lives, or a session */
    OF_TYPE, /* the role for the op's type (none: for all types), by a presented token */
    OF_ALL,  /* the role for all types, by a presented token */
    /* the role for the op's type, by a presented token: no session gives this power; if the op has
     * one, it must be good */
    FORCE,
} rule;

/* clang-format off */
static const struct {
    rule rule;
    hf_role role;
    bool actor; /* takes one: the token's name unless a user is named that it may name */
} table[HF_OP_KINDS] = {
    [HF_OP_SESSION_OPEN]  = {OPEN,    HF_ROLE_USE,     false},
    [HF_OP_BEAT]          = {BEAT,    HF_ROLE_USE,     false},
    [HF_OP_CLOSE]         = {KEY,     HF_ROLE_USE,     false},
    [HF_OP_ACQUIRE]       = {WORK,    HF_ROLE_USE,     false},
    [HF_OP_RENEW]         = {WORK,    HF_ROLE_USE,     false},
    [HF_OP_DOWNGRADE]     = {WORK,    HF_ROLE_USE,     false},
    [HF_OP_RELEASE]       = {KEY,     HF_ROLE_USE,     false},
    [HF_OP_RELEASE_ALL]   = {KEY,     HF_ROLE_USE,     false},
    [HF_OP_HOLDS]         = {WORK,    HF_ROLE_USE,     false},
    [HF_OP_WHO]           = {LOOK,    HF_ROLE_OBSERVE, false},
    [HF_OP_REQUEST]       = {WORK,    HF_ROLE_USE,     false},
    [HF_OP_HAND_OVER]     = {GIVE,    HF_ROLE_USE,     false},
    [HF_OP_DECLINE]       = {WORK,    HF_ROLE_USE,     false},
    [HF_OP_FORCE_RELEASE] = {FORCE,   HF_ROLE_MANAGE,  true},
    [HF_OP_TYPE_GET]      = {ANYONE,  HF_ROLE_USE,     false},
    [HF_OP_NOTE]          = {OF_ALL,  HF_ROLE_ADMIN,   false},
    [HF_OP_SESSION_FIND]  = {KEY,     HF_ROLE_USE,     false},
    [HF_OP_VERSION]       = {LOOK,    HF_ROLE_OBSERVE, false},
    [HF_OP_SAVE]          = {SAVE,    HF_ROLE_USE,     false},
    [HF_OP_TYPE_SET]      = {OF_TYPE, HF_ROLE_ADMIN,   true},
    [HF_OP_TYPES]         = {ANYONE,  HF_ROLE_USE,     false},
    [HF_OP_LIST]          = {OF_TYPE, HF_ROLE_OBSERVE, false},
    [HF_OP_SESSIONS]      = {OF_ALL,  HF_ROLE_OBSERVE, false},
    [HF_OP_EVENTS]        = {OF_ALL,  HF_ROLE_OBSERVE, false},
    [HF_OP_SWEEP]         = {OF_ALL,  HF_ROLE_ADMIN,   false},
    [HF_OP_TOKEN_CREATE]  = {OF_ALL,  HF_ROLE_ADMIN,   true},
    [HF_OP_TOKEN_FIND]    = {OF_ALL,  HF_ROLE_ADMIN,   false},
    [HF_OP_TOKENS]        = {OF_ALL,  HF_ROLE_ADMIN,   false},
    [HF_OP_TOKEN_REVOKE]  = {OF_ALL,  HF_ROLE_ADMIN,   true},
    [HF_OP_COUNT]         = {OF_ALL,  HF_ROLE_OBSERVE, false},
};
/* clang-format on */
_Static_assert(HF_OP_KINDS == 30, "a new kind of op needs a row here, or is denied to everyone");

static rule authorize_rule_of(hf_op_kind kind)
{
    return (unsigned)kind < HF_OP_KINDS ? table[kind].rule : DENY;
}

/* ---- what a token gives ---- */

static bool authorize_allows(const caller_token *token, hf_role role, const char *type)
{
    return token != NULL && hf_roles_allow(&token->roles, role, type);
}

/* For at least one type. */
static bool authorize_allows_some(const caller_token *token, hf_role role)
{
    for (size_t i = 0; token != NULL && i < token->roles.count; i++)
        if (token->roles.grants[i].role == role)
            return true;
    return false;
}

static bool authorize_fits(const caller_token *token, const char *user)
{
    return token != NULL && hf_users_match(token->users, user == NULL ? "" : user);
}

/* ---- sentences ---- */

/* A name from outside in a sentence: only if it looks like one. */
static const char *authorize_plain(const char *name, size_t most, const char *otherwise)
{
    size_t size = name == NULL ? 0 : strnlen(name, most + 1);
    return size > 0 && size <= most && hf_text_is_clean(name, size) ? name : otherwise;
}

static hf_status authorize_who_is_it(hf_error *err)
{
    return hf_fail(
        err, HF_UNAUTHENTICATED,
        "Say who is calling: present a token as 'Authorization: Bearer SECRET', or a session as "
        "'Holdfast-Session: ID.KEY'.");
}

/* What the token lacks. `type` NULL: for all types; `some`: for any. */
static hf_status authorize_lacks(const caller_token *token, hf_role role, const char *type,
                                 bool some, hf_error *err)
{
    const char *name = hf_role_name(role);
    if (type == NULL || type[0] == '\0')
        return hf_fail(err, HF_DENIED,
                       "The token '%s' has no role '%s' for %s; an administrator can make a new "
                       "token that has it "
                       "with 'holdfast token create --name NAME --role %s'.",
                       token->name, name, some ? "any type" : "all types", name);
    type = authorize_plain(type, HF_TYPE_MAX, "TYPE");
    return hf_fail(err, HF_DENIED,
                   "The token '%s' has no role '%s' for type '%s'; an administrator can make a new "
                   "token that has it "
                   "with 'holdfast token create --name NAME --role %s:%s'.",
                   token->name, name, type, name, type);
}

static hf_status authorize_may_not_name(const caller_token *token, const char *user, hf_error *err)
{
    return hf_fail(
        err, HF_DENIED,
        "The token '%s' may not name the user '%s', only those that fit '%s'; an administrator can "
        "make a new token that may with 'holdfast token create --name NAME --role ROLE --user "
        "PATTERN'.",
        token->name, authorize_plain(user, HF_TEXT_MAX, "?"), token->users);
}

/* Nobody who was presented may work for the session. */
static hf_status authorize_lacks_work(const caller *who, const caller_session *session,
                                      hf_role role, const char *type, bool some, hf_error *err)
{
    bool may =
        some ? authorize_allows_some(who->token, role) : authorize_allows(who->token, role, type);
    if (may)
        return authorize_may_not_name(who->token, session->user, err);
    if (who->token != NULL)
        return authorize_lacks(who->token, role, type, some, err);
    if (session->token != NULL)
        return authorize_lacks(session->token, role, type, some, err);
    if (session->opener[0] == '\0')
        return hf_fail(
            err, HF_UNAUTHENTICATED,
            "Session %s was opened without a token; present one as 'Authorization: Bearer SECRET'.",
            session->id);
    return hf_fail(
        err, HF_UNAUTHENTICATED,
        "The token that opened session %s was revoked or is past its end; open a new session with "
        "one that lives.",
        session->id);
}

/* ---- sessions ---- */

hf_op caller_find_session(const hf_credentials *session, const caller_proof *proof)
{
    if (proof == NULL)
        return (hf_op){.kind = HF_OP_SESSION_FIND, .session = session};
    return (hf_op){.kind = HF_OP_SESSION_FIND,
                   .target = session->id,
                   .text = proof->text,
                   .sha256 = proof->sha256};
}

static int authorize_by_name(const void *a, const void *b)
{
    const hf_credentials *x = *(const hf_credentials *const *)a,
                         *y = *(const hf_credentials *const *)b;
    int order = memcmp(x->id, y->id, sizeof x->id);
    return order != 0 ? order : memcmp(x->key_sha256, y->key_sha256, sizeof x->key_sha256);
}

static bool authorize_needs_session(const hf_op *op)
{
    rule needs = authorize_rule_of(op->kind);
    return op->session != NULL &&
           (needs == BEAT || needs == WORK || needs == SAVE || needs == GIVE || needs == FORCE);
}

bool caller_sessions(const hf_op *ops, size_t count, const hf_credentials *presented,
                     hf_arena *arena, const hf_credentials *const **out, size_t *out_count)
{
    const hf_credentials **all = hf_arena_alloc(arena, (count + 1) * sizeof *all);
    size_t found = 0, kept = 0;
    *out = all;
    *out_count = 0;
    if (all == NULL)
        return false;
    if (presented != NULL)
        all[found++] = presented;
    for (size_t i = 0; i < count; i++)
        if (authorize_needs_session(&ops[i]) && (found == 0 || all[found - 1] != ops[i].session))
            all[found++] = ops[i].session;
    for (size_t i = 0; i < count && found == 0; i++)
        if (ops[i].session != NULL && ops[i].kind != HF_OP_SESSION_OPEN)
            all[found++] = ops[i].session;
    qsort(all, found, sizeof *all, authorize_by_name);
    for (size_t i = 0; i < found; i++)
        if (kept == 0 || authorize_by_name(&all[kept - 1], &all[i]) != 0)
            all[kept++] = all[i];
    *out_count = kept;
    return true;
}

static int authorize_by_target(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool caller_targets(const hf_op *ops, size_t count, hf_arena *arena, const char *const **out,
                    size_t *out_count)
{
    size_t found = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        found += authorize_rule_of(ops[i].kind) == GIVE &&
                 hf_slice_of(ops[i].target).size == HF_SESSION_ID_MAX;
    const char **all = found == 0 ? NULL : hf_arena_alloc(arena, found * sizeof *all);
    *out = all;
    *out_count = 0;
    if (all == NULL)
        return found == 0;
    found = 0;
    for (size_t i = 0; i < count; i++)
        if (authorize_rule_of(ops[i].kind) == GIVE &&
            hf_slice_of(ops[i].target).size == HF_SESSION_ID_MAX)
            all[found++] = ops[i].target;
    qsort(all, found, sizeof *all, authorize_by_target);
    for (size_t i = 0; i < found; i++)
        if (kept == 0 || authorize_by_target(&all[kept - 1], &all[i]) != 0)
            all[kept++] = all[i];
    *out_count = kept;
    return true;
}

static bool authorize_same_login(const hf_credentials *a, const hf_credentials *b)
{
    return memcmp(a->id, b->id, sizeof a->id) == 0 &&
           hf_secret_equal(a->key_sha256, b->key_sha256, sizeof a->key_sha256);
}

static const caller_session *authorize_known_session(const caller *who,
                                                     const hf_credentials *session)
{
    const hf_credentials *const *at = who->sessions_count == 0
                                          ? NULL
                                          : bsearch(&session, who->sessions, who->sessions_count,
                                                    sizeof *who->sessions, authorize_by_name);
    const caller_session *known = at == NULL ? NULL : &who->known[at - who->sessions];
    if (known == NULL || known->status != HF_NOT_FOUND)
        return known;
    for (const caller_opened *it = who->opened; it != NULL; it = it->next)
        if (authorize_same_login(it->session, session))
            return &it->as;
    return known;
}

/* What the store said of it. */
static hf_status authorize_not_good(const caller_session *session, hf_error *err)
{
    return hf_fail(err, session->status, "%s",
                   session->message == NULL ? hf_status_sentence(session->status)
                                            : session->message);
}

/* The op's session, known and alive; NULL: *status says why not. */
static const caller_session *authorize_session_of(const caller *who, const hf_op *op,
                                                  hf_status *status, hf_error *err)
{
    const caller_session *session =
        op->session == NULL ? NULL : authorize_known_session(who, op->session);
    if (session != NULL && session->status == HF_OK)
        return session;
    if (session != NULL)
        *status = authorize_not_good(session, err);
    else
        *status =
            hf_fail(err, HF_UNAUTHENTICATED,
                    "Say whose work it is: present the session as 'Holdfast-Session: ID.KEY'.");
    return NULL;
}

/* What follows in the batch may work for a session that is opened here. If it is not opened after
 * all, the store knows. */
static hf_status authorize_note_opened(caller *who, const hf_op *op, hf_error *err)
{
    caller_opened *it = op->session == NULL ? NULL : hf_arena_alloc(who->arena, sizeof *it);
    if (op->session == NULL)
        return HF_OK; /* the store says that it is missing */
    if (it == NULL)
        return hf_fail_memory(err);
    it->session = op->session;
    memcpy(it->as.id, op->session->id, sizeof it->as.id);
    hf_slice_copy(it->as.user, sizeof it->as.user, hf_slice_of(op->user));
    hf_slice_copy(it->as.opener, sizeof it->as.opener, hf_slice_of(who->token->id));
    it->as.token = who->token;
    it->next = who->opened;
    who->opened = it;
    return HF_OK;
}

/* ---- the rules ---- */

static hf_status authorize_open(caller *who, hf_op *op, hf_error *err)
{
    const caller_token *token = who->token;
    if (token == NULL)
        return hf_fail(
            err, HF_UNAUTHENTICATED,
            "Say who is calling: a session is opened with a token, presented as 'Authorization: "
            "Bearer SECRET'.");
    if (!authorize_allows_some(token, HF_ROLE_USE))
        return authorize_lacks(token, HF_ROLE_USE, NULL, true, err);
    if (!authorize_fits(token, op->user))
        return authorize_may_not_name(token, op->user, err);
    bool named = op->caller != NULL && op->caller[0] != '\0' && strcmp(op->caller, token->id) != 0;
    if (named && !authorize_allows(token, HF_ROLE_ADMIN, NULL))
        return hf_fail(
            err, HF_DENIED,
            "The token '%s' may not open a session in another token's name: leave \"token\" out.",
            token->name);
    if (!named)
        op->caller = token->id;
    return authorize_note_opened(who, op, err);
}

/* By the token that opened the session, or by the one that is presented. */
static bool authorize_may_work(const caller *who, const caller_session *session, hf_role role,
                               const char *type)
{
    return authorize_allows(session->token, role, type) ||
           (authorize_allows(who->token, role, type) && authorize_fits(who->token, session->user));
}

static hf_status authorize_work(const caller *who, const hf_op *op, hf_error *err)
{
    hf_role role = table[op->kind].role;
    hf_status status;
    const caller_session *session = authorize_session_of(who, op, &status, err);
    if (session == NULL)
        return status;
    return authorize_may_work(who, session, role, op->type)
               ? HF_OK
               : authorize_lacks_work(who, session, role, op->type, false, err);
}

/* The session that gets the lock; NULL: none that lives is known, and the store will say so. */
static const caller_session *authorize_receiver(const caller *who, const char *id)
{
    for (const caller_opened *it = who->opened; it != NULL; it = it->next)
        if (strcmp(it->as.id, id) == 0)
            return &it->as;
    const char *const *at = who->targets_count == 0
                                ? NULL
                                : bsearch(&id, who->targets, who->targets_count,
                                          sizeof *who->targets, authorize_by_target);
    const caller_session *found = at == NULL ? NULL : &who->receivers[at - who->targets];
    return found != NULL && found->status == HF_OK ? found : NULL;
}

/* Whoever gets a lock must be one who could have taken it. A session that no token opened is not
 * one of ours to judge: it was opened in the store itself. */
static hf_status authorize_judge_give(const caller *who, const hf_op *op, hf_error *err)
{
    hf_role role = table[op->kind].role;
    hf_status status = authorize_work(who, op, err);
    const caller_session *to =
        status != HF_OK || op->target == NULL ? NULL : authorize_receiver(who, op->target);
    if (to == NULL || to->opener[0] == '\0' || authorize_may_work(who, to, role, op->type))
        return status;
    const char *type = authorize_plain(op->type, HF_TYPE_MAX, "TYPE"),
               *id = authorize_plain(op->id, HF_ID_MAX, "ID");
    if (to->token == NULL)
        return hf_fail(
            err, HF_DENIED,
            "%s/%s can't be handed over to session %s: the token that opened it was revoked or "
            "is past its end, so it has no role '%s' for type '%s' any more.",
            type, id, to->id, hf_role_name(role), type);
    return hf_fail(
        err, HF_DENIED,
        "%s/%s can't be handed over to session %s: the token '%s' that opened it has no role "
        "'%s' for type '%s'. Hand it to someone who may, or release it.",
        type, id, to->id, to->token->name, hf_role_name(role), type);
}

/* Whether a session or a user saves is one of both: the store refuses what names both or neither.
 * */
static hf_status authorize_save(const caller *who, const hf_op *op, hf_error *err)
{
    const caller_token *token = who->token;
    if (op->session != NULL)
        return authorize_work(who, op, err);
    if (token == NULL)
        return hf_fail(
            err, HF_UNAUTHENTICATED,
            "Say who is calling: present the session that saves as 'Holdfast-Session: ID.KEY', or "
            "save in a user's name with a token, presented as 'Authorization: Bearer SECRET'.");
    if (!authorize_allows(token, table[op->kind].role, op->type))
        return authorize_lacks(token, table[op->kind].role, op->type, false, err);
    return op->user == NULL || authorize_fits(token, op->user)
               ? HF_OK
               : authorize_may_not_name(token, op->user, err);
}

static hf_status authorize_beat(const caller *who, const hf_op *op, hf_error *err)
{
    hf_status status;
    const caller_session *session = authorize_session_of(who, op, &status, err);
    if (session == NULL)
        return status;
    if (session->token != NULL || (authorize_allows_some(who->token, HF_ROLE_USE) &&
                                   authorize_fits(who->token, session->user)))
        return HF_OK;
    return authorize_lacks_work(who, session, HF_ROLE_USE, NULL, true, err);
}

static bool authorize_may_look(const caller_token *token, const char *type)
{
    return authorize_allows(token, HF_ROLE_USE, type) ||
           authorize_allows(token, HF_ROLE_OBSERVE, type);
}

/* The session that comes nearest to being known: one whose token lives, else one that lives, else
 * any. NULL: there is none. */
static const caller_session *authorize_nearest(const caller *who)
{
    const caller_session *best = NULL;
    for (size_t i = 0; i < who->sessions_count; i++) {
        const caller_session *it = &who->known[i];
        bool better = it->token != NULL
                          ? best == NULL || best->token == NULL
                          : best == NULL || (it->status == HF_OK && best->status != HF_OK);
        best = better ? it : best;
    }
    return best;
}

static hf_status authorize_look(const caller *who, const hf_op *op, hf_error *err)
{
    const caller_session *session = authorize_nearest(who);
    if (authorize_may_look(who->token, op->type))
        return HF_OK;
    for (size_t i = 0; i < who->sessions_count; i++)
        if (authorize_may_look(who->known[i].token, op->type))
            return HF_OK;
    if (who->token != NULL)
        return authorize_lacks(who->token, HF_ROLE_OBSERVE, op->type, false, err);
    if (session == NULL)
        return authorize_who_is_it(err);
    return session->status != HF_OK
               ? authorize_not_good(session, err)
               : authorize_lacks_work(who, session, HF_ROLE_OBSERVE, op->type, false, err);
}

static hf_status authorize_anyone(const caller *who, hf_error *err)
{
    const caller_session *session = authorize_nearest(who);
    if (who->token != NULL || (session != NULL && session->status == HF_OK))
        return HF_OK;
    return session == NULL ? authorize_who_is_it(err) : authorize_not_good(session, err);
}

static hf_status authorize_token(const caller *who, const hf_op *op, const char *type,
                                 hf_error *err)
{
    hf_role role = table[op->kind].role;
    if (who->token == NULL)
        return hf_fail(
            err, HF_UNAUTHENTICATED,
            "Say who is calling: this needs a token, presented as 'Authorization: Bearer SECRET'.");
    return authorize_allows(who->token, role, type)
               ? HF_OK
               : authorize_lacks(who->token, role, type, false, err);
}

/* The actor is the token's name, unless the caller names a user that the token may name. */
static hf_status authorize_settle_actor(const caller_token *token, hf_op *op, hf_error *err)
{
    if (op->actor == NULL || op->actor[0] == '\0')
        op->actor = token->name;
    else if (!authorize_fits(token, op->actor))
        return authorize_may_not_name(token, op->actor, err);
    return HF_OK;
}

/* With a session the actor is its user, as the store puts it. */
static hf_status authorize_force(const caller *who, hf_op *op, hf_error *err)
{
    bool named = op->actor != NULL && op->actor[0] != '\0';
    hf_status status = authorize_token(who, op, op->type, err);
    if (status == HF_OK && op->session != NULL)
        (void)authorize_session_of(who, op, &status, err);
    if (status != HF_OK || (op->session != NULL && !named))
        return status;
    return authorize_settle_actor(who->token, op, err);
}

static hf_status authorize_judge(caller *who, hf_op *op, hf_error *err)
{
    switch (authorize_rule_of(op->kind)) {
    case KEY:
        return HF_OK;
    case OPEN:
        return authorize_open(who, op, err);
    case BEAT:
        return authorize_beat(who, op, err);
    case WORK:
        return authorize_work(who, op, err);
    case GIVE:
        return authorize_judge_give(who, op, err);
    case SAVE:
        return authorize_save(who, op, err);
    case LOOK:
        return authorize_look(who, op, err);
    case ANYONE:
        return authorize_anyone(who, err);
    case OF_TYPE:
        return authorize_token(who, op, op->type, err);
    case OF_ALL:
        return authorize_token(who, op, NULL, err);
    case FORCE:
        return authorize_force(who, op, err);
    case DENY:
        break;
    }
    return hf_fail(err, HF_DENIED, "Nobody may ask for '%s' here.", hf_op_kind_name(op->kind));
}

hf_status authorize_key(const caller *who, const hf_op *op, hf_error *err)
{
    bool asked = authorize_rule_of(op->kind) == KEY && op->session != NULL && who->known != NULL;
    const caller_session *session = asked ? authorize_known_session(who, op->session) : NULL;
    return session != NULL && session->status == HF_DENIED ? authorize_not_good(session, err)
                                                           : HF_OK;
}

hf_status authorize_op(caller *who, hf_op *op, hf_error *err)
{
    rule needs = authorize_rule_of(op->kind);
    if (needs != KEY && who->status != HF_OK)
        return hf_fail(err, who->status, "%s", who->message);
    if (needs != KEY && who->flaw != NULL)
        return hf_fail(err, HF_UNAUTHENTICATED, "%s", who->flaw);
    hf_status status = authorize_judge(who, op, err);
    op->keeps_admin = op->kind == HF_OP_TOKEN_REVOKE;
    if (status == HF_OK && needs != FORCE && needs != KEY && table[op->kind].actor)
        status = authorize_settle_actor(who->token, op, err);
    return status;
}
