/* SPDX-License-Identifier: MIT */
/* Names: bytes are compared as bytes, what is allowed comes back as it went in, what is not is
 * refused everywhere. */
#include "suite.h"

#include <string.h>

static char at_most_type[HF_TYPE_SIZE], too_long_type[HF_TYPE_SIZE + 1];
static char at_most_id[HF_ID_SIZE], too_long_id[HF_ID_SIZE + 1];
static char at_most_text[HF_TEXT_SIZE], too_long_text[HF_TEXT_SIZE + 1];

static void fill_long_names(void)
{
    memset(at_most_type, 't', HF_TYPE_MAX);
    memset(too_long_type, 't', HF_TYPE_MAX + 1);
    memset(at_most_id, 'i', HF_ID_MAX);
    memset(too_long_id, 'i', HF_ID_MAX + 1);
    memset(at_most_text, 'x', HF_TEXT_MAX);
    memset(too_long_text, 'x', HF_TEXT_MAX + 1);
}

/* Ids that a careless store would take for one another. */
static void ids_that_look_alike_are_kept_apart(fixture *w)
{
    static const char *const ids[] = {"job",
                                      "JOB",
                                      "Job",
                                      "job ",
                                      " job",
                                      "j\xc3\xb3"
                                      "b",
                                      "jo\xcc\x81"
                                      "b",
                                      "j%b",
                                      "j_b",
                                      "job/",
                                      "job/x",
                                      "/job",
                                      "0",
                                      "00",
                                      "0x0",
                                      "1e0",
                                      "1",
                                      "1.0",
                                      "NULL",
                                      "null",
                                      "\xef\xbb\xbfjob"};
    enum { COUNT = sizeof ids / sizeof *ids };
    int64_t fences[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        hf_credentials it = person(w, "someone", NULL);
        const hf_answer *got = done(w, ACQUIRE, BY(it), ON("policy", ids[i]), .purpose = ids[i]);
        expect_int(got->outcome, HF_GRANTED);
        expect_text(got->locks[0].resource.id, ids[i]);
        fences[i] = got->locks[0].fence;
    }
    for (size_t i = 0; i < COUNT; i++) {
        const hf_answer *who = done(w, WHO, ON("policy", ids[i]));
        expect_int(who->locks_count, 1);
        expect_text(who->locks[0].purpose, ids[i]);
        expect_int(who->locks[0].fence, fences[i]);
    }
    const hf_answer *all = done(w, LIST);
    expect_int(all->locks_count, COUNT);
    for (size_t i = 1; i < COUNT; i++)
        expect_true(strcmp(all->locks[i - 1].resource.id, all->locks[i].resource.id) < 0);
}

/* What would hurt a store that builds its statements from text. */
static void awkward_names_come_back_as_they_went_in(fixture *w)
{
    static const char *const texts[] = {
        "'; DROP TABLE holdfast_lock; --",
        "\"quoted\" and 'quoted'",
        "back\\slash",
        "percent %s %n %d",
        "emoji \xf0\x9f\x94\x92 and \xe2\x82\xac",
        "<script>alert(1)</script>",
        "{\"json\":true}",
        "$(reboot) `reboot`",
        "?1 :name @name $name",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hf_credentials it = draw(w);
        const hf_answer *opened = done(w, SESSION_OPEN, BY(it), .user = texts[i], .name = texts[i]);
        expect_text(opened->sessions[0].user, texts[i]);
        expect_text(opened->sessions[0].name, texts[i]);
        done(w, ACQUIRE, BY(it), ON("policy", texts[i]), .purpose = texts[i]);
        const hf_lock *lock = done(w, WHO, ON("policy", texts[i]))->locks;
        expect_text(lock->resource.id, texts[i]);
        expect_text(lock->purpose, texts[i]);
        expect_text(lock->user, texts[i]);
        expect_int(done(w, LIST, .user = texts[i])->locks_count, 1);
        hf_credentials other = person(w, "other", NULL);
        expect_contains(refused(w, HF_LOCKED, ACQUIRE, BY(other), ON("policy", texts[i]))->message,
                        texts[i]);
        done(w, REQUEST, BY(other), ON("policy", texts[i]), .text = texts[i]);
        expect_text(done(w, BEAT, BY(it))->requests[0].message, texts[i]);
        done(w, FORCE_RELEASE, ON("policy", texts[i]), .actor = texts[i], .text = texts[i]);
        const hf_lost *lost = done(w, BEAT, BY(it))->lost;
        expect_text(lost->by, texts[i]);
        expect_text(lost->reason, texts[i]);
    }
}

static void the_longest_names_fit(fixture *w)
{
    fill_long_names();
    hf_credentials alice = draw(w), bob = person(w, "bob", "Bob Smith");
    done(w, SESSION_OPEN, BY(alice), .user = at_most_text, .name = at_most_text);
    done(w, ACQUIRE, BY(alice), ON(at_most_type, at_most_id), .purpose = at_most_text);
    const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON(at_most_type, at_most_id));
    expect_text(no->locks[0].resource.type, at_most_type);
    expect_text(no->locks[0].resource.id, at_most_id);
    expect_text(no->locks[0].name, at_most_text);
    expect_text(no->locks[0].purpose, at_most_text);
    expect_contains(no->message, at_most_type);
    expect_contains(no->message, at_most_id);
    expect_contains(no->message, at_most_text);
    expect_true(no->message[strlen(no->message) - 1] == '.');
    done(w, REQUEST, BY(bob), ON(at_most_type, at_most_id), .text = at_most_text);
    expect_text(done(w, BEAT, BY(alice))->requests[0].message, at_most_text);
    done(w, FORCE_RELEASE, ON(at_most_type, at_most_id), .actor = at_most_text,
         .text = at_most_text);
    done(w, TYPE_SET, .type = at_most_type, .policy = HF_POLICY_READ_WRITE, .actor = at_most_text);
}

static void the_longest_request_id_fits(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    char id[HF_REQUEST_ID_SIZE];
    memset(id, '~', HF_REQUEST_ID_MAX);
    id[HF_REQUEST_ID_MAX] = '\0';
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = id);
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = id);
}

static const char *const bad_types[] = {"",        "Policy",  "1policy", "-policy",
                                        "pol icy", "pol/icy", "pol\x01", "p\xc3\xb6licy",
                                        ".policy", "_policy", "policy:", too_long_type};
static const char *const bad_texts[] = {
    "\x01", /* control characters */
    "line\nbreak",
    "tab\there",
    "\x7f",
    "\x1b[31mred",
    "\xff", /* no UTF-8 at all */
    "\xc3", /* cut off */
    "caf\xe9",
    "\xe2\x82",
    "\xc0\xaf", /* a slash in two bytes */
    "\xe0\x80\xaf",
    "\xed\xa0\x80",     /* half a surrogate pair */
    "\xf4\x90\x80\x80", /* past the last character */
    "\x80",
    too_long_text,
};
enum {
    BAD_TYPES = sizeof bad_types / sizeof *bad_types,
    BAD_TEXTS = sizeof bad_texts / sizeof *bad_texts
};

static void a_bad_type_is_refused_wherever_it_is_named(fixture *w)
{
    fill_long_names();
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    for (size_t i = 0; i < BAD_TYPES; i++) {
        const char *bad = bad_types[i];
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON(bad, "1"));
        refused(w, HF_INVALID, RENEW, BY(alice), ON(bad, "1"));
        refused(w, HF_INVALID, DOWNGRADE, BY(alice), ON(bad, "1"));
        refused(w, HF_INVALID, RELEASE, BY(alice), ON(bad, "1"));
        refused(w, HF_INVALID, HOLDS, BY(alice), ON(bad, "1"));
        refused(w, HF_INVALID, WHO, ON(bad, "1"));
        refused(w, HF_INVALID, REQUEST, BY(alice), ON(bad, "1"));
        refused(w, HF_INVALID, HAND_OVER, BY(alice), ON(bad, "1"), .target = bob.id);
        refused(w, HF_INVALID, FORCE_RELEASE, ON(bad, "1"), .actor = "root", .text = "why");
        refused(w, HF_INVALID, TYPE_GET, .type = bad);
        refused(w, HF_INVALID, TYPE_SET, .type = bad, .policy = HF_POLICY_READ_WRITE);
    }
}

static void a_bad_id_is_refused_wherever_it_is_named(fixture *w)
{
    fill_long_names();
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    for (size_t i = 0; i <= BAD_TEXTS; i++) {
        const char *bad = i == BAD_TEXTS                  ? ""
                          : bad_texts[i] == too_long_text ? too_long_id
                                                          : bad_texts[i];
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", bad));
        refused(w, HF_INVALID, RENEW, BY(alice), ON("policy", bad));
        refused(w, HF_INVALID, DOWNGRADE, BY(alice), ON("policy", bad));
        refused(w, HF_INVALID, RELEASE, BY(alice), ON("policy", bad));
        refused(w, HF_INVALID, HOLDS, BY(alice), ON("policy", bad));
        refused(w, HF_INVALID, WHO, ON("policy", bad));
        refused(w, HF_INVALID, REQUEST, BY(alice), ON("policy", bad));
        refused(w, HF_INVALID, HAND_OVER, BY(alice), ON("policy", bad), .target = bob.id);
        refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", bad), .actor = "root", .text = "why");
    }
}

static void a_bad_text_is_refused_wherever_it_is_said(fixture *w)
{
    fill_long_names();
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   fresh = draw(w);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    for (size_t i = 0; i < BAD_TEXTS; i++) {
        const char *bad = bad_texts[i];
        refused(w, HF_INVALID, SESSION_OPEN, BY(fresh), .user = bad);
        refused(w, HF_INVALID, SESSION_OPEN, BY(fresh), .user = "carol", .name = bad);
        refused(w, HF_INVALID, SESSION_OPEN, BY(fresh), .user = "carol", .caller = bad);
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "2"), .purpose = bad);
        refused(w, HF_INVALID, RENEW, BY(alice), ON("policy", "1"), .purpose = bad);
        refused(w, HF_INVALID, REQUEST, BY(bob), ON("policy", "1"), .text = bad);
        refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .actor = bad, .text = "why");
        refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = bad);
        refused(w, HF_INVALID, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE,
                .actor = bad);
    }
    refused(w, HF_NOT_FOUND, BEAT, BY(fresh));
}

static void a_callers_id_has_a_length_of_its_own(fixture *w)
{
    char caller[HF_CALLER_MAX + 2];
    memset(caller, 'c', sizeof caller);
    caller[HF_CALLER_MAX + 1] = '\0';
    hf_credentials alice = draw(w);
    refused(w, HF_INVALID, SESSION_OPEN, BY(alice), .user = "alice", .caller = caller);
    caller[HF_CALLER_MAX] = '\0';
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .caller = caller);
}

static void a_bad_request_id_is_refused(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   fresh = draw(w);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    char too_long[HF_REQUEST_ID_SIZE + 1];
    memset(too_long, 'r', sizeof too_long);
    too_long[HF_REQUEST_ID_MAX + 1] = '\0';
    const char *const bad[] = {"with space", "tab\t", "\x01", "caf\xc3\xa9", "\x7f", too_long};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refused(w, HF_INVALID, SESSION_OPEN, BY(fresh), .user = "carol", .request_id = bad[i]);
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = bad[i]);
        refused(w, HF_INVALID, RELEASE, BY(bob), ON("policy", "2"), .request_id = bad[i]);
        refused(w, HF_INVALID, CLOSE, BY(alice), .request_id = bad[i]);
        refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "2"), .actor = "root", .text = "why",
                .request_id = bad[i]);
    }
}

/* P13: a name can't make the sentence around it read as another one. The data stays as it is. */
static void a_sentence_shows_characters_that_mislead(fixture *w)
{
    static const char *const odd[] = {
        "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
        "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9"};
    static const char *const shown[] = {"\\u061c", "\\u200e", "\\u200f", "\\u2028", "\\u2029",
                                        "\\u202a", "\\u202b", "\\u202c", "\\u202d", "\\u202e",
                                        "\\u2066", "\\u2067", "\\u2068", "\\u2069"};
    hf_credentials bob = person(w, "bob", "Bob Smith");
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char name[32], id[32], wanted[64];
        snprintf(name, sizeof name, "Ann%sEve", odd[i]);
        snprintf(id, sizeof id, "x%s", odd[i]);
        hf_credentials ann = person(w, "ann", name);
        done(w, ACQUIRE, BY(ann), ON("policy", id), .purpose = name);
        const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", id));
        expect_true(strstr(no->message, odd[i]) == NULL);
        snprintf(wanted, sizeof wanted, "policy/x%s is being edited by Ann%sEve", shown[i],
                 shown[i]);
        expect_contains(no->message, wanted);
        snprintf(wanted, sizeof wanted, "(\"Ann%sEve\")", shown[i]);
        expect_contains(no->message, wanted);
        expect_text(no->locks[0].name, name);
        expect_text(no->locks[0].purpose, name);
        expect_text(no->locks[0].resource.id, id);
    }
}

static const suite_test names_tests[] = {
    TEST(ids_that_look_alike_are_kept_apart),
    TEST(awkward_names_come_back_as_they_went_in),
    TEST(the_longest_names_fit),
    TEST(the_longest_request_id_fits),
    TEST(a_bad_type_is_refused_wherever_it_is_named),
    TEST(a_bad_id_is_refused_wherever_it_is_named),
    TEST(a_bad_text_is_refused_wherever_it_is_said),
    TEST(a_callers_id_has_a_length_of_its_own),
    TEST(a_bad_request_id_is_refused),
    TEST(a_sentence_shows_characters_that_mislead),
};
THEME(names);
