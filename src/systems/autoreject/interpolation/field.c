#include "systems/autoreject/interpolation/field.h"

#include "base/span.h"
#include "base/status.h"
#include "runtime/stage.h"
#include "systems/autoreject/epochs/projection.h"
#include "systems/autoreject/interpolation/coils.h"
#include "systems/autoreject/interpolation/positions.h"

#include <math.h>
#include <string.h>

// The sphere: its centre in head coordinates unless fitted, and the radius of the sources' sphere.
static const double CENTRE[3] = {0, 0, 0.04};
static const double RADIUS = 0.06;
// Coils are so far from the centre, metres.
static const double NEAREST = 0.05;
static const double FARTHEST = 0.25;
// Standard deviations of the noise: T, and T/m.
static const double NOISE_MAG = 20e-15;
static const double NOISE_GRAD = 5e-13;
// Share of the eigenvalues' sum that a mapping may leave out.
static const double MISS = 1e-4;
enum { TERMS_FAST = 49, TERMS_ACCURATE = 99 };

// Points of all coils, as the stage wants them.
typedef struct points {
    double *place;  // [3][capacity]
    double *normal; // [3][capacity]
    double *length;
    double *weight;
    int64_t *first; // [n + 1]
    int64_t n;
    int64_t stride;
} points;

static tess_status add_coil(points *p, const tess_autoreject_channel *channel,
                            const tess_ar_coil *coil, const double centre[3])
{
    for (int64_t k = 0; k < coil->n; k++) {
        double v[3];
        double square = 0;
        for (int i = 0; i < 3; i++) {
            v[i] = coil->place[k][i] - centre[i];
            square += v[i] * v[i];
        }
        const double length = sqrt(square);
        if (k == 0 && !(length >= NEAREST && length <= FARTHEST)) {
            TESS_FAIL(TESS_E_RANGE,
                      "channel %s: its coil is %g m from the centre of the sphere; MEG coils are "
                      "%g to %g m from it. Are positions in metres?",
                      channel->name, length, NEAREST, FARTHEST);
        }
        for (int64_t i = 0; i < 3; i++) {
            p->place[i * p->stride + p->n] = v[i] / length;
            p->normal[i * p->stride + p->n] = coil->normal[i];
        }
        p->length[p->n] = length;
        p->weight[p->n++] = coil->weight[k];
    }
    return TESS_OK;
}

static tess_status collect(const tess_autoreject_sensors *sensors, const int64_t *channels,
                           int64_t n, const double centre[3], points *p)
{
    for (int64_t i = 0; i < n; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[channels[i]];
        if (channel->type != TESS_AUTOREJECT_MAG && channel->type != TESS_AUTOREJECT_GRAD) {
            TESS_FAIL(TESS_E_ARGUMENT, "channel %s is %s; dot products are those of mag and grad",
                      channel->name, tess_autoreject_type_name(channel->type));
        }
        tess_ar_coil coil;
        TESS_TRY(tess_ar_coil_place(sensors, channel, &coil));
        p->first[i] = p->n;
        TESS_TRY(add_coil(p, channel, &coil, centre));
    }
    p->first[n] = p->n;
    return TESS_OK;
}

// The points lie closer than their capacity: rows of three are moved together.
static void close_up(points *p)
{
    for (int64_t i = 1; i < 3; i++) {
        memmove(p->place + i * p->n, p->place + i * p->stride, (size_t)p->n * sizeof *p->place);
        memmove(p->normal + i * p->n, p->normal + i * p->stride, (size_t)p->n * sizeof *p->normal);
    }
    p->stride = p->n;
}

static tess_status dots_of(tess_context *ctx, tess_device *device,
                           const tess_autoreject_sensors *sensors, const int64_t *channels,
                           int64_t n, const tess_autoreject_interpolation_config *config, points *p,
                           double *dots)
{
    double centre[3];
    memcpy(centre, CENTRE, sizeof centre);
    if (config->fitted_origin) {
        TESS_TRY(tess_ar_origin(sensors, config, centre));
    }
    TESS_TRY(collect(sensors, channels, n, centre, p));
    close_up(p);
    const tess_stage_autoreject_dots args = {
        .place = p->place,
        .normal = p->normal,
        .length = p->length,
        .weight = p->weight,
        .first = p->first,
        .out = dots,
        .n_coil = n,
        .n_point = p->n,
        .n_term = config->meg_accurate ? TERMS_ACCURATE : TERMS_FAST,
        .radius = RADIUS,
        .table = config->meg_dots == TESS_AUTOREJECT_DOTS_TABLE,
        .linear = config->meg_accurate != 0};
    tess_span span = tess_span_begin(&ctx->tracer, "autoreject.dots");
    const tess_status status =
        tess_stage_run(device, TESS_STAGE_AUTOREJECT_DOTS, &args, sizeof args);
    tess_span_end(&span, 0, (double)p->n * (double)p->n * (double)args.n_term * 11);
    return status;
}

tess_status tess_ar_field_dots(tess_context *ctx, tess_device *device,
                               const tess_autoreject_sensors *sensors, const int64_t *channels,
                               int64_t n, const tess_autoreject_interpolation_config *config,
                               double *dots)
{
    const int64_t capacity = n * TESS_AR_COIL_POINTS;
    const size_t bytes =
        (size_t)(8 * capacity) * sizeof(double) + (size_t)(n + 1) * sizeof(int64_t);
    double *block = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "points of MEG coils");
    if (!block) {
        return TESS_E_MEMORY;
    }
    points p = {.place = block,
                .normal = block + 3 * capacity,
                .length = block + 6 * capacity,
                .weight = block + 7 * capacity,
                .first = (int64_t *)(block + 8 * capacity),
                .stride = capacity};
    const tess_status status = dots_of(ctx, device, sensors, channels, n, config, &p, dots);
    tess_heap_free(&ctx->heap, block, bytes, TESS_TAG_SCRATCH);
    return status;
}

static size_t dots_bytes(const tess_ar_field *field)
{
    return (size_t)(field->n * field->n) * sizeof(double);
}

static size_t vector_bytes(const tess_ar_field *field)
{
    return (size_t)(field->n_vector * field->n) * sizeof(double);
}

tess_status tess_ar_field_create(tess_context *ctx, tess_device *device,
                                 const tess_autoreject_sensors *sensors, const int64_t *channels,
                                 int64_t n, const tess_autoreject_interpolation_config *config,
                                 tess_ar_field *field)
{
    *field = (tess_ar_field){.ctx = ctx, .device = device, .n = n};
    field->n_vector = tess_ar_projector_count(sensors);
    field->dots = tess_heap_alloc(&ctx->heap, dots_bytes(field), TESS_TAG_PLAN, "dot products");
    field->scale = tess_heap_alloc(&ctx->heap, (size_t)n * sizeof(double), TESS_TAG_PLAN,
                                   "standard deviations");
    field->vectors = tess_heap_alloc(&ctx->heap, vector_bytes(field), TESS_TAG_PLAN, "projectors");
    if (!field->dots || !field->scale || !field->vectors) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        const bool is_mag = sensors->channels[channels[i]].type == TESS_AUTOREJECT_MAG;
        field->scale[i] = 1 / (is_mag ? NOISE_MAG : NOISE_GRAD);
    }
    tess_ar_projector_vectors(sensors, channels, n, field->vectors);
    return tess_ar_field_dots(ctx, device, sensors, channels, n, config, field->dots);
}

void tess_ar_field_destroy(tess_ar_field *field)
{
    tess_heap *heap = &field->ctx->heap;
    tess_heap_free(heap, field->dots, dots_bytes(field), TESS_TAG_PLAN);
    tess_heap_free(heap, field->scale, (size_t)field->n * sizeof(double), TESS_TAG_PLAN);
    tess_heap_free(heap, field->vectors, vector_bytes(field), TESS_TAG_PLAN);
}

tess_status tess_ar_field_map(const tess_ar_field *field, tess_ar_map *maps, int64_t n_map)
{
    tess_context *ctx = field->ctx;
    const int64_t p = field->n_vector;
    const size_t bytes = (size_t)(p * (n_map * field->n + 2 * (p + 1))) * sizeof(double);
    double *basis = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "bases of projectors");
    if (!basis) {
        return TESS_E_MEMORY;
    }
    double *work = basis + p * n_map * field->n;
    double flops = 0;
    for (int64_t m = 0; m < n_map; m++) {
        double *own = basis + m * p * field->n;
        maps[m].basis = own;
        maps[m].n_basis = tess_ar_projection_basis(field->vectors, p, field->n, maps[m].from,
                                                   maps[m].n_from, work, own);
        flops += 4.0 / 3 * (double)maps[m].n_from * (double)maps[m].n_from * (double)maps[m].n_from;
    }
    const tess_stage_autoreject_map args = {.dots = field->dots,
                                            .scale = field->scale,
                                            .maps = maps,
                                            .n_map = n_map,
                                            .n_chan = field->n,
                                            .miss = MISS};
    tess_span span = tess_span_begin(&ctx->tracer, "autoreject.mapping");
    const tess_status status =
        tess_stage_run_apart(field->device, TESS_STAGE_AUTOREJECT_MAP, &args, sizeof args);
    tess_span_end(&span, 0, flops);
    tess_heap_free(&ctx->heap, basis, bytes, TESS_TAG_SCRATCH);
    return status;
}
