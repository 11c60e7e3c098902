// Packing of activations for stage clifford.fcgp on tensor cores: how threads share rows.
//
// A row belongs to a group of threads of one block. A thread has 8 features of all components in
// registers, so rows of up to 1024 features are read once; longer ones are read again from the
// cache. All sums and maxima are taken in an order that depends on the number of features alone.
#ifndef TESS_CLIFFORD_FCGP_PACK_CUH
#define TESS_CLIFFORD_FCGP_PACK_CUH

#include "backend/cuda/clifford_fcgp_mma.cuh"

namespace clifford_fcgp
{

constexpr int pack_threads = 128;
constexpr int chunk = 8; // features of a thread
constexpr unsigned all_lanes = 0xffffffffu;
constexpr int max_rows = 16; // of a block

// How a block's threads share rows. Neighbouring threads have the same features of neighbouring
// rows, whose packed items lie side by side.
struct sharing {
    int log2; // threads per row
    int n_chunk;
    __host__ __device__ int per_row() const
    {
        return 1 << log2;
    }
    __host__ __device__ int rows() const
    {
        return pack_threads >> log2;
    }
};

inline sharing sharing_of(int steps)
{
    sharing s = {3, steps * 2};
    while (s.per_row() < pack_threads && s.per_row() < s.n_chunk) {
        s.log2++;
    }
    return s;
}

using values = float[chunk];

// 8 features of all components from n0 on, zero behind n_feature. No branches between the loads:
// they wait together.
template <int n_component, typename T>
__device__ __forceinline__ void load_chunks(values (&v)[n_component], const view<const T> &from,
                                            bool vector, int64_t b, int64_t n0, int64_t n_feature)
{
    const T *at = from.data + b * from.stride[1] + n0 * from.stride[2];
    if (vector) {
        constexpr int n = int(chunk * sizeof(T) / sizeof(uint4));
        uint4 loaded[n_component][n];
#pragma unroll
        for (int k = 0; k < n_component; k++) {
#pragma unroll
            for (int i = 0; i < n; i++) {
                loaded[k][i] = n0 < n_feature
                                   ? reinterpret_cast<const uint4 *>(at + k * from.stride[0])[i]
                                   : uint4();
            }
        }
#pragma unroll
        for (int k = 0; k < n_component; k++) {
            T items[chunk];
            memcpy(items, loaded[k], sizeof(items));
#pragma unroll
            for (int i = 0; i < chunk; i++) {
                v[k][i] = to_math(items[i]);
            }
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < n_component; k++) {
#pragma unroll
        for (int i = 0; i < chunk; i++) {
            v[k][i] =
                n0 + i < n_feature ? to_math(at[k * from.stride[0] + i * from.stride[2]]) : 0.0f;
        }
    }
}

// Offset in halves of 8 features of a row in packed activations of n_component components.
__device__ __forceinline__ int64_t packed_at(int64_t row, int chunk_index, int steps,
                                             int n_component, int k)
{
    const int64_t block = row / row_block * steps + chunk_index / 2;
    const int in_block = int(row % row_block);
    const int64_t quad = (block * 4 + in_block / 16) * n_component + k;
    return quad * 256 + (chunk_index % 2 * 2 + in_block / 8 % 2) * 64 + in_block % 8 * 8;
}

__device__ __forceinline__ void store_chunk(__half *to, const values &v, float scale)
{
    uint4 bits;
    bits.x = pack_half(v[0] * scale, v[1] * scale);
    bits.y = pack_half(v[2] * scale, v[3] * scale);
    bits.z = pack_half(v[4] * scale, v[5] * scale);
    bits.w = pack_half(v[6] * scale, v[7] * scale);
    *reinterpret_cast<uint4 *>(to) = bits;
}

// The largest value over the threads of a row; `most` starts at 0 and has been seen by all.
__device__ __forceinline__ unsigned row_max(const sharing &s, unsigned value, unsigned *most)
{
    for (int step = s.rows(); step < 32; step *= 2) {
        value = max(value, __shfl_xor_sync(all_lanes, value, step));
    }
    if (int(threadIdx.x) % 32 < s.rows()) {
        atomicMax(most, value);
    }
    __syncthreads();
    return *most;
}

template <int n_component>
__device__ __forceinline__ unsigned largest_of(const values (&v)[n_component])
{
    unsigned most = 0;
#pragma unroll
    for (int k = 0; k < n_component; k++) {
#pragma unroll
        for (int i = 0; i < chunk; i++) {
            most = max(most, finite_magnitude(v[k][i]));
        }
    }
    return most;
}

} // namespace clifford_fcgp

#endif
