// Two components: the bits of the reference for runs of any length, and the model's values and
// derivatives by their definition.

#include "check.h"

#include <math.h>
#include <string.h>

// The references are long double on purpose.
#pragma GCC diagnostic ignored "-Wdouble-promotion"

enum { N_FRAME = 300, ARRAYS = 18, N_PARAM = TESS_XP_TWO_N_PARAM };

// Integrals that rise, derivatives of any sign, mixing angles; the last item ends at a page.
static double *make_grid(check *t, check_block *block)
{
    *block = check_take(ARRAYS * N_FRAME * sizeof(double), 0);
    double *x = block->data;
    const double rate = exp(check_uniform(t, -6, 2));
    for (int array = 0; array < 12; array++) {
        double sum = 0;
        for (int k = 0; k < N_FRAME; k++) {
            sum += array == 0 || array == 4 ? rate * check_uniform(t, 0, 1)
                                            : check_uniform(t, -0.5, 1);
            x[array * N_FRAME + k] = sum;
        }
    }
    for (int k = 0; k < N_FRAME; k++) {
        const double angle = check_uniform(t, 0, 1.57);
        x[12 * N_FRAME + k] = cos(angle);
        x[13 * N_FRAME + k] = sin(angle);
        for (int array = 14; array < ARRAYS; array++) {
            x[array * N_FRAME + k] = check_uniform(t, -1, 1);
        }
    }
    return x;
}

static tess_xp_two_source any_source(check *t, const double *grid, int round)
{
    static const size_t lengths[] = {1, 2, 7, 8, 9, 16, 17, 100, 255, 256};
    tess_xp_two_source s = {.grid = grid,
                            .stride = N_FRAME,
                            .eps = round % 4 == 3 ? 1e-3 : 0,
                            .w2 = 0.3,
                            .n = lengths[(size_t)round % ARRAY_LEN(lengths)],
                            .has_derivatives = round % 5 != 0};
    s.column = N_FRAME - s.n;
    s.row = check_random(t) % s.column;
    return s;
}

// M of one pair by its definition, a change of parameter k included.
static long double model_at(const tess_xp_two_source *s, size_t c, double a, double tau, int k,
                            long double step)
{
    const double *x = s->grid;
    const size_t i = s->row, j = s->column + c, n = s->stride;
    long double way[3], mixing[2];
    for (int r = 0; r < 3; r++) {
        way[r] = (long double)x[4 * r * (int)n + (int)j] - x[4 * r * (int)n + (int)i];
        if (k / 3 == r && k < 9) {
            const double *d = x + (4 * r + 1 + k % 3) * (int)n;
            way[r] += step * ((long double)d[j] - d[i]);
        }
    }
    for (int end = 0; end < 2; end++) {
        const size_t f = end ? j : i;
        mixing[end] = atan2l(x[13 * n + f], x[12 * n + f]);
        mixing[end] += k >= 9 && k < 13 ? step * x[(14 + (size_t)k - 9) * n + f] : 0;
    }
    const long double amplitude = a + (k == 13 ? step * tau : 0);
    const long double hr = expl(-s->w2 * sqrtl(way[0] * way[0] + s->eps));
    const long double hs = expl(-s->w2 * sqrtl(way[1] * way[1] + s->eps));
    const long double fx = cosl(mixing[0]) * cosl(mixing[1]) * hr;
    const long double fy = sinl(mixing[0]) * sinl(mixing[1]) * hs;
    return fx * fx + fy * fy + 2 * fx * fy * cosl(amplitude * way[2]);
}

static void expect_model(check *t, const tess_xp_two_source *s, double a, double tau,
                         const double *m, const tess_xp_slopes *slopes)
{
    for (size_t c = 0; c < s->n; c += 5) {
        const double want = (double)model_at(s, c, a, tau, -1, 0);
        CHECK(t, fabs(m[c] - want) < 1e-13, "M is %.17g, expected %.17g", m[c], want);
        for (int k = 0; k < N_PARAM && slopes; k++) {
            const long double h = 1e-6L;
            const double slope =
                (double)((model_at(s, c, a, tau, k, h) - model_at(s, c, a, tau, k, -h)) / (2 * h));
            CHECK(t, fabs(slopes->j[k][c] - slope) < 1e-6 * (1 + fabs(slope)),
                  "derivative %d is %.17g, expected %.17g", k, slopes->j[k][c], slope);
        }
    }
}

static void points_match(check *t)
{
    for (int round = 0; round < (t->quick ? 40 : 300); round++) {
        static tess_xp_two_pairs want, got;
        static tess_xp_slopes want_j, got_j;
        double m[2][TESS_XP_ROW];
        check_block block;
        const tess_xp_two_source s = any_source(t, make_grid(t, &block), round);
        const double a = check_uniform(t, -3, 3), tau = check_uniform(t, -1, 1);
        memset(&want, 0, sizeof want);
        memset(&got, 0, sizeof got);
        memset(&want_j, 0, sizeof want_j);
        memset(&got_j, 0, sizeof got_j);
        t->ref->xpcs_two_pairs(&s, &want);
        t->isa->xpcs_two_pairs(&s, &got);
        CHECK(t, memcmp(&want, &got, sizeof want) == 0, "%zu pairs, eps %g: other bits", s.n,
              s.eps);
        t->ref->xpcs_two_points(&want, s.n, a, tau, m[0], s.has_derivatives ? &want_j : NULL);
        t->isa->xpcs_two_points(&want, s.n, a, tau, m[1], s.has_derivatives ? &got_j : NULL);
        CHECK(t, memcmp(m[0], m[1], s.n * sizeof(double)) == 0, "%zu points: other M", s.n);
        CHECK(t, memcmp(&want_j, &got_j, sizeof want_j) == 0, "%zu points: other slopes", s.n);
        expect_model(t, &s, a, tau, m[0], s.has_derivatives ? &want_j : NULL);
        check_release(&block);
    }
}

// Every sum of the dense kernel, for any number of derivatives.
static void dense_sums_match(check *t)
{
    for (int round = 0; round < (t->quick ? 60 : 400); round++) {
        static tess_xp_slopes slopes[2];
        static double m[TESS_XP_ROW], w[TESS_XP_ROW], g[TESS_XP_ROW];
        double sums[2][TESS_XP_DENSE_SUMS] = {{0}};
        const size_t n = 1 + check_random(t) % TESS_XP_RUN, width = (n + 15) / 16 * 16;
        const int p = 1 + (int)(check_random(t) % TESS_XP_DENSE_MAX), want = round % 3;
        for (size_t c = 0; c < width; c++) {
            m[c] = c < n ? check_uniform(t, 0, 1) : 0;
            w[c] = c < n ? check_uniform(t, 0, 2) : 0;
            g[c] = c < n ? check_uniform(t, -1, 1) : 0;
            for (int k = 0; k < TESS_XP_DENSE_MAX; k++) {
                slopes[0].j[k][c] = c < n ? check_uniform(t, -1, 1) : 0;
            }
        }
        slopes[1] = slopes[0];
        const double *weights = round % 2 ? w : NULL;
        t->ref->xpcs_dense_sums(m, weights, g, &slopes[0], n, p, want, sums[0]);
        t->isa->xpcs_dense_sums(m, weights, g, &slopes[1], n, p, want, sums[1]);
        CHECK(t, memcmp(sums[0], sums[1], sizeof sums[0]) == 0, "%zu columns of %d: other sums", n,
              p);
        // One of the products by its definition.
        const int k = (int)(check_random(t) % (size_t)p), l = k + (p - 1 - k) / 2;
        long double product = 0;
        for (size_t c = 0; c < n; c++) {
            product += (weights ? w[c] : 1) * (long double)slopes[0].j[k][c] * slopes[0].j[l][c];
        }
        const double got = sums[0][6 + 3 * p + k * p - k * (k - 1) / 2 + l - k];
        CHECK(t, want != TESS_XP_HESSIAN || fabs(got - (double)product) < 1e-12,
              "product %d %d of %d is %.17g", k, l, p, got);
    }
}

const check_test test_xpcs_two_list[] = {
    {"xpcs_two_points", points_match}, {"xpcs_dense_sums", dense_sums_match}, {NULL, NULL}};
