// The worked example of decode: two electrodes, three place bins, five times, to ten digits.

#include "selftest.h"

#include <tessera/decode.h>

#include <math.h>

enum { N_SAMPLE = 10, N_TIME = 5, N_BIN = 3, N_ELECTRODE = 2 };

static const double stored_rows[N_TIME][N_BIN] = {
    {-7.83958729334, -8.873295154926, -11.610805642244},
    {-12.166292234855, -9.57275717516, -8.380052199836},
    {-0.5401031795, -0.416690932668, -0.48998742444},
    {-16.526569938822, -16.980425593222, -21.10210779345},
    {-0.5401031795, -0.416690932668, -0.48998742444}};
static const double stored_evidence = -36.71695740207881;
static const double TOLERANCE = 1e-9;

static const double position[N_SAMPLE] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const double encoding_times[N_ELECTRODE][3] = {{0.5, 2.25, 7.5}, {4, 8.75, 9.5}};
static const double encoding_marks[N_ELECTRODE][6] = {{10, 20, 12, 18, 40, 5},
                                                      {5, 5, 30, 30, 1, 1}};
static const double decoding_times[N_ELECTRODE][3] = {{0.5, 1, 4}, {3.5, 4.5, 0}};
static const double decoding_marks[N_ELECTRODE][6] = {{11, 19, 40, 6, 10, 20}, {6, 6, 1, 1, 0, 0}};

typedef struct example {
    tess_decode_training training;
    tess_decode_observation observation;
    tess_decode_environment *env;
    tess_decode_encoding *encoding;
    tess_decode_detector *detector;
} example;

static void set_spikes(tess_decode_spikes *spikes, const int64_t *n_spike,
                       const double *const *times, const void *const *marks)
{
    static const int64_t n_feature[N_ELECTRODE] = {2, 2};

    tess_decode_spikes_init(spikes, sizeof *spikes);
    spikes->n_electrode = N_ELECTRODE;
    spikes->n_spike = n_spike;
    spikes->n_feature = n_feature;
    spikes->times = times;
    spikes->marks = marks;
}

static void describe(example *x)
{
    static const int64_t n_encoding[N_ELECTRODE] = {3, 3};
    static const int64_t n_decoding[N_ELECTRODE] = {3, 2};
    static const double *const times[] = {encoding_times[0], encoding_times[1]};
    static const void *const marks[] = {encoding_marks[0], encoding_marks[1]};
    static const double *const new_times[] = {decoding_times[0], decoding_times[1]};
    static const void *const new_marks[] = {decoding_marks[0], decoding_marks[1]};

    tess_decode_training_init(&x->training, sizeof x->training);
    tess_decode_observation_init(&x->observation, sizeof x->observation);
    set_spikes(&x->training.spikes, n_encoding, times, marks);
    set_spikes(&x->observation.spikes, n_decoding, new_times, new_marks);
    x->training.position.n_sample = N_SAMPLE;
    x->training.position.n_dim = 1;
    x->training.position.time = position;
    x->training.position.position = position;
    x->observation.n_time = N_TIME;
    x->observation.time = position;
}

static tess_status create_encoding(tess_context *ctx, example *x)
{
    tess_decode_environment_config env;
    tess_decode_encoding_config encoding;

    tess_decode_environment_config_init(&env, sizeof env);
    tess_decode_encoding_config_init(&encoding, sizeof encoding);
    env.place_bin_size = 3;
    encoding.mode = TESS_DECODE_EXACT;
    encoding.floor = TESS_DECODE_FLOOR_ABSOLUTE;
    encoding.position_std = 2;
    encoding.waveform_std = 10;
    const tess_status status =
        tess_decode_environment_create(ctx, &env, position, N_SAMPLE, 1, &x->env);
    return status ? status
                  : tess_decode_encoding_create(ctx, x->env, &x->training, &encoding, &x->encoding);
}

static tess_status create_detector(tess_context *ctx, example *x)
{
    static const double one = 1;
    const tess_decode_state state = {.name = "Continuous"};
    const tess_decode_encoding *encodings[] = {x->encoding};
    tess_decode_movement movement;
    tess_decode_detector_config config;

    tess_decode_movement_init(&movement, sizeof movement);
    tess_decode_detector_config_init(&config, sizeof config);
    movement.kind = TESS_DECODE_RANDOM_WALK;
    config.n_state = 1;
    config.states = &state;
    config.movements = &movement;
    config.discrete_initial = &one;
    config.discrete_transition = &one;
    return tess_decode_detector_create(ctx, &config, &x->env, 1, encodings, 1, &x->detector);
}

static tess_status compute(tess_context *ctx, example *x, double *rows, double *evidence)
{
    static const int64_t shape[] = {N_TIME, N_BIN};
    static const int64_t state_shape[] = {N_TIME, 1};
    double state_rows[N_TIME];
    tess_decode_outputs outputs;
    tess_array array;
    tess_array states; // asked for, because without the filter there is no evidence

    describe(x);
    tess_decode_outputs_init(&outputs, sizeof outputs);
    tess_status status = tess_array_init(&array, rows, TESS_F64, 2, shape);
    status = status ? status : tess_array_init(&states, state_rows, TESS_F64, 2, state_shape);
    outputs.log_likelihood = &array;
    outputs.causal_state_probabilities = &states;
    status = status ? status : create_encoding(ctx, x);
    status = status ? status : create_detector(ctx, x);
    status =
        status ? status : tess_decode_predict(ctx, x->detector, &x->observation, NULL, &outputs);
    *evidence = outputs.log_evidence;
    return status;
}

int selftest_decode(tess_context *ctx)
{
    example x = {0};
    double rows[N_TIME * N_BIN];
    double evidence = 0;
    const tess_status status = compute(ctx, &x, rows, &evidence);
    int agrees = status == TESS_OK && fabs(evidence - stored_evidence) < TOLERANCE;

    if (status != TESS_OK) {
        console_status(status);
    }
    for (int i = 0; agrees && i < N_TIME * N_BIN; i++) {
        agrees = fabs(rows[i] - stored_rows[i / N_BIN][i % N_BIN]) < TOLERANCE;
    }
    tess_decode_detector_destroy(x.detector);
    tess_decode_encoding_destroy(x.encoding);
    tess_decode_environment_destroy(x.env);
    return agrees;
}
