#include "numerics/trust_step.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NEWTON_STEPS = 10 };

static const double phi_tolerance = 0.01;

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static double norm(const double *x, int64_t n)
{
    return sqrt(dot(x, x, n));
}

// s^T B t.
static double form(const tess_trust_model *m, const double *s, const double *t)
{
    double sum = 0;
    for (int64_t i = 0; i < m->n; i++) {
        sum += s[i] * dot(m->b + i * m->n, t, m->n);
    }
    return sum;
}

static double value(const tess_trust_model *m, const double *s_hat)
{
    return 0.5 * form(m, s_hat, s_hat) + dot(m->g_hat, s_hat, m->n);
}

// Length of (B + alpha)^-1 g and its derivative by alpha.
static double damped_length(const tess_trust_model *m, double alpha, double *derivative)
{
    double square = 0;
    double slope = 0;
    for (int64_t i = 0; i < m->n; i++) {
        if (m->product[i] == 0) {
            continue;
        }
        const double denominator = m->values[i] + alpha;
        const double part = m->product[i] / denominator;
        square += part * part;
        slope += part * part / denominator;
    }
    const double length = sqrt(square);
    *derivative = length > 0 ? -slope / length : 0;
    return length;
}

// p := -(B + alpha)^-1 g.
static void damped_step(const tess_trust_model *m, double alpha, double *p)
{
    memset(p, 0, (size_t)m->n * sizeof *p);
    for (int64_t i = 0; i < m->n; i++) {
        if (m->product[i] == 0) {
            continue;
        }
        const double s = -m->product[i] / (m->values[i] + alpha);
        for (int64_t k = 0; k < m->n; k++) {
            p[k] += s * m->vectors[i * m->n + k];
        }
    }
}

// The damping at which the step is as long as the radius, to one percent.
static double find_damping(const tess_trust_model *m, double radius, double alpha,
                           bool is_full_rank)
{
    double derivative = 0;
    double upper = norm(m->product, m->n) / radius;
    double lower = 0;
    if (is_full_rank) {
        const double phi = damped_length(m, 0, &derivative) - radius;
        lower = -phi / derivative;
    }
    if (!is_full_rank && alpha == 0) {
        alpha = fmax(0.001 * upper, sqrt(lower * upper));
    }
    for (int step = 0; step < NEWTON_STEPS; step++) {
        if (alpha < lower || alpha > upper) {
            alpha = fmax(0.001 * upper, sqrt(lower * upper));
        }
        const double phi = damped_length(m, alpha, &derivative) - radius;
        if (phi < 0) {
            upper = alpha;
        }
        const double ratio = phi / derivative;
        lower = fmax(lower, alpha - ratio);
        alpha -= (phi + radius) * ratio / radius;
        if (fabs(phi) < phi_tolerance * radius) {
            break;
        }
    }
    return is_full_rank || alpha > 0 ? alpha : DBL_EPSILON * upper;
}

// The minimum of the model within the radius, bounds aside.
static void solve(const tess_trust_model *m, double radius, double *alpha, double *p)
{
    double smallest = (double)INFINITY;
    double largest = 0;
    for (int64_t i = 0; i < m->n; i++) {
        smallest = fmin(smallest, m->values[i]);
        largest = fmax(largest, m->values[i]);
    }
    const bool is_full_rank = smallest > DBL_EPSILON * (double)m->n * largest;
    if (is_full_rank) {
        damped_step(m, 0, p);
        if (norm(p, m->n) <= radius) {
            *alpha = 0;
            return;
        }
    }
    *alpha = find_damping(m, radius, *alpha, is_full_rank);
    damped_step(m, *alpha, p);
    const double length = norm(p, m->n);
    for (int64_t i = 0; i < m->n && length > 0; i++) {
        p[i] *= radius / length;
    }
}

static bool is_inside(const tess_trust_model *m, const double *p)
{
    for (int64_t i = 0; i < m->n; i++) {
        const double x = m->x[i] + p[i];
        if (!(x >= m->lower[i] && x <= m->upper[i])) {
            return false;
        }
    }
    return true;
}

// How far x + begin (begin may be NULL) can go along s until a coordinate meets its bound.
static double reach(const tess_trust_model *m, const double *begin, const double *s, int64_t i)
{
    const double x = m->x[i] + (begin ? begin[i] : 0);
    if (s[i] == 0) {
        return (double)INFINITY;
    }
    return fmax((m->lower[i] - x) / s[i], (m->upper[i] - x) / s[i]);
}

static double reach_all(const tess_trust_model *m, const double *begin, const double *s)
{
    double smallest = (double)INFINITY;
    for (int64_t i = 0; i < m->n; i++) {
        smallest = fmin(smallest, reach(m, begin, s, i));
    }
    return smallest;
}

// The larger t with |p + t s| = radius.
static double reach_radius(const double *p, const double *s, int64_t n, double radius)
{
    const double a = dot(s, s, n);
    const double b = dot(p, s, n);
    const double c = fmin(dot(p, p, n) - radius * radius, 0); // rounding may put p outside
    const double q = -(b + copysign(sqrt(b * b - a * c), b));
    return a == 0 || q == 0 ? 0 : fmax(q / a, c / q);
}

// Minimum of a t^2 + b t + c on low..high: *t and the value there.
static double minimise(double a, double b, double c, double low, double high, double *t)
{
    const double candidates[3] = {low, high, a != 0 ? -0.5 * b / a : low};
    double least = (double)INFINITY;
    for (int k = 0; k < 3; k++) {
        const double at = candidates[k];
        const double y = at * (a * at + b) + c;
        if (at >= low && at <= high && y < least) {
            least = y;
            *t = at;
        }
    }
    return least;
}

// p_hat is where p meets the bound at stride; r_hat the way on, mirrored there. r_hat becomes the
// step; returns its value, infinite if there is none.
static double reflect(const tess_trust_model *m, const double *p, const double *p_hat,
                      double stride, double radius, double *r, double *r_hat)
{
    const int64_t n = m->n;
    const double to_radius = reach_radius(p_hat, r_hat, n, radius);
    const double to_bound = reach_all(m, p, r);
    const double most = fmin(to_bound, to_radius);
    double low = 0;
    double high = -1;
    if (most > 0) {
        low = (1 - m->theta) * stride / most;
        high = most == to_bound ? m->theta * to_bound : to_radius;
    }
    if (!(low <= high)) {
        return (double)INFINITY;
    }
    const double a = 0.5 * form(m, r_hat, r_hat);
    const double b = dot(m->g_hat, r_hat, n) + form(m, p_hat, r_hat);
    const double c = value(m, p_hat);
    double t = low;
    const double least = minimise(a, b, c, low, high, &t);
    for (int64_t i = 0; i < n; i++) {
        r_hat[i] = t * r_hat[i] + p_hat[i];
    }
    return least;
}

// The best step against the gradient, in hat variables.
static double descend(const tess_trust_model *m, double radius, double *along, double *along_hat)
{
    const int64_t n = m->n;
    for (int64_t i = 0; i < n; i++) {
        along_hat[i] = -m->g_hat[i];
        along[i] = m->d[i] * along_hat[i];
    }
    const double length = norm(along_hat, n);
    if (length == 0) {
        return (double)INFINITY;
    }
    const double to_radius = radius / length;
    const double to_bound = reach_all(m, NULL, along);
    const double most = to_bound < to_radius ? m->theta * to_bound : to_radius;
    double t = 0;
    const double least =
        minimise(0.5 * form(m, along_hat, along_hat), dot(m->g_hat, along_hat, n), 0, 0, most, &t);
    for (int64_t i = 0; i < n; i++) {
        along_hat[i] *= t;
    }
    return least;
}

double tess_trust_step(const tess_trust_model *m, double radius, double *alpha, double *step,
                       double *step_hat, double *work)
{
    const int64_t n = m->n;
    solve(m, radius, alpha, step_hat);
    for (int64_t i = 0; i < n; i++) {
        step[i] = m->d[i] * step_hat[i];
    }
    if (is_inside(m, step)) {
        return -value(m, step_hat);
    }
    double *r_hat = work;
    double *along_hat = work + n;
    double *way = work + 2 * n; // a direction in x
    const double stride = reach_all(m, NULL, step);
    for (int64_t i = 0; i < n; i++) {
        r_hat[i] = reach(m, NULL, step, i) == stride ? -step_hat[i] : step_hat[i];
        way[i] = m->d[i] * r_hat[i];
    }
    for (int64_t i = 0; i < n; i++) {
        step[i] *= stride;
        step_hat[i] *= stride;
    }
    const double reflected = reflect(m, step, step_hat, stride, radius, way, r_hat);
    for (int64_t i = 0; i < n; i++) {
        step_hat[i] *= m->theta;
    }
    double least = value(m, step_hat);
    const double descended = descend(m, radius, way, along_hat);
    const double *best = step_hat;
    if (!(least < reflected && least < descended)) {
        best = reflected < least && reflected < descended ? r_hat : along_hat;
        least = best == r_hat ? reflected : descended;
    }
    for (int64_t i = 0; i < n; i++) {
        step_hat[i] = best[i];
        step[i] = m->d[i] * best[i];
    }
    return -least;
}
