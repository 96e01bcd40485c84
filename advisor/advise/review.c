/* SPDX-License-Identifier: MIT */
/* Thresholds are held against the answers of now; then it is decided anew. */
#include "advise/review.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

/* The value of a measure; false: it is not known. */
static bool review_value(const char *measure, const advise_answers *now, double refusals,
                         double *out)
{
    if (strcmp(measure, ADVISE_REFUSALS) == 0) {
        *out = refusals;
        return refusals >= 0;
    }
    for (int id = 0; id < ADVISE_ANSWERS; id++) {
        if (strcmp(advise_questions[id].name, measure) == 0) {
            *out = now->numbers[id];
            return now->marks[id] != ADVISE_ASSUMED;
        }
    }
    return false;
}

/* Decides by the record's answers, with what is known now in their place. */
static hf_status review_decide(const advise_record *record, const advise_answers *now,
                               advise_review *out, hf_error *err)
{
    hf_cleanup(hf_freep) advise_record *again = hf_alloc(sizeof *again);
    if (again == NULL)
        return hf_fail_memory(err);
    again->answers = record->answers;
    again->seed = record->seed;
    for (int id = 0; id < ADVISE_ANSWERS; id++) {
        if (now->marks[id] == ADVISE_ASSUMED)
            continue;
        again->answers.marks[id] = now->marks[id];
        again->answers.numbers[id] = now->numbers[id];
    }
    hf_status status = advise_decide(again, err);
    out->decided = status == HF_OK;
    out->strategy = again->strategy;
    return status;
}

hf_status advise_review_make(const advise_record *record, const advise_answers *now,
                             double refusals, advise_review *out, hf_error *err)
{
    bool any = false;
    *out = (advise_review){.count = record->thresholds_count};
    for (size_t i = 0; i < record->thresholds_count; i++) {
        advise_finding *finding = &out->findings[i];
        *finding = (advise_finding){.threshold = record->thresholds[i]};
        finding->known = review_value(finding->threshold.measure, now, refusals, &finding->value);
        finding->crossed = finding->known &&
                           (finding->threshold.above ? finding->value > finding->threshold.value
                                                     : finding->value < finding->threshold.value);
        any = any || finding->known;
        out->crossed = out->crossed || finding->crossed;
    }
    if (record->thresholds_count == 0)
        return hf_fail(
            err, HF_INVALID,
            "The record has no thresholds to look at; make it anew with 'holdfast advise'.");
    if (!any)
        return hf_fail(err, HF_INVALID,
                       "Nothing is known now that the record's thresholds are about; give "
                       "--access-log, --db, --metrics "
                       "or --answers.");
    hf_status status = review_decide(record, now, out, err);
    /* A lock with a version under it is still a lock. */
    bool locks = out->strategy == ADVISE_BE_PESSIMISTIC || out->strategy == ADVISE_BE_BOTH;
    out->crossed = out->crossed || (status == HF_OK && out->strategy != record->strategy &&
                                    !(locks && advise_uses_locks(record)));
    return status;
}

void advise_review_text(const advise_record *record, const advise_review *review, hf_buffer *out)
{
    char value[ADVISE_FIGURE_SIZE];
    for (size_t i = 0; i < review->count; i++) {
        const advise_finding *f = &review->findings[i];
        const char *side = f->threshold.above ? "above" : "below";
        if (!f->known)
            hf_buffer_print(out, "?  %s is not known; the threshold is %s %.4g.\n",
                            f->threshold.measure, side, f->threshold.value);
        else
            hf_buffer_print(out, "%s  %s is %s; the threshold is %s %.4g%s.\n",
                            f->crossed ? "!" : " ", f->threshold.measure,
                            advise_figure(f->value, value), side, f->threshold.value,
                            f->crossed ? ": crossed" : "");
    }
    hf_buffer_print(out, "By what is known now the choice is %s; the record of %s says %s.\n",
                    advise_strategy_name(review->strategy), record->date,
                    advise_strategy_name(record->strategy));
    hf_buffer_print(out, "%s\n",
                    review->crossed
                        ? "Decide anew: holdfast advise --answers RECORD, with what was measured."
                        : "The decision holds.");
}

void advise_review_json(const advise_record *record, const advise_review *review, hf_buffer *out)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_bool(&json, "crossed", review->crossed);
    hf_json_put_text(&json, "strategy", advise_strategy_name(record->strategy));
    hf_json_put_text(&json, "now", advise_strategy_name(review->strategy));
    hf_json_name(&json, "thresholds");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < review->count; i++) {
        const advise_finding *f = &review->findings[i];
        hf_json_begin(&json, '{');
        hf_json_put_text(&json, "measure", f->threshold.measure);
        hf_json_name(&json, f->threshold.above ? "above" : "below");
        hf_json_number(&json, f->threshold.value);
        hf_json_name(&json, "value");
        if (f->known)
            hf_json_number(&json, f->value);
        else
            hf_json_text(&json, NULL);
        hf_json_put_bool(&json, "crossed", f->crossed);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    out->failed = out->failed || json.out.failed;
    if (json.out.text != NULL)
        hf_buffer_add(out, json.out.text, json.out.size);
    hf_buffer_done(&json.out);
}
