/* SPDX-License-Identifier: MIT */
/* Tickets: what opens a stream of events where no header can be sent (EventSource). A ticket
 * names a session, records and an end, and proves that whoever made it knew the session's key.
 * So it needs no memory, and counts on every server of the store. It is a secret until its end. */
#ifndef HF_SERVER_FEED_TICKET_H
#define HF_SERVER_FEED_TICKET_H

#include "server/access/authorize.h"
#include "wire/wire.h"

enum {
    TICKET_LIFE_US = 60000000,
    TICKET_NAMES_MAX = 3500, /* bytes: so a request's line stays under the 8 kB that proxies take */
};

typedef struct ticket {
    hf_credentials session; /* its id alone */
    caller_proof proof;     /* which the store checks */
    int64_t expires_us;     /* by the store's clock */
    wire_texts names;       /* of the records, unchecked */
} ticket;

/* *out is in the arena. HF_TOO_LARGE: the names do not fit. */
hf_status ticket_write(const hf_credentials *session, int64_t expires_us, const wire_texts *names,
                       hf_arena *arena, const char **out, hf_error *err);

/* What it says, which is true only if the store accepts the proof. Its texts are in the arena.
 * HF_INVALID: it is no ticket; the sentence does not repeat it. */
hf_status ticket_read(const char *text, hf_arena *arena, ticket *out, hf_error *err);

#endif
