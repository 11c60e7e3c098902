// Stage clifford.fcgp on tensor cores: the product o[k] = sum over paths of q[p,k] w[p].
//
// A block of 8 warps has 64 rows; a warp has 16 of them, 64 columns and up to 4 components, whose
// sums are 128 registers. In three dimensions the two groups of 4 warps share the columns and have
// half of the components each, in two they share the components and have columns of their own.
// The products q are formed from the fragments of x and y in the registers that feed the tensor
// cores; a fragment of weights serves all components of the path's grade.

#include "backend/cuda/clifford_fcgp_mma.cuh"
#include "backend/cuda/clifford_fcgp_wgmma.cuh"

namespace
{

using namespace clifford_fcgp;

template <typename A>
struct shape {
    static constexpr int own_components = 4;
    static constexpr int component_groups = A::n_component / own_components;
    static constexpr int column_groups = 2 / component_groups;
    static constexpr int n_stage = 3;
    static constexpr int input_quad_bytes = 2 * A::n_component * quad_bytes; // 16 rows
    static constexpr int input_bytes = 4 * input_quad_bytes;
    static constexpr int path_bytes = col_block * step_size * 2;
    static constexpr int weight_bytes = A::n_path * path_bytes;
    static constexpr int stage_bytes = input_bytes + column_groups * weight_bytes;
    static constexpr int shared_bytes = ring_bytes + n_stage * stage_bytes;
};

using sums = float[4][8][4]; // component, 8 columns, fragment

// Pairs whose products are formed at a time: those of one side while the other is multiplied.
constexpr int batch = 4;
using products = uint32_t[2][batch][4];

// A component is one of the group that starts at `first`.
template <typename A, int first>
__host__ __device__ constexpr bool is_own(int k)
{
    return k >= first && k < first + shape<A>::own_components;
}

template <typename A, int first>
__host__ __device__ constexpr bool has_own_pair(int p)
{
    for (const pair &one : A::pairs) {
        if (one.p == p && is_own<A, first>(one.k)) {
            return true;
        }
    }
    return false;
}

// Only sm_90a has the instructions of groups.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The pairs of a group of components.
struct pair_list {
    int n;
    int index[32];
};

template <typename A, int first>
__host__ __device__ constexpr pair_list own_pairs()
{
    pair_list list = {};
    for (int i = 0; i < A::n_pair; i++) {
        if (is_own<A, first>(A::pairs[i].k)) {
            list.index[list.n++] = i;
        }
    }
    return list;
}

// One step of 16 features for a group of warps: products are formed for a few pairs at a time while
// those of the pairs before are being multiplied. before() is called when everything of the step
// before has been read.
template <typename A, int first, typename F>
__device__ __forceinline__ void multiply_step_group(uint32_t inputs, uint32_t weights, products &q,
                                                    sums &acc, F &&before)
{
    constexpr int n_batch = (own_pairs<A, first>().n + batch - 1) / batch;
    static_assert(n_batch % 2 == 0, "the next step starts with the side that is free");
    uint32_t x[A::n_component][4];
    uint32_t y[A::n_component][4];
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        load_matrix_x4(x[k], inputs + k * quad_bytes);
        load_matrix_x4(y[k], inputs + (A::n_component + k) * quad_bytes);
    }
    unrolled<n_batch>([&](auto number) {
        constexpr int at = decltype(number)::value * batch;
        constexpr int side = decltype(number)::value % 2;
        unrolled<batch>([&](auto i) {
            constexpr pair_list list = own_pairs<A, first>();
            if constexpr (at + decltype(i)::value < list.n) {
                form<A, list.index[at + decltype(i)::value]>(q[side][decltype(i)::value], x, y);
            }
        });
        group_fence();
        unrolled<batch>([&](auto i) {
            constexpr pair_list list = own_pairs<A, first>();
            if constexpr (at + decltype(i)::value < list.n) {
                constexpr pair one = A::pairs[list.index[at + decltype(i)::value]];
                multiply_group(acc[one.k - first], q[side][decltype(i)::value],
                               group_matrix(weights + one.p * shape<A>::path_bytes, core_bytes,
                                            2 * core_bytes),
                               std::false_type());
            }
        });
        group_commit();
        group_wait<1>();
#pragma unroll
        for (int i = 0; i < batch; i++) {
            keep(q[1 - side][i]);
        }
        if constexpr (at == 0) {
            before();
        }
    });
}

// After the last step.
__device__ __forceinline__ void finish_steps(products &q, sums &acc)
{
    group_wait<0>();
#pragma unroll
    for (int i = 0; i < batch; i++) {
        keep(q[0][i]);
        keep(q[1][i]);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        keep(acc[k]);
    }
}

#endif

// One step of 16 features; addresses of the warp's 16 rows and of its columns, by lane.
template <typename A, int first, typename F>
__device__ __forceinline__ void multiply_step(uint32_t inputs, uint32_t weights, products &,
                                              sums &acc, F &&before)
{
    before();
    weights += threadIdx.x % 32 * 16;
    uint32_t x[A::n_component][4];
    uint32_t y[A::n_component][4];
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        load_matrix_x4(x[k], inputs + k * quad_bytes);
        load_matrix_x4(y[k], inputs + (A::n_component + k) * quad_bytes);
    }
    unrolled<A::n_path>([&](auto path) {
        constexpr int p = decltype(path)::value;
        if constexpr (has_own_pair<A, first>(p)) {
            uint32_t w[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                load_matrix_x4(w[i], weights + p * shape<A>::path_bytes + i * quad_bytes);
            }
            unrolled<A::n_pair>([&](auto index) {
                constexpr pair one = A::pairs[decltype(index)::value];
                if constexpr (one.p == p && is_own<A, first>(one.k)) {
                    uint32_t q[4];
                    form<A, decltype(index)::value>(q, x, y);
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        multiply_16816<__half>(acc[one.k - first][2 * i], q, w[i][0], w[i][1]);
                        multiply_16816<__half>(acc[one.k - first][2 * i + 1], q, w[i][2], w[i][3]);
                    }
                }
            });
        }
    });
}

template <typename A, int first, bool by_group, typename F>
__device__ __forceinline__ void run_step(uint32_t inputs, uint32_t weights, products &q, sums &acc,
                                         F &&before)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (by_group) {
        multiply_step_group<A, first>(inputs, weights, q, acc, before);
        finish_steps(q, acc);
        return;
    }
#endif
    multiply_step<A, first>(inputs, weights, q, acc, before);
}

struct task {
    extents e;
    packed data;
    view<float> out;
    bool paired;    // two neighbours of out may be written at a time
    float *squares; // [block of 64 columns][grade][row]
};

// By one thread: its part of what iteration `step` reads. Blocks behind the last rows or columns
// bring the last ones.
template <typename A>
__device__ __forceinline__ void fill(const task &t, const ring<shape<A>::n_stage> &stages,
                                     uint32_t shared, const placement &p, int step)
{
    using S = shape<A>;
    stages.wait_empty(step);
    const int stage = step % S::n_stage;
    const uint32_t barrier = stages.full(stage);
    const uint32_t to = shared + ring_bytes + uint32_t(stage * S::stage_bytes);
    const int64_t rows = min(p.rows, t.e.row_blocks - 1);
    const int64_t col = min(p.col, int64_t(t.e.col_blocks / S::column_groups - 1));
    barrier_expect(barrier, S::stage_bytes);
    const int input_part = S::input_bytes / t.e.product_cluster[1];
    const int input_at = input_part * p.col_rank;
    const char *inputs = reinterpret_cast<const char *>(t.data.inputs) +
                         (rows * t.e.in_steps + step) * S::input_bytes;
    copy_bulk_to(to + input_at, inputs + input_at, input_part, barrier, p.row_mates);
    const int weight_part = S::weight_bytes / t.e.product_cluster[0];
    const int weight_at = weight_part * p.row_rank;
#pragma unroll
    for (int i = 0; i < S::column_groups; i++) {
        const char *weights =
            reinterpret_cast<const char *>(t.data.weights) +
            ((col * S::column_groups + i) * t.e.in_steps + step) * S::weight_bytes;
        copy_bulk_to(to + S::input_bytes + i * S::weight_bytes + weight_at, weights + weight_at,
                     weight_part, barrier, p.col_mates);
    }
}

// When everything of the step before has been read: its place takes the step after the next.
template <typename A>
__device__ __forceinline__ void advance(const task &t, const ring<shape<A>::n_stage> &stages,
                                        uint32_t shared, const placement &p, int step)
{
    constexpr int ahead = shape<A>::n_stage - 1;
    if (step > 0) {
        stages.release(step - 1);
    }
    if (threadIdx.x == 0 && step + ahead < t.e.in_steps) {
        fill<A>(t, stages, shared, p, step + ahead);
    }
    __syncwarp();
}

constexpr int row_floats = col_block;
constexpr int component_floats = 16 * row_floats; // of a warp's tile

// Sums to a warp's own part of shared memory. Rows of four change their columns' places, so that
// the threads of a warp meet different banks.
__device__ __forceinline__ void stage_sums(float *to, const sums &acc, int lane)
{
    const int row = lane / 4;
    float *const at = to + row * row_floats;
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int col = (j * 8 + lane % 4 * 2) ^ (row & 3) << 3;
            float *const upper = at + k * component_floats + col;
            *reinterpret_cast<float2 *>(upper) = make_float2(acc[k][j][0], acc[k][j][1]);
            *reinterpret_cast<float2 *>(upper + 8 * row_floats) =
                make_float2(acc[k][j][2], acc[k][j][3]);
        }
    }
}

// Two neighbouring columns; returns what they add to the sum of squares.
__device__ __forceinline__ float store_two(const task &t, float *to, int64_t n, float2 o)
{
    if (n + 1 < t.e.n_out) {
        if (t.paired) {
            *reinterpret_cast<float2 *>(to) = o;
        } else {
            to[0] = o.x;
            to[t.out.stride[2]] = o.y;
        }
        return fmaf(o.y, o.y, o.x * o.x);
    }
    if (n < t.e.n_out) {
        *to = o.x;
        return o.x * o.x;
    }
    return 0;
}

// Takes the scales back, writes the warp's tile and adds the squares of each grade up, over the
// columns of the block. A loop over rows from shared memory: long code from registers would wait
// for its instructions.
template <typename A, int first>
__device__ __forceinline__ void write_tile(const task &t, const float *own, int64_t row0,
                                           int64_t block, int lane)
{
    const int of_weights = weight_exponent(t.data);
    const int64_t n = block * col_block + lane * 2;
    const int64_t own_row = min(row0 + lane % 16, t.e.n_row - 1);
    const int of_row = t.data.input_exponent[own_row];
#pragma unroll 2
    for (int row = 0; row < 16; row++) {
        const int64_t b = row0 + row;
        if (b >= t.e.n_row || block >= t.e.col_blocks) {
            return; // the same for the whole warp
        }
        const unscale factors = unscale_by(of_weights + __shfl_sync(0xffffffffu, of_row, row));
        float squares[A::n_grade] = {};
        unrolled<shape<A>::own_components>([&](auto at) {
            constexpr int k = first + decltype(at)::value;
            constexpr int g = A::grade[k];
            const float2 sum =
                *reinterpret_cast<const float2 *>(own + (k - first) * component_floats +
                                                  row * row_floats + ((lane * 2) ^ (row & 3) << 3));
            squares[g] +=
                store_two(t, &t.out.at(k, b, n), n, make_float2(sum.x * factors, sum.y * factors));
        });
        unrolled<A::n_grade>([&](auto grade) {
            constexpr int g = decltype(grade)::value;
            if constexpr (g >= A::grade[first] &&
                          g <= A::grade[first + shape<A>::own_components - 1]) {
                float sum = squares[g];
#pragma unroll
                for (int step = 16; step > 0; step /= 2) {
                    sum += __shfl_xor_sync(0xffffffffu, sum, step);
                }
                if (lane == 0) {
                    t.squares[(block * A::n_grade + g) * t.e.n_row + b] = sum;
                }
            }
        });
    }
}

template <typename A, int first, bool by_group>
__device__ __forceinline__ void run_group(const task &t, const ring<shape<A>::n_stage> &stages,
                                          uint32_t shared, float *memory, const placement &place,
                                          int column_group)
{
    using S = shape<A>;
    const int lane = int(threadIdx.x) % 32;
    const int quad = int(threadIdx.x) / 32 % 4;
    sums acc = {};
    products q = {};
    for (int step = 0; step < t.e.in_steps; step++) {
        stages.wait_full(step);
        const uint32_t stage = shared + ring_bytes + uint32_t(step % S::n_stage * S::stage_bytes);
        run_step<A, first, by_group>(stage + quad * S::input_quad_bytes + lane * 16,
                                     stage + S::input_bytes + column_group * S::weight_bytes, q,
                                     acc, [&] { advance<A>(t, stages, shared, place, step); });
    }
    __syncthreads(); // the ring is free
    float *const own = memory + int(threadIdx.x) / 32 * (S::own_components * component_floats);
    stage_sums(own, acc, lane);
    __syncwarp();
    write_tile<A, first>(t, own, place.rows * row_block + quad * 16,
                         place.col * S::column_groups + column_group, lane);
}

template <typename A, bool by_group>
__global__ void __launch_bounds__(multiply_threads, 1)
    product_kernel(const __grid_constant__ task t)
{
    using S = shape<A>;
    extern __shared__ uint4 memory[];
    const uint32_t shared = shared_address(memory);
    // Blocks of one set of rows are neighbours: their inputs are read from the cache.
    const placement place = placement_of(t.e.product_cluster[0], t.e.product_cluster[1],
                                         t.e.col_blocks / S::column_groups);
    float *const ring_memory = reinterpret_cast<float *>(memory + ring_bytes / sizeof(uint4));
    static_assert(S::n_stage * S::stage_bytes >=
                  multiply_threads / 32 * S::own_components * component_floats * 4);
    ring<S::n_stage> stages;
    stages.init(shared, place.row_mates | place.col_mates);
    if (threadIdx.x == 0) {
        for (int step = 0; step < S::n_stage - 1 && step < t.e.in_steps; step++) {
            fill<A>(t, stages, shared, place, step);
        }
    }
    __syncwarp();
    const int group = int(threadIdx.x) / 128;
    if constexpr (S::component_groups == 2) {
        if (group == 0) {
            run_group<A, 0, by_group>(t, stages, shared, ring_memory, place, 0);
        } else {
            run_group<A, 4, by_group>(t, stages, shared, ring_memory, place, 0);
        }
    } else {
        run_group<A, 0, by_group>(t, stages, shared, ring_memory, place, group);
    }
    cluster_sync(); // nobody leaves while others still send or arrive here
}

} // namespace

namespace clifford_fcgp
{

template <typename A, bool by_group>
cudaError_t launch_product(cudaStream_t stream, const task &t)
{
    using S = shape<A>;
    const cudaError_t error = cudaFuncSetAttribute(
        product_kernel<A, by_group>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t rows = t.e.product_cluster[0];
    const int64_t cols = t.e.product_cluster[1];
    const int64_t clusters =
        blocks_of(t.e.row_blocks, rows) * blocks_of(t.e.col_blocks / S::column_groups, cols);
    return launch_cluster(stream, product_kernel<A, by_group>, t, int(rows * cols),
                          dim3(unsigned(clusters * rows * cols)), S::shared_bytes);
}

template <typename A>
cudaError_t multiply_product(cudaStream_t stream, const extents &e, const packed &data,
                             view<float> out, float *squares)
{
    const task t = {e, data, out, is_vector(out, 2, e.n_out), squares};
    return e.product_by_group ? launch_product<A, true>(stream, t)
                              : launch_product<A, false>(stream, t);
}

template cudaError_t multiply_product<cl20>(cudaStream_t, const extents &, const packed &,
                                            view<float>, float *);
template cudaError_t multiply_product<cl30>(cudaStream_t, const extents &, const packed &,
                                            view<float>, float *);

} // namespace clifford_fcgp
