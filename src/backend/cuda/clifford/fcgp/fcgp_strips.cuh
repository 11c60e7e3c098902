// Rows of stage clifford.fcgp that come by the copy engine: the strips of a row, one per component,
// into shared memory, in the order in which they are needed and without registers to wait in. A
// group of threads has a slot for one row of some arrays; the next row is under way as soon as the
// group has read this one. Where there is no copy engine, all threads of the group start copies of
// 16 bytes.
#ifndef TESS_CLIFFORD_FCGP_STRIPS_CUH
#define TESS_CLIFFORD_FCGP_STRIPS_CUH

#include "backend/cuda/clifford/fcgp/fcgp_features.cuh"

#include <initializer_list>

namespace clifford
{

// A group of whole warps. The shuffle tells the compiler so: rows and addresses are then the same
// for all lanes.
__device__ __forceinline__ row_group group_of_warps(int lanes)
{
    row_group group(lanes);
    group.index = __shfl_sync(all_lanes, group.index, 0);
    return group;
}

constexpr int fc_max_slot_groups = fc_max_threads / 32;

class row_slot
{
  public:
    // data and barrier: in shared memory, the group's own. See start_slots.
    __device__ __forceinline__ row_slot(const unsigned char *data, const uint64_t *barrier,
                                        const row_group &group)
        : data_(data), barrier_(clifford_mma::shared_address(barrier)), parity_(0),
          lane_(group.lane), lanes_(group.lanes)
    {
    }
    __device__ __forceinline__ void start() const
    {
        clifford_mma::barrier_init(barrier_, TESS_CUDA_HAS_GROUPS ? 1 : lanes_);
        clifford_mma::barrier_init_fence();
    }
    // Whether the thread takes part in expect, copy and end: those of the first warp, or all.
    __device__ __forceinline__ bool is_fetching() const
    {
        return !TESS_CUDA_HAS_GROUPS || lane_ < 32;
    }
    // When no thread reads any more: expect all bytes of a row, copy every array of it, end.
    __device__ __forceinline__ void expect(uint32_t bytes) const
    {
#if TESS_CUDA_HAS_GROUPS
        if (threadIdx.x % 32 == 0) {
            clifford_mma::barrier_expect(barrier_, bytes);
        }
        __syncwarp();
#endif
    }
    __device__ __forceinline__ void end() const
    {
#if !TESS_CUDA_HAS_GROUPS
        clifford_mma::barrier_arrive_behind_copies(barrier_);
#endif
    }
    // n_strip strips, `stride` items apart in memory, one after the other from `offset` on.
    template <typename T>
    __device__ __forceinline__ void copy(uint32_t offset, const T *from, int64_t stride,
                                         int n_strip, uint32_t strip_bytes, uint64_t policy) const;
    __device__ __forceinline__ void wait()
    {
        clifford_mma::barrier_wait(barrier_, parity_);
        parity_ ^= 1;
    }
    // V items from n0 on of the strip at `offset`.
    template <typename T, int V>
    __device__ __forceinline__ pack<T, V> read(uint32_t offset, int n0) const
    {
        return *reinterpret_cast<const pack<T, V> *>(data_ + offset + n0 * int(sizeof(T)));
    }

  private:
    const unsigned char *data_;
    uint32_t barrier_;
    uint32_t parity_;
    int lane_, lanes_;
};

template <typename T>
__device__ __forceinline__ void row_slot::copy(uint32_t offset, const T *from, int64_t stride,
                                               int n_strip, uint32_t strip_bytes,
                                               uint64_t policy) const
{
    const uint32_t to = clifford_mma::shared_address(data_) + offset;
#if TESS_CUDA_HAS_GROUPS
    for (int k = int(threadIdx.x % 32); k < n_strip; k += 32) {
        clifford_mma::copy_bulk(to + uint32_t(k) * strip_bytes, from + k * stride, strip_bytes,
                                barrier_, policy);
    }
#else
#pragma unroll 4
    for (int k = 0; k < n_strip; k++) {
        const T *const strip = from + k * stride;
        for (uint32_t at = uint32_t(lane_) * 16; at < strip_bytes; at += uint32_t(lanes_) * 16) {
            clifford_mma::copy_async_16(to + uint32_t(k) * strip_bytes + at,
                                        strip + at / uint32_t(sizeof(T)));
        }
    }
#endif
}

// Before the first use, by the whole block.
__device__ __forceinline__ void start_slots(const row_group &group,
                                            std::initializer_list<const row_slot *> slots)
{
    if (group.lane == 0) {
        for (const row_slot *slot : slots) {
            slot->start();
        }
    }
    __syncthreads();
}

// Strips of one or two arrays of D components, T and U, as a slot holds them.
template <typename T, typename U, int D>
struct slot_of_two {
    uint32_t n; // items of a strip
    bool has_second;

    __host__ __device__ __forceinline__ uint32_t bytes() const
    {
        return D * n * uint32_t(sizeof(T) + (has_second ? sizeof(U) : 0));
    }
    __device__ __forceinline__ void fetch(const row_slot &slot, const tess_cl_view &first,
                                          const tess_cl_view &second, int64_t row) const
    {
        slot.expect(bytes());
        slot.copy(0, first_item<const T>(first, row, 0), first.stride[0], D, n * sizeof(T),
                  leave_first());
        if (has_second) {
            slot.copy(D * n * uint32_t(sizeof(T)), first_item<const U>(second, row, 0),
                      second.stride[0], D, n * sizeof(U), leave_first());
        }
        slot.end();
    }
    // Features from n0 on; zero behind the row.
    template <int V>
    __device__ __forceinline__ void read(row_slot &slot, features<V> (&f)[D], features<V> (&g)[D],
                                         int n0) const
    {
        slot.wait();
        read_array<T>(slot, f, 0, n0);
        if (has_second) {
            read_array<U>(slot, g, D * n * uint32_t(sizeof(T)), n0);
        }
    }

  private:
    template <typename W, int V>
    __device__ __forceinline__ void read_array(const row_slot &slot, features<V> (&f)[D],
                                               uint32_t offset, int n0) const
    {
#pragma unroll
        for (int k = 0; k < D; k++) {
            f[k] = widen_pack(n0 < int(n) ? slot.read<W, V>(offset + k * n * sizeof(W), n0)
                                          : zero_pack<W, V>());
        }
    }
};

// ---- Launch -------------------------------------------------------------------------------------

// Slots of 32 components rarely fit, and their kernels take minutes to compile.
template <typename A>
constexpr bool fc_has_strips = A::n_component <= 16;

// Whether rows of n items can be copied as strips that are worth it, to whole warps.
template <typename T, int V>
bool fc_are_strips(const tess_cl_view &view, int64_t n)
{
    return tess_cuda_level_here() >= TESS_CUDA_MATRIX &&
           fc_are_packs<T, 16 / int(sizeof(T))>(view, n) && n > 16 * V && n <= fc_max_threads * V;
}

// Groups that go from row to row, in `resident` blocks of a multiprocessor.
template <typename Args>
cudaError_t fc_launch_slots(cudaStream_t stream, void (*kernel)(Args), const fc_task &task,
                            const Args &args, uint32_t slot_bytes, int resident)
{
    const int groups = fc_max_threads / task.lanes;
    const int64_t needed = cl_fc_whole(task.c.n_row, groups);
    const int64_t most = int64_t(resident) * n_multiprocessor;
    return launch_early(kernel, dim3(unsigned(needed < most ? needed : most)), fc_max_threads,
                        size_t(groups) * slot_bytes, stream, args);
}

// Whether the slots of so many blocks fit a multiprocessor.
inline bool fc_slots_fit(const fc_task &task, uint32_t slot_bytes, int resident)
{
    const int64_t room = tess_cuda_level_here() == TESS_CUDA_GROUPS
                             ? 200 * 1024
                             : int64_t(tess_cuda_shared_bytes()) - 8 * 1024;
    return int64_t(fc_max_threads / task.lanes) * slot_bytes * resident <= room;
}

} // namespace clifford

#endif
