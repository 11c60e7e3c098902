// Maps by which the copy engine finds boxes of an array: rows of 128 bytes in its 128-byte swizzle.
#ifndef TESS_CUDA_CLIFFORD_BOXES_H
#define TESS_CUDA_CLIFFORD_BOXES_H

#include <cuda.h>

#include <cstdint>

// An array (layer, row, item) whose items are dense; strides in items.
struct clifford_box_array {
    int32_t dtype; // TESS_F32, BF16 or F16
    void *data;
    int64_t n_item, n_row, n_layer;
    int64_t stride_row, stride_layer;
};

// Boxes of 128 bytes of items and that many rows. false: the driver or the array does not allow it.
bool clifford_encode_boxes(CUtensorMap &map, const clifford_box_array &array, int rows);

// An array (layer, row, word) of dense words of 4 bytes, at most 256 in a row; strides in bytes.
struct clifford_word_rows {
    void *data;
    int64_t n_word, n_row, n_layer;
    int64_t stride_row, stride_layer;
};

// Boxes of a row of all layers, one behind the other as they are.
bool clifford_encode_words(CUtensorMap &map, const clifford_word_rows &rows);

#endif
