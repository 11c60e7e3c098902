// Stage clifford.fcgp on tensor cores: the product o[k] = sum over paths of q[p,k] w[p].
//
// A block of 8 warps has 64 rows; a warp has 16 of them, 64 columns and up to 4 components, whose
// sums are 128 registers. In three dimensions the two groups of 4 warps share the columns and have
// half of the components each, in two they share the components and have columns of their own.
// The products q are formed from the fragments of x and y in the registers that feed the tensor
// cores; a fragment of weights serves all components of the path's grade.

#include "backend/cuda/clifford_fcgp_mma.cuh"

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

// One step of 16 features; addresses of the warp's 16 rows and of its columns, by lane.
template <typename A, int first>
__device__ __forceinline__ void multiply_step(uint32_t inputs, uint32_t weights, sums &acc)
{
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

struct task {
    extents e;
    packed data;
    view<float> out;
    bool paired;    // two neighbours of out may be written at a time
    float *squares; // [block of 64 columns][grade][row]
};

__device__ __forceinline__ void store_two(const view<float> &out, bool paired, int k, int64_t b,
                                          int64_t n, int64_t n_out, float first, float second)
{
    float *to = &out.at(k, b, n);
    if (paired) {
        *reinterpret_cast<float2 *>(to) = make_float2(first, second);
        return;
    }
    *to = first;
    if (n + 1 < n_out) {
        to[out.stride[2]] = second;
    }
}

// By one thread: what iteration `step` reads.
template <typename A>
__device__ __forceinline__ void fill(const task &t, const ring<shape<A>::n_stage> &stages,
                                     uint32_t shared, int64_t rows, int64_t col, int step)
{
    using S = shape<A>;
    stages.wait_empty(step);
    const int stage = step % S::n_stage;
    const uint32_t barrier = stages.full(stage);
    const uint32_t to = shared + ring_bytes + uint32_t(stage * S::stage_bytes);
    barrier_expect(barrier, S::stage_bytes);
    const char *inputs = reinterpret_cast<const char *>(t.data.inputs);
    const char *weights = reinterpret_cast<const char *>(t.data.weights);
    copy_bulk(to, inputs + (rows * t.e.in_steps + step) * S::input_bytes, S::input_bytes, barrier);
#pragma unroll
    for (int i = 0; i < S::column_groups; i++) {
        const int64_t block = col * S::column_groups + i;
        copy_bulk(to + S::input_bytes + i * S::weight_bytes,
                  weights + (block * t.e.in_steps + step) * S::weight_bytes, S::weight_bytes,
                  barrier);
    }
}

// Takes the scales back, writes the warp's tile and adds the squares of each grade up: over the
// thread's columns, then over the four threads of a row.
template <typename A, int first>
__device__ __forceinline__ void write_tile(const task &t, sums &acc, int64_t row0, int64_t block,
                                           int lane)
{
    const int of_weights = weight_exponent(t.data);
    const int64_t n0 = block * col_block + lane % 4 * 2;
#pragma unroll
    for (int upper = 0; upper < 2; upper++) {
        const int64_t b = row0 + lane / 4 + upper * 8;
        const bool inside = b < t.e.n_row;
        const unscale factors = unscale_by(of_weights + (inside ? t.data.input_exponent[b] : 0));
        float squares[A::n_grade] = {};
        unrolled<shape<A>::own_components>([&](auto at) {
            constexpr int k = first + decltype(at)::value;
            constexpr int g = A::grade[k];
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const int64_t n = n0 + j * 8;
                const float o0 = acc[k - first][j][upper * 2] * factors;
                const float o1 = acc[k - first][j][upper * 2 + 1] * factors;
                if (inside && n < t.e.n_out) {
                    squares[g] = fmaf(o0, o0, squares[g]);
                    if (n + 1 < t.e.n_out) {
                        squares[g] = fmaf(o1, o1, squares[g]);
                    }
                    store_two(t.out, t.paired, k, b, n, t.e.n_out, o0, o1);
                }
            }
        });
        unrolled<A::n_grade>([&](auto grade) {
            constexpr int g = decltype(grade)::value;
            if constexpr (g >= A::grade[first] &&
                          g <= A::grade[first + shape<A>::own_components - 1]) {
                float sum = squares[g];
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                if (inside && lane % 4 == 0) {
                    t.squares[(block * A::n_grade + g) * t.e.n_row + b] = sum;
                }
            }
        });
    }
}

template <typename A, int first>
__device__ __forceinline__ void run_group(const task &t, const ring<shape<A>::n_stage> &stages,
                                          uint32_t shared, int64_t rows, int64_t col,
                                          int column_group)
{
    using S = shape<A>;
    const int lane = int(threadIdx.x) % 32;
    const int quad = int(threadIdx.x) / 32 % 4;
    sums acc = {};
    for (int step = 0; step < t.e.in_steps; step++) {
        if (threadIdx.x == 0 && step + S::n_stage - 1 < t.e.in_steps) {
            fill<A>(t, stages, shared, rows, col, step + S::n_stage - 1);
        }
        __syncwarp();
        stages.wait_full(step);
        const uint32_t stage =
            shared + ring_bytes + uint32_t(step % S::n_stage * S::stage_bytes + lane * 16);
        multiply_step<A, first>(stage + quad * S::input_quad_bytes,
                                stage + S::input_bytes + column_group * S::weight_bytes, acc);
        stages.release(step);
    }
    write_tile<A, first>(t, acc, rows * row_block + quad * 16,
                         col * S::column_groups + column_group, lane);
}

template <typename A>
__global__ void __launch_bounds__(multiply_threads, 1)
    product_kernel(const __grid_constant__ task t)
{
    using S = shape<A>;
    extern __shared__ uint4 memory[];
    const uint32_t shared = shared_address(memory);
    // Blocks of one set of rows are neighbours: their inputs are read from the cache.
    const int64_t col_tiles = t.e.col_blocks / S::column_groups;
    const int64_t rows = blockIdx.x / col_tiles;
    const int64_t col = blockIdx.x % col_tiles;
    ring<S::n_stage> stages;
    stages.init(shared);
    if (threadIdx.x == 0) {
        for (int step = 0; step < S::n_stage - 1 && step < t.e.in_steps; step++) {
            fill<A>(t, stages, shared, rows, col, step);
        }
    }
    __syncwarp();
    const int group = int(threadIdx.x) / 128;
    if constexpr (S::component_groups == 2) {
        if (group == 0) {
            run_group<A, 0>(t, stages, shared, rows, col, 0);
        } else {
            run_group<A, 4>(t, stages, shared, rows, col, 0);
        }
    } else {
        run_group<A, 0>(t, stages, shared, rows, col, group);
    }
}

} // namespace

namespace clifford_fcgp
{

template <typename A>
cudaError_t multiply_product(cudaStream_t stream, const extents &e, const packed &data,
                             view<float> out, float *squares)
{
    using S = shape<A>;
    const cudaError_t error = cudaFuncSetAttribute(
        product_kernel<A>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t blocks = e.row_blocks * (e.col_blocks / S::column_groups);
    const task t = {e, data, out, is_vector(out, 2, e.n_out), squares};
    product_kernel<A><<<unsigned(blocks), multiply_threads, S::shared_bytes, stream>>>(t);
    return cudaGetLastError();
}

template cudaError_t multiply_product<cl20>(cudaStream_t, const extents &, const packed &,
                                            view<float>, float *);
template cudaError_t multiply_product<cl30>(cudaStream_t, const extents &, const packed &,
                                            view<float>, float *);

} // namespace clifford_fcgp
