// Predictions end to end: the original's posteriors and their variants, and the same bits for any
// chunks, threads and memory limit.
#include "decode_model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const CONT_FRAG = "decode/06_cont_frag";
static const char *const NON_LOCAL = "decode/07_non_local";

static tess_context *ctx;

enum { ACAUSAL, ACAUSAL_STATES, CAUSAL, CAUSAL_STATES, PREDICTIVE, PREDICTIVE_STATES, LL, N_ARRAY };
static const char *const NAMES[N_ARRAY] = {"acausal_posterior",    "acausal_state_probabilities",
                                           "causal_posterior",     "causal_state_probabilities",
                                           "predictive_posterior", "predictive_state_probabilities",
                                           "log_likelihood"};

// Room for all outputs of a detector.
typedef struct outputs {
    tess_decode_outputs out;
    tess_array arrays[N_ARRAY];
    int64_t *path;
    int64_t n_time;
} outputs;

static void open_outputs(outputs *o, const golden_model *m, tess_dtype dtype, unsigned which)
{
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m->detector);
    const int64_t bins = info->n_state_bin;
    const int64_t widths[N_ARRAY] = {bins, info->n_state, bins,      info->n_state,
                                     bins, info->n_state, info->n_ll};
    memset(o, 0, sizeof *o);
    o->n_time = m->observation.n_time;
    tess_decode_outputs_init(&o->out, sizeof o->out);
    tess_array **at[N_ARRAY] = {
        &o->out.acausal_posterior,    &o->out.acausal_state_probabilities,
        &o->out.causal_posterior,     &o->out.causal_state_probabilities,
        &o->out.predictive_posterior, &o->out.predictive_state_probabilities,
        &o->out.log_likelihood};
    for (int i = 0; i < N_ARRAY; i++) {
        const int64_t shape[2] = {o->n_time, widths[i]};
        void *data = calloc((size_t)(shape[0] * shape[1]), tess_dtype_bytes(dtype));
        assert_ok(tess_array_init(&o->arrays[i], data, dtype, 2, shape));
        *at[i] = which >> i & 1 ? &o->arrays[i] : NULL;
    }
    o->path = calloc((size_t)o->n_time, sizeof *o->path);
    o->out.most_likely_bin = which >> N_ARRAY & 1 ? o->path : NULL;
}

static void close_outputs(outputs *o)
{
    for (int i = 0; i < N_ARRAY; i++) {
        free(o->arrays[i].data);
    }
    free(o->path);
}

static double worst_of(const tess_array *array, const double *want)
{
    double worst = 0;
    for (int64_t i = 0; i < tess_array_items(array); i++) {
        const double got = array->dtype == TESS_F64 ? ((const double *)array->data)[i]
                                                    : (double)((const float *)array->data)[i];
        const double off = fabs(got - want[i]);
        worst = off <= worst ? worst : off; // NaN counts
    }
    return worst;
}

// Compares the arrays named prefix_NAME of the golden file, where they are.
static void check_arrays(const outputs *o, const char *file, const char *prefix, unsigned which,
                         double tolerance)
{
    for (int i = 0; i < N_ARRAY; i++) {
        if (which >> i & 1) {
            char name[64];
            int64_t n = 0;
            snprintf(name, sizeof name, "%s%s", prefix, NAMES[i]);
            double *want = golden_f64(ctx, file, name, &n);
            assert_int_equal(n, tess_array_items(&o->arrays[i]));
            const double worst = worst_of(&o->arrays[i], want);
            if (!(worst <= tolerance)) {
                fail_msg("%s: %s is off by %g", file, name, worst);
            }
            free(want);
        }
    }
}

// One kind of detector over an encoding that is there already.
static void check_detector(golden_model *m, int mode, tess_decode_model_kind kind,
                           const char *prefix, unsigned which,
                           const tess_decode_detector_config *scalars)
{
    outputs o;
    char name[64];
    const bool is_exact = mode == TESS_DECODE_EXACT;
    golden_model_detector(m, ctx, kind, scalars);
    open_outputs(&o, m, is_exact ? TESS_F64 : TESS_F32, (1u << N_ARRAY) - 1u);
    assert_ok(tess_decode_predict(ctx, m->detector, &m->observation, NULL, &o.out));
    check_arrays(&o, m->file, prefix, which, is_exact ? 1e-10 : 2e-5);
    snprintf(name, sizeof name, "%slog_evidence", prefix);
    const double want = golden_scalar(ctx, m->file, name);
    if (!(fabs(o.out.log_evidence - want) <= (is_exact ? 1e-9 : 1e-3))) {
        fail_msg("%s: %s is %.15g, not %.15g", m->file, name, o.out.log_evidence, want);
    }
    assert_int_equal(o.out.n_impossible, 0);
    close_outputs(&o);
}

static const unsigned ALL_ROWS = 1u << ACAUSAL | 1u << ACAUSAL_STATES | 1u << CAUSAL |
                                 1u << CAUSAL_STATES | 1u << PREDICTIVE | 1u << PREDICTIVE_STATES;
static const unsigned BOTH_STATES = 1u << ACAUSAL_STATES | 1u << CAUSAL_STATES;

static void test_cont_frag(void **state)
{
    (void)state;
    for (int mode = TESS_DECODE_EXACT; mode <= TESS_DECODE_FAST; mode++) {
        golden_model m;
        golden_model_open(&m, ctx, CONT_FRAG, mode);
        check_detector(&m, mode, TESS_DECODE_MODEL_CONT_FRAG, "", ALL_ROWS, NULL);
        check_detector(&m, mode, TESS_DECODE_MODEL_DECODER, "decoder_",
                       1u << ACAUSAL | 1u << CAUSAL, NULL);
        golden_model_close(&m);
    }
}

static void check_non_local(golden_model *m, int mode, const char *prefix,
                            const tess_decode_detector_config *scalars)
{
    check_detector(m, mode, TESS_DECODE_MODEL_NON_LOCAL, prefix, BOTH_STATES, scalars);
}

static void test_non_local(void **state)
{
    (void)state;
    int64_t n = 0;
    int64_t *flags = golden_i64(ctx, NON_LOCAL, "is_missing", &n);
    uint8_t *is_missing = calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        is_missing[i] = flags[i] != 0;
    }
    for (int mode = TESS_DECODE_EXACT; mode <= TESS_DECODE_FAST; mode++) {
        golden_model m;
        golden_model_open(&m, ctx, NON_LOCAL, mode);
        check_detector(&m, mode, TESS_DECODE_MODEL_NON_LOCAL, "",
                       mode == TESS_DECODE_EXACT ? ALL_ROWS | 1u << LL : ALL_ROWS, NULL);
        if (unit_is_quick() && mode == TESS_DECODE_FAST) {
            golden_model_close(&m);
            continue;
        }
        m.observation.is_missing = is_missing;
        check_non_local(&m, mode, "missing_", NULL);
        m.observation.is_missing = NULL;
        tess_decode_detector_config scalars;
        tess_decode_detector_config_init(&scalars, sizeof scalars);
        scalars.non_local_position_penalty = golden_scalar(ctx, NON_LOCAL, "penalty_magnitude");
        scalars.non_local_penalty_std = golden_scalar(ctx, NON_LOCAL, "penalty_std");
        check_non_local(&m, mode, "penalty_", &scalars);
        tess_decode_detector_config_init(&scalars, sizeof scalars);
        scalars.local_position_std = 0;
        check_non_local(&m, mode, "local_std0_", &scalars);
        scalars.local_position_std = 4;
        check_non_local(&m, mode, "local_std4_", &scalars);
        golden_model_close(&m);
    }
    free(is_missing);
    free(flags);
}

static void test_path(void **state)
{
    (void)state;
    const struct {
        const char *file;
        const char *name;
        tess_decode_model_kind kind;
    } cases[] = {{CONT_FRAG, "viterbi", TESS_DECODE_MODEL_CONT_FRAG},
                 {CONT_FRAG, "decoder_viterbi", TESS_DECODE_MODEL_DECODER},
                 {NON_LOCAL, "viterbi", TESS_DECODE_MODEL_NON_LOCAL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        golden_model m;
        outputs o;
        golden_model_open(&m, ctx, cases[i].file, TESS_DECODE_FAST);
        golden_model_detector(&m, ctx, cases[i].kind, NULL);
        open_outputs(&o, &m, TESS_F32, 1u << N_ARRAY);
        assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out));
        int64_t *want = golden_i64(ctx, cases[i].file, cases[i].name, NULL);
        assert_memory_equal(o.path, want, (size_t)o.n_time * sizeof *want);
        free(want);
        close_outputs(&o);
        golden_model_close(&m);
    }
}

// One prediction with given chunks and a given selection of outputs, compared bit by bit.
static void same_bits(const golden_model *m, tess_context *other, tess_dtype dtype, unsigned which,
                      int64_t n_chunk, const outputs *right)
{
    outputs o;
    tess_decode_predict_config config;
    tess_decode_predict_config_init(&config, sizeof config);
    config.n_chunk = n_chunk;
    open_outputs(&o, m, dtype, which);
    assert_ok(tess_decode_predict(other, m->detector, &m->observation, &config, &o.out));
    for (int i = 0; i < N_ARRAY; i++) {
        if (which >> i & 1) {
            assert_memory_equal(o.arrays[i].data, right->arrays[i].data,
                                (size_t)tess_array_items(&o.arrays[i]) * tess_dtype_bytes(dtype));
        }
    }
    assert_memory_equal(&o.out.log_evidence, &right->out.log_evidence, sizeof(double));
    close_outputs(&o);
}

// Any chunks with all outputs; any selection of outputs in one chunk and in some.
static void same_bits_however(const golden_model *m, tess_dtype dtype, const outputs *right)
{
    const unsigned all = (1u << N_ARRAY) - 1u;
    const int64_t chunks[] = {7, 1, 2, 3, 50, 151};
    const unsigned selections[] = {1u << ACAUSAL, 1u << ACAUSAL_STATES, BOTH_STATES,
                                   1u << PREDICTIVE | 1u << CAUSAL};
    for (size_t c = 0; c < (unit_is_quick() ? 1 : ARRAY_LEN(chunks)); c++) {
        same_bits(m, ctx, dtype, all, chunks[c], right);
    }
    for (size_t s = 0; s < ARRAY_LEN(selections); s++) {
        same_bits(m, ctx, dtype, selections[s], 7, right);
        if (!unit_is_quick()) {
            same_bits(m, ctx, dtype, selections[s], 1, right);
        }
    }
    tess_context *alone = unit_context(1, 0);
    same_bits(m, alone, dtype, all, 0, right);
    tess_context_destroy(alone);
    tess_context *many = unit_context(5, UINT64_C(64) << 20);
    same_bits(m, many, dtype, all, 0, right);
    tess_context_destroy(many);
}

static void test_same_bits(void **state)
{
    (void)state;
    for (int mode = TESS_DECODE_EXACT; mode <= TESS_DECODE_FAST; mode++) {
        golden_model m;
        golden_model_open(&m, ctx, NON_LOCAL, mode);
        golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, NULL);
        m.observation.n_time = unit_is_quick() ? 31 : m.observation.n_time;
        for (int dtype = TESS_F32; dtype <= TESS_F64; dtype++) {
            if (unit_is_quick() && (mode == TESS_DECODE_EXACT) != (dtype == TESS_F64)) {
                continue;
            }
            outputs right;
            open_outputs(&right, &m, (tess_dtype)dtype, (1u << N_ARRAY) - 1u);
            assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &right.out));
            same_bits_however(&m, (tess_dtype)dtype, &right);
            close_outputs(&right);
        }
        golden_model_close(&m);
    }
}

// A likelihood handed in gives what computing it gave.
static void test_given_likelihood(void **state)
{
    (void)state;
    golden_model m;
    outputs right;
    outputs o;
    golden_model_open(&m, ctx, NON_LOCAL, TESS_DECODE_FAST);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, NULL);
    open_outputs(&right, &m, TESS_F32, (1u << N_ARRAY) - 1u);
    assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &right.out));
    tess_decode_predict_config config;
    tess_decode_predict_config_init(&config, sizeof config);
    config.log_likelihood = &right.arrays[LL];
    tess_decode_observation only_time;
    tess_decode_observation_init(&only_time, sizeof only_time);
    only_time.n_time = m.observation.n_time;
    only_time.time = m.observation.time;
    open_outputs(&o, &m, TESS_F32, 1u << ACAUSAL);
    assert_ok(tess_decode_predict(ctx, m.detector, &only_time, &config, &o.out));
    assert_memory_equal(o.arrays[ACAUSAL].data, right.arrays[ACAUSAL].data,
                        (size_t)tess_array_items(&o.arrays[ACAUSAL]) * sizeof(float));
    close_outputs(&o);
    close_outputs(&right);
    golden_model_close(&m);
}

// NaN samples of another grid than the rows': rows whose position cannot be interpolated are 0.
static void test_nan_positions(void **state)
{
    (void)state;
    golden_model m;
    outputs o;
    golden_model_open(&m, ctx, NON_LOCAL, TESS_DECODE_EXACT);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, NULL);
    const double dt = m.time[1] - m.time[0];
    double times[] = {m.time[0] - 1, m.time[0] + 10.5 * dt, m.time[0] + 20.5 * dt,
                      m.time[0] + 30.5 * dt, m.time[150] + 1};
    double places[] = {20, 22, (double)NAN, 25, 30};
    m.observation.position.n_sample = 5;
    m.observation.position.time = times;
    m.observation.position.position = places;
    open_outputs(&o, &m, TESS_F64, 1u << LL);
    assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out));
    const double *ll = o.arrays[LL].data;
    const int64_t n = o.arrays[LL].shape[1];
    for (int64_t t = 0; t < 151; t++) {
        bool is_zero = true;
        for (int64_t i = 0; i < n; i++) {
            is_zero = is_zero && ll[t * n + i] == 0;
        }
        assert_int_equal(is_zero, t > 10 && t <= 30);
    }
    close_outputs(&o);
    golden_model_close(&m);
}

// Values go to their bins; what does not fit is refused. (Python's tests have bins outside.)
static void test_all_bins(void **state)
{
    (void)state;
    golden_model m;
    golden_model_open(&m, ctx, CONT_FRAG, TESS_DECODE_FAST);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m.detector);
    const int64_t from[2] = {37, info->n_state_bin};
    const int64_t to[2] = {37, info->n_all_bin};
    for (int dtype = TESS_F32; dtype <= TESS_F64; dtype++) {
        tess_array rows;
        tess_array out;
        double *in = calloc((size_t)(from[0] * from[1]), sizeof *in);
        double *all = calloc((size_t)(to[0] * to[1]), sizeof *all);
        assert_ok(tess_array_init(&rows, in, (tess_dtype)dtype, 2, from));
        assert_ok(tess_array_init(&out, all, (tess_dtype)dtype, 2, to));
        for (int64_t i = 0; i < from[0] * from[1]; i++) {
            if (dtype == TESS_F32) {
                ((float *)rows.data)[i] = (float)(i + 1);
            } else {
                in[i] = (double)(i + 1);
            }
        }
        assert_ok(tess_decode_all_bins(ctx, m.detector, &rows, &out));
        int64_t n_number = 0;
        for (int64_t i = 0; i < to[0] * to[1]; i++) {
            const double value = dtype == TESS_F32 ? (double)((const float *)out.data)[i] : all[i];
            n_number += !isnan(value);
        }
        assert_int_equal(n_number, from[0] * from[1]);
        for (int64_t i = 0; i < from[0] * from[1]; i++) {
            const int64_t at = i / from[1] * to[1] + info->all_index[i % from[1]];
            const double value =
                dtype == TESS_F32 ? (double)((const float *)out.data)[at] : all[at];
            assert_true(value == (double)(i + 1));
        }
        out.shape[1]--;
        assert_fails(tess_decode_all_bins(ctx, m.detector, &rows, &out), TESS_E_SHAPE, "out: has");
        out.shape[1]++;
        out.dtype = dtype == TESS_F32 ? TESS_F64 : TESS_F32;
        assert_fails(tess_decode_all_bins(ctx, m.detector, &rows, &out), TESS_E_DTYPE,
                     "those of rows");
        rows.shape[1] = 3;
        assert_fails(tess_decode_all_bins(ctx, m.detector, &rows, &out), TESS_E_SHAPE, "rows: has");
        free(in);
        free(all);
    }
    golden_model_close(&m);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    golden_model m;
    outputs o;
    tess_decode_predict_config config;
    golden_model_open(&m, ctx, NON_LOCAL, TESS_DECODE_FAST);
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, NULL);
    open_outputs(&o, &m, TESS_F32, 1u << ACAUSAL);
    tess_decode_predict_config_init(&config, sizeof config);
    config.n_chunk = 152;
    assert_fails(tess_decode_predict(ctx, m.detector, &m.observation, &config, &o.out),
                 TESS_E_RANGE, "n_chunk is 152; 1 to 151");
    tess_decode_observation blind = m.observation;
    tess_decode_position_init(&blind.position, sizeof blind.position);
    assert_fails(tess_decode_predict(ctx, m.detector, &blind, NULL, &o.out), TESS_E_ARGUMENT,
                 "position: is missing");
    o.arrays[ACAUSAL].shape[1] = 5;
    assert_fails(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &o.out), TESS_E_SHAPE,
                 "acausal_posterior");
    tess_context *tight = unit_context(1, UINT64_C(1) << 20);
    o.arrays[ACAUSAL].shape[1] = 86;
    assert_fails(tess_decode_predict(tight, m.detector, &m.observation, NULL, &o.out), TESS_E_LIMIT,
                 "the smallest limit that works");
    tess_context_destroy(tight);
    close_outputs(&o);
    golden_model_close(&m);
}

static void test_bad_detectors(void **state)
{
    (void)state;
    golden_model m;
    golden_model_open(&m, ctx, CONT_FRAG, TESS_DECODE_FAST);
    tess_decode_state states[2] = {{.name = "a"}, {.name = "b"}};
    tess_decode_movement movements[4];
    double initial[2] = {0.5, 0.5};
    double transition[4] = {0.9, 0.1, 0.3, 0.6};
    for (int i = 0; i < 4; i++) {
        tess_decode_movement_init(&movements[i], sizeof movements[i]);
        movements[i].kind = TESS_DECODE_UNIFORM;
    }
    tess_decode_detector_config config;
    tess_decode_detector_config_init(&config, sizeof config);
    config.n_state = 2;
    config.states = states;
    config.movements = movements;
    config.discrete_initial = initial;
    config.discrete_transition = transition;
    const tess_decode_encoding *encodings[] = {m.encoding};
    tess_decode_detector *d = NULL;
#define create() tess_decode_detector_create(ctx, &config, &m.env, 1, encodings, 1, &d)
    assert_fails(create(), TESS_E_RANGE, "discrete_transition: row 1 sums to 0.9");
    transition[3] = 0.7;
    initial[0] = 0.6;
    assert_fails(create(), TESS_E_RANGE, "discrete_initial sums to 1.1");
    initial[0] = 0.5;
    states[1].environment = 3;
    assert_fails(create(), TESS_E_ARGUMENT, "state 1 ('b'): environment 3 is unknown");
    states[1].environment = 0;
    states[1].encoding = -1;
    assert_fails(create(), TESS_E_ARGUMENT, "encoding -1 is unknown");
    states[1].encoding = 0;
    movements[1].kind = TESS_DECODE_DISCRETE;
    assert_fails(create(), TESS_E_ARGUMENT, "is discrete, but both have many bins");
    movements[1].kind = TESS_DECODE_UNIFORM;
    assert_ok(create());
    tess_decode_detector_destroy(d);
#undef create
    golden_model_close(&m);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cont_frag),
                                       cmocka_unit_test(test_non_local),
                                       cmocka_unit_test(test_path),
                                       cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_given_likelihood),
                                       cmocka_unit_test(test_nan_positions),
                                       cmocka_unit_test(test_all_bins),
                                       cmocka_unit_test(test_bad_arguments),
                                       cmocka_unit_test(test_bad_detectors)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
