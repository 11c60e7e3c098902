// Stage clifford.fcgp on tensor cores: packed weights, and their gradient.
//
// gw[p] (m, n) is a sum over rows of q[p,k]^T h[k]: the packed activations are read transposed. A
// block of 8 warps has 64 features in; a warp has 16 of them, 32 features out and 10 paths, whose
// sums are 160 registers. Groups of 4 warps share as in the product. Rows differ in scale, so the
// fragments of x are multiplied by each row's power of two relative to the largest.

#include "backend/cuda/clifford_fcgp_mma.cuh"

namespace
{

using namespace clifford_fcgp;

constexpr int pack_block = 128; // features along a block of the packing kernels
constexpr int out_tile = 32;    // features out of a warp
constexpr int in_tile = 64;     // features in of a block
constexpr int64_t multiprocessors = 132;
constexpr int64_t least_quads = 8; // of 16 rows in a split

template <typename A>
struct shape {
    static constexpr int component_groups = A::n_component / 4;
    static constexpr int column_groups = 2 / component_groups;
    static constexpr int own_paths = A::n_path / component_groups;
    static constexpr int n_stage = A::n_component == 4 ? 7 : 4; // and room for the sums
    static constexpr int input_quad_bytes = 2 * A::n_component * quad_bytes;
    static constexpr int gradient_quad_bytes = A::n_component * quad_bytes;
    static constexpr int in_quads = in_tile / step_size;
    static constexpr int out_quads = column_groups * out_tile / step_size;
    static constexpr int stage_bytes =
        in_quads * input_quad_bytes + out_quads * gradient_quad_bytes;
    static constexpr int shared_bytes = ring_bytes + n_stage * stage_bytes;
};

// Number of path p among those whose output components start at `first`, or -1.
template <typename A, int first>
__host__ __device__ constexpr int own_path(int p)
{
    int n = 0;
    for (int other = 0; other < A::n_path; other++) {
        bool own = false;
        for (const pair &one : A::pairs) {
            own = own || (one.p == other && one.k >= first && one.k < first + 4);
        }
        if (other == p) {
            return own ? n : -1;
        }
        n += own;
    }
    return -1;
}

// The paths of a group, 6 bits each.
template <typename A, int first>
__host__ __device__ constexpr uint64_t own_numbers()
{
    uint64_t numbers = 0;
    for (int p = 0; p < A::n_path; p++) {
        if (own_path<A, first>(p) >= 0) {
            numbers |= uint64_t(p) << (6 * own_path<A, first>(p));
        }
    }
    return numbers;
}

// Places of the paths in transposed weights: paths of the passes before, of the same pass, and its
// number among those.
struct slots {
    int8_t before[TESS_CL_MAX_PATHS];
    int8_t n[TESS_CL_MAX_PATHS];
    int8_t own[TESS_CL_MAX_PATHS];
};

template <typename A>
constexpr slots slots_of()
{
    slots places = {};
    for (int p = 0; p < A::n_path; p++) {
        const int pass = pass_of_path<A>(p);
        places.before[p] = int8_t(first_slot<A>(pass));
        places.n[p] = int8_t(paths_before<A>(pass, A::n_path));
        places.own[p] = int8_t(paths_before<A>(pass, p));
    }
    return places;
}

struct packing {
    extents e;
    packed data;
    uint64_t mask;
    slots places;
    int n_path;
};

// Eight weights along `in` (or, transposed, along `out`) of one feature of the other kind.
template <typename T, bool transposed>
__global__ void __launch_bounds__(2 * pack_block)
    weights_kernel(weight_view<T> weight, const __grid_constant__ packing c)
{
    const int p = int(blockIdx.z);
    const int step = int(blockIdx.y);
    const int half = transposed ? int(threadIdx.x) % 2 : int(threadIdx.x) / pack_block;
    const int64_t along = int64_t(blockIdx.x) * pack_block +
                          (transposed ? int(threadIdx.x) / 2 : int(threadIdx.x) % pack_block);
    if (along >=
        (transposed ? int64_t(c.e.in_blocks) * in_block : int64_t(c.e.col_blocks) * col_block)) {
        return;
    }
    const float scale = scale_to_half(exponent_of(*c.data.largest_weight));
    const bool takes = (c.mask >> p & 1) != 0;
    float v[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int64_t inner = int64_t(step) * step_size + half * 8 + i;
        const int64_t m = transposed ? along : inner;
        const int64_t n = transposed ? inner : along;
        const bool inside = takes && m < c.e.n_in && n < c.e.n_out;
        v[i] = inside ? weight.load(p, m, n) * scale : 0.0f;
    }
    const int64_t block = along / (transposed ? in_block : col_block);
    const int in_the_block = int(along % (transposed ? in_block : col_block));
    const int64_t path = transposed ? (block * c.n_path + c.places.before[p]) * c.e.out_steps +
                                          step * c.places.n[p] + c.places.own[p]
                                    : (block * c.e.in_steps + step) * c.n_path + p;
    const int64_t core =
        (path * (transposed ? in_block / 8 : col_block / 8) + in_the_block / 8) * 2 + half;
    uint4 bits;
    bits.x = pack_half(v[0], v[1]);
    bits.y = pack_half(v[2], v[3]);
    bits.z = pack_half(v[4], v[5]);
    bits.w = pack_half(v[6], v[7]);
    __half *to = transposed ? c.data.transposed : c.data.weights;
    *reinterpret_cast<uint4 *>(to + core * 64 + in_the_block % 8 * 8) = bits;
}

struct task {
    extents e;
    packed data;
    void *grad; // weights' gradient
    int64_t stride[3];
    int32_t dtype;
    uint64_t mask;
    float *partial; // [split][path][in][out]; NULL: one split
    int64_t quads_per_split;
};

// By one thread: its part of the 16 rows of iteration `at`, which are quad `quad` of all. Blocks of
// a cluster share the inputs; gradients are a block's own.
template <typename A>
__device__ __forceinline__ void fill(const task &t, const ring<shape<A>::n_stage> &stages,
                                     uint32_t shared, int64_t begin, int at)
{
    using S = shape<A>;
    const int in_at = int(blockIdx.y) * S::in_quads;
    const int out_at = int(blockIdx.x) * S::out_quads;
    const int64_t quad = begin + at;
    stages.wait_empty(at);
    const int stage = at % S::n_stage;
    const uint32_t barrier = stages.full(stage);
    const int n_in = min(S::in_quads, t.e.in_steps - in_at);
    const int n_out = max(0, min(S::out_quads, t.e.out_steps - out_at));
    const uint32_t to = shared + ring_bytes + uint32_t(stage * S::stage_bytes);
    const char *inputs = reinterpret_cast<const char *>(t.data.inputs);
    const char *gradients = reinterpret_cast<const char *>(t.data.gradients_by_row) +
                            (quad * t.e.out_steps + out_at) * S::gradient_quad_bytes;
    barrier_expect(barrier, uint32_t(n_in * S::input_quad_bytes + n_out * S::gradient_quad_bytes));
    for (int i = int(cluster_rank()); i < n_in; i += t.e.weights_cluster) {
        const int64_t from = (quad / 4 * t.e.in_steps + in_at + i) * 4 + quad % 4;
        copy_bulk_to(to + i * S::input_quad_bytes, inputs + from * S::input_quad_bytes,
                     S::input_quad_bytes, barrier, stages.partners);
    }
    if (n_out > 0) {
        copy_bulk(to + S::in_quads * S::input_quad_bytes, gradients,
                  uint32_t(n_out * S::gradient_quad_bytes), barrier);
    }
}

// Scales of the rows whose products a thread holds, relative to the largest: at most 1, exact.
struct row_scales {
    int2 inputs[2];
    int2 gradients[2];
    __device__ __forceinline__ void load(const packed &data, int64_t row)
    {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            inputs[i] = *reinterpret_cast<const int2 *>(data.input_exponent + row + i * 8);
            gradients[i] = *reinterpret_cast<const int2 *>(data.gradient_exponent + row + i * 8);
        }
    }
    __device__ __forceinline__ uint32_t factor(int i, int largest) const
    {
        const int first = max(inputs[i].x + gradients[i].x - largest, -126);
        const int second = max(inputs[i].y + gradients[i].y - largest, -126);
        return pack_half(power_of_two(min(first, 0)), power_of_two(min(second, 0)));
    }
};

template <typename A>
using sums = float[shape<A>::own_paths][out_tile / 8][4];

template <typename A, int first>
__device__ __forceinline__ void multiply_step(uint32_t inputs, uint32_t gradients,
                                              const uint32_t (&scale)[2], sums<A> &acc)
{
    uint32_t x[A::n_component][4];
    uint32_t y[A::n_component][4];
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        load_matrix_x4_trans(x[k], inputs + k * quad_bytes);
        load_matrix_x4_trans(y[k], inputs + (A::n_component + k) * quad_bytes);
#pragma unroll
        for (int r = 0; r < 4; r++) {
            x[k][r] = as_bits(__hmul2(as_half2(x[k][r]), as_half2(scale[r / 2])));
        }
    }
    unrolled<4>([&](auto component) {
        constexpr int k = first + decltype(component)::value;
        uint32_t h[2][4];
        load_matrix_x4_trans(h[0], gradients + k * quad_bytes);
        load_matrix_x4_trans(h[1], gradients + shape<A>::gradient_quad_bytes + k * quad_bytes);
        unrolled<A::n_pair>([&](auto index) {
            constexpr pair one = A::pairs[decltype(index)::value];
            if constexpr (one.k == k) {
                constexpr int p = own_path<A, first>(one.p);
                uint32_t q[4];
                form<A, decltype(index)::value>(q, x, y);
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    multiply_16816<__half>(acc[p][2 * i], q, h[i][0], h[i][1]);
                    multiply_16816<__half>(acc[p][2 * i + 1], q, h[i][2], h[i][3]);
                }
            }
        });
    });
}

__device__ __forceinline__ void store_weight(const task &t, int n_path, int64_t split, int p,
                                             int64_t m, int64_t n, float value)
{
    if (m >= t.e.n_in || n >= t.e.n_out) {
        return;
    }
    const float masked = (t.mask >> p & 1) != 0 ? value : 0.0f;
    if (t.partial != nullptr) {
        t.partial[((split * n_path + p) * t.e.n_in + m) * t.e.n_out + n] = masked;
        return;
    }
    const int64_t item = p * t.stride[0] + m * t.stride[1] + n * t.stride[2];
    switch (t.dtype) {
    case TESS_F16:
        static_cast<__half *>(t.grad)[item] = __float2half_rn(masked);
        break;
    case TESS_BF16:
        static_cast<__nv_bfloat16 *>(t.grad)[item] = __float2bfloat16_rn(masked);
        break;
    default:
        static_cast<float *>(t.grad)[item] = masked;
    }
}

constexpr int warp_tile = 16 * out_tile; // of a path

// Sums to shared memory, a warp's own part of it. Rows of four change their columns' places, so
// that the threads of a warp meet different banks.
template <typename A>
__device__ __forceinline__ void stage_sums(float *to, const sums<A> &acc, unscale factors, int lane)
{
    const int row = lane / 4;
    float *const at = to + row * out_tile;
#pragma unroll
    for (int p = 0; p < shape<A>::own_paths; p++) {
#pragma unroll
        for (int j = 0; j < out_tile / 8; j++) {
            const int col = (j * 8 + lane % 4 * 2) ^ (row & 3) << 3;
            float *const upper = at + p * warp_tile + col;
            *reinterpret_cast<float2 *>(upper) =
                make_float2(acc[p][j][0] * factors, acc[p][j][1] * factors);
            *reinterpret_cast<float2 *>(upper + 8 * out_tile) =
                make_float2(acc[p][j][2] * factors, acc[p][j][3] * factors);
        }
    }
}

template <typename A, int first>
__device__ __forceinline__ void run_group(const task &t, const ring<shape<A>::n_stage> &stages,
                                          uint32_t shared, float *memory, int column_group)
{
    using S = shape<A>;
    const int lane = int(threadIdx.x) % 32;
    const int in_quad = int(threadIdx.x) / 32 % 4;
    const int in_at = int(blockIdx.y) * S::in_quads;
    const int out_at = int(blockIdx.x) * S::out_quads;
    const int64_t begin = int64_t(blockIdx.z) * t.quads_per_split;
    const int n = int(min(t.e.row_blocks * 4 - begin, t.quads_per_split));
    const int largest = *t.data.largest_exponent;
    // Cores 1 and 2 of a quad change places when it is read transposed.
    const int matrix = lane / 8;
    const int core = (matrix & 1) * 2 + matrix / 2;
    const uint32_t input_at =
        uint32_t(in_quad * S::input_quad_bytes + core * core_bytes + lane % 8 * 16);
    const uint32_t gradient_at =
        uint32_t(S::in_quads * S::input_quad_bytes +
                 column_group * (out_tile / step_size) * S::gradient_quad_bytes + lane * 16);
    const int64_t own_row = begin * 16 + lane % 4 * 2;
    row_scales rows;
    rows.load(t.data, own_row);
    sums<A> acc = {};
    for (int at = 0; at < n; at++) {
        if (threadIdx.x == 0 && at + S::n_stage - 1 < n) {
            fill<A>(t, stages, shared, begin, at + S::n_stage - 1);
        }
        __syncwarp();
        const uint32_t scale[2] = {rows.factor(0, largest), rows.factor(1, largest)};
        rows.load(t.data, own_row + int64_t(min(at + 1, n - 1)) * 16);
        stages.wait_full(at);
        const uint32_t stage = shared + ring_bytes + uint32_t(at % S::n_stage * S::stage_bytes);
        multiply_step<A, first>(stage + input_at, stage + gradient_at, scale, acc);
        stages.release(at);
    }
    // The ring is free; a short loop from shared memory is faster than long code from registers.
    __syncthreads();
    float *const own = memory + int(threadIdx.x) / 32 * (S::own_paths * warp_tile);
    stage_sums<A>(own, acc, unscale_by(largest), lane);
    __syncwarp();
    const int64_t m0 = int64_t(in_at + in_quad) * step_size;
    const int64_t n0 = int64_t(out_at) * step_size + column_group * out_tile + lane;
#pragma unroll 1
    for (int i = 0; i < S::own_paths * 16; i++) {
        constexpr uint64_t numbers = own_numbers<A, first>();
        const int row = i % 16;
        store_weight(t, A::n_path, blockIdx.z, int(numbers >> (i / 16 * 6) & 63), m0 + row, n0,
                     own[i / 16 * warp_tile + row * out_tile + (lane ^ (row & 3) << 3)]);
    }
}

template <typename A>
__global__ void __launch_bounds__(multiply_threads, 1)
    gradient_kernel(const __grid_constant__ task t)
{
    using S = shape<A>;
    extern __shared__ uint4 memory[];
    const uint32_t shared = shared_address(memory);
    float *const ring_memory = reinterpret_cast<float *>(memory + ring_bytes / sizeof(uint4));
    static_assert(S::n_stage * S::stage_bytes >=
                  multiply_threads / 32 * S::own_paths * warp_tile * int(sizeof(float)));
    ring<S::n_stage> stages;
    stages.init(shared, (1u << t.e.weights_cluster) - 1);
    const int64_t begin = int64_t(blockIdx.z) * t.quads_per_split;
    const int64_t n = min(t.e.row_blocks * 4 - begin, t.quads_per_split);
    if (threadIdx.x == 0) {
        for (int at = 0; at < S::n_stage - 1 && at < n; at++) {
            fill<A>(t, stages, shared, begin, at);
        }
    }
    __syncwarp();
    const int group = int(threadIdx.x) / 128;
    if constexpr (S::component_groups == 2) {
        if (group == 0) {
            run_group<A, 0>(t, stages, shared, ring_memory, 0);
        } else {
            run_group<A, 4>(t, stages, shared, ring_memory, 0);
        }
    } else {
        run_group<A, 0>(t, stages, shared, ring_memory, group);
    }
    cluster_sync(); // nobody leaves while others still send or arrive here
}

// Adds the splits in their order.
__global__ void __launch_bounds__(256) reduce_kernel(task t, int n_path, int n_split)
{
    const int64_t n_item = n_path * t.e.n_in * t.e.n_out;
    const float *partial = t.partial;
    t.partial = nullptr;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n_item;
         i += int64_t(gridDim.x) * 256) {
        float sum = partial[i];
        for (int split = 1; split < n_split; split++) {
            sum += partial[split * n_item + i];
        }
        const int64_t line = i / t.e.n_out;
        store_weight(t, n_path, 0, int(line / t.e.n_in), line % t.e.n_in, i - line * t.e.n_out,
                     sum);
    }
}

template <typename A, typename T>
cudaError_t pack(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                 const packed &data)
{
    const weight_view<T> weight = weight_view_of<T>(a.weight, a.problem.weight_dtype);
    constexpr slots places = slots_of<A>();
    const packing c = {e, data, a.problem.path_mask, places, A::n_path};
    if (data.weights != nullptr) {
        const dim3 grid(unsigned(blocks_of(int64_t(e.col_blocks) * col_block, pack_block)),
                        unsigned(e.in_steps), A::n_path);
        weights_kernel<T, false><<<grid, 2 * pack_block, 0, stream>>>(weight, c);
    }
    if (data.transposed != nullptr) {
        const dim3 grid(unsigned(blocks_of(int64_t(e.in_blocks) * in_block, pack_block)),
                        unsigned(e.out_steps), A::n_path);
        weights_kernel<T, true><<<grid, 2 * pack_block, 0, stream>>>(weight, c);
    }
    return cudaGetLastError();
}

} // namespace

namespace clifford_fcgp
{

template <typename A>
cudaError_t pack_weights(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                         const packed &data)
{
    switch (a.problem.weight_dtype) {
    case TESS_F16:
        return pack<A, __half>(stream, a, e, data);
    case TESS_BF16:
        return pack<A, __nv_bfloat16>(stream, a, e, data);
    default:
        return pack<A, float>(stream, a, e, data);
    }
}

// As many as the device takes at a time, from the shape alone.
template <typename A>
int64_t weight_splits(const extents &e)
{
    const int64_t tiles =
        blocks_of(e.n_in, in_tile) * blocks_of(e.n_out, shape<A>::column_groups * out_tile);
    const int64_t most = blocks_of(e.row_blocks * 4, least_quads);
    const int64_t wanted = multiprocessors / tiles;
    return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

template <typename A>
cudaError_t multiply_weights(cudaStream_t stream, const tess_stage_clifford_fcgp &a,
                             const extents &e, const packed &data, float *partial)
{
    using S = shape<A>;
    const cudaError_t error = cudaFuncSetAttribute(
        gradient_kernel<A>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    const tess_cl_view &grad = a.grad_weight;
    const int64_t wanted = weight_splits<A>(e);
    const int64_t per_split = blocks_of(e.row_blocks * 4, wanted);
    const int64_t n_split = blocks_of(e.row_blocks * 4, per_split);
    const int64_t out_tiles = blocks_of(e.n_out, S::column_groups * out_tile);
    const int cluster = e.weights_cluster;
    const task t = {e,
                    data,
                    grad.data,
                    {grad.stride[0], grad.stride[1], grad.stride[2]},
                    a.problem.weight_dtype,
                    a.problem.path_mask,
                    n_split > 1 ? partial : nullptr,
                    per_split};
    const dim3 grid(unsigned(blocks_of(out_tiles, cluster) * cluster),
                    unsigned(blocks_of(e.n_in, in_tile)), unsigned(n_split));
    const cudaError_t launched =
        launch_cluster(stream, gradient_kernel<A>, t, cluster, grid, S::shared_bytes);
    if (launched != cudaSuccess) {
        return launched;
    }
    if (n_split > 1) {
        const int64_t needed = blocks_of(A::n_path * e.n_in * e.n_out, 256);
        reduce_kernel<<<unsigned(needed < 4224 ? needed : 4224), 256, 0, stream>>>(t, A::n_path,
                                                                                   int(n_split));
    }
    return cudaGetLastError();
}

#define INSTANTIATE(A)                                                                             \
    template cudaError_t pack_weights<A>(cudaStream_t, const tess_stage_clifford_fcgp &,           \
                                         const extents &, const packed &);                         \
    template int64_t weight_splits<A>(const extents &);                                            \
    template cudaError_t multiply_weights<A>(cudaStream_t, const tess_stage_clifford_fcgp &,       \
                                             const extents &, const packed &, float *);
INSTANTIATE(cl20)
INSTANTIATE(cl30)

} // namespace clifford_fcgp
