// A layer of few features in one kernel: the linear map of 16 rows by the matrix instructions of
// warps, as TF32, stays in registers until its product with the rows has been taken.
//
// A block has 64 columns of the weights of all grades in shared memory for as long as it lives, and
// takes one tile of rows, all components, after another. Wider layers have a cluster of two blocks,
// each with its columns, that hand each other their part of the rows' norms. A warp has 8 columns
// of all components, so that a thread has whole multivectors: of rows lane / 4 and 8 further,
// columns 2 (lane % 4) and the next.
#ifndef TESS_CLIFFORD_LAYER_CUH
#define TESS_CLIFFORD_LAYER_CUH

#include "backend/cuda/clifford/common/cluster.cuh"
#include "backend/cuda/clifford/common/tf32.cuh"
#include "backend/cuda/clifford/layer/layer.h"
#include "backend/cuda/clifford/sgp/sgp_rows.cuh"

namespace clifford
{

template <typename A>
struct layer_shape {
    static constexpr int warps = 8;
    static constexpr int threads = 32 * warps;
    static constexpr int rows = 16;
    static constexpr int columns = 8 * warps; // of a block
    static constexpr int inner = 8;           // items of an instruction
    static constexpr int weight_pitch = columns + 8;
    static constexpr int n_sum = rows * A::n_grade;
    using weights = shared_weights<A::n_path, 1>;

    // Rows begin in different banks.
    __host__ __device__ static int row_pitch(int64_t n)
    {
        return int(n) + 4;
    }
    // Items of shared memory, in this order.
    __host__ __device__ static int rows_at(int64_t n)
    {
        return A::n_grade * int(n) * weight_pitch;
    }
    __host__ __device__ static int paths_at(int64_t n)
    {
        return rows_at(n) + A::n_component * rows * row_pitch(n);
    }
    __host__ __device__ static int sums_at(int64_t n)
    {
        return paths_at(n) + int(weights::bytes(n) / sizeof(float) + 3) / 4 * 4;
    }
    __host__ __device__ static int all(int64_t n)
    {
        return sums_at(n) + (warps + 2) * n_sum;
    }
};

// What lies at this address in the block of that rank.
__device__ __forceinline__ float load_shared_at(uint32_t address, uint32_t rank)
{
    float value;
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %1, %2;\n"
                 "ld.shared::cluster.f32 %0, [there];\n"
                 "}\n"
                 : "=f"(value)
                 : "r"(address), "r"(rank)
                 : "memory");
    return value;
}

// Four neighbouring items of a thread of the matrix instructions: of two rows, two columns each.
constexpr int held_items = 4;

__device__ __forceinline__ int held_row(int item)
{
    return int(threadIdx.x) % 32 / 4 + item / 2 * 8;
}

template <typename A>
struct layer_block {
    using S = layer_shape<A>;
    static constexpr int D = A::n_component;
    static constexpr int G = A::n_grade;

    const layer_args &p;
    float *shared;
    int n;
    int first_column; // of the block
    int warp, lane;
    bool is_active; // the warp has columns

    __device__ __forceinline__ layer_block(const layer_args &args, float *memory, int rank)
        : p(args), shared(memory), n(int(args.product.n)), first_column(rank * S::columns),
          warp(__shfl_sync(all_lanes, int(threadIdx.x) / 32, 0)), lane(int(threadIdx.x) % 32),
          is_active(first_column + warp * 8 < n)
    {
    }

    // Of the thread's first items.
    __device__ __forceinline__ int column() const
    {
        return first_column + warp * 8 + lane % 4 * 2;
    }

    // Starts copies of the rows' components of a grade; those behind the last row become zero.
    __device__ __forceinline__ void copy_rows(int tile, int grade) const
    {
        const A algebra;
        const uint32_t to = clifford_mma::shared_address(shared + S::rows_at(n));
        const float *from = static_cast<const float *>(p.product.x.data);
#pragma unroll
        for (int k = 0; k < D; k++) {
            if (algebra.grade(k) != grade) {
                continue;
            }
#pragma unroll
            for (int i = 0; i < S::rows / S::warps; i++) {
                const int line = warp + i * S::warps;
                const int64_t row = int64_t(tile) * S::rows + line;
                const bool is_there = row < p.product.n_row;
                const float *at = from + k * p.product.x.stride[0] +
                                  (is_there ? row : 0) * p.product.x.stride[1] + lane * 4;
                if (lane * 4 < n) {
                    clifford_mma::copy_async_16(
                        to + uint32_t((k * S::rows + line) * S::row_pitch(n) + lane * 4) * 4, at,
                        is_there ? 16 : 0);
                }
            }
        }
    }

    // Starts copies of the block's columns of a grade's weights.
    __device__ __forceinline__ void copy_weights(int grade) const
    {
        constexpr int words = S::columns / 4;
        const uint32_t to = clifford_mma::shared_address(shared);
        const int item = int(threadIdx.x) % words * 4;
        const float *from = static_cast<const float *>(p.linear_weight.data) +
                            grade * p.linear_weight.stride[0] + first_column + item;
        if (first_column + item >= n) {
            return;
        }
#pragma unroll 4
        for (int line = int(threadIdx.x) / words; line < n; line += S::threads / words) {
            clifford_mma::copy_async_16(to + uint32_t((grade * n + line) * S::weight_pitch + item) *
                                                 4,
                                        from + line * p.linear_weight.stride[1]);
        }
    }

    // Adds the products of a grade's components with its weights to the thread's items.
    __device__ __forceinline__ void multiply_grade(int grade, float (&y)[D][held_items]) const
    {
        const A algebra;
        const int pitch = S::row_pitch(n);
        const float *b = shared + (grade * n + lane % 4) * S::weight_pitch + warp * 8 + lane / 4;
        const uint32_t a = clifford_mma::shared_address(shared + S::rows_at(n)) +
                           uint32_t(lane % 16 * pitch + lane / 16 * 4) * 4;
#pragma unroll 4
        for (int first = 0; first < n; first += S::inner) {
            const uint32_t b0 = clifford_mma::round_to_tf32(b[first * S::weight_pitch]);
            const uint32_t b1 = clifford_mma::round_to_tf32(b[(first + 4) * S::weight_pitch]);
#pragma unroll
            for (int k = 0; k < D; k++) {
                if (algebra.grade(k) == grade) {
                    uint32_t items[4];
                    clifford_mma::load_matrix_x4(items,
                                                 a + uint32_t(k * S::rows * pitch + first) * 4);
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        items[i] = clifford_mma::round_to_tf32(__uint_as_float(items[i]));
                    }
                    clifford_mma::multiply_1688(y[k], items, b0, b1);
                }
            }
        }
    }

    // The thread's items of the rows.
    __device__ __forceinline__ void take_rows(float (&x)[D][held_items]) const
    {
        const int pitch = S::row_pitch(n);
#pragma unroll
        for (int k = 0; k < D; k++) {
#pragma unroll
            for (int i = 0; i < held_items; i += 2) {
                const float2 v = *reinterpret_cast<const float2 *>(
                    shared + S::rows_at(n) + (k * S::rows + held_row(i)) * pitch + column());
                x[k][i] = v.x;
                x[k][i + 1] = v.y;
            }
        }
    }

    __device__ __forceinline__ void add_bias(float (&y)[D][held_items]) const
    {
        if (p.bias == nullptr) {
            return;
        }
        const float of[2] = {p.bias[column() * p.stride_bias],
                             p.bias[(column() + 1) * p.stride_bias]};
#pragma unroll
        for (int k = 0; k < D; k++) {
#pragma unroll
            for (int i = 0; i < held_items; i++) {
                y[k][i] += k == 0 || p.bias_all ? of[i % 2] : 0.0f;
            }
        }
    }

    __device__ __forceinline__ void store(const tess_cl_view &to, int tile,
                                          const float (&v)[D][held_items]) const
    {
#pragma unroll
        for (int i = 0; i < held_items; i += 2) {
            const int64_t row = int64_t(tile) * S::rows + held_row(i);
            if (row < p.product.n_row) {
                float *at = static_cast<float *>(to.data) + row * to.stride[1] + column();
#pragma unroll
                for (int k = 0; k < D; k++) {
                    *reinterpret_cast<float2 *>(at + k * to.stride[0]) =
                        make_float2(v[k][i], v[k][i + 1]);
                }
            }
        }
    }

    // Puts the product of x and y in the place of y; sums [two rows][grade] are what the thread
    // adds to statistics.
    __device__ __forceinline__ void multiply_items(const float (&x)[D][held_items],
                                                   float (&y)[D][held_items],
                                                   float (&sums)[2][G]) const
    {
        const A algebra;
        float scalars[2 * held_items];
        gate<float> gates[2 * held_items];
#pragma unroll
        for (int i = 0; i < held_items; i++) {
            scalars[i] = x[0][i];
            scalars[held_items + i] = y[0][i];
        }
        gates_of(p.product.activation, scalars, gates);
#pragma unroll
        for (int at = 0; at < held_items; at++) {
            const int i = at % 2 * 2 + at / 2; // column by column, which share weights
            float w[A::n_path];
            float left[D];
            float right[D];
            float o[D];
            S::weights::read(shared + S::paths_at(n), column() + i % 2, 0, w);
#pragma unroll
            for (int k = 0; k < D; k++) {
                left[k] = x[k][i];
                right[k] = y[k][i];
            }
            algebra.product(left, right, w, o, all_paths());
            const float scale = gates[i].factor * gates[held_items + i].factor;
#pragma unroll
            for (int k = 0; k < D; k++) {
                o[k] *= scale;
                y[k][i] = o[k];
            }
            add_statistic(algebra, p.product.metric, o, sums[i / 2]);
        }
    }

    // The block's sums of a row over its columns, [row][grade], from those of threads.
    __device__ __forceinline__ void sum_over_block(float (&sums)[2][G], float *block_sums) const
    {
        float *warp_sums = shared + S::sums_at(n);
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int g = 0; g < G; g++) {
                float sum = sums[half][g];
                sum += __shfl_xor_sync(all_lanes, sum, 1);
                sum += __shfl_xor_sync(all_lanes, sum, 2);
                if (lane % 4 == 0) {
                    warp_sums[warp * S::n_sum + held_row(2 * half) * G + g] = sum;
                }
            }
        }
        __syncthreads();
        if (int(threadIdx.x) < S::n_sum) {
            float sum = warp_sums[threadIdx.x];
#pragma unroll
            for (int other = 1; other < S::warps; other++) {
                sum += warp_sums[other * S::n_sum + int(threadIdx.x)];
            }
            block_sums[threadIdx.x] = sum;
        }
    }

    // 1 / r of the thread's rows and grades; r to the statistics. parity: of the tile, so that a
    // block may still read what the other had for the tile before.
    template <int n_block>
    __device__ __forceinline__ void norms(int tile, int parity, float (&sums)[2][G]) const
    {
        float *block_sums = shared + S::sums_at(n) + (S::warps + parity) * S::n_sum;
        sum_over_block(sums, block_sums);
        if constexpr (n_block > 1) {
            clifford_mma::cluster_sync();
        } else {
            __syncthreads();
        }
        const float per_feature = 1.0f / float(n);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = held_row(2 * half);
#pragma unroll
            for (int g = 0; g < G; g++) {
                sums[half][g] = block_sums[row * G + g];
                if constexpr (n_block > 1) {
                    const uint32_t at = clifford_mma::shared_address(block_sums + row * G + g);
                    sums[half][g] = load_shared_at(at, 0) + load_shared_at(at, 1);
                }
            }
            squares_of_sums<G>(p.product.metric, per_feature, float(p.product.eps), sums[half]);
            const int64_t whole_row = int64_t(tile) * S::rows + row;
            const bool stores = p.product.statistics != nullptr && first_column + warp == 0 &&
                                lane % 4 == 0 && whole_row < p.product.n_row;
#pragma unroll
            for (int g = 0; g < G; g++) {
                if (stores) {
                    static_cast<float *>(p.product.statistics)[g * p.product.n_row + whole_row] =
                        sqrt(sums[half][g]);
                }
                sums[half][g] = inverse_root_of(sums[half][g]);
            }
        }
    }

    __device__ __forceinline__ void normalize(const float (&inverse)[2][G],
                                              float (&z)[D][held_items]) const
    {
        const A algebra;
#pragma unroll
        for (int k = 0; k < D; k++) {
#pragma unroll
            for (int i = 0; i < held_items; i++) {
                z[k][i] *= inverse[i / 2][algebra.grade(k)];
            }
        }
    }

    // A tile whose copies are under way; those of the next one, if there is one, are started.
    template <int n_block>
    __device__ __forceinline__ void take_tile(int tile, int next, int parity) const
    {
        float y[D][held_items] = {};
        float x[D][held_items] = {};
        float sums[2][G] = {};
        for_grades<0>([&](auto grade) {
            clifford_mma::copy_wait<G - 1 - decltype(grade)::value>();
            __syncthreads();
            if (is_active) {
                multiply_grade(decltype(grade)::value, y);
            }
        });
        if (is_active) {
            take_rows(x);
        }
        __syncthreads();
#pragma unroll
        for (int g = 0; g < G; g++) {
            if (next < p.n_tile) {
                copy_rows(next, g);
            }
            clifford_mma::copy_commit();
        }
        if (is_active) {
            add_bias(y);
            if (p.product.y.data != nullptr) {
                store(p.product.y, tile, y);
            }
            multiply_items(x, y, sums);
        }
        if (p.product.normalize) {
            norms<n_block>(tile, parity, sums);
            normalize(sums, y);
        }
        if (is_active) {
            store(p.product.out, tile, y);
        }
    }

    template <int grade, typename F>
    __device__ __forceinline__ void for_grades(F &&f) const
    {
        if constexpr (grade < G) {
            f(std::integral_constant<int, grade>());
            for_grades<grade + 1>(f);
        }
    }

    template <int n_block>
    __device__ __forceinline__ void take_tiles(int first, int step) const
    {
#pragma unroll
        for (int g = 0; g < G; g++) {
            copy_rows(first, g);
            copy_weights(g);
            clifford_mma::copy_commit();
        }
        S::weights::fill(p.product, shared + S::paths_at(n));
        int parity = 0;
#pragma unroll 1
        for (int tile = first; tile < p.n_tile; tile += step, parity ^= 1) {
            take_tile<n_block>(tile, tile + step, parity);
        }
    }
};

template <typename A, int n_block>
__global__ void TESS_CUDA_CLUSTER(n_block) __launch_bounds__(layer_shape<A>::threads, 1)
    layer_forward(const __grid_constant__ layer_args p)
{
#if TESS_CUDA_HAS_MATRIX
    if constexpr (n_block == 1 || TESS_CUDA_HAS_GROUPS) {
        extern __shared__ uint4 shared[];
        let_next_start();
        wait_for_previous();
        const layer_block<A> block(p, reinterpret_cast<float *>(shared), int(blockIdx.x) % n_block);
        block.template take_tiles<n_block>(int(blockIdx.x) / n_block, int(gridDim.x) / n_block);
        if constexpr (n_block > 1) {
            clifford_mma::cluster_sync(); // no block leaves while the other may read its sums
        }
    }
#endif
}

template <typename A>
size_t layer_shared_bytes(int64_t n)
{
    return sizeof(float) * size_t(layer_shape<A>::all(n));
}

template <typename A, int n_block>
cudaError_t launch_layer(cudaStream_t stream, const layer_args &args)
{
    constexpr int most = n_multiprocessor / n_block;
    const dim3 grid(unsigned((args.n_tile < most ? args.n_tile : most) * n_block));
    return launch_early(layer_forward<A, n_block>, grid, layer_shape<A>::threads,
                        layer_shared_bytes<A>(args.product.n), stream, args);
}

template <typename A>
cudaError_t layer_pass(cudaStream_t stream, const layer_args &args)
{
    return args.product.n > layer_shape<A>::columns ? launch_layer<A, 2>(stream, args)
                                                    : launch_layer<A, 1>(stream, args);
}

} // namespace clifford

#endif
