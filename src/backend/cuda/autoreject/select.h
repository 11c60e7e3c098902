// Which pivots to count next in the search for the middle of many values.
//
// n values, of which those of rank k - 1 (even n only) and k = n / 2 from 0 are wanted. A bracket
// holds them: `n_low` values are below `low`, at most the rank of the first; `n_high` are below
// `high`, more than that of the last. Two pivots are counted at a time, aimed at ranks somewhat
// around the middle. Plain arithmetic, so that a test can run it on the host.
#ifndef TESS_CUDA_AUTOREJECT_SELECT_H
#define TESS_CUDA_AUTOREJECT_SELECT_H

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SELECT_FN __host__ __device__ __forceinline__
#else
#define SELECT_FN static inline
#endif

enum {
    SELECT_FEW = 64,     // values that are sorted rather than searched
    SELECT_SMOOTH = 5,   // passes that trust in a smooth distribution
    SELECT_BY_VALUE = 14 // passes before the representation is cut instead of the value
};

struct select_bracket {
    double low;
    double high;
    int n_low;
    int n_high;
};

enum select_side { SELECT_LOW, SELECT_HIGH, SELECT_HIT };

// Whole numbers in the order of the doubles, and back; one zero.
SELECT_FN uint64_t select_key(double x)
{
    const double value = x + 0.0;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t(1) << 63);
}

SELECT_FN double select_value(uint64_t key)
{
    const uint64_t bits = key >> 63 ? key & ~(uint64_t(1) << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The smallest value above x.
SELECT_FN double select_next(double x)
{
    return select_value(select_key(x) + 1);
}

// All values of the bracket are equal.
SELECT_FN bool select_is_closed(const select_bracket &b)
{
    return select_key(b.high) == select_key(b.low) + 1;
}

SELECT_FN double select_between(const select_bracket &b, double wished)
{
    if (!(wished > b.low)) {
        return select_next(b.low);
    }
    return wished < b.high ? wished : select_value(select_key(b.high) - 1);
}

// What count values below a pivot say of it. first is the smaller wanted rank, last the larger.
SELECT_FN select_side select_take(select_bracket &b, double pivot, int count, int first, int last)
{
    if (count <= first) {
        if (pivot > b.low) {
            b.low = pivot;
            b.n_low = count;
        }
        return SELECT_LOW;
    }
    if (count > last) {
        if (pivot < b.high) {
            b.high = pivot;
            b.n_high = count;
        }
        return SELECT_HIGH;
    }
    return SELECT_HIT;
}

// The next two pivots, strictly inside a bracket that is not closed or between its smallest values.
SELECT_FN void select_pivots(const select_bracket &b, int first, int last, int pass, double &lower,
                             double &upper)
{
    const double span = b.high - b.low;
    const int between = b.n_high - b.n_low;
    if (pass < SELECT_SMOOTH) {
        const int margin = between / 8 > 12 ? between / 8 : 12;
        const double step = span / double(between);
        const int below = first - b.n_low;
        const int above = last + 1 - b.n_low;
        lower = b.low + step * (below > margin ? double(below - margin) : 0.5 * double(below));
        upper = b.low + step * (above + margin < between ? double(above + margin)
                                                         : 0.5 * double(above + between));
    } else if (pass < SELECT_BY_VALUE && span < 1e300) {
        lower = b.low + span * (1.0 / 3);
        upper = b.low + span * (2.0 / 3);
    } else {
        const uint64_t low = select_key(b.low);
        const uint64_t third = (select_key(b.high) - low) / 3;
        lower = select_value(low + third);
        upper = select_value(low + 2 * third);
    }
    lower = select_between(b, lower);
    upper = select_between(b, upper);
}

#endif
