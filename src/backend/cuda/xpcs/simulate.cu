// Simulated records: a block has a tile, its threads the columns, angle after angle.

#include "backend/cuda/xpcs/points.h"
#include "backend/cuda/xpcs/stages.h"
#include "backend/cuda/xpcs/tiles.h"
#include "backend/cuda/xpcs/two.h"

namespace
{

constexpr int threads = TESS_STAGE_XPCS_RUN;

struct simulation {
    const double *diffusion;
    const double *shear; // NULL: static
    const double *two;   // NULL: one component
    double eps;
    const tess_xp_angle *angles;
    const uint8_t *is_bad;
    const int64_t *row_offset;
    unsigned char *records;
    int64_t n_frame;
    int64_t n_tile;
    int64_t first_tile;
    uint64_t seed;
    double sigma;
    double nan_fraction;
    int32_t n_angle;
    int32_t item_bytes;
    int32_t has_sigma;
    int32_t power;
};

__device__ uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// In (0, 1).
__device__ double uniform(uint64_t key)
{
    return (double(int64_t(splitmix64(key) >> 11)) + 0.5) * 0x1p-53;
}

__device__ double noise(const simulation &a, uint64_t key)
{
    return a.sigma * sqrt(-2 * log(uniform(key))) * cospi(2 * uniform(key + 1));
}

// Sums of three numbers over the block, in the same order each time; valid in thread 0.
__device__ void sum_block(double (&x)[3])
{
    __shared__ double warps[threads / 32][3];
    for (int k = 0; k < 3; k++) {
        for (int step = 16; step > 0; step /= 2) {
            x[k] += __shfl_down_sync(0xffffffff, x[k], step);
        }
        if (threadIdx.x % 32 == 0) {
            warps[threadIdx.x / 32][k] = x[k];
        }
    }
    __syncthreads();
    for (int k = 0; k < 3 && threadIdx.x == 0; k++) {
        for (int w = 1; w < threads / 32; w++) {
            x[k] += warps[w][k];
        }
    }
    __syncthreads();
}

struct pair {
    double far, strain, inverse;
};

__device__ pair pair_of(const simulation &a, int64_t i, int64_t j)
{
    pair p = {};
    if (a.two != nullptr) {
        return p;
    }
    const double d = a.diffusion[j] - a.diffusion[i];
    p.far = a.eps == 0 ? fabs(d) : sqrt(fma(d, d, a.eps));
    if (a.shear != nullptr) {
        const double s = a.shear[j] - a.shear[i];
        p.strain = a.eps == 0 ? fabs(s) : sqrt(fma(s, s, a.eps));
        p.inverse = p.strain > 0 ? 1 / p.strain : 0;
    }
    return p;
}

__device__ double value_of(const simulation &a, const tess_xp_angle &of, const pair &p, int64_t i,
                           int64_t j)
{
    if (a.two != nullptr) {
        return fma(of.contrast, xp_two_value(a.two, a.n_frame, a.eps, of, i, j), of.offset);
    }
    const double exponent = -of.w2 * p.far;
    double m = exponent < -160 ? 0 : exp(exponent), t;
    if (a.shear != nullptr) {
        const double amplitude = fabs(of.amplitude);
        xp_laminar(m, fmin(p.strain, xp_far / amplitude), p.inverse, amplitude,
                   amplitude > 0 ? 1 / amplitude : 0, a.power, &m, &t);
    }
    return fma(of.contrast, m, of.offset);
}

__global__ void __launch_bounds__(threads) simulate_kernel(simulation a)
{
    const xp_tile tile = xp_tile_at(a.n_frame, uint32_t(a.n_tile - a.first_tile) - blockIdx.x);
    const xp_tile first = xp_tile_at(a.n_frame, uint32_t(a.n_tile - a.first_tile));
    const int64_t full = xp_record_bytes(a.n_angle, a.item_bytes, a.has_sigma);
    unsigned char *record = a.records + xp_record_at(a.row_offset, tile.row, tile.run, full) -
                            xp_record_at(a.row_offset, first.row, first.run, full);
    double *head = reinterpret_cast<double *>(record);
    unsigned char *samples = record + int64_t(a.n_angle) * TESS_STAGE_XPCS_HEAD * sizeof(double);
    unsigned char *behind = samples + int64_t(a.n_angle) * tile.width * a.item_bytes;
    double *sigmas = reinterpret_cast<double *>(behind);
    unsigned char *end = behind + (a.has_sigma ? int64_t(a.n_angle) * tile.width * 8 : 0);
    const int c = threadIdx.x;
    // The few bytes that fill the last line have a value too: records are hashed and written.
    if (c < (64 - (end - record) % 64) % 64) {
        end[c] = 0;
    }
    const int64_t i = tile.row, j = tile.column + (c < tile.n_column ? c : 0);
    const pair p = pair_of(a, i, j);
    const bool is_good =
        c < tile.n_column && (a.is_bad == nullptr || (a.is_bad[i] == 0 && a.is_bad[j] == 0));
    for (int angle = 0; angle < a.n_angle; angle++) {
        const tess_xp_angle &of = a.angles[angle];
        const uint64_t point =
            (uint64_t(angle) * uint64_t(a.n_frame) + uint64_t(i)) * uint64_t(a.n_frame) +
            uint64_t(j);
        const uint64_t key = (a.seed << 40) + 2 * point;
        const bool is_hole =
            !is_good || (a.nan_fraction > 0 &&
                         double(splitmix64(key ^ (uint64_t(1) << 63))) * 0x1p-64 < a.nan_fraction);
        double y = is_hole ? nan("") : value_of(a, of, p, i, j) + noise(a, key);
        if (c < tile.width) {
            const int64_t at = int64_t(angle) * tile.width + c;
            if (a.item_bytes == 4) {
                reinterpret_cast<float *>(samples)[at] = float(y);
                y = float(y);
            } else {
                reinterpret_cast<double *>(samples)[at] = y;
            }
            if (a.has_sigma) {
                const double whole = a.sigma > 0 ? 1 / (a.sigma * a.sigma) : 1;
                sigmas[at] = is_hole ? 0 : whole;
            }
        }
        const double d = is_hole ? 0 : y - of.mean;
        double sums[3] = {is_hole ? 0.0 : 1.0, d, d * d};
        sum_block(sums);
        if (c == 0) {
            for (int k = 0; k < 3; k++) {
                head[angle * TESS_STAGE_XPCS_HEAD + k] = sums[k];
            }
        }
    }
}

cudaError_t simulate_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_simulate *>(args);
    const int64_t first = a.first_leaf * TESS_STAGE_XPCS_LEAF;
    const int64_t left = a.tiles->n_tile - first, all = a.n_leaf * TESS_STAGE_XPCS_LEAF;
    const int64_t n = left < all ? left : all;
    if (n <= 0) {
        return cudaSuccess;
    }
    const simulation s = {a.grid->diffusion,
                          a.n_param == 3 ? nullptr : a.grid->shear,
                          a.grid->two,
                          a.grid->eps_abs,
                          a.angles,
                          a.is_bad,
                          a.tiles->row_offset,
                          a.records,
                          a.tiles->n_frame,
                          a.tiles->n_tile,
                          first,
                          a.seed,
                          a.sigma,
                          a.nan_fraction,
                          int32_t(a.tiles->n_angle),
                          a.tiles->item_bytes,
                          a.tiles->has_sigma,
                          a.power};
    simulate_kernel<<<unsigned(n), threads, 0, stream>>>(s);
    return cudaGetLastError();
}

tess_status simulate_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t simulate_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_xpcs_simulate = {
    TESS_STAGE_XPCS_SIMULATE, "xpcs.simulate",        sizeof(tess_stage_xpcs_simulate),
    simulate_supports,        simulate_scratch_bytes, simulate_launch,
};
