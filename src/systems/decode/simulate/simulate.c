// Simulated recordings: a period to train on, then one to decode.
#include "systems/decode/simulate/simulate.h"
#include "systems/decode/settings/need.h"

#include "base/status.h"

// Fewer training samples than this are no training.
enum { LEAST_TRAINING = 1000 };

// As long as the spikes ask for at the rate of the decoding period.
static tess_status training_samples(const tess_de_simulate_size *size, int64_t *n_training)
{
    const double n =
        (double)size->n_time * (double)size->encoding_spikes / (double)size->decoding_spikes;
    if (n + (double)size->n_time > INT32_MAX) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "time_bins: %lld rows and the %.0f samples to train on (as many as %lld encoding "
                  "spikes take at the rate of %lld decoding ones) are more than %d",
                  (long long)size->n_time, n, (long long)size->encoding_spikes,
                  (long long)size->decoding_spikes, INT32_MAX);
    }
    *n_training = n < LEAST_TRAINING ? LEAST_TRAINING : (int64_t)(n + 0.5);
    return TESS_OK;
}

static tess_status make_path(tess_context *ctx, tess_decode_recording *recording, uint64_t seed,
                             tess_de_path *path)
{
    tess_blocks *blocks = &recording->blocks;
    const int64_t n_row = path->n_sample - path->n_training;
    path->position = tess_blocks_alloc(blocks, path->n_sample * path->n_dim, sizeof *path->position,
                                       "simulated position");
    path->represented = tess_blocks_alloc(blocks, n_row * path->n_dim, sizeof *path->represented,
                                          "simulated position");
    path->is_replay = tess_blocks_alloc(blocks, n_row, 1, "simulated replays");
    if (!path->position || !path->represented || !path->is_replay) {
        return TESS_E_MEMORY;
    }
    return tess_de_simulate_path(ctx, seed, path);
}

static tess_status fill_positions(tess_decode_recording *recording, const tess_de_path *path)
{
    tess_decode_recording_info *info = &recording->info;
    double *time =
        tess_blocks_alloc(&recording->blocks, path->n_sample, sizeof *time, "simulated time");
    if (!time) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < path->n_sample; k++) {
        time[k] = (double)k / TESS_DE_SIMULATE_HZ;
    }
    tess_decode_position *training = &info->training.position;
    training->n_sample = path->n_training;
    training->n_dim = path->n_dim;
    training->time = time;
    training->position = path->position;
    tess_decode_position *decoding = &info->observation.position;
    decoding->n_sample = path->n_sample - path->n_training;
    decoding->n_dim = path->n_dim;
    decoding->time = time + path->n_training;
    decoding->position = path->position + path->n_training * path->n_dim;
    info->observation.n_time = decoding->n_sample;
    info->observation.time = decoding->time;
    info->true_position = decoding->position;
    info->represented_position = path->represented;
    info->is_replay = path->is_replay;
    return TESS_OK;
}

// What the recording will hold, scratch aside.
static double bytes_of(int64_t n_sample, int64_t n_dim, const tess_de_simulate_size *size)
{
    const double n_spike = (double)size->encoding_spikes + (double)size->decoding_spikes;
    return 8 * (double)n_sample * (double)(1 + n_dim) +
           (double)size->n_time * (double)(8 * n_dim + 1) +
           n_spike * (12 + 4 * (double)size->n_feature);
}

// Saving puts the spikes of all electrodes one after another.
static tess_status check_room(const tess_context *ctx, double bytes,
                              const tess_de_simulate_size *size)
{
    const double n_spike = (double)size->encoding_spikes + (double)size->decoding_spikes;
    const double most = bytes + n_spike * (8 + 4 * (double)size->n_feature);
    return tess_de_need_check(ctx, "simulate", "the recording",
                              (tess_de_need){(uint64_t)bytes, (uint64_t)most});
}

static tess_status simulate(tess_context *ctx, const tess_decode_simulate_config *config,
                            const tess_de_simulate_size *size, tess_decode_recording *recording)
{
    tess_decode_recording_info *info = &recording->info;
    int64_t n_training = 0;
    TESS_TRY(training_samples(size, &n_training));
    tess_de_path path = {.maze = size->maze,
                         .n_dim = tess_de_maze_dims(size->maze),
                         .n_sample = n_training + size->n_time,
                         .n_training = n_training};
    const double bytes = bytes_of(path.n_sample, path.n_dim, size);
    TESS_TRY(check_room(ctx, bytes, size));
    if (bytes > (double)ctx->memory_limit_bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "simulate: the recording takes %.3g GB, the memory limit is %.3g GB; ask for "
                  "fewer spikes, features or time bins, or raise the limit",
                  bytes / 1e9, (double)ctx->memory_limit_bytes / 1e9);
    }
    tess_watch watch;
    tess_watch_begin(&watch, ctx, "decode.simulate", "electrodes", 0, (uint64_t)bytes,
                     TESS_STRATEGY_STANDARD);
    TESS_TRY(make_path(ctx, recording, (uint64_t)config->seed, &path));
    TESS_TRY(fill_positions(recording, &path));
    // A spike lies between two samples, so the last one of a period has none.
    tess_de_spike_job job = {.config = config,
                             .path = &path,
                             .n_electrode = size->n_electrode,
                             .n_feature = size->n_feature,
                             .first = 0,
                             .n = n_training - 1,
                             .n_total = size->encoding_spikes,
                             .watch = &watch};
    TESS_TRY(tess_de_simulate_spikes(ctx, recording, &job, &info->training.spikes, NULL));
    job.first = n_training;
    job.n = size->n_time > 1 ? size->n_time - 1 : 1;
    job.n_total = size->decoding_spikes;
    job.period = 1;
    TESS_TRY(tess_de_simulate_spikes(ctx, recording, &job, &info->observation.spikes, &info->unit));
    double extent[2];
    tess_de_maze_extent(size->maze, extent);
    // A hair wider, so that rounding adds no bin.
    info->place_bin_size =
        size->n_bin > 0 ? extent[0] / (double)size->n_bin * (1 + 1e-12) : size->place_bin_size;
    return TESS_OK;
}

tess_status tess_decode_simulate(tess_context *ctx, const tess_decode_simulate_config *given,
                                 tess_decode_recording **out)
{
    tess_error_clear();
    *out = NULL;
    tess_decode_simulate_config config;
    tess_de_simulate_size size;
    TESS_TRY(tess_de_simulate_check(given, &config, &size));
    if (size.is_profile) {
        TESS_TRY(check_room(ctx, bytes_of(size.n_time, 1, &size), &size));
    }
    tess_decode_recording *recording = NULL;
    TESS_TRY(tess_de_recording_new(ctx, &recording));
    recording->info.format = "simulation";
    recording->is_simulated = true;
    recording->simulation = config;
    const tess_status status = size.is_profile ? tess_de_simulate_profile(recording, &config, &size)
                                               : simulate(ctx, &config, &size, recording);
    if (status != TESS_OK) {
        tess_decode_recording_close(recording);
        return status;
    }
    *out = recording;
    return TESS_OK;
}
