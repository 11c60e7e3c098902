// How a warpgroup's sums leave clifford_matrix's kernel: through shared memory, from where the copy
// engine stores them, or adds them to what is there, while the warpgroup goes on.
#ifndef TESS_CLIFFORD_MATRIX_STORE_CUH
#define TESS_CLIFFORD_MATRIX_STORE_CUH

#include "backend/cuda/clifford/common/box_copies.cuh"
#include "backend/cuda/clifford/common/wgmma.cuh"

#include <cuda_fp16.h>

namespace clifford_matrix
{

using namespace clifford_mma;

// First row and column of a tile, or of a warpgroup's part.
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

// Where a slice lies in shared memory, and goes to: rows of 128 bytes, swizzled.
struct slice {
    uint32_t from;
    int result, row, column;
};

enum class leaving {
    stored,
    kept, // stored, for the next kernel to read
    added,
};

// Called by a warpgroup.
__device__ __forceinline__ void send_slice(const CUtensorMap &map, const slice &one, leaving how)
{
    if (threadIdx.x % 128 != 0) {
        return;
    }
    if (how == leaving::added) {
        add_box(&map, one.column, one.row, one.result, one.from);
    } else if (how == leaving::kept) {
        store_box_kept(&map, one.column, one.row, one.result, one.from);
    } else {
        store_box(&map, one.column, one.row, one.result, one.from);
    }
    commit_bulk_out();
}

// Sums as items of type T, a slice at a time; scale: of a thread's two rows. send(slice): called by
// the whole warpgroup.
template <typename T, int n, typename Scale, typename Send>
__device__ __forceinline__ void store_sums(const place &where, const float (&sum)[n],
                                           const Scale (&scale)[2], uint32_t room, Send send)
{
    constexpr int columns = 128 / int(sizeof(T)); // of a slice
    const int row = slice_row();
#pragma unroll
    for (int s = 0; s < 2 * n / columns; s++) {
        const uint32_t to = room + uint32_t(s % room_slices * slice_bytes);
        if (threadIdx.x % 128 == 0) {
            wait_bulk_out_read<room_slices - 1>();
        }
        group_sync(int(threadIdx.x / 128));
#pragma unroll
        for (int j = 0; j < columns / 8; j++) {
            const float *pair = &sum[4 * (s * columns / 8 + j)];
            const int byte = (j * 8 + int(threadIdx.x) % 4 * 2) * int(sizeof(T));
#pragma unroll
            for (int second = 0; second < 2; second++) {
                put_pair(to + swizzle_128(row + 8 * second, byte / 16) + uint32_t(byte % 16),
                         pair[2 * second] * scale[second], pair[2 * second + 1] * scale[second],
                         T());
            }
        }
        fence_async_proxy();
        group_sync(int(threadIdx.x / 128));
        send(slice{to, where.result, where.row, where.column + s * columns});
    }
}

} // namespace clifford_matrix

#endif
