// The ready-made models: the only place where their states and defaults are written.
#include "base/status.h"
#include "base/struct_read.h"
#include "tessera/decode/recording.h"

#include <string.h>

enum {
    D = TESS_DECODE_DISCRETE,
    U = TESS_DECODE_UNIFORM,
    RW = TESS_DECODE_RANDOM_WALK,
};

// What is left of a row of the non-local model, shared by its other states.
#define NL0 ((1 - 0.99 - 0.005) / 2)
#define NL1 ((1 - 0.98) / 3)
#define NL2 ((1 - 0.96 - 0.005) / 2)

static const tess_decode_model_defaults models[] = {
    [TESS_DECODE_MODEL_DECODER] = {.n_state = 1,
                                   .name = "decoder",
                                   .states = {{.name = "Continuous"}},
                                   .movement_kinds = {RW},
                                   .discrete_initial = {1},
                                   .discrete_transition = {1},
                                   .concentration = 1.1},
    [TESS_DECODE_MODEL_CONT_FRAG] = {.n_state = 2,
                                     .name = "cont-frag",
                                     .states = {{.name = "Continuous"}, {.name = "Fragmented"}},
                                     .movement_kinds = {RW, U, //
                                                        U, U},
                                     .discrete_initial = {0.5, 0.5},
                                     .discrete_transition = {0.98, 1 - 0.98, //
                                                             1 - 0.98, 0.98},
                                     .concentration = 1.1},
    [TESS_DECODE_MODEL_NO_SPIKE_CONT_FRAG] = {.n_state = 3,
                                              .name = "no-spike-cont-frag",
                                              .states = {{.name = "No-Spike", .is_no_spike = 1},
                                                         {.name = "Continuous"},
                                                         {.name = "Fragmented"}},
                                              .movement_kinds = {D, U, U,  //
                                                                 D, RW, U, //
                                                                 D, U, U},
                                              .discrete_initial = {1.0 / 3, 1.0 / 3, 1.0 / 3},
                                              .discrete_transition = {0.99, 0.005, 0.005,   //
                                                                      1e-5, 0.9, 0.09999,   //
                                                                      1e-5, 0.01999, 0.98}, //
                                              .stickiness = {1e5, 30, 200},
                                              .concentration = 1.1},
    [TESS_DECODE_MODEL_NON_LOCAL] = {.n_state = 4,
                                     .name = "non-local",
                                     .states = {{.name = "Local", .is_local = 1},
                                                {.name = "No-Spike", .is_no_spike = 1},
                                                {.name = "Non-Local Continuous"},
                                                {.name = "Non-Local Fragmented"}},
                                     .movement_kinds = {D, D, U, U,  //
                                                        D, D, U, U,  //
                                                        D, D, RW, U, //
                                                        D, D, U, U},
                                     .discrete_initial = {1, 0, 0, 0},
                                     .discrete_transition = {0.99, 0.005, NL0, NL0,  //
                                                             NL1, 0.98, NL1, NL1,    //
                                                             NL2, 0.005, 0.96, NL2,  //
                                                             NL2, 0.005, NL2, 0.96}, //
                                     .stickiness = {1e5, 1e5, 300, 300},
                                     .frozen_rows = {0, 1, 0, 0},
                                     .concentration = 1.0},
    [TESS_DECODE_MODEL_MULTI_ENVIRONMENT] =
        {.n_state = 2,
         .name = "multi-environment",
         .states = {{.name = "env1"}, {.name = "env2", .environment = 1, .encoding = 1}},
         .movement_kinds = {RW, U, //
                            U, RW},
         .discrete_initial = {1, 0},
         .discrete_transition = {0.999, 1 - 0.999, //
                                 1 - 0.98, 0.98},
         .stickiness = {200, 30},
         .concentration = 1.1},
};

tess_status tess_decode_model_get_defaults(tess_decode_model_kind kind, int sorted_spikes,
                                           tess_decode_model_defaults *defaults, size_t struct_size)
{
    tess_error_clear();
    const size_t n = sizeof models / sizeof *models;
    if ((int)kind < 0 || (size_t)kind >= n) {
        TESS_FAIL(TESS_E_ARGUMENT, "model %d does not exist; 0 to %zu are there", (int)kind, n - 1);
    }
    tess_decode_model_defaults found = models[kind];
    if (sorted_spikes && kind == TESS_DECODE_MODEL_DECODER) {
        found.concentration = 1.0;
    }
    tess_struct_init(defaults, struct_size, &found, sizeof found);
    return TESS_OK;
}
