#include "systems/decode/kde/moments.h"

#include <math.h>
#include <stdbool.h>

// Terms taken for infinitely many; arguments are below 4.
enum { ALL_TERMS = 48 };

// I_k(a), a >= 0: sum_j (a/2)^(2j+k) / (j! (j+k)!).
static double bessel(int64_t k, double a)
{
    double term = 1;
    for (int64_t j = 1; j <= k; j++) {
        term *= 0.5 * a / (double)j;
    }
    double sum = 0;
    for (int64_t j = 0; term > 1e-18 * sum; j++) {
        sum += term;
        term *= 0.25 * a * a / ((double)(j + 1) * (double)(j + 1 + k));
    }
    return sum;
}

static double coefficient(int64_t k, double a)
{
    return (k > 0 ? 2 : 1) * bessel(k, a);
}

// tail[k]: what the terms of total degree k and more add at most, relative to the least value that
// exp(a t) (times exp(b t') in the plane) takes in a cell.
static void neglected(double a, double b, int64_t n_dim, double tail[ALL_TERMS])
{
    double of_a[ALL_TERMS];
    double of_b[ALL_TERMS];
    for (int64_t k = 0; k < ALL_TERMS; k++) {
        of_a[k] = coefficient(k, a);
        of_b[k] = n_dim == 2 ? coefficient(k, b) : (k == 0);
        tail[k] = 0;
    }
    for (int64_t k = 0; k < ALL_TERMS; k++) {
        for (int64_t j = 0; j + k < ALL_TERMS; j++) {
            tail[k + j] += of_a[k] * of_b[j];
        }
    }
    const double least = exp(a + (n_dim == 2 ? b : 0));
    double sum = 0;
    for (int64_t k = ALL_TERMS - 1; k >= 0; k--) {
        sum += tail[k] * least;
        tail[k] = sum;
    }
}

// error[k]: worst relative error, with terms below degree k, of a sum that is at least exp(-depth)
// of the total weight. What lies within depth counts with its own error, what lies farther is
// exp(depth - u^2) of the sum at most.
static void expansion_errors(double width, int64_t n_dim, double depth, double reach,
                             double error[ALL_TERMS])
{
    enum { STEPS = 32, DIRECTIONS = 5 };
    double near[ALL_TERMS] = {0};
    double far[ALL_TERMS] = {0};
    double tail[ALL_TERMS];
    for (int64_t i = 1; i <= STEPS; i++) {
        const double u = reach * (double)i / STEPS;
        const double weight = u * u > depth ? exp(depth - u * u) : 1;
        double *worst = weight < 1 ? far : near;
        for (int64_t j = 0; j < (n_dim == 2 ? DIRECTIONS : 1); j++) {
            const double angle = 0.78539816339744830962 * (double)j / (DIRECTIONS - 1);
            neglected(u * width * cos(angle), u * width * sin(angle), n_dim, tail);
            for (int64_t k = 0; k < ALL_TERMS; k++) {
                worst[k] = tail[k] * weight > worst[k] ? tail[k] * weight : worst[k];
            }
        }
    }
    for (int64_t k = 0; k < ALL_TERMS; k++) {
        error[k] = near[k] + far[k];
    }
}

bool tess_kde_expansion_find(double width, int64_t n_dim, double depth, double bound,
                             tess_kde_expansion *out)
{
    // A quarter of the error to the cells left out, the rest to the terms left out.
    const double reach = sqrt(depth + log(4 / bound));
    double error[ALL_TERMS];
    expansion_errors(width, n_dim, depth, reach, error);
    for (int64_t order = 3; order <= TESS_KDE_MAX_ORDER; order++) {
        if (error[order] <= 0.75 * bound) {
            *out = (tess_kde_expansion){.width = width,
                                        .reach = reach,
                                        .bound = error[order] + 0.25 * bound,
                                        .growth = exp(0.25 * width * width * (double)n_dim),
                                        .order = order};
            return true;
        }
    }
    return false;
}

void tess_kde_expansion_table(const tess_kde_expansion *x, double u, double *table)
{
    const double scale = exp(-u * u);
    const double a = fabs(u) * x->width;
    for (int64_t k = 0; k < x->order; k++) {
        table[k] = scale * coefficient(k, a) * (u < 0 && k % 2 == 1 ? -1 : 1);
    }
}

void tess_kde_expansion_basis(const tess_kde_expansion *x, double v, double *basis)
{
    const double t = 2 * v / x->width;
    const double scale = exp(-v * v);
    double before = scale * t;
    double now = scale;
    for (int64_t k = 0; k < x->order; k++) {
        basis[k] = now;
        const double next = 2 * t * now - before;
        before = now;
        now = next;
    }
}
