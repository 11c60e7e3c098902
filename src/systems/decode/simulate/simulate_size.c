// How large a simulation is.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/simulate/simulate.h"

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
    TESS_TRY(tess_params_check(tess_decode_simulate_params(), config));
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
    if (!size->is_profile && config->generator == TESS_DECODE_GENERATOR_ORIGINAL) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "generator: the original's script makes the profiling sizes (tiny to realistic) "
                  "alone");
    }
    take(config->n_electrode, &size->n_electrode);
    take(config->n_feature, &size->n_feature);
    take(config->n_time, &size->n_time);
    take(config->n_bin, &size->n_bin);
    take(config->encoding_spikes, &size->encoding_spikes);
    take(config->decoding_spikes, &size->decoding_spikes);
    return TESS_OK;
}
