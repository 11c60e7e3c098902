// The first lines of a report: how good the result is, why not, and every warning.
#include "base/status.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A posterior over this share of the places says little.
static const double WIDE = 0.1;

static tess_html_grade colour_of(int32_t grade)
{
    return grade == TESS_DECODE_GRADE_GOOD   ? TESS_HTML_GOOD
           : grade == TESS_DECODE_GRADE_FAIR ? TESS_HTML_CHECK
           : grade == TESS_DECODE_GRADE_POOR ? TESS_HTML_BAD
                                             : TESS_HTML_NEUTRAL;
}

static int count_lines(const char *lines)
{
    int n = 0;
    for (const char *at = lines; at && *at; at++) {
        n += *at == '\n';
    }
    return n;
}

static void write_badges(tess_de_page *p, int n_warning)
{
    const tess_decode_score *s = &p->score;
    char text[128];
    snprintf(text, sizeof text, "error %s", tess_decode_grade_name(s->error_grade));
    tess_html_badge(&p->html, colour_of(s->error_grade), text);
    snprintf(text, sizeof text, "calibration %s%s", tess_decode_grade_name(s->coverage_grade),
             s->coverage_grade <= TESS_DECODE_GRADE_GOOD ? ""
             : s->coverage_50 > 0.5                      ? ": under-confident"
                                                         : ": over-confident");
    tess_html_badge(&p->html, colour_of(s->coverage_grade), text);
    snprintf(text, sizeof text, n_warning == 1 ? "%d warning" : "%d warnings", n_warning);
    tess_html_badge(&p->html, n_warning > 0 ? TESS_HTML_CHECK : TESS_HTML_GOOD, text);
    if (p->facts->events.rule != TESS_DE_EVENTS_NONE) {
        const int64_t n = p->facts->events.n_found;
        snprintf(text, sizeof text, n == 1 ? "%lld non-local event" : "%lld non-local events",
                 (long long)n);
        tess_html_badge(&p->html, TESS_HTML_NEUTRAL, text);
    }
}

// The numbers behind the badges, and their limits.
static void write_limits(tess_de_page *p)
{
    const tess_decode_score *s = &p->score;
    if (s->n_scored == 0) {
        tess_de_page_say(p, "Nothing to judge by: no time bin has a known position and a decoded "
                            "place.");
        return;
    }
    if (s->rests) {
        tess_de_page_say(
            p,
            "The error (median %.3g cm over %lld of %lld time bins) is not judged: the "
            "animal rests, at two unrelated times it is %.2g cm apart, so that knowing "
            "nothing of the spikes would do as well. Look at a period in which it "
            "moves.",
            s->median_error, (long long)s->n_scored, (long long)s->n_looked, s->chance_error);
    } else {
        tess_de_page_say(
            p,
            "Median error %.3g cm over %lld of %lld time bins; chance (the animal at "
            "two unrelated times) gives %.3g cm. Good is up to %.2g of chance, fair up "
            "to %.2g.",
            s->median_error, (long long)s->n_scored, (long long)s->n_looked, s->chance_error,
            TESS_DE_GOOD_ERROR, TESS_DE_FAIR_ERROR);
    }
    const bool is_local = 2 * s->n_local > s->n_scored;
    tess_de_page_say(p,
                     "The 50 %% region holds the true place in %.0f %% of the bins: good within "
                     "%.0f points of 50, fair within %.0f.",
                     100 * s->coverage_50, 100 * TESS_DE_GOOD_COVERAGE,
                     100 * TESS_DE_FAIR_COVERAGE);
    if (s->n_scored < TESS_DE_LEAST_SCORED) {
        tess_de_page_say(p, "Nothing is judged from fewer than %d time bins.",
                         TESS_DE_LEAST_SCORED);
        return;
    }
    if (is_local) {
        tess_de_page_say(p,
                         "Neither error nor calibration is judged: Local, which is where the "
                         "animal is, holds %.1f "
                         "%% of the scored bins. Decode with another model to test the places.",
                         100 * (double)s->n_local / (double)s->n_scored);
    }
}

static double total(const tess_decode_spikes *spikes)
{
    double n = 0;
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        n += (double)spikes->n_spike[e];
    }
    return n;
}

// What a poor error comes from, as far as the result tells.
static void write_reasons(tess_de_page *p)
{
    const tess_decode_score *s = &p->score;
    if (s->error_grade < TESS_DECODE_GRADE_FAIR) {
        return;
    }
    if (s->spread > WIDE) {
        tess_de_page_say(p,
                         "Why: the posterior is spread over %.0f %% of the places on average, so "
                         "the spikes tell little of position: too few of them, features that do "
                         "not tell units apart, or spikes that do not depend on place.",
                         100 * s->spread);
    } else {
        tess_de_page_say(p,
                         "Why: the posterior is narrow (%.1f %% of the places on average) and yet "
                         "far from the animal: the model may not fit the decoded period (other "
                         "clock, drift, another environment), bandwidths may be too small for the "
                         "training data ('tessera decode tune'), or other places are represented.",
                         100 * s->spread);
    }
    if (p->config->recording && p->view->n_time > 0 && p->view->n_place > 0) {
        const tess_decode_recording_info *info = &p->config->recording->info;
        tess_de_page_say(p,
                         "There are %.3g spikes per time bin, and %.3g training spikes per "
                         "place bin.",
                         total(&info->observation.spikes) / (double)p->view->n_time,
                         total(&info->training.spikes) / (double)p->view->n_place);
    }
}

// Where the run kept no warnings: what its own report tells.
static void known_warnings(const tess_decode_stream_report *r, char *lines, size_t capacity)
{
    lines[0] = 0;
    if (!r) {
        return;
    }
    const tess_decode_likelihood_report *l = &r->likelihood;
    if (l->n_value > 0 && (double)l->n_floored > 0.05 * (double)l->n_value) {
        snprintf(lines, capacity,
                 "%.2g %% of the spike values lie on the floor, %lld spikes are flat over all "
                 "bins\n",
                 100 * (double)l->n_floored / (double)l->n_value, (long long)l->n_flat_spike);
    }
    if (r->n_impossible > 0) {
        const size_t used = strlen(lines);
        snprintf(lines + used, capacity - used,
                 "at %lld time bins, the first being %lld, no state could explain the spikes\n",
                 (long long)r->n_impossible, (long long)r->first_impossible);
    }
}

tess_status tess_de_page_verdict(tess_de_page *p)
{
    char *kept = NULL;
    char known[512];
    TESS_TRY(tess_de_view_warnings(p->view, &kept));
    known_warnings(p->config->report, known, sizeof known);
    const char *lines = kept ? kept : known;
    write_badges(p, count_lines(lines));
    tess_html_warnings(&p->html, lines);
    tess_html_heading(&p->html, "Verdict");
    write_limits(p);
    write_reasons(p);
    if (!kept && !p->config->report) {
        tess_de_page_say(p, "The warnings of the run are not known: the file of details beside the "
                            "result is missing.");
    }
    free(kept);
    return TESS_OK;
}
