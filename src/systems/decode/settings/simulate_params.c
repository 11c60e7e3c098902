// The parameter table of simulations: the only place where their defaults are written.
#include "base/struct_read.h"
#include "tessera/decode/recording.h"

#include <stddef.h>

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
    {"generator", TESS_PARAM_CHOICE, FIELD(generator), TESS_DECODE_GENERATOR_TESSERA, 0, 1,
     "tessera|original", "",
     "spikes of the profiling sizes: of place cells, or as the original's script draws them, which "
     "say nothing of place"},
};

static const tess_param_table table = {"decode.simulate", params, sizeof params / sizeof *params};

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
