/* SPDX-License-Identifier: MIT */
/* Framing: every file of the corpus comes to what its name says ("accepted-REQUESTS-..." or
 * "refused-STATUS-..."), whole, byte by byte and in random pieces; and every limit holds to the
 * byte. */
#include <dirent.h>
#include <server/http/framing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

enum { CASE_MAX = 8192, CUTS = 200 };

/* What a byte is: its part, and what ends with it. */
enum { IS_HEAD = 'a', IS_BODY, IS_BETWEEN, HEAD_ENDS = 8, ENDS = 16 };

/* What a connection came to. */
typedef struct outcome {
    char labels[CASE_MAX + 1]; /* of the good bytes */
    size_t good;
    int status;
    const char *reason;
    uint64_t requests;
    bool idle;
} outcome;

/* As framing_feed, by pieces, noting what each byte is. */
static size_t feed_pieces(framing *f, const char *bytes, size_t size, char *labels)
{
    size_t good = 0;
    while (good < size && f->status == 0) {
        framing_piece piece = framing_next(f, bytes + good, size - good);
        expect_true(piece.size > 0 || f->status != 0);
        expect_true(piece.size > 0 || (!piece.ends && !piece.head_ends));
        memset(labels + good, IS_HEAD + (int)piece.part, piece.size);
        good += piece.size;
        if (piece.size > 0)
            labels[good - 1] = (char)(labels[good - 1] + (piece.head_ends ? HEAD_ENDS : 0) +
                                      (piece.ends ? ENDS : 0));
    }
    return good;
}

static void end_of(outcome *o, const framing *f, size_t good)
{
    o->good = good;
    o->status = f->status;
    o->reason = f->reason;
    o->requests = f->requests;
    o->idle = framing_idle(f);
}

static outcome feed_whole(const framing_limits *limits, const char *bytes, size_t size)
{
    framing f, other;
    outcome o = {0};
    framing_init(&f, limits);
    framing_init(&other, limits);
    end_of(&o, &f, feed_pieces(&f, bytes, size, o.labels));
    expect_int(framing_feed(&other, bytes, size), o.good);
    return o;
}

/* In pieces of 1 to `longest` bytes; each in memory of its own, so that reading beyond it is seen.
 * */
static outcome feed_cut(const framing_limits *limits, const char *bytes, size_t size,
                        size_t longest)
{
    framing f;
    outcome o = {0};
    size_t good = 0;
    framing_init(&f, limits);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = 1 + (size_t)rand() % longest;
        if (piece > size - at)
            piece = size - at;
        char *copy = malloc(piece);
        expect_true(copy != NULL);
        memcpy(copy, bytes + at, piece);
        size_t now = feed_pieces(&f, copy, piece, o.labels + good);
        free(copy);
        if (good == at)
            good += now;
        else if (now != 0)
            check_failed(__FILE__, __LINE__, "bytes were good after a refusal");
    }
    end_of(&o, &f, good);
    return o;
}

static void framing_same(const char *name, outcome a, outcome b)
{
    if (strcmp(a.labels, b.labels) != 0)
        check_failed(__FILE__, __LINE__, "%s: whole, its bytes are %s, cut, %s", name, a.labels,
                     b.labels);
    if (a.good != b.good || a.status != b.status || a.reason != b.reason ||
        a.requests != b.requests || a.idle != b.idle)
        check_failed(__FILE__, __LINE__,
                     "%s: whole, %zu bytes are good and it comes to %d; cut, %zu and %d", name,
                     a.good, a.status, b.good, b.status);
}

static outcome server_framing_feed(const framing_limits *limits, const char *name,
                                   const char *bytes, size_t size)
{
    outcome whole = feed_whole(limits, bytes, size);
    framing_same(name, whole, feed_cut(limits, bytes, size, 1));
    for (size_t i = 0; i < CUTS; i++)
        framing_same(name, whole, feed_cut(limits, bytes, size, 1 + i % 40));
    return whole;
}

static void check_case(const char *name, const char *bytes, size_t size)
{
    int number = 0;
    bool refused = sscanf(name, "refused-%d-", &number) == 1;
    if (!refused && sscanf(name, "accepted-%d-", &number) != 1)
        check_failed(__FILE__, __LINE__, "what is %s to come to?", name);
    outcome got = server_framing_feed(&framing_usual, name, bytes, size);
    if (refused && (got.status != number || got.reason == NULL || got.good >= size))
        check_failed(__FILE__, __LINE__, "%s came to %d after %zu of %zu bytes", name, got.status,
                     got.good, size);
    if (!refused && (got.status != 0 || got.good != size || got.requests != (uint64_t)number))
        check_failed(__FILE__, __LINE__, "%s came to %d (%s), %zu of %zu bytes, %llu requests",
                     name, got.status, got.reason ? got.reason : "", got.good, size,
                     (unsigned long long)got.requests);
}

static void the_corpus_comes_to_what_its_names_say(void **state)
{
    (void)state;
    char folder[4096], path[8192], bytes[CASE_MAX];
    size_t cases = 0;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/framing", getenv("HF_SOURCE_ROOT"));
    DIR *dir = opendir(folder);
    expect_true(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, "refused-", 8) != 0 &&
            strncmp(entry->d_name, "accepted-", 9) != 0)
            continue; /* what a fuzzer found has other names */
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        expect_true(file != NULL);
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        check_case(entry->d_name, bytes, size);
        cases++;
    }
    closedir(dir);
    expect_true(cases > 100);
}

/* A refused head is refused before its last byte: what stands behind this may see all that is good.
 * */
static void a_bad_head_is_never_whole(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        outcome got = server_framing_feed(&framing_usual, heads[i], heads[i], strlen(heads[i]));
        expect_true(got.status != 0 && got.good < strlen(heads[i]));
        expect_int(got.requests, 0);
    }
}

static void it_is_idle_between_requests_only(void **state)
{
    (void)state;
    framing f;
    framing_init(&f, &framing_usual);
    expect_true(framing_idle(&f));
    expect_int(framing_feed(&f, "G", 1), 1);
    expect_true(!framing_idle(&f));
    expect_int(framing_feed(&f, "ET / HTTP/1.0\r\nContent-Length: 1\r\n\r\n", 36), 36);
    expect_true(!framing_idle(&f));
    expect_int(framing_feed(&f, "x", 1), 1);
    expect_true(framing_idle(&f));
    expect_int(framing_feed(&f, "x", 1), 0);
    expect_true(!framing_idle(&f));
}

/* ---- pieces ---- */

/* What is head, and what is left of the body without its chunks. */
static void parts(const char *text, const char *head, const char *body, size_t requests)
{
    char got[2][512] = {0};
    size_t sizes[2] = {0};
    outcome o = server_framing_feed(&framing_usual, text, text, strlen(text));
    expect_int(o.requests, requests);
    for (size_t i = 0; i < o.good; i++) {
        int part = (o.labels[i] - IS_HEAD) & 7;
        if (part < 2)
            got[part][sizes[part]++] = text[i];
    }
    expect_text(got[0], head);
    expect_text(got[1], body);
}

static void heads_and_bodies_are_told_apart(void **state)
{
    (void)state;
#define HEAD_OF(more) "POST / HTTP/1.1\r\nHost: a\r\n" more "\r\n"
    parts(HEAD_OF(""), HEAD_OF(""), "", 1);
    parts(HEAD_OF("Content-Length: 5\r\n") "hello", HEAD_OF("Content-Length: 5\r\n"), "hello", 1);
    parts(
        HEAD_OF(
            "Transfer-Encoding: chunked\r\n") "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nT: u\r\n\r\n",
        HEAD_OF("Transfer-Encoding: chunked\r\n"), "hello world", 1);
    parts(HEAD_OF("Content-Length: 2\r\n") "hi" HEAD_OF(""),
          HEAD_OF("Content-Length: 2\r\n") HEAD_OF(""), "hi", 2);
}

static void ends_are_told_with_their_last_byte(void **state)
{
    (void)state;
    static const char text[] = HEAD_OF("Content-Length: 2\r\n") "hi" HEAD_OF("");
    size_t head = strlen(HEAD_OF("Content-Length: 2\r\n"));
    outcome o = server_framing_feed(&framing_usual, text, text, strlen(text));
    expect_int(o.labels[head - 1], IS_HEAD + HEAD_ENDS);
    expect_int(o.labels[head], IS_BODY);
    expect_int(o.labels[head + 1], IS_BODY + ENDS);
    expect_int(o.labels[strlen(text) - 1], IS_HEAD + HEAD_ENDS + ENDS);
    expect_int(o.labels[strlen(text) - 2], IS_HEAD);
}

/* ---- limits ---- */

static const framing_limits small = {
    .target_max = 10,
    .head_max = 80,
    .headers_max = 3,
    .body_max = 20,
    .chunk_max = 12,
    .trailers_max = 16,
};

/* Feeds a text with `count` bytes of filling at its %s. */
static outcome filled(const char *before, size_t count, const char *after)
{
    char text[512];
    size_t size = strlen(before);
    expect_true(size + count + strlen(after) < sizeof text);
    memcpy(text, before, size);
    memset(text + size, 'x', count);
    memcpy(text + size + count, after, strlen(after) + 1);
    return server_framing_feed(&small, before, text, size + count + strlen(after));
}

/* With so many it is accepted, with one more it comes to `status`. */
static void limit(const char *before, size_t most, const char *after, int status)
{
    outcome good = filled(before, most, after), bad = filled(before, most + 1, after);
    if (good.status != 0 || good.requests != 1)
        check_failed(__FILE__, __LINE__, "%s with %zu more came to %d: %s", before, most,
                     good.status, good.reason);
    expect_int(bad.status, status);
    expect_true(bad.reason != NULL);
}

#define HEAD    "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static void limits_hold_to_the_byte(void **state)
{
    (void)state;
    limit("GET /", 9, " HTTP/1.1\r\nHost: a\r\n\r\n", 414);
    limit("GET / HTTP/1.1\r\nHost: a\r\nX: ", 80 - 32, "\r\n\r\n", 431);
    limit("GET / HTTP/1.1\r\nHost: a\r\n", 80 - 30, ":\r\n\r\n", 431);
    limit(CHUNKED "0;", 8, "\r\n\r\n", 400);
    limit(CHUNKED "0\r\nX: ", 9, "\r\n\r\n", 431);
    limit(CHUNKED "0\r\n", 11, ":\r\n\r\n", 431);
    expect_int(filled("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n", 0, "").requests, 1);
    expect_int(filled("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\n\r\n", 0, "").status, 431);
    expect_int(filled(HEAD "Content-Length: 20\r\n\r\n", 20, "").requests, 1);
    expect_int(filled(HEAD "Content-Length: 21\r\n\r\n", 21, "").status, 413);
    expect_int(filled(CHUNKED "14\r\n", 20, "\r\n0\r\n\r\n").requests, 1);
    expect_int(filled(CHUNKED "15\r\n", 21, "\r\n0\r\n\r\n").status, 413);
    expect_int(filled(CHUNKED "a\r\n0123456789\r\na\r\n", 10, "\r\n0\r\n\r\n").requests, 1);
    expect_int(filled(CHUNKED "a\r\n0123456789\r\nb\r\n", 11, "\r\n0\r\n\r\n").status, 413);
}

/* The limits of a request are its own: those before it do not count. */
static void every_request_of_a_connection_has_the_whole_limit(void **state)
{
    (void)state;
    static const char request[] = CHUNKED "5\r\nhello\r\n6;x\r\nworld!\r\n0\r\nX: yyyy\r\n\r\n";
    framing f;
    framing_init(&f, &small);
    for (int i = 1; i <= 1000; i++) {
        expect_int(framing_feed(&f, request, sizeof request - 1), sizeof request - 1);
        expect_int(f.requests, i);
    }
}

/* Bytes at random, drawn from what matters: cut or whole it is the same, and nothing is good after
 * a refusal. */
static void random_bytes_come_to_the_same_however_they_are_cut(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "GET ",
        "POST ",
        "/ ",
        "HTTP/1.1\r\n",
        "HTTP/1.0\r\n",
        "Host: a\r\n",
        "Content-Length: ",
        "3",
        "\r\n",
        "Transfer-Encoding: chunked\r\n",
        "\r\n",
        "\r",
        "\n",
        "5\r\nhello\r\n",
        "0\r\n",
        ":",
        " ",
        "X: y\r\n",
        "abc",
        ";",
        "\t",
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        CHUNKED,
    };
    for (int turn = 0; turn < 3000; turn++) {
        char text[2048];
        size_t size = 0;
        for (int n = 1 + rand() % 12; n > 0; n--) {
            const char *piece = pieces[(size_t)rand() % (sizeof pieces / sizeof pieces[0])];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        if (rand() % 3 == 0)
            text[(size_t)rand() % size] = (char)rand();
        outcome whole = feed_whole(&framing_usual, text, size);
        for (size_t cut = 1; cut <= 7; cut += 3)
            framing_same("random bytes", whole, feed_cut(&framing_usual, text, size, cut));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_comes_to_what_its_names_say),
        cmocka_unit_test(a_bad_head_is_never_whole),
        cmocka_unit_test(it_is_idle_between_requests_only),
        cmocka_unit_test(heads_and_bodies_are_told_apart),
        cmocka_unit_test(ends_are_told_with_their_last_byte),
        cmocka_unit_test(limits_hold_to_the_byte),
        cmocka_unit_test(every_request_of_a_connection_has_the_whole_limit),
        cmocka_unit_test(random_bytes_come_to_the_same_however_they_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
