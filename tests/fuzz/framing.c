/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes, cut in two ways, come to the same; what is good is a prefix; bodies never go over their limit. */
#include <server/framing.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    framing whole, cut;
    framing_init(&whole, &framing_usual);
    framing_init(&cut, &framing_usual);
    size_t good = framing_feed(&whole, bytes, size), good_cut = 0;
    for (size_t at = 0; at < size; at++)
        good_cut += framing_feed(&cut, bytes + at, 1);
    must(good == good_cut && good <= size && whole.status == cut.status && whole.reason == cut.reason);
    must(whole.requests == cut.requests && framing_idle(&whole) == framing_idle(&cut));
    must((whole.status == 0) == (good == size));
    must(whole.body <= framing_usual.body_max);
    must(whole.status != 0 || framing_feed(&whole, "", 0) == 0);
    return 0;
}
