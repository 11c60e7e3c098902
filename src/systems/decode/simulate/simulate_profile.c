// The original's profiling data: one pass along a line, spikes anywhere in time, features of plain
// noise. Draws come in the order of the original's script.
#include "base/status.h"
#include "systems/decode/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>

static const double LINE_CM = 100;
static const double TRAINING_S = 100;
static const double DECODING_S = 20;
static const double WAVEFORM_STD = 24;

// n equal steps from 0 to end, as numpy.linspace.
static double *new_ramp(tess_blocks *blocks, int64_t n, double end)
{
    double *out = tess_blocks_alloc(blocks, n, sizeof *out, "simulated position");
    if (out) {
        const double step = n > 1 ? end / (double)(n - 1) : 0;
        for (int64_t i = 0; i < n; i++) {
            out[i] = i < n - 1 || n == 1 ? (double)i * step : end;
        }
    }
    return out;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static tess_status draw_spikes(tess_decode_recording *recording, tess_pcg64 *rng,
                               const tess_de_simulate_size *size, double mean, double duration,
                               tess_decode_spikes *spikes)
{
    tess_de_spike_lists lists;
    TESS_TRY(tess_de_recording_spikes(recording, spikes, size->n_electrode, TESS_F64, &lists));
    for (int64_t e = 0; e < size->n_electrode; e++) {
        const int64_t n = tess_pcg64_poisson(rng, mean);
        double *times = tess_blocks_alloc(&recording->blocks, n, sizeof *times, "simulated spikes");
        double *marks = tess_blocks_alloc(&recording->blocks, n * size->n_feature, sizeof *marks,
                                          "simulated features");
        if (!times || !marks) {
            return TESS_E_MEMORY;
        }
        for (int64_t i = 0; i < n; i++) {
            times[i] = duration * tess_pcg64_double(rng);
        }
        qsort(times, (size_t)n, sizeof *times, by_value);
        for (int64_t i = 0; i < n * size->n_feature; i++) {
            marks[i] = 0 + tess_pcg64_normal(rng);
        }
        lists.n_spike[e] = n;
        lists.n_feature[e] = size->n_feature;
        lists.times[e] = times;
        lists.marks[e] = marks;
    }
    return TESS_OK;
}

static tess_status fill_position(tess_decode_recording *recording, int64_t n, double duration,
                                 tess_decode_position *position)
{
    position->n_sample = n;
    position->n_dim = 1;
    position->time = new_ramp(&recording->blocks, n, duration);
    position->position = new_ramp(&recording->blocks, n, LINE_CM);
    return position->time && position->position ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_de_simulate_profile(tess_decode_recording *recording,
                                     const tess_decode_simulate_config *config,
                                     const tess_de_simulate_size *size)
{
    tess_decode_recording_info *info = &recording->info;
    const double n_electrode = (double)size->n_electrode;
    tess_pcg64 rng;
    tess_pcg64_seed(&rng, (uint64_t)config->seed);
    TESS_TRY(fill_position(recording, size->n_position, TRAINING_S, &info->training.position));
    TESS_TRY(draw_spikes(recording, &rng, size, (double)size->encoding_spikes / n_electrode,
                         TRAINING_S, &info->training.spikes));
    TESS_TRY(fill_position(recording, size->n_time, DECODING_S, &info->observation.position));
    TESS_TRY(draw_spikes(recording, &rng, size, (double)size->decoding_spikes / n_electrode,
                         DECODING_S, &info->observation.spikes));
    info->observation.n_time = size->n_time;
    info->observation.time = info->observation.position.time;
    info->interior_position = new_ramp(&recording->blocks, size->n_bin, LINE_CM);
    info->n_interior_position = size->n_bin;
    info->true_position = info->observation.position.position;
    info->place_bin_size = LINE_CM / (double)size->n_bin;
    info->position_std = sqrt(12.5);
    info->waveform_std = WAVEFORM_STD;
    return info->interior_position ? TESS_OK : TESS_E_MEMORY;
}
