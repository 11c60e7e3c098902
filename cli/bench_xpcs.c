// Cases of xpcs: one pass over all points, and a whole fit.

#include "bench.h"

#include <tessera/xpcs.h>

typedef struct xpcs_sizes {
    int32_t mode; // tess_xpcs_mode
    int64_t n_angle;
    int64_t n_frame;
    tess_status (*call)(tess_context *ctx, void *self);
} xpcs_sizes;

typedef struct xpcs_work {
    tess_xpcs_data *data;
    tess_xpcs_model model;
    double start[TESS_XPCS_N_LAMINAR];
} xpcs_work;

static tess_status call_pass(tess_context *ctx, void *self)
{
    xpcs_work *work = self;
    double cost = 0;
    double gradient[TESS_XPCS_N_LAMINAR];
    double hessian[TESS_XPCS_N_LAMINAR * TESS_XPCS_N_LAMINAR];
    tess_xpcs_sums sums = {
        .struct_size = sizeof sums, .cost = &cost, .gradient = gradient, .hessian = hessian};
    return tess_xpcs_accumulate(ctx, work->data, &work->model, NULL, work->start, &sums);
}

static tess_status call_fit(tess_context *ctx, void *self)
{
    const xpcs_work *work = self;
    tess_xpcs_result *result = NULL;
    const tess_status status = tess_xpcs_fit(ctx, work->data, &work->model, NULL, &result);
    tess_xpcs_result_destroy(result);
    return status;
}

// The published values, at which the data are made too.
static const double published[TESS_XPCS_N_LAMINAR] = {68480.52, -1.3269,   1707.73, 0.00199,
                                                      -0.21192, -0.000607, 2.0011};

static tess_status make_work(tess_context *ctx, const xpcs_sizes *sizes, xpcs_work *work)
{
    tess_xpcs_simulation simulation;

    tess_xpcs_simulation_init(&simulation, sizeof simulation);
    tess_xpcs_model_init(&work->model, sizeof work->model);
    work->model.mode = sizes->mode;
    work->model.dt_s = 0.1;
    work->model.gap_angstrom = 2e6;
    for (int k = 0; k < TESS_XPCS_N_LAMINAR; k++) {
        work->start[k] = published[k];
    }
    simulation.model = work->model;
    simulation.theta = work->start;
    simulation.n_angle = sizes->n_angle;
    simulation.n_frame = sizes->n_frame;
    simulation.sigma = 0.02;
    simulation.dtype = 0; // f32
    return tess_xpcs_simulate(ctx, &simulation, 1, &work->data);
}

static int measure(cli *c, const bench_case *self, bench_row *row)
{
    const xpcs_sizes *sizes = self->sizes;
    xpcs_work work = {0};
    const tess_status status = make_work(c->ctx, sizes, &work);
    const int code = status ? console_status(status) : bench_time(c, sizes->call, &work, row);

    if (code == 0 && self->bound == BENCH_READ) {
        row->amount = (double)tess_xpcs_data_get_info(work.data)->n_used * sizeof(float);
    }
    tess_xpcs_data_destroy(work.data);
    return code;
}

static const xpcs_sizes static_pass = {TESS_XPCS_STATIC_ISOTROPIC, 23, 1000, call_pass};
static const xpcs_sizes laminar_pass = {TESS_XPCS_LAMINAR_FLOW, 23, 400, call_pass};
static const xpcs_sizes laminar_fit = {TESS_XPCS_LAMINAR_FLOW, 8, 200, call_fit};

static const bench_case cases[] = {
    {"xpcs-pass-static", "23 angles of 1000 frames, f32", 0, BENCH_READ, measure, &static_pass},
    {"xpcs-pass-laminar", "23 angles of 400 frames, f32", 0, BENCH_UNBOUND, measure, &laminar_pass},
    {"xpcs-fit", "laminar flow, 8 angles of 200 frames", 1, BENCH_UNBOUND, measure, &laminar_fit},
};

const bench_group bench_xpcs = {"xpcs", cases, sizeof cases / sizeof cases[0]};
