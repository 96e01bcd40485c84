/* SPDX-License-Identifier: MIT */
/* The questions are the table's (advise/answers.h); here is only how they are asked. */
#include "cli/advise_interview.h"

#include "base/buffer.h"
#include "base/error.h"

#include <string.h>
#include <unistd.h>

enum { INTERVIEW_LINE = 1024, INTERVIEW_WIDTH = 78 };

/* Prints text broken at blanks, each line after two of them. */
static void interview_wrap(const char *text, FILE *out)
{
    const char *before = " ";
    size_t column = 1;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column > 1 && column + 1 + word > INTERVIEW_WIDTH) {
            before = "\n ";
            column = 1;
        }
        fprintf(out, "%s %.*s", before, (int)word, text);
        before = "";
        column += 1 + word;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

/* Does it matter, by the answers so far? */
static bool interview_asks(const advise_answers *answers, advise_id id)
{
    const double *n = answers->numbers;
    bool edit = n[ADVISE_WORK] == ADVISE_WORK_EDIT, spans = n[ADVISE_SPANS_REQUESTS] != 0;
    if (advise_questions[id].ask == NULL || answers->marks[id] != ADVISE_ASSUMED)
        return false;
    switch (id) {
    case ADVISE_WORK:
    case ADVISE_ENTITIES:
    case ADVISE_DATABASE:
        return true;
    case ADVISE_SPANS_REQUESTS:
        return edit;
    case ADVISE_READERS_NEED_LATEST:
    case ADVISE_GROUPED_WITH:
        return edit;
    case ADVISE_READ_MOSTLY:
        return edit && spans && n[ADVISE_READERS_NEED_LATEST] != 0;
    case ADVISE_STACK:
        return !edit || spans;
    default:
        return edit && spans;
    }
}

static void interview_prompt(const advise_answers *answers, advise_id id, FILE *out)
{
    const advise_question *row = &advise_questions[id];
    hf_buffer usual = {0};
    fprintf(out, "\n%s\n", row->ask);
    interview_wrap(row->why, out);
    fputs("  ", out);
    if (row->kind == ADVISE_CHOICE) {
        fputc('(', out);
        for (size_t i = 0; row->choices[i] != NULL; i++)
            fprintf(out, "%s%s", i == 0 ? "" : ", ", row->choices[i]);
        fputs(") ", out);
    }
    advise_answer_say(answers, id, &usual);
    fprintf(out, "[%s] ", usual.failed || usual.text == NULL ? "" : usual.text);
    fflush(out);
    hf_buffer_done(&usual);
}

/* A line without its end and the blanks around it. HF_INVALID at the end of input. */
static hf_status interview_read(FILE *in, char line[INTERVIEW_LINE], hf_error *err)
{
    if (fgets(line, INTERVIEW_LINE, in) == NULL)
        return hf_fail(err, HF_INVALID,
                       "The input ended in the middle of the questions; nothing was written.");
    size_t size = strcspn(line, "\r\n");
    bool whole = line[size] != '\0' || feof(in);
    line[size] = '\0';
    for (int c; !whole && (c = fgetc(in)) != EOF && c != '\n';)
        continue;
    size_t start = strspn(line, " \t");
    memmove(line, line + start, size - start + 1);
    for (size -= start; size > 0 && (line[size - 1] == ' ' || line[size - 1] == '\t'); size--)
        line[size - 1] = '\0';
    if (strcmp(line, "q") == 0 || strcmp(line, "quit") == 0)
        return hf_fail(err, HF_INVALID, "Cancelled; nothing was written.");
    return HF_OK;
}

static hf_status interview_ask(advise_answers *answers, advise_id id, FILE *in, FILE *out,
                               hf_error *err)
{
    for (;;) {
        char line[INTERVIEW_LINE];
        hf_error flaw;
        advise_answers completed = *answers, given = *answers;
        advise_answers_complete(&completed);
        interview_prompt(&completed, id, out);
        hf_status status = interview_read(in, line, err);
        if (status != HF_OK || line[0] == '\0')
            return status;
        status = advise_set_text(&given, id, line, ADVISE_EXPERT, &flaw);
        if (status == HF_OK) {
            completed = given;
            advise_answers_complete(&completed);
            status = advise_answers_check(&completed, &flaw);
        }
        if (status == HF_OK) {
            *answers = given;
            return HF_OK;
        }
        fprintf(out, "  %s\n", flaw.message);
    }
}

hf_status advise_interview(advise_answers *answers, FILE *in, FILE *out, hf_error *err)
{
    hf_status status = HF_OK;
    fputs("A few questions. Enter accepts the value in brackets, marked as assumed; q quits.\n",
          out);
    for (int id = 0; status == HF_OK && id < ADVISE_ANSWERS; id++) {
        advise_answers completed = *answers;
        advise_answers_complete(&completed);
        if (interview_asks(&completed, (advise_id)id))
            status = interview_ask(answers, (advise_id)id, in, out, err);
    }
    return status;
}

/* ---- the end ---- */

static void interview_sum_up(const advise_record *record, FILE *out)
{
    fprintf(out, "\nDecision: %s%s%s. Certainty: %s.\n", advise_strategy_name(record->strategy),
            record->lock_type != ADVISE_NO_LOCK ? ", " : "",
            record->lock_type != ADVISE_NO_LOCK ? advise_lock_type_name(record->lock_type) : "",
            advise_certainty_name(record->certainty));
    for (size_t i = 0; i < record->reasons.count; i++)
        interview_wrap(record->reasons.items[i], out);
    for (size_t i = 0; i < record->doubts.count; i++)
        interview_wrap(record->doubts.items[i], out);
}

hf_status advise_interview_end(const advise_record *record, FILE *in, FILE *out, char *path,
                               size_t size, hf_error *err)
{
    char name[ADVISE_NAME_SIZE], proposed[ADVISE_NAME_SIZE + 16], line[INTERVIEW_LINE];
    advise_identifier(record->answers.entities.items[0], name);
    snprintf(proposed, sizeof proposed, "%s-decision.md", name);
    interview_sum_up(record, out);
    for (;;) {
        fprintf(out, "\nWrite the record to which file? (- prints it here)\n  [%s] ", proposed);
        fflush(out);
        hf_status status = interview_read(in, line, err);
        if (status != HF_OK)
            return status;
        const char *chosen = line[0] == '\0' ? proposed : line;
        if (strcmp(chosen, "-") == 0)
            chosen = "";
        if (chosen[0] == '\0' || access(chosen, F_OK) != 0) {
            snprintf(path, size, "%s", chosen);
            return HF_OK;
        }
        fprintf(out, "  %s already exists; name another file.\n", chosen);
    }
}
