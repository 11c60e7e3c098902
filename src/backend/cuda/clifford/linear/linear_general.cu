// Stage clifford.linear for every type, stride and size: tiles of a batched matrix product, one
// multiply-add after the other.
//
// The forward pass and grad_x are C[k] = A[k] B[grade of k]; grad_weight is a sum over rows, cut
// into fixed chunks whose results are added up in order. What belongs to a row is a sum over
// features in an order that no other row enters.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/linear/linear_bias.cuh"

#include <algorithm>
#include <cstring>

namespace
{

using clifford::compute_of;
using clifford::narrow;
using clifford::widen;
using clifford::with_types;

// Threads are 16 x 16; each has two groups of four rows and one of four columns.
constexpr int threads = 256;
constexpr int tile_i = 128;
constexpr int tile_j = 64;
constexpr int64_t chunk_least_rows = 256;
constexpr int64_t chunked_blocks = 512; // enough to fill a large device about twice

// C[z][i][j] = sum_l A[z][i][l] B[z or grade of z][l][j] (+ bias[j], + C). With chunks, z is
// component * n_chunk + chunk, and the sum is over the chunk's part of l.
struct product_args {
    const void *a, *b, *bias;
    void *c;
    int64_t stride_a[3], stride_b[3], stride_c[3]; // (z, i, l), (z, l, j), (z, i, j)
    int64_t stride_bias;
    int64_t n_i, n_j, n_l;
    int64_t n_chunk, chunk;
    int32_t n_component;
    int32_t by_grade; // B is per grade
    int32_t bias_all; // else component 0 alone
    int32_t add;      // to what C holds
    int32_t vector_c; // four items of C can be stored at once
    uint8_t grade[TESS_CLIFFORD_MAX_COMPONENTS];
};

// Inner length of a tile: with f64, two tiles of both operands fill the static shared memory.
template <typename C>
constexpr int tile_l = sizeof(C) == 8 ? 8 : 16;

// Four items of shared memory at once.
template <typename C>
struct alignas(sizeof(C) == 8 ? 16 : 4 * sizeof(C)) quad {
    C item[4];
};

// One operand's part of a tile: `outer` rows by tile_l, kept as [l][outer]. Threads follow the axis
// that lies dense in memory.
template <typename T, typename C, int outer>
class tile_loader
{
  public:
    static constexpr int depth = tile_l<C>;
    static constexpr int pitch = outer + 4;
    static constexpr int count = outer * depth / threads;

    __device__ tile_loader(const T *data, int64_t stride_outer, int64_t stride_l, int64_t first,
                           int64_t n_outer, int64_t l_begin, int64_t l_end)
        : n_outer_(n_outer - first), l_end_(l_end), stride_outer_(stride_outer), stride_l_(stride_l)
    {
        const bool along_l = stride_l == 1 || stride_outer != 1;
        const int t = int(threadIdx.x);
        outer_ = along_l ? t / depth : t % outer;
        l_ = along_l ? t % depth : t / outer;
        step_outer_ = along_l ? threads / depth : 0;
        step_l_ = along_l ? 0 : threads / outer;
        next_l_ = l_begin;
        data_ = data + first * stride_outer;
    }

    // Takes the next tile into registers: the loads run while the one before is used.
    __device__ void fetch()
    {
#pragma unroll
        for (int n = 0; n < count; n++) {
            const int o = outer_ + n * step_outer_;
            const int64_t l = next_l_ + l_ + n * step_l_;
            held_[n] =
                o < n_outer_ && l < l_end_ ? widen(data_[o * stride_outer_ + l * stride_l_]) : C(0);
        }
        next_l_ += depth;
    }

    __device__ void keep(C (*tile)[pitch]) const
    {
#pragma unroll
        for (int n = 0; n < count; n++) {
            tile[l_ + n * step_l_][outer_ + n * step_outer_] = held_[n];
        }
    }

  private:
    const T *data_;
    int64_t n_outer_, l_end_, next_l_, stride_outer_, stride_l_;
    int outer_, l_, step_outer_, step_l_;
    C held_[count];
};

template <typename C>
__device__ __forceinline__ void multiply_tile(const C (*a)[tile_i + 4], const C (*b)[tile_j + 4],
                                              C (&sum)[8][4], int ti, int tj)
{
#pragma unroll
    for (int l = 0; l < tile_l<C>; l++) {
        const quad<C> low = *reinterpret_cast<const quad<C> *>(&a[l][4 * ti]);
        const quad<C> high = *reinterpret_cast<const quad<C> *>(&a[l][tile_i / 2 + 4 * ti]);
        const quad<C> right = *reinterpret_cast<const quad<C> *>(&b[l][4 * tj]);
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                sum[i][j] = fma(low.item[i], right.item[j], sum[i][j]);
                sum[4 + i][j] = fma(high.item[i], right.item[j], sum[4 + i][j]);
            }
        }
    }
}

template <typename TC, typename TW, typename C>
__device__ __forceinline__ void store_row(const product_args &p, int component, TC *row, int64_t j,
                                          const C (&sum)[4])
{
    const bool biased = p.bias != nullptr && (p.bias_all || component == 0);
    const TW *bias = static_cast<const TW *>(p.bias);
    quad<TC> items;
#pragma unroll
    for (int n = 0; n < 4; n++) {
        if (j + n < p.n_j) {
            C value = sum[n];
            if (biased) {
                value += widen(bias[(j + n) * p.stride_bias]);
            }
            TC *place = row + (j + n) * p.stride_c[2];
            if (p.add) {
                value += widen(*place);
            }
            items.item[n] = narrow<TC>(value);
            if (!p.vector_c) {
                *place = items.item[n];
            }
        }
    }
    if (p.vector_c && j < p.n_j) {
        *reinterpret_cast<quad<TC> *>(row + j) = items;
    }
}

template <typename TA, typename TB, typename TC, typename TW>
__global__ void __launch_bounds__(threads, sizeof(TA) == 8 ? 1 : 2)
    product_kernel(const __grid_constant__ product_args p)
{
    using C = typename compute_of<TA>::type;
    constexpr int depth = tile_l<C>;
    // Sums of many f32 products lose bits: every 256 the sum so far is put aside.
    constexpr int tiles_per_sum = 256 / depth;
    __shared__ alignas(16) C tile_a[2][depth][tile_i + 4];
    __shared__ alignas(16) C tile_b[2][depth][tile_j + 4];

    const int64_t n_tile_j = (p.n_j - 1) / tile_j + 1;
    const int64_t n_tile_i = (p.n_i - 1) / tile_i + 1;
    const int64_t z = blockIdx.x / (n_tile_j * n_tile_i);
    const int64_t i0 = blockIdx.x / n_tile_j % n_tile_i * tile_i;
    const int64_t j0 = blockIdx.x % n_tile_j * tile_j;
    const int component = int(z / p.n_chunk);
    const int64_t l_begin = z % p.n_chunk * p.chunk;
    const int64_t l_end = min(l_begin + p.chunk, p.n_l);
    const int64_t z_b = p.by_grade ? p.grade[component] : component;

    tile_loader<TA, C, tile_i> load_a(static_cast<const TA *>(p.a) + component * p.stride_a[0],
                                      p.stride_a[1], p.stride_a[2], i0, p.n_i, l_begin, l_end);
    tile_loader<TB, C, tile_j> load_b(static_cast<const TB *>(p.b) + z_b * p.stride_b[0],
                                      p.stride_b[2], p.stride_b[1], j0, p.n_j, l_begin, l_end);
    const int ti = int(threadIdx.x) / 16;
    const int tj = int(threadIdx.x) % 16;
    const int n_tile = int((l_end - l_begin - 1) / depth + 1);
    C sum[8][4] = {};
    C whole[8][4] = {};

    load_a.fetch();
    load_b.fetch();
    for (int n = 0; n < n_tile; n++) {
        load_a.keep(tile_a[n & 1]);
        load_b.keep(tile_b[n & 1]);
        __syncthreads();
        if (n + 1 < n_tile) {
            load_a.fetch();
            load_b.fetch();
        }
        multiply_tile<C>(tile_a[n & 1], tile_b[n & 1], sum, ti, tj);
        if (sizeof(C) == 4 && (n + 1) % tiles_per_sum == 0) {
#pragma unroll
            for (int m = 0; m < 32; m++) {
                whole[m / 4][m % 4] += sum[m / 4][m % 4];
                sum[m / 4][m % 4] = C(0);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < 8; m++) {
        const int64_t i = i0 + (m / 4) * (tile_i / 2) + 4 * ti + m % 4;
        if (i < p.n_i) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                sum[m][j] += whole[m][j];
            }
            TC *row = static_cast<TC *>(p.c) + z * p.stride_c[0] + i * p.stride_c[1];
            store_row<TC, TW, C>(p, component, row, j0 + 4 * tj, sum[m]);
        }
    }
}

// grad_weight[g][m][n] = sum over the grade's components and their chunks, in order.
struct gather_args {
    const void *partial; // [component][chunk][m][n]
    void *weight;
    int64_t stride[3];
    int64_t n_m, n_n, n_chunk;
    int32_t n_component, n_grade;
    uint8_t grade[TESS_CLIFFORD_MAX_COMPONENTS];
    clifford_bias_sums bias;
};

// V neighbours per thread: 1, or 4 where rows of the weight are dense and aligned.
template <typename TW, typename C, int V>
__global__ void __launch_bounds__(threads) gather_kernel(const __grid_constant__ gather_args p)
{
    const int64_t item = (int64_t(blockIdx.x) * threads + threadIdx.x) * V;
    const int64_t n_item = p.n_m * p.n_n;
    const int grade = int(blockIdx.y);
    clifford::wait_for_previous();
    if (grade == p.n_grade) {
        clifford_bias::sum_chunks<TW>(p.bias, int64_t(blockIdx.x) * threads + threadIdx.x);
        return;
    }
    if (item >= n_item) {
        return;
    }
    const C *partial = static_cast<const C *>(p.partial) + item;
    C sum[V] = {};
    for (int k = 0; k < p.n_component; k++) {
        if (p.grade[k] == grade) {
#pragma unroll 4
            for (int64_t c = 0; c < p.n_chunk; c++) {
                C part[V];
                memcpy(part,
                       __builtin_assume_aligned(partial + (k * p.n_chunk + c) * n_item,
                                                V * sizeof(C) < 16 ? V * sizeof(C) : 16),
                       sizeof(part));
#pragma unroll
                for (int v = 0; v < V; v++) {
                    sum[v] += part[v];
                }
            }
        }
    }
    TW *to = static_cast<TW *>(p.weight) + grade * p.stride[0] + item / p.n_n * p.stride[1];
    if constexpr (V == 4) {
        quad<TW> four;
#pragma unroll
        for (int v = 0; v < V; v++) {
            four.item[v] = narrow<TW>(sum[v]);
        }
        *reinterpret_cast<quad<TW> *>(to + item % p.n_n) = four;
    } else {
        to[item % p.n_n * p.stride[2]] = narrow<TW>(sum[0]);
    }
}

struct chunks {
    int64_t count;
    int64_t length;
};

// How grad_weight cuts the rows: by the shape alone.
chunks chunks_of(const tess_cl_problem &p)
{
    const int64_t tiles =
        ((p.n_in - 1) / tile_i + 1) * ((p.n_out - 1) / tile_j + 1) * p.algebra->n_component;
    int64_t count = chunked_blocks / tiles;
    const int64_t most = (p.n_row - 1) / chunk_least_rows + 1;
    count = count > most ? most : count;
    count = count < 1 ? 1 : count;
    const int64_t length = ((p.n_row - 1) / count / 16 + 1) * 16;
    return {(p.n_row - 1) / length + 1, length};
}

template <typename TA, typename TB, typename TC, typename TW>
cudaError_t launch_product(cudaStream_t stream, const product_args &p)
{
    const int64_t blocks =
        ((p.n_i - 1) / tile_i + 1) * ((p.n_j - 1) / tile_j + 1) * p.n_component * p.n_chunk;
    if (blocks > INT32_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    product_kernel<TA, TB, TC, TW><<<unsigned(blocks), threads, 0, stream>>>(p);
    return cudaGetLastError();
}

void set_side(const void *&data, int64_t (&stride)[3], const tess_cl_view &view, bool swapped)
{
    data = view.data;
    stride[0] = view.stride[0];
    stride[1] = view.stride[swapped ? 2 : 1];
    stride[2] = view.stride[swapped ? 1 : 2];
}

product_args product_of(const tess_stage_clifford_linear &a)
{
    product_args p = {};
    p.n_component = a.problem.algebra->n_component;
    for (int k = 0; k < p.n_component; k++) {
        p.grade[k] = a.problem.algebra->grade[k];
    }
    p.n_chunk = 1;
    return p;
}

template <typename T, typename W>
cudaError_t launch_rows(cudaStream_t stream, const tess_stage_clifford_linear &a, bool forward)
{
    product_args p = product_of(a);
    const tess_cl_view &to = forward ? a.out : a.grad_x;
    set_side(p.a, p.stride_a, forward ? a.x : a.grad_out, false);
    set_side(p.b, p.stride_b, a.weight, !forward);
    p.c = to.data;
    for (int n = 0; n < 3; n++) {
        p.stride_c[n] = to.stride[n];
    }
    p.n_i = a.problem.n_row;
    p.n_j = forward ? a.problem.n_out : a.problem.n_in;
    p.n_l = forward ? a.problem.n_in : a.problem.n_out;
    p.chunk = p.n_l;
    p.by_grade = 1;
    p.add = !forward && a.add_to_grad_x;
    if (forward) {
        p.bias = a.bias.data;
        p.stride_bias = a.bias.stride[0];
        p.bias_all = a.problem.bias_mode == TESS_CLIFFORD_BIAS_ALL;
    }
    p.vector_c = to.stride[2] == 1 && p.n_j % 4 == 0 && to.stride[0] % 4 == 0 &&
                 to.stride[1] % 4 == 0 && reinterpret_cast<uintptr_t>(to.data) % 16 == 0;
    return launch_product<T, W, T, W>(stream, p);
}

template <typename T, typename W>
cudaError_t launch_weights(cudaStream_t stream, const tess_stage_clifford_linear &a)
{
    using C = typename compute_of<T>::type;
    const chunks cut = chunks_of(a.problem);
    product_args p = product_of(a);
    set_side(p.a, p.stride_a, a.x, true);
    set_side(p.b, p.stride_b, a.grad_out, false);
    p.c = a.problem.scratch;
    p.n_i = a.problem.n_in;
    p.n_j = a.problem.n_out;
    p.n_l = a.problem.n_row;
    p.n_chunk = cut.count;
    p.chunk = cut.length;
    p.stride_c[0] = p.n_i * p.n_j;
    p.stride_c[1] = p.n_j;
    p.stride_c[2] = 1;
    p.vector_c = p.n_j % 4 == 0;
    const cudaError_t error = launch_product<T, T, C, W>(stream, p);
    return error == cudaSuccess ? clifford_linear_gather(stream, a, p.c, cut.count, {}) : error;
}

size_t item_bytes(const tess_cl_problem &p)
{
    return p.dtype == TESS_F64 ? sizeof(double) : sizeof(float);
}

} // namespace

cudaError_t clifford_linear_gather(cudaStream_t stream, const tess_stage_clifford_linear &a,
                                   const void *partial, int64_t n_chunk,
                                   const clifford_bias_sums &bias)
{
    const tess_cl_problem &p = a.problem;
    gather_args g = {};
    g.partial = partial;
    g.weight = a.grad_weight.data;
    for (int n = 0; n < 3; n++) {
        g.stride[n] = a.grad_weight.stride[n];
    }
    g.n_m = p.n_in;
    g.n_n = p.n_out;
    g.n_chunk = n_chunk;
    g.n_component = p.algebra->n_component;
    g.n_grade = p.algebra->n_grade;
    g.bias = bias;
    for (int k = 0; k < g.n_component; k++) {
        g.grade[k] = p.algebra->grade[k];
    }
    const bool quads = g.stride[2] == 1 && g.n_n % 4 == 0 && g.stride[1] % 4 == 0 &&
                       g.stride[0] % 4 == 0 && reinterpret_cast<uintptr_t>(g.weight) % 16 == 0;
    const int64_t n_thread = g.n_m * g.n_n / (quads ? 4 : 1);
    int64_t n_block = (n_thread - 1) / threads + 1;
    if (bias.from != nullptr) {
        n_block = std::max(n_block, (bias.n_n - 1) / threads + 1);
    }
    const dim3 grid(unsigned(n_block), unsigned(g.n_grade + (bias.from != nullptr)));
    return with_types(p.dtype, p.weight_dtype, [&](auto t, auto w) {
        using C = typename compute_of<decltype(t)>::type;
        return clifford::launch_early(quads ? gather_kernel<decltype(w), C, 4>
                                            : gather_kernel<decltype(w), C, 1>,
                                      grid, threads, 0, stream, g);
    });
}

size_t clifford_linear_general_scratch(const tess_stage_clifford_linear &a)
{
    if (a.problem.pass == TESS_CLIFFORD_FORWARD) {
        return 0;
    }
    return size_t(chunks_of(a.problem).count) * size_t(a.problem.algebra->n_component) *
           size_t(a.problem.n_in) * size_t(a.problem.n_out) * item_bytes(a.problem);
}

cudaError_t clifford_linear_general(cudaStream_t stream, const tess_stage_clifford_linear &a)
{
    return with_types(a.problem.dtype, a.problem.weight_dtype, [&](auto t, auto w) {
        using T = decltype(t);
        using W = decltype(w);
        if (a.problem.pass == TESS_CLIFFORD_FORWARD) {
            return launch_rows<T, W>(stream, a, true);
        }
        cudaError_t error = cudaSuccess;
        if (a.grad_x.data != nullptr) {
            error = launch_rows<T, W>(stream, a, false);
        }
        if (error == cudaSuccess && a.grad_weight.data != nullptr) {
            error = launch_weights<T, W>(stream, a);
        }
        return error;
    });
}
