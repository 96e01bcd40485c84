/* SPDX-License-Identifier: MIT */
/* Parsing what people type: resources, durations, a session's credentials. A refusal says what is
 * wrong. */
#ifndef HOLDFAST_NAMES_H
#define HOLDFAST_NAMES_H

#include <holdfast/status.h>

HF_BEGIN_DECLS

/* A session's public id and secret key, as presented with every op. Holds the key's hash so that it
 * is computed once. Treat it as a secret: clear it with hf_credentials_clear. */
typedef struct hf_credentials {
    char id[HF_SESSION_ID_SIZE];
    char key[HF_KEY_SIZE];
    unsigned char key_sha256[32];
} hf_credentials;

/* Splits "type/id" at the first slash and checks both parts. HF_INVALID names what is wrong. */
HF_API HF_MUST_USE hf_status hf_resource_parse(const char *text, hf_resource *out, hf_error *err);

/* "500ms", "30s", "5m", "2h", "7d" to microseconds, within HF_DURATION_MIN_US and
 * HF_DURATION_MAX_US. */
HF_API HF_MUST_USE hf_status hf_duration_parse(const char *text, int64_t *out_us, hf_error *err);

/* Sets id and key (hex, HF_KEY_MIN to HF_KEY_MAX digits) and hashes the key. */
HF_API HF_MUST_USE hf_status hf_credentials_set(hf_credentials *out, const char *id,
                                                const char *key, hf_error *err);

/* Reads "ID.KEY". No message repeats the key. */
HF_API HF_MUST_USE hf_status hf_credentials_parse(const char *text, hf_credentials *out,
                                                  hf_error *err);

/* Draws a new id and key from the system's randomness. key may be NULL, or one the caller supplies.
 * */
HF_API HF_MUST_USE hf_status hf_credentials_new(const char *key, hf_credentials *out,
                                                hf_error *err);

HF_API void hf_credentials_clear(hf_credentials *credentials);

/* RFC 3339 in UTC with microseconds: "2026-11-15T10:47:03.123456Z". out holds HF_TIME_SIZE bytes.
 * */
#define HF_TIME_SIZE 32
HF_API void hf_time_format(int64_t time_us, char *out);

HF_END_DECLS

#endif
