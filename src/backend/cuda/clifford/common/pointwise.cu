// Stages GATE and NORM of clifford on CUDA. Both read few components at a time, so plain loads at
// full occupancy keep the memory busy; rows are read a second time out of the cache.

#include "backend/cuda/clifford/common/norm.cuh"
#include "backend/cuda/clifford/stages.h"

namespace clifford
{

namespace
{

constexpr int point_threads = 256;
constexpr int64_t point_blocks = n_multiprocessor * 32; // larger problems loop over the grid

// Grades of D components: n over g of grade g, in rising order.
template <int D, int n_symbol>
struct grade_table {
    int8_t at[D];

    __host__ __device__ constexpr grade_table() : at()
    {
        int k = 0;
        int size = 1;
        for (int g = 0; g <= n_symbol; g++) {
            for (int i = 0; i < size; i++) {
                at[k++] = int8_t(g);
            }
            size = size * (n_symbol - g) / (g + 1);
        }
    }
};

// The quadratic form of an algebra of D components. Grades follow from the order of components.
template <int D>
struct form {
    static constexpr int n_component = D;
    static constexpr int n_symbol = D == 2 ? 1 : D == 4 ? 2 : D == 8 ? 3 : D == 16 ? 4 : 5;
    static constexpr int n_grade = n_symbol + 1;
    int8_t signs[D];
    int8_t is_plain;

    __host__ __device__ static constexpr int components()
    {
        return D;
    }
    __host__ __device__ static constexpr int grade(int k)
    {
        constexpr grade_table<D, n_symbol> table;
        return table.at[k];
    }
    __host__ __device__ int eta(int k) const
    {
        return signs[k];
    }
    __host__ __device__ bool is_euclidean() const
    {
        return is_plain != 0;
    }
};

// GATE and NORM have the same views; statistics of the norm follow them.
template <int D>
struct point_args {
    form<D> algebra;
    tess_cl_view x, out, grad_out, grad_x, cotangent, d_grad_out, d_x;
    void *statistics;
    int64_t n_row;
    int64_t n;
    double eps;
    int32_t dtype;
    int32_t activation;
    int32_t metric;
    int32_t lanes;
    int32_t is_packed; // f32 with the components of a feature side by side, aligned to 16 bytes
};

// Networks with components last read a feature in words of four: one item at a time, a warp would
// touch as many lines as it has lanes with every load.
template <int D, typename C>
constexpr bool can_pack = sizeof(C) == 4 && D >= 4;

template <int D, typename C>
__device__ __forceinline__ void load_point(const point_args<D> &a, const tess_cl_view &view,
                                           int64_t row, int64_t n, C (&items)[D])
{
    const int64_t at = row * view.stride[1] + n * view.stride[2];
    if constexpr (can_pack<D, C>) {
        if (a.is_packed) {
            const float4 *from =
                reinterpret_cast<const float4 *>(static_cast<const float *>(view.data) + at);
#pragma unroll
            for (int q = 0; q < D / 4; q++) {
                const float4 four = from[q];
                items[4 * q] = four.x;
                items[4 * q + 1] = four.y;
                items[4 * q + 2] = four.z;
                items[4 * q + 3] = four.w;
            }
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < D; k++) {
        items[k] = load_item<C>(view.data, a.dtype, at + k * view.stride[0]);
    }
}

template <int D, typename C>
__device__ __forceinline__ void store_point(const point_args<D> &a, const tess_cl_view &view,
                                            int64_t row, int64_t n, const C (&items)[D])
{
    if (view.data != nullptr) {
        const int64_t at = row * view.stride[1] + n * view.stride[2];
        if constexpr (can_pack<D, C>) {
            if (a.is_packed) {
                float4 *to = reinterpret_cast<float4 *>(static_cast<float *>(view.data) + at);
#pragma unroll
                for (int q = 0; q < D / 4; q++) {
                    to[q] = make_float4(items[4 * q], items[4 * q + 1], items[4 * q + 2],
                                        items[4 * q + 3]);
                }
                return;
            }
        }
#pragma unroll
        for (int k = 0; k < D; k++) {
            store_item<C>(view.data, a.dtype, at + k * view.stride[0], items[k]);
        }
    }
}

template <int D, typename C>
__device__ __forceinline__ C dot_of(const C (&a)[D], const C (&b)[D])
{
    C sum = C(0);
#pragma unroll
    for (int k = 0; k < D; k++) {
        sum = fma(a[k], b[k], sum);
    }
    return sum;
}

template <int D, typename C, int pass>
__global__ void __launch_bounds__(point_threads)
    gate_kernel(const __grid_constant__ point_args<D> a)
{
    const int64_t n_point = a.n_row * a.n;
    const int64_t step = int64_t(gridDim.x) * point_threads;
    for (int64_t i = int64_t(blockIdx.x) * point_threads + threadIdx.x; i < n_point; i += step) {
        const int64_t row = i / a.n;
        const int64_t n = i - row * a.n;
        C x[D];
        C g[D];
        load_point(a, a.x, row, n, x);
        const gate<C> f = gate_of(a.activation, x[0]);
        if constexpr (pass == TESS_CLIFFORD_FORWARD) {
#pragma unroll
            for (int k = 0; k < D; k++) {
                g[k] = f.factor * x[k];
            }
            store_point(a, a.out, row, n, g);
        } else if constexpr (pass == TESS_CLIFFORD_BACKWARD) {
            load_point(a, a.grad_out, row, n, g);
            const C dot = dot_of(x, g);
#pragma unroll
            for (int k = 0; k < D; k++) {
                g[k] *= f.factor;
            }
            g[0] = fma(f.slope, dot, g[0]);
            store_point(a, a.grad_x, row, n, g);
        } else {
            C u[D];
            load_point(a, a.grad_out, row, n, g);
            load_point(a, a.cotangent, row, n, u);
            const C turn = u[0] * f.slope;
            const C first = fma(f.slope, dot_of(u, g), u[0] * f.curve * dot_of(x, g));
#pragma unroll
            for (int k = 0; k < D; k++) {
                u[k] = fma(turn, x[k], f.factor * u[k]);
                g[k] *= turn;
            }
            g[0] += first;
            store_point(a, a.d_grad_out, row, n, u);
            store_point(a, a.d_x, row, n, g);
        }
    }
}

// e_k of one feature (see norm.cuh), before it is known whether clamp's r moves.
template <int D, typename C>
__device__ __forceinline__ void metric_signs(const point_args<D> &a, const C (&o)[D], C (&e)[D])
{
    constexpr int G = form<D>::n_grade;
    C sign[G];
    quadratic_forms(a.algebra, a.metric, o, sign);
#pragma unroll
    for (int g = 0; g < G; g++) {
        const C direction = sign[g] > C(0) ? C(1) : sign[g] < C(0) ? C(-1) : C(0);
        sign[g] = takes_size(a.metric) ? direction : C(1);
    }
#pragma unroll
    for (int k = 0; k < D; k++) {
        const C eta = a.metric == TESS_CLIFFORD_NORM_EUCLID ? C(1) : C(a.algebra.eta(k));
        e[k] = eta * sign[form<D>::grade(k)];
    }
}

// Sums over a row: statistic; gz o; u gz; u e o.
template <int D, typename C, int pass, int n_sum>
__device__ __forceinline__ void add_norm_sums(const point_args<D> &a, int64_t row, int64_t n,
                                              C (&sums)[n_sum])
{
    constexpr int G = form<D>::n_grade;
    C o[D];
    load_point(a, a.x, row, n, o);
    add_statistic(a.algebra, a.metric, o, sums);
    if constexpr (pass != TESS_CLIFFORD_FORWARD) {
        C g[D];
        load_point(a, a.grad_out, row, n, g);
        add_products(a.algebra, g, o, sums + G);
        if constexpr (pass == TESS_CLIFFORD_DOUBLE_BACKWARD) {
            C u[D];
            C e[D];
            load_point(a, a.cotangent, row, n, u);
            add_products(a.algebra, u, g, sums + 2 * G);
            metric_signs(a, o, e);
#pragma unroll
            for (int k = 0; k < D; k++) {
                e[k] *= o[k];
            }
            add_products(a.algebra, u, e, sums + 3 * G);
        }
    }
}

// Second derivatives of one feature, given the sums of its row and r in their first part.
template <int D, typename C>
__device__ __forceinline__ void norm_twice(const point_args<D> &a, int64_t row, int64_t n,
                                           C per_feature, const C *sums)
{
    constexpr int G = form<D>::n_grade;
    C o[D];
    C gz[D];
    C u[D];
    C e[D];
    load_point(a, a.x, row, n, o);
    load_point(a, a.grad_out, row, n, gz);
    load_point(a, a.cotangent, row, n, u);
    metric_signs(a, o, e);
#pragma unroll
    for (int k = 0; k < D; k++) {
        const int g = form<D>::grade(k);
        const C inverse = inverse_of(sums[g]);
        const C c = inverse * per_feature * inverse;
        const bool is_free = is_free_root(a.metric, C(a.eps), sums[g]);
        const C moved = is_free ? e[k] : C(0);
        const C along = is_free ? sums[3 * G + g] : C(0);
        const C dot = sums[G + g];
        const C outer = fma(C(3) * dot * c, along, -sums[2 * G + g]) * moved * o[k];
        const C inner = fma(gz[k], along, dot * u[k] * moved);
        const C second = (outer - inner) * c * inverse;
        u[k] = fma(-o[k], along * c, u[k]) * inverse;
        gz[k] = second;
    }
    store_point(a, a.d_grad_out, row, n, u);
    store_point(a, a.d_x, row, n, gz);
}

template <int D, typename C, int pass>
__device__ __forceinline__ void write_norm_row(const point_args<D> &a, const row_group &group,
                                               int64_t row, C per_feature, C *sums)
{
    constexpr int G = form<D>::n_grade;
    row_norm<G, C> norm;
    if constexpr (pass == TESS_CLIFFORD_BACKWARD) {
        C inverses[G];
#pragma unroll
        for (int g = 0; g < G; g++) {
            inverses[g] = inverse_of(sums[g]);
        }
        norm = norm_of_row<G>(a.metric, per_feature, is_free_root(a.metric, C(a.eps), sums[0]),
                              inverses, sums + G);
    } else if constexpr (pass == TESS_CLIFFORD_DOUBLE_BACKWARD) {
        join_grades<G>(a.metric, sums + G);
        join_grades<G>(a.metric, sums + 2 * G);
        join_grades<G>(a.metric, sums + 3 * G);
    }
    for (int64_t n = group.lane; n < a.n; n += group.lanes) {
        if constexpr (pass == TESS_CLIFFORD_DOUBLE_BACKWARD) {
            norm_twice(a, row, n, per_feature, sums);
        } else {
            C o[D];
            C g[D];
            load_point(a, a.x, row, n, o);
            if constexpr (pass == TESS_CLIFFORD_BACKWARD) {
                load_point(a, a.grad_out, row, n, g);
                norm_gradient(a.algebra, a.metric, norm, C(1), o, g, g);
                store_point(a, a.grad_x, row, n, g);
            } else {
#pragma unroll
                for (int k = 0; k < D; k++) {
                    o[k] *= inverse_of(sums[form<D>::grade(k)]);
                }
                store_point(a, a.out, row, n, o);
            }
        }
    }
}

template <int D, typename C, int pass>
__global__ void __launch_bounds__(point_threads)
    norm_kernel(const __grid_constant__ point_args<D> a)
{
    extern __shared__ uint4 shared[];
    constexpr int G = form<D>::n_grade;
    constexpr int n_sum = G * (pass == TESS_CLIFFORD_DOUBLE_BACKWARD ? 4 : pass);
    const row_group group(a.lanes);
    const int n_partial = power_of_two_from(n_sum) * (group.lanes / 32);
    C *partials = reinterpret_cast<C *>(shared) + group.index * 2 * n_partial;
    const C per_feature = C(1) / C(a.n);
    int half = 0;
    for (int64_t first = int64_t(blockIdx.x) * group.count; first < a.n_row;
         first += int64_t(gridDim.x) * group.count) {
        const int64_t row = first + group.index;
        C sums[n_sum] = {};
        for (int64_t n = group.lane; row < a.n_row && n < a.n; n += group.lanes) {
            add_norm_sums<D, C, pass>(a, row, n, sums);
        }
        sum_over_group(sums, group, partials + half);
        half ^= n_partial;
        squares_of_sums<G>(a.metric, per_feature, C(a.eps), sums);
#pragma unroll
        for (int g = 0; g < G; g++) {
            sums[g] = sqrt(sums[g]);
        }
        if (row < a.n_row) {
            C *statistics = static_cast<C *>(a.statistics);
#pragma unroll
            for (int g = 0; g < G; g++) {
                if (statistics != nullptr && pass != TESS_CLIFFORD_FORWARD) {
                    sums[g] = statistics[g * a.n_row + row];
                } else if (statistics != nullptr && group.lane == 0) {
                    statistics[g * a.n_row + row] = sums[g];
                }
            }
            write_norm_row<D, C, pass>(a, group, row, per_feature, sums);
        }
    }
}

bool is_packed_view(const tess_cl_view &view)
{
    return view.data == nullptr ||
           (view.stride[0] == 1 && view.stride[1] % 4 == 0 && view.stride[2] % 4 == 0 &&
            reinterpret_cast<uintptr_t>(view.data) % 16 == 0);
}

template <int D>
point_args<D> make_args(const tess_stage_clifford_norm &s)
{
    point_args<D> a = {};
    a.algebra.is_plain = int8_t(s.problem.algebra->is_euclidean);
    for (int k = 0; k < D; k++) {
        a.algebra.signs[k] = s.problem.algebra->eta[k];
    }
    a.x = s.x;
    a.out = s.out;
    a.grad_out = s.grad_out;
    a.grad_x = s.grad_x;
    a.cotangent = s.cotangent;
    a.d_grad_out = s.d_grad_out;
    a.d_x = s.d_x;
    a.statistics = s.statistics;
    a.n_row = s.problem.n_row;
    a.n = s.problem.n_in;
    a.eps = s.problem.eps;
    a.dtype = s.problem.dtype;
    a.activation = s.problem.activation;
    a.metric = s.problem.norm_metric;
    a.is_packed = s.problem.dtype == TESS_F32 && is_packed_view(s.x) && is_packed_view(s.out) &&
                  is_packed_view(s.grad_out) && is_packed_view(s.grad_x) &&
                  is_packed_view(s.cotangent) && is_packed_view(s.d_grad_out) &&
                  is_packed_view(s.d_x);
    return a;
}

template <int D, typename C, int pass>
cudaError_t launch_point(cudaStream_t stream, const tess_stage_clifford_norm &s, bool is_norm)
{
    point_args<D> a = make_args<D>(s);
    if (!is_norm) {
        const int64_t needed = (a.n_row * a.n - 1) / point_threads + 1;
        const int64_t blocks = needed < point_blocks ? needed : point_blocks;
        return launch(gate_kernel<D, C, pass>, dim3(unsigned(blocks)), point_threads, 0, stream, a);
    }
    a.lanes = 1;
    while (a.lanes < point_threads && a.lanes < a.n) {
        a.lanes *= 2;
    }
    constexpr int n_sum = form<D>::n_grade * (pass == TESS_CLIFFORD_DOUBLE_BACKWARD ? 4 : pass);
    const int64_t needed = (a.n_row - 1) / (point_threads / a.lanes) + 1;
    const int64_t blocks = needed < point_blocks ? needed : point_blocks;
    return launch(norm_kernel<D, C, pass>, dim3(unsigned(blocks)), point_threads,
                  sizeof(C) * partials_per_block(n_sum, point_threads), stream, a);
}

template <int D, typename C>
cudaError_t launch_pass(cudaStream_t stream, const tess_stage_clifford_norm &s, bool is_norm)
{
    switch (s.problem.pass) {
    case TESS_CLIFFORD_FORWARD:
        return launch_point<D, C, TESS_CLIFFORD_FORWARD>(stream, s, is_norm);
    case TESS_CLIFFORD_BACKWARD:
        return launch_point<D, C, TESS_CLIFFORD_BACKWARD>(stream, s, is_norm);
    default:
        return launch_point<D, C, TESS_CLIFFORD_DOUBLE_BACKWARD>(stream, s, is_norm);
    }
}

template <int D>
cudaError_t launch_type(cudaStream_t stream, const tess_stage_clifford_norm &s, bool is_norm)
{
    return s.problem.dtype == TESS_F64 ? launch_pass<D, double>(stream, s, is_norm)
                                       : launch_pass<D, float>(stream, s, is_norm);
}

cudaError_t launch_stage(cudaStream_t stream, const tess_stage_clifford_norm &s, bool is_norm)
{
    switch (s.problem.algebra->n_component) {
    case 2:
        return launch_type<2>(stream, s, is_norm);
    case 4:
        return launch_type<4>(stream, s, is_norm);
    case 8:
        return launch_type<8>(stream, s, is_norm);
    case 16:
        return launch_type<16>(stream, s, is_norm);
    default:
        return launch_type<32>(stream, s, is_norm);
    }
}

cudaError_t gate_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_gate &gate = *static_cast<const tess_stage_clifford_gate *>(args);
    tess_stage_clifford_norm s = {};
    s.problem = gate.problem;
    s.x = gate.x;
    s.out = gate.out;
    s.grad_out = gate.grad_out;
    s.grad_x = gate.grad_x;
    s.cotangent = gate.cotangent;
    s.d_grad_out = gate.d_grad_out;
    s.d_x = gate.d_x;
    return launch_stage(stream, s, false);
}

cudaError_t norm_launch(cudaStream_t stream, const void *args)
{
    return launch_stage(stream, *static_cast<const tess_stage_clifford_norm *>(args), true);
}

tess_status point_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t point_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

} // namespace clifford

const tess_cuda_stage tess_cuda_stage_clifford_gate = {
    TESS_STAGE_CLIFFORD_GATE,         "clifford.gate",
    sizeof(tess_stage_clifford_gate), clifford::point_supports,
    clifford::point_scratch_bytes,    clifford::gate_launch,
};

const tess_cuda_stage tess_cuda_stage_clifford_norm = {
    TESS_STAGE_CLIFFORD_NORM,         "clifford.norm",
    sizeof(tess_stage_clifford_norm), clifford::point_supports,
    clifford::point_scratch_bytes,    clifford::norm_launch,
};
