/* SPDX-License-Identifier: MIT */
/* Callers' tokens and the audit log: making, finding, listing and revoking tokens; what is noted;
 * how long events are kept. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* A token's key, the same in every run; its secret must not be told by any answer. */
static hf_token_key key_of(fixture *w, unsigned n)
{
    hf_token_key key;
    hf_error err = {0};
    char secret[HF_TOKEN_SECRET_SIZE];
    hf_credentials told;
    snprintf(secret, sizeof secret, "%08x5ec4e7%042x%08x", n * 2654435761u, 0x70ce40u, n);
    expect(HF_OK, hf_token_read(secret, &key, &err), err);
    snprintf(key.id, sizeof key.id, "%08x%024x", n * 2246822519u, n);
    expect(HF_OK, hf_credentials_set(&told, key.id, secret, &err), err);
    keep_secret(w, &told);
    return key;
}

#define WITH(key) .token = (key).id, .sha256 = (key).sha256

static void a_token_is_found_by_its_secret_as_it_was_made(fixture *w)
{
    hf_token_key key = key_of(w, 1);
    const hf_answer *made = done(w, TOKEN_CREATE, WITH(key), .name = "billing",
                                 .roles = "manage:policy use:*  observe use:claim", .users = "b*",
                                 .ttl_us = HOUR, .actor = "root");
    expect_int(made->tokens_count, 1);
    clock_forward(w, MINUTE);
    const hf_answer *found = done(w, TOKEN_FIND, .sha256 = key.sha256);
    expect_int(found->tokens_count, 1);
    const hf_token *token = &found->tokens[0];
    expect_true(memcmp(token, &made->tokens[0], sizeof *token) == 0);
    expect_text(token->id, key.id);
    expect_text(token->name, "billing");
    expect_text(token->roles, "use observe manage:policy");
    expect_text(token->users, "b*");
    expect_int(token->created_us, w->now_us - MINUTE);
    expect_int(token->expires_us, w->now_us - MINUTE + HOUR);
    expect_int(token->revoked_us, 0);
    expect_int(found->now_us, w->now_us);
}

static void a_token_is_found_by_its_id_too(fixture *w)
{
    hf_token_key key = key_of(w, 1), other = key_of(w, 2);
    const hf_answer *made =
        done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use:policy", .users = "b*");
    const hf_answer *found = done(w, TOKEN_FIND, .token = key.id);
    expect_int(found->tokens_count, 1);
    expect_true(memcmp(&found->tokens[0], &made->tokens[0], sizeof(hf_token)) == 0);
    expect_int(found->now_us, w->now_us);
    refused(w, HF_NOT_FOUND, TOKEN_FIND, .token = other.id);
    done(w, TOKEN_REVOKE, .token = key.id);
    expect_int(done(w, TOKEN_FIND, .token = key.id)->tokens[0].revoked_us, w->now_us);
    refused(w, HF_INVALID, TOKEN_FIND, WITH(key));
    refused(w, HF_INVALID, TOKEN_FIND, .token = "xyz");
    refused(w, HF_INVALID, TOKEN_FIND, .token = "");
}

static void a_secret_that_is_no_tokens_is_not_found(fixture *w)
{
    hf_token_key key = key_of(w, 1), other = key_of(w, 2);
    refused(w, HF_NOT_FOUND, TOKEN_FIND, .sha256 = key.sha256);
    done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use");
    refused(w, HF_NOT_FOUND, TOKEN_FIND, .sha256 = other.sha256);
    other = key;
    other.sha256[31] ^= 1;
    refused(w, HF_NOT_FOUND, TOKEN_FIND, .sha256 = other.sha256);
}

/* P11 */
static void a_token_ends_when_the_stores_clock_says_so(fixture *w)
{
    hf_token_key brief = key_of(w, 1), lasting = key_of(w, 2);
    done(w, TOKEN_CREATE, WITH(brief), .name = "brief", .roles = "use", .ttl_us = HOUR);
    done(w, TOKEN_CREATE, WITH(lasting), .name = "lasting", .roles = "use");
    clock_forward(w, HOUR - 1);
    const hf_answer *got = done(w, TOKEN_FIND, .sha256 = brief.sha256);
    expect_true(hf_token_lives(&got->tokens[0], got->now_us));
    clock_forward(w, 1);
    got = done(w, TOKEN_FIND, .sha256 = brief.sha256);
    expect_true(!hf_token_lives(&got->tokens[0], got->now_us));
    clock_forward(w, 3000 * DAY);
    got = done(w, TOKEN_FIND, .sha256 = lasting.sha256);
    expect_int(got->tokens[0].expires_us, 0);
    expect_true(hf_token_lives(&got->tokens[0], got->now_us));
}

/* Over a server another token may govern: its own. */
static void the_last_token_that_governs_can_be_kept(fixture *w)
{
    hf_token_key first = key_of(w, 1), second = key_of(w, 2), narrow = key_of(w, 3);
    hf_token_key short_lived = key_of(w, 4);
    const hf_answer *found = done(w, TOKENS, .limit = 1);
    if (found->tokens_count > 0)
        return;
    done(w, TOKEN_CREATE, WITH(first), .name = "first", .roles = "use admin");
    done(w, TOKEN_CREATE, WITH(narrow), .name = "narrow", .roles = "use admin:policy manage");
    done(w, TOKEN_CREATE, WITH(short_lived), .name = "short", .roles = "admin", .ttl_us = MINUTE);
    clock_forward(w, 2 * MINUTE);
    const hf_answer *no =
        refused(w, HF_DENIED, TOKEN_REVOKE, .token = first.id, .keeps_admin = true);
    expect_contains(no->message, "'first' is the last live token");
    expect_int(done(w, TOKEN_FIND, .token = first.id)->tokens[0].revoked_us, 0);
    done(w, TOKEN_REVOKE, .token = narrow.id, .keeps_admin = true);
    done(w, TOKEN_CREATE, WITH(second), .name = "second", .roles = "admin");
    done(w, TOKEN_REVOKE, .token = first.id, .keeps_admin = true);
    done(w, TOKEN_REVOKE, .token = first.id, .keeps_admin = true); /* it was before */
    refused(w, HF_DENIED, TOKEN_REVOKE, .token = second.id, .keeps_admin = true);
    if (strncmp(w->url, "http", 4) == 0) /* a server says keeps_admin itself */
        return;
    done(w, TOKEN_REVOKE, .token = second.id);
    expect_int(done(w, TOKEN_FIND, .token = second.id)->tokens[0].revoked_us, w->now_us);
}

static void a_revoked_token_is_found_and_says_so(fixture *w)
{
    hf_token_key key = key_of(w, 1);
    done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use");
    clock_forward(w, MINUTE);
    int64_t when = w->now_us;
    expect_int(done(w, TOKEN_REVOKE, .token = key.id, .actor = "root")->tokens[0].revoked_us, when);
    news_skip(w);
    clock_forward(w, MINUTE);
    expect_int(done(w, TOKEN_REVOKE, .token = key.id, .actor = "bob")->tokens[0].revoked_us, when);
    news(w, 0);
    const hf_answer *found = done(w, TOKEN_FIND, .sha256 = key.sha256);
    expect_int(found->tokens[0].revoked_us, when);
    expect_true(!hf_token_lives(&found->tokens[0], found->now_us));
    const hf_answer *no = refused(w, HF_NOT_FOUND, TOKEN_REVOKE, .token = key_of(w, 2).id);
    expect_contains(no->message, key_of(w, 2).id);
}

static void making_and_revoking_leave_events_that_name_the_token(fixture *w)
{
    hf_token_key key = key_of(w, 1);
    char named[HF_TEXT_SIZE];
    snprintf(named, sizeof named, "%s the \xc3\xa9tage \"2\"", key.id);
    done(w, TOKEN_CREATE, WITH(key), .name = "the \xc3\xa9tage \"2\"", .roles = "use",
         .actor = "root");
    done(w, TOKEN_REVOKE, .token = key.id, .actor = "alice");
    const hf_event *events = news(w, 2);
    expect_int(events[0].kind, HF_EVENT_TOKEN_CREATED);
    expect_text(events[0].actor, "root");
    expect_text(events[0].reason, named);
    expect_int(events[0].at_us, w->now_us);
    expect_int(events[1].kind, HF_EVENT_TOKEN_REVOKED);
    expect_text(events[1].actor, "alice");
    expect_text(events[1].reason, named);
}

/* P12: only who has the secret is answered again. */
static void a_repeated_request_makes_no_second_token(fixture *w)
{
    hf_token_key key = key_of(w, 1), other = key_of(w, 2);
    const hf_answer *first = done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use",
                                  .actor = "root", .request_id = "q1");
    news_skip(w);
    clock_forward(w, HOUR);
    const hf_answer *again = done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use",
                                  .actor = "root", .request_id = "q1");
    expect_true(memcmp(&first->tokens[0], &again->tokens[0], sizeof(hf_token)) == 0);
    news(w, 0);
    const hf_answer *no = refused(w, HF_DENIED, TOKEN_CREATE, WITH(other), .name = "n",
                                  .roles = "use", .actor = "root", .request_id = "q1");
    expect_contains(no->message, key.id);
    done(w, TOKEN_CREATE, WITH(other), .name = "n", .roles = "use", .actor = "bob",
         .request_id = "q1");
    expect_int(done(w, TOKENS)->tokens_count, 2);
}

static const hf_answer *made_again(fixture *w, hf_status status, const char *name,
                                   const char *roles, const char *users, int64_t ttl_us)
{
    hf_token_key key = key_of(w, 1);
    hf_op op = {.kind = HF_OP_TOKEN_CREATE, WITH(key), .actor = "root", .request_id = "q1"};
    op.name = name;
    op.roles = roles;
    op.users = users;
    op.ttl_us = ttl_us;
    return asked(w, status, &op, __FILE__, __LINE__);
}

/* P12: a request id stands for one request; with other fields it is another request. */
static void a_request_id_that_made_one_token_makes_no_other(fixture *w)
{
    const char *id = made_again(w, HF_OK, "n", "observe use", "a*", HOUR)->tokens[0].id;
    const hf_answer *no = made_again(w, HF_INVALID, "m", "observe use", "a*", HOUR);
    expect_contains(no->message, id);
    expect_contains(no->message, "another name");
    expect_text(no->tokens[0].id, id);
    no = made_again(w, HF_INVALID, "n", "admin", "a*", HOUR);
    expect_contains(no->message, "other roles");
    no = made_again(w, HF_INVALID, "n", "observe use", NULL, HOUR);
    expect_contains(no->message, "other users");
    no = made_again(w, HF_INVALID, "n", "observe use", "a*", 0);
    expect_contains(no->message, "another end");
    clock_forward(w, MINUTE);
    made_again(w, HF_OK, "n", "use observe", "a*", HOUR); /* the same roles */
    expect_int(done(w, TOKENS)->tokens_count, 1);
}

static void an_id_or_a_secret_is_not_taken_twice(fixture *w)
{
    hf_token_key key = key_of(w, 1), other = key_of(w, 2);
    done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use");
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use");
    refused(w, HF_INVALID, TOKEN_CREATE, .token = key.id, .sha256 = other.sha256, .name = "n",
            .roles = "use", .request_id = "q1");
    refused(w, HF_INVALID, TOKEN_CREATE, .token = other.id, .sha256 = key.sha256, .name = "n",
            .roles = "use");
    done(w, TOKEN_CREATE, WITH(other), .name = "n", .roles = "use");
}

static void pages_of_tokens_cover_all_exactly_once(fixture *w)
{
    enum { COUNT = 7 };
    for (unsigned i = 0; i < COUNT; i++) {
        hf_token_key key = key_of(w, i + 1);
        done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use",
             .ttl_us = i == 3 ? SECOND : 0);
        if (i == 5)
            done(w, TOKEN_REVOKE, .token = key.id);
    }
    clock_forward(w, HOUR);
    const hf_answer *all = done(w, TOKENS);
    expect_int(all->tokens_count, COUNT);
    expect_true(!all->more);
    for (size_t limit = 1; limit <= COUNT + 1; limit++) {
        hf_cursor after = {0};
        size_t seen = 0;
        for (bool more = true; more;) {
            const hf_answer *page = done(w, TOKENS, .after = &after, .limit = limit);
            expect_true(page->tokens_count <= limit && page->tokens_count > 0);
            for (size_t i = 0; i < page->tokens_count; i++, seen++)
                expect_text(page->tokens[i].id, all->tokens[seen].id);
            if (page->next != NULL)
                after = *page->next;
            more = page->more;
        }
        expect_int(seen, COUNT);
    }
    for (size_t i = 1; i < COUNT; i++)
        expect_true(strcmp(all->tokens[i - 1].id, all->tokens[i].id) < 0);
}

static void tokens_are_there_when_the_store_is_opened_again(fixture *w)
{
    hf_token_key key = key_of(w, 1);
    done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use", .users = "a*");
    fixture_reopen(w);
    expect_text(done(w, TOKEN_FIND, .sha256 = key.sha256)->tokens[0].users, "a*");
    done(w, TOKEN_REVOKE, .token = key.id);
    fixture_reopen(w);
    expect_int(done(w, TOKEN_FIND, .sha256 = key.sha256)->tokens[0].revoked_us, w->now_us);
}

static char *repeat(const char *part, size_t size)
{
    char *out = calloc(1, size + 1);
    for (size_t i = 0; i < size; i++)
        out[i] = part[i % strlen(part)];
    return out;
}

static void names_and_patterns_come_back_byte_for_byte(fixture *w)
{
    static const char *const odd[] = {
        "'; DROP TABLE token; --", "\\",         "%_", "\xf0\x9f\x94\x92 \xc3\xa9", "a\"b'c`d",
        " leading and trailing ",  "$1 ?1 {ns}", "*"};
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
        hf_token_key key = key_of(w, i + 1);
        done(w, TOKEN_CREATE, WITH(key), .name = odd[i], .roles = "use", .users = odd[i],
             .actor = odd[i], .request_id = "q");
        const hf_answer *found = done(w, TOKEN_FIND, .sha256 = key.sha256);
        expect_text(found->tokens[0].name, odd[i]);
        expect_text(found->tokens[0].users, odd[i]);
    }
    hf_token_key key = key_of(w, sizeof odd / sizeof *odd + 1);
    done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use");
    expect_text(done(w, TOKEN_FIND, .sha256 = key.sha256)->tokens[0].users, "");
}

static void the_longest_token_is_kept_whole(fixture *w)
{
    hf_token_key key = key_of(w, 1);
    char *name = repeat("n", HF_TOKEN_NAME_MAX), *users = repeat("*u", HF_TEXT_MAX),
         *actor = repeat("a", HF_TEXT_MAX), *request = repeat("q", HF_REQUEST_ID_MAX),
         *type = repeat("t", HF_TYPE_MAX - 2), roles[2 * HF_ROLES_SIZE] = "";
    for (int i = 0; i < HF_GRANTS_MAX; i++)
        snprintf(roles + strlen(roles), sizeof roles - strlen(roles), "%sobserve:%s%02d",
                 i ? " " : "", type, i);
    expect_int(strlen(roles), HF_ROLES_MAX);
    for (int i = 0; i < 2; i++)
        done(w, TOKEN_CREATE, WITH(key), .name = name, .roles = roles, .users = users,
             .actor = actor, .request_id = request);
    const hf_token *token = &done(w, TOKEN_FIND, .sha256 = key.sha256)->tokens[0];
    expect_text(token->name, name);
    expect_text(token->users, users);
    expect_text(token->roles, roles);
    const hf_event *event = news(w, 1);
    expect_int(strlen(event->reason), HF_TOKEN_ID_MAX + 1 + HF_TOKEN_NAME_MAX);
    free(name);
    free(users);
    free(actor);
    free(request);
    free(type);
}

static void what_is_wrong_with_a_token_is_told(fixture *w)
{
    hf_token_key key = key_of(w, 1);
    char *name = repeat("n", HF_TOKEN_NAME_MAX + 1);
    static const char *const bad_roles[] = {NULL,
                                            "",
                                            "  ",
                                            "root",
                                            "use:",
                                            "use:Policy",
                                            "USE",
                                            "use,observe",
                                            "use:policy:claim",
                                            "use\tobserve",
                                            ":policy"};
    for (size_t i = 0; i < sizeof bad_roles / sizeof *bad_roles; i++)
        expect_contains(
            refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .name = "n", .roles = bad_roles[i])
                ->message,
            "roles");
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use");
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use", .name = "");
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use", .name = name);
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use", .name = "a\nb");
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use", .name = "n", .users = "\xff");
    expect_contains(
        refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use", .name = "n", .users = "")
            ->message,
        "pattern of users is empty");
    expect_int(done(w, TOKENS)->tokens_count, 0);
    refused(w, HF_INVALID, TOKEN_CREATE, WITH(key), .roles = "use", .name = "n", .ttl_us = -1);
    refused(w, HF_INVALID, TOKEN_CREATE, .token = key.id, .roles = "use", .name = "n");
    refused(w, HF_INVALID, TOKEN_CREATE, .sha256 = key.sha256, .roles = "use", .name = "n");
    refused(w, HF_INVALID, TOKEN_CREATE, .token = "xyz", .sha256 = key.sha256, .roles = "use",
            .name = "n");
    refused(w, HF_INVALID, TOKEN_FIND);
    refused(w, HF_INVALID, TOKEN_REVOKE);
    refused(w, HF_INVALID, TOKEN_REVOKE, .token = "no token");
    refused(w, HF_INVALID, TOKENS, .limit = HF_LIST_MAX + 1);
    free(name);
}

static void the_managers_calls_do_the_same(fixture *w)
{
    hf_manager *manager = fixture_manager(w);
    hf_error err = {0};
    hf_token_key key;
    hf_token token, found;
    hf_result *all = NULL;
    bool lives = false;
    const hf_token_options options = {"billing", "use observe:policy", "bill*", HOUR, "root"};
    expect(HF_OK, hf_manager_token_create(manager, &options, &key, &token, &err), err);
    expect_text(key.id, token.id);
    expect_int(strlen(key.secret), HF_TOKEN_SECRET);
    expect(HF_OK, hf_manager_token_find(manager, key.secret, &found, &lives, &err), err);
    expect_true(lives && memcmp(&token, &found, sizeof token) == 0);
    clock_forward(w, HOUR);
    expect(HF_OK, hf_manager_token_find(manager, key.secret, &found, &lives, &err), err);
    expect_true(!lives);
    expect(HF_OK, hf_manager_tokens(manager, NULL, &all, &err), err);
    expect_int(hf_result_answer(all)->tokens_count, 1);
    char *json = hf_token_json(&hf_result_answer(all)->tokens[0]);
    expect_contains(json, "\"roles\":\"use observe:policy\",\"users\":\"bill*\"");
    expect_true(strstr(json, key.secret) == NULL);
    hf_json_free(json);
    json = hf_token_key_json(&key);
    expect_contains(json, key.secret);
    hf_json_free(json);
    hf_result_free(all);
    expect(HF_OK, hf_manager_token_revoke(manager, key.id, "root", &found, &err), err);
    expect_int(found.revoked_us, w->now_us);
    expect(HF_NOT_FOUND,
           hf_manager_token_revoke(manager, "00000000000000000000000000000000", NULL, NULL, &err),
           err);
    expect(HF_INVALID, hf_manager_token_find(manager, "not a token", &found, &lives, &err), err);
    key.secret[0] = key.secret[0] == '0' ? '1' : '0';
    expect(HF_NOT_FOUND, hf_manager_token_find(manager, key.secret, &found, &lives, &err), err);
    expect_true(strstr(err.message, key.secret) == NULL);
    hf_token_clear(&key);
}

/* ---- notes ---- */

static void a_note_is_an_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    done(w, NOTE, .event = HF_EVENT_DENIED, ON("policy", "1"), .actor = "billing", .user = "bob",
         .text = "it may not force");
    done(w, NOTE, .event = HF_EVENT_UNAUTHENTICATED, .text = "no token");
    done(w, NOTE, .event = HF_EVENT_DENIED, .type = "policy", .text = "\xc3\xa9");
    const hf_event *events = news(w, 3);
    expect_int(events[0].kind, HF_EVENT_DENIED);
    expect_text(events[0].resource.type, "policy");
    expect_text(events[0].resource.id, "1");
    expect_text(events[0].actor, "billing");
    expect_text(events[0].user, "bob");
    expect_text(events[0].reason, "it may not force");
    expect_text(events[0].session, "");
    expect_int(events[0].at_us, w->now_us);
    expect_int(events[1].kind, HF_EVENT_UNAUTHENTICATED);
    expect_text(events[1].resource.type, "");
    expect_text(events[1].actor, "");
    expect_text(events[2].resource.id, "");
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
}

static void a_note_stands_beside_other_ops_and_falls_with_its_run(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    hf_batch *batch = batch_of(w, 4);
    add(batch, NOTE, .event = HF_EVENT_DENIED, .text = "stays");
    add(batch, NOTE, .event = HF_EVENT_DENIED, .text = "falls", .linked = true);
    add(batch, ACQUIRE, BY(bob), ON("policy", "1"));
    add(batch, ACQUIRE, BY(bob), ON("policy", "2"));
    run(w, batch);
    answer(batch, 0, HF_OK);
    answer(batch, 1, HF_NOT_APPLIED);
    answer(batch, 2, HF_LOCKED);
    const hf_event *events = news(w, 2);
    expect_text(events[0].reason, "stays");
    expect_int(events[1].kind, HF_EVENT_ACQUIRED);
}

static void a_note_of_anything_else_is_refused(fixture *w)
{
    for (int kind = 0; kind <= HF_EVENT_KINDS; kind++)
        if (kind != HF_EVENT_DENIED && kind != HF_EVENT_UNAUTHENTICATED)
            refused(w, HF_INVALID, NOTE, .event = (hf_event_kind)kind, .text = "because");
    refused(w, HF_INVALID, NOTE, .event = HF_EVENT_DENIED);
    refused(w, HF_INVALID, NOTE, .event = HF_EVENT_DENIED, .text = "");
    refused(w, HF_INVALID, NOTE, .event = HF_EVENT_DENIED, .text = "a\nb");
    refused(w, HF_INVALID, NOTE, .event = HF_EVENT_DENIED, .text = "x", .id = "1");
    refused(w, HF_INVALID, NOTE, .event = HF_EVENT_DENIED, .text = "x", ON("policy", ""));
    refused(w, HF_INVALID, NOTE, .event = HF_EVENT_DENIED, .text = "x", ON("Policy", "1"));
}

/* ---- how long events are kept ---- */

/* Sweeps until there is no more. */
static size_t token_sweep_events(fixture *w, int64_t keep_us, int64_t keep_forced_us, size_t limit)
{
    size_t swept = 0;
    for (int calls = 0; calls < 1000; calls++) {
        const hf_answer *got = done(w, SWEEP, .limit = limit, .keep_events_us = keep_us,
                                    .keep_forced_us = keep_forced_us);
        expect_true(limit == 0 || got->swept <= limit);
        swept += got->swept;
        if (!got->more)
            return swept;
    }
    check_failed(__FILE__, __LINE__, "the sweep never ends");
}

static void token_note(fixture *w, const char *text)
{
    done(w, NOTE, .event = HF_EVENT_DENIED, .text = text);
}

static void set_type(fixture *w, const char *type)
{
    done(w, TYPE_SET, .type = type, .policy = HF_POLICY_READ_WRITE);
}

static void events_are_kept_for_ever_unless_it_is_said(fixture *w)
{
    set_type(w, "a");
    token_note(w, "b");
    clock_forward(w, 3000 * DAY);
    set_type(w, "c");
    expect_int(sweep_all(w, 0), 0);
    expect_int(token_sweep_events(w, 0, 0, 0), 0);
    const hf_answer *all = done(w, EVENTS);
    expect_int(all->events_count, 3);
    expect_int(all->first_seq, 1);
}

static void old_events_go_and_a_reader_is_told_what_is_missing(fixture *w)
{
    for (int i = 0; i < 5; i++)
        set_type(w, "old");
    clock_forward(w, HOUR);
    set_type(w, "young");
    set_type(w, "younger");
    clock_forward(w, HOUR);
    expect_int(token_sweep_events(w, 2 * HOUR + 1, 0, 0), 0);
    expect_int(token_sweep_events(w, 2 * HOUR, 0, 0), 5);
    const hf_answer *left = done(w, EVENTS);
    expect_int(left->events_count, 2);
    expect_int(left->events[0].seq, 6);
    expect_int(left->first_seq, 6);
    expect_int(left->last_seq, 7);
    expect_int(done(w, EVENTS, .after_seq = 6)->events_count, 1);
    expect_int(token_sweep_events(w, 2 * HOUR, 0, 0), 0);
}

static void forced_acts_tokens_and_denials_are_kept_longer(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"); /* 1 */
    hf_token_key key = key_of(w, 1);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));                                /* 2 */
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why not"); /* 3 */
    done(w, TOKEN_CREATE, WITH(key), .name = "n", .roles = "use");                 /* 4 */
    done(w, TOKEN_REVOKE, .token = key.id);                                        /* 5 */
    token_note(w, "no");                                                           /* 6 */
    done(w, NOTE, .event = HF_EVENT_UNAUTHENTICATED, .text = "who");               /* 7 */
    done(w, CLOSE, BY(alice));                                                     /* 8 */
    token_note(w, "after the last that goes");                                     /* 9 */
    clock_forward(w, HOUR);
    set_type(w, "a"); /* 10 */
    expect_int(token_sweep_events(w, HOUR, 0, 0), 3);
    const hf_answer *left = done(w, EVENTS);
    expect_int(left->events_count, 7);
    expect_int(left->events[0].kind, HF_EVENT_FORCED);
    expect_int(left->events[0].seq, 3);
    expect_int(left->first_seq, 9); /* from there on nothing is missing */
    expect_int(left->last_seq, 10);
    expect_int(token_sweep_events(w, HOUR, HOUR + 1, 0), 0);
    clock_forward(w, 1);
    expect_int(token_sweep_events(w, HOUR, HOUR + 1, 0), 6);
    left = done(w, EVENTS);
    expect_int(left->events_count, 1);
    expect_int(left->events[0].seq, 10);
    expect_int(left->first_seq, 10);
    expect_int(done(w, TOKENS)->tokens_count, 1);
}

/* Numbers go on from it, also when the store is opened again. */
static void the_newest_event_stays(fixture *w)
{
    set_type(w, "a");
    set_type(w, "b");
    clock_forward(w, DAY);
    expect_int(token_sweep_events(w, HOUR, HOUR, 0), 1);
    if (w->at->keeps)
        fixture_reopen(w);
    const hf_answer *left = done(w, EVENTS);
    expect_int(left->events_count, 1);
    expect_int(left->first_seq, 2);
    expect_int(left->last_seq, 2);
    set_type(w, "c");
    expect_int(done(w, EVENTS, .after_seq = 2)->events[0].seq, 3);
}

/* Few at a time, past any number of those that are kept longer. */
static void events_go_in_calls_of_bounded_work(fixture *w)
{
    for (int i = 0; i < 12; i++)
        token_note(w, "kept");
    for (int i = 0; i < 7; i++)
        set_type(w, "a");
    for (int i = 0; i < 5; i++)
        token_note(w, "kept");
    set_type(w, "a");
    clock_forward(w, HOUR);
    set_type(w, "young");
    const hf_answer *first = done(w, SWEEP, .limit = 5, .keep_events_us = HOUR);
    expect_int(first->swept, 0);
    expect_true(first->more);
    expect_int(token_sweep_events(w, HOUR, 0, 5), 8);
    const hf_answer *left = done(w, EVENTS);
    expect_int(left->events_count, 18);
    expect_int(left->first_seq, 26);
    expect_int(token_sweep_events(w, HOUR, HOUR, 3), 17);
    expect_int(done(w, EVENTS)->events_count, 1);
    expect_int(done(w, EVENTS)->first_seq, 26);
}

static void nonsense_about_keeping_is_refused(fixture *w)
{
    refused(w, HF_INVALID, SWEEP, .keep_events_us = -1);
    refused(w, HF_INVALID, SWEEP, .keep_events_us = HOUR, .keep_forced_us = -1);
    refused(w, HF_INVALID, SWEEP, .keep_events_us = HOUR, .keep_forced_us = HOUR - 1);
    refused(w, HF_INVALID, SWEEP, .keep_forced_us = HOUR);
    done(w, SWEEP, .keep_events_us = INT64_MAX, .keep_forced_us = INT64_MAX);
}

static const suite_test token_tests[] = {
    TEST(a_token_is_found_by_its_secret_as_it_was_made),
    TEST(a_token_is_found_by_its_id_too),
    TEST(a_secret_that_is_no_tokens_is_not_found),
    TEST(a_token_ends_when_the_stores_clock_says_so),
    TEST(a_revoked_token_is_found_and_says_so),
    TEST(the_last_token_that_governs_can_be_kept),
    TEST(making_and_revoking_leave_events_that_name_the_token),
    TEST(a_repeated_request_makes_no_second_token),
    TEST(a_request_id_that_made_one_token_makes_no_other),
    TEST(an_id_or_a_secret_is_not_taken_twice),
    TEST(pages_of_tokens_cover_all_exactly_once),
    TEST_KEEPING(tokens_are_there_when_the_store_is_opened_again),
    TEST(names_and_patterns_come_back_byte_for_byte),
    TEST(the_longest_token_is_kept_whole),
    TEST(what_is_wrong_with_a_token_is_told),
    TEST(the_managers_calls_do_the_same),
    TEST(a_note_is_an_event),
    TEST(a_note_stands_beside_other_ops_and_falls_with_its_run),
    TEST(a_note_of_anything_else_is_refused),
    TEST(events_are_kept_for_ever_unless_it_is_said),
    TEST(old_events_go_and_a_reader_is_told_what_is_missing),
    TEST(forced_acts_tokens_and_denials_are_kept_longer),
    TEST(the_newest_event_stays),
    TEST(events_go_in_calls_of_bounded_work),
    TEST(nonsense_about_keeping_is_refused),
};
THEME(token);
