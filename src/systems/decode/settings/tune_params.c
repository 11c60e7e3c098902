// The parameter table of tuning: the only place where its defaults are written.
#include "base/struct_read.h"
#include "tessera/decode/tune.h"

#include <stddef.h>

#define FIELD(field) offsetof(tess_decode_tune_config, field)

static const tess_param params[] = {
    {"folds", TESS_PARAM_INT, FIELD(n_fold), 5, 2, 1000, NULL, "",
     "contiguous blocks of training time, each held out once"},
    {"points", TESS_PARAM_INT, FIELD(n_point), 7, 3, 101, NULL, "",
     "bandwidths of a sweep, evenly spaced in their logarithm"},
    {"span", TESS_PARAM_REAL, FIELD(span), 8, 1.01, 1e6, NULL, "",
     "a sweep goes from 1/span to span times the bandwidth it starts from"},
    {"refine", TESS_PARAM_INT, FIELD(n_refine), 2, 0, 20, NULL, "",
     "steps to the top of a parabola after a sweep"},
    {"rounds", TESS_PARAM_INT, FIELD(max_rounds), 3, 1, 20, NULL, "",
     "sweeps of each bandwidth at most; they end when position_std moves by less than 10 %"},
    {"max_spikes", TESS_PARAM_INT, FIELD(max_spikes), 20000, 0, 1e12, NULL, "spikes",
     "held-out spikes looked at, evenly over time and all folds together; 0 takes all"},
};

static const tess_param_table table = {"decode.tune", params, sizeof params / sizeof *params};

const tess_param_table *tess_decode_tune_params(void)
{
    return &table;
}

void tess_decode_tune_config_init(tess_decode_tune_config *config, size_t struct_size)
{
    tess_decode_tune_config defaults = {0};
    tess_params_defaults(&table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
