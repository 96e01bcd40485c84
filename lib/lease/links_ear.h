/* SPDX-License-Identifier: MIT */
/* What links.c and its ear share. */
#ifndef HF_LEASE_LINKS_EAR_H
#define HF_LEASE_LINKS_EAR_H

#include "lease/links.h"

/* A link is used between use and leave. hf_links_use opens one with room, hf_link_use waits for
 * this very one, which may be closed: hf_link_ready opens it. */
hf_status hf_links_use(hf_links *links, hf_link **out, hf_error *err);
void hf_link_use(hf_link *link);
hf_status hf_link_ready(hf_link *link, hf_error *err);
void hf_link_leave(hf_link *link);

/* A lock that was granted on it. */
void hf_link_note(hf_link *link, hf_lease_grant *grant);
/* If it is for long, others are told at once who has it since when. */
void hf_link_tell(hf_link *link, const hf_lease_request *ask);

/* The ear's thread. */
void *hf_links_ear(void *links);

#endif
