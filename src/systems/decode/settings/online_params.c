// The parameter table of the online decoder: the only place where its defaults are written.
#include "base/struct_read.h"
#include "tessera/decode/online.h"

#define FIELD(field) offsetof(tess_decode_online_config, field)

static const tess_param params[] = {
    {"bin_width", TESS_PARAM_REAL, FIELD(bin_width_s), 0.006, 1e-5, 10, NULL, "s",
     "width of a decoding bin"},
    {"delay", TESS_PARAM_REAL, FIELD(delay_s), 0, 0, 1e6, NULL, "s",
     "time after its right edge at which a bin is closed; later spikes are dropped"},
    {"start", TESS_PARAM_REAL, FIELD(start_s), 0, -1e15, 1e15, NULL, "s",
     "left edge of the first bin"},
    {"deadline", TESS_PARAM_REAL, FIELD(deadline_s), 0.001, 0, 1e6, NULL, "s",
     "a bin that takes longer is counted as missed"},
    {"max_pending", TESS_PARAM_INT, FIELD(max_pending), 2000, 1, 1 << 24, NULL, "spikes",
     "spikes that can wait on one electrode"},
    {"n_history", TESS_PARAM_INT, FIELD(n_history), 64, 1, 1 << 24, NULL, "bins",
     "finished bins that can be read back"},
};

static const tess_param_table table = {"decode.online", params, sizeof params / sizeof *params};

const tess_param_table *tess_decode_online_params(void)
{
    return &table;
}

void tess_decode_online_config_init(tess_decode_online_config *config, size_t struct_size)
{
    tess_decode_online_config defaults = {0};
    tess_params_defaults(&table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
