// NumPy's default_rng: SeedSequence, PCG64 (XSL-RR) and the draws we need of its Generator.
#include "base/rng.h"
#include "base/rng_ziggurat.h"

#include <math.h>

__extension__ typedef unsigned __int128 uint128;

enum { POOL = 4 };

static uint32_t fold(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mix(uint32_t x, uint32_t y)
{
    const uint32_t value = 0xCA01F9DDu * x - 0x4973F715u * y;
    return value ^ value >> 16;
}

// Spreads a seed over words (O'Neill's seed_seq_fe with 128 bits of entropy).
static void seed_sequence(uint64_t seed, uint64_t *words, int n_word)
{
    const uint32_t entropy[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
    uint32_t pool[POOL];
    uint32_t constant = 0x43B0D7E5u;
    for (int i = 0; i < POOL; i++) {
        pool[i] = fold(entropy[i], &constant, 0x931E8875u);
    }
    for (int from = 0; from < POOL; from++) {
        for (int to = 0; to < POOL; to++) {
            if (from != to) {
                pool[to] = mix(pool[to], fold(pool[from], &constant, 0x931E8875u));
            }
        }
    }
    constant = 0x8B51F9DDu;
    for (int i = 0; i < n_word; i++) {
        const uint64_t low = fold(pool[2 * i % POOL], &constant, 0x58F38DEDu);
        const uint64_t high = fold(pool[(2 * i + 1) % POOL], &constant, 0x58F38DEDu);
        words[i] = high << 32 | low;
    }
}

static uint128 load(const uint64_t pair[2])
{
    return (uint128)pair[0] << 64 | pair[1];
}

static void store(uint128 value, uint64_t pair[2])
{
    pair[0] = (uint64_t)(value >> 64);
    pair[1] = (uint64_t)value;
}

static void step(tess_pcg64 *rng)
{
    static const uint64_t multiplier[2] = {UINT64_C(2549297995355413924),
                                           UINT64_C(4865540595714422341)};
    store(load(rng->state) * load(multiplier) + load(rng->increment), rng->state);
}

void tess_pcg64_seed(tess_pcg64 *rng, uint64_t seed)
{
    uint64_t words[4];
    seed_sequence(seed, words, 4);
    store(0, rng->state);
    store(load(words + 2) << 1 | 1, rng->increment);
    step(rng);
    store(load(rng->state) + load(words), rng->state);
    step(rng);
}

uint64_t tess_pcg64_u64(tess_pcg64 *rng)
{
    step(rng);
    const uint64_t value = rng->state[0] ^ rng->state[1];
    const int turn = (int)(rng->state[0] >> 58);
    return value >> turn | value << (-turn & 63);
}

double tess_pcg64_double(tess_pcg64 *rng)
{
    return (double)(tess_pcg64_u64(rng) >> 11) * 0x1p-53;
}

// What lies beyond the last strip (Marsaglia 1964).
static double draw_tail(tess_pcg64 *rng, int negative)
{
    const double start = ziggurat_x[255];
    for (;;) {
        const double x = -0.27366123732975827203 * log1p(-tess_pcg64_double(rng)); // 1 / start
        const double y = -log1p(-tess_pcg64_double(rng));
        if (y + y > x * x) {
            return negative ? -(start + x) : start + x;
        }
    }
}

static double bell(double x)
{
    return exp(-0.5 * x * x);
}

double tess_pcg64_normal(tess_pcg64 *rng)
{
    for (;;) {
        const uint64_t word = tess_pcg64_u64(rng);
        const int strip = (int)(word & 0xFF);
        const uint64_t bits = word >> 9 & UINT64_C(0xFFFFFFFFFFFFF);
        const double size = (double)bits * 0x1p-52 * ziggurat_x[strip];
        const double x = word & 0x100 ? -size : size;
        // Left of the strip above (of the tail, in the base strip) a point is under the curve.
        const double inner = strip == 0 ? ziggurat_x[255] : strip == 1 ? 0 : ziggurat_x[strip - 1];
        if (size < inner) {
            return x;
        }
        if (strip == 0) {
            return draw_tail(rng, bits >> 8 & 1);
        }
        const double low = bell(ziggurat_x[strip]);
        if ((bell(inner) - low) * tess_pcg64_double(rng) + low < bell(x)) {
            return x;
        }
    }
}

// ln Gamma(x) for x >= 1 by Stirling's series from 10 upwards.
static double log_gamma(double x)
{
    double shift = 0;
    for (; x < 10; x++) {
        shift += log(x);
    }
    const double y = 1 / (x * x);
    const double series =
        (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x;
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - shift;
}

// Hoermann's transformed rejection with squeeze (PTRS, 1993).
static int64_t poisson_large(tess_pcg64 *rng, double mean)
{
    const double b = 0.931 + 2.53 * sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double limit = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = tess_pcg64_double(rng) - 0.5;
        const double v = tess_pcg64_double(rng);
        const double us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= limit) {
            return (int64_t)k;
        }
        if (k < 0 || (us < 0.013 && v > us)) {
            continue;
        }
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            k * log(mean) - mean - log_gamma(k + 1)) {
            return (int64_t)k;
        }
    }
}

int64_t tess_pcg64_poisson(tess_pcg64 *rng, double mean)
{
    if (mean >= 10) {
        return poisson_large(rng, mean);
    }
    if (!(mean > 0)) {
        return 0;
    }
    const double end = exp(-mean);
    int64_t k = 0;
    for (double product = tess_pcg64_double(rng); product > end;
         product *= tess_pcg64_double(rng)) {
        k++;
    }
    return k;
}
