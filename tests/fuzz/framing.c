/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes, cut in two ways, come to the same, piece by piece; what is good is a prefix; bodies never go over their limit. */
#include <server/framing.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int condition)
{
    if (!condition)
        abort();
}

/* How many bytes are of each part, how many heads and requests end. */
typedef struct tally {
    size_t parts[3], heads, requests;
} tally;

static size_t feed(framing *f, const uint8_t *bytes, size_t size, tally *t)
{
    size_t good = 0;
    while (good < size && f->status == 0) {
        framing_piece piece = framing_next(f, bytes + good, size - good);
        must(piece.size > 0 || f->status != 0);
        good += piece.size;
        t->parts[piece.part] += piece.size;
        t->heads += piece.head_ends;
        t->requests += piece.ends;
    }
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    framing whole, cut;
    framing_init(&whole, &framing_usual);
    framing_init(&cut, &framing_usual);
    tally of_whole = {0}, of_cut = {0};
    size_t good = feed(&whole, bytes, size, &of_whole), good_cut = 0;
    for (size_t at = 0; at < size; at++)
        good_cut += feed(&cut, bytes + at, 1, &of_cut);
    must(memcmp(&of_whole, &of_cut, sizeof of_whole) == 0 && of_whole.requests == whole.requests);
    must(good == good_cut && good <= size && whole.status == cut.status && whole.reason == cut.reason);
    must(whole.requests == cut.requests && framing_idle(&whole) == framing_idle(&cut));
    must((whole.status == 0) == (good == size));
    must(whole.body <= framing_usual.body_max);
    must(whole.status != 0 || framing_feed(&whole, "", 0) == 0);
    return 0;
}
