/* SPDX-License-Identifier: MIT */
/* Rights: every kind of op by every kind of caller, against a table written a second time as
 * sentences that the test reads by itself; and what authorize_op puts into ops. */
#include <holdfast/holdfast.h>
#include <server/access/authorize.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

/* ---- the table, written again ----
 *
 * Alternatives stand between bars, what an alternative needs between spaces:
 *   key           nothing but the session's key, which is not looked at here
 *   p:ROLE:T      the token presented has the role for the op's type; :* for all types; :? for some
 *   type p:lives       a token was presented that lives p:fits        its pattern fits the
 *   session's user, or the user who is to get a session s:lives       the session's key is right
 *   and it lives s:opener      ... and so does the token that opened it s:ROLE:T      ... which has
 *   the role s:none        the op has no session */
static const struct {
    const char *kind, *needs;
    bool by_session; /* the op names one, and can't do without it (a save in a user's name can) */
} expected[] = {
    {"session-open", "p:use:? p:fits", false},
    {"beat", "s:opener | s:lives p:use:? p:fits", true},
    {"close", "key", false},
    {"acquire", "s:use:T | s:lives p:use:T p:fits", true},
    {"renew", "s:use:T | s:lives p:use:T p:fits", true},
    {"downgrade", "s:use:T | s:lives p:use:T p:fits", true},
    {"release", "key", false},
    {"release-all", "key", false},
    {"holds", "s:use:T | s:lives p:use:T p:fits", true},
    {"who", "p:use:T | p:observe:T | s:use:T | s:observe:T", false},
    {"version", "p:use:T | p:observe:T | s:use:T | s:observe:T", false},
    {"save", "s:use:T | s:lives p:use:T p:fits | s:none p:use:T p:fits", true},
    {"request", "s:use:T | s:lives p:use:T p:fits", true},
    {"hand-over", "s:use:T | s:lives p:use:T p:fits", true},
    {"decline", "s:use:T | s:lives p:use:T p:fits", true},
    {"force-release", "s:lives p:manage:T | s:none p:manage:T", false},
    {"type-get", "p:lives | s:lives", false},
    {"types", "p:lives | s:lives", false},
    {"list", "p:observe:T", false},
    {"sessions", "p:observe:*", false},
    {"events", "p:observe:*", false},
    {"count", "p:observe:*", false},
    {"sweep", "p:admin:*", false},
    {"note", "p:admin:*", false},
    {"type-set", "p:admin:T", false},
    {"token-create", "p:admin:*", false},
    {"token-find", "p:admin:*", false},
    {"tokens", "p:admin:*", false},
    {"token-revoke", "p:admin:*", false},
    {"session-find", "key", false},
};

/* ---- callers ---- */

static const char *const role_sets[] = {
    "",
    "use",
    "use:policy",
    "use:claim",
    "observe",
    "observe:policy",
    "observe:claim",
    "manage",
    "manage:policy",
    "manage:claim",
    "admin",
    "admin:policy",
    "admin:claim",
    "use:policy observe:claim",
    "use observe manage admin",
};
enum { ROLE_SETS = sizeof role_sets / sizeof *role_sets };

typedef enum kind_of_session {
    NO_SESSION,
    BY_LIVING_TOKEN,
    BY_DEAD_TOKEN,
    BY_NO_TOKEN,
    WRONG_KEY,
    EXPIRED,
    NOT_FOUND,
    SESSION_KINDS
} kind_of_session;

/* One combination. */
typedef struct scene {
    const char *presented; /* roles; NULL: no token */
    bool fits;
    bool flawed; /* the token presented is unknown or dead */
    kind_of_session session;
    const char *opener; /* roles of the living token that opened it */
    const char *type;
} scene;

static caller_token token_of(const char *name, const char *roles, const char *users)
{
    caller_token out = {0};
    hf_error err;
    snprintf(out.id, sizeof out.id, "%032x", (unsigned)name[0]);
    snprintf(out.name, sizeof out.name, "%s", name);
    snprintf(out.users, sizeof out.users, "%s", users);
    if (roles[0] != '\0')
        expect(HF_OK, hf_roles_parse(roles, &out.roles, &err), err);
    return out;
}

static hf_credentials login_of(unsigned n)
{
    hf_credentials out;
    hf_error err;
    char id[HF_SESSION_ID_SIZE], key[HF_KEY_SIZE];
    snprintf(id, sizeof id, "%032x", n);
    snprintf(key, sizeof key, "%064x", n + 7);
    expect(HF_OK, hf_credentials_set(&out, id, key, &err), err);
    return out;
}

/* ---- reading the table ---- */

static bool rights_word_is(const char *word, size_t size, const char *role, const char *type)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s%s", role, type ? ":" : "", type ? type : "");
    return strlen(text) == size && strncmp(word, text, size) == 0;
}

/* scope: T, * or ? */
static bool gives(const char *roles, const char *role, char scope, const char *type)
{
    for (const char *at = roles; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t size = strcspn(at, " ");
        if (rights_word_is(at, size, role, NULL))
            return true;
        if (scope == 'T' && type && rights_word_is(at, size, role, type))
            return true;
        if (scope == '?' && strncmp(at, role, strlen(role)) == 0)
            return true;
    }
    return false;
}

static bool rights_session_lives(const scene *it)
{
    return it->session == BY_LIVING_TOKEN || it->session == BY_DEAD_TOKEN ||
           it->session == BY_NO_TOKEN;
}

static bool rights_holds(const scene *it, const char *word)
{
    char role[16] = "";
    if (strcmp(word, "key") == 0)
        return true;
    if (strcmp(word, "p:lives") == 0)
        return it->presented != NULL;
    if (strcmp(word, "p:fits") == 0)
        return it->presented != NULL && it->fits;
    if (strcmp(word, "s:lives") == 0)
        return rights_session_lives(it);
    if (strcmp(word, "s:opener") == 0)
        return it->session == BY_LIVING_TOKEN;
    if (strcmp(word, "s:none") == 0)
        return it->session == NO_SESSION;
    size_t size = strcspn(word + 2, ":");
    snprintf(role, sizeof role, "%.*s", (int)size, word + 2);
    char scope = word[2 + size + 1];
    const char *roles = word[0] == 'p'                   ? it->presented
                        : it->session == BY_LIVING_TOKEN ? it->opener
                                                         : NULL;
    if (scope == 'T' && it->type == NULL)
        scope = '*';
    return roles != NULL && gives(roles, role, scope, it->type);
}

static bool fulfilled(const scene *it, const char *needs)
{
    char text[128], *rest = text, *alternative;
    snprintf(text, sizeof text, "%s", needs);
    while ((alternative = strsep(&rest, "|")) != NULL) {
        bool all = true;
        char *word;
        while ((word = strsep(&alternative, " ")) != NULL)
            all = all && (word[0] == '\0' || rights_holds(it, word));
        if (all)
            return true;
    }
    return false;
}

static size_t rights_row_of(hf_op_kind kind)
{
    size_t i = 0;
    while (i < sizeof expected / sizeof *expected &&
           strcmp(expected[i].kind, hf_op_kind_name(kind)) != 0)
        i++;
    if (i == sizeof expected / sizeof *expected)
        fail_msg("who may ask for %s? say so in the table", hf_op_kind_name(kind));
    return i;
}

static hf_status wanted(const scene *it, hf_op_kind kind)
{
    const char *needs = expected[rights_row_of(kind)].needs;
    bool names_session = expected[rights_row_of(kind)].by_session &&
                         !(kind == HF_OP_SAVE && it->session == NO_SESSION);
    bool any_session =
        kind == HF_OP_WHO || kind == HF_OP_VERSION || kind == HF_OP_TYPE_GET || kind == HF_OP_TYPES;
    bool says_what_became = names_session || (it->presented == NULL && any_session) ||
                            (kind == HF_OP_FORCE_RELEASE && rights_holds(it, "p:manage:T"));
    if (strcmp(needs, "key") == 0)
        return HF_OK;
    if (it->flawed)
        return HF_UNAUTHENTICATED;
    if (fulfilled(it, needs))
        return HF_OK;
    if (names_session && it->session == NO_SESSION)
        return HF_UNAUTHENTICATED;
    if (says_what_became && it->session != NO_SESSION && !rights_session_lives(it))
        return it->session == WRONG_KEY ? HF_DENIED
               : it->session == EXPIRED ? HF_EXPIRED
                                        : HF_NOT_FOUND;
    bool someone =
        it->presented != NULL || ((names_session || any_session) && it->session == BY_LIVING_TOKEN);
    return someone ? HF_DENIED : HF_UNAUTHENTICATED;
}

/* ---- judging ---- */

static void set_session(const scene *it, const caller_token *opener, caller_session *out)
{
    static const hf_status statuses[SESSION_KINDS] = {
        [WRONG_KEY] = HF_DENIED, [EXPIRED] = HF_EXPIRED, [NOT_FOUND] = HF_NOT_FOUND};
    out->status = statuses[it->session];
    out->message = out->status == HF_OK ? NULL : "what the store said";
    if (out->status == HF_OK)
        snprintf(out->user, sizeof out->user, "alice");
    if (it->session == BY_LIVING_TOKEN || it->session == BY_DEAD_TOKEN)
        snprintf(out->opener, sizeof out->opener, "%032x", 5u);
    out->token = it->session == BY_LIVING_TOKEN ? opener : NULL;
}

static hf_status judged(const scene *it, hf_op_kind kind, hf_error *err)
{
    hf_arena arena = {0};
    hf_credentials login = login_of(1), fresh = login_of(2);
    const hf_credentials *sessions[] = {&login};
    caller_token presented =
        token_of("kiosk", it->presented ? it->presented : "", it->fits ? "al*" : "bob");
    caller_token opener = token_of("shop", it->opener ? it->opener : "", "");
    caller_session known = {0};
    set_session(it, &opener, &known);
    memcpy(known.id, login.id, sizeof known.id);
    caller who = {.arena = &arena,
                  .sessions = sessions,
                  .sessions_count = it->session != NO_SESSION,
                  .known = &known,
                  .token = it->presented && !it->flawed ? &presented : NULL,
                  .flaw = it->flawed ? "The token is wrong." : NULL};
    hf_op op = {
        .kind = kind, .type = it->type, .id = "1", .user = "alice", .text = "why", .name = "n"};
    op.session = kind == HF_OP_SESSION_OPEN ? &fresh : it->session == NO_SESSION ? NULL : &login;
    memset(err, 0, sizeof *err);
    hf_status status = authorize_op(&who, &op, err);
    expect_true(status == HF_OK || (err->status == status && err->message[0] != '\0'));
    hf_arena_done(&arena);
    return status;
}

static void rights_compare(const scene *it, unsigned tally[HF_OP_KINDS][2])
{
    hf_error err;
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        hf_status actual = judged(it, (hf_op_kind)kind, &err), want = wanted(it, (hf_op_kind)kind);
        tally[kind][actual == HF_OK]++;
        if (actual != want)
            check_failed(__FILE__, __LINE__,
                         "%s by token \"%s\"%s%s, session %d by \"%s\", type %s: %s, not %s (%s)",
                         hf_op_kind_name((hf_op_kind)kind), it->presented ? it->presented : "none",
                         it->fits ? "" : " that does not fit", it->flawed ? " that is dead" : "",
                         (int)it->session, it->opener ? it->opener : "-", it->type ? it->type : "-",
                         hf_status_wire(actual), hf_status_wire(want), err.message);
    }
}

static void compare_sessions(scene it, unsigned tally[HF_OP_KINDS][2])
{
    for (int session = 0; session < SESSION_KINDS; session++) {
        it.session = (kind_of_session)session;
        for (int opener = 0; opener < (session == BY_LIVING_TOKEN ? ROLE_SETS : 1); opener++) {
            it.opener = session == BY_LIVING_TOKEN ? role_sets[opener] : NULL;
            rights_compare(&it, tally);
        }
    }
}

static void every_kind_of_op_by_every_kind_of_caller_is_judged_as_the_table_says(void **state)
{
    static unsigned tally[HF_OP_KINDS][2];
    static const char *const types[] = {"policy", "claim", "other", NULL};
    (void)state;
    for (int type = 0; type < 4; type++) {
        compare_sessions((scene){.type = types[type]}, tally);
        for (int flawed = 0; flawed < 2; flawed++)
            for (int fits = 0; fits < 2; fits++)
                for (int roles = 0; roles < ROLE_SETS; roles++)
                    compare_sessions((scene){.presented = role_sets[roles],
                                             .fits = fits,
                                             .flawed = flawed,
                                             .type = types[type]},
                                     tally);
    }
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        bool by_key = strcmp(expected[rights_row_of((hf_op_kind)kind)].needs, "key") == 0;
        if (tally[kind][1] == 0 || (tally[kind][0] == 0) != by_key)
            fail_msg("%s was allowed %u times and refused %u times",
                     hf_op_kind_name((hf_op_kind)kind), tally[kind][1], tally[kind][0]);
    }
}

/* ---- what is put in, and sentences ---- */

static caller by_token(const caller_token *token, hf_arena *arena)
{
    return (caller){.arena = arena, .token = token};
}

static void a_session_is_opened_in_the_name_of_the_token(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    hf_credentials login = login_of(1);
    caller_token plain = token_of("shop", "use:policy", "a*"),
                 admin = token_of("root", "use admin", "");
    caller_token half = token_of("half", "use admin:policy", "");
    hf_op op = {.kind = HF_OP_SESSION_OPEN, .session = &login, .user = "alice"};
    caller who = by_token(&plain, &arena);
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    expect_text(op.caller, plain.id);
    expect(HF_OK, authorize_op(&who, &op, &err), err); /* naming itself is as good as not at all */
    op.caller = admin.id;
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "'shop'");
    who = by_token(&half, &arena);
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    who = by_token(&admin, &arena);
    op.caller = "anyone";
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    expect_text(op.caller, "anyone");
    op.caller = "";
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    expect_text(op.caller, admin.id);
    who = by_token(&plain, &arena);
    op = (hf_op){.kind = HF_OP_SESSION_OPEN, .session = &login, .user = "bob"};
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "may not name the user 'bob', only those that fit 'a*'");
    hf_arena_done(&arena);
}

static void a_user_who_saves_without_a_session_must_fit_the_token(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    caller_token token = token_of("shop", "use:policy", "a*");
    caller who = by_token(&token, &arena), stranger = {.arena = &arena};
    hf_op op = {.kind = HF_OP_SAVE, .type = "policy", .id = "1", .user = "alice", .version = 1};
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    expect(HF_UNAUTHENTICATED, authorize_op(&stranger, &op, &err), err);
    op.user = "bob";
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "may not name the user 'bob', only those that fit 'a*'");
    op.user = NULL; /* the store says that it is missing */
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    op.type = "claim";
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "no role 'use' for type 'claim'");
    hf_arena_done(&arena);
}

static void the_actor_is_the_token_unless_it_may_name_another(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    caller_token token = token_of("root", "admin manage", "adm-*");
    caller who = by_token(&token, &arena);
    static const hf_op_kind kinds[] = {HF_OP_FORCE_RELEASE, HF_OP_TYPE_SET, HF_OP_TOKEN_CREATE,
                                       HF_OP_TOKEN_REVOKE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_op op = {.kind = kinds[i], .type = "policy", .id = "1", .text = "why"};
        expect(HF_OK, authorize_op(&who, &op, &err), err);
        expect_text(op.actor, "root");
        op.actor = "adm-anna";
        expect(HF_OK, authorize_op(&who, &op, &err), err);
        expect_text(op.actor, "adm-anna");
        op.actor = "root";
        expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    }
    hf_op sweep = {.kind = HF_OP_SWEEP};
    expect(HF_OK, authorize_op(&who, &sweep, &err), err);
    expect_true(sweep.actor == NULL);
    hf_arena_done(&arena);
}

static void forcing_takes_a_token_and_a_session_that_comes_along_is_the_actor(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    hf_credentials login = login_of(1);
    const hf_credentials *sessions[] = {&login};
    caller_token opener = token_of("shop", "use manage:policy", "al*"),
                 other = token_of("boss", "manage", "boss");
    caller_session known = {.user = "alice", .token = &opener};
    caller who = {.arena = &arena, .sessions = sessions, .sessions_count = 1, .known = &known};
    memcpy(known.id, login.id, sizeof known.id);
    hf_op op = {
        .kind = HF_OP_FORCE_RELEASE, .session = &login, .type = "policy", .id = "1", .text = "why"};
    expect(HF_UNAUTHENTICATED, authorize_op(&who, &op, &err), err); /* though its opener may */
    who.token = &other;
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    expect_true(op.actor == NULL);
    op.actor = "boss";
    expect(HF_OK, authorize_op(&who, &op, &err), err);
    expect_text(op.actor, "boss");
    op.actor = "alina";
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    known.status = HF_EXPIRED;
    expect(HF_EXPIRED, authorize_op(&who, &op, &err), err);
    hf_arena_done(&arena);
}

static void a_batch_may_use_the_session_it_opens(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    hf_credentials fresh = login_of(1), other = login_of(2);
    const hf_credentials *sessions[] = {&fresh, &other};
    caller_token token = token_of("kiosk", "use:policy", "kiosk*");
    caller_session known[2] = {{.status = HF_NOT_FOUND, .message = "not there"},
                               {.status = HF_NOT_FOUND, .message = "not there"}};
    caller who = {.arena = &arena,
                  .sessions = sessions,
                  .sessions_count = 2,
                  .known = known,
                  .token = &token};
    hf_op open = {.kind = HF_OP_SESSION_OPEN, .session = &fresh, .user = "kiosk1"};
    hf_op acquire = {.kind = HF_OP_ACQUIRE, .session = &fresh, .type = "policy", .id = "1"};
    expect(HF_NOT_FOUND, authorize_op(&who, &acquire, &err), err); /* it comes before */
    expect_text(err.message, "not there");
    expect(HF_OK, authorize_op(&who, &open, &err), err);
    expect(HF_OK, authorize_op(&who, &acquire, &err), err);
    acquire.type = "claim";
    expect(HF_DENIED, authorize_op(&who, &acquire, &err), err);
    acquire.type = "policy";
    acquire.session = &other;
    expect(HF_NOT_FOUND, authorize_op(&who, &acquire, &err), err);
    /* Someone else's session is not borrowed by pretending to open it. */
    known[0] = (caller_session){.user = "alice"};
    acquire.session = &fresh;
    expect(HF_OK, authorize_op(&who, &open, &err), err);
    expect(HF_DENIED, authorize_op(&who, &acquire, &err), err);
    known[0] = (caller_session){.status = HF_DENIED, .message = "wrong key"};
    expect(HF_DENIED, authorize_op(&who, &acquire, &err), err);
    expect_text(err.message, "wrong key");
    hf_arena_done(&arena);
}

static void refusals_say_what_is_missing(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    caller_token token = token_of("kiosk", "use:claim", "");
    hf_credentials login = login_of(1);
    const hf_credentials *sessions[] = {&login};
    caller_session known = {.user = "alice", .token = &token};
    memcpy(known.id, login.id, sizeof known.id);
    caller who = {.arena = &arena, .sessions = sessions, .sessions_count = 1, .known = &known};
    hf_op op = {.kind = HF_OP_ACQUIRE, .session = &login, .type = "policy", .id = "1"};
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_text(
        err.message,
        "The token 'kiosk' has no role 'use' for type 'policy'; an administrator can make a new "
        "token that has it with 'holdfast token create --name NAME --role use:policy'.");
    op.type = "not\na type";
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_lacks(err.message, "not\na type");
    op = (hf_op){.kind = HF_OP_EVENTS};
    who.token = &token;
    expect(HF_DENIED, authorize_op(&who, &op, &err), err);
    expect_contains(
        err.message,
        "no role 'observe' for all types; an administrator can make a new token that has it "
        "with 'holdfast token create --name NAME --role observe'");
    known.token = NULL;
    snprintf(known.opener, sizeof known.opener, "%032x", 9u);
    who.token = NULL;
    op = (hf_op){.kind = HF_OP_BEAT, .session = &login};
    expect(HF_UNAUTHENTICATED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "revoked or is past its end");
    who = (caller){.arena = &arena};
    expect(HF_UNAUTHENTICATED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "Holdfast-Session");
    op = (hf_op){.kind = HF_OP_TYPES};
    expect(HF_UNAUTHENTICATED, authorize_op(&who, &op, &err), err);
    expect_contains(err.message, "Say who is calling");
    expect_contains(err.message, "Authorization: Bearer");
    hf_arena_done(&arena);
}

static void nothing_but_giving_back_is_allowed_when_nobody_knows_who_it_is(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    hf_credentials login = login_of(1);
    caller_token token = token_of("root", "use observe manage admin", "");
    caller who = {.arena = &arena, .token = &token, .status = HF_UNAVAILABLE};
    who.message = "The store is away.";
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        hf_op op = {.kind = (hf_op_kind)kind,
                    .session = &login,
                    .type = "policy",
                    .id = "1",
                    .user = "alice"};
        bool key = strcmp(expected[rights_row_of(op.kind)].needs, "key") == 0;
        expect(key ? HF_OK : HF_UNAVAILABLE, authorize_op(&who, &op, &err), err);
        if (!key)
            expect_text(err.message, "The store is away.");
    }
    hf_op none = {.kind = HF_OP_KINDS};
    who.status = HF_OK;
    expect(HF_DENIED, authorize_op(&who, &none, &err), err);
    none.kind = (hf_op_kind)-1;
    expect(HF_DENIED, authorize_op(&who, &none, &err), err);
    hf_arena_done(&arena);
}

static void a_key_that_the_store_has_called_wrong_is_refused_in_its_words(void **state)
{
    (void)state;
    hf_error err;
    hf_credentials login = login_of(1), other = login_of(2);
    const hf_credentials *sessions[] = {&login};
    caller_session known = {.message = "It is wrong."};
    caller who = {.sessions = sessions, .sessions_count = 1, .known = &known};
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        hf_op op = {.kind = (hf_op_kind)kind, .session = &login};
        bool key = strcmp(expected[rights_row_of(op.kind)].needs, "key") == 0;
        known.status = HF_DENIED;
        expect(key ? HF_DENIED : HF_OK, authorize_key(&who, &op, &err), err);
        if (key)
            expect_text(err.message, "It is wrong.");
        op.session = &other;
        expect(HF_OK, authorize_key(&who, &op, &err), err);
        op.session = NULL;
        expect(HF_OK, authorize_key(&who, &op, &err), err);
        op.session = &login;
        for (int status = 0; status < HF_DENIED; status++) { /* all else is for the store to say */
            known.status = (hf_status)status;
            expect(HF_OK, authorize_key(&who, &op, &err), err);
        }
        known.status = HF_NOT_FOUND;
        expect(HF_OK, authorize_key(&who, &op, &err), err);
        known.status = HF_EXPIRED;
        expect(HF_OK, authorize_key(&who, &op, &err), err);
    }
}

static void the_sessions_that_must_be_known_are_each_named_once(void **state)
{
    (void)state;
    enum { COUNT = 9 };
    hf_arena arena = {0};
    hf_credentials login[5], liar;
    hf_error err;
    for (unsigned i = 0; i < 5; i++)
        login[i] = login_of(9 - i);
    expect(HF_OK, hf_credentials_set(&liar, login[0].id, login[1].key, &err), err);
    hf_credentials same = login[0];
    const hf_op ops[COUNT] = {
        {.kind = HF_OP_ACQUIRE, .session = &login[0]},
        {.kind = HF_OP_BEAT, .session = &login[1]},
        {.kind = HF_OP_HOLDS, .session = &same},
        {.kind = HF_OP_RENEW, .session = &liar},
        {.kind = HF_OP_CLOSE, .session = &login[2]},
        {.kind = HF_OP_SESSION_OPEN, .session = &login[3]},
        {.kind = HF_OP_FORCE_RELEASE},
        {.kind = HF_OP_WHO},
        {.kind = HF_OP_ACQUIRE, .session = &login[1]},
    };
    const hf_credentials *const *found;
    size_t count;
    expect_true(caller_sessions(ops, COUNT, &login[4], &arena, &found, &count));
    expect_int(count, 4);
    for (size_t i = 1; i < count; i++)
        expect_true(strcmp(found[i - 1]->id, found[i]->id) <= 0);
    expect_true(caller_sessions(ops, 0, NULL, &arena, &found, &count));
    expect_int(count, 0);
    expect_true(caller_sessions(ops + 5, 3, NULL, &arena, &found, &count));
    expect_int(count, 0);
    expect_true(caller_sessions(ops + 4, 2, NULL, &arena, &found, &count)); /* it says who asks */
    expect_int(count, 1);
    expect_true(found[0] == &login[2]);
    hf_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_op_by_every_kind_of_caller_is_judged_as_the_table_says),
        cmocka_unit_test(a_session_is_opened_in_the_name_of_the_token),
        cmocka_unit_test(a_user_who_saves_without_a_session_must_fit_the_token),
        cmocka_unit_test(the_actor_is_the_token_unless_it_may_name_another),
        cmocka_unit_test(forcing_takes_a_token_and_a_session_that_comes_along_is_the_actor),
        cmocka_unit_test(a_batch_may_use_the_session_it_opens),
        cmocka_unit_test(refusals_say_what_is_missing),
        cmocka_unit_test(nothing_but_giving_back_is_allowed_when_nobody_knows_who_it_is),
        cmocka_unit_test(a_key_that_the_store_has_called_wrong_is_refused_in_its_words),
        cmocka_unit_test(the_sessions_that_must_be_known_are_each_named_once),
    };
    return cmocka_run_group_tests_name("rights", tests, NULL, NULL);
}
