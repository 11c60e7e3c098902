// The worked example of autoreject: 40 epochs of 16 channels, exact thresholds and the local
// search.

#include "selftest.h"

#include <tessera/autoreject.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_EPOCH = 40, N_CHAN = 16, N_TIME = 50 };

static const double stored_uv[N_CHAN] = {114.55557138, 54.732715010, 43.497562702, 37.114811302,
                                         41.357046356, 57.452695792, 65.951129996, 40.289779092,
                                         65.134745133, 37.918781962, 53.379655943, 40.802199030,
                                         55.864051056, 78.137023112, 102.05106230, 106.52840483};
static const double stored_consensus = 0.2;
static const double TOLERANCE = 1e-9;
static const double PI = 3.14159265358979323846;

// Waves with noise of a linear congruence, larger ones in some rows and everywhere in three epochs.
static void make_epochs(double *x)
{
    uint64_t state = 12345;
    for (int64_t e = 0; e < N_EPOCH; e++) {
        for (int64_t c = 0; c < N_CHAN; c++) {
            for (int64_t t = 0; t < N_TIME; t++) {
                state = (1103515245 * state + 12345) % 2147483648u;
                double value = 10e-6 * sin(2 * PI * (double)t / 25 + 0.3 * (double)c) +
                               20e-6 * ((double)state / 2147483648.0 - 0.5);
                if ((7 * e + 3 * c) % 23 == 0) {
                    value += 80e-6 * sin(2 * PI * (double)t / 10);
                }
                x[(e * N_CHAN + c) * N_TIME + t] = e == 5 || e == 12 || e == 22 ? value * 3 : value;
            }
        }
    }
}

static void make_sensors(tess_autoreject_channel *channels, char (*names)[16])
{
    for (int c = 0; c < N_CHAN; c++) {
        const double z = 1 - 1.2 * ((double)c + 0.5) / N_CHAN;
        const double r = sqrt(1 - z * z);
        const double turn = 2.399963229728653 * (double)c;
        snprintf(names[c], sizeof names[c], "E%02d", c + 1);
        channels[c] = (tess_autoreject_channel){
            .name = names[c],
            .type = TESS_AUTOREJECT_EEG,
            .loc = {0.09 * r * cos(turn), 0.09 * r * sin(turn), 0.09 * z}};
    }
}

static tess_status fit(tess_context *ctx, double *x, tess_autoreject_model **model)
{
    static const int64_t shape[] = {N_EPOCH, N_CHAN, N_TIME};
    tess_autoreject_channel channels[N_CHAN];
    char names[N_CHAN][16];
    tess_autoreject_sensors sensors;
    tess_autoreject_fit_config config;
    tess_autoreject_epochs *epochs = NULL;
    tess_array array;

    make_epochs(x);
    make_sensors(channels, names);
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    sensors.n_chan = N_CHAN;
    sensors.channels = channels;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.seed = 42;
    tess_status status = tess_array_init(&array, x, TESS_F64, 3, shape);
    status = status
                 ? status
                 : tess_autoreject_epochs_from_array(ctx, &array, &sensors, NULL, 100, 0, &epochs);
    status = status ? status : tess_autoreject_fit(ctx, epochs, &config, model);
    tess_autoreject_epochs_close(epochs);
    return status;
}

int selftest_autoreject(tess_context *ctx)
{
    double *x = malloc(sizeof(double) * N_EPOCH * N_CHAN * N_TIME);
    tess_autoreject_model *model = NULL;

    if (!x) {
        return 0;
    }
    const tess_status status = fit(ctx, x, &model);
    if (status != TESS_OK) {
        console_status(status);
    }
    int agrees = status == TESS_OK;
    if (agrees) {
        const tess_autoreject_type_fit *found = tess_autoreject_model_get_info(model)->types;
        agrees = found->consensus == stored_consensus && found->n_interpolate == 1;
        for (int c = 0; agrees && c < N_CHAN; c++) {
            agrees = fabs(found->thresholds[c] * 1e6 / stored_uv[c] - 1) < TOLERANCE;
        }
    }
    tess_autoreject_model_destroy(model);
    free(x);
    return agrees;
}
