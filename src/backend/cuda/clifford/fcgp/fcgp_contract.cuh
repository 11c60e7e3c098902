// Pairs of a path and a component, for stage clifford.fcgp on tensor cores: from their gradients to
// those of x and y, and their products in the place of the gradients.
#ifndef TESS_CLIFFORD_FCGP_CONTRACT_CUH
#define TESS_CLIFFORD_FCGP_CONTRACT_CUH

#include "backend/cuda/clifford/fcgp/fcgp_strips.cuh"

namespace clifford
{

// Features of a thread: as many as leave its x and y, and their gradients, in registers.
template <typename A>
constexpr int contract_width = A::n_component <= 4    ? 4
                               : A::n_component <= 16 ? 2
                                                      : 1;

struct contract_task {
    fc_task rows;
    bool has_gradients;
};

// x or y, and their gates.
template <typename A, int V>
struct gated {
    features<V> f[A::n_component];
    gate<float> gates[V];
};

// The gates, and the largest components before and behind them.
template <typename A, int V>
__device__ __forceinline__ void measure(int32_t activation, gated<A, V> &one, uint32_t &plain,
                                        uint32_t &behind)
{
    gates_of(activation, one.f[0].at, one.gates);
    features<V> peaks = peaks_of(one.f);
    plain = largest_of(peaks, plain);
#pragma unroll
    for (int v = 0; v < V; v++) {
        // Rounding keeps order: the largest component gives the largest product. NaN becomes 0.
        const float product = peaks.at[v] * fabsf(one.gates[v].factor);
        peaks.at[v] = fminf(fmaxf(product, 0.0f), FLT_MAX);
    }
    behind = largest_of(peaks, behind);
}

// How a row's numbers are scaled. x and y are brought to the range of f16 before anything else, so
// that no sum of products leaves that of f32.
struct row_scales {
    int plain_x, plain_y; // exponents
    int left, right;      // behind the gates
    int gradient;         // what the pairs' gradients lack
};

// 2^exponent, the nearest there is.
__device__ __forceinline__ float nearest_power_of_two(int exponent)
{
    return clifford_mma::power_of_two(min(max(exponent, -126), 127));
}

// A thread's gradients of pairs, some of them on their way: memory is far.
template <typename A, int V>
struct pairs_ahead {
    static constexpr int most = V == 4 ? 4 : 8; // as registers allow
    static constexpr int depth = A::pairs() < most ? A::pairs() : most;
    pack<__half, V> items[depth];
    const __half *from;
    int64_t stride;
    bool is_read; // or zeros

    __device__ __forceinline__ pack<__half, V> load()
    {
        const pack<__half, V> item = is_read ? load_fresh<__half, V>(from) : zero_pack<__half, V>();
        from += stride; // hundreds of precomputed addresses would fill the registers
        return item;
    }
    __device__ __forceinline__ void start(const __half *first)
    {
        from = first;
#pragma unroll
        for (int i = 0; i < depth; i++) {
            items[i] = load();
        }
    }
    __device__ __forceinline__ pack<__half, V> take(int pair)
    {
        const pack<__half, V> item = items[pair % depth];
        if (pair + depth < A::pairs()) {
            items[pair % depth] = load();
        }
        return item;
    }
};

// The same from a slot, one strip after the other; `at`: this thread's place in the first.
template <typename A, int V>
struct pairs_in_slot {
    const row_slot &slot;
    uint32_t at;
    uint32_t strip_bytes;

    __device__ __forceinline__ pack<__half, V> take(int)
    {
        const pack<__half, V> item = slot.read<__half, V>(at, 0);
        at += strip_bytes;
        return item;
    }
};

// grad_i = f(own) f(other) s_i + [i = 0] f'(own) f(other) dot, all still to be multiplied with
// 2^exponent.
template <typename T, typename A, int V>
__device__ __forceinline__ void
store_gradient(const tess_cl_view &grad, const fc_task &task, int64_t row, int n0,
               const features<V> (&s)[A::n_component], const gated<A, V> &own,
               const gated<A, V> &other, const features<V> &dot, int exponent)
{
    if (grad.data == nullptr) {
        return;
    }
    const clifford_mma::unscale scales = clifford_mma::unscale_by(exponent);
    features<V> both, through_gate;
#pragma unroll
    for (int v = 0; v < V; v++) {
        const float factor = other.gates[v].factor * scales.first;
        both.at[v] = own.gates[v].factor * factor;
        through_gate.at[v] = own.gates[v].slope * factor * dot.at[v];
    }
    T *to = first_item<T>(grad, row, n0);
#pragma unroll
    for (int k = 0; k < A::n_component; k++, to += grad.stride[0]) {
        store_features(to, task.are_packs, grad.stride[2], n0, task.c.n_in,
                       (k == 0 ? fma(both, s[k], through_gate) : both * s[k]) * scales.second);
    }
}

// One thread's features: gradients of x and y from those of the pairs, and products.
template <typename A, typename T, int V, typename Pairs>
__device__ __forceinline__ void contract_features(const contract_task &task, int64_t row, int n0,
                                                  const row_scales &scales, gated<A, V> &x,
                                                  gated<A, V> &y, Pairs &pairs)
{
    using namespace clifford_mma;
    constexpr int D = A::n_component;
    const fc_chunk &c = task.rows.c;
    const int half = c.product_exponent / 2;
    const float left = nearest_power_of_two(half - scales.left + scales.plain_x - half_exponent);
    const float right = nearest_power_of_two(c.product_exponent - half - scales.right +
                                             scales.plain_y - half_exponent);
    features<V> factor;
#pragma unroll
    for (int v = 0; v < V; v++) {
        // Infinite only for features so small beside their row's that no product is a number.
        const float both = x.gates[v].factor * left * (y.gates[v].factor * right);
        factor.at[v] = both > FLT_MAX ? FLT_MAX : both;
    }
    features<V> gx[D];
    features<V> gy[D];
#pragma unroll
    for (int k = 0; k < D; k++) {
        x.f[k] = x.f[k] * scale_to_half(scales.plain_x);
        y.f[k] = y.f[k] * scale_to_half(scales.plain_y);
        gx[k] = {};
        gy[k] = {};
    }
    __half *to = c.pairs + row * c.in_pitch + n0;
    int pair = 0;
    A().exchange(
        x.f, y.f, gx, gy, [&] { return widen_pack(pairs.take(pair++)); },
        [&](features<V> q) {
            store_halves(to, q * factor);
            to += c.stride_pair;
        });
    if (!task.has_gradients) {
        return;
    }
    // Sum of x_i s_i, the same as that of y_j r_j.
    features<V> dot = x.f[0] * gx[0];
#pragma unroll
    for (int k = 1; k < D; k++) {
        dot = fma(x.f[k], gx[k], dot);
    }
    store_gradient<T>(c.grad_x, task.rows, row, n0, gx, x, y,
                      dot * power_of_two(scales.plain_x - half_exponent),
                      scales.gradient + scales.plain_y - half_exponent);
    store_gradient<T>(c.grad_y, task.rows, row, n0, gy, y, x,
                      dot * power_of_two(scales.plain_y - half_exponent),
                      scales.gradient + scales.plain_x - half_exponent);
}

// From the largest numbers of a row. is_told: writes what gradients of weights take.
__device__ __forceinline__ row_scales scales_of(const contract_task &task, const maxima<4> &most,
                                                int64_t row, bool is_told)
{
    const fc_chunk &c = task.rows.c;
    const int gradient = __ldcg(c.gradient_exponent + row);
    const int weight = task.has_gradients ? __ldcg(c.weight_exponent) : 0;
    const row_scales scales = {
        clifford_mma::exponent_of(most.at[0]), clifford_mma::exponent_of(most.at[1]),
        clifford_mma::exponent_of(most.at[2]), clifford_mma::exponent_of(most.at[3]),
        gradient + weight + c.sum_exponent};
    if (is_told) {
        c.left_exponent[row] = scales.left;
        c.right_exponent[row] = scales.right;
        atomicMax(c.common_exponent, fc_row_exponent(c, scales.left, scales.right, gradient));
    }
    return scales;
}

template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads,
                                  fc_resident<4 * A::n_component * contract_width<A>>)
    contract_kernel(const __grid_constant__ contract_task task)
{
#if TESS_CUDA_HAS_MATRIX
    constexpr int V = contract_width<A>;
    __shared__ maxima<4> partials[fc_max_threads / 32];
    const fc_chunk &c = task.rows.c;
    const row_group group(task.rows.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    const int64_t read_row = is_row ? row : 0;
    const int n = is_row ? c.n_in : 0;
    const int stride = group.lanes * V;
    const __half *const pairs = c.pairs + read_row * c.in_pitch;
    if (!c.are_inputs_ready) {
        wait_for_previous();
    }
    gated<A, V> x;
    gated<A, V> y;
    pairs_ahead<A, V> ahead;
    ahead.stride = c.stride_pair;
    maxima<4> most = {};
    row_scales scales = {};
    // First for the exponents, then for the gradients; one piece of code, because gates are long.
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
#pragma unroll 1
        for (int n0 = group.lane * V; n0 < c.n_in; n0 += stride) {
            const bool again = c.n_in > stride;
            if (round == 0 || again) {
                load_features<T, T>(x.f, c.x, y.f, c.y, task.rows.are_packs, read_row, n0, n);
                measure(c.activation, x, most.at[0], most.at[2]);
                measure(c.activation, y, most.at[1], most.at[3]);
            }
            if (round == 1 && is_row) {
                if (again) {
                    ahead.start(pairs + n0);
                }
                contract_features<A, T, V>(task, row, n0, scales, x, y, ahead);
            }
        }
        if (round == 0) {
            wait_for_previous();
            let_next_start();
            ahead.is_read = task.has_gradients && group.lane * V < n;
            ahead.start(pairs + group.lane * V);
            most = max_over_group(most, group, partials);
            scales = scales_of(task, most, read_row, group.lane == 0 && is_row);
        }
    }
#endif
}

// The slots of a group: x and y, then the pairs.
template <typename A, typename T>
struct contract_strips {
    slot_of_two<T, T, A::n_component> inputs;

    __host__ __device__ __forceinline__ explicit contract_strips(const fc_chunk &c)
        : inputs({uint32_t(c.n_in), true})
    {
    }
    __host__ __device__ __forceinline__ uint32_t pair_bytes() const
    {
        return inputs.n * uint32_t(sizeof(__half));
    }
    __host__ __device__ __forceinline__ uint32_t bytes() const
    {
        return inputs.bytes() + A::pairs() * pair_bytes();
    }
    __device__ __forceinline__ void fetch_pairs(const row_slot &slot, const fc_chunk &c,
                                                int64_t row) const
    {
        slot.expect(A::pairs() * pair_bytes());
        slot.copy(0, c.pairs + row * c.in_pitch, c.stride_pair, A::pairs(), pair_bytes(), stay());
        slot.end();
    }
};

// The same for rows that come as strips.
template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads,
                                  fc_resident<4 * A::n_component * contract_width<A>>)
    contract_strips_kernel(const __grid_constant__ contract_task task)
{
#if TESS_CUDA_HAS_MATRIX
    constexpr int V = contract_width<A>;
    __shared__ maxima<4> partials[2][fc_max_threads / 32];
    __shared__ uint64_t barriers[2][fc_max_slot_groups];
    extern __shared__ __align__(128) unsigned char slots[];
    const fc_chunk &c = task.rows.c;
    const row_group group = group_of_warps(task.rows.lanes);
    const contract_strips<A, T> strips(c);
    unsigned char *const own = slots + group.index * strips.bytes();
    row_slot inputs(own, barriers[0] + group.index, group);
    row_slot pairs(own + strips.inputs.bytes(), barriers[1] + group.index, group);
    start_slots(group, {&inputs, &pairs});
    const int64_t step = int64_t(gridDim.x) * group.count;
    const bool is_fetching = inputs.is_fetching();
    const bool has_pairs = task.has_gradients;
    const int n0 = group.lane * V;
    int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    if (!c.are_inputs_ready) {
        wait_for_previous();
    }
    if (is_fetching && row < c.n_row) {
        strips.inputs.fetch(inputs, c.x, c.y, row);
    }
    wait_for_previous();
    let_next_start();
    if (is_fetching && has_pairs && row < c.n_row) {
        strips.fetch_pairs(pairs, c, row);
    }
    for (int turn = 0; row < c.n_row; row += step, turn ^= 1) {
        gated<A, V> x;
        gated<A, V> y;
        strips.inputs.read(inputs, x.f, y.f, n0);
        maxima<4> most = {};
        measure(c.activation, x, most.at[0], most.at[2]);
        measure(c.activation, y, most.at[1], most.at[3]);
        most = max_over_group(most, group, partials[turn]);
        const bool has_next = row + step < c.n_row;
        if (is_fetching && has_next) {
            strips.inputs.fetch(inputs, c.x, c.y, row + step);
        }
        const row_scales scales = scales_of(task, most, row, group.lane == 0);
        if (has_pairs) {
            pairs.wait();
        }
        if (n0 < c.n_in) {
            // Hidden from the compiler, which would rather keep all places in registers.
            pairs_in_slot<A, V> source = {pairs, kept(uint32_t(n0) * uint32_t(sizeof(__half))),
                                          strips.pair_bytes()};
            contract_features<A, T, V>(task, row, n0, scales, x, y, source);
        }
        if (has_pairs && has_next) {
            group.sync();
            if (is_fetching) {
                strips.fetch_pairs(pairs, c, row + step);
            }
        }
    }
#endif
}

// ---- Launch -------------------------------------------------------------------------------------

template <typename A, typename T>
cudaError_t contract_type(cudaStream_t stream, const fc_chunk &c, bool has_gradients)
{
    constexpr int V = contract_width<A>;
    const contract_task task = {
        {c, fc_lanes_for<V>(c.n_in),
         fc_are_packs<T, V>(c.x, c.n_in) && fc_are_packs<T, V>(c.y, c.n_in) &&
             fc_are_packs<T, V>(c.grad_x, c.n_in) && fc_are_packs<T, V>(c.grad_y, c.n_in)},
        has_gradients};
    if constexpr (fc_has_strips<A>) {
        constexpr int resident = fc_resident<4 * A::n_component * V>;
        const contract_strips<A, T> strips(c);
        if (task.rows.are_packs && fc_are_strips<T, V>(c.x, c.n_in) &&
            fc_are_strips<T, V>(c.y, c.n_in) && c.n_in % 8 == 0 &&
            fc_slots_fit(task.rows, strips.bytes(), resident)) {
            return fc_launch_slots(stream, contract_strips_kernel<A, T>, task.rows, task,
                                   strips.bytes(), resident);
        }
    }
    return fc_launch(stream, contract_kernel<A, T>, task.rows, task);
}

template <typename A>
cudaError_t fc_contract_pairs(cudaStream_t stream, const fc_chunk &c, bool has_gradients)
{
    return c.dtype == TESS_F16    ? contract_type<A, __half>(stream, c, has_gradients)
           : c.dtype == TESS_BF16 ? contract_type<A, __nv_bfloat16>(stream, c, has_gradients)
                                  : contract_type<A, float>(stream, c, has_gradients);
}

} // namespace clifford

#endif
