#include "numerics/surrogate.h"

#include "numerics/cholesky.h"

#include <math.h>
#include <string.h>

enum { MAX_N = TESS_SURROGATE_MAX_N, DEGREE = 4, TRAIN = 3, OF = 4 };

static const double FREEDOM = 20;  // of Student's t
static const double RIDGE = 1e-6;  // of the equations, relative
static const double FADE = 2;      // the polynomial ends at this times the radius that was seen
static const double OUTSIDE = 1.2; // and begins to fade at this

struct tess_surrogate {
    int64_t n;
    int64_t n_term;
    double inner; // squared radii between which the polynomial fades
    double outer;
};

// Behind it: mean [n], root [n][n], its inverse [n][n], covariance [n][n], coefficients [n_term].
static double *mean_of(const tess_surrogate *s)
{
    return (double *)(uintptr_t)(s + 1);
}
static double *root_of(const tess_surrogate *s)
{
    return mean_of(s) + s->n;
}
static double *inverse_of(const tess_surrogate *s)
{
    return root_of(s) + s->n * s->n;
}
static double *covariance_of(const tess_surrogate *s)
{
    return inverse_of(s) + s->n * s->n;
}
static double *coefficients_of(const tess_surrogate *s)
{
    return covariance_of(s) + s->n * s->n;
}

// Monomials of degree 0 to 4.
static int64_t count_terms(int64_t n)
{
    return (n + 1) * (n + 2) * (n + 3) * (n + 4) / 24;
}

size_t tess_surrogate_bytes(int64_t n)
{
    return sizeof(tess_surrogate) + (size_t)(n + 3 * n * n + count_terms(n)) * sizeof(double);
}

// Equations, their right side, and a row with its slopes [n].
size_t tess_surrogate_scratch(int64_t n)
{
    const int64_t m = count_terms(n);
    return (size_t)(m * m + m + (n + 1) * m) * sizeof(double);
}

// ---- The polynomial -----------------------------------------------------------------------------

// Terms in a fixed order: by nested loops over i <= j <= k <= l, where n stands for 1.
typedef struct term {
    int64_t at[DEGREE];
} term;

static void next_term(term *t, int64_t n)
{
    int k = DEGREE - 1;
    while (k > 0 && t->at[k] == n) {
        k--;
    }
    const int64_t value = t->at[k] + 1;
    for (int j = k; j < DEGREE; j++) {
        t->at[j] = value;
    }
}

// Values [n_term] and slopes [n][n_term] of all terms at z.
static void terms_at(const double *z, int64_t n, double *values, double *slopes, int64_t n_term)
{
    double x[MAX_N + 1];
    memcpy(x, z, (size_t)n * sizeof *x);
    x[n] = 1;
    term t = {{0, 0, 0, 0}};
    memset(slopes, 0, (size_t)(n * n_term) * sizeof *slopes);
    for (int64_t m = 0; m < n_term; m++) {
        const int64_t *a = t.at;
        const double front = x[a[0]] * x[a[1]];
        const double back = x[a[2]] * x[a[3]];
        values[m] = front * back;
        const double parts[DEGREE] = {x[a[1]] * back, x[a[0]] * back, x[a[3]] * front,
                                      x[a[2]] * front};
        for (int k = 0; k < DEGREE && a[k] < n; k++) {
            slopes[a[k] * n_term + m] += parts[k];
        }
        next_term(&t, n);
    }
}

// The same, summed with the coefficients.
static double polynomial(const double *c, const double *z, int64_t n, int64_t n_term,
                         double *gradient)
{
    double x[MAX_N + 1];
    double slopes[MAX_N + 1] = {0};
    double sum = 0;
    memcpy(x, z, (size_t)n * sizeof *x);
    x[n] = 1;
    term t = {{0, 0, 0, 0}};
    for (int64_t m = 0; m < n_term; m++) {
        const int64_t *a = t.at;
        const double front = x[a[0]] * x[a[1]];
        const double back = x[a[2]] * x[a[3]];
        sum += c[m] * front * back;
        slopes[a[0]] += c[m] * x[a[1]] * back;
        slopes[a[1]] += c[m] * x[a[0]] * back;
        slopes[a[2]] += c[m] * x[a[3]] * front;
        slopes[a[3]] += c[m] * x[a[2]] * front;
        next_term(&t, n);
    }
    memcpy(gradient, slopes, (size_t)n * sizeof *gradient);
    return sum;
}

// ---- The density --------------------------------------------------------------------------------

// z = root^-1 (x - mean); returns z z.
static double whiten(const tess_surrogate *s, const double *x, double *z)
{
    const int64_t n = s->n;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = 0;
        for (int64_t k = 0; k <= i; k++) {
            z[i] += inverse_of(s)[i * n + k] * (x[k] - mean_of(s)[k]);
        }
        squares += z[i] * z[i];
    }
    return squares;
}

// Student's t of squared radius q, and its slope by q.
static double base_at(const tess_surrogate *s, double q, double *slope)
{
    const double power = 0.5 * (FREEDOM + (double)s->n);
    *slope = -power / (FREEDOM + q);
    return -power * log1p(q / FREEDOM);
}

// 1 inside, 0 outside, and smooth.
static double fade_at(const tess_surrogate *s, double q, double *slope)
{
    const double t = (q - s->inner) / (s->outer - s->inner);
    *slope = 0;
    if (t <= 0 || t >= 1) {
        return t <= 0 ? 1 : 0;
    }
    *slope = -6 * t * (1 - t) / (s->outer - s->inner);
    return 1 - t * t * (3 - 2 * t);
}

static double value_at(const tess_surrogate *s, const double *z, double q, double *gradient)
{
    double base_slope;
    double fade_slope;
    double poly[MAX_N] = {0};
    double sum = 0;
    const double base = base_at(s, q, &base_slope);
    const double fade = fade_at(s, q, &fade_slope);
    if (fade > 0) {
        sum = polynomial(coefficients_of(s), z, s->n, s->n_term, poly);
    }
    for (int64_t i = 0; i < s->n; i++) {
        gradient[i] = 2 * z[i] * (base_slope + fade_slope * sum) + fade * poly[i];
    }
    return base + fade * sum;
}

double tess_surrogate_at(const tess_surrogate *s, const double *x, double *gradient)
{
    const int64_t n = s->n;
    double z[MAX_N];
    double of_z[MAX_N];
    const double value = value_at(s, z, whiten(s, x, z), of_z);
    for (int64_t k = 0; k < n; k++) {
        gradient[k] = 0;
        for (int64_t i = k; i < n; i++) {
            gradient[k] += inverse_of(s)[i * n + k] * of_z[i];
        }
    }
    return value;
}

const double *tess_surrogate_covariance(const tess_surrogate *s)
{
    return covariance_of(s);
}

// ---- Fitting ------------------------------------------------------------------------------------

static int find_shape(tess_surrogate *s, const tess_surrogate_seen *seen)
{
    const int64_t n = s->n;
    double *mean = mean_of(s);
    double *covariance = covariance_of(s);
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(covariance, 0, (size_t)(n * n) * sizeof *covariance);
    for (int64_t i = 0; i < seen->n_seen; i++) {
        for (int64_t k = 0; k < n; k++) {
            mean[k] += seen->x[i * n + k] / (double)seen->n_seen;
        }
    }
    for (int64_t i = 0; i < seen->n_seen; i++) {
        for (int64_t k = 0; k < n * n; k++) {
            covariance[k] += (seen->x[i * n + k / n] - mean[k / n]) *
                             (seen->x[i * n + k % n] - mean[k % n]) / (double)(seen->n_seen - 1);
        }
    }
    memcpy(root_of(s), covariance, (size_t)(n * n) * sizeof *covariance);
    if (!tess_cholesky(root_of(s), n)) {
        return 0;
    }
    const double *root = root_of(s);
    double *inverse = inverse_of(s);
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = c; i < n; i++) {
            double sum = i == c;
            for (int64_t k = c; k < i; k++) {
                sum -= root[i * n + k] * inverse[k * n + c];
            }
            inverse[i * n + c] = sum / root[i * n + i];
        }
    }
    double most = 0;
    for (int64_t i = 0; i < seen->n_seen; i++) {
        double z[MAX_N];
        const double q = whiten(s, seen->x + i * n, z);
        most = q > most ? q : most;
    }
    s->inner = OUTSIDE * OUTSIDE * most;
    s->outer = FADE * FADE * most;
    return 1;
}

// Adds the equations of one row: terms and the number they should give.
static void add_row(double *equations, double *right, const double *row, double wanted, int64_t m)
{
    for (int64_t i = 0; i < m; i++) {
        const double factor = row[i];
        right[i] += factor * wanted;
        if (factor != 0) { // most slopes of most terms are
            double *to = equations + i * m;
            for (int64_t k = 0; k <= i; k++) {
                to[k] += factor * row[k];
            }
        }
    }
}

static void add_point(const tess_surrogate *s, const tess_surrogate_seen *seen, int64_t i,
                      double centre, double *scratch)
{
    const int64_t n = s->n;
    const int64_t m = s->n_term;
    double *equations = scratch;
    double *right = equations + m * m;
    double *row = right + m;
    double *slopes = row + m;
    double z[MAX_N];
    double base_slope;
    const double q = whiten(s, seen->x + i * n, z);
    const double base = base_at(s, q, &base_slope);
    terms_at(z, n, row, slopes, m);
    add_row(equations, right, row, seen->value[i] - centre - base, m);
    for (int64_t k = 0; k < n; k++) {
        double of_z = 0; // by z_k: root transposed times that by x
        for (int64_t j = k; j < n; j++) {
            of_z += root_of(s)[j * n + k] * seen->gradient[i * n + j];
        }
        add_row(equations, right, slopes + k * m, of_z - 2 * z[k] * base_slope, m);
    }
}

static int solve(tess_surrogate *s, double *scratch)
{
    const int64_t m = s->n_term;
    double *a = scratch;
    double *x = coefficients_of(s);
    memcpy(x, scratch + m * m, (size_t)m * sizeof *x);
    for (int64_t i = 0; i < m; i++) {
        a[i * m + i] += RIDGE * (1 + a[i * m + i]);
        for (int64_t k = 0; k < i; k++) {
            a[k * m + i] = a[i * m + k];
        }
    }
    if (!tess_cholesky(a, m)) {
        return 0;
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t k = 0; k < i; k++) {
            x[i] -= a[i * m + k] * x[k];
        }
        x[i] /= a[i * m + i];
    }
    for (int64_t i = m - 1; i >= 0; i--) {
        x[i] /= a[i * m + i];
        for (int64_t k = 0; k < i; k++) {
            x[k] -= a[i * m + k] * x[i];
        }
    }
    return 1;
}

static double error_of(const tess_surrogate *s, const tess_surrogate_seen *seen)
{
    double sum = 0;
    double squares = 0;
    double n = 0;
    for (int64_t i = TRAIN; i < seen->n_seen; i += OF) {
        double unused[MAX_N];
        const double d =
            seen->value[i] - tess_surrogate_at(s, seen->x + i * s->n, unused) - seen->value[0];
        sum += d;
        squares += d * d;
        n++;
    }
    return sqrt(fmax(squares / n - sum / n * (sum / n), 0));
}

int tess_surrogate_fit(tess_surrogate *s, int64_t n, const tess_surrogate_seen *seen, void *scratch,
                       double *error)
{
    memset(s, 0, tess_surrogate_bytes(n));
    s->n = n;
    s->n_term = count_terms(n);
    if (n > MAX_N || (n + 1) * seen->n_seen * TRAIN / OF < 2 * s->n_term || !find_shape(s, seen)) {
        return 0;
    }
    // Values less their mean: they may be large.
    double centre = 0;
    double n_train = 0;
    for (int64_t i = 0; i < seen->n_seen; i++) {
        double z[MAX_N];
        double slope;
        if (i % OF < TRAIN) {
            centre += seen->value[i] - base_at(s, whiten(s, seen->x + i * n, z), &slope);
            n_train++;
        }
    }
    memset(scratch, 0, tess_surrogate_scratch(n));
    for (int64_t i = 0; i < seen->n_seen; i++) {
        if (i % OF < TRAIN) {
            add_point(s, seen, i, centre / n_train, scratch);
        }
    }
    if (!solve(s, scratch)) {
        return 0;
    }
    *error = error_of(s, seen);
    return isfinite(*error);
}
