// Encoding of the clusterless KDE: densities at the bins, and the spikes as the stage wants them.
#include "base/status.h"
#include "systems/decode/density/density.h"
#include "systems/decode/kde/kde_electrode.h"
#include "systems/decode/kde/kde_there.h"

#include <math.h>
#include <string.h>

// Without a floor, the range of the arithmetic.
static const double LOWEST_VALUE = -700;
// Certified error of the expansions in fast mode, and the least that can be asked for.
static const double FAST_BOUND = 8e-6;
static const double LEAST_BOUND = 1e-7;
// Depth of sums that are sure, in nats below a spike's total weight: deeper values are computed
// anew, one by one, so that it must not be too little, and every nat costs cells.
static const double LEAST_DEPTH = 8;
static const double MOST_DEPTH = 40;
// Marks farther than this many units (1.2 bandwidths) from the centre are rounded too coarsely in
// f32.
static const double MARK_REACH = 32;
static const double LOG_SQRT_2PI = 0.91893853320467274178;

typedef struct fit_task {
    tess_context *ctx;
    tess_decode_encoding *encoding;
    const tess_de_selection *selection;
    kde_model *kde;
    const double *centres; // [n_bin][n_dim]
    double total_weight;   // of the samples
} fit_task;

static void *take(fit_task *t, int64_t n, size_t item_bytes)
{
    return tess_blocks_alloc(&t->kde->blocks, n, item_bytes, "encoding model");
}

static double sum_of(const double *weights, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += weights[i];
    }
    return sum;
}

static const double *weights_of(const fit_task *t, int64_t electrode)
{
    return t->selection->spike_weight ? t->selection->spike_weight[electrode] : NULL;
}

// The ground intensity of one electrode, added to the sum.
static tess_status add_ground(fit_task *t, int64_t electrode)
{
    const tess_de_selection *s = t->selection;
    kde_model *kde = t->kde;
    const int64_t n_bin = kde->stage.n_bin;
    const int64_t n = s->n_spike[electrode];
    const double *weights = weights_of(t, electrode);
    double *field = kde->place_fields + electrode * n_bin;
    TESS_TRY(tess_de_density(t->ctx, (tess_decode_mode)t->encoding->config.mode,
                             s->spike_place[electrode], weights, n, s->n_dim,
                             t->encoding->position_std, t->centres, n_bin, field));
    const double spikes = weights ? sum_of(weights, n) : (double)n;
    const double rate = t->total_weight > 0 ? spikes / t->total_weight : spikes;
    kde->mean_rates[electrode] = rate;
    for (int64_t p = 0; p < n_bin; p++) {
        const double pi = kde->occupancy[p];
        const double ground = rate * (pi > 0 ? field[p] / pi : TESS_DE_EPS);
        kde->intensity[p] += ground > TESS_DE_EPS ? ground : TESS_DE_EPS;
    }
    return TESS_OK;
}

static tess_status fit_densities(fit_task *t)
{
    const tess_de_selection *s = t->selection;
    kde_model *kde = t->kde;
    const int64_t n_bin = kde->stage.n_bin;
    kde->occupancy = take(t, n_bin, sizeof(double));
    kde->intensity = take(t, n_bin, sizeof(double));
    kde->mean_rates = take(t, s->n_electrode, sizeof(double));
    kde->place_fields = take(t, s->n_electrode * n_bin, sizeof(double));
    if (!kde->occupancy || !kde->intensity || !kde->mean_rates || !kde->place_fields) {
        return TESS_E_MEMORY;
    }
    t->total_weight = s->weights ? sum_of(s->weights, s->n_sample) : (double)s->n_sample;
    TESS_TRY(tess_de_density(t->ctx, (tess_decode_mode)t->encoding->config.mode, s->place,
                             s->weights, s->n_sample, s->n_dim, t->encoding->position_std,
                             t->centres, n_bin, kde->occupancy));
    for (int64_t p = 0; p < n_bin; p++) {
        kde->occupancy[p] = kde->occupancy[p] < TESS_DE_LEAST_OCCUPANCY ? 0 : kde->occupancy[p];
    }
    for (int64_t e = 0; e < s->n_electrode; e++) {
        TESS_TRY(tess_context_check_cancel(t->ctx));
        TESS_TRY(add_ground(t, e));
    }
    return TESS_OK;
}

// Where a spike of an electrode with sum 1 is: rate over number, occupancy and the kernels' norms.
static void set_offset(const fit_task *t, int64_t electrode, double total, double *offset)
{
    const tess_decode_encoding *encoding = t->encoding;
    const kde_model *kde = t->kde;
    double norm = 0;
    for (int64_t d = 0; d < kde->stage.n_dim; d++) {
        norm += log(encoding->position_std[d]) + LOG_SQRT_2PI;
    }
    if (encoding->config.mark_density == TESS_DECODE_MARK_PROBABILITY) {
        for (int64_t f = 0; f < t->selection->n_feature[electrode]; f++) {
            norm += log(tess_de_kde_waveform_std(encoding, f)) + LOG_SQRT_2PI;
        }
    }
    const double log_rate = log(kde->mean_rates[electrode]) - log(total) - norm;
    for (int64_t p = 0; p < kde->stage.n_bin; p++) {
        const double pi = kde->occupancy[p];
        offset[p] = pi > 0 && total > 0 ? log_rate - log(pi) : -(double)INFINITY;
    }
}

static tess_status fit_offsets(fit_task *t, const tess_de_kde_spikes *spikes)
{
    for (int64_t e = 0; e < t->selection->n_electrode; e++) {
        double *offset = take(t, t->kde->stage.n_bin, sizeof *offset);
        if (!offset) {
            return TESS_E_MEMORY;
        }
        set_offset(t, e, spikes->total[e], offset);
        t->kde->electrodes[e].offset = offset;
    }
    return TESS_OK;
}

// How far below a spike's total weight its sums must be sure: where the floor is, and a bit more.
static double depth_of(const kde_model *kde, const tess_de_kde_spikes *spikes)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    double above_floor = 0;
    for (int64_t e = 0; e < kde->stage.n_electrode; e++) {
        const double *offset = kde->electrodes[e].offset;
        for (int64_t p = 0; p < kde->stage.n_bin && spikes->n[e] > 0; p++) {
            if (offset[p] > -(double)INFINITY) {
                const double most = log(spikes->total[e]) + offset[p];
                above_floor = fmax(above_floor, most - kde->stage.floor_value);
                low = fmin(low, offset[p]);
                high = fmax(high, offset[p]);
            }
        }
    }
    const double needed = kde->stage.floor_kind == TESS_KDE_FLOOR_RELATIVE
                              ? kde->stage.floor_nats + LEAST_DEPTH + fmin(high - low, LEAST_DEPTH)
                              : above_floor;
    return fmin(fmax(needed, LEAST_DEPTH), MOST_DEPTH);
}

// What the electrodes are made from, for threads that take one at a time.
typedef struct fill_job {
    const fit_task *task;
    tess_blocks *scratch;
    tess_de_kde_spikes *spikes;
    const kde_plan *plan;
} fill_job;

static tess_status fill_electrode(void *self, int64_t electrode, int32_t worker)
{
    (void)worker;
    const fill_job *job = self;
    const fit_task *t = job->task;
    return tess_de_kde_fill(t->kde, job->scratch, t->encoding, t->selection, job->spikes, job->plan,
                            electrode);
}

static void find_largest(const kde_model *kde, tess_kde_model *stage)
{
    for (int64_t e = 0; e < stage->n_electrode; e++) {
        const tess_kde_electrode *one = &kde->electrodes[e];
        stage->max_spike = one->n_spike > stage->max_spike ? one->n_spike : stage->max_spike;
        stage->max_feature =
            one->n_feature > stage->max_feature ? one->n_feature : stage->max_feature;
    }
}

static tess_status fit_electrodes(fit_task *t, tess_blocks *scratch)
{
    const tess_de_selection *s = t->selection;
    kde_model *kde = t->kde;
    double *bin_place = take(t, s->n_dim * kde->stage.n_bin, sizeof *bin_place);
    kde->electrodes = take(t, s->n_electrode, sizeof *kde->electrodes);
    if (!bin_place || !kde->electrodes) {
        return TESS_E_MEMORY;
    }
    tess_de_kde_scale_places(t->centres, s->n_dim, t->encoding->position_std, NULL,
                             kde->stage.n_bin, bin_place);
    kde->stage.bin_place = bin_place;
    kde->stage.electrodes = kde->electrodes;
    tess_de_kde_spikes spikes;
    TESS_TRY(tess_de_kde_collect(scratch, t->encoding, s, &spikes));
    TESS_TRY(fit_offsets(t, &spikes));
    kde_plan plan = {.depth = depth_of(kde, &spikes)};
    if (!kde->stage.is_exact) {
        const kde_places places = {s->n_electrode, spikes.n, (const double *const *)spikes.place};
        const double bound = t->encoding->config.mode == TESS_DECODE_BOUNDED
                                 ? fmax(t->encoding->config.bound, LEAST_BOUND)
                                 : FAST_BOUND;
        TESS_TRY(tess_de_kde_plan(&kde->blocks, scratch, &places, bound, &kde->stage, &plan));
        kde->stage.mark_reach = MARK_REACH;
    }
    fill_job job = {t, scratch, &spikes, &plan};
    TESS_TRY(tess_parallel_for(t->ctx->pool, s->n_electrode, fill_electrode, &job));
    find_largest(kde, &kde->stage);
    return TESS_OK;
}

static void set_floor(const tess_decode_encoding *encoding, tess_kde_model *stage)
{
    stage->floor_kind = encoding->info.floor == TESS_DECODE_FLOOR_RELATIVE
                            ? TESS_KDE_FLOOR_RELATIVE
                            : TESS_KDE_FLOOR_ABSOLUTE;
    stage->floor_value =
        encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DE_LOG_EPS : LOWEST_VALUE;
    stage->floor_nats = encoding->config.floor_nats;
    // The original's rule gives them the floor; elsewhere they say nothing.
    stage->unheard_value = encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DE_LOG_EPS : 0;
}

tess_status tess_de_kde_fit(tess_context *ctx, tess_device *device, tess_decode_encoding *encoding,
                            const tess_de_selection *selection)
{
    (void)device; // densities at bins are the CPU's
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    kde_model *kde =
        tess_heap_alloc_zero(encoding->heap, sizeof *kde, TESS_TAG_RESULT, "encoding model");
    if (!kde) {
        return TESS_E_MEMORY;
    }
    encoding->model = kde;
    tess_blocks_init(&kde->blocks, encoding->heap);
    kde->stage.n_bin = env->n_interior;
    kde->stage.n_dim = selection->n_dim;
    kde->stage.n_electrode = selection->n_electrode;
    kde->n_thread = ctx->n_thread;
    kde->stage.is_exact = encoding->config.mode == TESS_DECODE_EXACT;
    set_floor(encoding, &kde->stage);
    fit_task task = {.ctx = ctx,
                     .encoding = encoding,
                     .selection = selection,
                     .kde = kde,
                     .centres = env->interior_centers};
    TESS_TRY(fit_densities(&task));
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const tess_status status = fit_electrodes(&task, &scratch);
    tess_blocks_free(&scratch);
    TESS_TRY(status);
    const tess_stage_decode_kde_bind bind = {.model = &kde->stage, .bound = &kde->single};
    // One spike at a time is the online decoder's, on the CPU.
    TESS_TRY(tess_stage_run_on_host(ctx, TESS_STAGE_DECODE_KDE_BIND, &bind, sizeof bind));
    encoding->info.occupancy = kde->occupancy;
    encoding->info.mean_rates = kde->mean_rates;
    encoding->info.summed_ground_intensity = kde->intensity;
    encoding->info.place_fields = kde->place_fields;
    encoding->info.bound = kde->bound;
    return TESS_OK;
}

void tess_de_kde_free(tess_decode_encoding *encoding)
{
    kde_model *kde = encoding->model;
    if (!kde) {
        return;
    }
    for (int32_t k = 0; k < TESS_MAX_GROUP; k++) {
        tess_de_kde_there_free(atomic_exchange(&kde->there[k], NULL));
    }
    tess_blocks_free(&kde->blocks);
    tess_heap_free(encoding->heap, kde, sizeof *kde, TESS_TAG_RESULT);
    encoding->model = NULL;
}
