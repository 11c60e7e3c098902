// Stage clifford.fcgp on tensor cores: the algebras it knows, the layout of the packed operands.
//
// Operands are f16 with exact scales (powers of two) and f32 sums: the 10 bits of mantissa of TF32
// at twice its rate. Rows of activations have a scale of their own, weights one for all, so that
// nothing leaves the range of f16 and a row's result depends on that row alone.
//
// Packed operands consist of cores, 8 x 8 items in 128 bytes, which is what ldmatrix reads without
// conflicts, as they are or transposed. Rows come in blocks of 64, features in steps of 16, both
// padded with zeros:
//   inputs     [row block][step of in][row / 16][x then y: component][step / 8][row / 8][row][in]
//   gradients  [row block][pass][step of out][row / 16][component][step / 8][row / 8][row][out]
//   by row     [row / 16 of all][step of out][component][step / 8][row / 8][row][out]
//   weights    [block of 64 out][step of in][path][out / 8][step / 8][out][in]
//   transposed [block of 32 in][pass][step of out][path][in / 8][step / 8][in][out]
// where row / 16 and so on count within the block, and a pass has some of the components and paths.
// What a kernel brings into shared memory at a time lies in a few runs of bytes.
#ifndef TESS_CLIFFORD_FCGP_MMA_CUH
#define TESS_CLIFFORD_FCGP_MMA_CUH

#include "backend/cuda/clifford_cluster.cuh"
#include "backend/cuda/clifford_fcgp.cuh"
#include "backend/cuda/clifford_mma.cuh"
#include <clifford/algebras.h>

#include <utility>

namespace clifford_fcgp
{

using namespace clifford_mma;

struct term {
    int i, j, sign; // sign 0: no term
};

// What path p adds to output component k.
struct pair {
    int p, k;
    term terms[3];
};

#define CL_BEGIN(p, k)                                                                             \
    {                                                                                              \
        p, k,                                                                                      \
        {
#define CL_FIRST_PLUS(i, j)                                                                        \
    {                                                                                              \
        i, j, 1                                                                                    \
    }
#define CL_FIRST_MINUS(i, j)                                                                       \
    {                                                                                              \
        i, j, -1                                                                                   \
    }
#define CL_PLUS(i, j)                                                                              \
    ,                                                                                              \
    {                                                                                              \
        i, j, 1                                                                                    \
    }
#define CL_MINUS(i, j)                                                                             \
    ,                                                                                              \
    {                                                                                              \
        i, j, -1                                                                                   \
    }
#define CL_END(p, k)                                                                               \
    }                                                                                              \
    }                                                                                              \
    ,

// own_components: how many a warp of the product has. passes: groups of output grades whose
// gradients of products fit into registers at a time; pass_of[grade].
struct cl20 {
    static constexpr int n_component = CL20_COMPONENTS;
    static constexpr int n_grade = CL20_GRADES;
    static constexpr int n_path = CL20_PATHS;
    static constexpr int n_pair = CL20_PAIRS;
    static constexpr int grade[n_component] = {CL20_GRADE};
    static constexpr int path_out[n_path] = {CL20_PATH_OUT};
    static constexpr int n_pass = 1;
    static constexpr int pass_of[n_grade] = {0, 0, 0};
    static constexpr pair pairs[n_pair] = {
#include <clifford/cl20.def>
    };
};

struct cl30 {
    static constexpr int n_component = CL30_COMPONENTS;
    static constexpr int n_grade = CL30_GRADES;
    static constexpr int n_path = CL30_PATHS;
    static constexpr int n_pair = CL30_PAIRS;
    static constexpr int grade[n_component] = {CL30_GRADE};
    static constexpr int path_out[n_path] = {CL30_PATH_OUT};
    static constexpr int n_pass = 3;
    static constexpr int pass_of[n_grade] = {2, 0, 1, 2};
    static constexpr pair pairs[n_pair] = {
#include <clifford/cl30.def>
    };
};

#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END

template <typename F, int... I>
__device__ __forceinline__ void unrolled(F &&body, std::integer_sequence<int, I...>)
{
    (body(std::integral_constant<int, I>()), ...);
}

// body(integral_constant) for 0 .. n - 1: indices are constants, also in tables.
template <int n, typename F>
__device__ __forceinline__ void unrolled(F &&body)
{
    unrolled(body, std::make_integer_sequence<int, n>());
}

template <typename A>
__host__ __device__ constexpr int pass_of_path(int p)
{
    return A::pass_of[A::path_out[p]];
}

// Paths, pairs and components of a pass before the given one; with the count as argument: all.
template <typename A>
__host__ __device__ constexpr int paths_before(int pass, int p)
{
    int n = 0;
    for (int other = 0; other < p; other++) {
        n += pass_of_path<A>(other) == pass;
    }
    return n;
}

template <typename A>
__host__ __device__ constexpr int pairs_before(int pass, int pair)
{
    int n = 0;
    for (int other = 0; other < pair; other++) {
        n += pass_of_path<A>(A::pairs[other].p) == pass;
    }
    return n;
}

template <typename A>
__host__ __device__ constexpr int components_before(int pass, int k)
{
    int n = 0;
    for (int other = 0; other < k; other++) {
        n += A::pass_of[A::grade[other]] == pass;
    }
    return n;
}

// Paths, and components, of the passes before.
template <typename A>
__host__ __device__ constexpr int first_component(int pass)
{
    int n = 0;
    for (int before = 0; before < pass; before++) {
        n += components_before<A>(before, A::n_component);
    }
    return n;
}

template <typename A>
__host__ __device__ constexpr int first_slot(int pass)
{
    int n = 0;
    for (int before = 0; before < pass; before++) {
        n += paths_before<A>(before, A::n_path);
    }
    return n;
}

// Components in the order of the passes.
template <typename A>
__host__ __device__ constexpr int place_of(int k)
{
    const int pass = A::pass_of[A::grade[k]];
    return first_component<A>(pass) + components_before<A>(pass, k);
}

constexpr int row_block = 64;
constexpr int step_size = 16;     // features
constexpr int core_bytes = 128;   // 8 x 8 halves
constexpr int quad_bytes = 512;   // 16 x 16 halves: what ldmatrix.x4 reads
constexpr int col_block = 64;     // features out of packed weights
constexpr int in_block = 32;      // features in of transposed weights
constexpr int input_exponent = 5; // of the largest item: products of three terms stay below 2^14
constexpr int multiply_threads = 256;

// Sizes that follow from the shape.
struct extents {
    int64_t n_row, n_in, n_out;
    int64_t row_blocks; // of 64 rows
    int in_steps;       // of 16 features
    int out_steps;
    int col_blocks; // of 64 features out
    int in_blocks;  // of 32 features in
    // Blocks of a cluster: of the product and of the gradient of inputs (rows, columns), 1 or 2
    // each; of the gradient of weights 1, 2 or 4.
    int product_cluster[2];
    int data_cluster[2];
    int weights_cluster;
    int product_by_group; // 1: by the matrix instructions of groups of warps
};

// What the packing kernels leave for the products. exponent: of 2^e that takes a row's scales back.
struct packed {
    __half *inputs;
    __half *gradients;
    __half *gradients_by_row;
    __half *weights;
    __half *transposed;
    int *input_exponent;    // [row], rows padded to whole blocks
    int *gradient_exponent; // alike
    int *largest_exponent;  // of input + gradient over rows
    unsigned *largest_weight;
};

// sum * 2^exponent, where the factor may leave the range of f32 and the result does not.
__device__ __forceinline__ unscale unscale_by(int exponent)
{
    const int half = min(max(exponent >> 1, -126), 127);
    return {power_of_two(half), power_of_two(min(max(exponent - half, -126), 127))};
}

__device__ __forceinline__ int weight_exponent(const packed &data)
{
    return exponent_of(*data.largest_weight) - half_exponent;
}

// Infinities and NaN do not decide on scales: they stay what they are under any.
__device__ __forceinline__ unsigned finite_magnitude(float value)
{
    const unsigned bits = magnitude(value);
    return bits < 0x7f800000u ? bits : 0u;
}

__device__ __forceinline__ __half2 as_half2(uint32_t bits)
{
    __half2 both;
    memcpy(&both, &bits, sizeof(both));
    return both;
}

__device__ __forceinline__ uint32_t as_bits(__half2 both)
{
    uint32_t bits;
    memcpy(&bits, &both, sizeof(bits));
    return bits;
}

// The products of a pair from the fragments of all components.
template <typename A, int index>
__device__ __forceinline__ void form(uint32_t (&q)[4], const uint32_t (&x)[A::n_component][4],
                                     const uint32_t (&y)[A::n_component][4])
{
    constexpr pair one = A::pairs[index];
#pragma unroll
    for (int r = 0; r < 4; r++) {
        __half2 sum;
        unrolled<3>([&](auto at) {
            constexpr term t = one.terms[decltype(at)::value];
            if constexpr (t.sign != 0) {
                const __half2 left =
                    t.sign > 0 ? as_half2(x[t.i][r]) : __hneg2(as_half2(x[t.i][r]));
                if constexpr (decltype(at)::value == 0) {
                    sum = __hmul2(left, as_half2(y[t.j][r]));
                } else {
                    sum = __hfma2(left, as_half2(y[t.j][r]), sum);
                }
            }
        });
        q[r] = as_bits(sum);
    }
}

// A ring of stages in shared memory. Blocks of a cluster that need the same bytes bring a part each
// and send it to all of them. Barriers, full and empty per stage, lie at the front of shared
// memory.
template <int n_stage>
struct ring {
    uint32_t barriers;
    uint32_t partners; // ranks of the blocks that send to this one, itself included, as bits

    // By all threads; ends with a barrier of the cluster.
    __device__ __forceinline__ void init(uint32_t address, uint32_t ranks)
    {
        barriers = address;
        partners = ranks;
        if (threadIdx.x == 0) {
            for (int s = 0; s < n_stage; s++) {
                barrier_init(full(s), 1);
                barrier_init(empty(s), multiply_threads / 32 * __popc(ranks));
            }
            barrier_init_fence();
        }
        cluster_sync();
    }
    __device__ __forceinline__ uint32_t full(int stage) const
    {
        return barriers + uint32_t(stage) * 8;
    }
    __device__ __forceinline__ uint32_t empty(int stage) const
    {
        return barriers + uint32_t(n_stage + stage) * 8;
    }
    // By the filling thread, before it fills stage `at % n_stage` for iteration `at`.
    __device__ __forceinline__ void wait_empty(int at) const
    {
        if (at >= n_stage) {
            barrier_wait(empty(at % n_stage), uint32_t(at / n_stage - 1) & 1);
        }
    }
    __device__ __forceinline__ void wait_full(int at) const
    {
        barrier_wait(full(at % n_stage), uint32_t(at / n_stage) & 1);
    }
    // By whole warps that have read what they need: tells everybody who sends here.
    __device__ __forceinline__ void release(int at) const
    {
        __syncwarp();
        const int lane = int(threadIdx.x) % 32;
        if (lane < 8 && (partners >> lane & 1) != 0) {
            barrier_arrive_at(empty(at % n_stage), uint32_t(lane));
        }
    }
};

constexpr int ring_bytes = 128; // barriers of up to 8 stages

// Where a block works, and its place in a cluster of 1 or 2 blocks of rows by 1 or 2 of columns.
// Blocks of the same rows share one operand, those of the same columns the other.
struct placement {
    int64_t rows, col;
    int row_rank, col_rank;
    uint32_t row_mates, col_mates; // ranks as bits, the block's own included
};

__device__ __forceinline__ placement placement_of(int cluster_rows, int cluster_cols,
                                                  int64_t col_tiles)
{
    const int rank = int(cluster_rank());
    const int64_t cluster = int64_t(blockIdx.x) / (cluster_rows * cluster_cols);
    const int64_t cols = (col_tiles + cluster_cols - 1) / cluster_cols;
    placement p;
    p.row_rank = rank / cluster_cols;
    p.col_rank = rank % cluster_cols;
    p.rows = cluster / cols * cluster_rows + p.row_rank;
    p.col = cluster % cols * cluster_cols + p.col_rank;
    p.row_mates = ((1u << cluster_cols) - 1) << (p.row_rank * cluster_cols);
    p.col_mates = (cluster_rows == 2 ? 1u | 1u << cluster_cols : 1u) << p.col_rank;
    return p;
}

// Launches blocks of multiply_threads in clusters of neighbours.
template <typename Task>
cudaError_t launch_cluster(cudaStream_t stream, void (*kernel)(Task), const Task &task, int size,
                           dim3 grid, int shared_bytes)
{
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = unsigned(size);
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(multiply_threads);
    config.dynamicSmemBytes = size_t(shared_bytes);
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, task);
}

// The kernels; each launches on the stream and returns the launch's error.

// x and y, and the largest weight.
template <typename A, typename T>
cudaError_t pack_inputs(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                        const packed &data);

// After pack_inputs. Paths outside the mask become zero. Either result may be NULL.
template <typename A>
cudaError_t pack_weights(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                         const packed &data);

// h of spec, from gradient and result; saved: of type T, or f32 where saved_f32.data is not NULL.
template <typename A, typename T>
cudaError_t pack_gradients(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                           const packed &data, view<const float> saved_f32,
                           const float *statistics);

// out (component, row, out) without the norm, and per block of 64 columns, grade and row the sum of
// squares.
template <typename A>
cudaError_t multiply_product(cudaStream_t stream, const extents &e, const packed &data,
                             view<float> out, float *squares);

// out = product / r from the sums of squares.
template <typename A, typename T>
cudaError_t finish_norm(cudaStream_t stream, const tess_cl_problem &problem, const extents &e,
                        view<float> product, const float *squares, view<T> out, float *statistics);

// Gradient of the weights; partial: weight_splits() times their number of f32.
template <typename A>
cudaError_t multiply_weights(cudaStream_t stream, const tess_stage_clifford_fcgp &a,
                             const extents &e, const packed &data, float *partial);
template <typename A>
int64_t weight_splits(const extents &e);

// Gradients of x and y.
template <typename A, typename T>
cudaError_t multiply_data(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                          const packed &data);

} // namespace clifford_fcgp

#endif
