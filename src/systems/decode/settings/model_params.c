// Options of ready-made models.
#include "base/struct_read.h"
#include "tessera/decode/recording.h"

#include <stddef.h>

static const tess_param model_params[] = {
    {"model", TESS_PARAM_CHOICE, offsetof(tess_decode_model_config, model),
     TESS_DECODE_MODEL_CONT_FRAG, 0, TESS_DECODE_MODEL_NON_LOCAL,
     "decoder|cont-frag|no-spike-cont-frag|non-local", "",
     "discrete states of the model: continuous alone, with fragmented, with no-spike, or local "
     "and non-local"},
    {"movement_variance", TESS_PARAM_REAL, offsetof(tess_decode_model_config, movement_variance), 6,
     1e-12, 1e12, NULL, "cm^2", "variance of the random walk per time bin"},
};

static const tess_param_table model_table = {"decode.model", model_params,
                                             sizeof model_params / sizeof *model_params};

const tess_param_table *tess_decode_model_params(void)
{
    return &model_table;
}

void tess_decode_model_config_init(tess_decode_model_config *config, size_t struct_size)
{
    tess_decode_model_config defaults = {0};
    tess_params_defaults(&model_table, &defaults);
    tess_decode_environment_config_init(&defaults.environment, sizeof defaults.environment);
    tess_decode_encoding_config_init(&defaults.encoding, sizeof defaults.encoding);
    tess_decode_detector_config_init(&defaults.detector, sizeof defaults.detector);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
