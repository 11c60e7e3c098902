// Sizes that autoreject's kernels work in.
#ifndef TESS_KERNELS_AUTOREJECT_H
#define TESS_KERNELS_AUTOREJECT_H

enum { TESS_RANSAC_ROWS = 12, TESS_RANSAC_TILE = 16 };

// Predictions in f32 carry the number of their subset in so many last bits.
enum { TESS_RANSAC_NUMBER_BITS = 6 };

// One prediction of one sample, as places in three arrays.
typedef struct tess_ransac_item {
    uint32_t w; // weights [n_from]
    uint32_t x; // its sample of channel 0, in a tile [n_chan][16]
    uint32_t to;
} tess_ransac_item;

#endif
