// What can be wrong with spikes, positions, times and bandwidths, said so that it can be put right.
#include "systems/decode/settings/check.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>

#define LL(value) ((long long)(value))

tess_status tess_de_check_encoding_config(const tess_decode_encoding_config *given,
                                          tess_decode_encoding_config *config)
{
    tess_decode_encoding_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    return tess_params_check(tess_decode_encoding_params(), config);
}

static tess_status check_marks(const tess_decode_spikes *s)
{
    if (s->mark_dtype != TESS_F32 && s->mark_dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "spike_waveform_features: expected f32 or f64, got %s",
                  tess_dtype_name((tess_dtype)s->mark_dtype));
    }
    if (s->n_electrode > 0 && (!s->n_feature || !s->marks)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "spike_waveform_features: missing; a clusterless model needs the "
                  "features of every spike; for sorted units choose --algorithm sorted_spikes_kde "
                  "(in Python a SortedSpikes model)");
    }
    for (int64_t e = 0; e < s->n_electrode; e++) {
        if (s->n_feature[e] < 1) {
            TESS_FAIL(TESS_E_SHAPE, "electrode %lld: %lld features; expected at least 1", LL(e),
                      LL(s->n_feature[e]));
        }
        if (s->n_spike[e] > 0 && !s->marks[e]) {
            TESS_FAIL(TESS_E_ARGUMENT, "electrode %lld: %lld spike times but no features", LL(e),
                      LL(s->n_spike[e]));
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_spikes(const tess_decode_spikes *s, bool with_marks)
{
    if (s->n_electrode < 0 || (s->n_electrode > 0 && (!s->n_spike || !s->times))) {
        TESS_FAIL(TESS_E_ARGUMENT, "spike_times: %lld electrodes, %s", LL(s->n_electrode),
                  s->n_electrode < 0 ? "expected 0 or more" : "but counts or times are missing");
    }
    for (int64_t e = 0; e < s->n_electrode; e++) {
        if (s->n_spike[e] < 0 || (s->n_spike[e] > 0 && !s->times[e])) {
            TESS_FAIL(TESS_E_ARGUMENT, "electrode %lld: %lld spikes, %s", LL(e), LL(s->n_spike[e]),
                      s->n_spike[e] < 0 ? "expected 0 or more" : "but their times are missing");
        }
    }
    return with_marks ? check_marks(s) : TESS_OK;
}

static tess_status check_positive(const double *values, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++) {
        if (!(values[i] > 0) || !isfinite(values[i])) {
            TESS_FAIL(TESS_E_RANGE, "%s[%lld] is %g; a bandwidth is a positive number", name, LL(i),
                      values[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_bandwidths(const tess_decode_encoding_config *config,
                                     const tess_decode_spikes *spikes, int64_t n_place_dim)
{
    if (config->position_std_values) {
        if (config->n_position_std != n_place_dim) {
            TESS_FAIL(TESS_E_SHAPE,
                      "position_std has %lld values but places have %lld dimensions; pass a scalar "
                      "or one value per dimension",
                      LL(config->n_position_std), LL(n_place_dim));
        }
        TESS_TRY(check_positive(config->position_std_values, n_place_dim, "position_std"));
    }
    if (!config->waveform_std_values) {
        return TESS_OK;
    }
    TESS_TRY(check_positive(config->waveform_std_values, config->n_waveform_std, "waveform_std"));
    for (int64_t e = 0; e < spikes->n_electrode && spikes->n_feature; e++) {
        if (spikes->n_feature[e] != config->n_waveform_std) {
            TESS_FAIL(TESS_E_SHAPE,
                      "electrode %lld has %lld features but waveform_std has %lld values; pass a "
                      "scalar",
                      LL(e), LL(spikes->n_feature[e]), LL(config->n_waveform_std));
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_times(const double *time, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(time[i])) {
            TESS_FAIL(TESS_E_NUMERIC, "%s[%lld] is %s; times must be finite", name, LL(i),
                      isnan(time[i]) ? "NaN" : "infinite");
        }
        if (i > 0 && !(time[i] > time[i - 1])) {
            TESS_FAIL(TESS_E_NUMERIC, "%s is not increasing at index %lld: %.17g follows %.17g%s",
                      name, LL(i), time[i], time[i - 1],
                      time[i] == time[i - 1] ? " (duplicate; drop one of them)" : "");
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_position(const tess_decode_position *position,
                                   const tess_decode_environment_info *env)
{
    if (position->n_dim != env->n_dim) {
        if (env->is_track) {
            TESS_FAIL(
                TESS_E_SHAPE,
                "position has %lld column(s), but the environment has a track graph: pass the "
                "raw x and y of the animal, which are linearised here",
                LL(position->n_dim));
        }
        TESS_FAIL(TESS_E_SHAPE, "position has %lld column(s), but the environment has %lld",
                  LL(position->n_dim), LL(env->n_dim));
    }
    if (position->n_sample < 0 || (position->n_sample > 0 && !position->position)) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: %lld samples, but no values", LL(position->n_sample));
    }
    if (position->n_sample > 0 && !position->time) {
        TESS_FAIL(TESS_E_ARGUMENT, "position is given without position_time; pass both");
    }
    TESS_TRY(tess_de_check_times(position->time, position->n_sample, "position_time"));
    for (int64_t i = 0; i < position->n_sample * position->n_dim; i++) {
        if (isinf(position->position[i])) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "position[%lld][%lld] is infinite; NaN marks a sample without tracking",
                      LL(i / position->n_dim), LL(i % position->n_dim));
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_fitted(const tess_decode_encoding_info *info,
                                 const tess_decode_spikes *spikes)
{
    if (spikes->n_electrode != info->n_electrode) {
        TESS_FAIL(TESS_E_SHAPE, "spike_times has %lld electrodes, the model was fitted with %lld",
                  LL(spikes->n_electrode), LL(info->n_electrode));
    }
    for (int64_t e = 0; info->n_feature && e < spikes->n_electrode; e++) {
        // One that is silent may come as an array without a second axis.
        if (spikes->n_spike[e] > 0 && spikes->n_feature[e] != info->n_feature[e]) {
            TESS_FAIL(TESS_E_SHAPE, "electrode %lld: fitted with %lld features, got %lld", LL(e),
                      LL(info->n_feature[e]), LL(spikes->n_feature[e]));
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_out(const tess_array *out, int64_t n_row, int64_t n_column)
{
    const int32_t rank = n_column > 0 ? 2 : 1;
    if (out->rank != rank || out->shape[0] != n_row || (rank == 2 && out->shape[1] != n_column)) {
        TESS_FAIL(TESS_E_SHAPE, "out: expected shape %lld x %lld, got %d axes, the first of %lld",
                  LL(n_row), LL(n_column > 0 ? n_column : 1), out->rank,
                  LL(out->rank > 0 ? out->shape[0] : 0));
    }
    if (out->dtype != TESS_F32 && out->dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "out: expected f32 or f64, got %s",
                  tess_dtype_name((tess_dtype)out->dtype));
    }
    if (out->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE, "out: must be in host memory");
    }
    if (!tess_array_is_contiguous(out) || (tess_array_items(out) > 0 && !out->data)) {
        TESS_FAIL(TESS_E_SHAPE, "out: must be C-contiguous and not NULL");
    }
    return TESS_OK;
}

tess_status tess_de_check_rows(int64_t first, int64_t n_row, int64_t n_time)
{
    if (first < 0 || n_row < 0 || first > n_time || n_row > n_time - first) {
        TESS_FAIL(TESS_E_RANGE, "rows %lld to %lld are not within the %lld time bins", LL(first),
                  LL(first + n_row - 1), LL(n_time));
    }
    return TESS_OK;
}
