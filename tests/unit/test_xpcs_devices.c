// Passes and fits that several devices divide: the bits of one.
#include "xpcs_fit_fixture.h"

#include "runtime/group.h"
#include "systems/xpcs/pass/pass.h"

static tess_context *devices(const char *list, uint64_t limit_bytes)
{
    tess_context_config config;
    tess_context *ctx = NULL;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.device = list;
    config.device_memory_limit_bytes = limit_bytes;
    assert_ok(tess_context_create(&config, &ctx));
    if (ctx->group) {
        ctx->group->least_points = 0;
    }
    return ctx;
}

static int use_fakes(void **state)
{
    (void)state;
    setenv("TESSERA_CUDA_PLUGIN", TESS_FAKE_GPUS, 1);
    setenv("FAKE_GPUS", "5", 1);
    return 0;
}

enum { N_FRAME = 420, N_SET = 3, MOST_SUMS = 4096, N_LOOK = 4 };

static tess_xpcs_data *make_data(tess_context *ctx)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = 2;
    s.n_frame = N_FRAME;
    s.sigma = 0.01;
    s.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    return simulated(ctx, &s);
}

// Sums of passes: over all leaves and over parts, at one point and at several, with weights of
// frames, each twice, so that records are sent and found there.
typedef struct looks {
    double sums[N_LOOK][N_SET * MOST_SUMS];
    int64_t n_sum;
    bool is_divided[N_LOOK];
    bool takes_all;
    bool keeps_none;
} looks;

static void look(const char *list, uint64_t limit_bytes, tess_xpcs_data *data, looks *out)
{
    static const int64_t everies[N_LOOK] = {0, 3, 0, 4};
    static const int64_t sets[N_LOOK] = {1, N_SET, N_SET, 1};
    static double weight[N_SET * N_FRAME];
    tess_context *ctx = devices(list, limit_bytes);
    tess_xpcs_model model;
    tess_xp_pass pass;
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    model.dt_s = tess_xpcs_data_get_info(data)->dt_s;
    const double theta[N_SET][3] = {{1000, -0.5, 10}, {900, -0.4, 5}, {1200, 0.1, 0}};
    const double ones[2] = {1e4, 1e4};
    tess_xp_point points[N_SET];
    for (int k = 0; k < N_SET; k++) {
        points[k] = (tess_xp_point){.theta = theta[k], .want = TESS_XP_WANT_HESSIAN};
        for (int i = 0; i < N_FRAME; i++) {
            weight[k * N_FRAME + i] = (double)((i * 7 + k) % 3);
        }
    }
    const tess_xp_pass_setup setup = {.device = ctx->device,
                                      .data = data,
                                      .model = &model,
                                      .f_scale = 1,
                                      .inverse_variance = ones,
                                      .leaves_per_chunk = 3,
                                      .max_set = N_SET};
    *out = (looks){0};
    assert_ok(tess_xp_pass_open(ctx, &setup, &pass));
    out->n_sum = pass.n_sum;
    out->takes_all = tess_xp_there_takes_all(&pass.there);
    out->keeps_none = !pass.there.is_sent;
    assert_true(pass.n_sum <= MOST_SUMS);
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < N_LOOK; i++) {
            double sums[N_SET * MOST_SUMS] = {0};
            pass.every = everies[i];
            pass.group = 2;
            pass.frame_weight = i == 2 ? weight : NULL;
            assert_ok(tess_xp_pass_run_sets(&pass, points, sets[i], sums));
            out->is_divided[i] = pass.is_divided;
            assert_true(!again || memcmp(sums, out->sums[i], sizeof sums) == 0);
            memcpy(out->sums[i], sums, sizeof sums);
        }
    }
    tess_xp_pass_close(&pass);
    tess_context_destroy(ctx);
}

static void passes_have_the_bits_of_one(void **state)
{
    (void)state;
    static const char *const lists[] = {"cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:2,cuda:1,cuda:0",
                                        "cuda:all"};
    static looks one;
    static looks several;
    tess_context *own = unit_context(2, 0);
    tess_xpcs_data *data = make_data(own);
    const uint64_t bytes = tess_xpcs_data_get_info(data)->bytes;
    look("cuda:0", 0, data, &one);
    assert_true(one.takes_all && !one.is_divided[0]);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        look(lists[i], 0, data, &several);
        assert_int_equal(one.n_sum, several.n_sum);
        assert_memory_equal(one.sums, several.sums, sizeof one.sums);
        for (int k = 0; k < N_LOOK; k++) {
            assert_true(several.is_divided[k]);
        }
    }
    // Too much for one, not for each its part; and too much for both.
    bool has_own = false;
    bool has_none = false;
    for (uint64_t limit = bytes * 3; limit > bytes / 8; limit = limit * 3 / 4) {
        looks *limited = &several;
        look("cuda:0,cuda:1", limit, data, limited);
        assert_memory_equal(one.sums, limited->sums, sizeof one.sums);
        has_own = has_own || (!limited->takes_all && !limited->keeps_none);
        has_none = has_none || limited->keeps_none;
    }
    assert_true(has_own && has_none);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(own);
}

typedef struct fitted {
    tess_context *ctx; // whose memory the result is
    tess_xpcs_result *result;
    const tess_xpcs_result_info *info;
} fitted;

static fitted fit(const char *list, const golden_fit *g, int64_t least)
{
    fitted f = {.ctx = devices(list, 0)};
    if (f.ctx->group) {
        f.ctx->group->least_points = least;
    }
    assert_ok(tess_xpcs_fit(f.ctx, g->data, &g->model, &g->config, &f.result));
    f.info = tess_xpcs_result_get_info(f.result);
    assert_string_equal(f.info->device, list);
    return f;
}

static void fit_close(fitted *f)
{
    tess_xpcs_result_destroy(f->result);
    tess_context_destroy(f->ctx);
}

static void fits_have_the_bits_of_one(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 2);
    g.config.uncertainty = 1; // block_bootstrap
    g.config.n_bootstrap = 4;
    fitted one = fit("cuda:0", &g, 0);
    const tess_xpcs_result_info *a = one.info;
    const size_t n = (size_t)a->n_param;
    for (int i = 0; i < 2; i++) {
        fitted other = fit("cuda:0,cuda:3", &g, i == 0 ? 0 : INT64_MAX);
        const tess_xpcs_result_info *b = other.info;
        assert_int_equal(a->n_bootstrap, b->n_bootstrap);
        assert_memory_equal(a->theta, b->theta, n * sizeof(double));
        assert_memory_equal(a->sd, b->sd, n * sizeof(double));
        assert_memory_equal(a->bootstrap, b->bootstrap,
                            n * (size_t)a->n_bootstrap * sizeof(double));
        assert_memory_equal(&a->chi2, &b->chi2, sizeof(double));
        fit_close(&other);
    }
    fit_close(&one);
    golden_fit_close(&g);
}

static void a_device_that_fails_ends_the_fit(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 2);
    tess_context *ctx = devices("cuda:0,cuda:4", 0);
    tess_xpcs_result *result = NULL;
    setenv("FAKE_GPUS_FAIL", "4", 1);
    assert_fails(tess_xpcs_fit(ctx, g.data, &g.model, &g.config, &result), TESS_E_DEVICE,
                 "cuda:4: it was told to fail");
    unsetenv("FAKE_GPUS_FAIL");
    assert_null(result);
    assert_ok(tess_xpcs_fit(ctx, g.data, &g.model, &g.config, &result));
    tess_xpcs_result_destroy(result);
    tess_context_destroy(ctx);
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_have_the_bits_of_one),
        cmocka_unit_test(fits_have_the_bits_of_one),
        cmocka_unit_test(a_device_that_fails_ends_the_fit),
    };
    return cmocka_run_group_tests(tests, use_fakes, NULL);
}
