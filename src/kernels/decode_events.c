// Sums of window masses along lines; built once per ISA.
//
// Four vectors of neighbouring lines at a time: their sums stay in registers while the rows pass
// by, so that an item costs one load and one addition. A block that a row does not reach at all is
// left out; one that it reaches in part reads zeros beyond the row's ends.

#include "kernels/decode_events.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

// The largest of the first n of four vectors.
static double largest_of_part(v_f64 s0, v_f64 s1, v_f64 s2, v_f64 s3, size_t n)
{
    double items[4 * V_MAX_BYTES / sizeof(double)];
    const size_t step = v_len_f64();
    v_store_f64(items, s0);
    v_store_f64(items + step, s1);
    v_store_f64(items + 2 * step, s2);
    v_store_f64(items + 3 * step, s3);
    double most = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        most = items[i] > most ? items[i] : most;
    }
    return most;
}

void TESS_KFN(events_line)(const double *const *restrict rows, const int64_t *restrict shift,
                           const int64_t *restrict n_item, size_t n_row, double base, int64_t first,
                           size_t n, double *restrict best)
{
    const size_t step = v_len_f64();
    const size_t block = 4 * step;
    v_f64 most = v_set1_f64(-(double)INFINITY);
    double tail = -(double)INFINITY;
    for (size_t i = 0; i < n; i += block) {
        v_f64 s0 = v_set1_f64(base), s1 = s0, s2 = s0, s3 = s0;
        const int64_t at = first + (int64_t)i;
        for (size_t k = 0; k < n_row; k++) {
            const int64_t from = at + shift[k];
            if (from + (int64_t)block <= 0 || from >= n_item[k]) {
                continue;
            }
            const double *x = rows[k] + from;
            s0 = v_add_f64(s0, v_load_f64(x));
            s1 = v_add_f64(s1, v_load_f64(x + step));
            s2 = v_add_f64(s2, v_load_f64(x + 2 * step));
            s3 = v_add_f64(s3, v_load_f64(x + 3 * step));
        }
        if (n - i >= block) {
            most = v_max_f64(most, v_max_f64(v_max_f64(s0, s1), v_max_f64(s2, s3)));
        } else {
            tail = largest_of_part(s0, s1, s2, s3, n - i);
        }
    }
    const double whole = v_hmax_f64(most);
    *best = whole > tail ? whole : tail;
}

// Windows that move on by a bin every second point need no indices.
static void masses_of_run(const double *restrict l0, const double *restrict h0,
                          const double *restrict l1, const double *restrict h1, size_t n,
                          double less, double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = h0[i] - l0[i] - less;
        out[2 * i + 1] = h1[i] - l1[i] - less;
    }
}

void TESS_KFN(events_masses)(const double *restrict prefix, const int32_t *restrict low,
                             const int32_t *restrict high, const int32_t *restrict run, size_t n,
                             double less, double *restrict out)
{
    const size_t begin = (size_t)run[0];
    const size_t end = begin + 2 * (size_t)run[1];
    for (size_t m = 0; m < begin; m++) {
        out[m] = prefix[high[m]] - prefix[low[m]] - less;
    }
    if (end > begin) {
        masses_of_run(prefix + low[begin], prefix + high[begin], prefix + low[begin + 1],
                      prefix + high[begin + 1], (size_t)run[1], less, out + begin);
    }
    for (size_t m = end; m < n; m++) {
        out[m] = prefix[high[m]] - prefix[low[m]] - less;
    }
}

// A float that is not less: rounding takes half a unit in the last place, this gives back two.
static inline float not_below(double x)
{
    const float f = (float)x;
    return f + (fabsf(f) * 0x1p-22f + 0x1p-120f);
}

// x[i] = the larger of x[i] and x[i + ahead], i < n, in rising order.
static void widen(float *x, size_t n, size_t ahead)
{
    const size_t step = v_len_f32();
    size_t i = 0;
    for (; i + step <= n; i += step) {
        v_store_f32(x + i, v_max_f32(v_load_f32(x + i), v_load_f32(x + i + ahead)));
    }
    for (; i < n; i++) {
        x[i] = x[i] > x[i + ahead] ? x[i] : x[i + ahead];
    }
}

void TESS_KFN(events_reach)(const double *restrict rows, size_t n_row, size_t stride, size_t n,
                            size_t reach, float *restrict out)
{
    float *x = out + reach;
    for (size_t i = 0; i < reach; i++) {
        out[i] = 0;
        x[n + i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = not_below(rows[i]);
    }
    for (size_t r = 1; r < n_row; r++) {
        const double *row = rows + r * stride;
        for (size_t i = 0; i < n; i++) {
            const float y = not_below(row[i]);
            x[i] = y > x[i] ? y : x[i];
        }
    }
    // out[i] is the largest of `seen` items from here on; their number doubles.
    size_t seen = 1;
    for (; 2 * seen <= reach + 1; seen *= 2) {
        widen(out, n + 2 * reach - seen, seen);
    }
    if (reach + 1 > seen) {
        widen(out, n + reach, reach + 1 - seen);
    }
}

// Where the items of a row are that the first line of a block meets: no farther out than its zeros.
static inline const float *bounds_at(const float *row, int32_t from, int32_t n_item)
{
    const int32_t inside = from < n_item ? from : n_item;
    return row + (inside > -TESS_EVENTS_BLOCK ? inside : -TESS_EVENTS_BLOCK);
}

// Four vectors of neighbouring lines; vectors of SVE can be no members of a struct.
static inline void sum_lines(const float *restrict rows, size_t stride,
                             const int32_t *restrict shift, const int32_t *restrict n_item,
                             size_t n_row, int32_t at, size_t from, v_f32 *out0, v_f32 *out1,
                             v_f32 *out2, v_f32 *out3)
{
    const size_t step = v_len_f32();
    v_f32 s0 = v_set1_f32(0), s1 = s0, s2 = s0, s3 = s0;
    for (size_t k = 0; k < n_row; k++) {
        const float *x = bounds_at(rows + k * stride, at + shift[k], n_item[k]) + from;
        s0 = v_add_f32(s0, v_load_f32(x));
        s1 = v_add_f32(s1, v_load_f32(x + step));
        s2 = v_add_f32(s2, v_load_f32(x + 2 * step));
        s3 = v_add_f32(s3, v_load_f32(x + 3 * step));
    }
    *out0 = s0;
    *out1 = s1;
    *out2 = s2;
    *out3 = s3;
}

void TESS_KFN(events_bounds)(const float *restrict rows, size_t stride,
                             const int32_t *restrict shift, const int32_t *restrict n_item,
                             size_t n_row, int32_t first, size_t n_tile, float *restrict out)
{
    enum { BLOCK = TESS_EVENTS_BLOCK, LINES = TESS_EVENTS_LINES };
    const size_t step = v_len_f32();
    float sum[BLOCK + 4 * V_MAX_BYTES / sizeof(float)];
    v_f32 s0, s1, s2, s3;
    for (size_t j = 0; j < n_tile; j += BLOCK / LINES) {
        const int32_t at = first + (int32_t)(j * LINES);
        if (4 * step == BLOCK) {
            sum_lines(rows, stride, shift, n_item, n_row, at, 0, &s0, &s1, &s2, &s3);
            out[j] = v_hmax_f32(v_max_f32(s0, s1));
            if (j + 1 < n_tile) {
                out[j + 1] = v_hmax_f32(v_max_f32(s2, s3));
            }
            continue;
        }
        for (size_t i = 0; i < BLOCK; i += 4 * step) {
            sum_lines(rows, stride, shift, n_item, n_row, at, i, &s0, &s1, &s2, &s3);
            v_store_f32(sum + i, s0);
            v_store_f32(sum + i + step, s1);
            v_store_f32(sum + i + 2 * step, s2);
            v_store_f32(sum + i + 3 * step, s3);
        }
        for (size_t t = 0; t < BLOCK / LINES && j + t < n_tile; t++) {
            float most = -INFINITY;
            for (size_t i = 0; i < LINES; i++) {
                most = sum[t * LINES + i] > most ? sum[t * LINES + i] : most;
            }
            out[j + t] = most;
        }
    }
}

// s and j of the first slope. The product is a double's integer; the quotient may be one off.
static void begin_tile(const tess_events_tile *t)
{
    const double inverse = 1 / (double)t->n_step;
    for (size_t a = 0; a < t->n; a++) {
        const int32_t product = t->slope * t->time[a];
        int32_t shift = (int32_t)((double)product * inverse);
        int32_t rest = product - shift * t->n_step;
        const int32_t is_below = rest < 0;
        rest += is_below ? t->n_step : 0;
        const int32_t is_over = rest >= t->n_step;
        t->shift[a] = shift - is_below + is_over;
        t->rest[a] = rest - (is_over ? t->n_step : 0);
    }
}

// Where the first line's items are: no farther out than a tile's zeros.
static void place_tile(const tess_events_tile *t)
{
    enum { LINES = TESS_EVENTS_LINES };
    for (size_t a = 0; a < t->n; a++) {
        const int32_t c = t->class_of[t->rest[a]];
        const int32_t from = t->first + t->shift[a];
        const int32_t inside = from < t->n_item[c] ? from : t->n_item[c];
        t->offset[a] =
            ((int32_t)a * t->n_class + c) * (int32_t)t->width + (inside > -LINES ? inside : -LINES);
    }
}

static void turn_tile(const tess_events_tile *t)
{
    for (size_t a = 0; a < t->n; a++) {
        const int32_t rest = t->rest[a] + t->time[a];
        const int32_t is_over = rest >= t->n_step;
        t->rest[a] = rest - (is_over ? t->n_step : 0);
        t->shift[a] += is_over;
    }
}

// Lines low..high-1 of one slope.
static double best_of_slope(const tess_events_tile *t, int32_t low, int32_t high)
{
    const size_t step = v_len_f64();
    v_f64 most = v_set1_f64(-(double)INFINITY);
    double tail = -(double)INFINITY;
    for (int32_t i = 0; i < high; i += (int32_t)(4 * step)) {
        v_f64 s0 = v_set1_f64(t->base), s1 = s0, s2 = s0, s3 = s0;
        const double *rows = t->rows + i;
        for (size_t a = 0; a < t->n; a++) {
            const double *x = rows + t->offset[a];
            s0 = v_add_f64(s0, v_load_f64(x));
            s1 = v_add_f64(s1, v_load_f64(x + step));
            s2 = v_add_f64(s2, v_load_f64(x + 2 * step));
            s3 = v_add_f64(s3, v_load_f64(x + 3 * step));
        }
        if (i >= low && i + (int32_t)(4 * step) <= high) {
            most = v_max_f64(most, v_max_f64(v_max_f64(s0, s1), v_max_f64(s2, s3)));
            continue;
        }
        double items[4 * V_MAX_BYTES / sizeof(double)];
        v_store_f64(items, s0);
        v_store_f64(items + step, s1);
        v_store_f64(items + 2 * step, s2);
        v_store_f64(items + 3 * step, s3);
        for (int32_t l = low > i ? low : i; l < high && l < i + (int32_t)(4 * step); l++) {
            tail = items[l - i] > tail ? items[l - i] : tail;
        }
    }
    const double whole = v_hmax_f64(most);
    return whole > tail ? whole : tail;
}

void TESS_KFN(events_tile)(const tess_events_tile *restrict t, double *restrict best)
{
    *best = -(double)INFINITY;
    begin_tile(t);
    for (int32_t d = 0; d < t->n_slope; d++) {
        // The lines that are some, from 2 i + D >= 0 to 2 i + D <= last.
        const int32_t slope = t->slope + d;
        const int32_t first = -(slope >> 1);
        const int32_t end = ((t->last - slope) >> 1) + 1;
        const int32_t low = first > t->first ? first - t->first : 0;
        const int32_t high = end < t->first + t->n_line ? end - t->first : t->n_line;
        if (low < high) {
            place_tile(t);
            const double sum = best_of_slope(t, low, high);
            *best = sum > *best ? sum : *best;
        }
        turn_tile(t);
    }
}
