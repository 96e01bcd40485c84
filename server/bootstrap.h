/* SPDX-License-Identifier: MIT */
/* The first start: a store without any token gets one that may do everything, and its secret goes
 * into the file `admin-token` of the data directory, which its owner alone can read.
 *
 * The file comes first, whole and synced, then the row: after a crash or a failure in between the
 * next start finds a file that the store does not know and completes what was begun, with the same
 * secret. So there is never a row whose secret nobody has. */
#ifndef HF_SERVER_BOOTSTRAP_H
#define HF_SERVER_BOOTSTRAP_H

#include <holdfast/store.h>
#include <linux/limits.h>

typedef enum bootstrap_outcome {
    FIRST_NOTHING, /* the store has tokens, and there is no file */
    FIRST_MADE,    /* the token was made now */
    FIRST_KNOWN,   /* the file holds a token that lives */
    /* the store has tokens, but that of the file is not among them or has ended; `why` says what to
     * do */
    FIRST_USELESS,
} bootstrap_outcome;

typedef struct bootstrap_token {
    bootstrap_outcome outcome;
    char path[PATH_MAX]; /* of the file, whether there or not */
    char why[HF_MESSAGE_SIZE];
} bootstrap_token;

/* Makes the data directory, with mode 0700, and those above it. */
hf_status bootstrap_folder(const char *data, hf_error *err);

/* HF_DENIED: others may read the file. HF_INVALID: it holds no token, and the store has none. */
hf_status bootstrap_token_ready(hf_store *store, const char *data, bootstrap_token *out,
                                hf_error *err);

/* The secret in the file. Clear it with hf_token_clear. */
hf_status bootstrap_secret(const char *path, hf_token_key *out, hf_error *err);

#endif
