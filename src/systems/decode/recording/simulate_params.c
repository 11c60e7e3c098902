// Sizes and options of simulations.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/recording/simulate.h"

#define FIELD(field) offsetof(tess_decode_simulate_config, field)

static const tess_param params[] = {
    {"size", TESS_PARAM_CHOICE, FIELD(size), 0, 0, 9,
     "tiny|small|medium|large|realistic|day-1d|day-2d|probe-8|chronic|max", "",
     "how much: five profiling sizes, then a day on a line or in a W-maze, a probe, a long "
     "recording, and the most"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 42, 0, 9e15, NULL, "",
     "seed of the random numbers; the same seed gives the same bytes"},
    {"electrodes", TESS_PARAM_INT, FIELD(n_electrode), 0, 0, 100000, NULL, "electrodes",
     "number of electrodes; 0 takes the size's, as in all counts"},
    {"features", TESS_PARAM_INT, FIELD(n_feature), 0, 0, 1024, NULL, "features",
     "features of a spike"},
    {"time_bins", TESS_PARAM_INT, FIELD(n_time), 0, 0, 1e9, NULL, "rows",
     "time bins to be decoded"},
    {"position_bins", TESS_PARAM_INT, FIELD(n_bin), 0, 0, 1e6, NULL, "bins",
     "position bins of a line"},
    {"encoding_spikes", TESS_PARAM_INT, FIELD(encoding_spikes), 0, 0, 1e10, NULL, "spikes",
     "spikes of all electrodes in the training period"},
    {"decoding_spikes", TESS_PARAM_INT, FIELD(decoding_spikes), 0, 0, 1e10, NULL, "spikes",
     "spikes of all electrodes in the period to be decoded"},
    {"drift", TESS_PARAM_REAL, FIELD(drift), 0, -1e6, 1e6, NULL, "uV/h",
     "how fast amplitudes of units change"},
    {"artefacts", TESS_PARAM_REAL, FIELD(artefacts), 0, 0, 1, NULL, "",
     "fraction of spikes that are artefacts of 2 to 5 mV"},
};

static const tess_param_table table = {"decode.simulate", params, sizeof params / sizeof *params};

// In the order of the choices.
static const tess_de_simulate_size sizes[] = {
    {1, TESS_DE_MAZE_LINE, 4, 2, 50, 100, 4 * 20, 4 * 10, 100, 0},
    {1, TESS_DE_MAZE_LINE, 8, 2, 100, 200, 8 * 50, 8 * 30, 500, 0},
    {1, TESS_DE_MAZE_LINE, 16, 2, 500, 500, 16 * 200, 16 * 100, 2000, 0},
    {1, TESS_DE_MAZE_LINE, 32, 2, 1000, 1000, 32 * 500, 32 * 300, 5000, 0},
    {1, TESS_DE_MAZE_LINE, 64, 2, 2000, 2000, 64 * 1000, 64 * 400, 10000, 0},
    {0, TESS_DE_MAZE_LINE, 64, 4, 210000, 200, 1170000, 500000, 0, 0},
    {0, TESS_DE_MAZE_W, 22, 4, 709321, 0, 22 * 20000, 22 * 20000, 0, 2},
    {0, TESS_DE_MAZE_LINE, 48, 8, 900000, 400, 2000000, 2000000, 0, 0},
    {0, TESS_DE_MAZE_LINE, 64, 4, 1800000, 500, 2000000, 3000000, 0, 0},
    {0, TESS_DE_MAZE_BOX, 128, 10, 5000000, 0, 4000000, 4000000, 0, 1.4142135623730951},
};

const tess_param_table *tess_decode_simulate_params(void)
{
    return &table;
}

void tess_decode_simulate_config_init(tess_decode_simulate_config *config, size_t struct_size)
{
    tess_decode_simulate_config defaults = {0};
    tess_params_defaults(&table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static void take(int64_t given, int64_t *value)
{
    *value = given > 0 ? given : *value;
}

tess_status tess_de_simulate_check(const tess_decode_simulate_config *given,
                                   tess_decode_simulate_config *config, tess_de_simulate_size *size)
{
    tess_decode_simulate_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "simulate config"));
    }
    TESS_TRY(tess_params_check(&table, config));
    *size = sizes[config->size];
    if (config->n_bin > 0 && size->n_bin == 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position_bins: this size is two-dimensional; choose its bins when fitting, by "
                  "place_bin_size");
    }
    if (size->is_profile && (config->drift != 0 || config->artefacts != 0)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: the profiling sizes (tiny to realistic) have plain normal features; use "
                  "day-1d with counts of your own",
                  config->drift != 0 ? "drift" : "artefacts");
    }
    take(config->n_electrode, &size->n_electrode);
    take(config->n_feature, &size->n_feature);
    take(config->n_time, &size->n_time);
    take(config->n_bin, &size->n_bin);
    take(config->encoding_spikes, &size->encoding_spikes);
    take(config->decoding_spikes, &size->decoding_spikes);
    return TESS_OK;
}
