/* SPDX-License-Identifier: MIT */
/* What serve prints with --hints when it is ready: where it is, where its token is, and a few lines
 * to try. */
#ifndef HF_CLI_HINTS_H
#define HF_CLI_HINTS_H

#include "server/server.h"

/* To stdout. The token itself only where the settings ask for it and stdout is a terminal. */
void cli_print_hints(const settings *s, const server_ready *what);

#endif
