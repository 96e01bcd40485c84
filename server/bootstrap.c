/* SPDX-License-Identifier: MIT */
/* Making the first token. The file appears under its name when it is complete (written beside, then
 * linked), so that a second server that starts at the same time reads all of it or none. */
#include "server/bootstrap.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/seams.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "admin-token"
#define ACTOR     "holdfast serve"

/* ---- the folder ---- */

hf_status bootstrap_folder(const char *data, hf_error *err)
{
    int why = hf_folder_make(data);
    if (why == EEXIST)
        return hf_fail(err, HF_UNAVAILABLE, "%s is in the way: it should be the data directory.",
                       data);
    return why == 0 ? HF_OK
                    : hf_fail(err, HF_UNAVAILABLE, "The data directory %s could not be made: %s.",
                              data, strerror(why));
}

/* ---- the file ---- */

static hf_status bootstrap_fail_file(const char *path, const char *what, hf_error *err)
{
    return hf_fail(err, HF_UNAVAILABLE, "%.512s could not be %s: %s.", path, what, strerror(errno));
}

static bool bootstrap_private_file(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && (file.st_mode & 077) == 0 &&
           (file.st_uid == geteuid() || geteuid() == 0);
}

hf_status bootstrap_secret(const char *path, hf_token_key *out, hf_error *err)
{
    char text[HF_TOKEN_SECRET_SIZE + 1] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? hf_fail(err, HF_NOT_FOUND, "%.512s is not there.", path)
                               : bootstrap_fail_file(path, "opened", err);
    bool ours = bootstrap_private_file(fd);
    ssize_t size = ours ? read(fd, text, sizeof text) : 0;
    close(fd);
    if (!ours)
        return hf_fail(err, HF_DENIED,
                       "%.512s could be read or written by others; give it mode 0600 and its "
                       "owner, or remove it.",
                       path);
    bool whole = size == HF_TOKEN_SECRET + 1 && text[HF_TOKEN_SECRET] == '\n';
    text[HF_TOKEN_SECRET] = '\0';
    hf_status status = whole ? hf_token_read(text, out, NULL) : HF_INVALID;
    hf_secret_wipe(text, sizeof text);
    if (status == HF_INVALID)
        return hf_fail(err, HF_INVALID, "%.512s holds no token; remove it and start again.", path);
    return status == HF_OK ? HF_OK : hf_fail_memory(err);
}

static hf_status bootstrap_sync_folder(const char *data, hf_error *err)
{
    int fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        hf_status status = bootstrap_fail_file(data, "synced", err);
        if (fd >= 0)
            close(fd);
        return status;
    }
    close(fd);
    return HF_OK;
}

static hf_status bootstrap_write_secret(const char *path, const char *secret, hf_error *err)
{
    char text[HF_TOKEN_SECRET_SIZE + 1];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return bootstrap_fail_file(path, "made", err);
    int size = snprintf(text, sizeof text, "%s\n", secret);
    bool done = fchmod(fd, 0600) == 0 && write(fd, text, (size_t)size) == size && fsync(fd) == 0;
    hf_status status = done ? HF_OK : bootstrap_fail_file(path, "written", err);
    close(fd);
    hf_secret_wipe(text, sizeof text);
    return status;
}

/* HF_LOCKED: somebody else has just made it. */
static hf_status bootstrap_make_file(const char *data, const char *path, const hf_token_key *key,
                                     hf_error *err)
{
    char beside[PATH_MAX];
    snprintf(beside, sizeof beside, "%s/" FILE_NAME ".%.8s", data, key->id);
    hf_status status = bootstrap_write_secret(beside, key->secret, err);
    if (status == HF_OK && link(beside, path) != 0)
        status = errno == EEXIST ? HF_LOCKED : bootstrap_fail_file(path, "made", err);
    unlink(beside);
    return status == HF_OK ? bootstrap_sync_folder(data, err) : status;
}

/* ---- the store ---- */

/* Runs a batch of one, again with the same request id when it is not sure. */
static hf_status bootstrap_ask(hf_store *store, hf_batch *batch, hf_error *err)
{
    hf_status status = hf_store_execute(store, batch, err);
    if (status == HF_UNSURE || status == HF_RETRY)
        status = hf_store_execute(store, batch, err);
    if (status != HF_OK)
        return status;
    const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
    const char *message =
        answer->message != NULL ? answer->message : hf_status_sentence(answer->status);
    return answer->status == HF_OK ? HF_OK : hf_fail(err, answer->status, "%s", message);
}

static hf_status bootstrap_any_tokens(hf_store *store, hf_batch *batch, bool *out, hf_error *err)
{
    hf_batch_clear(batch);
    hf_batch_add(batch, HF_OP_TOKENS)->limit = 1;
    hf_status status = bootstrap_ask(store, batch, err);
    if (status == HF_OK)
        *out = hf_batch_op(batch, 0)->answer.tokens_count > 0;
    return status;
}

/* HF_NOT_FOUND: the store does not know it. HF_EXPIRED: it was revoked, or is past its end. */
static hf_status bootstrap_find_token(hf_store *store, hf_batch *batch, const hf_token_key *key,
                                      hf_error *err)
{
    hf_batch_clear(batch);
    hf_batch_add(batch, HF_OP_TOKEN_FIND)->sha256 = key->sha256;
    hf_status status = bootstrap_ask(store, batch, err);
    if (status != HF_OK)
        return status;
    const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
    return hf_token_lives(&answer->tokens[0], answer->now_us) ? HF_OK : HF_EXPIRED;
}

/* The request id is drawn from the token's: the same token asked for again is the same request. */
static hf_status bootstrap_create_token(hf_store *store, hf_batch *batch, const hf_token_key *key,
                                        hf_error *err)
{
    hf_batch_clear(batch);
    hf_op *op = hf_batch_add(batch, HF_OP_TOKEN_CREATE);
    op->token = key->id;
    op->sha256 = key->sha256;
    op->name = "first start";
    op->roles = "use observe manage admin";
    op->actor = ACTOR;
    op->request_id = key->id;
    hf_status status = bootstrap_ask(store, batch, err);
    if (status == HF_INVALID) /* another server may have made it meanwhile */
        return bootstrap_find_token(store, batch, key, NULL) == HF_OK ? HF_OK : status;
    return status;
}

/* ---- both ---- */

/* A store without tokens, and no file: a new secret. Once the file is there it stays, whatever
 * comes: another server may have taken it up already, and the next start does. */
static hf_status bootstrap_begin(hf_store *store, hf_batch *batch, const char *data,
                                 bootstrap_token *out, hf_error *err)
{
    hf_token_key key;
    hf_status status = hf_token_new(&key, err);
    if (status != HF_OK)
        return status;
    status = bootstrap_make_file(data, out->path, &key, err);
    if (status == HF_OK)
        status = bootstrap_create_token(store, batch, &key, err);
    hf_token_clear(&key);
    out->outcome = FIRST_MADE;
    return status;
}

/* A store without tokens, but a file: what was begun before a crash, or for a store that is gone,
 * goes on with the same secret. */
static hf_status bootstrap_complete(hf_store *store, hf_batch *batch, bootstrap_token *out,
                                    hf_token_key *key, hf_error *err)
{
    hf_token_key drawn;
    hf_status status = hf_token_new(&drawn, err);
    if (status != HF_OK)
        return status;
    memcpy(key->id, drawn.id, sizeof key->id);
    hf_token_clear(&drawn);
    out->outcome = FIRST_MADE;
    return bootstrap_create_token(store, batch, key, err);
}

/* A store with tokens, and a file. */
static hf_status bootstrap_compare(hf_store *store, hf_batch *batch, bootstrap_token *out,
                                   const hf_token_key *key, hf_error *err)
{
    hf_status status = bootstrap_find_token(store, batch, key, err);
    out->outcome = status == HF_OK ? FIRST_KNOWN : FIRST_USELESS;
    if (status != HF_NOT_FOUND && status != HF_EXPIRED)
        return status;
    snprintf(out->why, sizeof out->why,
             "The token in %.512s %s; remove the file, and if you need a token, make one with "
             "'holdfast token "
             "create --store URL' and the URL that this server has as its store.",
             out->path,
             status == HF_EXPIRED ? "has been revoked or is past its end"
                                  : "is not one of this store's");
    return HF_OK;
}

static hf_status bootstrap_ready(hf_store *store, hf_batch *batch, const char *data,
                                 bootstrap_token *out, hf_error *err)
{
    bool any = false;
    hf_token_key key;
    hf_status status = bootstrap_any_tokens(store, batch, &any, err);
    if (status != HF_OK)
        return status;
    status = bootstrap_secret(out->path, &key, err);
    if (status == HF_NOT_FOUND)
        return any ? HF_OK : bootstrap_begin(store, batch, data, out, err);
    if (status == HF_INVALID && any) {
        out->outcome = FIRST_USELESS;
        snprintf(out->why, sizeof out->why, "%.512s holds no token; remove it.", out->path);
        return HF_OK;
    }
    if (status != HF_OK)
        return status;
    status = any ? bootstrap_compare(store, batch, out, &key, err)
                 : bootstrap_complete(store, batch, out, &key, err);
    hf_token_clear(&key);
    return status;
}

hf_status bootstrap_token_ready(hf_store *store, const char *data, bootstrap_token *out,
                                hf_error *err)
{
    hf_batch *batch = NULL;
    *out = (bootstrap_token){0};
    if (snprintf(out->path, sizeof out->path, "%s/" FILE_NAME, data) >= (int)sizeof out->path - 16)
        return hf_fail(err, HF_UNAVAILABLE, "The data directory has too long a name.");
    hf_status status = hf_batch_new(1, &batch, err);
    if (status == HF_OK)
        status = bootstrap_ready(store, batch, data, out, err);
    /* a server that starts at the same time was quicker: its file is there now */
    if (status == HF_LOCKED)
        status = bootstrap_ready(store, batch, data, out, err);
    hf_batch_free(batch);
    return status;
}
