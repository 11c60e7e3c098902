// Which matrices and frames are taken.
#include "runtime/context.h"
#include "systems/xpcs/files/select.h"
#include "unit.h"
#include "unit_golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double RING_Q[] = {0.0045, 0.0045, 0.0054, 0.0054, 0.0054, 0.0054};
static const double RING_PHI[] = {0, 90, -10, 2.5, 184, 359};

static tess_xpcs_data_config defaults(void)
{
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    return config;
}

static tess_xp_candidates rings(void)
{
    return (tess_xp_candidates){
        .name = "rings.hdf", .n = ARRAY_LEN(RING_Q), .q = RING_Q, .phi = RING_PHI, .n_frame = 100};
}

static void angles_become_normal(void **state)
{
    (void)state;
    static const double cases[][2] = {{0, 0},         {180, 180}, {-180, 180}, {181, -179},
                                      {184, -176},    {360, 0},   {-90, -90},  {270, -90},
                                      {539.5, 179.5}, {-361, -1}, {-540, 180}, {720, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(tess_xp_normal_phi(cases[i][0]) == cases[i][1]);
    }
}

static void ranges_are_inclusive_and_wrap(void **state)
{
    (void)state;
    const tess_xpcs_angle_range plain = {-10, 10};
    const tess_xpcs_angle_range wrapping = {170, -170};
    const tess_xpcs_angle_range past_turn = {350, 370};
    const tess_xpcs_angle_range all = {-180, 180};
    const tess_xpcs_angle_range turn = {0, 360};
    const tess_xpcs_angle_range half = {-180, -90};
    assert_true(tess_xp_in_ranges(10, &plain, 1));
    assert_true(tess_xp_in_ranges(-10, &plain, 1));
    assert_false(tess_xp_in_ranges(10.001, &plain, 1));
    assert_true(tess_xp_in_ranges(180, &wrapping, 1));
    assert_true(tess_xp_in_ranges(-175, &wrapping, 1));
    assert_false(tess_xp_in_ranges(0, &wrapping, 1));
    assert_true(tess_xp_in_ranges(-10, &past_turn, 1));
    assert_false(tess_xp_in_ranges(11, &past_turn, 1));
    assert_true(tess_xp_in_ranges(3, &all, 1) && tess_xp_in_ranges(180, &all, 1));
    assert_true(tess_xp_in_ranges(-90, &turn, 1));
    assert_true(tess_xp_in_ranges(180, &half, 1) && tess_xp_in_ranges(-120, &half, 1));
    assert_false(tess_xp_in_ranges(-80, &half, 1));
    assert_false(tess_xp_in_ranges(0, NULL, 0));
}

static void the_nearest_ring_is_taken(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data_config config = defaults();
    tess_xp_candidates all = rings();
    tess_xp_selection s;
    config.q = 0.0053;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 4);
    static const double phi[] = {-10, 2.5, -176, -1};
    for (int64_t k = 0; k < 4; k++) {
        assert_int_equal(s.index[k], k + 2);
        assert_true(s.q[k] == 0.0054 && s.phi[k] == phi[k]);
    }
    assert_true(s.q_nearest == 0.0054);
    assert_contains(s.notes, "q 0.0053 1/Å was asked for; the nearest bin has 0.0054 (1.89 % off)");
    assert_int_equal(s.start_frame, 1);
    assert_int_equal(s.end_frame, 100);
    assert_int_equal(s.n_frame, 100);
    assert_int_equal(s.first, 1);
    assert_null(s.is_bad);
    tess_xp_selection_destroy(&s);

    const uint8_t is_valid[] = {1, 1, 1, 0, 1, 1};
    all.is_valid = is_valid;
    config.q = 0.0054;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.index[1], 4);
    assert_string_equal(s.notes, "");
    tess_xp_selection_destroy(&s);

    config.q = 0.01;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_FORMAT,
                 "rings.hdf: no q within 5 % of 0.01 1/Å; the nearest is 0.0054 (46 % off), the "
                 "file has 0.0045, 0.0054;");
    config.q = 0;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_CONFIG, "q: got 0");
    tess_context_destroy(ctx);
}

// A ring whose q scatters counts as one within the tolerance, and keeps each matrix's own q.
static void a_tolerance_gathers_a_ring(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const double q[] = {0.00538, 0.00541, 0.0054, 0.0072, (double)NAN};
    const double phi[] = {0, 30, 60, 90, 120};
    tess_xpcs_data_config config = defaults();
    tess_xp_candidates all = {
        .name = "f", .n = 5, .q = q, .phi = phi, .n_frame = 10, .q_tolerance = 0.1};
    tess_xp_selection s;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 3);
    assert_true(s.q[1] == 0.00541);
    assert_contains(s.notes, "3 matrices with q from 0.00538 to 0.00541 1/Å count as one ring");
    tess_xp_selection_destroy(&s);
    config.q_tolerance = 0; // what the caller says goes before the layout's own
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.index[0], 2);
    tess_xp_selection_destroy(&s);
    all.q_tolerance = -1; // arrays: everything, whatever its q
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_NUMERIC,
                 "q of matrix 4 (counted from 0) is nan");
    all.n = 4;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 4);
    assert_true(s.q_nearest == 0);
    tess_xp_selection_destroy(&s);
    tess_context_destroy(ctx);
}

static void angles_are_chosen_by_ranges(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data_config config = defaults();
    const tess_xp_candidates all = rings();
    const tess_xpcs_angle_range near_flow[] = {{-5, 5}, {170, -170}};
    const tess_xpcs_angle_range none[] = {{40, 50}, {60, 61.5}};
    const tess_xpcs_angle_range broken = {0, (double)NAN};
    tess_xp_selection s;
    config.phi_ranges = near_flow;
    config.n_phi_range = 2;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.index[0], 3);
    assert_true(s.phi[1] == -176 && s.phi[2] == -1);
    tess_xp_selection_destroy(&s);

    config.min_angles = 4;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE,
                 "the selection has 3 angles; min_angles wants 4");
    config.min_angles = 1;
    config.phi_ranges = none;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_FORMAT,
                 "rings.hdf: no angle lies in 40..50, 60..61.5 degrees; there are -176, -10, -1, "
                 "2.5;");
    config.fallback_all = 1;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 4);
    assert_contains(s.notes, "no angle lies in the ranges asked for; all 4 are taken\n");
    tess_xp_selection_destroy(&s);
    config.phi_ranges = &broken;
    config.n_phi_range = 1;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_CONFIG, "phi_ranges[0]");
    tess_context_destroy(ctx);
}

static void lost_matrices_are_noticed(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_data_config config = defaults();
    const double q[] = {0.0054, 0.0054, (double)NAN, 0.0054};
    const double phi[] = {10, (double)NAN, 20, 30};
    const uint8_t is_valid[] = {1, 1, 1, 0};
    tess_xp_candidates all = {
        .name = "c2", .n = 4, .q = q, .phi = phi, .is_valid = is_valid, .n_frame = 10};
    tess_xp_selection s;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 1);
    assert_contains(s.notes, "2 of 4 matrices have no finite q or angle and are left out\n");
    tess_xp_selection_destroy(&s);
    tess_context_destroy(ctx);
}

static void mixed_up_units_are_noticed(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_data_config config = defaults();
    double phi[] = {0.1, 1.5, 3.1, -6.28};
    const double q[] = {1, 1, 1, 1};
    tess_xp_candidates all = {
        .name = "c2", .n = 4, .q = q, .phi = phi, .n_frame = 10, .q_tolerance = -1};
    tess_xp_selection s;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_contains(s.notes, "the 4 angles look like radians (the largest is 6.28)");
    tess_xp_selection_destroy(&s);
    all.n = 3; // too few to tell
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_string_equal(s.notes, "");
    tess_xp_selection_destroy(&s);
    phi[1] = -5156.6;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_contains(s.notes, "an angle of 5156.6 degrees is more than a turn; are radians");
    tess_xp_selection_destroy(&s);
    phi[0] = (double)NAN;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n, 2);
    tess_xp_selection_destroy(&s);
    phi[1] = phi[2] = (double)INFINITY;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_FORMAT,
                 "c2: none of its 3 angles is finite");
    tess_context_destroy(ctx);
}

static void frames_are_checked(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data_config config = defaults();
    const tess_xp_candidates all = rings();
    tess_xp_selection s;
    config.start_frame = 3;
    config.end_frame = 40;
    config.keep_t0 = 1;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.n_frame, 38);
    assert_int_equal(s.first, 0);
    tess_xp_selection_destroy(&s);

    config.end_frame = 101;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE,
                 "rings.hdf: frames 3 to 101 were asked for, 1 to 100 are there");
    config.lenient = 1;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    assert_int_equal(s.end_frame, 100);
    assert_contains(s.notes, "frames 3 to 101 were asked for; 3 to 100 are taken\n");
    tess_xp_selection_destroy(&s);
    config.start_frame = 99;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE, "at least 3 are needed");
    config.start_frame = 200; // behind the end: nothing is left to clamp to
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE, "leave 0");
    config.start_frame = 97;
    config.keep_t0 = 0;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    tess_xp_selection_destroy(&s);
    config.start_frame = 98;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE, "leave 2");
    tess_context_destroy(ctx);
}

static void bad_frames_count_as_the_file_does(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data_config config = defaults();
    const tess_xp_candidates all = rings();
    int64_t bad[] = {1, 11, 30, 100};
    tess_xp_selection s;
    config.start_frame = 11;
    config.end_frame = 30;
    config.bad_frames = bad;
    config.n_bad_frame = 4;
    assert_ok(tess_xp_select(ctx, &config, &all, &s));
    for (int64_t k = 0; k < 20; k++) {
        assert_int_equal(s.is_bad[k], k == 0 || k == 19);
    }
    tess_xp_selection_destroy(&s);
    bad[3] = 101;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE,
                 "bad frame 101 is not among its frames 1 to 100");
    bad[3] = 0;
    assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_SHAPE, "bad frame 0");
    tess_context_destroy(ctx);
}

static void shear_needs_an_angle_near_the_flow(void **state)
{
    (void)state;
    char text[TESS_XP_SHEAR_CHARS];
    const double across[] = {90, 70, -100, 149};
    const double along[] = {90, 152};
    assert_true(tess_xp_shear_warning(across, 4, 0, text));
    assert_contains(text, "shear not identifiable");
    assert_contains(text, "is 31.0 degrees from it");
    assert_false(tess_xp_shear_warning(along, 2, 0, text)); // 28 degrees from -180
    assert_false(tess_xp_shear_warning(across, 4, 95, text));
    assert_false(tess_xp_shear_warning(along, 1, -90, text)); // against the flow
}

static void golden_selections(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/aps_legacy_deflate.expected",
                                        "xpcs/aps_u_lzf.expected",
                                        "xpcs/aps_u_mapping_deflate.expected"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        int64_t n_bin;
        int64_t n_sel;
        int64_t n_t;
        int64_t n_item;
        double *q = golden_f64(ctx, files[f], "bin_q", &n_bin);
        double *phi = golden_f64(ctx, files[f], "bin_phi", NULL);
        double *full = golden_f64(ctx, files[f], "c2_full", &n_item);
        double *want_q = golden_f64(ctx, files[f], "sel_q", &n_sel);
        double *want_phi = golden_f64(ctx, files[f], "sel_phi", NULL);
        double *t = golden_f64(ctx, files[f], "sel_t", &n_t);
        int64_t *want_bin = golden_i64(ctx, files[f], "sel_bin", NULL);
        int64_t *frames = golden_i64(ctx, files[f], "sel_frames", NULL);
        double *ranges = f == 0 ? golden_f64(ctx, files[f], "sel_phi_ranges", NULL) : NULL;
        tess_xpcs_data_config config = defaults();
        config.q = golden_scalar(ctx, files[f], "sel_q_request");
        config.start_frame = frames[0];
        config.end_frame = frames[1];
        config.phi_ranges = (const tess_xpcs_angle_range *)ranges;
        config.n_phi_range = ranges ? 2 : 0;
        const tess_xp_candidates all = {.name = files[f],
                                        .n = n_bin,
                                        .q = q,
                                        .phi = phi,
                                        .n_frame = llround(sqrt((double)(n_item / n_bin))),
                                        .q_tolerance = f == 0 ? 0.1 : 0};
        tess_xp_selection s;
        assert_ok(tess_xp_select(ctx, &config, &all, &s));
        assert_int_equal(s.n, n_sel);
        assert_int_equal(s.n_frame - s.first, n_t);
        assert_true(s.q_nearest == golden_scalar(ctx, files[f], "sel_q_nearest"));
        assert_near(s.q, want_q, n_sel, 0);
        assert_near(s.phi, want_phi, n_sel, 0);
        assert_memory_equal(s.index, want_bin, (size_t)n_sel * sizeof *want_bin);
        tess_xp_selection_destroy(&s);
        free(q), free(phi), free(full), free(want_q), free(want_phi), free(t);
        free(want_bin), free(frames), free(ranges);
    }
    tess_context_destroy(ctx);
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    unit_allocator allocator;
    tess_xpcs_data_config config = defaults();
    const tess_xp_candidates all = rings();
    const int64_t bad = 5;
    config.q = 0.0053;
    config.bad_frames = &bad;
    config.n_bad_frame = 1;
    tess_heap real = ctx->heap;
    for (long long fail_at = 1; fail_at <= 6; fail_at++) {
        tess_xp_selection s;
        unit_allocator_init(&allocator, fail_at);
        tess_heap_init(&ctx->heap, &allocator.table);
        assert_fails(tess_xp_select(ctx, &config, &all, &s), TESS_E_MEMORY, "");
        assert_int_equal(atomic_load(&allocator.n_live), 0);
    }
    ctx->heap = real;
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_become_normal),
        cmocka_unit_test(ranges_are_inclusive_and_wrap),
        cmocka_unit_test(the_nearest_ring_is_taken),
        cmocka_unit_test(a_tolerance_gathers_a_ring),
        cmocka_unit_test(angles_are_chosen_by_ranges),
        cmocka_unit_test(lost_matrices_are_noticed),
        cmocka_unit_test(mixed_up_units_are_noticed),
        cmocka_unit_test(frames_are_checked),
        cmocka_unit_test(bad_frames_count_as_the_file_does),
        cmocka_unit_test(shear_needs_an_angle_near_the_flow),
        cmocka_unit_test(golden_selections),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
