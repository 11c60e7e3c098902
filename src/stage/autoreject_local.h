// Stages of autoreject's store and local search.
#ifndef TESS_STAGE_AUTOREJECT_LOCAL_H
#define TESS_STAGE_AUTOREJECT_LOCAL_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_INTAKE = 0x0430,
    TESS_STAGE_AUTOREJECT_LOCAL = 0x0431,
};

// Samples in tiles of 16: everything these stages work on.
enum { TESS_STAGE_AUTOREJECT_TILE = 16 };
// Channels that one block of the local search takes: what it writes is per block.
enum { TESS_STAGE_AUTOREJECT_LOCAL_CHANNELS = 8 };

// Takes epochs in: rearranges them by tiles of time, takes peak-to-peaks of their rows and of the
// rows that w predicts. An epoch is done at once, while it lies in the cache.
//
//   tiles[k * tile_stride + (e * n_chan + c) * 16 + i] = x[e][c][16 k + i], 0 from n_time on
//
// x          in   f64 [n_epoch][n_chan][n_time], C-contiguous; NULL: read(self, e, dst) writes
//                 epoch e to dst, from many threads at once
// x_there    in   instead of both, where the device has memory of its own: dtype
// [n_epoch][.][n_time],
//                 last axis contiguous, strides in items; channel c is row channels[c] (NULL: c),
//                 times scales[c] (NULL: 1)
// w          in   f64 [n_chan][n_chan]; NULL: no predictions
// buffer     tmp  f64 [n_buffer][1 or 2][n_chan][n_time]: for the epoch where x is NULL, for the
//                 predictions where w is not; one for every thread or for every epoch
// delta      out  f64 [n_epoch][n_chan]
// delta_predicted  out  f64 [n_epoch][n_chan]; not used without w
// tiles      out  f64, ceil(n_time / 16) tiles of [n_epoch][n_chan][16], tile_stride items apart
typedef struct tess_stage_autoreject_intake {
    const double *x;
    int32_t (*read)(void *self, int64_t epoch, double *dst); // returns a status
    void *self;
    const double *w;
    double *buffer;
    int64_t n_buffer;
    double *delta;
    double *delta_predicted;
    double *tiles;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t tile_stride;
    const void *x_there;
    const int64_t *channels;
    const double *scales;
    int64_t stride_epoch;
    int64_t stride_chan;
    int32_t dtype; // of x_there: TESS_F64, TESS_F32, TESS_I32 or TESS_I16
    int32_t reserved;
} tess_stage_autoreject_intake;

// Squared errors of the local search, for some tiles.
//
// Epochs lie in bins: those of one bin train the same folds and are kept from the same level of
// consensus on. Bins are numbered by rising level. With y = x but for the rows that column j
// repairs,
//
//   sum[f][l]  = sum of y over the epochs of those bins of levels 0..l that train fold f
//   median[f]  = median of x over the epochs that test fold f
//   sse[j][f][l] = sum over channels and samples of (sum[f][l] / n_kept[j][f][l] - median[f])^2
//
// in order of epochs, bins, levels, channels; 0 where n_kept is 0.
//
// x         in   f64 tiles of [n_epoch][n_chan][16], tile_stride items apart
// repaired  in   f64 [n_tile][first[n_repair]][16]
// first     in   [n_repair + 1] rows of a repair, ascending
// bad       in   [first[n_repair]] their channels, ascending within a repair
// repair    in   [n_column][n_epoch] index of a repair; -1: none; -2: the epoch is left out
// bin       in   [n_epoch]; -1: never kept
// bin_first in   [n_level + 1] bins of a level
// train     in   [n_fold][n_bin] 1: the bin trains the fold
// test      in   [test_first[n_fold]] epochs that test fold f: from test_first[f], at least one
// n_kept    in   [n_column][n_fold][n_level] epochs in a sum; 0: not wanted
// sse       out  f64 [n_tile][n_block][n_column][n_fold][n_level], a block for every 8 channels
//
// The rest is for devices with memory of their own:
//
// bin_epochs in  [bin_begin[n_bin]] epochs by bin, ascending within one; from bin_begin[b]
// test_rows in   the epochs of test
// table     tmp  i32 [n_repair][n_chan]
// medians   tmp  f64 [n_tile][n_fold][n_chan][16]
// bins      tmp  f64 [n_tile][n_block][n_column][n_bin][8][16]
typedef struct tess_stage_autoreject_local {
    const double *x;
    const double *repaired;
    const int64_t *first;
    const int32_t *bad;
    const int64_t *repair;
    const int64_t *bin;
    const int64_t *bin_first;
    const uint8_t *train;
    const int64_t *test_first;
    const int64_t *test;
    const int64_t *n_kept;
    double *sse;
    int64_t n_tile;
    int64_t tile_stride;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_repair;
    int64_t n_column;
    int64_t n_bin;
    int64_t n_level;
    int64_t n_fold;
    const int64_t *bin_begin;
    const int32_t *bin_epochs;
    const int32_t *test_rows;
    int32_t *table;
    double *medians;
    double *bins;
    int64_t n_repaired; // first[n_repair]
    int64_t most_test;  // epochs that test a fold
} tess_stage_autoreject_local;

// Doubles a thread needs for it: for plans.
static inline int64_t tess_stage_autoreject_local_scratch(int64_t n_bin, int64_t n_fold,
                                                          int64_t max_test)
{
    return ((n_bin + n_fold + 1) * TESS_STAGE_AUTOREJECT_LOCAL_CHANNELS + max_test) *
           TESS_STAGE_AUTOREJECT_TILE;
}

#endif
