// Splines of place and the Poisson regression on them.
#include "decode_random.h"

#include "runtime/context.h"
#include "systems/decode/sorted/poisson.h"
#include "tessera/decode/fitted.h"

#include "numerics/cholesky.h"

static recording r;

static void small_systems_are_solved(void **state)
{
    (void)state;
    enum { N = 7 };
    double a[N * N], l[N * N], x[N], b[N] = {0};
    for (int i = 0; i < N; i++) {
        x[i] = normal();
        for (int j = 0; j <= i; j++) {
            a[i * N + j] = a[j * N + i] = normal() + (i == j ? 2 * N : 0);
        }
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            b[i] += a[i * N + j] * x[j];
            l[i * N + j] = j <= i ? a[i * N + j] : 1e300; // above the diagonal: not to be read
        }
    }
    assert_true(tess_cholesky(l, N));
    tess_cholesky_solve(l, N, b);
    assert_true(golden_worst(b, x, N, 1e-13, 0) <= 1);
    a[0] = -1;
    assert_false(tess_cholesky(a, N));
}

static double spline_value(const tess_de_spline *s, const double *term, const double *place)
{
    double factors[TESS_SPLINE_TERMS], sum = 0;
    int64_t terms[TESS_SPLINE_TERMS];
    tess_de_spline_terms(s, tess_de_spline_at(s, place, factors), terms);
    for (int64_t k = 0; k < s->n_local; k++) {
        sum += factors[k] * term[terms[k]];
    }
    return sum;
}

// Values at the knots come back, lines stay lines, the curve is smooth, its ends are straight.
static void splines_are_natural_and_cubic(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    make_recording(ctx, 1, &r, &s);
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    tess_de_spline spline;
    const tess_decode_environment_info *env = tess_decode_environment_get_info(s.env);
    assert_ok(tess_de_spline_build(&blocks, env, r.position, N_SAMPLE, 7, &spline));
    const tess_de_spline_axis *axis = &spline.axes[0];
    const int64_t n = axis->n_knot;
    assert_int_equal(n, 16); // 110 cm: 16 points over the edges, the inner ones and the ends
    double value[64], term[128];
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < n; i++) {
            value[i] = round ? normal() : 3 - 0.25 * axis->knot[i];
        }
        for (int64_t t = 0; t < 2 * n; t++) {
            term[t] = 0;
            for (int64_t i = 0; i < n; i++) {
                term[t] += axis->to_terms[t * n + i] * value[i];
            }
        }
        for (int64_t i = 0; i < n; i++) {
            assert_true(fabs(spline_value(&spline, term, &axis->knot[i]) - value[i]) < 1e-12);
        }
        for (double x = axis->knot[0] - 20; x < axis->knot[n - 1] + 20; x += 0.37) {
            const double h = 1e-3;
            const double at[5] = {x - h, x, x + h, x + 2 * h, x + 3 * h};
            double y[5];
            for (int k = 0; k < 5; k++) {
                y[k] = spline_value(&spline, term, &at[k]);
            }
            const double bend = (y[0] - 2 * y[1] + y[2]) / (h * h);
            const double next = (y[1] - 2 * y[2] + y[3]) / (h * h);
            assert_true(fabs(bend - next) < 2e-3); // no jump of the second derivative
            const bool outside = x + h < axis->knot[0] || x - h > axis->knot[n - 1];
            if (round == 0 || outside) {
                assert_true(fabs(bend) < 1e-6);
            }
        }
    }
    tess_blocks_free(&blocks);
    tess_decode_environment_destroy(s.env);
    tess_context_destroy(ctx);
}

// Free coefficients have mean 0 over the samples and are as long as the values they stand for.
static void the_basis_is_centred(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    for (int64_t d = 1; d <= 2; d++) {
        set s;
        make_recording(ctx, d, &r, &s);
        tess_blocks blocks;
        tess_blocks_init(&blocks, &ctx->heap);
        tess_de_spline b;
        const tess_decode_environment_info *env = tess_decode_environment_get_info(s.env);
        assert_ok(tess_de_spline_build(&blocks, env, r.position, N_SAMPLE, 20, &b));
        double *term = malloc((size_t)b.n_term * sizeof *term);
        for (int64_t k = 0; k < b.n_free; k++) {
            for (int64_t t = 0; t < b.n_term; t++) {
                term[t] = b.basis[t * b.n_free + k];
            }
            double mean = 0, square = 0;
            for (int64_t i = 0; i < N_SAMPLE; i++) {
                mean += spline_value(&b, term, r.position + i * d) / N_SAMPLE;
            }
            const int64_t n1 = b.axes[d - 1].n_knot;
            for (int64_t v = 0; v <= b.n_free; v++) {
                const double place[2] = {b.axes[0].knot[d == 2 ? v / n1 : v],
                                         b.axes[d - 1].knot[v % n1]};
                square += pow(spline_value(&b, term, place), 2);
            }
            assert_true(fabs(mean) < 1e-13 && fabs(square - 1) < 1e-11);
        }
        free(term);
        tess_blocks_free(&blocks);
        tess_decode_environment_destroy(s.env);
    }
    tess_context_destroy(ctx);
}

// The objective of a unit, sample by sample, for coefficients c.
static double objective(const tess_decode_encoding_info *info, const tess_de_spline *b, int64_t d,
                        const double *weights, const double *spike_weights, int u, const double *c)
{
    double *term = calloc((size_t)b->n_term, sizeof *term);
    double sum = 0, square = 0;
    for (int64_t t = 0; t < b->n_term; t++) {
        for (int64_t k = 0; k < b->n_free; k++) {
            term[t] += b->basis[t * b->n_free + k] * c[1 + k];
        }
    }
    for (int64_t i = 0; i < N_SAMPLE; i++) {
        sum += weights[i] * exp(c[0] + spline_value(b, term, r.position + i * d));
    }
    for (int64_t i = 0; i < info->n_spike[u]; i++) {
        const double *place = info->encoding_positions[u] + i * d;
        sum -= spike_weights[i] * (c[0] + spline_value(b, term, place));
    }
    for (int64_t k = 1; k <= b->n_free; k++) {
        square += c[k] * c[k];
    }
    free(term);
    return sum / N_SAMPLE + 1e-3 * square;
}

// The model shows its knots and unit 0's coefficients; the mean is what the frame is orthogonal to:
// values H[:, 1:] c, H by its own formula, have no mean.
static void check_shown(const tess_decode_encoding *encoding, const tess_de_spline *b,
                        const double *c)
{
    tess_decode_regression shown = {.struct_size = sizeof shown};
    assert_ok(tess_decode_encoding_get_regression(encoding, &shown));
    const int64_t n = shown.n_coefficient;
    assert_int_equal(shown.n_unit, N_UNIT);
    assert_int_equal(shown.n_dim, b->n_dim);
    assert_int_equal(n, b->n_free + 1);
    assert_memory_equal(shown.coefficients, c, (size_t)n * sizeof *c);
    double u[512], length = 0, along = 0, mean = 0;
    for (int64_t k = 0; k < shown.n_dim; k++) {
        assert_int_equal(shown.n_knot[k], b->axes[k].n_knot);
        assert_memory_equal(shown.knots[k], b->axes[k].knot, (size_t)shown.n_knot[k] * 8);
    }
    for (int64_t v = 0; v < n; v++) {
        length += shown.mean[v] * shown.mean[v];
        mean += shown.mean[v];
        u[v] = shown.mean[v];
    }
    assert_true(fabs(mean - 1) < 1e-12); // a constant is the spline with all values 1
    u[0] += sqrt(length);
    double square = length + 2 * sqrt(length) * shown.mean[0] + length;
    for (int64_t v = 1; v < n; v++) {
        along += 2 / square * u[v] * c[v];
    }
    double value[512], dot = 0, size = 0;
    for (int64_t v = 0; v < n; v++) {
        value[v] = (v > 0 ? c[v] : 0) - along * u[v];
        dot += value[v] * shown.mean[v];
        size += fabs(value[v]);
    }
    assert_true(fabs(dot) < 1e-12 * size);
    // The mean is that of the samples: of cardinal splines at the knots of coordinate 0.
    double first = 0;
    for (int64_t i = 0; i < N_SAMPLE; i++) {
        first += r.position[i * b->n_dim] / N_SAMPLE;
    }
    for (int64_t v = 0; v < n; v++) { // a line is its own spline
        first -= shown.mean[v] * shown.knots[0][b->n_dim == 2 ? v / shown.n_knot[1] : v];
    }
    assert_true(fabs(first) < 1e-9);
    tess_decode_mixture none = {.struct_size = sizeof none};
    assert_int_equal(tess_decode_encoding_get_mixture(encoding, 0, 0, &none), TESS_E_UNSUPPORTED);
}

// At the optimum of a convex function every small step goes up, to second order.
static void check_optimum(tess_context *ctx, set *s, int64_t d)
{
    tess_decode_encoding *encoding = encode(ctx, s);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    tess_de_spline b;
    assert_ok(tess_de_spline_build(&blocks, tess_decode_environment_get_info(s->env), r.position,
                                   N_SAMPLE, s->config.glm_knot_spacing, &b));
    tess_de_poisson_data data = {.penalty = 1e-3};
    assert_ok(tess_de_poisson_prepare(&blocks, &blocks, &b, r.position, r.weights, N_SAMPLE, 1,
                                      1 << 30, &data));
    double spike_weights[MAX_SPIKE];
    for (int64_t i = 0, j = 0; i < info->n_spike[0]; i++) { // counted at the sample before
        while (j + 2 < N_SAMPLE && r.position_time[j + 1] <= r.times[0][i]) {
            j++;
        }
        spike_weights[i] = r.weights[j];
        assert_memory_equal(info->encoding_positions[0] + i * d, r.position + j * d,
                            (size_t)d * sizeof(double));
    }
    double *spike_term = calloc((size_t)b.n_term, sizeof *spike_term);
    double *term = malloc((size_t)b.n_term * sizeof *term);
    double *scratch = malloc(tess_de_poisson_scratch_items(&b) * sizeof *scratch);
    double *c = malloc((size_t)(b.n_free + 1) * sizeof *c);
    double total = 0;
    for (int64_t i = 0; i < info->n_spike[0]; i++) {
        double factors[TESS_SPLINE_TERMS];
        int64_t terms[TESS_SPLINE_TERMS];
        const double *place = info->encoding_positions[0] + i * d;
        tess_de_spline_terms(&b, tess_de_spline_at(&b, place, factors), terms);
        for (int64_t k = 0; k < b.n_local; k++) {
            spike_term[terms[k]] += spike_weights[i] * factors[k];
        }
        total += spike_weights[i];
    }
    const int n = tess_de_poisson_fit(&data, spike_term, total, scratch, c, term);
    assert_in_range(n, 2, 40);
    check_shown(encoding, &b, c);
    const double best = objective(info, &b, d, r.weights, spike_weights, 0, c);
    for (int64_t k = 0; k <= b.n_free; k += 3) {
        const double at = c[k], h = 1e-4;
        c[k] = at + h;
        const double up = objective(info, &b, d, r.weights, spike_weights, 0, c);
        c[k] = at - h;
        const double down = objective(info, &b, d, r.weights, spike_weights, 0, c);
        c[k] = at;
        assert_true(up > best && down > best && fabs(up - down) / (2 * h) < 1e-9);
    }
    const tess_decode_environment_info *env = tess_decode_environment_get_info(s->env);
    for (int64_t p = 0; p < info->n_interior; p++) {
        const double eta = c[0] + spline_value(&b, term, env->interior_centers + p * d);
        assert_true(fabs(log(info->place_fields[p]) - eta) < 1e-9);
    }
    free(spike_term);
    free(term);
    free(scratch);
    free(c);
    tess_blocks_free(&blocks);
    tess_decode_encoding_destroy(encoding);
}

static void the_regression_finds_its_optimum(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (int64_t d = 1; d <= 2; d++) {
        set s;
        make_recording(ctx, d, &r, &s);
        s.config.algorithm = TESS_DECODE_SORTED_SPIKES_GLM;
        s.config.glm_knot_spacing = d == 1 ? 7 : 15;
        s.training.weights = r.weights;
        check_optimum(ctx, &s, d);
        tess_decode_environment_destroy(s.env);
    }
    tess_context_destroy(ctx);
}

// Rows are made of the place fields; a unit that never fires costs nothing but the floor.
static void rows_add_up(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    set s;
    make_recording(ctx, 1, &r, &s);
    r.n_spike[3] = 0;
    s.config.algorithm = TESS_DECODE_SORTED_SPIKES_GLM;
    tess_decode_encoding *encoding = encode(ctx, &s);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    const int64_t n_bin = info->n_interior;
    double *got = likelihood(ctx, encoding, &s.observation, 0, N_GRID, NULL);
    double *want = calloc((size_t)(N_GRID * n_bin), sizeof *want);
    for (int u = 0; u < N_UNIT; u++) {
        for (int64_t p = 0; p < n_bin; p++) {
            const double rate = info->place_fields[u * n_bin + p];
            assert_true(u != 3 || rate == 1e-15);
            for (int k = 0; k < N_GRID; k++) {
                want[k * n_bin + p] -= rate;
            }
        }
        for (int64_t i = 0; i < r.n_spike[u]; i++) {
            int64_t row;
            tess_decode_time_bin(r.grid, N_GRID, &r.times[u][i], 1, &row);
            for (int64_t p = 0; row >= 0 && p < n_bin; p++) {
                want[row * n_bin + p] += log(info->place_fields[u * n_bin + p]);
            }
        }
    }
    assert_true(golden_worst(got, want, N_GRID * n_bin, 1e-10, 1e-13) <= 1);

    // Locally: an animal that sits in the middle of a bin sees that bin's column.
    const double *centre = tess_decode_environment_get_info(s.env)->interior_centers + n_bin / 3;
    double still[N_SAMPLE], local[N_GRID], column[N_GRID];
    for (int i = 0; i < N_SAMPLE; i++) {
        still[i] = *centre;
    }
    s.observation.position.position = still;
    local_rows(ctx, encoding, &s, 0, N_GRID, local);
    for (int k = 0; k < N_GRID; k++) {
        column[k] = got[k * n_bin + n_bin / 3];
    }
    assert_true(golden_worst(local, column, N_GRID, 1e-10, 1e-13) <= 1);
    free(got);
    free(want);
    tess_decode_encoding_destroy(encoding);
    tess_decode_environment_destroy(s.env);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_systems_are_solved),
        cmocka_unit_test(splines_are_natural_and_cubic),
        cmocka_unit_test(the_basis_is_centred),
        cmocka_unit_test(the_regression_finds_its_optimum),
        cmocka_unit_test(rows_add_up),
    };
    return cmocka_run_group_tests_name("decode_glm", tests, NULL, NULL);
}
