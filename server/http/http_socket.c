/* SPDX-License-Identifier: MIT */
/* Reading and writing of edge-triggered sockets, plain or by OpenSSL. `more` remembers that the
 * loop said there is something to read; a short read means that all was read. */
#include "server/http/http_socket.h"

#include "base/error.h"
#include "base/seams.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* OpenSSL reads and writes through a BIO of our own: it sends without SIGPIPE, and sees when a
 * socket was read empty, which saves a call. */

/* New keys, refused renegotiations and alerts that a connection may have after its handshake.
 * OpenSSL handles them within SSL_read for as long as more of them come, so one client could keep
 * the loop to itself. */
enum { TLS_EXTRAS_MAX = 64 };

/* ---- the BIO ---- */

static int bio_read(BIO *bio, char *out, size_t room, size_t *got)
{
    http_io *io = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (io->extras > TLS_EXTRAS_MAX)
        return 0;
    ssize_t count = recv(io->fd, out, room, 0);
    io->more = count > 0 && ((size_t)count == room || io->closed);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(bio);
    *got = count > 0 ? (size_t)count : 0;
    return count > 0;
}

static int bio_write(BIO *bio, const char *from, size_t size, size_t *taken)
{
    const http_io *io = BIO_get_data(bio);
    ssize_t count = send(io->fd, from, size, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(bio);
    *taken = count > 0 ? (size_t)count : 0;
    return count > 0;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* Made once, lives as long as the process. */
static BIO_METHOD *bio_method(void)
{
    static BIO_METHOD *method;
    if (method == NULL && (method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                                                 "holdfast socket")) != NULL) {
        BIO_meth_set_read_ex(method, bio_read);
        BIO_meth_set_write_ex(method, bio_write);
        BIO_meth_set_ctrl(method, bio_control);
    }
    return method;
}

/* ---- contexts ---- */

/* Passphrases are not asked for: a server starts without a person beside it. */
static int tls_no_passphrase(char *out, int size, int writing, void *context)
{
    (void)out, (void)size, (void)writing;
    *(bool *)context = true;
    return -1;
}

/* What OpenSSL says, in its own words. */
static const char *tls_own_words(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());
    return words == NULL ? "it can't be read" : words;
}

static hf_status tls_open_file(const char *what, const char *path, FILE **out, hf_error *err)
{
    *out = fopen(path, "re");
    if (*out != NULL)
        return HF_OK;
    return hf_fail(err, HF_INVALID, "The %s %.200s can't be read: %s.", what, path,
                   strerror(errno));
}

/* The certificate itself, then those that vouch for it. */
static hf_status tls_use_certificate(SSL_CTX *context, const char *path, hf_error *err)
{
    FILE *file;
    hf_status status = tls_open_file("certificate", path, &file, err);
    if (status != HF_OK)
        return status;
    fclose(file);
    if (SSL_CTX_use_certificate_chain_file(context, path) == 1)
        return HF_OK;
    return hf_fail(err, HF_INVALID,
                   "The file %.200s holds no certificate that can be used (%s); it must be PEM.",
                   path, tls_own_words());
}

static hf_status tls_use_key(SSL_CTX *context, const http_tls *files, hf_error *err)
{
    FILE *file;
    bool passphrase = false;
    hf_status status = tls_open_file("key", files->key, &file, err);
    if (status != HF_OK)
        return status;
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, tls_no_passphrase, &passphrase);
    fclose(file);
    if (key == NULL && passphrase)
        return hf_fail(err, HF_INVALID, "The key %.200s has a passphrase; give one without.",
                       files->key);
    if (key == NULL)
        return hf_fail(
            err, HF_INVALID,
            "The file %.200s holds no private key that can be read (%s); it must be PEM.",
            files->key, tls_own_words());
    bool fits =
        SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
    EVP_PKEY_free(key);
    if (fits)
        return HF_OK;
    return hf_fail(err, HF_INVALID, "The key %.200s does not belong to the certificate %.200s.",
                   files->key, files->certificate);
}

static int tls_choose_protocol(SSL *tls, const unsigned char **out, unsigned char *size,
                               const unsigned char *offered, unsigned offered_size, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)tls, (void)context;
    unsigned char *chosen;
    int met = SSL_select_next_proto(&chosen, size, ours, sizeof ours - 1, offered, offered_size);
    *out = chosen;
    return met == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void tls_count_extra(int sent, int version, int type, const void *bytes, size_t size,
                            SSL *tls, void *context)
{
    (void)sent, (void)version, (void)bytes, (void)size, (void)context;
    http_io *io = BIO_get_data(SSL_get_rbio(tls));
    if (io->established && (type == SSL3_RT_HANDSHAKE || type == SSL3_RT_ALERT))
        io->extras++;
}

/* False: this OpenSSL lacks something of it. */
static bool tls_set_up(SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    /* Of TLS 1.2 what is forward secret and AEAD; all suites of TLS 1.3 are. */
    bool good = SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
    /* The quick ones. Among OpenSSL's own choice are groups that take the server 100 ms for a
     * hello that costs its sender nothing (CVE-2002-20001). */
    good = good && SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1;
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    /* Who comes back does so by tickets; nothing is kept here. */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    /* One recv gets what is there, instead of one for each record's head and one for its body. */
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_alpn_select_cb(context, tls_choose_protocol, NULL);
    SSL_CTX_set_msg_callback(context, tls_count_extra);
    return good;
}

hf_status tls_context_new(const http_tls *files, SSL_CTX **out, hf_error *err)
{
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL)
        return hf_fail_memory(err);
    hf_status status = tls_set_up(context) ? HF_OK
                                           : hf_fail(err, HF_INTERNAL,
                                                     "OpenSSL lacks what TLS needs here (%s).",
                                                     tls_own_words());
    if (status == HF_OK)
        status = tls_use_certificate(context, files->certificate, err);
    if (status == HF_OK)
        status = tls_use_key(context, files, err);
    ERR_clear_error();
    if (status != HF_OK) {
        SSL_CTX_free(context);
        return status;
    }
    *out = context;
    return HF_OK;
}

void tls_context_free(SSL_CTX *context)
{
    SSL_CTX_free(context);
}

/* ---- what is questionable ---- */

enum {
    DAY_S = 86400,
    /* ... and less than a third of its time, for those that are renewed often */
    SOON_S = 14 * DAY_S,
};

/* Seconds from `from` to `to`. */
static int64_t tls_seconds(const ASN1_TIME *from, const ASN1_TIME *to)
{
    int days = 0, seconds = 0;
    return ASN1_TIME_diff(&days, &seconds, from, to) == 1 ? (int64_t)days * DAY_S + seconds : 0;
}

/* "2026-11-18 05:07:54 UTC" */
static const char *tls_date(const ASN1_TIME *time, char out[32])
{
    struct tm t = {0};
    if (ASN1_TIME_to_tm(time, &t) != 1 || strftime(out, 32, "%Y-%m-%d %H:%M:%S UTC", &t) == 0)
        snprintf(out, 32, "an unknown day");
    return out;
}

static void tls_check_time(const X509 *it, const char *path, const ASN1_TIME *now,
                           void (*tell)(void *context, const char *sentence), void *context)
{
    char sentence[512], date[32];
    const ASN1_TIME *from = X509_get0_notBefore(it), *to = X509_get0_notAfter(it);
    int64_t left_s = tls_seconds(now, to);
    if (tls_seconds(now, from) > 0)
        snprintf(sentence, sizeof sentence, "The certificate %.200s is not good before %s.", path,
                 tls_date(from, date));
    else if (left_s <= 0)
        snprintf(sentence, sizeof sentence,
                 "The certificate %.200s has expired: it was good until %s. Clients refuse it; "
                 "renew it.",
                 path, tls_date(to, date));
    else if (left_s < SOON_S && left_s < tls_seconds(from, to) / 3)
        snprintf(sentence, sizeof sentence, "The certificate %.200s expires on %s; renew it.", path,
                 tls_date(to, date));
    else
        return;
    tell(context, sentence);
}

/* All that the file holds: one that vouches for it may expire as well. */
static int64_t tls_check_certificates(const char *path,
                                      void (*tell)(void *context, const char *sentence),
                                      void *context)
{
    int64_t now_us = hf_seam.wall_us(), first_us = 0;
    ASN1_TIME *now = ASN1_TIME_set(NULL, (time_t)(now_us / 1000000));
    FILE *file = fopen(path, "re");
    for (X509 *it;
         now != NULL && file != NULL && (it = PEM_read_X509(file, NULL, NULL, NULL)) != NULL;) {
        tls_check_time(it, path, now, tell, context);
        int64_t left_s = tls_seconds(now, X509_get0_notAfter(it));
        int64_t ends_us = (now_us / 1000000 + left_s) * 1000000;
        first_us = first_us == 0 || ends_us < first_us ? ends_us : first_us;
        X509_free(it);
    }
    if (file != NULL)
        fclose(file);
    ASN1_TIME_free(now);
    ERR_clear_error();
    return first_us;
}

int64_t http_tls_check(const http_tls *files, void (*tell)(void *context, const char *sentence),
                       void *context)
{
    struct stat info;
    char sentence[512];
    int64_t first_us = tls_check_certificates(files->certificate, tell, context);
    if (stat(files->key, &info) != 0 || (info.st_mode & (S_IROTH | S_IWOTH)) == 0)
        return first_us;
    snprintf(sentence, sizeof sentence,
             "The key %.200s can be %s by everyone on this machine (mode %04o); take that right "
             "away: chmod "
             "o-rwx.",
             files->key, info.st_mode & S_IROTH ? "read" : "written",
             (unsigned)info.st_mode & 07777);
    tell(context, sentence);
    return first_us;
}

/* ---- a connection ---- */

bool io_begin(http_io *io)
{
    BIO_METHOD *method = bio_method();
    BIO *bio = method == NULL ? NULL : BIO_new(method);
    SSL *tls = bio == NULL ? NULL : SSL_new(io->context);
    if (tls == NULL) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, io);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls, bio, bio);
    SSL_set_accept_state(tls);
    io->tls = tls;
    SSL_CTX_free(io->context);
    io->context = NULL;
    return true;
}

/* What a call of OpenSSL came to that did not go through. */
static io_end tls_outcome(http_io *io, int result)
{
    int error = SSL_get_error(io->tls, result);
    ERR_clear_error();
    io->waits_for_write = error == SSL_ERROR_WANT_WRITE;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return IO_LATER;
    return error == SSL_ERROR_ZERO_RETURN ? IO_EOF : IO_BROKEN;
}

io_end io_handshake(http_io *io)
{
    ERR_clear_error();
    int result = SSL_do_handshake(io->tls);
    io->more |= result == 1;
    io->established = result == 1;
    return result == 1 ? IO_OK : tls_outcome(io, result);
}

static io_end tls_read(http_io *io, void *out, size_t room, size_t *got)
{
    ERR_clear_error();
    int result = SSL_read_ex(io->tls, out, room, got);
    if (result != 1) {
        io->more = false;
        return tls_outcome(io, result);
    }
    io->more |= SSL_has_pending(io->tls) == 1;
    return IO_OK;
}

static io_end tls_write(http_io *io, const void *from, size_t size, size_t *taken)
{
    ERR_clear_error();
    int result = SSL_write_ex(io->tls, from, size, taken);
    return result == 1 ? IO_OK : tls_outcome(io, result);
}

static void tls_finish(http_io *io)
{
    ERR_clear_error();
    if (SSL_is_init_finished(io->tls))
        SSL_shutdown(io->tls);
    ERR_clear_error();
}

/* ---- plain or TLS ---- */

void io_open(http_io *io, int fd, struct ssl_ctx_st *context)
{
    *io = (http_io){.fd = fd, .context = context};
    if (context != NULL)
        SSL_CTX_up_ref(context);
}

void io_close(http_io *io)
{
    SSL_free(io->tls);
    SSL_CTX_free(io->context);
    io->tls = NULL;
    io->context = NULL;
    close(io->fd);
    io->fd = -1;
}

static io_end tls_received(http_io *io, ssize_t got, size_t room, size_t *out)
{
    if (got < 0 && errno == EINTR)
        return IO_LATER;
    io->more = got > 0 && ((size_t)got == room || io->closed);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? IO_LATER : IO_BROKEN;
    *out = (size_t)got;
    return got == 0 ? IO_EOF : IO_OK;
}

io_end io_read(http_io *io, void *out, size_t room, size_t *got)
{
    io->waits_for_write = false;
    if (io->tls != NULL)
        return tls_read(io, out, room, got);
    return tls_received(io, recv(io->fd, out, room, 0), room, got);
}

io_end io_write(http_io *io, const void *from, size_t size, size_t *taken)
{
    *taken = 0;
    if (io->tls != NULL)
        return tls_write(io, from, size, taken);
    ssize_t sent = send(io->fd, from, size, MSG_NOSIGNAL);
    if (sent >= 0) {
        *taken = (size_t)sent;
        return IO_OK;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? IO_LATER : IO_BROKEN;
}

void io_finish(http_io *io)
{
    if (io->tls != NULL)
        tls_finish(io);
    shutdown(io->fd, SHUT_WR);
}

io_end io_drain(http_io *io, void *scratch, size_t room, size_t *got)
{
    return tls_received(io, recv(io->fd, scratch, room, 0), room, got);
}

bool io_left(const http_io *io, bool half)
{
    struct pollfd it = {.fd = io->fd, .events = half ? POLLRDHUP : 0};
    return poll(&it, 1, 0) == 1 && (it.revents & (POLLHUP | POLLERR | POLLNVAL | POLLRDHUP)) != 0;
}
