// Random numbers with fixed roles.
//
// Philox4x32-10 (Salmon et al., SC 2011): counter-based; the value at (key, counter) never depends
// on how much was drawn before, so results are the same for any thread count and tile.
// MT19937 with NumPy's legacy RandomState algorithms: where an original's splits and draws must be
// reproduced bit for bit. NumPy has frozen these streams.
// PCG64 with the algorithms of NumPy's default_rng: likewise, for data the original simulates.
#ifndef TESS_BASE_RNG_H
#define TESS_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

// Four 32-bit words for a counter and a key.
void tess_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

// A stream: one purpose of one seed. Index i of the stream is independent of all others.
typedef struct tess_philox_stream {
    uint32_t key[2];
    uint32_t stream[2]; // upper half of the counter: (item, purpose)
} tess_philox_stream;

tess_philox_stream tess_philox_open(uint64_t seed, uint32_t item, uint32_t purpose);

// Uniform in [0, 1) with 53 bits at index i.
double tess_philox_uniform(const tess_philox_stream *stream, uint64_t i);

// Standard normals at indices first..first+n-1 (Box-Muller: block k gives indices 2k and 2k+1).
void tess_philox_normals(const tess_philox_stream *stream, uint64_t first, size_t n, double *out);

// NumPy's RandomState.
typedef struct tess_mt19937 {
    uint32_t state[624];
    int32_t position;
    int32_t has_gauss;
    double gauss;
} tess_mt19937;

void tess_mt19937_seed(tess_mt19937 *rng, uint32_t seed);
uint32_t tess_mt19937_u32(tess_mt19937 *rng);
double tess_mt19937_double(tess_mt19937 *rng);
double tess_mt19937_gauss(tess_mt19937 *rng);
// Uniform integer in 0..max by masked rejection; max 0 draws nothing.
uint64_t tess_mt19937_interval(tess_mt19937 *rng, uint64_t max);
void tess_mt19937_shuffle(tess_mt19937 *rng, int64_t *items, int64_t n);
// out[0..n) = shuffled 0..n-1.
void tess_mt19937_permutation(tess_mt19937 *rng, int64_t n, int64_t *out);

// NumPy's default_rng(seed); high word first.
typedef struct tess_pcg64 {
    uint64_t state[2];
    uint64_t increment[2];
} tess_pcg64;

void tess_pcg64_seed(tess_pcg64 *rng, uint64_t seed);
uint64_t tess_pcg64_u64(tess_pcg64 *rng);
double tess_pcg64_double(tess_pcg64 *rng); // random()
double tess_pcg64_normal(tess_pcg64 *rng); // standard_normal()
int64_t tess_pcg64_poisson(tess_pcg64 *rng, double mean);

#endif
