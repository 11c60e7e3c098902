// Cases of autoreject: the peak-to-peak stage, and a whole fit.

#include "bench.h"

#include <tessera/autoreject.h>

#include <stdlib.h>
#include <string.h>

typedef struct ptp_sizes {
    tess_dtype dtype;
    int64_t shape[3];
} ptp_sizes;

typedef struct ptp_work {
    tess_array x;
    tess_array out;
} ptp_work;

static tess_status call_ptp(tess_context *ctx, void *self)
{
    ptp_work *work = self;
    return tess_autoreject_ptp(ctx, &work->x, NULL, &work->out);
}

// Small integers: cheap to make, no denormals, different in every row.
static void fill_samples(void *data, tess_dtype dtype, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t value = (uint32_t)((uint64_t)i * 2654435761U >> 8) & 0xffff;
        if (dtype == TESS_F32) {
            ((float *)data)[i] = (float)value;
        } else {
            ((double *)data)[i] = value;
        }
    }
}

static int measure_ptp(cli *c, const bench_case *self, bench_row *row)
{
    const ptp_sizes *sizes = self->sizes;
    const size_t item = tess_dtype_bytes(sizes->dtype);
    const int64_t n_row = sizes->shape[0] * sizes->shape[1];
    const int64_t n_item = n_row * sizes->shape[2];
    void *data = malloc((size_t)n_item * item);
    void *result = malloc((size_t)n_row * item);
    ptp_work work;
    int code = data && result ? 0 : console_fail(71, "no memory for case %s", self->name);

    if (code == 0) {
        fill_samples(data, sizes->dtype, n_item);
        tess_status status = tess_array_init(&work.x, data, sizes->dtype, 3, sizes->shape);
        status =
            status ? status : tess_array_init(&work.out, result, sizes->dtype, 2, sizes->shape);
        code = status ? console_status(status) : bench_time(c, call_ptp, &work, row);
        row->amount = (double)n_item * (double)item;
    }
    free(data);
    free(result);
    return code;
}

enum { FIT_EPOCHS = 100, FIT_CHANNELS = 32, FIT_SAMPLES = 250 };

static tess_status call_fit(tess_context *ctx, void *self)
{
    tess_autoreject_model *model = NULL;
    const tess_status status = tess_autoreject_fit(ctx, self, NULL, &model);
    tess_autoreject_model_destroy(model);
    return status;
}

static tess_status make_epochs(tess_context *ctx, float *x, tess_autoreject_epochs **epochs)
{
    const int64_t shape[] = {FIT_EPOCHS, FIT_CHANNELS, FIT_SAMPLES};
    tess_autoreject_channel channels[FIT_CHANNELS];
    char names[FIT_CHANNELS][16];
    double at[FIT_CHANNELS][3];
    tess_autoreject_simulate_config config;
    tess_autoreject_sensors sensors;
    tess_array array;

    tess_autoreject_simulate_config_init(&config, sizeof config);
    config.dtype_index = 0;
    config.n_epoch = FIT_EPOCHS;
    config.n_chan = FIT_CHANNELS;
    config.n_time = FIT_SAMPLES;
    tess_status status = tess_array_init(&array, x, TESS_F32, 3, shape);
    status = status ? status : tess_autoreject_simulate(ctx, &config, &array);
    status = status ? status : tess_autoreject_simulated_positions(FIT_CHANNELS, &at[0][0]);
    if (status != TESS_OK) {
        return status;
    }
    for (int k = 0; k < FIT_CHANNELS; k++) {
        snprintf(names[k], sizeof names[k], "E%03d", k + 1);
        channels[k] = (tess_autoreject_channel){.name = names[k], .type = TESS_AUTOREJECT_EEG};
        memcpy(channels[k].loc, at[k], sizeof at[k]);
    }
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    sensors.n_chan = FIT_CHANNELS;
    sensors.channels = channels;
    return tess_autoreject_epochs_from_array(ctx, &array, &sensors, NULL, config.sampling_hz, 0,
                                             epochs);
}

static int measure_fit(cli *c, const bench_case *self, bench_row *row)
{
    float *x = malloc(sizeof(float) * FIT_EPOCHS * FIT_CHANNELS * FIT_SAMPLES);
    tess_autoreject_epochs *epochs = NULL;

    if (!x) {
        return console_fail(71, "no memory for case %s", self->name);
    }
    const tess_status status = make_epochs(c->ctx, x, &epochs);
    const int code = status ? console_status(status) : bench_time(c, call_fit, epochs, row);
    tess_autoreject_epochs_close(epochs);
    free(x);
    return code;
}

// 256 MiB is far beyond any cache but quick to read; the cached case shows the fixed cost and the
// kernel's own speed.
static const ptp_sizes long_f32 = {TESS_F32, {256, 64, 4096}};
static const ptp_sizes short_f32 = {TESS_F32, {4096, 64, 256}};
static const ptp_sizes long_f64 = {TESS_F64, {128, 64, 4096}};
static const ptp_sizes cached_f32 = {TESS_F32, {4, 16, 1024}};

static const bench_case cases[] = {
    {"ptp-f32-long", "peak-to-peak, 256 x 64 x 4096", 0, BENCH_READ, measure_ptp, &long_f32},
    {"ptp-f32-short", "peak-to-peak, 4096 x 64 x 256", 0, BENCH_READ, measure_ptp, &short_f32},
    {"ptp-f64-long", "peak-to-peak, 128 x 64 x 4096", 0, BENCH_READ, measure_ptp, &long_f64},
    {"ptp-f32-cached", "peak-to-peak in cache, 4 x 16 x 1024", 0, BENCH_UNBOUND, measure_ptp,
     &cached_f32},
    {"autoreject-fit", "fit, 100 x 32 x 250", 1, BENCH_UNBOUND, measure_fit, NULL},
};

const bench_group bench_autoreject = {"autoreject", cases, sizeof cases / sizeof cases[0]};
