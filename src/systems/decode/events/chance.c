// p-values over events: which there are, their q, and the share of small ones.
#include "base/blocks.h"
#include "systems/decode/events/events.h"

#include <math.h>
#include <stdlib.h>

int tess_decode_event_has_p(int32_t kind, int32_t score)
{
    // Where a shuffle cannot change a score there is nothing to ask.
    switch (score) {
    case TESS_DECODE_EVENT_SHARPNESS:
        return kind != TESS_DECODE_SHUFFLE_COLUMN && kind != TESS_DECODE_SHUFFLE_TIME;
    case TESS_DECODE_EVENT_COVERAGE:
        return kind != TESS_DECODE_SHUFFLE_TIME;
    case TESS_DECODE_EVENT_SPEED:
        return 0; // that of the distance
    default:
        return 1;
    }
}

double tess_de_event_statistic(int32_t score, double value)
{
    switch (score) {
    case TESS_DECODE_EVENT_WEIGHTED_CORRELATION:
        return fabs(value);
    case TESS_DECODE_EVENT_DISTANCE:
    case TESS_DECODE_EVENT_MAX_JUMP:
        return -value;
    default:
        return value;
    }
}

void tess_de_spread_add(tess_de_spread *spread, double value)
{
    enum { LAST = TESS_DE_SPREAD_PARTS - 1 };
    const double at = fabs(value) / spread->most * TESS_DE_SPREAD_PARTS;
    if (spread->most > 0 && !isnan(at)) {
        spread->counts[at < LAST ? (int)at : LAST]++;
    }
}

typedef struct ranked {
    double p;
    int64_t index;
} ranked;

static int by_p(const void *a, const void *b)
{
    const double p = ((const ranked *)a)->p;
    const double q = ((const ranked *)b)->p;
    return (p > q) - (p < q);
}

tess_status tess_decode_event_q(tess_context *ctx, const double *p, int64_t n, double *q)
{
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    ranked *order = tess_blocks_alloc(&blocks, n, sizeof *order, "p-values in order");
    if (!order) {
        return TESS_E_MEMORY;
    }
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        q[i] = (double)NAN;
        if (!isnan(p[i])) {
            order[m++] = (ranked){p[i], i};
        }
    }
    qsort(order, (size_t)m, sizeof *order, by_p);
    double least = 1;
    for (int64_t j = m; j > 0; j--) {
        least = fmin(least, order[j - 1].p * (double)m / (double)j);
        q[order[j - 1].index] = least;
    }
    tess_blocks_free(&blocks);
    return TESS_OK;
}

// log of the binomial coefficient.
static double log_choose(int64_t n, int64_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

// P(X >= k) of a binomial of n and 0 < p < 1.
static double upper_tail(int64_t n, int64_t k, double p)
{
    double term = exp(log_choose(n, k) + (double)k * log(p) + (double)(n - k) * log1p(-p));
    double sum = term;
    for (int64_t i = k; i < n; i++) {
        term *= (double)(n - i) / (double)(i + 1) * (p / (1 - p));
        sum += term;
    }
    return sum;
}

// p at which the upper tail from k on is as large as this.
static double solve_tail(int64_t n, int64_t k, double tail)
{
    double low = 0;
    double high = 1;
    for (int i = 0; i < 200 && high - low > 0; i++) {
        const double middle = 0.5 * (low + high);
        if (middle == low || middle == high) {
            break;
        }
        if (upper_tail(n, k, middle) < tail) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

tess_decode_event_share tess_decode_event_share_of(int64_t k, int64_t n)
{
    static const double out = 0.025; // on either side
    const double nothing = (double)NAN;
    if (n <= 0) {
        return (tess_decode_event_share){.share = nothing, .low = nothing, .high = nothing};
    }
    return (tess_decode_event_share){.n_event = n,
                                     .n_significant = k,
                                     .share = (double)k / (double)n,
                                     .low = k == 0 ? 0 : solve_tail(n, k, out),
                                     .high = k == n ? 1 : solve_tail(n, k + 1, 1 - out)};
}
