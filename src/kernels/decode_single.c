// One decoding spike against many encoding spikes, for latency; built once per ISA.

#include "kernels/decode_exp2.h"
#include "kernels/isa.h"

typedef struct single {
    const float *y, *x, *t, *base;
    size_t y_stride, n, n_feature;
} single;

// Adds base T_k(t) 2^-q of one vector of encoding spikes to the sums a.. (k = 0..7) and, if there
// are more, j.. (k = 8..11). T_k+1 = 2 t T_k - T_k-1 is one fused operation if of every four the
// last two have the other sign; the sums are turned round at the end.
#define TURN(sum, now, before)                                                                     \
    before = v_fnma_f32(twice, now, before);                                                       \
    sum = v_add_f32(sum, before)
#define GO_ON(sum, now, before)                                                                    \
    before = v_fma_f32(twice, now, before);                                                        \
    sum = v_add_f32(sum, before)

#define FIRST_8                                                                                    \
    const v_f32 twice = v_add_f32(place, place);                                                   \
    v_f32 even = v_mul_f32(base, tess_weight_of(q)), odd = v_mul_f32(even, place);                 \
    a = v_add_f32(a, even);                                                                        \
    b = v_add_f32(b, odd);                                                                         \
    TURN(c, odd, even);                                                                            \
    GO_ON(d, even, odd);                                                                           \
    TURN(e, odd, even);                                                                            \
    GO_ON(f, even, odd);                                                                           \
    TURN(g, odd, even);                                                                            \
    GO_ON(h, even, odd)

#define NEXT_4                                                                                     \
    TURN(j, odd, even);                                                                            \
    GO_ON(k, even, odd);                                                                           \
    TURN(l, odd, even);                                                                            \
    GO_ON(m, even, odd)

// -q of the encoding spikes from i on; a whole vector of them, or the last ones.
static inline v_f32 minus_q(const single *s, size_t i)
{
    v_f32 q = v_set1_f32(0);
    if (s->n_feature == 4) {
        const float *y = s->y + i;
        const v_f32 a = v_sub_f32(v_set1_f32(s->x[0]), v_load_f32(y));
        const v_f32 b = v_sub_f32(v_set1_f32(s->x[1]), v_load_f32(y + s->y_stride));
        const v_f32 c = v_sub_f32(v_set1_f32(s->x[2]), v_load_f32(y + 2 * s->y_stride));
        const v_f32 d = v_sub_f32(v_set1_f32(s->x[3]), v_load_f32(y + 3 * s->y_stride));
        q = v_fnma_f32(b, b, v_fnma_f32(a, a, q));
        return v_fnma_f32(d, d, v_fnma_f32(c, c, q));
    }
    for (size_t f = 0; f < s->n_feature; f++) {
        const v_f32 a = v_sub_f32(v_set1_f32(s->x[f]), v_load_f32(s->y + f * s->y_stride + i));
        q = v_fnma_f32(a, a, q);
    }
    return q;
}

static inline v_f32 last_minus_q(const single *s, size_t i)
{
    v_f32 q = v_set1_f32(0);
    for (size_t f = 0; f < s->n_feature; f++) {
        const v_f32 y = v_load_n_f32(s->y + f * s->y_stride + i, s->n - i, 0);
        const v_f32 a = v_sub_f32(v_set1_f32(s->x[f]), y);
        q = v_fnma_f32(a, a, q);
    }
    return q;
}

// The loop over the encoding spikes around a body of the sums; those past the end have base 0.
#define EACH_VECTOR(BODY)                                                                          \
    size_t i = 0;                                                                                  \
    for (; s->n - i >= v_len_f32(); i += v_len_f32()) {                                            \
        const v_f32 place = v_load_f32(s->t + i), base = v_load_f32(s->base + i);                  \
        const v_f32 q = minus_q(s, i);                                                             \
        BODY;                                                                                      \
    }                                                                                              \
    if (i < s->n) {                                                                                \
        const v_f32 place = v_load_n_f32(s->t + i, s->n - i, 0);                                   \
        const v_f32 base = v_load_n_f32(s->base + i, s->n - i, 0);                                 \
        const v_f32 q = last_minus_q(s, i);                                                        \
        BODY;                                                                                      \
    }

// Stores a vector of sums as row r of those to be added up across.
#define PUT(r, sum) v_store_f32(lanes + (r)*v_len_f32(), sum)

// The sums across the lanes of eight rows, with the sign that each of four in turn has.
static void add_across(const float *lanes, size_t n, float *moments)
{
    float sum[8];
    v_lane_sums_f32(lanes, sum);
    for (size_t r = 0; r < n; r++) {
        moments[r] = r % 4 < 2 ? sum[r] : -sum[r];
    }
}

static void up_to_8(const single *s, size_t order, float *moments)
{
    v_f32 a = v_set1_f32(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    EACH_VECTOR(FIRST_8)
    float lanes[8 * V_MAX_BYTES / sizeof(float)];
    PUT(0, a), PUT(1, b), PUT(2, c), PUT(3, d);
    PUT(4, e), PUT(5, f), PUT(6, g), PUT(7, h);
    add_across(lanes, order, moments);
}

static void up_to_12(const single *s, size_t order, float *moments)
{
    const v_f32 zero = v_set1_f32(0);
    v_f32 a = zero, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    v_f32 j = a, k = a, l = a, m = a;
    EACH_VECTOR(FIRST_8; NEXT_4)
    float lanes[8 * V_MAX_BYTES / sizeof(float)];
    PUT(0, a), PUT(1, b), PUT(2, c), PUT(3, d);
    PUT(4, e), PUT(5, f), PUT(6, g), PUT(7, h);
    add_across(lanes, 8, moments);
    PUT(0, j), PUT(1, k), PUT(2, l), PUT(3, m);
    PUT(4, zero), PUT(5, zero), PUT(6, zero), PUT(7, zero);
    add_across(lanes, order - 8, moments + 8);
}

void TESS_KFN(decode_single_f32)(const float *restrict y, size_t y_stride, size_t n,
                                 size_t n_feature, const float *restrict x, const float *restrict t,
                                 const float *restrict base, size_t order, float *restrict moments)
{
    const single s = {y, x, t, base, y_stride, n, n_feature};
    if (order <= 8) {
        up_to_8(&s, order, moments);
    } else {
        up_to_12(&s, order, moments);
    }
}

// Four sums hide the latency of a fused multiply-add. A vector holds a whole number of rows, or a
// row a whole number of vectors, or else it is done item by item.
void TESS_KFN(decode_place_f32)(const float *restrict table, const float *restrict moments,
                                size_t n_row, float *restrict out)
{
    const size_t step = v_len_f32();
    const size_t n = 8 * n_row;
    const size_t period = step < 8 ? 8 : step; // items after which lanes and columns repeat
    float lane[V_MAX_BYTES / sizeof(float)];
    memset(out, 0, 8 * sizeof *out);
    if (period % 8 != 0 || 8 % (step < 8 ? step : 8) != 0) {
        for (size_t i = 0; i < n; i++) {
            out[i % 8] += table[i] * moments[i];
        }
        return;
    }
    for (size_t first = 0; first < period; first += step) {
        v_f32 a = v_set1_f32(0), b = a, c = a, d = a;
        size_t i = first;
        for (; i + 3 * period + step <= n; i += 4 * period) {
            a = v_fma_f32(v_load_f32(table + i), v_load_f32(moments + i), a);
            b = v_fma_f32(v_load_f32(table + i + period), v_load_f32(moments + i + period), b);
            c = v_fma_f32(v_load_f32(table + i + 2 * period), v_load_f32(moments + i + 2 * period),
                          c);
            d = v_fma_f32(v_load_f32(table + i + 3 * period), v_load_f32(moments + i + 3 * period),
                          d);
        }
        for (; i < n; i += period) {
            const size_t left = n - i;
            a = left >= step ? v_fma_f32(v_load_f32(table + i), v_load_f32(moments + i), a)
                             : v_fma_f32(v_load_n_f32(table + i, left, 0),
                                         v_load_n_f32(moments + i, left, 0), a);
        }
        v_store_f32(lane, v_add_f32(v_add_f32(a, b), v_add_f32(c, d)));
        for (size_t k = 0; k < step; k++) {
            out[(first + k) % 8] += lane[k];
        }
    }
}
