// Any algebra, from its list of terms at run time: slower than straight-line code, same results.
#ifndef TESS_CLIFFORD_TABLE_CUH
#define TESS_CLIFFORD_TABLE_CUH

#include "tessera/clifford/algebra.h"

#include <cstdint>

namespace clifford
{

struct table_algebra {
    static constexpr int n_component = TESS_CLIFFORD_MAX_COMPONENTS;
    static constexpr int n_grade = TESS_CLIFFORD_MAX_GRADES;
    static constexpr int n_path = TESS_CLIFFORD_MAX_PATHS;

    int16_t component_count;
    int16_t grade_count;
    int16_t path_count;
    int16_t term_count; // of the paths that take part
    int8_t all_euclidean;
    int8_t grades_of[n_component];
    int8_t eta_of[n_component];
    // k, i, j, path in bytes of 5, 5, 5 and 6 bits, then the sign.
    uint32_t terms[TESS_CLIFFORD_MAX_TERMS];

    __host__ __device__ int components() const
    {
        return component_count;
    }
    __host__ __device__ int grades() const
    {
        return grade_count;
    }
    __host__ __device__ int paths() const
    {
        return path_count;
    }
    __host__ __device__ int grade(int k) const
    {
        return grades_of[k];
    }
    __host__ __device__ int eta(int k) const
    {
        return eta_of[k];
    }
    __host__ __device__ bool is_euclidean() const
    {
        return all_euclidean != 0;
    }

    template <typename C, typename Paths>
    __device__ __forceinline__ void product(const C (&x)[n_component], const C (&y)[n_component],
                                            const C (&w)[n_path], C (&s)[n_component],
                                            const Paths &) const;

    template <typename C, typename Paths, typename Sums>
    __device__ __forceinline__ void gradients(const C (&x)[n_component], const C (&y)[n_component],
                                              const C (&w)[n_path], const C (&h)[n_component],
                                              C (&gx)[n_component], C (&gy)[n_component],
                                              Sums &sums, const Paths &) const;
};

template <typename C, typename Paths>
__device__ __forceinline__ void
table_algebra::product(const C (&x)[n_component], const C (&y)[n_component], const C (&w)[n_path],
                       C (&s)[n_component], const Paths &) const
{
    for (int k = 0; k < component_count; k++) {
        s[k] = C(0);
    }
#pragma unroll 1
    for (int t = 0; t < term_count; t++) {
        const uint32_t term = terms[t];
        const int k = int(term & 31);
        const C wx = w[term >> 15 & 63] * x[term >> 5 & 31];
        s[k] = fma(term >> 31 ? -wx : wx, y[term >> 10 & 31], s[k]);
    }
}

template <typename C, typename Paths, typename Sums>
__device__ __forceinline__ void
table_algebra::gradients(const C (&x)[n_component], const C (&y)[n_component], const C (&w)[n_path],
                         const C (&h)[n_component], C (&gx)[n_component], C (&gy)[n_component],
                         Sums &sums, const Paths &) const
{
    for (int k = 0; k < component_count; k++) {
        gx[k] = C(0);
        gy[k] = C(0);
    }
#pragma unroll 1
    for (int t = 0; t < term_count; t++) {
        const uint32_t term = terms[t];
        const int i = int(term >> 5 & 31);
        const int j = int(term >> 10 & 31);
        const int p = int(term >> 15 & 63);
        const C signed_h = term >> 31 ? -h[term & 31] : h[term & 31];
        const C m = w[p] * signed_h;
        gx[i] = fma(m, y[j], gx[i]);
        gy[j] = fma(m, x[i], gy[j]);
        sums.add(p, signed_h, x[i] * y[j]);
    }
}

// The list for a kernel; paths outside the mask are left out.
inline table_algebra table_of(const tess_clifford_algebra &algebra, uint64_t path_mask)
{
    table_algebra table = {};
    table.component_count = int16_t(algebra.n_component);
    table.grade_count = int16_t(algebra.n_grade);
    table.path_count = int16_t(algebra.n_path);
    table.all_euclidean = int8_t(algebra.is_euclidean);
    for (int k = 0; k < algebra.n_component; k++) {
        table.grades_of[k] = int8_t(algebra.grade[k]);
        table.eta_of[k] = algebra.eta[k];
    }
    for (int t = 0; t < algebra.n_term; t++) {
        const tess_clifford_term &term = algebra.terms[t];
        if (path_mask >> term.path & 1) {
            table.terms[table.term_count++] = uint32_t(term.k) | uint32_t(term.i) << 5 |
                                              uint32_t(term.j) << 10 | uint32_t(term.path) << 15 |
                                              (term.sign < 0 ? 1u << 31 : 0u);
        }
    }
    return table;
}

} // namespace clifford

#endif
