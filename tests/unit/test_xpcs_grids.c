// Grids of the model that a stage makes at some frames: those that passes fill, bit for bit.
#include "xpcs_stage.h"

#include "systems/xpcs/model/grids.h"

enum { N_SET = 6, MOST = 1400 };

typedef struct grids_case {
    int64_t n_frame;
    int32_t n_param;
    double theta[N_SET][7];
    int64_t frames[MOST];
    int64_t n_chosen;
} grids_case;

// Rates that fall to the floor, grow beyond all numbers or are NaN among them.
static grids_case draw(int64_t n_frame, int32_t n_param, uint64_t seed)
{
    grids_case c = {.n_frame = n_frame, .n_param = n_param};
    for (int64_t i = 0; i < n_frame; i++) {
        if (i == 0 || i == n_frame - 1 || xp_uniform(&seed) < 0.2) {
            c.frames[c.n_chosen++] = i;
        }
    }
    for (int s = 0; s < N_SET; s++) {
        for (int k = 0; k < 7; k++) {
            c.theta[s][k] = (xp_uniform(&seed) - 0.5) * (k % 3 == 1 ? 4 : 2000);
        }
        c.theta[s][0] = fabs(c.theta[s][0]);
    }
    c.theta[1][1] = 400, c.theta[2][1] = -400, c.theta[3][4] = (double)NAN;
    return c;
}

static void check_grids(tess_context *ctx, const grids_case *c)
{
    static double out[N_SET * 8 * MOST];
    const int64_t n_array = c->n_param == 3 ? 4 : 8;
    tess_xpcs_model model;
    tess_xp_grids grids;
    double packed[N_SET * 7];
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = c->n_param == 7 ? TESS_XPCS_LAMINAR_FLOW : TESS_XPCS_STATIC_ANISOTROPIC;
    model.dt_s = 0.1;
    model.gap_angstrom = 2e6;
    assert_ok(tess_xp_grids_create(ctx, &model, c->n_frame, &grids));
    for (int s = 0; s < N_SET; s++) {
        memcpy(packed + s * c->n_param, c->theta[s], (size_t)c->n_param * sizeof *packed);
    }
    memset(out, 0x55, sizeof out);
    const tess_stage_xpcs_grids stage = {.log_t = &grids.log_t->high,
                                         .theta = packed,
                                         .frames = c->frames,
                                         .grids = out,
                                         .n_time = c->n_frame,
                                         .n_frame = c->n_chosen,
                                         .n_set = N_SET,
                                         .n_param = c->n_param};
    xp_run(ctx, TESS_STAGE_XPCS_GRIDS, &stage, sizeof stage);
    for (int s = 0; s < N_SET; s++) {
        tess_xp_grids_fill(&grids, &model, c->theta[s]);
        for (int64_t k = 0; k < n_array * c->n_chosen; k++) {
            const double want =
                grids.sums[k / c->n_chosen * c->n_frame + c->frames[k % c->n_chosen]];
            const double got = out[s * n_array * c->n_chosen + k];
            if (!(got == want || (isnan(got) && isnan(want)))) {
                fail_msg("%lld frames, set %d, array %lld: %.17g, not %.17g", (long long)c->n_frame,
                         s, (long long)(k / c->n_chosen), got, want);
            }
        }
    }
    tess_xp_grids_destroy(ctx, &grids);
}

static void grids_are_those_of_passes(void **state)
{
    (void)state;
    static const int64_t n_frames[] = {3, 511, 512, 513, 1400};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(n_frames); k++) {
        for (int32_t n_param = 3; n_param <= 7; n_param += 4) {
            const grids_case c = draw(n_frames[k], n_param, 17 + 2 * k + (uint64_t)n_param);
            check_grids(ctx, &c);
        }
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grids_are_those_of_passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
