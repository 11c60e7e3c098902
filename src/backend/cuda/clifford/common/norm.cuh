// The grade-wise norm of a row: sums over its features, then r, then gradients through both.
//
// With e_k = 1 (euclid), eta_k sign(kappa_g) (abs, abs_clamp) or eta_k (clamp), r^2 = mean of e o^2
// + eps, and h = (gz - e o dot) / r with dot = sum of gz o / (N r^2).
#ifndef TESS_CLIFFORD_NORM_CUH
#define TESS_CLIFFORD_NORM_CUH

#include "backend/cuda/clifford/common/clifford.cuh"

namespace clifford
{

__host__ __device__ __forceinline__ constexpr bool takes_size(int32_t metric)
{
    return metric == TESS_CLIFFORD_NORM_ABS || metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

__host__ __device__ __forceinline__ constexpr bool shares_root(int32_t metric)
{
    return metric == TESS_CLIFFORD_NORM_CLAMP || metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

// What one row's components of each grade are multiplied with. clamp has one r for all grades.
template <int G, typename C>
struct row_norm {
    C inverse[G]; // 1 / r
    C dot[G];
};

// kappa_g = sum of eta_k o_k^2 over the components of every grade; eta = 1 for the euclid metric.
template <typename A, typename C>
__device__ __forceinline__ void quadratic_forms(const A &algebra, int32_t metric,
                                                const C (&o)[A::n_component],
                                                C (&kappa)[A::n_grade])
{
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        kappa[g] = C(0);
    }
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        if (k < algebra.components()) {
            const int eta = metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : algebra.eta(k);
            if (eta != 0) {
                C &sum = kappa[algebra.grade(k)];
                sum = fma(eta > 0 ? o[k] : -o[k], o[k], sum);
            }
        }
    }
}

// Adds what one feature gives to the statistic of its row.
template <typename A, typename C>
__device__ __forceinline__ void add_statistic(const A &algebra, int32_t metric,
                                              const C (&o)[A::n_component], C *sums)
{
    C kappa[A::n_grade];
    quadratic_forms(algebra, algebra.is_euclidean() ? int32_t(TESS_CLIFFORD_NORM_EUCLID) : metric,
                    o, kappa);
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        sums[g] += takes_size(metric) ? fabs(kappa[g]) : kappa[g];
    }
}

// Adds sum of a b over the components of every grade.
template <typename A, typename C>
__device__ __forceinline__ void add_products(const A &algebra, const C (&a)[A::n_component],
                                             const C (&b)[A::n_component], C *sums)
{
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        if (k < algebra.components()) {
            C &sum = sums[algebra.grade(k)];
            sum = fma(a[k], b[k], sum);
        }
    }
}

// Replaces every grade's sum by that over all grades where they share one r.
template <int G, typename C>
__device__ __forceinline__ void join_grades(int32_t metric, C *sums)
{
    if (shares_root(metric)) {
        C all = C(0);
#pragma unroll
        for (int g = 0; g < G; g++) {
            all += sums[g];
        }
#pragma unroll
        for (int g = 0; g < G; g++) {
            sums[g] = all;
        }
    }
}

// r^2 of every grade from the sums over the row.
template <int G, typename C>
__device__ __forceinline__ void squares_of_sums(int32_t metric, C per_feature, C eps, C *sums)
{
    join_grades<G>(metric, sums);
#pragma unroll
    for (int g = 0; g < G; g++) {
        const C mean = sums[g] * per_feature;
        sums[g] = !shares_root(metric) ? mean + eps : mean < eps ? eps : mean;
    }
}

// Whether clamp's r moves with its inputs: not where the mean fell below eps.
template <typename C>
__device__ __forceinline__ bool is_free_root(int32_t metric, C eps, C r)
{
    return !shares_root(metric) || !(r <= sqrt(eps));
}

// 1/r and sums of gz o, to what norm_gradient takes.
template <int G, typename C>
__device__ __forceinline__ row_norm<G, C> norm_of_row(int32_t metric, C per_feature, bool is_free,
                                                      const C *inverses, C *dots)
{
    join_grades<G>(metric, dots);
    row_norm<G, C> norm;
#pragma unroll
    for (int g = 0; g < G; g++) {
        norm.inverse[g] = inverses[g];
        norm.dot[g] = is_free ? dots[g] * inverses[g] * per_feature * inverses[g] : C(0);
    }
    return norm;
}

// h_k of one feature, from o = scale * s.
template <typename A, typename C>
__device__ __forceinline__ void
norm_gradient(const A &algebra, int32_t metric, const row_norm<A::n_grade, C> &norm, C scale,
              const C (&s)[A::n_component], const C (&gz)[A::n_component], C (&h)[A::n_component])
{
    C factor[A::n_grade];
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        factor[g] = scale * norm.dot[g];
    }
    const bool has_signs = !algebra.is_euclidean() && metric != TESS_CLIFFORD_NORM_EUCLID;
    if (has_signs && takes_size(metric)) {
        C kappa[A::n_grade];
        quadratic_forms(algebra, metric, s, kappa);
#pragma unroll
        for (int g = 0; g < A::n_grade; g++) {
            factor[g] = kappa[g] > C(0) ? factor[g] : kappa[g] < C(0) ? -factor[g] : C(0);
        }
    }
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        if (k < algebra.components()) {
            const int eta = has_signs ? algebra.eta(k) : 1;
            const C f = factor[algebra.grade(k)];
            const C part = eta == 0 ? C(0) : eta > 0 ? f : -f;
            h[k] = fma(-s[k], part, gz[k]) * norm.inverse[algebra.grade(k)];
        }
    }
}

} // namespace clifford

#endif
