/* SPDX-License-Identifier: MIT */
/* Certificates for tests; see certificate.h. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <support/certificate.h>
#include <support/check.h>

enum { DAY_SECONDS = 86400 };

static void set_extension(X509 *it, int which, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, it, it, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, which, value);
    expect_true(extension != NULL && X509_add_ext(it, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *sign(EVP_PKEY *key, const char *subject, int days)
{
    X509 *it = X509_new();
    int past = days > 0 ? days : 2 - days;
    X509_set_version(it, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(it), 1);
    X509_gmtime_adj(X509_getm_notBefore(it), -(long)past * DAY_SECONDS);
    X509_gmtime_adj(X509_getm_notAfter(it), (long)days * DAY_SECONDS);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(it), "CN", MBSTRING_ASC,
                               (const unsigned char *)"holdfast test", -1, -1, 0);
    X509_set_issuer_name(it, X509_get_subject_name(it));
    X509_set_pubkey(it, key);
    set_extension(it, NID_basic_constraints, "critical,CA:TRUE");
    set_extension(it, NID_subject_alt_name, subject);
    expect_true(X509_sign(it, key, EVP_sha256()) > 0);
    return it;
}

void certificate_write(const char *subject, int days, const char *certificate_path,
                       const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *it = sign(key, subject, days);
    FILE *out = fopen(certificate_path, "w");
    expect_true(out != NULL && PEM_write_X509(out, it) == 1 && fclose(out) == 0);
    out = fopen(key_path, "w");
    expect_true(out != NULL && PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1 &&
                fclose(out) == 0);
    X509_free(it);
    EVP_PKEY_free(key);
}
