// The parameter table of events: the only place where their defaults are written.
#include "base/struct_read.h"
#include "tessera/decode/events.h"

#include <stddef.h>

#define FIELD(field) offsetof(tess_decode_events_config, field)

static const tess_param params[] = {
    {"decoder", TESS_PARAM_CHOICE, FIELD(decoder), TESS_DECODE_EVENT_MEMORYLESS, 0, 1,
     "memoryless|states", "",
     "how an event is decoded: every bin by itself, or by the fitted state-space model"},
    {"rate_bin", TESS_PARAM_REAL, FIELD(rate_bin), 0.001, 1e-5, 10, NULL, "s",
     "time bin of the multi-unit rate"},
    {"rate_std", TESS_PARAM_REAL, FIELD(rate_std), 0.015, 1e-6, 100, NULL, "s",
     "standard deviation of the Gaussian that smooths the multi-unit rate"},
    {"threshold_z", TESS_PARAM_REAL, FIELD(threshold_z), 2, 0, 1000, NULL, "",
     "an event reaches this many standard deviations above the mean rate of still bins"},
    {"max_speed", TESS_PARAM_REAL, FIELD(max_speed), 4, 0, 1e6, NULL, "cm/s",
     "the animal is still below this speed"},
    {"speed_std", TESS_PARAM_REAL, FIELD(speed_std), 0.5, 1e-6, 1000, NULL, "s",
     "standard deviation of the Gaussian that smooths velocity"},
    {"join", TESS_PARAM_REAL, FIELD(join), 0.01, 0, 1000, NULL, "s",
     "events with a gap of less than this between them are one"},
    {"min_duration", TESS_PARAM_REAL, FIELD(min_duration), 0.015, 0, 1e6, NULL, "s",
     "shorter events are not scored"},
    {"max_duration", TESS_PARAM_REAL, FIELD(max_duration), 2, 0, 1e6, NULL, "s",
     "longer events are not scored"},
    {"min_spikes", TESS_PARAM_INT, FIELD(min_spikes), 5, 0, 1e12, NULL, "spikes",
     "events with fewer spikes are not scored"},
    {"min_electrodes", TESS_PARAM_INT, FIELD(min_electrodes), 3, 0, 1e9, NULL, "electrodes",
     "events with spikes on fewer electrodes are not scored"},
    {"state_threshold", TESS_PARAM_REAL, FIELD(state_threshold), 0.8, 0, 1, NULL, "",
     "probability of the states from which on a time bin of a result belongs to an event"},
    {"event_bin", TESS_PARAM_REAL, FIELD(event_bin), 0, 0, 10, NULL, "s",
     "time bin of an event; 0 takes 20 ms memoryless, and the model's own with states"},
    {"min_bins", TESS_PARAM_INT, FIELD(min_bins), 5, 1, 1e9, NULL, "bins",
     "events with fewer counted time bins are not scored"},
    {"band", TESS_PARAM_REAL, FIELD(band), 15, 0, 1e6, NULL, "cm",
     "places this far from a line still belong to it"},
    {"max_velocity", TESS_PARAM_REAL, FIELD(max_velocity), 1000, 0, 1e6, NULL, "cm/s",
     "the steepest line that is tried"},
    {"shuffles", TESS_PARAM_INT, FIELD(n_shuffle), 1000, 0, 1e7, NULL, "",
     "shuffles of each event by each kind; 0 scores without p-values"},
    {"shuffle_seed", TESS_PARAM_INT, FIELD(seed), 0, 0, 9007199254740992.0, NULL, "",
     "seed of the shuffles"},
    {"report_events", TESS_PARAM_INT, FIELD(report_events), 50, 0, 1e6, NULL, "events",
     "the report draws this many events, the most significant first"},
};

static const tess_param_table table = {"decode.events", params, sizeof params / sizeof *params};

const tess_param_table *tess_decode_events_params(void)
{
    return &table;
}

void tess_decode_events_config_init(tess_decode_events_config *config, size_t struct_size)
{
    tess_decode_events_config defaults = {.checkpoint_every_s = 60};
    tess_params_defaults(&table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void tess_decode_intervals_init(tess_decode_intervals *intervals, size_t struct_size)
{
    const tess_decode_intervals defaults = {0};
    tess_struct_init(intervals, struct_size, &defaults, sizeof defaults);
}
