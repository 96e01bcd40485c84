/* SPDX-License-Identifier: MIT */
/* Where the program keeps things: the data directory with the default store, the state directory
 * with the remembered sessions, and what a store is called in messages and in that memory. */
#ifndef HF_CLI_PATHS_H
#define HF_CLI_PATHS_H

#include <holdfast/status.h>
#include <linux/limits.h>

#define CLI_URL_SIZE (HF_URL_MAX + 1)

typedef enum cli_folder {
    CLI_DATA, /* $HOLDFAST_DATA, else $XDG_DATA_HOME/holdfast, else ~/.local/share/holdfast */
    CLI_STATE /* $HOLDFAST_STATE, else $XDG_STATE_HOME/holdfast, else ~/.local/state/holdfast */
} cli_folder;

/* The folder's path; made with mode 0700 when it is missing and `make` asks for it. */
hf_status cli_folder_path(cli_folder folder, bool make, char out[PATH_MAX], hf_error *err);

/* The store used when none is named: holdfast.db in the data directory. */
hf_status cli_default_store(char out[CLI_URL_SIZE], hf_error *err);

/* Is it a server's? */
bool cli_is_server(const char *url);

/* Warns that HOLDFAST_TOKEN is about to go to another machine in plain text, if it is. */
void cli_warn_plain(const char *url);

/* The URL of a server with token_file=FILE in it. HF_INVALID: it is another store's. */
hf_status cli_url_with_token(const char *url, const char *file, char out[CLI_URL_SIZE],
                             hf_error *err);

/* One name for one store, however it was written, without a password or where a token is: a SQLite
 * path becomes absolute. */
void cli_store_name(const char *url, char out[CLI_URL_SIZE]);

#endif
