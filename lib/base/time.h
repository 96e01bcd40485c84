/* SPDX-License-Identifier: MIT */
/* Times as text. A time is microseconds since 1970 UTC, as an int64. */
#ifndef HF_BASE_TIME_H
#define HF_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define HF_TIME_TEXT 32

/* "2026-11-15T10:47:03.123456Z" */
void hf_time_write(int64_t us, char out[HF_TIME_TEXT]);

/* For a sentence: "10:47 UTC", or "2026-11-14 10:47 UTC" when it isn't the day of now_us. */
void hf_time_say(int64_t us, int64_t now_us, char out[HF_TIME_TEXT]);

/* The same back: a time in UTC as above, with any fraction or none, or a day, as "2026-11-15",
 * which is its beginning. False: it is neither, or before 1970. */
bool hf_time_read(const char *text, int64_t *out_us);

/* Microseconds below a second as digits without trailing zeros; how many. out holds 8. */
int hf_time_fraction(int64_t us, char *out);

/* *sum = a + b; false (and *sum untouched) when it would overflow. */
bool hf_time_add(int64_t a, int64_t b, int64_t *sum);

#endif
