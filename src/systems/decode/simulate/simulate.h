// Simulated recordings: what the parts of the generator share.
//
// A recording starts with a training period and goes on with the period to be decoded, one time
// axis at 500 Hz. Random numbers are Philox streams keyed by seed, item and purpose, and every
// spike is a function of its electrode and index alone.
#ifndef TESS_SYSTEMS_DECODE_SIMULATE_H
#define TESS_SYSTEMS_DECODE_SIMULATE_H

#include "base/rng.h"
#include "runtime/watch.h"
#include "systems/decode/files/recording.h"

#define TESS_DE_SIMULATE_HZ 500.0

enum {
    TESS_DE_DRAW_RUN = 1,    // item: run of the trajectory
    TESS_DE_DRAW_WALK = 2,   // velocity noise in the plane
    TESS_DE_DRAW_REPLAY = 3, // item: pause
    TESS_DE_DRAW_UNIT = 4,   // item: electrode
    TESS_DE_DRAW_SPIKE = 5,  // item: electrode and period, as the next three
    TESS_DE_DRAW_NOISE = 6,
    TESS_DE_DRAW_HASH = 7,
    TESS_DE_DRAW_ARTEFACT = 8,
    TESS_DE_DRAW_CELL = 9 // item: electrode and period, profiling sizes
};

// What a size stands for; overridden by the counts of the config.
typedef struct tess_de_simulate_size {
    int is_profile; // made by the original's generator
    int maze;       // tess_de_maze_kind
    int64_t n_electrode;
    int64_t n_feature;
    int64_t n_time;
    int64_t n_bin; // 0: by place_bin_size
    int64_t encoding_spikes;
    int64_t decoding_spikes;
    int64_t n_position;    // position samples of the profiling sizes
    double place_bin_size; // cm
} tess_de_simulate_size;

// The size with the config's counts in place of its own.
TESS_MUST_CHECK tess_status tess_de_simulate_check(const tess_decode_simulate_config *given,
                                                   tess_decode_simulate_config *config,
                                                   tess_de_simulate_size *size);

// Fills a new recording the way the original's profiling script does, or with as many spikes of
// place cells.
TESS_MUST_CHECK tess_status tess_de_simulate_profile(tess_decode_recording *recording,
                                                     const tess_decode_simulate_config *config,
                                                     const tess_de_simulate_size *size);

// Where the animal can be. Cells are small squares (or stretches of the line) on which rates are
// tabulated.
typedef enum tess_de_maze_kind {
    TESS_DE_MAZE_LINE = 0,
    TESS_DE_MAZE_W = 1,
    TESS_DE_MAZE_BOX = 2
} tess_de_maze_kind;

int64_t tess_de_maze_dims(int maze);
void tess_de_maze_extent(int maze, double extent[2]);
int tess_de_maze_inside(int maze, const double *point);
int64_t tess_de_maze_cells(int maze);
int64_t tess_de_maze_cell(int maze, const double *point);
void tess_de_maze_cell_center(int maze, int64_t cell, double *point);
void tess_de_maze_start(int maze, double *point);
// Where the animal wants to go: in the W to the arms in turn, middle, left, middle, right; nowhere
// in a box. Length 1 or 0. leg counts the corridors done.
void tess_de_maze_heading(int maze, const double *point, int64_t *leg, double heading[2]);
// A point of the sweep number draw after a way of so many cm; it turns at the ends.
void tess_de_maze_sweep(int maze, const double draw[4], double way, double *point);

// The animal and what its brain represents, sample by sample.
typedef struct tess_de_path {
    int maze;
    int64_t n_dim;
    int64_t n_sample;
    int64_t n_training;  // replays come after these
    double *position;    // [n_sample][n_dim]
    double *represented; // [n_sample - n_training][n_dim]
    uint8_t *is_replay;  // [n_sample - n_training]
} tess_de_path;

TESS_MUST_CHECK tess_status tess_de_simulate_path(tess_context *ctx, uint64_t seed,
                                                  tess_de_path *path);

// One unit of an electrode.
typedef struct tess_de_unit {
    double center[2];
    double peak_hz;
    double amplitude;        // uV
    const double *direction; // [n_feature], largest 1
} tess_de_unit;

enum { TESS_DE_MAX_UNITS = 40 };

// Units of an electrode; directions: room for MAX_UNITS x n_feature. Returns how many.
int64_t tess_de_simulate_units(uint64_t seed, int64_t electrode, int maze, int64_t n_feature,
                               double *directions, tess_de_unit *units);
double tess_de_unit_hz(const tess_de_unit *unit, int64_t n_dim, const double *point);
// Shares of the channels, largest 1, from 2 n uniform numbers of a stream from first on.
void tess_de_simulate_direction(const tess_philox_stream *draw, uint64_t first, int64_t n,
                                double *direction);

// Spikes of all electrodes in samples first..first+n-1 of the path, n_total of them.
typedef struct tess_de_spike_job {
    const tess_decode_simulate_config *config;
    const tess_de_path *path;
    int64_t n_electrode;
    int64_t n_feature;
    int64_t first;
    int64_t n;
    int64_t n_total;
    uint32_t period;   // 0 training, 1 decoding
    tess_watch *watch; // over both periods
} tess_de_spike_job;

// unit, if not NULL, becomes the list of units [n_electrode] -> [n_spike].
TESS_MUST_CHECK tess_status tess_de_simulate_spikes(tess_context *ctx,
                                                    tess_decode_recording *recording,
                                                    const tess_de_spike_job *job,
                                                    tess_decode_spikes *spikes,
                                                    const int32_t *const **unit);

#endif
