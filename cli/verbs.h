/* SPDX-License-Identifier: MIT */
/* The verbs, one file each (those of a noun share one); main.c has them all in one table. */
#ifndef HF_CLI_VERBS_H
#define HF_CLI_VERBS_H

#include "cli/options.h"

extern const cli_verb cli_session_open, cli_session_beat, cli_session_close, cli_session_list;
extern const cli_verb cli_acquire, cli_release, cli_renew, cli_downgrade, cli_holds;
extern const cli_verb cli_who, cli_list, cli_request, cli_hand_over, cli_decline, cli_force_release;
extern const cli_verb cli_version, cli_save;
extern const cli_verb cli_type_set, cli_type_get, cli_type_list;
extern const cli_verb cli_token_create, cli_token_list, cli_token_revoke;
extern const cli_verb cli_sweep, cli_events, cli_watch, cli_top, cli_backup, cli_restore, cli_help;
extern const cli_verb cli_run;
extern const cli_verb cli_install, cli_uninstall, cli_serve, cli_advise, cli_plan, cli_audit;
extern const cli_verb cli_guard_add, cli_guard_show, cli_guard_mode, cli_guard_report,
    cli_guard_remove, cli_probe;

/* The table in main.c, ended by NULL. */
extern const cli_verb *const cli_verbs[];

/* The verb with that name, "who" or "session open"; NULL when there is none. */
const cli_verb *cli_verb_find(const char *name);

/* HF_INVALID: there is no such verb; the sentence names one that may have been meant. */
hf_status cli_verb_refuse(const char *name, hf_error *err);

/* Is it the first word of verbs that have two? */
bool cli_verb_is_noun(const char *word);

/* What the program does, in a screen; help of a verb, or of all that begin with the same noun. */
void cli_print_overview(void);
void cli_print_verb_help(const cli_verb *verb);
void cli_print_noun_help(const char *noun);

#endif
