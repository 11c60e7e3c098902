#include "systems/xpcs/result/surfaces.h"

#include "base/blocks.h"
#include "base/span.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "runtime/watch.h"
#include "systems/xpcs/result/noise.h"

#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 24 << 20 };

// From here on f32 is enough for pictures and half the disk.
static const int64_t LARGE_POINTS = 10 * 1000 * 1000;

// The block of rows at work.
typedef struct block {
    double *measured; // [n_row][n_frame]
    double *model;
    double *sigma;
    void *line[TESS_XP_N_SURFACE]; // [n_frame] of the dtype
    int64_t n_row;
} block;

static tess_dtype dtype_for(const tess_xpcs_data_info *info)
{
    return info->n_point >= LARGE_POINTS ? TESS_F32 : TESS_F64;
}

uint64_t tess_xp_surfaces_bytes(const tess_xpcs_data_info *info)
{
    return (uint64_t)info->n_point * tess_dtype_bytes(dtype_for(info)) * TESS_XP_N_SURFACE;
}

// Best contrast and offset of every angle by itself, for raw = 1 + M; the solver's where the angle
// does not tell.
static tess_status fit_scaling(tess_xp_surfaces *s, const tess_xp_fitted *fitted,
                               tess_xpcs_data *data)
{
    const tess_xpcs_result_info *info = fitted->info;
    const int64_t n = s->n_angle;
    tess_blocks memory;
    tess_blocks_init(&memory, &s->ctx->heap);
    double *all = tess_blocks_alloc(&memory, 5 * n, sizeof *all, "sums of angles");
    if (!all) {
        return TESS_E_MEMORY;
    }
    tess_xpcs_sums sums = {.struct_size = sizeof sums,
                           .s1 = all,
                           .sf = all + n,
                           .sff = all + 2 * n,
                           .sy = all + 3 * n,
                           .sfy = all + 4 * n};
    const tess_status status =
        tess_xpcs_accumulate(s->ctx, data, &fitted->model, NULL, info->theta, &sums);
    for (int64_t a = 0; a < n && status == TESS_OK; a++) {
        const double det = sums.s1[a] * sums.sff[a] - sums.sf[a] * sums.sf[a];
        const double cross = sums.s1[a] * sums.sfy[a] - sums.sf[a] * sums.sy[a];
        const bool is_told = det > 1e-12 * sums.s1[a] * sums.sff[a];
        const double contrast = is_told ? cross / det : info->contrast[a];
        const double offset =
            is_told ? (sums.sy[a] - contrast * sums.sf[a]) / sums.s1[a] : info->offset[a];
        s->scaling[2 * a] = contrast;
        s->scaling[2 * a + 1] = offset - contrast;
    }
    tess_blocks_free(&memory);
    return status;
}

static void put(const tess_xp_surfaces *s, const block *b, tess_xp_surface which, int64_t j,
                double value)
{
    if (s->dtype == TESS_F32) {
        ((float *)b->line[which])[j] = (float)value;
    } else {
        ((double *)b->line[which])[j] = value;
    }
}

static tess_status write_row(tess_xp_surfaces *s, const block *b, const tess_xpcs_result_info *info,
                             int64_t angle, int64_t row, int64_t k)
{
    const double *y = b->measured + k * s->n_frame;
    const double *m = b->model + k * s->n_frame;
    const double *scaling = s->scaling + 2 * angle;
    const double *sigma = b->sigma + k * s->n_frame;
    for (int64_t j = 0; j < s->n_frame; j++) {
        const double raw = 1 + m[j];
        const double scaled = scaling[0] * raw + scaling[1];
        put(s, b, TESS_XP_C2_EXP, j, y[j]);
        put(s, b, TESS_XP_C2_RAW, j, raw);
        put(s, b, TESS_XP_C2_SCALED, j, scaled);
        put(s, b, TESS_XP_C2_SOLVER, j, info->offset[angle] + info->contrast[angle] * m[j]);
        put(s, b, TESS_XP_C2_RESIDUAL, j, y[j] - scaled);
        put(s, b, TESS_XP_C2_NORMALIZED, j, (y[j] - scaled) / sigma[j]);
    }
    for (int i = 0; i < TESS_XP_N_SURFACE; i++) {
        TESS_TRY(tess_spool_write(&s->spools[i], angle * s->n_frame + row, 1, b->line[i]));
    }
    return TESS_OK;
}

static tess_status write_angle(tess_xp_surfaces *s, const block *b, const tess_xp_fitted *fitted,
                               const tess_xp_noise *noise, int64_t angle, tess_watch *watch)
{
    for (int64_t first = 0; first < s->n_frame; first += b->n_row) {
        const int64_t left = s->n_frame - first;
        const int64_t n = left < b->n_row ? left : b->n_row;
        TESS_TRY(tess_watch_poll(watch, angle * s->n_frame + first, s->n_angle * s->n_frame));
        TESS_TRY(tess_xpcs_data_rows(s->ctx, noise->data, angle, first, n, b->measured));
        TESS_TRY(tess_xp_fitted_rows(fitted, angle, first, n, b->model));
        TESS_TRY(tess_xp_noise_rows(noise, angle, first, n, b->sigma));
        for (int64_t k = 0; k < n; k++) {
            TESS_TRY(write_row(s, b, fitted->info, angle, first + k, k));
        }
    }
    return TESS_OK;
}

static tess_status write_all(tess_xp_surfaces *s, const block *b, const tess_xp_fitted *fitted,
                             const tess_xp_noise *noise)
{
    tess_watch watch;
    tess_watch_begin(&watch, s->ctx, "xpcs.surfaces", "rows", 0,
                     tess_xp_surfaces_bytes(&noise->data->info), TESS_STRATEGY_CHUNKED);
    for (int64_t a = 0; a < s->n_angle; a++) {
        TESS_TRY(write_angle(s, b, fitted, noise, a, &watch));
    }
    return tess_watch_poll(&watch, s->n_angle * s->n_frame, s->n_angle * s->n_frame);
}

static tess_status spool_rows(tess_xp_surfaces *s, const tess_xp_fitted *fitted,
                              const tess_xp_noise *noise)
{
    static const char what[] = "rows of matrices";
    const int64_t wanted = BLOCK_BYTES / (s->n_frame * (int64_t)sizeof(double));
    block b = {.n_row = wanted < 1 ? 1 : wanted < s->n_frame ? wanted : s->n_frame};
    tess_blocks memory;
    tess_blocks_init(&memory, &s->ctx->heap);
    b.measured = tess_blocks_alloc(&memory, b.n_row * s->n_frame, sizeof(double), what);
    b.model = tess_blocks_alloc(&memory, b.n_row * s->n_frame, sizeof(double), what);
    b.sigma = tess_blocks_alloc(&memory, b.n_row * s->n_frame, sizeof(double), what);
    bool is_there = b.measured && b.model && b.sigma;
    for (int i = 0; i < TESS_XP_N_SURFACE && is_there; i++) {
        b.line[i] = tess_blocks_alloc(&memory, s->n_frame, tess_dtype_bytes(s->dtype), what);
        is_there = b.line[i] != NULL;
    }
    tess_span span = tess_span_begin(&s->ctx->tracer, "xpcs.surfaces");
    const tess_status status = is_there ? write_all(s, &b, fitted, noise) : TESS_E_MEMORY;
    tess_span_end(&span, (double)tess_xp_surfaces_bytes(&noise->data->info), 0);
    tess_blocks_free(&memory);
    return status;
}

static tess_status create_spools(tess_xp_surfaces *s, const char *path)
{
    const int64_t shape[2] = {s->n_angle * s->n_frame, s->n_frame};
    tess_array array;
    TESS_TRY(tess_array_init(&array, NULL, s->dtype, 2, shape));
    for (int i = 0; i < TESS_XP_N_SURFACE; i++) {
        TESS_TRY(tess_spool_create(path, &array, &s->spools[i]));
    }
    return TESS_OK;
}

static tess_status make(tess_xp_surfaces *s, const tess_xpcs_result_info *info,
                        tess_xpcs_data *data, const tess_xpcs_model *model, const char *path)
{
    tess_xp_fitted fitted;
    tess_status status = tess_xp_fitted_open(s->ctx, info, data, model, &fitted);
    if (status == TESS_OK) {
        status = create_spools(s, path);
    }
    if (status == TESS_OK) {
        status = fit_scaling(s, &fitted, data);
    }
    tess_xp_noise noise = {0};
    if (status == TESS_OK) {
        status = tess_xp_noise_open(info, data, &noise);
    }
    if (status == TESS_OK) {
        status = spool_rows(s, &fitted, &noise);
    }
    tess_xp_noise_close(&noise);
    tess_xp_fitted_close(&fitted);
    return status;
}

tess_status tess_xp_surfaces_make(tess_context *ctx, const tess_xpcs_result_info *info,
                                  tess_xpcs_data *data, const tess_xpcs_model *model,
                                  const char *path, tess_xp_surfaces *out)
{
    *out = (tess_xp_surfaces){.ctx = ctx,
                              .n_angle = info->n_angle,
                              .n_frame = info->n_frame,
                              .dtype = dtype_for(&data->info)};
    for (int i = 0; i < TESS_XP_N_SURFACE; i++) {
        out->spools[i].fd = -1;
    }
    out->scaling = tess_heap_alloc(&ctx->heap, (size_t)info->n_angle * 2 * sizeof *out->scaling,
                                   TESS_TAG_RESULT, "scaling of angles");
    const tess_status status = out->scaling ? make(out, info, data, model, path) : TESS_E_MEMORY;
    if (status != TESS_OK) {
        tess_xp_surfaces_free(out);
    }
    return status;
}

void tess_xp_surfaces_free(tess_xp_surfaces *s)
{
    if (!s->ctx) {
        return;
    }
    for (int i = 0; i < TESS_XP_N_SURFACE; i++) {
        tess_spool_close(&s->spools[i]);
    }
    tess_heap_free(&s->ctx->heap, s->scaling, (size_t)s->n_angle * 2 * sizeof *s->scaling,
                   TESS_TAG_RESULT);
    *s = (tess_xp_surfaces){0};
}

void tess_xp_surfaces_input(const tess_xp_surfaces *s, tess_xp_surface which, const char *name,
                            tess_format_writer_input *input)
{
    const int64_t shape[3] = {s->n_angle, s->n_frame, s->n_frame};
    tess_bundle_input(input, name, s->dtype, 3, shape, NULL);
    tess_spool_input(&s->spools[which], input);
}
