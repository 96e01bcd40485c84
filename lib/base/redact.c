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

const char *hf_url_password(const char *url, size_t *size)
{
    const char *host = strstr(url, "://");
    host = host == NULL ? url + strlen(url) : host + 3;
    const char *colon = strchr(host, ':');
    const char *at = redact_end_of_password(host, colon);
    *size = at != NULL && colon != NULL && colon < at ? (size_t)(at - colon) : 0;
    return *size > 0 ? colon : NULL;
}

bool hf_url_redact(const char *url, char *out, size_t size)
{
    size_t secret = 0;
    const char *password = hf_url_password(url, &secret);
    snprintf(out, size, "%.*s%s", password == NULL ? 0 : (int)(password - url), url,
             password == NULL ? url : password + secret);
    bool dropped = hf_url_drop(out, "password=");
    return hf_url_drop(out, "sslpassword=") || dropped || password != NULL;
}

void hf_text_redact(char *text)
{
    for (char *url = strstr(text, "://"); url != NULL; url = strstr(url + 3, "://")) {
        char *end = url + strcspn(url, " \t\n\"'<>"), after = *end;
        size_t secret = 0;
        *end = '\0';
        const char *password = hf_url_password(url, &secret);
        if (password != NULL)
            memmove(url + (password - url), password + secret, strlen(password + secret) + 1);
        hf_url_drop(url, "password=");
        hf_url_drop(url, "sslpassword=");
        char *shorter = url + strlen(url);
        *end = after;
        memmove(shorter, end, strlen(end) + 1);
    }
}
