/* SPDX-License-Identifier: MIT */
/* Random batches and answers; see random_batch.h. */
#include "random_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <time.h>
#include <unistd.h>

dice dice_of(uint64_t seed)
{
    return (dice){seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
}

uint64_t dice_next(dice *d)
{
    d->state ^= d->state >> 12;
    d->state ^= d->state << 25;
    d->state ^= d->state >> 27;
    return d->state * UINT64_C(0x2545F4914F6CDD1D);
}

uint64_t dice_below(dice *d, uint64_t bound)
{
    return (dice_next(d) >> 16) % bound;
}

static uint64_t random_batch_number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

uint64_t seed_from_environment(void)
{
    uint64_t seed = random_batch_number_from("HF_TEST_SEED", (uint64_t)time(NULL) * 1000 +
                                                                 (uint64_t)getpid() % 1000);
    printf("# HF_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

uint64_t rounds_from_environment(uint64_t otherwise)
{
    return random_batch_number_from("HF_TEST_ROUNDS", otherwise);
}

/* ---- values ---- */

static void *random_batch_take(hf_arena *arena, size_t size)
{
    void *out = hf_arena_alloc(arena, size);
    expect_true(out != NULL);
    return out;
}

char *random_text(dice *d, hf_arena *arena, size_t max)
{
    static const char *const odd[] = {"\"",
                                      "\\",
                                      "/",
                                      "\n",
                                      "\t",
                                      "\x01",
                                      "\x1f",
                                      "\x7f",
                                      "\xc2\x80",
                                      "é",
                                      "ß",
                                      "✓",
                                      "\xe2\x80\xa8",
                                      "\xef\xbf\xbf",
                                      "😀",
                                      "👩‍💻",
                                      "\xf4\x8f\xbf\xbf",
                                      "\\u0041",
                                      "\b\f\r",
                                      "\xed\x9f\xbf"};
    enum { ODD = sizeof odd / sizeof *odd };
    static const size_t lengths[] = {0, 1, 8, 40};
    size_t which = dice_below(d, 6), size = 0;
    size_t wanted = which < 4 ? lengths[which] : which == 4 ? max : dice_below(d, max + 1);
    char *text = random_batch_take(arena, max + 1);
    wanted = wanted > max ? max : wanted;
    while (size < wanted) {
        const char *piece = odd[dice_below(d, ODD)];
        size_t more = strlen(piece);
        if (dice_below(d, 3) > 0 || size + more > wanted)
            text[size++] = (char)(' ' + dice_below(d, 95));
        else {
            memcpy(text + size, piece, more);
            size += more;
        }
    }
    return text;
}

static int64_t random_int(dice *d)
{
    static const int64_t edges[] = {
        0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 53, (INT64_C(1) << 53) + 1};
    uint64_t which = dice_below(d, 14);
    return which < 7 ? edges[which] : (int64_t)(dice_next(d) >> dice_below(d, 64));
}

static hf_credentials *random_login(dice *d, hf_arena *arena)
{
    static const char digits[] = "0123456789abcdef";
    char id[HF_SESSION_ID_SIZE] = "", key[HF_KEY_SIZE] = "";
    size_t size =
        dice_below(d, 2) ? HF_KEY_MIN : HF_KEY_MIN + dice_below(d, HF_KEY_MAX - HF_KEY_MIN + 1);
    hf_credentials *login = random_batch_take(arena, sizeof *login);
    hf_error err;
    for (size_t i = 0; i < HF_SESSION_ID_MAX; i++)
        id[i] = digits[dice_below(d, 16)];
    for (size_t i = 0; i < size; i++)
        key[i] = digits[dice_below(d, 16)];
    expect(HF_OK, hf_credentials_set(login, id, key, &err), err);
    return login;
}

static void random_batch_fill(dice *d, hf_arena *arena, char *out, size_t size)
{
    memcpy(out, random_text(d, arena, size - 1), size);
}
#define FILL(member) random_batch_fill(d, arena, (member), sizeof(member))

/* Replaces every such character. */
static void random_batch_without(char *text, char what)
{
    while ((text = strchr(text, what)) != NULL)
        *text = '.';
}

/* A type has no slash: the first one of "type/id" ends it. */
static void fill_resource(dice *d, hf_arena *arena, hf_resource *out)
{
    FILL(out->type);
    random_batch_without(out->type, '/');
    FILL(out->id);
}

/* One without a type has no id either, and a session has no spaces. */
/* One that is all zero is written as none. */
static const hf_cursor *random_cursor(dice *d, hf_arena *arena)
{
    hf_cursor *out = random_batch_take(arena, sizeof *out);
    fill_resource(d, arena, &out->resource);
    if (out->resource.type[0] == '\0')
        out->resource = (hf_resource){0};
    FILL(out->session);
    random_batch_without(out->session, ' ');
    return out->resource.type[0] == '\0' && out->session[0] == '\0' ? NULL : out;
}

/* From 1970 on. */
static int64_t random_time(dice *d)
{
    static const int64_t edges[] = {0, 1, 999999, 1000000, INT64_C(253402300799999999), INT64_MAX};
    uint64_t which = dice_below(d, 12);
    return which < 6 ? edges[which] : (int64_t)(dice_next(d) >> (1 + dice_below(d, 63)));
}

/* ---- ops ---- */

/* "!": needed. */
static const char *const reads[HF_OP_KINDS] = {
    [HF_OP_SESSION_OPEN] = "!session !user name idle_us replaces caller request_id linked",
    [HF_OP_BEAT] = "!session request_id linked",
    [HF_OP_CLOSE] = "!session request_id linked",
    [HF_OP_ACQUIRE] = "!session !resource mode ttl_us purpose request_id linked",
    [HF_OP_RENEW] = "!session !resource ttl_us purpose fence request_id linked",
    [HF_OP_DOWNGRADE] = "!session !resource fence request_id linked",
    [HF_OP_RELEASE] = "!session !resource fence request_id linked",
    [HF_OP_RELEASE_ALL] = "!session request_id linked",
    [HF_OP_HOLDS] = "!session !resource fence linked",
    [HF_OP_WHO] = "!resource linked",
    [HF_OP_REQUEST] = "!session !resource text request_id linked",
    [HF_OP_HAND_OVER] = "!session !resource !target fence request_id linked",
    [HF_OP_DECLINE] = "!session !resource !target text fence request_id linked",
    [HF_OP_FORCE_RELEASE] = "!resource !text actor session fence request_id linked",
    [HF_OP_TYPE_GET] = "!type linked",
    [HF_OP_TYPE_SET] = "!type !policy ttl_us ttl_max_us actor request_id",
    [HF_OP_TYPES] = "",
    [HF_OP_LIST] = "type user target after limit",
    [HF_OP_SESSIONS] = "user after limit",
    [HF_OP_EVENTS] = "after_seq limit",
    [HF_OP_SWEEP] = "limit keep_events_us keep_forced_us request_id",
    [HF_OP_NOTE] = "!event !text actor user resource request_id linked",
    [HF_OP_TOKEN_CREATE] = "!token !sha256 !name !roles users ttl_us actor request_id",
    [HF_OP_TOKEN_FIND] = "token sha256",
    [HF_OP_TOKENS] = "after limit",
    [HF_OP_TOKEN_REVOKE] = "!token actor request_id",
    [HF_OP_SESSION_FIND] = "session target text sha256 linked",
    [HF_OP_VERSION] = "!resource version absent linked",
    [HF_OP_SAVE] = "!resource session user name version absent gone fence text request_id linked",
    [HF_OP_COUNT] = "limit target caller",
};

static void set_member(dice *d, hf_arena *arena, hf_op *op, const char *name)
{
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } plain[] = {
        {"type", &op->type, NULL},
        {"purpose", &op->purpose, NULL},
        {"text", &op->text, NULL},
        {"actor", &op->actor, NULL},
        {"caller", &op->caller, NULL},
        {"target", &op->target, NULL},
        {"user", &op->user, NULL},
        {"name", &op->name, NULL},
        {"request_id", &op->request_id, NULL},
        {"ttl_us", NULL, &op->ttl_us},
        {"ttl_max_us", NULL, &op->ttl_max_us},
        {"idle_us", NULL, &op->idle_us},
        {"after_seq", NULL, &op->after_seq},
        {"token", &op->token, NULL},
        {"roles", &op->roles, NULL},
        {"users", &op->users, NULL},
        {"keep_events_us", NULL, &op->keep_events_us},
        {"keep_forced_us", NULL, &op->keep_forced_us},
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0) {
            if (plain[i].text != NULL)
                *plain[i].text = random_text(d, arena, HF_TEXT_MAX + dice_below(d, 100));
            else
                *plain[i].number = random_int(d);
            return;
        }
    if (strcmp(name, "resource") == 0) {
        char *type = random_text(d, arena, HF_TEXT_MAX + dice_below(d, 100));
        random_batch_without(type, '/');
        op->type = type;
        if (op->kind != HF_OP_NOTE || dice_below(d, 3) > 0) /* a note may be of a type */
            op->id = random_text(d, arena, HF_TEXT_MAX + dice_below(d, 100));
    } else if (strcmp(name, "session") == 0)
        op->session = random_login(d, arena);
    else if (strcmp(name, "replaces") == 0)
        op->replaces = random_login(d, arena);
    else if (strcmp(name, "mode") == 0)
        op->mode = (hf_mode)dice_below(d, HF_MODE_COUNT);
    else if (strcmp(name, "policy") == 0)
        op->policy = (hf_policy)(1 + dice_below(d, HF_POLICY_COUNT - 1));
    else if (strcmp(name, "event") == 0)
        op->event = (hf_event_kind)dice_below(d, HF_EVENT_KINDS);
    else if (strcmp(name, "sha256") == 0)
        op->sha256 = random_login(d, arena)->key_sha256;
    else if (strcmp(name, "after") == 0)
        op->after = random_cursor(d, arena);
    else if (strcmp(name, "fence") == 0)
        op->fence = random_int(d) & INT64_MAX; /* 0 is left out, and less than that refused */
    else if (strcmp(name, "version") == 0)
        op->version = random_int(d) & INT64_MAX;
    else if (strcmp(name, "absent") == 0)
        op->absent = true;
    else if (strcmp(name, "gone") == 0)
        op->gone = true;
    else if (strcmp(name, "limit") == 0)
        op->limit = (size_t)random_int(d) & INT64_MAX;
    else if (strcmp(name, "linked") == 0)
        op->linked = true;
    else
        fail_msg("there is no member %s", name);
}

hf_batch *random_batch(dice *d, hf_arena *arena, size_t most)
{
    size_t count = 1 + dice_below(d, most);
    hf_batch *batch;
    hf_error err;
    expect(HF_OK, hf_batch_new(count, &batch, &err), err);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(batch, (hf_op_kind)dice_below(d, HF_OP_KINDS));
        char names[256], *rest = names, *name;
        if (reads[op->kind] == NULL)
            fail_msg("what does %s read? say so in the table above", hf_op_kind_name(op->kind));
        snprintf(names, sizeof names, "%s", reads[op->kind]);
        while ((name = strsep(&rest, " ")) != NULL)
            if (name[0] != '\0' && (name[0] == '!' || dice_below(d, 3) > 0))
                set_member(d, arena, op, name + (name[0] == '!'));
        /* One session's, often. */
        if (i > 0 && op->session != NULL && hf_batch_op(batch, i - 1)->session != NULL &&
            dice_below(d, 2))
            op->session = hf_batch_op(batch, i - 1)->session;
    }
    return batch;
}

static void expect_same_text(const char *actual, const char *expected, const char *what)
{
    if ((actual == NULL) != (expected == NULL) ||
        (expected != NULL && strcmp(actual, expected) != 0))
        check_failed(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", what,
                     actual ? actual : "(NULL)", expected ? expected : "(NULL)");
}
#define SAME_TEXT(member) expect_same_text(actual->member, expected->member, #member)

static void expect_same_login(const hf_credentials *actual, const hf_credentials *expected)
{
    expect_true((actual == NULL) == (expected == NULL));
    if (expected != NULL)
        assert_memory_equal(actual, expected, sizeof *expected);
}

static void expect_same_cursor(const hf_cursor *actual, const hf_cursor *expected)
{
    expect_true((actual == NULL) == (expected == NULL));
    if (expected != NULL)
        assert_memory_equal(actual, expected, sizeof *expected);
}

void expect_same_op(const hf_op *actual, const hf_op *expected)
{
    expect_text(hf_op_kind_name(actual->kind), hf_op_kind_name(expected->kind));
    expect_int(actual->linked, expected->linked);
    expect_same_login(actual->session, expected->session);
    expect_same_login(actual->replaces, expected->replaces);
    SAME_TEXT(type);
    SAME_TEXT(id);
    expect_int(actual->mode, expected->mode);
    expect_int(actual->policy, expected->policy);
    expect_int(actual->ttl_us, expected->ttl_us);
    expect_int(actual->ttl_max_us, expected->ttl_max_us);
    expect_int(actual->idle_us, expected->idle_us);
    expect_int(actual->fence, expected->fence);
    expect_int(actual->version, expected->version);
    expect_int(actual->absent, expected->absent);
    expect_int(actual->gone, expected->gone);
    SAME_TEXT(purpose);
    SAME_TEXT(text);
    SAME_TEXT(actor);
    SAME_TEXT(caller);
    SAME_TEXT(target);
    SAME_TEXT(user);
    SAME_TEXT(name);
    SAME_TEXT(token);
    SAME_TEXT(roles);
    SAME_TEXT(users);
    expect_int(actual->event, expected->event);
    expect_true((actual->sha256 == NULL) == (expected->sha256 == NULL));
    if (expected->sha256 != NULL)
        assert_memory_equal(actual->sha256, expected->sha256, 32);
    expect_int(actual->keep_events_us, expected->keep_events_us);
    expect_int(actual->keep_forced_us, expected->keep_forced_us);
    SAME_TEXT(request_id);
    expect_same_cursor(actual->after, expected->after);
    expect_int(actual->after_seq, expected->after_seq);
    expect_int(actual->limit, expected->limit);
}

/* ---- answers ---- */

static void random_batch_fill_lock(dice *d, hf_arena *arena, hf_lock *out)
{
    fill_resource(d, arena, &out->resource);
    out->mode = (hf_mode)dice_below(d, HF_MODE_COUNT);
    out->fence = random_int(d);
    out->since_us = random_time(d);
    out->expires_us = random_time(d);
    out->ends_us = random_time(d);
    FILL(out->purpose);
    FILL(out->session);
    FILL(out->user);
    FILL(out->name);
}

static void random_batch_fill_request(dice *d, hf_arena *arena, hf_request *out)
{
    fill_resource(d, arena, &out->resource);
    FILL(out->session);
    FILL(out->user);
    FILL(out->name);
    FILL(out->message);
    out->at_us = random_time(d);
}

static void fill_lost(dice *d, hf_arena *arena, hf_lost *out)
{
    fill_resource(d, arena, &out->resource);
    out->fence = random_int(d);
    FILL(out->why);
    FILL(out->by);
    FILL(out->reason);
    out->at_us = random_time(d);
}

static void random_batch_fill_session(dice *d, hf_arena *arena, hf_session_info *out)
{
    FILL(out->id);
    FILL(out->user);
    FILL(out->name);
    out->idle_us = random_int(d);
    out->opened_us = random_time(d);
    out->expires_us = random_time(d);
    out->ended_us = random_time(d);
    FILL(out->token);
}

static void random_batch_fill_version(dice *d, hf_arena *arena, hf_version *out)
{
    fill_resource(d, arena, &out->resource);
    out->number = random_int(d);
    out->fence = random_int(d);
    out->saved_us = random_time(d);
    out->gone = dice_below(d, 2);
    FILL(out->session);
    FILL(out->user);
    FILL(out->name);
}

static void fill_type(dice *d, hf_arena *arena, hf_type *out)
{
    FILL(out->type);
    out->policy = (hf_policy)dice_below(d, HF_POLICY_COUNT);
    out->ttl_us = random_int(d);
    out->ttl_max_us = random_int(d);
}

static void fill_event(dice *d, hf_arena *arena, hf_event *out)
{
    out->seq = random_int(d);
    out->at_us = random_time(d);
    out->kind = (hf_event_kind)dice_below(d, HF_EVENT_KINDS);
    fill_resource(d, arena, &out->resource);
    FILL(out->session);
    FILL(out->user);
    FILL(out->actor);
    out->fence = random_int(d);
    FILL(out->reason);
}

static void random_batch_fill_token(dice *d, hf_arena *arena, hf_token *out)
{
    FILL(out->id);
    FILL(out->name);
    FILL(out->roles);
    FILL(out->users);
    out->created_us = random_time(d);
    out->expires_us = random_time(d);
    out->revoked_us = random_time(d);
}

static void fill_count(dice *d, hf_arena *arena, hf_count *out)
{
    FILL(out->type);
    out->locks = (size_t)random_int(d) & INT64_MAX;
}

/* A list of 0 to 3, or now and then of more. */
#define SOME(member, type_, fill_one)                                                              \
    do {                                                                                           \
        size_t count_ = dice_below(d, 3) ? 0 : 1 + dice_below(d, dice_below(d, 20) ? 3 : 60);      \
        type_ *list_ = count_ == 0 ? NULL : random_batch_take(arena, count_ * sizeof *list_);      \
        for (size_t i_ = 0; i_ < count_; i_++)                                                     \
            fill_one(d, arena, &list_[i_]);                                                        \
        out->member = list_;                                                                       \
        out->member##_count = count_;                                                              \
    } while (0)

static void random_answer(dice *d, hf_arena *arena, hf_answer *out)
{
    out->status = (hf_status)dice_below(d, HF_STATUS_COUNT);
    out->outcome = (hf_outcome)dice_below(d, HF_ALREADY_YOURS + 1);
    out->pending = dice_below(d, 2);
    out->message = dice_below(d, 2) ? random_text(d, arena, HF_MESSAGE_SIZE - 1) : NULL;
    SOME(locks, hf_lock, random_batch_fill_lock);
    if (out->locks == NULL)
        out->locks_count = dice_below(d, 2) ? 0 : dice_below(d, 1000000);
    SOME(requests, hf_request, random_batch_fill_request);
    SOME(lost, hf_lost, fill_lost);
    SOME(versions, hf_version, random_batch_fill_version);
    SOME(sessions, hf_session_info, random_batch_fill_session);
    SOME(types, hf_type, fill_type);
    SOME(events, hf_event, fill_event);
    SOME(tokens, hf_token, random_batch_fill_token);
    SOME(counts, hf_count, fill_count);
    out->total_locks = (size_t)random_int(d) & INT64_MAX;
    out->total_sessions = (size_t)random_int(d) & INT64_MAX;
    out->first_seq = random_int(d);
    out->last_seq = random_int(d);
    out->now_us = random_time(d);
    out->swept = (size_t)random_int(d) & INT64_MAX;
    out->more = dice_below(d, 2);
    if (dice_below(d, 2))
        out->next = random_cursor(d, arena);
    out->passed = (size_t)random_int(d) & INT64_MAX;
}

void random_answers(dice *d, hf_arena *arena, hf_batch *batch)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        random_answer(d, arena, &hf_batch_op(batch, i)->answer);
}

#define SAME_LIST(member)                                                                          \
    do {                                                                                           \
        expect_int(actual->member##_count, expected->member##_count);                              \
        expect_true((actual->member == NULL) == (expected->member == NULL));                       \
        if (expected->member != NULL)                                                              \
            assert_memory_equal(actual->member, expected->member,                                  \
                                expected->member##_count * sizeof *expected->member);              \
    } while (0)

void expect_same_answer(const hf_answer *actual, const hf_answer *expected)
{
    expect_int(actual->status, expected->status);
    expect_int(actual->outcome, expected->outcome);
    expect_int(actual->pending, expected->pending);
    SAME_TEXT(message);
    SAME_LIST(locks);
    SAME_LIST(requests);
    SAME_LIST(lost);
    SAME_LIST(versions);
    SAME_LIST(sessions);
    SAME_LIST(types);
    SAME_LIST(events);
    SAME_LIST(tokens);
    SAME_LIST(counts);
    expect_int(actual->total_locks, expected->total_locks);
    expect_int(actual->total_sessions, expected->total_sessions);
    expect_int(actual->first_seq, expected->first_seq);
    expect_int(actual->last_seq, expected->last_seq);
    expect_int(actual->now_us, expected->now_us);
    expect_int(actual->swept, expected->swept);
    expect_int(actual->more, expected->more);
    expect_int(actual->passed, expected->passed);
    expect_same_cursor(actual->next, expected->next);
}
