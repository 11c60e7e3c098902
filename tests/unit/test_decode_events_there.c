// Shuffles of events on a device with its own memory: the scores of the CPU's stage.
#include "decode_hmm_dense.h"
#include "decode_hmm_run.h"

#include "runtime/stage.h"
#include "systems/decode/events/there.h"
#include "systems/decode/states/hmm_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_EVENT = 7, N_ELECTRODE = 5, MOST_SPIKE = 90, N_ROUTE = 2 };

static tess_context *ctx;
static uint64_t random_state = 2026;

// Time bins, and shuffles; fewer where a step costs much.
static const int32_t LENGTHS[2][N_EVENT] = {{33, 1, 2, 60, 33, 7, 200}, {9, 1, 2, 12, 9, 7, 16}};
static int64_t n_shuffle = 13;

static double draw(void)
{
    return dense_random(&random_state);
}

static int64_t below(int64_t n)
{
    return (int64_t)(draw() * (double)n);
}

// A batch of events over places of any kind.
typedef struct events_case {
    dense_case dense;
    tess_de_hmm *hmm; // NULL: bins are decoded alone
    tess_events_states states;
    int64_t block_first[2];
    double *transition;
    double *added;
    double *distance;
    int32_t *route_bin[N_ROUTE];
    double *route_u[N_ROUTE];
    tess_events_track track;
    tess_events_route routes[N_ROUTE];
    tess_events_event events[N_EVENT];
    int32_t bin[N_EVENT][MOST_SPIKE];
    int32_t electrode[N_EVENT][MOST_SPIKE];
    int64_t row[N_EVENT][MOST_SPIKE];
    int64_t n_row;
    int64_t n_time;
    double *rows;
    double *summed;
    double *ground;
    tess_stage_decode_events args;
} events_case;

static double *random_rows(int64_t n, double low, double high)
{
    double *items = zeros(n, sizeof *items);
    for (int64_t i = 0; i < n; i++) {
        items[i] = low + (high - low) * draw();
    }
    return items;
}

// Spikes by electrode and then by time; event 5 has none.
static void make_events(events_case *c)
{
    const int32_t *lengths = LENGTHS[unit_is_quick() ? 1 : 0];
    for (int64_t i = 0; i < N_EVENT; i++) {
        const int64_t n = i == 5 ? 0 : 1 + below(MOST_SPIKE);
        for (int64_t s = 0; s < n; s++) {
            c->electrode[i][s] = (int32_t)(s * N_ELECTRODE / n);
            const bool is_new = s == 0 || c->electrode[i][s] != c->electrode[i][s - 1];
            const int32_t from = is_new ? 0 : c->bin[i][s - 1];
            c->bin[i][s] = from + (int32_t)below(1 + (lengths[i] - from) / 4);
            c->bin[i][s] = c->bin[i][s] < lengths[i] ? c->bin[i][s] : lengths[i] - 1;
            c->row[i][s] = c->n_row++;
        }
        c->events[i] = (tess_events_event){.key = (uint32_t)(11 * i + 3),
                                           .n_time = lengths[i],
                                           .first_time = c->n_time,
                                           .n_spike = n,
                                           .bin = c->bin[i],
                                           .electrode = c->electrode[i],
                                           .row = c->row[i]};
        c->n_time += lengths[i];
    }
}

// Two routes: all places, and from the second on every other one backwards; bins differ in width.
static void make_routes(events_case *c, int64_t n_place, int64_t n_route)
{
    for (int64_t r = 0; r < n_route; r++) {
        const int64_t n = r == 0 ? n_place : n_place / 2;
        int32_t *bin = c->route_bin[r] = zeros(n, sizeof *bin);
        double *u = c->route_u[r] = zeros(n, sizeof *u);
        double at = 0;
        for (int64_t q = 0; q < n; q++) {
            const double width = 1.5 + (r == 0 ? 0 : draw());
            bin[q] = (int32_t)(r == 0 ? q : n_place - 1 - 2 * q);
            u[q] = at + width / 2;
            at += width;
        }
        c->routes[r] = (tess_events_route){
            .n_bin = n, .bin = bin, .u = u, .length = at, .step = 0.5 * at / (double)n};
    }
    c->track.routes = c->routes;
    c->track.n_route = n_route;
}

static void make_track(events_case *c, int64_t n_place, int64_t n_route)
{
    double *distance = c->distance = random_rows(n_place * n_place, 1, 90);
    for (int64_t p = 0; p < n_place; p++) {
        distance[p * n_place + p] = 0;
        for (int64_t q = 0; q < p; q++) {
            distance[p * n_place + q] = distance[q * n_place + p];
        }
    }
    c->track = (tess_events_track){
        .n_place = n_place, .distance = distance, .extent = 90, .band = 4, .max_velocity = 1000};
    make_routes(c, n_place, n_route);
    if (n_route == 1) { // a line
        c->track.centre = c->routes[0].u;
    }
}

static void make_states(events_case *c, int which)
{
    const int64_t n_place = c->track.n_place;
    const dense_case *d = &c->dense;
    assert_ok(tess_de_hmm_create(ctx, &d->desc, &c->hmm));
    const int64_t n_pair = (int64_t)d->desc.n_state * d->desc.n_state;
    c->transition = zeros(c->n_time * n_pair, sizeof *c->transition);
    for (int64_t t = 0; t < c->n_time; t++) { // a case has fewer rows than the events have bins
        memcpy(c->transition + t * n_pair, d->transition + t % d->n_row * d->stride,
               (size_t)n_pair * sizeof *c->transition);
    }
    c->added = random_rows(c->n_time * d->desc.n_ll, -1, 0);
    c->states = (tess_events_states){.model = &c->hmm->model,
                                     .transition = c->transition,
                                     .transition_stride = d->stride > 0 ? n_pair : 0,
                                     .initial = d->initial,
                                     .block_first = c->block_first,
                                     .added = c->added};
    for (int32_t s = 0; s < d->desc.n_state && c->states.n_block == 0; s++) {
        if (d->first[s + 1] - d->first[s] == n_place) {
            c->block_first[c->states.n_block++] = d->ll_first[s];
        }
    }
    assert_true(c->states.n_block > 0 || which < 0);
}

static void make_case(int which, bool is_alone, int64_t n_route, int64_t min_bins, events_case *c)
{
    memset(c, 0, sizeof *c);
    dense_case_make(ctx, which, 1, &c->dense);
    int64_t n_place = 0;
    for (int32_t s = 0; s < c->dense.desc.n_state; s++) {
        const int64_t n = c->dense.first[s + 1] - c->dense.first[s];
        n_place = n > n_place ? n : n_place;
    }
    make_events(c);
    make_track(c, n_place, n_route);
    if (!is_alone) {
        make_states(c, which);
    }
    // Units are rows too, and events name rows of spikes.
    c->n_row = c->n_row > N_ELECTRODE ? c->n_row : N_ELECTRODE;
    c->rows = random_rows(c->n_row * n_place, -3, 3);
    c->summed = random_rows(n_place, -2, 0.5);
    c->ground = random_rows(N_ELECTRODE * n_place, 0, 0.2);
    c->args = (tess_stage_decode_events){.track = &c->track,
                                         .states = is_alone ? NULL : &c->states,
                                         .events = c->events,
                                         .n_event = N_EVENT,
                                         .n_electrode = N_ELECTRODE,
                                         .bin_s = 0.002,
                                         .scale = 0.7,
                                         .min_bins = min_bins,
                                         .rows = c->rows,
                                         .summed = c->summed,
                                         .ground = c->ground,
                                         .seed = 20260117,
                                         .first_shuffle = 3,
                                         .n_shuffle = n_shuffle};
}

static void free_case(events_case *c)
{
    for (int64_t r = 0; r < N_ROUTE; r++) {
        free(c->route_bin[r]);
        free(c->route_u[r]);
    }
    free(c->distance);
    free(c->added);
    free(c->transition);
    free(c->rows);
    free(c->summed);
    free(c->ground);
    tess_de_hmm_destroy(c->hmm);
    dense_case_free(&c->dense);
}

static int64_t compare_scores(const double *got, const double *want, int which, int32_t kind)
{
    int64_t n_score = 0;
    for (int64_t i = 0; i < N_EVENT * n_shuffle * TESS_EVENTS_N_SCORE; i++) {
        const double error = fabs(got[i] - want[i]);
        if (isnan(want[i]) ? !isnan(got[i]) : !(error <= 1e-11 * fmax(1, fabs(want[i])))) {
            fail_msg("case %d, kind %d, event %d, shuffle %d, score %d: %.17g, the CPU's is %.17g",
                     which, kind, (int)(i / TESS_EVENTS_N_SCORE / n_shuffle),
                     (int)(i / TESS_EVENTS_N_SCORE % n_shuffle), (int)(i % TESS_EVENTS_N_SCORE),
                     got[i], want[i]);
        }
        n_score += !isnan(want[i]);
    }
    return n_score;
}

static void compare_case(int which, bool is_alone, int64_t n_route, int64_t min_bins)
{
    events_case c;
    make_case(which, is_alone, n_route, min_bins, &c);
    tess_de_events_there *there = NULL;
    bool fits = false;
    assert_ok(tess_de_events_there_open(ctx, c.hmm, &there));
    assert_non_null(there);
    assert_ok(tess_de_events_there_bring(there, &c.args, c.n_row, &fits));
    assert_true(fits);
    const int64_t n = N_EVENT * n_shuffle * TESS_EVENTS_N_SCORE;
    double *scores[3];
    for (int k = 0; k < 3; k++) {
        scores[k] = zeros(n, sizeof **scores);
    }
    int64_t n_score = 0;
    for (int32_t kind = TESS_EVENTS_COLUMN; kind <= TESS_EVENTS_UNITS; kind++) {
        c.args.kind = kind;
        c.args.scores = scores[0];
        assert_ok(tess_stage_run_on_host(ctx, TESS_STAGE_DECODE_EVENTS, &c.args, sizeof c.args));
        for (int k = 1; k < 3; k++) {
            c.args.scores = scores[k];
            assert_ok(tess_de_events_there_run(there, &c.args));
        }
        n_score += compare_scores(scores[1], scores[0], which, kind);
        assert_memory_equal(scores[1], scores[2], (size_t)n * sizeof **scores);
    }
    assert_true(n_score > 0);
    for (int k = 0; k < 3; k++) {
        free(scores[k]);
    }
    tess_de_events_there_close(there);
    free_case(&c);
}

static void scores_are_the_cpus(void **state)
{
    (void)state;
    if (ctx->device->shares_host_memory) {
        skip(); // TESSERA_DEVICE=cuda
    }
    compare_case(0, true, 1, 1);
    compare_case(0, false, 1, 1); // a line, and a state without places
    compare_case(6, true, 2, 5);
    compare_case(6, false, 2, 5); // a track
    compare_case(3, false, 0, 1); // a plane, transitions that vary
}

// Some memory only: slabs of few sequences change no bit.
static void slabs_change_no_bit(void **state)
{
    (void)state;
    if (ctx->device->shares_host_memory) {
        skip(); // TESSERA_DEVICE=cuda
    }
    events_case c;
    make_case(0, false, 1, 1, &c);
    const int64_t n = N_EVENT * n_shuffle * TESS_EVENTS_N_SCORE;
    double *scores[2];
    for (int k = 0; k < 2; k++) {
        tess_context_config config;
        tess_context *own = NULL;
        tess_de_events_there *there = NULL;
        bool fits = false;
        tess_context_config_init(&config, sizeof config);
        config.device_memory_limit_bytes = k == 0 ? 0 : 24 << 20;
        assert_ok(tess_context_create(&config, &own));
        scores[k] = zeros(n, sizeof **scores);
        c.args.kind = TESS_EVENTS_MARKS;
        c.args.scores = scores[k];
        assert_ok(tess_de_events_there_open(own, c.hmm, &there));
        assert_ok(tess_de_events_there_bring(there, &c.args, c.n_row, &fits));
        assert_true(fits);
        assert_ok(tess_de_events_there_run(there, &c.args));
        tess_de_events_there_close(there);
        tess_context_destroy(own);
    }
    assert_memory_equal(scores[0], scores[1], (size_t)n * sizeof **scores);
    free(scores[0]);
    free(scores[1]);
    free_case(&c);
}

// Where the device works in the host's memory the CPU's stage is the one.
static void a_host_has_none(void **state)
{
    (void)state;
    if (!ctx->device->shares_host_memory) {
        skip();
    }
    tess_de_events_there *there = NULL;
    assert_ok(tess_de_events_there_open(ctx, NULL, &there));
    assert_null(there);
}

static int set_up(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    n_shuffle = unit_is_quick() ? 2 : n_shuffle;
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
        cmocka_unit_test(scores_are_the_cpus),
        cmocka_unit_test(slabs_change_no_bit),
        cmocka_unit_test(a_host_has_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
