// The points of a tile: samples and weights, the model, and products by the factors of pairs.
#ifndef TESS_CUDA_XPCS_PASS_TAKE_H
#define TESS_CUDA_XPCS_PASS_TAKE_H

#include "backend/cuda/level.h"
#include "backend/cuda/xpcs/pass_shape.h"
#include "backend/cuda/xpcs/points.h"
#include "backend/cuda/xpcs/tiles.h"

namespace
{

#if TESS_CUDA_HAS_MATRIX
// 8 rows and columns by 4 of the inner axis: a quarter of what sm_90 does at once.
__device__ __forceinline__ void multiply_884(double &left, double &right, double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(left), "+d"(right)
        : "d"(a), "d"(b));
}
#endif

// Rows of a lane: top and bottom quantity of its two points; columns: the factors of both.
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&top)[2],
                                             const double (&bottom)[2], const double (&b)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(top[0]), "d"(bottom[0]), "d"(top[1]), "d"(bottom[1]), "d"(b[0]), "d"(b[1]));
#elif TESS_CUDA_HAS_MATRIX
    for (int k = 0; k < 2; k++) {
        multiply_884(d[0], d[1], top[k], b[k]);
        multiply_884(d[2], d[3], bottom[k], b[k]);
    }
#else
    const int lane = int(threadIdx.x) % 32;
    for (int k = 0; k < 8; k++) {
        const int row = lane / 4 * 4 + k % 4;
        const int column = lane % 4 * 8 + k % 4;
        const double left = __shfl_sync(0xffffffffu, b[k / 4], column);
        const double right = __shfl_sync(0xffffffffu, b[k / 4], column + 4);
        const double upper = __shfl_sync(0xffffffffu, top[k / 4], row);
        const double lower = __shfl_sync(0xffffffffu, bottom[k / 4], row);
        d[0] = fma(upper, left, d[0]);
        d[1] = fma(upper, right, d[1]);
        d[2] = fma(lower, left, d[2]);
        d[3] = fma(lower, right, d[3]);
    }
#endif
}

template <int weighing>
__device__ xp_lane lane_of(const xp_pass &a, const tess_xp_angle *angles, int angle, bool is_there)
{
    xp_lane lane = {};
    lane.is_there = is_there;
    if (is_there) {
        const tess_xp_angle &of = angles[angle];
        lane.w2 = of.w2;
        lane.mean = weighing == XP_ROBUST ? 0 : of.mean;
        lane.contrast = of.contrast;
        lane.offset = of.offset;
        lane.by = of.inverse_variance / (a.f_scale * a.f_scale);
        lane.amplitude = fabs(of.amplitude);
        lane.inverse = lane.amplitude > 0 ? 1 / lane.amplitude : 0;
        lane.lag_weight =
            a.lag_weight == nullptr ? nullptr : a.lag_weight + int64_t(angle) * a.n_frame;
    }
    return lane;
}

// The first tile of a block's part.
__device__ inline int64_t begin_of(const xp_pass &a, int64_t part)
{
    if (a.period == 0) {
        return a.first_tile + part * xp_part_tiles;
    }
    const int64_t n = a.first_leaf + part / xp_leaf_parts;
    const int64_t leaf = n / a.group * a.period + n % a.group;
    return leaf * TESS_STAGE_XPCS_LEAF + part % xp_leaf_parts * xp_part_tiles;
}

// Two neighbouring samples of an angle.
__device__ __forceinline__ double2 load_samples(const unsigned char *y, int item_bytes)
{
    if (item_bytes == 4) {
        const float2 narrow = __ldg(reinterpret_cast<const float2 *>(y));
        return make_double2(narrow.x, narrow.y);
    }
    // Samples begin behind the heads, 24 bytes an angle: only every other number of angles leaves
    // them at a multiple of 16.
    const double *wide = reinterpret_cast<const double *>(y);
    return make_double2(__ldg(wide), __ldg(wide + 1));
}

// Where the record of a tile has what.
struct record_parts {
    const double *head;
    const unsigned char *samples;
    const double *sigmas;
};

__device__ __forceinline__ record_parts parts_of(const xp_pass &a, const xp_tile &tile,
                                                 const unsigned char *record)
{
    record_parts r;
    r.head = reinterpret_cast<const double *>(record);
    r.samples = record + a.n_angle * TESS_STAGE_XPCS_HEAD * int(sizeof(double));
    r.sigmas = reinterpret_cast<const double *>(r.samples + a.n_angle * tile.width * a.item_bytes);
    return r;
}

// S1, Sy and Syy of a tile without weights; a thread has an angle.
__device__ __forceinline__ void add_heads(const record_parts &record, int first, int n,
                                          double (&heads)[3])
{
    if (int(threadIdx.x) < n) {
        const double *head = record.head + (first + int(threadIdx.x)) * TESS_STAGE_XPCS_HEAD;
        heads[0] += head[0], heads[1] += head[1], heads[2] += head[2];
    }
}

__device__ __forceinline__ void store_heads(const double (&heads)[3], int n, double *to)
{
    for (int k = 0; k < 3 && int(threadIdx.x) < n; k++) {
        to[threadIdx.x * 3 + k] = heads[k];
    }
}

// The weight of a point that is there.
__device__ __forceinline__ double weight_of(const xp_pass &a, const xp_tile &tile,
                                            const record_parts &record, const xp_lane &lane,
                                            int angle, int p)
{
    double v = 1;
    if (a.frame_weight != nullptr) {
        const double *frames = a.frame_weight + int64_t(blockIdx.z) * a.n_frame;
        v = frames[tile.row] * frames[tile.column + p];
    }
    if (lane.lag_weight != nullptr) {
        v *= lane.lag_weight[tile.column - tile.row + p];
    } else if (a.use_sigma) {
        v *= record.sigmas[angle * tile.width + p];
    }
    return v;
}

__device__ __forceinline__ float exponential(float x)
{
    return expf(x);
}
__device__ __forceinline__ double exponential(double x)
{
    return exp(x);
}

// What a lane sums.
template <int n_param, int want>
struct lane_sums {
    double d[n_product<n_param, want> + 1][4];
    double cost[3]; // Sf, Sff, Sfy of a cost alone
    xp_extra extra;
};

template <int n_param, int want>
__device__ __forceinline__ void add_products(lane_sums<n_param, want> *s, const xp_rows (&r)[2],
                                             const double *factors)
{
    constexpr int stride = slot_stride<n_param, want>;
    const double m[] = {r[0].m, r[1].m}, mm[] = {r[0].mm, r[1].mm}, mg[] = {r[0].mg, r[1].mg};
    if (want == COST) {
        s->cost[0] += m[0] + m[1], s->cost[1] += mm[0] + mm[1], s->cost[2] += mg[0] + mg[1];
        return;
    }
    const double first[] = {factors[0], factors[stride]};
    if (n_param == 3) {
        const double none[] = {0, 0};
        multiply_add(s->d[0], m, mm, first);
        if (want == GRADIENT) {
            multiply_add(s->d[1], mg, none, first);
        } else {
            const double second[] = {factors[32], factors[stride + 32]};
            multiply_add(s->d[1], mg, mm, second);
        }
        return;
    }
    const double t[] = {r[0].t, r[1].t}, tm[] = {r[0].tm, r[1].tm}, tg[] = {r[0].tg, r[1].tg};
    multiply_add(s->d[0], m, t, first);
    multiply_add(s->d[1], mm, tm, first);
    multiply_add(s->d[2], mg, tg, first);
    if (want == HESSIAN) {
        const double tt[] = {r[0].tt, r[1].tt};
        const double second[] = {factors[32], factors[stride + 32]};
        const double third[] = {factors[64], factors[stride + 64]};
        const double fourth[] = {factors[96], factors[stride + 96]};
        multiply_add(s->d[3], mm, tt, second);
        multiply_add(s->d[4], tm, tt, third);
        multiply_add(s->d[5], tt, tm, fourth);
    }
}

// The point at column p, whose sample is y.
template <typename T, int n_param, int weighing>
__device__ __forceinline__ xp_rows take_point(const xp_pass &a, const xp_tile &tile,
                                              const record_parts &record, const xp_lane &lane,
                                              bool is_one_q, int angle, int p, double y,
                                              const tile_factors<T> &f, xp_extra *extra)
{
    double g = y - lane.mean;
    bool is_there = lane.is_there && g == g;
    double v = 1;
    if (weighing != XP_PLAIN) {
        is_there = is_there && p < tile.n_column;
        v = is_there ? weight_of(a, tile, record, lane, angle, p) : 0;
    }
    g = is_there ? g : 0;
    T factor = f.e[p];
    if (!is_one_q) {
        factor = exponential(-T(lane.w2) * factor);
    }
    factor = is_there ? factor : T(0);
    double m = factor, t = 0;
    if (n_param == 7) {
        T narrow_m, narrow_t;
        xp_laminar(factor, f.b[p], f.inverse[p], T(lane.amplitude), T(lane.inverse), a.power,
                   &narrow_m, &narrow_t);
        m = narrow_m, t = narrow_t;
    }
    return xp_products<weighing>(a, lane, m, t, g, v, extra);
}

// The samples of a lane, octet after octet of columns, one ahead.
struct tile_samples {
    const unsigned char *y;
    double2 next;
    int step;
};

__device__ __forceinline__ tile_samples samples_of(const xp_pass &a, const xp_tile &tile,
                                                   const record_parts &record, const xp_lane &lane,
                                                   int angle, int slice, int n_slice)
{
    const int first = slice * 8 + int(threadIdx.x) % 4 * 2;
    tile_samples s;
    s.step = n_slice * 8 * a.item_bytes;
    s.y = record.samples + ((lane.is_there ? angle : 0) * tile.width + first) * a.item_bytes;
    s.next = first < tile.width ? load_samples(s.y, a.item_bytes) : make_double2(0, 0);
    return s;
}

template <typename T, int n_param, int want, int weighing>
__device__ __forceinline__ void
take_tile(const xp_pass &a, const xp_tile &tile, const record_parts &record, const xp_lane &lane,
          bool is_one_q, int angle, int slice, int n_slice, const tile_factors<T> &f,
          tile_samples samples, lane_sums<n_param, want> *s)
{
    const int at = threadIdx.x % 32, n_octet = tile.width / 8;
    for (int octet = slice; octet < n_octet; octet += n_slice) {
        const int p = octet * 8 + at % 4 * 2;
        const double2 now = samples.next;
        samples.y += samples.step;
        if (octet + n_slice < n_octet) { // while this one is worked on
            samples.next = load_samples(samples.y, a.item_bytes);
        }
        const xp_rows rows[] = {take_point<T, n_param, weighing>(a, tile, record, lane, is_one_q,
                                                                 angle, p, now.x, f, &s->extra),
                                take_point<T, n_param, weighing>(a, tile, record, lane, is_one_q,
                                                                 angle, p + 1, now.y, f,
                                                                 &s->extra)};
        add_products<n_param, want>(s, rows,
                                    f.factors + octet * 2 * slot_stride<n_param, want> + at);
    }
}

} // namespace

#endif
