// Encoding of the clusterless KDE: densities at the bins, and the spikes as the stage wants them.
#include "base/status.h"
#include "systems/decode/kde.h"

#include <math.h>
#include <string.h>

// An occupancy below this is a place never visited: a ratio of two such numbers says nothing.
static const double LEAST_OCCUPANCY = 1e-30;
// Without a floor, the range of the arithmetic.
static const double LOWEST_VALUE = -700;
static const double SQRT_HALF = 0.70710678118654752440;
static const double LOG_SQRT_2PI = 0.91893853320467274178;

typedef struct fit_task {
    tess_context *ctx;
    tess_decode_encoding *encoding;
    const tess_decode_selection *selection;
    kde_model *kde;
    const double *centres; // [n_bin][n_dim]
    double total_weight;   // of the samples
} fit_task;

static void *take(fit_task *t, int64_t n, size_t item_bytes)
{
    return tess_decode_blocks_alloc(&t->kde->blocks, n, item_bytes, "encoding model");
}

static double waveform_std(const tess_decode_encoding *encoding, int64_t feature)
{
    const tess_decode_encoding_config *config = &encoding->config;
    const bool is_vector = config->waveform_std_values && config->n_waveform_std > 1;
    return encoding->waveform_std[is_vector ? feature : 0];
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
    const tess_decode_selection *s = t->selection;
    kde_model *kde = t->kde;
    const int64_t n_bin = kde->stage.n_bin;
    const int64_t n = s->n_spike[electrode];
    const double *weights = weights_of(t, electrode);
    double *field = kde->place_fields + electrode * n_bin;
    TESS_TRY(tess_decode_density(t->ctx, (tess_decode_mode)t->encoding->config.mode,
                                 s->spike_place[electrode], weights, n, s->n_dim,
                                 t->encoding->position_std, t->centres, n_bin, field));
    const double spikes = weights ? sum_of(weights, n) : (double)n;
    const double rate = t->total_weight > 0 ? spikes / t->total_weight : spikes;
    kde->mean_rates[electrode] = rate;
    for (int64_t p = 0; p < n_bin; p++) {
        const double pi = kde->occupancy[p];
        const double ground = rate * (pi > 0 ? field[p] / pi : TESS_DECODE_EPS);
        kde->intensity[p] += ground > TESS_DECODE_EPS ? ground : TESS_DECODE_EPS;
    }
    return TESS_OK;
}

static tess_status fit_densities(fit_task *t)
{
    const tess_decode_selection *s = t->selection;
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
    TESS_TRY(tess_decode_density(t->ctx, (tess_decode_mode)t->encoding->config.mode, s->place,
                                 s->weights, s->n_sample, s->n_dim, t->encoding->position_std,
                                 t->centres, n_bin, kde->occupancy));
    for (int64_t p = 0; p < n_bin; p++) {
        kde->occupancy[p] = kde->occupancy[p] < LEAST_OCCUPANCY ? 0 : kde->occupancy[p];
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
            norm += log(waveform_std(encoding, f)) + LOG_SQRT_2PI;
        }
    }
    const double log_rate = log(kde->mean_rates[electrode]) - log(total) - norm;
    for (int64_t p = 0; p < kde->stage.n_bin; p++) {
        const double pi = kde->occupancy[p];
        offset[p] = pi > 0 && total > 0 ? log_rate - log(pi) : -(double)INFINITY;
    }
}

// Indices of the spikes that count, those with a positive weight.
static int64_t kept_spikes(const fit_task *t, int64_t electrode, int64_t *kept)
{
    const double *weights = weights_of(t, electrode);
    int64_t n = 0;
    for (int64_t i = 0; i < t->selection->n_spike[electrode]; i++) {
        if (!weights || weights[i] > 0) {
            kept[n++] = i;
        }
    }
    return n;
}

// Marks about their mean: differences of f32 are then of small numbers.
static void scale_marks(const fit_task *t, int64_t electrode, const int64_t *kept, int64_t n,
                        double *centre, double *scale, double *marks)
{
    const int64_t n_feature = t->selection->n_feature[electrode];
    const double *from = t->selection->spike_marks[electrode];
    for (int64_t f = 0; f < n_feature; f++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += (from[kept[i] * n_feature + f] - mean) / (double)(i + 1);
        }
        centre[f] = mean;
        scale[f] = SQRT_HALF / waveform_std(t->encoding, f);
        for (int64_t i = 0; i < n; i++) {
            marks[f * n + i] = (from[kept[i] * n_feature + f] - mean) * scale[f];
        }
    }
}

static void scale_places(const double *places, int64_t n_dim, const double *std,
                         const int64_t *kept, int64_t n, double *out)
{
    for (int64_t d = 0; d < n_dim; d++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = kept ? kept[i] : i;
            out[d * n + i] = places[from * n_dim + d] * (SQRT_HALF / std[d]);
        }
    }
}

static tess_status fit_electrode(fit_task *t, int64_t electrode, int64_t *kept)
{
    const tess_decode_selection *s = t->selection;
    kde_model *kde = t->kde;
    tess_kde_electrode *e = &kde->electrodes[electrode];
    const int64_t n_feature = s->n_feature[electrode];
    const int64_t n = kept_spikes(t, electrode, kept);
    const double *weights = weights_of(t, electrode);
    double *centre = take(t, n_feature, sizeof(double));
    double *scale = take(t, n_feature, sizeof(double));
    double *marks = take(t, n_feature * n, sizeof(double));
    double *place = take(t, s->n_dim * n, sizeof(double));
    double *offset = take(t, kde->stage.n_bin, sizeof(double));
    double *log_weight = weights ? take(t, n, sizeof(double)) : NULL;
    if (!centre || !scale || !marks || !place || !offset || (weights && !log_weight)) {
        return TESS_E_MEMORY;
    }
    double total = (double)n;
    if (weights) {
        total = 0;
        for (int64_t i = 0; i < n; i++) {
            total += weights[kept[i]];
            log_weight[i] = log(weights[kept[i]]);
        }
    }
    scale_marks(t, electrode, kept, n, centre, scale, marks);
    scale_places(s->spike_place[electrode], s->n_dim, t->encoding->position_std, kept, n, place);
    set_offset(t, electrode, total, offset);
    *e = (tess_kde_electrode){.n_spike = n,
                              .n_feature = n_feature,
                              .mark_centre = centre,
                              .mark_scale = scale,
                              .marks = marks,
                              .place = place,
                              .log_weight = log_weight,
                              .offset = offset};
    kde->stage.max_spike = n > kde->stage.max_spike ? n : kde->stage.max_spike;
    kde->stage.max_feature =
        n_feature > kde->stage.max_feature ? n_feature : kde->stage.max_feature;
    return TESS_OK;
}

static tess_status fit_electrodes(fit_task *t)
{
    const tess_decode_selection *s = t->selection;
    kde_model *kde = t->kde;
    int64_t most = 0;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        most = s->n_spike[e] > most ? s->n_spike[e] : most;
    }
    double *bin_place = take(t, s->n_dim * kde->stage.n_bin, sizeof(double));
    int64_t *kept = take(t, most, sizeof *kept);
    kde->electrodes = take(t, s->n_electrode, sizeof *kde->electrodes);
    if (!bin_place || !kept || !kde->electrodes) {
        return TESS_E_MEMORY;
    }
    scale_places(t->centres, s->n_dim, t->encoding->position_std, NULL, kde->stage.n_bin,
                 bin_place);
    kde->stage.bin_place = bin_place;
    kde->stage.electrodes = kde->electrodes;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        TESS_TRY(fit_electrode(t, e, kept));
    }
    return TESS_OK;
}

static void set_floor(const tess_decode_encoding *encoding, tess_kde_model *stage)
{
    stage->floor_kind = encoding->info.floor == TESS_DECODE_FLOOR_RELATIVE
                            ? TESS_KDE_FLOOR_RELATIVE
                            : TESS_KDE_FLOOR_ABSOLUTE;
    stage->floor_value =
        encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DECODE_LOG_EPS : LOWEST_VALUE;
    stage->floor_nats = encoding->config.floor_nats;
    // The original's rule gives them the floor; elsewhere they say nothing.
    stage->unheard_value =
        encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE ? TESS_DECODE_LOG_EPS : 0;
}

static tess_status bind_single(tess_context *ctx, kde_model *kde)
{
    tess_device *device = tess_decode_kde_device(ctx);
    const tess_stage_decode_kde_bind args = {.model = &kde->stage, .bound = &kde->single};
    TESS_TRY(
        device->backend->enqueue(device->queue, TESS_STAGE_DECODE_KDE_BIND, &args, sizeof args));
    return device->backend->finish(device->queue);
}

tess_status tess_decode_kde_fit(tess_context *ctx, tess_decode_encoding *encoding,
                                const tess_decode_selection *selection)
{
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    kde_model *kde =
        tess_heap_alloc_zero(encoding->heap, sizeof *kde, TESS_TAG_RESULT, "encoding model");
    if (!kde) {
        return TESS_E_MEMORY;
    }
    encoding->model = kde;
    tess_decode_blocks_init(&kde->blocks, encoding->heap);
    kde->stage.n_bin = env->n_interior;
    kde->stage.n_dim = selection->n_dim;
    kde->stage.n_electrode = selection->n_electrode;
    kde->stage.is_exact = 1;
    set_floor(encoding, &kde->stage);
    fit_task task = {.ctx = ctx,
                     .encoding = encoding,
                     .selection = selection,
                     .kde = kde,
                     .centres = env->interior_centers};
    TESS_TRY(fit_densities(&task));
    TESS_TRY(fit_electrodes(&task));
    TESS_TRY(bind_single(ctx, kde));
    encoding->info.occupancy = kde->occupancy;
    encoding->info.mean_rates = kde->mean_rates;
    encoding->info.summed_ground_intensity = kde->intensity;
    encoding->info.place_fields = kde->place_fields;
    encoding->info.bound = kde->bound;
    return TESS_OK;
}

void tess_decode_kde_free(tess_decode_encoding *encoding)
{
    kde_model *kde = encoding->model;
    if (!kde) {
        return;
    }
    tess_decode_blocks_free(&kde->blocks);
    tess_heap_free(encoding->heap, kde, sizeof *kde, TESS_TAG_RESULT);
    encoding->model = NULL;
}
