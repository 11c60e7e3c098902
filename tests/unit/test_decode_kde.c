// The clusterless likelihood against the original's numbers, in every mode.
#include "decode_golden.h"

#include <stdbool.h>
#include <string.h>

static tess_context *ctx;

// A golden file, and its parameters that are single numbers.
typedef struct data_set {
    const char *file;
    double bin_size;
    double position_std;
} data_set;

static const data_set SETS[] = {{"01_linear_1d.npz", 2, 6},
                                {"02_local_nospike.npz", 2, 3.5355339059327376},
                                {"03_open_field_2d.npz", 3, 6},
                                {"04_track_graph.npz", 2.5, 5},
                                {"05_edge_cases.npz", 3, 4}};

// A golden file as models see it.
typedef struct setup {
    const data_set *data;
    const char *file;
    golden_array position, position_time, time;
    golden_array nodes, edges, order, spacing;
    int64_t edge_list[16], edge_order[16];
    golden_spikes training, decoding;
    tess_decode_environment *env;
    tess_decode_encoding *encoding;
} setup;

static void to_int(const golden_array *a, int64_t *out)
{
    for (int64_t i = 0; i < a->n; i++) {
        out[i] = (int64_t)a->data[i];
    }
}

static void make_environment(setup *s)
{
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = s->data->bin_size;
    tess_decode_track track;
    tess_decode_track_init(&track, sizeof track);
    s->nodes = golden_try(ctx, s->file, "node_positions");
    s->edges = golden_try(ctx, s->file, "graph_edges");
    s->order = golden_try(ctx, s->file, "edge_order");
    s->spacing = golden_try(ctx, s->file, "edge_spacing");
    if (s->nodes.n > 0) {
        to_int(&s->edges, s->edge_list);
        to_int(&s->order, s->edge_order);
        track.n_node = s->nodes.shape[0];
        track.node_position = s->nodes.data;
        track.n_edge = s->edges.shape[0];
        track.edges = s->edge_list;
        track.n_order = s->order.shape[0];
        track.edge_order = s->edge_order;
        track.n_spacing = s->spacing.n;
        track.edge_spacing = s->spacing.data;
        config.track = &track;
    }
    assert_ok(tess_decode_environment_create(ctx, &config, s->position.data, s->position.shape[0],
                                             s->position.shape[1], &s->env));
}

static void open_setup(const data_set *data, tess_decode_mode mode, double bound, setup *s)
{
    const char *file = data->file;
    *s = (setup){.data = data, .file = file};
    s->position = golden(ctx, file, "position");
    s->position_time = golden(ctx, file, "position_time");
    s->time = golden(ctx, file, "time");
    make_environment(s);
    golden_read_spikes(ctx, file, "", &s->training);
    golden_read_spikes(ctx, file, "dec_", &s->decoding);
    tess_decode_training training;
    tess_decode_training_init(&training, sizeof training);
    s->training.spikes.mark_dtype = TESS_F64;
    s->decoding.spikes.mark_dtype = TESS_F64;
    training.spikes = s->training.spikes;
    training.position.n_sample = s->position.shape[0];
    training.position.n_dim = s->position.shape[1];
    training.position.time = s->position_time.data;
    training.position.position = s->position.data;
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.mode = (int32_t)mode;
    config.bound = bound > 0 ? bound : config.bound;
    config.floor = TESS_DECODE_FLOOR_ABSOLUTE;
    config.position_std = s->data->position_std;
    config.waveform_std = 24;
    assert_ok(tess_decode_encoding_create(ctx, s->env, &training, &config, &s->encoding));
}

static void close_setup(setup *s)
{
    tess_decode_encoding_destroy(s->encoding);
    tess_decode_environment_destroy(s->env);
    golden_free_spikes(&s->training);
    golden_free_spikes(&s->decoding);
    free(s->position.data);
    free(s->position_time.data);
    free(s->time.data);
    free(s->nodes.data);
    free(s->edges.data);
    free(s->order.data);
    free(s->spacing.data);
}

static void check(const setup *s, const double *got, const char *name, double absolute,
                  double relative)
{
    golden_array want = golden(ctx, s->file, name);
    const double worst = golden_worst(got, want.data, want.n, absolute, relative);
    if (!(worst <= 1)) {
        fail_msg("%s: %s is off by %.3g of its tolerance", s->file, name, worst);
    }
    free(want.data);
}

static const double LOG_EPS = -34.538776394910684;

// Values on the floor must be the floor; those within the tolerance of it may be either.
static void check_joint(const double *got, const golden_array *want, double tolerance,
                        double floor_tolerance)
{
    for (int64_t i = 0; i < want->n; i++) {
        const double allowed = want->data[i] == LOG_EPS && got[i] < LOG_EPS + tolerance / 2
                                   ? fmax(floor_tolerance, tolerance)
                                   : tolerance;
        if (!(fabs(got[i] - want->data[i]) <= allowed)) {
            fail_msg("value %lld: got %.12g, want %.12g", (long long)i, got[i], want->data[i]);
        }
    }
}

// The spikes inside the window, which golden log_joint rows are of.
static void check_electrode(const setup *s, int64_t e, double tolerance)
{
    golden_array want = golden_electrode(ctx, s->file, e, "log_joint");
    if (want.n < 0) {
        return;
    }
    golden_array in = golden_electrode(ctx, s->file, e, "dec_in_window");
    if (in.n < 0) {
        in = golden_electrode(ctx, s->file, e, "in_window");
    }
    const int64_t d = s->decoding.n_feature[e];
    const double *marks = s->decoding.marks[e];
    double *kept = malloc((size_t)(want.shape[0] * d + 1) * sizeof *kept);
    int64_t n = 0;
    for (int64_t i = 0; i < in.n; i++) {
        if (in.data[i] != 0) {
            memcpy(kept + n * d, marks + i * d, (size_t)d * sizeof *kept);
            n++;
        }
    }
    assert_int_equal(n, want.shape[0]);
    double *got = malloc((size_t)(want.n + 1) * sizeof *got);
    tess_array in_view, out_view;
    assert_ok(tess_array_init(&in_view, kept, TESS_F64, 2, (int64_t[]){n, d}));
    assert_ok(tess_array_init(&out_view, got, TESS_F64, 2, (int64_t[]){n, want.shape[1]}));
    assert_ok(tess_decode_log_joint(ctx, s->encoding, e, &in_view, &out_view));
    check_joint(got, &want, tolerance, 4e-6);
    free(got);
    free(kept);
    free(in.data);
    free(want.data);
}

static void check_rows(const setup *s, double absolute, double relative)
{
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    o.n_time = s->time.n;
    o.time = s->time.data;
    o.spikes = s->decoding.spikes;
    const int64_t n_bin = tess_decode_encoding_get_info(s->encoding)->n_interior;
    double *got = malloc((size_t)(o.n_time * n_bin) * sizeof *got);
    tess_array out;
    assert_ok(tess_array_init(&out, got, TESS_F64, 2, (int64_t[]){o.n_time, n_bin}));
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    assert_ok(tess_decode_log_likelihood(ctx, s->encoding, &o, 0, o.n_time, &out, &report));
    check(s, got, "ll_reference", absolute, relative);
    assert_true(report.n_value == report.n_spike * n_bin);
    free(got);
}

static void check_set(const data_set *data, tess_decode_mode mode, double bound)
{
    const bool is_exact = mode == TESS_DECODE_EXACT;
    setup s;
    open_setup(data, mode, bound, &s);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(s.encoding);
    const double relative = is_exact ? 1e-11 : 1e-6;
    check(&s, info->occupancy, "occupancy", 1e-300, relative);
    check(&s, info->mean_rates, "mean_rates", 1e-300, relative);
    check(&s, info->summed_ground_intensity, "summed_ground_intensity", 1e-300, relative);
    for (int64_t e = 0; e < info->n_electrode; e++) {
        check_electrode(&s, e, is_exact ? 1e-10 : 2e-5 + bound);
    }
    check_rows(&s, is_exact ? 1e-9 : 1e-4 + 4 * bound, is_exact ? 1e-12 : 1e-5);
    assert_true(is_exact ? info->bound == 0 : info->bound <= fmax(bound, 8e-6));
    close_setup(&s);
}

static void exact_is_the_originals(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(SETS); k++) {
        check_set(&SETS[k], TESS_DECODE_EXACT, 0);
    }
}

static void fast_is_within_its_tolerance(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(SETS); k++) {
        check_set(&SETS[k], TESS_DECODE_FAST, 0);
        check_set(&SETS[k], TESS_DECODE_BOUNDED, 1e-3);
    }
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return ctx ? 0 : -1;
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
        cmocka_unit_test(exact_is_the_originals),
        cmocka_unit_test(fast_is_within_its_tolerance),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
