#include "systems/decode/stream/stream_identity.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

// The hash so far and the hash of what is added, hashed.
static void mix(tess_hash *hash, const void *data, size_t bytes)
{
    const tess_hash pair[2] = {*hash,
                               tess_hash_bytes(tess_hash_default(), bytes > 0 ? data : "", bytes)};
    *hash = tess_hash_bytes(tess_hash_default(), pair, sizeof pair);
}

static void mix_doubles(tess_hash *hash, const double *values, int64_t n)
{
    mix(hash, values, values ? (size_t)n * sizeof *values : 0);
}

static void mix_settings(tess_hash *hash, const tess_param_table *table, const void *config)
{
    for (int64_t i = 0; i < table->n_param; i++) {
        char text[64] = "";
        tess_param_get_text(&table->params[i], config, text, sizeof text);
        mix(hash, text, sizeof text);
    }
}

static void mix_environment(tess_hash *hash, const tess_decode_environment *env)
{
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    mix(hash, info->name, strlen(info->name));
    mix_doubles(hash, info->bin_centers, info->n_bin * info->n_place_dim);
    mix(hash, info->is_interior, (size_t)info->n_bin);
}

static void mix_encoding(tess_hash *hash, const tess_decode_encoding *encoding)
{
    const tess_decode_encoding_info *info = &encoding->info;
    mix_settings(hash, tess_decode_encoding_params(), &encoding->config);
    mix_doubles(hash, encoding->position_std, info->n_place_dim);
    mix_doubles(hash, encoding->waveform_std, encoding->config.n_waveform_std);
    mix_doubles(hash, info->occupancy, info->n_interior);
    mix_doubles(hash, info->mean_rates, info->n_electrode);
    mix_doubles(hash, info->place_fields, info->n_electrode * info->n_interior);
    for (int64_t e = 0; info->n_spike && e < info->n_electrode; e++) {
        if (info->encoding_positions) {
            mix_doubles(hash, info->encoding_positions[e], info->n_spike[e] * info->n_place_dim);
        }
        if (info->encoding_marks) {
            mix_doubles(hash, info->encoding_marks[e], info->n_spike[e] * info->n_feature[e]);
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
        mix(&hash, s->name, strlen(s->name));
        mix(&hash, numbers, sizeof numbers);
    }
    mix_doubles(&hash, d->discrete_initial, n);
    mix_doubles(&hash, d->discrete_transition, n * n);
    mix_doubles(&hash, d->coefficients, d->info.n_coefficient * n * (n - 1));
    mix_doubles(&hash, d->initial, d->info.n_state_bin);
    for (int64_t i = 0; i < d->n_environment; i++) {
        mix_environment(&hash, d->environments[i]);
    }
    for (int64_t i = 0; i < d->n_encoding; i++) {
        mix_encoding(&hash, d->encodings[i]);
    }
    return hash;
}

static tess_hash spikes_hash(const tess_decode_spikes *spikes)
{
    tess_hash hash = {0, 0};
    const size_t item = spikes->mark_dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        const size_t n = (size_t)spikes->n_spike[e];
        mix(&hash, spikes->times[e], n * sizeof(double));
        if (spikes->marks && spikes->n_feature) {
            mix(&hash, spikes->marks[e], n * (size_t)spikes->n_feature[e] * item);
        }
    }
    return hash;
}

void tess_de_identity_make(const tess_context *ctx, const tess_decode_detector *detector,
                           const tess_decode_observation *observation,
                           const tess_decode_stream_config *config, tess_de_identity *id)
{
    const tess_decode_position *position = &observation->position;
    const tess_decode_recording_info *recording = config->recording;
    const int64_t n_time = observation->n_time;
    memset(id, 0, sizeof *id);
    snprintf(id->version, sizeof id->version, "%s", TESS_VERSION);
    snprintf(id->backend, sizeof id->backend, "%s", ctx->cpu.backend->name);
    snprintf(id->settings, sizeof id->settings, "want=%d;dtype=%s", config->want,
             tess_dtype_name((tess_dtype)config->dtype));
    id->model = model_hash(detector);
    id->spikes = spikes_hash(&observation->spikes);
    mix_doubles(&id->time, observation->time, n_time);
    mix_doubles(&id->position, position->time, position->n_sample);
    mix_doubles(&id->position, position->position, position->n_sample * position->n_dim);
    mix(&id->missing, observation->is_missing, observation->is_missing ? (size_t)n_time : 0);
    mix_doubles(&id->design, config->design, n_time * detector->info.n_coefficient);
    if (recording && recording->true_position) {
        mix_doubles(&id->truth, recording->true_position,
                    n_time * recording->observation.position.n_dim);
    }
    id->n_time = n_time;
    id->n_state_bin = detector->info.n_state_bin;
    id->hash_kind = (int64_t)tess_hash_default();
}

tess_status tess_de_identity_compare(const tess_de_identity *found, const tess_de_identity *own,
                                     const char *path)
{
    const char *remedy = "remove the folder, or run with the model, data and settings it was made "
                         "with";
    const struct {
        const char *what;
        tess_hash found;
        tess_hash own;
    } parts[] = {{"the model", found->model, own->model},
                 {"the decoding times", found->time, own->time},
                 {"the spikes", found->spikes, own->spikes},
                 {"the positions", found->position, own->position},
                 {"the missing rows", found->missing, own->missing},
                 {"the design of the covariates", found->design, own->design},
                 {"the true positions", found->truth, own->truth}};
    if (memcmp(found->version, own->version, sizeof own->version) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: written by Tessera %.15s, this is %s; %s", path,
                  found->version, own->version, remedy);
    }
    if (memcmp(found->settings, own->settings, sizeof own->settings) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: settings were '%.95s', are '%s'; %s", path, found->settings,
                  own->settings, remedy);
    }
    if (memcmp(found->backend, own->backend, sizeof own->backend) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: made on device '%.15s', this run uses '%s'; %s", path,
                  found->backend, own->backend, remedy);
    }
    if (found->hash_kind != own->hash_kind) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: made by a build with other checksums (with and without xxHash); %s", path,
                  remedy);
    }
    if (found->n_time != own->n_time || found->n_state_bin != own->n_state_bin) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: had %lld rows of %lld bins, this run has %lld of %lld; %s",
                  path, (long long)found->n_time, (long long)found->n_state_bin,
                  (long long)own->n_time, (long long)own->n_state_bin, remedy);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!tess_hash_equal(parts[i].found, parts[i].own)) {
            TESS_FAIL(TESS_E_MISMATCH, "%s: %s differ from those of this run; %s", path,
                      parts[i].what, remedy);
        }
    }
    return TESS_OK;
}

void tess_de_identity_text(const tess_de_identity *id, char text[33])
{
    tess_hash_text(tess_hash_bytes(tess_hash_default(), id, sizeof *id), text);
}
