// The parameter tables: the only place where a default is written.
#include "base/struct_read.h"
#include "systems/autoreject/ptp/ptp.h"

#include <stddef.h>

#define FIELD(type, field) offsetof(type, field)

static const tess_param ptp_params[] = {
    {"nonfinite", TESS_PARAM_CHOICE, FIELD(tess_autoreject_ptp_config, nonfinite), 0, 0, 1,
     "propagate|error", "",
     "what a NaN or infinite sample does: make its row's result NaN or infinite, or stop"},
    {"tile_epochs", TESS_PARAM_INT, FIELD(tess_autoreject_ptp_config, tile_epochs), 0, 0, 1e9, NULL,
     "epochs", "epochs per tile; 0 chooses from the memory limit; changes no result"},
};

static const tess_param_table ptp_table = {"autoreject.ptp", ptp_params,
                                           sizeof ptp_params / sizeof *ptp_params};

static const tess_param simulate_params[] = {
    {"dtype", TESS_PARAM_CHOICE, FIELD(tess_autoreject_simulate_config, dtype_index), 1, 0, 1,
     "f32|f64", "", "element type of the epochs"},
    {"epochs", TESS_PARAM_INT, FIELD(tess_autoreject_simulate_config, n_epoch), 120, 0, 1e9, NULL,
     "epochs", "number of epochs"},
    {"channels", TESS_PARAM_INT, FIELD(tess_autoreject_simulate_config, n_chan), 64, 1, 100000,
     NULL, "channels", "number of channels"},
    {"samples", TESS_PARAM_INT, FIELD(tess_autoreject_simulate_config, n_time), 500, 1, 1e8, NULL,
     "samples", "samples per epoch"},
    {"seed", TESS_PARAM_INT, FIELD(tess_autoreject_simulate_config, seed), 0, 0, 9e15, NULL, "",
     "seed of the random numbers; the same seed gives the same bytes"},
    {"sampling", TESS_PARAM_REAL, FIELD(tess_autoreject_simulate_config, sampling_hz), 250, 1, 1e6,
     NULL, "Hz", "sampling rate"},
    {"bad_fraction", TESS_PARAM_REAL, FIELD(tess_autoreject_simulate_config, bad_fraction), 0.05, 0,
     1, NULL, "", "fraction of (epoch, channel) pairs that get an artifact"},
};

static const tess_param_table simulate_table = {"autoreject.simulate", simulate_params,
                                                sizeof simulate_params / sizeof *simulate_params};

const tess_param_table *tess_autoreject_ptp_params(void)
{
    return &ptp_table;
}

const tess_param_table *tess_autoreject_simulate_params(void)
{
    return &simulate_table;
}

void tess_autoreject_ptp_config_init(tess_autoreject_ptp_config *config, size_t struct_size)
{
    tess_autoreject_ptp_config defaults = {0};
    tess_params_defaults(&ptp_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void tess_autoreject_simulate_config_init(tess_autoreject_simulate_config *config,
                                          size_t struct_size)
{
    tess_autoreject_simulate_config defaults = {0};
    tess_params_defaults(&simulate_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
