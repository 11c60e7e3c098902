// Stage clifford.fcgp: gates and the norm of rows, for any shape and type.
//
// A warp owns a row: sums over features are taken by lane, then across lanes, in an order that
// depends on the number of features alone.

#include "backend/cuda/clifford/fcgp/fcgp.cuh"

namespace
{

using namespace clifford_fcgp;

constexpr int threads = 128;
constexpr int warp_size = 32;
constexpr int rows_per_block = threads / warp_size;
constexpr int64_t max_blocks = 1 << 20; // larger problems loop over the grid
constexpr unsigned all_lanes = 0xffffffffu;

struct norm_rule {
    int64_t n_row;
    int64_t n_feature;
    int32_t n_component;
    int32_t n_grade;
    int32_t metric; // EUCLID, ABS, CLAMP or ABS_CLAMP; -1: no norm
    double eps;
    int8_t eta[TESS_CLIFFORD_MAX_COMPONENTS];
    uint8_t grade_first[TESS_CLIFFORD_MAX_GRADES + 1];
};

__device__ __forceinline__ bool takes_size(const norm_rule &rule)
{
    return rule.metric == TESS_CLIFFORD_NORM_ABS || rule.metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

__device__ __forceinline__ bool shares_root(const norm_rule &rule)
{
    return rule.metric == TESS_CLIFFORD_NORM_CLAMP || rule.metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

norm_rule rule_of(const tess_cl_problem &p)
{
    const tess_clifford_algebra &algebra = *p.algebra;
    norm_rule rule = {};
    rule.n_row = p.n_row;
    rule.n_feature = p.n_out;
    rule.n_component = algebra.n_component;
    rule.n_grade = algebra.n_grade;
    rule.metric = p.normalize ? p.norm_metric : -1;
    rule.eps = p.eps;
    for (int k = 0; k < algebra.n_component; k++) {
        rule.eta[k] = algebra.eta[k];
        rule.grade_first[algebra.grade[k] + 1] = uint8_t(k + 1);
    }
    return rule;
}

template <typename A>
__device__ __forceinline__ A warp_sum(A value)
{
#pragma unroll
    for (int step = warp_size / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(all_lanes, value, step);
    }
    return value;
}

template <typename A>
struct by_grade {
    A value[TESS_CLIFFORD_MAX_GRADES];
};

// What grade g of a feature adds to the row's sum of squares.
template <typename A>
__device__ __forceinline__ A square_of(const norm_rule &rule, const view<A> &o, int g, int64_t b,
                                       int64_t n)
{
    A sum = A(0);
    for (int k = rule.grade_first[g]; k < rule.grade_first[g + 1]; k++) {
        const A value = o.at(k, b, n);
        const A weighted =
            rule.metric == TESS_CLIFFORD_NORM_EUCLID ? value : A(rule.eta[k]) * value;
        sum = fma(weighted, value, sum);
    }
    return takes_size(rule) ? fabs(sum) : sum;
}

// r of every grade of row b, by the whole warp.
template <typename A>
__device__ __forceinline__ by_grade<A> roots_of(const norm_rule &rule, const view<A> &o, int64_t b,
                                                int lane)
{
    by_grade<A> r = {};
    A all = A(0);
#pragma unroll
    for (int g = 0; g < TESS_CLIFFORD_MAX_GRADES; g++) {
        if (g < rule.n_grade) {
            A sum = A(0);
            for (int64_t n = lane; n < rule.n_feature; n += warp_size) {
                sum += square_of(rule, o, g, b, n);
            }
            const A mean = warp_sum(sum) / A(rule.n_feature);
            r.value[g] = sqrt(mean + A(rule.eps));
            all += mean;
        }
    }
    if (shares_root(rule)) {
        const A eps = A(rule.eps);
        const A root = sqrt(all > eps || all != all ? all : eps);
#pragma unroll
        for (int g = 0; g < TESS_CLIFFORD_MAX_GRADES; g++) {
            r.value[g] = root;
        }
    }
    return r;
}

template <typename T>
__global__ void __launch_bounds__(threads)
    norm_kernel(const __grid_constant__ norm_rule rule, view<math_of<T>> product, view<T> out,
                math_of<T> *statistics)
{
    using A = math_of<T>;
    const int lane = int(threadIdx.x) % warp_size;
    const int64_t step = int64_t(gridDim.x) * rows_per_block;
    for (int64_t b = int64_t(blockIdx.x) * rows_per_block + threadIdx.x / warp_size; b < rule.n_row;
         b += step) {
        by_grade<A> r = {};
        if (rule.metric >= 0) {
            r = roots_of(rule, product, b, lane);
        }
#pragma unroll
        for (int g = 0; g < TESS_CLIFFORD_MAX_GRADES; g++) {
            if (g >= rule.n_grade) {
                continue;
            }
            const A root = rule.metric >= 0 ? r.value[g] : A(1);
            for (int k = rule.grade_first[g]; k < rule.grade_first[g + 1]; k++) {
                for (int64_t n = lane; n < rule.n_feature; n += warp_size) {
                    out.at(k, b, n) = from_math<T>(product.at(k, b, n) / root);
                }
            }
            if (statistics != nullptr && lane == 0) {
                statistics[g * rule.n_row + b] = root;
            }
        }
    }
}

// What the backward pass of the norm reads: the product, or the saved result.
template <typename T>
struct norm_inputs {
    view<const T> grad_out;
    view<math_of<T>> product;
    view<const T> saved_out;
    __device__ __forceinline__ math_of<T> result(int64_t k, int64_t b, int64_t n,
                                                 math_of<T> root) const
    {
        return product.data != nullptr ? product.at(k, b, n) / root
                                       : to_math(saved_out.at(k, b, n));
    }
};

// Sum over features and the components of a grade of grad_out * result.
template <typename T>
__device__ __forceinline__ math_of<T> dot_of(const norm_rule &rule, const norm_inputs<T> &in, int g,
                                             int64_t b, math_of<T> root, int lane)
{
    using A = math_of<T>;
    A sum = A(0);
    for (int64_t n = lane; n < rule.n_feature; n += warp_size) {
        for (int k = rule.grade_first[g]; k < rule.grade_first[g + 1]; k++) {
            sum = fma(to_math(in.grad_out.at(k, b, n)), in.result(k, b, n, root), sum);
        }
    }
    return warp_sum(sum);
}

// h = (gz - c z d) / r with c = 1, or what an indefinite metric makes of it.
template <typename T>
__device__ __forceinline__ void write_grade(const norm_rule &rule, const norm_inputs<T> &in, int g,
                                            int64_t b, math_of<T> root, math_of<T> mean,
                                            math_of<T> *h, int lane)
{
    using A = math_of<T>;
    for (int64_t n = lane; n < rule.n_feature; n += warp_size) {
        A sign = A(1);
        if (takes_size(rule)) {
            A sum = A(0);
            for (int k = rule.grade_first[g]; k < rule.grade_first[g + 1]; k++) {
                const A z = in.result(k, b, n, root);
                sum = fma(A(rule.eta[k]) * z, z, sum);
            }
            sign = sum > A(0) ? A(1) : sum < A(0) ? A(-1) : A(0);
        }
        for (int k = rule.grade_first[g]; k < rule.grade_first[g + 1]; k++) {
            const A weight =
                rule.metric == TESS_CLIFFORD_NORM_EUCLID ? A(1) : sign * A(rule.eta[k]);
            const A part = weight * in.result(k, b, n, root) * mean;
            h[(k * rule.n_row + b) * rule.n_feature + n] =
                (to_math(in.grad_out.at(k, b, n)) - part) / root;
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(threads)
    norm_gradient_kernel(const __grid_constant__ norm_rule rule, const norm_inputs<T> in,
                         const math_of<T> *statistics, math_of<T> *h)
{
    using A = math_of<T>;
    const int lane = int(threadIdx.x) % warp_size;
    const int64_t step = int64_t(gridDim.x) * rows_per_block;
    for (int64_t b = int64_t(blockIdx.x) * rows_per_block + threadIdx.x / warp_size; b < rule.n_row;
         b += step) {
        by_grade<A> r = {};
        by_grade<A> d = {};
        if (in.product.data != nullptr) {
            r = roots_of(rule, in.product, b, lane);
        }
        A all = A(0);
#pragma unroll
        for (int g = 0; g < TESS_CLIFFORD_MAX_GRADES; g++) {
            if (g < rule.n_grade) {
                if (in.product.data == nullptr) {
                    r.value[g] = statistics[g * rule.n_row + b];
                }
                const A dot = dot_of(rule, in, g, b, r.value[g], lane);
                d.value[g] = dot / A(rule.n_feature);
                all += d.value[g];
            }
        }
        const bool clamps = shares_root(rule);
        // Where the least mean square decided, r does not depend on the product.
        const A common = r.value[0] > sqrt(A(rule.eps)) ? all : A(0);
#pragma unroll
        for (int g = 0; g < TESS_CLIFFORD_MAX_GRADES; g++) {
            if (g < rule.n_grade) {
                write_grade(rule, in, g, b, r.value[g], clamps ? common : d.value[g], h, lane);
            }
        }
    }
}

// Without a norm: h is the gradient of the result.
template <typename T>
__global__ void __launch_bounds__(threads)
    copy_kernel(view<const T> from, int64_t n_row, int64_t n_feature, int64_t n_item,
                math_of<T> *to)
{
    const int64_t step = int64_t(gridDim.x) * threads;
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < n_item; i += step) {
        const int64_t row = i / n_feature;
        to[i] = to_math(from.at(row / n_row, row % n_row, i - row * n_feature));
    }
}

template <typename T>
__global__ void __launch_bounds__(threads)
    factor_kernel(view<const T> x, view<const T> y, int activation, int64_t n_feature,
                  int64_t n_item, math_of<T> *factor)
{
    const int64_t step = int64_t(gridDim.x) * threads;
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < n_item; i += step) {
        const int64_t b = i / n_feature;
        const int64_t m = i - b * n_feature;
        factor[i] = gate_of(activation, to_math(x.at(0, b, m))).value *
                    gate_of(activation, to_math(y.at(0, b, m))).value;
    }
}

// grad_i = f(own) f(other) s_i + [i = 0] f'(own) f(other) sum of own_i s_i.
template <typename T>
__device__ __forceinline__ void
gate_gradient(const view<const T> &own, const view<math_of<T>> &s, const view<T> &grad,
              gate<math_of<T>> own_gate, math_of<T> other, int n_component, int64_t b, int64_t m)
{
    using A = math_of<T>;
    A dot = A(0);
    A first = A(0);
    for (int i = 0; i < n_component; i++) {
        const A value = s.at(i, b, m);
        dot = fma(to_math(own.at(i, b, m)), value, dot);
        if (i == 0) {
            first = value;
        } else {
            grad.at(i, b, m) = from_math<T>(own_gate.value * other * value);
        }
    }
    const A through_gate = own_gate.slope * other * dot;
    grad.at(0, b, m) = from_math<T>(fma(own_gate.value * other, first, through_gate));
}

template <typename T>
__global__ void __launch_bounds__(threads)
    gate_gradient_kernel(view<const T> x, view<const T> y, view<math_of<T>> s, view<math_of<T>> r,
                         view<T> grad_x, view<T> grad_y, int activation, int n_component,
                         int64_t n_feature, int64_t n_item)
{
    const int64_t step = int64_t(gridDim.x) * threads;
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < n_item; i += step) {
        const int64_t b = i / n_feature;
        const int64_t m = i - b * n_feature;
        const gate<math_of<T>> of_x = gate_of(activation, to_math(x.at(0, b, m)));
        const gate<math_of<T>> of_y = gate_of(activation, to_math(y.at(0, b, m)));
        if (grad_x.data != nullptr) {
            gate_gradient(x, s, grad_x, of_x, of_y.value, n_component, b, m);
        }
        if (grad_y.data != nullptr) {
            gate_gradient(y, r, grad_y, of_y, of_x.value, n_component, b, m);
        }
    }
}

unsigned grid_of(int64_t n, int64_t block)
{
    const int64_t needed = blocks_of(n, block);
    return unsigned(needed < max_blocks ? needed : max_blocks);
}

} // namespace

namespace clifford_fcgp
{

template <typename T>
cudaError_t gate_factors(cudaStream_t stream, const tess_cl_problem &p, view<const T> x,
                         view<const T> y, math_of<T> *factor)
{
    const int64_t n_item = p.n_row * p.n_in;
    factor_kernel<T><<<grid_of(n_item, threads), threads, 0, stream>>>(x, y, p.activation, p.n_in,
                                                                       n_item, factor);
    return cudaGetLastError();
}

template <typename T>
cudaError_t norm_rows(cudaStream_t stream, const tess_cl_problem &p, view<math_of<T>> product,
                      view<T> out, math_of<T> *statistics)
{
    norm_kernel<T><<<grid_of(p.n_row, rows_per_block), threads, 0, stream>>>(rule_of(p), product,
                                                                             out, statistics);
    return cudaGetLastError();
}

template <typename T>
cudaError_t norm_gradients(cudaStream_t stream, const tess_cl_problem &p, view<const T> grad_out,
                           view<math_of<T>> product, view<const T> saved_out,
                           const math_of<T> *statistics, math_of<T> *h)
{
    if (!p.normalize) {
        const int64_t n_item = p.algebra->n_component * p.n_row * p.n_out;
        copy_kernel<T><<<grid_of(n_item, threads), threads, 0, stream>>>(grad_out, p.n_row, p.n_out,
                                                                         n_item, h);
        return cudaGetLastError();
    }
    const norm_inputs<T> in = {grad_out, product, saved_out};
    norm_gradient_kernel<T>
        <<<grid_of(p.n_row, rows_per_block), threads, 0, stream>>>(rule_of(p), in, statistics, h);
    return cudaGetLastError();
}

template <typename T>
cudaError_t gate_gradients(cudaStream_t stream, const tess_cl_problem &p, view<const T> x,
                           view<const T> y, view<math_of<T>> s, view<math_of<T>> r, view<T> grad_x,
                           view<T> grad_y)
{
    const int64_t n_item = p.n_row * p.n_in;
    gate_gradient_kernel<T><<<grid_of(n_item, threads), threads, 0, stream>>>(
        x, y, s, r, grad_x, grad_y, p.activation, p.algebra->n_component, p.n_in, n_item);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                             \
    template cudaError_t gate_factors<T>(cudaStream_t, const tess_cl_problem &, view<const T>,     \
                                         view<const T>, math_of<T> *);                             \
    template cudaError_t norm_rows<T>(cudaStream_t, const tess_cl_problem &, view<math_of<T>>,     \
                                      view<T>, math_of<T> *);                                      \
    template cudaError_t norm_gradients<T>(cudaStream_t, const tess_cl_problem &, view<const T>,   \
                                           view<math_of<T>>, view<const T>, const math_of<T> *,    \
                                           math_of<T> *);                                          \
    template cudaError_t gate_gradients<T>(cudaStream_t, const tess_cl_problem &, view<const T>,   \
                                           view<const T>, view<math_of<T>>, view<math_of<T>>,      \
                                           view<T>, view<T>);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(__half)
INSTANTIATE(__nv_bfloat16)

} // namespace clifford_fcgp
