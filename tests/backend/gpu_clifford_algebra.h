// Tables of an algebra from the definition of its product, and random numbers.
#ifndef TESS_GPU_CLIFFORD_ALGEBRA_H
#define TESS_GPU_CLIFFORD_ALGEBRA_H

#include "stage/clifford.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using numbers = std::vector<double>;

#define CHECK_CUDA(call) check_cuda(call, #call, __LINE__)

inline void check_cuda(cudaError_t error, const char *what, int line)
{
    if (error != cudaSuccess) {
        printf("FAILED %s at line %d: %s\n", what, line, cudaGetErrorString(error));
        exit(1);
    }
}

// Normal numbers, the same for the same seed on every machine.
struct random_source {
    uint64_t state;
    explicit random_source(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1)
    {
    }
    double uniform()
    {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t bits = state ^ state >> 29;
        bits *= 0xbf58476d1ce4e5b9ull;
        return (double((bits ^ bits >> 32) >> 11) + 0.5) * 0x1p-53;
    }
    double normal()
    {
        return sqrt(-2.0 * log(uniform())) * cos(6.283185307179586 * uniform());
    }
    numbers normals(int64_t n)
    {
        numbers all(static_cast<size_t>(n));
        for (double &v : all) {
            v = normal();
        }
        return all;
    }
};

// The tables of an algebra, written a second time, from the definition of the product.
inline int blade_sign(const tess_clifford_metric &metric, int u, int v)
{
    int sign = 1;
    for (int i = 0; i < metric.n_symbol; i++) {
        for (int j = 0; j < i; j++) {
            sign = (u >> i & 1) && (v >> j & 1) ? -sign : sign;
        }
        sign *= (u & v) >> i & 1 ? metric.square[i] : 1;
    }
    return sign;
}

// Components by grade: index tuples in order are masks with reversed bits in falling order.
inline void list_components(tess_clifford_algebra &a)
{
    const int n = a.metric.n_symbol;
    int at = 0;
    for (int g = 0; g <= n; g++) {
        for (int r = (1 << n) - 1; r >= 0; r--) {
            int mask = 0;
            for (int i = 0; i < n; i++) {
                mask |= (r >> (n - 1 - i) & 1) << i;
            }
            if (__builtin_popcount(unsigned(mask)) == g) {
                a.mask[at] = uint8_t(mask);
                a.grade[at++] = uint8_t(g);
            }
        }
    }
}

inline tess_clifford_algebra make_algebra(const char *signs)
{
    tess_clifford_algebra a;
    memset(&a, 0, sizeof(a));
    a.struct_size = sizeof(a);
    const int n = int(strlen(signs));
    a.metric.n_symbol = n;
    a.is_euclidean = 1;
    for (int i = 0; i < n; i++) {
        a.metric.square[i] = int8_t(signs[i] == '+' ? 1 : signs[i] == '-' ? -1 : 0);
        a.is_euclidean &= signs[i] == '+';
    }
    a.n_component = 1 << n;
    a.n_grade = n + 1;
    list_components(a);
    int index[TESS_CLIFFORD_MAX_COMPONENTS];
    for (int k = 0; k < a.n_component; k++) {
        index[a.mask[k]] = k;
    }
    int8_t path_of[6][6][6];
    memset(path_of, -1, sizeof(path_of));
    for (int k = 0; k < a.n_component; k++) {
        for (int i = 0; i < a.n_component; i++) {
            const int j = index[a.mask[i] ^ a.mask[k]];
            const int sign = blade_sign(a.metric, a.mask[i], a.mask[j]);
            if (sign != 0) {
                a.terms[a.n_term++] = {uint8_t(k), uint8_t(i), uint8_t(j), 0, sign};
                path_of[a.grade[i]][a.grade[k]][a.grade[j]] = 0;
            }
        }
        const int g = a.grade[k];
        a.eta[k] =
            int8_t(blade_sign(a.metric, a.mask[k], a.mask[k]) * (g * (g - 1) / 2 % 2 ? -1 : 1));
    }
    for (int u = 0; u <= n; u++) {
        for (int c = 0; c <= n; c++) {
            for (int v = 0; v <= n; v++) {
                if (path_of[u][c][v] == 0) {
                    path_of[u][c][v] = int8_t(a.n_path++);
                }
            }
        }
    }
    for (int t = 0; t < a.n_term; t++) {
        tess_clifford_term &term = a.terms[t];
        term.path = uint8_t(path_of[a.grade[term.i]][a.grade[term.k]][a.grade[term.j]]);
    }
    return a;
}

#endif
