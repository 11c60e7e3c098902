// Stages of autoreject's interpolation: the contract between systems/autoreject and the backends.
#ifndef TESS_STAGE_AUTOREJECT_INTERPOLATION_H
#define TESS_STAGE_AUTOREJECT_INTERPOLATION_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_AUGMENT = 0x0420,
    TESS_STAGE_AUTOREJECT_REPAIR = 0x0421,
    TESS_STAGE_AUTOREJECT_DOTS = 0x0422,
    TESS_STAGE_AUTOREJECT_MAP = 0x0423,
};

// The same weights for every epoch.
//
//   out[e][r][t] = sum_i w[r][i] x[e][i][t],  i in order
//
// w    in   f64 [n_row][n_chan], C-contiguous
// x    in   f64 [n_epoch][n_chan][width], last axis contiguous, strides in items
// out  out  f64 [n_epoch][n_row][width], last axis contiguous, strides in items; not x
typedef struct tess_stage_autoreject_augment {
    const double *w;
    const double *x;
    double *out;
    int64_t n_epoch;
    int64_t n_row;
    int64_t n_chan;
    int64_t width;
    int64_t stride_epoch;
    int64_t stride_chan;
    int64_t out_stride_epoch;
    int64_t out_stride_row;
} tess_stage_autoreject_augment;

// Weights of its own for every repair. Repair j predicts channels bad[first[j]..first[j+1]) of
// epoch epoch[j] from the channels that are not among them, whose samples are not read: NaN in a
// bad channel does no harm.
//
//   out[k][t] = sum_i w[k][i] x[epoch[j]][rows[i]][t],  k = first[j]..first[j+1]-1,  i in order
//
// for each of n_part parts of x and out, which lie stride_part and out_stride_part items apart.
//
// rows  in   [n_chan] where channel i of the n_chan is in an epoch of x; NULL: at i
// epoch in   [n_repair] indices into x; NULL: 0, 1, ...
// first in   [n_repair + 1] ascending; rows of bad, w and out count from first[0]
// bad   in   [first[n_repair] - first[0]] channels, ascending within a repair
// w     in   f64 [first[n_repair] - first[0]][n_chan], C-contiguous
// x     inout f64 [.][.][width], last axis contiguous, strides in items
// out   out  f64 [first[n_repair] - first[0]][width], C-contiguous; NULL: the bad channels of x
//            are overwritten (an epoch must not be in two repairs then)
typedef struct tess_stage_autoreject_repair {
    const int32_t *rows;
    const int64_t *epoch;
    const int64_t *first;
    const int32_t *bad;
    const double *w;
    double *x;
    double *out;
    int64_t n_repair;
    int64_t n_chan;
    int64_t width;
    int64_t stride_epoch;
    int64_t stride_chan;
    int64_t n_part;
    int64_t stride_part;
    int64_t out_stride_part;
} tess_stage_autoreject_repair;

// Dot products of the lead fields of MEG coils in a sphere: sums over pairs of integration points,
//
//   out[i][j] = sum_ab w_a w_b d(a, b),  a in first[i]..first[i+1]-1, b in first[j]..first[j+1]-1
//
// with the series of d cut after n_term terms. Points are given from the sphere's centre.
//
// place  in   f64 [3][n_point] unit vectors
// normal in   f64 [3][n_point]
// length in   f64 [n_point] metres
// weight in   f64 [n_point]
// first  in   [n_coil + 1]
// out    out  f64 [n_coil][n_coil], symmetric
typedef struct tess_stage_autoreject_dots {
    const double *place;
    const double *normal;
    const double *length;
    const double *weight;
    const int64_t *first;
    double *out;
    int64_t n_coil;
    int64_t n_point;
    int64_t n_term;
    double radius;  // metres, of the sphere of sources
    int32_t table;  // 1: Legendre functions from a table of f32
    int32_t linear; // 1: between its entries, 0: the nearest
} tess_stage_autoreject_dots;

// One mapping: w [n_to][n_from] predicts channels to[] from channels from[].
typedef struct tess_ar_map {
    const int32_t *from;
    const int32_t *to;
    const double *basis; // [n_basis][n_from] orthonormal: directions that are projected out
    double *w;
    int64_t n_from;
    int64_t n_to;
    int64_t n_basis;
} tess_ar_map;

// Minimum-norm mappings. With D the dot products, Q = 1 - basis^T basis, S = diag(scale):
//
//   w = D_to,from Q S (S Q D_from,from Q S)^+ S
//
// where the inverse keeps the fewest largest eigenvalues that sum to at least (1 - miss) of all.
typedef struct tess_stage_autoreject_map {
    const double *dots;  // [n_chan][n_chan]
    const double *scale; // [n_chan]
    const tess_ar_map *maps;
    int64_t n_map;
    int64_t n_chan;
    double miss;
} tess_stage_autoreject_map;

#endif
