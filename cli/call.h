/* SPDX-License-Identifier: MIT */
/* One call of the program: its arguments, the store and the session they name, and the ops it asks.
 * Most verbs are one op: cli_session_op, cli_ask, print. */
#ifndef HF_CLI_CALL_H
#define HF_CLI_CALL_H

#include "cli/options.h"
#include "cli/paths.h"
#include "cli/remember.h"

#define CLI_EXIT_FINDINGS 9 /* of a review, a probe, an audit */

/* Where the session came from. */
typedef enum cli_origin {
    CLI_NO_SESSION,
    CLI_FROM_OPTION,
    CLI_FROM_ENVIRONMENT,
    CLI_FROM_MEMORY
} cli_origin;

struct cli_call {
    cli_arguments arguments;
    bool json;
    bool in_list; /* what is printed is a list in JSON that has no end yet */
    /* the store's name, as cli_store_name makes it; "" until it is open */
    char store[CLI_URL_SIZE];
    hf_manager *manager;
    cli_origin origin;
    /* none was found, and nothing has been asked since: a refusal is about that */
    bool sessionless;
    char session[CLI_SESSION_SIZE]; /* "ID.KEY" */
    hf_credentials credentials;     /* the same, parsed */
    hf_resource *resources;         /* the operands, parsed */
    hf_batch *batch;
    char request_id[HF_REQUEST_ID_SIZE];
    hf_result *result; /* rows that are to live as long as the call */
    /* Who stands in the way, among the rows of the batch or the result. Empty: a refusal names
     * err->holder alone. */
    const hf_lock *holders;
    size_t holders_count;
    int exit_code;          /* instead of the status' own; 0: that */
    hf_conflict *conflicts; /* of a save that was refused; allocated */
    size_t conflicts_count;
};

/* Releases all that the call holds; the session's secret is wiped. */
void cli_call_done(cli_call *call);

/* One text as a resource. A session or a URL with a password that was pasted there by mistake is
 * refused and not repeated in the sentence. */
hf_status cli_resource(const char *text, hf_resource *out, hf_error *err);

/* The operands as resources, in the order given, each named once: call->resources. */
hf_status cli_resources(cli_call *call, hf_error *err);

/* The store's URL with the token of --token-file, where one is given: *out, for which there may be
 * room in `room`. It may hold secrets. */
hf_status cli_store_url(const cli_call *call, char room[CLI_URL_SIZE], const char **out,
                        hf_error *err);

/* Opens the store: --store, HOLDFAST_STORE, or the default one. */
hf_status cli_open(cli_call *call, hf_error *err);

/* The same, but makes no SQLite store where there is none: HF_NOT_FOUND, and call->store names it.
 * */
hf_status cli_open_existing(cli_call *call, hf_error *err);

/* Finds the session: --session, HOLDFAST_SESSION, or the one remembered for the store, which must
 * be open. */
hf_status cli_session(cli_call *call, hf_error *err);

/* The one remembered, whatever else is given: call->session. */
hf_status cli_session_remembered(cli_call *call, hf_error *err);

/* Readies a batch for `count` ops, with the store open. */
hf_status cli_batch(cli_call *call, size_t count, hf_error *err);

/* Adds an op with what the call knows: the session, if one was found, and the request id. */
hf_op *cli_op(cli_call *call, hf_op_kind kind);

/* The usual op: store, session, the first operand as the resource, --fence where it was given. */
hf_status cli_session_op(cli_call *call, hf_op_kind kind, hf_op **out, hf_error *err);

/* The session of --to, which must be given: its public id, also where its key came along. */
enum { CLI_TARGET_SIZE = HF_SESSION_ID_SIZE + 1 }; /* so that one too long stays too long */
hf_status cli_target(const cli_call *call, char out[CLI_TARGET_SIZE], hf_error *err);

/* Runs the batch; the ops have their answers. */
hf_status cli_execute(cli_call *call, hf_error *err);

/* Runs a batch of one and answers as its op does. */
hf_status cli_ask(cli_call *call, hf_error *err);

/* The same for an op that answers one lock, which is printed: "WORD policy/12345 (...)", or in
 * JSON. */
hf_status cli_ask_lock(cli_call *call, const char *word, hf_error *err);

/* With --json {"NAME":[...]}, item by item. After a refusal it is left to cli_print_refusal to end
 * it. */
void cli_list_begin(cli_call *call, const char *name);
void cli_list_end(cli_call *call, hf_status status);

/* Fills err from an op that was refused. Returns the op's status. */
hf_status cli_op_error(const hf_op *op, hf_error *err);

/* Tells about a failure: the sentence on stderr, or with --json the refusal on stdout, in the
 * object of the list that it broke off. */
void cli_print_refusal(const cli_call *call, hf_status status, hf_error *err);

/* The name of the operating system's user. */
void cli_system_user(char out[HF_TEXT_SIZE]);

#endif
