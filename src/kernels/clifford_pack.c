// Rows of any type and layout to rows of f32 or f64, and back; built once per ISA. Plain loops,
// which the compiler turns into vectors of the ISA.

#include "base/half.h"
#include "kernels/isa.h"

// Features of a tile of interleaved components.
enum { TILE = 64 };

// As tess_f16_of_f32, every case computed and one chosen: loops over this have no branch.
static inline uint16_t f16_of(float value)
{
    const uint32_t bits = tess_bits_of_f32(value);
    const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    const uint32_t normal = (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13;
    const float size = tess_f32_of_bits(rest < 0x38800000u ? rest : 0);
    const uint32_t small = tess_bits_of_f32(size + 0.5f) - 0x3f000000u;
    const uint32_t finite = rest < 0x38800000u ? small : normal;
    const uint32_t large = rest > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (uint16_t)(sign | (rest >= 0x477ff000u ? large : finite));
}

// n items of a type, next to each other, to f32 and back.
static void widen_f32(const void *from, int dtype, size_t n, float *restrict to)
{
    const uint16_t *restrict half = from;
    if (dtype == TESS_F32) {
        memcpy(to, from, n * sizeof *to);
    } else if (dtype == TESS_BF16) {
        for (size_t i = 0; i < n; i++) {
            to[i] = tess_f32_of_bf16(half[i]);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            to[i] = tess_f32_of_f16(half[i]);
        }
    }
}

static void narrow_f32(const float *restrict from, size_t n, int dtype, void *to)
{
    uint16_t *restrict half = to;
    if (dtype == TESS_F32) {
        memcpy(to, from, n * sizeof *from);
    } else if (dtype == TESS_BF16) {
        for (size_t i = 0; i < n; i++) {
            half[i] = tess_bf16_of_f32(from[i]);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            half[i] = f16_of(from[i]);
        }
    }
}

static void widen_f64(const void *from, int dtype, size_t n, double *restrict to)
{
    (void)dtype;
    memcpy(to, from, n * sizeof *to);
}

static void narrow_f64(const double *restrict from, size_t n, int dtype, void *to)
{
    (void)dtype;
    memcpy(to, from, n * sizeof *from);
}

#define T_BITS 32
#include "kernels/clifford_pack_body.h"

#define T_BITS 64
#include "kernels/clifford_pack_body.h"
