// The stage of events on the worked example: five bins of 2 cm, five time bins of 20 ms.
#include "unit.h"

#include "runtime/context.h"
#include "runtime/stage.h"
#include "stage/decode_events.h"

#include <math.h>
#include <string.h>

enum { T = 5, P = 5 };

static tess_context *ctx;

static const double POSTERIOR[T][P] = {{0.8, 0.1, 0.1, 0, 0},
                                       {0.1, 0.7, 0.1, 0.1, 0},
                                       {0, 0.2, 0.5, 0.3, 0},
                                       {0, 0, 0.2, 0.6, 0.2},
                                       {0, 0.1, 0.1, 0.2, 0.6}};

// One spike in each time bin, but for the one that is silent; its row is the posterior's logarithm.
static void score(int silent, double *scores, tess_events_line *line, double *posterior)
{
    static const int32_t bin[P] = {0, 1, 2, 3, 4};
    static const double u[P] = {1, 3, 5, 7, 9};
    static const double nothing[P] = {0};
    const tess_events_route route = {.n_bin = P, .bin = bin, .u = u, .length = 10, .step = 1};
    const tess_events_track track = {.n_place = P,
                                     .n_route = 1,
                                     .routes = &route,
                                     .centre = u,
                                     .extent = 8,
                                     .band = 2,
                                     .max_velocity = 1000};
    double rows[T * P];
    int32_t spike_bin[T];
    const int32_t electrode[T] = {0};
    int64_t row[T];
    int64_t n = 0;
    for (int t = 0; t < T; t++) {
        for (int p = 0; p < P; p++) {
            rows[t * P + p] = log(POSTERIOR[t][p]);
        }
        if (t != silent) {
            spike_bin[n] = t;
            row[n++] = t;
        }
    }
    const tess_events_event event = {
        .n_time = T, .n_spike = n, .bin = spike_bin, .electrode = electrode, .row = row};
    const tess_stage_decode_events args = {.track = &track,
                                           .events = &event,
                                           .n_event = 1,
                                           .n_electrode = 1,
                                           .bin_s = 0.02,
                                           .scale = 1,
                                           .min_bins = 1,
                                           .rows = rows,
                                           .summed = nothing,
                                           .n_shuffle = 1,
                                           .scores = scores,
                                           .lines = line,
                                           .posterior = posterior};
    assert_ok(tess_stage_run(ctx->device, TESS_STAGE_DECODE_EVENTS, &args, sizeof args));
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-14 * fmax(1, fabs(want)))) {
        fail_msg("%.17g, %.17g is wanted", got, want);
    }
}

static void all_bins_count(void **state)
{
    (void)state;
    double scores[TESS_EVENTS_N_SCORE];
    double posterior[T * P];
    tess_events_line line;
    score(-1, scores, &line, posterior);
    for (int i = 0; i < T * P; i++) {
        assert_near(posterior[i], POSTERIOR[i / P][i % P]);
    }
    assert_near(scores[TESS_EVENTS_CORRELATION], 0.8177520404427457);
    assert_near(scores[TESS_EVENTS_LINE_FIT], 0.92);
    assert_int_equal(line.route, 0);
    assert_int_equal(line.slope, 8);
    assert_int_equal(line.offset, 1);
}

static void a_silent_bin_does_not(void **state)
{
    (void)state;
    double scores[TESS_EVENTS_N_SCORE];
    tess_events_line line;
    score(2, scores, &line, NULL);
    assert_near(scores[TESS_EVENTS_CORRELATION], 0.8415850669496752);
    assert_near(scores[TESS_EVENTS_LINE_FIT], 0.90);
    assert_int_equal(line.slope, 8);
    assert_int_equal(line.offset, 1);
    assert_near(scores[TESS_EVENTS_DISTANCE], 8);
    assert_near(scores[TESS_EVENTS_MAX_JUMP], 4);
    assert_near(scores[TESS_EVENTS_COVERAGE], 1);
    assert_near(scores[TESS_EVENTS_SHARPNESS], 0.675);
    assert_near(scores[TESS_EVENTS_SPEED], 100);
}

static int set_up(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    return tess_context_create(&config, &ctx) == TESS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bins_count),
        cmocka_unit_test(a_silent_bin_does_not),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
