// decode's clusterless likelihood on the CPU: ranges of spikes cut into tiles for the pool.
#include "stage/decode_likelihood.h"

#include "backend/cpu/decode/kde.h"
#include "base/status.h"

typedef struct kde_job {
    const tess_kernels *kernels;
    const tess_stage_decode_kde *args;
    int64_t *tile_first;     // [n_range + 1]
    tess_kde_counts *counts; // [n_tile]
    unsigned char *scratch;  // [n_thread][scratch_bytes]
    size_t scratch_bytes;
    int64_t tile_size;
} kde_job;

// Whole vectors, at least one, so that a tile has KDE_LANES lanes at most.
static int64_t tile_size(const tess_kde_model *model, const tess_kernels *kernels)
{
    const int64_t lanes = (int64_t)(kernels->vector_bytes() / sizeof(float));
    const int64_t wanted = model->n_dim > 1 ? KDE_TILE_PLANE : KDE_TILE;
    return wanted < lanes ? lanes : wanted / lanes * lanes;
}

static int64_t n_tiles(const kde_job *job, int64_t range)
{
    return (job->args->ranges[range].n_spike + job->tile_size - 1) / job->tile_size;
}

static size_t padded(int64_t n, size_t item_bytes)
{
    return ((size_t)n * item_bytes + TESS_ALIGN - 1) / TESS_ALIGN * TESS_ALIGN;
}

// Lays the arrays out one after another from memory on; NULL only counts.
static size_t scratch_layout(const tess_kde_model *m, unsigned char *memory, kde_scratch *s)
{
    const tess_kde_grid *g = &m->grid;
    const int64_t n_partial =
        g->n_dim == 2 ? KDE_ROWS * g->order * g->axes[1].n_block * TESS_KDE_BLOCK
                      : (int64_t)kde_has_nodes(m) * m->nodes.axes[1].n_block * TESS_KDE_BLOCK;
    const int64_t lanes = m->is_exact ? 0 : KDE_LANES;
    const struct {
        double **array;
        int64_t n;
    } parts[] = {
        {&s->x, m->max_feature * KDE_TILE},
        {&s->nearest, KDE_TILE},
        {&s->weights, KDE_EXACT_CHUNK * KDE_TILE},
        {&s->kernel, KDE_EXACT_CHUNK * m->n_bin},
        {&s->sums, m->n_bin * KDE_TILE},
        {&s->row, m->n_bin},
        {&s->mark, m->max_feature},
        {&s->anew, m->max_feature * KDE_TILE},
        {&s->values, m->n_bin * KDE_TILE},
        {&s->far, 3 * m->max_spike},
    };
    const struct {
        float **array;
        int64_t n;
    } parts_f32[] = {
        {&s->x_f32, m->max_feature * lanes},
        {&s->weights_f32, KDE_CHUNK * lanes},
        {&s->moments, g->cells_at_once * g->n_column * lanes},
        {&s->partial, n_partial * lanes},
        {&s->places, kde_n_place(g) * lanes},
        {&s->sums_f32, m->n_bin * lanes},
        {&s->total, lanes},
        {&s->values_f32, m->n_bin * lanes},
        {&s->lane, 4 * lanes},
    };
    size_t used = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        *parts[k].array = memory ? (double *)(memory + used) : NULL;
        used += padded(parts[k].n, sizeof(double));
    }
    for (size_t k = 0; k < sizeof parts_f32 / sizeof *parts_f32; k++) {
        *parts_f32[k].array = memory ? (float *)(memory + used) : NULL;
        used += padded(parts_f32[k].n, sizeof(float));
    }
    return used;
}

size_t kde_scratch_bytes(const tess_kde_model *model)
{
    kde_scratch unused;
    return scratch_layout(model, NULL, &unused);
}

void kde_scratch_open(const tess_kde_model *model, void *memory, kde_scratch *scratch)
{
    scratch_layout(model, memory, scratch);
}

// The range a tile belongs to: the last that starts at or before it.
static int64_t range_of(const kde_job *job, int64_t tile)
{
    int64_t low = 0;
    int64_t high = job->args->n_range;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (job->tile_first[middle] <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static tess_status run_tile(void *arg, int64_t block, int32_t worker)
{
    const kde_job *job = arg;
    const tess_kde_model *model = job->args->model;
    const tess_kde_range *range = &job->args->ranges[range_of(job, block)];
    const int64_t first = (block - job->tile_first[range - job->args->ranges]) * job->tile_size;
    const int64_t left = range->n_spike - first;
    kde_scratch scratch;
    kde_scratch_open(model, job->scratch + (size_t)worker * job->scratch_bytes, &scratch);
    const tess_kde_electrode *e = &model->electrodes[range->electrode];
    kde_tile tile = {.kernels = job->kernels,
                     .model = model,
                     .electrode = e,
                     .marks = range->marks + first * e->n_feature,
                     .n = left < job->tile_size ? left : job->tile_size,
                     .scratch = &scratch};
    if (model->is_exact) {
        kde_tile_exact(&tile, (double *)range->values + first * model->n_bin);
    } else {
        kde_tile_fast(&tile, (float *)range->values + first * model->n_bin);
    }
    job->counts[block] = tile.counts;
    return TESS_OK;
}

static tess_status run_job(kde_job *job, tess_context *ctx, int64_t n_tile)
{
    TESS_TRY(tess_parallel_for(ctx->pool, n_tile, run_tile, job));
    for (int64_t k = 0; k < n_tile; k++) {
        job->args->counts->n_floored += job->counts[k].n_floored;
        job->args->counts->n_flat += job->counts[k].n_flat;
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_kde(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_kde *a = args;
    tess_context *ctx = device->ctx;
    kde_job job = {.kernels = device->kernels,
                   .args = a,
                   .scratch_bytes = kde_scratch_bytes(a->model),
                   .tile_size = tile_size(a->model, device->kernels)};
    int64_t n_tile = 0;
    for (int64_t r = 0; r < a->n_range; r++) {
        n_tile += n_tiles(&job, r);
    }
    if (n_tile == 0) {
        return TESS_OK;
    }
    const size_t first_bytes = (size_t)(a->n_range + 1) * sizeof *job.tile_first;
    const size_t counts_bytes = (size_t)n_tile * sizeof *job.counts;
    const size_t scratch_bytes = (size_t)ctx->n_thread * job.scratch_bytes;
    job.tile_first = tess_heap_alloc(&ctx->heap, first_bytes, TESS_TAG_SCRATCH, "tiles");
    job.counts = tess_heap_alloc_zero(&ctx->heap, counts_bytes, TESS_TAG_SCRATCH, "counts");
    job.scratch = tess_heap_alloc(&ctx->heap, scratch_bytes, TESS_TAG_SCRATCH, "likelihood");
    tess_status status = TESS_E_MEMORY;
    if (job.tile_first && job.counts && job.scratch) {
        job.tile_first[0] = 0;
        for (int64_t r = 0; r < a->n_range; r++) {
            job.tile_first[r + 1] = job.tile_first[r] + n_tiles(&job, r);
        }
        status = run_job(&job, ctx, n_tile);
    }
    tess_heap_free(&ctx->heap, job.scratch, scratch_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(&ctx->heap, job.counts, counts_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(&ctx->heap, job.tile_first, first_bytes, TESS_TAG_SCRATCH);
    return status;
}
