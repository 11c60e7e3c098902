// What must hold of any environment: worked examples, random masks against plain restatements,
// messages for bad input, and memory that runs out anywhere.
#include "base/rng.h"
#include "tessera/decode/detector.h"
#include "unit_golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

static tess_decode_environment_config new_config(double bin_size)
{
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = bin_size;
    return config;
}

static tess_decode_environment *create(const tess_decode_environment_config *config,
                                       const double *position, int64_t n_sample, int64_t n_dim)
{
    tess_decode_environment *env = NULL;
    assert_ok(tess_decode_environment_create(ctx, config, position, n_sample, n_dim, &env));
    return env;
}

static void a_line_is_cut_into_equal_bins(void **state)
{
    (void)state;
    const double position[] = {4, (double)NAN, 0, 9, 1, 2, 3, 5, 6, 7, 8};
    const tess_decode_environment_config config = new_config(2);
    tess_decode_environment *env = create(&config, position, ARRAY_LEN(position), 1);
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    static const double want[] = {0.9, 2.7, 4.5, 6.3, 8.1};
    assert_int_equal(info->n_bin, 5);
    assert_int_equal(info->n_interior, 5);
    assert_near(info->bin_centers, want, 5, 1e-14);
    // Half-open, ends clamped, the second-to-last edge goes down, NaN nowhere.
    const double points[] = {-1, 0, 1.8, 3.6, 3.59, 7.2, 7.21, 9, 50, (double)NAN};
    static const int64_t bins[] = {0, 0, 1, 2, 1, 3, 4, 4, 4, -1};
    int64_t got[10];
    double place[10];
    assert_ok(tess_decode_place(env, points, 10, place));
    assert_memory_equal(place, points, sizeof points);
    assert_ok(tess_decode_bin_index(env, points, 10, got));
    assert_memory_equal(got, bins, sizeof bins);
    tess_decode_environment_destroy(env);
}

static void a_plane_is_padded(void **state)
{
    (void)state;
    double position[11 * 7 * 2];
    for (int x = 0; x <= 10; x++) {
        for (int y = 0; y <= 6; y++) {
            position[2 * (7 * x + y)] = x;
            position[2 * (7 * x + y) + 1] = y;
        }
    }
    const tess_decode_environment_config config = new_config(2);
    tess_decode_environment *env = create(&config, position, 77, 2);
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    assert_int_equal(info->grid_shape[0], 7);
    assert_int_equal(info->grid_shape[1], 5);
    assert_int_equal(info->n_interior, 15);
    int n_boundary = 0;
    for (int64_t bin = 0; bin < info->n_bin; bin++) {
        n_boundary += info->is_boundary[bin];
        assert_false(info->is_boundary[bin] && info->is_interior[bin]);
    }
    assert_int_equal(n_boundary, 16);
    assert_true(info->bin_edges[0][0] == -2 && info->bin_edges[0][7] == 12);
    assert_true(info->bin_centers[16] == 1 && info->bin_centers[17] == 5);
    tess_decode_environment_destroy(env);
}

static void a_box_has_three_axes(void **state)
{
    (void)state;
    double position[4 * 5 * 6 * 3];
    for (int i = 0; i < 120; i++) {
        position[3 * i] = i / 30;
        position[3 * i + 1] = i / 6 % 5;
        position[3 * i + 2] = i % 6;
    }
    tess_decode_environment_config config = new_config(1);
    tess_decode_environment *env = create(&config, position, 120, 3);
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    assert_int_equal(info->n_bin, 5 * 6 * 7);
    assert_int_equal(info->n_interior, 3 * 4 * 5);
    const double *distances = NULL;
    assert_ok(tess_decode_distances(ctx, env, &distances));
    const double corner = 2 * sqrt(3) + sqrt(2) + 1; // 2, 3 and 4 steps on the axes
    assert_near(&distances[59], &corner, 1, 1e-12);
    tess_decode_environment_destroy(env);
    config.infer_track_interior = 0;
    env = create(&config, position, 120, 3);
    assert_int_equal(tess_decode_environment_get_info(env)->n_interior, 5 * 6 * 7);
    tess_decode_environment_destroy(env);
}

// Nodes (0,0), (10,0), (10,10).
static tess_decode_track corner_track(const int64_t *order, const double *spacing)
{
    static const double nodes[] = {0, 0, 10, 0, 10, 10};
    static const int64_t edges[] = {0, 1, 1, 2};
    tess_decode_track track;
    tess_decode_track_init(&track, sizeof track);
    track.n_node = 3;
    track.node_position = nodes;
    track.n_edge = 2;
    track.edges = edges;
    track.n_order = order ? 2 : 0;
    track.edge_order = order;
    track.n_spacing = spacing ? 1 : 0;
    track.edge_spacing = spacing;
    return track;
}

static void a_corner_lies_on_a_line(void **state)
{
    (void)state;
    static const int64_t forward[] = {0, 1, 1, 2};
    static const int64_t backward[] = {1, 0, 1, 2};
    static const double spacing = 5;
    static const double points[] = {2, 1, 9, 9, 10.5, 3, 12, -1, (double)NAN, 4};
    static const double want[2][5] = {{2, 24, 18, 10, (double)NAN}, {8, 24, 18, 0, (double)NAN}};
    for (int i = 0; i < 2; i++) {
        const tess_decode_track track = corner_track(i ? backward : forward, &spacing);
        tess_decode_environment_config config = new_config(3);
        config.track = &track;
        tess_decode_environment *env = create(&config, NULL, 0, 2);
        const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
        double linear[5];
        int64_t segment[5];
        assert_ok(tess_decode_linearize(env, points, 5, linear, segment, NULL));
        assert_near(linear, want[i], 5, 1e-13);
        assert_int_equal(segment[4], -1);
        static const double edges[] = {0, 2.5, 5, 7.5, 10, 15, 17.5, 20, 22.5, 25};
        assert_int_equal(info->n_bin, 9);
        assert_near(info->bin_edges[0], edges, 10, 1e-13);
        assert_int_equal(info->is_interior[4], 0);
        assert_int_equal(info->n_interior, 8);
        const double *distances = NULL;
        assert_ok(tess_decode_distances(ctx, env, &distances));
        const double around = i ? 1.25 + 1.25 : 8.75 + 1.25; // over the corner, no gap
        assert_near(&distances[4], &around, 1, 1e-13);
        // The middle of the gap is as far from both sides: the lower bin.
        const double gap = 12.5;
        int64_t bin = -1;
        assert_ok(tess_decode_bin_index(env, &gap, 1, &bin));
        assert_int_equal(bin, 3);
        tess_decode_environment_destroy(env);
    }
}

// A random mask of a grid is closed, filled and widened as a plain restatement does it.
enum { NX = 9, NY = 12, N_MASK = NX * NY };

static int at(const uint8_t *mask, int x, int y)
{
    return x >= 0 && y >= 0 && x < NX && y < NY ? mask[x * NY + y] : 0;
}

static int cross(const uint8_t *mask, int x, int y)
{
    return at(mask, x, y) + at(mask, x - 1, y) + at(mask, x + 1, y) + at(mask, x, y - 1) +
           at(mask, x, y + 1);
}

static void restate_mask(const uint8_t *visited, int fill, int dilate, uint8_t *mask)
{
    uint8_t grown[N_MASK];
    for (int i = 0; i < N_MASK; i++) {
        grown[i] = cross(visited, i / NY, i % NY) > 0;
    }
    for (int i = 0; i < N_MASK; i++) {
        mask[i] = cross(grown, i / NY, i % NY) == 5;
    }
    uint8_t outside[N_MASK] = {0};
    for (int round = 0; round < N_MASK && fill; round++) {
        for (int i = 0; i < N_MASK; i++) {
            const int x = i / NY;
            const int y = i % NY;
            const int rim = x == 0 || y == 0 || x == NX - 1 || y == NY - 1;
            outside[i] = !mask[i] && (rim || cross(outside, x, y) > 0);
        }
    }
    for (int i = 0; i < N_MASK && fill; i++) {
        mask[i] = !outside[i];
    }
    memcpy(grown, mask, sizeof grown);
    for (int i = 0; i < N_MASK; i++) {
        const int x = i / NY;
        const int y = i % NY;
        mask[i] = (uint8_t)(dilate ? cross(grown, x, y) > 0 : grown[i]);
        mask[i] = x > 0 && y > 0 && x < NX - 1 && y < NY - 1 && mask[i];
    }
}

// Positions at the centres of random inner bins of the padded grid.
static int64_t random_positions(uint64_t seed, double share, uint8_t *visited, double *position)
{
    const tess_philox_stream draw = tess_philox_open(seed, 0, 0);
    int64_t n = 0;
    memset(visited, 0, N_MASK);
    for (int i = 0; i < N_MASK; i++) {
        const int x = i / NY;
        const int y = i % NY;
        const int inner = x > 0 && y > 0 && x < NX - 1 && y < NY - 1;
        if (inner && tess_philox_uniform(&draw, (uint64_t)i) < share) {
            visited[i] = 1;
            position[2 * n] = x - 0.5;
            position[2 * n++ + 1] = 2 * (y - 0.5);
        }
    }
    return n;
}

static void check_random_mask(uint64_t seed)
{
    static const double range[] = {0, NX - 2, 0, 2 * (NY - 2)};
    static const double size[] = {1, 2};
    uint8_t visited[N_MASK];
    uint8_t want[N_MASK];
    double position[2 * N_MASK];
    const int64_t n = random_positions(seed, 0.35 + 0.02 * (double)(seed % 20), visited, position);
    tess_decode_environment_config config = new_config(2);
    config.bin_size = size;
    config.position_range = range;
    config.fill_holes = (int32_t)(seed % 2);
    config.dilate = (int32_t)(seed / 2 % 2);
    tess_decode_environment *env = create(&config, position, n, 2);
    restate_mask(visited, config.fill_holes, config.dilate, want);
    assert_memory_equal(tess_decode_environment_get_info(env)->is_interior, want, N_MASK);
    tess_decode_environment_destroy(env);
}

static void masks_equal_a_restatement(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        check_random_mask(seed);
    }
}

// Floyd and Warshall on the 8-neighbour graph.
static void restate_distances(const tess_decode_environment_info *info, double *d)
{
    const int64_t n = info->n_interior;
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t a = info->interior_bin[i / n];
        const int64_t b = info->interior_bin[i % n];
        const double dx = (double)(a / NY - b / NY);
        const double dy = (double)(a % NY - b % NY);
        d[i] = (double)INFINITY;
        if (fabs(dx) <= 1 && fabs(dy) <= 1) {
            d[i] = sqrt(dx * dx + 4 * dy * dy);
        }
    }
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < n * n; i++) {
            const double way = d[i / n * n + k] + d[k * n + i % n];
            d[i] = way < d[i] ? way : d[i];
        }
    }
}

static void distances_equal_a_restatement(void **state)
{
    (void)state;
    static const double range[] = {0, NX - 2, 0, 2 * (NY - 2)};
    static const double size[] = {1, 2};
    static double want[N_MASK * N_MASK];
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint8_t mask[N_MASK];
        double position[2 * N_MASK];
        random_positions(seed, 0.5, mask, position);
        tess_decode_environment_config config = new_config(2);
        config.bin_size = size;
        config.position_range = range;
        config.is_track_interior = mask;
        config.n_is_track_interior = N_MASK;
        tess_decode_environment *env = create(&config, NULL, 0, 2);
        const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
        assert_memory_equal(info->is_interior, mask, N_MASK);
        restate_distances(info, want);
        const double *got = NULL;
        assert_ok(tess_decode_distances(ctx, env, &got));
        const int64_t n = info->n_interior * info->n_interior;
        assert_near(got, want, n, 1e-12);
        memcpy(want, got, (size_t)n * sizeof *want);
        tess_decode_environment_destroy(env);

        tess_context *alone = unit_context(1, 0);
        assert_ok(tess_decode_environment_create(alone, &config, NULL, 0, 2, &env));
        assert_ok(tess_decode_distances(alone, env, &got));
        assert_memory_equal(got, want, (size_t)n * sizeof *want);
        tess_decode_environment_destroy(env);
        tess_context_destroy(alone);
    }
}

static void lookups_equal_a_restatement(void **state)
{
    (void)state;
    static const double range[] = {0, NX - 2, 0, 2 * (NY - 2)};
    static const double size[] = {1, 2};
    uint8_t mask[N_MASK];
    double position[2 * N_MASK];
    random_positions(7, 0.3, mask, position);
    tess_decode_environment_config config = new_config(2);
    config.bin_size = size;
    config.position_range = range;
    config.is_track_interior = mask;
    config.n_is_track_interior = N_MASK;
    tess_decode_environment *env = create(&config, NULL, 0, 2);
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    const tess_philox_stream draw = tess_philox_open(3, 0, 0);
    for (uint64_t k = 0; k < 2000; k++) {
        const double q[2] = {14 * tess_philox_uniform(&draw, 2 * k) - 4,
                             30 * tess_philox_uniform(&draw, 2 * k + 1) - 5};
        const double fx = fmin(fmax(floor(q[0]) + 1, 0), NX - 1);
        const double fy = fmin(fmax(floor(q[1] / 2) + 1, 0), NY - 1);
        int64_t want = (int64_t)fx * NY + (int64_t)fy;
        double best = (double)INFINITY;
        for (int64_t b = 0; b < info->n_bin && !mask[(int64_t)fx * NY + (int64_t)fy]; b++) {
            const double *c = info->bin_centers + 2 * b;
            const double d = hypot(q[0] - c[0], q[1] - c[1]);
            if (mask[b] && d < best) {
                best = d;
                want = b;
            }
        }
        int64_t got = -2;
        assert_ok(tess_decode_bin_index(env, q, 1, &got));
        assert_int_equal(got, want);
    }
    tess_decode_environment_destroy(env);
}

static void position_goes_on_beyond_its_ends(void **state)
{
    (void)state;
    static const double time[] = {0, 1, 3, 4};
    static const double position[] = {0, 10, 2, 10, 2, 20, (double)NAN, 30};
    static const double query[] = {-1, 0, 0.5, 2, 3, 4, 5, (double)NAN};
    static const double want[] = {-2,          10, 0,           10,         1,           10,
                                  2,           15, 2,           20,         (double)NAN, 30,
                                  (double)NAN, 40, (double)NAN, (double)NAN};
    double got[16];
    assert_ok(tess_decode_position_at(time, position, 4, 2, query, 8, got));
    assert_near(got, want, 16, 1e-14);
    assert_ok(tess_decode_position_at(NULL, NULL, 0, 2, NULL, 0, NULL));
    assert_fails(tess_decode_position_at(time, position, 1, 2, query, 1, got), TESS_E_ARGUMENT,
                 "has 1 sample;");
    static const double twice[] = {0, 1, 1, 4};
    assert_fails(tess_decode_position_at(twice, position, 4, 2, query, 1, got), TESS_E_ARGUMENT,
                 "value 2 (1) does not come after value 1 (1)");
    static const double broken[] = {0, 1, (double)INFINITY, 4};
    assert_fails(tess_decode_position_at(broken, position, 4, 2, query, 1, got), TESS_E_NUMERIC,
                 "value 2 is inf");
}

static void check_bad(const tess_decode_environment_config *config, const double *position,
                      int64_t n_sample, int64_t n_dim, tess_status status, const char *part)
{
    tess_decode_environment *env = NULL;
    assert_fails(tess_decode_environment_create(ctx, config, position, n_sample, n_dim, &env),
                 status, part);
    assert_null(env);
}

static void bad_grids_are_refused(void **state)
{
    (void)state;
    static const double flat[] = {1, 5, 2, 5, 3, 5};
    static const double none[] = {(double)NAN, 1, 2, (double)NAN};
    static const double wild[] = {1, 2, (double)INFINITY, 3};
    static const double size[] = {2, -1};
    static const double range[] = {0, 10, 5, 5};
    tess_decode_environment_config config = new_config(2);
    check_bad(
        &config, flat, 3, 2, TESS_E_ARGUMENT,
        "position has zero extent in dimension 1 (all samples are 5); pass position_range, or "
        "positions of an animal that moves");
    check_bad(&config, none, 2, 2, TESS_E_ARGUMENT, "none of the 2 samples");
    check_bad(&config, wild, 2, 2, TESS_E_NUMERIC, "sample 1, coordinate 0 is infinite");
    check_bad(&config, NULL, 0, 1, TESS_E_ARGUMENT, "no samples");
    check_bad(&config, NULL, 5, 1, TESS_E_ARGUMENT, "5 samples, but no data");
    check_bad(&config, flat, 1, 6, TESS_E_SHAPE, "6 coordinates");
    config.place_bin_size = -2;
    check_bad(&config, flat, 3, 2, TESS_E_RANGE, "place_bin_size");
    config = new_config(1e-8);
    check_bad(&config, flat, 3, 1, TESS_E_ARGUMENT, "use larger bins");
    config = new_config(2);
    config.bin_size = size;
    check_bad(&config, flat, 3, 2, TESS_E_ARGUMENT, "place_bin_size: is -1 in dimension 1");
    config = new_config(2);
    config.position_range = range;
    check_bad(&config, flat, 3, 2, TESS_E_ARGUMENT, "dimension 1 is 5 to 5");
    config = new_config(2);
    config.bin_count_threshold = 9;
    check_bad(&config, flat, 6, 1, TESS_E_ARGUMENT, "lower bin_count_threshold");
    const uint8_t mask[3] = {0};
    config = new_config(2);
    config.is_track_interior = mask;
    config.n_is_track_interior = 3;
    check_bad(&config, flat, 6, 1, TESS_E_SHAPE, "has 3 values, the environment 2 bins");
    config.n_is_track_interior = 2;
    check_bad(&config, flat, 6, 1, TESS_E_ARGUMENT, "no bin is set");
}

static void bad_tracks_are_refused(void **state)
{
    (void)state;
    static const int64_t stranger[] = {0, 1, 0, 2};
    static const int64_t twice[] = {0, 1, 1, 0};
    static const int64_t beyond[] = {0, 1, 1, 3};
    static const double nodes[] = {0, 0, 10, 0, 10, (double)NAN};
    static const double same[] = {0, 0, 10, 0, 10, 0};
    static const double spacing[] = {1, -1, 1};
    static const double length[] = {5, 10};
    tess_decode_environment_config config = new_config(3);
    tess_decode_track track = corner_track(stranger, NULL);
    config.track = &track;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT,
              "edge (0, 2) at place 1 is not in the track graph");
    check_bad(&config, spacing, 3, 1, TESS_E_SHAPE, "needs raw x and y");
    track = corner_track(twice, NULL);
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "edge (1, 0) at place 1 comes a second time");
    track.n_order = 1;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "has 1 edges, the track graph 2");
    track = corner_track(NULL, spacing);
    track.n_spacing = 3;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "edge_spacing: has 3 values; expected one");
    track = corner_track(NULL, spacing + 1);
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "edge_spacing: value 0 is -1");
    track = corner_track(NULL, NULL);
    track.edges = beyond;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "edge 1 joins nodes 1 and 3");
    track.edges = twice;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "edge (0, 1) is given twice");
    track = corner_track(NULL, NULL);
    track.node_position = nodes;
    check_bad(&config, NULL, 0, 2, TESS_E_NUMERIC, "node 2 has no finite position");
    track.node_position = same;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "are in one place");
    track = corner_track(NULL, NULL);
    track.edge_length = length;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "would lie on top of it");
    track.n_edge = 0;
    check_bad(&config, NULL, 0, 2, TESS_E_ARGUMENT, "at least two nodes and one edge");
}

static void a_grid_has_no_line(void **state)
{
    (void)state;
    static const double position[] = {0, 0, 9, 9, 5, 5};
    const tess_decode_environment_config config = new_config(2);
    tess_decode_environment *env = create(&config, position, 3, 2);
    double linear;
    assert_fails(tess_decode_linearize(env, position, 1, &linear, NULL, NULL), TESS_E_ARGUMENT,
                 "has no track graph");
    tess_decode_environment_destroy(env);
    tess_decode_environment_destroy(NULL);
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    static const double spacing = 5;
    static const double position[] = {0, 0, 9, 9, 5, 5, 2, 7, 1, 8};
    int n_failed[2] = {0, 0};
    for (int with_track = 0; with_track < 2; with_track++) {
        for (long long fail_at = 1;; fail_at++) {
            const tess_decode_track track = corner_track(NULL, &spacing);
            tess_decode_environment_config config = new_config(2);
            config.fill_holes = 1;
            config.track = with_track ? &track : NULL;
            unit_allocator allocator;
            unit_allocator_init(&allocator, 0);
            tess_context_config settings;
            tess_context_config_init(&settings, sizeof settings);
            settings.n_thread = 1;
            settings.allocator = &allocator.table;
            tess_context *own = NULL;
            assert_ok(tess_context_create(&settings, &own));
            allocator.fail_at = atomic_load(&allocator.n_alloc) + fail_at;
            tess_decode_environment *env = NULL;
            const double *distances = NULL;
            tess_status status = tess_decode_environment_create(own, &config, position, 5, 2, &env);
            if (status == TESS_OK) {
                status = tess_decode_distances(own, env, &distances);
            }
            if (status != TESS_OK) {
                assert_int_equal(status, TESS_E_MEMORY);
                n_failed[with_track]++;
            }
            tess_decode_environment_destroy(env);
            tess_context_destroy(own);
            assert_int_equal(atomic_load(&allocator.n_live), 0);
            if (status == TESS_OK) {
                break;
            }
        }
    }
    assert_in_range(n_failed[0], 8, 40);
    assert_in_range(n_failed[1], 8, 40);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    ctx = unit_context(3, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_cut_into_equal_bins),
        cmocka_unit_test(a_plane_is_padded),
        cmocka_unit_test(a_box_has_three_axes),
        cmocka_unit_test(a_corner_lies_on_a_line),
        cmocka_unit_test(masks_equal_a_restatement),
        cmocka_unit_test(distances_equal_a_restatement),
        cmocka_unit_test(lookups_equal_a_restatement),
        cmocka_unit_test(position_goes_on_beyond_its_ends),
        cmocka_unit_test(bad_grids_are_refused),
        cmocka_unit_test(bad_tracks_are_refused),
        cmocka_unit_test(a_grid_has_no_line),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
