#include "xpcs_pass_fixture.h"

#include "systems/xpcs/pass/weights.h"
#include "xpcs_run.h"

static void leaves_are_added_as_a_counter_counts(void **state)
{
    (void)state;
    enum { N_SUM = 3, N_LEAF = 70 };
    double leaves[N_LEAF][N_SUM], levels[7 * N_SUM];
    for (int i = 0; i < N_LEAF * N_SUM; i++) {
        leaves[i / N_SUM][i % N_SUM] = naive_uniform(-1, 1) * pow(10, naive_uniform(-8, 8));
    }
    tess_xp_tree tree = {.sums = levels, .n_sum = N_SUM};
    double got[N_SUM];
    tess_xp_tree_total(&tree, got);
    assert_true(got[0] == 0 && got[2] == 0);
    for (int n = 1; n <= N_LEAF; n++) {
        double leaf[N_SUM];
        memcpy(leaf, leaves[n - 1], sizeof leaf);
        tess_xp_tree_push(&tree, leaf, 1);
        assert_int_equal(tree.n_leaf, n);
        tess_xp_tree_total(&tree, got);
        for (int k = 0; k < N_SUM; k++) {
            // Blocks of 2^k leaves from the largest at the front; pairwise within.
            double want = 0;
            int end = n;
            for (int size = 1; size <= n; size *= 2) {
                if (!(n & size)) {
                    continue;
                }
                double block[64];
                for (int i = 0; i < size; i++) {
                    block[i] = leaves[end - size + i][k];
                }
                for (int width = size; width > 1; width /= 2) {
                    for (int i = 0; i < width / 2; i++) {
                        block[i] = block[2 * i] + block[2 * i + 1];
                    }
                }
                want = block[0] + want;
                end -= size;
            }
            assert_true(got[k] == want);
        }
    }
    assert_int_equal(tess_xp_tree_levels(0), 0);
    assert_int_equal(tess_xp_tree_levels(1), 1);
    assert_int_equal(tess_xp_tree_levels(4), 3);
    assert_int_equal(tess_xp_tree_levels(7), 3);
}

// Ranges of several ranks, cut anywhere and pushed in pieces of any length, make up the same tree.
static void shares_are_parts_of_the_tree(void **state)
{
    (void)state;
    enum { N_SUM = 2, MOST = 300, MANY = 200 };
    static double leaves[MOST][N_SUM], levels[2][9 * N_SUM], pieces[24 * N_SUM];
    for (int i = 0; i < MOST * N_SUM; i++) {
        leaves[i / N_SUM][i % N_SUM] = naive_uniform(-1, 1) * pow(10, naive_uniform(-8, 8));
    }
    for (int turn = 0; turn < MANY; turn++) {
        const int64_t n = 1 + (int64_t)naive_uniform(0, MOST);
        tess_xp_tree want = {.sums = levels[0], .n_sum = N_SUM};
        tess_xp_tree got = {.sums = levels[1], .n_sum = N_SUM};
        tess_xp_share share = {.sums = pieces, .n_sum = N_SUM};
        double sums[2][N_SUM];
        assert_true(tess_xp_share_pieces(n) <= 24);
        for (int64_t begin = 0, end; begin < n; begin = end) {
            end = begin + 1 + (int64_t)naive_uniform(0, (double)(n - begin));
            tess_xp_share_begin(&share, begin);
            for (int64_t i = begin; i < end; i++) {
                memcpy(sums[0], leaves[i], sizeof sums[0]);
                tess_xp_share_push(&share, sums[0], 1);
                tess_xp_tree_push(&want, sums[0], 1);
            }
            assert_int_equal(share.n_piece, tess_xp_count_stretches(begin, end - begin));
            for (int64_t k = 0; k < share.n_piece; k++) {
                assert_int_equal(share.length[k], tess_xp_stretch(got.n_leaf, end - got.n_leaf));
                tess_xp_tree_push(&got, pieces + k * N_SUM, share.length[k]);
            }
        }
        tess_xp_tree_total(&want, sums[0]);
        tess_xp_tree_total(&got, sums[1]);
        assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    }
}

// Leaves that a device sums in stretches, cut anywhere, end in the bits of one after the other.
static void stretches_are_parts_of_the_tree(void **state)
{
    (void)state;
    enum { N_SUM = 45, MOST = 700, N_SET = 2 };
    static double leaves[N_SET][MOST][N_SUM], given[N_SET][MOST][N_SUM], out[N_SET * 24 * N_SUM];
    static double one[10 * N_SUM], stretched[N_SET][10 * N_SUM];
    tess_context *ctx = unit_context(1, 0);
    for (int i = 0; i < N_SET * MOST * N_SUM; i++) {
        (&leaves[0][0][0])[i] = naive_uniform(-1, 1) * pow(10, naive_uniform(-8, 8));
    }
    for (int trial = 0; trial < 12; trial++) {
        tess_xp_tree trees[N_SET];
        for (int s = 0; s < N_SET; s++) {
            trees[s] = (tess_xp_tree){.sums = stretched[s], .n_sum = N_SUM};
        }
        for (int64_t first = 0, n; first < MOST; first += n) {
            n = 1 + (int64_t)naive_uniform(0, trial < 2 ? MOST : 300);
            n = n < MOST - first ? n : MOST - first;
            const tess_stage_xpcs_reduce stage = {.sums = &given[0][0][0],
                                                  .out = out,
                                                  .n_sum = N_SUM,
                                                  .n_set = N_SET,
                                                  .n_leaf = n,
                                                  .first = first,
                                                  .n_stretch = tess_xp_count_stretches(first, n)};
            assert_true(stage.n_stretch <= tess_xp_there_stretches(n));
            for (int s = 0; s < N_SET; s++) {
                memcpy((double *)given + s * n * N_SUM, leaves[s][first],
                       (size_t)n * sizeof leaves[s][0]);
            }
            xp_run(ctx, TESS_STAGE_XPCS_REDUCE, &stage, sizeof stage);
            for (int64_t s = 0, k = 0; s < N_SET; s++) {
                for (int64_t at = 0, length; at < n; at += length, k++) {
                    length = tess_xp_stretch(first + at, n - at);
                    tess_xp_tree_push(&trees[s], out + k * N_SUM, length);
                }
            }
        }
        for (int s = 0; s < N_SET; s++) {
            tess_xp_tree tree = {.sums = one, .n_sum = N_SUM};
            for (int64_t k = 0; k < MOST; k++) {
                double leaf[N_SUM];
                memcpy(leaf, leaves[s][k], sizeof leaf);
                tess_xp_tree_push(&tree, leaf, 1);
            }
            double want[N_SUM], got[N_SUM];
            tess_xp_tree_total(&tree, want);
            tess_xp_tree_total(&trees[s], got);
            assert_int_equal(trees[s].n_leaf, MOST);
            assert_memory_equal(got, want, sizeof want);
        }
    }
    tess_context_destroy(ctx);
}

// Stops a pass at its countdown's end.
static tess_status stop_at(void *self, tess_xp_pass *pass)
{
    int *countdown = self;
    assert_int_equal(pass->tree.n_leaf, pass->next_leaf);
    assert_true(pass->next_leaf < tess_xp_tiles_n_leaf(&pass->data->tiles));
    return --*countdown == 0 ? TESS_CANCELLED : TESS_OK;
}

static void interrupted_passes_go_on_to_the_same_bits(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 3);
    tess_xp_pass pass;
    double want[MAX_SUM], got[MAX_SUM];
    assert_ok(tess_xp_pass_open(f.ctx, &f.setup, &pass));
    assert_ok(tess_xp_pass_run(&pass, &f.point, want));
    assert_int_equal(pass.n_pass, 1);
    assert_true(pass.seconds > 0);
    const size_t n_byte = (size_t)pass.n_sum * sizeof *want;
    // A device that has the records goes over all of them at once.
    pass.there.most_leaves = pass.there.most_leaves < 3 ? pass.there.most_leaves : 3;
    for (int stop = 1; stop < 5; stop++) {
        int countdown = stop;
        pass.between = stop_at;
        pass.self = &countdown;
        assert_int_equal(tess_xp_pass_run(&pass, &f.point, got), TESS_CANCELLED);
        assert_int_equal(pass.next_leaf, 3 * stop);
        // Elsewhere, from what a checkpoint keeps.
        fixture g;
        fixture_open(&g, (int64_t)stop);
        tess_xp_pass other;
        assert_ok(tess_xp_pass_open(g.ctx, &g.setup, &other));
        other.next_leaf = pass.next_leaf;
        other.tree.n_leaf = pass.tree.n_leaf;
        memcpy(other.tree.sums, pass.tree.sums,
               (size_t)tess_xp_tree_levels(pass.tree.n_leaf) * n_byte);
        assert_ok(tess_xp_pass_run(&other, &g.point, got));
        assert_memory_equal(got, want, n_byte);
        tess_xp_pass_close(&other);
        fixture_close(&g);
        // And here.
        memset(got, 0, sizeof got);
        assert_ok(tess_xp_pass_run(&pass, &f.point, got));
        assert_memory_equal(got, want, n_byte);
        assert_int_equal(pass.next_leaf, 0);
    }
    tess_xp_pass_close(&pass);
    fixture_close(&f);
}

static void stretches_of_a_chunk_change_no_bit(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 9);
    tess_xp_pass pass;
    double want[MAX_SUM], got[MAX_SUM];
    assert_ok(tess_xp_pass_open(f.ctx, &f.setup, &pass));
    assert_ok(tess_xp_pass_run(&pass, &f.point, want));
    const int64_t all = pass.there.most_leaves;
    assert_true(all == 9 || !f.ctx->device->shares_host_memory);
    for (pass.there.most_leaves = 1; pass.there.most_leaves < all; pass.there.most_leaves++) {
        assert_ok(tess_xp_pass_run(&pass, &f.point, got));
        assert_memory_equal(got, want, (size_t)pass.n_sum * sizeof *want);
    }
    tess_xp_pass_close(&pass);
    fixture_close(&f);
}

static void a_pass_says_what_memory_it_takes(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    for (int32_t mode = 1; mode < 3; mode++) {
        f.model.mode = mode;
        const uint64_t n_byte = tess_xp_pass_bytes(f.data, mode == 2 ? 7 : 3, 4, false, 1);
        uint64_t before = 0, during = 0, peak = 0;
        tess_context_memory(f.ctx, &before, &peak);
        tess_xp_pass pass;
        assert_ok(tess_xp_pass_open(f.ctx, &f.setup, &pass));
        tess_context_memory(f.ctx, &during, &peak);
        if (f.ctx->device->shares_host_memory) {
            assert_int_equal(during - before, n_byte);
        } else { // sums of leaves lie on the device
            assert_in_range(during - before, 1, n_byte);
        }
        tess_xp_pass_close(&pass);
        tess_xp_pass_close(&pass); // accepts one that is closed
        tess_context_memory(f.ctx, &during, &peak);
        assert_int_equal(during, before);
    }
    fixture_close(&f);
}

static void a_request_to_stop_is_heard(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    tess_xp_pass pass;
    double sums[MAX_SUM];
    assert_ok(tess_xp_pass_open(f.ctx, &f.setup, &pass));
    tess_context_cancel(f.ctx);
    assert_int_equal(tess_xp_pass_run(&pass, &f.point, sums), TESS_CANCELLED);
    assert_int_equal(pass.n_pass, 0);
    tess_xp_pass_close(&pass);
    fixture_close(&f);
}

static void weights_of_angles_have_a_shape(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    tess_xpcs_fit_config config;
    tess_xpcs_fit_config_init(&config, sizeof config);
    tess_xp_weights w;
    config.sigma = 0.5;
    config.shear_weights = 1;
    // Of a flow that is said, and as it comes.
    config.shear_min_weight = 0.05;
    config.shear_exponent = 2.5;
    config.shear_normalize = 0;
    config.shear_phi0 = -30;
    assert_ok(tess_xp_weights_create(f.ctx, f.data, &config, 2, (tess_comm_deal){0, 1}, &w));
    double want[3];
    for (int a = 0; a < 3; a++) {
        const double along = fabs(cos((-30 - f.data->info.phi[a]) * (double)NAIVE_PI / 180));
        want[a] = 4 * (0.05 + 0.95 * pow(along, 2.5));
    }
    assert_near(w.inverse_variance, want, 3, 1e-14);
    tess_xp_weights_destroy(&w);
    fixture_close(&f);
}

static void weights_follow_the_options(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    tess_xpcs_fit_config config;
    tess_xpcs_fit_config_init(&config, sizeof config);
    tess_xp_weights w;
    config.sigma = 0.5;
    assert_ok(tess_xp_weights_create(f.ctx, f.data, &config, 0, (tess_comm_deal){0, 1}, &w));
    assert_true(w.inverse_variance[0] == 4 && w.inverse_variance[2] == 4);
    assert_true(!w.lag_weight && !w.ignore_sigma);
    tess_xp_weights_destroy(&w);

    config.shear_weights = 1;
    assert_ok(tess_xp_weights_create(f.ctx, f.data, &config, 2, (tess_comm_deal){0, 1}, &w));
    double want[3], sum = 0;
    for (int a = 0; a < 3; a++) {
        want[a] = 0.3 + 0.7 * fabs(cos((2 - f.data->info.phi[a]) * (double)NAIVE_PI / 180));
        sum += want[a] / 3;
    }
    for (int a = 0; a < 3; a++) {
        want[a] *= 4 / sum;
    }
    assert_near(w.inverse_variance, want, 3, 1e-14);
    tess_xp_weights_destroy(&w);

    config.shear_weights = 0;
    config.sigma_mode = TESS_XPCS_SIGMA_ESTIMATE;
    double sigma[3];
    assert_ok(tess_xpcs_data_estimate_sigma(f.ctx, f.data, sigma));
    assert_ok(tess_xp_weights_create(f.ctx, f.data, &config, 0, (tess_comm_deal){0, 1}, &w));
    for (int a = 0; a < 3; a++) {
        assert_true(w.inverse_variance[a] == 1 / (sigma[a] * sigma[a]));
    }
    tess_xp_weights_destroy(&w);

    config.sigma_mode = TESS_XPCS_SIGMA_PER_LAG;
    assert_ok(tess_xp_weights_create(f.ctx, f.data, &config, 0, (tess_comm_deal){0, 1}, &w));
    assert_true(w.inverse_variance[0] == 1 && w.lag_weight);
    const double expected = 1 / (0.02 * 0.02); // the noise of the matrices
    for (int64_t k = 1; k < 3 * 300; k++) {
        assert_near(&w.lag_weight[k], &expected, 1, 0.5 * expected);
    }
    tess_xp_weights_destroy(&w);

    config.sigma_mode = TESS_XPCS_SIGMA_DATASET;
    assert_fails(tess_xp_weights_create(f.ctx, f.data, &config, 0, (tess_comm_deal){0, 1}, &w),
                 TESS_E_ARGUMENT, "the data have no standard deviations");
    fixture_close(&f);
}

// Points that share a sweep get the bits that each has alone, in any number and order.
// Points of a sweep with weights of frames of their own.
static void check_frames(tess_xp_pass *pass, const tess_xp_point *points, int64_t n,
                         double *together)
{
    const int64_t n_frame = pass->data->info.n_frame;
    double *weights = malloc((size_t)(n * n_frame) * sizeof *weights);
    double *alone = malloc((size_t)pass->n_sum * sizeof *alone);
    for (int64_t k = 0; k < n * n_frame; k++) {
        weights[k] = (double)((k + k / n_frame) * 7 % 5);
    }
    pass->frame_weight = weights;
    assert_ok(tess_xp_pass_run_sets(pass, points, n, together));
    for (int64_t i = 0; i < n; i++) {
        pass->frame_weight = weights + i * n_frame;
        assert_ok(tess_xp_pass_run(pass, &points[i], alone));
        assert_memory_equal(together + i * pass->n_sum, alone,
                            (size_t)pass->n_sum * sizeof(double));
    }
    pass->frame_weight = NULL;
    free(alone);
    free(weights);
}

static void points_share_a_sweep(void **state)
{
    (void)state;
    enum { N = 5 };
    static double alone[N][MAX_SUM];
    static double together[N * MAX_SUM];
    double theta[N][MAX_PARAM];
    tess_xp_point points[N];
    fixture f;
    fixture_open(&f, 3);
    f.setup.max_set = N;
    tess_xp_pass pass;
    assert_ok(tess_xp_pass_open(f.ctx, &f.setup, &pass));
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < MAX_PARAM; k++) {
            theta[i][k] = THETA[k] * (1 + 0.03 * i);
        }
        points[i] = f.point;
        points[i].theta = theta[i];
        assert_ok(tess_xp_pass_run(&pass, &points[i], alone[i]));
    }
    for (int64_t n = 1; n <= N; n += 2) {
        assert_ok(tess_xp_pass_run_sets(&pass, points + N - n, n, together));
        for (int64_t i = 0; i < n; i++) {
            assert_memory_equal(together + i * pass.n_sum, alone[N - n + i],
                                (size_t)pass.n_sum * sizeof(double));
        }
    }
    assert_memory_not_equal(alone[0], alone[1], sizeof(double) * 3);
    check_frames(&pass, points, N, together);
    tess_xp_pass_close(&pass);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_are_added_as_a_counter_counts),
        cmocka_unit_test(shares_are_parts_of_the_tree),
        cmocka_unit_test(stretches_are_parts_of_the_tree),
        cmocka_unit_test(interrupted_passes_go_on_to_the_same_bits),
        cmocka_unit_test(stretches_of_a_chunk_change_no_bit),
        cmocka_unit_test(a_pass_says_what_memory_it_takes),
        cmocka_unit_test(points_share_a_sweep),
        cmocka_unit_test(a_request_to_stop_is_heard),
        cmocka_unit_test(weights_of_angles_have_a_shape),
        cmocka_unit_test(weights_follow_the_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
