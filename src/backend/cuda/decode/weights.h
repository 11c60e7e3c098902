// Weights of pairs of spikes where the matrix instructions want them (matrix.h): a thread has two
// decoding spikes and four of a step.
#ifndef TESS_CUDA_DECODE_WEIGHTS_H
#define TESS_CUDA_DECODE_WEIGHTS_H

#include "backend/cuda/decode/kde.h"

#include <cuda_bf16.h>

#include <cstring>

__device__ inline float power(float exponent)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(exponent));
    return y;
}

__device__ inline uint32_t pair(float a, float b)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
    uint32_t bits;
    memcpy(&bits, &both, sizeof bits);
    return bits;
}

// The left matrix: weights of a thread's two spikes with four of a step, in two parts.
struct left {
    uint32_t upper[4];
    uint32_t lower[4];
};

// Neither compiler nor assembler know that products still read their left matrix after they
// started: they must not have the registers for the next one before this. Naming them in an empty
// asm does not reach the assembler; stores to shared memory that are never made do.
__device__ inline void keep_allocated(const left &a, uint32_t to, bool never)
{
    asm volatile("{\n"
                 ".reg .pred is_made;\n"
                 "setp.ne.b32 is_made, %8, 0;\n"
                 "@is_made st.shared.v4.b32 [%9], {%0, %1, %2, %3};\n"
                 "@is_made st.shared.v4.b32 [%9 + 16], {%4, %5, %6, %7};\n"
                 "}" ::"r"(a.upper[0]),
                 "r"(a.upper[1]), "r"(a.upper[2]), "r"(a.upper[3]), "r"(a.lower[0]),
                 "r"(a.lower[1]), "r"(a.lower[2]), "r"(a.lower[3]), "r"(int(never)), "r"(to)
                 : "memory");
}

__device__ inline void split(float a, float b, uint32_t *upper, uint32_t *lower)
{
    *upper = pair(a, b);
    *lower = pair(a - __uint_as_float(*upper << 16), b - __uint_as_float(*upper & 0xffff0000u));
}

// A thread's decoding spikes: in registers, or the scaled marks of its first.
template <int features>
struct own_spikes {
    float x[2][features > 0 ? features : 1];
    const float *marks; // [feature][spikes]
    int n_feature;
};

// Adds a feature of two spikes and four of a step to their squared distances.
__device__ inline void add_feature(const float (&x)[2], float4 y, float (&q)[2][4])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float d[4] = {x[h] - y.x, x[h] - y.y, x[h] - y.z, x[h] - y.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            q[h][k] = fmaf(-d[k], d[k], q[h][k]);
        }
    }
}

// Marks of a thread's four spikes of a step: read ahead where there are registers for it.
template <int features>
struct step_marks {
    float4 y[features > 0 ? features : 1] = {};
    const float4 *at = nullptr;
    __device__ void read(const float *marks)
    {
        at = reinterpret_cast<const float4 *>(marks) + threadIdx.x % 4;
#pragma unroll
        for (int f = 0; f < features; f++) {
            y[f] = at[4 * f];
        }
    }
};

template <int features>
__device__ inline left weights(const own_spikes<features> &own, const step_marks<features> &marks)
{
    float q[2][4] = {};
    if constexpr (features > 0) {
#pragma unroll
        for (int f = 0; f < features; f++) {
            add_feature({own.x[0][f], own.x[1][f]}, marks.y[f], q);
        }
    } else {
        for (int f = 0; f < own.n_feature; f++) {
            add_feature({own.marks[f * kde_tile_spikes], own.marks[f * kde_tile_spikes + 8]},
                        marks.at[4 * f], q);
        }
    }
    left a;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        split(power(q[h][0]), power(q[h][1]), &a.upper[h], &a.lower[h]);
        split(power(q[h][2]), power(q[h][3]), &a.upper[2 + h], &a.lower[2 + h]);
    }
    return a;
}

#endif
