#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { N = 624, M = 397 };

void tess_mt19937_seed(tess_mt19937 *rng, uint32_t seed)
{
    memset(rng, 0, sizeof *rng);
    rng->state[0] = seed;
    for (uint32_t i = 1; i < N; i++) {
        const uint32_t previous = rng->state[i - 1];
        rng->state[i] = 1812433253u * (previous ^ (previous >> 30)) + i;
    }
    rng->position = N;
}

static uint32_t twist(uint32_t upper, uint32_t lower)
{
    const uint32_t y = (upper & 0x80000000u) | (lower & 0x7FFFFFFFu);
    return (y >> 1) ^ (0x9908B0DFu & (0u - (y & 1u)));
}

static void refill(tess_mt19937 *rng)
{
    uint32_t *s = rng->state;
    for (int i = 0; i < N; i++) {
        s[i] = s[(i + M) % N] ^ twist(s[i], s[(i + 1) % N]);
    }
    rng->position = 0;
}

uint32_t tess_mt19937_u32(tess_mt19937 *rng)
{
    if (rng->position == N) {
        refill(rng);
    }
    uint32_t y = rng->state[rng->position++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

double tess_mt19937_double(tess_mt19937 *rng)
{
    const uint32_t a = tess_mt19937_u32(rng) >> 5;
    const uint32_t b = tess_mt19937_u32(rng) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

double tess_mt19937_gauss(tess_mt19937 *rng)
{
    if (rng->has_gauss) {
        rng->has_gauss = 0;
        return rng->gauss;
    }
    double x1;
    double x2;
    double r2;
    do {
        x1 = 2.0 * tess_mt19937_double(rng) - 1.0;
        x2 = 2.0 * tess_mt19937_double(rng) - 1.0;
        r2 = x1 * x1 + x2 * x2;
    } while (r2 >= 1.0 || r2 == 0.0);
    const double f = sqrt(-2.0 * log(r2) / r2);
    rng->gauss = f * x1;
    rng->has_gauss = 1;
    return f * x2;
}

uint64_t tess_mt19937_interval(tess_mt19937 *rng, uint64_t max)
{
    if (max == 0) {
        return 0;
    }
    uint64_t mask = max;
    for (int shift = 1; shift < 64; shift *= 2) {
        mask |= mask >> shift;
    }
    uint64_t value;
    if (max <= UINT32_MAX) {
        do {
            value = tess_mt19937_u32(rng) & mask;
        } while (value > max);
        return value;
    }
    do {
        const uint64_t high = tess_mt19937_u32(rng);
        value = ((high << 32) | tess_mt19937_u32(rng)) & mask;
    } while (value > max);
    return value;
}

void tess_mt19937_shuffle(tess_mt19937 *rng, int64_t *items, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)tess_mt19937_interval(rng, (uint64_t)i);
        const int64_t item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

void tess_mt19937_permutation(tess_mt19937 *rng, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = i;
    }
    tess_mt19937_shuffle(rng, out, n);
}
