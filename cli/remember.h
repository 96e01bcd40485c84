/* SPDX-License-Identifier: MIT */
/* The sessions that were opened here, one for each store, so that the next command finds its own:
 * the file `sessions` in the state directory, mode 0600, a line `STORE<TAB>ID.KEY` each. */
#ifndef HF_CLI_REMEMBER_H
#define HF_CLI_REMEMBER_H

#include <holdfast/names.h>

#define CLI_SESSION_SIZE (HF_SESSION_ID_MAX + 1 + HF_KEY_SIZE) /* "ID.KEY" */

/* `store` is a name as cli_store_name makes it. */

/* The session remembered for the store. HF_NOT_FOUND: there is none. HF_DENIED: others can read the
 * file. */
hf_status cli_remembered(const char *store, char out[CLI_SESSION_SIZE], hf_error *err);

/* Remembers it in place of the one before. */
hf_status cli_remember(const char *store, const char *session, hf_error *err);

/* Forgets the store's session if its id is this one. */
hf_status cli_forget(const char *store, const char *id, hf_error *err);

#endif
