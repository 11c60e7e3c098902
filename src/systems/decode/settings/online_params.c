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
    {"learn", TESS_PARAM_CHOICE, FIELD(learn), TESS_DECODE_LEARN_NONE, 0, 3,
     "none|grow|window|reservoir", "",
     "learn while decoding: until there is no room, the newest spikes, or a sample of all"},
    {"learn_from_nothing", TESS_PARAM_FLAG, FIELD(learn_from_nothing), 0, 0, 1, NULL, "",
     "begin without the spikes and positions of the fitted model"},
    {"learn_capacity", TESS_PARAM_INT, FIELD(learn_capacity), 20000, 1, 1 << 24, NULL, "spikes",
     "spikes kept per electrode"},
    {"learn_samples", TESS_PARAM_INT, FIELD(learn_samples), 200000, 1, 1 << 30, NULL, "samples",
     "position samples kept by window and reservoir"},
    {"learn_seed", TESS_PARAM_INT, FIELD(learn_seed), 0, 0, 9007199254740992.0, NULL, "",
     "which spikes a reservoir keeps"},
    {"learn_min_speed", TESS_PARAM_REAL, FIELD(learn_min_speed), 0, 0, 1e6, NULL, "cm/s",
     "nothing is learned while the animal is slower"},
    {"learn_refresh", TESS_PARAM_REAL, FIELD(learn_refresh_s), 1, 0, 1e6, NULL, "s",
     "decode with what was learned so far, this often"},
    {"cpu", TESS_PARAM_INT, FIELD(helper_cpu), -1, -1, 65535, NULL, "",
     "helper threads run on this CPU and those after it, one each; -1: anywhere"},
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
