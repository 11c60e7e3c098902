// The original's search on a table of objectives: quantiles, then steps of a Gaussian process.
//
// Its length scale is one volt, so the kernel's matrix is ones but for the ninth digit, and what
// the process proposes hangs on roundings. It is done in the plainest order there is (left-looking
// factor, substitutions by rows), a row at a time: the rows that exist do not change when a point
// is added, and have the bits of a factor made anew.
#include "base/status.h"
#include "systems/autoreject/threshold/search.h"

#include <math.h>

enum { N_STEP = 10, MAX_INITIAL = 64, MAX_POINT = MAX_INITIAL + 1 + N_STEP };

static const double NOISE = 1e-10;
static const double SQRT_HALF = 0.70710678118654752440;
static const double INVERSE_SQRT_TWO_PI = 0.39894228040143267794;

typedef struct process {
    int64_t n_candidate; // distinct
    const double *candidate;
    double *covariance; // [MAX_POINT][n_candidate] of each point with each candidate
    double *solved;     // [MAX_POINT][n_candidate] factor^-1 covariance
    double *explained;  // [n_candidate] sum of squares of the columns of solved
    double *mean;       // [n_candidate]
    double *lost;       // [n_candidate] by the sums of mean
    int64_t n_point;
    double point[MAX_POINT];
    double objective[MAX_POINT];
    double factor[MAX_POINT][MAX_POINT];
} process;

static double covariance_of(double a, double b)
{
    const double d = a - b;
    return exp(-0.5 * (d * d));
}

static void add_point(process *p, double point, double objective)
{
    const int64_t n = p->n_point;
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

    double *covariance = p->covariance + n * p->n_candidate;
    double *solved = p->solved + n * p->n_candidate;
    for (int64_t i = 0; i < p->n_candidate; i++) {
        covariance[i] = covariance_of(p->candidate[i], point);
        solved[i] = covariance[i];
    }
    for (int64_t k = 0; k < n; k++) {
        const double *earlier = p->solved + k * p->n_candidate;
        for (int64_t i = 0; i < p->n_candidate; i++) {
            solved[i] -= row[k] * earlier[i];
        }
    }
    for (int64_t i = 0; i < p->n_candidate; i++) {
        solved[i] /= row[n];
        p->explained[i] += solved[i] * solved[i];
    }
    p->n_point++;
}

// mean = sum of covariance times weight. Weights are ten digits larger than the mean, so what
// rounding takes from the sum is kept and added at the end; without it one golden
// channel of 44 misses the original's proposal.
static void add_weighted(process *p, const double *weight)
{
    double *mean = p->mean;
    double *lost = p->lost;
    for (int64_t i = 0; i < p->n_candidate; i++) {
        mean[i] = 0;
        lost[i] = 0;
    }
    for (int64_t k = 0; k < p->n_point; k++) {
        const double *covariance = p->covariance + k * p->n_candidate;
        for (int64_t i = 0; i < p->n_candidate; i++) {
            const double term = covariance[i] * weight[k];
            const double sum = mean[i] + term;
            const double taken = sum - mean[i];
            lost[i] += (mean[i] - (sum - taken)) + (term - taken);
            mean[i] = sum;
        }
    }
    for (int64_t i = 0; i < p->n_candidate; i++) {
        mean[i] += lost[i];
    }
}

// mean = covariance (factor factor^T)^-1 objective
static void predict(process *p)
{
    double weight[MAX_POINT];
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
    add_weighted(p, weight);
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

// The distinct candidate with the first smallest acquisition.
static int64_t propose(process *p, double best)
{
    predict(p);
    int64_t chosen = 0;
    double least = (double)INFINITY;
    for (int64_t i = 0; i < p->n_candidate; i++) {
        const double variance = 1 - p->explained[i];
        const double sd = variance > 0 ? sqrt(variance) : 0;
        const double gain = p->mean[i] - best;
        const double z = gain / (sd + 1e-12);
        const double density = exp(-0.5 * (z * z)) * INVERSE_SQRT_TWO_PI;
        const double acquisition = gain * normal_cdf(z) + sd * density;
        if (acquisition < least) {
            least = acquisition;
            chosen = i;
        }
    }
    return chosen;
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
    for (int step_no = 0; *best >= 0 && step_no < N_STEP; step_no++) {
        const int64_t k = first[propose(p, objectives[*best])];
        if (isinf(objectives[k])) {
            continue; // would be proposed again and again: nothing to learn from it
        }
        add_point(p, candidates[k], objectives[k]);
        if (objectives[k] < objectives[*best]) {
            *best = k;
        }
    }
}

size_t tess_ar_compat_bytes(int64_t n)
{
    return sizeof(process) + (size_t)n * (2 * MAX_POINT + 5) * sizeof(double);
}

tess_status tess_ar_compat_choice(tess_context *ctx, const double *candidates,
                                  const double *objectives, int64_t n, int64_t n_initial,
                                  int64_t *best)
{
    TESS_ASSERT(n > 0 && n_initial <= MAX_INITIAL);
    const size_t bytes = tess_ar_compat_bytes(n);
    process *p = tess_heap_alloc_zero(&ctx->heap, bytes, TESS_TAG_SCRATCH, "Gaussian process");
    if (!p) {
        return TESS_E_MEMORY;
    }
    double *distinct = (double *)(p + 1);
    int64_t *first = (int64_t *)(distinct + n);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || candidates[i] != candidates[i - 1]) {
            first[p->n_candidate] = i;
            distinct[p->n_candidate++] = candidates[i];
        }
    }
    p->candidate = distinct;
    p->explained = distinct + 2 * n;
    p->mean = distinct + 3 * n;
    p->lost = distinct + 4 * n;
    p->covariance = distinct + 5 * n;
    p->solved = p->covariance + MAX_POINT * n;
    search(p, first, candidates, objectives, n, n_initial, best);
    tess_heap_free(&ctx->heap, p, bytes, TESS_TAG_SCRATCH);
    if (*best < 0) {
        TESS_FAIL(TESS_E_NUMERIC, "objectives: infinite at all of the %lld initial candidates",
                  (long long)(n_initial + 1));
    }
    return TESS_OK;
}
