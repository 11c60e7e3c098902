// The original's search on a table of objectives: quantiles, then steps of a Gaussian process.
//
// Its length scale is one volt, so the kernel's matrix is ones but for the ninth digit, and what
// the process proposes hangs on roundings. It is done in the plainest order there is (left-looking
// factor, substitutions by rows), a row at a time: the rows that exist do not change when a point
// is added, and have the bits of a factor made anew. What it would not propose for sure is found by
// bounds, and left out.
#include "base/status.h"
#include "systems/autoreject/threshold/search.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { N_STEP = 10, MAX_INITIAL = 40, MAX_POINT = MAX_INITIAL + 1 + N_STEP };
enum { LANES = 32 }; // candidates that are gone through together

static const double NOISE = 1e-10;
static const double LEAST_SD = 1e-12; // added to a deviation that is divided by
static const double SQRT_HALF = 0.70710678118654752440;
static const double INVERSE_SQRT_TWO_PI = 0.39894228040143267794;

typedef struct process {
    int64_t n_candidate;     // distinct
    int64_t n_block;         // of LANES; the last is filled up with the last candidate
    const double *candidate; // [n_block][LANES], ascending
    double *covariance;      // [n_block][MAX_POINT][LANES] of each candidate with each point
    double *solved;          // [n_block][MAX_POINT][LANES] factor^-1 covariance
    double *explained;       // [n_block][LANES] sum of squares of solved over points
    double *deviation;       // [n_block][LANES]
    double *mean;            // [n_block][LANES] but for some error
    int64_t n_point;
    double point[MAX_POINT];
    double objective[MAX_POINT];
    double factor[MAX_POINT][MAX_POINT];
} process;

// exp(x) of x from -2^-14 to 0: what is left out of the series is below 2^-60.
static const double SMALL = 0x1p-14;

static inline double exp_of_small(double x)
{
    return 1 + (x + x * x * (0.5 + x * (1.0 / 6)));
}

static inline double minus_half_square(double a, double b)
{
    const double d = a - b;
    return -0.5 * (d * d);
}

static double covariance_of(double a, double b)
{
    const double x = minus_half_square(a, b);
    return x >= -SMALL ? exp_of_small(x) : exp(x);
}

// The largest -log of a covariance: points are candidates.
static double widest(const process *p)
{
    return -minus_half_square(p->candidate[p->n_candidate - 1], p->candidate[0]);
}

// A row of the factor for another point.
static void add_point(process *p, double point, double objective)
{
    const int64_t n = p->n_point++;
    p->point[n] = point;
    p->objective[n] = objective;
    double *row = p->factor[n];
    double left = 1 + NOISE;
    for (int64_t j = 0; j < n; j++) {
        double sum = covariance_of(point, p->point[j]);
        for (int64_t k = 0; k < j; k++) {
            sum -= row[k] * p->factor[j][k];
        }
        row[j] = sum / p->factor[j][j];
    }
    for (int64_t k = 0; k < n; k++) {
        left -= row[k] * row[k];
    }
    row[n] = sqrt(left);
}

static void cover(const double *candidate, double point, bool is_small, double *covariance)
{
    for (int l = 0; is_small && l < LANES; l++) {
        covariance[l] = exp_of_small(minus_half_square(candidate[l], point));
    }
    for (int l = 0; !is_small && l < LANES; l++) {
        covariance[l] = covariance_of(candidate[l], point);
    }
}

// to -= row[k] from[k], in order; four at a time, so that to is loaded and stored less often.
static void subtract(const double *restrict row, const double (*restrict from)[LANES], int64_t n,
                     double *restrict to)
{
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const double a = row[k], b = row[k + 1], c = row[k + 2], d = row[k + 3];
        const double *restrict x = from[k], *restrict y = from[k + 1];
        const double *restrict z = from[k + 2], *restrict w = from[k + 3];
        for (int l = 0; l < LANES; l++) {
            to[l] = (((to[l] - a * x[l]) - b * y[l]) - c * z[l]) - d * w[l];
        }
    }
    for (; k < n; k++) {
        for (int l = 0; l < LANES; l++) {
            to[l] -= row[k] * from[k][l];
        }
    }
}

// The rows of points from first on of a block of candidates.
static void solve_block(process *p, int64_t block, int64_t first, bool is_small)
{
    double(*covariance)[LANES] = (double(*)[LANES])p->covariance + block * MAX_POINT;
    double(*solved)[LANES] = (double(*)[LANES])p->solved + block * MAX_POINT;
    double *explained = p->explained + block * LANES;
    for (int64_t n = first; n < p->n_point; n++) {
        const double *row = p->factor[n];
        cover(p->candidate + block * LANES, p->point[n], is_small, covariance[n]);
        memcpy(solved[n], covariance[n], sizeof solved[n]);
        subtract(row, (const double(*)[LANES])solved, n, solved[n]);
        for (int l = 0; l < LANES; l++) {
            solved[n][l] /= row[n];
            explained[l] += solved[n][l] * solved[n][l];
        }
    }
}

static void solve(process *p, int64_t first)
{
    const bool is_small = widest(p) <= SMALL;
    for (int64_t block = 0; block < p->n_block; block++) {
        solve_block(p, block, first, is_small);
    }
}

// (factor factor^T)^-1 objective
static void weigh(const process *p, double weight[MAX_POINT])
{
    for (int64_t i = 0; i < p->n_point; i++) {
        double sum = p->objective[i];
        for (int64_t k = 0; k < i; k++) {
            sum -= p->factor[i][k] * weight[k];
        }
        weight[i] = sum / p->factor[i][i];
    }
    for (int64_t i = p->n_point; i-- > 0;) {
        double sum = weight[i];
        for (int64_t k = i + 1; k < p->n_point; k++) {
            sum -= p->factor[k][i] * weight[k];
        }
        weight[i] = sum / p->factor[i][i];
    }
}

static inline void add_exactly(double *sum, double *lost, double term)
{
    const double next = *sum + term;
    const double taken = next - *sum;
    *lost += (*sum - (next - taken)) + (term - taken);
    *sum = next;
}

// Sum of covariance times weight. Weights are ten digits larger than the mean, so what rounding
// takes from the sum is kept and added at the end; without it one golden channel of 44 misses the
// original's proposal.
static double mean_of(const process *p, const double *weight, int64_t candidate)
{
    const double *covariance =
        p->covariance + candidate / LANES * MAX_POINT * LANES + candidate % LANES;
    double mean = 0, lost = 0;
    for (int64_t k = 0; k < p->n_point; k++) {
        add_exactly(&mean, &lost, covariance[k * LANES] * weight[k]);
    }
    return mean + lost;
}

static double normal_cdf(double z)
{
    const double x = z * SQRT_HALF;
    if (fabs(x) < SQRT_HALF) {
        return 0.5 + 0.5 * erf(x);
    }
    const double tail = 0.5 * erfc(fabs(x));
    return x > 0 ? 1 - tail : tail;
}

// The search among the candidates for the first smallest acquisition.
typedef struct proposal {
    double weight[MAX_POINT];
    double best;  // objective
    double error; // of a mean
    int64_t chosen;
    double least;   // acquisition, of the chosen one
    double density; // of the normal distribution there
    double cdf;
} proposal;

// Means by the first terms of the kernel, 1 - d^2 / 2 + d^4 / 8, and how far they may be off: the
// next is at most d^6 / 48, and covariances and their products with weights are rounded once each.
static void approximate_means(process *p, proposal *q)
{
    double lost = 0, total = 0;
    double sum[5] = {0}; // of weight times powers of the distance from the first candidate
    for (int64_t k = 0; k < p->n_point; k++) {
        const double d = p->point[k] - p->candidate[0], weight = q->weight[k];
        const double square = d * d;
        add_exactly(&sum[0], &lost, weight);
        sum[1] += weight * d;
        sum[2] += weight * square;
        sum[3] += weight * (square * d);
        sum[4] += weight * (square * square);
        total += fabs(weight);
    }
    sum[0] += lost;
    // A polynomial in the distance of a candidate.
    const double a = sum[0] - sum[2] / 2 + sum[4] / 8, b = sum[1] - sum[3] / 2;
    const double c = 0.75 * sum[2] - sum[0] / 2, d = -sum[1] / 2, e = sum[0] / 8;
    for (int64_t i = 0; i < p->n_block * LANES; i++) {
        const double x = p->candidate[i] - p->candidate[0];
        p->mean[i] = a + x * (b + x * (c + x * (d + x * e)));
        const double variance = 1 - p->explained[i];
        p->deviation[i] = sqrt(variance > 0 ? variance : 0);
    }
    const double y = widest(p); // half the largest square of a distance
    q->error =
        total * (3 * DBL_EPSILON + 8 * MAX_POINT * DBL_EPSILON * y * (1 + y) + y * y * y / 6);
}

static void look_at(const process *p, proposal *q, int64_t i)
{
    const double sd = p->deviation[i];
    const double gain = mean_of(p, q->weight, i) - q->best;
    const double z = gain / (sd + LEAST_SD);
    const double density = exp(-0.5 * (z * z)) * INVERSE_SQRT_TWO_PI;
    const double cdf = normal_cdf(z);
    const double acquisition = gain * cdf + sd * density;
    if (acquisition < q->least || (acquisition == q->least && i < q->chosen)) {
        q->least = acquisition;
        q->chosen = i;
        q->density = density;
        q->cdf = cdf;
    }
}

// An acquisition is sd h(gain / sd) with h(z) = z cdf(z) + density(z), which is convex. So it is
// nowhere below sd density(y) + gain cdf(y), whatever y; roundings, and LEAST_SD, are left room.
static bool is_beaten(const process *p, const proposal *q, int64_t i)
{
    const double sd = p->deviation[i], gain = p->mean[i] - q->best;
    const double room = 1e-12 * (fabs(gain) + q->error + sd) + 0.4 * LEAST_SD;
    return sd * q->density + (gain - q->error) * q->cdf - room > q->least;
}

// The distinct candidate with the first smallest acquisition.
static int64_t propose(process *p, double best)
{
    proposal q = {
        .best = best, .least = (double)INFINITY, .density = INVERSE_SQRT_TWO_PI, .cdf = 0.5};
    weigh(p, q.weight);
    approximate_means(p, &q);
    int64_t likely = 0;
    double least = (double)INFINITY;
    for (int64_t i = 0; i < p->n_candidate; i++) {
        const double about = p->deviation[i] * q.density + p->mean[i] * q.cdf;
        likely = about < least ? i : likely;
        least = about < least ? about : least;
    }
    look_at(p, &q, likely);
    for (int64_t i = 0; i < p->n_candidate; i++) {
        if (!is_beaten(p, &q, i)) {
            look_at(p, &q, i);
        }
    }
    return q.chosen;
}

// Where the search begins: quantiles, then the last; i = 0..n_initial. -1: the same as the one
// before.
static int64_t initial_index(int64_t i, int64_t n, int64_t n_initial)
{
    const double step = (double)n / (double)n_initial;
    const int64_t before = (int64_t)((double)(i - 1) * step);
    const int64_t k = i < n_initial ? (int64_t)((double)i * step) : n - 1;
    return i > 0 && k == before ? -1 : k;
}

int64_t tess_ar_grid_choice(const double *objectives, int64_t n, int64_t n_initial)
{
    int64_t best = 0;
    for (int64_t i = 1; i <= n_initial; i++) {
        const int64_t k = initial_index(i, n, n_initial);
        best = k >= 0 && objectives[k] < objectives[best] ? k : best;
    }
    return best;
}

// first: the index of the first of each distinct candidate among the candidates.
static void search(process *p, const int64_t *first, const double *candidates,
                   const double *objectives, int64_t n, int64_t n_initial, int64_t *best)
{
    *best = -1;
    for (int64_t i = 0; i <= n_initial; i++) {
        const int64_t k = initial_index(i, n, n_initial);
        if (k < 0 || isinf(objectives[k])) {
            continue;
        }
        add_point(p, candidates[k], objectives[k]);
        if (*best < 0 || objectives[k] < objectives[*best]) {
            *best = k;
        }
    }
    // Covariances that are all 1 make all candidates the same, and the first is proposed.
    const bool is_flat = widest(p) < 0x1p-54;
    int64_t n_solved = 0;
    for (int step_no = 0; *best >= 0 && step_no < N_STEP; step_no++) {
        if (!is_flat) {
            solve(p, n_solved);
            n_solved = p->n_point;
        }
        const int64_t k = first[is_flat ? 0 : propose(p, objectives[*best])];
        if (isinf(objectives[k])) {
            continue; // would be proposed again and again: nothing to learn from it
        }
        add_point(p, candidates[k], objectives[k]);
        if (objectives[k] < objectives[*best]) {
            *best = k;
        }
    }
}

static int64_t block_count(int64_t n)
{
    return (n + LANES - 1) / LANES;
}

size_t tess_ar_compat_bytes(int64_t n)
{
    const size_t n_lane = (size_t)block_count(n) * LANES;
    return sizeof(process) + n_lane * (2 * MAX_POINT + 5) * sizeof(double);
}

// Finds the distinct ones of n candidates; first: the index of the first of each.
static void take_distinct(process *p, const double *candidates, int64_t n, double *distinct,
                          int64_t *first)
{
    int64_t n_distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || candidates[i] != candidates[i - 1]) {
            first[n_distinct] = i;
            distinct[n_distinct++] = candidates[i];
        }
    }
    p->candidate = distinct;
    p->n_candidate = n_distinct;
    p->n_block = block_count(n_distinct);
    for (int64_t i = n_distinct; i < p->n_block * LANES; i++) {
        distinct[i] = distinct[n_distinct - 1];
    }
}

tess_status tess_ar_compat_choice(tess_context *ctx, const double *candidates,
                                  const double *objectives, int64_t n, int64_t n_initial,
                                  int64_t *best)
{
    TESS_ASSERT(n > 0 && n_initial <= MAX_INITIAL);
    const size_t bytes = tess_ar_compat_bytes(n);
    process *p = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "Gaussian process");
    if (!p) {
        return TESS_E_MEMORY;
    }
    const int64_t n_lane = block_count(n) * LANES;
    double *distinct = (double *)(p + 1);
    int64_t *first = (int64_t *)(distinct + n_lane);
    p->explained = distinct + 2 * n_lane;
    p->deviation = distinct + 3 * n_lane;
    p->mean = distinct + 4 * n_lane;
    p->covariance = distinct + 5 * n_lane;
    p->solved = p->covariance + MAX_POINT * n_lane;
    p->n_point = 0;
    memset(p->explained, 0, (size_t)n_lane * sizeof *p->explained);
    take_distinct(p, candidates, n, distinct, first);
    search(p, first, candidates, objectives, n, n_initial, best);
    tess_heap_free(&ctx->heap, p, bytes, TESS_TAG_SCRATCH);
    if (*best < 0) {
        TESS_FAIL(TESS_E_NUMERIC, "objectives: infinite at all of the %lld initial candidates",
                  (long long)(n_initial + 1));
    }
    return TESS_OK;
}
