// The whole result as JSON, and the parts its files share.
#include "systems/xpcs/result/record.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "runtime/provenance.h"
#include "tessera/run.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA "tessera.xpcs.result/1"

void tess_xp_record_init(tess_xp_record *record, const tess_context *ctx,
                         const tess_xpcs_result_info *info, const char *command_line)
{
    *record = (tess_xp_record){.info = info, .command_line = command_line, .command = ctx->command};
    tess_utc_text(record->timestamp, sizeof record->timestamp);
}

bool tess_xp_is_written(tess_context *ctx, const tess_xpcs_result_info *info, const char *path)
{
    if (!info->identity || !info->identity[0] ||
        !tess_provenance_is_of(ctx, path, info->identity)) {
        return false;
    }
    tess_temp_file_sweep(path);
    return true;
}

void tess_xp_choice(const char *param, int32_t value, char text[32])
{
    const tess_param_table *table = tess_xpcs_fit_params();
    text[0] = '\0';
    for (int64_t i = 0; i < table->n_param; i++) {
        const tess_param *p = &table->params[i];
        if (strcmp(p->name, param) != 0 || p->type != TESS_PARAM_CHOICE) {
            continue;
        }
        const char *at = p->choices;
        for (int32_t k = 0; k < value && at; k++) {
            at = strchr(at, '|');
            at = at ? at + 1 : NULL;
        }
        if (at && value >= 0) {
            snprintf(text, 32, "%.*s", (int)strcspn(at, "|"), at);
        }
        return;
    }
}

const char *tess_xp_data_name(const tess_xpcs_result_info *info)
{
    const char *path = info->data_path ? info->data_path : "";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void tess_xp_put_reals(tess_json *json, const char *key, const double *items, int64_t n)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; items && i < n; i++) {
        tess_json_real(json, NULL, items[i]);
    }
    tess_json_array_end(json);
}

void tess_xp_put_matrix(tess_json *json, const char *key, const double *items, int64_t n)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; items && i < n; i++) {
        tess_xp_put_reals(json, NULL, items + i * n, n);
    }
    tess_json_array_end(json);
}

static void put_statuses(tess_json *json, const char *key, const int32_t *items, int64_t n)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; items && i < n; i++) {
        tess_json_text(json, NULL, tess_xpcs_param_status_name((tess_xpcs_param_status)items[i]));
    }
    tess_json_array_end(json);
}

void tess_xp_put_lines(tess_json *json, const char *key, const char *lines)
{
    enum { LONGEST = 2000 };
    tess_json_array_begin(json, key);
    while (lines && *lines) {
        char line[LONGEST];
        const size_t n = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", n < LONGEST ? (int)n : LONGEST - 1, lines);
        tess_json_text(json, NULL, line);
        lines += n + (lines[n] == '\n');
    }
    tess_json_array_end(json);
}

void tess_xp_put_parameter_details(tess_json *json, const tess_xpcs_result_info *info)
{
    int64_t n_known = 0;
    const tess_xpcs_param_info *known = tess_xpcs_params((tess_xpcs_mode)info->mode, &n_known);
    tess_json_array_begin(json, "parameter_details");
    for (int64_t k = 0; k < info->n_param; k++) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", info->names[k]);
        tess_json_text(json, "unit", k < n_known ? known[k].unit : "");
        tess_json_real(json, "value", info->theta[k]);
        tess_json_real(json, "uncertainty", info->sd[k]);
        tess_json_text(json, "status",
                       tess_xpcs_param_status_name((tess_xpcs_param_status)info->status[k]));
        const double interval[2] = {info->interval_lower[k], info->interval_upper[k]};
        tess_xp_put_reals(json, "interval_95", interval, 2);
        tess_json_text(json, "interval_kind",
                       tess_xpcs_interval_name((tess_xpcs_interval)info->interval_kind[k]));
        tess_json_real(json, "start", info->start[k]);
        tess_json_real(json, "lower", info->lower[k]);
        tess_json_real(json, "upper", info->upper[k]);
        if (info->bootstrap_sd) {
            tess_json_real(json, "bootstrap_uncertainty", info->bootstrap_sd[k]);
        }
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    if (info->mode == TESS_XPCS_TWO_COMPONENT) {
        tess_json_object_begin(json, "f_product"); // f0 exp(-f1 f2)
        tess_json_real(json, "value", info->f_product);
        tess_json_real(json, "uncertainty", info->f_product_sd);
        tess_json_object_end(json);
    }
}

void tess_xp_put_per_angle(tess_json *json, const tess_xpcs_result_info *info)
{
    const int64_t n = info->n_angle;
    tess_json_object_begin(json, "per_angle");
    tess_xp_put_reals(json, "phi", info->phi, n);
    tess_xp_put_reals(json, "q", info->q, n);
    tess_xp_put_reals(json, "contrast", info->contrast, n);
    tess_xp_put_reals(json, "contrast_uncertainty", info->contrast_sd, n);
    put_statuses(json, "contrast_status", info->contrast_status, n);
    tess_xp_put_reals(json, "offset", info->offset, n);
    tess_xp_put_reals(json, "offset_uncertainty", info->offset_sd, n);
    put_statuses(json, "offset_status", info->offset_status, n);
    tess_xp_put_reals(json, "sigma", info->sigma, n);
    tess_json_array_begin(json, "n_used");
    for (int64_t a = 0; info->n_used_angle && a < n; a++) {
        tess_json_int(json, NULL, info->n_used_angle[a]);
    }
    tess_json_array_end(json);
    tess_xp_put_reals(json, "reduced_chi_squared", info->reduced_chi2_angle, n);
    tess_json_object_end(json);
}

static void put_choice(tess_json *json, const char *param, int32_t value)
{
    char text[32];
    tess_xp_choice(param, value, text);
    tess_json_text(json, param, text);
}

void tess_xp_put_method(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_text(json, "shear_kernel", tess_xpcs_kernel_name((tess_xpcs_kernel)info->kernel));
    put_choice(json, "scaling", info->scaling);
    put_choice(json, "loss", info->loss);
    put_choice(json, "sigma_mode", info->sigma_mode);
    tess_json_bool(json, "sigma_is_default", info->sigma_is_default);
    put_choice(json, "counting", info->counting);
    if (info->noise_photons > 0) {
        tess_json_object_begin(json, "noise");
        tess_json_text(json, "model", "frames");
        tess_json_real(json, "pixels", info->noise_pixels);
        tess_json_real(json, "photons", info->noise_photons);
        tess_json_object_end(json);
    }
    put_choice(json, "precision", info->precision);
    tess_json_int(json, "seed", info->seed);
}

void tess_xp_put_run(tess_json *json, const tess_xp_record *record)
{
    static const char *const names[5] = {"read_s", "model_s", "solve_s", "checkpoint_s", "total_s"};
    const tess_xpcs_result_info *info = record->info;
    tess_json_object_begin(json, "run");
    tess_json_text(json, "written", record->timestamp);
    tess_json_text(json, "command_line", record->command_line ? record->command_line : "");
    for (int i = 0; i < 5; i++) {
        tess_json_real(json, names[i], info->seconds[i]);
    }
    tess_json_real(json, "points_per_s", info->points_per_s);
    tess_json_uint(json, "peak_bytes", info->peak_bytes);
    tess_json_text(json, "strategy", tess_strategy_name((tess_strategy)info->strategy));
    tess_json_text(json, "device", info->device);
    tess_json_bool(json, "resumed", info->resumed);
    tess_json_int(json, "checkpoints", info->n_checkpoint);
    tess_json_object_end(json);
}

static void put_trace(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_array_begin(json, "trace");
    for (int64_t i = 0; i < info->n_trace; i++) {
        const tess_xpcs_trace *t = &info->trace[i];
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "iteration", t->iteration);
        tess_json_real(json, "cost", t->cost);
        tess_json_real(json, "gradient_norm", t->gradient_norm);
        tess_json_real(json, "step_norm", t->step_norm);
        tess_json_real(json, "radius", t->radius);
        tess_json_bool(json, "accepted", t->is_accepted != 0);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

double tess_xp_basin_excess(const tess_xpcs_result_info *info, int64_t basin)
{
    return 2 * (info->basins[basin].cost - info->basins[0].cost) / info->reduced_chi2;
}

void tess_xp_put_basins(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_array_begin(json, "basins");
    for (int64_t i = 0; i < info->n_basin; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "starts", info->basins[i].n_start);
        tess_json_real(json, "cost", info->basins[i].cost);
        tess_json_real(json, "chi2", 2 * info->basins[i].cost);
        tess_json_real(json, "excess", tess_xp_basin_excess(info, i));
        tess_json_object_begin(json, "parameters");
        for (int64_t k = 0; k < info->n_param; k++) {
            tess_json_real(json, info->names[k], info->basins[i].theta[k]);
        }
        tess_json_object_end(json);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static void put_bootstrap(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_array_begin(json, "bootstrap");
    for (int64_t b = 0; info->bootstrap && b < info->n_bootstrap; b++) {
        tess_xp_put_reals(json, NULL, info->bootstrap + b * info->n_param, info->n_param);
    }
    tess_json_array_end(json);
}

static void put_numbers(tess_json *json, const tess_xpcs_result_info *info)
{
    tess_json_real(json, "cost", info->cost);
    tess_json_real(json, "chi_squared", info->chi2);
    tess_json_real(json, "reduced_chi_squared", info->reduced_chi2);
    tess_json_int(json, "degrees_of_freedom", info->dof);
    tess_json_real(json, "aic", info->aic);
    tess_json_real(json, "bic", info->bic);
    tess_json_real(json, "gradient_norm", info->gradient_norm);
    tess_json_real(json, "condition", info->condition);
    tess_json_int(json, "n_points", info->n_point);
    tess_json_int(json, "n_used", info->n_used);
    tess_json_int(json, "n_masked", info->n_masked);
    tess_json_int(json, "n_free", info->n_free);
    tess_json_int(json, "n_angles", info->n_angle);
    tess_json_int(json, "n_frames", info->n_frame);
    tess_json_real(json, "dt_s", info->dt_s);
    tess_json_real(json, "gap_angstrom", info->gap_angstrom);
    tess_json_int(json, "iterations", info->n_iteration);
    tess_json_int(json, "function_evaluations", info->nfev);
    tess_json_int(json, "passes", info->n_pass);
}

static void put_provenance(tess_json *json, const char *key, const tess_xp_record *record)
{
    const tess_xpcs_result_info *info = record->info;
    tess_json_object_begin(json, key);
    tess_origin_head(json, "xpcs.fit", record->command);
    tess_json_text(json, "identity", info->identity);
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    tess_xp_put_method(json, info);
    tess_json_int(json, "items", info->n_used);
    tess_json_text(json, "unit", "points");
    tess_json_array_begin(json, "inputs");
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", tess_xp_data_name(info));
    tess_json_text(json, "fingerprint", info->data_fingerprint);
    tess_json_object_end(json);
    tess_json_array_end(json);
    tess_json_object_end(json);
}

void tess_xp_record_provenance(tess_json *json, const tess_xp_record *record)
{
    put_provenance(json, NULL, record);
}

void tess_xp_put_provenance(tess_json *json, const tess_xp_record *record)
{
    put_provenance(json, TESS_ORIGIN_NAME, record);
}

void tess_xp_record_whole(tess_json *json, const tess_xp_record *record)
{
    const tess_xpcs_result_info *info = record->info;
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", SCHEMA);
    tess_json_text(json, "tessera", info->tessera_version);
    tess_xp_put_provenance(json, record);
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    tess_xp_put_method(json, info);
    tess_json_text(json, "convergence_status",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence));
    tess_json_int(json, "termination", info->termination);
    tess_json_text(json, "message", info->message);
    tess_json_text(json, "quality_flag", tess_xpcs_quality_name((tess_xpcs_quality)info->quality));
    put_numbers(json, info);
    tess_xp_put_parameter_details(json, info);
    tess_xp_put_per_angle(json, info);
    tess_xp_put_matrix(json, "covariance", info->covariance, info->n_covariance);
    tess_xp_put_matrix(json, "correlation", info->correlation, info->n_covariance);
    put_trace(json, info);
    tess_xp_put_basins(json, info);
    put_bootstrap(json, info);
    tess_xp_put_lines(json, "warnings", info->warnings);
    tess_xp_put_lines(json, "recovery_actions", info->recovery);
    tess_json_text(json, "data_name", tess_xp_data_name(info));
    tess_json_text(json, "data_fingerprint", info->data_fingerprint);
    tess_json_text(json, "config_hash", info->config_hash);
    tess_xp_put_run(json, record);
    tess_json_object_end(json);
}

tess_status tess_xp_record_text(tess_context *ctx, tess_xp_record_writer writer,
                                const tess_xp_record *record, char **text, size_t *bytes)
{
    *text = NULL;
    tess_json *json = NULL;
    TESS_TRY(tess_json_create_on(&ctx->heap, 2, &json));
    writer(json, record);
    return tess_json_keep(json, text, bytes);
}

tess_status tess_xp_result_json_of(tess_context *ctx, const tess_xpcs_result_info *info,
                                   char **text)
{
    tess_xp_record record;
    tess_json *json = NULL;
    *text = NULL;
    tess_xp_record_init(&record, ctx, info, NULL);
    TESS_TRY(tess_json_create_on(&ctx->heap, 2, &json));
    tess_xp_record_whole(json, &record);
    return tess_json_hand_out(json, text);
}
