// Medians of 50 predictions by way of f32: they tell which two subsets are in the middle, and only
// what these predict is made in f64. The same bits as from 50 predictions in f64.
#ifndef TESS_CPU_AUTOREJECT_RANSAC_QUICK_H
#define TESS_CPU_AUTOREJECT_RANSAC_QUICK_H

#include "kernels/kernels.h"
#include "stage/autoreject_ransac.h"

#include <stdbool.h>

// Subsets, and tiles that are gone through together.
enum { TESS_QUICK_SUBSETS = 50, TESS_QUICK_TILES = 2 };

typedef struct tess_ransac_quick {
    const tess_kernels *kernels;
    const tess_stage_autoreject_ransac *args;
    float *w;      // of each 6 or 4 rows of a group: [50][n_from][rows]
    double *exact; // of each group: [50][rows][n_from]
    float *spread; // [n_chan] of a channel: the largest sum of magnitudes of its weights
} tess_ransac_quick;

// Samples of so many tiles that follow each other, in f64 and as tess_ransac_quick_narrow made
// them.
typedef struct tess_ransac_tiles {
    const double *x;      // [n][n_chan][16]
    const float *narrow;  // the same
    const float *largest; // [n][16] magnitudes over the channels
    int64_t n;
    int64_t n_next; // that follow: they are brought nearer meanwhile
} tess_ransac_tiles;

bool tess_ransac_is_quick(const tess_kernels *kernels, const tess_stage_autoreject_ransac *args);

// Weights and spreads of the rows from first to end, a group; those past the channels are 0.
void tess_ransac_quick_pack(const tess_ransac_quick *q, int64_t first, int64_t end);

// A tile x[n_chan][16] times a power of two that brings it near 1.
void tess_ransac_quick_narrow(const double *x, int64_t n_chan, float *narrow, float *largest);

// medians[k][tile][16] of the channels first + k of a group of n_row; predictions is room for
// [6][50][16].
void tess_ransac_quick_medians(
    const tess_ransac_quick *q, tess_ransac_tiles tiles, int64_t first, int64_t n_row,
    float *predictions, double medians[TESS_RANSAC_ROWS][TESS_QUICK_TILES][TESS_RANSAC_TILE]);

// What a subset's number in the last bits may add to a prediction, of its magnitude: something over
// 2^-17, for what rounding the bounds may lose.
#define TESS_QUICK_NUMBER_REACH 8e-6F

// ransac_unsure.c
//
// The middle two predictions of some samples of a row, where more of them than two may be:
// p[50][16] are those in f32 in any order, middle[4][16] their middle four.
typedef struct tess_ransac_unsure {
    const double *w; // of the row and subset 0; those of the next are w_step further on
    int64_t w_step;
    const double *x; // the tile
    const float *p;
    const float *middle;
    float reach[TESS_RANSAC_TILE]; // twice what rounding may do to a sum
    int32_t n;
    int32_t at[TESS_RANSAC_TILE]; // samples
} tess_ransac_unsure;

void tess_ransac_settle(const tess_ransac_quick *q, const tess_ransac_unsure *u,
                        double pairs[TESS_RANSAC_TILE][2]);

#endif
