// Rows of f32 that the copy engine brings to shared memory, as fragments of f16 in the registers of
// the warps that multiply, each row with a scale of its own. A warp has 16 rows, 8 at a time.
#ifndef TESS_CLIFFORD_LINEAR_HELD_CUH
#define TESS_CLIFFORD_LINEAR_HELD_CUH

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/mma.cuh"

namespace clifford_held
{

using namespace clifford_mma;

constexpr int half_rows = 8; // of a warp's rows
constexpr int most_items = 512;
constexpr int step_items = 16; // of the inner axis, that an instruction takes
constexpr int gap_bytes = 32;  // so that four rows begin in different banks
constexpr int pitch_bytes = most_items * 4 + gap_bytes;
constexpr int slot_bytes = half_rows * pitch_bytes - gap_bytes;

// Of a slot, where nothing of a row comes: behind all rows but the last.
__host__ __device__ constexpr int gap(int row)
{
    return row * pitch_bytes + most_items * 4;
}

// Rows are dense, begin at multiples of 16 bytes, and have a multiple of four items.
struct arrays {
    const float *from;
    int64_t stride_component, stride_row;
    // A copy for others, or NULL: [component][row][pitch], exponent [component][row].
    __half *copy;
    int32_t *exponent;
    int64_t copy_component, pitch;
    int64_t n_row;
    int32_t n; // items of a row, at most most_items
};

// Half of a warp's rows.
struct half_unit {
    int component;
    int64_t row;
    int n_row; // 0 and less behind the last

    __device__ __forceinline__ half_unit(const arrays &a, int of_component, int64_t first)
        : component(of_component), row(first), n_row(int(min(a.n_row - first, int64_t(half_rows))))
    {
    }

    __device__ __forceinline__ const float *from(const arrays &a, int i) const
    {
        return a.from + component * a.stride_component + (row + i) * a.stride_row;
    }
};

// Starts copies of rows, completing on the barrier; by a whole warp. Nobody reads them again soon.
__device__ __forceinline__ void fetch(const arrays &a, const half_unit &rows, uint32_t slot,
                                      uint32_t barrier)
{
    const int lane = int(threadIdx.x) % 32;
    const uint32_t bytes = uint32_t(a.n) * sizeof(float);
    if (lane == 0) {
        barrier_expect(barrier, uint32_t(max(rows.n_row, 0)) * bytes);
    }
    __syncwarp();
    if (lane < rows.n_row) {
        copy_bulk(slot + uint32_t(lane * pitch_bytes), rows.from(a, lane), bytes, barrier,
                  clifford::leave_first());
    }
}

// Of a step: lower items of the first and of the second half of the rows, then upper items.
template <int steps>
using fragments = uint32_t[steps][4];

// Two items of a lane, which has row lane / 4.
__device__ __forceinline__ float2 load_pair(uint32_t own, int step, int upper)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];\n"
                 : "=f"(v.x), "=f"(v.y)
                 : "r"(own + uint32_t(step * 64 + upper * 32))
                 : "memory");
    return v;
}

// The largest finite magnitude of a lane's items.
template <int steps>
__device__ __forceinline__ uint32_t largest_of(uint32_t own)
{
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 2 * steps; i++) {
        const float2 v = load_pair(own, i / 2, i % 2);
        most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), most);
    }
    uint32_t largest = __float_as_uint(most);
    if (largest >= 0x7f800000u) {
        largest = 0;
#pragma unroll 1
        for (int i = 0; i < 2 * steps; i++) {
            const float2 v = load_pair(own, i / 2, i % 2);
            largest = max(max(magnitude(v.x), magnitude(v.y)), largest);
        }
    }
    return largest;
}

// The fragments of the rows in a slot, the first or the second half of the warp's; returns the
// exponent of the lane's row.
template <int half, int steps>
__device__ __forceinline__ int convert(fragments<steps> &a, uint32_t slot)
{
    const int lane = int(threadIdx.x) % 32;
    const uint32_t own = slot + uint32_t(lane / 4 * pitch_bytes + lane % 4 * 8);
    uint32_t largest = largest_of<steps>(own);
    largest = max(largest, __shfl_xor_sync(clifford::all_lanes, largest, 1));
    largest = max(largest, __shfl_xor_sync(clifford::all_lanes, largest, 2));
    const int exponent = exponent_of(largest);
    const float scale = scale_to_half(exponent);
#pragma unroll
    for (int i = 0; i < 2 * steps; i++) {
        const float2 v = load_pair(own, i / 2, i % 2);
        a[i / 2][i % 2 * 2 + half] = pack_half(v.x * scale, v.y * scale);
    }
    return exponent;
}

// Writes the copy and the exponents of half of the rows, by way of the slot where they were.
template <int half, int steps>
__device__ __forceinline__ void store_copy(const fragments<steps> &a, int exponent,
                                           const arrays &to, const half_unit &rows, uint32_t slot)
{
    const int lane = int(threadIdx.x) % 32;
    const uint32_t own = slot + uint32_t(lane % 8 * pitch_bytes + lane / 8 * 16);
    __syncwarp();
#pragma unroll
    for (int step = 0; step < steps; step += 2) {
        if (step * step_items < to.n) {
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(
                             own + uint32_t(step * 32)),
                         "r"(a[step][half]), "r"(a[step][2 + half]), "r"(a[step + 1][half]),
                         "r"(a[step + 1][2 + half])
                         : "memory");
        }
    }
    fence_async_proxy();
    __syncwarp();
    if (lane < rows.n_row) {
        copy_bulk_out(to.copy + rows.component * to.copy_component + (rows.row + lane) * to.pitch,
                      slot + uint32_t(lane * pitch_bytes), uint32_t(to.pitch * 2));
        commit_bulk_out();
        wait_bulk_out_read();
    }
    if (lane % 4 == 0 && lane / 4 < rows.n_row) {
        to.exponent[rows.component * to.n_row + rows.row + lane / 4] = exponent;
    }
}

} // namespace clifford_held

#endif
