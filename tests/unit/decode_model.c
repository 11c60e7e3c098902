#include "decode_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_electrode(golden_model *m, tess_context *ctx, int e)
{
    char name[32];
    int64_t n = 0;
    snprintf(name, sizeof name, "e%d_times", e);
    m->times[e] = golden_f64(ctx, m->file, name, &m->n_spike[e]);
    snprintf(name, sizeof name, "e%d_marks", e);
    m->marks[e] = golden_f64(ctx, m->file, name, &n);
    m->n_feature[e] = n / m->n_spike[e];
}

static void read_data(golden_model *m, tess_context *ctx)
{
    tess_decode_spikes spikes;
    tess_decode_position position;
    int64_t n = 0;
    for (int e = 0; e < GOLDEN_ELECTRODES; e++) {
        read_electrode(m, ctx, e);
    }
    tess_decode_spikes_init(&spikes, sizeof spikes);
    spikes.mark_dtype = TESS_F64;
    spikes.n_electrode = GOLDEN_ELECTRODES;
    spikes.n_spike = m->n_spike;
    spikes.n_feature = m->n_feature;
    spikes.times = (const double *const *)m->times;
    spikes.marks = (const void *const *)m->marks;
    tess_decode_position_init(&position, sizeof position);
    m->position_time = golden_f64(ctx, m->file, "position_time", &position.n_sample);
    m->position = golden_f64(ctx, m->file, "position", NULL);
    position.n_dim = 1;
    position.time = m->position_time;
    position.position = m->position;
    int64_t *flags = golden_i64(ctx, m->file, "is_training", &n);
    m->is_training = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++) {
        m->is_training[i] = (uint8_t)flags[i];
    }
    free(flags);
    tess_decode_training_init(&m->training, sizeof m->training);
    m->training.spikes = spikes;
    m->training.position = position;
    m->training.is_training = m->is_training;
    tess_decode_observation_init(&m->observation, sizeof m->observation);
    m->time = golden_f64(ctx, m->file, "time", &m->observation.n_time);
    m->observation.time = m->time;
    m->observation.spikes = spikes;
    m->observation.position = position;
}

void golden_model_open(golden_model *m, tess_context *ctx, const char *file, int mode)
{
    memset(m, 0, sizeof *m);
    m->file = file;
    read_data(m, ctx);
    tess_decode_environment_config env;
    tess_decode_environment_config_init(&env, sizeof env);
    env.place_bin_size = golden_scalar(ctx, file, "place_bin_size");
    assert_ok(tess_decode_environment_create(ctx, &env, m->position, m->training.position.n_sample,
                                             1, &m->env));
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.position_std = golden_scalar(ctx, file, "position_std");
    config.waveform_std = golden_scalar(ctx, file, "waveform_std");
    config.mode = mode;
    assert_ok(tess_decode_encoding_create(ctx, m->env, &m->training, &config, &m->encoding));
}

void golden_model_detector(golden_model *m, tess_context *ctx, tess_decode_model_kind kind,
                           const tess_decode_detector_config *scalars)
{
    tess_decode_model_defaults defaults;
    assert_ok(tess_decode_model_get_defaults(kind, 0, &defaults, sizeof defaults));
    tess_decode_movement movements[TESS_DECODE_MODEL_MAX_STATE * TESS_DECODE_MODEL_MAX_STATE];
    for (int i = 0; i < defaults.n_state * defaults.n_state; i++) {
        tess_decode_movement_init(&movements[i], sizeof movements[i]);
        movements[i].kind = defaults.movement_kinds[i];
    }
    tess_decode_detector_config config;
    tess_decode_detector_config_init(&config, sizeof config);
    if (scalars) {
        config = *scalars;
    }
    config.n_state = defaults.n_state;
    config.states = defaults.states;
    config.movements = movements;
    config.discrete_initial = defaults.discrete_initial;
    config.discrete_transition = defaults.discrete_transition;
    const tess_decode_encoding *encodings[] = {m->encoding};
    tess_decode_detector_destroy(m->detector);
    assert_ok(tess_decode_detector_create(ctx, &config, &m->env, 1, encodings, 1, &m->detector));
}

void golden_model_close(golden_model *m)
{
    tess_decode_detector_destroy(m->detector);
    tess_decode_encoding_destroy(m->encoding);
    tess_decode_environment_destroy(m->env);
    for (int e = 0; e < GOLDEN_ELECTRODES; e++) {
        free(m->times[e]);
        free(m->marks[e]);
    }
    free(m->position_time);
    free(m->position);
    free(m->is_training);
    free(m->time);
}
