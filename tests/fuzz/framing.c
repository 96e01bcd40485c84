/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes, cut in two ways, come to the same, piece by piece; what is good is a
 * prefix; bodies never go over their limit. */
#include <server/http/framing.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void framing_must(int condition)
{
    if (!condition)
        abort();
}

/* How many bytes are of each part, how many heads and requests end. */
typedef struct tally {
    size_t parts[3], heads, requests;
} tally;

static size_t fuzz_framing_feed(framing *f, const uint8_t *bytes, size_t size, tally *t)
{
    size_t good = 0;
    while (good < size && f->status == 0) {
        framing_piece piece = framing_next(f, bytes + good, size - good);
        framing_must(piece.size > 0 || f->status != 0);
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
    size_t good = fuzz_framing_feed(&whole, bytes, size, &of_whole), good_cut = 0;
    for (size_t at = 0; at < size; at++)
        good_cut += fuzz_framing_feed(&cut, bytes + at, 1, &of_cut);
    framing_must(memcmp(&of_whole, &of_cut, sizeof of_whole) == 0 &&
                 of_whole.requests == whole.requests);
    framing_must(good == good_cut && good <= size && whole.status == cut.status &&
                 whole.reason == cut.reason);
    framing_must(whole.requests == cut.requests && framing_idle(&whole) == framing_idle(&cut));
    framing_must((whole.status == 0) == (good == size));
    framing_must(whole.body <= framing_usual.body_max);
    framing_must(whole.status != 0 || framing_feed(&whole, "", 0) == 0);
    return 0;
}
