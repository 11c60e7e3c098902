// Cases of decode: likelihood and state space alone, and whole fits and predictions.

#include "bench.h"

#include <tessera/decode.h>

#include <stdlib.h>

// What is simulated, of two states each.
typedef struct decode_data {
    int32_t size; // choice of the simulation
    int64_t n_electrode;
    int64_t n_time;
    int64_t n_encoding; // spikes of all electrodes
    int64_t n_decoding;
    int64_t n_place;
} decode_data;

// 200 places on a line; 724 in a W-maze, many spikes for its likelihood, many rows for its states.
// The animal trains for n_time * n_encoding / n_decoding samples: 320,000 see the whole maze.
static const decode_data line = {5, 16, 5000, 40000, 5000, 200};
static const decode_data maze = {6, 4, 10000, 32000, 1000, 724};
static const decode_data maze_rows = {6, 1, 4000, 16000, 200, 724};

typedef struct decode_work {
    tess_decode_recording *recording;
    tess_decode_model *model;
    const tess_decode_observation *observation;
    int64_t n_ll;
    float *likelihood; // [n_time][n_ll]
    float *posterior;  // [n_time][n_state_bin]
    tess_array likelihood_array;
    tess_array posterior_array;
} decode_work;

static tess_status call_fit(tess_context *ctx, void *self)
{
    const decode_work *work = self;
    tess_decode_model *model = NULL;
    const tess_status status = tess_decode_model_fit(ctx, work->recording, NULL, &model);
    tess_decode_model_destroy(model);
    return status;
}

static tess_status predict(tess_context *ctx, decode_work *work,
                           const tess_decode_predict_config *config, tess_decode_outputs *outputs)
{
    return tess_decode_predict(ctx, tess_decode_model_detector(work->model), work->observation,
                               config, outputs);
}

static tess_status call_likelihood(tess_context *ctx, void *self)
{
    decode_work *work = self;
    tess_decode_outputs outputs;

    tess_decode_outputs_init(&outputs, sizeof outputs);
    outputs.log_likelihood = &work->likelihood_array;
    return predict(ctx, work, NULL, &outputs);
}

// Filter and smoother over a likelihood that is known already.
static tess_status call_states(tess_context *ctx, void *self)
{
    decode_work *work = self;
    tess_decode_outputs outputs;
    tess_decode_predict_config config;

    tess_decode_predict_config_init(&config, sizeof config);
    tess_decode_outputs_init(&outputs, sizeof outputs);
    config.log_likelihood = &work->likelihood_array;
    outputs.acausal_posterior = &work->posterior_array;
    return predict(ctx, work, &config, &outputs);
}

static tess_status call_predict(tess_context *ctx, void *self)
{
    decode_work *work = self;
    tess_decode_outputs outputs;

    tess_decode_outputs_init(&outputs, sizeof outputs);
    outputs.acausal_posterior = &work->posterior_array;
    return predict(ctx, work, NULL, &outputs);
}

static tess_status make_recording(tess_context *ctx, const decode_data *data, decode_work *work)
{
    tess_decode_simulate_config config;

    tess_decode_simulate_config_init(&config, sizeof config);
    config.size = data->size;
    config.n_electrode = data->n_electrode;
    config.n_time = data->n_time;
    config.encoding_spikes = data->n_encoding;
    config.decoding_spikes = data->n_decoding;
    const tess_status status = tess_decode_simulate(ctx, &config, &work->recording);
    if (status == TESS_OK) {
        work->observation = &tess_decode_recording_get_info(work->recording)->observation;
    }
    return status;
}

typedef struct decode_sizes {
    tess_status (*call)(tess_context *ctx, void *self);
    const decode_data *data;
} decode_sizes;

static int make_work(cli *c, const bench_case *self, decode_work *work)
{
    CLI_CALL(make_recording(c->ctx, ((const decode_sizes *)self->sizes)->data, work));
    CLI_CALL(tess_decode_model_fit(c->ctx, work->recording, NULL, &work->model));
    const tess_decode_detector_info *info =
        tess_decode_detector_get_info(tess_decode_model_detector(work->model));
    const int64_t n_time = work->observation->n_time;
    const int64_t ll_shape[] = {n_time, info->n_ll};
    const int64_t shape[] = {n_time, info->n_state_bin};
    const int64_t n_place = ((const decode_sizes *)self->sizes)->data->n_place;
    if (info->n_ll != n_place) {
        return console_fail(70, "case %s has %lld places, not %lld", self->name,
                            (long long)info->n_ll, (long long)n_place);
    }
    work->n_ll = info->n_ll;
    work->likelihood = malloc(sizeof(float) * (size_t)(n_time * info->n_ll));
    work->posterior = malloc(sizeof(float) * (size_t)(n_time * info->n_state_bin));
    if (!work->likelihood || !work->posterior) {
        return console_fail(71, "no memory for case %s", self->name);
    }
    CLI_CALL(tess_array_init(&work->likelihood_array, work->likelihood, TESS_F32, 2, ll_shape));
    CLI_CALL(tess_array_init(&work->posterior_array, work->posterior, TESS_F32, 2, shape));
    return 0;
}

static void free_work(decode_work *work)
{
    tess_decode_model_destroy(work->model);
    tess_decode_recording_close(work->recording);
    free(work->likelihood);
    free(work->posterior);
}

// Of the plain sum: every spike to decode with every spike learned from, at every place bin.
static double pair_operations(const decode_work *work)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(work->recording);
    double sum = 0;

    for (int64_t e = 0; e < info->observation.spikes.n_electrode; e++) {
        sum += 2.0 * (double)work->n_ll * (double)info->training.spikes.n_spike[e] *
               (double)info->observation.spikes.n_spike[e];
    }
    return sum;
}

static int measure(cli *c, const bench_case *self, bench_row *row)
{
    const decode_sizes *sizes = self->sizes;
    decode_work work = {0};
    int code = make_work(c, self, &work);

    if (code == 0 && sizes->call == call_states) {
        const tess_status status = call_likelihood(c->ctx, &work);
        code = status ? console_status(status) : 0;
    }
    code = code ? code : bench_time(c, sizes->call, &work, row);
    row->amount = code == 0 && self->bound == BENCH_F32 ? pair_operations(&work) : 0;
    free_work(&work);
    return code;
}

static const decode_sizes likelihood = {call_likelihood, &line};
static const decode_sizes likelihood_maze = {call_likelihood, &maze};
static const decode_sizes states = {call_states, &line};
static const decode_sizes states_maze = {call_states, &maze_rows};
static const decode_sizes fit = {call_fit, &line};
static const decode_sizes whole = {call_predict, &line};

static const bench_case cases[] = {
    {"decode-likelihood", "16 electrodes, 40000 and 5000 spikes", 0, BENCH_F32, measure,
     &likelihood},
    {"decode-likelihood-maze", "4 electrodes, 32000 and 1000 spikes, 724 places", 0, BENCH_F32,
     measure, &likelihood_maze},
    {"decode-states", "filter and smoother, 5000 x 400", 0, BENCH_UNBOUND, measure, &states},
    {"decode-states-maze", "filter and smoother, 4000 x 1448", 0, BENCH_UNBOUND, measure,
     &states_maze},
    {"decode-fit", "16 electrodes, 40000 spikes", 1, BENCH_UNBOUND, measure, &fit},
    {"decode-predict", "5000 bins of 2 ms, 5000 spikes", 1, BENCH_UNBOUND, measure, &whole},
};

const bench_group bench_decode = {"decode", cases, sizeof cases / sizeof cases[0]};
