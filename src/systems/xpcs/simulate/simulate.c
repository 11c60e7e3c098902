// Synthetic correlations: the model at a known truth, with noise that any tile can make alone.
#include "systems/xpcs/simulate/simulate.h"

#include "base/rng.h"
#include "base/span.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/settings/constants.h"
#include "systems/xpcs/simulate/speckle.h"

#include <math.h>
#include <string.h>

// Published fits of real samples.
static const double STATIC_THETA[] = {16918, -1.572, 3.05};
static const double LAMINAR_THETA[] = {68481, -1.327, 1708, 1.991e-3, -0.212, -6.07e-4, 2};

static const double TWO_THETA[] = {100,    0.298, 182.5,  1e4,     0,     0,      471.7,
                                   0.4325, 57.15, 0.0793, -0.0517, 0.888, 0.6272, -2.06};

// Streams of random numbers: one purpose each.
enum { DRAW_CONTRAST = 1, DRAW_OFFSET = 2 };

// Made at a time; a device that has to send them takes more at once.
static const uint64_t CHUNK_BYTES = 2 << 20;
static const uint64_t SENT_BYTES = 64 << 20;

typedef struct simulation {
    tess_xp_generator generator; // first: data know it by this
    tess_context *ctx;
    tess_xpcs_simulation settings;
    tess_xp_grids grids;
    int64_t n_angle;
    int64_t n_frame; // of the data
    double theta[TESS_XPCS_MAX_PARAM];
    double *tables; // [4][n_angle] phi, q, contrast, offset
    tess_xp_angle *angles;
    uint8_t *is_bad; // [n_frame]; NULL: none
} simulation;

static tess_status make(tess_xp_generator *self, tess_device *device, const tess_xp_tiles *tiles,
                        int64_t first_leaf, int64_t n_leaf, unsigned char *records)
{
    simulation *s = (simulation *)(void *)self;
    const tess_stage_xpcs_simulate args = {
        .tiles = tiles,
        .grid = &s->grids.grid,
        .angles = s->angles,
        .is_bad = s->is_bad,
        .records = records,
        .first_leaf = first_leaf,
        .n_leaf = n_leaf,
        .seed = (uint64_t)s->settings.seed,
        .sigma = s->settings.sigma,
        .nan_fraction = s->settings.nan_fraction,
        .n_param = (int32_t)s->grids.n_param,
        .power = tess_xp_power((tess_xpcs_kernel)s->settings.model.kernel)};
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, first_leaf);
    return tess_xp_simulate_on(device, &args,
                               tess_xp_tiles_leaf_offset(tiles, first_leaf + n_leaf) - begin);
}

static void destroy(tess_xp_generator *self)
{
    simulation *s = (simulation *)(void *)self;
    tess_heap *heap = &s->ctx->heap;
    tess_xp_grids_destroy(s->ctx, &s->grids);
    tess_heap_free(heap, s->tables, 4 * (size_t)s->n_angle * sizeof *s->tables, TESS_TAG_PLAN);
    tess_heap_free(heap, s->angles, (size_t)s->n_angle * sizeof *s->angles, TESS_TAG_PLAN);
    tess_heap_free(heap, s->is_bad, (size_t)s->n_frame, TESS_TAG_PLAN);
    tess_heap_free(heap, s, sizeof *s, TESS_TAG_PLAN);
}

// Zero-mean normal of an angle, of one purpose.
static double draw(const simulation *s, int64_t angle, uint32_t purpose)
{
    const tess_philox_stream stream =
        tess_philox_open((uint64_t)s->settings.seed, (uint32_t)angle, purpose);
    double normal;
    tess_philox_normals(&stream, 0, 1, &normal);
    return normal;
}

static tess_status check_value(const char *name, int64_t angle, double value)
{
    if (!isfinite(value)) {
        TESS_FAIL(TESS_E_RANGE, "%s[%lld]: %g; expected a finite number", name, (long long)angle,
                  value);
    }
    return TESS_OK;
}

static tess_status fill_angles(simulation *s)
{
    const tess_xpcs_simulation *given = &s->settings;
    const int64_t n = s->n_angle;
    double *phi = s->tables;
    double *q = phi + n;
    double *contrast = q + n;
    double *offset = contrast + n;
    for (int64_t a = 0; a < n; a++) {
        // The middles of n equal parts: both ends would be the same angle.
        phi[a] = given->phi ? given->phi[a] : -90 + 180 * ((double)a + 0.5) / (double)n;
        q[a] = given->q_list ? given->q_list[a] : given->q;
        contrast[a] = given->contrasts ? given->contrasts[a] : given->contrast;
        offset[a] = given->offsets ? given->offsets[a] : given->offset;
        TESS_TRY(check_value("contrasts", a, contrast[a]));
        TESS_TRY(check_value("offsets", a, offset[a]));
        if (given->contrast_scatter > 0) {
            contrast[a] *= 1 + given->contrast_scatter * draw(s, a, DRAW_CONTRAST);
        }
        if (given->offset_scatter > 0) {
            offset[a] += given->offset_scatter * draw(s, a, DRAW_OFFSET);
        }
    }
    TESS_TRY(tess_xp_angles_check(phi, q, n));
    for (int64_t a = 0; a < n; a++) {
        tess_xp_angle_fill(&s->angles[a], &given->model, s->theta, phi[a], q[a]);
        s->angles[a].contrast = contrast[a];
        s->angles[a].offset = offset[a];
        s->angles[a].mean = offset[a];
    }
    return TESS_OK;
}

static tess_status mark_bad_frames(simulation *s)
{
    const tess_xpcs_simulation *given = &s->settings;
    if (given->n_bad_frame == 0) {
        return TESS_OK;
    }
    s->is_bad =
        tess_heap_alloc_zero(&s->ctx->heap, (size_t)s->n_frame, TESS_TAG_PLAN, "bad frames");
    if (!s->is_bad) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < given->n_bad_frame; k++) {
        const int64_t frame = given->bad_frames[k];
        if (frame < 1 || frame > given->n_frame) {
            TESS_FAIL(TESS_E_RANGE, "bad_frames[%lld]: %lld; frames are 1 to %lld", (long long)k,
                      (long long)frame, (long long)given->n_frame);
        }
        const int64_t at = frame - 1 - (given->n_frame - s->n_frame);
        if (at >= 0) {
            s->is_bad[at] = 1;
        }
    }
    return TESS_OK;
}

static tess_status prepare(simulation *s)
{
    tess_heap *heap = &s->ctx->heap;
    const tess_xpcs_simulation *given = &s->settings;
    const size_t n = (size_t)s->n_angle;
    s->tables = tess_heap_alloc_zero(heap, 4 * n * sizeof *s->tables, TESS_TAG_PLAN, "angles");
    s->angles = tess_heap_alloc_zero(heap, n * sizeof *s->angles, TESS_TAG_PLAN, "angles");
    if (!s->tables || !s->angles) {
        return TESS_E_MEMORY;
    }
    const int64_t n_param = tess_xp_n_param((tess_xpcs_mode)given->model.mode);
    const double *published = n_param == TESS_XPCS_N_STATIC ? STATIC_THETA
                              : n_param == TESS_XPCS_N_TWO  ? TWO_THETA
                                                            : LAMINAR_THETA;
    memcpy(s->theta, given->theta ? given->theta : published, (size_t)n_param * sizeof *s->theta);
    TESS_TRY(tess_xp_theta_check(&given->model, s->theta));
    TESS_TRY(tess_xp_grids_create(s->ctx, &given->model, s->n_frame, &s->grids));
    tess_xp_grids_fill(&s->grids, &given->model, s->theta);
    TESS_TRY(fill_angles(s));
    return mark_bad_frames(s);
}

static tess_status open(tess_context *ctx, const tess_xpcs_simulation *given, simulation **out)
{
    tess_xpcs_simulation settings;
    tess_xpcs_simulation_init(&settings, sizeof settings);
    if (given) {
        TESS_TRY(tess_struct_read(given, &settings, sizeof settings, "simulation"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_simulation_params(), &settings));
    TESS_TRY(tess_params_check(tess_xpcs_model_params(), &settings.model));
    TESS_TRY(tess_xp_constants_check(&settings.model));
    static const int32_t stages[] = {TESS_STAGE_XPCS_SIMULATE};
    tess_device *device = NULL;
    TESS_TRY(tess_group_refuse(ctx, "simulation"));
    TESS_TRY(tess_stage_choose(ctx, stages, 1, "simulation", &device));
    if (settings.speckle && !device->shares_host_memory && !ctx->device_is_auto) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "speckle is made by the CPU alone; leave the device to it");
    }
    TESS_TRY(tess_xp_device_for(ctx, settings.model.mode, "simulation", &device));
    simulation *s = tess_heap_alloc_zero(&ctx->heap, sizeof *s, TESS_TAG_PLAN, "simulation");
    if (!s) {
        return TESS_E_MEMORY;
    }
    s->generator = (tess_xp_generator){.stage = settings.model.mode == TESS_XPCS_TWO_COMPONENT
                                                    ? TESS_STAGE_XPCS_TWO
                                                    : TESS_STAGE_XPCS_SIMULATE,
                                       .device = device,
                                       .make = make,
                                       .destroy = destroy};
    s->ctx = ctx;
    s->settings = settings;
    s->n_angle = settings.n_angle;
    s->n_frame = settings.n_frame - (settings.model.keep_t0 ? 0 : 1);
    const tess_status status = prepare(s);
    if (status != TESS_OK) {
        destroy(&s->generator);
        return status;
    }
    // What was the caller's is not looked at again.
    s->settings.theta = s->settings.phi = s->settings.q_list = NULL;
    s->settings.contrasts = s->settings.offsets = NULL;
    s->settings.bad_frames = NULL;
    *out = s;
    return TESS_OK;
}

static int64_t leaves_per_chunk(const simulation *s, const tess_xpcs_data *data)
{
    const bool is_sent = !s->generator.device->shares_host_memory;
    return tess_xp_leaves_in(data, is_sent ? SENT_BYTES : CHUNK_BYTES);
}

// Everything that a sample depends on.
static tess_hash fingerprint(const simulation *s)
{
    const tess_hash_kind kind = tess_hash_default();
    const tess_xpcs_simulation *given = &s->settings;
    const struct {
        tess_hash tables;
        tess_hash theta;
        tess_hash is_bad;
        double numbers[4];
        int64_t integers[9];
    } parts = {.tables =
                   tess_hash_bytes(kind, s->tables, 4 * (size_t)s->n_angle * sizeof *s->tables),
               .theta = tess_hash_bytes(kind, s->theta, sizeof s->theta),
               .is_bad = s->is_bad ? tess_hash_bytes(kind, s->is_bad, (size_t)s->n_frame)
                                   : (tess_hash){0, 0},
               .numbers = {given->sigma, given->nan_fraction, given->model.dt_s,
                           given->model.gap_angstrom},
               .integers = {given->dtype, s->n_angle, s->n_frame, given->seed, given->model.mode,
                            given->model.kernel, given->model.keep_t0, given->model.compat_eps,
                            s->grids.n_param}};
    return tess_hash_bytes(kind, &parts, sizeof parts);
}

// Counts and sums of the heads of some records, in order of tiles.
static void add_heads(const tess_xp_tiles *tiles, int64_t first_leaf, int64_t n_leaf,
                      const unsigned char *records, double *sums)
{
    const uint64_t base = tess_xp_tiles_leaf_offset(tiles, first_leaf);
    const int64_t all = (first_leaf + n_leaf) * TESS_STAGE_XPCS_LEAF;
    const int64_t end = all < tiles->n_tile ? all : tiles->n_tile;
    for (int64_t t = first_leaf * TESS_STAGE_XPCS_LEAF; t < end; t++) {
        const uint64_t offset = tess_xp_tiles_at(tiles, t).offset - base;
        const double *head = (const double *)(const void *)(records + offset);
        for (int64_t a = 0; a < tiles->n_angle; a++) {
            sums[2 * a] += head[a * TESS_STAGE_XPCS_HEAD];
            sums[2 * a + 1] += head[a * TESS_STAGE_XPCS_HEAD + 1];
        }
    }
}

static tess_status check_share(const simulation *s, const tess_xpcs_data *data, int64_t angle)
{
    const int64_t n_pair = s->n_frame * (s->n_frame - 1) / 2;
    if (2 * data->info.n_finite[angle] < n_pair) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "simulation: %lld of %lld points of angle %lld are NaN, more than half; lower "
                  "nan_fraction or name fewer bad frames",
                  (long long)(n_pair - data->info.n_finite[angle]), (long long)n_pair,
                  (long long)angle);
    }
    return TESS_OK;
}

// One pass: how many points are finite and what their mean is; heads refer to it from then on.
static tess_status measure(simulation *s, tess_xpcs_data *data, tess_xp_reader *reader,
                           double *sums)
{
    const int64_t all = tess_xp_tiles_n_leaf(&data->tiles);
    tess_watch watch;
    tess_watch_begin(&watch, s->ctx, "xpcs.simulate", "leaves", 0, data->info.bytes,
                     TESS_STRATEGY_CHUNKED);
    for (int64_t leaf = 0; leaf < all; leaf += reader->leaves_per_chunk) {
        const int64_t n =
            reader->leaves_per_chunk < all - leaf ? reader->leaves_per_chunk : all - leaf;
        const unsigned char *records = NULL;
        TESS_TRY(tess_xp_reader_get(reader, leaf, n, &records));
        add_heads(&data->tiles, leaf, n, records, sums);
        TESS_TRY(tess_watch_poll(&watch, leaf + n, all));
    }
    int64_t *n_finite = (int64_t *)(void *)(data->tables + 3 * data->n_made);
    for (int64_t a = 0; a < s->n_angle; a++) {
        n_finite[a] = (int64_t)sums[2 * a];
        TESS_TRY(check_share(s, data, a));
        s->angles[a].mean += sums[2 * a + 1] / sums[2 * a];
        data->tables[2 * data->n_made + a] = s->angles[a].mean;
        data->info.n_used += n_finite[a];
    }
    return TESS_OK;
}

static tess_status measure_all(simulation *s, tess_xpcs_data *data)
{
    const size_t bytes = 2 * (size_t)s->n_angle * sizeof(double);
    tess_heap *heap = &s->ctx->heap;
    double *sums = tess_heap_alloc_zero(heap, bytes, TESS_TAG_SCRATCH, "sums of angles");
    if (!sums) {
        return TESS_E_MEMORY;
    }
    tess_xp_reader reader;
    tess_span span = tess_span_begin(&s->ctx->tracer, "xpcs.simulate");
    tess_status status =
        tess_xp_reader_open(s->ctx, data, leaves_per_chunk(s, data), false, &reader);
    if (status == TESS_OK) {
        status = measure(s, data, &reader, sums);
    }
    tess_xp_reader_close(&reader);
    tess_span_end(&span, (double)data->info.bytes, 0);
    tess_heap_free(heap, sums, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status check_room(const simulation *s, const tess_xpcs_data *data)
{
    uint64_t used = 0;
    uint64_t peak = 0;
    tess_context_memory(s->ctx, &used, &peak);
    const uint64_t limit = s->ctx->memory_limit_bytes;
    if (used > limit || data->info.bytes > limit - used) {
        TESS_FAIL(
            TESS_E_LIMIT,
            "memory limit: %llu bytes; the simulation in memory needs %llu; make it on demand "
            "(in_memory 0) or raise the limit",
            (unsigned long long)limit, (unsigned long long)(used + data->info.bytes));
    }
    return TESS_OK;
}

// The second making, with heads that refer to the mean; bit for bit what a reader would get.
static tess_status keep(simulation *s, tess_xpcs_data *data)
{
    const int64_t all = tess_xp_tiles_n_leaf(&data->tiles);
    const int64_t per_chunk = leaves_per_chunk(s, data);
    TESS_TRY(tess_xp_data_take_records(data));
    for (int64_t leaf = 0; leaf < all; leaf += per_chunk) {
        const int64_t n = per_chunk < all - leaf ? per_chunk : all - leaf;
        TESS_TRY(make(&s->generator, s->generator.device, &data->tiles, leaf, n,
                      data->records + tess_xp_tiles_leaf_offset(&data->tiles, leaf)));
        TESS_TRY(tess_context_check_cancel(s->ctx));
    }
    return tess_xp_data_seal(data);
}

static tess_status make_data(simulation *s, tess_xpcs_data *data, int32_t in_memory)
{
    data->info.layout = "simulation";
    data->info.dt_s = s->settings.model.dt_s;
    data->info.gap_angstrom = s->settings.model.gap_angstrom;
    data->info.keep_t0 = s->settings.model.keep_t0;
    data->info.end_frame = s->settings.n_frame;
    data->fingerprint = fingerprint(s);
    if (in_memory || s->settings.speckle) {
        TESS_TRY(check_room(s, data));
    }
    if (s->settings.speckle) {
        TESS_TRY(tess_xp_data_take_records(data));
        return tess_xp_speckle_put(s->ctx, &s->settings, s->theta, s->angles, s->is_bad, data);
    }
    TESS_TRY(measure_all(s, data));
    return in_memory ? keep(s, data) : TESS_OK;
}

tess_status tess_xpcs_simulate(tess_context *ctx, const tess_xpcs_simulation *given,
                               int32_t in_memory, tess_xpcs_data **out)
{
    tess_error_clear();
    *out = NULL;
    simulation *s = NULL;
    TESS_TRY(open(ctx, given, &s));
    tess_xpcs_data *data = NULL;
    tess_status status = tess_xp_data_create(ctx, TESS_XPCS_GENERATED, s->n_angle, s->n_frame,
                                             s->settings.dtype == 0 ? TESS_F32 : TESS_F64, 0,
                                             s->tables, s->tables + s->n_angle, &data);
    if (status != TESS_OK) {
        destroy(&s->generator);
        return status;
    }
    data->generator = &s->generator;
    status = make_data(s, data, in_memory);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(data);
        return status;
    }
    *out = data;
    return TESS_OK;
}

tess_xp_truth tess_xp_simulated_truth(const tess_xpcs_data *data)
{
    const simulation *s = (const simulation *)(const void *)data->generator;
    return (tess_xp_truth){.theta = s->theta,
                           .contrast = s->tables + 2 * s->n_angle,
                           .offset = s->tables + 3 * s->n_angle};
}
