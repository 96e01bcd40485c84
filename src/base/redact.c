/* SPDX-License-Identifier: MIT */
/* Taking passwords out of a URL. In doubt too much is taken out: a password may hold a '?' or an
 * '@' that nobody escaped. */
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

bool hf_url_drop(char *url, const char *name)
{
    bool dropped = false;
    char *at = strchr(url, '?');
    while (at != NULL) {
        char *end = strchr(at + 1, '&');
        if (strncmp(at + 1, name, strlen(name)) != 0) {
            at = end;
            continue;
        }
        dropped = true;
        if (end == NULL) {
            *at = '\0';
            at = NULL;
        } else { /* the parameter after it takes its place, and its sign */
            memmove(at + 1, end + 1, strlen(end));
        }
    }
    return dropped;
}

/* What stands before the last '@' of the part with user and host. That ends with the first '/',
 * unless there would be a port then that is no number: so it is a password, with a '/' that nobody
 * escaped. */
static const char *redact_end_of_password(const char *host, const char *colon)
{
    const char *end = host + strcspn(host, "/"), *at = NULL;
    bool port = colon != NULL && colon < end &&
                strspn(colon + 1, "0123456789") == (size_t)(end - colon - 1);
    bool open =
        colon != NULL && colon < end && memchr(host, '@', (size_t)(end - host)) == NULL && !port;
    for (const char *c = host; *c != '\0' && (open || c < end); c++)
        if (*c == '@')
            at = c;
    return at;
}

bool hf_url_redact(const char *url, char *out, size_t size)
{
    const char *host = strstr(url, "://");
    host = host == NULL ? url + strlen(url) : host + 3;
    const char *colon = strchr(host, ':');
    const char *at = redact_end_of_password(host, colon);
    bool secret = at != NULL && colon != NULL && colon < at;
    snprintf(out, size, "%.*s%s", secret ? (int)(colon - url) : 0, url, secret ? at : url);
    secret |= hf_url_drop(out, "password=");
    secret |= hf_url_drop(out, "sslpassword=");
    return secret;
}
