// The passes of an xpcs fit, timed on simulated data.

#include "device_pass.h"

#include <tessera/xpcs.h>

#include <stdlib.h>
#include <time.h>

enum { N_ANGLE = 4, N_FRAME = 1201, N_LEVEL = 3, MAX_REPEAT = 51, MIN_REPEAT = 3 };

static const double MEASURE_S = 0.1;

// Arithmetic of a point: an exponential counts 20, a sine with its cosine 34 operations.
typedef struct pass_case {
    tess_xpcs_mode mode;
    double flop[N_LEVEL];
} pass_case;

static const pass_case cases[] = {
    {TESS_XPCS_LAMINAR_FLOW, {52, 97, 115}},
    {TESS_XPCS_STATIC_ISOTROPIC, {2, 8, 8}},
};

static const char *const levels[N_LEVEL] = {"cost", "gradient", "hessian"};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int time_pass(cli *c, tess_xpcs_data *data, const tess_xpcs_model *model, int level,
                     double *median_s)
{
    double theta[TESS_XPCS_MAX_PARAM];
    double cost = 0;
    double gradient[TESS_XPCS_MAX_PARAM];
    double hessian[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM];
    tess_xpcs_sums sums = {.struct_size = sizeof sums,
                           .cost = &cost,
                           .gradient = level > 0 ? gradient : NULL,
                           .hessian = level > 1 ? hessian : NULL};
    int64_t n_param = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)model->mode, &n_param);
    for (int64_t i = 0; i < n_param; i++) {
        theta[i] = params[i].start;
    }
    double samples[MAX_REPEAT];
    int n = 0;
    // The first call is not counted: it brings the data into memory.
    CLI_CALL(tess_xpcs_accumulate(c->ctx, data, model, NULL, theta, &sums));
    const double end = seconds_now() + MEASURE_S;
    while (n < MIN_REPEAT || (seconds_now() < end && n < MAX_REPEAT)) {
        const double start = seconds_now();
        CLI_CALL(tess_xpcs_accumulate(c->ctx, data, model, NULL, theta, &sums));
        samples[n++] = seconds_now() - start;
    }
    qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
    *median_s = samples[n / 2];
    return 0;
}

static int measure_case(cli *c, const pass_case *which, tess_xpcs_data *data,
                        const tess_xpcs_model *model, device_pass *passes)
{
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    const double n_point = (double)info->n_used;
    for (int level = 0; level < N_LEVEL; level++) {
        double seconds = 0;
        CLI_TRY(time_pass(c, data, model, level, &seconds));
        passes[level] = (device_pass){.model = tess_xpcs_mode_name(which->mode),
                                      .what = levels[level],
                                      .n_point = info->n_used,
                                      .seconds = seconds,
                                      .bytes_per_s = n_point * (double)sizeof(float) / seconds,
                                      .flop_per_s = n_point * which->flop[level] / seconds};
    }
    return 0;
}

int device_pass_measure(cli *c, device_pass *passes, int *n)
{
    *n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_xpcs_simulation simulation;
        tess_xpcs_data *data = NULL;

        tess_xpcs_simulation_init(&simulation, sizeof simulation);
        simulation.n_angle = N_ANGLE;
        simulation.n_frame = N_FRAME;
        simulation.model.mode = (int32_t)cases[i].mode;
        simulation.model.dt_s = 0.1;
        simulation.model.gap_angstrom = 2e6;
        CLI_CALL(tess_xpcs_simulate(c->ctx, &simulation, 1, &data));
        const int code = measure_case(c, &cases[i], data, &simulation.model, passes + *n);
        tess_xpcs_data_destroy(data);
        CLI_TRY(code);
        *n += N_LEVEL;
    }
    return 0;
}

void device_pass_print(const device_pass *passes, int n)
{
    for (int i = 0; i < n; i++) {
        const device_pass *p = &passes[i];
        printf("    xpcs %-17s %-9s %8.3f ms %9.1f Mpoint/s %7.1f GB/s %7.1f GFLOP/s\n", p->model,
               p->what, p->seconds * 1e3, (double)p->n_point / p->seconds * 1e-6,
               p->bytes_per_s * 1e-9, p->flop_per_s * 1e-9);
    }
}

void device_pass_write(tess_json *json, const device_pass *passes, int n)
{
    tess_json_array_begin(json, "xpcs_passes");
    for (int i = 0; i < n; i++) {
        const device_pass *p = &passes[i];
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "model", p->model);
        tess_json_text(json, "pass", p->what);
        tess_json_int(json, "n_point", p->n_point);
        tess_json_real(json, "seconds", p->seconds);
        tess_json_real(json, "points_per_s", (double)p->n_point / p->seconds);
        tess_json_real(json, "bytes_per_s", p->bytes_per_s);
        tess_json_real(json, "flop_per_s", p->flop_per_s);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}
