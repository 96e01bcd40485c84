/* SPDX-License-Identifier: MIT */
/* Each source is read whole before the next; the first that fails ends it. */
#include "cli/advise_sources.h"

#include "advise/database.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/call.h"
#include "cli/documents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hf_status sources_answers(const cli_call *call, advise_sources *out, hf_error *err)
{
    const char *path = cli_value(&call->arguments, "answers");
    hf_cleanup(hf_freep) char *text = NULL;
    size_t size = 0;
    if (path == NULL)
        return HF_OK;
    out->any = true;
    hf_status status = cli_document_read(path, &text, &size, err);
    return status != HF_OK ? status : advise_answers_parse(text, size, &out->answers, err);
}

/* ---- the log ---- */

static hf_status sources_patterns(const cli_call *call, const char *option, advise_pattern *out,
                                  size_t *count, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, option) != 0)
            continue;
        if (*count == ADVISE_PATTERNS_MAX)
            return hf_fail(err, HF_INVALID, "There are more than %d of --%s.", ADVISE_PATTERNS_MAX,
                           option);
        status = advise_pattern_parse(option, arguments->given[i].value, &out[(*count)++], err);
    }
    return status;
}

static hf_status sources_feed(int fd, const char *path, advise_log *log, hf_error *err)
{
    enum { PIECE = 1 << 20 };
    hf_cleanup(hf_freep) char *piece = hf_alloc(PIECE);
    hf_status status = piece == NULL ? hf_fail_memory(err) : HF_OK;
    while (status == HF_OK) {
        ssize_t got = read(fd, piece, PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hf_fail(err, HF_UNAVAILABLE, "%s can't be read: %s.", path, strerror(errno));
        if (got == 0)
            return advise_log_end(log, err);
        status = advise_log_feed(log, piece, (size_t)got, err);
    }
    return status;
}

static hf_status sources_read_log(const char *path, advise_log *log, hf_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hf_fail(err, HF_UNAVAILABLE, "%s can't be read: %s.", path, strerror(errno));
    hf_status status = sources_feed(fd, standard ? "Standard input" : path, log, err);
    if (!standard)
        close(fd);
    return status;
}

static hf_status sources_log(const cli_call *call, advise_sources *out, hf_error *err)
{
    const char *path = cli_value(&call->arguments, "access-log");
    advise_log log = {0};
    if (path == NULL && (cli_has(&call->arguments, "open") || cli_has(&call->arguments, "save")))
        return hf_fail(
            err, HF_INVALID,
            "--open and --save say what to look for in a log; give --access-log FILE too.");
    if (path == NULL)
        return HF_OK;
    out->any = true;
    hf_status status = sources_patterns(call, "open", log.open, &log.open_count, err);
    if (status == HF_OK)
        status = sources_patterns(call, "save", log.save, &log.save_count, err);
    if (status == HF_OK && (log.open_count == 0 || log.save_count == 0))
        status = hf_fail(err, HF_INVALID,
                         "--access-log needs --open and --save, as in --open \"GET "
                         "/policies/{id}/edit\" --save \"PUT "
                         "/policies/{id}\".");
    if (status == HF_OK && (log.edits = out->edits = advise_edits_new()) == NULL)
        status = hf_fail_memory(err);
    if (status == HF_OK)
        status = sources_read_log(path, &log, err);
    if (status == HF_OK)
        status = advise_edits_measure(log.edits, &out->answers, err);
    out->log_lines = log.lines;
    out->log_skipped = log.skipped;
    advise_log_done(&log);
    return status;
}

/* ---- the database ---- */

/* The entity as an identifier: by the answers, or the one given. HF_INVALID (with `option` in
 * the sentence): there is none. */
static hf_status sources_entity(const advise_sources *sources, const char *entity,
                                const char *option, char *out, hf_error *err)
{
    if (sources->answers.entities.count > 0)
        entity = sources->answers.entities.items[0];
    if (entity == NULL)
        return hf_fail(err, HF_INVALID, "--%s needs to know what is edited; name it: --table NAME.",
                       option);
    advise_identifier(entity, out);
    return HF_OK;
}

static hf_status sources_database(const cli_call *call, const char *entity, advise_sources *out,
                                  hf_error *err)
{
    const char *url = cli_value(&call->arguments, "db"),
               *table = cli_value(&call->arguments, "table");
    char name[ADVISE_NAME_SIZE];
    if (url == NULL)
        return HF_OK;
    out->any = true;
    hf_status status = table != NULL ? HF_OK : sources_entity(out, entity, "db", name, err);
    return status != HF_OK ? status
                           : advise_database_measure(url, table != NULL ? table : name,
                                                     &out->answers, &out->notes, err);
}

/* ---- the metrics ---- */

/* The value of the line that begins with `what`; below 0: there is none. */
static double sources_metric(const char *text, const char *what)
{
    size_t size = strlen(what);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, what, size) == 0)
            return strtod(line + size, NULL);
    return -1;
}

static hf_status sources_refusals(const char *text, const char *type, double *out, hf_error *err)
{
    char line[128];
    double started = sources_metric(text, "process_start_time_seconds ");
    double seconds = (double)hf_seam.wall_us() / 1e6 - started;
    snprintf(line, sizeof line, "holdfast_refusals_total{type=\"%s\"} ", type);
    double refused = sources_metric(text, line);
    if (started < 0)
        return hf_fail(
            err, HF_NOT_FOUND,
            "The metrics do not say when the server started; is it a holdfast server's?");
    if (seconds < 3600)
        return hf_fail(err, HF_NOT_FOUND,
                       "The server has counted for less than an hour; ask again when it has "
                       "counted for a day or more.");
    if (refused < 0)
        return hf_fail(err, HF_NOT_FOUND,
                       "The server's metrics do not count the refusals of %s separately: types get "
                       "a label while locks of them are held, most used first. Try again while "
                       "some are held, or name another type with --table.",
                       type);
    *out = refused / (seconds / 86400);
    return HF_OK;
}

static hf_status sources_metrics(const cli_call *call, const char *entity, advise_sources *out,
                                 hf_error *err)
{
    const char *url = cli_value(&call->arguments, "metrics"),
               *file = cli_value(&call->arguments, "token-file");
    char type[ADVISE_NAME_SIZE], whole[CLI_URL_SIZE];
    hf_store *store = NULL;
    char *text = NULL;
    out->refusals = -1;
    if (url == NULL)
        return HF_OK;
    out->any = true;
    hf_status status = sources_entity(out, entity, "metrics", type, err);
    if (status == HF_OK && !cli_is_server(url))
        status =
            hf_fail(err, HF_INVALID,
                    "--metrics is the URL of a holdfast server, as in https://locks.example:7420.");
    if (status == HF_OK && file != NULL) {
        status = cli_url_with_token(url, file, whole, err);
        url = whole;
    }
    if (status == HF_OK)
        status = hf_store_open_existing(url, &store, err);
    if (status == HF_OK)
        status = hf_store_metrics(store, &text, err);
    if (status == HF_OK)
        status = sources_refusals(text, type, &out->refusals, err);
    hf_json_free(text);
    hf_store_close(store);
    return status;
}

hf_status advise_sources_read(const cli_call *call, const char *entity, advise_sources *out,
                              hf_error *err)
{
    const char *table = cli_value(&call->arguments, "table");
    hf_status status = sources_answers(call, out, err);
    if (status == HF_OK)
        status = sources_log(call, out, err);
    if (status == HF_OK)
        status = sources_database(call, table != NULL ? table : entity, out, err);
    if (status == HF_OK)
        status = sources_metrics(call, table != NULL ? table : entity, out, err);
    return status;
}

void advise_sources_done(advise_sources *sources)
{
    advise_edits_free(sources->edits);
    sources->edits = NULL;
}
