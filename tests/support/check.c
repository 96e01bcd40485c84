/* SPDX-License-Identifier: MIT */
/* The checks of check.h: each compares, and on a mismatch prints both sides before it fails the
 * test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

void check_failed(const char *file, int line, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_error("%s\n", text);
    _fail(file, line);
    abort(); /* _fail jumps back into cmocka */
}

void check_status(hf_status expected, hf_status actual, const char *message, const char *what,
                  const char *file, int line)
{
    if (actual != expected)
        check_failed(file, line, "%s came to %s, not %s: %s", what, hf_status_wire(actual),
                     hf_status_wire(expected),
                     message && *message ? message : "(without a sentence)");
}

void check_call(hf_status expected, hf_status actual, const hf_error *err, const char *what,
                const char *file, int line)
{
    check_status(expected, actual, actual == HF_OK ? NULL : err->message, what, file, line);
    if (actual == HF_OK)
        return;
    if (err->status != actual)
        check_failed(file, line, "%s returned %s, but err says %s", what, hf_status_wire(actual),
                     hf_status_wire(err->status));
    if (!err->message[0])
        check_failed(file, line, "%s came to %s without a sentence", what, hf_status_wire(actual));
}

void check_int(int64_t actual, int64_t expected, const char *what, const char *file, int line)
{
    if (actual != expected)
        check_failed(file, line, "%s is %lld, not %lld", what, (long long)actual,
                     (long long)expected);
}

void check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line)
{
    if (!actual || strcmp(actual, expected) != 0)
        check_failed(file, line, "%s is \"%s\", not \"%s\"", what, actual ? actual : "(NULL)",
                     expected);
}

void check_contains(const char *text, const char *part, bool wanted, const char *what,
                    const char *file, int line)
{
    if (!text)
        check_failed(file, line, "%s is NULL", what);
    if ((strstr(text, part) != NULL) != wanted)
        check_failed(file, line, "%s %s \"%s\": %s", what, wanted ? "lacks" : "has", part, text);
}

void check_true(bool condition, const char *what, const char *file, int line)
{
    if (!condition)
        check_failed(file, line, "not so: %s", what);
}
