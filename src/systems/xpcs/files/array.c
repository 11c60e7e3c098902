// Data from matrices in the caller's memory.
#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/files/select.h"
#include "systems/xpcs/files/symmetric.h"
#include "systems/xpcs/store/store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MIN_FRAMES = 3, MAX_FRAMES = 200000 }; // as of files

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
    if (out->n_angle < 1 || out->n_frame < MIN_FRAMES || out->n_frame > MAX_FRAMES) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: %lld matrices of %lld frames; expected at least one, of %d to %d frames",
                  name, (long long)out->n_angle, (long long)out->n_frame, (int)MIN_FRAMES,
                  (int)MAX_FRAMES);
    }
    if (!array->data) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: data is NULL", name);
    }
    return TESS_OK;
}

// The caller's matrices as they are put: where they lie, or where they have to be completed as
// those of files are, in a copy.
typedef struct reading {
    tess_context *ctx;
    const matrices *from;
    const char *name; // of the argument
    tess_dtype dtype; // that is wanted: the matrices' own, or f64
    void *copy;       // [n_frame][n_frame]; NULL: none was needed yet
    size_t copy_bytes;
} reading;

static void end_reading(reading *r)
{
    if (r->copy) {
        tess_heap_free(&r->ctx->heap, r->copy, r->copy_bytes, TESS_TAG_SCRATCH);
    }
}

static tess_status take_copy(reading *r)
{
    const size_t n = (size_t)r->from->n_frame; // at most 200000
    if (!r->copy) {
        r->copy_bytes = n * n * (size_t)tess_dtype_bytes(r->dtype);
        r->copy = tess_heap_alloc(&r->ctx->heap, r->copy_bytes, TESS_TAG_SCRATCH, "a matrix");
    }
    return r->copy ? TESS_OK : TESS_E_MEMORY;
}

static void copy_items(const reading *r, const tess_xp_view *view)
{
    const int64_t n = view->n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = i * view->row_stride + j * view->column_stride;
            if (r->dtype == TESS_F32) {
                ((float *)r->copy)[i * n + j] = ((const float *)view->items)[at];
            } else if (view->dtype == TESS_F64) {
                ((double *)r->copy)[i * n + j] = ((const double *)view->items)[at];
            } else {
                ((double *)r->copy)[i * n + j] = (double)((const float *)view->items)[at];
            }
        }
    }
}

// Matrix k of the selection, from frame 0 of the selection on, of the dtype that is wanted.
static tess_status read_matrix(reading *r, const tess_xp_selection *selection, int64_t k,
                               tess_xp_view *out)
{
    const matrices *m = r->from;
    const int64_t angle = selection->index[k];
    *out = (tess_xp_view){.items = m->data + angle * m->angle_stride * m->item_bytes,
                          .dtype = (tess_dtype)m->dtype,
                          .n = m->n_frame,
                          .row_stride = m->row_stride,
                          .column_stride = m->column_stride};
    if (out->dtype != r->dtype || !tess_xp_upper_suffices(out)) {
        char name[40];
        snprintf(name, sizeof name, "%s[%lld]", r->name, (long long)angle);
        TESS_TRY(take_copy(r));
        copy_items(r, out);
        TESS_TRY(tess_xp_complete(r->copy, r->dtype, out->n, r->name, name, selection->phi[k]));
        *out = (tess_xp_view){r->copy, r->dtype, out->n, out->n, 1};
    }
    const int64_t frame = selection->start_frame - 1 + selection->first;
    out->items = (const char *)out->items + frame * (out->row_stride + out->column_stride) *
                                                (int64_t)tess_dtype_bytes(r->dtype);
    return TESS_OK;
}

static tess_status put_all(tess_xpcs_data *data, reading *c2, reading *sigma,
                           const tess_xp_selection *selection, int64_t exclude_lags)
{
    for (int64_t k = 0; k < selection->n; k++) {
        tess_xp_view view;
        TESS_TRY(read_matrix(c2, selection, k, &view));
        tess_xp_matrix matrix = {.c2 = view.items,
                                 .row_stride = view.row_stride,
                                 .column_stride = view.column_stride,
                                 .is_bad = selection->is_bad ? selection->is_bad + selection->first
                                                             : NULL,
                                 .exclude_lags = exclude_lags};
        if (sigma) {
            TESS_TRY(read_matrix(sigma, selection, k, &view));
            matrix.sigma = view.items;
            matrix.sigma_row_stride = view.row_stride;
            matrix.sigma_column_stride = view.column_stride;
        }
        TESS_TRY(tess_xp_data_put(data, k, &matrix));
    }
    return TESS_OK;
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
    reading points = {.ctx = ctx, .from = c2, .name = "c2", .dtype = (tess_dtype)c2->dtype};
    reading deviations = {.ctx = ctx, .from = sigma, .name = "sigma", .dtype = TESS_F64};
    const tess_status status =
        put_all(data, &points, sigma ? &deviations : NULL, selection, config->exclude_lags);
    end_reading(&points);
    end_reading(&deviations);
    return status == TESS_OK ? tess_xp_data_finish(data) : status;
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
    TESS_TRY(tess_xp_check_config(&config));
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
