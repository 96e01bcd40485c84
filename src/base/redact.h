/* SPDX-License-Identifier: MIT */
/* A URL as it may be shown: without its password. */
#ifndef HF_BASE_REDACT_H
#define HF_BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies it without what stands between the user and the '@', and without the parameters password
 * and sslpassword; cut at `size`. True: something was left out. */
bool hf_url_redact(const char *url, char *out, size_t size);

/* Takes every NAME=... out of what stands after the '?'; name with its '='. True: there was one. */
bool hf_url_drop(char *url, const char *name);

#endif
