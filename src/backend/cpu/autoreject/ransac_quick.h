// Medians of 50 predictions by way of f32: they tell which two subsets are in the middle, and only
// what these predict is made in f64. The same bits as from 50 predictions in f64.
#ifndef TESS_CPU_AUTOREJECT_RANSAC_QUICK_H
#define TESS_CPU_AUTOREJECT_RANSAC_QUICK_H

#include "backend/cpu/autoreject/ransac_items.h"

// Tiles that are gone through together.
enum { TESS_QUICK_TILES = 8 };

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
    bool is_last; // else another follows, and is brought nearer meanwhile
} tess_ransac_tiles;

bool tess_ransac_is_quick(const tess_kernels *kernels, const tess_stage_autoreject_ransac *args);

// Weights and spreads of the rows from first to end, a group; those past the channels are 0.
void tess_ransac_quick_pack(const tess_ransac_quick *q, int64_t first, int64_t end);

// A tile x[n_chan][16] times a power of two that brings it near 1.
void tess_ransac_quick_narrow(const double *x, int64_t n_chan, float *narrow, float *largest);

// medians[k][tile][16] of the channels first + k of a group of n_row; predictions is room for
// [6][50][16]. Returns of how many channels and tiles f32 told nothing, so that they took longer.
int64_t
tess_ransac_quick_medians(const tess_ransac_quick *q, tess_ransac_tiles tiles, int64_t first,
                          int64_t n_row, float *predictions,
                          double medians[TESS_RANSAC_ROWS][TESS_QUICK_TILES][TESS_RANSAC_TILE]);

// What a subset's number in the last bits may add to a prediction, of its magnitude: something over
// 2^-17, for what rounding the bounds may lose.
#define TESS_QUICK_NUMBER_REACH 8e-6F

// The middle two of each sample of a group's rows and tiles, and room for further predictions of
// samples in which more than two may be in the middle.
enum {
    TESS_QUICK_PAIRS = TESS_RANSAC_ROWS * TESS_QUICK_TILES * TESS_RANSAC_TILE * 2,
    TESS_QUICK_ROOM = 1024
};

typedef struct tess_ransac_waiting {
    uint32_t pair;
    int32_t first; // of its predictions in the room
    int32_t n;
    int32_t n_below; // others that are surely smaller
} tess_ransac_waiting;

typedef struct tess_ransac_middles {
    tess_ransac_items items;
    double values[TESS_QUICK_PAIRS + TESS_QUICK_ROOM];
    int64_t n_many; // rows of tiles in which all predictions were made in f64
    int32_t n_used; // of the room
    int32_t n_waiting;
    tess_ransac_waiting waiting[TESS_QUICK_ROOM / 2];
} tess_ransac_middles;

// ransac_unsure.c
//
// Samples of a row in which more than two predictions may be in the middle: p[50][16] are those in
// f32 in any order, middle[4][16] their middle four.
typedef struct tess_ransac_unsure {
    const float *p;
    const float *middle;
    tess_ransac_item item;         // of sample 0 and the smaller of its middle two
    float reach[TESS_RANSAC_TILE]; // twice what rounding may do to a sum
    int32_t n;
    int32_t at[TESS_RANSAC_TILE]; // samples
} tess_ransac_unsure;

void tess_ransac_unsure_add(tess_ransac_middles *m, const tess_ransac_unsure *u);

// All that waits.
void tess_ransac_middles_finish(tess_ransac_middles *m);

#endif
