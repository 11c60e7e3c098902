// Curves of two components: transport of both, velocity and the sample's fraction over time.
#include "base/status.h"
#include "systems/xpcs/model/two.h"
#include "systems/xpcs/report/bands.h"
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <string.h>

enum { N_TIME = 160, QUANTITIES = 4 };

// What is drawn and which parameters it follows from.
static const struct quantity {
    const char *title;
    const char *label;
    const char *unit;
    const char *note;
    int64_t first;
    int64_t n;
} quantities[QUANTITIES] = {
    {"transport of the reference", "J_r(t)", "Å²/s",
     "D0_ref t^alpha_ref + D_offset_ref, not below 0", TESS_XP_D0_REF, 3},
    {"transport of the sample", "J_s(t)", "Å²/s",
     "D0_sample t^alpha_sample + D_offset_sample, not below 0", TESS_XP_D0_SAMPLE, 3},
    {"velocity", "v(t)", "Å/s", "v0 t^v_beta + v_offset", TESS_XP_V0, 3},
    {"fraction of the sample", "fs(t)", "", "f0 exp(f1 (t - f2)) + f3, within 0 and 1", TESS_XP_F0,
     4},
};

static double value_at(double t, const double *theta, int which)
{
    const tess_xp_two_rates at = tess_xp_two_rates_at(t, tess_log_parts(t), theta);
    const double values[QUANTITIES] = {at.reference, at.sample, at.velocity, at.fraction};
    return values[which];
}

// The deviation at one time, first order in the covariance; steps are small parts of the errors.
static double deviation_at(const tess_xpcs_result_info *info, double t, int which)
{
    const struct quantity *q = &quantities[which];
    const int64_t width = info->n_covariance;
    const double *covariance = info->covariance + (2 * info->n_angle + q->first) * (width + 1);
    double slope[4];
    double variance = 0;
    for (int64_t i = 0; i < q->n; i++) {
        const bool is_held = tess_xp_is_at_bound(info, q->first + i);
        const double step = is_held ? 0 : 1e-3 * sqrt(covariance[i * (width + 1)]);
        double theta[TESS_XPCS_MAX_PARAM];
        memcpy(theta, info->theta, (size_t)info->n_param * sizeof *theta);
        theta[q->first + i] += step;
        const double above = value_at(t, theta, which);
        theta[q->first + i] -= 2 * step;
        slope[i] = step > 0 ? (above - value_at(t, theta, which)) / (2 * step) : 0;
    }
    for (int64_t i = 0; i < q->n; i++) {
        for (int64_t j = 0; j < q->n; j++) {
            variance += slope[i] != 0 && slope[j] != 0
                            ? slope[i] * covariance[i * width + j] * slope[j]
                            : 0;
        }
    }
    return variance > 0 ? sqrt(variance) : 0;
}

static bool has_band(const tess_xpcs_result_info *info, int which)
{
    const struct quantity *q = &quantities[which];
    for (int64_t k = q->first; k < q->first + q->n; k++) {
        if (!tess_xp_is_at_bound(info, k) && !isfinite(info->sd[k])) {
            return false;
        }
    }
    return true;
}

static void write_quantity(tess_xp_page *page, int which)
{
    const tess_xpcs_result_info *info = page->info;
    const struct quantity *q = &quantities[which];
    const bool is_known = has_band(info, which);
    double t[N_TIME];
    double y[N_TIME];
    double low[N_TIME];
    double high[N_TIME];
    for (int i = 0; i < N_TIME; i++) {
        t[i] = info->dt_s * (1 + (double)(info->n_frame - 1) * i / (N_TIME - 1));
        y[i] = value_at(t[i], info->theta, which);
        const double sd = is_known ? deviation_at(info, t[i], which) : 0;
        low[i] = y[i] - sd;
        high[i] = y[i] + sd;
    }
    const tess_figure_series series = {.name = is_known
                                                   ? "fit, with one sigma by the covariance"
                                                   : "fit; no band: a parameter is unidentified",
                                       .x = t,
                                       .y = y,
                                       .low = is_known ? low : NULL,
                                       .high = is_known ? high : NULL,
                                       .n = N_TIME,
                                       .colour = 1};
    tess_figure_draw(&page->html, &(tess_figure){.title = q->title,
                                                 .x = {.label = "t", .unit = "s"},
                                                 .y = {.label = q->label, .unit = q->unit},
                                                 .is_narrow = true,
                                                 .series = &series,
                                                 .n_series = 1,
                                                 .note = q->note});
}

void tess_xp_page_two(tess_xp_page *page)
{
    tess_html_heading(&page->html, "Components over time");
    for (int which = 0; which < QUANTITIES; which += 2) {
        tess_html_row_begin(&page->html);
        write_quantity(page, which);
        write_quantity(page, which + 1);
        tess_html_row_end(&page->html);
    }
}
