// M-steps: what can be known of their answers.
#include "decode_hmm_dense.h"
#include "decode_hmm_run.h"
#include "decode_model.h"
#include "systems/decode/states/em.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

enum { N_ROW = 9001, N_STATE = 3 };

// Marginals as a filter might leave them.
typedef struct marginals {
    double *causal;
    double *predictive;
    double *acausal;
} marginals;

static void fill_rows(double *rows, uint64_t *random)
{
    for (int64_t t = 0; t < N_ROW; t++) {
        double sum = 0;
        for (int j = 0; j < N_STATE; j++) {
            sum += rows[t * N_STATE + j] = 0.05 + dense_random(random);
        }
        for (int j = 0; j < N_STATE; j++) {
            rows[t * N_STATE + j] /= sum;
        }
    }
}

static marginals new_marginals(void)
{
    uint64_t random = 3;
    marginals m = {zeros(N_ROW * N_STATE, 8), zeros(N_ROW * N_STATE, 8), zeros(N_ROW * N_STATE, 8)};
    fill_rows(m.causal, &random);
    fill_rows(m.predictive, &random);
    fill_rows(m.acausal, &random);
    return m;
}

static void free_marginals(marginals *m)
{
    free(m->causal);
    free(m->predictive);
    free(m->acausal);
}

static tess_de_em_step step_of(const marginals *m, int64_t n_coefficient, const double *design)
{
    static const double sticky[N_STATE] = {40, 0, 7};
    return (tess_de_em_step){.n_state = N_STATE,
                             .n_row = N_ROW,
                             .causal = m->causal,
                             .predictive = m->predictive,
                             .acausal = m->acausal,
                             .concentration = 1.5,
                             .stickiness = sticky,
                             .n_coefficient = n_coefficient,
                             .design = design};
}

static void softmax(const double *coefficients, const double *x, int64_t n_coefficient, int from,
                    double *p)
{
    double sum = 1;
    for (int j = 0; j < N_STATE - 1; j++) {
        double eta = 0;
        for (int64_t c = 0; c < n_coefficient; c++) {
            eta += x[c] * coefficients[(c * N_STATE + from) * (N_STATE - 1) + j];
        }
        sum += p[j] = exp(eta);
    }
    p[N_STATE - 1] = 1;
    for (int j = 0; j < N_STATE; j++) {
        p[j] /= sum;
    }
}

// With an intercept alone the regression is the stationary update.
static void an_intercept_gives_the_stationary_update(void **state)
{
    (void)state;
    marginals m = new_marginals();
    double *design = zeros(N_ROW, 8);
    for (int64_t t = 0; t < N_ROW; t++) {
        design[t] = 1;
    }
    tess_de_em_step step = step_of(&m, 1, design);
    double coefficients[N_STATE * (N_STATE - 1)] = {0.5, -0.25, 1, 0.125, -1, -2};
    double transition[N_STATE * N_STATE];
    for (int i = 0; i < N_STATE; i++) {
        softmax(coefficients, design, 1, i, transition + i * N_STATE);
    }
    int32_t n_failed = -1;
    assert_ok(tess_de_em_coefficients(ctx, &step, coefficients, &n_failed));
    assert_int_equal(n_failed, 0);
    tess_de_em_transition(N_STATE, N_ROW, m.causal, m.predictive, m.acausal, step.concentration,
                          step.stickiness, NULL, NULL, transition);
    for (int i = 0; i < N_STATE; i++) {
        double row[N_STATE];
        softmax(coefficients, design, 1, i, row);
        assert_near(row, transition + i * N_STATE, N_STATE, 1e-7);
    }
    free(design);
    free_marginals(&m);
}

// Objective of one row of the transition, as it is defined.
static double objective(const tess_de_em_step *s, int from, const double *old,
                        const double *coefficients)
{
    double sum = 0;
    const double n = (double)(s->n_row - 1);
    for (int64_t t = 0; t + 1 < s->n_row; t++) {
        const double *x = s->design + t * s->n_coefficient;
        double before[N_STATE], p[N_STATE];
        softmax(old, x, s->n_coefficient, from, before);
        softmax(coefficients, x, s->n_coefficient, from, p);
        for (int j = 0; j < N_STATE; j++) {
            const int64_t next = (t + 1) * N_STATE + j;
            const double joint =
                before[j] * s->causal[t * N_STATE + from] * s->acausal[next] / s->predictive[next];
            const double alpha = s->concentration + (j == from ? s->stickiness[from] : 0);
            sum -= (joint + (alpha - 1) / n) * log(p[j]) / n;
        }
    }
    for (int64_t c = 1; c < s->n_coefficient; c++) {
        for (int j = 0; j < N_STATE - 1; j++) {
            const double value = coefficients[(c * N_STATE + from) * (N_STATE - 1) + j];
            sum += s->regularization * value * value;
        }
    }
    return sum;
}

// No coefficient can be moved either way without loss; a frozen row stays.
static void coefficients_reach_the_minimum(void **state)
{
    (void)state;
    enum { N_COEFFICIENT = 3, N_ALL = N_COEFFICIENT * N_STATE * (N_STATE - 1) };
    marginals m = new_marginals();
    double *design = zeros(N_ROW * N_COEFFICIENT, 8);
    for (int64_t t = 0; t < N_ROW; t++) {
        design[t * 3] = 1;
        design[t * 3 + 1] = sin((double)t / 30);
        design[t * 3 + 2] = t % 7 < 3;
    }
    static const uint8_t frozen[N_STATE] = {0, 1, 0};
    tess_de_em_step step = step_of(&m, N_COEFFICIENT, design);
    step.regularization = 1e-3;
    step.frozen = frozen;
    double old[N_ALL], new[N_ALL];
    for (int i = 0; i < N_ALL; i++) {
        old[i] = new[i] = 0.3 * cos(i);
    }
    int32_t n_failed = -1;
    assert_ok(tess_de_em_coefficients(ctx, &step, new, &n_failed));
    assert_int_equal(n_failed, 0);
    for (int i = 0; i < N_ALL; i++) {
        const int from = i / (N_STATE - 1) % N_STATE;
        if (from == 1) {
            assert_true(new[i] == old[i]);
            continue;
        }
        const double best = objective(&step, from, old, new);
        for (int side = -1; side <= 1; side += 2) {
            double moved[N_ALL];
            memcpy(moved, new, sizeof moved);
            moved[i] += side * 1e-3;
            assert_true(objective(&step, from, old, moved) > best);
        }
    }
    // Threads change no bit.
    tess_context *one = unit_context(1, 0);
    double again[N_ALL];
    memcpy(again, old, sizeof again);
    assert_ok(tess_de_em_coefficients(one, &step, again, &n_failed));
    assert_memory_equal(again, new, sizeof again);
    tess_context_destroy(one);
    free(design);
    free_marginals(&m);
}

// A search that cannot start leaves everything as it was.
static void a_failed_search_keeps_the_coefficients(void **state)
{
    (void)state;
    marginals m = new_marginals();
    double *design = zeros(N_ROW, 8);
    for (int64_t t = 0; t < N_ROW; t++) {
        design[t] = t == 17 ? (double)NAN : 1;
    }
    tess_de_em_step step = step_of(&m, 1, design);
    double coefficients[N_STATE * (N_STATE - 1)] = {0.5, -0.25, 1, 0.125, -1, -2};
    const double before[N_STATE * (N_STATE - 1)] = {0.5, -0.25, 1, 0.125, -1, -2};
    int32_t n_failed = -1;
    assert_ok(tess_de_em_coefficients(ctx, &step, coefficients, &n_failed));
    assert_int_equal(n_failed, N_STATE);
    assert_memory_equal(coefficients, before, sizeof before);
    free(design);
    free_marginals(&m);
}

// Rows without any count take the prior's mean; predictions of nothing count nothing.
static void empty_rows_take_the_prior(void **state)
{
    (void)state;
    const double causal[4] = {1, 0, 1, 0};
    const double predictive[4] = {1, 0, 1, 1e-9};
    const double acausal[4] = {1, 0, 1, 0};
    const double sticky[2] = {0, 3};
    double transition[4] = {0.9, 0.1, 0.2, 0.8};
    tess_de_em_transition(2, 2, causal, predictive, acausal, 1, NULL, NULL, NULL, transition);
    const double flat[4] = {1, 0, 0.5, 0.5};
    assert_near(transition, flat, 4, 1e-15);
    tess_de_em_transition(2, 2, causal, predictive, acausal, 1, sticky, NULL, NULL, transition);
    const double stay[4] = {1, 0, 0, 1};
    assert_near(transition, stay, 4, 1e-15);
}

static const char FILE_08[] = "decode/08_em_viterbi_movement";

static void check_named(const char *prefix, const char *name, const double *got, double tolerance)
{
    char full[96];
    int64_t n = 0;
    snprintf(full, sizeof full, "%s%s", prefix, name);
    double *want = golden_f64(ctx, FILE_08, full, &n);
    assert_near(got, want, n, tolerance);
    free(want);
}

static int count_calls(void *user, int64_t iteration, double log_evidence, double change)
{
    int64_t *n = user;
    assert_int_equal(iteration, *n);
    assert_true(isfinite(log_evidence) && change >= 0);
    return ++*n == 99;
}

// Three iterations of the whole call, from spikes to parameters.
static void check_em(const char *file, tess_decode_model_kind kind, const char *prefix,
                     const double *stickiness, double concentration, const uint8_t *frozen,
                     int mode, int with_path)
{
    const int is_exact = mode == TESS_DECODE_EXACT;
    golden_model m;
    golden_model_open(&m, ctx, file, mode);
    golden_model_detector(&m, ctx, kind, NULL);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m.detector);
    const int64_t n_time = m.observation.n_time;
    const int64_t shape[2] = {n_time, info->n_state};
    double *states = zeros(n_time * info->n_state, sizeof *states);
    int64_t *path = zeros(n_time, sizeof *path);
    tess_array acausal;
    assert_ok(tess_array_init(&acausal, states, TESS_F64, 2, shape));
    tess_decode_outputs outputs;
    tess_decode_outputs_init(&outputs, sizeof outputs);
    outputs.acausal_state_probabilities = &acausal;
    outputs.most_likely_bin = with_path ? path : NULL;
    int64_t n_call = 0, n_iteration = 0;
    tess_decode_em_config config;
    tess_decode_em_config_init(&config, sizeof config);
    config.max_iterations = 3;
    config.tolerance = 0;
    config.concentration = &concentration;
    config.stickiness = stickiness;
    config.frozen_rows = frozen;
    config.iteration = count_calls;
    config.user = &n_call;
    double evidence[3];
    assert_ok(
        tess_decode_em(ctx, m.detector, &m.observation, &config, &outputs, evidence, &n_iteration));
    assert_int_equal(n_iteration, 3);
    assert_int_equal(n_call, 3);
    check_named(prefix, "log_evidence", evidence, is_exact ? 1e-8 : 1e-3);
    check_named(prefix, "transition_3", info->discrete_transition, is_exact ? 1e-10 : 1e-5);
    check_named(prefix, "discrete_initial_3", info->discrete_initial, is_exact ? 1e-10 : 2e-5);
    check_named(prefix, "initial_3", info->initial, is_exact ? 1e-10 : 2e-5);
    check_named(prefix, "acausal_state_probabilities", states, is_exact ? 1e-10 : 2e-5);
    assert_true(outputs.log_evidence == evidence[2]);
    if (with_path) {
        char full[64];
        snprintf(full, sizeof full, "%sviterbi", prefix);
        int64_t *want = golden_i64(ctx, FILE_08, full, NULL);
        assert_memory_equal(path, want, (size_t)n_time * sizeof *path);
        free(want);
    }
    free(states);
    free(path);
    golden_model_close(&m);
}

static void the_whole_call_agrees_with_the_original(void **state)
{
    (void)state;
    static const double sticky[4] = {1e5, 1e5, 300, 300};
    static const uint8_t frozen[4] = {0, 1, 0, 0};
    for (int mode = 0; mode < 2; mode++) {
        const int m = mode ? TESS_DECODE_EXACT : TESS_DECODE_FAST;
        check_em("decode/06_cont_frag", TESS_DECODE_MODEL_CONT_FRAG, "em_contfrag_", NULL, 1.1,
                 NULL, m, 1);
        check_em("decode/07_non_local", TESS_DECODE_MODEL_NON_LOCAL, "em_nonlocal_", sticky, 1,
                 frozen, m, 1);
        check_em("decode/07_non_local", TESS_DECODE_MODEL_NON_LOCAL, "em_nonlocal_flat_", NULL, 1,
                 NULL, m, 0);
    }
}

// Without a prior the evidence never falls; the iterations end when it hardly rises.
static void the_evidence_rises(void **state)
{
    (void)state;
    golden_model m;
    golden_model_open(&m, ctx, "decode/07_non_local", TESS_DECODE_FAST);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, NULL);
    tess_decode_outputs outputs;
    tess_decode_outputs_init(&outputs, sizeof outputs);
    tess_decode_em_config config;
    tess_decode_em_config_init(&config, sizeof config);
    double evidence[20];
    int64_t n = 0;
    assert_ok(tess_decode_em(ctx, m.detector, &m.observation, &config, &outputs, evidence, &n));
    assert_true(n > 1 && n < 20);
    for (int64_t k = 1; k < n; k++) {
        assert_true(evidence[k] > evidence[k - 1] - 1e-3);
        const double mean = (fabs(evidence[k]) + fabs(evidence[k - 1])) / 2;
        assert_int_equal(fabs(evidence[k] - evidence[k - 1]) / mean < 1e-4, k == n - 1);
    }
    golden_model_close(&m);
}

static int stop_at_once(void *user, int64_t iteration, double log_evidence, double change)
{
    (void)user;
    (void)log_evidence;
    (void)change;
    return iteration == 1;
}

static void bad_settings_and_a_stop(void **state)
{
    (void)state;
    golden_model m;
    golden_model_open(&m, ctx, "decode/06_cont_frag", TESS_DECODE_FAST);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    tess_decode_outputs outputs;
    tess_decode_outputs_init(&outputs, sizeof outputs);
    tess_decode_em_config config;
    tess_decode_em_config_init(&config, sizeof config);
    double evidence[20];
    int64_t n = 0;
    const double bad[2] = {1, -3};
    config.stickiness = bad;
    assert_fails(tess_decode_em(ctx, m.detector, &m.observation, &config, &outputs, evidence, &n),
                 TESS_E_RANGE, "stickiness[1] is -3");
    config.stickiness = NULL;
    config.concentration = &bad[1];
    assert_fails(tess_decode_em(ctx, m.detector, &m.observation, &config, &outputs, evidence, &n),
                 TESS_E_RANGE, "concentration is -3");
    config.concentration = NULL;
    config.max_iterations = 0;
    assert_fails(tess_decode_em(ctx, m.detector, &m.observation, &config, &outputs, evidence, &n),
                 TESS_E_RANGE, "max_iterations");
    config.max_iterations = 20;
    config.tolerance = 0;
    config.iteration = stop_at_once;
    assert_fails(tess_decode_em(ctx, m.detector, &m.observation, &config, &outputs, evidence, &n),
                 TESS_CANCELLED, "stopped after iteration 2");
    assert_int_equal(n, 2);
    golden_model_close(&m);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return ctx == NULL;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_intercept_gives_the_stationary_update),
        cmocka_unit_test(coefficients_reach_the_minimum),
        cmocka_unit_test(a_failed_search_keeps_the_coefficients),
        cmocka_unit_test(empty_rows_take_the_prior),
        cmocka_unit_test(the_whole_call_agrees_with_the_original),
        cmocka_unit_test(the_evidence_rises),
        cmocka_unit_test(bad_settings_and_a_stop),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
