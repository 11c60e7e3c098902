// What a chain learns while it warms up: the length of its steps and the shape of the density.
#include "numerics/cholesky.h"
#include "numerics/nuts_state.h"

#include <math.h>
#include <string.h>

// Averaging as in Hoffman and Gelman.
static const double GAIN = 0.05;
static const double DELAY = 10;
static const double FORGETTING = 0.75;

void nuts_begin_averaging(tess_nuts *s)
{
    s->averaging = (nuts_averaging){.centre = log(10 * s->step), .log_step = log(s->step)};
}

static void average(tess_nuts *s, double accept)
{
    nuts_averaging *a = &s->averaging;
    a->count += 1;
    const double weight = 1 / (a->count + DELAY);
    const double share = pow(a->count, -FORGETTING);
    a->error = (1 - weight) * a->error + weight * (s->options.target_accept - accept);
    a->log_step = a->centre - sqrt(a->count) / GAIN * a->error;
    a->log_mean = share * a->log_step + (1 - share) * a->log_mean;
    s->step = exp(a->log_step);
}

// The windows: some transitions at first and at last learn the step alone, those between the metric
// as well, in windows of doubling length; the last takes what is left.
typedef struct schedule {
    int64_t first;
    int64_t last;
    int64_t window;
} schedule;

static schedule schedule_of(int64_t n)
{
    schedule s = {75, 50, 25};
    if (n < 20) {
        return (schedule){n, 0, 1};
    }
    if (n < s.first + s.last + s.window) {
        s.first = 15 * n / 100;
        s.last = 10 * n / 100;
        s.window = n - s.first - s.last;
    }
    return s;
}

// Does a window of the metric end with this transition?
static bool ends_window(int64_t iteration, int64_t n_warmup, const schedule *s)
{
    const int64_t end = n_warmup - s->last;
    int64_t begin = s->first;
    int64_t length = s->window;
    while (begin < end) {
        // One that would leave no room for the next takes all.
        const int64_t to = begin + length + 2 * length > end ? end : begin + length;
        if (iteration + 1 == to) {
            return true;
        }
        begin = to;
        length *= 2;
    }
    return false;
}

// Welford's sums.
static void see(tess_nuts *s)
{
    const int64_t n = s->n;
    const double *x = nuts_vector(s, NUTS_X);
    double *mean = nuts_vector(s, NUTS_SEEN_MEAN);
    double *before = nuts_vector(s, NUTS_SCRATCH);
    double *squares = nuts_squares(s);
    s->n_seen += 1;
    for (int64_t i = 0; i < n; i++) {
        before[i] = x[i] - mean[i];
        mean[i] += before[i] / s->n_seen;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            squares[i * n + j] += (x[i] - mean[i]) * before[j];
        }
    }
}

// Covariance of the window, drawn a little towards small and round, in the units of the first one:
// coordinates may differ by many powers of ten.
static bool take_metric(tess_nuts *s)
{
    const int64_t n = s->n;
    const double count = s->n_seen;
    const double weight = count / (count + 5);
    double *squares = nuts_squares(s);
    double *root = nuts_root(s);
    const double *first = nuts_vector(s, NUTS_FIRST_VARIANCE);
    const bool has_enough = count > 1;
    for (int64_t i = 0; has_enough && i < n * n; i++) {
        squares[i] *= weight / (count - 1);
        if (i % (n + 1) == 0) {
            squares[i] += 1e-3 * (1 - weight) * first[i / n];
        }
        root[i] = squares[i];
    }
    const bool is_taken = has_enough && tess_cholesky(root, n);
    if (is_taken) {
        memcpy(nuts_covariance(s), squares, (size_t)(n * n) * sizeof *squares);
    } else { // draws of a chain that does not move: the old one stays
        memcpy(root, nuts_covariance(s), (size_t)(n * n) * sizeof *root);
        tess_cholesky(root, n);
    }
    memset(squares, 0, (size_t)(n * n) * sizeof *squares);
    memset(nuts_vector(s, NUTS_SEEN_MEAN), 0, (size_t)n * sizeof *squares);
    s->n_seen = 0;
    return is_taken;
}

bool nuts_learn(tess_nuts *s)
{
    const int64_t n_warmup = s->options.n_warmup;
    const schedule windows = schedule_of(n_warmup);
    bool is_new = false;
    average(s, s->last_accept);
    if (s->iteration >= windows.first && s->iteration < n_warmup - windows.last) {
        see(s);
    }
    if (ends_window(s->iteration, n_warmup, &windows)) {
        is_new = take_metric(s);
    }
    if (s->iteration + 1 == n_warmup) {
        s->step = exp(s->averaging.log_mean);
    }
    return is_new;
}
