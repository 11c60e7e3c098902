// Stage clifford.fcgp on tensor cores: gradients of the inputs.
//
// gq[p,k] (b, m) = sum over n of h[k] w[p]^T lives in registers only. A block of 8 warps has 64
// rows and 32 features in; a warp has 16 by 16 of them. Not all pairs fit into registers at a time,
// so the block makes a pass over n per group of output grades, and after each adds gq times x and y
// to the sums s and r of its items, which wait in shared memory, every thread's its own.

#include "backend/cuda/clifford_fcgp_mma.cuh"

namespace
{

using namespace clifford_fcgp;

// Steps of a stage.
constexpr int stage_steps = 2;

// Bytes of a step of a pass.
template <typename A>
__host__ __device__ constexpr int gradient_bytes(int pass)
{
    return components_before<A>(pass, A::n_component) * 4 * quad_bytes;
}

template <typename A>
__host__ __device__ constexpr int weight_bytes(int pass)
{
    return paths_before<A>(pass, A::n_path) * 2 * quad_bytes;
}

template <typename A>
__host__ __device__ constexpr int largest_step()
{
    int most = 0;
    for (int pass = 0; pass < A::n_pass; pass++) {
        const int bytes = gradient_bytes<A>(pass) + weight_bytes<A>(pass);
        most = bytes > most ? bytes : most;
    }
    return most;
}

template <typename A>
struct shape {
    static constexpr int n_stage = 3;
    static constexpr int stage_bytes = stage_steps * largest_step<A>();
    static constexpr int n_place = 4; // pairs of neighbouring features that a thread has
    static constexpr int sums_bytes = 2 * A::n_component * n_place * multiply_threads * 8;
    static constexpr int shared_bytes = ring_bytes + n_stage * stage_bytes + sums_bytes;
};

template <typename T>
struct task {
    extents e;
    packed data;
    view<const T> x, y;
    view<T> grad_x, grad_y;
    bool paired; // two neighbours of every view may be moved at a time
    int activation;
};

// Brings steps of n that lie one behind the other: all of them, or one of the two that the blocks
// of a cluster share.
__device__ __forceinline__ void fill_shared(uint32_t to, const char *from, int bytes, int n,
                                            int rank, int n_rank, uint32_t mates, uint32_t barrier)
{
    if (n_rank == 1) {
        copy_bulk(to, from, uint32_t(n * bytes), barrier);
    } else if (rank < n) {
        copy_bulk_to(to + rank * bytes, from + rank * bytes, uint32_t(bytes), barrier, mates);
    }
}

// By one thread: its part of what iteration `at` of all passes reads. Blocks behind the last rows
// or features bring the last ones.
template <typename A, typename T>
__device__ __forceinline__ void fill(const task<T> &t, const ring<shape<A>::n_stage> &stages,
                                     uint32_t shared, const placement &p, int per_pass, int at)
{
    using S = shape<A>;
    const int step = at % per_pass * stage_steps;
    const int n = min(stage_steps, t.e.out_steps - step);
    const uint32_t barrier = stages.full(at % S::n_stage);
    const uint32_t to = shared + ring_bytes + uint32_t(at % S::n_stage * S::stage_bytes);
    const int64_t rows = min(p.rows, t.e.row_blocks - 1);
    const int64_t col = min(p.col, int64_t(t.e.in_blocks - 1));
    stages.wait_empty(at);
    unrolled<A::n_pass>([&](auto number) {
        constexpr int pass = decltype(number)::value;
        constexpr int gradient = gradient_bytes<A>(pass);
        constexpr int weight = weight_bytes<A>(pass);
        constexpr int first = first_component<A>(pass);
        constexpr int slot = first_slot<A>(pass);
        if (at / per_pass == pass) {
            barrier_expect(barrier, uint32_t(n * (gradient + weight)));
            const char *gradients =
                reinterpret_cast<const char *>(t.data.gradients) +
                (rows * A::n_component + first) * t.e.out_steps * 4 * quad_bytes +
                int64_t(step) * gradient;
            const char *weights = reinterpret_cast<const char *>(t.data.transposed) +
                                  (col * A::n_path + slot) * t.e.out_steps * 2 * quad_bytes +
                                  int64_t(step) * weight;
            fill_shared(to, gradients, gradient, n, p.col_rank, t.e.data_cluster[1], p.row_mates,
                        barrier);
            fill_shared(to + stage_steps * gradient, weights, weight, n, p.row_rank,
                        t.e.data_cluster[0], p.col_mates, barrier);
        }
    });
}

template <typename A, int pass>
using sums = float[pairs_before<A>(pass, A::n_pair)][2][4];

// One step of 16 features out.
template <typename A, int pass>
__device__ __forceinline__ void multiply_step(uint32_t gradients, uint32_t weights,
                                              sums<A, pass> &acc)
{
    constexpr int n_component = components_before<A>(pass, A::n_component);
    uint32_t h[n_component][4];
#pragma unroll
    for (int k = 0; k < n_component; k++) {
        load_matrix_x4(h[k], gradients + k * quad_bytes);
    }
    unrolled<A::n_path>([&](auto path) {
        constexpr int p = decltype(path)::value;
        if constexpr (pass_of_path<A>(p) == pass) {
            constexpr int slot = paths_before<A>(pass, p);
            uint32_t w[4];
            load_matrix_x4(w, weights + slot * 2 * quad_bytes);
            unrolled<A::n_pair>([&](auto index) {
                constexpr pair one = A::pairs[decltype(index)::value];
                if constexpr (one.p == p) {
                    constexpr int own = pairs_before<A>(pass, decltype(index)::value);
                    constexpr int k = components_before<A>(pass, one.k);
                    multiply_16816<__half>(acc[own][0], h[k], w[0], w[1]);
                    multiply_16816<__half>(acc[own][1], h[k], w[2], w[3]);
                }
            });
        }
    });
}

// Where the items of a thread lie; place: as in the fragments, j * 2 + upper. Places outside read
// the first or last item instead and are not written.
struct position {
    int64_t b, m;
    bool first, second;
    __device__ __forceinline__ position(const extents &e, int64_t row0, int64_t in0, int place)
    {
        const int lane = int(threadIdx.x) % 32;
        b = row0 + lane / 4 + place % 2 * 8;
        m = in0 + place / 2 * 8 + lane % 4 * 2;
        first = b < e.n_row && m < e.n_in;
        second = b < e.n_row && m + 1 < e.n_in;
    }
};

// Two neighbouring features of all components. No branches between the loads: they wait together.
template <typename A, typename T>
__device__ __forceinline__ void load_two(float2 (&v)[A::n_component], const view<const T> &from,
                                         bool paired, const position &at)
{
    struct alignas(2 * sizeof(T)) two {
        T item[2];
    };
    const T *first = from.data + (at.first ? at.b * from.stride[1] + at.m * from.stride[2] : 0);
    if (paired) {
        two both[A::n_component];
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            both[k] = *reinterpret_cast<const two *>(first + k * from.stride[0]);
        }
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            v[k] = make_float2(to_math(both[k].item[0]), to_math(both[k].item[1]));
        }
        return;
    }
    const T *second = first + (at.second ? from.stride[2] : 0);
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        v[k] = make_float2(to_math(first[k * from.stride[0]]), to_math(second[k * from.stride[0]]));
    }
}

__device__ __forceinline__ float2 *sums_at(char *memory, int component, int place)
{
    return reinterpret_cast<float2 *>(memory) + (component * 4 + place) * multiply_threads +
           threadIdx.x;
}

// Adds what a pass has made to s and r.
template <typename A, int pass, typename T>
__device__ __forceinline__ void contract(const task<T> &t, char *memory, sums<A, pass> &acc,
                                         int64_t row0, int64_t in0)
{
    // Not unrolled, because code that runs once waits for its instructions; the sums of the next
    // place move to the front instead.
#pragma unroll 1
    for (int place = 0; place < shape<A>::n_place; place++) {
        const position at(t.e, row0, in0, place);
        float2 x[A::n_component];
        float2 y[A::n_component];
        float2 s[A::n_component];
        float2 r[A::n_component];
        load_two<A>(x, t.x, t.paired, at);
        load_two<A>(y, t.y, t.paired, at);
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            s[k] = pass == 0 ? make_float2(0, 0) : *sums_at(memory, k, place);
            r[k] = pass == 0 ? make_float2(0, 0) : *sums_at(memory, A::n_component + k, place);
        }
        const unscale factors =
            unscale_by(weight_exponent(t.data) + t.data.gradient_exponent[at.first ? at.b : 0]);
        unrolled<A::n_pair>([&](auto index) {
            constexpr pair one = A::pairs[decltype(index)::value];
            if constexpr (pass_of_path<A>(one.p) == pass) {
                constexpr int own = pairs_before<A>(pass, decltype(index)::value);
                const float g0 = acc[own][0][0] * factors;
                const float g1 = acc[own][0][1] * factors;
                unrolled<3>([&](auto which) {
                    constexpr term one_term = one.terms[decltype(which)::value];
                    if constexpr (one_term.sign != 0) {
                        constexpr int i = one_term.i;
                        constexpr int j = one_term.j;
                        const float v0 = one_term.sign > 0 ? g0 : -g0;
                        const float v1 = one_term.sign > 0 ? g1 : -g1;
                        s[i] = make_float2(fmaf(v0, y[j].x, s[i].x), fmaf(v1, y[j].y, s[i].y));
                        r[j] = make_float2(fmaf(v0, x[i].x, r[j].x), fmaf(v1, x[i].y, r[j].y));
                    }
                });
            }
        });
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            *sums_at(memory, k, place) = s[k];
            *sums_at(memory, A::n_component + k, place) = r[k];
        }
#pragma unroll
        for (int i = 0; i < pairs_before<A>(pass, A::n_pair); i++) {
            float *const flat = &acc[i][0][0];
#pragma unroll
            for (int j = 0; j < 6; j++) {
                flat[j] = flat[j + 2];
            }
        }
    }
}

// Asks the cache for the block's items of x and y, which it needs at the end of every pass.
template <typename A, typename T>
__device__ __forceinline__ void prefetch_inputs(const task<T> &t, int64_t row0, int64_t in0)
{
    for (int i = int(threadIdx.x); i < 2 * A::n_component * row_block; i += multiply_threads) {
        const int64_t b = row0 + i % row_block;
        const int k = i / row_block % A::n_component;
        const view<const T> &from = i / row_block < A::n_component ? t.x : t.y;
        if (b < t.e.n_row && in0 < t.e.n_in) {
            prefetch(&from.at(k, b, in0));
        }
    }
}

template <typename A, int pass, typename T>
__device__ __forceinline__ void run_pass(const task<T> &t, const ring<shape<A>::n_stage> &stages,
                                         uint32_t shared, char *memory, const placement &place)
{
    using S = shape<A>;
    constexpr int n_component = components_before<A>(pass, A::n_component);
    constexpr int gradient = gradient_bytes<A>(pass);
    constexpr int weight = weight_bytes<A>(pass);
    const int lane = int(threadIdx.x) % 32;
    const int warp = int(threadIdx.x) / 32;
    const int per_pass = (t.e.out_steps + stage_steps - 1) / stage_steps;
    const uint32_t gradients = uint32_t(warp % 4 * n_component * quad_bytes + lane * 16);
    const uint32_t weights = uint32_t(stage_steps * gradient + warp / 4 * quad_bytes + lane * 16);
    sums<A, pass> acc = {};
    for (int i = 0; i < per_pass; i++) {
        const int at = pass * per_pass + i;
        if (threadIdx.x == 0 && at + S::n_stage - 1 < A::n_pass * per_pass) {
            fill<A>(t, stages, shared, place, per_pass, at + S::n_stage - 1);
        }
        __syncwarp();
        stages.wait_full(at);
        const uint32_t stage = shared + ring_bytes + uint32_t(at % S::n_stage * S::stage_bytes);
        multiply_step<A, pass>(stage + gradients, stage + weights, acc);
        if (i * stage_steps + 1 < t.e.out_steps) {
            multiply_step<A, pass>(stage + gradient + gradients, stage + weight + weights, acc);
        }
        stages.release(at);
    }
    contract<A, pass>(t, memory, acc, place.rows * row_block + warp % 4 * 16,
                      place.col * in_block + warp / 4 * 16);
}

// grad = f(own) f(other) s, and in component 0 what comes through the gate.
template <typename A, typename T>
__device__ __forceinline__ void write_two(const view<T> &grad, const float2 (&own)[A::n_component],
                                          const float2 (&s)[A::n_component],
                                          const gate<float> (&own_gate)[2], const float (&other)[2],
                                          bool paired, const position &at)
{
    struct alignas(2 * sizeof(T)) two {
        T item[2];
    };
    float2 dot = make_float2(0, 0);
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        dot = make_float2(fmaf(own[k].x, s[k].x, dot.x), fmaf(own[k].y, s[k].y, dot.y));
    }
    const float factor[2] = {own_gate[0].value * other[0], own_gate[1].value * other[1]};
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        float first = factor[0] * s[k].x;
        float second = factor[1] * s[k].y;
        if (k == 0) {
            first = fmaf(own_gate[0].slope * other[0], dot.x, first);
            second = fmaf(own_gate[1].slope * other[1], dot.y, second);
        }
        T *to = &grad.at(k, at.b, at.m);
        if (paired) {
            *reinterpret_cast<two *>(to) = {{from_math<T>(first), from_math<T>(second)}};
        } else {
            *to = from_math<T>(first);
            if (at.second) {
                to[grad.stride[2]] = from_math<T>(second);
            }
        }
    }
}

template <typename A, typename T>
__device__ __forceinline__ void write_gradients(const task<T> &t, char *memory, int64_t row0,
                                                int64_t in0)
{
    // Not unrolled: gates are long, and nothing is in registers any more.
#pragma unroll 1
    for (int place = 0; place < shape<A>::n_place; place++) {
        const position at(t.e, row0, in0, place);
        if (!at.first) {
            continue;
        }
        float2 x[A::n_component];
        float2 y[A::n_component];
        float2 s[A::n_component];
        float2 r[A::n_component];
        load_two<A>(x, t.x, t.paired, at);
        load_two<A>(y, t.y, t.paired, at);
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            s[k] = *sums_at(memory, k, place);
            r[k] = *sums_at(memory, A::n_component + k, place);
        }
        const gate<float> of_x[2] = {gate_of(t.activation, x[0].x), gate_of(t.activation, x[0].y)};
        const gate<float> of_y[2] = {gate_of(t.activation, y[0].x), gate_of(t.activation, y[0].y)};
        const float factor_x[2] = {of_x[0].value, of_x[1].value};
        const float factor_y[2] = {of_y[0].value, of_y[1].value};
        if (t.grad_x.data != nullptr) {
            write_two<A>(t.grad_x, x, s, of_x, factor_y, t.paired, at);
        }
        if (t.grad_y.data != nullptr) {
            write_two<A>(t.grad_y, y, r, of_y, factor_x, t.paired, at);
        }
    }
}

template <typename A, typename T>
__global__ void __launch_bounds__(multiply_threads, 1)
    data_kernel(const __grid_constant__ task<T> t)
{
    using S = shape<A>;
    extern __shared__ uint4 memory[];
    const uint32_t shared = shared_address(memory);
    char *const own_sums =
        reinterpret_cast<char *>(memory) + ring_bytes + S::n_stage * S::stage_bytes;
    const placement place = placement_of(t.e.data_cluster[0], t.e.data_cluster[1], t.e.in_blocks);
    const int warp = int(threadIdx.x) / 32;
    const int per_pass = (t.e.out_steps + stage_steps - 1) / stage_steps;
    prefetch_inputs<A>(t, place.rows * row_block, place.col * in_block);
    ring<S::n_stage> stages;
    stages.init(shared, place.row_mates | place.col_mates);
    if (threadIdx.x == 0) {
        for (int at = 0; at < S::n_stage - 1 && at < A::n_pass * per_pass; at++) {
            fill<A>(t, stages, shared, place, per_pass, at);
        }
    }
    __syncwarp();
    unrolled<A::n_pass>([&](auto number) {
        run_pass<A, decltype(number)::value>(t, stages, shared, own_sums, place);
    });
    write_gradients<A>(t, own_sums, place.rows * row_block + warp % 4 * 16,
                       place.col * in_block + warp / 4 * 16);
    cluster_sync(); // nobody leaves while others still send or arrive here
}

} // namespace

namespace clifford_fcgp
{

template <typename A, typename T>
cudaError_t multiply_data(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                          const packed &data)
{
    using S = shape<A>;
    const cudaError_t error = cudaFuncSetAttribute(
        data_kernel<A, T>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    task<T> t = {e,
                 data,
                 view_of<const T>(a.x),
                 view_of<const T>(a.y),
                 view_of<T>(a.grad_x),
                 view_of<T>(a.grad_y),
                 false,
                 a.problem.activation};
    t.paired = is_vector(t.x, 2, e.n_in) && is_vector(t.y, 2, e.n_in) &&
               (t.grad_x.data == nullptr || is_vector(t.grad_x, 2, e.n_in)) &&
               (t.grad_y.data == nullptr || is_vector(t.grad_y, 2, e.n_in));
    const int64_t clusters =
        blocks_of(e.row_blocks, t.e.data_cluster[0]) * blocks_of(e.in_blocks, t.e.data_cluster[1]);
    const int size = t.e.data_cluster[0] * t.e.data_cluster[1];
    return launch_cluster(stream, data_kernel<A, T>, t, size, dim3(unsigned(clusters * size)),
                          S::shared_bytes);
}

#define INSTANTIATE(A, T)                                                                          \
    template cudaError_t multiply_data<A, T>(cudaStream_t, const tess_stage_clifford_fcgp &,       \
                                             const extents &, const packed &);
INSTANTIATE(cl20, float)
INSTANTIATE(cl20, __half)
INSTANTIATE(cl20, __nv_bfloat16)
INSTANTIATE(cl30, float)
INSTANTIATE(cl30, __half)
INSTANTIATE(cl30, __nv_bfloat16)

} // namespace clifford_fcgp
