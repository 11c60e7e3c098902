// parameters.json, analysis_results_nlsq.json and convergence_metrics.json.
#include "systems/xpcs/result/record.h"

#include <math.h>
#include <string.h>

// Limits of the original's checks.
static const double CHECK_REDUCED_CHI2 = 10;
static const double CHECK_SIGNIFICANCE = 2;
static const double CHECK_CONDITION = 1e12;

static void put_value(tess_json *json, const char *name, double value, double uncertainty)
{
    tess_json_object_begin(json, name);
    tess_json_real(json, "value", value);
    tess_json_real(json, "uncertainty", uncertainty);
    tess_json_object_end(json);
}

// The original has one contrast and one offset: their mean, and the root mean square of the
// errors.
static void put_mean(tess_json *json, const char *name, const double *values, const double *sd,
                     int64_t n)
{
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += values[i];
        squares += sd[i] * sd[i];
    }
    put_value(json, name, sum / (double)n, sqrt(squares / (double)n));
}

void tess_xp_record_parameters(tess_json *json, const tess_xp_record *record)
{
    const tess_xpcs_result_info *info = record->info;
    tess_json_object_begin(json, NULL);
    tess_xp_put_provenance(json, record);
    tess_json_text(json, "timestamp", record->timestamp);
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    tess_json_real(json, "chi_squared", info->chi2);
    tess_json_real(json, "reduced_chi_squared", info->reduced_chi2);
    tess_json_text(json, "convergence_status",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence));
    tess_json_object_begin(json, "parameters");
    put_mean(json, "contrast", info->contrast, info->contrast_sd, info->n_angle);
    put_mean(json, "offset", info->offset, info->offset_sd, info->n_angle);
    for (int64_t k = 0; k < info->n_param; k++) {
        put_value(json, info->names[k], info->theta[k], info->sd[k]);
    }
    tess_json_object_end(json);
    tess_json_text(json, "shear_kernel", tess_xpcs_kernel_name((tess_xpcs_kernel)info->kernel));
    tess_xp_put_parameter_details(json, info);
    tess_xp_put_basins(json, info);
    tess_xp_put_per_angle(json, info);
    tess_json_text(json, "covariance_order",
                   "contrast of every angle, offset of every angle, "
                   "parameters");
    tess_xp_put_matrix(json, "covariance", info->covariance, info->n_covariance);
    tess_xp_put_matrix(json, "correlation", info->correlation, info->n_covariance);
    tess_json_object_end(json);
}

static void put_fit_quality(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_object_begin(json, "fit_quality");
    tess_json_real(json, "chi_squared", info->chi2);
    tess_json_real(json, "reduced_chi_squared", info->reduced_chi2);
    tess_json_int(json, "degrees_of_freedom", info->dof);
    tess_json_text(json, "quality_flag", tess_xpcs_quality_name((tess_xpcs_quality)info->quality));
    tess_json_real(json, "cost", info->cost);
    tess_json_real(json, "aic", info->aic);
    tess_json_real(json, "bic", info->bic);
    tess_json_bool(json, "sigma_is_default", info->sigma_is_default);
    tess_json_object_end(json);
}

static void put_dataset(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_object_begin(json, "dataset_info");
    tess_json_int(json, "n_angles", info->n_angle);
    tess_json_int(json, "n_time_points", info->n_frame * info->n_frame);
    tess_json_int(json, "total_data_points", info->n_point);
    tess_json_real(json, "q_value", info->q[0]);
    tess_json_int(json, "n_frames", info->n_frame);
    tess_json_int(json, "n_used", info->n_used);
    tess_json_int(json, "n_masked", info->n_masked);
    tess_json_real(json, "dt_s", info->dt_s);
    tess_json_real(json, "gap_angstrom", info->gap_angstrom);
    tess_json_text(json, "name", tess_xp_data_name(info));
    tess_json_text(json, "fingerprint", info->data_fingerprint);
    tess_json_object_end(json);
}

void tess_xp_record_analysis(tess_json *json, const tess_xp_record *record)
{
    const tess_xpcs_result_info *info = record->info;
    tess_json_object_begin(json, NULL);
    tess_xp_put_provenance(json, record);
    tess_json_text(json, "method", "nlsq");
    tess_json_text(json, "timestamp", record->timestamp);
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    put_fit_quality(json, info);
    put_dataset(json, info);
    tess_json_object_begin(json, "optimization_summary");
    tess_json_text(json, "convergence_status",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence));
    tess_json_int(json, "iterations", info->n_iteration);
    tess_json_real(json, "execution_time", info->seconds[4]);
    tess_json_int(json, "function_evaluations", info->nfev);
    tess_json_int(json, "passes", info->n_pass);
    tess_json_text(json, "message", info->message);
    tess_xp_put_method(json, info);
    tess_json_object_end(json);
    tess_json_text(json, "config_hash", info->config_hash);
    tess_json_text(json, "tessera", info->tessera_version);
    tess_xp_put_run(json, record);
    tess_json_object_end(json);
}

static bool all_significant(const tess_xpcs_result_info *info)
{
    for (int64_t k = 0; k < info->n_param; k++) {
        if (info->status[k] != TESS_XPCS_FIXED &&
            !(fabs(info->theta[k]) >= CHECK_SIGNIFICANCE * info->sd[k])) {
            return false;
        }
    }
    return true;
}

static bool none_at_bounds(const tess_xpcs_result_info *info)
{
    for (int64_t k = 0; k < info->n_param; k++) {
        if (info->status[k] == TESS_XPCS_AT_LOWER || info->status[k] == TESS_XPCS_AT_UPPER) {
            return false;
        }
    }
    return true;
}

static void put_quality(tess_json *json, const tess_xpcs_result_info *info)
{
    const bool checks[] = {info->reduced_chi2 <= CHECK_REDUCED_CHI2, all_significant(info),
                           info->condition <= CHECK_CONDITION, none_at_bounds(info),
                           info->convergence == TESS_XPCS_CONVERGED};
    static const char *const names[] = {"reduced_chi_squared", "parameter_significance",
                                        "condition_number", "physical_bounds",
                                        "convergence_status"};
    bool is_passed = true;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        is_passed = is_passed && checks[i];
    }
    tess_json_bool(json, "quality_validation_passed", is_passed);
    tess_xp_put_lines(json, "quality_warnings", info->warnings);
    tess_json_object_begin(json, "quality_checks");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        tess_json_bool(json, names[i], checks[i]);
    }
    tess_json_object_end(json);
}

static void put_convergence(tess_json *json, const tess_xpcs_result_info *info)
{
    const double first = info->n_trace > 0 ? info->trace[0].cost : (double)NAN;
    tess_json_object_begin(json, "convergence");
    tess_json_text(json, "status",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence));
    tess_json_int(json, "iterations", info->n_iteration);
    tess_json_real(json, "execution_time", info->seconds[4]);
    tess_json_real(json, "final_chi_squared", info->chi2);
    // Share of the cost at the start that is gone.
    tess_json_real(json, "chi_squared_reduction",
                   first > 0 ? fmax(1 - info->cost / first, 0) : (double)NAN);
    tess_json_int(json, "termination", info->termination);
    tess_json_text(json, "message", info->message);
    tess_json_real(json, "gradient_norm", info->gradient_norm);
    tess_json_real(json, "condition", info->condition);
    tess_json_int(json, "function_evaluations", info->nfev);
    tess_json_int(json, "passes", info->n_pass);
    tess_json_object_end(json);
}

void tess_xp_record_convergence(tess_json *json, const tess_xp_record *record)
{
    const tess_xpcs_result_info *info = record->info;
    tess_json_object_begin(json, NULL);
    tess_xp_put_provenance(json, record);
    put_convergence(json, info);
    tess_xp_put_lines(json, "recovery_actions", info->recovery);
    tess_json_text(json, "quality_flag", tess_xpcs_quality_name((tess_xpcs_quality)info->quality));
    tess_json_object_begin(json, "device_info");
    tess_json_text(json, "device", info->device);
    tess_json_object_end(json);
    put_quality(json, info);
    tess_xp_put_run(json, record);
    tess_json_object_end(json);
}
