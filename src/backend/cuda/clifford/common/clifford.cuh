// Packs of items, gates and sums over rows: what the kernels of clifford share.
#ifndef TESS_CLIFFORD_CUH
#define TESS_CLIFFORD_CUH

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "stage/clifford.h"

#include <cmath>
#include <cstring>

namespace clifford
{

// V neighbouring items as they lie in memory.
template <typename T, int V>
struct alignas(sizeof(T) * V) pack {
    T at[V];
};

template <int bytes>
struct word_of;
template <>
struct word_of<2> {
    using type = uint16_t;
};
template <>
struct word_of<4> {
    using type = uint32_t;
};
template <>
struct word_of<8> {
    using type = uint2;
};
template <>
struct word_of<16> {
    using type = uint4;
};

// A pack by a function that loads its word.
template <typename T, int V, typename Load>
__device__ __forceinline__ pack<T, V> load_pack_by(const T *from, Load load)
{
    using word = typename word_of<int(sizeof(T)) * V>::type;
    const word bits = load(reinterpret_cast<const word *>(from));
    pack<T, V> items;
    memcpy(&items, &bits, sizeof(items));
    return items;
}

template <typename T, int V>
__device__ __forceinline__ pack<T, V> load_pack(const T *from)
{
    return load_pack_by<T, V>(from, [](const auto *word) { return load_once(word); });
}

// Of what a kernel before may still write when this one is started (launch_early).
template <typename T, int V>
__device__ __forceinline__ pack<T, V> load_fresh(const T *from)
{
    return load_pack_by<T, V>(from, [](const auto *word) { return __ldcg(word); });
}

template <typename T, int V>
__device__ __forceinline__ void store_pack(T *to, const pack<T, V> &items)
{
    using word = typename word_of<int(sizeof(T)) * V>::type;
    word bits;
    memcpy(&bits, &items, sizeof(items));
    store_word(reinterpret_cast<word *>(to), bits);
}

// Item v of a pack. bf16 is the upper half of f32: one shift or mask of the word that holds two.
template <typename T, int V>
__device__ __forceinline__ auto widen_item(const pack<T, V> &items, int v)
{
    return widen(items.at[v]);
}

template <int V>
__device__ __forceinline__ float widen_item(const pack<__nv_bfloat16, V> &items, int v)
{
    if constexpr (V % 2 == 0) {
        uint32_t words[V / 2];
        memcpy(words, &items, sizeof(words));
        const uint32_t bits = v % 2 == 0 ? words[v / 2] << 16 : words[v / 2] & 0xffff0000u;
        float value;
        memcpy(&value, &bits, sizeof(value));
        return value;
    } else {
        return widen(items.at[v]);
    }
}

// Rounds V numbers; 16-bit ones in pairs, which one instruction can.
template <typename T, int V, typename C>
__device__ __forceinline__ pack<T, V> narrow_pack(const C (&values)[V])
{
    pack<T, V> items;
    if constexpr (sizeof(T) == 2 && V % 2 == 0) {
#pragma unroll
        for (int v = 0; v < V; v += 2) {
            narrow_pair(values[v], values[v + 1], items.at + v);
        }
    } else {
#pragma unroll
        for (int v = 0; v < V; v++) {
            items.at[v] = narrow<T>(values[v]);
        }
    }
    return items;
}

template <typename T, int V>
__device__ __forceinline__ pack<T, V> zero_pack()
{
    pack<T, V> items;
    memset(&items, 0, sizeof(items));
    return items;
}

// Items of a type known at run time; C is what they are computed in. The type is the same for all
// threads, so the branches cost little beside the memory.
template <typename C>
__device__ __forceinline__ C load_item(const void *data, int32_t dtype, int64_t i)
{
    if constexpr (sizeof(C) == sizeof(double)) {
        // f32 is computed in f64 where a norm would magnify its rounding.
        return dtype == TESS_F64 ? static_cast<const double *>(data)[i]
                                 : C(static_cast<const float *>(data)[i]);
    } else {
        switch (dtype) {
        case TESS_BF16:
            return widen(static_cast<const __nv_bfloat16 *>(data)[i]);
        case TESS_F16:
            return widen(static_cast<const __half *>(data)[i]);
        default:
            return static_cast<const float *>(data)[i];
        }
    }
}

template <typename C>
__device__ __forceinline__ void store_item(void *data, int32_t dtype, int64_t i, C value)
{
    if constexpr (sizeof(C) == sizeof(double)) {
        if (dtype == TESS_F64) {
            static_cast<double *>(data)[i] = value;
        } else {
            static_cast<float *>(data)[i] = float(value);
        }
    } else {
        switch (dtype) {
        case TESS_BF16:
            static_cast<__nv_bfloat16 *>(data)[i] = narrow<__nv_bfloat16>(value);
            break;
        case TESS_F16:
            static_cast<__half *>(data)[i] = narrow<__half>(value);
            break;
        default:
            static_cast<float *>(data)[i] = value;
        }
    }
}

inline int item_bytes(int32_t dtype)
{
    return dtype == TESS_F64 ? 8 : dtype == TESS_F32 ? 4 : 2;
}

// 1 / d and 1 / sqrt(d). A Newton step on an approximation is a fifth of the instructions of a
// division and as good as one.
__device__ __forceinline__ float inverse_of(float d)
{
    const float r = reciprocal_approximate(d);
    return fmaf(r, fmaf(-d, r, 1.0f), r);
}

__device__ __forceinline__ double inverse_of(double d)
{
    return 1.0 / d;
}

__device__ __forceinline__ float inverse_root_of(float d)
{
    const float r = root_reciprocal_approximate(d);
    return fmaf(0.5f * r, fmaf(-d * r, r, 1.0f), r);
}

__device__ __forceinline__ double inverse_root_of(double d)
{
    return 1.0 / sqrt(d);
}

// The factor of an activation at s and its first two derivatives.
template <typename C>
struct gate {
    C factor;
    C slope;
    C curve;
};

// exp(-s^2/2) times a polynomial of u = (t - 4)/(t + 4), t = |s|, is the lower tail of the normal
// distribution to 3 eps; a reciprocal that is off by one unit would cost another 2, hence the
// Newton step. Beyond 16 the exponential is 0 and the polynomial need only be finite.
__device__ __forceinline__ gate<float> normal_gate(float s)
{
    constexpr float coefficients[10] = {7.552851439e-01f,  -6.078965664e-01f, 3.871369064e-01f,
                                        -1.865236610e-01f, 6.040348858e-02f,  -7.524002343e-03f,
                                        -3.510203678e-03f, 1.568407868e-03f,  1.746488560e-04f,
                                        -1.342020842e-04f};
    const float d = fminf(fabsf(s), 16.0f) + 4.0f;
    const float near = plain_reciprocal_approximate(d);
    const float r = fmaf(near, fmaf(-d, near, 1.0f), near);
    const float u = fmaf(-8.0f, r, 1.0f);
    float p = coefficients[9];
#pragma unroll
    for (int i = 8; i >= 0; i--) {
        p = fmaf(p, u, coefficients[i]);
    }
    const float e = power_of_two_approximate(s * s * -0.72134752f);
    const float tail = e * (p * r);
    const float density = e * 0.39894228f;
    return {s > 0.0f ? 1.0f - tail : tail, density, -s * density};
}

// The same to 8e-5, a seventh of what rounding to f16 costs: half the instructions. The polynomial
// is one of r itself, and gives the tail in units of the density.
__device__ __forceinline__ gate<float> brief_normal_gate(float s)
{
    constexpr float coefficients[5] = {1.013331350e+00f, 3.322008493e+00f, 2.788842287e+01f,
                                       -6.171794754e+01f, 6.119372130e+02f};
    const float r = plain_reciprocal_approximate(fabsf(s) + 4.0f);
    float p = coefficients[4];
#pragma unroll
    for (int i = 3; i >= 0; i--) {
        p = fmaf(p, r, coefficients[i]);
    }
    const float density = power_of_two_approximate(fmaf(s * s, -0.72134752f, -1.32574806f));
    const float tail = density * (p * r);
    return {s > 0.0f ? 1.0f - tail : tail, density, -s * density};
}

__device__ __forceinline__ gate<double> normal_gate(double s)
{
    const double density = exp(-0.5 * s * s) * 0.3989422804014326779;
    return {0.5 * erfc(-s * 0.70710678118654752440), density, -s * density};
}

template <typename C>
__device__ __forceinline__ C logistic(C v)
{
    return C(1) / (C(1) + exp(-v));
}

// s times the logistic function of v(s): the tanh form of GELU without its cancellation.
template <typename C>
__device__ __forceinline__ gate<C> tanh_gate(C s)
{
    constexpr C scale = C(1.5957691216057307); // 2 sqrt(2/pi)
    constexpr C cubic = C(0.044715);
    const C square = s * s;
    const C v = scale * s * fma(cubic, square, C(1));
    const C v1 = scale * fma(C(3) * cubic, square, C(1));
    const C v2 = C(6) * scale * cubic * s;
    const C f = logistic(v);
    const C f1 = f * logistic(-v);
    const C f2 = f1 * (C(1) - C(2) * f);
    return {s * f, fma(s * f1, v1, f), fma(s, fma(f2 * v1, v1, f1 * v2), C(2) * f1 * v1)};
}

template <typename C>
__device__ __forceinline__ gate<C> gate_of(int32_t activation, C s)
{
    if (activation == TESS_CLIFFORD_GELU) {
        return normal_gate(s);
    }
    if (activation == TESS_CLIFFORD_GELU_TANH) {
        return tanh_gate(s);
    }
    if (activation == TESS_CLIFFORD_RELU) {
        return {s <= C(0) ? C(0) : s, s > C(0) ? C(1) : C(0), C(0)};
    }
    if (activation == TESS_CLIFFORD_SIGMOID) {
        const C f = logistic(s);
        const C f1 = f * logistic(-s);
        return {f, f1, f1 * (C(1) - C(2) * f)};
    }
    if (activation == TESS_CLIFFORD_TANH) {
        const C f = tanh(s);
        const C f1 = C(4) * logistic(C(2) * s) * logistic(C(-2) * s);
        return {f, f1, C(-2) * f * f1};
    }
    if (activation == TESS_CLIFFORD_SILU) {
        const C f = logistic(s);
        const C f1 = f * logistic(-s);
        // Where f1 is 0 a product with s would be 0 times infinity.
        const C turn = f1 > C(0) ? s : C(0);
        return {s * f, fma(turn, f1, f), f1 * fma(turn, C(1) - C(2) * f, C(2))};
    }
    return {C(1), C(0), C(0)};
}

// The same for several numbers: one branch, and the chains of the common gate side by side.
template <int M, typename C>
__device__ __forceinline__ void gates_of(int32_t activation, const C (&s)[M], gate<C> (&gates)[M])
{
    if (activation == TESS_CLIFFORD_GELU) {
#pragma unroll
        for (int m = 0; m < M; m++) {
            gates[m] = normal_gate(s[m]);
        }
    } else {
#pragma unroll
        for (int m = 0; m < M; m++) {
            gates[m] = gate_of(activation, s[m]);
        }
    }
}

// The threads that share a row: a part of a warp, a warp, or several. lanes is a power of two.
struct row_group {
    int lanes;
    int lane;
    int index; // among the groups of the block
    int count;

    __device__ __forceinline__ explicit row_group(int n_lane)
        : lanes(n_lane), lane(int(threadIdx.x) & (n_lane - 1)), index(int(threadIdx.x) / n_lane),
          count(int(blockDim.x) / n_lane)
    {
    }
    __device__ __forceinline__ void sync() const
    {
        if (lanes > 32) {
            part_barrier(index + 1, lanes);
        } else {
            __syncwarp();
        }
    }
};

__host__ __device__ constexpr int power_of_two_from(int n)
{
    int power = 1;
    while (power < n) {
        power *= 2;
    }
    return power;
}

// Items of shared memory that sum_over_group of M values needs for a block, whatever its groups.
__host__ __device__ constexpr int partials_per_block(int m, int threads)
{
    return 2 * power_of_two_from(m) * (threads / 32 < 32 ? 32 : threads / 32);
}

// Sums 2 * half values over a warp: lanes step apart add and keep one half of the values each.
template <int half, int step, typename C>
__device__ __forceinline__ void fold_pairs(C *values, int lane)
{
    if constexpr (half >= 1) {
        const bool is_upper = (lane & step) != 0;
#pragma unroll
        for (int i = 0; i < half; i++) {
            const C kept = is_upper ? values[i + half] : values[i];
            const C sent = is_upper ? values[i] : values[i + half];
            values[i] = kept + __shfl_xor_sync(all_lanes, sent, step);
        }
    } else {
        values[0] += __shfl_xor_sync(all_lanes, values[0], step);
    }
    if constexpr (step > 1) {
        fold_pairs<half / 2, step / 2>(values, lane);
    }
}

// Totals of every value over the group, the same bits in each lane. partials: the group's own, and
// another half each time, so that one barrier per sum is enough. Halving the values while lanes are
// paired costs about F + 5 shuffles instead of 5 F.
template <int M, typename C>
__device__ __forceinline__ void sum_over_group(C (&values)[M], const row_group &group, C *partials)
{
    if (group.lanes < 32) {
        for (int step = group.lanes >> 1; step > 0; step >>= 1) {
#pragma unroll
            for (int m = 0; m < M; m++) {
                values[m] += __shfl_xor_sync(all_lanes, values[m], step);
            }
        }
        return;
    }
    constexpr int F = power_of_two_from(M);
    const int lane = int(threadIdx.x) & 31;
    C folded[F];
#pragma unroll
    for (int m = 0; m < F; m++) {
        folded[m] = m < M ? values[m < M ? m : 0] : C(0);
    }
    fold_pairs<F / 2, 16>(folded, lane);
    // Lane now has the warp's total of value lane / (32 / F).
    constexpr int spread = 32 / F;
    const int n_warp = group.lanes / 32;
    C total = folded[0];
    if (n_warp > 1 && lane % spread == 0) {
        partials[lane / spread * n_warp + group.lane / 32] = total;
    }
    if (n_warp > 1) {
        group.sync();
    }
#pragma unroll
    for (int m = 0; m < M; m++) {
        if (n_warp > 1 && m * n_warp % 32 == 0) {
            total = partials[m * n_warp + lane];
            for (int pair = n_warp >> 1; pair > 0; pair >>= 1) {
                total += __shfl_xor_sync(all_lanes, total, pair);
            }
        }
        values[m] = __shfl_sync(all_lanes, total, n_warp > 1 ? m * n_warp & 31 : m * spread);
    }
}

} // namespace clifford

#endif
