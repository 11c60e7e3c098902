// The original's search on a table: its choices on golden tables, and bit for bit a process that is
// made anew at every step.
#include "unit.h"
#include "unit_golden.h"

#include "systems/autoreject/threshold/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void golden_channels(void **state)
{
    (void)state;
    static const char *const files[] = {"autoreject/ar01_eeg_40x24x60",
                                        "autoreject/ar02_eeg_odd_37x20x45"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        int64_t n_all = 0, n_chan = 0, n_checked = 0, n_proposed = 0;
        double *candidates = golden_f64(ctx, files[f], "cand", &n_all);
        double *objectives = golden_f64(ctx, files[f], "J", NULL);
        double *want = golden_f64(ctx, files[f], "thr_bo", &n_chan);
        int64_t *is_stable = golden_i64(ctx, files[f], "bo_stable", NULL);
        int64_t *is_initial = golden_i64(ctx, files[f], "bo_from_grid", NULL);
        const int64_t n = n_all / n_chan;
        for (int64_t c = 0; c < n_chan; c++) {
            int64_t best = -1;
            assert_ok(
                tess_ar_compat_choice(ctx, candidates + c * n, objectives + c * n, n, 40, &best));
            if (is_stable[c]) {
                assert_near(&candidates[c * n + best], &want[c], 1, 1e-9 * want[c]);
                n_checked++;
                n_proposed += !is_initial[c];
            }
            if (is_initial[c]) {
                best = tess_ar_grid_choice(objectives + c * n, n, 40);
                assert_near(&candidates[c * n + best], &want[c], 1, 1e-9 * want[c]);
            }
        }
        assert_true(n_checked > n_chan / 2);
        assert_true(n_proposed > 0); // the process itself was put to the test
        free(candidates);
        free(objectives);
        free(want);
        free(is_stable);
        free(is_initial);
    }
    tess_context_destroy(ctx);
}

// Global thresholds: five initial points, and candidates without an objective.
static void golden_overall(void **state)
{
    (void)state;
    static const char *const names[][3] = {{"cand_eeg", "J_eeg", "thr_eeg"},
                                           {"cand_eog", "J_eog", "thr_eog"}};
    const char *file = "autoreject/ar05_global_48x12x40";
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        int64_t n = 0, best = -1;
        double *candidates = golden_f64(ctx, file, names[k][0], &n);
        double *objectives = golden_f64(ctx, file, names[k][1], NULL);
        const double want = golden_scalar(ctx, file, names[k][2]);
        assert_ok(tess_ar_compat_choice(ctx, candidates, objectives, n, 5, &best));
        assert_near(&candidates[best], &want, 1, 1e-9 * want);
        free(candidates);
        free(objectives);
    }
    tess_context_destroy(ctx);
}

enum { N = 90, MOST = 52 };

typedef struct plain {
    int64_t n_point;
    double point[MOST];
    double objective[MOST];
} plain;

static double kernel(double a, double b)
{
    return exp(-0.5 * ((a - b) * (a - b)));
}

static void factor_of(const plain *p, double l[MOST][MOST])
{
    for (int64_t i = 0; i < p->n_point; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = i == j ? 1 + 1e-10 : kernel(p->point[i], p->point[j]);
            for (int64_t k = 0; k < j; k++) {
                sum -= l[i][k] * l[j][k];
            }
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    }
}

// One step from nothing, value by value.
static double proposal_of(const plain *p, const double *candidates, double best)
{
    static double l[MOST][MOST];
    double weight[MOST], k[MOST], v[MOST];
    const int64_t n = p->n_point;
    factor_of(p, l);
    for (int64_t i = 0; i < n; i++) {
        weight[i] = p->objective[i];
        for (int64_t j = 0; j < i; j++) {
            weight[i] -= l[i][j] * weight[j];
        }
        weight[i] /= l[i][i];
    }
    for (int64_t i = n; i-- > 0;) {
        for (int64_t j = i + 1; j < n; j++) {
            weight[i] -= l[j][i] * weight[j];
        }
        weight[i] /= l[i][i];
    }
    double least = (double)INFINITY, chosen = 0;
    for (int64_t x = 0; x < N; x++) {
        double mean = 0, lost = 0, explained = 0;
        for (int64_t i = 0; i < n; i++) {
            k[i] = kernel(candidates[x], p->point[i]);
            v[i] = k[i];
            for (int64_t j = 0; j < i; j++) {
                v[i] -= l[i][j] * v[j];
            }
            v[i] /= l[i][i];
            explained += v[i] * v[i];
            const double sum = mean + k[i] * weight[i], taken = sum - mean;
            lost += (mean - (sum - taken)) + (k[i] * weight[i] - taken);
            mean = sum;
        }
        mean += lost;
        const double sd = sqrt(fmax(0, 1 - explained));
        const double z = (mean - best) / (sd + 1e-12);
        const double h = z * 0.70710678118654752440;
        const double far = 0.5 * erfc(fabs(h));
        const double cdf =
            fabs(h) < 0.70710678118654752440 ? 0.5 + 0.5 * erf(h) : (h > 0 ? 1 - far : far);
        const double a = (mean - best) * cdf + sd * (exp(-0.5 * (z * z)) * 0.39894228040143267794);
        if (a < least) {
            least = a;
            chosen = candidates[x];
        }
    }
    return chosen;
}

static int64_t index_of(const double *candidates, double value)
{
    int64_t i = 0;
    while (candidates[i] != value) {
        i++;
    }
    return i;
}

static double search_plainly(const double *candidates, const double *objectives)
{
    plain p = {0};
    double best = (double)INFINITY, best_at = 0;
    for (int64_t i = 0; i <= 40; i++) {
        const int64_t k = i < 40 ? (int64_t)((double)i * (N / 40.0)) : N - 1;
        p.point[p.n_point] = candidates[k];
        p.objective[p.n_point++] = objectives[k];
        if (objectives[k] < best) {
            best = objectives[k];
            best_at = candidates[k];
        }
    }
    for (int step = 0; step < 10; step++) {
        const double at = proposal_of(&p, candidates, best);
        const double value = objectives[index_of(candidates, at)];
        p.point[p.n_point] = at;
        p.objective[p.n_point++] = value;
        if (value < best) {
            best = value;
            best_at = at;
        }
    }
    return best_at;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Volts, teslas, scales where the process does something, and where covariances begin to be 1 or a
// series; ties in a quarter of the tables.
static void a_process_made_anew_chooses_the_same(void **state)
{
    (void)state;
    static const double scales[] = {1e-4, 1e-12, 1,    30,     1.5e-8, 4e-8,
                                    1e-7, 1e-6,  1e-2, 1.3e-2, 3e-2};
    tess_context *ctx = unit_context(1, 0);
    tess_mt19937 rng;
    tess_mt19937_seed(&rng, 3);
    int64_t n_won = 0;
    for (int round = 0; round < 180; round++) {
        const double scale = scales[(size_t)round % ARRAY_LEN(scales)];
        double candidates[N], objectives[N];
        for (int i = 0; i < N; i++) {
            const double u = tess_mt19937_double(&rng);
            candidates[i] = scale * (0.5 + (round % 4 ? u : floor(u * 30) / 30));
        }
        qsort(candidates, N, sizeof *candidates, by_value);
        for (int i = 0; i < N; i++) {
            const double d = candidates[i] / scale - 0.9;
            objectives[i] = i > 0 && candidates[i] == candidates[i - 1]
                                ? objectives[i - 1]
                                : scale * (0.1 + d * d + 0.05 * tess_mt19937_double(&rng));
        }
        for (int i = 1; i < N - 1 && round % 2;
             i++) { // whatever is proposed wins, or is told apart
            const bool is_initial = i == (int)(ceil(i / (N / 40.0)) * (N / 40.0));
            const bool is_tied =
                candidates[i] == candidates[i - 1] || candidates[i] == candidates[i + 1];
            if (!is_initial && !is_tied) {
                objectives[i] = scale * 0.05 * tess_mt19937_double(&rng);
            }
        }
        int64_t best = -1;
        assert_ok(tess_ar_compat_choice(ctx, candidates, objectives, N, 40, &best));
        const double want = search_plainly(candidates, objectives);
        assert_memory_equal(&candidates[best], &want, sizeof want);
        n_won += candidates[best] != candidates[tess_ar_grid_choice(objectives, N, 40)];
    }
    assert_true(n_won > 3);
    tess_context_destroy(ctx);
}

static void nothing_to_choose_from(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const double candidates[] = {1, 2, 3}, two[] = {1, 2};
    double objectives[] = {(double)INFINITY, (double)INFINITY, (double)INFINITY};
    int64_t best = 7;
    assert_fails(tess_ar_compat_choice(ctx, candidates, objectives, 3, 5, &best), TESS_E_NUMERIC,
                 "infinite at all");
    objectives[2] = 4; // the last is always among the initial points
    assert_ok(tess_ar_compat_choice(ctx, candidates, objectives, 3, 5, &best));
    assert_int_equal(best, 2);
    assert_ok(tess_ar_compat_choice(ctx, two, two, 1, 40, &best)); // a single candidate
    assert_int_equal(best, 0);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_channels),
        cmocka_unit_test(golden_overall),
        cmocka_unit_test(a_process_made_anew_chooses_the_same),
        cmocka_unit_test(nothing_to_choose_from),
    };
    return cmocka_run_group_tests_name("autoreject_process", tests, NULL, NULL);
}
