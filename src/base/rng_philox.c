#include "base/rng.h"

#include <math.h>

enum { ROUNDS = 10 };

static void round_once(uint32_t c[4], const uint32_t k[2])
{
    const uint64_t p0 = UINT64_C(0xD2511F53) * c[0];
    const uint64_t p1 = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t c1 = c[1];
    const uint32_t c3 = c[3];
    c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k[0];
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k[1];
    c[3] = (uint32_t)p0;
}

void tess_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k[2] = {key[0], key[1]};
    for (int i = 0; i < 4; i++) {
        out[i] = counter[i];
    }
    for (int r = 0; r < ROUNDS; r++) {
        round_once(out, k);
        k[0] += 0x9E3779B9u; // golden ratio
        k[1] += 0xBB67AE85u; // sqrt(3) - 1
    }
}

tess_philox_stream tess_philox_open(uint64_t seed, uint32_t item, uint32_t purpose)
{
    return (tess_philox_stream){{(uint32_t)seed, (uint32_t)(seed >> 32)}, {item, purpose}};
}

static void block_at(const tess_philox_stream *stream, uint64_t i, uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), stream->stream[0],
                                 stream->stream[1]};
    tess_philox(counter, stream->key, words);
}

static double to_unit(uint32_t high, uint32_t low)
{
    const uint64_t bits = ((uint64_t)high << 32) | low;
    return (double)(bits >> 11) * 0x1p-53;
}

double tess_philox_uniform(const tess_philox_stream *stream, uint64_t i)
{
    uint32_t words[4];
    block_at(stream, i, words);
    return to_unit(words[0], words[1]);
}

// Both normals of block k.
static void normal_pair(const tess_philox_stream *stream, uint64_t k, double pair[2])
{
    uint32_t words[4];
    block_at(stream, k, words);
    const double u = 1.0 - to_unit(words[0], words[1]); // (0, 1]: the logarithm stays finite
    const double angle = 6.283185307179586 * to_unit(words[2], words[3]);
    const double radius = sqrt(-2.0 * log(u));
    pair[0] = radius * cos(angle);
    pair[1] = radius * sin(angle);
}

void tess_philox_normals(const tess_philox_stream *stream, uint64_t first, size_t n, double *out)
{
    double pair[2];
    size_t i = 0;
    if (n > 0 && first % 2 == 1) {
        normal_pair(stream, first / 2, pair);
        out[i++] = pair[1];
    }
    for (; i < n; i += 2) {
        normal_pair(stream, (first + i) / 2, pair);
        out[i] = pair[0];
        if (i + 1 < n) {
            out[i + 1] = pair[1];
        }
    }
}
