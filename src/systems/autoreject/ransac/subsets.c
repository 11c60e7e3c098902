// Subsets of channels and the weights that predict all channels from them.
#include "base/checked.h"
#include "base/rng.h"
#include "base/status.h"
#include "systems/autoreject/interpolation/repair.h"
#include "systems/autoreject/ransac/ransac.h"

// As NumPy's RandomState.choice without replacement: the first of a permutation each time.
static tess_status draw(ransac *r)
{
    tess_heap *heap = &r->ctx->heap;
    const tess_autoreject_channel *all = r->epochs->info.sensors->channels;
    const size_t bytes = (size_t)r->n_chan * sizeof(int64_t);
    int64_t *good = tess_heap_alloc(heap, bytes, TESS_TAG_GENERAL, "channels of RANSAC");
    int64_t *order = tess_heap_alloc(heap, bytes, TESS_TAG_GENERAL, "channels of RANSAC");
    const tess_status status = good && order ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        int64_t n_good = 0;
        for (int64_t c = 0; c < r->n_chan; c++) {
            if (!all[r->channels[c]].is_bad) {
                good[n_good++] = c;
            }
        }
        tess_mt19937 rng;
        tess_mt19937_seed(&rng, (uint32_t)r->config.seed);
        for (int64_t s = 0; s < r->config.n_resample; s++) {
            tess_mt19937_permutation(&rng, n_good, order);
            for (int64_t i = 0; i < r->n_from; i++) {
                r->subsets[s * r->n_from + i] = (int32_t)good[order[i]];
            }
        }
    }
    tess_heap_free(heap, order, bytes, TESS_TAG_GENERAL);
    tess_heap_free(heap, good, bytes, TESS_TAG_GENERAL);
    return status;
}

typedef struct weights_job {
    const ransac *r;
    const tess_ar_repairer *repairer;
    char *scratch; // of each worker
    size_t scratch_bytes;
} weights_job;

static tess_status weights_of_subset(void *arg, int64_t s, int32_t worker)
{
    const weights_job *job = arg;
    const ransac *r = job->r;
    TESS_TRY(tess_context_check_cancel(r->ctx));
    return tess_ar_repairer_map(job->repairer, r->subsets + s * r->n_from, r->n_from,
                                job->scratch + (size_t)worker * job->scratch_bytes,
                                r->mappings + s * r->n_chan * r->n_from);
}

static tess_status make_weights(const ransac *r, const tess_ar_repairer *repairer)
{
    weights_job job = {.r = r, .repairer = repairer};
    const size_t line = TESS_ALIGN;
    job.scratch_bytes = tess_ar_repairer_map_scratch(repairer, r->n_from);
    job.scratch_bytes = (job.scratch_bytes + line - 1) / line * line;
    const size_t bytes = job.scratch_bytes * (size_t)tess_pool_threads(r->ctx->pool);
    job.scratch = tess_heap_alloc(&r->ctx->heap, bytes, TESS_TAG_SCRATCH, "weights of subsets");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    tess_span span = tess_span_begin(&r->ctx->tracer, "autoreject.subsets");
    const tess_status status =
        tess_parallel_for(r->ctx->pool, r->config.n_resample, weights_of_subset, &job);
    tess_span_end(&span, (double)r->mappings_bytes, 0);
    tess_heap_free(&r->ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status allocate(ransac *r)
{
    uint64_t items = 0;
    uint64_t bytes = 0;
    if (!tess_mul_u64((uint64_t)(r->n_chan * r->n_from), (uint64_t)r->config.n_resample, &items) ||
        !tess_mul_u64(items, sizeof *r->mappings, &bytes) ||
        bytes > r->ctx->memory_limit_bytes / 4) {
        TESS_FAIL(TESS_E_LIMIT,
                  "n_resample: the weights of %lld subsets of %lld of %lld channels do not fit in "
                  "a quarter of the memory limit (%llu bytes); raise it, or take fewer subsets",
                  (long long)r->config.n_resample, (long long)r->n_from, (long long)r->n_chan,
                  (unsigned long long)r->ctx->memory_limit_bytes);
    }
    r->mappings_bytes = bytes;
    r->subsets_bytes = (size_t)(r->config.n_resample * r->n_from) * sizeof *r->subsets;
    r->mappings =
        tess_heap_alloc(&r->ctx->heap, r->mappings_bytes, TESS_TAG_GENERAL, "weights of subsets");
    r->subsets = tess_heap_alloc(&r->ctx->heap, r->subsets_bytes, TESS_TAG_GENERAL, "subsets");
    return r->mappings && r->subsets ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_ar_ransac_prepare(ransac *r)
{
    TESS_TRY(allocate(r));
    TESS_TRY(draw(r));
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    config.meg_dots = r->config.meg_dots;
    tess_ar_repairer *repairer = NULL;
    TESS_TRY(tess_ar_repairer_create(r->ctx, r->epochs->info.sensors, r->channels, r->n_chan,
                                     &config, &repairer));
    const tess_status status = make_weights(r, repairer);
    tess_ar_repairer_destroy(repairer);
    return status;
}

void tess_ar_ransac_release(ransac *r)
{
    tess_heap_free(&r->ctx->heap, r->mappings, r->mappings_bytes, TESS_TAG_GENERAL);
    tess_heap_free(&r->ctx->heap, r->subsets, r->subsets_bytes, TESS_TAG_GENERAL);
}
