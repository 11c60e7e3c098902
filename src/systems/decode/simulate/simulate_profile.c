// The profiling data: one pass along a line. The original's script puts spikes anywhere in time and
// gives them features of plain noise, which is enough to measure speed and nothing can be decoded
// from; draws come in its order. Otherwise those spikes, as many, are moved to where place cells
// would fire, with features that tell the cells apart.
#include "base/status.h"
#include "systems/decode/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>

static const double LINE_CM = 100;
static const double TRAINING_S = 100;
static const double DECODING_S = 20;
static const double WAVEFORM_STD = 24;

// Cells of an electrode, in turn over the line.
enum { CELLS = 4 };
static const double FIELD_SD = 6;    // cm
static const double CELL_LEAST = 60; // uV, of a cell's mean features
static const double CELL_MOST = 240;
static const double FEATURE_SD = 10;
static const double GOLDEN = 0.6180339887498949; // spreads any number of centres evenly

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

typedef struct period {
    uint64_t seed;
    uint32_t number; // 0 training, 1 decoding
    int moves_spikes;
    double mean; // spikes of an electrode
    double duration;
} period;

// Back into the line, as from mirrors at its ends.
static double reflect(double x)
{
    const double folded = fmod(fabs(x), 2 * LINE_CM);
    return folded <= LINE_CM ? folded : 2 * LINE_CM - folded;
}

// Where a cell fires.
static double centre_of(int64_t electrode, int64_t cell)
{
    const double turn = GOLDEN * (double)(electrode * CELLS + cell) + 0.5;
    return LINE_CM * (turn - floor(turn));
}

// A spike before it is sorted by time.
typedef struct placed {
    double time;
    int64_t index;
} placed;

static int by_time(const void *a, const void *b)
{
    const placed *x = a;
    const placed *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

// The spikes of one electrode to the places of its cells.
static tess_status move_spikes(tess_decode_recording *recording, const period *p, int64_t electrode,
                               int64_t n, int64_t n_feature, double *times, double *marks)
{
    const tess_philox_stream cells =
        tess_philox_open(p->seed, (uint32_t)electrode, TESS_DE_DRAW_UNIT);
    const tess_philox_stream draw =
        tess_philox_open(p->seed, 2 * (uint32_t)electrode + p->number, TESS_DE_DRAW_CELL);
    placed *spikes = tess_blocks_alloc(&recording->blocks, n, sizeof *spikes, "simulated spikes");
    double *normals =
        tess_blocks_alloc(&recording->blocks, n_feature + 1, sizeof *normals, "simulated features");
    if (!spikes || !normals) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        tess_philox_normals(&draw, (uint64_t)i * (uint64_t)(n_feature + 1), (size_t)1, normals);
        const double x = reflect(centre_of(electrode, i % CELLS) + FIELD_SD * normals[0]);
        spikes[i] = (placed){x / LINE_CM * p->duration, i};
    }
    qsort(spikes, (size_t)n, sizeof *spikes, by_time);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = spikes[i].index;
        times[i] = spikes[i].time;
        tess_philox_normals(&draw, (uint64_t)k * (uint64_t)(n_feature + 1), (size_t)n_feature + 1,
                            normals);
        for (int64_t f = 0; f < n_feature; f++) {
            const double u = tess_philox_uniform(&cells, (uint64_t)(k % CELLS * n_feature + f));
            marks[i * n_feature + f] =
                CELL_LEAST + (CELL_MOST - CELL_LEAST) * u + FEATURE_SD * normals[f + 1];
        }
    }
    return TESS_OK;
}

static tess_status draw_spikes(tess_decode_recording *recording, tess_pcg64 *rng,
                               const tess_de_simulate_size *size, const period *p,
                               tess_decode_spikes *spikes)
{
    tess_de_spike_lists lists;
    TESS_TRY(tess_de_recording_spikes(recording, spikes, size->n_electrode, TESS_F64, &lists));
    for (int64_t e = 0; e < size->n_electrode; e++) {
        const int64_t n = tess_pcg64_poisson(rng, p->mean);
        double *times = tess_blocks_alloc(&recording->blocks, n, sizeof *times, "simulated spikes");
        double *marks = tess_blocks_alloc(&recording->blocks, n * size->n_feature, sizeof *marks,
                                          "simulated features");
        if (!times || !marks) {
            return TESS_E_MEMORY;
        }
        for (int64_t i = 0; i < n; i++) {
            times[i] = p->duration * tess_pcg64_double(rng);
        }
        qsort(times, (size_t)n, sizeof *times, by_value);
        for (int64_t i = 0; i < n * size->n_feature; i++) {
            marks[i] = 0 + tess_pcg64_normal(rng);
        }
        if (p->moves_spikes) {
            TESS_TRY(move_spikes(recording, p, e, n, size->n_feature, times, marks));
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
    const int moves_spikes = config->generator == TESS_DECODE_GENERATOR_TESSERA;
    // Bins as wide as position samples are apart: what a likelihood wants, and the script has not.
    const double step = TRAINING_S / (double)(size->n_position - 1);
    const double decoding_s =
        moves_spikes && size->n_time > 1 ? step * (double)(size->n_time - 1) : DECODING_S;
    const period training = {(uint64_t)config->seed, 0, moves_spikes,
                             (double)size->encoding_spikes / n_electrode, TRAINING_S};
    const period decoding = {(uint64_t)config->seed, 1, moves_spikes,
                             (double)size->decoding_spikes / n_electrode, decoding_s};
    TESS_TRY(fill_position(recording, size->n_position, TRAINING_S, &info->training.position));
    TESS_TRY(draw_spikes(recording, &rng, size, &training, &info->training.spikes));
    TESS_TRY(fill_position(recording, size->n_time, decoding_s, &info->observation.position));
    TESS_TRY(draw_spikes(recording, &rng, size, &decoding, &info->observation.spikes));
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
