/* SPDX-License-Identifier: MIT */
/* Random batches on a store and on the memory store, with equal clocks and credentials: every
 * answer must be the same, field by field. Few people and resources, so that they collide. The seed
 * is printed; HF_TEST_SEED sets it, and HF_TEST_ROUNDS how many rounds are played (each with the
 * seed after the last). */
#include <base/seams.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/fixture.h>
#include <time.h>
#include <unistd.h>

enum { PEOPLE = 6, TYPES = 3, IDS = 3, TOKENS = 4, RECENT = 8, BATCHES = 60, OPS_MOST = 8 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
enum { ROUNDS = 40 };
#else
enum { ROUNDS = 200 };
#endif
enum { ENOUGH = 200 }; /* rounds in which every kind is done; in fewer chance may leave one out */

/* Who was granted what. */
typedef struct grant {
    int person, type, id;
} grant;

/* One round: two stores that must answer alike, and the dice. */
typedef struct game {
    fixture *memory, *other;
    hf_credentials people[PEOPLE];
    hf_credentials liar; /* the id of the first with another key */
    uint64_t seed, dice;
    int number;                   /* of the batch */
    int64_t fences[TYPES][IDS];   /* the last granted, to see them grow */
    int64_t recent_fence;         /* one seen lately, of any resource */
    int64_t versions[TYPES][IDS]; /* the last seen */
    grant recent[RECENT];         /* the last grants, so that they can be given back */
    unsigned grants;
    /* The last request: who asks whom for what. */
    const hf_credentials *asker, *asked;
    const char *asked_type, *asked_id;
    bool gone[PEOPLE];          /* was told that the session is not there */
    char opened_by[PEOPLE][16]; /* the request id each was opened with */
    int64_t last_seq;
    hf_cursor next;
    hf_token_key tokens[TOKENS];
    int64_t keep_us, keep_forced_us; /* of the sweeps of this round */
    hf_batch *left, *right;          /* the batch for memory and for the other */
} game;

static const char *const types[TYPES] = {"alpha", "beta", "gamma"};
static const char *const ids[IDS] = {"1", "2", "\xc3\xa9/x"};
static const char *const users[] = {"ann", "bob", "cy"};
static const char *const texts[] = {NULL, "renewal", "please", "it's \"urgent\"", ""};
static const char *const callers[] = {"token1", "token2", ""};
static const char *const request_ids[] = {"q0", "q1", "q2", "q3", "q4", "q5"};

/* How often each kind came to each status: a comparison of nothing but refusals would prove little.
 * */
static unsigned tally[HF_OP_KINDS][HF_STATUS_COUNT];

/* splitmix64 */
static uint64_t roll(game *g)
{
    uint64_t z = (g->dice += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned below(game *g, unsigned n)
{
    return (unsigned)(roll(g) % n);
}

static bool chance(game *g, unsigned percent)
{
    return below(g, 100) < percent;
}

#define PICK(g, array) ((array)[below((g), sizeof(array) / sizeof *(array))])

static int64_t some_ttl(game *g)
{
    static const int64_t ttls[] = {0, 0, 0, 500 * MILLISECOND, 2 * SECOND, MINUTE, HOUR};
    static const int64_t odd[] = {-1, 1, HF_DURATION_MAX_US, HF_DURATION_MAX_US + 1, INT64_MAX};
    return chance(g, 4) ? PICK(g, odd) : PICK(g, ttls);
}

static int64_t some_idle(game *g)
{
    static const int64_t idles[] = {0, 5 * SECOND, MINUTE, HOUR, HOUR, 2 * DAY};
    return PICK(g, idles);
}

static const hf_credentials *someone(game *g)
{
    return chance(g, 2) ? &g->liar : &g->people[below(g, PEOPLE)];
}

static void same_as_memory_name_resource(game *g, hf_op *op)
{
    op->type = PICK(g, types);
    op->id = PICK(g, ids);
    if (chance(g, 1))
        op->id = "";
    if (chance(g, 1))
        op->type = "Not A Type";
}

static void same_as_memory_fill_open(game *g, hf_op *op)
{
    op->user = PICK(g, users);
    op->name = chance(g, 50) ? PICK(g, texts) : NULL;
    op->idle_us = chance(g, 3) ? some_ttl(g) : some_idle(g);
    op->caller = chance(g, 40) ? PICK(g, callers) : NULL;
    if (chance(g, 25))
        op->replaces = someone(g);
}

static void fill_text(game *g, hf_op *op)
{
    op->text = PICK(g, texts);
    if (op->kind == HF_OP_FORCE_RELEASE && !op->text)
        op->text = chance(g, 80) ? "because" : NULL;
    if (op->kind == HF_OP_FORCE_RELEASE && chance(g, 60)) {
        op->actor = chance(g, 90) ? "root" : NULL;
        op->session = chance(g, 50) ? NULL : op->session;
    }
}

/* By whoever got it lately, of what they got: most of the time, or hardly anything would ever be
 * given back. */
static void same_as_memory_aim(game *g, hf_op *op)
{
    unsigned known = g->grants < RECENT ? g->grants : RECENT;
    bool owners = op->kind == HF_OP_RENEW || op->kind == HF_OP_DOWNGRADE ||
                  op->kind == HF_OP_RELEASE || op->kind == HF_OP_HOLDS ||
                  op->kind == HF_OP_HAND_OVER || op->kind == HF_OP_DECLINE ||
                  (op->kind == HF_OP_SAVE && chance(g, 40));
    bool others = op->kind == HF_OP_REQUEST || op->kind == HF_OP_FORCE_RELEASE;
    if (!known || !(owners || others) || chance(g, 30))
        return;
    const grant *it = &g->recent[below(g, known)];
    op->type = types[it->type];
    op->id = ids[it->id];
    if (owners)
        op->session = &g->people[it->person];
}

/* Mostly of the last request, by whoever was asked. */
static void fill_decline(game *g, hf_op *op)
{
    op->target = g->people[below(g, PEOPLE)].id;
    if (g->asker == NULL || chance(g, 20))
        return;
    op->session = chance(g, 90) ? g->asked : op->session;
    op->target = g->asker->id;
    op->type = g->asked_type;
    op->id = g->asked_id;
}

/* Mostly by the version that is there. */
static void same_as_memory_fill_version(game *g, hf_op *op)
{
    int64_t seen = 0;
    for (int t = 0; t < TYPES; t++)
        for (int i = 0; i < IDS; i++)
            if (strcmp(op->type, types[t]) == 0 && strcmp(op->id, ids[i]) == 0)
                seen = g->versions[t][i];
    if (chance(g, 60))
        op->version = seen;
    else if (chance(g, 50))
        op->version = chance(g, 5) ? -1 : (int64_t)below(g, 6);
    op->absent = chance(g, op->version == 0 ? 70 : 2);
    if (op->kind != HF_OP_SAVE)
        return;
    op->gone = !op->absent && chance(g, 20);
    op->text = PICK(g, texts);
    if (chance(g, 50)) {
        op->user = PICK(g, users);
        op->name = chance(g, 50) ? PICK(g, texts) : NULL;
        op->session = chance(g, 97) ? NULL : op->session;
    }
}

static void fill_op(game *g, hf_op *op)
{
    bool about_session = op->kind == HF_OP_SESSION_OPEN || op->kind == HF_OP_BEAT ||
                         op->kind == HF_OP_CLOSE || op->kind == HF_OP_RELEASE_ALL ||
                         op->kind == HF_OP_SESSION_FIND;
    op->session = op->kind == HF_OP_WHO || op->kind == HF_OP_VERSION ? NULL : someone(g);
    if (op->kind == HF_OP_NOTE) {
        op->event = chance(g, 50) ? HF_EVENT_DENIED : HF_EVENT_UNAUTHENTICATED;
        op->actor = chance(g, 50) ? "root" : NULL;
        op->text = chance(g, 95) ? "no right" : PICK(g, texts);
        op->session = NULL;
    }
    if (op->kind == HF_OP_TYPE_GET)
        op->type = PICK(g, types);
    else if (!about_session)
        same_as_memory_name_resource(g, op);
    same_as_memory_aim(g, op);
    if (op->kind == HF_OP_VERSION || op->kind == HF_OP_SAVE)
        same_as_memory_fill_version(g, op);
    if (op->kind == HF_OP_SESSION_OPEN)
        same_as_memory_fill_open(g, op);
    if (op->kind == HF_OP_ACQUIRE)
        op->mode = chance(g, 50) ? HF_SHARED : chance(g, 2) ? HF_MODE_COUNT : HF_EXCLUSIVE;
    if (op->kind == HF_OP_ACQUIRE || op->kind == HF_OP_RENEW) {
        op->ttl_us = some_ttl(g);
        op->purpose = PICK(g, texts);
    }
    if (op->kind == HF_OP_HAND_OVER)
        op->target = g->people[below(g, PEOPLE)].id;
    if (op->kind == HF_OP_DECLINE)
        fill_decline(g, op);
    if (op->kind == HF_OP_REQUEST || op->kind == HF_OP_DECLINE || op->kind == HF_OP_FORCE_RELEASE)
        fill_text(g, op);
    if (!about_session && op->kind != HF_OP_VERSION && chance(g, op->kind == HF_OP_SAVE ? 3 : 12))
        op->fence = g->recent_fence;
    if (chance(g, 40))
        op->request_id = PICK(g, request_ids);
}

/* Ops that may stand beside others, as often as they are named here. */
static const hf_op_kind together[] = {
    HF_OP_SESSION_OPEN, HF_OP_BEAT,          HF_OP_BEAT,     HF_OP_BEAT,        HF_OP_BEAT,
    HF_OP_BEAT,         HF_OP_CLOSE,         HF_OP_ACQUIRE,  HF_OP_ACQUIRE,     HF_OP_ACQUIRE,
    HF_OP_ACQUIRE,      HF_OP_ACQUIRE,       HF_OP_ACQUIRE,  HF_OP_ACQUIRE,     HF_OP_ACQUIRE,
    HF_OP_ACQUIRE,      HF_OP_RENEW,         HF_OP_RENEW,    HF_OP_DOWNGRADE,   HF_OP_RELEASE,
    HF_OP_RELEASE,      HF_OP_RELEASE,       HF_OP_RELEASE,  HF_OP_RELEASE_ALL, HF_OP_HOLDS,
    HF_OP_WHO,          HF_OP_WHO,           HF_OP_REQUEST,  HF_OP_REQUEST,     HF_OP_HAND_OVER,
    HF_OP_HAND_OVER,    HF_OP_FORCE_RELEASE, HF_OP_TYPE_GET, HF_OP_NOTE,        HF_OP_SESSION_FIND,
    HF_OP_SAVE,         HF_OP_SAVE,          HF_OP_SAVE,     HF_OP_SAVE,        HF_OP_SAVE,
    HF_OP_VERSION,      HF_OP_VERSION,       HF_OP_DECLINE,  HF_OP_DECLINE,     HF_OP_DECLINE,
};
static const hf_op_kind apart[] = {
    HF_OP_TYPE_SET,     HF_OP_TYPES,        HF_OP_LIST,         HF_OP_LIST,
    HF_OP_LIST,         HF_OP_SESSIONS,     HF_OP_EVENTS,       HF_OP_SWEEP,
    HF_OP_SWEEP,        HF_OP_TOKEN_CREATE, HF_OP_TOKEN_CREATE, HF_OP_TOKEN_FIND,
    HF_OP_TOKEN_FIND,   HF_OP_TOKEN_FIND,   HF_OP_TOKENS,       HF_OP_TOKEN_REVOKE,
    HF_OP_TOKEN_REVOKE, HF_OP_TOKEN_REVOKE, HF_OP_TOKEN_REVOKE, HF_OP_COUNT,
    HF_OP_COUNT,        HF_OP_COUNT,
};

static void same_as_memory_fill_token(game *g, hf_op *op)
{
    static const char *const roles[] = {"use", "admin use:alpha", "use:* use:beta",
                                        "observe manage:gamma"};
    const hf_token_key *key = &g->tokens[below(g, TOKENS)];
    op->token = key->id;
    op->sha256 = chance(g, 95) ? key->sha256 : g->tokens[0].sha256;
    op->actor = chance(g, 50) ? "root" : NULL;
    if (op->kind == HF_OP_TOKEN_FIND && chance(g, 50))
        op->token = NULL;
    else if (op->kind == HF_OP_TOKEN_FIND && chance(g, 95))
        op->sha256 = NULL;
    if (op->kind != HF_OP_TOKEN_CREATE)
        return;
    op->name = chance(g, 95) ? "billing" : PICK(g, texts);
    op->roles = chance(g, 95) ? PICK(g, roles) : "root";
    op->users = PICK(g, texts);
    op->ttl_us = some_ttl(g);
    op->request_id = chance(g, 50) ? PICK(g, request_ids) : NULL;
}

static void fill_apart(game *g, hf_op *op)
{
    if (op->kind == HF_OP_TOKEN_CREATE || op->kind == HF_OP_TOKEN_FIND ||
        op->kind == HF_OP_TOKEN_REVOKE)
        same_as_memory_fill_token(g, op);
    if (op->kind == HF_OP_SWEEP && chance(g, 70)) {
        op->keep_events_us = g->keep_us;
        op->keep_forced_us = g->keep_forced_us;
    }
    op->limit = chance(g, 60) ? 1 + below(g, 5) : 0;
    if (op->kind == HF_OP_TYPE_SET) {
        op->type = PICK(g, types);
        op->policy = (hf_policy)below(g, HF_POLICY_COUNT);
        if (chance(g, 70))
            op->policy = HF_POLICY_READ_WRITE;
        op->ttl_us = chance(g, 30) ? some_ttl(g) : 0;
        op->ttl_max_us = chance(g, 20) ? some_ttl(g) : 0;
        op->actor = chance(g, 50) ? "root" : NULL;
    }
    if (op->kind == HF_OP_TOKENS && chance(g, 50))
        op->after = &g->next;
    if (op->kind == HF_OP_LIST || op->kind == HF_OP_SESSIONS) {
        op->type = chance(g, 30) && op->kind == HF_OP_LIST ? PICK(g, types) : NULL;
        op->user = chance(g, 30) ? PICK(g, users) : NULL;
        op->target =
            chance(g, 20) && op->kind == HF_OP_LIST ? g->people[below(g, PEOPLE)].id : NULL;
        if (chance(g, 50))
            op->after = &g->next;
    }
    if (op->kind == HF_OP_COUNT) {
        op->target = chance(g, 40) ? g->people[below(g, PEOPLE)].id : NULL;
        op->caller = chance(g, 30) ? PICK(g, callers) : NULL;
    }
    if (op->kind == HF_OP_EVENTS)
        op->after_seq = chance(g, 70) ? (int64_t)below(g, (unsigned)g->last_seq + 2) : g->last_seq;
}

static void make_liar(game *g)
{
    hf_error err = {0};
    expect(HF_OK, hf_credentials_set(&g->liar, g->people[0].id, g->people[1].key, &err), err);
}

/* Whoever is gone comes back under a new id and key, so that the story goes on. */
static void same_as_memory_come_back(game *g, hf_batch *batch)
{
    for (int i = 0; i < PEOPLE; i++) {
        if (!g->gone[i] || hf_batch_count(batch) == OPS_MOST || chance(g, 40))
            continue;
        g->people[i] = draw(g->memory);
        keep_secret(g->other, &g->people[i]);
        g->gone[i] = false;
        if (i == 0)
            make_liar(g);
        hf_op *op = hf_batch_add(batch, HF_OP_SESSION_OPEN);
        same_as_memory_fill_open(g, op);
        op->session = &g->people[i];
        snprintf(g->opened_by[i], sizeof g->opened_by[i], "open-%u", g->memory->drawn % 100000);
        if (chance(g, 70))
            op->request_id = g->opened_by[i];
    }
}

static void fill_batch(game *g, hf_batch *batch)
{
    hf_batch_clear(batch);
    if (chance(g, 20)) {
        fill_apart(g, hf_batch_add(batch, PICK(g, apart)));
        if (!chance(g, 2))
            return;
    }
    same_as_memory_come_back(g, batch);
    unsigned count = 1 + below(g, OPS_MOST - 1);
    for (unsigned i = (unsigned)hf_batch_count(batch); i < count; i++) {
        hf_op *op = hf_batch_add(batch, PICK(g, together));
        fill_op(g, op);
        op->linked = chance(g, 25) && (i + 1 < count || chance(g, 2));
        if (op->linked && chance(g, 50))
            op->request_id = "run";
    }
}

static void move_clock(game *g)
{
    int64_t by = 0;
    if (chance(g, 40))
        by = below(g, 700) * MILLISECOND;
    if (chance(g, 10))
        by = below(g, 90) * SECOND;
    if (chance(g, 2))
        by = DAY + below(g, 1000) * SECOND;
    if (chance(g, 3))
        by = -(int64_t)below(g, 900) * MILLISECOND;
    clock_forward(g->memory, by);
    clock_forward(g->other, by);
}

static void same_as_memory_print_line(const char *side, const char *line)
{
    fprintf(stderr, "%8s: %.*s\n", side, (int)strcspn(line, "\n"), line);
}

static const char *same_as_memory_next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* Prints the lines from the first that differs on, a few of each side. */
static void print_difference(const char *memory, const char *other, const char *name)
{
    while (*memory && *other && strcspn(memory, "\n") == strcspn(other, "\n") &&
           strncmp(memory, other, strcspn(memory, "\n")) == 0) {
        memory = same_as_memory_next_line(memory);
        other = same_as_memory_next_line(other);
    }
    for (int i = 0; i < 4 && *memory; i++, memory = same_as_memory_next_line(memory))
        same_as_memory_print_line("memory", memory);
    for (int i = 0; i < 4 && *other; i++, other = same_as_memory_next_line(other))
        same_as_memory_print_line(name, other);
}

static void show_difference(game *g, const char *what, const char *memory, const char *other)
{
    print_difference(memory, other, g->other->at->name);
    check_failed(__FILE__, __LINE__,
                 "HF_TEST_SEED=%llu HF_TEST_ROUNDS=1, batch %d, at %lld, differs: %s",
                 (unsigned long long)g->seed, g->number, (long long)g->memory->now_us, what);
}

/* The batch and its answers as text, up to and including the first op that differs. */
static void compare_answers(game *g)
{
    for (size_t i = 0; i < hf_batch_count(g->left); i++) {
        char *left = NULL, *right = NULL, *op = NULL;
        size_t size;
        FILE *out = open_memstream(&left, &size);
        dump_answer(out, hf_batch_op(g->left, i));
        fclose(out);
        out = open_memstream(&right, &size);
        dump_answer(out, hf_batch_op(g->right, i));
        fclose(out);
        if (strcmp(left, right) != 0) {
            for (size_t j = 0; j <= i; j++)
                dump_op(stderr, hf_batch_op(g->left, j));
            out = open_memstream(&op, &size);
            dump_op(out, hf_batch_op(g->left, i));
            fclose(out);
            show_difference(g, op, left, right);
        }
        free(left);
        free(right);
    }
}

static int person_of(const game *g, const hf_credentials *who)
{
    return who >= g->people && who < g->people + PEOPLE ? (int)(who - g->people) : -1;
}

static void remember_grant(game *g, int person, int type, int id)
{
    if (person >= 0)
        g->recent[g->grants++ % RECENT] = (grant){person, type, id};
}

static void remember_request(game *g, const hf_op *op)
{
    for (int i = 0; i < PEOPLE; i++)
        if (strcmp(g->people[i].id, op->answer.locks[0].session) == 0)
            g->asked = &g->people[i];
    g->asker = op->session;
    g->asked_type = op->type;
    g->asked_id = op->id;
}

static void same_as_memory_look_at(game *g, const hf_op *op)
{
    const hf_answer *answer = &op->answer;
    tally[op->kind][answer->status]++;
    const char *flaw = answer_flaw(op, g->memory->secrets, g->memory->secrets_count);
    if (flaw) {
        dump_op(stderr, op);
        dump_answer(stderr, op);
        show_difference(g, flaw, "", "");
    }
    if (op->kind == HF_OP_LIST || op->kind == HF_OP_SESSIONS || op->kind == HF_OP_TOKENS)
        g->next = answer->next == NULL ? (hf_cursor){0} : *answer->next;
    for (size_t i = 0; i < answer->events_count; i++)
        if (answer->events[i].seq > g->last_seq)
            g->last_seq = answer->events[i].seq;
    if (answer->locks && answer->locks_count)
        g->recent_fence = answer->locks[below(g, (unsigned)answer->locks_count)].fence;
    for (int t = 0; answer->versions_count && t < TYPES; t++)
        for (int i = 0; i < IDS; i++)
            if (strcmp(op->type, types[t]) == 0 && strcmp(op->id, ids[i]) == 0)
                g->versions[t][i] = answer->versions[0].number;
    int person = person_of(g, op->session);
    if (op->kind == HF_OP_REQUEST && answer->status == HF_OK && person >= 0)
        remember_request(g, op);
    if (person >= 0 && (answer->status == HF_EXPIRED || answer->status == HF_NOT_FOUND) &&
        op->kind != HF_OP_HAND_OVER && op->kind != HF_OP_DECLINE)
        g->gone[person] = true;
    if (answer->outcome != HF_GRANTED && answer->outcome != HF_UPGRADED)
        return;
    /* P8 */
    for (int t = 0; t < TYPES; t++)
        for (int i = 0; i < IDS; i++)
            if (strcmp(op->type, types[t]) == 0 && strcmp(op->id, ids[i]) == 0) {
                if (answer->locks[0].fence <= g->fences[t][i])
                    show_difference(g, "a fence that does not grow", "", "");
                g->fences[t][i] = answer->locks[0].fence;
                remember_grant(g, person, t, i);
            }
}

/* P1, by what the memory store lists. */
static void look_at_locks(game *g)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_batch_add(batch, HF_OP_LIST)->limit = HF_LIST_MAX;
    expect(HF_OK, hf_store_execute(g->memory->store, batch, &err), err);
    const hf_answer *all = &hf_batch_op(batch, 0)->answer;
    for (size_t i = 1; i < all->locks_count; i++) {
        const hf_lock *a = &all->locks[i - 1], *b = &all->locks[i];
        if (hf_resource_compare(&a->resource, &b->resource) != 0)
            continue;
        if (a->mode == HF_EXCLUSIVE || b->mode == HF_EXCLUSIVE ||
            strcmp(a->session, b->session) == 0)
            show_difference(g, "two locks that exclude each other", "", "");
    }
    hf_batch_free(batch);
}

static void compare_stores(game *g)
{
    char *left = dump_store(g->memory->store, DUMP_ALL),
         *right = dump_store(g->other->store, DUMP_ALL);
    if (strcmp(left, right) != 0)
        show_difference(g, "what is in the store", left, right);
    free(left);
    free(right);
    look_at_locks(g);
}

static void copy_batch(hf_batch *from, hf_batch *to)
{
    hf_batch_clear(to);
    for (size_t i = 0; i < hf_batch_count(from); i++) {
        const hf_op *op = hf_batch_op(from, i);
        hf_op *copy = hf_batch_add(to, op->kind);
        *copy = *op;
        memset(&copy->answer, 0, sizeof copy->answer);
    }
}

static void play_batch(game *g)
{
    hf_error left_err = {0}, right_err = {0};
    copy_batch(g->left, g->right);
    hf_status left = hf_store_execute(g->memory->store, g->left, &left_err);
    hf_status right = hf_store_execute(g->other->store, g->right, &right_err);
    if (left != right || strcmp(left_err.message, right_err.message) != 0) {
        for (size_t i = 0; i < hf_batch_count(g->left); i++)
            dump_op(stderr, hf_batch_op(g->left, i));
        fprintf(stderr, "%s, %s\n", hf_status_wire(left), hf_status_wire(right));
        show_difference(g, "the batch", left_err.message, right_err.message);
    }
    if (left != HF_OK)
        return;
    compare_answers(g);
    for (size_t i = 0; i < hf_batch_count(g->left); i++)
        same_as_memory_look_at(g, hf_batch_op(g->left, i));
}

static void play_round(const test_store *memory_at, const test_store *at, uint64_t seed)
{
    game g = {.seed = seed, .dice = seed, .recent_fence = 1};
    hf_error err = {0};
    g.memory = fixture_open(memory_at);
    g.other = fixture_open(at);
    expect(HF_OK, hf_batch_new(OPS_MOST + 1, &g.left, &err), err);
    expect(HF_OK, hf_batch_new(OPS_MOST + 1, &g.right, &err), err);
    for (int i = 0; i < PEOPLE; i++) {
        g.people[i] = draw(g.memory);
        keep_secret(g.other, &g.people[i]);
        g.gone[i] = true;
    }
    make_liar(&g);
    for (int i = 0; i < TOKENS; i++) {
        char secret[HF_TOKEN_SECRET_SIZE];
        snprintf(secret, sizeof secret, "%032x%032x", 0x5ec4e7, (unsigned)i);
        expect(HF_OK, hf_token_read(secret, &g.tokens[i], &err), err);
        snprintf(g.tokens[i].id, sizeof g.tokens[i].id, "%032x", (unsigned)(i * 7 + 1));
    }
    static const int64_t keeps[] = {0, SECOND, MINUTE, HOUR};
    g.keep_us = PICK(&g, keeps);
    g.keep_forced_us = g.keep_us == 0 || chance(&g, 40) ? 0 : g.keep_us + below(&g, 2) * MINUTE;
    for (g.number = 1; g.number <= BATCHES; g.number++) {
        bool again = g.number > 1 && chance(&g, 10);
        if (!again)
            fill_batch(&g, g.left);
        move_clock(&g);
        play_batch(&g);
        if (chance(&g, 15))
            compare_stores(&g);
        if (at->keeps && chance(&g, 2))
            fixture_reopen(g.other);
    }
    compare_stores(&g);
    hf_batch_free(g.left);
    hf_batch_free(g.right);
    fixture_close(g.memory);
    fixture_close(g.other);
}

static uint64_t same_as_memory_number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t first_seed;

/* Every kind was done, and every way to refuse was met. */
static void enough_was_seen(void **state)
{
    (void)state;
    static const hf_status met[] = {HF_INVALID, HF_LOCKED,      HF_DENIED,   HF_NOT_HELD,
                                    HF_EXPIRED, HF_NOT_APPLIED, HF_NOT_FOUND};
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        if (getenv("HF_TEST_TALLY"))
            for (int status = 0; status < HF_STATUS_COUNT; status++)
                if (tally[kind][status])
                    printf("# %-14s %-12s %u\n", hf_op_kind_name((hf_op_kind)kind),
                           hf_status_wire((hf_status)status), tally[kind][status]);
        if (tally[kind][HF_OK] == 0)
            check_failed(__FILE__, __LINE__, "no %s was done", hf_op_kind_name((hf_op_kind)kind));
    }
    for (size_t i = 0; i < sizeof met / sizeof *met; i++) {
        unsigned count = 0;
        for (int kind = 0; kind < HF_OP_KINDS; kind++)
            count += tally[kind][met[i]];
        if (count == 0)
            check_failed(__FILE__, __LINE__, "nothing came to %s", hf_status_wire(met[i]));
    }
}

static void every_answer_is_the_same_as_of_memory(void **state)
{
    const test_store *at = *state;
    test_store memory_at = test_store_memory();
    hf_seam.memory_keeps_rows = !at->drops_free;
    uint64_t rounds = same_as_memory_number_from("HF_TEST_ROUNDS", ROUNDS);
    for (uint64_t i = 0; i < rounds; i++)
        play_round(&memory_at, at, first_seed + i);
}

int main(void)
{
    size_t count = 0, chosen = 0;
    const test_store *all = test_stores(&count);
    struct CMUnitTest units[17];
    static char names[16][96];
    first_seed = same_as_memory_number_from("HF_TEST_SEED", (uint64_t)time(NULL) * 1000 +
                                                                (uint64_t)getpid() % 1000);
    printf("# HF_TEST_SEED=%llu\n", (unsigned long long)first_seed);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].url, "memory:") == 0 && count > 1)
            continue;
        snprintf(names[chosen], sizeof names[chosen], "%s: every_answer_is_the_same_as_of_memory",
                 all[i].name);
        units[chosen] = (struct CMUnitTest){names[chosen], every_answer_is_the_same_as_of_memory,
                                            NULL, NULL, (void *)(uintptr_t)&all[i]};
        chosen++;
    }
    if (same_as_memory_number_from("HF_TEST_ROUNDS", ROUNDS) >= ENOUGH)
        units[chosen++] = (struct CMUnitTest)cmocka_unit_test(enough_was_seen);
    return _cmocka_run_group_tests("same_as_memory", units, chosen, NULL, NULL);
}
