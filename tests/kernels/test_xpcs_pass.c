// The kernels of xpcs: the bits of the reference for runs of any length, nothing read behind their
// last column.

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// The references are long double on purpose.
#pragma GCC diagnostic ignored "-Wdouble-promotion"

enum { RUN = TESS_XP_RUN, N_FRAME = 300 };

// Sums over frames as a model has them: rising, their derivatives of any sign.
typedef struct grid {
    check_block block;
    double *diffusion, *diffusion_d[3], *shear, *shear_d[3];
} grid;

static grid make_grid(check *t)
{
    grid g = {.block = check_take(8 * N_FRAME * sizeof(double), 0)};
    double *x = g.block.data;
    g.diffusion = x + 7 * N_FRAME; // its last item is at the end of the page
    g.shear = x;
    const double rate = exp(check_uniform(t, -8, 3)), strain = exp(check_uniform(t, -12, 2));
    for (int k = 0; k < 3; k++) {
        g.diffusion_d[k] = x + (1 + k) * N_FRAME;
        g.shear_d[k] = x + (4 + k) * N_FRAME;
    }
    for (int array = 0; array < 8; array++) {
        double sum = 0;
        for (int k = 0; k < N_FRAME; k++) {
            const double step = array == 7   ? rate * check_uniform(t, 0.1, 1)
                                : array == 0 ? strain * check_uniform(t, 0.1, 1)
                                             : check_uniform(t, -0.5, 1);
            x[array * N_FRAME + k] = sum += step;
        }
    }
    return g;
}

static tess_xp_source any_source(check *t, const grid *g, int round)
{
    tess_xp_source s = {.diffusion = g->diffusion,
                        .eps = round % 4 == 3 ? 1e-3 : 0,
                        .w2 = 0.3,
                        .power = round % 2 ? 4 : 2};
    static const size_t lengths[] = {1, 2, 7, 8, 9, 16, 17, 100, 255, 256};
    s.n = lengths[(size_t)round % ARRAY_LEN(lengths)];
    s.column = N_FRAME - s.n;
    s.row = check_random(t) % s.column;
    for (int k = 0; k < 3; k++) {
        s.diffusion_d[k] = g->diffusion_d[k];
    }
    for (int k = 0; k < 3 && round % 5; k++) {
        s.shear = g->shear;
        s.shear_d[k] = g->shear_d[k];
    }
    return s;
}

static size_t padded(size_t n)
{
    return (n + 15) / 16 * 16;
}

static int pairs_differ(const tess_xp_pairs_f64 *a, const tess_xp_pairs_f64 *b, size_t n, int shear)
{
    const size_t bytes = padded(n) * sizeof(double);
    int differ = memcmp(a->e, b->e, bytes);
    for (int k = 0; k < 3; k++) {
        differ |= memcmp(a->u[k], b->u[k], bytes) | memcmp(a->v[k], b->v[k], bytes);
    }
    if (shear) {
        differ |= memcmp(a->b, b->b, bytes) | memcmp(a->inverse, b->inverse, bytes);
    }
    return differ;
}

// An amplitude for which some z are small, ordinary or huge.
static double any_amplitude(check *t, int round)
{
    static const double special[] = {0, 1e-5, 1, -1, 1e9, 1e16, 1e300};
    return round % 3 == 0 ? special[check_random(t) % ARRAY_LEN(special)]
                          : check_uniform(t, -50, 50);
}

static void pairs_match(check *t)
{
    for (int round = 0; round < (t->quick ? 40 : 400); round++) {
        grid g = make_grid(t);
        const tess_xp_source s = any_source(t, &g, round);
        tess_xp_pairs_f64 want, got;
        memset(&want, 0x5a, sizeof want);
        memset(&got, 0x5a, sizeof got);
        t->ref->xpcs_pairs(&s, &want);
        t->isa->xpcs_pairs(&s, &got);
        // Reference and vectors leave what they do not need as it was, or clear it.
        CHECK(t, pairs_differ(&want, &got, s.n, s.shear != NULL) == 0,
              "%zu pairs, eps %g, %s: other bits", s.n, s.eps, s.shear ? "shear" : "static");
        check_release(&g.block);
    }
}

static void points_match(check *t)
{
    double worst = 0;
    for (int round = 0; round < (t->quick ? 40 : 600); round++) {
        grid g = make_grid(t);
        tess_xp_source s = any_source(t, &g, round);
        s.shear = g.shear;
        tess_xp_pairs_f64 pairs;
        t->ref->xpcs_pairs(&s, &pairs);
        const double a = any_amplitude(t, round);
        const int power = round % 2 ? 4 : 2;
        double want[2][RUN], got[2][RUN];
        t->ref->xpcs_points_f64(&pairs, s.n, a, power, want[0], want[1]);
        t->isa->xpcs_points_f64(&pairs, s.n, a, power, got[0], round % 7 ? got[1] : NULL);
        const size_t bytes = s.n * sizeof(double);
        for (size_t c = s.n; c < padded(s.n); c++) {
            CHECK(t, got[0][c] == 0 && (round % 7 == 0 || got[1][c] == 0), "M behind %zu", s.n);
        }
        CHECK(t, memcmp(want[0], got[0], bytes) == 0, "%zu points at %g: other M", s.n, a);
        CHECK(t, round % 7 == 0 || memcmp(want[1], got[1], bytes) == 0, "%zu points at %g: other T",
              s.n, a);
        for (size_t c = 0; c < s.n; c++) {
            const long double z = (long double)fabs(a) * pairs.b[c];
            const long double sinc = z > 1e-4L ? sinl(z) / z : 1 - z * z / 6;
            const long double m = pairs.e[c] * powl(sinc, power);
            const double error = (double)fabsl(m - got[0][c]);
            worst = z < 1e9L && error > worst ? error : worst;
        }
        check_release(&g.block);
    }
    // z = a b is itself rounded: an error of half an ulp of z, seen through sinc's slope.
    CHECK(t, worst < 4e-15, "M is off by %g", worst);
    snprintf(t->note, sizeof t->note, "largest error of M %.1e", worst);
}

static void fill(check *t, double *x, size_t n, double low, double high)
{
    for (size_t c = 0; c < n; c++) {
        x[c] = check_uniform(t, low, high);
    }
}

// Everything that follows from the samples of one angle.
static void samples_match(check *t)
{
    for (int round = 0; round < (t->quick ? 30 : 300); round++) {
        const size_t n = 1 + check_random(t) % RUN, bytes = padded(n) * sizeof(double);
        check_block y64 = check_take(n * sizeof(double), 0), y32 = check_take(n * sizeof(float), 0);
        check_block by = check_take(n * sizeof(double), 0);
        double want[RUN], got[RUN], want_w[RUN], got_w[RUN], want_square, got_square;
        fill(t, y64.data, n, 0.9, 1.4);
        fill(t, by.data, n, 0.1, 2);
        for (size_t c = 0; c < n; c++) {
            ((float *)y32.data)[c] = (float)((double *)y64.data)[c];
            if (check_random(t) % 9 == 0) {
                ((double *)y64.data)[c] = (double)NAN;
            }
        }
        t->ref->xpcs_centre_f32(y32.data, n, 1.1, want);
        t->isa->xpcs_centre_f32(y32.data, n, 1.1, got);
        CHECK(t, memcmp(want, got, bytes) == 0, "centre_f32 of %zu: other bits", n);
        t->ref->xpcs_centre_f64(y64.data, n, 1.1, want);
        t->isa->xpcs_centre_f64(y64.data, n, 1.1, got);
        const double *weights = round % 2 ? by.data : NULL, *frames = round % 3 ? by.data : NULL;
        t->ref->xpcs_mask(weights, frames, 0.7, n, want_w, want);
        t->isa->xpcs_mask(weights, frames, 0.7, n, got_w, got);
        CHECK(t, memcmp(want, got, bytes) == 0, "mask of %zu: other samples", n);
        CHECK(t, memcmp(want_w, got_w, bytes) == 0, "mask of %zu: other weights", n);
        t->ref->xpcs_weigh(want_w, n, want, &want_square);
        t->isa->xpcs_weigh(got_w, n, got, &got_square);
        CHECK(t, memcmp(want, got, bytes) == 0 && want_square == got_square,
              "weigh of %zu: other bits", n);
        check_release(&y64);
        check_release(&y32);
        check_release(&by);
    }
}

static void losses_match(check *t)
{
    for (int round = 0; round < (t->quick ? 30 : 300); round++) {
        const size_t n = 1 + check_random(t) % RUN, bytes = padded(n) * sizeof(double);
        const tess_xp_robust loss = {.contrast = 0.3,
                                     .offset = 1.1,
                                     .inverse_variance = exp(check_uniform(t, -12, 12)),
                                     .f_scale = 0.7,
                                     .loss = round % 5};
        double m[RUN] = {0}, w[2][RUN] = {{0}}, g[2][RUN] = {{0}}, sums[2][2];
        fill(t, m, n, 0, 1);
        fill(t, w[0], n, 0, 2);
        fill(t, g[0], n, 0.9, 1.5);
        memcpy(w[1], w[0], sizeof w[0]);
        memcpy(g[1], g[0], sizeof g[0]);
        t->ref->xpcs_robust(&loss, m, n, w[0], g[0], sums[0]);
        t->isa->xpcs_robust(&loss, m, n, w[1], g[1], sums[1]);
        CHECK(t, memcmp(w[0], w[1], bytes) == 0, "loss %d of %zu: other weights", round % 5, n);
        CHECK(t, memcmp(g[0], g[1], bytes) == 0, "loss %d of %zu: other residuals", round % 5, n);
        CHECK(t, memcmp(sums[0], sums[1], sizeof sums[0]) == 0, "loss %d of %zu: other sums",
              round % 5, n);
    }
}

// A run with samples, weights and its points.
typedef struct run {
    tess_xp_pairs_f64 pairs;
    tess_xp_pairs_f32 pairs_f32;
    double m[RUN], t[RUN], w[RUN], g[RUN];
    float m_f32[RUN], t_f32[RUN], w_f32[RUN], g_f32[RUN];
} run;

static size_t make_run(check *t, run *r, int round)
{
    grid g = make_grid(t);
    tess_xp_source s = any_source(t, &g, round);
    s.shear = g.shear;
    memset(r, 0, sizeof *r);
    t->ref->xpcs_pairs(&s, &r->pairs);
    t->ref->xpcs_narrow_pairs(&r->pairs, s.n, &r->pairs_f32);
    const double a = any_amplitude(t, round);
    t->ref->xpcs_points_f64(&r->pairs, s.n, a, 4, r->m, r->t);
    t->ref->xpcs_points_f32(&r->pairs_f32, s.n, a, 4, r->m_f32, r->t_f32);
    fill(t, r->w, s.n, 0, 2);
    fill(t, r->g, s.n, -1, 1);
    t->ref->xpcs_narrow(r->w, s.n, r->w_f32);
    t->ref->xpcs_narrow(r->g, s.n, r->g_f32);
    check_release(&g.block);
    return s.n;
}

static void sums_match(check *t)
{
    for (int round = 0; round < (t->quick ? 30 : 400); round++) {
        static run r;
        static tess_xp_angle_sums_f64 want_a, got_a;
        const size_t n = make_run(t, &r, round);
        const int want = round % 3;
        const tess_xp_terms_f64 terms = {.m = r.m,
                                         .t = round % 4 && want ? r.t : NULL,
                                         .w = round % 5 < 2 ? r.w : NULL,
                                         .g = r.g,
                                         .weight = 0.3,
                                         .tau = check_uniform(t, -2, 2)};
        double want_sums[8 * TESS_XP_N_SUM] = {0}, got_sums[8 * TESS_XP_N_SUM] = {0};
        fill(t, want_a.a[0], 6 * TESS_XP_ROW, 0, 1);
        fill(t, want_sums, 8 * TESS_XP_N_SUM, -1, 1);
        memcpy(got_sums, want_sums, sizeof got_sums);
        got_a = want_a;
        t->ref->xpcs_sums_f64(&r.pairs, &terms, n, want, want_sums, &want_a);
        t->isa->xpcs_sums_f64(&r.pairs, &terms, n, want, got_sums, &got_a);
        CHECK(t, memcmp(want_sums, got_sums, sizeof want_sums) == 0,
              "%zu columns, want %d: other sums", n, want);
        CHECK(t, memcmp(&want_a, &got_a, sizeof want_a) == 0, "%zu columns: other sums over angles",
              n);
        double h[2][TESS_XP_N_OUTER] = {{0}};
        const int n_param = round % 2 ? 7 : 3;
        t->ref->xpcs_outer(&r.pairs, &want_a, n, n_param, h[0]);
        t->isa->xpcs_outer(&r.pairs, &want_a, n, n_param, h[1]);
        CHECK(t, memcmp(h[0], h[1], sizeof h[0]) == 0, "%zu columns: other Hessian", n);
    }
}

static void mixed_sums_match(check *t)
{
    double worst = 0;
    for (int round = 0; round < (t->quick ? 30 : 400); round++) {
        static run r;
        static tess_xp_angle_sums_f32 want_a, got_a;
        static tess_xp_angle_sums_f64 want_wide, got_wide;
        static tess_xp_pairs_f32 narrow;
        const size_t n = make_run(t, &r, round);
        const int want = round % 3;
        const double a = any_amplitude(t, round);
        float m[2][RUN] = {{0}}, slope[2][RUN] = {{0}};
        narrow = r.pairs_f32;
        t->isa->xpcs_narrow_pairs(&r.pairs, n, &narrow);
        CHECK(t, memcmp(&narrow, &r.pairs_f32, sizeof narrow) == 0, "%zu pairs: other in f32", n);
        t->ref->xpcs_points_f64(&r.pairs, n, a, 4, r.m, r.t);
        t->ref->xpcs_points_f32(&narrow, n, a, 4, m[0], slope[0]);
        for (size_t c = 0; c < n; c++) {
            const double error = fabs((double)m[0][c] / TESS_XP_SCALE_F32 - r.m[c]);
            if (!(error <= worst)) {
                worst = error;
            }
        }
        t->isa->xpcs_points_f32(&narrow, n, a, 4, m[1], slope[1]);
        CHECK(t,
              memcmp(m[0], m[1], sizeof m[0]) == 0 &&
                  !memcmp(slope[0], slope[1], n * sizeof slope[0][0]),
              "%zu points at %g: other in f32", n, a);
        const tess_xp_terms_f32 terms = {.m = r.m_f32,
                                         .t = want ? r.t_f32 : NULL,
                                         .w = round % 5 < 2 ? r.w_f32 : NULL,
                                         .g = r.g_f32,
                                         .weight = 0.3,
                                         .tau = check_uniform(t, -2, 2)};
        double want_sums[8 * TESS_XP_N_SUM] = {0}, got_sums[8 * TESS_XP_N_SUM] = {0};
        memset(&want_a, 0, sizeof want_a);
        got_a = want_a;
        t->ref->xpcs_sums_f32(&r.pairs_f32, &terms, n, want, want_sums, &want_a);
        t->isa->xpcs_sums_f32(&r.pairs_f32, &terms, n, want, got_sums, &got_a);
        CHECK(t, memcmp(want_sums, got_sums, sizeof want_sums) == 0,
              "%zu columns, want %d: other sums in f32", n, want);
        t->ref->xpcs_widen(&want_a, n, &want_wide);
        t->isa->xpcs_widen(&got_a, n, &got_wide);
        for (int k = 0; k < 6; k++) {
            CHECK(t, memcmp(want_wide.a[k], got_wide.a[k], padded(n) * sizeof(double)) == 0,
                  "%zu columns: other sums over angles in f32", n);
        }
    }
    // A dozen roundings of a factor that is taken to the fourth power.
    CHECK(t, worst < 1e-6, "M is off by %g", worst);
    snprintf(t->note, sizeof t->note, "largest error of M %.1e", worst);
}

static void static_sums_match(check *t)
{
    for (int round = 0; round < (t->quick ? 30 : 300); round++) {
        grid g = make_grid(t);
        tess_xp_source s = any_source(t, &g, round);
        s.shear = NULL;
        tess_xp_pairs_f64 pairs;
        t->ref->xpcs_pairs(&s, &pairs);
        check_block y64 = check_take(s.n * sizeof(double), 0);
        check_block y32 = check_take(s.n * sizeof(float), 0);
        fill(t, y64.data, s.n, 0.9, 1.4);
        for (size_t c = 0; c < s.n; c++) {
            ((float *)y32.data)[c] = (float)((double *)y64.data)[c];
        }
        double sums[2][TESS_XP_N_STATIC_SUM];
        t->ref->xpcs_static_pairs(&pairs, s.n, sums[0]);
        t->isa->xpcs_static_pairs(&pairs, s.n, sums[1]);
        CHECK(t, memcmp(sums[0], sums[1], sizeof sums[0]) == 0, "%zu pairs: other sums", s.n);
        t->ref->xpcs_static_f64(&pairs, y64.data, s.n, 1.1, sums[0]);
        t->isa->xpcs_static_f64(&pairs, y64.data, s.n, 1.1, sums[1]);
        CHECK(t, memcmp(sums[0], sums[1], 4 * sizeof(double)) == 0, "%zu samples: other", s.n);
        t->ref->xpcs_static_f32(&pairs, y32.data, s.n, 1.1, sums[0]);
        t->isa->xpcs_static_f32(&pairs, y32.data, s.n, 1.1, sums[1]);
        CHECK(t, memcmp(sums[0], sums[1], 4 * sizeof(double)) == 0, "%zu f32 samples: other", s.n);
        check_release(&y64);
        check_release(&y32);
        check_release(&g.block);
    }
}

static void simulations_match(check *t)
{
    for (int round = 0; round < (t->quick ? 30 : 300); round++) {
        const size_t n = 1 + check_random(t) % RUN;
        uint8_t bad[RUN];
        double m[RUN] = {0}, y[2][RUN], head[2][3];
        float narrow[2][RUN];
        fill(t, m, n, 0, 1);
        for (size_t c = 0; c < n; c++) {
            bad[c] = check_random(t) % 20 == 0;
        }
        const tess_xp_simulation s = {.contrast = 0.3,
                                      .offset = 1.1,
                                      .mean = 1.12,
                                      .sigma = 0.02,
                                      .nan_fraction = round % 3 ? 0 : 0.1,
                                      .is_bad = round % 2 ? bad : NULL,
                                      .key = check_random(t),
                                      .n = n};
        t->ref->xpcs_simulate_f64(&s, m, y[0], head[0]);
        t->isa->xpcs_simulate_f64(&s, m, y[1], head[1]);
        CHECK(t, memcmp(y[0], y[1], padded(n) * sizeof(double)) == 0, "%zu samples: other", n);
        CHECK(t, memcmp(head[0], head[1], sizeof head[0]) == 0, "%zu samples: other head", n);
        t->ref->xpcs_simulate_f32(&s, m, narrow[0], head[0]);
        t->isa->xpcs_simulate_f32(&s, m, narrow[1], head[1]);
        CHECK(t, memcmp(narrow[0], narrow[1], padded(n) * sizeof(float)) == 0,
              "%zu f32 samples: other", n);
        CHECK(t, memcmp(head[0], head[1], sizeof head[0]) == 0, "%zu f32 samples: other head", n);
    }
}

const check_test test_xpcs_pass_list[] = {{"xpcs_pairs", pairs_match},
                                          {"xpcs_points", points_match},
                                          {"xpcs samples and weights", samples_match},
                                          {"xpcs_robust", losses_match},
                                          {"xpcs_sums", sums_match},
                                          {"xpcs_sums mixed", mixed_sums_match},
                                          {"xpcs_static", static_sums_match},
                                          {"xpcs_simulate", simulations_match},
                                          {NULL, NULL}};
