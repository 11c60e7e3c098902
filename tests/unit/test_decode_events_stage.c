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

// A posterior over a line, as the stage is told of it, and the best of all lines by its definition.
enum { N_PLACE = 60, MOST_TIME = 40 };

static double mass_at(const double *place, const double *u, double y, double band)
{
    double mass = 0;
    for (int p = 0; p < N_PLACE; p++) {
        mass += fabs(u[p] - y) <= band + 1e-7 ? place[p] : 0;
    }
    return mass;
}

static double median_mass(const double *place, const double *u, double band)
{
    double mass[N_PLACE];
    for (int q = 0; q < N_PLACE; q++) {
        mass[q] = mass_at(place, u, u[q], band);
        for (int k = q; k > 0 && mass[k] < mass[k - 1]; k--) { // in order
            const double other = mass[k];
            mass[k] = mass[k - 1];
            mass[k - 1] = other;
        }
    }
    return 0.5 * (mass[N_PLACE / 2 - 1] + mass[N_PLACE / 2]);
}

static double best_line(const double *posterior, const double *u, int n_time, double step,
                        double length, double band, double reach)
{
    const int most = (int)floor(reach / step + 1e-9);
    const int last = (int)floor(2 * length / step + 1e-9);
    double median[MOST_TIME];
    double best = 0;
    for (int t = 0; t < n_time; t++) {
        median[t] = median_mass(posterior + t * N_PLACE, u, band);
    }
    for (int slope = -most; slope <= most; slope++) {
        for (int i = -most; i <= last; i++) {
            double sum = 0;
            for (int t = 0; t < n_time; t++) {
                const double y = step * (i + (double)slope * t / (n_time - 1));
                sum += y >= -1e-7 && y <= length + 1e-7
                           ? mass_at(posterior + t * N_PLACE, u, y, band)
                           : median[t];
            }
            const int is_line = 2 * i + slope >= 0 && 2 * i + slope <= last;
            best = is_line && sum / n_time > best ? sum / n_time : best;
        }
    }
    return best;
}

static void the_best_of_all_lines_is_found(void **state)
{
    (void)state;
    static double rows[MOST_TIME * N_PLACE], posterior[MOST_TIME * N_PLACE];
    static const double nothing[N_PLACE] = {0};
    int32_t bin[N_PLACE], spike_bin[MOST_TIME], electrode[MOST_TIME] = {0};
    double u[N_PLACE];
    int64_t row[MOST_TIME];
    uint32_t random = 12345;
    for (int p = 0; p < N_PLACE; p++) {
        bin[p] = p;
        u[p] = 1.5 + 3 * p;
    }
    const tess_events_route route = {
        .n_bin = N_PLACE, .bin = bin, .u = u, .length = 180, .step = 1.5};
    const tess_events_track track = {.n_place = N_PLACE,
                                     .n_route = 1,
                                     .routes = &route,
                                     .centre = u,
                                     .extent = 177,
                                     .band = 9,
                                     .max_velocity = 1000};
    for (int k = 0; k < 4; k++) {
        const int n_time = 7 + 6 * k;
        for (int t = 0; t < n_time; t++) { // a peak that runs, or jumps
            random = random * 1664525u + 1013904223u;
            const double peak = k % 2 ? u[(random >> 8) % N_PLACE] : 20 + 120.0 * t / n_time;
            for (int p = 0; p < N_PLACE; p++) {
                random = random * 1664525u + 1013904223u;
                rows[t * N_PLACE + p] =
                    -(u[p] - peak) * (u[p] - peak) / 60 + (double)(random >> 8) / (1 << 24);
            }
            spike_bin[t] = t;
            row[t] = t;
        }
        const tess_events_event event = {.n_time = n_time,
                                         .n_spike = n_time,
                                         .bin = spike_bin,
                                         .electrode = electrode,
                                         .row = row};
        double scores[TESS_EVENTS_N_SCORE];
        const tess_stage_decode_events args = {.track = &track,
                                               .events = &event,
                                               .n_event = 1,
                                               .n_electrode = 1,
                                               .bin_s = 0.004,
                                               .scale = 1,
                                               .min_bins = 1,
                                               .rows = rows,
                                               .summed = nothing,
                                               .n_shuffle = 1,
                                               .scores = scores,
                                               .posterior = posterior};
        assert_ok(tess_stage_run(ctx->device, TESS_STAGE_DECODE_EVENTS, &args, sizeof args));
        const double reach = 1000 * (n_time - 1) * 0.004;
        assert_near(scores[TESS_EVENTS_LINE_FIT],
                    best_line(posterior, u, n_time, 1.5, 180, 9, reach));
    }
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
        cmocka_unit_test(the_best_of_all_lines_is_found),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
