// The inside of an environment.
//
// environment.c checks and assembles; a grid (grid.c) or a track (track.c) fills in the bins, and
// everything after that reads the info alone.
#ifndef TESS_SYSTEMS_DECODE_ENVIRONMENT_H
#define TESS_SYSTEMS_DECODE_ENVIRONMENT_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/decode/environment.h"

#include <pthread.h>

// One corridor, in the order of the graph's own enumeration (index = edge id).
typedef struct tess_de_track_edge {
    int64_t node[2];       // as enumerated: node[0] < node[1]
    double position[2][2]; // of the two nodes
    double span;           // distance between the nodes
    double length;         // as given: what linear position counts
    int64_t first_node;    // where linear position starts: node[0] or node[1]
    double start;          // linear position of first_node
} tess_de_track_edge;

struct tess_decode_environment {
    tess_heap *heap;
    tess_blocks blocks; // what info points to
    tess_decode_environment_info info;
    uint8_t *interior; // info.is_interior while it is made
    // With a track:
    int64_t n_node;
    tess_de_track_edge *track_edges; // [info.n_track_edge]
    int64_t *track_order;            // [info.n_track_edge] edge ids, first on the line first
    int32_t *bin_track_edge;         // [n_bin] edge id, -1: a gap
    // Made on first demand:
    pthread_mutex_t mutex;
    double *distances; // [P][P], or NULL
};

// Settings after validation: one bin width per axis.
typedef struct tess_de_environment_plan {
    tess_decode_environment_config config;
    double bin_size[TESS_DECODE_MAX_DIM];
    const double *position; // [n_sample][n_dim]
    int64_t n_sample;
    int64_t n_dim;
} tess_de_environment_plan;

// Edges, centres and mask of a grid over the positions.
TESS_MUST_CHECK tess_status tess_de_grid_make(tess_decode_environment *env,
                                              const tess_de_environment_plan *plan);
// The same of a track.
TESS_MUST_CHECK tess_status tess_de_track_make(tess_decode_environment *env,
                                               const tess_de_environment_plan *plan);

// Sets n_bin, centres and an empty mask from grid_shape and bin_edges.
TESS_MUST_CHECK tess_status tess_de_bins_make(tess_decode_environment *env);

// Bin of a point by the rule of a histogram: bins are half-open, the last one closed; -1 outside.
int64_t tess_de_histogram_bin(const tess_decode_environment_info *info, const double *point);

// 1 if a point lies in an interior bin of the grid itself, not only near one.
bool tess_de_is_on_track(const tess_decode_environment_info *info, const double *point);

// How many values of the ascending list are <= x.
int64_t tess_de_count_below(const double *list, int64_t n, double x);

// Masks over a grid of up to three axes, C order. Neighbours share a face; beyond the rim there is
// nothing. in and out must differ.
void tess_de_mask_dilate(const int64_t *shape, int64_t n_dim, const uint8_t *in, uint8_t *out);
void tess_de_mask_erode(const int64_t *shape, int64_t n_dim, const uint8_t *in, uint8_t *out);
// Sets what no path of unset bins joins to the rim. queue: room for one entry per bin.
void tess_de_mask_fill(const int64_t *shape, int64_t n_dim, uint8_t *mask, uint8_t *outside,
                       int64_t *queue);
// Clears the first and last slice of every axis.
void tess_de_mask_clear_rim(const int64_t *shape, int64_t n_dim, uint8_t *mask);

// [P][P] shortest paths.
TESS_MUST_CHECK tess_status tess_de_grid_distances(tess_context *ctx,
                                                   const tess_decode_environment *env, double *out);
TESS_MUST_CHECK tess_status tess_de_track_distances(tess_context *ctx,
                                                    const tess_decode_environment *env,
                                                    double *out);

#endif
