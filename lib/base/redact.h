/* SPDX-License-Identifier: MIT */
/* A URL as it may be shown: without its password. */
#ifndef HF_BASE_REDACT_H
#define HF_BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies it without what stands between the user and the '@', and without the parameters password
 * and sslpassword; cut at `size`. True: something was left out. */
bool hf_url_redact(const char *url, char *out, size_t size);

/* Where the password of a URL stands, from its ':' to its '@'; NULL: it has none. */
const char *hf_url_password(const char *url, size_t *size);

/* Takes the same out of every URL in a sentence, each of which ends at a blank or a quote. */
void hf_text_redact(char *text);

/* Takes every NAME=... out of what stands after the '?'; name with its '='. True: there was one. */
bool hf_url_drop(char *url, const char *name);

#endif
