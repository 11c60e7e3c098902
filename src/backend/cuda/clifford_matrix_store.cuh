// How a warpgroup's sums leave clifford_matrix's kernel: through shared memory, from where the copy
// engine stores them, or adds them to what is there, while the warpgroup goes on.
#ifndef TESS_CLIFFORD_MATRIX_STORE_CUH
#define TESS_CLIFFORD_MATRIX_STORE_CUH

#include "backend/cuda/clifford_wgmma.cuh"

#include <cuda_fp16.h>

namespace clifford_matrix
{

using namespace clifford_mma;

// First row and column of a block's tile.
struct place {
    int result, row, column;
};

constexpr int slice_rows = 64; // a warpgroup's
constexpr int slice_bytes = slice_rows * 128;
constexpr int room_slices = 2; // one is written while the other is read
constexpr int room_bytes = room_slices * slice_bytes;

// Among the slice's rows, the first of a thread's two; the other is 8 further.
__device__ __forceinline__ int slice_row()
{
    return int(threadIdx.x) % 128 / 32 * 16 + int(threadIdx.x) % 32 / 4;
}

__device__ __forceinline__ int own_row(const place &where, int group)
{
    return where.row + group * slice_rows + slice_row();
}

__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, float)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};\n" ::"r"(to), "f"(first), "f"(second)
                 : "memory");
}

__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, __half)
{
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to), "r"(pack_half(first, second)) : "memory");
}

__device__ __forceinline__ void sync_warpgroup(int group)
{
    asm volatile("bar.sync %0, 128;\n" ::"r"(group + 1) : "memory");
}

// Items of type T by a map of boxes of 64 rows; scale: of a thread's two rows.
template <typename T, int n, typename Scale>
__device__ __forceinline__ void store_sums(const CUtensorMap &map, bool adds, const place &where,
                                           int group, const float (&sum)[n],
                                           const Scale (&scale)[2], uint32_t room)
{
    constexpr int columns = 128 / int(sizeof(T)); // of a slice
    const bool leads = threadIdx.x % 128 == 0;
    const int row = slice_row();
#pragma unroll
    for (int slice = 0; slice < 2 * n / columns; slice++) {
        const uint32_t to = room + uint32_t(slice % room_slices * slice_bytes);
        if (leads) {
            clifford_wgmma::wait_boxes_read<room_slices - 1>();
        }
        sync_warpgroup(group);
#pragma unroll
        for (int j = 0; j < columns / 8; j++) {
            const float *pair = &sum[4 * (slice * columns / 8 + j)];
            const int byte = (j * 8 + int(threadIdx.x) % 4 * 2) * int(sizeof(T));
#pragma unroll
            for (int second = 0; second < 2; second++) {
                put_pair(to + swizzle_128(row + 8 * second, byte / 16) + uint32_t(byte % 16),
                         pair[2 * second] * scale[second], pair[2 * second + 1] * scale[second],
                         T());
            }
        }
        fence_async_proxy();
        sync_warpgroup(group);
        if (leads) {
            const int x = where.column + slice * columns;
            const int y = where.row + group * slice_rows;
            if (adds) {
                clifford_wgmma::add_box(&map, x, y, where.result, to);
            } else {
                clifford_wgmma::store_box(&map, x, y, where.result, to);
            }
            clifford_wgmma::commit_boxes();
        }
    }
}

} // namespace clifford_matrix

#endif
