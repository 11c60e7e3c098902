// The files of rates.
#include "base/status.h"
#include "systems/xpcs/rates/page.h"
#include "systems/xpcs/rates/rates.h"
#include "systems/xpcs/result/outcome.h"

enum { FILES = 3 };

static void put_curve(tess_json *json, const char *key, const tess_xpcs_rates_info *info,
                      const tess_xpcs_rate_curve *curve)
{
    tess_json_object_begin(json, key);
    tess_json_real(json, "smoothness", curve->smoothness);
    tess_json_real(json, "n_effective", curve->n_effective);
    tess_xp_put_reals(json, "knot_value", curve->knot_value, info->n_knot);
    tess_xp_put_reals(json, "knot_uncertainty", curve->knot_sd, info->n_knot);
    tess_xp_put_reals(json, "value", curve->value, info->n_frame);
    tess_xp_put_reals(json, "uncertainty", curve->sd, info->n_frame);
    tess_xp_put_reals(json, "low", curve->low, info->n_frame);
    tess_xp_put_reals(json, "high", curve->high, info->n_frame);
    tess_xp_put_reals(json, "power_law", curve->power, info->n_frame);
    tess_xp_put_reals(json, "power_law_uncertainty", curve->power_sd, info->n_frame);
    tess_json_object_end(json);
}

static void put_power(tess_json *json, const tess_xpcs_rates_info *info)
{
    const tess_xpcs_result_info *fit = tess_xpcs_result_get_info(info->power_fit);
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)info->mode, &n);
    tess_json_object_begin(json, "power_law_parameters");
    for (int64_t k = 0; k < n; k++) {
        tess_json_object_begin(json, params[k].name);
        tess_json_real(json, "value", fit->theta[k]);
        tess_json_real(json, "uncertainty", fit->sd[k]);
        tess_json_object_end(json);
    }
    tess_json_object_end(json);
}

static void put_evidence(tess_json *json, const tess_xpcs_rates_info *info)
{
    tess_json_object_begin(json, "evidence");
    tess_json_text(json, "verdict", info->verdict);
    tess_json_real(json, "log_bayes_factor", info->log_bayes_factor);
    tess_json_real(json, "free_form", info->log_evidence);
    tess_json_real(json, "free_form_log_knots", info->log_evidence_log);
    tess_json_real(json, "free_form_linear_knots", info->log_evidence_linear);
    tess_json_real(json, "power_law", info->log_evidence_power);
    tess_json_real(json, "power_law_error", info->log_evidence_power_error);
    tess_json_real(json, "power_law_with_offset", info->log_evidence_offset);
    tess_json_real(json, "power_law_without_offset", info->log_evidence_plain);
    tess_json_object_end(json);
}

static void put_all(tess_json *json, const void *self)
{
    const tess_xpcs_rates_info *info = self;
    tess_json_text(json, "schema", "tessera.xpcs.rates/1");
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    tess_json_text(json, "shape", tess_xp_rates_shape_name(info->shape));
    tess_json_text(json, "spacing", tess_xp_rates_spacing_name(info->spacing));
    tess_json_bool(json, "is_converged", info->is_converged);
    tess_xp_put_lines(json, "notes", info->notes);
    put_evidence(json, info);
    tess_json_real(json, "noise", info->noise);
    tess_json_real(json, "noise_power_law", info->noise_power);
    if (info->has_shear) {
        tess_json_real(json, "phi0", info->phi0);
        tess_json_real(json, "phi0_uncertainty", info->phi0_sd);
    }
    tess_xp_put_reals(json, "phi", info->phi, info->n_angle);
    tess_xp_put_reals(json, "contrast", info->contrast, info->n_angle);
    tess_xp_put_reals(json, "offset", info->offset, info->n_angle);
    put_power(json, info);
    tess_xp_put_reals(json, "time", info->t, info->n_frame);
    tess_xp_put_reals(json, "knots", info->knots, info->n_knot);
    put_curve(json, "transport", info, &info->transport);
    if (info->has_shear) {
        put_curve(json, "shear", info, &info->shear);
    }
    tess_json_object_begin(json, "run");
    tess_json_real(json, "seconds", info->seconds);
    tess_json_int(json, "n_pass", info->n_pass);
    tess_json_object_end(json);
}

static tess_xp_outcome outcome_of(const tess_xpcs_rates *rates)
{
    return (tess_xp_outcome){.stage = "xpcs.rates",
                             .identity = rates->info.identity,
                             .put = put_all,
                             .info = &rates->info};
}

tess_status tess_xpcs_rates_json(tess_context *ctx, const tess_xpcs_rates *rates, char **text)
{
    tess_error_clear();
    if (!ctx || !rates || !text) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !rates ? "rates" : "text");
    }
    *text = NULL;
    const tess_xp_outcome outcome = outcome_of(rates);
    return tess_xp_outcome_json(ctx, &outcome, text);
}

static void add_curve(tess_xp_arrays *arrays, const char *const names[8],
                      const tess_xpcs_rates_info *info, const tess_xpcs_rate_curve *c)
{
    const double *const data[8] = {c->value, c->sd,       c->low,        c->high,
                                   c->power, c->power_sd, c->knot_value, c->knot_sd};
    for (int k = 0; k < 8; k++) {
        tess_xp_arrays_add(arrays, names[k], TESS_F64, 1, k < 6 ? &info->n_frame : &info->n_knot,
                           data[k]);
    }
}

static tess_status write_npz(tess_context *ctx, const tess_xp_outcome *outcome, const char *path,
                             int replace)
{
    static const char *const transport[8] = {"D",       "D_sd",       "D_low",  "D_high",
                                             "D_power", "D_power_sd", "D_knot", "D_knot_sd"};
    static const char *const shear[8] = {"shear",      "shear_sd",     "shear_low",
                                         "shear_high", "shear_power",  "shear_power_sd",
                                         "shear_knot", "shear_knot_sd"};
    const tess_xpcs_rates_info *info = outcome->info;
    const int64_t one = 1;
    tess_xp_arrays arrays;
    tess_xp_arrays_init(&arrays, ctx);
    tess_xp_arrays_add(&arrays, "t", TESS_F64, 1, &info->n_frame, info->t);
    tess_xp_arrays_add(&arrays, "knots", TESS_F64, 1, &info->n_knot, info->knots);
    add_curve(&arrays, transport, info, &info->transport);
    if (info->has_shear) {
        add_curve(&arrays, shear, info, &info->shear);
    }
    tess_xp_arrays_add(&arrays, "phi", TESS_F64, 1, &info->n_angle, info->phi);
    tess_xp_arrays_add(&arrays, "contrast", TESS_F64, 1, &info->n_angle, info->contrast);
    tess_xp_arrays_add(&arrays, "offset", TESS_F64, 1, &info->n_angle, info->offset);
    tess_xp_arrays_add(&arrays, "log_bayes_factor", TESS_F64, 1, &one, &info->log_bayes_factor);
    tess_xp_arrays_add(&arrays, "log_evidence", TESS_F64, 1, &one, &info->log_evidence);
    tess_xp_arrays_add(&arrays, "log_evidence_power", TESS_F64, 1, &one, &info->log_evidence_power);
    const tess_status status = tess_xp_outcome_write_arrays(outcome, &arrays, path, replace);
    tess_xp_arrays_free(&arrays);
    return status;
}

tess_status tess_xpcs_rates_write(tess_context *ctx, const tess_xpcs_rates *rates,
                                  const char *folder, int overwrite)
{
    static const char *const names[FILES] = {"rates.json", "rates.npz", "report.html"};
    char paths[FILES][TESS_XP_OUTCOME_PATH];
    int replace = 0;
    tess_error_clear();
    if (!ctx || !rates || !folder || !folder[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: missing; results need a context, rates and a folder",
                  !ctx     ? "context"
                  : !rates ? "rates"
                           : "folder");
    }
    const tess_xp_outcome outcome = outcome_of(rates);
    TESS_TRY(tess_xp_outcome_begin(ctx, &outcome, folder, names, FILES, overwrite != 0, paths,
                                   &replace));
    TESS_TRY(tess_xp_outcome_write_json(ctx, &outcome, paths[0], replace));
    TESS_TRY(write_npz(ctx, &outcome, paths[1], replace));
    return tess_xp_rates_page(ctx, &rates->info, paths[2], replace);
}
