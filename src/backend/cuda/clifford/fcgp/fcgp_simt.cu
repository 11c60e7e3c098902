// Stage clifford.fcgp for any algebra, path mask, shape, strides and type, without tensor cores.
//
// Three matrix products share one loop over tiles in shared memory:
//   product   o[k] (b, n)    = sum over pairs (p, k), m   q[p,k][b,m]  w[p][m,n]
//   weights   gw[p] (m, n)   = sum over pairs (p, k), b   q[p,k][b,m]  h[k][b,n]
//   data      gq[p,k] (b, m) = sum over n                 h[k][b,n]    w[p][m,n]
// The products q are formed when their tile is filled. gq never reaches memory: a block owns a tile
// of (b, m), goes through all pairs and adds each gq, times x and y, to the gradients of its tile.
//
// Sums are taken per tile and the tiles' sums added: a chain of additions is as long as the tile
// plus the number of tiles, which keeps f32 within 1e-6 for inner sizes of tens of thousands.

#include "backend/cuda/clifford/fcgp/fcgp.cuh"

namespace
{

using namespace clifford_fcgp;

struct tile {
    static constexpr int threads = 256;
    static constexpr int rows = 64;
    static constexpr int cols = 128;
    static constexpr int inner = 16;
    // A thread owns rows 4 * ty .. and columns 4 * tx .. and 64 + 4 * tx ..
    static constexpr int thread_rows = 4;
    static constexpr int thread_cols = 8;
    static constexpr int padding = 4;
    // Fewest rows of activations in a chunk of the weights' sum.
    static constexpr int64_t min_chunk = 256;
    static constexpr int64_t wanted_blocks = 264;
};

// What the kernels know; h, gated and s, r as far as a kernel needs them.
template <typename T>
struct operands {
    using A = math_of<T>;
    int64_t n_row, n_in, n_out;
    view<const T> x, y;
    weight_view<T> weight;
    const A *factor; // [n_row][n_in]: the product of both gates
    view<A> out;     // product's result
    const A *h;      // [component][n_row][n_out]: gradient of the product
    view<A> s, r;    // gradients of the gated inputs, without their gates; data may be NULL
    weight_view<T> grad_weight;
    A *partial; // [chunk][path][n_in][n_out], NULL: one chunk, straight to grad_weight
    int64_t chunk_rows;
};

template <typename A>
struct accumulator {
    A sum[tile::thread_rows][tile::thread_cols];
};

template <typename A>
__device__ __forceinline__ void clear(accumulator<A> &acc)
{
#pragma unroll
    for (int i = 0; i < tile::thread_rows; i++) {
#pragma unroll
        for (int j = 0; j < tile::thread_cols; j++) {
            acc.sum[i][j] = A(0);
        }
    }
}

template <typename A>
__device__ __forceinline__ void add(accumulator<A> &total, const accumulator<A> &part)
{
#pragma unroll
    for (int i = 0; i < tile::thread_rows; i++) {
#pragma unroll
        for (int j = 0; j < tile::thread_cols; j++) {
            total.sum[i][j] += part.sum[i][j];
        }
    }
}

template <typename A>
struct shared_tiles {
    alignas(16) A left[tile::inner][tile::rows + tile::padding];
    alignas(16) A right[tile::inner][tile::cols + tile::padding];
};

__device__ __forceinline__ int own_row(int i)
{
    return int(threadIdx.x) / 16 * tile::thread_rows + i;
}

__device__ __forceinline__ int own_col(int j)
{
    return j / 4 * 64 + int(threadIdx.x) % 16 * 4 + j % 4;
}

// acc += left^T right over the tile; the caller has synchronised.
template <typename A>
__device__ __forceinline__ void multiply_tile(const shared_tiles<A> &s, accumulator<A> &acc)
{
#pragma unroll 4
    for (int e = 0; e < tile::inner; e++) {
        A left[tile::thread_rows];
        A right[tile::thread_cols];
#pragma unroll
        for (int i = 0; i < tile::thread_rows; i++) {
            left[i] = s.left[e][own_row(i)];
        }
#pragma unroll
        for (int j = 0; j < tile::thread_cols; j++) {
            right[j] = s.right[e][own_col(j)];
        }
#pragma unroll
        for (int i = 0; i < tile::thread_rows; i++) {
#pragma unroll
            for (int j = 0; j < tile::thread_cols; j++) {
                acc.sum[i][j] = fma(left[i], right[j], acc.sum[i][j]);
            }
        }
    }
}

// q[p,k] at (b, m) without the gates.
template <typename T>
__device__ __forceinline__ math_of<T> raw_product(const operands<T> &o, const pair_table &t,
                                                  int pair, int64_t b, int64_t m)
{
    using A = math_of<T>;
    const T *x = o.x.data + b * o.x.stride[1] + m * o.x.stride[2];
    const T *y = o.y.data + b * o.y.stride[1] + m * o.y.stride[2];
    A q = A(0);
    for (int e = t.pair_first[pair]; e < t.pair_first[pair + 1]; e++) {
        const int term = t.terms[e];
        const A left = to_math(x[(term & 31) * o.x.stride[0]]);
        const A right = to_math(y[(term >> 5 & 31) * o.y.stride[0]]);
        q = fma((term >> 10) != 0 ? -left : left, right, q);
    }
    return q;
}

// Fills right with w[p][m0 + e][n0 + col].
template <typename T>
__device__ __forceinline__ void fill_weight(const operands<T> &o, shared_tiles<math_of<T>> &s,
                                            int path, int64_t m0, int64_t n0)
{
#pragma unroll
    for (int i = 0; i < tile::inner * tile::cols / tile::threads; i++) {
        const int at = i * tile::threads + int(threadIdx.x);
        const int e = at / tile::cols;
        const int col = at % tile::cols;
        const bool inside = m0 + e < o.n_in && n0 + col < o.n_out;
        s.right[e][col] = inside ? o.weight.load(path, m0 + e, n0 + col) : math_of<T>(0);
    }
}

// o[k] for a tile of rows and columns; blockIdx.z is k.
template <typename T>
__global__ void __launch_bounds__(tile::threads, sizeof(math_of<T>) == 4 ? 2 : 1)
    product_kernel(const __grid_constant__ operands<T> o, const __grid_constant__ pair_table t)
{
    using A = math_of<T>;
    __shared__ shared_tiles<A> s;
    const int64_t b0 = int64_t(blockIdx.x) * tile::rows;
    const int64_t n0 = int64_t(blockIdx.y) * tile::cols;
    const int k = int(blockIdx.z);
    constexpr int n_left = tile::inner * tile::rows / tile::threads;
    const int e = int(threadIdx.x) % tile::inner;
    accumulator<A> total;
    clear(total);
    for (int64_t m0 = 0; m0 < o.n_in; m0 += tile::inner) {
        const int64_t m = m0 + e;
        accumulator<A> acc;
        clear(acc);
        A factor[n_left];
#pragma unroll
        for (int i = 0; i < n_left; i++) {
            const int64_t b = b0 + int(threadIdx.x) / tile::inner + i * 16;
            factor[i] = b < o.n_row && m < o.n_in ? o.factor[b * o.n_in + m] : A(0);
        }
        for (int pair = t.group_first[k]; pair < t.group_first[k + 1]; pair++) {
            __syncthreads();
#pragma unroll
            for (int i = 0; i < n_left; i++) {
                const int row = int(threadIdx.x) / tile::inner + i * 16;
                const int64_t b = b0 + row;
                const bool inside = b < o.n_row && m < o.n_in;
                s.left[e][row] = inside ? factor[i] * raw_product(o, t, pair, b, m) : A(0);
            }
            fill_weight(o, s, t.path[pair], m0, n0);
            __syncthreads();
            multiply_tile(s, acc);
        }
        add(total, acc);
    }
#pragma unroll
    for (int i = 0; i < tile::thread_rows; i++) {
#pragma unroll
        for (int j = 0; j < tile::thread_cols; j++) {
            const int64_t b = b0 + own_row(i);
            const int64_t n = n0 + own_col(j);
            if (b < o.n_row && n < o.n_out) {
                o.out.at(k, b, n) = total.sum[i][j];
            }
        }
    }
}

// gw[p] for a tile of (m, n) and a chunk of rows; blockIdx.z is chunk * n_path + p.
template <typename T>
__global__ void __launch_bounds__(tile::threads, sizeof(math_of<T>) == 4 ? 2 : 1)
    weights_kernel(const __grid_constant__ operands<T> o, const __grid_constant__ pair_table t,
                   int n_path)
{
    using A = math_of<T>;
    __shared__ shared_tiles<A> s;
    const int64_t m0 = int64_t(blockIdx.x) * tile::rows;
    const int64_t n0 = int64_t(blockIdx.y) * tile::cols;
    const int p = int(blockIdx.z) % n_path;
    const int64_t chunk = int(blockIdx.z) / n_path;
    const int64_t end = min(o.n_row, (chunk + 1) * o.chunk_rows);
    accumulator<A> total;
    clear(total);
    for (int64_t b0 = chunk * o.chunk_rows; b0 < end; b0 += tile::inner) {
        accumulator<A> acc;
        clear(acc);
        for (int pair = t.group_first[p]; pair < t.group_first[p + 1]; pair++) {
            const A *h = o.h + t.component[pair] * o.n_row * o.n_out;
            __syncthreads();
#pragma unroll
            for (int i = 0; i < tile::inner * tile::rows / tile::threads; i++) {
                const int at = i * tile::threads + int(threadIdx.x);
                const int64_t b = b0 + at / tile::rows;
                const int64_t m = m0 + at % tile::rows;
                const bool inside = b < end && m < o.n_in;
                s.left[at / tile::rows][at % tile::rows] =
                    inside ? o.factor[b * o.n_in + m] * raw_product(o, t, pair, b, m) : A(0);
            }
#pragma unroll
            for (int i = 0; i < tile::inner * tile::cols / tile::threads; i++) {
                const int at = i * tile::threads + int(threadIdx.x);
                const int64_t b = b0 + at / tile::cols;
                const int64_t n = n0 + at % tile::cols;
                s.right[at / tile::cols][at % tile::cols] =
                    b < end && n < o.n_out ? h[b * o.n_out + n] : A(0);
            }
            __syncthreads();
            multiply_tile(s, acc);
        }
        add(total, acc);
    }
#pragma unroll
    for (int i = 0; i < tile::thread_rows; i++) {
#pragma unroll
        for (int j = 0; j < tile::thread_cols; j++) {
            const int64_t m = m0 + own_row(i);
            const int64_t n = n0 + own_col(j);
            if (m >= o.n_in || n >= o.n_out) {
                continue;
            }
            if (o.partial != nullptr) {
                o.partial[(int64_t(blockIdx.z) * o.n_in + m) * o.n_out + n] = total.sum[i][j];
            } else {
                o.grad_weight.store(p, m, n, total.sum[i][j]);
            }
        }
    }
}

// Adds the chunks' sums in their order.
template <typename T>
__global__ void __launch_bounds__(tile::threads, sizeof(math_of<T>) == 4 ? 2 : 1)
    reduce_kernel(const __grid_constant__ operands<T> o, int n_path, int n_chunk)
{
    using A = math_of<T>;
    const int64_t n_item = int64_t(n_path) * o.n_in * o.n_out;
    const int64_t step = int64_t(gridDim.x) * tile::threads;
    for (int64_t i = int64_t(blockIdx.x) * tile::threads + threadIdx.x; i < n_item; i += step) {
        A sum = o.partial[i];
        for (int chunk = 1; chunk < n_chunk; chunk++) {
            sum += o.partial[chunk * n_item + i];
        }
        const int64_t row = i / o.n_out;
        o.grad_weight.store(row / o.n_in, row % o.n_in, i - row * o.n_out, sum);
    }
}

// gq[p,k] of the block's tile of (b, m).
template <typename T>
__device__ __forceinline__ void gradient_of_pair(const operands<T> &o, shared_tiles<math_of<T>> &s,
                                                 int path, int component, int64_t b0, int64_t m0,
                                                 accumulator<math_of<T>> &total)
{
    using A = math_of<T>;
    const A *h = o.h + component * o.n_row * o.n_out;
    const int e = int(threadIdx.x) % tile::inner;
    const int first = int(threadIdx.x) / tile::inner;
    clear(total);
    for (int64_t n0 = 0; n0 < o.n_out; n0 += tile::inner) {
        const int64_t n = n0 + e;
        __syncthreads();
#pragma unroll
        for (int row = first; row < tile::rows; row += 16) {
            const bool inside = b0 + row < o.n_row && n < o.n_out;
            s.left[e][row] = inside ? h[(b0 + row) * o.n_out + n] : A(0);
        }
#pragma unroll
        for (int col = first; col < tile::cols; col += 16) {
            const bool inside = m0 + col < o.n_in && n < o.n_out;
            s.right[e][col] = inside ? o.weight.load(path, m0 + col, n) : A(0);
        }
        __syncthreads();
        accumulator<A> acc;
        clear(acc);
        multiply_tile(s, acc);
        add(total, acc);
    }
}

// sum[target] += +-gq source for one term and the columns of a row that a thread owns. The items of
// sum belong to this thread alone, so they may wait in memory. Everything is read before the first
// write: loads wait for memory together.
template <typename T>
__device__ __forceinline__ void add_term(const view<math_of<T>> &sum, const view<const T> &source,
                                         int to, int from, bool minus, int64_t b, int64_t m0,
                                         int64_t n_in, const math_of<T> (&gq)[tile::thread_cols])
{
    using A = math_of<T>;
    A before[tile::thread_cols];
    A factor[tile::thread_cols];
#pragma unroll
    for (int j = 0; j < tile::thread_cols; j++) {
        const int64_t m = m0 + own_col(j);
        before[j] = m < n_in ? sum.at(to, b, m) : A(0);
        factor[j] = m < n_in ? to_math(source.at(from, b, m)) : A(0);
    }
#pragma unroll
    for (int j = 0; j < tile::thread_cols; j++) {
        const int64_t m = m0 + own_col(j);
        if (m < n_in) {
            sum.at(to, b, m) = fma(minus ? -gq[j] : gq[j], factor[j], before[j]);
        }
    }
}

// s_i += +-gq y_j and r_j += +-gq x_i for the terms of a pair.
template <typename T>
__device__ __forceinline__ void contract(const operands<T> &o, const pair_table &t, int pair,
                                         int64_t b, int64_t m0,
                                         const math_of<T> (&gq)[tile::thread_cols])
{
    for (int e = t.pair_first[pair]; e < t.pair_first[pair + 1]; e++) {
        const int i = t.terms[e] & 31;
        const int j = t.terms[e] >> 5 & 31;
        const bool minus = (t.terms[e] >> 10) != 0;
        if (o.s.data != nullptr) {
            add_term<T>(o.s, o.y, i, j, minus, b, m0, o.n_in, gq);
        }
        if (o.r.data != nullptr) {
            add_term<T>(o.r, o.x, j, i, minus, b, m0, o.n_in, gq);
        }
    }
}

// Zero for the items of a row that a thread owns.
template <typename T>
__device__ __forceinline__ void clear_row(const operands<T> &o, int n_component, int64_t b,
                                          int64_t m0)
{
    for (int k = 0; k < n_component; k++) {
        for (int j = 0; j < tile::thread_cols; j++) {
            const int64_t m = m0 + own_col(j);
            if (m < o.n_in && o.s.data != nullptr) {
                o.s.at(k, b, m) = math_of<T>(0);
            }
            if (m < o.n_in && o.r.data != nullptr) {
                o.r.at(k, b, m) = math_of<T>(0);
            }
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(tile::threads, sizeof(math_of<T>) == 4 ? 2 : 1)
    data_kernel(const __grid_constant__ operands<T> o, const __grid_constant__ pair_table t,
                int n_component)
{
    using A = math_of<T>;
    __shared__ shared_tiles<A> s;
    const int64_t b0 = int64_t(blockIdx.x) * tile::rows;
    const int64_t m0 = int64_t(blockIdx.y) * tile::cols;
    for (int i = 0; i < tile::thread_rows; i++) {
        if (b0 + own_row(i) < o.n_row) {
            clear_row(o, n_component, b0 + own_row(i), m0);
        }
    }
    for (int pair = 0; pair < t.group_first[n_component]; pair++) {
        accumulator<A> gq;
        gradient_of_pair(o, s, t.path[pair], t.component[pair], b0, m0, gq);
#pragma unroll
        for (int i = 0; i < tile::thread_rows; i++) {
            if (b0 + own_row(i) < o.n_row) {
                contract(o, t, pair, b0 + own_row(i), m0, gq.sum[i]);
            }
        }
    }
}

// Chunks of rows of the weights' sum: enough blocks to fill a device, from the shape alone.
int64_t chunks_of(const tess_cl_problem &p)
{
    const int64_t tiles =
        blocks_of(p.n_in, tile::rows) * blocks_of(p.n_out, tile::cols) * p.algebra->n_path;
    const int64_t wanted = blocks_of(tile::wanted_blocks, tiles);
    const int64_t most = blocks_of(p.n_row, tile::min_chunk);
    return wanted < most ? wanted : most;
}

template <typename A>
struct scratch {
    A *factor, *product, *h, *s, *r, *partial;
    size_t bytes;
};

// grad_in_place: gradients of the inputs have the type they are summed in.
template <typename T>
scratch<math_of<T>> scratch_of(const tess_stage_clifford_fcgp &a)
{
    using A = math_of<T>;
    const tess_cl_problem &p = a.problem;
    const int64_t n_component = p.algebra->n_component;
    const int64_t out_items = n_component * p.n_row * p.n_out;
    const int64_t in_items = n_component * p.n_row * p.n_in;
    const bool forward = p.pass == TESS_CLIFFORD_FORWARD;
    constexpr bool converted = !std::is_same_v<T, A>;
    arena parts(p.scratch);
    scratch<A> s = {};
    s.factor = parts.take<A>(p.n_row * p.n_in);
    if (forward ? converted : needs_product(a)) {
        s.product = parts.take<A>(out_items);
    }
    if (!forward) {
        s.h = parts.take<A>(out_items);
        const int64_t n_chunk = chunks_of(p);
        if (converted) {
            s.s = parts.take<A>(in_items);
            s.r = parts.take<A>(in_items);
        }
        if (n_chunk > 1) {
            s.partial = parts.take<A>(n_chunk * p.algebra->n_path * p.n_in * p.n_out);
        }
    }
    s.bytes = parts.used();
    return s;
}

template <typename T>
operands<T> operands_of(const tess_stage_clifford_fcgp &a, const scratch<math_of<T>> &s)
{
    const tess_cl_problem &p = a.problem;
    operands<T> o = {};
    o.n_row = p.n_row;
    o.n_in = p.n_in;
    o.n_out = p.n_out;
    o.x = view_of<const T>(a.x);
    o.y = view_of<const T>(a.y);
    o.weight = weight_view_of<T>(a.weight, p.weight_dtype);
    o.factor = s.factor;
    o.h = s.h;
    return o;
}

template <typename T>
cudaError_t launch_product(cudaStream_t stream, const tess_cl_problem &p, operands<T> o,
                           view<math_of<T>> out)
{
    o.out = out;
    const dim3 grid(unsigned(blocks_of(p.n_row, tile::rows)),
                    unsigned(blocks_of(p.n_out, tile::cols)), unsigned(p.algebra->n_component));
    product_kernel<T><<<grid, tile::threads, 0, stream>>>(o, table_of(p, by_component));
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_weights(cudaStream_t stream, const tess_stage_clifford_fcgp &a, operands<T> o,
                           math_of<T> *partial)
{
    const tess_cl_problem &p = a.problem;
    const int n_path = p.algebra->n_path;
    const int64_t n_chunk = chunks_of(p);
    o.partial = partial;
    o.chunk_rows = blocks_of(blocks_of(p.n_row, n_chunk), tile::inner) * tile::inner;
    o.grad_weight = weight_view_of<T>(a.grad_weight, p.weight_dtype);
    const dim3 grid(unsigned(blocks_of(p.n_in, tile::rows)),
                    unsigned(blocks_of(p.n_out, tile::cols)), unsigned(n_chunk * n_path));
    weights_kernel<T><<<grid, tile::threads, 0, stream>>>(o, table_of(p, by_path), n_path);
    if (partial != nullptr) {
        const int64_t needed = blocks_of(n_path * p.n_in * p.n_out, tile::threads);
        reduce_kernel<T><<<unsigned(needed < 4224 ? needed : 4224), tile::threads, 0, stream>>>(
            o, n_path, int(n_chunk));
    }
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_data(cudaStream_t stream, const tess_stage_clifford_fcgp &a, operands<T> o,
                        const scratch<math_of<T>> &s)
{
    using A = math_of<T>;
    const tess_cl_problem &p = a.problem;
    const view<T> grad_x = view_of<T>(a.grad_x);
    const view<T> grad_y = view_of<T>(a.grad_y);
    if constexpr (std::is_same_v<T, A>) {
        o.s = grad_x;
        o.r = grad_y;
    } else {
        o.s = contiguous(grad_x.data == nullptr ? nullptr : s.s, p.n_row, p.n_in);
        o.r = contiguous(grad_y.data == nullptr ? nullptr : s.r, p.n_row, p.n_in);
    }
    const dim3 grid(unsigned(blocks_of(p.n_row, tile::rows)),
                    unsigned(blocks_of(p.n_in, tile::cols)));
    const int n_component = p.algebra->n_component;
    data_kernel<T><<<grid, tile::threads, 0, stream>>>(o, table_of(p, by_component), n_component);
    return gate_gradients<T>(stream, p, o.x, o.y, o.s, o.r, grad_x, grad_y);
}

template <typename T>
cudaError_t launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a)
{
    using A = math_of<T>;
    const tess_cl_problem &p = a.problem;
    const scratch<A> s = scratch_of<T>(a);
    const operands<T> o = operands_of<T>(a, s);
    A *const statistics = static_cast<A *>(a.statistics);
    cudaError_t error = gate_factors<T>(stream, p, o.x, o.y, s.factor);
    if (p.pass == TESS_CLIFFORD_FORWARD) {
        const view<T> out = view_of<T>(a.out);
        view<A> product = contiguous(s.product, p.n_row, p.n_out);
        if constexpr (std::is_same_v<T, A>) {
            product = out;
        }
        error = error != cudaSuccess ? error : launch_product<T>(stream, p, o, product);
        return error != cudaSuccess ? error : norm_rows<T>(stream, p, product, out, statistics);
    }
    const view<A> product = contiguous(s.product, p.n_row, p.n_out);
    if (s.product != nullptr) {
        error = error != cudaSuccess ? error : launch_product<T>(stream, p, o, product);
    }
    error = error != cudaSuccess
                ? error
                : norm_gradients<T>(stream, p, view_of<const T>(a.grad_out), product,
                                    view_of<const T>(a.saved_out), statistics, s.h);
    if (error == cudaSuccess && a.grad_weight.data != nullptr) {
        error = launch_weights<T>(stream, a, o, s.partial);
    }
    if (error == cudaSuccess && (a.grad_x.data != nullptr || a.grad_y.data != nullptr)) {
        error = launch_data<T>(stream, a, o, s);
    }
    return error;
}

} // namespace

size_t clifford_fcgp::simt_scratch_bytes(const tess_stage_clifford_fcgp &a)
{
    tess_stage_clifford_fcgp counted = a;
    counted.problem.scratch = nullptr;
    switch (a.problem.dtype) {
    case TESS_F64:
        return scratch_of<double>(counted).bytes;
    case TESS_F32:
        return scratch_of<float>(counted).bytes;
    default:
        return scratch_of<__half>(counted).bytes;
    }
}

cudaError_t clifford_fcgp::simt_launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a)
{
    switch (a.problem.dtype) {
    case TESS_F64:
        return launch<double>(stream, a);
    case TESS_F32:
        return launch<float>(stream, a);
    case TESS_BF16:
        return launch<__nv_bfloat16>(stream, a);
    default:
        return launch<__half>(stream, a);
    }
}
