// fitted_data.npz and result.h5.
#include "systems/xpcs/result/arrays.h"

#include "base/status.h"
#include "runtime/bundle.h"

#include <string.h>

enum { NAME_BYTES = 32 };

static const char WHAT[] = "arrays of a result";

void tess_xp_arrays_init(tess_xp_arrays *arrays, tess_context *ctx)
{
    *arrays = (tess_xp_arrays){.ctx = ctx};
    tess_blocks_init(&arrays->memory, &ctx->heap);
}

void tess_xp_arrays_free(tess_xp_arrays *arrays)
{
    tess_blocks_free(&arrays->memory);
}

void tess_xp_arrays_add(tess_xp_arrays *arrays, const char *name, tess_dtype dtype, int32_t rank,
                        const int64_t *shape, const void *data)
{
    int64_t n_item = 1;
    for (int32_t i = 0; i < rank; i++) {
        n_item *= shape[i];
    }
    TESS_ASSERT(arrays->n < (int64_t)(sizeof arrays->inputs / sizeof *arrays->inputs));
    if (data && n_item > 0) {
        tess_bundle_input(&arrays->inputs[arrays->n++], name, dtype, rank, shape, data);
    }
}

static void add_reals(tess_xp_arrays *arrays, const char *name, int64_t n, const double *data)
{
    tess_xp_arrays_add(arrays, name, TESS_F64, 1, &n, data);
}

// A number, or NULL data where there was no memory for it, which the end reports.
static double *make_reals(tess_xp_arrays *arrays, const char *name, int64_t n)
{
    double *data = tess_blocks_alloc(&arrays->memory, n, sizeof *data, WHAT);
    arrays->no_memory = arrays->no_memory || !data;
    add_reals(arrays, name, n, data);
    return data;
}

tess_status tess_xp_arrays_write(tess_xp_arrays *arrays, const char *path, const char *provenance,
                                 int overwrite)
{
    if (arrays->no_memory) {
        return TESS_E_MEMORY;
    }
    arrays->inputs[0].provenance = provenance;
    return tess_bundle_write(arrays->ctx, path, arrays->inputs, arrays->n, overwrite);
}

static tess_status write_with_provenance(tess_xp_arrays *arrays, const tess_xp_record *record,
                                         const char *path, int overwrite)
{
    char *provenance = NULL;
    size_t bytes = 0;
    TESS_TRY(
        tess_xp_record_text(arrays->ctx, tess_xp_record_provenance, record, &provenance, &bytes));
    const tess_status status = tess_xp_arrays_write(arrays, path, provenance, overwrite);
    tess_heap_free(&arrays->ctx->heap, provenance, bytes, TESS_TAG_RESULT);
    return status;
}

static void add_surface(tess_xp_arrays *arrays, const tess_xp_surfaces *surfaces,
                        tess_xp_surface which, const char *name)
{
    tess_xp_surfaces_input(surfaces, which, name, &arrays->inputs[arrays->n++]);
}

static void add_coordinates(tess_xp_arrays *arrays, const tess_xpcs_result_info *info,
                            const tess_xpcs_data_info *d)
{
    double *t1 = make_reals(arrays, "t1", info->n_frame);
    double *t2 = make_reals(arrays, "t2", info->n_frame);
    for (int64_t k = 0; t1 && t2 && k < info->n_frame; k++) {
        t1[k] = t2[k] = (double)(k + (d->keep_t0 ? 0 : 1)) * info->dt_s;
    }
    add_reals(arrays, "q", 1, info->q);
    add_reals(arrays, "wavevector_q_list", info->n_angle, info->q);
}

tess_status tess_xp_write_fitted_data(tess_context *ctx, const tess_xp_record *record,
                                      const tess_xpcs_data *data, const tess_xp_surfaces *surfaces,
                                      const char *path, int overwrite)
{
    const tess_xpcs_result_info *info = record->info;
    const int64_t pairs[2] = {info->n_angle, 2};
    tess_xp_arrays arrays;
    tess_xp_arrays_init(&arrays, ctx);
    double *solver = tess_blocks_alloc(&arrays.memory, 2 * info->n_angle, sizeof *solver, WHAT);
    arrays.no_memory = !solver;
    for (int64_t a = 0; solver && a < info->n_angle; a++) {
        solver[2 * a] = info->contrast[a];
        solver[2 * a + 1] = info->offset[a];
    }
    add_reals(&arrays, "phi_angles", info->n_angle, info->phi);
    add_surface(&arrays, surfaces, TESS_XP_C2_EXP, "c2_exp");
    add_surface(&arrays, surfaces, TESS_XP_C2_RAW, "c2_theoretical_raw");
    add_surface(&arrays, surfaces, TESS_XP_C2_SCALED, "c2_theoretical_scaled");
    add_surface(&arrays, surfaces, TESS_XP_C2_SOLVER, "c2_solver_scaled");
    tess_xp_arrays_add(&arrays, "per_angle_scaling", TESS_F64, 2, pairs, surfaces->scaling);
    tess_xp_arrays_add(&arrays, "per_angle_scaling_solver", TESS_F64, 2, pairs, solver);
    add_surface(&arrays, surfaces, TESS_XP_C2_RESIDUAL, "residuals");
    add_surface(&arrays, surfaces, TESS_XP_C2_NORMALIZED, "residuals_normalized");
    add_coordinates(&arrays, info, tess_xpcs_data_get_info(data));
    const tess_status status = write_with_provenance(&arrays, record, path, overwrite);
    tess_xp_arrays_free(&arrays);
    return status;
}

static void add_text(tess_xp_arrays *arrays, const char *name, int32_t rank, int64_t n,
                     int64_t item_bytes, const char *text)
{
    tess_xp_arrays_add(arrays, name, TESS_BYTES, rank, &n, text);
    if (text && n > 0) {
        tess_format_writer_input *input = &arrays->inputs[arrays->n - 1];
        input->item_bytes = item_bytes;
        input->data_bytes = (uint64_t)(n * item_bytes);
    }
}

static void add_parameters(tess_xp_arrays *arrays, const tess_xpcs_result_info *info)
{
    const int64_t n = info->n_param;
    const int64_t square[2] = {info->n_covariance, info->n_covariance};
    char *names = tess_blocks_alloc(&arrays->memory, n, NAME_BYTES, WHAT);
    arrays->no_memory = arrays->no_memory || !names;
    for (int64_t k = 0; names && k < n; k++) {
        memcpy(names + k * NAME_BYTES, info->names[k], strnlen(info->names[k], NAME_BYTES));
    }
    add_text(arrays, "parameters/names", 1, n, NAME_BYTES, names);
    add_reals(arrays, "parameters/values", n, info->theta);
    add_reals(arrays, "parameters/uncertainties", n, info->sd);
    tess_xp_arrays_add(arrays, "parameters/status", TESS_I32, 1, &n, info->status);
    add_reals(arrays, "parameters/start", n, info->start);
    add_reals(arrays, "parameters/lower", n, info->lower);
    add_reals(arrays, "parameters/upper", n, info->upper);
    add_reals(arrays, "parameters/interval_lower", n, info->interval_lower);
    add_reals(arrays, "parameters/interval_upper", n, info->interval_upper);
    tess_xp_arrays_add(arrays, "parameters/interval_kind", TESS_I32, 1, &n, info->interval_kind);
    if (info->mode == TESS_XPCS_TWO_COMPONENT) { // f0 exp(-f1 f2) and its deviation
        add_reals(arrays, "parameters/f_product", 2, &info->f_product);
    }
    tess_xp_arrays_add(arrays, "parameters/covariance", TESS_F64, 2, square, info->covariance);
    tess_xp_arrays_add(arrays, "parameters/correlation", TESS_F64, 2, square, info->correlation);
}

static void add_angles(tess_xp_arrays *arrays, const tess_xpcs_result_info *info)
{
    const int64_t n = info->n_angle;
    add_reals(arrays, "angles/phi", n, info->phi);
    add_reals(arrays, "angles/q", n, info->q);
    add_reals(arrays, "angles/contrast", n, info->contrast);
    add_reals(arrays, "angles/contrast_uncertainty", n, info->contrast_sd);
    tess_xp_arrays_add(arrays, "angles/contrast_status", TESS_I32, 1, &n, info->contrast_status);
    add_reals(arrays, "angles/offset", n, info->offset);
    add_reals(arrays, "angles/offset_uncertainty", n, info->offset_sd);
    tess_xp_arrays_add(arrays, "angles/offset_status", TESS_I32, 1, &n, info->offset_status);
    add_reals(arrays, "angles/sigma", n, info->sigma);
    tess_xp_arrays_add(arrays, "angles/n_used", TESS_I64, 1, &n, info->n_used_angle);
    add_reals(arrays, "angles/reduced_chi_squared", n, info->reduced_chi2_angle);
}

static void add_fit(tess_xp_arrays *arrays, const tess_xpcs_result_info *info)
{
    tess_xp_arrays_add(arrays, "fit/cost", TESS_F64, 0, NULL, &info->cost);
    tess_xp_arrays_add(arrays, "fit/chi_squared", TESS_F64, 0, NULL, &info->chi2);
    tess_xp_arrays_add(arrays, "fit/reduced_chi_squared", TESS_F64, 0, NULL, &info->reduced_chi2);
    tess_xp_arrays_add(arrays, "fit/degrees_of_freedom", TESS_I64, 0, NULL, &info->dof);
    tess_xp_arrays_add(arrays, "fit/n_used", TESS_I64, 0, NULL, &info->n_used);
    tess_xp_arrays_add(arrays, "fit/dt_s", TESS_F64, 0, NULL, &info->dt_s);
    tess_xp_arrays_add(arrays, "fit/gap_angstrom", TESS_F64, 0, NULL, &info->gap_angstrom);
}

static void add_trace(tess_xp_arrays *arrays, const tess_xpcs_result_info *info)
{
    const int64_t n = info->n_trace;
    if (n < 1) {
        return;
    }
    double *columns[6] = {
        make_reals(arrays, "trace/iteration", n),     make_reals(arrays, "trace/cost", n),
        make_reals(arrays, "trace/gradient_norm", n), make_reals(arrays, "trace/step_norm", n),
        make_reals(arrays, "trace/radius", n),        make_reals(arrays, "trace/accepted", n)};
    for (int64_t i = 0; i < n && !arrays->no_memory; i++) {
        const tess_xpcs_trace *t = &info->trace[i];
        columns[0][i] = (double)t->iteration;
        columns[1][i] = t->cost;
        columns[2][i] = t->gradient_norm;
        columns[3][i] = t->step_norm;
        columns[4][i] = t->radius;
        columns[5][i] = (double)t->is_accepted;
    }
}

static void add_searches(tess_xp_arrays *arrays, const tess_xpcs_result_info *info)
{
    const int64_t n = info->n_basin;
    const int64_t samples[2] = {info->n_bootstrap, info->n_param};
    if (n > 0) {
        const int64_t shape[2] = {n, info->n_param};
        double *starts = make_reals(arrays, "basins/starts", n);
        double *cost = make_reals(arrays, "basins/cost", n);
        double *chi2 = make_reals(arrays, "basins/chi2", n);
        double *excess = make_reals(arrays, "basins/excess", n);
        double *theta = tess_blocks_alloc(&arrays->memory, n * info->n_param, sizeof *theta, WHAT);
        arrays->no_memory = arrays->no_memory || !theta;
        tess_xp_arrays_add(arrays, "basins/parameters", TESS_F64, 2, shape, theta);
        for (int64_t b = 0; b < n && !arrays->no_memory; b++) {
            starts[b] = (double)info->basins[b].n_start;
            cost[b] = info->basins[b].cost;
            chi2[b] = 2 * info->basins[b].cost;
            excess[b] = tess_xp_basin_excess(info, b);
            memcpy(theta + b * info->n_param, info->basins[b].theta,
                   (size_t)info->n_param * sizeof *theta);
        }
    }
    add_reals(arrays, "bootstrap/uncertainties", info->n_param, info->bootstrap_sd);
    tess_xp_arrays_add(arrays, "bootstrap/samples", TESS_F64, 2, samples, info->bootstrap);
}

static void add_surfaces(tess_xp_arrays *arrays, const tess_xp_surfaces *surfaces)
{
    if (surfaces) {
        add_surface(arrays, surfaces, TESS_XP_C2_EXP, "surfaces/c2_exp");
        add_surface(arrays, surfaces, TESS_XP_C2_SOLVER, "surfaces/c2_fitted");
    }
}

tess_status tess_xp_write_archive(tess_context *ctx, const tess_xp_record *record,
                                  const tess_xp_surfaces *surfaces, const char *path, int overwrite)
{
    const tess_xpcs_result_info *info = record->info;
    char *text = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_xp_record_text(ctx, tess_xp_record_whole, record, &text, &bytes));
    tess_xp_arrays arrays;
    tess_xp_arrays_init(&arrays, ctx);
    add_parameters(&arrays, info);
    add_angles(&arrays, info);
    add_fit(&arrays, info);
    add_trace(&arrays, info);
    add_searches(&arrays, info);
    add_surfaces(&arrays, surfaces);
    add_text(&arrays, "record", 0, 1, (int64_t)bytes - 1, text);
    const tess_status status = write_with_provenance(&arrays, record, path, overwrite);
    tess_xp_arrays_free(&arrays);
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}
