#include "systems/decode/sorted/poisson.h"

#include "base/status.h"
#include "numerics/cholesky.h"

#include <math.h>
#include <string.h>

enum { MAX_ITERATIONS = 100, MAX_HALVINGS = 40 };

// Gain of a step, relative to the objective, that rounding hides: the last step is taken as it is.
static const double SMALL_GAIN = 1e-13;

// What one fit works with, cut from its scratch.
typedef struct newton {
    const tess_de_poisson_data *data;
    const double *spike_term;
    double spike_weight;
    int64_t n_free;
    double *c;        // [1 + n_free] intercept, free coefficients
    double *trial;    // [1 + n_free]
    double *gradient; // [1 + n_free]
    double *hessian;  // [1 + n_free]^2
    double *term;     // [n_term] basis c
    double *mean;     // [n_term] sum of expected counts times factors
    double *product;  // [n_term][n_free] curvature in terms, times basis
    double expected;  // sum of expected counts
} newton;

size_t tess_de_poisson_scratch_items(const tess_de_spline *s)
{
    const size_t n = (size_t)s->n_free + 1;
    return 3 * n + n * n + 2 * (size_t)s->n_term + (size_t)s->n_term * (size_t)s->n_free;
}

static void cut(newton *w, double *scratch)
{
    const tess_de_spline *s = w->data->spline;
    const int64_t n = w->n_free + 1;
    w->c = scratch;
    w->trial = w->c + n;
    w->gradient = w->trial + n;
    w->hessian = w->gradient + n;
    w->term = w->hessian + n * n;
    w->mean = w->term + s->n_term;
    w->product = w->mean + s->n_term;
}

static void terms_of(const tess_de_spline *s, const double *c, double *term)
{
    for (int64_t t = 0; t < s->n_term; t++) {
        double sum = 0;
        for (int64_t k = 0; k < s->n_free; k++) {
            sum += s->basis[t * s->n_free + k] * c[1 + k];
        }
        term[t] = sum;
    }
}

static double eta_of(const double *factor, const double *term, int64_t n_local, double intercept)
{
    double eta = intercept;
    for (int64_t k = 0; k < n_local; k++) {
        eta += factor[k] * term[k];
    }
    return eta;
}

// The objective at coefficients whose terms are in w->term.
static double objective(const newton *w, const double *c)
{
    const tess_de_poisson_data *d = w->data;
    const tess_de_spline *s = d->spline;
    double expected = 0;
    for (int64_t cell = 0; cell < s->n_cell; cell++) {
        int64_t index[TESS_SPLINE_TERMS];
        double local[TESS_SPLINE_TERMS];
        tess_de_spline_terms(s, cell, index);
        for (int64_t k = 0; k < s->n_local; k++) {
            local[k] = w->term[index[k]];
        }
        for (int64_t j = d->first[cell]; j < d->first[cell + 1]; j++) {
            expected +=
                d->weight[j] * exp(eta_of(d->factor + j * s->n_local, local, s->n_local, c[0]));
        }
    }
    double observed = w->spike_weight * c[0];
    for (int64_t t = 0; t < s->n_term; t++) {
        observed += w->spike_term[t] * w->term[t];
    }
    double square = 0;
    for (int64_t k = 1; k <= w->n_free; k++) {
        square += c[k] * c[k];
    }
    return (expected - observed) / d->n_sample + d->penalty * square;
}

// Adds a cell's curvature, given in its local terms, times the basis.
static void add_product(newton *w, const int64_t *index, const double *block)
{
    const tess_de_spline *s = w->data->spline;
    for (int64_t a = 0; a < s->n_local; a++) {
        double *out = w->product + index[a] * s->n_free;
        for (int64_t b = 0; b < s->n_local; b++) {
            const double value = b <= a ? block[a * s->n_local + b] : block[b * s->n_local + a];
            const double *row = s->basis + index[b] * s->n_free;
            for (int64_t k = 0; k < s->n_free; k++) {
                out[k] += value * row[k];
            }
        }
    }
}

// Expected counts, their mean terms and curvature at w->c.
static void accumulate(newton *w)
{
    const tess_de_poisson_data *d = w->data;
    const tess_de_spline *s = d->spline;
    memset(w->mean, 0, (size_t)s->n_term * sizeof *w->mean);
    memset(w->product, 0, (size_t)(s->n_term * s->n_free) * sizeof *w->product);
    w->expected = 0;
    for (int64_t cell = 0; cell < s->n_cell; cell++) {
        int64_t index[TESS_SPLINE_TERMS];
        double local[TESS_SPLINE_TERMS];
        double block[TESS_SPLINE_TERMS * TESS_SPLINE_TERMS] = {0};
        if (d->first[cell] == d->first[cell + 1]) {
            continue;
        }
        tess_de_spline_terms(s, cell, index);
        for (int64_t k = 0; k < s->n_local; k++) {
            local[k] = w->term[index[k]];
        }
        for (int64_t j = d->first[cell]; j < d->first[cell + 1]; j++) {
            const double *factor = d->factor + j * s->n_local;
            const double mu = d->weight[j] * exp(eta_of(factor, local, s->n_local, w->c[0]));
            w->expected += mu;
            for (int64_t a = 0; a < s->n_local; a++) {
                const double part = mu * factor[a];
                w->mean[index[a]] += part;
                for (int64_t b = 0; b <= a; b++) {
                    block[a * s->n_local + b] += part * factor[b];
                }
            }
        }
        add_product(w, index, block);
    }
}

// Gradient and Hessian in the free coefficients.
static void project(newton *w)
{
    const tess_de_poisson_data *d = w->data;
    const tess_de_spline *s = d->spline;
    const int64_t n = w->n_free + 1;
    memset(w->gradient, 0, (size_t)n * sizeof *w->gradient);
    memset(w->hessian, 0, (size_t)(n * n) * sizeof *w->hessian);
    w->gradient[0] = w->expected - w->spike_weight;
    w->hessian[0] = w->expected;
    for (int64_t t = 0; t < s->n_term; t++) {
        const double *basis = s->basis + t * s->n_free;
        const double *product = w->product + t * s->n_free;
        for (int64_t a = 0; a < s->n_free; a++) {
            double *row = w->hessian + (a + 1) * n;
            w->gradient[a + 1] += basis[a] * (w->mean[t] - w->spike_term[t]);
            row[0] += basis[a] * w->mean[t];
            for (int64_t b = 0; b <= a; b++) {
                row[b + 1] += basis[a] * product[b];
            }
        }
    }
    for (int64_t a = 0; a < n; a++) {
        w->gradient[a] = w->gradient[a] / d->n_sample + (a > 0 ? 2 * d->penalty * w->c[a] : 0);
        for (int64_t b = 0; b <= a; b++) {
            w->hessian[a * n + b] /= d->n_sample;
        }
        w->hessian[a * n + a] += a > 0 ? 2 * d->penalty : 0;
    }
}

// The step into w->gradient; a ridge is added as long as rounding makes the Hessian indefinite.
static void solve_step(newton *w)
{
    const int64_t n = w->n_free + 1;
    double ridge = 0;
    double largest = 0;
    for (int64_t a = 0; a < n; a++) {
        largest = fmax(largest, w->hessian[a * n + a]);
    }
    while (!tess_cholesky(w->hessian, n)) {
        ridge = ridge > 0 ? 100 * ridge : 1e-12 * largest + 1e-300;
        project(w);
        for (int64_t a = 0; a < n; a++) {
            w->hessian[a * n + a] += ridge;
        }
    }
    tess_cholesky_solve(w->hessian, n, w->gradient);
}

// Halves the step until the objective falls; false if it does not any more.
static bool advance(newton *w, double slope, double *value)
{
    const int64_t n = w->n_free + 1;
    double length = 1;
    for (int i = 0; i < MAX_HALVINGS; i++, length /= 2) {
        for (int64_t a = 0; a < n; a++) {
            w->trial[a] = w->c[a] - length * w->gradient[a];
        }
        terms_of(w->data->spline, w->trial, w->term);
        const double next = objective(w, w->trial);
        if (next <= *value - 1e-4 * length * slope) {
            memcpy(w->c, w->trial, (size_t)n * sizeof *w->c);
            *value = next;
            return true;
        }
    }
    terms_of(w->data->spline, w->c, w->term);
    return false;
}

int tess_de_poisson_fit(const tess_de_poisson_data *data, const double *spike_term,
                        double spike_weight, double *scratch, double *coefficient, double *term)
{
    newton w = {.data = data,
                .spike_term = spike_term,
                .spike_weight = spike_weight,
                .n_free = data->spline->n_free};
    const int64_t n = w.n_free + 1;
    cut(&w, scratch);
    memset(w.c, 0, (size_t)n * sizeof *w.c);
    w.c[0] = log(spike_weight / data->total_weight);
    terms_of(data->spline, w.c, w.term);
    double value = objective(&w, w.c);
    int iteration = 0;
    bool done = false;
    for (; iteration < MAX_ITERATIONS && !done; iteration++) {
        accumulate(&w);
        project(&w);
        memcpy(w.trial, w.gradient, (size_t)n * sizeof *w.trial);
        solve_step(&w);
        double slope = 0;
        for (int64_t a = 0; a < n; a++) {
            slope += w.trial[a] * w.gradient[a];
        }
        done = !(slope > SMALL_GAIN * (1 + fabs(value)));
        if (done) {
            for (int64_t a = 0; a < n; a++) {
                w.c[a] -= w.gradient[a];
            }
            terms_of(data->spline, w.c, w.term);
        } else {
            done = !advance(&w, slope, &value);
        }
    }
    memcpy(coefficient, w.c, (size_t)n * sizeof *w.c);
    memcpy(term, w.term, (size_t)data->spline->n_term * sizeof *term);
    return done ? iteration : -iteration;
}
