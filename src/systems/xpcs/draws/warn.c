// Sentences: what is doubtful about the draws, and what to do.
#include "systems/xpcs/draws/draws.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double R_HAT_WARN = 1.05, R_HAT_FAIL = 1.1, MIN_ESS = 400, MIN_BFMI = 0.3;
static const double DIVERGED_WARN = 0.05, DIVERGED_BAD = 0.1, DIVERGED_CRITICAL = 0.3;
static const double MIN_CONTRACTION = 0.1, MAX_DISTANCE = 3, MAX_OUTSIDE = 0.01;

TESS_PRINTF(3, 4)
static void say(char text[TESS_XP_WARNINGS_BYTES], tess_warning which, const char *format, ...)
{
    int64_t n = 0;
    const char *id = tess_warnings(&n)[which].id;
    const size_t used = strlen(text);
    char line[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (used + strlen(line) + strlen(id) + 5 < TESS_XP_WARNINGS_BYTES) {
        snprintf(text + used, TESS_XP_WARNINGS_BYTES - used, "%s%s [%s]", used ? "\n" : "", line,
                 id);
    }
}

// The row with the most or least of something; -1: none has it.
static int64_t worst_row(const tess_xpcs_diagnosis_info *info,
                         double (*of)(const tess_xpcs_summary *), double sign)
{
    int64_t worst = -1;
    for (int64_t row = 0; row < info->n_row; row++) {
        const double value = sign * of(&info->rows[row]);
        if (!info->rows[row].is_fixed && !isnan(value) &&
            (worst < 0 || value > sign * of(&info->rows[worst]))) {
            worst = row;
        }
    }
    return worst;
}

static double r_hat(const tess_xpcs_summary *s)
{
    return s->r_hat;
}

static double smaller_ess(const tess_xpcs_summary *s)
{
    return fmin(s->ess_bulk, s->ess_tail);
}

static void warn_of_mixing(const tess_xpcs_diagnosis_info *info, char *text)
{
    const int64_t row = worst_row(info, r_hat, 1);
    if (info->n_chain < 2) {
        say(text, TESS_W_XPCS_R_HAT,
            "one chain cannot tell whether others would have come to the same; use 4 (--n-chains)");
    } else if (row >= 0 && info->rows[row].r_hat > R_HAT_WARN) {
        say(text, TESS_W_XPCS_R_HAT,
            "chains %s: R-hat of %s is %.3f (below %.2f is good); draw more (--n-samples), warm "
            "up longer (--n-warmup), or look for a second mode in the traces",
            info->rows[row].r_hat > R_HAT_FAIL ? "have not met" : "hardly agree", info->names[row],
            info->rows[row].r_hat, R_HAT_WARN);
    }
    const int64_t few = worst_row(info, smaller_ess, -1);
    if (few >= 0 && smaller_ess(&info->rows[few]) < MIN_ESS) {
        say(text, TESS_W_XPCS_ESS,
            "%s has %.0f effective draws in the bulk and %.0f in the tails, fewer than %.0f: "
            "errors and quantiles are rough; draw more (--n-samples)",
            info->names[few], info->rows[few].ess_bulk, info->rows[few].ess_tail, MIN_ESS);
    }
}

static void warn_of_paths(const tess_xpcs_diagnosis_info *info, int64_t max_depth, char *text)
{
    const double rate = info->divergence_rate;
    if (rate > DIVERGED_WARN || (info->n_diverged_all > 0 && rate > 0.001)) {
        say(text, TESS_W_XPCS_DIVERGENCES,
            "%lld paths (%.1f %%) had to be broken off%s; raise target_accept_prob, or look where "
            "they are in the pair plot",
            (long long)info->n_diverged_all, 100 * rate,
            rate > DIVERGED_CRITICAL ? ": the draws cannot be used"
            : rate > DIVERGED_BAD    ? ": the draws are biased"
            : rate > DIVERGED_WARN   ? ": the draws may be biased"
                                     : "");
    }
    if (info->deepest_rate > 0.01) {
        say(text, TESS_W_XPCS_TREE_DEPTH,
            "%.1f %% of the paths were as long as allowed (2^%lld steps): draws are slow, not "
            "wrong; raise max_tree_depth or warm up longer",
            100 * info->deepest_rate, (long long)max_depth);
    }
    if (info->bfmi_min < MIN_BFMI) {
        say(text, TESS_W_XPCS_ENERGY,
            "E-BFMI is %.2f in the worst chain, below %.1f: the tails are explored too slowly; "
            "warm up longer (--n-warmup), or fix a parameter that the data do not tell",
            info->bfmi_min, MIN_BFMI);
    }
}

static void warn_of_rows(const tess_xpcs_diagnosis_info *info, char *text)
{
    for (int64_t row = 0; row < info->n_row; row++) {
        const tess_xpcs_summary *s = &info->rows[row];
        if (s->is_fixed) {
            continue;
        }
        if (s->is_bimodal) {
            say(text, TESS_W_XPCS_TWO_MODES,
                "%s has two modes, at %.4g (%.0f %%) and %.4g (%.0f %%): mean and sd describe "
                "neither; look at the pair plot, and fix what differs",
                info->names[row], s->mode_mean[0], 100 * s->mode_weight[0], s->mode_mean[1],
                100 * s->mode_weight[1]);
        }
        if (row < info->n_param && s->contraction < MIN_CONTRACTION) {
            say(text, TESS_W_XPCS_PRIOR,
                "the data tell little of %s: its standard deviation is %.0f %% of the prior's; fix "
                "it, or check that the prior is meant",
                info->names[row], 100 * s->sd / s->prior_sd);
        }
        if (row < info->n_param && fabs(s->distance) > MAX_DISTANCE) {
            say(text, TESS_W_XPCS_FAR_FROM_FIT,
                "the mean of %s is %.1f standard deviations from the fit (%.6g against %.6g): its "
                "prior pulls, or the fit was in another minimum",
                info->names[row], fabs(s->distance), s->mean, s->fit);
        }
    }
    if (info->outside > MAX_OUTSIDE) {
        say(text, TESS_W_XPCS_OUTSIDE,
            "%.1f %% of contrasts and offsets were drawn outside their bounds and again: the "
            "density neglects these bounds; widen them",
            100 * info->outside);
    }
}

void tess_xp_draws_add_warnings(const char *lines, char text[TESS_XP_WARNINGS_BYTES])
{
    const size_t used = strlen(text);
    const size_t n = lines ? strlen(lines) : 0;
    if (n > 0 && used + n + 2 < TESS_XP_WARNINGS_BYTES) {
        snprintf(text + used, TESS_XP_WARNINGS_BYTES - used, "%s%s", used ? "\n" : "", lines);
        const size_t end = strlen(text);
        text[end - (text[end - 1] == '\n')] = '\0';
    }
}

void tess_xp_draws_warn(const tess_xpcs_diagnosis_info *info, int64_t max_depth,
                        char text[TESS_XP_WARNINGS_BYTES])
{
    text[0] = '\0';
    warn_of_mixing(info, text);
    warn_of_paths(info, max_depth, text);
    warn_of_rows(info, text);
}
