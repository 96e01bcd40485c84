/* SPDX-License-Identifier: MIT */
/* What tests expect, on top of cmocka: on a mismatch a check prints both sides, a status by its
 * wire name and with the sentence that came with it. */
#ifndef HF_TESTS_SUPPORT_CHECK_H
#define HF_TESTS_SUPPORT_CHECK_H

/* cmocka.h wants these before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <holdfast/status.h>
#include <stdbool.h>

/* A call that fills `err` comes to `status`; if that is not HF_OK, err says the same status with a
 * sentence. */
#define expect(status, call, err) check_call((status), (call), &(err), #call, __FILE__, __LINE__)

/* The same for an answer's status and message. */
#define expect_status(status, actual, message)                                                     \
    check_status((status), (actual), (message), #actual, __FILE__, __LINE__)

#define expect_int(actual, expected)                                                               \
    check_int((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define expect_text(actual, expected) check_text((actual), (expected), #actual, __FILE__, __LINE__)

#define expect_contains(text, part) check_contains((text), (part), true, #text, __FILE__, __LINE__)

#define expect_lacks(text, part) check_contains((text), (part), false, #text, __FILE__, __LINE__)

#define expect_true(condition) check_true((condition), #condition, __FILE__, __LINE__)

void check_call(hf_status expected, hf_status actual, const hf_error *err, const char *what,
                const char *file, int line);
void check_status(hf_status expected, hf_status actual, const char *message, const char *what,
                  const char *file, int line);
void check_int(int64_t actual, int64_t expected, const char *what, const char *file, int line);
void check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line);
void check_contains(const char *text, const char *part, bool wanted, const char *what,
                    const char *file, int line);
void check_true(bool condition, const char *what, const char *file, int line);

/* Fails the running test with a sentence. Does not come back. */
void check_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

#endif
