#include "systems/decode/states/fingerprint.h"

#include <stdio.h>
#include <string.h>

void tess_de_mix_doubles(tess_hash *hash, const double *values, int64_t n)
{
    tess_hash_mix(hash, values, values ? (size_t)n * sizeof *values : 0);
}

static void mix_settings(tess_hash *hash, const tess_param_table *table, const void *config)
{
    for (int64_t i = 0; i < table->n_param; i++) {
        char text[64] = "";
        tess_param_get_text(&table->params[i], config, text, sizeof text);
        tess_hash_mix(hash, text, sizeof text);
    }
}

static void mix_environment(tess_hash *hash, const tess_decode_environment *env)
{
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    tess_hash_mix(hash, info->name, strlen(info->name));
    tess_de_mix_doubles(hash, info->bin_centers, info->n_bin * info->n_place_dim);
    tess_hash_mix(hash, info->is_interior, (size_t)info->n_bin);
}

static void mix_encoding(tess_hash *hash, const tess_decode_encoding *encoding)
{
    const tess_decode_encoding_info *info = &encoding->info;
    mix_settings(hash, tess_decode_encoding_params(), &encoding->config);
    tess_de_mix_doubles(hash, encoding->position_std, info->n_place_dim);
    tess_de_mix_doubles(hash, encoding->waveform_std, encoding->config.n_waveform_std);
    tess_de_mix_doubles(hash, info->occupancy, info->n_interior);
    tess_de_mix_doubles(hash, info->mean_rates, info->n_electrode);
    tess_de_mix_doubles(hash, info->place_fields, info->n_electrode * info->n_interior);
    for (int64_t e = 0; info->n_spike && e < info->n_electrode; e++) {
        if (info->encoding_positions) {
            tess_de_mix_doubles(hash, info->encoding_positions[e],
                                info->n_spike[e] * info->n_place_dim);
        }
        if (info->encoding_marks) {
            tess_de_mix_doubles(hash, info->encoding_marks[e],
                                info->n_spike[e] * info->n_feature[e]);
        }
    }
}

static tess_hash model_hash(const tess_decode_detector *d)
{
    tess_hash hash = d->movement_hash;
    const int64_t n = d->info.n_state;
    mix_settings(&hash, tess_decode_detector_params(), &d->config);
    for (int64_t i = 0; i < n; i++) {
        const tess_decode_state *s = &d->config.states[i];
        const int32_t numbers[4] = {s->environment, s->encoding, s->is_local, s->is_no_spike};
        tess_hash_mix(&hash, s->name, strlen(s->name));
        tess_hash_mix(&hash, numbers, sizeof numbers);
    }
    tess_de_mix_doubles(&hash, d->discrete_initial, n);
    tess_de_mix_doubles(&hash, d->discrete_transition, n * n);
    tess_de_mix_doubles(&hash, d->coefficients, d->info.n_coefficient * n * (n - 1));
    tess_de_mix_doubles(&hash, d->initial, d->info.n_state_bin);
    for (int64_t i = 0; i < d->n_environment; i++) {
        mix_environment(&hash, d->environments[i]);
    }
    for (int64_t i = 0; i < d->n_encoding; i++) {
        mix_encoding(&hash, d->encodings[i]);
    }
    return hash;
}

tess_hash tess_de_spikes_hash(const tess_decode_spikes *spikes)
{
    tess_hash hash = {0, 0};
    const size_t item = spikes->mark_dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        const size_t n = (size_t)spikes->n_spike[e];
        tess_hash_mix(&hash, spikes->times[e], n * sizeof(double));
        if (spikes->marks && spikes->n_feature) {
            tess_hash_mix(&hash, spikes->marks[e], n * (size_t)spikes->n_feature[e] * item);
        }
    }
    return hash;
}

void tess_de_fingerprint_make(const tess_decode_detector *detector,
                              const tess_decode_observation *observation, const double *design,
                              tess_de_fingerprint *out)
{
    const tess_decode_position *position = &observation->position;
    const int64_t n_time = observation->n_time;
    *out = (tess_de_fingerprint){.model = model_hash(detector),
                                 .spikes = tess_de_spikes_hash(&observation->spikes),
                                 .n_time = n_time,
                                 .n_state_bin = detector->info.n_state_bin};
    tess_de_mix_doubles(&out->time, observation->time, n_time);
    tess_de_mix_doubles(&out->position, position->time, position->n_sample);
    tess_de_mix_doubles(&out->position, position->position, position->n_sample * position->n_dim);
    tess_hash_mix(&out->missing, observation->is_missing,
                  observation->is_missing ? (size_t)n_time : 0);
    tess_de_mix_doubles(&out->design, design, n_time * detector->info.n_coefficient);
}

void tess_de_fingerprint_add(const tess_de_fingerprint *fingerprint, tess_identity *id)
{
    char shape[80];
    snprintf(shape, sizeof shape, "%lld rows of %lld bins", (long long)fingerprint->n_time,
             (long long)fingerprint->n_state_bin);
    tess_identity_add(id, "had *, this run has *", shape);
    tess_identity_add_hash(id, "the model differs from that of this run", fingerprint->model);
    tess_identity_add_hash(id, "the decoding times differ from those of this run",
                           fingerprint->time);
    tess_identity_add_hash(id, "the spikes differ from those of this run", fingerprint->spikes);
    tess_identity_add_hash(id, "the positions differ from those of this run",
                           fingerprint->position);
    tess_identity_add_hash(id, "the missing rows differ from those of this run",
                           fingerprint->missing);
    tess_identity_add_hash(id, "the design of the covariates differs from that of this run",
                           fingerprint->design);
}
