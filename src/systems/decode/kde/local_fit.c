// Points and densities for the local likelihood, made once per encoding model.
#include "base/status.h"
#include "systems/decode/kde/local.h"

#include <math.h>

static const double SQRT_HALF = 0.70710678118654752440;
static const double LOG_SQRT_2PI = 0.91893853320467274178;

static double waveform_std(const tess_decode_encoding *encoding, int64_t feature)
{
    return encoding->waveform_std[encoding->config.waveform_std_values ? feature : 0];
}

// Coordinate k of spike i: features first, then the place.
static double raw_coordinate(const tess_de_selection *s, int64_t electrode, int64_t i, int64_t k)
{
    const int64_t d = s->n_feature[electrode];
    return k < d ? s->spike_marks[electrode][i * d + k]
                 : s->spike_place[electrode][i * s->n_dim + k - d];
}

static void put(void *array, int32_t dtype, int64_t i, double value)
{
    if (dtype == TESS_F32) {
        ((float *)array)[i] = (float)value;
    } else {
        ((double *)array)[i] = value;
    }
}

// Centred before rounding: a shift of all marks must not cost precision.
static void fill_points(const tess_decode_encoding *encoding, int64_t electrode, int32_t dtype,
                        tess_de_points *p)
{
    const tess_de_selection *s = &encoding->selection;
    const int64_t n_dim = p->n_feature + s->n_dim;
    p->offset = log(encoding->info.mean_rates[electrode]);
    for (int64_t k = 0; k < n_dim; k++) {
        const bool is_mark = k < p->n_feature;
        const double std =
            is_mark ? waveform_std(encoding, k) : encoding->position_std[k - p->n_feature];
        double sum = 0;
        for (int64_t i = 0; i < p->n; i++) {
            sum += raw_coordinate(s, electrode, i, k);
        }
        p->centre[k] = sum / (double)p->n;
        p->scale[k] = SQRT_HALF / std;
        for (int64_t i = 0; i < p->n; i++) {
            const double value = raw_coordinate(s, electrode, i, k);
            put(p->x, dtype, k * p->n + i, (value - p->centre[k]) * p->scale[k]);
        }
        if (!is_mark || encoding->config.mark_density == TESS_DECODE_MARK_PROBABILITY) {
            p->offset -= LOG_SQRT_2PI + log(std);
        }
    }
    double total = (double)p->n;
    if (p->bias) {
        total = 0;
        for (int64_t i = 0; i < p->n; i++) {
            total += s->spike_weight[electrode][i];
            put(p->bias, dtype, i, log(s->spike_weight[electrode][i]));
        }
    }
    p->offset -= log(total);
}

static tess_status make_points(const tess_decode_encoding *encoding, struct tess_de_local *local,
                               int64_t electrode)
{
    const tess_de_selection *s = &encoding->selection;
    tess_de_points *p = &local->electrodes[electrode];
    p->n = s->n_spike[electrode];
    p->n_feature = s->n_feature[electrode];
    if (p->n == 0) {
        return TESS_OK;
    }
    const int64_t n_dim = p->n_feature + s->n_dim;
    const size_t item = tess_dtype_bytes((tess_dtype)local->dtype);
    p->centre = tess_blocks_alloc(&local->blocks, n_dim, sizeof *p->centre, "centres");
    p->scale = tess_blocks_alloc(&local->blocks, n_dim, sizeof *p->scale, "scales");
    p->x = tess_blocks_alloc(&local->blocks, p->n, (size_t)n_dim * item, "encoding spikes");
    if (s->spike_weight) {
        p->bias = tess_blocks_alloc(&local->blocks, p->n, item, "log weights");
    }
    if (!p->centre || !p->scale || !p->x || (s->spike_weight && !p->bias)) {
        return TESS_E_MEMORY;
    }
    fill_points(encoding, electrode, local->dtype, p);
    return TESS_OK;
}

static tess_status make_unit(tess_context *ctx, const tess_decode_encoding *encoding,
                             struct tess_de_local *local, int64_t unit)
{
    const tess_de_selection *s = &encoding->selection;
    const tess_de_table_samples samples = {s->spike_place[unit],
                                           s->spike_weight ? s->spike_weight[unit] : NULL,
                                           s->n_spike[unit], s->n_dim, encoding->position_std};
    return tess_de_field_build(ctx, &local->blocks, &samples,
                               encoding->config.mode == TESS_DECODE_EXACT, &local->units[unit]);
}

// All spikes of all electrodes, each with its share of the summed rate: one density instead of one
// per electrode.
static tess_status build_ground(tess_context *ctx, const tess_decode_encoding *encoding,
                                tess_blocks *scratch, struct tess_de_local *local)
{
    const tess_de_selection *s = &encoding->selection;
    int64_t n = 0;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        n += s->n_spike[e];
    }
    double *place = tess_blocks_alloc(scratch, n, (size_t)s->n_dim * sizeof *place, "spike places");
    double *weights = tess_blocks_alloc(scratch, n, sizeof *weights, "spike weights");
    if (!place || !weights) {
        return TESS_E_MEMORY;
    }
    double total_rate = 0;
    int64_t at = 0;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        double total = 0;
        for (int64_t i = 0; i < s->n_spike[e]; i++) {
            total += s->spike_weight ? s->spike_weight[e][i] : 1;
        }
        const double rate = total > 0 ? encoding->info.mean_rates[e] : 0;
        total_rate += rate;
        for (int64_t i = 0; i < s->n_spike[e]; i++, at++) {
            const double w = s->spike_weight ? s->spike_weight[e][i] : 1;
            weights[at] = total > 0 ? rate * w / total : 0;
            for (int64_t k = 0; k < s->n_dim; k++) {
                place[at * s->n_dim + k] = s->spike_place[e][i * s->n_dim + k];
            }
        }
    }
    const tess_de_table_samples samples = {place, weights, n, s->n_dim, encoding->position_std};
    TESS_TRY(tess_de_field_build(ctx, &local->blocks, &samples,
                                 encoding->config.mode == TESS_DECODE_EXACT, &local->ground));
    local->ground.factor = total_rate;
    return TESS_OK;
}

static tess_status build(tess_context *ctx, const tess_decode_encoding *encoding,
                         struct tess_de_local *local)
{
    const tess_de_selection *s = &encoding->selection;
    const bool exact = encoding->config.mode == TESS_DECODE_EXACT;
    local->dtype = exact ? TESS_F64 : TESS_F32;
    local->n_dim = s->n_dim;
    local->electrodes =
        tess_blocks_alloc(&local->blocks, s->n_electrode, sizeof *local->electrodes, "electrodes");
    local->units = tess_blocks_alloc(&local->blocks, s->n_electrode, sizeof *local->units, "units");
    if (!local->electrodes || !local->units) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < s->n_electrode; e++) {
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(s->n_feature ? make_points(encoding, local, e)
                              : make_unit(ctx, encoding, local, e));
    }
    const tess_de_table_samples samples = {s->place, s->weights, s->n_sample, s->n_dim,
                                           encoding->position_std};
    TESS_TRY(tess_de_field_build(ctx, &local->blocks, &samples, exact, &local->occupancy));
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const tess_status status = build_ground(ctx, encoding, &scratch, local);
    tess_blocks_free(&scratch);
    return status;
}

void tess_de_local_free(tess_heap *heap, struct tess_de_local *local)
{
    if (local) {
        tess_blocks_free(&local->blocks);
        tess_heap_free(heap, local, sizeof *local, TESS_TAG_RESULT);
    }
}

tess_status tess_de_local_get(tess_context *ctx, const tess_decode_encoding *encoding,
                              const struct tess_de_local **out)
{
    tess_de_local_slot *slot = encoding->local;
    struct tess_de_local *local = atomic_load(slot);
    if (!local) {
        local = tess_heap_alloc_zero(encoding->heap, sizeof *local, TESS_TAG_RESULT,
                                     "local likelihood");
        if (!local) {
            return TESS_E_MEMORY;
        }
        tess_blocks_init(&local->blocks, encoding->heap);
        const tess_status status = build(ctx, encoding, local);
        struct tess_de_local *none = NULL;
        if (status != TESS_OK) {
            tess_de_local_free(encoding->heap, local);
            return status;
        }
        if (!atomic_compare_exchange_strong(slot, &none, local)) {
            tess_de_local_free(encoding->heap, local); // another thread was first
            local = none;
        }
    }
    *out = local;
    return TESS_OK;
}
