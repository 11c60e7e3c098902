// Where the animal goes, where it rests, and what it replays there.
#include "base/status.h"
#include "systems/decode/simulate/simulate.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double SPEED = 15; // cm/s, mean of a run along the line
static const double SPEED_JITTER = 0.2;
static const double MAX_PAUSE_S = 20;
static const double WALK_TAU_S = 0.7; // memory of the velocity in the plane
static const double WALK_RMS = 12;    // cm/s
static const double WALK_MIN_S = 10;  // between pauses in the plane
static const double WALK_MAX_S = 40;
static const double REPLAY_EVERY_S = 2;

// A stretch of moving or resting, in samples.
typedef struct stretch {
    int64_t first;
    int64_t n;
} stretch;

static stretch make_stretch(int64_t first, double seconds, int64_t n_sample)
{
    int64_t n = (int64_t)(seconds * TESS_DE_SIMULATE_HZ);
    n = n < 1 ? 1 : n;
    return (stretch){first, first + n > n_sample ? n_sample - first : n};
}

static double run_seconds(const tess_philox_stream *draw, double length)
{
    double z;
    tess_philox_normals(draw, 4, 1, &z);
    const double jitter = 1 + SPEED_JITTER * (z < -2 ? -2 : z > 2 ? 2 : z);
    return length / (SPEED * jitter);
}

// One way along the line, slow at its ends.
static void run_along_line(tess_de_path *path, stretch run, double seconds, int backwards)
{
    double extent[2];
    tess_de_maze_extent(path->maze, extent);
    for (int64_t k = 0; k < run.n; k++) {
        const double s = (double)k / (seconds * TESS_DE_SIMULATE_HZ);
        const double x = extent[0] / 2 * (1 - cos(PI * (s < 1 ? s : 1)));
        path->position[run.first + k] = backwards ? extent[0] - x : x;
    }
}

// What goes on from one walk in the plane to the next.
typedef struct walker {
    double v[2]; // beside the heading
    double at[2];
    int64_t leg;
} walker;

// A velocity that forgets itself, about a heading, turned round at walls.
static void walk_in_plane(tess_de_path *path, stretch run, const tess_philox_stream *noise,
                          walker *w)
{
    const double keep = exp(-1 / (WALK_TAU_S * TESS_DE_SIMULATE_HZ));
    const double kick = WALK_RMS * sqrt(1 - keep * keep);
    for (int64_t k = run.first; k < run.first + run.n; k++) {
        double z[2];
        double heading[2];
        tess_philox_normals(noise, 2 * (uint64_t)k, 2, z);
        tess_de_maze_heading(path->maze, w->at, &w->leg, heading);
        for (int i = 0; i < 2; i++) {
            w->v[i] = keep * w->v[i] + kick * z[i];
            const double before = w->at[i];
            w->at[i] += (w->v[i] + WALK_RMS * heading[i]) / TESS_DE_SIMULATE_HZ;
            if (!tess_de_maze_inside(path->maze, w->at)) {
                w->at[i] = before;
                w->v[i] = -w->v[i];
            }
        }
        memcpy(path->position + 2 * k, w->at, sizeof w->at);
    }
}

static void rest(tess_de_path *path, stretch pause, const double *at)
{
    for (int64_t k = pause.first; k < pause.first + pause.n; k++) {
        memcpy(path->position + k * path->n_dim, at, (size_t)path->n_dim * sizeof *at);
    }
}

// Sweeps at 5 to 20 m/s for 60 to 200 ms, one every two seconds or so of a pause.
static void replay(tess_de_path *path, uint64_t seed, uint32_t item, stretch pause)
{
    const tess_philox_stream draw = tess_philox_open(seed, item, TESS_DE_DRAW_REPLAY);
    const int64_t end = pause.first + pause.n;
    double at_s = (double)pause.first / TESS_DE_SIMULATE_HZ;
    for (uint64_t event = 0;; event++) {
        double u[7];
        for (uint64_t i = 0; i < 7; i++) {
            u[i] = tess_philox_uniform(&draw, 8 * event + i);
        }
        at_s += REPLAY_EVERY_S * (0.5 + u[0]);
        const double seconds = 0.06 + 0.14 * u[1];
        const double speed = 500 + 1500 * u[2];
        const int64_t first = (int64_t)(at_s * TESS_DE_SIMULATE_HZ);
        const int64_t n = (int64_t)(seconds * TESS_DE_SIMULATE_HZ);
        if (first + n > end) {
            return;
        }
        for (int64_t k = first; k < first + n; k++) {
            const int64_t row = k - path->n_training;
            if (row >= 0) {
                const double way = speed * (double)(k - first) / TESS_DE_SIMULATE_HZ;
                path->is_replay[row] = 1;
                tess_de_maze_sweep(path->maze, u + 3, way, path->represented + row * path->n_dim);
            }
        }
        at_s += seconds;
    }
}

// Outside replays the animal represents where it is.
static void represent(tess_de_path *path, stretch now)
{
    const int64_t skip = now.first < path->n_training ? path->n_training - now.first : 0;
    if (skip < now.n) {
        const int64_t first = now.first + skip;
        memcpy(path->represented + (first - path->n_training) * path->n_dim,
               path->position + first * path->n_dim,
               (size_t)((now.n - skip) * path->n_dim) * sizeof *path->represented);
    }
}

tess_status tess_de_simulate_path(tess_context *ctx, uint64_t seed, tess_de_path *path)
{
    const tess_philox_stream noise = tess_philox_open(seed, 0, TESS_DE_DRAW_WALK);
    const int on_line = path->maze == TESS_DE_MAZE_LINE;
    double extent[2];
    tess_de_maze_extent(path->maze, extent);
    walker w = {{0, 0}, {0, 0}, 0};
    tess_de_maze_start(path->maze, w.at);
    int64_t k = 0;
    for (uint32_t i = 0; k < path->n_sample; i++) {
        TESS_TRY(tess_context_check_cancel(ctx));
        const tess_philox_stream draw = tess_philox_open(seed, i, TESS_DE_DRAW_RUN);
        const double u = tess_philox_uniform(&draw, 0);
        const double pause_s = MAX_PAUSE_S * tess_philox_uniform(&draw, 1);
        const double run_s =
            on_line ? run_seconds(&draw, extent[0]) : WALK_MIN_S + (WALK_MAX_S - WALK_MIN_S) * u;
        const stretch run = make_stretch(k, run_s, path->n_sample);
        const stretch pause = make_stretch(run.first + run.n, pause_s, path->n_sample);
        if (on_line) {
            run_along_line(path, run, run_s, i % 2);
            w.at[0] = i % 2 ? 0 : extent[0];
        } else {
            walk_in_plane(path, run, &noise, &w);
        }
        rest(path, pause, w.at);
        represent(path, run);
        represent(path, pause);
        replay(path, seed, i, pause);
        k = pause.first + pause.n;
    }
    return TESS_OK;
}
