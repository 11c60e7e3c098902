// The parameter table of environments: the only place where their defaults are written.
#include "base/struct_read.h"
#include "tessera/decode/environment.h"

#define FIELD(field) offsetof(tess_decode_environment_config, field)

static const tess_param params[] = {
    {"place_bin_size", TESS_PARAM_REAL, FIELD(place_bin_size), 2.0, 1e-9, 1e9, NULL, "cm",
     "largest width of a position bin"},
    {"infer_track_interior", TESS_PARAM_FLAG, FIELD(infer_track_interior), 1, 0, 1, NULL, "",
     "keep only bins the animal was in; no keeps all of the grid"},
    {"fill_holes", TESS_PARAM_FLAG, FIELD(fill_holes), 0, 0, 1, NULL, "",
     "count unvisited bins that visited ones surround as visited (2-D and up)"},
    {"dilate", TESS_PARAM_FLAG, FIELD(dilate), 0, 0, 1, NULL, "",
     "widen the visited bins by one bin (2-D and up)"},
    {"bin_count_threshold", TESS_PARAM_INT, FIELD(bin_count_threshold), 0, 0, 9e15, NULL, "samples",
     "a bin counts as visited with more position samples than this"},
};

static const tess_param_table table = {"decode.environment", params,
                                       sizeof params / sizeof *params};

const tess_param_table *tess_decode_environment_params(void)
{
    return &table;
}

void tess_decode_environment_config_init(tess_decode_environment_config *config, size_t struct_size)
{
    tess_decode_environment_config defaults = {0};
    tess_params_defaults(&table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void tess_decode_track_init(tess_decode_track *track, size_t struct_size)
{
    const tess_decode_track defaults = {0};
    tess_struct_init(track, struct_size, &defaults, sizeof defaults);
}
