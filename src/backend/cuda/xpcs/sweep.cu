// A look at every point: pixels of maps, and lags. No sum has two writers, and none depends on how
// leaves are cut into calls.

#include "stage/xpcs_sweep.h"

#include "backend/cuda/xpcs/points.h"
#include "backend/cuda/xpcs/stages.h"
#include "backend/cuda/xpcs/tiles.h"
#include "backend/cuda/xpcs/two.h"

namespace
{

constexpr int threads = 128;
constexpr int bars = TESS_XP_SWEEP_BARS;

struct sweep {
    bool is_fitted;
    const double *diffusion;
    const double *shear; // NULL: static
    const double *two;   // NULL: one component
    double eps;
    const tess_xp_angle *angles; // from the first on
    const double *lag_sigma;     // likewise; NULL: none
    const int64_t *row_tile;
    const int64_t *row_offset;
    const unsigned char *records;
    tess_xp_cell *cells;
    tess_xp_sum *lags;
    tess_xp_sum *ages;
    unsigned long long *bars;
    int64_t age_lags[TESS_XP_SWEEP_LAGS];
    int64_t records_at;
    int64_t first_tile;
    int64_t end_tile;
    int64_t full_bytes; // of a record of all columns
    int64_t n_frame;
    int64_t side;
    int64_t n_age;
    int32_t n_record_angle; // of a record
    int32_t first_angle;
    int32_t first_row;
    int32_t end_row;
    int32_t item_bytes;
    int32_t use_sigma;
    int32_t power;
};

// What a thread knows of its angle.
struct lane {
    tess_xp_angle of;
    double amplitude, inverse, inverse_sigma;
    const double *lag_sigma;
    int angle; // of the records
};

__device__ lane lane_of(const sweep &a, int number)
{
    lane l;
    l.of = a.angles[number];
    l.amplitude = fabs(l.of.amplitude);
    l.inverse = l.amplitude > 0 ? 1 / l.amplitude : 0;
    l.inverse_sigma = sqrt(l.of.inverse_variance);
    l.lag_sigma = a.lag_sigma == nullptr ? nullptr : a.lag_sigma + int64_t(number) * a.n_frame;
    l.angle = a.first_angle + number;
    return l;
}

__device__ double rounded(double d, double eps)
{
    return eps == 0 ? fabs(d) : sqrt(fma(d, d, eps));
}

struct point {
    double y, fitted, z;
    bool is_there;
};

__device__ double fitted_at(const sweep &a, const lane &l, int64_t i, int64_t j)
{
    if (!a.is_fitted) {
        return 0;
    }
    if (a.two != nullptr) {
        return l.of.offset + l.of.contrast * xp_two_value(a.two, a.n_frame, a.eps, l.of, i, j);
    }
    const double far = -l.of.w2 * rounded(a.diffusion[j] - a.diffusion[i], a.eps);
    double m = far < -160 ? 0 : exp(far), t;
    if (a.shear != nullptr) {
        const double strain = rounded(a.shear[j] - a.shear[i], a.eps);
        const double b = fmin(strain, xp_far / l.amplitude);
        xp_laminar(m, b, strain > 0 ? 1 / strain : 0, l.amplitude, l.inverse, a.power, &m, &t);
    }
    return l.of.offset + l.of.contrast * m;
}

// Where the samples of a run of a row begin; c is the column within it.
__device__ point point_at(const sweep &a, const lane &l, const unsigned char *record, int width,
                          int64_t i, int64_t j, int c)
{
    const unsigned char *samples =
        record + int64_t(a.n_record_angle) * TESS_STAGE_XPCS_HEAD * int(sizeof(double));
    const int64_t at = int64_t(l.angle) * width + c;
    point p;
    p.y = a.item_bytes == 4 ? double(reinterpret_cast<const float *>(samples)[at])
                            : reinterpret_cast<const double *>(samples)[at];
    p.fitted = fitted_at(a, l, i, j);
    p.is_there = isfinite(p.y);
    double inverse = l.inverse_sigma;
    if (a.use_sigma) {
        const unsigned char *planes = samples + int64_t(a.n_record_angle) * width * a.item_bytes;
        inverse = sqrt(reinterpret_cast<const double *>(planes)[at]);
    } else if (l.lag_sigma != nullptr) {
        inverse = 1 / l.lag_sigma[j - i];
    }
    p.z = (p.y - p.fitted) * inverse;
    return p;
}

__device__ int padded(int n)
{
    return (n + TESS_STAGE_XPCS_PAD - 1) / TESS_STAGE_XPCS_PAD * TESS_STAGE_XPCS_PAD;
}

// The record of a run of a row; nullptr: it is not among these leaves.
__device__ const unsigned char *record_of(const sweep &a, int64_t row, int64_t run, int *width)
{
    const int64_t tile = a.row_tile[row] + run;
    const int64_t left = a.n_frame - (row + 1 + run * TESS_STAGE_XPCS_RUN);
    *width = padded(int(left < TESS_STAGE_XPCS_RUN ? left : int64_t(TESS_STAGE_XPCS_RUN)));
    return tile < a.first_tile || tile >= a.end_tile
               ? nullptr
               : a.records + (a.row_offset[row] + run * a.full_bytes - a.records_at);
}

__device__ int64_t first_of_pixel(const sweep &a, int64_t pixel)
{
    return (pixel * a.n_frame + a.side - 1) / a.side;
}

// A thread has a pixel: tile after tile of its rows.
__global__ void __launch_bounds__(threads) cell_kernel(const sweep a)
{
    const int64_t i_pixel = int64_t(a.first_row) * a.side / a.n_frame + blockIdx.y;
    const int64_t j_pixel = i_pixel + int64_t(blockIdx.x) * threads + threadIdx.x;
    if (j_pixel >= a.side) {
        return;
    }
    const lane l = lane_of(a, int(blockIdx.z));
    int64_t row = first_of_pixel(a, i_pixel), end_row = first_of_pixel(a, i_pixel + 1);
    row = row > a.first_row ? row : a.first_row;
    end_row = end_row < a.end_row ? end_row : a.end_row;
    const int64_t first = first_of_pixel(a, j_pixel), last = first_of_pixel(a, j_pixel + 1);
    tess_xp_cell *cell = a.cells + int64_t(blockIdx.z) * (a.side * (a.side + 1) / 2) +
                         i_pixel * a.side - i_pixel * (i_pixel - 1) / 2 + (j_pixel - i_pixel);
    tess_xp_cell sum = *cell;
    for (; row < end_row; row++) {
        for (int64_t j = first > row ? first : row + 1; j < last;) {
            const int64_t run = (j - row - 1) / TESS_STAGE_XPCS_RUN;
            const int64_t begin = row + 1 + run * TESS_STAGE_XPCS_RUN;
            const int64_t end =
                begin + TESS_STAGE_XPCS_RUN < last ? begin + TESS_STAGE_XPCS_RUN : last;
            int width;
            const unsigned char *record = record_of(a, row, run, &width);
            tess_xp_cell part = {};
            for (; j < end && record != nullptr; j++) {
                const point p = point_at(a, l, record, width, row, j, int(j - begin));
                part.fitted += p.fitted;
                part.n_pair++;
                if (p.is_there) {
                    part.measured += p.y;
                    part.residual += p.z;
                    part.n++;
                }
            }
            j = end;
            sum.measured += part.measured, sum.fitted += part.fitted;
            sum.residual += part.residual, sum.n += part.n, sum.n_pair += part.n_pair;
        }
    }
    *cell = sum;
}

// Which bar of the histogram a residual is of, as the CPU has it.
__device__ int bar_of(double z)
{
    const double at = (z + TESS_XP_SWEEP_RANGE) / (2 * TESS_XP_SWEEP_RANGE) * bars;
    return at >= 0 && at < bars ? int(at) : bars;
}

__device__ void add_age(const sweep &a, int number, int64_t row, int64_t lag, const point &p)
{
    for (int k = 0; k < TESS_XP_SWEEP_LAGS; k++) {
        if (a.age_lags[k] == lag) {
            const int64_t bin = (2 * row + lag) * a.n_age / (2 * a.n_frame);
            tess_xp_sum *age = a.ages + (int64_t(number) * TESS_XP_SWEEP_LAGS + k) * a.n_age + bin;
            age->measured += p.y, age->fitted += p.fitted, age->n++;
        }
    }
}

// A thread has a lag: row after row. Runs of a row begin behind the diagonal, so that a lag is
// always in the same one.
__global__ void __launch_bounds__(threads) lag_kernel(const sweep a)
{
    __shared__ unsigned counts[bars + 1];
    const int number = int(blockIdx.y);
    const int64_t lag = int64_t(blockIdx.x) * threads + threadIdx.x + 1;
    for (int k = int(threadIdx.x); k <= bars; k += threads) {
        counts[k] = 0;
    }
    __syncthreads();
    if (lag < a.n_frame) {
        const lane l = lane_of(a, number);
        const int64_t run = (lag - 1) / TESS_STAGE_XPCS_RUN;
        const int c = int((lag - 1) % TESS_STAGE_XPCS_RUN);
        bool is_aged = false;
        for (int k = 0; k < TESS_XP_SWEEP_LAGS; k++) {
            is_aged = is_aged || a.age_lags[k] == lag;
        }
        tess_xp_sum *to = a.lags + int64_t(number) * a.n_frame + lag;
        tess_xp_sum sum = *to;
        for (int64_t row = a.first_row; row < a.end_row && row + lag < a.n_frame; row++) {
            int width;
            const unsigned char *record = record_of(a, row, run, &width);
            if (record == nullptr) {
                continue;
            }
            const point p = point_at(a, l, record, width, row, row + lag, c);
            if (p.is_there) {
                sum.measured += p.y, sum.fitted += p.fitted;
                sum.residual += p.z, sum.squares += p.z * p.z, sum.n++;
                if (a.is_fitted) {
                    atomicAdd(&counts[bar_of(p.z)], 1u);
                }
                if (is_aged) {
                    add_age(a, number, row, lag, p);
                }
            }
        }
        *to = sum;
    }
    __syncthreads();
    for (int k = int(threadIdx.x); k <= bars; k += threads) {
        if (counts[k] > 0) {
            atomicAdd(a.bars + int64_t(number) * (bars + 1) + k, (unsigned long long)counts[k]);
        }
    }
}

sweep arguments_of(const tess_stage_xpcs_sweep &a)
{
    sweep s = {};
    const tess_xp_tiles &t = *a.tiles;
    const int64_t all = (a.first_leaf + a.n_leaf) * TESS_STAGE_XPCS_LEAF;
    s.is_fitted = a.grid != nullptr;
    s.diffusion = s.is_fitted ? a.grid->diffusion : nullptr;
    s.two = s.is_fitted ? a.grid->two : nullptr;
    s.shear = a.grid == nullptr || a.n_param == 3 ? nullptr : a.grid->shear;
    s.eps = a.grid == nullptr ? 0 : a.grid->eps_abs;
    s.angles = a.angles + a.first_angle;
    s.lag_sigma = a.lag_sigma == nullptr ? nullptr : a.lag_sigma + a.first_angle * t.n_frame;
    s.row_tile = t.row_tile;
    s.row_offset = t.row_offset;
    s.records = a.records;
    s.cells = a.cells;
    s.lags = a.lags;
    s.ages = a.ages;
    s.bars = reinterpret_cast<unsigned long long *>(a.bars);
    for (int k = 0; k < TESS_XP_SWEEP_LAGS; k++) {
        s.age_lags[k] = a.age_lags[k];
    }
    s.records_at = int64_t(a.records_at);
    s.first_tile = a.first_leaf * TESS_STAGE_XPCS_LEAF;
    s.end_tile = all < t.n_tile ? all : t.n_tile;
    s.full_bytes = xp_record_bytes(t.n_angle, t.item_bytes, t.has_sigma);
    s.n_frame = t.n_frame;
    s.side = a.side;
    s.n_age = a.n_age;
    s.n_record_angle = int32_t(t.n_angle);
    s.first_angle = int32_t(a.first_angle);
    s.first_row = xp_tile_at(t.n_frame, uint32_t(t.n_tile - s.first_tile)).row;
    s.end_row = xp_tile_at(t.n_frame, uint32_t(t.n_tile - (s.end_tile - 1))).row + 1;
    s.item_bytes = t.item_bytes;
    s.use_sigma = a.use_sigma;
    s.power = a.power;
    return s;
}

cudaError_t sweep_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_sweep *>(args);
    if (a.n_leaf == 0 || a.n_angle == 0) {
        return cudaSuccess;
    }
    constexpr int64_t most = 65535; // blocks of an axis
    for (int64_t first = 0; first < a.n_angle; first += most) {
        tess_stage_xpcs_sweep part = a;
        const int64_t n = a.n_angle - first < most ? a.n_angle - first : most;
        part.first_angle += first;
        part.cells += first * tess_xp_map_cells(a.side);
        part.lags += first * a.tiles->n_frame;
        part.ages += first * TESS_XP_SWEEP_LAGS * a.n_age;
        part.bars += first * (bars + 1);
        const sweep s = arguments_of(part);
        const int64_t i_first = int64_t(s.first_row) * s.side / s.n_frame;
        const int64_t i_last = int64_t(s.end_row - 1) * s.side / s.n_frame;
        const unsigned wide = unsigned((s.side - i_first + threads - 1) / threads);
        cell_kernel<<<dim3(wide, unsigned(i_last - i_first + 1), unsigned(n)), threads, 0,
                      stream>>>(s);
        lag_kernel<<<dim3(unsigned((s.n_frame + threads - 1) / threads), unsigned(n)), threads, 0,
                     stream>>>(s);
    }
    return cudaGetLastError();
}

tess_status sweep_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t sweep_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_xpcs_sweep = {
    TESS_STAGE_XPCS_SWEEP, "xpcs.sweep",        sizeof(tess_stage_xpcs_sweep),
    sweep_supports,        sweep_scratch_bytes, sweep_launch,
};
