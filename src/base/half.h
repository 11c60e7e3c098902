// The two 16-bit types: to f32 exactly, from f32 to the nearest (ties to even). NaN stays NaN.
#ifndef TESS_BASE_HALF_H
#define TESS_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float tess_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t tess_bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// bf16 is the upper half of an f32.
static inline float tess_f32_of_bf16(uint16_t half)
{
    return tess_f32_of_bits((uint32_t)half << 16);
}

static inline uint16_t tess_bf16_of_f32(float value)
{
    const uint32_t bits = tess_bits_of_f32(value);
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    // The carry must not turn a NaN into an infinity or a zero.
    return (uint16_t)(value != value ? bits >> 16 | 0x40u : rounded >> 16);
}

// f16 has 5 bits of exponent (bias 15) and 10 of mantissa; f32 has 8 (bias 127) and 23.
static inline float tess_f32_of_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t rest = half & 0x7fffu;
    // A multiplication moves the bias, and makes normal numbers of subnormal ones.
    const float scaled = tess_f32_of_bits(rest << 13) * 0x1p112f;
    const uint32_t bits = rest >= 0x7c00u ? rest << 13 | 0x7f800000u : tess_bits_of_f32(scaled);
    return tess_f32_of_bits(bits | sign);
}

static inline uint16_t tess_f16_of_f32(float value)
{
    const uint32_t bits = tess_bits_of_f32(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (rest >= 0x477ff000u) { // rounds to 2^16 or more
        return (uint16_t)(sign | 0x7c00u);
    }
    if (rest < 0x38800000u) {
        // Below the least normal number 2^-14: adding 1/2 leaves units of 2^-24 in the last place.
        const float shifted = tess_f32_of_bits(rest) + 0.5f;
        return (uint16_t)(sign | (tess_bits_of_f32(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u);
    return (uint16_t)(sign | rounded >> 13);
}

#endif
