/* SPDX-License-Identifier: MIT */
/* Authentication has four steps: the token that was presented, the sessions
 * (authenticate_sessions.c), the sessions that receive a lock, the tokens that opened all these
 * sessions. Each step takes its answer from the cache (auth_cache.c) or waits for a lookup in the
 * store. This file has the steps and the lookups of tokens. */
#include "server/access/authenticate_inside.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN_TOKEN                                                                              \
    "The token that was presented is not known here: it was mistyped, or made for another "        \
    "server; ask an "                                                                              \
    "administrator for one."

/* Who waits for a token: as the one presented (session NULL), or as the one that opened the
 * session. */
typedef struct token_waiter {
    struct token_waiter *next;
    caller *who;
    caller_session *session;
} token_waiter;

/* A token that the store is being asked for. */
typedef struct token_lookup {
    lru_entry entry;
    loop_job job;
    hf_op op;
    authenticator *of;
    auth_cache_name by;
    unsigned char name[AUTH_CACHE_NAME_SIZE + 1];
    /* By cookie: first the sign-in is found, perhaps beaten, then its token. */
    hf_credentials session;
    char token[HF_TOKEN_ID_SIZE];
    int64_t ends_us; /* of the sign-in, by the store's clock */
    int64_t asked_us;
    /* the token may have been changed since: no longer in the table, and the answer is not to be
     * kept */
    bool stale;
    token_waiter *waiters, **waiters_end;
} token_lookup;

#define OF(type, item) WHOLE(type, entry, item)

/* ---- telling who waits ---- */

void caller_fail(caller *who, hf_status status, const char *message)
{
    if (who->status != HF_OK)
        return;
    const char *copy = message == NULL ? NULL : hf_arena_text(who->arena, hf_slice_of(message));
    who->status = status;
    who->message = copy == NULL ? hf_status_sentence(status) : copy;
}

/* By the store's time now, as late as it can be. */
static bool authenticate_lives(const auth_cache_token *it, int64_t now_us)
{
    const hf_token as = {.expires_us = it->expires_us, .revoked_us = it->revoked_us};
    return hf_token_lives(&as, it->store_us + (now_us - it->asked_us));
}

static const char *authenticate_dead_flaw(caller *who, const auth_cache_token *it)
{
    char sentence[HF_TOKEN_NAME_SIZE + 128];
    int size = snprintf(sentence, sizeof sentence,
                        "The token '%s' %s; ask an administrator for a new one.", it->token.name,
                        it->revoked_us != 0 ? "was revoked" : "is past its end");
    const char *copy = hf_arena_text(who->arena, (hf_slice){sentence, (size_t)size});
    return copy == NULL ? UNKNOWN_TOKEN : copy;
}

static const char *authenticate_unknown_flaw(const caller *who)
{
    return who->cookie ? "You are signed out; sign in again." : UNKNOWN_TOKEN;
}

/* NULL: there is no such token. */
static void authenticate_tell(caller *who, caller_session *session, const auth_cache_token *it,
                              int64_t now_us)
{
    bool alive = it != NULL && authenticate_lives(it, now_us);
    caller_token *copy = alive ? hf_arena_alloc(who->arena, sizeof *copy) : NULL;
    if (alive && copy == NULL) {
        caller_fail(who, HF_NO_MEMORY, NULL);
        return;
    }
    if (alive)
        *copy = it->token;
    if (session != NULL)
        session->token = copy;
    else if (alive)
        who->token = copy;
    else
        who->flaw = it == NULL ? authenticate_unknown_flaw(who) : authenticate_dead_flaw(who, it);
}

static void authenticate_tell_failure(token_lookup *it, hf_status status)
{
    for (token_waiter *w = it->waiters, *next; w != NULL; w = next) {
        next = w->next;
        caller_fail(w->who, status, jobs_told(status));
        caller_settle(w->who);
    }
}

static void authenticate_tell_waiters(token_lookup *it, const auth_cache_token *read)
{
    int64_t now_us = hf_seam.boot_us();
    for (token_waiter *w = it->waiters, *next; w != NULL; w = next) {
        next = w->next;
        authenticate_tell(w->who, w->session, read, now_us);
        caller_settle(w->who);
    }
}

/* ---- looking a token up ---- */

static void authenticate_look_free(token_lookup *it)
{
    hf_secret_wipe(it->name, sizeof it->name);
    hf_secret_wipe(it->entry.key, sizeof it->entry.key);
    hf_credentials_clear(&it->session);
    hf_free(it);
}

static void authenticate_read_token(const token_lookup *it, auth_cache_token *out)
{
    const hf_answer *answer = &it->op.answer;
    const hf_token *token = &answer->tokens[0];
    memcpy(out->token.id, token->id, sizeof out->token.id);
    memcpy(out->token.name, token->name, sizeof out->token.name);
    memcpy(out->token.users, token->users, sizeof out->token.users);
    if (hf_roles_parse(token->roles, &out->token.roles, NULL) != HF_OK)
        out->token.roles.count = 0; /* what this version does not understand gives nothing */
    out->expires_us = token->expires_us;
    if (it->ends_us != 0 && (out->expires_us == 0 || it->ends_us < out->expires_us))
        out->expires_us = it->ends_us;
    out->revoked_us = token->revoked_us;
    out->asked_us = it->asked_us;
    out->store_us = answer->now_us;
    out->answered_us = hf_seam.boot_us();
}

static void authenticate_keep(token_lookup *it, const auth_cache_token *read)
{
    if (it->stale)
        return;
    if (read != NULL)
        auth_cache_token_keep(&it->of->known, it->by, it->name, read);
    else
        auth_cache_nothing_keep(&it->of->known, it->by, it->name, it->asked_us, hf_seam.boot_us());
}

static void authenticate_look_finish(loop_job *job);

/* One step of a look: its op. A sign-in is in the store of the sessions, a token in that of the
 * tokens. */
static hf_status authenticate_look_submit(token_lookup *it, hf_error *err)
{
    bool of_session = it->op.kind != HF_OP_TOKEN_FIND;
    it->job = (loop_job){.job = {.ops = &it->op, .count = 1, .look = true},
                         .finish = authenticate_look_finish};
    return jobs_submit(of_session ? it->of->jobs : it->of->tokens_jobs, &it->job, err);
}

/* What comes after the sign-in was found or beaten. HF_NOT_FOUND: it is none, or it has ended. */
static hf_status authenticate_sign_in_next(token_lookup *it, const hf_answer *answer)
{
    static const size_t mark = sizeof HF_SIGN_IN - 1;
    const hf_session_info *found = answer->sessions_count == 1 ? &answer->sessions[0] : NULL;
    hf_status status = answer->status;
    if (status == HF_EXPIRED || status == HF_DENIED)
        return HF_NOT_FOUND;
    if (status != HF_OK || found == NULL)
        return status == HF_OK ? HF_INTERNAL : status;
    if (strncmp(found->token, HF_SIGN_IN, mark) != 0 ||
        !hf_is_hex(found->token + mark, HF_TOKEN_ID_MAX) ||
        found->token[mark + HF_TOKEN_ID_MAX] != '\0')
        return HF_NOT_FOUND;
    memcpy(it->token, found->token + mark, sizeof it->token);
    it->ends_us = found->expires_us;
    int64_t used_us = found->idle_us - (found->expires_us - answer->now_us);
    bool beat = it->op.kind == HF_OP_SESSION_FIND && used_us > AUTHENTICATOR_COOKIE_BEAT_US;
    it->op = beat ? (hf_op){.kind = HF_OP_BEAT, .session = &it->session}
                  : (hf_op){.kind = HF_OP_TOKEN_FIND, .token = it->token};
    return HF_OK;
}

/* True: the look goes on with another step, else *status says why it has ended. */
static bool authenticate_look_goes_on(token_lookup *it, hf_status *status)
{
    if (it->op.kind == HF_OP_TOKEN_FIND)
        return false;
    if (*status == HF_OK || *status == it->op.answer.status)
        *status = authenticate_sign_in_next(it, &it->op.answer);
    if (*status != HF_OK)
        return false;
    jobs_release(&it->job);
    *status = authenticate_look_submit(it, NULL);
    return *status == HF_OK;
}

static void authenticate_look_finish(loop_job *job)
{
    token_lookup *it = WHOLE(token_lookup, job, job);
    const hf_answer *answer = &it->op.answer;
    hf_status status = job->job.status != HF_OK ? job->job.status : answer->status;
    auth_cache_token read = {0};
    if (authenticate_look_goes_on(it, &status))
        return;
    if (!it->stale)
        lru_remove(&it->of->looks, &it->entry);
    if (status == HF_OK && answer->tokens_count == 1) {
        authenticate_read_token(it, &read);
        authenticate_keep(it, &read);
        authenticate_tell_waiters(it, &read);
    } else if (status == HF_NOT_FOUND) {
        authenticate_keep(it, NULL);
        authenticate_tell_waiters(it, NULL);
    } else
        authenticate_tell_failure(it, status == HF_OK ? HF_INTERNAL : status);
    jobs_release(job);
    authenticate_look_free(it);
}

/* The look-up that is under way for that name, begun if need be; NULL: *err says why there is none.
 * */
static token_lookup *authenticate_look_for(authenticator *all, auth_cache_name by, const void *name,
                                           const hf_credentials *cookie, hf_error *err)
{
    lru_entry *entry = lru_find(&all->looks, (unsigned char)by, name, AUTH_CACHE_NAME_SIZE);
    if (entry != NULL)
        return OF(token_lookup, entry);
    token_lookup *it = hf_alloc(sizeof *it);
    if (it == NULL) {
        hf_error_set(err, HF_NO_MEMORY, "Out of memory; nothing was done.");
        return NULL;
    }
    memcpy(it->name, name, AUTH_CACHE_NAME_SIZE);
    it->by = by;
    it->of = all;
    it->op.kind = by == AUTH_CACHE_BY_COOKIE ? HF_OP_SESSION_FIND : HF_OP_TOKEN_FIND;
    if (by == AUTH_CACHE_BY_COOKIE) {
        it->session = *cookie;
        it->op.session = &it->session;
    } else if (by == AUTH_CACHE_BY_SECRET)
        it->op.sha256 = it->name;
    else
        it->op.token = (const char *)it->name;
    it->asked_us = hf_seam.boot_us();
    it->waiters_end = &it->waiters;
    if (authenticate_look_submit(it, err) != HF_OK) {
        authenticate_look_free(it);
        return NULL;
    }
    all->stats.looks++;
    lru_add(&all->looks, &it->entry, (unsigned char)by, name, AUTH_CACHE_NAME_SIZE);
    return it;
}

bool authenticate_may_look(caller *who, size_t count)
{
    hf_error err;
    if (who->token != NULL || who->may_look == NULL)
        return true;
    if (who->status != HF_OK) /* nobody can be known */
        return false;
    hf_status status = who->may_look(who, count < 2 ? 0 : count, &err);
    if (status != HF_OK)
        caller_fail(who, status, err.message);
    return status == HF_OK;
}

static void authenticate_wait_for_token(authenticator *all, caller *who, caller_session *session,
                                        auth_cache_name by, const void *name,
                                        const hf_credentials *cookie)
{
    hf_error err;
    token_waiter *w = hf_arena_alloc(who->arena, sizeof *w);
    token_lookup *it = w == NULL ? NULL : authenticate_look_for(all, by, name, cookie, &err);
    if (it == NULL) {
        caller_fail(who, w == NULL ? HF_NO_MEMORY : err.status, w == NULL ? NULL : err.message);
        return;
    }
    *w = (token_waiter){NULL, who, session};
    *it->waiters_end = w;
    it->waiters_end = &w->next;
    who->waits++;
}

/* A1, A3, A6. */
static void authenticate_ask_token(authenticator *all, caller *who, caller_session *session,
                                   auth_cache_name by, const void *name,
                                   const hf_credentials *cookie)
{
    int64_t now_us = hf_seam.boot_us();
    const auth_cache_token *known = auth_cache_find(&all->known.tokens, by, name);
    const auth_cache_nothing *nothing =
        known != NULL ? NULL : auth_cache_find(&all->known.nothing, by, name);
    if (known != NULL && now_us - known->asked_us < AUTHENTICATOR_FRESH_US) {
        all->stats.hits++;
        authenticate_tell(who, session, known, now_us);
        if (now_us - known->asked_us >= AUTHENTICATOR_FRESH_US / 2)
            /* ahead; if it can't be done now, who comes next does it */
            authenticate_look_for(all, by, name, cookie, NULL);
    } else if (nothing != NULL && now_us - nothing->asked_us < AUTHENTICATOR_FRESH_US) {
        all->stats.hits++;
        authenticate_tell(who, session, NULL, now_us);
    } else if (known != NULL || session != NULL || authenticate_may_look(who, 1))
        authenticate_wait_for_token(all, who, session, by, name, cookie);
}

/* ---- finding out ---- */

/* Its hash; the id alone is no secret. False: out of memory. */
static bool authenticate_cookie_name(const hf_credentials *cookie,
                                     unsigned char out[AUTH_CACHE_NAME_SIZE])
{
    return hf_hmac_sha256(cookie->key_sha256, sizeof cookie->key_sha256, cookie->id,
                          sizeof cookie->id, out);
}

static void authenticate_ask_cookie(authenticator *all, caller *who)
{
    hf_credentials cookie;
    unsigned char name[AUTH_CACHE_NAME_SIZE];
    if (hf_credentials_parse(who->bearer, &cookie, NULL) != HF_OK)
        who->flaw = authenticate_unknown_flaw(who);
    else if (authenticate_cookie_name(&cookie, name))
        authenticate_ask_token(all, who, NULL, AUTH_CACHE_BY_COOKIE, name, &cookie);
    else
        caller_fail(who, HF_NO_MEMORY, NULL);
    hf_credentials_clear(&cookie);
}

static void authenticate_ask_bearer(authenticator *all, caller *who)
{
    hf_token_key key;
    if (who->bearer == NULL || who->bearer[0] == '\0')
        return;
    if (who->cookie) {
        authenticate_ask_cookie(all, who);
        return;
    }
    hf_status status = hf_token_read(who->bearer, &key, NULL);
    if (status == HF_OK)
        authenticate_ask_token(all, who, NULL, AUTH_CACHE_BY_SECRET, key.sha256, NULL);
    else if (status == HF_INVALID)
        who->flaw = UNKNOWN_TOKEN;
    else
        caller_fail(who, status, NULL);
    hf_token_clear(&key);
}

/* Those who ask, then those who get something. */
static caller_session *authenticate_session_at(const caller *who, size_t i)
{
    return i < who->sessions_count ? &who->known[i] : &who->receivers[i - who->sessions_count];
}

/* The first of the sessions that the same token has opened. */
static const caller_session *authenticate_of_opener(const caller *who,
                                                    const caller_session *session)
{
    size_t i = 0;
    while (authenticate_session_at(who, i)->status != HF_OK ||
           strcmp(authenticate_session_at(who, i)->opener, session->opener) != 0)
        i++;
    return authenticate_session_at(who, i);
}

static bool authenticate_has_opener(const caller_session *session)
{
    return session->status == HF_OK && strlen(session->opener) == HF_TOKEN_ID_MAX &&
           hf_is_hex(session->opener, HF_TOKEN_ID_MAX);
}

static void authenticate_ask_openers(authenticator *all, caller *who)
{
    for (size_t i = 0; i < who->sessions_count + who->targets_count && who->status == HF_OK; i++) {
        caller_session *session = authenticate_session_at(who, i);
        if (authenticate_has_opener(session) && authenticate_of_opener(who, session) == session)
            authenticate_ask_token(all, who, session, AUTH_CACHE_BY_ID, session->opener, NULL);
    }
}

static void authenticate_share_openers(caller *who)
{
    for (size_t i = 1; i < who->sessions_count + who->targets_count && who->status == HF_OK; i++)
        if (authenticate_has_opener(authenticate_session_at(who, i)))
            authenticate_session_at(who, i)->token =
                authenticate_of_opener(who, authenticate_session_at(who, i))->token;
}

/* One thing less to wait for; after the last, the next step. */
void caller_settle(caller *who)
{
    static void (*const steps[])(authenticator *,
                                 caller *) = {authenticate_ask_bearer, authenticate_ask_sessions,
                                              authenticate_ask_targets, authenticate_ask_openers};
    while (--who->waits == 0) {
        if (who->step == sizeof steps / sizeof *steps) {
            authenticate_share_openers(who);
            who->done(who);
            return;
        }
        who->waits = 1; /* us */
        steps[who->step++](who->of, who);
    }
}

void authenticate_caller(authenticator *all, caller *who)
{
    who->of = all;
    who->status = HF_OK;
    who->token = NULL;
    who->flaw = NULL;
    who->known = NULL;
    who->receivers = NULL;
    who->opened = NULL;
    who->step = 0;
    who->waits = 1;
    caller_settle(who);
}

/* ---- what this server did ---- */

/* What is being asked for may be answered as it was before: nobody else is to wait for that. */
static void authenticate_distrust_looks(authenticator *all)
{
    for (lru_entry *entry; (entry = all->looks.oldest) != NULL;) {
        lru_remove(&all->looks, entry);
        OF(token_lookup, entry)->stale = true;
    }
}

void authenticator_note_session(authenticator *all, const hf_credentials *session,
                                const hf_session_info *info)
{
    auth_cache_session_keep(&all->known, session, info, hf_seam.boot_us());
}

void authenticator_forget_session(authenticator *all, const char *id)
{
    if (strnlen(id, AUTH_CACHE_NAME_SIZE) == AUTH_CACHE_NAME_SIZE)
        auth_cache_session_forget(&all->known, id);
}

void authenticator_note_token(authenticator *all, const unsigned char sha256[32])
{
    auth_cache_token_forget(&all->known, AUTH_CACHE_BY_SECRET, sha256);
    authenticate_distrust_looks(all);
}

void authenticator_forget_cookie(authenticator *all, const char *text)
{
    hf_credentials cookie;
    unsigned char name[AUTH_CACHE_NAME_SIZE];
    if (hf_credentials_parse(text, &cookie, NULL) == HF_OK &&
        authenticate_cookie_name(&cookie, name))
        auth_cache_token_forget(&all->known, AUTH_CACHE_BY_COOKIE, name);
    hf_credentials_clear(&cookie);
    authenticate_distrust_looks(all);
}

void authenticator_forget_token(authenticator *all, const char *id)
{
    auth_cache_token_forget_all(&all->known, id);
    authenticate_distrust_looks(all);
}

/* That there is no such token, or that it was revoked, is looked at again: the store may have been
 * put back under us. It counts from when the answer came: counted from when it was asked for, it
 * would be too old at once where a look takes that long, and nobody be cut. */
static bool authenticate_still_lives(authenticator *all, auth_cache_name by, const void *name,
                                     const hf_credentials *cookie)
{
    int64_t now_us = hf_seam.boot_us();
    const auth_cache_token *known = auth_cache_find(&all->known.tokens, by, name);
    const auth_cache_nothing *nothing = auth_cache_find(&all->known.nothing, by, name);
    if (nothing != NULL && now_us - nothing->answered_us < AUTHENTICATOR_FRESH_US)
        return false;
    if (known != NULL && known->revoked_us != 0 &&
        now_us - known->answered_us >= AUTHENTICATOR_FRESH_US)
        known = NULL;
    bool lived = known == NULL || authenticate_lives(known, now_us);
    if (lived && (known == NULL || now_us - known->asked_us >= AUTHENTICATOR_FRESH_US / 2))
        authenticate_look_for(all, by, name, cookie, NULL);
    return lived;
}

bool authenticator_token_lives(authenticator *all, const char *id)
{
    return authenticate_still_lives(all, AUTH_CACHE_BY_ID, id, NULL);
}

bool authenticator_cookie_lives(authenticator *all, const hf_credentials *cookie)
{
    unsigned char name[AUTH_CACHE_NAME_SIZE];
    return !authenticate_cookie_name(cookie, name) ||
           authenticate_still_lives(all, AUTH_CACHE_BY_COOKIE, name, cookie);
}

void authenticator_stats_read(const authenticator *all, authenticator_stats *out)
{
    *out = all->stats;
    out->tokens = all->known.tokens.count;
    out->unknown = all->known.nothing.count;
    out->sessions = all->known.sessions.count;
}

/* ---- making and freeing ---- */

static size_t authenticate_or_usual(size_t given, size_t usual)
{
    return given == 0 ? usual : given;
}

hf_status authenticator_new(const authenticator_settings *settings, authenticator **out,
                            hf_error *err)
{
    authenticator *all = hf_alloc(sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    all->jobs = settings->jobs;
    all->tokens_jobs = settings->tokens_jobs != NULL ? settings->tokens_jobs : settings->jobs;
    /* A token may stand there twice, by its secret and by its id. */
    size_t tokens_max = authenticate_or_usual(settings->tokens_max, AUTHENTICATOR_TOKENS_MAX) +
                        2 * settings->streams_max;
    if (!auth_cache_init(
            &all->known, tokens_max,
            authenticate_or_usual(settings->unknown_max, AUTHENTICATOR_UNKNOWN_MAX),
            authenticate_or_usual(settings->sessions_max, AUTHENTICATOR_SESSIONS_MAX)) ||
        !lru_init(&all->looks, AUTHENTICATOR_UNKNOWN_MAX)) {
        authenticator_free(all);
        return hf_fail(err, HF_NO_MEMORY,
                       "Out of memory, or reading random bytes failed; the server can't "
                       "authenticate callers.");
    }
    *out = all;
    return HF_OK;
}

void authenticator_free(authenticator *all)
{
    if (all == NULL)
        return;
    assert(all->looks.count == 0);
    auth_cache_done(&all->known);
    lru_done(&all->looks);
    hf_free(all);
}
