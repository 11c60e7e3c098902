// The body of ptp for one dtype; included by ptp.c only.
//
// One pass carries both extremes. x86 min/max drop NaNs, which are tracked apart there; Arm has a
// minimum that keeps them, for nothing. Every ISA must give the same answer. Four accumulators of
// each kind keep the loads, not the latency of min and max, as the limit.
#include "kernels/simd/dtype.h"

#undef LOWER
#undef NOTE_NAN
#ifdef V_NAN_STICKS
#define LOWER(lo, a) V(at_most)(a, lo)
#define NOTE_NAN(nan, a, b) (nan)
#else
#define LOWER(lo, a) V(min)(lo, a)
#define NOTE_NAN(nan, a, b) V(mask_or)(nan, V(unordered)(a, b))
#endif

// One row is n items; the lanes past its end repeat its first item, which moves neither extreme.
static inline SCALAR V(ptp_row)(const SCALAR *restrict x, size_t n)
{
    const size_t step = V(len)();
    const SCALAR first = x[0];
    VF lo0 = V(set1)(first), lo1 = lo0, lo2 = lo0, lo3 = lo0;
    VF hi0 = lo0, hi1 = lo0, hi2 = lo0, hi3 = lo0;
    VM nan0 = V(isnan)(lo0), nan1 = nan0;
    size_t i = 0;

    for (; n - i >= 4 * step; i += 4 * step) {
        const VF a = V(load)(x + i), b = V(load)(x + i + step);
        const VF c = V(load)(x + i + 2 * step), d = V(load)(x + i + 3 * step);
        v_prefetch_ahead(x + i, 4 * step * sizeof(SCALAR));
        lo0 = LOWER(lo0, a), hi0 = V(max)(hi0, a);
        lo1 = LOWER(lo1, b), hi1 = V(max)(hi1, b);
        lo2 = LOWER(lo2, c), hi2 = V(max)(hi2, c);
        lo3 = LOWER(lo3, d), hi3 = V(max)(hi3, d);
        nan0 = NOTE_NAN(nan0, a, b);
        nan1 = NOTE_NAN(nan1, c, d);
    }
    for (; i < n; i += step) {
        const VF a = n - i >= step ? V(load)(x + i) : V(load_n)(x + i, n - i, first);
        v_prefetch_ahead(x + i, step * sizeof(SCALAR)); // of a row to come
        lo0 = LOWER(lo0, a), hi0 = V(max)(hi0, a);
        nan0 = NOTE_NAN(nan0, a, a);
    }

    const VF lo = LOWER(LOWER(lo0, lo1), LOWER(lo2, lo3));
    const VM nan = V(mask_or)(V(isnan)(lo), V(mask_or)(nan0, nan1));
    const VF hi = V(max)(V(max)(hi0, hi1), V(max)(hi2, hi3));
    // Which zero a minimum returns differs between ISAs; adding +0 leaves one of them.
    const SCALAR range = V(hmax)(hi) - V(hmin)(lo) + 0;
    // Infinity minus itself has another sign bit on x86 than on Arm: one NaN for all.
    return V(any)(nan) || isnan(range) ? (SCALAR)NAN : range;
}

void TESS_KFN(T_NAME(ptp))(const SCALAR *restrict x, size_t n_row, ptrdiff_t row_stride, size_t n,
                           SCALAR *restrict out)
{
    for (size_t r = 0; r < n_row; r++) {
        out[r] = V(ptp_row)(x + (ptrdiff_t)r * row_stride, n);
    }
}
