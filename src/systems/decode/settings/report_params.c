// The parameter table of reports: the only place where its defaults are written.
#include "base/struct_read.h"
#include "tessera/decode/report.h"

#include <stddef.h>

#define FIELD(field) offsetof(tess_decode_report_config, field)

static const tess_param params[] = {
    {"from", TESS_PARAM_REAL, FIELD(from), -1e12, -1e12, 1e12, NULL, "s",
     "leave out the time bins that begin before this time of the recording"},
    {"to", TESS_PARAM_REAL, FIELD(to), 1e12, -1e12, 1e12, NULL, "s",
     "leave out the time bins that begin at this time or later"},
    {"event_threshold", TESS_PARAM_REAL, FIELD(event_threshold), 0.8, 0, 1, NULL, "",
     "non-local probability from which on a time bin belongs to an event"},
    {"event_min_duration", TESS_PARAM_REAL, FIELD(event_min_duration), 0.015, 0, 1e6, NULL, "s",
     "shorter events are left out"},
    {"event_distance", TESS_PARAM_REAL, FIELD(event_distance), 30, 0, 1e6, NULL, "cm",
     "places farther from the animal than this are non-local where no state is Local"},
    {"max_size", TESS_PARAM_BYTES, FIELD(max_size), 33554432, 1048576, 0x1p40, NULL, "bytes",
     "size of the page, about; in longer results single bins are kept around events first"},
};

static const tess_param_table table = {"decode.report", params, sizeof params / sizeof *params};

const tess_param_table *tess_decode_report_params(void)
{
    return &table;
}

void tess_decode_report_config_init(tess_decode_report_config *config, size_t struct_size)
{
    tess_decode_report_config defaults = {0};
    tess_params_defaults(&table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
