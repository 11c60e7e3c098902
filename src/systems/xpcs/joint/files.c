#include "systems/xpcs/joint/files.h"

#include "base/status.h"
#include "systems/xpcs/result/outcome.h"
#include "tessera/io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILES = 4 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_unknown(tess_json *json, const char *key, const tess_xpcs_unknown *u)
{
    tess_json_object_begin(json, key);
    if (u->member >= 0) {
        tess_json_int(json, "member", u->member);
    }
    tess_json_real(json, "value", u->value);
    tess_json_real(json, "uncertainty", u->sd);
    tess_json_text(json, "status", tess_xpcs_param_status_name((tess_xpcs_param_status)u->status));
    tess_json_object_end(json);
}

static void put_parameter(tess_json *json, const tess_xpcs_joint_info *info, int64_t k)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)info->mode, &n);
    const tess_xpcs_tie_test *test = &info->tests[k];
    const bool is_each = info->ties[k] == TESS_XPCS_TIE_EACH;
    tess_json_object_begin(json, info->names[k]);
    tess_json_text(json, "tie", tess_xpcs_tie_name((tess_xpcs_tie)info->ties[k]));
    tess_json_text(json, "unit", params[k].unit);
    if (is_each) {
        tess_json_array_begin(json, "values");
    }
    for (int64_t i = 0; i < info->n_unknown; i++) {
        const tess_xpcs_unknown *u = &info->unknowns[i];
        if (u->param == k) {
            put_unknown(json, is_each ? NULL : u->is_exponent ? "exponent" : "value", u);
        }
    }
    if (is_each) {
        tess_json_array_end(json);
    }
    if (test->dof > 0) {
        tess_json_object_begin(json, "test");
        tess_json_real(json, "chi_squared_gain", test->gain);
        tess_json_int(json, "degrees_of_freedom", test->dof);
        tess_json_real(json, "p", test->p);
        tess_json_object_end(json);
    }
    tess_json_object_end(json);
}

static void put_named(tess_json *json, const char *key, const tess_xpcs_joint_info *info,
                      const double *values)
{
    tess_json_object_begin(json, key);
    for (int64_t k = 0; k < info->n_param; k++) {
        tess_json_real(json, info->names[k], values[k]);
    }
    tess_json_object_end(json);
}

static void put_member(tess_json *json, const tess_xpcs_joint_info *info, int64_t m)
{
    const tess_xpcs_result_info *single = tess_xpcs_result_get_info(info->single[m]);
    const int64_t first = info->first_angle[m];
    const int64_t n = info->first_angle[m + 1] - first;
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "data", base_name(info->paths[m]));
    tess_json_real(json, "q", info->q[m]);
    put_named(json, "parameters", info, info->theta + m * info->n_param);
    put_named(json, "uncertainties", info, info->sd + m * info->n_param);
    tess_json_real(json, "chi_squared", info->chi2[m]);
    tess_json_real(json, "reduced_chi_squared", info->reduced_chi2[m]);
    tess_json_real(json, "noise", info->noise[m]);
    tess_json_object_begin(json, "alone");
    put_named(json, "parameters", info, single->theta);
    put_named(json, "uncertainties", info, single->sd);
    tess_json_real(json, "chi_squared", single->chi2);
    tess_json_text(json, "convergence",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)single->convergence));
    tess_json_text(json, "quality", tess_xpcs_quality_name((tess_xpcs_quality)single->quality));
    tess_json_object_end(json);
    tess_xp_put_reals(json, "phi", info->phi + first, n);
    tess_xp_put_reals(json, "contrast", info->contrast + first, n);
    tess_xp_put_reals(json, "contrast_uncertainty", info->contrast_sd + first, n);
    tess_xp_put_reals(json, "offset", info->offset + first, n);
    tess_xp_put_reals(json, "offset_uncertainty", info->offset_sd + first, n);
    tess_json_object_end(json);
}

static void put_all(tess_json *json, const void *self)
{
    const tess_xpcs_joint_info *info = self;
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    tess_json_text(json, "convergence",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence));
    tess_json_text(json, "quality", tess_xpcs_quality_name((tess_xpcs_quality)info->quality));
    tess_json_text(json, "message", info->message);
    tess_xp_put_lines(json, "warnings", info->warnings);
    tess_json_real(json, "q_ref", info->q_ref);
    tess_json_object_begin(json, "parameters");
    for (int64_t k = 0; k < info->n_param; k++) {
        put_parameter(json, info, k);
    }
    tess_json_object_end(json);
    tess_json_object_begin(json, "sharing");
    tess_json_real(json, "chi_squared_excess", info->excess);
    tess_json_int(json, "degrees_of_freedom", info->excess_dof);
    tess_json_real(json, "p", info->excess_p);
    tess_json_object_end(json);
    tess_json_array_begin(json, "members");
    for (int64_t m = 0; m < info->n_member; m++) {
        put_member(json, info, m);
    }
    tess_json_array_end(json);
    tess_xp_put_matrix(json, "covariance", info->covariance, info->n_unknown);
    tess_json_real(json, "condition", info->condition);
    tess_json_int(json, "n_evaluation", info->n_evaluation);
    tess_json_int(json, "n_start", info->n_start);
    tess_json_object_begin(json, "run");
    tess_json_real(json, "seconds", info->seconds);
    tess_json_bool(json, "resumed", info->resumed);
    tess_json_int(json, "n_checkpoint", info->n_checkpoint);
    tess_json_object_end(json);
}

static tess_xp_outcome outcome_of(const tess_xpcs_joint *joint)
{
    return (tess_xp_outcome){.stage = "xpcs.joint",
                             .identity = joint->info.identity,
                             .put = put_all,
                             .info = &joint->info};
}

tess_status tess_xpcs_joint_json(tess_context *ctx, const tess_xpcs_joint *joint, char **text)
{
    tess_error_clear();
    if (!ctx || !joint || !text) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !joint ? "joint" : "text");
    }
    *text = NULL;
    const tess_xp_outcome outcome = outcome_of(joint);
    return tess_xp_outcome_json(ctx, &outcome, text);
}

static void put_cell(tess_text *csv, double value)
{
    char text[40] = "";
    if (isfinite(value)) {
        tess_real_text(value, 1, text, sizeof text);
    } else {
        snprintf(text, sizeof text, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
    tess_text_printf(csv, ",%s", text);
}

// A line per member.
static tess_status write_csv(tess_context *ctx, const tess_xpcs_joint_info *info, const char *path,
                             int overwrite)
{
    tess_text csv;
    const char *text = NULL;
    tess_text_init(&csv, &ctx->heap);
    tess_text_add(&csv, "member,q,chi2,reduced_chi2,n_angle");
    for (int64_t k = 0; k < info->n_param; k++) {
        tess_text_printf(&csv, ",%s,%s_sd,%s_alone,%s_alone_sd", info->names[k], info->names[k],
                         info->names[k], info->names[k]);
    }
    for (int64_t m = 0; m < info->n_member; m++) {
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(info->single[m]);
        tess_text_printf(&csv, "\n%lld", (long long)m);
        put_cell(&csv, info->q[m]);
        put_cell(&csv, info->chi2[m]);
        put_cell(&csv, info->reduced_chi2[m]);
        tess_text_printf(&csv, ",%lld",
                         (long long)(info->first_angle[m + 1] - info->first_angle[m]));
        for (int64_t k = 0; k < info->n_param; k++) {
            put_cell(&csv, info->theta[m * info->n_param + k]);
            put_cell(&csv, info->sd[m * info->n_param + k]);
            put_cell(&csv, single->theta[k]);
            put_cell(&csv, single->sd[k]);
        }
    }
    tess_text_add(&csv, "\n");
    tess_status status = tess_text_finish(&csv, &text);
    if (status == TESS_OK) {
        status = tess_text_save(ctx, path, "xpcs.joint", text, overwrite);
    }
    tess_text_destroy(&csv);
    return status;
}

static tess_status write_npz(tess_context *ctx, const tess_xp_outcome *outcome, const char *path,
                             int replace)
{
    const tess_xpcs_joint_info *info = outcome->info;
    const int64_t m = info->n_member;
    const int64_t a = info->n_angle;
    const int64_t n_first = m + 1;
    const int64_t by_param[2] = {m, info->n_param};
    const int64_t square[2] = {info->n_unknown, info->n_unknown};
    const struct {
        const char *name;
        const double *data;
        int64_t n;
    } vectors[] = {{"q", info->q, m},
                   {"chi2", info->chi2, m},
                   {"reduced_chi2", info->reduced_chi2, m},
                   {"noise", info->noise, m},
                   {"phi", info->phi, a},
                   {"contrast", info->contrast, a},
                   {"contrast_sd", info->contrast_sd, a},
                   {"offset", info->offset, a},
                   {"offset_sd", info->offset_sd, a}};
    tess_xp_arrays arrays;
    tess_xp_arrays_init(&arrays, ctx);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        tess_xp_arrays_add(&arrays, vectors[i].name, TESS_F64, 1, &vectors[i].n, vectors[i].data);
    }
    tess_xp_arrays_add(&arrays, "theta", TESS_F64, 2, by_param, info->theta);
    tess_xp_arrays_add(&arrays, "sd", TESS_F64, 2, by_param, info->sd);
    tess_xp_arrays_add(&arrays, "first_angle", TESS_I64, 1, &n_first, info->first_angle);
    tess_xp_arrays_add(&arrays, "covariance", TESS_F64, 2, square, info->covariance);
    double *x = tess_blocks_alloc(&arrays.memory, 2 * info->n_unknown, sizeof *x, "unknowns");
    tess_status status = TESS_E_MEMORY;
    if (x) {
        for (int64_t i = 0; i < info->n_unknown; i++) {
            x[i] = info->unknowns[i].value;
            x[info->n_unknown + i] = info->unknowns[i].sd;
        }
        tess_xp_arrays_add(&arrays, "unknowns", TESS_F64, 1, square, x);
        tess_xp_arrays_add(&arrays, "unknowns_sd", TESS_F64, 1, square, x + info->n_unknown);
        status = tess_xp_outcome_write_arrays(outcome, &arrays, path, replace);
    }
    tess_xp_arrays_free(&arrays);
    return status;
}

tess_status tess_xpcs_joint_write(tess_context *ctx, const tess_xpcs_joint *joint,
                                  const char *folder, int overwrite)
{
    static const char *const names[FILES] = {"joint.json", "joint.npz", "joint.csv", "report.html"};
    char paths[FILES][TESS_XP_OUTCOME_PATH];
    int replace = 0;
    tess_error_clear();
    if (!ctx || !joint || !folder || !folder[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: missing; results need a context, a fit and a folder",
                  !ctx     ? "context"
                  : !joint ? "joint"
                           : "folder");
    }
    const tess_xp_outcome outcome = outcome_of(joint);
    TESS_TRY(
        tess_xp_outcome_begin(ctx, &outcome, folder, names, FILES, overwrite, paths, &replace));
    TESS_TRY(tess_xp_outcome_write_json(ctx, &outcome, paths[0], replace));
    TESS_TRY(write_npz(ctx, &outcome, paths[1], replace));
    TESS_TRY(write_csv(ctx, &joint->info, paths[2], replace));
    return tess_xp_joint_page(ctx, &joint->info, paths[3], replace);
}
