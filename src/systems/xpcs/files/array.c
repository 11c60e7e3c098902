// Data from matrices in the caller's memory.
#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/files/select.h"
#include "systems/xpcs/store/store.h"

#include <math.h>
#include <string.h>

// A view as (P,N,N), whatever its rank.
typedef struct matrices {
    const char *data; // of matrix 0
    int32_t dtype;
    int64_t item_bytes;
    int64_t n_angle;
    int64_t n_frame;
    int64_t angle_stride; // in items, as the others
    int64_t row_stride;
    int64_t column_stride;
} matrices;

static tess_status read_view(const tess_array *array, const char *name, matrices *out)
{
    const int32_t first = array->rank - 2;
    if (array->rank != 2 && array->rank != 3) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: has %d axes; expected (angles, frames, frames) or (frames, "
                  "frames)",
                  name, array->rank);
    }
    if (array->shape[first] != array->shape[first + 1]) {
        TESS_FAIL(TESS_E_SHAPE, "%s: matrices of %lld x %lld are not square", name,
                  (long long)array->shape[first], (long long)array->shape[first + 1]);
    }
    if (array->dtype != TESS_F32 && array->dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "%s: element type %s; expected f32 or f64", name,
                  tess_dtype_name((tess_dtype)array->dtype));
    }
    if (array->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE, "%s: must be in host memory", name);
    }
    *out = (matrices){.data = array->data,
                      .dtype = array->dtype,
                      .item_bytes = (int64_t)tess_dtype_bytes((tess_dtype)array->dtype),
                      .n_angle = first == 1 ? array->shape[0] : 1,
                      .n_frame = array->shape[first],
                      .angle_stride = first == 1 ? array->stride[0] : 0,
                      .row_stride = array->stride[first],
                      .column_stride = array->stride[first + 1]};
    if (out->n_angle < 1 || out->n_frame < 3) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: %lld matrices of %lld frames; at least one of 3 frames is needed", name,
                  (long long)out->n_angle, (long long)out->n_frame);
    }
    if (!array->data) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: data is NULL", name);
    }
    return TESS_OK;
}

// Where frame 0 of the selection begins in matrix a.
static const void *corner(const matrices *m, const tess_xp_selection *selection, int64_t a)
{
    const int64_t frame = selection->start_frame - 1 + selection->first;
    return m->data +
           (a * m->angle_stride + frame * (m->row_stride + m->column_stride)) * m->item_bytes;
}

// The upper triangle of f32 standard deviations as f64, [n][n].
static void widen(const matrices *m, const float *from, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            to[i * n + j] = (double)from[i * m->row_stride + j * m->column_stride];
        }
    }
}

static tess_status put_all(tess_xpcs_data *data, const matrices *c2, const matrices *sigma,
                           const tess_xp_selection *selection, int64_t exclude_lags)
{
    const int64_t n = data->info.n_frame;
    const bool is_widened = sigma && sigma->dtype == TESS_F32;
    const size_t bytes = is_widened ? (size_t)n * (size_t)n * sizeof(double) : 0;
    double *wide = NULL;
    if (is_widened) {
        wide = tess_heap_alloc(&data->ctx->heap, bytes, TESS_TAG_SCRATCH, "standard deviations");
        if (!wide) {
            return TESS_E_MEMORY;
        }
    }
    tess_status status = TESS_OK;
    for (int64_t k = 0; k < selection->n && status == TESS_OK; k++) {
        const int64_t a = selection->index[k];
        tess_xp_matrix matrix = {.c2 = corner(c2, selection, a),
                                 .row_stride = c2->row_stride,
                                 .column_stride = c2->column_stride,
                                 .is_bad = selection->is_bad ? selection->is_bad + selection->first
                                                             : NULL,
                                 .exclude_lags = exclude_lags};
        if (is_widened) {
            widen(sigma, corner(sigma, selection, a), n, wide);
            matrix.sigma = wide;
            matrix.sigma_row_stride = n;
            matrix.sigma_column_stride = 1;
        } else if (sigma) {
            matrix.sigma = corner(sigma, selection, a);
            matrix.sigma_row_stride = sigma->row_stride;
            matrix.sigma_column_stride = sigma->column_stride;
        }
        status = tess_xp_data_put(data, k, &matrix);
    }
    if (wide) {
        tess_heap_free(&data->ctx->heap, wide, bytes, TESS_TAG_SCRATCH);
    }
    return status;
}

static tess_status from_selection(tess_context *ctx, const matrices *c2, const matrices *sigma,
                                  const tess_xpcs_data_config *config,
                                  const tess_xp_selection *selection, tess_xpcs_data **out)
{
    const int64_t n_frame = selection->n_frame - selection->first;
    TESS_TRY(tess_xp_data_create_fitting(ctx, config->cache_folder, 0, selection->n, n_frame,
                                         (tess_dtype)c2->dtype, sigma != NULL, selection->phi,
                                         selection->q, out));
    tess_xpcs_data *data = *out;
    data->info.dt_s = config->dt_s;
    data->info.gap_angstrom = config->gap_angstrom;
    data->info.start_frame = selection->start_frame;
    data->info.end_frame = selection->end_frame;
    data->info.keep_t0 = config->keep_t0 == 1;
    const size_t length = strlen(selection->notes);
    if (length > 0) {
        tess_xp_data_note(data, "%.*s", (int)length - 1, selection->notes);
    }
    TESS_TRY(put_all(data, c2, sigma, selection, config->exclude_lags));
    return tess_xp_data_finish(data);
}

static tess_status check_angles(const double *phi, const double *q, int64_t n_angle)
{
    if (!phi || !q) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: is NULL; expected %lld values", phi ? "q" : "phi",
                  (long long)n_angle);
    }
    for (int64_t a = 0; a < n_angle; a++) {
        if (!isfinite(phi[a])) {
            TESS_FAIL(TESS_E_NUMERIC, "phi[%lld]: is %g; expected degrees", (long long)a, phi[a]);
        }
        if (!(q[a] > 0) || !isfinite(q[a])) {
            TESS_FAIL(TESS_E_CONFIG, "q[%lld]: is %g; expected a scattering vector in 1/Å, above 0",
                      (long long)a, q[a]);
        }
    }
    return TESS_OK;
}

static tess_status check_sigma_shape(const matrices *c2, const matrices *sigma)
{
    if (sigma->n_angle != c2->n_angle || sigma->n_frame != c2->n_frame) {
        TESS_FAIL(TESS_E_SHAPE,
                  "sigma: %lld matrices of %lld frames; c2 has %lld of %lld, they must agree",
                  (long long)sigma->n_angle, (long long)sigma->n_frame, (long long)c2->n_angle,
                  (long long)c2->n_frame);
    }
    return TESS_OK;
}

tess_status tess_xpcs_data_from_array(tess_context *ctx, const tess_array *c2, const double *phi,
                                      const double *q, const tess_array *sigma,
                                      const tess_xpcs_data_config *given, tess_xpcs_data **out)
{
    tess_error_clear();
    *out = NULL;
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_data_params(), &config));
    matrices view;
    matrices sigma_view;
    TESS_TRY(read_view(c2, "c2", &view));
    if (sigma) {
        TESS_TRY(read_view(sigma, "sigma", &sigma_view));
        TESS_TRY(check_sigma_shape(&view, &sigma_view));
    }
    TESS_TRY(check_angles(phi, q, view.n_angle));
    const tess_xp_candidates candidates = {.name = "c2",
                                           .n = view.n_angle,
                                           .q = q,
                                           .phi = phi,
                                           .n_frame = view.n_frame,
                                           .q_tolerance = -1};
    tess_xp_selection selection;
    TESS_TRY(tess_xp_select(ctx, &config, &candidates, &selection));
    tess_status status =
        from_selection(ctx, &view, sigma ? &sigma_view : NULL, &config, &selection, out);
    tess_xp_selection_destroy(&selection);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(*out);
        *out = NULL;
    }
    return status;
}
