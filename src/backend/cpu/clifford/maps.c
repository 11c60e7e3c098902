// Linear maps of rows on the CPU, in plain C: sums in f64, each a chain in the order of channels
// or rows, so threads do not show.
#include "stage/clifford_maps.h"

#include "backend/cpu/clifford/stages.h"
#include "tessera/clifford/maps.h"

enum { BLOCK_ROWS = 16, FEW = 8 };

typedef struct maps_job {
    const tess_stage_clifford_maps *args;
    tess_cl_maps_parts parts;
    int8_t component[TESS_CL_MAPS_PAIRS][2];
} maps_job;

static int64_t channel_at(const tess_cl_maps_side *side, int64_t channel)
{
    const int64_t channels = side->n_channel / side->n_group;
    const int64_t width = channels * TESS_CL_MAPS_COMPONENTS + side->n_scalar / side->n_group;
    return channel / channels * width + channel % channels * TESS_CL_MAPS_COMPONENTS;
}

static int64_t scalar_at(const tess_cl_maps_side *side, int64_t scalar)
{
    const int64_t scalars = side->n_scalar / side->n_group;
    const int64_t mv = side->n_channel / side->n_group * TESS_CL_MAPS_COMPONENTS;
    return scalar / scalars * (mv + scalars) + mv + scalar % scalars;
}

#define SCALAR float
#define T_NAME(name) name##_f32
#include "backend/cpu/clifford/maps_body.h"

#undef SCALAR
#undef T_NAME
#define SCALAR double
#define T_NAME(name) name##_f64
#include "backend/cpu/clifford/maps_body.h"

tess_status tess_cpu_clifford_maps(tess_backend_device *device, const void *args)
{
    static const int8_t null_pairs[TESS_CL_MAPS_PAIRS][2] = {{0, 1},  {2, 5},  {3, 6},   {4, 7},
                                                             {8, 11}, {9, 12}, {10, 13}, {14, 15}};
    const tess_stage_clifford_maps *a = args;
    maps_job job = {.args = a,
                    .parts = tess_cl_maps_parts_of(a->x.n_channel, a->x.n_scalar, a->z.n_channel,
                                                   a->z.n_scalar)};
    for (int8_t p = 0; p < TESS_CL_MAPS_PAIRS; p++) {
        const bool is_null = a->pairs == TESS_CLIFFORD_PAIRS_NULL;
        job.component[p][0] = is_null ? null_pairs[p][0] : p;
        job.component[p][1] = is_null ? null_pairs[p][1] : (int8_t)(15 - p);
    }
    const bool is_f64 = a->dtype == TESS_F64;
    if (a->pass == TESS_CL_MAPS_ITEMS) {
        return tess_parallel_for(device->ctx->pool, a->x.n_channel + a->x.n_scalar + 1,
                                 is_f64 ? sum_line_f64 : sum_line_f32, &job);
    }
    const int64_t n_block = (a->n_row + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return tess_parallel_for(device->ctx->pool, n_block, is_f64 ? map_block_f64 : map_block_f32,
                             &job);
}
