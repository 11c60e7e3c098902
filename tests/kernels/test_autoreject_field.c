// MEG field mapping: the series against the reference, and solutions against a matrix whose
// eigenvalues and vectors are known.

#include "check.h"

#include "kernels/spectrum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void unit_vector(check *t, double *v)
{
    double square = 0;
    for (int k = 0; k < 3; k++) {
        v[k] = check_uniform(t, -1, 1);
        square += v[k] * v[k];
    }
    for (int k = 0; k < 3; k++) {
        v[k] /= sqrt(square);
    }
}

static void series_match(check *t)
{
    for (int round = 0; round < (t->quick ? 5 : 60); round++) {
        const size_t n = 1 + check_random(t) % 60;
        const size_t n_term = round % 2 ? 49 : 99;
        double point[7];
        double *place = malloc(6 * n * sizeof *place);
        double *length = malloc(n * sizeof *length);
        double *want = malloc(n * sizeof *want);
        check_block got = check_take(n * sizeof *want, 0);
        unit_vector(t, point);
        unit_vector(t, point + 3);
        point[6] = check_uniform(t, 0.09, 0.13);
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < 2; k++) {
                double v[3];
                unit_vector(t, v);
                for (size_t i = 0; i < 3; i++) {
                    // The point itself is among them.
                    place[(3 * k + i) * n + j] = j == 0 ? point[3 * k + i] : v[i];
                }
            }
            length[j] = check_uniform(t, 0.09, 0.13);
        }
        t->ref->field_dots(point, place, place + 3 * n, length, n, n, 0.06, n_term, want);
        t->isa->field_dots(point, place, place + 3 * n, length, n, n, 0.06, n_term, got.data);
        double most = 0;
        for (size_t j = 0; j < n; j++) {
            most = fabs(want[j]) > most ? fabs(want[j]) : most;
        }
        for (size_t j = 0; j < n; j++) {
            const double error = fabs(((double *)got.data)[j] - want[j]);
            CHECK(t, error <= 1e-13 * most, "%zu terms, %zu of %zu: off by %.3g", n_term, j, n,
                  error / most);
        }
        CHECK(t, most > 0, "all dot products are 0");
        check_release(&got);
        free(place);
        free(length);
        free(want);
    }
}

// x := (1 - 2 v v^T) x for rows of x [n][n].
static void mirror(double *x, size_t n, const double *v)
{
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        square += v[i] * v[i];
    }
    for (size_t r = 0; r < n; r++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += x[r * n + i] * v[i];
        }
        for (size_t i = 0; i < n; i++) {
            x[r * n + i] -= 2 * sum / square * v[i];
        }
    }
}

// Orthonormal rows.
static double *random_basis(check *t, size_t n)
{
    double *q = calloc(n * n, sizeof *q);
    double *v = malloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        q[i * n + i] = 1;
    }
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < n; i++) {
            v[i] = check_uniform(t, -1, 1);
        }
        mirror(q, n, v);
    }
    free(v);
    return q;
}

typedef struct problem {
    size_t n, n_rhs, rank;
    double *a, *b, *want;
    double *work;
} problem;

// Eigenvalues: rank large ones, and small ones that sum to much less than miss.
static problem make_problem(check *t, size_t n, size_t n_rhs, size_t rank)
{
    problem p = {n, n_rhs, rank, NULL, NULL, NULL, NULL};
    double *q = random_basis(t, n);
    double *value = malloc(n * sizeof *value);
    p.a = calloc(n * n, sizeof *p.a);
    p.b = malloc(n_rhs * n * sizeof *p.b);
    p.want = calloc(n_rhs * n, sizeof *p.want);
    p.work = malloc(tess_spectrum_items(n) * sizeof *p.work);
    for (size_t k = 0; k < n; k++) {
        value[k] = k < rank ? check_uniform(t, 1, 100) : pow(10, -8 - (double)(k % 13));
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                p.a[i * n + j] += value[k] * q[k * n + i] * q[k * n + j];
            }
        }
    }
    for (size_t r = 0; r < n_rhs; r++) {
        for (size_t i = 0; i < n; i++) {
            p.b[r * n + i] = check_uniform(t, -1, 1);
        }
        for (size_t k = 0; k < rank; k++) {
            double part = 0;
            for (size_t i = 0; i < n; i++) {
                part += q[k * n + i] * p.b[r * n + i];
            }
            for (size_t i = 0; i < n; i++) {
                p.want[r * n + i] += part / value[k] * q[k * n + i];
            }
        }
    }
    free(q);
    free(value);
    return p;
}

static void free_problem(problem *p)
{
    free(p->a);
    free(p->b);
    free(p->want);
    free(p->work);
}

static void solutions_are_right(check *t)
{
    double worst = 0;
    for (int round = 0; round < (t->quick ? 10 : 80); round++) {
        const size_t n = 1 + check_random(t) % (round % 8 == 0 ? 90 : 30);
        const size_t rank = round % 5 == 0 ? n : 1 + check_random(t) % n;
        problem p = make_problem(t, n, 1 + check_random(t) % 20, rank);
        size_t got = 0;
        t->isa->spectrum_solve(p.a, n, p.b, p.n_rhs, 1e-4 / (double)(100 * n), p.work, &got);
        CHECK(t, got == rank, "%zu channels: rank %zu instead of %zu", n, got, rank);
        for (size_t i = 0; i < n * p.n_rhs; i++) {
            const double error = fabs(p.b[i] - p.want[i]);
            worst = error > worst ? error : worst;
            CHECK(t, error < 1e-11, "%zu channels, rank %zu: off by %.3g", n, rank, error);
        }
        free_problem(&p);
    }
    snprintf(t->note, sizeof t->note, "worst %.1e", worst);
}

static void odd_matrices_end(check *t)
{
    enum { N = 9 };
    double *work = malloc(tess_spectrum_items(N) * sizeof *work);
    double a[N * N] = {0};
    double b[N] = {1};
    size_t rank = 5;
    t->isa->spectrum_solve(a, N, b, 1, 1e-4, work, &rank);
    CHECK(t, rank == 0, "zero matrix: rank %zu", rank);
    memset(a, 0xff, sizeof a);
    rank = 5;
    t->isa->spectrum_solve(a, N, b, 1, 1e-4, work, &rank);
    CHECK(t, rank == 0, "NaN: rank %zu", rank);
    // All eigenvalues equal.
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < N; i++) {
        a[i * N + i] = 4;
        b[i] = (double)i;
    }
    t->isa->spectrum_solve(a, N, b, 1, 1e-4, work, &rank);
    CHECK(t, rank == N, "unit matrix: rank %zu", rank);
    for (size_t i = 0; i < N; i++) {
        CHECK(t, fabs(b[i] - (double)i / 4) < 1e-15, "unit matrix: %g", b[i]);
    }
    free(work);
}

const check_test test_autoreject_field_list[] = {{"field_dots", series_match},
                                                 {"spectrum_solve", solutions_are_right},
                                                 {"spectrum_solve, odd ones", odd_matrices_end},
                                                 {NULL, NULL}};
