/* SPDX-License-Identifier: MIT */
/* Listing: filters, and pages that cover everything exactly once, in canonical order. */
#include "suite.h"

#include <string.h>

static bool in_order(const hf_lock *a, const hf_lock *b)
{
    int order = hf_resource_compare(&a->resource, &b->resource);
    return order < 0 || (order == 0 && strcmp(a->session, b->session) < 0);
}

/* Two people, three types, shared and exclusive, ids whose byte order is not that of their numbers.
 * */
static void list_fill(fixture *w, hf_credentials *alice, hf_credentials *bob)
{
    static const char *const ids[] = {"1", "10", "2", "B", "a", "a/b", "ab", "\xc3\xa9"};
    static const char *const types[] = {"claim", "policy", "policy-x"};
    *alice = person(w, "alice", "Alice Chen");
    *bob = person(w, "bob", "Bob Smith");
    hf_batch *take = batch_of(w, 64);
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 8; i-- > 0;) {
            add(take, ACQUIRE, BY(*alice), ON(types[t], ids[i]),
                .mode = i < 3 ? HF_SHARED : HF_EXCLUSIVE);
            if (i < 2)
                add(take, ACQUIRE, BY(*bob), ON(types[t], ids[i]), .mode = HF_SHARED);
        }
    run(w, take);
    for (size_t i = 0; i < hf_batch_count(take); i++)
        answer(take, i, HF_OK);
}

static void locks_are_listed_in_canonical_order(fixture *w)
{
    hf_credentials alice, bob;
    list_fill(w, &alice, &bob);
    const hf_answer *all = done(w, LIST);
    expect_int(all->locks_count, 30);
    expect_true(!all->more);
    for (size_t i = 1; i < all->locks_count; i++)
        expect_true(in_order(&all->locks[i - 1], &all->locks[i]));
    expect_text(all->locks[0].resource.type, "claim");
    expect_text(all->locks[0].resource.id, "1");
    expect_text(all->locks[29].resource.id, "\xc3\xa9");
}

static void an_empty_store_lists_nothing(fixture *w)
{
    const hf_answer *none = done(w, LIST);
    expect_int(none->locks_count, 0);
    expect_true(!none->more);
}

static void a_listed_lock_is_described_in_full(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_lock got =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE, .purpose = "renewal")
            ->locks[0];
    hf_lock listed = done(w, LIST)->locks[0];
    assert_memory_equal(&got.resource, &listed.resource, sizeof got.resource);
    expect_int(listed.mode, got.mode);
    expect_int(listed.fence, got.fence);
    expect_int(listed.since_us, got.since_us);
    expect_int(listed.expires_us, got.expires_us);
    expect_int(listed.ends_us, got.ends_us);
    expect_text(listed.purpose, "renewal");
    expect_text(listed.session, alice.id);
    expect_text(listed.user, "alice");
    expect_text(listed.name, "Alice Chen");
}

static void filters_narrow_by_type_user_and_session(fixture *w)
{
    hf_credentials alice, bob;
    list_fill(w, &alice, &bob);
    hf_credentials tab2 = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(tab2), ON("policy", "tab2"));
    expect_int(done(w, LIST, .type = "policy")->locks_count, 11);
    expect_int(done(w, LIST, .type = "claim")->locks_count, 10);
    expect_int(done(w, LIST, .type = "poli")->locks_count, 0);
    expect_int(done(w, LIST, .user = "alice")->locks_count, 25);
    expect_int(done(w, LIST, .user = "bob")->locks_count, 6);
    expect_int(done(w, LIST, .user = "nobody")->locks_count, 0);
    expect_int(done(w, LIST, .target = alice.id)->locks_count, 24);
    expect_int(done(w, LIST, .target = tab2.id)->locks_count, 1);
    expect_int(done(w, LIST, .type = "policy", .user = "bob")->locks_count, 2);
    expect_int(done(w, LIST, .type = "policy", .target = tab2.id)->locks_count, 1);
    expect_int(done(w, LIST, .type = "claim", .user = "alice", .target = tab2.id)->locks_count, 0);
    const hf_answer *bobs = done(w, LIST, .user = "bob");
    for (size_t i = 0; i < bobs->locks_count; i++)
        expect_text(bobs->locks[i].user, "bob");
}

/* Walks pages of that size under a filter and compares them with the whole. */
static void list_walk(fixture *w, const hf_op *filter, size_t limit)
{
    hf_op op = *filter;
    const hf_answer *all = asked(w, HF_OK, &op, __FILE__, __LINE__);
    size_t seen = 0;
    op.limit = limit;
    for (;;) {
        const hf_answer *page = asked(w, HF_OK, &op, __FILE__, __LINE__);
        expect_true(page->locks_count <= limit);
        expect_true(seen + page->locks_count <= all->locks_count);
        for (size_t i = 0; i < page->locks_count; i++, seen++) {
            expect_int(hf_resource_compare(&page->locks[i].resource, &all->locks[seen].resource),
                       0);
            expect_text(page->locks[i].session, all->locks[seen].session);
        }
        if (!page->more)
            break;
        expect_int(page->locks_count, limit);
        op.after = page->next;
    }
    expect_int(seen, all->locks_count);
}

static void pages_of_any_size_cover_all_exactly_once(fixture *w)
{
    hf_credentials alice, bob;
    list_fill(w, &alice, &bob);
    static const size_t sizes[] = {1, 2, 3, 7, 10, 29, 30, 31};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        list_walk(w, &(hf_op){.kind = HF_OP_LIST}, sizes[i]);
        list_walk(w, &(hf_op){.kind = HF_OP_LIST, .type = "policy"}, sizes[i]);
        list_walk(w, &(hf_op){.kind = HF_OP_LIST, .user = "bob"}, sizes[i]);
        list_walk(w, &(hf_op){.kind = HF_OP_LIST, .target = alice.id}, sizes[i]);
        list_walk(w, &(hf_op){.kind = HF_OP_LIST, .target = bob.id, .type = "claim"}, sizes[i]);
    }
}

/* A page goes on after the last row answered, also when that row has gone. */
static void a_page_goes_on_though_its_last_row_was_released(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, ACQUIRE, BY(alice), ON("policy", "3"));
    const hf_answer *first = done(w, LIST, .limit = 2);
    expect_true(first->more);
    done(w, RELEASE, BY(alice), ON("policy", "2"));
    const hf_answer *second = done(w, LIST, .limit = 2, .after = first->next);
    expect_int(second->locks_count, 1);
    expect_text(second->locks[0].resource.id, "3");
}

/* P7 */
static void dead_locks_are_not_listed_and_do_not_hide_live_ones(fixture *w)
{
    hf_credentials dead = person_idle(w, "alice", "Alice Chen", SECOND);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", HOUR);
    char ids[20][8];
    hf_batch *take = batch_of(w, 20);
    for (int i = 0; i < 20; i++) {
        snprintf(ids[i], sizeof ids[i], "%02d", i);
        add(take, ACQUIRE, .session = i == 19 ? &bob : &dead, ON("policy", ids[i]));
    }
    run(w, take);
    done(w, ACQUIRE, BY(bob), ON("policy", "aa"), .ttl_us = SECOND);
    clock_forward(w, SECOND);
    const hf_answer *live = done(w, LIST, .limit = 1);
    expect_int(live->locks_count, 1);
    expect_text(live->locks[0].resource.id, "19");
    expect_true(!live->more);
    expect_int(done(w, LIST, .user = "alice")->locks_count, 0);
    expect_int(done(w, LIST, .target = dead.id)->locks_count, 0);
    expect_int(done(w, LIST, .user = "bob")->locks_count, 1);
}

static void the_default_page_has_a_hundred_rows(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_batch *take = batch_of(w, 150);
    char ids[150][8];
    for (int i = 0; i < 150; i++) {
        snprintf(ids[i], sizeof ids[i], "%03d", i);
        add(take, ACQUIRE, BY(alice), ON("policy", ids[i]));
    }
    run(w, take);
    const hf_answer *page = done(w, LIST);
    expect_int(page->locks_count, HF_LIST_DEFAULT);
    expect_true(page->more);
    page = done(w, LIST, .after = page->next);
    expect_int(page->locks_count, 50);
    expect_true(!page->more);
    expect_int(done(w, LIST, .limit = HF_LIST_MAX)->locks_count, 150);
}

/* Leaving a filter empty is not leaving it out. */
static void an_empty_user_is_no_filter(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, LIST, .user = "");
    refused(w, HF_INVALID, LIST, .user = "", .target = alice.id);
    refused(w, HF_INVALID, LIST, .user = "", .type = "policy");
    refused(w, HF_INVALID, SESSIONS, .user = "");
}

static size_t list_counted(const hf_answer *it, const char *type)
{
    for (size_t i = 0; i < it->counts_count; i++)
        if (strcmp(it->counts[i].type, type) == 0)
            return it->counts[i].locks;
    return 0;
}

/* P7 */
static void what_lives_is_counted_by_type(fixture *w)
{
    const hf_answer *none = done(w, COUNT);
    expect_int(none->counts_count + none->total_locks + none->total_sessions, 0);
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, TYPE_SET, .type = "unused", .policy = HF_POLICY_READ_WRITE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"), .ttl_us = 30 * SECOND);
    done(w, ACQUIRE, BY(alice), ON("claim", "1"));
    done(w, ACQUIRE, BY(bob), ON("zoo", "1"));
    done(w, RELEASE, BY(bob), ON("zoo", "1"));
    const hf_answer *all = done(w, COUNT);
    expect_int(all->counts_count, 2);
    expect_text(all->counts[0].type, "claim");
    expect_int(list_counted(all, "claim"), 1);
    expect_int(list_counted(all, "policy"), 3);
    expect_int(all->total_locks, 4);
    expect_int(all->total_sessions, 2);
    expect_int(all->now_us, w->now_us);
    expect_true(!all->more);
    clock_forward(w, 30 * SECOND);
    expect_int(list_counted(done(w, COUNT), "policy"), 2);
    clock_forward(w, 30 * SECOND); /* alice is dead, though nobody has swept */
    all = done(w, COUNT);
    expect_int(all->counts_count, 1);
    expect_int(all->total_locks, 1);
    expect_int(all->total_sessions, 1);
    done(w, CLOSE, BY(bob));
    all = done(w, COUNT);
    expect_int(all->counts_count + all->total_locks + all->total_sessions, 0);
}

static void a_count_has_as_many_types_as_asked_for_and_whole_totals(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    char type[HF_TYPE_SIZE];
    for (int i = 0; i < HF_LIST_DEFAULT + 1; i++) {
        snprintf(type, sizeof type, "t%03d", HF_LIST_DEFAULT - i);
        done(w, ACQUIRE, BY(alice), ON(type, "1"));
    }
    const hf_answer *few = done(w, COUNT, .limit = 2);
    expect_int(few->counts_count, 2);
    expect_text(few->counts[0].type, "t000");
    expect_text(few->counts[1].type, "t001");
    expect_true(few->more);
    expect_int(few->total_locks, HF_LIST_DEFAULT + 1);
    expect_int(few->total_sessions, 1);
    const hf_answer *usual = done(w, COUNT);
    expect_int(usual->counts_count, HF_LIST_DEFAULT);
    expect_true(usual->more);
    expect_int(done(w, COUNT, .limit = HF_LIST_DEFAULT + 1)->counts_count, HF_LIST_DEFAULT + 1);
    expect_true(!done(w, COUNT, .limit = HF_LIST_DEFAULT + 1)->more);
    refused(w, HF_INVALID, COUNT, .limit = HF_LIST_MAX + 1);
}

static void counts_of_session(fixture *w, const hf_credentials *who, size_t locks, size_t sessions)
{
    const hf_answer *it = done(w, COUNT, .target = who->id);
    expect_int(it->total_locks, locks);
    expect_int(it->total_sessions, sessions);
    expect_true(it->counts_count == 0 && it->counts == NULL && !it->more);
    expect_int(it->now_us, w->now_us);
}

/* P7 */
static void the_locks_of_one_session_are_counted(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", HOUR), nobody = draw(w);
    counts_of_session(w, &nobody, 0, 0);
    counts_of_session(w, &alice, 0, 1);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"), .ttl_us = 30 * SECOND);
    done(w, ACQUIRE, BY(alice), ON("claim", "1"));
    done(w, ACQUIRE, BY(alice), ON("claim", "1")); /* which is no second one */
    counts_of_session(w, &alice, 3, 1);
    counts_of_session(w, &bob, 1, 1);
    done(w, RELEASE, BY(alice), ON("claim", "1"));
    counts_of_session(w, &alice, 2, 1);
    done(w, RELEASE, BY(bob), ON("policy", "1"));
    counts_of_session(w, &bob, 0, 1);
    done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    counts_of_session(w, &alice, 1, 1);
    counts_of_session(w, &bob, 1, 1);
    clock_forward(w, 30 * SECOND); /* the lock's own bound */
    counts_of_session(w, &alice, 0, 1);
    done(w, ACQUIRE, BY(alice), ON("policy", "3"));
    counts_of_session(w, &alice, 1, 1);
    clock_forward(w, 30 * SECOND); /* alice is dead, though nobody has swept */
    counts_of_session(w, &alice, 0, 0);
    done(w, CLOSE, BY(bob));
    counts_of_session(w, &bob, 0, 0);
}

static size_t sessions_of(fixture *w, const char *token)
{
    const hf_answer *it = done(w, COUNT, .caller = token);
    expect_int(it->total_locks, 0);
    expect_true(it->counts_count == 0 && it->counts == NULL && !it->more);
    return it->total_sessions;
}

static hf_credentials list_opened(fixture *w, const char *token, int64_t idle_us)
{
    hf_credentials who = draw(w);
    done(w, SESSION_OPEN, BY(who), .user = "alice", .name = "Alice Chen", .idle_us = idle_us,
         .caller = token);
    return who;
}

/* P7 */
static void the_sessions_of_one_token_are_counted(fixture *w)
{
    static const char shop[] = "0123456789abcdef0123456789abcdef",
                      desk[] = "fedcba9876543210fedcba9876543210";
    expect_int(sessions_of(w, shop), 0);
    hf_credentials first = list_opened(w, shop, MINUTE), second = list_opened(w, shop, HOUR);
    hf_credentials third = list_opened(w, desk, HOUR);
    done(w, ACQUIRE, BY(first), ON("policy", "1"));
    done(w, ACQUIRE, BY(third), ON("policy", "2"));
    expect_int(sessions_of(w, shop), 2);
    expect_int(sessions_of(w, desk), 1);
    expect_int(sessions_of(w, "0123456789abcdef0123456789abcdee"), 0); /* one that opened none */
    expect_int(done(w, COUNT)->total_sessions, 3);
    clock_forward(w, MINUTE); /* the first is dead, though nobody has swept */
    expect_int(sessions_of(w, shop), 1);
    done(w, CLOSE, BY(second));
    expect_int(sessions_of(w, shop), 0);
    expect_int(sessions_of(w, desk), 1);
    list_opened(w, shop, HOUR);
    expect_int(sessions_of(w, shop), 1);
}

static void a_count_is_of_one_session_or_of_one_token(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    const hf_answer *no = refused(w, HF_INVALID, COUNT, .target = alice.id,
                                  .caller = "0123456789abcdef0123456789abcdef");
    expect_text(no->message, "The count is of one session or of one token: name one of both.");
    refused(w, HF_INVALID, COUNT, .target = "alice");
    refused(w, HF_INVALID, COUNT,
            .caller = "a caller of more than 64 bytes: 89012345678901234567890123456789012");
    expect_int(done(w, COUNT, .caller = "")->total_sessions, 1);
    expect_int(done(w, COUNT, .target = alice.id, .caller = "")->total_sessions, 1);
}

static const suite_test list_tests[] = {
    TEST(locks_are_listed_in_canonical_order),
    TEST(an_empty_store_lists_nothing),
    TEST(a_listed_lock_is_described_in_full),
    TEST(filters_narrow_by_type_user_and_session),
    TEST(pages_of_any_size_cover_all_exactly_once),
    TEST(a_page_goes_on_though_its_last_row_was_released),
    TEST(dead_locks_are_not_listed_and_do_not_hide_live_ones),
    TEST(the_default_page_has_a_hundred_rows),
    TEST(an_empty_user_is_no_filter),
    TEST(what_lives_is_counted_by_type),
    TEST(a_count_has_as_many_types_as_asked_for_and_whole_totals),
    TEST(the_locks_of_one_session_are_counted),
    TEST(the_sessions_of_one_token_are_counted),
    TEST(a_count_is_of_one_session_or_of_one_token),
};
THEME(list);
