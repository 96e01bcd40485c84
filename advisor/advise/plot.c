/* SPDX-License-Identifier: MIT */
/* The figures; the drawing around them is templates/plot.svg, whose frame the numbers below are. */
#include "advise/plot.h"

#include "advise/facts.h"
#include "base/error.h"
#include "templates/plot.h"

#include <math.h>
#include <stdio.h>

enum {
    PLOT_POINTS = 24,
    PLOT_EFFORT = 60000,
    PLOT_LEFT = 70,
    PLOT_RIGHT = 600,
    PLOT_TOP = 90,
    PLOT_BOTTOM = 380
};

typedef struct plot_figures {
    double editors[PLOT_POINTS];
    double hours[PLOT_POINTS][ADVISE_POLICIES];
    double least, most; /* editors */
    double top;         /* hours, a round number */
    double flip;        /* editors from which on locks win; 0: never */
} plot_figures;

static double plot_x(const plot_figures *f, double editors)
{
    return PLOT_LEFT + (PLOT_RIGHT - PLOT_LEFT) * (editors - f->least) / (f->most - f->least);
}

static double plot_y(const plot_figures *f, double hours)
{
    return PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * hours / f->top;
}

/* The next number that is not less and divides well. */
static double plot_round(double value)
{
    static const double good[] = {1, 1.5, 2, 2.5, 4, 5, 7.5, 10};
    double unit = pow(10, floor(log10(value > 0 ? value : 1e-3)));
    size_t i = 0;
    while (i + 1 < sizeof good / sizeof *good && good[i] * unit < value)
        i++;
    return good[i] * unit;
}

static hf_status plot_simulate(const advise_record *record, plot_figures *f, hf_error *err)
{
    double now = record->answers.numbers[ADVISE_EDITORS], highest = 0;
    hf_status status = HF_OK;
    f->least = 1;
    f->most = now * 3 < 10 ? 10 : now * 3;
    for (int i = 0; status == HF_OK && i < PLOT_POINTS; i++) {
        advise_load load;
        advise_bills bills;
        f->editors[i] = f->least + (f->most - f->least) * i / (PLOT_POINTS - 1);
        advise_load_make(&record->answers, &load);
        load.opens_per_week *= f->editors[i] / now;
        status = advise_simulate(&load, PLOT_EFFORT, record->seed, &bills, err);
        for (int p = 0; status == HF_OK && p < ADVISE_POLICIES; p++) {
            f->hours[i][p] = bills.hours[p];
            highest = bills.hours[p] > highest ? bills.hours[p] : highest;
        }
        bool locks =
            status == HF_OK &&
            bills.hours[ADVISE_OPTIMISTIC] - bills.hours[ADVISE_PESSIMISTIC] > record->building;
        if (locks && f->flip == 0)
            f->flip = ceil(f->editors[i]);
    }
    f->top = plot_round(highest);
    return status;
}

static void plot_line(const plot_figures *f, int policy, const char *points, const char *label,
                      double label_y, advise_facts *facts)
{
    hf_buffer out = {0};
    for (int i = 0; i < PLOT_POINTS; i++)
        hf_buffer_print(&out, "%s%.1f,%.1f", i == 0 ? "" : " ", plot_x(f, f->editors[i]),
                        plot_y(f, f->hours[i][policy]));
    facts->failed = facts->failed || out.failed;
    advise_fact_set(facts, points, out.text == NULL ? "" : out.text);
    advise_fact_print(facts, label, "%.1f", label_y);
    hf_buffer_done(&out);
}

static void plot_grid(const plot_figures *f, advise_facts *facts)
{
    hf_buffer out = {0};
    char figure[ADVISE_FIGURE_SIZE];
    double step = ceil(plot_round((f->most - f->least) / 8));
    for (int i = 0; i <= 5; i++) {
        double hours = f->top * i / 5, y = plot_y(f, hours);
        hf_buffer_print(&out,
                        "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e4e4e4\"/>\n",
                        PLOT_LEFT, y, PLOT_RIGHT, y);
        hf_buffer_print(
            &out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#444444\">%s</text>\n",
            PLOT_LEFT - 8, y + 4, advise_figure(hours, figure));
    }
    for (double editors = step; editors <= f->most; editors += step)
        hf_buffer_print(
            &out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#444444\">%.0f</text>\n",
            plot_x(f, editors), PLOT_BOTTOM + 18, editors);
    advise_fact_take(facts, "grid", &out);
}

/* A line's text stands right of it, or left where there is no room. */
static void plot_mark(const plot_figures *f, double editors, const char *x, const char *text_x,
                      const char *anchor, advise_facts *facts)
{
    double at = plot_x(f, editors);
    bool left = at > (PLOT_LEFT + PLOT_RIGHT) / 2.0;
    advise_fact_print(facts, x, "%.1f", at);
    advise_fact_print(facts, text_x, "%.1f", at + (left ? -6 : 6));
    advise_fact_set(facts, anchor, left ? "end" : "start");
}

/* Labels at the ends of the lines, at least so far apart; the lowest stays where its line ends. */
static void plot_labels(const plot_figures *f, double out[ADVISE_POLICIES])
{
    enum { APART = 16 };
    int order[ADVISE_POLICIES] = {ADVISE_NONE, ADVISE_OPTIMISTIC, ADVISE_PESSIMISTIC};
    const double *last = f->hours[PLOT_POINTS - 1];
    for (int i = 1; i < ADVISE_POLICIES; i++)
        for (int k = i; k > 0 && last[order[k]] < last[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    double below = 1e9;
    for (int i = 0; i < ADVISE_POLICIES; i++) {
        double y = plot_y(f, last[order[i]]) + 4;
        out[order[i]] = y > below - APART ? below - APART : y;
        below = out[order[i]];
    }
}

/* What stands in an image is not taken for its markup. */
static void plot_title(const char *text, advise_facts *facts)
{
    hf_buffer out = {0};
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            hf_buffer_print(&out, "&#%d;", *text);
        else
            hf_buffer_add(&out, text, 1);
    }
    advise_fact_take(facts, "title", &out);
}

hf_status advise_plot(const advise_record *record, hf_buffer *out, hf_error *err)
{
    plot_figures figures = {0};
    advise_facts facts = {0};
    double labels[ADVISE_POLICIES];
    if (!record->billed)
        return hf_fail(err, HF_INVALID, "There is nothing to draw for a %s; leave --plot out.",
                       advise_strategy_name(record->strategy));
    hf_status status = plot_simulate(record, &figures, err);
    if (status != HF_OK)
        return status;
    plot_labels(&figures, labels);
    plot_title(record->answers.entities.items[0], &facts);
    plot_grid(&figures, &facts);
    plot_line(&figures, ADVISE_NONE, "none_points", "none_y", labels[ADVISE_NONE], &facts);
    plot_line(&figures, ADVISE_OPTIMISTIC, "optimistic_points", "optimistic_y",
              labels[ADVISE_OPTIMISTIC], &facts);
    plot_line(&figures, ADVISE_PESSIMISTIC, "pessimistic_points", "pessimistic_y",
              labels[ADVISE_PESSIMISTIC], &facts);
    double now = record->answers.numbers[ADVISE_EDITORS];
    plot_mark(&figures, now, "now_x", "now_text_x", "now_anchor", &facts);
    advise_fact_print(&facts, "now", "%g", now);
    if (figures.flip > 0) {
        plot_mark(&figures, figures.flip, "flip_x", "flip_text_x", "flip_anchor", &facts);
        advise_fact_print(&facts, "flip", "%g", figures.flip);
    }
    advise_fill(template_plot, &facts, out);
    advise_facts_done(&facts);
    return HF_OK;
}
