/* SPDX-License-Identifier: MIT */
/* Each source is read whole before the next; the first that fails ends it. */
#include "cli/advise_sources.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/call.h"
#include "cli/documents.h"

#include <errno.h>
#include <fcntl.h>
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
            return hf_fail(err, HF_INVALID, "There are more than %d of --%s.", ADVISE_PATTERNS_MAX, option);
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
        return hf_fail(err, HF_INVALID,
                       "--open and --save say what to look for in a log; give --access-log FILE too.");
    if (path == NULL)
        return HF_OK;
    out->any = true;
    hf_status status = sources_patterns(call, "open", log.open, &log.open_count, err);
    if (status == HF_OK)
        status = sources_patterns(call, "save", log.save, &log.save_count, err);
    if (status == HF_OK && (log.open_count == 0 || log.save_count == 0))
        status = hf_fail(
            err, HF_INVALID,
            "--access-log needs --open and --save, as in --open \"GET /policies/{id}/edit\" --save \"PUT "
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

hf_status advise_sources_read(const cli_call *call, advise_sources *out, hf_error *err)
{
    hf_status status = sources_answers(call, out, err);
    if (status == HF_OK)
        status = sources_log(call, out, err);
    return status;
}

void advise_sources_done(advise_sources *sources)
{
    advise_edits_free(sources->edits);
    sources->edits = NULL;
}
