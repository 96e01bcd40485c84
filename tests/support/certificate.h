/* SPDX-License-Identifier: MIT */
/* Certificates for tests of TLS: signed by themselves, so that each is its own authority. */
#ifndef HF_TESTS_SUPPORT_CERTIFICATE_H
#define HF_TESTS_SUPPORT_CERTIFICATE_H

/* Writes a certificate for that name, and its key, as PEM files. subject: "DNS:locks.example" or
 * "IP:127.0.0.1". It is good from `days` ago (at least 1) until `days` from now; with a negative
 * number it has been out of date for so long. */
void certificate_write(const char *subject, int days, const char *certificate_path,
                       const char *key_path);

#endif
