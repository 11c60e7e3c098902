// Filter, smoother, path and M-step against the original's data.
#include "decode_hmm_run.h"
#include "systems/decode/states/em.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FILE_06[] = "decode/06_cont_frag";
static const char FILE_07[] = "decode/07_non_local";
static const char FILE_08[] = "decode/08_em_viterbi_movement";
static const double EXACT = 1e-10;
static const double FAST = 2e-5;

static tess_context *ctx;

// A detector's states on the grid of a golden file.
typedef struct golden_model {
    const char *file;
    tess_decode_environment *env;
    tess_decode_environment *envs[4];
    tess_decode_movement movements[16];
    int64_t ll_first[4];
    tess_de_hmm_desc desc;
    tess_de_hmm *hmm;
    double *initial;
    double *transition;
    double *ll;
    int64_t n_row;
} golden_model;

// letters: one per state, s(ingle) or p(laces); movements row by row: d, u, w.
static void open_model(golden_model *m, const char *file, const char *letters,
                       const char *movements, const char *ll_name, int exact)
{
    memset(m, 0, sizeof *m);
    m->file = file;
    int64_t n_sample = 0;
    double *position = golden_f64(ctx, file, "position", &n_sample);
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    assert_ok(tess_decode_environment_create(ctx, &config, position, n_sample, 1, &m->env));
    free(position);
    const int32_t n = (int32_t)strlen(letters);
    const int64_t n_place = tess_decode_environment_get_info(m->env)->n_interior;
    int64_t column = 0, places = -1;
    for (int32_t s = 0; s < n; s++) {
        m->envs[s] = letters[s] == 's' ? NULL : m->env;
        m->ll_first[s] = letters[s] == 's' || places < 0 ? column : places;
        places = letters[s] == 'p' ? m->ll_first[s] : places;
        column = m->ll_first[s] == column ? column + (letters[s] == 's' ? 1 : n_place) : column;
        for (int32_t j = 0; j < n; j++) {
            tess_decode_movement *movement = &m->movements[s * n + j];
            tess_decode_movement_init(movement, sizeof *movement);
            const char kind = movements[s * n + j];
            movement->kind = kind == 'd'   ? TESS_DECODE_DISCRETE
                             : kind == 'u' ? TESS_DECODE_UNIFORM
                                           : TESS_DECODE_RANDOM_WALK;
        }
    }
    m->desc = (tess_de_hmm_desc){.n_state = n,
                                 .exact = exact,
                                 .env = m->envs,
                                 .movements = m->movements,
                                 .ll_first = m->ll_first,
                                 .n_ll = column};
    assert_ok(tess_de_hmm_create(ctx, &m->desc, &m->hmm));
    int64_t n_item = 0;
    m->ll = golden_f64(ctx, file, ll_name, &n_item);
    assert_int_equal(n_item % column, 0);
    m->n_row = n_item / column;
    m->initial = golden_f64(ctx, file, "initial_conditions", NULL);
    m->transition = golden_f64(ctx, file, "discrete_transition", NULL);
}

static void close_model(golden_model *m)
{
    tess_de_hmm_destroy(m->hmm);
    tess_decode_environment_destroy(m->env);
    free(m->initial);
    free(m->transition);
    free(m->ll);
}

static void open_cont_frag(golden_model *m, int exact)
{
    open_model(m, FILE_06, "pp", "wuuu", "ll", exact);
}

static void open_non_local(golden_model *m, int exact)
{
    open_model(m, FILE_07, "sspp", "dduudduuddwudduu", "log_likelihood", exact);
}

static void run_model(golden_model *m, run *r)
{
    if (r->dtype == TESS_F64) {
        go(ctx, r, m->ll, TESS_F64, m->desc.n_ll, m->initial, m->transition, 0, m->n_row);
        return;
    }
    float *ll = zeros(m->n_row * m->desc.n_ll, sizeof *ll);
    for (int64_t i = 0; i < m->n_row * m->desc.n_ll; i++) {
        ll[i] = (float)m->ll[i];
    }
    go(ctx, r, ll, TESS_F32, m->desc.n_ll, m->initial, m->transition, 0, 40);
    free(ll);
}

static void check_named_rows(const golden_model *m, const run *r, const void *got, const char *name,
                             double tolerance)
{
    double *want = golden_f64(ctx, m->file, name, NULL);
    check_rows(r, got, want, tolerance);
    free(want);
}

static void check_states(const char *file, const char *prefix, const run *r, const double *got,
                         const char *name, double tolerance)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s_state_probabilities", prefix, name);
    double *want = golden_f64(ctx, file, full, NULL);
    assert_near(got, want, r->n_row * r->n_state, tolerance);
    free(want);
}

static void check_evidence(const char *file, const char *prefix, const run *r, double tolerance)
{
    char full[96];
    snprintf(full, sizeof full, "%slog_evidence", prefix);
    const double want = golden_scalar(ctx, file, full);
    assert_near(&r->end.log_evidence, &want, 1, tolerance);
}

static void check_path(const golden_model *m, const double *initial, const double *transition,
                       const char *file, const char *name)
{
    const tess_de_hmm_chunk chunk = {
        .n_row = m->n_row, .ll = m->ll, .ll_dtype = TESS_F64, .transition = transition};
    int64_t *path = zeros(m->n_row, sizeof *path);
    assert_ok(go_path(ctx, m->hmm, &chunk, initial, 100, path));
    int64_t *want = golden_i64(ctx, file, name, NULL);
    assert_memory_equal(path, want, (size_t)m->n_row * sizeof *path);
    free(path);
    free(want);
}

// Posteriors, state probabilities, evidence and path of a whole file.
static void check_file(golden_model *m, int32_t dtype)
{
    const double tolerance = dtype == TESS_F64 ? EXACT : FAST;
    run r = new_run(m->hmm, m->desc.n_state, m->n_row, dtype);
    run_model(m, &r);
    check_named_rows(m, &r, r.causal, "causal_posterior", tolerance);
    check_named_rows(m, &r, r.predicted, "predictive_posterior", tolerance);
    check_named_rows(m, &r, r.filtered, "acausal_posterior", tolerance);
    check_states(m->file, "", &r, r.causal_states, "causal", tolerance);
    check_states(m->file, "", &r, r.predictive_states, "predictive", tolerance);
    check_states(m->file, "", &r, r.acausal_states, "acausal", tolerance);
    check_evidence(m->file, "", &r, dtype == TESS_F64 ? 1e-9 : 1e-3);
    check_path(m, m->initial, m->transition, m->file, "viterbi");
    free_run(&r);
}

static void continuous_and_fragmented(void **state)
{
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        golden_model m;
        open_cont_frag(&m, exact);
        check_file(&m, exact ? TESS_F64 : TESS_F32);
        close_model(&m);
    }
}

static void one_state_decoder(void **state)
{
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        golden_model m;
        open_model(&m, FILE_06, "p", "w", "ll", exact);
        const double one = 1;
        m.transition[0] = one;
        for (int64_t i = 0; i < m.desc.n_ll; i++) {
            m.initial[i] = 1.0 / (double)m.desc.n_ll;
        }
        const double tolerance = exact ? EXACT : FAST;
        run r = new_run(m.hmm, 1, m.n_row, exact ? TESS_F64 : TESS_F32);
        run_model(&m, &r);
        check_named_rows(&m, &r, r.causal, "decoder_causal_posterior", tolerance);
        check_named_rows(&m, &r, r.filtered, "decoder_acausal_posterior", tolerance);
        check_evidence(FILE_06, "decoder_", &r, exact ? 1e-9 : 1e-3);
        check_path(&m, m.initial, m.transition, FILE_06, "decoder_viterbi");
        free_run(&r);
        close_model(&m);
    }
}

static void local_and_non_local(void **state)
{
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        golden_model m;
        open_non_local(&m, exact);
        check_file(&m, exact ? TESS_F64 : TESS_F32);
        close_model(&m);
    }
}

static void check_variant(golden_model *m, const char *prefix)
{
    run r = new_run(m->hmm, m->desc.n_state, m->n_row, TESS_F64);
    run_model(m, &r);
    check_states(FILE_07, prefix, &r, r.causal_states, "causal", EXACT);
    check_states(FILE_07, prefix, &r, r.acausal_states, "acausal", EXACT);
    check_evidence(FILE_07, prefix, &r, 1e-9);
    free_run(&r);
}

static void missing_rows_and_penalties(void **state)
{
    (void)state;
    golden_model m;
    open_non_local(&m, 1);
    int64_t *missing = golden_i64(ctx, FILE_07, "is_missing", NULL);
    double *kept = zeros(m.n_row * m.desc.n_ll, sizeof *kept);
    memcpy(kept, m.ll, (size_t)(m.n_row * m.desc.n_ll) * sizeof *kept);
    for (int64_t i = 0; i < m.n_row * m.desc.n_ll; i++) {
        m.ll[i] = missing[i / m.desc.n_ll] ? 0 : m.ll[i];
    }
    check_variant(&m, "missing_");
    double *penalty = golden_f64(ctx, FILE_07, "penalty", NULL);
    memcpy(m.ll, kept, (size_t)(m.n_row * m.desc.n_ll) * sizeof *kept);
    const int64_t n_place = m.desc.n_ll - 2;
    for (int64_t i = 0; i < m.n_row * n_place; i++) {
        m.ll[i / n_place * m.desc.n_ll + 2 + i % n_place] += penalty[i];
    }
    check_variant(&m, "penalty_");
    free(missing);
    free(kept);
    free(penalty);
    close_model(&m);
}

// Local as many bins: its own columns with the kernel added, -infinity among them.
static void local_states_of_many_bins(void **state)
{
    (void)state;
    static const char *const names[] = {"local_std0", "local_std4"};
    golden_model plain;
    open_non_local(&plain, 1);
    const int64_t n_row = plain.n_row;
    const int64_t n_place = plain.desc.n_ll - 2;
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        char full[64];
        snprintf(full, sizeof full, "%s_kernel", names[k]);
        double *kernel = golden_f64(ctx, FILE_07, full, NULL);
        golden_model m = plain;
        m.envs[0] = m.env;
        static const char movements[] = "uuuuudduuuwuuuuu"; // No-Spike is one bin
        for (int i = 0; i < 16; i++) {
            m.movements[i].kind = movements[i] == 'd'   ? TESS_DECODE_DISCRETE
                                  : movements[i] == 'u' ? TESS_DECODE_UNIFORM
                                                        : TESS_DECODE_RANDOM_WALK;
        }
        m.ll_first[0] = 1 + n_place;
        m.ll_first[1] = 0;
        m.ll_first[2] = m.ll_first[3] = 1;
        m.desc.env = m.envs;
        m.desc.movements = m.movements;
        m.desc.ll_first = m.ll_first;
        m.desc.n_ll = 1 + 2 * n_place;
        m.ll = zeros(n_row * m.desc.n_ll, sizeof *m.ll);
        for (int64_t t = 0; t < n_row; t++) {
            const double *from = plain.ll + t * plain.desc.n_ll;
            double *to = m.ll + t * m.desc.n_ll;
            memcpy(to, from + 1, (size_t)(1 + n_place) * sizeof *to);
            for (int64_t p = 0; p < n_place; p++) {
                to[1 + n_place + p] = from[2 + p] + kernel[t * n_place + p];
            }
        }
        assert_ok(tess_de_hmm_create(ctx, &m.desc, &m.hmm));
        m.initial = zeros(1 + 3 * n_place, sizeof *m.initial);
        for (int64_t p = 0; p < n_place; p++) {
            m.initial[p] = 1.0 / (double)n_place; // all of it is Local
        }
        snprintf(full, sizeof full, "%s_", names[k]);
        check_variant(&m, full);
        tess_de_hmm_destroy(m.hmm);
        free(m.ll);
        free(m.initial);
        free(kernel);
    }
    close_model(&plain);
}

// Three rounds of EM as the original's.
static void check_em(golden_model *m, const char *prefix, const tess_de_em_step *prior)
{
    const int32_t n = m->desc.n_state;
    char full[96];
    snprintf(full, sizeof full, "%slog_evidence", prefix);
    double *evidence = golden_f64(ctx, FILE_08, full, NULL);
    run r = new_run(m->hmm, n, m->n_row, TESS_F64);
    for (int k = 1; k <= 3; k++) {
        run_model(m, &r);
        assert_near(&r.end.log_evidence, &evidence[k - 1], 1, 1e-9);
        tess_de_em_transition(n, m->n_row, r.causal_states, r.predictive_states, r.acausal_states,
                              prior->concentration, prior->stickiness, prior->prior_weight,
                              prior->frozen, m->transition);
        memcpy(m->initial, r.next, (size_t)r.n_bin * sizeof *m->initial);
        snprintf(full, sizeof full, "%stransition_%d", prefix, k);
        double *want = golden_f64(ctx, FILE_08, full, NULL);
        assert_near(m->transition, want, n * n, EXACT);
        free(want);
        snprintf(full, sizeof full, "%sdiscrete_initial_%d", prefix, k);
        want = golden_f64(ctx, FILE_08, full, NULL);
        assert_near(r.acausal_states, want, n, EXACT);
        free(want);
    }
    check_states(FILE_08, prefix, &r, r.acausal_states, "acausal", EXACT);
    check_states(FILE_08, prefix, &r, r.causal_states, "causal", EXACT);
    check_states(FILE_08, prefix, &r, r.predictive_states, "predictive", EXACT);
    snprintf(full, sizeof full, "%sinitial_3", prefix);
    double *want = golden_f64(ctx, FILE_08, full, NULL);
    assert_near(m->initial, want, r.n_bin, EXACT);
    free(want);
    free(evidence);
    free_run(&r);
}

static void expectation_maximisation(void **state)
{
    (void)state;
    static const double sticky[4] = {1e5, 1e5, 300, 300};
    static const double weight[4] = {0, 0, 0.5, 0.25};
    static const uint8_t frozen[4] = {0, 1, 0, 0};
    golden_model m;
    open_cont_frag(&m, 1);
    check_em(&m, "em_contfrag_", &(tess_de_em_step){.concentration = 1.1});
    check_path(&m, m.initial, m.transition, FILE_08, "em_contfrag_viterbi");
    close_model(&m);
    open_non_local(&m, 1);
    check_em(&m, "em_nonlocal_",
             &(tess_de_em_step){.concentration = 1, .stickiness = sticky, .frozen = frozen});
    check_path(&m, m.initial, m.transition, FILE_08, "em_nonlocal_viterbi");
    close_model(&m);
    open_non_local(&m, 1);
    check_em(&m, "em_nonlocal_flat_", &(tess_de_em_step){.concentration = 1});
    close_model(&m);
    open_non_local(&m, 1);
    check_em(
        &m, "em_nonlocal_weight_",
        &(tess_de_em_step){
            .concentration = 1, .stickiness = sticky, .prior_weight = weight, .frozen = frozen});
    close_model(&m);
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
        cmocka_unit_test(continuous_and_fragmented), cmocka_unit_test(one_state_decoder),
        cmocka_unit_test(local_and_non_local),       cmocka_unit_test(missing_rows_and_penalties),
        cmocka_unit_test(local_states_of_many_bins), cmocka_unit_test(expectation_maximisation),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
