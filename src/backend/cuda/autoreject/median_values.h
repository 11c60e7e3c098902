// The values that a thread has for a median: in registers, or where they lie.
#ifndef TESS_CUDA_AUTOREJECT_MEDIAN_VALUES_H
#define TESS_CUDA_AUTOREJECT_MEDIAN_VALUES_H

#include "backend/cuda/autoreject/tile.h"

#include <cmath>

enum { MEDIAN_SAMPLES = 4, MEDIAN_PARTS = TILE / MEDIAN_SAMPLES };

// The V values of a thread; THREADS / 4 rows at a time. Where there are fewer the rest are NaN, for
// which every comparison below is false. Where V is 0 values stay where they are.
template <int THREADS, int V>
struct median_values {
    static constexpr int step = THREADS / MEDIAN_SAMPLES;
    double own[V];

    __device__ __forceinline__ median_values(const tile_rows &rows, const int32_t *list, int n,
                                             int sample)
    {
        const int first = int(threadIdx.x) / MEDIAN_SAMPLES;
#pragma unroll
        for (int i = 0; i < V; i++) {
            const int at = first + i * step;
            own[i] = at < n ? row_of(rows, list[at])[sample] : double(NAN);
        }
    }

    template <typename F>
    __device__ __forceinline__ void each(F visit) const
    {
#pragma unroll
        for (int i = 0; i < V; i++) {
            visit(own[i]);
        }
    }
};

template <int THREADS>
struct median_values<THREADS, 0> {
    static constexpr int step = THREADS / MEDIAN_SAMPLES;
    tile_rows rows;
    const int32_t *list;
    int n;
    int sample;

    __device__ __forceinline__ median_values(const tile_rows &rows_, const int32_t *list_, int n_,
                                             int sample_)
        : rows(rows_), list(list_), n(n_), sample(sample_)
    {
    }

    template <typename F>
    __device__ __forceinline__ void each(F visit) const
    {
        for (int i = int(threadIdx.x) / MEDIAN_SAMPLES; i < n; i += step) {
            visit(row_of(rows, list[i])[sample]);
        }
    }
};

#endif
